//! Smooth terms beside closed forms, a sum over their scale, and R's mgcv.

use provi::fit::Watch;
use provi_analysis::model::Data;
use provi_analysis::options::{ModelOptions, RunOptions};
use provi_analysis::run::effects::{EffectKind, EffectsAsked};
use provi_analysis::{Analysis, Fitted};
use provi_table::{Formula, FrameOptions, Missing, ModelFrame, NewLevels, Table, Values};

const SINE: &str = include_str!("smooth/sine.csv");
const HOURS: &str = include_str!("smooth/hours.csv");

fn table() -> Table {
    Table::read(SINE.as_bytes(), "sine.csv").unwrap()
}

fn gaussian() -> ModelOptions {
    ModelOptions { family: "gaussian".parse().ok(), ..ModelOptions::default() }
}

fn fit(text: &str, formula: &str, options: &ModelOptions) -> Fitted {
    let data = Data::new(text.as_bytes().to_vec(), "t.csv".to_owned());
    let analysis = Analysis::of(data, formula, options).unwrap();
    analysis.fit(&RunOptions::default(), &mut Watch::default()).unwrap()
}

/// P⁻¹b and log det P, by elimination without pivots, which a positive definite P does not need.
fn solved(p: &[Vec<f64>], b: &[f64]) -> (Vec<f64>, f64) {
    let (mut a, mut x, n) = (p.to_vec(), b.to_vec(), b.len());
    let mut log_det = 0.0;
    for i in 0..n {
        log_det += a[i][i].ln();
        for j in i + 1..n {
            let by = a[j][i] / a[i][i];
            for k in i..n {
                a[j][k] -= by * a[i][k];
            }
            x[j] -= by * x[i];
        }
    }
    for i in (0..n).rev() {
        let rest: f64 = (i + 1..n).map(|k| a[i][k] * x[k]).sum();
        x[i] = (x[i] - rest) / a[i][i];
    }
    (x, log_det)
}

/// Gaussian regression with noise σ and independent N(0, s_j²) coefficients: P = XᵀX/σ² + diag(s⁻²), b = Xᵀy/σ².
struct Regression {
    gram: Vec<Vec<f64>>,
    moment: Vec<f64>,
}

impl Regression {
    fn new(frame: &ModelFrame, noise: f64) -> Self {
        let row = |i: usize| -> Vec<f64> {
            let groups = frame.design.groups.iter().flat_map(|group| group.row(i));
            frame.design.population_row(i).iter().chain(groups).copied().collect()
        };
        let d = frame.names.len();
        let (mut gram, mut moment) = (vec![vec![0.0; d]; d], vec![0.0; d]);
        for (i, y) in frame.response.iter().enumerate() {
            let x = row(i);
            for j in 0..d {
                moment[j] += x[j] * y / (noise * noise);
                (0..d).for_each(|k| gram[j][k] += x[j] * x[k] / (noise * noise));
            }
        }
        Self { gram, moment }
    }

    /// P, the posterior mean, and log ∫ p(y|z)p(z)dz but for a constant that does not depend on s.
    fn at(&self, sds: &[f64]) -> (Vec<Vec<f64>>, Vec<f64>, f64) {
        let mut p = self.gram.clone();
        sds.iter().enumerate().for_each(|(j, s)| p[j][j] += 1.0 / (s * s));
        let (mean, log_det) = solved(&p, &self.moment);
        let fitted: f64 = mean.iter().zip(&self.moment).map(|(m, b)| m * b).sum();
        let log_prior: f64 = sds.iter().map(|s| s.ln()).sum();
        (p, mean, 0.5 * fitted - 0.5 * log_det - log_prior)
    }
}

fn frame(formula: &str) -> ModelFrame {
    ModelFrame::new(&table(), &Formula::parse(formula).unwrap(), &FrameOptions::default()).unwrap()
}

#[test]
fn with_given_scales_it_is_gaussian_regression() {
    let options = ModelOptions {
        noise_sd: Some(0.4),
        group_scale: vec!["s(x)=0.7".parse().unwrap()],
        prior_scale: Some(3.0),
        ..gaussian()
    };
    let fit = fit(SINE, "y ~ s(x, k = 8)", &options);
    let sds = [vec![3.0; 2], vec![0.7; 6]].concat();
    let (p, mean, _) = Regression::new(&frame("y ~ s(x, k = 8)"), 0.4).at(&sds);
    let covariance = fit.dense("a test").unwrap().covariance();
    for j in 0..8 {
        assert!((fit.file.mean[j] - mean[j]).abs() < 1e-9, "{j}: {} and {}", fit.file.mean[j], mean[j]);
        let unit: Vec<f64> = (0..8).map(|i| f64::from(u8::from(i == j))).collect();
        for (i, expected) in solved(&p, &unit).0.into_iter().enumerate() {
            assert!((covariance[(i, j)] - expected).abs() < 1e-9, "{i}, {j}");
        }
    }
    assert!(fit.certificate().unwrap().kl.bound().unwrap() < 1e-9);
    // Another scale is another answer.
    let (_, wrong, _) =
        Regression::new(&frame("y ~ s(x, k = 8)"), 0.4).at(&[vec![3.0; 2], vec![0.71; 6]].concat());
    assert!((0..8).any(|j| (fit.file.mean[j] - wrong[j]).abs() > 1e-4));
}

/// The logarithm of a weight, the means of the coefficients, and τ.
type Node = (f64, Vec<f64>, f64);

/// The sum over ln τ of what is proportional to p(y|τ)·half_t(τ; 3, s)·τ: means of the coefficients and of τ.
fn by_grid(regression: &Regression, coefficients: usize, s: f64) -> (Vec<f64>, f64) {
    let nodes: Vec<Node> = (-250..=200)
        .map(|i| {
            let tau = (0.02 * f64::from(i)).exp();
            let sds = [vec![3.0; 2], vec![tau; coefficients - 2]].concat();
            let (_, mean, log_evidence) = regression.at(&sds);
            let log_prior = -2.0 * (1.0 + (tau / s).powi(2) / 3.0).ln();
            (log_evidence + log_prior + tau.ln(), mean, tau)
        })
        .collect();
    let most = nodes.iter().map(|node| node.0).fold(f64::MIN, f64::max);
    let total: f64 = nodes.iter().map(|node| (node.0 - most).exp()).sum();
    let average = |of: &dyn Fn(&Node) -> f64| -> f64 {
        nodes.iter().map(|node| (node.0 - most).exp() * of(node)).sum::<f64>() / total
    };
    ((0..coefficients).map(|j| average(&|node| node.1[j])).collect(), average(&|node| node.2))
}

#[test]
fn an_integrated_scale_is_a_sum_over_a_grid() {
    let options = ModelOptions {
        noise_sd: Some(0.4),
        prior_scale: Some(3.0),
        prior: vec!["sd(s(x))=half_t(3, 0.5)".parse().unwrap()],
        ..gaussian()
    };
    let fit = fit(SINE, "y ~ s(x, k = 8)", &options);
    let regression = Regression::new(&frame("y ~ s(x, k = 8)"), 0.4);
    let [means, sds] = fit.moments().unwrap();
    let scale = fit.file.model.scales.iter().find(|scale| scale.name == "s(x)").unwrap();
    let differs = |s: f64| {
        let (expected, tau) = by_grid(&regression, 8, s);
        let far = (0..8).any(|j| (means[j] - expected[j]).abs() > 1e-3 * sds[j]);
        far || (scale.sd - tau).abs() > 2e-3 * tau
    };
    assert!(!differs(0.5), "{:?}, {}", by_grid(&regression, 8, 0.5), scale.sd);
    // The prior matters, and another one is noticed.
    assert!(differs(1.0));
}

/// The sd of a smooth is that of its values: its default prior has the scale of the response, whatever the units of x.
#[test]
fn the_default_prior_has_no_units() {
    let scaled: String = SINE
        .lines()
        .enumerate()
        .map(|(i, line)| match (i, line.split_once(',')) {
            (1.., Some((x, y))) => format!("{},{y}\n", 1e6 * x.parse::<f64>().unwrap()),
            _ => format!("{line}\n"),
        })
        .collect();
    let (one, other) = (fit(SINE, "y ~ s(x)", &gaussian()), fit(&scaled, "y ~ s(x)", &gaussian()));
    let scales = |fit: &Fitted| fit.file.model.scales.clone();
    assert_eq!(scales(&one)[1].name, "s(x)");
    assert_eq!(scales(&one)[1].prior, scales(&one)[0].prior);
    for (a, b) in scales(&one).iter().zip(scales(&other)) {
        assert_eq!(a.prior, b.prior);
        assert!((a.sd - b.sd).abs() < 1e-3 * a.sd, "{} and {}", a.sd, b.sd);
    }
}

/// Means and standard errors of `gam(.., method = "REML")`, by smooth/mgcv.R. It conditions on its estimates of both scales and has no
/// priors, so that it differs by design: by at most a tenth of a standard error here, and 5 % in the standard errors.
#[test]
fn mgcv_says_nearly_the_same() {
    let sine: &[(f64, f64, f64)] = &[
        (0.5, 0.503625, 0.082183),
        (2.0, 1.241462, 0.082646),
        (3.5, 0.147716, 0.083449),
        (5.0, -0.157525, 0.074772),
        (6.5, 1.193876, 0.084794),
        (8.0, 2.133275, 0.081058),
        (9.5, 1.430115, 0.085564),
    ];
    let hours: &[(f64, f64, f64)] = &[
        (0.0, 2.067274, 0.084616),
        (3.0, 2.143795, 0.082900),
        (6.0, 0.981094, 0.079026),
        (9.0, -0.150125, 0.075264),
        (12.0, 0.025152, 0.073714),
        (15.0, 0.713521, 0.075264),
        (18.0, 0.980558, 0.079026),
        (21.0, 1.240816, 0.082900),
    ];
    for (text, column, formula, expected) in
        [(SINE, "x", "y ~ s(x)", sine), (HOURS, "hour", "y ~ s(hour, bs = \"cc\", period = 24)", hours)]
    {
        let fit = fit(text, formula, &gaussian());
        let points = expected.iter().map(|row| row.0).collect();
        let new = Table::from_columns("new", vec![(column.to_owned(), Values::Numbers(points))]).unwrap();
        let found = fit.new_data(&new, NewLevels::Refuse, Missing::Error).unwrap().predict(0.95).unwrap();
        for (row, (at, mean, error)) in found.iter().zip(expected) {
            assert!((row.mean - mean).abs() < 0.1 * error, "{formula} at {at}: {} and {mean}", row.mean);
            assert!((row.predictor_sd / error - 1.0).abs() < 0.05, "{formula} at {at}: {}", row.predictor_sd);
        }
    }
}

#[test]
fn a_sine_is_found_and_the_effect_of_x_is_its_curve() {
    let fit = fit(SINE, "y ~ s(x)", &gaussian());
    let truth = |x: f64| x.sin() + 0.15 * x;
    let asked = EffectsAsked {
        variables: vec!["x".to_owned()],
        kind: Some(EffectKind::Predictions),
        points: 21,
        ..EffectsAsked::default()
    };
    let found = fit.effects(&asked, None, None).unwrap();
    assert!(!found.without_groups && found.effects.len() == 21);
    for effect in &found.effects {
        let x: f64 = effect.value.as_ref().unwrap().to_string().parse().unwrap();
        assert!((effect.estimate - truth(x)).abs() < 0.35, "{x}: {} and {}", effect.estimate, truth(x));
        assert_eq!(effect.rows, 1);
    }
    // A slope is the limit of differences.
    let at = |kind, x: &[f64]| -> Vec<f64> {
        let values = x.iter().map(f64::to_string).collect();
        let asked = EffectsAsked { values, kind: Some(kind), ..asked.clone() };
        fit.effects(&asked, None, None).unwrap().effects.iter().map(|effect| effect.estimate).collect()
    };
    let h = 1e-3;
    let around = at(EffectKind::Predictions, &[4.0 - h, 4.0 + h]);
    let slope = at(EffectKind::Slopes, &[4.0])[0];
    assert!((slope - (around[1] - around[0]) / (2.0 * h)).abs() < 1e-4, "{slope}");
    assert!((slope - 4f64.cos() - 0.15).abs() < 0.5, "{slope}");
}

#[test]
fn a_stored_fit_predicts_as_it_fitted_and_goes_on_in_a_straight_line() {
    let dir = std::env::temp_dir().join(format!("provi-smooth-{}", std::process::id()));
    let options = ModelOptions { noise_sd: Some(0.4), group_scale: vec!["1".parse().unwrap()], ..gaussian() };
    let fit = fit(SINE, "y ~ s(x, k = 7)", &options);
    fit.save(&dir, true).unwrap();
    let again = Fitted::load(&dir).unwrap();
    std::fs::remove_dir_all(&dir).unwrap();
    assert_eq!(again.file.model.recipe, fit.file.model.recipe);
    let frame = frame("y ~ s(x, k = 7)");
    let expected = frame.design.predictor(&fit.file.mean);
    let predicted = |table: &Table| {
        again.new_data(table, NewLevels::Refuse, Missing::Error).unwrap().predict(0.95).unwrap()
    };
    for (row, expected) in predicted(&table()).iter().zip(&expected) {
        assert!((row.mean - expected).abs() < 1e-10, "{} and {expected}", row.mean);
    }
    let far = Values::Numbers(vec![11.0, 13.0, 15.0]);
    let far = predicted(&Table::from_columns("far", vec![("x".to_owned(), far)]).unwrap());
    assert!((far[0].mean - 2.0 * far[1].mean + far[2].mean).abs() < 1e-9);
    assert!(far[0].predictor_sd < far[1].predictor_sd && far[1].predictor_sd < far[2].predictor_sd);
}

#[test]
fn smooths_stand_beside_groups_and_other_families() {
    let mut text = "low,x,clinic\n".to_owned();
    for (i, line) in SINE.lines().skip(1).enumerate() {
        let (x, y) = line.split_once(',').unwrap();
        text += &format!("{},{x},{}\n", u8::from(y.parse::<f64>().unwrap() > 0.8), i % 6);
    }
    let fit = fit(&text, "low ~ s(x, k = 6) + (1 | clinic)", &ModelOptions::default());
    let names: Vec<&str> = fit.file.model.scales.iter().map(|scale| scale.name.as_str()).collect();
    assert_eq!(names, ["clinic:(Intercept)", "s(x)"]);
    assert_eq!(fit.file.model.beside_the_population(10), "6 of groups, 4 of curves");
    // A new clinic has the spread of clinics, not that of the curve.
    let rows = |clinic: &str| {
        let columns = vec![
            ("x".to_owned(), Values::Numbers(vec![2.0])),
            ("clinic".to_owned(), Values::Text(vec![Some(clinic.to_owned())])),
        ];
        let new = Table::from_columns("new", columns).unwrap();
        let data = fit.new_data(&new, NewLevels::Population, Missing::Error).unwrap();
        [
            data.predict(0.95).unwrap()[0].predictor_sd,
            data.of_population().predict(0.95).unwrap()[0].predictor_sd,
        ]
    };
    let [with, without] = rows("99");
    let clinics = fit.file.model.scales[0].sd;
    assert!(
        with > without && with < (without.powi(2) + 9.0 * clinics.powi(2)).sqrt(),
        "{with}, {without}, {clinics}"
    );
    assert!(fit.certificate().is_some());
}
