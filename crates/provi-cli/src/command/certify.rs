//! `provi certify`: checks what a fit claims, independently of how it was made.

mod library;

use std::path::Path;

use provi::scales::ScaleMixture;
use provi::{Certificate, Seed};
use provi_analysis::Problem;
use provi_analysis::model::{self, Data, Model, RegressionModel, device};
use provi_analysis::options::{Layer, ModelOptions};
use provi_analysis::record::fit_file::{EstimatesRecord, FitFile, Kind, to_json};
use provi_analysis::record::gaussian_file::GaussianFile;
use provi_analysis::record::mixture::MixtureRecord;
use provi_analysis::record::trust::TrustRecord;
use provi_analysis::run::claims::{self, Claim, Rechecked, SAMPLED, Verdict};
use provi_analysis::run::fitted::{rebuild, refuse_other_data};
use provi_analysis::run::recording;
use provi_analysis::show::rows::Coefficients;
use provi_analysis::show::rows::LEVEL;
use provi_analysis::show::words::condition;
use serde::Serialize;

use super::Outcome;
use crate::args::CertifyArgs;
use crate::failure::{Failure, Result};
use crate::output::columns::{Columns, Side};
use crate::output::wrap::wrapped;
use crate::output::{certificate, estimates, style, summary, table};

pub(crate) fn execute(args: &CertifyArgs) -> Result<Outcome> {
    args.audit.audit()?;
    device::is_there(args.device.unwrap_or_default())?;
    let given = GaussianFile::read(&args.fit)?;
    match &args.data {
        Some(data) => of_table(args, &given, data),
        None => library::execute(args, &given),
    }
}

/// Certifies against the model of a table.
fn of_table(args: &CertifyArgs, given: &GaussianFile, data: &Path) -> Result<Outcome> {
    // A fit of a program's own model is certified for the given formula, like that of another tool.
    let record = given.record.as_deref().filter(|record| record.model.kind == Kind::Formula);
    let claimed = record.filter(|_| !args.force);
    let formula =
        args.formula.clone().or(record.map(|r| r.model.formula.clone())).ok_or(Failure::NoFormula)?;
    let parsed = model::parse(&formula)?;
    let data = match args.memory {
        Some(memory) => Data::files(data, memory.0.0),
        None => Data::read(data).map_err(|error| Failure::table(error, &formula))?,
    };
    if let Some(record) = claimed {
        refuse_other_data(record, &data)?;
    }
    let asked = record.map_or_else(|| args.model.clone(), |record| options(args, record));
    if RegressionModel::asked(&parsed, &asked).is_some() {
        let model = RegressionModel::build(&data, &formula, &asked)?;
        if let Some(record) = claimed {
            refuse_other(record, &model.record().formula, &model.record().options)?;
        }
        return judge(args, given, record, &Problem::regression(&model), Vec::new());
    }
    let model = match record {
        Some(record) => rebuild(record, &data, &formula, &options(args, record))?,
        None => Model::build(&data, &formula, &args.model, None)?,
    };
    let model = model.on_device(args.device)?;
    if let Some(record) = claimed {
        refuse_another_model(record, &model)?;
    }
    let outcome = judge(args, given, record, &Problem::model(&model), Vec::new())?;
    let rows = model.target.device_rows();
    device::not_used(rows, args.device)
        .into_iter()
        .chain(device::said(rows, args.device))
        .for_each(|said| eprintln!("{said}"));
    Ok(outcome)
}

/// The mixture of a file whose model's scales are integrated over.
fn problem_mixture(record: Option<&FitFile>, problem: &Problem<'_>) -> Result<Option<ScaleMixture>> {
    let stored = record.and_then(|record| record.mixture.as_ref()).filter(|_| problem.integrates());
    Ok(stored.map(MixtureRecord::mixture).transpose()?)
}

/// Audits the Gaussian again; `record` is the fit whose claims are compared with the result.
fn judge(
    args: &CertifyArgs,
    given: &GaussianFile,
    record: Option<&FitFile>,
    problem: &Problem<'_>,
    further: Vec<Claim>,
) -> Result<Outcome> {
    let (target, model) = (problem.target(), problem.record());
    let names = target.target().names();
    let q = given.gaussian(&names)?;
    let Rechecked { assessment, mut claims, seed } =
        claims::check(record, problem, &q, &args.audit, args.seed)?;
    claims.extend(further);
    let mixture = problem_mixture(record, problem)?;
    let reproduced = claims.iter().all(|claim| claim.verdict.stands());
    let accuracy = args.audit.accuracy;
    let estimated = recording::estimates(&assessment.estimates);
    let trust = assessment.trust.as_ref().map(TrustRecord::new);
    // Of a model with thousands of groups, the population alone.
    let count = if names.len() > 2_000 && model.population > 0 { model.population } else { names.len() };
    let shown = Coefficients {
        names: &names,
        q: &q,
        mixture: mixture.as_ref(),
        certificate: &assessment.certificate,
        measured: assessment.posterior.as_ref(),
    }
    .first(count)?;
    let text = if args.json {
        to_json(&Report {
            schema: "provi-certificate/1",
            provi: env!("CARGO_PKG_VERSION"),
            fit: given.path.display().to_string(),
            data_sha256: &model.data_sha256,
            seed: seed.0,
            names,
            certificate: &assessment.certificate,
            estimates: estimated,
            trust,
            stored: record.and_then(|r| r.certificate.as_ref()),
            reproduced: (!claims.is_empty()).then_some(reproduced),
            not_reproduced: failed(&claims),
            claims: &claims,
            accuracy,
            accuracy_proved: accuracy.map(|a| assessment.certificate.proves_gap(a)),
        })
    } else {
        let mut text = format!(
            "{}fit    {}\n{}\n{}\n{}\n{}",
            trust.as_ref().map_or(String::new(), |trust| wrapped("trust  ", 7, &trust.line()) + "\n"),
            origin(given),
            summary::recorded_model(model, names.len()),
            table::posterior(&shown, LEVEL, assessment.posterior.as_ref())?,
            certificate::describe(
                &assessment.certificate,
                None,
                Some(&estimated),
                condition(model).as_deref()
            ),
            estimates::describe(
                Some(&assessment.certificate),
                &estimated,
                assessment.certificate.is_of_mixture()
            )
        );
        match (claims.is_empty(), given.record.is_some()) {
            (false, _) => text.push_str(&format!("\n{}", comparison(&claims, seed))),
            (true, own) => {
                text.push_str(&format!("audited with fresh draws, --seed {}\n", seed.0));
                if own {
                    let note = "the file is a fit of another model: its own claims are not checked";
                    text.push_str(&format!("{note}\n"));
                }
            }
        }
        text
    };
    if !reproduced {
        eprintln!("not reproduced: {}", failed(&claims).join("; "));
    }
    let (certificate, posterior) = (&assessment.certificate, assessment.posterior.as_ref());
    let estimates = recording::estimates(&assessment.estimates);
    let found = certificate::Proved { q: &q, certificate, posterior, estimates: Some(&estimates) };
    let accurate = certificate::is_proved(&args.audit, &found);
    Ok(Outcome { text, proved: reproduced && accurate })
}

/// The options of the file, overridden by those of the command line.
fn options(args: &CertifyArgs, record: &FitFile) -> ModelOptions {
    let stored = record.model.options.clone().as_recorded();
    // If the family differs from the file's, the file's noise does not apply.
    let another = args.model.family.is_some() && args.model.family != stored.family;
    let (noise_sd, nu) = (stored.noise_sd.filter(|_| !another), stored.nu.filter(|_| !another));
    args.model.clone().over(ModelOptions { noise_sd, nu, ..stored })
}

/// Refuses another model than the fit's, unless --force.
fn refuse_another_model(record: &FitFile, model: &Model) -> Result<()> {
    refuse_other(record, &model.formula, &model.options)
}

fn refuse_other(record: &FitFile, formula: &str, options: &ModelOptions) -> Result<()> {
    if record.model.formula != formula {
        let (stored, given) = (record.model.formula.clone(), formula.to_owned());
        return Err(Failure::OtherModel { what: "formula".to_owned(), stored, given });
    }
    match record.model.options.clone().as_recorded().difference(options) {
        Some((key, stored, given)) => {
            let what = format!("--{key}");
            Err(Failure::OtherModel { what, stored, given })
        }
        None => Ok(()),
    }
}

fn origin(given: &GaussianFile) -> String {
    let path = given.path.display();
    match &given.record {
        Some(r) => format!("{path}, by provi {}: {}, seed {}", r.provi, r.method, r.seed),
        None if given.names.is_some() => format!("{path}, coefficients by name"),
        None => format!("{path}, coefficients in the model's order"),
    }
}

fn comparison(claims: &[Claim], seed: Seed) -> String {
    let heading =
        [("stored claims", Side::Left), ("stored", Side::Right), ("now", Side::Right), ("", Side::Left)];
    let mut columns = Columns::new(&heading);
    columns.bold_heading(style::bold());
    for claim in claims {
        let verdict = claim.verdict.word().to_owned();
        columns.push(vec![claim.what.clone(), claim.stored.clone(), claim.now.clone(), verdict]);
    }
    let unchecked = claims.iter().filter(|claim| claim.verdict == Verdict::Incomparable).count();
    let are = |n: usize, what: &str| match n {
        1 => format!("1 stored claim is {what}"),
        n => format!("{n} stored claims are {what}"),
    };
    let verdict = match (failed(claims).len() - unchecked, unchecked) {
        (0, 0) => "every stored claim is reproduced".to_owned(),
        (0, n) => are(n, "NOT checked"),
        (n, _) => are(n, "NOT reproduced"),
    };
    let mut text = format!("{}{verdict}, from fresh draws, --seed {}\n", columns.render(), seed.0);
    let tolerance =
        format!("a bound from draws agrees where the new one is at most {SAMPLED} times the stored one");
    text.push_str(&wrapped("", 0, &tolerance));
    if unchecked > 0 {
        let way_out = "leave --audit-draws and --failure-probability out to check with those of the file";
        text.push_str(&wrapped("", 0, way_out));
    }
    text
}

/// The claims that do not stand.
fn failed(claims: &[Claim]) -> Vec<String> {
    let failed = claims.iter().filter(|claim| !claim.verdict.stands());
    failed.map(|claim| claim.what.clone()).collect()
}

/// What --json prints.
#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    provi: &'static str,
    fit: String,
    data_sha256: &'a str,
    seed: u64,
    names: Vec<String>,
    certificate: &'a Certificate,
    estimates: EstimatesRecord,
    /// How far to trust a fit of a black box; null for a model whose curvature is known.
    trust: Option<TrustRecord>,
    /// The certificate in the file.
    stored: Option<&'a Certificate>,
    /// Null if nothing was claimed.
    reproduced: Option<bool>,
    not_reproduced: Vec<String>,
    /// Every stored claim, the recomputed value, and how they compare.
    claims: &'a [Claim],
    accuracy: Option<f64>,
    accuracy_proved: Option<bool>,
}
