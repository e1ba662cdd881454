//! Data that cannot be read, change, or make no sense.

use super::blocks::{COLUMNS, Data, prior};
use super::processes::{on_ranks, shard};
use provi::stream::{Memory, Reduce, Rows, Source, Streamed};
use provi::target::{Evaluator, Family};
use provi::{Auto, Design, Error, Result, Seed, Target};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A source that goes wrong at a block of a pass.
struct Faulty {
    inner: Memory,
    pass: AtomicUsize,
    fails: (usize, usize),
    with: Option<Error>,
}

impl Faulty {
    /// `with` is the error; without one the pass just ends early.
    fn new(inner: Memory, fails: (usize, usize), with: Option<Error>) -> Self {
        Self { inner, pass: AtomicUsize::new(0), fails, with }
    }
}

impl Source for Faulty {
    fn columns(&self) -> usize {
        COLUMNS
    }
    fn each(&self, visit: &mut dyn FnMut(&Rows) -> Result<()>) -> Result<()> {
        let pass = self.pass.fetch_add(1, Ordering::SeqCst);
        for (k, block) in self.inner.blocks().iter().enumerate() {
            if (pass, k) == self.fails {
                return self.with.clone().map_or(Ok(()), Err);
            }
            visit(block)?;
        }
        Ok(())
    }
}

fn gone() -> Error {
    Error::Source { message: "shard-3.parquet, row group 7: unexpected end of file".into() }
}

fn data() -> Data {
    Data::new(Family::Bernoulli, 400)
}

fn model(source: impl Source) -> Result<Streamed<impl Source>> {
    Streamed::new(Family::Bernoulli, source, prior())
}

#[test]
fn a_source_that_fails_in_the_middle_of_a_pass_gives_its_error() {
    let faulty = |pass| Faulty::new(data().source(&[100, 200]), (pass, 1), Some(gone()));
    assert_eq!(model(faulty(0)).unwrap_err(), gone());
    for pass in [1, 5, 12] {
        let model = model(faulty(pass)).unwrap();
        let error = Auto::default().run(Evaluator::Serial(&model), Seed(1)).unwrap_err();
        assert_eq!(error, gone(), "pass {pass}");
    }
}

#[test]
fn a_pass_of_another_length_is_refused() {
    let model = model(Faulty::new(data().source(&[100, 200]), (1, 2), None)).unwrap();
    let error = model.log_density(&[0.0; COLUMNS], &mut [0.0; COLUMNS]).unwrap_err();
    assert_eq!(error, Error::DataChanged { found: 200, found_blocks: 2, rows: 400, blocks: 3 });
    assert!(error.to_string().contains("found 200 rows in 2 blocks, the first one 400 in 3"));
}

/// Makes its blocks anew at each pass, the third one from other numbers.
struct Made {
    entries: [f64; 2 * COLUMNS],
    labels: [f64; 2],
}

impl Source for Made {
    fn columns(&self) -> usize {
        COLUMNS
    }
    fn each(&self, visit: &mut dyn FnMut(&Rows) -> Result<()>) -> Result<()> {
        let fine = ([0.5; 2 * COLUMNS], [1.0, 0.0]);
        for (entries, labels) in [&fine, &fine, &(self.entries, self.labels)] {
            visit(&Rows::new(Family::Bernoulli, Design::dense(2, COLUMNS, entries)?, labels)?)?;
        }
        Ok(())
    }
}

#[test]
fn a_bad_number_is_named_by_block_and_row() {
    let mut entries = [0.5; 2 * COLUMNS];
    let made = |entries, labels| model(Made { entries, labels }).map(|model| model.rows());
    assert_eq!(made(entries, [1.0, 0.0]), Ok(6));
    entries[COLUMNS + 1] = f64::NAN;
    assert_eq!(
        made(entries, [1.0, 0.0]).unwrap_err().to_string(),
        "block 2 of the data: the design holds NaN at row 1, column 1 (from zero); every entry must be finite"
    );
    assert_eq!(
        made([0.5; 2 * COLUMNS], [1.0, 3.0]).unwrap_err().to_string(),
        "block 2 of the data: response 3 at row 1 is not 0 or 1 (−1 or 1) (family bernoulli)"
    );
}

#[test]
fn blocks_of_another_family_and_no_rows_at_all_are_refused() {
    let blocks = Data::new(Family::Poisson, 10).source(&[4]);
    assert_eq!(
        model(blocks).unwrap_err().to_string(),
        "block 0 of the data: the rows are those of family poisson, the model's is bernoulli; make them with `Rows::new` for that family"
    );
    let nothing = || Memory::new(COLUMNS, Vec::new()).unwrap();
    assert_eq!(model(nothing()).unwrap_err(), Error::Empty { what: "data (no rows)" });
    assert!(Memory::new(3, data().blocks(&[])).is_err());
    let wrong = provi::target::Prior::precisions(&[1.0]).unwrap();
    assert!(Streamed::new(Family::Bernoulli, data().source(&[]), wrong).is_err());
    let noiseless = Family::Gaussian { noise_sd: 0.0 };
    assert!(Streamed::new(noiseless, nothing(), prior()).unwrap_err().to_string().contains("noise sd"));
}

/// Goes on, whatever it is told.
struct Deaf(Vec<Rows>);

impl Source for Deaf {
    fn columns(&self) -> usize {
        COLUMNS
    }
    fn each(&self, visit: &mut dyn FnMut(&Rows) -> Result<()>) -> Result<()> {
        self.0.iter().for_each(|block| _ = visit(block));
        Ok(())
    }
}

#[test]
fn a_source_that_ignores_a_refusal_is_refused_itself() {
    let mut blocks = data().blocks(&[100, 200]);
    blocks[1] = Data::new(Family::Probit, 100).block(0, 100, false).unwrap();
    let error = model(Deaf(blocks)).unwrap_err();
    assert!(
        error.to_string().starts_with("block 1 of the data: the rows are those of family probit"),
        "{error}"
    );
}

#[test]
fn a_rank_that_fails_ends_all_and_is_named() {
    let data = data();
    // The survey itself, a pass on the way, and a rank that is not even ready.
    for pass in [0, 1, 4, 9] {
        let found = on_ranks(3, |rank| {
            let with = (rank.rank() == 1).then(gone);
            let fails = if with.is_some() { (pass, 0) } else { (usize::MAX, 0) };
            let source = Faulty::new(shard(&data, &rank), fails, with);
            let model = Streamed::distributed(Family::Bernoulli, source, prior(), rank)?;
            Auto::default().run(Evaluator::Serial(&model), Seed(1)).map(|_| ())
        });
        let named = Err(Error::Rank { rank: 1, size: 3 });
        assert_eq!(found, [named.clone(), Err(gone()), named], "pass {pass}");
    }
    let found = on_ranks(2, |rank| {
        let sds: &[f64] = if rank.rank() == 0 { &[1.0; 3] } else { &[1.0; COLUMNS] };
        let prior = provi::target::Prior::scales(sds).unwrap();
        Streamed::distributed(Family::Bernoulli, shard(&data, &rank), prior, rank).map(|_| ())
    });
    let own = Error::Shape { what: "prior precision", found: 3, expected: 4 };
    assert_eq!(found, [Err(own), Err(Error::Rank { rank: 0, size: 2 })]);
}
