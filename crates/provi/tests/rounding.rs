//! Rounding is part of the proof: at every magnitude that doubles can hold, a claim holds or is not made.
//!
//! The models are two rows of opposite labels and equal weight w a coordinate, so that Σ_n w_nφ_n(z + o) is 2w log 2cosh(δ/2) with
//! δ = z + o: the truth is a one-dimensional integral in δ that nothing cancels in, whatever w and o are. Each certificate may
//! fail with probability 1e-6.

use proptest::prelude::*;
use provi::certificate::{Certificate, Statement};
use provi::matrix::Matrix;
use provi::target::{Glm, Prior};
use provi::theory::certificate as theory;
use provi::{Audit, Design, Gaussian, Seed, Target};

type Q = Gaussian<provi::gaussian::Triangular>;

/// −log p of one coordinate, up to a constant: ½λ(δ − o)² + 2w log cosh(δ/2).
#[derive(Clone, Copy, Debug)]
struct Line {
    precision: f64,
    weight: f64,
    offset: f64,
}

impl Line {
    /// A prior that leaves the mode where the data put it.
    fn new(weight: f64, offset: f64) -> Self {
        Self { precision: (0.01 * weight / offset.abs().max(1.0)).min(1.0), weight, offset }
    }

    fn potential(&self, delta: f64) -> f64 {
        let half = 0.5 * delta.abs();
        let log_cosh = if half < 1.0 {
            (2.0 * (0.5 * half).sinh().powi(2)).ln_1p()
        } else {
            half - std::f64::consts::LN_2 + (-2.0 * half).exp().ln_1p()
        };
        0.5 * self.precision * delta * delta - self.precision * self.offset * delta
            + 2.0 * self.weight * log_cosh
    }

    fn mode(&self) -> f64 {
        let slope = |x: f64| self.precision * (x - self.offset) + self.weight * (0.5 * x).tanh();
        let (mut low, mut high) = (-1.0, 1.0);
        for _ in 0..2_000 {
            let middle = 0.5 * (low + high);
            if slope(middle) > 0.0 { high = middle } else { low = middle }
        }
        0.5 * (low + high)
    }

    fn deviation(&self) -> f64 {
        let cosh = (0.5 * self.mode()).cosh();
        (self.precision + 0.5 * self.weight / (cosh * cosh)).powf(-0.5)
    }

    /// log ∫e^{−U}, and the mean of δ.
    fn posterior(&self) -> (f64, f64) {
        let (mode, sd) = (self.mode(), self.deviation());
        let floor = self.potential(mode);
        let mut reach = 8.0 * sd;
        while self.potential(mode + reach).min(self.potential(mode - reach)) < floor + 45.0 {
            reach *= 1.5;
        }
        let (n, mut mass, mut moment) = (20_000, 0.0, 0.0);
        for i in -n..=n {
            let x = reach * f64::from(i) / f64::from(n);
            let density = (floor - self.potential(mode + x)).exp();
            (mass, moment) = (mass + density, moment + density * x);
        }
        ((mass * reach / f64::from(n)).ln() - floor, mode + moment / mass)
    }

    /// E U under N(center, deviation²) in δ.
    fn mean_potential(&self, center: f64, deviation: f64) -> f64 {
        let (n, mut sum, mut mass) = (4_000, 0.0, 0.0);
        for i in -n..=n {
            let t = 10.0 * f64::from(i) / f64::from(n);
            let density = (-0.5 * t * t).exp();
            (sum, mass) = (sum + density * self.potential(center + deviation * t), mass + density);
        }
        sum / mass
    }
}

/// One or two coordinates and an answer to be judged.
struct Case {
    lines: Vec<Line>,
    q: Q,
}

impl Case {
    /// q is off by so many deviations, wider by a factor, and correlated.
    fn new(lines: &[Line], shift: f64, scale: f64, correlation: f64) -> Self {
        let d = lines.len();
        let mean: Vec<f64> = lines.iter().map(|l| l.mode() + shift * l.deviation() - l.offset).collect();
        let sds: Vec<f64> = lines.iter().map(|l| scale * l.deviation()).collect();
        let factor = match d {
            1 => vec![sds[0]],
            _ => vec![sds[0], correlation * sds[1], (1.0 - correlation * correlation).sqrt() * sds[1]],
        };
        Self { lines: lines.to_vec(), q: Gaussian::new(&mean, &factor).unwrap() }
    }

    fn model(&self, binomial: bool) -> Glm {
        let d = self.lines.len();
        let (mut entries, mut labels, mut weights, mut offsets) = (vec![], vec![], vec![], vec![]);
        let copies = if binomial { 1 } else { 2 };
        for (j, line) in self.lines.iter().enumerate() {
            for y in 0..copies {
                entries.extend((0..d).map(|i| f64::from(u8::from(i == j))));
                labels.push(f64::from(y));
                weights.push(line.weight);
                offsets.push(line.offset);
            }
        }
        let design = Design::dense(labels.len(), d, &entries).unwrap();
        let precisions: Vec<f64> = self.lines.iter().map(|l| l.precision).collect();
        let prior = Prior::precisions(&precisions).unwrap();
        let model = if binomial {
            let trials: Vec<f64> = weights.iter().map(|w| 2.0 * w).collect();
            Glm::binomial(design, &weights, &trials, prior).unwrap()
        } else {
            Glm::logistic(design, &labels, prior).unwrap().with_weights(&weights).unwrap()
        };
        model.with_offsets(&offsets).unwrap()
    }

    /// The center of q in δ, of which m is the rounded difference.
    fn center(&self, j: usize) -> f64 {
        self.q.mean()[j] + self.lines[j].offset
    }

    fn sd(&self, j: usize) -> f64 {
        let row = &self.q.factor()[j * (j + 1) / 2..][..=j];
        row.iter().map(|c| c * c).sum::<f64>().sqrt()
    }

    fn kl(&self) -> f64 {
        let d = self.lines.len();
        let log_det: f64 = (0..d).map(|j| self.q.factor()[j * (j + 3) / 2].ln()).sum();
        let entropy = log_det + 0.5 * d as f64 * (1.0 + (2.0 * std::f64::consts::PI).ln());
        let each = self.lines.iter().enumerate();
        each.map(|(j, l)| l.mean_potential(self.center(j), self.sd(j)) + l.posterior().0).sum::<f64>()
            - entropy
    }

    /// At least f(q) − f*: another Gaussian is no better than the best one.
    fn gap(&self) -> f64 {
        self.kl() - Case::new(&self.lines, 0.0, 1.0, 0.0).kl()
    }
}

fn audited(target: &(dyn Target + Sync), q: &Q) -> Certificate {
    let audit = Audit { draws: 800, ..Audit::default() };
    audit.run(target, q, Seed(5)).unwrap().certificate().clone()
}

/// Bounds that are below the truth, in words.
fn violations(case: &Case, certificate: &Certificate) -> Vec<String> {
    let mut out = Vec::new();
    let mut check = |what: &str, claim: &Statement, truth: f64, slack: f64| {
        if let Some(bound) = claim.bound().filter(|&bound| bound < truth - slack) {
            out.push(format!("{what} ≤ {bound} by {:?}, truth {truth}", claim.key()));
        } else if claim.bound().is_none() && claim.reason().unwrap_or_default().is_empty() {
            out.push(format!("{what}: neither a bound nor a reason"));
        }
    };
    let kl = case.kl();
    check("KL", &certificate.kl, kl, 1e-9 * (1.0 + kl.abs()));
    check("gap", &certificate.gap, case.gap(), 1e-9 * (1.0 + kl.abs()));
    for (j, (line, moment)) in case.lines.iter().zip(&certificate.moments).enumerate() {
        let off = (line.posterior().1 - case.center(j)).abs();
        check("mean", &moment.mean_error, off, 1e-7 * case.sd(j));
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_claim_is_below_the_truth_at_any_magnitude(
        two in proptest::bool::ANY,
        binomial in proptest::bool::ANY,
        log_weights in (0.0..16.0f64, 0.0..15.6f64),
        log_offset in -1.0..10.0f64,
        shift in -6.0..6.0f64,
        scale in 0.4..2.5f64,
        correlation in -0.9..0.9f64,
    ) {
        let weight = |log: f64| 10f64.powf(if binomial { log.min(15.6) } else { log }).floor();
        // Below the first power an offset is none.
        let offset = if log_offset < 0.0 { 0.0 } else { -10f64.powf(log_offset) };
        let lines = [Line::new(weight(log_weights.0), offset), Line::new(weight(log_weights.1), 0.5 * offset)];
        let case = Case::new(&lines[..if two { 2 } else { 1 }], shift, scale, correlation);
        let certificate = audited(&case.model(binomial), &case.q);
        let found = violations(&case, &certificate);
        prop_assert!(found.is_empty(), "{lines:?} {:?}: {found:?}", case.q);
    }
}

#[test]
fn ordinary_answers_keep_their_claims() {
    for (weight, offset) in [(1.0, 0.0), (50.0, -3.0), (1e6, -100.0)] {
        let line = Line::new(weight, offset);
        for (shift, most) in [(0.0, 0.7), (0.3, 1.2)] {
            let case = Case::new(&[line], shift, 1.0, 0.0);
            let certificate = audited(&case.model(false), &case.q);
            assert!(violations(&case, &certificate).is_empty());
            let bound = certificate.kl.bound().unwrap();
            assert!(bound < most, "w = {weight}, o = {offset}, {shift}: {bound}, truth {}", case.kl());
        }
    }
}

/// A binomial row of 8·10¹⁵ trials: V is a few dozen nats, and a difference of numbers of 5·10¹⁵.
fn many_trials() -> Case {
    Case::new(&[Line { precision: 1.0, weight: 4e15, offset: 0.0 }], 3.0, 1.0, 0.0)
}

#[test]
fn constants_that_cancel_do_not_make_a_claim_too_small() {
    let case = many_trials();
    let truth = case.kl();
    assert!((truth - 4.5).abs() < 0.05, "{truth}");
    let certificate = audited(&case.model(true), &case.q);
    assert_eq!(violations(&case, &certificate), Vec::<String>::new());
}

/// Ĝ of draws at their best y, from the model's own values and from exact ones, with an allowance for the values.
fn gaps(case: &Case, lost: f64) -> Vec<[f64; 2]> {
    let (model, line) = (case.model(true), case.lines[0]);
    let (m, c) = (case.q.mean()[0], case.q.factor()[0]);
    let slope = |z: f64| c * (line.precision * z + line.weight * (0.5 * z).tanh());
    let value = |z: f64| -model.log_density(&[z], &mut [0.0]).unwrap();
    let gap = |k: u32| {
        let x = -4.0 + 0.05 * f64::from(k);
        let (mut low, mut high) = (-40.0, 40.0);
        for _ in 0..200 {
            let y = 0.5 * (low + high);
            if slope(m + c * y) > x { high = y } else { low = y }
        }
        // Both ends are the doubles where V is taken, so that nothing but its own rounding is left.
        let z = [m + c * x, m + c * low];
        let along = x * (z[1] - z[0]) / c;
        let exact = line.potential(z[0]) - line.potential(z[1]) + along;
        [theory::transport_gap(value(z[0]), value(z[1]), along, 0.0, lost), exact]
    };
    (0..160).map(gap).collect()
}

#[test]
fn the_values_of_many_trials_are_within_their_allowance() {
    let case = many_trials();
    let allowed = case.model(true).rounding(&case.q, &[60.0]).unwrap().unwrap()[0].value;
    assert!(gaps(&case, 2.0 * allowed).iter().all(|[bound, truth]| bound >= truth));
    // And not by a word that says nothing: Σ|terms| is 5·10¹⁵, of which a double has 0.6 as its last place.
    assert!(allowed > 1.0 && allowed < 2e3, "{allowed}");
}

#[test]
fn twin_without_the_allowance_of_the_values_a_claim_is_false() {
    let found = gaps(&many_trials(), 0.0);
    let below = found.iter().filter(|[bound, truth]| bound < truth).count();
    assert!(below > 0, "the planted bug was not seen");
}

/// y = 1e10 observed with noise 1e-8: doubles near 1e10 are 2e-6 apart, two hundred deviations.
fn unresolved(m: f64) -> (Glm, Q, f64) {
    let (y, noise, sd) = (1e10, 1e-8, 1e-8);
    let design = Design::dense(1, 1, &[1.0]).unwrap();
    let model = Glm::linear(design, &[y], noise, Prior::precision(1.0).unwrap()).unwrap();
    let q = Gaussian::new(&[m], &[sd]).unwrap();
    // The model's noise precision is the double nearest to 1/noise².
    let theta = 1.0 / (noise * noise);
    let (precision, distance) = (1.0 + theta, (m - y) + y / (1.0 + theta));
    let ratio = precision * sd * sd;
    let kl = 0.5 * (ratio + precision * distance * distance - 1.0 - ratio.ln());
    (model, q, kl)
}

#[test]
fn draws_that_doubles_do_not_resolve_prove_nothing_small() {
    for m in [1e10, 1e10 - 1e-6, 1e10 - 2e-6, 1e10 + 4e-6] {
        let (model, q, truth) = unresolved(m);
        let certificate = audited(&model, &q);
        for claim in [&certificate.kl, &certificate.gap] {
            assert!(
                claim.bound().is_none_or(|bound| bound >= truth),
                "{m}: {:?}, truth {truth}",
                claim.bound()
            );
            assert!(claim.bound().is_some() || claim.reason().is_some());
        }
        assert!(truth > 1e3, "{truth}");
    }
}

#[test]
fn twin_without_the_allowance_of_the_draws_a_claim_is_false() {
    let mut found = 0;
    for m in [1e10, 1e10 - 1e-6, 1e10 - 2e-6, 1e10 + 4e-6] {
        let (model, q, truth) = unresolved(m);
        let grounds = audited(&model, &q).grounds.clone();
        let (Some(mean), Some(lipschitz)) = (grounds.global_fisher_mean, grounds.global_lipschitz) else {
            continue;
        };
        let delta = 0.5 * grounds.failure_probability;
        let fisher = theory::fisher_upper(mean, lipschitz, grounds.draws, delta).unwrap();
        found += usize::from(theory::kl(fisher) < truth);
    }
    assert!(found > 0, "the planted bug was not seen");
}

#[test]
fn the_evidence_of_many_trials_covers_the_truth() {
    // A uniform prior on the share would give 1/(n+1); this one is N(0, 1) on the logit, and k = n/2: p(k) ≈ φ(0)·4/n.
    for log in [1.0f64, 3.0, 6.0, 10.0, 13.0, 15.0] {
        let n = (2.0 * 10f64.powf(log)).floor();
        let case = Case::new(&[Line { precision: 1.0, weight: 0.5 * n, offset: 0.0 }], 0.0, 1.0, 0.0);
        let evidence = audited(&case.model(true), &case.q).evidence.clone();
        // log C(n, n/2) − n log 2 = −½ log(πn/2) + O(1/n), Stirling.
        let stirling = -0.5 * (0.5 * std::f64::consts::PI * n).ln() - 0.25 / n;
        let truth = stirling + case.lines[0].posterior().0 - 0.5 * (2.0 * std::f64::consts::PI).ln();
        let slack = 1e-8 + 0.01 / (n * n);
        assert!(evidence.lower().is_none_or(|x| x <= truth + slack), "n = {n}: {evidence:?} {truth}");
        assert!(evidence.upper().is_none_or(|x| x >= truth - slack), "n = {n}: {evidence:?} {truth}");
        assert!(
            log > 7.0 || evidence.lower().is_some_and(|x| x > truth - 0.1),
            "n = {n}: {evidence:?} {truth}"
        );
    }
}

#[test]
fn the_model_is_that_of_its_doubles() {
    // fl(1/sd²) is what is certified: the curvature is that number and no other.
    let design = Design::dense(1, 1, &[1.0]).unwrap();
    let sd = 0.1;
    let model = Glm::logistic(design, &[1.0], Prior::scale(sd).unwrap()).unwrap();
    let convexity = model.curvature().unwrap().unwrap().convexity();
    assert_eq!(convexity.to_bits(), (1.0 / (sd * sd)).to_bits());
    let mut hessian = Matrix::zeros(1, 1);
    assert!(model.hessian(&[1e3], &mut hessian).unwrap());
    assert!((-hessian[(0, 0)] - convexity).abs() <= 1e-10);
}
