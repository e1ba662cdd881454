//! Models that fall apart into groups, held against sums over grids.

use super::global::scatter;
use crate::figure::Figure;
use crate::outcome::{Check, Outcome};
use crate::trial::Trial;
use provi::Result;
use provi::theory::lipschitz::{moments_beyond, weight_beyond};

/// Places of z_i and of θ.
const SIDE: usize = 101;
const STEP: f64 = 0.22;

fn place(k: usize) -> f64 {
    STEP * (k as f64 - 50.0)
}

/// θ ~ N(ν, 1/T), z_i ~ N(θ, 1/R), and rows (a, y) of three groups with p(y = 1) = sigmoid(a·z_i).
struct Case {
    name: &'static str,
    top: f64,
    within: f64,
    center: f64,
    /// θ₀.
    point: f64,
    rows: [Vec<(f64, f64)>; 3],
}

/// What the sums over a grid give.
struct Sums {
    /// log p(x), and Σ log p(x_i | θ₀) + ½ log T − ½ log A − ½T(θ₀−ν)².
    evidence: f64,
    parts: f64,
    /// Every cell of (z_1, z_2, z_3) under r: its probability, y, z_1 and E[θ | z].
    cells: Vec<[f64; 4]>,
    /// α.
    rest: f64,
    /// The prior's deviations of z_1 and θ.
    spreads: [f64; 2],
}

impl Case {
    fn all() -> Vec<Self> {
        let rows = |n: usize, shift: f64| -> Vec<(f64, f64)> {
            (0..n)
                .map(|k| {
                    let a = 1.4 * (1.7 * k as f64 + shift).sin() + 0.3;
                    (a, f64::from(u8::from((2.3 * k as f64 + 3.0 * shift).cos() + a > 0.0)))
                })
                .collect()
        };
        let case = |name, [top, within, center, point]: [f64; 4], n: usize| Self {
            name,
            top,
            within,
            center,
            point,
            rows: [rows(n, 0.4), rows(n + 2, 1.1), rows(n + 5, 2.9)],
        };
        vec![
            case("a few rows", [1.0, 1.5, 0.0, 0.3], 3),
            case("many rows", [0.5, 2.0, 0.4, 0.8], 25),
            case("θ₀ far away", [1.0, 1.0, -0.2, 1.3], 10),
            case("weak ties", [2.0, 0.5, 0.0, 0.1], 8),
        ]
    }

    /// e^{−½R(z−θ)²}·√(R/2π)·Π p(y | z), times the step.
    fn weight(&self, group: usize, z: f64, theta: f64) -> f64 {
        let away = z - theta;
        let prior = (-0.5 * self.within * away * away).exp() * (self.within / std::f64::consts::TAU).sqrt();
        let row = |(a, y): &(f64, f64)| 1.0 / (1.0 + (-(2.0 * y - 1.0) * a * z).exp());
        STEP * prior * self.rows[group].iter().map(row).product::<f64>()
    }

    fn sums(&self) -> Sums {
        let whole = self.top + 3.0 * self.within;
        let group = |i: usize, theta: f64| (0..SIDE).map(|k| self.weight(i, place(k), theta)).sum::<f64>();
        let density = |theta: f64| {
            (-0.5 * self.top * (theta - self.center).powi(2)).exp()
                * (self.top / std::f64::consts::TAU).sqrt()
        };
        let evidence: f64 = (0..SIDE)
            .map(|k| STEP * density(place(k)) * (0..3).map(|i| group(i, place(k))).product::<f64>())
            .sum();
        let away = self.point - self.center;
        let mut parts = 0.5 * (self.top / whole).ln() - 0.5 * self.top * away * away;
        let laws: Vec<Vec<f64>> = (0..3)
            .map(|i| {
                let mass = group(i, self.point);
                parts += mass.ln();
                (0..SIDE).map(|k| self.weight(i, place(k), self.point) / mass).collect()
            })
            .collect();
        let mut cells = Vec::with_capacity(SIDE * SIDE * SIDE);
        for (a, first) in laws[0].iter().enumerate() {
            for (b, second) in laws[1].iter().enumerate() {
                for (c, third) in laws[2].iter().enumerate() {
                    let sum = place(a) + place(b) + place(c) - 3.0 * self.point;
                    let slope = self.top * away - self.within * sum;
                    let theta = self.point - slope / whole;
                    cells.push([first * second * third, slope / whole.sqrt(), place(a), theta]);
                }
            }
        }
        let spreads = [(1.0 / self.top + 1.0 / self.within).sqrt(), self.top.powf(-0.5)];
        Sums { evidence: evidence.ln(), parts, cells, rest: self.top / whole, spreads }
    }
}

impl Sums {
    fn mean(&self, f: impl Fn(&[f64; 4]) -> f64) -> f64 {
        self.cells.iter().map(|cell| cell[0] * f(cell)).sum()
    }

    /// P(|y| > a), E min(W, K), E W.
    fn weights(&self, reach: f64) -> [f64; 3] {
        let cap = (0.5 * reach * reach).exp();
        let weight = |y: f64| (0.5 * y * y).exp();
        [
            self.mean(|c| f64::from(u8::from(c[1].abs() > reach))),
            self.mean(|c| weight(c[1]).min(cap)),
            self.mean(|c| weight(c[1])),
        ]
    }
}

const REACHES: [f64; 4] = [0.6, 1.0, 1.5, 2.2];

/// [group-kl].
pub(crate) fn kl(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut points = Vec::new();
    for case in Case::all() {
        let sums = case.sums();
        for reach in REACHES {
            let [rare, core, truth] = sums.weights(reach);
            let bound = core + weight_beyond(reach, rare, sums.rest);
            let name = format!("{}, a = {reach}: E W", case.name);
            outcome.check(Check::at_most(name, truth, trial.upper(bound) + 1e-7));
            points.push((truth - core, bound - core));
        }
    }
    outcome.figures.push(Figure {
        name: "group-kl".into(),
        caption: "What of E W is beyond K = e^{½a²}, and its bound from P(‖y‖ > a) alone: three groups around a common mean, with θ \
                  integrated out, by sums over a grid, for several a. Nothing below the diagonal."
            .into(),
        panels: vec![scatter("E(W − K)₊", "part of E W", points, 0)],
    });
    Ok(outcome)
}

/// [group-evidence].
pub(crate) fn evidence(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut points = Vec::new();
    for case in Case::all() {
        let sums = case.sums();
        for reach in REACHES {
            let [rare, core, weight] = sums.weights(reach);
            // The identity, from both sides, and what is said with K.
            let both = sums.parts + weight.ln();
            let off = format!("{}: log p(x) by its parts", case.name);
            outcome.check(Check::at_most(off, (both - sums.evidence).abs(), 1e-6));
            let least = format!("{}, a = {reach}: p(x) from below", case.name);
            let part = (sums.parts - sums.evidence).exp();
            outcome.check(Check::at_least(least, 1.0, trial.lower(part * core) - 1e-7));
            let bound = core + weight_beyond(reach, rare, sums.rest);
            points.push((weight, bound));
        }
    }
    outcome.figures.push(Figure {
        name: "group-evidence".into(),
        caption: "p(x) over its part without W, and what is certified of it from above, by sums over a grid."
            .into(),
        panels: vec![scatter("E W", "factor of the evidence", points, 1)],
    });
    Ok(outcome)
}

/// [group-moments].
pub(crate) fn moments(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut points = Vec::new();
    for case in Case::all() {
        let sums = case.sums();
        for (which, what) in [(2, "z_1"), (3, "θ")] {
            let spread = sums.spreads[which - 2];
            for (reach, cut) in [(1.0, 1.2), (1.5, 2.0), (2.2, 1.5)] {
                let [rare, core, weight] = sums.weights(reach);
                let tail = weight_beyond(reach, rare, sums.rest);
                let cap = f64::exp(0.5 * reach * reach);
                let full = |c: &[f64; 4]| (0.5 * c[1] * c[1]).exp();
                let beyond = sums.mean(|c| f64::from(u8::from(c[which].abs() > cut)) * full(c).min(cap));
                let [first, second] = moments_beyond(cut, spread, (beyond + tail) / core);
                let bounds = [cut * tail + weight * first, cut * cut * tail + weight * second];
                let rest = [1, 2].map(|j| {
                    sums.mean(|c| full(c) * c[which].powi(j))
                        - sums.mean(|c| full(c).min(cap) * c[which].clamp(-cut, cut).powi(j))
                });
                for (j, (rest, bound)) in
                    rest.into_iter().zip(bounds).enumerate().filter(|(_, (_, b))| b.is_finite())
                {
                    let name = format!("{}, a = {reach}, c = {cut}: {what}, moment {}", case.name, j + 1);
                    outcome.check(Check::at_most(name, rest.abs(), trial.upper(bound) + 1e-7));
                    points.push((rest.abs(), bound));
                }
            }
        }
    }
    outcome.figures.push(Figure {
        name: "group-moments".into(),
        caption: "What the first two moments of a coefficient have beyond K and c, and its bound, by sums over a grid.".into(),
        panels: vec![scatter("Beyond K and c", "moment", points, 2)],
    });
    Ok(outcome)
}
