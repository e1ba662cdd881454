//! Constants of the models compared with the spectra that a search finds.

use crate::algebra::{combination, extremes};
use crate::figure::{Axis, Figure, Mark, Panel, Series};
use crate::outcome::{Check, Outcome};
use crate::problems::{design_rows, normals, regression};
use crate::space::hessian;
use crate::trial::Trial;
use provi::target::{Family, Glm, Prior, hierarchical_convexity, hierarchical_logistic};
use provi::{Design, Matrix, Result, Target};

const FAMILIES: [Family; 4] =
    [Family::Gaussian { noise_sd: 0.8 }, Family::Bernoulli, Family::Probit, Family::Poisson];

/// A hierarchy with k features and groups of unequal size.
fn hierarchy(key: u64, k: usize, sizes: &[usize], s: f64, r: f64) -> Result<Glm> {
    let rows: usize = sizes.iter().sum();
    let features = Design::from_rows(rows, k, design_rows(key, rows, k, 0.8))?;
    let labels: Vec<f64> = (0..rows).map(|n| f64::from(u8::from(n % 3 == 0 || n % 7 == 2))).collect();
    let groups: Vec<usize> = sizes.iter().enumerate().flat_map(|(g, &n)| vec![g; n]).collect();
    let (top, within) = (Matrix::scaled_identity(k, s), Matrix::scaled_identity(k, r));
    hierarchical_logistic(&features, &labels, &groups, &top, &within)
}

/// The extreme eigenvalues of ∇²V over points near and far, the origin among them, and how far ∇²V comes below H_lo.
fn search(target: &dyn Target, low: &Matrix, high: Option<&Matrix>, count: u64) -> Result<[f64; 4]> {
    let d = target.dim();
    let (mut least, mut most) = (f64::INFINITY, 0.0f64);
    let (mut below, mut above) = (f64::INFINITY, f64::INFINITY);
    // Without an upper bound the Hessian may grow exponentially.
    let farthest = if high.is_some() { f64::INFINITY } else { 1.0 };
    for k in 0..count {
        let scale = [0.0, 0.1, 1.0, 5.0, 40.0, 300.0f64][k as usize % 6].min(farthest);
        let z: Vec<f64> = normals(3000 + k, d).iter().map(|x| scale * x).collect();
        let h = hessian(target, &z)?;
        let (a, b) = extremes(&h);
        (least, most) = (least.min(a), most.max(b));
        let size = h.frobenius_norm();
        below = below.min(extremes(&combination(&h, -1.0, low)).0 / size);
        if let Some(high) = high {
            above = above.min(extremes(&combination(high, -1.0, &h)).0 / size);
        }
    }
    Ok([least, most, below, above])
}

/// [curvature].
pub(crate) fn curvature(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut models: Vec<(String, Glm)> = Vec::new();
    for (i, family) in FAMILIES.into_iter().enumerate() {
        models.push((family.name().into(), regression(family, 11 + 7 * i as u64, 4, 0.5)?));
    }
    models.push(("hierarchy".into(), hierarchy(21, 2, &[2, 5, 9], 0.7, 2.0)?));
    for k in 0..trial.effort(4, 24) {
        let family = [Family::Bernoulli, Family::Probit, Family::Gaussian { noise_sd: 1.3 }][k as usize % 3];
        let (d, precision) = (2 + k as usize % 6, 10f64.powf(-1.0 + (k % 5) as f64 * 0.5));
        models.push((format!("random {}", family.name()), regression(family, 400 + 5 * k, d, precision)?));
    }
    let (mut claimed_low, mut claimed_high, mut found_low, mut found_high) = (vec![], vec![], vec![], vec![]);
    for (i, (name, model)) in models.iter().enumerate() {
        let Some(curvature) = model.curvature()? else { continue };
        let low = curvature.lower().to_matrix(model.dim());
        let high = curvature.upper().map(|h| h.to_matrix(model.dim()));
        let [least, most, below, above] = search(model, &low, high.as_ref(), trial.effort(60, 600))?;
        let mu = curvature.convexity();
        outcome.check(Check::at_least(format!("{name}: least eigenvalue found"), least, trial.lower(mu)));
        outcome.check(Check::at_least(format!("{name}: ∇²V − H_lo, relative"), below, -1e-12));
        let x = (i + 1) as f64;
        claimed_low.push((x, mu));
        found_low.push((x, least));
        found_high.push((x, most));
        if let Some(m) = curvature.smoothness() {
            outcome.check(Check::at_most(format!("{name}: largest eigenvalue found"), most, trial.upper(m)));
            outcome.check(Check::at_least(format!("{name}: H_hi − ∇²V, relative"), above, -1e-12));
            claimed_high.push((x, m));
        }
    }
    outcome.figures.push(Figure {
        name: "curvature".into(),
        caption: "μ and M of each model, and the extreme eigenvalues of ∇²V that a search over points near and far \
                  found. 1: linear, 2: logistic, 3: probit, 4: Poisson (no M), 5: hierarchical; then random models."
            .into(),
        panels: vec![Panel {
            title: "Curvature: stated and found".into(),
            x: Axis::linear("model"),
            y: Axis::log("eigenvalues of ∇²V"),
            series: vec![
                Series::new("M", Mark::Points, 1, claimed_high),
                Series::new("largest found", Mark::Points, 0, found_high),
                Series::new("μ", Mark::Points, 3, claimed_low),
                Series::new("least found", Mark::Points, 2, found_low),
            ],
        }],
    });
    Ok(outcome)
}

/// [linear-predictor]: φ'' over the line, through a model of one row and one coordinate.
pub(crate) fn linear_predictor(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut series = Vec::new();
    for (color, family) in FAMILIES.into_iter().enumerate() {
        let (low, high) = family.curvature_range();
        let prior = 0.5;
        let model = Glm::new(family, Design::dense(1, 1, &[1.0])?, &[1.0], Prior::precision(prior)?)?;
        let reach = if high.is_some() { 30.0 } else { 3.0 };
        let count = trial.effort(300, 3000);
        let mut points = Vec::new();
        for i in 0..=count {
            let s = reach * (2.0 * f64::from(i) / f64::from(count) - 1.0);
            points.push((s, hessian(&model, &[s])?[(0, 0)] - prior));
        }
        let most = points.iter().fold(f64::NEG_INFINITY, |a, p| a.max(p.1));
        let least = points.iter().fold(f64::INFINITY, |a, p| a.min(p.1));
        outcome.check(Check::at_least(
            format!("{}: least φ''", family.name()),
            least + 1e-12,
            trial.lower(low),
        ));
        if let Some(high) = high {
            outcome.check(Check::at_most(
                format!("{}: largest φ''", family.name()),
                most,
                trial.upper(high) + 1e-12,
            ));
        }
        // The curvature of a whole model is Λ + θAᵀWA, written out.
        let (d, precision, key) = (3, 0.5, 31);
        let model = regression(family, key, d, precision)?;
        let a = design_rows(key, 6 * d, d, 0.7);
        let weights: Vec<f64> = normals(key + 1, 6 * d).iter().map(|x| 0.2 + x.abs()).collect();
        let by_hand = |theta: f64| {
            let mut h = Matrix::scaled_identity(d, precision);
            for (row, w) in a.chunks_exact(d).zip(&weights) {
                for i in 0..d {
                    for j in 0..d {
                        h[(i, j)] += theta * w * row[i] * row[j];
                    }
                }
            }
            h
        };
        if let Some(curvature) = model.curvature()? {
            let stated = curvature.lower().to_matrix(d).frobenius_norm();
            let written = by_hand(low).frobenius_norm();
            outcome.check(Check::equal(
                format!("{}: ‖H_lo‖", family.name()),
                stated,
                trial.upper(written),
                1e-10,
            ));
            if let (Some(upper), Some(high)) = (curvature.upper(), high) {
                let (stated, written) = (upper.to_matrix(d).frobenius_norm(), by_hand(high).frobenius_norm());
                outcome.check(Check::equal(
                    format!("{}: ‖H_hi‖", family.name()),
                    stated,
                    trial.upper(written),
                    1e-10,
                ));
            }
        }
        let drawn = points.iter().filter(|p| p.0.abs() <= 6.0).step_by(trial.effort(1, 4)).copied().collect();
        series.push(Series::new(family.name(), Mark::Measured, color, drawn));
    }
    series.push(Series::new("¼", Mark::Reference, 7, vec![(-6.0, 0.25), (6.0, 0.25)]));
    series.push(Series::new("1", Mark::Reference, 7, vec![(-6.0, 1.0), (6.0, 1.0)]));
    series[3].points.retain(|p| p.1 < 2.5);
    outcome.figures.push(Figure {
        name: "linear-predictor".into(),
        caption:
            "φ'' of each family over the linear predictor s (response 1, noise 0.8): between θ_min and θ_max."
                .into(),
        panels: vec![Panel {
            title: "Curvature of a likelihood".into(),
            x: Axis::linear("linear predictor s"),
            y: Axis::linear("φ''(s)"),
            series,
        }],
    });
    Ok(outcome)
}

/// [hierarchical].
pub(crate) fn hierarchical(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let (mut closed, mut found) = (Vec::new(), Vec::new());
    for groups in trial.effort(vec![1usize, 3, 10, 30], vec![1, 2, 3, 5, 10, 20, 50, 100, 200]) {
        for (s, r) in [(0.7, 2.5), (2.0, 0.5)] {
            let mut prior = Matrix::scaled_identity(groups + 1, r);
            prior[(0, 0)] = s + groups as f64 * r;
            for i in 1..=groups {
                prior[(0, i)] = -r;
                prior[(i, 0)] = -r;
            }
            let (truth, formula) = (extremes(&prior).0, hierarchical_convexity(s, r, groups));
            outcome.check(Check::equal(
                format!("s = {s}, r = {r}, {groups} groups: λ_min(Λ)"),
                truth,
                trial.upper(formula),
                1e-9,
            ));
            if s < 1.0 {
                closed.push((groups as f64, formula));
                found.push((groups as f64, truth));
            }
        }
    }
    // The model's own H_lo is that prior, for unequal groups too, and the density's Hessian stays between.
    let model = hierarchy(41, 2, &[1, 4, 8], 0.7, 2.5)?;
    if let Some(curvature) = model.curvature()? {
        let convexity = hierarchical_convexity(0.7, 2.5, 3);
        outcome.check(Check::equal(
            "unequal groups: μ of the model",
            curvature.convexity(),
            trial.upper(convexity),
            1e-9,
        ));
        let at_zero = extremes(&hessian(&model, &vec![0.0; model.dim()])?).1;
        let m = curvature.smoothness().unwrap_or(0.0);
        outcome.check(Check::at_most("unequal groups: λ_max(∇²V(0))", at_zero, trial.upper(m)));
    }
    outcome.figures.push(Figure {
        name: "hierarchical".into(),
        caption:
            "Strong convexity of the hierarchical prior (s = 0.7, r = 2.5): the closed form and eigenvalues."
                .into(),
        panels: vec![Panel {
            title: "μ of the hierarchy".into(),
            x: Axis::log("groups n"),
            y: Axis::log("μ"),
            series: vec![
                Series::new("λ_min(Λ), computed", Mark::Points, 0, found),
                Series::new("2sr/(τ + √(τ² − 4sr))", Mark::Bound, 1, closed),
            ],
        }],
    });
    Ok(outcome)
}
