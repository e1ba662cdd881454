//! K with a bound of what of p is above Kq: for draws of min(p, Kq) [exact-draws].

use crate::base::draws::Seed;
use crate::base::error::Result;
use crate::base::gaussian::{Gaussian, Triangular};
use crate::certify::audit::image::Image;
use crate::certify::audit::residual::{Residuals, go_on};
use crate::certify::audit::{Audit, Session};
use crate::certify::exact_draws::{Cap, ExactDraws};
use crate::target::{Evaluator, trusted_curvature};

impl<'m> ExactDraws<'m> {
    /// Draws with a proved total variation from the posterior, where exact ones cost too much: of min(p, Kq), q as proposed.
    /// ```text
    /// TV(p, min(p̃, Kq)/∫min(p̃, Kq)) ≤ ∫(p̃ − Kq)₊/∫p̃
    /// ```
    /// which the audit measures from above [sharp-kl]: the bound holds with its confidence. K is chosen on the audit's pilot draws.
    /// Refuses where `most` is not proved.
    pub fn near(
        target: impl Into<Evaluator<'m>>,
        q: &Gaussian<Triangular>,
        audit: &Audit,
        most: f64,
        seed: Seed,
    ) -> Result<Self> {
        let confidence = 1.0 - audit.failure_probability;
        Self::capped(target.into(), q, (most, confidence), seed, |target, q| audit.cap(target, q, seed))
    }
}

impl Audit {
    /// Measures them for a target in the coordinates of its audits; `None` where the route proves nothing.
    fn cap(&self, target: Evaluator<'_>, q: &Gaussian<Triangular>, seed: Seed) -> Result<Option<Cap>> {
        let Some(curvature) = trusted_curvature(target.target())? else { return Ok(None) };
        let mut between = go_on;
        let mut session = Session::new(self, target, (q, Image::EXACT), seed, curvature, &mut between)?;
        let Some(metric) = session.lower_metric() else { return Ok(None) };
        let residuals = Residuals::new(target, q)?;
        let delta = session.delta;
        let Some(sharp) = session.consider_sharp(&residuals, &metric, f64::INFINITY, delta)? else {
            return Ok(None);
        };
        let Some(mass) = session.measure_sharp(&residuals, &metric, &sharp, 0)? else { return Ok(None) };
        let total_variation = mass.beyond / mass.lower * (1.0 + 1e-12);
        // What is kept of p̃ is at least its mass without what is above.
        let proposals = sharp.cap.exp() / (mass.lower - mass.beyond).max(0.0);
        let cap = Cap { log_k: sharp.cap, f: sharp.constant, total_variation, proposals };
        Ok(total_variation.is_finite().then_some(cap))
    }
}
