//! What an answer is worth: its certificate, and the estimates beside it.

use provi::audit::Audited;
use provi::estimate::{Estimates, USUAL_DRAWS, estimate};
use provi::functional::MomentBounds;
use provi::target::Evaluator;
use provi::{Audit, Certificate, Gaussian, Seed};

/// Draws of an audit that serve the estimates as well. It makes so few only where the weights are nearly equal, and fresh
/// ones would cost as much again; or where it was told to end, and fresh ones would make that pointless.
const ENOUGH: usize = 500;

/// What is proved and what is estimated about one Gaussian.
#[derive(Clone, Debug)]
pub struct Assessment {
    /// Every bound in it is finite.
    pub certificate: Certificate,
    /// What bounds the error of any contrast.
    pub moment_bounds: Option<MomentBounds>,
    /// Or why there are none.
    pub estimates: std::result::Result<Estimates, String>,
}

impl Assessment {
    /// Audits q. An audit that fails leaves a certificate that claims nothing: the answer is still one.
    pub fn measure(target: Evaluator<'_>, q: &Gaussian, seed: Seed, audit: &Audit) -> Self {
        Self::after(audit.run(target, q, seed), target, q, seed)
    }

    /// What came of an audit.
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
                Self::with(certificate, None, estimates)
            }
        }
    }

    /// From an audit that was made. Its own draws are behind the estimates where it made enough of them, at no further
    /// evaluation; fresh ones otherwise.
    pub fn of(audited: &Audited, target: Evaluator<'_>, q: &Gaussian, seed: Seed) -> Self {
        // Numbers too large or too small to be factored bound nothing.
        let moment_bounds = audited.moment_bounds().ok();
        let estimates = match audited.log_ratios() {
            ratios if ratios.len() >= ENOUGH => Estimates::from_log_ratios(ratios),
            _ => estimate(target, q, seed, USUAL_DRAWS),
        };
        Self::with(audited.certificate().clone(), moment_bounds, estimates)
    }

    fn with(
        certificate: Certificate,
        moment_bounds: Option<MomentBounds>,
        estimates: provi::Result<Estimates>,
    ) -> Self {
        let estimates = estimates.map_err(|error| error.to_string());
        Self { certificate: certificate.only_finite(), moment_bounds, estimates }
    }
}
