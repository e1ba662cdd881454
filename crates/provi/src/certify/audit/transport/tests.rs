use super::*;
use crate::base::draws::{Draws, Purpose, Seed};
use crate::base::error::{Error, Result};
use crate::base::matrix::Matrix;
use crate::target::Target;

/// V = Σ ½λ_i z_i² + w log(1 + e^{z_i}); beyond a wall it is NaN, or the evaluation fails.
struct Bent {
    flat: Vec<f64>,
    weight: f64,
    wall: f64,
    beyond: f64,
    refuses: bool,
}

impl Bent {
    fn new(d: usize, weight: f64) -> Self {
        let flat = (0..d).map(|i| 0.02 * 3f64.powi((i % 4) as i32)).collect();
        Self { flat, weight, wall: f64::INFINITY, beyond: f64::NAN, refuses: false }
    }

    fn slope(&self, i: usize, z: f64) -> f64 {
        self.flat[i] * z + self.weight / (1.0 + (-z).exp())
    }

    fn value(&self, i: usize, z: f64) -> f64 {
        0.5 * self.flat[i] * z * z + self.weight * (z.max(0.0) + (-z.abs()).exp().ln_1p())
    }

    /// G(x) for q = N(0, I), one coordinate after the other, by bisection.
    fn gap(&self, x: &[f64]) -> f64 {
        let one = |(i, &x): (usize, &f64)| {
            let far = (self.slope(i, x) - x).abs() / self.flat[i];
            let (mut low, mut high) = (x - far, x + far);
            for _ in 0..200 {
                let y = 0.5 * (low + high);
                if self.slope(i, y) > x { high = y } else { low = y }
            }
            self.value(i, x) - self.value(i, low) + x * (low - x)
        };
        x.iter().enumerate().map(one).sum()
    }

    fn metric(&self) -> Metric {
        let upper: Vec<f64> = self.flat.iter().map(|l| l + 0.25 * self.weight).collect();
        Metric::new(Matrix::diagonal(&self.flat), Some(&Matrix::diagonal(&upper))).unwrap()
    }
}

impl Target for Bent {
    fn dim(&self) -> usize {
        self.flat.len()
    }
    fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> Result<f64> {
        gradient.iter_mut().enumerate().for_each(|(i, g)| *g = -self.slope(i, z[i]));
        if z.iter().any(|z| z.abs() > self.wall) {
            if self.refuses {
                return Err(Error::Target { message: "too far out".into() });
            }
            gradient.fill(self.beyond);
            return Ok(self.beyond);
        }
        Ok(-z.iter().enumerate().map(|(i, z)| self.value(i, *z)).sum::<f64>())
    }
}

fn draws(d: usize, count: usize) -> Vec<Vec<f64>> {
    let stream = Draws::new(Seed(5), Purpose::Sample);
    let fill = |k: usize| {
        let mut x = vec![0.0; d];
        stream.fill(k as u64, 0, &mut x);
        x
    };
    (0..count).map(fill).collect()
}

/// Ĝ of some draws under q = N(0, I), and the evaluations; the draws lie inside the wall, so that V is known at x.
fn climb(target: &Bent, count: usize, enough: f64, most: f64) -> (Vec<Vec<f64>>, Vec<f64>, u64) {
    let (d, metric) = (target.dim(), target.metric());
    let identity: Vec<f64> = (0..d).flat_map(|i| (0..=i).map(move |j| f64::from(u8::from(i == j)))).collect();
    let q = Gaussian::new(&vec![0.0; d], &identity).unwrap();
    let allowances = Allowances::none();
    let mut ascent = Ascents::new(Evaluator::Parallel(target), &q, &metric, &allowances, enough);
    ascent.most = most;
    let xs: Vec<Vec<f64>> =
        draws(d, count).into_iter().filter(|x| x.iter().all(|x| x.abs() <= target.wall)).collect();
    for x in &xs {
        let mut slope = vec![0.0; d];
        let value = target.log_density(x, &mut slope).unwrap();
        slope.iter_mut().zip(x).for_each(|(s, x)| *s = -*s - x);
        let square = metric.squares(&mut slope.clone()).sum();
        ascent.take(x, -value, &slope, square);
    }
    while ascent.under_way > 0 {
        ascent.round();
    }
    let (bounds, evaluations) = (ascent.bounds.clone(), ascent.evaluations);
    let mean = bounds.iter().sum::<f64>() / bounds.len() as f64;
    let (found, same) = ascent.finish();
    assert!((found - mean).abs() <= 1e-12 * mean && same == evaluations);
    (xs, bounds, evaluations)
}

#[test]
fn every_draw_is_bounded_from_above_and_nearly_found() {
    for (d, weight) in [(1, 1.0), (3, 4.0), (12, 2.0), (40, 30.0)] {
        let target = Bent::new(d, weight);
        // More draws than there are rows: those that are done make room.
        let (xs, bounds, evaluations) = climb(&target, 700, 1e-4, EVALUATIONS);
        assert_eq!(bounds.len(), 700);
        let mut short = 0;
        for (x, bound) in xs.iter().zip(&bounds) {
            let truth = target.gap(x);
            assert!(*bound >= truth - 1e-10 * (1.0 + truth), "d = {d}: {bound} {truth}");
            short += usize::from(bound - truth > (PART * bound).max(1e-4) + 1e-9);
        }
        // Fewer than one in a hundred reach the limit.
        assert!(short <= 7, "d = {d}: {short}, {evaluations} evaluations");
    }
}

#[test]
fn an_ascent_cut_short_is_still_a_bound() {
    let target = Bent::new(20, 10.0);
    let (_, full, _) = climb(&target, 100, 0.0, EVALUATIONS);
    let (xs, first, _) = climb(&target, 100, 0.0, 1.0);
    for most in [2.0, 3.0, 6.0] {
        let (_, bounds, evaluations) = climb(&target, 100, 0.0, most);
        assert!(evaluations as f64 <= 100.0 * (most - 1.0));
        for (((x, bound), full), first) in xs.iter().zip(&bounds).zip(&full).zip(&first) {
            assert!(*bound >= target.gap(x) - 1e-9 && bound >= full && bound <= first, "{bound}");
        }
    }
}

#[test]
fn trials_without_a_number_are_no_progress_and_no_harm() {
    for beyond in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let target = Bent { wall: 2.5, beyond, ..Bent::new(3, 8.0) };
        let (xs, bounds, _) = climb(&target, 300, 1e-4, EVALUATIONS);
        let (_, first, _) = climb(&target, 300, 1e-4, 1.0);
        assert!(xs.len() > 200);
        let mut better = 0;
        for ((x, bound), first) in xs.iter().zip(&bounds).zip(&first) {
            // U* over all y: the wall hides where its maximum is, and the residual term stands for that.
            assert!(bound.is_finite() && *bound >= target.gap(x) - 1e-9, "{bound}");
            better += usize::from(*bound < 0.9 * first);
        }
        assert!(better > xs.len() / 2, "{better} of {}", xs.len());
    }
}

#[test]
fn a_target_that_refuses_a_trial_leaves_what_was_found() {
    let target = Bent { wall: 4.0, refuses: true, ..Bent::new(3, 8.0) };
    let (xs, bounds, evaluations) = climb(&target, 1_500, 1e-4, EVALUATIONS);
    let (_, first, _) = climb(&target, 1_500, 1e-4, 1.0);
    assert!(bounds.len() == xs.len() && evaluations > 0);
    for ((x, bound), first) in xs.iter().zip(&bounds).zip(&first) {
        assert!(*bound >= target.gap(x) - 1e-9 && bound <= first, "{bound} {first}");
    }
    // Draws that came after the failure have the bound at x.
    assert_eq!(bounds.last(), first.last());
}

#[cfg(feature = "parallel")]
#[test]
fn the_paths_have_the_same_bits_on_one_and_three_threads() {
    let target = Bent::new(40, 30.0);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let (_, bounds, evaluations) = pool.install(|| climb(&target, 1_100, 1e-4, EVALUATIONS));
        (bounds.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), evaluations)
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn the_forecast_covers_what_is_held() {
    for d in [1, 31, 600, 3_000] {
        let target = Bent::new(d, 1.0);
        let metric = Bent::new(1, 1.0).metric();
        let q = Gaussian::new(&vec![0.0; d], &vec![1.0; d * (d + 1) / 2]).unwrap();
        let allowances = Allowances::none();
        let ascent = Ascents::new(Evaluator::Parallel(&target), &q, &metric, &allowances, 1e-4);
        let arrays = [&ascent.paths, &ascent.trials, &ascent.points, &ascent.pulls, &ascent.slopes];
        let held: usize = arrays.iter().map(|a| 8 * a.len()).sum::<usize>() + 8 * ascent.values.len();
        assert_eq!(crate::sgd::memory::ascent_bytes(d), held as u64);
        assert!(held < 50 << 20, "d = {d}: {held}");
    }
}
