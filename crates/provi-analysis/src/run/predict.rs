//! Predictions of a fit at new rows.

use std::ops::Range;

use provi::audit::Question;
use provi::predict::{
    Observation, Prediction, Rows, categories, observations, observations_mixture, predict, predict_mixture,
    predictors_at, responses_at, survival,
};
use provi::scales::ScaleMixture;
use provi::sparse::{AnyGaussian, NormalLaw};
use provi::target::Family;
use provi::theory::bounded::Law;
use provi::{Design, Matrix, Seed};
use provi_table::{Dropped, Missing, NewLevel, NewLevels, NewRows, Recipe, Table};

use crate::capacity::refuse_beyond;
use crate::error::{BadRegression, Error, Result};
use crate::model::{self, Origin, Scale};
use crate::options::FamilyName;
use crate::record::fit_file::FitFile;
use crate::record::scale::family_with;
use crate::run::fitted::Fitted;

/// Numbers held at once when draws are made part by part.
const PART: usize = 1 << 20;

/// The most rows that an audit is asked about: each costs a product of d numbers a draw.
pub const MOST_ASKED: usize = 2000;

/// New rows in the design of a fit.
#[derive(Debug)]
pub struct NewData<'f> {
    fit: &'f Fitted,
    /// The family of the fit.
    pub family: Family,
    design: Design,
    offsets: Option<Vec<f64>>,
    trials: Option<Vec<f64>>,
    /// Rows of groups that the fit has not seen: the row, the place of its first scale among those of the groups, and the values that vary.
    unseen: Vec<(usize, usize, Vec<f64>)>,
    /// The line of each row, from 1.
    pub lines: Vec<usize>,
    /// Rows left out.
    pub dropped: Dropped,
    /// Groups that the fit has not seen.
    pub new_levels: Vec<NewLevel>,
}

impl Fitted {
    /// The rows of a table, coded by the fit's own recipe.
    pub fn new_data(&self, table: &Table, new_levels: NewLevels, missing: Missing) -> Result<NewData<'_>> {
        self.data_of(|recipe| recipe.rows_with(table, new_levels, missing))
    }

    /// The same for [`NewData::responses`]: rows of a binomial model must have their trials.
    pub fn new_data_with_trials(
        &self,
        table: &Table,
        new_levels: NewLevels,
        missing: Missing,
    ) -> Result<NewData<'_>> {
        self.data_of(|recipe| recipe.rows_with_trials(table, new_levels, missing))
    }

    fn data_of(&self, read: impl FnOnce(&Recipe) -> provi_table::Result<NewRows>) -> Result<NewData<'_>> {
        self.needs_formula("no table can be put into it")?;
        let recipe = self.file.model.recipe.as_ref().ok_or(Error::NoRecipe)?;
        let refuse = |error| Error::table(error, &self.file.model.formula);
        self.of_rows(read(recipe).map_err(refuse)?)
    }

    /// Rows that are coded by the fit's own recipe.
    pub(crate) fn of_rows(&self, new: NewRows) -> Result<NewData<'_>> {
        // Scales are ordered group by group and column by column, like the design's blocks.
        let before = |group: usize| new.design.groups[..group].iter().map(|group| group.columns).sum();
        let unseen = new
            .new_levels
            .iter()
            .map(|level| (level.row, before(level.group), level.values.clone()))
            .collect();
        Ok(NewData {
            fit: self,
            family: family(&self.file)?,
            design: model::design(&new.design)?,
            offsets: new.offsets,
            trials: new.trials,
            unseen,
            lines: new.lines,
            dropped: new.dropped,
            new_levels: new.new_levels,
        })
    }

    /// The likelihood of the fit.
    pub fn family(&self) -> Result<Family> {
        family(&self.file)
    }

    /// Rows of a design whose columns are in the order of the coefficients.
    pub fn new_design(&self, design: Design, offsets: Option<Vec<f64>>) -> Result<NewData<'_>> {
        let lines = (1..=design.rows()).collect();
        let (dropped, new_levels) = (Dropped::default(), Vec::new());
        let family = family(&self.file)?;
        let (trials, unseen) = (None, Vec::new());
        Ok(NewData { fit: self, family, design, offsets, trials, unseen, lines, dropped, new_levels })
    }
}

/// The deviations of the effects of groups, and the correlations that are not zero: (place, place, correlation).
struct GroupScales {
    sds: Vec<f64>,
    correlations: Vec<(usize, usize, f64)>,
}

impl NewData<'_> {
    /// The mean response of each row, with its interval of probability `level`.
    pub fn predict(&self, level: f64) -> Result<Vec<Prediction>> {
        let Some(mixture) = &self.fit.mixture else {
            let extra = self.extra_variance(&self.group_sds());
            return Ok(predict(self.family, &self.fit.gaussian, &self.rows(extra.as_deref()), level)?);
        };
        Ok(predict_mixture(&self.of_nodes(mixture, level)?, level)?)
    }

    /// For times to an event: the probability of each row that its event comes after `time`, with its interval.
    pub fn survival(&self, time: f64, level: f64) -> Result<Vec<Prediction>> {
        let parts = match &self.fit.mixture {
            Some(mixture) => self.of_nodes(mixture, level)?,
            None => vec![(1.0, self.family, self.predict(level)?)],
        };
        Ok(survival(&parts, time, level)?)
    }

    /// For an ordered response: the probability of each level at each row, with its interval.
    pub fn categories(&self, level: f64) -> Result<Vec<Vec<Prediction>>> {
        let parts = match &self.fit.mixture {
            Some(mixture) => self.of_nodes(mixture, level)?,
            None => vec![(1.0, self.family, self.predict(level)?)],
        };
        Ok(categories(&parts, level)?)
    }

    /// The predictions at each value of scales that are integrated over, with its weight and family.
    fn of_nodes(&self, mixture: &ScaleMixture, level: f64) -> Result<Vec<(f64, Family, Vec<Prediction>)>> {
        let mut parts = Vec::with_capacity(mixture.nodes.len());
        for node in &mixture.nodes {
            let (groups, family) = self.at(&mixture.scales_at(&node.log_scales));
            let extra = self.extra_variance(&groups);
            let found = predict(family, &node.gaussian, &self.rows(extra.as_deref()), level)?;
            parts.push((node.weight, family, found));
        }
        Ok(parts)
    }

    /// The standard deviation and the interval of a new response at each row. A normal response is one more normal term of the linear
    /// predictor: given the scales, its variance is that of the predictor plus the noise's.
    pub fn observations(&self, level: f64) -> Result<Vec<Observation>> {
        let Some(mixture) = &self.fit.mixture else {
            let extra = self.extra_variance(&self.group_sds());
            return Ok(observations(self.family, &self.fit.gaussian, &self.rows(extra.as_deref()), level)?);
        };
        let Family::Gaussian { .. } = self.family else {
            let parts = self.of_nodes(mixture, level)?;
            let what = || "the interval of a new response".to_owned();
            return observations_mixture(&parts, level)?
                .ok_or_else(|| Error::ScalesIntegrated { what: what() });
        };
        let mut parts = Vec::with_capacity(mixture.nodes.len());
        for node in &mixture.nodes {
            let (groups, family) = self.at(&mixture.scales_at(&node.log_scales));
            let mut extra = self.extra_variance(&groups).unwrap_or_else(|| vec![0.0; self.design.rows()]);
            if let Family::Gaussian { noise_sd } = family {
                extra.iter_mut().for_each(|variance| *variance += noise_sd * noise_sd);
            }
            let found = predict(family, &node.gaussian, &self.rows(Some(&extra)), level)?;
            parts.push((node.weight, family, found));
        }
        let of = |at: &Prediction| Observation { sd: at.predictor_sd, low: at.low, high: at.high };
        Ok(predict_mixture(&parts, level)?.iter().map(of).collect())
    }

    /// Draws of new responses, one per row, with a column for each new row; a pure function of the seed. Those of a
    /// binomial model count the successes among each row's own trials ([`Fitted::new_data_with_trials`]).
    pub fn responses(&self, count: usize, seed: Seed) -> Result<Matrix> {
        let rows = self.design.rows();
        let needed = count as u128 * (16 * rows as u128 + 8 * self.fit.gaussian.dim() as u128);
        refuse_beyond(|| format!("{count} draws for {rows} rows"), needed)?;
        self.responses_part(0..count as u64, seed)
    }

    /// The draws with these numbers from the same list, which can be made part by part.
    pub fn responses_part(&self, which: Range<u64>, seed: Seed) -> Result<Matrix> {
        let Some(mixture) = &self.fit.mixture else {
            return self.responses_at(&self.fit.gaussian.sample_part(which.clone(), seed), which.start, seed);
        };
        self.refuse_without_trials()?;
        let [points, scales] = mixture.sample_part(which.clone(), seed);
        let mut flat = Vec::with_capacity(points.rows() * self.design.rows());
        // Each draw has scales of its own.
        for (k, number) in which.take(points.rows()).enumerate() {
            let (groups, family) = self.at(scales.row(k));
            let extra = self.extra_variance(&groups);
            let one = Matrix::new(1, points.columns(), points.row(k).to_vec())?;
            flat.extend(responses_at(family, &one, &self.rows(extra.as_deref()), number, seed)?);
        }
        Ok(Matrix::new(points.rows(), self.design.rows(), flat)?)
    }

    /// Draws of the linear predictors, one per row, with a column for each new row: those behind [`NewData::responses`] with the same seed.
    pub fn predictors(&self, count: usize, seed: Seed) -> Result<Matrix> {
        let rows = self.design.rows();
        let needed = count as u128 * (16 * rows as u128 + 8 * self.fit.gaussian.dim() as u128);
        refuse_beyond(|| format!("{count} draws for {rows} rows"), needed)?;
        let which = 0..count as u64;
        let Some(mixture) = &self.fit.mixture else {
            let extra = self.extra_variance(&self.group_sds());
            let points = self.fit.gaussian.sample_part(which, seed);
            let flat = predictors_at(&points, &self.rows(extra.as_deref()), 0, seed)?;
            return Ok(Matrix::new(count, rows, flat)?);
        };
        let [points, scales] = mixture.sample_part(which.clone(), seed);
        let mut flat = Vec::with_capacity(count * rows);
        for (k, number) in which.take(points.rows()).enumerate() {
            let extra = self.extra_variance(&self.at(scales.row(k)).0);
            let one = Matrix::new(1, points.columns(), points.row(k).to_vec())?;
            flat.extend(predictors_at(&one, &self.rows(extra.as_deref()), number, seed)?);
        }
        Ok(Matrix::new(points.rows(), rows, flat)?)
    }

    /// The rows with the effects of groups that the fit has not seen at 0: what the population's coefficients alone predict there.
    pub fn of_population(mut self) -> Self {
        self.unseen.clear();
        self
    }

    /// The deviations of the groups and the family, with these values of the scales and correlations that are integrated over.
    fn at(&self, free: &[f64]) -> (GroupScales, Family) {
        let (mut free, mut family) = (free.iter(), self.family);
        let scales = || self.fit.file.model.scales.iter();
        let value = |scale: &Scale, free: &mut std::slice::Iter<'_, f64>| match scale.origin {
            Origin::Integrated => free.next().copied().unwrap_or(scale.sd),
            _ => scale.sd,
        };
        // First the sets of coefficients, then the noise, then gaps.
        let sds = scales().filter(|s| s.is_of_groups()).map(|scale| value(scale, &mut free)).collect();
        let mut others: Vec<Scale> = scales().filter(|s| !s.is_of_groups()).cloned().collect();
        others.sort_by_key(Scale::rank);
        others.iter_mut().for_each(|scale| scale.sd = value(scale, &mut free));
        family = family_with(family, &others, &|scale| scale.sd);
        let mut correlations = Vec::new();
        for block in &self.fit.file.model.correlations {
            let place = |name: &String| scales().filter(|s| s.is_of_groups()).position(|s| s.name == *name);
            let places: Vec<usize> = block.scales.iter().filter_map(place).collect();
            for (i, &a) in places.iter().enumerate() {
                correlations.extend(places[..i].iter().map(|&b| (a, b, free.next().copied().unwrap_or(0.0))));
            }
        }
        (GroupScales { sds, correlations }, family)
    }

    fn group_sds(&self) -> GroupScales {
        let scales = self.fit.file.model.scales.iter().filter(|scale| scale.is_of_groups());
        GroupScales { sds: scales.map(|scale| scale.sd).collect(), correlations: Vec::new() }
    }

    /// xᵀΣx for each row of a group that the model has not seen, where Σ is the covariance of its effects.
    fn extra_variance(&self, groups: &GroupScales) -> Option<Vec<f64>> {
        if self.unseen.is_empty() {
            return None;
        }
        let mut out = vec![0.0; self.design.rows()];
        for (row, before, values) in &self.unseen {
            let effect = |scale: usize| -> f64 {
                let x = scale.checked_sub(*before).and_then(|j| values.get(j)).copied().unwrap_or(0.0);
                x * groups.sds.get(scale).copied().unwrap_or(0.0)
            };
            out[*row] += (0..values.len()).map(|j| effect(before + j).powi(2)).sum::<f64>();
            out[*row] +=
                groups.correlations.iter().map(|&(a, b, r)| 2.0 * r * effect(a) * effect(b)).sum::<f64>();
        }
        Some(out)
    }

    fn refuse_without_trials(&self) -> Result<()> {
        match self.family == Family::Binomial && self.trials.is_none() {
            true => Err(Error::DrawsWithoutTrials),
            false => Ok(()),
        }
    }

    /// Draws of new responses for coefficients that were drawn before, one for each row of `points`; `first` is the number of the first
    /// one in the list of all.
    pub fn responses_at(&self, points: &Matrix, first: u64, seed: Seed) -> Result<Matrix> {
        self.refuse_without_trials()?;
        let extra = self.extra_variance(&self.group_sds());
        let flat = responses_at(self.family, points, &self.rows(extra.as_deref()), first, seed)?;
        Ok(Matrix::new(points.rows(), self.design.rows(), flat)?)
    }

    /// How many draws to make at once, so that a list of any length takes little memory.
    pub fn part_of_draws(&self) -> u64 {
        (PART / (self.design.rows() + self.fit.gaussian.dim()).max(1)).max(1) as u64
    }

    /// Upper bound of the difference between the posterior's probabilities and the predicted ones: total variation
    /// bounds the means of any function between 0 and 1 [cert-moments], [local-tv]. `None` if nothing is proved,
    /// and for rates and values.
    pub fn probability_error(&self) -> Option<f64> {
        self.tv_bound().filter(|_| self.family.has_probabilities())
    }

    /// The same for any probability given the coefficients, such as those of [`NewData::survival`].
    pub fn tv_bound(&self) -> Option<f64> {
        self.fit.certificate()?.tv.bound()
    }

    /// For a gaussian model: upper bounds of the difference between each row's posterior mean and the predicted
    /// one. A mean aᵀm + o is linear in z, so its error is that of the functional a [cert-moments],
    /// [local-moments]; above [`LARGEST_METRIC`](crate::record::fit_file::LARGEST_METRIC) coefficients, the sum of
    /// |a_i| times each coefficient's error. `None` for other families, and if nothing is proved.
    pub fn mean_errors(&self) -> Result<Option<Vec<f64>>> {
        let Family::Gaussian { .. } = self.family else { return Ok(None) };
        let file = &self.fit.file;
        let each: Option<Vec<f64>> =
            self.fit.certificate().and_then(|c| c.moments.iter().map(|m| m.mean_error.bound()).collect());
        let columns = self.design.columns();
        let mut out = Vec::with_capacity(self.design.rows());
        let mut row = vec![0.0; columns];
        for n in 0..self.design.rows() {
            self.design.write_row(n, &mut row);
            // Rounded outwards by more than the rounding error of such a sum.
            let sum = |each: &Vec<f64>| {
                each.iter().zip(&row).map(|(e, a)| e * a.abs()).sum::<f64>() * (1.0 + 1e-12)
            };
            let exact = match &file.moment_bounds {
                Some(bounds) => match &self.fit.gaussian {
                    AnyGaussian::Dense(q) => bounds.functional(q, &row)?[0].bound(),
                    AnyGaussian::Sparse(_) => None,
                },
                None => None,
            };
            let summed = each.as_ref().filter(|each| each.len() == columns).map(sum);
            match (exact, summed) {
                (Some(a), Some(b)) => out.push(a.min(b)),
                (Some(a), None) | (None, Some(a)) => out.push(a),
                (None, None) => return Ok(None),
            }
        }
        Ok(Some(out))
    }

    /// What an audit is to be asked about the rows whose groups the fit has seen, and which rows those are.
    pub(super) fn questions(&self, law: Law) -> (Vec<usize>, Vec<Question>) {
        let mut weights = vec![0.0; self.design.columns()];
        let is_known = |row: &usize| self.unseen.iter().all(|(unseen, ..)| unseen != row);
        let each = (0..self.design.rows()).filter(is_known).take(MOST_ASKED).filter_map(|row| {
            self.design.write_row(row, &mut weights);
            let offset = self.offsets.as_ref().map_or(0.0, |offsets| offsets[row]);
            // A row of zeros asks nothing.
            let question = Question { weights: weights.clone(), offset, law };
            weights.iter().any(|x| x.abs() > 0.0).then_some((row, question))
        });
        each.unzip()
    }

    pub(super) fn certificate(&self) -> Option<&provi::Certificate> {
        self.fit.certificate()
    }

    pub(super) fn gaussian(&self) -> Option<&provi::Gaussian> {
        self.fit.gaussian.as_dense()
    }

    fn rows<'r>(&'r self, extra_variance: Option<&'r [f64]>) -> Rows<'r> {
        Rows {
            offsets: self.offsets.as_deref(),
            trials: self.trials.as_deref(),
            extra_variance,
            ..Rows::new(&self.design)
        }
    }
}

fn family(record: &FitFile) -> Result<Family> {
    let name = &record.model.family;
    let unknown = || Error::UnknownModel { what: "family", found: name.clone() };
    let family: FamilyName = name.parse().map_err(|_| unknown())?;
    let of = |noise_sd: f64| {
        let refused = || BadRegression::NotThere { what: "an effect".to_owned(), family: family.name() };
        family.family(noise_sd).ok_or_else(refused)
    };
    let named = match of(1.0)?.noise_sd() {
        Some(_) => of(record.model.noise_sd.ok_or_else(unknown)?)?,
        None => of(1.0)?,
    };
    let named = match record.model.time_unit {
        Some(unit) => named.with_time_unit(unit).ok_or_else(unknown)?,
        None => named,
    };
    // Gaps are among the scales.
    Ok(if named.gaps().is_some() {
        family_with(named, &record.model.scales, &|scale| scale.sd)
    } else {
        named
    })
}
