//! Certificates of models with two coefficients, held against a sum over a grid.

use provi::target::{Glm, Target};
use provi::{Auto, Certificate, Gaussian, Seed, Triangular};

/// What a sum over a grid says of a posterior.
pub(crate) struct Truth {
    evidence: f64,
    pub(crate) mean: [f64; 2],
    pub(crate) sd: [f64; 2],
}

impl Truth {
    /// The sum over eight deviations of q on each side.
    pub(crate) fn of(model: &Glm, q: &Gaussian<Triangular>) -> Self {
        let sd = q.standard_deviations();
        let (half, reach) = (300, 8.0);
        let step = reach / f64::from(half);
        let mut sums = [0.0f64; 5];
        let elbo = -provi::expectation::neg_elbo(model, q).unwrap();
        for i in -half..=half {
            for j in -half..=half {
                let z =
                    [q.mean()[0] + step * f64::from(i) * sd[0], q.mean()[1] + step * f64::from(j) * sd[1]];
                let p = (model.log_density(&z, &mut [0.0; 2]).unwrap() - elbo).exp();
                let values = [1.0, z[0], z[1], z[0] * z[0], z[1] * z[1]];
                values.into_iter().zip(&mut sums).for_each(|(x, sum)| *sum += p * x);
            }
        }
        let mean = [1, 2].map(|k| sums[k] / sums[0]);
        let sd_of = |k: usize| (sums[3 + k] / sums[0] - mean[k] * mean[k]).sqrt();
        Self { evidence: elbo + (sums[0] * step * step * sd[0] * sd[1]).ln(), mean, sd: [0, 1].map(sd_of) }
    }

    /// What is proved of q holds. Returns how far apart the bounds of the evidence are.
    pub(crate) fn assert_within(&self, proved: &Certificate, model: &Glm, q: &Gaussian<Triangular>) -> f64 {
        let (family, evidence) = (model.family(), self.evidence);
        let elbo = -provi::expectation::neg_elbo(model, q).unwrap();
        let (low, high) = (proved.evidence.lower().unwrap(), proved.evidence.upper().unwrap());
        assert!(low <= evidence + 1e-9 && evidence <= high + 1e-9, "{family:?}: {low} {evidence} {high}");
        assert!(proved.kl.bound().unwrap() >= evidence - elbo - 1e-9, "{family:?}");
        let own = q.standard_deviations();
        for k in 0..2 {
            let moment = &proved.moments[k];
            let [error, sd_error] = [(self.mean[k] - q.mean()[k]).abs(), (self.sd[k] - own[k]).abs()];
            let bounds = [&moment.mean_error, &moment.sd_error].map(|error| error.bound().unwrap());
            assert!(error <= bounds[0] + 1e-9, "{family:?} mean {k}: {error} {bounds:?}");
            assert!(sd_error <= bounds[1] + 1e-7, "{family:?} sd {k}: {sd_error} {bounds:?}");
        }
        high - low
    }
}

/// The answer of `auto` is covered by its certificate, and the bounds of the evidence are no further apart than `width`, in nats.
pub(crate) fn assert_covered(model: &Glm, width: f64) {
    let found = Auto::default().run(model, Seed(1)).unwrap();
    let (q, certificate) = (&found.fit.gaussian, found.certificate());
    assert!(certificate.proves_gap(1e-6), "{:?}: {certificate}", model.family());
    let apart = Truth::of(model, q).assert_within(certificate, model, q);
    assert!(apart < width, "{:?}: {apart}", model.family());
}
