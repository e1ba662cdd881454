//! How an answer depends on what was assumed: the prior, and the model itself.

use serde::{Deserialize, Serialize};

/// A coefficient depends visibly on the prior if it moves by more than this many of its sds.
pub const VISIBLE: f64 = 0.5;

/// The population's means under three priors, conditional on the same scales.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sensitivity {
    /// One row for each coefficient.
    pub rows: Vec<SensitivityRow>,
    /// −ELBO under the narrower, the given and the wider prior.
    pub neg_elbo: [f64; 3],
}

/// One coefficient.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SensitivityRow {
    /// The coefficient.
    pub name: String,
    /// Its mean under the narrower, the given and the wider prior.
    pub means: [f64; 3],
    /// The largest distance from its mean under the given prior, in sds.
    pub moves: f64,
}

impl SensitivityRow {
    /// Whether it moves by more than [`VISIBLE`].
    pub fn leans_on_the_prior(&self) -> bool {
        self.moves > VISIBLE
    }
}

/// A frequentist spread of the estimate, which holds if the model is wrong. It is not the posterior's, and no certificate covers it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RobustRecord {
    /// sandwich or bootstrap.
    pub method: String,
    /// The column whose values are the clusters; null if every row is its own.
    pub cluster: Option<String>,
    /// The number of clusters, or of rows.
    pub clusters: usize,
    /// Refits of the bootstrap; 0 for the sandwich.
    pub refits: usize,
    /// Those that did not converge.
    pub unconverged: usize,
    /// Whether scales that are integrated over were held where the ELBO is largest.
    pub scales_held: bool,
    /// The population's coefficients.
    pub names: Vec<String>,
    /// The estimate whose spread it is: the mean of the best Gaussian.
    pub estimate: Vec<f64>,
    /// The standard deviations of the spread.
    pub sd: Vec<f64>,
    /// Its covariance, row by row.
    pub covariance: Vec<Vec<f64>>,
}

impl RobustRecord {
    /// What it is and what it is not, as sentences.
    pub fn notes(&self) -> Vec<String> {
        let among = match &self.cluster {
            Some(column) => format!("{} clusters, the values of {column}", self.clusters),
            None => format!("{} rows", self.clusters),
        };
        let how = match self.refits {
            0 => format!(
                "sandwich: H⁻¹JH⁻¹ at the estimate, J the sum of squared scores over {among}, without a small-sample factor"
            ),
            refits => format!("bootstrap: {refits} refits with exponential weights of {among}"),
        };
        let mut out = vec![
            how,
            "this is a frequentist spread of the estimate over data sets, under a model that may be wrong; it is not the posterior's, and no \
             certificate covers it"
                .to_owned(),
            "the prior pulls every such estimate the same way: where it is strong, this spread is small, and says nothing of that pull"
                .to_owned(),
        ];
        if self.clusters < FEW {
            out.push(format!(
                "fewer than {FEW} clusters: this spread is itself uncertain, and usually too small"
            ));
        }
        if self.scales_held {
            out.push("scales that are integrated over are held where the ELBO is largest".to_owned());
        }
        if self.unconverged > 0 {
            out.push(format!("{} of {} refits did not converge", self.unconverged, self.refits));
        }
        out
    }
}

/// Fewer clusters than this are few.
const FEW: usize = 30;
