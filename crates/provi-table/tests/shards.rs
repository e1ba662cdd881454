//! Which files are found, and with which words bad ones are refused.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use crate::parquet_writer::{Values, write};
use parquet::file::reader::{FileReader, SerializedFileReader};
use provi_table::{
    BadFile, BadFormula, BadModel, BadShards, BadValue, Budget, Error, Formula, FrameOptions, Learned,
    Learning, Missing, ModelFrame, Part, Result, Scan, Shards, Table, UnfitColumn,
};
use tempfile::TempDir;

const BUDGET: Budget = Budget { bytes: 1 << 20 };

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn learn(path: &Path, formula: &str, missing: Missing) -> Result<Scan> {
    let options = FrameOptions { missing, ..FrameOptions::default() };
    Scan::learn(Shards::find(path)?, &Formula::parse(formula)?, &options, BUDGET)
}

/// The refusal's words, with the folder's own path cut out.
fn said(folder: &TempDir, formula: &str) -> String {
    let error = learn(folder.path(), formula, Missing::Error).unwrap_err().to_string();
    let own = folder.path().display().to_string();
    error.replace(&format!("{own}/"), "").replace(&own, "folder")
}

fn zipped(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn numbers(values: &[f64]) -> Values {
    Values::Numbers(values.iter().copied().map(Some).collect())
}

fn texts(values: &[&str]) -> Values {
    Values::Texts(values.iter().map(|text| Some((*text).to_owned())).collect())
}

#[test]
fn a_folder_and_a_pattern_stand_for_their_tables_in_the_order_of_their_names() {
    let table = "y,x\n1,2\n0,3\n";
    let folder = folder(&[
        ("b.csv", table),
        ("a.TSV", "x\ty\n4\t1\n"),
        ("_SUCCESS", ""),
        ("_metadata.csv", "nothing"),
        (".a.csv.crc", "nothing"),
        (".hidden.csv", "nothing"),
        ("notes.md", "nothing"),
        ("c10.csv", table),
        ("c2.csv", table),
    ]);
    fs::write(folder.path().join("d.csv.gz"), zipped(table)).unwrap();
    fs::create_dir(folder.path().join("e.csv")).unwrap();
    let names = |path: PathBuf| -> Result<Vec<String>> {
        let shards = Shards::find(path)?;
        Ok(shards.files().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect())
    };
    let own = folder.path();
    assert_eq!(names(own.to_owned()).unwrap(), ["a.TSV", "b.csv", "c10.csv", "c2.csv", "d.csv.gz"]);
    assert_eq!(names(own.join("c*.csv")).unwrap(), ["c10.csv", "c2.csv"]);
    assert_eq!(names(own.join("c?.csv")).unwrap(), ["c2.csv"]);
    assert_eq!(names(own.join("b.csv")).unwrap(), ["b.csv"]);
    // Columns are found by name: the first file has them in another order.
    let scan = learn(own, "y ~ x", Missing::Error).unwrap();
    assert_eq!((scan.rows, scan.names.as_slice()), (9, &["(Intercept)".to_owned(), "x".to_owned()][..]));
    assert!(scan.sha256.starts_with("shards:"));
}

#[test]
fn what_is_not_there_is_said() {
    let empty = folder(&[("notes.md", "")]);
    let find = |path: PathBuf| Shards::find(path).unwrap_err();
    assert!(matches!(find(empty.path().to_owned()), Error::Shards(BadShards::None { directory: true, .. })));
    assert!(matches!(
        find(empty.path().join("*.csv")),
        Error::Shards(BadShards::None { directory: false, .. })
    ));
    assert!(matches!(find(empty.path().join("a.csv")), Error::File(BadFile::NotFound { .. })));
    assert!(matches!(find(empty.path().join("nowhere/*.csv")), Error::File(BadFile::NotFound { .. })));
    let three = folder(&[("a.csv", "y,x\n1,2\n")]);
    assert_eq!(
        said(&three, "y ~ xx"),
        "no column `xx` in `folder`; did you mean `x`? its columns are `y`, `x`"
    );
}

#[test]
fn files_that_are_no_one_table_are_refused_by_name() {
    let first = ("a.csv", "y,x\n1,2\n0,3\n");
    for (second, expected) in [
        ("y\n1\n", "`b.csv` has no column `x`, where `a.csv` has a column `x`"),
        ("y,x,z\n1,2,3\n", "`b.csv` has a column `z`, where `a.csv` has no column `z`"),
        ("y,x,x\n1,2,3\n", "`b.csv` has two columns named `x`, number 2 and number 3; rename one"),
        ("", "`b.csv` is empty; a header line of column names and at least one row are needed"),
        (
            "PK\u{3}\u{4}",
            "`b.csv` is a zip archive or a spreadsheet; save the sheet as CSV, or unpack the archive",
        ),
    ] {
        let said = said(&folder(&[first, ("b.csv", second)]), "y ~ x");
        assert!(said.starts_with(expected), "{said}");
    }
    let mixed = folder(&[first]);
    write(&mixed.path().join("b.parquet"), &[("y", numbers(&[1.0])), ("x", numbers(&[2.0]))], 10);
    let said_mixed = said(&mixed, "y ~ x");
    assert!(said_mixed.starts_with("`b.parquet` is a Parquet file, where `a.csv` is text"), "{said_mixed}");
    let typed = folder(&[]);
    write(&typed.path().join("a.parquet"), &[("y", numbers(&[1.0])), ("x", numbers(&[2.0]))], 10);
    write(&typed.path().join("b.parquet"), &[("y", numbers(&[1.0])), ("x", texts(&["two"]))], 10);
    let said_typed = said(&typed, "y ~ x");
    let expected = "`b.parquet` has text in column `x`, where `a.parquet` has numbers in column `x`";
    assert!(said_typed.starts_with(expected), "{said_typed}");
}

#[test]
fn what_is_wrong_with_a_cell_is_said_with_its_file_and_line() {
    let first = ("a.csv", "y,x\n1,2\n0,3\n");
    for (second, formula, expected) in [
        (
            "y,x\n1,2\n0,3O\n",
            "y ~ x",
            "column `x` of `b.csv` is text because of `3O` on line 3, where 3 other value(s) are numbers",
        ),
        ("y,x\n1,2\n0,3O\n", "y ~ log(x)", "column `x` of `b.csv` holds text, `3O` on line 3"),
        ("y,x\n1,2\n0,-1\n", "y ~ log(x)", "`log(x)` is NaN on line 3 of `b.csv`, where x is -1"),
        ("y,x\n1,2\n0,inf\n", "y ~ x", "column `x` of `b.csv` has an infinite value, `inf` on line 3"),
        (
            "y,x\n1,2\n0,\n,NA\n",
            "y ~ x",
            "column `y` of `b.csv` has 1 missing value(s), the first an empty field on line 4",
        ),
        ("y,x\n1,2\n0\n", "y ~ x", "the last row of `b.csv`, line 3, stops after 1 of 2 fields"),
        ("y,x\n1,\"2\n0,3\n", "y ~ x", "the quote opened on line 2 of `b.csv` is not closed"),
        ("y,x\n1,2\n-1,2\n", "y | trials(1) ~ x", "successes column `y` of `b.csv` is -1 on line 3"),
        ("y,x\n", "y ~ z", "no column `z` in `folder`"),
    ] {
        let said = said(&folder(&[first, ("b.csv", second)]), formula);
        assert!(said.starts_with(expected), "{said}");
    }
    let latin = folder(&[first]);
    fs::write(latin.path().join("b.csv"), b"y,x\n1,2\n0,\xE8\n").unwrap();
    assert!(said(&latin, "y ~ x").starts_with("`b.csv` is not UTF-8: line 3, character 3 is the byte 0xE8"));
    let cut = folder(&[]);
    let bytes = zipped(&"y,x\n1,2\n0,3\n".repeat(200));
    fs::write(cut.path().join("a.csv.gz"), &bytes[..bytes.len() - 12]).unwrap();
    assert!(said(&cut, "y ~ x").starts_with("the gzip data of `a.csv.gz` end too soon"));
}

#[test]
fn an_open_quote_does_not_swallow_a_file_larger_than_memory() {
    let text = format!("y,x\n1,2\n0,\"{}", "3\n0,4\n".repeat(3 << 20));
    assert_eq!(
        said(&folder(&[("a.csv", &text)]), "y ~ x"),
        "the record that starts on line 3 of `a.csv` is longer than 16 MiB; a quote is not closed there, or the lines are \
         no rows"
    );
}

#[test]
fn facts_of_all_files_together_are_refused_as_of_one_table() {
    let expect = |files: &[(&str, &str)], formula: &str, expected: &str| {
        let said = said(&folder(files), formula);
        assert!(said.starts_with(expected), "{said}");
    };
    let (a, b) = (("a.csv", "y,x,t\n1,7,u\n0,7,u\n"), ("b.csv", "y,x,t\n1,7,u\n"));
    expect(&[a, b], "y ~ x", "column `x` of `folder` is 7 in every row");
    expect(&[a, b], "y ~ t", "column `t` of `folder` is `u` in every row used");
    expect(&[a, b], "y ~ scale(x)", "`scale(x)` needs more than 1 distinct values and has 1");
    expect(
        &[("a.csv", "y,x\n"), ("b.csv", "y,x\n")],
        "y ~ x",
        "`folder` has a header of 2 column(s) and no rows",
    );
    expect(
        &[("a.csv", "y,x\n1,\n"), ("b.csv", "y,x\n0,NA\n")],
        "y ~ x",
        "column `x` of `folder` has no value",
    );
    expect(
        &[("a.csv", "y,x\n1,\n"), ("b.csv", "y,x\n0,NA\n")],
        "y ~ .",
        "`.` takes in column `x` of `folder`",
    );
    let gaps = folder(&[("a.csv", "y,x\n1,\n"), ("b.csv", "y,x\n,2\n")]);
    let error = learn(gaps.path(), "y ~ x", Missing::Drop).unwrap_err();
    assert!(
        matches!(error, Error::Model(BadModel::NoRowsLeft { rows: 2, columns, .. }) if columns.len() == 2)
    );
    let weights = FrameOptions { weights: Some("x".into()), ..FrameOptions::default() };
    let zeros = folder(&[("a.csv", "y,x\n"), ("b.csv", "y,x\n1,0\n0,0\n")]);
    let formula = Formula::parse("y ~ 1").unwrap();
    let error = Scan::learn(Shards::find(zeros.path()).unwrap(), &formula, &weights, BUDGET).unwrap_err();
    assert!(
        matches!(error, Error::Value(BadValue::OutOfRange { line: 2, table, .. }) if table.ends_with("b.csv"))
    );
}

#[test]
fn empty_shards_and_levels_of_the_last_one_are_part_of_the_table() {
    let csv = folder(&[("a.csv", "y,t\n"), ("b.csv", "y,t\n1,u\n0,v\n"), ("c.csv", "y,t\n1,a\n")]);
    let binary = folder(&[]);
    for (name, y, t) in [
        ("a.parquet", &[][..], &[][..]),
        ("b.parquet", &[1.0, 0.0], &["u", "v"]),
        ("c.parquet", &[1.0], &["a"]),
    ] {
        write(&binary.path().join(name), &[("y", numbers(y)), ("t", texts(t))], 10);
    }
    let table = Table::read(b"y,t\n1,u\n0,v\n1,a\n", "t").unwrap();
    let frame = ModelFrame::new(&table, &Formula::parse("y ~ t").unwrap(), &FrameOptions::default()).unwrap();
    for folder in [csv, binary] {
        let scan = learn(folder.path(), "y ~ t", Missing::Error).unwrap();
        assert_eq!((&scan.names, scan.recipe()), (&frame.names, frame.recipe()));
    }
}

#[test]
fn a_column_of_nulls_in_one_parquet_file_is_missing_there() {
    let folder = folder(&[]);
    write(&folder.path().join("a.parquet"), &[("y", numbers(&[1.0, 0.0])), ("t", texts(&["u", "v"]))], 10);
    let nothing = Values::Texts(vec![None]);
    write(&folder.path().join("b.parquet"), &[("y", numbers(&[1.0])), ("t", nothing)], 10);
    let scan = learn(folder.path(), "y ~ t", Missing::Drop).unwrap();
    assert_eq!((scan.rows, scan.dropped.columns), (2, vec![("t".to_owned(), 1)]));
    let alone = Shards::find(folder.path().join("b.parquet")).unwrap();
    let formula = Formula::parse("y ~ .").unwrap();
    let error = Scan::learn(alone, &formula, &FrameOptions::default(), BUDGET).unwrap_err();
    assert!(matches!(error, Error::Formula(BadFormula::UselessUnderDot { dates: false, .. })));
}

#[test]
fn bases_that_need_whole_columns_are_refused_where_they_stand() {
    let folder = folder(&[("a.csv", "y,x,g\n1,2,a\n0,3,b\n")]);
    for (formula, at) in
        [("y ~ x + poly(x, 2)", 8), ("y ~ bs(log(x), 4)", 4), ("y ~ (0 + poly(x, 2) | g)", 4)]
    {
        let error = learn(folder.path(), formula, Missing::Error).unwrap_err();
        assert!(matches!(error, Error::Column(UnfitColumn::WholeColumn { .. })), "{error}");
        assert_eq!(error.span().unwrap().start, at, "{formula}");
        assert!(error.to_string().contains("compute its columns beforehand"));
    }
}

#[test]
fn damage_to_a_parquet_file_is_named_by_row_group_and_column() {
    let folder = folder(&[]);
    let path = folder.path().join("a.parquet");
    let values: Vec<f64> = (0..400).map(|i| f64::from(i).sin()).collect();
    write(&path, &[("y", numbers(&values)), ("x", numbers(&values)), ("unused", numbers(&values))], 100);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 9]).unwrap();
    assert!(said(&folder, "y ~ x").starts_with("the Parquet data of `a.parquet` end too soon"));
    fs::write(&path, &whole).unwrap();
    let reader = SerializedFileReader::new(fs::File::open(&path).unwrap()).unwrap();
    let (start, length) = reader.metadata().row_group(2).column(1).byte_range();
    let mut bytes = whole;
    bytes[start as usize..(start + length) as usize].fill(0xFF);
    fs::write(&path, &bytes).unwrap();
    let said = said(&folder, "y ~ x");
    let expected = "row group 2 (counted from 0) of `a.parquet` is damaged in column `x`: ";
    assert!(said.starts_with(expected), "{said}");
}

#[test]
fn a_file_that_changes_between_two_passes_is_refused_by_name() {
    let rows: String = (0..100).map(|i| format!("{},{i}\n", i % 2)).collect();
    let folder = folder(&[("a.csv", &format!("y,x\n{rows}"))]);
    let path = folder.path().join("a.csv");
    let scan = learn(&path, "y ~ x", Missing::Error).unwrap();
    fs::write(&path, format!("y,x\n{rows}1,5\n")).unwrap();
    let error = scan.each::<Error>(Part::WHOLE, &mut |_| Ok(())).unwrap_err();
    assert_eq!(error, Error::Shards(BadShards::Changed { table: path.display().to_string() }));
    // The same size and another time.
    fs::write(&path, format!("y,x\n{rows}")).unwrap();
    let formula = Formula::parse("y ~ x").unwrap();
    let shards = Shards::find(&path).unwrap();
    let learning = Learning::new(shards, &formula, &FrameOptions::default(), BUDGET).unwrap();
    let survey = learning.survey(Part::WHOLE).unwrap();
    let Learned::Further(learning) = learning.take(survey).unwrap() else { panic!() };
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    assert!(matches!(learning.survey(Part::WHOLE), Err(Error::Shards(BadShards::Changed { .. }))));
}

#[test]
fn memory_that_holds_no_block_and_levels_that_fill_it_are_refused() {
    let rows: String = (0..2000).map(|i| format!("{},level-{i}\n", i % 2)).collect();
    let folder = folder(&[("a.csv", &format!("y,t\n{rows}"))]);
    let within = |bytes: usize| {
        let shards = Shards::find(folder.path()).unwrap();
        Scan::learn(
            shards,
            &Formula::parse("y ~ (1 | t)").unwrap(),
            &FrameOptions::default(),
            Budget { bytes },
        )
    };
    assert!(
        matches!(within(1000), Err(Error::Shards(BadShards::Budget { bytes: 1000, needed })) if needed > 1000)
    );
    assert!(matches!(within(1 << 17), Err(Error::Shards(BadShards::Levels { column, .. })) if column == "t"));
    assert_eq!(within(1 << 22).unwrap().groups[0].levels.len(), 2000);
}

#[test]
fn a_part_of_a_long_text_file_starts_at_its_row() {
    const ROWS: usize = 140_000;
    let row =
        |i: usize| if i.is_multiple_of(1000) { format!("1,\"{i}\"\r\n\r\n") } else { format!("0,{i}\r\n") };
    let text = format!("\u{feff}y,x\r\n{}", (0..ROWS).map(row).collect::<String>());
    let folder = folder(&[("a.csv", &text)]);
    fs::write(folder.path().join("b.csv.gz"), zipped(&text)).unwrap();
    for name in ["a.csv", "b.csv.gz"] {
        let scan = learn(&folder.path().join(name), "y ~ x", Missing::Error).unwrap();
        for rank in 0..3 {
            let part = Part { rank, of: 3 };
            let mut row = part.rows(ROWS).start;
            scan.each::<Error>(part, &mut |rows| {
                for i in 0..rows.design.rows {
                    let x = rows.design.population_row(i)[1];
                    assert!((x - row as f64).abs() < 0.5, "{x} {row}");
                    assert_eq!(rows.lines[i], row + 2 + row.div_ceil(1000));
                    row += 1;
                }
                Ok(())
            })
            .unwrap();
            assert_eq!(row, part.rows(ROWS).end);
        }
    }
}
