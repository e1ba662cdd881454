//! What is in a folder when a process ends anywhere.

use super::*;
use crate::model::Data;
use crate::options::{ModelOptions, RunOptions};
use crate::{Analysis, Fitted};
use provi::fit::Watch;

fn fitted(seed: u64) -> Fitted {
    let data = Data::new(b"y,x\n0,1.5\n1,-0.3\n1,0.25\n0,0.5\n".to_vec(), "t.csv".to_owned());
    let analysis = Analysis::of(data, "y ~ x", &ModelOptions::default()).unwrap();
    let options = RunOptions { steps: Some(20), seed: Some(seed), ..RunOptions::default() };
    analysis.problem().fit(&options, &mut Watch::default()).unwrap()
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
    let mut all: Vec<String> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
    all.sort();
    all
}

fn draws(which: &str) -> Vec<(String, Vec<u8>)> {
    vec![("zarr.json".to_owned(), b"{}".to_vec()), (which.to_owned(), vec![1])]
}

/// A folder with the fit of seed 1, a report and somebody's notes.
fn first() -> (tempfile::TempDir, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("x.fit");
    let store = Store::open(&dir, false).unwrap();
    store.begin("seed = 1\n").unwrap();
    fs::write(store.log_path(), "first\n").unwrap();
    let fit = fitted(1);
    store.save(&fit.file, &fit.gaussian, &draws("one")).unwrap();
    fs::write(dir.join("report.html"), "old").unwrap();
    fs::write(dir.join("notes.txt"), "mine").unwrap();
    (root, dir)
}

/// Which fit the folder holds: its seed, by every file that tells.
fn held(dir: &Path) -> u64 {
    let seed = Fitted::load(dir).unwrap().file.seed;
    let word = if seed == 1 { "one" } else { "two" };
    assert!(dir.join(DRAWS).join(word).exists(), "the draws are of another fit");
    assert_eq!(fs::read_to_string(dir.join(RUN)).unwrap(), format!("seed = {seed}\n"));
    assert_eq!(dir.join("report.html").exists(), seed == 1, "a report stays with its fit");
    assert_eq!(fs::read_to_string(dir.join("notes.txt")).unwrap(), "mine");
    seed
}

#[test]
fn a_run_over_a_fit_leaves_it_alone_until_its_own_is_whole() {
    let (_root, dir) = first();
    assert!(matches!(Store::open(&dir, false), Err(Error::FitExists { .. })));
    let store = Store::open(&dir, true).unwrap();
    assert!(matches!(Store::open(&dir, true), Err(Error::Busy { .. })));
    store.begin("seed = 2\n").unwrap();
    fs::write(store.log_path(), "second\n").unwrap();
    assert_eq!(held(&dir), 1);
    drop(store);
    assert_eq!(held(&dir), 1, "killed here");
    let (store, from) = Store::reopen(&dir).unwrap();
    assert!(from.is_none());
    assert_eq!(fs::read_to_string(store.run_path()).unwrap(), "seed = 2\n");
    let fit = fitted(2);
    store.save(&fit.file, &fit.gaussian, &draws("two")).unwrap();
    assert_eq!(held(&dir), 2);
    assert_eq!(fs::read_to_string(dir.join(LOG)).unwrap(), "second\n");
    drop(store);
    assert_eq!(names(&dir), ["draws.zarr", "fit.json", "log.txt", "notes.txt", "run.toml"]);
}

#[test]
fn after_the_rename_that_decides_a_kill_anywhere_leaves_the_new_fit() {
    // Before each system call of the settling, as if the process had ended there: whoever reads does the rest.
    for done in 0..6 {
        let (_root, dir) = first();
        let store = Store::open(&dir, true).unwrap();
        store.begin("seed = 2\n").unwrap();
        let (fit, work) = (fitted(2), dir.join(UNFINISHED));
        write_folder(&work.join(DRAWS), &draws("two")).unwrap();
        fs::write(work.join(CHECKPOINT), "old").unwrap();
        fs::write(work.join(FIT), fit.file.to_json()).unwrap();
        drop(store);
        assert_eq!(held(&dir), 1, "all is made, nothing decided");
        fs::rename(&work, dir.join(WHOLE[0])).unwrap();
        if done >= 1 {
            remove(&dir.join("report.html")).unwrap();
        }
        if done >= 2 {
            remove(&dir.join(LOG)).unwrap();
            remove(&dir.join(WHOLE[0]).join(CHECKPOINT)).unwrap();
            fs::rename(dir.join(WHOLE[0]), dir.join(MOVING)).unwrap();
        }
        if done >= 3 {
            fs::rename(dir.join(MOVING).join(RUN), dir.join(RUN)).unwrap();
        }
        if done >= 4 {
            fs::remove_dir_all(dir.join(DRAWS)).unwrap();
        }
        if done >= 5 {
            fs::rename(dir.join(MOVING).join(DRAWS), dir.join(DRAWS)).unwrap();
        }
        assert_eq!(held(&dir), 2, "{done}");
        assert_eq!(names(&dir), ["draws.zarr", "fit.json", "notes.txt", "run.toml"], "{done}");
    }
}

#[test]
fn a_fit_of_a_program_replaces_the_run_of_the_command_too() {
    let (_root, dir) = first();
    let fit = fitted(2);
    assert!(fit.save(&dir, false).is_err());
    fit.save(&dir, true).unwrap();
    assert_eq!(Fitted::load(&dir).unwrap().file.seed, 2);
    assert_eq!(names(&dir), ["fit.json", "notes.txt"]);
}

#[test]
fn what_was_in_a_folder_before_any_fit_stays() {
    let root = tempfile::tempdir().unwrap();
    for name in ["report.html", "log.txt", "data.csv"] {
        fs::write(root.path().join(name), "mine").unwrap();
    }
    fitted(1).save(root.path(), false).unwrap();
    assert_eq!(names(root.path()), ["data.csv", "fit.json", "log.txt", "report.html"]);
}

#[test]
fn a_run_that_can_go_on_is_not_begun_anew_by_mistake() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("x.fit");
    Store::open(&dir, false).unwrap().begin("seed = 1\n").unwrap();
    Store::open(&dir, false).unwrap().begin("seed = 1\n").unwrap();
    fs::write(dir.join(CHECKPOINT), "much work").unwrap();
    assert!(matches!(Store::open(&dir, false), Err(Error::RunExists { .. })));
    Store::open(&dir, true).unwrap().begin("seed = 1\n").unwrap();
    assert_eq!(names(&dir), ["run.toml"]);
}
