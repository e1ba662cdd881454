//! Separated data: a hyperplane separates the labels, so only the prior keeps the coefficients finite.

use crate::base::error::Result;
use crate::glm::design::Design;
use crate::glm::{Glm, Prior};
use crate::target::mode::find_mode;

/// What binary data alone say about the size of the coefficients.
#[derive(Clone, Debug, PartialEq)]
pub enum Separation {
    /// The data determine it: the maximum of the likelihood is finite.
    None,
    /// Some combination of columns predicts every label; proved, by such a combination. Only the prior bounds the
    /// coefficients.
    Complete {
        /// The columns of that combination.
        columns: Vec<usize>,
    },
    /// The likelihood seems to grow without end, as it does if a combination predicts all labels except those on
    /// its boundary. A numerical finding, not a proof.
    Quasi {
        /// The columns of that combination.
        columns: Vec<usize>,
    },
}

/// Two precisions of an almost flat prior; along a separating direction the mode moves between them.
const WEAK: [f64; 2] = [1e-6, 1e-10];
/// Least growth of the largest predictor between the two if the likelihood has no maximum; along a separating
/// direction it grows by about log(10⁴) ≈ 9.
const GROWTH: f64 = 3.0;

/// Looks for separation of labels 0/1 (−1/1). Cost: two posterior modes.
///
/// ```
/// use provi::{Design, separation::{Separation, separation}};
///
/// let design = Design::dense(4, 2, &[1.0, -2.0, 1.0, -1.0, 1.0, 1.0, 1.0, 3.0])?;
/// assert_eq!(separation(&design, &[0.0, 0.0, 1.0, 1.0])?, Separation::Complete { columns: vec![1] });
/// assert_eq!(separation(&design, &[0.0, 1.0, 0.0, 1.0])?, Separation::None);
/// # Ok::<(), provi::Error>(())
/// ```
pub fn separation(design: &Design, labels: &[f64]) -> Result<Separation> {
    let (rows, columns) = (design.rows(), design.columns());
    let mut scales = vec![0.0f64; columns];
    for n in 0..rows {
        design.for_each_in_row(n, |j, x| scales[j] = scales[j].max(x.abs()));
    }
    // Columns scaled to size one, so that the weak prior is equally weak for all of them.
    scales.iter_mut().filter(|scale| **scale <= 0.0).for_each(|scale| *scale = 1.0);
    let design = design.clone().with_columns_over(&scales);
    let mut modes = Vec::new();
    for precision in WEAK {
        let model = Glm::logistic(design.clone(), labels, Prior::precision(precision)?)?;
        let start = modes.last().cloned().unwrap_or(vec![0.0; columns]);
        let mode = find_mode(&model, &start)?;
        let predictors = model.rows.all_predictors(&mode.point);
        let sizes = predictors.iter().map(|s| s.abs());
        let norms = mode.point.iter().map(|x| x.abs()).sum::<f64>();
        // A margin above the rounding error of a row's sum proves the separation.
        let slack = 4.0 * columns as f64 * f64::EPSILON * norms;
        if predictors.iter().zip(&model.rows.response).all(|(s, y)| (2.0 * y - 1.0) * s > slack) {
            return Ok(Separation::Complete { columns: largest(&mode.point) });
        }
        let most = sizes.fold(0.0, f64::max);
        modes.push(mode.point);
        if let [first, second] = &modes[..] {
            let before = model.rows.all_predictors(first).iter().map(|s| s.abs()).fold(0.0, f64::max);
            if most - before > GROWTH {
                let moved: Vec<f64> = second.iter().zip(first).map(|(b, a)| b - a).collect();
                return Ok(Separation::Quasi { columns: largest(&moved) });
            }
        }
    }
    Ok(Separation::None)
}

/// The indices of entries that are at least a fifth of the largest.
fn largest(values: &[f64]) -> Vec<usize> {
    let most = values.iter().map(|x| x.abs()).fold(0.0, f64::max);
    (0..values.len()).filter(|&j| values[j].abs() >= 0.2 * most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(x: &[f64], y: &[f64]) -> Separation {
        let entries: Vec<f64> = x.iter().flat_map(|&x| [1.0, x]).collect();
        separation(&Design::dense(x.len(), 2, &entries).unwrap(), y).unwrap()
    }

    #[test]
    fn overlap_by_one_row_is_no_separation() {
        assert_eq!(
            look(&[-2.0, -1.0, 0.5, 1.0, 2.0, 3.0], &[0.0, 0.0, 1.0, 0.0, 1.0, 1.0]),
            Separation::None
        );
    }

    #[test]
    fn a_shared_boundary_is_quasi_separation() {
        let found = look(&[-2.0, -1.0, 0.0, 0.0, 1.0, 2.0], &[0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
        assert_eq!(found, Separation::Quasi { columns: vec![1] });
    }

    #[test]
    fn a_rare_category_without_failures_is_quasi_separation() {
        let x = [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        let y = [1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0];
        assert_eq!(look(&x, &y), Separation::Quasi { columns: vec![1] });
    }

    #[test]
    fn the_scale_of_a_column_does_not_matter() {
        for scale in [1e-310, 1e-6, 1.0, 1e6] {
            let x = [-2.0 * scale, -scale, scale, 2.0 * scale];
            assert!(matches!(look(&x, &[0.0, 0.0, 1.0, 1.0]), Separation::Complete { .. }), "{scale}");
            assert_eq!(look(&x, &[0.0, 1.0, 0.0, 1.0]), Separation::None, "{scale}");
        }
    }

    #[test]
    fn collinear_columns_alone_are_none() {
        let entries: Vec<f64> =
            [-2.0, -1.0, 0.5, 1.0, 2.0, 3.0].iter().flat_map(|&x| [1.0, x, 2.0 * x]).collect();
        let design = Design::dense(6, 3, &entries).unwrap();
        assert_eq!(separation(&design, &[0.0, 1.0, 1.0, 0.0, 1.0, 0.0]).unwrap(), Separation::None);
    }
}
