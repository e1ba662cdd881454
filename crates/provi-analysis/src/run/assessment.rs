//! The quality of an answer: its certificate, and estimates beside it.

use provi::audit::Audited;
use provi::estimate::{Estimates, USUAL_DRAWS, estimate};
use provi::functional::{MomentBounds, PosteriorMoments};
use provi::target::Evaluator;
use provi::trust::{Agreement, Trust, trust, trust_beside};
use provi::{Audit, Certificate, Gaussian, Pattern, Provenance, Seed, Target};

/// The fewest draws of an audit that the estimates use too. An audit makes so few only if the weights are nearly
/// equal, and fresh draws would cost as much again; or if it was stopped, and fresh draws would defeat the stop.
const ENOUGH: usize = 500;

/// A proved KL up to which the estimates are a formality: what they estimate is known to that many nats.
const KNOWN: f64 = 1e-3;

/// The draws worth making for estimates beside a certificate. On millions of rows each of them is a pass over the data. Where the curvature is
/// only declared, the estimates are a test of it, and none is saved.
fn worth_drawing(certificate: &Certificate) -> usize {
    let proved = certificate.kl.provenance() == Some(Provenance::Proved);
    match certificate.kl.bound().filter(|_| proved) {
        Some(kl) if kl <= KNOWN => ENOUGH,
        _ => USUAL_DRAWS,
    }
}

/// What is proved and what is estimated about one Gaussian.
#[derive(Clone, Debug)]
pub struct Assessment {
    /// The certificate; every bound in it is finite.
    pub certificate: Certificate,
    /// Bounds of the error of any contrast.
    pub moment_bounds: Option<MomentBounds>,
    /// The posterior's own means and standard deviations, if they were measured.
    pub posterior: Option<PosteriorMoments>,
    /// The estimates, or why there are none.
    pub estimates: std::result::Result<Estimates, String>,
    /// How far to trust the answer, or why that is unknown; `None` if the curvature of the target is its own theorem.
    pub trust: Option<std::result::Result<Trust, String>>,
}

/// Whether nothing is declared about the target's shape, so that nothing can be proved.
fn is_bare(target: &dyn Target) -> bool {
    target.expectations().is_none()
        && target.curvature().is_ok_and(|c| c.is_none())
        && target.lower_curvature().is_ok_and(|c| c.is_none())
}

/// Whether the target is a black box whose owner declares its curvature, so that what is proved rests on that word.
fn is_declared(target: &dyn Target) -> bool {
    let declared = |c: provi::Curvature| c.provenance() == Provenance::Declared;
    target.expectations().is_none() && target.lower_curvature().is_ok_and(|c| c.is_some_and(declared))
}

impl Assessment {
    /// Audits q, a member of a family. If the audit fails, the certificate proves nothing and says why; the answer is
    /// still valid.
    pub fn measure(
        target: Evaluator<'_>,
        q: &Gaussian,
        pattern: &Pattern,
        seed: Seed,
        audit: &Audit,
    ) -> Self {
        let audited =
            audit.run(target, q, seed).and_then(|audited| audited.within(target.target(), q, pattern));
        Self::after(audited, target, q, seed)
    }

    /// The assessment after an audit, made or failed.
    pub(crate) fn after(
        audited: provi::Result<Audited>,
        target: Evaluator<'_>,
        q: &Gaussian,
        seed: Seed,
    ) -> Self {
        match audited {
            Ok(audited) => Self::of(&audited, target, q, seed),
            Err(error) => {
                let reason = format!("the audit failed: {error}");
                let certificate = Certificate::nothing(&target.target().names(), &reason);
                let estimates = estimate(target, q, seed, USUAL_DRAWS);
                let estimates = estimates.map_err(|error| error.to_string());
                Self { estimates, ..Self::with(certificate, None, None) }
            }
        }
    }

    /// The assessment after an audit. If the audit made enough draws, the estimates use them without further
    /// evaluations; otherwise fresh draws.
    pub fn of(audited: &Audited, target: Evaluator<'_>, q: &Gaussian, seed: Seed) -> Self {
        Self::of_search(audited, target, q, seed, Agreement::default())
    }

    /// The same, with what the search says about its answer.
    pub fn of_search(
        audited: &Audited,
        target: Evaluator<'_>,
        q: &Gaussian,
        seed: Seed,
        agreement: Agreement,
    ) -> Self {
        if is_bare(target.target()) {
            let found = trust(target, q, seed, agreement).map_err(|error| error.to_string());
            let estimates = found.as_ref().map(|found| found.estimates).map_err(String::clone);
            let certificate = audited.certificate().clone();
            let plain = Self::with(certificate, audited.moment_bounds().ok(), audited.posterior_moments());
            return Self { estimates, trust: Some(found), ..plain };
        }
        // If numbers are too large or too small to be factored, there are no such bounds.
        let moment_bounds = audited.moment_bounds().ok();
        let estimates = match audited.log_ratios() {
            ratios if ratios.len() >= ENOUGH => Estimates::from_log_ratios(ratios),
            _ => estimate(target, q, seed, worth_drawing(audited.certificate())),
        };
        let estimates = estimates.map_err(|error| error.to_string());
        let trust = is_declared(target.target()).then(|| {
            let estimates = *estimates.as_ref().map_err(String::clone)?;
            trust_beside(audited.certificate(), estimates, target, q, seed, agreement)
                .map_err(|error| error.to_string())
        });
        let plain = Self::with(audited.certificate().clone(), moment_bounds, audited.posterior_moments());
        Self { estimates, trust, ..plain }
    }

    /// The assessment of a Gaussian with a sparse precision.
    pub(crate) fn of_sparse(certificate: Certificate) -> Self {
        let estimates = Err("weights of draws say nothing in so many dimensions".to_owned());
        Self { estimates, ..Self::with(certificate, None, None) }
    }

    /// The assessment of a mixture over scales.
    pub(crate) fn of_mixture(certificate: Certificate, posterior: Option<PosteriorMoments>) -> Self {
        let estimates = Err("the scales are integrated over: the sum over them is the estimate".to_owned());
        Self { estimates, ..Self::with(certificate, None, posterior) }
    }

    fn with(
        certificate: Certificate,
        moment_bounds: Option<MomentBounds>,
        posterior: Option<PosteriorMoments>,
    ) -> Self {
        let certificate = certificate.only_finite();
        Self { certificate, moment_bounds, posterior, estimates: Err(String::new()), trust: None }
    }
}
