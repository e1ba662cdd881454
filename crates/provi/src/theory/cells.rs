//! Draws that see the rare places: the plane of (u, ρ) in cells, each drawn as often as its envelope asks for [psi-kl].
//!
//! What is measured is X = excess(D') − ½P², for a cubic P near D' whose square has a known mean: X is far smaller than excess(D') where q lives.
//!
//! u = x·τ/‖τ‖ is standard normal and ρ, the length of the rest of x, is χ with d − 1 degrees, independent of it. Both have
//! log-concave densities, so on an interval each is below its tangent at the middle, an exponential: that one is drawn, and the quotient, in
//! (0, 1], is a factor of the weight. No quantile and no mass of a cell has to be known.

use super::envelope::{Envelope, excess};
use crate::base::special::ln_gamma;

/// Widths of cells: of u where q lives, of u further out, of ρ.
const FINE: f64 = 0.3;
const COARSE: f64 = 0.8;
const ACROSS: f64 = 0.25;
/// Where q lives.
const CORE: f64 = 5.4;
/// Parts of the draws: as the envelope asks for, as q does, and as q does where a cubic is large.
const SHARES: [f64; 3] = [0.8, 0.1, 0.1];
/// Cells are chosen by so many bits, so that how often each is drawn is known exactly.
const BITS: u32 = 40;
/// What all that a weight is made of may be off by, relatively.
const LOST: f64 = 1e-10;

/// An interval with the tangent of a log density at its middle.
#[derive(Clone, Copy, Debug)]
struct Slice {
    low: f64,
    high: f64,
    middle: f64,
    /// The power of x in front of e^{−x²/2}.
    power: f64,
    slope: f64,
    /// ∫ of the tangent's exponential.
    mass: f64,
}

impl Slice {
    /// Of the density e^{norm}x^{power}e^{−x²/2}.
    fn new(low: f64, high: f64, power: f64, norm: f64) -> Self {
        let (middle, half) = (0.5 * (low + high), 0.5 * (high - low));
        let (log, pull) = if power > 0.0 { (power * middle.ln(), power / middle) } else { (0.0, 0.0) };
        let slope = pull - middle;
        let z = slope * half;
        let shape = if z.abs() < 1e-4 { 1.0 + z * z / 6.0 } else { z.sinh() / z };
        let mass = (norm + log - 0.5 * middle * middle).exp() * 2.0 * half * shape;
        Self { low, high, middle, power, slope, mass }
    }

    /// Where there is nothing to draw.
    const POINT: Self = Self { low: 0.0, high: 0.0, middle: 0.0, power: 0.0, slope: 0.0, mass: 1.0 };

    /// A draw of the tangent's law from a uniform, and the density over the tangent there.
    fn draw(&self, uniform: f64) -> (f64, f64) {
        let width = self.high - self.low;
        let z = self.slope * width;
        let part = if z.abs() < 1e-6 {
            uniform * (1.0 + 0.5 * z * (1.0 - uniform))
        } else {
            (uniform * z.exp_m1()).ln_1p() / z
        };
        let x = (self.low + width * part).clamp(self.low, self.high);
        let off = x - self.middle;
        let bent = if self.power > 0.0 {
            let by = off / self.middle;
            self.power * (by.ln_1p() - by)
        } else {
            0.0
        };
        (x, (bent - 0.5 * off * off).exp().min(1.0))
    }
}

/// One cell.
#[derive(Clone, Copy, Debug)]
struct Cell {
    along: usize,
    across: usize,
    /// a and b.
    bounds: [f64; 2],
    /// The mass of its two tangents.
    mass: f64,
    /// excess(D') − ½P² and its negative are at most these, P the cubic of [`Envelope::band`].
    apart: [f64; 2],
    /// The largest r, and one in the middle.
    radius: f64,
    middle: f64,
    /// How often it is drawn, of 2^40 times.
    count: u64,
}

impl Cell {
    /// |excess(D') − ½P²| is at most this.
    fn most(&self) -> f64 {
        self.apart[0].max(self.apart[1])
    }
}

/// Bounds of X = excess(D') − ½P² and of −X, where −a ≤ D' ≤ b, |P| ≤ p and |D' − P| ≤ β [psi-kl]. With χ(t) = excess(t) − ½t², which falls,
/// and e = D' − P,
/// ```text
///  X ≤ excess(D'),   X = χ(D') + e(D' − ½e) ≤ χ(−a) + β·max{a, b},    X = χ(D') + e(P + ½e) ≤ χ(−a) + β(p + ½β)
/// −X ≤ ½p²,         −X ≤ −χ(b) + β·max{a, b} + ½β²,                 −X ≤ −χ(b) + βp
/// ```
fn apart([a, b]: [f64; 2], cubic: f64, band: f64) -> [f64; 2] {
    let [at_a, at_b] = [excess(-a), excess(b)];
    let (size, least) = (a.max(b).max(0.0), if b > 0.0 { at_a.max(at_b) } else { at_a });
    // Of χ, whose terms cancel.
    let lost = |t: f64, excess: f64| 1e-11 * (excess + t * t);
    let [falls, rises] = [at_a - 0.5 * a * a + lost(a, at_a), 0.5 * b * b - at_b + lost(b, at_b)];
    let above = (falls + (band * size).min(band * (cubic + 0.5 * band))).min(least);
    let below = (rises + (band * (size + 0.5 * band)).min(band * cubic)).min(0.5 * cubic * cubic);
    // A NaN, where the band is infinite and the cubic zero, is no bound.
    let sure = |x: f64, other: f64| if x.is_nan() { other } else { x.max(0.0) } * (1.0 + 1e-12);
    [sure(above, least), sure(below, 0.5 * cubic * cubic)]
}

/// The ball of radius R in cells.
#[derive(Clone, Debug)]
pub struct Cells {
    radius: f64,
    along: Vec<Slice>,
    across: Vec<Slice>,
    cells: Vec<Cell>,
    /// Σ counts before each cell.
    before: Vec<u64>,
}

/// A draw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// x along τ, and the length of the rest.
    pub u: f64,
    /// ρ.
    pub rho: f64,
    /// q over the law that was drawn from, from below and from above; zero outside the ball.
    pub weight: [f64; 2],
    /// −D' and D' are at most these.
    pub bounds: [f64; 2],
    /// excess(D') − ½P² and its negative are at most these.
    pub apart: [f64; 2],
}

impl Place {
    /// Bounds of weight times excess(D') − ½P², for a D' and a P that are each within `off` of a number; nothing where they are beyond
    /// what holds of every point.
    pub fn value(&self, (d, off): (f64, f64), (cubic, cubic_off): (f64, f64)) -> Option<[f64; 2]> {
        let [low, high] = [d - off, d + off];
        if self.weight[1] <= 0.0 {
            return Some([0.0; 2]);
        }
        // A NaN is above everything.
        if !(-high <= self.bounds[0] && low <= self.bounds[1]) {
            return None;
        }
        // Convex, least at 0; and no more than the envelope allows.
        let (low, high) = (low.max(-self.bounds[0]), high.min(self.bounds[1]));
        let [one, two] = [low, high].map(excess);
        let least = if low <= 0.0 && high >= 0.0 { 0.0 } else { one.min(two) };
        let half_square = |p: f64| 0.5 * p * p;
        let [near, far] = [(cubic.abs() - cubic_off).max(0.0), cubic.abs() + cubic_off].map(half_square);
        let lost = LOST * (one.max(two) + far);
        let (below, above) = (least - far - lost, one.max(two) - near + lost);
        if !(below <= self.apart[0] && above >= -self.apart[1]) {
            return None;
        }
        // The weight may be off too.
        let [most, least] = self.apart.map(|x| x * (1.0 + 2.0 * LOST));
        let (below, above) = (below.max(-least), above.min(most));
        let weigh = |x: f64| self.weight.map(|w| w * x);
        let ([a, b], [c, d]) = (weigh(below), weigh(above));
        Some([a.min(b), c.max(d)])
    }
}

fn edges(radius: f64) -> Vec<f64> {
    let core = radius.min(CORE);
    let fine = (core / FINE).ceil().max(1.0);
    let mut out: Vec<f64> = (0..=fine as u32).map(|k| core * f64::from(k) / fine).collect();
    if radius > core {
        let coarse = ((radius - core) / COARSE).ceil().max(1.0);
        out.extend((1..=coarse as u32).map(|k| core + (radius - core) * f64::from(k) / coarse));
    }
    out
}

impl Cells {
    /// The cells that meet the ball, with how often each is drawn, for a cubic that is within `error` of ∇³U(0); nothing where the
    /// envelope does not reach so far.
    pub fn new(envelope: &Envelope, radius: f64, error: f64) -> Option<Self> {
        let (d, reach) = (envelope.dim, radius * (1.0 + 1e-9));
        let half = edges(reach);
        let norm = -0.5 * (2.0 * std::f64::consts::PI).ln();
        let right: Vec<Slice> = half.windows(2).map(|e| Slice::new(e[0], e[1], 0.0, norm)).collect();
        let left = half.windows(2).rev().map(|e| Slice::new(-e[1], -e[0], 0.0, norm));
        let along: Vec<Slice> = left.chain(right.iter().copied()).collect();
        let mut across = vec![Slice::POINT];
        if d > 1 {
            let k = (d - 1) as f64;
            let norm = (1.0 - 0.5 * k) * std::f64::consts::LN_2 - ln_gamma(0.5 * k);
            let count = (reach / ACROSS).ceil().max(1.0);
            let edge = |i: u32| reach * f64::from(i) / count;
            across = (0..count as u32).map(|i| Slice::new(edge(i), edge(i + 1), k - 1.0, norm)).collect();
        }
        let mut cells = Vec::with_capacity(along.len() * across.len());
        for (i, u) in along.iter().enumerate() {
            let (near, far) = if u.low >= 0.0 { (u.low, u.high) } else { (-u.high, -u.low) };
            for (j, rho) in across.iter().enumerate() {
                let (low, high) = (near.hypot(rho.low), far.hypot(rho.high) * (1.0 + 1e-12));
                if low * (1.0 - 1e-12) > reach {
                    break;
                }
                let high = high.min(reach);
                let bounds = envelope.bounds([low.min(high) * (1.0 - 1e-12), high], [u.low, u.high]);
                // A NaN is no bound.
                if bounds.iter().any(|x| !x.is_finite()) {
                    return None;
                }
                let cubic = envelope.cubic([low.min(high), high], u.low.abs().max(u.high.abs()), error);
                let apart = apart(bounds, cubic, envelope.band(high, error));
                let mass = u.mass * rho.mass;
                let middle = 0.5 * (low + high);
                cells.push(Cell { along: i, across: j, bounds, mass, apart, radius: high, middle, count: 0 });
            }
        }
        let mut out = Self { radius, along, across, cells, before: Vec::new() };
        out.price().is_finite().then(|| {
            out.settle();
            out
        })
    }

    /// Σ mass·|X|: what the envelope alone lets E_q[|X|; r ≤ R] be for X = excess(D') − ½P².
    pub fn price(&self) -> f64 {
        self.cells.iter().map(|c| c.mass * c.most()).sum()
    }

    /// How often each cell is drawn.
    fn settle(&mut self) {
        let asked = [|c: &Cell| c.mass * c.most(), |c: &Cell| c.mass, |c: &Cell| c.mass * c.middle.powi(4)];
        let totals = asked.map(|f| self.cells.iter().map(f).sum::<f64>());
        let all = 1u64 << BITS;
        for cell in &mut self.cells {
            let parts = asked.iter().zip(totals).zip(SHARES);
            let share: f64 = parts
                .map(|((f, total), share)| if total > 0.0 { share * f(cell) / total } else { 0.0 })
                .sum();
            cell.count = ((share * all as f64) as u64).max(1);
        }
        // What rounding left over goes to the cell that has the most.
        let given: u64 = self.cells.iter().map(|c| c.count).sum();
        if let Some(largest) = self.cells.iter_mut().max_by_key(|c| c.count) {
            largest.count = (largest.count + all).saturating_sub(given).max(1);
        }
        let mut sum = 0;
        self.before = self.cells.iter().map(|c| (sum, sum += c.count).0).collect();
    }

    /// Weight times (excess(D') − ½P²)rʲ, and its negative, are at most these.
    pub fn ranges(&self, j: u32) -> [f64; 2] {
        [0, 1].map(|side| {
            let each =
                self.cells.iter().map(|c| c.mass / share(c.count) * c.apart[side] * c.radius.powi(j as i32));
            each.fold(0.0, f64::max) * (1.0 + 4.0 * LOST)
        })
    }

    /// Weight times |e^{−D'} − 1 + P| is at most this, P the cubic of [`Envelope::band`]: e^{−D'} − 1 + P = excess(D') − (D' − P).
    pub fn event_range(&self, envelope: &Envelope, error: f64) -> f64 {
        let each = self.cells.iter().map(|c| {
            let u = &self.along[c.along];
            let rho = &self.across[c.across];
            let near = if u.low >= 0.0 { u.low } else { -u.high };
            let r = [near.hypot(rho.low).min(c.radius), c.radius];
            let [a, b] = c.bounds;
            let plain = a.exp_m1().max(-(-b).exp_m1()).max(0.0)
                + envelope.cubic(r, u.low.abs().max(u.high.abs()), error);
            let close = excess(-a).max(excess(b.max(0.0))) * (1.0 + 1e-12) + envelope.band(c.radius, error);
            c.mass / share(c.count) * plain.min(close)
        });
        // A NaN is no bound.
        each.fold(0.0, |m: f64, x| if x.is_nan() { f64::INFINITY } else { m.max(x) }) * (1.0 + 4.0 * LOST)
    }

    /// The draw of three uniforms, odd multiples of 2⁻⁵³.
    pub fn place(&self, uniforms: [f64; 3]) -> Place {
        let number = (uniforms[0] * (1u64 << BITS) as f64) as u64;
        let cell = &self.cells[self.before.partition_point(|&before| before <= number) - 1];
        let (u, one) = self.along[cell.along].draw(uniforms[1]);
        let (rho, two) = self.across[cell.across].draw(uniforms[2]);
        let weight = cell.mass / share(cell.count) * one * two;
        // A draw that rounding may have moved over the sphere counts for the upper bound only.
        let (square, edge) = (u * u + rho * rho, self.radius * self.radius);
        let inside = |slack: f64| if square <= edge * (1.0 + slack) { weight } else { 0.0 };
        Place { u, rho, weight: [inside(-1e-12), inside(1e-12)], bounds: cell.bounds, apart: cell.apart }
    }
}

fn share(count: u64) -> f64 {
    count as f64 / (1u64 << BITS) as f64
}

#[cfg(test)]
mod tests;
