//! Coordinates that do not depend on units: columns are centred and scaled, and answers are mapped back \[whiten\].
//!
//! A linear-predictor model in seconds since 1970 and the same model in years have the same posterior. In double
//! precision they differ: if a column lies far from zero, or columns differ in size, products cancel and norms see
//! only the largest column. Such a model is therefore solved and audited in coordinates b, and only its answer is
//! given in the user's coordinates β.

mod dot;

use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::matrix::{Matrix, packed_index, packed_len};
use dot::{Term, accurate};

/// β = Tb, from coefficients b of centred and scaled columns to the coefficients β of the original columns:
/// ```text
/// aᵀβ = kβ_i + Σ_j a_jβ_j = b_i/s_i + Σ_j ((a_j − c_j)/s_j)·b_j
/// b_j = s_jβ_j,   b_i = s_i(kβ_i + Σ_j c_jβ_j),   i the column of one constant k
/// ```
/// Without a constant column nothing is centred. The scales are powers of two, so that scaling causes no rounding;
/// the sums of centring are computed in twice the working precision. Cost: O(d) per point, O(d²) per Gaussian.
#[derive(Clone, Debug, PartialEq)]
pub struct Standard {
    /// The constant column and its value.
    constant: Option<(usize, f64)>,
    /// c_j; zero for a column that is not centred, and for the constant column.
    centers: Vec<f64>,
    /// s_j.
    scales: Vec<f64>,
}

impl Standard {
    /// The map with these centers, and scales that are powers of two near `sizes`.
    pub(crate) fn new(constant: Option<(usize, f64)>, centers: Vec<f64>, sizes: &[f64]) -> Self {
        Self { constant, centers, scales: sizes.iter().map(|&size| power_of_two(size)).collect() }
    }

    /// The map with these scales, as a file holds them; `None` if they are no powers of two, or the columns do not fit.
    pub(crate) fn restored(
        constant: Option<(usize, f64)>,
        centers: Vec<f64>,
        scales: Vec<f64>,
    ) -> Option<Self> {
        let fits = constant.is_none_or(|(i, k)| {
            i < centers.len() && k.is_finite() && k.abs() > 0.0 && centers[i].abs() <= 0.0
        });
        let centred = constant.is_some() || centers.iter().all(|c| c.abs() <= 0.0);
        let powers =
            scales.iter().all(|&s| s > 0.0 && s.is_finite() && power_of_two(s).to_bits() == s.to_bits());
        (fits && centred && powers && scales.len() == centers.len()).then_some(Self {
            constant,
            centers,
            scales,
        })
    }

    /// Whether β and b are the same.
    pub fn is_identity(&self) -> bool {
        let near = |x: &f64, one: f64| x.to_bits() == one.to_bits();
        !self.is_centred()
            && self.constant.is_none_or(|(_, k)| near(&k, 1.0))
            && self.scales.iter().all(|s| near(s, 1.0))
    }

    /// Whether any column is centred.
    pub(crate) fn is_centred(&self) -> bool {
        self.constant.is_some() && self.centers.iter().any(|c| c.abs() > 0.0)
    }

    /// The constant column and its value, if there is one.
    pub(crate) fn constant(&self) -> Option<(usize, f64)> {
        self.constant
    }

    /// The index of the constant column, if its coefficient combines several coefficients of b. Every other
    /// coefficient is a multiple of one.
    pub(crate) fn mixed(&self) -> Option<usize> {
        self.constant.filter(|_| self.is_centred()).map(|(i, _)| i)
    }

    /// c_j.
    pub(crate) fn center(&self, j: usize) -> f64 {
        self.centers[j]
    }

    /// s.
    pub(crate) fn scales(&self) -> &[f64] {
        &self.scales
    }

    /// For each column, what to subtract and then by what to multiply.
    pub(crate) fn columns(&self) -> (Vec<f64>, Vec<f64>) {
        let mut factors: Vec<f64> = self.scales.iter().map(|s| 1.0 / s).collect();
        if let Some((i, k)) = self.constant {
            factors[i] /= k;
        }
        (self.centers.clone(), factors)
    }

    /// T.
    pub(crate) fn matrix(&self) -> Matrix {
        self.own_rows(&Matrix::scaled_identity(self.scales.len(), 1.0))
    }

    /// A bound of ‖T⁻¹‖.
    pub(crate) fn largest_inverse(&self) -> f64 {
        let largest = self.scales.iter().copied().fold(0.0, f64::max);
        let Some((i, k)) = self.constant else { return largest };
        let square: f64 = self.centers.iter().map(|c| c * c).sum::<f64>() + k * k;
        largest.hypot(self.scales[i] * square.sqrt()) * (1.0 + 1e-12)
    }

    /// The same map with powers of two near other sizes.
    pub(crate) fn resized(self, sizes: &[f64]) -> Self {
        Self::new(self.constant, self.centers, sizes)
    }

    /// The map of the first coordinates alone; the constant column must be among them.
    pub(crate) fn head(&self, count: usize) -> Self {
        let constant = self.constant.filter(|(i, _)| *i < count);
        Self { constant, centers: self.centers[..count].to_vec(), scales: self.scales[..count].to_vec() }
    }

    /// log |det T|.
    pub(crate) fn log_det(&self) -> f64 {
        let constant = self.constant.map_or(0.0, |(_, k)| k.abs().ln());
        -(constant + self.scales.iter().map(|s| s.ln()).sum::<f64>())
    }

    /// b = T⁻¹β.
    pub fn to_standard(&self, point: &[f64]) -> Vec<f64> {
        let mut out: Vec<f64> = point.iter().zip(&self.scales).map(|(x, s)| x * s).collect();
        if let Some((i, k)) = self.constant {
            out[i] = self.scales[i] * self.constant_of(i, k, |j| point[j]);
        }
        out
    }

    /// β = Tb.
    pub fn to_own(&self, point: &[f64]) -> Vec<f64> {
        let mut out: Vec<f64> = point.iter().zip(&self.scales).map(|(x, s)| x / s).collect();
        if let Some((i, k)) = self.constant {
            out[i] = self.own_of(i, out[i], |j| out[j]) / k;
        }
        out
    }

    /// kβ_i + Σ_j c_jβ_j.
    fn constant_of(&self, i: usize, k: f64, own: impl Fn(usize) -> f64) -> f64 {
        let others = self.centers.iter().enumerate().filter(|(_, c)| c.abs() > 0.0);
        let terms = others.map(|(j, &c)| Term(c, own(j)));
        accurate(std::iter::once(Term(k, own(i))).chain(terms))
    }

    /// b_i/s_i − Σ_j c_jβ_j.
    fn own_of(&self, i: usize, first: f64, own: impl Fn(usize) -> f64) -> f64 {
        let others = self.centers.iter().enumerate().filter(|(j, c)| *j != i && c.abs() > 0.0);
        accurate(std::iter::once(Term(1.0, first)).chain(others.map(|(j, &c)| Term(-c, own(j)))))
    }

    /// Tᵀv: the functional vᵀβ as a functional of b.
    pub(crate) fn pull(&self, v: &[f64]) -> Vec<f64> {
        let lead = self.constant.map_or(0.0, |(i, k)| v[i] / k);
        let pulled = |j: usize| match self.constant {
            Some((i, _)) if i == j => lead / self.scales[j],
            // A single rounding if the product is exact, as it is at the means.
            _ => self.centers[j].mul_add(-lead, v[j]) / self.scales[j],
        };
        (0..v.len()).map(pulled).collect()
    }

    /// The distribution of b for β ~ q. Rounding moves each mean and each row of the factor by at most
    /// `Standard::relative` times its own size.
    pub fn standard_gaussian(&self, q: &Gaussian<Triangular>) -> Gaussian<Triangular> {
        self.map(q, self.to_standard(q.mean()), |rows| {
            for (j, s) in self.scales.iter().enumerate() {
                rows.row_mut(j).iter_mut().for_each(|x| *x *= s);
            }
            let Some((i, k)) = self.constant else { return };
            // The rows are already scaled; division undoes that exactly.
            let own = |j: usize, l: usize| rows[(j, l)] / self.scales[j];
            let lead: Vec<f64> =
                (0..rows.columns()).map(|l| self.scales[i] * self.constant_of(i, k, |j| own(j, l))).collect();
            rows.row_mut(i).copy_from_slice(&lead);
        })
    }

    /// The distribution of β for b ~ q.
    pub fn own_gaussian(&self, q: &Gaussian<Triangular>) -> Gaussian<Triangular> {
        self.map(q, self.to_own(q.mean()), |rows| *rows = self.own_rows(rows))
    }

    /// TA for a square A in the coordinates b.
    pub(crate) fn own_rows(&self, a: &Matrix) -> Matrix {
        let mut out = a.clone();
        for (j, s) in self.scales.iter().enumerate() {
            out.row_mut(j).iter_mut().for_each(|x| *x /= s);
        }
        if let Some((i, k)) = self.constant {
            let lead: Vec<f64> =
                (0..out.columns()).map(|l| self.own_of(i, out[(i, l)], |j| out[(j, l)]) / k).collect();
            out.row_mut(i).copy_from_slice(&lead);
        }
        out
    }

    /// The largest change that rounding causes in [`Standard::standard_gaussian`] in dimension `dim`, relative to a
    /// mean or to the norm of a row: 16dε. The sums in twice the working precision round once, and 2d rotations
    /// move a row by at most six units each.
    pub(crate) fn relative(dim: usize) -> f64 {
        16.0 * dim as f64 * f64::EPSILON
    }

    fn map(
        &self,
        q: &Gaussian<Triangular>,
        mean: Vec<f64>,
        change: impl FnOnce(&mut Matrix),
    ) -> Gaussian<Triangular> {
        let mut rows = q.factor_matrix();
        change(&mut rows);
        let full = self.constant.filter(|_| self.is_centred()).map(|(i, _)| i);
        let factor = triangle(rows, full);
        Gaussian::from_parameters(q.dim(), [mean, factor].concat())
    }
}

/// The power of two nearest to a size on a logarithmic scale; 1 if the size is zero or NaN. It stays far
/// from the ends of the range, so that squares and their reciprocals are finite.
fn power_of_two(size: f64) -> f64 {
    if size.is_nan() || size <= 0.0 {
        return 1.0;
    }
    2f64.powi(size.log2().round().clamp(-400.0, 400.0) as i32)
}

/// The lower triangular L with positive diagonal and LLᵀ = FFᵀ, packed. F is lower triangular except for one full
/// row.
///
/// A sweep from the right rotates neighbouring columns and so empties that row behind its diagonal. Each rotation
/// leaves one entry above the diagonal of a row below; a second sweep, from the left, removes these. Cost: O(d²).
fn triangle(mut f: Matrix, full: Option<usize>) -> Vec<f64> {
    let d = f.rows();
    if let Some(i) = full {
        for j in (i + 1..d).rev() {
            rotate(&mut f, i, j - 1, i);
        }
        for r in i + 1..d.saturating_sub(1) {
            rotate(&mut f, r, r, r);
        }
    }
    let mut out = vec![0.0; packed_len(d)];
    for j in 0..d {
        // A negative pivot flips the sign of its whole column, which keeps LLᵀ.
        let sign = f[(j, j)].signum();
        for i in j..d {
            out[packed_index(i, j)] = sign * f[(i, j)];
        }
    }
    out
}

/// Rotates columns j and j + 1 so that entry (row, j + 1) becomes zero; these columns are zero in rows before
/// `from`.
fn rotate(f: &mut Matrix, row: usize, j: usize, from: usize) {
    let (a, b) = (f[(row, j)], f[(row, j + 1)]);
    let size = a.hypot(b);
    if b.abs() <= 0.0 || size <= 0.0 {
        return;
    }
    let (cosine, sine) = (a / size, b / size);
    for r in from..f.rows() {
        let (x, y) = (f[(r, j)], f[(r, j + 1)]);
        f[(r, j)] = cosine * x + sine * y;
        f[(r, j + 1)] = cosine * y - sine * x;
    }
    f[(row, j)] = size;
    f[(row, j + 1)] = 0.0;
}

#[cfg(test)]
mod tests;
