//! Expectations of V, ∇V and ∇²V under a Gaussian, by one-dimensional integrals \[exact\].
//!
//! With μ_n = a_nᵀm + o_n, σ_n = ‖Cᵀa_n‖ and s ~ N(μ_n, σ_n²), a linear-predictor model has
//! ```text
//! E V   = ½[(m−ν)ᵀΛ(m−ν) + tr(CᵀΛC)] + Σ_n w_n E φ_n(s) + const
//! E ∇V  = Λ(m−ν) + Aᵀ(w·E φ'(s)),    E ∇²V = Λ + Aᵀ diag(w·E φ''(s)) A
//! ```
//! and ∇_C l = proj(E∇²V · C). Here φ_n is the potential of row n, w_n its weight, o_n its offset, and N(ν, Λ⁻¹)
//! the prior. So f and ∇f cost a few passes over the data and have no noise.

mod noise;
mod pass;
pub(in crate::glm) mod quadrature;
mod tail;

use crate::glm::Family;
pub use crate::target::expectations::{Expectations, Moments, neg_elbo};
pub(crate) use pass::sums;
pub(in crate::glm) use quadrature::mean_of;
pub(crate) use tail::TAIL_SUMS;

/// E φ'(s) for s ~ N(μ, σ²) and a response of zero.
pub(crate) fn mean_slopes(family: Family, means: &[f64], deviations: &[f64]) -> Vec<f64> {
    quadrature::expect(family, means, deviations, &vec![0.0; means.len()]).first
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::gaussian::{Gaussian, Triangular};
    use crate::base::matrix::Matrix;
    use crate::glm::design::Design;
    use crate::glm::{Gaps, Glm, Prior, Time};
    use crate::target::Target;

    fn problem(family: Family) -> (Glm, Gaussian<Triangular>) {
        let mut entries = vec![0.0; 60];
        provi_kernels::normals(8, 0, 0, &mut entries);
        let design = Design::dense(20, 3, &entries).unwrap();
        let positive = family.gamma_shape().or(family.hazard_shape()).is_some();
        let least = if positive { 0.5 } else { 0.0 };
        let y: Vec<f64> = match family.gaps() {
            Some(_) => (0..20).map(|n| 1.0 + f64::from(n % 4)).collect(),
            None => (0..20).map(|n| least + f64::from(n % 2)).collect(),
        };
        let prior = Prior::precisions(&[1.0, 2.0, 0.5]).unwrap();
        let model = match family.is_coarse() {
            true => Glm::times(family, design, &Time::mixed(20), prior).unwrap(),
            false => Glm::new(family, design, &y, prior).unwrap(),
        };
        let model = model.with_weights(&[0.7; 20]).unwrap().with_offsets(&[0.2; 20]).unwrap();
        let q = Gaussian::new(&[0.3, -0.4, 0.2], &[0.8, 0.1, 0.5, -0.3, 0.2, 0.9]).unwrap();
        (model, q)
    }

    const ALL: [Family; 11] = [
        Family::Gaussian { noise_sd: 0.8 },
        Family::Bernoulli,
        Family::Probit,
        Family::Cloglog,
        Family::Poisson,
        Family::Gamma { noise_sd: 0.8 },
        Family::Exponential,
        Family::Weibull { noise_sd: 0.6, unit: 1.3, coarse: false },
        Family::Weibull { noise_sd: 0.6, unit: 1.3, coarse: true },
        Family::NegativeBinomial { noise_sd: 0.7 },
        Family::Ordered { gaps: Gaps::SOME },
    ];

    #[test]
    fn gradients_are_the_differences_of_the_value() {
        for family in ALL {
            let (model, q) = problem(family);
            let mut moments = Moments::new(3);
            model.expect(&q, &mut moments).unwrap();
            let mut gradient = vec![0.0; 9];
            moments.neg_elbo_gradient(&q, &mut gradient);
            for i in 0..9 {
                let shifted = |h: f64| {
                    let mut q = q.clone();
                    q.parameters_mut()[i] += h;
                    neg_elbo(&model, &q).unwrap()
                };
                let slope = (shifted(1e-5) - shifted(-1e-5)) / 2e-5;
                assert!(
                    (slope - gradient[i]).abs() < 1e-8 * (1.0 + gradient[i].abs()),
                    "{family:?} {i}: {slope} {}",
                    gradient[i]
                );
            }
        }
    }

    #[test]
    fn sparse_designs_have_the_moments_of_dense_ones() {
        for family in ALL {
            let (dense, q) = problem(family);
            let mut entries = vec![0.0; 60];
            provi_kernels::normals(8, 0, 0, &mut entries);
            let triplets: Vec<_> = (0..60).map(|e| (e / 3, e % 3, entries[e])).collect();
            let mut sparse = dense.clone();
            sparse.rows.design = Design::triplets(20, 3, &triplets).unwrap();
            let (mut a, mut b) = (Moments::new(3), Moments::new(3));
            dense.expect(&q, &mut a).unwrap();
            sparse.expect(&q, &mut b).unwrap();
            assert!((a.value - b.value).abs() <= a.value_error + b.value_error);
            for (x, y) in
                a.gradient.iter().chain(a.hessian.entries()).zip(b.gradient.iter().chain(b.hessian.entries()))
            {
                assert!((x - y).abs() <= 1e-12 * (1.0 + x.abs()), "{family:?}");
            }
        }
    }

    #[test]
    fn the_value_is_the_monte_carlo_mean() {
        for family in ALL {
            let (model, q) = problem(family);
            let mut moments = Moments::new(3);
            model.expect(&q, &mut moments).unwrap();
            let draws = q.sample(40_000, crate::Seed(11));
            let mut g = [0.0; 3];
            let values: Vec<f64> =
                (0..40_000).map(|k| -model.log_density(draws.row(k), &mut g).unwrap()).collect();
            let mean = values.iter().sum::<f64>() / 4e4;
            let sd = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 4e4).sqrt();
            // Six standard errors: false alarm near 2e-9.
            assert!((mean - moments.value).abs() < 6.0 * sd / 200.0, "{family:?}");
        }
    }

    /// A plain sum of N terms may lose N units; 16 chunks of N/16 rows, summed in blocks of 128, lose 128 + N/2048 + 16. The bound
    /// holds against a compensated sum of small pieces, and is as small as the blocks make it.
    #[test]
    fn the_bound_on_rounding_follows_the_chunks_of_a_sum() {
        let (rows, piece) = (40_000, 100);
        let mut entries = vec![0.0; 2 * rows];
        provi_kernels::normals(3, 0, 0, &mut entries);
        let y: Vec<f64> = (0..rows).map(|n| f64::from(u8::from(n % 3 == 0))).collect();
        let q = Gaussian::new(&[0.3, -0.4], &[0.02, 0.001, 0.03]).unwrap();
        let block = |from: usize, to: usize| {
            let design = Design::dense(to - from, 2, &entries[2 * from..2 * to]).unwrap();
            crate::glm::rows::Rows::new(Family::Bernoulli, design, &y[from..to]).unwrap()
        };
        let sums_of = |block: &crate::glm::rows::Rows| {
            let (mut sums, mut hessian) = (sums(2), Matrix::zeros(2, 2));
            block.add_expectations(Family::Bernoulli, &q, block.chains(), &mut sums, &mut hessian);
            sums
        };
        let whole = sums_of(&block(0, rows));
        let (mut total, mut lost, mut error) = (0.0f64, 0.0, 0.0);
        for from in (0..rows).step_by(piece) {
            let sums = sums_of(&block(from, from + piece));
            // Neumaier's sum: the rounding errors are summed separately.
            let next = total + sums[0];
            lost += if total.abs() >= sums[0].abs() {
                (total - next) + sums[0]
            } else {
                (sums[0] - next) + total
            };
            (total, error) = (next, error + sums[1]);
        }
        assert!((whole[0] - (total + lost)).abs() <= whole[1] + error);
        let plain = rows as f64 * f64::EPSILON * whole[0].abs();
        assert_eq!(block(0, rows).chains().sums, 128 + 20 + 16);
        assert!(whole[1] < plain / 100.0, "{} of {plain}", whole[1]);
        assert!(whole[1] > plain / 300.0, "{} of {plain}: is the chain counted?", whole[1]);
    }
}
