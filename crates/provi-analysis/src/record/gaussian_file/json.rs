//! fit.json, or any JSON object with a mean and a covariance or its factor.

use std::path::Path;

use provi::sparse::SparseGaussian;
use serde_json::{Map, Value};

use super::{GaussianFile, Spread, checked, is_spoiled, spoiled};
use crate::error::BadFit;
use crate::record::fit_file::{FitFile, sha256};
use crate::record::store::SPARSE;

const MEAN: &[&str] = &["mean", "m"];
const COVARIANCE: &[&str] = &["covariance", "cov", "S"];
const FACTOR: &[&str] = &["factor", "L", "C"];

pub(super) fn read(text: &str, path: &Path) -> Result<GaussianFile, BadFit> {
    let value: Value = serde_json::from_str(text).map_err(|error| BadFit::Json(error.to_string()))?;
    let Value::Object(object) = &value else { return Err(BadFit::Missing("`mean`: it is no object")) };
    if object.get("schema").and_then(Value::as_str).is_some_and(|schema| schema.starts_with("provi-fit/")) {
        let record = serde_json::from_value(value).map_err(|error| BadFit::Record(error.to_string()))?;
        return own(record, path);
    }
    if let Some(law) = object.get("base_law").and_then(Value::as_str) {
        return Err(BadFit::BaseLaw(law.to_owned()));
    }
    let (key, mean) = one_of(object, MEAN)?.ok_or(BadFit::Missing("mean (`mean` or `m`)"))?;
    let mean = numbers(mean, key)?;
    let spread = match (one_of(object, COVARIANCE)?, one_of(object, FACTOR)?) {
        (Some((a, _)), Some((b, _))) => return Err(BadFit::Both(a.to_owned(), b.to_owned())),
        (Some((key, value)), None) => Spread::Covariance(matrix(value, key)?),
        (None, Some((key, value))) => Spread::Factor(triangle(value, key)?),
        (None, None) => {
            return Err(BadFit::Missing(
                "covariance (`covariance`, `cov` or `S`) and no factor of one (`factor`, `L` or `C`)",
            ));
        }
    };
    let names = object.get("names").filter(|names| !names.is_null()).map(strings).transpose()?;
    let spread = checked(&mean, spread)?;
    Ok(GaussianFile { path: path.to_owned(), names, mean, spread, record: None })
}

/// A file that provi wrote; a large fit has its factor in another file.
fn own(mut record: FitFile, path: &Path) -> Result<GaussianFile, BadFit> {
    if let Some(mixture) = &mut record.mixture
        && let Some(file) = mixture.factor_file.clone()
    {
        let bytes = beside(path, &file, mixture.factor_sha256.as_deref())?;
        if !mixture.read_factors(&bytes) {
            let reason = format!("{} bytes do not fit its nodes", bytes.len());
            return Err(BadFit::Factor { file, reason });
        }
    }
    let mean = record.mean.clone();
    let spread = match (&record.covariance, &record.factor_file) {
        (Some(rows), file) => {
            for (i, row) in rows.iter().enumerate() {
                row_length(row.len(), mean.len(), || format!("row {i} of the covariance"))?;
            }
            let covariance = rows.concat();
            let found = match is_spoiled(&mean, &covariance) {
                true => {
                    let kept = file.as_ref().map(|file| kept_factor(&record, path, file)).transpose();
                    // What a command printed has no file beside it.
                    let kept =
                        kept.or_else(
                            |error| if let BadFit::Factor { .. } = error { Ok(None) } else { Err(error) },
                        )?;
                    spoiled::factor(&record, kept, &covariance)
                }
                false => None,
            };
            found.map_or(Spread::Covariance(covariance), Spread::Factor)
        }
        (None, Some(file)) if file == SPARSE => {
            let bytes = beside(path, file, record.factor_sha256.as_deref())?;
            let broken = |reason: String| BadFit::Factor { file: file.clone(), reason };
            let found = SparseGaussian::from_bytes(&bytes).map_err(|error| broken(error.to_string()))?;
            let one = found.into_iter().next().ok_or_else(|| broken("it holds no Gaussian".to_owned()))?;
            Spread::Sparse(Box::new(one))
        }
        (None, Some(file)) => Spread::Factor(kept_factor(&record, path, file)?),
        (None, None) => return Err(BadFit::Missing("covariance")),
    };
    let spread = checked(&mean, spread)?;
    let names = Some(record.names.clone());
    Ok(GaussianFile { path: path.to_owned(), names, mean, spread, record: Some(Box::new(record)) })
}

/// The factor in the file beside this one.
fn kept_factor(record: &FitFile, path: &Path, file: &str) -> Result<Vec<f64>, BadFit> {
    let bytes = beside(path, file, record.factor_sha256.as_deref())?;
    Ok(bytes.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect())
}

/// The bytes of a file beside this one, which must have that digest.
fn beside(path: &Path, file: &str, sha: Option<&str>) -> Result<Vec<u8>, BadFit> {
    let bytes = std::fs::read(path.with_file_name(file))
        .map_err(|error| BadFit::Factor { file: file.to_owned(), reason: error.to_string() })?;
    let found = sha256(&bytes);
    match sha.filter(|expected| *expected != found) {
        Some(expected) => {
            Err(BadFit::FactorHash { file: file.to_owned(), found, expected: expected.to_owned() })
        }
        None => Ok(bytes),
    }
}

/// The value under one of these keys; at most one of them may be present.
fn one_of<'v>(
    object: &'v Map<String, Value>,
    keys: &[&'static str],
) -> Result<Option<(&'static str, &'v Value)>, BadFit> {
    let mut there =
        keys.iter().filter_map(|key| object.get(*key).filter(|v| !v.is_null()).map(|v| (*key, v)));
    match (there.next(), there.next()) {
        (Some((a, _)), Some((b, _))) => Err(BadFit::Both(a.to_owned(), b.to_owned())),
        (first, _) => Ok(first),
    }
}

fn list<'v>(value: &'v Value, place: &str) -> Result<&'v Vec<Value>, BadFit> {
    value.as_array().ok_or_else(|| BadFit::NotList { place: format!("`{place}`"), found: kind(value) })
}

fn numbers(value: &Value, place: &str) -> Result<Vec<f64>, BadFit> {
    let number = |(i, x): (usize, &Value)| {
        x.as_f64().ok_or_else(|| BadFit::NotNumber { place: format!("`{place}`[{i}]"), found: kind(x) })
    };
    list(value, place)?.iter().enumerate().map(number).collect()
}

fn strings(value: &Value) -> Result<Vec<String>, BadFit> {
    let string = |x: &Value| {
        let place = "an entry of `names`".to_owned();
        x.as_str().map(str::to_owned).ok_or(BadFit::NotList { place, found: kind(x) })
    };
    list(value, "names")?.iter().map(string).collect()
}

/// The rows of a list of lists; `None` for a flat list.
fn rows(value: &Value, place: &str) -> Result<Option<Vec<Vec<f64>>>, BadFit> {
    let outer = list(value, place)?;
    if !outer.iter().any(Value::is_array) {
        return Ok(None);
    }
    let row = |(i, row): (usize, &Value)| numbers(row, &format!("{place}[{i}]"));
    outer.iter().enumerate().map(row).collect::<Result<_, _>>().map(Some)
}

/// A square matrix, as rows or as one list.
fn matrix(value: &Value, place: &str) -> Result<Vec<f64>, BadFit> {
    let Some(rows) = rows(value, place)? else { return numbers(value, place) };
    for (i, row) in rows.iter().enumerate() {
        row_length(row.len(), rows.len(), || format!("`{place}`[{i}]"))?;
    }
    Ok(rows.concat())
}

/// A lower triangle: full rows with zeros above the diagonal, rows that end at the diagonal, or all of those in one
/// list.
fn triangle(value: &Value, place: &str) -> Result<Vec<f64>, BadFit> {
    let Some(rows) = rows(value, place)? else { return numbers(value, place) };
    let mut packed = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        if row.len() != i + 1 {
            row_length(row.len(), rows.len(), || format!("`{place}`[{i}]"))?;
        }
        let (lower, above) = row.split_at(i + 1);
        if let Some(j) = above.iter().position(|x| x.abs() > 0.0) {
            let (place, found) = (format!("`{place}`[{i}][{}]", i + 1 + j), above[j]);
            return Err(BadFit::NotLower { place, found });
        }
        packed.extend_from_slice(lower);
    }
    Ok(packed)
}

fn row_length(found: usize, expected: usize, place: impl Fn() -> String) -> Result<(), BadFit> {
    if found == expected { Ok(()) } else { Err(BadFit::Row { place: place(), found, expected }) }
}

fn kind(value: &Value) -> String {
    match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        other => other.to_string(),
    }
}
