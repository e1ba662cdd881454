//! The header: what it declares is what the library exports, and C and C++ accept it.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::compiler::{STRICT, c, compiler, libraries, of_crate, said};

fn header() -> String {
    std::fs::read_to_string(of_crate("include/provi_fit.h")).unwrap()
}

/// The functions that it declares.
fn declared(header: &str) -> BTreeSet<String> {
    let name = |rest: &str| {
        let before = rest.split('(').next()?;
        Some(before.rsplit([' ', '*']).next()?.to_owned())
    };
    header.split("PROVI_API ").skip(1).filter_map(name).filter(|name| name.starts_with("provi_")).collect()
}

/// The functions of provi's that the library exports.
fn exported() -> Option<BTreeSet<String>> {
    let nm = compiler(&["nm", "llvm-nm"])?;
    let library = libraries().join("libprovi_c.so");
    if !library.exists() {
        println!("skipped: no {}", library.display());
        return None;
    }
    let text = said(Command::new(nm).args(["-D", "--defined-only"]).arg(library));
    let names = text.lines().filter_map(|line| line.rsplit(' ').next());
    Some(names.filter(|name| name.starts_with("provi_")).map(str::to_owned).collect())
}

#[test]
fn what_is_declared_is_exported_and_nothing_else() {
    let declared = declared(&header());
    assert!(declared.len() > 30 && declared.contains("provi_fit_formula"), "{declared:?}");
    let Some(exported) = exported() else { return };
    assert_eq!(declared, exported);
}

#[test]
fn every_function_is_called_by_the_test_program() {
    let program = std::fs::read_to_string(of_crate("tests/program.c")).unwrap();
    let example = std::fs::read_to_string(of_crate("examples/fit.c")).unwrap();
    let called =
        |name: &String| program.contains(&format!("{name}(")) || example.contains(&format!("{name}("));
    let declared = declared(&header());
    let missing: Vec<_> = declared.iter().filter(|name| !called(name)).collect();
    assert_eq!(missing, ["provi_table_read"], "it needs a file, and has a test of its own");
}

fn accepted(compiler: &str, flags: &[&str], language: &str, folder: &Path) {
    // Beside the header of densities that are handed to provi: a program may have both.
    let source = folder.join(format!("both.{language}"));
    std::fs::write(&source, "#include \"provi_fit.h\"\n#include \"provi.h\"\n#include \"provi_fit.h\"\n")
        .unwrap();
    let mut command = Command::new(compiler);
    command.args(flags).args(["-fsyntax-only", "-I"]).arg(of_crate("include"));
    said(command.arg("-I").arg(of_crate("../provi-ffi/include")).arg(source));
}

#[test]
fn c_and_cpp_accept_it_without_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    if let Some(c) = c() {
        accepted(c, &STRICT, "c", folder.path());
    }
    if let Some(cpp) = compiler(&["c++", "g++", "clang++"]) {
        accepted(cpp, &["-std=c++11", "-Wall", "-Wextra", "-pedantic", "-Werror"], "cpp", folder.path());
    }
}
