use super::domain::Kind;
use super::*;
use crate::base::matrix::Matrix;
use crate::target::Closure;

/// One of each domain, with sizes that have a first, a middle and a last entry.
fn kinds() -> [Kind; 10] {
    [
        Kind::Real,
        Kind::Above(-1.5),
        Kind::Below(2.5),
        Kind::Between(-2.0, 5.0),
        Kind::Ordered(4),
        Kind::Simplex(2),
        Kind::Simplex(4),
        Kind::Covariance(3),
        Kind::Correlation(2),
        Kind::Correlation(4),
    ]
}

/// A point of free coordinates, different in each.
fn point(count: usize, scale: f64) -> Vec<f64> {
    (0..count).map(|k| scale * (1.3 * k as f64 + 0.4).sin()).collect()
}

/// θ, and the logarithm of the volume.
fn at(kind: Kind, z: &[f64]) -> (Vec<f64>, f64) {
    let mut theta = vec![0.0; kind.numbers()];
    let volume = kind.constrain(z, &mut theta, &mut vec![0.0; kind.working()]);
    (theta, volume)
}

/// The positions of the numbers whose volume is meant.
fn free(kind: Kind) -> Vec<usize> {
    match kind {
        Kind::Simplex(n) => (0..n - 1).collect(),
        Kind::Covariance(n) => (0..n).flat_map(|i| (0..=i).map(move |j| i * n + j)).collect(),
        Kind::Correlation(n) => (0..n).flat_map(|i| (0..i).map(move |j| i * n + j)).collect(),
        _ => (0..kind.numbers()).collect(),
    }
}

/// log |det a| by elimination with pivots.
fn log_det(mut a: Vec<Vec<f64>>) -> f64 {
    let mut log = 0.0;
    for k in 0..a.len() {
        let best = (k..a.len()).max_by(|i, j| a[*i][k].abs().total_cmp(&a[*j][k].abs())).unwrap();
        a.swap(k, best);
        log += a[k][k].abs().ln();
        for i in k + 1..a.len() {
            let part = a[i][k] / a[k][k];
            for j in k..a.len() {
                a[i][j] -= part * a[k][j];
            }
        }
    }
    log
}

#[test]
fn volumes_are_determinants_of_the_maps() {
    for kind in kinds() {
        for scale in [0.2, 1.0, 2.0] {
            let z = point(kind.coordinates(), scale);
            let h = 1e-5;
            let column = |k: usize| {
                let [up, down] = [h, -h].map(|h| {
                    let mut z = z.clone();
                    z[k] += h;
                    at(kind, &z).0
                });
                free(kind).into_iter().map(|i| (up[i] - down[i]) / (2.0 * h)).collect::<Vec<f64>>()
            };
            let jacobian: Vec<Vec<f64>> = (0..z.len()).map(column).collect();
            let (found, expected) = (at(kind, &z).1, log_det(jacobian));
            assert!((found - expected).abs() < 1e-6, "{kind:?} at {scale}: {found} and {expected}");
        }
    }
}

#[test]
fn gradients_are_those_of_the_density_with_its_volume() {
    for kind in kinds() {
        let z = point(kind.coordinates(), 0.8);
        // A density that treats no two numbers alike, and no matrix as symmetric.
        let weights: Vec<f64> = (0..kind.numbers()).map(|k| (0.7 * k as f64 + 1.0).cos()).collect();
        let value = |z: &[f64]| {
            let (theta, volume) = at(kind, z);
            theta.iter().zip(&weights).map(|(t, w)| w * t - 0.25 * t * t).sum::<f64>() + volume
        };
        let theta = at(kind, &z).0;
        let slopes: Vec<f64> = theta.iter().zip(&weights).map(|(t, w)| w - 0.5 * t).collect();
        let mut gradient = vec![0.0; z.len()];
        kind.pull_back(&z, &theta, &slopes, &mut gradient, &mut vec![0.0; kind.working()]);
        for k in 0..z.len() {
            let [up, down] = [1e-5, -1e-5].map(|h| {
                let mut z = z.clone();
                z[k] += h;
                value(&z)
            });
            let slope = (up - down) / 2e-5;
            assert!(
                (slope - gradient[k]).abs() < 1e-7 * (1.0 + slope.abs()),
                "{kind:?} {k}: {} and {slope}",
                gradient[k]
            );
        }
    }
}

#[test]
fn points_come_back() {
    for kind in kinds() {
        for scale in [0.3, 1.5, 4.0] {
            let z = point(kind.coordinates(), scale);
            let mut back = vec![0.0; z.len()];
            kind.unconstrain(&at(kind, &z).0, &mut back).unwrap();
            // A distance of e⁻⁸ to a bound keeps about twelve digits of its logarithm.
            for (z, back) in z.iter().zip(&back) {
                assert!((z - back).abs() < 1e-8, "{kind:?}: {z} came back as {back}");
            }
        }
    }
}

/// ∫ exp(log density + log volume) dz by the trapezoidal rule on [−reach, reach]ᵈ, which converges faster than any power here.
fn integral(kind: Kind, density: impl Fn(&[f64]) -> f64, reach: f64, steps: usize) -> f64 {
    let (d, h) = (kind.coordinates(), 2.0 * reach / steps as f64);
    let mut sum = 0.0;
    let mut index = vec![0usize; d];
    loop {
        let z: Vec<f64> = index.iter().map(|k| -reach + *k as f64 * h).collect();
        let (theta, volume) = at(kind, &z);
        sum += (density(&theta) + volume).exp();
        let Some(k) = (0..d).find(|k| index[*k] < steps) else { return sum * h.powi(d as i32) };
        index[k] += 1;
        index[..k].fill(0);
    }
}

#[test]
fn known_laws_have_integral_one_and_known_sets_their_volume() {
    let close =
        |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-6, "{found} {expected}");
    // Gamma(3, 2), beta(2, 3), and the length of an interval.
    close(integral(Kind::Above(0.0), |t| 4f64.ln() + 2.0 * t[0].ln() - 2.0 * t[0], 30.0, 600), 1.0);
    close(
        integral(Kind::Between(0.0, 1.0), |t| 12f64.ln() + t[0].ln() + 2.0 * (-t[0]).ln_1p(), 40.0, 800),
        1.0,
    );
    close(integral(Kind::Between(-3.0, 4.0), |_| 0.0, 40.0, 800), 7.0);
    // Dirichlet(2, 3, 4): 8!/(1! 2! 3!) = 3360.
    let dirichlet = |t: &[f64]| 3360f64.ln() + t[0].ln() + 2.0 * t[1].ln() + 3.0 * t[2].ln();
    close(integral(Kind::Simplex(3), dirichlet, 24.0, 240), 1.0);
    // The first of n ordered normals has n! times the density: 2! here.
    let normals = |t: &[f64]| -0.5 * (t[0] * t[0] + t[1] * t[1]) - std::f64::consts::TAU.ln() + 2f64.ln();
    close(integral(Kind::Ordered(2), normals, 24.0, 480), 1.0);
    // Correlation matrices: the interval (−1, 1), and π²/2 for n = 3.
    close(integral(Kind::Correlation(2), |_| 0.0, 24.0, 240), 2.0);
    close(integral(Kind::Correlation(3), |_| 0.0, 14.0, 90), std::f64::consts::PI.powi(2) / 2.0);
    // Wishart with 5 degrees of freedom and scale I, n = 2: |S| e^(−tr S/2) / (2⁵ Γ₂(5/2)), Γ₂(5/2) = √π Γ(5/2) Γ(2).
    let gamma = std::f64::consts::PI.sqrt() * (0.75 * std::f64::consts::PI.sqrt());
    let wishart = |s: &[f64]| (s[0] * s[3] - s[1] * s[2]).ln() - 0.5 * (s[0] + s[3]) - (32.0 * gamma).ln();
    close(integral(Kind::Covariance(2), wishart, 14.0, 140), 1.0);
}

#[test]
fn a_target_is_carried_over_with_its_names_and_shapes() {
    let parameters = Parameters::new([
        ("mu", Domain::real()),
        ("tau", Domain::positive().of_shape(&[2]).unwrap()),
        ("p", Domain::simplex(3).unwrap().of_shape(&[2]).unwrap()),
        ("R", Domain::correlation(2).unwrap()),
    ])
    .unwrap();
    assert_eq!((parameters.numbers(), parameters.coordinates()), (1 + 2 + 6 + 4, 1 + 2 + 4 + 1));
    assert_eq!(parameters.names()[..5], ["mu", "tau[0]", "tau[1]", "p[0,0]", "p[0,1]"]);
    assert_eq!(parameters.names()[9..], ["R[0,0]", "R[0,1]", "R[1,0]", "R[1,1]"]);
    let coordinates = parameters.coordinate_names();
    assert_eq!(coordinates[..2], ["mu", "tau_unconstrained[0]"]);
    assert_eq!(coordinates[3..5], ["p_unconstrained[0,0]", "p_unconstrained[0,1]"]);

    let inner = Closure::new(13, |theta: &[f64], gradient: &mut [f64]| {
        gradient.iter_mut().zip(theta).for_each(|(g, t)| *g = -t);
        -0.5 * theta.iter().map(|t| t * t).sum::<f64>()
    });
    let target = Constrained::new(parameters, inner.unwrap()).unwrap();
    let z = point(8, 0.9);
    let theta = target.parameters().constrain(&z).unwrap();
    assert!((theta[3..6].iter().sum::<f64>() - 1.0).abs() < 1e-15);
    let back = target.parameters().unconstrain(&theta).unwrap();
    assert!(z.iter().zip(&back).all(|(a, b)| (a - b).abs() < 1e-12));
    let draws = target.parameters().of_draws(&Matrix::new(1, 8, z.clone()).unwrap()).unwrap();
    assert_eq!(draws.entries(), &theta[..]);
    // One point and many are the same, and the gradient is that of the value.
    let mut gradient = vec![0.0; 8];
    let value = target.log_density(&z, &mut gradient).unwrap();
    let points = [z.clone(), z.clone()].concat();
    let (mut values, mut gradients) = ([0.0; 2], [0.0; 16]);
    target.log_densities(&points, &mut values, &mut gradients, &mut Scratch::default()).unwrap();
    assert_eq!((values, &gradients[8..]), ([value; 2], &gradient[..]));
    crate::target::watchdog::check_gradient(&target, &z, crate::base::draws::Seed(3)).unwrap();
}

#[test]
fn what_is_outside_a_domain_is_named() {
    let one = |domain: Domain, theta: &[f64]| {
        Parameters::new([("a", domain)]).unwrap().unconstrain(theta).unwrap_err().to_string()
    };
    assert!(
        one(Domain::positive(), &[-1.0]).contains("parameter a: its value = -1 is not above its lower bound")
    );
    assert!(one(Domain::simplex(2).unwrap(), &[0.5, 0.6]).contains("sum of a simplex"));
    assert!(one(Domain::ordered(2).unwrap(), &[1.0, 1.0]).contains("above the number before"));
    assert!(one(Domain::covariance(2).unwrap(), &[1.0, 2.0, 2.0, 1.0]).contains("positive definite"));
    assert!(one(Domain::covariance(2).unwrap(), &[1.0, 0.5, 0.2, 1.0]).contains("differ"));
    // What products of matrices leave of a zero is no asymmetry.
    let nearly = Parameters::new([("a", Domain::covariance(2).unwrap())]).unwrap();
    assert!(nearly.unconstrain(&[1.0, 1e-17, 3e-17, 2.0]).is_ok());
    assert!(one(Domain::correlation(2).unwrap(), &[1.0, 0.5, 0.5, 2.0]).contains("diagonal"));
    assert!(one(Domain::real(), &[f64::NAN]).contains("finite"));
    assert!(Domain::between(1.0, 1.0).is_err() && Domain::above(f64::INFINITY).is_err());
    assert!(Domain::simplex(1).is_err() && Domain::correlation(1).is_err() && Domain::covariance(0).is_err());
    assert!(Domain::real().of_shape(&[0]).is_err());
    let twice = Parameters::new([("a", Domain::real()), ("a", Domain::real())]).unwrap_err();
    assert!(twice.to_string().contains("parameter a: two numbers have this name"), "{twice}");
    for other in [("a[0]", Domain::real()), ("b_unconstrained[1]", Domain::real())] {
        let two = |domain: Domain| domain.of_shape(&[2]).unwrap();
        assert!(
            Parameters::new([("a", two(Domain::real())), ("b", two(Domain::positive())), other]).is_err()
        );
    }
    assert!(Parameters::new::<&str>([]).is_err());
    let inner = Closure::new(2, |_: &[f64], _: &mut [f64]| 0.0).unwrap();
    assert!(Constrained::new(Parameters::new([("a", Domain::real())]).unwrap(), inner).is_err());
}

#[test]
fn summaries_are_those_of_the_draws() {
    let parameters = Parameters::new([("a", Domain::real()), ("b", Domain::positive())]).unwrap();
    let draws = Matrix::new(5, 2, vec![1.0, 10.0, 3.0, 8.0, 2.0, 6.0, 5.0, 4.0, 4.0, 2.0]).unwrap();
    let found = parameters.summaries(&draws).unwrap();
    assert_eq!((found[0].mean, found[1].mean), (3.0, 6.0));
    assert!((found[0].sd - 2.5f64.sqrt()).abs() < 1e-15);
    // Position 0.025 · 4 = 0.1 between the first and the second.
    assert!((found[0].interval.0 - 1.1).abs() < 1e-15 && (found[1].interval.1 - 9.8).abs() < 1e-14);
    assert!(parameters.summaries(&Matrix::new(1, 2, vec![1.0, 1.0]).unwrap()).is_err());
}
