//! The speed of convergence, measured over many seeds and compared with the recursion and the closed forms.

mod adaptive;
mod convex;
mod far;
mod optimal;
mod recursion;
mod setting;
mod strong;
mod toy;

pub(crate) use adaptive::{dowg, proj_adaptive};
pub(crate) use convex::{proj_convex, prox_convex};
pub(crate) use optimal::schedule_optimal;
pub(crate) use recursion::recursion;
pub(crate) use setting::Setting;
pub(crate) use strong::{proj_anytime, proj_strong, prox_anytime, prox_log, prox_strong, stl_gaussian};
