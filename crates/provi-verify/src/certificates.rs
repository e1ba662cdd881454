//! Certified bounds compared with the truth.
//!
//! In one dimension every number is an integral, so only the theorem is tested. In more dimensions, posteriors that
//! factorise after a hidden rotation are audited from draws, as users' answers are.

mod audits;
mod confidence;
mod consequences;
mod draws;
mod events;
mod every;
mod global;
mod grid;
mod groups;
mod line;
mod local;
mod marginal;
mod posterior;
mod practice;
mod psi;
mod scales;
mod sharp;

pub(crate) use confidence::confidence;
pub(crate) use consequences::{event, evidence_difference};
pub(crate) use draws::exact_draws;
pub(crate) use events::events;
pub(crate) use every::every;
pub(crate) use global::{evidence, gap, kl, moments, transport};
pub(crate) use grid::coverage;
pub(crate) use groups::{evidence as group_evidence, kl as group_kl, moments as group_moments};
pub(crate) use local::{ball, local_evidence, local_kl, local_moments, local_tv};
pub(crate) use marginal::{
    evidence as marginal_evidence, kl as marginal_kl, moments as marginal_moments,
    quadrature as marginal_quadrature,
};
pub(crate) use practice::{auto, estimate};
pub(crate) use psi::{
    envelope as psi_envelope, evidence as psi_evidence, kl as psi_kl, moments as psi_moments,
};
pub(crate) use scales::scale_mixture;
pub(crate) use sharp::{betting, evidence as sharp_evidence, kl as sharp_kl, moments as sharp_moments};
