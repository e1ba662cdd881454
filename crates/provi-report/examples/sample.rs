//! A report from made-up numbers: what every part of it looks like.
//!
//! `cargo run -p provi-report --features png --example sample -- DIR` writes `report.html`, a page of charts
//! `charts.html`, and every plot as SVG (and PNG) into DIR; without DIR it says how large the report is.

use std::path::Path;
use std::{env, fs, io};

use provi_report::{
    Axis, Block, CalibrationBin, CertificateFacts, Chart, Check, Coefficient, Evidence, FitPage, Form,
    GroupEffects, Light, ModelFacts, Page, PitFacts, Plot, Point, PredictiveBin, RobustFacts, Section,
    SensitivityFacts, StatementFacts, Statistic, TracePoint,
};

fn main() -> io::Result<()> {
    let fit = clinics();
    match env::args().nth(1) {
        None => {
            println!("{} bytes of report", fit.html().len());
            Ok(())
        }
        Some(folder) => write(Path::new(&folder), &fit),
    }
}

fn write(folder: &Path, fit: &FitPage) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join("report.html"), fit.html())?;
    fs::write(folder.join("hostile.html"), hostile().html())?;
    fs::write(folder.join("charts.html"), charts().html())?;
    for plot in Plot::ALL {
        fs::write(folder.join(format!("{}.svg", plot.name())), plot.svg(fit, Form::Standalone))?;
        #[cfg(feature = "png")]
        {
            let bytes = plot.scene(fit).to_png(2.0).map_err(io::Error::other)?;
            fs::write(folder.join(format!("{}.png", plot.name())), bytes)?;
        }
    }
    Ok(())
}

/// A sequence that looks random, from 0 to 1.
struct Scatter(u64);

impl Scatter {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn coefficient(name: &str, mean: f64, sd: f64, errors: Option<(f64, f64)>) -> Coefficient {
    Coefficient {
        name: name.to_owned(),
        mean,
        sd,
        low: mean - 1.96 * sd,
        high: mean + 1.96 * sd,
        mean_error: errors.map(|e| e.0),
        sd_error: errors.map(|e| e.1),
        prior_mean: Some(0.0),
        prior_sd: Some(1.0),
    }
}

fn clinics() -> FitPage {
    let rows = [
        ("(Intercept)", 0.744, 0.110, 0.0437),
        ("treatment[new]", 0.612, 0.148, 0.0551),
        ("age", -0.431, 0.083, 0.0312),
        ("dose", 0.287, 0.071, 0.0266),
        ("age:dose", -0.094, 0.069, 0.0251),
        ("smoker[former]", -0.118, 0.171, 0.0634),
        ("smoker[current]", -0.702, 0.192, 0.0713),
        ("clinic[Saint-Petersburg, northern annex]", 0.22, 0.262, 0.0981),
        ("clinic[Oslo]", -0.35, 0.241, 0.0902),
        ("clinic[Porto]", 0.08, 0.255, 0.0955),
    ];
    let coefficients: Vec<Coefficient> =
        rows.iter().map(|&(name, mean, sd, e)| coefficient(name, mean, sd, Some((e, 1.1 * e)))).collect();
    let clinic = |i: i32| {
        let mean = 0.6 * (f64::from(i) * 1.7).sin();
        Coefficient {
            name: format!("(1 | clinic)[{i}]"),
            mean,
            sd: 0.21,
            low: mean - 0.41,
            high: mean + 0.41,
            ..Coefficient::default()
        }
    };
    FitPage {
        declared: false,
        population: 0,
        ratio: "odds ratio".to_owned(),
        contrasts: vec![coefficient("smoker[current] - smoker[former]", -0.58, 0.21, Some((0.1, 0.12)))],
        sensitivity: sensitivity(),
        robust: Some(robust()),
        unproved: vec!["That the model and its prior suit the data.".to_owned()],
        groups: vec![GroupEffects { name: "(1 | clinic)".to_owned(), levels: (1..=24).map(clinic).collect() }],
        title: "Who recovers? A logistic regression of 569 patients".to_owned(),
        model: ModelFacts {
            formula: "recovered ~ treatment + age * dose + smoker + (1 | clinic)".to_owned(),
            family: "bernoulli (logistic regression)".to_owned(),
            data: "patients.csv, 41,208 bytes".to_owned(),
            rows: 569,
            dropped: Some("3 rows with missing values: 17, 204 and 511".to_owned()),
            priors: vec![
                "normal(0, 1) on every coefficient".to_owned(),
                "normal(0, τ_clinic) on every clinic".to_owned(),
            ],
            conditional_on: vec!["group scale τ_clinic = 0.42 (maximised)".to_owned()],
            further: vec![("method".to_owned(), "auto, exact expectations, no draws".to_owned())],
        },
        certificate: certificate(),
        effects: Default::default(),
        quantities: Default::default(),
        correlation: correlations(coefficients.len()),
        coefficients,
        trace: trace(),
        steps: None,
        seconds: Some(1.6),
        evidence: Evidence {
            lower: Some(-277.5190),
            upper: Some(-277.4740),
            elbo: Some(-277.5189),
            estimate: Some((-277.5172, 0.0011)),
            remark: "The estimate is from 4,000 draws with k̂ = 0.61: usable, expect errors larger than the standard \
                     error."
                .to_owned(),
        },
        checks: checks(),
        assumptions: vec![
            "The posterior is log-concave; this was proved from the model, not assumed.".to_owned(),
            "The certificate is conditional on τ_clinic = 0.42: its own uncertainty is not in any interval here."
                .to_owned(),
        ],
        provenance: [
            ("provi", "0.1.0"),
            ("seed", "7"),
            ("data, SHA-256", "9f2c5b1e0a7d4c38b6e1f0d2a9c84e57d3b16f80c2e94a7b5d08f3c6e17a2b94"),
            ("μ, strong convexity", "1 (proved: the prior's precision)"),
            ("M, smoothness", "138.2 (proved: largest eigenvalue of ¼XᵀX + I, rounded up)"),
            ("κ = M/μ", "138.2"),
        ]
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .to_vec(),
        command: "provi fit patients.csv 'recovered ~ treatment + age * dose + smoker + (1 | clinic)' \\\n    \
                  --family bernoulli --prior-scale 1 --seed 7 --out fit"
            .to_owned(),
    }
}

fn certificate() -> CertificateFacts {
    let line = |what: &str, value: &str, meaning: &str, grounds: &str| StatementFacts {
        what: what.to_owned(),
        value: value.to_owned(),
        proved: true,
        meaning: meaning.to_owned(),
        grounds: grounds.to_owned(),
    };
    CertificateFacts {
        light: Light::Green,
        headline: "within 1.19 × 10⁻¹² nats of the best Gaussian; within 0.0449 nats of the posterior".to_owned(),
        meaning: "The run has converged, and the bell curves below are close to the exact posterior: any event has a \
                  probability within 0.15 of what they say."
            .to_owned(),
        statements: vec![
            line(
                "gap to best Gaussian",
                "≤ 1.19 × 10⁻¹² nats",
                "no other Gaussian is better by more than this",
                "[cert-gap], certain",
            ),
            line(
                "KL to posterior",
                "≤ 0.0449 nats",
                "how far the answer is from the exact posterior",
                "[local-kl]",
            ),
            line(
                "total variation",
                "≤ 0.148",
                "no event's probability is off by more than this",
                "[local-tv]",
            ),
            line(
                "moments",
                "means ± 0.0981, sds ± 0.108",
                "the worst of the coefficients; each has its own below",
                "[local-moments]",
            ),
            StatementFacts {
                what: "predictions".to_owned(),
                value: "no bound for the chosen quantity".to_owned(),
                ..StatementFacts::default()
            },
        ],
        footnote: "Holds as a whole with probability 1 − 10⁻⁶, over the 20,000 draws of the audit.".to_owned(),
    }
}

fn correlations(d: usize) -> Vec<f64> {
    let mut scatter = Scatter(3);
    let mut packed = Vec::new();
    for i in 0..d {
        for j in 0..=i {
            packed.push(match (i, j) {
                _ if i == j => 1.0,
                (1, 0) => -0.68,
                (4, 3) => 0.52,
                (6, 5) => 0.41,
                _ => 0.7 * (scatter.next() - 0.5),
            });
        }
    }
    packed
}

fn trace() -> Vec<TracePoint> {
    let at = |t: u64| {
        let fall = (-0.09 * t as f64).exp();
        TracePoint {
            step: t,
            value: 277.5189 + 120.0 * fall * fall,
            gap_bound: t.is_multiple_of(10).then_some(400.0 * fall * fall),
        }
    };
    (0..=160).map(at).collect()
}

fn checks() -> Vec<Check> {
    let calibration = (0..10).map(|k| {
        let predicted = 0.05 + 0.1 * f64::from(k);
        let observed = (predicted + 0.07 * (7.3 * predicted).sin() * (1.0 - predicted)).clamp(0.0, 1.0);
        let half = 1.96 * (predicted * (1.0 - predicted) / 57.0).sqrt();
        let interval = ((observed - half).max(0.0), (observed + half).min(1.0));
        CalibrationBin { predicted, observed, interval, rows: 57 }
    });
    let counts = (0..14).map(|k| {
        let k = f64::from(k);
        let expected = 150.0 * (-((k - 5.0) / 3.2).powi(2)).exp();
        let half = 1.96 * (expected + 1.0).sqrt();
        PredictiveBin {
            low: k - 0.5,
            high: k + 0.5,
            observed: (expected + 9.0 * (2.1 * k).sin()).max(0.0).round(),
            replicated: [(expected - half).max(0.0), expected, expected + half],
        }
    });
    let mut scatter = Scatter(11);
    let residuals = (0..569).map(|_| {
        let fitted = 1.0 + 8.0 * scatter.next();
        let noise: f64 = (0..12).map(|_| scatter.next()).sum::<f64>() - 6.0;
        (fitted, noise)
    });
    vec![
        Check::Calibration { bins: calibration.collect(), left_out: false, likeliest: false },
        Check::Pit(pit()),
        Check::Predictive { axis: "visits per patient".to_owned(), bins: counts.collect(), rooted: true },
        Check::Residuals {
            kind: "Pearson residual".to_owned(),
            axis: "fitted visits".to_owned(),
            points: residuals.collect(),
        },
        Check::Statistics {
            rows: vec![
                Statistic {
                    name: "share recovered".to_owned(),
                    observed: 0.627,
                    replicated: [0.583, 0.627, 0.671],
                },
                Statistic { name: "longest run".to_owned(), observed: 23.0, replicated: [9.0, 13.0, 20.0] },
            ],
        },
    ]
}

/// What no report should be given, and every report must survive.
fn sensitivity() -> Vec<SensitivityFacts> {
    let row = |name: &str, means: [f64; 3], moves: f64| SensitivityFacts {
        name: name.to_owned(),
        means,
        moves,
        leans: moves > 0.5,
    };
    vec![
        row("age", [-0.42, -0.431, -0.44], 0.13),
        row("dose", [0.21, 0.287, 0.38], 1.31),
        row("age:dose", [-0.09, -0.094, -0.1], 0.09),
    ]
}

fn robust() -> RobustFacts {
    let rows = [
        ("age", [-0.431, 0.083, 0.12]),
        ("dose", [0.287, 0.071, 0.069]),
        ("age:dose", [-0.094, 0.069, 0.21]),
    ];
    RobustFacts {
        name: "sandwich sd".to_owned(),
        notes: vec!["This is not the posterior's spread, and no certificate covers it.".to_owned()],
        rows: rows.map(|(name, row)| (name.to_owned(), row)).to_vec(),
    }
}

/// Values that are a little too often in the middle.
fn pit() -> PitFacts {
    let at = |i: u32| f64::from(i) / 20.0;
    let point = |i: u32| {
        let (z, half) = (at(i), 0.1 * (4.0 * at(i) * (1.0 - at(i))).sqrt());
        [z, z - 0.12 * (std::f64::consts::TAU * z).sin() * z, (z - half).max(0.0), (z + half).min(1.0)]
    };
    let bin = |i: u32| PredictiveBin {
        low: f64::from(i) / 10.0,
        high: f64::from(i + 1) / 10.0,
        observed: 20.0 + f64::from((i * 7) % 9),
        replicated: [12.0, 24.0, 37.0],
    };
    let line =
        |shift: f64| (1..20).map(|i| (f64::from(i) / 4.0 - 2.5, f64::from(i) / 4.0 - 2.5 + shift)).collect();
    PitFacts {
        rows: 240,
        left_out: true,
        level: 0.95,
        band: (1..20).map(point).collect(),
        bins: (0..10).map(bin).collect(),
        quantiles: (1..60u32)
            .map(|i| (f64::from(i) / 12.0 - 2.5, 0.9 * (f64::from(i) / 12.0 - 2.5), u64::from(i)))
            .collect(),
        quantile_band: [line(-0.5), line(0.5)],
    }
}

fn hostile() -> FitPage {
    let mut coefficients: Vec<Coefficient> = (0..1000)
        .map(|i| coefficient(&format!("gene_{i:04}"), (f64::from(i) * 0.37).sin(), 0.2, None))
        .collect();
    coefficients[0] = coefficient("<script>alert('x')</script>", 3.0, 0.2, Some((0.1, f64::INFINITY)));
    coefficients[1] = coefficient(&"averyveryverylongname".repeat(12), -1e9, 1e-3, Some((f64::NAN, 1e-300)));
    coefficients[2] = coefficient("", f64::NAN, f64::NAN, None);
    FitPage {
        title: "</title><script>alert(1)</script>".to_owned() + &"wide".repeat(80),
        correlation: vec![0.3; 500_500],
        coefficients,
        command: "provi fit ".to_owned() + &"x".repeat(400),
        provenance: vec![("a".repeat(90), "b".repeat(300))],
        trace: vec![TracePoint { value: f64::NAN, gap_bound: Some(f64::NAN), ..TracePoint::default() }; 3],
        ..FitPage::default()
    }
}

/// A page of another kind: an experiment with a rate to be seen.
fn charts() -> Page {
    let steps: Vec<f64> = (0..25).map(|i| 10f64.powf(1.0 + 0.2 * f64::from(i))).collect();
    let curve = |c: f64, p: f64| -> Vec<(f64, f64)> { steps.iter().map(|&t| (t, c * t.powf(p))).collect() };
    let band: Vec<(f64, f64, f64)> = curve(2.0, -1.0)
        .iter()
        .map(|&(t, y)| (t, y / (1.0 + 3.0 / t.sqrt()), y * (1.0 + 3.0 / t.sqrt())))
        .collect();
    let measured = steps.iter().step_by(3).map(|&t| Point {
        x: t,
        y: 2.0 / t,
        error: Some((1.2 / t, 3.1 / t)),
        title: format!("{t:.0} steps"),
    });
    let rates = Chart::new("error against steps", Axis::log("steps T"), Axis::log("E‖w − w*‖²"))
        .band("middle half of 100 runs", &band)
        .series(0)
        .points("mean of 100 runs", measured.collect())
        .line("bound [prox-strong]", &curve(60.0, -1.0))
        .line("bound, anytime", &curve(300.0, -0.93))
        .slope("slope −1", (10.0, 1.0), -1.0)
        .note((2.0e4, 2.0 / 2.0e4), "as predicted");
    Page {
        title: "Experiment: the rate of Prox-SGD".to_owned(),
        subtitle: "Does the squared distance fall like 1/T, below its bound?".to_owned(),
        sections: vec![Section {
            heading: "Result".to_owned(),
            blocks: vec![
                Block::Verdict {
                    light: Light::Amber,
                    word: "as predicted".to_owned(),
                    headline: "below the bound everywhere; slope −0.98 ± 0.03".to_owned(),
                    meaning: String::new(),
                },
                Block::Verdict {
                    light: Light::Red,
                    word: String::new(),
                    headline: "a third light, to see its sign".to_owned(),
                    meaning: "Made up.".to_owned(),
                },
                Block::figure(rates.scene(), "A hundred runs."),
            ],
        }],
        footer: String::new(),
        interactive: false,
    }
}
