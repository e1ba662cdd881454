//! Every kernel of provi beside the machine's own limit, measured in the same run, in less than a minute.
//!
//! `provi-limits` prints one table: a kernel's time, the limit (a pass over memory, multiply-adds at peak, the products by
//! the fastest library, the start of a process), the ratio, and the bar where there is one; exit status 1 if one is
//! missed. One thread unless a row says otherwise. Times are the least of many short runs, contenders taking turns, so that
//! a busy machine touches them alike. `provi-limits gradient exact` prints the rows of those names alone: `normals`, `prox`,
//! `proj`, `cholesky`, `gradient`, `exact`, `threads`, `draws`, `library`, `process`. The programs `steps` and `proj` hold the loops of
//! Prox-SGD and Proj-SGD to bars of their own.
//!
//! `provi-limits large` makes a few steps in 20 000 dimensions and says what memory they took; `provi-limits memory` holds the
//! forecast of every method against what it took; `provi-limits stream FILE MIB` times passes over a file that is read block
//! by block.

mod cholesky;
mod clock;
mod draws;
mod exact;
mod gradient;
mod large;
mod library;
mod machine;
mod memory;
mod process;
mod products;
mod reflected;
mod steps;
mod stream;
mod table;

use clock::{Work, least};
use std::hint::black_box;
use std::process::ExitCode;
use table::Row;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let ["stream", file, mebibytes] = words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        return match stream::run(file, mebibytes) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::from(2)
            }
        };
    }
    let alone = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["large"] => Some(large::run()),
        ["memory"] => return memory::table(),
        ["memory-of", way] => Some(memory::of(way)),
        _ => None,
    };
    match alone {
        Some(Ok(())) => return ExitCode::SUCCESS,
        Some(Err(error)) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
        None => {}
    }
    let Ok(one) = rayon::ThreadPoolBuilder::new().num_threads(1).build() else {
        eprintln!("cannot start a thread");
        return ExitCode::from(2);
    };
    one.install(machine_line);
    table::head();
    let mut missed = 0;
    let mut show = |rows: Vec<Row>| {
        missed += rows.iter().filter(|row| row.is_missed()).count();
        rows.iter().for_each(table::print);
    };
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| word == name);
    if wanted("normals") {
        show(one.install(|| vec![steps::normals(0.5)]));
    }
    if wanted("prox") {
        for d in [20, 50, 100, 200, 500, 1000, 2000] {
            show(one.install(|| steps::prox(d, 1.5).into()));
        }
    }
    if wanted("proj") {
        for d in [50, 200] {
            show(one.install(|| steps::proj(d, 2.0)));
        }
    }
    if wanted("cholesky") {
        for d in [50, 200, 500, 1000] {
            show(one.install(|| cholesky::rows(d, 1.5)));
        }
    }
    if wanted("gradient") {
        show(one.install(|| gradient::rows(5.0)));
    }
    if wanted("exact") {
        show(one.install(|| exact::rows(2.0)));
    }
    if wanted("threads") {
        show(exact::threads(3.0));
    }
    if wanted("draws") {
        show(draws::rows(2.0));
    }
    if wanted("library") {
        show(one.install(|| library::row(2.0)).into_iter().collect());
    }
    if wanted("process") {
        show(process::row().into_iter().collect());
    }
    println!("\nbars missed: {missed}");
    ExitCode::from(u8::from(missed > 0))
}

/// The machine in a line: instruction set, bandwidth over 64 MB, multiply-adds.
fn machine_line() {
    let mut memory = vec![0.5; 8 << 20];
    let bytes = 8.0 * memory.len() as f64;
    let read =
        least(0.5, &mut [Box::new(|| _ = black_box(machine::read(black_box(&memory)))) as Work<'_>])[0];
    let other: Vec<f64> = {
        let sweep = || machine::sweep(black_box(&mut memory), 1.0 - 1e-12, 1e-12);
        let peak = || _ = black_box(machine::multiply_adds(black_box(0.9), 0.1));
        least(1.0, &mut [Box::new(sweep) as Work<'_>, Box::new(peak)])
    };
    println!(
        "{}: reads {:.1} GB/s, reads and writes {:.1} GB/s, multiply-adds {:.1} GFLOP/s\n",
        provi_kernels::instruction_set(),
        bytes / read,
        2.0 * bytes / other[0],
        2.0 * machine::MULTIPLY_ADDS / other[1]
    );
}
