//! Parquet files of another program (tests/data/reference.py) read like the same table in text.

use std::fs;

use provi_table::{BadFile, ColumnKind, Error, Formula, FrameOptions, ModelFrame, Table};

fn read(name: &str) -> Result<Table, Error> {
    let path = format!("{}/tests/data/{name}.parquet", env!("CARGO_MANIFEST_DIR"));
    Table::read(&fs::read(path).unwrap(), name)
}

#[test]
fn every_kind_of_column_is_read_from_every_codec() {
    for codec in ["none", "snappy", "zstd", "gzip"] {
        let table = read(&format!("table-{codec}")).unwrap();
        let kinds: Vec<ColumnKind> = table.names().iter().filter_map(|name| table.kind(name)).collect();
        use ColumnKind::{Boolean, Category, Date, Missing, Number};
        let expected = [
            Number, Number, Number, Number, Number, Number, Boolean, Category, Category, Date, Date, Missing,
        ];
        assert_eq!(kinds, expected, "{codec}");
        assert_eq!(table.numeric("y").unwrap(), [1.0, 0.0, 1.0, 1.0]);
        assert_eq!(table.numeric("unsigned").unwrap(), [0.0, 1.0, 4_294_967_295.0, 7.0]);
        assert_eq!(table.numeric("dose").unwrap(), [0.1, 0.2, 0.3, 0.7]);
        let levels = |column: &str| (0..4).map(|row| table.level(column, row)).collect::<Vec<_>>();
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(levels("half"), [some("0.5"), None, None, some("-1.5")], "null and NaN are missing");
        assert_eq!(levels("price"), [some("1.25"), None, some("-3.5"), some("0.01")]);
        assert_eq!(levels("flag"), [some("true"), some("false"), None, some("true")]);
        assert_eq!(levels("town"), [some("Bern"), some("Basel"), None, some("Zürich")]);
        assert_eq!(levels("kind"), [some("a"), some("b"), some("a"), some("b")]);
        assert_eq!(levels("day"), [some("2024-01-31"), None, some("1969-12-31"), some("2000-02-29")]);
        assert_eq!(levels("at")[0], some("2024-01-31T13:45:07"));
        assert_eq!(table.describe().columns[1].inexact, 1, "2⁵³ + 1 in column `big`");
        assert_eq!((table.line_of_row(0), table.line_of_row(3)), (Some(1), Some(4)));
    }
}

#[test]
fn a_parquet_table_makes_the_frame_of_its_text() {
    let csv = Table::read(b"y,dose,kind\n1,0.1,a\n0,0.2,b\n1,0.3,a\n1,0.7,b\n", "t.csv").unwrap();
    let formula = Formula::parse("y ~ dose * kind").unwrap();
    let frame = |table: &Table| ModelFrame::new(table, &formula, &FrameOptions::default()).unwrap();
    let (text, binary) = (frame(&csv), frame(&read("table-zstd").unwrap()));
    assert_eq!((text.names, text.design), (binary.names, binary.design));
}

#[test]
fn what_is_no_flat_table_with_rows_is_refused() {
    assert!(
        matches!(read("nested"), Err(Error::File(BadFile::ParquetType { column, .. })) if column.starts_with("list"))
    );
    assert!(matches!(read("no-rows"), Err(Error::File(BadFile::NoRows { columns: 1, .. }))));
}
