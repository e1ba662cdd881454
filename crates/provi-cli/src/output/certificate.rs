//! The certificate on the screen: a headline, five lines, and the probability that they share.

use provi::Certificate;
use provi::audit::{Goal, worst_of_table};
use provi::functional::PosteriorMoments;
use provi::sparse::AnyGaussian;
use provi_analysis::number::{bound, plain};
use provi_analysis::options::AuditOptions;
use provi_analysis::record::fit_file::EstimatesRecord;
use provi_analysis::show::words::certificate::{SCOPE, headline, probability, reason, rows};

use super::wrap::wrapped;

/// Column where the values begin.
const INDENT: usize = 24;

/// `least` is a lower bound of the KL, `condition` what all of it is conditional on. If little is proved, the estimates are in the headline.
pub(crate) fn describe(
    c: &Certificate,
    least: Option<f64>,
    estimates: Option<&EstimatesRecord>,
    condition: Option<&str>,
) -> String {
    let rows = rows(c, least);
    let width = rows.iter().filter_map(|(_, row)| row.as_ref().ok()).map(|(v, _)| v.chars().count()).max();
    let width = width.unwrap_or(0);
    let mut text = wrapped("certificate  ", 13, &headline(c, estimates));
    text.push_str(&wrapped("             ", 13, SCOPE));
    if let Some(condition) = condition {
        text.push_str(&wrapped("             ", 13, condition));
    }
    for (name, row) in rows {
        let name = format!("  {name:<22}");
        match row {
            Ok((value, grounds)) => text.push_str(&format!("{name}{value:<width$}  {grounds}\n")),
            Err(reason) => text.push_str(&wrapped(&name, INDENT, &format!("not proved: {reason}"))),
        }
    }
    text.extend(probability(c).map(|shared| wrapped("  ", 2, &shared)));
    text
}

/// What is proved about an answer.
pub(crate) struct Proved<'a> {
    pub(crate) q: &'a AnyGaussian,
    pub(crate) certificate: &'a Certificate,
    pub(crate) posterior: Option<&'a PosteriorMoments>,
    pub(crate) estimates: Option<&'a EstimatesRecord>,
}

/// Whether everything asked for is proved. Prints what is not proved on standard error, with what is proved
/// instead.
pub(crate) fn is_proved(asked: &AuditOptions, found: &Proved<'_>) -> bool {
    let goal = Goal { kl: asked.kl, table: asked.table_accuracy };
    let mut missed = Vec::new();
    if let Some(kl) = goal.kl.filter(|_| !goal.kl_is_met(found.certificate)) {
        let estimate = found.estimates.and_then(|e| e.kl).filter(|estimate| *estimate >= kl);
        let instead = match (found.certificate.kl.bound(), estimate) {
            (Some(proved), None) => {
                format!("proved is {} nats; more --audit-draws may do it", bound(proved, 3))
            }
            (Some(proved), Some(estimate)) => format!(
                "proved is {} nats, and the KL itself is estimated to be {}: no Gaussian near this one is that close",
                bound(proved, 3),
                plain(estimate)
            ),
            (None, _) => format!("nothing is: {}", reason(found.certificate.kl.reason())),
        };
        missed.push(format!("a KL of at most {} nats was not proved; {instead}", plain(kl)));
    }
    if let Some(part) = goal.table.filter(|_| !goal.table_is_met(found.q, found.certificate, found.posterior))
    {
        let worst = worst_of_table(found.q, found.certificate, found.posterior);
        let instead = match worst.is_finite() {
            true => format!("proved is {} of the sd", bound(worst, 2)),
            false => "for some of them nothing is proved".to_owned(),
        };
        missed.push(format!("means and sds within {} of the sd were not proved; {instead}", plain(part)));
    }
    missed.iter().for_each(|words| eprint!("{}", wrapped("", 0, words)));
    asked.accuracy.is_none_or(|accuracy| accuracy_is_proved(found.certificate, accuracy)) && missed.is_empty()
}

/// Whether the gap is proved to be at most `accuracy`. If not, prints what is proved instead on standard error.
fn accuracy_is_proved(c: &Certificate, accuracy: f64) -> bool {
    let proved = c.proves_gap(accuracy);
    if !proved {
        let best = c.own_gap();
        let instead = match (best.bound(), best.reason()) {
            (Some(gap), _) => format!("proved is {} nats", bound(gap, 3)),
            (None, why) => format!("nothing is: {}", reason(why)),
        };
        eprint!(
            "{}",
            wrapped("", 0, &format!("a gap of at most {accuracy:e} nats was not proved; {instead}"))
        );
    }
    proved
}
