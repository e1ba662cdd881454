//! An answer q = N(m, s²) in one dimension, with every number of its certificate by quadrature.
//!
//! x = (z − m)/s, U(x) = V(m + sx), s̃ = U'(x) − x, D = U − ½x² − ½ log 2π − log s.

use super::posterior::{Line, Truth};
use crate::space::objective;
use provi::solve::Solver;
use provi::target::{Family, Glm};
use provi::theory::bounded::{Bounded, Law};
use provi::theory::certificate::{Ball, Outside};
use provi::theory::envelope::{self, Envelope, Far, excess};
use provi::theory::santalo;
use provi::{Gaussian, Result, Target, Triangular};
use std::f64::consts::{PI, SQRT_2};

/// A posterior in one dimension, and the library's model of it.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) line: Line,
    pub(crate) truth: Truth,
    pub(crate) target: Glm,
    pub(crate) best: Gaussian<Triangular>,
}

/// An answer for it.
pub(crate) struct Answer<'a> {
    pub(crate) name: String,
    pub(crate) case: &'a Case,
    pub(crate) q: Gaussian<Triangular>,
    m: f64,
    s: f64,
    /// f(q), and f(q*).
    pub(crate) f: f64,
    pub(crate) best: f64,
    /// s²H_lo and s²H_hi.
    pub(crate) low: f64,
    pub(crate) high: Option<f64>,
    /// E_q s̃².
    pub(crate) square: f64,
    /// TV(q, p).
    pub(crate) variation: f64,
    reach: f64,
}

/// The answer restricted to the ball |x| ≤ R.
pub(crate) struct Cut {
    pub(crate) ball: Ball,
    /// s²H_R.
    pub(crate) low: f64,
    /// ∫_{Bᶜ}|x|^j dp/p(B).
    pub(crate) beyond: [f64; 3],
    /// E_{q_B}D.
    pub(crate) value: f64,
    /// J − αf, if it is known.
    pub(crate) excess: f64,
}

/// ∫g over [a, b] by Simpson's rule.
fn simpson(a: f64, b: f64, n: usize, g: impl Fn(f64) -> f64) -> f64 {
    let h = (b - a) / (2 * n) as f64;
    let weight = |i: usize| if i == 0 || i == 2 * n { 1.0 } else { 2.0 + 2.0 * (i % 2) as f64 };
    (0..=2 * n).map(|i| weight(i) * g(a + h * i as f64)).sum::<f64>() * h / 3.0
}

fn normal(x: f64) -> f64 {
    (-0.5 * x * x).exp() / (2.0 * PI).sqrt()
}

/// The posteriors in one dimension: three families, few and many rows, weak and strong priors.
pub(crate) fn cases(quick: bool) -> Result<Vec<Case>> {
    let mut out = Vec::new();
    let rows: &[usize] = if quick { &[5, 60] } else { &[5, 20, 100] };
    let precisions: &[f64] = if quick { &[1.0] } else { &[0.1, 1.0, 10.0] };
    for (k, &rows) in rows.iter().enumerate() {
        for (j, &precision) in precisions.iter().enumerate() {
            let key = 20_000 + 100 * k as u64 + 10 * j as u64;
            for (family, scale) in
                [(Family::Gaussian { noise_sd: 1.5 }, 1.0), (Family::Bernoulli, 1.0), (Family::Poisson, 0.5)]
            {
                let line = Line::random(family, key, rows, precision, scale);
                let name = format!("{} N = {rows}, λ = {precision}", family.name());
                let target = line.target()?;
                let best = Solver::default().run(&target)?.gaussian;
                out.push(Case { name, truth: line.truth(), line, target, best });
            }
        }
    }
    Ok(out)
}

impl Case {
    /// The best answer, the Laplace approximation, and worse ones.
    pub(crate) fn answers(&self) -> Result<Vec<Answer<'_>>> {
        let (m, s) = (self.best.mean()[0], self.best.factor()[0]);
        let mode = self.line.mode();
        let laplace = self.line.potential(mode)[2].powf(-0.5);
        [
            ("best", m, s),
            ("Laplace", mode, laplace),
            ("shifted", m + 0.7 * s, s),
            ("wide", m, 1.5 * s),
            ("narrow", m - 0.2 * s, 0.6 * s),
        ]
        .into_iter()
        .map(|(name, m, s)| self.answer(name, m, s))
        .collect()
    }

    fn answer(&self, name: &str, m: f64, s: f64) -> Result<Answer<'_>> {
        let q = Gaussian::<Triangular>::new(&[m], &[s])?;
        let curvature = self.target.curvature()?;
        let scaled = |h: f64| s * s * h;
        let low = curvature.as_ref().map_or(f64::NAN, |c| scaled(c.lower().to_matrix(1)[(0, 0)]));
        let high = curvature.as_ref().and_then(|c| c.upper()).map(|h| scaled(h.to_matrix(1)[(0, 0)]));
        let mut out = Answer {
            name: format!("{}, {name}", self.name),
            case: self,
            f: objective(&self.target, &q)?,
            best: objective(&self.target, &self.best)?,
            q,
            m,
            s,
            low,
            high,
            square: 0.0,
            variation: 0.0,
            reach: (self.truth.mean - m).abs() / s + 12.0 * self.truth.sd / s,
        };
        out.square = simpson(-9.5, 9.5, 400, |x| normal(x) * out.residual(x).powi(2));
        let wide = out.reach.max(9.5);
        out.variation = 0.5 * simpson(-wide, wide, 2000, |x| (out.density(x) - normal(x)).abs());
        Ok(out)
    }
}

impl Answer<'_> {
    /// s̃(x).
    pub(crate) fn residual(&self, x: f64) -> f64 {
        self.s * self.case.line.potential(self.m + self.s * x)[1] - x
    }

    /// D(x).
    fn log_ratio(&self, x: f64) -> f64 {
        self.case.line.potential(self.m + self.s * x)[0] - 0.5 * x * x - 0.5 * (2.0 * PI).ln() - self.s.ln()
    }

    /// The posterior's density in x.
    fn density(&self, x: f64) -> f64 {
        (-self.case.line.potential(self.m + self.s * x)[0] - self.case.truth.log_evidence + self.s.ln()).exp()
    }

    /// KL(q‖p).
    pub(crate) fn kl(&self) -> f64 {
        self.f + self.case.truth.log_evidence
    }

    /// E_q G, G = U + U* − x²: U* at the zero of U' − x, which is no farther from x than |s̃|/H_lo.
    pub(crate) fn transport(&self) -> f64 {
        simpson(-9.5, 9.5, 200, |x| {
            let far = self.residual(x).abs() / self.low;
            let (mut low, mut high) = (x - far, x + far);
            for _ in 0..60 {
                let y = 0.5 * (low + high);
                if self.residual(y) + y > x { high = y } else { low = y }
            }
            let y = 0.5 * (low + high);
            normal(x) * (self.log_ratio(x) - self.log_ratio(y) - 0.5 * (x - y).powi(2))
        })
    }

    /// P(x > c) under the posterior and under q.
    pub(crate) fn masses_above(&self, c: f64) -> [f64; 2] {
        let end = self.reach.max(9.5).max(c + 1.0);
        [simpson(c, end, 2000, |x| self.density(x)), 0.5 * libm::erfc(c / SQRT_2)]
    }

    /// |E_p x|, the error of the mean in units of s.
    pub(crate) fn mean_error(&self) -> f64 {
        ((self.case.truth.mean - self.m) / self.s).abs()
    }

    /// |sd_p x − 1|.
    pub(crate) fn sd_error(&self) -> f64 {
        (self.case.truth.sd / self.s - 1.0).abs()
    }

    /// The ball of radius R, if its hypotheses hold.
    pub(crate) fn cut(&self, radius: f64) -> Result<Option<Cut>> {
        let Some(local) = self.case.target.local_curvature(&self.q)? else { return Ok(None) };
        let scale = self.s * self.s;
        let steps = 40;
        let radii: Vec<f64> = (0..=steps).map(|i| radius * f64::from(i) / f64::from(steps)).collect();
        let least: Vec<f64> = local.lower(&radii)?.iter().map(|h| scale * h[(0, 0)]).collect();
        let low = least[least.len() - 1];
        let Some(outside) = Outside::new(1, &radii, &least, self.residual(0.0).abs()) else {
            return Ok(None);
        };
        let alpha = libm::erfc(radius / SQRT_2);
        let alpha2 = alpha + 2.0 * radius * normal(radius);
        let inside =
            |g: &dyn Fn(f64) -> f64| simpson(-radius, radius, 200, |x| normal(x) * g(x)) / (1.0 - alpha);
        let held = simpson(-radius, radius, 200, |x| self.density(x));
        let beyond = [0, 1, 2].map(|j| {
            let g = |x: f64| x.abs().powi(j) * self.density(x);
            if self.reach > radius {
                (simpson(radius, self.reach, 400, g) + simpson(-self.reach, -radius, 400, g)) / held
            } else {
                0.0
            }
        });
        let ball = Ball { fisher: inside(&|x| self.residual(x).powi(2)) / low, outside, alpha, alpha2 };
        let excess = match (self.high, self.case.target.expectations()) {
            (Some(high), _) => ball.excess_from_upper_curvature(self.log_ratio(0.0) - self.f, high, 1),
            (None, Some(expectations)) => match expectations.tail_integral(&self.q, radius)? {
                Some(tail) => tail + ball.weigh_outside(-self.f),
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        Ok(Some(Cut { ball, low, beyond, value: inside(&|x| self.log_ratio(x)), excess }))
    }
}

/// What [sharp-kl] and [sharp-moments] state about an answer for one choice of K and P, by quadrature.
pub(crate) struct Mass {
    /// log ∫p̃ and its bound.
    pub(crate) kl: [f64; 2],
    /// E_q min(ϖ, K), and ∫p̃, its upper bound.
    pub(crate) core: [f64; 2],
    /// ∫|x|^j(p̃ − Kq)₊ and its bound, j = 1, 2.
    pub(crate) moments: [[f64; 2]; 2],
}

impl Answer<'_> {
    /// U'*(y) for U' = ½x² + D − f, by bisection of its slope.
    fn conjugate(&self, y: f64) -> f64 {
        let slope = |x: f64| self.residual(x) + x;
        let (mut low, mut high) = (-1.0, 1.0);
        while slope(low) > y && low > -1e6 {
            low *= 2.0;
        }
        while slope(high) < y && high < 1e6 {
            high *= 2.0;
        }
        for _ in 0..60 {
            let x = 0.5 * (low + high);
            if slope(x) > y { high = x } else { low = x }
        }
        let x = 0.5 * (low + high);
        x * y - (0.5 * x * x + self.log_ratio(x) - self.f)
    }

    /// The bounds with K = `cap`, P = `precision`, and h as high as p̃ near its middle.
    pub(crate) fn mass(&self, cap: f64, precision: f64) -> Mass {
        let height = (-10..=10)
            .map(|k| 0.25 * f64::from(k))
            .map(|e| self.conjugate(e * precision.sqrt()) - 0.5 * e * e)
            .fold(f64::MIN, f64::max);
        let eta = simpson(-9.0, 9.0, 300, |e| {
            let above = self.conjugate(e * precision.sqrt()) - 0.5 * e * e;
            normal(e) * (1.0 - (height - above).exp()).max(0.0)
        });
        let p = |x: f64| normal(x) * (self.f - self.log_ratio(x)).exp();
        let h = |x: f64| (height - 0.5 * precision * x * x).exp() / (2.0 * PI).sqrt();
        let wide = self.reach.max(12.0 / precision.sqrt());
        let whole = |g: &dyn Fn(f64) -> f64| simpson(-wide, wide, 2000, g);
        let mass = height.exp() / precision.sqrt();
        let inner = whole(&|x| (p(x).min(h(x)) - cap * normal(x)).max(0.0)) / mass;
        let core = whole(&|x| p(x).min(cap * normal(x)));
        let rare = santalo::rare_moments(inner);
        let beyond = [santalo::first_beyond(mass, eta), santalo::second_beyond(mass, eta)];
        let moment = |j: i32, k: usize| {
            let rest = whole(&|x| x.abs().powi(j) * (p(x) - cap * normal(x)).max(0.0));
            [rest, precision.powf(-0.5 * f64::from(j)) * (mass * rare[k] + beyond[k])]
        };
        Mass {
            kl: [self.kl(), (core + mass * inner + santalo::mass_beyond(mass, eta)).ln()],
            core: [core, self.kl().exp()],
            moments: [moment(1, 0), moment(2, 1)],
        }
    }
}

/// What [psi-envelope], [psi-kl] and [psi-moments] say of an answer, by quadrature.
pub(crate) struct Excess {
    /// e^{−D'} and e^{D'} beside their envelopes, at points of the ball.
    pub(crate) points: Vec<[f64; 2]>,
    /// ∫p̃ from below, itself, and from above.
    pub(crate) whole: [f64; 3],
    /// |E_p x|·∫p̃ and its bound; E_q[ψ|x|ʲ; |x| > R] and theirs, j = 1, 2.
    pub(crate) moments: [[f64; 2]; 3],
    /// |D' − P| and its bound at points of the ball, P the cubic of [measured-events].
    pub(crate) bands: Vec<[f64; 2]>,
    /// What ∫(g − γ)p̃ differs by from what the ball shows of it, and its bound, for signs and probabilities.
    pub(crate) events: Vec<[f64; 2]>,
}

/// What [measured-events] is asked on the line.
const ASKED: [Bounded; 5] = [
    Bounded { law: Law::Step, at: 0.0, spread: 1.0 },
    Bounded { law: Law::Step, at: 1.0, spread: 1.0 },
    Bounded { law: Law::Step, at: -2.0, spread: 1.0 },
    Bounded { law: Law::Logistic, at: 0.5, spread: 2.0 },
    Bounded { law: Law::Probit, at: -0.4, spread: 0.7 },
];

impl Answer<'_> {
    /// By the ball of radius R; nothing where the model knows no fourth derivatives, or no slope is positive there.
    pub(crate) fn excess(&self, radius: f64) -> Result<Option<Excess>> {
        let Some(local) = self.case.target.local_curvature(&self.q)? else { return Ok(None) };
        let radii: Vec<f64> = (1..=20).map(|k| 0.5 * f64::from(k)).collect();
        let Some(taylor) = local.taylor(&radii)? else { return Ok(None) };
        let (g, tau) = (self.residual(0.0), taylor.trace[0]);
        let sign = if tau < 0.0 { -1.0 } else { 1.0 };
        let [least, most] = taylor.curvature;
        let drop = |x: f64| self.log_ratio(x) - self.f;
        let envelope = Envelope {
            dim: 1,
            centre: [drop(0.0) - 1e-9, drop(0.0) + 1e-9],
            gradient: [g * sign, 1e-9],
            bias: (g + 0.5 * tau).abs() + 1e-9,
            trace: tau.abs(),
            harmonic: taylor.harmonic,
            bend: [(1.0 - least).max(0.0), (most - 1.0).max(0.0)],
            rings: taylor.rings.clone(),
        };
        let far = match (taylor.rates, self.high) {
            (Some([rate, reach, trace]), _) => Far::Rates { rate, reach, trace },
            (None, Some(high)) => Far::Curved(high),
            (None, None) => return Ok(None),
        };
        let Some(outside) = envelope::Outside::new(&envelope, far, radius) else { return Ok(None) };
        let points = (-40..=40).flat_map(|k| {
            let x = radius * f64::from(k) / 40.0;
            let [a, b] = envelope.bounds([x.abs(); 2], [x * sign; 2]);
            [[(-drop(x)).exp(), a.exp()], [drop(x).exp(), b.exp()]]
        });
        let inside =
            |g: &dyn Fn(f64) -> f64| simpson(-radius, radius, 1000, |x| normal(x) * excess(drop(x)) * g(x));
        let end = self.reach.max(radius + 8.0);
        let beyond = |j: i32| {
            let g = |x: f64| normal(x) * excess(drop(x)) * x.abs().powi(j);
            simpson(radius, end, 1000, g) + simpson(-end, -radius, 1000, g)
        };
        let [low, high] = outside.whole([inside(&|_| 1.0); 2], 0.0);
        let slope = simpson(-11.0, 11.0, 1000, |x| normal(x) * self.residual(x));
        let first = (inside(&|x| x) - slope).abs() + outside.rest(1);
        let mean = self.mean_error() * self.kl().exp();
        // P on the line, whose third derivative is its own trace.
        let cubic = |x: f64| tau * (x * x * x / 6.0 - 0.5 * x);
        let bands = (-40..=40).map(|k| {
            let x = radius * f64::from(k) / 40.0;
            [(drop(x) - cubic(x)).abs(), envelope.band(x.abs(), taylor.cubic_error)]
        });
        let tails = outside.tails();
        let either = outside.mass[0] + outside.alpha + tau.abs() * (tails[3] / 6.0 + 0.5 * tails[1]);
        let events = ASKED.map(|g| {
            let [mean, third] = g.moments();
            let jump = -g.at / g.spread;
            // Each piece has its own side of the jump.
            let pieces = |low: f64, high: f64, f: &dyn Fn(f64) -> f64| {
                let at = |x: f64, side: f64| f(x) * (g.value(x + side) - mean);
                simpson(low, jump, 800, |x| at(x, if x < jump { 0.0 } else { -1e-9 }))
                    + simpson(jump, high, 800, |x| at(x, if x > jump { 0.0 } else { 1e-9 }))
            };
            let ratio = |x: f64| (-drop(x)).exp();
            let truth = pieces(-end, end, &|x| normal(x) * ratio(x));
            let shown = pieces(-radius, radius, &|x| normal(x) * (ratio(x) - 1.0 + cubic(x)));
            [(truth - shown + tau * third / 6.0).abs(), either]
        });
        Ok(Some(Excess {
            bands: bands.collect(),
            events: events.to_vec(),
            points: points.collect(),
            whole: [low, self.kl().exp(), high],
            moments: [[mean, first], [beyond(1), outside.rest(1)], [beyond(2), outside.rest(2)]],
        }))
    }
}
