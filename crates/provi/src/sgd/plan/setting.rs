//! What a plan knows about its target before it chooses steps: mode, coordinates, curvature, and the constants from them.

use super::start::ExactStart;
use super::terms::DrawnTerms;
use super::{Constants, Frame, Planner};
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::norm;
use crate::sgd::estimator::Control;
use crate::sgd::method::{MISSING_SMOOTHNESS, Method, noise_base};
use crate::target::curvature::Curvature;
use crate::target::mode::Mode;
use crate::theory::noise::{self, NoiseBound, TermNoise};
use crate::theory::rate;

/// What is known after mode, coordinates and curvature have been computed.
pub(super) struct Setting {
    pub(super) mode: Mode,
    pub(super) evaluations: u64,
    pub(super) frame: Frame,
    /// The curvature in the frame's coordinates.
    pub(super) curvature: Option<Curvature>,
    /// w_0 in the frame's coordinates.
    pub(super) start: Gaussian<Triangular>,
    /// A bound of ‖w_0 − w*‖² by [cert-gap], if expectations are exact.
    pub(super) exact_start: Option<ExactStart>,
    pub(super) draws: usize,
    /// The number of independent draws whose bounds hold for these [noise-coupled]; at least 1.
    pub(super) counted: usize,
    pub(super) terms: Option<DrawnTerms>,
    /// Whether the steps are those that work in practice.
    pub(super) for_practice: bool,
}

impl Setting {
    fn provenance(&self, radius: Option<f64>) -> crate::Provenance {
        let given = self.curvature.as_ref().map_or(crate::Provenance::Estimated, Curvature::provenance);
        let given = self.terms.as_ref().and_then(DrawnTerms::provenance).map_or(given, |p| given.weakest(p));
        if radius.is_some() { given.weakest(crate::Provenance::Declared) } else { given }
    }

    /// The constants of the drawn terms, if draws use a subsample.
    fn term_noise(&self, curvature: &Curvature) -> Result<Option<TermNoise>> {
        let Some(terms) = &self.terms else { return Ok(None) };
        let convexity = curvature.convexity();
        let through_mode = noise::optimum_distance2(curvature.dim(), convexity)?.sqrt();
        let shift = self.frame.gradient_norm(&self.mode) / convexity;
        terms.noise((through_mode + shift) * (1.0 + 1e-12)).map(Some)
    }

    pub(super) fn smooth(&self) -> Result<(&Curvature, f64)> {
        let curvature = self.curvature.as_ref().ok_or(MISSING_SMOOTHNESS)?;
        Ok((curvature, curvature.smoothness().ok_or(MISSING_SMOOTHNESS)?))
    }

    /// c of the quadratic that controls draws: (M + μ)/2, with the smallest bound of the noise. Where steps are made for
    /// practice, 1: in the coordinates of such steps that is about the curvature where the draws fall, and (M + μ)/2 can be far above it.
    fn control_curvature(&self) -> Result<f64> {
        let (curvature, smoothness) = self.smooth()?;
        match self.for_practice {
            true => Ok(1f64.clamp(curvature.convexity(), smoothness)),
            false => noise::control(smoothness, curvature.convexity()),
        }
    }

    /// The quadratic that controls draws in the frame's coordinates, around the computed mode.
    pub(super) fn control(&self) -> Result<Control> {
        Ok(Control { curvature: self.control_curvature()?, centre: self.centre() })
    }

    /// The computed mode in the frame's coordinates.
    pub(super) fn centre(&self) -> Vec<f64> {
        match &self.frame.factor {
            Some(_) => vec![0.0; self.mode.point.len()],
            None => self.mode.point.clone(),
        }
    }

    /// The constants of the recursion, and e_0.
    pub(super) fn constants(&self, planner: &Planner) -> Result<Constants> {
        let (curvature, smoothness) = self.smooth()?;
        if curvature.convexity() <= 0.0 {
            return Err(Error::MissingConstant {
                wanted: "a bound on the distance to the optimum",
                constant: "a convexity μ > 0",
                way_out: "use a proper prior, or the convex mode with a declared radius",
            });
        }
        let noise = match self.term_noise(curvature)? {
            None if planner.method.is_controlled() => {
                // Draws are controlled around the computed mode, which lies within ‖∇V‖/μ of the mode.
                let offset = self.frame.gradient_norm(&self.mode) / curvature.convexity() * (1.0 + 1e-12);
                let draws = self.counted;
                planner.method.controlled_noise(
                    planner.base_law,
                    curvature,
                    draws,
                    self.control_curvature()?,
                    offset,
                )?
            }
            Some(terms) => {
                let draws = self.counted;
                let (pattern, law) = (&planner.pattern, planner.base_law);
                planner.method.subsampled_noise_within(pattern, law, curvature, draws, &terms)?
            }
            None => {
                let (pattern, law) = (&planner.pattern, planner.base_law);
                planner.method.noise_within(pattern, law, curvature, self.counted)?
            }
        };
        let exact = self.exact_start.as_ref().filter(|_| planner.method == Method::Exact);
        Ok(Constants {
            dim: curvature.dim(),
            convexity: curvature.convexity(),
            smoothness,
            residual_smoothness: curvature.residual_smoothness(),
            noise,
            start: self.start_distance2(curvature)?,
            gradient_error: exact.map_or(0.0, |e| 4.0 * e.gradient_error),
            // If the expectations are only checked, the steps are no better proved than they are.
            provenance: exact.map_or(self.provenance(None), |e| curvature.provenance().weakest(e.provenance)),
        })
    }

    /// The single-draw constants of the convex rates; for the prox, of g itself (not centred).
    pub(super) fn single_draw_constants(&self, planner: &Planner) -> Result<Constants> {
        planner.method.check_law(planner.base_law)?;
        if planner.method.is_controlled() {
            let why = "controlled draws have bounds for the recursion only; use prox-energy, proj-entropy-triangular or proj-adaptive";
            return Err(Error::Pairing { why });
        }
        let (curvature, smoothness) = self.smooth()?;
        let d = curvature.dim();
        let (start, distance2) = match planner.radius {
            Some(radius) => (radius * radius, radius * radius),
            None if curvature.convexity() > 0.0 => {
                (self.start_distance2(curvature)?, noise::optimum_distance2(d, curvature.convexity())?)
            }
            None => {
                return Err(Error::MissingConstant {
                    wanted: "a convex rate",
                    constant: "a radius: nothing bounds ‖w_0 − w*‖ when μ = 0",
                    way_out: "declare one with `Planner::radius`",
                });
            }
        };
        let terms = match (&self.terms, planner.radius) {
            (Some(terms), Some(radius)) => Some(terms.noise(radius)?),
            _ => self.term_noise(curvature)?,
        };
        let base = noise_base(&planner.pattern, planner.base_law, d)?;
        // ‖∇h‖² ≤ dM on the set, whatever the family.
        let entropy = |bound: NoiseBound| {
            let others = 2.0 * (d - base.dim()) as f64 * smoothness;
            NoiseBound::new(bound.growth, bound.floor + others * (1.0 + 1e-14))
        };
        let bound = match planner.method {
            Method::ProxEnergy => match terms {
                Some(terms) => terms.energy_single(base, smoothness, distance2)?,
                None => noise::energy(base, smoothness, distance2)?,
            },
            Method::ProjEntropy | Method::ProjEntropyTriangular => entropy(match terms {
                Some(terms) => terms.entropy_single(base, smoothness, smoothness, distance2)?,
                None => noise::entropy(base, smoothness, smoothness, distance2)?,
            })?,
            other => other.noise_within(&planner.pattern, planner.base_law, curvature, self.counted)?,
        };
        Ok(Constants {
            dim: d,
            convexity: curvature.convexity(),
            smoothness,
            residual_smoothness: curvature.residual_smoothness(),
            noise: bound,
            start,
            gradient_error: 0.0,
            provenance: self.provenance(planner.radius),
        })
    }

    /// e_0 ≥ ‖w_0 − w*‖²: the smaller of the bound through the mode and the bound through the exact gradient.
    fn start_distance2(&self, curvature: &Curvature) -> Result<f64> {
        let d = curvature.dim();
        // The frame is centred at the computed mode, so the distance is that of the factor alone. The gradient
        // there, in these coordinates, is at most ‖P‖ times the user's.
        let through_mode = rate::start_distance2(
            norm(self.start.factor()),
            d,
            curvature.convexity(),
            self.frame.gradient_norm(&self.mode),
        )?;
        Ok(self.exact_start.as_ref().map_or(through_mode, |e| e.distance2.min(through_mode)))
    }
}
