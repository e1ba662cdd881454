//! The trapezoidal rule on the whole line for integrands that are analytic in a strip [marginal-quadrature].
//!
//! Let f be analytic for |Im u| ≤ a and decay there, and ∫|f(x ± ia)|dx ≤ B·∫f for a density f > 0. By Poisson's summation formula the error of
//! the rule is a sum of values of the Fourier transform, and moving the path to Im u = ∓a bounds each:
//! ```text
//! |h Σ_j f(c + jh) − ∫f| ≤ Σ_{l≠0} |f̂(2πl/h)| ≤ 2B/(e^{2πa/h} − 1)·∫f     for every c
//! ```

/// How much the modulus of a factor of the integrand may grow at a distance from the real line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Factor {
    /// 1/(1 + e^{−t}): |1 + e^{−t−ib}|² ≥ (1 + e^{−t})²cos²(b/2).
    Logistic,
    /// Φ(t) = ∫_{−∞}^t ϕ, and |ϕ(t + ib)| = e^{½b²}ϕ(t).
    Probit,
    /// e^{−½t²}.
    Normal,
}

impl Factor {
    /// log of the growth at a distance b; infinite where the factor has poles nearer to the line.
    /// ```text
    /// logistic −log cos(b/2), |b| < π      probit, normal ½b²
    /// ```
    pub fn log_growth(self, distance: f64) -> f64 {
        match self {
            Self::Logistic if distance.abs() < std::f64::consts::PI => -(0.5 * distance).cos().ln(),
            Self::Logistic => f64::INFINITY,
            Self::Probit | Self::Normal => 0.5 * distance * distance,
        }
    }
}

/// log of the growth of ∫N(u; 0, τ²)e^{Yu − Λeᵘ}du besides that of the normal density: −λ log cos a, for λ ≥ E[Λeᵘ] under that density.
///
/// At u + ia the rate is Λeᵘcos a, which is that of v = u + log cos a. With c = −log cos a and t = c/τ² the integral over v is
/// e^{Yc − ½c²/τ²}·E e^{−tv}, and E e^{−tv} ≤ e^{−tEv + ½t²τ²}; Y − Ev/τ² = E[Λeᵛ] by parts.
pub fn rates_log_growth(mean_rate: f64, distance: f64) -> f64 {
    if distance.abs() < std::f64::consts::FRAC_PI_2 {
        -mean_rate * distance.cos().ln()
    } else {
        f64::INFINITY
    }
}

/// The least bound of the relative error for a step h over some distances a, and that a: 2B/(e^{2πa/h} − 1), rounded up.
pub fn relative_error(step: f64, log_growth: impl Fn(f64) -> f64) -> (f64, f64) {
    let mut best = (f64::INFINITY, 0.0);
    for k in 1..=48 {
        let distance = 0.25 * f64::from(k) * step;
        let found = error_at(step, distance, log_growth(distance));
        if found < best.0 {
            best = (found, distance);
        }
    }
    best
}

/// 2B/(e^{2πa/h} − 1) for log B, rounded up.
pub fn error_at(step: f64, distance: f64, log_growth: f64) -> f64 {
    let way = std::f64::consts::TAU * distance / step;
    let error = 2.0 * (log_growth * (1.0 + 1e-12) - way * (1.0 - 1e-12)).exp() / -(-way).exp_m1();
    if error.is_nan() { f64::INFINITY } else { error * (1.0 + 1e-9) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::special::log_normal_cdf;

    /// Σ_j f(c + jh) over |u| ≤ 60.
    fn rule(step: f64, shift: f64, log: &dyn Fn(f64) -> f64) -> f64 {
        let count = (60.0 / step) as i64;
        (-count..=count).map(|j| log(shift + step * j as f64).exp()).sum::<f64>() * step
    }

    const ROWS: [(f64, f64); 4] = [(0.6, 1.0), (-1.3, 0.7), (2.1, -0.9), (0.2, 1.4)];

    /// The normal density: the error of the rule is 2e^{−2π²τ²/h²} at worst over c, up to smaller terms, and the bound is just that.
    #[test]
    fn a_normal_density_attains_the_bound() {
        for step in [1.0, 1.4, 1.9, 2.4] {
            let log = |u: f64| -0.5 * u * u - 0.5 * std::f64::consts::TAU.ln();
            let worst = (0..8)
                .map(|k| (rule(step, 0.125 * f64::from(k) * step, &log) - 1.0).abs())
                .fold(0.0, f64::max);
            let (bound, _) = relative_error(step, |a| Factor::Normal.log_growth(a));
            assert!(worst <= bound + 1e-14 && bound < 1.2 * worst + 1e-13, "{step}: {worst:e} {bound:e}");
        }
    }

    /// Integrands of each kind, at steps where the error shows. With a growth of its square root the bound is too small.
    #[test]
    fn the_error_of_the_rule_is_within_its_bound() {
        let logistic = |u: f64| {
            let row = |(s, z): &(f64, f64)| -(-(s + z * u)).exp().ln_1p();
            -0.5 * u * u + 3.0 * ROWS.iter().map(row).sum::<f64>()
        };
        let probit = |u: f64| -0.5 * u * u + ROWS.iter().map(|(s, z)| log_normal_cdf(s + z * u)).sum::<f64>();
        let rates = |u: f64| -0.5 * u * u + 7.0 * u - 2.0 * u.exp();
        type Case<'a> = (&'a str, &'a dyn Fn(f64) -> f64, Box<dyn Fn(f64) -> f64>);
        let sum = |factor: Factor, times: f64| {
            Box::new(move |a: f64| {
                let rows: f64 = ROWS.iter().map(|(_, z)| factor.log_growth(z * a)).sum();
                Factor::Normal.log_growth(a) + times * rows
            })
        };
        let mean_rate = {
            let step = 0.01;
            let weigh = |f: &dyn Fn(f64) -> f64| rule(step, 0.0, &|u| rates(u) + f(u));
            2.0 * weigh(&|u| u) / weigh(&|_| 0.0)
        };
        let cases: [Case<'_>; 3] = [
            ("logistic", &logistic, sum(Factor::Logistic, 3.0)),
            ("probit", &probit, sum(Factor::Probit, 1.0)),
            (
                "rates",
                &rates,
                Box::new(move |a| Factor::Normal.log_growth(a) + rates_log_growth(mean_rate, a)),
            ),
        ];
        let mut planted = 0;
        for (name, log, growth) in &cases {
            let truth = rule(0.01, 0.0, log);
            for step in [0.6, 0.9, 1.2, 1.5, 1.8] {
                let worst = (0..8)
                    .map(|k| (rule(step, 0.125 * f64::from(k) * step, log) / truth - 1.0).abs())
                    .fold(0.0, f64::max);
                let (bound, _) = relative_error(step, growth);
                assert!(worst <= bound + 1e-13, "{name} {step}: {worst:e} {bound:e}");
                planted += usize::from(worst > relative_error(step, |a| 0.5 * growth(a)).0 + 1e-13);
            }
        }
        assert!(planted >= 3, "{planted}");
    }

    /// On lines beside the real one, each factor grows by no more than is said, and by that much at the worst place.
    #[test]
    fn factors_grow_by_no_more_than_is_said() {
        for b in [0.3, 1.0, 2.0, 3.0] {
            let growth = Factor::Logistic.log_growth(b);
            let ratio = |t: f64| {
                let e = (-t).exp();
                let modulus = 1.0 + 2.0 * e * f64::cos(b) + e * e;
                (1.0 + e).ln() - 0.5 * modulus.ln()
            };
            let worst = (-200..=200).map(|k| ratio(0.05 * f64::from(k))).fold(f64::MIN, f64::max);
            assert!(worst <= growth + 1e-12 && worst > growth - 1e-9, "{b}: {worst} {growth}");
        }
        assert!(Factor::Logistic.log_growth(3.2).is_infinite() && rates_log_growth(1.0, 1.6).is_infinite());
        assert!(relative_error(1.0, |_| f64::NAN).0.is_infinite());
    }
}
