//! A Gaussian in CSV: the header `name,mean,<name1>,<name2>,…`, then one row for each coefficient. In a prior,
//! `mean` may be missing.

use std::path::Path;

use super::{GaussianFile, Spread, checked};
use crate::error::BadFit;

/// What a CSV without the column `mean` means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Means {
    /// It is refused.
    Needed,
    /// The means are 0.
    Zero,
}

pub(super) fn read(text: &str, path: &Path, means: Means) -> Result<GaussianFile, BadFit> {
    let mut reader =
        csv::ReaderBuilder::new().trim(csv::Trim::All).flexible(true).from_reader(text.as_bytes());
    let unreadable = |error: csv::Error| BadFit::Unreadable(error.to_string());
    let header: Vec<String> = reader.headers().map_err(unreadable)?.iter().map(str::to_owned).collect();
    let records: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().map_err(unreadable)?;
    // If there are as many rows as columns after the name, `mean` is a coefficient like the others.
    let named_mean = means == Means::Zero && records.len() + 1 == header.len();
    let has_means = header.get(1).is_some_and(|second| second == "mean") && !named_mean;
    let first = if has_means { 2 } else { 1 };
    if header.first().is_none_or(|first| first != "name")
        || header.len() <= first
        || !(has_means || means == Means::Zero)
    {
        return Err(BadFit::Header(header.iter().take(6).cloned().collect::<Vec<_>>().join(",")));
    }
    let columns = &header[first..];
    let (mut names, mut mean, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    for record in &records {
        let name = record.get(0).unwrap_or_default().to_owned();
        if record.len() != header.len() {
            let place = format!("the row of `{name}`");
            return Err(BadFit::Row { place, found: record.len(), expected: header.len() });
        }
        let number = |column: usize| {
            let found = record[column].to_owned();
            found.parse::<f64>().ok().filter(|x| x.is_finite()).ok_or_else(|| BadFit::NotNumber {
                place: format!("`{}` of `{name}`", header[column]),
                found: format!("`{found}`"),
            })
        };
        mean.push(if has_means { number(1)? } else { 0.0 });
        rows.push((first..header.len()).map(number).collect::<Result<Vec<f64>, _>>()?);
        names.push(name);
    }
    // The columns may be in another order than the rows.
    let differ = || BadFit::Columns { columns: columns.to_vec(), rows: names.clone() };
    let places: Option<Vec<usize>> = names.iter().map(|n| columns.iter().position(|c| c == n)).collect();
    let places = places.filter(|p| p.len() == columns.len()).ok_or_else(differ)?;
    let entries = rows.iter().flat_map(|row| places.iter().map(|&j| row[j])).collect();
    let spread = checked(&mean, Spread::Covariance(entries))?;
    Ok(GaussianFile { path: path.to_owned(), names: Some(names), mean, spread, record: None })
}
