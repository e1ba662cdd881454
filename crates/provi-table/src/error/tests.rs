//! Every message of the crate, with the place and the column that it points to, as `tests/data/messages.txt` has them.

use std::fmt::Write;
use std::path::Path;

use super::*;

fn s(text: &str) -> String {
    text.to_owned()
}

fn names(full: bool) -> Vec<String> {
    (0..if full { 14 } else { 2 }).map(|i| format!("level {i}")).collect()
}

/// One error of each variant; `full` has everything that an error may have, and otherwise nothing of it.
fn each(full: bool) -> Vec<Error> {
    let some = |there: &'static str, otherwise: &'static str| if full { there } else { otherwise };
    let span = full.then_some(2..5);
    vec![
        Error::File(BadFile::NotFound { path: s("data/t.csv") }),
        Error::File(BadFile::Unreadable { table: s("t.csv"), reason: s("why not") }),
        Error::File(BadFile::Endless { table: s("t.csv"), most: 1_500_000 }),
        Error::File(BadFile::NoRoom { table: s("t.csv"), bytes: 98_765_432_100, most: 1_500_000 }),
        Error::File(BadFile::EmptyFile { table: s("t.csv") }),
        Error::File(BadFile::NoRows { table: s("t.csv"), columns: 3000 }),
        Error::File(BadFile::Columns { table: s("t.csv"), reason: BadColumns::None }),
        Error::File(BadFile::ForeignFormat { table: s("t.csv"), format: Format::Zip }),
        Error::File(BadFile::Damaged {
            table: s("t.csv"),
            format: "format",
            cut: full,
            reason: s("why not"),
        }),
        Error::Shards(BadShards::Changed { table: s("t.csv") }),
        Error::Column(UnfitColumn::WholeColumn { term: s("term"), span: span.clone() }),
        Error::File(BadFile::ParquetType { table: s("t.csv"), column: s("my col"), kind: s("kind") }),
        Error::File(BadFile::InvalidUtf8 { table: s("t.csv"), line: 7, character: 12, byte: 0xE9 }),
        Error::File(BadFile::UnnamedColumn { table: s("t.csv"), position: 4 }),
        Error::File(BadFile::DuplicateColumn { table: s("t.csv"), column: s("my col"), first: 4, second: 9 }),
        Error::File(BadFile::RaggedRow {
            table: s("t.csv"),
            line: 7,
            found: 3,
            expected: 5,
            separator: if full { ';' } else { '\t' },
        }),
        Error::File(BadFile::CutOff { table: s("t.csv"), line: 7, found: 3, expected: 5 }),
        Error::File(BadFile::UnclosedQuote { table: s("t.csv"), line: 7 }),
        Error::File(BadFile::SpaceBeforeQuote { table: s("t.csv"), line: 7, field: 4 }),
        Error::Column(UnfitColumn::UnknownColumn {
            table: s("t.csv"),
            column: s("my col"),
            nearest: full.then(|| "nearest".into()),
            available: names(full).into(),
            span: span.clone(),
        }),
        Error::Column(UnfitColumn::TextColumn {
            table: s("t.csv"),
            column: s("my col"),
            line: 7,
            found: s(some("what\tis there", "")),
            span: span.clone(),
        }),
        Error::Dates(BadDates::DateColumn {
            table: s("t.csv"),
            column: s("my col"),
            line: 7,
            found: s(some("what\tis there", "")),
            span: span.clone(),
        }),
        Error::Dates(BadDates::AmbiguousDates {
            table: s("t.csv"),
            column: s("my col"),
            line: 7,
            found: s(some("what\tis there", "")),
            span: span.clone(),
        }),
        Error::Dates(BadDates::BadDate {
            table: s("t.csv"),
            column: s("my col"),
            line: 7,
            found: s(some("what\tis there", "")),
            span: span.clone(),
        }),
        Error::Dates(BadDates::NoDates {
            table: s("t.csv"),
            column: s("my col"),
            line: 7,
            found: s(some("what\tis there", "")),
            span: span.clone(),
        }),
        Error::Dates(BadDates::NoDateText {
            column: s("my col"),
            found: s(some("what\tis there", "")),
            span: span.clone(),
        }),
        Error::Dates(BadDates::TextOrder {
            table: s("t.csv"),
            column: s("my col"),
            found: s(some("what\tis there", "")),
            span: span.clone(),
        }),
        Error::Column(UnfitColumn::UnlistedLevel {
            table: s("t.csv"),
            column: s("my col"),
            level: "level".into(),
            nearest: full.then(|| "nearest".into()),
            span: span.clone(),
        }),
        Error::Column(UnfitColumn::MixedColumn {
            table: s("t.csv"),
            column: s("my col"),
            line: 7,
            found: Box::from(some("what\tis there", "")),
            numbers: 30,
            span: span.clone(),
        }),
        Error::Column(UnfitColumn::EmptyColumn {
            table: s("t.csv"),
            column: s("my col"),
            span: span.clone(),
        }),
        Error::Value(BadValue::MissingValue {
            table: s("t.csv"),
            column: s("my col"),
            line: 7,
            found: Box::from(some("what\tis there", "")),
            count: 2,
            span: span.clone(),
        }),
        Error::Value(BadValue::InfiniteValue {
            table: s("t.csv"),
            column: s("my col"),
            line: 7,
            found: s(some("what\tis there", "")),
            span: span.clone(),
        }),
        Error::Column(UnfitColumn::ConstantColumn {
            table: s("t.csv"),
            column: s("my col"),
            value: s("value"),
            span: span.clone(),
        }),
        Error::Formula(BadFormula::NothingUnderDot { table: s("t.csv"), span: 2..5 }),
        Error::Formula(BadFormula::UselessUnderDot {
            table: s("t.csv"),
            column: s("my col"),
            dates: full,
            span: 2..5,
        }),
        Error::Formula(BadFormula::ResponseAsPredictor { column: s("my col"), span: 2..5 }),
        Error::Formula(BadFormula::NoTerms { span: 2..5 }),
        Error::Formula(BadFormula::Syntax {
            expected: "expected",
            found: s(some("what\tis there", "")),
            span: 2..5,
        }),
        Error::Formula(BadFormula::UnclosedName { span: 2..5 }),
        Error::Formula(BadFormula::UnclosedText { span: 2..5 }),
        Error::Formula(BadFormula::RepeatedLevel { level: s("level"), span: 2..5 }),
        Error::Formula(BadFormula::Number { found: s(some("what\tis there", "")), span: 2..5 }),
        Error::Formula(BadFormula::Misplaced { what: Misplaced::Dot, span: 2..5 }),
        Error::Formula(BadFormula::Smooth { what: BadSmooth::NoPeriod, span: 2..5 }),
        Error::Formula(BadFormula::UnknownFunction {
            name: s("name"),
            nearest: full.then(|| s("nearest")),
            span: 2..5,
        }),
        Error::Formula(BadFormula::Argument {
            function: "function",
            name: "name",
            least: 1,
            most: 60_000,
            span: 2..5,
        }),
        Error::Formula(BadFormula::NoColumn { span: 2..5 }),
        Error::Formula(BadFormula::NothingToRemove { span: 2..5 }),
        Error::Formula(BadFormula::TooLarge { span: 2..5 }),
        Error::Column(UnfitColumn::OneLevel {
            table: s("t.csv"),
            column: s("my col"),
            level: s("level"),
            span: span.clone(),
        }),
        Error::Model(BadModel::UnknownReference {
            column: s("my col"),
            level: s("level"),
            nearest: full.then(|| s("nearest")),
            levels: names(full),
        }),
        Error::Model(BadModel::StrayReference { column: s("my col"), categories: names(full) }),
        Error::Model(BadModel::RepeatedOffset { text: s("text"), first: s("first"), second: s("second") }),
        Error::Model(BadModel::NoTrialsColumn {
            table: s("t.csv"),
            column: s("my col"),
            response: s("response"),
        }),
        Error::Model(BadModel::UnknownLevel {
            table: s("t.csv"),
            column: s("my col"),
            line: 7,
            level: s("level"),
            levels: names(full),
            group: full,
        }),
        Error::Value(BadValue::NotFinite {
            table: s("t.csv"),
            term: "term".into(),
            line: 7,
            value: "value".into(),
            inputs: "inputs".into(),
            span: span.clone(),
        }),
        Error::Value(BadValue::TooFewValues { term: s("term"), needed: 6, distinct: 4, span: span.clone() }),
        Error::Value(BadValue::TooFewForSmooth {
            term: s("s(x)"),
            x: s("x"),
            period: full,
            needed: 9,
            distinct: if full { 4 } else { 2 },
            span: span.clone(),
        }),
        Error::Value(BadValue::OutOfRange {
            table: s("t.csv"),
            purpose: Purpose::Trials,
            column: s("my col"),
            line: 7,
            value: "value".into(),
            span: span.clone(),
        }),
        Error::Column(UnfitColumn::ResponseLevels {
            table: s("t.csv"),
            column: s("my col"),
            levels: names(full),
            span: span.clone(),
        }),
        Error::Column(UnfitColumn::NoOrder {
            table: s("t.csv"),
            column: s("my col"),
            levels: names(full),
            span: span.clone(),
        }),
        Error::Column(UnfitColumn::UnusedCategory {
            table: s("t.csv"),
            column: s("my col"),
            level: s("level"),
            span: span.clone(),
        }),
        Error::Column(UnfitColumn::CountOfCategories {
            kind: "ordered",
            table: s("t.csv"),
            column: s("my col"),
            levels: 14,
            most: 11,
            span: span.clone(),
        }),
        Error::Model(BadModel::NoRowsLeft {
            table: s("t.csv"),
            rows: 40_000,
            columns: vec![(s("a"), 3), (s("b"), 1)],
        }),
        Error::Model(BadModel::RepeatedName { name: s("name") }),
        Error::Model(BadModel::DesignTooLarge {
            rows: 40_000,
            columns: 3000,
            term: s("term"),
            column: full.then(|| s("column")),
            levels: if full { 300 } else { 9000 },
        }),
        Error::Model(BadModel::TooManyGroups {
            group: s("group"),
            levels: if full { 300 } else { 9000 },
            coefficients: 70_000,
            most: 60_000,
        }),
        Error::Model(BadModel::BadRecipe { reason: s("why not") }),
    ]
}

#[test]
fn messages_are_those_of_the_list() {
    let mut found = String::new();
    for error in [each(true), each(false)].concat() {
        let (span, column) = (error.span(), error.column().map(str::to_owned));
        let moved = error.clone().at(Some(8..9)).span();
        writeln!(found, "{error}\n    at {span:?}, {moved:?} when moved, column {column:?}").unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/messages.txt");
    if std::env::var_os("PROVI_BLESS").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap();
    assert_eq!(found, expected, "the messages differ from {}; PROVI_BLESS=1 rewrites it", path.display());
}

#[test]
fn every_message_is_in_the_list() {
    let sources = [
        include_str!("column.rs"),
        include_str!("dates.rs"),
        include_str!("file.rs"),
        include_str!("formula.rs"),
        include_str!("model.rs"),
        include_str!("value.rs"),
    ];
    let written: usize = sources.iter().map(|text| text.matches("#[error(").count()).sum();
    // The one of shards is not among them.
    assert_eq!(each(true).len(), written + 1);
}

/// A result carries it by value.
#[test]
fn an_error_is_no_larger_than_fifteen_words() {
    assert!(size_of::<Error>() <= 15 * 8, "{}", size_of::<Error>());
}
