//! Certificates against the truth.

use super::answers::{Kind, answer, optimum};
use super::problem::{Dice, Problem};
use super::truth::Truth;
use crate::common::{dot, form, objective};
use provi::audit::{Audit, Audited};
use provi::certificate::Statement;
use provi::target::{Evaluator, LocalCurvature, Rounding, Scratch};
use provi::{Curvature, Gaussian, Provenance, Result, Seed, Target, Triangular};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// One bound beside what it bounds.
#[derive(Clone, Debug)]
#[allow(dead_code)] // the names are read in the message of a failure
pub(crate) struct Check {
    pub(crate) problem: String,
    pub(crate) answer: Kind,
    pub(crate) what: &'static str,
    pub(crate) key: String,
    pub(crate) bound: f64,
    pub(crate) truth: f64,
    /// How far the truth itself may be off.
    pub(crate) tolerance: f64,
}

impl Check {
    pub(crate) fn is_violated(&self) -> bool {
        self.bound.is_nan() || self.truth.is_nan() || self.bound < self.truth - self.tolerance
    }
}

/// A linear-predictor model that keeps its expectations to itself: f is not exact, so D̄, Γ and Bernstein speak.
pub(crate) struct Opaque<'a>(pub(crate) &'a dyn Target);

impl Target for Opaque<'_> {
    fn dim(&self) -> usize {
        self.0.dim()
    }
    fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> Result<f64> {
        self.0.log_density(z, gradient)
    }
    fn log_densities(&self, z: &[f64], v: &mut [f64], g: &mut [f64], s: &mut Scratch) -> Result<()> {
        self.0.log_densities(z, v, g, s)
    }
    fn curvature(&self) -> Result<Option<Curvature>> {
        self.0.curvature()
    }
    fn local_curvature<'s>(
        &'s self,
        q: &Gaussian<Triangular>,
    ) -> Result<Option<Box<dyn LocalCurvature + 's>>> {
        self.0.local_curvature(q)
    }
    fn rounding(&self, q: &Gaussian<Triangular>, radii: &[f64]) -> Result<Option<Vec<Rounding>>> {
        self.0.rounding(q, radii)
    }
}

/// What is true of one answer.
pub(crate) struct Facts {
    pub(crate) gap: f64,
    pub(crate) kl: f64,
    pub(crate) tv: Option<(f64, f64)>,
    /// The accuracy of f, of the evidence, and so of the gap and KL.
    pub(crate) tolerance: f64,
}

impl Facts {
    pub(crate) fn new(
        problem: &Problem,
        truth: &Truth,
        q: &Gaussian<Triangular>,
        best: &Gaussian<Triangular>,
    ) -> Self {
        let f = objective(&problem.target, q);
        let f_star = objective(&problem.target, best);
        let size = f.abs() + f_star.abs() + truth.log_evidence.abs() + problem.rows() as f64;
        let tolerance = 2.0 * truth.error + 1e-12 * size;
        let tv = problem.total_variation(q, truth);
        Self { gap: f - f_star, kl: f + truth.log_evidence, tv, tolerance }
    }
}

/// Every number of a certificate beside the truth.
pub(crate) fn compare(
    problem: &Problem,
    kind: Kind,
    truth: &Truth,
    facts: &Facts,
    q: &Gaussian<Triangular>,
    audited: &Audited,
    dice: &mut Dice,
) -> Vec<Check> {
    let mut out = Vec::new();
    let mut add_signed = |sign: f64, what, statement: &Statement, truth: f64, tolerance: f64| {
        let proved = match statement {
            Statement::Proved(proved) => proved,
            Statement::NotProved { reason } => {
                assert!(!reason.is_empty(), "no bound and no reason");
                return;
            }
        };
        let (problem, key, bound) = (problem.name.clone(), proved.key().to_owned(), sign * proved.value());
        let truth = sign * truth;
        out.push(Check { problem, answer: kind, what, key, bound, truth, tolerance });
    };
    let c = audited.certificate();
    let [lower, upper] = c.evidence.sides();
    add_signed(-1.0, "evidence below", lower, truth.log_evidence, facts.tolerance);
    add_signed(1.0, "evidence above", upper, truth.log_evidence, facts.tolerance);
    let mut add = |what, statement: &Statement, truth: f64, tolerance: f64| {
        add_signed(1.0, what, statement, truth, tolerance);
    };
    add("gap", &c.gap, facts.gap, facts.tolerance);
    add("KL", &c.kl, facts.kl, facts.tolerance);
    if let Some((tv, error)) = facts.tv {
        add("TV", &c.tv, tv, error);
    }
    let mut moments = |v: &[f64], mean: &Statement, sd: &Statement| {
        let (deviation, own) = (form(&truth.covariance, v, v).sqrt(), form(&q.covariance(), v, v).sqrt());
        let tolerance = (truth.error + 1e-9) * (deviation + own);
        add("mean", mean, (dot(v, &truth.mean) - dot(v, q.mean())).abs(), tolerance);
        add("sd", sd, (deviation - own).abs(), tolerance);
    };
    let d = q.dim();
    for (i, m) in c.moments.iter().enumerate() {
        let mut v = vec![0.0; d];
        v[i] = 1.0;
        moments(&v, &m.mean_error, &m.sd_error);
    }
    for _ in 0..3 {
        let v = dice.direction(d);
        let [mean, sd] = audited.functional(&v).unwrap();
        moments(&v, &mean, &sd);
    }
    out
}

pub(crate) fn assert_provenance(audited: &Audited, expected: Provenance, name: &str) {
    let c = audited.certificate();
    let mut all = vec![c.gap.clone(), c.kl.clone(), c.tv.clone()];
    for m in &c.moments {
        all.extend([m.mean_error.clone(), m.sd_error.clone()]);
    }
    all.extend(audited.functional(&vec![1.0; c.moments.len()]).unwrap());
    for s in all.iter().filter(|s| s.bound().is_some()) {
        assert_eq!(s.provenance(), Some(expected), "{name}: {s:?}");
    }
    if c.evidence.lower().is_some() {
        assert_eq!(c.evidence.provenance(), Some(expected), "{name}: evidence");
    }
}

/// Problems that are audited at every answer, if they are small. The others are audited at a third of the answers, in turn: a long trial is one of
/// many problems.
const AT_EVERY_ANSWER: u64 = 240;

/// One problem, audited at several answers, as it is and with its expectations hidden.
pub(crate) fn trial(index: u64, draws: u64) -> Vec<Check> {
    let problem = super::problem::problem(index);
    let mut dice = Dice::new(77_000 + index);
    let truth = problem.truth();
    // Quadrature does not know the truth well enough.
    if truth.error.is_nan() || truth.error >= 1e-6 {
        return Vec::new();
    }
    let best = optimum(&problem.target);
    let small = index < AT_EVERY_ANSWER && problem.rows() <= 400 && problem.rows() * problem.dim() <= 3000;
    let mut out = Vec::new();
    for (position, kind) in Kind::ALL.into_iter().enumerate() {
        let turn = (index / 4 + position as u64).is_multiple_of(3);
        if !(small || turn) {
            continue;
        }
        let q = answer(kind, &problem.target, &best, &mut dice);
        let facts = Facts::new(&problem, &truth, &q, &best);
        let audit = Audit { draws, ..Audit::default() };
        let mut see = |target: &dyn Target, seed: u64, provenance: Provenance| {
            let audited = audit.run(Evaluator::Serial(target), &q, Seed(seed)).unwrap();
            assert_provenance(&audited, provenance, &problem.name);
            out.extend(compare(&problem, kind, &truth, &facts, &q, &audited, &mut dice));
        };
        see(&problem.target, 1000 + index, Provenance::Proved);
        if turn {
            // Another target that hands on a model's curvature gives its own word, and no more.
            see(&Opaque(&problem.target), 5000 + index, Provenance::Declared);
        }
    }
    out
}

/// Runs `count` jobs on the machine's threads, in order of result.
pub(crate) fn on_threads<T: Send>(count: u64, job: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let next = AtomicU64::new(0);
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get());
    let mut found: Vec<(u64, T)> = std::thread::scope(|scope| {
        let run = || {
            let mut mine = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= count {
                    return mine;
                }
                mine.push((index, job(index)));
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        workers.into_iter().flat_map(|w| w.join().unwrap()).collect()
    });
    found.sort_by_key(|(index, _)| *index);
    found.into_iter().map(|(_, value)| value).collect()
}

/// How many bounds of each kind were checked, and the smallest and the median ratio to the truth.
pub(crate) fn summary(checks: &[Check]) -> String {
    let mut groups: BTreeMap<(&str, &str), Vec<f64>> = BTreeMap::new();
    for check in checks {
        let ratio = (check.bound / check.truth).abs().min(1e12);
        groups.entry((check.what, &check.key)).or_default().push(ratio);
    }
    let mut out = String::new();
    for ((what, key), mut ratios) in groups {
        ratios.sort_by(f64::total_cmp);
        out += &format!(
            "{what:15} {key:15} {:6} checked, bound/truth from {:.4}, median {:.3e}\n",
            ratios.len(),
            ratios[0],
            ratios[ratios.len() / 2]
        );
    }
    out
}
