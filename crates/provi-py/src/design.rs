//! From arrays to the library's matrices, priors and curvatures.

use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use provi::target::{DataPrior, Glm, Prior, Target};
use provi::{Curvature, Design, Matrix, Quadratic};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::raise;

/// A row-major copy of the entries.
pub(crate) fn entries(array: &PyReadonlyArray2<'_, f64>) -> Vec<f64> {
    match array.as_slice() {
        // A column-major array is a slice too, but in the wrong order.
        Ok(entries) if array.is_c_contiguous() => entries.to_vec(),
        _ => array.as_array().iter().copied().collect(),
    }
}

/// A copy of a vector's entries.
pub(crate) fn numbers(array: &PyReadonlyArray1<'_, f64>) -> Vec<f64> {
    array.as_array().iter().copied().collect()
}

/// A matrix.
pub(crate) fn matrix(array: &PyReadonlyArray2<'_, f64>) -> PyResult<Matrix> {
    let [rows, columns] = [array.shape()[0], array.shape()[1]];
    Matrix::new(rows, columns, entries(array)).map_err(raise)
}

/// A design as Python hands it over.
#[derive(FromPyObject)]
pub(crate) enum Rows<'py> {
    /// One array.
    Dense(PyReadonlyArray2<'py, f64>),
    /// Compressed rows: starts, columns, values, shape.
    Sparse(
        PyReadonlyArray1<'py, i64>,
        PyReadonlyArray1<'py, i64>,
        PyReadonlyArray1<'py, f64>,
        (usize, usize),
    ),
}

impl Rows<'_> {
    /// The design, with a first column of ones if `intercept`. A sparse design stays sparse.
    pub(crate) fn design(&self, intercept: bool) -> PyResult<Design> {
        let design = match self {
            Self::Dense(array) => {
                Design::from_rows(array.shape()[0], array.shape()[1], entries(array)).map_err(raise)?
            }
            Self::Sparse(starts, columns, values, (rows, width)) => {
                check_dim(*width)?;
                let (starts, columns) = (positions(starts)?, positions(columns)?);
                Design::csr(*rows, *width, starts, columns, numbers(values)).map_err(raise)?
            }
        };
        Ok(if intercept { design.with_intercept() } else { design })
    }
}

/// The most coordinates: an answer has that number squared.
const MOST: usize = 1 << 24;

/// Refuses a dimension whose answer no machine can hold, before anything of that size is allocated.
pub(crate) fn check_dim(dim: usize) -> PyResult<()> {
    if dim > MOST {
        return Err(PyValueError::new_err(format!("dim = {dim}; must be at most {MOST}")));
    }
    Ok(())
}

fn positions(array: &PyReadonlyArray1<'_, i64>) -> PyResult<Vec<usize>> {
    let position = |&x: &i64| {
        usize::try_from(x)
            .map_err(|_| PyValueError::new_err(format!("index {x} of a sparse matrix is negative")))
    };
    array.as_array().iter().map(position).collect()
}

/// The prior of the coefficients; the library's default if nothing is given.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct PriorArguments<'py> {
    scale: Option<Spread<'py>>,
    mean: Option<PyReadonlyArray1<'py, f64>>,
    cov: Option<PyReadonlyArray2<'py, f64>>,
}

/// One number for all coefficients, or one for each.
#[derive(FromPyObject)]
pub(crate) enum Spread<'py> {
    All(f64),
    Each(PyReadonlyArray1<'py, f64>),
}

impl PriorArguments<'_> {
    /// The prior that they describe; [`PriorArguments::settle`] replaces it if no scale is given.
    pub(crate) fn prior(&self) -> PyResult<Prior> {
        let prior = match (&self.scale, &self.cov) {
            (Some(_), Some(_)) => {
                return Err(PyValueError::new_err(
                    "prior_scale and prior_cov were both given; give one of them",
                ));
            }
            (None, None) => Prior::default(),
            (Some(Spread::All(sd)), None) => Prior::scale(*sd).map_err(raise)?,
            (Some(Spread::Each(sds)), None) => Prior::scales(&numbers(sds)).map_err(raise)?,
            (None, Some(cov)) => Prior::covariance(matrix(cov)?).map_err(raise)?,
        };
        match &self.mean {
            Some(mean) => prior.with_mean(&numbers(mean)).map_err(raise),
            None => Ok(prior),
        }
    }

    /// The model with the default prior on the scale of the data, if no scale is given; around the prior means, if
    /// those are given.
    pub(crate) fn settle(&self, model: Glm) -> PyResult<Glm> {
        if self.scale.is_some() || self.cov.is_some() {
            return Ok(model);
        }
        let mut laws = DataPrior::new(&model.summary(), model.family(), model.dim());
        for (j, mean) in self.mean.as_ref().map(numbers).unwrap_or_default().into_iter().enumerate() {
            laws.set(j, (mean, laws.laws[j].1));
        }
        model.with_prior(laws.prior().map_err(raise)?).map_err(raise)
    }

    /// A single standard deviation, for a model that accepts no other prior.
    pub(crate) fn deviation(&self) -> PyResult<Option<f64>> {
        match (&self.scale, &self.mean, &self.cov) {
            (None, None, None) => Ok(None),
            (Some(Spread::All(sd)), None, None) => Ok(Some(*sd)),
            _ => {
                Err(PyValueError::new_err("a hierarchical model takes one prior_scale for all coefficients"))
            }
        }
    }
}

/// One side of a declared curvature: a multiple of the identity, or a matrix.
#[derive(FromPyObject)]
pub(crate) enum Side<'py> {
    Number(f64),
    Matrix(PyReadonlyArray2<'py, f64>),
}

impl Side<'_> {
    fn quadratic(&self) -> PyResult<Quadratic> {
        Ok(match self {
            Self::Number(value) => Quadratic::Scalar(*value),
            Self::Matrix(array) => Quadratic::Matrix(matrix(array)?),
        })
    }
}

/// The declared curvature μ and M.
pub(crate) fn curvature(
    dim: usize,
    convexity: Option<Side<'_>>,
    smoothness: Option<Side<'_>>,
) -> PyResult<Option<Curvature>> {
    let upper = smoothness.map(|side| side.quadratic()).transpose()?;
    match (convexity, &upper) {
        (None, None) => Ok(None),
        (None, Some(_)) => Err(PyValueError::new_err(
            "smoothness was declared without mu; declare mu too, 0 if all that is known is that −log p is convex",
        )),
        (Some(lower), _) => Curvature::declared(dim, lower.quadratic()?, upper).map(Some).map_err(raise),
    }
}
