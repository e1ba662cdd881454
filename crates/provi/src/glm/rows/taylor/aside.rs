//! The sums over rows from a device: the processor finds the weights, and the device multiplies.

use super::{Around, Block, square};
use crate::base::chunked::{self, Chunks};
use crate::base::linalg::norm;
use crate::glm::device::{DeviceFormWeights, DeviceForms};
use crate::glm::rows::aside::probe;
use crate::glm::rows::{Layout, Rows};
use provi_kernels::{axpy, dot};

/// Above this the sums of a form may overflow.
const LARGE: f64 = 1e290;

/// Weights of every form, of the rows of some blocks.
struct Weights {
    third: Vec<f64>,
    quadratic: Vec<Vec<f64>>,
    quartic: Vec<Vec<f64>>,
}

/// What the comparison with a device says.
pub(in crate::glm::rows) enum Compared {
    Alike,
    /// By how much, and how much is allowed.
    Apart([f64; 2]),
    /// All weights of a kind of forms are zero.
    NotYet,
}

impl Weights {
    /// `None` where a form may overflow: the processor takes it, and leaves a mark of it.
    fn of(blocks: &[Block], layout: Layout) -> Option<Self> {
        let count: usize = blocks.iter().map(|block| block.seen.len()).sum();
        let longest = blocks.iter().flat_map(|block| &block.seen).fold(0.0, |b: f64, row| b.max(row.length));
        let all = |theta: &dyn Fn(&Block, usize) -> f64| {
            let mut out = Vec::with_capacity(count);
            for block in blocks {
                out.extend(block.seen.iter().enumerate().map(|(k, row)| row.weight * theta(block, k)));
            }
            out
        };
        let (curvatures, quartics) =
            (layout.places(0).collect::<Vec<_>>(), layout.places(1).collect::<Vec<_>>());
        let forms = 1 + curvatures.len() + quartics.len();
        let chunks = Chunks { len: forms, size: 1, work: 32 * forms * count };
        let mut found = chunked::map(chunks, |range| {
            let form = |which: usize| {
                let Some(which) = which.checked_sub(1) else {
                    return (3, all(&|block, k| block.seen[k].third));
                };
                let (power, mut weights) = match which.checked_sub(curvatures.len()) {
                    None => (2, all(&|block, k| block.curvature(k, curvatures[which]))),
                    Some(which) => {
                        (layout.quartic_power(), all(&|block, k| block.fourth(k, quartics[which], layout)))
                    }
                };
                // A weight that is no number leaves its mark on the error.
                weights.iter_mut().filter(|w| !w.is_finite()).for_each(|w| *w = 0.0);
                (power, weights)
            };
            range.map(form).collect::<Vec<_>>()
        })
        .concat();
        let most = |weights: &[f64]| weights.iter().fold(0.0, |most: f64, w| most.max(w.abs()));
        let is_moderate = |(power, weights): &(i32, Vec<f64>)| {
            weights.iter().all(|w| w.is_finite())
                && most(weights) * longest.powi(*power) * count as f64 <= LARGE
        };
        if !found.iter().all(is_moderate) {
            return None;
        }
        let squares = 1 + curvatures.len() + if layout.is_flat { quartics.len() } else { 0 };
        let weights = |found: Vec<(i32, Vec<f64>)>| found.into_iter().map(|(_, weights)| weights).collect();
        let quartic = weights(found.split_off(squares));
        let quadratic = weights(found.split_off(1));
        let (_, third) = found.pop()?;
        Some(Self { third, quadratic, quartic })
    }

    fn asked(&self) -> DeviceFormWeights<'_> {
        DeviceFormWeights {
            third: &self.third,
            quadratic: self.quadratic.iter().map(Vec::as_slice).collect(),
            quartic: self.quartic.iter().map(Vec::as_slice).collect(),
        }
    }

    /// Compares every form in a fixed direction v, ‖v‖ = 1, with the sum of its terms, up to twice the bound of the rounding of either:
    /// ```text
    /// T[v,v,v] = Σ_n w_n t_n³,   vᵀHv = Σ_n w_n t_n²,   s(v)ᵀQ s(v) = Σ_n w_n t_n⁴,   t_n = a_n·v
    /// ```
    fn compare(&self, forms: &DeviceForms, blocks: &[Block], around: Around<'_>) -> Compared {
        let d = around.layout.dim;
        let mut v = probe(d);
        let length = norm(&v);
        v.iter_mut().for_each(|x| *x /= length);
        let mut squared = vec![0.0; around.layout.wide()];
        square(&v, &mut squared);
        let chain = around.chain + (4 * squared.len() + 64) as f64 * f64::EPSILON;
        let rows = || blocks.iter().flat_map(|block| block.seen.iter().zip(block.whitened.chunks_exact(d)));
        let along = |left: &[f64], form: &[f64], right: &[f64]| -> f64 {
            left.iter().zip(form.chunks_exact(right.len())).map(|(x, row)| x * dot(row, right)).sum()
        };
        let compared = |weights: &[f64], power: i32, found: f64| {
            let (mut own, mut lost) = (0.0, 0.0);
            for ((row, a), w) in rows().zip(weights) {
                own += w * dot(a, &v).powi(power);
                lost += w.abs() * row.lost(power, chain);
            }
            [(found - own).abs(), 2.0 * lost]
        };
        let of_kind = |weights: &[Vec<f64>], forms: &[Vec<f64>], power: i32, side: &[f64]| -> Vec<[f64; 2]> {
            let pairs = weights.iter().zip(forms);
            pairs.map(|(weights, form)| compared(weights, power, along(side, form, side))).collect()
        };
        let kinds = [
            vec![compared(&self.third, 3, along(&v, &forms.third, &squared))],
            of_kind(&self.quadratic, &forms.quadratic, 2, &v),
            of_kind(&self.quartic, &forms.quartic, 4, &squared),
        ];
        // A NaN agrees with nothing.
        if let Some(apart) = kinds.iter().flatten().find(|[off, bound]| off.is_nan() || off > bound) {
            return Compared::Apart(*apart);
        }
        let is_seen = |kind: &Vec<[f64; 2]>| kind.is_empty() || kind.iter().any(|[_, bound]| *bound > 0.0);
        if kinds.iter().all(is_seen) { Compared::Alike } else { Compared::NotYet }
    }
}

/// As many draws as cost what the forms cost.
pub(super) fn work(layout: Layout) -> usize {
    let Layout { dim, rings, is_flat } = layout;
    let (wide, quartics) = (layout.wide(), 2 * rings);
    let squares = 2 * (rings + 1) + if is_flat { quartics } else { 0 };
    let quartic = if is_flat { 0 } else { quartics * wide * wide / 2 };
    (dim * wide + squares * dim * dim / 2 + quartic) / dim
}

impl Rows {
    /// The forms of the rows of some blocks, the first of which is row `first`, from a device; `None` where the processor has to take them. The first
    /// ones are compared with the processor.
    pub(super) fn forms_of(&self, blocks: &[Block], around: Around<'_>, first: usize) -> Option<DeviceForms> {
        let weights = Weights::of(blocks, around.layout)?;
        let compare = |forms: &DeviceForms| weights.compare(forms, blocks, around);
        self.forms_aside(around.q, first, &weights.asked(), compare)
    }
}

/// Adds forms to the sums of a layout, whose quartics are apart.
pub(super) fn add(forms: &DeviceForms, layout: Layout, small: &mut [f64], quartics: &mut [f64]) {
    axpy(1.0, &forms.third, &mut small[layout.third()]);
    let (curvatures, flat) = forms.quadratic.split_at(2 * (layout.rings + 1));
    for (form, (ring, side)) in curvatures.iter().zip(layout.places(0)) {
        axpy(1.0, form, &mut small[layout.curvature(ring, side)]);
    }
    let size = layout.quartic_columns().pow(2);
    for (form, to) in flat.iter().chain(&forms.quartic).zip(quartics.chunks_exact_mut(size)) {
        axpy(1.0, form, to);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{RADII, model, standard};
    use super::*;
    use crate::glm::Family;

    /// A device sees no number whose sums may overflow: what it returned would look like its fault.
    #[test]
    fn forms_that_may_overflow_stay_here() {
        let (model, q) = (model(false), standard());
        let layout = Layout { dim: 3, rings: RADII.len(), is_flat: false };
        let (centers, spreads) = ([0.1, 0.2, 0.3], [1.0; 3]);
        let (family, radii) = (Family::Poisson, &RADII[..]);
        let around =
            Around { family, q: &q, radii, layout, chain: 1e-12, centers: &centers, spreads: &spreads };
        let mut blocks = vec![Block::new(&model.rows, around, 0..100)];
        let weights = Weights::of(&blocks, layout).unwrap();
        let asked = weights.asked();
        assert_eq!((asked.third.len(), asked.quadratic.len(), asked.quartic.len()), (100, 6, 4));
        let flat = Weights::of(&blocks, Layout { is_flat: true, ..layout }).unwrap();
        assert_eq!((flat.asked().quadratic.len(), flat.asked().quartic.len()), (10, 0));
        blocks[0].seen[7].weight = 1e291;
        assert!(Weights::of(&blocks, layout).is_none());
        blocks[0].seen[7].weight = f64::INFINITY;
        assert!(Weights::of(&blocks, layout).is_none());
    }

    /// What a device may not return.
    #[test]
    fn forms_of_the_wrong_size_and_numbers_that_are_not_finite_are_refused() {
        let (third, one) = ([1.0, 2.0], [0.5, 1.0]);
        let asked = DeviceFormWeights { third: &third, quadratic: vec![&one], quartic: vec![&one, &one] };
        let zeros = DeviceForms::zeros(3, &asked);
        assert!(zeros.clone().checked(3, &asked).is_ok());
        let changed = |change: fn(&mut DeviceForms)| {
            let mut forms = zeros.clone();
            change(&mut forms);
            forms.checked(3, &asked).is_err()
        };
        assert!(changed(|forms| forms.third[1] = f64::NAN));
        assert!(changed(|forms| forms.quartic[1][35] = f64::INFINITY));
        assert!(changed(|forms| forms.quartic.truncate(1)));
        assert!(changed(|forms| forms.quadratic[0].truncate(8)));
        assert!(changed(|forms| forms.third.truncate(17)));
    }
}
