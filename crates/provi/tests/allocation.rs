//! A step from draws allocates nothing once it is under way.

mod common;

use common::regression;
use provi::average::{Average, Averager};
use provi::draws::{Draws, Purpose};
use provi::estimator::{Kind, Sampled, Terms};
use provi::optimize::{Composite, Problem};
use provi::step::{FusedProx, ProjEntropy, ProjStl, ProjTriangular};
use provi::subsample::{Law, Sampling, Subsample};
use provi::target::{Evaluator, Family, FiniteSum};
use provi::walk::{Walk, Walker};
use provi::{BaseLaw, Gaussian, Seed, Symmetric, Target, Triangular};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, counting for each thread what it is asked.
struct Counting;

thread_local! {
    static ASKED: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    ASKED.set(ASKED.get() + 1);
}

// SAFETY: every call is handed on to the system's allocator as it came; counting touches no allocated memory, and a
// constant thread-local of a type without a destructor allocates none.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise for `alloc` is the one that the system's asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer came from `System` with this layout, as every pointer of this allocator does.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the pointer came from `System` with this layout; the caller promises the rest.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often a hundred steps ask for memory, after twenty.
fn asked(mut w: Vec<f64>, problem: &mut dyn Problem) -> u64 {
    let mut average = Averager::new(Average::Uniform, w.len()).unwrap();
    let mut go = |steps: std::ops::Range<u64>| {
        for t in steps {
            problem.show(&mut w, t, &mut average).unwrap();
            problem.advance(&mut w, t, 1e-4).unwrap();
        }
    };
    go(0..20);
    let before = ASKED.get();
    go(20..120);
    ASKED.get() - before
}

#[test]
fn no_step_allocates_once_it_is_under_way() {
    let target = regression(Family::Bernoulli, 611, 19, 1.0, false);
    let (d, view) = (target.dim(), Evaluator::Serial(&target));
    let draws = Draws::new(Seed(1), Purpose::Optimise);
    let triangular = || Gaussian::<Triangular>::standard(d).parameters().to_vec();
    let symmetric = || Gaussian::<Symmetric>::standard(d).parameters().to_vec();
    for batch in [1, 8] {
        let mut fused = FusedProx::new(view, draws, batch).unwrap();
        assert_eq!(asked(triangular(), &mut fused), 0, "prox-energy, S = {batch}");
        for kind in [Kind::Energy, Kind::Entropy, Kind::Stl] {
            let estimator = Sampled::<Triangular>::new(kind, view, draws, batch).unwrap();
            let operator = ProjTriangular::new(d, 1e4).unwrap();
            let mut sampled = Composite { estimator, operator };
            assert_eq!(asked(triangular(), &mut sampled), 0, "{kind:?}, S = {batch}");
        }
        let law =
            Law::new(Subsample { terms: 7, sampling: Sampling::Uniform }, target.terms(), None).unwrap();
        let terms = Terms::new(&target, &law, Seed(1)).unwrap();
        let mut drawn = FusedProx::new(terms, draws, batch).unwrap();
        assert_eq!(asked(triangular(), &mut drawn), 0, "prox-energy on terms, S = {batch}");
        let laws = [BaseLaw::student_t(6.0).unwrap(), BaseLaw::Laplace, BaseLaw::Logistic, BaseLaw::Uniform];
        for law in laws {
            let mut fused = FusedProx::new(view, draws.of(law), batch).unwrap();
            assert_eq!(asked(triangular(), &mut fused), 0, "prox-energy, {law}, S = {batch}");
        }
        // 1/√M is far below every eigenvalue.
        let mut stl = ProjStl::new(view, draws, batch, 1e4).unwrap();
        assert_eq!(asked(symmetric(), &mut stl), 0, "proj-stl, S = {batch}");
        let mut entropy = ProjEntropy::new(view, draws, batch, 1e4).unwrap();
        assert_eq!(asked(symmetric(), &mut entropy), 0, "proj-entropy, S = {batch}");
        let mut natural = Walker::new(Walk::NaturalGradient, view, draws, batch).unwrap();
        assert_eq!(asked(triangular(), &mut natural), 0, "natural-gradient, S = {batch}");
    }
}
