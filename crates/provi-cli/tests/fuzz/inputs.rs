//! Tables, fits and run files that somebody might have.

use std::fmt::Write;

use super::chance::REST;
use super::common::Bench;

/// Every table, by name.
pub(crate) const TABLES: &[&str] = &[
    "good.csv",
    "good.csv",
    "bom.csv",
    "crlf.csv",
    "tabs.tsv",
    "folder/*.csv",
    REST,
    "groups.csv",
    "groups.csv",
    "counts.csv",
    "trials.csv",
    "nan.csv",
    "empty.csv",
    "header.csv",
    "one.csv",
    "two.csv",
    "constant.csv",
    "separable.csv",
    "huge.csv",
    "tiny.csv",
    "missing.csv",
    "all-missing.csv",
    "quote.csv",
    "cut.csv",
    "cut.csv.gz",
    "not.csv.gz",
    "twice.csv",
    "cr.csv",
    "unicode.csv",
    "edge.csv",
    "whole.csv",
    "levels.csv",
    "weights.csv",
    "exposure.csv",
    "trials-short.csv",
    "wide.csv",
    "bytes.csv",
    "semicolons.csv",
    "commas.csv",
    "blank.csv",
    "unnamed.csv",
    "long-line.csv",
    "dates.csv",
    "bools.csv",
    "same.csv",
    "not.parquet",
    "folder",
    "nowhere.csv",
    "-",
    "/dev/null",
];

/// Every fit.
pub(crate) const FITS: &[&str] = &[
    "both.fit",
    "both.fit",
    "x.fit",
    "dose.fit",
    "dose-z.fit",
    REST,
    "cut.fit",
    "empty.fit",
    "null.fit",
    "indefinite.fit",
    "nan.fit",
    "other.json",
    "good.csv",
    "folder",
    "nowhere.fit",
    "deep.fit",
    "short.json",
];

/// Every run file.
pub(crate) const RUNS: &[&str] =
    &["good.toml", REST, "nowhere.toml", "key.toml", "type.toml", "cut.toml", "huge.toml"];

fn table(columns: &str, rows: usize, row: impl Fn(usize) -> String) -> String {
    let mut text = format!("{columns}\n");
    for i in 0..rows {
        let _ = writeln!(text, "{}", row(i));
    }
    text
}

/// Between −1 and 1, scattered.
fn x(i: usize) -> f64 {
    (i as f64 * 0.618_033_988_749_895).fract() * 2.0 - 1.0
}

fn plain(scale: f64) -> String {
    table("y,x,z,g,n", 60, |i| {
        let y = u8::from(x(i) + 0.8 * x(7 * i + 3) > 0.1);
        format!(
            "{y},{},{},{},{}",
            scale * x(3 * i),
            scale * x(5 * i + 1),
            ["a", "b", "c", "d"][i % 4],
            1 + i % 5
        )
    })
}

/// A folder with all of them.
pub(crate) fn bench() -> Bench {
    let bench = Bench::with_fits();
    let good = plain(1.0);
    let row = |i: usize| format!("{},{},{}", i % 2, x(i), x(2 * i + 1));
    bench
        .write("good.csv", &good)
        .write("groups.csv", &table("y,x,g,h", 80, |i| format!("{},{},g{},h{}", 3.0 * x(i) + 250.0, x(3 * i), i % 9, i % 3)))
        .write("counts.csv", &table("y,x,g", 40, |i| format!("{},{},{}", (i * i) % 7, x(i), i % 3)))
        .write("trials.csv", &table("y,n,x,g", 40, |i| format!("{},{},{},{}", i % 4, 4 + i % 3, x(i), i % 5)))
        .write("nan.csv", "y,x,g\n1,NaN,a\n0,inf,b\nNaN,-inf,a\n1,1,\n")
        .write("empty.csv", "")
        .write("header.csv", "y,x,g\n")
        .write("one.csv", "y,x,g\n1,0.5,a\n")
        .write("two.csv", "y,x,g\n1,0.5,a\n0,0.5,b\n")
        .write("constant.csv", &table("y,x,z,g", 20, |i| format!("1,3,{},a", x(i))))
        .write("separable.csv", &table("y,x,z", 30, |i| format!("{},{},{}", u8::from(i > 14), i as f64 - 14.5, x(i))))
        .write("huge.csv", &plain(1e300))
        .write("tiny.csv", &plain(1e-300))
        .write("missing.csv", &table("y,x,g", 30, |i| if i % 3 == 0 { ",NA,".into() } else { format!("{},{},a", i % 2, x(i)) }))
        .write("all-missing.csv", &table("y,x,g", 9, |_| "NA,NA,NA".into()))
        .write("quote.csv", "y,x,g\n1,0.5,\"a\n0,1,b\n")
        .write("cut.csv", "y,x,g\n1,0.5,a\n0,1")
        .write("not.csv.gz", "y,x\n1,2\n")
        .write("twice.csv", &table("y,x,x", 9, row))
        .write("bom.csv", &format!("\u{feff}{good}"))
        .write("crlf.csv", &good.replace('\n', "\r\n"))
        .write("cr.csv", &good.replace('\n', "\r"))
        .write("unicode.csv", &table("y,größe,x y,`", 20, |i| format!("{},{},{},ß{}", i % 2, x(i), x(3 * i), i % 3)))
        .write("edge.csv", "y,x,z\n1,1e308,1\n0,-1e308,2\n1,1.7e308,3\n0,5e-324,4\n1,-0,5\n0,1e400,6\n")
        .write("whole.csv", &table("y,x,g", 20, |i| format!("{},{},{}", i % 2, 9_223_372_036_854_775_800u64 + i as u64, 9_007_199_254_740_993u64 + i as u64)))
        .write("levels.csv", &table("y,x,g", 3000, |i| format!("{},{},level{i}", i % 2, x(i))))
        .write("weights.csv", &table("y,x,n,w", 20, |i| format!("{},{},{},{}", i % 2, x(i), [0.0, 1.0, 1e13, 1e-9][i % 4], 0)))
        .write("exposure.csv", &table("y,x,n,w", 20, |i| format!("{},{},{},{}", i % 5, x(i), -1.0 + (i % 3) as f64, 1)))
        .write("trials-short.csv", &table("y,n,x", 12, |i| format!("{},{},{}", 5 + i, 3, x(i))))
        .write("wide.csv", &wide())
        .write("semicolons.csv", &good.replace(',', ";"))
        .write("tabs.tsv", &good.replace(',', "\t"))
        .write("commas.csv", "y,x\n1,0,5\n0,1,5,\n")
        .write("blank.csv", "\n\n\n")
        .write("unnamed.csv", ",,\n1,2,3\n0,1,2\n")
        .write("long-line.csv", &format!("y,x\n1,{}\n0,1\n", "9".repeat(300_000)))
        .write("dates.csv", &table("y,x,g", 20, |i| format!("{},2024-01-{:02},{}", i % 2, 1 + i, i % 2)))
        .write("bools.csv", &table("y,x,g", 20, |i| format!("{},{},{}", i % 2 == 0, i % 3 == 0, x(i))))
        .write("same.csv", &table("y,x,z", 20, |i| format!("{},{},{}", i % 2, x(i), 2.0 * x(i))))
        .write("not.parquet", "PAR1 and no more PAR1")
        .write("cov.csv", "name,(Intercept),x\n(Intercept),4,0.1\nx,0.1,1\n")
        .write("good.toml", "data = \"good.csv\"\nformula = \"y ~ x\"\nseed = 1\n")
        .write("nowhere.toml", "data = \"nowhere.csv\"\nformula = \"y ~ x\"\n")
        .write("key.toml", "data = \"good.csv\"\nformula = \"y ~ x\"\nspeed = 3\n")
        .write("type.toml", "data = 3\nformula = [\"y ~ x\"]\nthreads = 99999999\n")
        .write("cut.toml", "data = \"good.csv\nformula = ")
        .write("huge.toml", "data = \"good.csv\"\nformula = \"y ~ x\"\nsteps = 9223372036854775807\ntime-limit = 1e-9\n[step]\ndraws = 4294967295\n")
        .write("other.json", r#"{"mean": [0, 1], "covariance": [[1, 0.1], [0.1, 2]]}"#)
        .write("short.json", r#"{"mean": [0, 1], "L": [1]}"#);
    std::fs::write(bench.path("bytes.csv"), [121, 44, 120, 10, 0xff, 0xfe, 0, 44, 49, 10, 0, 0]).unwrap();
    // The first bytes of a gzipped file, and no more.
    std::fs::write(bench.path("cut.csv.gz"), [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xab, 0xd4, 0xa9]).unwrap();
    std::fs::create_dir(bench.path("folder")).unwrap();
    bench.write("folder/a.csv", &good).write("folder/b.csv", &good);
    let fit = std::fs::read_to_string(bench.path("both.fit/fit.json")).unwrap();
    for (name, text) in [
        ("cut.fit", fit[..fit.len() / 2].to_owned()),
        ("empty.fit", String::new()),
        ("null.fit", fit.replace("\"mean\": [", "\"mean\": [null, ")),
        ("indefinite.fit", fit.replacen("\"covariance\": [[", "\"covariance\": [[-1e9", 1)),
        ("nan.fit", fit.replace("\"seed\": 0", "\"seed\": 1e999")),
        ("deep.fit", "[".repeat(100_000)),
    ] {
        std::fs::create_dir(bench.path(name)).unwrap();
        bench.write(&format!("{name}/fit.json"), &text);
    }
    bench
}

/// Many more columns than rows.
fn wide() -> String {
    let columns: Vec<String> = (0..60).map(|j| format!("x{j}")).collect();
    table(&format!("y,{}", columns.join(",")), 12, |i| {
        let row: Vec<String> = (0..60).map(|j| x(61 * i + j).to_string()).collect();
        format!("{},{}", i % 2, row.join(","))
    })
}
