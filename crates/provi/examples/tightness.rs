//! How tight the certificates are, as a table: `cargo run --release -p provi --example tightness`.
//!
//! Standard logistic regressions at their best Gaussian; the true KL(q‖p) by importance sampling.

#![allow(dead_code)] // the tests' modules bring more than this program needs

#[path = "../tests/soundness/answers.rs"]
mod answers;
#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/soundness/problem.rs"]
mod problem;
#[path = "../tests/soundness/study.rs"]
mod study;

use provi::target::Glm;

fn row(name: &str, target: &Glm, pairs: usize, draws: u64) {
    let (q, audited) = study::audited(target, draws);
    let (truth, error, shape) = study::sampled_kl(target, &q, pairs, 3);
    let (c, g) = (audited.certificate(), &audited.certificate().grounds);
    let show = |x: Option<f64>| x.map_or("–".into(), |x| format!("{x:.2e}"));
    let bound = c.kl.bound().unwrap_or(f64::INFINITY);
    let width = c.evidence.upper().zip(c.evidence.lower()).map(|(u, l)| u - l);
    let plain = g.local_fisher_mean.or(g.global_fisher_mean).map(|f| 0.5 * f);
    let plain = if c.kl.key() == Some("cert-transport") { g.transport_mean } else { plain };
    println!(
        "| {name} | {truth:.2e} ± {error:.0e} | {shape:.2} | {bound:.2e} | {:.1} | {} | {} | {} | {} | {} | {} |",
        bound / truth,
        c.kl.key().unwrap_or("none"),
        show(plain),
        show(width),
        show(c.tv.bound()),
        g.radius.map_or("–".into(), |r| format!("{r:.1}")),
        g.draws,
    );
}

fn main() {
    println!(
        "| problem | true KL | k̂ | certified | ratio | by | plain mean | evidence width | TV ≤ | R | draws |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    for (d, per, sd) in [
        (2, 100, 1.0),
        (2, 1000, 1.0),
        (5, 100, 1.0),
        (5, 100, 2.5),
        (5, 1000, 1.0),
        (10, 100, 1.0),
        (10, 100, 2.5),
        (10, 1000, 1.0),
        (20, 100, 1.0),
        (20, 100, 2.5),
        (20, 300, 1.0),
        (20, 1000, 1.0),
        (20, 1000, 2.5),
    ] {
        let target = study::logistic(d, per * d, sd, 100 + d as u64);
        row(&format!("d = {d}, N = {}, prior N(0, {sd}²)", per * d), &target, 50_000, 400_000);
    }
    row("breast cancer, d = 31, N = 569, N(0, 1)", &common::gold("W2").target, 100_000, 20_000);
    row("linear regression W1", &common::gold("W1").target, 1_000, 20_000);
}
