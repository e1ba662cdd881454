//! A forest plot in plain characters.

use provi_analysis::number::plain;
use provi_analysis::show::rows::Row;
use unicode_width::UnicodeWidthStr;

use crate::failure::Result;

/// The longest line.
const WIDTH: usize = 80;
/// The longest name; a longer one is cut.
const NAME: usize = 24;
/// Most rows shown; the table has all.
const MOST_ROWS: usize = 100;

/// One line for each row: its interval of that probability, within it one sd to each side of the mean, and the
/// mean; a column of colons marks 0.
/// ```text
/// age   ---===o===---
/// ```
pub(crate) fn plot(rows: &[Row], level: f64) -> Result<String> {
    let shown = &rows[..rows.len().min(MOST_ROWS)];
    let mut intervals = Vec::new();
    for (_, f) in shown {
        intervals.push(f.interval(level)?);
    }
    let all = || intervals.iter().flatten().copied().chain([0.0]);
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
    let names = shown.iter().map(|(name, _)| cut(name).width()).max().unwrap_or(0);
    let width = WIDTH - names - 2;
    let column = |x: f64| (((x - low) / (high - low)) * (width - 1) as f64).round() as usize;
    let mut text = String::new();
    for ((name, f), [from, to]) in shown.iter().zip(&intervals) {
        let mut line = vec![' '; width];
        line[column(*from)..=column(*to)].fill('-');
        let sd = [f.mean - f.sd, f.mean + f.sd].map(|x| column(x.clamp(*from, *to)));
        line[sd[0]..=sd[1]].fill('=');
        line[column(0.0)] = ':';
        line[column(f.mean)] = 'o';
        let name = cut(name);
        let pad = " ".repeat(names - name.width());
        let line: String = line.into_iter().collect();
        text.push_str(&format!("{name}{pad}  {}\n", line.trim_end()));
    }
    text.push_str(&axis(low, high, column(0.0), width, names + 2));
    if rows.len() > shown.len() {
        text.push_str(&format!("… and {} more\n", rows.len() - shown.len()));
    }
    text.push_str(&format!(
        "o mean, = one sd to each side, - {}% interval of the fitted Gaussian, : zero\n",
        (level * 1e6).round() / 1e4
    ));
    Ok(text)
}

/// Cuts a name so that its line fits.
fn cut(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if out.width() >= NAME - 1 && name.width() > NAME {
            return out + "…";
        }
        out.push(c);
    }
    out
}

/// The ends and 0, under their columns if there is room.
fn axis(low: f64, high: f64, zero: usize, width: usize, indent: usize) -> String {
    let (left, right) = (plain(low), plain(high));
    let mut line = vec![' '; width];
    let mut put = |at: usize, text: &str| {
        let free = line[at.saturating_sub(1)..(at + text.len() + 1).min(width)].iter().all(|c| *c == ' ');
        if free && at + text.len() <= width {
            line[at..at + text.len()].copy_from_slice(&text.chars().collect::<Vec<_>>());
        }
    };
    put(zero.min(width - 1), "0");
    put(0, &left);
    put(width - right.len(), &right);
    let line: String = line.into_iter().collect();
    format!("{}{}\n", " ".repeat(indent), line.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use provi::{Certificate, Gaussian, Triangular};
    use provi_analysis::show::rows::Coefficients;

    #[test]
    fn intervals_stand_where_they_belong() {
        let names: Vec<String> =
            ["a", "μ", "a name that is far too long for its line"].map(str::to_owned).into();
        let q = Gaussian::<Triangular>::new(&[-1.0, 0.5, 2.0], &[0.5, 0.0, 0.1, 0.0, 0.0, 1.0]).unwrap();
        let (q, certificate) = (q.into(), Certificate::nothing(&names, ""));
        let rows =
            Coefficients { names: &names, q: &q, mixture: None, certificate: &certificate, measured: None };
        let rows = rows.all().unwrap();
        let text = plot(&rows, 0.95).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.iter().all(|line| line.width() <= WIDTH), "{text}");
        let place = |line: usize, c: char| lines[line].chars().skip(26).position(|x| x == c);
        assert!(place(0, 'o') < place(0, ':') && place(1, ':') < place(1, 'o'), "{text}");
        assert_eq!(place(3, '0'), place(1, ':'), "{text}");
        assert!(lines[2].starts_with("a name that is far too …"), "{text}");
    }
}
