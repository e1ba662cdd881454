//! What is fitted: a target, and the record of what it is made from.

use std::time::Instant;

use provi::auto::{Choice, audit_watched};
use provi::checkpoint::Checkpoint;
use provi::checks::Checks;
use provi::fit::{NegElbo, Watch};
use provi::sparse::{AnyGaussian, SparseModel, SparseSolver};
use provi::target::{Evaluator, Glm};
use provi::{Fit, Plan, Seed, Target};

use super::integrated::{Integrated, OpenScales, integrate};
use super::recording::{self, fit_file};
use super::sparse;
use crate::capacity::refuse_beyond;
use crate::error::{Error, Result};
use crate::model::conflict;
use crate::model::device;
use crate::model::memory;
use crate::model::prior_words;
use crate::model::{Integrating, Model, ModelRows, Origin, RegressionModel, Scale, UnknownNoise};
use crate::options::RunOptions;
use crate::record::about::About;
use crate::record::fit_file::{self, Kind, ModelRecord};
use crate::run::assessment::Assessment;
use crate::run::contrast::Contrast;
use crate::run::fitted::Fitted;
use crate::run::fresh_seed;
use crate::run::{Aim, Answer, Strategy, covered};

/// Prefix of the digest of numbers that a program gave.
pub(crate) const DIGEST: &str = "sha256:";

/// The method name of an answer that was not found here.
const GIVEN: &str = "given";

/// A target with its record.
#[derive(Clone, Debug)]
pub struct Problem<'a> {
    target: Evaluator<'a>,
    /// The linear-predictor model, which can be checked against its data.
    glm: Option<&'a Glm>,
    /// The model, if it is beyond one log-concave function of one linear predictor.
    regression: Option<&'a RegressionModel>,
    /// What a device may have.
    device_rows: Option<&'a dyn device::Rows>,
    record: ModelRecord,
    /// Where the search for the scales stood when it was stopped.
    stopped_at: Option<&'a AnyGaussian>,
    /// Wall-clock seconds of that search.
    scale_seconds: Option<f64>,
    /// The rows and the open scales, if scales are integrated over.
    integrated: Option<OpenScales<'a>>,
    /// The sparse form of the model, if it is solved by that.
    sparse: Option<&'a SparseModel>,
}

impl<'a> Problem<'a> {
    /// The model of a table and a formula.
    pub fn model(model: &'a Model) -> Self {
        Self {
            target: model.target.evaluator(),
            glm: model.target.glm(),
            regression: None,
            device_rows: model.target.device_rows(),
            record: recording::model(model),
            stopped_at: model.stopped_at.as_ref(),
            scale_seconds: model.scale_seconds,
            integrated: model.integrating.as_ref().map(|how| OpenScales { rows: model.target.rows(), how }),
            sparse: model.target.sparse(),
        }
    }

    /// A model of a design and a response.
    pub fn matrices(glm: &'a Glm, about: About) -> Self {
        // A prior whose marginals cannot be computed has been refused before.
        let marginals = glm.prior().marginals(glm.dim()).unwrap_or_default();
        let prior = prior_words::describe(glm.prior(), &glm.names(), glm.dim());
        let (prior_mean, prior_sd) = marginals.into_iter().unzip();
        let noise_sd = glm.family().noise_sd();
        let gaps: Vec<f64> = glm.family().gaps().map(Into::into).unwrap_or_default();
        let gap = |(i, width): (usize, &f64)| Scale::gap(&(i + 2).to_string(), *width, Origin::Given);
        let noise = || noise_sd.map(|sd| Scale::noise(sd, Origin::Given)).into_iter();
        let given = || noise().chain(gaps.iter().enumerate().map(gap)).collect();
        Self {
            target: Evaluator::Parallel(glm),
            glm: Some(glm),
            regression: None,
            device_rows: Some(glm),
            record: ModelRecord {
                family: glm.family().name().to_owned(),
                rows: glm.design().rows(),
                weights: glm.weights().as_deref().map(digest),
                offset: glm.offsets().map(digest),
                population: glm.dim(),
                prior,
                prior_mean,
                prior_sd,
                prior_at_means: fit_file::PriorAtMeans::of(glm.prior(), glm.dim()),
                noise_sd,
                time_unit: glm.family().time_unit(),
                scales: if about.scales.is_empty() { given() } else { about.scales.clone() },
                ..about.record(Kind::Matrix)
            },
            stopped_at: None,
            scale_seconds: None,
            integrated: None,
            sparse: None,
        }
    }

    /// A model of a design and a response whose noise is not known.
    pub fn unknown_noise(model: &'a UnknownNoise, about: About) -> Self {
        let warnings = about.warnings.into_iter().chain(model.notes.clone()).collect();
        let about = About { scales: vec![model.scale.clone()], warnings, ..about };
        let rows = ModelRows::Memory(&model.glm);
        let integrated = model.integrating.as_ref().map(|how| OpenScales { rows, how });
        Self { integrated, ..Self::matrices(&model.glm, about) }
    }

    /// A target of which nothing but its density is known.
    fn density(target: Evaluator<'a>, record: ModelRecord) -> Self {
        Self {
            target,
            glm: None,
            regression: None,
            device_rows: None,
            record,
            stopped_at: None,
            scale_seconds: None,
            integrated: None,
            sparse: None,
        }
    }

    /// A regression beyond one log-concave function of one linear predictor.
    pub fn regression(model: &'a RegressionModel) -> Self {
        Self { regression: Some(model), ..Self::density(model.target(), model.record().clone()) }
    }

    /// Any log density.
    pub fn black_box(target: Evaluator<'a>, about: About) -> Self {
        let (rows, _) = target.target().data_size();
        let population = target.dim();
        let record = ModelRecord { rows, population, ..about.record(Kind::BlackBox) };
        Self::density(target, record)
    }

    /// The target.
    pub fn target(&self) -> Evaluator<'a> {
        self.target
    }

    /// Whether scales are integrated over.
    pub fn integrates(&self) -> bool {
        self.integrated.is_some()
    }

    /// The rows and the open scales, if scales are integrated over.
    pub(crate) fn integrated(&self) -> Option<OpenScales<'a>> {
        self.integrated
    }

    /// The sparse form of the model, if it is solved by that.
    pub(crate) fn sparse(&self) -> Option<&'a SparseModel> {
        self.sparse
    }

    /// The linear-predictor model, if it is one and its rows are in memory.
    pub(crate) fn glm(&self) -> Option<&'a Glm> {
        self.glm
    }

    /// The model, if it is beyond one log-concave function of one linear predictor.
    pub(crate) fn regression_model(&self) -> Option<&'a RegressionModel> {
        self.regression
    }

    /// The model's record for fit.json.
    pub fn record(&self) -> &ModelRecord {
        &self.record
    }

    /// A density from a library.
    pub fn compiled(compiled: &'a crate::model::compiled::Compiled) -> Self {
        let target = compiled.target();
        let record = ModelRecord {
            population: target.dim(),
            library: Some(compiled.record().clone()),
            ..compiled.about().record(compiled.kind())
        };
        Self::density(target, record)
    }

    /// Refuses everything that can be refused before the work: wrong options, wrong contrasts, too little memory.
    pub fn prepare(self, options: &RunOptions) -> Result<Prepared<'a>> {
        options.check()?;
        if self.integrated.is_some() {
            let planned = options.choice()? != Choice::Auto;
            // What is stated of a mixture rests on a sum over the scales, which is no proof.
            let asked = [
                (planned, "a method of planned steps"),
                (!options.step.pattern().is_full(), "a family of q"),
                (options.audit.accuracy.is_some(), "the option accuracy"),
                (options.audit.kl.is_some(), "the option kl"),
                (options.audit.table_accuracy.is_some(), "the option table-accuracy"),
            ];
            if let Some((_, what)) = asked.into_iter().find(|(asked, _)| *asked) {
                return Err(Error::ScalesIntegrated { what: what.to_owned() });
            }
        }
        if self.sparse.is_some() {
            let asked = [
                (options.choice()? != Choice::Auto, "a method of planned steps"),
                (!options.step.pattern().is_full(), "a family of q"),
                (options.search.starts.is_some(), "the option starts"),
                (options.search.start.is_some(), "a given start"),
            ];
            if let Some((_, what)) = asked.into_iter().find(|(asked, _)| *asked) {
                return Err(Error::SparseFactor { what: what.to_owned() });
            }
        }
        let target = self.target.target();
        let contrasts = Contrast::read(&options.contrasts, &target.names(), self.record.recipe.as_ref())?;
        options.step.pattern().check(target.dim())?;
        let draws = options.step.draws_or(Aim::of(options).draws());
        let (choice, subsample) = (options.choice()?, options.step.subsample()?);
        let budget = options.memory_budget.map(|size| size.0);
        let memory = match self.sparse {
            Some(model) => memory::sparse_forecast(model, target.data_size().0, budget)?,
            None => memory::forecast(target, choice, draws, subsample, true, budget)?,
        };
        let memory = memory + &device::forecast(self.device_rows);
        if let Some(starts) = options.search.starts {
            // The answer of each start is kept until all can be compared.
            let d = target.dim() as u128;
            let what = || format!("{starts} starts of {d} coefficients");
            refuse_beyond(what, u128::from(starts) * 12 * d * (d + 3))?;
        }
        Ok(Prepared { problem: self, options: options.clone(), contrasts, memory })
    }

    /// Returns the answer with its certificate and its checks, under a watch.
    pub fn fit(self, options: &RunOptions, watch: &mut Watch<'_>) -> Result<Fitted> {
        let prepared = self.prepare(options)?;
        let mut fitted = prepared.run(&prepared.strategy()?, watch)?;
        prepared.check(&mut fitted);
        Ok(fitted)
    }

    /// Audits a Gaussian that was found elsewhere and records it like an answer of provi. Of the options, only
    /// seed, audit, family of q and contrasts count; without a seed the draws use a fresh one, which the answer records. If
    /// something cannot be proved, the certificate says so; it is not an error.
    pub fn certify(self, q: &AnyGaussian, options: &RunOptions, watch: &mut Watch<'_>) -> Result<Fitted> {
        if self.integrated.is_some() {
            return Err(Error::ScalesIntegrated { what: "the certificate of one Gaussian".to_owned() });
        }
        let seed = Some(options.seed.unwrap_or_else(|| fresh_seed().0));
        let options = &RunOptions { seed, ..options.clone() };
        let prepared = self.prepare(options)?;
        let (target, seed) = (prepared.target(), prepared.seed());
        if q.dim() != target.dim() {
            let (found, expected) = (q.dim(), target.dim());
            return Err(provi::Error::Shape { what: "the given Gaussian", found, expected }.into());
        }
        if let Some(model) = prepared.problem.sparse {
            let assessment = sparse::assess(model, q, watch)?;
            // Without a bound of f there is nothing to record.
            let Some(elbo) = assessment.certificate.evidence.lower() else { return Err(Error::OtherFactor) };
            let mut fit =
                sparse::found(target.target().names(), q.clone(), NegElbo::new(-elbo, 0.0, false), seed);
            fit.method = GIVEN.to_owned();
            let answer = Answer { fit, assessment, notes: Vec::new(), search: None, audit_seconds: 0.0 };
            let mut fitted = prepared.put_down(None, answer)?;
            prepared.check(&mut fitted);
            return Ok(fitted);
        }
        let begin = Instant::now();
        let pattern = options.step.pattern();
        let q = &pattern.member(&*q.to_dense()?)?;
        let audited = audit_watched(&options.audit.audit()?, target, q, seed, watch, begin);
        let audited = audited.and_then(|audited| audited.within(target.target(), q, &pattern));
        let assessment = covered(watch, begin, || Assessment::after(audited, target, q, seed));
        let audit_seconds = begin.elapsed().as_secs_f64();
        let mut fit = Fit::given(target.target(), q, seed)?;
        (fit.method, fit.seconds) = (GIVEN.to_owned(), begin.elapsed().as_secs_f64());
        fit.pattern = pattern;
        let mut fitted = prepared.put_down(
            None,
            Answer { fit: fit.into(), assessment, notes: Vec::new(), search: None, audit_seconds },
        )?;
        prepared.check(&mut fitted);
        Ok(fitted)
    }
}

/// A fit that is ready to begin.
#[derive(Debug)]
pub struct Prepared<'a> {
    problem: Problem<'a>,
    options: RunOptions,
    contrasts: Vec<Contrast>,
    /// The memory that the run needs, as one line.
    pub memory: String,
}

impl<'a> Prepared<'a> {
    /// The strategy that the options ask for; plans are made here.
    pub fn strategy(&self) -> Result<Strategy> {
        if self.problem.sparse.is_some() {
            let default = SparseSolver::default();
            let goal = self.options.audit.accuracy.unwrap_or(default.goal);
            return Ok(Strategy::Sparse(SparseSolver { goal, ..default }));
        }
        Strategy::of(&self.options, self.problem.target.target())
    }

    /// Runs that strategy. The time limit of the options holds unless the watch has one.
    pub fn run(&self, strategy: &Strategy, watch: &mut Watch<'_>) -> Result<Fitted> {
        watch.time_limit = match watch.time_limit {
            None => self.options.limit()?,
            limit => limit,
        };
        if let (Some(model), None) = (self.problem.integrated, self.problem.stopped_at) {
            let (target, scales) = (self.problem.target.target(), &self.problem.record.scales);
            let audit = self.options.audit.audit()?;
            if let Some(found) = integrate(model, target, scales, &audit, self.seed(), watch)? {
                return self.put_down_mixture(model.how, found);
            }
        }
        if let (Strategy::Auto(_), Some(AnyGaussian::Dense(q)), None) =
            (strategy, self.problem.stopped_at, &watch.from)
        {
            // The time is up: start from the last solution of the search for the scales.
            watch.from = Some(Checkpoint::at(q));
        }
        let answer = match (strategy, self.problem.sparse) {
            (Strategy::Sparse(solver), Some(model)) => {
                let (names, from) = (self.problem.target.target().names(), self.problem.stopped_at);
                sparse::solve(model, names, solver, from, self.seed(), watch)?
            }
            _ => strategy.run(self.problem.target, self.seed(), watch)?,
        };
        let mut fitted = self.put_down(strategy.plan(), answer)?;
        if self.problem.integrated.is_some() {
            // There was no time to integrate: what is written down is the answer at the scales of the largest ELBO.
            let model = &mut fitted.file.model;
            let is_open = |scale: &&mut Scale| scale.origin == Origin::Integrated;
            model.scales.iter_mut().filter(is_open).for_each(|scale| {
                (scale.origin, scale.prior) = (Origin::Maximised, None);
            });
            model.options = model.options.clone().with_scales(&model.scales);
            model.correlations.clear();
            model.warnings.push(NOT_INTEGRATED.to_owned());
            fitted.file.stopped_early = true;
        }
        Ok(fitted)
    }

    /// The record of a mixture.
    fn put_down_mixture(&self, how: &Integrating, found: Integrated) -> Result<Fitted> {
        let Integrated { answer, mixture, record, estimates } = found;
        let mut fitted = self.put_down(None, answer)?;
        let file = &mut fitted.file;
        file.estimates = Some(estimates);
        file.plan_bound.reason = Some("scales are integrated over, and no steps were planned".to_owned());
        for (k, &i) in how.order.iter().enumerate() {
            file.model.scales[i].sd = record.scales[k].mean;
            if file.model.scales[i].is_noise() {
                file.model.noise_sd = Some(record.scales[k].mean);
            }
            file.model.scales[i].vanishing = false;
        }
        if mixture.nodes.iter().any(|node| node.gaussian.as_sparse().is_some()) {
            // The factor is that of the heaviest node.
            file.mean = mixture.mean();
        }
        file.mixture = Some(record);
        let certificate = file.certificate.clone();
        file.contrasts.clear();
        for contrast in &self.contrasts {
            let certificate =
                certificate.as_ref().ok_or(Error::Option(provi::Error::Empty { what: "certificate" }))?;
            file.contrasts.push(contrast.measure_mixture(&mixture, certificate)?);
        }
        fitted.mixture = Some(mixture);
        Ok(fitted)
    }

    fn put_down(&self, plan: Option<&Plan>, answer: Answer) -> Result<Fitted> {
        let mut file = fit_file(self.problem.record.clone(), plan, &answer);
        file.model.warnings.extend(answer.notes);
        let asked = self.options.device;
        file.model.warnings.extend(device::not_used(self.problem.device_rows, asked));
        file.model.warnings.extend(device::said(self.problem.device_rows, asked));
        file.model.search = answer.search;
        // If the search for the scales did not finish, neither did the answer.
        file.stopped_early |= self.problem.stopped_at.is_some();
        if let Some(phases) = &mut file.phases {
            phases.scales = self.problem.scale_seconds;
        }
        let (q, assessment) = (answer.fit.gaussian, answer.assessment);
        file.model.warnings.extend(conflict::of_coefficients(&file.model, &file.names, q.mean()));
        for contrast in &self.contrasts {
            file.contrasts.push(contrast.measure(
                &q,
                &assessment.certificate,
                assessment.moment_bounds.as_ref(),
            )?);
        }
        Ok(Fitted { file, gaussian: q, mixture: None })
    }

    /// Checks the model against its data, if it has rows.
    pub fn check(&self, fitted: &mut Fitted) {
        if let Some(model) = self.problem.regression {
            fitted.file.checks = model.checks(&fitted.gaussian, self.seed()).ok();
        }
        let Some(glm) = self.problem.glm else { return };
        fitted.file.checks = match &fitted.mixture {
            None => Checks::new(glm, &fitted.gaussian, self.seed()),
            Some(mixture) => {
                let [points, scales] = mixture.sample(Checks::REPLICATES, self.seed());
                match fitted.families_of(glm.family(), &scales) {
                    None => Checks::with_draws(glm, &fitted.gaussian, &points, self.seed()),
                    Some(families) => {
                        Checks::with_families(glm, &fitted.gaussian, &points, &families, self.seed())
                    }
                }
            }
        }
        .ok();
    }

    /// The target, to evaluate the densities of draws.
    pub fn target(&self) -> Evaluator<'a> {
        self.problem.target
    }

    /// The model's record.
    pub(crate) fn record(&self) -> &ModelRecord {
        &self.problem.record
    }

    /// The seed of the run.
    pub fn seed(&self) -> Seed {
        Seed(self.options.seed.unwrap_or_default())
    }
}

/// Note if there was no time to integrate over the scales.
const NOT_INTEGRATED: &str = "there was no time to integrate over the scales: they are where the ELBO is largest, and their uncertainty is ignored";

/// The digest of numbers that a program gave.
fn digest(values: &[f64]) -> String {
    let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    format!("{DIGEST}{}", fit_file::sha256(&bytes))
}
