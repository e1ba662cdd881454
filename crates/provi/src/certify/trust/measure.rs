//! The witnesses, measured by draws.

use super::elsewhere::{self, Outside, Seen, Unusual};
use super::limits::NEARLY_EQUAL;
use super::wide::{self, Farther, Weighed};
use super::{Agreement, Proof, Verdict, Witnesses};
use crate::base::draws::{Draws, Purpose, Seed};
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::norm;
use crate::base::stop;
use crate::certify::certificate::Certificate;
use crate::certify::estimate::Estimates;
use crate::target::evaluate::Evaluator;
use provi_kernels::dot;

/// Draws of q after which k̂ is looked at. It has settled where it changed by less than [`SETTLED`] and is far from
/// its limit, or where the weights are nearly equal.
const LOOKS: [usize; 3] = [4_000, 8_000, 20_000];
const SETTLED: f64 = 0.05;
const FAR: f64 = 0.5;
/// Draws evaluated at a time.
pub(super) const BATCH: usize = 250;

/// The witnesses, the estimates from the same draws, and the verdict.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Trust {
    /// The estimates.
    pub estimates: Estimates,
    /// The witnesses.
    pub witnesses: Witnesses,
    /// The verdict.
    pub verdict: Verdict,
    /// Its reasons in words.
    pub reasons: Vec<String>,
}

impl std::fmt::Display for Trust {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.verdict, self.reasons.join("; "))
    }
}

/// Measures how far q can be trusted; a pure function of the seed. Makes about 25 000 evaluations, and up to 5000 and 16 for each
/// dimension more where the climbs are long and end in many places.
///
/// ```
/// use provi::{Auto, Seed, target::Closure, trust::{Agreement, Verdict, trust}};
///
/// let target = Closure::new(1, |z: &[f64], gradient: &mut [f64]| {
///     gradient[0] = -2.0 * (z[0] - 3.0);
///     -(z[0] - 3.0).powi(2)
/// })?;
/// let answer = Auto::default().run(&target, Seed(1))?;
/// let found = trust(&target, &answer.fit.gaussian, Seed(1), answer.search.agreement())?;
/// assert_eq!(found.verdict, Verdict::Good);
/// # let _ = Agreement::default();
/// # Ok::<(), provi::Error>(())
/// ```
pub fn trust<'t>(
    target: impl Into<Evaluator<'t>>,
    q: &Gaussian<Triangular>,
    seed: Seed,
    agreement: Agreement,
) -> Result<Trust> {
    measured(target.into(), q, seed, agreement, None)
}

/// The same beside a certificate of a target that declares its curvature. If it proves that the means and standard
/// deviations are near enough, nothing is measured and `estimates` stand as they are.
pub fn trust_beside<'t>(
    certificate: &Certificate,
    estimates: Estimates,
    target: impl Into<Evaluator<'t>>,
    q: &Gaussian<Triangular>,
    seed: Seed,
    agreement: Agreement,
) -> Result<Trust> {
    let proof = Proof::of(certificate, q);
    if !proof.is_some_and(|proof| proof.is_enough()) {
        return measured(target.into(), q, seed, agreement, proof);
    }
    let witnesses = Witnesses {
        draws: estimates.draws,
        log_ratio_sd: f64::NAN,
        pareto_k: Some(estimates.pareto_k).filter(|k| k.is_finite()),
        effective_draws: estimates.effective_draws,
        kl: estimates.kl,
        kl_se: estimates.kl_se,
        mean_shift: f64::NAN,
        sd_change: f64::NAN,
        residual: f64::NAN,
        residual_se: f64::NAN,
        wide_excess: f64::NAN,
        wide_excess_se: f64::NAN,
        elsewhere: f64::NAN,
        elsewhere_se: f64::NAN,
        agreement,
        proof,
    };
    let (verdict, reasons) = witnesses.verdict();
    Ok(Trust { estimates, witnesses, verdict, reasons })
}

fn measured(
    target: Evaluator<'_>,
    q: &Gaussian<Triangular>,
    seed: Seed,
    agreement: Agreement,
    proof: Option<Proof>,
) -> Result<Trust> {
    if target.dim() != q.dim() {
        return Err(Error::Shape { what: "Gaussian", found: q.dim(), expected: target.dim() });
    }
    stop::phase("the estimates", || {
        let mut own = Own::new(target, q, seed)?;
        let estimates = estimates_of(|count| {
            own.draw(count)?;
            Ok(own.seen.ratios.clone())
        })?;
        let moments = (q.mean(), &q.standard_deviations()[..]);
        let (residual, residual_se) = own.residual();
        let mut outside = Outside::default();
        let (wide_excess, wide_excess_se, stretched) = wide(target, q, seed, &estimates, &mut outside)?;
        let (mean_shift, sd_change) = wide::moved(q, &own.stream, &own.seen, &stretched, moments)?;
        let seen = Seen {
            stream: &own.stream,
            ratios: &own.seen.ratios,
            log_evidence: estimates.log_evidence,
            unusual: &own.unusual,
        };
        elsewhere::far(target, q, &own.stream, &mut outside)?;
        let (elsewhere, elsewhere_se) = elsewhere::look(target, q, &seen, outside)?;
        let witnesses = Witnesses {
            draws: estimates.draws,
            log_ratio_sd: spread(&own.seen.ratios),
            pareto_k: Some(estimates.pareto_k).filter(|k| k.is_finite()),
            effective_draws: estimates.effective_draws,
            kl: estimates.kl,
            kl_se: estimates.kl_se,
            mean_shift,
            sd_change,
            residual,
            residual_se,
            wide_excess,
            wide_excess_se,
            elsewhere,
            elsewhere_se,
            agreement,
            proof,
        };
        let (verdict, reasons) = witnesses.verdict();
        Ok(Trust { estimates, witnesses, verdict, reasons })
    })
}

/// Makes draws until k̂ has settled: `draw` makes them until there are so many, and returns their log ratios.
pub(super) fn estimates_of(mut draw: impl FnMut(usize) -> Result<Vec<f64>>) -> Result<Estimates> {
    let mut before = f64::INFINITY;
    let mut estimates = None;
    for count in LOOKS {
        let ratios = draw(count)?;
        let found = Estimates::from_log_ratios(&ratios)?;
        let settled = (found.pareto_k - before).abs() < SETTLED && found.pareto_k < FAR;
        before = found.pareto_k;
        estimates = Some(found);
        if settled || spread(&ratios) < NEARLY_EQUAL {
            break;
        }
    }
    estimates.ok_or(Error::Empty { what: "draws" })
}

/// The standard deviation; infinite if an entry is.
pub(super) fn spread(x: &[f64]) -> f64 {
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    if mean.is_infinite() {
        return f64::INFINITY;
    }
    (x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt()
}

/// Draws of q with their log ratios, and sums of the residual over them.
struct Own<'a> {
    target: Evaluator<'a>,
    q: &'a Gaussian<Triangular>,
    stream: Draws,
    normaliser: f64,
    seen: Weighed,
    farther: Farther,
    /// Sums of s̃ = Cᵀ∇V − u and of its squares. s̃ has the mean of Cᵀ∇V and less noise.
    sums: Vec<f64>,
    squares: Vec<f64>,
    finite: usize,
    unusual: Unusual,
}

impl<'a> Own<'a> {
    fn new(target: Evaluator<'a>, q: &'a Gaussian<Triangular>, seed: Seed) -> Result<Self> {
        let d = q.dim();
        Ok(Self {
            target,
            q,
            stream: Draws::new(seed, Purpose::Estimate),
            normaliser: q.log_det()? + 0.5 * d as f64 * (2.0 * std::f64::consts::PI).ln(),
            seen: Weighed::default(),
            farther: Farther::new(q),
            sums: vec![0.0; d],
            squares: vec![0.0; d],
            finite: 0,
            unusual: Unusual::default(),
        })
    }

    /// Makes draws until there are `count`.
    fn draw(&mut self, count: usize) -> Result<()> {
        let d = self.q.dim();
        let mut scratch = self.target.scratch(BATCH);
        let (mut u, mut z, mut pulls) = (vec![0.0; BATCH * d], vec![0.0; BATCH * d], vec![0.0; BATCH * d]);
        let mut whitened = vec![0.0; BATCH * d];
        while self.seen.ratios.len() < count {
            let begin = self.seen.ratios.len();
            let size = BATCH.min(count - begin);
            let (u, z) = (&mut u[..size * d], &mut z[..size * d]);
            let (pulls, whitened) = (&mut pulls[..size * d], &mut whitened[..size * d]);
            for (k, u) in u.chunks_exact_mut(d).enumerate() {
                self.stream.fill((begin + k) as u64, 0, u);
            }
            self.q.transport(u, z);
            let mut values = vec![0.0; size];
            self.target.evaluate(z, &mut values, pulls, &mut scratch)?;
            stop::check()?;
            pulls.iter_mut().for_each(|x| *x = -*x);
            provi_kernels::triangle::pull_back(self.q.factor(), pulls, whitened);
            for (k, value) in values.into_iter().enumerate() {
                let (u, s) = (&u[k * d..][..d], &whitened[k * d..][..d]);
                if value.is_nan() || value == f64::INFINITY {
                    let norm = norm(&z[k * d..][..d]);
                    return Err(Error::TargetNotFinite {
                        quantity: "log-density",
                        value,
                        step: 0,
                        draw: begin + k,
                        norm,
                    });
                }
                self.seen.ratios.push(value + 0.5 * dot(u, u) + self.normaliser);
                self.seen.farther.push(self.farther.at(self.q, &z[k * d..][..d]));
                if s.iter().all(|x| x.is_finite()) {
                    self.finite += 1;
                    let mut length = 0.0;
                    for i in 0..d {
                        let s = s[i] - u[i];
                        self.sums[i] += s;
                        self.squares[i] += s * s;
                        length += s * s;
                    }
                    self.unusual.see(begin + k, length.sqrt(), d);
                }
            }
        }
        Ok(())
    }

    /// The largest coordinate of the mean of s̃, with its standard error.
    fn residual(&self) -> (f64, f64) {
        let n = self.finite.max(2) as f64;
        let of = |i: usize| {
            let mean = self.sums[i] / n;
            (mean.abs(), ((self.squares[i] / n - mean * mean).max(0.0) / (n - 1.0)).sqrt())
        };
        (0..self.sums.len()).map(of).fold((0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a })
    }
}

/// How much more mass draws from farther out see, with its standard error, and the draws. The log density of draw k is
/// that of N(0, I) before the stretch, minus the logarithm of its volume.
fn wide(
    target: Evaluator<'_>,
    q: &Gaussian<Triangular>,
    seed: Seed,
    own: &Estimates,
    outside: &mut Outside,
) -> Result<(f64, f64, Weighed)> {
    let d = q.dim();
    let stream = Draws::new(seed, Purpose::Estimate);
    let normaliser = q.log_det()? + 0.5 * d as f64 * (2.0 * std::f64::consts::PI).ln();
    let mut scratch = target.scratch(BATCH);
    let (mut farther, mut found) = (Farther::new(q), Weighed::default());
    let mut weights = Vec::with_capacity(wide::DRAWS);
    for begin in (0..wide::DRAWS).step_by(BATCH) {
        let (mut u, mut z, mut gradients) =
            (vec![0.0; BATCH * d], vec![0.0; BATCH * d], vec![0.0; BATCH * d]);
        let mut logs = vec![0.0; BATCH];
        for (k, (u, log)) in u.chunks_exact_mut(d).zip(&mut logs).enumerate() {
            stream.fill((begin + k) as u64, 2, u);
            let how = wide::stretch(begin + k, d);
            *log = -0.5 * dot(u, u) - normaliser - how.log_volume(d);
            how.apply(q, u);
        }
        q.transport(&u, &mut z);
        let mut values = vec![0.0; BATCH];
        target.evaluate(&z, &mut values, &mut gradients, &mut scratch)?;
        stop::check()?;
        outside.see_all(q, &z, &u, &values, &gradients);
        for (k, (value, log)) in values.into_iter().zip(logs).enumerate() {
            let (u, z) = (&u[k * d..][..d], &z[k * d..][..d]);
            // A point without density has no weight.
            let value = if value.is_nan() || value == f64::INFINITY { f64::NEG_INFINITY } else { value };
            weights.push((value - log - own.log_evidence).exp());
            found.ratios.push(value + 0.5 * dot(u, u) + normaliser);
            found.farther.push(farther.at(q, z));
        }
        found.points.extend(z);
    }
    let n = weights.len() as f64;
    let mean = weights.iter().sum::<f64>() / n;
    let square: f64 = weights.iter().map(|w| (w - mean).powi(2)).sum();
    let se = (square / (n * (n - 1.0))).sqrt().hypot(own.log_evidence_se * mean);
    Ok((mean - 1.0, se, found))
}

#[cfg(test)]
mod tests;
