//! The same data in one piece and in ragged blocks.

use provi::stream::{Memory, Rows};
use provi::target::{Family, Glm, Prior};
use provi::{Design, Gaussian, Result, Triangular};

pub(crate) const FAMILIES: [Family; 8] = [
    Family::Gaussian { noise_sd: 0.8 },
    Family::Bernoulli,
    Family::Binomial,
    Family::Probit,
    Family::Poisson,
    Family::Gamma { noise_sd: 0.9 },
    Family::Weibull { noise_sd: 0.8, unit: 1.4, coarse: false },
    Family::NegativeBinomial { noise_sd: 0.8 },
];
pub(crate) const COLUMNS: usize = 4;
/// The sizes of two crossed sets of groups.
const GROUPS: [usize; 2] = [23, 6];
pub(crate) const GROUPED: usize = COLUMNS + GROUPS[0] + GROUPS[1];

/// Data of one family: weights, offsets and, for binomial rows, trials.
pub(crate) struct Data {
    family: Family,
    entries: Vec<f64>,
    response: Vec<f64>,
    trials: Vec<f64>,
    weights: Vec<f64>,
    offsets: Vec<f64>,
}

impl Data {
    pub(crate) fn new(family: Family, rows: usize) -> Self {
        let mut entries = vec![0.0; rows * COLUMNS];
        provi_kernels::normals(7, 1, 0, &mut entries);
        entries.iter_mut().for_each(|x| *x *= 0.6);
        let trials: Vec<f64> = (0..rows).map(|n| 1.0 + (n % 4) as f64).collect();
        let yes = |n: usize| entries[n * COLUMNS] + 0.2 * (n % 5) as f64 > 0.4;
        let response = (0..rows).map(|n| match family {
            Family::Gaussian { .. } => 0.7 * entries[n * COLUMNS] + (n % 3) as f64 - 1.0,
            Family::Binomial => (n % 3).min(trials[n] as usize) as f64,
            Family::Gamma { .. } | Family::Weibull { .. } => {
                0.3 + (n % 4) as f64 * f64::from(u8::from(yes(n)))
            }
            Family::Poisson | Family::NegativeBinomial { .. } => (n % 4) as f64 * f64::from(u8::from(yes(n))),
            _ => f64::from(u8::from(yes(n))),
        });
        let response = response.collect();
        let weights = (0..rows).map(|n| 0.25 + (n % 7) as f64 / 7.0).collect();
        let offsets = (0..rows).map(|n| 0.1 * ((n % 11) as f64 - 5.0)).collect();
        Self { family, entries, response, trials, weights, offsets }
    }

    /// Rows `first..end` as a block, sparse or dense.
    pub(crate) fn block(&self, first: usize, end: usize, sparse: bool) -> Result<Rows> {
        let (rows, entries) = (end - first, &self.entries[first * COLUMNS..end * COLUMNS]);
        let design = match sparse {
            false => Design::dense(rows, COLUMNS, entries)?,
            true => {
                let triplets: Vec<_> =
                    entries.iter().enumerate().map(|(e, &x)| (e / COLUMNS, e % COLUMNS, x)).collect();
                Design::triplets(rows, COLUMNS, &triplets)?
            }
        };
        self.rows(design, first, end)
    }

    /// The same with ones as its first column, and behind the columns an effect of each group of two crossed sets, of which a
    /// row has one each.
    pub(crate) fn grouped_block(&self, first: usize, end: usize) -> Result<Rows> {
        let row = |n: usize| {
            let entry = move |j: usize| if j == 0 { 1.0 } else { 3.0 + self.entries[n * COLUMNS + j] };
            let own = (0..COLUMNS).map(move |j| (n - first, j, entry(j)));
            let groups = [COLUMNS + n * 7 % GROUPS[0], COLUMNS + GROUPS[0] + n / 5 % GROUPS[1]];
            own.chain(groups.map(|j| (n - first, j, 1.0)))
        };
        let entries: Vec<_> = (first..end).flat_map(row).collect();
        self.rows(Design::triplets(end - first, GROUPED, &entries)?, first, end)
    }

    /// Grouped blocks that end at these rows and at the last one.
    pub(crate) fn grouped_blocks(&self, ends: &[usize]) -> Vec<Rows> {
        let ends: Vec<usize> = [0].iter().chain(ends).copied().chain([self.response.len()]).collect();
        ends.windows(2).map(|of| self.grouped_block(of[0], of[1]).unwrap()).collect()
    }

    fn rows(&self, design: Design, first: usize, end: usize) -> Result<Rows> {
        let rows = match self.family {
            Family::Binomial => Rows::binomial(design, &self.response[first..end], &self.trials[first..end])?,
            Family::Weibull { .. } => {
                let events: Vec<f64> = (first..end).map(|n| f64::from(u8::from(n % 3 > 0))).collect();
                Rows::survival(self.family, design, &self.response[first..end], &events)?
            }
            family => Rows::new(family, design, &self.response[first..end])?,
        };
        rows.with_weights(&self.weights[first..end])?.with_offsets(&self.offsets[first..end])
    }

    /// Blocks that end at these rows and at the last one; every other one is sparse.
    pub(crate) fn blocks(&self, ends: &[usize]) -> Vec<Rows> {
        let mut first = 0;
        let mut blocks = Vec::new();
        for (k, end) in ends.iter().copied().chain([self.response.len()]).enumerate() {
            blocks.push(self.block(first, end, k % 2 == 1).unwrap());
            first = end;
        }
        blocks
    }

    pub(crate) fn source(&self, ends: &[usize]) -> Memory {
        Memory::new(COLUMNS, self.blocks(ends)).unwrap()
    }

    pub(crate) fn in_memory(&self) -> Glm {
        Glm::of_rows(self.block(0, self.response.len(), false).unwrap(), prior()).unwrap()
    }
}

pub(crate) fn prior() -> Prior {
    Prior::scales(&[2.0, 1.0, 1.5, 0.7]).unwrap().with_mean(&[0.1, 0.0, -0.2, 0.3]).unwrap()
}

/// Somewhere near the posterior.
pub(crate) fn near() -> Gaussian<Triangular> {
    Gaussian::new(&[0.4, -0.1, 0.2, 0.0], &[0.1, 0.02, 0.08, -0.01, 0.0, 0.12, 0.03, 0.01, -0.02, 0.09])
        .unwrap()
}
