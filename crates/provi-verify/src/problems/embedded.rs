//! Three data sets: a regression, the Wisconsin tumours and a hierarchy, with standard normal priors.

use super::Problem;
use provi::target::{Glm, Prior, hierarchical_logistic};
use provi::{Design, Matrix, Result};

const W1: &str = include_str!("../../../provi/tests/data/W1.csv");
const W2: &str = include_str!("../../../provi/tests/data/W2.csv");
const W4: &str = include_str!("../../../provi/tests/data/W4.csv");

/// The rows of an embedded table; a cell that is not a number becomes NaN, which the models refuse.
fn rows(text: &str) -> Vec<Vec<f64>> {
    let parse = |line: &str| line.split(',').map(|x| x.trim().parse().unwrap_or(f64::NAN)).collect();
    text.lines().skip(1).filter(|line| !line.is_empty()).map(parse).collect()
}

/// The features between the first `skip` columns and the response, with or without an intercept; and the response.
fn split(rows: &[Vec<f64>], skip: usize, intercept: bool) -> Result<(Design, Vec<f64>)> {
    let mut entries = Vec::new();
    let mut response = Vec::new();
    for row in rows {
        let (last, features) = row.split_last().unwrap_or((&f64::NAN, &[]));
        entries.extend_from_slice(&features[skip.min(features.len())..]);
        entries.extend(intercept.then_some(1.0));
        response.push(*last);
    }
    let columns = entries.len() / rows.len().max(1);
    Ok((Design::from_rows(rows.len(), columns, entries)?, response))
}

/// W1: linear regression, N = 1000, d = 20, noise 1.
pub(crate) fn w1() -> Result<Problem> {
    let (design, response) = split(&rows(W1), 0, false)?;
    Ok(Problem::new("W1, linear", Glm::linear(design, &response, 1.0, Prior::precision(1.0)?)?)?
        .with_condition())
}

/// W2: logistic regression on 569 tumours, d = 31, nearly separable.
pub(crate) fn w2() -> Result<Problem> {
    let (design, response) = split(&rows(W2), 0, true)?;
    Ok(Problem::new("W2, logistic", Glm::logistic(design, &response, Prior::precision(1.0)?)?)?
        .with_condition())
}

/// W4: hierarchical logistic regression, N = 2000, d = 205.
pub(crate) fn w4() -> Result<Problem> {
    let rows = rows(W4);
    let groups: Vec<usize> = rows.iter().map(|r| r[0] as usize).collect();
    let (features, response) = split(&rows, 1, false)?;
    let identity = Matrix::scaled_identity(features.columns(), 1.0);
    let target = hierarchical_logistic(&features, &response, &groups, &identity, &identity)?;
    Ok(Problem::new("W4, hierarchical", target)?.with_condition())
}
