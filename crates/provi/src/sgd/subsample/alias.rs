//! A discrete distribution by an alias table (Walker, Vose): one look-up per draw.

/// Column i of N holds i below `threshold[i]` and `other[i]` above it; the columns are equally likely.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Alias {
    threshold: Vec<f64>,
    other: Vec<usize>,
}

impl Alias {
    /// For probabilities that sum to 1, up to rounding.
    pub(super) fn new(probabilities: &[f64]) -> Self {
        let count = probabilities.len();
        let mut threshold: Vec<f64> = probabilities.iter().map(|p| p * count as f64).collect();
        let mut other: Vec<usize> = (0..count).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..count).partition(|&i| threshold[i] < 1.0);
        while let (Some(&i), Some(&j)) = (small.last(), large.last()) {
            small.pop();
            other[i] = j;
            threshold[j] -= 1.0 - threshold[i];
            if threshold[j] < 1.0 {
                large.pop();
                small.push(j);
            }
        }
        // The rest on either side is 1 up to rounding.
        small.into_iter().chain(large).for_each(|i| threshold[i] = 1.0);
        Self { threshold, other }
    }

    /// The index that two uniforms in (0, 1) select.
    pub(super) fn pick(&self, column: f64, height: f64) -> usize {
        let count = self.threshold.len();
        let i = ((column * count as f64) as usize).min(count - 1);
        if height < self.threshold[i] { i } else { self.other[i] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_holds_the_probabilities_it_was_made_of() {
        let mut weights = vec![0.0; 137];
        provi_kernels::uniforms(3, 0, 0, &mut weights);
        weights[5] = 40.0;
        weights[17] = 1e-9;
        let total: f64 = weights.iter().sum();
        let probabilities: Vec<f64> = weights.iter().map(|w| w / total).collect();
        let alias = Alias::new(&probabilities);
        let mut held = vec![0.0; 137];
        for (i, (&t, &other)) in alias.threshold.iter().zip(&alias.other).enumerate() {
            assert!((0.0..=1.0).contains(&t));
            held[i] += t / 137.0;
            held[other] += (1.0 - t) / 137.0;
        }
        for (held, p) in held.iter().zip(&probabilities) {
            assert!((held - p).abs() < 1e-15, "{held} {p}");
        }
    }

    #[test]
    fn a_single_term_is_always_picked() {
        let alias = Alias::new(&[1.0]);
        assert_eq!((alias.pick(1e-16, 1e-16), alias.pick(1.0 - 1e-16, 1.0 - 1e-16)), (0, 0));
    }
}
