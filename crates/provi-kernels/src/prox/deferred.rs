//! Sixteen steps of Prox-SGD in one pass over the triangle.

use super::*;

/// Eight entries of a vector, aligned.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Chunk(pub(super) [f64; 8]);

/// The same eight entries of every draw of a block.
pub(super) type Panel = [Chunk; BLOCK];

/// Numbers of one row for every step of a block.
pub(super) type Row = [f64; BLOCK];

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
pub(super) fn sweep(
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
