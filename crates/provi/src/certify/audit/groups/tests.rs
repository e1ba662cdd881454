use super::*;
use crate::base::linalg::Cholesky;
use crate::certify::audit::image::Image;
use crate::certify::audit::residual::go_on;
use crate::glm::design::Design;
use crate::glm::{Family, Prior, hierarchical_logistic};
use crate::target::{Evaluator, trusted_curvature};

/// What is true of a model of few coefficients: log p(x), means and deviations, by a sum over a grid around the mode.
struct Truth {
    evidence: f64,
    mean: Vec<f64>,
    deviation: Vec<f64>,
    laplace: Gaussian<Triangular>,
}

fn truth(model: &Glm) -> Truth {
    let d = model.design().columns();
    let (mut z, mut slope, mut bend) = (vec![0.0; d], vec![0.0; d], Matrix::zeros(d, d));
    for _ in 0..60 {
        model.log_density(&z, &mut slope).unwrap();
        model.hessian(&z, &mut bend).unwrap();
        bend.entries_mut().iter_mut().for_each(|x| *x = -*x);
        Cholesky::new("Hessian", &bend).unwrap().solve(&mut slope);
        let size = norm(&slope).max(1.0);
        z.iter_mut().zip(&slope).for_each(|(z, s)| *z += s / size);
    }
    let laplace = Gaussian::from_covariance(&z, Cholesky::new("Hessian", &bend).unwrap().inverse()).unwrap();
    // Wider than the posterior near its mode, for its tails are.
    let (reach, step) = if d > 3 { (10.2, 0.6) } else { (11.0, 0.5) };
    let side = (2.0 * reach / step) as usize + 1;
    let mut u = vec![0.0; d];
    let (mut mass, mut first, mut second) = (0.0, vec![0.0; d], vec![0.0; d]);
    let top = model.log_density(laplace.mean(), &mut slope).unwrap();
    for cell in 0..side.pow(d as u32) {
        let mut rest = cell;
        for u in &mut u {
            *u = -reach + step * (rest % side) as f64;
            rest /= side;
        }
        laplace.transport(&u, &mut z);
        let weight = (model.log_density(&z, &mut slope).unwrap() - top).exp();
        mass += weight;
        for j in 0..d {
            let x = z[j] - laplace.mean()[j];
            first[j] += weight * x;
            second[j] += weight * x * x;
        }
    }
    let evidence = top + mass.ln() + d as f64 * step.ln() + laplace.log_det().unwrap();
    let mean = (0..d).map(|j| laplace.mean()[j] + first[j] / mass).collect();
    let deviation = (0..d).map(|j| (second[j] / mass - (first[j] / mass).powi(2)).sqrt()).collect();
    Truth { evidence, mean, deviation, laplace }
}

/// The route alone, whatever the others prove.
fn measured(model: &Glm, q: &Gaussian<Triangular>, options: &Audit, seed: u64) -> Option<Mass> {
    let mut between = go_on;
    let curvature = trusted_curvature(model).unwrap().unwrap();
    let target = Evaluator::Parallel(model);
    let session =
        Session::new(options, target, (q, Image::EXACT), Seed(seed), curvature, &mut between).unwrap();
    let mut session = Session { own: Some((model, q)), ..session };
    let plan = session.consider_groups(f64::INFINITY, 1e-6).unwrap()?;
    session.measure_groups(&plan, 1e-6, 0).unwrap()
}

const LABELS: [f64; 9] = [1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0];
const COLUMN: [f64; 9] = [1.0, 0.4, -1.3, 2.0, 0.7, -0.5, 1.1, -1.6, 0.2];

/// Three groups with a coefficient each around a common one.
fn hierarchy(within: f64) -> Glm {
    let features = Design::dense(9, 1, &COLUMN).unwrap();
    let groups = [0, 1, 2, 0, 1, 2, 0, 1, 2];
    let [top, within] = [0.8, within].map(|x| Matrix::diagonal(&[x]));
    hierarchical_logistic(&features, &LABELS, &groups, &top, &within).unwrap()
}

/// `y ~ 1 + (1 | g)` with two groups, weights and offsets.
fn mixed(family: Family) -> Glm {
    let entries: Vec<(usize, usize, f64)> = (0..9).flat_map(|n| [(n, 0, 1.0), (n, 1 + n % 2, 1.0)]).collect();
    let prior = Prior::precisions(&[0.3, 2.0, 2.0]).unwrap().with_mean(&[0.4, 0.0, 0.0]).unwrap();
    let weights: Vec<f64> = (0..9).map(|n| 0.5 + 0.2 * f64::from(n)).collect();
    let offsets: Vec<f64> = COLUMN.iter().map(|x| 0.3 * x).collect();
    let design = Design::triplets(9, 3, &entries).unwrap();
    let counts = [3.0, 0.0, 1.0, 4.0, 2.0, 0.0, 1.0, 1.0, 2.0];
    let response = if family == Family::Poisson { counts } else { LABELS };
    let model = match family {
        Family::Binomial => {
            let many = counts.map(|k| 12.0 * k + 5.0);
            Glm::binomial(design, &many, &[60.0; 9], prior)
        }
        family => Glm::new(family, design, &response, prior),
    };
    model.unwrap().with_weights(&weights).unwrap().with_offsets(&offsets).unwrap()
}

fn models() -> Vec<(&'static str, Glm)> {
    vec![
        ("hierarchy", hierarchy(1.5)),
        ("weakly tied", hierarchy(0.3)),
        ("logistic", mixed(Family::Bernoulli)),
        ("counts", mixed(Family::Poisson)),
        ("trials", mixed(Family::Binomial)),
    ]
}

/// Evidence, means and deviations of small hierarchies are in their intervals, from good and from wrong Gaussians; the intervals are narrow.
#[test]
fn quadrature_agrees() {
    let mut missing = Vec::new();
    for (name, model) in models() {
        let truth = truth(&model);
        let mut covariance = truth.laplace.covariance();
        let wrong = {
            covariance.entries_mut().iter_mut().for_each(|x| *x *= 1.5);
            let mean: Vec<f64> =
                truth.laplace.mean().iter().zip(&truth.deviation).map(|(m, s)| m + 0.6 * s).collect();
            Gaussian::from_covariance(&mean, covariance).unwrap()
        };
        for (q, narrow) in [(&truth.laplace, 0.2), (&wrong, 0.4)] {
            // A group without bounds of its own leaves the other routes.
            let Some(mass) = measured(&model, q, &Audit::default(), 7) else {
                missing.push((name, narrow));
                continue;
            };
            let sides = [mass.lower.ln() - mass.constant, mass.upper.ln() - mass.constant];
            assert!(
                sides[0] <= truth.evidence && truth.evidence <= sides[1],
                "{name}: {sides:?} {}",
                truth.evidence
            );
            // Three rows say little about a group, and then its prior's tail counts; many trials say enough.
            let is_narrow = name != "trials" || sides[1] - sides[0] < narrow;
            assert!(is_narrow, "{name}: {sides:?} {}", truth.evidence);
            assert_eq!(mass.standings.len(), truth.mean.len());
            for (j, standing) in mass.standings.iter().enumerate() {
                let sd = q.standard_deviations()[j];
                let [mean, deviation] = standing.interval(q.mean()[j], sd, 0.0);
                let inside = |[low, high]: [f64; 2], x: f64| low <= x && x <= high;
                assert!(inside(mean, truth.mean[j]), "{name} {j}: {mean:?} {}", truth.mean[j]);
                assert!(
                    inside(deviation, truth.deviation[j]),
                    "{name} {j}: {deviation:?} {}",
                    truth.deviation[j]
                );
                let narrow = name != "trials" || mean[1] - mean[0] < 0.6 * sd;
                assert!(narrow, "{name} {j}: {mean:?} {sd}");
            }
        }
    }
    println!("without a bound: {missing:?}");
    assert!(missing.len() <= 2, "{missing:?}");
}

/// The identity itself, every integral a sum: it is exact, and wrong without the determinant of A, with θ₀ on the other side of ν, or
/// without W.
#[test]
fn the_parts_make_the_evidence() {
    let model = hierarchy(1.5);
    let truth = truth(&model).evidence;
    let groups = Groups::of(&model).unwrap();
    let top = Top::new(&groups, vec![0.35], 0.0).unwrap().unwrap();
    let (side, step) = (121, 0.2);
    let places: Vec<f64> = (0..side).map(|k| -12.0 + step * f64::from(k)).collect();
    let mut logs = 0.0;
    let laws: Vec<Vec<f64>> = groups
        .each
        .iter()
        .map(|group| {
            let own = group.model(&model, &top.point).unwrap();
            let weights: Vec<f64> =
                places.iter().map(|z| own.log_density(&[*z], &mut [0.0]).unwrap().exp() * step).collect();
            let mass: f64 = weights.iter().sum();
            logs += mass.ln();
            weights.iter().map(|w| w / mass).collect()
        })
        .collect();
    let parts: Vec<Matrix> = places.iter().map(|z| Matrix::diagonal(&[*z])).collect();
    let (mut mean, mut flipped) = (0.0, 0.0);
    for (a, first) in laws[0].iter().enumerate() {
        for (b, second) in laws[1].iter().enumerate() {
            for (c, third) in laws[2].iter().enumerate() {
                let weight = first * second * third;
                // Rare places count: W is large there.
                if weight < 1e-60 {
                    continue;
                }
                let draw = [parts[a].clone(), parts[b].clone(), parts[c].clone()];
                let y = top.place(&groups, &draw, 0).y[0];
                // The base is T·θ₀ = 0.8·0.35, over √A.
                let other = y - 2.0 * 0.8 * 0.35 / groups.whole[(0, 0)].sqrt();
                mean += weight * (0.5 * y * y).exp();
                flipped += weight * (0.5 * other * other).exp();
            }
        }
    }
    let whole = logs + top.constant + mean.ln();
    assert!((whole - truth).abs() < 1e-7, "{whole} {truth}");
    let planted =
        [whole + 0.5 * groups.whole[(0, 0)].ln(), logs + top.constant + flipped.ln(), logs + top.constant];
    assert!(planted.iter().all(|wrong| (wrong - truth).abs() > 1e-3), "{planted:?} {truth}");
    assert!(top.lost < 1e-12 && (top.rest - 0.8 / 5.3).abs() < 1e-9, "{} {}", top.lost, top.rest);
}

/// Any number of draws is enough to be true: a watch that breaks leaves a weaker bound, and none before the first draws.
#[test]
fn a_stopped_measurement_is_weaker_and_true() {
    let model = hierarchy(1.5);
    let truth = truth(&model);
    let options = Audit::default();
    let upper = |breaks: u64| {
        let mut asked = 0;
        let mut between = |_: u64, _: u64| {
            asked += 1;
            let go = asked <= breaks;
            Ok(if go { std::ops::ControlFlow::Continue(()) } else { std::ops::ControlFlow::Break(()) })
        };
        let curvature = trusted_curvature(&model).unwrap().unwrap();
        let (target, q) = (Evaluator::Parallel(&model), &truth.laplace);
        let session =
            Session::new(&options, target, (q, Image::EXACT), Seed(3), curvature, &mut between).unwrap();
        let mut session = Session { own: Some((&model, q)), ..session };
        let plan = session.consider_groups(f64::INFINITY, 1e-6).unwrap().unwrap();
        let mass = session.measure_groups(&plan, 1e-6, 0).unwrap()?;
        Some(mass.upper.ln() - mass.constant)
    };
    assert!(upper(1).is_none());
    // Three audits, then blocks of draws.
    let [few, all] = [upper(5).unwrap(), upper(u64::MAX).unwrap()];
    assert!(all < few && truth.evidence < all, "{} {all} {few}", truth.evidence);
}

/// The pieces of an audit do not depend on the number of threads.
#[cfg(feature = "parallel")]
#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let model = hierarchy(1.5);
    let q = truth(&model).laplace;
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mass =
            pool.install(|| measured(&model, &q, &Audit { draws: 10_000, ..Audit::default() }, 5)).unwrap();
        (mass.lower.to_bits(), mass.upper.to_bits(), mass.standings)
    };
    assert_eq!(with(1), with(3));
}
