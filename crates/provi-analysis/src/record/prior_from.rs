//! Where a prior came from, if it is the answer of an earlier fit.

use serde::{Deserialize, Serialize};

use crate::number::{bound, grouped};

/// An earlier fit whose Gaussian is the prior of the coefficients that both models have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PriorFrom {
    /// The fit, as it was named.
    pub fit: String,
    /// SHA-256 of its fit.json.
    pub sha256: String,
    /// Its formula.
    pub formula: String,
    /// Its number of rows.
    pub rows: usize,
    /// The digest of its data.
    pub data_sha256: String,
    /// Proved upper bound of KL(q‖p) in nats, where p is its posterior; null if there is none.
    pub kl: Option<f64>,
    /// Proved upper bound of the total variation between q and p; null if there is none.
    pub total_variation: Option<f64>,
    /// Whether the Gaussian has the mean and the covariance of a mixture over scales.
    pub mixture: bool,
    /// The columns whose prior it is.
    pub columns: Vec<String>,
    /// Columns that it does not have, each with its own prior in words.
    pub new: Vec<String>,
    /// Levels of its categories that this model does not have; they are integrated out of the prior.
    pub left_out: Vec<String>,
    /// Whether this model has effects of groups, or scales that are not given.
    pub keeps_scales: bool,
}

impl PriorFrom {
    /// What a reader has to know.
    pub fn lines(&self) -> Vec<String> {
        let rows = grouped(self.rows as u64);
        let mut out = vec![format!(
            "normal, the Gaussian q of the fit {} ({}; {rows} rows), on {}",
            self.fit,
            self.formula,
            listed(&self.columns)
        )];
        out.push(match (self.mixture, self.kl, self.total_variation) {
            (true, ..) => "that fit integrates over scales: this is the Gaussian with the mean and the covariance of its mixture, an \
                           approximation of that posterior without a proved distance"
                .to_owned(),
            (_, None, None) => {
                "q approximates that posterior; nothing is proved of its distance from it".to_owned()
            }
            (_, kl, tv) => {
                let kl = kl.map(|kl| format!("KL(q‖posterior) ≤ {} nats", bound(kl, 2)));
                let tv = tv.map(|tv| format!("total variation ≤ {}", bound(tv, 2)));
                let both: Vec<String> = kl.into_iter().chain(tv).collect();
                format!("q approximates that posterior, as its certificate says: {}", both.join(", "))
            }
        });
        if !self.new.is_empty() {
            out.push(format!("not in that fit, so with a prior of their own: {}", self.new.join("; ")));
        }
        if !self.left_out.is_empty() {
            out.push(format!(
                "not in this model, so integrated out of the prior: {}",
                listed(&self.left_out)
            ));
        }
        if self.keeps_scales {
            out.push(
                "effects of groups and scales keep their own priors: what that fit learned of them is not used"
                    .to_owned(),
            );
        }
        out.push("every statement below is about the posterior under this prior".to_owned());
        out
    }
}

/// Names, the first few of them if there are many.
fn listed(names: &[String]) -> String {
    const MOST: usize = 12;
    let shown = names.iter().take(MOST).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len() > MOST {
        true => format!("{shown} and {} more", names.len() - MOST),
        false => shown,
    }
}
