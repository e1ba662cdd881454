//! Computes the columns of a block of terms for the rows of a view.

use super::{
    recipe::{Block, CodedFactor, CodedTerm},
    view::View,
};
use crate::{
    error::{BadModel, Error, Result},
    formula::Expression,
    hands,
};

/// More entries than a dense population block can sensibly have: 4 GB.
pub(super) const MOST_ENTRIES: usize = 1 << 29;

/// Rows whose columns are computed together, so that they stay in the cache.
const TILE: usize = 256;

/// Tiles that a thread takes at a time.
const SHARE: usize = 8;

impl Block {
    /// The columns, row by row.
    pub(crate) fn values(&self, view: View<'_>) -> Result<Vec<f64>> {
        self.values_by(view, 1)
    }

    /// The same by at most so many threads, each of which takes some terms and then some rows.
    pub(crate) fn values_by(&self, view: View<'_>, threads: usize) -> Result<Vec<f64>> {
        let (rows, columns) = (view.rows.len(), self.columns.len());
        if rows.saturating_mul(columns) > MOST_ENTRIES {
            let widest = self.terms.iter().filter_map(|term| Some((term.widest()?, term)));
            let widest = widest.max_by_key(|((levels, _), _)| *levels);
            let (levels, column) =
                widest.as_ref().map_or((0, None), |((n, name), _)| (*n, Some(name.clone())));
            let term = widest.map_or_else(String::new, |(_, term)| term.text.clone());
            return Err(Error::Model(BadModel::DesignTooLarge { rows, columns, term, column, levels }));
        }
        let threads = if rows * columns < hands::WORTH { 1 } else { threads };
        let terms = hands::each(threads, self.terms.iter(), |term| term.prepare(view));
        let terms: Vec<Vec<Prepared<'_>>> = terms.into_iter().collect::<Result<_>>()?;
        // Zeros take no memory until a thread writes to them.
        let mut values = vec![0.0; rows * columns];
        if columns == 0 {
            return Ok(values);
        }
        let shares = values.chunks_mut(SHARE * TILE * columns).enumerate();
        let infinite = hands::each(threads, shares, |(k, share)| {
            let mut tiles = share.chunks_mut(TILE * columns).zip((k * SHARE * TILE..).step_by(TILE));
            tiles.find_map(|(tile, first)| {
                self.fill_tile(&terms, first, tile);
                let place = first_not_finite(tile)?;
                Some((first * columns + place, tile[place]))
            })
        });
        if let Some((place, value)) = infinite.into_iter().flatten().next() {
            let column = &self.columns[place % columns];
            let inputs = "what it is made of is too large".to_owned();
            return Err(view.not_finite(&column.name, place / columns, value, inputs));
        }
        Ok(values)
    }

    /// Computes the rows of a tile whose first row is `first`.
    fn fill_tile(&self, terms: &[Vec<Prepared<'_>>], first: usize, tile: &mut [f64]) {
        let columns = self.columns.len();
        let mut place = usize::from(self.intercept);
        if self.intercept {
            tile.iter_mut().step_by(columns).for_each(|one| *one = 1.0);
        }
        for (term, coded) in terms.iter().zip(&self.terms) {
            let width = coded.width();
            if width > 0 {
                fill(term, first, tile, columns, place);
            }
            place += width;
        }
        debug_assert_eq!(place, columns);
        for (place, column) in self.columns.iter().enumerate().filter(|(_, column)| column.is_scaled()) {
            for value in tile.iter_mut().skip(place).step_by(columns) {
                *value = (*value - column.mean) / column.sd;
            }
        }
    }
}

/// The place of the first value that is not finite.
fn first_not_finite(values: &[f64]) -> Option<usize> {
    // Without a branch for each value, so that several are looked at at a time.
    let finite = values.iter().fold(true, |all, x| all & x.is_finite());
    if finite { None } else { values.iter().position(|x| !x.is_finite()) }
}

impl CodedTerm {
    /// The category with the most levels.
    pub(super) fn widest(&self) -> Option<(usize, String)> {
        let categories = self.factors.iter().filter_map(|factor| match factor {
            CodedFactor::Category { column, levels, .. } => Some((levels.len(), column)),
            _ => None,
        });
        categories.max_by_key(|(levels, _)| *levels).map(|(levels, column)| (levels, column.clone()))
    }
}

/// A factor's columns, prepared for reading by row.
enum Prepared<'a> {
    /// A column unchanged, with the rows used.
    Column { values: &'a [f64], rows: &'a [usize] },
    /// Numbers, row by row.
    Values { values: Vec<f64>, width: usize },
    /// At most one of the columns is 1 in each row; the others are 0.
    Indicator { column: Vec<Option<usize>>, width: usize },
}

impl Prepared<'_> {
    fn width(&self) -> usize {
        match self {
            Self::Column { .. } => 1,
            Self::Values { width, .. } | Self::Indicator { width, .. } => *width,
        }
    }

    fn value(&self, row: usize, column: usize) -> f64 {
        match self {
            Self::Column { values, rows } => values[rows[row]],
            Self::Values { values, width } => values[row * width + column],
            Self::Indicator { column: one, .. } => f64::from(u8::from(one[row] == Some(column))),
        }
    }
}

/// Computes a term's columns, from `place` on, in the rows of a tile whose first row is `first`.
fn fill(factors: &[Prepared<'_>], first: usize, tile: &mut [f64], columns: usize, place: usize) {
    let rows = tile.chunks_mut(columns).zip(first..);
    match factors {
        // All rows are used.
        [Prepared::Column { values, rows: used }] if used.len() == values.len() => {
            debug_assert!(used.iter().enumerate().all(|(row, used)| row == *used));
            rows.zip(&values[first..]).for_each(|((row, _), x)| row[place] = *x);
        }
        [Prepared::Column { values, rows: used }] => {
            rows.for_each(|(row, i)| row[place] = values[used[i]]);
        }
        [Prepared::Values { values, width: 1 }] => rows.for_each(|(row, i)| row[place] = values[i]),
        [Prepared::Indicator { column, width }] => {
            for (row, i) in rows {
                row[place..place + width].fill(0.0);
                if let Some(one) = column[i] {
                    row[place + one] = 1.0;
                }
            }
        }
        _ => rows.for_each(|(row, i)| multiply(factors, i, &mut row[place..])),
    }
}

/// The products of a term in one row; the first factor's columns vary fastest.
fn multiply(factors: &[Prepared<'_>], row: usize, values: &mut [f64]) {
    let mut filled = 1;
    values[0] = 1.0;
    for factor in factors {
        // From the last column down, because the first ones are still needed.
        for column in (0..factor.width()).rev() {
            let own = factor.value(row, column);
            for i in 0..filled {
                values[column * filled + i] = values[i] * own;
            }
        }
        filled *= factor.width();
    }
}

impl CodedTerm {
    fn prepare<'a>(&self, view: View<'a>) -> Result<Vec<Prepared<'a>>> {
        self.factors.iter().map(|factor| factor.prepare(view)).collect()
    }
}

impl CodedFactor {
    fn prepare<'a>(&self, view: View<'a>) -> Result<Prepared<'a>> {
        let one = |values| Prepared::Values { values, width: 1 };
        Ok(match self {
            Self::Number { x: Expression::Column(name) } => {
                Prepared::Column { values: view.table.numbers(view.table.place(name)?)?, rows: view.rows }
            }
            Self::Number { x } => one(view.evaluate(x)?),
            Self::Scaled { x, mean, sd, .. } => {
                one(view.evaluate(x)?.into_iter().map(|value| (value - mean) / sd).collect())
            }
            Self::Polynomial { x, basis } => {
                let mut values = Vec::new();
                view.evaluate(x)?.into_iter().for_each(|x| basis.evaluate(x, &mut values));
                Prepared::Values { values, width: basis.degree() }
            }
            Self::Spline { x, basis } => {
                let mut values = Vec::new();
                view.evaluate(x)?.into_iter().for_each(|x| basis.evaluate(x, &mut values));
                Prepared::Values { values, width: basis.count() }
            }
            Self::Smooth { x, basis } => {
                let mut values = Vec::new();
                view.evaluate(x)?.into_iter().for_each(|x| basis.evaluate(x, &mut values));
                Prepared::Values { values, width: basis.count() }
            }
            Self::Category { column, levels, reference } => {
                let codes = codes(view, column, levels)?;
                let place = |code: usize| match reference {
                    Some(reference) if code == *reference => None,
                    Some(reference) if code > *reference => Some(code - 1),
                    _ => Some(code),
                };
                Prepared::Indicator { column: codes.into_iter().map(place).collect(), width: self.width() }
            }
        })
    }
}

/// The index of each row's level among `levels`.
fn codes(view: View<'_>, column: &str, levels: &[String]) -> Result<Vec<usize>> {
    let places = view.places(column, levels)?;
    let unknown = |i: usize| {
        Error::Model(BadModel::UnknownLevel {
            table: view.table.name().to_owned(),
            column: column.to_owned(),
            line: view.line(i),
            level: view.table.level(column, view.rows[i]).unwrap_or_default(),
            levels: levels.to_vec(),
            group: false,
        })
    };
    places.into_iter().enumerate().map(|(i, place)| place.ok_or_else(|| unknown(i))).collect()
}
