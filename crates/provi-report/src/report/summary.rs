//! What stands first, and what is easily left out: the summary, other spreads, the prior's part, and what was not proved.

use super::{INTERCEPT, section};
use crate::fit::{Check, FitPage};
use crate::number::{beside, fixed, significant};
use crate::page::{Block, Column, Section, Table};

/// Most coefficients and checks that the summary names.
const NAMED: usize = 4;

/// Which predictions a check is of.
pub(super) fn predicted(left_out: bool) -> &'static str {
    match left_out {
        true => "Each row was predicted from all other rows (leave-one-out).",
        false => {
            "Each row was predicted by the posterior, which it helped to find: that flatters the model a little; `provi loo --report` predicts each \
             from the others."
        }
    }
}

impl FitPage {
    /// The verdict, and a sentence for each question a referee asks first.
    pub(super) fn summary_section(&self) -> Section {
        let c = &self.certificate;
        let verdict = Block::Verdict {
            light: c.light,
            word: String::new(),
            headline: c.headline.clone(),
            meaning: c.meaning.clone(),
        };
        let mut said: Vec<String> =
            [self.clearest_in_words(), self.checks_in_words()].into_iter().flatten().collect();
        if !self.sensitivity.is_empty() {
            let leaning = self.sensitivity.iter().filter(|row| row.leans).count();
            said.push(match leaning {
                0 => {
                    "Prior: no coefficient moves visibly if all priors are half or twice as wide.".to_owned()
                }
                1 => "Prior: 1 coefficient moves visibly if all priors are half or twice as wide.".to_owned(),
                n => format!("Prior: {n} coefficients move visibly if all priors are half or twice as wide."),
            });
        }
        if !self.unproved.is_empty() {
            said.push("Not everything here is proved: what is not stands under its own heading.".to_owned());
        }
        let list = Some(Block::List(said)).filter(|block| *block != Block::List(Vec::new()));
        section("Summary", std::iter::once(verdict).chain(list).collect())
    }

    /// The clearest coefficients whose intervals do not hold 0.
    fn clearest_in_words(&self) -> Option<String> {
        let proper =
            |c: &&crate::fit::Coefficient| c.low.is_finite() && c.high.is_finite() && c.name != INTERCEPT;
        let all = self.of_population().iter().filter(proper).count();
        if all == 0 {
            return None;
        }
        let apart = |c: &&crate::fit::Coefficient| c.low > 0.0 || c.high < 0.0;
        let count = self.of_population().iter().filter(proper).filter(apart).count();
        let of = format!("{count} of {all} coefficient{}", if all == 1 { "" } else { "s" });
        let named: Vec<String> = self
            .clearest(NAMED + 1)
            .into_iter()
            .filter(|c| proper(c) && apart(c))
            .take(NAMED)
            .map(|c| {
                let [mean, low, high] = [c.mean, c.low, c.high].map(|x| beside(x, c.sd));
                format!("{} {mean} ({low} to {high})", c.name)
            })
            .collect();
        let list =
            if named.is_empty() { String::new() } else { format!("; the clearest: {}", named.join(", ")) };
        Some(format!(
            "Effects: {of} {} a 95 % interval without 0{list}.",
            if count == 1 { "has" } else { "have" }
        ))
    }

    /// What the checks found.
    fn checks_in_words(&self) -> Option<String> {
        if self.checks.is_empty() {
            return None;
        }
        let mut trouble: Vec<String> = Vec::new();
        for check in &self.checks {
            match check {
                Check::Statistics { rows } => {
                    let names: Vec<&str> =
                        rows.iter().filter(|s| !s.is_usual()).map(|s| s.name.as_str()).take(NAMED).collect();
                    if !names.is_empty() {
                        trouble
                            .push(format!("{} of the data unlike that of replicated data", names.join(", ")));
                    }
                }
                Check::Pit(facts) if facts.outside() > 0 => {
                    let (level, which) =
                        (significant(100.0 * facts.level, 2), if facts.left_out { "LOO-PIT" } else { "PIT" });
                    trouble.push(format!("the {which} leaves its {level} % band"));
                }
                Check::Calibration { bins, .. } => {
                    let off = bins
                        .iter()
                        .filter(|b| b.predicted < b.interval.0 || b.predicted > b.interval.1)
                        .count();
                    // Two or more of ten 95 % intervals miss in one of twelve samples.
                    if off > 1 {
                        trouble.push(format!("{off} of {} groups of rows are off calibration", bins.len()));
                    }
                }
                _ => {}
            }
        }
        Some(match trouble.is_empty() {
            true => {
                "Checks: nothing in the data speaks against the model, as far as these checks see.".to_owned()
            }
            false => format!("Checks speak against the model: {}.", trouble.join("; ")),
        })
    }

    /// Means under three priors.
    pub(super) fn sensitivity_section(&self) -> Section {
        if self.sensitivity.is_empty() {
            return Section::default();
        }
        let numbers =
            ["priors half as wide", "as given", "twice as wide", "moves by, sds"].map(Column::numbers);
        let columns =
            [Column::words("coefficient")].into_iter().chain(numbers).chain([Column::words("")]).collect();
        let sd = |name: &str| self.coefficients.iter().find(|c| c.name == name).map_or(f64::NAN, |c| c.sd);
        let rows = self.sensitivity.iter().map(|s| {
            let [narrow, given, wide] = s.means.map(|mean| beside(mean, sd(&s.name)));
            let word = if s.leans { "leans on the prior" } else { "" };
            vec![s.name.clone(), narrow, given, wide, fixed(s.moves, 2), word.to_owned()]
        });
        let note = "The model was fitted again with every prior half and twice as wide. A coefficient that leans on its prior needs reasons for it.";
        let table = Table { columns, rows: rows.collect(), note: note.to_owned() };
        section("Sensitivity to the prior", vec![Block::Table(table)])
    }

    /// The spread of the estimates if the model may be wrong.
    pub(super) fn robust_section(&self) -> Section {
        let Some(robust) = &self.robust else { return Section::default() };
        let numbers = ["mean", "posterior sd", &robust.name, "ratio"].map(Column::numbers);
        let columns = [Column::words("coefficient")].into_iter().chain(numbers).collect();
        let rows = robust.rows.iter().map(|(name, [mean, sd, spread])| {
            let show = |x: f64| beside(x, *sd);
            vec![name.clone(), show(*mean), show(*sd), show(*spread), fixed(spread / sd, 2)]
        });
        let note = robust.notes.join(" ");
        section("If the model is wrong", vec![Block::Table(Table { columns, rows: rows.collect(), note })])
    }

    /// What was not proved.
    pub(super) fn unproved_section(&self) -> Section {
        match self.unproved.is_empty() {
            true => Section::default(),
            false => section("What was not proved", vec![Block::List(self.unproved.clone())]),
        }
    }
}
