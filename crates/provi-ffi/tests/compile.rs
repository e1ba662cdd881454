//! A `.stan` file compiled through a BridgeStan folder: one that stands for it, with a Makefile that puts the fixture where
//! BridgeStan's own would put the library.

use crate::libraries::imitation;
use provi::Target;
use provi_ffi::{Error, StanModel, compile};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const DATA: &str = r#"{"x": [-1, 0, 1], "y": [-0.8, 0.3, 0.9]}"#;

struct Workshop {
    _dir: tempfile::TempDir,
    bridgestan: PathBuf,
}

impl Workshop {
    /// With the model `m.stan` in a folder of that name; none where make is not installed.
    fn new(folder: &str) -> Option<(Self, PathBuf)> {
        let dir = tempfile::tempdir().unwrap();
        let bridgestan = imitation(dir.path())?;
        let folder = dir.path().join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        let model = folder.join("m.stan");
        std::fs::write(&model, "parameters { real alpha; }").unwrap();
        Some((Self { _dir: dir, bridgestan }, model))
    }

    fn compile(&self, model: &Path) -> provi_ffi::Result<PathBuf> {
        compile::compile(model, Some(&self.bridgestan))
    }

    /// How often the Makefile has built something, and with what.
    fn builds(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.bridgestan.join("builds")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

fn set_time(path: &Path, time: SystemTime) {
    std::fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

#[test]
fn a_model_is_compiled_once_for_threads_and_again_when_it_changed() {
    let Some((shop, model)) = Workshop::new("models") else { return };
    let library = shop.compile(&model).unwrap();
    assert_eq!(library, model.canonicalize().unwrap().with_file_name("m_model.so"));
    assert_eq!(StanModel::open(&library, Some(DATA), 1).unwrap().dim(), 3);
    assert_eq!(shop.builds(), ["threads true"]);
    shop.compile(&model).unwrap();
    assert_eq!(shop.builds().len(), 1, "what is newer than its source is left as it is");
    // A clock that did not stand still between two files.
    set_time(&library, SystemTime::now() - Duration::from_secs(60));
    shop.compile(&model).unwrap();
    assert_eq!(shop.builds().len(), 2);
}

#[test]
fn a_folder_with_spaces_and_signs_is_handed_to_make_under_another_name() {
    let Some((shop, model)) = Workshop::new("my models $(x): 50%") else { return };
    let library = shop.compile(&model).unwrap();
    assert_eq!(library.parent(), Some(model.canonicalize().unwrap().parent().unwrap()));
    assert!(StanModel::open(&library, Some(DATA), 1).is_ok());
    shop.compile(&model).unwrap();
    assert_eq!(shop.builds().len(), 1);
    let named = model.with_file_name("my model.stan");
    std::fs::rename(&model, &named).unwrap();
    let error = shop.compile(&named).unwrap_err();
    assert!(matches!(error, Error::UnfitName { .. }) && error.to_string().contains("rename it"), "{error}");
}

#[test]
fn the_words_of_a_compiler_that_refuses_are_passed_on() {
    let Some((shop, model)) = Workshop::new("models") else { return };
    std::fs::write(&model, "parameters { reel alpha; }").unwrap();
    let error = shop.compile(&model).unwrap_err();
    let Error::Compilation { output, command, .. } = &error else { panic!("{error}") };
    assert!(output.contains("Syntax error in 'm.stan', line 1"), "{output}");
    assert!(command.starts_with("make -C ") && command.contains("STAN_THREADS=true"), "{command}");
    // A Makefile that ends well and leaves nothing is no success either.
    std::fs::write(&model, "nothing").unwrap();
    assert!(matches!(shop.compile(&model).unwrap_err(), Error::Compilation { .. }));
    assert!(matches!(shop.compile(Path::new("none.stan")).unwrap_err(), Error::NotFound { .. }));
}

#[test]
fn a_folder_that_is_no_bridgestan_is_said_to_be_none() {
    let dir = tempfile::tempdir().unwrap();
    let model = dir.path().join("m.stan");
    std::fs::write(&model, "").unwrap();
    let error = compile::compile(&model, Some(dir.path())).unwrap_err();
    assert!(matches!(&error, Error::NoCompiler { .. }), "{error}");
    assert!(error.to_string().contains("holds no Makefile with a folder src beside it"), "{error}");
}
