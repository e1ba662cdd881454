//! Random linear-predictor problems whose posterior factorises after a rotation.
//!
//! Every row touches the coordinates of one block only, and the prior is isotropic: in the unrotated coordinates the
//! posterior is a product of one- to three-dimensional densities. A random orthogonal matrix hides this from the
//! library, which sees a dense regression.

use crate::common::dot;
use provi::draws::{Draws, Purpose};
use provi::target::{Family, Glm, Prior};
use provi::{Design, Matrix, Seed};

/// A small generator of its own: one stream a problem.
pub(crate) struct Dice {
    stream: Draws,
    step: u64,
    pool: Vec<f64>,
}

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self { stream: Draws::new(Seed(seed), Purpose::Sample), step: 0, pool: Vec::new() }
    }

    pub(crate) fn normal(&mut self) -> f64 {
        if self.pool.is_empty() {
            self.pool = vec![0.0; 64];
            self.stream.fill(self.step, 0, &mut self.pool);
            self.step += 1;
        }
        self.pool.pop().unwrap()
    }

    /// Uniform on [0, 1].
    pub(crate) fn uniform(&mut self) -> f64 {
        0.5 * libm::erfc(-self.normal() / std::f64::consts::SQRT_2)
    }

    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    pub(crate) fn whole(&mut self, low: usize, high: usize) -> usize {
        (self.between(low as f64, high as f64 + 1.0) as usize).min(high)
    }

    /// A direction, uniform on the sphere.
    pub(crate) fn direction(&mut self, d: usize) -> Vec<f64> {
        let x: Vec<f64> = (0..d).map(|_| self.normal()).collect();
        let norm = dot(&x, &x).sqrt();
        x.iter().map(|x| x / norm).collect()
    }

    fn poisson(&mut self, rate: f64) -> f64 {
        let (mut left, mut count) = (self.uniform().max(1e-12), 0.0);
        let mut term = (-rate).exp();
        while left > term && count < 1e4 {
            left -= term;
            count += 1.0;
            term *= rate / count;
        }
        count
    }
}

/// Rows over the same one to three coordinates, with their part of the prior.
pub(crate) struct Block {
    pub(crate) family: Family,
    pub(crate) coordinates: Vec<usize>,
    pub(crate) precision: f64,
    pub(crate) center: Vec<f64>,
    pub(crate) rows: Vec<Vec<f64>>,
    pub(crate) response: Vec<f64>,
    pub(crate) weights: Vec<f64>,
    pub(crate) offsets: Vec<f64>,
}

/// φ(s), φ'(s), φ''(s), with the constants, written without the library.
pub(crate) fn likelihood(family: Family, s: f64, y: f64) -> [f64; 3] {
    match family {
        Family::Gaussian { noise_sd } => {
            let (theta, tau) = (noise_sd.powi(-2), 2.0 * std::f64::consts::PI);
            [0.5 * theta * (s - y).powi(2) + 0.5 * (tau * noise_sd * noise_sd).ln(), theta * (s - y), theta]
        }
        Family::Bernoulli => {
            let e = (-s.abs()).exp();
            let p = if s > 0.0 { 1.0 / (1.0 + e) } else { e / (1.0 + e) };
            [s.max(0.0) + e.ln_1p() - y * s, p - y, e / ((1.0 + e) * (1.0 + e))]
        }
        Family::Probit => {
            let sign = 2.0 * y - 1.0;
            let t = sign * s;
            // The inverse Mills ratio ϕ/Φ, by its continued fraction in the left tail.
            let mills = if t > -12.0 {
                (-0.5 * t * t).exp()
                    / (0.5 * libm::erfc(-t / std::f64::consts::SQRT_2) * (2.0 * std::f64::consts::PI).sqrt())
            } else {
                (1..60).rev().fold(-t, |below, k| -t + f64::from(k) / below)
            };
            let log = if t > -12.0 {
                (0.5 * libm::erfc(-t / std::f64::consts::SQRT_2)).ln()
            } else {
                -0.5 * t * t - 0.5 * (2.0 * std::f64::consts::PI).ln() - mills.ln()
            };
            [-log, -sign * mills, mills * (mills + t)]
        }
        Family::Cloglog => {
            // −log(1 − e^{−r}) for a success, by a series where r is small: its derivatives cancel there.
            let r = s.exp();
            let small = [-s + 0.5 * r - r * r / 24.0, -1.0 + 0.5 * r - r * r / 12.0, 0.5 * r - r * r / 6.0];
            let h = r / (r.exp() - 1.0);
            let large = [-(1.0 - (-r).exp()).ln(), -h, h * (h + r - 1.0)];
            match (y > 0.5, r < 1e-4, r > 40.0) {
                (false, ..) => [r; 3],
                (true, true, _) => small,
                (true, _, true) => [0.0; 3],
                (true, ..) => large,
            }
        }
        Family::Poisson => [s.exp() - y * s + libm::lgamma(y + 1.0), s.exp() - y, s.exp()],
        Family::Gamma { noise_sd } => {
            // The textbook's density with shape a and scale e^s/a.
            let a = noise_sd.powi(-2);
            let (scale, rate) = (s.exp() / a, a * y * (-s).exp());
            let log = (a - 1.0) * y.ln() - y / scale - a * scale.ln() - libm::lgamma(a);
            [-log, a - rate, rate]
        }
        _ => unreachable!("a family without a test"),
    }
}

impl Block {
    /// V at z, its gradient and its Hessian.
    pub(crate) fn potential(&self, z: &[f64]) -> (f64, Vec<f64>, Matrix) {
        let k = z.len();
        let tau = 2.0 * std::f64::consts::PI;
        let mut value = 0.5 * k as f64 * (tau / self.precision).ln();
        let mut gradient = vec![0.0; k];
        let mut hessian = Matrix::scaled_identity(k, self.precision);
        for i in 0..k {
            let x = z[i] - self.center[i];
            value += 0.5 * self.precision * x * x;
            gradient[i] += self.precision * x;
        }
        for (n, a) in self.rows.iter().enumerate() {
            let s = dot(a, z) + self.offsets[n];
            let [v, first, second] = likelihood(self.family, s, self.response[n]);
            value += self.weights[n] * v;
            for i in 0..k {
                gradient[i] += self.weights[n] * first * a[i];
                for j in 0..k {
                    hessian[(i, j)] += self.weights[n] * second * a[i] * a[j];
                }
            }
        }
        (value, gradient, hessian)
    }

    /// V at z.
    pub(crate) fn value(&self, z: &[f64]) -> f64 {
        let tau = 2.0 * std::f64::consts::PI;
        let mut value = 0.5 * z.len() as f64 * (tau / self.precision).ln();
        for (z, c) in z.iter().zip(&self.center) {
            value += 0.5 * self.precision * (z - c) * (z - c);
        }
        for (n, a) in self.rows.iter().enumerate() {
            let s = dot(a, z) + self.offsets[n];
            value += self.weights[n] * likelihood(self.family, s, self.response[n])[0];
        }
        value
    }
}

/// A problem: its blocks, the rotation that hides them, and what the library sees.
pub(crate) struct Problem {
    pub(crate) name: String,
    pub(crate) blocks: Vec<Block>,
    /// z_seen = rotation · z.
    pub(crate) rotation: Matrix,
    pub(crate) target: Glm,
}

impl Problem {
    pub(crate) fn dim(&self) -> usize {
        self.rotation.rows()
    }

    pub(crate) fn rows(&self) -> usize {
        self.blocks.iter().map(|b| b.rows.len()).sum()
    }

    /// V at a point of the rotated coordinates, from the blocks.
    pub(crate) fn value(&self, seen: &[f64]) -> f64 {
        let d = self.dim();
        let z: Vec<f64> = (0..d).map(|j| (0..d).map(|i| self.rotation[(i, j)] * seen[i]).sum()).collect();
        let part = |b: &Block| b.value(&b.coordinates.iter().map(|&i| z[i]).collect::<Vec<f64>>());
        self.blocks.iter().map(part).sum()
    }
}

/// What a random problem is made from.
pub(crate) struct Recipe {
    pub(crate) family: Family,
    pub(crate) blocks: Vec<usize>,
    pub(crate) rows: usize,
    pub(crate) precision: f64,
    pub(crate) scale: f64,
    /// Labels follow the sign of the predictor: separable data.
    pub(crate) separable: bool,
    /// Weights, offsets and a prior mean.
    pub(crate) decorated: bool,
    pub(crate) rotated: bool,
}

impl Recipe {
    pub(crate) fn build(&self, name: String, dice: &mut Dice) -> Problem {
        let d: usize = self.blocks.iter().sum();
        let mut first = 0;
        let mut blocks: Vec<Block> = Vec::new();
        for &size in &self.blocks {
            blocks.push(Block {
                family: self.family,
                coordinates: (first..first + size).collect(),
                precision: self.precision,
                center: (0..size).map(|_| if self.decorated { 0.5 * dice.normal() } else { 0.0 }).collect(),
                rows: Vec::new(),
                response: Vec::new(),
                weights: Vec::new(),
                offsets: Vec::new(),
            });
            first += size;
        }
        let truth: Vec<f64> = (0..d).map(|_| dice.normal()).collect();
        let count = blocks.len();
        for n in 0..self.rows {
            let block = &mut blocks[n % count];
            let row: Vec<f64> = block.coordinates.iter().map(|_| self.scale * dice.normal()).collect();
            let offset = if self.decorated { 0.3 * dice.normal() } else { 0.0 };
            let s = block.coordinates.iter().zip(&row).map(|(&i, a)| a * truth[i]).sum::<f64>() + offset;
            let chance = match self.family {
                Family::Probit => 0.5 * libm::erfc(-s / std::f64::consts::SQRT_2),
                Family::Cloglog => 1.0 - (-s.exp()).exp(),
                _ => 1.0 / (1.0 + (-s).exp()),
            };
            let y = match self.family {
                Family::Gaussian { noise_sd } => s + noise_sd * dice.normal(),
                Family::Poisson => dice.poisson(s.min(4.0).exp()),
                // Not of the model, which soundness does not need.
                Family::Gamma { noise_sd } => (s + noise_sd * dice.normal()).exp(),
                _ if self.separable => f64::from(u8::from(s > 0.0)),
                _ => f64::from(u8::from(dice.uniform() < chance)),
            };
            let weight = if self.decorated { dice.between(0.2, 1.5) } else { 1.0 };
            block.rows.push(row);
            block.response.push(y);
            block.weights.push(weight);
            block.offsets.push(offset);
        }
        let rotation = if self.rotated { orthogonal(d, dice) } else { Matrix::scaled_identity(d, 1.0) };
        Self::seen(name, self.family, blocks, rotation, self.precision)
    }

    fn seen(name: String, family: Family, blocks: Vec<Block>, rotation: Matrix, precision: f64) -> Problem {
        let d = rotation.rows();
        let push = |coordinates: &[usize], x: &[f64]| -> Vec<f64> {
            (0..d).map(|i| coordinates.iter().zip(x).map(|(&j, x)| rotation[(i, j)] * x).sum()).collect()
        };
        let (mut entries, mut response, mut weights, mut offsets) = (vec![], vec![], vec![], vec![]);
        let mut center = vec![0.0; d];
        for block in &blocks {
            for row in &block.rows {
                entries.extend(push(&block.coordinates, row));
            }
            response.extend_from_slice(&block.response);
            weights.extend_from_slice(&block.weights);
            offsets.extend_from_slice(&block.offsets);
            center.iter_mut().zip(push(&block.coordinates, &block.center)).for_each(|(c, x)| *c += x);
        }
        let design = Design::from_rows(response.len(), d, entries).unwrap();
        let prior = Prior::precision(precision).unwrap().with_mean(&center).unwrap();
        let target = Glm::new(family, design, &response, prior)
            .unwrap()
            .with_weights(&weights)
            .unwrap()
            .with_offsets(&offsets)
            .unwrap();
        Problem { name, blocks, rotation, target }
    }
}

/// A random orthogonal matrix: Gram–Schmidt, twice for accuracy.
fn orthogonal(d: usize, dice: &mut Dice) -> Matrix {
    let mut out = Matrix::zeros(d, d);
    for i in 0..d {
        let mut x = dice.direction(d);
        for _ in 0..2 {
            for j in 0..i {
                let along = dot(out.row(j), &x);
                x.iter_mut().zip(out.row(j)).for_each(|(x, y)| *x -= along * y);
            }
            let norm = dot(&x, &x).sqrt();
            x.iter_mut().for_each(|x| *x /= norm);
        }
        out.row_mut(i).copy_from_slice(&x);
    }
    out
}

/// The `index`-th problem of the suite.
pub(crate) fn problem(index: u64) -> Problem {
    let mut dice = Dice::new(9_000 + index);
    let family = match index % 4 {
        0 => Family::Bernoulli,
        1 => Family::Probit,
        2 => Family::Poisson,
        _ => Family::Gaussian { noise_sd: dice.between(0.3, 2.0) },
    };
    // One block of up to three coordinates, or many small ones.
    let blocks: Vec<usize> = match (index / 4) % 5 {
        0 => vec![1],
        1 => vec![2],
        2 if index.is_multiple_of(3) => vec![3],
        2 => vec![1, 1],
        _ => {
            let d = dice.whole(3, 40);
            let mut left = d;
            let mut sizes = Vec::new();
            while left > 0 {
                let size = dice.whole(1, 2).min(left);
                sizes.push(size);
                left -= size;
            }
            sizes
        }
    };
    let (d, widest) = (blocks.iter().sum::<usize>(), blocks.iter().copied().max().unwrap());
    let most = match (widest, d) {
        (3, _) => 60.0,
        (2, 2) => 800.0,
        // The probit link is the slow one.
        _ if family == Family::Probit && index % 40 != 37 => 600.0,
        _ => 5000.0,
    };
    let rows = (5.0 * (dice.uniform() * (most / 5.0f64).ln()).exp()) as usize;
    let poisson = family == Family::Poisson;
    let precision = 10f64.powf(dice.between(if poisson { -1.0 } else { -2.0 }, 2.0));
    let scale = if poisson { dice.between(0.2, 0.7) } else { dice.between(0.2, 1.6) };
    let separable = dice.uniform() < 0.35;
    let decorated = dice.uniform() < 0.3;
    let name = format!(
        "#{index} {} d={d} N={rows} λ={precision:.3}{}",
        family.name(),
        if separable { " separable" } else { "" }
    );
    Recipe { family, blocks, rows, precision, scale, separable, decorated, rotated: !index.is_multiple_of(7) }
        .build(name, &mut dice)
}
