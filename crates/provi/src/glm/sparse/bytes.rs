//! Sparse Gaussians as bytes.
//!
//! Words of 64 bits, little-endian: integers without sign, and doubles.
//! ```text
//! "provi-q1"   the number of Gaussians
//! for each Gaussian
//!     1 if its structure follows, 0 if it is that of the one before
//!     structure: d, fronts, 1 + index of the constant column (0 if there is none), value k of that column
//!                order[d]                    the coefficient at each place
//!                columns, rows below         two words for each front
//!                rows[…]                     the places of the rows below, front after front
//!                c[d], s[d]                  centers and scales of the columns
//!     mean[d]                                of b, coefficient by coefficient
//!     L[…]                                   front after front: its own rows, then those below, as rows of `columns` doubles
//! ```
//! P = LLᵀ is the precision of b by places; b_j = s_jβ_j, and b_i = s_i(kβ_i + Σ_j c_jβ_j) for the constant column i.

use super::SparseGaussian;
use crate::base::error::{Error, Result};
use crate::base::linalg::sparse::Structure;
use crate::target::standard::Standard;
use std::sync::Arc;

/// The first word.
const MAGIC: u64 = u64::from_le_bytes(*b"provi-q1");

impl SparseGaussian {
    /// Several Gaussians as bytes; those that share a structure write it once. [`SparseGaussian::from_bytes`] restores the
    /// same bits.
    pub fn to_bytes(all: &[&Self]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut word = |bits: u64| out.extend_from_slice(&bits.to_le_bytes());
        word(MAGIC);
        word(all.len() as u64);
        for (k, q) in all.iter().enumerate() {
            let same = k > 0 && *q.map == *all[k - 1].map && *q.structure == *all[k - 1].structure;
            word(u64::from(!same));
            if !same {
                let constant = q.map.constant();
                word(q.dim() as u64);
                word(q.structure.fronts().len() as u64);
                word(constant.map_or(0, |(i, _)| 1 + i as u64));
                word(constant.map_or(1.0, |(_, k)| k).to_bits());
                q.structure.order().iter().for_each(|&i| word(u64::from(i)));
                for front in q.structure.fronts() {
                    word(front.columns as u64);
                    word(q.structure.below(front).len() as u64);
                }
                let fronts = q.structure.fronts().iter();
                fronts.flat_map(|front| q.structure.below(front)).for_each(|&row| word(u64::from(row)));
                (0..q.dim()).for_each(|j| word(q.map.center(j).to_bits()));
                q.map.scales().iter().for_each(|s| word(s.to_bits()));
            }
            q.standard_mean.iter().chain(q.factor.iter()).for_each(|x| word(x.to_bits()));
        }
        out
    }

    /// Reads the bytes of [`SparseGaussian::to_bytes`]. Refuses what is cut short, too long, or no factor of anything.
    pub fn from_bytes(bytes: &[u8]) -> Result<Vec<Self>> {
        let (words, rest) = bytes.as_chunks::<8>();
        let mut words = Words(words);
        if !rest.is_empty() || words.next()? != MAGIC {
            return Err(broken("does not begin as one, or ends within a number"));
        }
        let count = words.size()?;
        let mut shape: Option<(Arc<Structure>, Arc<Standard>)> = None;
        let mut out: Vec<Self> = Vec::new();
        for _ in 0..count {
            shape = match (words.next()?, shape) {
                (1, _) => Some(words.shape()?),
                (0, Some(shape)) => Some(shape),
                _ => return Err(broken("has a Gaussian without a structure")),
            };
            let Some((structure, map)) = &shape else { return Err(CUT) };
            let standard_mean = words.doubles(structure.dim())?;
            let factor = words.doubles(structure.len())?;
            let mut diagonal = (0..structure.dim()).map(|place| factor[structure.diagonal(place)]);
            if diagonal.any(|x| x <= 0.0) {
                return Err(broken("has a diagonal that is not positive"));
            }
            let order = structure.order().iter();
            let by_places: Vec<f64> = order.map(|&i| standard_mean[i as usize]).collect();
            let (structure, map) = (Arc::clone(structure), Arc::clone(map));
            out.push(Self::of_places(structure, map, &by_places, factor));
        }
        match words.0.is_empty() {
            true => Ok(out),
            false => Err(broken("goes on after its end")),
        }
    }
}

const CUT: Error = broken("is cut short");

const fn broken(what: &'static str) -> Error {
    Error::SparseFactor { what }
}

/// Words that are still to be read.
struct Words<'a>(&'a [[u8; 8]]);

impl Words<'_> {
    fn next(&mut self) -> Result<u64> {
        let (first, rest) = self.0.split_first().ok_or(CUT)?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*first))
    }

    /// A number of things of which each takes at least a word.
    fn size(&mut self) -> Result<usize> {
        let found = self.next()?;
        usize::try_from(found).ok().filter(|found| *found <= self.0.len()).ok_or(CUT)
    }

    fn integers(&mut self, count: usize) -> Result<Vec<u32>> {
        let (own, rest) = self.0.split_at_checked(count).ok_or(CUT)?;
        self.0 = rest;
        let integer = |word: &[u8; 8]| u32::try_from(u64::from_le_bytes(*word));
        own.iter()
            .map(integer)
            .collect::<std::result::Result<_, _>>()
            .map_err(|_| broken("has an index too large"))
    }

    fn doubles(&mut self, count: usize) -> Result<Vec<f64>> {
        let (own, rest) = self.0.split_at_checked(count).ok_or(CUT)?;
        self.0 = rest;
        let out: Vec<f64> = own.iter().map(|word| f64::from_le_bytes(*word)).collect();
        match out.iter().all(|x| x.is_finite()) {
            true => Ok(out),
            false => Err(broken("has a number that is not finite")),
        }
    }

    fn shape(&mut self) -> Result<(Arc<Structure>, Arc<Standard>)> {
        let (dim, fronts, constant) = (self.size()?, self.size()?, self.size()?);
        let value = self.doubles(1)?[0];
        let order = self.integers(dim)?;
        let sizes = self.integers(fronts.checked_mul(2).ok_or(CUT)?)?;
        let mut parts = Vec::with_capacity(fronts);
        let mut first = 0usize;
        for size in sizes.chunks_exact(2) {
            parts.push((first, size[0] as usize, Vec::new()));
            first = first.saturating_add(size[0] as usize);
        }
        for (part, size) in parts.iter_mut().zip(sizes.chunks_exact(2)) {
            part.2 = self.integers(size[1] as usize)?;
        }
        let structure =
            Structure::restored(order, parts).ok_or(broken("has fronts that do not fit together"))?;
        let (centers, scales) = (self.doubles(dim)?, self.doubles(dim)?);
        let constant = constant.checked_sub(1).map(|i| (i, value));
        let map = Standard::restored(constant, centers, scales)
            .ok_or(broken("has columns that are centred or scaled as none can be"))?;
        Ok((Arc::new(structure), Arc::new(map)))
    }
}
