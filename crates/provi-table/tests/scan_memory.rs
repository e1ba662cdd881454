//! A scan stays within its budget, counted by the allocator.

#[allow(dead_code)] // other tests write other kinds of columns
#[path = "support/parquet_writer.rs"]
mod parquet_writer;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    fs,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
};

use parquet_writer::{Values, write};
use provi_table::{Budget, Error, Formula, FrameOptions, FrameRows, ModelFrame, Part, Scan, Shards, Table};

/// The system's allocator, with the bytes in use and the most there were.
struct Counting;

static USED: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is handed on to the system's allocator as it came; the counters do not touch the memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        MOST.fetch_max(USED.fetch_add(layout.size(), SeqCst) + layout.size(), SeqCst);
        // SAFETY: the caller's layout, as it came.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), SeqCst);
        // SAFETY: `at` came from `alloc` above, with this layout.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The most bytes in use while something runs, beyond those in use before.
fn most_bytes<T>(run: impl FnOnce() -> T) -> (usize, T) {
    let before = USED.load(SeqCst);
    MOST.store(before, SeqCst);
    let value = run();
    (MOST.load(SeqCst).saturating_sub(before), value)
}

const ROWS: usize = 40_000;
const FORMULA: &str = "y ~ a + b + log(c) + a:t + t + (1 + b | g)";

fn number(i: usize, m: usize) -> f64 {
    1.0 + ((i * 7919) % m) as f64 / 7.0
}

fn write_csv(path: &Path) {
    let row = |i: usize| {
        let (a, b, c) = (number(i, 101), number(i, 103), number(i, 107));
        format!("{},{a},{b},{c},{},{}\n", i % 2, ["u", "v", "w"][i % 3], i % 50)
    };
    fs::write(path, format!("y,a,b,c,t,g\n{}", (0..ROWS).map(row).collect::<String>())).unwrap();
}

fn write_parquet(path: &Path) {
    let numbers = |m: usize| Values::Numbers((0..ROWS).map(|i| Some(number(i, m))).collect());
    let texts = (0..ROWS).map(|i| Some(["u", "v", "w"][i % 3].to_owned())).collect();
    let columns = [
        ("y", Values::Integers((0..ROWS).map(|i| Some((i % 2) as i64)).collect())),
        ("a", numbers(101)),
        ("b", numbers(103)),
        ("c", numbers(107)),
        ("t", Values::Texts(texts)),
        ("g", Values::Integers((0..ROWS).map(|i| Some((i % 50) as i64)).collect())),
    ];
    // One row group: a block is smaller than that.
    write(path, &columns, ROWS);
}

fn bytes(rows: &FrameRows) -> usize {
    let groups = rows.design.groups.iter().map(|g| 16 * g.levels.len() + 8 * g.values.len());
    let others = [&rows.trials, &rows.weights, &rows.offsets].map(|v| v.as_ref().map_or(0, Vec::len));
    let numbers = rows.design.population.len() + rows.response.len() + rows.lines.len();
    8 * (numbers + others.iter().sum::<usize>()) + groups.sum::<usize>()
}

/// What the budget leaves out: buffers, pages of a few rows, the recipe.
const BESIDE: usize = 3 << 19;

#[test]
fn learning_and_visiting_take_no_more_than_the_budget_and_what_it_leaves_out() {
    let folder = tempfile::TempDir::new().unwrap();
    let (csv, parquet) = (folder.path().join("a.csv"), folder.path().join("a.parquet"));
    write_csv(&csv);
    write_parquet(&parquet);
    let formula = Formula::parse(FORMULA).unwrap();
    for path in [csv, parquet] {
        for budget in [1 << 17, 1 << 19, 1 << 21] {
            let options = FrameOptions { standardize: true, ..FrameOptions::default() };
            let (most, scan) = most_bytes(|| {
                let shards = Shards::find(&path).unwrap();
                Scan::learn(shards, &formula, &options, Budget { bytes: budget }).unwrap()
            });
            assert!(most <= budget + BESIDE, "learning took {most} of {budget} bytes");
            let (mut rows, mut largest) = (0, 0);
            let (most, visited) = most_bytes(|| {
                scan.each::<Error>(Part::WHOLE, &mut |block| {
                    rows += block.design.rows;
                    largest = largest.max(bytes(&block));
                    Ok(())
                })
            });
            visited.unwrap();
            assert!(most <= budget + BESIDE, "a pass took {most} of {budget} bytes");
            assert!(3 * largest <= budget, "blocks of {largest} bytes in {budget}");
            // Nor does it waste what it was given.
            assert!(8 * largest >= budget, "blocks of {largest} bytes in {budget}");
            assert_eq!(rows, ROWS);
        }
        // The count is worth something: a frame in memory takes more than any of these budgets.
        let (most, frame) = most_bytes(|| {
            ModelFrame::new(&Table::open(&path).unwrap(), &formula, &FrameOptions::default()).unwrap()
        });
        assert!(most > (1 << 21) + BESIDE, "{most}");
        assert_eq!(frame.rows, ROWS);
    }
}
