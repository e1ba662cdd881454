//! The law of the draws against quadrature, with planted mistakes beside it.

use super::chain;
use super::envelope::{Envelope, Slabs};
use super::layer::{Frame, Layer};
use super::rows::MOST_WAVE;
use super::*;
use crate::auto::solve::Solver;
use crate::base::error::Error;
use crate::base::linalg::norm;
use crate::base::stop::{Signal, Stop};
use crate::glm::Prior;
use crate::glm::design::Design;
use crate::glm::rows::Slab;
use crate::target::{Family, Target};
use provi_kernels::triangle;

/// A run on fresh seeds is red with this probability for each Kolmogorov–Smirnov test.
const LEVEL: f64 = 1e-7;
const DRAWS: usize = 40_000;

/// Few rows, strong ones: far from a Gaussian, and both ends of every slab are reached.
fn model(family: Family, d: usize) -> Glm {
    let rows = 9;
    let mut entries = vec![0.0; rows * d];
    provi_kernels::normals(11, d as u64, 0, &mut entries);
    let least = if matches!(family, Family::Gamma { .. }) { 0.5 } else { 0.0 };
    let y: Vec<f64> = (0..rows).map(|n| least + f64::from(u8::from(n % 3 == 0))).collect();
    let weights: Vec<f64> = (0..rows).map(|n| 0.4 + 0.3 * (n % 4) as f64).collect();
    let design = Design::dense(rows, d, &entries).unwrap();
    Glm::new(family, design, &y, Prior::scale(1.5).unwrap())
        .unwrap()
        .with_weights(&weights)
        .unwrap()
        .with_offsets(&[0.2; 9])
        .unwrap()
}

/// A Gaussian that is not the best one.
fn somewhere(d: usize) -> Gaussian<Triangular> {
    let c = Matrix::diagonal(&vec![0.5; d]);
    Gaussian::from_covariance(&vec![-0.5; d], c).unwrap()
}

/// Draws through an envelope.
fn through(model: &Glm, envelope: Box<dyn Envelope>, seed: Seed) -> ExactDraws<'_> {
    let proposer = OfRows { model: Cow::Borrowed(model), envelope };
    ExactDraws::through(Way::Rows(Box::new(proposer)), None, seed, [1.0, 0.0])
}

/// sup |F_n − F| over what makes a false alarm of `LEVEL`.
fn excess(mut sample: Vec<f64>, cdf: impl Fn(f64) -> f64) -> f64 {
    let n = sample.len() as f64;
    sample.sort_by(f64::total_cmp);
    let gap = |(k, &x): (usize, &f64)| {
        let at = cdf(x);
        (at - k as f64 / n).abs().max((at - (k + 1) as f64 / n).abs())
    };
    let found = sample.iter().enumerate().map(gap).fold(0.0, f64::max);
    found / (0.5 * (2.0 / LEVEL).ln() / n).sqrt()
}

/// The distribution function of vᵀz by quadrature, d = 1 or 2, on a grid that is read by linear interpolation.
fn distribution(model: &Glm, v: &[f64]) -> impl Fn(f64) -> f64 {
    const HALF: i32 = 400;
    const REACH: f64 = 9.0;
    let step = REACH / f64::from(HALF);
    let d = model.dim();
    let density = |z: &[f64]| model.log_density(z, &mut vec![0.0; d]).unwrap();
    let (v, d) = (v.to_vec(), d);
    let line = |x: f64| -> f64 {
        if d == 1 {
            return density(&[x / v[0]]).exp();
        }
        // Points with vᵀz = x, along the direction across v.
        let size = v[0] * v[0] + v[1] * v[1];
        let at = |i: i32| {
            let y = f64::from(i) * 4.0 * step;
            density(&[(v[0] * x - v[1] * y) / size, (v[1] * x + v[0] * y) / size]).exp()
        };
        (-HALF / 4..=HALF / 4).map(at).sum()
    };
    let values: Vec<f64> = (-HALF..=HALF).map(|i| line(f64::from(i) * step)).collect();
    let mut sums = vec![0.0];
    for pair in values.windows(2) {
        sums.push(sums[sums.len() - 1] + 0.5 * (pair[0] + pair[1]));
    }
    let whole = sums[sums.len() - 1];
    move |x: f64| {
        let place = ((x + REACH) / step).clamp(0.0, f64::from(2 * HALF) - 1e-9);
        let k = place as usize;
        (sums[k] + (place - k as f64) * (sums[k + 1] - sums[k])) / whole
    }
}

/// Narrow slabs, in deviations of the predictors.
const WIDTHS: [f64; 4] = [1.2, 2.6, 6.0, f64::INFINITY];
const FEWER: usize = 30_000;

/// Draws through slabs that are narrower than any that would be chosen, so that every piece has its share.
fn narrow<'m>(model: &'m Glm, q: &Gaussian<Triangular>, widths: &[f64]) -> ExactDraws<'m> {
    let frame = Frame::new(model, q.clone());
    let layers: Vec<Layer> = widths
        .iter()
        .map(|w| Layer::new(&frame, frame.spreads.iter().map(|s| s * w).collect()).unwrap().unwrap())
        .collect();
    let slabs = Slabs::new(layers, frame.middles.clone());
    through(model, Box::new(slabs), Seed(3))
}

fn along(points: &Matrix, v: &[f64]) -> Vec<f64> {
    (0..points.rows()).map(|k| points.row(k).iter().zip(v).map(|(z, v)| z * v).sum()).collect()
}

const FAMILIES: [Family; 6] = [
    Family::Bernoulli,
    Family::Probit,
    Family::Cloglog,
    Family::Poisson,
    Family::Gamma { noise_sd: 0.8 },
    Family::Gaussian { noise_sd: 0.8 },
];

/// [exact-draws]
#[test]
fn draws_have_the_law_of_the_posterior_on_a_line_and_in_a_plane() {
    for family in FAMILIES {
        for (d, directions) in
            [(1, vec![vec![1.0]]), (2, vec![vec![1.0, 0.0], vec![0.0, 1.0], vec![1.0, -2.0]])]
        {
            let model = model(family, d);
            let mut draws = ExactDraws::new(&model, &somewhere(d), Seed(5)).unwrap();
            assert!(draws.rounding() < 1e-8, "{family:?}: {}", draws.rounding());
            let points = draws.draw(DRAWS).unwrap();
            let taken = draws.proposed() as f64 / DRAWS as f64;
            // The bound is of the expectation; a wave is made to its end.
            assert!(taken <= 1.05 * draws.proposals_bound() + 0.2, "{taken} {}", draws.proposals_bound());
            for v in directions {
                let found = excess(along(&points, &v), distribution(&model, &v));
                assert!(found < 1.0, "{family:?} {v:?}: {found}");
            }
        }
    }
}

/// Each piece has its share of the draws, and the law is right nevertheless.
#[test]
fn every_piece_is_needed_and_weighed_rightly() {
    // A line above the tail of a probit row is far above it: its last slab but one is wide.
    let wide = [1.2, 2.6, 6.0, 16.0, f64::INFINITY];
    for (family, widths) in [(Family::Bernoulli, &WIDTHS[..]), (Family::Probit, &wide[..])] {
        let model = model(family, 2);
        let q = somewhere(2);
        let mut draws = narrow(&model, &q, widths);
        let points = draws.draw(FEWER).unwrap();
        let frame = Frame::new(&model, q);
        let mut shares = vec![0.0; widths.len()];
        for k in 0..FEWER {
            let t = model.rows.all_predictors(points.row(k));
            let far = (0..t.len()).map(|n| (t[n] - frame.middles[n]).abs() / frame.spreads[n]);
            let far = far.fold(0.0, f64::max);
            shares[widths.iter().position(|w| far <= *w).unwrap()] += 1.0 / FEWER as f64;
        }
        assert!(shares[..3].iter().all(|share| *share > 0.005), "{family:?} {shares:?}");
        for v in [[1.0, 0.0], [0.0, 1.0], [1.0, -2.0]] {
            let found = excess(along(&points, &v), distribution(&model, &v));
            assert!(found < 1.0, "{family:?} {v:?}: {found}");
        }
        println!("{family:?}: shares {shares:?}, {} proposals", draws.proposed());
    }
}

/// The same slabs with a mistake.
struct Planted {
    own: Slabs,
    mistake: Mistake,
}

#[derive(Clone, Copy, Debug)]
enum Mistake {
    /// A point beyond the bounds of several rows counts for each of them.
    CountsTwice,
    /// A point outside the first slab is drawn again rather than rejected.
    Redraws,
    /// Half-spaces beyond the first slab have the weight of one side.
    OneSide,
}

impl Envelope for Planted {
    fn log_mass(&self) -> f64 {
        self.own.log_mass()
    }

    fn piece(&self, u: f64) -> usize {
        match self.mistake {
            Mistake::OneSide if u > 0.5 => self.own.piece(2.0 * (u - 0.5)).saturating_sub(1),
            _ => self.own.piece(u),
        }
    }

    fn slab(&self, piece: usize) -> Slab<'_> {
        let slab = self.own.slab(piece);
        match self.mistake {
            Mistake::CountsTwice => Slab { inner: None, ..slab },
            _ => slab,
        }
    }

    fn propose(
        &self,
        model: &Glm,
        draws: &Draws,
        k: u64,
        piece: usize,
        z: &mut [f64],
        room: &mut [f64],
    ) -> f64 {
        let mut bound = self.own.propose(model, draws, k, piece, z, room);
        if let (Mistake::Redraws, 0) = (self.mistake, piece) {
            let mut again = k;
            while model.rows.energies_in(self.own.slab(0), z).outside[0] > 0.0 {
                again += 1 << 40;
                bound = self.own.propose(model, draws, again, piece, z, room);
            }
        }
        bound
    }

    fn is_inside(&self, piece: usize, bound: f64) -> bool {
        self.own.is_inside(piece, bound)
    }
}

/// The twins of the tests above: each mistake is seen by the same test at the same level.
#[test]
fn planted_mistakes_are_seen() {
    let model = model(Family::Bernoulli, 2);
    let q = somewhere(2);
    for mistake in [Mistake::CountsTwice, Mistake::Redraws, Mistake::OneSide] {
        let frame = Frame::new(&model, q.clone());
        let layer =
            |w: f64| Layer::new(&frame, frame.spreads.iter().map(|s| s * w).collect()).unwrap().unwrap();
        let slabs = Slabs::new(WIDTHS.map(layer).into(), frame.middles.clone());
        let planted = Planted { own: slabs, mistake };
        let envelope = Box::new(planted);
        let mut draws = through(&model, envelope, Seed(3));
        let points = draws.draw(FEWER).unwrap();
        let worst = [[1.0, 0.0], [0.0, 1.0], [1.0, -2.0]]
            .map(|v| excess(along(&points, &v), distribution(&model, &v)))
            .into_iter()
            .fold(0.0, f64::max);
        assert!(worst > 1.5, "{mistake:?}: {worst}");
    }
}

/// A Gaussian that is too low somewhere is found out: no draw is handed over.
#[test]
fn a_density_above_its_envelope_is_no_draw() {
    let model = model(Family::Bernoulli, 2);
    let frame = Frame::new(&model, somewhere(2));
    let mut layer = Layer::new(&frame, vec![f64::INFINITY; frame.len()]).unwrap().unwrap();
    layer.height -= 1.0;
    let slabs = Slabs::new(vec![layer], frame.middles.clone());
    let mut draws = through(&model, Box::new(slabs), Seed(3));
    let refused = draws.draw(1000).unwrap_err();
    assert!(matches!(refused, Error::AboveEnvelope { .. }), "{refused}");
}

/// Envelopes are above the density where it matters, by little where they touch.
#[test]
fn envelopes_are_above_the_density() {
    for family in FAMILIES {
        let model = model(family, 2);
        let frame = Frame::new(&model, somewhere(2));
        for (j, layer) in chain::cheapest(&frame, Search::default()).unwrap().unwrap().iter().enumerate() {
            let (mut least, mut u, mut z) = (f64::INFINITY, [0.0; 2], [0.0; 2]);
            for k in 0..4000 {
                provi_kernels::normals(1, k, 0, &mut u);
                layer.gaussian.transport(&u, &mut z);
                let t = model.rows.all_predictors(&z);
                let inside = (0..t.len()).all(|n| (t[n] - frame.middles[n]).abs() <= layer.reach[n]);
                let energy = -model.log_density(&z, &mut [0.0; 2]).unwrap() - model.linear.constant;
                let room = layer.height - 0.5 * (u[0] * u[0] + u[1] * u[1]) + energy;
                assert!(!inside || room > -1e-9, "{family:?}: {room}");
                assert!(inside || norm(&u) > layer.free_radius(), "{family:?}: {u:?}");
                least = least.min(room);
            }
            assert!(j > 0 || least < 0.5, "{family:?}: {least}");
        }
    }
}

fn best(model: &Glm) -> Gaussian<Triangular> {
    Solver::default().run(model).unwrap().gaussian
}

/// A free radius is the largest: a little beyond it, along the row that decides about it, a point is outside.
#[test]
fn beyond_the_free_radius_a_slab_ends() {
    let model = model(Family::Bernoulli, 2);
    let frame = Frame::new(&model, best(&model));
    for width in [0.7, 2.0, 6.0] {
        let layer = Layer::new(&frame, frame.spreads.iter().map(|s| s * width).collect()).unwrap().unwrap();
        let radius = layer.free_radius();
        assert!(radius > 0.3 * width, "{width}: {radius}");
        let ends_by = |factor: f64| {
            (0..frame.len()).any(|n| {
                let (mut row, mut v, mut z) = ([0.0; 2], [0.0; 2], [0.0; 2]);
                model.rows.design.add_row(n, 1.0, &mut row);
                triangle::multiply_transposed(layer.gaussian.factor(), &row, &mut v);
                let scale = factor * radius / norm(&v);
                [scale, -scale].iter().any(|scale| {
                    layer.gaussian.transport(&v.map(|x| x * scale), &mut z);
                    let t = model.rows.all_predictors(&z);
                    (0..t.len()).any(|k| (t[k] - frame.middles[k]).abs() > layer.reach[k])
                })
            })
        };
        assert!(!ends_by(1.0) && ends_by(1.0 + 1e-5), "{width}");
    }
}

/// A coarse search, and one for densities from elsewhere, cost more proposals; the law is the same.
#[test]
fn a_coarse_search_changes_cost_alone() {
    let model = model(Family::Bernoulli, 2);
    for (apart, coarse) in [(false, true), (true, false), (true, true)] {
        let frame = Frame::new(&model, best(&model));
        let layers = chain::cheapest(&frame, Search { apart, coarse }).unwrap().unwrap();
        assert!(!apart || layers[0].free_radius() > 2.5, "{}", layers[0].free_radius());
        let slabs = Slabs::new(layers, frame.middles.clone());
        let mut draws = through(&model, Box::new(slabs), Seed(5));
        let points = draws.draw(FEWER).unwrap();
        for v in [[1.0, 0.0], [0.0, 1.0], [1.0, -2.0]] {
            let excess = excess(along(&points, &v), distribution(&model, &v));
            assert!(excess < 1.0, "{apart} {coarse}: {excess}");
        }
    }
}

#[test]
fn a_gaussian_posterior_takes_one_proposal_a_draw() {
    let model = model(Family::Gaussian { noise_sd: 0.8 }, 2);
    let draws = ExactDraws::new(&model, &somewhere(2), Seed(0)).unwrap();
    // q is not the posterior, so log ∫e^{−E} is not its lower bound: look at the envelope alone.
    let frame = Frame::new(&model, somewhere(2));
    assert_eq!(chain::cheapest(&frame, Search::default()).unwrap().unwrap().len(), 1);
    let mut draws = draws;
    draws.draw(50_000).unwrap();
    assert!(draws.proposed() < 50_000 + 2 * MOST_WAVE as u64);
}

#[test]
#[allow(clippy::float_cmp)] // the same bits are the claim
fn parts_and_threads_change_no_bit() {
    let model = model(Family::Bernoulli, 2);
    let all = |parts: &[usize]| {
        let mut draws = ExactDraws::new(&model, &somewhere(2), Seed(9)).unwrap();
        parts.iter().flat_map(|&n| draws.draw(n).unwrap().entries().to_vec()).collect::<Vec<f64>>()
    };
    let whole = all(&[9000]);
    assert_eq!(whole, all(&[1, 7, 4000, 4992]));
    #[cfg(feature = "parallel")]
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert_eq!(whole, pool.install(|| all(&[9000])));
    }
}

#[test]
fn a_stop_keeps_what_was_made() {
    let model = model(Family::Bernoulli, 2);
    let mut draws = ExactDraws::new(&model, &somewhere(2), Seed(9)).unwrap();
    let before = draws.draw(10).unwrap();
    let stop = Stop::default();
    stop.ask();
    let kept = Signal::on(&stop).cover(|| draws.draw(1_000_000).unwrap());
    // What was ready is handed over, and no wave is begun.
    assert!(before.rows() == 10 && kept.rows() < MOST_WAVE && draws.proposed() == MOST_WAVE as u64);
    assert_eq!(draws.made(), 10 + kept.rows() as u64);
}

#[test]
fn hopeless_models_are_refused_with_their_cost() {
    // Forty rows that one coefficient of forty separates, under a flat prior.
    let (rows, d) = (60, 40);
    let mut entries = vec![0.0; rows * d];
    provi_kernels::normals(2, 2, 0, &mut entries);
    let y: Vec<f64> = (0..rows).map(|n| f64::from(u8::from(entries[n * d] > 0.0))).collect();
    let design = Design::dense(rows, d, &entries).unwrap();
    let model = Glm::logistic(design, &y, Prior::scale(10.0).unwrap()).unwrap();
    let q = Gaussian::from_covariance(&vec![0.0; d], Matrix::diagonal(&vec![9.0; d])).unwrap();
    let refused = ExactDraws::new(&model, &q, Seed(0)).unwrap_err();
    assert!(
        matches!(refused, Error::ExactDrawsCost { proposals, .. } if proposals > MOST_PROPOSALS),
        "{refused}"
    );
    assert!(refused.to_string().contains("proposals"), "{refused}");
    let other = Gaussian::standard(3);
    assert!(ExactDraws::new(&model, &other, Seed(0)).is_err());
}

/// Between slabs of a row's own deviation and those beyond which a wide prior has no mass lie many orders of magnitude; slabs reach over all
/// of them, and the law is that of the quadrature.
#[test]
fn rows_under_a_wide_prior_have_exact_draws() {
    let mut x = vec![0.0; 2000];
    provi_kernels::normals(6, 0, 0, &mut x);
    let entries: Vec<f64> = x.iter().flat_map(|&x| [1.0, x]).collect();
    let labels: Vec<f64> = (0..2000).map(|n| f64::from(u8::from(n % 3 == 0))).collect();
    for scale in [1e2, 1e4, 1e6] {
        let design = Design::dense(2000, 2, &entries).unwrap();
        let model = Glm::logistic(design, &labels, Prior::scale(scale).unwrap()).unwrap();
        let q = Solver::default().run(&model).unwrap().gaussian;
        let mut exact =
            ExactDraws::new(&model, &q, Seed(3)).unwrap_or_else(|error| panic!("{scale}: {error}"));
        assert!(exact.proposals_bound() < 1.5, "{scale}: {}", exact.proposals_bound());
        let points = exact.draw(4000).unwrap();
        for j in 0..2 {
            let mean = (0..4000).map(|k| points[(k, j)]).sum::<f64>() / 4000.0;
            // Six standard errors, and what the Gaussian is off by: its KL is below 1e-3 nats.
            let sd = q.standard_deviations()[j];
            assert!((mean - q.mean()[j]).abs() < (6.0 / 4000f64.sqrt() + 0.05) * sd, "{scale} {j}: {mean}");
        }
    }
}
