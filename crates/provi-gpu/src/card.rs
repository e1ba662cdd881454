//! A card: found, described, opened; points and draws on it.

use crate::{
    driver::{Arg, Attribute, Buffer, Context, Device, Driver, Grid, Module, Staging},
    error::{Error, Result, same_length},
    family::Kind,
    modules,
    shape::{SHARED, TILE_DRAWS},
    table::Normal,
};
use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

/// What a card is, in words and numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// n of cuda:n.
    pub index: u32,
    /// The vendor's name.
    pub name: String,
    /// Compute capability.
    pub capability: [i32; 2],
    /// Bytes of its memory.
    pub memory: u64,
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// The version of CUDA that the driver runs: 13000 for 13.0.
    pub driver: i32,
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([major, minor], gib) = (self.capability, self.memory as f64 / f64::from(1 << 30));
        let (version, part) = (self.driver / 1000, self.driver % 1000 / 10);
        write!(
            f,
            "cuda:{} {}, {gib:.1} GiB, compute capability {major}.{minor}, driver for CUDA {version}.{part}",
            self.index, self.name
        )
    }
}

/// The cards of this machine, usable ones and others. An error says why there are none.
pub fn cards() -> Result<Vec<Description>> {
    let driver = Driver::load()?;
    (0..driver.count()?).map(|index| describe(driver, index).map(|(_, description)| description)).collect()
}

/// One line for people: the cards of this machine, or why there are none.
#[must_use]
pub fn survey() -> String {
    said(cards())
}

fn said(found: Result<Vec<Description>>) -> String {
    match found {
        Ok(cards) if cards.is_empty() => "cards: none; the CUDA driver reports no card".into(),
        Ok(cards) => {
            let each: Vec<String> = cards.iter().map(ToString::to_string).collect();
            format!("cards: {}", each.join("; "))
        }
        Err(reason) => format!("cards: none; {reason}"),
    }
}

fn describe(driver: Driver, index: u32) -> Result<(Device, Description)> {
    let device = driver.device(index)?;
    let description = Description {
        index,
        name: device.name()?,
        capability: [device.attribute(Attribute::Major)?, device.attribute(Attribute::Minor)?],
        memory: device.memory()?,
        multiprocessors: device.attribute(Attribute::Multiprocessors)?.max(0) as u32,
        driver: driver.version()?,
    };
    Ok((device, description))
}

/// An opened card. Clones share it; every method may be called from any thread.
#[derive(Clone)]
pub struct Card(Arc<Opened>);

struct Opened {
    description: Description,
    context: Arc<Context>,
    common: Module,
    /// Loaded on first use.
    densities: Mutex<Vec<(Kind, Arc<Module>)>>,
    /// Made for the first copy that is worth it; none if the system locks no memory.
    staging: Mutex<Option<Vec<Staging>>>,
}

/// Numbers of a piece that is copied to the card, 32 megabytes, and of the part of it that one thread writes, at least.
const PIECE: usize = 1 << 22;
const PART: usize = 1 << 17;
/// Threads that write a piece, at most: one alone is slower than the way to the card.
const WRITERS: usize = 8;

impl fmt::Debug for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Card({})", self.0.description)
    }
}

impl Card {
    /// Opens card `index` and loads the kernels.
    pub fn open(index: u32) -> Result<Self> {
        let driver = Driver::load()?;
        let count = driver.count()?;
        if index >= count {
            return Err(Error::NoCard { index, count });
        }
        let (device, description) = describe(driver, index)?;
        let [major, minor] = description.capability;
        if major < 8 || device.attribute(Attribute::SharedMemory)? < SHARED as i32 {
            return Err(Error::TooOld { name: description.name, major, minor });
        }
        let context = Arc::new(device.open()?);
        let common = context.module(&modules::common(major)?)?;
        let (densities, staging) = Default::default();
        Ok(Self(Arc::new(Opened { description, context, common, densities, staging })))
    }

    /// What it is.
    #[must_use]
    pub fn description(&self) -> &Description {
        &self.0.description
    }

    /// Bytes free on the card now.
    pub fn free_memory(&self) -> Result<u64> {
        self.0.context.free_memory()
    }

    /// Waits until everything that was started is done. For timings: results wait by themselves.
    pub fn wait(&self) -> Result<()> {
        self.0.context.wait()
    }

    pub(crate) fn common(&self) -> &Module {
        &self.0.common
    }

    pub(crate) fn density(&self, kind: Kind) -> Result<Arc<Module>> {
        let mut loaded = self.0.densities.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, module)) = loaded.iter().find(|(of, _)| *of == kind) {
            return Ok(module.clone());
        }
        let ptx = modules::density(kind, self.0.description.capability[0])?;
        let module = Arc::new(self.0.context.module(&ptx)?);
        loaded.push((kind, module.clone()));
        Ok(module)
    }

    pub(crate) fn zeros(&self, what: &'static str, len: usize) -> Result<Buffer> {
        self.0.context.zeros(what, len)
    }

    /// Refuses what does not fit into the memory that is free now.
    pub(crate) fn has_room(&self, what: &'static str, needed: u64) -> Result<()> {
        let free = self.free_memory()?;
        if needed <= free { Ok(()) } else { Err(Error::Memory { what, needed, free }) }
    }

    /// Numbers with `columns` a row, `width` a row on the card and zeros up to `rows` of them.
    pub(crate) fn rows_of(
        &self,
        what: &'static str,
        numbers: &[f64],
        columns: usize,
        (rows, width): (usize, usize),
    ) -> Result<Buffer> {
        let count = numbers.len() / columns;
        if columns == width {
            let buffer = self.zeros(what, rows * width)?;
            buffer.write(0, numbers)?;
            return Ok(buffer);
        }
        self.written(what, (count, columns), (rows, width), |first, out| {
            out.copy_from_slice(&numbers[first * columns..][..out.len()]);
        })
    }

    /// The same of `count` rows that `write(first, out)` gives piece by piece, so that no second copy of them all is made. While the card copies a
    /// piece from page-locked memory, the next one is written.
    pub(crate) fn written(
        &self,
        what: &'static str,
        (count, columns): (usize, usize),
        (rows, width): (usize, usize),
        write: impl Fn(usize, &mut [f64]) + Sync,
    ) -> Result<Buffer> {
        let buffer = self.zeros(what, rows * width)?;
        let piece = (PIECE / width).max(1).min(count.max(1));
        let widened = &|first: usize, out: &mut [f64]| {
            if columns == width {
                return write(first, out);
            }
            let mut read = vec![0.0; out.len() / width * columns];
            write(first, &mut read);
            for (to, from) in out.chunks_exact_mut(width).zip(read.chunks_exact(columns)) {
                to[..columns].copy_from_slice(from);
                to[columns..].fill(0.0);
            }
        };
        // Threads of its own: those of the caller may all wait for this card.
        let writers = provi::device::threads().min(WRITERS);
        let by_all = |first: usize, out: &mut [f64]| {
            let rows = (out.len() / width).div_ceil(writers).max(PART / width).max(1);
            let others = out.len().div_ceil(rows * width).saturating_sub(1);
            let parts = Mutex::new(out.chunks_mut(rows * width).enumerate());
            let next = || parts.lock().unwrap_or_else(PoisonError::into_inner).next();
            let work = || {
                while let Some((k, part)) = next() {
                    widened(first + k * rows, part);
                }
            };
            std::thread::scope(|scope| {
                // Where the system gives no thread, those that are there do all.
                let spawn = |_: &usize| std::thread::Builder::new().spawn_scoped(scope, work).is_ok();
                (0..others).take_while(spawn).for_each(drop);
                work();
            });
        };
        let mut guard = None;
        if count * width >= PART {
            guard = Some(self.0.staging.lock().unwrap_or_else(PoisonError::into_inner));
        }
        let staging: &mut [Staging] = match &mut guard {
            Some(guard) => guard.get_or_insert_with(|| {
                let two = [PIECE; 2].map(|len| Staging::new(&self.0.context, len));
                two.into_iter().collect::<Result<_>>().unwrap_or_default()
            }),
            None => &mut [],
        };
        let is_locked = !staging.is_empty() && piece * width <= PIECE;
        let mut plain = vec![0.0; if is_locked { 0 } else { piece * width }];
        for (i, first) in (0..count).step_by(piece).enumerate() {
            let some = piece.min(count - first) * width;
            if is_locked {
                let staging = &mut staging[i % 2];
                by_all(first, &mut staging.room()?[..some]);
                staging.send(&buffer, first * width, some)?;
            } else {
                by_all(first, &mut plain[..some]);
                buffer.write(first * width, &plain[..some])?;
            }
        }
        Ok(buffer)
    }

    /// Puts points z_k, one after the other, onto the card.
    pub fn points(&self, points: &[f64], dim: usize) -> Result<Points> {
        same_length("points", if dim == 0 { 1 } else { points.len() % dim }, 0)?;
        let (count, width) = (points.len() / dim, dim.next_multiple_of(4));
        let rows = count.next_multiple_of(TILE_DRAWS).max(TILE_DRAWS);
        let buffer = self.rows_of("points", points, dim, (rows, width))?;
        Ok(Points { buffer, count, dim, width })
    }

    /// u_k ~ N(0, I) for draws `first`, `first + 1`, … (modulo 2³²) of a key and a step, made on the card: the bits of
    /// [`provi_kernels::normals`].
    pub fn normals(&self, key: u64, step: u64, first: u32, count: usize, dim: usize) -> Result<Points> {
        same_length("coordinates of a draw", dim.min(1), 1)?;
        let width = dim.next_multiple_of(4);
        let rows = count.next_multiple_of(TILE_DRAWS).max(TILE_DRAWS);
        let buffer = self.zeros("draws", rows * width)?;
        let args = [
            Arg::Word(key),
            Arg::Word(step),
            Arg::Int(first as i32),
            Arg::Int(integer("draws", count)?),
            Arg::Int(integer("coordinates", dim)?),
            Arg::Int(integer("coordinates", width)?),
            (&buffer).into(),
        ];
        self.each(count * width / 2, "normals", &args)?;
        Ok(Points { buffer, count, dim, width })
    }

    /// z_k = m + Cu_k with the u_k of [`Card::normals`], made on the card: the bits of [`crate::twin::draws`].
    pub fn draws(&self, q: &Normal<'_>, key: u64, step: u64, first: u32, count: usize) -> Result<Points> {
        let dim = q.mean.len();
        q.check(dim)?;
        let normals = self.normals(key, step, first, count, dim)?;
        let (mean, factor) = (self.zeros("mean", dim)?, self.zeros("factor", q.factor.len())?);
        mean.write(0, q.mean)?;
        factor.write(0, q.factor)?;
        let buffer = self.zeros("draws", normals.buffer.len())?;
        let args = [
            (&normals.buffer).into(),
            (&mean).into(),
            (&factor).into(),
            Arg::Int(integer("draws", count)?),
            Arg::Int(integer("coordinates", dim)?),
            Arg::Int(integer("coordinates", normals.width)?),
            (&buffer).into(),
        ];
        self.each(count * normals.width, "transport", &args)?;
        Ok(Points { buffer, ..normals })
    }

    /// One thread for each of `len` numbers.
    pub(crate) fn each(&self, len: usize, name: &'static str, args: &[Arg<'_>]) -> Result<()> {
        if len == 0 {
            return Ok(());
        }
        let blocks = [u32::try_from(len.div_ceil(256)).map_err(|_| too_many("numbers", len))?, 1];
        self.common().launch(name, Grid { blocks, threads: 256, shared: 0 }, args)
    }
}

/// A count as the kernels take it.
pub(crate) fn integer(what: &'static str, count: usize) -> Result<i32> {
    i32::try_from(count).map_err(|_| too_many(what, count))
}

fn too_many(what: &'static str, count: usize) -> Error {
    Error::OutOfRange { what, value: count.to_string(), needed: "less than 2³¹ at a time" }
}

/// Points on the card, in whole tiles.
pub struct Points {
    pub(crate) buffer: Buffer,
    pub(crate) count: usize,
    pub(crate) dim: usize,
    pub(crate) width: usize,
}

impl Points {
    /// How many.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The points, one after the other.
    pub fn read(&self) -> Result<Vec<f64>> {
        let mut padded = vec![0.0; self.count * self.width];
        self.buffer.read(0, &mut padded)?;
        Ok(padded.chunks_exact(self.width).flat_map(|row| row[..self.dim].iter().copied()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_names_every_card_or_the_reason() {
        let card = Description {
            index: 0,
            name: "NVIDIA H200".into(),
            capability: [9, 0],
            memory: 150_110_011_392,
            multiprocessors: 132,
            driver: 13_000,
        };
        let line = "cuda:0 NVIDIA H200, 139.8 GiB, compute capability 9.0, driver for CUDA 13.0";
        assert_eq!(said(Ok(vec![card.clone()])), format!("cards: {line}"));
        let second = Description { index: 1, driver: 11_080, ..card };
        assert!(
            said(Ok(vec![second]))
                .ends_with("cuda:1 NVIDIA H200, 139.8 GiB, compute capability 9.0, driver for CUDA 11.8")
        );
        assert_eq!(said(Ok(Vec::new())), "cards: none; the CUDA driver reports no card");
        let missing = Error::NoDriver { reason: "libcuda.so.1 is not installed".into() };
        assert_eq!(
            said(Err(missing)),
            "cards: none; no CUDA: libcuda.so.1 is not installed; everything runs on the processor"
        );
    }

    /// Whatever this machine has: an answer, the same one twice, and no panic.
    #[test]
    fn asking_for_a_card_is_safe_everywhere() {
        assert_eq!(cards(), cards());
        assert_eq!(survey().lines().count(), 1);
        match (cards(), Card::open(u32::MAX)) {
            (Ok(cards), Err(Error::NoCard { index: u32::MAX, count })) => {
                assert_eq!(count as usize, cards.len())
            }
            (Err(a), Err(b)) => assert_eq!(a, b),
            (found, opened) => panic!("{found:?}, {opened:?}"),
        }
    }
}
