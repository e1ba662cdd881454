//! Ctrl-C: the first asks a run to end with what it has, the second ends the process.

use std::path::Path;
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

/// The same for one of several processes. When a process dies, `mpirun` tells the others to end: they wait for it inside a
/// sum and cannot be asked, so they end at once. The first of them say where the run can be taken up: there are two, as the
/// dead one may be the very first.
pub(crate) fn watch_among(rank: usize, size: usize, folder: Option<&Path>) -> &'static AtomicBool {
    let resume = match folder {
        Some(folder) => {
            let folder = folder.display();
            format!("its last checkpoint is in {folder}; to go on: provi fit --resume {folder} --distributed")
        }
        None => "it kept no checkpoint, having no --out".to_owned(),
    };
    let _ = ctrlc::set_handler(move || {
        if rank < 2 {
            eprintln!("rank {rank} of {size} was told to end, and ends this run; {resume}");
        }
        std::process::exit(130);
    });
    &ASKED
}
