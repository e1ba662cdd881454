//! A scan of files gives what a frame of their table in memory has.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use crate::parquet_writer::{Values, write};
use proptest::prelude::*;
use provi_table::{
    BadShards, BadValue, Budget, DesignRows, Error, Formula, FrameOptions, FrameRows, Learned, Learning,
    Missing, ModelFrame, Part, Result, Scan, Shards, Survey, Table, Warning,
};
use serde_json::Value;
use tempfile::TempDir;

const ROWS: usize = 301;

const HEADER: &str = "y,yes,k,n,f,x,z,b,town,clinic,w,e,big";

/// One row of everything; some cells are missing, and the town `Zug` is in the last row alone.
fn row(i: usize) -> Vec<String> {
    let h = |m: usize| (i * 7919 + 13) % m;
    let gap = |every: usize, text: String| if h(every) == 0 { String::new() } else { text };
    let town = if i == ROWS - 1 { "Zug" } else { ["Bern", "Basel", "Chur"][h(3)] };
    vec![
        (h(5) % 2).to_string(),
        ["no", "yes"][h(11) % 2].to_owned(),
        h(4).to_string(),
        (4 + h(3)).to_string(),
        h(6).to_string(),
        format!("{}", 1000.0 + (h(97) as f64).sin()),
        gap(29, format!("{}", h(41) as f64 / 8.0 - 2.0)),
        (h(7) < 3).to_string(),
        gap(31, town.to_owned()),
        (h(13) * 10 % 7).to_string(),
        format!("{}", h(3) as f64 / 2.0),
        format!("{}", 0.5 + h(17) as f64),
        if i == 200 { "9007199254740993".to_owned() } else { i.to_string() },
    ]
}

fn csv(rows: std::ops::Range<usize>) -> String {
    let rows: Vec<String> = rows.map(|i| row(i).join(",") + "\n").collect();
    format!("{HEADER}\n{}", rows.concat())
}

fn columns(rows: std::ops::Range<usize>) -> Vec<(&'static str, Values)> {
    let cells: Vec<Vec<String>> = rows.map(row).collect();
    let column = |(place, name): (usize, &'static str)| {
        let cell = |row: &Vec<String>| Some(row[place].clone()).filter(|text| !text.is_empty());
        let texts: Vec<Option<String>> = cells.iter().map(cell).collect();
        let read = |text: &Option<String>| text.as_ref().map(|text| text.parse().unwrap());
        let values = match name {
            "yes" | "town" => Values::Texts(texts),
            "b" => Values::Truths(texts.iter().map(|t| t.as_ref().map(|t| t == "true")).collect()),
            "x" | "z" | "w" | "e" => Values::Numbers(texts.iter().map(read).collect()),
            _ => Values::Integers(texts.iter().map(|t| t.as_ref().map(|t| t.parse().unwrap())).collect()),
        };
        (name, values)
    };
    HEADER.split(',').enumerate().map(column).collect()
}

/// Three files, the second of them short.
const CUTS: [std::ops::Range<usize>; 3] = [0..150, 150..160, 160..ROWS];

fn text_shards(folder: &Path) -> PathBuf {
    for (i, cut) in CUTS.into_iter().enumerate() {
        fs::write(folder.join(format!("part-{i}.csv")), csv(cut)).unwrap();
    }
    folder.join("part-*.csv")
}

fn zipped_shards(folder: &Path) -> PathBuf {
    for (i, cut) in CUTS.into_iter().enumerate() {
        let file = fs::File::create(folder.join(format!("{i}.csv.gz"))).unwrap();
        let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::default());
        encoder.write_all(csv(cut).as_bytes()).unwrap();
        encoder.finish().unwrap();
    }
    folder.to_owned()
}

fn parquet_shards(folder: &Path) -> PathBuf {
    for (i, cut) in CUTS.into_iter().enumerate() {
        write(&folder.join(format!("{i}.parquet")), &columns(cut), 100);
    }
    folder.to_owned()
}

fn options() -> FrameOptions {
    FrameOptions { missing: Missing::Drop, ..FrameOptions::default() }
}

/// (formula, options)
fn models() -> Vec<(&'static str, FrameOptions)> {
    let some = |name: &str| Some(name.to_owned());
    vec![
        ("y ~ x + log(e) + town", options()),
        ("yes ~ x * town + b", options()),
        ("yes ~ z", FrameOptions { references: vec![("yes".into(), "yes".into())], ..options() }),
        ("k | trials(n) ~ scale(x) + center(z) + b", options()),
        ("surv(e, b) ~ x + town", options()),
        ("interval(k, n) ~ x + town", options()),
        ("cbind(k, f) ~ 0 + town", FrameOptions { weights: some("w"), ..options() }),
        ("x ~ town:z + factor(clinic) + I(z^2)", FrameOptions { exposure: some("e"), ..options() }),
        ("y ~ x + (1 + z | clinic) + (1 | town:clinic)", options()),
        ("y ~ 0 + scale(log(e)):town + offset(z)", FrameOptions { offset: some("w"), ..options() }),
        ("y ~ . - yes + (0 + x || town)", FrameOptions { standardize: true, ..options() }),
        ("k ~ scale(x):z + town * b", FrameOptions { standardize: true, weights: some("w"), ..options() }),
        ("z ~ 1", options()),
    ]
}

fn learn(path: &Path, formula: &str, options: &FrameOptions, bytes: usize) -> Result<Scan> {
    Scan::learn(Shards::find(path)?, &Formula::parse(formula)?, options, Budget { bytes })
}

/// All blocks of some parts as one.
fn together(scan: &Scan, of: usize) -> FrameRows {
    let mut all: Option<FrameRows> = None;
    for rank in 0..of {
        scan.each::<Error>(Part { rank, of }, &mut |rows| {
            assert!(rows.design.rows <= scan.block_rows());
            match &mut all {
                None => all = Some(rows),
                Some(all) => append(all, rows),
            }
            Ok(())
        })
        .unwrap();
    }
    all.unwrap()
}

fn append(all: &mut FrameRows, rows: FrameRows) {
    all.design.rows += rows.design.rows;
    all.design.population.extend(rows.design.population);
    for (all, group) in all.design.groups.iter_mut().zip(rows.design.groups) {
        all.levels.extend(group.levels);
        all.values.extend(group.values);
    }
    all.response.extend(rows.response);
    all.lines.extend(rows.lines);
    fn both<T>(all: &mut Option<Vec<T>>, rows: Option<Vec<T>>) {
        match (all, rows) {
            (Some(all), Some(rows)) => all.extend(rows),
            (None, None) => {}
            _ => panic!("one block has what another has not"),
        }
    }
    both(&mut all.trials, rows.trials);
    both(&mut all.spans, rows.spans);
    both(&mut all.weights, rows.weights);
    both(&mut all.offsets, rows.offsets);
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-11 * (1.0 + a.abs())
}

fn close_values(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => close(a.as_f64().unwrap(), b.as_f64().unwrap()),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| close_values(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| close_values(a, b)))
        }
        _ => a == b,
    }
}

fn same_recipe(scan: &Scan, frame: &ModelFrame) -> bool {
    let json = |recipe| serde_json::to_value(recipe).unwrap();
    close_values(&json(scan.recipe()), &json(frame.recipe()))
}

fn assert_same_design(a: &DesignRows, b: &DesignRows) {
    assert_eq!((a.rows, a.columns, a.population_columns), (b.rows, b.columns, b.population_columns));
    let same = |a: &[f64], b: &[f64]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| close(*a, *b));
    assert!(same(&a.population, &b.population));
    assert_eq!(a.groups.len(), b.groups.len());
    for (a, b) in a.groups.iter().zip(&b.groups) {
        assert_eq!((a.first, a.columns, &a.levels), (b.first, b.columns, &b.levels));
        assert!(same(&a.values, &b.values));
    }
}

/// Warnings without the places that depend on how the rows are spread over files.
fn plain(warnings: &[Warning]) -> Vec<Warning> {
    let plain = |warning: &Warning| match warning.clone() {
        Warning::Inexact { column, count, found, .. } => {
            Warning::Inexact { column, count, file: None, line: 0, found }
        }
        other => other,
    };
    warnings.iter().map(plain).collect()
}

/// Levels of an ordered response are learned in the first pass, from numbers and from text, and rows are numbered as in memory.
#[test]
fn an_ordered_response_is_numbered_alike() {
    let folders = [TempDir::new().unwrap(), TempDir::new().unwrap()];
    let table = Table::read(csv(0..ROWS).as_bytes(), "whole.csv").unwrap();
    for path in [text_shards(folders[0].path()), parquet_shards(folders[1].path())] {
        for text in ["ordered(f) ~ x", "ordered(town, levels = c('Bern', 'Chur', 'Basel', 'Zug')) ~ z + f"] {
            let formula = Formula::parse(text).unwrap();
            let frame = ModelFrame::new(&table, &formula, &options()).unwrap();
            let scan = learn(&path, text, &options(), 1 << 20).unwrap();
            assert_eq!((together(&scan, 1).response, &scan.categories), (frame.response, &frame.categories));
        }
    }
}

fn assert_same(scan: &Scan, frame: &ModelFrame, of: usize) {
    assert!(same_recipe(scan, frame), "{}\n{:#?}\n{:#?}", frame.formula, scan.recipe(), frame.recipe());
    let rows = together(scan, of);
    assert_same_design(&rows.design, &frame.design);
    assert_eq!((&rows.response, &rows.trials), (&frame.response, &frame.trials));
    assert_eq!((&rows.spans, scan.has_events), (&frame.spans, frame.spans.is_some()));
    assert_eq!((&rows.weights, &rows.offsets), (&frame.weights, &frame.offsets));
    assert_eq!((&scan.names, &scan.roles, &scan.terms), (&frame.names, &frame.roles, &frame.terms));
    assert_eq!((&scan.groups, scan.rows, &scan.dropped), (&frame.groups, frame.rows, &frame.dropped));
    assert_eq!((&scan.response_name, &scan.response_levels), (&frame.response_name, &frame.response_levels));
    assert_eq!((scan.intercept, &scan.formula), (frame.intercept, &frame.formula));
    assert_eq!(plain(&scan.warnings), plain(&frame.warnings));
    let has = (scan.has_trials, scan.has_weights, scan.has_offsets);
    assert_eq!(has, (frame.trials.is_some(), frame.weights.is_some(), frame.offsets.is_some()));
    let ones = frame.response.iter().filter(|y| close(**y, 1.0)).count();
    assert_eq!(scan.response.ones, ones);
    let mean = frame.response.iter().sum::<f64>() / frame.rows as f64;
    let sd = (frame.response.iter().map(|y| (y - mean).powi(2)).sum::<f64>()
        / (frame.rows - 1).max(1) as f64)
        .sqrt();
    assert!(close(scan.response.mean, mean) && close(scan.response.sd, sd));
}

#[test]
fn the_blocks_of_any_files_in_any_budget_and_parts_are_the_frame_of_the_whole_table() {
    let table = Table::read(csv(0..ROWS).as_bytes(), "whole.csv").unwrap();
    let folders: Vec<TempDir> = (0..3).map(|_| TempDir::new().unwrap()).collect();
    let paths =
        [text_shards(folders[0].path()), zipped_shards(folders[1].path()), parquet_shards(folders[2].path())];
    for (formula, options) in models() {
        let frame = ModelFrame::new(&table, &Formula::parse(formula).unwrap(), &options).unwrap();
        for path in &paths {
            for (bytes, of) in [(1 << 15, 1), (1 << 16, 3), (1 << 25, 2)] {
                let scan = learn(path, formula, &options, bytes).unwrap();
                assert_same(&scan, &frame, of);
            }
        }
    }
}

#[test]
fn one_file_has_the_lines_and_the_digest_of_its_frame() {
    let folder = TempDir::new().unwrap();
    // A quoted line break, a blank line, a byte-order mark and other line ends.
    let mut text = csv(0..ROWS).replace("Bern", "\"Bern\n West\"").replace('\n', "\r\n");
    text = format!("\u{feff}{}\r\n{}", &text[..HEADER.len() + 2], &text[HEADER.len() + 2..]);
    let path = folder.path().join("one.csv");
    fs::write(&path, &text).unwrap();
    let table = Table::open(&path).unwrap();
    let formula = "y ~ x + town + big";
    let frame = ModelFrame::new(&table, &Formula::parse(formula).unwrap(), &options()).unwrap();
    for bytes in [1 << 14, 1 << 20] {
        let scan = learn(&path, formula, &options(), bytes).unwrap();
        let rows = together(&scan, 3);
        assert_eq!(rows.lines, (0..frame.rows).filter_map(|row| frame.line_of_row(row)).collect::<Vec<_>>());
        assert_eq!(rows.file, path.display().to_string());
        assert_eq!((scan.warnings.as_slice(), scan.warnings.len()), (frame.warnings.as_slice(), 1));
        assert_same(&scan, &frame, 2);
        assert_eq!(scan.sha256.len(), 64);
    }
}

/// Every part surveys itself; `merge` brings the surveys together.
fn learn_in_parts(
    path: &Path,
    formula: &str,
    options: &FrameOptions,
    of: usize,
    merge: &dyn Fn(Vec<Survey>) -> Survey,
) -> Scan {
    let formula = Formula::parse(formula).unwrap();
    let budget = Budget { bytes: 1 << 15 };
    let mut learning = Learning::new(Shards::find(path).unwrap(), &formula, options, budget).unwrap();
    loop {
        let surveys: Vec<Survey> =
            (0..of).map(|rank| learning.survey(Part { rank, of }).unwrap()).map(sent).collect();
        match learning.take(merge(surveys)).unwrap() {
            Learned::Further(next) => learning = next,
            Learned::Done(scan) => return *scan,
        }
    }
}

/// As it arrives in another process.
fn sent(survey: Survey) -> Survey {
    serde_json::from_str(&serde_json::to_string(&survey).unwrap()).unwrap()
}

#[test]
fn surveys_of_parts_merged_in_any_grouping_give_the_recipe_of_the_whole() {
    let table = Table::read(csv(0..ROWS).as_bytes(), "whole.csv").unwrap();
    let folders: Vec<TempDir> = (0..2).map(|_| TempDir::new().unwrap()).collect();
    let merge = |one: Survey, other: Survey| one.merge(other).unwrap();
    let left = move |surveys: Vec<Survey>| surveys.into_iter().reduce(merge).unwrap();
    let right = move |surveys: Vec<Survey>| surveys.into_iter().rev().reduce(merge).unwrap();
    let halves = move |mut surveys: Vec<Survey>| {
        let second = surveys.split_off(surveys.len() / 2);
        merge(right(surveys), left(second))
    };
    for path in [text_shards(folders[0].path()), parquet_shards(folders[1].path())] {
        for (formula, options) in models() {
            let frame = ModelFrame::new(&table, &Formula::parse(formula).unwrap(), &options).unwrap();
            let whole = learn(&path, formula, &options, 1 << 25).unwrap();
            let merges: [&dyn Fn(Vec<Survey>) -> Survey; 3] = [&left, &right, &halves];
            for (merge, of) in merges.into_iter().zip([2, 5, 4]) {
                let scan = learn_in_parts(&path, formula, &options, of, merge);
                assert!(same_recipe(&scan, &frame));
                assert_eq!(
                    (scan.sha256, scan.rows, scan.groups),
                    (whole.sha256.clone(), frame.rows, frame.groups.clone())
                );
            }
        }
    }
}

#[test]
fn surveys_that_do_not_belong_together_are_refused() {
    let folder = TempDir::new().unwrap();
    let path = parquet_shards(folder.path());
    let learning = |formula: &str| {
        let formula = Formula::parse(formula).unwrap();
        Learning::new(Shards::find(&path).unwrap(), &formula, &options(), Budget { bytes: 1 << 20 }).unwrap()
    };
    let half = Part { rank: 0, of: 2 };
    let (one, other) = (learning("y ~ x"), learning("y ~ x + town"));
    let merged = one.survey(half).unwrap().merge(other.survey(half).unwrap());
    assert!(matches!(merged, Err(Error::Shards(BadShards::Survey { .. }))));
    let survey = one.survey(half).unwrap();
    let said = one.take(survey).unwrap_err().to_string();
    assert!(said.contains("they cover 150 of 301 rows"), "{said}");
}

#[test]
fn threads_may_share_a_scan() {
    fn shared<T: Send + Sync>() {}
    shared::<Scan>();
    shared::<Learning>();
    shared::<Survey>();
}

#[test]
fn the_visitor_may_stop_and_its_error_comes_back() {
    #[derive(Debug, PartialEq)]
    enum Mine {
        Enough(usize),
        Table(Error),
    }
    impl From<Error> for Mine {
        fn from(error: Error) -> Self {
            Self::Table(error)
        }
    }
    let folder = TempDir::new().unwrap();
    let scan = learn(&parquet_shards(folder.path()), "y ~ x", &options(), 1 << 13).unwrap();
    let mut blocks = 0;
    let outcome = scan.each(Part::WHOLE, &mut |_| {
        blocks += 1;
        if blocks == 3 { Err(Mine::Enough(blocks)) } else { Ok(()) }
    });
    assert_eq!((outcome, blocks), (Err(Mine::Enough(3)), 3));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Cells of every kind, cut into two files anywhere: what they are taken for does not depend on the cut.
    #[test]
    fn a_column_is_taken_for_the_same_wherever_it_is_cut(
        cells in prop::collection::vec(0usize..14, 2..12),
        kinds in prop::collection::vec(0usize..14, 1..4),
        cut in 0usize..12,
        separator in prop::sample::select(vec![',', ';']),
        formula in prop::sample::select(vec!["y ~ c", "y ~ factor(c)", "y ~ .", "c ~ y", "y ~ log(c)", "y ~ (1 | c)"]),
        missing in prop::sample::select(vec![Missing::Drop, Missing::Error]),
    ) {
        let pool = [
            "1", "2.5", "-3", "\"1,5\"", "\"1,500\"", "", "NA", "true", "False", "red", "2024-01-31", "inf", "9007199254740993", "1e3",
        ];
        // A few kinds of cells in each column, so that many columns are of one kind.
        let cells: Vec<&str> = cells.iter().map(|cell| pool[kinds[cell % kinds.len()]]).collect();
        let rows: Vec<String> =
            cells.iter().enumerate().map(|(i, cell)| format!("{}{separator}{cell}\n", i % 2)).collect();
        let header = format!("y{separator}c\n");
        let cut = cut.min(rows.len());
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("a.csv"), format!("{header}{}", rows[..cut].concat())).unwrap();
        fs::write(folder.path().join("b.csv"), format!("{header}{}", rows[cut..].concat())).unwrap();
        let options = FrameOptions { missing, ..FrameOptions::default() };
        let parsed = Formula::parse(formula).unwrap();
        let table = Table::read(format!("{header}{}", rows.concat()).as_bytes(), "whole.csv").unwrap();
        let scan = learn(folder.path(), formula, &options, 1 << 20);
        match (ModelFrame::new(&table, &parsed, &options), scan) {
            (Ok(frame), Ok(scan)) => assert_same(&scan, &frame, 2),
            // Of two faults, a frame finds that of the whole column first, and a scan that of the first block; gaps
            // are counted to the end.
            (Err(Error::Value(BadValue::MissingValue { .. })), Err(_)) => {}
            (Err(Error::Value(BadValue::InfiniteValue { .. })), Err(Error::Value(BadValue::NotFinite { .. }))) => {}
            (Err(one), Err(other)) => {
                prop_assert_eq!(std::mem::discriminant(&one), std::mem::discriminant(&other), "{} / {}", one, other);
                prop_assert_eq!(one.span(), other.span());
            }
            (frame, scan) => prop_assert!(false, "{:?} / {:?}", frame.map(|f| f.names), scan.map(|s| s.names)),
        }
    }
}

/// Enough rows for threads to be started, with nulls, whole numbers, texts and arithmetic, in two files of several row groups.
fn wide_shards(folder: &Path, rows: usize, infinite: Option<usize>) -> PathBuf {
    let number = |i: usize, m: usize| 1.0 + ((i * 7919) % m) as f64 / 7.0;
    for (part, first) in [0, rows].into_iter().enumerate() {
        let rows = first..first + rows;
        let numbers = |m: usize, gap: usize| {
            let value = |i: usize| match infinite {
                Some(row) if row == i && gap == 0 => f64::INFINITY,
                _ => number(i, m),
            };
            Values::Numbers(rows.clone().map(|i| (gap == 0 || i % gap > 0).then(|| value(i))).collect())
        };
        let texts = rows.clone().map(|i| Some(["u", "v", "w"][i % 3].to_owned())).collect();
        let columns = [
            ("y", Values::Integers(rows.clone().map(|i| Some((i % 2) as i64)).collect())),
            ("a", numbers(101, 0)),
            ("b", numbers(103, 97)),
            ("c", numbers(107, 0)),
            ("t", Values::Texts(texts)),
            ("g", Values::Integers(rows.clone().map(|i| Some((i % 50) as i64)).collect())),
        ];
        write(&folder.join(format!("part-{part}.parquet")), &columns, 23_000);
    }
    folder.join("part-*.parquet")
}

#[test]
fn blocks_are_the_same_for_any_number_of_threads() {
    let folder = TempDir::new().unwrap();
    let path = wide_shards(folder.path(), 40_000, None);
    let formula = Formula::parse("y ~ a + b + log(c) + a:t + t + (1 + b | g)").unwrap();
    let options = FrameOptions { standardize: true, missing: Missing::Drop, ..FrameOptions::default() };
    let read = |threads: usize| {
        let shards = Shards::find(&path).unwrap().with_threads(threads);
        let scan = Scan::learn(shards, &formula, &options, Budget { bytes: 16 << 20 }).unwrap();
        let mut blocks: Vec<FrameRows> = Vec::new();
        let visited: Result<()> = scan.each(Part { rank: 1, of: 3 }, &mut |block| {
            blocks.push(block);
            Ok(())
        });
        visited.unwrap();
        (scan.sha256.clone(), scan.recipe().clone(), scan.response, blocks)
    };
    let one = read(1);
    // Some blocks are large enough for several threads.
    assert!(one.3.iter().any(|block| block.design.population.len() >= 1 << 16));
    for threads in [2, 5] {
        assert_eq!(read(threads), one);
    }
}

#[test]
fn a_bad_value_is_named_alike_by_any_number_of_threads() {
    let folder = TempDir::new().unwrap();
    let path = wide_shards(folder.path(), 40_000, Some(55_555));
    let formula = Formula::parse("y ~ a + log(c)").unwrap();
    let refused = |threads: usize| {
        let shards = Shards::find(&path).unwrap().with_threads(threads);
        Scan::learn(shards, &formula, &FrameOptions::default(), Budget { bytes: 16 << 20 }).unwrap_err()
    };
    let one = refused(1);
    assert!(one.to_string().contains("part-1.parquet") && one.to_string().contains("15556"), "{one}");
    assert_eq!(refused(4), one);
}
