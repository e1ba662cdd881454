//! Nasty inputs, each with the words it is refused with.

use std::{fs, io::Write};

use provi_table::{BadFile, Error, Formula, FrameOptions, Missing, ModelFrame, Table};

fn said(bytes: &[u8], formula: &str, options: &FrameOptions) -> String {
    let read = || ModelFrame::new(&Table::read(bytes, "t.csv")?, &Formula::parse(formula)?, options);
    match read() {
        Ok(frame) => format!("fine: {}", frame.formula),
        Err(error) => error.to_string(),
    }
}

fn data(name: &str) -> Vec<u8> {
    fs::read(format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn zipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// (bytes, formula, message)
const CORPUS: &[(&[u8], &str, &str)] = &[
    (b"", "y ~ x", "`t.csv` is empty; a header line of column names and at least one row are needed"),
    (b"\n\n", "y ~ x", "`t.csv` is empty; a header line of column names and at least one row are needed"),
    (b"y,x\n", "y ~ x", "`t.csv` has a header of 2 column(s) and no rows; at least one row is needed"),
    (
        b"y;x\n1;2\n1;2;3\n4;5\n",
        "y ~ x",
        "line 3 of `t.csv` has 3 field(s) where the header has 2; put a value that holds a semicolon in quotes",
    ),
    (
        b"y,x\n1,2\n1",
        "y ~ x",
        "the last row of `t.csv`, line 3, stops after 1 of 2 fields, before column 2; the file looks cut off: \
         fetch it again, or delete that row",
    ),
    (
        b"y,x\n1,\"2\n",
        "y ~ x",
        "the quote opened on line 2 of `t.csv` is not closed by the end of the file; the file is cut off there, \
         or a quote is missing",
    ),
    (b"y,x,y\n1,2,3\n", "y ~ x", "`t.csv` has two columns named `y`, number 1 and number 3; rename one"),
    (b"\xEF\xBB\xBFy,x\n1,2\n0,3\n", "y ~ x", "fine: y ~ x"),
    (
        b"y,town\n1,Gen\xE8ve\n",
        "y ~ town",
        "`t.csv` is not UTF-8: line 2, character 6 is the byte 0xE8, which Latin-1 reads as 'è'; save the file \
         as UTF-8, or convert it: iconv -f latin1 -t utf8",
    ),
    (b"\xFF\xFEy\0,\0x\0", "y ~ x", "`t.csv` is text in UTF-16; save the file as UTF-8"),
    (
        b"PK\x03\x04abc",
        "y ~ x",
        "`t.csv` is a zip archive or a spreadsheet; save the sheet as CSV, or unpack the archive",
    ),
    (
        b"y,x\n1,2\n0,inf\n",
        "y ~ x",
        "column `x` of `t.csv` has an infinite value, `inf` on line 3; every value must be finite: correct it, \
         or delete that row",
    ),
    (
        b"y,x\n1,2\n0,NaN\n",
        "y ~ x",
        "column `x` of `t.csv` has 1 missing value(s), the first `NaN` on line 3; fill them in, or ask for rows \
         with missing values to be dropped",
    ),
    (
        b"y,x\n1,2\n0,\n",
        "y ~ x",
        "column `x` of `t.csv` has 1 missing value(s), the first an empty field on line 3; fill them in, or ask \
         for rows with missing values to be dropped",
    ),
    (b"y,x\n1,\n0,NA\n", "y ~ x", "column `x` of `t.csv` has no value in any row; leave it out"),
    (
        b"y,x,n\n1,2,\n0,3,NA\n",
        "y ~ .",
        "`.` takes in column `n` of `t.csv`, which has no value in any row; take it out: `. - n`",
    ),
    (
        b"y,k\n1,7\n0,7\n",
        "y ~ k",
        "column `k` of `t.csv` is 7 in every row, which repeats the intercept; leave the column out, or the \
         intercept with `0 +`",
    ),
    (b"y,k\n1,7\n0,7\n", "y ~ 0 + k", "fine: y ~ 0 + k"),
    (
        b"y,town\n1,Bern\n0,Bern\n",
        "y ~ town",
        "column `town` of `t.csv` is `Bern` in every row used, so it adds no information; leave it out",
    ),
    (b"y,a,b\n1,1,2\n0,2,4\n", "y ~ a + b", "fine: y ~ a + b"),
    (
        b"y,x\n1,2\n",
        "y ~ x",
        "column `x` of `t.csv` is 2 in every row, which repeats the intercept; leave the column out, or the \
         intercept with `0 +`",
    ),
    (b"y,x\n1,2\n", "y ~ 1", "fine: y ~ 1"),
    (b"y,x\n1,99999999999999999999\n0,2\n", "y ~ x", "fine: y ~ x"),
    (
        b"y,x\n1,1\n0,2\n1,3O\n",
        "y ~ x",
        "column `x` of `t.csv` is text because of `3O` on line 4, where 2 other value(s) are numbers; correct it, \
         mark it as missing (NA, or --na '3O'), or take the column as categories: factor(x)",
    ),
    (b"y,x\n1,1\n0,2\n1,3O\n", "y ~ factor(x)", "fine: y ~ factor(x)"),
    (b"y,day\n1,31.01.2024\n0,01.02.2024\n", "y ~ day", "fine: y ~ day"),
    (
        b"y,day\n1,1/2/2024\n0,2/2/2024\n",
        "y ~ log(day)",
        "column `day` of `t.csv` holds dates such as `1/2/2024` on line 2, in which day and month cannot be told apart \
         in every row; write them as 2024-01-31, or take the column as categories: factor(day)",
    ),
    (
        b"y,x,the day\n1,2,2024-01-31\n0,3,2024-02-01\n",
        "y ~ .",
        "`.` takes in column `the day` of `t.csv`, which holds dates; take it out: `. - `the day``, \
         or count it in days: `. + `the day``",
    ),
    (
        b"y,town\n1,Bern\n0,Basel\n",
        "y ~ log(town)",
        "column `town` of `t.csv` holds text, `Bern` on line 2, where numbers or true/false are needed; recode \
         it, or leave it out",
    ),
    (
        b"y,x\n1,2\n0,0\n",
        "y ~ log(x)",
        "`log(x)` is -inf on line 3 of `t.csv`, where x is 0; a finite number is needed: correct the row, or \
         choose another term",
    ),
    (
        b"y,x,z\n1,1e200,1e200\n0,1,2\n",
        "y ~ x:z",
        "`x:z` is inf on line 2 of `t.csv`, where what it is made of is too large; a finite number is needed: \
         correct the row, or choose another term",
    ),
    (
        b"y,x\n1,1\n0,2\n1,1\n",
        "y ~ poly(x, 2)",
        "`poly(x, 2)` needs more than 2 distinct values and has 2; lower its number, or take the column as \
         categories",
    ),
    (
        b"y,x\n1,1\n0,2\n",
        "y ~ x + lgo(x)",
        "no function `lgo`; did you mean `log`? the functions are log, log1p, log2, log10, exp, expm1, sqrt, abs, I, \
         factor, center, scale, poly, bs, s and offset",
    ),
    (
        b"y,x\n1,1\n0,2\n",
        "y ~ x > 1",
        "a comparison stands in `I(..)`, as in `I(x > 3)`; it is 1 where it holds and 0 elsewhere",
    ),
    (
        b"y,x\n1,1\n0,2\n",
        "y ~ x^2",
        "`^` of a column is arithmetic and stands in `I(..)`, as in `I(x^2)`; of terms, it needs parentheses: \
         `(a + b)^2`",
    ),
    (b"y,x\n1,1\n0,2\n", "y ~ xx", "no column `xx` in `t.csv`; did you mean `x`? its columns are `y`, `x`"),
    (
        b"s,n\n3,2\n1,2\n",
        "s | trials(n) ~ 1",
        "successes column `s` of `t.csv` is 3 on line 2; it must be at most the number of trials",
    ),
    (
        b"s,n\n1.5,2\n1,2\n",
        "s | trials(n) ~ 1",
        "successes column `s` of `t.csv` is 1.5 on line 2; it must be a whole number from 0 up",
    ),
];

#[test]
fn each_nasty_input_gets_the_words_meant_for_it() {
    for (bytes, formula, expected) in CORPUS {
        let found = said(bytes, formula, &FrameOptions::default());
        assert_eq!(&found, expected, "{:?} {formula}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn options_that_do_not_fit_are_refused() {
    let csv = b"y,x,town,w\n1,1,Bern,-1\n0,2,Basel,0\n";
    let reference = |column: &str, level: &str| FrameOptions {
        references: vec![(column.to_owned(), level.to_owned())],
        ..FrameOptions::default()
    };
    for (options, expected) in [
        (
            reference("town", "Brn"),
            "column `town` has no level `Brn` to refer to; did you mean `Bern`? its levels are `Basel`, `Bern`",
        ),
        (
            reference("x", "1"),
            "a reference level is given for `x`, which is not a category of the formula; its categories are `town`",
        ),
        (
            FrameOptions { weights: Some("w".into()), ..FrameOptions::default() },
            "weights column `w` of `t.csv` is -1 on line 2; it must be a number from 0 up",
        ),
        (
            FrameOptions { weights: Some("v".into()), ..FrameOptions::default() },
            "no column `v` in `t.csv`; its columns are `y`, `x`, `town`, `w`",
        ),
        (
            FrameOptions { exposure: Some("w".into()), ..FrameOptions::default() },
            "exposure column `w` of `t.csv` is -1 on line 2; it must be a positive number, since its logarithm is taken",
        ),
    ] {
        assert_eq!(said(csv, "y ~ x + town", &options), expected);
    }
    let drop = FrameOptions { missing: Missing::Drop, ..FrameOptions::default() };
    assert_eq!(
        said(b"y,x\n1,\n,2\n", "y ~ x", &drop),
        "every one of the 2 row(s) of `t.csv` has a missing value in a column of the model: `y` 1, `x` 1; fill them in, \
         or use fewer columns"
    );
}

#[test]
fn a_single_line_of_ten_megabytes_is_refused_in_a_line() {
    let words = format!("{},", "x".repeat(1023)).repeat(10 << 10);
    let text = "x".repeat(10 << 20);
    let header = format!("a,b\n1,{text}\n2,3\n");
    assert!(matches!(Table::read(words.as_bytes(), "t"), Err(Error::File(BadFile::DuplicateColumn { .. }))));
    assert!(matches!(
        Table::read(text.as_bytes(), "t"),
        Err(Error::File(BadFile::NoRows { columns: 1, .. }))
    ));
    let table = Table::read(header.as_bytes(), "t").unwrap();
    assert!(table.numeric("b").unwrap_err().to_string().len() < 200);
    let formula = Formula::parse(&format!("y ~ {}", &text[..1 << 20])).unwrap();
    let error = ModelFrame::new(&table, &formula, &FrameOptions::default()).unwrap_err();
    assert!(error.to_string().len() < 200, "{error}");
    let error = Formula::parse(&format!("y ~ {}", "x ".repeat(1 << 16))).unwrap_err();
    assert_eq!(error.span(), Some(6..7));
}

#[test]
fn more_columns_than_rows_is_a_model_with_a_warning() {
    let names: Vec<String> = (0..50).map(|i| format!("x{i}")).collect();
    let row = |k: usize| (0..50).map(|i| ((i * i + k * i) % 17).to_string()).collect::<Vec<_>>().join(",");
    let csv = format!("y,{}\n1,{}\n0,{}\n1,{}\n", names.join(","), row(1), row(2), row(5));
    let formula = Formula::parse("y ~ . - x0 - x17 - x34").unwrap();
    let frame =
        ModelFrame::new(&Table::read(csv.as_bytes(), "t").unwrap(), &formula, &FrameOptions::default())
            .unwrap();
    assert_eq!(frame.warnings.len(), 1);
    let dependences = frame.collinearity().dependences;
    assert!(dependences.len() >= frame.design.columns - 3 && dependences.iter().all(|d| d.exact));
}

#[test]
fn damaged_files_are_called_so() {
    let csv = b"y,x\n1,2\n0,3\n".repeat(100);
    let gzip = zipped(&csv);
    let parquet = data("table-snappy.parquet");
    let said = |bytes: &[u8]| Table::read(bytes, "t").unwrap_err().to_string();
    for cut in [3, 12, gzip.len() / 2, gzip.len() - 1] {
        assert!(said(&gzip[..cut]).starts_with("the gzip data of `t` end too soon: "), "{cut}");
    }
    let mut broken = gzip.clone();
    broken[20] ^= 0xFF;
    assert!(said(&broken).starts_with("the gzip data of `t` "));
    assert_eq!(said(&zipped(&gzip)), "`t` is compressed twice; decompress it once");
    for cut in [4, 100, parquet.len() / 2, parquet.len() - 1] {
        assert_eq!(
            said(&parquet[..cut]),
            "the Parquet data of `t` end too soon: the file does not end in PAR1; fetch or write the file again"
        );
    }
    let mut broken = parquet.clone();
    let footer = parquet.len() - 8;
    broken[footer..footer + 4].copy_from_slice(&[0xFF; 4]);
    assert!(said(&broken).starts_with("the Parquet data of `t` are damaged: "));
    assert!(said(b"PAR1\0\0\0\0PAR1").starts_with("the Parquet data of `t` are damaged: "));
}
