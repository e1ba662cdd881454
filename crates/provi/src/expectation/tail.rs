//! What lies outside a ball, for a Poisson likelihood, where no curvature bounds it.

use crate::error::Result;
use crate::gaussian::{Gaussian, Triangular};
use crate::rows::Rows;
use crate::special::chi_square;
use crate::target::linear::Linear;

/// Sums over the rows: Σ_n w_n y_n s_n and Σ_n w_n e^{s_n+σ_n²/2}·P(χ'²_d(σ_n²) > R²).
pub(crate) const TAIL_SUMS: usize = 2;

impl Rows {
    /// Adds to the sums of a Poisson tail. χ' is noncentral: under e^{a_nᵀz} the draw u is shifted by Cᵀa_n.
    pub(crate) fn add_poisson_tail(&self, q: &Gaussian<Triangular>, radius: f64, sums: &mut [f64]) {
        let (d, square) = (q.dim(), radius * radius);
        let share = |row: crate::rows::Row| {
            let tail = chi_square::ln_noncentral_chi_square_tail_upper(d, row.variance, square);
            let rate = (row.mean + 0.5 * row.variance + tail).exp();
            [row.weight * row.response * row.mean, row.weight * rate]
        };
        self.add_over_predictors(q, share, sums);
    }
}

impl Linear {
    /// J for a Poisson likelihood, exact [local-kl]:
    /// ```text
    /// J = ½[α(m−ν)ᵀΛ(m−ν) + α₂(tr(CᵀΛC) − d)] + Σ_n w_n[e^{s_n+σ_n²/2}·P(χ'²_d(σ_n²) > R²) − αy_n s_n]
    ///     + α(const of V − (d/2) log 2π − log det C),   s_n = a_nᵀm + o_n
    /// ```
    pub(crate) fn poisson_tail(
        &self,
        q: &Gaussian<Triangular>,
        radius: f64,
        [linear, rates]: [f64; TAIL_SUMS],
    ) -> Result<f64> {
        let d = q.dim();
        let square = radius * radius;
        let (alpha, alpha2) =
            (chi_square::chi_square_tail(d, square), chi_square::chi_square_tail(d + 2, square));
        let prior = self.prior.energy(q.mean(), &mut vec![0.0; d]);
        let flat = prior + self.constant
            - 0.5 * d as f64 * (2.0 * std::f64::consts::PI).ln()
            - q.log_det()?
            - linear;
        let spread = 0.5 * alpha2 * (self.prior.trace(d, q.factor()) - d as f64);
        let slack = 1e-9 * ((alpha * flat).abs() + spread.abs() + rates);
        Ok(alpha * flat + spread + rates + slack)
    }
}
