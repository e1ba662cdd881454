//! `library(provi)`: the native half of the R package.
//!
//! A thin shell, like the one for Python: columns and options in, the library's own types behind handles, vectors and lists out.
//! Mathematics, defaults and names of methods live neither here nor in the R half (`r/R`), which turns formulas and data frames
//! into columns and answers into R objects.
//!
//! | file | what it holds |
//! |---|---|
//! | `columns.rs` | a list of R vectors → a table |
//! | `options.rs` | a list of named arguments → the options of every shell |
//! | `run.rs` | a fit on a thread of its own, which R polls: R stays free to see Ctrl-C and to show progress |
//! | `answer.rs` | the handle of an answer |
//! | `value.rs` | records as R lists |
//! | `words.rs` | numbers as the command prints them |
//! | `error.rs` | errors as R conditions |

mod answer;
mod columns;
mod error;
mod options;
mod run;
mod value;
mod words;
