//! The command from start to table, beside starting a process at all.

use crate::table::Row;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// `provi fit` on 1000 rows and 20 columns; nothing if the command is not built beside this program.
pub(crate) fn row() -> Option<Row> {
    let program =
        std::env::current_exe().ok()?.with_file_name(format!("provi{}", std::env::consts::EXE_SUFFIX));
    if !program.exists() {
        return None;
    }
    let table = std::env::temp_dir().join(format!("provi-limits-{}.csv", std::process::id()));
    std::fs::write(&table, csv()).ok()?;
    let fit = shortest(20, || {
        let mut command = Command::new(&program);
        command.arg("fit").arg(&table).args(["y ~ .", "--quiet"]);
        command
    });
    let start = shortest(20, || {
        let mut command = Command::new(&program);
        command.arg("--version");
        command
    });
    let _ = std::fs::remove_file(&table);
    Some(Row::new("`provi fit`, 1000 × 20, start to table", fit?, "`provi --version`", start?))
}

fn csv() -> String {
    let (entries, labels) = crate::gradient::data(1000, 20);
    let head = (0..20).map(|j| format!("x{j},")).collect::<String>() + "y\n";
    let rows = entries.chunks_exact(20).zip(labels).enumerate();
    rows.fold(head, |mut text, (n, (row, y))| {
        row.iter().for_each(|x| text.push_str(&format!("{x:.6},")));
        // Some labels against the rule, or the posterior would have no bound but the prior's.
        text.push_str(if (y > 0.5) == (n % 5 > 0) { "1\n" } else { "0\n" });
        text
    })
}

/// Nanoseconds of the fastest of `runs` that succeed.
fn shortest(runs: usize, mut command: impl FnMut() -> Command) -> Option<f64> {
    let mut best = None;
    for _ in 0..runs {
        let begin = Instant::now();
        let status = command().stdout(Stdio::null()).stderr(Stdio::null()).status().ok()?;
        let time = begin.elapsed().as_nanos() as f64;
        if !status.success() {
            return None;
        }
        best = Some(best.map_or(time, |b: f64| b.min(time)));
    }
    best
}

/// The most memory this process has held, in bytes, where the system says so.
pub(crate) fn peak_memory() -> Option<u64> {
    let text = std::fs::read_to_string(Path::new("/proc/self/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}
