//! Ctrl-C: the first asks a run to end with what it has, the second ends the process.

use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

/// From here on ctrl-C raises the flag that is returned. Without a handler, as in some containers, ctrl-C ends
/// the process as ever.
pub(crate) fn watch() -> &'static AtomicBool {
    let _ = ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        eprintln!("\nending with what there is; ctrl-C again aborts");
    });
    &ASKED
}
