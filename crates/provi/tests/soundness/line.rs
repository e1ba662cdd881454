//! One answer to one problem on the line, with every number of its certificate by quadrature instead of draws: what is
//! left is the theorem, and a wrong constant in it has nowhere to hide.

use super::problem::Problem;
use super::truth::Truth;
use crate::common::{dot, inverse, moments, objective};
use provi::target::LocalCurvature;
use provi::theory::certificate::{self as theory, Ball, Outside};
use provi::{Gaussian, Target, Triangular};
use std::f64::consts::{PI, SQRT_2};

/// A constant changed on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plant {
    /// Nothing is wrong.
    Nothing,
    /// ¼‖G‖² for ½‖G‖².
    HalfGap,
    /// ¼F for ½F.
    HalfFisher,
    /// H_hi for H_lo in F.
    UpperCurvature,
    /// ½E_q G for E_q G.
    HalfConjugate,
    /// U* at a point on the way to its maximum, as if it were the maximum.
    NoResidual,
    /// H_hi for H_lo in what U* may still gain.
    UpperResidual,
    /// √KL for √(2KL) in the moments.
    HalfTransport,
    /// log p(x) ≤ −f.
    EvidenceWithoutKl,
    /// f without the constant of the entropy.
    EntropyConstant,
    /// T_0 = 0.
    NoOutsideMass,
    /// T_1 = 0.
    NoOutsideMean,
    /// T_2 = 0.
    NoOutsideSquare,
    /// g_0 = 0 in the slope.
    NoGradient,
    /// The integral of h with left endpoints.
    LeftEndpoints,
    /// The upper curvature on the ball for H_R.
    LocalUpperCurvature,
    /// ¼F_B for ½F_B.
    LocalHalfFisher,
    /// K_B claimed for KL(q‖p).
    BallForWhole,
    /// J − αf dropped.
    NoTailIntegral,
    /// α for α₂ in J.
    TailWithoutTwo,
    /// The ball's upper curvature in J.
    TailWithLocalCurvature,
    /// α for the noncentral tails of a Poisson J.
    CentralTails,
    /// TV ≤ TV(q_B, p).
    VariationWithoutAlpha,
    /// E_{q_B}D for E_{q_B}D − log(1−α).
    EvidenceWithoutAlpha,
    /// β = 1.
    NoBeta,
    /// √(1+T_0) dropped from the lower bound of the deviation.
    NoOutsideInDeviation,
}

impl Plant {
    pub(crate) const EXPOSED: [Self; 24] = [
        Self::HalfGap,
        Self::HalfFisher,
        Self::UpperCurvature,
        Self::HalfConjugate,
        Self::NoResidual,
        Self::UpperResidual,
        Self::HalfTransport,
        Self::EvidenceWithoutKl,
        Self::EntropyConstant,
        Self::NoOutsideMass,
        Self::NoOutsideMean,
        Self::NoOutsideSquare,
        Self::NoGradient,
        Self::LeftEndpoints,
        Self::LocalUpperCurvature,
        Self::LocalHalfFisher,
        Self::BallForWhole,
        Self::NoTailIntegral,
        Self::TailWithoutTwo,
        Self::TailWithLocalCurvature,
        Self::CentralTails,
        Self::VariationWithoutAlpha,
        Self::EvidenceWithoutAlpha,
        Self::NoBeta,
    ];
}

/// q on the line: its global numbers.
pub(crate) struct Line<'a> {
    problem: &'a Problem,
    local: Box<dyn LocalCurvature + 'a>,
    mean: f64,
    deviation: f64,
    lower: f64,
    upper: Option<f64>,
    f: f64,
    gap: f64,
    gradient: f64,
    log_evidence: f64,
    posterior: [f64; 2],
    fisher: f64,
    /// E_q G, and the same with a plain step on the way to U*, without what it may still gain, and what that is.
    transport: [f64; 3],
    variation: f64,
    center: f64,
    slope: f64,
    rates: Vec<(f64, f64, f64)>,
    reach: f64,
}

/// A ball on the line.
pub(crate) struct Cut {
    radius: f64,
    /// E_{q_B}s̃² and E_{q_B}D.
    square: f64,
    value: f64,
    /// ∫_{Bᶜ}|x|^j dp / p(B).
    beyond: [f64; 3],
    high: f64,
    /// h on a coarse and on a fine grid of radii.
    grids: [Vec<f64>; 2],
}

/// ∫g over [a, b] by Simpson's rule.
fn simpson(a: f64, b: f64, n: usize, mut g: impl FnMut(f64) -> f64) -> f64 {
    let h = (b - a) / (2 * n) as f64;
    let weight = |i: usize| if i == 0 || i == 2 * n { 1.0 } else { 2.0 + 2.0 * (i % 2) as f64 };
    (0..=2 * n).map(|i| weight(i) * g(a + h * i as f64)).sum::<f64>() * h / 3.0
}

fn normal(x: f64) -> f64 {
    (-0.5 * x * x).exp() / (2.0 * PI).sqrt()
}

impl<'a> Line<'a> {
    pub(crate) fn new(problem: &'a Problem, truth: &Truth, f_star: f64, q: &Gaussian<Triangular>) -> Self {
        let target = &problem.target;
        let curvature = target.curvature().unwrap().unwrap();
        let (mean, deviation) = (q.mean()[0], q.factor()[0]);
        let scale = deviation * deviation;
        let upper = curvature.upper().map(|h| scale * h.to_matrix(1)[(0, 0)]);
        let at = moments(target, q);
        let f = objective(target, q);
        let g = [at.gradient[0], at.hessian[(0, 0)] * deviation - inverse(&q.factor_matrix())[(0, 0)]];
        let lower = scale * curvature.lower().to_matrix(1)[(0, 0)];
        let block = &problem.blocks[0];
        let turn = problem.rotation[(0, 0)];
        let rates = (0..block.rows.len())
            .map(|n| {
                let a = turn * block.rows[n][0];
                (block.weights[n], a * mean + block.offsets[n], a * deviation)
            })
            .collect();
        let posterior = [(truth.mean[0] - mean) / deviation, truth.covariance[(0, 0)].sqrt() / deviation];
        let reach = posterior[0].abs() + 12.0 * posterior[1];
        let mut out = Self {
            problem,
            local: target.local_curvature(q).unwrap().unwrap(),
            mean,
            deviation,
            lower,
            upper,
            f,
            gap: f - f_star,
            gradient: (dot(&g, &g) * scale / lower).sqrt(),
            log_evidence: truth.log_evidence,
            posterior,
            fisher: 0.0,
            transport: [0.0; 3],
            variation: 0.0,
            center: 0.0,
            slope: 0.0,
            rates,
            reach,
        };
        // f by the library's expectations is E_q D, summed here without them.
        let direct = simpson(-16.0, 16.0, 400, |x| normal(x) * out.log_ratio(x));
        assert!((direct - f).abs() < 1e-7 * (1.0 + f.abs()), "{}: f {f}, E_q D {direct}", problem.name);
        out.fisher = simpson(-9.0, 9.0, 200, |x| normal(x) * out.residual(x).powi(2));
        out.transport = [0, 1, 2].map(|i| simpson(-9.0, 9.0, 100, |x| normal(x) * out.conjugate(x)[i]));
        let wide = out.reach.max(9.0);
        out.variation = 0.5 * simpson(-wide, wide, 1500, |x| (out.density(x) - normal(x)).abs());
        out.center = out.log_ratio(0.0);
        out.slope = out.residual(0.0).abs();
        out
    }

    /// s̃ = U'(x) − x.
    fn residual(&self, x: f64) -> f64 {
        let seen = self.mean + self.deviation * x;
        let turn = self.problem.rotation[(0, 0)];
        turn * self.deviation * self.problem.blocks[0].potential(&[turn * seen]).1[0] - x
    }

    /// G(x) by bisection; at a point on the way, what is found of it and r².
    fn conjugate(&self, x: f64) -> [f64; 3] {
        let slope = |y: f64| self.residual(y) + y - x;
        // U' rises by at least H_lo: the zero is no farther than this.
        let far = self.residual(x).abs() / self.lower;
        let (mut low, mut high) = (x - far, x + far);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if slope(middle) > 0.0 { high = middle } else { low = middle }
        }
        let found = |y: f64| self.log_ratio(x) - self.log_ratio(y) - 0.5 * (x - y).powi(2);
        let way = x + 0.7 * (0.5 * (low + high) - x);
        [found(0.5 * (low + high)), found(way), slope(way).powi(2)]
    }

    /// D(x).
    fn log_ratio(&self, x: f64) -> f64 {
        let value = self.problem.value(&[self.mean + self.deviation * x]);
        value - 0.5 * x * x - 0.5 * (2.0 * PI).ln() - self.deviation.ln()
    }

    /// The posterior density in x.
    fn density(&self, x: f64) -> f64 {
        (-self.problem.value(&[self.mean + self.deviation * x]) - self.log_evidence + self.deviation.ln())
            .exp()
    }

    /// Claims without a ball, as (claim, bound, truth).
    pub(crate) fn global(&self, plant: Plant) -> Vec<(&'static str, f64, f64)> {
        let half = |wrong: Plant| if plant == wrong { 0.5 } else { 1.0 };
        let mut out = vec![("gap", half(Plant::HalfGap) * theory::gap(self.gradient, 0.0), self.gap)];
        let kl = self.f + self.log_evidence;
        let metric = match (plant, self.upper) {
            (Plant::UpperCurvature, Some(upper)) => upper,
            _ => self.lower,
        };
        let bound = theory::kl(half(Plant::HalfFisher) * self.fisher / metric);
        out.push(("KL", bound, kl));
        let [least, found, square] = self.transport;
        let gain = match (plant, self.upper) {
            (Plant::NoResidual, _) => 0.0,
            (Plant::UpperResidual, Some(upper)) => 0.5 * square / upper,
            _ => 0.5 * square / self.lower,
        };
        out.push(("KL by transport", half(Plant::HalfConjugate) * least, kl));
        out.push(("KL by transport, on the way", found + gain, kl));
        // Draw by draw, y is above its supremum; and y = x is log-Sobolev's.
        out.push(("E G on the way", found + gain, least));
        out.push(("E G", theory::kl(self.fisher / self.lower), least));
        out.push(("TV", theory::total_variation(bound), self.variation));
        let error = theory::moment_error((1.0 / self.lower).sqrt(), half(Plant::HalfTransport) * bound);
        out.push(("mean", error, self.posterior[0].abs()));
        out.push(("sd", error, (self.posterior[1] - 1.0).abs()));
        let lost = if plant == Plant::EntropyConstant { 0.5 * (1.0 + (2.0 * PI).ln()) } else { 0.0 };
        let added = if plant == Plant::EvidenceWithoutKl { 0.0 } else { bound };
        out.push(("evidence below", self.f + lost, -self.log_evidence));
        out.push(("evidence above", -(self.f + lost) + added, self.log_evidence));
        out
    }

    /// What is measured on the ball of radius R.
    pub(crate) fn cut(&self, radius: f64) -> Cut {
        let scale = self.deviation * self.deviation;
        let alpha = libm::erfc(radius / SQRT_2);
        let inside =
            |g: &dyn Fn(f64) -> f64| simpson(-radius, radius, 100, |x| normal(x) * g(x)) / (1.0 - alpha);
        let held = simpson(-radius, radius, 100, |x| self.density(x));
        let beyond = [0, 1, 2].map(|j| {
            let g = |x: f64| x.abs().powi(j) * self.density(x);
            let both = || simpson(radius, self.reach, 300, g) + simpson(-self.reach, -radius, 300, g);
            if self.reach > radius { both() / held } else { 0.0 }
        });
        let least = |steps: usize| {
            let radii: Vec<f64> = (0..=steps).map(|i| radius * i as f64 / steps as f64).collect();
            self.local.lower(&radii).unwrap().iter().map(|h| scale * h[(0, 0)]).collect()
        };
        Cut {
            radius,
            square: inside(&|x| self.residual(x).powi(2)),
            value: inside(&|x| self.log_ratio(x)),
            beyond,
            high: scale * self.local.bounds(&[radius]).unwrap()[0].1.as_ref().unwrap()[(0, 0)],
            grids: [least(4), least(60)],
        }
    }

    /// Claims on a ball, with one of its grids of radii.
    pub(crate) fn local(&self, cut: &Cut, grid: usize, plant: Plant) -> Vec<(&'static str, f64, f64)> {
        let (radius, high, mut least) = (cut.radius, cut.high, cut.grids[grid].clone());
        let coarse = least.len() - 1;
        let low = least[coarse];
        let radii: Vec<f64> = (0..=coarse).map(|i| radius * i as f64 / coarse as f64).collect();
        if plant == Plant::LeftEndpoints {
            least.rotate_right(1);
            least[0] = least[1];
        }
        let slope = if plant == Plant::NoGradient { 0.0 } else { self.slope };
        let Some(mut outside) = Outside::new(1, &radii, &least, slope) else { return Vec::new() };
        for (j, wrong) in
            [Plant::NoOutsideMass, Plant::NoOutsideMean, Plant::NoOutsideSquare].iter().enumerate()
        {
            if plant == *wrong {
                outside.moments[j] = 0.0;
            }
        }
        let alpha = libm::erfc(radius / SQRT_2);
        let alpha2 = alpha + 2.0 * radius * normal(radius);
        let (square, value) = (cut.square, cut.value);
        let metric = if plant == Plant::LocalUpperCurvature { high } else { low };
        let halved = if plant == Plant::LocalHalfFisher { 0.5 } else { 1.0 };
        let ball = Ball { fisher: halved * square / metric, outside, alpha, alpha2 };

        let mut out = Vec::new();
        // The mass of p outside, and its moments.
        for j in 0..3 {
            out.push(("outside", outside.moments[j], cut.beyond[j]));
        }
        let kl = self.f + self.log_evidence;
        let shift = if plant == Plant::EvidenceWithoutAlpha { 0.0 } else { (-alpha).ln_1p() };
        let kl_inside = value - (-alpha).ln_1p() + self.log_evidence;
        out.push(("KL of the ball", ball.kl(), kl_inside));
        out.push(("evidence below", value - shift, -self.log_evidence));
        out.push(("evidence above", -(value - shift) + ball.kl(), self.log_evidence));
        let excess = match self.upper {
            _ if plant == Plant::NoTailIntegral => 0.0,
            Some(upper) => {
                let upper = if plant == Plant::TailWithLocalCurvature { high } else { upper };
                let tail =
                    Ball { alpha2: if plant == Plant::TailWithoutTwo { alpha } else { alpha2 }, ..ball };
                tail.excess_from_upper_curvature(self.center - self.f, upper, 1)
            }
            None => self.poisson_tail(radius, alpha, plant) + ball.weigh_outside(-self.f),
        };
        let whole = if plant == Plant::BallForWhole { ball.kl() } else { ball.kl_of_whole(excess) };
        out.push(("KL", whole, kl));
        let variation = if plant == Plant::VariationWithoutAlpha {
            theory::total_variation(ball.kl())
        } else {
            ball.total_variation()
        };
        out.push(("TV", variation, self.variation));
        let metric = (1.0 / metric).sqrt();
        let [mean, mut sd] = ball.moments(1.0, metric);
        let omega = metric * ball.fisher.sqrt();
        if plant == Plant::NoBeta {
            sd = sd.min(1.0 - (1.0 - omega).max(0.0) / (1.0 + outside.moments[0]).sqrt());
        }
        out.push(("mean", mean, self.posterior[0].abs()));
        if plant == Plant::NoOutsideInDeviation {
            let beta = (1.0 - alpha2) / (1.0 - alpha);
            out.push(("sd below", -(beta.sqrt() - omega), -self.posterior[1]));
        }
        out.push(("sd", sd, (self.posterior[1] - 1.0).abs()));
        out
    }

    /// J for a Poisson likelihood: by the library, or with central tails; then checked against the integral itself.
    fn poisson_tail(&self, radius: f64, alpha: f64, plant: Plant) -> f64 {
        let q = Gaussian::new(&[self.mean], &[self.deviation]).unwrap();
        let found = self.problem.target.expectations().unwrap().tail_integral(&q, radius).unwrap().unwrap();
        if plant != Plant::CentralTails {
            return found;
        }
        let tail = |s: f64| 0.5 * (libm::erfc((radius - s) / SQRT_2) + libm::erfc((radius + s) / SQRT_2));
        let excess = |&(w, m, s): &(f64, f64, f64)| w * (m + 0.5 * s * s).exp() * (tail(s) - alpha);
        found - self.rates.iter().map(excess).sum::<f64>()
    }
}
