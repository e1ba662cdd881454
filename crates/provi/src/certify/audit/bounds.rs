//! What an audit keeps in order to bound the error of any linear functional.

use super::metric::Metric;
use super::sharp::Standing;
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::norm;
use crate::certify::certificate::Statement;
use crate::certify::functional::PosteriorMoments;
use crate::target::curvature::Provenance;
use crate::target::rounding::deviations;
use crate::target::standard::Standard;
use crate::theory::certificate::{self as theory, Ball};

/// The measured constants that bound every functional.
#[derive(Debug)]
pub(super) struct Bounds {
    /// The audited Gaussian, in the coordinates of the audit.
    pub(super) q: Gaussian<Triangular>,
    /// The map from those coordinates to the user's, if they differ.
    pub(super) map: Option<Standard>,
    /// q's means in the user's coordinates.
    pub(super) means: Vec<f64>,
    pub(super) reason: String,
    pub(super) confidence: f64,
    /// The H_lo metric.
    pub(super) metric: Option<(Metric, Provenance)>,
    /// F in it, if H_hi is known too.
    pub(super) fisher: Option<(f64, Provenance)>,
    pub(super) local: Option<(Metric, Ball, Provenance)>,
    /// A bound of KL(q‖p) by the local route or by transport, for use with the H_lo metric.
    pub(super) kl: Option<(f64, Provenance)>,
    /// The measured moments of each coefficient under p, if they were measured.
    pub(super) standings: Option<(Vec<Standing>, &'static str, Provenance)>,
    /// Bounds of probabilities: the signs of the coefficients, then what was asked.
    pub(super) events: Option<Vec<[f64; 2]>>,
    /// How many of them were asked.
    pub(super) asked: usize,
    /// Bounds of the errors of mean and deviation of every linear combination, in deviations of q.
    pub(super) every: Option<([f64; 2], Provenance)>,
}

/// What two statements leave of a number: a finite interval, and at most so far from `about`. Where they contradict each other, the interval.
fn narrowed([low, high]: [f64; 2], about: f64, reach: Option<f64>) -> [f64; 2] {
    let Some(reach) = reach.filter(|_| low.is_finite() && high.is_finite()) else { return [low, high] };
    let reach = reach * (1.0 + 1e-12) + 4.0 * f64::EPSILON * about.abs();
    let both = [low.max(about - reach), high.min(about + reach)];
    if both[0] <= both[1] { both } else { [low, high] }
}

impl Bounds {
    pub(super) fn nothing(q: &Gaussian<Triangular>, reason: &str) -> Self {
        Self {
            q: q.clone(),
            map: None,
            means: q.mean().to_vec(),
            reason: reason.into(),
            confidence: 1.0,
            metric: None,
            fisher: None,
            local: None,
            kl: None,
            standings: None,
            events: None,
            asked: 0,
            every: None,
        }
    }

    /// v in the coordinates of the audit, Cᵀv, and what rounding may have taken from ‖Cᵀv‖.
    fn pulled(&self, v: &[f64]) -> (Vec<f64>, Vec<f64>, f64) {
        let v = self.map.as_ref().map_or_else(|| v.to_vec(), |map| map.pull(v));
        let mut pulled = vec![0.0; v.len()];
        provi_kernels::triangle::multiply_transposed(self.q.factor(), &v, &mut pulled);
        // Cᵀv is d sums of d products, which may cancel.
        let sizes: f64 = deviations(&self.q).iter().zip(&v).map(|(sd, v)| sd * v.abs()).sum();
        let lost = (v.len() as f64 + 8.0) * f64::EPSILON * sizes;
        (v, pulled, lost)
    }

    /// The posterior's own means and deviations, where all of them were measured. They are the intervals behind the errors that
    /// [`Bounds::functional`] makes of the same measurements, in the user's coordinates, as far as the other routes do not prove less wide ones.
    pub(super) fn posterior(&self) -> Option<PosteriorMoments> {
        let dim = self.q.dim();
        let (mut weakest, mut of_moments) = (None, "");
        let mut v = vec![0.0; dim];
        let mut intervals = Vec::with_capacity(dim);
        for (i, mean) in self.means.iter().enumerate() {
            v[i] = 1.0;
            let (standing, key, provenance) = self.coefficient(&v)?;
            of_moments = key;
            let (_, pulled, lost) = self.pulled(&v);
            let others = self.functional(&v);
            v[i] = 0.0;
            weakest = Some(weakest.map_or(provenance, |w| provenance.weakest(w)));
            let sd = norm(&pulled);
            let mut measured = standing.interval(*mean, sd, lost);
            for ((interval, about), other) in measured.iter_mut().zip([*mean, sd]).zip(&others) {
                let reach = other.bound().filter(|_| other.provenance() == Some(provenance));
                *interval = narrowed(*interval, about, reach.map(|reach| reach + lost));
            }
            intervals.push(measured);
        }
        let signs = self.events.as_ref().map_or(&[][..], |events| &events[..events.len() - self.asked]);
        PosteriorMoments::new(&intervals, self.confidence, of_moments, weakest?)
            .map(|moments| moments.with_signs(signs))
    }

    /// The probabilities that were asked for.
    pub(super) fn answers(&self) -> &[[f64; 2]] {
        self.events.as_ref().map_or(&[], |events| &events[events.len() - self.asked..])
    }

    /// Bounds of the errors of mean and sd of vᵀz, z in the user's coordinates.
    pub(super) fn functional(&self, v: &[f64]) -> [Statement; 2] {
        let one = self.coefficient(v);
        let (v, pulled, lost) = self.pulled(v);
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
        if let Some((standing, key, provenance)) = one {
            let scale = norm(&pulled) * (1.0 + 1e-12) + lost;
            let [mean, sd] = standing.errors();
            offer([scale * mean + lost * (1.0 + mean), scale * sd + 2.0 * lost], key, provenance);
        }
        if let Some(([mean, sd], provenance)) = self.every {
            let scale = norm(&pulled) * (1.0 + 1e-12) + lost;
            offer(
                [scale * mean + lost * (1.0 + mean), scale * sd + 2.0 * lost],
                "every-direction",
                provenance,
            );
        }
        if let Some((sum, key, provenance)) = self.sum_of_means(&v) {
            offer([sum + lost, f64::INFINITY], key, provenance);
        }
        out
    }

    /// The error of a combination's mean is at most the weighted sum of its coefficients' errors, which hold
    /// together. v is in the coordinates of the audit, so that the sum does not depend on units.
    fn sum_of_means(&self, v: &[f64]) -> Option<(f64, &'static str, Provenance)> {
        let (standings, key, provenance) = self.standings.as_ref().filter(|(s, ..)| s.len() >= v.len())?;
        let scales = deviations(&self.q);
        let errors = standings.iter().map(|standing| standing.errors()[0]);
        let sum: f64 = errors.zip(&scales).zip(v).map(|((error, sd), v)| error * sd * v.abs()).sum();
        Some((sum * (1.0 + 1e-9), key, *provenance))
    }

    /// The measured moments of a functional that is a multiple of one coefficient.
    fn coefficient(&self, v: &[f64]) -> Option<(Standing, &'static str, Provenance)> {
        let (standings, key, provenance) = self.standings.as_ref()?;
        let mut given = v.iter().enumerate().filter(|(_, x)| x.abs() > 0.0);
        match (given.next(), given.next()) {
            (Some((i, _)), None) => {
                // If the user's intercept is a combination of the audit's coefficients, its own entry follows
                // theirs.
                let mixed = self.map.as_ref().and_then(Standard::mixed) == Some(i);
                let place = if mixed { self.q.dim() } else { i };
                standings.get(place).map(|standing| (*standing, *key, *provenance))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::narrowed;

    #[test]
    fn an_interval_is_narrowed_by_what_else_is_proved_and_never_to_nothing() {
        let [low, high] = narrowed([-3.0, 5.0], 1.0, Some(0.5));
        assert!((0.499..=0.5).contains(&low) && (1.5..1.501).contains(&high));
        for reach in [None, Some(f64::INFINITY), Some(1e-3)] {
            assert_eq!(
                narrowed([-3.0, -2.0], 1.0, reach).map(f64::to_bits),
                [-3.0f64, -2.0].map(f64::to_bits)
            );
        }
        assert!(narrowed([0.0, 5.0], -1.0, Some(2.0))[0] >= 0.0);
        // What was not measured is not made up.
        assert!(narrowed([0.0, f64::INFINITY], 1.0, Some(2.0))[1].is_infinite());
    }
}
