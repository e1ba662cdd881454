//! How the draws of one step depend on each other, while each alone has the base law.

use crate::base::base_law::BaseLaw;
use crate::base::error::{Error, Result};

/// How the N draws of one step depend on each other; steps never do [noise-coupled].
///
/// Each draw alone has the base law, so that a mean over the draws is unbiased whatever the coupling. What can be said of its
/// variance, σ² that of a single draw:
///
/// | coupling | name | draws of a step | variance of the mean |
/// |---|---|---|---|
/// | independent | `independent` | independent | σ²/N |
/// | antithetic | `antithetic` | u, −u, u', −u', … | ≤ σ²/⌊N/2⌋; 0 for odd functions and N even, twice that of independent draws for even ones |
/// | Latin hypercube | `latin` | each coordinate has one draw in each of N strata of equal probability, in an order of its own | ≤ σ²/(N−1), and about 0 for sums of functions of one coordinate |
/// | scrambled Sobol' points | `sobol` | the first N points of a digital net, scrambled anew at each step | ≤ σ²; small if N = 2ᵐ is large and few coordinates act together |
///
/// The bounds hold for every function of a draw, and those of `antithetic` and `latin` are attained.
///
/// ```
/// use provi::coupling::Coupling;
///
/// let coupling: Coupling = "latin".parse()?;
/// assert_eq!(coupling.counted(10), 9);     // its bound is that of nine independent draws
/// # Ok::<(), provi::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum Coupling {
    /// Independent draws.
    #[default]
    Independent,
    /// Pairs u, −u; a last draw without a partner stands alone.
    Antithetic,
    /// A Latin hypercube.
    Latin,
    /// Scrambled Sobol' points.
    Sobol,
}

/// Every coupling with its name.
const NAMED: [(&str, Coupling); 4] = [
    ("independent", Coupling::Independent),
    ("antithetic", Coupling::Antithetic),
    ("latin", Coupling::Latin),
    ("sobol", Coupling::Sobol),
];

impl Coupling {
    /// Every coupling with the name that users type.
    pub fn named() -> impl Iterator<Item = (&'static str, Self)> {
        NAMED.into_iter()
    }

    /// The name, unless draws are independent.
    pub fn named_if_any(self) -> Option<&'static str> {
        NAMED[1..].iter().find(|(_, coupling)| *coupling == self).map(|(name, _)| *name)
    }

    /// The number of independent draws whose bounds hold for a mean of `draws` ≥ 1 of these [noise-coupled].
    pub fn counted(self, draws: usize) -> usize {
        match self {
            Self::Independent => draws,
            Self::Antithetic => (draws / 2).max(1),
            Self::Latin => draws.saturating_sub(1).max(1),
            Self::Sobol => 1,
        }
    }

    /// Refuses a law that cannot be coupled so: strata need its quantiles.
    pub(crate) fn check_law(self, law: BaseLaw) -> Result<()> {
        match (self, law) {
            (Self::Latin | Self::Sobol, BaseLaw::StudentT(_)) => Err(Error::BaseLaw {
                law: law.to_string(),
                why: "its draws come from pairs of uniforms and not by quantiles, which latin and sobol need; use independent \
                      or antithetic draws",
            }),
            _ => Ok(()),
        }
    }
}

impl std::fmt::Display for Coupling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(NAMED.iter().find(|(_, coupling)| coupling == self).map_or("", |(name, _)| name))
    }
}

impl std::str::FromStr for Coupling {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        NAMED.iter().find(|(name, _)| *name == text).map(|(_, coupling)| *coupling).ok_or_else(|| {
            Error::UnknownName {
                what: "coupling",
                found: text.to_owned(),
                known: "independent, antithetic, latin, sobol",
            }
        })
    }
}
