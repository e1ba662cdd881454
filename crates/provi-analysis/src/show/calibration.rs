//! Calibration in words and on a page.

use provi_report::{Axis, Bar, Block, Chart, Column, Page, Section, Table};

use crate::number::{grouped, plain};
use crate::run::calibrate::{Calibration, DrawnFrom, QuantityRanks};

/// Most quantities with plots on a page; the table has all.
const MOST_PLOTS: usize = 24;
/// Bars of a histogram of ranks.
const BARS: u32 = 20;
/// The size of a small chart.
const SMALL: (f64, f64) = (270.0, 210.0);

impl Calibration {
    /// What was found, in a sentence.
    pub fn verdict(&self) -> String {
        let out = self.quantities.iter().filter(|one| one.outside.is_some()).count();
        let of =
            format!("{} quantities in {} simulations", self.quantities.len(), grouped(self.ranked() as u64));
        let level = plain(self.level);
        match (out, self.failed) {
            (0, 0) if self.is_thin() => format!(
                "undecided: {} of {} simulations gave no ranks, so those of the others do not stand for all; the ranks of {of} stay within their band",
                grouped(self.refused as u64),
                grouped(self.made as u64)
            ),
            (0, 0) => format!(
                "no sign of a wrong posterior: the ranks of {of} stay within their band (false alarm at most {level})"
            ),
            (0, failed) => format!(
                "undecided: the ranks of {of} stay within their band, but {failed} more gave none, and may be the ones that go wrong"
            ),
            (out, _) => format!(
                "not uniform: the ranks of {out} of {of} leave their band, which right posteriors do with probability at most {level}"
            ),
        }
    }

    /// How it was done and what it does not say, one sentence each.
    pub fn notes(&self) -> Vec<String> {
        let mut out: Vec<String> = self.drawn_from.iter().map(|(from, count)| {
            let count = grouped(*count as u64);
            match from {
                DrawnFrom::Exact => format!("{count} simulations: ranks among draws of the posterior itself, by rejection"),
                DrawnFrom::Gaussian => format!(
                    "{count} simulations: ranks among draws of the fitted Gaussian, because exact draws cost too much; what is calibrated there is that \
                     Gaussian"
                ),
                DrawnFrom::Mixture => {
                    format!("{count} simulations: ranks among draws of the mixture of Gaussians over the scales")
                }
                DrawnFrom::Weighted => format!(
                    "{count} simulations: ranks among draws of the fitted Gaussian and of a wide Student's law around it, resampled towards the posterior by Pareto smoothed weights; what is calibrated are \
                     these draws, not the Gaussian that a fit reports"
                ),
            }
        }).collect();
        if self.refused > 0 {
            out.push(format!(
                "{} simulations gave no ranks: the weights of their draws have a heavy tail; that depends on the data and on the draws, so the ranks of the \
                 others are uniform only nearly",
                grouped(self.refused as u64)
            ));
        }
        out.push(
            "parameters come from the prior, responses from the model at the rows of this table; a default prior keeps the scales that it has from the \
             observed responses"
                .to_owned(),
        );
        out.push(
            "uniform ranks say that the computation is right on average over the prior; they do not say that model and prior suit the data".to_owned(),
        );
        if self.is_stopped() {
            out.push(format!(
                "stopped after {} of {} simulations",
                grouped(self.made as u64),
                grouped(self.asked as u64)
            ));
        }
        out.extend(self.failures.iter().cloned());
        out
    }

    /// The page: verdict, table, and for each quantity its ranks and their ECDF.
    pub fn page(&self, title: &str, command: &str) -> Page {
        let light = match (self.is_uniform(), self.quantities.iter().any(|one| one.outside.is_some())) {
            (true, _) => provi_report::Light::Green,
            (false, false) => provi_report::Light::Amber,
            (false, true) => provi_report::Light::Red,
        };
        let word = match light {
            provi_report::Light::Green => "uniform",
            provi_report::Light::Amber => "undecided",
            provi_report::Light::Red => "not uniform",
        };
        let rows = self.quantities.iter().map(|one| {
            let (share, said) = match &one.outside {
                None => (String::new(), "within the band".to_owned()),
                Some(out) => (
                    format!("{} where {} is expected", plain(out.found), plain(out.expected)),
                    out.meaning.clone(),
                ),
            };
            vec![one.name.clone(), said, share]
        });
        let table = Table {
            columns: ["quantity", "ranks", "share of ranks below"].map(Column::words).to_vec(),
            rows: rows.collect(),
            note: String::new(),
        };
        let shown = || self.quantities.iter().take(MOST_PLOTS);
        let figure = |charts: Vec<Chart>, caption: &str| Block::Figure {
            key: charts.first().map(Chart::key),
            scenes: charts.iter().map(Chart::scene).collect(),
            caption: caption.to_owned(),
        };
        let mut blocks = vec![Block::Verdict {
            light,
            word: word.to_owned(),
            headline: self.verdict(),
            meaning: "A right posterior gives the truth every rank among its draws equally often.".to_owned(),
        }];
        blocks.push(Block::List(self.notes()));
        let mut sections = vec![
            Section { heading: "Verdict".to_owned(), blocks },
            Section { heading: "Quantities".to_owned(), blocks: vec![Block::Table(table)] },
            Section {
                heading: "ECDF of ranks".to_owned(),
                blocks: vec![figure(
                    shown().map(|one| self.ecdf(one)).collect(),
                    "The ECDF of the ranks less that of uniform ones. A line that leaves the band anywhere is a sign of a wrong posterior.",
                )],
            },
            Section {
                heading: "Histograms of ranks".to_owned(),
                blocks: vec![figure(
                    shown().map(|one| self.histogram(one)).collect(),
                    "A cup says that posteriors are too narrow, a cap too wide, a slope that they are shifted.",
                )],
            },
        ];
        if !command.is_empty() {
            sections.push(Section {
                heading: "How to make it again".to_owned(),
                blocks: vec![Block::Code(command.to_owned())],
            });
        }
        Page {
            interactive: true,
            title: format!("Calibration of {title}"),
            subtitle: format!(
                "{} simulations, {} draws each, seed {}",
                grouped(self.made as u64),
                self.draws,
                self.seed
            ),
            sections,
            footer: String::new(),
        }
    }

    fn ecdf(&self, one: &QuantityRanks) -> Chart {
        let n = one.ranks.len().max(1) as f64;
        let end = (f64::from(self.draws as u32 + 1), 0.0);
        let edges = self.band.iter().map(|point| {
            let [low, high] = [point.low, point.high].map(|count| count as f64 / n - point.expected);
            (point.expected, low, high)
        });
        let mut band = vec![(0.0, 0.0, 0.0)];
        band.extend(edges);
        band.push((1.0, 0.0, 0.0));
        let mut counts = vec![0u32; self.draws + 1];
        for rank in &one.ranks {
            if let Some(count) = counts.get_mut(*rank as usize) {
                *count += 1;
            }
        }
        let mut below = 0.0;
        let mut line = vec![(0.0, 0.0)];
        for (rank, count) in counts.iter().enumerate() {
            below += f64::from(*count) / n;
            let expected = (rank as f64 + 1.0) / end.0;
            line.push((expected, below - expected));
        }
        Chart::new(
            format!("ECDF of the ranks of {}, less that of uniform ranks", one.name),
            Axis::linear("rank, as a share").range(0.0, 1.0),
            Axis::linear("difference"),
        )
        .sized(SMALL.0, SMALL.1)
        .titled(&one.name)
        .level("", 0.0)
        .series(6)
        .band("band of right posteriors", &band)
        .series(0)
        .line("ECDF of ranks − uniform", &line)
        .solid()
        .without_key()
    }

    fn histogram(&self, one: &QuantityRanks) -> Chart {
        let all = self.draws as u32 + 1;
        let bars = BARS.min(all);
        let edge = |j: u32| (u64::from(j) * u64::from(all) / u64::from(bars)) as u32;
        let bar = |j: u32| {
            let (low, high) = (edge(j), edge(j + 1));
            let count = one.ranks.iter().filter(|rank| (low..high).contains(*rank)).count() as f64;
            let share = f64::from(all) / f64::from((high - low) * bars);
            let title = format!("ranks {low} to {}: {count}", high - 1);
            Bar { low: f64::from(low), high: f64::from(high), base: 0.0, height: count * share, title }
        };
        Chart::new(
            format!("histogram of the ranks of {}", one.name),
            Axis::linear("rank"),
            Axis::linear("simulations").including(0.0),
        )
        .sized(SMALL.0, SMALL.1)
        .titled(&one.name)
        .series(6)
        .bars("simulations", (0..bars).map(bar).collect())
        .level("expected", one.ranks.len() as f64 / f64::from(bars))
        .without_key()
    }
}
