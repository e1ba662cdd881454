//! The estimates as text, separate from what is proved.

use provi::Certificate;
use provi_analysis::number::{decimals, grouped, plain};
use provi_analysis::record::fit_file::EstimatesRecord;
use provi_analysis::show::words::certificate::tail;

use super::wrap::wrapped;

/// `of_mixture`: whether scales are integrated over.
pub(crate) fn describe(c: Option<&Certificate>, e: &EstimatesRecord, of_mixture: bool) -> String {
    if let Some(reason) = &e.reason {
        return wrapped("estimate, not proved: ", 2, &format!("none, as {reason}"));
    }
    let pair = |value: Option<f64>, error: Option<f64>| match (value, error) {
        (Some(value), Some(error)) if error >= 1e-6 => {
            let places = decimals(error).saturating_sub(1);
            format!("{value:.places$} ± {error:.places$}")
        }
        (Some(value), Some(error)) if value.abs() < 1e-3 => format!("{value:.1e} ± {error:.1e}"),
        (Some(value), Some(error)) => format!("{value:.6} ± {error:.1e}"),
        (Some(value), None) => format!("{}, standard error infinite", plain(value)),
        (None, _) => "infinite".to_owned(),
    };
    if of_mixture {
        let moved = e.standard_error.map_or("not known".to_owned(), |x| format!("{x:.1e}"));
        let evidence = e
            .log_evidence
            .map_or("none".to_owned(), |x| format!("{x:.6}, which moved by {moved} at the last refinement"));
        let kl = e.kl.map_or("none".to_owned(), |kl| format!("{} nats", plain(kl)));
        return format!(
            "estimate, not proved: a sum over the scales\n{}{}",
            wrapped("  log evidence          ", 24, &evidence),
            wrapped("  KL given the scales   ", 24, &format!("{kl} on average")),
        );
    }
    let k = e.pareto_k.map_or(String::new(), |k| format!("{k:.2}, "));
    let reliability = tail(c, e).unwrap_or_else(|| "unknown".to_owned());
    format!(
        "estimate, not proved: value ± standard error, from {} draws\n{}{}{}",
        grouped(e.draws as u64),
        wrapped("  KL to posterior       ", 24, &format!("{} nats", pair(e.kl, e.kl_standard_error))),
        wrapped("  log evidence          ", 24, &pair(e.log_evidence, e.standard_error)),
        wrapped("  Pareto k̂              ", 24, &format!("{k}{reliability}")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mixture whose proofs were stopped has no draws of its own, and no word about them.
    #[test]
    fn an_estimate_of_a_mixture_is_a_sum_whatever_is_proved() {
        let found = EstimatesRecord { log_evidence: Some(-3.5), ..EstimatesRecord::default() };
        let said = describe(Some(&Certificate::nothing(&[], "stopped")), &found, true);
        assert!(said.contains("a sum over the scales") && said.contains("-3.5"), "{said}");
        assert!(!said.contains("draws"), "{said}");
        assert!(describe(None, &found, false).contains("from 0 draws"));
    }
}
