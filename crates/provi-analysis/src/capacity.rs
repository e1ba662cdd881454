//! Checks that memory suffices before it is allocated, because a failed allocation ends the process.

use provi::memory::Bytes;
use provi_table::available_memory;

use crate::error::{Error, Result};

/// More bytes than any machine has.
const MOST: u64 = 1 << 46;

/// Refuses `what` if it needs more memory than could be allocated. If the system does not say how much that is,
/// refuses only what no machine has.
pub fn refuse_beyond(what: impl FnOnce() -> String, needed: u128) -> Result<()> {
    let available = available().unwrap_or(MOST);
    match needed > u128::from(available) {
        true => Err(Error::Room {
            what: what(),
            needed: Bytes(u64::try_from(needed).unwrap_or(u64::MAX)),
            available: Bytes(available),
        }),
        false => Ok(()),
    }
}

/// Bytes that could be allocated, if the system says so. The smallest of: the machine's free memory, what the group
/// of processes (as in a container) may still use, and what `ulimit -v` leaves.
fn available() -> Option<u64> {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let in_group = |name: &str| read(&format!("/sys/fs/cgroup/{name}"));
    let of_group = in_group("memory.max")
        .zip(in_group("memory.current"))
        .and_then(|(most, used)| group(&most, &used, &in_group("memory.stat").unwrap_or_default()));
    let of_process = read("/proc/self/limits")
        .zip(read("/proc/self/status"))
        .and_then(|(most, used)| process(&most, &used));
    [available_memory(), of_group, of_process].into_iter().flatten().min()
}

/// What this process may still allocate; `None` without a limit.
fn process(limits: &str, status: &str) -> Option<u64> {
    let most = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let most: u64 = most.split_whitespace().next()?.parse().ok()?;
    let used = status.lines().find_map(|line| line.strip_prefix("VmSize:"))?;
    let used = used.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?;
    Some(most.saturating_sub(used.saturating_mul(1024)))
}

/// What a group of processes may still use; `None` without a limit. Cached files count as free, since the system
/// drops them when memory is needed.
fn group(most: &str, used: &str, stat: &str) -> Option<u64> {
    let (most, used): (u64, u64) = (most.trim().parse().ok()?, used.trim().parse().ok()?);
    let files = stat.lines().find_map(|line| line.strip_prefix("inactive_file ")?.trim().parse::<u64>().ok());
    Some(most.saturating_sub(used.saturating_sub(files.unwrap_or(0))))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_container_leaves_what_it_has_not_used() {
        assert_eq!(super::group("max\n", "5\n", ""), None);
        assert_eq!(super::group("100\n", "40\n", "anon 30\ninactive_file 10\n"), Some(70));
        assert_eq!(super::group("100\n", "140\n", ""), Some(0));
    }

    #[test]
    fn a_limit_of_the_process_counts() {
        let limits =
            "Limit  Soft Limit  Hard Limit  Units\nMax address space         4096000  unlimited  bytes\n";
        assert_eq!(super::process(limits, "Name: x\nVmSize:\t    1000 kB\n"), Some(4096000 - 1024000));
        assert_eq!(super::process(&limits.replace("4096000", "unlimited"), "VmSize: 1 kB\n"), None);
    }

    #[test]
    fn what_no_machine_has_is_refused_with_the_numbers() {
        super::refuse_beyond(|| "1 draw".to_owned(), 100).unwrap();
        let said = super::refuse_beyond(|| "10 draws".to_owned(), u128::MAX).unwrap_err().to_string();
        assert!(said.starts_with("10 draws need about 18447 PB, and "), "{said}");
    }
}
