//! A Gaussian found elsewhere: fit.json, or a mean and a covariance in JSON or CSV.

mod csv;
mod json;
mod spoiled;

use crate::error::BadFit;
pub(crate) use spoiled::is_spoiled;

use std::path::{Path, PathBuf};

use provi::matrix::packed_len;
use provi::sparse::{AnyGaussian, SparseGaussian};
use provi::{Gaussian, Matrix};

use crate::error::{Error, Result};
use crate::record::fit_file::FitFile;
use crate::record::store;

/// A Gaussian as it is in a file.
#[derive(Debug)]
pub struct GaussianFile {
    /// The path, for messages.
    pub path: PathBuf,
    /// The names, in the file's order.
    pub names: Option<Vec<String>>,
    mean: Vec<f64>,
    spread: Spread,
    /// The whole file, if provi wrote it.
    pub record: Option<Box<FitFile>>,
}

/// The covariance of a Gaussian, or its factor.
#[derive(Debug)]
enum Spread {
    /// The covariance, row by row.
    Covariance(Vec<f64>),
    /// The factor C, lower triangular, packed row by row.
    Factor(Vec<f64>),
    /// The sparse factor of the precision.
    Sparse(Box<SparseGaussian>),
}

impl GaussianFile {
    /// From a file, or from fit.json in a folder.
    pub fn read(path: &Path) -> Result<Self> {
        Self::read_as(path, csv::Means::Needed)
    }

    fn read_as(path: &Path, means: csv::Means) -> Result<Self> {
        let path = if path.is_dir() {
            store::settle_for_reading(path);
            path.join("fit.json")
        } else {
            path.to_owned()
        };
        let refused = |problem| Error::BadFit { path: path.clone(), problem };
        let text = std::fs::read_to_string(&path).map_err(|error| refused(BadFit::unreadable(&error)))?;
        let text = text.trim_start_matches('\u{feff}');
        // Only JSON begins with a brace or bracket; a CSV begins with `name`.
        if text.trim_start().starts_with(['{', '[']) {
            json::read(text, &path).map_err(refused)
        } else {
            csv::read(text, &path, means).map_err(refused)
        }
    }

    /// [`GaussianFile::read`] for a prior: a CSV may lack the column `mean`; the means are then 0.
    pub fn read_covariance(path: &Path) -> Result<Self> {
        Self::read_as(path, csv::Means::Zero)
    }

    /// The Gaussian in the order of the model's coefficients.
    pub fn gaussian(&self, model: &[String]) -> Result<AnyGaussian> {
        self.arranged(model).map_err(|problem| Error::BadFit { path: self.path.clone(), problem })
    }

    fn arranged(&self, model: &[String]) -> std::result::Result<AnyGaussian, BadFit> {
        let dim = self.mean.len();
        if dim != model.len() {
            return Err(BadFit::Size { found: dim, expected: model.len() });
        }
        let order = self.order(model)?;
        let in_order = order.iter().enumerate().all(|(i, &from)| i == from);
        let mean: Vec<f64> = order.iter().map(|&from| self.mean[from]).collect();
        match &self.spread {
            Spread::Sparse(q) if in_order => Ok(AnyGaussian::Sparse((**q).clone())),
            Spread::Sparse(_) => {
                Err(BadFit::Missing("order of names that is the model's: a sparse factor has no other"))
            }
            Spread::Factor(packed) if in_order => Ok(Gaussian::new(&mean, packed)?.into()),
            // A factor is triangular in one order of the coefficients only: another order needs another factor.
            Spread::Factor(packed) => {
                let covariance = Gaussian::<provi::Triangular>::new(&self.mean, packed)?.covariance();
                Ok(from_covariance(&mean, covariance.entries(), &order)?.into())
            }
            Spread::Covariance(entries) => Ok(from_covariance(&mean, entries, &order)?.into()),
        }
    }

    /// The position of each of the model's coefficients in the file.
    fn order(&self, model: &[String]) -> std::result::Result<Vec<usize>, BadFit> {
        let Some(names) = self.names.as_ref().filter(|names| *names != model) else {
            return Ok((0..model.len()).collect());
        };
        if names.len() != self.mean.len() {
            return Err(BadFit::Names { names: names.len(), mean: self.mean.len() });
        }
        if let Some(name) = names.iter().find(|name| !model.contains(name)) {
            return Err(BadFit::UnknownName { name: name.clone(), known: model.to_vec() });
        }
        // There are as many names as coefficients, and all are known: if one is missing, another occurs twice.
        let twice = |i: usize| names[..i].contains(&names[i]);
        if let Some(i) = (0..names.len()).find(|&i| twice(i)) {
            return Err(BadFit::Twice { name: names[i].clone() });
        }
        Ok(model.iter().filter_map(|name| names.iter().position(|n| n == name)).collect())
    }
}

fn from_covariance(mean: &[f64], entries: &[f64], order: &[usize]) -> std::result::Result<Gaussian, BadFit> {
    let dim = order.len();
    let moved = order.iter().flat_map(|&i| order.iter().map(move |&j| entries[i * dim + j])).collect();
    Ok(Gaussian::from_covariance(mean, Matrix::new(dim, dim, moved)?)?)
}

/// Refuses a covariance or factor whose size does not match the mean.
fn checked(mean: &[f64], spread: Spread) -> std::result::Result<Spread, BadFit> {
    let dim = mean.len();
    let (what, found, expected) = match &spread {
        Spread::Covariance(entries) => ("covariance", entries.len(), dim * dim),
        Spread::Factor(packed) => ("factor", packed.len(), packed_len(dim)),
        Spread::Sparse(q) => ("sparse factor", q.dim(), dim),
    };
    if found == expected { Ok(spread) } else { Err(BadFit::Spread { what, found, expected, dim }) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        /// Whatever the bytes, a Gaussian or a refusal.
        #[test]
        fn no_text_is_too_much(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let text = String::from_utf8_lossy(&bytes);
            let _ = json::read(&text, Path::new("x"));
            let _ = csv::read(&text, Path::new("x"), csv::Means::Zero);
        }

        /// Pieces of real files in any order reach further in.
        #[test]
        fn no_shuffled_file_is_too_much(pieces in proptest::collection::vec(0usize..PIECES.len(), 0..30)) {
            let text: String = pieces.iter().map(|&i| PIECES[i]).collect();
            for read in [json::read(&text, Path::new("x")).ok(), csv::read(&text, Path::new("x"), csv::Means::Needed).ok()] {
                let _ = read.map(|given| given.gaussian(&["a".to_owned(), "b".to_owned()]));
            }
        }
    }

    const PIECES: &[&str] = &[
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\n",
        "\"mean\"",
        "\"covariance\"",
        "\"names\"",
        "\"factor\"",
        "\"schema\"",
        "\"provi-fit/1\"",
        "\"a\"",
        "\"b\"",
        "1",
        "-2.5",
        "1e999",
        "null",
        "name,mean,a,b\n",
        "a,0,1,0.5\n",
        "b,1,0.5,1\n",
        "{\"mean\": [0, 1], \"covariance\": [[1, 0], [0, 1]]",
        "\"L\": [1, 0, 1]",
    ];
}
