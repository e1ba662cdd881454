//! Files and folders being written under a temporary name. An abort removes them, however far the writing has come.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The temporary files and folders of this process.
static ALL: Register = Register(Mutex::new(Vec::new()));

#[derive(Debug)]
struct Register(Mutex<Vec<PathBuf>>);

impl Register {
    fn lock(&self) -> MutexGuard<'_, Vec<PathBuf>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes all of them, and lets no thread create or rename one afterwards.
    fn close(&self) {
        let all = self.lock();
        all.iter().for_each(|path| remove(path));
        // Never unlocked: threads that still write wait here until the process ends.
        std::mem::forget(all);
    }
}

/// Removes what is half-written, before the process ends. From here on, every thread that goes on writing waits, so
/// call this only if the process ends next.
pub fn abandon() {
    ALL.close();
}

/// A temporary file or folder. It is removed when this value is dropped, unless it has been renamed.
#[derive(Debug)]
pub(crate) struct Unfinished<'a> {
    path: PathBuf,
    register: &'a Register,
}

impl Unfinished<'static> {
    /// At a path where nothing exists yet.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self::of(&ALL, path)
    }
}

impl<'a> Unfinished<'a> {
    fn of(register: &'a Register, path: PathBuf) -> Self {
        register.lock().push(path.clone());
        Self { path, register }
    }

    /// Creates, renames or removes it by `work`, which must be quick, because an abort waits for it. Writing needs
    /// no such care.
    pub(crate) fn change<T>(&self, work: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
        let _all = self.register.lock();
        work(&self.path)
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        let mut all = self.register.lock();
        remove(&self.path);
        all.retain(|path| *path != self.path);
    }
}

/// Best effort: a leftover file with such a name does no harm.
fn remove(path: &Path) {
    let _ = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::sync::mpsc;
    use std::thread;

    fn is_empty(dir: &Path) -> bool {
        fs::read_dir(dir).unwrap().next().is_none()
    }

    #[test]
    fn what_is_not_renamed_goes() {
        let dir = tempfile::tempdir().unwrap();
        let register = Register(Mutex::new(Vec::new()));
        let file = Unfinished::of(&register, dir.path().join("a.tmp"));
        file.change(|path| File::create(path)).unwrap();
        drop(file);
        assert!(is_empty(dir.path()) && register.lock().is_empty());
        let file = Unfinished::of(&register, dir.path().join("a.tmp"));
        file.change(|path| File::create(path)).unwrap();
        file.change(|path| fs::rename(path, dir.path().join("a"))).unwrap();
        drop(file);
        assert!(dir.path().join("a").exists() && register.lock().is_empty());
    }

    /// A writer that is in the middle of a file, one in the middle of a folder and one that has not begun: after an abort none of
    /// them changes anything any more.
    #[test]
    fn after_an_abort_nothing_half_written_is_left_and_nothing_appears() {
        let dir = tempfile::tempdir().unwrap();
        let register: &'static Register = Box::leak(Box::new(Register(Mutex::new(Vec::new()))));
        let (ready, waiting) = mpsc::channel();
        let (go, gone) = (mpsc::channel::<()>(), mpsc::channel::<()>());
        let writer = {
            let (ready, gone, place) = (ready.clone(), gone.1, dir.path().join("b"));
            let folder = Unfinished::of(register, dir.path().join("c.tmp"));
            folder.change(|path| fs::create_dir(path)).unwrap();
            folder.change(|path| File::create(path.join("inner"))).unwrap();
            let file = Unfinished::of(register, dir.path().join("b.tmp"));
            file.change(|path| File::create(path)).unwrap();
            move || {
                ready.send(()).unwrap();
                let _ = gone.recv();
                let _folder = folder;
                file.change(|path| fs::rename(path, &place)).unwrap();
                ready.send(()).unwrap();
            }
        };
        let beginner = {
            let (gone, path) = (go.1, dir.path().join("d.tmp"));
            move || {
                ready.send(()).unwrap();
                let _ = gone.recv();
                Unfinished::of(register, path).change(|path| File::create(path)).unwrap();
                ready.send(()).unwrap();
            }
        };
        thread::spawn(writer);
        thread::spawn(beginner);
        for _ in 0..2 {
            waiting.recv().unwrap();
        }
        register.close();
        for go in [go.0, gone.0] {
            go.send(()).unwrap();
        }
        // Both wait for ever: whether they were given a chance to run or not, nothing comes of it.
        thread::yield_now();
        assert!(is_empty(dir.path()) && waiting.try_recv().is_err());
    }
}
