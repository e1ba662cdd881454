use super::*;
use crate::auto::Auto;
use crate::auto::scales::{FreeScales, Integration, ScalePrior};
use crate::auto::solve::Solver;
use crate::base::error::Error;
use crate::base::stop::{Signal, Stop};
use crate::certify::audit::Audit;
use crate::glm::design::Design;
use crate::glm::sparse::NormalLaw;
use crate::glm::{Glm, Prior};
use crate::target::Target;

const ROWS: usize = 30;

fn design() -> Design {
    let mut entries = vec![0.0; 3 * ROWS];
    provi_kernels::normals(4, 0, 0, &mut entries);
    entries.chunks_exact_mut(3).for_each(|row| row[0] = 1.0);
    Design::dense(ROWS, 3, &entries).unwrap()
}

fn noise(n: usize) -> Vec<f64> {
    let mut out = vec![0.0; n];
    provi_kernels::normals(9, 0, 0, &mut out);
    out
}

fn gaussian(noise_sd: f64) -> Glm {
    let mut y = noise(ROWS);
    // One row far off.
    y[7] += 6.0;
    Glm::linear(design(), &y, noise_sd, Prior::scale(3.0).unwrap()).unwrap()
}

fn logistic() -> Glm {
    let design =
        Design::dense(8, 2, &[1., 0.5, 1., -1.5, 1., 2., 1., 0.1, 1., -0.4, 1., 3., 1., 1., 1., -2.]);
    Glm::logistic(design.unwrap(), &[1., 0., 1., 0., 1., 0., 1., 0.], Prior::scale(1.5).unwrap()).unwrap()
}

fn all(model: &Glm) -> Vec<usize> {
    (0..model.design().rows()).collect()
}

fn best(model: &Glm) -> crate::Gaussian {
    Solver::default().run(model).unwrap().gaussian
}

/// log N(y; m₋, σ² + v₋), by the leverages h = v/σ² of the full fit: y − m₋ = (y − m)/(1 − h), v₋ = v/(1 − h).
fn closed_form(model: &Glm, sd: f64) -> Vec<f64> {
    let q = best(model);
    let (means, variances) = (model.rows.all_predictors(q.mean()), q.row_variances(model.design()).unwrap());
    let each = |n: usize| {
        let left = 1.0 - variances[n] / (sd * sd);
        let spread = sd * sd + variances[n] / left;
        let miss = (model.rows.response[n] - means[n]) / left;
        -0.5 * (2.0 * std::f64::consts::PI * spread).ln() - 0.5 * miss * miss / spread
    };
    (0..means.len()).map(each).collect()
}

#[test]
fn refits_of_a_linear_model_are_the_closed_form_by_leverages() {
    let model = gaussian(1.2);
    let found = refits(&model, &best(&model), &all(&model), &Refits::default(), &mut |_| ()).unwrap();
    for (row, exact) in found.iter().zip(closed_form(&model, 1.2)) {
        assert!((row.elpd - exact).abs() < 1e-9, "{} and {exact}", row.elpd);
        assert!((row.below - row.up_to).abs() < 1e-15 && row.lpd > row.elpd);
    }
    let loo = Loo { rows: found };
    let total: f64 = closed_form(&model, 1.2).iter().sum();
    assert!((loo.elpd().value - total).abs() < 1e-8);
    assert!(loo.rows[7].up_to > 0.999 && loo.p_loo().value > 3.0);
}

#[test]
fn ratios_of_exact_draws_agree_with_refits() {
    let model = gaussian(3.0);
    let draws = best(&model).sample(20_000, Seed(3));
    let found = Smoothed::of_draws(&model, &draws, None, &mut |_| ()).unwrap();
    let refitted = refits(&model, &best(&model), &all(&model), &Refits::default(), &mut |_| ()).unwrap();
    for (a, b) in found.rows.iter().zip(&refitted) {
        assert!((a.elpd - b.elpd).abs() < 0.02, "{} and {}", a.elpd, b.elpd);
        assert!((a.lpd - b.lpd).abs() < 0.01 && (a.up_to - b.up_to).abs() < 0.02);
        assert!(a.pareto_k.unwrap() < BELIEVED);
    }
    // WAIC and p_waic have closed forms: v = Var of −½((y−s)/σ)² for s ~ N(m, v_s) is ½(v_s/σ²)² + (v_s/σ²)((y−m)/σ)².
    let q = best(&model);
    let (means, variances) = (model.rows.all_predictors(q.mean()), q.row_variances(model.design()).unwrap());
    let v = |n: usize| {
        let (ratio, miss) = (variances[n] / 9.0, (model.rows.response[n] - means[n]) / 3.0);
        0.5 * ratio * ratio + ratio * miss * miss
    };
    let p: f64 = (0..ROWS).map(v).sum();
    assert!((found.waic.p_waic - p).abs() < 0.05 * p, "{} and {p}", found.waic.p_waic);
    let lpd: f64 = refitted.iter().map(|row| row.lpd).sum();
    assert!((found.waic.elpd.value - (lpd - p)).abs() < 0.1);
}

/// elpd_i by a sum over a fine grid of both coefficients.
fn on_a_grid(model: &Glm, row: usize) -> f64 {
    let (steps, step) = (300, 0.04);
    let less = model.without(row).unwrap();
    let (mut with, mut without) = (0.0, 0.0);
    for i in -steps..=steps {
        for j in -steps..=steps {
            let z = [step * f64::from(i), step * f64::from(j)];
            with += model.log_density(&z, &mut [0.0; 2]).unwrap().exp();
            without += less.log_density(&z, &mut [0.0; 2]).unwrap().exp();
        }
    }
    f64::ln(with / without)
}

#[test]
fn bounds_hold_the_posteriors_own_on_a_grid() {
    let model = logistic();
    let answer = Auto::default().run(&model, Seed(1)).unwrap();
    let (q, certificate) = (&answer.fit.gaussian, answer.certificate());
    let audit = Audit { draws: 4000, ..Audit::default() };
    let how = Refits { evidence: Some(&certificate.evidence), audit: Some(&audit), seed: Seed(5) };
    let found = refits(&model, q, &all(&model), &how, &mut |_| ()).unwrap();
    let alone = Refits { audit: None, ..how };
    let cheap = refits(&model, q, &all(&model), &alone, &mut |_| ()).unwrap();
    for (row, found) in found.iter().enumerate() {
        let (exact, low, high) = (on_a_grid(&model, row), found.lower.unwrap(), found.upper.unwrap());
        assert!(low <= exact && exact <= high, "{row}: {low} {exact} {high}");
        assert!(high - low < 0.2, "{row}: {low} to {high} is of no use");
        assert!((found.elpd - exact).abs() < 0.1, "{row}: {} and {exact}", found.elpd);
        assert!(cheap[row].lower.is_none() && cheap[row].upper.unwrap() >= exact);
        // Bernoulli: P(new ≤ 0) = 1 − P(1), so the density is one of the two steps.
        let step = (found.up_to - found.below).ln();
        assert!((step - found.elpd).abs() < 1e-9);
    }
}

#[test]
fn rows_of_a_mixture_lose_their_part_in_the_scales() {
    let model = gaussian(1.0);
    let free = FreeScales::noise(&model);
    let how = Integration::new(vec![ScalePrior::HalfNormal { scale: 3.0 }]);
    let mixture = free.integrate(&model, &how).unwrap();
    let found = refits_of_mixture(&model, &free, &mixture, &[0, 7, 12], &mut |_| ()).unwrap();
    for (found, row) in found.iter().zip([0, 7, 12]) {
        // log Σ c_j p(y|j) − log Σ c_j p(y₋|j): both evidences of a gaussian model are its ELBOs.
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for node in &mixture.nodes {
            let model = free.model_at(&model, &node.log_scales).unwrap();
            let evidence = |model: &Glm| -Solver::default().run(model).unwrap().neg_elbo;
            let log_prior = node.weight.ln() - evidence(&model);
            with.push(log_prior + evidence(&model));
            without.push(log_prior + evidence(&model.without(row).unwrap()));
        }
        let exact = crate::base::special::log_sum_exp(&with) - crate::base::special::log_sum_exp(&without);
        assert!((found.elpd - exact).abs() < 1e-7, "{} and {exact}", found.elpd);
    }
}

#[test]
fn one_row_alone_is_predicted_by_the_prior() {
    let model =
        Glm::poisson(Design::dense(1, 1, &[1.0]).unwrap(), &[3.0], Prior::scale(0.5).unwrap()).unwrap();
    let found = refits(&model, &best(&model), &[0], &Refits::default(), &mut |_| ()).unwrap();
    let prior = model.rows.likelihood_of(0).log_predictive(0.0, 0.5);
    assert!((found[0].elpd - prior).abs() < 1e-9);
    assert!(refits(&model, &best(&model), &[1], &Refits::default(), &mut |_| ()).is_err());
}

#[test]
fn rows_of_no_weight_count_for_nothing() {
    let mut weights = [1.0; 8];
    weights[2] = 0.0;
    let model = logistic().with_weights(&weights).unwrap();
    let q = best(&model);
    let found = refits(&model, &q, &[2, 3], &Refits::default(), &mut |_| ()).unwrap();
    assert!(found[0].elpd.abs() < 1e-300 && found[0].lpd.abs() < 1e-300 && found[1].elpd < -0.1);
    let smoothed = Smoothed::of_draws(&model, &q.sample(500, Seed(0)), None, &mut |_| ()).unwrap();
    assert!(smoothed.rows[2].pareto_k.is_none() && smoothed.rows[2].elpd.abs() < 1e-12);
}

#[test]
fn a_stop_ends_the_work_before_the_next_row() {
    let stop = Stop::default();
    stop.ask();
    let model = logistic();
    let q = best(&model);
    let refitted =
        Signal::on(&stop).cover(|| refits(&model, &q, &all(&model), &Refits::default(), &mut |_| ()));
    assert!(matches!(refitted, Err(Error::Stopped { .. })));
    let points = q.sample(100, Seed(0));
    let smoothed = Signal::on(&stop).cover(|| Smoothed::of_draws(&model, &points, None, &mut |_| ()));
    assert!(matches!(smoothed, Err(Error::Stopped { .. })));
}

#[cfg(feature = "parallel")]
#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let model = gaussian(1.2);
    let q = best(&model);
    let points = q.sample(1000, Seed(2));
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let refitted = refits(&model, &q, &all(&model), &Refits::default(), &mut |_| ()).unwrap();
            (refitted, Smoothed::of_draws(&model, &points, None, &mut |_| ()).unwrap().rows)
        })
    };
    assert_eq!(on(1), on(3));
}

#[test]
fn differences_have_the_error_of_paired_rows() {
    let left = |elpd: f64| LeftOut {
        elpd,
        lpd: 0.0,
        lower: None,
        upper: Some(elpd + 1.0),
        below: 0.2,
        up_to: 0.6,
        pareto_k: Some(0.9),
        refitted: false,
        converged: elpd > -3.0,
    };
    let of = |values: [f64; 3]| Loo { rows: values.map(left).to_vec() };
    let (a, b) = (of([-1.0, -2.0, -4.0]), of([-1.5, -2.5, -4.5]));
    let difference = a.difference(&b).unwrap();
    // Rows that are not there are not left out silently.
    assert!(a.difference(&Loo { rows: b.rows[..2].to_vec() }).is_err());
    assert_eq!(a.unconverged(), 1);
    assert!((difference.value - 1.5).abs() < 1e-12 && difference.standard_error < 1e-12);
    // √(N·Var) with the divisor N.
    assert!((a.elpd().standard_error - (3.0f64 * (14.0 / 9.0)).sqrt()).abs() < 1e-12);
    assert_eq!(a.doubtful(), 3);
    assert!(a.bounds()[0].is_none() && (a.bounds()[1].unwrap() + 4.0).abs() < 1e-12);
    let pit = a.pit(Seed(1));
    assert!(pit.iter().all(|u| (0.2..=0.6).contains(u)) && pit == a.pit(Seed(1)) && pit != a.pit(Seed(2)));
}
