//! How much the answer depends on the prior, as a table.

use provi_analysis::number::decimals;
use provi_analysis::run::sensitivity::{Sensitivity, VISIBLE};

use crate::output::columns::{Columns, Side};
use crate::output::style;
use crate::output::wrap::wrapped;

/// Each coefficient's mean under the narrower, the given and the wider prior; `sd` are the coefficients' standard
/// deviations.
pub(crate) fn describe(found: &Sensitivity, sd: &[f64]) -> String {
    let heading = [
        ("prior sensitivity", Side::Left),
        ("sd × ½", Side::Right),
        ("as given", Side::Right),
        ("sd × 2", Side::Right),
        ("moves by", Side::Right),
        ("", Side::Left),
    ];
    let mut columns = Columns::new(&heading);
    columns.bold_heading(style::bold());
    let places = sd.iter().take(found.rows.len()).copied().reduce(f64::min).map_or(3, decimals);
    for row in &found.rows {
        let [narrow, given, wide] = row.means.map(|m| format!("{m:.places$}"));
        let mark = if row.leans_on_the_prior() { "leans on the prior" } else { "" };
        columns.push(vec![
            row.name.clone(),
            narrow,
            given,
            wide,
            format!("{:.2} sd", row.moves),
            mark.to_owned(),
        ]);
    }
    let [narrow, given, wide] = found.neg_elbo.map(|neg| format!("{:.3}", -neg));
    columns.push(vec!["ELBO, nats".to_owned(), narrow, given, wide, String::new(), String::new()]);
    let leaning = found.rows.iter().filter(|row| row.leans_on_the_prior()).count();
    let verdict = match leaning {
        0 => format!("no coefficient moves by more than {VISIBLE} of its sd"),
        1 => format!("1 coefficient moves by more than {VISIBLE} of its sd: give the reasons for its prior"),
        n => format!(
            "{n} coefficients move by more than {VISIBLE} of their sd: give the reasons for their priors"
        ),
    };
    format!("{}{}", columns.render(), wrapped("", 0, &verdict))
}
