//! A density from a library, of Stan or another language, with what its user declares about it.

mod source;

pub use crate::record::library::{ConstrainedRecord, LibraryRecord};
pub use source::{Data, Digests, Source};

use std::path::Path;
use std::process::Command;

use provi::target::{Evaluator, Target};
use provi::{Curvature, Gaussian, Matrix, Quadratic, Seed};
use provi_ffi::probe::{self, Request};
use provi_ffi::{Gate, Include, NativeModel, Posterior, StanModel, compile};

use crate::error::{Error, Result};
use crate::record::about::About;
use crate::record::fit_file::Kind;
use source::read;

/// The scale to which a certificate of a Stan model refers.
pub const SPACE: &str =
    "about the unconstrained parameters, in which Stan computes; nothing is proved on the constrained scale";

/// Number of draws for quantities on the constrained scale.
const DRAWS: usize = 4000;

/// An opened library, which is a target.
#[derive(Debug)]
pub struct Compiled {
    model: Opened,
    curvature: Option<Curvature>,
    start: Option<Vec<f64>>,
    title: String,
    data: String,
    digests: Digests,
    record: LibraryRecord,
}

#[derive(Debug)]
enum Opened {
    Stan(StanModel),
    Native(NativeModel),
}

impl Compiled {
    /// Compiles if necessary, probes the library in a process of its own started by `prober` (a command that ends
    /// in [`probe::child`]), and opens it.
    pub fn open(source: &Source, prober: Option<Command>) -> Result<Self> {
        let data = source.data.as_ref().map(Data::contents).transpose()?;
        let digests = source.digests(data.as_deref())?;
        let path = match compile::is_source(&source.path) {
            true => compile::compile(&source.path, source.bridgestan.as_deref())?,
            false => source.path.clone(),
        };
        let kind = if source.stan { probe::Kind::Stan } else { probe::Kind::Native };
        if let Some(prober) = prober {
            let request = Request { kind, path: path.clone(), data: data.clone(), seed: source.seed };
            probe::check(prober, &request)?;
        }
        let model = match kind {
            probe::Kind::Stan => Opened::Stan(StanModel::open(&path, data.as_deref(), source.seed)?),
            probe::Kind::Native => Opened::Native(NativeModel::open(&path, data.as_deref())?),
        };
        let title = match &model {
            Opened::Stan(model) => format!("Stan model {}", model.name()),
            Opened::Native(_) => format!("log density of {}", source.path.display()),
        };
        let mut out = Self {
            model,
            curvature: None,
            start: None,
            title,
            data: source.data.as_ref().map(Data::called).unwrap_or_default(),
            record: LibraryRecord {
                path: source.path.display().to_string(),
                sha256: digests.model.clone().unwrap_or_default(),
                mu: source.convexity,
                smoothness: source.smoothness,
            },
            digests,
        };
        if let Some(convexity) = source.convexity {
            let upper = source.smoothness.map(Quadratic::Scalar);
            out.curvature = Some(Curvature::declared(out.dim(), Quadratic::Scalar(convexity), upper)?);
        }
        if let Some(path) = &source.init {
            out.start = Some(out.init(path)?);
        }
        Ok(out)
    }

    /// The target; evaluated in parallel if the library allows it.
    pub fn target(&self) -> Evaluator<'_> {
        Evaluator::Parallel(self)
    }

    /// The unconstrained point to start from, if one was given.
    pub fn start(&self) -> Option<&[f64]> {
        self.start.as_deref()
    }

    /// The Stan model, if it is one.
    pub fn stan(&self) -> Option<&StanModel> {
        match &self.model {
            Opened::Stan(model) => Some(model),
            Opened::Native(_) => None,
        }
    }

    /// Whether threads may call the library at the same time.
    pub fn gate(&self) -> Gate {
        let thread_safe = match &self.model {
            Opened::Stan(model) => model.is_thread_safe(),
            Opened::Native(model) => model.is_thread_safe(),
        };
        Gate::new(thread_safe)
    }

    pub(crate) fn kind(&self) -> Kind {
        if self.stan().is_some() { Kind::Stan } else { Kind::Library }
    }

    pub(crate) fn about(&self) -> About {
        let (title, data) = (Some(self.title.clone()), self.data.clone());
        let data_sha256 = self.digests.data.clone().unwrap_or_default();
        About { title, data, data_sha256, ..About::default() }
    }

    pub(crate) fn record(&self) -> &LibraryRecord {
        &self.record
    }

    /// The SHA-256 digests of the files from which it was opened.
    pub fn digests(&self) -> &Digests {
        &self.digests
    }

    /// A Stan model's own quantities under a fit; `None` for other libraries.
    pub fn constrained(
        &self,
        q: &Gaussian,
        include: Include,
        level: f64,
        seed: Seed,
    ) -> Result<Option<ConstrainedRecord>> {
        let Some(model) = self.stan() else { return Ok(None) };
        let found = Posterior::measure(model, q, include, DRAWS, level, seed)?;
        Ok(Some(ConstrainedRecord {
            names: found.names,
            mean: found.mean,
            sd: found.sd,
            lower: found.lower,
            upper: found.upper,
            level,
            pareto_k: Some(found.pareto_k).filter(|k| k.is_finite()),
            weighted: found.weighted,
            draws: found.draws,
        }))
    }

    /// Draws on the constrained scale, with their names; `None` for other libraries.
    pub fn constrain(
        &self,
        points: &Matrix,
        include: Include,
        seed: Seed,
    ) -> Result<Option<(Vec<String>, Matrix)>> {
        let Some(model) = self.stan() else { return Ok(None) };
        let names = model.constrained_names(include)?;
        Ok(Some((names, model.constrain(points, include, seed.0 as u32)?)))
    }

    /// Reads starting values: of parameters for Stan; for others an object of names and numbers, or a list.
    fn init(&self, path: &Path) -> Result<Vec<f64>> {
        let text = read(path)?;
        let bad = |reason: String| Error::BadInit { path: path.to_owned(), reason };
        if let Some(model) = self.stan() {
            return Ok(model.unconstrain(&text)?);
        }
        let value: serde_json::Value = serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
        let values: Option<Vec<f64>> = match &value {
            serde_json::Value::Array(list) => list.iter().map(serde_json::Value::as_f64).collect(),
            _ => self.names().iter().map(|name| value.get(name)?.as_f64()).collect(),
        };
        values.filter(|values| values.len() == self.dim()).ok_or_else(|| {
            bad(format!(
                "a list of {} numbers, or one for each of {}, is needed",
                self.dim(),
                self.names().join(", ")
            ))
        })
    }
}

impl Target for Compiled {
    provi::forward_target!(self => self.inner(); all_but_curvature);

    /// A curvature declared by the user takes precedence over one that the library declares.
    fn curvature(&self) -> provi::Result<Option<Curvature>> {
        match &self.curvature {
            Some(curvature) => Ok(Some(curvature.clone())),
            None => self.inner().curvature(),
        }
    }
}

impl Compiled {
    fn inner(&self) -> &dyn Target {
        match &self.model {
            Opened::Stan(model) => model,
            Opened::Native(model) => model,
        }
    }
}
