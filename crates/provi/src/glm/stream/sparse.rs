//! The sparse form of a streamed model: rows are sorted again at each pass.

use super::pass::{Length, OWN, Shards, Sums};
use super::{Reduce, Source, Streamed, gather};
use crate::base::error::{Error, Result};
use crate::base::stop;
use crate::glm::Family;
use crate::glm::rows::Rows;
use crate::glm::sparse::{Blocks, SparseForm, SparseModel};
use std::sync::{Arc, Mutex};

/// The blocks of a model, and the length of a pass over them.
struct Passes<S, R> {
    shards: Arc<Shards<S, R>>,
    length: Length,
    /// Held by the pass that runs.
    busy: Mutex<()>,
}

impl<S: Source, R: Reduce> Blocks for Passes<S, R> {
    fn sums(&self, family: Family, len: usize, add: &mut dyn FnMut(&Rows, &mut [f64])) -> Result<Vec<f64>> {
        let Ok(_alone) = self.busy.try_lock() else {
            let message =
                "two passes over the rows of one model at once; run them one after the other".to_owned();
            return Err(Error::Source { message });
        };
        let mut numbers = vec![0.0; OWN + len];
        let sums = Sums { numbers: &mut numbers, matrices: &mut [] };
        self.shards
            .pass(family, Some(self.length), sums, |rows, sums| add(rows, &mut sums.numbers[OWN..]))?;
        numbers.drain(..OWN);
        Ok(numbers)
    }

    fn largest(&self, values: &mut [f64]) -> Result<()> {
        self.shards.reduce.largest(values)
    }

    fn gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>> {
        gather(&self.shards.reduce, own)
    }

    fn processes(&self) -> usize {
        self.shards.reduce.size()
    }
}

impl<S: Source + 'static, R: Reduce + 'static> Streamed<S, R> {
    /// The sparse form, for many coefficients of which few meet in a row. Its passes must not run at once, as those of
    /// the model itself. Cost: one pass. Memory: the factor, and the sets of columns that meet in a row.
    pub fn sparse(&self) -> Result<SparseModel> {
        SparseModel::any_size(|largest| self.sparse_within(largest))
    }
}

impl<S: Source + 'static, R: Reduce + 'static> SparseForm for Streamed<S, R> {
    fn sparse_within(&self, largest: usize) -> Result<Option<SparseModel>> {
        let map = self.linear.steady_standard(&self.survey.data, self.survey.sparse);
        let blocks =
            Passes { shards: Arc::clone(&self.shards), length: self.survey.own, busy: Mutex::new(()) };
        stop::phase("the sorting of the rows", || {
            SparseModel::read(&self.linear, map, Arc::new(blocks), largest)
        })
    }

    fn sparse_again(&self, before: &SparseModel) -> Result<SparseModel> {
        before.under(&self.linear)?.map_or_else(|| self.sparse(), Ok)
    }
}
