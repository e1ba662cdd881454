//! Design matrices: dense rows or compressed sparse rows, behind one small type.

mod gram;
mod passes;

use crate::base::chunked::{self, Chunks};
use crate::base::error::{Error, Result};
use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

/// Rows processed together, so that a block of a dense design stays in cache between its two uses.
pub(crate) const BLOCK: usize = 128;

/// An n × d matrix A of finite numbers; its rows a_n are the observations.
#[derive(Clone, Debug, PartialEq)]
pub struct Design {
    rows: usize,
    columns: usize,
    storage: Storage,
}

#[derive(Clone, Debug, PartialEq)]
enum Storage {
    Dense(Dense),
    Sparse(Sparse),
}

/// Dense rows, shared by all views of them.
#[derive(Clone, Debug, PartialEq)]
struct Dense {
    entries: Arc<Vec<f64>>,
    view: Option<Arc<View>>,
}

/// For each column, what is subtracted from its entries and by what they are then multiplied, whenever they are
/// read.
#[derive(Debug, PartialEq)]
struct View {
    shifts: Vec<f64>,
    factors: Vec<f64>,
}

/// The most entries of which a transformed copy is kept, 2 MiB. Through a view each use of a row costs another pass over it.
const MOST_COPIED: usize = 1 << 18;

thread_local! {
    /// Buffer for a block of rows seen through a [`View`].
    static SEEN: Cell<Vec<f64>> = const { Cell::new(Vec::new()) };
}

impl Dense {
    fn new(entries: Vec<f64>) -> Self {
        Self { entries: Arc::new(entries), view: None }
    }

    /// The rows with `shifts` subtracted from their columns, which are then multiplied by `factors`: copied if they
    /// have at most `most_copied` entries, else seen through a view.
    fn seen(&self, shifts: &[f64], factors: &[f64], most_copied: usize) -> Self {
        let view = View { shifts: shifts.to_vec(), factors: factors.to_vec() };
        let seen = Self { entries: Arc::clone(&self.entries), view: Some(Arc::new(view)) };
        if shifts.is_empty() || self.entries.len() > most_copied {
            return seen;
        }
        let rows = 0..self.entries.len() / shifts.len();
        Self::new(seen.with_rows(rows, shifts.len(), <[f64]>::to_vec))
    }

    /// Calls `f` with the rows of `range`, of `d` entries each.
    fn with_rows<T>(&self, range: Range<usize>, d: usize, f: impl FnOnce(&[f64]) -> T) -> T {
        let rows = &self.entries[range.start * d..range.end * d];
        let Some(view) = &self.view else { return f(rows) };
        let mut seen = SEEN.take();
        seen.clear();
        for row in rows.chunks_exact(d) {
            let columns = row.iter().zip(&view.shifts).zip(&view.factors);
            seen.extend(columns.map(|((x, shift), factor)| (x - shift) * factor));
        }
        let out = f(&seen);
        SEEN.set(seen);
        out
    }
}

/// Compressed sparse rows: row n holds `values[starts[n]..starts[n+1]]` at `columns[..]`.
#[derive(Clone, Debug, PartialEq)]
struct Sparse {
    starts: Vec<usize>,
    columns: Vec<usize>,
    values: Vec<f64>,
}

impl Sparse {
    /// The same rows with `shifts` subtracted from the columns, which are then multiplied by `factors`.
    fn seen(&self, shifts: &[f64], factors: &[f64]) -> Self {
        let shifted: Vec<usize> = (0..shifts.len()).filter(|&j| shifts[j].abs() > 0.0).collect();
        let rows = self.starts.len() - 1;
        let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for n in 0..rows {
            let mut due = shifted.iter().copied().peekable();
            for (j, x) in self.row(n) {
                while let Some(missing) = due.next_if(|&i| i < j) {
                    columns.push(missing);
                    values.push(-shifts[missing] * factors[missing]);
                }
                due.next_if_eq(&j);
                columns.push(j);
                values.push((x - shifts[j]) * factors[j]);
            }
            for missing in due {
                columns.push(missing);
                values.push(-shifts[missing] * factors[missing]);
            }
            starts.push(values.len());
        }
        Self { starts, columns, values }
    }

    fn row(&self, n: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = self.starts[n]..self.starts[n + 1];
        self.columns[range.clone()].iter().copied().zip(self.values[range].iter().copied())
    }
}

impl Design {
    /// A dense design from its entries, row by row.
    pub fn dense(rows: usize, columns: usize, entries: &[f64]) -> Result<Self> {
        Self::from_rows(rows, columns, entries.to_vec())
    }

    /// As [`Design::dense`], but takes ownership of the entries.
    pub fn from_rows(rows: usize, columns: usize, entries: Vec<f64>) -> Result<Self> {
        Self::check_size(rows, columns)?;
        if Some(entries.len()) != rows.checked_mul(columns) {
            return Err(Error::Shape {
                what: "design entries",
                found: entries.len(),
                expected: rows.saturating_mul(columns),
            });
        }
        // Without a branch for each number, so that several are looked at at a time.
        let finite = |part: &[f64]| part.iter().fold(true, |all, x| all & x.is_finite());
        let parts = Chunks { len: entries.len(), size: 1 << 16, work: entries.len() };
        let finite = chunked::map(parts, |range| finite(&entries[range])).into_iter().all(|part| part);
        if !finite && let Some(place) = entries.iter().position(|x| !x.is_finite()) {
            let (row, column) = (place / columns, place % columns);
            return Err(Error::DesignEntry { row, column, value: entries[place] });
        }
        Ok(Self { rows, columns, storage: Storage::Dense(Dense::new(entries)) })
    }

    /// A sparse design from compressed rows: `starts` has n + 1 entries, `indices` and `values` one per
    /// stored number. Repeated columns within a row are summed.
    pub fn csr(
        rows: usize,
        columns: usize,
        starts: Vec<usize>,
        indices: Vec<usize>,
        values: Vec<f64>,
    ) -> Result<Self> {
        Self::check_size(rows, columns)?;
        let expected = rows.saturating_add(1);
        if starts.len() != expected {
            return Err(Error::Shape { what: "row starts", found: starts.len(), expected });
        }
        if indices.len() != values.len() {
            return Err(Error::Shape {
                what: "column indices",
                found: indices.len(),
                expected: values.len(),
            });
        }
        if starts[0] != 0 || starts[rows] != values.len() || starts.windows(2).any(|w| w[0] > w[1]) {
            return Err(Error::Shape {
                what: "row starts (ascending, from 0 to the number of values)",
                found: starts[rows],
                expected: values.len(),
            });
        }
        if let Some(&found) = indices.iter().find(|&&j| j >= columns) {
            return Err(Error::Shape { what: "column index", found, expected: columns });
        }
        if let Some(place) = values.iter().position(|x| !x.is_finite()) {
            let row = starts.partition_point(|&start| start <= place) - 1;
            return Err(Error::DesignEntry { row, column: indices[place], value: values[place] });
        }
        let triplets = (0..rows)
            .flat_map(|n| (starts[n]..starts[n + 1]).map(move |e| (n, e)))
            .map(|(n, e)| (n, indices[e], values[e]))
            .collect();
        Self::compress(rows, columns, triplets)
    }

    /// A sparse design from (row, column, value) triplets in any order; repeated positions are summed.
    pub fn triplets(rows: usize, columns: usize, triplets: &[(usize, usize, f64)]) -> Result<Self> {
        Self::check_size(rows, columns)?;
        for &(n, j, value) in triplets {
            if n >= rows {
                return Err(Error::Shape { what: "row index", found: n, expected: rows });
            }
            if j >= columns {
                return Err(Error::Shape { what: "column index", found: j, expected: columns });
            }
            if !value.is_finite() {
                return Err(Error::DesignEntry { row: n, column: j, value });
            }
        }
        Self::compress(rows, columns, triplets.to_vec())
    }

    fn compress(rows: usize, columns: usize, mut triplets: Vec<(usize, usize, f64)>) -> Result<Self> {
        triplets.sort_by_key(|&(n, j, _)| (n, j));
        // The caller gives the number of rows, and no array has that length: check before allocating.
        let mut starts = Vec::new();
        let room = rows.saturating_add(1);
        starts.try_reserve_exact(room).map_err(|_| Error::OutOfRange {
            what: "rows of the design",
            value: rows as f64,
            needed: "few enough to fit in memory",
        })?;
        starts.resize(room, 0);
        let (mut indices, mut values): (Vec<usize>, Vec<f64>) = (Vec::new(), Vec::new());
        let mut last = None;
        for (n, j, value) in triplets {
            match values.last_mut() {
                Some(sum) if last == Some((n, j)) => *sum += value,
                _ => {
                    indices.push(j);
                    values.push(value);
                    starts[n + 1] += 1;
                }
            }
            last = Some((n, j));
        }
        for n in 0..rows {
            starts[n + 1] += starts[n];
        }
        Ok(Self { rows, columns, storage: Storage::Sparse(Sparse { starts, columns: indices, values }) })
    }

    fn check_size(rows: usize, columns: usize) -> Result<()> {
        match (rows, columns) {
            (0, _) => Err(Error::Empty { what: "design (no rows)" }),
            (_, 0) => Err(Error::Empty { what: "design (no columns)" }),
            _ => Ok(()),
        }
    }

    /// n, the number of observations.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// d, the number of coefficients.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Writes row n into `out`.
    ///
    /// # Panics
    /// If n is not a row, or if `out` does not have the length of a row.
    pub fn write_row(&self, n: usize, out: &mut [f64]) {
        assert_eq!(out.len(), self.columns(), "a row has {} entries", self.columns());
        out.fill(0.0);
        self.for_each_in_row(n, |j, value| out[j] = value);
    }

    /// Writes rows from `first` on into `out`, as many as it has room for; zeros where sparse rows have no entry.
    pub(crate) fn write_rows(&self, first: usize, out: &mut [f64]) {
        match &self.storage {
            Storage::Dense(dense) => {
                let last = first + out.len() / self.columns;
                dense.with_rows(first..last, self.columns, |rows| out.copy_from_slice(rows));
            }
            Storage::Sparse(_) => {
                for (k, row) in out.chunks_exact_mut(self.columns).enumerate() {
                    self.write_row(first + k, row);
                }
            }
        }
    }

    /// Whether the rows are stored sparsely.
    pub fn is_sparse(&self) -> bool {
        matches!(self.storage, Storage::Sparse(_))
    }

    /// The given rows, in the given order.
    pub fn select(&self, rows: &[usize]) -> Result<Self> {
        if let Some(&index) = rows.iter().find(|&&n| n >= self.rows) {
            return Err(Error::Index { what: "design", index, length: self.rows });
        }
        Self::check_size(rows.len(), self.columns)?;
        let storage = match &self.storage {
            Storage::Dense(dense) => {
                let mut entries = Vec::with_capacity(rows.len() * self.columns);
                for &n in rows {
                    dense.with_rows(n..n + 1, self.columns, |row| entries.extend_from_slice(row));
                }
                Storage::Dense(Dense::new(entries))
            }
            Storage::Sparse(sparse) => {
                let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
                for &n in rows {
                    for (j, x) in sparse.row(n) {
                        columns.push(j);
                        values.push(x);
                    }
                    starts.push(values.len());
                }
                Storage::Sparse(Sparse { starts, columns, values })
            }
        };
        Ok(Self { rows: rows.len(), columns: self.columns, storage })
    }

    /// The same rows with a first column of ones.
    pub fn with_intercept(self) -> Self {
        let columns = self.columns + 1;
        let storage = match self.storage {
            Storage::Dense(dense) => {
                let mut entries = Vec::with_capacity(self.rows * columns);
                for n in 0..self.rows {
                    entries.push(1.0);
                    dense.with_rows(n..n + 1, self.columns, |row| entries.extend_from_slice(row));
                }
                Storage::Dense(Dense::new(entries))
            }
            Storage::Sparse(sparse) => {
                let stored = sparse.values.len() + self.rows;
                let (mut indices, mut values) = (Vec::with_capacity(stored), Vec::with_capacity(stored));
                for n in 0..self.rows {
                    for (j, x) in std::iter::once((0, 1.0)).chain(sparse.row(n).map(|(j, x)| (j + 1, x))) {
                        indices.push(j);
                        values.push(x);
                    }
                }
                let starts = sparse.starts.iter().enumerate().map(|(n, start)| start + n).collect();
                Storage::Sparse(Sparse { starts, columns: indices, values })
            }
        };
        Self { rows: self.rows, columns, storage }
    }

    /// The same design with `shifts` subtracted from the columns, which are then multiplied by `factors`. Few dense
    /// rows are copied; many are shared and transformed whenever they are read. Sparse rows keep their entries and
    /// gain entries in the columns that are shifted.
    pub(crate) fn seen(&self, shifts: &[f64], factors: &[f64]) -> Self {
        let storage = match &self.storage {
            Storage::Dense(dense) => Storage::Dense(dense.seen(shifts, factors, MOST_COPIED)),
            Storage::Sparse(sparse) => Storage::Sparse(sparse.seen(shifts, factors)),
        };
        Self { rows: self.rows, columns: self.columns, storage }
    }

    /// A·diag(scales)⁻¹, in the same storage.
    pub(crate) fn with_columns_over(mut self, scales: &[f64]) -> Self {
        match &mut self.storage {
            Storage::Dense(dense) => {
                let mut entries = Vec::with_capacity(dense.entries.len());
                dense.with_rows(0..self.rows, self.columns, |rows| {
                    for row in rows.chunks_exact(self.columns) {
                        entries.extend(row.iter().zip(scales).map(|(x, scale)| x / scale));
                    }
                });
                *dense = Dense::new(entries);
            }
            Storage::Sparse(sparse) => {
                sparse.values.iter_mut().zip(&sparse.columns).for_each(|(x, &j)| *x /= scales[j]);
            }
        }
        self
    }

    /// Number of stored entries: n·d, or those of the sparse rows.
    pub(crate) fn entries(&self) -> usize {
        match &self.storage {
            Storage::Dense(dense) => dense.entries.len(),
            Storage::Sparse(sparse) => sparse.values.len(),
        }
    }
}

#[cfg(feature = "ndarray")]
impl TryFrom<ndarray::ArrayView2<'_, f64>> for Design {
    type Error = Error;

    /// Copies the array into provi's own layout.
    fn try_from(array: ndarray::ArrayView2<'_, f64>) -> Result<Self> {
        let (rows, columns) = array.dim();
        Self::from_rows(rows, columns, array.iter().copied().collect())
    }
}

#[cfg(test)]
mod tests;
