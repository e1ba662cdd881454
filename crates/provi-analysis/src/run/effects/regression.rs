//! Effects of families beyond one log-concave function of one linear predictor.
//!
//! A mean response depends on parameters that were drawn too, or on several predictors: there is no integral of one dimension, and no theorem
//! bounds the error of an average over draws. What is linear in the coordinates keeps what is proved about it.

use provi::Design;
use provi::regression::NewRows as Rows;
use provi::stop;
use provi::target::{Family, Likelihood};
use provi_table::{DesignRows, NewRows};

use super::answer::Answer;
use super::asked::{Compare, EffectScale, EffectsAsked};
use super::average::{self, Found};
use super::layout::{Arms, Cell};
use crate::error::Result;
use crate::model::design;

/// The family without the further parameters, whose link it has; of levels, that of two of them.
pub(super) fn alike(likelihood: Likelihood) -> Family {
    match likelihood {
        Likelihood::BetaBinomial => Family::Binomial,
        Likelihood::ZeroInflatedPoisson => Family::Poisson,
        Likelihood::Multinomial { .. } => Family::Bernoulli,
        _ => Family::Gaussian { noise_sd: 1.0 },
    }
}

/// The effects of each cell, for one outcome after the other: the levels of a response that has levels. On the link scale the first level has
/// none, for it is what the others are compared with.
pub(super) fn measure(
    answer: &Answer<'_>,
    likelihood: Likelihood,
    arms: &Arms,
    cells: &[Cell],
    asked: &EffectsAsked,
) -> Result<Vec<(usize, Vec<Found>)>> {
    let is_linear = asked.scale == EffectScale::Link || matches!(likelihood, Likelihood::Student { .. });
    if is_linear {
        let columns = match arms {
            Arms::One(rows) | Arms::Slope(rows, _) | Arms::Two([rows, _]) => rows.design.columns,
        };
        let of = |predictor: usize| -> Result<(usize, Vec<Found>)> {
            let found = cells.iter().map(|cell| average::functional(answer, arms, cell, predictor * columns));
            let outcome = predictor + likelihood.outcomes() - likelihood.predictors();
            Ok((outcome, found.collect::<Result<_>>()?))
        };
        return (0..likelihood.predictors()).map(of).collect();
    }
    if likelihood.outcomes() == 1
        && let Some(found) = average::exponential(answer, arms, cells, asked)?
    {
        return Ok(vec![(0, found)]);
    }
    let alone = cells.iter().all(|cell| cell.rows.len() == 1);
    if let (Likelihood::BetaBinomial, Arms::One(rows), true) = (likelihood, arms, alone) {
        // A monotone function of one predictor: an integral and quantiles, as `provi predict` has them.
        let all = answer.means_of(likelihood, rows)?;
        let of = |cell: &Cell| {
            let [estimate, low, high] = all[cell.rows[0]];
            Found { estimate, low, high, error: None, drawn: false }
        };
        return Ok(vec![(0, cells.iter().map(of).collect())]);
    }
    by_draws(answer, likelihood, arms, cells, asked)
}

/// Rows of which means or slopes are taken.
struct Taken {
    design: Design,
    offsets: Option<Vec<f64>>,
}

impl Taken {
    fn of(rows: &DesignRows, offsets: Option<&[f64]>) -> Result<Self> {
        Ok(Self { design: design(rows)?, offsets: offsets.map(<[f64]>::to_vec) })
    }

    fn rows(&self) -> Rows<'_> {
        Rows { design: &self.design, offsets: self.offsets.as_deref(), trials: None }
    }
}

/// Estimates and intervals by draws.
fn by_draws(
    answer: &Answer<'_>,
    likelihood: Likelihood,
    arms: &Arms,
    cells: &[Cell],
    asked: &EffectsAsked,
) -> Result<Vec<(usize, Vec<Found>)>> {
    let taken = |rows: &NewRows| Taken::of(&rows.design, rows.offsets.as_deref());
    // What is averaged, and with what it is compared.
    let (first, rates, second) = match arms {
        Arms::One(rows) => (taken(rows)?, None, None),
        Arms::Two([reference, compared]) => (taken(compared)?, None, Some(taken(reference)?)),
        Arms::Slope(rows, slopes) => {
            (taken(rows)?, Some(Taken::of(&slopes.design, slopes.offsets.as_deref())?), None)
        }
    };
    let (points, outcomes) = (answer.draws()?, likelihood.outcomes());
    let mut values = vec![vec![Vec::with_capacity(points.rows()); cells.len()]; outcomes];
    for k in 0..points.rows() {
        stop::check()?;
        let z = points.row(k);
        let own = match &rates {
            None => first.rows().means_at(likelihood, z)?,
            Some(rates) => first.rows().slopes_at(likelihood, &rates.rows(), z)?,
        };
        let other = second.as_ref().map(|second| second.rows().means_at(likelihood, z)).transpose()?;
        for (i, cell) in cells.iter().enumerate() {
            for (outcome, values) in values.iter_mut().enumerate() {
                let mean = |of: &provi::Matrix| {
                    cell.rows.iter().map(|row| of.row(*row)[outcome]).sum::<f64>()
                        / cell.rows.len().max(1) as f64
                };
                values[i].push(average::compared(asked.compare, mean(&own), other.as_ref().map(mean)));
            }
        }
    }
    let found = |(outcome, of): (usize, Vec<Vec<f64>>)| {
        let one = |all: Vec<f64>| average::summary(all, asked, asked.compare == Compare::Difference);
        (outcome, of.into_iter().map(one).collect())
    };
    Ok(values.into_iter().enumerate().map(found).collect())
}
