//! Answers with another base law than the normal one.

use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use provi::{BaseLaw, Seed};
use provi_analysis::record::located::LocatedFile;
use provi_analysis::run::located::Located;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::answer::{json, room, square};
use crate::design::{entries, numbers};
use crate::error::{raise, refuse};
use crate::model::Model;
use crate::options::run_options;
use crate::run::under_watch;
use crate::wait::interruptible;

/// An answer q = law of m + Cu.
#[pyclass(frozen, module = "provi._provi", name = "Located")]
pub(crate) struct LocatedAnswer(Located);

/// Mean, sd, ends of the interval, probability of being positive.
type Marginal = (f64, f64, f64, f64, f64);

/// Seeks the best member of the family of a base law.
#[pyfunction]
pub(crate) fn locate(
    py: Python<'_>,
    model: &Model,
    base_law: &str,
    options: &Bound<'_, PyDict>,
    init: Option<PyReadonlyArray1<'_, f64>>,
    observer: Option<Py<PyAny>>,
) -> PyResult<LocatedAnswer> {
    let law: BaseLaw = base_law.parse().map_err(raise)?;
    let mut run = run_options(options)?;
    run.search.start = init.as_ref().map(numbers);
    let place = (run.threads, run.device);
    let work = move |problem: provi_analysis::Problem<'_>, watch: &mut provi::fit::Watch<'_>| {
        problem.locate(law, &run, watch)
    };
    under_watch(py, model, place, observer, work).map(LocatedAnswer)
}

#[pymethods]
impl LocatedAnswer {
    /// The record, as JSON.
    fn record(&self) -> PyResult<String> {
        json(&self.0.file)
    }

    /// From a record.
    #[staticmethod]
    fn restore(record: &str) -> PyResult<Self> {
        let file: LocatedFile =
            serde_json::from_str(record).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Located::of(file).map(Self).map_err(refuse)
    }

    /// The covariance CCᵀ.
    #[getter]
    fn cov<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let d = self.0.q.dim();
        room(d.saturating_mul(d).saturating_mul(2), || format!("the covariance of {d} coordinates"))?;
        square(py, &self.0.q.covariance())
    }

    /// Draws, one per row; a pure function of the seed.
    fn sample<'py>(
        &self,
        py: Python<'py>,
        count: usize,
        seed: Option<u64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (q, seed) = (self.0.q.clone(), Seed(seed.unwrap_or(self.0.file.seed)));
        room(count.saturating_mul(q.dim()).saturating_mul(2), || format!("{count} draws"))?;
        square(py, &interruptible(py, move || q.sample(count, seed))?)
    }

    /// log q at points, one per row.
    fn log_density<'py>(
        &self,
        py: Python<'py>,
        points: PyReadonlyArray2<'_, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (found, expected) = (points.shape()[1], self.0.q.dim());
        if found != expected {
            return Err(raise(provi::Error::Shape { what: "point", found, expected }));
        }
        let entries = entries(&points);
        let values: provi::Result<Vec<f64>> =
            py.detach(|| entries.chunks(expected.max(1)).map(|z| self.0.q.log_density(z)).collect());
        Ok(values.map_err(raise)?.into_pyarray(py))
    }

    /// Every coordinate under q, and the draws behind its interval.
    fn marginals(&self, py: Python<'_>, level: f64) -> PyResult<(Vec<Marginal>, usize)> {
        let found = self.0.clone();
        let draws = found.marginal_draws();
        let rows = interruptible(py, move || found.marginals(level))?.map_err(refuse)?;
        let row = |m: &provi_analysis::run::located::Marginal| {
            (m.mean, m.sd, m.interval[0], m.interval[1], m.positive)
        };
        Ok((rows.iter().map(row).collect(), draws))
    }
}
