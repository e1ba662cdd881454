//! What a certificate says about an answer, as a witness.

use super::limits::{GOOD_KL, PROVED_MEAN, PROVED_SD};
use crate::base::gaussian::{Gaussian, Triangular};
use crate::certify::certificate::Certificate;

/// Proved bounds, for a target that declares its curvature. They hold if what it declares does.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Proof {
    /// A bound of KL(q‖p) over the whole space, in nats.
    pub kl: Option<f64>,
    /// A bound of the largest error of a mean, in standard deviations of the posterior.
    pub mean_error: Option<f64>,
    /// A bound of the largest |sd of q/sd of the posterior − 1|.
    pub sd_error: Option<f64>,
}

impl Proof {
    /// What is proved; `None` if nothing is.
    pub fn of(certificate: &Certificate, q: &Gaussian<Triangular>) -> Option<Self> {
        let sds = q.standard_deviations();
        let (mut mean_error, mut sd_error) = (Some(0.0f64), Some(0.0f64));
        for (moment, sd) in certificate.moments.iter().zip(&sds) {
            // The posterior's own sd is at least this.
            let least = moment.sd_error.bound().map(|error| sd - error).filter(|least| *least > 0.0);
            let of = |bound: Option<f64>| Some(bound? / least?);
            mean_error = mean_error.zip(of(moment.mean_error.bound())).map(|(a, b)| a.max(b));
            sd_error = sd_error.zip(of(moment.sd_error.bound())).map(|(a, b)| a.max(b));
        }
        let none = certificate.moments.len() != sds.len();
        let (mean_error, sd_error) = if none { (None, None) } else { (mean_error, sd_error) };
        let found = Self { kl: certificate.kl.bound(), mean_error, sd_error };
        (found.kl.is_some() || found.mean_error.is_some()).then_some(found)
    }

    /// Whether every mean and standard deviation is proved to be as near as "good" says.
    pub fn is_enough(&self) -> bool {
        self.mean_error.is_some_and(|x| x <= PROVED_MEAN) && self.sd_error.is_some_and(|x| x <= PROVED_SD)
    }

    /// Whether the KL is proved to be as small as "good" wants it: then q misses no part of the posterior that matters.
    pub fn bounds_kl(&self) -> bool {
        self.kl.is_some_and(|x| x <= GOOD_KL)
    }

    /// The proved bounds in words.
    pub(super) fn words(&self) -> String {
        match (self.mean_error, self.sd_error, self.kl) {
            (Some(mean), Some(sd), _) if self.is_enough() => format!(
                "it is proved that every mean is within {} sd and every sd within {} %",
                up(mean, 1e-3),
                up(100.0 * sd, 0.1)
            ),
            (.., Some(kl)) => format!("it is proved that the KL is at most {} nats", up(kl, 1e-3)),
            _ => String::new(),
        }
    }
}

/// A multiple of `unit` that is not below x: a bound is never rounded down.
fn up(x: f64, unit: f64) -> String {
    let decimals = (-unit.log10()).round().max(0.0) as usize;
    format!("{:.decimals$}", (x / unit).ceil() * unit)
}
