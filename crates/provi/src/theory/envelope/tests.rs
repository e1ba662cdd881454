//! Against quadrature in one and two dimensions, with every constant planted wrong.

use super::*;

/// Σ_n w_nφ(s_n + a_n·x) + ½λ‖x − v‖², φ logistic or exponential, in coordinates where q is standard.
pub(crate) struct Rows {
    pub(crate) dim: usize,
    pub(crate) exponential: bool,
    /// a_n, s_n, w_n.
    pub(crate) rows: Vec<([f64; 2], f64, f64)>,
    pub(crate) prior: f64,
    pub(crate) pull: [f64; 2],
    /// E_q(U − ½r²).
    mean: f64,
}

/// Sums over the plane, or the line.
pub(crate) fn integrate(dim: usize, f: impl Fn([f64; 2]) -> f64) -> f64 {
    let (reach, count) = (11.0, if dim == 1 { 4_000 } else { 250 });
    let step = 2.0 * reach / f64::from(count);
    let at = |k: i32| -reach + step * (f64::from(k) + 0.5);
    let line = |y: f64| (0..count).map(|k| f([at(k), y])).sum::<f64>() * step;
    if dim == 1 { line(0.0) } else { (0..count).map(|k| line(at(k))).sum::<f64>() * step }
}

pub(crate) fn density(dim: usize, x: [f64; 2]) -> f64 {
    (-0.5 * (x[0] * x[0] + x[1] * x[1])).exp() / (2.0 * std::f64::consts::PI).powf(0.5 * dim as f64)
}

fn uniform(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 11) as f64 / (1u64 << 53) as f64
}

impl Rows {
    /// Rows of a table of some 40, of which q is a fair guess.
    pub(crate) fn new(dim: usize, exponential: bool, seed: u64) -> Self {
        let mut state = seed.wrapping_mul(77).wrapping_add(1);
        let count = 40;
        let mut rows = Vec::new();
        for _ in 0..count {
            let entry = |state: &mut u64| 0.55 * (uniform(state) - 0.5 + 0.1);
            let a = [entry(&mut state), if dim == 2 { entry(&mut state) } else { 0.0 }];
            rows.push((a, 2.0 * (uniform(&mut state) - 0.4), 0.5 + uniform(&mut state)));
        }
        let mut out = Self { dim, exponential, rows, prior: 0.2, pull: [0.0; 2], mean: 0.0 };
        if exponential {
            out.rows.iter_mut().for_each(|row| row.2 *= 0.2);
        }
        // Rescaled so that the mean curvature is about one, and moved so that the gradient is about −½τ.
        let trace = (0..dim).map(|i| out.hessian()[i][i]).sum::<f64>() / dim as f64;
        let scale = ((1.0 - out.prior) / (trace - out.prior)).sqrt();
        out.rows.iter_mut().for_each(|row| row.0 = row.0.map(|x| x * scale));
        let (gradient, tau) = (out.gradient(), out.tau());
        out.pull = std::array::from_fn(|i| (gradient[i] + 0.45 * tau[i]) / out.prior);
        out.mean =
            integrate(dim, |x| density(dim, x) * (out.potential(x) - 0.5 * (x[0] * x[0] + x[1] * x[1])));
        out
    }

    /// φ and its derivatives.
    fn phi(&self, s: f64) -> [f64; 5] {
        if self.exponential {
            return [s.exp(); 5];
        }
        let p = 1.0 / (1.0 + (-s).exp());
        let w = p * (1.0 - p);
        [s.max(0.0) + (-s.abs()).exp().ln_1p(), p, w, w * (1.0 - 2.0 * p), w * (1.0 - 6.0 * w)]
    }

    pub(crate) fn potential(&self, x: [f64; 2]) -> f64 {
        let data: f64 =
            self.rows.iter().map(|(a, s, w)| w * self.phi(s + a[0] * x[0] + a[1] * x[1])[0]).sum();
        let off: f64 = (0..self.dim).map(|i| (x[i] - self.pull[i]).powi(2)).sum();
        data + 0.5 * self.prior * off
    }

    /// D'.
    pub(crate) fn drop(&self, x: [f64; 2]) -> f64 {
        self.potential(x) - 0.5 * (x[0] * x[0] + x[1] * x[1]) - self.mean
    }

    /// T[x,x,x]/6 − ½τ·x, T = ∇³U(0).
    pub(crate) fn cubic(&self, x: [f64; 2]) -> f64 {
        let (dot, tau) = (|a: &[f64; 2]| a[0] * x[0] + a[1] * x[1], self.tau());
        self.rows.iter().map(|(a, s, w)| w * self.phi(*s)[3] * dot(a).powi(3) / 6.0).sum::<f64>()
            - 0.5 * dot(&tau)
    }

    fn gradient(&self) -> [f64; 2] {
        std::array::from_fn(|i| {
            let data: f64 = self.rows.iter().map(|(a, s, w)| w * a[i] * self.phi(*s)[1]).sum();
            if i < self.dim { data - self.prior * self.pull[i] } else { 0.0 }
        })
    }

    fn hessian(&self) -> [[f64; 2]; 2] {
        let entry = |i: usize, j: usize| {
            let data: f64 = self.rows.iter().map(|(a, s, w)| w * a[i] * a[j] * self.phi(*s)[2]).sum();
            data + if i == j && i < self.dim { self.prior } else { 0.0 }
        };
        std::array::from_fn(|i| std::array::from_fn(|j| entry(i, j)))
    }

    fn tau(&self) -> [f64; 2] {
        let square = |a: &[f64; 2]| a[0] * a[0] + a[1] * a[1];
        std::array::from_fn(|i| {
            self.rows.iter().map(|(a, s, w)| w * self.phi(*s)[3] * a[i] * square(a)).sum()
        })
    }

    /// The direction of τ.
    pub(crate) fn direction(&self) -> [f64; 2] {
        let tau = self.tau();
        let size = tau[0].hypot(tau[1]);
        tau.map(|x| x / size)
    }

    /// The envelope, from plain scans: these are not what the models do, and so a check of them.
    pub(crate) fn envelope(&self, reach: f64) -> Envelope {
        let (d, g, h, tau, v) = (self.dim, self.gradient(), self.hessian(), self.tau(), self.direction());
        let form = |m: &dyn Fn([f64; 2]) -> f64, sign: f64| {
            let turns = if d == 1 {
                vec![[1.0, 0.0]]
            } else {
                (0..2_000)
                    .map(|k| (f64::from(k) * std::f64::consts::TAU / 2_000.0).sin_cos().into())
                    .collect()
            };
            turns.iter().map(|x: &[f64; 2]| sign * m(*x)).fold(f64::NEG_INFINITY, f64::max) * sign
        };
        let dot = |a: &[f64; 2], x: [f64; 2]| a[0] * x[0] + a[1] * x[1];
        let eigen = |sign: f64| {
            form(&|x| h[0][0] * x[0] * x[0] + 2.0 * h[0][1] * x[0] * x[1] + h[1][1] * x[1] * x[1], sign)
        };
        let cubic = |x: [f64; 2]| {
            self.rows.iter().map(|(a, s, w)| w * self.phi(*s)[3] * dot(a, x).powi(3)).sum::<f64>()
        };
        let harmonic = form(&|x| (cubic(x) - 3.0 / (d as f64 + 2.0) * dot(&tau, x)).abs(), 1.0);
        let rings = (1..=12).map(|k| {
            let radius = reach * f64::from(k) / 12.0;
            let each: Vec<([f64; 2], f64, [f64; 4])> = self
                .rows
                .iter()
                .map(|(a, s, w)| {
                    let span = radius * a[0].hypot(a[1]);
                    let mut found = [0.0f64, 0.0, f64::INFINITY, 0.0];
                    for k in -100..=100 {
                        let t = span * f64::from(k) / 100.0;
                        let [value, slope, ..] = self.phi(*s);
                        let here = self.phi(s + t);
                        found[0] = found[0].max(-here[4]);
                        found[1] = found[1].max(here[4]);
                        found[3] = found[3].max(here[2]);
                        if k != 0 {
                            found[2] = found[2].min(2.0 * (here[0] - value - slope * t) / (t * t));
                        }
                    }
                    (*a, *w, found)
                })
                .collect();
            let quartic = |which: usize| {
                form(&|x| each.iter().map(|(a, w, f)| w * f[which] * dot(a, x).powi(4)).sum(), 1.0)
                    * (1.0 + 1e-4)
            };
            let bent = |which: usize, sign: f64| {
                self.prior
                    + form(&|x| each.iter().map(|(a, w, f)| w * f[which] * dot(a, x).powi(2)).sum(), sign)
            };
            // Every direction by itself.
            let joint = |side: usize| {
                let sign = if side == 0 { -0.5 } else { 0.5 };
                let whole = |x: [f64; 2]| {
                    let bend = h[0][0] * x[0] * x[0] + 2.0 * h[0][1] * x[0] * x[1] + h[1][1] * x[1] * x[1]
                        - x[0] * x[0]
                        - x[1] * x[1];
                    let third = (cubic(x) - 3.0 / (d as f64 + 2.0) * dot(&tau, x)).abs();
                    let fourth: f64 = each.iter().map(|(a, w, f)| w * f[side] * dot(a, x).powi(4)).sum();
                    sign * bend + radius * third / 6.0 + radius * radius * fourth / 24.0
                };
                let found = form(&whole, 1.0);
                found + 1e-4 * found.abs() + 1e-5
            };
            Ring {
                radius,
                quartic: [quartic(0), quartic(1)],
                joint: [joint(0), joint(1)],
                curvature: [bent(2, -1.0) * (1.0 - 1e-4), bent(3, 1.0) * (1.0 + 1e-4)],
            }
        });
        let along = dot(&g, v);
        Envelope {
            dim: d,
            centre: [self.drop([0.0; 2]) - 1e-6, self.drop([0.0; 2]) + 1e-6],
            gradient: [along, (g[0] - along * v[0]).hypot(g[1] - along * v[1]) + 1e-9],
            bias: (g[0] + 0.5 * tau[0]).hypot(g[1] + 0.5 * tau[1]) + 1e-9,
            trace: tau[0].hypot(tau[1]),
            harmonic: harmonic * (1.0 + 1e-4) + 1e-9,
            bend: [1.0 - eigen(-1.0) + 1e-5, eigen(1.0) - 1.0 + 1e-5],
            rings: rings.collect(),
        }
    }

    pub(crate) fn far(&self) -> Far {
        let squares = |weight: f64| {
            self.rows.iter().map(|(a, _, w)| w * weight * (a[0] * a[0] + a[1] * a[1])).sum::<f64>()
        };
        let trace = self.prior * self.dim as f64;
        if self.exponential {
            let rate =
                self.rows.iter().map(|(a, s, w)| w * (s + 0.5 * (a[0] * a[0] + a[1] * a[1])).exp()).sum();
            Far::Rates {
                rate,
                reach: self.rows.iter().map(|(a, ..)| a[0].hypot(a[1])).fold(0.0, f64::max),
                trace,
            }
        } else {
            Far::Curved(squares(0.25) + trace)
        }
    }
}

/// The most that −D' or D' is above the envelope, on a grid of the ball.
fn above(rows: &Rows, envelope: &Envelope) -> f64 {
    let (reach, v) = (envelope.reach(), rows.direction());
    let mut worst = f64::NEG_INFINITY;
    for i in 0..120 {
        for k in 0..if rows.dim == 1 { 2 } else { 90 } {
            let angle = f64::from(k) * std::f64::consts::TAU / if rows.dim == 1 { 2.0 } else { 90.0 };
            let r = reach * f64::from(i) / 119.0;
            let x = [r * angle.cos(), if rows.dim == 1 { 0.0 } else { r * angle.sin() }];
            let u = x[0] * v[0] + x[1] * v[1];
            let [a, b] = envelope.bounds([r; 2], [u; 2]);
            let d = rows.drop(x);
            worst = worst.max(-d - a).max(d - b);
        }
    }
    worst
}

fn problems() -> Vec<Rows> {
    (0..3)
        .flat_map(|seed| [(1, false), (2, false), (1, true), (2, true)].map(|(d, e)| Rows::new(d, e, seed)))
        .collect()
}

#[test]
fn the_excess_is_what_it_is_called() {
    for t in [-30.0, -2.0, -0.26, -0.24, -0.1, -1e-3, 0.1, 0.24, 0.26, 3.0f64] {
        let plain = (-t).exp() - 1.0 + t;
        assert!((excess(t) - plain).abs() <= 1e-13 * (1.0 + plain), "{t}");
    }
    assert!((excess(1e-9) / 0.5e-18 - 1.0).abs() < 1e-8 && excess(0.0) <= 0.0);
    assert!(excess(f64::INFINITY).is_infinite() && excess(f64::NEG_INFINITY).is_infinite());
}

#[test]
fn nothing_is_above_the_envelope_and_each_part_of_it_is_needed() {
    let mut caught = [false; 9];
    for rows in problems() {
        let envelope = rows.envelope(5.0);
        let found = above(&rows, &envelope);
        assert!(found <= 1e-9, "d = {}, rates {}: {found}", rows.dim, rows.exponential);
        assert!(found > -0.05, "the envelope is far from everything: {found}");
        // With one part at a fraction of its size and the others as they are.
        let planted = |change: &dyn Fn(&mut Envelope)| {
            let mut wrong = envelope.clone();
            change(&mut wrong);
            above(&rows, &wrong) > 1e-6
        };
        let flat = |ring: &mut Ring| ring.curvature = [-1e9, 1e9];
        let steep = |ring: &mut Ring| ring.joint = [1e9; 2];
        // Without most of what is not the quadratic, and without most of the cubic.
        for side in 0..2 {
            caught[side] |= planted(&|e| {
                let bend = 0.5 * e.bend[side];
                e.rings.iter_mut().for_each(|ring| {
                    flat(ring);
                    ring.joint[side] -= 0.7 * (ring.joint[side] - bend)
                })
            });
        }
        caught[2] |= planted(&|e| {
            let cubic = 0.8 * e.harmonic / 6.0;
            e.rings.iter_mut().for_each(|ring| {
                flat(ring);
                ring.joint = ring.joint.map(|joint| joint - cubic * ring.radius)
            })
        });
        caught[3] |= planted(&|e| {
            e.trace *= -1.0;
            e.rings.iter_mut().for_each(flat)
        });
        caught[4] |= planted(&|e| {
            e.bend = [0.0; 2];
            e.rings.iter_mut().for_each(flat)
        });
        caught[5] |= planted(&|e| {
            e.rings.iter_mut().for_each(|ring| {
                steep(ring);
                ring.curvature[0] += 0.3 * (1.0 - ring.curvature[0])
            })
        });
        caught[6] |= planted(&|e| {
            e.rings.iter_mut().for_each(|ring| {
                steep(ring);
                ring.curvature[1] = 1.0
            })
        });
        caught[7] |= planted(&|e| e.centre = [e.centre[0] + 0.05, e.centre[1]]);
        caught[8] |= planted(&|e| e.centre = [e.centre[0], e.centre[1] - 0.05]);
    }
    assert_eq!(caught, [true; 9]);
}

#[test]
fn slopes_masses_and_means_beyond_a_ball_are_bounded_and_each_constant_is_needed() {
    let (mut closest, mut caught) = (0.0f64, [false; 3]);
    for rows in problems() {
        let (d, envelope) = (rows.dim, rows.envelope(7.0));
        for radius in [2.5, 3.0, 4.0, 5.0] {
            let Some(slope) = envelope.slope(radius) else { panic!("within reach") };
            let (size, h) = (|x: [f64; 2]| x[0].hypot(x[1]), 1e-4);
            let steepness = (0..60).map(|k| {
                let angle = f64::from(k) * std::f64::consts::TAU / if d == 1 { 2.0 } else { 60.0 };
                let at = |r: f64| [r * angle.cos(), if d == 1 { 0.0 } else { r * angle.sin() }];
                (rows.potential(at(radius + h)) - rows.potential(at(radius - h))) / (2.0 * h)
            });
            let least = steepness.fold(f64::INFINITY, f64::min);
            assert!(slope <= least + 1e-5, "{slope} {least}");
            let Some(outside) = Outside::new(&envelope, rows.far(), radius) else { continue };
            let beyond = |f: &dyn Fn([f64; 2]) -> f64| {
                integrate(d, |x| if size(x) > radius { density(d, x) * f(x) } else { 0.0 })
            };
            // The sums step over the sphere with an error of a few percent of their first step.
            let near = 0.95;
            for j in 0..3 {
                let mass = beyond(&|x| (-rows.drop(x)).exp() * size(x).powi(j));
                assert!(
                    mass * near <= outside.mass[j as usize],
                    "{j} {radius}: {mass} {}",
                    outside.mass[j as usize]
                );
                let rest = beyond(&|x| excess(rows.drop(x)) * size(x).powi(j));
                assert!(rest * near <= outside.rest(j as usize), "{j}: {rest} {}", outside.rest(j as usize));
                closest = closest.max(mass / outside.mass[j as usize]);
            }
            let inside =
                integrate(d, |x| if size(x) <= radius { density(d, x) * excess(rows.drop(x)) } else { 0.0 });
            let whole = integrate(d, |x| density(d, x) * (-rows.drop(x)).exp());
            let [low, high] = outside.whole([inside; 2], 0.0);
            let slack = 0.05 * (outside.mass[0] + outside.alpha);
            assert!(low <= whole + slack && whole <= high + slack, "{radius}: {low} {whole} {high}");
            caught[0] |= whole > high - outside.mass[0] + slack;
            caught[1] |= whole > high - (1.0 - outside.alpha) + slack;
            caught[2] |= whole < low + 2.0 * outside.tails[2] - slack;
        }
    }
    assert!(closest > 0.05, "{closest}");
    assert_eq!(caught, [true; 3]);
}

#[test]
fn tails_of_the_radius_are_their_integrals() {
    for (dim, radius) in [(1, 2.0), (2, 1.5), (2, 3.0)] {
        let found = tail_moments(dim, radius);
        for (k, found) in found.into_iter().enumerate() {
            let size = |x: [f64; 2]| x[0].hypot(x[1]);
            let sum =
                integrate(
                    dim,
                    |x| if size(x) > radius { density(dim, x) * size(x).powi(k as i32) } else { 0.0 },
                );
            assert!((sum / found - 1.0).abs() < 0.01, "{dim} {radius} {k}: {sum} {found}");
        }
    }
}
