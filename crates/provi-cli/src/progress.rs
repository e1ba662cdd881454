//! How a run is going, on standard error: a bar on a terminal, a line every few seconds elsewhere; and in the log.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use provi::fit::Snapshot;
use provi_analysis::words::number::{bound, grouped};

use crate::log::Log;

/// Between two lines where there is no terminal.
const EVERY: Duration = Duration::from_secs(5);
/// Between two lines of the log.
const LOG_EVERY: Duration = Duration::from_secs(1);

pub(crate) struct Progress {
    face: Face,
    log: Log,
    logged: Option<Instant>,
    begin: Instant,
    /// The first step seen, and when: a run taken up again did not make the steps before it.
    first: Option<(u64, Instant)>,
}

/// What the user sees.
enum Face {
    Hidden,
    Bar(ProgressBar),
    Lines { last: Instant },
}

impl Progress {
    pub(crate) fn new(quiet: bool, steps: u64, log: Log) -> Self {
        let begin = Instant::now();
        let face = if quiet {
            Face::Hidden
        } else if std::io::stderr().is_terminal() {
            let bar = ProgressBar::new(steps);
            let style = ProgressStyle::with_template(
                "{bar:20} {percent:>3}%  step {human_pos} of {human_len}  {msg}  {eta} left",
            );
            if let Ok(style) = style {
                bar.set_style(style.progress_chars("━╸ "));
            }
            bar.enable_steady_tick(Duration::from_millis(200));
            Face::Bar(bar)
        } else {
            Face::Lines { last: begin }
        };
        Self { face, log, logged: None, begin, first: None }
    }

    pub(crate) fn show(&mut self, at: &Snapshot) {
        let (first, since) = *self.first.get_or_insert((at.step, Instant::now()));
        let rate = at.step.saturating_sub(first) as f64 / since.elapsed().as_secs_f64();
        let value = value(at);
        if self.logged.is_none_or(|last| last.elapsed() >= LOG_EVERY) || at.step == at.steps {
            self.logged = Some(Instant::now());
            self.log.say(&format!("step {} of {}, {value}", at.step, at.steps));
        }
        match &mut self.face {
            Face::Hidden => {}
            Face::Bar(bar) => {
                bar.set_length(at.steps);
                bar.set_position(at.step);
                bar.set_message(format!("{value}{}", speed(rate)));
            }
            Face::Lines { last } if last.elapsed() >= EVERY => {
                *last = Instant::now();
                let (step, steps) = (grouped(at.step), grouped(at.steps));
                let seconds = self.begin.elapsed().as_secs_f64();
                let left = left(at, rate);
                eprintln!("step {step} of {steps}, {value}{}, {seconds:.0} s{left}", speed(rate));
            }
            Face::Lines { .. } => {}
        }
    }

    /// Between the draws of the audit.
    pub(crate) fn show_audit(&mut self, made: u64, wanted: u64) {
        match &mut self.face {
            Face::Hidden => {}
            Face::Bar(bar) => {
                if let Ok(style) = ProgressStyle::with_template(
                    "{bar:20} {percent:>3}%  certifying: draw {human_pos} of {human_len}  {eta} left",
                ) {
                    bar.set_style(style.progress_chars("━╸ "));
                }
                bar.set_length(wanted);
                bar.set_position(made);
            }
            Face::Lines { last } if last.elapsed() >= EVERY => {
                *last = Instant::now();
                let seconds = self.begin.elapsed().as_secs_f64();
                eprintln!("certifying: draw {} of {}, {seconds:.0} s", grouped(made), grouped(wanted));
            }
            Face::Lines { .. } => {}
        }
    }

    pub(crate) fn finish(&mut self, outcome: &str) {
        self.log.say(outcome);
        if let Face::Bar(bar) = &self.face {
            bar.finish_and_clear();
        }
    }
}

/// The ELBO, and the gap where it is proved on the way.
fn value(at: &Snapshot) -> String {
    let gap = at
        .gap
        .filter(|gap| gap.is_finite())
        .map_or(String::new(), |gap| format!(", gap ≤ {}", bound(gap, 2)));
    let about = if at.gap.is_some() { "=" } else { "≈" };
    format!("ELBO {about} {:.2}{gap}", -at.neg_elbo)
}

fn speed(rate: f64) -> String {
    match rate {
        r if !r.is_finite() || r <= 0.0 => String::new(),
        r if r >= 10.0 => format!(", {} steps/s", grouped(r as u64)),
        r => format!(", {r:.1} steps/s"),
    }
}

fn left(at: &Snapshot, rate: f64) -> String {
    let seconds = at.steps.saturating_sub(at.step) as f64 / rate;
    if seconds.is_finite() { format!(", about {seconds:.0} s left") } else { String::new() }
}
