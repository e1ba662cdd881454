//! Certificates of models with two coefficients, held against a sum over a grid.

use provi::target::{Glm, Target};
use provi::{Auto, Seed};

/// Evidence, KL and means by a sum over a grid of both coefficients lie within what the certificate proves, and the bounds of the evidence
/// are no further apart than `width`, in nats.
pub(crate) fn assert_covered(model: &Glm, width: f64) {
    let found = Auto::default().run(model, Seed(1)).unwrap();
    let (q, certificate) = (&found.fit.gaussian, found.certificate());
    let family = model.family();
    assert!(certificate.proves_gap(1e-6), "{family:?}: {certificate}");
    let sd = q.standard_deviations();
    let (half, reach) = (300, 8.0);
    let step = reach / f64::from(half);
    let mut sums = [0.0f64; 3];
    let elbo = -provi::expectation::neg_elbo(model, q).unwrap();
    for i in -half..=half {
        for j in -half..=half {
            let z = [q.mean()[0] + step * f64::from(i) * sd[0], q.mean()[1] + step * f64::from(j) * sd[1]];
            let p = (model.log_density(&z, &mut [0.0; 2]).unwrap() - elbo).exp();
            [1.0, z[0], z[1]].into_iter().zip(&mut sums).for_each(|(x, sum)| *sum += p * x);
        }
    }
    let evidence = elbo + (sums[0] * step * step * sd[0] * sd[1]).ln();
    let (low, high) = (certificate.evidence.lower().unwrap(), certificate.evidence.upper().unwrap());
    assert!(low <= evidence + 1e-9 && evidence <= high + 1e-9, "{family:?}: {low} {evidence} {high}");
    assert!(certificate.kl.bound().unwrap() >= evidence - elbo - 1e-9, "{family:?}");
    assert!(high - low < width, "{family:?}: {low} {high}");
    for k in 0..2 {
        let error = (sums[1 + k] / sums[0] - q.mean()[k]).abs();
        let bound = certificate.moments[k].mean_error.bound().unwrap();
        assert!(error <= bound + 1e-9, "{family:?} {k}: {error} {bound}");
    }
}
