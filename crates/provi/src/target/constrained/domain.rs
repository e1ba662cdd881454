//! The domains, and the map of each from free coordinates.

use crate::base::error::{Error, Result};
use crate::base::linalg::Cholesky;
use crate::base::matrix::{Matrix, packed_index, packed_len};

/// How far a sum, a diagonal or a mirrored entry of a given point may be from what its domain says, relative to its size.
const TOLERANCE: f64 = 1e-8;

/// Where a parameter lives.
///
/// | domain | free coordinates | θ = T(z) | log of the volume |
/// |---|---|---|---|
/// | `real()` | 1 | z | 0 |
/// | `positive()`, `above(a)` | 1 | a + eᶻ | z |
/// | `below(b)` | 1 | b − eᶻ | z |
/// | `between(a, b)` | 1 | a + (b − a)s(z), s(z) = 1/(1 + e⁻ᶻ) | log(b − a) + log s(z) + log s(−z) |
/// | `ordered(n)` | n | θ₁ = z₁, θₖ = θₖ₋₁ + e^zₖ | Σ_{k>1} zₖ |
/// | `simplex(n)` | n − 1 | softmax(Bz), columns of B orthonormal with sum 0 | Σ log θᵢ + ½ log n |
/// | `covariance(n)` | n(n + 1)/2 | LLᵀ, L lower triangular, Lᵢᵢ = e^zᵢᵢ | n log 2 + Σ (n − i + 2)zᵢᵢ |
/// | `correlation(n)` | n(n − 1)/2 | LLᵀ, rows of L of length 1, by partial correlations wᵢⱼ = tanh zᵢⱼ | see below |
///
/// Volumes are those of the numbers that are free: of a simplex the first n − 1, of a matrix the lower triangle, without its
/// diagonal for a correlation. So the density of a Dirichlet, Wishart or LKJ law is the usual one.
///
/// **Simplex.** The matrix of B's differences to the last row has DDᵀ = I + 11ᵀ, of determinant n, and the softmax of free
/// differences has the Jacobian Πθᵢ. No level is special: permuting the levels turns z.
///
/// **Correlation.** With sᵢ₁ = 1, wᵢⱼ = tanh zᵢⱼ, Lᵢⱼ = wᵢⱼ √sᵢⱼ, sᵢ,ⱼ₊₁ = sᵢⱼ(1 − wᵢⱼ²) and Lᵢᵢ = √sᵢᵢ, every step is triangular,
/// and the logarithm of the volume is Σ_{j<i} [log(1 − wᵢⱼ²) + ½ log sᵢⱼ] + Σᵢ (n − i) log Lᵢᵢ.
#[derive(Clone, Debug, PartialEq)]
pub struct Domain {
    pub(super) kind: Kind,
    /// The axes of an array of such parameters; empty for one.
    pub(super) copies: Vec<usize>,
}

impl Domain {
    /// All real numbers.
    pub fn real() -> Self {
        Kind::Real.into()
    }

    /// The positive numbers.
    pub fn positive() -> Self {
        Kind::Above(0.0).into()
    }

    /// The numbers above `lower`.
    pub fn above(lower: f64) -> Result<Self> {
        finite("the lower bound", lower)?;
        Ok(Kind::Above(lower).into())
    }

    /// The numbers below `upper`.
    pub fn below(upper: f64) -> Result<Self> {
        finite("the upper bound", upper)?;
        Ok(Kind::Below(upper).into())
    }

    /// The numbers between two bounds.
    pub fn between(lower: f64, upper: f64) -> Result<Self> {
        finite("the lower bound", lower)?;
        finite("the upper bound", upper)?;
        if lower >= upper || !(upper - lower).is_finite() {
            let needed = "above the lower bound, at a finite distance";
            return Err(Error::OutOfRange { what: "the upper bound", value: upper, needed });
        }
        Ok(Kind::Between(lower, upper).into())
    }

    /// n numbers, each above the one before.
    pub fn ordered(n: usize) -> Result<Self> {
        Ok(Kind::Ordered(at_least(1, "the length of an ordered vector", n)?).into())
    }

    /// n positive numbers with sum 1.
    pub fn simplex(n: usize) -> Result<Self> {
        Ok(Kind::Simplex(at_least(2, "the length of a simplex", n)?).into())
    }

    /// Symmetric positive definite n × n matrices.
    pub fn covariance(n: usize) -> Result<Self> {
        Ok(Kind::Covariance(at_least(1, "the size of a covariance matrix", n)?).into())
    }

    /// Symmetric positive definite n × n matrices with a diagonal of ones.
    pub fn correlation(n: usize) -> Result<Self> {
        Ok(Kind::Correlation(at_least(2, "the size of a correlation matrix", n)?).into())
    }

    /// An array of such parameters, each with coordinates of its own. The array's axes come before the parameter's own.
    pub fn of_shape(mut self, axes: &[usize]) -> Result<Self> {
        for axis in axes {
            at_least(1, "an axis of an array of parameters", *axis)?;
        }
        self.copies = axes.iter().chain(&self.copies).copied().collect();
        Ok(self)
    }

    /// The axes of the numbers: none for a single one.
    pub fn shape(&self) -> Vec<usize> {
        self.copies.iter().copied().chain(self.kind.axes()).collect()
    }

    /// The axes of the free coordinates.
    pub fn free_shape(&self) -> Vec<usize> {
        self.copies.iter().copied().chain(self.kind.free_axes()).collect()
    }

    /// Whether a parameter is its own coordinate.
    pub fn is_real(&self) -> bool {
        self.kind == Kind::Real
    }
}

impl From<Kind> for Domain {
    fn from(kind: Kind) -> Self {
        Self { kind, copies: Vec::new() }
    }
}

/// The domain of one parameter of an array.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Real,
    Above(f64),
    Below(f64),
    Between(f64, f64),
    Ordered(usize),
    Simplex(usize),
    Covariance(usize),
    Correlation(usize),
}

impl Kind {
    fn axes(self) -> Vec<usize> {
        match self {
            Self::Real | Self::Above(_) | Self::Below(_) | Self::Between(..) => vec![],
            Self::Ordered(n) | Self::Simplex(n) => vec![n],
            Self::Covariance(n) | Self::Correlation(n) => vec![n, n],
        }
    }

    fn free_axes(self) -> Vec<usize> {
        match self {
            Self::Real | Self::Above(_) | Self::Below(_) | Self::Between(..) => vec![],
            _ => vec![self.coordinates()],
        }
    }

    /// How many numbers it has.
    pub(super) fn numbers(self) -> usize {
        match self {
            Self::Real | Self::Above(_) | Self::Below(_) | Self::Between(..) => 1,
            Self::Ordered(n) | Self::Simplex(n) => n,
            Self::Covariance(n) | Self::Correlation(n) => n * n,
        }
    }

    /// How many free coordinates it has.
    pub(super) fn coordinates(self) -> usize {
        match self {
            Self::Real | Self::Above(_) | Self::Below(_) | Self::Between(..) => 1,
            Self::Ordered(n) => n,
            Self::Simplex(n) => n - 1,
            Self::Covariance(n) => packed_len(n),
            Self::Correlation(n) => packed_len(n - 1),
        }
    }

    /// How many numbers its maps need to work with.
    pub(super) fn working(self) -> usize {
        match self {
            Self::Covariance(n) => packed_len(n),
            Self::Correlation(n) => 2 * packed_len(n),
            _ => 0,
        }
    }

    /// Writes θ = T(z) and returns log |det ∂T/∂z|.
    pub(super) fn constrain(self, z: &[f64], theta: &mut [f64], work: &mut [f64]) -> f64 {
        match self {
            Self::Real => {
                theta[0] = z[0];
                0.0
            }
            Self::Above(lower) => {
                theta[0] = lower + z[0].exp();
                z[0]
            }
            Self::Below(upper) => {
                theta[0] = upper - z[0].exp();
                z[0]
            }
            Self::Between(lower, upper) => {
                // From the nearer end, so that a small distance to it keeps its digits.
                let tail = (upper - lower) * share(-z[0].abs());
                theta[0] = if z[0] < 0.0 { lower + tail } else { upper - tail };
                (upper - lower).ln() + log_share(z[0]) + log_share(-z[0])
            }
            Self::Ordered(n) => {
                theta[0] = z[0];
                for k in 1..n {
                    theta[k] = theta[k - 1] + z[k].exp();
                }
                z[1..].iter().sum()
            }
            Self::Simplex(n) => {
                spread(z, theta);
                let top = theta.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
                let log_sum = top + theta.iter().map(|x| (x - top).exp()).sum::<f64>().ln();
                let volume: f64 = theta.iter().map(|x| x - log_sum).sum();
                theta.iter_mut().for_each(|x| *x = (*x - log_sum).exp());
                volume + 0.5 * (n as f64).ln()
            }
            Self::Covariance(n) => {
                covariance_factor(n, z, work);
                write_square(n, work, theta);
                let powers = (0..n).map(|i| (n - i + 1) as f64 * z[packed_index(i, i)]);
                n as f64 * std::f64::consts::LN_2 + powers.sum::<f64>()
            }
            Self::Correlation(n) => {
                let (factor, logs) = work.split_at_mut(packed_len(n));
                let volume = correlation_factor(n, z, factor, logs);
                write_square(n, factor, theta);
                (0..n).for_each(|i| theta[i * n + i] = 1.0);
                volume
            }
        }
    }

    /// Writes (∂T/∂z)ᵀ `slopes` + ∇ log |det ∂T/∂z|, where θ = T(z).
    pub(super) fn pull_back(
        self,
        z: &[f64],
        theta: &[f64],
        slopes: &[f64],
        out: &mut [f64],
        work: &mut [f64],
    ) {
        match self {
            Self::Real => out[0] = slopes[0],
            Self::Above(_) => out[0] = slopes[0] * z[0].exp() + 1.0,
            Self::Below(_) => out[0] = 1.0 - slopes[0] * z[0].exp(),
            Self::Between(lower, upper) => {
                let (left, right) = (share(z[0]), share(-z[0]));
                out[0] = slopes[0] * (upper - lower) * left * right + right - left;
            }
            Self::Ordered(n) => {
                let mut later = 0.0;
                for k in (1..n).rev() {
                    later += slopes[k];
                    out[k] = later * z[k].exp() + 1.0;
                }
                out[0] = later + slopes[0];
            }
            Self::Simplex(n) => {
                let mean: f64 = theta.iter().zip(slopes).map(|(t, s)| t * s).sum();
                let of_log = |k: usize| theta[k] * (slopes[k] - mean) + 1.0 - n as f64 * theta[k];
                gather(of_log, out);
            }
            Self::Covariance(n) => {
                covariance_factor(n, z, work);
                for i in 0..n {
                    for j in 0..=i {
                        let slope = factor_slope(n, slopes, work, i, j);
                        let at = packed_index(i, j);
                        out[at] = if i == j { slope * work[at] + (n - i + 1) as f64 } else { slope };
                    }
                }
            }
            Self::Correlation(n) => {
                let (factor, logs) = work.split_at_mut(packed_len(n));
                correlation_factor(n, z, factor, logs);
                for i in 1..n {
                    // By log sᵢⱼ, from the diagonal to the left.
                    let diagonal = packed_index(i, i);
                    let mut by_log =
                        0.5 * (factor_slope(n, slopes, factor, i, i) * factor[diagonal] + (n - i - 1) as f64);
                    for j in (0..i).rev() {
                        let (at, coordinate) = (packed_index(i, j), packed_index(i - 1, j));
                        let (w, slope) = (z[coordinate].tanh(), factor_slope(n, slopes, factor, i, j));
                        let root = (0.5 * logs[at]).exp();
                        out[coordinate] =
                            slope * root * log_sech_squared(z[coordinate]).exp() - 2.0 * w * (by_log + 1.0);
                        by_log += 0.5 * (slope * factor[at] + 1.0);
                    }
                }
            }
        }
    }

    /// Writes z with T(z) = θ; `Err` names what is wrong with θ.
    pub(super) fn unconstrain(self, theta: &[f64], z: &mut [f64]) -> Result<()> {
        if let Some(index) = theta.iter().position(|x| !x.is_finite()) {
            return Err(Error::NotFinite { what: "its value", index, value: theta[index] });
        }
        match self {
            Self::Real => z[0] = theta[0],
            Self::Above(lower) => {
                z[0] = inside(theta[0], theta[0] - lower, "above its lower bound")?.ln();
            }
            Self::Below(upper) => z[0] = inside(theta[0], upper - theta[0], "below its upper bound")?.ln(),
            Self::Between(lower, upper) => {
                let left = inside(theta[0], theta[0] - lower, "above its lower bound")?;
                z[0] = (left / inside(theta[0], upper - theta[0], "below its upper bound")?).ln();
            }
            Self::Ordered(n) => {
                z[0] = theta[0];
                for k in 1..n {
                    z[k] = inside(theta[k], theta[k] - theta[k - 1], "above the number before it")?.ln();
                }
            }
            Self::Simplex(_) => {
                let sum: f64 = theta.iter().sum();
                if (sum - 1.0).abs() > TOLERANCE {
                    return Err(Error::OutOfRange { what: "the sum of a simplex", value: sum, needed: "1" });
                }
                for x in theta {
                    inside(*x, *x, "positive, as a share must be")?;
                }
                gather(|k| theta[k].ln(), z);
            }
            Self::Covariance(n) => {
                z.copy_from_slice(&factor_of("the covariance", n, theta)?);
                (0..n).map(|i| packed_index(i, i)).for_each(|at| z[at] = z[at].ln());
            }
            Self::Correlation(n) => {
                for i in 0..n {
                    let value = theta[i * n + i];
                    if (value - 1.0).abs() > TOLERANCE {
                        let what = "the diagonal of a correlation matrix";
                        return Err(Error::OutOfRange { what, value, needed: "1" });
                    }
                }
                let factor = factor_of("the correlation matrix", n, theta)?;
                for i in 1..n {
                    // What the row has left after its first entries, from the right, where it is smallest.
                    let mut left = factor[packed_index(i, i)].powi(2);
                    for j in (0..i).rev() {
                        let entry = factor[packed_index(i, j)];
                        left += entry * entry;
                        z[packed_index(i - 1, j)] = (entry / left.sqrt()).atanh();
                    }
                }
            }
        }
        Ok(())
    }
}

/// 1/(1 + e⁻ᶻ).
fn share(z: f64) -> f64 {
    if z < 0.0 { z.exp() / (1.0 + z.exp()) } else { 1.0 / (1.0 + (-z).exp()) }
}

/// log 1/(1 + e⁻ᶻ).
fn log_share(z: f64) -> f64 {
    z.min(0.0) - (-z.abs()).exp().ln_1p()
}

/// log(1 − tanh² z).
fn log_sech_squared(z: f64) -> f64 {
    2.0 * (std::f64::consts::LN_2 - z.abs() - (-2.0 * z.abs()).exp().ln_1p())
}

/// x = Bz: column k of B has k + 1 equal entries, then one that makes the sum 0.
fn spread(z: &[f64], x: &mut [f64]) {
    x.fill(0.0);
    let mut later = 0.0;
    for k in (0..z.len()).rev() {
        let unit = z[k] / root(k);
        x[k + 1] = later - (k + 1) as f64 * unit;
        later += unit;
    }
    x[0] = later;
}

/// Bᵀx.
fn gather(x: impl Fn(usize) -> f64, out: &mut [f64]) {
    let mut before = 0.0;
    for (k, out) in out.iter_mut().enumerate() {
        before += x(k);
        *out = (before - (k + 1) as f64 * x(k + 1)) / root(k);
    }
}

/// The length of (1, …, 1, −(k + 1)), with k + 1 ones.
fn root(k: usize) -> f64 {
    ((k + 1) as f64 * (k + 2) as f64).sqrt()
}

/// L of a covariance, packed.
fn covariance_factor(n: usize, z: &[f64], factor: &mut [f64]) {
    factor[..packed_len(n)].copy_from_slice(z);
    (0..n).map(|i| packed_index(i, i)).for_each(|at| factor[at] = factor[at].exp());
}

/// L and log sᵢⱼ of a correlation matrix, packed, and the logarithm of its volume.
fn correlation_factor(n: usize, z: &[f64], factor: &mut [f64], logs: &mut [f64]) -> f64 {
    let mut volume = 0.0;
    for i in 0..n {
        let mut log = 0.0;
        for j in 0..i {
            let (at, z) = (packed_index(i, j), z[packed_index(i - 1, j)]);
            logs[at] = log;
            factor[at] = z.tanh() * (0.5 * log).exp();
            let step = log_sech_squared(z);
            volume += step + 0.5 * log;
            log += step;
        }
        let at = packed_index(i, i);
        logs[at] = log;
        factor[at] = (0.5 * log).exp();
        volume += 0.5 * (n - i - 1) as f64 * log;
    }
    volume
}

/// LLᵀ, row by row.
fn write_square(n: usize, factor: &[f64], out: &mut [f64]) {
    for i in 0..n {
        for j in 0..=i {
            let [a, b] = [i, j].map(|row| &factor[packed_index(row, 0)..][..=j]);
            let entry: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
            (out[i * n + j], out[j * n + i]) = (entry, entry);
        }
    }
}

/// The slope by Lᵢⱼ from the slopes S by the entries of LLᵀ: ((S + Sᵀ)L)ᵢⱼ.
fn factor_slope(n: usize, slopes: &[f64], factor: &[f64], i: usize, j: usize) -> f64 {
    (j..n).map(|k| (slopes[i * n + k] + slopes[k * n + i]) * factor[packed_index(k, j)]).sum()
}

/// The packed Cholesky factor of a matrix that a user gave.
fn factor_of(what: &'static str, n: usize, entries: &[f64]) -> Result<Vec<f64>> {
    let mut symmetric = Matrix::new(n, n, entries.to_vec())?;
    for i in 0..n {
        for j in 0..i {
            let [a, b] = [entries[i * n + j], entries[j * n + i]];
            let size = (entries[i * n + i] * entries[j * n + j]).abs().sqrt();
            if (a - b).abs() > TOLERANCE * size.max(a.abs()) {
                let (what, needed) = ("an entry below the diagonal", "that above it: they differ");
                return Err(Error::OutOfRange { what, value: a, needed });
            }
            (symmetric[(i, j)], symmetric[(j, i)]) = (0.5 * (a + b), 0.5 * (a + b));
        }
    }
    Ok(Cholesky::new(what, &symmetric)?.packed_lower())
}

fn inside(value: f64, distance: f64, needed: &'static str) -> Result<f64> {
    if distance > 0.0 { Ok(distance) } else { Err(Error::OutOfRange { what: "its value", value, needed }) }
}

fn finite(what: &'static str, value: f64) -> Result<()> {
    if value.is_finite() { Ok(()) } else { Err(Error::OutOfRange { what, value, needed: "finite" }) }
}

fn at_least(least: usize, what: &'static str, found: usize) -> Result<usize> {
    let needed = if least == 1 { "at least 1" } else { "at least 2" };
    if found >= least { Ok(found) } else { Err(Error::OutOfRange { what, value: found as f64, needed }) }
}
