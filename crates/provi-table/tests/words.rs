//! Ids of any length, words for missing values, dates, comparisons and lists of levels: the same in memory, in files read
//! block by block, and in rows that a recipe is put over.

use std::fs;

use provi_table::{
    BadDates, BadModel, BadValue, Budget, Error, Formula, FrameOptions, INTERCEPT, Missing, ModelFrame,
    NewLevels, Recipe, Result, Scan, Shards, Table, UnfitColumn, Values, Warning,
};
use tempfile::TempDir;

fn table(csv: &str) -> Table {
    Table::read(csv.as_bytes(), "t.csv").unwrap()
}

fn options(na: &[&str]) -> FrameOptions {
    let na = na.iter().map(|word| (*word).to_owned()).collect();
    FrameOptions { na, missing: Missing::Drop, ..FrameOptions::default() }
}

fn frame(csv: &str, formula: &str, options: &FrameOptions) -> Result<ModelFrame> {
    ModelFrame::new(&table(csv), &Formula::parse(formula).unwrap(), options)
}

/// The files of a table cut in two.
fn cut(csv: &str) -> TempDir {
    let lines: Vec<&str> = csv.lines().collect();
    let (folder, half) = (TempDir::new().unwrap(), lines.len().div_ceil(2));
    for (name, part) in [("a.csv", &lines[1..half]), ("b.csv", &lines[half..])] {
        let text: Vec<&str> = lines[..1].iter().chain(part).copied().collect();
        fs::write(folder.path().join(name), text.join("\n") + "\n").unwrap();
    }
    folder
}

fn scan(folder: &TempDir, formula: &str, options: &FrameOptions) -> Result<Scan> {
    let shards = Shards::find(folder.path().to_str().unwrap())?;
    Scan::learn(shards, &Formula::parse(formula).unwrap(), options, Budget { bytes: 1 << 20 })
}

/// The frame, after the same formula over files and its recipe over the same rows have given the same.
fn everywhere(csv: &str, formula: &str, options: &FrameOptions) -> ModelFrame {
    let frame = frame(csv, formula, options).unwrap();
    let folder = cut(csv);
    let scan = scan(&folder, formula, options).unwrap();
    assert_eq!((&scan.names, &scan.formula), (&frame.names, &frame.formula));
    assert_eq!(scan.recipe(), frame.recipe());
    assert_eq!(scan.warnings.len(), frame.warnings.len(), "{:?} {:?}", scan.warnings, frame.warnings);
    let (mut population, mut response, mut levels) = (Vec::new(), Vec::new(), Vec::new());
    scan.each(provi_table::Part::WHOLE, &mut |rows| -> Result<()> {
        population.extend(rows.design.population);
        response.extend(rows.response);
        levels.extend(rows.design.groups.into_iter().flat_map(|group| group.levels));
        Ok(())
    })
    .unwrap();
    assert_eq!((&population, &response), (&frame.design.population, &frame.response));
    if let [group] = frame.design.groups.as_slice() {
        assert_eq!(levels, group.levels);
    }
    let stored: Recipe = serde_json::from_str(&serde_json::to_string(frame.recipe()).unwrap()).unwrap();
    let new = stored.rows_with(&table(csv), NewLevels::Refuse, options.missing).unwrap();
    assert_eq!(new.design, frame.design);
    let again = Formula::parse(&frame.formula).unwrap();
    assert_eq!(again.to_string(), frame.formula);
    frame
}

/// Eighty ids that forty-one doubles hold.
fn ids() -> Vec<i64> {
    (0..80).map(|i| (1 << 53) + i).collect()
}

#[test]
fn ids_beyond_the_doubles_stay_apart_in_text_files() {
    let rows: Vec<String> = ids().iter().map(|id| format!("{},{},{id}\n", id % 2, id % 7)).collect();
    let csv = format!("y,x,id\n{}", rows.concat());
    let f = everywhere(&csv, "y ~ x + (1 | id)", &FrameOptions::default());
    assert_eq!(f.groups[0].levels.len(), 80);
    assert_eq!(f.groups[0].levels[1], "9007199254740993");
    assert_eq!(f.warnings, []);
    let f = everywhere(&csv, "y ~ factor(id)", &FrameOptions::default());
    assert_eq!(f.names.len(), 80);
    assert!(f.warnings.iter().all(|warning| matches!(warning, Warning::ManyLevels { .. })));
}

#[test]
fn ids_beyond_the_doubles_stay_apart_in_parquet_and_in_memory() {
    let folder = TempDir::new().unwrap();
    let y: Vec<Option<i64>> = ids().iter().map(|id| Some(id % 2)).collect();
    let some: Vec<Option<i64>> = ids().into_iter().map(Some).collect();
    let columns = [
        ("y", crate::parquet_writer::Values::Integers(y.clone())),
        ("id", crate::parquet_writer::Values::Integers(some.clone())),
    ];
    crate::parquet_writer::write(&folder.path().join("t.parquet"), &columns, 32);
    let formula = Formula::parse("y ~ 1 + (1 | id)").unwrap();
    let whole = Table::open(folder.path().join("t.parquet")).unwrap();
    let memory = Table::from_columns(
        "frame",
        vec![("y".into(), Values::Integers(y)), ("id".into(), Values::Integers(some))],
    )
    .unwrap();
    let expected: Vec<String> = ids().iter().map(i64::to_string).collect();
    for table in [whole, memory] {
        let frame = ModelFrame::new(&table, &formula, &FrameOptions::default()).unwrap();
        assert_eq!(frame.groups[0].levels, expected);
    }
    let scan = scan(&folder, "y ~ 1 + (1 | id)", &FrameOptions::default()).unwrap();
    assert_eq!(scan.groups[0].levels, expected);
}

#[test]
fn arithmetic_on_long_numbers_is_said_to_round_and_names_are_not() {
    let csv = "y,id\n1,9007199254740993\n0,9007199254740992\n1,5\n";
    let f = everywhere(csv, "y ~ id", &FrameOptions::default());
    assert!(
        matches!(&f.warnings[0], Warning::Inexact { count: 1, found, .. } if found == "9007199254740993")
    );
    let f = everywhere(csv, "y ~ I(id == '9007199254740993')", &FrameOptions::default());
    assert_eq!((f.design.population, f.warnings), (vec![1.0, 1.0, 1.0, 0.0, 1.0, 0.0], vec![]));
}

#[test]
fn levels_of_numbers_stand_in_their_order_with_all_their_digits() {
    let csv = "y,id\n1,-9007199254740993\n0,-9007199254740995\n1,123456789012345678\n0,7\n1,123456789012345677\n0,1234567890123456\n";
    let f = everywhere(csv, "y ~ 1 + (1 | id)", &FrameOptions::default());
    assert_eq!(
        f.groups[0].levels,
        [
            "-9007199254740995",
            "-9007199254740993",
            "7",
            "1234567890123456",
            "123456789012345677",
            "123456789012345678"
        ]
    );
}

#[test]
fn a_stored_recipe_with_the_former_names_of_large_numbers_still_finds_its_levels() {
    let csv = "y,id\n1,1234567890123456\n0,7\n1,9007199254740993\n0,9007199254740992\n";
    let f = frame(csv, "y ~ 1 + (1 | id)", &FrameOptions::default()).unwrap();
    let mut recipe = f.recipe().clone();
    recipe.groups[0].levels =
        vec![vec!["7".into()], vec!["1.234567890123456e15".into()], vec!["9.007199254740992e15".into()]];
    recipe.names.pop();
    let rows = recipe.rows(&table(csv), NewLevels::Refuse).unwrap();
    assert_eq!(rows.design.groups[0].levels, [Some(1), Some(0), Some(2), Some(2)]);
}

#[test]
fn ids_that_came_as_floating_point_are_said_to_be_doubtful() {
    let csv = "y,id\n1,9.00719925474099e15\n0,9.007199254740993e15\n1,3\n";
    let f = everywhere(csv, "y ~ 1 + (1 | id)", &FrameOptions::default());
    let Warning::CoarseNames { column, count: 1, .. } = &f.warnings[0] else { panic!("{:?}", f.warnings) };
    assert_eq!(column, "id");
    let values = Values::Numbers(vec![9_007_199_254_740_993.0, 2.0]);
    let columns = vec![("y".to_owned(), Values::Integers(vec![Some(0), Some(1)])), ("id".to_owned(), values)];
    let table = Table::from_columns("frame", columns).unwrap();
    let f = ModelFrame::new(&table, &Formula::parse("y ~ 1 + (1 | id)").unwrap(), &FrameOptions::default());
    assert!(f.unwrap().warnings[0].to_string().contains("different ones may have become the same"));
}

#[test]
fn a_mostly_missing_column_of_numbers_is_not_taken_as_categories_without_a_word() {
    let csv = "y,x\n1,-\n0,-\n1,3.5\n0,-\n1,missing\n0,7\n1,-\n";
    let f = everywhere(csv, "y ~ x", &FrameOptions::default());
    let expected = Warning::WordsAmongNumbers {
        column: "x".into(),
        numbers: 2,
        words: vec!["-".into(), "missing".into()],
        others: 2,
    };
    assert_eq!(f.warnings[0], expected);
    let said = expected.to_string();
    assert!(said.contains("`-`, `missing` are no numbers") && said.contains("--na '-,missing'"), "{said}");
    // Whoever says that categories are meant is left in peace.
    let f = everywhere(csv, "y ~ factor(x)", &FrameOptions::default());
    assert!(!f.warnings.iter().any(|w| matches!(w, Warning::WordsAmongNumbers { .. })));
    // And with the words named, the column is one of numbers.
    let f = everywhere(csv, "y ~ x", &options(&["-", "missing"]));
    assert_eq!((f.rows, f.design.population.clone()), (2, vec![1.0, 3.5, 1.0, 7.0]));
    assert_eq!((f.dropped.rows, f.warnings.len()), (5, 0));
}

#[test]
fn a_response_of_a_number_and_a_word_is_not_binary_without_a_word() {
    let f = frame("y,x\n1,2\n-,3\n1,4\n-,6\n", "y ~ x", &FrameOptions::default()).unwrap();
    assert!(matches!(&f.warnings[0], Warning::WordsAmongNumbers { column, .. } if column == "y"));
}

#[test]
fn a_list_of_words_means_missing_in_every_kind_of_column() {
    let csv = "y,x,town\n1,2,Bern\n0,-9,Basel\n1,4,none\n0,5.5,Basel\n1,-9.0,Bern\n";
    let f = everywhere(csv, "y ~ x + town", &options(&["-9", "none"]));
    assert_eq!((f.rows, f.dropped.columns.clone()), (2, vec![("x".into(), 2), ("town".into(), 1)]));
    let refused =
        frame(csv, "y ~ x", &FrameOptions { missing: Missing::Error, ..options(&["-9"]) }).unwrap_err();
    assert!(
        matches!(refused, Error::Value(BadValue::MissingValue { line: 3, found, .. }) if &*found == "-9")
    );
    let mixed = frame("y,x\n1,2\n0,3\n1,--\n", "y ~ x", &FrameOptions::default()).unwrap_err().to_string();
    assert!(mixed.contains("--na '--'"), "{mixed}");
}

#[test]
fn words_for_missing_values_reach_parquet_files_block_by_block() {
    let folder = TempDir::new().unwrap();
    let y = crate::parquet_writer::Values::Integers((0..40).map(|i| Some(i % 2)).collect());
    let x = (0..40).map(|i| Some(if i % 4 == 0 { -9.0 } else { f64::from(i * i % 13) }));
    let town = (0..40).map(|i| Some(["Bern", "none", "Chur"][i % 3].to_owned()));
    let columns = [
        ("y", y),
        ("x", crate::parquet_writer::Values::Numbers(x.collect())),
        ("town", crate::parquet_writer::Values::Texts(town.collect())),
    ];
    crate::parquet_writer::write(&folder.path().join("t.parquet"), &columns, 16);
    let options = options(&["none", "-9"]);
    let table = Table::open(folder.path().join("t.parquet")).unwrap();
    let f = ModelFrame::new(&table, &Formula::parse("y ~ x + town").unwrap(), &options).unwrap();
    let scan = scan(&folder, "y ~ x + town", &options).unwrap();
    assert_eq!((scan.rows, &scan.names, &scan.dropped), (f.rows, &f.names, &f.dropped));
    assert_eq!((f.rows, f.names.len()), (20, 3));
}

#[test]
fn dates_count_as_days_and_say_so() {
    let csv = "y,d\n1,2024-01-31\n0,2024-02-01T12:00\n1,1970-01-02\n";
    let f = everywhere(csv, "y ~ d", &FrameOptions::default());
    assert_eq!(f.design.population, [1.0, 19_753.0, 1.0, 19_754.5, 1.0, 1.0]);
    assert_eq!(f.warnings, [Warning::DaysSince1970 { column: "d".into() }]);
    assert!(f.warnings[0].to_string().contains("days since 1970-01-01"));
    let f = everywhere(csv, "y ~ I((d - 19753) / 365.25)", &FrameOptions::default());
    assert!((f.design.population[3] - 1.5 / 365.25).abs() < 1e-15);
    let f = everywhere(
        csv,
        "y ~ I(d >= '2024-01-31') + I(d %in% c('1970-01-02', '2024-01-31'))",
        &FrameOptions::default(),
    );
    assert_eq!(f.design.population, [1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
    assert_eq!(f.warnings, []);
    assert_eq!(everywhere(csv, "y ~ factor(d)", &FrameOptions::default()).names.len(), 3);
}

#[test]
fn the_order_of_day_and_month_is_the_fits_in_new_rows_too() {
    let f = everywhere("y,d\n1,31/01/2024\n0,01/02/2024\n", "y ~ d", &FrameOptions::default());
    assert_eq!(f.design.population, [1.0, 19_753.0, 1.0, 19_754.0]);
    let new = table("d\n02/01/2024\n");
    let rows = f.recipe().rows(&new, NewLevels::Refuse).unwrap();
    assert_eq!(rows.design.population, [1.0, 19_724.0]); // 2 January
    let numbers = f.recipe().rows(&table("d\n19753\n"), NewLevels::Refuse).unwrap_err();
    assert!(matches!(numbers, Error::Dates(BadDates::NoDates { line: 2, .. })), "{numbers}");
}

#[test]
fn dates_that_may_be_read_in_two_ways_are_refused() {
    let csv = "y,d\n1,01/02/2024\n0,03/04/2024\n1,05/06/2024\n";
    let whole = frame(csv, "y ~ d", &FrameOptions::default()).unwrap_err();
    let parts = scan(&cut(csv), "y ~ d", &FrameOptions::default()).unwrap_err();
    for error in [whole, parts] {
        let Error::Dates(BadDates::AmbiguousDates { column, line: 2, span: Some(span), .. }) = &error else {
            panic!("{error}")
        };
        assert_eq!((column.as_str(), span.clone()), ("d", 4..5));
    }
    let error = frame("y,d\n1,2024-02-28\n0,2024-02-31\n", "y ~ d", &FrameOptions::default()).unwrap_err();
    assert!(matches!(error, Error::Dates(BadDates::BadDate { line: 3, .. })), "{error}");
    let error = frame("y,d\n1,2024-02-28\n0,2024-02-29\n", "y ~ I(d > 'May')", &FrameOptions::default());
    assert!(matches!(error, Err(Error::Dates(BadDates::NoDateText { .. }))));
}

const TOWNS: &str = "y,x,town,ok\n1,1,Bern,true\n0,2,Basel,false\n1,3,Chur,true\n0,4,Bern,true\n";

#[test]
fn comparisons_are_ones_and_zeros_under_their_own_names() {
    for (formula, name, expected) in [
        ("y ~ I(x > 2)", "I(x > 2)", [0.0, 0.0, 1.0, 1.0]),
        ("y ~ I(x <= 2 | x == 4)", "I(x <= 2 | x == 4)", [1.0, 1.0, 0.0, 1.0]),
        ("y ~ I(!ok)", "I(!ok)", [0.0, 1.0, 0.0, 0.0]),
        ("y ~ I(town == 'Bern')", "I(town == \"Bern\")", [1.0, 0.0, 0.0, 1.0]),
        ("y ~ I(town != 'Bern' & x > 2)", "I(town != \"Bern\" & x > 2)", [0.0, 0.0, 1.0, 0.0]),
        ("y ~ I(town %in% c('Bern', 'Chur'))", "I(town %in% c(\"Bern\", \"Chur\"))", [1.0, 0.0, 1.0, 1.0]),
        ("y ~ I(x %in% c(1, 4))", "I(x %in% c(1, 4))", [1.0, 0.0, 0.0, 1.0]),
        ("y ~ I(ok == TRUE)", "I(ok == 1)", [1.0, 0.0, 1.0, 1.0]),
        ("y ~ I(x * (town == 'Bern'))", "I(x * (town == \"Bern\"))", [1.0, 0.0, 0.0, 4.0]),
        ("y ~ log2(I(x/4))", "log2(x / 4)", [-2.0, -1.0, 0.75f64.log2(), 0.0]),
    ] {
        let f = everywhere(TOWNS, formula, &FrameOptions::default());
        assert_eq!(f.names, [INTERCEPT, name]);
        let found: Vec<f64> = f.design.population.iter().skip(1).step_by(2).copied().collect();
        assert_eq!(found, expected, "{formula}");
    }
    // Ones and zeros stay so beside standardized numbers.
    let f = everywhere(TOWNS, "y ~ I(x > 2)", &FrameOptions { standardize: true, ..FrameOptions::default() });
    assert_eq!(f.design.population, [1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0]);
}

#[test]
fn text_has_no_order_and_numbers_are_not_compared_with_what_is_none() {
    let error = frame(TOWNS, "y ~ I(town > 'Bern')", &FrameOptions::default()).unwrap_err();
    assert!(matches!(error, Error::Dates(BadDates::TextOrder { span: Some(_), .. })), "{error}");
    let error = frame(TOWNS, "y ~ I(town == 3)", &FrameOptions::default()).unwrap_err();
    assert!(matches!(error, Error::Column(UnfitColumn::TextColumn { .. })), "{error}");
    let error = frame(TOWNS, "y ~ I(log(x - 3) > 0)", &FrameOptions::default()).unwrap_err();
    assert!(matches!(error, Error::Value(BadValue::NotFinite { .. })), "{error}");
}

#[test]
fn a_nesting_is_what_it_is_in_r() {
    let csv = "y,a,b\n1,p,u\n0,p,v\n1,q,u\n0,q,v\n1,p,u\n";
    let nested = everywhere(csv, "y ~ a + b %in% a", &FrameOptions::default());
    let product = everywhere(csv, "y ~ a + a:b", &FrameOptions::default());
    assert_eq!((&nested.names, &nested.design), (&product.names, &product.design));
    assert_eq!(nested.formula, "y ~ a + a:b");
    assert_eq!(nested.names, [INTERCEPT, "a[q]", "a[p]:b[v]", "a[q]:b[v]"]);
}

#[test]
fn a_list_of_levels_gives_their_order_and_the_reference() {
    let csv = "y,size,dose\n1,low,10\n0,high,5\n1,mid,1\n0,low,5\n1,high,10\n";
    let f = everywhere(csv, "y ~ factor(size, levels = c('low', 'mid', 'high'))", &FrameOptions::default());
    assert_eq!(f.names, [INTERCEPT, "size[mid]", "size[high]"]);
    assert_eq!(f.formula, "y ~ factor(size, levels = c(\"low\", \"mid\", \"high\"))");
    let f = everywhere(csv, "y ~ factor(dose, c(10, 1, 5, 7))", &FrameOptions::default());
    assert_eq!(f.names, [INTERCEPT, "dose[1]", "dose[5]"]);
    assert_eq!(f.warnings, [Warning::UnusedLevel { column: "dose".into(), level: "7".into() }]);
    let references = vec![("size".to_owned(), "mid".to_owned())];
    let f = everywhere(
        csv,
        "y ~ factor(size, levels = c('low', 'mid', 'high'))",
        &FrameOptions { references, ..FrameOptions::default() },
    );
    assert_eq!(f.names, [INTERCEPT, "size[low]", "size[high]"]);
    let error = frame(csv, "y ~ factor(size, levels = c('low', 'hihg', 'mid'))", &FrameOptions::default());
    let Err(Error::Column(UnfitColumn::UnlistedLevel { level, nearest, .. })) = error else {
        panic!("{error:?}")
    };
    assert_eq!((&*level, nearest.as_deref()), ("high", Some("hihg")));
}

#[test]
fn a_formula_of_millions_of_columns_is_refused_before_they_are_made() {
    let rows: Vec<String> = (0..4000).map(|i| format!("{},a{i},b{i},c{i}\n", i % 2)).collect();
    let csv = format!("y,a,b,c\n{}", rows.concat());
    let error = frame(&csv, "y ~ a * b * c", &FrameOptions::default()).unwrap_err();
    let Error::Model(BadModel::DesignTooLarge { rows: 4000, columns, term, .. }) = &error else {
        panic!("{error}")
    };
    assert!(*columns > 15_000_000 && term == "a:b", "{error}");
    let said = error.to_string();
    assert!(said.contains("`a:b`") && said.contains("of memory for the design"), "{said}");
    let error = scan(&cut(&csv), "y ~ a * b * c", &FrameOptions::default()).unwrap_err();
    assert!(matches!(error, Error::Model(BadModel::DesignTooLarge { .. })), "{error}");
}

#[test]
fn more_group_levels_than_any_fit_holds_are_refused_with_the_reason() {
    let rows: Vec<String> = (0..2000).map(|i| format!("{},a{i},b{i}\n", i % 2)).collect();
    let csv = format!("y,a,b\n{}", rows.concat());
    let error = frame(&csv, "y ~ 1 + (b | a)", &FrameOptions::default()).unwrap_err();
    let Error::Model(BadModel::TooManyGroups { levels: 2000, coefficients: 4_000_001, .. }) = &error else {
        panic!("{error}")
    };
    assert!(error.to_string().contains("dense matrices of coefficients by coefficients"), "{error}");
}
