//! What a run will need beside what the machine has.

use provi::Target;
use provi::auto::Choice;
use provi::memory::{Forecast, Size};
use provi::subsample::Subsample;

use crate::error::Result;

/// The forecast in a line for so many draws a step, the same on every machine; refused if it does not fit into this one.
pub fn forecast(
    target: &dyn Target,
    choice: Choice,
    draws: usize,
    subsample: Option<Subsample>,
    audit: bool,
) -> Result<String> {
    let size = Size { draws, subsample, audit, ..Size::of(target) };
    let forecast = Forecast::new(choice, &size);
    forecast.check(available())?;
    Ok(forecast.to_string())
}

/// Bytes that could be allocated without swapping, where the system says so.
fn available() -> Option<u64> {
    parse(&std::fs::read_to_string("/proc/meminfo").ok()?)
}

fn parse(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    #[test]
    fn available_memory_is_read_from_its_line_or_unknown() {
        let text = "MemTotal:       24576 kB\nMemAvailable:    2048 kB\nBuffers:  1 kB\n";
        assert_eq!(super::parse(text), Some(2048 * 1024));
        assert_eq!(super::parse("MemTotal: 1 kB"), None);
        assert_eq!(super::parse("MemAvailable: much kB"), None);
    }
}
