//! What a formula needs to know about the data before its recipe can be made.

use super::{
    part::{BLOCKS, Budget},
    source::Source,
};
use crate::{
    column::ColumnKind,
    error::{Error, Result, UnfitColumn},
    formula::{Expression, Factor, Formula, Response, Term},
    frame::{FrameOptions, Offset, offsets},
};

/// The facts that learning needs, in the same order whenever the same formula meets the same columns.
#[derive(Debug, Clone)]
pub(super) struct Questions {
    /// Expressions whose mean, deviation and range are needed.
    pub(super) numbers: Vec<Expression>,
    /// Columns whose levels are needed.
    pub(super) categories: Vec<String>,
    /// Columns whose combinations of levels are needed, with their numbers of rows.
    pub(super) groupings: Vec<Vec<String>>,
    /// Offsets, which must be finite in every row.
    pub(super) offsets: Vec<Offset>,
}

impl Questions {
    /// The questions of a formula whose `.` is expanded.
    pub(super) fn of(formula: &Formula, options: &FrameOptions, source: &Source) -> Self {
        let mut questions = Self {
            numbers: Vec::new(),
            categories: Vec::new(),
            groupings: Vec::new(),
            offsets: offsets(formula, options),
        };
        let is_text = |name: &str| source.kind(name) == Some(ColumnKind::Category);
        if let Response::Value(Expression::Column(name)) = formula.response()
            && is_text(name)
        {
            questions.grouping(std::slice::from_ref(name));
        }
        if let Response::Ordered { column, .. } | Response::Multinomial { column, .. } = formula.response() {
            questions.category(column);
        }
        let varying = formula.groups().iter().flat_map(|group| &group.node.terms);
        for term in formula.terms().iter().map(|term| &term.node).chain(varying) {
            let Term::Product(factors) = term else { continue };
            for factor in factors {
                match factor {
                    Factor::Column(name) if is_text(name) => questions.category(name),
                    Factor::Category(name) | Factor::Levels(name, _) => questions.category(name),
                    Factor::Column(name) => questions.number(Expression::Column(name.clone())),
                    Factor::Number(x)
                    | Factor::Center(x)
                    | Factor::Scale(x)
                    | Factor::Polynomial(x, _)
                    | Factor::Spline(x, _)
                    | Factor::Smooth(x, _) => questions.number(x.clone()),
                }
            }
        }
        for group in formula.groups() {
            questions.grouping(&group.node.factors);
        }
        if let Some(weights) = &options.weights {
            questions.number(Expression::Column(weights.clone()));
        }
        questions
    }

    fn number(&mut self, x: Expression) {
        if !self.numbers.contains(&x) {
            self.numbers.push(x);
        }
    }

    fn category(&mut self, name: &str) {
        if !self.categories.iter().any(|other| other == name) {
            self.categories.push(name.to_owned());
        }
    }

    fn grouping(&mut self, columns: &[String]) {
        columns.iter().for_each(|name| self.category(name));
        if !self.groupings.iter().any(|other| other == columns) {
            self.groupings.push(columns.to_vec());
        }
    }

    /// Number of rows of a block of cells from which the facts are read.
    pub(super) fn rows(&self, source: &Source, budget: Budget) -> Result<usize> {
        let combined = self.groupings.iter().map(|columns| 48 + 8 * columns.len()).sum::<usize>();
        budget.rows(BLOCKS * bytes_of_cells(source) + combined + 64)
    }
}

/// Bytes of one row's cells.
pub(super) fn bytes_of_cells(source: &Source) -> usize {
    let column = |kind: ColumnKind| match kind {
        ColumnKind::Category | ColumnKind::Date => 80,
        ColumnKind::Number | ColumnKind::Boolean | ColumnKind::Missing => 8,
    };
    // In addition, its line and its index among the rows without missing values.
    16 + source.columns.iter().map(|(_, kind)| column(kind.kind)).sum::<usize>()
}

/// Refuses terms that need all values of a column at once.
pub(super) fn refuse_whole_columns(formula: &Formula) -> Result<()> {
    let population = formula.terms().iter().map(|term| (&term.node, &term.span));
    let varying =
        formula.groups().iter().flat_map(|group| group.node.terms.iter().map(|term| (term, &group.span)));
    for (term, span) in population.chain(varying) {
        let Term::Product(factors) = term else { continue };
        if let Some(factor) = factors
            .iter()
            .find(|f| matches!(f, Factor::Polynomial(..) | Factor::Spline(..) | Factor::Smooth(..)))
        {
            return Err(Error::Column(UnfitColumn::WholeColumn {
                term: factor.to_string(),
                span: Some(span.clone()),
            }));
        }
    }
    Ok(())
}
