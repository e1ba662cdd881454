//! A fit, and a certificate for a Gaussian from elsewhere.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, PoisonError};

use numpy::{
    PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray1, PyReadwriteArray2, PyUntypedArrayMethods,
};
use provi::fit::{Snapshot, Watch};
use provi::target::{Declared, Evaluator, Scratch, Summed, Target};
use provi::{Curvature, Gaussian};
use provi_analysis::Problem;
use provi_analysis::model::{UnknownNoise, device};
use provi_analysis::options::DeviceName;
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::answer::Answer;
use crate::callback::Session;
use crate::design::{matrix, numbers};
use crate::error::{raise, refuse};
use crate::finite_sum::SumSession;
use crate::model::{Kind, Model};
use crate::options::run_options;
use crate::wait::{Lookout, Shared, Viewer, in_place, on_a_thread};

/// Fits a model.
#[pyfunction]
pub(crate) fn fit(
    py: Python<'_>,
    model: &Model,
    options: &Bound<'_, PyDict>,
    init: Option<PyReadonlyArray1<'_, f64>>,
    observer: Option<Py<PyAny>>,
) -> PyResult<Answer> {
    let mut run = run_options(options)?;
    run.search.start = init.as_ref().map(numbers);
    run.check().map_err(refuse)?;
    let place = (run.threads, run.device);
    let work = move |problem: Problem<'_>, watch: &mut Watch<'_>| problem.fit(&run, watch);
    under_watch(py, model, place, observer, work).map(Answer::from)
}

/// Certifies a Gaussian that was found elsewhere.
#[pyfunction]
pub(crate) fn certify(
    py: Python<'_>,
    model: &Model,
    mean: PyReadonlyArray1<'_, f64>,
    cov: PyReadonlyArray2<'_, f64>,
    options: &Bound<'_, PyDict>,
) -> PyResult<Answer> {
    let q = Gaussian::from_covariance(&numbers(&mean), matrix(&cov)?).map_err(raise)?;
    let run = run_options(options)?;
    let place = (run.threads, run.device);
    let work =
        move |problem: Problem<'_>, watch: &mut Watch<'_>| problem.certify(&q.clone().into(), &run, watch);
    under_watch(py, model, place, None, work).map(Answer::from)
}

/// Writes log p and its gradient at points, one per row, into arrays of that size.
#[pyfunction]
pub(crate) fn log_density(
    py: Python<'_>,
    model: &Model,
    points: PyReadonlyArray2<'_, f64>,
    mut values: PyReadwriteArray1<'_, f64>,
    mut gradients: PyReadwriteArray2<'_, f64>,
) -> PyResult<()> {
    let [n, d] = [points.shape()[0], points.shape()[1]];
    let expected = model.dim();
    if d != expected {
        return Err(raise(provi::Error::Shape { what: "point", found: d, expected }));
    }
    let by_row = points.is_c_contiguous() && gradients.is_c_contiguous();
    if !by_row || values.shape() != [n] || gradients.shape() != [n, d] {
        return Err(PyValueError::new_err(format!(
            "out must be arrays of shapes ({n},) and ({n}, {d}), row by row"
        )));
    }
    model.check_entry()?;
    let (z, values, gradients) = (points.as_slice()?, values.as_slice_mut()?, gradients.as_slice_mut()?);
    let d = d.max(1);
    let pieces = z.chunks(PIECE * d).zip(values.chunks_mut(PIECE)).zip(gradients.chunks_mut(PIECE * d));
    for ((z, values), gradients) in pieces {
        evaluate(py, model, z, values, gradients)?;
        py.check_signals()?;
    }
    Ok(())
}

/// Number of points between two checks for signals.
const PIECE: usize = 1 << 12;

fn evaluate(
    py: Python<'_>,
    model: &Model,
    z: &[f64],
    values: &mut [f64],
    gradients: &mut [f64],
) -> PyResult<()> {
    let scratch = &mut Scratch::default();
    let outcome = match &*model.kind {
        Kind::Callback(callback) => {
            // An interrupt ends it: a part of the result is not kept.
            let stop = AtomicBool::new(true);
            let session = Session::new(callback, &stop);
            let outcome = session.log_densities(z, values, gradients, scratch);
            session.raised().map_or(Ok(()), Err)?;
            outcome
        }
        Kind::FiniteSum(sum) => {
            let stop = AtomicBool::new(true);
            let target = Summed::new(SumSession::new(sum, &stop)).map_err(raise)?;
            let outcome = target.log_densities(z, values, gradients, scratch);
            target.sum().raised().map_or(Ok(()), Err)?;
            outcome
        }
        Kind::Glm(model) => in_place(py, || model.log_densities(z, values, gradients, scratch))?,
        Kind::UnknownNoise(open) => {
            open.needs_known_noise("log_density").map_err(refuse)?;
            in_place(py, || open.glm.log_densities(z, values, gradients, scratch))?
        }
        Kind::Native(native) => in_place(py, || native.log_densities(z, values, gradients, scratch))?,
        Kind::Compiled(library) => in_place(py, || library.log_densities(z, values, gradients, scratch))?,
    };
    outcome.map_err(raise)
}

/// Work on a target with its names and its declared curvature; it can be interrupted.
pub(crate) fn under_watch<T: Send + 'static>(
    py: Python<'_>,
    model: &Model,
    (threads, device): (Option<u32>, Option<DeviceName>),
    observer: Option<Py<PyAny>>,
    work: impl FnOnce(Problem<'_>, &mut Watch<'_>) -> provi_analysis::Result<T> + Send + 'static,
) -> PyResult<T> {
    model.check_entry()?;
    check_threads(threads)?;
    device::is_there(device.unwrap_or_default()).map_err(refuse)?;
    let (shared, mut viewer) = (Arc::new(Shared::default()), Viewer::new(observer));
    let (names, curvature, about) = (model.names.clone(), model.curvature.clone(), model.about.clone());
    if let Kind::Callback(_) | Kind::FiniteSum(_) = &*model.kind {
        let mut raised = None;
        let (viewer, shared, kind) = (&mut viewer, &*shared, &*model.kind);
        let raised_here = &mut raised;
        let (outcome, in_callback) = in_place(py, move || {
            let run = |target: &dyn Target| {
                let target = declared(target, names, curvature)?;
                let lookout = RefCell::new(Lookout::new(shared, viewer, raised_here));
                let mut observer = |at: &Snapshot| lookout.borrow_mut().see(at);
                let mut audit = |_, _| lookout.borrow_mut().look();
                let mut watch = Watch {
                    observer: Some(&mut observer),
                    audit: Some(&mut audit),
                    stop: Some(&shared.stop),
                    ..Watch::default()
                };
                work(Problem::black_box(Evaluator::Serial(&target), about), &mut watch)
            };
            match kind {
                Kind::FiniteSum(sum) => match Summed::new(SumSession::new(sum, &shared.stop)) {
                    Ok(target) => (run(&target), target.sum().raised()),
                    Err(error) => (Err(error.into()), None),
                },
                Kind::Callback(callback) => {
                    let session = Session::new(callback, &shared.stop);
                    (run(&session), session.raised())
                }
                _ => unreachable!("others run on a thread"),
            }
        })?;
        // If an exception of the function ended the run, the user wants to see that exception.
        let ended = |error: &PyErr| outcome.is_err() || error.is_instance_of::<PyKeyboardInterrupt>(py);
        return match in_callback.filter(ended).or(raised) {
            Some(error) => Err(error),
            None => outcome.map_err(refuse),
        };
    }
    let (kind, its) = (Arc::clone(&model.kind), Arc::clone(&shared));
    let outcome = on_a_thread(py, &shared, &mut viewer, move || {
        with_threads(threads, || {
            let mut observer = |at: &Snapshot| {
                *its.at.lock().unwrap_or_else(PoisonError::into_inner) = Some(*at);
                ControlFlow::Continue(())
            };
            let mut watch =
                Watch { observer: Some(&mut observer), stop: Some(&its.stop), ..Watch::default() };
            match &*kind {
                Kind::Glm(model) => {
                    let model = device::beside(model, device)?;
                    work(Problem::matrices(&model, about), &mut watch)
                }
                Kind::UnknownNoise(model) => {
                    let glm = device::beside(&model.glm, device)?.into_owned();
                    work(
                        Problem::unknown_noise(&UnknownNoise { glm, ..(**model).clone() }, about),
                        &mut watch,
                    )
                }
                Kind::Native(native) => {
                    let target = declared(native, names, curvature)?;
                    let target = match native.is_thread_safe() {
                        true => Evaluator::Parallel(&target),
                        false => Evaluator::Serial(&target),
                    };
                    work(Problem::black_box(target, about), &mut watch)
                }
                Kind::Compiled(library) => work(Problem::compiled(library), &mut watch),
                Kind::Callback(_) | Kind::FiniteSum(_) => {
                    unreachable!("a Python function is called in place")
                }
            }
        })
    })?;
    outcome?.map_err(refuse)
}

fn declared<T: Target>(
    target: T,
    names: Option<Vec<String>>,
    curvature: Option<Curvature>,
) -> provi::Result<Declared<T>> {
    let mut target = Declared::new(target);
    if let Some(names) = names {
        target = target.with_names(names)?;
    }
    if let Some(curvature) = curvature {
        target = target.with_curvature(curvature)?;
    }
    Ok(target)
}

/// The most threads that are started: more than any machine can use, and few enough to start.
const MOST_THREADS: u32 = 1024;

fn check_threads(threads: Option<u32>) -> PyResult<()> {
    match threads.filter(|threads| !(1..=MOST_THREADS).contains(threads)) {
        None => Ok(()),
        Some(threads) => {
            let message = format!("threads = {threads}; must be between 1 and {MOST_THREADS}");
            Err(PyValueError::new_err(message))
        }
    }
}

/// Runs the work on this many threads, or on those of the process.
pub(crate) fn with_threads<T: Send>(threads: Option<u32>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    check_threads(threads)?;
    match threads {
        None => Ok(work()),
        Some(threads) => {
            // Fewer if more would be of no use: the answer is the same.
            let (threads, _) = provi_analysis::threads::sensible(threads as usize);
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            Ok(pool.map_err(|error| PyValueError::new_err(error.to_string()))?.install(work))
        }
    }
}
