//! Which entries a sparse matrix and its factor have, and where they are stored.

use crate::base::error::{Error, Result};
use faer::Side;
use faer::sparse::SymbolicSparseColMatRef;
use faer::sparse::linalg::SupernodalThreshold;
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, SymbolicCholeskyRaw, SymmetricOrdering, factorize_symbolic_cholesky,
};
use std::ops::Range;

/// Sets of coordinates; any two members of a set have an entry in the matrix.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cliques {
    starts: Vec<usize>,
    members: Vec<u32>,
}

impl Cliques {
    pub(crate) fn push(&mut self, members: &[u32]) {
        self.members.extend_from_slice(members);
        self.starts.push(self.members.len());
    }

    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    pub(crate) fn get(&self, k: usize) -> &[u32] {
        let first = if k == 0 { 0 } else { self.starts[k - 1] };
        &self.members[first..self.starts[k]]
    }

    /// Every member replaced by `place[member]`, each set in ascending order.
    pub(crate) fn placed(mut self, place: &[u32]) -> Self {
        self.members.iter_mut().for_each(|member| *member = place[*member as usize]);
        let mut first = 0;
        for &end in &self.starts {
            self.members[first..end].sort_unstable();
            first = end;
        }
        self
    }
}

/// The columns `first..first + columns`, which have the same rows below them. A block of (columns + rows below) rows
/// of `columns` numbers begins at `values`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Front {
    pub(crate) first: usize,
    pub(crate) columns: usize,
    below: (usize, usize),
    pub(crate) values: usize,
}

impl Front {
    /// Rows of the block.
    pub(crate) fn height(&self) -> usize {
        self.columns + self.below.1 - self.below.0
    }

    fn end(&self) -> usize {
        self.first + self.columns
    }
}

/// The places of all entries. Coordinates are eliminated in an order that keeps the factor sparse; a place is the
/// position of a coordinate in that order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Structure {
    /// The coordinate at each place.
    order: Vec<u32>,
    /// The place of each coordinate.
    place: Vec<u32>,
    fronts: Vec<Front>,
    /// Fronts side by side that have as many columns and the same rows below. They are independent of each other, since all
    /// these rows come after the last of them.
    runs: Vec<Range<usize>>,
    /// The front of each place.
    owner: Vec<u32>,
    below: Vec<u32>,
    len: usize,
}

impl Structure {
    /// The structure of a matrix of that dimension with these entries. The order is that of approximate minimum degree.
    pub(crate) fn new(dim: usize, cliques: &Cliques) -> Result<Self> {
        let too_large = |_| Error::OutOfRange {
            what: "entries of the sparse precision",
            value: dim as f64,
            needed: "few enough to fit in memory",
        };
        let (starts, rows) = upper_pattern(dim, cliques);
        let pattern = SymbolicSparseColMatRef::new_checked(dim, dim, &starts, None, &rows);
        let params = CholeskySymbolicParams {
            supernodal_flop_ratio_threshold: SupernodalThreshold::FORCE_SUPERNODAL,
            ..CholeskySymbolicParams::default()
        };
        let symbolic = factorize_symbolic_cholesky(pattern, Side::Upper, SymmetricOrdering::Amd, params)
            .map_err(too_large)?;
        let order: Vec<u32> = match symbolic.perm() {
            Some(perm) => perm.arrays().0.iter().map(|&i| i as u32).collect(),
            None => (0..dim as u32).collect(),
        };
        let fronts: Vec<(usize, usize, Vec<u32>)> = match symbolic.raw() {
            SymbolicCholeskyRaw::Supernodal(raw) => (0..raw.n_supernodes())
                .map(|s| {
                    let node = raw.supernode(s);
                    let columns = raw.supernode_end()[s] - raw.supernode_begin()[s];
                    (node.start(), columns, node.pattern().iter().map(|&i| i as u32).collect())
                })
                .collect(),
            SymbolicCholeskyRaw::Simplicial(raw) => (0..dim)
                .map(|j| {
                    let rows = &raw.row_idx()[raw.col_ptr()[j]..raw.col_ptr()[j + 1]];
                    (j, 1, rows.iter().filter(|&&i| i > j).map(|&i| i as u32).collect())
                })
                .collect(),
        };
        Ok(Self::of_fronts(order, fronts))
    }

    /// From the coordinate at each place, and for each front its first place, its columns and the rows below.
    fn of_fronts(order: Vec<u32>, parts: Vec<(usize, usize, Vec<u32>)>) -> Self {
        let dim = order.len();
        let mut place = vec![0; dim];
        order.iter().enumerate().for_each(|(p, &i)| place[i as usize] = p as u32);
        let (mut fronts, mut owner, mut below, mut len) = (Vec::<Front>::new(), vec![0; dim], Vec::new(), 0);
        let mut runs: Vec<Range<usize>> = Vec::new();
        for (s, (first, columns, mut rows)) in parts.into_iter().enumerate() {
            rows.sort_unstable();
            owner[first..first + columns].fill(s as u32);
            let begin = below.len();
            below.append(&mut rows);
            let front = Front { first, columns, below: (begin, below.len()), values: len };
            len += front.height() * columns;
            let like =
                |last: &Front| last.columns == columns && below[last.below.0..last.below.1] == below[begin..];
            match runs.last_mut().filter(|_| fronts.last().is_some_and(like)) {
                Some(run) => run.end = s + 1,
                None => runs.push(s..s + 1),
            }
            fronts.push(front);
        }
        Self { order, place, fronts, runs, owner, below, len }
    }

    /// The same from a file; `None` if the parts do not fit together. What follows the first row below a front must be
    /// rows of the front that holds that row: else there would be entries without a place.
    pub(crate) fn restored(order: Vec<u32>, parts: Vec<(usize, usize, Vec<u32>)>) -> Option<Self> {
        let dim = order.len();
        let mut seen = vec![false; dim];
        for &i in &order {
            if std::mem::replace(seen.get_mut(i as usize)?, true) {
                return None;
            }
        }
        let mut next = 0;
        for (first, columns, below) in &parts {
            let end = first.checked_add(*columns)?;
            let ascending = below.windows(2).all(|pair| pair[0] < pair[1]);
            let inside = below.iter().all(|&row| (end..dim).contains(&(row as usize)));
            if *first != next || *columns == 0 || end > dim || !ascending || !inside {
                return None;
            }
            next = end;
        }
        if next != dim {
            return None;
        }
        let found = Self::of_fronts(order, parts);
        let closed = |front: &Front| {
            let below = found.below(front);
            let Some(parent) = found.parent(front).map(|s| &found.fronts[s]) else { return true };
            below
                .iter()
                .all(|row| (*row as usize) < parent.end() || found.below(parent).binary_search(row).is_ok())
        };
        found.fronts.iter().all(closed).then_some(found)
    }

    pub(crate) fn dim(&self) -> usize {
        self.order.len()
    }

    /// How many numbers a matrix of this structure has, zeros included.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The place of each coordinate.
    pub(crate) fn places(&self) -> &[u32] {
        &self.place
    }

    /// The coordinate at each place.
    pub(crate) fn order(&self) -> &[u32] {
        &self.order
    }

    pub(crate) fn fronts(&self) -> &[Front] {
        &self.fronts
    }

    /// Fronts side by side that are alike and independent of each other.
    pub(crate) fn runs(&self) -> &[Range<usize>] {
        &self.runs
    }

    /// The numbers of the fronts of a run.
    pub(crate) fn values(&self, run: &Range<usize>) -> Range<usize> {
        let (first, last) = (&self.fronts[run.start], &self.fronts[run.end - 1]);
        first.values..last.values + last.height() * last.columns
    }

    /// The front that holds a place's column.
    pub(crate) fn owner(&self, place: usize) -> usize {
        self.owner[place] as usize
    }

    /// The rows below a front's own, in ascending order.
    pub(crate) fn below(&self, front: &Front) -> &[u32] {
        &self.below[front.below.0..front.below.1]
    }

    /// The front that holds the first row below; none for a root.
    pub(crate) fn parent(&self, front: &Front) -> Option<usize> {
        self.below(front).first().map(|&row| self.owner(row as usize))
    }

    /// The place of a row of a front's block.
    pub(crate) fn row(&self, front: &Front, local: usize) -> usize {
        match local.checked_sub(front.columns) {
            None => front.first + local,
            Some(k) => self.below(front)[k] as usize,
        }
    }

    /// Where the rows at these ascending places are in a front's block. Every one of them must be a row of it.
    fn local_rows(&self, front: &Front, places: &[u32], out: &mut Vec<usize>) {
        out.clear();
        let below = self.below(front);
        let mut next = 0;
        for &place in places {
            let place = place as usize;
            if place < front.end() {
                out.push(place - front.first);
            } else {
                // Most often it is the next one.
                if below.get(next).is_none_or(|&row| row as usize != place) {
                    next += below[next..].partition_point(|&row| (row as usize) < place);
                }
                out.push(front.columns + next);
                next += 1;
            }
        }
    }

    /// Calls `visit(b, first, step, rows)` for every member b of a clique of ascending places: the entries of its column
    /// with the members b, b+1, … are at first + step·rows[0], first + step·rows[1], …
    pub(crate) fn each_column(
        &self,
        places: &[u32],
        room: &mut Vec<usize>,
        visit: impl FnMut(usize, usize, usize, &[usize]),
    ) {
        self.first_columns(places, places.len(), room, visit);
    }

    /// The same for the first `count` members only.
    pub(crate) fn first_columns(
        &self,
        places: &[u32],
        count: usize,
        room: &mut Vec<usize>,
        mut visit: impl FnMut(usize, usize, usize, &[usize]),
    ) {
        let mut b = 0;
        while b < count {
            let front = &self.fronts[self.owner(places[b] as usize)];
            self.local_rows(front, &places[b..], room);
            let begin = b;
            while b < count && (places[b] as usize) < front.end() {
                let column = places[b] as usize - front.first;
                visit(b, front.values + column, front.columns, &room[b - begin..]);
                b += 1;
            }
        }
    }

    /// Where the diagonal entry of a place is stored.
    pub(crate) fn diagonal(&self, place: usize) -> usize {
        let front = &self.fronts[self.owner(place)];
        let local = place - front.first;
        front.values + local * front.columns + local
    }

    /// Where the entry of two places is stored; `None` if the structure has no such entry.
    pub(crate) fn index(&self, a: usize, b: usize) -> Option<usize> {
        let (row, column) = (a.max(b), a.min(b));
        let front = &self.fronts[self.owner(column)];
        let local = match row < front.end() {
            true => row - front.first,
            false => front.columns + self.below(front).binary_search(&(row as u32)).ok()?,
        };
        Some(front.values + local * front.columns + column - front.first)
    }

    /// P = LLᵀ, the sum over fronts of their blocks times the transposes of these.
    pub(crate) fn square(&self, factor: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.len];
        let (mut places, mut room) = (Vec::new(), Vec::new());
        for front in &self.fronts {
            let (k, height) = (front.columns, front.height());
            places.clear();
            places.extend((0..height).map(|local| self.row(front, local) as u32));
            // Above the diagonal a block may hold anything.
            let row = |local: usize| {
                let first = front.values + local * k;
                &factor[first..first + k.min(local + 1)]
            };
            self.each_column(&places, &mut room, |b, first, step, rows| {
                let other = row(b);
                for (a, &local) in (b..height).zip(rows) {
                    out[first + step * local] += provi_kernels::dot(&row(a)[..other.len()], other);
                }
            });
        }
        out
    }

    /// Calls `visit(row, column, index)` for every stored entry on and below the diagonal.
    pub(crate) fn each_entry(&self, mut visit: impl FnMut(usize, usize, usize)) {
        for front in &self.fronts {
            for local in 0..front.height() {
                let row = self.row(front, local);
                for column in 0..front.columns.min(local + 1) {
                    visit(row, front.first + column, front.values + local * front.columns + column);
                }
            }
        }
    }

    /// For each place, how many entries its row of the factor has.
    pub(crate) fn row_counts(&self) -> Vec<usize> {
        let mut out = vec![0; self.dim()];
        self.each_entry(|row, _, _| out[row] += 1);
        out
    }
}

/// The entries on and above the diagonal, column by column: starts and rows.
fn upper_pattern(dim: usize, cliques: &Cliques) -> (Vec<usize>, Vec<usize>) {
    let mut starts = vec![0usize; dim + 1];
    for k in 0..cliques.len() {
        cliques.get(k).iter().for_each(|&i| starts[i as usize + 1] += 1);
    }
    (0..dim).for_each(|i| starts[i + 1] += starts[i]);
    let mut containing = vec![0u32; starts[dim]];
    let mut next = starts.clone();
    for k in 0..cliques.len() {
        for &i in cliques.get(k) {
            containing[next[i as usize]] = k as u32;
            next[i as usize] += 1;
        }
    }
    let (mut columns, mut rows, mut seen) = (vec![0], Vec::new(), vec![u32::MAX; dim]);
    for j in 0..dim {
        let begin = rows.len();
        seen[j] = j as u32;
        rows.push(j);
        for &k in &containing[starts[j]..starts[j + 1]] {
            for &i in cliques.get(k as usize) {
                if (i as usize) < j && seen[i as usize] != j as u32 {
                    seen[i as usize] = j as u32;
                    rows.push(i as usize);
                }
            }
        }
        rows[begin..].sort_unstable();
        columns.push(rows.len());
    }
    (columns, rows)
}
