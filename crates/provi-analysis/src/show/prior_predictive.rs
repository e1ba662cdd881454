//! What the prior expects, on a page.

use provi_report::{Axis, Bar, Block, Chart, Column, Page, Section, Table, WIDTH};

use crate::number::{grouped, plain};
use crate::run::prior_predictive::{PriorPredictive, PriorStatistic, ResponseKind};

/// Bars of a histogram.
const BARS: usize = 30;
/// The size of a small chart.
const SMALL: (f64, f64) = (270.0, 210.0);

impl PriorPredictive {
    /// The name of a response in tables.
    pub fn unit(&self) -> &'static str {
        match self.kind {
            ResponseKind::Binary => "response (0 or 1)",
            ResponseKind::Share => "share of successes",
            ResponseKind::Count => "count",
            ResponseKind::Number => "response",
            ResponseKind::Time => "time",
        }
    }

    /// What was done, one sentence each.
    pub fn notes(&self) -> Vec<String> {
        let mut out = vec![format!(
            "{} data sets of {} rows: parameters from the prior, responses from the model at the rows of the table; nothing was fitted",
            grouped(self.draws as u64),
            grouped(self.rows as u64)
        )];
        if self.kind == ResponseKind::Time {
            out.push(
                "times are censored as in the table: where it was, and for rows whose event was seen, at its last time".to_owned(),
            );
        }
        out
    }

    /// Whether quantiles of single responses say something: those of labels are 0 or 1.
    pub fn has_quantiles(&self) -> bool {
        self.kind != ResponseKind::Binary
    }

    /// The page: the prior in words, warnings, statistics and quantiles with their plots.
    pub fn page(&self, title: &str, command: &str) -> Page {
        let mut first = vec![Block::List(self.prior.clone()), Block::List(self.notes())];
        first.push(match self.warnings.is_empty() {
            true => Block::Text("No warnings.".to_owned()),
            false => Block::List(self.warnings.clone()),
        });
        let rows = self.statistics.iter().map(|one| {
            let observed = one.observed.map_or(String::new(), plain);
            std::iter::once(one.name.clone()).chain([observed]).chain(one.simulated.map(plain)).collect()
        });
        let titles = ["observed", "5 %", "25 %", "50 %", "75 %", "95 %"].map(Column::numbers);
        let statistics = Table {
            columns: std::iter::once(Column::words("of a data set")).chain(titles).collect(),
            rows: rows.collect(),
            note: "Quantiles of simulated data sets.".to_owned(),
        };
        let mut sections = vec![
            Section { heading: "Prior".to_owned(), blocks: first },
            Section {
                heading: "Data sets".to_owned(),
                blocks: vec![
                    Block::Table(statistics),
                    figure(self.statistics.iter().filter_map(histogram).collect()),
                ],
            },
        ];
        if !self.probabilities.is_empty() {
            sections.push(Section {
                heading: "Probabilities".to_owned(),
                blocks: vec![Block::figure(
                    self.probability_chart().scene(),
                    "The probabilities of single rows under the prior. Towers at both ends say that the prior is nearly certain of every response.",
                )],
            });
        }
        if self.has_quantiles() {
            let row = |(i, level): (usize, &f64)| {
                let observed = self.observed.get(i).copied().map_or(String::new(), plain);
                vec![format!("{} %", plain(100.0 * level)), observed, plain(self.simulated[i])]
            };
            let quantiles = Table {
                columns: ["quantile", "observed", "simulated"].map(Column::numbers).to_vec(),
                rows: self.levels.iter().enumerate().map(row).collect(),
                note: String::new(),
            };
            sections.push(Section {
                heading: format!("Quantiles of the {}", self.unit()),
                blocks: vec![Block::Table(quantiles)],
            });
        }
        if !command.is_empty() {
            sections.push(Section {
                heading: "How to make it again".to_owned(),
                blocks: vec![Block::Code(command.to_owned())],
            });
        }
        let draws = grouped(self.draws as u64);
        Page {
            interactive: true,
            title: format!("What the prior of {title} expects"),
            subtitle: format!("{draws} simulated data sets, seed {}", self.seed),
            sections,
            footer: String::new(),
        }
    }

    fn probability_chart(&self) -> Chart {
        let width = 1.0 / self.probabilities.len() as f64;
        let bar = |(i, share): (usize, &f64)| {
            let low = i as f64 * width;
            let title = format!("{:.2} to {:.2}: {:.1} %", low, low + width, 100.0 * share);
            Bar { low, high: low + width, base: 0.0, height: *share, title }
        };
        Chart::new(
            "probabilities of single rows under the prior",
            Axis::linear("probability").range(0.0, 1.0),
            Axis::linear("share of rows").including(0.0),
        )
        .sized(WIDTH, 260.0)
        .series(6)
        .bars("simulated", self.probabilities.iter().enumerate().map(bar).collect())
    }
}

fn figure(charts: Vec<Chart>) -> Block {
    Block::Figure {
        key: charts.first().map(Chart::key),
        scenes: charts.iter().map(Chart::scene).collect(),
        caption: "Each bar counts simulated data sets between their 1 % and 99 % quantiles; the line is the observed data set.".to_owned(),
    }
}

/// The simulated values of a statistic, without their outermost hundredths; `None` if they do not vary.
fn histogram(one: &PriorStatistic) -> Option<Chart> {
    let cut = one.values.len() / 100;
    let kept = one.values.get(cut..one.values.len() - cut)?;
    let (low, high) = (*kept.first()?, *kept.last()?);
    if !(low.is_finite() && high.is_finite() && low < high) {
        return None;
    }
    let width = (high - low) / BARS as f64;
    let mut counts = vec![0.0; BARS];
    for value in kept {
        counts[(((value - low) / width) as usize).min(BARS - 1)] += 1.0;
    }
    let bar = |(i, count): (usize, &f64)| {
        let from = low + i as f64 * width;
        let title = format!("{} to {}: {count}", plain(from), plain(from + width));
        Bar { low: from, high: from + width, base: 0.0, height: *count, title }
    };
    let chart = Chart::new(
        format!("{} of simulated data sets", one.name),
        Axis::linear(&one.name),
        Axis::linear("data sets").including(0.0),
    )
    .sized(SMALL.0, SMALL.1)
    .series(6)
    .bars("simulated", counts.iter().enumerate().map(bar).collect());
    Some(match one.observed {
        Some(observed) => chart.upright("observed", observed).without_key(),
        None => chart.without_key(),
    })
}
