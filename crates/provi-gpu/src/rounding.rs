//! How far the energies of a card can be from the exact ones.
//!
//! With u = ε/2 and γ_k = ku/(1 − ku), a sum loses at most γ_h of Σ|terms|, h its longest chain of additions, whatever the
//! order in which chains are joined. Three things are rounded:
//! ```text
//! predictors   |ŝ_n − s_n| ≤ γ_d (|o_n| + Σ_j |x_nj z_j|)
//! functions    |φ̂(s) − φ(s)| ≤ ε_φ · size(s)
//! sums         |fl Σ − Σ| ≤ γ_h Σ_n w_n |φ̂_n|,    h = value_chain
//! ```
//! The chain of a predictor has d fused multiply-adds that start at o_n. A tensor core's sum of four or eight products has as many
//! roundings at most, in any order, so γ_d holds for it too. So
//! ```text
//! |V̂ − V| ≤ (γ_h + ε_φ(1 + γ_h)) Σ_n w_n size_n + (1 + γ_h) L γ_d Σ_n w_n (|o_n| + Σ_j |x_nj||z_j|) + absolute,
//! ```
//! L the largest |φ′| between s_n and ŝ_n. The last sum is Σ_j a_j|z_j| plus a constant, a_j = Σ_n w_n|x_nj|, one pass for all
//! draws. `absolute` is there for the logistic family without weights, whose logarithms are taken of products: every
//! factor 1 + e costs a rounding of its own and one of the product, and e its error.

use crate::{family::Family, shape::Shape};

/// u, the largest relative error of one rounding.
pub const UNIT: f64 = f64::EPSILON / 2.0;

/// γ_k = ku/(1 − ku).
#[must_use]
pub fn gamma(k: usize) -> f64 {
    let ku = k as f64 * UNIT;
    ku / (1.0 - ku)
}

/// Relative error of φ̂ in units of its size, ε_φ:
///
/// | family | size | ε_φ |
/// |---|---|---|
/// | logistic | φ | 10u |
/// | binomial | log(1 + eˢ) + y\|s\| | 10u |
/// | probit | φ | 8e-15 |
/// | Poisson | eˢ + y\|s\| | 6u |
/// | gamma | α\|s\| + αye⁻ˢ | 8u |
/// | cloglog | φ + 1e-15 | 2e-14 |
/// | Gaussian | φ | 6u |
#[must_use]
pub fn function_error(family: Family) -> f64 {
    match family {
        Family::Logistic | Family::Binomial => 10.0 * UNIT,
        Family::Probit => 8e-15,
        Family::Poisson | Family::Gaussian { .. } => 6.0 * UNIT,
        Family::Gamma { .. } => 8.0 * UNIT,
        Family::Cloglog => 2e-14,
    }
}

/// The same for φ̂′ times the weight, in units of its terms:
///
/// | family | terms | error |
/// |---|---|---|
/// | logistic, binomial | 1 + y | 16u |
/// | probit | φ′ | 1e-14 |
/// | Poisson, gamma, Gaussian | eˢ + y; α + αye⁻ˢ; φ′ | 10u |
/// | cloglog | y + (1 − y)eˢ | 2e-14 |
#[must_use]
pub fn slope_error(family: Family) -> f64 {
    match family {
        Family::Logistic | Family::Binomial => 16.0 * UNIT,
        Family::Probit => 1e-14,
        Family::Poisson | Family::Gamma { .. } | Family::Gaussian { .. } => 10.0 * UNIT,
        Family::Cloglog => 2e-14,
    }
}

/// The sizes that the bound is made of, at one point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sizes {
    /// Σ_n w_n size_n.
    pub terms: f64,
    /// Σ_n w_n (|o_n| + Σ_j |x_nj||z_j|).
    pub predictors: f64,
    /// L: 1 for the logit link.
    pub slope: f64,
}

/// A bound of |V̂ − V| for an energy of a card (or of its twin).
#[must_use]
pub fn energy(family: Family, shape: Shape, at: Sizes) -> f64 {
    let sums = gamma(shape.value_chain());
    // A row of the logistic kernel without weights: 1 + e, the product, 2 ulp of e ≤ 1 that weigh at most half, and its
    // share of the error of one logarithm; the fillers of the last tile are exact.
    let absolute = if family == Family::Logistic { 6.0 * UNIT * shape.rows as f64 } else { 0.0 };
    let first = sums + function_error(family) * (1.0 + sums);
    first * at.terms + (1.0 + sums) * (at.slope * gamma(shape.columns) * at.predictors + absolute)
}
