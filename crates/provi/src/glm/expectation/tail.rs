//! The integral outside a ball for a likelihood of rates, φ(s) = κe^{±s} − ℓs, which no curvature bounds.

use crate::base::error::Result;
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::matrix::packed_index;
use crate::base::special::chi_square;
use crate::glm::Family;
use crate::glm::family::CLOGLOG_STEEPEST;
use crate::glm::family::Form;
use crate::glm::linear::Linear;
use crate::glm::rows::Rows;
use provi_kernels::Cloglog;

/// Number of sums over the rows: Σ_n w_nℓ_n s_n; Σ_n w_nκ_n e^{±s_n+σ_n²/2}·P(χ'²_d(σ_n²) > R²); and for the first
/// sum, the absolute values of its terms and their errors.
pub(crate) const TAIL_SUMS: usize = 4;

impl Rows {
    /// Adds the rows' share to the sums of a tail of rates. χ' is noncentral: under e^{±a_nᵀz} the draw u is shifted
    /// by ±Cᵀa_n. The successes of cloglog rows, which have a bounded curvature θ, are bounded as where H_hi is known.
    pub(crate) fn add_rate_tail(
        &self,
        family: Family,
        q: &Gaussian<Triangular>,
        radius: f64,
        sums: &mut [f64],
    ) {
        let (d, square) = (q.dim(), radius * radius);
        let alpha2 = chi_square::chi_square_tail(d + 2, square) * (1.0 + 1e-9);
        let share = |row: crate::glm::rows::Row| {
            // Mean and deviation may be larger than computed, and the terms increase with both.
            let variance = (row.variance.sqrt() + row.off).powi(2);
            let tail = chi_square::ln_noncentral_chi_square_tail_upper(d, variance, square);
            if let Form::Cloglog(Cloglog { success: share, rate, line }) = family.form(row.response) {
                let exponent = row.mean + row.off + 0.5 * variance + tail;
                let rate = if rate > 0.0 { rate * exponent.exp() } else { 0.0 };
                // ψ ≤ ψ(m) + ψ'(m)(s−m) + ½θ(s−m)², and ψ falls: the linear part is odd.
                let success = share * provi_kernels::cloglog_success(row.mean - row.off)[0];
                let bent = 0.5 * CLOGLOG_STEEPEST * share * variance * alpha2;
                let [w, off] = [row.weight, row.off];
                let size = w * (success + line * row.mean.abs());
                return [w * (line * row.mean - success), w * (rate + bent), size, w * (share + line) * off];
            }
            let Some(form) = family.rate(row.response) else { return [f64::INFINITY; TAIL_SUMS] };
            let rate = form.factor * (form.sign * row.mean + row.off + 0.5 * variance + tail).exp();
            let (weight, size) = (row.weight * form.line, row.weight * form.line.abs());
            [weight * row.mean, row.weight * rate, size * row.mean.abs(), size * row.off]
        };
        self.add_over_predictors(q, share, sums);
    }
}

impl Linear {
    /// J, the integral of D = log(q/p) over q outside the ball, for a likelihood of rates; exact [local-kl]:
    /// ```text
    /// J = ½[α(m−ν)ᵀΛ(m−ν) + α₂(tr(CᵀΛC) − d)] + Σ_n w_n[κ_ne^{±s_n+σ_n²/2}·P(χ'²_d(σ_n²) > R²) − αℓ_n s_n]
    ///     + α(const of V − (d/2) log 2π − log det C),   s_n = a_nᵀm + o_n
    /// ```
    pub(crate) fn rate_tail(
        &self,
        q: &Gaussian<Triangular>,
        radius: f64,
        rows: usize,
        [linear, rates, size, off]: [f64; TAIL_SUMS],
    ) -> Result<f64> {
        let d = q.dim();
        let square = radius * radius;
        let (alpha, alpha2) =
            (chi_square::chi_square_tail(d, square), chi_square::chi_square_tail(d + 2, square));
        let prior = self.prior.energy(q.mean(), &mut vec![0.0; d]);
        let entropy = 0.5 * d as f64 * (2.0 * std::f64::consts::PI).ln();
        let flat = prior + self.constant - entropy - q.log_det()? - linear;
        let spread = 0.5 * alpha2 * (self.prior.trace(d, q.factor()) - d as f64);
        // α and α₂ have relative errors of 1e-11, and so have their products. The sums lose a part of Σ|terms|,
        // which may be far larger than the sums themselves.
        let distances: Vec<f64> = (0..d).map(|i| (q.mean()[i] - self.prior.center(i)).abs()).collect();
        let spreads = crate::target::rounding::deviations(q);
        let form = |x: &[f64]| provi_kernels::dot(&self.prior.sizes(x), x);
        let logs: f64 = (0..d).map(|i| q.factor()[packed_index(i, i)].ln().abs()).sum();
        let whole = form(&distances) + self.constant.abs() + entropy + logs + size;
        let unit = (rows as f64 + 2.0 * d as f64 + 24.0) * f64::EPSILON;
        let slack = 1e-9 * ((alpha * flat).abs() + spread.abs() + rates)
            + alpha * (1.0 + 1e-9) * (off + unit * whole)
            + alpha2 * unit * (form(&spreads) + d as f64)
            + unit * rates;
        Ok(alpha * flat + spread + rates + slack)
    }
}
