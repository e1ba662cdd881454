//! The certificate on the screen: a headline, five lines, and the probability that they share.

use provi::Certificate;
use provi_analysis::number::bound;
use provi_analysis::record::fit_file::EstimatesRecord;
use provi_analysis::show::words::certificate::{SCOPE, headline, probability, reason, rows};

use super::wrap::wrapped;

/// Column where the values begin.
const INDENT: usize = 24;

/// `condition` is what all of it is conditional on. If little is proved, the estimates are in the headline.
pub(crate) fn describe(
    c: &Certificate,
    estimates: Option<&EstimatesRecord>,
    condition: Option<&str>,
) -> String {
    let rows = rows(c);
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

/// Whether the gap is proved to be at most `accuracy`. If not, prints what is proved instead on standard error.
pub(crate) fn accuracy_is_proved(c: &Certificate, accuracy: f64) -> bool {
    let proved = c.proves_gap(accuracy);
    if !proved {
        let best = c.smallest_gap();
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
