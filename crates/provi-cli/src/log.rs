//! A log of the run, in a file beside the fit.

use std::fs::File;
use std::io::Write;
use std::time::Instant;

use provi_analysis::record::store::Store;

/// A text file to which lines are appended; none if there is no folder.
#[derive(Debug)]
pub(crate) struct Log {
    file: Option<File>,
    begin: Instant,
}

impl Log {
    /// Opened at its end, so that a resumed run continues the log.
    pub(crate) fn new(store: Option<&Store>) -> Self {
        let path = store.map(Store::log_path);
        let file = path.and_then(|path| File::options().create(true).append(true).open(path).ok());
        Self { file, begin: Instant::now() }
    }

    /// Writes one line, with the seconds since the beginning. If the log cannot be written, the run goes on.
    pub(crate) fn say(&mut self, text: &str) {
        let seconds = self.begin.elapsed().as_secs_f64();
        if let Some(file) = &mut self.file
            && writeln!(file, "{seconds:10.3}  {text}").is_err()
        {
            self.file = None;
        }
    }
}
