//! C programs, compiled against the header and the library that was built for these tests.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A path of this crate.
pub(crate) fn of_crate(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The folder with the libraries: cargo puts them beside the test program.
pub(crate) fn libraries() -> PathBuf {
    let own = std::env::current_exe().expect("this program has a path");
    own.parent().expect("it lies in a folder").to_owned()
}

/// The first compiler that is installed; nothing, and a word why, if none is.
pub(crate) fn compiler(names: &[&'static str]) -> Option<&'static str> {
    let works = |name: &&&str| Command::new(name).arg("--version").output().is_ok_and(|x| x.status.success());
    let found = names.iter().find(works).copied();
    if found.is_none() {
        println!("skipped: none of {names:?} is installed");
    }
    found
}

/// A C compiler.
pub(crate) fn c() -> Option<&'static str> {
    compiler(&["cc", "gcc", "clang"])
}

/// Warnings are errors, in the oldest C that has the header's types.
pub(crate) const STRICT: [&str; 5] = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"];

/// How a program is linked.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Link {
    Shared,
    Static,
}

/// The program of a source, in a folder.
pub(crate) fn built(source: &Path, folder: &Path, link: Link) -> Option<PathBuf> {
    let (compiler, libraries) = (c()?, libraries());
    let name = source.file_stem().expect("a source has a name").to_string_lossy();
    let program = folder.join(format!("{name}-{link:?}"));
    let mut command = Command::new(compiler);
    command.args(STRICT).arg("-I").arg(of_crate("include")).arg("-o").arg(&program).arg(source);
    match link {
        Link::Shared => {
            command.arg("-L").arg(&libraries).arg("-lprovi_c");
            command.arg(format!("-Wl,-rpath,{}", libraries.display())).arg("-lm")
        }
        Link::Static => command.arg(libraries.join("libprovi_c.a")).args(system()),
    };
    said(&mut command);
    Some(program)
}

/// What the static library needs of the system: `rustc --print native-static-libs`. For Linux, docs/c.md says it.
fn system() -> Vec<String> {
    let words = match cfg!(target_os = "macos") {
        true => "-framework CoreFoundation -liconv -lSystem -lm".to_owned(),
        false => documented(),
    };
    words.split_whitespace().map(str::to_owned).collect()
}

/// The libraries that docs/c.md names after the static one.
fn documented() -> String {
    let page = std::fs::read_to_string(of_crate("../../docs/c.md")).expect("the page is there");
    let after =
        page.split("target/release/libprovi_c.a -l").nth(1).expect("the page links the static library");
    let line = after.lines().next().unwrap_or_default();
    format!("-l{}", line.split('#').next().unwrap_or_default())
}

/// A program that is linked to the library that was built for these tests: cargo's own search path may hold an older one.
pub(crate) fn run(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", libraries()).env("DYLD_LIBRARY_PATH", libraries());
    command
}

/// The output of a program that succeeds.
pub(crate) fn said(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().expect("the program starts");
    let (out, err) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?}: {status}\n{out}\n{err}");
    out.into_owned()
}
