//! `provi constants`.

use provi::Curvature;
use provi_analysis::model::Model;
use provi_analysis::words::number::{grouped, plain};

use super::Outcome;
use crate::args::ConstantsArgs;
use crate::failure::Result;
use crate::output::columns::{Columns, Side};
use crate::output::{style, summary};

pub(crate) fn execute(args: &ConstantsArgs) -> Result<Outcome> {
    let model = args.model.read()?;
    let mut text = summary::model(&model);
    let Some(given) = model.target.target().curvature()? else {
        text.push_str("\nthe target states no curvature\n");
        return Ok(Outcome::said(text));
    };
    let best = (given.convexity() > 0.0).then(|| given.whitened()).transpose()?;
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
