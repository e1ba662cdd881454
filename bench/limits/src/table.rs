//! The rows that are printed: a kernel, its limit, the ratio, and the bar where there is one.

/// One measured kernel beside what bounds it.
pub(crate) struct Row {
    pub(crate) kernel: String,
    /// Nanoseconds.
    pub(crate) time: f64,
    pub(crate) limit: String,
    /// Nanoseconds.
    pub(crate) limit_time: f64,
    /// The most that time/limit may be.
    pub(crate) bar: Option<f64>,
}

impl Row {
    pub(crate) fn new(
        kernel: impl Into<String>,
        time: f64,
        limit: impl Into<String>,
        limit_time: f64,
    ) -> Self {
        Self { kernel: kernel.into(), time, limit: limit.into(), limit_time, bar: None }
    }

    pub(crate) fn bar(mut self, most: f64) -> Self {
        self.bar = Some(most);
        self
    }

    fn ratio(&self) -> f64 {
        self.time / self.limit_time
    }

    pub(crate) fn is_missed(&self) -> bool {
        self.bar.is_some_and(|most| self.ratio() > most)
    }
}

/// The head of the table, in markdown, so that a run can be kept as it is.
pub(crate) fn head() {
    println!("| kernel | time | limit, same run | its time | ratio | bar |");
    println!("|---|---|---|---|---|---|");
}

pub(crate) fn print(row: &Row) {
    let bar = match row.bar {
        None => String::new(),
        Some(most) => format!("≤ {most}{}", if row.is_missed() { " **missed**" } else { "" }),
    };
    println!(
        "| {} | {} | {} | {} | {:.2} | {bar} |",
        row.kernel,
        duration(row.time),
        row.limit,
        duration(row.limit_time),
        row.ratio()
    );
}

/// Three digits and a unit.
fn duration(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "µs"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {unit}")
}
