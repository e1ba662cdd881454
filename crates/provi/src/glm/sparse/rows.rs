//! Rows in standard coordinates, sorted so that rows with the same columns lie side by side.

use crate::base::error::{Error, Result};
use crate::base::linalg::sparse::Cliques;
use crate::glm::design::Design;
use crate::glm::rows::{Lever, Rows};
use crate::target::standard::Standard;
use std::collections::HashMap;
use std::ops::Range;

/// Rows of a chunk, which one thread processes. Results do not depend on the number of threads.
const CHUNK: usize = 512;

/// Rows that have the same columns form a set; the sets are in the order of their first rows.
#[derive(Debug)]
pub(super) struct SortedRows {
    /// The places of the columns of each set, in ascending order.
    columns: Cliques,
    /// The first row of each set, and the number of rows.
    starts: Vec<usize>,
    /// The first entry of each set; a row has as many as its set has columns.
    entries_at: Vec<usize>,
    entries: Vec<f64>,
    pub(super) response: Vec<f64>,
    pub(super) weights: Vec<f64>,
    pub(super) offsets: Vec<f64>,
    /// The sizes behind the offsets ([`Rows::offset_size`]).
    pub(super) sizes: Vec<f64>,
    /// The parts of the offsets that the noise determines; empty if there are none.
    pub(super) levers: Vec<Lever>,
    /// Sets processed together.
    chunks: Vec<Range<usize>>,
}

/// Which rows belong to which set, before the order of elimination is known.
pub(super) struct Sets {
    /// The set of each row.
    of_row: Vec<u32>,
    starts: Vec<usize>,
}

/// The standard coordinates, as rows are seen in them.
#[derive(Debug)]
pub(super) struct View {
    shifts: Vec<f64>,
    factors: Vec<f64>,
    centred: Vec<usize>,
}

impl View {
    pub(super) fn new(map: &Standard) -> Result<Self> {
        let (shifts, factors) = map.columns();
        if u32::try_from(shifts.len()).is_err() {
            let what = "columns of a sparse model";
            return Err(Error::OutOfRange { what, value: shifts.len() as f64, needed: "fewer than 2³²" });
        }
        let centred = (0..shifts.len()).filter(|&j| shifts[j].abs() > 0.0).collect();
        Ok(Self { shifts, factors, centred })
    }

    /// Calls `f(j, value)` for the entries of row n in standard coordinates, in ascending order of j. A centred column
    /// has an entry in every row.
    fn row(&self, design: &Design, n: usize, mut f: impl FnMut(usize, f64)) {
        let Self { shifts, factors, centred } = self;
        let mut due = centred.iter().copied().peekable();
        design.for_each_in_row(n, |j, x| {
            while let Some(missing) = due.next_if(|&i| i < j) {
                f(missing, -shifts[missing] * factors[missing]);
            }
            let is_centred = due.next_if_eq(&j).is_some();
            if is_centred || x.abs() > 0.0 {
                f(j, (x - shifts[j]) * factors[j]);
            }
        });
        for missing in due {
            f(missing, -shifts[missing] * factors[missing]);
        }
    }
}

/// The sets of rows, and their columns.
pub(super) fn sort(rows: &Rows, view: &View) -> (Sets, Cliques) {
    let mut known: HashMap<Vec<u32>, u32> = HashMap::new();
    let (mut sets, mut of_row, mut counts) = (Cliques::default(), Vec::with_capacity(rows.len()), Vec::new());
    let mut support = Vec::new();
    for n in 0..rows.len() {
        support.clear();
        view.row(rows.design(), n, |j, _| support.push(j as u32));
        let set = match known.get(&support) {
            Some(&set) => set,
            None => {
                sets.push(&support);
                counts.push(0);
                known.insert(support.clone(), sets.len() as u32 - 1);
                sets.len() as u32 - 1
            }
        };
        counts[set as usize] += 1;
        of_row.push(set);
    }
    let mut starts = vec![0];
    counts.iter().for_each(|count| starts.push(starts[starts.len() - 1] + count));
    (Sets { of_row, starts }, sets)
}

impl Sets {
    /// The most rows of a set.
    pub(super) fn largest(&self) -> usize {
        self.starts.windows(2).map(|w| w[1] - w[0]).max().unwrap_or(0)
    }

    /// The sorted rows. The first `count` of `columns` are those of the sets.
    pub(super) fn placed(
        self,
        rows: &Rows,
        view: &View,
        columns: Cliques,
        count: usize,
        places: &[u32],
    ) -> SortedRows {
        let columns = columns.placed(places);
        let size = |set: usize| self.starts[set + 1] - self.starts[set];
        let mut entries_at = vec![0];
        (0..count).for_each(|set| {
            entries_at.push(entries_at[set] + size(set) * columns.get(set).len());
        });
        let total = self.starts[count];
        let mut out = SortedRows {
            chunks: chunks(&self.starts),
            entries: vec![0.0; entries_at[count]],
            entries_at,
            response: vec![0.0; total],
            weights: vec![0.0; total],
            offsets: vec![0.0; if rows.offsets.is_some() { total } else { 0 }],
            sizes: vec![0.0; if rows.offsets.is_some() { total } else { 0 }],
            levers: vec![Lever::default(); if rows.has_levers() { total } else { 0 }],
            columns,
            starts: self.starts,
        };
        let mut next = out.starts.clone();
        let mut row: Vec<(u32, f64)> = Vec::new();
        for (n, &set) in self.of_row.iter().enumerate() {
            let set = set as usize;
            let at = next[set];
            next[set] += 1;
            row.clear();
            view.row(rows.design(), n, |j, x| row.push((places[j], x)));
            row.sort_unstable_by_key(|(place, _)| *place);
            let first = out.entries_at[set] + (at - out.starts[set]) * row.len();
            out.entries[first..first + row.len()].iter_mut().zip(&row).for_each(|(to, (_, x))| *to = *x);
            out.response[at] = rows.response[n];
            out.weights[at] = rows.weights[n];
            if let Some(offsets) = &rows.offsets {
                out.offsets[at] = offsets[n];
                out.sizes[at] = rows.offset_size(n);
            }
            if let Some(lever) = out.levers.get_mut(at) {
                *lever = rows.lever(n);
            }
        }
        out
    }
}

/// Sets in chunks of about [`CHUNK`] rows.
fn chunks(starts: &[usize]) -> Vec<Range<usize>> {
    let (mut out, mut first) = (Vec::new(), 0);
    for set in 1..starts.len() {
        if starts[set] - starts[first] >= CHUNK || set + 1 == starts.len() {
            out.push(first..set);
            first = set;
        }
    }
    out
}

impl SortedRows {
    pub(super) fn chunks(&self) -> &[Range<usize>] {
        &self.chunks
    }

    /// The places of a set's columns.
    pub(super) fn columns(&self, set: usize) -> &[u32] {
        self.columns.get(set)
    }

    /// How many columns at the end of the order all of these sets share.
    pub(super) fn shared(&self, sets: &Range<usize>) -> usize {
        let first = self.columns(sets.start);
        sets.clone().fold(first.len(), |shared, set| {
            let alike = first.iter().rev().zip(self.columns(set).iter().rev()).take_while(|(a, b)| a == b);
            shared.min(alike.count())
        })
    }

    /// The rows of a set.
    pub(super) fn range(&self, set: usize) -> Range<usize> {
        self.starts[set]..self.starts[set + 1]
    }

    /// How many rows some sets have that follow one another.
    pub(super) fn rows_of(&self, sets: &Range<usize>) -> usize {
        self.starts[sets.end] - self.starts[sets.start]
    }

    /// The same for several chunks.
    pub(super) fn rows_of_all(&self, chunks: &[Range<usize>]) -> usize {
        chunks.iter().map(|sets| self.rows_of(sets)).sum()
    }

    /// The entries of a set's rows, row by row.
    pub(super) fn entries(&self, set: usize) -> &[f64] {
        &self.entries[self.entries_at[set]..self.entries_at[set + 1]]
    }
}
