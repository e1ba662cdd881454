//! A fit as a page: what a reader needs first comes first.

mod summary;

use crate::fit::{Check, Coefficient, FitPage, Statistic};
use crate::number::{MISSING, above, beside, enclosing, grouped, significant};
use crate::page::{Block, Column, Page, Section, Table};
use crate::plot::{FOREST_ROWS, GROUP_LEVELS, Plot, check_views, group_charts, marginal_charts, pair_charts};

/// Most rows of the table of coefficients.
const ROWS: usize = 200;
/// The intercept's name, as in formulas.
const INTERCEPT: &str = "(Intercept)";

impl FitPage {
    /// The report as one HTML file.
    pub fn html(&self) -> String {
        self.page().html()
    }

    /// The report as a page, to which more can be added.
    pub fn page(&self) -> Page {
        let sections = [
            self.summary_section(),
            self.certificate_section(),
            self.model_section(),
            self.effects.section(),
            self.coefficient_section(),
            self.robust_section(),
            self.check_section(),
            self.group_section(),
            self.quantities.section(),
            self.sensitivity_section(),
            self.marginal_section(),
            self.correlation_section(),
            self.evidence_section(),
            self.unproved_section(),
            self.run_section(),
            self.grounds_section(),
            self.command_section(),
        ];
        Page {
            title: self.title.clone(),
            subtitle: self.subtitle(),
            sections: sections.into_iter().filter(|s| !s.blocks.is_empty()).collect(),
            footer: "Made by provi. Every number here comes from the fit; nothing was fetched to show it."
                .to_owned(),
            interactive: true,
        }
    }

    fn subtitle(&self) -> String {
        let m = &self.model;
        let d = self.coefficients.len();
        let plural = if d == 1 { "" } else { "s" };
        let facts = [
            m.formula.clone(),
            m.family.clone(),
            if m.rows > 0 { format!("{}\u{a0}rows", grouped(m.rows)) } else { String::new() },
            format!("{}\u{a0}coefficient{plural}", grouped(d as u64)),
        ];
        facts.into_iter().filter(|f| !f.is_empty()).collect::<Vec<_>>().join(" · ")
    }

    fn certificate_section(&self) -> Section {
        let c = &self.certificate;
        let mut blocks = Vec::new();
        if !c.statements.is_empty() {
            let columns = ["statement", "proved", "in plain words", "grounds"].map(Column::words).to_vec();
            let rows = c.statements.iter().map(|s| {
                let value = if s.proved { s.value.clone() } else { format!("not proved: {}", s.value) };
                vec![s.what.clone(), value, s.meaning.clone(), s.grounds.clone()]
            });
            blocks.push(Block::Table(Table { columns, rows: rows.collect(), note: c.footnote.clone() }));
        }
        section("What is proved", blocks)
    }

    fn model_section(&self) -> Section {
        let m = &self.model;
        let mut facts: Vec<(String, String)> = Vec::new();
        let mut fact = |name: &str, value: String| {
            if !value.is_empty() {
                facts.push((name.to_owned(), value));
            }
        };
        fact("formula", m.formula.clone());
        fact("family", m.family.clone());
        fact("data", m.data.clone());
        // A program's log density may have no rows.
        if m.rows > 0 {
            fact("rows used", grouped(m.rows));
            fact("rows left out", m.dropped.clone().unwrap_or_else(|| "none".to_owned()));
        }
        fact("priors", m.priors.join("\n"));
        fact("conditional on", m.conditional_on.join("\n"));
        facts.extend(m.further.iter().cloned());
        section("What was fitted", vec![Block::Facts(facts)])
    }

    fn coefficient_section(&self) -> Section {
        if self.coefficients.is_empty() {
            return Section::default();
        }
        let all = self.of_population().len();
        let columns = ["mean", "± certified", "sd", "± certified", "2.5 %", "97.5 %"];
        let columns =
            [Column::words("coefficient")].into_iter().chain(columns.map(Column::numbers)).collect();
        let common = self.common_spread();
        let rows = self.of_population().iter().take(ROWS).map(|c| row(c, common)).collect();
        let mut note = match (self.quantities.scales, self.declared) {
            (_, true) => {
                "± certified: if the declared curvature is right, the exact posterior mean, and sd, is no further from the number \
                 shown. The interval is that of the Gaussian."
            }
            (true, false) => {
                "± certified: the posterior mean, and sd, is no further from the number shown, as far as the sum over the scales goes. \
                 The interval is that of the mixture over the scales, or of its weighted draws."
            }
            (false, false) => {
                "± certified: the exact posterior mean, and sd, is proved to be no further from the number shown. \
                 The interval is that of the Gaussian."
            }
        }
        .to_owned();
        if all > ROWS {
            note.push_str(&format!(
                " The first {ROWS} of {} coefficients; the fit's files hold all.",
                grouped(all as u64)
            ));
        }
        let mut caption = format!(
            "Posterior means with 95 % intervals. The wide band is where the exact posterior mean {}; bands that leave the frame \
             are cut.",
            self.lies()
        );
        if all > FOREST_ROWS {
            caption.push_str(&format!(
                " Shown are the {FOREST_ROWS} of {} coefficients that are furthest from 0 in their own standard deviations.",
                grouped(all as u64)
            ));
        }
        let own_scale = self.quantities.rows.is_empty() || self.quantities.scales;
        let numbers = Block::Table(Table { columns: Vec::clone(&columns), rows, note: note.clone() });
        let mut blocks = vec![Block::figure(Plot::Forest.scene(self), caption)];
        blocks.push(match self.ratios() {
            Some(ratios) => Block::Choice(vec![
                ("coefficients".to_owned(), vec![numbers]),
                (format!("{}s", self.ratio), vec![Block::Table(ratios)]),
            ]),
            None => numbers,
        });
        if !self.contrasts.is_empty() {
            let mut columns = columns;
            columns[0] = Column::words("contrast");
            let rows = self.contrasts.iter().map(|c| row(c, None)).collect();
            blocks.push(Block::Table(Table { columns, rows, note }));
        }
        section(if own_scale { "Coefficients" } else { "Unconstrained coordinates" }, blocks)
    }

    /// e to the power of every coefficient but the intercept; `None` if that means nothing.
    fn ratios(&self) -> Option<Table> {
        let shown = self.of_population().iter().take(ROWS).filter(|c| c.name != INTERCEPT);
        let rows: Vec<Vec<String>> = shown
            .map(|c| {
                let ends = [c.mean, c.low, c.high].map(f64::exp);
                let cells = ends.map(|x| significant(x, 3));
                std::iter::once(c.name.clone()).chain(cells).collect()
            })
            .collect();
        let name = Some(&self.ratio).filter(|name| !name.is_empty() && !rows.is_empty())?;
        let numbers = [name.as_str(), "2.5 %", "97.5 %"].map(Column::numbers);
        let note = format!(
            "The {name} for one unit more: e to the power of a coefficient. The ends of an interval stay its ends. The first number is e to the power \
             of the posterior mean, not the posterior mean of the {name}."
        );
        Some(Table {
            columns: [Column::words("coefficient")].into_iter().chain(numbers).collect(),
            rows,
            note,
        })
    }

    /// The median sd if all are of similar size, so that the decimals of a column line up.
    fn common_spread(&self) -> Option<f64> {
        let shown = self.of_population().iter().take(ROWS);
        let mut sds: Vec<f64> = shown.map(|c| c.sd).filter(|sd| *sd > 0.0 && sd.is_finite()).collect();
        sds.sort_by(f64::total_cmp);
        let (least, most) = (sds.first()?, sds.last()?);
        (most / least <= 10.0).then(|| sds[sds.len() / 2])
    }

    fn group_section(&self) -> Section {
        let charts = group_charts(self);
        let Some(first) = charts.first() else { return Section::default() };
        let mut caption = "Effects of groups with 95 % intervals, in the order of their size.".to_owned();
        if self.groups.iter().any(|group| group.levels.len() > GROUP_LEVELS) {
            caption.push_str(&format!(" Where there are more, the {GROUP_LEVELS} levels at either end."));
        }
        let scenes = charts.iter().map(|chart| chart.scene()).collect();
        let mut blocks = vec![Block::Figure { scenes, key: Some(first.key()), caption }];
        let columns = ["mean", "± certified", "sd", "± certified", "2.5 %", "97.5 %"];
        let columns = [Column::words("effect")].into_iter().chain(columns.map(Column::numbers)).collect();
        let levels = || self.groups.iter().flat_map(|group| &group.levels);
        let mut note = String::new();
        if levels().count() > ROWS {
            let all = grouped(levels().count() as u64);
            note = format!("The first {ROWS} of {all} effects; the fit's files hold all.");
        }
        let rows = levels().take(ROWS).map(|c| row(c, None)).collect();
        blocks.push(Block::Table(Table { columns, rows, note }));
        section("Effects of groups", blocks)
    }

    /// What is certain about the place of a posterior mean: a bound is a proof only as far as its constants are.
    fn lies(&self) -> &'static str {
        match (self.declared, self.quantities.scales) {
            (true, _) => "lies if the declared curvature is right",
            (false, true) => "lies as far as the sum over the scales goes",
            (false, false) => "is proved to lie",
        }
    }

    fn marginal_section(&self) -> Section {
        let charts = marginal_charts(self);
        let shown = charts.len();
        if shown == 0 {
            return Section::default();
        }
        let mut caption = format!(
            "Posterior density against the prior's, over four posterior standard deviations to either side. The bar at the foot is \
             where the exact mean {}.",
            self.lies()
        );
        if shown < self.of_population().len() {
            let all = grouped(self.of_population().len() as u64);
            caption.push_str(&format!(" Shown are the {shown} clearest of {all} coefficients."));
        }
        let key = charts.first().map(|first| first.key());
        let scenes = charts.iter().map(|c| c.scene()).collect();
        section("Posterior against prior", vec![Block::Figure { scenes, key, caption }])
    }

    fn correlation_section(&self) -> Section {
        let charts = pair_charts(self);
        if charts.is_empty() {
            return Section::default();
        }
        let scene = Plot::Correlation.scene(self);
        let caption =
            format!("{} Follow a name to the left for its row, down for its column.", sentence(&scene.label));
        let pairs = charts.iter().map(|c| c.scene()).collect();
        let note = "The most correlated pairs, with the ellipses that hold 50 % and 95 % of the posterior.";
        section(
            "Correlations",
            vec![
                Block::figure(scene, caption),
                Block::Figure { scenes: pairs, key: None, caption: note.to_owned() },
            ],
        )
    }

    fn check_section(&self) -> Section {
        let mut blocks: Vec<Block> = Vec::new();
        for check in &self.checks {
            if let Check::Statistics { rows } = check {
                blocks.push(Block::Table(statistics(rows)));
            }
            let mut views: Vec<(String, Vec<Block>)> = Vec::new();
            for (name, chart) in check_views(check) {
                let caption = format!("{}{}", sentence(&chart.label), advice(check, name));
                views.push((name.to_owned(), vec![Block::figure(chart.scene(), caption)]));
            }
            match views.len() {
                0 => {}
                1 => blocks.extend(views.into_iter().flat_map(|(_, blocks)| blocks)),
                _ => blocks.push(Block::Choice(views)),
            }
        }
        if !blocks.is_empty() {
            let first = "The certificate is about the posterior of this model. Whether the model suits the data is \
                         another question; these checks are for it, and they prove nothing.";
            blocks.insert(0, Block::Text(first.to_owned()));
        }
        section("Does the model suit the data?", blocks)
    }

    fn evidence_section(&self) -> Section {
        let e = &self.evidence;
        let proved = e.lower.zip(e.upper);
        if proved.is_none() && e.elbo.is_none() && e.estimate.is_none() && e.lower.is_none() {
            return Section::default();
        }
        let spread = proved.map_or(f64::NAN, |(low, high)| high - low);
        let show = |x: f64| if spread > 0.0 { beside(x, spread) } else { significant(x, 7) };
        let (interval, side) = match (self.declared, self.quantities.scales) {
            (true, _) => {
                ("interval, if the declared curvature is right", "if the declared curvature is right")
            }
            (false, true) => {
                ("interval, as far as the sum over the scales goes", "as far as the sum over the scales goes")
            }
            (false, false) => ("proved interval", "proved"),
        };
        let mut facts = Vec::new();
        let mut fact = |name: &str, value: String| facts.push((name.to_owned(), value));
        match (e.lower, e.upper) {
            (Some(low), Some(high)) => {
                let [low, high] = enclosing(low, high);
                fact(interval, format!("{low} to {high} nats"))
            }
            (Some(low), None) => fact(side, format!("at least {} nats", enclosing(low, low)[0])),
            (None, Some(high)) => fact(side, format!("at most {} nats", enclosing(high, high)[1])),
            (None, None) => fact("proved", "nothing".to_owned()),
        }
        if let Some(elbo) = e.elbo {
            fact("ELBO", format!("{} nats", show(elbo)));
        }
        if let Some((value, error)) = e.estimate {
            fact("estimate", format!("{} ± {} nats (standard error)", show(value), significant(error, 2)));
        }
        let mut blocks = vec![Block::figure(Plot::Evidence.scene(self), ""), Block::Facts(facts)];
        if !e.remark.is_empty() {
            blocks.push(Block::Text(e.remark.clone()));
        }
        section("Log evidence", blocks)
    }

    fn run_section(&self) -> Section {
        let Some(last) = self.trace.last() else { return Section::default() };
        let time = match self.seconds {
            Some(seconds) if seconds.is_finite() && seconds > 0.0 => {
                format!(" in {} s", significant(seconds, 2))
            }
            _ => String::new(),
        };
        // A trace may end before the last step; the run itself records how many it made.
        let made = self.steps.unwrap_or(last.step);
        let steps = if made == 1 { "step" } else { "steps" };
        let bounds = if self.trace.iter().any(|t| t.gap_bound.is_some()) {
            " The lower curve is proved, not measured against an optimum nobody knows."
        } else {
            ""
        };
        let caption = format!("{} {steps}{time}.{bounds}", grouped(made));
        section("The run", vec![Block::figure(Plot::Trace.scene(self), caption)])
    }

    fn grounds_section(&self) -> Section {
        let mut blocks = Vec::new();
        if !self.assumptions.is_empty() {
            blocks.push(Block::List(self.assumptions.clone()));
        }
        if !self.provenance.is_empty() {
            blocks.push(Block::Facts(self.provenance.clone()));
        }
        section("Assumptions and provenance", blocks)
    }

    fn command_section(&self) -> Section {
        if self.command.is_empty() {
            return Section::default();
        }
        let text = "The same command on the same data gives the same answer to the last digit shown.";
        section("Do it again", vec![Block::Code(self.command.clone()), Block::Text(text.to_owned())])
    }
}

fn section(heading: &str, blocks: Vec<Block>) -> Section {
    Section { heading: heading.to_owned(), blocks }
}

fn row(c: &Coefficient, common: Option<f64>) -> Vec<String> {
    let show = |x: f64| beside(x, common.unwrap_or(c.sd));
    // Numbers are printed to the third digit of their spread, so rounding changes them by at most half a unit of
    // that digit.
    let rounding = 5e-3 * common.unwrap_or(c.sd);
    let error = |e: Option<f64>| e.map_or(MISSING.to_owned(), |e| above(e + rounding, 2));
    vec![
        c.name.clone(),
        show(c.mean),
        error(c.mean_error),
        show(c.sd),
        error(c.sd_error),
        show(c.low),
        show(c.high),
    ]
}

fn statistics(rows: &[Statistic]) -> Table {
    let numbers = ["observed", "replicated 2.5 %", "median", "97.5 %"].map(Column::numbers);
    let columns =
        [Column::words("statistic")].into_iter().chain(numbers).chain([Column::words("")]).collect();
    let rows = rows.iter().map(|s| {
        let show = |x: f64| beside(x, s.replicated[2] - s.replicated[0]);
        let verdict = if s.is_usual() { "usual" } else { "outside" };
        let [low, middle, high] = s.replicated.map(show);
        vec![s.name.clone(), show(s.observed), low, middle, high, verdict.to_owned()]
    });
    let note = "Summaries of the data among those of data sets drawn from the fitted model.".to_owned();
    Table { columns, rows: rows.collect(), note }
}

/// What to look for in a view of a check.
fn advice(check: &Check, view: &str) -> String {
    match check {
        Check::Predictive { rooted: true, .. } if view == "hanging" => {
            " Square roots make rare counts visible. Feet of the bars should be inside the intervals around 0, nineteen times in twenty; a bar that \
             does not reach 0 has fewer rows than expected."
                .to_owned()
        }
        Check::Predictive { .. } => " Bars should end inside the intervals, nineteen times in twenty.".to_owned(),
        Check::Calibration { left_out, .. } => {
            format!(" Intervals should meet the diagonal, nineteen times in twenty. {}", summary::predicted(*left_out))
        }
        Check::Residuals { .. } => {
            " There should be no pattern, and about one row in twenty beyond ±2.".to_owned()
        }
        Check::Pit(facts) => {
            let level = significant(100.0 * facts.level, 2);
            let band = match view {
                "histogram" => format!(
                    "The {} bars stay in their intervals all at once for {level} % of samples of independent uniforms, or more (Bonferroni).",
                    facts.bins.len()
                ),
                _ => format!(
                    "The band is simultaneous: at its {} places all at once, it holds {level} % of samples of {} independent uniforms, or more; \
                     computed exactly, by recursion over the counts.",
                    facts.band.len(),
                    grouped(facts.rows)
                ),
            };
            let shape = "Values in the middle too often mean predictions that are too wide, at the ends too narrow.";
            format!(" {band} {shape} {}", summary::predicted(facts.left_out))
        }
        Check::Statistics { .. } => String::new(),
    }
}

fn sentence(label: &str) -> String {
    let mut letters = label.chars();
    letters.next().map_or(String::new(), |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
}
