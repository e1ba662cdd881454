//! provi's passes over rows on a CUDA card, in 64 bits throughout.
//!
//! A card is optional at run time: nothing of CUDA is needed to build, the driver's library is looked for when a card is
//! asked for, and a machine without one gets an [`Error`] that says so ([`cards`]). With one, rows stay on it
//! ([`CardRows`]), and it takes
//!
//! - the energies Σ_n w_n φ(x_nᵀz_k + o_n) of a block of draws, φ fused into the product, so that predictors never leave
//!   the registers, and their gradients;
//! - exact expectations under a Gaussian, with the Hessian;
//! - weighted quadratic, cubic and quartic forms of the rows, in the coordinates where a Gaussian is standard;
//! - draws, with the bits of [`provi_kernels::normals`].
//!
//! **Bits.** Every sum has one order, which the shape of the problem decides ([`Shape`]): no atomics, nothing that
//! depends on the card. The same call gives the same bits from run to run. Each kernel has a twin on the processor
//! ([`twin`]) with the same operations in the same order.
//!
//! **In a fit.** A [`Card`] is a [`provi::device::Device`]: handed to a model, it takes the log densities of large blocks of draws. [`Twins`] does
//! the same on a machine without a card, for tests.
//!
//! **Rounding.** [`rounding`] states how far a card's energies can be from the exact sums.
//!
//! ```
//! use provi_gpu::{Card, CardRows, Family, Table};
//!
//! let (design, response) = ([1.0, 0.5, 1.0, -1.5], [1.0, 0.0]);
//! let table = Table {
//!     family: Family::Logistic,
//!     columns: 2,
//!     design: &design,
//!     response: &response,
//!     weights: None,
//!     offsets: None,
//! };
//! let points = [0.3, -0.2, 0.0, 0.0];
//! let energies = match Card::open(0) {
//!     Ok(card) => CardRows::new(&card, &table)?.energies(&card.points(&points, 2)?)?,
//!     Err(reason) => {
//!         println!("{reason}");
//!         provi_gpu::twin::energies(&table, &points)?
//!     }
//! };
//! assert!((energies[1] - 2.0 * std::f64::consts::LN_2).abs() < 1e-15);
//! # Ok::<(), provi_gpu::Error>(())
//! ```

#![deny(unsafe_code)]

mod card;
mod device;
#[allow(unsafe_code, reason = "calls the driver's C functions")]
mod driver;
mod error;
mod family;
mod modules;
mod rows;
mod shape;
mod table;

pub mod rounding;
pub mod twin;

pub use card::{Card, Description, Points, cards, survey};
pub use device::Twins;
pub use error::{Error, Result};
pub use family::Family;
pub use rows::CardRows;
pub use shape::{Shape, TILE_DRAWS, TILE_ROWS};
pub use table::{FormWeights, Forms, Header, Moments, Normal, Rule, Table};
