//! Where log densities are taken: a card that is not there, and what the processor gives without one.

use crate::common::Bench;

const SMALL: &str = "y,age,dose\n1,31,0.5\n0,45,1.5\n0,28,2.5\n1,52,0.1\n1,40,0.7\n0,33,1.1\n";
const NO_CARD: &str = "cuda:4000000000";

/// Status 2, nothing on standard output, what is missing and the way out.
fn refuses(bench: &Bench, args: &[&str], device: &str) {
    let said = bench.provi(args).exits(2);
    assert_eq!(said.stdout, "");
    let words = format!("device {device} cannot be used: no ");
    assert!(said.stderr.contains(&words), "{}", said.stderr);
    assert!(said.stderr.contains("say auto or cpu, or leave the option out"), "{}", said.stderr);
}

#[test]
fn a_card_that_is_not_there_is_refused_before_the_work() {
    let bench = Bench::new();
    bench.write("small.csv", SMALL);
    bench.provi(&["fit", "small.csv", "y ~ dose", "--out", "s.fit", "--quiet"]).exits(0);
    let mut devices = vec![NO_CARD];
    if provi_gpu::cards().is_err() {
        devices.push("cuda:0");
    }
    for device in devices {
        refuses(&bench, &["fit", "small.csv", "y ~ dose", "--device", device], device);
        // Before the data are read.
        refuses(&bench, &["fit", "nowhere.csv", "y ~ dose", "--device", device], device);
        refuses(&bench, &["certify", "s.fit", "small.csv", "--device", device], device);
        let sample = ["sample", "s.fit", "--exact", "--data", "small.csv", "-n", "3", "--device", device];
        refuses(&bench, &sample, device);
    }
    // A fit that was refused has left nothing behind.
    refuses(&bench, &["fit", "small.csv", "y ~ dose", "--out", "t.fit", "--device", NO_CARD], NO_CARD);
    bench.provi(&["fit", "small.csv", "y ~ dose", "--out", "t.fit", "--quiet"]).exits(0);
}

#[test]
fn a_name_that_is_no_device_is_refused() {
    let bench = Bench::new();
    bench.write("small.csv", SMALL);
    let said = bench.provi(&["fit", "small.csv", "y ~ dose", "--device", "gpu"]).exits(2).stderr;
    assert!(said.contains("`gpu` is not a device; use auto, cpu or cuda:0"), "{said}");
}

/// A small table stays on the processor, whatever the machine has.
#[test]
fn auto_and_cpu_give_the_same_bits_for_a_small_table() {
    let bench = Bench::new();
    bench.write("small.csv", SMALL);
    let numbers = |args: &[&str]| -> serde_json::Value {
        let text = bench.provi(args).exits(0).stdout;
        let fit: serde_json::Value = serde_json::from_str(&text).unwrap();
        serde_json::json!([fit["mean"], fit["certificate"], fit["model"]["warnings"]])
    };
    let fit = ["fit", "small.csv", "y ~ dose", "--json"];
    let plain = numbers(&fit);
    for device in ["auto", "cpu"] {
        assert_eq!(plain, numbers(&[&fit[..], &["--device", device]].concat()));
    }
    bench.provi(&["fit", "small.csv", "y ~ dose", "--device", "cpu", "--out", "c.fit", "--quiet"]).exits(0);
    let run = std::fs::read_to_string(bench.path("c.fit/run.toml")).unwrap();
    assert!(run.contains("device = \"cpu\""), "{run}");
}
