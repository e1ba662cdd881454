//! Effects of a fit's variables.

use numpy::IntoPyArray;
use provi_analysis::run::effects::{Effect, EffectsAsked, Setting};
use provi_analysis::show::effects::CURVE;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::answer::Answer;
use crate::columns::Source;
use crate::error::refuse;
use crate::wait::interruptible;

/// Effects of the variables as columns, the sentences about them, and the page with their picture; without data on a grid.
#[pyfunction]
pub(crate) fn effects<'py>(
    py: Python<'py>,
    answer: &Answer,
    source: Option<Source<'_>>,
    asked: &Bound<'py, PyDict>,
) -> PyResult<(Bound<'py, PyDict>, Vec<String>, String)> {
    let asked = effects_asked(asked)?;
    let fitted = answer.fitted.clone();
    let data = source.map(|source| source.data(&fitted.file.model.formula)).transpose()?;
    let found = interruptible(py, move || {
        let refuse = |error| provi_analysis::Error::table(error, &fitted.file.model.formula);
        let table = data.as_ref().map(|data| data.table()).transpose().map_err(refuse)?;
        let found = fitted.effects(&asked, table.as_deref(), None)?;
        let notes = found.setting().into_iter().chain(found.grounds(&fitted)).collect();
        let page = found.page(&fitted).html();
        Ok((found, notes, page))
    })?;
    let (found, notes, page) = found.map_err(refuse)?;
    let out = PyDict::new(py);
    let effects = &found.effects;
    let words = |name: &str, pick: &dyn Fn(&Effect) -> Option<String>| {
        out.set_item(name, effects.iter().map(pick).collect::<Vec<_>>())
    };
    words("variable", &|effect| Some(effect.variable.clone()))?;
    words("effect", &|effect| Some(effect.what(found.compare)))?;
    let setting = |at: &Option<Setting>| -> PyResult<Py<PyAny>> {
        Ok(match at {
            None => py.None(),
            Some(Setting::Number(x)) => x.into_pyobject(py)?.into_any().unbind(),
            Some(other) => other.to_string().into_pyobject(py)?.into_any().unbind(),
        })
    };
    type Pick = fn(&Effect) -> &Option<Setting>;
    let settings: [(&str, Pick); 3] = [
        ("value", |effect| &effect.value),
        ("reference", |effect| &effect.reference),
        ("by", |effect| &effect.by),
    ];
    for (name, pick) in settings {
        out.set_item(
            name,
            effects.iter().map(|effect| setting(pick(effect))).collect::<PyResult<Vec<_>>>()?,
        )?;
    }
    if found.has_outcomes() {
        words("outcome", &|effect| effect.outcome.clone())?;
    }
    let numbers = |name: &str, pick: fn(&Effect) -> f64| {
        out.set_item(name, effects.iter().map(pick).collect::<Vec<_>>().into_pyarray(py))
    };
    numbers("estimate", |effect| effect.estimate)?;
    numbers("low", |effect| effect.low)?;
    numbers("high", |effect| effect.high)?;
    numbers("error", |effect| effect.error.unwrap_or(f64::NAN))?;
    words("status", &|effect| Some(effect.status.to_owned()))?;
    words("interval", &|effect| Some(effect.interval.to_owned()))?;
    Ok((out, notes, page))
}

/// The options of [`effects`] by their names in Python.
fn effects_asked(options: &Bound<'_, PyDict>) -> PyResult<EffectsAsked> {
    let mut asked = EffectsAsked { points: CURVE, ..EffectsAsked::default() };
    let wrong = |text: String| PyValueError::new_err(text);
    for (key, value) in options {
        match key.extract::<String>()?.as_str() {
            "variables" => asked.variables = value.extract()?,
            "by" => asked.by = value.extract()?,
            "kind" => asked.kind = Some(value.extract::<String>()?.parse().map_err(wrong)?),
            "scale" => asked.scale = value.extract::<String>()?.parse().map_err(wrong)?,
            "compare" => asked.compare = value.extract::<String>()?.parse().map_err(wrong)?,
            "values" => asked.values = value.extract()?,
            "at" => asked.at = value.extract()?,
            "points" => asked.points = value.extract()?,
            "level" => asked.level = value.extract()?,
            "draws" => asked.draws = value.extract()?,
            "seed" => asked.seed = value.extract()?,
            other => return Err(wrong(format!("effects() has no option `{other}`"))),
        }
    }
    Ok(asked)
}
