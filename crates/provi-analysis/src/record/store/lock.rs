//! One writer at a time: a lock of the operating system on a file in the folder.
//!
//! Such a lock ends with its process, however the process ends, so no lock is ever left behind. The file may be
//! left, and blocks nothing.

use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The file that is locked.
pub(super) const LOCK: &str = ".lock";

/// A folder to which no other process writes while this value lives.
#[derive(Debug)]
pub(super) struct Lock {
    path: PathBuf,
    /// `None` if the file system has no locks.
    file: Option<File>,
    /// Whether this process created the folder; if no fit begins, it is removed again.
    made: bool,
}

impl Lock {
    /// Creates the folder if necessary, and locks it. An error if another process holds the lock.
    pub(super) fn take(dir: &Path) -> Result<Self> {
        let refuse = |error: &std::io::Error| Error::write(dir, error);
        let path = dir.join(LOCK);
        loop {
            let made = !dir.exists();
            fs::create_dir_all(dir).map_err(|error| refuse(&error))?;
            let open = File::options().create(true).read(true).write(true).truncate(false).open(&path);
            let mut file = match open {
                Ok(file) => file,
                // The previous holder has just removed the folder together with the file.
                Err(error) if error.kind() == ErrorKind::NotFound && !dir.exists() => continue,
                Err(error) => return Err(refuse(&error)),
            };
            match file.try_lock() {
                // The previous holder may have removed the file in between: the lock would then be on a file
                // without a name.
                Ok(()) if !is_at(&file, &path) => {}
                Ok(()) => {
                    // For the message to processes that are refused; nothing else depends on it.
                    let _ = file
                        .set_len(0)
                        .and_then(|()| file.rewind())
                        .and_then(|()| write!(file, "{}", std::process::id()));
                    return Ok(Self { path, file: Some(file), made });
                }
                Err(TryLockError::WouldBlock) => {
                    let mut text = String::new();
                    let process = file.read_to_string(&mut text).ok().and_then(|_| text.trim().parse().ok());
                    return Err(Error::Busy { path: dir.to_owned(), process });
                }
                Err(TryLockError::Error(_)) => return Ok(Self { path, file: None, made }),
            }
        }
    }

    /// Waits for the lock of an existing folder; for short operations.
    pub(super) fn wait(dir: &Path) -> std::io::Result<Self> {
        let path = dir.join(LOCK);
        loop {
            let file = File::options().create(true).read(true).write(true).truncate(false).open(&path)?;
            file.lock()?;
            if is_at(&file, &path) {
                return Ok(Self { path, file: Some(file), made: false });
            }
        }
    }

    /// Whether the file system has locks and this one is held.
    pub(super) fn is_held(&self) -> bool {
        self.file.is_some()
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Removed while it is held: a process that opened it before notices that the file has lost its name, and
        // opens it again.
        if cfg!(unix) || self.file.is_none() {
            let _ = fs::remove_file(&self.path);
        }
        if let (true, Some(dir)) = (self.made, self.path.parent()) {
            // This removes the folder only if it is empty.
            let _ = fs::remove_dir(dir);
        }
    }
}

/// Whether that file still has that name.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(held), Ok(named)) => (held.dev(), held.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

/// On other systems the file is never removed.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_writer_and_what_one_left_behind_blocks_nobody() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("a/x.fit");
        let first = Lock::take(&dir).unwrap();
        let refused = Lock::take(&dir).unwrap_err().to_string();
        assert!(refused.contains(&format!("process {}", std::process::id())), "{refused}");
        drop(first);
        assert!(!dir.exists(), "a folder that was made for nothing is gone");

        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join(LOCK), "12345").unwrap();
        let second = Lock::take(&dir).unwrap();
        assert!(second.is_held());
        drop(second);
        assert!(dir.exists() && (!cfg!(unix) || !dir.join(LOCK).exists()));
    }

    #[test]
    fn of_many_threads_one_at_a_time_is_inside() {
        use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
        let dir = tempfile::tempdir().unwrap();
        let (inside, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        if let Ok(lock) = Lock::take(dir.path()) {
                            assert_eq!(inside.fetch_add(1, SeqCst), 0);
                            taken.fetch_add(1, SeqCst);
                            inside.fetch_sub(1, SeqCst);
                            drop(lock);
                        }
                    }
                });
            }
        });
        assert!(taken.into_inner() > 0);
    }
}
