//! What happened when, in a file beside the fit.

use std::fs::File;
use std::io::Write;
use std::time::Instant;

use provi_analysis::record::store::Store;

/// A text file that takes lines as they come; none where there is no folder.
#[derive(Debug)]
pub(crate) struct Log {
    file: Option<File>,
    begin: Instant,
}

impl Log {
    /// Opened at its end, so that a run taken up again goes on below what was there.
    pub(crate) fn new(store: Option<&Store>) -> Self {
        let path = store.map(Store::log_path);
        let file = path.and_then(|path| File::options().create(true).append(true).open(path).ok());
        Self { file, begin: Instant::now() }
    }

    /// One line, with the seconds since the beginning. A log that cannot be written stops nothing.
    pub(crate) fn say(&mut self, text: &str) {
        let seconds = self.begin.elapsed().as_secs_f64();
        if let Some(file) = &mut self.file
            && writeln!(file, "{seconds:10.3}  {text}").is_err()
        {
            self.file = None;
        }
    }
}
