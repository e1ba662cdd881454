use super::*;

#[test]
fn the_gap_is_never_shown_above_the_kl() {
    let mut c = Certificate::nothing(&["a".into()], "none");
    c.0.gap = Statement::proved(0.5, 1.0, "cert-gap", Provenance::Proved);
    c.0.kl = Statement::proved(0.2, 0.99, "cert-kl", Provenance::Proved);
    assert_eq!(c.smallest_gap(), &c.kl);
    assert!(c.proves_gap(0.3) && !c.proves_gap(0.1));
    let first = c.to_string().lines().next().unwrap().to_owned();
    assert!(first.contains("≤ 0.2") && first.contains("confidence 1 − 1e-2 [cert-kl]"), "{first}");
    // A gap below the KL keeps its certainty.
    c.0.gap = Statement::proved(0.1, 1.0, "cert-gap", Provenance::Proved);
    assert_eq!(c.smallest_gap(), &c.gap);
}

#[test]
fn a_revoked_certificate_claims_nothing() {
    let mut c = Certificate::nothing(&["a".into()], "none");
    c.0.gap = Statement::proved(0.1, 1.0, "cert-gap", Provenance::Declared);
    assert!(c.proves_gap(0.2) && !c.proves_gap(0.05));
    c.revoke("seen curvature 5 above the declared M = 4");
    assert!(!c.proves_gap(0.2));
    assert!(c.to_string().contains("above the declared M"));
    assert_eq!(c.to_string().lines().count(), 5);
}

#[test]
fn a_statement_says_what_is_proved_or_why_nothing_is() {
    let kl = Statement::proved(0.2, 0.99, "cert-kl", Provenance::Declared);
    assert_eq!(kl.to_string(), "≤ 0.2   declared, confidence 1 − 1e-2 [cert-kl]");
    assert_eq!((kl.bound(), kl.key(), kl.reason()), (Some(0.2), Some("cert-kl"), None));
    let none = Statement::missing("too flat");
    assert_eq!(none.to_string(), "not proved: too flat");
    assert_eq!((none.bound(), none.confidence(), none.provenance()), (None, None, None));
    let mut infinite = Statement::proved(f64::INFINITY, 1.0, "cert-kl", Provenance::Proved);
    infinite.only_finite();
    assert_eq!(infinite, Statement::missing(NOT_FINITE));
}

#[test]
fn an_interval_speaks_for_each_side() {
    let side = |x| Statement::proved(x, 0.99, "cert-evidence", Provenance::Proved);
    let both = Interval::new(side(-2.0), side(-1.5));
    assert!(both.to_string().starts_with("between -2.000000 and -1.500000"), "{both}");
    let one = Interval::new(side(-2.0), Statement::missing("no KL"));
    assert_eq!(one.to_string(), "at least -2.000000, no upper bound: no KL");
    assert_eq!((one.lower(), one.upper(), one.reason()), (Some(-2.0), None, Some("no KL")));
    assert_eq!(Interval::missing("too flat").to_string(), "not proved: too flat");
    let crossed = Interval::new(side(-1.5), side(-2.0));
    assert!(crossed.lower().is_none() && crossed.upper().is_none());
    assert!(crossed.to_string().contains("contradict"), "{crossed}");
    assert!(Interval::new(side(-2.0), side(-2.0 - 1e-12)).upper().is_some());
}

#[cfg(feature = "serde")]
#[test]
fn statements_keep_their_keys_in_data() {
    let proved = Statement::proved(0.2, 0.99, "cert-kl", Provenance::Proved);
    let text = serde_json::to_string(&proved).unwrap();
    assert_eq!(
        text,
        r#"{"bound":0.2,"confidence":0.99,"key":"cert-kl","provenance":"proved","reason":null}"#
    );
    assert_eq!(serde_json::from_str::<Statement>(&text).unwrap(), proved);
    let interval = Interval::new(proved.clone(), Statement::missing("none"));
    let text = serde_json::to_string(&interval).unwrap();
    assert_eq!(
        text,
        r#"{"lower":0.2,"upper":null,"confidence":0.99,"key":"cert-kl","provenance":"proved","reason":"none"}"#
    );
    assert_eq!(serde_json::from_str::<Interval>(&text).unwrap(), interval);
    // Older files kept the key of a bound that was not finite.
    let old = r#"{"bound":null,"confidence":null,"key":"cert-kl","provenance":"proved","reason":"no finite bound"}"#;
    assert_eq!(serde_json::from_str::<Statement>(old).unwrap(), Statement::missing(NOT_FINITE));
    // A bound without its grounds is nothing that provi wrote.
    let half = r#"{"bound":0.1,"confidence":null,"key":"cert-kl","provenance":"proved","reason":null}"#;
    let error = serde_json::from_str::<Statement>(half).unwrap_err().to_string();
    assert!(error.contains("lacks its confidence"), "{error}");
}
