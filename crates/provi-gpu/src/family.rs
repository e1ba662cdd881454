//! What a row adds to −log p, as a function of its predictor.

use crate::error::{Error, Result};

/// The families of `provi_kernels::loss`, with the same φ.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Family {
    /// φ(s) = log(1 + eᵗ), t = (1 − 2y)s, for y of 0 or 1.
    Logistic,
    /// φ(s) = log(1 + eˢ) − ys, for a share y of successes.
    Binomial,
    /// φ(s) = −log Φ((2y − 1)s), for y of 0 or 1.
    Probit,
    /// φ(s) = eˢ − ys.
    Poisson,
    /// φ(s) = α(s + ye⁻ˢ).
    Gamma {
        /// α, positive.
        shape: f64,
    },
    /// φ(s) = −y log(1 − e^{−r}) + (1 − y)r, r = eˢ, for a share y of successes.
    Cloglog,
    /// φ(s) = ½θ(s − y)².
    Gaussian {
        /// θ, positive.
        precision: f64,
    },
}

/// The kernels of a family: rows of weight one have their own for the logistic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Logistic,
    LogisticWeighted,
    Binomial,
    Probit,
    Poisson,
    Gamma,
    Cloglog,
    Gaussian,
}

impl Family {
    pub(crate) fn kind(self, weighted: bool) -> Kind {
        match self {
            Family::Logistic if weighted => Kind::LogisticWeighted,
            Family::Logistic => Kind::Logistic,
            Family::Binomial => Kind::Binomial,
            Family::Probit => Kind::Probit,
            Family::Poisson => Kind::Poisson,
            Family::Gamma { .. } => Kind::Gamma,
            Family::Cloglog => Kind::Cloglog,
            Family::Gaussian { .. } => Kind::Gaussian,
        }
    }

    /// α or θ; zero where there is none.
    pub(crate) fn parameter(self) -> f64 {
        match self {
            Family::Gamma { shape } => shape,
            Family::Gaussian { precision } => precision,
            _ => 0.0,
        }
    }

    /// The response as the kernels want it: the sign of a binary one, αy of a gamma one.
    pub(crate) fn code(self, y: f64) -> f64 {
        match self {
            Family::Logistic => 1.0 - 2.0 * y,
            Family::Probit => 2.0 * y - 1.0,
            Family::Gamma { shape } => shape * y,
            _ => y,
        }
    }

    pub(crate) fn check(self, response: &[f64]) -> Result<()> {
        let refuse =
            |what, value: f64, needed| Err(Error::OutOfRange { what, value: format!("{value}"), needed });
        let parameter = self.parameter();
        if matches!(self, Family::Gamma { .. } | Family::Gaussian { .. })
            && !(parameter > 0.0 && parameter.is_finite())
        {
            return refuse("parameter of the family", parameter, "a positive number");
        }
        let (needed, allowed): (_, fn(f64) -> bool) = match self {
            Family::Logistic | Family::Probit => {
                ("0 or 1", |y| y.to_bits() == 0 || y.to_bits() == 1f64.to_bits())
            }
            Family::Binomial | Family::Cloglog => ("a share from 0 to 1", |y| (0.0..=1.0).contains(&y)),
            Family::Poisson | Family::Gamma { .. } => {
                ("a finite number of at least 0", |y| y >= 0.0 && y.is_finite())
            }
            Family::Gaussian { .. } => ("a finite number", f64::is_finite),
        };
        match response.iter().find(|&&y| !allowed(y)) {
            Some(&y) => refuse("response", y, needed),
            None => Ok(()),
        }
    }
}

impl Kind {
    /// All of them, in the order of the numbers in `functions.cuh`.
    #[cfg(test)]
    pub(crate) const ALL: [Kind; 8] = [
        Kind::Logistic,
        Kind::LogisticWeighted,
        Kind::Binomial,
        Kind::Probit,
        Kind::Poisson,
        Kind::Gamma,
        Kind::Cloglog,
        Kind::Gaussian,
    ];

    /// The offset, the code and the weight of a row that only fills up a tile: its entries are zero, and it adds
    /// exactly zero to every sum.
    ///
    /// The others have weight zero. The logistic kernel knows no weights: there t = −10⁶, and 1 + e^(−708) is 1.
    pub(crate) fn filler(self) -> [f64; 3] {
        match self {
            Kind::Logistic => [1e6, -1.0, 0.0],
            Kind::Probit | Kind::LogisticWeighted => [0.0, 1.0, 0.0],
            _ => [0.0; 3],
        }
    }
}
