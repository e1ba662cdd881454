//! Whether to use colour and bold text.

use std::io::IsTerminal;

/// No colour if `NO_COLOR` is set or the terminal is dumb.
pub(crate) fn colour_wanted() -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Whether headings on standard output are bold.
pub(crate) fn bold() -> bool {
    std::io::stdout().is_terminal() && colour_wanted()
}
