//! Targets from compiled libraries: Stan models, and densities of any language that can export C functions.
//!
//! | | what it is |
//! |---|---|
//! | [`StanModel`] | a model that BridgeStan compiled, any version 2 |
//! | [`NativeModel`] | a density behind the functions of `include/provi.h` |
//! | [`Density`] | one C function, and whether threads may call it at the same time |
//! | [`Posterior`] | means, deviations and intervals on the constrained scale, by draws |
//! | [`compile`](mod@compile) | compiles a `.stan` file to such a library, if BridgeStan is installed |
//! | [`children`] | the programs that the last and the next start, and how they are ended |
//! | [`probe`] | the first call made in another process, so that a library which crashes is reported and not fatal |
//!
//! A library is code of its owner, and opening it runs that code. Provi checks what can be checked (the version,
//! every symbol that is called, sizes, strings); for the rest it relies on the owner.
//!
//! ```no_run
//! use provi::{Auto, Seed};
//! use provi_ffi::{Include, StanModel};
//!
//! let data = std::fs::read_to_string("data.json")?;
//! let model = StanModel::open("model_model.so".as_ref(), Some(&data), 1)?;
//! let answer = Auto::default().run(&model, Seed(1))?;
//! let draws = answer.fit.gaussian.sample(1000, Seed(1));
//! let table = model.constrain(&draws, Include::default(), 1)?;
//! println!("{:?}: {:?}", model.constrained_names(Include::default())?, table.row(0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The space
//!
//! Stan works with unconstrained parameters: a positive σ is exp of a free number, a simplex has one number less
//! than entries, and the density includes the Jacobian of the map. The target is that density, with every constant;
//! the Gaussian, the ELBO and any certificate are about the unconstrained space. [`StanModel::constrain`] maps
//! draws back.
//!
//! # Threads
//!
//! A library built with `STAN_THREADS=true`, or whose `provi_thread_safe` returns 1, is called from all threads;
//! any other library by one thread at a time ([`Gate`]), and not again from inside one of its calls. The numbers
//! are the same.

pub mod children;
pub mod compile;
mod density;
mod error;
mod gate;
mod handle;
mod library;
mod native;
mod posterior;
pub mod probe;
mod stan;

pub use density::{Density, Function};
pub use error::{Error, Result};
pub use gate::{Gate, Turn};
pub use native::NativeModel;
pub use posterior::Posterior;
pub use stan::{Include, StanModel};
