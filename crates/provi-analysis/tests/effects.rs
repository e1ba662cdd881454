//! Effects against closed forms, quadrature and differences.

use provi::fit::Watch;
use provi_analysis::model::Data;
use provi_analysis::options::{FamilyName, ModelOptions, RunOptions};
use provi_analysis::run::effects::{Compare, Effect, EffectKind, EffectScale, EffectsAsked, Setting};
use provi_analysis::{Analysis, Error, Fitted};
use provi_table::Table;

/// Rows with a number, a second one, a category, true/false and a group, and responses of every kind.
fn csv() -> String {
    let mut out = "y,count,low,x,z,town,b,clinic,years\n".to_owned();
    for i in 0..60u32 {
        let x = 0.5 + 0.13 * f64::from((7 * i) % 29);
        let z = f64::from((5 * i) % 13) - 6.0;
        let town = ["Bern", "Basel", "Chur", "Bern"][(i % 4) as usize];
        let low = u32::from((3 * i) % 10 + u32::from(x > 2.0) * 3 > 6);
        let y = 1.0 + 0.8 * x - 0.2 * z + 0.1 * x * z + 0.3 * f64::from((11 * i) % 7);
        let b = i % 3 == 1;
        out += &format!("{y},{},{low},{x},{z},{town},{b},{},{}\n", (2 * i) % 7, i % 5, 1 + i % 3);
    }
    out
}

fn table() -> Table {
    Table::read(csv().as_bytes(), "t.csv").unwrap()
}

fn fit(formula: &str, family: FamilyName) -> Fitted {
    let options = ModelOptions {
        family: Some(family),
        noise_sd: (family == FamilyName::Gaussian).then_some(0.7),
        prior_scale: Some(2.0),
        group_scale: if formula.contains('|') { vec!["0.5".parse().unwrap()] } else { Vec::new() },
        ..ModelOptions::default()
    };
    let data = Data::new(csv().into_bytes(), "t.csv".to_owned());
    Analysis::of(data, formula, &options).unwrap().fit(&RunOptions::default(), &mut Watch::default()).unwrap()
}

fn one(variable: &str, kind: EffectKind) -> EffectsAsked {
    EffectsAsked { variables: vec![variable.to_owned()], kind: Some(kind), ..EffectsAsked::default() }
}

fn near(a: f64, b: f64, within: f64) {
    assert!((a - b).abs() <= within * (1.0 + b.abs()), "{a} and {b}");
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn the_average_slope_of_a_linear_model_is_its_coefficient() {
    let fit = fit("y ~ x + z + town", FamilyName::Gaussian);
    let found = fit.effects(&one("x", EffectKind::Slopes), Some(&table()), None).unwrap();
    let row = fit.contrast("x", 0.95).unwrap();
    let [effect] = found.effects.as_slice() else { panic!() };
    near(effect.estimate, row.functional.mean, 1e-12);
    near(effect.low, row.interval[0], 1e-10);
    near(effect.high, row.interval[1], 1e-10);
    assert_eq!((effect.status, effect.interval, effect.rows, found.draws), ("proved", "quantiles", 60, None));
    assert!(effect.error.unwrap() <= 1.0001 * row.functional.mean_error.bound().unwrap() + 1e-15);
    // Of a category it is the coefficient of each level.
    let towns = fit.effects(&one("town", EffectKind::Contrasts), Some(&table()), None).unwrap().effects;
    let labels: Vec<String> = towns.iter().map(|effect| effect.what("difference")).collect();
    assert_eq!(labels, ["Bern − Basel", "Chur − Basel"]);
    near(towns[1].estimate, fit.contrast("town[Chur]", 0.95).unwrap().functional.mean, 1e-12);
}

#[test]
fn an_interaction_enters_the_slope_at_the_rows_own_values() {
    let fit = fit("y ~ x * z", FamilyName::Gaussian);
    let at = |weight: f64| fit.contrast(&format!("x + {weight}*`x:z`"), 0.95).unwrap();
    let z = mean(table().numeric("z").unwrap());
    let average = &fit.effects(&one("x", EffectKind::Slopes), Some(&table()), None).unwrap().effects[0];
    near(average.estimate, at(z).functional.mean, 1e-12);
    near(average.low, at(z).interval[0], 1e-9);
    // On a grid, at the values of the other variable.
    let asked = EffectsAsked { at: vec![("z".to_owned(), "4".to_owned())], ..one("x", EffectKind::Slopes) };
    for effect in fit.effects(&asked, None, None).unwrap().effects {
        near(effect.estimate, at(4.0).functional.mean, 1e-12);
        near(effect.high, at(4.0).interval[1], 1e-9);
    }
}

#[test]
fn slopes_are_limits_of_differences_of_predictions() {
    for (formula, family) in [
        ("low ~ poly(x, 3) + log(x):z + town", FamilyName::Bernoulli),
        ("low ~ bs(x, 5) * b", FamilyName::Probit),
        ("count ~ sqrt(x) * town + offset(log(years))", FamilyName::Poisson),
    ] {
        let fit = fit(formula, family);
        let h = 1e-3;
        let values = |all: &[f64]| all.iter().map(f64::to_string).collect::<Vec<_>>();
        for scale in [EffectScale::Response, EffectScale::Link] {
            let ask = |kind, all: &[f64]| {
                let asked = EffectsAsked { values: values(all), scale, draws: 100, ..one("x", kind) };
                fit.effects(&asked, None, None)
                    .unwrap()
                    .effects
                    .iter()
                    .map(|e| e.estimate)
                    .collect::<Vec<_>>()
            };
            for x in [1.1, 2.3, 3.4] {
                let around = ask(EffectKind::Predictions, &[x - 2.0 * h, x - h, x + h, x + 2.0 * h]);
                let expected = (around[0] - 8.0 * around[1] + 8.0 * around[2] - around[3]) / (12.0 * h);
                near(ask(EffectKind::Slopes, &[x])[0], expected, 1e-7);
            }
        }
    }
}

/// ∫ f dN(m, s²), by the trapezoidal rule, which converges faster than any power for such functions.
fn expected(m: f64, s: f64, f: impl Fn(f64) -> f64) -> f64 {
    let step = 0.02;
    let at = |k: i32| step * f64::from(k);
    let weight = |t: f64| (-0.5 * t * t).exp() * step / (2.0 * std::f64::consts::PI).sqrt();
    (-500..=500).map(|k| weight(at(k)) * f(m + s * at(k))).sum()
}

fn sigmoid(s: f64) -> f64 {
    1.0 / (1.0 + (-s).exp())
}

/// The mean and variance of aᵀz, and its covariance with bᵀz, under the fit.
fn moments(fit: &Fitted, a: &[f64], b: &[f64]) -> (f64, f64, f64) {
    let covariance = fit.file.covariance.as_ref().unwrap();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let form =
        |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(covariance).map(|(a, row)| a * dot(row, b)).sum() };
    (dot(a, &fit.file.mean), form(a, a), form(a, b))
}

#[test]
fn averages_of_a_logistic_model_are_integrals_over_the_predictor() {
    let fit = fit("low ~ x + z + town", FamilyName::Bernoulli);
    let table = table();
    let (xs, zs) = (table.numeric("x").unwrap(), table.numeric("z").unwrap());
    let row = |i: usize, town: &str| {
        vec![1.0, xs[i], zs[i], f64::from(u8::from(town == "Bern")), f64::from(u8::from(town == "Chur"))]
    };
    let probability = |a: &[f64]| {
        let (m, v, _) = moments(&fit, a, a);
        expected(m, v.sqrt(), sigmoid)
    };
    let average = |town: &str| mean(&(0..60).map(|i| probability(&row(i, town))).collect::<Vec<_>>());
    let found = fit.effects(&one("town", EffectKind::Contrasts), Some(&table), None).unwrap();
    near(found.effects[1].estimate, average("Chur") - average("Basel"), 1e-9);
    let tv = found.tv.unwrap().0;
    assert!(
        found
            .effects
            .iter()
            .all(|e| e.error.is_some_and(|error| error <= 2.0 * tv * (1.0 + 1e-9)) && e.interval == "draws")
    );
    assert!(found.effects.iter().all(|e| e.low < e.estimate && e.estimate < e.high));
    let levels = fit.effects(&one("town", EffectKind::Predictions), Some(&table), None).unwrap();
    near(levels.effects[2].estimate, average("Chur"), 1e-9);

    // The slope: E g'(s)r = E g'(s)·E r + Cov(s, r)·E g''(s), for jointly normal s and r.
    let slope = |i: usize| {
        let a = row(i, &table.level("town", i).unwrap());
        let b = [0.0, 1.0, 0.0, 0.0, 0.0];
        let ((m, v, c), r) = (moments(&fit, &a, &b), moments(&fit, &b, &b).0);
        let first = |s: f64| sigmoid(s) * (1.0 - sigmoid(s));
        let second = |s: f64| first(s) * (1.0 - 2.0 * sigmoid(s));
        expected(m, v.sqrt(), first) * r + c * expected(m, v.sqrt(), second)
    };
    let found = fit.effects(&one("x", EffectKind::Slopes), Some(&table), None).unwrap();
    near(found.effects[0].estimate, mean(&(0..60).map(slope).collect::<Vec<_>>()), 1e-8);
    assert_eq!((found.effects[0].status, found.effects[0].error), ("estimate", None));
    assert_eq!(found.draws.map(|drawn| (drawn.count, drawn.law)), Some((4000, "gaussian")));
}

#[test]
fn parts_of_the_data_average_to_the_whole() {
    let fit = fit("low ~ x * town + b", FamilyName::Bernoulli);
    let ask = |by: Option<&str>| {
        let asked = EffectsAsked { by: by.map(str::to_owned), draws: 200, ..one("x", EffectKind::Slopes) };
        fit.effects(&asked, Some(&table()), None).unwrap().effects
    };
    for by in ["town", "b", "clinic", "years"] {
        let parts = ask(Some(by));
        assert!(parts.len() > 1 && parts.iter().map(|part| part.rows).sum::<usize>() == 60);
        let whole = parts.iter().map(|part| part.rows as f64 * part.estimate).sum::<f64>() / 60.0;
        near(whole, ask(None)[0].estimate, 1e-10);
    }
}

#[test]
fn ratios_of_one_row_are_exponentials_of_a_coefficient() {
    let compared = |fit: &Fitted, compare, data: Option<&Table>| {
        let asked = EffectsAsked { compare, ..one("x", EffectKind::Contrasts) };
        fit.effects(&asked, data, None).unwrap().effects.remove(0)
    };
    let is_exp = |effect: &Effect, fit: &Fitted| {
        let row = fit.contrast("x", 0.95).unwrap();
        near(effect.estimate, row.functional.mean.exp(), 1e-11);
        near(effect.low, row.interval[0].exp(), 1e-9);
        near(effect.high, row.interval[1].exp(), 1e-9);
        assert_eq!(effect.interval, "quantiles");
    };
    let logistic = fit("low ~ x + z", FamilyName::Bernoulli);
    is_exp(&compared(&logistic, Compare::OddsRatio, None), &logistic);
    // Without interactions every rate changes by the same factor, and so does their average; averaged odds do not.
    let poisson = fit("count ~ x + z", FamilyName::Poisson);
    is_exp(&compared(&poisson, Compare::Ratio, None), &poisson);
    is_exp(&compared(&poisson, Compare::Ratio, Some(&table())), &poisson);
    let marginal = compared(&logistic, Compare::OddsRatio, Some(&table()));
    assert_eq!(marginal.interval, "draws");
    assert!(
        (marginal.estimate - 1.0).abs()
            < (logistic.contrast("x", 0.95).unwrap().functional.mean.exp() - 1.0).abs()
    );
}

#[test]
fn a_grid_says_where_the_others_are_held() {
    let fit = fit("count ~ x + town + b + (1 | clinic) + offset(log(years))", FamilyName::Poisson);
    let found = fit.effects(&one("x", EffectKind::Predictions), None, None).unwrap();
    let held: Vec<String> = found.held.iter().map(|(name, at)| format!("{name} = {at}")).collect();
    assert_eq!(held, ["town = Bern", "b = false", "years = 2"]);
    assert!(found.without_groups && found.effects.len() == 5 && found.unit == "rate");
    assert_eq!(found.effects[0].value, Some(Setting::Number(0.5)));
    // The middle of the population: no effect of a group, and none of its spread.
    let at = |x: f64| [1.0, x, 1.0, 0.0, 0.0];
    let dim = fit.names().len();
    let x = 0.5;
    let mut a = vec![0.0; dim];
    a[..5].copy_from_slice(&at(x));
    let (m, v, _) = moments(&fit, &a, &a);
    near(found.effects[0].estimate, (m + 2f64.ln() + 0.5 * v).exp(), 1e-10);
    // A grouping column can be shown: then its groups count.
    let groups = fit.effects(&one("clinic", EffectKind::Predictions), None, None).unwrap();
    assert!(!groups.without_groups && groups.effects.len() == 5);
    a[1] = mean(table().numeric("x").unwrap());
    a[5] = 1.0;
    let (m, v, _) = moments(&fit, &a, &a);
    near(groups.effects[0].estimate, (m + 2f64.ln() + 0.5 * v).exp(), 1e-10);
}

#[test]
fn a_question_without_an_answer_is_refused_with_the_way_out() {
    let fit = fit("low ~ x + town", FamilyName::Bernoulli);
    let said =
        |asked: EffectsAsked, data: Option<&Table>| fit.effects(&asked, data, None).unwrap_err().to_string();
    let of = |variable: &str| one(variable, EffectKind::Predictions);
    assert_eq!(
        said(of("twon"), None),
        "`twon` is not a variable of this model; did you mean `town`? its variables are `x`, `town`"
    );
    assert!(said(one("town", EffectKind::Slopes), None).contains("contrasts of its levels"));
    let values =
        |variable: &str, value: &str| EffectsAsked { values: vec![value.to_owned()], ..of(variable) };
    assert!(said(values("town", "Brn"), None).contains("did you mean `Bern`?"));
    assert!(said(values("x", "much"), None).ends_with("write a number"));
    let asked = EffectsAsked { kind: Some(EffectKind::Contrasts), ..values("x", "1") };
    assert!(said(asked, None).contains("at least two"));
    let ratio = EffectsAsked { compare: Compare::Ratio, scale: EffectScale::Link, ..EffectsAsked::default() };
    assert!(said(ratio.clone(), None).contains("leave the link scale out"));
    let ratio = EffectsAsked { kind: Some(EffectKind::Slopes), ..ratio };
    assert!(said(ratio, None).contains("a ratio is a contrast"));
    let by = |by: &str| EffectsAsked { by: Some(by.to_owned()), ..of("x") };
    assert!(said(by("x"), None).contains("split by another column"));
    assert!(said(by("tow"), Some(&table())).contains("no column `tow`"));
    assert!(said(by("y"), Some(&table())).contains("different values"));
    let held = EffectsAsked { at: vec![("town".to_owned(), "Bern".to_owned())], ..of("x") };
    assert!(said(held, Some(&table())).contains("leave the data out"));
    let mut old = fit.clone();
    old.file.model.variables.clear();
    assert!(matches!(old.effects(&of("x"), None, None), Err(Error::Effect(_))));
    // With the data the ranges are known again, to the same numbers.
    let [a, b] = [&old, &fit].map(|fit| fit.effects(&of("x"), Some(&table()), None).unwrap());
    assert_eq!(a, b);
}
