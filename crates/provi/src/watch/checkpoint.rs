//! Checkpoints: a saved run, which resumes with the same bits.
//!
//! Draws are a pure function of seed and step, so the state of a run is its iterate, its average and its step
//! number. What steps keep besides (an inverse, updates not yet applied) is recomputed at fixed places of every
//! run, interrupted or not. A run resumed at such a place therefore continues exactly as one that was never
//! stopped. The exact solver's own memory is saved with the checkpoint.
//!
//! Anybody may have written the bytes of a checkpoint. A checkpoint that is damaged, inconsistent or from another
//! run is refused. A checkpoint cannot prove that its steps were made: a plan's [`Promise`](crate::plan::Promise)
//! says from which step on it relies on the checkpoint. Certificates do not rely on checkpoints at all.

use std::time::{Duration, Instant};

use super::snapshot::{AverageState, Snapshot};
use crate::base::error::{Error, Result};
use crate::base::gaussian::{Gaussian, Triangular};

/// The state of a run at one of the places where it can be resumed.
///
/// ```
/// use provi::checkpoint::{Checkpoint, Keeper};
/// use provi::fit::Watch;
/// use provi::{Design, Method, Planner, Seed, target::{Glm, Prior}};
/// use std::{ops::ControlFlow, time::Duration};
///
/// let design = Design::dense(4, 2, &[1.0, 0.5, 1.0, -1.5, 1.0, 2.0, 1.0, -0.3])?;
/// let target = Glm::logistic(design, &[1.0, 0.0, 1.0, 0.0], Prior::scale(1.0)?)?;
/// let plan = Planner::new(Method::ProxEnergy).to_steps(&target, 3000)?;
///
/// let mut kept = None;
/// let mut save = |at: &Checkpoint| kept = Some(at.clone());
/// let mut stop = |at: &provi::fit::Snapshot| {
///     if at.step > 2000 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
/// };
/// let keeper = Keeper { every: Duration::ZERO, save: &mut save };
/// let mut watch = Watch { observer: Some(&mut stop), keeper: Some(keeper), ..Watch::default() };
/// assert!(plan.run_with(&target, Seed(1), &mut watch)?.stopped_early);
///
/// let mut watch = Watch { from: kept, ..Watch::default() };
/// let resumed = plan.run_with(&target, Seed(1), &mut watch)?;
/// assert_eq!(resumed.gaussian, plan.run(&target, Seed(1))?.gaussian);     // the same bits
/// # Ok::<(), provi::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// Steps made.
    pub step: u64,
    /// w, in the coordinates and the factor space of the steps.
    pub parameters: Vec<f64>,
    /// The memory of the exact solver, or of steps that the draws decide; empty for steps that were planned.
    pub memory: Vec<f64>,
    /// The average so far.
    pub average: AverageState,
    /// The trace so far.
    pub trace: Vec<Snapshot>,
    /// Wall-clock seconds spent.
    pub seconds: f64,
    /// Which run it belongs to. `None` in old files, and for the exact solver, which recognises its run by the
    /// ELBO.
    pub(crate) mark: Option<Mark>,
}

/// Identifies a run: words that must be equal, and numbers that may differ by rounding, as they do between
/// different numbers of processes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Mark {
    exact: u64,
    about: Vec<f64>,
}

impl Mark {
    /// The mark of a run with these words and these numbers.
    pub(crate) fn new(words: &str, about: Vec<f64>) -> Self {
        Self { exact: checksum(words.as_bytes()), about }
    }

    fn agrees(&self, other: &Self) -> bool {
        let near = |(a, b): (&f64, &f64)| is_about(*a, *b);
        self.exact == other.exact
            && self.about.len() == other.about.len()
            && self.about.iter().zip(&other.about).all(near)
    }
}

/// Equal up to what a different order of summation changes.
pub(crate) fn is_about(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * (1.0 + a.abs().max(b.abs()))
}

/// Keeps checkpoints of a run.
pub struct Keeper<'a> {
    /// Least time between two checkpoints; one more is saved when the run is stopped.
    pub every: Duration,
    /// Receives each checkpoint. It handles its own errors, such as a full disk.
    pub save: &'a mut dyn FnMut(&Checkpoint),
}

/// The checkpoints of one run: the latest place where it can be resumed, when to save it, and the time that the run
/// has taken.
pub(crate) struct Keeping<'a> {
    keeper: Option<Keeper<'a>>,
    begin: Instant,
    before: f64,
    saved: Instant,
    place: Option<Checkpoint>,
}

impl<'a> Keeping<'a> {
    /// For a run that began at `begin`, and had already taken `before` seconds when it was resumed. Without a
    /// keeper nothing is saved.
    pub(crate) fn new(keeper: Option<Keeper<'a>>, begin: Instant, before: f64) -> Self {
        Self { keeper, begin, before, saved: begin, place: None }
    }

    /// Seconds that the run has taken.
    pub(crate) fn seconds(&self) -> f64 {
        self.before + self.begin.elapsed().as_secs_f64()
    }

    /// Replaces the latest place by `make(seconds so far)`.
    pub(crate) fn stand(&mut self, make: impl FnOnce(f64) -> Checkpoint) {
        if self.keeper.is_some() {
            self.place = Some(make(self.seconds()));
        }
    }

    /// Saves the latest place if the run `ends`, or if the last save is at least [`Keeper::every`] ago.
    pub(crate) fn save(&mut self, ends: bool) {
        if self.is_due(ends)
            && let Some(keeper) = &mut self.keeper
            && let Some(place) = self.place.take()
        {
            (keeper.save)(&place);
            self.saved = Instant::now();
        }
    }

    /// Both at once: makes a place only if it is due to be saved, and saves it.
    pub(crate) fn offer(&mut self, ends: bool, make: impl FnOnce(f64) -> Checkpoint) {
        if self.is_due(ends) {
            self.stand(make);
            self.save(ends);
        }
    }

    fn is_due(&self, ends: bool) -> bool {
        self.keeper.as_ref().is_some_and(|keeper| ends || self.saved.elapsed() >= keeper.every)
    }
}

/// First bytes of the format, with its version.
const MAGIC: &[u8; 16] = b"provi-checkpt/3\n";
/// First bytes of the older version, which has no mark.
const UNMARKED: &[u8; 16] = b"provi-checkpt/2\n";

impl Checkpoint {
    /// A checkpoint from which the exact solver begins at q.
    pub fn at(q: &Gaussian<Triangular>) -> Self {
        Self {
            step: 0,
            parameters: q.parameters().to_vec(),
            memory: vec![0.0],
            average: AverageState::default(),
            trace: Vec::new(),
            seconds: 0.0,
            mark: None,
        }
    }

    /// Refuses a checkpoint that no run writes: numbers that are not finite, or a trace that does not lead up to
    /// `step`.
    pub(crate) fn check(&self) -> Result<()> {
        let broken = |what| Err(Error::Checkpoint { what });
        let numbers = [&self.parameters, &self.memory, &self.average.mean];
        if numbers.into_iter().flatten().any(|x| !x.is_finite()) {
            return broken("holds a number that is not finite");
        }
        if !(self.seconds.is_finite() && self.seconds >= 0.0) {
            return broken("has a number of seconds that is negative or not finite");
        }
        let mut before = None;
        for at in &self.trace {
            let ordered = before.is_none_or(|before| before < at.step) && at.step <= self.step;
            let proper = at.step <= at.steps && at.gap.is_none_or(|gap| gap >= 0.0);
            if !(ordered && proper) {
                return broken("has a trace that does not lead up to its step");
            }
            before = Some(at.step);
        }
        Ok(())
    }

    /// Refuses the checkpoint of another run. Old files do not say which run they belong to, and are accepted.
    pub(crate) fn check_mark(&self, own: &Mark) -> Result<()> {
        match &self.mark {
            Some(mark) if !mark.agrees(own) => Err(Error::Checkpoint { what: "is that of another run" }),
            _ => Ok(()),
        }
    }

    /// The checkpoint as bytes: little-endian, with a checksum. [`Checkpoint::from_bytes`] restores the same bits.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        let mut word = |bits: u64| out.extend_from_slice(&bits.to_le_bytes());
        word(self.step);
        word(self.seconds.to_bits());
        word(self.average.count);
        word(self.average.coefficient.to_bits());
        let (marked, mark) = (self.mark.is_some(), self.mark.clone().unwrap_or_default());
        word(u64::from(marked));
        word(mark.exact);
        for list in [&mark.about, &self.parameters, &self.memory, &self.average.mean] {
            word(list.len() as u64);
            list.iter().for_each(|x| word(x.to_bits()));
        }
        word(self.trace.len() as u64);
        for at in &self.trace {
            let gap = at.gap.unwrap_or(f64::NAN);
            [at.step, at.steps, at.gamma.to_bits(), at.neg_elbo.to_bits(), gap.to_bits()]
                .into_iter()
                .for_each(&mut word);
        }
        let sum = checksum(&out);
        out.extend_from_slice(&sum.to_le_bytes());
        out
    }

    /// Reads the bytes of [`Checkpoint::to_bytes`]. Refuses bytes that are cut short or changed.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let broken = |what| Error::Checkpoint { what };
        let marked = bytes.starts_with(MAGIC);
        let magic = if marked { MAGIC } else { UNMARKED };
        let body = bytes
            .strip_prefix(magic.as_slice())
            .ok_or(broken("does not begin with the bytes of a checkpoint"))?;
        let (_, sum) = bytes.split_last_chunk::<8>().ok_or(broken("is cut short"))?;
        let whole = bytes.len().checked_sub(8).map(|end| &bytes[..end]).unwrap_or_default();
        if body.len() < 8 || checksum(whole) != u64::from_le_bytes(*sum) {
            return Err(broken("is cut short or damaged: its checksum does not agree"));
        }
        let mut words = body[..body.len() - 8]
            .chunks_exact(8)
            .map(|word| word.iter().rev().fold(0u64, |bits, &byte| bits << 8 | u64::from(byte)));
        let mut next = || words.next().ok_or(Error::Checkpoint { what: "ends too early" });
        let (step, seconds, count, coefficient) = (next()?, next()?, next()?, next()?);
        let (is_marked, exact) = if marked { (next()? > 0, next()?) } else { (false, 0) };
        let mut list = || -> Result<Vec<f64>> {
            let len = next()?;
            (0..len).map(|_| next().map(f64::from_bits)).collect()
        };
        let about = if marked { list()? } else { Vec::new() };
        let (parameters, memory, mean) = (list()?, list()?, list()?);
        let len = next()?;
        let trace = (0..len)
            .map(|_| {
                let (step, steps) = (next()?, next()?);
                let (gamma, neg_elbo) = (f64::from_bits(next()?), f64::from_bits(next()?));
                let gap = Some(f64::from_bits(next()?)).filter(|gap| !gap.is_nan());
                Ok(Snapshot { step, steps, gamma, neg_elbo, gap })
            })
            .collect::<Result<Vec<_>>>()?;
        let average = AverageState { mean, count, coefficient: f64::from_bits(coefficient) };
        let mark = is_marked.then_some(Mark { exact, about });
        Ok(Self { step, parameters, memory, average, trace, seconds: f64::from_bits(seconds), mark })
    }
}

/// FNV-1a checksum: detects accidents, not malice.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Checkpoint {
        Checkpoint {
            step: 1 << 40,
            parameters: vec![1.5, -0.0, f64::MIN_POSITIVE],
            memory: vec![2.0, -7.5],
            average: AverageState { mean: vec![0.1, 0.2, 0.3], count: 7, coefficient: 0.125 },
            trace: vec![Snapshot { step: 3, steps: 9, gamma: 1e-3, neg_elbo: f64::INFINITY, gap: Some(0.5) }],
            seconds: 0.25,
            mark: Some(Mark::new("a run", vec![0.5, 1e9])),
        }
    }

    /// At least the keeper's time lies between two saved places, except at the end of a run; each is saved once.
    #[test]
    fn places_are_handed_over_when_they_are_due() {
        for (every, expected) in [(Duration::ZERO, vec![1, 3, 4]), (Duration::MAX, vec![3])] {
            let mut seen = Vec::new();
            let mut save = |at: &Checkpoint| seen.push(at.step);
            let mut keeping = Keeping::new(Some(Keeper { every, save: &mut save }), Instant::now(), 2.0);
            let at = |step| {
                move |seconds: f64| {
                    assert!(seconds >= 2.0);
                    Checkpoint { step, seconds, ..example() }
                }
            };
            keeping.stand(at(1));
            keeping.save(false);
            keeping.stand(at(2));
            keeping.stand(at(3));
            keeping.save(true);
            keeping.save(true);
            keeping.offer(false, at(4));
            drop(keeping);
            assert_eq!(seen, expected);
        }
        let mut nobody = Keeping::new(None, Instant::now(), 0.0);
        nobody.stand(|_| unreachable!("nobody keeps it"));
        nobody.offer(true, |_| unreachable!("nobody keeps it"));
    }

    #[test]
    fn bytes_give_the_same_bits_back() {
        assert_eq!(Checkpoint::from_bytes(&example().to_bytes()).unwrap(), example());
        let without = Checkpoint { mark: None, ..example() };
        assert_eq!(Checkpoint::from_bytes(&without.to_bytes()).unwrap(), without);
    }

    /// The bytes of the version before, as it wrote them.
    #[test]
    fn files_without_a_mark_are_read() {
        let without = Checkpoint { mark: None, ..example() };
        let bytes = without.to_bytes();
        // After the magic and four words: the flag, the sum and the length of a mark that is missing.
        let mut old = [UNMARKED.as_slice(), &bytes[16..48], &bytes[72..bytes.len() - 8]].concat();
        old.extend_from_slice(&checksum(&old).to_le_bytes());
        assert_eq!(Checkpoint::from_bytes(&old).unwrap(), without);
    }

    #[test]
    fn a_mark_allows_for_rounding_and_nothing_else() {
        let own = Mark::new("a run", vec![0.5 + 1e-9, 1e9 + 1.0]);
        assert!(example().check_mark(&own).is_ok());
        assert!(Checkpoint { mark: None, ..example() }.check_mark(&own).is_ok());
        let others = [
            Mark::new("another", own.about.clone()),
            Mark::new("a run", vec![0.5]),
            Mark::new("a run", vec![0.51, 1e9]),
            Mark::new("a run", vec![f64::NAN, 1e9]),
        ];
        assert!(others.iter().all(|other| example().check_mark(other).is_err()));
    }

    #[test]
    fn every_cut_and_every_changed_byte_is_noticed() {
        let bytes = example().to_bytes();
        for end in 0..bytes.len() {
            assert!(Checkpoint::from_bytes(&bytes[..end]).is_err(), "{end}");
        }
        for place in 0..bytes.len() {
            let mut bytes = bytes.clone();
            bytes[place] ^= 0x20;
            assert!(Checkpoint::from_bytes(&bytes).is_err(), "{place}");
        }
    }

    #[test]
    fn a_wild_length_is_refused_without_room_for_it() {
        let mut bytes = example().to_bytes();
        bytes.truncate(bytes.len() - 8);
        bytes[16 + 48..16 + 56].copy_from_slice(&u64::MAX.to_le_bytes());
        let sum = checksum(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        assert!(Checkpoint::from_bytes(&bytes).unwrap_err().to_string().contains("ends too early"));
    }
}
