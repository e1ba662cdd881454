//! Proposals for a model with a linear predictor.

use super::envelope::{Envelope, uniforms};
use super::{BATCH, MOST_ROUNDING, Proposer};
use crate::base::chunked::{self, Chunks};
use crate::base::draws::Draws;
use crate::base::error::{Error, Result};
use crate::base::stop;
use crate::glm::Glm;
use crate::glm::rows::Found;
use std::borrow::Cow;
use std::ops::Range;

/// Proposals between two looks at the clock: whole batches, at most so many,
pub(super) const MOST_WAVE: usize = 4096;
/// and about so many multiply-adds.
const WAVE_WORK: usize = 1 << 29;
/// The same where a device takes the densities.
pub(super) const DEVICE_WAVE: usize = 1024;

/// Proposals through an envelope that knows the rows.
pub(super) struct OfRows<'m> {
    pub(super) model: Cow<'m, Glm>,
    pub(super) envelope: Box<dyn Envelope>,
}

impl Proposer for OfRows<'_> {
    fn dim(&self) -> usize {
        self.model.linear.dim()
    }

    fn wave(&self) -> usize {
        let point = self.model.rows.design.entries() + 16 * self.model.rows.len();
        match self.model.rows.goes_aside(DEVICE_WAVE) {
            true => DEVICE_WAVE,
            false => (WAVE_WORK / point.max(1)).clamp(BATCH, MOST_WAVE) / BATCH * BATCH,
        }
    }

    fn accepted(&self, draws: &Draws, numbers: Range<u64>) -> Result<Option<Vec<Vec<f64>>>> {
        let (d, wave) = (self.dim(), (numbers.end - numbers.start) as usize);
        // Those of a piece together, as far as there are some.
        let mut order: Vec<(usize, u64)> =
            numbers.map(|k| (self.envelope.piece(uniforms(draws, k)[0]), k)).collect();
        order.sort_unstable();
        let batches: Vec<&[(usize, u64)]> =
            order.chunk_by(|a, b| a.0 == b.0).flat_map(|piece| piece.chunks(BATCH)).collect();
        let point = self.model.rows.design.entries() + 16 * self.model.rows.len() + d * d;
        let chunks = Chunks { len: batches.len(), size: 1, work: point.saturating_mul(wave) };
        let proposed = chunked::map(Chunks { work: wave * d * d, ..chunks }, |range| {
            range.map(|b| self.made_from(draws, batches[b])).collect::<Vec<_>>()
        });
        let mut proposed: Vec<Proposed> = proposed.into_iter().flatten().collect();
        self.take_aside(draws, &mut proposed);
        let parts =
            chunked::map(chunks, |range| range.map(|b| self.judged(draws, &proposed[b])).collect::<Vec<_>>());
        if stop::trips() {
            return Ok(None);
        }
        let mut taken = Vec::new();
        for part in parts.into_iter().flatten() {
            taken.extend(part?);
        }
        taken.sort_unstable_by_key(|(k, _)| *k);
        Ok(Some(taken.into_iter().map(|(_, z)| z).collect()))
    }
}

impl OfRows<'_> {
    /// Some proposals of one piece.
    fn made_from(&self, draws: &Draws, batch: &[(usize, u64)]) -> Proposed {
        let (d, piece) = (self.dim(), batch[0].0);
        let mut points = vec![0.0; batch.len() * d];
        let mut room = vec![0.0; 3 * d];
        let bounds: Vec<f64> = points
            .chunks_exact_mut(d)
            .zip(batch)
            .map(|(z, &(_, k))| self.envelope.propose(&self.model, draws, k, piece, z, &mut room))
            .collect();
        Proposed { piece, numbers: batch.iter().map(|&(_, k)| k).collect(), points, bounds, energies: None }
    }

    /// Lets a device take the energies of all proposals, if there is one. Those that will be rejected wherever their predictors lie are then
    /// left out: what is left has to be looked at by the processor.
    fn take_aside(&self, draws: &Draws, proposed: &mut [Proposed]) {
        let d = self.dim();
        if !self.model.rows.goes_aside(self.wave()) {
            return;
        }
        let all: Vec<f64> = proposed.iter().flat_map(|part| part.points.iter().copied()).collect();
        let rows = &self.model.rows;
        let Some(taken) = rows.energies_aside(self.model.linear.family, &all, false) else { return };
        let mut energies = taken.energies.into_iter();
        for part in proposed {
            let own: Vec<f64> = energies.by_ref().take(part.numbers.len()).collect();
            let kept: Vec<usize> = (0..own.len())
                .filter(|&i| {
                    let log_ratio = self.log_ratio(&part.points[i * d..][..d], own[i], part.bounds[i]);
                    // At least one row is beyond an inner slab, if there is one, so that this is the most that is asked for. An excess is
                    // an error, and a NaN is looked at by whoever judges.
                    let accepted = uniforms(draws, part.numbers[i])[3].ln() <= log_ratio;
                    accepted || log_ratio.is_nan()
                })
                .collect();
            part.points = kept.iter().flat_map(|i| part.points[i * d..][..d].iter().copied()).collect();
            part.numbers = kept.iter().map(|&i| part.numbers[i]).collect();
            part.bounds = kept.iter().map(|&i| part.bounds[i]).collect();
            part.energies = Some(kept.iter().map(|&i| own[i]).collect());
        }
    }

    /// log of density over envelope.
    fn log_ratio(&self, z: &[f64], energy: f64, bound: f64) -> f64 {
        let energy = energy + self.model.linear.prior.energy(z, &mut vec![0.0; z.len()]);
        -energy - bound
    }

    /// What is accepted of some proposals of one piece, with their numbers.
    fn judged(&self, draws: &Draws, part: &Proposed) -> Result<Vec<(u64, Vec<f64>)>> {
        let d = self.dim();
        if part.numbers.is_empty() {
            return Ok(Vec::new());
        }
        let slab = self.envelope.slab(part.piece);
        let found = match &part.energies {
            Some(energies) if part.bounds.iter().all(|&bound| self.envelope.is_inside(part.piece, bound)) => {
                Found::inside(energies)
            }
            Some(energies) => self.model.rows.places_in(slab, &part.points, energies.clone()),
            None => self.model.rows.energies_in(slab, &part.points),
        };
        let mut out = Vec::new();
        for (i, (&k, z)) in part.numbers.iter().zip(part.points.chunks_exact(d)).enumerate() {
            let beyond = if slab.inner.is_some() { found.beyond[i] } else { 1.0 };
            if found.outside[i] > 0.0 || beyond < 1.0 {
                continue;
            }
            let log_ratio = self.log_ratio(z, found.energies[i], part.bounds[i]);
            // Twice the total variation bounds what rounding does to a logarithm; a little more for the far ends.
            if self.envelope.is_above() && log_ratio > 2.0 * MOST_ROUNDING {
                return Err(Error::AboveEnvelope { excess: log_ratio, proposal: k });
            }
            if uniforms(draws, k)[3].ln() <= log_ratio - beyond.ln() {
                out.push((k, z.to_vec()));
            }
        }
        Ok(out)
    }
}

/// Proposals of one piece.
struct Proposed {
    piece: usize,
    numbers: Vec<u64>,
    points: Vec<f64>,
    bounds: Vec<f64>,
    /// From a device.
    energies: Option<Vec<f64>>,
}
