//! Energies of rows that are on a device: when they are used, what is checked first, and what their rounding is.

use super::Rows;
use super::rounding::width;
use super::taylor::aside::Compared;
use crate::base::chunked::{self, Chunks};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::matrix::{Matrix, packed_index, packed_len};
use crate::base::scratch::Scratch;
use crate::base::stop;
use crate::glm::Family;
use crate::glm::design::BLOCK;
use crate::glm::device::{
    DeviceFailure, DeviceFamily, DeviceFormWeights, DeviceForms, DeviceMoments, DeviceRounding, DeviceRows,
    DeviceRule, Held, OnDevice, STRIPE,
};
use crate::target::rounding::gamma;
use crate::target::standard::Standard;
use provi_kernels::{axpy, dot};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Rows on a device, once they are needed; `None` if it cannot have them.
type Place = Arc<OnceLock<Option<Box<dyn Held>>>>;

/// A device, and where it has the rows.
#[derive(Clone, Debug)]
pub(super) struct Aside {
    on: OnDevice,
    place: Place,
    /// The place of the same rows in standard coordinates, so that they are copied once.
    standard: Arc<Mutex<Option<(Standard, Place)>>>,
    /// Whether a Gram matrix of the device was compared with the processor's, and forms of third and fourth degree.
    has_grams: Arc<AtomicBool>,
    has_forms: Arc<AtomicBool>,
}

/// Rows of which a thread finds the weights of Gram matrices at a time.
const PART: usize = 16 * BLOCK;

impl Aside {
    fn new(on: OnDevice) -> Self {
        let (has_grams, has_forms) = Default::default();
        Self { on, place: Place::default(), standard: Arc::default(), has_grams, has_forms }
    }

    /// For rows that have changed.
    pub(super) fn renewed(&self) -> Self {
        Self::new(self.on.clone())
    }

    /// For the same rows in other coordinates.
    pub(super) fn in_standard(&self, map: &Standard) -> Self {
        let mut known = self.standard.lock().unwrap_or_else(PoisonError::into_inner);
        let place = match &*known {
            Some((same, place)) if same == map => Arc::clone(place),
            _ => {
                let place = Place::default();
                *known = Some((map.clone(), Arc::clone(&place)));
                place
            }
        };
        Self { place, ..Self::new(self.on.clone()) }
    }
}

/// Energies, and gradients if they were wanted, from a device.
pub(crate) struct Taken {
    pub(crate) energies: Vec<f64>,
    pub(crate) gradients: Vec<f64>,
}

/// Gram matrices from a device, and the sums that were taken with their weights, stripe by stripe.
struct Multiplied {
    sums: Vec<Vec<f64>>,
    grams: Vec<Vec<f64>>,
}

impl Family {
    /// φ as a device knows it. Times within intervals and ordered categories have a code of their own, which none knows.
    fn on_device(self) -> Option<DeviceFamily> {
        Some(match self {
            Self::Gaussian { noise_sd } => DeviceFamily::Gaussian { precision: 1.0 / (noise_sd * noise_sd) },
            Self::Bernoulli => DeviceFamily::Logistic,
            Self::Binomial | Self::NegativeBinomial { .. } => DeviceFamily::Binomial,
            Self::Probit => DeviceFamily::Probit,
            Self::Cloglog => DeviceFamily::Cloglog,
            Self::Weibull { coarse: true, .. }
            | Self::ExponentialTime { coarse: true, .. }
            | Self::Ordered { .. } => return None,
            Self::Poisson | Self::Weibull { .. } | Self::ExponentialTime { .. } => DeviceFamily::Poisson,
            Self::Gamma { .. } | Self::Exponential => DeviceFamily::Gamma { shape: self.gamma_shape()? },
        })
    }
}

impl Family {
    /// Why no device can have rows of this family, if that is so.
    pub(in crate::glm) fn refused_by_devices(self, sparse: bool) -> Option<&'static str> {
        if sparse {
            return Some("the design is stored sparsely");
        }
        let why =
            if self.gaps().is_some() { "its categories are ordered" } else { "some times lie in intervals" };
        self.on_device().is_none().then_some(why)
    }
}

impl Rows {
    /// The same rows, which a device may have.
    pub(crate) fn with_device(mut self, on: OnDevice) -> Self {
        self.aside = Some(Aside::new(on));
        self
    }

    /// The device, if there is one.
    pub(crate) fn device(&self) -> Option<&OnDevice> {
        self.aside.as_ref().map(|aside| &aside.on)
    }

    /// Why no device can have these rows, if that is so.
    pub(crate) fn refused_by_devices(&self) -> Option<&'static str> {
        self.family.refused_by_devices(self.design.is_sparse())
    }

    /// What the device states about sums over these rows, if it may have them.
    fn device_rounding(&self) -> Option<DeviceRounding> {
        let (on, family) = (self.device()?, self.family.on_device()?);
        (!self.design.is_sparse()).then(|| on.device().rounding(family, self.len(), self.design.columns()))
    }

    /// The longest chains of additions behind an energy and behind a slope there; 0 without a device.
    pub(crate) fn device_chains(&self) -> [usize; 2] {
        self.device_rounding().map_or([0; 2], |of| [of.value_chain, of.slope_chain])
    }

    /// The longest chain of additions behind an entry of a Gram matrix there; 0 without a device.
    pub(super) fn device_gram_chain(&self) -> usize {
        self.device_rounding().map_or(0, |of| of.gram_chain)
    }

    /// The error of its functions; 0 without a device.
    pub(super) fn device_link(&self) -> f64 {
        self.device_rounding().map_or(0.0, |of| of.function)
    }

    /// Whether a device takes a block of so many draws.
    pub(crate) fn goes_aside(&self, draws: usize) -> bool {
        self.refused_by_devices().is_none()
            && self.device().is_some_and(|on| on.pays(self.len(), self.design.columns(), draws))
    }

    /// The energies of a block of draws from the device; `None` where the processor has to take them.
    pub(crate) fn energies_aside(&self, family: Family, points: &[f64], gradients: bool) -> Option<Taken> {
        let d = self.design.columns();
        let count = points.len() / d;
        if family != self.family || !self.goes_aside(count) {
            return None;
        }
        let aside = self.aside.as_ref()?;
        let held = aside.place.get_or_init(|| self.held(&aside.on, points)).as_deref()?;
        let mut taken =
            Taken { energies: vec![0.0; count], gradients: vec![0.0; if gradients { count * d } else { 0 }] };
        let room = gradients.then_some(&mut taken.gradients[..]);
        match held.energies(points, &mut taken.energies, room) {
            Ok(()) => {
                aside.on.took(count);
                Some(taken)
            }
            Err(failure) => {
                aside.on.failed(&failure);
                None
            }
        }
    }

    /// Expectations under N(m, CCᵀ) from the device; `None` where the processor has to take them.
    pub(crate) fn expectations_aside(
        &self,
        family: Family,
        mean: &[f64],
        factor: &[f64],
        rules: &[DeviceRule<'_>],
    ) -> Option<DeviceMoments> {
        if family != self.family || !self.goes_aside(mean.len()) {
            return None;
        }
        let aside = self.aside.as_ref()?;
        let held = aside.place.get_or_init(|| self.held(&aside.on, mean)).as_deref()?;
        let found = held.expectations(mean, factor, rules);
        found.inspect_err(|failure| aside.on.failed(failure)).ok()
    }

    /// The device that has these rows already, if Gram matrices of so many columns and weights are enough work for it.
    fn for_grams(&self, count: usize) -> Option<(&Aside, &dyn Held)> {
        let aside = self.aside.as_ref()?;
        let held = aside.place.get()?.as_deref()?;
        self.goes_aside(self.design.columns().saturating_mul(count) / 2).then_some((aside, held))
    }

    /// [`Design::add_grams_and_sums`](crate::Design), by a device where it has the rows and there is enough to do. The weights are found here,
    /// stripe by stripe.
    pub(crate) fn add_grams_and_sums(
        &self,
        width: usize,
        weigh: impl Fn(Range<usize>, &mut [f64], &mut [f64]) + Sync,
        mut take: impl FnMut(&[f64]),
        out: &mut [Matrix],
    ) {
        if let Some((aside, held)) = self.for_grams(out.len()) {
            match self.grams_there(held, width, &weigh, out.len()) {
                Ok(Multiplied { sums, grams }) if self.has_right_grams(aside, &weigh, width, &grams) => {
                    aside.on.took_grams(grams.len());
                    sums.iter().for_each(|sums| take(sums));
                    for (out, gram) in out.iter_mut().zip(&grams) {
                        axpy(1.0, gram, out.entries_mut());
                    }
                    return;
                }
                Ok(_) => {}
                Err(failure) => aside.on.failed(&failure),
            }
        }
        self.design.add_grams_and_sums(width, weigh, take, out);
    }

    /// The sums of every stripe of the rows in order, and the Gram matrices.
    fn grams_there(
        &self,
        held: &dyn Held,
        width: usize,
        weigh: &(impl Fn(Range<usize>, &mut [f64], &mut [f64]) + Sync),
        count: usize,
    ) -> Result<Multiplied, DeviceFailure> {
        let d = self.design.columns();
        let (mut sums, mut grams) = (Vec::new(), vec![vec![0.0; d * d]; count]);
        for first in (0..self.len()).step_by(STRIPE) {
            let rows = STRIPE.min(self.len() - first);
            let mut values = vec![0.0; count * rows];
            let chunks = Chunks { len: rows, size: PART, work: rows.saturating_mul(d).saturating_mul(count) };
            let parts = chunked::map(chunks, |range| {
                let mut part = (vec![0.0; width], vec![0.0; count * range.len()]);
                let (mut of_block, mut weights) = (vec![0.0; width], vec![0.0; count * BLOCK]);
                for from in range.clone().step_by(BLOCK).take_while(|_| !stop::trips()) {
                    let block = from..(from + BLOCK).min(range.end);
                    let weights = &mut weights[..count * block.len()];
                    of_block.fill(0.0);
                    weigh(first + block.start..first + block.end, &mut of_block, weights);
                    axpy(1.0, &of_block, &mut part.0);
                    for (k, weights) in weights.chunks_exact(block.len()).enumerate() {
                        let at = k * range.len() + (from - range.start);
                        part.1[at..at + block.len()].copy_from_slice(weights);
                    }
                }
                part
            });
            let (mut from, mut of_stripe) = (0, vec![0.0; width]);
            for (of_part, weights) in parts {
                let len = weights.len() / count;
                for (k, weights) in weights.chunks_exact(len).enumerate() {
                    values[k * rows + from..][..len].copy_from_slice(weights);
                }
                from += len;
                axpy(1.0, &of_part, &mut of_stripe);
            }
            sums.push(of_stripe);
            for (gram, values) in grams.iter_mut().zip(values.chunks_exact(rows)) {
                if stop::trips() {
                    break;
                }
                axpy(1.0, &held.gram(first, values)?, gram);
            }
        }
        Ok(Multiplied { sums, grams })
    }

    /// Whether vᵀGv is Σ_n w_n(a_nᵀv)² for a fixed vector v with |v_j| ≤ 1, for the first Gram matrix that the device has taken, up to twice the bound of the rounding
    /// of either:
    /// ```text
    /// |vᵀĜv − vᵀGv| ≤ γ Σ_n w_n (Σ_j |a_nj|)²,   γ for chains of gram_terms and d additions
    /// ```
    fn has_right_grams(
        &self,
        aside: &Aside,
        weigh: &(impl Fn(Range<usize>, &mut [f64], &mut [f64]) + Sync),
        width: usize,
        grams: &[Vec<f64>],
    ) -> bool {
        if stop::trips() || aside.has_grams.load(Ordering::Acquire) {
            return true;
        }
        let (d, count) = (self.design.columns(), grams.len());
        let direction = probe(d);
        let ones = vec![1.0; d];
        let mut own = vec![0.0; 2 * count];
        let chunks = Chunks { len: self.len(), size: PART, work: self.len().saturating_mul(d) };
        let parts = chunked::map(chunks, |range| {
            let (mut sums, mut weights) = (vec![0.0; 2 * count], vec![0.0; count * BLOCK]);
            let (mut unused, mut room) = (vec![0.0; width], [[0.0; BLOCK]; 3]);
            for from in range.clone().step_by(BLOCK).take_while(|_| !stop::trips()) {
                let block = from..(from + BLOCK).min(range.end);
                let weights = &mut weights[..count * block.len()];
                weigh(block.clone(), &mut unused, weights);
                let [along, squares, sizes] = room.each_mut().map(|part| &mut part[..block.len()]);
                self.design.predict(block.clone(), &direction, along);
                self.design.row_sizes(block.clone(), &ones, squares, sizes);
                for (k, weights) in weights.chunks_exact(block.len()).enumerate() {
                    for (i, w) in weights.iter().enumerate() {
                        sums[2 * k] += w * along[i] * along[i];
                        sums[2 * k + 1] += w * sizes[i] * sizes[i];
                    }
                }
            }
            sums
        });
        if stop::trips() {
            return true;
        }
        parts.iter().for_each(|part| axpy(1.0, part, &mut own));
        let chain = self.gram_terms() + 2 * d + PART + parts.len() + 16;
        let mut compared = false;
        // An upper bound of a curvature may be infinite, and says nothing then.
        for (k, gram) in grams.iter().enumerate().filter(|(k, _)| own[2 * k + 1].is_finite()) {
            let form: f64 =
                direction.iter().zip(gram.chunks_exact(d)).map(|(v, row)| v * dot(row, &direction)).sum();
            let (off, bound) = ((form - own[2 * k]).abs(), 2.0 * gamma(chain as f64) * own[2 * k + 1]);
            // A NaN agrees with nothing.
            let agrees = off <= bound;
            if !agrees {
                aside.on.disagrees("a Gram matrix", off, bound);
                return false;
            }
            compared = true;
        }
        aside.has_grams.fetch_or(compared, Ordering::AcqRel);
        true
    }

    /// Whether a device has these rows, or gets them now, and forms of the cost of so many draws are enough work for it.
    pub(super) fn has_forms_aside(&self, family: Family, q: &Gaussian<Triangular>, draws: usize) -> bool {
        let held = |aside: &Aside| aside.place.get_or_init(|| self.held(&aside.on, q.mean())).is_some();
        family == self.family && self.goes_aside(draws) && self.aside.as_ref().is_some_and(held)
    }

    /// Forms of the rows from `first` on from the device; `None` where the processor has to take them. `compare` compares the first ones with the
    /// processor.
    pub(super) fn forms_aside(
        &self,
        q: &Gaussian<Triangular>,
        first: usize,
        weights: &DeviceFormWeights<'_>,
        compare: impl FnOnce(&DeviceForms) -> Compared,
    ) -> Option<DeviceForms> {
        let aside = self.aside.as_ref().filter(|aside| !aside.on.is_gone())?;
        let held = aside.place.get()?.as_deref()?;
        let found = held.forms(first, q.factor(), weights).and_then(|found| found.checked(q.dim(), weights));
        let found = found.inspect_err(|failure| aside.on.failed(failure)).ok()?;
        if !aside.has_forms.load(Ordering::Acquire) {
            match compare(&found) {
                Compared::Alike => aside.has_forms.store(true, Ordering::Release),
                Compared::NotYet => {}
                Compared::Apart([off, bound]) => {
                    aside.on.disagrees("a form of the rows", off, bound);
                    return None;
                }
            }
        }
        aside.on.took_forms(weights.third.len());
        Some(found)
    }

    /// Copies the rows to the device, and compares it with the processor at a few of the points.
    fn held(&self, on: &OnDevice, points: &[f64]) -> Option<Box<dyn Held>> {
        let rows = DeviceRows {
            family: self.family.on_device()?,
            response: &self.response,
            weights: (!self.unweighted).then_some(&self.weights),
            offsets: self.offsets.as_deref(),
            design: &self.design,
        };
        let held = on.device().hold(&rows).and_then(|held| {
            let d = self.design.columns();
            let last = points.len() / d - 1;
            let mut some = vec![0, last / 2, last];
            some.dedup();
            let few: Vec<f64> = some.iter().flat_map(|k| points[k * d..][..d].iter().copied()).collect();
            let mut found = (vec![0.0; some.len()], vec![0.0; few.len()]);
            held.energies(&few, &mut found.0, Some(&mut found.1))?;
            let agrees = apart(|| self.agrees(on, &few, &found));
            if agrees { Ok(held) } else { Err(DeviceFailure::Lost(String::new())) }
        });
        held.inspect_err(|failure| on.failed(failure)).ok()
    }

    /// Whether the device's energies and gradients are those of the processor, up to twice the bound of the rounding of either.
    fn agrees(&self, on: &OnDevice, points: &[f64], (energies, gradients): &(Vec<f64>, Vec<f64>)) -> bool {
        let d = self.design.columns();
        let (mut own, mut slopes) = (vec![0.0; energies.len()], vec![0.0; gradients.len()]);
        self.add_energies_here(self.family, points, (&mut own, &mut slopes), &mut Scratch::default());
        for (k, z) in points.chunks_exact(d).enumerate() {
            let bounds = self.rounding_at(z);
            let pairs = std::iter::once((energies[k], own[k]))
                .chain(gradients[k * d..][..d].iter().copied().zip(slopes[k * d..][..d].iter().copied()));
            for (j, ((found, own), bound)) in pairs.zip(bounds).enumerate() {
                let off = (found - own).abs();
                // A NaN agrees with nothing.
                let agrees = off <= 2.0 * bound;
                if !agrees {
                    let what = if j == 0 { "the log density of a draw" } else { "the gradient of a draw" };
                    on.disagrees(what, off, 2.0 * bound);
                    return false;
                }
            }
        }
        true
    }

    /// Bounds of the rounding of the energy at a point and of each of its slopes, for the processor and the device alike.
    fn rounding_at(&self, z: &[f64]) -> Vec<f64> {
        let d = z.len();
        let mut factor = vec![0.0; packed_len(d)];
        (0..d).for_each(|i| factor[packed_index(i, i)] = 1.0);
        let Ok(q) = Gaussian::<Triangular>::new(z, &factor) else { return vec![f64::NAN; 1 + d] };
        let mut sums = vec![0.0; width(d)];
        self.add_rounding(self.family, &q, &[0.0], None, &mut sums);
        let [of_values, of_slopes] = self.longest_chains().map(|chain| gamma(chain + 4.0));
        let (scalars, slopes) = sums.split_at(2);
        let (lost, sizes) = slopes.split_at(d);
        let of = |lost: f64, size: f64, gamma: f64| (1.0 + 1e-9) * (lost + gamma * size);
        let slopes = (0..d).map(|j| of(lost[j], sizes[j], of_slopes));
        std::iter::once(of(scalars[0], scalars[1], of_values)).chain(slopes).collect()
    }

    /// The longest chains of additions behind an energy and behind its slope, whoever adds.
    pub(crate) fn longest_chains(&self) -> [f64; 2] {
        let (own, [value, slope]) = (self.energy_chains(), self.device_chains());
        [(own.value + own.chunks).max(value) as f64, (own.slope + own.chunks).max(slope) as f64]
    }
}

/// A direction in which matrices are compared. No two entries on and under the diagonal have the same factor, so that one in the place of another is
/// seen.
pub(super) fn probe(d: usize) -> Vec<f64> {
    let along = |j: usize| 0.5 + 0.5 * (0.618_033_988_749_894_9 * j as f64).fract();
    (0..d).map(|j| if j % 3 == 1 { -along(j) } else { along(j) }).collect()
}

/// Runs `f` on threads of its own. Those of the caller may all wait for the result, and must not start on work that waits for it too.
fn apart<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    #[cfg(feature = "parallel")]
    {
        let threads = rayon::current_num_threads();
        let run = || match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
            Ok(pool) => pool.install(f),
            Err(_) => crate::base::chunked::share(f),
        };
        std::thread::scope(|scope| match scope.spawn(run).join() {
            Ok(found) => found,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    }
    #[cfg(not(feature = "parallel"))]
    f()
}
