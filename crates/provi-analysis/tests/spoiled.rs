//! Fits whose covariance rounding spoils: fewer rows than columns, fitted exactly.

use std::fmt::Write;
use std::path::Path;

use provi::fit::Watch;
use provi_analysis::model::Data;
use provi_analysis::options::{ModelOptions, RunOptions};
use provi_analysis::{Analysis, Fitted};
use provi_table::{Missing, NewLevels, Table};

/// Five rows and eight columns; y = 10⁻⁶(x₁ − 2x₂).
fn csv() -> String {
    let mut text: String = (1..=8).map(|j| format!("x{j},")).collect();
    text.push_str("y\n");
    for i in 0..5 {
        let x: Vec<f64> = (0..8).map(|j| f64::from((7 * i * i + 3 * i * j + 5 * j) % 11 - 5)).collect();
        x.iter().for_each(|x| write!(text, "{x},").unwrap());
        writeln!(text, "{:e}", 1e-6 * (x[0] - 2.0 * x[1])).unwrap();
    }
    text
}

fn fit(options: &str) -> Fitted {
    let options: ModelOptions = toml::from_str(&format!("family = 'gaussian'\n{options}")).unwrap();
    let data = Data::new(csv().into_bytes(), "exact.csv".to_owned());
    let analysis = Analysis::of(data, "y ~ 0 + .", &options).unwrap();
    analysis.fit(&RunOptions::default(), &mut Watch::default()).unwrap()
}

fn predictions(fit: &Fitted) -> Vec<f64> {
    let table = Table::read(csv().as_bytes(), "exact.csv").unwrap();
    let rows = fit.new_data(&table, NewLevels::Refuse, Missing::Drop).unwrap().predict(0.9).unwrap();
    rows.iter().flat_map(|row| [row.mean, row.low, row.high]).collect()
}

/// Changes fit.json, and says how it then loads.
fn edited(dir: &Path, change: impl Fn(&mut serde_json::Value)) -> provi_analysis::Result<Fitted> {
    let path = dir.join("fit.json");
    let mut record = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    change(&mut record);
    std::fs::write(&path, record.to_string()).unwrap();
    Fitted::load(dir)
}

#[test]
fn a_fit_is_loaded_although_rounding_spoils_its_covariance() {
    for (options, mixture) in [("prior-scale = 1e3", true), ("prior-scale = 1e6\nnoise-sd = 1e-6", false)] {
        let fresh = fit(options);
        assert_eq!(fresh.mixture.is_some(), mixture);
        let dir = tempfile::tempdir().unwrap();
        fresh.save(dir.path(), false).unwrap();
        let loaded = Fitted::load(dir.path()).unwrap();
        assert_eq!(loaded.gaussian, fresh.gaussian);
        assert_eq!(predictions(&loaded), predictions(&fresh));
        // Where the factor is not beside it, as in what the command prints, a mixture has its own.
        std::fs::remove_file(dir.path().join("factor.f64")).unwrap();
        let alone = Fitted::load(dir.path());
        assert_eq!(alone.is_ok(), mixture);
        let Ok(alone) = alone else { continue };
        for (a, b) in alone
            .gaussian
            .standard_deviations()
            .unwrap()
            .iter()
            .zip(fresh.gaussian.standard_deviations().unwrap())
        {
            assert!((a / b - 1.0).abs() < 1e-9, "{a} {b}");
        }
        assert_eq!(predictions(&alone), predictions(&fresh));
        // A covariance that is not the mixture's is refused.
        let said =
            edited(dir.path(), |record| record["covariance"][0][0] = (-1.0).into()).unwrap_err().to_string();
        assert!(said.contains("is not symmetric positive definite"), "{said}");
    }
}

#[test]
fn a_covariance_with_a_factor_is_kept_alone() {
    let dir = tempfile::tempdir().unwrap();
    fit("prior-scale = 1").save(dir.path(), false).unwrap();
    assert!(!dir.path().join("factor.f64").exists());
}
