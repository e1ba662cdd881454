//! The `provi` command.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    provi_cli::main()
}
