//! Expectations under a sparse Gaussian, and the gap that they prove.

use super::SparseModel;
use super::rows::SortedRows;
use crate::base::chunked::{self, Chunks};
use crate::base::error::{Error, Result};
use crate::base::linalg::sparse::Selected;
use crate::base::stop;
use crate::glm::Family;
use crate::glm::expectation::quadrature;
use crate::glm::family::Form;
use crate::glm::rows::Lever;
use crate::target::curvature::Provenance;
use provi_kernels::{design, gram};
use std::ops::Range;

/// Chunks of rows whose results are held at once.
const WAVE: usize = 64;
/// Numbers that a pass sums beside gradient and curvature: those of a [`Part`], and what rounding lost of the first.
const SUMS: usize = 5;
/// Cost of a row's expectations in multiply-adds.
const NODE_WORK: usize = 600;

/// E_q of V and its derivatives under q = N(m, P⁻¹), with bounds of their errors; vectors and matrices by places.
#[derive(Clone, Debug)]
pub(crate) struct SparseMoments {
    /// E V.
    pub(crate) value: f64,
    /// Upper bound of |error of `value`|.
    pub(crate) value_error: f64,
    /// E ∇V.
    pub(crate) gradient: Vec<f64>,
    /// Upper bound of the error of `gradient` in the norm √(xᵀD⁻¹x).
    gradient_error: f64,
    /// E ∇²V, in the places of the precision.
    pub(crate) hessian: Vec<f64>,
    /// η: the curvatures of the rows are relatively off by at most η,
    relative: f64,
    /// and beyond that by δ_n with Σ w_nδ_n a_nᵀD⁻¹a_n at most this.
    absolute: f64,
    /// Whether these bounds are proved.
    pub(crate) provenance: Provenance,
}

/// The share of a chunk.
#[derive(Default)]
struct Part {
    /// E V, its error, the error of the gradient, the absolute error of the curvatures.
    sums: [f64; 4],
    relative: f64,
    /// How many columns at the end of the order all sets of the chunk share.
    shared: usize,
    /// For each set: the gradient of its other columns, then the columns of its curvature that belong to them, from the diagonal
    /// down.
    own: Vec<f64>,
    /// The gradient of the shared columns, then their curvature, of which the lower half counts, row by row.
    common: Vec<f64>,
}

impl Part {
    /// Adds the gradient and the curvature of a set.
    fn put(&mut self, slopes: &[f64], block: &[f64]) {
        let (k, shared) = (slopes.len(), self.shared);
        let own = k - shared;
        self.own.extend_from_slice(&slopes[..own]);
        for b in 0..own {
            self.own.extend((b..k).map(|a| block[a * k + b]));
        }
        let (sums, squares) = self.common.split_at_mut(shared);
        sums.iter_mut().zip(&slopes[own..]).for_each(|(sum, x)| *sum += x);
        for (a, row) in squares.chunks_exact_mut(shared.max(1)).enumerate() {
            let from = &block[(own + a) * k + own..][..=a];
            row.iter_mut().zip(from).for_each(|(sum, x)| *sum += x);
        }
    }
}

/// What is needed of q in a pass over the rows.
struct At<'a> {
    mean: &'a [f64],
    selected: &'a Selected,
    /// √Σ_ii.
    deviations: Vec<f64>,
    /// 1/D_ii; ones if there is no D.
    inverse: Vec<f64>,
}

/// The linear predictors s_n of some rows under q.
struct Predictors {
    means: Vec<f64>,
    deviations: Vec<f64>,
    /// The errors of μ_n and of σ_n², and ‖a_n‖² in D⁻¹.
    sizes: Vec<[f64; 3]>,
}

impl SparseModel {
    /// The moments under N(mean, P⁻¹), of whose factor `selected` is the selected inverse.
    pub(crate) fn expect(&self, mean: &[f64], selected: &Selected) -> Result<SparseMoments> {
        let (dim, at) = (self.dim(), self.at(mean, selected));
        let mut relative = [0.0f64];
        let mut numbers = self.sums(SUMS + 2 * dim + self.structure.len(), |rows, numbers| {
            relative[0] = relative[0].max(self.add_moments(rows, &at, numbers));
        })?;
        self.rows.largest(&mut relative)?;
        let mut hessian = numbers.split_off(SUMS + 2 * dim);
        self.add_prior(&mut hessian);
        let lost = numbers.split_off(SUMS + dim);
        let mut gradient = numbers.split_off(SUMS);
        gradient.iter_mut().zip(&lost).for_each(|(x, y)| *x += y);
        let sums = [numbers[0] + numbers[4], numbers[1], numbers[2], numbers[3]];
        self.conclude(at, sums, relative[0], gradient, hessian)
    }

    /// Adds the share of some rows: the sums of a [`Part`] and what their first lost, the gradient, what it lost, the
    /// curvature. Returns the relative error of the rows' curvatures.
    fn add_moments(&self, rows: &SortedRows, at: &At<'_>, numbers: &mut [f64]) -> f64 {
        let dim = self.dim();
        let (sums, rest) = numbers.split_at_mut(SUMS);
        let (gradient, rest) = rest.split_at_mut(dim);
        let (lost, hessian) = rest.split_at_mut(dim);
        let (sums, of_value) = sums.split_at_mut(SUMS - 1);
        let (mut relative, mut room) = (0.0f64, Vec::new());
        for wave in rows.chunks().chunks(WAVE) {
            if stop::trips() {
                break;
            }
            let work = rows.rows_of_all(wave).saturating_mul(NODE_WORK);
            let parts = chunked::map(Chunks { len: wave.len(), size: 1, work }, |k| {
                self.part(rows, wave[k.start].clone(), at)
            });
            for (sets, part) in wave.iter().zip(parts) {
                add(&mut sums[0], &mut of_value[0], part.sums[0]);
                sums.iter_mut().zip(part.sums).skip(1).for_each(|(sum, x)| *sum += x);
                relative = relative.max(part.relative);
                let mut rest = part.own.iter();
                let mut columns: &[u32] = &[];
                for set in sets.clone() {
                    columns = rows.columns(set);
                    let count = columns.len() - part.shared;
                    for (&place, &x) in columns[..count].iter().zip(rest.by_ref()) {
                        add(&mut gradient[place as usize], &mut lost[place as usize], x);
                    }
                    self.structure.first_columns(columns, count, &mut room, |_, to, step, rows| {
                        for (&row, x) in rows.iter().zip(rest.by_ref()) {
                            hessian[to + step * row] += x;
                        }
                    });
                }
                let columns = &columns[columns.len() - part.shared..];
                let (slopes, block) = part.common.split_at(part.shared);
                for (&place, &x) in columns.iter().zip(slopes) {
                    add(&mut gradient[place as usize], &mut lost[place as usize], x);
                }
                self.structure.each_column(columns, &mut room, |b, to, step, rows| {
                    for (a, &row) in (b..part.shared).zip(rows) {
                        hessian[to + step * row] += block[a * part.shared + b];
                    }
                });
            }
        }
        relative
    }

    fn at<'a>(&self, mean: &'a [f64], selected: &'a Selected) -> At<'a> {
        let dim = self.dim();
        let deviation = |place: usize| selected.values()[self.structure.diagonal(place)].max(0.0).sqrt();
        let inverse = match &self.lower.diagonal {
            Some(diagonal) => diagonal.iter().map(|x| 1.0 / x).collect(),
            None => vec![1.0; dim],
        };
        At { mean, selected, deviations: (0..dim).map(deviation).collect(), inverse }
    }

    /// E∇²V under a Gaussian of no spread at this mean, in the places of the precision: the curvature of V there.
    pub(crate) fn curvature_at(&self, mean: &[f64]) -> Result<Vec<f64>> {
        let nothing = Selected::nothing(&self.structure);
        Ok(self.expect(mean, &nothing)?.hessian)
    }

    /// The linear predictors of the rows of some sets, which share that many columns at the end of the order.
    fn predictors(&self, rows: &SortedRows, sets: &Range<usize>, shared: usize, at: &At<'_>) -> Predictors {
        let held = rows;
        let count = held.rows_of(sets);
        let (mut means, mut deviations) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut sizes: Vec<[f64; 3]> = Vec::with_capacity(count);
        let (mut covariance, mut room, mut scales) = (Vec::new(), Vec::new(), Vec::new());
        for set in sets.clone() {
            let (columns, rows) = (held.columns(set), held.range(set));
            let (k, width) = (columns.len(), gram::padded(columns.len()));
            // Among sets of as many columns, the share of the common ones stays.
            let fresh = if covariance.len() == k * width { k - shared } else { k };
            if fresh == k {
                covariance.clear();
                covariance.resize(k * width, 0.0);
            }
            self.structure.first_columns(columns, fresh, &mut room, |b, from, step, rows| {
                for (a, &row) in (b..k).zip(rows) {
                    let twice = if a == b { 1.0 } else { 2.0 };
                    covariance[a * width + b] = twice * at.selected.values()[from + step * row];
                }
            });
            scales.clear();
            scales.extend(columns.iter().map(|&place| {
                let place = place as usize;
                [at.mean[place], at.deviations[place], at.inverse[place]]
            }));
            let error = columns.first().map_or(0.0, |&p| at.selected.error(self.structure.owner(p as usize)));
            let unit = (2 * k + 8) as f64 * f64::EPSILON;
            let (entries, done) = (held.entries(set), deviations.len());
            // First the variances, then their roots.
            deviations.resize(done + rows.len(), 0.0);
            gram::forms(&covariance, k, entries, &mut deviations[done..]);
            for (local, n) in rows.enumerate() {
                let offset = held.offsets.get(n).copied().unwrap_or(0.0);
                let size = held.sizes.get(n).copied().unwrap_or(0.0);
                let (mut mean, mut size, mut reach, mut square) = (offset, size, 0.0, 0.0);
                for (x, [m, deviation, inverse]) in entries[local * k..(local + 1) * k].iter().zip(&scales) {
                    let part = x * m;
                    mean += part;
                    size += part.abs();
                    reach += x.abs() * deviation;
                    square += x * x * inverse;
                }
                means.push(mean);
                let variance = deviations[done + local].max(0.0);
                deviations[done + local] = variance.sqrt();
                let off_variance = match error.is_finite() {
                    true => error * variance + unit * reach * reach,
                    false => f64::INFINITY,
                };
                sizes.push([unit * size, off_variance, square]);
            }
        }
        Predictors { means, deviations, sizes }
    }

    /// Σ w_n·slope(y_n, E s_n, Var s_n, lever_n) under q = N(mean, P⁻¹): how E_q V changes with the noise, or with gaps between cut points.
    pub(super) fn expected_slopes<const N: usize>(
        &self,
        mean: &[f64],
        selected: &Selected,
        slope: impl Fn(f64, f64, f64, Lever) -> [f64; N] + Sync,
    ) -> Result<[f64; N]> {
        let at = self.at(mean, selected);
        let sums = self.sums(2 * N, |rows, sums| {
            let (total, lost) = sums.split_at_mut(N);
            for wave in rows.chunks().chunks(WAVE) {
                if stop::trips() {
                    return;
                }
                let work = rows.rows_of_all(wave).saturating_mul(NODE_WORK);
                let parts = chunked::map(Chunks { len: wave.len(), size: 1, work }, |k| {
                    let sets = &wave[k.start];
                    let Predictors { means, deviations, .. } =
                        self.predictors(rows, sets, rows.shared(sets), &at);
                    let first = rows.range(sets.start).start;
                    let mut sum = [0.0; N];
                    for (n, (mean, deviation)) in means.iter().zip(deviations).enumerate() {
                        let (w, y) = (rows.weights[first + n], rows.response[first + n]);
                        let lever = rows.levers.get(first + n).copied().unwrap_or_default();
                        let of_row = slope(y, *mean, deviation * deviation, lever);
                        sum.iter_mut().zip(of_row).for_each(|(sum, x)| *sum += w * x);
                    }
                    sum
                });
                for part in parts {
                    (0..N).for_each(|i| add(&mut total[i], &mut lost[i], part[i]));
                }
            }
        })?;
        Ok(std::array::from_fn(|i| sums[i] + sums[N + i]))
    }

    /// The share of some sets.
    fn part(&self, held: &SortedRows, sets: Range<usize>, at: &At<'_>) -> Part {
        let first = held.range(sets.start).start;
        let count = held.rows_of(&sets);
        let shared = held.shared(&sets);
        let mut part = Part { shared, common: vec![0.0; shared + shared * shared], ..Part::default() };
        let Predictors { means, deviations, sizes } = self.predictors(held, &sets, shared, at);
        let response = &held.response[first..first + count];
        let terms = quadrature::expect_rows(self.linear.family, &means, &deviations, response);
        let (steepest, third) = (self.linear.family.curvature_range().1, steepest_third(self.linear.family));
        let (mut n, mut of_value) = (0, 0.0);
        let (mut pulls, mut bends, mut room, mut slopes, mut block) = <[Vec<f64>; 5]>::default().into();
        // The sums of several processes are added once more.
        let processes = self.rows.processes();
        let count = sets.len() + processes;
        let value_unit = (8 + processes) as f64 * f64::EPSILON;
        for set in sets {
            let k = held.columns(set).len();
            let rows = held.range(set);
            let unit = (rows.len() + count + k + 16) as f64 * f64::EPSILON;
            let entries = held.entries(set);
            pulls.clear();
            bends.clear();
            for row in rows {
                let w = held.weights[row];
                let [off_mean, off_variance, square] = sizes[n];
                let deviation = deviations[n];
                let off_deviation = match deviation > 0.0 {
                    true => (off_variance / deviation).min(off_variance.sqrt()),
                    false => off_variance.sqrt(),
                };
                let off = off_mean + off_deviation;
                let (slope, curvature) = (terms.first[n].abs(), terms.second[n].abs());
                // ∂Eφ/∂σ² = ½Eφ″ and ∂Eφ′/∂σ² = ½Eφ‴; a rate is κe^{±μ+σ²/2}.
                let (moved, turned) = match steepest {
                    Some(theta) => (
                        off_mean * (slope + theta * off_mean) + 0.5 * theta * off_variance,
                        theta * off_mean + third.map_or(0.0, |third| 0.5 * third * off_variance),
                    ),
                    None => {
                        let growth = (off_mean + 0.5 * off_variance).exp_m1();
                        let line = self.linear.family.line(response[n]);
                        let tame = self.linear.family.tame(response[n]);
                        (curvature * growth + line * off, curvature * growth + tame * off)
                    }
                };
                // The sum itself is compensated.
                add(&mut part.sums[0], &mut of_value, w * terms.value[n]);
                part.sums[1] += w * (terms.value_error[n] + moved + value_unit * terms.value[n].abs());
                let length = square.sqrt() * (1.0 + 1e-9);
                let error = terms.slope_error[n] + unit * slope + turned;
                part.sums[2] += w * length * error;
                let (relative, absolute) = curvature_error(
                    self.linear.family,
                    off_mean,
                    off_variance,
                    steepest.unwrap_or_else(|| self.linear.family.tame(response[n])) * off,
                );
                part.relative = part.relative.max(relative);
                part.sums[3] += w * square * (terms.slope_error[n] + absolute);
                pulls.push(w * terms.first[n]);
                bends.push(w * terms.second[n]);
                n += 1;
            }
            for (zeros, length) in [(&mut slopes, k), (&mut block, k * k)] {
                zeros.clear();
                zeros.resize(length, 0.0);
            }
            design::pull_back(entries, k, &pulls, &mut slopes);
            room.resize(entries.len(), 0.0);
            gram::add_lower(entries, k, &bends, &mut room, &mut block);
            part.put(&slopes, &block);
        }
        part.sums[0] += of_value;
        part
    }

    /// Adds the prior's share, and collects the errors.
    fn conclude(
        &self,
        at: At<'_>,
        sums: [f64; 4],
        relative: f64,
        mut gradient: Vec<f64>,
        hessian: Vec<f64>,
    ) -> Result<SparseMoments> {
        let dim = self.dim();
        let order = self.structure.order();
        let mut point = vec![0.0; dim];
        order.iter().zip(at.mean).for_each(|(&i, &x)| point[i as usize] = x);
        let mut pull = vec![0.0; dim];
        let energy = self.linear.prior.energy(&point, &mut pull);
        // |Λ||m − ν|: the sizes of the products that the pull sums.
        let (mut sizes, mut counts, mut trace, mut spread) = (vec![0.0; dim], vec![8usize; dim], 0.0, 0.0);
        let away = |place: usize| (at.mean[place] - self.linear.prior.center(order[place] as usize)).abs();
        for entry in &self.prior {
            let value = entry.value * at.selected.values()[entry.index];
            sizes[entry.row] += entry.value.abs() * away(entry.column);
            counts[entry.row] += 1;
            counts[entry.column] += 1;
            let twice = if entry.row == entry.column {
                1.0
            } else {
                sizes[entry.column] += entry.value.abs() * away(entry.row);
                2.0
            };
            trace += twice * value;
            spread += twice * entry.value.abs() * at.deviations[entry.row] * at.deviations[entry.column];
        }
        let unit = ((dim + self.prior.len()) as f64 + 16.0) * f64::EPSILON;
        let (mut forms, mut prior_error, mut rounding) = (0.0, 0.0, 0.0);
        for place in 0..dim {
            gradient[place] += pull[order[place] as usize];
            forms += sizes[place] * away(place);
            let entries = self.terms[place].max(counts[place]) as f64 * f64::EPSILON;
            prior_error += (entries * sizes[place]).powi(2) * at.inverse[place];
            rounding += (2.0 * f64::EPSILON * gradient[place]).powi(2) * at.inverse[place];
        }
        let lost = self.linear.lost + self.linear.prior.rounding();
        let largest = at.inverse.iter().copied().fold(0.0, f64::max);
        let distance2: f64 = (0..dim).map(|place| away(place).powi(2)).sum();
        let variances: f64 = at.deviations.iter().map(|x| x * x).sum();
        let value = sums[0] + energy + 0.5 * trace + self.linear.constant;
        let whole = sums[0].abs() + energy.abs() + self.linear.constant.abs();
        let out = SparseMoments {
            value,
            value_error: sums[1]
                + at.selected.largest_error() * spread
                + unit * (forms + spread)
                + 8.0 * f64::EPSILON * whole
                + lost * (distance2 + variances)
                + self.linear.constant_error,
            gradient,
            gradient_error: sums[2]
                + prior_error.sqrt()
                + rounding.sqrt()
                + lost * (distance2 * largest).sqrt(),
            hessian,
            relative,
            absolute: sums[3] * (1.0 + 1e-9) + lost * (largest * at.inverse.iter().sum::<f64>()).sqrt(),
            provenance: Provenance::Proved,
        };
        match out.value.is_finite() && out.gradient.iter().chain(&out.hessian).all(|x| x.is_finite()) {
            true => Ok(out),
            false => Err(Error::NotFinite { what: "expectation of the potential", index: 0, value }),
        }
    }

    /// A bound of f(q) − f* \[sparse-optimum\], and the part of its root that is due to errors. `precision` is P as it was
    /// assembled, and q's precision is LLᵀ for its computed factor.
    ///
    /// With D ⪯ Λ ⪯ ∇²V, C = L⁻ᵀ upper triangular in the order of elimination, and E = E∇²V − LLᵀ,
    /// ```text
    /// ∇_m f = E∇V,   ∇_C f = triu(EC),   f(q) − f* ≤ ½(‖E∇V‖²_{D⁻¹} + tr(D⁻¹EΣE))
    /// ```
    /// because f is convex in (m, C) and bends at least as much as ½(δᵀDδ + tr(ΔᵀDΔ)). The trace is a sum over the rows
    /// of E; e = B_i bounds row i entry by entry, and
    /// ```text
    /// eᵀΣe ≤ (√(Σ_{j∈S} e_j²/D_j) + Σ_{j∉S} |e_j|√Σ_jj)²     for any S, as Σ ⪯ D⁻¹ and Σ_ij² ≤ Σ_iiΣ_jj
    /// ```
    /// Errors: an entry of E is off by n_ij·3·2u·√(P_iiP_jj) from three sums of at most n_ij numbers each. A relative error η
    /// of the rows' curvatures moves E by at most η√(c·tr(D⁻¹H)), c = λ_max(P^{−½}HP^{−½}); an absolute one by its trace.
    pub(crate) fn gap(
        &self,
        moments: &SparseMoments,
        precision: &[f64],
        selected: &Selected,
    ) -> Option<(f64, f64)> {
        let diagonal = self.lower.diagonal.as_ref()?;
        let structure = &self.structure;
        let dim = self.dim();
        let (mut roots, mut deviations, mut trace) = (vec![0.0; dim], vec![0.0; dim], 0.0);
        let above = 1.0 + selected.largest_error();
        for place in 0..dim {
            let at = structure.diagonal(place);
            roots[place] = precision[at].max(moments.hessian[at]).max(0.0).sqrt();
            deviations[place] = selected.values()[at].max(0.0).sqrt() * above;
            trace += moments.hessian[at] / diagonal[place];
        }
        let near = |j: usize| deviations[j] * deviations[j] * diagonal[j] >= 0.01;
        // For each row: Σ e_j²/D_j over S, Σ |e_j|√Σ_jj over the others; of E as it is, and of its error.
        let mut sums = vec![[0.0f64; 4]; dim];
        // ‖D^{−½}(error)D^{−½}‖_F², which says how far LLᵀ may be below D.
        let mut shrunk = 0.0;
        structure.each_entry(|i, j, index| {
            let entry = (moments.hessian[index] - precision[index]).abs();
            let count = self.terms[i].min(self.terms[j]) as f64;
            let error = 3.0 * count * f64::EPSILON * roots[i] * roots[j];
            shrunk += 2.0 * error * error / (diagonal[i] * diagonal[j]);
            let mut put = |row: usize, j: usize| {
                for (k, e) in [entry, error].into_iter().enumerate() {
                    match near(j) {
                        true => sums[row][2 * k] += e * e / diagonal[j],
                        false => sums[row][2 * k + 1] += e * deviations[j],
                    }
                }
            };
            put(i, j);
            if i != j {
                put(j, i);
            }
        });
        let shrunk = shrunk.sqrt();
        if shrunk.is_nan() || shrunk >= 0.1 {
            return None;
        }
        let total = |k: usize| {
            let row = |(sums, d): (&[f64; 4], &f64)| (sums[2 * k].sqrt() + sums[2 * k + 1]).powi(2) / d;
            sums.iter().zip(diagonal).map(row).sum::<f64>().sqrt()
        };
        let (own, rounding) = (total(0), total(1));
        // c ≤ 1 + ‖P^{−½}EP^{−½}‖, and the relative error is part of E.
        let spread = 1.0 + (own + rounding + moments.absolute) * (1.0 + 2.0 * shrunk);
        let relative = moments.relative * (spread / (1.0 - moments.relative.min(0.5)) * trace).sqrt();
        let slope: f64 = moments.gradient.iter().zip(diagonal).map(|(g, d)| g * g / d).sum::<f64>().sqrt();
        // Σ ⪯ D⁻¹ holds for D that is smaller by this share.
        let inflate = 1.0 / (1.0 - shrunk) * (1.0 + 1e-9);
        let error = (moments.gradient_error + rounding + relative + moments.absolute) * inflate;
        let curvature = own * inflate;
        let root = slope.hypot(curvature) * (1.0 + 1e-10) + error;
        let gap = 0.5 * root * root;
        gap.is_finite().then_some((gap, error))
    }
}

/// Relative and absolute error of Eφ'' if μ is off by δ and σ² by ε. For logit and log links |φ'''| ≤ φ'' and |φ''''| ≤ φ'', so
/// that ∂log Eφ''/∂μ and 2∂log Eφ''/∂σ² lie in [−1, 1].
fn curvature_error(family: Family, off_mean: f64, off_variance: f64, absolute: f64) -> (f64, f64) {
    match family.form(1.0) {
        Form::Quadratic { .. } => (4.0 * f64::EPSILON, 0.0),
        // A half gap is added to the predictor, and rounded; the size behind the offset counts it.
        Form::Ordered(_) => curvature_error(Family::Bernoulli, 2.0 * off_mean, off_variance, absolute),
        Form::Logistic | Form::Rate(_) => {
            ((off_mean + 0.5 * off_variance).exp_m1() * (1.0 + 1e-9) + 4.0 * f64::EPSILON, 0.0)
        }
        Form::Probit => (4.0 * f64::EPSILON, absolute),
        // The rate of its failures, and its successes.
        Form::Cloglog(_) => {
            ((off_mean + 0.5 * off_variance).exp_m1() * (1.0 + 1e-9) + 4.0 * f64::EPSILON, absolute)
        }
    }
}

/// A bound of |φ‴|: 1/(6√3) for a logit link, 1 for probit. Gaussian rows have no third derivative, and that of rates
/// has no bound.
fn steepest_third(family: Family) -> Option<f64> {
    match family.form(1.0) {
        Form::Quadratic { .. } => None,
        Form::Logistic => Some(0.097),
        Form::Ordered(_) => Some(2.0 * 0.097),
        Form::Probit => Some(1.0),
        Form::Rate(_) | Form::Cloglog(_) => Some(f64::INFINITY),
    }
}

/// sum += x, with what rounding loses added to `lost`.
fn add(sum: &mut f64, lost: &mut f64, x: f64) {
    let next = *sum + x;
    *lost += if sum.abs() >= x.abs() { (*sum - next) + x } else { (x - next) + *sum };
    *sum = next;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The constants of the logit link are bounds, and less than a hundredth above what is attained.
    #[test]
    fn the_derivatives_of_the_logit_link_are_bounded_as_claimed() {
        let (mut third, mut slope, mut fourth) = (0.0f64, 0.0f64, 0.0f64);
        for k in -4000..=4000 {
            let p = 1.0 / (1.0 + (-f64::from(k) / 200.0).exp());
            let second = p * (1.0 - p);
            third = third.max((second * (1.0 - 2.0 * p)).abs());
            slope = slope.max((1.0 - 2.0 * p).abs());
            fourth = fourth.max((1.0 - 6.0 * second).abs());
        }
        let claimed = steepest_third(Family::Bernoulli).unwrap();
        assert!(third <= claimed && claimed <= 1.01 * third, "{third} {claimed}");
        // |φ‴| ≤ φ″ and |φ⁗| ≤ φ″, on which the relative error of Eφ″ rests; neither by less.
        assert!(slope <= 1.0 && slope > 0.999 && fourth <= 1.0 && fourth > 0.999);
        let (relative, absolute) = curvature_error(Family::Bernoulli, 1e-6, 1e-6, 1.0);
        assert!((relative / 1.5e-6 - 1.0).abs() < 1e-5 && absolute <= 0.0);
    }
}
