//! Gaussian variational inference with proved convergence and certified answers.
//!
//! # The problem
//!
//! A posterior is known through log p(z, x) and its gradient, z ∈ ℝᵈ. Among all Gaussians q = N(m, CCᵀ), find the one
//! closest to it. With V = −log p and w = (m, C), that is to minimise the negative ELBO
//! ```text
//! f(w) = l(w) + h(w),   l(w) = E V(Cu + m), u ~ N(0, I),   h(w) = E log q = −log det C − (d/2)(1 + log 2π)
//! KL(q ‖ posterior) = f(w) + log p(x)
//! ```
//! by stochastic gradients: draw u, transport it, pull the gradient back. Where the curvature of V is bounded,
//! 0 ⪯ H_lo ⪯ ∇²V ⪯ H_hi, three gradient estimators and two kinds of step have noise bounds and rates
//! (Domke, Garrigos, Gower: *Provable convergence guarantees for black-box variational inference*). This library
//! computes with them: a [`Plan`] knows its number of steps, its step sizes and a bound on the distance to the
//! optimum before the first draw is made; a [`Certificate`] proves afterwards how good an answer is, however it was
//! found. Both say on what grounds.
//!
//! # Twenty lines
//!
//! ```
//! use provi::target::{Closure, Glm, Prior};
//! use provi::{Auto, Design, Method, Planner, Seed};
//!
//! // A model: rows, responses and a prior. It proves bounds on its own curvature.
//! let design = Design::dense(4, 2, &[1.0, 0.5, 1.0, -1.5, 1.0, 2.0, 1.0, 0.1])?;
//! let model = Glm::logistic(design, &[1.0, 0.0, 1.0, 0.0], Prior::scale(1.0)?)?;
//! let answer = Auto::default().run(&model, Seed(7))?; // the best Gaussian,
//! println!("{answer}"); //                               and what is proved about it
//! assert!(answer.certificate().proves_gap(1e-9));
//! println!("{}", answer.functional(&[1.0, 2.0])?); //    any linear combination, with its errors
//!
//! // The paper's way: a bound promised before any draw, and steps that reach it.
//! let plan = Planner::new(Method::ProxEnergy).to_distance(&model, 0.05)?;
//! println!("{plan}");
//! let fit = plan.run(&model, Seed(7))?; //               the same bits on any number of threads
//! assert!(plan.promise.value.unwrap() <= 0.05 && fit.steps == plan.steps);
//!
//! // Your own density: its logarithm and gradient. Nothing is known about it, so nothing is proved.
//! let own = Closure::new(1, |z: &[f64], gradient: &mut [f64]| {
//!     gradient[0] = -z[0].powi(3);
//!     -0.25 * z[0].powi(4)
//! })?;
//! println!("{}", Auto::default().run(&own, Seed(7))?);
//! # Ok::<(), provi::Error>(())
//! ```
//!
//! Every `run` accepts `&model` ([`target::Evaluator`]). `run_with` does the same and takes a [`fit::Watch`]
//! besides, which reports progress and can stop or resume the run. A target that wraps another one forwards the
//! calls with [`forward_target!`].
//!
//! # The map
//!
//! ```text
//! Target ──► Estimator ──► Step ──► Average ──► Fit ──► Audit ──► Certificate   vectors
//!   │ M, μ, d    ▲ u_{t,k}   ▲ γ_t                       ▲ fresh draws
//!   └──► curvature ──► noise (a, b) ──► rate ──► Plan                            numbers
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`target`] | what is approximated: the trait [`Target`], linear-predictor models, hierarchies, closures |
//! | [`autodiff`] | gradients of plain Rust functions |
//! | [`curvature`] | H_lo, H_hi, and where each came from |
//! | [`gaussian`] | q = N(m, CCᵀ), with a triangular or symmetric factor |
//! | [`pattern`] | families of q: mean field, blocks, arrows, bands |
//! | [`base_law`], [`location_scale`] | the law of u in z = m + Cu: normal, Student's t, Laplace, logistic, uniform; its family of q |
//! | [`design`], [`matrix`] | data matrices, dense or sparse; small dense matrices |
//! | [`draws`] | u_{t,k} as a pure function of seed, purpose, step and draw |
//! | [`theory`] | noise bounds, the recursion, closed-form rates: numbers in, numbers out |
//! | [`schedule`], [`average`] | γ_t and how iterates are averaged, each with the theorem it rests on |
//! | [`expectation`] | E_q of V, ∇V, ∇²V by one-dimensional integrals, with error bounds |
//! | [`mode`] | the search for the mode, where runs start |
//! | [`subsample`] | which terms of a finite sum each draw evaluates |
//! | [`estimator`], [`step`] | unbiased gradients; the prox and the projections |
//! | [`method`] | the pairings that have a theorem, in one table |
//! | [`walk`] | unproven recipes on (m, Σ): natural gradients, Bures–Wasserstein steps, batch and match |
//! | [`plan`], [`fit`] | steps, step sizes and a promise before any draw; the run and its answer |
//! | [`checkpoint`] | a run saved, and resumed later with the same bits |
//! | [`auto`] | the default algorithm: [`solve`] on exact expectations, [`ascent`] on draws, then an audit |
//! | [`boosting`], [`mixture`] | mixtures of Gaussians for densities that are not log-concave, an unproven recipe |
//! | [`audit`], [`certificate`] | fresh draws at an answer, and what they prove about it |
//! | [`functional`] | any linear combination of the coordinates: value, error, interval, sign |
//! | [`evidence`] | comparing two models by bounds on their log evidence |
//! | [`scales`] | prior deviations and noise: those that maximise the ELBO, or integrated out under a prior |
//! | [`predict`] | responses at new rows: mean, interval, draws |
//! | [`regression`] | regressions beyond one log-concave function of one predictor: Student noise, levels without an order, more variable counts |
//! | [`sparse`] | models with many group effects: q by the sparse factor of its precision |
//! | [`standard`] | coordinates that do not depend on units: columns centred and scaled, and the way back |
//! | [`stream`] | models whose rows are read in blocks, by one process or several |
//! | [`device`] | another processor, such as a card, that takes log densities of many draws |
//! | [`checks`], [`separation`] | checks of the model against its data; separated data, which only the prior bounds |
//! | [`robust`] | the spread of an estimate if the model may be wrong: sandwich, bootstrap |
//! | [`loo`] | leave-one-out cross-validation: by refits with proved bounds, or by importance ratios; WAIC |
//! | [`exact_draws`] | independent draws of the posterior itself, by rejection |
//! | [`estimate`] | importance sampling and Pareto k̂, estimates without proof |
//! | [`trust`] | how far to trust an answer about which nothing is proved: several witnesses, one verdict |
//! | [`memory`] | how much memory a run needs, computed before anything large is allocated |
//! | [`watchdog`] | compares declared gradients and curvature with what a run evaluates |
//! | [`optimize`] | the same algorithms for any composite problem, no inference needed |
//! | [`error`], [`scalar`] | the errors, and numbers checked when they are constructed |
//!
//! Keys in brackets, such as \[recursion\], name entries of the ledger `docs/theory.md`: the statement, the form used
//! here, its proof and the tests that guard it.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `parallel` (default) | draws evaluated on all threads, with the same bits as on one |
//! | `autodiff` (default) | gradients of plain Rust functions, [`autodiff`]; no further crate |
//! | `serde` | schedules, averages, families, certificates, estimates and snapshots to and from data; constants and promises to data |
//! | `ndarray` | a [`Design`] from an `ndarray` view |
//!
//! Features are additive, and none changes a number.
#![forbid(unsafe_code)]

// The rooms. Each room may import only from the rooms before it; `cargo xtask rooms` holds the order and checks it.
pub mod auto;
mod base;
mod certify;
mod glm;
#[cfg(doctest)]
mod guide;
mod sgd;
pub mod target;
pub mod theory;
mod watch;

// The public modules, by the room they live in.
#[doc(inline)]
pub use auto::{ascent, boosting, loo, robust, scales, solve};
pub use base::{
    base_law, coupling, draws, error, gaussian, location_scale, matrix, mixture, pattern, printed, scalar,
    stop,
};
pub use certify::{audit, certificate, estimate, evidence, exact_draws, functional, trust};
pub use glm::{checks, design, device, expectation, predict, regression, separation, sparse, stream};
pub use sgd::{average, estimator, fit, memory, method, optimize, plan, step, subsample, walk};
#[cfg(feature = "autodiff")]
#[doc(inline)]
pub use target::autodiff;
#[doc(inline)]
pub use target::{curvature, mode, standard, watchdog};
#[doc(inline)]
pub use theory::schedule;
pub use watch::checkpoint;

pub use auto::Auto;
pub use base::base_law::BaseLaw;
pub use base::draws::Seed;
pub use base::error::{Error, Result};
pub use base::gaussian::{Gaussian, Symmetric, Triangular};
pub use base::location_scale::LocationScale;
pub use base::matrix::Matrix;
pub use base::pattern::Pattern;
pub use certify::audit::Audit;
pub use certify::certificate::Certificate;
pub use glm::design::Design;
pub use sgd::average::Average;
pub use sgd::fit::{Fit, LocationScaleFit};
pub use sgd::method::Method;
pub use sgd::plan::{Plan, Planner};
pub use target::Target;
pub use target::curvature::{Curvature, Provenance, Quadratic};
pub use theory::schedule::Schedule;
