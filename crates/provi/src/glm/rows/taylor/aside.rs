//! The sums over rows from a device: the processor finds the weights, and the device multiplies.

use super::{Around, Block, square};
use crate::base::linalg::norm;
use crate::glm::device::{DeviceFormWeights, DeviceForms};
use crate::glm::rows::aside::probe;
use crate::glm::rows::{Layout, Rows};
use provi_kernels::{axpy, dot};

/// Weights of every form, of the rows of some blocks.
struct Weights {
    third: Vec<f64>,
    quadratic: Vec<Vec<f64>>,
    quartic: Vec<Vec<f64>>,
}

impl Weights {
    /// `None` where a number of a cubic has no bound: the processor leaves a mark of it in every entry.
    fn of(blocks: &[Block], layout: Layout) -> Option<Self> {
        let rows = || blocks.iter().flat_map(|block| (0..block.seen.len()).map(move |k| (block, k)));
        let third: Vec<f64> = rows().map(|(block, k)| block.seen[k].weight * block.seen[k].third).collect();
        // A weight that is no number leaves its mark on the error.
        let all = |theta: &dyn Fn(&Block, usize) -> f64| -> Vec<f64> {
            let weight = |(block, k): (&Block, usize)| block.seen[k].weight * theta(block, k);
            rows().map(weight).map(|w| if w.is_finite() { w } else { 0.0 }).collect()
        };
        let curvatures = layout.places(0).map(|place| all(&|block, k| block.curvature(k, place)));
        let mut quadratic: Vec<_> = curvatures.collect();
        let mut quartic: Vec<_> =
            layout.places(1).map(|place| all(&|block, k| block.fourth(k, place, layout))).collect();
        if layout.is_flat {
            quadratic.append(&mut quartic);
        }
        third.iter().all(|w| w.is_finite()).then_some(Self { third, quadratic, quartic })
    }

    fn asked(&self) -> DeviceFormWeights<'_> {
        DeviceFormWeights {
            third: &self.third,
            quadratic: self.quadratic.iter().map(Vec::as_slice).collect(),
            quartic: self.quartic.iter().map(Vec::as_slice).collect(),
        }
    }

    /// How far a form in a fixed direction v, ‖v‖ = 1, is from the sum of its terms, with twice the bound of the rounding of either, where that is
    /// exceeded:
    /// ```text
    /// T[v,v,v] = Σ_n w_n t_n³,   vᵀHv = Σ_n w_n t_n²,   s(v)ᵀQ s(v) = Σ_n w_n t_n⁴,   t_n = a_n·v
    /// ```
    fn apart(&self, forms: &DeviceForms, blocks: &[Block], around: Around<'_>) -> Option<[f64; 2]> {
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
        let third = [compared(&self.third, 3, along(&v, &forms.third, &squared))];
        let quadratic = self.quadratic.iter().zip(&forms.quadratic);
        let quadratic = quadratic.map(|(weights, form)| compared(weights, 2, along(&v, form, &v)));
        let quartic = self.quartic.iter().zip(&forms.quartic);
        let quartic = quartic.map(|(weights, form)| compared(weights, 4, along(&squared, form, &squared)));
        // A NaN agrees with nothing.
        third.into_iter().chain(quadratic).chain(quartic).find(|[off, bound]| off.is_nan() || off > bound)
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
        let apart = |forms: &DeviceForms| weights.apart(forms, blocks, around);
        self.forms_aside(around.q, first, &weights.asked(), apart)
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
