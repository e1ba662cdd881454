//! A table of two thousand columns: every long piece of a search asks often enough whether it is cut off. Counted in work, not in
//! seconds.

use super::{about_laplace, potential};
use crate::auto::scales::FreeScales;
use crate::base::error::{Error, Result};
use crate::base::gaussian::Gaussian;
use crate::base::linalg::{PackedCholesky, eigenvalues, multiply};
use crate::base::matrix::{Matrix, packed_len};
use crate::base::stop::Polls;
use crate::glm::design::{BLOCK, Design};
use crate::glm::{Glm, Prior};
use crate::target::Target;
use crate::target::curvature::Provenance;
use crate::target::expectations::{Expectations, Moments};

const ROWS: usize = 5 * BLOCK;
const COLUMNS: usize = 2048;
/// Multiply-adds between two looks, at most: some tenth of a second.
const LOOK: usize = 1 << 30;

fn table() -> Design {
    let mut entries = vec![0.0; ROWS * COLUMNS];
    provi_kernels::normals(7, 0, 0, &mut entries);
    Design::dense(ROWS, COLUMNS, &entries).unwrap()
}

fn model() -> Glm {
    let labels: Vec<f64> = (0..ROWS).map(|n| f64::from(n % 3 == 0)).collect();
    Glm::logistic(table(), &labels, Prior::scale(1.0).unwrap()).unwrap()
}

/// Does the work with one thread, cut off at the given poll; what came of it, and the polls that were made.
fn cut_at<T: Send>(cut: u64, work: impl Fn() -> Result<T> + Send + Sync) -> (Result<T>, u64) {
    let polls = Polls::new("a piece of work", cut);
    let go = || polls.signal().during("a piece of work", &work);
    #[cfg(feature = "parallel")]
    let out = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(go);
    #[cfg(not(feature = "parallel"))]
    let out = go();
    (out, polls.made())
}

/// Work of so many multiply-adds asks at least once in [`LOOK`] of them, and ends at the poll that cuts it off.
fn asks_often<T: Send>(what: &str, work: usize, make: impl Fn() -> Result<T> + Send + Sync) {
    let (whole, polls) = cut_at(u64::MAX, &make);
    assert!(whole.is_ok() && polls >= 1, "{what}: {polls}");
    assert!(polls as usize >= work / LOOK, "{what}: {polls} polls for {work} multiply-adds");
    for cut in [1, polls.div_ceil(2), polls] {
        let (out, made) = cut_at(cut, &make);
        assert_eq!(out.err(), Some(Error::Stopped { during: "a piece of work" }), "{what}: {cut} of {polls}");
        assert_eq!(made, cut, "{what}: nothing asks again that has been cut off");
    }
}

#[test]
fn passes_over_the_rows_ask_block_by_block() {
    let model = model();
    let square = COLUMNS * COLUMNS;
    let hessian = || {
        let mut out = Matrix::zeros(COLUMNS, COLUMNS);
        model.hessian(&[0.0; COLUMNS], &mut out)
    };
    asks_often("the Hessian", ROWS * square / 2, hessian);
    let (_, polls) = cut_at(u64::MAX, hessian);
    assert!(polls as usize >= ROWS / BLOCK, "{polls} polls for {} blocks of rows", ROWS / BLOCK);
    let q = Gaussian::standard(COLUMNS);
    asks_often("the expectations", ROWS * square, || {
        let mut moments = Moments::new(COLUMNS);
        model.expect(&q, &mut moments)?;
        assert_eq!(moments.provenance, Provenance::Proved);
        Ok(())
    });
    asks_often("the gradient", ROWS * COLUMNS, || potential(&model, &[0.1; COLUMNS], &mut [0.0; COLUMNS]));
}

#[test]
fn products_ask_panel_by_panel() {
    let a = Matrix::scaled_identity(COLUMNS, 2.0);
    asks_often("a product", COLUMNS.pow(3), || Ok(multiply(&a, &a)));
}

/// Nobody can look into a factorisation: it is waited for on a thread of its own, which is asked about before it is begun and as
/// long as it lasts.
#[test]
fn factorisations_are_left_alone_when_they_are_cut_off() {
    let packed = {
        let mut packed = vec![0.0; packed_len(COLUMNS)];
        (0..COLUMNS).for_each(|i| packed[crate::base::matrix::packed_index(i, i)] = 2.0 + i as f64);
        packed
    };
    let cholesky = || {
        let mut model = PackedCholesky::with_dim(COLUMNS);
        model.factor(&packed, 1.0).map_err(|_| Error::Empty { what: "factor" })?;
        let mut out = vec![0.0; packed.len()];
        model.write_inverse_factor(&mut out);
        Ok(())
    };
    let spectrum = || eigenvalues("diagonal", &Matrix::scaled_identity(COLUMNS, 2.0)).map(drop);
    let works: [&(dyn Fn() -> Result<()> + Send + Sync); 2] = [&cholesky, &spectrum];
    for work in works {
        let (out, made) = cut_at(1, work);
        assert_eq!((out, made), (Err(Error::Stopped { during: "a piece of work" }), 1));
        // A later poll comes while it is waited for, if it lasts that long.
        for cut in [2, 3] {
            match cut_at(cut, work) {
                (Ok(()), made) => assert!(made < cut, "{made} of {cut}"),
                (Err(error), made) => {
                    assert_eq!((error, made), (Error::Stopped { during: "a piece of work" }, cut));
                }
            }
        }
    }
}

/// The search for the mode, cut off in its first Hessian, in the factorisation and later: a point that is better than the start.
#[test]
fn a_wide_search_that_is_cut_off_keeps_a_point() {
    let model = model();
    let start = vec![0.0; COLUMNS];
    let value = |z: &[f64]| potential(&model, z, &mut [0.0; COLUMNS]).unwrap();
    for cut in [1, 3, (ROWS / BLOCK) as u64 + 2] {
        let polls = Polls::new("the search for the mode", cut);
        let (q, _) = polls.signal().cover(|| about_laplace(&model, &start)).unwrap();
        // Threads may ask once more while one of them is being told.
        assert!(polls.made() >= cut && polls.made() < cut + 64, "{}", polls.made());
        assert!(value(q.mean()) < value(&start), "{cut}");
    }
}

/// The search for scales: cut off before its first solution it has the scales that it began with.
#[test]
fn a_wide_search_for_scales_is_cut_off_inside_its_first_solution() {
    let y: Vec<f64> = (0..ROWS).map(|n| (n % 7) as f64 - 3.0).collect();
    let model = Glm::linear(table(), &y, 1.0, Prior::scale(1.0).unwrap()).unwrap();
    let free = FreeScales { noise_sd: Some(1.0), ..FreeScales::default() };
    for cut in [1, 3] {
        let polls = Polls::new("the search", cut);
        let out = polls.signal().cover(|| free.maximise(&model)).unwrap();
        assert!(out.stopped_early && out.evaluations == 0 && out.neg_elbo.is_infinite(), "{cut}");
        assert!(polls.made() >= cut && polls.made() < cut + 64, "{cut}: {}", polls.made());
    }
}
