//! How far log q/p may be from its mean around an answer, at every point: what no draw shows, proved [psi-envelope].
//!
//! Whitened by the answer, q = N(0, I), U(x) = V(m+Cx), r = ‖x‖, and D' = U − ½r² + const is log q/p up to a constant. Taylor's
//! formula at 0 for a sum of functions of linear predictors, with its cubic T split into the part that its trace τ makes and a
//! harmonic rest T₀, gives for u = τ·x/‖τ‖
//! ```text
//! D'(x) = c₀ + (g+½τ)·x + κ(r)u + ½xᵀEx + T₀[x,x,x]/6 + ζ(x),   κ(r) = ‖τ‖(r²/(2(d+2)) − ½),   −Q⁻(r)r⁴/24 ≤ ζ ≤ Q⁺(r)r⁴/24
//! ```
//! so that a(r, u) ≥ −D' and b(r, u) ≥ D' depend on two numbers of x: the last three terms are bounded on a sphere together, for where one of
//! them is large another is not. Far out the least and the largest mean curvature do better.

use crate::base::special::chi_square::chi_square_tail;
use crate::base::special::ln_gamma;

/// What every sum of a few terms is raised by, as a part of their sizes.
const LOST: f64 = 1e-11;
/// Chords that are tried for a slope.
const CHORDS: u32 = 20;

/// e^{−t} − 1 + t ≥ 0, good to a few units in the last place. E_q e^{−D'} = 1 + E_q excess(D') where E_q D' = 0 [psi-kl].
pub fn excess(t: f64) -> f64 {
    if t.is_infinite() {
        return f64::INFINITY;
    }
    if t.abs() >= 0.25 {
        return (-t).exp_m1() + t;
    }
    // Σ_{k≥2} (−t)^k/k!, the smallest terms first.
    (3..=14).rev().fold(1.0, |rest, k| 1.0 - t / f64::from(k) * rest) * 0.5 * t * t
}

/// What is known of D' on the ball of some radius.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ring {
    /// r.
    pub radius: f64,
    /// Q⁻ and Q⁺ there.
    pub quartic: [f64; 2],
    /// Bounds of ∓½ωᵀEω + r|T₀(ω, ω, ω)|/6 + r²ζ_∓(ω) for every unit ω, with ζ_∓(ω)r⁴ ≥ ∓ζ on the whole ball.
    pub joint: [f64; 2],
    /// The least eigenvalue λ with U(x) ≥ U(0) + ∇U(0)·x + ½λ‖x‖², and the largest one with ≤, for ‖x‖ ≤ r.
    pub curvature: [f64; 2],
}

/// What bounds D' from both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Envelope {
    /// d.
    pub dim: usize,
    /// D'(0), from below and from above.
    pub centre: [f64; 2],
    /// ∇U(0): its part along τ, and the length of the rest.
    pub gradient: [f64; 2],
    /// ‖∇U(0) + ½τ‖.
    pub bias: f64,
    /// ‖τ‖.
    pub trace: f64,
    /// |T₀(x, x, x)| ≤ this times ‖x‖³.
    pub harmonic: f64,
    /// The largest eigenvalue of I − ∇²U(0), and that of ∇²U(0) − I.
    pub bend: [f64; 2],
    /// By increasing radii.
    pub rings: Vec<Ring>,
}

/// One bound of ∓D' on a sphere: `level` + `tilt`·u/r.
#[derive(Clone, Copy)]
struct Bound {
    level: f64,
    tilt: f64,
}

impl Envelope {
    /// The largest radius at which anything is known.
    pub fn reach(&self) -> f64 {
        self.rings.last().map_or(0.0, |ring| ring.radius)
    }

    /// The ring that covers a radius; what is known there holds for every smaller one.
    fn ring(&self, radius: f64) -> Option<&Ring> {
        self.rings.get(self.rings.partition_point(|ring| ring.radius < radius))
    }

    /// Whether every number is.
    pub fn is_finite(&self) -> bool {
        let numbers = [self.bias, self.trace, self.harmonic, self.gradient[0], self.gradient[1]];
        let mut all = numbers.into_iter().chain(self.centre).chain(self.bend);
        all.all(f64::is_finite) && self.rings.iter().any(|ring| ring.radius > 0.0)
    }

    /// ‖∇²U‖ is at most this up to a radius, and a little beyond.
    pub fn steepest(&self, radius: f64) -> Option<f64> {
        self.ring(radius * (1.0 + 1e-7)).map(|ring| ring.curvature[1]).filter(|bend| bend.is_finite())
    }

    /// κ(r).
    fn kappa(&self, r: f64) -> f64 {
        self.trace * (r * r / (2.0 * (self.dim as f64 + 2.0)) - 0.5)
    }

    /// The terms of a (`side` 0) or b (1) other than κu, at most, for r in an interval below the ring's radius R. With e, c, z for the three
    /// terms of [`Ring::joint`] on a unit vector, s = r/R ≤ 1 and z ≥ 0,
    /// ```text
    /// e + rc + r²z ≤ s(e + Rc + R²z) + (1−s)e ≤ s·joint + (1−s)·½bend
    /// ```
    fn growth(&self, [low, high]: [f64; 2], side: usize, ring: &Ring) -> f64 {
        let (flat, joint) = (0.5 * self.bend[side], ring.joint[side]);
        if !joint.is_finite() {
            return f64::INFINITY;
        }
        let square = |r: f64| r * r * (flat + (joint - flat) * (r / ring.radius));
        // A cubic in r turns once beside 0.
        let turn = -2.0 * flat * ring.radius / (3.0 * (joint - flat));
        let inside = if low < turn && turn < high { square(turn) } else { f64::NEG_INFINITY };
        high * self.bias + square(low).max(square(high)).max(inside)
    }

    /// a and b, where r and u lie in two intervals. Infinite beyond what is known.
    pub fn bounds(&self, r: [f64; 2], u: [f64; 2]) -> [f64; 2] {
        let Some(ring) = self.ring(r[1]) else { return [f64::INFINITY; 2] };
        let [low, high] = r;
        let kappas = [self.kappa(low), self.kappa(high)];
        let products = [kappas[0] * u[0], kappas[0] * u[1], kappas[1] * u[0], kappas[1] * u[1]];
        let slopes = u.map(|u| self.gradient[0] * u);
        let largest =
            |values: &[f64], sign: f64| values.iter().fold(f64::NEG_INFINITY, |m, x| m.max(sign * x));
        let side = |side: usize| {
            let (sign, centre) = if side == 0 { (-1.0, -self.centre[0]) } else { (1.0, self.centre[1]) };
            let by_terms = largest(&products, sign) + self.growth(r, side, ring);
            let bent = sign * (ring.curvature[side] - 1.0);
            let square = if bent >= 0.0 { high * high } else { low * low };
            let by_curvature = largest(&slopes, sign) + self.gradient[1] * high + 0.5 * bent * square;
            // The terms may cancel, so their sizes count.
            let bent = high * high * (1.0 + self.bend[side].abs() + ring.joint[side].abs());
            let sizes = self.centre[0].abs()
                + self.centre[1].abs()
                + high * (self.bias + self.trace * (1.0 + high * high))
                + if by_terms < by_curvature { bent } else { high * high + by_curvature.abs() };
            centre + by_terms.min(by_curvature) + LOST * (1e-3 + sizes)
        };
        [side(0), side(1)]
    }

    /// |D' − P| is at most this where ‖x‖ ≤ r, P = T\[x,x,x\]/6 − ½τ·x for a T that is within `error` of ∇³U(0), its trace too
    /// [measured-events].
    pub fn band(&self, r: f64, error: f64) -> f64 {
        let Some(ring) = self.ring(r) else { return f64::INFINITY };
        let [below, above] = ring.quartic;
        let quartic = error / 6.0 + r * below.max(above) / 24.0;
        let rest =
            self.bias + 0.5 * error + r * (0.5 * self.bend[0].max(self.bend[1]).max(0.0) + r * quartic);
        let centre = self.centre[1].max(-self.centre[0]).max(0.0);
        (centre + r * rest) * (1.0 + LOST) + LOST * (1e-3 + r * self.trace * (1.0 + r * r) + r * r)
    }

    /// |P| is at most this where r and |u| are at most so large: P = κ(r)u + T₀\[x,x,x\]/6, and the trace of its T is within `error` of τ.
    pub fn cubic(&self, [low, high]: [f64; 2], u: f64, error: f64) -> f64 {
        let kappa = self.kappa(low).abs().max(self.kappa(high).abs());
        let rest = self.harmonic * high.powi(3) / 6.0 + error * high * (1.0 + high * high);
        (kappa * u + rest) * (1.0 + LOST) + LOST * (1.0 + high.powi(3))
    }

    /// The bounds of −D' (`side` 0) or D' (1) on the sphere of radius r, without D'(0).
    fn on_sphere(&self, r: f64, side: usize) -> Option<[Bound; 2]> {
        let ring = self.ring(r)?;
        let sign = if side == 0 { -1.0 } else { 1.0 };
        let by_terms = Bound { level: self.growth([r; 2], side, ring), tilt: sign * self.kappa(r) * r };
        let bent = sign * (ring.curvature[side] - 1.0);
        let level = self.gradient[1] * r + 0.5 * bent * r * r;
        let by_curvature = Bound { level, tilt: sign * self.gradient[0] * r };
        let raised = |b: Bound| {
            let joint = if ring.joint[side].is_finite() { ring.joint[side].abs() } else { 0.0 };
            let sizes = r * r * (1.0 + bent.abs() + joint + self.bend[side].abs())
                + b.level.abs()
                + b.tilt.abs()
                + self.trace * r * (1.0 + r * r);
            Bound { level: b.level + LOST * (1e-3 + sizes), ..b }
        };
        Some([raised(by_terms), raised(by_curvature)])
    }

    /// s ≤ ω·∇U(Rω) for every unit ω. V is convex, so the slope at R is at least that of a chord from a smaller radius, whose ends
    /// the envelope bounds: (½R² − ½r² + D'(Rω) − D'(rω))/(R − r).
    pub fn slope(&self, radius: f64) -> Option<f64> {
        let ends = self.on_sphere(radius, 0)?;
        let spread = self.centre[1] - self.centre[0];
        let mut best = f64::NEG_INFINITY;
        for k in 0..CHORDS {
            let r = 0.95 * radius * f64::from(k) / f64::from(CHORDS - 1);
            for begin in self.on_sphere(r, 1)? {
                for end in ends {
                    let drop = end.level + begin.level + (end.tilt + begin.tilt).abs() + spread;
                    let slope = (0.5 * (radius - r) * (radius + r) - drop) / (radius - r);
                    best = best.max(slope - LOST * (radius + drop.abs() / (radius - r)));
                }
            }
        }
        Some(best)
    }

    /// O_j ≥ E_q[e^{−D'}‖x‖ʲ; ‖x‖ > R] for j = 0, 1, 2:
    /// ```text
    /// O_j = e^{ā}(2π)^{−d/2}e^{−R²/2}|S^{d−1}| ∫_R^∞ e^{−s(r−R)}r^{d−1+j}dr,   e^{ā} ≥ the mean of e^{−D'} over the sphere of radius R
    /// ```
    /// A coordinate of the sphere is sub-Gaussian of variance R²/d. Nothing where no slope is known to be positive.
    pub fn outside(&self, radius: f64) -> Option<[f64; 3]> {
        let (d, slope) = (self.dim as f64, self.slope(radius)?);
        if slope.is_nan() || slope <= 0.0 {
            return None;
        }
        let mean = |b: Bound| b.level + (b.tilt * b.tilt / (2.0 * d)).min(b.tilt.abs());
        let [first, second] = self.on_sphere(radius, 0)?.map(mean);
        let height = first.min(second) - self.centre[0];
        // log of (2π)^{−d/2}|S^{d−1}|.
        let sphere = (1.0 - 0.5 * d) * std::f64::consts::LN_2 - ln_gamma(0.5 * d);
        let lead = height - 0.5 * radius * radius + sphere;
        let lost = LOST * (1.0 + height.abs() + radius * radius + sphere.abs() + d);
        // ∫ by parts: N_k = (R^k + kN_{k−1})/s, as logarithms.
        let (log_radius, log_slope) = (radius.ln(), slope.ln());
        let mut log = -log_slope;
        let mut out = [f64::INFINITY; 3];
        for k in 0..self.dim + 2 {
            if k > 0 {
                let (x, y) = (k as f64 * log_radius, (k as f64).ln() + log);
                log = x.max(y) + (-(x - y).abs()).exp().ln_1p() - log_slope;
            }
            if k + 1 >= self.dim {
                out[k + 1 - self.dim] = (lead + log + lost + LOST * log.abs()).exp();
            }
        }
        Some(out)
    }
}

/// E(rᵏ; r > R) for the radius r of a standard normal vector and k = 0 … 8, rounded up.
pub fn tail_moments(dim: usize, radius: f64) -> [f64; 9] {
    let half = 0.5 * dim as f64;
    std::array::from_fn(|k| {
        let log = 0.5 * k as f64 * std::f64::consts::LN_2 + ln_gamma(half + 0.5 * k as f64) - ln_gamma(half);
        let tail = if radius > 0.0 { chi_square_tail(dim + k, radius * radius) } else { 1.0 };
        log.exp() * tail * (1.0 + 1e-10)
    })
}

/// How D' grows where no envelope reaches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Far {
    /// tr ∇²U is at most this.
    Curved(f64),
    /// Rates e^{a·x} of mean `rate` under q in all, ‖a‖ ≤ `reach` for each of them, beside a quadratic whose Hessian has this trace.
    Rates {
        /// Σ_n E_q of the rates.
        rate: f64,
        /// The largest ‖a‖.
        reach: f64,
        /// The trace.
        trace: f64,
    },
}

/// What is beyond the ball of radius R.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outside {
    /// R.
    pub radius: f64,
    /// O_j.
    pub mass: [f64; 3],
    /// α = P(r > R), rounded up.
    pub alpha: f64,
    /// E_q[(D' − D'(0))rʲ; r > R] is at most these.
    growth: [f64; 3],
    tails: [f64; 9],
    centre: [f64; 2],
}

impl Outside {
    /// Nothing where the envelope bounds no tail there.
    pub fn new(envelope: &Envelope, far: Far, radius: f64) -> Option<Self> {
        let (mass, d) = (envelope.outside(radius)?, envelope.dim as f64);
        let tails = tail_moments(envelope.dim, radius);
        // The linear term is odd, and E[xxᵀrʲ; r > R] is a multiple of I.
        let curved = |trace: f64, j: usize| 0.5 * (trace - d).max(0.0) / d * tails[j + 2];
        let growth = std::array::from_fn(|j| match far {
            Far::Curved(trace) => curved(trace, j),
            Far::Rates { rate, reach, trace } => {
                // Weighed by e^{a·x} the law of x is moved by a: r ≤ r' + ‖a‖ for the r' of a standard normal vector.
                let [zero, one, two, ..] = tail_moments(envelope.dim, radius - reach);
                let moved = [zero, one + reach * zero, two + reach * (2.0 * one + reach * zero)];
                rate * moved[j] + curved(trace, j)
            }
        });
        Some(Self { radius, mass, alpha: tails[0].min(1.0), growth, tails, centre: envelope.centre })
    }

    /// Bounds of E_q e^{−D'} for bounds of E_q[excess(D'); r ≤ R], where |E_q D'| ≤ `off` [psi-kl]:
    /// ```text
    /// E_q e^{−D'} = E_q[excess(D'); r ≤ R] + (1−α) − E_q D' + E_q[D'; r > R] + E_q[e^{−D'}; r > R]
    /// ```
    pub fn whole(&self, [low, high]: [f64; 2], off: f64) -> [f64; 2] {
        let up = self.centre[1].max(0.0) * self.alpha + self.growth[0];
        // U ≥ U(0) + ∇U(0)·x.
        let down = self.centre[0].min(0.0) * self.alpha - 0.5 * self.tails[2];
        let out = [
            low + (1.0 - self.alpha) + down - off,
            high + (1.0 - self.alpha * (1.0 - 1e-9)) + up + self.mass[0] + off,
        ];
        [out[0] - 1e-14 * (1.0 + low), out[1] + 1e-14 * (1.0 + high)]
    }

    /// E(rᵏ; r > R), k = 0 … 8.
    pub fn tails(&self) -> [f64; 9] {
        self.tails
    }

    /// A bound of E_q[excess(D')rʲ; r > R], j ≤ 2.
    pub fn rest(&self, j: usize) -> f64 {
        (self.mass[j] + self.centre[1].max(0.0) * self.tails[j] + self.growth[j]) * (1.0 + 1e-12)
    }
}

#[cfg(test)]
pub(crate) mod tests;
