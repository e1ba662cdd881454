//! An answer and what is proved about it.

use super::search::Search;
use crate::base::error::Result;
use crate::certify::audit::Audited;
use crate::certify::certificate::Certificate;
use crate::certify::functional::Functional;
use crate::sgd::fit::Fit;

/// An answer with what is proved about it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Certified {
    /// The answer.
    pub fit: Fit,
    /// What is proved about the answer. If the audit failed, nothing is proved, and this says why.
    pub audited: Audited,
    /// How a sampled search went.
    pub search: Search,
    /// Wall-clock seconds of all audits, including those made during the search.
    pub audit_seconds: f64,
}

/// The answer, and what is proved about it.
impl std::fmt::Display for Certified {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}\n\n{}", self.fit, self.certificate())
    }
}

impl Certified {
    /// The certificate: what is proved about the answer.
    pub fn certificate(&self) -> &Certificate {
        self.audited.certificate()
    }

    /// Any linear combination vᵀz: its mean and sd under q, the probability of its sign, and bounds on how much the
    /// posterior's values can differ.
    pub fn functional(&self, v: &[f64]) -> Result<Functional> {
        Functional::new(&self.fit.gaussian, v, self.audited.functional(v)?, self.certificate())
    }
}
