//! The estimates in words, kept apart from what is proved.

use provi::estimate::Estimates;

use super::number::{decimals, grouped, plain};
use super::wrap::wrapped;

pub(crate) fn describe(found: &Result<Estimates, String>) -> String {
    let e = match found {
        Err(reason) => return wrapped("estimate, not proved: ", 2, &format!("none, as {reason}")),
        Ok(e) => e,
    };
    let pair = |value: f64, error: f64| match (value.is_finite(), error.is_finite()) {
        (true, true) if error >= 1e-6 => {
            let places = decimals(error).saturating_sub(1);
            format!("{value:.places$} ± {error:.places$}")
        }
        (true, true) if value.abs() < 1e-3 => format!("{value:.1e} ± {error:.1e}"),
        (true, true) => format!("{value:.6} ± {error:.1e}"),
        (true, false) => format!("{}, standard error infinite", plain(value)),
        (false, _) => "infinite".to_owned(),
    };
    let k = if e.pareto_k.is_finite() { format!("{:.2}, ", e.pareto_k) } else { String::new() };
    format!(
        "estimate, not proved: value ± standard error, from {} draws\n{}{}{}",
        grouped(e.draws as u64),
        wrapped("  KL to posterior       ", 24, &format!("{} nats", pair(e.kl, e.kl_se))),
        wrapped("  log evidence          ", 24, &pair(e.log_evidence, e.log_evidence_se)),
        wrapped("  Pareto k̂              ", 24, &format!("{k}{}", e.reliability())),
    )
}
