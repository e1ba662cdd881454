//! How a run is going, on standard error: a bar on a terminal, a line every few seconds elsewhere.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use provi::fit::Snapshot;

use crate::output::number::grouped;

/// Between two lines where there is no terminal.
const EVERY: Duration = Duration::from_secs(5);

pub(crate) enum Progress {
    Hidden,
    Bar(ProgressBar),
    Lines { begin: Instant, last: Instant },
}

impl Progress {
    pub(crate) fn new(quiet: bool, steps: u64) -> Self {
        if quiet {
            Self::Hidden
        } else if std::io::stderr().is_terminal() {
            let bar = ProgressBar::new(steps);
            let style = ProgressStyle::with_template(
                "{bar:20} {percent:>3}%  step {human_pos} of {human_len}  {msg}  {eta} left",
            );
            if let Ok(style) = style {
                bar.set_style(style.progress_chars("━╸ "));
            }
            bar.enable_steady_tick(Duration::from_millis(200));
            Self::Bar(bar)
        } else {
            let now = Instant::now();
            Self::Lines { begin: now, last: now }
        }
    }

    pub(crate) fn show(&mut self, at: &Snapshot) {
        let elbo = -at.neg_elbo;
        match self {
            Self::Hidden => {}
            Self::Bar(bar) => {
                bar.set_length(at.steps);
                bar.set_position(at.step);
                bar.set_message(format!("ELBO ≈ {elbo:.2}"));
            }
            Self::Lines { begin, last } if last.elapsed() >= EVERY => {
                *last = Instant::now();
                let (step, steps, seconds) =
                    (grouped(at.step), grouped(at.steps), begin.elapsed().as_secs_f64());
                eprintln!("step {step} of {steps}, ELBO ≈ {elbo:.2}, {seconds:.0} s");
            }
            Self::Lines { .. } => {}
        }
    }

    pub(crate) fn finish(&mut self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}
