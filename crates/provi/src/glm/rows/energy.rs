//! Energies and their gradients at many points, in one pass.

use super::Rows;
use crate::base::chunked;
use crate::base::scratch::Scratch;
use crate::base::stop;
use crate::glm::Family;
use crate::glm::design::BLOCK;
use provi_kernels::axpy;
use provi_kernels::loss::{MOST_ROWS, SPARE, Slots};

/// Rows whose energies are summed together: whole blocks of any size.
pub(super) const ROWS_A_SLOT: usize = MOST_ROWS / BLOCK * BLOCK;

impl Rows {
    /// Adds Σ_n w_n φ_n(a_nᵀz_k + o_n), without constants, to `energies[k]` and its gradient to the k-th row of `pulls`, unless that has no
    /// room: then the energies alone, the same in every bit.
    ///
    /// Blocks of rows stay in cache between the predictors and the gradient, and chunks of blocks are spread over threads.
    /// A device takes them, if there is one and enough to do.
    pub(crate) fn add_energies(
        &self,
        family: Family,
        points: &[f64],
        (energies, pulls): (&mut [f64], &mut [f64]),
        scratch: &mut Scratch,
    ) {
        match self.energies_aside(family, points, !pulls.is_empty()) {
            Some(taken) => {
                axpy(1.0, &taken.energies, energies);
                axpy(1.0, &taken.gradients, pulls);
            }
            None => self.add_energies_here(family, points, (energies, pulls), scratch),
        }
    }

    /// The same on this processor.
    pub(super) fn add_energies_here(
        &self,
        family: Family,
        points: &[f64],
        (energies, pulls): (&mut [f64], &mut [f64]),
        scratch: &mut Scratch,
    ) {
        let d = self.design.columns();
        let count = energies.len();
        let block = self.design.rows_at_once(count);
        let width = if pulls.is_empty() { count } else { count * (d + 1) };
        chunked::reduce(
            self.design.chunks(count),
            (width, (block + SPARE) * count),
            scratch,
            |range, partial, room| {
                let (energies, pulls) = partial.split_at_mut(count);
                let (predictors, room) = room.split_at_mut(block * count);
                for start in range.clone().step_by(ROWS_A_SLOT).take_while(|_| !stop::trips()) {
                    let mut slots = Slots::new(count, room);
                    let end = (start + ROWS_A_SLOT).min(range.end);
                    for first in (start..end).step_by(block) {
                        let rows = first..(first + block).min(end);
                        let predictors = &mut predictors[..rows.len() * count];
                        self.predictors(rows.clone(), points, predictors);
                        family.energies_and_slopes(
                            self.unweighted,
                            &self.response[rows.clone()],
                            &self.weights[rows.clone()],
                            predictors,
                            &mut slots,
                        );
                        if !pulls.is_empty() {
                            self.design.pull_back(rows, predictors, pulls);
                        }
                    }
                    slots.finish(energies);
                }
            },
            |partial| {
                let (some, slopes) = partial.split_at(count);
                axpy(1.0, some, energies);
                axpy(1.0, slopes, pulls);
            },
        );
    }
}
