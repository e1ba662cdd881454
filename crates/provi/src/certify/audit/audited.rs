//! The result of an audit, which can bound the error of any linear functional.

use super::bounds::Bounds;
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::stop;
use crate::certify::certificate::{Certificate, Statement};
use crate::certify::functional::{
    EveryBound, GlobalBound, LocalBound, MomentBounds, MomentBoundsFields, PosteriorMoments,
};
use crate::target::standard::Standard;
use crate::target::watchdog::Violation;
use crate::theory::certificate as theory;

/// What is proved about one q. It can bound the error of any linear functional. Its certificate can be read but not
/// changed.
/// ```compile_fail,E0616
/// fn forge(mut audited: provi::audit::Audited, better: provi::Certificate) {
///     audited.certificate = better;
/// }
/// ```
#[derive(Debug)]
pub struct Audited {
    pub(super) certificate: Certificate,
    pub(super) bounds: Bounds,
    pub(super) log_ratios: Vec<f64>,
    /// Why every statement was withdrawn, if it was.
    pub(super) revoked: Option<String>,
}

/// Prints the certificate.
impl std::fmt::Display for Audited {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.certificate.fmt(f)
    }
}

impl Audited {
    /// The certificate.
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// The same result, with every statement withdrawn if the declared curvature was contradicted.
    pub(crate) fn unless(mut self, violation: Option<Violation>) -> Self {
        if let Some(violation) = violation {
            self.revoke(&violation.to_string());
        }
        self
    }

    /// log p(z, x) − log q(z) at the audit's first draws of q: what [`estimate`](crate::estimate::estimate) would
    /// evaluate, at no further cost. At most 20 000 numbers, fewer if the audit made fewer draws, and none if it
    /// made none or was selected by its outcome.
    pub fn log_ratios(&self) -> &[f64] {
        &self.log_ratios
    }

    /// Marks an audit that was chosen for its outcome. Its draws are therefore biased, and its log ratios are
    /// dropped.
    pub(crate) fn selected(mut self) -> Self {
        self.log_ratios.clear();
        self
    }

    /// Withdraws every statement, for example because a declared constant proved wrong.
    pub fn revoke(&mut self, reason: &str) {
        self.revoked = Some(reason.to_owned());
        self.certificate.revoke(reason);
        self.bounds = Bounds::nothing(&self.bounds.q, reason);
    }

    /// The same for q, whose image under the map was audited.
    pub(super) fn through(mut self, map: &Standard, q: &Gaussian<Triangular>) -> Self {
        self.bounds.map = Some(map.clone());
        self.bounds.means = q.mean().to_vec();
        let dim = self.bounds.q.dim();
        for (i, moment) in self.certificate.0.moments.iter_mut().enumerate() {
            let mut v = vec![0.0; dim];
            v[i] = 1.0;
            [moment.mean_error, moment.sd_error] = self.bounds.functional(&v);
        }
        self
    }

    /// Bounds of |E_p vᵀz − vᵀm| and |sd_p vᵀz − ‖Cᵀv‖| for any v [cert-moments], [local-moments].
    pub fn functional(&self, v: &[f64]) -> Result<[Statement; 2]> {
        let d = self.bounds.q.dim();
        if v.len() != d {
            return Err(Error::Shape { what: "functional", found: v.len(), expected: d });
        }
        Ok(self.bounds.functional(v))
    }

    /// The posterior's own means and standard deviations, each with what it is off by at most [sharp-moments]; none where they were not
    /// measured.
    /// ```
    /// use provi::{Auto, Audit, Design, Seed, target::{Glm, Prior}};
    ///
    /// let design = Design::dense(4, 2, &[1.0, 0.5, 1.0, -1.5, 1.0, 2.0, 1.0, -0.3])?;
    /// let target = Glm::logistic(design, &[1.0, 0.0, 1.0, 0.0], Prior::scale(1.0)?)?;
    /// let answer = Auto::default().run(&target, Seed(0))?;
    /// let audited = Audit::default().run(&target, &answer.fit.gaussian, Seed(1))?;
    /// let posterior = audited.posterior_moments().expect("measured for a logistic regression");
    /// assert!(posterior.mean_error[0] < 0.1 * posterior.sd[0]);
    /// # Ok::<(), provi::Error>(())
    /// ```
    pub fn posterior_moments(&self) -> Option<PosteriorMoments> {
        self.bounds.posterior()
    }

    /// Bounds of what [`Audit::ask`](super::Audit::ask) was asked, from below and from above, in the order of the questions; empty where
    /// they were not measured [measured-events].
    /// ```
    /// use provi::{Auto, Audit, Design, Seed, audit::Question, target::{Glm, Prior}, theory::bounded::Law};
    ///
    /// let design = Design::dense(4, 2, &[1.0, 0.5, 1.0, -1.5, 1.0, 2.0, 1.0, -0.3])?;
    /// let target = Glm::logistic(design, &[1.0, 0.0, 1.0, 0.0], Prior::scale(1.0)?)?;
    /// let q = Auto::default().run(&target, Seed(0))?.fit.gaussian;
    /// // The probability of a success at x = 1.
    /// let ask = Question { weights: vec![1.0, 1.0], offset: 0.0, law: Law::Logistic };
    /// let audited = Audit::default().ask(&target, &q, Seed(1), &[ask])?;
    /// let [low, high] = audited.answers()[0];
    /// assert!(0.5 < low && low < high && high < low + 0.03);
    /// # Ok::<(), provi::Error>(())
    /// ```
    pub fn answers(&self) -> &[[f64; 2]] {
        self.bounds.answers()
    }

    /// The same bounds as numbers that can be kept, so that a functional thought of later has its errors without another
    /// audit. Cost: two products and two factorisations of d×d matrices.
    pub fn moment_bounds(&self) -> Result<MomentBounds> {
        stop::phase("the bounds of the moments", || self.kept_bounds())
    }

    fn kept_bounds(&self) -> Result<MomentBounds> {
        let bounds = &self.bounds;
        let mut factor = bounds.q.factor_matrix();
        if let Some(map) = &bounds.map {
            factor = map.own_rows(&factor);
        }
        let mut global = None;
        if let Some((metric, provenance)) = &bounds.metric {
            let fisher = bounds.fisher.map(|(fisher, grounds)| (theory::kl(fisher), grounds));
            // A bound that is not finite proves nothing, and a file cannot hold it.
            let kls = [fisher, bounds.kl].into_iter().flatten().filter(|(kl, _)| kl.is_finite());
            if let Some((kl, grounds)) = kls.min_by(|a, b| a.0.total_cmp(&b.0)) {
                let provenance = provenance.weakest(grounds);
                global = Some(GlobalBound { metric: metric.spread(&factor)?, kl, provenance });
            }
        }
        let mut local = None;
        if let Some((metric, ball, provenance)) = &bounds.local
            && ball.outside.moments.iter().chain([&ball.fisher]).all(|x| x.is_finite())
        {
            local = Some(LocalBound {
                metric: metric.spread(&factor)?,
                fisher: ball.fisher,
                outside: ball.outside.moments,
                alpha: ball.alpha,
                alpha2: ball.alpha2,
                provenance: *provenance,
            });
        }
        let (confidence, reason) = (bounds.confidence, bounds.reason.clone());
        let every = bounds.every.map(|([mean, sd], provenance)| EveryBound { mean, sd, provenance });
        Ok(MomentBounds(MomentBoundsFields { global, local, every, confidence, reason }))
    }
}
