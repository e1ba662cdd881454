//! Models with one effect a group: what an audit proves about them [marginal-kl].

use provi::audit::Audit;
use provi::target::{Family, Glm, Prior};
use provi::{Auto, Design, Provenance, Seed};
use provi_testkit::space::objective;

/// `y ~ x + (1 | g)` with so many groups of six rows.
fn model(family: Family, groups: usize) -> Glm {
    let (mut entries, mut response) = (Vec::new(), Vec::new());
    for n in 0..6 * groups {
        let (g, k) = (n % groups, n as f64);
        let x = (1.7 * k).sin() + (0.3 * k).cos();
        entries.extend([(n, 0, 1.0), (n, 1, x), (n, 2 + g, 1.0)]);
        let wave = 0.5 * x + 0.8 * (2.9 * g as f64).sin() + (5.1 * k).cos();
        response.push(match family {
            Family::Poisson => (1.5 * wave.max(0.0)).floor(),
            _ => f64::from(u8::from(wave > 0.1)),
        });
    }
    let mut scales = vec![0.7; 2 + groups];
    (scales[0], scales[1]) = (2.5, 1.0);
    let design = Design::triplets(6 * groups, 2 + groups, &entries).unwrap();
    Glm::new(family, design, &response, Prior::scales(&scales).unwrap()).unwrap()
}

/// KL and evidence are known from both sides, so the bound is compared with the truth itself; means are within a tenth of an sd.
fn is_sharp(family: Family, groups: usize, draws: u64) {
    let model = model(family, groups);
    let q = Auto::default().run(&model, Seed(1)).unwrap().fit.gaussian;
    let audited = Audit { draws, ..Audit::default() }.run(&model, &q, Seed(3)).unwrap();
    let c = audited.certificate();
    assert_eq!((c.kl.key(), c.kl.provenance()), (Some("marginal-kl"), Some(Provenance::Proved)));
    let (bound, least) =
        (c.kl.bound().unwrap(), c.evidence.lower().unwrap() + objective(&model, &q).unwrap());
    let own = audited.posterior_moments().unwrap();
    let worst = own.mean_error.iter().zip(&own.sd).map(|(error, sd)| error / sd).fold(0.0, f64::max);
    println!("{family:?} {groups}: KL {least:.4} to {bound:.4}, the worst mean {worst:.4} deviations");
    assert!(least > 0.0 && bound < 1.3 * least, "{family:?}: {least} {bound}");
    assert!(own.key == "marginal-moments" && worst < 0.1, "{worst}");
}

#[test]
fn thirty_groups_are_known_from_both_sides() {
    is_sharp(Family::Bernoulli, 30, 4_000);
}

#[test]
#[ignore = "slow: three hundred groups, and the default number of draws"]
fn three_hundred_groups_are_known_from_both_sides() {
    is_sharp(Family::Bernoulli, 300, 20_000);
    is_sharp(Family::Poisson, 100, 20_000);
}
