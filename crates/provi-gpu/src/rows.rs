//! Rows that live on a card, and the passes over them.

use crate::{
    card::{Card, Points, integer},
    driver::{Arg, Buffer, Grid, Module},
    error::{Error, Result, same_length},
    family::{Family, Kind},
    shape::{
        CHUNK, EXPECT_ROWS, MOST_DRAWS, MOST_SLOPES, SHARED, SHARED_CONTRACT, Shape, TILE_DRAWS, TILE_ROWS,
    },
    table::{
        FormWeights, Forms, Header, Moments, Normal, Rule, Table, check_forms, check_rules, check_stripe,
    },
};
use std::sync::Arc;

/// The rows of a [`Table`], copied to a card once.
pub struct CardRows {
    card: Card,
    module: Arc<Module>,
    family: Family,
    kind: Kind,
    shape: Shape,
    design: Buffer,
    /// Offsets, codes, weights.
    numbers: Buffer,
}

impl CardRows {
    /// Copies the rows to the card.
    pub fn new(card: &Card, table: &Table<'_>) -> Result<Self> {
        table.check()?;
        let (header, columns) = (table.header(), table.columns);
        Self::copied(card, &header, |first, out| {
            out.copy_from_slice(&table.design[first * columns..][..out.len()]);
        })
    }

    /// Copies rows that `write(first, out)` gives, from row `first` on, as many as `out` holds. They have to be finite.
    pub fn copied(card: &Card, table: &Header<'_>, write: impl Fn(usize, &mut [f64]) + Sync) -> Result<Self> {
        table.check()?;
        let (shape, kind) = (table.shape(), table.kind());
        integer("tiles of rows", shape.tiles())?;
        card.has_room("the rows", shape.resident_bytes())?;
        let padded = shape.padded_rows();
        let design = card.written("the rows", (shape.rows, table.columns), (padded, shape.width()), write)?;
        let numbers = card.zeros("the responses", 3 * padded)?;
        let mut room = vec![0.0; padded];
        for which in 0..3 {
            room.iter_mut().enumerate().for_each(|(n, to)| *to = table.numbers(kind, n)[which]);
            numbers.write(which * padded, &room)?;
        }
        let module = card.density(kind)?;
        Ok(Self { card: card.clone(), module, family: table.family, kind, shape, design, numbers })
    }

    pub(crate) fn card(&self) -> &Card {
        &self.card
    }

    /// Rows and columns.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Σ_n w_n φ(x_nᵀz_k + o_n) of every point: the bits of [`crate::twin::energies`].
    pub fn energies(&self, points: &Points) -> Result<Vec<f64>> {
        self.fits(points)?;
        let mut all = vec![0.0; points.count];
        let most = points.count.min(MOST_DRAWS).next_multiple_of(TILE_DRAWS);
        let chunks = self.shape.chunks();
        let partial = self.card.zeros("partial sums", chunks * most)?;
        let sums = self.card.zeros("sums", most)?;
        for (i, part) in all.chunks_mut(MOST_DRAWS).enumerate() {
            let batch = part.len().next_multiple_of(TILE_DRAWS);
            let from = Arg::At(&points.buffer, i * MOST_DRAWS * points.width);
            self.density("density_values", from, batch, (0, self.shape.tiles()), &partial, Arg::Nothing)?;
            self.reduce(&partial, chunks, batch, false, &sums)?;
            sums.read(0, part)?;
        }
        Ok(all)
    }

    /// The energies, and their gradients Σ_n w_n φ′ x_n one after the other: the bits of
    /// [`crate::twin::energies_and_gradients`].
    pub fn energies_and_gradients(&self, points: &Points) -> Result<(Vec<f64>, Vec<f64>)> {
        self.fits(points)?;
        let (d, width) = (self.shape.columns, self.shape.width());
        let (mut energies, mut gradients) = (vec![0.0; points.count], Vec::with_capacity(points.count * d));
        let most = points.count.min(MOST_SLOPES).next_multiple_of(TILE_DRAWS);
        let slab = self.shape.slab_rows(most);
        let slopes = self.card.zeros("slopes", slab * most)?;
        let partial = self.card.zeros("partial sums", self.shape.chunks() * most)?;
        let (sums, products) = (self.card.zeros("sums", most)?, self.card.zeros("gradients", most * width)?);
        let mut padded = vec![0.0; most * width];
        for (i, part) in energies.chunks_mut(MOST_SLOPES).enumerate() {
            let batch = part.len().next_multiple_of(TILE_DRAWS);
            let (mut chunk, chunk_rows) = (0, self.shape.chunk_tiles() * TILE_ROWS);
            for from in (0..self.shape.padded_rows()).step_by(slab) {
                let to = self.shape.padded_rows().min(from + slab);
                let at = Arg::At(&points.buffer, i * MOST_SLOPES * width);
                let tiles = (from / TILE_ROWS, to / TILE_ROWS);
                let own = Arg::At(&partial, chunk * batch);
                self.launch_density("density_slopes", at, batch, tiles, own, (&slopes).into())?;
                chunk += (to - from).div_ceil(chunk_rows);
                let (a, b) = ((Arg::from(&slopes), batch), self.rows_from(from));
                let count = self.shape.rows.min(to) - from;
                self.contract(
                    a,
                    b,
                    Arg::Nothing,
                    count,
                    Pieces { symmetric: false, onto: from > 0 },
                    &products,
                )?;
            }
            self.reduce(&partial, self.shape.chunks(), batch, false, &sums)?;
            sums.read(0, part)?;
            products.read(0, &mut padded[..batch * width])?;
            let real = padded.chunks_exact(width).take(part.len());
            gradients.extend(real.flat_map(|row| row[..d].iter().copied()));
        }
        Ok((energies, gradients))
    }

    /// Exact expectations under q, with the Hessian: the bits of [`crate::twin::expectations`].
    pub fn expectations(&self, q: &Normal<'_>, rules: &[Rule<'_>]) -> Result<Moments> {
        let (d, rows) = (self.shape.columns, self.shape.rows);
        q.check(d)?;
        check_rules(rules)?;
        let padded = self.shape.padded_rows();
        let [means, variances, first, second] = [(); 4].map(|()| self.card.zeros("expectations", padded));
        let (means, variances, first, second) = (means?, variances?, first?, second?);
        self.spreads(q, &means, &variances)?;
        let blocks = rows.div_ceil(EXPECT_ROWS);
        let partial = self.card.zeros("partial sums", blocks)?;
        let limits: Vec<f64> = rules.iter().map(|rule| rule.widest).collect();
        let mut starts = vec![0u64];
        starts.extend(rules.iter().scan(0, |end, rule| {
            *end += rule.nodes.len() as u64;
            Some(*end)
        }));
        let nodes: Vec<f64> = rules.iter().flat_map(|rule| rule.nodes.iter().copied()).collect();
        let weights: Vec<f64> = rules.iter().flat_map(|rule| rule.weights.iter().copied()).collect();
        let on_card = |numbers: &[f64]| {
            let buffer = self.card.zeros("quadrature rules", numbers.len())?;
            buffer.write(0, numbers).map(|()| buffer)
        };
        let (limits, nodes, weights) = (on_card(&limits)?, on_card(&nodes)?, on_card(&weights)?);
        let starts_on_card = self.card.zeros("quadrature rules", starts.len())?;
        starts_on_card.write_integers(&starts)?;
        let args = [
            Arg::Int(self.kind as i32),
            Arg::Float(self.family.parameter()),
            (&means).into(),
            (&variances).into(),
            Arg::At(&self.numbers, padded),
            Arg::At(&self.numbers, 2 * padded),
            Arg::Long(rows as i64),
            Arg::Int(integer("rules", rules.len())?),
            (&limits).into(),
            (&starts_on_card).into(),
            (&nodes).into(),
            (&weights).into(),
            (&first).into(),
            (&second).into(),
            (&partial).into(),
        ];
        self.card.each(blocks * EXPECT_ROWS, "expect", &args)?;
        let mut values = vec![0.0; blocks];
        partial.read(0, &mut values)?;
        let value = values[1..].iter().fold(values[0], |sum, x| sum + x);
        let gradient = self.columns(&first)?;
        let hessian = self.gram_of(self.rows_from(0), d, (&second).into(), rows)?;
        Ok(Moments { value, gradient, hessian })
    }

    /// Σ_n v_n x_n x_nᵀ over as many rows as there are numbers, from row `first` on: d × d numbers.
    pub fn gram(&self, first: usize, values: &[f64]) -> Result<Vec<f64>> {
        let Shape { rows, columns: d } = self.shape;
        check_stripe(rows, first, values)?;
        let weights = self.weights(values)?;
        self.gram_of(self.rows_from(first), d, (&weights).into(), values.len())
    }

    /// The forms of as many rows as `third` has numbers, from row `first` on: the bits of [`crate::twin::forms`].
    pub fn forms(&self, first: usize, factor: &[f64], values: &FormWeights<'_>) -> Result<Forms> {
        let Shape { rows, columns: d } = self.shape;
        check_forms((rows, d), first, factor, values)?;
        let (width, all, wide) = (self.shape.width(), values.third.len(), d * (d + 1) / 2);
        let padded = wide.next_multiple_of(4);
        let most = self.shape.form_rows().min(all.next_multiple_of(CHUNK));
        let packed = self.card.zeros("factor", factor.len())?;
        packed.write(0, factor)?;
        let whitened = self.card.zeros("rows where q is standard", most * width)?;
        let squares = self.card.zeros("squares of rows", most * padded)?;
        let weights = self.card.zeros("weights of forms", most)?;
        let mut out = Forms::zeros(d, values);
        for from in (0..all).step_by(most) {
            let count = most.min(all - from);
            let args = [
                Arg::At(&self.design, (first + from) * width),
                (&packed).into(),
                Arg::Long(count as i64),
                Arg::Int(integer("columns", d)?),
                Arg::Int(integer("columns", width)?),
                (&whitened).into(),
            ];
            self.card.each(count * width, "whiten", &args)?;
            let args = [
                (&whitened).into(),
                Arg::Long(count as i64),
                Arg::Int(integer("columns", d)?),
                Arg::Int(integer("columns", width)?),
                Arg::Int(integer("products", padded)?),
                (&squares).into(),
            ];
            self.card.each(count * padded, "squares", &args)?;
            let (a, b) = ((Arg::from(&whitened), width), (Arg::from(&squares), padded));
            weights.write(0, &values.third[from..][..count])?;
            let products = self.card.zeros("a cubic form", width * padded)?;
            self.contract(
                a,
                b,
                (&weights).into(),
                count,
                Pieces { symmetric: false, onto: false },
                &products,
            )?;
            let mut found = vec![0.0; width * padded];
            products.read(0, &mut found)?;
            for (to, row) in out.third.chunks_exact_mut(wide).zip(found.chunks_exact(padded)) {
                to.iter_mut().zip(row).for_each(|(to, x)| *to += x);
            }
            let quadratic = values.quadratic.iter().zip(&mut out.quadratic).map(|(v, to)| (v, to, a, d));
            let quartic = values.quartic.iter().zip(&mut out.quartic).map(|(v, to)| (v, to, b, wide));
            for (values, to, side, columns) in quadratic.chain(quartic) {
                weights.write(0, &values[from..][..count])?;
                let gram = self.gram_of(side, columns, (&weights).into(), count)?;
                to.iter_mut().zip(&gram).for_each(|(to, x)| *to += x);
            }
        }
        Ok(out)
    }

    /// The design from a row on, and its width.
    fn rows_from(&self, first: usize) -> (Arg<'_>, usize) {
        let width = self.shape.width();
        (Arg::At(&self.design, first * width), width)
    }

    fn weights(&self, values: &[f64]) -> Result<Buffer> {
        let weights = self.card.zeros("weights of a Gram matrix", values.len())?;
        weights.write(0, values)?;
        Ok(weights)
    }

    /// Σ_n v_n a_n a_nᵀ for the first `columns` numbers of `count` rows a_n: all entries.
    fn gram_of(
        &self,
        a: (Arg<'_>, usize),
        columns: usize,
        values: Arg<'_>,
        count: usize,
    ) -> Result<Vec<f64>> {
        let (d, width) = (columns, a.1);
        let products = self.card.zeros("a Gram matrix", width * width)?;
        self.contract(a, a, values, count, Pieces { symmetric: true, onto: false }, &products)?;
        let mut found = vec![0.0; width * width];
        products.read(0, &mut found)?;
        let entry = |e: usize| found[(e / d).max(e % d) * width + (e / d).min(e % d)];
        Ok((0..d * d).map(entry).collect())
    }

    fn fits(&self, points: &Points) -> Result<()> {
        same_length("coordinates of a point", points.dim, self.shape.columns)
    }

    fn density(
        &self,
        name: &'static str,
        points: Arg<'_>,
        batch: usize,
        tiles: (usize, usize),
        partial: &Buffer,
        slopes: Arg<'_>,
    ) -> Result<()> {
        self.launch_density(name, points, batch, tiles, partial.into(), slopes)
    }

    /// The tiles from `tiles.0` to `tiles.1` at the points of a batch.
    fn launch_density(
        &self,
        name: &'static str,
        points: Arg<'_>,
        batch: usize,
        tiles: (usize, usize),
        partial: Arg<'_>,
        slopes: Arg<'_>,
    ) -> Result<()> {
        let per_chunk = self.shape.chunk_tiles();
        let blocks = [(batch / TILE_DRAWS) as u32, (tiles.1 - tiles.0).div_ceil(per_chunk) as u32];
        let args = [
            (&self.design).into(),
            points,
            (&self.numbers).into(),
            Arg::Long(self.shape.padded_rows() as i64),
            Arg::Int(integer("columns", self.shape.width())?),
            Arg::Float(self.family.parameter()),
            Arg::Long(tiles.0 as i64),
            Arg::Long(tiles.1 as i64),
            Arg::Long(per_chunk as i64),
            Arg::Int(integer("draws", batch)?),
            partial,
            slopes,
        ];
        self.module.launch(name, Grid { blocks, threads: 256, shared: SHARED }, &args)
    }

    /// Adds `length` numbers of every one of `blocks`, in order.
    fn reduce(&self, partial: &Buffer, blocks: usize, length: usize, onto: bool, out: &Buffer) -> Result<()> {
        let args = [
            partial.into(),
            Arg::Long(blocks as i64),
            Arg::Long(length as i64),
            Arg::Int(i32::from(onto)),
            out.into(),
        ];
        self.card.each(length, "reduce", &args)
    }

    /// Means and variances of the predictors under q.
    fn spreads(&self, q: &Normal<'_>, means: &Buffer, variances: &Buffer) -> Result<()> {
        let d = self.shape.columns;
        let tiles = (d + 1).div_ceil(TILE_DRAWS);
        let mut columns = vec![0.0; (d + 1) * d];
        for i in 0..d {
            for c in 0..=i {
                columns[c * d + i] = q.factor[i * (i + 1) / 2 + c];
            }
        }
        columns[d * d..].copy_from_slice(q.mean);
        let columns =
            self.card.rows_of("the factor", &columns, d, (tiles * TILE_DRAWS, self.shape.width()))?;
        let args = [
            (&self.design).into(),
            (&columns).into(),
            (&self.numbers).into(),
            Arg::Int(integer("columns", self.shape.width())?),
            Arg::Int(integer("columns", d)?),
            Arg::Int(integer("columns", tiles)?),
            means.into(),
            variances.into(),
        ];
        let blocks = [self.shape.tiles() as u32, 1];
        self.card.common().launch("spreads", Grid { blocks, threads: 256, shared: SHARED }, &args)
    }

    /// Σ_n v_n x_n.
    fn columns(&self, values: &Buffer) -> Result<Vec<f64>> {
        let (width, chunks) = (self.shape.width(), self.shape.rows.div_ceil(CHUNK));
        let partial = self.card.zeros("partial sums", chunks * width)?;
        let sums = self.card.zeros("sums", width)?;
        let args = [
            (&self.design).into(),
            values.into(),
            Arg::Int(integer("columns", width)?),
            Arg::Long(self.shape.rows as i64),
            Arg::Long(CHUNK as i64),
            (&partial).into(),
        ];
        self.card.each(chunks * 256, "columns", &args)?;
        self.reduce(&partial, chunks, width, false, &sums)?;
        let mut out = vec![0.0; self.shape.columns];
        sums.read(0, &mut out)?;
        Ok(out)
    }

    /// out = Σ_n a_n v_n b_nᵀ over `count` rows. Chunks are taken as many at a time as fit into the room, and added in order.
    fn contract(
        &self,
        (a, width_a): (Arg<'_>, usize),
        (b, width_b): (Arg<'_>, usize),
        values: Arg<'_>,
        count: usize,
        pieces: Pieces,
        out: &Buffer,
    ) -> Result<()> {
        let length = width_a * width_b;
        let at_once = self.shape.chunks_at_once(count, length);
        let partial = self.card.zeros("partial products", at_once * length)?;
        let across = width_b.div_ceil(64);
        let tiles = if pieces.symmetric { across * (across + 1) / 2 } else { width_a.div_ceil(64) * across };
        let mut onto = pieces.onto;
        for from in (0..count).step_by(at_once * CHUNK) {
            let rows = (at_once * CHUNK).min(count - from);
            let chunks = rows.div_ceil(CHUNK);
            let args = [
                a.after(from * width_a),
                Arg::Int(integer("columns", width_a)?),
                b.after(from * width_b),
                Arg::Int(integer("columns", width_b)?),
                values.after(from),
                Arg::Long(rows as i64),
                Arg::Long(CHUNK as i64),
                Arg::Int(i32::from(pieces.symmetric)),
                (&partial).into(),
            ];
            let blocks = [integer("tiles", tiles)? as u32, chunks as u32];
            self.card.common().launch(
                "contract",
                Grid { blocks, threads: 128, shared: SHARED_CONTRACT },
                &args,
            )?;
            self.reduce(&partial, chunks, length, onto, out)?;
            onto = true;
        }
        if onto { Ok(()) } else { Err(Error::Shape { what: "rows", found: 0, expected: 1 }) }
    }
}

/// Which entries of a product are taken, and whether they are added to what is there.
#[derive(Clone, Copy)]
struct Pieces {
    /// Those on and under the diagonal alone.
    symmetric: bool,
    onto: bool,
}
