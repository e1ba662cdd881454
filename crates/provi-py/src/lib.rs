//! `import provi`: the native half of the Python package.
//!
//! A thin shell: arrays in, the library's own types behind handles, arrays and JSON out. Mathematics, defaults and
//! names of methods live neither here nor in the Python half (`python/provi`), which turns data frames into arrays
//! and answers into tables.
//!
//! | file | what it holds |
//! |---|---|
//! | `design.rs` | arrays → [`provi::Design`], prior, curvature |
//! | `model.rs` | the handle of a model, and its constructors |
//! | `callback.rs` | a Python function as a target |
//! | `compiled.rs` | a density from a library, of Stan or any language |
//! | `native.rs` | a C function as a target, called without the interpreter's lock |
//! | `options.rs` | keyword arguments → the options of every shell |
//! | `run.rs`, `wait.rs` | a fit under watch: signals, progress, threads |
//! | `answer.rs` | the handle of an answer |
//! | `mixture.rs` | mixtures of Gaussians by boosting |
//! | `exact.rs` | draws of the posterior itself |
//! | `weighted.rs` | draws resampled by importance weights |
//! | `predict.rs` | predictions at new rows |
//! | `columns.rs`, `formula.rs` | data frames and formulas |
//! | `words.rs` | numbers as the command prints them |
//! | `error.rs` | errors as Python exceptions |
//!
//! Python's own lock is released while the library works. It is taken for a Python callback, and from time to time
//! to check for signals and to show progress.

mod answer;
mod callback;
mod columns;
mod compiled;
mod design;
mod effects;
mod error;
mod exact;
mod finite_sum;
mod formula;
mod located;
mod loo;
mod mixture;
mod model;
mod native;
mod options;
mod parameters;
mod predict;
mod run;
mod simulate;
mod wait;
mod weighted;
mod words;

use pyo3::prelude::*;

/// The native module behind the Python package `provi`; not meant to be imported by users.
#[pymodule]
mod _provi {
    use super::{Bound, PyModule, PyModuleMethods, PyResult};

    #[pymodule_export]
    use super::answer::Answer;
    #[pymodule_export]
    use super::compiled::{constrain, constrained_names, constrained_record, open_library, probe_library};
    #[pymodule_export]
    use super::effects::effects;
    #[pymodule_export]
    use super::exact::{exact_of_model, exact_of_table};
    #[pymodule_export]
    use super::formula::{conflicts, contrasts, fit_formula, notes, predict_table, report};
    #[pymodule_export]
    use super::located::{LocatedAnswer, locate};
    #[pymodule_export]
    use super::loo::{
        likelihoods_of_model, likelihoods_of_table, loo_of_model, loo_of_table, robust_of_table,
    };
    #[pymodule_export]
    use super::mixture::{Mixture, boost};
    #[pymodule_export]
    use super::model::Model;
    #[pymodule_export]
    use super::options::{model_keywords, run_keywords};
    #[pymodule_export]
    use super::parameters::Parameters;
    #[pymodule_export]
    use super::predict::{level, poisson_rates, predict};
    #[pymodule_export]
    use super::run::{certify, fit, log_density};
    #[pymodule_export]
    use super::simulate::{calibrate, prior_predictive};
    #[pymodule_export]
    use super::weighted::{resampled, weights_of};
    #[pymodule_export]
    use super::words::{bound_text, number_text, probability_text};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
