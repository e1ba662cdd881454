//! One test per ledger key: the listing is the table of contents of docs/theory.md, §2–§6.
//!
//! Exact before statistical: Gaussian targets have closed forms, small dimensions have cubature. What is sampled
//! has a fixed seed, a stated level and a planted bug that the same check must reject.

mod curvature;
mod draws;
mod estimators;
mod noise;
mod rates;
mod steps;
mod whitening;
