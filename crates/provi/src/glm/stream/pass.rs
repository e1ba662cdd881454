//! One pass over the blocks of every process, and one reduction at its end.

use super::{Reduce, Source};
use crate::base::error::{Error, Result};
use crate::base::linalg::mirror_lower;
use crate::base::matrix::{Matrix, pack_lower_into, packed_len};
use crate::base::stop;
use crate::glm::Family;
use crate::glm::rows::Rows;

/// The blocks of this process, and the reduction over all processes.
pub(super) struct Shards<S, R> {
    pub(super) source: S,
    pub(super) reduce: R,
}

/// Numbers and matrices that a pass sums up.
pub(super) struct Sums<'a> {
    /// The first numbers belong to the pass itself: how many processes failed, and the votes about stopping.
    pub(super) numbers: &'a mut [f64],
    /// Symmetric matrices.
    pub(super) matrices: &'a mut [Matrix],
}

/// How many numbers belong to the pass itself.
pub(super) const OWN: usize = 1 + stop::VOTES;

/// The number of rows and blocks of a pass on this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Length {
    pub(super) rows: usize,
    pub(super) blocks: usize,
}

impl<S: Source, R: Reduce> Shards<S, R> {
    /// `add` adds each block's share to the sums; afterwards they hold the sums over all processes.
    ///
    /// A process that fails still takes part in the reduction and reports its failure there. It then returns its
    /// own error, all others return an error that names it, and nobody waits forever. A process that is cut off
    /// under a shared signal reports that, and all are cut off.
    pub(super) fn pass(
        &self,
        family: Family,
        expected: Option<Length>,
        sums: Sums<'_>,
        mut add: impl FnMut(&Rows, &mut Sums<'_>),
    ) -> Result<Length> {
        let mut sums = sums;
        let (walked, ballot) =
            stop::own_share(|| self.walk(family, expected, &mut |rows| add(rows, &mut sums)));
        // Among processes that share a signal, a stop is not a failure.
        let walked = match walked {
            Err(Error::Stopped { .. }) if ballot.is_cast() => Ok(Length::default()),
            walked => walked,
        };
        let length = self.agree_on(walked, |failed| {
            sums.numbers[0] = failed;
            sums.numbers[1..OWN].copy_from_slice(&ballot.numbers());
            self.sum(&mut sums)?;
            Ok(sums.numbers[0])
        })?;
        ballot.count(&sums.numbers[1..OWN])?;
        Ok(length)
    }

    /// Visits this process's own blocks.
    fn walk(&self, family: Family, expected: Option<Length>, add: &mut dyn FnMut(&Rows)) -> Result<Length> {
        let columns = self.source.columns();
        let (mut seen, mut refused) = (Length::default(), None);
        let outcome = self.source.each(&mut |rows| {
            let (found, of_family) = (rows.design().columns(), rows.family().name());
            let error = if let Err(stopped) = stop::check() {
                stopped
            } else if found != columns {
                Error::Shape { what: "a row", found, expected: columns }
            } else if of_family != family.name() {
                Error::OtherFamily { found: of_family, expected: family.name() }
            } else {
                match family.is_recoded() && rows.family() != family {
                    true => match rows.clone().with_family(family) {
                        Ok(rows) => add(&rows),
                        Err(error) => {
                            refused.get_or_insert_with(|| in_block(error.clone(), seen.blocks));
                            return Err(error);
                        }
                    },
                    false => add(rows),
                }
                seen.rows += rows.len();
                seen.blocks += 1;
                return Ok(());
            };
            refused.get_or_insert_with(|| in_block(error.clone(), seen.blocks));
            Err(error)
        });
        // A source may go on after its visitor returned an error; the error is returned all the same.
        refused.map_or(Ok(()), Err)?;
        outcome.map_err(|error| in_block(error, seen.blocks))?;
        match expected {
            Some(first) if first != seen => Err(Error::DataChanged {
                found: seen.rows,
                found_blocks: seen.blocks,
                rows: first.rows,
                blocks: first.blocks,
            }),
            _ => Ok(seen),
        }
    }

    /// Sums the numbers and the lower halves of the matrices in one reduction.
    fn sum(&self, sums: &mut Sums<'_>) -> Result<()> {
        if self.reduce.size() == 1 {
            return Ok(());
        }
        if sums.matrices.is_empty() {
            return self.reduce.sum(sums.numbers);
        }
        let count = sums.numbers.len();
        let half = packed_len(sums.matrices[0].rows());
        let mut all = vec![0.0; count + half * sums.matrices.len()];
        all[..count].copy_from_slice(sums.numbers);
        for (matrix, packed) in sums.matrices.iter().zip(all[count..].chunks_exact_mut(half)) {
            pack_lower_into(matrix, packed);
        }
        self.reduce.sum(&mut all)?;
        sums.numbers.copy_from_slice(&all[..count]);
        for (matrix, packed) in sums.matrices.iter_mut().zip(all[count..].chunks_exact(half)) {
            let mut rest = packed;
            for i in 0..matrix.rows() {
                let (row, others) = rest.split_at(i + 1);
                matrix.row_mut(i)[..=i].copy_from_slice(row);
                rest = others;
            }
            mirror_lower(matrix);
        }
        Ok(())
    }

    /// This process's result, unless another process failed. `exchange` takes part in a reduction with 1 for a
    /// failure and 0 otherwise, and returns the reduced number: positive if any process failed.
    pub(super) fn agree_on<T>(&self, own: Result<T>, exchange: impl FnOnce(f64) -> Result<f64>) -> Result<T> {
        let failed = if own.is_err() { 1.0 } else { 0.0 };
        match exchange(failed) {
            Ok(failures) if failures > 0.0 => {
                let mut who = [if own.is_err() { self.reduce.rank() as f64 } else { -1.0 }];
                let told = self.reduce.largest(&mut who);
                own.and_then(|_| {
                    told?;
                    Err(Error::Rank { rank: who[0] as usize, size: self.reduce.size() })
                })
            }
            Ok(_) => own,
            Err(lost) => own.and(Err(lost)),
        }
    }
}

/// Names the block that contains an error in the data; errors of the source itself stay as they are.
fn in_block(error: Error, block: usize) -> Error {
    match error {
        Error::Shape { .. }
        | Error::Empty { .. }
        | Error::NotFinite { .. }
        | Error::DesignEntry { .. }
        | Error::Response { .. }
        | Error::OutOfRange { .. }
        | Error::Index { .. }
        | Error::OtherFamily { .. } => Error::Block { block, error: Box::new(error) },
        other => other,
    }
}
