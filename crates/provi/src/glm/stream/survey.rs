//! The first pass: everything that a model needs to know about its data.

use super::pass::{Length, OWN, Shards, Sums};
use super::{Reduce, Source, gather};
use crate::base::error::{Error, Result};
use crate::base::matrix::Matrix;
use crate::glm::Family;
use crate::glm::rows::{Chains, DataSummary, Likelihood, Spread};
use std::sync::OnceLock;

/// With more columns, AᵀWA is formed when it is needed: a model that is solved by its sparse precision never needs it.
const LARGEST_GRAM: usize = 2_000;

/// The results of the first pass over the data.
#[derive(Clone, Debug)]
pub(super) struct Survey {
    /// Rows of all processes.
    pub(super) rows: usize,
    /// The length of the pass on this process.
    pub(super) own: Length,
    /// The constant of Σ_n w_n φ_n.
    pub(super) likelihood: Likelihood,
    /// AᵀWA, once it is formed.
    pub(super) gram: OnceLock<Matrix>,
    /// ‖√W A‖_F².
    pub(super) square_norm: f64,
    /// Upper bounds of the longest chains of additions behind the sums of a pass over all blocks of all processes.
    pub(super) chains: Chains,
    /// The same for an energy, and for its slope.
    pub(super) energies: [f64; 2],
    pub(super) response: Spread,
    /// Σ w_n log y_n and Σ w_n |log y_n|, for responses above 0; of the events alone, for times to an event.
    pub(super) logs: [f64; 2],
    /// Whether some times have late entries or lie in intervals.
    pub(super) spans: bool,
    /// Summary statistics of columns and responses over all processes.
    pub(super) data: DataSummary,
    /// Whether any block is sparse.
    pub(super) sparse: bool,
    /// Rows of the largest block of any process, and the numbers that the largest block holds.
    pub(super) largest: (usize, usize),
}

impl Survey {
    /// Makes the pass. `ready` says whether this process found no error beforehand. No process begins unless all
    /// are ready and have the same number of columns.
    pub(super) fn new<S: Source, R: Reduce>(
        family: Family,
        shards: &Shards<S, R>,
        ready: Result<()>,
    ) -> Result<Self> {
        let d = shards.source.columns();
        shards.agree_on(ready, |failed| {
            let mut shape = [d as f64, -(d as f64), failed];
            shards.reduce.largest(&mut shape)?;
            let (most, least) = (shape[0] as usize, -shape[1] as usize);
            match most == least {
                true => Ok(shape[2]),
                false => {
                    let found = if most == d { least } else { most };
                    Err(Error::Shape { what: "a row of another process", found, expected: d })
                }
            }
        })?;
        let mut numbers = [0.0; OWN + 10];
        let mut matrices: Vec<Matrix> =
            (d <= LARGEST_GRAM).then(|| Matrix::zeros(d, d)).into_iter().collect();
        let (mut response, mut largest) = (Spread::default(), [0; 6]);
        let mut data = DataSummary::empty(d);
        let sums = Sums { numbers: &mut numbers, matrices: &mut matrices };
        let own = shards.pass(family, None, sums, |rows, sums| {
            let terms = rows.gram_terms().min(rows.len()) as f64;
            // The chunks of a block are summed by themselves, then added one after the other to the sum of the
            // earlier blocks.
            let (inside, parts) = rows.design.sum_terms();
            let ([constant, size], energies) = (rows.constant(family), rows.energy_chains());
            let [logs, log_sizes] =
                if family.gamma_shape().is_some() { rows.log_sums() } else { rows.log_times() };
            let shares = [
                rows.len() as f64,
                constant,
                rows.square_norm(),
                terms + 1.0,
                parts as f64,
                size,
                energies.chunks as f64 + 1.0,
                logs,
                log_sizes,
                f64::from(u8::from(rows.has_spans())),
            ];
            sums.numbers[OWN..].iter_mut().zip(shares).for_each(|(sum, x)| *sum += x);
            sums.matrices.iter_mut().for_each(|gram| rows.add_gram(1.0, gram));
            response = response.merged(rows.response_spread());
            data.merge(&rows.summary());
            let sparse = usize::from(rows.design().is_sparse());
            let sizes = [rows.len(), rows.stored(), inside, sparse, energies.value, energies.slope];
            largest = std::array::from_fn(|k| largest[k].max(sizes[k]));
        })?;
        if numbers[OWN] < 1.0 {
            return Err(Error::Empty { what: "data (no rows)" });
        }
        let mut sizes = largest.map(|size| size as f64);
        shards.reduce.largest(&mut sizes)?;
        let gram = matrices.pop().map_or_else(OnceLock::new, OnceLock::from);
        Ok(Self {
            rows: numbers[OWN] as usize,
            own,
            likelihood: Likelihood {
                constant: numbers[OWN + 1],
                size: numbers[OWN + 5],
                rows: numbers[OWN] as usize,
            },
            gram,
            square_norm: numbers[OWN + 2],
            chains: Chains {
                sums: sizes[2] as usize + numbers[OWN + 4] as usize + shards.reduce.size() + 8,
                grams: numbers[OWN + 3] as usize + shards.reduce.size() + 8,
            },
            energies: [sizes[4], sizes[5]]
                .map(|inside| inside + numbers[OWN + 6] + shards.reduce.size() as f64),
            logs: [numbers[OWN + 7], numbers[OWN + 8]],
            spans: numbers[OWN + 9] > 0.5,
            response: everywhere(&shards.reduce, response)?,
            data: summary_everywhere(&shards.reduce, data)?,
            sparse: sizes[3] > 0.5,
            largest: (sizes[0] as usize, sizes[1] as usize),
        })
    }
}

/// Merges the summaries of all processes in the order of their ranks, so that all get the same result: a collective
/// call.
fn summary_everywhere(reduce: &dyn Reduce, own: DataSummary) -> Result<DataSummary> {
    if reduce.size() == 1 {
        return Ok(own);
    }
    let bytes: Vec<u8> = own.numbers().iter().flat_map(|x| x.to_le_bytes()).collect();
    let number = |bytes: &[u8; 8]| f64::from_le_bytes(*bytes);
    let mut all = DataSummary::empty(own.columns());
    for bytes in gather(reduce, &bytes)? {
        let numbers: Vec<f64> = bytes.as_chunks::<8>().0.iter().map(number).collect();
        all.merge(&DataSummary::of_numbers(&numbers));
    }
    Ok(all)
}

/// The spread of all responses, from the spreads of the processes.
fn everywhere(reduce: &impl Reduce, own: Spread) -> Result<Spread> {
    if reduce.size() == 1 {
        return Ok(own);
    }
    let mut totals = [own.weight, own.weight * own.mean];
    reduce.sum(&mut totals)?;
    let [weight, total] = totals;
    let mean = if weight > 0.0 { total / weight } else { 0.0 };
    let mut squares = [own.squares + own.weight * (own.mean - mean).powi(2)];
    reduce.sum(&mut squares)?;
    Ok(Spread { weight, mean, squares: squares[0] })
}

#[cfg(test)]
mod tests {
    use crate::glm::design::Design;
    use crate::glm::rows::Rows;
    use crate::glm::stream::{Memory, Streamed};
    use crate::glm::{Family, Prior};

    /// Blocks of 40 000, 700 and 30 rows are 16, 2 and 1 chunks; the largest chunk has 2500 rows, 20 blocks of 128.
    #[test]
    fn chains_are_those_of_the_largest_chunk_and_of_all_chunks() {
        let block = |rows: usize| {
            let mut entries = vec![0.0; 2 * rows];
            provi_kernels::normals(4, rows as u64, 0, &mut entries);
            let design = Design::from_rows(rows, 2, entries).unwrap();
            Rows::new(Family::Poisson, design, &vec![1.0; rows]).unwrap()
        };
        let source = Memory::new(2, [40_000, 700, 30].map(block).into()).unwrap();
        let model = Streamed::new(Family::Poisson, source, Prior::scale(1.0).unwrap()).unwrap();
        let chains = model.survey.chains;
        assert_eq!(chains.sums, (128 + 20) + (16 + 2 + 1) + 1 + 8);
        // In blocks of 64 rows, and never more than the rows themselves.
        let grams = [128 + 40 + 16 + 8, 128 + 8 + 2 + 8, 30].map(|terms| terms + 1);
        assert_eq!(chains.grams, grams.iter().sum::<usize>() + 1 + 8);
    }
}
