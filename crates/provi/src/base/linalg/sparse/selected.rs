//! The entries of an inverse where the factor has entries, with a bound of their error.

use super::factor::TOGETHER;
use super::structure::{Front, Structure};
use crate::base::chunked;
use crate::base::error::Result;
use crate::base::stop;
use faer::linalg::{matmul, triangular_inverse, triangular_solve};
use faer::{Accum, MatMut, MatRef, Par};

/// Fronts between two checks of the stop signal.
const LOOK: usize = 1024;

/// Entries of Σ = P⁻¹, P = LLᵀ, in the places of L's, on and below the diagonal.
///
/// A front F has the columns 1 and the rows 2 below. From the root to the leaves
/// ```text
/// Y = L₂₁L₁₁⁻¹,   Σ₂₁ = −Σ₂₂Y,   Σ₁₁ = L₁₁⁻ᵀL₁₁⁻¹ + YᵀΣ₂₂Y
/// ```
/// and Σ₂₂ is known from the fronts above.
///
/// **Error.** Σ_F = MΣ₂₂Mᵀ + N with M = [−Y I]ᵀ and N = diag(L₁₁⁻ᵀL₁₁⁻¹, 0). If (1−ε)Σ₂₂ ⪯ Z₂₂ ⪯ (1+ε)Σ₂₂, then also
/// (1−ε)Σ_F ⪯ MZ₂₂Mᵀ + N ⪯ (1+ε)Σ_F: an error in this order is handed down, and does not grow. What a front adds by
/// rounding is measured in the same order: for |Δ_ij| ≤ γa_ia_j
/// ```text
/// ‖Σ_F^{−½}ΔΣ_F^{−½}‖ ≤ γ(Σ_i a_i√P_ii)²,     since (Σ_F⁻¹)_ii ≤ P_ii
/// ```
/// With x_i = ‖L₁₁⁻¹e_i‖, T_i = Σ_j √Σ_jj|Y_ji| and γ = (rows of F + 8)·2u, the products have a_i = x_i + T_i in 1 and
/// √Σ_ii in 2; the inverse of L₁₁ adds 2γ(Σ x_i√P_ii)², and the division by it 2γ‖T|L₁₁|‖. All of it together is less
/// than γ(6(Σ_F a_i√P_ii)² + 2‖T|L₁₁|‖).
#[derive(Clone, Debug)]
pub(crate) struct Selected {
    pub(super) values: Vec<f64>,
    /// ε of each front.
    errors: Vec<f64>,
}

/// Working memory for a front.
#[derive(Default)]
struct Room {
    /// Y.
    ratio: Vec<f64>,
    /// L₁₁⁻¹.
    inverse: Vec<f64>,
}

/// Σ₂₂ of the fronts of a run, in full, and √Σ_ii of its rows.
#[derive(Default)]
struct Above {
    values: Vec<f64>,
    deviations: Vec<f64>,
    rows: Vec<usize>,
}

impl Selected {
    /// From a factor and √P_ii by places.
    pub(crate) fn new(structure: &Structure, factor: &[f64], roots: &[f64]) -> Result<Self> {
        let mut values = vec![0.0; structure.len()];
        let mut errors = vec![0.0; structure.fronts().len()];
        let mut above = Above::default();
        for (s, run) in structure.runs().iter().enumerate().rev() {
            if s % LOOK == 0 || run.len() > LOOK {
                stop::check()?;
            }
            let front = &structure.fronts()[run.start];
            let (size, r) = (front.height() * front.columns, front.height() - front.columns);
            above.gather(structure, front, &values);
            let before = structure.parent(front).map_or(0.0, |parent| errors[parent]);
            let range = structure.values(run);
            let factor = &factor[range.clone()];
            let outs = [(&mut values[range], TOGETHER * size), (&mut errors[run.clone()], TOGETHER)];
            let above = &above;
            let work = run.len() * (size * r + front.columns.pow(3));
            chunked::fill_together(outs, work, |chunk, [blocks, errors]| {
                let mut room = Room::default();
                for (n, (to, error)) in blocks.chunks_exact_mut(size).zip(errors).enumerate() {
                    let s = chunk * TOGETHER + n;
                    let (front, from) =
                        (&structure.fronts()[run.start + s], &factor[s * size..(s + 1) * size]);
                    fill(front, from, to, above, &mut room);
                    *error = before + rounding(structure, front, (from, to), roots, above, &room);
                }
            });
        }
        stop::check()?;
        Ok(Self { values, errors })
    }

    /// Zeros: the covariance of a point.
    pub(crate) fn nothing(structure: &Structure) -> Self {
        Self { values: vec![0.0; structure.len()], errors: vec![0.0; structure.fronts().len()] }
    }

    pub(crate) fn values(&self) -> &[f64] {
        &self.values
    }

    /// ε such that (1−ε)Σ_KK ⪯ Z_KK ⪯ (1+ε)Σ_KK for every set K of rows of that front; infinite if it is not small.
    pub(crate) fn error(&self, front: usize) -> f64 {
        let error = self.errors[front];
        if error <= 0.01 { 1.1 * error } else { f64::INFINITY }
    }

    /// The largest ε.
    pub(crate) fn largest_error(&self) -> f64 {
        (0..self.errors.len()).map(|s| self.error(s)).fold(0.0, f64::max)
    }
}

impl Above {
    /// From the fronts above, which are finished.
    fn gather(&mut self, structure: &Structure, front: &Front, values: &[f64]) {
        let below = structure.below(front);
        let r = below.len();
        let above = &mut self.values;
        above.clear();
        above.resize(r * r, 0.0);
        structure.each_column(below, &mut self.rows, |b, first, step, rows| {
            for (a, &row) in (b..r).zip(rows) {
                let value = values[first + step * row];
                (above[a * r + b], above[b * r + a]) = (value, value);
            }
        });
        self.deviations.clear();
        self.deviations.extend((0..r).map(|j| self.values[j * r + j].max(0.0).sqrt()));
    }
}

/// Y, L₁₁⁻¹, then the entries of a front.
fn fill(front: &Front, from: &[f64], to: &mut [f64], above: &Above, room: &mut Room) {
    let k = front.columns;
    let r = front.height() - k;
    let (own, under) = from.split_at(k * k);
    let (above, Room { ratio, inverse }) = (&above.values, room);
    ratio.clear();
    ratio.extend_from_slice(under);
    inverse.clear();
    inverse.resize(k * k, 0.0);
    let (first, second) = to.split_at_mut(k * k);
    if k == 1 {
        let pivot = own[0];
        inverse[0] = 1.0 / pivot;
        ratio.iter_mut().for_each(|y| *y /= pivot);
        let mut square = inverse[0] * inverse[0];
        provi_kernels::design::predict(above, r, ratio, second);
        for (entry, y) in second.iter_mut().zip(&*ratio) {
            square += y * *entry;
            *entry = -*entry;
        }
        first[0] = square;
        return;
    }
    let lower = MatRef::from_row_major_slice(own, k, k);
    triangular_inverse::invert_lower_triangular(
        MatMut::from_row_major_slice_mut(inverse, k, k),
        lower,
        Par::Seq,
    );
    // A row y of Y solves yL₁₁ = l: L₁₁ᵀyᵀ = lᵀ, and the rows of L₂₁ are the columns of its transpose.
    let many = MatMut::from_column_major_slice_mut(ratio, k, r);
    triangular_solve::solve_upper_triangular_in_place(lower.transpose(), many, Par::Seq);
    let ratio = MatRef::from_row_major_slice(ratio, r, k);
    let inverse = MatRef::from_row_major_slice(inverse, k, k);
    let mut first = MatMut::from_row_major_slice_mut(first, k, k);
    matmul::matmul(first.as_mut(), Accum::Replace, inverse.transpose(), inverse, 1.0, Par::Seq);
    if r > 0 {
        let above = MatRef::from_row_major_slice(above, r, r);
        let mut second = MatMut::from_row_major_slice_mut(second, r, k);
        matmul::matmul(second.as_mut(), Accum::Replace, above, ratio, -1.0, Par::Seq);
        matmul::matmul(first.as_mut(), Accum::Add, ratio.transpose(), second.as_ref(), -1.0, Par::Seq);
    }
}

/// What rounding adds to ε at a front.
fn rounding(
    structure: &Structure,
    front: &Front,
    (from, to): (&[f64], &[f64]),
    roots: &[f64],
    Above { deviations, .. }: &Above,
    Room { ratio, inverse }: &Room,
) -> f64 {
    let k = front.columns;
    let r = front.height() - k;
    let mut sum: f64 = (0..r).map(|j| deviations[j] * roots[structure.row(front, k + j)]).sum();
    // T, then ‖T|L₁₁|‖.
    let mut reach = vec![0.0; k];
    for (deviation, row) in deviations.iter().zip(ratio.chunks_exact(k)) {
        reach.iter_mut().zip(row).for_each(|(t, y)| *t += deviation * y.abs());
    }
    let mut divided = vec![0.0f64; k];
    for (t, row) in reach.iter().zip(from.chunks_exact(k)) {
        divided.iter_mut().zip(row).for_each(|(sum, l)| *sum += t * l.abs());
    }
    for i in 0..k {
        let column: f64 = (i..k).map(|row| inverse[row * k + i].powi(2)).sum();
        let own = (column.sqrt() + reach[i]).max(to[i * k + i].max(0.0).sqrt());
        sum += own * roots[front.first + i];
    }
    let unit = (front.height() as f64 + 8.0) * f64::EPSILON;
    1.02 * unit * (6.0 * sum * sum + 2.0 * crate::base::linalg::norm(&divided))
}
