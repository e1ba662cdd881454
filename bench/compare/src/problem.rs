//! The workloads, from raw numbers that every package reads alike.
//!
//! A directory holds `shape.json` (`rows`, `columns`), `x.f64` (row by row; the precision for `gaussian`), `y.f64`, and
//! for `hierarchical` also `group.f64`: little-endian numbers of 64 bits. All priors are standard normal.

use crate::Outcome;
use provi::target::{GaussianTarget, Glm, Prior, Scratch, Target, hierarchical_logistic};
use provi::{Design, Matrix};
use std::path::Path;

/// A model with everything that is known of it.
pub(crate) enum Problem {
    /// A linear predictor.
    Regression(Box<Glm>),
    /// A dense Gaussian.
    Gaussian(Box<GaussianTarget>),
}

impl Problem {
    /// Reads a workload.
    pub(crate) fn read(kind: &str, directory: &Path) -> Outcome<Self> {
        let shape: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(directory.join("shape.json"))?)?;
        let size = |key: &str| {
            let size = shape[key].as_u64().ok_or_else(|| format!("shape.json gives no `{key}`"))?;
            usize::try_from(size).map_err(|error| error.to_string())
        };
        let (rows, columns) = (size("rows")?, size("columns")?);
        let x = numbers(&directory.join("x.f64"))?;
        if kind == "gaussian" {
            let target = GaussianTarget::new(&vec![0.0; columns], Matrix::new(rows, columns, x)?)?;
            return Ok(Self::Gaussian(Box::new(target.constant(0.0)?)));
        }
        let design = Design::from_rows(rows, columns, x)?;
        let y = numbers(&directory.join("y.f64"))?;
        let prior = Prior::precision(1.0)?;
        let model = match kind {
            "linear" => Glm::linear(design, &y, 1.0, prior)?,
            "logistic" => Glm::logistic(design, &y, prior)?,
            "hierarchical" => {
                let group = numbers(&directory.join("group.f64"))?;
                let group: Vec<usize> = group.iter().map(|&g| g as usize).collect();
                let identity = Matrix::scaled_identity(columns, 1.0);
                hierarchical_logistic(&design, &y, &group, &identity, &identity)?
            }
            _ => return Err(format!("no kind `{kind}`: linear, logistic, hierarchical or gaussian").into()),
        };
        Ok(Self::Regression(Box::new(model)))
    }

    /// The model as a target with exact expectations.
    pub(crate) fn target(&self) -> &(dyn Target + Sync) {
        match self {
            Self::Regression(model) => model.as_ref(),
            Self::Gaussian(model) => model.as_ref(),
        }
    }
}

/// log p and its gradient, and nothing else.
pub(crate) struct BlackBox<'a>(pub(crate) &'a (dyn Target + Sync));

impl Target for BlackBox<'_> {
    fn dim(&self) -> usize {
        self.0.dim()
    }
    fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> provi::Result<f64> {
        self.0.log_density(z, gradient)
    }
    fn log_densities(
        &self,
        points: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
        scratch: &mut Scratch,
    ) -> provi::Result<()> {
        self.0.log_densities(points, values, gradients, scratch)
    }
}

fn numbers(path: &Path) -> Outcome<Vec<f64>> {
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap_or_default())).collect())
}
