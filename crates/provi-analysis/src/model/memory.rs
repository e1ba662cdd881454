//! The memory that a run needs, compared with what the machine has.

use provi::auto::Choice;
use provi::memory::{Bytes, Forecast, Size};
use provi::sparse::SparseModel;
use provi::subsample::Subsample;
use provi::{Method, Target};

use provi_table::available_memory;

use crate::error::{Error, Result};

/// The forecast as one line, for this many draws per step; the same on every machine. An error if it does not fit
/// into this machine or into the budget in bytes.
pub fn forecast(
    target: &dyn Target,
    choice: Choice,
    draws: usize,
    subsample: Option<Subsample>,
    audit: bool,
    budget: Option<u64>,
) -> Result<String> {
    let size = Size { draws, subsample, audit, ..Size::of(target) };
    let forecast = Forecast::new(choice, &size);
    forecast.check(budget.into_iter().chain(available_memory()).min())?;
    Ok(forecast.to_string())
}

/// The same for a model that is solved by its sparse precision: iterates, factors and selected inverses, each as large as the factor, and
/// the rows, or the largest block of them, once more, sorted.
pub fn sparse_forecast(model: &SparseModel, rows: usize, budget: Option<u64>) -> Result<String> {
    const ARRAYS: u64 = 12;
    const NUMBERS_OF_A_ROW: u64 = 32;
    let needed = 8 * (ARRAYS * (model.fill() + model.dim()) as u64 + NUMBERS_OF_A_ROW * rows as u64);
    let most = budget.into_iter().chain(available_memory()).min();
    if let Some(available) = most.filter(|most| needed > *most) {
        let what = format!("a sparse factor of {} numbers", model.fill());
        return Err(Error::Room { what, needed: Bytes(needed), available: Bytes(available) });
    }
    Ok(format!("about {} for a sparse factor of {} numbers", Bytes(needed), model.fill()))
}

/// The sizes that determine the memory of a fit.
#[derive(Clone, Debug)]
pub struct ModelSize {
    /// The number of coefficients d.
    pub coefficients: usize,
    /// The number of observations.
    pub rows: usize,
    /// Numbers that the design holds.
    pub stored: usize,
    /// The group term with the most coefficients, and its levels.
    pub group: Option<(String, usize)>,
}

/// Refuses a model with too many coefficients for this machine, before anything that grows with their square is
/// allocated.
///
/// If scales must be found, the automatic method finds them and must fit into memory; otherwise any one method
/// must.
pub fn refuse_large(model: &ModelSize, search: bool) -> Result<()> {
    refuse_beyond(model, search, available_memory())
}

fn refuse_beyond(model: &ModelSize, search: bool, available: Option<u64>) -> Result<()> {
    let size = Size {
        dim: model.coefficients,
        rows: model.rows,
        stored: model.stored,
        draws: 1,
        exact: true,
        audit: false,
        subsample: None,
    };
    let planned = Method::named().map(|(_, method)| Choice::Planned(method)).filter(|_| !search);
    let fits = |choice| Forecast::new(choice, &size).check(available).is_ok();
    let Some(available) = available.filter(|_| !std::iter::once(Choice::Auto).chain(planned).any(fits))
    else {
        return Ok(());
    };
    let d = model.coefficients as u64;
    Err(Error::TooManyCoefficients {
        coefficients: model.coefficients,
        group: model.group.clone(),
        matrix: Bytes(8 * d * d),
        needed: Forecast::new(Choice::Auto, &size).to_come(),
        available: Bytes(available),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_thousand_levels_are_refused_with_the_numbers_and_the_way_out() {
        let model = ModelSize {
            coefficients: 100_001,
            rows: 200_000,
            stored: 600_000,
            group: Some(("(1 | g)".to_owned(), 100_000)),
        };
        let said = refuse_beyond(&model, true, Some(16_000_000_000)).unwrap_err().to_string();
        assert!(said.contains("100,001 coefficients") && said.contains("80.0 GB"), "{said}");
        assert!(said.contains("the 100,000 levels of `(1 | g)`"), "{said}");
        assert!(refuse_beyond(&model, true, None).is_ok());
        let small = ModelSize { coefficients: 100, ..model };
        assert!(refuse_beyond(&small, true, Some(1 << 30)).is_ok());
    }

    #[test]
    fn without_a_search_for_scales_the_least_of_the_methods_has_to_fit() {
        let model = ModelSize { coefficients: 10_000, rows: 100, stored: 100, group: None };
        let auto = Forecast::new(
            Choice::Auto,
            &Size {
                dim: 10_000,
                rows: 100,
                stored: 100,
                draws: 1,
                exact: true,
                audit: false,
                subsample: None,
            },
        );
        let less = Some(auto.to_come().0 - 1);
        assert!(refuse_beyond(&model, true, less).is_err());
        assert!(refuse_beyond(&model, false, less).is_ok());
        assert!(refuse_beyond(&model, false, Some(1 << 20)).is_err());
    }
}
