//! A command line, out of a number.

use std::time::Duration;

use super::chance::{Chance, REST};
use super::inputs::{FITS, RUNS, TABLES};

/// What is run, and when ctrl-C is pressed.
pub(crate) struct Case {
    pub(crate) number: u64,
    pub(crate) words: Vec<String>,
    pub(crate) time_limit: Option<f64>,
    pub(crate) interrupts: Vec<Duration>,
}

const FORMULAS: &[&str] = &[
    "y ~ x",
    "y ~ x",
    "y ~ x",
    "y ~ .",
    "y ~ .",
    "y ~ x + z",
    "y ~ x * g",
    "y ~ x + (1 | g)",
    "y ~ (x | g)",
    "y ~ 1",
    "ordered(y) ~ x",
    "ordered(g) ~ x",
    "y ~ 0 + x",
    "y ~ -1 + g",
    "y ~ poly(x, 3)",
    "y ~ s(x, k = 4)",
    "y ~ s(x, period = 2, k = 4) + z",
    "y ~ I(x^2)",
    "y ~ scale(x)",
    "y ~ (x + z + g)^3",
    "y ~ I(x > 0)",
    REST,
    "y ~ 0",
    "y | trials(n) ~ x",
    "cbind(y, n) ~ x",
    "y ~ poly(x, 3)",
    "y ~ poly(x, 99)",
    "y ~ s(x)",
    "y ~ s(x):g",
    "y ~ s(g, k = 99)",
    "y ~ log(x)",
    "y ~ I(x^2)",
    "y ~ I(x/0)",
    "y ~ scale(x)",
    "y ~ factor(x)",
    "y ~ offset(x)",
    "y ~ x:z:g",
    "y ~ x^4",
    "y ~ (x + z + g)^3",
    "y ~ nothing",
    "x ~ y",
    "y ~ y",
    "g ~ x",
    "",
    "~",
    "y ~",
    "~ x",
    "y ~ ~ x",
    "y ~ x +",
    "y ~ (",
    "y ~ (1 |",
    "y ~ (1 | g) + (1 | g)",
    "y ~ `größe`",
    "y ~ `x y` + `",
    "y ~ 'x'",
    "y ~ x + 1e999",
    "y ~ log(log(x))",
    "y ~ (1 | h/g)",
    "y ~ x %in% g",
    "y ~ \u{202e}x",
    "y = x",
    "y ~ x; rm",
    "y ~ ns(x, 3)",
    "y ~ I(x > 0)",
];

/// Cards that no machine has are refused; the first one may be there.
const DEVICES: &[&str] = &["auto", "cpu", REST, "cuda:4294967295", "gpu", "cuda:", ""];

const NUMBERS: &[&str] = &[
    "1",
    "0.5",
    "0.01",
    "2.5",
    REST,
    "0",
    "-1",
    "1e-300",
    "1e300",
    "nan",
    "inf",
    "-inf",
    "1e-9",
    "1000000000000",
    "18446744073709551615",
    "18446744073709551616",
    "abc",
    "",
    "1e308",
    "٣",
];

const COUNTS: &[&str] = &[
    "1",
    "2",
    "7",
    "100",
    "4000",
    REST,
    "0",
    "100000",
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "-3",
    "1.5",
    "x",
];

const FAMILIES: &[&str] = &[
    "bernoulli",
    "probit",
    "poisson",
    "gaussian",
    "gamma",
    "weibull",
    "ordered",
    "multinomial",
    "student",
    "betabinomial",
    "zipoisson",
    "negbinomial",
    "exponential",
    "cloglog",
    REST,
    "binomial",
    "weibull",
    "",
];

const COUPLINGS: &[&str] = &["independent", "antithetic", "latin", "sobol", REST, "halton", ""];

const METHODS: &[&str] = &[
    "auto",
    "exact",
    "prox-energy",
    "proj-entropy",
    "proj-entropy-triangular",
    "proj-stl",
    "prox-controlled",
    "proj-adaptive",
    "proj-adaptive-stl",
    "proj-controlled",
    "natural-gradient",
    "bures-wasserstein",
    "batch-and-match",
    "dowg",
    REST,
    "adam",
];

const LIMITS: &[&str] = &["0.001", "0.01", "0.05", "0.1", "0.2"];

const SIZES: &[&str] = &["2GiB", REST, "1MiB", "0", "1e17B", "3", "-1GB", "all"];

const OUTS: &[&str] =
    &["a.new", "b.new", REST, "x.fit", "good.csv", "no/where/deep.new", "/proc/nothing", "folder"];

const TOPICS: &[&str] =
    &["gap", "kl", REST, "khat", "mu", "status", "", "GAP", "no such word", "ß", "--", "κ"];

type Words = Vec<String>;

fn say(words: &mut Words, all: &[&str]) {
    words.extend(all.iter().map(|word| (*word).to_owned()));
}

fn option(words: &mut Words, chance: &mut Chance, times: u64, name: &str, values: &[&'static str]) {
    if chance.once_in(times) {
        words.push(format!("{name}={}", chance.of(values)));
    }
}

fn flag(words: &mut Words, chance: &mut Chance, times: u64, name: &str) {
    if chance.once_in(times) {
        words.push(name.to_owned());
    }
}

impl Case {
    pub(crate) fn new(number: u64, chance: &mut Chance) -> Self {
        let mut words = Vec::new();
        let (mut time_limit, mut interrupts) = (None, Vec::new());
        match chance.below(20) {
            0..=8 => {
                time_limit = Some(fit(&mut words, chance));
                if chance.once_in(5) {
                    interrupts =
                        (0..1 + chance.below(2)).map(|_| Duration::from_millis(chance.below(250))).collect();
                    interrupts.sort();
                }
            }
            9 | 10 => certify(&mut words, chance),
            11 => predict(&mut words, chance),
            12 => effects(&mut words, chance),
            13 => sample(&mut words, chance),
            14 => summary(&mut words, chance),
            15 => report(&mut words, chance),
            16 if chance.once_in(2) => loo(&mut words, chance),
            16 => compare(&mut words, chance),
            17 if chance.once_in(2) => prior(&mut words, chance),
            17 => inspect(&mut words, chance),
            18 if chance.once_in(2) => calibrate(&mut words, chance),
            18 if chance.once_in(2) => location_scale(&mut words, chance),
            18 => plan(&mut words, chance),
            _ => explain(&mut words, chance),
        }
        Self { number, words, time_limit, interrupts }
    }
}

/// What every model may be told.
fn model(words: &mut Words, chance: &mut Chance) {
    option(words, chance, 3, "--family", FAMILIES);
    option(words, chance, 12, "--noise-sd", NUMBERS);
    option(words, chance, 16, "--nu", NUMBERS);
    option(
        words,
        chance,
        14,
        "--gaps",
        &["1", "1,2", "0.5,1.5,2", REST, "-1", "1,,2", "nan", "1e308,1e308", ""],
    );
    option(words, chance, 10, "--scales", &["integrate", "maximise", REST, "marginalise", ""]);
    option(words, chance, 6, "--prior-scale", NUMBERS);
    option(
        words,
        chance,
        10,
        "--prior",
        &[
            "normal(0, 1)",
            "x=normal(0, 2)",
            "sd(g)=exponential(1)",
            "gap=half_t(3, 1)",
            REST,
            "sigma=half_t(3, 1e300)",
            "x=normal(1, 1e-9)",
            "x*=normal(0, 1e300)",
            "z=normal(",
            "normal(0, 0)",
        ],
    );
    option(words, chance, 20, "--prior-covariance", &["cov.csv", REST, "good.csv", "nowhere.csv"]);
    option(
        words,
        chance,
        20,
        "--prior-from",
        &["both.fit", "x.fit", REST, "good.csv", "nowhere.fit", "cut.fit", ""],
    );
    option(words, chance, 10, "--group-scale", &["0.5", "g=0.5", REST, "g:x=1e-300", "g=nan", "q=1", "="]);
    option(words, chance, 10, "--factor", &["dense", "sparse", REST, "full", ""]);
    option(words, chance, 12, "--weights", &["n", REST, "w", "x", "g", "y", "q", ""]);
    option(words, chance, 12, "--offset", &["n", "x", REST, "g", "q"]);
    option(words, chance, 12, "--exposure", &["n", REST, "w", "x", "g", "q"]);
    option(words, chance, 15, "--reference", &["g=a", "g=b", REST, "g=q", "x=1", "g", "="]);
    option(words, chance, 8, "--missing", &["drop", "error", REST, "guess"]);
    option(words, chance, 15, "--na", &["none,-9", "a", REST, "0,1", ",", ""]);
    flag(words, chance, 8, "--standardize");
}

const PATTERNS: &[&str] = &[
    "full",
    "meanfield",
    "blocks:1,1",
    "arrow:1",
    "banded:1",
    "lowrank:1",
    REST,
    "blocks:2,1",
    "banded:0",
    "arrow:99",
    "blocks:",
    "diagonal",
    "",
];

/// The time limit.
fn fit(words: &mut Words, chance: &mut Chance) -> f64 {
    say(words, &["fit"]);
    let limit = chance.of(LIMITS);
    say(words, &["--time-limit", limit]);
    match chance.below(12) {
        0 => say(words, &["--config", chance.of(RUNS)]),
        1 => say(words, &["--resume", chance.of(OUTS)]),
        _ => say(words, &[chance.of(TABLES), chance.of(FORMULAS)]),
    }
    model(words, chance);
    option(words, chance, 3, "--method", METHODS);
    option(words, chance, 10, "--distance", NUMBERS);
    option(words, chance, 8, "--steps", COUNTS);
    option(words, chance, 10, "--draws", COUNTS);
    option(words, chance, 10, "--coupling", COUPLINGS);
    option(words, chance, 12, "--coordinates", &["original", "curvature", "laplace", REST, "polar"]);
    option(words, chance, 10, "--subsample", COUNTS);
    option(words, chance, 14, "--sampling", &["uniform", "importance", REST, "reshuffle", "none"]);
    option(words, chance, 8, "--family-of-q", PATTERNS);
    option(words, chance, 5, "--accuracy", NUMBERS);
    option(words, chance, 8, "--kl", NUMBERS);
    option(words, chance, 8, "--table-accuracy", NUMBERS);
    option(words, chance, 12, "--failure-probability", NUMBERS);
    option(words, chance, 8, "--audit-draws", COUNTS);
    option(words, chance, 10, "--seed", COUNTS);
    option(words, chance, 12, "--threads", &["1", "2", "3", "64", REST, "10000", "65535", "65536", "0"]);
    option(
        words,
        chance,
        12,
        "--contrast",
        &["x", "2*x", "-x", REST, "x - z", "1e308*x", "", "x/0", "q", "((x))", "x*x"],
    );
    option(words, chance, 15, "--memory", SIZES);
    option(words, chance, 12, "--memory-budget", SIZES);
    option(words, chance, 12, "--device", DEVICES);
    option(words, chance, 12, "--evaluations", COUNTS);
    option(words, chance, 15, "--starts", &["1", "2", REST, "0", "4294967296", "x"]);
    option(words, chance, 30, "--init", &["x.fit/fit.json", REST, "good.csv", "nowhere.json"]);
    option(words, chance, 30, "--mu", NUMBERS);
    option(words, chance, 30, "--smoothness", NUMBERS);
    option(words, chance, 10, "--checkpoint-every", &["0.001", "1e18", REST, "0", "1e300", "-1", "nan"]);
    option(words, chance, 3, "--out", OUTS);
    flag(words, chance, 6, "--force");
    flag(words, chance, 10, "--prior-sensitivity");
    option(words, chance, 10, "--robust", &["sandwich", "bootstrap", REST, "hc3", ""]);
    option(words, chance, 20, "--cluster", &["g", "z", REST, "nothing", ""]);
    option(words, chance, 20, "--refits", &["2", "5", REST, "1", "-1", "4294967296"]);
    flag(words, chance, 4, "--json");
    flag(words, chance, 2, "--quiet");
    limit.parse().unwrap_or(0.0)
}

fn certify(words: &mut Words, chance: &mut Chance) {
    say(
        words,
        &[
            "certify",
            chance.of(FITS),
            chance.of(&["study.csv", REST, "good.csv", "nan.csv", "nowhere.csv", "folder"]),
        ],
    );
    if chance.once_in(4) {
        say(words, &[chance.of(FORMULAS)]);
        model(words, chance);
    }
    option(words, chance, 3, "--accuracy", NUMBERS);
    option(words, chance, 6, "--kl", NUMBERS);
    option(words, chance, 6, "--table-accuracy", NUMBERS);
    option(words, chance, 1, "--audit-draws", &["2", "100", "4000", REST, "1", "0", "x"]);
    option(words, chance, 2, "--seed", COUNTS);
    option(words, chance, 8, "--device", DEVICES);
    flag(words, chance, 3, "--force");
    flag(words, chance, 3, "--json");
}

fn predict(words: &mut Words, chance: &mut Chance) {
    say(
        words,
        &[
            "predict",
            chance.of(FITS),
            if chance.once_in(2) {
                "study.csv"
            } else {
                chance.of(&["study.csv", REST, "good.csv", "nan.csv", "folder", "huge.csv", "missing.csv"])
            },
        ],
    );
    option(words, chance, 3, "--level", NUMBERS);
    option(words, chance, 3, "--new-levels", &["refuse", "population", REST, "guess"]);
    option(words, chance, 4, "--missing", &["drop", "error"]);
    option(words, chance, 6, "--time", NUMBERS);
    option(words, chance, 3, "--draws", &["1", "3", "1000", REST, "0", "-1", "1e9", "4294967296"]);
    flag(words, chance, 5, "--exact");
    option(words, chance, 4, "--data", &["study.csv", REST, "good.csv", "nowhere.csv"]);
    option(words, chance, 4, "--seed", COUNTS);
    flag(words, chance, 3, "--csv");
    flag(words, chance, 3, "--json");
}

fn prior(words: &mut Words, chance: &mut Chance) {
    say(words, &["prior", chance.of(TABLES), chance.of(FORMULAS)]);
    model(words, chance);
    option(words, chance, 2, "--draws", &["2", "20", "100", REST, "1", "0", "-1", "4294967296"]);
    option(words, chance, 4, "--seed", COUNTS);
    option(words, chance, 4, "--out", OUTS);
    flag(words, chance, 4, "--json");
}

fn calibrate(words: &mut Words, chance: &mut Chance) {
    say(words, &["calibrate", chance.of(TABLES), chance.of(FORMULAS)]);
    model(words, chance);
    words.push(format!("--simulations={}", chance.of(&["20", "25", REST, "3", "0", "x", "4294967296"])));
    words.push(format!("--time-limit={}", chance.of(LIMITS)));
    option(words, chance, 3, "--draws", &["9", "19", "99", REST, "1", "10000", "-1"]);
    option(words, chance, 4, "--level", NUMBERS);
    option(words, chance, 4, "--seed", COUNTS);
    option(words, chance, 6, "--threads", &["1", "2", REST, "0", "x"]);
    option(words, chance, 4, "--out", OUTS);
    flag(words, chance, 4, "--json");
    flag(words, chance, 4, "--quiet");
}

fn location_scale(words: &mut Words, chance: &mut Chance) {
    say(words, &["location-scale", chance.of(TABLES), chance.of(FORMULAS)]);
    model(words, chance);
    let laws =
        ["student-t:8", "laplace", "logistic", "uniform", "gaussian", REST, "student-t:4", "cauchy", ""];
    words.push(format!("--base-law={}", chance.of(&laws)));
    words.push(format!("--time-limit={}", chance.of(LIMITS)));
    option(words, chance, 3, "--method", METHODS);
    option(words, chance, 3, "--steps", &["1", "50", "2000", REST, "0", "-1"]);
    option(words, chance, 6, "--distance", NUMBERS);
    option(words, chance, 6, "--draws", COUNTS);
    option(words, chance, 6, "--coupling", COUPLINGS);
    option(words, chance, 8, "--family-of-q", PATTERNS);
    option(words, chance, 4, "--level", NUMBERS);
    option(words, chance, 4, "--seed", COUNTS);
    option(words, chance, 6, "--threads", &["1", "2", REST, "0", "x"]);
    option(words, chance, 4, "--out", OUTS);
    option(words, chance, 6, "--number", COUNTS);
    flag(words, chance, 4, "--force");
    flag(words, chance, 4, "--json");
    flag(words, chance, 4, "--quiet");
}

fn loo(words: &mut Words, chance: &mut Chance) {
    say(words, &["loo", chance.of(FITS)]);
    if chance.once_in(3) {
        say(words, &[chance.of(FITS)]);
    }
    say(words, &["--data", chance.of(&["study.csv", "good.csv", "nan.csv", "folder", "missing.csv"])]);
    option(words, chance, 3, "--method", &["refit", "psis", REST, "waic", ""]);
    option(words, chance, 3, "--draws", &["100", "1000", REST, "0", "-1", "4294967296"]);
    flag(words, chance, 6, "--certify");
    option(words, chance, 4, "--seed", COUNTS);
    option(words, chance, 4, "--rows", &["r.csv", REST, "x.fit/fit.json", "no/where.csv"]);
    option(words, chance, 6, "--report", &["r.html", REST, "x.fit/fit.json", "no/where.html"]);
    option(words, chance, 6, "--time-limit", &["60", "0.01", REST, "0", "-1", "nan", "inf"]);
    flag(words, chance, 4, "--json");
}

fn effects(words: &mut Words, chance: &mut Chance) {
    say(words, &["effects", chance.of(FITS)]);
    if chance.once_in(2) {
        say(words, &[chance.of(&["x", "z", REST, "y", "g", "nothing", ""])]);
    }
    option(words, chance, 3, "--by", &["z", "x", REST, "y", "g", "nothing"]);
    option(words, chance, 2, "--data", &["study.csv", REST, "good.csv", "nan.csv", "folder", "missing.csv"]);
    option(words, chance, 3, "--kind", &["predictions", "slopes", "contrasts", REST, "means"]);
    option(words, chance, 4, "--scale", &["response", "link", REST, "log"]);
    option(words, chance, 3, "--compare", &["difference", "ratio", "odds-ratio", REST, "hazard"]);
    option(
        words,
        chance,
        4,
        "--values",
        &["0,1", "-1,0,2.5", REST, "nan", "inf,1", "", ",", "a,b", "1e308,-1e308"],
    );
    option(words, chance, 4, "--at", &["z=0", "x=1", REST, "z", "=", "z=a", "nothing=1"]);
    option(words, chance, 4, "--points", &["2", "9", REST, "0", "1", "1000000", "-3"]);
    option(words, chance, 4, "--level", NUMBERS);
    option(words, chance, 4, "--draws", &["100", "200", REST, "0", "99", "-1", "4294967296"]);
    flag(words, chance, 6, "--exact");
    option(words, chance, 4, "--seed", COUNTS);
    option(
        words,
        chance,
        4,
        "--out",
        &["e.csv", "e.json", "e.svg", "e.png", "e.html", REST, "e.pdf", "x.fit/fit.json", "no/where.csv"],
    );
    flag(words, chance, 4, "--csv");
    flag(words, chance, 4, "--json");
}

fn sample(words: &mut Words, chance: &mut Chance) {
    say(words, &["sample", chance.of(FITS)]);
    option(words, chance, 2, "--number", &["1", "3", "5000", REST, "0", "1e12", "100000001", "-2"]);
    option(words, chance, 3, "--format", &["csv", "json", REST, "zarr", "xml"]);
    option(
        words,
        chance,
        3,
        "--out",
        &["d.zarr", "d.csv", REST, "x.fit", "x.fit/fit.json", "folder", "/proc/nothing", "no/where.csv"],
    );
    option(words, chance, 3, "--data", &["study.csv", REST, "good.csv", "nowhere.csv"]);
    flag(words, chance, 4, "--psis");
    flag(words, chance, 3, "--exact");
    option(words, chance, 5, "--tv", NUMBERS);
    option(words, chance, 8, "--device", DEVICES);
    // Few draws take long, and a fit whose draws do is seldom among these.
    option(words, chance, 4, "--time-limit", &["0.2", "1", REST, "0", "-1", "nan", "1e300", "x"]);
    flag(words, chance, 3, "--force");
}

fn summary(words: &mut Words, chance: &mut Chance) {
    say(words, &["summary", chance.of(FITS)]);
    option(words, chance, 2, "--level", NUMBERS);
    option(words, chance, 2, "--contrast", &["x", REST, "dose - x", "1e308*x + 1e308*x", "", "x/0", "q"]);
    flag(words, chance, 3, "--groups");
    flag(words, chance, 3, "--plot");
    flag(words, chance, 3, "--json");
}

fn report(words: &mut Words, chance: &mut Chance) {
    say(words, &["report", chance.of(FITS)]);
    option(words, chance, 2, "--plot", &["forest", "marginals", "trace", REST, "no such plot"]);
    flag(words, chance, 5, "--exact");
    option(words, chance, 5, "--data", &["study.csv", REST, "good.csv", "nowhere.csv"]);
    option(
        words,
        chance,
        2,
        "--out",
        &["r.html", "r.svg", REST, "r.png", "r.pdf", "x.fit/fit.json", "folder", "no/where.html"],
    );
}

fn compare(words: &mut Words, chance: &mut Chance) {
    say(words, &["compare"]);
    for _ in 0..1 + chance.below(3) {
        say(words, &[chance.of(FITS)]);
    }
    flag(words, chance, 3, "--force");
    flag(words, chance, 3, "--json");
}

fn inspect(words: &mut Words, chance: &mut Chance) {
    say(words, &["inspect", chance.of(TABLES)]);
    if chance.once_in(2) {
        say(words, &[chance.of(FORMULAS)]);
    }
    flag(words, chance, 3, "--json");
}

fn plan(words: &mut Words, chance: &mut Chance) {
    let command = chance.of(&["plan", "plan", "constants"]);
    say(words, &[command, chance.of(TABLES), chance.of(FORMULAS)]);
    model(words, chance);
    if command == "plan" {
        option(words, chance, 2, "--distance", NUMBERS);
        option(words, chance, 2, "--steps", COUNTS);
        option(words, chance, 2, "--method", METHODS);
        option(words, chance, 4, "--draws", COUNTS);
        option(words, chance, 4, "--coupling", COUPLINGS);
        option(words, chance, 4, "--subsample", COUNTS);
        option(words, chance, 4, "--family-of-q", PATTERNS);
    }
    flag(words, chance, 4, "--json");
}

fn explain(words: &mut Words, chance: &mut Chance) {
    match chance.below(4) {
        0 => say(words, &["explain"]),
        1 => say(
            words,
            &[chance.of(&["help", "--help", "--version", REST, "", "fti", "completions", "man", "demo --x"])],
        ),
        _ => say(words, &["explain", chance.of(TOPICS)]),
    }
}
