//! Random draws: u_{t,k}, a pure function of (seed, purpose, step, draw) and of the base law.

use crate::base::base_law::BaseLaw;
use crate::base::coupling::Coupling;

/// The seed of a run; the same seed gives the same bits. The default is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Seed(pub u64);

/// The purpose of draws. Different purposes never share a draw: a certificate needs fresh draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Purpose {
    /// Steps of an optimisation.
    Optimise,
    /// Draws handed to the user.
    Sample,
    /// Draws that measure an answer.
    Audit,
    /// Draws that choose how an answer is measured.
    Pilot,
    /// Draws behind unproven estimates.
    Estimate,
    /// Draws of responses, separate from the draws of the coefficients.
    Response,
    /// Choice of terms of a finite sum, separate from the draws at which they are evaluated.
    Terms,
    /// Draws that measure the mass of p, separate from the draws that measure its slope.
    Sharp,
    /// Draws that measure it where an envelope says that it may be.
    Cells,
    /// Proposals for draws of the posterior itself.
    Propose,
    /// Draws of scales, and of the coefficients that go with them.
    Scales,
    /// Draws of the prior.
    Prior,
}

impl Seed {
    /// A seed for the part of a run with this number: the parts share no draws.
    pub fn part(self, number: u64) -> Self {
        Self(mix(self.0 ^ mix(number.wrapping_add(1))))
    }
}

/// A stream of vectors with independent coordinates of one base law, the standard normal unless [`Draws::of`] says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draws {
    key: u64,
    law: BaseLaw,
    coupling: Coupling,
}

impl Draws {
    /// The stream of draws for one purpose.
    pub fn new(seed: Seed, purpose: Purpose) -> Self {
        // Distinct purposes get distinct keys of the counter-based generator.
        let tag = purpose as u64 + 1;
        Self { key: mix(seed.0 ^ mix(tag)), law: BaseLaw::Gaussian, coupling: Coupling::Independent }
    }

    /// The stream with coordinates of another law \[base-law\]. It uses the same bits, so use only one of the two.
    #[must_use]
    pub fn of(self, law: BaseLaw) -> Self {
        Self { law, ..self }
    }

    /// The stream whose draws of one step depend on each other in this way, where a step fills them together [noise-coupled]. A draw that
    /// is filled alone is the same as without it.
    #[must_use]
    pub fn coupled(self, coupling: Coupling) -> Self {
        Self { coupling, ..self }
    }

    /// How the draws of a step depend on each other.
    pub fn coupling(&self) -> Coupling {
        self.coupling
    }

    /// The same with another key.
    pub(crate) fn with_key(self, key: u64) -> Self {
        Self { key, ..self }
    }

    /// The law of the coordinates.
    pub fn law(&self) -> BaseLaw {
        self.law
    }

    /// Writes u_{t,k} into `out`: N(0, I), or independent coordinates of the stream's law. The numbers are the same for any
    /// thread count and instruction set.
    pub fn fill(&self, step: u64, draw: u32, out: &mut [f64]) {
        self.law.fill(self.key, step, draw, out);
    }

    /// Uniforms in (0, 1). They use the same bits as the normals of that step and draw, so use only one of the two.
    pub(crate) fn uniforms(&self, step: u64, draw: u32, out: &mut [f64]) {
        provi_kernels::uniforms(self.key, step, draw, out);
    }

    /// A number that identifies this stream.
    pub(crate) fn key(&self) -> u64 {
        self.key
    }

    /// A uniform in (0, 1). It uses the same bits as the normals of that step and draw, so use only one of the two.
    pub(crate) fn uniform(&self, step: u64, draw: u32) -> f64 {
        let mut out = [0.0];
        provi_kernels::uniforms(self.key, step, draw, &mut out);
        out[0]
    }
}

/// A bijective scramble of 64 bits (the finaliser of SplitMix64).
pub(crate) fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // the same bits are the claim
mod tests {
    use super::*;

    #[test]
    fn streams_of_different_purpose_step_and_draw_differ() {
        let take = |seed, purpose, step, draw| {
            let mut u = [0.0; 4];
            Draws::new(Seed(seed), purpose).fill(step, draw, &mut u);
            u
        };
        let base = take(1, Purpose::Optimise, 0, 0);
        assert_eq!(base, take(1, Purpose::Optimise, 0, 0));
        for other in [
            take(2, Purpose::Optimise, 0, 0),
            take(1, Purpose::Audit, 0, 0),
            take(1, Purpose::Optimise, 1, 0),
            take(1, Purpose::Optimise, 0, 1),
        ] {
            assert_ne!(base, other);
        }
    }
}
