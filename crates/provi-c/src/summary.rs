//! An answer as text: the model, the table, the scales, what all is conditional on, and the certificate, in the library's words.

use provi_analysis::number::{above, bound, probability, share_decimals, to_spread, within};
use provi_analysis::record::fit_file::FitFile;
use provi_analysis::show::rows::{self, LEVEL};
use provi_analysis::show::words::{
    INTEGRATED, certificate::SCOPE, counted, describe_correlations, describe_scale,
};

use crate::answer::Answer;
use crate::error::Result;

/// Most rows of each table; the text of fit.json has all.
const MOST_ROWS: usize = 100;
/// What stands where nothing is proved.
const NOTHING: &str = "–";

/// The text.
pub(crate) fn of(answer: &Answer) -> Result<String> {
    let fitted = &answer.fitted;
    let mut parts = vec![model(&fitted.file), coefficients(answer)?];
    let scales = rows::scales(fitted, LEVEL)?;
    if !scales.is_empty() {
        let row = |row: &provi_analysis::record::mixture::ScaleSummary| {
            let numbers = [row.mean, row.sd, row.lower, row.median, row.upper];
            let numbers = numbers.map(|x| to_spread(x, row.sd));
            std::iter::once(row.name.clone()).chain(numbers).collect()
        };
        let [low, high] = ends();
        let heading = ["", "mean", "sd", &low, "median", &high].map(str::to_owned).to_vec();
        let shown = scales.iter().take(MOST_ROWS).map(row);
        parts.push(aligned(&std::iter::once(heading).chain(shown).collect::<Vec<_>>()) + INTEGRATED);
    }
    parts.extend((!fitted.notes().is_empty()).then(|| fitted.notes().join("\n")));
    parts.extend(fitted.file.trust.as_ref().map(|trust| format!("trust  {}", trust.line())));
    let file = &fitted.file;
    let grounds = match (file.mixture.is_some(), file.neg_elbo_exact) {
        (true, _) => "summed over the scales; the last refinement moved it by",
        (false, true) => "a lower bound of the log evidence; error at most",
        (false, false) => "standard error",
    };
    let early = if file.stopped_early { "; stopped early" } else { "" };
    parts.push(format!("ELBO {:.4} ({grounds} {}){early}", -file.neg_elbo, above(file.neg_elbo_error)));
    parts.push(format!("{}\n{SCOPE}", answer.certificate));
    Ok(parts.join("\n\n") + "\n")
}

/// Family, formula, rows, prior and scales.
fn model(file: &FitFile) -> String {
    let model = &file.model;
    let family = if model.family.is_empty() { model.kind.name() } else { &model.family };
    let title = if model.title().is_empty() { String::new() } else { format!(": {}", model.title()) };
    let mut lines = vec![format!("{family}{title}")];
    let rows = if model.rows > 0 { counted(model.rows as u64, "row") + ", " } else { String::new() };
    let dropped = match model.dropped.rows {
        0 => String::new(),
        rows => format!("; {} with missing values left out", counted(rows as u64, "row")),
    };
    lines.push(format!("{rows}{}{dropped}", counted(file.names.len() as u64, "coefficient")));
    lines.extend(model.prior.iter().map(|prior| format!("prior: {prior}")));
    lines.extend(model.scales.iter().map(|scale| format!("scale: {}", describe_scale(scale))));
    lines.extend(model.correlations.iter().map(describe_correlations));
    lines.join("\n")
}

/// Name, mean and sd with their proved errors, the interval, and the probability of being positive.
fn coefficients(answer: &Answer) -> Result<String> {
    let measured = answer.fitted.file.posterior.as_ref();
    let coefficients = rows::coefficients(&answer.fitted, &answer.certificate);
    let rows = coefficients.first(MOST_ROWS)?;
    let shared = share_decimals(rows.iter().map(|(_, row)| row.sd));
    let [low, high] = ends();
    let mut table = vec![["", "mean", "±", "sd", "±", &low, &high, "P(>0)"].map(str::to_owned).to_vec()];
    for (i, (name, row)) in rows.iter().enumerate() {
        let number = |x: f64| shared.map_or_else(|| to_spread(x, row.sd), |places| format!("{x:.places$}"));
        let pair = |(value, error): (f64, Option<f64>)| match (error, shared) {
            (None, _) => [number(value), NOTHING.to_owned()],
            (Some(error), Some(places)) => within(value, error, places),
            // What was rounded off is at most half a percent of the sd.
            (Some(error), None) => [number(value), bound(error + 5e-3 * row.sd, 2)],
        };
        let [mean, sd] = rows::moments(row, measured, i).map(pair);
        let [low, high] = row.interval(LEVEL)?.map(number);
        let positive = probability(rows::positive(row, measured, i).0);
        let [mean, mean_error] = mean;
        let [sd, sd_error] = sd;
        table.push(vec![name.clone(), mean, mean_error, sd, sd_error, low, high, positive]);
    }
    let hidden = answer.dim() - rows.len();
    let more = if hidden > 0 { format!("… and {hidden} more\n") } else { String::new() };
    let about = match measured {
        Some(_) => "mean, sd: the posterior's, within ±; interval: the answer's",
        None => {
            "mean, sd, interval: the answer's; the posterior's mean and sd are within ±, where there is one"
        }
    };
    Ok(aligned(&table) + &more + about)
}

/// The ends of the interval, as headings.
fn ends() -> [String; 2] {
    [0.5 * (1.0 - LEVEL), 0.5 * (1.0 + LEVEL)].map(|p| format!("{}%", (p * 1e6).round() / 1e4))
}

/// Names to the left, numbers to the right.
fn aligned(table: &[Vec<String>]) -> String {
    let columns = table.iter().map(Vec::len).max().unwrap_or(0);
    let width = |j: usize| table.iter().filter_map(|row| row.get(j)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|j| width(j).unwrap_or(0)).collect();
    let mut out = String::new();
    for row in table {
        let cell = |(j, cell): (usize, &String)| match j {
            0 => format!("{cell:<0$}", widths[0]),
            _ => format!("{cell:>0$}", widths[j]),
        };
        let line = row.iter().enumerate().map(cell).collect::<Vec<_>>().join("  ");
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_line_up() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let table = [row(["", "mean"]), row(["größe", "-10.5"]), row(["x", "–"])];
        assert_eq!(super::aligned(&table), "        mean\ngröße  -10.5\nx          –\n");
    }
}
