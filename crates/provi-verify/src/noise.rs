//! The noise of the estimators, measured along paths from far away to w* and compared with its bounds.

mod batches;
mod controlled;
mod coupled;
mod path;
mod residual;
mod score;
mod single;
mod subsample;

pub(crate) use batches::{batch, centred};
pub(crate) use controlled::controlled;
pub(crate) use coupled::coupled;
pub(crate) use path::Noise;
pub(crate) use residual::{floor, smoothness};
pub(crate) use score::trade_places;
pub(crate) use single::{energy, entropy, stl};
pub(crate) use subsample::subsample;
