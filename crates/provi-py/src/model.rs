//! The handle of a model, and its constructors.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use numpy::PyReadonlyArray1;
use provi::scales::ScalePrior;
use provi::target::{Family, Glm, Prior, Target, TermSmoothness, Time, hierarchical_logistic_scaled};
use provi::{Curvature, Design};
use provi_analysis::model::compiled::Compiled;
use provi_analysis::model::{UnknownNoise, time_unit};
use provi_analysis::options::{PriorSpec, ScalesName};
use provi_analysis::record::about::About;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::callback::{Callback, Session};
use crate::compiled::Library;
use crate::design::{PriorArguments, Rows, Side, check_dim, curvature, numbers};
use crate::error::{raise, refuse};
use crate::finite_sum::SumCallback;
use crate::native::Native;
use crate::wait::interruptible;

/// What a posterior is made from.
pub(crate) enum Kind {
    /// A likelihood of a linear predictor.
    Glm(Box<Glm>),
    /// A model whose noise is not known.
    UnknownNoise(Box<UnknownNoise>),
    /// A Python function.
    Callback(Callback),
    /// A Python function of some terms.
    FiniteSum(SumCallback),
    /// A C function.
    Native(Native),
    /// A library.
    Compiled(Library),
}

impl Kind {
    /// The linear-predictor model, if it is one; at the noise of the largest ELBO if that is not known.
    pub(crate) fn glm(&self) -> Option<&Glm> {
        match self {
            Self::Glm(model) => Some(model),
            Self::UnknownNoise(model) => Some(&model.glm),
            Self::Callback(_) | Self::FiniteSum(_) | Self::Native(_) | Self::Compiled(_) => None,
        }
    }
}

/// A model, which can be fitted any number of times; nothing in it changes.
#[pyclass(frozen, module = "provi._provi")]
pub(crate) struct Model {
    pub(crate) kind: Arc<Kind>,
    /// For a black box: the names that its owner gave.
    pub(crate) names: Option<Vec<String>>,
    pub(crate) curvature: Option<Curvature>,
    /// What its fits record about it.
    pub(crate) about: About,
}

/// What all linear-predictor models have in common.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Data<'py> {
    rows: Rows<'py>,
    response: PyReadonlyArray1<'py, f64>,
    prior: PriorArguments<'py>,
    intercept: bool,
    names: Option<Vec<String>>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    offset: Option<PyReadonlyArray1<'py, f64>>,
}

impl Data<'_> {
    /// The model with weights and offsets.
    fn weigh(&self, mut model: Glm) -> PyResult<Glm> {
        if let Some(weights) = &self.weights {
            model = model.with_weights(&numbers(weights)).map_err(raise)?;
        }
        if let Some(offset) = &self.offset {
            model = model.with_offsets(&numbers(offset)).map_err(raise)?;
        }
        Ok(model)
    }

    /// The model with weights, offsets and names.
    fn dress(&self, model: Glm) -> PyResult<Glm> {
        let model = self.weigh(model)?;
        let mut names = self.names.clone().unwrap_or_else(|| model.names());
        if self.intercept {
            names.truncate(model.dim() - usize::from(self.names.is_none()));
            names.insert(0, provi_table::INTERCEPT.to_owned());
        }
        model.with_names(names).map_err(raise)
    }

    /// The prior they describe.
    pub(crate) fn prior(&self) -> PyResult<Prior> {
        self.prior.prior()
    }

    pub(crate) fn make(&self, make: impl FnOnce(Design, &[f64]) -> provi::Result<Glm>) -> PyResult<Model> {
        let design = self.rows.design(self.intercept)?;
        let model = make(design, &numbers(&self.response)).map_err(raise)?;
        Ok(self.prior.settle(self.dress(model)?)?.into())
    }
}

/// The prior of the noise, in the words of the options.
fn noise_law(text: &str) -> PyResult<ScalePrior> {
    let spec: PriorSpec = format!("sigma={text}").parse().map_err(PyValueError::new_err)?;
    let message =
        || format!("noise_prior = {text}; a scale is positive: use half_normal, half_t, exponential, …");
    spec.scale().ok_or_else(|| PyValueError::new_err(message()))
}

/// `noise_sd`, `noise_prior` and `scales`.
type NoiseArguments = (Option<f64>, Option<String>, Option<String>);

/// What is said about the noise of a family that has one.
struct Noise {
    sd: Option<f64>,
    law: Option<ScalePrior>,
    treatment: ScalesName,
}

impl Noise {
    fn new((sd, law, scales): NoiseArguments) -> PyResult<Self> {
        let treatment = scales.as_deref().unwrap_or("integrate").parse().map_err(PyValueError::new_err)?;
        let law = law.as_deref().map(noise_law).transpose()?;
        let unused = match (law, sd, treatment) {
            (Some(_), Some(_), _) => Some("the noise is given by noise_sd"),
            (Some(_), None, ScalesName::Maximise) => Some("scales=\"maximise\" uses no prior"),
            _ => None,
        };
        match unused {
            Some(why) => Err(PyValueError::new_err(format!("noise_prior has no effect: {why}"))),
            None => Ok(Self { sd, law, treatment }),
        }
    }

    /// The model at the noise that is given, or with an unknown one.
    fn model(
        self,
        py: Python<'_>,
        data: &Data<'_>,
        make: impl FnOnce(Design, &[f64], f64, Prior) -> provi::Result<Glm>,
    ) -> PyResult<Model> {
        let Self { sd, law, treatment } = self;
        let prior = data.prior.prior()?;
        let given = data.make(|design, y| make(design, y, sd.unwrap_or(1.0), prior))?;
        match (&*given.kind, sd) {
            (Kind::Glm(model), None) => {
                let its = Glm::clone(model);
                let open =
                    interruptible(py, move || UnknownNoise::new(&its, treatment, law))?.map_err(refuse)?;
                Ok(Model { kind: Arc::new(Kind::UnknownNoise(Box::new(open))), ..given })
            }
            _ => Ok(given),
        }
    }
}

/// Numbers by row, if they were given.
type Column<'py> = Option<PyReadonlyArray1<'py, f64>>;

/// What is known of times to an event.
fn known_times(
    times: &[f64],
    event: Option<&[f64]>,
    upper: Option<&[f64]>,
    entry: Option<&[f64]>,
) -> provi::Result<Vec<Time>> {
    let expected = times.len();
    for (what, column) in [("events", event), ("upper ends", upper), ("entries", entry)] {
        if let Some(found) = column.map(<[f64]>::len).filter(|found| *found != expected) {
            return Err(provi::Error::Shape { what, found, expected });
        }
    }
    let time = |n: usize| {
        let time = match (event, upper) {
            (_, Some(upper)) => Time::between(times[n], upper[n]),
            (Some(event), None) => Time::seen(times[n], event[n]).map_err(|needed| {
                let (row, value) = (n, event[n]);
                provi::Error::Response { family: "weibull", row, value, needed }
            })?,
            (None, None) => Time::at(times[n]),
        };
        Ok(entry.map_or(time, |entry| time.entered(entry[n])))
    };
    (0..expected).map(time).collect()
}

impl From<Glm> for Model {
    fn from(model: Glm) -> Self {
        Self {
            kind: Arc::new(Kind::Glm(Box::new(model))),
            names: None,
            curvature: None,
            about: About::default(),
        }
    }
}

#[pymethods]
impl Model {
    /// A regression with noise: `linear`, `gamma` or `negative_binomial`. Without a noise deviation the noise is integrated over or
    /// maximised over.
    #[staticmethod]
    fn noisy(py: Python<'_>, kind: &str, data: Data<'_>, noise: NoiseArguments) -> PyResult<Self> {
        let make = match kind {
            "linear" => Glm::linear,
            "gamma" => Glm::gamma,
            "negative_binomial" => Glm::negative_binomial,
            _ => return Err(PyValueError::new_err(format!("there is no regression `{kind}` with noise"))),
        };
        Noise::new(noise)?.model(py, &data, make)
    }

    /// Times to an event with a log-linear hazard, the same. Without events or upper ends, all times are those of events.
    #[staticmethod]
    fn weibull(
        py: Python<'_>,
        data: Data<'_>,
        known: (Column<'_>, Column<'_>, Column<'_>),
        unit: Option<f64>,
        noise: NoiseArguments,
    ) -> PyResult<Self> {
        let (event, upper, entry) = known;
        let [event, upper, entry] = [event, upper, entry].map(|column| column.map(|column| numbers(&column)));
        Noise::new(noise)?.model(py, &data, |design, times, noise_sd, prior| {
            let known = known_times(times, event.as_deref(), upper.as_deref(), entry.as_deref())?;
            let mean = known.iter().map(|time| time.last()).sum::<f64>() / times.len().max(1) as f64;
            let family =
                Family::Weibull { noise_sd, unit: unit.unwrap_or_else(|| time_unit(mean)), coarse: false };
            Glm::times(family, design, &known, prior)
        })
    }

    #[staticmethod]
    fn exponential(data: Data<'_>) -> PyResult<Self> {
        let prior = data.prior.prior()?;
        data.make(|design, y| Glm::exponential(design, y, prior))
    }

    #[staticmethod]
    fn logistic(data: Data<'_>) -> PyResult<Self> {
        let prior = data.prior.prior()?;
        data.make(|design, y| Glm::logistic(design, y, prior))
    }

    #[staticmethod]
    fn probit(data: Data<'_>) -> PyResult<Self> {
        let prior = data.prior.prior()?;
        data.make(|design, y| Glm::probit(design, y, prior))
    }

    /// Without trials, labels.
    #[staticmethod]
    fn cloglog(data: Data<'_>, trials: Option<PyReadonlyArray1<'_, f64>>) -> PyResult<Self> {
        let prior = data.prior.prior()?;
        data.make(|design, y| match &trials {
            Some(trials) => Glm::successes(Family::Cloglog, design, y, &numbers(trials), prior),
            None => Glm::cloglog(design, y, prior),
        })
    }

    #[staticmethod]
    fn poisson(data: Data<'_>) -> PyResult<Self> {
        let prior = data.prior.prior()?;
        data.make(|design, y| Glm::poisson(design, y, prior))
    }

    #[staticmethod]
    fn binomial(data: Data<'_>, trials: PyReadonlyArray1<'_, f64>) -> PyResult<Self> {
        let prior = data.prior.prior()?;
        data.make(|design, k| Glm::binomial(design, k, &numbers(&trials), prior))
    }

    /// `groups[i]` is the group of row i, `levels` their names.
    #[staticmethod]
    fn hierarchical_logistic(
        data: Data<'_>,
        groups: Vec<usize>,
        levels: Vec<String>,
        group_scale: Option<f64>,
    ) -> PyResult<Self> {
        let deviation = data.prior.deviation()?;
        let design = data.rows.design(data.intercept)?;
        let (columns, response) = (design.columns(), numbers(&data.response));
        let mut names = data.names.clone().unwrap_or_else(|| (0..columns).map(|j| j.to_string()).collect());
        if data.intercept {
            names.truncate(columns - usize::from(data.names.is_none()));
            names.insert(0, provi_table::INTERCEPT.to_owned());
        }
        let top = match deviation {
            Some(sd) => Prior::scale(sd).map_err(raise)?,
            // The prior of the rows without their groups.
            None => {
                let flat = Glm::logistic(design.clone(), &response, Prior::default()).map_err(raise)?;
                data.prior.settle(data.weigh(flat)?)?.prior().clone()
            }
        };
        let model =
            hierarchical_logistic_scaled(&design, &response, &groups, &top, group_scale).map_err(raise)?;
        let of_groups = levels.iter().flat_map(|g| names.iter().map(move |j| format!("z[{g},{j}]")));
        let all = names.iter().map(|j| format!("theta[{j}]")).chain(of_groups).collect();
        Ok(Data { names: Some(all), intercept: false, ..data }.dress(model)?.into())
    }

    /// A Python function of a batch (n, d), or of a point (d,).
    #[staticmethod]
    fn callback(
        function: Bound<'_, PyAny>,
        dim: usize,
        batched: bool,
        names: Option<Vec<String>>,
        mu: Option<Side<'_>>,
        smoothness: Option<Side<'_>>,
    ) -> PyResult<Self> {
        if !function.is_callable() {
            let kind = function.get_type().name()?;
            return Err(PyTypeError::new_err(format!("{kind} is not callable; give a function of an array")));
        }
        check_dim(dim)?;
        let kind = Kind::Callback(Callback::new(function.unbind(), dim, batched));
        Self::black_box(kind, dim, names, curvature(dim, mu, smoothness)?)
    }

    /// A Python function of points (n, d), indices (b,) and weights (b,), and a function of points for the part
    /// that is no term.
    #[staticmethod]
    #[allow(clippy::too_many_arguments)]
    fn finite_sum(
        function: Bound<'_, PyAny>,
        rest: Option<Bound<'_, PyAny>>,
        terms: usize,
        dim: usize,
        names: Option<Vec<String>>,
        mu: Option<Side<'_>>,
        smoothness: Option<Side<'_>>,
        term_smoothness: Option<PyReadonlyArray1<'_, f64>>,
    ) -> PyResult<Self> {
        check_dim(dim)?;
        let declare = |each| TermSmoothness::declared(numbers(&each)).map_err(raise);
        let each = term_smoothness.map(declare).transpose()?;
        let kind = Kind::FiniteSum(SumCallback::new(function, rest, dim, terms, each)?);
        Self::black_box(kind, dim, names, curvature(dim, mu, smoothness)?)
    }

    /// A C function by its address; `owner` keeps it and its data alive.
    #[staticmethod]
    #[allow(clippy::too_many_arguments)]
    fn native(
        address: usize,
        user: usize,
        thread_safe: bool,
        owner: Py<PyAny>,
        dim: usize,
        names: Option<Vec<String>>,
        mu: Option<Side<'_>>,
        smoothness: Option<Side<'_>>,
    ) -> PyResult<Self> {
        check_dim(dim)?;
        // SAFETY: the caller declares that the address is that of such a function; nobody could check it.
        let native = unsafe { Native::new(address, user, dim, thread_safe, owner) }
            .ok_or_else(|| PyValueError::new_err("the address of the C function is 0"))?;
        Self::black_box(Kind::Native(native), dim, names, curvature(dim, mu, smoothness)?)
    }

    /// The dimension d.
    #[getter]
    pub(crate) fn dim(&self) -> usize {
        match &*self.kind {
            Kind::Glm(model) => model.dim(),
            Kind::UnknownNoise(model) => model.glm.dim(),
            Kind::Callback(callback) => callback.dim,
            Kind::FiniteSum(sum) => sum.dim,
            Kind::Native(native) => native.dim(),
            Kind::Compiled(compiled) => compiled.dim(),
        }
    }

    /// A name for each coordinate.
    #[getter]
    fn names(&self) -> Vec<String> {
        match (&*self.kind, &self.names) {
            (_, Some(names)) => names.clone(),
            (Kind::Glm(model), None) => model.names(),
            (Kind::UnknownNoise(model), None) => model.glm.names(),
            (Kind::Callback(callback), None) => Session::new(callback, &AtomicBool::new(false)).names(),
            (Kind::FiniteSum(sum), None) => (0..sum.dim).map(|i| format!("z{i}")).collect(),
            (Kind::Native(native), None) => native.names(),
            (Kind::Compiled(compiled), None) => compiled.names(),
        }
    }

    /// The noise σ of a model that has one, unless it is integrated over.
    #[getter]
    fn noise_sd(&self) -> Option<f64> {
        match &*self.kind {
            Kind::Glm(model) => model.family().noise_sd(),
            Kind::UnknownNoise(model) => model.integrating.is_none().then_some(model.scale.sd),
            _ => None,
        }
    }

    /// The family's name, or what kind of black box it is.
    #[getter]
    fn family(&self) -> &'static str {
        match &*self.kind {
            Kind::Glm(model) => model.family().name(),
            Kind::UnknownNoise(model) => model.glm.family().name(),
            Kind::Callback(_) | Kind::FiniteSum(_) => "python function",
            Kind::Native(_) => "C function",
            Kind::Compiled(compiled) if compiled.stan().is_some() => "stan model",
            Kind::Compiled(_) => "library",
        }
    }

    /// Rows of data.
    #[getter]
    fn rows(&self) -> Option<usize> {
        match &*self.kind {
            Kind::FiniteSum(sum) => Some(sum.terms),
            kind => kind.glm().map(|model| model.design().rows()),
        }
    }

    #[getter]
    fn is_sparse(&self) -> bool {
        self.kind.glm().is_some_and(|model| model.design().is_sparse())
    }
}

impl From<Compiled> for Model {
    fn from(compiled: Compiled) -> Self {
        // Its record, its names and its declared curvature are its own.
        let kind = Arc::new(Kind::Compiled(compiled.into()));
        Self { kind, names: None, curvature: None, about: About::default() }
    }
}

impl Model {
    /// Refuses to evaluate code that takes one call at a time from inside such a call: the run would wait for
    /// itself.
    pub(crate) fn check_entry(&self) -> PyResult<()> {
        let gate = match &*self.kind {
            Kind::Native(native) => native.gate(),
            Kind::Compiled(compiled) => compiled.gate(),
            Kind::Glm(_) | Kind::UnknownNoise(_) | Kind::Callback(_) | Kind::FiniteSum(_) => return Ok(()),
        };
        gate.check().map_err(raise)
    }

    fn black_box(
        kind: Kind,
        dim: usize,
        names: Option<Vec<String>>,
        curvature: Option<Curvature>,
    ) -> PyResult<Self> {
        if dim == 0 {
            return Err(raise(provi::Error::Empty { what: "target (dimension 0)" }));
        }
        if let Some(found) = names.as_ref().map(Vec::len).filter(|&found| found != dim) {
            return Err(raise(provi::Error::Shape { what: "names", found, expected: dim }));
        }
        Ok(Self { kind: Arc::new(kind), names, curvature, about: About::default() })
    }
}
