//! A spread of the estimate for a model that may be wrong, beside the posterior's.

use provi_analysis::number::decimals;
use provi_analysis::record::robustness::RobustRecord;

use super::columns::{Columns, Side};
use super::style;
use super::wrap::wrapped;

/// Estimate, posterior sd, the other spread and their ratio; `sd` are the posterior's.
pub(crate) fn describe(found: &RobustRecord, sd: &[f64]) -> String {
    let name = format!("{} sd", found.method);
    let heading = [
        ("not the posterior's", Side::Left),
        ("estimate", Side::Right),
        ("posterior sd", Side::Right),
        (name.as_str(), Side::Right),
        ("ratio", Side::Right),
    ];
    let mut columns = Columns::new(&heading);
    columns.bold_heading(style::bold());
    for (i, name) in found.names.iter().enumerate() {
        let own = sd.get(i).copied().unwrap_or(f64::NAN);
        let places = decimals(own);
        let show = |x: f64| format!("{x:.places$}");
        columns.push(vec![
            name.clone(),
            show(found.estimate[i]),
            show(own),
            show(found.sd[i]),
            format!("{:.2}", found.sd[i] / own),
        ]);
    }
    let notes: String = found.notes().iter().map(|note| wrapped("", 0, note)).collect();
    format!("{}{notes}", columns.render())
}
