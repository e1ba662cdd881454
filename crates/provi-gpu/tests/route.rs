//! The whole route on a machine without a card: fit, audit on a device, certificate, exact draws. The device runs the twins of the kernels.

use provi::device::{
    Device, DeviceFailure, DeviceFamily, DeviceFormWeights, DeviceForms, DeviceMoments, DeviceRounding,
    DeviceRows, DeviceRule, Held, OnDevice,
};
use provi::exact_draws::ExactDraws;
use provi::solve::Solver;
use provi::stream::{Memory, Rows, Streamed};
use provi::target::{Evaluator, Family, Glm, Prior, Time};
use provi::{Audit, Auto, Certificate, Design, Matrix, Seed};
use provi_gpu::Twins;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// `count` numbers in (−1, 1).
fn numbers(seed: u64, count: usize) -> Vec<f64> {
    let mut x = vec![0.0; count];
    provi_kernels::uniforms(seed, 0, 0, &mut x);
    x.iter().map(|u| 2.0 * u - 1.0).collect()
}

const ROWS: usize = 150;
const COLUMNS: usize = 3;

/// An intercept and two columns, one of them far from zero, so that standard coordinates differ from the given ones.
fn design() -> Design {
    let x = numbers(1, ROWS * COLUMNS);
    let entries: Vec<f64> =
        x.chunks_exact(COLUMNS).flat_map(|row| [1.0, row[1], 20.0 + 3.0 * row[2]]).collect();
    Design::dense(ROWS, COLUMNS, &entries).unwrap()
}

fn models() -> Vec<Glm> {
    let u = numbers(2, ROWS);
    let labels: Vec<f64> = u.iter().map(|u| f64::from(u8::from(*u > 0.2))).collect();
    let counts: Vec<f64> = u.iter().map(|u| (2.0 + 2.0 * u).floor()).collect();
    let positive: Vec<f64> = u.iter().map(|u| 1.2 + u).collect();
    let events: Vec<f64> = (0..ROWS).map(|n| f64::from(u8::from(n % 4 > 0))).collect();
    let trials = vec![4.0; ROWS];
    let weights: Vec<f64> = numbers(3, ROWS).iter().map(|w| 1.0 + 0.5 * w).collect();
    let offsets = numbers(4, ROWS);
    let prior = || Prior::scale(2.0).unwrap();
    let weibull = Family::Weibull { noise_sd: 0.7, unit: 1.0, coarse: false };
    vec![
        Glm::logistic(design(), &labels, prior()).unwrap(),
        Glm::logistic(design(), &labels, prior()).unwrap().with_weights(&weights).unwrap(),
        Glm::binomial(design(), &counts, &trials, prior()).unwrap().with_offsets(&offsets).unwrap(),
        Glm::probit(design(), &labels, prior()).unwrap(),
        Glm::poisson(design(), &counts, prior()).unwrap().with_offsets(&offsets).unwrap(),
        Glm::gamma(design(), &positive, 0.8, prior()).unwrap(),
        Glm::cloglog(design(), &labels, prior()).unwrap(),
        Glm::linear(design(), &positive, 0.6, prior()).unwrap(),
        Glm::negative_binomial(design(), &counts, 0.5, prior()).unwrap(),
        Glm::survival(weibull, design(), &positive, &events, prior()).unwrap(),
    ]
}

/// The numbers of a certificate: gap, KL, total variation, evidence from below and from above.
fn stated(certificate: &Certificate) -> [f64; 5] {
    let or_none = |bound: Option<f64>| bound.unwrap_or(-1.0);
    [
        or_none(certificate.gap.bound()),
        or_none(certificate.kl.bound()),
        or_none(certificate.tv.bound()),
        or_none(certificate.evidence.lower()),
        or_none(certificate.evidence.upper()),
    ]
}

fn certified(model: &Glm) -> [f64; 5] {
    let auto = Auto { audit: Audit { draws: 1000, ..Audit::default() }, ..Auto::default() };
    stated(auto.run(model, Seed(5)).unwrap().certificate())
}

/// Every number agrees up to what rounding moves: bounds are sums of thousands of draws.
fn agree(a: [f64; 5], b: [f64; 5]) -> bool {
    a.iter().zip(&b).all(|(a, b)| (a - b).abs() <= 1e-9 + 1e-6 * a.abs())
}

/// A device that does something else once `after` calls have been made.
#[derive(Clone, Debug)]
struct Odd {
    calls: Arc<AtomicUsize>,
    after: usize,
    what: What,
}

#[derive(Clone, Copy, Debug)]
enum What {
    /// Energies are larger by that part.
    Energies(f64),
    /// Gradients are larger by that part.
    Gradients(f64),
    /// Expected gradients are larger by that part.
    Expectations(f64),
    /// Gram matrices are larger by that part.
    Grams(f64),
    /// Two entries of Gram matrices change places.
    SwappedGrams,
    /// One kind of forms is larger by that part: cubic, quadratic, quartic.
    Forms(usize, f64),
    /// Two rows and columns of a kind of forms change places.
    SwappedForms(usize),
    FailToExpect,
    FailToMultiply,
    FailToForm,
    Fail,
    Refuse,
}

impl Odd {
    fn on(after: usize, what: What) -> OnDevice {
        OnDevice::with_least_work(Self { calls: Arc::default(), after, what }, 0)
    }
}

impl Device for Odd {
    fn name(&self) -> String {
        "odd".into()
    }
    fn needed(&self, rows: usize, columns: usize, draws: usize) -> u64 {
        Twins.needed(rows, columns, draws)
    }
    fn free(&self) -> Result<u64, DeviceFailure> {
        Twins.free()
    }
    fn rounding(&self, family: DeviceFamily, rows: usize, columns: usize) -> DeviceRounding {
        Twins.rounding(family, rows, columns)
    }
    fn hold(&self, rows: &DeviceRows<'_>) -> Result<Box<dyn Held>, DeviceFailure> {
        match self.what {
            What::Refuse => Err(DeviceFailure::Refused("too large".into())),
            _ => Ok(Box::new(OddRows { rows: Twins.hold(rows)?, of: self.clone() })),
        }
    }
}

#[derive(Debug)]
struct OddRows {
    rows: Box<dyn Held>,
    of: Odd,
}

impl Held for OddRows {
    fn energies(
        &self,
        points: &[f64],
        energies: &mut [f64],
        gradients: Option<&mut [f64]>,
    ) -> Result<(), DeviceFailure> {
        if self.of.calls.fetch_add(1, Ordering::SeqCst) < self.of.after {
            return self.rows.energies(points, energies, gradients);
        }
        let mut slopes = vec![0.0; points.len()];
        self.rows.energies(points, energies, Some(&mut slopes))?;
        match self.of.what {
            What::Energies(part) => energies.iter_mut().for_each(|x| *x *= 1.0 + part),
            What::Gradients(part) => slopes.iter_mut().for_each(|x| *x *= 1.0 + part),
            What::Fail => return Err(DeviceFailure::Lost("no answer".into())),
            What::Refuse
            | What::Expectations(_)
            | What::Grams(_)
            | What::SwappedGrams
            | What::Forms(..)
            | What::SwappedForms(_)
            | What::FailToExpect
            | What::FailToMultiply
            | What::FailToForm => {}
        }
        if let Some(out) = gradients {
            out.copy_from_slice(&slopes);
        }
        Ok(())
    }

    fn expectations(
        &self,
        mean: &[f64],
        factor: &[f64],
        rules: &[DeviceRule<'_>],
    ) -> Result<DeviceMoments, DeviceFailure> {
        let mut found = self.rows.expectations(mean, factor, rules)?;
        match self.of.what {
            What::Expectations(part) => found.gradient.iter_mut().for_each(|x| *x *= 1.0 + part),
            What::FailToExpect => return Err(DeviceFailure::Lost("no answer".into())),
            _ => {}
        }
        Ok(found)
    }

    fn gram(&self, first: usize, values: &[f64]) -> Result<Vec<f64>, DeviceFailure> {
        let mut found = self.rows.gram(first, values)?;
        match self.of.what {
            What::Grams(part) => found.iter_mut().for_each(|x| *x *= 1.0 + part),
            What::SwappedGrams => {
                let d = (found.len() as f64).sqrt() as usize;
                found.swap(0, d + 1);
            }
            What::FailToMultiply => return Err(DeviceFailure::Lost("no answer".into())),
            _ => {}
        }
        Ok(found)
    }

    fn forms(
        &self,
        first: usize,
        factor: &[f64],
        weights: &DeviceFormWeights<'_>,
    ) -> Result<DeviceForms, DeviceFailure> {
        let mut found = self.rows.forms(first, factor, weights)?;
        let of_kind = |found: &mut DeviceForms, kind: usize, change: &dyn Fn(&mut [f64])| match kind {
            0 => change(&mut found.third),
            1 => found.quadratic.iter_mut().for_each(|form| change(form)),
            _ => found.quartic.iter_mut().for_each(|form| change(form)),
        };
        match self.of.what {
            What::Forms(kind, part) => {
                of_kind(&mut found, kind, &|form| form.iter_mut().for_each(|x| *x *= 1.0 + part))
            }
            What::SwappedForms(kind) => of_kind(&mut found, kind, &|form| form.swap(0, 2)),
            What::FailToForm => return Err(DeviceFailure::Lost("no answer".into())),
            _ => {}
        }
        Ok(found)
    }
}

#[test]
fn a_certificate_by_a_device_is_that_of_the_processor() {
    for model in models() {
        let here = certified(&model);
        let on = OnDevice::with_least_work(Twins, 0);
        let there = certified(&model.clone().with_device(on.clone()));
        let family = model.family();
        assert!(on.draws() > 0 && on.warnings().is_empty() && on.notes().is_empty(), "{family:?} {on:?}");
        // A Gaussian target has one curvature everywhere, and needs no other Gram matrix.
        assert!(on.grams() > 0 || matches!(family, Family::Gaussian { .. }), "{family:?} {on:?}");
        assert!(on.forms() > 0 || matches!(family, Family::Gaussian { .. }), "{family:?} {on:?}");
        assert!(agree(here, there), "{family:?}: {here:?} {there:?}");
        // The same bits again.
        let again = certified(&model.with_device(OnDevice::with_least_work(Twins, 0)));
        assert_eq!(there.map(f64::to_bits), again.map(f64::to_bits), "{family:?}");
    }
}

#[test]
fn threads_change_no_bit() {
    let run = |threads| {
        let model = models().swap_remove(0).with_device(OnDevice::with_least_work(Twins, 0));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| certified(&model)).map(f64::to_bits)
    };
    assert_eq!(run(1), run(3));
}

/// One part in a million is far above rounding, and far below what anybody would see.
#[test]
fn a_device_that_is_wrong_is_found_before_it_is_used() {
    for what in [What::Energies(1e-6), What::Energies(-1e-9), What::Gradients(1e-6), What::Energies(f64::NAN)]
    {
        for model in models() {
            let on = Odd::on(0, what);
            let here = certified(&model);
            let there = certified(&model.clone().with_device(on.clone()));
            let said = on.warnings().join(" ");
            assert!(said.contains("and rounding allows") && on.draws() == 0, "{what:?}: {said}");
            assert!(agree(here, there), "{:?} {what:?}: {here:?} {there:?}", model.family());
        }
    }
}

/// The device finds the best Gaussian, and the processor proves that it is: one expectation where it takes several alone. One whose expectations
/// are wrong, or that fails to take them, costs steps and nothing else.
#[test]
fn a_search_by_a_device_ends_where_the_processor_s_ends() {
    for model in models() {
        let family = model.family();
        let evaluations = |model: &Glm| {
            let found = Solver::default().run(model).unwrap();
            (found.expectation_evaluations, found.gap.unwrap().value, found.neg_elbo)
        };
        let (alone, _, f) = evaluations(&model);
        let (by_both, gap, there) =
            evaluations(&model.clone().with_device(OnDevice::with_least_work(Twins, 0)));
        assert!(by_both <= 2 && by_both <= alone, "{family:?}: {by_both} {alone}");
        assert!(gap < 1e-9 && (f - there).abs() < 1e-9, "{family:?}: {gap} {f} {there}");
        for what in [What::Expectations(1e-3), What::Expectations(f64::NAN), What::FailToExpect] {
            let on = Odd::on(0, what);
            let (_, gap, there) = evaluations(&model.clone().with_device(on.clone()));
            assert!(gap < 1e-9 && (f - there).abs() < 1e-9, "{family:?} {what:?}: {gap} {f} {there}");
            assert_eq!(on.is_gone(), matches!(what, What::FailToExpect));
        }
    }
}

/// A Gram matrix that is wrong is found before one is used, and one that is not given is taken here.
#[test]
fn gram_matrices_of_a_device_are_compared_and_may_be_lost() {
    let kinds = [
        What::Grams(1e-6),
        What::Grams(-1e-9),
        What::Grams(f64::NAN),
        What::SwappedGrams,
        What::FailToMultiply,
    ];
    for what in kinds {
        for model in models() {
            if matches!(model.family(), Family::Gaussian { .. }) {
                continue;
            }
            let on = Odd::on(usize::MAX, what);
            let here = certified(&model);
            let there = certified(&model.clone().with_device(on.clone()));
            let said = on.warnings().join(" ");
            let expected = if matches!(what, What::FailToMultiply) { "was lost" } else { "in a Gram matrix" };
            assert!(said.contains(expected) && on.grams() == 0 && on.is_gone(), "{what:?}: {said}");
            assert!(agree(here, there), "{:?} {what:?}: {here:?} {there:?}", model.family());
        }
    }
}

/// The same of cubic and quartic forms of the rows.
#[test]
fn forms_of_a_device_are_compared_and_may_be_lost() {
    let mut kinds = vec![What::FailToForm];
    for kind in 0..3 {
        kinds.extend([What::Forms(kind, 1e-6), What::Forms(kind, -1e-9), What::Forms(kind, f64::NAN)]);
        kinds.push(What::SwappedForms(kind));
    }
    for what in kinds {
        for model in [0, 2, 4].map(|k| models().swap_remove(k)) {
            let on = Odd::on(usize::MAX, what);
            let here = certified(&model);
            let there = certified(&model.clone().with_device(on.clone()));
            let said = on.warnings().join(" ");
            let expected = match what {
                What::FailToForm => "was lost, and the processor took over: no answer",
                What::Forms(_, part) if part.is_nan() => "it returned numbers that are not finite",
                _ => "in a form of the rows",
            };
            assert!(said.contains(expected) && on.forms() == 0 && on.is_gone(), "{what:?}: {said}");
            assert!(agree(here, there), "{:?} {what:?}: {here:?} {there:?}", model.family());
        }
    }
}

#[test]
fn a_device_that_is_lost_in_the_middle_costs_nothing() {
    let model = models().swap_remove(0);
    let here = certified(&model);
    for after in [0, 1, 2, 5] {
        let on = Odd::on(after, What::Fail);
        let there = certified(&model.clone().with_device(on.clone()));
        assert_eq!(on.warnings(), ["odd was lost, and the processor took over: no answer"]);
        assert!(on.is_gone() && agree(here, there), "{after}: {here:?} {there:?}");
    }
}

#[test]
fn rows_that_a_device_does_not_take_stay_here_with_a_note() {
    let model = models().swap_remove(0);
    let on = Odd::on(0, What::Refuse);
    let there = certified(&model.clone().with_device(on.clone()));
    assert!(on.warnings().is_empty() && !on.is_gone() && on.draws() == 0);
    assert_eq!(on.notes(), ["the processor took some passes instead of odd: too large"]);
    assert!(agree(certified(&model), there));
    // Sparse designs, and times within intervals.
    let sparse = Design::triplets(2, 1, &[(0, 0, 1.0), (1, 0, -2.0)]).unwrap();
    let sparse = Glm::logistic(sparse, &[0.0, 1.0], Prior::scale(1.0).unwrap()).unwrap();
    assert_eq!(sparse.refused_by_devices(), Some("the design is stored sparsely"));
    let weibull = Family::Weibull { noise_sd: 0.7, unit: 1.0, coarse: false };
    let times = [Time::between(1.0, 2.0), Time::at(0.5)];
    let column = Design::dense(2, 1, &[1.0, -1.0]).unwrap();
    let coarse = Glm::times(weibull, column, &times, Prior::scale(1.0).unwrap()).unwrap();
    assert_eq!(coarse.refused_by_devices(), Some("some times lie in intervals"));
    for model in [sparse, coarse] {
        let on = OnDevice::with_least_work(Twins, 0);
        certified(&model.with_device(on.clone()));
        assert_eq!(on.draws(), 0);
    }
}

/// Rows that are read block by block: each block is there for a pass.
#[test]
fn blocks_are_taken_by_a_device_too() {
    let u = numbers(2, ROWS);
    let labels: Vec<f64> = u.iter().map(|u| f64::from(u8::from(*u > 0.2))).collect();
    let streamed = |offsets: bool| {
        let x = numbers(1, ROWS * COLUMNS);
        let rows: Vec<f64> =
            x.chunks_exact(COLUMNS).flat_map(|row| [1.0, row[1], 20.0 + 3.0 * row[2]]).collect();
        let blocks = rows.chunks(40 * COLUMNS).zip(labels.chunks(40)).map(|(entries, labels)| {
            let design = Design::dense(labels.len(), COLUMNS, entries).unwrap();
            let block = Rows::new(Family::Bernoulli, design, labels).unwrap();
            if offsets { block.with_offsets(&vec![0.3; labels.len()]).unwrap() } else { block }
        });
        let source = Memory::new(COLUMNS, blocks.collect()).unwrap();
        Streamed::new(Family::Bernoulli, source, Prior::scale(2.0).unwrap()).unwrap()
    };
    let certified = |model: &Streamed<Memory>| {
        let auto = Auto { audit: Audit { draws: 1000, ..Audit::default() }, ..Auto::default() };
        stated(auto.run(Evaluator::Serial(model), Seed(5)).unwrap().certificate())
    };
    for offsets in [false, true] {
        let here = certified(&streamed(offsets));
        let on = OnDevice::with_least_work(Twins, 0);
        let model = streamed(offsets).with_device(on.clone());
        let there = certified(&model);
        assert!(on.draws() >= 4000 && on.warnings().is_empty() && on.notes().is_empty(), "{on:?}");
        assert!(agree(here, there), "{here:?} {there:?}");
        assert_eq!(certified(&model).map(f64::to_bits), there.map(f64::to_bits));
        // One that is wrong from some block on is found at that block, and one that is lost is not asked again.
        for (what, words) in [(What::Energies(1e-9), "and rounding allows"), (What::Fail, "was lost")] {
            for after in [0, 2, 6] {
                let on = Odd::on(after, what);
                let there = certified(&streamed(offsets).with_device(on.clone()));
                let said = on.warnings().join(" ");
                assert!(said.contains(words) && on.is_gone(), "{after} {what:?}: {said}");
                assert!(agree(here, there), "{after} {what:?}: {here:?} {there:?}");
            }
        }
    }
    // What a device states of its rounding is counted.
    let q = provi::Gaussian::from_covariance(&[0.0; 3], Matrix::diagonal(&[1.0; 3])).unwrap();
    let value =
        |model: &Streamed<Memory>| provi::Target::rounding(model, &q, &[3.0]).unwrap().unwrap()[0].value;
    let (plain, aside) = (streamed(false), streamed(false).with_device(OnDevice::with_least_work(Twins, 0)));
    assert!(value(&aside) > value(&plain), "{} {}", value(&aside), value(&plain));
}

#[test]
fn small_blocks_stay_here() {
    let on = OnDevice::new(Twins);
    let model = models().swap_remove(0).with_device(on.clone());
    certified(&model);
    assert_eq!(on.draws(), 0);
    assert!(on.pays(1 << 20, 8, 512) && !on.pays(1 << 20, 8, 511));
}

/// Proposals are those of the processor, and so is what is accepted, unless a uniform lies within rounding of its bound.
#[test]
fn exact_draws_are_those_of_the_processor() {
    for model in models() {
        let q = Auto::default().run(&model, Seed(1)).unwrap().fit.gaussian;
        let draw = |model: &Glm| -> (Matrix, f64) {
            let mut draws = ExactDraws::new(model, &q, Seed(9)).unwrap();
            (draws.draw(300).unwrap(), draws.rounding())
        };
        let on = OnDevice::with_least_work(Twins, 0);
        let (here, own) = draw(&model);
        let (there, other) = draw(&model.clone().with_device(on.clone()));
        assert!(on.draws() >= 300 && on.warnings().is_empty(), "{:?}", model.family());
        assert_eq!(here, there, "{:?}", model.family());
        // The mode, at which the widest slab touches, is found by rounded densities of either.
        assert!(other >= own * (1.0 - 1e-9) && other < 1.5 * own, "{own:e} {other:e}");
        // Lost after the envelope was found, between two waves.
        let lost = Odd::on(2, What::Fail);
        let (there, _) = draw(&model.clone().with_device(lost.clone()));
        assert_eq!(here, there);
    }
}

/// Bounds count the device's chains: one that states a long chain gets a wider bound.
#[test]
fn what_a_device_states_of_its_rounding_is_counted() {
    /// The chains of an energy and of a Gram matrix.
    #[derive(Clone, Copy, Debug)]
    struct Loose(usize, usize);
    impl Device for Loose {
        fn name(&self) -> String {
            "loose".into()
        }
        fn needed(&self, _: usize, _: usize, _: usize) -> u64 {
            0
        }
        fn free(&self) -> Result<u64, DeviceFailure> {
            Ok(1)
        }
        fn rounding(&self, family: DeviceFamily, rows: usize, columns: usize) -> DeviceRounding {
            let own = Twins.rounding(family, rows, columns);
            let (value_chain, gram_chain) = (own.value_chain.max(self.0), own.gram_chain.max(self.1));
            DeviceRounding { value_chain, gram_chain, ..own }
        }
        fn hold(&self, rows: &DeviceRows<'_>) -> Result<Box<dyn Held>, DeviceFailure> {
            Twins.hold(rows)
        }
    }
    let model = models().swap_remove(0);
    let here = certified(&model);
    // The first is in the KL, the second in the gap, where H_lo is.
    for (loose, k) in [(Loose(1 << 40, 1), 1), (Loose(1, 1 << 40), 0)] {
        let there = certified(&model.clone().with_device(OnDevice::with_least_work(loose, 0)));
        assert!(there[k] < 0.0 || there[k] > 2.0 * here[k], "{loose:?} {here:?} {there:?}");
    }
}
