//! The spread of the estimate if the model may be wrong: sandwich and bootstrap, by rows or by clusters.

use std::collections::HashMap;
use std::str::FromStr;

use provi::robust::{Clusters, bootstrap, sandwich};
use provi::{Matrix, Seed};

use crate::error::{Error, Result};
use crate::model::{Data, Model};
use crate::record::robustness::RobustRecord;
use crate::run::fitted::Fitted;

/// How the spread is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum RobustMethod {
    /// By scores and curvature at the estimate
    Sandwich,
    /// By refits with random weights
    Bootstrap,
}

impl RobustMethod {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sandwich => "sandwich",
            Self::Bootstrap => "bootstrap",
        }
    }
}

impl FromStr for RobustMethod {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "sandwich" => Ok(Self::Sandwich),
            "bootstrap" => Ok(Self::Bootstrap),
            other => Err(format!("robust = {other:?}; it is \"sandwich\" or \"bootstrap\"")),
        }
    }
}

/// Refits of the bootstrap, if nobody says how many.
pub const REFITS: usize = 200;

/// A question about the spread of an estimate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RobustAsked {
    /// The way.
    pub method: RobustMethod,
    /// The column whose values are the clusters; without it every row is its own.
    pub cluster: Option<String>,
    /// Refits of the bootstrap.
    pub refits: usize,
}

impl Default for RobustAsked {
    fn default() -> Self {
        Self { method: RobustMethod::Sandwich, cluster: None, refits: REFITS }
    }
}

impl RobustAsked {
    /// Refuses a question that this model and these data cannot answer, before anything is fitted.
    pub fn check(&self, model: &Model, data: &Data) -> Result<()> {
        self.clusters(model, data).map(|_| ())
    }

    fn clusters(&self, model: &Model, data: &Data) -> Result<Clusters> {
        let glm = model.target.glm().ok_or(Error::RobustNeedsRows)?;
        if model.target.sparse().is_some() {
            return Err(Error::SparseFactor { what: "a robust spread".to_owned() });
        }
        Ok(match &self.cluster {
            None => Clusters::of_rows(glm.design().rows()),
            Some(column) => Clusters::of_labels(&labels(model, data, column)?),
        })
    }
}

impl Fitted {
    /// The spread of the estimate, of a model that was made from these data. Scales that are integrated over are held where the ELBO is largest.
    pub fn robust(&self, model: &Model, data: &Data, asked: &RobustAsked) -> Result<RobustRecord> {
        let clusters = asked.clusters(model, data)?;
        let glm = model.target.glm().ok_or(Error::RobustNeedsRows)?;
        let dense = self.dense("a robust spread")?;
        // The fit may have another Gaussian: of a small family, stopped early, or a mixture over scales.
        let best = provi::loo::whole(glm, &dense)?;
        let (covariance, refits, unconverged) = match asked.method {
            RobustMethod::Sandwich => (sandwich(glm, best.mean(), &clusters)?, 0, 0),
            RobustMethod::Bootstrap => {
                let found = bootstrap(glm, &best, &clusters, asked.refits, Seed(self.file.seed))?;
                (found.covariance(), asked.refits, found.unconverged)
            }
        };
        let population = match model.population {
            0 => self.file.names.len(),
            count => count,
        };
        let row = |i: usize, matrix: &Matrix| matrix.row(i)[..population].to_vec();
        Ok(RobustRecord {
            method: asked.method.name().to_owned(),
            cluster: asked.cluster.clone(),
            clusters: clusters.count(),
            refits,
            unconverged,
            scales_held: self.mixture.is_some(),
            names: self.file.names[..population].to_vec(),
            estimate: best.mean()[..population].to_vec(),
            sd: (0..population).map(|i| covariance[(i, i)].max(0.0).sqrt()).collect(),
            covariance: (0..population).map(|i| row(i, &covariance)).collect(),
        })
    }
}

/// The value of a column for each row of the model.
fn labels(model: &Model, data: &Data, column: &str) -> Result<Vec<String>> {
    let table = data.table().map_err(|error| Error::table(error, &model.formula))?;
    let table = table.with_na(&model.options.na);
    if table.kind(column).is_none() {
        return Err(Error::NoCluster { column: column.to_owned(), table: data.name.clone() });
    }
    // A row of the model knows its line in the file.
    let place: HashMap<usize, usize> =
        (0..table.rows()).filter_map(|row| Some((table.line_of_row(row)?, row))).collect();
    let label = |line: &usize| {
        let row = place.get(line).copied();
        row.and_then(|row| table.level(column, row)).ok_or_else(|| Error::MissingCluster {
            column: column.to_owned(),
            line: *line,
            table: data.name.clone(),
        })
    };
    model.lines.iter().map(label).collect()
}
