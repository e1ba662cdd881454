//! Laws of reading: nothing panics, canonical text is a fixed point, numbers keep their bits.

use std::{fs, io::Write, sync::LazyLock};

use proptest::prelude::*;
use provi_table::{Formula, FrameOptions, Missing, ModelFrame, NewLevels, Recipe, Table};

/// Text with many of the words that mean something to the formula parser.
fn formula_like() -> impl Strategy<Value = String> {
    let words = "~ + - . 0 1 2x 2 1e-3 ` `` ( ( ) ) | || : * / ^ , = y y~ a b g `b_c` `b.c~` é \u{301} log( I( scale( \
                 poly( bs( s( k= period= bs=\"cc\" factor( offset( cbind( surv( interval( trials( center( foo( @ \u{2003}";
    let words: Vec<&str> = words.split(' ').chain([" "]).collect();
    prop::collection::vec(prop::sample::select(words), 0..24).prop_map(|words| words.concat())
}

/// Arithmetic on columns.
fn expression() -> impl Strategy<Value = String> {
    let leaf =
        prop::sample::select(vec!["a", "b", "`a b`", "2", "0.5", "1e-7", "a^2"]).prop_map(str::to_owned);
    leaf.prop_recursive(3, 12, 2, |inner| {
        prop_oneof![
            (inner.clone(), prop::sample::select(vec!["+", " - ", "*", "/", "^"]), inner.clone())
                .prop_map(|(x, operation, y)| format!("{x}{operation}{y}")),
            (prop::sample::select(vec!["(", "-(", "log(", "exp(", "sqrt(", "abs(", "log1p("]), inner)
                .prop_map(|(call, x)| format!("{call}{x})")),
        ]
    })
}

/// One term, most of them good.
fn term() -> impl Strategy<Value = String> {
    let plain = vec![". ", "0", "a", "h", "a", "b ", "`a b`", "`1`", "`a``b`", "é", "factor(g)", "C(a)"];
    let leaf = prop_oneof![
        4 => prop::sample::select(plain).prop_map(str::to_owned),
        1 => expression().prop_map(|x| format!("I(a + {x})")),
        1 => (prop::sample::select(vec!["scale", "center", "log", "offset"]), expression())
            .prop_map(|(call, x)| format!("{call}(b * ({x}))")),
        1 => (expression(), 3..7usize).prop_map(|(x, k)| format!("poly(b + {x}, {k}) + bs(a - ({x}), df={k})")),
        1 => (expression(), 4..7usize)
            .prop_map(|(x, k)| format!("s(b + {x}) + s(a, {k}) + s(b, period = 0.{k}, k={k})")),
    ];
    leaf.prop_recursive(3, 12, 2, |inner| {
        prop_oneof![
            (inner.clone(), prop::sample::select(vec![":", "*", " / ", "+", " - "]), inner.clone())
                .prop_map(|(x, operation, y)| format!("{x}{operation}{y}")),
            inner.clone().prop_map(|x| format!("({x})")),
            inner.prop_map(|x| format!("({x})^2")),
        ]
    })
}

/// Formulas, many of them good.
fn formula() -> impl Strategy<Value = String> {
    let heads = vec![
        "y ~ a",
        "`y z`~1",
        "y ~ .",
        "log(y)~0",
        "cbind(y, n) ~ a",
        "surv(y, n) ~ b",
        "surv(y, n, c) ~ b",
        "interval(y, n) ~ b",
        "y|trials(n) ~ b",
        "y | trials(7)~1",
    ];
    let grouping = prop::sample::select(vec!["|g", " || g", "| g/h", "|g:h", "| `a b`"]);
    let group = (term(), grouping).prop_map(|(x, grouping)| format!("({x} {grouping})"));
    let tail =
        (prop::sample::select(vec!["+", "+", " + ", "+", "+ -"]), prop_oneof![3 => term(), 1 => group]);
    (prop::sample::select(heads), prop::collection::vec(tail, 0..5)).prop_map(|(head, tail)| {
        tail.into_iter().fold(head.to_owned(), |text, (sign, item)| text + sign + &item)
    })
}

/// Bytes with many of those that mean something to the CSV reader.
fn csv_like() -> impl Strategy<Value = Vec<u8>> {
    let pieces =
        "\" \"\" ' , , , ; ; | \t 2024-01-31 1,5 inf \n \n \r\n \r 1 2.5 NA x y é end \nend true \0 \u{feff}";
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
    match Table::read(bytes, "t.csv") {
        Err(error) => assert!(error.span().is_none() && !error.to_string().is_empty()),
        Ok(table) => {
            let last = 1 + bytes.iter().filter(|b| matches!(b, b'\n' | b'\r')).count();
            let lines: Vec<usize> = (0..table.rows()).filter_map(|row| table.line_of_row(row)).collect();
            assert!(lines.is_sorted_by(|a, b| a < b) && lines[0] > 1 && lines[lines.len() - 1] <= last);
            assert_eq!(table.describe().columns.len(), table.names().len());
            for name in table.names() {
                if let Ok(values) = table.numeric(name) {
                    assert!(values.len() == table.rows() && values.iter().all(|value| value.is_finite()));
                }
            }
            let formula = Formula::parse(&format!("{} ~ .", in_back_quotes(&table.names()[0]))).unwrap();
            for missing in [Missing::Error, Missing::Drop] {
                for standardize in [false, true] {
                    let options = FrameOptions { missing, standardize, ..FrameOptions::default() };
                    if let Ok(frame) = ModelFrame::new(&table, &formula, &options) {
                        assert_eq!(frame.design.population.len(), frame.rows * frame.design.columns);
                        frame.collinearity();
                    }
                }
            }
        }
    }
}

/// Small files that the readers of packed formats take as they are.
static PACKED: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(b"y,x,town\n1,2,Bern\n0,3,Basel\n1,4.5,\n").unwrap();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");
    let parquet = ["none", "snappy", "zstd", "gzip"]
        .map(|codec| fs::read(format!("{folder}/table-{codec}.parquet")).unwrap());
    std::iter::once(encoder.finish().unwrap()).chain(parquet).collect()
});

/// A packed file with a few bytes changed, perhaps cut, perhaps with its end put back.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let change = (any::<prop::sample::Index>(), any::<u8>());
    let changes = prop::collection::vec(change, 0..4);
    (
        0..PACKED.len(),
        changes,
        prop::option::weighted(0.1, any::<prop::sample::Index>()),
        prop::bool::weighted(0.05),
    )
        .prop_map(|(file, changes, cut, end)| {
            let mut bytes = PACKED[file].clone();
            for (place, byte) in changes {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
            if let Some(cut) = cut {
                bytes.truncate(cut.index(bytes.len()));
            }
            if end {
                bytes.extend_from_slice(b"PAR1");
            }
            bytes
        })
}

/// A table that most of the formulas above can use.
static PEOPLE: LazyLock<Table> = LazyLock::new(|| {
    let mut csv = "y,y z,n,a,b,a b,1,a`b,é,g,h\n".to_owned();
    for i in 1..=24u32 {
        let wave = |k: u32| f64::from(i * k % 13) + f64::from(i) / 8.0;
        csv += &format!(
            "{},{},{},{},{},{},{},{},{},{},{}\n",
            i % 3,
            i % 2,
            5 + i % 4,
            wave(2),
            wave(5),
            wave(7),
            wave(3),
            wave(11),
            wave(6),
            ["u", "v", "w"][(i % 3) as usize],
            ["p", "q"][(i / 3 % 2) as usize],
        );
    }
    Table::read(csv.as_bytes(), "people.csv").unwrap()
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn the_readers_of_packed_files_survive_damage(bytes in damaged()) {
        if let Ok(table) = Table::read(&bytes, "t") {
            prop_assert_eq!(table.describe().rows, table.rows());
        }
    }

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
    fn a_formula_makes_a_frame_that_its_recipe_reproduces(text in formula(), standardize: bool) {
        let options = FrameOptions { standardize, ..FrameOptions::default() };
        let Ok(formula) = Formula::parse(&text) else { return Ok(()) };
        let Ok(frame) = ModelFrame::new(&PEOPLE, &formula, &options) else { return Ok(()) };
        prop_assert_eq!(frame.names.len(), frame.design.columns);
        prop_assert_eq!(frame.roles.len(), frame.design.columns);
        let recipe: Recipe = serde_json::from_str(&serde_json::to_string(frame.recipe()).unwrap()).unwrap();
        let rows = recipe.rows(&PEOPLE, NewLevels::Refuse).unwrap();
        prop_assert_eq!(bits(&rows.design.population), bits(&frame.design.population));
        prop_assert_eq!(&rows.design, &frame.design);
        let again = ModelFrame::new(&PEOPLE, &Formula::parse(&frame.formula).unwrap(), &options).unwrap();
        prop_assert_eq!(again, frame);
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
