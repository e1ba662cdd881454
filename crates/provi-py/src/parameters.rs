//! Parameters with domains: the way between a model's numbers and free coordinates.

use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2,
    PyUntypedArrayMethods,
};
use provi::target::{Domain, Parameters as Named};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::design::{entries, numbers};
use crate::error::raise;

/// A name, the name of a domain, its bounds, its size, and the axes of an array of such parameters.
type Given = (String, String, Vec<f64>, usize, Vec<usize>);

/// Points, one a row, and a number for each.
type Points<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>);

/// Named parameters; nothing in them changes.
#[pyclass(frozen, module = "provi._provi")]
pub(crate) struct Parameters(Named);

#[pymethods]
impl Parameters {
    #[new]
    fn new(given: Vec<Given>) -> PyResult<Self> {
        let all = given
            .into_iter()
            .map(|(name, kind, bounds, size, axes)| {
                let found = domain(&kind, &bounds, size)?.and_then(|domain| domain.of_shape(&axes));
                let domain = found.map_err(|error| PyValueError::new_err(format!("{name}: {error}")))?;
                Ok((name, domain))
            })
            .collect::<PyResult<Vec<_>>>()?;
        Named::new(all).map(Self).map_err(raise)
    }

    /// The axes of each parameter's numbers and of its coordinates.
    fn shapes(&self) -> Vec<(Vec<usize>, Vec<usize>)> {
        self.0.iter().map(|(_, domain)| (domain.shape(), domain.free_shape())).collect()
    }

    /// The numbers at points of free coordinates, one point a row, and the logarithm of the volume at each.
    fn constrain<'py>(&self, py: Python<'py>, points: PyReadonlyArray2<'_, f64>) -> PyResult<Points<'py>> {
        let points = self.checked(&points, self.0.coordinates())?;
        let count = points.len() / self.0.coordinates();
        let (mut theta, mut volumes) = (vec![0.0; count * self.0.numbers()], vec![0.0; count]);
        self.0.constrain_all(&points, &mut theta, &mut volumes, &mut vec![0.0; self.0.working()]);
        Ok((theta.into_pyarray(py).reshape([count, self.0.numbers()])?, volumes.into_pyarray(py)))
    }

    /// Gradients by the coordinates, that of the volume included, from slopes by the numbers `theta` at `points`.
    fn pull_back<'py>(
        &self,
        py: Python<'py>,
        points: PyReadonlyArray2<'_, f64>,
        theta: PyReadonlyArray2<'_, f64>,
        slopes: PyReadonlyArray2<'_, f64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let points = self.checked(&points, self.0.coordinates())?;
        let theta = self.checked(&theta, self.0.numbers())?;
        let slopes = self.checked(&slopes, self.0.numbers())?;
        let count = points.len() / self.0.coordinates();
        let mut gradients = vec![0.0; points.len()];
        self.0.pull_back_all(&points, &theta, &slopes, &mut gradients, &mut vec![0.0; self.0.working()]);
        gradients.into_pyarray(py).reshape([count, self.0.coordinates()])
    }

    /// The free coordinates of one point.
    fn unconstrain<'py>(
        &self,
        py: Python<'py>,
        theta: PyReadonlyArray1<'_, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(self.0.unconstrain(&numbers(&theta)).map_err(raise)?.into_pyarray(py))
    }
}

impl Parameters {
    fn checked(&self, points: &PyReadonlyArray2<'_, f64>, columns: usize) -> PyResult<Vec<f64>> {
        if points.shape()[1] != columns {
            let found = points.shape()[1];
            return Err(PyValueError::new_err(format!(
                "the points have {found} columns, expected {columns}"
            )));
        }
        Ok(entries(points))
    }
}

fn domain(kind: &str, bounds: &[f64], size: usize) -> PyResult<provi::Result<Domain>> {
    Ok(match (kind, bounds) {
        ("real", []) => Ok(Domain::real()),
        ("positive", []) => Ok(Domain::positive()),
        ("above", [lower]) => Domain::above(*lower),
        ("below", [upper]) => Domain::below(*upper),
        ("between", [lower, upper]) => Domain::between(*lower, *upper),
        ("ordered", []) => Domain::ordered(size),
        ("simplex", []) => Domain::simplex(size),
        ("covariance", []) => Domain::covariance(size),
        ("correlation", []) => Domain::correlation(size),
        _ => return Err(PyValueError::new_err(format!("`{kind}` is no domain"))),
    })
}
