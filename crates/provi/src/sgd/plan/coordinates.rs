//! The coordinates of a run: z = c + Py.

use super::promise::Norm;
use super::start::{ExactStart, exact_distance2};
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::matrix::{Matrix, pack_lower, unpack_lower};
use crate::base::pattern::{Pattern, precision_of};
use crate::sgd::method::Space;
use crate::target::Target;
use crate::target::curvature::Curvature;
use crate::target::mode::Mode;
use crate::target::whiten::Whitened;

/// In which coordinates the steps are made; the promise is in their norm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum Coordinates {
    /// The user's coordinates.
    Original,
    /// PPᵀ = H_lo⁻¹: the best provable condition number.
    Curvature,
    /// PPᵀ = (∇²V(z̄))⁻¹: the best local condition number.
    Laplace,
}

impl std::str::FromStr for Coordinates {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "original" => Ok(Self::Original),
            "curvature" => Ok(Self::Curvature),
            "laplace" => Ok(Self::Laplace),
            _ => Err(Error::UnknownName {
                what: "coordinates",
                found: text.to_owned(),
                known: "original, curvature, laplace",
            }),
        }
    }
}

/// z = c + Py, P lower triangular, and PC̃ in the family of q whenever C̃ is \[pattern\]. Without a P: the identity, and c
/// is the origin.
#[derive(Clone, Debug)]
pub struct Frame {
    pub(crate) coordinates: Coordinates,
    pub(crate) center: Vec<f64>,
    pub(crate) factor: Option<Vec<f64>>,
    pattern: Pattern,
}

impl Frame {
    pub(super) fn new(
        coordinates: Coordinates,
        mode: &Mode,
        laplace: &[f64],
        curvature: Option<&Curvature>,
        pattern: &Pattern,
    ) -> Result<Self> {
        let d = mode.point.len();
        let factor = match coordinates {
            Coordinates::Original => None,
            Coordinates::Laplace if pattern.is_full() => Some(laplace.to_vec()),
            Coordinates::Laplace => Some(pattern.scale(&precision_of(d, laplace)?)?),
            Coordinates::Curvature => match curvature {
                Some(c) if c.convexity() > 0.0 && pattern.is_full() => Some(c.whitening()?),
                Some(c) if c.convexity() > 0.0 => Some(pattern.scale(&c.lower().to_matrix(d))?),
                _ => {
                    return Err(Error::MissingConstant {
                        wanted: "curvature coordinates",
                        constant: "a lower curvature H_lo ≻ 0",
                        way_out: "use the original or the Laplace coordinates",
                    });
                }
            },
        };
        Ok(Self { coordinates, center: mode.point.clone(), factor, pattern: pattern.clone() })
    }

    /// The norm of a promise in these coordinates.
    pub(super) fn norm(&self) -> Norm {
        match self.coordinates {
            Coordinates::Original => Norm::Original,
            _ if !self.pattern.is_full() => Norm::Scaled,
            Coordinates::Curvature => Norm::LowerCurvature,
            Coordinates::Laplace => Norm::Laplace,
        }
    }

    /// The curvature in these coordinates, w_0 = (z̄, the family's factor nearest to the Laplace approximation) in them,
    /// and a bound of ‖w_0 − w*‖² if exact expectations prove one. The distance is between factors of `space`, because the two spaces measure it
    /// differently.
    pub(super) fn view(
        &self,
        target: &dyn Target,
        mode: &Mode,
        nearest: &[f64],
        curvature: Option<Curvature>,
        space: Space,
    ) -> Result<(Option<Curvature>, Gaussian<Triangular>, Option<ExactStart>)> {
        let d = mode.point.len();
        match &self.factor {
            None => {
                let start = Gaussian::from_parameters(d, [&mode.point[..], nearest].concat());
                let convexity = curvature.as_ref().map_or(0.0, Curvature::convexity);
                let distance2 = exact_distance2(target, &start, convexity, space, &self.pattern)?;
                Ok((curvature, start, distance2))
            }
            Some(factor) => {
                let white = Whitened::new(target, self.center.clone(), factor.clone());
                let curvature = match curvature {
                    Some(c) => Some(c.transformed(&unpack_lower(d, factor))?),
                    None => None,
                };
                let start = match self.coordinates {
                    Coordinates::Laplace if self.pattern.is_full() => Gaussian::standard(d),
                    _ => {
                        let mut quotient = quotient(d, factor, nearest)?;
                        self.pattern.entries(d)?.clear_others(&mut quotient);
                        Gaussian::from_parameters(d, [vec![0.0; d], quotient].concat())
                    }
                };
                let convexity = curvature.as_ref().map_or(0.0, Curvature::convexity);
                let distance2 = exact_distance2(&white, &start, convexity, space, &self.pattern)?;
                Ok((curvature, start, distance2))
            }
        }
    }

    /// An upper bound of ‖Pᵀ∇V(z̄)‖, the gradient at the mode in these coordinates.
    pub(super) fn gradient_norm(&self, mode: &Mode) -> f64 {
        let scale = self.factor.as_ref().map_or(1.0, |p| crate::base::linalg::norm(p));
        scale * mode.gradient_norm * (1.0 + 1e-12)
    }

    /// q̃ in the user's coordinates.
    pub(crate) fn restore(&self, q: &Gaussian<Triangular>) -> Gaussian<Triangular> {
        match &self.factor {
            None => q.clone(),
            Some(factor) => q.pushed(&self.center, factor),
        }
    }
}

/// P⁻¹L for two packed lower triangles.
fn quotient(d: usize, p: &[f64], l: &[f64]) -> Result<Vec<f64>> {
    let mut columns = Matrix::zeros(d, d);
    let l = unpack_lower(d, l);
    for j in 0..d {
        for i in 0..d {
            columns[(j, i)] = l[(i, j)];
        }
        provi_kernels::triangle::solve(p, columns.row_mut(j));
    }
    let mut out = Matrix::zeros(d, d);
    for i in 0..d {
        for j in 0..=i {
            out[(i, j)] = columns[(j, i)];
        }
    }
    Ok(pack_lower(&out))
}
