//! Draws as a Zarr store, version 3, that ArviZ opens.
//!
//! ```text
//! posterior      beta (chain, draw, coefficient); of scales that are integrated over, sd (chain, draw, scale) and sigma (chain, draw)
//! sample_stats   log_q and, with the data, lp and log_weight (chain, draw)
//! log_likelihood y (chain, draw, row): log p(y_n | draw) of every row of the data, where they are few enough to be kept
//! moments        mean, sd, mean_error, sd_error, probability_positive (coefficient)
//! ```
//! A Stan model has one variable for each of its own, `theta (chain, draw, theta_dim_0)`, and `beta` is in
//! `unconstrained_posterior`.
//!
//! There is one vector `beta` with the names as its coordinate rather than a variable for each coefficient, because
//! a name such as `a/b` cannot be a folder, and tables show `beta[age]`. Each array is one uncompressed chunk. All
//! metadata are repeated in the root, so that a reader opens one file. The bytes depend only on the fit and the
//! seed.

use serde_json::{Map, Value, json};

mod variable;

use crate::error::Result;
use crate::options::SIGMA;
use crate::record::fit_file::{FitFile, Kind};
use crate::run::fitted::Fitted;
use crate::run::sampled::Sampled;
use crate::show::rows::coefficients;
use variable::Variable;

/// The store's files, as (path, content).
pub fn files(sampled: &Sampled, fit: &Fitted) -> Result<Vec<(String, Vec<u8>)>> {
    let file = &fit.file;
    let mut store = Store::default();
    let (chains, dim) = (sampled.chains, sampled.names.len());
    let draws = sampled.points.rows() / chains;

    // If the draws have another scale as well, that scale is what a reader means by the posterior.
    let beta = if sampled.constrained.is_some() { "unconstrained_posterior" } else { "posterior" };
    store.group("posterior", attributes(file, sampled));
    store.count("posterior/chain", "chain", chains);
    store.count("posterior/draw", "draw", draws);
    if let Some((names, points)) = &sampled.constrained {
        store.group(beta, library(file));
        store.count(&format!("{beta}/chain"), "chain", chains);
        store.count(&format!("{beta}/draw"), "draw", draws);
        for variable in Variable::all(names) {
            variable.write(&mut store, chains, points);
        }
    }
    store.floats(
        &format!("{beta}/beta"),
        &[("chain", chains), ("draw", draws), ("coefficient", dim)],
        sampled.points.entries(),
    );
    store.strings(&format!("{beta}/coefficient"), "coefficient", &sampled.names);

    let shape = [("chain", chains), ("draw", draws)];
    if let Some((labels, values)) = &sampled.scales {
        let of = |k: usize| (0..values.rows()).map(move |row| values.row(row)[k]);
        if let Some(noise) = labels.iter().position(|label| label == SIGMA) {
            store.floats(&format!("{beta}/{SIGMA}"), &shape, &of(noise).collect::<Vec<_>>());
        }
        for (kind, dimension) in [("sd", "scale"), ("cor", "correlation")] {
            let inside = |label: &str| -> Option<String> {
                Some(label.strip_prefix(kind)?.strip_prefix('(')?.strip_suffix(')')?.to_owned())
            };
            let (places, names): (Vec<usize>, Vec<String>) =
                labels.iter().enumerate().filter_map(|(k, label)| Some((k, inside(label)?))).unzip();
            if names.is_empty() {
                continue;
            }
            let shape = [("chain", chains), ("draw", draws), (dimension, names.len())];
            let entries: Vec<f64> =
                (0..values.rows()).flat_map(|row| places.iter().map(move |&k| values.row(row)[k])).collect();
            store.floats(&format!("{beta}/{kind}"), &shape, &entries);
            store.strings(&format!("{beta}/{dimension}"), dimension, &names);
        }
    }

    store.group("sample_stats", library(file));
    if !sampled.log_q.is_empty() {
        store.floats("sample_stats/log_q", &shape, &sampled.log_q);
    }
    if let Some(log_joint) = &sampled.log_joint {
        store.floats("sample_stats/lp", &shape, log_joint);
    }
    if let Some(log_weights) = sampled.log_weights() {
        store.floats("sample_stats/log_weight", &shape, &log_weights);
    }
    store.count("sample_stats/chain", "chain", chains);
    store.count("sample_stats/draw", "draw", draws);

    if let Some(found) = &sampled.log_likelihood {
        store.group("log_likelihood", library(file));
        store.count("log_likelihood/chain", "chain", chains);
        store.count("log_likelihood/draw", "draw", draws);
        store.count("log_likelihood/row", "row", found.columns());
        let shape = [("chain", chains), ("draw", draws), ("row", found.columns())];
        store.floats("log_likelihood/y", &shape, found.entries());
    }

    if let Some(certificate) = &file.certificate {
        let rows = coefficients(fit, certificate).all()?;
        let mut column = |name: &str, pick: &dyn Fn(&provi::functional::Functional) -> f64| {
            let values: Vec<f64> = rows.iter().map(|(_, f)| pick(f)).collect();
            store.floats(&format!("moments/{name}"), &[("coefficient", dim)], &values);
        };
        // NaN where nothing is proved.
        column("mean", &|f| f.mean);
        column("sd", &|f| f.sd);
        column("mean_error", &|f| f.mean_error.bound().unwrap_or(f64::NAN));
        column("sd_error", &|f| f.sd_error.bound().unwrap_or(f64::NAN));
        column("probability_positive", &|f| f.positive.value);
        column("probability_positive_error", &|f| f.positive.error.bound().unwrap_or(f64::NAN));
        store.group("moments", library(file));
        store.strings("moments/coefficient", "coefficient", &sampled.names);
    }
    Ok(store.finish(attributes(file, sampled)))
}

fn library(file: &FitFile) -> Value {
    json!({"inference_library": "provi", "inference_library_version": file.provi})
}

/// What is proved, as flat attributes that survive in other file formats; the whole certificate as JSON in a
/// string.
fn attributes(file: &FitFile, sampled: &Sampled) -> Value {
    let mut out = library(file);
    let mut put = |key: &str, value: Value| {
        if !value.is_null() {
            out[key] = value;
        }
    };
    put("provi_family", json!(file.model.family));
    let title = if file.model.kind == Kind::Formula { "provi_formula" } else { "provi_model" };
    put(title, json!(file.model.title()));
    put("provi_data_sha256", json!(file.model.data_sha256));
    put("provi_seed", json!(sampled.seed.0));
    put("provi_draws", json!(sampled.law.name()));
    let certified = file.certificate.as_ref().and_then(|c| c.tv.bound());
    put("provi_draws_tv", json!(sampled.law.total_variation(certified)));
    put("provi_draws_note", json!(sampled.law.note(file.is_certified())));
    put("provi_verdict", json!(file.trust.as_ref().map(|trust| trust.line())));
    put("provi_pareto_k", json!(sampled.resampled.filter(|k| k.is_finite())));
    if let Some(c) = &file.certificate {
        put("provi_gap_bound", json!(c.smallest_gap().bound()));
        put("provi_kl_bound", json!(c.kl.bound()));
        put("provi_tv_bound", json!(c.tv.bound()));
        put("provi_log_evidence_lower", json!(c.evidence.lower()));
        put("provi_log_evidence_upper", json!(c.evidence.upper()));
        put("provi_failure_probability", json!(c.grounds.failure_probability));
        put("provi_certificate", json!(serde_json::to_string(c).unwrap_or_default()));
    }
    out
}

/// A store in memory.
#[derive(Default)]
struct Store {
    files: Vec<(String, Vec<u8>)>,
    /// Every node but the root, by path.
    nodes: Map<String, Value>,
}

impl Store {
    fn group(&mut self, path: &str, attributes: Value) {
        self.node(path, json!({"zarr_format": 3, "node_type": "group", "attributes": attributes}));
    }

    fn floats(&mut self, path: &str, shape: &[(&str, usize)], values: &[f64]) {
        let bytes = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.array(path, shape, "float64", json!("NaN"), little_endian(), bytes);
    }

    /// The numbers 0, 1, 2, ….
    fn count(&mut self, path: &str, dimension: &str, length: usize) {
        let bytes = (0..length as i64).flat_map(i64::to_le_bytes).collect();
        self.array(path, &[(dimension, length)], "int64", json!(0), little_endian(), bytes);
    }

    /// Strings: their number, then each with its length before it; all lengths take four bytes.
    fn strings(&mut self, path: &str, dimension: &str, texts: &[String]) {
        let mut bytes = (texts.len() as u32).to_le_bytes().to_vec();
        for text in texts {
            bytes.extend((text.len() as u32).to_le_bytes());
            bytes.extend(text.as_bytes());
        }
        let codec = json!({"name": "vlen-utf8"});
        self.array(path, &[(dimension, texts.len())], "string", json!(""), codec, bytes);
    }

    fn array(
        &mut self,
        path: &str,
        shape: &[(&str, usize)],
        data_type: &str,
        fill: Value,
        codec: Value,
        bytes: Vec<u8>,
    ) {
        let lengths: Vec<usize> = shape.iter().map(|(_, length)| *length).collect();
        let dimensions: Vec<&str> = shape.iter().map(|(name, _)| *name).collect();
        let node = json!({
            "zarr_format": 3,
            "node_type": "array",
            "shape": lengths,
            "data_type": data_type,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": lengths}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": fill,
            "codecs": [codec],
            "attributes": {},
            "dimension_names": dimensions,
        });
        self.node(path, node);
        self.files.push((format!("{path}/c{}", "/0".repeat(shape.len())), bytes));
    }

    fn node(&mut self, path: &str, node: Value) {
        self.files.push((format!("{path}/zarr.json"), node.to_string().into_bytes()));
        self.nodes.insert(path.to_owned(), node);
    }

    /// The root, with all metadata repeated.
    fn finish(mut self, attributes: Value) -> Vec<(String, Vec<u8>)> {
        let root = json!({
            "zarr_format": 3,
            "node_type": "group",
            "attributes": attributes,
            "consolidated_metadata": {"kind": "inline", "must_understand": false, "metadata": self.nodes},
        });
        self.files.push(("zarr.json".to_owned(), root.to_string().into_bytes()));
        self.files
    }
}

fn little_endian() -> Value {
    json!({"name": "bytes", "configuration": {"endian": "little"}})
}
