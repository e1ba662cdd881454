//! From one JSON text to the options of every shell.
//!
//! The options are those of `provi_analysis::options`: their names, types and error messages are read from there. A key is that of a
//! run file, with `-` or `_`, in a table as there or without one. A key that is given twice is refused.

use std::time::Duration;

use provi_analysis::options::Layer;
use provi_analysis::options::{
    AuditOptions, DeviceName, FamilyName, ModelOptions, RunOptions, ScalesName, SearchOptions, StepOptions,
    in_keywords, keys_of,
};
use serde::de::{DeserializeOwned, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::error::Category;
use serde_json::{Map, Value};

use crate::error::{Refused, Result};

/// The most threads that are started: more than any machine can use, and few enough to start.
const MOST_THREADS: u32 = 1024;

/// Keys of a run file that are tables there: here their own keys may stand beside the others too.
const GROUPS: [&str; 3] = ["step", "audit", "model"];

/// Options of a model that a design has too.
const OF_DESIGN: [&str; 4] = ["family", "noise-sd", "prior-scale", "scales"];

/// What is declared about a C function.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct DensityOptions {
    /// μ: the Hessian of −log p is at least μI at every point.
    pub(crate) convexity: Option<f64>,
    /// M: it is at most MI.
    pub(crate) smoothness: Option<f64>,
    /// Whether several threads may call at once.
    pub(crate) thread_safe: bool,
    /// Where the search begins.
    pub(crate) start: Option<Vec<f64>>,
}

/// How draws of the posterior itself are made.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct ExactOptions {
    /// The total variation from the posterior that is allowed where exact draws cost too much.
    pub(crate) tv: Option<f64>,
    /// Where log densities are taken.
    pub(crate) device: Option<DeviceName>,
    /// Threads to use.
    pub(crate) threads: Option<u32>,
    /// Stop after this many seconds, with the draws so far.
    pub(crate) time_limit: Option<f64>,
}

impl DensityOptions {
    /// Refuses threads that would not be used.
    fn check_threads(&self, threads: Option<u32>) -> Result<()> {
        match threads.filter(|_| !self.thread_safe) {
            Some(threads) => Err(Refused::OneThread { threads }),
            None => Ok(()),
        }
    }
}

impl ExactOptions {
    /// The time limit as a duration; `None` for no limit.
    pub(crate) fn limit(&self) -> Result<Option<Duration>> {
        Ok(RunOptions { time_limit: self.time_limit, ..RunOptions::default() }.limit()?)
    }
}

/// What a design says of its model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DesignModel {
    pub(crate) family: FamilyName,
    pub(crate) noise_sd: Option<f64>,
    pub(crate) prior_scale: Option<f64>,
    pub(crate) scales: Option<ScalesName>,
}

/// The options of a formula.
pub(crate) fn of_formula(text: Option<&str>) -> Result<(ModelOptions, RunOptions)> {
    let mut given = Given::parse(text)?;
    let found = (given.take()?, given.run()?);
    given.finish()?;
    Ok(found)
}

/// The options of a design.
pub(crate) fn of_design(text: Option<&str>) -> Result<(DesignModel, RunOptions)> {
    let mut given = Given::parse(text)?;
    given.refuse_tables(&OF_DESIGN)?;
    let (model, run) = (given.take::<ModelOptions>()?, given.run()?);
    given.known.retain(|key| !keys_of::<ModelOptions>().contains(key) || OF_DESIGN.contains(key));
    given.finish()?;
    let known = || FamilyName::ALL.into_iter().filter(|family| family_of_design(*family).is_ok());
    let listed = || known().map(FamilyName::name).collect::<Vec<_>>().join(", ");
    let family = model.family.ok_or_else(|| Refused::NoFamily { known: listed() })?;
    let has_noise = family_of_design(family)?;
    let model = DesignModel {
        family,
        noise_sd: model.noise_sd,
        prior_scale: model.prior_scale,
        scales: model.scales,
    };
    let of_noise = [("noise_sd", model.noise_sd.is_some()), ("scales", model.scales.is_some())];
    match of_noise.into_iter().find(|(_, given)| *given && !has_noise) {
        Some((key, _)) => Err(Refused::NoNoise { family: family.name(), key }),
        None => Ok((model, run)),
    }
}

/// Whether the family has a noise; an error if one number is not all that it needs of a response.
fn family_of_design(family: FamilyName) -> Result<bool> {
    match family {
        FamilyName::Gaussian | FamilyName::Gamma | FamilyName::Negbinomial => Ok(true),
        FamilyName::Bernoulli
        | FamilyName::Probit
        | FamilyName::Cloglog
        | FamilyName::Poisson
        | FamilyName::Exponential => Ok(false),
        _ => Err(Refused::OfFormula { family: family.name() }),
    }
}

/// The options of a C function.
pub(crate) fn of_density(text: Option<&str>) -> Result<(DensityOptions, RunOptions)> {
    let mut given = Given::parse(text)?;
    given.refuse_tables(&[])?;
    let (declared, run) = (given.density()?, given.run()?);
    given.finish()?;
    declared.check_threads(run.threads)?;
    Ok((declared, run))
}

/// The options of draws of the posterior itself.
pub(crate) fn of_exact(text: Option<&str>) -> Result<ExactOptions> {
    let mut given = Given::parse(text)?;
    let found = given.exact()?;
    given.finish()?;
    Ok(found)
}

/// The same for a C function, with what is declared about it.
pub(crate) fn of_exact_density(text: Option<&str>) -> Result<(DensityOptions, ExactOptions)> {
    let mut given = Given::parse(text)?;
    let (declared, exact) = (given.density()?, given.exact()?);
    given.finish()?;
    declared.check_threads(exact.threads)?;
    Ok((declared, exact))
}

/// What is written in the text, as far as it has not been taken.
struct Given {
    left: Map<String, Value>,
    /// The keys that have been asked for.
    known: Vec<&'static str>,
}

impl Given {
    /// NULL and null are no options.
    fn parse(text: Option<&str>) -> Result<Self> {
        let parsed = match text {
            None => Value::Null,
            Some(text) => match serde_json::from_str(text) {
                Ok(Once(parsed)) => parsed,
                // Any value will do, so that what is wrong about data is a key that is there twice.
                Err(error) if error.classify() == Category::Data => {
                    return Err(Refused::Twice { said: error.to_string() });
                }
                Err(error) => return Err(Refused::NotJson { reason: error.to_string() }),
            },
        };
        let mut given = Self { left: Map::new(), known: Vec::new() };
        match parsed {
            Value::Null => {}
            Value::Object(entries) => given.add(entries, true)?,
            other => return Err(Refused::NotJson { reason: format!("{other} has no keys") }),
        }
        Ok(given)
    }

    /// Adds what is written, with the keys of a run file's tables beside the others.
    fn add(&mut self, entries: Map<String, Value>, with_tables: bool) -> Result<()> {
        for (key, value) in entries.into_iter().filter(|(_, value)| !value.is_null()) {
            let key = key.replace('_', "-");
            match value {
                Value::Object(table) if with_tables && GROUPS.contains(&&*key) => self.add(table, false)?,
                _ if self.left.contains_key(&key) => return Err(twice(&key)),
                value => drop(self.left.insert(key, value)),
            }
        }
        Ok(())
    }

    /// What is declared about a C function. A run file and Python call the convexity μ.
    fn density(&mut self) -> Result<DensityOptions> {
        if let Some(mu) = self.left.remove("mu") {
            match self.left.contains_key("convexity") {
                true => {
                    let said = "mu and convexity are two names of one option".to_owned();
                    return Err(Refused::Twice { said });
                }
                false => drop(self.left.insert("convexity".to_owned(), mu)),
            }
        }
        self.take()
    }

    /// How exact draws are made.
    fn exact(&mut self) -> Result<ExactOptions> {
        let found: ExactOptions = self.take()?;
        check_threads(found.threads)?;
        found.limit()?;
        Ok(found)
    }

    /// The options of a run.
    fn run(&mut self) -> Result<RunOptions> {
        let groups = RunOptions {
            step: self.take::<StepOptions>()?,
            audit: self.take::<AuditOptions>()?,
            search: self.take::<SearchOptions>()?,
            ..RunOptions::default()
        };
        let run = self.take::<RunOptions>()?.over(groups);
        check_threads(run.threads)?;
        run.check()?;
        Ok(run)
    }

    /// A value of a type, from its own keys.
    fn take<T: DeserializeOwned>(&mut self) -> Result<T> {
        let mut its = Map::new();
        for key in keys_of::<T>().iter().filter(|key| !GROUPS.contains(key)) {
            self.known.push(key);
            if let Some(value) = self.left.remove(*key) {
                its.insert((*key).to_owned(), fitting::<T>(key, value)?);
            }
        }
        read(its).map_err(|reason| Refused::NotJson { reason })
    }

    /// Refuses options about tables, other than these.
    fn refuse_tables(&self, others: &[&str]) -> Result<()> {
        let of_tables = keys_of::<ModelOptions>().iter().filter(|key| !others.contains(key));
        match of_tables.into_iter().find(|key| self.left.contains_key(**key)) {
            Some(key) => Err(Refused::OfTables { key: spelled(key) }),
            None => Ok(()),
        }
    }

    /// Refuses keys that no type took.
    fn finish(self) -> Result<()> {
        match self.left.keys().next() {
            Some(key) => {
                let known = self.known.iter().map(|key| spelled(key)).collect();
                Err(Refused::Unknown { key: spelled(key), known })
            }
            None => Ok(()),
        }
    }
}

/// The value as the type can read it: where it wants several, one is a list of one.
fn fitting<T: DeserializeOwned>(key: &str, value: Value) -> Result<Value> {
    let alone = |value: &Value| read::<T>(Map::from_iter([(key.to_owned(), value.clone())])).map(drop);
    let Err(reason) = alone(&value) else { return Ok(value) };
    let listed = Value::Array(vec![value.clone()]);
    match !value.is_array() && alone(&listed).is_ok() {
        true => Ok(listed),
        false => Err(Refused::Value { key: spelled(key), value: value.to_string(), reason }),
    }
}

fn read<T: DeserializeOwned>(entries: Map<String, Value>) -> std::result::Result<T, String> {
    serde_json::from_value(Value::Object(entries)).map_err(|error| in_keywords(&error.to_string()))
}

fn twice(key: &str) -> Refused {
    Refused::Twice { said: twice_words(key) }
}

fn twice_words(key: &str) -> String {
    format!("the option {} is there twice", spelled(key))
}

/// A value in which no key is there twice: JSON leaves open which of two would count.
struct Once(Value);

impl<'de> Deserialize<'de> for Once {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        from.deserialize_any(OnceVisitor)
    }
}

struct OnceVisitor;

impl<'de> Visitor<'de> for OnceVisitor {
    type Value = Once;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a value of JSON")
    }

    fn visit_unit<E: Error>(self) -> std::result::Result<Once, E> {
        Ok(Once(Value::Null))
    }

    fn visit_bool<E: Error>(self, x: bool) -> std::result::Result<Once, E> {
        Ok(Once(x.into()))
    }

    fn visit_i64<E: Error>(self, x: i64) -> std::result::Result<Once, E> {
        Ok(Once(x.into()))
    }

    fn visit_u64<E: Error>(self, x: u64) -> std::result::Result<Once, E> {
        Ok(Once(x.into()))
    }

    fn visit_f64<E: Error>(self, x: f64) -> std::result::Result<Once, E> {
        Ok(Once(x.into()))
    }

    fn visit_str<E: Error>(self, x: &str) -> std::result::Result<Once, E> {
        Ok(Once(x.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> std::result::Result<Once, A::Error> {
        let mut out = Vec::new();
        while let Some(Once(value)) = from.next_element()? {
            out.push(value);
        }
        Ok(Once(Value::Array(out)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> std::result::Result<Once, A::Error> {
        let mut out = Map::new();
        while let Some((key, Once(value))) = from.next_entry::<String, Once>()? {
            if out.contains_key(&key) {
                return Err(A::Error::custom(twice_words(&key)));
            }
            out.insert(key, value);
        }
        Ok(Once(Value::Object(out)))
    }
}

/// A key as messages of this shell have it.
fn spelled(key: &str) -> String {
    key.replace('-', "_")
}

fn check_threads(threads: Option<u32>) -> Result<()> {
    match threads.filter(|threads| !(1..=MOST_THREADS).contains(threads)) {
        Some(threads) => Err(Refused::Threads { threads, most: MOST_THREADS }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use provi_analysis::options::DefaultPrior;

    fn refused<T>(found: Result<T>) -> String {
        found.err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn keys_are_those_of_a_run_file() {
        let text = r#"{"prior_scale": 2.5, "family": "logistic", "na": "none", "audit-draws": 9, "seed": 18446744073709551615,
            "device": "cuda:1", "contrast": ["a - b"], "steps": null}"#;
        let (model, run) = of_formula(Some(text)).unwrap();
        assert_eq!((model.prior_scale, model.family), (Some(2.5), Some(FamilyName::Bernoulli)));
        assert_eq!((model.na, run.audit.audit_draws), (vec!["none".to_owned()], Some(9)));
        assert_eq!((run.seed, run.device, run.steps), (Some(u64::MAX), Some(DeviceName::Cuda(1)), None));
        assert_eq!(run.contrasts, ["a - b"]);
        assert!(of_formula(None).is_ok() && of_formula(Some(" {} ")).is_ok());
        let tables = r#"{"audit": {"audit-draws": 9}, "step": {"draws": 8}, "model": {"default-prior": "data", "time_unit": 2}}"#;
        let (model, run) = of_formula(Some(tables)).unwrap();
        assert_eq!((run.audit.audit_draws, run.step.draws, model.time_unit), (Some(9), Some(8), Some(2.0)));
        assert_eq!(model.default_prior, Some(DefaultPrior::Data));
        // A table in a table is none of a run file.
        assert!(refused(of_formula(Some(r#"{"audit": {"step": {}}}"#))).contains("step"));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let said = |text| refused(of_formula(Some(text)));
        assert!(said("{seed: 1}").starts_with("the options are not JSON: key must be a string at line 1"));
        assert!(said("[1]").starts_with("the options are not JSON: [1] has no keys"));
        let near = said(r#"{"prior_scales": 1}"#);
        assert!(
            near.starts_with("there is no option `prior_scales`; did you mean `prior_scale`? "),
            "{near}"
        );
        assert!(near.contains("noise_sd") && near.contains("device") && !near.contains("audit,"), "{near}");
        let typed = said(r#"{"noise-sd": "much"}"#);
        assert!(typed.starts_with("option noise_sd = \"much\": invalid type: string"), "{typed}");
        let named = said(r#"{"family": "laplace"}"#);
        assert!(named.contains("`laplace` is not a family; the families are gaussian, "), "{named}");
        let twin = said(r#"{"noise-sd": 1, "noise_sd": 2}"#);
        assert_eq!(twin, "the option noise_sd is there twice; leave one of the two out");
        let same = said("{\"seed\": 1,\n \"seed\": 1}");
        assert_eq!(same, "the option seed is there twice at line 2 column 11; leave one of the two out");
        let beside = said(r#"{"audit": {"kl": 1}, "kl": 1}"#);
        assert_eq!(beside, "the option kl is there twice; leave one of the two out");
        assert!(
            said(r#"{"audit": {"kl": 1, "kl": 1}}"#).starts_with("the option kl is there twice at line 1")
        );
        assert_eq!(said(r#"{"threads": 0}"#), "threads = 0; must be between 1 and 1024");
        assert!(said(r#"{"device": "gpu"}"#).contains("`gpu` is not a device; use auto, cpu or cuda:0"));
        assert!(said(r#"{"time_limit": -1}"#).contains("-1"));
    }

    #[test]
    fn a_design_has_no_options_of_columns() {
        let said = |text| refused(of_design(Some(text)));
        assert!(said(r#"{"weights": "w"}"#).starts_with("the option weights is about columns of a table"));
        assert!(said("{}").ends_with(
            "give the option family: gaussian, bernoulli, probit, cloglog, poisson, negbinomial, gamma, exponential"
        ));
        assert!(
            said(r#"{"family": "binomial"}"#).starts_with("the family binomial needs more than one number")
        );
        assert!(said(r#"{"family": "poisson", "noise_sd": 1}"#).contains("poisson has no noise; leave"));
        assert!(!said(r#"{"famili": "poisson"}"#).contains("weights"));
        let (model, _) = of_design(Some(r#"{"family": "gamma", "noise_sd": 1}"#)).unwrap();
        assert_eq!((model.family, model.noise_sd), (FamilyName::Gamma, Some(1.0)));
    }

    #[test]
    fn a_density_declares_its_curvature() {
        let text = r#"{"convexity": 1, "smoothness": 4, "thread_safe": true, "start": [1, 2]}"#;
        let (density, _) = of_density(Some(text)).unwrap();
        assert_eq!(
            (density.convexity, density.smoothness, density.thread_safe),
            (Some(1.0), Some(4.0), true)
        );
        assert_eq!(density.start, Some(vec![1.0, 2.0]));
        assert!(refused(of_density(Some(r#"{"family": "poisson"}"#))).contains("about columns of a table"));
        assert_eq!(of_exact(Some(r#"{"tv": 0.01}"#)).unwrap().tv, Some(0.01));
        let unknown = refused(of_exact(Some(r#"{"seed": 1}"#)));
        assert!(unknown.ends_with("the options are tv, device, threads, time_limit"), "{unknown}");
        assert!(refused(of_exact(Some(r#"{"time_limit": 0}"#))).contains("0"));
    }

    #[test]
    fn the_convexity_has_a_second_name_and_one_thread_takes_no_number() {
        let (density, _) = of_density(Some(r#"{"mu": 0.5}"#)).unwrap();
        assert_eq!(density.convexity, Some(0.5));
        assert!(
            refused(of_density(Some(r#"{"mu": 1, "convexity": 1}"#)))
                .starts_with("mu and convexity are two names")
        );
        for said in [
            refused(of_density(Some(r#"{"threads": 2}"#))),
            refused(of_exact_density(Some(r#"{"threads": 2, "mu": 1}"#))),
        ] {
            assert!(said.starts_with("threads = 2, and one thread alone calls a density"), "{said}");
        }
        assert!(of_density(Some(r#"{"threads": 2, "thread_safe": true}"#)).is_ok());
    }
}
