//! E‖g‖² along a segment that ends in w*.

use crate::algebra::between;
use crate::figure::{Mark, Series};
use crate::outcome::{Check, Outcome};
use crate::problems::{Problem, normals};
use crate::space::{Space, distance2};
use crate::statistics::Mean;
use crate::trial::Trial;
use provi::coupling::Coupling;
use provi::draws::{Draws, Purpose, Seed};
use provi::estimator::{Control, Kind, Sampled, Source, Terms};
use provi::subsample::Law;
use provi::target::Evaluator;
use provi::theory::NoiseBound;
use provi::{BaseLaw, Gaussian, Matrix, Result};
use rayon::prelude::*;

/// How far along the segment w* + s(w_far − w*) a measurement is taken.
const PLACES: [f64; 9] = [1.0, 0.4, 0.15, 0.06, 0.02, 7e-3, 2e-3, 5e-4, 0.0];

/// What is measured: which estimator, with how many draws, around which centre.
#[derive(Clone, Copy)]
pub(crate) struct Noise<'a> {
    pub(crate) problem: &'a Problem,
    pub(crate) kind: Kind,
    pub(crate) batch: usize,
    /// Which terms each draw uses, if not all.
    pub(crate) law: Option<&'a Law>,
    /// The law of the draws.
    pub(crate) base_law: BaseLaw,
    /// How the draws of a mean depend on each other.
    pub(crate) coupling: Coupling,
    /// The quadratic that controls them, if any.
    pub(crate) control: Option<&'a Control>,
}

/// Squared distances, and E‖g − centre‖² there.
pub(crate) struct Path {
    pub(crate) places: Vec<(f64, Mean)>,
}

impl<'a> Noise<'a> {
    /// One normal draw on the whole target.
    pub(crate) fn new(problem: &'a Problem, kind: Kind) -> Self {
        Self {
            problem,
            kind,
            batch: 1,
            law: None,
            base_law: BaseLaw::Gaussian,
            coupling: Coupling::Independent,
            control: None,
        }
    }

    /// E‖g_N(w) − centre‖² from `count` independent gradients.
    pub(crate) fn measure<F: Space>(&self, w: &[f64], centre: &[f64], count: u64, seed: u64) -> Result<Mean> {
        let d = self.problem.dim();
        let chunks = 16;
        let squares: Result<Vec<Vec<f64>>> = (0..chunks)
            .into_par_iter()
            .map(|chunk| {
                let draws =
                    Draws::new(Seed(seed), Purpose::Optimise).of(self.base_law).coupled(self.coupling);
                let source = match self.law {
                    Some(law) => Source::Terms(Terms::new(self.problem.target(), law, Seed(seed))?),
                    None => Source::Whole(Evaluator::Serial(self.problem.target())),
                };
                let mut estimator = Sampled::<F>::new(self.kind, source, draws, self.batch)?;
                if let Some(control) = self.control {
                    estimator = estimator.controlled(control.clone())?;
                }
                let mut g = vec![0.0; w.len()];
                (chunk * count / chunks..(chunk + 1) * count / chunks)
                    .map(|t| {
                        estimator.gradient(w, t, &mut g)?;
                        Ok(distance2::<F>(d, &g, centre))
                    })
                    .collect()
            })
            .collect();
        Ok(Mean::of(&squares?.concat()))
    }

    /// The measurements along the path.
    pub(crate) fn path<F: Space>(&self, centre: Option<&[f64]>, trial: &Trial) -> Result<Path> {
        let d = self.problem.dim();
        let star = F::of(&self.problem.star)?;
        let far = far_in_set::<F>(d, self.problem.smoothness);
        let zero = vec![0.0; star.parameters().len()];
        // A gradient of a large problem or of many draws costs more, and varies less.
        let most = if d > 10 { 1000 } else { (20_000 / self.batch as u64).max(1000) };
        let count = trial.effort(1000, most);
        let mut places = Vec::new();
        for (i, s) in PLACES.into_iter().enumerate() {
            let w = between(star.parameters(), &far, s);
            let e = distance2::<F>(d, &w, star.parameters());
            places.push((e, self.measure::<F>(&w, centre.unwrap_or(&zero), count, 700 + i as u64)?));
        }
        Ok(Path { places })
    }
}

impl Path {
    /// Checks that every measurement is below the bound.
    pub(crate) fn check(&self, outcome: &mut Outcome, name: &str, bound: NoiseBound, trial: &Trial) {
        for (e, mean) in &self.places {
            // At w* a bound may be 0, and only rounding remains.
            let allowed = trial.upper(bound.at(*e)) + 1e-20;
            outcome.check(Check::mean_at_most(format!("{name}, ‖w−w*‖² = {e:.1e}"), *mean, allowed));
        }
    }

    /// The measured curve with its confidence band; a wider band is cut at a fifth of the mean.
    pub(crate) fn measured(&self, name: &str, color: usize) -> Series {
        let seen = || self.places.iter().filter(|(e, mean)| *e > 0.0 && mean.value > 0.0);
        let band = seen().map(|(e, m)| (*e, m.lower().max(0.2 * m.value), m.upper())).collect();
        Series::new(name, Mark::Measured, color, seen().map(|(e, m)| (*e, m.value)).collect()).with_band(band)
    }

    /// The bound over the same distances.
    pub(crate) fn bound(&self, name: &str, color: usize, bound: NoiseBound) -> Series {
        let points = self.places.iter().filter(|(e, _)| *e > 0.0).map(|(e, _)| (*e, bound.at(*e))).collect();
        Series::new(name, Mark::Bound, color, points)
    }
}

/// A point of the set, far from w*: σ_min(C) ≥ 1/√M on 𝒮ᵈ, C_ii ≥ 1/√M on 𝒯ᵈ.
fn far_in_set<F: Space>(d: usize, smoothness: f64) -> Vec<f64> {
    let noise = normals(120, d * d);
    let floor = smoothness.powf(-0.5);
    let mut c = Matrix::zeros(d, d);
    for i in 0..d {
        for j in 0..i {
            c[(i, j)] = 3.0 * floor * noise[i * d + j];
            c[(j, i)] = c[(i, j)];
        }
    }
    // Diagonal dominance keeps the symmetric factor inside the set.
    for i in 0..d {
        let row: f64 = (0..d).filter(|&j| j != i).map(|j| c[(i, j)].abs()).sum();
        c[(i, i)] = floor * 20.0 + row;
    }
    let mean: Vec<f64> = normals(121, d).iter().map(|x| 20.0 * floor * x).collect();
    [mean, crate::algebra::pack(&c)].concat()
}

/// w* in a space.
pub(crate) fn star<F: Space>(problem: &Problem) -> Result<Gaussian<F>> {
    F::of(&problem.star)
}
