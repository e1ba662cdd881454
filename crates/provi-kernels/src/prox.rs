//! Prox-SGD on a packed lower triangle, one draw a step: the passes that make a step cost a pass over C, or less.
//!
//! With π the pull at z = m + Cu, a step is
//! ```text
//! C_ij ← C_ij − γπ_i u_j  (j < i),      C_ii ← lift(C_ii − γπ_i u_i),   lift(c) = ½(c + √(c² + 4γ))
//! ```
//! C is needed only to form Cu, and the draws do not depend on it. So [`step`] applies the last update and forms the
//! next product row by row, in one pass; and [`Deferred`] does the same for [`BLOCK`] steps at a time. The diagonal,
//! the only part that is not linear, is kept apart and moved at every step by [`lift`].

use crate::{
    dispatch::dispatch,
    lanes::Simd,
    tile::{close_rows, close_vectors},
    triangle::{check, rows_mut},
};

/// Steps per pass of [`Deferred`].
pub const BLOCK: usize = 16;

/// Columns of C taken together by a deferred pass, in chunks of eight: 32 vectors of them stay in a first-level cache.
const COLUMNS: usize = 16;

/// Rows of C taken together, a multiple of 4: a panel of columns is fetched once for all of them.
const ROWS: usize = 32;

/// diagonal_i ← lift(diagonal_i − γ·pull_i·draw_i), also written to the diagonal of `packed`. Cost: d square roots.
///
/// The textbook root subtracts near-equals for c < 0; there its conjugate 2γ/(√(c² + 4γ) − c) is taken.
///
/// # Panics
/// When lengths differ, or `packed` is not of d(d+1)/2 entries.
pub fn lift(packed: &mut [f64], diagonal: &mut [f64], gamma: f64, pull: &[f64], draw: &[f64]) {
    let d = diagonal.len();
    check(packed, d);
    assert!(pull.len() == d && draw.len() == d, "prox::lift: pull and draw have d = {d} entries");
    dispatch!(plain::lift, lift_lanes(diagonal: &mut [f64], gamma: f64, pull: &[f64], draw: &[f64]));
    let mut at = 0;
    for (i, &c) in diagonal.iter().enumerate() {
        packed[at] = c;
        at += i + 2;
    }
}

/// C_ij ← C_ij + left_i right_j for j < i, then point = mean + C·draw with `diagonal` for the diagonal of C.
///
/// The stored diagonal is neither read nor written. Cost: 2d² flops, C read and written once.
///
/// ```
/// let mut c = [2.0, 1.0, 3.0];
/// let mut z = [0.0; 2];
/// provi_kernels::prox::step(&mut c, &[10.0, 20.0], &[2.0, 3.0], &[0.5, -0.5], &[2.0, 1.0], &[1.0, -1.0], &mut z);
/// assert_eq!((c, z), ([2.0, 0.0, 3.0], [12.0, 17.0]));
/// ```
///
/// # Panics
/// When lengths differ, or `packed` is not of d(d+1)/2 entries.
pub fn step(
    packed: &mut [f64],
    mean: &[f64],
    diagonal: &[f64],
    left: &[f64],
    right: &[f64],
    draw: &[f64],
    point: &mut [f64],
) {
    let d = mean.len();
    check(packed, d);
    let lengths = [diagonal.len(), left.len(), right.len(), draw.len(), point.len()];
    assert!(lengths.iter().all(|&n| n == d), "prox::step: vectors have d = {d} entries");
    dispatch!(
        plain::step,
        step_lanes(packed: &mut [f64], mean: &[f64], diagonal: &[f64], left: &[f64], right: &[f64], draw: &[f64],
            point: &mut [f64])
    );
}

/// Eight entries of a vector, aligned.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Chunk([f64; 8]);

/// The same eight entries of every draw of a block.
type Panel = [Chunk; BLOCK];

/// Numbers of one row for every step of a block.
type Row = [f64; BLOCK];

/// A block of [`BLOCK`] steps whose updates of the strict triangle are deferred to its end.
///
/// With C_0 the triangle at the block's start, u_k its draws and l_k = −γ_k π_k its pulls, scaled:
/// ```text
/// (C_k u_k)_i = (C_0 u_k)_i + Σ_{n<k} l_n(i) Σ_{j<i} u_n(j) u_k(j)      off the diagonal
/// ```
/// One pass ([`begin`](Self::begin)) applies the last block's updates and forms all C_0 u_k of the next; the sum is
/// O(d·BLOCK) a step. The iterates are those of the step-by-step loop, up to rounding. Memory: 5·BLOCK·d numbers.
#[derive(Clone, Debug)]
pub struct Deferred {
    dim: usize,
    /// Steps of this block made so far: as many updates are pending.
    made: usize,
    /// l_k(i), zero for steps not yet made.
    left: Vec<Row>,
    /// u_k(i).
    draws: Vec<Row>,
    /// (C_0 u_k)_i without the diagonal.
    products: Vec<Row>,
    /// The draws once more, in panels: of this block, and room for those of the next.
    panels: Vec<Panel>,
    next: Vec<Panel>,
}

impl Deferred {
    /// For factors of size `dim`, with nothing pending.
    #[must_use]
    pub fn new(dim: usize) -> Self {
        let rows = vec![[0.0; BLOCK]; dim.next_multiple_of(4)];
        let panels = vec![[Chunk([0.0; 8]); BLOCK]; dim.div_ceil(8)];
        Self {
            dim,
            made: 0,
            left: rows.clone(),
            draws: rows.clone(),
            products: rows,
            next: panels.clone(),
            panels,
        }
    }

    /// Steps of this block made so far.
    #[must_use]
    pub fn made(&self) -> usize {
        self.made
    }

    /// Applies what is pending and starts a block with these draws, u_k at `draws[k·d..]`.
    ///
    /// Cost: 2·BLOCK·d² flops, C read and written once.
    ///
    /// # Panics
    /// When `draws` is not of BLOCK·d entries, or `packed` not of d(d+1)/2.
    pub fn begin(&mut self, packed: &mut [f64], draws: &[f64]) {
        let d = self.dim;
        check(packed, d);
        assert_eq!(draws.len(), BLOCK * d, "prox: BLOCK draws of d = {d} entries");
        for (c, panel) in self.next.iter_mut().enumerate() {
            let columns = 8 * c..d.min(8 * c + 8);
            for k in 0..BLOCK {
                panel[k].0[..columns.len()].copy_from_slice(&draws[k * d..][columns.clone()]);
            }
        }
        for (i, row) in self.draws[..d].iter_mut().enumerate() {
            for k in 0..BLOCK {
                row[k] = draws[k * d + i];
            }
        }
        self.products.fill([0.0; BLOCK]);
        let (update, left, last) = (self.made > 0, &*self.left, &*self.panels);
        let (next, out) = (Some(&*self.next), &mut *self.products);
        sweep(packed, d, update, left, last, next, out);
        self.restart();
        std::mem::swap(&mut self.panels, &mut self.next);
    }

    /// z = mean + C·u for the next draw of the block, with `diagonal` for the diagonal of C. Cost: O(d·BLOCK).
    ///
    /// # Panics
    /// When the block is over, or lengths differ.
    pub fn point(&self, mean: &[f64], diagonal: &[f64], point: &mut [f64]) {
        let (d, k) = (self.dim, self.made);
        assert!(k < BLOCK, "prox: a block has {BLOCK} steps");
        let lengths = [mean.len(), diagonal.len(), point.len()];
        assert!(lengths.iter().all(|&n| n == d), "prox: vectors have d = {d} entries");
        let (left, draws, products) = (&*self.left, &*self.draws, &*self.products);
        dispatch!(
            plain::correct,
            correct_lanes(k: usize, left: &[Row], draws: &[Row], products: &[Row], mean: &[f64], diagonal: &[f64],
                point: &mut [f64])
        );
    }

    /// Puts the update −γ·pull·uᵀ of the block's next draw with those pending.
    ///
    /// # Panics
    /// When the block is over, or `pull` is not of d entries.
    pub fn push(&mut self, gamma: f64, pull: &[f64]) {
        let (d, k) = (self.dim, self.made);
        assert!(k < BLOCK && pull.len() == d, "prox: a pull of d = {d} entries, at most {BLOCK} a block");
        for (row, p) in self.left.iter_mut().zip(pull) {
            row[k] = -gamma * p;
        }
        self.made += 1;
    }

    /// Applies what is pending; the block is over. Cost: BLOCK·d² flops, nothing if nothing is pending.
    ///
    /// # Panics
    /// When `packed` is not of d(d+1)/2 entries.
    pub fn settle(&mut self, packed: &mut [f64]) {
        check(packed, self.dim);
        if self.made > 0 {
            let (left, last) = (&*self.left, &*self.panels);
            sweep(packed, self.dim, true, left, last, None, &mut self.products);
            self.restart();
        }
    }

    /// An average over the block, off the diagonal: mean ← mean + share·(C_0 − mean) + Σ_k weight_k l_k u_kᵀ.
    ///
    /// To be called at the end of a block, while `packed` is C_0 still; the products are spent. What this does to the
    /// diagonal of `mean` is of no use. Cost: BLOCK·d² flops, C read, `mean` read and written.
    ///
    /// # Panics
    /// When `packed` or `mean` is not of d(d+1)/2 entries.
    pub fn average(&mut self, packed: &[f64], share: f64, weights: &[f64; BLOCK], mean: &mut [f64]) {
        check(packed, self.dim);
        check(mean, self.dim);
        dispatch!(plain::blend, blend_lanes(packed: &[f64], share: f64, mean: &mut [f64]));
        for (scaled, left) in self.products.iter_mut().zip(&self.left) {
            for k in 0..BLOCK {
                scaled[k] = weights[k] * left[k];
            }
        }
        sweep(mean, self.dim, true, &self.products, &self.panels, None, &mut []);
    }

    fn restart(&mut self) {
        self.left.fill([0.0; BLOCK]);
        self.made = 0;
    }
}

/// C_ij ← C_ij + Σ_k left_k(i) last_k(j) if `update`, then out_k(i) ← out_k(i) + Σ_j C_ij next_k(j), all for j < i.
fn sweep(
    packed: &mut [f64],
    d: usize,
    update: bool,
    left: &[Row],
    last: &[Panel],
    next: Option<&[Panel]>,
    out: &mut [Row],
) {
    dispatch!(
        plain::sweep,
        sweep_lanes(packed: &mut [f64], d: usize, update: bool, left: &[Row], last: &[Panel],
            next: Option<&[Panel]>, out: &mut [Row])
    );
}

#[inline(always)]
fn lift_lanes<S: Simd>(simd: S, diagonal: &mut [f64], gamma: f64, pull: &[f64], draw: &[f64]) {
    let mut negative = 0u64;
    for ((c, p), u) in diagonal.iter_mut().zip(pull).zip(draw) {
        let x = simd.fma(-gamma * p, *u, *c);
        let root = simd.fma(x, x, 4.0 * gamma).sqrt();
        // Minus the sum marks a negative x, which is rare and looked at apart.
        *c = if x >= 0.0 { 0.5 * (x + root) } else { x - root };
        negative |= u64::from(x < 0.0);
    }
    if negative != 0 {
        for c in diagonal.iter_mut().filter(|c| **c < 0.0) {
            *c = -2.0 * gamma / *c;
        }
    }
}

#[inline(always)]
fn blend_lanes<S: Simd>(simd: S, packed: &[f64], share: f64, mean: &mut [f64]) {
    for (m, c) in mean.iter_mut().zip(packed) {
        *m = simd.fma(share, c - *m, *m);
    }
}

#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "an inner loop, called from one place")]
fn step_lanes<S: Simd>(
    simd: S,
    packed: &mut [f64],
    mean: &[f64],
    diagonal: &[f64],
    left: &[f64],
    right: &[f64],
    draw: &[f64],
    out: &mut [f64],
) {
    let d = left.len();
    let mut i = 0;
    if S::WIDE {
        while i + 8 <= d {
            let sums = step_eight(simd, rows_mut(packed, i), i / 8, &left[i..], right, draw);
            finish(simd, i, &sums, mean, diagonal, draw, out);
            i += 8;
        }
    }
    while i + 4 <= d {
        let sums = step_rows::<S, 4>(simd, rows_mut(packed, i), i, left, right, draw);
        finish(simd, i, &sums, mean, diagonal, draw, out);
        i += 4;
    }
    while i < d {
        let sums = step_rows::<S, 1>(simd, rows_mut(packed, i), i, left, right, draw);
        finish(simd, i, &sums[..1], mean, diagonal, draw, out);
        i += 1;
    }
}

/// out = mean + diagonal·draw + sums, from entry i on.
#[inline(always)]
fn finish<S: Simd>(
    simd: S,
    i: usize,
    sums: &[f64],
    mean: &[f64],
    diagonal: &[f64],
    draw: &[f64],
    out: &mut [f64],
) {
    let n = sums.len();
    let (mean, diagonal, draw) = (&mean[i..][..n], &diagonal[i..][..n], &draw[i..][..n]);
    for (r, out) in out[i..][..n].iter_mut().enumerate() {
        *out = sums[r] + simd.fma(diagonal[r], draw[r], mean[r]);
    }
}

/// Eight rows of 8·full columns and a triangle of eight: r columns for row r, so that every mask is a constant.
#[inline(always)]
fn step_eight<S: Simd>(
    simd: S,
    rows: [&mut [f64]; 8],
    full: usize,
    left: &[f64],
    right: &[f64],
    draw: &[f64],
) -> [f64; 8] {
    let left: &[f64; 8] = left.first_chunk().expect("eight rows");
    let (last, next) = (right.as_chunks::<8>().0, draw.as_chunks::<8>().0);
    let (u, v) = (simd.load(&last[full]), &next[full]);
    let mut coefficients = [simd.splat(0.0); 8];
    let mut open = [simd.splat(0.0); 8];
    // The tail comes first: a chunk of the next row, loaded while the tail of this one is being stored, would wait.
    for r in 0..8 {
        coefficients[r] = simd.splat(left[r]);
        let row = &mut rows[r][8 * full..][..r];
        let t = simd.mul_add(coefficients[r], u, simd.load_partial(row));
        simd.store_partial(t, row);
        open[r] = simd.mul_add(t, simd.load_partial(&v[..r]), open[r]);
    }
    let [a, b, c, d, e, f, g, h] = rows;
    let upper = body(a, full).iter_mut().zip(body(b, full)).zip(body(c, full).iter_mut().zip(body(d, full)));
    let lower = body(e, full).iter_mut().zip(body(f, full)).zip(body(g, full).iter_mut().zip(body(h, full)));
    for (((((a, b), (c, d)), ((e, f), (g, h))), u), v) in upper.zip(lower).zip(last).zip(next) {
        let (u, v) = (simd.load(u), simd.load(v));
        for ((chunk, coefficient), open) in
            [a, b, c, d, e, f, g, h].into_iter().zip(coefficients).zip(&mut open)
        {
            let t = simd.mul_add(coefficient, u, simd.load(chunk));
            simd.store(t, chunk);
            *open = simd.mul_add(t, v, *open);
        }
    }
    let [a, b, c, d, e, f, g, h] = open;
    let ([a, b, c, d], [e, f, g, h]) = (simd.sums([a, b, c, d]), simd.sums([e, f, g, h]));
    [a, b, c, d, e, f, g, h]
}

/// R rows from row i on, R = 4 or 1.
#[inline(always)]
fn step_rows<S: Simd, const R: usize>(
    simd: S,
    mut rows: [&mut [f64]; R],
    i: usize,
    left: &[f64],
    right: &[f64],
    draw: &[f64],
) -> [f64; 4] {
    let (last, next) = (right.as_chunks::<8>().0, draw.as_chunks::<8>().0);
    let full = i / 8;
    let mut coefficients = [simd.splat(0.0); R];
    let mut open = [[simd.splat(0.0); 1]; R];
    // The tail comes first: a chunk of the next row, loaded while the tail of this one is being stored, would wait.
    for r in 0..R {
        coefficients[r] = simd.splat(left[i + r]);
        let (row, tail) = (&mut rows[r][8 * full..i + r], 8 * full..i + r);
        let (u, v) = (simd.load_partial(&right[tail.clone()]), simd.load_partial(&draw[tail]));
        let t = simd.mul_add(coefficients[r], u, simd.load_partial(row));
        simd.store_partial(t, row);
        open[r][0] = simd.mul_add(t, v, open[r][0]);
    }
    let vectors = last.iter().zip(next);
    if let Some([a, b, c, d]) = four(&mut rows) {
        let chunks =
            body(a, full).iter_mut().zip(body(b, full)).zip(body(c, full).iter_mut().zip(body(d, full)));
        for (((a, b), (c, d)), (u, v)) in chunks.zip(vectors) {
            let (u, v) = (simd.load(u), simd.load(v));
            for ((chunk, coefficient), open) in [a, b, c, d].into_iter().zip(coefficients).zip(&mut open) {
                let t = simd.mul_add(coefficient, u, simd.load(chunk));
                simd.store(t, chunk);
                open[0] = simd.mul_add(t, v, open[0]);
            }
        }
    } else {
        for (chunk, (u, v)) in body(rows[0], full).iter_mut().zip(vectors) {
            let t = simd.mul_add(coefficients[0], simd.load(u), simd.load(chunk));
            simd.store(t, chunk);
            open[0][0] = simd.mul_add(t, simd.load(v), open[0][0]);
        }
    }
    close_rows(simd, &open, 0)
}

/// The first `full` chunks of a row.
#[inline(always)]
fn body(row: &mut [f64], full: usize) -> &mut [[f64; 8]] {
    &mut row.as_chunks_mut().0[..full]
}

/// The rows one by one, if they are four: loops over them run without looking at lengths.
#[inline(always)]
fn four<'r, const R: usize>(rows: &'r mut [&mut [f64]; R]) -> Option<[&'r mut [f64]; 4]> {
    match rows.as_mut_slice() {
        [a, b, c, d] => Some([a, b, c, d]),
        _ => None,
    }
}

#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "an inner loop, called from one place")]
fn sweep_lanes<S: Simd>(
    simd: S,
    packed: &mut [f64],
    d: usize,
    update: bool,
    left: &[Row],
    last: &[Panel],
    next: Option<&[Panel]>,
    out: &mut [Row],
) {
    for top in (0..d).step_by(ROWS) {
        let bottom = d.min(top + ROWS);
        for from in (0..bottom.div_ceil(8)).step_by(COLUMNS) {
            let mut i = top.max(8 * from);
            while i + 4 <= bottom {
                sweep_rows::<S, 4>(simd, packed, i, from, update, left, last, next, out);
                i += 4;
            }
            while i < bottom {
                sweep_rows::<S, 1>(simd, packed, i, from, update, left, last, next, out);
                i += 1;
            }
        }
    }
}

/// R rows, the chunks from `from` on that are left of the diagonal, at most COLUMNS of them.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "an inner loop, called from one place")]
fn sweep_rows<S: Simd, const R: usize>(
    simd: S,
    packed: &mut [f64],
    i: usize,
    from: usize,
    update: bool,
    left: &[Row],
    last: &[Panel],
    next: Option<&[Panel]>,
    out: &mut [Row],
) {
    let whole = (i / 8 - from).min(COLUMNS);
    let has_tail = whole < COLUMNS && i + R - 1 > 8 * (from + whole);
    let mut rows = rows_mut::<R>(packed, i);
    for r in 0..R {
        let end = (i + r).min(8 * (from + COLUMNS));
        rows[r] = &mut std::mem::take(&mut rows[r])[8 * from..end];
    }
    if update {
        let left = &left[i..][..R];
        let panels = &last[from..][..whole];
        if let Some([a, b, c, d]) = four(&mut rows) {
            let left: &[Row; 4] = left.first_chunk().expect("four rows");
            let (a, b, c, d) = (body(a, whole), body(b, whole), body(c, whole), body(d, whole));
            if S::WIDE {
                update_four::<S, 2>(simd, [a, b, c, d], left, panels);
            } else {
                update_four::<S, 1>(simd, [a, b, c, d], left, panels);
            }
        } else {
            let left: &[Row; 1] = left.first_chunk().expect("a row");
            for (chunk, panel) in body(rows[0], whole).iter_mut().zip(panels) {
                update_chunks(simd, [std::array::from_mut(chunk)], left, std::array::from_ref(panel));
            }
        }
        if has_tail {
            let panel = &last[from + whole];
            for r in 0..R {
                let tail = &mut rows[r][8 * whole..];
                let mut t = simd.load_partial(tail);
                for k in 0..BLOCK {
                    t = simd.mul_add(simd.splat(left[r][k]), simd.load(&panel[k].0), t);
                }
                simd.store_partial(t, tail);
            }
        }
    }
    if let Some(next) = next {
        let panels = &next[from..][..whole];
        let tail = has_tail.then(|| &next[from + whole]);
        let rows = rows.map(|row| &*row);
        let out: &mut [Row; R] = out[i..].first_chunk_mut().expect("a row for each of the block");
        if S::WIDE {
            for k in (0..BLOCK).step_by(4) {
                product::<S, R, 4>(simd, rows, panels, tail, k, out);
            }
        } else {
            for k in (0..BLOCK).step_by(1) {
                product::<S, R, 1>(simd, rows, panels, tail, k, out);
            }
        }
    }
}

/// row_r ← row_r + Σ_k left_r(k) panel_k for four rows, N chunks at a time.
#[inline(always)]
fn update_four<S: Simd, const N: usize>(
    simd: S,
    rows: [&mut [[f64; 8]]; 4],
    left: &[Row; 4],
    panels: &[Panel],
) {
    let [a, b, c, d] = rows;
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks_mut::<N>(), b.as_chunks_mut::<N>());
    let ((c, c_rest), (d, d_rest)) = (c.as_chunks_mut::<N>(), d.as_chunks_mut::<N>());
    let (panels, panels_rest) = panels.as_chunks::<N>();
    for (((a, b), (c, d)), panels) in a.iter_mut().zip(b).zip(c.iter_mut().zip(d)).zip(panels) {
        update_chunks(simd, [a, b, c, d], left, panels);
    }
    let rest = a_rest.iter_mut().zip(b_rest).zip(c_rest.iter_mut().zip(d_rest));
    for (((a, b), (c, d)), panel) in rest.zip(panels_rest) {
        let [a, b, c, d] = [a, b, c, d].map(std::array::from_mut);
        update_chunks(simd, [a, b, c, d], left, std::array::from_ref(panel));
    }
}

/// row_r ← row_r + Σ_k left_r(k) panel_k over N chunks, all held in registers.
#[inline(always)]
fn update_chunks<S: Simd, const R: usize, const N: usize>(
    simd: S,
    rows: [&mut [[f64; 8]; N]; R],
    left: &[Row; R],
    panels: &[Panel; N],
) {
    let mut t = [[simd.splat(0.0); N]; R];
    for r in 0..R {
        for n in 0..N {
            t[r][n] = simd.load(&rows[r][n]);
        }
    }
    for k in 0..BLOCK {
        let mut v = [simd.splat(0.0); N];
        for n in 0..N {
            v[n] = simd.load(&panels[n][k].0);
        }
        for r in 0..R {
            let coefficient = simd.splat(left[r][k]);
            for n in 0..N {
                t[r][n] = simd.mul_add(coefficient, v[n], t[r][n]);
            }
        }
    }
    for r in 0..R {
        for n in 0..N {
            simd.store(t[r][n], &mut rows[r][n]);
        }
    }
}

/// out_r(k + p) += row_r · panel_{k+p}, p < P.
#[inline(always)]
fn product<S: Simd, const R: usize, const P: usize>(
    simd: S,
    rows: [&[f64]; R],
    panels: &[Panel],
    tail: Option<&Panel>,
    k: usize,
    out: &mut [Row; R],
) {
    let whole = panels.len();
    let mut open = [[simd.splat(0.0); P]; R];
    let mut add = |rows: [&[f64; 8]; R], panel: &Panel| {
        let panel: &[Chunk; P] = panel[k..].first_chunk().expect("P draws");
        for r in 0..R {
            let row = simd.load(rows[r]);
            for p in 0..P {
                open[r][p] = simd.mul_add(row, simd.load(&panel[p].0), open[r][p]);
            }
        }
    };
    if let [a, b, c, d] = rows.as_slice() {
        let (a, b) = (a.as_chunks::<8>().0.iter(), b.as_chunks::<8>().0);
        let (c, d) = (c.as_chunks::<8>().0.iter(), d.as_chunks::<8>().0);
        for (((a, b), (c, d)), panel) in a.zip(b).zip(c.zip(d)).zip(panels) {
            let four = [a, b, c, d];
            add(std::array::from_fn(|r| four[r]), panel);
        }
    } else {
        for (chunk, panel) in rows[0].as_chunks().0.iter().zip(panels) {
            add([chunk; R], panel);
        }
    }
    if let Some(panel) = tail {
        for r in 0..R {
            let row = simd.load_partial(&rows[r][8 * whole..]);
            for p in 0..P {
                open[r][p] = simd.mul_add(row, simd.load(&panel[k + p].0), open[r][p]);
            }
        }
    }
    if P == 1 {
        let sums = close_rows(simd, &open, 0);
        for r in 0..R {
            out[r][k] += sums[r];
        }
    } else {
        for r in 0..R {
            let sums = close_vectors(simd, &open, r);
            for p in 0..P {
                out[r][k + p] += sums[p];
            }
        }
    }
}

/// out_i = mean_i + diagonal_i draws_k(i) + products_k(i) + Σ_n left_n(i) Σ_{j<i} draws_n(j) draws_k(j).
///
/// The lanes run over the steps n of the block: `left` is zero for those not yet made.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "an inner loop, called from one place")]
fn correct_lanes<S: Simd>(
    simd: S,
    k: usize,
    left: &[Row],
    draws: &[Row],
    products: &[Row],
    mean: &[f64],
    diagonal: &[f64],
    out: &mut [f64],
) {
    if k <= 8 {
        correct_halves::<S, 1>(simd, k, left, draws, products, out);
    } else {
        correct_halves::<S, 2>(simd, k, left, draws, products, out);
    }
    for (i, out) in out.iter_mut().enumerate() {
        *out += simd.fma(diagonal[i], draws[i][k % BLOCK], mean[i]);
    }
}

#[inline(always)]
fn correct_halves<S: Simd, const H: usize>(
    simd: S,
    k: usize,
    left: &[Row],
    draws: &[Row],
    products: &[Row],
    out: &mut [f64],
) {
    let mut so_far = [simd.splat(0.0); H];
    let four = left.as_chunks::<4>().0.iter().zip(draws.as_chunks::<4>().0).zip(products.as_chunks::<4>().0);
    for (((left, draws), products), out) in four.zip(out.chunks_mut(4)) {
        let mut open = [simd.splat(0.0); 4];
        for r in 0..4 {
            let (left, others) = (left[r].as_chunks::<8>().0, draws[r].as_chunks::<8>().0);
            let own = simd.splat(draws[r][k % BLOCK]);
            for h in 0..H {
                open[r] = simd.mul_add(simd.load(&left[h]), so_far[h], open[r]);
                so_far[h] = simd.mul_add(simd.load(&others[h]), own, so_far[h]);
            }
        }
        let sums = simd.sums(open);
        for (r, out) in out.iter_mut().enumerate() {
            *out = products[r][k % BLOCK] + sums[r];
        }
    }
}

mod plain {
    use super::{BLOCK, Panel, Row};

    fn row(packed: &mut [f64], i: usize) -> &mut [f64] {
        &mut packed[i * (i + 1) / 2..][..i]
    }

    pub(super) fn lift(diagonal: &mut [f64], gamma: f64, pull: &[f64], draw: &[f64]) {
        for i in 0..diagonal.len() {
            let c = diagonal[i] - gamma * pull[i] * draw[i];
            let root = (c * c + 4.0 * gamma).sqrt();
            diagonal[i] = if c >= 0.0 { 0.5 * (c + root) } else { 2.0 * gamma / (root - c) };
        }
    }

    pub(super) fn blend(packed: &[f64], share: f64, mean: &mut [f64]) {
        for (m, c) in mean.iter_mut().zip(packed) {
            *m += share * (c - *m);
        }
    }

    pub(super) fn step(
        packed: &mut [f64],
        mean: &[f64],
        diagonal: &[f64],
        left: &[f64],
        right: &[f64],
        draw: &[f64],
        out: &mut [f64],
    ) {
        for i in 0..left.len() {
            out[i] = mean[i] + diagonal[i] * draw[i];
            for (j, c) in row(packed, i).iter_mut().enumerate() {
                *c += left[i] * right[j];
                out[i] += *c * draw[j];
            }
        }
    }

    pub(super) fn sweep(
        packed: &mut [f64],
        d: usize,
        update: bool,
        left: &[Row],
        last: &[Panel],
        next: Option<&[Panel]>,
        out: &mut [Row],
    ) {
        for i in 0..d {
            for (j, c) in row(packed, i).iter_mut().enumerate() {
                if update {
                    *c += (0..BLOCK).map(|k| left[i][k] * last[j / 8][k].0[j % 8]).sum::<f64>();
                }
                if let Some(next) = next {
                    for k in 0..BLOCK {
                        out[i][k] += *c * next[j / 8][k].0[j % 8];
                    }
                }
            }
        }
    }

    pub(super) fn correct(
        k: usize,
        left: &[Row],
        draws: &[Row],
        products: &[Row],
        mean: &[f64],
        diagonal: &[f64],
        out: &mut [f64],
    ) {
        let mut so_far = [0.0; BLOCK];
        for i in 0..out.len() {
            out[i] = mean[i] + diagonal[i] * draws[i][k] + products[i][k];
            for n in 0..k {
                out[i] += left[i][n] * so_far[n];
                so_far[n] += draws[i][n] * draws[i][k];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{SIZES, agree, each_level, numbers};

    const GAMMA: f64 = 0.01;

    /// The textbook loop with π = z + sin z, and one with either kernel: m, C and the last point after `steps` steps.
    fn textbook(d: usize, steps: usize) -> Vec<f64> {
        let (mut mean, mut c, mut z) = start(d);
        for t in 0..steps {
            let u = numbers(100 + t as u64, d);
            for i in 0..d {
                z[i] = mean[i] + (0..=i).map(|j| c[i * (i + 1) / 2 + j] * u[j]).sum::<f64>();
            }
            for i in 0..d {
                let pull = z[i] + z[i].sin();
                mean[i] -= GAMMA * pull;
                for j in 0..=i {
                    c[i * (i + 1) / 2 + j] -= GAMMA * pull * u[j];
                }
                let x = &mut c[i * (i + 3) / 2];
                *x = 0.5 * (*x + (*x * *x + 4.0 * GAMMA).sqrt());
            }
        }
        [mean, c, z].concat()
    }

    fn start(d: usize) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let mut c: Vec<f64> = numbers(5, d * (d + 1) / 2).iter().map(|x| x / (1 + d) as f64).collect();
        (0..d).for_each(|i| c[i * (i + 3) / 2] = 1.0);
        (numbers(6, d), c, vec![0.0; d])
    }

    fn pull(z: &[f64], mean: &mut [f64]) -> Vec<f64> {
        let pull: Vec<f64> = z.iter().map(|z| z + z.sin()).collect();
        mean.iter_mut().zip(&pull).for_each(|(m, p)| *m -= GAMMA * p);
        pull
    }

    fn fused(d: usize, steps: usize) -> Vec<f64> {
        let (mut mean, mut c, mut z) = start(d);
        let (mut diagonal, mut left, mut right) = (vec![1.0; d], vec![0.0; d], vec![0.0; d]);
        for t in 0..=steps {
            let u = numbers(100 + t as u64, d);
            let before = z.clone();
            step(&mut c, &mean, &diagonal, &left, &right, &u, &mut z);
            if t == steps {
                return [mean, c, before].concat();
            }
            let pull = pull(&z, &mut mean);
            left = pull.iter().map(|p| -GAMMA * p).collect();
            lift(&mut c, &mut diagonal, GAMMA, &pull, &u);
            right = u;
        }
        unreachable!("the last round returns");
    }

    fn deferred(d: usize, steps: usize) -> Vec<f64> {
        let (mut mean, mut c, mut z) = start(d);
        let (mut diagonal, mut block) = (vec![1.0; d], Deferred::new(d));
        for t in 0..steps {
            if t % BLOCK == 0 {
                let draws: Vec<f64> = (t..t + BLOCK).flat_map(|t| numbers(100 + t as u64, d)).collect();
                block.begin(&mut c, &draws);
            }
            assert_eq!(block.made(), t % BLOCK);
            block.point(&mean, &diagonal, &mut z);
            let pull = pull(&z, &mut mean);
            block.push(GAMMA, &pull);
            lift(&mut c, &mut diagonal, GAMMA, &pull, &numbers(100 + t as u64, d));
        }
        block.settle(&mut c);
        [mean, c, z].concat()
    }

    #[test]
    fn both_kernels_walk_the_textbook_s_path() {
        for d in SIZES.into_iter().chain([127, 128, 129, 133, 203, 300]) {
            for steps in [1, 16, 37] {
                let truth = textbook(d, steps);
                agree(1e-14, || fused(d, steps));
                agree(1e-14, || deferred(d, steps));
                for found in [fused(d, steps), deferred(d, steps)] {
                    assert!(found.iter().zip(&truth).all(|(a, b)| (a - b).abs() < 1e-13), "d = {d}");
                }
            }
        }
    }

    #[test]
    fn an_average_over_a_block_is_that_of_its_iterates() {
        each_level(|| {
            for (d, made) in [(1, 3), (9, 16), (40, 5), (203, 16)] {
                let (c_0, mut mean) = (start(d).1, numbers(8, d * (d + 1) / 2));
                let mut expected = mean.clone();
                let draws = numbers(9, BLOCK * d);
                let (mut c, mut block) = (c_0.clone(), Deferred::new(d));
                block.begin(&mut c, &draws);
                // mean ← mean + 0.2(w − mean) at w_0, …, w_made, as shares and weights.
                let (mut share, mut weights, mut w) = (0.0, [0.0; BLOCK], c_0.clone());
                for k in 0..=made {
                    share += 0.2 * (1.0 - share);
                    weights[..k].iter_mut().for_each(|x| *x += 0.2 * (1.0 - *x));
                    expected.iter_mut().zip(&w).for_each(|(m, w)| *m += 0.2 * (w - *m));
                    if k < made {
                        let pull = numbers(50 + k as u64, d);
                        block.push(0.1, &pull);
                        crate::triangle::rank_update(&mut w, -0.1, &pull, &draws[k * d..][..d]);
                    }
                }
                block.average(&c, share, &weights, &mut mean);
                for i in 0..d {
                    let strict = i * (i + 1) / 2..i * (i + 3) / 2;
                    assert!(strict.clone().all(|j| (mean[j] - expected[j]).abs() < 1e-14), "d = {d}");
                }
            }
        });
    }

    #[test]
    fn lift_is_the_positive_root_on_both_sides_of_zero() {
        each_level(|| {
            let cases = [-1e8, -3.0, -1e-9, 0.0, 1e-9, 0.5, 2.0, 1e8, -2.0];
            let (mut diagonal, n) = (cases.to_vec(), cases.len());
            let mut packed = vec![7.0; n * (n + 1) / 2];
            lift(&mut packed, &mut diagonal, 1e-3, &vec![0.0; n], &vec![1.0; n]);
            for (i, (x, c)) in diagonal.iter().zip(cases).enumerate() {
                let scale = x * x + (c * x).abs() + 1e-3;
                assert!(*x > 0.0 && (x * x - c * x - 1e-3).abs() <= 8.0 * f64::EPSILON * scale, "{c}");
                assert_eq!(packed[i * (i + 3) / 2].to_bits(), x.to_bits());
            }
            assert_eq!(packed.iter().filter(|x| **x > 6.0 && **x < 8.0).count(), n * (n - 1) / 2);
        });
    }

    #[test]
    #[should_panic(expected = "at most 16 a block")]
    fn a_block_ends() {
        let mut block = Deferred::new(1);
        (0..=BLOCK).for_each(|_| block.push(1.0, &[1.0]));
    }
}
