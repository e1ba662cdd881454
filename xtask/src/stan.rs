//! Genuine Stan models: compiled once, stored under the digest of what they are made from, and used in tests.
//!
//! The pip package `httpstan` contains stanc, the headers of Stan and its libraries; a small C++ file of this
//! repository has the functions of BridgeStan. If pip, a C++ compiler or the package is not available, the step is
//! skipped.

use std::collections::hash_map::DefaultHasher;
use std::env;
use std::error::Error;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Outcome, Run, python};

const PACKAGE: &str = "httpstan==4.13.0";
const MODELS: [&str; 5] = ["regression", "logistic", "schools", "poisson", "hierarchical"];
const FLAGS: [&str; 11] = [
    "-std=c++17",
    "-O3",
    "-fPIC",
    "-fvisibility=hidden",
    "-pthread",
    "-D_REENTRANT",
    "-DSTAN_THREADS",
    "-DBOOST_DISABLE_ASSERTS",
    "-DBOOST_PHOENIX_NO_VARIADIC_EXPRESSION",
    "-w",
    "-c",
];

/// Compiles what does not exist yet, and runs the tests that need it.
pub(crate) fn check(run: &Run) -> Outcome {
    let cache = cache(run);
    fs::create_dir_all(&cache)?;
    let Some(package) = package(&cache)? else { return Ok(()) };
    if !works(Command::new("g++").arg("--version")) {
        println!("   skipped: no g++; the fixture library is still tested by `cargo test -p provi-ffi`");
        return Ok(());
    }
    let sources = run.root.join("crates/provi-ffi/tests/models");
    let shim = fs::read(sources.join("shim.cpp"))?;
    let folder = cache.join("models");
    fs::create_dir_all(&folder)?;
    let build = Build { run, package: &package, cache: &cache };
    let object = build.compiled(&sources.join("shim.cpp"), "shim", &shim)?;
    for name in MODELS {
        let source = sources.join(format!("{name}.stan"));
        let key = [shim.clone(), fs::read(&source)?].concat();
        let library = cache.join(format!("{name}-{}.so", digest(&key)));
        if !library.exists() {
            let header = cache.join(format!("{name}.hpp"));
            let mut stanc = Command::new(package.join("stanc"));
            stanc.arg(format!("--name={name}_model")).arg(format!("--o={}", header.display()));
            run.wait(stanc.arg(&source))?;
            let model = build.compiled(&header, name, &key)?;
            build.link(&[&model, &object], &library)?;
        }
        fs::copy(&library, folder.join(format!("{name}_model.so")))?;
    }
    let mut tests = run.command(&["test", "--workspace", "--test", "genuine", "--", "--ignored"]);
    run.wait(tests.env("PROVI_STAN_MODELS", &folder))?;
    check_reference(run, &cache, &folder)?;
    python::check_stan(run, &folder)
}

/// A model whose Gaussian is so near its posterior that the test which users run on their own posteriors must give
/// a verdict.
const REFERENCE: &str = "poisson";

/// The same test, on reference draws that a script makes without provi.
fn check_reference(run: &Run, cache: &Path, folder: &Path) -> Outcome {
    let tests = run.root.join("crates/provi-ffi/tests");
    let (script, data) = (tests.join("reference/draws.py"), tests.join(format!("models/{REFERENCE}.json")));
    let library = folder.join(format!("{REFERENCE}_model.so"));
    let key = [fs::read(&script)?, fs::read(&data)?, fs::read(&library)?].concat();
    let draws = cache.join(format!("{REFERENCE}-{}.csv", digest(&key)));
    if !draws.exists() {
        let part = draws.with_extension("part");
        run.wait(Command::new("python3").arg(script).arg(&library).arg(&data).arg(&part))?;
        fs::rename(part, &draws)?;
    }
    let mut command = run.command(&["test", "--workspace", "--test", "reference", "--", "--ignored"]);
    command.env("PROVI_STAN_LIBRARY", library).env("PROVI_STAN_DATA", data).env("PROVI_STAN_DRAWS", draws);
    run.wait(command.env("PROVI_STAN_REQUIRED", "1"))
}

struct Build<'a> {
    run: &'a Run,
    package: &'a Path,
    cache: &'a Path,
}

impl Build<'_> {
    /// The object file of a source, stored under the digest of `key`.
    fn compiled(&self, source: &Path, name: &str, key: &[u8]) -> Result<PathBuf, Box<dyn Error>> {
        let object = self.cache.join(format!("{name}-{}.o", digest(key)));
        if !object.exists() {
            println!("   compiling {name}");
            let part = object.with_extension("part");
            let mut command = Command::new("g++");
            command.args(FLAGS).arg("-isystem").arg(self.package.join("include"));
            command.arg("-o").arg(&part).args(["-x", "c++"]).arg(source);
            self.run.wait(&mut command)?;
            fs::rename(part, &object)?;
        }
        Ok(object)
    }

    fn link(&self, objects: &[&Path], library: &Path) -> Outcome {
        let folder = self.package.join("lib");
        let part = library.with_extension("part");
        let mut command = Command::new("g++");
        command.args(["-shared", "-pthread", "-o"]).arg(&part).args(objects);
        for name in ["cvodes", "idas", "kinsol", "nvecserial"] {
            command.arg(folder.join(format!("libsundials_{name}.a")));
        }
        command.arg("-L").arg(&folder).arg("-ltbb").arg(format!("-Wl,-rpath,{}", folder.display()));
        self.run.wait(&mut command)?;
        Ok(fs::rename(part, library)?)
    }
}

/// The folder beside the build products, which survives a new checkout.
fn cache(run: &Run) -> PathBuf {
    let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let base = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home);
    base.map_or_else(|| run.binaries.with_file_name("stan"), |base| base.join("provi-ci/stan"))
}

/// The unpacked package; `None`, after a message with the reason, if it is not available.
fn package(cache: &Path) -> Result<Option<PathBuf>, Box<dyn Error>> {
    let folder = cache.join(PACKAGE.replace("==", "-"));
    let inside = folder.join("httpstan");
    if inside.join("stanc").exists() {
        return Ok(Some(inside));
    }
    let part = cache.join("package.part");
    let _ = fs::remove_dir_all(&part);
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--root-user-action=ignore", "--no-deps", "--target"])
        .arg(&part)
        .arg(PACKAGE);
    if !works(&mut pip) {
        println!("   skipped: pip cannot install {PACKAGE}; the fixture library is still tested");
        return Ok(None);
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(part.join("httpstan/stanc"), fs::Permissions::from_mode(0o755))?;
    }
    fs::rename(&part, &folder)?;
    Ok(Some(inside))
}

fn works(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// A digest of a source, the package and the flags: what a compiled file depends on.
fn digest(key: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    (key, PACKAGE, FLAGS).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
