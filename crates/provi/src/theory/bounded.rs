//! Functions with values in [0, 1] of a normal variable: a sign, a probability behind a link [measured-events].

use crate::base::special::{normal_cdf, normal_density, sigmoid};

/// How a number becomes one of [0, 1].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    /// 1 above zero, 0 below.
    Step,
    /// 1/(1 + e^{−s}).
    Logistic,
    /// Φ(s).
    Probit,
}

/// g(ξ) = G(at + spread·ξ) for ξ standard normal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounded {
    /// G.
    pub law: Law,
    /// The mean of G's argument.
    pub at: f64,
    /// Its deviation, positive.
    pub spread: f64,
}

/// What rounding and the rule of quadrature may do to the means and third moments of [`Bounded`].
pub const LOST: f64 = 1e-13;
/// Where the trapezoid rule ends: |ξ³|ϕ(ξ) is below 1e-17 beyond.
const END: f64 = 9.5;
/// The rule's error is e to minus this, times less than a thousand.
const DEPTH: f64 = 45.0;

impl Bounded {
    /// g(ξ).
    pub fn value(&self, xi: f64) -> f64 {
        let s = self.at + self.spread * xi;
        match self.law {
            Law::Step => f64::from(u8::from(s > 0.0)),
            Law::Logistic => sigmoid(s),
            Law::Probit => normal_cdf(s),
        }
    }

    /// By how much g may differ at two places around ξ that are at most `apart` from it.
    pub fn change(&self, xi: f64, apart: f64) -> f64 {
        match self.law {
            Law::Step => f64::from(u8::from((self.at + self.spread * xi).abs() <= self.spread * apart)),
            // G' is at most 1/4, and 1/√(2π).
            Law::Logistic => (0.25 * self.spread * apart).min(1.0),
            Law::Probit => (0.4 * self.spread * apart).min(1.0),
        }
    }

    /// γ = E g(ξ) and E[(ξ³ − 3ξ)g(ξ)], each good to [`LOST`].
    /// ```text
    /// step      Φ(x) and (x²−1)ϕ(x), x = at/spread
    /// probit    Φ(x) and (spread/√(1+spread²))³(x²−1)ϕ(x), x = at/√(1+spread²)
    /// logistic  by the trapezoid rule
    /// ```
    /// The rule's error: |1/(1+e^{−s})| ≤ 1 where |Im s| ≤ π/2, so the integrand is analytic and of size e^{a²/2}(|x|+a)³ϕ(x) in the strip
    /// |Im ξ| ≤ a = min{π/(2·spread), 2}; with step h the rule is off by at most 2/(e^{2πa/h} − 1) of its integral there (Trefethen and
    /// Weideman 2014, Theorem 5.1).
    pub fn moments(&self) -> [f64; 2] {
        match self.law {
            Law::Step => {
                let x = self.at / self.spread;
                [normal_cdf(x), (x * x - 1.0) * normal_density(x)]
            }
            Law::Probit => {
                let size = self.spread.hypot(1.0);
                let x = self.at / size;
                [normal_cdf(x), (self.spread / size).powi(3) * (x * x - 1.0) * normal_density(x)]
            }
            Law::Logistic => {
                let strip = (0.5 * std::f64::consts::PI / self.spread).min(2.0);
                let step = (2.0 * std::f64::consts::PI * strip / DEPTH).min(0.25);
                let count = (END / step).ceil() as i32;
                // An odd factor takes half the difference of g at ±ξ, an even one half the sum.
                let (mut mean, mut third) = (0.5 * self.value(0.0) * normal_density(0.0), 0.0);
                for k in (1..=count).rev() {
                    let xi = step * f64::from(k);
                    let [up, down] = [self.value(xi), self.value(-xi)];
                    let density = normal_density(xi);
                    mean += 0.5 * (up + down) * density;
                    third += (xi * xi - 3.0) * xi * density * (up - down);
                }
                [2.0 * step * mean, step * third]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By Simpson's rule on either side of a jump.
    fn slow(g: &Bounded) -> [f64; 2] {
        let jump = (-g.at / g.spread).clamp(-12.0, 12.0);
        let mut out = [0.0; 2];
        for (low, high) in [(-12.0, jump), (jump, 12.0)] {
            let (n, width) = (8000, high - low);
            for k in 0..=n {
                let xi = low + width * f64::from(k) / f64::from(n);
                // The limit from inside the piece.
                let at = if k == 0 {
                    xi + 1e-9
                } else if k == n {
                    xi - 1e-9
                } else {
                    xi
                };
                let weight = width / f64::from(3 * n)
                    * match k {
                        0 => 1.0,
                        k if k == n => 1.0,
                        k => f64::from(2 + 2 * (k % 2)),
                    };
                let y = weight * normal_density(xi) * g.value(at);
                out[0] += y;
                out[1] += y * (xi * xi * xi - 3.0 * xi);
            }
        }
        out
    }

    #[test]
    fn means_and_third_coefficients_are_integrals() {
        for law in [Law::Step, Law::Logistic, Law::Probit] {
            for at in [-4.0, -0.7, 0.0, 0.3, 2.0, 9.0] {
                for spread in [1e-3, 0.1, 0.8, 2.0, 12.0] {
                    let g = Bounded { law, at, spread };
                    let (found, truth) = (g.moments(), slow(&g));
                    for (a, b) in found.into_iter().zip(truth) {
                        assert!((a - b).abs() < 1e-8, "{g:?}: {found:?} {truth:?}");
                    }
                }
            }
        }
    }

    /// Half the step changes nothing: the rule is as good as it says.
    #[test]
    fn the_rule_has_converged() {
        for at in [-3.0, 0.4, 1.0] {
            for spread in [0.05, 1.0, 3.0, 20.0] {
                let g = Bounded { law: Law::Logistic, at, spread };
                let [mean, third] = g.moments();
                let (mut sums, step) = ([0.0; 2], 1e-3);
                for k in -9_500..=9_500 {
                    let xi = step * f64::from(k);
                    let y = step * normal_density(xi) * g.value(xi);
                    sums[0] += y;
                    sums[1] += y * (xi * xi - 3.0) * xi;
                }
                assert!((mean - sums[0]).abs() < LOST && (third - sums[1]).abs() < LOST, "{g:?}");
            }
        }
    }

    #[test]
    fn a_step_is_in_doubt_only_near_its_jump() {
        let g = Bounded { law: Law::Step, at: 1.0, spread: 2.0 };
        assert!(g.change(-0.5, 1e-12) > 0.5 && g.change(-0.5 + 1e-9, 1e-12) < 0.5);
        assert!(g.value(-0.49) > 0.5 && g.value(-0.51) < 0.5);
        let smooth = Bounded { law: Law::Logistic, ..g };
        assert!((smooth.value(-0.45) - smooth.value(-0.55)).abs() <= smooth.change(-0.5, 0.1));
    }
}
