//! Terms in place of the whole target: unbiased, within the bound, and the same steps otherwise [noise-subsample].

use crate::common::*;
use provi::checkpoint::{Checkpoint, Keeper};
use provi::draws::{Draws, Purpose};
use provi::estimator::{Kind, Sampled, Terms};
use provi::fit::{Snapshot, Watch};
use provi::method::{Guard, Recipe, Space as FactorSpace};
use provi::plan::Coordinates;
use provi::subsample::{Law, Sampling, Subsample};
use provi::target::{
    Closure, Declared, Evaluator, Family, FiniteSum, Glm, Prior, Scratch, Summed, TermSmoothness,
};
use provi::{
    Curvature, Design, Gaussian, Method, Plan, Planner, Provenance, Quadratic, Seed, Symmetric, Target,
    Triangular,
};
use std::ops::ControlFlow;
use std::time::Duration;

/// The estimate of one choice of terms, as a target.
struct Chosen<'a>(&'a dyn FiniteSum, Vec<usize>, Vec<f64>);

impl Target for Chosen<'_> {
    fn dim(&self) -> usize {
        self.0.dimension()
    }
    fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> provi::Result<f64> {
        let mut value = [0.0];
        self.0.estimate(&self.1, &self.2, z, &mut value, gradient, &mut Scratch::default())?;
        Ok(value[0])
    }
}

fn law(sum: &dyn FiniteSum, terms: usize, sampling: Sampling) -> Law {
    let smoothness = sum.term_smoothness().unwrap();
    Law::new(Subsample { terms, sampling }, sum.terms(), smoothness.as_ref().map(|s| &s.each[..])).unwrap()
}

/// Every choice of B = 1 or 2 terms with its probability.
fn choices<'a>(sum: &'a dyn FiniteSum, law: &Law) -> Vec<(f64, Chosen<'a>)> {
    let one = |n: usize| (law.probability(n), vec![n]);
    let lists: Vec<(f64, Vec<usize>)> = match law.subsample().terms {
        1 => (0..law.count()).map(one).collect(),
        2 => (0..law.count())
            .flat_map(|n| (0..law.count()).map(move |m| (n, m)))
            .map(|(n, m)| (law.probability(n) * law.probability(m), vec![n, m]))
            .collect(),
        _ => panic!("one term or two"),
    };
    let weighted = |terms: Vec<usize>| {
        let weights = terms.iter().map(|&n| law.weight(n)).collect();
        Chosen(sum, terms, weights)
    };
    lists.into_iter().map(|(p, terms)| (p, weighted(terms))).collect()
}

/// The largest difference between log p with its gradient and the mean of the estimates, relative to their size.
fn bias(target: &dyn Target, choices: &[(f64, Chosen<'_>)], z: &[f64]) -> f64 {
    let d = target.dim();
    let (mut whole, mut sum) = (vec![0.0; d], vec![0.0; d + 1]);
    let value = target.log_density(z, &mut whole).unwrap();
    whole.push(value);
    for (probability, chosen) in choices {
        let mut part = vec![0.0; d];
        let value = chosen.log_density(z, &mut part).unwrap();
        part.push(value);
        sum.iter_mut().zip(part).for_each(|(s, x)| *s += probability * x);
    }
    let size = dot(&whole, &whole).sqrt();
    difference(&whole, &sum).iter().fold(0.0f64, |most, x| most.max(x.abs())) / size
}

/// Coarse, and exact to 1e-8 here.
fn rule() -> Vec<(f64, f64)> {
    trapezoid(0.25).into_iter().step_by(2).map(|(u, w)| (u, 2.0 * w)).collect()
}

fn binomial() -> Glm {
    let trials = [3.0, 1.0, 7.0, 2.0, 4.0, 4.0];
    let prior = Prior::precisions(&[1.0, 4.0]).unwrap().with_mean(&[0.3, -0.2]).unwrap();
    Glm::binomial(design(77, 6, 2, 1.0, true), &[2.0, 0.0, 3.0, 2.0, 1.0, 4.0], &trials, prior).unwrap()
}

#[test]
fn the_mean_over_all_choices_of_terms_is_the_whole_target() {
    let mut models: Vec<Glm> =
        [Family::Gaussian { noise_sd: 0.8 }, Family::Bernoulli, Family::Probit, Family::Poisson]
            .into_iter()
            .flat_map(|family| [false, true].map(|sparse| regression(family, 700, 2, 1.5, sparse)))
            .collect();
    models.push(binomial());
    for model in &models {
        for sampling in [Sampling::Uniform, Sampling::Importance] {
            for terms in [1, 2] {
                if sampling == Sampling::Importance && model.family() == Family::Poisson {
                    continue; // no M_n to be proportional to
                }
                let law = law(model, terms, sampling);
                let found = bias(model, &choices(model, &law), &[0.4, -0.9]);
                assert!(found < 1e-13, "{:?}, {sampling}, B = {terms}: {found}", model.family());
            }
        }
        // An epoch of batches that divide it.
        let law = law(model, 3, Sampling::Reshuffle);
        let epoch = model.terms() / 3;
        let mut batches = Vec::new();
        for step in 0..epoch {
            let (mut terms, mut weights) = (vec![0; 3], vec![0.0; 3]);
            law.draw(Seed(5), (step as u64, 0, 1), &mut terms, &mut weights, &mut [0.0; 6]);
            batches.push((1.0 / epoch as f64, Chosen(model, terms, weights)));
        }
        assert!(bias(model, &batches, &[0.4, -0.9]) < 1e-13, "{:?}, an epoch", model.family());
    }
}

#[test]
fn a_wrong_scaling_would_show() {
    let model = regression(Family::Bernoulli, 700, 2, 1.5, false);
    for (sampling, wrong) in [(Sampling::Uniform, 0.9), (Sampling::Importance, 1.0)] {
        let law = law(&model, 1, sampling);
        let mut choices = choices(&model, &law);
        // N in place of 1/π_n; for equal probabilities, nearly N.
        choices.iter_mut().for_each(|(_, chosen)| chosen.2[0] = wrong * model.terms() as f64);
        assert!(bias(&model, &choices, &[0.4, -0.9]) > 1e-3, "{sampling}");
    }
}

#[test]
fn the_smoothness_of_a_row_bounds_its_hessian_and_is_attained() {
    let bare = Prior::precision(1e-12).unwrap();
    for (family, attained) in
        [(Family::Gaussian { noise_sd: 0.8 }, 0.0), (Family::Bernoulli, 0.0), (Family::Probit, -40.0)]
    {
        let row = [1.3, -0.7];
        let y = f64::from(u8::from(family != Family::Bernoulli));
        let model = Glm::new(family, Design::dense(1, 2, &row).unwrap(), &[y], bare.clone()).unwrap();
        let model = model.with_weights(&[2.5]).unwrap();
        let bound = model.term_smoothness().unwrap().unwrap();
        assert_eq!(bound.provenance, Provenance::Proved);
        let size = dot(&row, &row);
        let z: Vec<f64> = row.iter().map(|x| attained * x / size).collect();
        let (_, largest) = extremes(&hessian(&model, &z));
        let ratio = largest / bound.each[0];
        assert!((0.99..=1.0 + 1e-11).contains(&ratio), "{family:?}: {ratio}");
    }
}

/// E‖g_B(w) − centre‖² over all single terms and all draws, exactly: ‖Eg − centre‖² + E‖g‖² − ‖Eg‖² + (E‖g_1‖² − E‖g‖²)/B.
fn noise_at<F: Space>(
    kind: Kind,
    model: &Glm,
    q: &Gaussian<F>,
    sampling: Sampling,
    terms: usize,
    centre: &[f64],
) -> f64 {
    let d = q.dim();
    let moment = |target: &dyn Target| {
        cubature(d, &rule(), |u| {
            let (left, x) = raw_gradient(kind, target, q, u);
            let x = F::project(&x);
            dot(&left, &left) + inner(&x, &x)
        })
    };
    let single: f64 =
        choices(model, &law(model, 1, sampling)).iter().map(|(p, chosen)| p * moment(chosen)).sum();
    let whole = moment(model);
    let mean = gradient(model, q, kind != Kind::Energy);
    square_norm::<F>(d, &difference(&mean, centre)) + whole - square_norm::<F>(d, &mean)
        + (single - whole) / terms as f64
}

#[test]
fn b_terms_share_the_variance_of_one() {
    let model = binomial();
    let q = Gaussian::<Triangular>::new(&[0.3, 0.1], &[0.7, -0.2, 0.5]).unwrap();
    let zero = vec![0.0; 5];
    for sampling in [Sampling::Uniform, Sampling::Importance] {
        let pairs: f64 = choices(&model, &law(&model, 2, sampling))
            .iter()
            .map(|(p, chosen)| {
                let moment = cubature(2, &rule(), |u| {
                    let (left, x) = raw_gradient(Kind::Energy, chosen, &q, u);
                    let x = Triangular::project(&x);
                    dot(&left, &left) + inner(&x, &x)
                });
                p * moment
            })
            .sum();
        let formula = noise_at(Kind::Energy, &model, &q, sampling, 2, &zero);
        assert!((pairs / formula - 1.0).abs() < 1e-10, "{sampling}: {pairs} {formula}");
    }
}

#[test]
fn the_exact_second_moment_stays_below_the_bound_of_the_plan() {
    fn check<F: Space>(model: &Glm, method: Method, kind: Kind, star: &Gaussian<Triangular>) {
        let star = F::of(star);
        let centre = gradient(model, &star, kind != Kind::Energy);
        let smoothness = model.curvature().unwrap().unwrap().smoothness().unwrap();
        for sampling in [Sampling::Uniform, Sampling::Importance] {
            for terms in [1, 4] {
                let planner =
                    Planner::new(method).subsample(terms, sampling).coordinates(Coordinates::Original);
                let plan = planner.to_steps(model, 10).unwrap();
                let bound = plan.constants.unwrap().noise;
                let far = in_set::<F>(120, 2, smoothness, 10.0);
                for s in [0.0, 1.0] {
                    let q = between(&star, &far, s);
                    let e = distance2::<F>(2, q.parameters(), star.parameters());
                    let (found, allowed) = (noise_at(kind, model, &q, sampling, terms, &centre), bound.at(e));
                    assert!(
                        found <= allowed,
                        "{method}, {sampling}, B = {terms}, s = {s}: {found} > {allowed}"
                    );
                }
            }
        }
    }
    for family in [Family::Bernoulli, Family::Gaussian { noise_sd: 1.0 }] {
        let model = regression(family, 710, 2, 2.0, false);
        let star = optimum(&model);
        check::<Triangular>(&model, Method::ProxEnergy, Kind::Energy, &star);
        check::<Triangular>(&model, Method::ProjEntropyTriangular, Kind::Entropy, &star);
        check::<Symmetric>(&model, Method::ProjEntropy, Kind::Entropy, &star);
    }
}

/// One row of eight bends, the others are flat: X = 8M² is attained, and the growth is off by its factor 2 alone.
#[test]
fn the_bound_is_tight_where_one_term_does_all_the_bending() {
    let mut rows = vec![0.0; 8];
    rows[3] = 2.0;
    let prior = Prior::precision(1e-3).unwrap();
    let model = Glm::linear(Design::dense(8, 1, &rows).unwrap(), &[0.0; 8], 1.0, prior).unwrap();
    let star = optimum(&model);
    let planner = Planner::new(Method::ProxEnergy).subsample(1, Sampling::Uniform);
    let plan = planner.coordinates(Coordinates::Original).to_steps(&model, 10).unwrap();
    let bound = plan.constants.unwrap().noise;
    let centre = gradient(&model, &star, false);
    let far = Gaussian::<Triangular>::new(&[0.0], &[1e3]).unwrap();
    let e = distance2::<Triangular>(1, far.parameters(), star.parameters());
    let found = noise_at(Kind::Energy, &model, &far, Sampling::Uniform, 1, &centre);
    let ratio = found / (bound.growth * e);
    assert!((0.42..=1.0).contains(&ratio), "{ratio}");
}

#[test]
fn importance_is_never_worse_than_uniform() {
    let model = regression(Family::Bernoulli, 720, 3, 1.0, false);
    let constants = |method, sampling| {
        let planner = Planner::new(method).subsample(2, sampling).coordinates(Coordinates::Original);
        planner.to_steps(&model, 10).unwrap().constants.unwrap()
    };
    for method in [Method::ProxEnergy, Method::ProjEntropy] {
        let (importance, uniform) =
            (constants(method, Sampling::Importance), constants(method, Sampling::Uniform));
        assert!(importance.noise.growth <= uniform.noise.growth);
        assert!(importance.noise.floor <= uniform.noise.floor);
        assert_eq!(importance.provenance, Provenance::Proved);
    }
}

/// Draws of the library beside the formula: the estimator hands each draw its own terms.
#[test]
fn the_estimator_is_unbiased_for_the_gradient_of_the_whole_target() {
    let model = regression(Family::Bernoulli, 730, 2, 2.0, false);
    let q = Gaussian::<Triangular>::new(&[0.2, -0.3], &[0.5, 0.1, 0.4]).unwrap();
    let truth = gradient(&model, &q, true);
    let measure = |scale: f64| {
        let law = law(&model, 3, Sampling::Importance);
        let wrong = Scaled { inner: &model, scale };
        let target = Summed::new(wrong).unwrap();
        let terms = Terms::new(&target, &law, Seed(1)).unwrap();
        let draws = Draws::new(Seed(1), Purpose::Optimise);
        let mut estimator = Sampled::<Triangular>::new(Kind::Entropy, terms, draws, 4).unwrap();
        let mut g = vec![0.0; truth.len()];
        let mut lists = vec![Vec::new(); truth.len()];
        for t in 0..4000 {
            estimator.gradient(q.parameters(), t, &mut g).unwrap();
            lists.iter_mut().zip(&g).for_each(|(list, x)| list.push(*x));
        }
        let off = |(list, truth): (&Vec<f64>, &f64)| {
            let (mean, error) = mean_and_error(list);
            (mean - truth).abs() / error
        };
        lists.iter().zip(&truth).map(off).fold(0.0f64, f64::max)
    };
    let found = measure(1.0);
    assert!(found <= SIGMAS, "{found} standard errors");
    assert!(measure(0.8) > SIGMAS, "a fifth of the likelihood lost would show");
}

/// A sum whose owner multiplies its weights by something of their own.
struct Scaled<'a> {
    inner: &'a Glm,
    scale: f64,
}

impl FiniteSum for Scaled<'_> {
    fn dimension(&self) -> usize {
        self.inner.dimension()
    }
    fn terms(&self) -> usize {
        self.inner.terms()
    }
    fn weighted_terms(
        &self,
        terms: &[usize],
        weights: &[f64],
        points: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
        scratch: &mut Scratch,
    ) -> provi::Result<()> {
        let weights: Vec<f64> = weights.iter().map(|w| self.scale * w).collect();
        self.inner.weighted_terms(terms, &weights, points, values, gradients, scratch)
    }
    fn add_rest(
        &self,
        points: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
        scratch: &mut Scratch,
    ) -> provi::Result<()> {
        self.inner.add_rest(points, values, gradients, scratch)
    }
    fn term_smoothness(&self) -> provi::Result<Option<TermSmoothness>> {
        self.inner.term_smoothness()
    }
}

/// Σ over ten seeds of what the plan promises, in its coordinates.
fn distance(plan: &Plan, target: &(impl Target + Sync), truth: &Glm) -> f64 {
    let (star, curvature) = (optimum(truth), truth.curvature().unwrap().unwrap());
    let h = curvature.lower().to_matrix(star.dim());
    let mean = |seed| {
        let q = plan.run(target, Seed(seed)).unwrap().gaussian;
        let m = difference(q.mean(), star.mean());
        let c = combination(&q.factor_matrix(), -1.0, &star.factor_matrix());
        form(&h, &m, &m) + inner(&product(&h, &c), &c)
    };
    (0..10).map(mean).sum::<f64>() / 10.0
}

#[test]
fn a_plan_to_a_distance_holds_in_whitened_coordinates() {
    let model = regression(Family::Bernoulli, 740, 2, 2.0, false);
    for sampling in [Sampling::Uniform, Sampling::Importance] {
        let planner = Planner::new(Method::ProxEnergy).subsample(4, sampling);
        let start = planner.to_steps(&model, 1).unwrap().constants.unwrap().start;
        let plan = planner.to_distance(&model, 0.6 * start).unwrap();
        let promise = plan.promise.value.unwrap();
        assert!(plan.coordinates() == Coordinates::Curvature && promise <= 0.6 * start && plan.steps > 100);
        let found = distance(&plan, &model, &model);
        assert!(found <= promise, "{sampling}: {found} > {promise}");
        // Twin: the data counted four times.
        let twin = Summed::new(Scaled { inner: &model, scale: 4.0 }).unwrap();
        let wrong = distance(&plan, &twin, &model);
        assert!(
            wrong > promise,
            "{sampling}: wrong scaling would show: {wrong} of {promise}, {} steps",
            plan.steps
        );
    }
}

#[test]
fn fewer_terms_mean_more_and_cheaper_steps() {
    let model = regression(Family::Bernoulli, 750, 3, 2.0, false);
    let steps = |terms| {
        let planner = Planner::new(Method::ProxEnergy).subsample(terms, Sampling::Importance);
        planner.to_distance(&model, 0.01).unwrap().steps
    };
    let whole = Planner::new(Method::ProxEnergy).to_distance(&model, 0.01).unwrap().steps;
    assert!(steps(1) > steps(6) && steps(6) > whole);
    let plan = Planner::new(Method::ProxEnergy).subsample(6, Sampling::Uniform).to_steps(&model, 30).unwrap();
    let fit = plan.run(&model, Seed(1)).unwrap();
    // 30 draws of 6 of 18 terms.
    assert_eq!(fit.gradient_evaluations, plan.evaluations + 10);
    assert!(
        plan.to_string().contains("terms      6 of 18 for each draw, uniform [noise-subsample]"),
        "{plan}"
    );
    assert!(fit.to_string().ends_with("6 terms a draw, uniform"), "{fit}");
}

#[test]
fn a_run_has_the_same_bits_serial_parallel_and_taken_up_again() {
    let model = regression(Family::Bernoulli, 760, 3, 2.0, false);
    for (method, sampling) in [
        (Method::ProxEnergy, Sampling::Importance),
        (Method::ProjEntropy, Sampling::Uniform),
        (Method::ProjEntropyTriangular, Sampling::Reshuffle),
    ] {
        let plan = Planner::new(method).draws(3).subsample(5, sampling).to_steps(&model, 3000).unwrap();
        let whole = plan.run(&model, Seed(4)).unwrap();
        let serial = plan.run(Evaluator::Serial(&model), Seed(4)).unwrap();
        assert_eq!(whole.gaussian, serial.gaussian);
        let mut kept = None;
        let mut save = |at: &Checkpoint| kept = Some(at.clone());
        let mut stop = |at: &Snapshot| {
            if at.step > 1500 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let keeper = Keeper { every: Duration::ZERO, save: &mut save };
        let mut watch = Watch { observer: Some(&mut stop), keeper: Some(keeper), ..Watch::default() };
        assert!(plan.run_with(&model, Seed(4), &mut watch).unwrap().stopped_early);
        let mut watch = Watch { from: kept, ..Watch::default() };
        assert_eq!(plan.run_with(&model, Seed(4), &mut watch).unwrap().gaussian, whole.gaussian, "{method}");
    }
}

#[test]
fn what_no_bound_covers_runs_without_a_promise() {
    let model = regression(Family::Bernoulli, 770, 2, 2.0, false);
    let plan =
        Planner::new(Method::ProxEnergy).subsample(4, Sampling::Reshuffle).to_steps(&model, 50).unwrap();
    assert!(plan.promise.value.is_none() && plan.constants.is_none());
    assert!(plan.promise.reason.as_ref().unwrap().contains("reshuffled epochs"), "{plan}");
    assert!(plan.run(&model, Seed(2)).unwrap().promise.value.is_none());
    let recipe = Recipe::new(Kind::Stl, Guard::Projection, FactorSpace::Symmetric).unwrap();
    let planner = Planner::new(Method::Unproven(recipe)).subsample(4, Sampling::Uniform);
    let plan = planner.practical(&model, Some(50)).unwrap();
    assert!(plan.promise.value.is_none());
    assert!(plan.run(&model, Seed(2)).is_ok());
}

#[test]
fn what_cannot_be_subsampled_is_refused_with_a_way_out() {
    let model = regression(Family::Bernoulli, 780, 2, 2.0, false);
    let refused = |method, terms, target: &dyn Target| {
        let planner = Planner::new(method).subsample(terms, Sampling::Uniform);
        planner.to_steps(target, 5).unwrap_err().to_string()
    };
    assert!(refused(Method::ProjStl, 3, &model).contains("unproven recipe"));
    assert!(refused(Method::Exact, 3, &model).contains("all the data"));
    assert!(refused(Method::ProxEnergy, 13, &model).contains("13 of 12 terms"));
    let one = Quadratic::Scalar(1.0);
    let curvature = || Curvature::declared(1, one.clone(), Some(one.clone())).unwrap();
    let closure = Closure::new(1, |z: &[f64], g: &mut [f64]| {
        g[0] = -z[0];
        -0.5 * z[0] * z[0]
    });
    let closure = Declared::new(closure.unwrap()).with_curvature(curvature()).unwrap();
    assert!(refused(Method::ProxEnergy, 1, &closure).contains("FiniteSum"));
    let sum = Declared::new(Summed::new(Half).unwrap()).with_curvature(curvature()).unwrap();
    assert!(refused(Method::ProxEnergy, 1, &sum).contains("M_n of each term"));
    let practical =
        Planner::new(Method::ProxEnergy).subsample(1, Sampling::Uniform).practical(&sum, Some(20));
    assert!(practical.unwrap().promise.value.is_none());
}

/// Two halves of a standard normal, of which nothing is declared.
struct Half;

impl FiniteSum for Half {
    fn dimension(&self) -> usize {
        1
    }
    fn terms(&self) -> usize {
        2
    }
    fn weighted_terms(
        &self,
        _: &[usize],
        weights: &[f64],
        points: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
        _: &mut Scratch,
    ) -> provi::Result<()> {
        let weight: f64 = weights.iter().sum();
        for ((z, value), gradient) in points.iter().zip(values).zip(gradients) {
            (*value, *gradient) = (-0.25 * weight * z * z, -0.5 * weight * z);
        }
        Ok(())
    }
}
