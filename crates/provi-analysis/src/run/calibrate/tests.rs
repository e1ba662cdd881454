//! The band has its level, and each kind of wrong posterior is seen.

use super::regression::{log_student_over_normal, of_regression, ranked_regression, weighted};
use super::*;
use crate::model::Data;
use crate::options::{FamilyName, ModelOptions};
use provi::Auto;
use provi::target::Regression;

/// The probability of at most k successes, by sums of products.
fn below(n: usize, p: f64, k: usize) -> f64 {
    let mut coefficient = vec![0.0; n + 1];
    coefficient[0] = 1.0;
    for _ in 0..n {
        for j in (0..n).rev() {
            coefficient[j + 1] = coefficient[j + 1] * (1.0 - p) + coefficient[j] * p;
        }
        coefficient[0] *= 1.0 - p;
    }
    coefficient[..=k].iter().sum()
}

#[test]
fn each_tail_of_the_binomial_band_has_at_most_its_probability_and_nearly_it() {
    for (n, p, tail) in [(40, 0.3, 0.01), (200, 0.05, 1e-4), (200, 0.5, 1e-5), (25, 0.95, 0.02)] {
        let [low, high] = binomial_band(n, p, tail);
        let under = if low == 0 { 0.0 } else { below(n, p, low - 1) };
        assert!(under <= tail * (1.0 + 1e-9), "{n} {p}: {under}");
        assert!(below(n, p, low) > tail, "a wider band is not needed: {n} {p}");
        assert!(1.0 - below(n, p, high) <= tail * (1.0 + 1e-9) + 1e-12, "{n} {p}");
        assert!(1.0 - below(n, p, high - 1) > tail, "{n} {p}");
    }
    assert_eq!(binomial_band(0, 0.5, 0.01), [0, 0]);
}

#[test]
fn even_ranks_are_inside_and_every_wrong_shape_is_named() {
    let (count, draws) = (400u32, 99u32);
    let band = band(count as usize, draws, 3, 0.01);
    assert_eq!(band.len(), 19);
    assert!(band.iter().all(|point| point.low < point.high && point.high <= count as usize));
    let of = |map: &dyn Fn(f64) -> f64| -> Option<Outside> {
        let rank = |k: u32| (map((f64::from(k) + 0.5) / f64::from(count)) * f64::from(draws + 1)) as u32;
        outside(&(0..count).map(rank).collect::<Vec<_>>(), &band, draws)
    };
    assert_eq!(of(&|u| u), None);
    let said = |map: &dyn Fn(f64) -> f64| of(map).unwrap().meaning;
    assert!(said(&|u| u * u).contains("above the truth"));
    assert!(said(&|u| u.sqrt()).contains("below the truth"));
    let bend = |u: f64, power: f64| 0.5 + 0.5 * (2.0 * u - 1.0).signum() * (2.0 * u - 1.0).abs().powf(power);
    assert!(said(&|u| bend(u, 0.4)).contains("too narrow"));
    assert!(said(&|u| bend(u, 3.0)).contains("too wide"));
}

fn model() -> Model {
    let rows: String = (0..12).map(|n| format!("{},{}\n", n % 2, f64::from(n) * 0.3 - 1.5)).collect();
    let data = Data::new(format!("y,x\n{rows}").into_bytes(), "t.csv".to_owned());
    Model::build(&data, "y ~ x", &ModelOptions::default(), None).unwrap()
}

fn go_on(_: usize, _: usize) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn asked(simulations: usize) -> CalibrateAsked {
    CalibrateAsked { simulations, level: 1e-3, seed: Seed(20), ..CalibrateAsked::default() }
}

/// Planted bugs: a posterior that is shifted, too narrow, or ignores the data. Only the log likelihood sees the last.
#[test]
fn wrong_posteriors_are_rejected() {
    let model = model();
    let right = calibrate(&model, &asked(150), &mut go_on).unwrap();
    assert!(right.is_uniform(), "{:?}", right.quantities.iter().map(|q| &q.outside).collect::<Vec<_>>());
    let simulation = Simulation::new(&model, "a test", Seed(20)).unwrap();
    let wrong = |bend: &(dyn Fn(usize, f64, f64) -> f64 + Sync)| {
        let fit = |glm: &Glm, _: &Truth, draws: usize, seed: Seed| -> Result<Drawn> {
            let mut drawn = known(glm, draws, seed)?;
            let q = Solver::default().run(glm)?.gaussian;
            for k in 0..draws {
                let row = drawn.points.row_mut(k);
                row.iter_mut().enumerate().for_each(|(j, x)| *x = bend(j, *x, q.mean()[j]));
            }
            Ok(drawn)
        };
        ranked(&model, &simulation, &asked(150), &fit, &mut go_on).unwrap()
    };
    let narrow = wrong(&|_, x, mean| mean + 0.5 * (x - mean));
    assert!(narrow.quantities[1].outside.as_ref().is_some_and(|out| out.meaning.contains("narrow")));
    let shifted = wrong(&|j, x, _| if j == 1 { x + 1.0 } else { x });
    assert!(shifted.quantities[1].outside.as_ref().is_some_and(|out| out.meaning.contains("above")));
    let prior = |_: &Glm, truth: &Truth, draws: usize, seed: Seed| {
        let points = truth.model.prior().sample(2, 0..draws as u64, seed)?;
        Ok(Drawn { points, scales: None, from: DrawnFrom::Gaussian })
    };
    let blind = ranked(&model, &simulation, &asked(150), &prior, &mut go_on).unwrap();
    assert!(blind.quantities[..2].iter().all(|one| one.outside.is_none()));
    assert!(blind.quantities[2].outside.is_some() && !blind.is_uniform());
}

#[test]
fn failures_are_counted_and_bad_numbers_refused() {
    let model = model();
    let simulation = Simulation::new(&model, "a test", Seed(20)).unwrap();
    let fails = |glm: &Glm, _: &Truth, draws: usize, seed: Seed| match seed.0 % 3 {
        0 => Err(provi::Error::Empty { what: "patience" }.into()),
        _ => known(glm, draws, seed),
    };
    let found = ranked(&model, &simulation, &asked(30), &fails, &mut go_on).unwrap();
    assert!(found.failed > 0 && !found.is_uniform() && found.failures[0].contains("patience"));
    assert_eq!(found.quantities[0].ranks.len(), found.ranked());
    for wrong in [
        CalibrateAsked { simulations: 3, ..asked(30) },
        CalibrateAsked { draws: 5, ..asked(30) },
        CalibrateAsked { level: 0.0, ..asked(30) },
    ] {
        assert!(calibrate(&model, &wrong, &mut go_on).is_err());
    }
}

#[test]
fn what_was_made_before_the_end_is_kept() {
    let found = calibrate(&model(), &asked(5000), &mut |_, _| ControlFlow::Break(())).unwrap();
    assert!(found.is_stopped() && found.made > 0 && found.made < 5000);
    assert!(found.notes().iter().any(|note| note.starts_with("stopped after")));
}

#[test]
fn the_ranks_do_not_depend_on_the_number_of_threads() {
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| calibrate(&model(), &asked(25), &mut go_on).unwrap())
    };
    assert_eq!(with(1), with(3));
}

/// Twelve rows with a number x, a time t, an event e and trials n.
fn table() -> Data {
    let row = |n: u32| {
        let x = f64::from(n) * 0.25 - 1.4;
        format!(
            "{},{},{},{},{},{}\n",
            n % 2,
            x,
            1.0 + f64::from((n * 7) % 5),
            u32::from(n % 4 != 1),
            3 + n % 3,
            n % 3
        )
    };
    let rows: String = (0..12).map(row).collect();
    Data::new(format!("y,x,t,e,n,g\n{rows}").into_bytes(), "t.csv".to_owned())
}

/// The family, its formula, and the other options as (key, value).
const LIKELIHOODS: [(&str, &str, Option<f64>); 11] = [
    ("bernoulli", "y ~ x", None),
    ("probit", "y ~ x", None),
    ("cloglog", "y ~ x", None),
    ("binomial", "g | trials(n) ~ x", None),
    ("poisson", "g ~ x", None),
    ("negbinomial", "g ~ x", Some(0.6)),
    ("gaussian", "t ~ x", Some(0.8)),
    ("gamma", "t ~ x", Some(0.7)),
    ("exponential", "t ~ x", None),
    ("exponential", "surv(t, e) ~ x", None),
    ("weibull", "surv(t, e) ~ x", Some(0.6)),
];

fn of_family(family: &str, formula: &str, noise_sd: Option<f64>) -> Model {
    let options = ModelOptions {
        family: family.parse().ok(),
        noise_sd,
        prior: vec!["normal(0.2, 0.9)".parse().unwrap()],
        ..ModelOptions::default()
    };
    Model::build(&table(), formula, &options, None).unwrap()
}

/// Every likelihood with known noise, at a fixed seed and a false alarm of at most 10⁻³ each; the twin, whose draws are half as wide, is
/// rejected by the same band.
#[test]
fn every_likelihood_is_calibrated_and_its_narrow_twin_is_not() {
    for (family, formula, noise_sd) in LIKELIHOODS {
        let model = of_family(family, formula, noise_sd);
        let right = calibrate(&model, &asked(200), &mut go_on).unwrap();
        let said = right.quantities.iter().map(|one| &one.outside).collect::<Vec<_>>();
        assert!(right.is_uniform(), "{family}, {formula}: {said:?} {:?}", right.failures);
        assert_eq!(right.quantities.len(), 3);
        let simulation = Simulation::new(&model, "a test", Seed(20)).unwrap();
        let narrow = |glm: &Glm, _: &Truth, draws: usize, seed: Seed| -> Result<Drawn> {
            let q = Solver::default().run(glm)?.gaussian;
            let mut points = q.sample(draws, seed);
            for k in 0..draws {
                points
                    .row_mut(k)
                    .iter_mut()
                    .zip(q.mean())
                    .for_each(|(x, mean)| *x = mean + 0.5 * (*x - mean));
            }
            Ok(Drawn { points, scales: None, from: DrawnFrom::Gaussian })
        };
        let twin = ranked(&model, &simulation, &asked(200), &narrow, &mut go_on).unwrap();
        assert!(twin.quantities.iter().any(|one| one.outside.is_some()), "{family}, {formula}");
    }
}

/// Draws whose first scale is twice what it should be: the planted bug of the scales.
fn doubled(how: &Integrating) -> impl Fn(&Glm, &Truth, usize, Seed) -> Result<Drawn> {
    move |glm, truth, draws, seed| {
        let mut drawn = integrated(glm, how, truth, draws, seed)?;
        if let Some((scales, _)) = &mut drawn.scales {
            (0..draws).for_each(|k| scales.row_mut(k)[0] *= 2.0);
        }
        Ok(drawn)
    }
}

/// The same where the noise is integrated over, with its prior: the mixture over it is what is ranked. The twin has twice the noise that the
/// data have.
#[test]
fn every_likelihood_with_unknown_noise_is_calibrated_and_its_twin_is_not() {
    for (family, formula, _) in LIKELIHOODS.into_iter().filter(|(.., noise)| noise.is_some()) {
        let mut options = of_family(family, formula, None).options;
        options.prior =
            ["normal(0.2, 0.9)", "sigma=lognormal(-0.5, 0.4)"].map(|p| p.parse().unwrap()).to_vec();
        let model = Model::build(&table(), formula, &options, None).unwrap();
        let right = calibrate(&model, &asked(150), &mut go_on).unwrap();
        let said = right.quantities.iter().map(|one| &one.outside).collect::<Vec<_>>();
        assert!(right.is_uniform(), "{family}, {formula}: {said:?} {:?}", right.failures);
        assert_eq!(right.quantities[2].name, "sigma");
        let simulation = Simulation::new(&model, "a test", Seed(20)).unwrap();
        let loud = doubled(simulation.integrating.unwrap());
        let twin = ranked(&model, &simulation, &asked(150), &loud, &mut go_on).unwrap();
        assert!(twin.quantities[2].outside.is_some(), "{family}, {formula}");
    }
}

/// Ordered categories: with known gaps by exact draws, and with gaps that are integrated over by the mixture over them. The twin has gaps twice as wide.
#[test]
fn ordered_categories_are_calibrated_and_their_twin_is_not() {
    let build = |formula: &str, priors: &[&str], gaps: &[f64]| {
        let prior = priors.iter().map(|p| p.parse().unwrap()).collect();
        let options = ModelOptions { prior, gaps: gaps.to_vec(), ..ModelOptions::default() };
        Model::build(&table(), formula, &options, None).unwrap()
    };
    let known = build("ordered(t) ~ x", &["normal(0.5, 0.9)"], &[0.8, 1.3, 0.5]);
    let known = calibrate(&known, &asked(200), &mut go_on).unwrap();
    assert!(known.is_uniform() && known.quantities.len() == 3, "{:?}", known.quantities);
    assert_eq!(known.drawn_from, [(DrawnFrom::Exact, 200)]);
    let model = build("ordered(g) ~ x", &["normal(0.5, 0.9)", "gap=lognormal(0.2, 0.4)"], &[]);
    let right = calibrate(&model, &asked(150), &mut go_on).unwrap();
    let said = right.quantities.iter().map(|one| &one.outside).collect::<Vec<_>>();
    assert!(right.is_uniform(), "{said:?} {:?}", right.failures);
    assert_eq!(right.quantities[2].name, "gap(1)");
    let simulation = Simulation::new(&model, "a test", Seed(20)).unwrap();
    let wide = doubled(simulation.integrating.unwrap());
    let twin = ranked(&model, &simulation, &asked(150), &wide, &mut go_on).unwrap();
    assert!(twin.quantities[2].outside.is_some());
}

/// Groups whose deviation is integrated over, with a wide prior.
#[test]
fn a_deviation_between_groups_is_calibrated() {
    let prior = ["normal(0, 1)", "sd(g)=exponential(1.5)"].map(|p| p.parse().unwrap()).to_vec();
    let options = ModelOptions { prior, ..ModelOptions::default() };
    let model = Model::build(&table(), "y ~ x + (1 | g)", &options, None).unwrap();
    let found = calibrate(&model, &asked(150), &mut go_on).unwrap();
    let said = found.quantities.iter().map(|one| (&one.name, &one.outside)).collect::<Vec<_>>();
    assert!(found.is_uniform(), "{said:?} {:?}", found.failures);
    assert_eq!(found.drawn_from, [(DrawnFrom::Mixture, 150)]);
}

const TABLE: &str = "y,x,count,k,n,party\n0.1,-1.5,0,4,8,none\n0.4,-1.2,0,0,12,left\n0.9,-0.9,3,5,20,none\n0.6,-0.7,0,8,15,right\n1.2,-0.5,0,1,8,left\n\
                     1.1,-0.4,2,9,12,none\n1.5,-0.2,0,3,20,none\n1.4,-0.1,1,5,15,right\n1.9,0.1,2,3,8,left\n2.2,0.3,0,6,12,right\n25,0.4,4,12,20,none\n";

fn built(formula: &str, family: Option<FamilyName>) -> RegressionModel {
    let prior = vec!["normal(0, 1)".parse().unwrap()];
    let options = ModelOptions { family, prior, ..ModelOptions::default() };
    let data = Data::new(TABLE.as_bytes().to_vec(), "t.csv".to_owned());
    RegressionModel::build(&data, formula, &options).unwrap()
}

/// Its mean under q, in one and two dimensions and in three, is 1; with the factor of another dimension it is not.
#[test]
fn a_student_s_law_over_a_normal_one_has_mean_one() {
    let step = 1e-3;
    // The density of r under N(0, I): r^{d−1}e^{−r²/2} over its integral.
    let mean = |d: usize, of: usize| {
        let radii = (0..40_000).map(|k| (f64::from(k) + 0.5) * step);
        let weight = |r: f64| r.powi(d as i32 - 1) * (-0.5 * r * r).exp();
        let whole: f64 = radii.clone().map(weight).sum();
        radii
            .map(|r| r.powi(d as i32 - 1) * (log_student_over_normal(of, r * r) - 0.5 * r * r).exp())
            .sum::<f64>()
            / whole
    };
    for d in [1, 2, 3, 6] {
        // t has mass beyond 40.
        assert!((mean(d, d) - 1.0).abs() < 2e-3, "{d}: {}", mean(d, d));
        assert!((mean(d, d + 1) - 1.0).abs() > 0.1);
    }
}

/// Two coefficients of zero-inflated counts beside their integrals over a grid: the shares of 9999 draws below five places of each, within five
/// standard deviations (of ten shares, a false alarm in 6e-6 of seeds). Draws of the Gaussian, which is symmetric, have other shares.
#[test]
fn weighted_draws_have_the_shape_of_the_posterior_and_those_of_the_gaussian_do_not() {
    let model = built("count ~ 0 + x", Some(FamilyName::Zipoisson));
    let regression = model.regression();
    let search = Auto { start: Some(regression.start()), ..Auto::default() };
    let q: Gaussian = search.run(regression, Seed(0)).unwrap().fit.gaussian;
    let (mean, sds) = (q.mean(), q.standard_deviations());
    assert_eq!(mean.len(), 2);
    let steps = 400;
    let place = |k: usize| (k as f64 + 0.5) / steps as f64 * 20.0 - 10.0;
    let mut gradient = [0.0; 2];
    let mut cells = Vec::with_capacity(steps * steps);
    for (i, j) in (0..steps).flat_map(|i| (0..steps).map(move |j| (i, j))) {
        let at = [place(i), place(j)];
        let z = [mean[0] + at[0] * sds[0], mean[1] + at[1] * sds[1]];
        cells.push((at, regression.log_density(&z, &mut gradient).unwrap()));
    }
    let top = cells.iter().fold(f64::NEG_INFINITY, |top: f64, (_, x)| top.max(*x));
    let whole: f64 = cells.iter().map(|(_, x)| (x - top).exp()).sum();
    // Places between cells.
    let places = [-2.0, -1.0, 0.0, 1.0, 2.0];
    let below = |j: usize, place: f64| {
        cells.iter().filter(|(at, _)| at[j] < place).map(|(_, x)| (x - top).exp()).sum::<f64>() / whole
    };
    let draws = 9999;
    let worst = |points: &Matrix| {
        let off = |j: usize, place: f64| {
            let count = (0..draws).filter(|k| (points.row(*k)[j] - mean[j]) / sds[j] < place).count();
            let share = below(j, place);
            (count as f64 / draws as f64 - share).abs() / (share * (1.0 - share) / draws as f64).sqrt()
        };
        [0, 1].into_iter().flat_map(|j| places.map(|place| off(j, place))).fold(0.0, f64::max)
    };
    let weighted = worst(&weighted(regression, &q, draws, Seed(1)).unwrap());
    assert!(weighted < 5.0, "{weighted}");
    let gaussian = worst(&q.sample(draws, Seed(1)));
    assert!(gaussian > 10.0, "{gaussian}");
}

/// Where no weights are good, there is no verdict.
#[test]
fn simulations_without_ranks_decide_nothing() {
    let model = built("count ~ x", Some(FamilyName::Zipoisson));
    let refusing = |one_in: u64| {
        let number = std::sync::atomic::AtomicU64::new(0);
        let fit = move |one: &Regression, draws: usize, seed: Seed| {
            let turn = number.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            if turn.is_multiple_of(one_in) {
                return Err(Error::HeavyTail { pareto_k: 0.9, effective: 10.0, draws: 4000 });
            }
            // The prior itself, which is the same for every data set.
            let points: Vec<f64> =
                (0..draws as u64).flat_map(|k| one.prior_draw(1_000_000 + k, seed).unwrap()).collect();
            Ok((Matrix::new(draws, one.dim(), points)?, DrawnFrom::Weighted))
        };
        ranked_regression(model.regression(), &asked(40), &fit, &mut go_on).unwrap()
    };
    let none = refusing(1);
    assert!(none.ranked() == 0 && none.is_thin() && !none.is_uniform());
    assert!(
        none.verdict().starts_with("undecided: 40 of 40 simulations gave no ranks"),
        "{}",
        none.verdict()
    );
    let some = refusing(5);
    assert!(some.refused == 8 && some.is_thin() && !some.is_uniform());
    let few = refusing(20);
    assert!(few.refused == 2 && !few.is_thin());
}

/// Of each family beyond one predictor, on 150 data sets of moderate priors; and of one whose draws are half a prior deviation off, or those of another data set.
#[test]
fn families_beyond_one_predictor_are_calibrated_and_wrong_draws_of_them_are_not() {
    let cases = [
        ("multinomial(party) ~ x", None, DrawnFrom::Exact),
        ("y ~ x", Some(FamilyName::Student), DrawnFrom::Weighted),
        ("k | trials(n) ~ x", Some(FamilyName::Betabinomial), DrawnFrom::Weighted),
        ("count ~ x", Some(FamilyName::Zipoisson), DrawnFrom::Weighted),
    ];
    for (formula, family, from) in cases {
        let right = calibrate_regression(&built(formula, family), &asked(150), &mut go_on).unwrap();
        assert_eq!(right.drawn_from, [(from, 150 - right.refused)], "{formula}: {:?}", right.failures);
        assert!(right.refused <= 3, "{formula}: {}", right.refused);
        assert!(right.is_uniform(), "{formula}: {:?}", right.quantities);
        assert_eq!(right.quantities.last().unwrap().name, "log likelihood");
    }
    let model = built("multinomial(party) ~ x", None);
    let regression = model.regression();
    let wrong = |bend: &(dyn Fn(f64) -> f64 + Sync), other: bool| {
        let fit = |one: &Regression, draws: usize, seed: Seed| {
            let of = if other { regression } else { one };
            let (mut points, from) = of_regression(of, draws, seed)?;
            points.entries_mut().iter_mut().for_each(|x| *x = bend(*x));
            Ok((points, from))
        };
        ranked_regression(regression, &asked(150), &fit, &mut go_on).unwrap()
    };
    assert!(!wrong(&|x| x + 0.5, false).is_uniform());
    assert!(!wrong(&|x| x, true).is_uniform());
}
