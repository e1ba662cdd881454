//! Holds a card against the processor, one line a check, and times it.
//!
//! ```text
//! provi-gpu-check [--gold FOLDER] [--sizes 100000x50,1000000x100] [--draws 20000] [--whole 10000000x100] [--exact 10000]
//! provi-gpu-check --twins [--gold FOLDER] [--whole 2000x5]
//! provi-gpu-check --write 100000000x30 --into FOLDER
//! ```
//! `--whole` makes a table and goes the whole way: fit, certificate, exact draws. With `--twins` the kernels' twins on the processor take the
//! card's place, and only what needs no card is done.
//! Exits with 1 if a check failed, with 2 if there is no card.

mod checks;
mod files;
mod gold;
mod problem;
mod rates;
mod route;

use provi::device::Device;
use provi_gpu::Card;
use std::process::ExitCode;

/// What ends a run early.
type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Prints one line a check and remembers failures.
#[derive(Default)]
struct Book {
    passed: usize,
    failed: usize,
}

impl Book {
    fn check(&mut self, name: &str, passed: bool, detail: &str) {
        println!("{} {name:<58} {detail}", if passed { "ok  " } else { "FAIL" });
        if passed { self.passed += 1 } else { self.failed += 1 }
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| words.iter().position(|word| word == name).and_then(|i| words.get(i + 1));
    let mut book = Book::default();
    if let Some(size) = option("--write") {
        let write = || -> Outcome {
            let (rows, columns) = counts(size)?;
            files::write(option("--into").ok_or("--into FOLDER is missing")?, rows, columns)
        };
        return finish(book, write());
    }
    if words.iter().any(|word| word == "--twins") {
        let outcome = whole_way(&provi_gpu::Twins, &option, &mut book);
        return finish(book, outcome);
    }
    let card = match Card::open(0) {
        Ok(card) => card,
        Err(reason) => {
            println!("{reason}");
            return ExitCode::from(2);
        }
    };
    println!("{}", card.description());
    let outcome = (|| {
        checks::all(&card, &mut book)?;
        if let Some(folder) = option("--gold") {
            gold::all(&card, folder, &mut book)?;
        }
        let draws = option("--draws").and_then(|n| n.parse().ok()).unwrap_or(20_000);
        if let Some(sizes) = option("--sizes") {
            rates::all(&card, sizes, draws)?;
        }
        whole_way(&card, &option, &mut book)
    })();
    finish(book, outcome)
}

/// From tables to certificates and exact draws, with the device and without it.
fn whole_way<'a, D: Device + Clone + 'static>(
    device: &D,
    option: &dyn Fn(&str) -> Option<&'a String>,
    book: &mut Book,
) -> Outcome {
    route::families(device.clone(), book)?;
    if let Some(folder) = option("--gold") {
        gold::whole_way(device, folder, book)?;
    }
    let draws = option("--exact").and_then(|n| n.parse().ok()).unwrap_or(10_000);
    for size in option("--whole").into_iter().flat_map(|sizes| sizes.split(',')) {
        route::whole(device.clone(), counts(size)?, draws)?;
    }
    Ok(())
}

fn counts(size: &str) -> Result<(usize, usize), Box<dyn std::error::Error>> {
    let (rows, columns) = size.split_once('x').ok_or("a size is ROWSxCOLUMNS")?;
    Ok((rows.parse()?, columns.parse()?))
}

fn finish(mut book: Book, outcome: Outcome) -> ExitCode {
    if let Err(error) = outcome {
        book.check("the run", false, &error.to_string());
    }
    println!("{} checks passed, {} failed", book.passed, book.failed);
    ExitCode::from(u8::from(book.failed > 0))
}
