//! A density from a library: of Stan, or of any language that can export C functions.

use std::ops::Deref;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use numpy::{PyArray2, PyReadonlyArray2};
use provi::Seed;
use provi_analysis::model::compiled::{Compiled, Data, Digests, Source};
use provi_analysis::show::rows::LEVEL;
use provi_ffi::{Include, StanModel};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::answer::{Answer, json, square};
use crate::design::matrix;
use crate::error::{refuse, refuse_library};
use crate::model::{Kind, Model};
use crate::wait::{in_place, interruptible};

/// An opened library. It is closed without Python's lock, because closing waits for its turn, and the thread that
/// has the turn may wait for that lock.
pub(crate) struct Library(Option<Box<Compiled>>);

impl From<Compiled> for Library {
    fn from(compiled: Compiled) -> Self {
        Self(Some(Box::new(compiled)))
    }
}

impl Deref for Library {
    type Target = Compiled;

    fn deref(&self) -> &Compiled {
        self.0.as_ref().expect("it is there until it is dropped")
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        let inner = self.0.take();
        // Without an interpreter there is no lock, and the library is dropped here.
        let _ = Python::try_attach(|py| py.detach(|| drop(inner)));
    }
}

/// What to open, and what is declared about it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Arguments {
    path: PathBuf,
    stan: bool,
    data_file: Option<PathBuf>,
    data_text: Option<String>,
    /// `None`: the library's own default.
    seed: Option<u32>,
    mu: Option<f64>,
    smoothness: Option<f64>,
    bridgestan: Option<PathBuf>,
}

impl From<Arguments> for Source {
    fn from(given: Arguments) -> Self {
        Self {
            path: given.path,
            stan: given.stan,
            data: given.data_file.map(Data::File).or(given.data_text.map(Data::Text)),
            init: None,
            convexity: given.mu,
            smoothness: given.smoothness,
            bridgestan: given.bridgestan,
            seed: given.seed.unwrap_or(Self::default().seed),
            expected: Digests::default(),
        }
    }
}

/// A program, its arguments, and environment variables: together a command that ends in [`probe_library`].
type Prober = (PathBuf, Vec<String>, Vec<(String, String)>);

/// Opens a library, after a prober has tried it.
#[pyfunction]
pub(crate) fn open_library(py: Python<'_>, source: Arguments, prober: Option<Prober>) -> PyResult<Model> {
    let source = source.into();
    let prober = prober.map(|(program, words, variables)| {
        let mut command = Command::new(program);
        command.args(words).envs(variables);
        command
    });
    let opened = in_place(py, || Compiled::open(&source, prober))?;
    opened.map(Into::into).map_err(refuse)
}

/// What the probing process does; it returns only if the library did not crash.
#[pyfunction]
pub(crate) fn probe_library(py: Python<'_>, kind: &str, path: PathBuf, seed: &str) -> PyResult<()> {
    in_place(py, || provi_ffi::probe::child(kind, &path, seed))?.map_err(refuse_library)
}

/// The names of a draw on the constrained scale, in Stan's order.
#[pyfunction]
pub(crate) fn constrained_names(
    py: Python<'_>,
    model: &Model,
    transformed: bool,
    generated: bool,
) -> PyResult<Vec<String>> {
    let model = stan(model)?;
    in_place(py, || model.constrained_names(Include { transformed, generated }))?.map_err(refuse_library)
}

/// Maps unconstrained points, one per row, to the constrained scale; the seed is for random generated quantities.
#[pyfunction]
pub(crate) fn constrain<'py>(
    py: Python<'py>,
    model: &Model,
    points: PyReadonlyArray2<'_, f64>,
    transformed: bool,
    generated: bool,
    seed: u32,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    stan(model)?;
    let (points, kind) = (matrix(&points)?, Arc::clone(&model.kind));
    let found = interruptible(py, move || match &*kind {
        Kind::Compiled(library) => {
            let stan = library.stan();
            stan.map(|model| model.constrain(&points, Include { transformed, generated }, seed))
        }
        _ => None,
    })?;
    square(py, &found.ok_or_else(no_scale)?.map_err(refuse_library)?)
}

/// The quantities of a Stan model under an answer, as in fit.json.
#[pyfunction]
pub(crate) fn constrained_record(
    py: Python<'_>,
    model: &Model,
    answer: &Answer,
    transformed: bool,
    generated: bool,
) -> PyResult<String> {
    let (fitted, include) = (&answer.fitted, Include { transformed, generated });
    let compiled = compiled(model)?;
    let seed = Seed(fitted.file.seed);
    let q = fitted.dense("the constrained scale").map_err(refuse)?;
    let found = in_place(py, || compiled.constrained(&q, include, LEVEL, seed))?;
    json(&found.map_err(refuse)?)
}

fn compiled(model: &Model) -> PyResult<&Compiled> {
    match &*model.kind {
        Kind::Compiled(compiled) if compiled.stan().is_some() => Ok(compiled),
        _ => Err(no_scale()),
    }
}

fn stan(model: &Model) -> PyResult<&StanModel> {
    let found = compiled(model)?.stan();
    found.ok_or_else(no_scale)
}

fn no_scale() -> PyErr {
    PyTypeError::new_err("only a Stan model has a constrained scale")
}
