//! What an audit keeps, to answer for any linear functional.

use super::metric::Metric;
use super::sharp::Standing;
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::norm;
use crate::certify::certificate::Statement;
use crate::target::curvature::Provenance;
use crate::target::rounding::deviations;
use crate::target::standard::Standard;
use crate::theory::certificate::{self as theory, Ball};

/// The measured constants that bound every functional.
#[derive(Debug)]
pub(super) struct Bounds {
    /// In the coordinates of the audit.
    pub(super) q: Gaussian<Triangular>,
    /// From those to the user's, if they are others.
    pub(super) map: Option<Standard>,
    pub(super) reason: String,
    pub(super) confidence: f64,
    /// The H_lo metric.
    pub(super) metric: Option<(Metric, Provenance)>,
    /// F in it, where H_hi is known too.
    pub(super) fisher: Option<(f64, Provenance)>,
    pub(super) local: Option<(Metric, Ball, Provenance)>,
    /// A bound of KL(q‖p) by the local route or by transport, usable with the H_lo metric.
    pub(super) kl: Option<(f64, Provenance)>,
    /// How each coefficient stands under p, where that was measured.
    pub(super) standings: Option<(Vec<Standing>, Provenance)>,
}

impl Bounds {
    pub(super) fn nothing(q: &Gaussian<Triangular>, reason: &str) -> Self {
        Self {
            q: q.clone(),
            map: None,
            reason: reason.into(),
            confidence: 1.0,
            metric: None,
            fisher: None,
            local: None,
            kl: None,
            standings: None,
        }
    }

    /// Bounds of the errors of mean and sd of vᵀz, z in the user's coordinates.
    pub(super) fn functional(&self, v: &[f64]) -> [Statement; 2] {
        let one = self.coefficient(v);
        let v = self.map.as_ref().map_or_else(|| v.to_vec(), |map| map.pull(v));
        let mut pulled = vec![0.0; v.len()];
        provi_kernels::triangle::multiply_transposed(self.q.factor(), &v, &mut pulled);
        // Cᵀv is d sums of d products, and v may make them cancel.
        let sizes: f64 = deviations(&self.q).iter().zip(&v).map(|(sd, v)| sd * v.abs()).sum();
        let lost = (v.len() as f64 + 8.0) * f64::EPSILON * sizes;
        let mut out = [Statement::missing(&self.reason), Statement::missing(&self.reason)];
        let mut offer = |errors: [f64; 2], key: &str, provenance: Provenance| {
            for (out, error) in out.iter_mut().zip(errors) {
                let new = Statement::proved(error, self.confidence, key, provenance);
                *out = std::mem::replace(out, Statement::missing("")).or_better(new);
            }
        };
        if let Some((metric, provenance)) = &self.metric {
            let scale = metric.inverse_norm(&pulled, lost);
            let bounds = [self.fisher.map(|(fisher, grounds)| (0.5 * fisher, grounds)), self.kl];
            for (kl, grounds) in bounds.into_iter().flatten() {
                let error = theory::moment_error(scale, kl);
                offer([error; 2], "cert-moments", provenance.weakest(grounds));
            }
        }
        if let Some((metric, ball, provenance)) = &self.local {
            let [mean, sd] = ball.moments(norm(&pulled) + lost, metric.inverse_norm(&pulled, lost));
            offer([mean, sd + lost], "local-moments", *provenance);
        }
        if let Some((standing, provenance)) = one {
            let scale = norm(&pulled) * (1.0 + 1e-12) + lost;
            let [mean, sd] = standing.errors();
            offer([scale * mean + lost * (1.0 + mean), scale * sd + 2.0 * lost], "sharp-moments", provenance);
        }
        if let Some((sum, provenance)) = self.sum_of_means(&v) {
            offer([sum + lost, f64::INFINITY], "sharp-moments", provenance);
        }
        out
    }

    /// The mean of a combination is within the sum of its coefficients' errors, which hold together; v in the coordinates of the audit, so
    /// that the sum does not depend on units.
    fn sum_of_means(&self, v: &[f64]) -> Option<(f64, Provenance)> {
        let (standings, provenance) = self.standings.as_ref().filter(|(s, _)| s.len() >= v.len())?;
        let scales = deviations(&self.q);
        let errors = standings.iter().map(|standing| standing.errors()[0]);
        let sum: f64 = errors.zip(&scales).zip(v).map(|((error, sd), v)| error * sd * v.abs()).sum();
        Some((sum * (1.0 + 1e-9), *provenance))
    }

    /// How a functional stands that is a multiple of one coefficient.
    fn coefficient(&self, v: &[f64]) -> Option<(Standing, Provenance)> {
        let (standings, provenance) = self.standings.as_ref()?;
        let mut given = v.iter().enumerate().filter(|(_, x)| x.abs() > 0.0);
        match (given.next(), given.next()) {
            (Some((i, _)), None) => {
                // The intercept of the user stands behind those of the audit, where it is another.
                let mixed = self.map.as_ref().and_then(Standard::mixed) == Some(i);
                let place = if mixed { self.q.dim() } else { i };
                standings.get(place).map(|standing| (*standing, *provenance))
            }
            _ => None,
        }
    }
}
