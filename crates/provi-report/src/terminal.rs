//! Plots for the terminal: a forest in box characters, a trace in braille.

use crate::fit::{Coefficient, TracePoint};
use crate::number::{beside, grouped, significant};

/// Estimates with 95 % intervals in rows, `width` columns wide: `├──●──┤`, a bar where 0 is.
///
/// Coefficients without a finite interval have a row without a mark; names are cut to a third of the width.
pub fn forest(coefficients: &[Coefficient], width: usize) -> String {
    let finite = |c: &&Coefficient| c.low.is_finite() && c.high.is_finite() && c.mean.is_finite();
    let (low, high) = coefficients
        .iter()
        .filter(finite)
        .fold((0.0f64, 0.0f64), |(low, high), c| (low.min(c.low), high.max(c.high)));
    let (low, high) = crate::ticks::widened(low, high);
    let names: Vec<String> = coefficients.iter().map(|c| shortened(&c.name, (width / 3).max(8))).collect();
    let name_width = names.iter().map(|n| n.chars().count()).max().unwrap_or(0);
    let numbers: Vec<String> = coefficients.iter().map(|c| beside(c.mean, c.sd)).collect();
    let number_width = numbers.iter().map(|n| n.chars().count()).max().unwrap_or(0);
    let columns = width.saturating_sub(name_width + number_width + 4).max(11);
    let at = |x: f64| {
        let share = (0.5 * x - 0.5 * low) / (0.5 * high - 0.5 * low);
        (share * (columns - 1) as f64).round().clamp(0.0, (columns - 1) as f64) as usize
    };
    let mut out = String::new();
    for ((c, name), number) in coefficients.iter().zip(&names).zip(&numbers) {
        let mut cells = vec![' '; columns];
        cells[at(0.0)] = '┊';
        if finite(&c) {
            let (from, to) = (at(c.low), at(c.high));
            cells[from..=to].fill('─');
            (cells[from], cells[to]) = ('├', '┤');
            if (from + 1..to).contains(&at(0.0)) {
                cells[at(0.0)] = '┼';
            }
            cells[at(c.mean)] = '●';
        }
        let cells: String = cells.into_iter().collect();
        out.push_str(format!("{name:<name_width$}  {number:>number_width$}  {cells}").trim_end());
        out.push('\n');
    }
    let (left, right) = (significant(low, 3), significant(high, 3));
    let gap = columns.saturating_sub(left.chars().count() + right.chars().count()).max(1);
    out.push_str(&format!(
        "{:indent$}{left}{:gap$}{right}\n",
        "",
        "",
        indent = name_width + number_width + 4
    ));
    out
}

/// −ELBO by step as a line of braille dots, `width` columns by `height` rows, with its ends named.
pub fn trace(points: &[TracePoint], width: usize, height: usize) -> String {
    let points: Vec<(f64, f64)> =
        points.iter().filter(|t| t.value.is_finite()).map(|t| (t.step as f64, t.value)).collect();
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return String::new() };
    let low = points.iter().map(|p| p.1).fold(f64::INFINITY, f64::min);
    let high = points.iter().map(|p| p.1).fold(f64::NEG_INFINITY, f64::max);
    let (bottom, top) = crate::ticks::widened(low, high);
    let labels = [significant(high, 6), significant(low, 6)];
    let label_width = labels.iter().map(|l| l.chars().count()).max().unwrap_or(0);
    let columns = width.saturating_sub(label_width + 2).max(8);
    let rows = height.max(2);
    let mut canvas = Braille::new(columns, rows);
    let place = |(step, value): (f64, f64)| {
        let x = if last.0 > first.0 { (step - first.0) / (last.0 - first.0) } else { 0.0 };
        let y = (0.5 * value - 0.5 * bottom) / (0.5 * top - 0.5 * bottom);
        (x * (2 * columns - 1) as f64, (1.0 - y) * (4 * rows - 1) as f64)
    };
    for pair in points.windows(2) {
        canvas.line(place(pair[0]), place(pair[1]));
    }
    if points.len() == 1 {
        canvas.line(place(*first), place(*first));
    }
    let mut out = String::new();
    for (i, row) in canvas.rows().enumerate() {
        let label = match i {
            0 => &labels[0],
            i if i + 1 == rows => &labels[1],
            _ => "",
        };
        out.push_str(&format!("{label:>label_width$}  {row}\n"));
    }
    let (from, to) = (format!("step {}", grouped(first.0 as u64)), grouped(last.0 as u64));
    let gap = columns.saturating_sub(from.chars().count() + to.chars().count()).max(1);
    out.push_str(&format!("{:label_width$}  {from}{:gap$}{to}\n", "", ""));
    out
}

fn shortened(name: &str, most: usize) -> String {
    let clean = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    match name.chars().count() {
        n if n > most => name.chars().take(most - 1).map(clean).chain(['…']).collect(),
        _ => name.chars().map(clean).collect(),
    }
}

/// Cells of two by four dots.
struct Braille {
    columns: usize,
    cells: Vec<u8>,
}

impl Braille {
    fn new(columns: usize, rows: usize) -> Self {
        Self { columns, cells: vec![0; columns * rows] }
    }

    fn dot(&mut self, x: usize, y: usize) {
        // Unicode numbers the dots column by column, and the fourth row last.
        const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
        if let Some(cell) = self.cells.get_mut(y / 4 * self.columns + x / 2) {
            *cell |= BITS[y % 4][x % 2];
        }
    }

    fn line(&mut self, from: (f64, f64), to: (f64, f64)) {
        let length = (to.0 - from.0).abs().max((to.1 - from.1).abs()).ceil().max(1.0) as usize;
        for i in 0..=length {
            let share = i as f64 / length as f64;
            let at = |a: f64, b: f64| (a + share * (b - a)).round().max(0.0) as usize;
            self.dot(at(from.0, to.0), at(from.1, to.1));
        }
    }

    fn rows(&self) -> impl Iterator<Item = String> {
        self.cells.chunks(self.columns).map(|row| {
            let cell = |&bits: &u8| char::from_u32(0x2800 + u32::from(bits)).unwrap_or(' ');
            row.iter().map(cell).collect::<String>().trim_end_matches('\u{2800}').to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forest_lines_up_and_marks_zero() {
        let c = |name: &str, mean: f64, sd: f64| Coefficient {
            name: name.to_owned(),
            mean,
            sd,
            low: mean - 2.0 * sd,
            high: mean + 2.0 * sd,
            ..Coefficient::default()
        };
        let text = forest(&[c("age", 1.0, 0.25), c("dose", -1.0, 0.5), c("lost\u{1b}", f64::NAN, 1.0)], 50);
        let lines: Vec<Vec<char>> = text.lines().map(|l| l.chars().collect()).collect();
        assert_eq!(lines.len(), 4);
        assert!(lines.iter().all(|l| l.len() <= 50), "{text}");
        assert!(text.contains('├') && text.contains('●') && !text.contains('\u{1b}'), "{text}");
        assert_eq!(
            lines[0].iter().position(|&c| c == '┊'),
            lines[2].iter().position(|&c| c == '┊'),
            "{text}"
        );
    }

    #[test]
    fn a_falling_trace_falls() {
        let points: Vec<TracePoint> =
            (0..20).map(|t| TracePoint { step: t, value: -(t as f64), ..TracePoint::default() }).collect();
        let text = trace(&points, 40, 4);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 5);
        let ink = |line: &str| line.chars().position(|c| ('\u{2801}'..='\u{28ff}').contains(&c));
        assert!(ink(lines[0]) < ink(lines[1]) && ink(lines[1]) < ink(lines[3]), "{text}");
        assert!(lines.iter().all(|l| l.chars().count() <= 40), "{text}");
        assert_eq!(trace(&[], 40, 4), "");
        assert!(!trace(&points[..1], 40, 4).is_empty());
    }
}
