//! Holds a card against the processor, one line a check, and times it.
//!
//! ```text
//! provi-gpu-check [--gold FOLDER] [--sizes 100000x50,1000000x100] [--draws 20000]
//! ```
//! Exits with 1 if a check failed, with 2 if there is no card.

mod checks;
mod gold;
mod problem;
mod rates;

use provi_gpu::Card;
use std::process::ExitCode;

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
    let card = match Card::open(0) {
        Ok(card) => card,
        Err(reason) => {
            println!("{reason}");
            return ExitCode::from(2);
        }
    };
    println!("{}", card.description());
    let mut book = Book::default();
    let outcome = (|| {
        checks::all(&card, &mut book)?;
        if let Some(folder) = option("--gold") {
            gold::all(&card, folder, &mut book)?;
        }
        let draws = option("--draws").and_then(|n| n.parse().ok()).unwrap_or(20_000);
        if let Some(sizes) = option("--sizes") {
            rates::all(&card, sizes, draws)?;
        }
        provi_gpu::Result::Ok(())
    })();
    if let Err(error) = outcome {
        book.check("the run", false, &error.to_string());
    }
    println!("{} checks passed, {} failed", book.passed, book.failed);
    ExitCode::from(u8::from(book.failed > 0))
}
