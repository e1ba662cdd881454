//! A library that crashes takes only the probing process with it.

use crate::libraries::bridgestan;
use provi_ffi::probe::{Kind, Request, check, child};
use provi_ffi::{Error, StanModel};
use std::path::PathBuf;
use std::process::Command;

/// Not a test of its own: the process that [`check`] starts ends here.
#[test]
fn the_child() {
    if std::env::var_os("PROVI_PROBE_CHILD").is_some() {
        let words: Vec<String> = std::env::args().collect();
        let [kind, path, seed] = &words[words.len() - 3..] else { unreachable!() };
        child(kind, path.as_ref(), seed).unwrap();
    }
}

fn probed(path: PathBuf, data: Option<&str>) -> Result<(), Error> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env("PROVI_PROBE_CHILD", "1").args(["--nocapture", "--exact", "probe::the_child"]);
    check(command, &Request { kind: Kind::Stan, path, data: data.map(str::to_owned), seed: 1 })
}

#[test]
fn a_segfault_is_reported_with_its_stage_and_its_signal() {
    let data = r#"{"x": [1, 2], "y": [1, 2], "mode": "segfault"}"#;
    let error = probed(bridgestan(""), Some(data)).unwrap_err();
    let Error::Crashed { stage, how, .. } = &error else { panic!("{error}") };
    assert_eq!(stage, "evaluating the density");
    assert_eq!(how, "signal 11, segmentation fault");
}

#[test]
fn libraries_that_do_not_crash_pass_and_say_their_errors_when_opened() {
    let data = r#"{"x": [1, 2], "y": [1, 2]}"#;
    probed(bridgestan(""), Some(data)).unwrap();
    for path in [bridgestan("other_version"), bridgestan(""), "nowhere.so".into()] {
        probed(path.clone(), None).unwrap();
        assert!(StanModel::open(&path, None, 1).is_err());
    }
}
