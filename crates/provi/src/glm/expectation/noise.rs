//! How the expected potential of a row changes with the noise.

use super::quadrature::expect_rows;
use crate::base::special;
use crate::glm::Family;
use crate::glm::family::Gaps;
use crate::glm::rows::Lever;
use provi_kernels::Cloglog;

impl Family {
    /// E_q ∂φ/∂log σ of a row per unit of its weight, constants included, for s ~ N(mean, variance). `lever` is how the row's
    /// coding depends on the noise, for times.
    /// ```text
    /// gaussian     1 − E(y − s)²/σ²
    /// gamma        2α(log α − ψ(α)) − 2αE(s + ye⁻ˢ − 1 − log y)
    /// weibull      δ(1 + turn) − shift·E φ' − turn·E eˢ·[the event lies in an interval],   s includes the coded offset
    /// negbinomial  2(E σ(s) − p) − 2(1 − p)[E log(1 + eˢ) − ψ(y + r) + ψ(r)],   p = y/(y + r), and s includes −log r
    /// ```
    pub(crate) fn noise_slope(self, y: f64, mean: f64, variance: f64, lever: Lever) -> f64 {
        match self {
            Self::Gaussian { noise_sd } => 1.0 - ((y - mean).powi(2) + variance) / (noise_sd * noise_sd),
            Self::Gamma { .. } => {
                let (shape, t) = (self.gamma_shape().unwrap_or(1.0), y.ln() - mean);
                let deviance = (t + 0.5 * variance).exp_m1() - t;
                2.0 * shape * (special::log_minus_digamma(shape) - deviance)
            }
            Self::Weibull { coarse, .. } => {
                let rate = (mean + 0.5 * variance).exp();
                let Lever { shift, turn, .. } = lever;
                match coarse {
                    false => y * (1.0 + turn) - shift * (rate - y),
                    true => {
                        let slope = expect_rows(self, &[mean], &[variance.sqrt()], &[y]).first[0];
                        let parts = Cloglog::of(y);
                        let own = if parts.line > 0.0 { 1.0 + turn } else { 0.0 };
                        let within = parts.success > 0.0 && turn.abs() > 0.0;
                        own - shift * slope - if within { turn * rate } else { 0.0 }
                    }
                }
            }
            Self::NegativeBinomial { noise_sd } => {
                let r = 1.0 / (noise_sd * noise_sd);
                let count = r * y / (1.0 - y);
                let at = softplus(mean, variance.sqrt());
                // ψ(y+r) − ψ(r) without the difference of two large logarithms.
                let digammas = special::log_minus_digamma(r) - special::log_minus_digamma(count + r)
                    + (count / r).ln_1p();
                2.0 * (at[1] - y) - 2.0 * (1.0 - y) * (at[0] - digammas)
            }
            _ => 0.0,
        }
    }

    /// E_q ∂φ/∂log δ_i of an ordered row per unit of its weight, for each gap δ_i, with the coded predictor s' ~ N(mean, variance). Category k
    /// lies between c_{k−1} and c_k, and c_j = δ_1 + … + δ_{j−1}:
    /// ```text
    /// ∂φ/∂c_k = −sigmoid(s − c_k),   ∂φ/∂c_{k−1} = sigmoid(c_{k−1} − s),   and −1/(e^{δ_{k−1}} − 1) for its own gap
    /// ```
    pub(crate) fn gap_slopes(self, mean: f64, variance: f64, category: usize) -> [f64; Gaps::MOST] {
        let mut slopes = [0.0; Gaps::MOST];
        let Some(gaps) = self.gaps() else { return slopes };
        let (widths, deviation, k) = (gaps.widths(), variance.sqrt(), category);
        let gap = if k > 1 && k < gaps.categories() { Some(widths[k - 2]) } else { None };
        let half = 0.5 * gap.unwrap_or(0.0);
        if k < gaps.categories() {
            let above = softplus(mean - half, deviation)[1];
            slopes[..k - 1].iter_mut().for_each(|slope| *slope -= above);
        }
        if k > 1 {
            let below = softplus(-mean - half, deviation)[1];
            slopes[..k - 2].iter_mut().for_each(|slope| *slope += below);
        }
        if let Some(gap) = gap {
            slopes[k - 2] -= 1.0 / gap.exp_m1();
        }
        slopes.iter_mut().zip(widths).for_each(|(slope, width)| *slope *= width);
        slopes
    }
}

/// E log(1 + eˢ) and E σ(s) for s ~ N(mean, deviation²).
fn softplus(mean: f64, deviation: f64) -> [f64; 2] {
    let at = expect_rows(Family::Bernoulli, &[mean], &[deviation], &[0.0]);
    [at.value[0], at.first[0]]
}
