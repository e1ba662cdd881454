//! Studies around the theory: the cost as d and κ grow, and why steps need a prox or a projection.

mod rivals;
mod scale;
mod unguarded;

pub(crate) use scale::scale;
pub(crate) use unguarded::why_steps;
