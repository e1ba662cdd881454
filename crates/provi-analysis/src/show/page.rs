//! A stored fit as the data of its report page.

mod assumptions;

use provi::sparse::AnyGaussian;
use provi::{Certificate, Provenance};
use provi_report::{
    CalibrationBin, CertificateFacts, Check, Coefficient, Evidence, FitPage, GroupEffects, Light, ModelFacts,
    PitFacts, PredictiveBin, Quantities, Quantity, RobustFacts, SensitivityFacts, StatementFacts, Statistic,
    TracePoint,
};

use crate::error::Result;
use crate::model::compiled::ConstrainedRecord;
use crate::number::{grouped, plain};
use crate::options::PriorSpec;
use crate::record::fit_file::{FitFile, Kind};
use crate::record::mixture::ScaleSummary;
use crate::record::scale::{Origin, Scale};
use crate::run::fitted::Fitted;
use crate::show::words::certificate::{self, Tightness};
use crate::show::words::{
    self, beside_the_formula, condition, counted, describe_correlations, describe_scale, method_within,
};
use crate::show::{effects, rows};

/// Everything the page shows; `command` makes the fit again.
pub fn page(fit: &Fitted, level: f64, command: &str) -> Result<FitPage> {
    let (file, q) = (&fit.file, &fit.gaussian);
    let model = &file.model;
    let coefficients = coefficients(fit, level)?;
    let groups = groups(&coefficients, model.population);
    Ok(FitPage {
        population: if model.population < coefficients.len() { model.population } else { 0 },
        groups,
        ratio: ratio(file).to_owned(),
        contrasts: contrasts(fit, level)?,
        sensitivity: sensitivity(file),
        robust: robust(fit)?,
        unproved: unproved(file),
        title: model.title().to_owned(),
        model: facts(file),
        certificate: file.certificate.as_ref().map(|c| statements(file, c)).unwrap_or_default(),
        effects: effects::of_report(fit, level)?,
        coefficients,
        declared: are_declared(fit)?,
        quantities: match &file.constrained {
            Some(found) => quantities(found, model.kind == Kind::Formula),
            None => scales(fit, level)?,
        },
        correlation: correlation(q),
        trace: trace(file),
        steps: Some(file.steps),
        seconds: Some(file.seconds),
        evidence: evidence(file),
        checks: checks(file),
        assumptions: assumptions::of(file),
        provenance: provenance(file),
        command: command.to_owned(),
    })
}

/// What e to the power of a coefficient is.
fn ratio(file: &FitFile) -> &'static str {
    match file.model.family.as_str() {
        _ if file.model.time_unit.is_some() => "hazard ratio",
        "bernoulli" | "binomial" | "ordered" => "odds ratio",
        "poisson" | "negbinomial" => "rate ratio",
        "gamma" | "exponential" => "ratio of means",
        _ => "",
    }
}

fn contrasts(fit: &Fitted, level: f64) -> Result<Vec<Coefficient>> {
    let row = |(name, f): rows::Row| -> Result<Coefficient> {
        let [low, high] = f.interval(level)?;
        Ok(Coefficient {
            name,
            mean: f.mean,
            sd: f.sd,
            low,
            high,
            mean_error: f.mean_error.bound(),
            sd_error: f.sd_error.bound(),
            ..Coefficient::default()
        })
    };
    rows::contrasts(fit).into_iter().map(row).collect()
}

fn sensitivity(file: &FitFile) -> Vec<SensitivityFacts> {
    let rows = file.prior_sensitivity.iter().flat_map(|found| &found.rows);
    let facts = rows.map(|row| SensitivityFacts {
        name: row.name.clone(),
        means: row.means,
        moves: row.moves,
        leans: row.leans_on_the_prior(),
    });
    facts.collect()
}

fn robust(fit: &Fitted) -> Result<Option<RobustFacts>> {
    let Some(found) = &fit.file.robust else { return Ok(None) };
    let [_, sd] = fit.moments()?;
    let rows = found.names.iter().zip(&found.estimate).zip(sd.iter().zip(&found.sd));
    let rows = rows.map(|((name, mean), (sd, spread))| (name.clone(), [*mean, *sd, *spread]));
    let notes = found.notes().iter().map(|note| format!("{}.", sentence(note))).collect();
    Ok(Some(RobustFacts { name: format!("{} sd", found.method), rows: rows.collect(), notes }))
}

/// What a reader may take for proved and is not.
fn unproved(file: &FitFile) -> Vec<String> {
    let mut out = Vec::new();
    match &file.certificate {
        None => {
            out.push("Anything about the distance to the posterior: the fit has no certificate.".to_owned())
        }
        Some(c) => out.extend(
            certificate::rows(c, file.least_kl())
                .into_iter()
                .filter_map(|(what, row)| row.err().map(|reason| format!("{}: {reason}.", sentence(what)))),
        ),
    }
    out.push(
        "That the model and its prior suit the data: the checks look for that, and prove nothing.".to_owned(),
    );
    if file.mixture.is_some() {
        out.push(
            "That the sum over the scales is the integral: it was refined until it stood still, which is an estimate.".to_owned(),
        );
    }
    if file.model.scales.iter().any(|scale| scale.origin == Origin::Maximised) {
        out.push(
            "Anything about scales that were chosen by their largest ELBO: all of it is conditional on them."
                .to_owned(),
        );
    }
    let tv = file.certificate.as_ref().and_then(|c| c.tv.bound());
    out.push(match tv {
        Some(tv) => format!(
            "That a 95 % interval is the posterior's own: it is the Gaussian's, and its probability under the posterior is within {} of 95 %.",
            crate::number::bound(tv, 2)
        ),
        None => "That a 95 % interval has that probability under the posterior: it is the answer's own.".to_owned(),
    });
    if file.estimates.is_some() {
        out.push(
            "Estimates from draws (evidence, KL, Pareto k̂): they are estimates with standard errors."
                .to_owned(),
        );
    }
    if file.prior_sensitivity.is_none() && !file.model.kind.is_density() {
        out.push("How much depends on the prior: nobody asked (--prior-sensitivity).".to_owned());
    }
    if let Some(found) = &file.robust {
        out.push(format!(
            "The {} spread: it is another quantity than the posterior's, and no certificate covers it.",
            found.method
        ));
    }
    out
}

fn facts(file: &FitFile) -> ModelFacts {
    let model = &file.model;
    let mut further = vec![("coefficients".to_owned(), grouped(file.names.len() as u64))];
    if let Some(level) = &model.success {
        further.push(("counts as 1".to_owned(), level.clone()));
    }
    if !model.categories.is_empty() {
        further.push(("levels, lowest first".to_owned(), model.categories.join(", ")));
    }
    further.extend(beside_the_formula(model).map(|said| ("beside the formula".to_owned(), said)));
    let is_open = |scale: &Scale| scale.origin == Origin::Integrated;
    let open = model.scales.iter().filter(|scale| is_open(scale));
    further.extend(open.map(|scale| ("scale".to_owned(), describe_scale(scale))));
    further.extend(
        model.correlations.iter().map(|block| ("correlation".to_owned(), describe_correlations(block))),
    );
    further.extend(model.warnings.iter().map(|warning| ("note".to_owned(), warning.clone())));
    let hidden = file.names.len().saturating_sub(model.population + MOST_EFFECTS);
    further.extend((hidden > 0 && model.population > 0).then(|| {
        let said = format!(
            "{} effects of groups are not on this page; `provi summary --groups` shows them",
            grouped(hidden as u64)
        );
        ("note".to_owned(), said)
    }));
    ModelFacts {
        formula: model.formula.clone(),
        family: if model.kind.is_density() { model.kind.name().to_owned() } else { model.family.clone() },
        data: model.data.clone(),
        rows: model.rows as u64,
        dropped: (model.dropped.rows > 0)
            .then(|| format!("{} with missing values", counted(model.dropped.rows as u64, "row"))),
        priors: model.prior.clone(),
        conditional_on: model.scales.iter().filter(|scale| !is_open(scale)).map(describe_scale).collect(),
        further,
    }
}

/// What the verdict is about, so that nobody takes it as praise of the model.
const SCOPE: &str = "This is about the computation, given this model and this prior; it does not say that they suit the data.";

/// What each statement means, in the order of the certificate.
const MEANINGS: [&str; 5] = [
    "No Gaussian is closer to the posterior by more than this.",
    "How far the posterior itself is: a small gap alone says nothing about it.",
    "No probability under the fit is off by more than this.",
    "What means and standard deviations may be off by.",
    "The log of the probability of the data under the model.",
];

fn statements(file: &FitFile, c: &Certificate) -> CertificateFacts {
    let proved = [c.gap.provenance(), c.kl.provenance()].iter().all(|p| *p == Some(Provenance::Proved));
    let estimates = file.estimates.as_ref();
    let (light, meaning) = match (certificate::tightness(c), proved && c.gap.bound().is_some()) {
        (Tightness::Tight, _) if c.is_of_mixture() => (
            Light::Amber,
            "The numbers below are the posterior's, up to the errors shown, as far as the sum over the scales stands for the integral.",
        ),
        (Tightness::Tight, true) => {
            (Light::Green, "The numbers below are the posterior's, up to the errors shown.")
        }
        (Tightness::Tight, false) => (
            Light::Amber,
            "Close to the posterior if the constants are right, which somebody declared or estimated.",
        ),
        (Tightness::Loose, _) => (
            Light::Amber,
            "The proof is loose: the fit may be better than it can be shown to be. Compare the estimates, or run MCMC.",
        ),
        (Tightness::Nothing, _) if certificate::is_trouble(c, estimates) => (
            Light::Red,
            "Nothing useful is proved about the distance to the posterior, and the estimates do not vouch for it. \
             Check with MCMC before using these numbers.",
        ),
        (Tightness::Nothing, _) => (
            Light::Amber,
            "The distance to the posterior is estimated, not proved. Check with MCMC before leaning on tails or \
             standard deviations.",
        ),
    };
    let light = match &file.trust {
        Some(trust) if trust.is_bad() => Light::Red,
        Some(trust) if !trust.proved => Light::Amber,
        _ => light,
    };
    let meaning = match &file.trust {
        Some(trust) if trust.is_bad() => {
            "Nothing is proved, and the estimates speak against this answer. Use MCMC."
        }
        Some(trust) if trust.wants_weights() => {
            "Nothing is proved. The estimates say that draws weighted by p/q are better than the Gaussian's own."
        }
        Some(trust) if !trust.proved => {
            "Nothing is proved. The estimates speak for this answer, as far as they see."
        }
        _ => meaning,
    };
    let verdict = file.trust.as_ref().map_or(String::new(), |trust| format!("Trust: {}. ", trust.line()));
    let of_family =
        c.family.as_ref().map(|_| "No Gaussian of this family is closer to the posterior by more than this.");
    let meanings = of_family.into_iter().chain(MEANINGS);
    let statements =
        certificate::rows(c, file.least_kl()).into_iter().zip(meanings).map(|((what, row), meaning)| {
            let (value, grounds, proved) = match row {
                Ok((value, grounds)) => (value, grounds, true),
                Err(reason) => (reason, String::new(), false),
            };
            StatementFacts { what: what.to_owned(), value, proved, meaning: meaning.to_owned(), grounds }
        });
    let footnote = [certificate::probability(c), condition(&file.model)];
    CertificateFacts {
        light,
        headline: format!("{verdict}{}", certificate::headline(c, estimates)),
        meaning: format!("{meaning} {SCOPE}"),
        statements: statements.collect(),
        footnote: footnote.into_iter().flatten().collect::<Vec<_>>().join("; "),
    }
}

/// The scales that are integrated over.
fn scales(fit: &Fitted, level: f64) -> Result<Quantities> {
    let found = rows::scales(fit, level)?;
    if found.is_empty() {
        return Ok(Quantities::default());
    }
    let row = |(k, scale): (usize, ScaleSummary)| {
        let density = density(fit, k);
        Quantity {
            prior: prior_density(&scale, fit, &density),
            name: scale.name,
            mean: scale.mean,
            sd: scale.sd,
            low: scale.lower,
            high: scale.upper,
            density,
        }
    };
    let rows = found.into_iter().enumerate().map(row).collect();
    Ok(Quantities { rows, level, origin: sentence(words::INTEGRATED), scales: true })
}

/// Points of a curve.
const POINTS: u32 = 160;
/// The curve ends at these quantiles.
const ENDS: [f64; 2] = [5e-4, 1.0 - 5e-4];

/// The density of a scale or a correlation as a curve; empty if it has none.
fn density(fit: &Fitted, which: usize) -> Vec<(f64, f64)> {
    let Some(mixture) = &fit.mixture else { return Vec::new() };
    let [Ok(low), Ok(high)] = ENDS.map(|level| mixture.scale_quantile(which, level)) else {
        return Vec::new();
    };
    let place = |i: u32| low + (high - low) * f64::from(i) / f64::from(POINTS);
    (0..=POINTS)
        .filter_map(|i| Some((place(i), mixture.scale_density(which, place(i)).ok()?)))
        .filter(|(_, y)| y.is_finite())
        .collect()
}

/// The density of its prior at the same places.
fn prior_density(scale: &ScaleSummary, fit: &Fitted, places: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let Ok(spec) = format!("{}={}", scale.name, scale.prior).parse::<PriorSpec>() else { return Vec::new() };
    if let Some(law) = spec.scale() {
        return places.iter().map(|&(x, _)| (x, law.log_density(x).exp())).collect();
    }
    let Some(shape) = spec.correlation() else { return Vec::new() };
    // Under LKJ each of the K(K − 1)/2 correlations has a density proportional to (1 − ρ²)^{shape − 2 + K/2}.
    let blocks = &fit.file.model.correlations;
    let effects = blocks.iter().find(|block| block.labels().contains(&scale.name));
    let power = shape - 2.0 + 0.5 * effects.map_or(2.0, |block| block.scales.len() as f64);
    let height = |x: f64| (1.0 - x * x).max(0.0).powf(power);
    let cells = 2000;
    let middle = |i: u32| -1.0 + 2.0 * (f64::from(i) + 0.5) / f64::from(cells);
    let whole: f64 = (0..cells).map(|i| height(middle(i))).sum::<f64>() * 2.0 / f64::from(cells);
    places.iter().map(|&(x, _)| (x, height(x) / whole)).collect()
}

/// The effects of groups, by term and column: their names are `(x | clinic)[3]`, unlike the `s(x)[3]` of a curve.
fn groups(coefficients: &[Coefficient], population: usize) -> Vec<GroupEffects> {
    let mut out: Vec<GroupEffects> = Vec::new();
    for c in coefficients.iter().skip(population).filter(|c| c.name.starts_with('(')) {
        let Some(end) = c.name.find(")[") else { continue };
        let name = &c.name[..=end];
        match out.iter_mut().find(|group| group.name == name) {
            Some(group) => group.levels.push(c.clone()),
            None => out.push(GroupEffects { name: name.to_owned(), levels: vec![c.clone()] }),
        }
    }
    out
}

/// The most effects of groups on the page.
const MOST_EFFECTS: usize = 2_000;

/// The words with a capital at their beginning.
fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().collect::<String>() + letters.as_str())
}

/// Whether the errors of the coefficients rest on a declared curvature.
fn are_declared(fit: &Fitted) -> Result<bool> {
    // What is said of a mixture over scales rests on a sum, and says so.
    let Some(certificate) = fit.file.certificate.as_ref().filter(|_| fit.mixture.is_none()) else {
        return Ok(false);
    };
    let first = rows::coefficients(fit, certificate).first(1)?;
    Ok(rows::rest_on_a_word(&first, fit.file.posterior.as_ref()))
}

fn coefficients(fit: &Fitted, level: f64) -> Result<Vec<Coefficient>> {
    let file = &fit.file;
    let Some(certificate) = &file.certificate else { return Ok(Vec::new()) };
    let mut out = Vec::new();
    // Without groups, every coefficient is the population's.
    let shown = file.model.population + MOST_EFFECTS;
    for (i, (name, f)) in rows::coefficients(fit, certificate).first(shown)?.into_iter().enumerate() {
        let [low, high] = f.interval(level)?;
        let [(mean, mean_error), (sd, sd_error)] = rows::moments(&f, file.posterior.as_ref(), i);
        out.push(Coefficient {
            name,
            mean,
            sd,
            low,
            high,
            mean_error,
            sd_error,
            prior_mean: file.model.prior_mean.get(i).copied(),
            prior_sd: file.model.prior_sd.get(i).copied(),
        });
    }
    Ok(out)
}

/// Of a formula they stand beside the coefficients.
fn quantities(found: &ConstrainedRecord, scales: bool) -> Quantities {
    let columns = found.mean.iter().zip(&found.sd).zip(found.lower.iter().zip(&found.upper));
    let rows = found.names.iter().zip(columns).map(|(name, ((&mean, &sd), (&low, &high)))| Quantity {
        name: name.clone(),
        mean,
        sd,
        low,
        high,
        ..Quantity::default()
    });
    Quantities { rows: rows.collect(), level: found.level, origin: found.origin(), scales }
}

/// Above this many coefficients a heat map is not readable.
const MOST_CORRELATED: usize = 400;

/// Correlations, packed row by row.
fn correlation(q: &AnyGaussian) -> Vec<f64> {
    let Some(q) = q.as_dense().filter(|q| q.dim() <= MOST_CORRELATED) else { return Vec::new() };
    let (covariance, sd) = (q.covariance(), q.standard_deviations());
    (0..q.dim())
        .flat_map(|i| (0..=i).map(move |j| (i, j)))
        .map(|(i, j)| covariance[(i, j)] / (sd[i] * sd[j]))
        .collect()
}

fn trace(file: &FitFile) -> Vec<TracePoint> {
    let point = |p: &crate::record::fit_file::TracePoint| {
        Some(TracePoint { step: p.step, value: p.neg_elbo?, gap_bound: p.gap })
    };
    file.trace.iter().filter_map(point).collect()
}

fn evidence(file: &FitFile) -> Evidence {
    let interval = file.certificate.as_ref().map(|c| &c.evidence);
    let estimate = file.estimates.as_ref();
    Evidence {
        lower: interval.and_then(|e| e.lower()),
        upper: interval.and_then(|e| e.upper()),
        elbo: Some(-file.neg_elbo),
        estimate: estimate.and_then(|e| e.log_evidence.zip(e.standard_error)),
        remark: estimate
            .and_then(|e| certificate::tail(file.certificate.as_ref(), e))
            .map_or(String::new(), |said| format!("Pareto k̂: {said}")),
    }
}

fn checks(file: &FitFile) -> Vec<Check> {
    let Some(found) = &file.checks else { return Vec::new() };
    let mut out = Vec::new();
    let response = file.model.response();
    if !found.calibration.is_empty() {
        let bin = |b: &provi::checks::CalibrationBin| CalibrationBin {
            predicted: b.predicted,
            observed: b.observed,
            interval: b.interval,
            rows: b.rows as u64,
        };
        let left_out = found.pit.left_out && file.model.family != "binomial";
        let likeliest = file.model.family == "multinomial" && file.model.categories.len() > 2;
        let bins = found.calibration.iter().map(bin).collect();
        out.push(Check::Calibration { bins, left_out, likeliest });
    }
    if !found.histogram.is_empty() {
        let bin = |b: &provi::checks::Bin| PredictiveBin {
            low: b.low,
            high: b.high,
            observed: b.observed,
            replicated: b.replicated,
        };
        out.push(Check::Predictive {
            axis: match file.model.family.as_str() {
                "multinomial" => format!("{response}, number of the level"),
                _ => response,
            },
            bins: found.histogram.iter().map(bin).collect(),
            rooted: !has_density(file),
        });
    }
    if !found.pit.band.is_empty() {
        out.push(Check::Pit(pit(found, file)));
    }
    if !found.residuals.is_empty() {
        out.push(Check::Residuals {
            kind: match file.model.time_unit {
                Some(_) => "martingale residual".to_owned(),
                None => "Pearson residual".to_owned(),
            },
            axis: match file.model.time_unit {
                Some(_) => "fitted cumulative hazard".to_owned(),
                None => "fitted mean".to_owned(),
            },
            points: found.residuals.clone(),
        });
    }
    if !found.statistics.is_empty() {
        let row = |s: &provi::checks::Statistic| Statistic {
            name: s.name.clone(),
            observed: s.observed,
            replicated: s.replicated,
        };
        out.push(Check::Statistics { rows: found.statistics.iter().map(row).collect() });
    }
    out
}

/// Whether the responses are numbers with a density.
fn has_density(file: &FitFile) -> bool {
    matches!(file.model.family.as_str(), "gaussian" | "gamma" | "exponential" | "weibull" | "student")
}

fn pit(found: &provi::checks::Checks, file: &FitFile) -> PitFacts {
    let pit = &found.pit;
    // Discrete responses have randomised values: their quantiles are noise.
    let continuous = has_density(file);
    let quantiles = pit.normal_quantiles();
    let bin = |b: &provi::checks::Bin| PredictiveBin {
        low: b.low,
        high: b.high,
        observed: b.observed,
        replicated: b.replicated,
    };
    PitFacts {
        rows: pit.values.len() as u64,
        left_out: pit.left_out,
        level: pit.level,
        band: pit.band.iter().map(|p| [p.at, p.share, p.low, p.high]).collect(),
        bins: pit.bins.iter().map(bin).collect(),
        quantiles: match continuous {
            true => quantiles.points.iter().map(|&(x, y, row)| (x, y, row as u64 + 1)).collect(),
            false => Vec::new(),
        },
        quantile_band: quantiles.band,
    }
}

fn provenance(file: &FitFile) -> Vec<(String, String)> {
    let family = file.family_of_q.as_deref();
    let mut out = vec![
        ("provi".to_owned(), file.provi.clone()),
        (
            "method".to_owned(),
            method_within(
                &file.method,
                file.draws_per_step,
                file.coupling.as_deref(),
                file.subsample,
                family,
            ),
        ),
        ("steps".to_owned(), grouped(file.steps)),
        ("seconds".to_owned(), format!("{:.2}", file.seconds)),
        ("seed".to_owned(), file.seed.to_string()),
    ];
    if !file.model.data_sha256.is_empty() {
        out.push(("data SHA-256".to_owned(), file.model.data_sha256.clone()));
    }
    if let Some(library) = &file.model.library {
        out.push(("model".to_owned(), library.path.clone()));
        out.push(("model SHA-256".to_owned(), library.sha256.clone()));
    }
    if let Some(c) = &file.certificate {
        let grounds = &c.grounds;
        let mut push = |name: &str, value: Option<f64>| {
            out.extend(value.map(|value| (name.to_owned(), plain(value))));
        };
        push("μ, smallest curvature", grounds.convexity);
        push("R, radius of the local ball", grounds.radius);
        push("failure probability", Some(grounds.failure_probability));
        out.push(("draws of the audit".to_owned(), grouped(grounds.all_draws())));
        let weakest = c.kl.provenance().map_or("none".to_owned(), |p| p.to_string());
        out.push(("constants".to_owned(), weakest));
    }
    out
}
