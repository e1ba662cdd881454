//! Models that fall apart into groups: what an audit proves about them [group-kl].

use crate::common::gold;
use provi::audit::Audit;
use provi::{Provenance, Seed};

/// W4, 40 groups of 50 rows with five coefficients each: the KL by importance sampling is 0.98 nats.
#[test]
#[ignore = "slow: forty audits, and twenty thousand draws of all groups; cargo xtask heavy runs it"]
fn forty_groups_are_certified_within_half_a_nat() {
    let gold = gold("W4");
    let audited = Audit::default().run(&gold.target, &gold.optimum, Seed(3)).unwrap();
    let c = audited.certificate();
    assert_eq!((c.kl.key(), c.kl.provenance()), (Some("group-kl"), Some(Provenance::Proved)));
    let bound = c.kl.bound().unwrap();
    let width = c.evidence.upper().unwrap() - c.evidence.lower().unwrap();
    assert!(bound > 0.95 && bound < 1.4 && width < 0.7, "{bound} {width}");
    let own = audited.posterior_moments().unwrap();
    let worst = own.mean_error.iter().zip(&own.sd).map(|(error, sd)| error / sd).fold(0.0, f64::max);
    println!("{c}\nthe worst mean, in deviations: {worst:.3}");
    assert!(own.key == "group-moments" && worst < 0.4, "{worst}");
}
