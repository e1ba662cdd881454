//! The best member of a family m + Cu, C ∈ 𝒯ᵈ, by product rules of the base law: apart from the library's draws.

use crate::algebra::{difference, dot};
use crate::problems::Problem;
use provi::mode::find_mode;
use provi::{BaseLaw, Gaussian, Result, Target, Triangular};
use std::f64::consts::PI;

/// Nodes and weights for one coordinate: the trapezoid rule on each half line, where the density is smooth, after a
/// double-exponential map of the whole line to it. Made for tails that fall exponentially or end.
pub(super) fn rule(law: BaseLaw) -> Vec<(f64, f64)> {
    let (step, edge) = (1.0 / 8.0, 3f64.sqrt());
    let mut half = Vec::new();
    for i in -40..=48 {
        let tau = f64::from(i) * step;
        let (u, width) = if law == BaseLaw::Uniform {
            let (grown, slope) = (PI * tau.sinh(), PI * tau.cosh());
            let share = 1.0 / (1.0 + (-grown).exp());
            (edge * share, slope * edge * share / (1.0 + grown.exp()))
        } else {
            let u = (tau - (-tau).exp()).exp();
            (u, u * (1.0 + (-tau).exp()))
        };
        let weight = step * width * law.log_density(u).exp();
        // The others would not be seen in a fourth moment.
        if weight * (1.0 + u.powi(4)) > 1e-13 {
            half.push((u, weight));
        }
    }
    half.iter().flat_map(|&(u, w)| [(u, w), (-u, w)]).collect()
}

/// A law with the first five moments of a law of kurtosis κ: ±√κ and 0.
pub(super) fn three_points(kurtosis: f64) -> [(f64, f64); 3] {
    let (root, weight) = (kurtosis.sqrt(), 0.5 / kurtosis);
    [(-root, weight), (0.0, 1.0 - 2.0 * weight), (root, weight)]
}

/// Every node of the product rule with its weight.
fn each(d: usize, rule: &[(f64, f64)], mut see: impl FnMut(&[f64], f64) -> Result<()>) -> Result<()> {
    let mut u = vec![0.0; d];
    for mut number in 0..rule.len().pow(d as u32) {
        let mut weight = 1.0;
        for x in &mut u {
            let (node, share) = rule[number % rule.len()];
            (*x, weight, number) = (node, weight * share, number / rule.len());
        }
        see(&u, weight)?;
    }
    Ok(())
}

/// l(w) and ∇l(w) on 𝒯ᵈ, flat as w.
fn energy(target: &dyn Target, rule: &[(f64, f64)], w: &[f64]) -> Result<(f64, Vec<f64>)> {
    let d = target.dim();
    let q = Gaussian::<Triangular>::new(&w[..d], &w[d..])?;
    let (mut z, mut pull, mut gradient, mut value) = (vec![0.0; d], vec![0.0; d], vec![0.0; w.len()], 0.0);
    each(d, rule, |u, share| {
        q.transport(u, &mut z);
        value -= share * target.log_density(&z, &mut pull)?;
        for i in 0..d {
            gradient[i] -= share * pull[i];
            for j in 0..=i {
                gradient[d + i * (i + 1) / 2 + j] -= share * pull[i] * u[j];
            }
        }
        Ok(())
    })?;
    Ok((value, gradient))
}

/// f(w) with the entropy of the law.
pub(super) fn objective(target: &dyn Target, law: BaseLaw, w: &[f64]) -> Result<f64> {
    let d = target.dim();
    let log_det: f64 = (0..d).map(|i| w[d + i * (i + 3) / 2].ln()).sum();
    Ok(energy(target, &rule(law), w)?.0 - log_det - law.entropy_of(d))
}

/// The problem with w* the best member of the law's family, by proximal gradient steps 1/M until they stand still.
pub(super) fn of_law(mut problem: Problem, law: BaseLaw) -> Result<Problem> {
    let (d, rule, gamma) = (problem.dim(), rule(law), 1.0 / problem.smoothness);
    let mut w = problem.star.parameters().to_vec();
    for _ in 0..120 {
        let (_, gradient) = energy(problem.target(), &rule, &w)?;
        w.iter_mut().zip(&gradient).for_each(|(w, g)| *w -= gamma * g);
        for i in 0..d {
            let c = &mut w[d + i * (i + 3) / 2];
            *c = 0.5 * (*c + (*c * *c + 4.0 * gamma).sqrt());
        }
    }
    problem.best = objective(problem.target(), law, &w)?;
    problem.star = Gaussian::new(&w[..d], &w[d..])?;
    let mode = find_mode(problem.target(), &vec![0.0; d])?;
    let shift = difference(problem.star.mean(), &mode.point);
    problem.mode2 = dot(&shift, &shift) + dot(problem.star.factor(), problem.star.factor());
    problem.name = format!("{}, {law}", problem.name);
    Ok(problem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problems::logistic;

    #[test]
    fn the_rules_have_the_moments_of_their_laws() {
        for law in [BaseLaw::Gaussian, BaseLaw::Laplace, BaseLaw::Logistic, BaseLaw::Uniform] {
            let mean = |k: i32| rule(law).iter().map(|(u, w)| w * u.powi(k)).sum::<f64>();
            assert!(
                (mean(0) - 1.0).abs() < 1e-11 && (mean(2) - 1.0).abs() < 1e-11,
                "{law}: {} {}",
                mean(0),
                mean(2)
            );
            assert!((mean(4) - law.kurtosis()).abs() < 1e-10 && mean(3).abs() < 1e-12, "{law}: {}", mean(4));
        }
    }

    /// For the normal law it is the optimum that the library's solver finds.
    #[test]
    fn the_best_normal_member_is_the_best_gaussian() {
        let problem = logistic(2).unwrap();
        let (star, best) = (problem.star.clone(), problem.best);
        let own = of_law(problem, BaseLaw::Gaussian).unwrap();
        assert!((own.best - best).abs() < 1e-8, "{} {best}", own.best);
        for (a, b) in own.star.parameters().iter().zip(star.parameters()) {
            assert!((a - b).abs() < 1e-7);
        }
    }
}
