//! Design matrices: dense rows or compressed sparse rows, behind one small type.

use crate::base::chunked::{self, Chunks};
use crate::base::error::{Error, Result};
use crate::base::linalg::{add_lower_gram, mirror_lower};
use crate::base::matrix::{Matrix, packed_index};
use crate::base::scratch::Scratch;
use crate::base::stop;
use provi_kernels::axpy;
use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

/// Rows processed together, so that a block of a dense design stays in cache between its two uses.
pub(crate) const BLOCK: usize = 128;
/// A Gram matrix is summed in at most this many parts; the next constant is the least number of rows of a part.
const GRAM_PARTS: usize = 16;
const GRAM_ROWS: usize = 512;
/// Rows of a Gram matrix of which the first-level cache holds two blocks; and the number of columns up to which
/// register tiles are faster than a general product, which first copies its factors.
const GRAM_BLOCK: usize = 64;
const GRAM_COLUMNS: usize = 160;

/// A pass over the rows is summed in at most this many chunks; the next constant is the least number of entries of
/// a chunk.
const CHUNKS: usize = 32;
const CHUNK_ENTRIES: usize = 1 << 16;

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

thread_local! {
    /// Buffer for a block of rows seen through a [`View`].
    static SEEN: Cell<Vec<f64>> = const { Cell::new(Vec::new()) };
}

impl Dense {
    fn new(entries: Vec<f64>) -> Self {
        Self { entries: Arc::new(entries), view: None }
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
        if let Some(place) = entries.iter().position(|x| !x.is_finite()) {
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

    /// The same design with `shifts` subtracted from the columns, which are then multiplied by `factors`. Dense
    /// rows are shared and transformed whenever they are read. Sparse rows keep their entries and gain entries in
    /// the columns that are shifted.
    pub(crate) fn seen(&self, shifts: &[f64], factors: &[f64]) -> Self {
        let storage = match &self.storage {
            Storage::Dense(dense) => {
                let view = View { shifts: shifts.to_vec(), factors: factors.to_vec() };
                Storage::Dense(Dense { entries: Arc::clone(&dense.entries), view: Some(Arc::new(view)) })
            }
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

    /// The chunks of rows for the partial sums of a pass over A with S points: the same for any S.
    pub(crate) fn chunks(&self, samples: usize) -> Chunks {
        // A link function costs about as much as sixteen multiply-adds.
        let row = self.entries() / self.rows + 16;
        let size = CHUNK_ENTRIES.div_ceil(row).max(self.rows.div_ceil(CHUNKS)).next_multiple_of(8);
        Chunks { len: self.rows, size, work: self.rows.saturating_mul(row).saturating_mul(samples) }
    }

    /// Rows processed together between predictors and gradient at S points: a power of two up to [`BLOCK`]. A block
    /// of a dense design then fits into the first-level cache, or into the second-level one if there are many
    /// points.
    pub(crate) fn rows_at_once(&self, samples: usize) -> usize {
        let room = if samples < 4 { 4096 } else { 8192 };
        let most = (room / self.columns).clamp(8, BLOCK);
        1 << most.ilog2()
    }

    /// Calls `f(j, value)` on each stored entry of row n.
    pub(crate) fn for_each_in_row(&self, n: usize, mut f: impl FnMut(usize, f64)) {
        match &self.storage {
            Storage::Dense(dense) => dense.with_rows(n..n + 1, self.columns, |row| {
                row.iter().enumerate().for_each(|(j, &x)| f(j, x));
            }),
            Storage::Sparse(sparse) => sparse.row(n).for_each(|(j, x)| f(j, x)),
        }
    }

    /// a_nᵀz.
    pub(crate) fn row_product(&self, n: usize, z: &[f64]) -> f64 {
        match &self.storage {
            Storage::Dense(dense) => {
                dense.with_rows(n..n + 1, self.columns, |row| provi_kernels::dot(row, z))
            }
            Storage::Sparse(sparse) => sparse.row(n).map(|(j, x)| x * z[j]).sum(),
        }
    }

    /// out += scale·a_n.
    pub(crate) fn add_row(&self, n: usize, scale: f64, out: &mut [f64]) {
        match &self.storage {
            Storage::Dense(dense) => dense.with_rows(n..n + 1, self.columns, |row| axpy(scale, row, out)),
            Storage::Sparse(sparse) => sparse.row(n).for_each(|(j, x)| out[j] += scale * x),
        }
    }

    /// out[(n − first)·S + k] = a_nᵀz_k for the rows of `range` and S points held row by row.
    pub(crate) fn predict(&self, range: Range<usize>, points: &[f64], out: &mut [f64]) {
        let d = self.columns;
        let count = points.len() / d;
        match &self.storage {
            Storage::Dense(dense) => {
                dense.with_rows(range, d, |rows| provi_kernels::design::predict(rows, d, points, out));
            }
            Storage::Sparse(sparse) => {
                for (n, out) in range.zip(out.chunks_exact_mut(count)) {
                    for (k, out) in out.iter_mut().enumerate() {
                        let z = &points[k * d..(k + 1) * d];
                        *out = sparse.row(n).map(|(j, x)| x * z[j]).sum();
                    }
                }
            }
        }
    }

    /// out_k += Σ_n r_{n,k} a_n over the rows of `range`.
    pub(crate) fn pull_back(&self, range: Range<usize>, slopes: &[f64], out: &mut [f64]) {
        let d = self.columns;
        let count = out.len() / d;
        match &self.storage {
            Storage::Dense(dense) => {
                dense.with_rows(range, d, |rows| provi_kernels::design::pull_back(rows, d, slopes, out));
            }
            Storage::Sparse(sparse) => {
                for (n, slopes) in range.zip(slopes.chunks_exact(count)) {
                    for (k, &slope) in slopes.iter().enumerate() {
                        let out = &mut out[k * d..(k + 1) * d];
                        sparse.row(n).for_each(|(j, x)| out[j] += slope * x);
                    }
                }
            }
        }
    }

    /// out_k ← out_k + Aᵀ diag(w_k) A, exactly symmetric, for several weights, together with other sums, in one
    /// pass. `weigh(rows, sums, weights)` adds the share of a block of at most [`BLOCK`] rows to `width` sums, and
    /// writes the weights of its rows (none negative), those of the first matrix first. `take` receives the partial
    /// sums in order. Each thread needs its own matrices.
    pub(crate) fn add_grams_and_sums(
        &self,
        width: usize,
        weigh: impl Fn(Range<usize>, &mut [f64], &mut [f64]) + Sync,
        mut take: impl FnMut(&[f64]),
        out: &mut [Matrix],
    ) {
        let d = self.columns;
        let count = out.len();
        let room = count * BLOCK + width + self.scaled_room();
        let add = |range: Range<usize>, sums: &mut [f64], grams: &mut [&mut [f64]], room: &mut [f64]| {
            let (weights, room) = room.split_at_mut(count * BLOCK);
            let (of_block, scaled) = room.split_at_mut(width);
            for first in range.clone().step_by(BLOCK) {
                if stop::trips() {
                    return;
                }
                let rows = first..(first + BLOCK).min(range.end);
                let weights = &mut weights[..count * rows.len()];
                // Summed separately, so that no chain of additions is as long as the number of rows.
                of_block.fill(0.0);
                weigh(rows.clone(), of_block, weights);
                axpy(1.0, of_block, sums);
                for (gram, weights) in grams.iter_mut().zip(weights.chunks_exact(rows.len())) {
                    self.add_gram_of(rows.clone(), weights, gram, scaled);
                }
            }
        };
        let chunks = self.gram_chunks(count);
        if chunks.size >= self.rows {
            let mut sums = vec![0.0; width];
            let mut grams: Vec<&mut [f64]> = out.iter_mut().map(Matrix::entries_mut).collect();
            add(0..self.rows, &mut sums, &mut grams, &mut vec![0.0; room]);
            take(&sums);
        } else {
            let part = |range: Range<usize>, part: &mut [f64], room: &mut [f64]| {
                let (sums, grams) = part.split_at_mut(width);
                add(range, sums, &mut grams.chunks_exact_mut(d * d).collect::<Vec<_>>(), room);
            };
            let width_of_part = width + count * d * d;
            chunked::reduce(chunks, (width_of_part, room), &mut Scratch::default(), part, |part| {
                let (sums, grams) = part.split_at(width);
                take(sums);
                for (gram, out) in grams.chunks_exact(d * d).zip(out.iter_mut()) {
                    axpy(1.0, gram, out.entries_mut());
                }
            });
        }
        out.iter_mut().for_each(mirror_lower);
    }

    /// The rows for some Gram matrices in at most [`GRAM_PARTS`] chunks; each chunk has more work than adding its
    /// matrices up.
    fn gram_chunks(&self, count: usize) -> Chunks {
        let row = self.entries() / self.rows + 1;
        let work = self.rows.saturating_mul(row).saturating_mul(row).saturating_mul(count);
        let least = match &self.storage {
            Storage::Dense(_) => GRAM_ROWS,
            Storage::Sparse(_) => (8 * self.columns * self.columns).div_ceil(row * row).max(GRAM_ROWS),
        };
        Chunks { len: self.rows, size: least.max(self.rows.div_ceil(GRAM_PARTS)), work }
    }

    fn scaled_room(&self) -> usize {
        if self.is_sparse() { 0 } else { BLOCK.min(self.rows) * self.columns }
    }

    /// Adds the lower half of the Gram matrix of a block of rows. The upper half is meaningless afterwards.
    fn add_gram_of(&self, range: Range<usize>, weights: &[f64], out: &mut [f64], scaled: &mut [f64]) {
        let d = self.columns;
        match &self.storage {
            Storage::Dense(dense) => dense.with_rows(range, d, |rows| {
                let tiled = d <= GRAM_COLUMNS;
                let block = if tiled { GRAM_BLOCK } else { BLOCK };
                for (rows, weights) in rows.chunks(block * d).zip(weights.chunks(block)) {
                    let scaled = &mut scaled[..rows.len()];
                    if tiled {
                        provi_kernels::gram::add_lower(rows, d, weights, scaled, out);
                        continue;
                    }
                    for ((to, row), w) in scaled.chunks_exact_mut(d).zip(rows.chunks_exact(d)).zip(weights) {
                        let root = w.sqrt();
                        to.iter_mut().zip(row).for_each(|(to, x)| *to = root * x);
                    }
                    add_lower_gram(scaled, d, out);
                }
            }),
            Storage::Sparse(sparse) => {
                for (n, w) in range.zip(weights) {
                    for (i, x) in sparse.row(n) {
                        for (j, y) in sparse.row(n).take_while(|&(j, _)| j <= i) {
                            out[i * d + j] += w * x * y;
                        }
                    }
                }
            }
        }
    }

    /// The longest chains of additions behind the sums of [`Design::add_grams_and_sums`]: first, inside the chunk
    /// with the most rows (the rows of a block in any order, then the blocks); second, over the partial sums of the
    /// chunks.
    pub(crate) fn sum_terms(&self) -> (usize, usize) {
        let (size, parts) = self.gram_parts();
        (BLOCK.min(size) + size.div_ceil(BLOCK), parts)
    }

    /// The longest chain of additions behind an entry of a matrix of [`Design::add_grams_and_sums`].
    pub(crate) fn gram_terms(&self) -> usize {
        let (size, parts) = self.gram_parts();
        let inside = match &self.storage {
            Storage::Dense(_) => BLOCK + size.div_ceil(GRAM_BLOCK),
            Storage::Sparse(_) => size,
        };
        inside + parts + 8
    }

    /// The rows of the largest chunk of a Gram matrix, and the number of chunks.
    fn gram_parts(&self) -> (usize, usize) {
        let size = self.gram_chunks(1).size.min(self.rows);
        (size, self.rows.div_ceil(size))
    }

    /// Σ_n w_n ‖a_n‖².
    pub(crate) fn weighted_square_norm(&self, weights: &[f64]) -> f64 {
        let sums = chunked::map(self.chunks(1), |range| {
            let mut sum = 0.0;
            for n in range {
                self.for_each_in_row(n, |_, x| sum += weights[n] * x * x);
            }
            sum
        });
        sums.iter().sum()
    }

    /// Prepares C, lower triangular and packed, for [`Design::row_variances`]; dense rows need whole chunks of
    /// columns.
    pub(crate) fn factor<'f>(&self, packed: &'f [f64]) -> RowFactor<'f> {
        let (d, width) = (self.columns, provi_kernels::gram::padded(self.columns));
        let mut padded = Vec::new();
        if !self.is_sparse() {
            padded.resize(d * width, 0.0);
            for (i, row) in padded.chunks_exact_mut(width).enumerate() {
                row[..=i].copy_from_slice(&packed[packed_index(i, 0)..=packed_index(i, i)]);
            }
        }
        RowFactor { packed, padded }
    }

    /// For each row of a range, ‖Cᵀa_n‖²: the variance of a_nᵀz under N(m, CCᵀ).
    pub(crate) fn row_variances(&self, range: Range<usize>, factor: &RowFactor<'_>, out: &mut [f64]) {
        let d = self.columns;
        match &self.storage {
            Storage::Dense(dense) => dense.with_rows(range, d, |rows| {
                provi_kernels::gram::square_norms(&factor.padded, d, rows, out);
            }),
            Storage::Sparse(sparse) => {
                // Row i of C enters with weight a_ni, so only stored entries cost time.
                let mut row = vec![0.0; d];
                for (n, out) in range.zip(out) {
                    let Some((widest, _)) = sparse.row(n).last() else {
                        *out = 0.0;
                        continue;
                    };
                    row[..=widest].fill(0.0);
                    for (i, x) in sparse.row(n) {
                        let start = packed_index(i, 0);
                        provi_kernels::axpy(x, &factor.packed[start..start + i + 1], &mut row[..i + 1]);
                    }
                    *out = provi_kernels::dot(&row[..=widest], &row[..=widest]);
                }
            }
        }
    }

    /// The variances of every row.
    pub(crate) fn all_row_variances(&self, packed: &[f64]) -> Vec<f64> {
        let factor = self.factor(packed);
        let mut out = vec![0.0; self.rows];
        let work = self.entries().saturating_mul(self.columns / 2 + 1);
        chunked::fill(&mut out, BLOCK, work, |first, out| {
            self.row_variances(first..first + out.len(), &factor, out);
        });
        out
    }

    /// For each row of a range, ‖a_n‖² and Σ_j |a_nj|·scale_j.
    pub(crate) fn row_sizes(
        &self,
        range: Range<usize>,
        scales: &[f64],
        squares: &mut [f64],
        reaches: &mut [f64],
    ) {
        match &self.storage {
            Storage::Dense(dense) => dense.with_rows(range, self.columns, |rows| {
                provi_kernels::design::sizes(rows, scales, squares, reaches);
            }),
            Storage::Sparse(sparse) => {
                for (n, (square, reach)) in range.zip(squares.iter_mut().zip(reaches)) {
                    (*square, *reach) = sparse.row(n).fold((0.0, 0.0), |(square, reach), (j, x)| {
                        (square + x * x, reach + x.abs() * scales[j])
                    });
                }
            }
        }
    }
}

/// The factor of a Gaussian, prepared for [`Design::row_variances`].
pub(crate) struct RowFactor<'f> {
    packed: &'f [f64],
    /// Row by row with zeros above the diagonal; empty for sparse designs.
    padded: Vec<f64>,
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
