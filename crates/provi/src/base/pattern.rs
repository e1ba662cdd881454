//! The family of q: which entries of the triangular factor C may differ from zero \[pattern\].

mod entries;

pub(crate) use entries::Entries;

use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::linalg::Cholesky;
use crate::base::matrix::{Matrix, packed_index, unpack_lower};
use std::fmt;
use std::str::FromStr;

/// A family of Gaussians q = N(m, CCᵀ): the lower triangular C whose entries outside of a pattern are zero. A pattern
/// always includes the diagonal, so its factors are a linear subspace 𝒱 of 𝒯ᵈ \[pattern\].
///
/// | pattern | name | entries of row i of C |
/// |---|---|---|
/// | `Full` | `full` | all: every Gaussian |
/// | `MeanField` | `meanfield` | the diagonal: independent coordinates |
/// | `Blocks` | `blocks:3,4` | those of the row's block: independent blocks of consecutive coordinates |
/// | `Arrow` | `arrow:K` | the first K and the diagonal |
/// | `Banded` | `banded:K` | the diagonal and the K before it |
///
/// `LowRank`, by the name `lowrank:K`, stands beside them: covariances D² + BBᵀ, a diagonal and a matrix of rank K at most. Their
/// factors are no subspace, so no theorem of the others holds: [`crate::Auto`] seeks them by a descent that proves nothing
/// about the family.
///
/// **The order of an arrow.** Put what everything depends on first: the K global coordinates, then the local ones. If
/// the local coordinates are independent given the global ones, the precision has a diagonal local block, and
/// ```text
/// Σ⁻¹ = RᵀR,  R lower triangular,   C = R⁻¹
/// ```
/// has exactly the entries of `arrow:K`, as have R and its inverse. With the global coordinates last, the factor C of
/// such a posterior is full. A pattern belongs to one order of coordinates and, except for `Full`, to their units up
/// to a scale for each: it is not kept by rotations, nor by centring the columns of a design.
///
/// ```
/// use provi::Pattern;
///
/// let family: Pattern = "blocks:2,1".parse()?;
/// assert_eq!(family, Pattern::Blocks(vec![2, 1]));
/// assert_eq!(family.entries_of(3)?, 4);                      // of 6
/// assert!(family.entries_of(4).is_err());                    // 2 + 1 coordinates are not 4
/// assert_eq!("banded:0".parse::<Pattern>()?, Pattern::MeanField);
/// # Ok::<(), provi::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pattern {
    /// Every entry of the lower triangle.
    #[default]
    Full,
    /// The diagonal.
    MeanField,
    /// Diagonal blocks of these sizes, in the order of the coordinates.
    Blocks(Vec<usize>),
    /// The first columns, as many as said, and the diagonal.
    Arrow(usize),
    /// The diagonal and as many diagonals below it as said.
    Banded(usize),
    /// Σ = D² + BBᵀ with a diagonal D and at most as many columns of B as said. No pattern of entries: an unproven recipe.
    LowRank(usize),
}

/// The names that users type.
const KNOWN: &str = "full, meanfield, blocks:SIZES (blocks:3,4), arrow:K, banded:K, lowrank:K";

impl Pattern {
    /// Whether no entry is left out by name.
    pub fn is_full(&self) -> bool {
        *self == Self::Full
    }

    /// The number of entries of C in dimension `dim`; refuses a dimension that the pattern does not have.
    pub fn entries_of(&self, dim: usize) -> Result<usize> {
        Ok(self.entries(dim)?.len())
    }

    /// Refuses a pattern that factors of size `dim` cannot have.
    pub fn check(&self, dim: usize) -> Result<()> {
        let refused = |why: String| Err(Error::Pattern { family: self.to_string(), why });
        match self {
            Self::Full | Self::MeanField => Ok(()),
            Self::Blocks(sizes) => {
                let sum = sizes.iter().fold(0usize, |sum, size| sum.saturating_add(*size));
                if sizes.is_empty() || sizes.contains(&0) {
                    return refused("every block needs at least one coordinate".into());
                }
                if sum != dim {
                    return refused(format!(
                        "its blocks have {sum} coordinates and the model has {dim}: they must add up"
                    ));
                }
                Ok(())
            }
            Self::Arrow(k) if *k > dim => {
                refused(format!("the model has {dim} coordinates, so that at most arrow:{dim} exists"))
            }
            Self::Banded(k) if *k >= dim => refused(format!(
                "the model has {dim} coordinates, so that C has at most {} diagonals below its own",
                dim.saturating_sub(1)
            )),
            Self::LowRank(k) if *k >= dim => refused(format!(
                "the model has {dim} coordinates, and lowrank:{} is every Gaussian; use full, or fewer columns",
                dim.saturating_sub(1)
            )),
            Self::Arrow(_) | Self::Banded(_) | Self::LowRank(_) => Ok(()),
        }
    }

    /// Whether its factors are a subspace, on which the theorems hold \[pattern\].
    pub fn is_subspace(&self) -> bool {
        !matches!(self, Self::LowRank(_))
    }

    /// q itself, if its factor is of the family up to the rounding of a factorisation: entries outside are then zero
    /// exactly. Any other q is refused. Nothing is claimed about low-rank families, so every q passes for one of theirs.
    pub fn member(&self, q: &Gaussian<Triangular>) -> Result<Gaussian<Triangular>> {
        /// More than a Cholesky factorisation leaves of a zero, in units of the row.
        const ROUNDING: f64 = 1e-10;
        if !self.is_subspace() {
            return Ok(q.clone());
        }
        let mut kept = q.factor().to_vec();
        self.entries(q.dim())?.clear_others(&mut kept);
        let row = |i: usize| packed_index(i, 0)..packed_index(i, i) + 1;
        let moved = |i: usize| {
            kept[row(i)].iter().zip(&q.factor()[row(i)]).fold(0.0f64, |most, (a, b)| most.max((a - b).abs()))
        };
        if (0..q.dim()).any(|i| moved(i) > ROUNDING * q.deviation(i)) {
            let why = "the Gaussian has entries outside of it".into();
            return Err(Error::Pattern { family: self.to_string(), why });
        }
        Gaussian::new(q.mean(), &kept)
    }

    /// The entries in dimension `dim`.
    pub(crate) fn entries(&self, dim: usize) -> Result<Entries> {
        self.check(dim)?;
        if !self.is_subspace() {
            let why =
                "its covariances have no pattern of entries: only the automatic method seeks them".into();
            return Err(Error::Pattern { family: self.to_string(), why });
        }
        let ends: Vec<usize> = match self {
            Self::Blocks(sizes) => sizes.iter().flat_map(|&size| std::iter::repeat_n(size, size)).collect(),
            _ => Vec::new(),
        };
        // The first row of the block of row i.
        let mut first = 0;
        Ok(Entries::new(dim, |i, columns| {
            match self {
                Self::Full | Self::LowRank(_) => columns.extend(0..i),
                Self::MeanField => {}
                Self::Blocks(_) => {
                    if i == first + ends[first] {
                        first = i;
                    }
                    columns.extend(first..i);
                }
                Self::Arrow(k) => columns.extend(0..i.min(*k)),
                Self::Banded(k) => columns.extend(i.saturating_sub(*k)..i),
            }
            columns.push(i);
        }))
    }

    /// Whether products and inverses of its factors have the same pattern. The factors of such a family may be its
    /// coordinates; for any other only a scale for each coordinate keeps the pattern.
    pub(crate) fn is_group(&self) -> bool {
        !matches!(self, Self::Banded(_))
    }

    /// (n, s, e): the number of maximal sets of columns that a row of C uses, the size of the largest, and the size of
    /// the largest part of one that another does not have. The noise of the projected estimator depends on these
    /// \[pattern\].
    pub(crate) fn reach(&self, dim: usize) -> (usize, usize, usize) {
        match self {
            Self::Full | Self::LowRank(_) => (1, dim, 0),
            Self::MeanField => (dim, 1, 1),
            Self::Blocks(sizes) => {
                let most = sizes.iter().copied().max().unwrap_or(dim);
                (sizes.len(), most, most)
            }
            // A row below the first k has those and itself; the rows before are parts of it.
            Self::Arrow(k) if *k < dim => (dim - k, k + 1, 1),
            Self::Banded(k) if *k < dim => (dim - k, k + 1, k + 1),
            Self::Arrow(_) | Self::Banded(_) => (1, dim, 0),
        }
    }

    /// A factor P such that PC̃ has the pattern whenever C̃ has: the family's own best factor for the precision h where
    /// that keeps the pattern, and diag(h)^−½ otherwise. Packed.
    pub(crate) fn scale(&self, h: &Matrix) -> Result<Vec<f64>> {
        let narrow = if self.is_group() { self } else { &Self::MeanField };
        narrow.entries(h.rows())?.best_factor(h)
    }
}

/// The precision of N(0, LLᵀ) for a packed L.
pub(crate) fn precision_of(dim: usize, packed: &[f64]) -> Result<Matrix> {
    let l = unpack_lower(dim, packed);
    let mut covariance = Matrix::zeros(dim, dim);
    for i in 0..dim {
        for j in 0..=i {
            let value = provi_kernels::dot(l.row(i), l.row(j));
            (covariance[(i, j)], covariance[(j, i)]) = (value, value);
        }
    }
    Ok(Cholesky::new("covariance", &covariance)?.inverse())
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("full"),
            Self::MeanField => f.write_str("meanfield"),
            Self::Blocks(sizes) => {
                let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
                write!(f, "blocks:{}", sizes.join(","))
            }
            Self::Arrow(k) => write!(f, "arrow:{k}"),
            Self::Banded(k) => write!(f, "banded:{k}"),
            Self::LowRank(k) => write!(f, "lowrank:{k}"),
        }
    }
}

/// `banded:0`, `arrow:0` and `lowrank:0` are the mean field.
impl FromStr for Pattern {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let unknown = || Error::UnknownName { what: "family of q", found: text.to_owned(), known: KNOWN };
        let number = |digits: &str| digits.parse::<usize>().map_err(|_| unknown());
        let positive = |digits: &str| number(digits).ok().filter(|&n| n > 0).ok_or_else(unknown);
        match text.split_once(':') {
            None if text == "full" => Ok(Self::Full),
            None if text == "meanfield" => Ok(Self::MeanField),
            Some(("blocks", sizes)) => {
                Ok(Self::Blocks(sizes.split(',').map(positive).collect::<Result<_>>()?))
            }
            Some(("arrow", k)) => Ok(match number(k)? {
                0 => Self::MeanField,
                k => Self::Arrow(k),
            }),
            Some(("banded", k)) => Ok(match number(k)? {
                0 => Self::MeanField,
                k => Self::Banded(k),
            }),
            Some(("lowrank", k)) => Ok(match number(k)? {
                0 => Self::MeanField,
                k => Self::LowRank(k),
            }),
            _ => Err(unknown()),
        }
    }
}

#[cfg(test)]
mod tests;
