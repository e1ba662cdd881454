//! Mean and spread of the responses, block by block.

use super::Rows;

/// Σ w_n, the weighted mean of the responses, and Σ w_n (y_n − mean)².
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Spread {
    pub(crate) weight: f64,
    pub(crate) mean: f64,
    pub(crate) squares: f64,
}

impl Spread {
    /// The statistics of two parts together.
    pub(crate) fn merged(self, other: Self) -> Self {
        let weight = self.weight + other.weight;
        if weight <= 0.0 {
            return self;
        }
        let share = other.weight / weight;
        let shift = other.mean - self.mean;
        Self {
            weight,
            mean: self.mean + share * shift,
            squares: self.squares + other.squares + self.weight * share * shift * shift,
        }
    }

    /// The standard deviation if it is positive, else 1: a first guess of a noise level.
    pub(crate) fn deviation_or_one(&self) -> f64 {
        let variance = self.squares / self.weight;
        if variance > 0.0 && variance.is_finite() { variance.sqrt() } else { 1.0 }
    }
}

impl Rows {
    /// The statistics of these responses; a row of weight 2 counts as two rows.
    pub(crate) fn response_spread(&self) -> Spread {
        let rows = || self.response.iter().zip(&self.weights);
        let weight = self.weights.iter().sum::<f64>();
        if weight <= 0.0 {
            return Spread::default();
        }
        let mean = rows().map(|(y, w)| w * y).sum::<f64>() / weight;
        let squares = rows().map(|(y, w)| w * (y - mean).powi(2)).sum::<f64>();
        Spread { weight, mean, squares }
    }

    /// Σ w_n log y_n and Σ w_n |log y_n|, for responses above 0.
    pub(crate) fn log_sums(&self) -> [f64; 2] {
        let logs = self.response.iter().zip(&self.weights).map(|(y, w)| w * y.ln());
        logs.fold([0.0; 2], |[sum, size], x| [sum + x, size + x.abs()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glm::Family;
    use crate::glm::design::Design;

    #[test]
    fn parts_merge_to_the_whole() {
        let y = [1.0, 4.0, -2.0, 8.0, 0.5];
        let weights = [1.0, 2.0, 0.5, 0.0, 3.0];
        let of = |range: std::ops::Range<usize>| {
            let design = Design::dense(range.len(), 1, &vec![1.0; range.len()]).unwrap();
            let rows = Rows::new(Family::Gaussian { noise_sd: 1.0 }, design, &y[range.clone()]).unwrap();
            rows.with_weights(&weights[range]).unwrap().response_spread()
        };
        let parts = [of(0..2), of(2..3), of(3..4), of(4..5)];
        let merged = parts.into_iter().fold(Spread::default(), Spread::merged);
        let whole = of(0..5);
        for (a, b) in [
            (merged.weight, whole.weight),
            (merged.mean, whole.mean),
            (merged.squares, whole.squares),
            (merged.deviation_or_one(), whole.deviation_or_one()),
        ] {
            assert!((a - b).abs() < 1e-13, "{merged:?} {whole:?}");
        }
    }
}
