//! `provi constants`.

use provi::{Curvature, Provenance};
use provi_analysis::model::Model;
use provi_analysis::number::{grouped, plain};
use provi_analysis::record::fit_file::{ModelRecord, to_json};
use provi_analysis::run::recording;
use serde::Serialize;

use super::Outcome;
use crate::args::ConstantsArgs;
use crate::failure::Result;
use crate::output::columns::{Columns, Side};
use crate::output::{style, summary};

pub(crate) fn execute(args: &ConstantsArgs) -> Result<Outcome> {
    let model = args.model.read()?;
    model.needs_known_scales("a constant of the proofs")?;
    let given = model.target.target().curvature()?;
    let best = match &given {
        Some(given) if given.convexity() > 0.0 => Some(given.whitened()?),
        _ => None,
    };
    if args.json {
        return Ok(Outcome::said(to_json(&Report::new(&model, given.as_ref(), best.as_ref()))));
    }
    let mut text = summary::model(&model);
    let Some(given) = given else {
        text.push_str("\nthe target states no curvature\n");
        return Ok(Outcome::said(text));
    };
    text.push('\n');
    text.push_str(&table(&model, &given, best.as_ref()));
    text.push_str(&format!(
        "\nH_lo ⪯ ∇²V ⪯ H_hi everywhere, V the negative log posterior: H_lo {}, H_hi {}.\n",
        given.lower_provenance(),
        given.smoothness().map_or("missing".to_owned(), |_| given.upper_provenance().to_string()),
    ));
    text.push_str("Whitened: in coordinates with H_lo = I, where κ is the smallest that can be proved.\n");
    if given.smoothness().is_none() {
        text.push_str("Without an M there is no a-priori promise for this model.\n");
    }
    Ok(Outcome::said(text))
}

fn table(model: &Model, given: &Curvature, best: Option<&Curvature>) -> String {
    let mut columns = Columns::new(&[("", Side::Left), ("original", Side::Right), ("whitened", Side::Right)]);
    columns.bold_heading(style::bold());
    let count = |name: &str, value: usize| vec![name.to_owned(), grouped(value as u64), String::new()];
    columns.push(count("d, coefficients", model.dim()));
    columns.push(count("N, rows", model.rows));
    let mut row = |name: &str, value: &dyn Fn(&Curvature) -> Option<f64>| {
        let show = |c: Option<&Curvature>| c.and_then(value).map_or("none".to_owned(), plain);
        columns.push(vec![name.to_owned(), show(Some(given)), show(best)]);
    };
    row("μ, convexity = λ_min(H_lo)", &|c| Some(c.convexity()));
    row("M, smoothness = λ_max(H_hi)", &Curvature::smoothness);
    row("κ, condition = M/μ", &Curvature::condition);
    row("K, residual smoothness ≤ λ_max(H_hi − H_lo)", &Curvature::residual_smoothness);
    row("tr H_lo⁻¹", &|c| Some(c.trace_inverse()));
    columns.render()
}

/// What --json prints.
#[derive(Serialize)]
struct Report {
    schema: &'static str,
    provi: &'static str,
    model: ModelRecord,
    /// The number of coefficients d.
    coefficients: usize,
    /// The number of rows N.
    rows: usize,
    /// In the user's coordinates; null if the model states no curvature.
    original: Option<Constants>,
    /// In coordinates with H_lo = I; null if μ = 0.
    whitened: Option<Constants>,
}

/// μ, M, κ, K and tr H_lo⁻¹; null if there is no such number.
#[derive(Serialize)]
struct Constants {
    convexity: f64,
    smoothness: Option<f64>,
    condition: Option<f64>,
    residual_smoothness: Option<f64>,
    trace_inverse: Option<f64>,
    lower_provenance: Provenance,
    upper_provenance: Option<Provenance>,
}

impl Report {
    fn new(model: &Model, given: Option<&Curvature>, best: Option<&Curvature>) -> Self {
        let constants = |c: &Curvature| Constants {
            convexity: c.convexity(),
            smoothness: c.smoothness(),
            condition: c.condition(),
            residual_smoothness: c.residual_smoothness(),
            trace_inverse: Some(c.trace_inverse()).filter(|x| x.is_finite()),
            lower_provenance: c.lower_provenance(),
            upper_provenance: c.smoothness().map(|_| c.upper_provenance()),
        };
        Self {
            schema: "provi-constants/1",
            provi: env!("CARGO_PKG_VERSION"),
            model: recording::model(model),
            coefficients: model.dim(),
            rows: model.rows,
            original: given.map(constants),
            whitened: best.map(constants),
        }
    }
}
