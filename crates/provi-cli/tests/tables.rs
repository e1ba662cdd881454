//! What the command makes of tables that are not as numbers should be, and of those that no memory holds.

use crate::common::Bench;
use serde_json::Value;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Of a message that is wrapped at some width: its words.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A binary response that leans on a number, with words for missing values in every column.
fn odd_table() -> String {
    let row = |i: usize| {
        let x = if i.is_multiple_of(5) { "-9".to_owned() } else { format!("{}", (i * 7 % 13) as f64 / 4.0) };
        let town = ["Bern", "Basel", "none"][i * 5 % 3];
        let day = format!("2024-{:02}-{:02}", 1 + i % 12, 1 + i % 28);
        format!("{},{x},{town},{day},{}\n", (i * 11 % 7) / 4, (1u64 << 53) + i as u64 % 20)
    };
    format!("y,x,town,day,id\n{}", (0..120).map(row).collect::<String>())
}

#[test]
fn words_for_missing_values_hold_in_the_command_in_run_files_and_in_predictions() {
    let bench = Bench::new();
    bench.write("odd.csv", &odd_table());
    let said =
        bench.provi(&["fit", "odd.csv", "y ~ x + town", "--na", "none,-9", "--out", "a", "--quiet"]).exits(0);
    assert!(said.stdout.contains("left out"), "{}", said.stdout);
    let fit = json(&std::fs::read_to_string(bench.path("a/fit.json")).unwrap());
    assert_eq!(fit["model"]["recipe"]["na"], serde_json::json!(["none", "-9"]));
    bench.write(
        "run.toml",
        "data = \"odd.csv\"\nformula = \"y ~ x + town\"\n[model]\nna = [\"none\", \"-9\"]\n",
    );
    bench.provi(&["fit", "--config", "run.toml", "--out", "b", "--quiet"]).exits(0);
    let again = json(&std::fs::read_to_string(bench.path("b/fit.json")).unwrap());
    assert_eq!(fit["mean"], again["mean"]);
    // New rows are read by the fit's own list.
    bench.write("new.csv", "x,town\n1.5,Bern\n-9,Basel\n2,none\n");
    let refused = bench.provi(&["predict", "a", "new.csv"]).exits(2);
    assert!(
        unwrapped(&refused.stderr).contains("missing value(s), the first `-9` on line 3"),
        "{}",
        refused.stderr
    );
    bench.provi(&["predict", "a", "new.csv", "--missing", "drop"]).exits(0);
    // And block by block, the fit is the same.
    let args = ["fit", "odd.csv", "y ~ x + town", "--na", "none,-9", "--memory", "16MB", "--json", "--quiet"];
    let blocks = json(&bench.provi(&args).exits(0).stdout);
    let close =
        |i: usize| (blocks["mean"][i].as_f64().unwrap() - fit["mean"][i].as_f64().unwrap()).abs() < 1e-6;
    assert!((0..3).all(close));
}

#[test]
fn long_ids_stay_apart_and_dates_say_their_unit() {
    let bench = Bench::new();
    bench.write("odd.csv", &odd_table());
    let fit =
        json(&bench.provi(&["fit", "odd.csv", "y ~ 1 + (1 | id)", "--json", "--quiet"]).exits(0).stdout);
    let names: Vec<&str> = fit["names"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(names.len(), 21);
    assert!(names.contains(&"(1 | id)[9007199254740993]"), "{names:?}");
    let said = bench.provi(&["fit", "odd.csv", "y ~ scale(day)"]).exits(0);
    let text = unwrapped(&(said.stdout + &said.stderr));
    assert!(text.contains("column `day` holds dates, which count as days since 1970-01-01"), "{text}");
}

#[test]
fn a_column_that_turns_to_categories_is_named_with_its_words() {
    let bench = Bench::new();
    let rows: String =
        (0..40).map(|i| format!("{},{}\n", i % 2, if i % 4 == 0 { "7.5" } else { "-" })).collect();
    bench.write("few.csv", &format!("y,x\n{rows}"));
    let said = bench.provi(&["fit", "few.csv", "y ~ x"]);
    let text = unwrapped(&(said.stdout + &said.stderr));
    assert!(text.contains("column `x` is taken as categories") && text.contains("--na '-'"), "{text}");
}

#[test]
fn an_input_without_an_end_is_refused() {
    let bench = Bench::new();
    for args in [&["fit", "/dev/zero", "y ~ x"][..], &["inspect", "/dev/zero"]] {
        let said = bench.provi(args).exits(2);
        assert!(unwrapped(&said.stderr).contains("`/dev/zero` is longer than 64 MiB"), "{}", said.stderr);
    }
}

#[test]
fn a_hundred_thousand_levels_are_fitted_or_refused_before_their_square_is_asked_for() {
    let bench = Bench::new();
    let rows: String = (0..100_000).map(|i| format!("{},g{i}\n", i % 2)).collect();
    bench.write("wide.csv", &format!("y,g\n{rows}"));
    let said = bench.provi(&["fit", "wide.csv", "y ~ 1 + (1 | g)", "--group-scale", "1", "--quiet"]).exits(0);
    assert!(said.stdout.contains("[sparse-optimum]"), "{}", said.stdout);
    let said = bench.provi(&["fit", "wide.csv", "y ~ 1 + (1 | g)", "--factor", "dense"]).exits(2);
    let text = unwrapped(&said.stderr);
    assert!(text.contains("100,001 coefficients") && text.contains("80.0 GB each"), "{text}");
    assert!(text.contains("fewer levels"), "{text}");
    let said = bench.provi(&["fit", "wide.csv", "y ~ g"]).exits(2);
    let text = unwrapped(&said.stderr);
    assert!(text.contains("population columns") && !text.contains("(1 | g)"), "{text}");
}
