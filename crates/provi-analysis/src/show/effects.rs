//! Effects in words and charts, the same for every shell.

use provi::Provenance;
use provi_report::{Block, Column, EffectChart, EffectPoint, EffectSeries, EffectsFacts, Page, Table};

use crate::error::Result;
use crate::number::{bound, grouped, plain, to_spread};
use crate::run::effects::{Compare, Effect, Effects, EffectsAsked, Setting};
use crate::run::fitted::Fitted;
use crate::show::words::{condition, counted};

/// Points of a curve.
pub const CURVE: usize = 41;
/// Most rows of a table on a page; files have all.
const MOST_ROWS: usize = 100;

impl Effects {
    /// What the numbers are and where the other variables are, one sentence each.
    pub fn setting(&self) -> Vec<String> {
        let mut out = Vec::new();
        match &self.data {
            Some(name) => out.push(format!("averaged over {} of {name}", counted(self.rows as u64, "row"))),
            None if !self.held.is_empty() => {
                let held: Vec<String> = self.held.iter().map(|(name, at)| format!("{name} = {at}")).collect();
                out.push(format!("other variables held at {}", held.join(", ")));
            }
            None => {}
        }
        if self.without_groups {
            out.push("effects of groups are left out: these are numbers of the population".to_owned());
        }
        out
    }

    /// What is proved about the numbers of a table, and what is only estimated, one sentence each; `fit` says what all of it is conditional
    /// on.
    pub fn grounds(&self, fit: &Fitted) -> Vec<String> {
        self.grounds_of(fit, "its ±")
    }

    /// The same, with the words for the bound of an estimate.
    fn grounds_of(&self, fit: &Fitted, bound_of_each: &str) -> Vec<String> {
        let with = |confidence: f64| match confidence < 1.0 {
            // The last digits of a sum of doubles are rounding.
            true => format!(", with probability {}", (confidence * 1e12).round() / 1e12),
            false => String::new(),
        };
        let mut out = Vec::new();
        let provenance = fit.certificate().and_then(|certificate| certificate.tv.provenance());
        let certified = match provenance {
            Some(Provenance::Declared) => "certified if the declared curvature is right",
            _ => "certified",
        };
        let proved = self.effects.iter().filter(|effect| effect.error.is_some()).count();
        if proved > 0 {
            let which =
                if proved == self.effects.len() { "each estimate" } else { "an estimate with a bound" };
            let which =
                if bound_of_each == "its ±" { which.replace("bound", "±") } else { which.to_owned() };
            out.push(format!(
                "{certified}: {which}, before rounding, is within {bound_of_each} of the posterior's own{}",
                with(self.confidence.unwrap_or(1.0))
            ));
        }
        if proved < self.effects.len() {
            let which = if proved == 0 { "the estimates" } else { "those without a ±" };
            let what = match self.compare {
                "difference" => "means",
                _ => "medians",
            };
            let exact = self.draws.is_some_and(|drawn| drawn.law == "exact");
            let drawn = self.is_drawn_of(fit);
            out.push(match exact {
                true => format!("{which} are {what} of draws of the posterior itself"),
                false if drawn => format!(
                    "{which} are {what} of draws of the fitted Gaussian; no theorem bounds what they are off by"
                ),
                false => format!("{which} are {what} under the fit; no theorem bounds what they are off by"),
            });
        }
        let by_draws = self.effects.iter().filter(|effect| effect.interval == "draws").count();
        if let (Some(drawn), true) = (self.draws, by_draws > 0) {
            let of = match drawn.law {
                "gaussian" => "the fitted Gaussian",
                "mixture" => "the mixture over the scales",
                "exact" => "the posterior itself",
                _ => "a law near the posterior",
            };
            let count = grouped(drawn.count as u64);
            out.push(format!("intervals from {count} draws of {of} are estimates"));
        }
        if by_draws < self.effects.len() {
            out.push(match self.tv {
                Some((tv, confidence)) => format!(
                    "{certified}: the posterior's own probability of {} differs from {} by at most {}{}",
                    if by_draws == 0 { "each interval" } else { "the other intervals" },
                    plain(self.level),
                    bound(tv, 2),
                    with(confidence)
                ),
                None => "nothing is certified about the intervals: no total variation is bounded".to_owned(),
            });
        }
        out.extend(condition(&fit.file.model).map(|condition| format!("all of it: {condition}")));
        out
    }

    /// Whether the estimates themselves come from draws of q, as those of some families do.
    fn is_drawn_of(&self, fit: &Fitted) -> bool {
        let unproved = || self.effects.iter().filter(|effect| effect.error.is_none());
        fit.file.likelihood().is_some() && unproved().all(|effect| effect.interval == "draws")
    }

    /// Whether the numbers belong to levels of the response.
    pub fn has_outcomes(&self) -> bool {
        self.effects.iter().any(|effect| effect.outcome.is_some())
    }

    /// The value that means no effect.
    fn nothing(&self) -> Option<f64> {
        let predictions = self.effects.iter().all(|effect| effect.kind == "prediction");
        match (predictions, self.compare) {
            (true, _) => None,
            (false, "difference") => Some(0.0),
            (false, _) => Some(1.0),
        }
    }

    /// The name of what is shown: `probability`, `slope of the probability`, `odds ratio`.
    pub fn quantity(&self) -> String {
        let of = |what: &str| format!("{what} of the {}", self.unit);
        let all = |kind: &str| self.effects.iter().all(|effect| effect.kind == kind);
        match self.compare {
            "ratio" if self.unit == "probability" => "risk ratio".to_owned(),
            "ratio" if self.unit == "rate" => "rate ratio".to_owned(),
            "ratio" => "ratio".to_owned(),
            "odds-ratio" => "odds ratio".to_owned(),
            _ if all("prediction") => self.unit.to_owned(),
            _ if all("slope") => of("slope"),
            _ if all("contrast") => of("difference"),
            _ => format!("effect on the {}", self.unit),
        }
    }

    /// The same in few letters, for an axis.
    fn axis(&self) -> &'static str {
        let all = |kind: &str| self.effects.iter().all(|effect| effect.kind == kind);
        match self.compare {
            "ratio" => "ratio",
            "odds-ratio" => "odds ratio",
            _ if all("prediction") => self.unit,
            _ if all("slope") => "slope",
            _ if all("contrast") => "difference",
            _ => "effect",
        }
    }

    /// As charts with their words.
    pub fn facts(&self, fit: &Fitted) -> EffectsFacts {
        let interval = format!("{} % interval", plain(100.0 * self.level));
        let mut charts: Vec<EffectChart> = Vec::new();
        for effect in &self.effects {
            if charts.last().is_none_or(|chart| chart.title != effect.variable) {
                charts.push(EffectChart {
                    title: effect.variable.clone(),
                    unit: self.axis().to_owned(),
                    interval: interval.clone(),
                    nothing: self.nothing(),
                    series: Vec::new(),
                });
            }
            let Some(chart) = charts.last_mut() else { continue };
            let level = effect.outcome.as_ref().map(|level| format!("{} = {level}", self.response));
            let by = self.by.as_ref().zip(effect.by.as_ref()).map(|(column, by)| format!("{column} = {by}"));
            let by = level.into_iter().chain(by).collect::<Vec<_>>().join(", ");
            let point = effect.point();
            match chart.series.iter_mut().find(|series| series.name == by) {
                Some(series) => series.points.push(point),
                None => chart.series.push(EffectSeries { name: by, points: vec![point] }),
            }
        }
        // A picture shows no error of each point: the largest stands for all.
        let most = self.effects.iter().filter_map(|effect| effect.error).fold(0.0, f64::max);
        let said = self.setting().into_iter().chain(self.grounds_of(fit, &bound(most, 2)));
        EffectsFacts { charts, notes: said.map(|said| sentence(&said)).collect() }
    }

    /// Every number, for a page.
    fn table(&self) -> Table {
        let end = |p: f64| format!("{} %", plain(100.0 * p));
        let ends = [0.5 * (1.0 - self.level), 0.5 * (1.0 + self.level)].map(end);
        let mut columns = vec![Column::words("variable"), Column::words("effect")];
        columns.extend(self.by.as_deref().map(Column::words));
        columns.extend(self.has_outcomes().then(|| Column::words(&self.response)));
        columns.extend(["estimate", "± certified", &ends[0], &ends[1]].map(Column::numbers));
        let row = |effect: &Effect| {
            let show = |x: f64| effect.number(x);
            let mut row = vec![effect.variable.clone(), effect.what(self.compare)];
            row.extend(
                self.by.as_ref().map(|_| effect.by.as_ref().map_or(String::new(), Setting::to_string)),
            );
            row.extend(self.has_outcomes().then(|| effect.outcome.clone().unwrap_or_default()));
            row.push(show(effect.estimate));
            row.push(effect.error.map_or("–".to_owned(), |error| bound(error, 2)));
            row.extend([show(effect.low), show(effect.high)]);
            row
        };
        Table { columns, rows: self.effects.iter().map(row).collect(), note: String::new() }
    }

    /// As a page of its own.
    pub fn page(&self, fit: &Fitted) -> Page {
        let model = &fit.file.model;
        let mut section = self.facts(fit).section();
        if self.effects.len() <= MOST_ROWS {
            section.blocks.push(Block::Table(self.table()));
        }
        Page {
            title: format!("Effects on {}", self.response),
            subtitle: format!("{} · {} · {}", model.formula, model.family, self.quantity()),
            sections: vec![section],
            footer: "Made by provi.".to_owned(),
            interactive: true,
        }
    }
}

impl Effect {
    /// What is shown, in words: a value, `Bern − Basel`, `Bern / Basel` or `slope`.
    pub fn what(&self, compare: &str) -> String {
        let sign = if compare == "difference" { "−" } else { "/" };
        match (&self.value, &self.reference) {
            (Some(Setting::Own(by)), Some(_)) if sign == "−" => format!("x + {} − x", plain(*by)),
            (Some(Setting::Own(by)), Some(_)) => format!("(x + {}) / x", plain(*by)),
            (Some(value), Some(reference)) => format!("{value} {sign} {reference}"),
            (Some(value), None) => value.to_string(),
            (None, _) => "slope".to_owned(),
        }
    }

    /// A quarter of its interval: about a standard deviation.
    pub fn spread(&self) -> f64 {
        0.25 * (self.high - self.low)
    }

    /// A number of this effect, down to the third digit of its spread.
    pub fn number(&self, x: f64) -> String {
        let spread = self.spread();
        if spread > 0.0 { to_spread(x, spread) } else { plain(x) }
    }

    fn point(&self) -> EffectPoint {
        let (x, label) = match (&self.value, &self.reference) {
            (Some(Setting::Number(x) | Setting::Date(x)), None) => (*x, String::new()),
            _ => (f64::NAN, self.what(if self.kind == "contrast" { "difference" } else { "" })),
        };
        EffectPoint { x, label, y: self.estimate, low: self.low, high: self.high, error: self.error }
    }
}

/// The conditional effect of each variable, for the report of a fit; nothing if the fit does not know its variables.
pub(super) fn of_report(fit: &Fitted, level: f64) -> Result<EffectsFacts> {
    let asked =
        EffectsAsked { points: CURVE, level, compare: Compare::Difference, ..EffectsAsked::default() };
    match fit.effects(&asked, None, None) {
        Ok(found) => Ok(found.facts(fit)),
        // What has no effects has no picture of them.
        Err(crate::Error::Effect(_) | crate::Error::NotOfFormula { .. } | crate::Error::NoRecipe) => {
            Ok(EffectsFacts::default())
        }
        // A mean may lie where a transformation is not defined; the rest of the page is still good.
        Err(crate::Error::Table { .. }) => Ok(EffectsFacts::default()),
        Err(other) => Err(other),
    }
}

/// With a capital and a full stop.
fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
}
