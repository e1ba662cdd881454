//! The handle of an answer, with everything about it except the model it came from.

use std::path::PathBuf;

use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2,
    PyUntypedArrayMethods,
};
use provi::functional::{Functional, PosteriorMoments, unbounded};
use provi::memory::Bytes;
use provi::scales::ScaleMixture;
use provi::sparse::AnyGaussian;
use provi::{Certificate, Matrix, Seed};
use provi_analysis::record::fit_file::{BoundRecord, EstimatesRecord, ModelRecord, TracePoint, to_json};
use provi_analysis::record::trust::TrustRecord;
use provi_analysis::run::contrast::Contrast;
use provi_analysis::run::sampled::usual_draws;
use provi_analysis::show::rows::LEVEL;
use provi_analysis::show::words;
use provi_analysis::{Comparison, Fitted};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde::Serialize;

use crate::design::{entries, numbers};
use crate::error::{raise, refuse};
use crate::wait::interruptible;

/// An answer with its certificate.
#[pyclass(frozen, module = "provi._provi")]
pub(crate) struct Answer {
    pub(crate) fitted: Fitted,
    certificate: Certificate,
}

/// The record of a fit without its arrays.
#[derive(Serialize)]
struct Record<'a> {
    names: &'a [String],
    model: &'a ModelRecord,
    method: &'a str,
    family_of_q: Option<&'a str>,
    steps: u64,
    stopped_early: bool,
    draws_per_step: usize,
    gradient_evaluations: u64,
    seed: u64,
    seconds: f64,
    promise: &'a BoundRecord,
    certificate: &'a Certificate,
    estimates: EstimatesRecord,
    posterior: Option<&'a PosteriorMoments>,
    trust: Option<&'a TrustRecord>,
    verdict: Option<String>,
    certified: bool,
    /// Whether scales are integrated over.
    integrated: bool,
}

impl From<Fitted> for Answer {
    fn from(fitted: Fitted) -> Self {
        let certificate = match fitted.certificate() {
            Some(certificate) => certificate.clone(),
            None => Certificate::nothing(fitted.names(), "the fit has no certificate"),
        };
        Self { fitted, certificate }
    }
}

/// A functional as JSON, its interval, and its proved digits of mean and sd.
type Asked = (String, [f64; 2], [Option<u32>; 2]);

fn asked(found: &Functional, level: Option<f64>) -> PyResult<Asked> {
    Ok((json(found)?, found.interval(level.unwrap_or(LEVEL)).map_err(raise)?, found.digits()))
}

/// A number at each snapshot.
fn column<'py>(
    py: Python<'py>,
    trace: &[TracePoint],
    pick: impl Fn(&TracePoint) -> Option<f64>,
) -> Bound<'py, PyArray1<f64>> {
    trace.iter().map(|at| pick(at).unwrap_or(f64::NAN)).collect::<Vec<_>>().into_pyarray(py)
}

/// A matrix as an array.
pub(crate) fn square<'py>(py: Python<'py>, matrix: &Matrix) -> PyResult<Bound<'py, PyArray2<f64>>> {
    PyArray1::from_slice(py, matrix.entries()).reshape([matrix.rows(), matrix.columns()])
}

/// Refuses a request that would not fit into memory before anything is allocated: a failed allocation would end the
/// interpreter.
pub(crate) fn room(numbers: usize, what: impl Fn() -> String) -> PyResult<()> {
    Vec::<f64>::new().try_reserve_exact(numbers).map_err(|_| {
        let bytes = Bytes(8u64.saturating_mul(numbers as u64));
        PyMemoryError::new_err(format!(
            "{} need about {bytes} of memory, which is not available; ask for fewer",
            what()
        ))
    })
}

pub(crate) fn json(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyValueError::new_err(error.to_string()))
}

#[pymethods]
impl Answer {
    #[getter]
    fn names(&self) -> Vec<String> {
        self.fitted.names().to_vec()
    }

    #[getter]
    fn mean<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let [mean, _] = self.fitted.moments().map_err(refuse)?;
        Ok(mean.into_pyarray(py))
    }

    #[getter]
    fn sd<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let [_, sd] = self.fitted.moments().map_err(refuse)?;
        Ok(sd.into_pyarray(py))
    }

    #[getter]
    fn cov<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let covariance = py.detach(|| self.fitted.covariance("cov"));
        square(py, &covariance.map_err(refuse)?)
    }

    #[getter]
    fn factor<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let factor = py.detach(|| self.fitted.factor("factor"));
        square(py, &factor.map_err(refuse)?)
    }

    /// The ELBO, its error, and whether that error is a bound.
    #[getter]
    fn elbo(&self) -> (f64, f64, bool) {
        let file = &self.fitted.file;
        (-file.neg_elbo, file.neg_elbo_error, file.neg_elbo_exact)
    }

    /// Everything that is not an array, as JSON.
    fn record(&self) -> PyResult<String> {
        let file = &self.fitted.file;
        json(&Record {
            names: &file.names,
            model: &file.model,
            method: &file.method,
            family_of_q: file.family_of_q.as_deref(),
            steps: file.steps,
            stopped_early: file.stopped_early,
            draws_per_step: file.draws_per_step,
            gradient_evaluations: file.gradient_evaluations,
            seed: file.seed,
            seconds: file.seconds,
            promise: &file.plan_bound,
            certificate: &self.certificate,
            estimates: file.estimates.clone().unwrap_or_default(),
            posterior: file.posterior.as_ref(),
            trust: file.trust.as_ref(),
            verdict: file.trust.as_ref().map(TrustRecord::line),
            certified: file.is_certified(),
            integrated: self.fitted.mixture.is_some(),
        })
    }

    /// The progress of the run.
    #[getter]
    fn trace<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (trace, out) = (self.fitted.trace(), PyDict::new(py));
        let steps: Vec<i64> = trace.iter().map(|at| at.step as i64).collect();
        out.set_item("step", steps.into_pyarray(py))?;
        out.set_item("gamma", column(py, trace, |at| Some(at.gamma)))?;
        out.set_item("elbo", column(py, trace, |at| at.neg_elbo.map(|x| -x)))?;
        out.set_item("gap", column(py, trace, |at| at.gap))?;
        Ok(out)
    }

    /// Draws, one per row; a pure function of the seed.
    fn sample<'py>(
        &self,
        py: Python<'py>,
        count: usize,
        seed: Option<u64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let seed = Seed(seed.unwrap_or(self.fitted.file.seed));
        let (q, mixture) = (self.fitted.gaussian.clone(), self.fitted.mixture.clone());
        // The draws, and their copy in Python.
        room(count.saturating_mul(q.dim()).saturating_mul(2), || format!("{count} draws"))?;
        let draws = interruptible(py, move || match mixture {
            Some(mixture) => {
                let [points, _] = mixture.sample(count, seed);
                points
            }
            None => q.sample(count, seed),
        })?;
        square(py, &draws)
    }

    /// log q at points, one per row.
    fn log_density<'py>(
        &self,
        py: Python<'py>,
        points: PyReadonlyArray2<'_, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (found, expected) = (points.shape()[1], self.fitted.gaussian.dim());
        if found != expected {
            return Err(raise(provi::Error::Shape { what: "point", found, expected }));
        }
        let (dim, entries) = (expected.max(1), entries(&points));
        let one = |z: &[f64]| match &self.fitted.mixture {
            Some(mixture) => mixture.log_density(z),
            None => self.fitted.gaussian.log_density(z),
        };
        let found: provi::Result<Vec<f64>> = py.detach(|| entries.chunks(dim).map(one).collect());
        Ok(found.map_err(raise)?.into_pyarray(py))
    }

    /// vᵀz with its errors.
    fn functional(&self, v: PyReadonlyArray1<'_, f64>, level: Option<f64>) -> PyResult<Asked> {
        let (v, q) = (numbers(&v), &self.fitted.gaussian);
        if let Some(mixture) = &self.fitted.mixture {
            let errors = ScaleMixture::summed_errors(&v, &self.certificate);
            return asked(&mixture.functional(&v, errors, &self.certificate).map_err(raise)?, level);
        }
        let errors = match (q, &self.fitted.file.moment_bounds) {
            (AnyGaussian::Dense(q), Some(bounds)) => bounds.functional(q, &v),
            (AnyGaussian::Dense(q), None) => unbounded(q, &v, &self.certificate),
            (AnyGaussian::Sparse(_), _) => Ok(ScaleMixture::summed_errors(&v, &self.certificate)),
        };
        let found = errors.and_then(|errors| Functional::new(q, &v, errors, &self.certificate));
        asked(&found.map_err(raise)?, level)
    }

    /// The weights of an expression in the names, such as `a - b`.
    fn weights<'py>(&self, py: Python<'py>, expression: &str) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let found =
            Contrast::read_one(expression, self.fitted.names(), self.fitted.file.model.recipe.as_ref())
                .map_err(refuse)?;
        Ok(PyArray1::from_slice(py, found.weights()))
    }

    /// The scales that are integrated over, as JSON; empty if there are none.
    fn scales(&self, level: Option<f64>) -> PyResult<String> {
        let level = level.unwrap_or(provi_analysis::show::rows::LEVEL);
        json(&provi_analysis::show::rows::scales(&self.fitted, level).map_err(refuse)?)
    }

    /// Draws of these scales, one per row; the draws of `sample` with the same seed belong to them.
    fn sample_scales<'py>(
        &self,
        py: Python<'py>,
        count: usize,
        seed: Option<u64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let seed = Seed(seed.unwrap_or(self.fitted.file.seed));
        let Some(mixture) = self.fitted.mixture.clone() else {
            return square(py, &provi::Matrix::zeros(count, 0));
        };
        let draws = interruptible(py, move || {
            let [_, scales] = mixture.sample(count, seed);
            scales
        })?;
        square(py, &draws)
    }

    /// Every coordinate, in order.
    fn coordinates(&self, level: Option<f64>) -> PyResult<Vec<Asked>> {
        let q = &self.fitted.gaussian;
        q.standard_deviations().map_err(raise)?;
        let one = |i| {
            let found = match &self.fitted.mixture {
                Some(mixture) => mixture.coordinate(i, &self.certificate),
                None => Functional::coordinate(q, i, &self.certificate),
            };
            let found = found.map_err(raise)?.knowing(self.fitted.file.posterior.as_ref(), i);
            asked(&found, level)
        };
        (0..q.dim()).map(one).collect()
    }

    /// Default numbers of chains and of draws per chain.
    fn usual_draws(&self) -> [usize; 2] {
        usual_draws(self.fitted.gaussian.dim())
    }

    /// The certificate in five lines, then what it is about and what it is conditional on.
    fn describe(&self) -> String {
        let condition = words::condition(&self.fitted.file.model);
        let lines =
            [Some(self.certificate.to_string()), Some(words::certificate::SCOPE.to_owned()), condition];
        lines.into_iter().flatten().collect::<Vec<_>>().join("\n")
    }

    /// Writes fit.json into a folder, as the command does; `constrained` holds the parameters on their own scale,
    /// as JSON.
    fn save(&self, dir: PathBuf, force: bool, constrained: Option<&str>) -> PyResult<PathBuf> {
        let Some(text) = constrained else { return self.fitted.save(&dir, force).map_err(refuse) };
        let mut fitted = self.fitted.clone();
        let read = serde_json::from_str(text).map_err(|error| PyValueError::new_err(error.to_string()));
        fitted.file.constrained = Some(read?);
        fitted.save(&dir, force).map_err(refuse)
    }

    /// Loads a fit from its folder.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        Fitted::load(&path).map(Into::into).map_err(refuse)
    }

    /// What the certificates of several fits say about each other, as JSON.
    #[staticmethod]
    fn compare(fits: Vec<(String, PyRef<'_, Self>)>, force: bool) -> PyResult<String> {
        let named: Vec<_> = fits.iter().map(|(name, fit)| (name.clone(), &fit.fitted.file)).collect();
        Comparison::new(&named, force).map(|found| to_json(&found)).map_err(refuse)
    }

    /// For `pickle`: the record as JSON, and the numbers bit for bit.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<(String, Bound<'py, PyBytes>)> {
        let (record, bytes) = self.fitted.state().map_err(refuse)?;
        Ok((record, PyBytes::new(py, &bytes)))
    }

    /// The inverse of `state`.
    #[staticmethod]
    fn restore(record: &str, parameters: &[u8]) -> PyResult<Self> {
        Fitted::restore(record, parameters).map(Into::into).map_err(refuse)
    }
}
