//! The proved methods, in one table: estimator, step, factor space, noise bound.

use crate::base::base_law::BaseLaw;
use crate::base::coupling::Coupling;
use crate::base::error::{Error, Result};
use crate::base::pattern::Pattern;
use crate::sgd::estimator::Kind;
use crate::sgd::walk::Walk;
use crate::target::curvature::Curvature;
use crate::theory::noise::{self, Base, NoiseBound, TermNoise};
use crate::theory::schedule::StepKind;

/// How w is moved. Every variant except the last has a theorem.
///
/// | method | estimator | step | factor | noise | rate |
/// |---|---|---|---|---|---|
/// | `prox-energy` | energy | prox | 𝒯ᵈ | [noise-energy], [noise-centred] | [rate-prox-strong] |
/// | `proj-entropy` | entropy | projection on 𝒲_M | 𝒮ᵈ | [noise-entropy], [noise-batch] | [rate-proj-strong] |
/// | `proj-entropy-triangular` | entropy | C_ii ≥ 1/√M | 𝒯ᵈ | the same [proj-tri] | [rate-proj-strong] |
/// | `proj-stl` | sticking the landing | projection on 𝒲_M | 𝒮ᵈ | [noise-stl], [noise-batch] | [rate-proj-strong] |
/// | `prox-controlled` | energy, controlled by a quadratic | prox | 𝒯ᵈ | [noise-controlled] | \[recursion\] |
/// | `proj-controlled` | entropy, controlled | C_ii ≥ 1/√M | 𝒯ᵈ | [noise-controlled] | \[recursion\] |
/// | `proj-adaptive` | entropy | C_ii ≥ 1/√M, in a ball | 𝒯ᵈ | [proj-ball], [noise-batch] | [rate-proj-adaptive] |
/// | `proj-adaptive-stl` | sticking the landing | 𝒲_M, in a ball | 𝒮ᵈ | [proj-ball], [noise-batch] | [rate-proj-adaptive] |
/// | `exact` | none: ∇l by quadrature | prox | 𝒯ᵈ | 0 | contraction \[recursion\] |
///
/// The adaptive methods decide the size of a step by their draws; all others have it planned.
///
/// With draws of another law than the normal, `prox-energy`, `proj-entropy-triangular`, `proj-adaptive` and the controlled methods have the same
/// theorems with d + κ in place of d + 3 \[base-law\]; the others have none ([`Method::check_law`]).
///
/// Cost of a step beyond the target's: `prox-energy` and `proj-entropy-triangular` take one pass over C and O(d); the controlled
/// methods take three, `proj-adaptive` a few.
/// `proj-stl` takes five passes over C or its inverse while the projection is inactive (or, for batches beyond d/8,
/// a Cholesky factorisation of C). `proj-entropy` takes an inverse of C, O(d³). Both take a Cholesky factorisation
/// when the projection may be active, and some eigenpairs when it is. `proj-adaptive-stl` takes a Cholesky factorisation, and an
/// eigendecomposition where the ball binds. `exact` takes a few passes over the data and
/// a product of d × d matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// Algorithm 1 of the paper.
    ProxEnergy,
    /// Algorithm 2 of the paper.
    ProjEntropy,
    /// Algorithm 2 with the O(d) projection of triangular factors.
    ProjEntropyTriangular,
    /// Algorithm 3 of the paper.
    ProjStl,
    /// Algorithm 1 with a quadratic as control variate.
    ProxControlled,
    /// Algorithm 2 on triangular factors with a quadratic as control variate.
    ProjControlled,
    /// Algorithm 2 on the triangular factors of a ball, with steps that the draws decide.
    ProjAdaptive,
    /// Algorithm 3 on the symmetric factors of a ball, with steps that the draws decide.
    ProjAdaptiveStl,
    /// Proximal gradient steps without noise, for targets with exact expectations.
    Exact,
    /// Anything else: it runs, and has no promise.
    Unproven(Recipe),
}

/// Steps that no theorem here covers: a pairing of estimator and guard on w = (m, C), or a walk of another kind on (m, Σ).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Recipe {
    /// Stochastic gradients on w, made by [`Recipe::new`].
    Pairing(Pairing),
    /// Natural gradients, Bures–Wasserstein steps, or batch and match; each has a name that users type ([`Method::recipes`]).
    Walk(Walk),
    /// DoWG: `proj-entropy-triangular` with steps from the distance travelled, `dowg` to users. Its theorem is for exact gradients
    /// \[dowg\].
    Dowg,
}

/// An estimator and a guard that no theorem pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pairing {
    estimator: Kind,
    guard: Guard,
    space: Space,
}

/// What keeps an unproven iterate in the domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// The proximal step, for an estimator of ∇l.
    Prox,
    /// A projection, for an estimator of ∇f.
    Projection,
    /// Nothing: plain stochastic gradient descent on f, which may leave the domain.
    Nothing,
}

/// The space of the factor C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// 𝒯ᵈ: lower triangular.
    Triangular,
    /// 𝒮ᵈ: symmetric.
    Symmetric,
}

impl Recipe {
    /// A pairing. The prox supplies ∇h, so it needs an estimator of ∇l; all other guards need an estimator of
    /// ∇f.
    pub fn new(estimator: Kind, guard: Guard, space: Space) -> Result<Self> {
        let fits = estimator.leaves_the_entropy() == (guard == Guard::Prox);
        if !fits || (guard == Guard::Prox && space == Space::Symmetric) {
            return Err(Error::Pairing {
                why: if fits {
                    "the proximal step is written for triangular factors"
                } else {
                    "the prox needs an estimate of ∇l (energy), every other step one of ∇f (entropy, stl, score)"
                },
            });
        }
        Ok(Self::Pairing(Pairing { estimator, guard, space }))
    }

    /// Why nothing is promised.
    pub(crate) fn reason(self) -> String {
        match self {
            Self::Pairing(_) => "no theorem covers this pairing of estimator and step".into(),
            Self::Walk(walk) => format!("{walk} is an unproven recipe: no theorem here covers its steps"),
            Self::Dowg => "dowg is an unproven recipe: its theorem is for gradients without noise".into(),
        }
    }
}

/// The proved methods by the names that users type.
const NAMED: [(&str, Method); 9] = [
    ("prox-energy", Method::ProxEnergy),
    ("proj-entropy", Method::ProjEntropy),
    ("proj-entropy-triangular", Method::ProjEntropyTriangular),
    ("proj-stl", Method::ProjStl),
    ("prox-controlled", Method::ProxControlled),
    ("proj-controlled", Method::ProjControlled),
    ("proj-adaptive", Method::ProjAdaptive),
    ("proj-adaptive-stl", Method::ProjAdaptiveStl),
    ("exact", Method::Exact),
];

/// DoWG as users type it.
const DOWG: (&str, Method) = ("dowg", Method::Unproven(Recipe::Dowg));

impl Method {
    /// Every proved method with its name.
    pub fn named() -> impl Iterator<Item = (&'static str, Method)> {
        NAMED.into_iter()
    }

    /// Every unproven recipe that has a name.
    pub fn recipes() -> impl Iterator<Item = (&'static str, Method)> {
        Walk::named().map(|(name, walk)| (name, Self::Unproven(Recipe::Walk(walk)))).chain([DOWG])
    }

    /// The name that users type; "unproven" for a recipe without one.
    pub fn name(self) -> &'static str {
        NAMED
            .into_iter()
            .chain(Self::recipes())
            .find(|(_, m)| *m == self)
            .map_or("unproven", |(name, _)| name)
    }

    /// The walk on (m, Σ), if the method is one.
    pub fn walk(self) -> Option<Walk> {
        match self {
            Self::Unproven(Recipe::Walk(walk)) => Some(walk),
            _ => None,
        }
    }

    /// The estimator of gradients in w, if the method has one.
    pub fn estimator(self) -> Option<Kind> {
        match self {
            Self::ProxEnergy | Self::ProxControlled => Some(Kind::Energy),
            Self::ProjEntropy
            | Self::ProjEntropyTriangular
            | Self::ProjControlled
            | Self::ProjAdaptive
            | Self::Unproven(Recipe::Dowg) => Some(Kind::Entropy),
            Self::ProjStl | Self::ProjAdaptiveStl => Some(Kind::Stl),
            Self::Exact | Self::Unproven(Recipe::Walk(_)) => None,
            Self::Unproven(Recipe::Pairing(pairing)) => Some(pairing.estimator),
        }
    }

    /// What keeps the iterate in the domain after a gradient step; a walk needs nothing, since its steps stay there.
    pub fn guard(self) -> Guard {
        match self {
            Self::ProxEnergy | Self::ProxControlled | Self::Exact => Guard::Prox,
            Self::ProjEntropy
            | Self::ProjEntropyTriangular
            | Self::ProjStl
            | Self::ProjControlled
            | Self::ProjAdaptive
            | Self::ProjAdaptiveStl
            | Self::Unproven(Recipe::Dowg) => Guard::Projection,
            Self::Unproven(Recipe::Pairing(pairing)) => pairing.guard,
            Self::Unproven(Recipe::Walk(_)) => Guard::Nothing,
        }
    }

    /// The factor space.
    pub fn space(self) -> Space {
        match self {
            Self::ProxEnergy
            | Self::ProjEntropyTriangular
            | Self::ProxControlled
            | Self::ProjControlled
            | Self::ProjAdaptive
            | Self::Exact
            | Self::Unproven(Recipe::Walk(_) | Recipe::Dowg) => Space::Triangular,
            Self::ProjEntropy | Self::ProjStl | Self::ProjAdaptiveStl => Space::Symmetric,
            Self::Unproven(Recipe::Pairing(pairing)) => pairing.space,
        }
    }

    /// Whether a quadratic controls its draws [noise-controlled].
    pub fn is_controlled(self) -> bool {
        matches!(self, Self::ProxControlled | Self::ProjControlled)
    }

    /// Whether its steps stay in a ball, with sizes that its draws decide, under a promise [rate-proj-adaptive].
    pub fn is_adaptive(self) -> bool {
        matches!(self, Self::ProjAdaptive | Self::ProjAdaptiveStl)
    }

    /// Whether its draws decide the sizes of its steps.
    pub fn follows_draws(self) -> bool {
        self.is_adaptive() || self == DOWG.1
    }

    /// Which family of theorems the step belongs to.
    pub fn step_kind(self) -> StepKind {
        if self.guard() == Guard::Prox { StepKind::Prox } else { StepKind::Proj }
    }

    /// Refuses a method that needs all terms for each draw, and says why [noise-subsample].
    pub fn check_subsampled(self) -> Result<()> {
        match self {
            Self::Unproven(Recipe::Walk(walk)) if !walk.takes_terms() => Err(Error::NotSubsampled {
                method: self.name(),
                why: "the covariance of the scores would count the noise of the terms as curvature",
                otherwise: "the recipe natural-gradient",
            }),
            Self::ProxEnergy | Self::ProjEntropy | Self::ProjEntropyTriangular | Self::Unproven(_) => Ok(()),
            Self::ProxControlled | Self::ProjControlled => Err(Error::NotSubsampled {
                method: self.name(),
                why: "the quadratic controls the sum of all terms, not a few of them",
                otherwise: "leave the subsample out",
            }),
            Self::ProjAdaptive | Self::ProjAdaptiveStl => Err(Error::NotSubsampled {
                method: self.name(),
                why: "the noise on a ball is bounded for the sum of all terms only",
                otherwise: "the recipe dowg",
            }),
            Self::ProjStl => Err(Error::NotSubsampled {
                method: self.name(),
                why: "no noise bound is known, because −C⁻ᵀu does not cancel against single terms",
                otherwise: "the same steps as an unproven recipe",
            }),
            Self::Exact => Err(Error::NotSubsampled {
                method: self.name(),
                why: "it makes no draws, and its expectations go through all the data",
                otherwise: "leave the subsample out",
            }),
        }
    }

    /// The constants (a, b) of the recursion for a mean of `draws` draws, each on its own terms [noise-subsample].
    pub fn subsampled_noise(
        self,
        curvature: &Curvature,
        draws: usize,
        terms: &TermNoise,
    ) -> Result<NoiseBound> {
        self.subsampled_noise_within(&Pattern::Full, BaseLaw::Gaussian, curvature, draws, terms)
    }

    /// [`Method::subsampled_noise`] for factors of a family and draws of a law \[pattern\], \[base-law\].
    pub(crate) fn subsampled_noise_within(
        self,
        pattern: &Pattern,
        law: BaseLaw,
        curvature: &Curvature,
        draws: usize,
        terms: &TermNoise,
    ) -> Result<NoiseBound> {
        self.check_subsampled()?;
        self.check_law(law)?;
        let base = noise_base(pattern, law, curvature.dim())?;
        let smoothness = curvature.smoothness().ok_or(MISSING_SMOOTHNESS)?;
        let distance2 = noise::optimum_distance2(curvature.dim(), curvature.convexity())?;
        let v_star = noise::v_star_bound(base, smoothness, distance2)?;
        match self {
            Self::ProxEnergy => terms.energy(base, smoothness, draws, v_star),
            Self::ProjEntropy | Self::ProjEntropyTriangular => terms.entropy(base, smoothness, draws, v_star),
            // A method without its own noise bound has none with terms either.
            other => other.noise_within(pattern, law, curvature, draws),
        }
    }

    /// Refuses a method whose steps or theorem leave the family \[pattern\].
    pub fn check_pattern(self, pattern: &Pattern) -> Result<()> {
        let refused = |why: &str| Err(Error::Pattern { family: pattern.to_string(), why: why.into() });
        match self {
            _ if pattern.is_full() => Ok(()),
            _ if !pattern.is_subspace() => refused(
                "its factors are no subspace, so that no step keeps it: only the method auto seeks it",
            ),
            Self::ProxEnergy | Self::ProjEntropyTriangular | Self::Exact => Ok(()),
            Self::Unproven(Recipe::Pairing(Pairing {
                estimator: Kind::Energy, guard: Guard::Prox, ..
            })) => Ok(()),
            Self::ProxControlled | Self::ProjControlled => refused(
                "controlled draws are made with a full triangle; use prox-energy, proj-entropy-triangular or exact",
            ),
            Self::ProjAdaptive | Self::ProjAdaptiveStl => refused(
                "steps in a ball are made with a full factor; use prox-energy, proj-entropy-triangular or exact",
            ),
            Self::ProjEntropy | Self::ProjStl => refused(
                "proj-entropy and proj-stl have symmetric factors, whose projection fills every entry; use prox-energy, \
                 proj-entropy-triangular (the same projection where C is diagonal) or exact",
            ),
            Self::Unproven(_) => {
                refused("of the unproven recipes only the energy estimator with the prox keeps a family")
            }
        }
    }

    /// Refuses a method that is not the same, or has no theorem, with draws of this law \[base-law\].
    ///
    /// Symmetric factors: the argument that the best of them has σ_min(C*) ≥ 1/√M rotates u, and only the normal law is
    /// spherical; also their answer would need another factor, and so be another q. Sticking the landing and the exact
    /// gradient use log q and expectations of a Gaussian.
    pub fn check_law(self, law: BaseLaw) -> Result<()> {
        let refused = |why| Err(Error::BaseLaw { law: law.to_string(), why });
        match self {
            _ if law.is_gaussian() => Ok(()),
            Self::ProxEnergy
            | Self::ProjEntropyTriangular
            | Self::ProxControlled
            | Self::ProjControlled
            | Self::ProjAdaptive
            | Self::Unproven(Recipe::Dowg) => Ok(()),
            Self::ProjEntropy => refused(
                "proj-entropy has symmetric factors, and the projection is proved to keep the optimum for normal draws \
                 only; use proj-entropy-triangular or prox-energy",
            ),
            Self::ProjStl | Self::ProjAdaptiveStl => refused(
                "sticking the landing uses log q of a Gaussian; use prox-energy or proj-entropy-triangular",
            ),
            Self::Exact => refused(
                "exact takes expectations under a Gaussian; use prox-energy or proj-entropy-triangular",
            ),
            Self::Unproven(Recipe::Walk(_)) => refused(
                "natural gradients, Bures-Wasserstein steps and matches are those of Gaussians; use prox-energy or \
                 proj-entropy-triangular",
            ),
            Self::Unproven(Recipe::Pairing(pairing)) if pairing.space == Space::Symmetric => {
                refused("a symmetric factor and the triangular one of the answer would be two distributions")
            }
            Self::Unproven(Recipe::Pairing(pairing)) => pairing.estimator.check_law(law),
        }
    }

    /// Refuses a method whose estimates are biased if the draws of a step depend on each other, or that makes none [noise-coupled].
    pub fn check_coupling(self, coupling: Coupling) -> Result<()> {
        match self {
            _ if coupling == Coupling::Independent => Ok(()),
            Self::Exact => Err(Error::Pairing {
                why: "exact makes no draws that could be coupled; leave the coupling out, or name a method that draws, as prox-controlled",
            }),
            other => other.estimator().map_or(Ok(()), |kind| kind.check_coupling(coupling)),
        }
    }

    /// The constants (a, b) of the recursion for a mean of `draws` normal draws [noise-centred], [noise-batch].
    /// Needs M, and μ > 0 for the floor.
    pub fn noise(self, curvature: &Curvature, draws: usize) -> Result<NoiseBound> {
        self.noise_within(&Pattern::Full, BaseLaw::Gaussian, curvature, draws)
    }

    /// [`Method::noise`] for factors of a family and draws of a law: d_𝒱 + κ in place of d + 3, and ‖w* − w̄‖² ≤ d/μ with w* the
    /// best of the family \[pattern\], \[base-law\].
    pub fn noise_within(
        self,
        pattern: &Pattern,
        law: BaseLaw,
        curvature: &Curvature,
        draws: usize,
    ) -> Result<NoiseBound> {
        self.check_law(law)?;
        let base = noise_base(pattern, law, curvature.dim())?;
        let smoothness = curvature.smoothness().ok_or(MISSING_SMOOTHNESS)?;
        // At the optimum the energy estimator's variance is at most (d+κ)M²·d/μ.
        let v_star = || {
            let distance2 = noise::optimum_distance2(curvature.dim(), curvature.convexity())?;
            noise::v_star_bound(base, smoothness, distance2)
        };
        match self {
            Self::ProxEnergy => noise::energy_batch(base, smoothness, draws, v_star()?),
            Self::ProjEntropy | Self::ProjEntropyTriangular | Self::ProjAdaptive => {
                noise::entropy_batch(base, smoothness, draws, v_star()?)
            }
            Self::ProjStl | Self::ProjAdaptiveStl => {
                let residual = noise::residual_smoothness(
                    smoothness,
                    curvature.convexity(),
                    curvature.residual_smoothness(),
                )?;
                noise::stl_batch(base.dim(), smoothness, residual, curvature.trace_inverse(), draws)
            }
            Self::ProxControlled | Self::ProjControlled => {
                let control = noise::control(smoothness, curvature.convexity())?;
                self.controlled_noise(law, curvature, draws, control, 0.0)
            }
            Self::Exact => noise::exact_prox(smoothness),
            Self::Unproven(_) => Err(Error::MissingConstant {
                wanted: "a promise for an unproven recipe",
                constant: "a noise bound",
                way_out: "use one of the proved methods",
            }),
        }
    }

    /// The constants of a method that is controlled by ½c‖z − ẑ‖², c = `control`, `offset` ≥ ‖ẑ − z̄‖ [noise-controlled].
    pub(crate) fn controlled_noise(
        self,
        law: BaseLaw,
        curvature: &Curvature,
        draws: usize,
        control: f64,
        offset: f64,
    ) -> Result<NoiseBound> {
        let base = noise_base(&Pattern::Full, law, curvature.dim())?;
        let smoothness = curvature.smoothness().ok_or(MISSING_SMOOTHNESS)?;
        let residual = noise::controlled_residual(smoothness, curvature.convexity(), control)?;
        let distance2 = noise::optimum_distance2(curvature.dim(), curvature.convexity())?;
        let v_star = noise::controlled_v_star(base, residual, distance2, control * offset)?;
        match self.guard() {
            Guard::Prox => noise::controlled_energy_batch(base, smoothness, residual, draws, v_star),
            _ => noise::controlled_entropy_batch(base, smoothness, residual, draws, v_star),
        }
    }
}

/// d_𝒱: how many dimensions the noise of an estimator projected on a family counts \[pattern\].
pub fn noise_dimension(pattern: &Pattern, dim: usize) -> usize {
    let (sets, size, beyond) = pattern.reach(dim);
    noise::pattern_dimension(dim, sets, size, beyond)
}

/// The draws as the noise bounds count them. The count of a family is proved for normal draws, whose largest squares it bounds;
/// for other laws every dimension counts, which bounds the projected estimator too \[base-law\].
pub fn noise_base(pattern: &Pattern, law: BaseLaw, dim: usize) -> Result<Base> {
    let counted = if law.is_gaussian() { noise_dimension(pattern, dim) } else { dim };
    Base::new(counted, law.kurtosis())
}

/// The error for a proved method on a target without M.
pub(crate) const MISSING_SMOOTHNESS: Error = Error::MissingConstant {
    wanted: "a proved method",
    constant: "a smoothness M (an upper bound of ∇²V)",
    way_out: "declare one that holds everywhere, or use a method that needs none, like auto",
};

impl std::fmt::Display for Method {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unproven(Recipe::Pairing(p)) => {
                write!(f, "unproven ({:?}, {:?}, {:?})", p.estimator, p.guard, p.space)
            }
            named => f.write_str(named.name()),
        }
    }
}

impl std::str::FromStr for Method {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut all = NAMED.into_iter().chain(Self::recipes());
        all.find(|(name, _)| *name == text).map(|(_, method)| method).ok_or_else(|| Error::UnknownName {
            what: "method",
            found: text.to_owned(),
            known: "prox-energy, proj-entropy, proj-entropy-triangular, proj-stl, prox-controlled, proj-controlled, proj-adaptive, \
                    proj-adaptive-stl, exact, and unproven natural-gradient, bures-wasserstein, batch-and-match, dowg",
        })
    }
}

/// How to find an answer, by the name that users type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The default algorithm.
    #[default]
    Auto,
    /// A method that plans its steps.
    Planned(Method),
}

impl std::str::FromStr for Choice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "auto" => Ok(Self::Auto),
            _ => text.parse().map(Self::Planned).map_err(|_| Error::UnknownName {
                what: "method",
                found: text.to_owned(),
                known: "auto, prox-energy, proj-entropy, proj-entropy-triangular, proj-stl, prox-controlled, \
                        proj-controlled, proj-adaptive, proj-adaptive-stl, exact, and unproven natural-gradient, \
                        bures-wasserstein, batch-and-match, dowg",
            }),
        }
    }
}

impl std::fmt::Display for Choice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Planned(method) => method.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for (name, method) in Method::named().chain(Method::recipes()) {
            assert_eq!(name.parse::<Method>().unwrap(), method);
            assert_eq!(method.to_string(), name);
        }
        assert!("adam".parse::<Method>().is_err());
    }

    #[test]
    fn a_pairing_that_counts_the_entropy_twice_or_never_is_refused() {
        assert!(Recipe::new(Kind::Entropy, Guard::Prox, Space::Triangular).is_err());
        assert!(Recipe::new(Kind::Energy, Guard::Projection, Space::Symmetric).is_err());
        assert!(Recipe::new(Kind::Energy, Guard::Nothing, Space::Triangular).is_err());
        assert!(Recipe::new(Kind::Energy, Guard::Prox, Space::Symmetric).is_err());
        assert!(Recipe::new(Kind::Stl, Guard::Projection, Space::Triangular).is_ok());
    }

    /// The closed list: two methods, their controlled forms and one adaptive one with every law, all with the normal one.
    #[test]
    fn only_proved_pairings_of_method_and_law_go_through() {
        let laws = [BaseLaw::Laplace, BaseLaw::Logistic, BaseLaw::Uniform, BaseLaw::student_t(5.0).unwrap()];
        for (_, method) in Method::named() {
            assert!(method.check_law(BaseLaw::Gaussian).is_ok());
            let plain = matches!(method, Method::ProxEnergy | Method::ProjEntropyTriangular);
            let proved = plain || method.is_controlled() || method == Method::ProjAdaptive;
            for law in laws {
                assert_eq!(method.check_law(law).is_ok(), proved, "{method} {law}");
            }
        }
        let recipe = |kind, guard, space| Method::Unproven(Recipe::new(kind, guard, space).unwrap());
        let law = BaseLaw::Laplace;
        assert!(recipe(Kind::Entropy, Guard::Nothing, Space::Triangular).check_law(law).is_ok());
        assert!(recipe(Kind::Entropy, Guard::Projection, Space::Symmetric).check_law(law).is_err());
        assert!(recipe(Kind::Stl, Guard::Projection, Space::Triangular).check_law(law).is_err());
        assert!(recipe(Kind::Score, Guard::Nothing, Space::Triangular).check_law(law).is_err());
        assert!(
            Method::recipes().all(|(_, recipe)| recipe.check_law(law).is_err() == recipe.walk().is_some())
        );
    }

    #[test]
    fn a_family_counts_fewer_dimensions_for_normal_draws_alone() {
        let count = |law| noise_base(&Pattern::MeanField, law, 100).unwrap().dim();
        assert!(count(BaseLaw::Gaussian) < 20 && count(BaseLaw::Uniform) == 100);
    }
}
