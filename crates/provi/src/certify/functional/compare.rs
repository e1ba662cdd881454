//! Comparison of saved bounds with proved ones: by how much the saved bounds are too small.

use super::bounds::MomentBounds;
use crate::base::error::Result;
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg;
use crate::base::matrix::{Matrix, packed_len, unpack_lower};
use crate::theory::certificate::{Ball, Outside, moment_error};

/// Number of values of ‖Rᵀv‖/‖Cᵀv‖, over its whole range, at which two bounds are compared; both are smooth in it.
const PLACES: usize = 64;

/// One bound: a metric R, and the errors of mean and sd for a v with ‖Cᵀv‖ = 1 as functions of ‖Rᵀv‖.
struct Side<'a> {
    metric: &'a [f64],
    errors: Box<dyn Fn(f64) -> [f64; 2] + 'a>,
}

impl MomentBounds {
    /// The largest factor, over all v, by which these bounds are too small compared with `proved`:
    /// ```text
    /// sup_v (proved(v) − slack·‖Cᵀv‖) / claimed(v)
    /// ```
    /// At most 1 if these bounds claim no more than is proved. Infinite if `proved` has no bound, or if a number of
    /// the claim cannot belong to a bound. Both are measured at q. The supremum is bounded from above: each saved
    /// metric R is compared with each proved one by the largest singular value of R⁻¹R′. Cost: a few factorisations
    /// and spectra of d×d matrices.
    pub fn excess_of(&self, proved: &Self, q: &Gaussian<Triangular>, slack: f64) -> Result<f64> {
        let d = q.dim();
        let (claimed, proved) = (self.sides(q), proved.sides(q));
        let sound = |side: &Side<'_>| {
            side.metric.len() == packed_len(d)
                && side.metric.iter().all(|x| x.is_finite())
                && (0..d).all(|i| side.metric[crate::base::matrix::packed_index(i, i)].abs() > 0.0)
        };
        if !self.is_of_bounds() || !claimed.iter().chain(&proved).all(sound) {
            return Ok(f64::INFINITY);
        }
        let mut worst = 0.0f64;
        for claim in &claimed {
            // The range of ‖Rᵀv‖ over all v with ‖Cᵀv‖ = 1.
            let spread = singular_values(q.factor(), claim.metric, d)?;
            let [least, most] = [spread.0, spread.1].map(|x| x.max(f64::MIN_POSITIVE));
            let mut best = f64::INFINITY;
            for found in &proved {
                let (_, growth) = singular_values(claim.metric, found.metric, d)?;
                let mut factor = 0.0f64;
                for place in 0..=PLACES {
                    let x = least * (most / least).powf(place as f64 / PLACES as f64);
                    let (said, is) = ((claim.errors)(x), (found.errors)(growth * x));
                    for (said, is) in said.into_iter().zip(is) {
                        let more = (is - slack).max(0.0);
                        factor = factor.max(if more <= 0.0 { 0.0 } else { more / said });
                    }
                }
                // A NaN counts as no bound.
                best = best.min(if factor.is_nan() { f64::INFINITY } else { factor });
            }
            worst = worst.max(best);
        }
        Ok(worst)
    }

    /// Whether every number is possible in a bound.
    fn is_of_bounds(&self) -> bool {
        let size = |x: f64| x >= 0.0 && x.is_finite();
        let share = |x: f64| (0.0..0.5).contains(&x);
        self.global.as_ref().is_none_or(|g| size(g.kl))
            && self.every.as_ref().is_none_or(|e| size(e.mean) && size(e.sd))
            && self.local.as_ref().is_none_or(|l| {
                l.outside.iter().chain([&l.fisher]).all(|x| size(*x)) && share(l.alpha) && share(l.alpha2)
            })
    }

    fn sides<'a>(&'a self, q: &'a Gaussian<Triangular>) -> Vec<Side<'a>> {
        let mut sides = Vec::new();
        if let Some(global) = &self.global {
            let errors = |x: f64| [moment_error(x, global.kl); 2];
            sides.push(Side { metric: &global.metric, errors: Box::new(errors) });
        }
        if let Some(local) = &self.local {
            let outside = Outside { moments: local.outside };
            let ball = Ball { fisher: local.fisher, outside, alpha: local.alpha, alpha2: local.alpha2 };
            sides.push(Side { metric: &local.metric, errors: Box::new(move |x| ball.moments(1.0, x)) });
        }
        if let Some(every) = &self.every {
            sides.push(Side { metric: q.factor(), errors: Box::new(|_| [every.mean, every.sd]) });
        }
        sides
    }
}

/// The smallest and the largest singular value of A⁻¹B, both lower triangular and packed.
fn singular_values(a: &[f64], b: &[f64], d: usize) -> Result<(f64, f64)> {
    let b = unpack_lower(d, b);
    let mut columns = Matrix::zeros(d, d);
    for j in 0..d {
        let column = columns.row_mut(j);
        (0..d).for_each(|i| column[i] = b[(i, j)]);
        provi_kernels::triangle::solve(a, column);
    }
    // Row j holds column j of M = A⁻¹B, so that this is MMᵀ.
    let gram = linalg::multiply_transposed(&columns, &columns);
    if gram.entries().iter().any(|x| !x.is_finite()) {
        return Ok((0.0, f64::INFINITY));
    }
    let values = linalg::eigenvalues("metrics", &gram)?;
    let (least, most) =
        values.iter().fold((f64::INFINITY, 0.0f64), |(low, high), x| (low.min(*x), high.max(*x)));
    Ok((least.max(0.0).sqrt(), most.sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certify::functional::bounds::MomentBoundsFields;
    use crate::certify::functional::{EveryBound, GlobalBound, LocalBound};
    use crate::target::curvature::Provenance;

    fn q() -> Gaussian<Triangular> {
        Gaussian::new(&[0.3, -0.6], &[0.5, -0.2, 0.4]).unwrap()
    }

    fn bounds() -> MomentBounds {
        let provenance = Provenance::Proved;
        MomentBounds(MomentBoundsFields {
            global: Some(GlobalBound { metric: vec![0.7, -0.1, 0.9], kl: 0.02, provenance }),
            local: Some(LocalBound {
                metric: vec![0.6, -0.2, 0.5],
                fisher: 0.01,
                outside: [1e-6, 1e-5, 1e-4],
                alpha: 1e-6,
                alpha2: 1e-5,
                provenance,
            }),
            every: Some(EveryBound { mean: 0.6, sd: 0.5, provenance }),
            confidence: 0.999,
            reason: String::new(),
        })
    }

    #[test]
    fn bounds_claim_no_more_than_themselves() {
        let factor = bounds().excess_of(&bounds(), &q(), 0.0).unwrap();
        assert!((1.0 - 1e-9..1.0 + 1e-9).contains(&factor), "{factor}");
        let mut weaker = bounds();
        weaker.0.global.as_mut().unwrap().kl *= 4.0;
        weaker.0.local = None;
        weaker.0.every = None;
        assert!(weaker.excess_of(&bounds(), &q(), 0.0).unwrap() < 1.0, "twice the error claims less");
    }

    #[test]
    fn a_forged_number_shows_by_its_factor() {
        let forge = |change: &dyn Fn(&mut MomentBounds)| {
            let mut forged = bounds();
            change(&mut forged);
            forged.excess_of(&bounds(), &q(), 0.0).unwrap()
        };
        let local = |b: &mut MomentBounds| b.local.clone().unwrap();
        assert!(forge(&|b| b.0.global.as_mut().unwrap().kl /= 100.0) > 2.0);
        assert!(forge(&|b| b.0.local = Some(LocalBound { fisher: 1e-4, ..local(b) })) > 2.0);
        assert!(forge(&|b| b.0.local = Some(LocalBound { outside: [-1.0; 3], ..local(b) })).is_infinite());
        assert!(forge(&|b| b.0.every = Some(EveryBound { mean: 0.01, ..b.every.clone().unwrap() })) > 2.0);
        assert!(
            forge(&|b| b.0.every = Some(EveryBound { sd: f64::NAN, ..b.every.clone().unwrap() }))
                .is_infinite()
        );
        // One direction alone: the second row of R is shrunk.
        let narrow = forge(&|b| {
            b.0.global = None;
            b.0.local = Some(LocalBound { metric: vec![0.6, -0.002, 0.005], ..local(b) });
        });
        assert!(narrow > 10.0, "{narrow}");
        assert!(forge(&|b| b.0.global.as_mut().unwrap().metric[2] = 0.0).is_infinite());
        assert!(forge(&|b| b.0.global.as_mut().unwrap().metric.truncate(2)).is_infinite());
        let nothing = MomentBounds::nothing(String::new());
        assert!(bounds().excess_of(&nothing, &q(), 0.0).unwrap().is_infinite());
        assert!(
            nothing.excess_of(&bounds(), &q(), 0.0).unwrap() <= 0.0,
            "what claims nothing claims no more"
        );
    }

    #[test]
    fn the_factor_covers_every_direction() {
        let mut other = bounds();
        other.0.global.as_mut().unwrap().metric = vec![0.5, 0.3, 0.4];
        other.0.local.as_mut().unwrap().metric = vec![0.9, 0.1, 0.2];
        let factor = other.excess_of(&bounds(), &q(), 0.0).unwrap();
        for turn in 0..360 {
            let angle = f64::from(turn).to_radians();
            let v = [angle.cos(), angle.sin()];
            let [claimed, proved] = [&other, &bounds()].map(|b| b.functional(&q(), &v).unwrap());
            for (claimed, proved) in claimed.iter().zip(&proved) {
                let (claimed, proved) = (claimed.bound().unwrap(), proved.bound().unwrap());
                assert!(proved <= factor * claimed * (1.0 + 1e-6), "{turn}: {proved} {claimed} {factor}");
            }
        }
    }
}
