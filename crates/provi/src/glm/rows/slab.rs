//! Energies at many points, and where their predictors lie.

use super::Rows;
use super::energy::ROWS_A_SLOT;
use crate::base::stop;
use provi_kernels::loss::{SPARE, Slots};

/// Intervals around each row's `middle`: |s_n − middle_n| ≤ outer_n, with those beyond inner_n counted.
#[derive(Clone, Copy)]
pub(crate) struct Slab<'a> {
    pub(crate) middle: &'a [f64],
    /// None: nothing is counted.
    pub(crate) inner: Option<&'a [f64]>,
    pub(crate) outer: &'a [f64],
}

/// What is found at each point.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    /// Σ_n w_n φ_n, constants apart.
    pub(crate) energies: Vec<f64>,
    /// Rows beyond the inner interval, and beyond the outer one.
    pub(crate) beyond: Vec<f64>,
    pub(crate) outside: Vec<f64>,
}

impl Found {
    /// Energies of points all of whose predictors lie within their intervals.
    pub(crate) fn inside(energies: &[f64]) -> Self {
        let none = vec![0.0; energies.len()];
        Self { energies: energies.to_vec(), beyond: none.clone(), outside: none }
    }
}

impl Slab<'_> {
    /// Counts the predictors of row n at all points that are beyond its intervals.
    fn count(&self, n: usize, row: &[f64], (beyond, outside): (&mut [f64], &mut [f64])) {
        let (middle, outer) = (self.middle[n], self.outer[n]);
        for (out, s) in outside.iter_mut().zip(row) {
            *out += f64::from(u8::from((s - middle).abs() > outer));
        }
        if let Some(inner) = self.inner {
            for (out, s) in beyond.iter_mut().zip(row) {
                *out += f64::from(u8::from((s - middle).abs() > inner[n]));
            }
        }
    }
}

impl Rows {
    /// Where the predictors lie, for energies that are known. Cost: the products with A.
    pub(crate) fn places_in(&self, slab: Slab<'_>, points: &[f64], energies: Vec<f64>) -> Found {
        let count = energies.len();
        let (mut beyond, mut outside) = (vec![0.0; count], vec![0.0; count]);
        let block = self.design.rows_at_once(count);
        let mut room = vec![0.0; block * count];
        for first in (0..self.len()).step_by(block).take_while(|_| !stop::trips()) {
            let rows = first..(first + block).min(self.len());
            let predictors = &mut room[..rows.len() * count];
            self.predictors(rows.clone(), points, predictors);
            for (n, row) in rows.zip(predictors.chunks_exact(count)) {
                slab.count(n, row, (&mut beyond, &mut outside));
            }
        }
        Found { energies, beyond, outside }
    }

    /// Adds up in the order of [`Rows::add_energies`], on this thread alone. Cost: one pass over A without the way back.
    pub(crate) fn energies_in(&self, slab: Slab<'_>, points: &[f64]) -> Found {
        let count = points.len() / self.design.columns();
        let block = self.design.rows_at_once(count);
        let mut found =
            Found { energies: vec![0.0; count], beyond: vec![0.0; count], outside: vec![0.0; count] };
        let mut room = vec![0.0; (block + SPARE) * count];
        let (predictors, room) = room.split_at_mut(block * count);
        let chunk = self.design.chunks(count).size;
        let mut partial = vec![0.0; count];
        for from in (0..self.len()).step_by(chunk) {
            let to = (from + chunk).min(self.len());
            partial.fill(0.0);
            for start in (from..to).step_by(ROWS_A_SLOT).take_while(|_| !stop::trips()) {
                let mut slots = Slots::new(count, room);
                let end = (start + ROWS_A_SLOT).min(to);
                for first in (start..end).step_by(block) {
                    let rows = first..(first + block).min(end);
                    let predictors = &mut predictors[..rows.len() * count];
                    self.predictors(rows.clone(), points, predictors);
                    for (n, row) in rows.clone().zip(predictors.chunks_exact(count)) {
                        slab.count(n, row, (&mut found.beyond, &mut found.outside));
                    }
                    self.family.energies_and_slopes(
                        self.unweighted,
                        &self.response[rows.clone()],
                        &self.weights[rows],
                        predictors,
                        &mut slots,
                    );
                }
                slots.finish(&mut partial);
            }
            found.energies.iter_mut().zip(&partial).for_each(|(sum, x)| *sum += x);
        }
        found
    }
}
