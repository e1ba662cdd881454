//! Models with one effect a group, held against sums on lines.

use super::global::scatter;
use crate::figure::Figure;
use crate::outcome::{Check, Outcome};
use crate::trial::Trial;
use provi::audit::{Audit, Audited};
use provi::target::{Family, Glm, Prior};
use provi::theory::strip::{Factor, rates_log_growth, relative_error};
use provi::{Auto, Design, Gaussian, Result, Seed};
use provi_testkit::space::objective;
use std::f64::consts::TAU;

const GROUPS: usize = 10;
const ROWS: usize = 6;
/// The prior's deviation of β.
const TOP: f64 = 1.5;
/// Places of u: so many, over ±9τ.
const PLACES: usize = 300;

/// `y ~ 0 + x + (1 | g)`.
struct Case {
    name: &'static str,
    family: Family,
    /// τ.
    within: f64,
    /// (x, y) of each group.
    groups: Vec<Vec<(f64, f64)>>,
}

impl Case {
    fn all() -> Vec<Self> {
        let case = |name, family, within: f64, shift: f64| {
            let row = |g: usize, n: usize| {
                let k = (ROWS * g + n) as f64;
                let x = 0.6 + (1.7 * k + shift).sin();
                let wave = (2.3 * k + 3.0 * shift).cos() + 0.8 * (1.1 * g as f64).sin() + 0.5 * x;
                let y = match family {
                    Family::Poisson => (2.0 * wave.max(0.0)).floor(),
                    _ => f64::from(u8::from(wave > 0.2)),
                };
                (x, y)
            };
            let groups = (0..GROUPS).map(|g| (0..ROWS).map(|n| row(g, n)).collect()).collect();
            Self { name, family, within, groups }
        };
        vec![
            case("logistic", Family::Bernoulli, 0.9, 0.4),
            case("wide effects", Family::Bernoulli, 1.6, 1.3),
            case("counts", Family::Poisson, 0.7, 2.2),
        ]
    }

    /// −φ at a predictor, constants included.
    fn log(&self, s: f64, y: f64) -> f64 {
        match self.family {
            Family::Poisson => y * s - s.exp() - (1..=y as u64).map(|k| (k as f64).ln()).sum::<f64>(),
            _ => -(1.0 + (-(2.0 * y - 1.0) * s).exp()).ln(),
        }
    }

    /// log of the integrand of one group.
    fn integrand(&self, group: usize, beta: f64, u: f64) -> f64 {
        let prior = -0.5 * (u / self.within).powi(2) - (self.within * TAU.sqrt()).ln();
        prior + self.groups[group].iter().map(|(x, y)| self.log(x * beta + u, *y)).sum::<f64>()
    }

    /// Sums over the places of uᵏ times the integrand.
    fn sums(&self, group: usize, beta: f64) -> [f64; 3] {
        let step = 18.0 * self.within / PLACES as f64;
        let mut out = [0.0; 3];
        for k in 0..PLACES {
            let u = step * (k as f64 + 0.5) - 9.0 * self.within;
            let weight = step * self.integrand(group, beta, u).exp();
            out = [out[0] + weight, out[1] + weight * u, out[2] + weight * u * u];
        }
        out
    }

    fn model(&self) -> Result<Glm> {
        let mut entries = Vec::new();
        let mut response = Vec::new();
        for (g, rows) in self.groups.iter().enumerate() {
            for (x, y) in rows {
                entries.extend([(response.len(), 0, *x), (response.len(), 1 + g, 1.0)]);
                response.push(*y);
            }
        }
        let design = Design::triplets(response.len(), 1 + GROUPS, &entries)?;
        let mut scales = vec![self.within; 1 + GROUPS];
        scales[0] = TOP;
        Glm::new(self.family, design, &response, Prior::scales(&scales)?)
    }

    /// log p(x), and the mean and deviation of β and of the first effect.
    fn truth(&self, around: f64, deviation: f64) -> (f64, [[f64; 2]; 2]) {
        let step = 0.25 * deviation;
        let (mut mass, mut first, mut second) = (0.0, [0.0; 2], [0.0; 2]);
        for k in 0..=64 {
            let beta = around + step * (f64::from(k) - 32.0);
            let prior = -0.5 * (beta / TOP).powi(2) - (TOP * TAU.sqrt()).ln();
            let own = self.sums(0, beta);
            let rest: f64 = (1..GROUPS).map(|g| self.sums(g, beta)[0].ln()).sum();
            let weight = step * (prior + rest).exp() * own[0];
            mass += weight;
            for (j, [x, y]) in
                [[beta, beta * beta], [own[1] / own[0], own[2] / own[0]]].into_iter().enumerate()
            {
                (first[j], second[j]) = (first[j] + weight * x, second[j] + weight * y);
            }
        }
        let moments = [0, 1].map(|j| {
            let mean: f64 = first[j] / mass;
            [mean, (second[j] / mass - mean * mean).sqrt()]
        });
        (mass.ln(), moments)
    }

    /// What an audit says of the best Gaussian, and −ELBO.
    fn audited(&self) -> Result<(Gaussian, f64, Audited)> {
        let model = self.model()?;
        let q = Auto::default().run(&model, Seed(1))?.fit.gaussian;
        let audit = Audit { draws: 8_000, ..Audit::default() };
        let audited = audit.run(&model, &q, Seed(2))?;
        let value = objective(&model, &q)?;
        Ok((q, value, audited))
    }
}

/// [marginal-quadrature].
pub(crate) fn quadrature(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut points = Vec::new();
    for case in Case::all() {
        for (group, beta) in [(0, 0.4), (1, -0.7), (2, 1.1)] {
            let [whole, ..] = case.sums(group, beta);
            let rule = |step: f64, shift: f64| -> f64 {
                let count = (12.0 * case.within / step) as i32 + 1;
                (-count..=count)
                    .map(|j| step * case.integrand(group, beta, step * (f64::from(j) + shift)).exp())
                    .sum()
            };
            let rate = {
                // E[Σeˢ | β], by sums.
                let step = 18.0 * case.within / PLACES as f64;
                let weigh = |u: f64| step * case.integrand(group, beta, u).exp();
                let rates =
                    |u: f64| case.groups[group].iter().map(|(x, _)| (x * beta + u).exp()).sum::<f64>();
                let place = |k: usize| step * (k as f64 + 0.5) - 9.0 * case.within;
                (0..PLACES).map(|k| weigh(place(k)) * rates(place(k))).sum::<f64>() / whole
            };
            let growth = |a: f64| {
                let rows = match case.family {
                    Family::Poisson => rates_log_growth(rate, a),
                    _ => ROWS as f64 * Factor::Logistic.log_growth(a),
                };
                Factor::Normal.log_growth(a / case.within) + rows
            };
            for step in [0.9, 1.2, 1.6, 2.2].map(|x| x * case.within) {
                let worst = (0..8)
                    .map(|k| (rule(step, 0.125 * f64::from(k)) / whole - 1.0).abs())
                    .fold(0.0, f64::max);
                let (bound, _) = relative_error(step, growth);
                let name = format!("{}, group {group}, h = {step:.2}", case.name);
                outcome.check(Check::at_most(name, worst, trial.upper(bound) + 1e-12));
                points.push((worst, bound));
            }
        }
    }
    // The normal density alone attains the bound.
    for step in [1.2f64, 1.8, 2.4] {
        let rule: f64 =
            (-40..=40).map(|j| step * (-0.5 * (step * f64::from(j)).powi(2)).exp() / TAU.sqrt()).sum();
        let (bound, _) = relative_error(step, |a| Factor::Normal.log_growth(a));
        outcome.check(Check::at_most(format!("normal, h = {step}"), rule - 1.0, trial.upper(bound) + 1e-14));
        points.push((rule - 1.0, bound));
    }
    outcome.figures.push(Figure {
        name: "marginal-quadrature".into(),
        caption: "The largest relative error of the trapezoidal rule over eight shifts of its nodes, and its bound, for groups of logistic and Poisson \
                  rows at several steps. Nothing below the diagonal."
            .into(),
        panels: vec![scatter("Sums over nodes", "relative error", points, 0)],
    });
    Ok(outcome)
}

/// [marginal-kl].
pub(crate) fn kl(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut points = Vec::new();
    for case in Case::all() {
        let (q, value, audited) = case.audited()?;
        let (evidence, _) = case.truth(q.mean()[0], q.standard_deviations()[0]);
        let statement = &audited.certificate().kl;
        let name = format!("{}: by its key", case.name);
        outcome.check(Check::at_least(
            name,
            f64::from(u8::from(statement.key() == Some("marginal-kl"))),
            1.0,
        ));
        let (truth, bound) = (value + evidence, statement.bound().unwrap_or(f64::INFINITY));
        outcome.check(Check::at_most(format!("{}: KL", case.name), truth, trial.upper(bound) + 1e-9));
        points.push((truth, bound));
    }
    outcome.figures.push(Figure {
        name: "marginal-kl".into(),
        caption: "KL(q‖p) of models with ten groups, by sums over β and over each effect, and what audits prove of it. Nothing below the diagonal."
            .into(),
        panels: vec![scatter("Audits from draws", "KL, nats", points, 0)],
    });
    Ok(outcome)
}

/// [marginal-evidence].
pub(crate) fn evidence(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut points = Vec::new();
    for case in Case::all() {
        let (q, value, audited) = case.audited()?;
        let (evidence, _) = case.truth(q.mean()[0], q.standard_deviations()[0]);
        let sides = &audited.certificate().evidence;
        let [low, high] = [sides.lower(), sides.upper()].map(|x| x.unwrap_or(f64::NAN));
        // Over the ELBO, which is known.
        let truth = evidence + value;
        outcome.check(Check::at_most(
            format!("{}: above", case.name),
            truth,
            trial.upper(high + value) + 1e-9,
        ));
        outcome.check(Check::at_least(
            format!("{}: below", case.name),
            truth,
            trial.lower(low + value) - 1e-9,
        ));
        points.push((truth, high + value));
    }
    outcome.figures.push(Figure {
        name: "marginal-evidence".into(),
        caption: "log p(x) over the ELBO, by sums, and its certified upper end.".into(),
        panels: vec![scatter("Audits from draws", "log evidence over the ELBO, nats", points, 1)],
    });
    Ok(outcome)
}

/// [marginal-moments].
pub(crate) fn moments(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut points = Vec::new();
    for case in Case::all() {
        for group in 0..4 {
            // ζ = u, and x is β.
            let largest = case.groups[group].iter().map(|(x, _)| x.abs()).fold(0.0, f64::max);
            let at = |beta: f64| {
                let [mass, first, second] = case.sums(group, beta);
                [first / mass, second / mass]
            };
            let here = at(0.0);
            for beta in [-1.5, -0.6, 0.3, 1.2] {
                let (there, way) = (at(beta), largest * f64::abs(beta));
                let bounds = [way, 2.0 * here[1].sqrt() * way + way * way];
                for k in 0..2 {
                    let moved = (there[k] - here[k]).abs();
                    let name = format!("{}, group {group}, β = {beta}: moment {}", case.name, k + 1);
                    outcome.check(Check::at_most(name, moved, trial.upper(bounds[k]) + 1e-9));
                    points.push((moved, bounds[k]));
                }
            }
        }
        let (q, _, audited) = case.audited()?;
        let (_, truth) = case.truth(q.mean()[0], q.standard_deviations()[0]);
        if let Some(own) = audited.posterior_moments() {
            for (j, [mean, deviation]) in truth.into_iter().enumerate() {
                let off = (own.mean[j] - mean).abs();
                outcome.check(Check::at_most(
                    format!("{}, {j}: mean", case.name),
                    off,
                    own.mean_error[j] + 1e-9,
                ));
                let off = (own.sd[j] - deviation).abs();
                outcome.check(Check::at_most(format!("{}, {j}: sd", case.name), off, own.sd_error[j] + 1e-9));
            }
        }
    }
    // Many rows fix β + u, so that u moves nearly as fast as is said.
    let precise = Case {
        name: "many trials",
        family: Family::Bernoulli,
        within: 1.5,
        groups: vec![(0..60).map(|n| (1.0, f64::from(n % 2))).collect()],
    };
    let at = |beta: f64| {
        let [mass, first, _] = precise.sums(0, beta);
        first / mass
    };
    let moved = (at(0.4) - at(0.0)).abs();
    outcome.check(Check::at_most("many rows fix β + u: mean", moved, trial.upper(0.4)));
    points.push((moved, 0.4));
    outcome.figures.push(Figure {
        name: "marginal-moments".into(),
        caption: "How far the first two moments of an effect move with β, by sums, and how far they may. Nothing below the diagonal.".into(),
        panels: vec![scatter("Moments given β", "distance", points, 0)],
    });
    Ok(outcome)
}
