//! `provi certify`: what a fit is worth, found out by somebody who did not make it.

use provi::{Audit, Certificate, Seed, Target};
use serde::Serialize;

use super::Outcome;
use crate::args::{CertifyArgs, FamilyName, ModelArgs, PRIOR_SCALE};
use crate::claims::{self, Claim, Verdict};
use crate::failure::{Failure, Result};
use crate::given::Given;
use crate::model::Model;
use crate::output::columns::{Columns, Side};
use crate::output::fit_file::{EstimatesRecord, FitFile, to_json};
use crate::output::table::LEVEL;
use crate::output::{certificate, estimates, json, style, summary, table};
use crate::stored;
use crate::worth::{self, Worth};

pub(crate) fn execute(args: &CertifyArgs) -> Result<Outcome> {
    let audit = worth::audit(&args.audit)?;
    let given = Given::read(&args.fit)?;
    let record = given.record.as_deref();
    let claimed = record.filter(|_| !args.force);
    let model = Model::read_if(&model_args(args, record)?, |found| {
        claimed.map_or(Ok(()), |record| stored::refuse_other_data(record, found))
    })?;
    if let Some(record) = claimed {
        refuse_another_model(record, &model)?;
    }
    let q = given.gaussian(&model.target.names())?;
    let audit = match record.and_then(|r| r.certificate.as_ref()) {
        Some(stored) => as_the_file(audit, args, stored),
        None => audit,
    };
    let seed = Seed(args.seed.unwrap_or_else(|| record.map_or(0, |r| r.seed).wrapping_add(1)));
    let worth = Worth::measure(&model, &q, seed, &audit);

    let claims = record.map(|r| claims::compare(r, &model, &q, &worth.certificate)).unwrap_or_default();
    let reproduced = claims.iter().all(|claim| claim.verdict != Verdict::NotReproduced);
    let accuracy = args.audit.accuracy;
    let text = if args.json {
        to_json(&Report {
            schema: "provi-certificate/1",
            provi: env!("CARGO_PKG_VERSION"),
            fit: given.path.display().to_string(),
            data_sha256: &model.data_sha256,
            seed: seed.0,
            names: model.target.names(),
            certificate: &worth.certificate,
            estimates: json::estimates(&worth.estimates),
            stored: record.and_then(|r| r.certificate.as_ref()),
            reproduced: (!claims.is_empty()).then_some(reproduced),
            not_reproduced: failed(&claims),
            accuracy,
            accuracy_proved: accuracy.map(|a| worth.certificate.proves_gap(a)),
        })
    } else {
        let mut text = format!(
            "fit    {}\n{}\n{}\n{}\n{}",
            origin(&given),
            summary::model(&model),
            table::posterior(&table::coefficients(&q, &worth.certificate)?, LEVEL)?,
            certificate::describe(&worth.certificate),
            estimates::describe(&json::estimates(&worth.estimates))
        );
        if !claims.is_empty() {
            text.push_str(&format!("\n{}", comparison(&claims, seed)));
        }
        text
    };
    if !reproduced {
        eprintln!("not reproduced: {}", failed(&claims).join("; "));
    }
    let accurate = accuracy.is_none_or(|a| certificate::accuracy_is_proved(&worth.certificate, a));
    Ok(Outcome { text, proved: reproduced && accurate })
}

/// The model of the file; what the command line says goes first.
fn model_args(args: &CertifyArgs, record: Option<&FitFile>) -> Result<ModelArgs> {
    let stored = record.map(|record| stored::model_args(record, &args.data)).transpose()?;
    let family = args.family.or(stored.as_ref().and_then(|m| m.family));
    // Another family than the file's does not inherit its noise.
    let noise_sd = stored.as_ref().and_then(|m| m.noise_sd).filter(|_| family == Some(FamilyName::Gaussian));
    let formula = stored.as_ref().map(|m| m.formula.clone());
    Ok(ModelArgs {
        data: args.data.clone(),
        formula: args.formula.clone().or(formula).ok_or(Failure::NoFormula)?,
        family,
        noise_sd: args.noise_sd.or(noise_sd),
        prior_scale: args.prior_scale.or(stored.map(|m| m.prior_scale)).unwrap_or(PRIOR_SCALE),
    })
}

/// Another model than the fit's is a mistake, unless it is meant.
fn refuse_another_model(record: &FitFile, model: &Model) -> Result<()> {
    let (old, prior) = (&record.model, &record.model.prior);
    let number = |x: Option<f64>| x.map_or("none".to_owned(), |x| x.to_string());
    let pairs = [
        ("formula", old.formula.clone(), model.formula.clone()),
        ("family", old.family.clone(), model.family.name().to_owned()),
        ("prior scale", prior.sd.to_string(), model.prior_scale.to_string()),
        ("noise sd", number(old.noise_sd), number(model.noise_sd())),
    ];
    match pairs.into_iter().find(|(_, stored, given)| stored != given) {
        Some((what, stored, given)) => Err(Failure::OtherModel { what, stored, given }),
        None => Ok(()),
    }
}

/// The means the file's audit had, where the command line does not say otherwise.
fn as_the_file(audit: Audit, args: &CertifyArgs, stored: &Certificate) -> Audit {
    let delta = stored.grounds.failure_probability;
    let draws = audit.draws.max(stored.grounds.draws);
    Audit {
        failure_probability: match args.audit.failure_probability {
            None if delta > 0.0 && delta < 1.0 => delta,
            _ => audit.failure_probability,
        },
        draws: if args.audit.audit_draws.is_none() { draws } else { audit.draws },
        ..audit
    }
}

fn origin(given: &Given) -> String {
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
    let failed = failed(claims).len();
    let verdict = match failed {
        0 => "every stored claim is reproduced".to_owned(),
        1 => "1 stored claim is NOT reproduced".to_owned(),
        n => format!("{n} stored claims are NOT reproduced"),
    };
    format!("{}{verdict}, from fresh draws with seed {}\n", columns.render(), seed.0)
}

fn failed(claims: &[Claim]) -> Vec<String> {
    let failed = claims.iter().filter(|claim| claim.verdict == Verdict::NotReproduced);
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
    /// The certificate in the file.
    stored: Option<&'a Certificate>,
    /// Null where nothing was claimed.
    reproduced: Option<bool>,
    not_reproduced: Vec<String>,
    accuracy: Option<f64>,
    accuracy_proved: Option<bool>,
}
