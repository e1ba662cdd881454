//! How a design was made, as plain data, so that it can be made again for other rows.

use serde::{Deserialize, Serialize};

use super::{
    basis::{Polynomial, Spline},
    smooth::Smooth,
};
use crate::{
    days::DateColumn,
    error::{BadModel, Error, Result},
    formula::{Expression, Factor, Quoted},
};

/// How a design is made: everything learned from the data for which it was first made.
///
/// Plain data, stored by serde. Invariant: the recipe of a frame, applied to the rows of that frame, gives its
/// design to the bit, because the frame itself is made by its recipe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recipe {
    /// [`Recipe::VERSION`] of the program that wrote it.
    pub version: u32,
    /// The formula in canonical text, with `.` expanded.
    pub formula: String,
    /// Names of the coefficients.
    pub names: Vec<String>,
    /// The population columns.
    pub population: Block,
    /// The group terms.
    pub groups: Vec<GroupRecipe>,
    /// What is added to the linear predictor.
    pub offsets: Vec<Offset>,
    /// Cell texts that mean "no value" besides the usual ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub na: Vec<String>,
    /// The columns of dates that count as days.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dates: Vec<DateColumn>,
}

/// Columns made from terms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// Whether the first column is an intercept.
    pub intercept: bool,
    /// The terms.
    pub terms: Vec<CodedTerm>,
    /// The columns, including the intercept.
    pub columns: Vec<CodedColumn>,
}

/// One term: the product of its factors' columns; those of the first factor vary fastest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CodedTerm {
    /// Its text in the formula.
    pub text: String,
    /// Its factors.
    pub factors: Vec<CodedFactor>,
}

/// One column: (value − mean)/sd.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CodedColumn {
    /// Its name.
    pub name: String,
    /// Index of its term; `None` for the intercept.
    pub term: Option<usize>,
    /// What is subtracted; 0 if it is not standardized.
    pub mean: f64,
    /// What it is divided by; 1 if it is not standardized.
    pub sd: f64,
}

/// A factor with the constants learned from the data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CodedFactor {
    /// x itself.
    Number {
        /// The number.
        x: Expression,
    },
    /// (x − mean)/sd, for `center` (sd 1), `scale`, and the straight line of a smooth `s` (sd 1).
    Scaled {
        /// The number.
        x: Expression,
        /// Its mean.
        mean: f64,
        /// Its standard deviation, or 1.
        sd: f64,
        /// `center`, `scale` or `s`.
        function: String,
    },
    /// `poly(x, k)`
    Polynomial {
        /// The number.
        x: Expression,
        /// The basis.
        basis: Polynomial,
    },
    /// `bs(x, k)`
    Spline {
        /// The number.
        x: Expression,
        /// The basis.
        basis: Spline,
    },
    /// The curve of `s(x)`.
    Smooth {
        /// The number.
        x: Expression,
        /// The columns.
        basis: Smooth,
    },
    /// Indicators of levels.
    Category {
        /// The column.
        column: String,
        /// Its levels, in order.
        levels: Vec<String>,
        /// Index of the reference level, which has no indicator; `None` if each level has its own.
        reference: Option<usize>,
    },
}

/// A group term.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupRecipe {
    /// Its text in the formula.
    pub text: String,
    /// The grouping columns; none for the curve of a smooth.
    pub factors: Vec<String>,
    /// The levels: combinations of the grouping columns' values, in order.
    pub levels: Vec<Vec<String>>,
    /// Whether the coefficients of a level may be correlated.
    pub correlated: bool,
    /// What varies by level.
    pub block: Block,
}

/// Something added to the linear predictor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Offset {
    /// x
    Number {
        /// The number.
        x: Expression,
    },
    /// ln of a column, which is positive.
    Exposure {
        /// The column.
        column: String,
    },
}

impl Recipe {
    /// The version of recipes this crate writes and reads.
    pub const VERSION: u32 = 1;

    /// The population's block, then those of the groups.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = &Block> {
        std::iter::once(&self.population).chain(self.groups.iter().map(|group| &group.block))
    }

    pub(crate) fn blocks_mut(&mut self) -> impl Iterator<Item = &mut Block> {
        std::iter::once(&mut self.population).chain(self.groups.iter_mut().map(|group| &mut group.block))
    }

    /// Checks that it is consistent. A stored recipe may come from anywhere.
    pub(crate) fn check(&self) -> Result<()> {
        let bad = |reason: String| Err(Error::Model(BadModel::BadRecipe { reason }));
        if self.version != Self::VERSION {
            return bad(format!("it has version {}, and {} is read", self.version, Self::VERSION));
        }
        for block in self.blocks() {
            for factor in block.terms.iter().flat_map(|term| &term.factors) {
                factor.check()?;
            }
            let widths: usize = block.terms.iter().map(CodedTerm::width).fold(0, usize::saturating_add);
            if widths.saturating_add(usize::from(block.intercept)) != block.columns.len() {
                return bad(format!(
                    "{} columns are named, and its terms give {widths}",
                    block.columns.len()
                ));
            }
            for column in &block.columns {
                if !(column.mean.is_finite() && column.sd.is_finite() && column.sd > 0.0) {
                    return bad(format!("column `{}` has sd {}", column.name, column.sd));
                }
            }
        }
        for group in &self.groups {
            let matched = group.levels.iter().all(|level| level.len() == group.factors.len());
            let curve = matches!(group.block.terms.as_slice(), [CodedTerm { factors, .. }]
                if matches!(factors.as_slice(), [CodedFactor::Smooth { .. }]));
            let whole = curve && !group.block.intercept && group.levels.len() == 1;
            if !matched || (group.is_smooth() && !whole) {
                return bad(format!("the levels of `{}` do not match its columns", group.text));
            }
        }
        let coefficients = |group: &GroupRecipe| group.levels.len().saturating_mul(group.block.columns.len());
        let expected =
            self.groups.iter().map(coefficients).fold(self.population.columns.len(), usize::saturating_add);
        if self.names.len() != expected {
            return bad(format!("{} names for {expected} coefficients", self.names.len()));
        }
        Ok(())
    }

    /// Names of the columns that rows need, in the order of their use, each once.
    pub fn columns(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        let mut see = |name| {
            if !names.contains(&name) {
                names.push(name);
            }
        };
        self.population.columns_in_use(&mut see);
        for group in &self.groups {
            group.block.columns_in_use(&mut see);
            group.factors.iter().for_each(|name| see(name));
        }
        for offset in &self.offsets {
            match offset {
                Offset::Number { x } => x.columns(&mut see),
                Offset::Exposure { column } => see(column),
            }
        }
        names
    }
}

impl GroupRecipe {
    /// Whether it is the curve of a smooth: one level without a name, to which all rows belong.
    pub fn is_smooth(&self) -> bool {
        self.factors.is_empty()
    }
}

impl Block {
    /// The columns of one factor alone.
    pub(crate) fn of(factor: CodedFactor) -> Self {
        let term = CodedTerm { text: String::new(), factors: vec![factor] };
        let column = |name| CodedColumn { name, term: Some(0), mean: 0.0, sd: 1.0 };
        let columns = term.names().into_iter().map(column).collect();
        Self { intercept: false, terms: vec![term], columns }
    }

    pub(crate) fn columns_in_use<'a>(&'a self, see: &mut dyn FnMut(&'a str)) {
        for factor in self.terms.iter().flat_map(|term| &term.factors) {
            factor.columns(see);
        }
    }
}

impl CodedColumn {
    /// Whether it is anything else than the value itself.
    pub(crate) fn is_scaled(&self) -> bool {
        self.mean.abs() > 0.0 || (self.sd - 1.0).abs() > 0.0
    }
}

impl CodedTerm {
    /// Number of columns.
    pub(crate) fn width(&self) -> usize {
        self.factors.iter().map(CodedFactor::width).fold(1, usize::saturating_mul)
    }

    /// Names of the columns; those of the first factor vary fastest.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names = vec![String::new()];
        for (i, factor) in self.factors.iter().enumerate() {
            let join = |name: &str, next: String| if i == 0 { next } else { format!("{name}:{next}") };
            let pairs = (0..factor.width()).flat_map(|j| names.iter().map(move |name| (name, j)));
            names = pairs.map(|(name, j)| join(name, factor.name(j))).collect();
        }
        names
    }
}

impl CodedFactor {
    /// Calls `see` on the name of every column of the table that it is made of.
    pub fn columns<'a>(&'a self, see: &mut dyn FnMut(&'a str)) {
        match self {
            Self::Category { column, .. } => see(column),
            Self::Number { x }
            | Self::Scaled { x, .. }
            | Self::Polynomial { x, .. }
            | Self::Spline { x, .. }
            | Self::Smooth { x, .. } => x.columns(see),
        }
    }

    /// Number of columns.
    pub(crate) fn width(&self) -> usize {
        match self {
            Self::Number { .. } | Self::Scaled { .. } => 1,
            Self::Polynomial { basis, .. } => basis.degree(),
            Self::Spline { basis, .. } => basis.count(),
            Self::Smooth { basis, .. } => basis.count(),
            Self::Category { levels, reference, .. } => {
                levels.len().saturating_sub(usize::from(reference.is_some()))
            }
        }
    }

    /// Name of a column.
    fn name(&self, column: usize) -> String {
        match self {
            Self::Number { x: Expression::Column(name) } => name.clone(),
            Self::Number { x: x @ Expression::Call(..) } => x.to_string(),
            Self::Number { x } => format!("I({x})"),
            Self::Scaled { x, function, .. } => format!("{function}({x})"),
            Self::Polynomial { x, basis } => format!("poly({x}, {})[{}]", basis.degree(), column + 1),
            Self::Spline { x, basis } => format!("bs({x}, {})[{}]", basis.count(), column + 1),
            Self::Smooth { x, .. } => format!("s({x})[{}]", column + 1),
            Self::Category { column: name, levels, reference } => {
                let level = match reference {
                    Some(reference) if column >= *reference => column + 1,
                    _ => column,
                };
                format!("{name}[{}]", levels[level])
            }
        }
    }

    /// The number of which it is a function with constants of the data, if it is what a factor of a formula asks for.
    pub(crate) fn meant_by(&self, factor: &Factor) -> Option<&Expression> {
        match (self, factor) {
            (Self::Scaled { x, function, .. }, Factor::Center(other))
                if function == "center" && x == other =>
            {
                Some(x)
            }
            (Self::Scaled { x, function, .. }, Factor::Scale(other)) if function == "scale" && x == other => {
                Some(x)
            }
            (Self::Scaled { x, function, .. }, Factor::Smooth(other, _)) if function == "s" && x == other => {
                Some(x)
            }
            (Self::Polynomial { x, basis }, Factor::Polynomial(other, degree))
                if x == other && basis.degree() == *degree =>
            {
                Some(x)
            }
            (Self::Spline { x, basis }, Factor::Spline(other, count))
                if x == other && basis.count() == *count =>
            {
                Some(x)
            }
            _ => None,
        }
    }

    /// Refuses constants that no data give. A stored factor may come from anywhere.
    pub(crate) fn check(&self) -> Result<()> {
        let fine = match self {
            Self::Number { .. } => true,
            Self::Scaled { mean, sd, .. } => mean.is_finite() && sd.is_finite() && *sd > 0.0,
            Self::Polynomial { basis, .. } => basis.is_sound(),
            Self::Spline { basis, .. } => basis.is_sound(),
            Self::Smooth { basis, .. } => basis.is_sound(),
            Self::Category { levels, reference, .. } => {
                !levels.is_empty() && reference.is_none_or(|reference| reference < levels.len())
            }
        };
        if fine {
            return Ok(());
        }
        let reason = match self {
            Self::Category { column, .. } => format!("the levels of {} do not hold together", Quoted(column)),
            _ => "the constants of a basis do not hold together".to_owned(),
        };
        Err(Error::Model(BadModel::BadRecipe { reason }))
    }
}
