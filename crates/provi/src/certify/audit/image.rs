//! The effect on f of mapping a Gaussian into standard coordinates \[rounding\].

use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::{congruence, norm};
use crate::target::expectations::{Moments, product_size};
use crate::target::standard::Standard;

/// How the audited Gaussian was computed from the one that the certificate is about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Image<'m> {
    /// The map from the coordinates of the audit to the user's, if they differ.
    map: Option<&'m Standard>,
    /// r: each mean, and each row of C (up to a rotation that all rows share), is within r times its size of the
    /// exact one.
    relative: f64,
}

impl<'m> Image<'m> {
    /// The audited Gaussian is the certified one.
    pub(super) const EXACT: Self = Self { map: None, relative: 0.0 };

    /// The image under [`Standard::standard_gaussian`].
    pub(super) fn new(dim: usize, map: &'m Standard) -> Self {
        Self { map: Some(map), ..Self::rounded(dim) }
    }

    /// An image with the rounding error that the map may have.
    fn rounded(dim: usize) -> Self {
        let relative = Standard::relative(dim);
        Self { relative: if relative <= Moments::NEAR { relative } else { f64::INFINITY }, ..Self::EXACT }
    }

    /// A functional of the user's coordinates, written in the audit's.
    pub(super) fn pull(&self, v: &[f64]) -> Vec<f64> {
        self.map.map_or_else(|| v.to_vec(), |map| map.pull(v))
    }

    /// The user's coefficient that is not a multiple of one of the audit's.
    pub(super) fn intercept(&self) -> Option<usize> {
        self.map.and_then(Standard::mixed)
    }

    /// An upper bound of |f(q') − f(q)| over every exact q' that q may represent.
    ///
    /// f(m, C) = l(m, C) − log |det C| is the same for CQ, Q orthogonal. So let C' = C(I + K) be the factor of q' whose rows are within r
    /// of those of C: row k of K is Σ_i (C⁻¹)_ki times a vector of norm r‖C_i‖ at most, and ‖K‖_F ≤ rκ, κ = ‖|C⁻¹|(‖C_i‖)_i‖. Then
    /// ```text
    /// f(q') − f(q) = E∇Vᵀ(m'−m) + ⟨CᵀE∇²V·C − I, K⟩ + [0, r²·bend] + [−k², k²],   k = rκ ≤ ½
    /// ```
    /// because l is convex with [`Moments::bend`], and |log det(I + K) − tr K| ≤ Σ|λ|²/(2(1 − |λ|)) ≤ ‖K‖_F² over the eigenvalues λ of K.
    /// Near an optimum the first two terms vanish, and the rest is of the order ε².
    pub(super) fn moves(self, moments: &Moments, q: &Gaussian<Triangular>, relative_inverse: f64) -> f64 {
        let r = self.relative;
        if r <= 0.0 {
            return 0.0;
        }
        let k = r * relative_inverse;
        if k.is_nan() || k > 0.5 {
            return f64::INFINITY;
        }
        let d = q.dim();
        let (mean, spread) = (norm(q.mean()), norm(q.factor()));
        let slope: f64 = moments.gradient.iter().zip(q.mean()).map(|(g, m)| (g * m).abs()).sum();
        let stress = stress(moments, q);
        // The errors of E∇V and of E∇²V·C, and the rounding of the two products.
        let rounding = 2.0 * (d as f64 + 8.0) * f64::EPSILON * product_size(&moments.hessian, q);
        let error =
            moments.gradient_error * mean + (moments.gradient_error + rounding) * spread * relative_inverse;
        let first = slope + stress * relative_inverse + error;
        (r * first + r * r * moments.bend + k * k) * (1.0 + 1e-9)
    }
}

/// ‖CᵀE∇²V·C − I‖_F, which is zero at the optimum.
fn stress(moments: &Moments, q: &Gaussian<Triangular>) -> f64 {
    let mut product = congruence(&moments.hessian, &q.factor_matrix());
    (0..q.dim()).for_each(|i| product[(i, i)] -= 1.0);
    product.frobenius_norm()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::linalg::Cholesky;
    use crate::base::matrix::Matrix;
    use crate::certify::rounding::relative_inverse;
    use crate::glm::design::Design;
    use crate::glm::expectation::neg_elbo;
    use crate::glm::{Family, Glm, Prior};
    use crate::target::expectations::Expectations;

    const D: usize = 3;

    fn problem(family: Family) -> (Glm, Gaussian<Triangular>) {
        let mut entries = vec![0.0; 20 * D];
        provi_kernels::normals(8, 0, 0, &mut entries);
        let design = Design::dense(20, D, &entries).unwrap();
        let y: Vec<f64> = (0..20).map(|n| f64::from(n % 2)).collect();
        let model = Glm::new(family, design, &y, Prior::precisions(&[1.0, 2.0, 0.5]).unwrap()).unwrap();
        let q = Gaussian::new(&[0.7, -0.4, 0.5], &[0.4, 0.1, 0.3, -0.1, 0.1, 0.5]).unwrap();
        (model, q)
    }

    /// A Gaussian that q may represent: every mean and every row of the factor moves by r times its size; k selects
    /// the direction.
    fn moved(q: &Gaussian<Triangular>, r: f64, k: u64) -> Gaussian<Triangular> {
        let mut noise = vec![0.0; D + D * D];
        provi_kernels::normals(21, k, 0, &mut noise);
        let mut factor = q.factor_matrix();
        for i in 0..D {
            let way = &noise[D + i * D..D + (i + 1) * D];
            let step = r * norm(factor.row(i)) / norm(way);
            factor.row_mut(i).iter_mut().zip(way).for_each(|(x, w)| *x += step * w);
        }
        let mean: Vec<f64> = q.mean().iter().zip(&noise).map(|(m, w)| m + r * m.abs() * w.signum()).collect();
        let mut covariance = Matrix::zeros(D, D);
        for (i, j) in (0..D * D).map(|e| (e / D, e % D)) {
            covariance[(i, j)] = provi_kernels::dot(factor.row(i), factor.row(j));
        }
        Gaussian::new(&mean, &Cholesky::new("covariance", &covariance).unwrap().packed_lower()).unwrap()
    }

    #[test]
    fn f_moves_by_no_more_than_the_bound_and_by_a_fair_part_of_it() {
        for family in [Family::Gaussian { noise_sd: 0.8 }, Family::Bernoulli, Family::Probit, Family::Poisson]
        {
            let (model, q) = problem(family);
            let mut moments = Moments::new(D);
            model.expect(&q, &mut moments).unwrap();
            let value = neg_elbo(&model, &q).unwrap();
            for r in [1e-2, 1e-3, 1e-6] {
                let bound = Image { relative: r, ..Image::EXACT }.moves(&moments, &q, relative_inverse(&q));
                let far = (0..400).map(|k| (neg_elbo(&model, &moved(&q, r, k)).unwrap() - value).abs());
                let far = far.fold(0.0, f64::max);
                assert!(far <= bound, "{family:?} {r}: {far:e} {bound:e}");
                assert!(far >= 0.2 * bound, "{family:?} {r}: {far:e} {bound:e}");
            }
        }
    }

    /// Along the mean alone, a quadratic attains the bound, so half of the bound would be refuted.
    #[test]
    fn the_bend_is_attained_by_a_quadratic() {
        let r = 1e-2;
        let design = Design::dense(2, 1, &[3.0, 2.0]).unwrap();
        let family = Family::Gaussian { noise_sd: 0.5 };
        let model = Glm::new(family, design, &[1.0, -1.0], Prior::precisions(&[1.5]).unwrap()).unwrap();
        let q = Gaussian::<Triangular>::new(&[2.0], &[1e-6]).unwrap();
        let far = Gaussian::<Triangular>::new(&[2.0 * (1.0 + r)], &[1e-6]).unwrap();
        let mut moments = Moments::new(1);
        model.expect(&q, &mut moments).unwrap();
        let line = moments.gradient[0] * 2.0 * r;
        let bent = neg_elbo(&model, &far).unwrap() - neg_elbo(&model, &q).unwrap() - line;
        let bound = r * r * moments.bend;
        assert!(bent <= bound * (1.0 + 1e-6) && bent > 0.9999 * bound, "{bent:e} {bound:e}");
    }

    /// Poisson rates bend more the further they are spread, and never by more than their own line allows.
    #[test]
    fn the_bend_of_rates_holds_where_they_are_spread() {
        for sd in [0.1, 1.0, 3.0] {
            let design = Design::dense(1, 1, &[1.0]).unwrap();
            let model =
                Glm::new(Family::Poisson, design, &[2.0], Prior::precisions(&[1.0]).unwrap()).unwrap();
            let q = Gaussian::<Triangular>::new(&[0.5], &[sd]).unwrap();
            let mut moments = Moments::new(1);
            model.expect(&q, &mut moments).unwrap();
            // r·r_n(1 + σ) is at most 1/10.
            let r = 0.1 / ((0.5 + sd) * (1.0 + sd));
            let mut worst = 0.0f64;
            for (a, b) in [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0), (0.0, 1.0), (1.0, 0.0)] {
                let far = Gaussian::<Triangular>::new(&[0.5 * (1.0 + a * r)], &[sd * (1.0 + b * r)]).unwrap();
                let mut there = Moments::new(1);
                model.expect(&far, &mut there).unwrap();
                let line = moments.gradient[0] * 0.5 * a * r + moments.hessian[(0, 0)] * sd * sd * b * r;
                let bent = there.value - moments.value - line;
                assert!(bent <= r * r * moments.bend, "{sd}: {bent:e}");
                worst = worst.max(bent / (r * r * moments.bend));
            }
            assert!(worst > 0.02, "{sd}: {worst}");
        }
    }

    #[test]
    fn at_the_optimum_of_a_quadratic_only_squares_are_left() {
        let (model, _) = problem(Family::Gaussian { noise_sd: 0.8 });
        let mut hessian = Moments::new(D);
        model.expect(&Gaussian::standard(D), &mut hessian).unwrap();
        let mut step = hessian.gradient.clone();
        let precision = Cholesky::new("precision", &hessian.hessian).unwrap();
        precision.solve(&mut step);
        let mean: Vec<f64> = step.iter().map(|x| -x).collect();
        let covariance: Matrix = precision.inverse();
        let factor = Cholesky::new("covariance", &covariance).unwrap().packed_lower();
        let q = Gaussian::new(&mean, &factor).unwrap();
        let mut moments = Moments::new(D);
        model.expect(&q, &mut moments).unwrap();
        let image = Image::rounded(D);
        let bound = image.moves(&moments, &q, relative_inverse(&q));
        assert!(bound > 0.0 && bound < 1e3 * image.relative * image.relative, "{bound:e}");
        assert!(Image::rounded(1 << 20).moves(&moments, &q, 1.0).is_infinite());
    }
}
