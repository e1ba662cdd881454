//! The draws of one step, filled at once, as their coupling has them.

mod net;

use crate::base::coupling::Coupling;
use crate::base::draws::{Draws, mix};
use crate::base::error::Result;
use net::Net;

/// Fills the draws of a step at once [noise-coupled]. Nothing is allocated after construction.
#[derive(Debug)]
pub(crate) struct Together {
    draws: Draws,
    dim: usize,
    /// Uniforms of one coordinate, and the strata of its draws.
    room: Vec<f64>,
    strata: Vec<u32>,
    net: Option<Net>,
}

/// The key of orders and scrambles, apart from that of the positions inside the strata.
const SCRAMBLE: u64 = 0x5c2a_3b1e_0d47_96f1;

impl Together {
    /// The draws of steps of `batch` ≥ 1 draws in `dim` dimensions.
    pub(crate) fn new(draws: Draws, dim: usize, batch: usize) -> Result<Self> {
        draws.coupling().check_law(draws.law())?;
        let net = match draws.coupling() {
            Coupling::Sobol => Some(Net::new(dim, batch)),
            _ => None,
        };
        let room = match draws.coupling() {
            Coupling::Independent | Coupling::Antithetic => 0,
            Coupling::Latin => batch,
            Coupling::Sobol => net::UNIFORMS,
        };
        let strata = if room > 0 { batch } else { 0 };
        Ok(Self { draws, dim, room: vec![0.0; room], strata: vec![0; strata], net })
    }

    /// Writes u_{t,1} … u_{t,N} into `out`, one after another: a pure function of the stream, the step and N.
    pub(crate) fn fill(&mut self, step: u64, out: &mut [f64]) {
        let d = self.dim;
        match self.draws.coupling() {
            Coupling::Independent => {
                for (k, u) in out.chunks_exact_mut(d).enumerate() {
                    self.draws.fill(step, k as u32, u);
                }
            }
            Coupling::Antithetic => {
                for (pair, both) in out.chunks_mut(2 * d).enumerate() {
                    let (first, second) = both.split_at_mut(d);
                    self.draws.fill(step, pair as u32, first);
                    second.iter_mut().zip(first).for_each(|(opposite, u)| *opposite = -*u);
                }
            }
            Coupling::Latin | Coupling::Sobol => self.stratify(step, out),
        }
    }

    /// Every coordinate of every draw: its stratum, a uniform position in it, and the quantile there.
    fn stratify(&mut self, step: u64, out: &mut [f64]) {
        for (k, v) in out.chunks_exact_mut(self.dim).enumerate() {
            self.draws.uniforms(step, k as u32, v);
        }
        let law = self.draws.law();
        let scrambles = self.draws.with_key(mix(self.draws.key() ^ SCRAMBLE));
        for j in 0..self.dim {
            scrambles.uniforms(step, j as u32, &mut self.room);
            let count = match &mut self.net {
                Some(net) => net.strata(j, &self.room, &mut self.strata),
                None => shuffled(&self.room, &mut self.strata),
            };
            for (stratum, v) in self.strata.iter().zip(out[j..].iter_mut().step_by(self.dim)) {
                *v = law.quantile((f64::from(*stratum) + *v) / count);
            }
        }
    }
}

/// A uniform permutation of 0..N from N uniforms (Fisher and Yates); returns N.
fn shuffled(uniforms: &[f64], order: &mut [u32]) -> f64 {
    order.iter_mut().enumerate().for_each(|(k, stratum)| *stratum = k as u32);
    for k in (1..order.len()).rev() {
        order.swap(k, ((uniforms[k] * (k + 1) as f64) as usize).min(k));
    }
    order.len() as f64
}

#[cfg(test)]
mod tests;
