//! Certificates after the fact: numbers measured at an answer go in, bounds come out.
//!
//! These bounds hold at q = N(m, CCᵀ) however it was found. s̃(u) = Cᵀ∇V(m + Cu) − u is the gradient of log(q/p) in
//! the coordinates x = C⁻¹(z − m), where q = N(0, I); B = {‖x‖ ≤ R}.

use super::upward;
use crate::base::error::Result;
use crate::base::scalar::{NonNegative, Positive, Probability};
use crate::base::special::log_sum_exp;

/// f(w) − f* ≤ ½(‖G‖ + ε)², ‖·‖ the dual norm of H_lo and ε the error of G in it [cert-gap].
pub fn gap(dual_norm: f64, error: f64) -> f64 {
    let total = dual_norm + error;
    upward(0.5 * total * total)
}

/// KL(q‖p) ≤ ½F, F = E_q[sᵀH_lo⁻¹s] (log-Sobolev in the H_lo metric) [cert-kl].
pub fn kl(fisher: f64) -> f64 {
    0.5 * fisher
}

/// An upper bound of G(x) = U(x) + U*(x) − ‖x‖², whose mean under q is at least KL(q‖p), from any one point y:
/// ```text
/// Ĝ = V(x) − V(y) + x·(y − x) + ½‖r‖²,   r = x − ∇U(y), in the norm of H_lo⁻¹
/// ```
/// [cert-transport]. `here` is V(x), `there` V(y), `along` x·(y − x), `residual` ‖r‖, the last two rounded up. At y
/// = x it is the log-Sobolev bound of this draw. `lost` bounds the rounding error of V(x) − V(y). It is not
/// proportional to the difference nor to V, because large terms of V cancel \[rounding\]. At least 1e-12 of both
/// potentials is allowed.
pub fn transport_gap(here: f64, there: f64, along: f64, residual: f64, lost: f64) -> f64 {
    let least = 1e-12 * (here.abs() + there.abs());
    // If `lost` is NaN, so is the allowance, and the bound is infinite.
    let rounding = if lost <= least { least } else { lost };
    let sum = here - there + along + 0.5 * residual * residual + rounding;
    // G ≥ 0. A NaN becomes infinity.
    if sum <= 0.0 { 0.0 } else { upward(sum) }
}

/// A mean of n ≥ 1 non-negative numbers, computed one by one as m ← m + (x − m)/n, increased by what rounding may
/// have lost. Each step changes n·m by at most one unit of the sum so far and a few units of x and m, so all steps
/// together lose less than n + 8 + 3 log n units of the mean.
pub(crate) fn running_mean_upper(mean: f64, draws: u64) -> f64 {
    mean * (1.0 + (draws as f64 + 128.0) * f64::EPSILON)
}

/// KL(q‖p) = log ∫p̃ for p̃ = qe^{f−D} [sharp-kl], if the f in p̃ has an error of at most `error`.
pub fn mass_kl(mass: f64, error: f64) -> f64 {
    // If `mass` is NaN or not positive, the bound is infinite.
    if mass > 0.0 { upward(mass.ln().max(0.0) + error) } else { f64::INFINITY }
}

/// log p(x) = log ∫p̃ − f, for both bounds of ∫p̃; holds for any number f [sharp-kl].
pub fn mass_evidence(mass: [f64; 2], f: f64) -> [f64; 2] {
    let [lower, upper] = mass.map(f64::ln);
    // Rounding of two logarithms and a difference.
    let lost = |log: f64| 4.0 * f64::EPSILON * (log.abs() + f.abs() + 1.0);
    [lower - f - lost(lower), upper - f + lost(upper)]
}

/// √G is Lipschitz: G ≥ 0 and ∇²G ⪯ K·I make ‖∇G‖² ≤ 2KG \[confidence\]:
/// ```text
/// L = √(K/2),   K = λ_max(H_hi + H_lo⁻¹) − 2
/// ```
/// in the coordinates where q is standard, `largest` the eigenvalue, rounded up [cert-transport].
pub fn transport_lipschitz(largest: f64) -> f64 {
    let smoothness = largest * (1.0 + 1e-12) - 2.0;
    if smoothness <= 0.0 { 0.0 } else { upward((0.5 * smoothness).sqrt()) }
}

/// TV ≤ min{√(KL/2), √(1 − e^{−KL})} (Pinsker; Bretagnolle and Huber).
pub fn total_variation(kl: f64) -> f64 {
    upward((0.5 * kl).sqrt().min((-(-kl).exp_m1()).sqrt())).min(1.0)
}

/// An upper confidence bound of F = E‖ŝ‖² from the mean of n independent ‖ŝ‖² \[confidence\]:
/// ```text
/// F ≤ (√Ȳ + L√τ)² + L²/n,   τ = 2 log(1/δ)/n
/// ```
/// with probability at least 1 − δ, for every n: √Ȳ is (L/√n)-Lipschitz in all draws, so it is above its mean
/// minus L√τ (Herbst), and (E√Ȳ)² = F − Var √Ȳ ≥ F − L²/n (Poincaré). Holds for q and for q restricted to a
/// ball.
pub fn fisher_upper(mean: f64, lipschitz: f64, draws: u64, failure_probability: f64) -> Result<f64> {
    let mean = NonNegative::new("mean of ‖ŝ‖²", mean)?.get();
    let lipschitz = NonNegative::new("Lipschitz constant L", lipschitz)?.get();
    let n = Positive::new("draws", draws as f64)?.get();
    let delta = Probability::new("failure probability δ", failure_probability)?.get();
    let root = mean.sqrt() + lipschitz * (2.0 * (1.0 / delta).ln() / n).sqrt();
    Ok(upward(root * root + lipschitz * lipschitz / n))
}

/// The number of draws for which confidence multiplies F by (1 + η)² only: n = 2L² log(1/δ)/(η²Ȳ); `price` is η.
pub fn draws_for(mean: f64, lipschitz: f64, failure_probability: f64, price: f64) -> f64 {
    2.0 * lipschitz * lipschitz * (1.0 / failure_probability).ln() / (price * price * mean)
}

/// The half-width of the Bernstein interval of E_{q_B}D from n draws [local-evidence]:
/// ```text
/// √(2Γ log(2/δ)/n) + 2R(g_0 + ℓR) log(2/δ)/(3n),   Γ ≥ E_{q_B}‖s̃‖² ≥ Var D
/// ```
pub fn bernstein(gamma: f64, range: f64, draws: u64, failure_probability: f64) -> f64 {
    let (n, log) = (draws as f64, (2.0 / failure_probability).ln());
    upward((2.0 * gamma * log / n).sqrt() + range * log / (3.0 * n))
}

/// The mass of p outside B, with its first two moments there [cert-local]:
/// ```text
/// T_j = ∫_R^∞ e^{−s(R)(r−R)} r^{d−1+j} dr / ∫_0^R exp(∫_r^R s) r^{d−1} dr
/// p(Bᶜ)/p(B) ≤ T_0,   ∫_{Bᶜ} ‖x‖^j dp ≤ T_j
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outside {
    /// T_0, T_1, T_2.
    pub moments: [f64; 3],
}

impl Outside {
    /// From the least eigenvalues h(r_i) of ∇²U on the balls of radius r_0 = 0 < r_1 < … < r_G = R and
    /// g_0 = ‖∇U(0)‖. `None` where h(R) or the slope s(R) = ∫_0^R h − g_0 is not positive.
    ///
    /// The sums are on the safe side: ∫h uses right endpoints, since h does not increase; ∫s uses left endpoints,
    /// since s does not decrease; the denominator, whose integrand rises and then falls, uses the smaller of both
    /// ends.
    pub fn new(dim: usize, radii: &[f64], least: &[f64], gradient_norm: f64) -> Option<Self> {
        let steps = radii.len().checked_sub(1)?;
        let (radius, d) = (*radii.last()?, dim as f64);
        if steps == 0 || least.len() != radii.len() || !positive(*least.last()?) {
            return None;
        }
        let mut slopes = vec![-gradient_norm; steps + 1];
        for i in 0..steps {
            slopes[i + 1] = slopes[i] + least[i + 1] * (radii[i + 1] - radii[i]);
        }
        let slope = slopes[steps] * (1.0 - 1e-13);
        if !positive(slope) {
            return None;
        }
        let mut exponents = vec![0.0; steps + 1];
        for i in (0..steps).rev() {
            exponents[i] = exponents[i + 1] + slopes[i] * (radii[i + 1] - radii[i]);
        }
        let shells = (0..steps).map(|i| {
            let ratio = radii[i] / radii[i + 1];
            let volume = d * radii[i + 1].ln() + (-ratio.powf(d)).ln_1p() - d.ln();
            exponents[i].min(exponents[i + 1]) + volume
        });
        let denominator = log_sum_exp(shells.collect::<Vec<f64>>().as_slice());
        // N_0 = 1/s, N_k = (R^k + kN_{k−1})/s.
        let mut numerator = -slope.ln();
        let mut moments = [0.0; 3];
        for k in 1..=dim + 1 {
            if k >= dim {
                moments[k - dim] = numerator;
            }
            let power = k as f64;
            numerator = log_sum_exp(&[power * radius.ln(), power.ln() + numerator]) - slope.ln();
        }
        moments[2] = numerator;
        let rounding = 1e-12 * (1.0 + d * radius.ln().abs() + exponents[0].abs());
        Some(Self { moments: moments.map(|log| (log - denominator + rounding).exp()) })
    }
}

/// Whether x is above zero and not NaN.
fn positive(x: f64) -> bool {
    x > 0.0
}

/// What is proved about q_B, q restricted to a ball, and what is needed to conclude about q.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ball {
    /// F_B ≥ E_{q_B}[s̃ᵀH_R⁻¹s̃].
    pub fisher: f64,
    /// Mass and moments of p outside the ball.
    pub outside: Outside,
    /// α = P(χ²_d > R²), rounded up.
    pub alpha: f64,
    /// α₂ = P(χ²_{d+2} > R²), rounded up.
    pub alpha2: f64,
}

impl Ball {
    /// KL(q_B‖p) ≤ K_B = ½F_B + log(1 + T_0). This is about q_B, not q, and can be below KL(q‖p).
    pub fn kl(&self) -> f64 {
        upward(0.5 * self.fisher + self.outside.moments[0].ln_1p())
    }

    /// KL(q‖p) ≤ K_B + log(1−α) + (J − αf)/(1−α), `excess` ≥ J − αf [local-kl].
    pub fn kl_of_whole(&self, excess: f64) -> f64 {
        let bound = self.kl() + (-self.alpha).ln_1p() + excess / (1.0 - self.alpha);
        // Covers the rounding of the sum. α is rounded up by 1e-11 of itself and is below ½, which makes log(1−α)
        // too small by at most 2e-11·α, and a negative excess over 1−α by at most 4e-11·|excess|.
        upward(bound + 1e-10 * (self.kl() + excess.abs()) + 4e-11 * self.alpha).max(0.0)
    }

    /// J − αf for a known H_hi: α(D(0) − f) + ½α₂(tr(CᵀH_hiC) − d), `drop` ≥ D(0) − f.
    pub fn excess_from_upper_curvature(&self, drop: f64, trace: f64, dim: usize) -> f64 {
        weigh(self.alpha, drop) + 0.5 * weigh(self.alpha2, trace - dim as f64)
    }

    /// αx, rounded up.
    pub fn weigh_outside(&self, x: f64) -> f64 {
        weigh(self.alpha, x)
    }

    /// TV(q, p) ≤ α + TV(q_B, p) [local-tv].
    pub fn total_variation(&self) -> f64 {
        upward(self.alpha + total_variation(self.kl())).min(1.0)
    }

    /// Bounds for vᵀz, where a = ‖Cᵀv‖ is its standard deviation under q and `metric` = √(v̂ᵀH_R⁻¹v̂)
    /// [local-moments]:
    /// ```text
    /// |E_p − E_q| ≤ ω + aT_1,   ω = metric·√F_B,   β = (1−α₂)/(1−α)
    /// max{0, a√β − ω}/√(1+T_0) ≤ sd_p ≤ √((a√β + ω)² + a²T_2 + 2aωT_1 + ω²T_0)
    /// ```
    /// Returned: the bounds of |E_p − E_q| and |sd_p − sd_q|.
    pub fn moments(&self, deviation: f64, metric: f64) -> [f64; 2] {
        let [t0, t1, t2] = self.outside.moments;
        let (a, omega) = (deviation, metric * self.fisher.sqrt());
        let root_low = ((1.0 - self.alpha2) / (1.0 - self.alpha * (1.0 - 1e-9))).sqrt() * a;
        let root_high = ((1.0 - self.alpha2 * (1.0 - 1e-9)) / (1.0 - self.alpha)).sqrt().min(1.0) * a;
        let low = (root_low - omega).max(0.0) / (1.0 + t0).sqrt();
        let high =
            ((root_high + omega).powi(2) + a * a * t2 + 2.0 * a * omega * t1 + omega * omega * t0).sqrt();
        [upward(omega + a * t1), upward((high - a).max(a - low)) + 4.0 * f64::EPSILON * a]
    }
}

/// |E_q vᵀz − E_p vᵀz| and |sd_q − sd_p| are both at most √(vᵀH_lo⁻¹v)·√(2·KL) (Talagrand) [cert-moments].
pub fn moment_error(metric: f64, kl: f64) -> f64 {
    upward(metric * (2.0 * kl).sqrt())
}

/// weight·x rounded up, for a weight ≥ 0 that was itself rounded up. For a negative x the weight is first rounded
/// down.
fn weigh(weight: f64, x: f64) -> f64 {
    if x > 0.0 { upward(weight * x) } else { weight * (1.0 - 1e-9) * x }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn total_variation_takes_the_smaller_bound() {
        assert!((total_variation(0.02) - 0.1).abs() < 1e-12);
        assert!(total_variation(3.0) < 1.0 && total_variation(3.0) > 0.97);
        assert!(total_variation(1e9) <= 1.0);
    }

    #[test]
    fn the_confidence_bound_covers_a_chi_square_mean_at_its_level() {
        // ŝ(u) = Lu in d = 3: F = 3L², and Ȳ is L²χ²_{3n}/n. The bound at δ fails less often than δ.
        let (lipschitz, n, delta) = (2.0, 5u64, 0.1);
        let truth = 3.0 * lipschitz * lipschitz;
        let mut misses = 0;
        let mut u = [0.0; 15];
        for run in 0..4000 {
            provi_kernels::normals(77, run, 0, &mut u);
            let mean = lipschitz * lipschitz * u.iter().map(|x| x * x).sum::<f64>() / n as f64;
            misses += u32::from(fisher_upper(mean, lipschitz, n, delta).unwrap() < truth);
        }
        assert!(misses <= 400, "{misses}");
        // Counterpart: without the confidence term the plain mean fails about half of the time.
        assert!(fisher_upper(truth, lipschitz, 1_000_000, delta).unwrap() < 1.05 * truth);
    }

    /// p = N(0, 1/h) in d dimensions: everything is a χ² tail.
    fn exact_outside(d: usize, h: f64, radius: f64) -> [f64; 3] {
        let density = |r: f64, j: i32| (-0.5 * h * r * r).exp() * r.powi(d as i32 - 1 + j);
        let integrate = |a: f64, b: f64, j: i32| {
            let n = 40_000;
            (0..n).map(|i| density(a + (b - a) * (f64::from(i) + 0.5) / f64::from(n), j)).sum::<f64>()
                * (b - a)
                / f64::from(n)
        };
        let inside = integrate(0.0, radius, 0);
        [0, 1, 2].map(|j| integrate(radius, radius + 40.0 / h.sqrt(), j) / inside)
    }

    #[test]
    fn the_mass_outside_is_bounded_and_the_bound_is_close_for_a_gaussian() {
        for (d, h, radius) in [(1, 1.0, 3.0), (3, 0.8, 4.0), (10, 1.0, 6.0), (40, 1.2, 9.0)] {
            let radii: Vec<f64> = (0..=200).map(|i| radius * f64::from(i) / 200.0).collect();
            let bound = Outside::new(d, &radii, &vec![h; 201], 0.0).unwrap().moments;
            let truth = exact_outside(d, h, radius);
            for j in 0..3 {
                assert!(bound[j] >= truth[j], "d {d} j {j}: {} {}", bound[j], truth[j]);
                assert!(bound[j] < 3.0 * truth[j], "d {d} j {j}: {} {}", bound[j], truth[j]);
            }
        }
    }

    #[test]
    fn no_certificate_exists_without_curvature_or_slope() {
        let radii = [0.0, 1.0, 2.0];
        assert!(Outside::new(2, &radii, &[1.0, 0.5, 0.0], 0.0).is_none());
        assert!(Outside::new(2, &radii, &[1.0, 0.5, 0.1], 5.0).is_none());
        assert!(Outside::new(2, &radii, &[1.0, 0.5, f64::NAN], 0.0).is_none());
        assert!(Outside::new(2, &[0.0], &[1.0], 0.0).is_none());
    }

    #[test]
    fn a_perfect_answer_has_small_bounds() {
        let ball = Ball {
            fisher: 0.0,
            outside: Outside { moments: [1e-12, 1e-11, 1e-10] },
            alpha: 1e-12,
            alpha2: 1e-11,
        };
        assert!(ball.kl() < 2e-12 && ball.total_variation() < 1e-5);
        let [mean, sd] = ball.moments(1.0, 1.0);
        assert!(mean < 1e-10 && sd < 1e-9);
    }
}
