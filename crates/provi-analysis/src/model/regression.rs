//! Models of families beyond one log-concave function of one linear predictor.

use provi::checks::Checks;
use provi::sparse::NormalLaw;
use provi::target::{Evaluator, Family, Glm, Likelihood, Prior, Regression};
use provi::{Matrix, Seed};
use provi_table::{Formula, INTERCEPT, ModelFrame, Recipe};

use super::opened::Opened;
use super::{Data, design, frame_options, parse, prior, prior_words, warnings};
use crate::error::{BadRegression, Error, Result};
use crate::options::{FamilyName, ModelOptions, PriorSpec, ScalesName};
use crate::record::fit_file::{Kind, ModelRecord, PriorAtMeans};
use crate::record::library::ConstrainedRecord;
use crate::record::scale::{Origin, Scale};

/// A regression of a table, and what a reader needs to know about it.
#[derive(Debug)]
pub struct RegressionModel {
    regression: Regression,
    record: ModelRecord,
    /// The line of the file that each row comes from.
    lines: Vec<usize>,
}

impl RegressionModel {
    /// The family, if a formula and its options ask for such a model.
    pub fn asked(formula: &Formula, options: &ModelOptions) -> Option<FamilyName> {
        let by_formula = formula.is_multinomial().then_some(FamilyName::Multinomial);
        options.family.or(by_formula).filter(|family| family.is_regression())
    }

    /// From data in memory. The family must be one of those that [`RegressionModel::asked`] finds.
    pub fn build(data: &Data, text: &str, options: &ModelOptions) -> Result<Self> {
        let formula = parse(text)?;
        let Some(name) = Self::asked(&formula, options) else {
            return Err(Error::UnknownModel { what: "family", found: "none".to_owned() });
        };
        let family = name.name();
        refuse(options, name)?;
        let formula = match name {
            FamilyName::Multinomial => formula.as_multinomial(),
            _ if formula.is_multinomial() => return Err(BadRegression::StrayLevels { family }.into()),
            _ => formula,
        };
        if name == FamilyName::Multinomial && !formula.is_multinomial() {
            return Err(BadRegression::NoLevels { response: formula.response().to_string() }.into());
        }
        let open = |standardize| -> Result<Box<ModelFrame>> {
            match Opened::new(data, &formula, text, &frame_options(options, standardize, Vec::new()))? {
                Opened::Frame(frame) => Ok(frame),
                Opened::Scan(_) => Err(BadRegression::Files { family }.into()),
            }
        };
        if data.stays_in_files() {
            return Err(BadRegression::Files { family }.into());
        }
        let frame = open(false)?;
        refuse_frame(&frame, name)?;
        let likelihood = likelihood(name, options, &frame);
        let line = |row: usize| frame.line_of_row(row).unwrap_or(row);
        let at_line = |error| match error {
            provi::Error::Response { family, row, value, needed } => Error::Response {
                column: frame.response_name.clone(),
                line: line(row),
                table: data.name.clone(),
                value,
                needed,
                family,
            },
            other => Error::Library(other),
        };
        let design = design(&frame.design)?;
        let trials = frame.trials.as_deref();
        let made = Regression::new(likelihood, design.clone(), &frame.response, trials, Prior::default());
        let mut regression = made.map_err(at_line)?.with_names(&frame.names, &frame.categories)?;
        refuse_priors_of_levels(options, &frame)?;
        // The prior of the coefficients is that of the family without the further parameter.
        let (plain, alike) = plain(likelihood, &frame, design)?;
        let standard = match options.standardize {
            true => Some(open(true)?.recipe().population.columns.clone()),
            false => None,
        };
        let parts = prior::Parts {
            options,
            names: &frame.names,
            population: frame.names.len(),
            given: None,
            standard: standard.as_deref(),
            scales: &[],
        };
        let mut laws = parts.population_laws(alike, &plain.summary())?;
        let own = |spec: &PriorSpec| spec.normal().is_some() && spec.fits(INTERCEPT);
        if let (Likelihood::Multinomial { .. }, Some(intercept), true) =
            (likelihood, laws.intercept, options.leaves_prior_open())
            && !options.prior.iter().any(own)
        {
            // No level is more likely than another before the data.
            laws.laws[intercept].0 = 0.0;
        }
        regression = regression.with_prior(laws.prior()?)?;
        if let Some(weights) = &frame.weights {
            regression = regression.with_weights(weights)?;
        }
        if let Some(offsets) = &frame.offsets {
            regression = regression.with_offsets(offsets)?;
        }
        let data_sha256 = data.sha256().map_err(|error| Error::table(error, text))?.to_owned();
        let record = record(&regression, &frame, options, name, (&data.name, data_sha256))?;
        let lines = (0..frame.rows).filter_map(|row| frame.line_of_row(row)).collect();
        Ok(Self { regression, record, lines })
    }

    /// The target.
    pub fn target(&self) -> Evaluator<'_> {
        Evaluator::Parallel(&self.regression)
    }

    /// The regression.
    pub fn regression(&self) -> &Regression {
        &self.regression
    }

    /// The line of the file that each row comes from.
    pub fn lines(&self) -> &[usize] {
        &self.lines
    }

    /// Why nothing can be proved about an answer; `None` if something can.
    pub fn why_nothing_is_proved(&self) -> Option<String> {
        not_log_concave(self.regression.likelihood())
    }

    /// Checks of the model against its rows at q; a pure function of the seed.
    pub fn checks(&self, q: &impl NormalLaw, seed: Seed) -> provi::Result<Checks> {
        let mut found = Checks::of_regression(&self.regression, q, seed)?;
        for (statistic, level) in found.statistics.iter_mut().zip(&self.record.categories) {
            statistic.name = format!("share of {level}");
        }
        Ok(found)
    }

    /// The record of the model.
    pub fn record(&self) -> &ModelRecord {
        &self.record
    }

    /// The digest of the data.
    pub fn data_sha256(&self) -> &str {
        &self.record.data_sha256
    }
}

/// Refuses options that have no meaning here.
fn refuse(options: &ModelOptions, name: FamilyName) -> Result<()> {
    let is_student = name == FamilyName::Student;
    let strays = [
        (options.nu.is_some() && !is_student, "nu"),
        (options.noise_sd.is_some() && !is_student, "noise-sd"),
        (!options.gaps.is_empty(), "gaps"),
        (!options.group_scale.is_empty(), "group-scale"),
        (options.scales == Some(ScalesName::Maximise), "scales = maximise"),
        (options.factor.is_some(), "factor"),
        (options.prior_covariance.is_some(), "prior-covariance"),
        (options.prior_from.is_some(), "prior-from"),
        (options.prior.iter().any(|spec| spec.normal().is_none()), "a prior of scales or correlations"),
    ];
    match strays.into_iter().find(|(given, _)| *given) {
        Some((_, option)) => Err(BadRegression::StrayOption { option, family: name.name() }.into()),
        None => Ok(()),
    }
}

/// Refuses rows that the family does not take.
fn refuse_frame(frame: &ModelFrame, name: FamilyName) -> Result<()> {
    let family = name.name();
    if let Some(group) = frame.groups.first() {
        return Err(BadRegression::Groups { family, term: group.text.clone() }.into());
    }
    if frame.spans.is_some() {
        return Err(Error::StrayEvents { family });
    }
    if name == FamilyName::Multinomial {
        return match frame.offsets.is_some() {
            true => Err(BadRegression::StrayOption { option: "an offset", family }.into()),
            false => Ok(()),
        };
    }
    if !frame.categories.is_empty() {
        return Err(crate::error::BadCategories::Stray { family }.into());
    }
    match (name == FamilyName::Betabinomial, frame.trials.is_some()) {
        (true, false) => Err(BadRegression::NoTrials { column: frame.response_name.clone() }.into()),
        (false, true) => Err(Error::StrayTrials { family }),
        _ => Ok(()),
    }
}

/// Refuses a prior of `level:column`.
fn refuse_priors_of_levels(options: &ModelOptions, frame: &ModelFrame) -> Result<()> {
    for pattern in options.prior.iter().filter_map(|spec| spec.pattern.as_ref()) {
        let of_level = |level: &String| pattern.strip_prefix(level.as_str())?.strip_prefix(':');
        if let (Some(column), false) =
            (frame.categories.iter().find_map(of_level), frame.names.contains(pattern))
        {
            let (pattern, column) = (pattern.clone(), column.to_owned());
            return Err(BadRegression::PriorOfLevel { pattern, column }.into());
        }
    }
    Ok(())
}

fn likelihood(name: FamilyName, options: &ModelOptions, frame: &ModelFrame) -> Likelihood {
    match name {
        FamilyName::Multinomial => Likelihood::Multinomial { levels: frame.categories.len() },
        FamilyName::Betabinomial => Likelihood::BetaBinomial,
        FamilyName::Zipoisson => Likelihood::ZeroInflatedPoisson,
        _ => {
            Likelihood::Student { sd: options.noise_sd, degrees: options.nu, scale: spread(&frame.response) }
        }
    }
}

/// The standard deviation of the responses, to three digits; 1 if they do not vary.
fn spread(values: &[f64]) -> f64 {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    let sd = (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt();
    if sd > 0.0 && sd.is_finite() { format!("{sd:.2e}").parse().unwrap_or(sd) } else { 1.0 }
}

/// The model without the further parameter, whose default prior of the coefficients applies.
fn plain(likelihood: Likelihood, frame: &ModelFrame, design: provi::Design) -> Result<(Glm, Family)> {
    let family = match likelihood {
        Likelihood::BetaBinomial => Family::Binomial,
        Likelihood::ZeroInflatedPoisson => Family::Poisson,
        Likelihood::Multinomial { .. } => Family::Bernoulli,
        _ => Family::Gaussian { noise_sd: 1.0 },
    };
    let mut glm = match &frame.trials {
        Some(trials) => Glm::successes(family, design, &frame.response, trials, Prior::default())?,
        None if family == Family::Bernoulli => {
            let labels: Vec<f64> = frame.response.iter().map(|y| f64::from(u8::from(*y > 1.5))).collect();
            Glm::new(family, design, &labels, Prior::default())?
        }
        None => Glm::new(family, design, &frame.response, Prior::default())?,
    };
    if let Some(weights) = &frame.weights {
        glm = glm.with_weights(weights)?;
    }
    if let Some(offsets) = &frame.offsets {
        glm = glm.with_offsets(offsets)?;
    }
    Ok((glm, family))
}

fn record(
    regression: &Regression,
    frame: &ModelFrame,
    options: &ModelOptions,
    name: FamilyName,
    (data, data_sha256): (&str, String),
) -> Result<ModelRecord> {
    let (likelihood, columns) = (regression.likelihood(), frame.names.len());
    let marginals = regression.prior().marginals(columns)?;
    let repeated = marginals.iter().copied().cycle().take(regression.coefficients());
    let (prior_mean, prior_sd): (Vec<f64>, Vec<f64>) = repeated.unzip();
    let mut prior = prior_words::describe(regression.prior(), &frame.names, columns);
    prior.extend(
        (likelihood.predictors() > 1).then(|| "the same for the coefficients of each level".to_owned()),
    );
    prior.extend(likelihood.priors());
    let mut warnings = warnings::notable(&frame.warnings);
    warnings.extend((!likelihood.is_log_concave()).then(|| not_proved(name)));
    let recipe: Recipe = frame.recipe().clone();
    Ok(ModelRecord {
        kind: Kind::Formula,
        family: name.name().to_owned(),
        family_chosen: options.family.is_none(),
        formula: frame.formula.clone(),
        categories: frame.categories.clone(),
        data: data.to_owned(),
        data_sha256,
        rows: frame.rows,
        dropped: frame.dropped.clone(),
        rows_sha256: super::opened::rows_sha256(frame),
        weights: options.weights.clone(),
        offset: options.offset.clone(),
        exposure: options.exposure.clone(),
        warnings,
        population: provi::Target::dim(regression),
        prior,
        prior_mean,
        prior_sd,
        prior_at_means: match likelihood.predictors() {
            1 => PriorAtMeans::of(regression.prior(), columns),
            _ => None,
        },
        noise_sd: options.noise_sd,
        scales: options.noise_sd.map(|sd| Scale::noise(sd, Origin::Given)).into_iter().collect(),
        options: ModelOptions { family: Some(name), ..options.clone() }.with_default_named(),
        recipe: Some(recipe),
        variables: frame.variables.clone(),
        ..ModelRecord::default()
    })
}

/// Why no certificate of such a likelihood proves anything.
pub(crate) fn not_log_concave(likelihood: Likelihood) -> Option<String> {
    let name = likelihood.name();
    (!likelihood.is_log_concave()).then(|| format!("the likelihood of family {name} is not log-concave"))
}

/// What a reader must know of a likelihood that is not log-concave.
fn not_proved(name: FamilyName) -> String {
    format!(
        "not proved: the likelihood of family {} is not log-concave, so no theorem bounds the distance of these numbers from the posterior; the \
         trust line says how far several estimates agree",
        name.name()
    )
}

/// Draws for parameters on their own scale.
pub(crate) const DRAWS: usize = 4000;

/// The further parameters on their own scale at draws of the coordinates; `None` if there are none.
pub(crate) fn natural(
    likelihood: Likelihood,
    points: &Matrix,
    pareto_k: Option<f64>,
    level: f64,
) -> Option<ConstrainedRecord> {
    let names: Vec<String> = likelihood.parameters().iter().map(|name| (*name).to_owned()).collect();
    if names.is_empty() {
        return None;
    }
    let first = points.columns() - names.len();
    let rows: Vec<Vec<f64>> =
        (0..points.rows()).map(|k| likelihood.natural(&points.row(k)[first..])).collect();
    let n = rows.len() as f64;
    let mut out = ConstrainedRecord {
        names,
        mean: Vec::new(),
        sd: Vec::new(),
        lower: Vec::new(),
        upper: Vec::new(),
        level,
        pareto_k,
        weighted: false,
        draws: rows.len(),
    };
    for i in 0..out.names.len() {
        let mut values: Vec<f64> = rows.iter().map(|row| row[i]).collect();
        values.sort_by(f64::total_cmp);
        let mean = values.iter().sum::<f64>() / n;
        let at = |p: f64| values[((p * (n - 1.0)).round() as usize).min(values.len() - 1)];
        out.mean.push(mean);
        out.sd.push((values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt());
        out.lower.push(at(0.5 * (1.0 - level)));
        out.upper.push(at(0.5 * (1.0 + level)));
    }
    Some(out)
}
