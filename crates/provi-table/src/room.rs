//! How much memory is free, and reading no more than it holds.

use std::{fs, io::Read};

use crate::error::{BadFile, Error, Result};

/// The most bytes that are read of a stream, even if there is more memory: 4 GiB.
const MOST_OF_A_STREAM: u64 = 4 << 30;

/// The most bytes of the first line of a text stream: a longer line is not a table's.
const LONGEST_HEADER: usize = 64 << 20;

/// Bytes that could be allocated without swapping, if the system says so: free memory, within the limits of the
/// control group and of the process.
pub fn available_memory() -> Option<u64> {
    let text = |path: &str| fs::read_to_string(path).ok();
    let free = text("/proc/meminfo").and_then(|text| free(&text));
    let group = group_room(
        text("/sys/fs/cgroup/memory.max").as_deref(),
        text("/sys/fs/cgroup/memory.current").as_deref(),
        text("/sys/fs/cgroup/memory.stat").as_deref(),
    );
    let own = process_room(text("/proc/self/limits").as_deref(), text("/proc/self/statm").as_deref());
    [free, group, own].into_iter().flatten().min()
}

fn free(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// What is left of a control group's limit; cached files that can be dropped count as free.
fn group_room(max: Option<&str>, current: Option<&str>, stat: Option<&str>) -> Option<u64> {
    let max: u64 = max?.trim().parse().ok()?;
    let used: u64 = current?.trim().parse().ok()?;
    let cached = stat.and_then(|stat| stat.lines().find_map(|line| line.strip_prefix("inactive_file ")));
    let cached: u64 = cached.and_then(|bytes| bytes.trim().parse().ok()).unwrap_or(0);
    Some(max.saturating_sub(used.saturating_sub(cached)))
}

/// What is left of a process's limit on its address space.
fn process_room(limits: Option<&str>, statm: Option<&str>) -> Option<u64> {
    let line = limits?.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let limit: u64 = line.split_whitespace().next()?.parse().ok()?;
    let pages: u64 = statm?.split_whitespace().next()?.parse().ok()?;
    Some(limit.saturating_sub(pages.saturating_mul(4096)))
}

/// Bytes of a file that may be held as a whole: the table made from them takes about three times as much.
pub(crate) fn room_for_bytes() -> u64 {
    available_memory().map_or(u64::MAX, |bytes| bytes / 4)
}

/// Reads a file to its end, if it fits; `name` is for messages.
pub fn read_file(path: &std::path::Path, name: &str) -> Result<Vec<u8>> {
    let refuse = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::File(BadFile::NotFound { path: name.to_owned() }),
        _ => Error::File(BadFile::Unreadable { table: name.to_owned(), reason: error.to_string() }),
    };
    let file = fs::File::open(path).map_err(refuse)?;
    let metadata = file.metadata().map_err(refuse)?;
    if !metadata.is_file() && !metadata.is_dir() {
        return read_stream(file, name);
    }
    let most = room_for_bytes();
    match metadata.len() > most {
        true => Err(Error::File(BadFile::NoRoom { table: name.to_owned(), bytes: metadata.len(), most })),
        false => read_at_most(file, name, most, usize::MAX),
    }
}

/// Reads a stream, such as standard input, to its end; one that does not end is refused. `name` is for messages.
pub fn read_stream(reader: impl Read, name: &str) -> Result<Vec<u8>> {
    read_at_most(reader, name, room_for_bytes().min(MOST_OF_A_STREAM), LONGEST_HEADER)
}

/// Reads to the end, but at most `most` bytes, and no first line of text longer than `longest`.
pub(crate) fn read_at_most(mut reader: impl Read, name: &str, most: u64, longest: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut line_ends = false;
    loop {
        let before = bytes.len();
        // In parts, so that an endless stream is noticed early.
        let stretch = (bytes.len() as u64).max(1 << 20).min(most.saturating_add(1) - bytes.len() as u64);
        let read = (&mut reader).take(stretch).read_to_end(&mut bytes);
        let read = read.map_err(|error| {
            Error::File(BadFile::Unreadable { table: name.to_owned(), reason: error.to_string() })
        })?;
        if read == 0 {
            return Ok(bytes);
        }
        if bytes.len() as u64 > most {
            return Err(Error::File(BadFile::Endless { table: name.to_owned(), most }));
        }
        line_ends |= bytes[before..].iter().any(|byte| matches!(byte, b'\n' | b'\r'));
        let is_text = !bytes.starts_with(b"PAR1") && !bytes.starts_with(crate::read::GZIP);
        if is_text && !line_ends && bytes.len() > longest {
            let table = name.to_owned();
            return Err(crate::BadShards::Record { table, line: 1, longest }.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, repeat};

    use super::*;

    #[test]
    fn available_memory_is_read_from_its_line_or_unknown() {
        let text = "MemTotal:       24576 kB\nMemAvailable:    2048 kB\nBuffers:  1 kB\n";
        assert_eq!(free(text), Some(2048 * 1024));
        assert_eq!(free("MemTotal: 1 kB"), None);
        assert_eq!(free("MemAvailable: much kB"), None);
    }

    #[test]
    fn limits_of_the_group_and_the_process_count() {
        assert_eq!(group_room(Some("1000\n"), Some("700\n"), Some("anon 1\ninactive_file 200\n")), Some(500));
        assert_eq!(group_room(Some("1000"), Some("700"), None), Some(300));
        assert_eq!(group_room(Some("max\n"), Some("700"), None), None);
        let limits = "Max address space         1048576000           unlimited            bytes     \n";
        assert_eq!(process_room(Some(limits), Some("1000 5 5")), Some(1_048_576_000 - 4_096_000));
        assert_eq!(process_room(Some("Max address space  unlimited unlimited bytes"), Some("1 1")), None);
    }

    #[test]
    fn a_stream_without_an_end_is_refused_at_its_bound() {
        let zeros = read_at_most(repeat(0), "zeros", u64::MAX >> 1, 4 << 20).unwrap_err();
        assert_eq!(
            zeros.to_string(),
            "the record that starts on line 1 of `zeros` is longer than 4 MiB; a quote is not closed there, or the lines \
             are no rows"
        );
        let endless = read_at_most(Lines, "yes", 8 << 20, 4 << 20).unwrap_err();
        assert_eq!(endless, Error::File(BadFile::Endless { table: "yes".into(), most: 8 << 20 }));
        let whole = read_at_most(Cursor::new(vec![b'\n'; 8 << 20]), "blank", 8 << 20, 1).unwrap();
        assert_eq!(whole.len(), 8 << 20);
    }

    /// `y` and a line break, for ever.
    struct Lines;

    impl Read for Lines {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            buffer
                .iter_mut()
                .enumerate()
                .for_each(|(i, byte)| *byte = if i.is_multiple_of(2) { b'y' } else { b'\n' });
            Ok(buffer.len())
        }
    }
}
