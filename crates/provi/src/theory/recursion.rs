//! A scalar recursion that bounds the error under any schedule, one step at a time \[recursion\].
//!
//! ```text
//! e_{t+1} = (1 − 2γ_tμ + γ_t²a)·e_t + γ_t²b  ≥  E‖w_{t+1} − w*‖²
//! ```
//! For Prox-SGD, a and b are those of g − ∇l(w*) (centred: [`noise::energy_batch`](super::noise::energy_batch));
//! for Proj-SGD, those of g itself. The bound holds for every schedule and every number of steps fixed before the
//! draws. A step size or a stopping time that depends on the draws voids it. Larger a, b, e_0 and smaller μ are
//! always safe.

use super::noise::NoiseBound;
use super::upward;
use crate::base::error::{Error, Result};
use crate::base::scalar::{NonNegative, Positive, Probability};
use crate::theory::schedule::{self, Schedule};

/// Up to this many steps the recursion is iterated step by step; beyond, the closed form is used.
const WALK: f64 = 4_194_304.0;

/// Above the relative amount by which one [`Recursion::advance`] rounds upwards.
const INFLATION: f64 = 64.0 * f64::EPSILON;

/// e ↦ (1 − 2γμ + γ²a)e + γ²b for a μ-strongly convex problem with noise (a, b).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recursion {
    convexity: f64,
    growth: f64,
    floor: f64,
}

impl Recursion {
    /// The recursion with μ and (a, b). A growth a below μ², which is possible only on a bounded set, is raised to
    /// μ².
    pub fn new(convexity: f64, noise: NoiseBound) -> Result<Self> {
        let convexity = Positive::new("convexity μ", convexity)?.get();
        let NoiseBound { growth, floor } = NoiseBound::new(noise.growth, noise.floor)?;
        Ok(Self { convexity, growth: growth.max(convexity * convexity), floor })
    }

    /// μ.
    pub fn convexity(&self) -> f64 {
        self.convexity
    }

    /// a, at least μ².
    pub fn growth(&self) -> f64 {
        self.growth
    }

    /// b.
    pub fn floor(&self) -> f64 {
        self.floor
    }

    /// One step of size γ from e, rounded upwards.
    pub fn advance(&self, e: f64, gamma: f64) -> f64 {
        schedule::advance(self.convexity, self.growth, self.floor, e, gamma)
    }

    /// γ = μe/(ae + b), the step that makes the next bound smallest; never above μ/a [schedule-optimal].
    pub fn optimal_gamma(&self, e: f64) -> f64 {
        schedule::optimal_gamma(self.convexity, self.growth, self.floor, e)
    }

    /// The schedule of the optimal steps from e_0. Minimising each step separately is optimal overall: the bound
    /// after a step increases with the bound before it, since a ≥ μ².
    pub fn optimal_schedule(&self, start: f64) -> Result<Schedule> {
        Schedule::optimal(self.convexity, self.growth, self.floor, start)
    }

    /// The bound after `steps` steps of `schedule` from e_0 = `start`, infinite for steps that the draws decide. O(steps),
    /// O(log steps) for a constant step.
    pub fn propagate(&self, schedule: &Schedule, steps: u64, start: f64) -> f64 {
        match schedule {
            _ if schedule.is_set_by_draws() => f64::INFINITY,
            Schedule::Constant { .. } | Schedule::LogOverT { .. } | Schedule::Convex { .. } => {
                self.constant_after(schedule.at(0), steps, start)
            }
            _ => schedule.stepper().take_while_steps(steps).fold(start, |e, gamma| self.advance(e, gamma)),
        }
    }

    /// e ↦ qe + c composed with itself by repeated squaring, each product rounded upwards.
    fn constant_after(&self, gamma: f64, steps: u64, start: f64) -> f64 {
        let noiseless = Self { floor: 0.0, ..*self };
        let (mut q, mut c) = (noiseless.advance(1.0, gamma), self.advance(0.0, gamma));
        let (mut e, mut left) = (start, steps);
        while left > 0 {
            if left & 1 == 1 {
                e = upward(q * e + c);
            }
            (q, c) = (upward(q * q), upward(q * c + c));
            left >>= 1;
        }
        e
    }

    /// The number of optimal steps from e_0 = `start` to e_T ≤ `accuracy`. If it is above `limit`,
    /// [`Error::OutOfReach`] with the number of steps needed. Takes little time for any answer.
    ///
    /// With y = 1/e, κ = a/μ², β = b/μ² the optimal recursion is y⁺ = y + y/(βy + κ − 1). Let D(k) = βy + k·ln y. One step
    /// raises D(κ−1) by at most 1 (its derivative in y, 1/(y⁺−y), falls) and D(κ) by at least
    /// r/(r+κ−1) + κ·ln(1 + 1/(r+κ−1)) ≥ r/(r+κ) + κ/(r+κ) = 1, where r = βy. Hence, with ℓ = ln(e_0/ε):
    /// ```text
    /// β(1/ε − 1/e_0) + (κ−1)ℓ  ≤  T  ≤  ⌈β(1/ε − 1/e_0) + κℓ⌉
    /// ```
    /// Up to a few million steps T is counted exactly. Beyond, the upper end is returned, which is at most ℓ + 1
    /// too large (plus what upward rounding can cost).
    pub fn steps_to(&self, start: f64, accuracy: f64, limit: u64) -> Result<u64> {
        let start = NonNegative::new("start e₀", start)?.get();
        let accuracy = Positive::new("accuracy", accuracy)?.get();
        if start <= accuracy {
            return Ok(0);
        }
        let log = (start / accuracy).ln();
        let (plain, safe) = self.measure(start, start / accuracy, log);
        let steps = if safe <= WALK {
            let (mut e, mut steps) = (start, 0u64);
            while e > accuracy {
                if steps as f64 > safe {
                    // Rounding upwards has a smallest result, near the smallest doubles.
                    return Err(Error::OutOfReach { accuracy, steps: f64::INFINITY, limit: limit as f64 });
                }
                e = self.advance(e, self.optimal_gamma(e));
                steps += 1;
            }
            steps as f64
        } else {
            // Aims a little lower, so that the bound after that many steps, rounded upwards, is still below the
            // accuracy.
            let shrink = start / (accuracy * (1.0 - 1e-11));
            self.measure(start, shrink, shrink.ln()).1.ceil()
        };
        if steps <= limit as f64 && steps < super::MOST_STEPS {
            return Ok(steps as u64);
        }
        let steps = if steps.is_finite() { steps } else { plain };
        Err(Error::OutOfReach { accuracy, steps, limit: (limit as f64).min(super::MOST_STEPS) })
    }

    /// The bound after `steps` optimal steps from e_0 = `start`. Fast for any number of steps: iterated if short,
    /// otherwise the inverse of the upper end in [`Recursion::steps_to`].
    pub fn optimal_after(&self, start: f64, steps: u64) -> f64 {
        // A larger start is safe, and the logarithm of 0 does not exist.
        let start = start.max(f64::MIN_POSITIVE);
        if steps as f64 <= WALK {
            return (0..steps).fold(start, |e, _| self.advance(e, self.optimal_gamma(e)));
        }
        let ratio = self.growth / (self.convexity * self.convexity);
        let (mut low, mut high) = (0.0, steps as f64 / ratio);
        for _ in 0..200 {
            let log = 0.5 * (low + high);
            if self.measure(start, f64::exp(log), log).1 <= steps as f64 { low = log } else { high = log }
        }
        upward(start * (-low * (1.0 - 8.0 * f64::EPSILON)).exp())
    }

    /// β(1/ε − 1/e_0) + κ·ln(e_0/ε), where `shrink` = e_0/ε and `log` is its logarithm. Returns this number, and
    /// the number increased for upward rounding, which takes at most INFLATION·(β/ε + κ) off the gain of 1 per
    /// step.
    fn measure(&self, start: f64, shrink: f64, log: f64) -> (f64, f64) {
        let square = self.convexity * self.convexity;
        let (kappa, beta) = (self.growth / square, self.floor / square);
        let loss = INFLATION * (beta / start * shrink + kappa) + 1e-8;
        let plain = beta / start * (shrink - 1.0) + kappa * log;
        (plain, if loss < 0.5 { plain * (1.0 + 2.0 * loss) + 2.0 } else { f64::INFINITY })
    }
}

/// Exact gradients, no noise: ‖w⁺ − w*‖² ≤ max{|1−γμ|, |1−γM'|}²·‖w − w*‖² \[recursion\].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contraction {
    convexity: f64,
    smoothness: f64,
}

impl Contraction {
    /// Prox steps on l: M' = M.
    pub fn prox(convexity: f64, smoothness: f64) -> Result<Self> {
        let convexity = Positive::new("convexity μ", convexity)?.get();
        let smoothness = Positive::new("smoothness M", smoothness)?.get();
        if smoothness < convexity {
            return Err(Error::OutOfRange { what: "smoothness M", value: smoothness, needed: "at least μ" });
        }
        Ok(Self { convexity, smoothness })
    }

    /// Projected steps on f over 𝒲_M, where f is 2M-smooth: M' = 2M.
    pub fn proj(convexity: f64, smoothness: f64) -> Result<Self> {
        Self::prox(convexity, 2.0 * smoothness)
    }

    /// One step of size γ from e, rounded upwards.
    pub fn advance(&self, e: f64, gamma: f64) -> f64 {
        let slope = |curvature: f64| {
            let x = gamma * curvature;
            (1.0 - x).abs() + 2.0 * f64::EPSILON * x
        };
        let factor = slope(self.convexity).max(slope(self.smoothness));
        upward(factor * factor * e)
    }

    /// γ = 2/(μ + M'), the best constant step.
    pub fn optimal_gamma(&self) -> f64 {
        2.0 / (self.convexity + self.smoothness)
    }

    /// The bound after `steps` steps of `schedule`. O(steps), O(log steps) for a constant step.
    pub fn propagate(&self, schedule: &Schedule, steps: u64, start: f64) -> f64 {
        if schedule.is_set_by_draws() {
            return f64::INFINITY;
        }
        if let Schedule::Constant { gamma } = schedule {
            let (mut factor, mut e, mut left) = (self.advance(1.0, *gamma), start, steps);
            while left > 0 {
                if left & 1 == 1 {
                    e = upward(factor * e);
                }
                factor = upward(factor * factor);
                left >>= 1;
            }
            return e;
        }
        schedule.stepper().take_while_steps(steps).fold(start, |e, gamma| self.advance(e, gamma))
    }

    /// Steps of the best constant size to e_T ≤ `accuracy`: each multiplies e by ((M'−μ)/(M'+μ))².
    pub fn steps_to(&self, start: f64, accuracy: f64) -> Result<u64> {
        let start = NonNegative::new("start e₀", start)?.get();
        let accuracy = Positive::new("accuracy", accuracy)?.get();
        if start <= accuracy {
            return Ok(0);
        }
        let rate = -self.advance(1.0, self.optimal_gamma()).ln();
        let steps = ((start / accuracy).ln() / rate * (1.0 + 1e-12)).ceil();
        if !(0.0..=super::MOST_STEPS).contains(&steps) {
            return Err(Error::OutOfReach { accuracy, steps, limit: super::MOST_STEPS });
        }
        Ok(steps as u64)
    }
}

/// From a mean over runs to a single run (Markov): P(‖w_T − w*‖² ≥ e_T/δ) ≤ δ. Returns e_T/δ.
pub fn with_probability(e: f64, failure: Probability) -> f64 {
    upward(e / failure.get())
}

trait TakeSteps: Iterator<Item = f64> + Sized {
    /// `take` for a `u64`.
    fn take_while_steps(self, steps: u64) -> impl Iterator<Item = f64> {
        (0..steps).zip(self).map(|(_, gamma)| gamma)
    }
}

impl TakeSteps for schedule::Stepper<'_> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::schedule::StepKind;
    use proptest::prelude::*;

    fn recursion(convexity: f64, growth: f64, floor: f64) -> Recursion {
        Recursion::new(convexity, NoiseBound { growth, floor }).unwrap()
    }

    /// f = ½μw², g = μw + τwξ + σξ' with ξ, ξ' = ±1: E‖g‖² = (μ²+τ²)w² + σ². All 4^T runs, one by one.
    fn enumerate(mu: f64, tau: f64, sigma: f64, gammas: &[f64], w: f64) -> f64 {
        let Some((gamma, rest)) = gammas.split_first() else { return w * w };
        let signs = [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)];
        let next = |(x, y): (f64, f64)| w - gamma * (mu * w + tau * w * x + sigma * y);
        signs.into_iter().map(|s| 0.25 * enumerate(mu, tau, sigma, rest, next(s))).sum()
    }

    #[test]
    fn the_recursion_is_exact_for_a_quadratic_with_additive_and_multiplicative_noise() {
        let (mu, tau, sigma, w0) = (0.7, 1.1, 0.4, 1.5);
        let recursion = recursion(mu, mu * mu + tau * tau, sigma * sigma);
        for schedule in [
            Schedule::constant(0.1).unwrap(),
            recursion.optimal_schedule(w0 * w0).unwrap(),
            Schedule::anytime(StepKind::Prox, mu, recursion.growth()).unwrap(),
        ] {
            let gammas: Vec<f64> = schedule.stepper().take(7).collect();
            let (truth, bound) =
                (enumerate(mu, tau, sigma, &gammas, w0), recursion.propagate(&schedule, 7, w0 * w0));
            assert!(truth <= bound * (1.0 + 1e-14) && bound <= truth * (1.0 + 1e-12), "{truth} {bound}");
        }
    }

    #[test]
    fn a_wrong_sign_or_half_of_the_strong_convexity_would_show() {
        let (mu, tau, sigma, w0) = (0.7, 1.1, 0.4, 1.5f64);
        let truth = enumerate(mu, tau, sigma, &[0.2; 5], w0);
        let smaller = recursion(mu, mu * mu + 0.9 * tau * tau, sigma * sigma);
        assert!(smaller.propagate(&Schedule::constant(0.2).unwrap(), 5, w0 * w0) < truth);
        let smaller = recursion(mu, mu * mu + tau * tau, 0.9 * sigma * sigma);
        assert!(smaller.propagate(&Schedule::constant(0.2).unwrap(), 5, w0 * w0) < truth);
    }

    #[test]
    fn repeated_squaring_equals_walking() {
        let recursion = recursion(0.3, 5.0, 2.0);
        for steps in [0, 1, 2, 3, 17, 1000, 4097] {
            for gamma in [1e-6, 0.01, 0.06, 0.5] {
                let fast = recursion.propagate(&Schedule::constant(gamma).unwrap(), steps, 7.0);
                let list = Schedule::custom(vec![gamma]).unwrap();
                let slow = recursion.propagate(&list, steps, 7.0);
                let same = slow.is_infinite() && fast.is_infinite();
                assert!(same || (fast / slow - 1.0).abs() < 1e-10, "{steps} {gamma}: {fast} {slow}");
            }
        }
    }

    #[test]
    fn the_closed_form_brackets_the_optimal_recursion() {
        for kappa in [1.0, 1.5, 10.0, 3000.0] {
            for beta in [0.0, 1e-3, 1.0, 500.0] {
                for accuracy in [0.5, 0.1, 1e-3] {
                    let (mu, start) = (0.25f64, 3.0f64);
                    let recursion = recursion(mu, kappa * mu * mu, beta * mu * mu);
                    let steps = recursion.steps_to(start, accuracy, u64::MAX).unwrap() as f64;
                    let log = (start / accuracy).ln();
                    let linear = beta * (1.0 / accuracy - 1.0 / start);
                    assert!(linear + (kappa - 1.0) * log <= steps + 1e-6);
                    assert!(steps <= (linear + kappa * log).ceil(), "κ = {kappa}, β = {beta}");
                }
            }
        }
    }

    #[test]
    fn long_plans_are_priced_at_once_and_safely() {
        let recursion = recursion(1e-3, 46.0, 4.6e4);
        let (start, accuracy) = (1e4, 1e-2);
        let steps = recursion.steps_to(start, accuracy, u64::MAX).unwrap();
        assert!((steps as f64 / (4.6e12 + 4.6e7 * 1e6f64.ln()) - 1.0).abs() < 0.2, "{steps}");
        assert!(recursion.optimal_after(start, steps) <= accuracy);
        let refused = recursion.steps_to(start, accuracy, 1 << 40).unwrap_err();
        assert!(matches!(refused, Error::OutOfReach { steps: needed, .. } if needed > 4e12));
        let hopeless = recursion.steps_to(start, 1e-9, u64::MAX).unwrap_err();
        assert!(matches!(hopeless, Error::OutOfReach { steps, .. } if steps > 1e18 && steps.is_finite()));
    }

    #[test]
    fn where_walking_ends_the_closed_form_still_dominates_the_walk() {
        let recursion = recursion(1.0, 200.0, 50.0);
        let steps = WALK as u64 + 1;
        let walked = (0..steps).fold(10.0, |e, _| recursion.advance(e, recursion.optimal_gamma(e)));
        let closed = recursion.optimal_after(10.0, steps);
        assert!(walked <= closed && closed <= walked * (1.0 + 1e-3), "{walked} {closed}");
        let needed = recursion.steps_to(10.0, walked, u64::MAX).unwrap();
        assert!(needed >= steps && needed <= steps + 100);
    }

    #[test]
    fn the_contraction_is_exact_at_its_edges_and_meets_its_plan() {
        let contraction = Contraction::prox(0.5, 8.0).unwrap();
        let gamma = contraction.optimal_gamma();
        for curvature in [0.5f64, 8.0] {
            let truth = (1.0 - gamma * curvature).powi(2);
            assert!((contraction.advance(1.0, gamma) / truth - 1.0).abs() < 1e-13);
        }
        let steps = contraction.steps_to(5.0, 1e-6).unwrap();
        let schedule = Schedule::constant(gamma).unwrap();
        assert!(contraction.propagate(&schedule, steps, 5.0) <= 1e-6);
        assert!(contraction.propagate(&schedule, steps - 1, 5.0) > 1e-6);
        assert!(Contraction::prox(2.0, 1.0).is_err());
        assert_eq!(Contraction::proj(0.5, 4.0).unwrap(), contraction);
    }

    #[test]
    fn an_accuracy_below_the_smallest_bound_is_out_of_reach() {
        use crate::theory::rate;
        let noise = NoiseBound { growth: 4.0, floor: 0.0 };
        let recursion = Recursion::new(1.0, noise).unwrap();
        for accuracy in [5e-324, 1e-309] {
            assert!(matches!(recursion.steps_to(1.0, accuracy, u64::MAX), Err(Error::OutOfReach { .. })));
            let constant = rate::proj_strong_constant_steps(1.0, noise, 1.0, 0.1, accuracy);
            assert!(matches!(constant, Err(Error::OutOfReach { .. })));
            assert!(rate::proj_strong_anytime_steps(1.0, noise, 0.0, accuracy).is_err());
        }
        assert!(recursion.optimal_after(0.0, 1 << 40) <= 1e-300, "a start at the optimum stays there");
    }

    #[test]
    fn one_run_pays_one_over_delta() {
        let delta = Probability::new("δ", 0.05).unwrap();
        assert!((with_probability(0.1, delta) - 2.0).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn no_other_schedule_beats_the_optimal_one(
            log_kappa in 0.0..4.0f64, log_beta in -4.0..3.0f64, log_start in -2.0..4.0f64,
            tilts in proptest::collection::vec(-1.0..1.0f64, 1..40),
        ) {
            let recursion = recursion(0.5, 0.25 * 10f64.powf(log_kappa), 0.25 * 10f64.powf(log_beta));
            let start = 10f64.powf(log_start);
            let optimal = recursion.optimal_schedule(start).unwrap();
            let tilted = optimal.stepper().zip(&tilts).map(|(gamma, tilt)| gamma * tilt.exp()).collect();
            let other = recursion.propagate(&Schedule::custom(tilted).unwrap(), tilts.len() as u64, start);
            let best = recursion.propagate(&optimal, tilts.len() as u64, start);
            prop_assert!(best <= other * (1.0 + 1e-12));
        }

        #[test]
        fn bounds_grow_with_each_constant_and_fall_with_the_steps(
            log_kappa in 0.0..4.0f64, floor in 0.0..10.0f64, start in 0.01..100.0f64, gamma in 1e-4..0.5f64,
        ) {
            let growth = 10f64.powf(log_kappa);
            let base = recursion(1.0, growth, floor);
            let next = base.advance(start, gamma);
            prop_assert!(next <= recursion(1.0, growth * 1.1, floor).advance(start, gamma));
            prop_assert!(next <= recursion(1.0, growth, floor + 0.1).advance(start, gamma));
            prop_assert!(next <= recursion(0.9, growth, floor).advance(start, gamma));
            prop_assert!(next <= base.advance(start * 1.1, gamma));
            prop_assert!(base.optimal_after(start, 20) <= base.optimal_after(start, 19));
        }

        #[test]
        fn one_step_rounds_upwards(x in 0.0..1.0f64, kappa in 1.0..50.0f64, e in 0.0..10.0f64) {
            // Against exact integers: μ = 1 and everything on a dyadic grid where f64 arithmetic is exact.
            let snap = |v: f64, bits: f64| (v * bits).round() / bits;
            let (x, kappa, e) = (snap(x, 64.0), snap(kappa, 16.0), snap(e, 64.0));
            let exact = (1.0 - 2.0 * x + x * x * kappa) * e + x * x * 0.5;
            prop_assert!(recursion(1.0, kappa, 0.5).advance(e, x) >= exact);
        }
    }
}
