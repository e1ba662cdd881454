//! The handle of an answer: everything about it, apart from the model it came from.

use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2,
    PyUntypedArrayMethods,
};
use provi::fit::{NegElbo, Snapshot};
use provi::functional::{Functional, MomentBounds, unbounded};
use provi::{Certificate, Fit, Gaussian, Matrix, Seed};
use provi_analysis::Fitted;
use provi_analysis::contrast::Contrast;
use provi_analysis::fit_file::{self, BoundRecord, EstimatesRecord, TracePoint};
use provi_analysis::rows::LEVEL;
use provi_analysis::sampled::usual_draws;
use provi_analysis::worth::Worth;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde::{Deserialize, Serialize};

use crate::design::numbers;
use crate::error::{raise, refuse};

/// An answer, with what it is worth.
#[pyclass(frozen, module = "provi._provi")]
pub(crate) struct Answer {
    pub(crate) gaussian: Gaussian,
    trace: Vec<Snapshot>,
    record: Record,
}

/// All of it that is not an array, in the words of a `fit.json`.
#[derive(Clone, Serialize, Deserialize)]
struct Record {
    names: Vec<String>,
    neg_elbo: NegElbo,
    method: String,
    steps: u64,
    stopped_early: bool,
    draws_per_step: usize,
    gradient_evaluations: u64,
    seed: Seed,
    seconds: f64,
    promise: BoundRecord,
    certificate: Certificate,
    moment_bounds: Option<MomentBounds>,
    estimates: EstimatesRecord,
}

impl Answer {
    /// From a fit and what was found out about it.
    pub(crate) fn new(fit: Fit, worth: &Worth) -> Self {
        let promise = fit_file::bound(&fit.promise, None);
        Self {
            gaussian: fit.gaussian,
            trace: fit.trace,
            record: Record {
                names: fit.names,
                neg_elbo: fit.neg_elbo,
                method: fit.method,
                steps: fit.steps,
                stopped_early: fit.stopped_early,
                draws_per_step: fit.draws_per_step,
                gradient_evaluations: fit.gradient_evaluations,
                seed: fit.seed,
                seconds: fit.seconds,
                promise,
                certificate: worth.certificate.clone(),
                moment_bounds: worth.moment_bounds.clone(),
                estimates: fit_file::estimates(&worth.estimates),
            },
        }
    }
}

impl Answer {
    /// Out of a record; none where that is older than certificates.
    pub(crate) fn kept(fitted: &Fitted) -> Option<Self> {
        let file = &fitted.file;
        let snapshot = |at: &TracePoint| Snapshot {
            step: at.step,
            steps: file.steps,
            gamma: at.gamma,
            neg_elbo: at.neg_elbo.unwrap_or(f64::NAN),
            gap: at.gap,
        };
        Some(Self {
            gaussian: fitted.gaussian.clone(),
            trace: file.trace.iter().map(snapshot).collect(),
            record: Record {
                names: file.names.clone(),
                neg_elbo: NegElbo {
                    value: file.neg_elbo,
                    error: file.neg_elbo_error,
                    exact: file.neg_elbo_exact,
                },
                method: file.method.clone(),
                steps: file.steps,
                stopped_early: file.stopped_early,
                draws_per_step: file.draws_per_step,
                gradient_evaluations: file.gradient_evaluations,
                seed: Seed(file.seed),
                seconds: file.seconds,
                promise: file.plan_bound.clone(),
                certificate: file.certificate.clone()?,
                moment_bounds: file.moment_bounds.clone(),
                estimates: file.estimates.clone().unwrap_or_default(),
            },
        })
    }
}

/// A functional as JSON, its interval, and its proved digits of mean and sd.
type Asked = (String, [f64; 2], [Option<u32>; 2]);

fn asked(found: &Functional, level: Option<f64>) -> PyResult<Asked> {
    Ok((json(found)?, found.interval(level.unwrap_or(LEVEL)).map_err(raise)?, found.digits()))
}

/// A number at each snapshot.
fn column<'py, T: numpy::Element>(
    py: Python<'py>,
    trace: &[Snapshot],
    pick: impl Fn(&Snapshot) -> T,
) -> Bound<'py, PyArray1<T>> {
    trace.iter().map(pick).collect::<Vec<_>>().into_pyarray(py)
}

fn square<'py>(py: Python<'py>, matrix: &Matrix) -> PyResult<Bound<'py, PyArray2<f64>>> {
    PyArray1::from_slice(py, matrix.entries()).reshape([matrix.rows(), matrix.columns()])
}

fn json(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyValueError::new_err(error.to_string()))
}

#[pymethods]
impl Answer {
    #[getter]
    fn names(&self) -> Vec<String> {
        self.record.names.clone()
    }

    #[getter]
    fn mean<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.gaussian.mean())
    }

    #[getter]
    fn sd<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.gaussian.standard_deviations().into_pyarray(py)
    }

    #[getter]
    fn cov<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let covariance = py.detach(|| self.gaussian.covariance());
        square(py, &covariance)
    }

    #[getter]
    fn factor<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        square(py, &self.gaussian.factor_matrix())
    }

    /// The ELBO, its error, and whether that is a bound.
    #[getter]
    fn elbo(&self) -> (f64, f64, bool) {
        let NegElbo { value, error, exact } = self.record.neg_elbo;
        (-value, error, exact)
    }

    /// What is not an array, as JSON.
    fn record(&self) -> PyResult<String> {
        json(&self.record)
    }

    /// How the run went.
    #[getter]
    fn trace<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let out = PyDict::new(py);
        out.set_item("step", column(py, &self.trace, |s| s.step as i64))?;
        out.set_item("gamma", column(py, &self.trace, |s| s.gamma))?;
        out.set_item("elbo", column(py, &self.trace, |s| -s.neg_elbo))?;
        out.set_item("gap", column(py, &self.trace, |s| s.gap.unwrap_or(f64::NAN)))?;
        Ok(out)
    }

    /// Draws, one a row; a pure function of the seed.
    fn sample<'py>(
        &self,
        py: Python<'py>,
        count: usize,
        seed: Option<u64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let seed = seed.map_or(self.record.seed, Seed);
        let draws = py.detach(|| self.gaussian.sample(count, seed));
        square(py, &draws)
    }

    /// log q at points, one a row.
    fn log_density<'py>(
        &self,
        py: Python<'py>,
        points: PyReadonlyArray2<'_, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let dim = points.shape()[1];
        let entries = crate::design::entries(&points);
        let found: provi::Result<Vec<f64>> =
            py.detach(|| entries.chunks(dim.max(1)).map(|z| self.gaussian.log_density(z)).collect());
        Ok(found.map_err(raise)?.into_pyarray(py))
    }

    /// vᵀz with its errors.
    fn functional(&self, v: PyReadonlyArray1<'_, f64>, level: Option<f64>) -> PyResult<Asked> {
        let (v, record) = (numbers(&v), &self.record);
        let errors = match &record.moment_bounds {
            Some(bounds) => bounds.functional(&self.gaussian, &v),
            None => unbounded(&self.gaussian, &v, &record.certificate),
        };
        let found = errors.and_then(|e| Functional::new(&self.gaussian, &v, e, &record.certificate));
        asked(&found.map_err(raise)?, level)
    }

    /// The weights of an expression in the names, such as `a - b`.
    fn weights<'py>(&self, py: Python<'py>, expression: String) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let found = Contrast::read(&[expression], &self.record.names).map_err(refuse)?;
        Ok(found[0].weights().to_vec().into_pyarray(py))
    }

    /// Every coordinate, in order.
    fn coordinates(&self, level: Option<f64>) -> PyResult<Vec<Asked>> {
        let one = |i| {
            asked(&Functional::coordinate(&self.gaussian, i, &self.record.certificate).map_err(raise)?, level)
        };
        (0..self.gaussian.dim()).map(one).collect()
    }

    /// Chains, and draws of each, where nobody says how many.
    fn usual_draws(&self) -> [usize; 2] {
        usual_draws(self.gaussian.dim())
    }

    /// The certificate in five lines.
    fn describe(&self) -> String {
        self.record.certificate.to_string()
    }

    /// For `pickle`: arrays as bytes, the rest as JSON.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<(String, Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let trace: Vec<f64> = self
            .trace
            .iter()
            .flat_map(|s| [s.step as f64, s.steps as f64, s.gamma, s.neg_elbo, s.gap.unwrap_or(f64::NAN)])
            .collect();
        Ok((self.record()?, bytes(py, self.gaussian.parameters()), bytes(py, &trace)))
    }

    /// The inverse of `state`.
    #[staticmethod]
    fn restore(record: &str, parameters: &[u8], trace: &[u8]) -> PyResult<Self> {
        let record: Record =
            serde_json::from_str(record).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let parameters = floats(parameters);
        let (mean, factor) = parameters
            .split_at_checked(record.names.len())
            .ok_or_else(|| PyValueError::new_err("this is not the state of a fit"))?;
        let snapshot = |s: &[f64]| Snapshot {
            step: s[0] as u64,
            steps: s[1] as u64,
            gamma: s[2],
            neg_elbo: s[3],
            gap: Some(s[4]).filter(|gap| !gap.is_nan()),
        };
        let trace = floats(trace).chunks_exact(5).map(snapshot).collect();
        Ok(Self { gaussian: Gaussian::new(mean, factor).map_err(raise)?, trace, record })
    }
}

pub(crate) fn bytes<'py>(py: Python<'py>, numbers: &[f64]) -> Bound<'py, PyBytes> {
    PyBytes::new(py, &numbers.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>())
}

pub(crate) fn floats(bytes: &[u8]) -> Vec<f64> {
    let (chunks, _) = bytes.as_chunks::<8>();
    chunks.iter().map(|chunk| f64::from_le_bytes(*chunk)).collect()
}
