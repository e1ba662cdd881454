//! Laws of reading: nothing panics, canonical text is a fixed point, numbers keep their bits.

use proptest::prelude::*;
use provi_table::{Formula, FrameOptions, ModelFrame, Table};

/// Text with many of the characters that mean something to the formula parser.
fn formula_like() -> impl Strategy<Value = String> {
    let words = "~ + - . 0 1 2x ` `` ( ) | : * / ^ y a `b_c` `b.c~` é \u{301} log @ \u{2003}";
    let words: Vec<&str> = words.split(' ').chain([" "]).collect();
    prop::collection::vec(prop::sample::select(words), 0..24).prop_map(|words| words.concat())
}

/// Formulas, most of them good.
fn formula() -> impl Strategy<Value = String> {
    let items = [". ", "0", "1", "a", "b ", "`a b`", "`1`", "`a``b`", "é"].to_vec();
    let term = (prop::sample::select(vec!["+", " + ", "+ -", "-"]), prop::sample::select(items));
    (prop::sample::select(vec!["y ~ a", "`y z`~1", "y ~ ."]), prop::collection::vec(term, 0..6)).prop_map(
        |(head, tail)| tail.into_iter().fold(head.to_owned(), |text, (sign, item)| text + sign + item),
    )
}

/// Bytes with many of those that mean something to the CSV reader.
fn csv_like() -> impl Strategy<Value = Vec<u8>> {
    let pieces = "\" \"\" , , , \n \n \r\n \r 1 2.5 NA x y é end \nend true \0 \u{feff}";
    let pieces: Vec<&[u8]> = pieces.split(' ').map(str::as_bytes).chain([&b" "[..], b"\xFF"]).collect();
    prop::collection::vec(prop::sample::select(pieces), 0..40).prop_map(|pieces| pieces.concat())
}

/// A name that any header and formula can carry.
fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-zA-Z_.][a-zA-Z0-9_.]{0,8}", "\\PC{1,8}"]
        .prop_map(|name| name.trim().to_owned())
        .prop_filter("a name is not empty", |name| !name.is_empty())
}

fn distinct_names(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<String>> {
    prop::collection::btree_set(name(), count).prop_map(|set| set.into_iter().collect())
}

fn in_back_quotes(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

fn in_quotes(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn finite() -> impl Strategy<Value = f64> {
    any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |value| value.is_finite())
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// Whatever the text: no panic, and an error points into it at whole characters.
fn parses_or_points(text: &str) {
    if let Err(error) = Formula::parse(text) {
        let span = error.span().expect("every refusal of a formula has a place");
        assert!(text.get(span).is_some() && !error.to_string().is_empty());
    }
}

fn reads_or_says_why(bytes: &[u8]) {
    match Table::from_csv_bytes(bytes, "t.csv") {
        Err(error) => assert!(error.span().is_none() && !error.to_string().is_empty()),
        Ok(table) => {
            let last = 1 + bytes.iter().filter(|b| matches!(b, b'\n' | b'\r')).count();
            let lines: Vec<usize> = (0..table.rows()).filter_map(|row| table.line_of_row(row)).collect();
            assert!(lines.is_sorted_by(|a, b| a < b) && lines[0] > 1 && lines[lines.len() - 1] <= last);
            for name in table.names() {
                if let Ok(values) = table.numeric(name) {
                    assert!(values.len() == table.rows() && values.iter().all(|value| value.is_finite()));
                }
            }
            let formula = Formula::parse(&format!("{} ~ .", in_back_quotes(&table.names()[0]))).unwrap();
            if let Ok(frame) = ModelFrame::new(&table, &formula, &FrameOptions::default()) {
                assert_eq!(frame.design.population.len(), frame.rows * frame.design.columns);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn the_parser_survives_any_text(bytes in prop::collection::vec(any::<u8>(), 0..64), text in formula_like()) {
        parses_or_points(&String::from_utf8_lossy(&bytes));
        parses_or_points(&text);
    }

    #[test]
    fn the_reader_survives_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..64), text in csv_like()) {
        reads_or_says_why(&bytes);
        reads_or_says_why(&text);
    }

    #[test]
    fn canonical_text_parses_to_the_same_formula(text in prop_oneof![formula_like(), formula()]) {
        if let Ok(formula) = Formula::parse(&text) {
            let canonical = formula.to_string();
            let again = Formula::parse(&canonical).unwrap();
            prop_assert_eq!(&again, &formula);
            prop_assert_eq!(again.to_string(), canonical);
        }
    }
}

proptest! {
    #[test]
    fn any_names_make_a_formula(names in distinct_names(2..6), intercept: bool, dot: bool) {
        let mut terms: Vec<String> = names[1..].iter().map(|name| in_back_quotes(name)).collect();
        terms.extend(dot.then(|| ".".to_owned()));
        terms.extend((!intercept).then(|| "0".to_owned()));
        let formula = Formula::parse(&format!("{} ~ {}", in_back_quotes(&names[0]), terms.join("+"))).unwrap();
        prop_assert_eq!(formula.response_name(), names[0].clone());
        prop_assert_eq!(formula.terms().len(), names.len() - 1 + usize::from(dot));
        prop_assert_eq!(Formula::parse(&formula.to_string()).unwrap(), formula);
    }

    #[test]
    fn a_written_table_reads_back_to_the_bit(
        names in distinct_names(2..6),
        seed in prop::collection::vec(prop::collection::vec(finite(), 6), 1..12),
        crlf: bool,
    ) {
        let rows: Vec<&[f64]> = seed.iter().map(|row| &row[..names.len()]).collect();
        let end = if crlf { "\r\n" } else { "\n" };
        let mut csv = names.iter().map(|name| in_quotes(name)).collect::<Vec<_>>().join(",");
        for row in &rows {
            csv += end;
            csv += &row.iter().map(|value| format!("{value:?}")).collect::<Vec<_>>().join(",");
        }
        let table = Table::from_csv_bytes(csv.as_bytes(), "t.csv").unwrap();
        prop_assert_eq!(table.names(), &names);
        prop_assert_eq!(table.rows(), rows.len());
        for (j, name) in names.iter().enumerate() {
            let column: Vec<f64> = rows.iter().map(|row| row[j]).collect();
            prop_assert_eq!(bits(table.numeric(name).unwrap()), bits(&column));
        }

        let formula = Formula::parse(&format!("{} ~ 0 + .", in_back_quotes(&names[0]))).unwrap();
        let frame = ModelFrame::new(&table, &formula, &FrameOptions::default()).unwrap();
        let design: Vec<f64> = rows.iter().flat_map(|row| row[1..].to_vec()).collect();
        prop_assert_eq!(bits(&frame.design.population), bits(&design));
        prop_assert_eq!(&frame.names, &names[1..]);
        let again = ModelFrame::new(&table, &Formula::parse(&frame.formula).unwrap(), &FrameOptions::default()).unwrap();
        prop_assert_eq!(again, frame);
    }
}
