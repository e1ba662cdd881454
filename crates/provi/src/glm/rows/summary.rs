//! Summary statistics of columns and responses, block by block. The default prior is made from them.

use super::{Rows, Spread};
use crate::base::special;
use crate::glm::Family;
use crate::target::standard::Standard;

/// Means and standard deviations of the columns and of the response. A row of weight w counts as w rows, and a row
/// with n trials as n rows; a row of weight 0 is ignored. Standard deviations divide by the sum of the weights.
///
/// So a row of weight 2 is the same as two rows, and counts of successes are the same as single trials.
#[derive(Clone, Debug, PartialEq)]
pub struct DataSummary {
    /// Number of rows with a weight above 0.
    rows: f64,
    /// Σ w_n.
    weight: f64,
    /// Σ w_n y_n.
    total: f64,
    /// Σ w_n o_n.
    offset: f64,
    /// Σ w_n e^{o_n}, as (largest exponent, sum without it).
    exposure: (f64, f64),
    /// Statistics of y_n − o_n.
    response: Column,
    columns: Vec<Column>,
}

/// One column, without its zeros.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Column {
    count: f64,
    least: f64,
    most: f64,
    /// One of the column's values. If the values are far from 0, their differences from it are small, and so is the
    /// rounding error.
    about: f64,
    /// Statistics of these differences.
    spread: Spread,
}

/// Summary statistics of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ColumnSummary {
    /// The mean x̄.
    pub mean: f64,
    /// Standard deviation; 1 if the column does not vary.
    pub sd: f64,
    /// Whether every row has the same value.
    pub is_constant: bool,
}

/// How many numbers describe a column in a message to another process.
const NUMBERS: usize = 7;

impl Column {
    const EMPTY: Self = Self {
        count: 0.0,
        least: f64::INFINITY,
        most: f64::NEG_INFINITY,
        about: 0.0,
        spread: Spread { weight: 0.0, mean: 0.0, squares: 0.0 },
    };

    fn merged(self, other: Self) -> Self {
        if self.count <= 0.0 {
            return other;
        }
        let mean = other.spread.mean + (other.about - self.about);
        Self {
            count: self.count + other.count,
            least: self.least.min(other.least),
            most: self.most.max(other.most),
            about: self.about,
            spread: self.spread.merged(Spread { mean, ..other.spread }),
        }
    }

    fn mean(self) -> f64 {
        self.about + self.spread.mean
    }

    /// The same with zeros for the remaining rows and weight.
    fn with_zeros(self, rows: f64, weight: f64) -> Self {
        if rows <= self.count {
            return self;
        }
        let weight = (weight - self.spread.weight).max(0.0);
        self.merged(Self {
            count: rows - self.count,
            least: 0.0,
            most: 0.0,
            about: 0.0,
            spread: Spread { weight, mean: 0.0, squares: 0.0 },
        })
    }

    fn summary(self) -> ColumnSummary {
        // The values are compared, because rounding keeps their computed deviation from being 0.
        let is_constant = self.least >= self.most;
        let sd = if is_constant { 1.0 } else { self.spread.deviation_or_one() };
        let mean = if is_constant && self.count > 0.0 { self.least } else { self.mean() };
        ColumnSummary { mean, sd, is_constant }
    }

    fn numbers(self) -> [f64; NUMBERS] {
        let Spread { weight, mean, squares } = self.spread;
        [self.count, self.least, self.most, self.about, weight, mean, squares]
    }

    fn of_numbers(numbers: &[f64]) -> Self {
        let [count, least, most, about, weight, mean, squares] = std::array::from_fn(|i| numbers[i]);
        Self { count, least, most, about, spread: Spread { weight, mean, squares } }
    }
}

/// Sums of differences from a first value of the column: the relative loss is at most 2⁻⁵² for each row.
#[derive(Clone, Copy)]
struct Sums {
    count: f64,
    least: f64,
    most: f64,
    about: f64,
    sums: [f64; 3],
}

impl Sums {
    const EMPTY: Self =
        Self { count: 0.0, least: f64::INFINITY, most: f64::NEG_INFINITY, about: 0.0, sums: [0.0; 3] };

    fn add(&mut self, x: f64, weight: f64) {
        if self.count <= 0.0 {
            self.about = x;
        }
        let distance = x - self.about;
        self.count += 1.0;
        (self.least, self.most) = (self.least.min(x), self.most.max(x));
        self.sums[0] += weight;
        self.sums[1] += weight * distance;
        self.sums[2] += weight * distance * distance;
    }

    fn column(self) -> Column {
        let [weight, first, second] = self.sums;
        let shift = if weight > 0.0 { first / weight } else { 0.0 };
        let spread = Spread { weight, mean: shift, squares: (second - first * shift).max(0.0) };
        Column { count: self.count, least: self.least, most: self.most, about: self.about, spread }
    }
}

/// Σ e^{x}·s over two parts, each given as (largest exponent, sum without it).
fn added(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    let largest = a.0.max(b.0);
    let share = |(exponent, sum): (f64, f64)| if sum > 0.0 { sum * (exponent - largest).exp() } else { 0.0 };
    (largest, share(a) + share(b))
}

/// A number near a mean, within 2⁻⁹ of the deviation: a multiple of a power of two.
fn about(mean: f64, deviation: f64) -> f64 {
    let unit = (deviation.log2().floor() - 8.0).exp2();
    let near = (mean / unit).round() * unit;
    if unit.is_normal() && near.is_finite() { near } else { mean }
}

impl DataSummary {
    /// A summary of no rows, with this many columns.
    pub(crate) fn empty(columns: usize) -> Self {
        Self {
            rows: 0.0,
            weight: 0.0,
            total: 0.0,
            offset: 0.0,
            exposure: (f64::NEG_INFINITY, 0.0),
            response: Column::EMPTY,
            columns: vec![Column::EMPTY; columns],
        }
    }

    /// Adds the rows of another part.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.rows += other.rows;
        self.weight += other.weight;
        self.total += other.total;
        self.offset += other.offset;
        self.exposure = added(self.exposure, other.exposure);
        self.response = self.response.merged(other.response);
        self.columns.iter_mut().zip(&other.columns).for_each(|(a, b)| *a = a.merged(*b));
    }

    /// The summary as plain numbers, for a message to another process.
    pub(crate) fn numbers(&self) -> Vec<f64> {
        let head = [self.rows, self.weight, self.total, self.offset, self.exposure.0, self.exposure.1];
        let columns = std::iter::once(&self.response).chain(&self.columns);
        head.into_iter().chain(columns.flat_map(|column| column.numbers())).collect()
    }

    /// The inverse of [`DataSummary::numbers`].
    pub(crate) fn of_numbers(numbers: &[f64]) -> Self {
        let (head, rest) = numbers.split_at(6);
        let mut columns = rest.chunks_exact(NUMBERS).map(Column::of_numbers);
        Self {
            rows: head[0],
            weight: head[1],
            total: head[2],
            offset: head[3],
            exposure: (head[4], head[5]),
            response: columns.next().unwrap_or(Column::EMPTY),
            columns: columns.collect(),
        }
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns.len()
    }

    /// The summary of column j, if there is one.
    pub fn column(&self, j: usize) -> Option<ColumnSummary> {
        self.columns.get(j).map(|column| column.with_zeros(self.rows, self.weight).summary())
    }

    /// Which columns to centre with the help of the constant column; the scales are chosen elsewhere. A sparse
    /// column is centred only if at least half of its entries are stored, so that the rows stay sparse.
    pub(crate) fn centred(&self, sparse: bool) -> Standard {
        self.centred_at(sparse, |column| column.mean)
    }

    /// The same with centres near the means that do not depend on how a sum over the rows was rounded, so that a sparse Gaussian has
    /// the same coordinates however the rows are cut into blocks.
    pub(crate) fn steadily_centred(&self, sparse: bool) -> Standard {
        self.centred_at(sparse, |column| about(column.mean, column.sd))
    }

    fn centred_at(&self, sparse: bool, at: impl Fn(&ColumnSummary) -> f64) -> Standard {
        let columns = self.columns.len();
        let constant = self.intercept(columns);
        let full = |j: usize| !sparse || 2.0 * self.columns[j].count >= self.rows;
        let center = |j: usize| match (constant, self.column(j)) {
            (Some(i), Some(column)) if i != j && full(j) => at(&column),
            _ => 0.0,
        };
        let value = |i: usize| self.column(i).map_or(1.0, |column| column.mean);
        Standard::new(
            constant.map(|i| (i, value(i))),
            (0..columns).map(center).collect(),
            &vec![1.0; columns],
        )
    }

    /// Root mean square of a column after centring; 1 for the constant column, which becomes a column of ones.
    pub(crate) fn deviation(&self, j: usize, centred: &Standard) -> f64 {
        if centred.constant().is_some_and(|(i, _)| i == j) {
            return 1.0;
        }
        let column = self.columns[j].with_zeros(self.rows, self.weight);
        let Spread { weight, squares, .. } = column.spread;
        let away = column.mean() - centred.center(j);
        let square = squares / weight.max(f64::MIN_POSITIVE) + away * away;
        // If squares would overflow or underflow, the largest entry is accurate enough.
        let largest = self.columns[j].least.abs().max(self.columns[j].most.abs());
        if square.is_finite() { square.sqrt() } else { largest }
    }

    /// √(Σ_j mean of x_j²) over the given columns: the size of what they add to a row's predictor for each unit of
    /// their coefficients.
    pub fn size(&self, columns: &[usize]) -> f64 {
        let square = |column: &Column| column.spread.squares + column.spread.weight * column.mean().powi(2);
        let total: f64 = columns.iter().filter_map(|&j| self.columns.get(j)).map(square).sum();
        if self.weight > 0.0 { (total / self.weight).sqrt() } else { 0.0 }
    }

    /// The standard deviation of y − o; 1 if it does not vary.
    pub fn response_sd(&self) -> f64 {
        self.response.summary().sd
    }

    /// m, the predictor of an average row without its offset. The mean is moved inwards where its link may be
    /// infinite:
    /// ```text
    /// gaussian            mean of y − o
    /// bernoulli, binomial logit((Σk + ½)/(Σn + 1)) − ō; the same for ordered categories, with those above the first
    /// probit              probit((Σk + ½)/(Σn + 1)) − ō
    /// cloglog             log(−log(1 − (Σk + ½)/(Σn + 1))) − ō
    /// poisson             log((Σy + ½)/Σe^o); the same for negbinomial and, with Σδ and Σ(t/u)e^o, for times to an event
    /// gamma, exponential  log(Σy/Σe^o)
    /// ```
    pub fn location(&self, family: Family) -> f64 {
        if self.weight <= 0.0 {
            return 0.0;
        }
        let (yes, no) = (self.total + 0.5, self.weight - self.total + 0.5);
        let offset = self.offset / self.weight;
        match family {
            Family::Gaussian { .. } => self.response.summary().mean,
            // Of ordered categories, those above the first are counted.
            Family::Bernoulli | Family::Binomial | Family::Ordered { .. } => (yes / no).ln() - offset,
            Family::Probit => {
                let tail = yes.min(no) / (self.weight + 1.0);
                let size = special::upper_quantile(tail.min(0.5));
                if yes < no { -size - offset } else { size - offset }
            }
            Family::Cloglog => (-(no / (self.weight + 1.0)).ln()).ln() - offset,
            Family::Poisson
            | Family::Weibull { .. }
            | Family::ExponentialTime { .. }
            | Family::NegativeBinomial { .. } => yes.ln() - self.exposure.0 - self.exposure.1.ln(),
            Family::Gamma { .. } | Family::Exponential => {
                self.total.max(f64::MIN_POSITIVE).ln() - self.exposure.0 - self.exposure.1.ln()
            }
        }
    }

    /// s, the scale of a predictor: the deviation of y − o for the gaussian family, 1 for the others.
    pub fn spread(&self, family: Family) -> f64 {
        match family {
            Family::Gaussian { .. } => self.response_sd(),
            _ => 1.0,
        }
    }

    /// The intercept: the first of the first columns that has the same nonzero value in every row.
    pub fn intercept(&self, first: usize) -> Option<usize> {
        (0..first)
            .find(|&j| self.column(j).is_some_and(|column| column.is_constant && column.mean.abs() > 0.0))
    }
}

impl Rows {
    /// Summary statistics of columns and responses. Cost: one pass.
    pub fn summary(&self) -> DataSummary {
        let mut columns = vec![Sums::EMPTY; self.design.columns()];
        let mut out = DataSummary::empty(0);
        let mut response = Sums::EMPTY;
        // As they were given, whatever the noise: counts are not trials, and events are counted per unit of time.
        let plain = self.plain_offsets();
        let (counts, offsets) = (self.family.count_shape().is_some(), plain.as_deref());
        let (times, ordered) = (self.family.hazard_shape().is_some(), self.family.gaps().is_some());
        for (n, &weight) in self.given_weights().iter().enumerate() {
            if weight <= 0.0 {
                continue;
            }
            let y = match (counts, times) {
                (true, _) => self.observed(n),
                (_, true) => f64::from(u8::from(self.is_event(n))),
                _ if ordered => f64::from(u8::from(self.observed(n) > 1.5)),
                _ => self.response[n],
            };
            let offset = offsets.map_or(0.0, |offsets| offsets[n]);
            out.rows += 1.0;
            out.weight += weight;
            out.total += weight * y;
            out.offset += weight * offset;
            out.exposure = match offsets {
                Some(_) => added(out.exposure, (offset, weight)),
                None => (0.0, out.weight),
            };
            response.add(y - offset, weight);
            self.design.for_each_in_row(n, |j, x| {
                if x.abs() > 0.0 {
                    columns[j].add(x, weight);
                }
            });
        }
        out.response = response.column();
        out.columns = columns.into_iter().map(Sums::column).collect();
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glm::design::Design;

    const GAUSSIAN: Family = Family::Gaussian { noise_sd: 1.0 };

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-12 * (1.0 + b.abs()), "{a} {b}");
    }

    #[test]
    fn means_and_deviations_are_those_of_the_textbook() {
        let design = Design::dense(3, 3, &[1.0, 2.0, 0.0, 1.0, 4.0, 0.0, 1.0, 9.0, 0.0]).unwrap();
        let found = Rows::new(GAUSSIAN, design, &[10.0, 20.0, 60.0]).unwrap().summary();
        let column = |j| found.column(j).unwrap();
        assert_eq!(column(0), ColumnSummary { mean: 1.0, sd: 1.0, is_constant: true });
        assert_eq!(column(2), ColumnSummary { mean: 0.0, sd: 1.0, is_constant: true });
        near(column(1).mean, 5.0);
        near(column(1).sd, (26.0f64 / 3.0).sqrt());
        near(found.location(GAUSSIAN), 30.0);
        near(found.spread(GAUSSIAN), (1400.0f64 / 3.0).sqrt());
        assert_eq!((found.intercept(3), found.column(3)), (Some(0), None));
        near(found.size(&[0, 1]), (1.0 + 101.0 / 3.0f64).sqrt());
    }

    #[test]
    fn a_weight_is_so_many_rows_and_trials_are_single_ones() {
        let entries = |x: &[f64]| Design::dense(x.len(), 1, x).unwrap();
        let weighted = Rows::new(GAUSSIAN, entries(&[1.0, 5.0, 7.0]), &[2.0, 3.0, 99.0]).unwrap();
        let weighted = weighted.with_weights(&[2.0, 1.0, 0.0]).unwrap().summary();
        let repeated = Rows::new(GAUSSIAN, entries(&[1.0, 1.0, 5.0]), &[2.0, 2.0, 3.0]).unwrap().summary();
        near(weighted.column(0).unwrap().sd, repeated.column(0).unwrap().sd);
        near(weighted.column(0).unwrap().mean, repeated.column(0).unwrap().mean);
        near(weighted.spread(GAUSSIAN), repeated.spread(GAUSSIAN));
        let counts = Rows::binomial(entries(&[1.0, 5.0]), &[1.0, 0.0], &[2.0, 1.0]).unwrap().summary();
        let single = Rows::new(Family::Bernoulli, entries(&[1.0, 1.0, 5.0]), &[1.0, 0.0, 0.0]).unwrap();
        let single = single.summary();
        near(counts.column(0).unwrap().sd, single.column(0).unwrap().sd);
        near(counts.location(Family::Binomial), (1.5f64 / 2.5).ln());
        near(single.location(Family::Bernoulli), (1.5f64 / 2.5).ln());
    }

    #[test]
    fn locations_are_links_of_means_pulled_inside() {
        let ones = |n: usize| Design::dense(n, 1, &vec![1.0; n]).unwrap();
        let all = Rows::new(Family::Probit, ones(3), &[1.0; 3]).unwrap().summary();
        near(special::normal_cdf(all.location(Family::Probit)), 3.5 / 4.0);
        near(all.location(Family::Bernoulli), 7f64.ln());
        let none = Rows::new(Family::Probit, ones(3), &[0.0; 3]).unwrap().with_offsets(&[1.0, 2.0, 3.0]);
        near(none.unwrap().summary().location(Family::Bernoulli), -(7f64.ln()) - 2.0);
        let some = Rows::new(Family::Cloglog, ones(3), &[1.0, 0.0, 1.0]).unwrap().summary();
        near(1.0 - (-some.location(Family::Cloglog).exp()).exp(), 2.5 / 4.0);
        let counts = Rows::new(Family::Poisson, ones(2), &[3.0, 0.0]).unwrap();
        near(counts.summary().location(Family::Poisson), (3.5f64 / 2.0).ln());
        let exposed = counts.with_offsets(&[1e3, 1e3 + 2f64.ln()]).unwrap().summary();
        near(exposed.location(Family::Poisson), (3.5f64 / 3.0).ln() - 1e3);
        let shifted = Rows::new(GAUSSIAN, ones(2), &[3.0, 5.0]).unwrap().with_offsets(&[1.0, 3.0]).unwrap();
        near(shifted.summary().location(GAUSSIAN), 2.0);
        // What is left of the response does not vary.
        near(shifted.summary().spread(GAUSSIAN), 1.0);
    }

    #[test]
    fn blocks_merge_to_the_whole_whether_sparse_or_dense() {
        let mut noise = vec![0.0; 400];
        provi_kernels::normals(11, 0, 0, &mut noise);
        // A column far from 0, one with many zeros and one of ones.
        let entries: Vec<f64> =
            (0..200).flat_map(|n| [1.0, 1.7e9 + noise[n], if n % 3 == 0 { noise[n] } else { 0.0 }]).collect();
        let rows = |range: std::ops::Range<usize>| {
            let design = Design::dense(range.len(), 3, &entries[3 * range.start..3 * range.end]).unwrap();
            let y: Vec<f64> = noise[200..][range.clone()].iter().map(|e| 1e6 + e).collect();
            let weights: Vec<f64> = range.map(|n| (n % 4) as f64).collect();
            Rows::new(GAUSSIAN, design, &y).unwrap().with_weights(&weights).unwrap()
        };
        let whole = rows(0..200).summary();
        let parts = [0..1, 1..64, 64..200].map(|range| rows(range).summary());
        let mut merged = DataSummary::empty(3);
        parts.iter().for_each(|part| merged.merge(part));
        assert_eq!(DataSummary::of_numbers(&merged.numbers()), merged);
        let dense = Design::dense(200, 3, &entries).unwrap();
        let mut triplets = Vec::new();
        (0..200).for_each(|n| dense.for_each_in_row(n, |j, x| triplets.push((n, j, x))));
        triplets.retain(|(_, _, x)| x.abs() > 0.0);
        let sparse = Design::triplets(200, 3, &triplets).unwrap();
        let sparse = Rows { design: sparse, ..rows(0..200) }.summary();
        for other in [&merged, &sparse] {
            for j in 0..3 {
                let (a, b) = (whole.column(j).unwrap(), other.column(j).unwrap());
                assert_eq!(a.is_constant, b.is_constant);
                assert!(
                    (a.mean - b.mean).abs() <= 1e-15 * a.mean.abs() + 1e-14
                        && (a.sd / b.sd - 1.0).abs() < 1e-10
                );
            }
            assert!((whole.response_sd() / other.response_sd() - 1.0).abs() < 1e-10);
            assert!((whole.location(GAUSSIAN) / other.location(GAUSSIAN) - 1.0).abs() < 1e-14);
        }
    }
}
