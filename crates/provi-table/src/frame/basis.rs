//! Bases of functions of one number: orthonormal polynomials and cubic B-splines, as in R's `poly` and
//! `splines::bs`.

use serde::{Deserialize, Serialize};

/// Orthonormal polynomials of degree 1..k over the points from which they were learned.
///
/// With t = (x − mean)/scale, P₀ = 1, P₁ = t − c₁,
/// ```text
/// P_{i+1} = (t − c_{i+1})·P_i − (n_i/n_{i−1})·P_{i−1},   c_{i+1} = Σ t·P_i²/n_i,   n_i = Σ P_i²
/// ```
/// and column i is P_i/√n_i: the columns sum to 0 and their Gram matrix is the identity, up to rounding.
/// R's `poly` gives the same columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Polynomial {
    /// Mean of the points.
    pub mean: f64,
    /// Largest distance of a point from the mean.
    pub scale: f64,
    /// c₁..c_k
    pub centres: Vec<f64>,
    /// n₀..n_k
    pub norms: Vec<f64>,
}

impl Polynomial {
    /// The basis over `points`; `None` unless there are more than `degree` distinct points.
    pub(crate) fn learn(points: &[f64], degree: usize) -> Option<Self> {
        if distinct(points) <= degree {
            return None;
        }
        let mean = mean(points.iter().copied());
        let scale = points.iter().fold(0.0f64, |most, x| most.max((x - mean).abs()));
        let mut basis = Self { mean, scale, centres: Vec::new(), norms: vec![points.len() as f64] };
        let points: Vec<f64> = points.iter().map(|x| (x - mean) / scale).collect();
        let (mut before, mut last) = (vec![0.0; points.len()], vec![1.0; points.len()]);
        for i in 0..degree {
            let norm = basis.norms[i];
            let centre = points.iter().zip(&last).map(|(t, p)| t * p * p).sum::<f64>() / norm;
            let ratio = if i == 0 { 0.0 } else { norm / basis.norms[i - 1] };
            let next: Vec<f64> = points
                .iter()
                .zip(last.iter().zip(&before))
                .map(|(t, (p, q))| (t - centre) * p - ratio * q)
                .collect();
            basis.centres.push(centre);
            basis.norms.push(next.iter().map(|p| p * p).sum());
            before = std::mem::replace(&mut last, next);
        }
        basis.is_sound().then_some(basis)
    }

    /// The degree k.
    pub fn degree(&self) -> usize {
        self.centres.len()
    }

    pub(crate) fn is_sound(&self) -> bool {
        let finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
        self.norms.len() == self.centres.len() + 1
            && !self.centres.is_empty()
            && finite(&self.centres)
            && self.norms.iter().all(|norm| norm.is_finite() && *norm > 0.0)
            && self.mean.is_finite()
            && self.scale.is_finite()
            && self.scale > 0.0
    }

    /// The columns at x, appended to `row`.
    pub(crate) fn evaluate(&self, x: f64, row: &mut Vec<f64>) {
        let t = (x - self.mean) / self.scale;
        let (mut before, mut last) = (0.0, 1.0);
        for (i, centre) in self.centres.iter().enumerate() {
            let ratio = if i == 0 { 0.0 } else { self.norms[i] / self.norms[i - 1] };
            let next = (t - centre) * last - ratio * before;
            row.push(next / self.norms[i + 1].sqrt());
            before = std::mem::replace(&mut last, next);
        }
    }
}

/// Cubic B-splines without the first one, so that they can be combined with an intercept; k = inner knots + 3.
///
/// Knots are at the quantiles 1/(m+1), .., m/(m+1) of the points, and four at each end of their range. Within the
/// range, the columns and the one left out are non-negative and sum to 1; beyond it, the outermost cubics continue.
/// R's `splines::bs(x, df = k)` gives the same columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spline {
    /// Ends of the range.
    pub range: [f64; 2],
    /// Inner knots, ascending.
    pub knots: Vec<f64>,
}

const DEGREE: usize = 3;

impl Spline {
    /// The degree of its pieces.
    pub(super) const DEGREE: usize = DEGREE;

    /// The basis of `count` columns over `points`; `None` unless there are more than `count` distinct points.
    pub(crate) fn learn(points: &[f64], count: usize) -> Option<Self> {
        if count < DEGREE || distinct(points) <= count {
            return None;
        }
        let mut sorted = points.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let inner = count - DEGREE;
        let knots = (1..=inner).map(|i| quantile(&sorted, i as f64 / (inner + 1) as f64)).collect();
        let basis = Self { range: [sorted[0], sorted[sorted.len() - 1]], knots };
        basis.is_sound().then_some(basis)
    }

    /// The number of columns k.
    pub fn count(&self) -> usize {
        self.knots.len() + DEGREE
    }

    pub(crate) fn is_sound(&self) -> bool {
        let [low, high] = self.range;
        let finite = low.is_finite() && high.is_finite() && (high - low).is_finite();
        finite
            && low < high
            && self.knots.is_sorted()
            && self.knots.iter().all(|knot| low <= *knot && *knot <= high)
    }

    /// Knot `i` of the whole sequence, four at each end.
    pub(super) fn knot(&self, i: usize) -> f64 {
        match i.checked_sub(DEGREE + 1) {
            None => self.range[0],
            Some(inner) => self.knots.get(inner).copied().unwrap_or(self.range[1]),
        }
    }

    /// The last non-empty interval [knot i, knot i+1) that starts at or before x; the first one if x lies before
    /// all of them.
    pub(super) fn interval(&self, x: f64) -> usize {
        let filled = |i: &usize| self.knot(*i) < self.knot(i + 1);
        let mut intervals = (DEGREE..=DEGREE + self.knots.len()).filter(filled);
        let first = intervals.next().unwrap_or(DEGREE);
        intervals.take_while(|&i| self.knot(i) <= x).last().unwrap_or(first)
    }

    /// The columns at x, appended to `row`, by the recursion of Cox and de Boor for the four splines that are not
    /// zero on x's interval; all its interval lengths are positive.
    pub(crate) fn evaluate(&self, x: f64, row: &mut Vec<f64>) {
        let at = self.interval(x);
        let mut values = [0.0; DEGREE + 1];
        values[0] = 1.0;
        for degree in 1..=DEGREE {
            let mut carried = 0.0;
            for r in 0..degree {
                let (left, right) = (self.knot(at + 1 + r - degree), self.knot(at + 1 + r));
                let share = values[r] / (right - left);
                values[r] = carried + (right - x) * share;
                carried = (x - left) * share;
            }
            values[degree] = carried;
        }
        let first = at - DEGREE;
        row.extend((1..=self.count()).map(|i| match i.checked_sub(first) {
            Some(place) if place <= DEGREE => values[place],
            _ => 0.0,
        }));
    }
}

/// Σx/n, with one more step that corrects the rounding of the sum.
pub(crate) fn mean(values: impl ExactSizeIterator<Item = f64> + Clone) -> f64 {
    let n = values.len() as f64;
    // Divided first, so that large values do not overflow.
    let first: f64 = values.clone().map(|x| x / n).sum();
    first + values.map(|x| (x - first) / n).sum::<f64>()
}

/// √(Σ(x − mean)²/(n − 1)); 0 for a single value.
pub(crate) fn standard_deviation(values: &[f64], mean: f64) -> f64 {
    let most = values.iter().fold(0.0f64, |most, x| most.max((x - mean).abs()));
    if values.len() < 2 || most <= 0.0 || !most.is_finite() {
        return 0.0;
    }
    let squares: f64 = values.iter().map(|x| ((x - mean) / most) * ((x - mean) / most)).sum();
    most * (squares / (values.len() - 1) as f64).sqrt()
}

/// The quantile of sorted values by linear interpolation between order statistics, R's type 7.
pub(super) fn quantile(sorted: &[f64], p: f64) -> f64 {
    let place = p * (sorted.len() - 1) as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    let (low, high) = (sorted[below], sorted[above]);
    (low + (place - place.floor()) * (high - low)).clamp(low, high)
}

pub(crate) fn distinct(values: &[f64]) -> usize {
    let mut sorted: Vec<f64> = values.iter().map(|value| value + 0.0).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.dedup_by(|a, b| a.total_cmp(b).is_eq());
    sorted.len()
}
