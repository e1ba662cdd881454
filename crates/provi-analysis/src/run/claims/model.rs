//! What the file states about its model, compared with the model itself.

use super::{Claim, Comparison, Verdict};
use crate::record::fit_file::ModelRecord;

impl Comparison<'_> {
    /// Rows, scales and priors; only differences have a row.
    pub(super) fn model(&self) -> Vec<Claim> {
        differences(&self.record.model, self.problem.record())
    }
}

/// What one record says of rows, scales and priors, and another does not.
pub(super) fn differences(old: &ModelRecord, new: &ModelRecord) -> Vec<Claim> {
    let mut claims = Vec::new();
    let mut row = |what: &str, stored: String, now: String, same: bool| {
        if !same {
            let (what, verdict) = (what.to_owned(), Verdict::NotReproduced);
            claims.push(Claim { what, stored, now, verdict });
        }
    };
    row("rows", old.rows.to_string(), new.rows.to_string(), old.rows == new.rows);
    row("family", old.family.clone(), new.family.clone(), old.family == new.family);
    let left_out = [old.dropped.rows, new.dropped.rows];
    row("rows left out", left_out[0].to_string(), left_out[1].to_string(), left_out[0] == left_out[1]);
    let noise = [old.noise_sd, new.noise_sd].map(|sd| sd.into_iter().collect::<Vec<f64>>());
    row("noise sd", listed(&noise[0]), listed(&noise[1]), close(&noise[0], &noise[1]));
    let scales = [old, new].map(|m| m.scales.iter().map(|scale| scale.sd).collect::<Vec<f64>>());
    // Files older than these keys claim nothing.
    let known = |of: fn(&ModelRecord) -> &Vec<f64>| of(old).is_empty() || close(of(old), of(new));
    if !old.scales.is_empty() {
        row("scales", listed(&scales[0]), listed(&scales[1]), close(&scales[0], &scales[1]));
    }
    row("prior means", listed(&old.prior_mean), listed(&new.prior_mean), known(|m| &m.prior_mean));
    row("prior sds", listed(&old.prior_sd), listed(&new.prior_sd), known(|m| &m.prior_sd));
    claims
}

fn close(old: &[f64], new: &[f64]) -> bool {
    old.len() == new.len()
        && old
            .iter()
            .zip(new)
            .all(|(a, b)| (a - b).abs() <= 1e-9 * (a.abs() + b.abs()) + 1e-300 || a.total_cmp(b).is_eq())
}

/// At most the first three values.
fn listed(values: &[f64]) -> String {
    let shown: Vec<String> = values.iter().take(3).map(|x| format!("{x:.6}")).collect();
    format!("{}{}", shown.join(", "), if values.len() > 3 { ", …" } else { "" })
}
