//! How noisy the estimators are, measured against their bounds along paths from far away to w*.

mod batches;
mod path;
mod residual;
mod score;
mod single;
mod subsample;

pub(crate) use batches::{batch, centred};
pub(crate) use residual::{floor, smoothness};
pub(crate) use score::trade_places;
pub(crate) use single::{energy, entropy, stl};
pub(crate) use subsample::subsample;
