//! The project's commands: `cargo xtask test` checks everything, `cargo xtask test --all` a little more.

mod arviz;
mod foreign;
mod mpi;
mod pages;
mod programs;
mod python;
mod r;
mod rooms;
mod stan;
mod venv;
mod wheel;

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

type Outcome = Result<(), Box<dyn Error>>;

const USAGE: &str = "\
usage: cargo xtask <command>

  test          format, rooms, tests, the theory on trial, the Python package
  test --all    the same, then the heavy tier
  lint          lints and documentation, where a warning is an error
  heavy         the heavy tier alone: lint; each feature alone; scalar kernels; examples; slow tests; several processes;
                benches compile; thousands of command lines at random; libraries that misbehave, under valgrind or a sanitizer; genuine Stan models; draws open in ArviZ; pages in a browser; the R package; the Python wheel
                beside the libraries whose models it takes
  arviz, ffi, pages, python, adapters, r, stan, mpi
                these steps alone
  wheel         a wheel for this platform into dist/, in the release profile: pip installs it without compiling
  wheel FILE    tries out a wheel that is there, in an environment of its own
  rooms         who imports whom inside the library and provi-analysis: from the left only
  rooms --draw  the same, drawn into docs/architecture.md

Python's steps use python3; where no packages can be installed they are skipped. The Stan check compiles its models with
g++ and the pip package httpstan, some minutes the first time, and keeps them in the user's cache. The ArviZ check
uses every Python 3.10 or later among python3, python3.12 and later, and those whose paths
PROVI_PYTHONS names, separated by spaces; where no packages can be installed it is skipped. Several processes
need an MPI with its headers and libclang; where apt-get may, it installs them, otherwise that step is skipped. The check of
foreign code needs valgrind, or gcc with its sanitizer; where neither is installed it is skipped. The R package needs R 4.2 or later and some
packages of it: where apt-get may, it installs them; otherwise that step fails and names them.";

const ROOMS: &str = "rooms: imports from the left only";
const PYTHON: &str = "python: package and tests";
const MPI: &str = "several processes";
const R: &str = "R: package, tests and vignette";
const FOREIGN: &str = "foreign code under a checker of memory";
const SLOW_PYTHON: &str = "python: slow tests";
const ADAPTERS: &str = "python: adapters beside their libraries";

/// Examples that take minutes to print a table of the documentation: they are compiled, not run.
const SLOW_EXAMPLES: [&str; 1] = ["tightness"];

/// Where tests are marked `#[ignore = "slow: …"]`. Programs whose ignored tests need something else are not among these.
const SLOW_TESTS: [&str; 5] = ["--lib", "--test", "all", "--test", "verdicts"];

/// What the tests need, the command and the Python module, all at once. The whole workspace, always: a package alone is built
/// with other features, and most dependencies once more with it.
const BUILD: [&str; 6] = ["build", "--workspace", "--lib", "--bin", "provi", "--tests"];

/// The features of `provi`, each of which must build alone.
const FEATURES: [&str; 4] = ["parallel", "autodiff", "serde", "ndarray"];

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let mut run = match Run::new() {
        Ok(run) => run,
        Err(error) => return fail(&format!("cannot start: {error}")),
    };
    let outcome = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["test"] => test(&mut run),
        ["test", "--all"] => test(&mut run).and_then(|()| heavy(&mut run)),
        ["heavy"] => heavy(&mut run),
        ["lint"] => lint(&mut run),
        ["pages"] => run.step("pages in a browser", pages::check),
        ["ffi"] => run.step(FOREIGN, foreign::check),
        ["stan"] => run.step("genuine Stan models", stan::check),
        ["rooms"] => run.step(ROOMS, rooms::check),
        ["rooms", "--draw"] => run.step("rooms: drawn", rooms::draw),
        ["mpi"] => run.step(MPI, mpi::check),
        ["arviz"] => run.step("draws open in ArviZ", arviz::check),
        ["wheel"] => run.step("a wheel for this platform", wheel::make),
        ["wheel", file] => run.step("a wheel alone", |r| wheel::try_out(r, Path::new(file))),
        ["python"] => run.step(PYTHON, python::check),
        ["r"] => run.step(R, r::check),
        ["adapters"] => run.step(ADAPTERS, python::check_adapters),
        _ => return fail(USAGE),
    };
    match outcome {
        Ok(()) => {
            println!("\nall {} steps passed in {:.1} s", run.passed, run.begin.elapsed().as_secs_f64());
            ExitCode::SUCCESS
        }
        Err(error) => fail(&format!("\n{error}")),
    }
}

fn fail(message: &str) -> ExitCode {
    eprintln!("{message}");
    ExitCode::FAILURE
}

/// Every build here uses the dev profile and one target directory, so that dependencies are compiled once for
/// checking and once for linking.
fn test(run: &mut Run) -> Outcome {
    let packages = python::fetch(run);
    thread::scope(|scope| {
        // Most of that time is spent waiting for the network.
        let packages = scope.spawn(packages);
        test_rust(run)?;
        _ = packages.join();
        run.step(PYTHON, python::check)
    })
}

fn test_rust(run: &mut Run) -> Outcome {
    run.step("format", |r| r.cargo(&["fmt", "--all", "--check"]))?;
    run.step(ROOMS, rooms::check)?;
    run.step("test programs take in every test file", programs::check)?;
    run.step("build", |r| r.cargo(&BUILD))?;
    // Not `--lib --bins`: those compile the command, the Python module and the measuring programs once more, with no test in them.
    run.step("tests", |r| r.cargo(&["test", "--workspace", "--tests", "--", "--quiet"]))?;
    run.step("theory on trial: verify --quick", |r| {
        let path = r.binaries.join("provi");
        r.wait(Command::new(path).args(["verify", "--quick", "--quiet"]))
    })
}

/// What the compiler and the documentation have to say, apart from the tests: it compiles everything once more, to be checked only.
fn lint(run: &mut Run) -> Outcome {
    run.step("lints", |r| r.cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    run.step("documentation", |r| {
        let mut command = r.command(&["doc", "--workspace", "--no-deps", "--lib"]);
        r.wait(command.env("RUSTDOCFLAGS", "-D warnings"))
    })?;
    run.step("features: none", |r| r.lint_features(None))
}

fn heavy(run: &mut Run) -> Outcome {
    lint(run)?;
    for feature in FEATURES {
        run.step(&format!("features: {feature} alone"), |r| r.lint_features(Some(feature)))?;
    }
    run.step("kernels: scalar build", |r| {
        // Its own directory: other flags would discard everything compiled so far.
        let target = r.binaries.with_file_name("scalar");
        let mut command = r.command(&["test", "--package", "provi-kernels", "--", "--quiet"]);
        r.wait(command.env("RUSTFLAGS", "--cfg provi_scalar").env("CARGO_TARGET_DIR", target))
    })?;
    run.step("examples in the documentation", |r| {
        r.cargo(&["test", "--workspace", "--doc", "--", "--quiet"])
    })?;
    run.step("examples compile", |r| r.cargo(&["build", "--quiet", "--workspace", "--examples"]))?;
    for name in run.examples()? {
        run.step(&format!("example: {name}"), |r| {
            let path = r.binaries.join("examples").join(&name);
            r.wait(&mut Command::new(path))
        })?;
    }
    run.step("slow tests", |r| {
        r.cargo(&[&["test", "--workspace"], &SLOW_TESTS[..], &["--", "--ignored"]].concat())
    })?;
    run.step(MPI, mpi::check)?;
    run.step("benches compile", |r| {
        // In the dev profile, whose dependencies are there: the bench profile would compile all of them once more.
        r.cargo(&["bench", "--profile", "dev", "--workspace", "--bench", "*", "--no-run"])
    })?;
    run.step("options and inputs at random", |r| {
        let mut command = r.command(&["test", "--workspace", "--test", "fuzz", "--", "--nocapture"]);
        r.wait(command.envs([("PROVI_FUZZ", "6480"), ("PROVI_FUZZ_FROM", "120")]))
    })?;
    run.step(FOREIGN, foreign::check)?;
    run.step("genuine Stan models", stan::check)?;
    run.step("draws open in ArviZ", arviz::check)?;
    run.step("pages in a browser", pages::check)?;
    run.step(R, r::check)?;
    run.step(SLOW_PYTHON, python::check_slow)?;
    run.step(ADAPTERS, python::check_adapters)
}

/// One run of a command: paths and progress.
struct Run {
    cargo: String,
    root: PathBuf,
    /// The folder in which this program was built, with everything else of the same profile.
    binaries: PathBuf,
    begin: Instant,
    passed: usize,
    times: Vec<(String, Duration)>,
}

impl Run {
    fn new() -> Result<Self, Box<dyn Error>> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("xtask has no parent directory")?;
        let program = env::current_exe()?;
        Ok(Self {
            cargo: env::var("CARGO").unwrap_or_else(|_| "cargo".into()),
            root: root.to_path_buf(),
            binaries: program.parent().ok_or("this program has no directory")?.to_path_buf(),
            begin: Instant::now(),
            passed: 0,
            times: Vec::new(),
        })
    }

    /// Runs one step, prints its time, and names it if it fails.
    fn step(&mut self, name: &str, work: impl FnOnce(&Self) -> Outcome) -> Outcome {
        println!("\n── {name}");
        let begin = Instant::now();
        let outcome = work(self);
        let time = begin.elapsed();
        self.times.push((name.to_owned(), time));
        match outcome {
            Ok(()) => {
                self.passed += 1;
                println!("   {name}: passed, {:.1} s", time.as_secs_f64());
                Ok(())
            }
            Err(error) => {
                for (name, time) in &self.times {
                    println!("   {:6.1} s  {name}", time.as_secs_f64());
                }
                Err(format!("FAILED at step `{name}`: {error} (its output is above)").into())
            }
        }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.cargo);
        command.args(arguments).current_dir(&self.root);
        command
    }

    fn cargo(&self, arguments: &[&str]) -> Outcome {
        self.wait(&mut self.command(arguments))
    }

    /// The same as the first step, where a step runs alone.
    fn build(&self) -> Outcome {
        self.cargo(&[&BUILD[..], &["--quiet"]].concat())
    }

    /// Lints `provi` with one feature, or none; a feature that needs another one does not build. Without any, its tests are looked at too: they say
    /// themselves which feature they need.
    fn lint_features(&self, feature: Option<&str>) -> Outcome {
        let (features, targets) = feature.map_or(("", "--all-targets"), |feature| (feature, "--lib"));
        let which = ["--package", "provi", targets, "--no-default-features", "--features", features];
        self.cargo(&[&["clippy"], &which[..], &["--", "-D", "warnings"]].concat())
    }

    fn wait(&self, command: &mut Command) -> Outcome {
        let shown = format!("{command:?}");
        let status = command.status().map_err(|error| format!("cannot run {shown}: {error}"))?;
        if status.success() { Ok(()) } else { Err(format!("{shown} ended with {status}").into()) }
    }

    /// The library's examples.
    fn examples(&self) -> Result<Vec<String>, Box<dyn Error>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.root.join("crates/provi/examples"))? {
            let path = entry?.path();
            if path.extension().is_some_and(|x| x == "rs") {
                names.extend(path.file_stem().and_then(|x| x.to_str()).map(str::to_owned));
            }
        }
        names.retain(|name| !SLOW_EXAMPLES.contains(&name.as_str()));
        names.sort();
        Ok(names)
    }
}
