//! Test programs: a crate whose tests are one program names every file in `tests/all.rs`, or in its manifest.
//!
//! A file that neither names would never be compiled, and nobody would miss its tests.

use std::fs;
use std::path::Path;

use crate::{Outcome, Run};

pub(crate) fn check(run: &Run) -> Outcome {
    let mut stray = Vec::new();
    for entry in fs::read_dir(run.root.join("crates"))? {
        stray.extend(unnamed(&entry?.path())?);
    }
    if stray.is_empty() {
        return Ok(());
    }
    stray.sort();
    Err(format!("no test program compiles {}: add `mod NAME;` to all.rs beside it", stray.join(", ")).into())
}

/// The test files of a crate that no program takes in.
fn unnamed(folder: &Path) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let manifest = fs::read_to_string(folder.join("Cargo.toml"))?;
    if !manifest.contains("autotests = false") {
        return Ok(Vec::new());
    }
    let tests = folder.join("tests");
    let all = fs::read_to_string(tests.join("all.rs"))?;
    let mut out = Vec::new();
    for entry in fs::read_dir(&tests)? {
        let path = entry?.path();
        let name = path.file_stem().and_then(|x| x.to_str()).unwrap_or_default();
        let rust = path.extension().is_some_and(|x| x == "rs");
        if rust && !is_named(name, &all, &manifest) {
            out.push(path.display().to_string());
        }
    }
    Ok(out)
}

fn is_named(file: &str, all: &str, manifest: &str) -> bool {
    let module = format!("mod {file};");
    let program = format!("name = \"{file}\"");
    all.lines().any(|line| line == module)
        || manifest.lines().skip_while(|line| *line != "[[test]]").any(|line| line == program)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str =
        "[package]\nname = \"lonely\"\n\n[[test]]\nname = \"all\"\n\n[[test]]\nname = \"apart\"\n";

    #[test]
    fn a_file_is_a_module_or_a_program() {
        let all = "mod laws;\n// mod rough;\n";
        for file in ["all", "apart", "laws"] {
            assert!(is_named(file, all, MANIFEST), "{file}");
        }
        for file in ["lonely", "rough", "law"] {
            assert!(!is_named(file, all, MANIFEST), "{file}");
        }
    }
}
