//! A model that falls apart into groups once a few coefficients are known [group-kl].

use super::{Glm, Prior};
use crate::base::error::Result;
use crate::base::matrix::Matrix;
use crate::glm::design::Design;

/// The most columns, the most of them at the top, and the most of a group.
const COLUMNS: usize = 4000;
const TOP: usize = 40;
const MEMBERS: usize = 40;

/// A model in which the rows of each group i see z_i alone, after a change of coordinates if need be:
/// ```text
/// θ ~ N(ν, T⁻¹),   z_i ~ N(c_i + S_iθ, R_i⁻¹) independently,   rows of group i: a_nᵀz_i + o_n
/// ```
/// S_i has at most one 1 in a row, and 0 otherwise. Either z_i are the model's own coefficients and no row sees θ
/// ([`crate::target::hierarchical_logistic`]), or the model has u_i = z_i − S_iθ, and the columns of θ are those of u_i in the rows
/// of each group, as in `y ~ x + (x | g)`. Every number of T, ν, R_i and c_i is the prior's own, but T in the first case.
#[derive(Debug)]
pub(crate) struct Groups {
    /// The coefficients that are θ.
    pub(crate) top: Vec<usize>,
    /// T, ν, and A = T + Σ S_iᵀR_iS_i, each entry up to (n + 4)ε√(A_ssA_tt).
    pub(crate) precision: Matrix,
    pub(crate) center: Vec<f64>,
    pub(crate) whole: Matrix,
    pub(crate) each: Vec<Group>,
    /// What a stored prior is off by, in spectral norm.
    pub(crate) rounding: f64,
    /// Whether the model's coefficients are z_i − S_iθ.
    pub(crate) moved: bool,
}

/// One group.
#[derive(Debug)]
pub(crate) struct Group {
    /// Its coefficients and its rows in the model.
    pub(crate) coefficients: Vec<usize>,
    rows: Vec<usize>,
    /// S_i: for each coefficient, which entry of θ its mean moves with.
    pub(crate) tied: Vec<Option<usize>>,
    /// R_i and c_i.
    pub(crate) precision: Matrix,
    center: Vec<f64>,
}

impl Group {
    /// The mean of one coefficient of z_i given θ.
    pub(crate) fn mean_of(&self, coefficient: usize, top: &[f64]) -> f64 {
        self.tied[coefficient].map_or(self.center[coefficient], |t| top[t])
    }

    /// The model of its rows given θ.
    pub(crate) fn model(&self, whole: &Glm, top: &[f64]) -> Result<Glm> {
        let mut row = vec![0.0; whole.design().columns()];
        let mut entries = Vec::with_capacity(self.rows.len() * self.coefficients.len());
        for &n in &self.rows {
            whole.design().write_row(n, &mut row);
            entries.extend(self.coefficients.iter().map(|&j| row[j]));
        }
        let design = Design::from_rows(self.rows.len(), self.coefficients.len(), entries)?;
        let mean: Vec<f64> = (0..self.tied.len()).map(|a| self.mean_of(a, top)).collect();
        let k = self.coefficients.len();
        let prior = match is_diagonal(&self.precision) {
            true => Prior::precisions(&(0..k).map(|a| self.precision[(a, a)]).collect::<Vec<f64>>())?,
            false => Prior::precision_matrix(self.precision.clone())?,
        };
        let prior = prior.with_mean(&mean)?;
        Glm::of_rows(whole.rows.part(&self.rows, design), prior)
    }
}

impl Groups {
    /// The groups of a model; `None` where there are none. Cost: one pass over the design.
    pub(crate) fn of(model: &Glm) -> Option<Self> {
        let (design, d) = (model.design(), model.design().columns());
        if d > COLUMNS {
            return None;
        }
        let mut counts = vec![0usize; d];
        for n in 0..design.rows() {
            design.for_each_in_row(n, |j, x| counts[j] += usize::from(x.abs() > 0.0));
        }
        let with = |keep: &dyn Fn(usize) -> bool| (0..d).filter(|&j| keep(counts[j])).collect::<Vec<usize>>();
        let rows = design.rows();
        let prior = model.prior().quadratic(d).to_matrix(d);
        let unseen = with(&|count| count == 0);
        let hidden = (!unseen.is_empty()).then(|| Self::around(model, &prior, unseen, false)).flatten();
        if hidden.is_some() {
            return hidden;
        }
        // A column that all groups share has most rows, or all of them where one group has most.
        let shared = [with(&|count| count == rows), with(&|count| 2 * count > rows)];
        shared.into_iter().find_map(|top| Self::around(model, &prior, top, true))
    }

    /// The groups around these coefficients.
    fn around(model: &Glm, prior: &Matrix, top: Vec<usize>, moved: bool) -> Option<Self> {
        if top.is_empty() || top.len() > TOP {
            return None;
        }
        let parts = Parts::new(model, prior, &top)?;
        let each: Option<Vec<Group>> = parts
            .components
            .iter()
            .zip(parts.rows)
            .map(|(columns, rows)| match moved {
                false => below(model, prior, &top, columns, rows),
                true => beside(model, prior, &top, columns, rows),
            })
            .collect();
        let each = each.filter(|each| each.len() > 1)?;
        let mut own = Matrix::zeros(top.len(), top.len());
        for (s, &i) in top.iter().enumerate() {
            for (t, &j) in top.iter().enumerate() {
                own[(s, t)] = prior[(i, j)];
            }
        }
        let mut other = own.clone();
        let sign = if moved { 1.0 } else { -1.0 };
        for group in &each {
            for (a, s) in group.tied.iter().enumerate() {
                for (b, t) in group.tied.iter().enumerate() {
                    if let (Some(s), Some(t)) = (s, t) {
                        other[(*s, *t)] += sign * group.precision[(a, b)];
                    }
                }
            }
        }
        let (precision, whole) = if moved { (own, other) } else { (other, own) };
        let center = top.iter().map(|&j| model.prior().center(j)).collect();
        let rounding = model.prior().rounding();
        // The prior's rounding is charged to θ; here it would be in a group as well.
        if rounding > 0.0 && !each.iter().all(|group| is_diagonal(&group.precision)) {
            return None;
        }
        Some(Self { top, precision, center, whole, each, rounding, moved })
    }
}

fn is_diagonal(matrix: &Matrix) -> bool {
    (0..matrix.rows()).all(|i| (0..i).all(|j| matrix[(i, j)].abs() <= 0.0))
}

/// A group whose coefficients are z_i: Λ_θi = −R_i, and the means are those of θ.
fn below(model: &Glm, prior: &Matrix, top: &[usize], columns: &[usize], rows: Vec<usize>) -> Option<Group> {
    let k = top.len();
    let is = |a: f64, b: f64| (a - b).abs() <= 0.0;
    let fits = |s: usize, t: usize| is(prior[(top[s], columns[t])], -prior[(columns[s], columns[t])]);
    let centered = |s: usize| is(model.prior().center(top[s]), model.prior().center(columns[s]));
    if columns.len() != k || !(0..k).all(|s| centered(s) && (0..k).all(|t| fits(s, t))) {
        return None;
    }
    Some(group(model, prior, (columns, rows), (0..k).map(Some).collect()))
}

/// A group whose coefficients are u_i: each column of the top is one of its own in its rows, or zero there; θ and u_i are independent.
fn beside(model: &Glm, prior: &Matrix, top: &[usize], columns: &[usize], rows: Vec<usize>) -> Option<Group> {
    let free = |s: usize| columns.iter().all(|&j| prior[(s, j)].abs() <= 0.0);
    if !top.iter().all(|&s| free(s)) {
        return None;
    }
    let mut row = vec![0.0; model.design().columns()];
    let mut alike = vec![vec![true; columns.len()]; top.len()];
    let mut zero = vec![true; top.len()];
    for &n in &rows {
        model.design().write_row(n, &mut row);
        for (s, &j) in top.iter().enumerate() {
            zero[s] &= row[j].abs() <= 0.0;
            for (like, &c) in alike[s].iter_mut().zip(columns) {
                *like &= (row[j] - row[c]).abs() <= 0.0;
            }
        }
    }
    let mut tied = vec![None; columns.len()];
    for s in (0..top.len()).filter(|&s| !zero[s]) {
        let place = alike[s].iter().position(|like| *like)?;
        let centered = model.prior().center(columns[place]).abs() <= 0.0;
        if !centered || tied[place].replace(s).is_some() {
            return None;
        }
    }
    Some(group(model, prior, (columns, rows), tied))
}

fn group(
    model: &Glm,
    prior: &Matrix,
    (columns, rows): (&[usize], Vec<usize>),
    tied: Vec<Option<usize>>,
) -> Group {
    let mut precision = Matrix::zeros(columns.len(), columns.len());
    for (a, &i) in columns.iter().enumerate() {
        for (b, &j) in columns.iter().enumerate() {
            precision[(a, b)] = prior[(i, j)];
        }
    }
    let center = columns.iter().map(|&j| model.prior().center(j)).collect();
    Group { coefficients: columns.to_vec(), rows, tied, precision, center }
}

/// The columns without those of the top, joined where a row or the prior joins them, and the rows of each such part.
struct Parts {
    components: Vec<Vec<usize>>,
    rows: Vec<Vec<usize>>,
}

impl Parts {
    /// `None` where a row belongs to no part, a part has no row, or one is too large.
    fn new(model: &Glm, prior: &Matrix, top: &[usize]) -> Option<Self> {
        let (design, d) = (model.design(), prior.rows());
        let mut is_top = vec![false; d];
        top.iter().for_each(|&j| is_top[j] = true);
        let mut parent: Vec<usize> = (0..d).collect();
        let mut first_of = vec![None; design.rows()];
        for (n, first) in first_of.iter_mut().enumerate() {
            design.for_each_in_row(n, |j, x| {
                if x.abs() > 0.0 && !is_top[j] {
                    let with = *first.get_or_insert(j);
                    join(&mut parent, with, j);
                }
            });
        }
        for i in (0..d).filter(|&i| !is_top[i]) {
            for j in (0..i).filter(|&j| !is_top[j] && prior[(i, j)].abs() > 0.0) {
                join(&mut parent, i, j);
            }
        }
        let mut place = vec![None; d];
        let mut components: Vec<Vec<usize>> = Vec::new();
        for j in (0..d).filter(|&j| !is_top[j]) {
            let root = root(&mut parent, j);
            let k = *place[root].get_or_insert_with(|| {
                components.push(Vec::new());
                components.len() - 1
            });
            components[k].push(j);
        }
        let mut rows = vec![Vec::new(); components.len()];
        for (n, first) in first_of.iter().enumerate() {
            let root = root(&mut parent, (*first)?);
            rows[place[root]?].push(n);
        }
        let sound = rows.iter().all(|rows| !rows.is_empty()) && components.iter().all(|c| c.len() <= MEMBERS);
        sound.then_some(Self { components, rows })
    }
}

fn root(parent: &mut [usize], mut j: usize) -> usize {
    while parent[j] != j {
        parent[j] = parent[parent[j]];
        j = parent[j];
    }
    j
}

/// Joins two parts; the smaller number is the root.
fn join(parent: &mut [usize], i: usize, j: usize) {
    let (a, b) = (root(parent, i), root(parent, j));
    parent[a.max(b)] = a.min(b);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glm::hierarchical_logistic;

    fn features() -> Design {
        Design::dense(6, 2, &[1.0, 2.0, 1.0, 0.5, 1.0, -1.0, 1.0, 0.3, 1.0, 1.5, 1.0, -0.2]).unwrap()
    }

    const LABELS: [f64; 6] = [1.0, 0.0, 1.0, 0.0, 0.0, 1.0];
    const GROUPS: [usize; 6] = [0, 1, 2, 1, 0, 2];

    /// `y ~ x + (x || g)`: an intercept and a slope, and both for each group.
    fn mixed(change: impl Fn(usize, usize, f64) -> f64) -> Glm {
        let mut entries = Vec::new();
        let mut row = [0.0; 2];
        for (n, g) in GROUPS.into_iter().enumerate() {
            features().write_row(n, &mut row);
            for (j, x) in row.into_iter().enumerate() {
                entries.push((n, j, change(n, j, x)));
                entries.push((n, 2 + 2 * g + j, x));
            }
        }
        let design = Design::triplets(6, 8, &entries).unwrap();
        let prior = Prior::precisions(&[0.2, 0.3, 4.0, 2.0, 4.0, 2.0, 4.0, 2.0]).unwrap();
        Glm::logistic(design, &LABELS, prior).unwrap()
    }

    #[test]
    fn both_forms_are_found() {
        let (top, within) =
            (Matrix::diagonal(&[1.0, 0.5]), Matrix::new(2, 2, vec![2.0, 0.5, 0.5, 3.0]).unwrap());
        let model = hierarchical_logistic(&features(), &LABELS, &GROUPS, &top, &within).unwrap();
        let found = Groups::of(&model).unwrap();
        assert!(!found.moved && found.top == [0, 1] && found.each.len() == 3);
        assert_eq!(found.precision, top);
        assert!((found.whole[(0, 1)] - 1.5).abs() < 1e-15 && (found.whole[(1, 1)] - 9.5).abs() < 1e-15);
        assert_eq!(found.each[1].coefficients, [4, 5]);
        assert_eq!(found.each[1].rows, [1, 3]);
        assert_eq!(found.each[0].precision, within);
        let part = found.each[2].model(&model, &[0.3, -0.4]).unwrap();
        assert_eq!((part.design().rows(), part.design().columns()), (2, 2));
        assert!((part.prior().center(1) + 0.4).abs() < 1e-15);

        let model = mixed(|_, _, x| x);
        let found = Groups::of(&model).unwrap();
        assert!(found.moved && found.top == [0, 1] && found.each.len() == 3);
        assert_eq!(found.precision, Matrix::diagonal(&[0.2, 0.3]));
        assert!((found.whole[(0, 0)] - 12.2).abs() < 1e-14 && (found.whole[(1, 1)] - 6.3).abs() < 1e-14);
        assert_eq!(found.each[0].tied, [Some(0), Some(1)]);
    }

    /// A slope that does not vary by group, effects that cross, and no groups at all.
    #[test]
    fn other_models_have_none() {
        assert!(Groups::of(&mixed(|n, j, x| if (n, j) == (3, 1) { x + 1.0 } else { x })).is_none());
        let plain = Glm::logistic(features(), &LABELS, Prior::default()).unwrap();
        assert!(Groups::of(&plain).is_none());
        let mut entries = Vec::new();
        for n in 0..6 {
            entries.extend([(n, 0, 1.0), (n, 1 + n % 3, 1.0), (n, 4 + n / 2, 1.0)]);
        }
        let crossed = Design::triplets(6, 7, &entries).unwrap();
        assert!(Groups::of(&Glm::logistic(crossed, &LABELS, Prior::default()).unwrap()).is_none());
    }
}
