//! Where the sums of third and fourth derivatives are [psi-envelope].

use crate::base::matrix::packed_len;
use std::ops::Range;

/// Of ‖a_n‖ the sums know a power, whose root is above the largest: e^{log(N)/POWER} times at most.
pub(crate) const POWER: i32 = 32;

/// Where which sum is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) dim: usize,
    pub(crate) rings: usize,
    /// Whether quartics are bounded by d columns: (a·x)⁴ ≤ ‖a‖²(a·x)².
    pub(crate) is_flat: bool,
}

impl Layout {
    /// d(d+1)/2.
    pub(crate) fn wide(self) -> usize {
        packed_len(self.dim)
    }

    /// What ∇³U may be off by as a form of unit x.
    pub(crate) fn third_error(self) -> usize {
        0
    }

    /// Σ of the rates' means.
    pub(crate) fn rate(self) -> usize {
        1
    }

    /// Σ of powers of ‖a_n‖.
    pub(crate) fn lengths(self) -> usize {
        2
    }

    /// The trace of what is bounded beside rates.
    pub(crate) fn tame(self) -> usize {
        3
    }

    /// What a matrix of [`Layout::curvature`] may be off by.
    pub(crate) fn curvature_error(self, ring: usize, side: usize) -> usize {
        4 + 2 * ring + side
    }

    /// The same of the quartics, from the first ring on.
    pub(crate) fn quartic_error(self, ring: usize, side: usize) -> usize {
        4 + 2 * (self.rings + 1) + 2 * (ring - 1) + side
    }

    fn matrices(self) -> usize {
        4 + 2 * (self.rings + 1) + 2 * self.rings
    }

    /// ∇³U as a matrix of d rows.
    pub(crate) fn third(self) -> Range<usize> {
        let first = self.matrices();
        first..first + self.dim * self.wide()
    }

    fn square(self, place: usize) -> Range<usize> {
        let (first, size) = (self.third().end, self.dim * self.dim);
        first + place * size..first + (place + 1) * size
    }

    /// Σ_nθ_na_na_nᵀ of the least (`side` 0) and the largest curvatures.
    pub(crate) fn curvature(self, ring: usize, side: usize) -> Range<usize> {
        self.square(2 * ring + side)
    }

    /// How many numbers come before the quartics.
    pub(crate) fn small(self) -> usize {
        self.square(2 * (self.rings + 1)).start
    }

    /// Columns of [`Layout::quartic`].
    pub(crate) fn quartic_columns(self) -> usize {
        if self.is_flat { self.dim } else { self.wide() }
    }

    /// Of how many coordinates of x a term of [`Layout::quartic`] is a product.
    pub(crate) fn quartic_power(self) -> i32 {
        if self.is_flat { 2 } else { 4 }
    }

    /// Every ring from `first` on, with both sides: the order of the matrices.
    pub(crate) fn places(self, first: usize) -> impl Iterator<Item = (usize, usize)> {
        (first..=self.rings).flat_map(|ring| [(ring, 0), (ring, 1)])
    }

    /// Σ_nγ_n vec(a_na_nᵀ)vec(a_na_nᵀ)ᵀ, or Σ_nγ_n‖a_n‖²a_na_nᵀ, for γ⁻ (`side` 0) and γ⁺.
    pub(crate) fn quartic(self, ring: usize, side: usize) -> Range<usize> {
        let first = self.small();
        let size = self.quartic_columns() * self.quartic_columns();
        let place = 2 * (ring - 1) + side;
        first + place * size..first + (place + 1) * size
    }

    /// How many numbers there are.
    pub(crate) fn width(self) -> usize {
        self.quartic(self.rings, 1).end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_do_not_overlap() {
        for is_flat in [false, true] {
            every_place_is_used_once(Layout { dim: 3, rings: 4, is_flat });
        }
    }

    fn every_place_is_used_once(layout: Layout) {
        let mut used = vec![0; layout.width()];
        let mut take = |range: Range<usize>| used[range].iter_mut().for_each(|x| *x += 1);
        for i in [layout.third_error(), layout.rate(), layout.lengths(), layout.tame()] {
            take(i..i + 1);
        }
        take(layout.third());
        for ring in 0..=4 {
            for side in 0..2 {
                take(layout.curvature(ring, side));
                take(layout.curvature_error(ring, side)..layout.curvature_error(ring, side) + 1);
                if ring > 0 {
                    take(layout.quartic_error(ring, side)..layout.quartic_error(ring, side) + 1);
                }
            }
            if ring > 0 {
                take(layout.quartic(ring, 0));
                take(layout.quartic(ring, 1));
            }
        }
        assert!(used.iter().all(|&count| count == 1));
    }
}
