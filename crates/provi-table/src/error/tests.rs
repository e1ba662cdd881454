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
        Error::NotFound { path: s("data/t.csv") },
        Error::Unreadable { table: s("t.csv"), reason: s("why not") },
        Error::Endless { table: s("t.csv"), most: 1_500_000 },
        Error::NoRoom { table: s("t.csv"), bytes: 98_765_432_100, most: 1_500_000 },
        Error::EmptyFile { table: s("t.csv") },
        Error::NoRows { table: s("t.csv"), columns: 3000 },
        Error::Columns { table: s("t.csv"), reason: BadColumns::None },
        Error::ForeignFormat { table: s("t.csv"), format: Format::Zip },
        Error::Damaged { table: s("t.csv"), format: "format", cut: full, reason: s("why not") },
        Error::Shards(BadShards::Changed { table: s("t.csv") }),
        Error::WholeColumn { term: s("term"), span: span.clone() },
        Error::ParquetType { table: s("t.csv"), column: s("my col"), kind: s("kind") },
        Error::InvalidUtf8 { table: s("t.csv"), line: 7, character: 12, byte: 0xE9 },
        Error::UnnamedColumn { table: s("t.csv"), position: 4 },
        Error::DuplicateColumn { table: s("t.csv"), column: s("my col"), first: 4, second: 9 },
        Error::RaggedRow {
            table: s("t.csv"),
            line: 7,
            found: 3,
            expected: 5,
            separator: if full { ';' } else { '\t' },
        },
        Error::CutOff { table: s("t.csv"), line: 7, found: 3, expected: 5 },
        Error::UnclosedQuote { table: s("t.csv"), line: 7 },
        Error::SpaceBeforeQuote { table: s("t.csv"), line: 7, field: 4 },
        Error::UnknownColumn {
            table: s("t.csv"),
            column: s("my col"),
            nearest: full.then(|| s("nearest")),
            available: names(full).into(),
            span: span.clone(),
        },
        Error::TextColumn {
            table: s("t.csv"),
            column: s("my col"),
            line: 7,
            found: s(some("what\tis there", "")),
            span: span.clone(),
        },
        Error::DateColumn {
            table: s("t.csv"),
            column: s("my col"),
            line: 7,
            found: s(some("what\tis there", "")),
            span: span.clone(),
        },
        Error::AmbiguousDates {
            table: s("t.csv"),
            column: s("my col"),
            line: 7,
            found: s(some("what\tis there", "")),
            span: span.clone(),
        },
        Error::BadDate {
            table: s("t.csv"),
            column: s("my col"),
            line: 7,
            found: s(some("what\tis there", "")),
            span: span.clone(),
        },
        Error::NoDates {
            table: s("t.csv"),
            column: s("my col"),
            line: 7,
            found: s(some("what\tis there", "")),
            span: span.clone(),
        },
        Error::NoDateText { column: s("my col"), found: s(some("what\tis there", "")), span: span.clone() },
        Error::TextOrder {
            table: s("t.csv"),
            column: s("my col"),
            found: s(some("what\tis there", "")),
            span: span.clone(),
        },
        Error::UnlistedLevel {
            table: s("t.csv"),
            column: s("my col"),
            level: s("level"),
            nearest: full.then(|| s("nearest")),
            span: span.clone(),
        },
        Error::MixedColumn {
            table: s("t.csv"),
            column: s("my col"),
            line: 7,
            found: s(some("what\tis there", "")),
            numbers: 30,
            span: span.clone(),
        },
        Error::EmptyColumn { table: s("t.csv"), column: s("my col"), span: span.clone() },
        Error::MissingValue {
            table: s("t.csv"),
            column: s("my col"),
            line: 7,
            found: s(some("what\tis there", "")),
            count: 2,
            span: span.clone(),
        },
        Error::InfiniteValue {
            table: s("t.csv"),
            column: s("my col"),
            line: 7,
            found: s(some("what\tis there", "")),
            span: span.clone(),
        },
        Error::ConstantColumn {
            table: s("t.csv"),
            column: s("my col"),
            value: s("value"),
            span: span.clone(),
        },
        Error::NothingUnderDot { table: s("t.csv"), span: 2..5 },
        Error::UselessUnderDot { table: s("t.csv"), column: s("my col"), dates: full, span: 2..5 },
        Error::ResponseAsPredictor { column: s("my col"), span: 2..5 },
        Error::NoTerms { span: 2..5 },
        Error::Syntax { expected: "expected", found: s(some("what\tis there", "")), span: 2..5 },
        Error::UnclosedName { span: 2..5 },
        Error::UnclosedText { span: 2..5 },
        Error::RepeatedLevel { level: s("level"), span: 2..5 },
        Error::Number { found: s(some("what\tis there", "")), span: 2..5 },
        Error::Misplaced { what: Misplaced::Dot, span: 2..5 },
        Error::UnknownFunction { name: s("name"), nearest: full.then(|| s("nearest")), span: 2..5 },
        Error::Argument { function: "function", name: "name", least: 1, most: 60_000, span: 2..5 },
        Error::NoColumn { span: 2..5 },
        Error::NothingToRemove { span: 2..5 },
        Error::TooLarge { span: 2..5 },
        Error::OneLevel { table: s("t.csv"), column: s("my col"), level: s("level"), span: span.clone() },
        Error::UnknownReference {
            column: s("my col"),
            level: s("level"),
            nearest: full.then(|| s("nearest")),
            levels: names(full),
        },
        Error::StrayReference { column: s("my col"), categories: names(full) },
        Error::RepeatedOffset { text: s("text"), first: s("first"), second: s("second") },
        Error::NoTrialsColumn { table: s("t.csv"), column: s("my col"), response: s("response") },
        Error::UnknownLevel {
            table: s("t.csv"),
            column: s("my col"),
            line: 7,
            level: s("level"),
            levels: names(full),
            group: full,
        },
        Error::NotFinite {
            table: s("t.csv"),
            term: s("term"),
            line: 7,
            value: "value".into(),
            inputs: "inputs".into(),
            span: span.clone(),
        },
        Error::TooFewValues { term: s("term"), needed: 6, distinct: 4, span: span.clone() },
        Error::OutOfRange {
            table: s("t.csv"),
            purpose: Purpose::Trials,
            column: s("my col"),
            line: 7,
            value: s("value"),
            span: span.clone(),
        },
        Error::ResponseLevels {
            table: s("t.csv"),
            column: s("my col"),
            levels: names(full),
            span: span.clone(),
        },
        Error::NoRowsLeft { table: s("t.csv"), rows: 40_000, columns: vec![(s("a"), 3), (s("b"), 1)] },
        Error::RepeatedName { name: s("name") },
        Error::DesignTooLarge {
            rows: 40_000,
            columns: 3000,
            term: s("term"),
            column: full.then(|| s("column")),
            levels: if full { 300 } else { 9000 },
        },
        Error::TooManyGroups {
            group: s("group"),
            levels: if full { 300 } else { 9000 },
            coefficients: 70_000,
            most: 60_000,
        },
        Error::BadRecipe { reason: s("why not") },
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
    let sources = [include_str!("../error.rs")];
    let written: usize = sources.iter().map(|text| text.matches("#[error(").count()).sum();
    assert_eq!(each(true).len(), written);
}
