//! Mixtures of Gaussians by boosting.

use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2,
    PyReadonlyArray3, PyUntypedArrayMethods,
};
use provi::boosting::{Boosted, Boosting};
use provi::fit::Watch;
use provi::mixture::Mixture as Density;
use provi::{Gaussian, Matrix, Seed};
use provi_analysis::Problem;
use provi_analysis::record::fit_file::EstimatesRecord;
use provi_analysis::record::trust::TrustRecord;
use provi_analysis::run::recording;
use provi_analysis::run::sampled::usual_draws;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;

use crate::design::{entries, numbers};
use crate::error::{raise, refuse};
use crate::model::{Kind, Model};
use crate::options::run_options;
use crate::run::under_watch;

/// A mixture of Gaussians; nothing in it changes.
#[pyclass(frozen, module = "provi._provi")]
pub(crate) struct Mixture(Density);

/// What is said about a mixture beside its numbers.
#[derive(Serialize)]
struct Record<'a> {
    names: &'a [String],
    elbo: Option<f64>,
    elbo_standard_error: Option<f64>,
    estimates: EstimatesRecord,
    trust: TrustRecord,
    verdict: String,
    ending: String,
    rounds: &'a [provi::boosting::Round],
    gradient_evaluations: u64,
    seed: u64,
    seconds: f64,
    stopped_early: bool,
}

impl<'a> Record<'a> {
    fn new(found: &'a Boosted) -> Self {
        let finite = |x: f64| x.is_finite().then_some(x);
        let estimates = found.trust.as_ref().map(|trust| trust.estimates).map_err(Clone::clone);
        let trust = TrustRecord::new(&found.trust);
        Self {
            names: &found.names,
            elbo: finite(found.elbo),
            elbo_standard_error: finite(found.elbo_se),
            estimates: recording::estimates(&estimates),
            verdict: trust.line(),
            trust,
            ending: found.ending.to_string(),
            rounds: &found.rounds,
            gradient_evaluations: found.gradient_evaluations,
            seed: found.seed.0,
            seconds: found.seconds,
            stopped_early: found.stopped_early,
        }
    }
}

/// Fits a mixture of at most so many Gaussians to a model: the mixture, and what is said about it as JSON.
#[pyfunction]
pub(crate) fn boost(
    py: Python<'_>,
    model: &Model,
    components: usize,
    options: &Bound<'_, PyDict>,
    init: Option<PyReadonlyArray1<'_, f64>>,
    observer: Option<Py<PyAny>>,
) -> PyResult<(Mixture, String)> {
    let run = run_options(options)?;
    run.check().map_err(refuse)?;
    if let Kind::UnknownNoise(open) = &*model.kind {
        open.needs_known_noise("mixture").map_err(refuse)?;
    }
    let (limit, seed) = (run.limit().map_err(refuse)?, Seed(run.seed.unwrap_or_default()));
    let boosting =
        Boosting { components, evaluations: run.search.evaluations, start: init.as_ref().map(numbers) };
    let work = move |problem: Problem<'_>, watch: &mut Watch<'_>| {
        watch.time_limit = limit;
        Ok(boosting.run_with(problem.target(), seed, watch)?)
    };
    let found = under_watch(py, model, (run.threads, None), observer, work)?;
    let text = serde_json::to_string(&Record::new(&found));
    let text = text.map_err(|error| pyo3::exceptions::PyRuntimeError::new_err(error.to_string()))?;
    Ok((Mixture(found.mixture), text))
}

fn square(py: Python<'_>, matrices: Vec<Matrix>, d: usize) -> PyResult<Bound<'_, PyArray3<f64>>> {
    let all: Vec<f64> = matrices.iter().flat_map(|m| m.entries().to_vec()).collect();
    all.into_pyarray(py).reshape([matrices.len(), d, d])
}

#[pymethods]
impl Mixture {
    /// From weights (k,), means (k, d) and lower triangular factors (k, d, d).
    #[new]
    fn new(
        weights: PyReadonlyArray1<'_, f64>,
        means: PyReadonlyArray2<'_, f64>,
        factors: PyReadonlyArray3<'_, f64>,
    ) -> PyResult<Self> {
        let [k, d] = [means.shape()[0], means.shape()[1]];
        let (found, expected) = (factors.shape().to_vec(), vec![k, d, d]);
        if found != expected {
            let message = format!("the factors have shape {found:?}, expected {expected:?}");
            return Err(pyo3::exceptions::PyValueError::new_err(message));
        }
        let (means, factors) = (entries(&means), factors.as_array().iter().copied().collect::<Vec<f64>>());
        let component = |c: usize| {
            let rows = (0..d).flat_map(|i| factors[(c * d + i) * d..][..=i].to_vec());
            Gaussian::new(&means[c * d..][..d], &rows.collect::<Vec<f64>>())
        };
        let components = (0..k).map(component).collect::<provi::Result<Vec<_>>>().map_err(raise)?;
        Density::new(&numbers(&weights), components).map(Self).map_err(raise)
    }

    fn weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.0.weights())
    }

    fn means<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let all: Vec<f64> = self.0.components().iter().flat_map(|q| q.mean().to_vec()).collect();
        all.into_pyarray(py).reshape([self.0.len(), self.0.dim()])
    }

    fn factors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let all = self.0.components().iter().map(Gaussian::factor_matrix).collect();
        square(py, all, self.0.dim())
    }

    fn covariances<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let all = self.0.components().iter().map(Gaussian::covariance).collect();
        square(py, all, self.0.dim())
    }

    fn mean<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.0.mean().into_pyarray(py)
    }

    fn sd<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.0.standard_deviations().into_pyarray(py)
    }

    fn cov<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let d = self.0.dim();
        self.0.covariance().entries().to_vec().into_pyarray(py).reshape([d, d])
    }

    /// The quantiles of every coordinate, (d, levels).
    fn quantiles<'py>(&self, py: Python<'py>, levels: Vec<f64>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let d = self.0.dim();
        let each = (0..d).flat_map(|i| levels.iter().map(move |level| self.0.quantile(i, *level)));
        let all = each.collect::<provi::Result<Vec<f64>>>().map_err(raise)?;
        all.into_pyarray(py).reshape([d, levels.len()])
    }

    fn sample<'py>(&self, py: Python<'py>, count: usize, seed: u64) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let drawn = py.detach(|| self.0.sample(count, Seed(seed)));
        drawn.entries().to_vec().into_pyarray(py).reshape([count, self.0.dim()])
    }

    fn log_density<'py>(
        &self,
        py: Python<'py>,
        points: PyReadonlyArray2<'_, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (found, expected) = (points.shape()[1], self.0.dim());
        if found != expected {
            return Err(raise(provi::Error::Shape { what: "point", found, expected }));
        }
        let points = entries(&points);
        let values = points.chunks_exact(expected).map(|z| self.0.log_density(z));
        Ok(values.collect::<provi::Result<Vec<f64>>>().map_err(raise)?.into_pyarray(py))
    }

    fn usual_draws(&self) -> [usize; 2] {
        usual_draws(self.0.dim())
    }
}
