//! N(m, P⁻¹) with a sparse precision P.

use crate::base::chunked;
use crate::base::draws::{Draws, Purpose, Seed};
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, entropy_constant};
use crate::base::linalg::sparse::{Selected, Structure};
use crate::base::matrix::Matrix;
use crate::base::stop;
use crate::glm::design::Design;
use crate::target::standard::Standard;
use provi_kernels::dot;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// A Gaussian q = N(m, P⁻¹) with a sparse precision P = LLᵀ.
///
/// It is held in standard coordinates b, in which the columns of a model are centred and scaled; β = Tb are the
/// coordinates of the model, and everything here is in terms of β.
/// ```text
/// β = T(m + L⁻ᵀu), u ~ N(0, I),   −log q(β) = ½‖Lᵀ(T⁻¹β − m)‖² − log det L + log|det T| + (d/2) log 2π
/// var(aᵀβ) = ‖L⁻¹Tᵀa‖²
/// ```
/// Memory: the entries of L. Cost: a draw or a density is one pass over L; all deviations together cost about as much as
/// the factor did.
#[derive(Clone, Debug)]
pub struct SparseGaussian {
    pub(super) structure: Arc<Structure>,
    pub(super) map: Arc<Standard>,
    /// 1/s_j, over k at the constant column.
    factors: Vec<f64>,
    /// The columns that are centred.
    centred: Vec<usize>,
    /// m in standard coordinates, and T⁻¹ undone.
    pub(super) standard_mean: Vec<f64>,
    mean: Vec<f64>,
    /// L.
    pub(super) factor: Arc<Vec<f64>>,
    /// The standard deviation of every coefficient, computed once.
    deviations: OnceLock<Vec<f64>>,
}

/// Working memory for solving with L.
#[derive(Debug, Default)]
struct Work {
    x: Vec<f64>,
    fronts: BTreeSet<usize>,
}

impl SparseGaussian {
    /// From the mean in standard coordinates, by places, and L.
    pub(super) fn of_places(
        structure: Arc<Structure>,
        map: Arc<Standard>,
        by_places: &[f64],
        factor: Vec<f64>,
    ) -> Self {
        let mut standard_mean = vec![0.0; by_places.len()];
        structure.order().iter().zip(by_places).for_each(|(&i, &x)| standard_mean[i as usize] = x);
        let mean = map.to_own(&standard_mean);
        let (shifts, factors) = map.columns();
        let centred = (0..shifts.len()).filter(|&j| shifts[j].abs() > 0.0).collect();
        Self {
            structure,
            map,
            factors,
            centred,
            standard_mean,
            mean,
            factor: Arc::new(factor),
            deviations: OnceLock::new(),
        }
    }

    /// The Gaussian whose mean and factor are (1 − t) of these and t of another's; `None` if that is one of other
    /// coordinates, or none.
    pub(super) fn toward(&self, other: &Self, t: f64) -> Option<Self> {
        let (_, factor) = other.by_places(&self.map, &self.structure)?;
        let mix = |(a, b): (&f64, &f64)| a + t * (b - a);
        let factor: Vec<f64> = self.factor.iter().zip(factor).map(mix).collect();
        let is_factor = (0..self.dim()).all(|place| factor[self.structure.diagonal(place)] > 0.0);
        let standard_mean: Vec<f64> = self.standard_mean.iter().zip(&other.standard_mean).map(mix).collect();
        is_factor.then(|| Self {
            mean: self.map.to_own(&standard_mean),
            standard_mean,
            factor: Arc::new(factor),
            deviations: OnceLock::new(),
            ..self.clone()
        })
    }

    /// The dimension d.
    pub fn dim(&self) -> usize {
        self.mean.len()
    }

    /// The mean.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// How many numbers L has, zeros inside its blocks included.
    pub fn fill(&self) -> usize {
        self.factor.len()
    }

    /// The entropy −E log q.
    pub fn entropy(&self) -> f64 {
        self.map.log_det() - self.structure.half_log_det(&self.factor) + entropy_constant(self.dim())
    }

    /// The selected inverse of P.
    pub(super) fn selected(&self) -> Result<Selected> {
        let structure = &self.structure;
        let mut squares = vec![0.0; self.dim()];
        structure.each_entry(|row, _, index| squares[row] += self.factor[index] * self.factor[index]);
        let roots: Vec<f64> = squares.into_iter().map(f64::sqrt).collect();
        Selected::new(structure, &self.factor, &roots)
    }

    /// The standard deviation of every coefficient. Cost: about that of a factor, once.
    pub fn standard_deviations(&self) -> Result<&[f64]> {
        if let Some(known) = self.deviations.get() {
            return Ok(known);
        }
        let selected = self.selected()?;
        let places = self.structure.places();
        let own = |i: usize| selected.values()[self.structure.diagonal(places[i] as usize)].max(0.0).sqrt();
        let mut out: Vec<f64> = (0..self.dim()).map(|i| own(i) * self.factors[i].abs()).collect();
        if let Some(i) = self.map.mixed() {
            out[i] = self.deviation_of(&[(i, 1.0)])?;
        }
        Ok(self.deviations.get_or_init(|| out))
    }

    /// The standard deviation of one coefficient, from those of all; by a solution with L if a stop is wanted.
    pub(crate) fn deviation(&self, i: usize) -> f64 {
        match self.standard_deviations() {
            Ok(all) => all[i],
            Err(_) => self.norm_of(&self.pulled(&[(i, 1.0)]), &mut Work::default()),
        }
    }

    /// The covariance of each of these pairs of coefficients. Pairs that meet in a row of the model cost a selected
    /// inverse in all; another one costs a pass over L.
    pub(crate) fn covariances(&self, pairs: impl Iterator<Item = (usize, usize)>) -> Result<Vec<f64>> {
        let (selected, mixed, places) = (self.selected()?, self.map.mixed(), self.structure.places());
        let own = |(i, j): (usize, usize)| {
            let known = self.structure.index(places[i] as usize, places[j] as usize);
            match known.filter(|_| mixed != Some(i) && mixed != Some(j)) {
                Some(index) => Ok(selected.values()[index] * self.factors[i] * self.factors[j]),
                None => Ok(self.covariance_column(i)?[j]),
            }
        };
        pairs.map(own).collect()
    }

    /// Column i of the covariance.
    fn covariance_column(&self, i: usize) -> Result<Vec<f64>> {
        stop::check()?;
        let mut unit = vec![0.0; self.dim()];
        self.pulled(&[(i, 1.0)]).iter().for_each(|&(place, x)| unit[place] += x);
        self.structure.solve_lower(&self.factor, &mut unit);
        self.structure.solve_upper(&self.factor, &mut unit);
        let places = self.structure.places().iter();
        Ok(self.map.to_own(&places.map(|&place| unit[place as usize]).collect::<Vec<_>>()))
    }

    /// The standard deviation of Σ a_j β_j for the given (j, a_j), no j twice.
    pub fn deviation_of(&self, functional: &[(usize, f64)]) -> Result<f64> {
        if let Some(&(index, _)) = functional.iter().find(|(j, _)| *j >= self.dim()) {
            return Err(Error::Index { what: "functional", index, length: self.dim() });
        }
        let pulled = self.pulled(functional);
        Ok(self.norm_of(&pulled, &mut Work::default()))
    }

    /// Tᵀa as (place, value).
    fn pulled(&self, functional: &[(usize, f64)]) -> Vec<(usize, f64)> {
        let places = self.structure.places();
        let place = |j: usize| places[j] as usize;
        let (shifts, factors) = (|j: usize| self.map.center(j), &self.factors);
        let lead = match self.map.constant() {
            Some((i, k)) => functional.iter().filter(|(j, _)| *j == i).map(|(_, a)| a / k).sum(),
            None => 0.0,
        };
        let constant = self.map.constant().map(|(i, _)| i);
        let own = |&(j, a): &(usize, f64)| match constant {
            Some(i) if i == j => (place(j), lead / self.map.scales()[j]),
            _ => (place(j), shifts(j).mul_add(-lead, a) * factors[j]),
        };
        let mut out: Vec<(usize, f64)> = functional.iter().map(own).collect();
        if f64::abs(lead) > 0.0 {
            let given: BTreeSet<usize> = functional.iter().map(|(j, _)| *j).collect();
            let others = self.centred.iter().filter(|j| !given.contains(j));
            out.extend(others.map(|&j| (place(j), -shifts(j) * lead * factors[j])));
        }
        out
    }

    /// ‖L⁻¹x‖ for a vector with few entries. Only the fronts between its places and the root are visited.
    fn norm_of(&self, entries: &[(usize, f64)], work: &mut Work) -> f64 {
        let structure = &self.structure;
        work.x.resize(self.dim(), 0.0);
        work.fronts.clear();
        for &(place, value) in entries {
            work.x[place] += value;
            let mut next = Some(structure.owner(place));
            while let Some(s) = next.filter(|s| work.fronts.insert(*s)) {
                next = structure.parent(&structure.fronts()[s]);
            }
        }
        let mut square = 0.0;
        for &s in &work.fronts {
            let front = &structure.fronts()[s];
            let own = front.first..front.first + front.columns;
            structure.solve_front(&self.factor, front, &mut work.x);
            square += dot(&work.x[own.clone()], &work.x[own.clone()]);
            work.x[own].fill(0.0);
        }
        square.sqrt()
    }

    /// For every row a of a design, the mean and the standard deviation of aᵀβ.
    pub fn predictors(&self, design: &Design) -> Result<Vec<(f64, f64)>> {
        if design.columns() != self.dim() {
            return Err(Error::Shape {
                what: "design columns",
                found: design.columns(),
                expected: self.dim(),
            });
        }
        let (mut work, mut row, mut out) = (Work::default(), Vec::new(), Vec::with_capacity(design.rows()));
        for n in 0..design.rows() {
            if n % 1024 == 0 {
                stop::check()?;
            }
            row.clear();
            design.for_each_in_row(n, |j, a| {
                if a.abs() > 0.0 {
                    row.push((j, a));
                }
            });
            let mean = row.iter().map(|&(j, a)| a * self.mean[j]).sum();
            out.push((mean, self.norm_of(&self.pulled(&row), &mut work)));
        }
        Ok(out)
    }

    /// The same distribution with its factor in full. Cost: O(d³), and d² numbers.
    pub fn to_dense(&self) -> Result<Gaussian> {
        let dim = self.dim();
        let mut covariance = Matrix::zeros(dim, dim);
        for i in 0..dim {
            covariance.row_mut(i).copy_from_slice(&self.covariance_column(i)?);
        }
        for i in 0..dim {
            for j in 0..i {
                let mean = 0.5 * (covariance[(i, j)] + covariance[(j, i)]);
                (covariance[(i, j)], covariance[(j, i)]) = (mean, mean);
            }
        }
        Gaussian::from_covariance(&self.mean, covariance)
    }

    /// log q(β).
    pub fn log_density(&self, point: &[f64]) -> Result<f64> {
        if point.len() != self.dim() {
            return Err(Error::Shape { what: "point", found: point.len(), expected: self.dim() });
        }
        let standard = self.map.to_standard(point);
        let order = self.structure.order();
        let away: Vec<f64> =
            order.iter().map(|&i| standard[i as usize] - self.standard_mean[i as usize]).collect();
        // Lᵀ(b − m): column by column.
        let mut pulled = vec![0.0; self.dim()];
        self.structure.each_entry(|row, column, index| pulled[column] += self.factor[index] * away[row]);
        let normaliser = 0.5 * self.dim() as f64 * (2.0 * std::f64::consts::PI).ln();
        let log_det = self.structure.half_log_det(&self.factor) - self.map.log_det();
        Ok(log_det - 0.5 * dot(&pulled, &pulled) - normaliser)
    }

    /// `count` independent draws, one per row; a pure function of the seed.
    pub fn sample(&self, count: usize, seed: Seed) -> Matrix {
        self.sample_part(0..count as u64, seed)
    }

    /// The draws with these numbers from the list that [`SparseGaussian::sample`] makes, one per row.
    pub fn sample_part(&self, which: Range<u64>, seed: Seed) -> Matrix {
        let draws = Draws::new(seed, Purpose::Sample);
        let (count, dim) = (which.end.saturating_sub(which.start) as usize, self.dim());
        let mut out = Matrix::zeros(count, dim);
        chunked::fill(out.entries_mut(), dim.max(1), count * self.fill(), |first, point| {
            let mut u = vec![0.0; dim];
            draws.fill(which.start + (first / dim) as u64, 0, &mut u);
            self.transport(&u, point);
        });
        out
    }

    /// T(m + L⁻ᵀu), u by places.
    pub(crate) fn transport(&self, u: &[f64], point: &mut [f64]) {
        let mut u = u.to_vec();
        self.structure.solve_upper(&self.factor, &mut u);
        let mut standard = self.standard_mean.clone();
        self.structure.order().iter().zip(&u).for_each(|(&i, x)| standard[i as usize] += x);
        point.copy_from_slice(&self.map.to_own(&standard));
    }

    /// The mean by places, and L, if it is a Gaussian of these coordinates and this structure.
    pub(super) fn by_places(&self, map: &Standard, structure: &Structure) -> Option<(Vec<f64>, &[f64])> {
        let identical = std::ptr::eq(&*self.map, map) && std::ptr::eq(&*self.structure, structure);
        let same = identical || (*self.map == *map && *self.structure == *structure);
        let order = self.structure.order().iter();
        same.then(|| (order.map(|&i| self.standard_mean[i as usize]).collect(), &self.factor[..]))
    }
}

/// The same mean, and the same L in the same places.
impl PartialEq for SparseGaussian {
    fn eq(&self, other: &Self) -> bool {
        self.standard_mean == other.standard_mean
            && self.factor == other.factor
            && *self.map == *other.map
            && *self.structure == *other.structure
    }
}
