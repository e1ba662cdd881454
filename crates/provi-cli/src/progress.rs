//! The progress of a run: on standard error, as a bar on a terminal or a line every few seconds; and in the log.

use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use provi::fit::Snapshot;
use provi_analysis::number::{bound, grouped};

use crate::interrupt;
use crate::log::Log;

/// Time between two lines if there is no terminal.
const EVERY: Duration = Duration::from_secs(5);
/// Time between two lines of the log.
const LOG_EVERY: Duration = Duration::from_secs(1);

/// Time between two lines once a stop is wanted; with the time between two checks, less than a second of silence.
const EVERY_LAST: Duration = Duration::from_millis(700);

/// When anything was last printed, and the bar if there is one.
static SAID: Mutex<(Option<Instant>, Option<ProgressBar>)> = Mutex::new((None, None));

fn say_now() {
    SAID.lock().unwrap_or_else(PoisonError::into_inner).0 = Some(Instant::now());
}

/// Prints the current phase while nothing else is printed, as during a search for scales or for a mode. Ends when
/// dropped.
pub(crate) struct Heartbeat(Option<Sender<()>>);

impl Heartbeat {
    pub(crate) fn new(quiet: bool, deadline: Option<Instant>) -> Self {
        if quiet {
            return Self(None);
        }
        let (send, receive) = channel();
        let begin = Instant::now();
        say_now();
        let beat = move || {
            while let Err(RecvTimeoutError::Timeout) = receive.recv_timeout(Duration::from_millis(100)) {
                let stop = interrupt::stop();
                let late = stop.is_asked() || deadline.is_some_and(|at| Instant::now() >= at);
                let (doing, every) = (stop.doing(), if late { EVERY_LAST } else { EVERY });
                let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
                if doing.is_empty() || said.0.is_some_and(|last| last.elapsed() < every) {
                    continue;
                }
                said.0 = Some(Instant::now());
                let seconds = begin.elapsed().as_secs_f64();
                match &said.1 {
                    Some(bar) => bar.set_message(format!("{doing}, {seconds:.0} s")),
                    None => eprintln!("{doing}, {seconds:.0} s"),
                }
            }
        };
        // If no thread can be started, this output is missing.
        let _ = std::thread::Builder::new().name("heartbeat".into()).spawn(beat);
        Self(Some(send))
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        drop(self.0.take());
    }
}

pub(crate) struct Progress {
    face: Face,
    log: Log,
    logged: Option<Instant>,
    begin: Instant,
    /// The first step seen, and when: a resumed run did not make the steps before it.
    first: Option<(u64, Instant)>,
}

/// The form of output.
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
            SAID.lock().unwrap_or_else(PoisonError::into_inner).1 = Some(bar.clone());
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
                say_now();
            }
            Face::Lines { last } if last.elapsed() >= EVERY => {
                *last = Instant::now();
                say_now();
                let (step, steps) = (grouped(at.step), grouped(at.steps));
                let seconds = self.begin.elapsed().as_secs_f64();
                let left = left(at, rate);
                eprintln!("step {step} of {steps}, {value}{}, {seconds:.0} s{left}", speed(rate));
            }
            Face::Lines { .. } => {}
        }
    }

    /// Shows progress between the draws of the audit.
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
                say_now();
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
            SAID.lock().unwrap_or_else(PoisonError::into_inner).1 = None;
        }
    }
}

/// The ELBO, and the gap if it is proved during the run.
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
