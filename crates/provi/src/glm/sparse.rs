//! Linear-predictor models with many coefficients, few of which meet in a row: group effects by the ten thousand.
//!
//! The best Gaussian of such a model has a sparse precision \[sparse-optimum\]: where its gradient vanishes,
//! ```text
//! Σ⁻¹ = E∇²V = Λ + Aᵀ diag(w·Eφ''(s)) A
//! ```
//! has entries only where Λ has them or where two columns meet in a row. Nothing is approximated by searching among
//! these Gaussians alone. [`SparseModel`] holds the rows, sorted by the columns that they have; [`SparseGaussian`] is
//! q = N(m, P⁻¹) by the Cholesky factor of P.

mod any;
mod blocks;
mod bytes;
mod gaussian;
mod lower;
mod moments;
mod rows;
mod solve;

pub use any::{AnyGaussian, NormalLaw};
pub(crate) use blocks::Blocks;
use blocks::{RowSource, Supports};
pub use gaussian::SparseGaussian;
use moments::SparseMoments;
pub use solve::{SparseSolution, SparseSolver};

use super::linear::Linear;
use super::rows::Rows;
use crate::base::error::{Error, Result};
use crate::base::linalg::sparse::{Cliques, Structure};
use crate::target::Target;
use crate::target::standard::Standard;
use lower::LowerBound;
use rows::View;
use std::sync::Arc;

/// A linear-predictor model whose precision is held sparsely, in standard coordinates; made by
/// [`Glm::sparse`](crate::target::Glm::sparse).
#[derive(Clone, Debug)]
pub struct SparseModel {
    pub(crate) linear: Linear,
    map: Arc<Standard>,
    structure: Arc<Structure>,
    rows: RowSource,
    /// (index, Λ_ij) for the entries on and below the diagonal, with the places of row and column.
    prior: Vec<PriorEntry>,
    lower: LowerBound,
    /// How many numbers an entry of the precision sums at most, by places.
    terms: Arc<Vec<usize>>,
}

/// A model that has a sparse form.
pub trait SparseForm: Target + Sized {
    /// Finds an order of elimination; `None` if the factor would have more numbers than `largest`.
    fn sparse_within(&self, largest: usize) -> Result<Option<SparseModel>>;

    /// The sparse form, from that of the same rows under another prior or noise. Cost: no pass, unless two coefficients
    /// are now tied that were not tied before, or what is held of the rows depends on the noise.
    fn sparse_again(&self, before: &SparseModel) -> Result<SparseModel>;
}

#[derive(Clone, Copy, Debug)]
struct PriorEntry {
    index: usize,
    row: usize,
    column: usize,
    value: f64,
}

impl SparseModel {
    /// Sorts the rows of a model and finds an order of elimination; `None` if the factor has more numbers than `largest`.
    pub(crate) fn within(model: &Linear, rows: &Rows, largest: usize) -> Result<Option<Self>> {
        let map = model.steady_standard(rows.known_summary(), rows.design().is_sparse());
        let view = View::new(&map)?;
        let (sets, columns) = rows::sort(rows, &view);
        let supports = Supports::of(&sets, columns, model.dim());
        Self::new(model, map, supports, largest, |columns, count, structure| {
            RowSource::Held(Arc::new(sets.placed(rows, &view, columns, count, structure.places())))
        })
    }

    /// The form that `within` finds if the factor may have any size that can be addressed.
    pub(crate) fn any_size(within: impl FnOnce(usize) -> Result<Option<Self>>) -> Result<Self> {
        const LARGEST: usize = isize::MAX as usize / 8;
        within(LARGEST)?.ok_or(Error::OutOfRange {
            what: "numbers in the sparse factor",
            value: LARGEST as f64,
            needed: "few enough to fit in memory",
        })
    }

    /// The same for rows that are read at each pass. Cost: one pass.
    pub(crate) fn read(
        model: &Linear,
        map: Standard,
        blocks: Arc<dyn Blocks>,
        largest: usize,
    ) -> Result<Option<Self>> {
        let view = Arc::new(View::new(&map)?);
        let supports = Supports::read(&*blocks, model.family, &view, model.dim())?;
        Self::new(model, map, supports, largest, |_, _, _| RowSource::Read { blocks, view })
    }

    /// `rows` takes the columns of the sets, of which there are `count`, and pairs of columns behind them.
    fn new(
        model: &Linear,
        map: Standard,
        supports: Supports,
        largest: usize,
        rows: impl FnOnce(Cliques, usize, &Structure) -> RowSource,
    ) -> Result<Option<Self>> {
        let linear = model.in_standard(&map);
        let dim = linear.dim();
        let Supports { mut columns, roundings } = supports;
        let count = columns.len();
        let entries = linear.prior.entries(dim);
        for &(i, j, _) in entries.iter().filter(|(i, j, _)| i != j) {
            columns.push(&[i.min(j) as u32, i.max(j) as u32]);
        }
        let structure = Structure::new(dim, &columns)?;
        if structure.len() > largest {
            return Ok(None);
        }
        let rows = rows(columns, count, &structure);
        let prior = placed_entries(&structure, &entries).unwrap_or_default();
        let lower = LowerBound::new(&structure, &prior, linear.lost + linear.prior.rounding())?;
        let mut terms = structure.row_counts();
        structure.places().iter().zip(roundings).for_each(|(&place, count)| terms[place as usize] += count);
        let (map, structure, terms) = (Arc::new(map), Arc::new(structure), Arc::new(terms));
        Ok(Some(Self { map, structure, rows, prior, lower, terms, linear }))
    }

    /// The same rows under another prior or another noise; `None` if two coefficients are now tied that have no entry
    /// in the factor. Cost: none over the rows.
    pub(crate) fn under(&self, model: &Linear) -> Result<Option<Self>> {
        let linear = model.in_standard(&self.map);
        let entries = linear.prior.entries(linear.dim());
        let Some(prior) = placed_entries(&self.structure, &entries) else { return Ok(None) };
        let lower = LowerBound::new(&self.structure, &prior, linear.lost + linear.prior.rounding())?;
        Ok(Some(Self { linear, prior, lower, ..self.clone() }))
    }

    /// d, the number of coefficients.
    pub fn dim(&self) -> usize {
        self.linear.dim()
    }

    /// How many numbers the factor of the precision has, zeros inside its blocks included.
    pub fn fill(&self) -> usize {
        self.structure.len()
    }

    pub(crate) fn structure(&self) -> &Arc<Structure> {
        &self.structure
    }

    /// q = N(m, (LLᵀ)⁻¹) from its mean by places and L.
    pub(crate) fn gaussian(&self, mean: &[f64], factor: Vec<f64>) -> SparseGaussian {
        SparseGaussian::of_places(Arc::clone(&self.structure), Arc::clone(&self.map), mean, factor)
    }

    /// The prior mean, by places.
    pub(crate) fn prior_mean(&self) -> Vec<f64> {
        self.structure.order().iter().map(|&i| self.linear.prior.center(i as usize)).collect()
    }

    /// Adds Λ to a matrix of this structure.
    fn add_prior(&self, values: &mut [f64]) {
        self.prior.iter().for_each(|entry| values[entry.index] += entry.value);
    }
}

/// The entries of Λ at the places of their coordinates; `None` if the structure lacks one.
fn placed_entries(structure: &Structure, entries: &[(usize, usize, f64)]) -> Option<Vec<PriorEntry>> {
    let place = |(i, j, value): &(usize, usize, f64)| {
        let (a, b) = (structure.places()[*i] as usize, structure.places()[*j] as usize);
        let index = structure.index(a, b)?;
        Some(PriorEntry { index, row: a.max(b), column: a.min(b), value: *value })
    };
    entries.iter().map(place).collect()
}
