//! Unproven recipes through the real binary: fit, certify, run files, and refusals.

use std::path::Path;

use crate::common::Bench;
use serde_json::Value;

const VOTES: [&str; 4] = ["votes.csv", "dole ~ conservative + decades", "--prior-scale", "1"];
const RECIPES: [&str; 4] = ["natural-gradient", "bures-wasserstein", "batch-and-match", "dowg"];

fn bench() -> Bench {
    let bench = Bench::new();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/votes.csv");
    std::fs::copy(data, bench.path("votes.csv")).unwrap();
    bench
}

#[test]
fn a_recipe_says_that_it_is_unproven_and_its_answer_is_certified() {
    let bench = bench();
    for method in RECIPES {
        let how = ["--method", method, "--steps", "300", "--draws", "32", "--out", method, "--quiet"];
        let said = bench.provi(&[&["fit"], &VOTES[..], &how].concat()).exits(0).stdout;
        let text = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&format!("{method}, 32 draws a step, 300 steps")), "{text}");
        assert!(text.contains(&format!("{method} is an unproven recipe")), "{text}");
        let read = |out: &str| -> Value {
            let path = bench.path(out).join("fit.json");
            serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
        };
        let file = read(method);
        assert_eq!((&file["method"], &file["plan_bound"]["value"]), (&method.into(), &Value::Null));
        let gap = file["certificate"]["gap"]["bound"].as_f64().unwrap();
        // A match seeks another Gaussian than the best. The noise of DoWG does not vanish where q = p, and this bound divides by H_lo.
        let most = match method {
            "batch-and-match" => 0.2,
            "dowg" => 2.0,
            _ => 0.05,
        };
        assert!(gap > 0.0 && gap < most, "{method}: {gap}");
        bench.provi(&["certify", method, "votes.csv", "--seed", "2"]).exits(0);
        let config = format!("{method}/run.toml");
        bench.provi(&["fit", "--config", &config, "--out", "again", "--force", "--quiet"]).exits(0);
        assert_eq!(read("again")["mean"], file["mean"]);
        let explained = bench.provi(&["explain", method]).exits(0).stdout;
        assert!(explained.starts_with("recipes: "), "{explained}");
    }
}

#[test]
fn what_a_recipe_cannot_do_is_refused_with_the_way_out() {
    let bench = bench();
    for (args, words) in [
        (&["--method", "natural-gradient", "--distance", "0.1"][..], "use one of the proved methods"),
        (&["--method", "bures-wasserstein", "--family-of-q", "meanfield"], "keeps a family"),
        (&["--method", "batch-and-match", "--subsample", "50"], "the recipe natural-gradient"),
        (&["--method", "natural"], "natural-gradient"),
        (&["--method", "exact", "--coupling", "latin"], "makes no draws"),
        (&["--method", "prox-energy", "--coupling", "halton"], "antithetic"),
    ] {
        let said = bench.provi(&[&["fit"], &VOTES[..], args, &["--quiet"]].concat()).exits(2);
        let text = said.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(words), "{args:?}: {text}");
    }
    let plan = ["--method", "natural-gradient", "--steps", "9"];
    bench.provi(&[&["plan"], &VOTES[..], &plan].concat()).exits(2);
}

/// Steps that the draws decide have a bound in advance, and what is certified again agrees with it.
#[test]
fn adaptive_methods_say_their_bound_and_are_certified() {
    let bench = bench();
    for method in ["proj-adaptive", "proj-adaptive-stl"] {
        let how = ["--method", method, "--steps", "200", "--draws", "16", "--out", method, "--quiet"];
        let said = bench.provi(&[&["fit"], &VOTES[..], &how].concat()).exits(0).stdout;
        assert!(said.contains("[rate-proj-adaptive]; constants proved"), "{said}");
        bench.provi(&["certify", method, "votes.csv", "--seed", "2"]).exits(0);
        let explained = bench.provi(&["explain", method]).exits(0).stdout;
        assert!(explained.starts_with("methods: "), "{explained}");
        let terms = ["--method", method, "--subsample", "50", "--quiet"];
        bench.provi(&[&["fit"], &VOTES[..], &terms].concat()).exits(2);
    }
}
