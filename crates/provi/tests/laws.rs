//! Laws: averages stay in the hull, bounds move the safe way, and no input makes the public face panic.

use crate::common::{regression, square_norm};
use proptest::collection::vec;
use proptest::prelude::*;
use provi::average::Averager;
use provi::estimator::{Kind, Sampled};
use provi::method::{Guard, Recipe, Space};
use provi::plan::Coordinates;
use provi::scalar::Probability;
use provi::schedule::StepKind;
use provi::target::{
    Closure, Declared, Evaluator, Family, GaussianTarget, Glm, Prior, hierarchical_convexity,
    hierarchical_logistic,
};
use provi::theory::noise::{self, NoiseBound};
use provi::theory::recursion::with_probability;
use provi::theory::{Contraction, Recursion, rate};
use provi::{
    Average, Curvature, Design, Gaussian, Matrix, Method, Planner, Quadratic, Schedule, Seed, Symmetric,
    Target, Triangular,
};

/// Any number a caller may hand over.
fn wild() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -3.0..3.0f64,
        2 => (-320.0..308.0f64).prop_map(|x| 10f64.powf(x)),
        1 => (-320.0..308.0f64).prop_map(|x| -(10f64.powf(x))),
        1 => prop::sample::select(vec![
            f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1.0, -1.0, f64::MAX, f64::MIN,
            f64::MIN_POSITIVE, 5e-324, f64::EPSILON, 1e154, 1e-154, 0.5,
        ]),
    ]
}

/// Any number of the right sign for a constant.
fn constant() -> impl Strategy<Value = f64> {
    prop_oneof![3 => (-6.0..6.0f64).prop_map(|x| 10f64.powf(x)), 1 => wild()]
}

fn wild_steps() -> impl Strategy<Value = u64> {
    prop_oneof![3 => 0..2000u64, 1 => any::<u64>(), 1 => Just(u64::MAX)]
}

fn wild_size() -> impl Strategy<Value = usize> {
    prop_oneof![8 => 0..4usize, 1 => Just(usize::MAX), 1 => Just(usize::MAX / 8), 1 => any::<usize>()]
}

/// What a bound must be, if it is given at all.
fn is_bound(value: provi::Result<f64>) -> bool {
    value.is_ok_and(|x| x.is_nan() || x < 0.0)
}

macro_rules! assert_bounds {
    ($($call:expr),+ $(,)?) => {
        $(prop_assert!(!is_bound($call), concat!(stringify!($call), " is NaN or negative"));)+
    };
}

fn matrix(entries: Vec<f64>) -> Matrix {
    let d = entries.len().isqrt();
    let mut out = Matrix::new(d, d, entries[..d * d].to_vec()).unwrap();
    // Half of the cases symmetric, so that they get past the door.
    if entries.last().is_some_and(|x| *x > 0.0) {
        for i in 0..d {
            for j in 0..i {
                out[(i, j)] = out[(j, i)];
            }
        }
    }
    out
}

fn wild_matrix() -> impl Strategy<Value = Matrix> {
    (0..4usize).prop_flat_map(|d| vec(wild(), d * d)).prop_map(matrix)
}

/// Every read-only question a target answers, at a wild point.
fn interrogate(target: &dyn Target, z: &[f64]) {
    let d = target.dim();
    let z: Vec<f64> = z.iter().copied().cycle().take(d).collect();
    let _ = target.log_density(&z, &mut vec![0.0; d]);
    let _ = target.hessian(&z, &mut Matrix::zeros(d, d));
    let _ = target.names();
    if let Ok(Some(curvature)) = target.curvature() {
        let _ = (curvature.condition(), curvature.trace_inverse(), curvature.residual_smoothness());
    }
    let q = Gaussian::<Triangular>::standard(d);
    if let (Some(expectations), Ok(q)) = (target.expectations(), Gaussian::new(&z, q.factor())) {
        let _ = provi::expectation::neg_elbo(expectations, &q);
    }
    let _ = provi::mode::find_mode(target, &z);
}

/// Every entry point of the planner, and short runs of what it grants.
fn plan_everything(target: &(dyn Target + Sync), method: Method, knobs: &[f64], coordinates: Coordinates) {
    let mut planner = Planner::new(method).coordinates(coordinates);
    if knobs[0] > 0.0 {
        planner = planner.draws((knobs[0] as usize).min(9)).radius(knobs[1]);
    }
    if knobs[2] > 1.0 {
        planner = planner.start(&knobs[..(knobs[3].abs() as usize).min(knobs.len())]);
    }
    let schedule = Schedule::practical(knobs[1], 3, knobs[2]).or_else(|_| Schedule::constant(0.1)).unwrap();
    let plans = [
        planner.to_distance(target, knobs[0]),
        planner.to_steps(target, 20),
        planner.to_steps(target, 0),
        planner.convex(target, 30),
        planner.practical(target, Some(20)),
        planner.practical(target, Some(0)),
        planner.with_schedule(target, schedule, 20),
    ];
    for plan in plans.into_iter().flatten().filter(|plan| plan.steps <= 1_000) {
        let _ = plan.run(target, Seed(1));
    }
}

fn every_method() -> impl Strategy<Value = Method> {
    let mut all: Vec<Method> = Method::named().chain(Method::recipes()).map(|(_, m)| m).collect();
    for estimator in [Kind::Energy, Kind::Entropy, Kind::Stl, Kind::Score] {
        for guard in [Guard::Prox, Guard::Projection, Guard::Nothing] {
            for space in [Space::Triangular, Space::Symmetric] {
                all.extend(Recipe::new(estimator, guard, space).ok().map(Method::Unproven));
            }
        }
    }
    prop::sample::select(all)
}

fn every_coordinates() -> impl Strategy<Value = Coordinates> {
    prop::sample::select(vec![Coordinates::Original, Coordinates::Curvature, Coordinates::Laplace])
}

fn every_family() -> impl Strategy<Value = Family> {
    prop_oneof![
        wild().prop_map(|noise_sd| Family::Gaussian { noise_sd }),
        Just(Family::Bernoulli),
        Just(Family::Probit),
        Just(Family::Poisson),
    ]
}

fn every_schedule() -> impl Strategy<Value = Schedule> {
    let kind = prop::sample::select(vec![StepKind::Prox, StepKind::Proj]);
    (kind, vec(constant(), 4), wild_steps(), 0..9usize).prop_map(|(kind, c, steps, which)| match which {
        0 => Schedule::Constant { gamma: c[0] },
        1 => Schedule::Anytime { kind, convexity: c[0], growth: c[1] },
        2 => Schedule::LogOverT { scale: c[0], steps },
        3 => Schedule::Convex { kind, growth: c[0], steps },
        4 => Schedule::Optimal { convexity: c[0], growth: c[1], floor: c[2], start: c[3] },
        5 => Schedule::Custom(c[..(steps % 5) as usize].to_vec()),
        6 => Schedule::Practical { start: c[0], hold: steps, scale: c[1] },
        7 => Schedule::Adaptive { scale: c[0] },
        _ => Schedule::Travelled { first: c[0] },
    })
}

fn every_average() -> impl Strategy<Value = Average> {
    (constant(), any::<bool>(), 0..5usize).prop_map(|(x, includes_start, which)| match which {
        0 => Average::Last,
        1 => Average::Uniform,
        2 => Average::Discounted { discount: x, includes_start },
        3 => Average::Travelled,
        _ => Average::Polynomial { power: x },
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn averages_are_convex_combinations(
        kind in every_average(), iterates in vec(vec(-1e300..1e300f64, 2), 1..40), scale in -300.0..0.0f64,
    ) {
        let Ok(mut averager) = Averager::new(kind, 2) else { return Ok(()) };
        let shrink = 10f64.powf(scale);
        let iterates: Vec<Vec<f64>> =
            iterates.iter().map(|w| w.iter().map(|x| x * shrink).collect()).collect();
        let (last, rest) = iterates.split_last().unwrap();
        rest.iter().enumerate().for_each(|(t, w)| averager.add(t as u64, w).unwrap());
        let answer = averager.finish(last).unwrap();
        for i in 0..2 {
            let column = || iterates.iter().map(|w| w[i]);
            let (low, high) = (column().fold(f64::INFINITY, f64::min), column().fold(f64::NEG_INFINITY, f64::max));
            let slack = 1e-13 * low.abs().max(high.abs());
            prop_assert!(answer[i] >= low - slack && answer[i] <= high + slack, "{kind:?}: {answer:?}");
        }
    }

    #[test]
    fn averages_commute_with_affine_maps(kind in every_average(), iterates in vec(-5.0..5.0f64, 1..30)) {
        let Ok(mut plain) = Averager::new(kind, 1) else { return Ok(()) };
        let mut mapped = Averager::new(kind, 1).unwrap();
        let (last, rest) = iterates.split_last().unwrap();
        for (t, w) in rest.iter().enumerate() {
            plain.add(t as u64, &[*w]).unwrap();
            mapped.add(t as u64, &[3.0 - 2.0 * w]).unwrap();
        }
        let (a, b) = (plain.finish(&[*last]).unwrap()[0], mapped.finish(&[3.0 - 2.0 * last]).unwrap()[0]);
        prop_assert!((b - (3.0 - 2.0 * a)).abs() < 1e-12);
    }

    #[test]
    fn averages_refuse_vectors_of_another_length(
        kind in every_average(), len in 0..4usize, other in 0..4usize, t in wild_steps(),
    ) {
        if let Ok(mut averager) = Averager::new(kind, len) {
            let added = averager.add(t, &vec![1.0; other]);
            let finished = averager.finish(&vec![1.0; other]);
            if kind != Average::Last && len != other && t > 0 {
                prop_assert!(added.is_err() && (averager.kind() == Average::Last || finished.is_err()));
            }
            let _ = averager.finish_into(&vec![1.0; len], &mut vec![1.0; other]);
        }
    }

    #[test]
    fn steps_keep_their_sets_and_never_move_points_apart(
        a in vec(-1e3..1e3f64, 9), b in vec(-1e3..1e3f64, 9), log_gamma in -8.0..3.0f64, log_m in -4.0..4.0f64,
    ) {
        use provi::optimize::{Moved, Operator};
        use provi::step::{ProjSymmetric, ProjTriangular, Prox};
        let (gamma, m) = (10f64.powf(log_gamma), 10f64.powf(log_m));
        let unknown = Moved { distance: f64::MAX, value: None };
        let apart = |x: &[f64], y: &[f64], symmetric: bool| {
            let delta: Vec<f64> = x.iter().zip(y).map(|(x, y)| x - y).collect();
            if symmetric { square_norm::<Symmetric>(3, &delta) } else { square_norm::<Triangular>(3, &delta) }
        };
        let operators: [(&str, bool, Box<dyn Operator>); 3] = [
            ("prox", false, Box::new(Prox::new(3))),
            ("triangular", false, Box::new(ProjTriangular::new(3, m).unwrap())),
            ("symmetric", true, Box::new(ProjSymmetric::new(3, m).unwrap())),
        ];
        for (name, symmetric, mut operator) in operators {
            let (mut x, mut y) = (a.clone(), b.clone());
            operator.apply(&mut x, gamma, &unknown).unwrap();
            operator.apply(&mut y, gamma, &unknown).unwrap();
            prop_assert!(x[..3] == a[..3], "{name} leaves the mean alone");
            let (after, before) = (apart(&x, &y, symmetric), apart(&a, &b, symmetric));
            prop_assert!(after.sqrt() <= before.sqrt() * (1.0 + 1e-9) + 1e-9, "{name}");
            let inside = if symmetric {
                Gaussian::<Symmetric>::new(&x[..3], &x[3..]).is_ok()
            } else {
                Gaussian::<Triangular>::new(&x[..3], &x[3..]).is_ok()
            };
            // A symmetric factor whose floor is lost in the rounding of its largest entry may fail to factor.
            prop_assert!(inside || (symmetric && m > 1e6), "{name} stays in the domain");
        }
    }

    #[test]
    fn noise_bounds_grow_with_every_constant(
        d in 1..50usize, log_m in -3.0..3.0f64, k in 0.0..1.0f64, distance2 in 0.0..10.0f64, draws in 1..20usize,
        more in 1.0..3.0f64,
    ) {
        let m = 10f64.powf(log_m);
        let below = |a: NoiseBound, b: NoiseBound| a.growth <= b.growth && a.floor <= b.floor;
        let energy = |d, m, e| noise::energy(d, m, e).unwrap();
        let entropy = |d, m, l, e| noise::entropy(d, m, l, e).unwrap();
        let stl = |d, m, k, t, n| noise::stl_batch(d, m, k, t, n).unwrap();
        let base = energy(d, m, distance2);
        prop_assert!(below(base, energy(d + 1, m, distance2)) && below(base, energy(d, m * more, distance2)));
        prop_assert!(below(base, energy(d, m, distance2 * more)));
        let base = entropy(d, m, m, distance2);
        prop_assert!(below(base, entropy(d + 1, m, m, distance2)) && below(base, entropy(d, m, m * more, distance2)));
        prop_assert!(below(base, entropy(d, m * more, m, distance2 * more)));
        let base = stl(d, m, k * m, distance2, draws);
        prop_assert!(below(base, stl(d, m, k * m * more, distance2, draws)));
        prop_assert!(below(base, stl(d, m * more, k * m, distance2 * more, draws)));
        prop_assert!(below(stl(d, m, k * m, distance2, draws + 1), base), "more draws, less noise");
        let batch = |n| noise::energy_batch(d, m, n, distance2).unwrap();
        prop_assert!(batch(draws + 1).growth <= batch(draws).growth * (1.0 + 1e-12));
        prop_assert!(batch(draws + 1).floor <= batch(draws).floor);
    }

    #[test]
    fn rates_fall_with_the_steps_and_grow_with_every_constant(
        mu in 0.1..1.0f64, kappa2 in 1.0..100.0f64, floor in 0.0..10.0f64, gradient2 in 0.0..10.0f64,
        start in 0.0..100.0f64, steps in 1..100_000u64, more in 1.0..3.0f64, part in 0.01..1.0f64,
    ) {
        let growth = kappa2 * mu * mu;
        let base = NoiseBound { growth, floor };
        let louder = NoiseBound { growth, floor: floor * more };
        let gamma = part * (mu / (2.0 * growth)).min(1.0 / mu);
        type Rate = Box<dyn Fn(NoiseBound, f64, f64, u64) -> f64>;
        let rates: [(&str, bool, Rate); 6] = [
            ("prox constant", true, Box::new(move |n, g, e, t| rate::prox_strong_constant(mu, n, g, e, gamma, t).unwrap())),
            ("prox anytime", true, Box::new(move |n, g, e, t| rate::prox_strong_anytime(mu, n, g, e, t).unwrap())),
            ("proj constant", true, Box::new(move |n, _, e, t| rate::proj_strong_constant(mu, n, e, gamma, t).unwrap())),
            ("proj anytime", true, Box::new(move |n, _, e, t| rate::proj_strong_anytime(mu, n, e, t).unwrap())),
            ("proj convex", true, Box::new(move |n, _, e, t| rate::proj_convex(n, e, t).unwrap())),
            ("prox convex, constant", true, Box::new(move |n, _, e, t| rate::prox_convex_constant(0.9 / gamma, n, e, gamma, t).unwrap())),
        ];
        for (name, falls, rate) in rates {
            let value = rate(base, gradient2, start, steps);
            let slack = 1.0 + 1e-12;
            prop_assert!(!falls || rate(base, gradient2, start, steps + 1) <= value * slack, "{name}");
            prop_assert!(value <= rate(louder, gradient2, start, steps) * slack, "{name}");
            prop_assert!(value <= rate(base, gradient2 * more, start, steps) * slack, "{name}");
            prop_assert!(value <= rate(base, gradient2, start * more, steps) * slack, "{name}");
        }
    }

    #[test]
    fn steps_to_an_accuracy_reach_it_and_no_fewer_do(
        mu in 0.1..1.0f64, kappa2 in 1.0..50.0f64, floor in 0.0..3.0f64, start in 0.1..50.0f64, accuracy in 0.01..1.0f64,
    ) {
        let base = NoiseBound { growth: kappa2 * mu * mu, floor };
        let recursion = Recursion::new(mu, base).unwrap();
        let steps = recursion.steps_to(start, accuracy, u64::MAX).unwrap();
        prop_assert!(recursion.optimal_after(start, steps) <= accuracy);
        prop_assert!(steps == 0 || recursion.optimal_after(start, steps - 1) > accuracy);
        let steps = rate::proj_strong_anytime_steps(mu, base, start, accuracy).unwrap();
        prop_assert!(rate::proj_strong_anytime(mu, base, start, steps).unwrap() <= accuracy);
        let steps = rate::prox_strong_anytime_steps(mu, base, 0.5, start, accuracy).unwrap();
        prop_assert!(rate::prox_strong_anytime(mu, base, 0.5, start, steps).unwrap() <= accuracy);
    }

    #[test]
    fn theory_survives_any_number(
        d in wild_size(), c in vec(constant(), 6), draws in wild_size(), steps in wild_steps(), kappa in 1.0..1e3f64,
    ) {
        for bound in [
            NoiseBound::new(c[0], c[1]),
            noise::energy(d, c[0], c[1]),
            noise::entropy(d, c[0], c[1], c[2]),
            noise::stl(d, c[0], c[1], c[2]),
            noise::energy_batch(d, c[0], draws, c[1]),
            noise::entropy_batch(d, c[0], draws, c[1]),
            noise::stl_batch(d, c[0], c[1], c[2], draws),
            noise::energy_subsample(d, c[0], c[1], draws, c[2]),
            noise::entropy_subsample(d, c[0], c[1], draws, c[2]),
            noise::exact_prox(c[0]),
            noise::exact_proj(c[0]),
        ].into_iter().flatten() {
            prop_assert!(bound.growth >= 0.0 && bound.floor >= 0.0 && bound.at(1.0) >= 0.0);
        }
        let _ = noise::stl_floor_constant(d);
        assert_bounds!(
            noise::optimum_distance2(d, c[0]),
            noise::stl_moment_at_optimum(d, c[0], c[1]),
            noise::residual_smoothness(c[0], c[1], Some(c[2])),
            noise::energy_second_moment(d, c[0], c[1], c[2]),
            noise::v_star_bound(d, c[0], c[1]),
            noise::subsample_second_moment(d, c[0], c[1], c[2]),
            rate::start_distance2(c[0], d, c[1], c[2]),
        );
        for n in [NoiseBound { growth: c[0], floor: c[1] }, NoiseBound { growth: kappa * c[2] * c[2], floor: c[1] }] {
            assert_bounds!(
                rate::prox_strong_constant(c[2], n, c[3], c[4], c[5], steps),
                rate::prox_strong_anytime(c[2], n, c[3], c[4], steps),
                rate::prox_strong_log(c[2], n, c[3], c[4], c[5], steps),
                rate::prox_convex_constant(c[2], n, c[3], c[4], steps),
                rate::prox_convex(c[2], n, c[3], steps),
                rate::proj_strong_constant(c[2], n, c[3], c[4], steps),
                rate::proj_strong_anytime(c[2], n, c[3], steps),
                rate::proj_convex_constant(n, c[3], c[4], steps),
                rate::proj_convex(n, c[3], steps),
                rate::proj_stl_gaussian(d, c[0], c[1], c[2], c[3], steps),
            );
            let _ = rate::prox_strong_constant_steps(c[2], n, c[3], c[4], c[5], c[0]);
            let _ = rate::prox_strong_anytime_steps(c[2], n, c[3], c[4], c[5]);
            let _ = rate::prox_strong_log_steps(c[2], n, c[3], c[4], c[5], c[0]);
            let _ = rate::prox_convex_steps(c[2], n, c[3], c[4]);
            let _ = rate::proj_strong_constant_steps(c[2], n, c[3], c[4], c[5]);
            let _ = rate::proj_strong_anytime_steps(c[2], n, c[3], c[4]);
            let _ = rate::proj_convex_steps(n, c[3], c[4]);
            let _ = rate::proj_stl_gaussian_steps(d, c[0], c[1], c[2], c[3], c[4]);
            if let Ok(recursion) = Recursion::new(c[2], n) {
                let _ = (recursion.advance(c[3], c[4]), recursion.optimal_gamma(c[3]));
                let _ = (recursion.optimal_schedule(c[3]), recursion.optimal_after(c[3], steps % 1000));
                let _ = recursion.optimal_after(c[3], steps | (1 << 40));
                if let Ok(schedule) = Schedule::constant(c[5]) {
                    let _ = recursion.propagate(&schedule, steps, c[3]);
                }
            }
        }
        if let Ok(contraction) = Contraction::prox(c[0], c[1]).or(Contraction::proj(c[0], c[1])) {
            let _ = (contraction.steps_to(c[2], c[3]), contraction.advance(c[2], c[3]));
        }
        if let Ok(delta) = Probability::new("δ", c[0]) {
            let _ = with_probability(c[1], delta);
        }
        let _ = hierarchical_convexity(c[0], c[1], d.min(usize::MAX - 1));
        let _ = provi::optimize::QuadraticallyBounded::new(c[0], c[1], c[2], c[3]);
    }

    #[test]
    fn schedules_survive_any_number(schedule in every_schedule(), t in wild_steps()) {
        let near = t % 500;
        if schedule.check().is_ok() {
            for gamma in schedule.stepper().take(50) {
                // NaN or 0 only by overflow or underflow; a run refuses both.
                prop_assert!(gamma.is_nan() || gamma >= 0.0, "{schedule:?}: {gamma}");
            }
        }
        let _ = (schedule.at(near), schedule.to_string());
        if !matches!(schedule, Schedule::Optimal { .. }) {
            let _ = schedule.at(t);
        }
    }

    #[test]
    fn schedule_and_average_constructors_survive_any_number(
        c in vec(constant(), 4), steps in wild_steps(), prox in any::<bool>(),
    ) {
        let kind = if prox { StepKind::Prox } else { StepKind::Proj };
        let _ = Schedule::strong_constant(kind, c[0], c[1], c[2]);
        let _ = Schedule::anytime(kind, c[0], c[1]);
        let _ = Schedule::log_over_t(c[0], c[1], c[2], steps);
        let _ = Schedule::convex(kind, c[0], c[1], steps);
        let _ = Schedule::optimal(c[0], c[1], c[2], c[3]);
        let _ = Schedule::custom(c.clone());
        let _ = (Schedule::practical(c[0], steps, c[1]), Average::prox(c[0], c[1]), Average::proj(c[0], c[1]));
    }

    #[test]
    fn designs_survive_any_input(
        entries in vec(wild(), 0..13), rows in wild_size(), columns in wild_size(), starts in vec(wild_size(), 0..6),
        places in vec((wild_size(), wild_size()), 0..6),
    ) {
        let _ = Design::dense(rows, columns, &entries);
        let indices: Vec<usize> = places.iter().map(|p| p.0).collect();
        let values: Vec<f64> = entries.iter().copied().take(places.len()).collect();
        let _ = Design::csr(rows, columns, starts.clone(), indices.clone(), values.clone());
        let _ = Design::csr(starts.len().saturating_sub(1), columns, starts, indices, values);
        let triplets: Vec<(usize, usize, f64)> =
            places.iter().zip(&entries).map(|(&(n, j), &x)| (n, j, x)).collect();
        let _ = Design::triplets(rows, columns, &triplets);
    }

    #[test]
    fn gaussians_survive_any_input(mean in vec(wild(), 0..4), factor in vec(wild(), 0..11), covariance in wild_matrix()) {
        let d = mean.len();
        let fitting: Vec<f64> = factor.iter().copied().cycle().take(if factor.is_empty() { 0 } else { d * (d + 1) / 2 }).collect();
        for packed in [&factor, &fitting] {
            if let Ok(q) = Gaussian::<Triangular>::new(&mean, packed) {
                let _ = (q.log_det(), q.entropy(), q.covariance(), q.standard_deviations(), q.to_symmetric());
                let _ = (q.log_density(&mean), q.log_density(&factor), q.sample(2, Seed(1)));
            }
            if let Ok(q) = Gaussian::<Symmetric>::new(&mean, packed) {
                let _ = (q.log_det(), q.entropy(), q.covariance(), q.standard_deviations(), q.to_triangular());
                let _ = (q.log_density(&mean), q.log_density(&factor), q.sample(2, Seed(1)));
            }
        }
        let _ = Gaussian::<Triangular>::from_covariance(&mean, covariance.clone());
        if let Ok(target) = GaussianTarget::new(&mean, covariance) {
            let _ = (target.optimum(), target.log_evidence());
            interrogate(&target, &mean);
            let _ = target.constant(factor.first().copied().unwrap_or(f64::NAN));
        }
    }

    #[test]
    fn curvatures_survive_any_input(dim in wild_size(), a in wild(), b in wild(), low in wild_matrix(), high in wild_matrix()) {
        let scalars = (Quadratic::Scalar(a), Quadratic::Scalar(b));
        let matrices = (Quadratic::Matrix(low.clone()), Quadratic::Matrix(high));
        let made = [
            Curvature::declared(dim, scalars.0.clone(), Some(scalars.1.clone())),
            Curvature::declared(dim, scalars.0.clone(), None),
            Curvature::estimated(low.rows(), matrices.0.clone(), Some(matrices.1.clone())),
            Curvature::declared(low.rows(), scalars.0, Some(matrices.1)),
            Curvature::declared(low.rows(), matrices.0, Some(scalars.1)),
        ];
        for curvature in made.into_iter().flatten() {
            prop_assert!(curvature.convexity() >= 0.0 && curvature.trace_inverse() >= 0.0);
            if let Some(m) = curvature.smoothness() {
                prop_assert!(m >= curvature.convexity() && curvature.residual_smoothness().unwrap() >= 0.0);
            }
            if curvature.dim() < 10 {
                for (_, method) in Method::named() {
                    let _ = method.noise(&curvature, 3);
                }
            }
        }
    }

    #[test]
    fn matrices_survive_any_shape(rows in wild_size(), columns in wild_size(), entries in vec(wild(), 0..10)) {
        let _ = Matrix::new(rows, columns, entries);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn models_and_planners_survive_any_data(
        entries in vec(wild(), 1..9), response in vec(wild(), 0..5), columns in 0..4usize, precision in vec(wild(), 1..4),
        dense in wild_matrix(), mean in vec(wild(), 0..4), family in every_family(), tame in any::<bool>(),
        method in every_method(), coordinates in every_coordinates(), knobs in vec(constant(), 4),
    ) {
        let rows = entries.len().checked_div(columns).unwrap_or(1);
        let entries = &entries[..(rows * columns).min(entries.len())];
        let Ok(design) = Design::dense(rows, columns, entries) else { return Ok(()) };
        let response: Vec<f64> =
            if tame { crate::common::labels(rows) } else { response };
        let priors = [
            Prior::precision(precision[0]),
            Prior::scale(precision[0]),
            Prior::precisions(&precision),
            Prior::precision_matrix(dense.clone()),
            Prior::covariance(dense),
            Prior::precision(1.0),
        ];
        for prior in priors.into_iter().flatten() {
            let prior = prior.clone().with_mean(&mean).unwrap_or(prior);
            let Ok(model) = Glm::new(family, design.clone(), &response, prior) else { continue };
            let model = model.clone().with_weights(&precision).unwrap_or(model);
            let model = model.clone().with_offsets(&mean).unwrap_or(model);
            let model = model.clone().with_names(vec!["a".into()]).unwrap_or(model);
            interrogate(&model, entries);
            plan_everything(&model, method, &knobs, coordinates);
        }
    }

    #[test]
    fn hierarchical_models_survive_any_data(
        entries in vec(wild(), 1..7), labels in vec(prop::sample::select(vec![0.0, 1.0, -1.0, f64::NAN]), 0..4),
        groups in vec(wild_size(), 0..4), top in wild_matrix(), within in wild_matrix(), columns in 1..3usize,
    ) {
        let rows = entries.len() / columns;
        if let Ok(features) = Design::dense(rows, columns, &entries[..rows * columns]) {
            let plain = Matrix::scaled_identity(columns, 1.0);
            let fair: Vec<f64> = crate::common::labels(rows);
            let even: Vec<usize> = (0..rows).map(|n| n % 2).collect();
            for (labels, groups, top, within) in
                [(&labels, &groups, &top, &within), (&fair, &groups, &plain, &plain), (&fair, &even, &top, &within), (&fair, &even, &plain, &plain)]
            {
                if let Ok(model) = hierarchical_logistic(&features, labels, groups, top, within) {
                    interrogate(&model, &entries);
                }
            }
        }
    }

    #[test]
    fn planners_survive_any_target(
        dim in 0..3usize, shape in vec(wild(), 4), curve in vec(constant(), 2), method in every_method(),
        coordinates in every_coordinates(), knobs in vec(constant(), 4),
    ) {
        // A density that is a quadratic, a constant, or nonsense.
        let density = |z: &[f64], g: &mut [f64]| {
            for (g, z) in g.iter_mut().zip(z) {
                *g = shape[0] - shape[1] * z;
            }
            shape[2] + z.iter().map(|z| shape[0] * z - 0.5 * shape[1] * z * z).sum::<f64>()
        };
        if let Ok(target) = Closure::new(dim, density) {
            plan_everything(&target, method, &knobs, coordinates);
            let curvature = Curvature::declared(dim, Quadratic::Scalar(curve[0]), Some(Quadratic::Scalar(curve[1])));
            if let Ok(declared) = curvature.and_then(|c| Declared::new(target).with_curvature(c)) {
                plan_everything(&declared, method, &knobs, coordinates);
            }
        }
    }

    #[test]
    fn automatic_differentiation_survives_any_function(
        dim in 0..4usize, z in vec(wild(), 0..5), shape in vec(wild(), 4), index in wild_size(), other in vec(wild(), 0..5),
        method in every_method(),
    ) {
        use provi::autodiff::{Autodiff, Matrix, gradient, logsumexp};
        let Ok(table) = Matrix::new(2, 2, shape.clone()) else { return Ok(()) };
        let _ = Matrix::new(index, 2, other.clone());
        let target = Autodiff::new(dim, |z| {
            let line = table.matvec(z);
            let near = z.at(index) * shape[0] + z.at(0).powi(3);
            near + (z * &other).sum() - 0.5 * z.dot(z) + line.softplus().sum() + logsumexp(&[z.at(0), z.at(1)])
        });
        let _ = (target.value(&z), target.value_and_gradient(&z, &mut vec![0.0; index.min(6)]));
        let _ = gradient(|z| z.ln().sum() + z.sqrt().norm_squared() + z.slice(index..).mean() + z.gather(&[index, 0]).cumulative_sum().sum(), &z);
        plan_everything(&target, method, &[1.0, 0.1, 0.5, 1.0], Coordinates::Original);
        let plain = Autodiff::new(dim, |z| -0.5 * z.dot(z));
        plan_everything(&plain, method, &[1.0, 0.1, 0.5, 1.0], Coordinates::Laplace);
    }
}

#[test]
fn estimators_refuse_what_they_cannot_draw() {
    let target = regression(Family::Bernoulli, 701, 2, 1.0, false);
    let draws = provi::draws::Draws::new(Seed(1), provi::draws::Purpose::Optimise);
    assert!(Sampled::<Triangular>::new(Kind::Energy, Evaluator::Serial(&target), draws, 0).is_err());
    assert!(Planner::new(Method::ProxEnergy).draws(0).to_steps(&target, 5).is_err());
    let nothing = provi::autodiff::Autodiff::new(0, |z| z.sum());
    assert!(Sampled::<Triangular>::new(Kind::Energy, Evaluator::Serial(&nothing), draws, 1).is_err());
    assert!(provi::mode::find_mode(&nothing, &[]).is_err());
}
