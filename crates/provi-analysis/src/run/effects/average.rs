//! Effects of rows, each averaged over its own: exact where a formula has them, by draws otherwise.

use provi::predict::response;
use provi::stop;
use provi::target::Family;
use provi_table::{DesignRows, NewRows};

use super::answer::{Answer, Proof};
use super::asked::{Compare, EffectScale, EffectsAsked};
use super::layout::{Arms, Cell};
use crate::error::Result;

/// An effect.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) estimate: f64,
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) error: Option<Proof>,
    /// Whether the interval comes from draws.
    pub(super) drawn: bool,
}

/// The central difference of fourth order: f′(0) ≈ Σ w_k f(ε·k)/ε, with an error of ε⁴f⁽⁵⁾/30.
const STENCIL: [(f64, f64); 4] =
    [(-2.0, 1.0 / 12.0), (-1.0, -8.0 / 12.0), (1.0, 8.0 / 12.0), (2.0, -1.0 / 12.0)];
/// The step ε moves no predictor by more than about this; ε⁴/30 is then far below what is printed.
const STEP: f64 = 5e-3;

/// The effect of each cell.
pub(super) fn measure(
    answer: &Answer<'_>,
    arms: &Arms,
    cells: &[Cell],
    asked: &EffectsAsked,
) -> Result<Vec<Found>> {
    let identity = matches!(answer.family, Family::Gaussian { .. });
    let linear = asked.scale == EffectScale::Link || (identity && asked.compare == Compare::Difference);
    if answer.is_drawn() {
        return by_draws(answer, arms, cells, asked, linear, None);
    }
    if linear {
        return cells.iter().map(|cell| functional(answer, arms, cell, 0)).collect();
    }
    if let Some(found) = exponential(answer, arms, cells, asked)? {
        return Ok(found);
    }
    let alone = cells.iter().all(|cell| cell.rows.len() == 1);
    match arms {
        Arms::One(rows) if alone => {
            let (all, errors) = (answer.means(rows.clone())?, answer.probability_errors(&rows.design)?);
            let of = |cell: &Cell| {
                let [estimate, low, high] = all[cell.rows[0]];
                let error = errors.as_ref().map(|errors| errors[cell.rows[0]]);
                Found { estimate, low, high, error, drawn: false }
            };
            Ok(cells.iter().map(of).collect())
        }
        _ if asked.compare == Compare::Difference => {
            let means = exact_means(answer, arms, cells)?;
            by_draws(answer, arms, cells, asked, false, Some(means))
        }
        _ => by_draws(answer, arms, cells, asked, false, None),
    }
}

/// vᵀz with the average v of the cell's rows, whose columns belong to the coordinates from `first` on.
pub(super) fn functional(answer: &Answer<'_>, arms: &Arms, cell: &Cell, first: usize) -> Result<Found> {
    let (v, offset) = match arms {
        Arms::One(rows) => average_row(&rows.design, rows.offsets.as_deref(), &cell.rows),
        Arms::Slope(_, slopes) => average_row(&slopes.design, slopes.offsets.as_deref(), &cell.rows),
        Arms::Two(sides) => difference(sides, &cell.rows),
    };
    let found = answer.linear_from(first, &v, offset)?;
    let [low, high] = found.interval;
    Ok(Found { estimate: found.mean, low, high, error: found.error, drawn: false })
}

/// v₁ − v₀ and o₁ − o₀, averaged over some rows.
fn difference(sides: &[NewRows; 2], rows: &[usize]) -> (Vec<f64>, f64) {
    let [(v0, o0), (v1, o1)] =
        [0, 1].map(|side| average_row(&sides[side].design, sides[side].offsets.as_deref(), rows));
    (v1.iter().zip(&v0).map(|(a, b)| a - b).collect(), o1 - o0)
}

/// The average of some rows of a design, and of their offsets.
fn average_row(design: &DesignRows, offsets: Option<&[f64]>, rows: &[usize]) -> (Vec<f64>, f64) {
    let (mut v, mut offset) = (vec![0.0; design.columns], 0.0);
    for &row in rows {
        design.population_row(row).iter().zip(&mut v).for_each(|(x, sum)| *sum += x);
        for group in &design.groups {
            if let Some(level) = group.levels[row] {
                let first = group.first + level * group.columns;
                group.row(row).iter().zip(&mut v[first..]).for_each(|(x, sum)| *sum += x);
            }
        }
        offset += offsets.map_or(0.0, |offsets| offsets[row]);
    }
    let n = rows.len().max(1) as f64;
    v.iter_mut().for_each(|sum| *sum /= n);
    (v, offset / n)
}

/// Ratios that are exponentials of a functional: of rates with a log link, and of odds with a logit link at one row. If all rows of a
/// cell have the same difference δ, then Σe^{s+δ}/Σe^s = e^δ. A monotone function keeps quantiles, and the median is e to the mean.
pub(super) fn exponential(
    answer: &Answer<'_>,
    arms: &Arms,
    cells: &[Cell],
    asked: &EffectsAsked,
) -> Result<Option<Vec<Found>>> {
    let Arms::Two(sides) = arms else { return Ok(None) };
    let rates = asked.compare == Compare::Ratio
        && matches!(answer.family, Family::Poisson | Family::NegativeBinomial { .. });
    let odds =
        asked.compare == Compare::OddsRatio && matches!(answer.family, Family::Bernoulli | Family::Binomial);
    let same = |cell: &Cell| {
        let first = difference(sides, &cell.rows[..1]);
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-12 * (1.0 + b.abs());
        cell.rows.iter().skip(1).all(|row| {
            let (v, offset) = difference(sides, &[*row]);
            near(offset, first.1) && v.iter().zip(&first.0).all(|(a, b)| near(*a, *b))
        })
    };
    let alone = cells.iter().all(|cell| cell.rows.len() == 1);
    if !(odds && alone || rates && cells.iter().all(same)) {
        return Ok(None);
    }
    let of = |cell: &Cell| {
        let (v, offset) = difference(sides, &cell.rows[..1]);
        let found = answer.linear_from(0, &v, offset)?;
        let [low, high] = found.interval.map(f64::exp);
        Ok(Found { estimate: found.mean.exp(), low, high, error: None, drawn: false })
    };
    cells.iter().map(of).collect::<Result<_>>().map(Some)
}

/// The mean of each cell under q, by quadrature at each row, and a bound of its error if it is known.
fn exact_means(answer: &Answer<'_>, arms: &Arms, cells: &[Cell]) -> Result<Vec<(f64, Option<Proof>)>> {
    let (parts, errors) = match arms {
        Arms::One(rows) => {
            (vec![(1.0, answer.means(rows.clone())?)], answer.probability_errors(&rows.design)?)
        }
        // A difference of two is off by at most the sum.
        Arms::Two([reference, compared]) => {
            let parts =
                vec![(1.0, answer.means(compared.clone())?), (-1.0, answer.means(reference.clone())?)];
            let each = [compared, reference].map(|rows| answer.probability_errors(&rows.design));
            let [first, second] = each;
            let sum =
                |(a, b): (Vec<Proof>, Vec<Proof>)| a.into_iter().zip(b).map(|(a, b)| a.plus(b)).collect();
            (parts, first?.zip(second?).map(sum))
        }
        Arms::Slope(rows, slopes) => {
            let step = step(answer, &slopes.design, slopes.offsets.as_deref())?;
            let mut parts = Vec::new();
            for (k, weight) in STENCIL {
                let moved = moved(rows, &slopes.design, slopes.offsets.as_deref(), k * step);
                parts.push((weight / step, answer.means(moved)?));
            }
            (parts, None)
        }
    };
    let of = |cell: &Cell| {
        let sum = |row: &usize| -> f64 { parts.iter().map(|(weight, means)| weight * means[*row][0]).sum() };
        let n = cell.rows.len().max(1) as f64;
        let add = |errors: &Vec<Proof>| {
            let all = cell.rows.iter().fold(Proof::nothing(), |total, row| total.plus(errors[*row]));
            // More than the rounding error of such a sum.
            all.times((1.0 + 1e-10) / n)
        };
        (cell.rows.iter().map(sum).sum::<f64>() / n, errors.as_ref().map(add))
    };
    Ok(cells.iter().map(of).collect())
}

/// The rows a + ε·Da, with their offsets.
fn moved(rows: &NewRows, by: &DesignRows, offsets: Option<&[f64]>, step: f64) -> NewRows {
    let mut out = rows.clone();
    let add = |to: &mut [f64], by: &[f64]| to.iter_mut().zip(by).for_each(|(x, by)| *x += step * by);
    add(&mut out.design.population, &by.population);
    for (group, by) in out.design.groups.iter_mut().zip(&by.groups) {
        add(&mut group.values, &by.values);
    }
    if let (Some(out), Some(by)) = (&mut out.offsets, offsets) {
        add(out, by);
    }
    out
}

/// A step of the variable that moves no predictor far: STEP over the largest |(Da)ᵀz| of some draws.
fn step(answer: &Answer<'_>, slopes: &DesignRows, offsets: Option<&[f64]>) -> Result<f64> {
    let (points, mut most) = (answer.draws()?, 0.0f64);
    for k in 0..points.rows().min(20) {
        let moves = predictors(slopes, offsets, points.row(k));
        most = moves.into_iter().fold(most, |most, r| most.max(r.abs()));
    }
    Ok(if most > 0.0 && most.is_finite() { STEP / most } else { STEP })
}

/// aᵀz + o for each row.
fn predictors(design: &DesignRows, offsets: Option<&[f64]>, z: &[f64]) -> Vec<f64> {
    let mut out = design.predictor(z);
    if let Some(offsets) = offsets {
        out.iter_mut().zip(offsets).for_each(|(s, offset)| *s += offset);
    }
    out
}

/// Estimates and intervals by draws; `means` are the estimates where they are known better.
fn by_draws(
    answer: &Answer<'_>,
    arms: &Arms,
    cells: &[Cell],
    asked: &EffectsAsked,
    linear: bool,
    means: Option<Vec<(f64, Option<Proof>)>>,
) -> Result<Vec<Found>> {
    let points = answer.draws()?;
    let mut values: Vec<Vec<f64>> = vec![Vec::with_capacity(points.rows()); cells.len()];
    let families = answer.families().filter(|families| !linear && families.len() == points.rows());
    for k in 0..points.rows() {
        stop::check()?;
        let z = points.row(k);
        let family = families.as_ref().map_or(answer.family, |families| families[k]);
        let g = |s: f64| if linear { s } else { response(family, s) };
        let of_rows = |rows: &NewRows, z: &[f64]| -> Vec<f64> {
            predictors(&rows.design, rows.offsets.as_deref(), z).into_iter().map(g).collect()
        };
        // What each row contributes, and with what it is compared.
        let (first, second) = match arms {
            Arms::One(rows) => (of_rows(rows, z), None),
            Arms::Two([reference, compared]) => (of_rows(compared, z), Some(of_rows(reference, z))),
            Arms::Slope(rows, slopes) => {
                let s = predictors(&rows.design, rows.offsets.as_deref(), z);
                let r = predictors(&slopes.design, slopes.offsets.as_deref(), z);
                let slope = |(s, r): (&f64, &f64)| slope_of(&g, *s) * r;
                (s.iter().zip(&r).map(slope).collect(), None)
            }
        };
        for (cell, values) in cells.iter().zip(&mut values) {
            let mean = |of: &[f64]| {
                cell.rows.iter().map(|row| of[*row]).sum::<f64>() / cell.rows.len().max(1) as f64
            };
            values.push(compared(asked.compare, mean(&first), second.as_deref().map(mean)));
        }
    }
    let of = |(i, all): (usize, Vec<f64>)| {
        let found = summary(all, asked, asked.compare == Compare::Difference);
        match &means {
            Some(known) => Found { estimate: known[i].0, error: known[i].1, ..found },
            None => found,
        }
    };
    Ok(values.into_iter().enumerate().map(of).collect())
}

/// The mean or the median of draws, with their interval.
pub(super) fn summary(mut all: Vec<f64>, asked: &EffectsAsked, mean: bool) -> Found {
    let tail = 0.5 * (1.0 - asked.level);
    let average = all.iter().sum::<f64>() / all.len().max(1) as f64;
    all.sort_unstable_by(f64::total_cmp);
    let [low, median, high] = [tail, 0.5, 1.0 - tail].map(|level| quantile(&all, level));
    Found { estimate: if mean { average } else { median }, low, high, error: None, drawn: true }
}

/// g′(s), by the same difference for every family.
fn slope_of(g: &impl Fn(f64) -> f64, s: f64) -> f64 {
    STENCIL.iter().map(|(k, weight)| weight / STEP * g(s + k * STEP)).sum()
}

/// One response, or one compared with another.
pub(super) fn compared(compare: Compare, value: f64, reference: Option<f64>) -> f64 {
    let Some(reference) = reference else { return value };
    match compare {
        Compare::Difference => value - reference,
        Compare::Ratio => value / reference,
        Compare::OddsRatio => (value / (1.0 - value)) / (reference / (1.0 - reference)),
    }
}

/// The quantile of sorted numbers, between neighbours in proportion.
fn quantile(sorted: &[f64], level: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let at = level * last as f64;
    let below = (at.floor() as usize).min(last);
    let above = (below + 1).min(last);
    sorted[below] + (at - below as f64) * (sorted[above] - sorted[below])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_difference_is_of_fourth_order() {
        for s in [-3.0, 0.2, 4.0] {
            let p = response(Family::Bernoulli, s);
            assert!((slope_of(&|s| response(Family::Bernoulli, s), s) - p * (1.0 - p)).abs() < 1e-11);
            assert!((slope_of(&f64::exp, s) / s.exp() - 1.0).abs() < 1e-10);
        }
    }

    #[test]
    fn quantiles_lie_between_their_neighbours() {
        let all = [1.0, 2.0, 4.0];
        for (level, expected) in [(0.0, 1.0), (0.25, 1.5), (0.5, 2.0), (0.75, 3.0), (1.0, 4.0)] {
            assert!((quantile(&all, level) - expected).abs() < 1e-15, "{level}");
        }
        assert!(quantile(&[], 0.5).is_nan());
    }

    #[test]
    fn comparisons_are_what_they_are_called() {
        let of = |compare| compared(compare, 0.6, Some(0.2));
        assert!((of(Compare::Difference) - 0.4).abs() < 1e-15 && (of(Compare::Ratio) - 3.0).abs() < 1e-14);
        assert!((of(Compare::OddsRatio) - 6.0).abs() < 1e-14);
    }
}
