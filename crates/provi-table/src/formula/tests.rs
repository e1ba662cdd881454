//! What formulas mean, by their canonical text; what is refused, by its place.

use super::Formula;
use crate::error::{BadFormula, BadSmooth, Error, Misplaced};

fn canonical(text: &str) -> String {
    Formula::parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).to_string()
}

fn refused(text: &str) -> (Error, &str) {
    let error = Formula::parse(text).unwrap_err();
    let span = error.span().unwrap();
    (error, &text[span])
}

#[test]
fn the_intercept_is_there_unless_taken_out() {
    assert_eq!(canonical("y ~ a"), "y ~ a");
    assert_eq!(canonical("y ~ 1 + a"), "y ~ a");
    for text in ["y ~ 0 + a", "y ~ a + 0", "y ~ a - 1", "y ~ -1 + a", "y~a+-1", "y ~ +a-1"] {
        assert_eq!(canonical(text), "y ~ 0 + a", "{text}");
    }
    assert_eq!(canonical("y ~ 1"), "y ~ 1");
}

#[test]
fn the_last_word_on_the_intercept_holds() {
    assert_eq!(canonical("y ~ 0 + a + 1"), "y ~ a");
    assert_eq!(canonical("y ~ 1 + a - 1"), "y ~ 0 + a");
    assert_eq!(canonical("y ~ 0 + a - 0"), "y ~ a");
}

#[test]
fn products_expand_as_in_r() {
    for (text, expected) in [
        ("y ~ a:b", "y ~ a:b"),
        ("y ~ a*b", "y ~ a + b + a:b"),
        ("y ~ a*b*c", "y ~ a + b + c + a:b + a:c + b:c + a:b:c"),
        ("y ~ a*b + c", "y ~ a + b + c + a:b"),
        ("y ~ a/b", "y ~ a + a:b"),
        ("y ~ a/b/c", "y ~ a + a:b + a:b:c"),
        ("y ~ (a + b)/c", "y ~ a + b + a:b:c"),
        ("y ~ (a + b):c", "y ~ a:c + b:c"),
        ("y ~ (a + b)^2", "y ~ a + b + a:b"),
        ("y ~ (a + b + c)^2", "y ~ a + b + c + a:b + a:c + b:c"),
        ("y ~ (a + b)^9", "y ~ a + b + a:b"),
        ("y ~ a*b - a", "y ~ b + a:b"),
        ("y ~ a*b - a:b", "y ~ a + b"),
        ("y ~ a*b - b:a", "y ~ a + b"),
        ("y ~ (a*b - a):c", "y ~ b:c + a:b:c"),
        ("y ~ a:b + b:a + a:a", "y ~ a + a:b"),
        ("y ~ a:b*c", "y ~ c + a:b + a:b:c"),
        ("y ~ ((a))", "y ~ a"),
        ("y ~ a + b %in% a", "y ~ a + a:b"),
        ("y ~ x %in% (a + b)", "y ~ a:b:x"),
        ("y ~ (a + b) %in% c", "y ~ c:a + c:b"),
        ("y ~ a * b %in% c", "y ~ a + c:b + a:c:b"),
    ] {
        assert_eq!(canonical(text), expected, "{text}");
        assert_eq!(canonical(expected), expected);
    }
}

#[test]
fn calls_keep_their_arithmetic() {
    for (text, expected) in [
        ("y ~ I(x^2)+log( x )", "y ~ I(x^2) + log(x)"),
        ("y ~ I(x) + I(log(x))", "y ~ x + log(x)"),
        ("y ~ poly(x,degree=3)", "y ~ poly(x, 3)"),
        ("y ~ bs(log(x), df = 5)", "y ~ bs(log(x), 5)"),
        ("y ~ scale(x + 1)*center(z)", "y ~ scale(x + 1) + center(z) + scale(x + 1):center(z)"),
        ("y ~ C(g) + factor(`my g`)", "y ~ factor(g) + factor(`my g`)"),
        ("y ~ x + offset(log(e)) + offset(z)", "y ~ x + offset(log(e)) + offset(z)"),
        ("log(y) ~ x", "log(y) ~ x"),
        ("I(y / n) ~ x", "I(y / n) ~ x"),
        ("cbind(s,f)~x", "cbind(s, f) ~ x"),
        ("surv(time,event)~x", "surv(time, event) ~ x"),
        ("Surv(`my time`, e) ~ x", "surv(`my time`, e) ~ x"),
        ("surv(s,t,e) ~ x", "surv(s, t, e) ~ x"),
        ("interval(`a b`,u)~x", "interval(`a b`, u) ~ x"),
        ("interval(s, a,b)~x", "interval(s, a, b) ~ x"),
        ("ordered(rating)~x", "ordered(rating) ~ x"),
        ("ordered(`my size`, c('s','m')) ~ x", "ordered(`my size`, levels = c(\"s\", \"m\")) ~ x"),
        ("ordered(r, levels=c(1, 2.5)) ~ x", "ordered(r, levels = c(\"1\", \"2.5\")) ~ x"),
        ("ordered ~ x", "ordered ~ x"),
        ("multinomial(party)~x", "multinomial(party) ~ x"),
        ("multinomial(p, levels=c('b', 'a')) ~ x", "multinomial(p, levels = c(\"b\", \"a\")) ~ x"),
        ("multinomial ~ x", "multinomial ~ x"),
        ("surv ~ x", "surv ~ x"),
        ("k|trials(n) ~ x", "k | trials(n) ~ x"),
        ("k | trials(10) ~ x", "k | trials(10) ~ x"),
        ("y ~ log + I", "y ~ log + I"),
        ("y ~ log(I(x/4)) + scale(I(x^2))", "y ~ log(x / 4) + scale(x^2)"),
        ("y ~ I(x>3&town!='Bern')", "y ~ I(x > 3 & town != \"Bern\")"),
        ("y ~ I(t %in% c('a',\"b\"))", "y ~ I(t %in% c(\"a\", \"b\"))"),
        (
            "y ~ factor(x,levels=c('b','a')) + as.factor(z)",
            "y ~ factor(x, levels = c(\"b\", \"a\")) + factor(z)",
        ),
        ("y ~ factor(x, c(3, 1:2, -1))", "y ~ factor(x, levels = c(\"3\", \"1\", \"2\", \"-1\"))"),
        ("I(y > 3) ~ x", "I(y > 3) ~ x"),
        ("y ~ (I(x > 1 | z > 1) | g)", "y ~ (1 + I(x > 1 | z > 1) | g)"),
    ] {
        assert_eq!(canonical(text), expected, "{text}");
        assert_eq!(canonical(expected), expected);
    }
}

#[test]
fn group_terms_expand_their_nesting() {
    for (text, expected) in [
        ("y ~ (1|g)", "y ~ (1 | g)"),
        ("y ~ x + (x|g)", "y ~ x + (1 + x | g)"),
        ("y ~ (0 + x | g)", "y ~ (0 + x | g)"),
        ("y ~ (1 + x || g)", "y ~ (1 + x || g)"),
        ("y ~ (1 || g)", "y ~ (1 | g)"),
        ("y ~ (1 | a/b)", "y ~ (1 | a) + (1 | a:b)"),
        ("y ~ (x | a/b/c)", "y ~ (1 + x | a) + (1 + x | a:b) + (1 + x | a:b:c)"),
        ("y ~ (1 | a:b) + (1|a) + (1|a)", "y ~ (1 | a:b) + (1 | a)"),
        ("y ~ 0 + (a*b | g)", "y ~ 0 + (1 + a + b + a:b | g)"),
    ] {
        assert_eq!(canonical(text), expected, "{text}");
        assert_eq!(canonical(expected), expected);
    }
}

#[test]
fn a_column_can_be_taken_out_of_the_dot() {
    assert_eq!(canonical("y ~ . - a - b"), "y ~ . - a - b");
    assert_eq!(canonical("y ~ a + . - a"), "y ~ . - a");
    assert_eq!(canonical("y ~ . - a + a"), "y ~ . - a + a");
    assert_eq!(canonical("y ~ . - a + ."), "y ~ .");
    assert_eq!(canonical("y ~ a:b + . + c*d"), "y ~ . + c + d + a:b + c:d");
    assert!(matches!(refused("y ~ b - a"), (Error::Formula(BadFormula::NothingToRemove { .. }), "a")));
}

#[test]
fn a_repeated_term_counts_once() {
    assert_eq!(canonical("y ~ b + a + `b` + . + ."), "y ~ b + a + .");
}

#[test]
fn names_in_need_of_back_quotes_get_them() {
    assert_eq!(
        canonical("`y` ~ `a` + `my col` + `1` + `.` + `a``b`"),
        "y ~ a + `my col` + `1` + `.` + `a``b`"
    );
}

#[test]
fn a_formula_without_terms_is_refused() {
    assert!(matches!(refused("y ~"), (Error::Formula(BadFormula::NoTerms { .. }), "")));
    assert!(matches!(refused("y ~ 0 "), (Error::Formula(BadFormula::NoTerms { .. }), "0 ")));
    assert!(matches!(refused("y ~ 1 - 1"), (Error::Formula(BadFormula::NoTerms { .. }), "1 - 1")));
}

#[test]
fn the_response_is_no_predictor() {
    assert_eq!(Formula::parse("y ~ a + y").unwrap_err().span(), Some(8..9));
    for text in ["y ~ log(y)", "y ~ a:y", "y ~ (1 | y)", "y ~ (y | g)", "cbind(a, y) ~ y"] {
        assert!(
            matches!(refused(text), (Error::Formula(BadFormula::ResponseAsPredictor { .. }), "y")),
            "{text}"
        );
    }
    assert_eq!(canonical("k | trials(n) ~ n"), "k | trials(n) ~ n");
}

#[test]
fn what_means_nothing_where_it_stands_is_pointed_at() {
    use Misplaced::{
        Bar, Comparison, Dot, Group, Grouping, Intercept, Offset, Power, Response, Smooth, Text,
    };
    for (text, what, at) in [
        ("y ~ .:a", Dot, ":"),
        ("y ~ a:.", Dot, "."),
        ("y ~ (. | g)", Dot, "."),
        ("y ~ a - .", Dot, "."),
        ("y ~ (1 + a):b", Intercept, "1"),
        ("y ~ 1:a", Intercept, ":"),
        ("y ~ a:1", Intercept, "1"),
        ("y ~ a:offset(b)", Offset, "offset"),
        ("y ~ a - offset(b)", Offset, "offset"),
        ("y ~ a:(1 | g)", Group, "("),
        ("y ~ a - (1 | g)", Group, "("),
        ("y ~ ((1 | g) | h)", Group, "("),
        ("y ~ x | g", Bar, "|"),
        ("y ~ (1 | a + b)", Grouping, "+"),
        ("y ~ (1 | a * b)", Grouping, "*"),
        ("y ~ a^2", Power, "^"),
        ("y / n ~ a", Response, "/"),
        ("poly(y, 2) ~ a", Response, "poly(y, 2)"),
        ("y ~ s(x):z", Smooth, "s(x):z"),
        ("y ~ a + s(x) * z", Smooth, "s(x) * z"),
        ("y ~ (s(x) | g)", Smooth, "(s(x) | g)"),
        ("s(y) ~ a", Response, "s(y)"),
        ("y ~ a > 3", Comparison, ">"),
        ("y ~ a & b", Comparison, "&"),
        ("y ~ !a", Comparison, "!"),
        ("y ~ 'a'", Text, "'a'"),
        ("y ~ I('a')", Text, "'a'"),
        ("y ~ I(log(a) == 'a')", Text, "'a'"),
        ("y ~ I(a %in% c('a', 1))", Text, "c('a', 1)"),
        ("y ~ I(a + 'b')", Text, "'b'"),
    ] {
        let (error, found) = refused(text);
        assert!(
            matches!(error, Error::Formula(BadFormula::Misplaced { what: is, .. }) if is == what),
            "{text}: {error}"
        );
        assert_eq!(found, at, "{text}");
    }
}

#[test]
fn a_wrong_call_is_pointed_at() {
    let (error, at) = refused("y ~ lgo(x)");
    assert!(
        matches!(&error, Error::Formula(BadFormula::UnknownFunction { nearest: Some(name), .. }) if name == "log")
    );
    assert_eq!(at, "lgo");
    assert_eq!(refused("y ~ I(poly(x, 2))").1, "poly");
    assert!(matches!(refused("y ~ q(x)"), (Error::Formula(BadFormula::UnknownFunction { .. }), "q")));
    for (text, at) in
        [("y ~ poly(x)", ")"), ("y ~ poly(x, 0)", "0"), ("y ~ bs(x, 2)", "2"), ("y ~ bs(x, k)", "k")]
    {
        let (error, found) = refused(text);
        assert!(matches!(error, Error::Formula(BadFormula::Argument { .. })), "{text}: {error}");
        assert_eq!(found, at, "{text}");
    }
    assert!(matches!(
        refused("y ~ factor(x, levels = c('a', 'a'))"),
        (Error::Formula(BadFormula::RepeatedLevel { .. }), _)
    ));
    assert!(matches!(
        refused("y ~ factor(x, labels = c('a'))"),
        (Error::Formula(BadFormula::Syntax { .. }), "labels")
    ));
    assert!(matches!(refused("y ~ I(x %in% 1:1e9)"), (Error::Formula(BadFormula::TooLarge { .. }), "1:1e9")));
    assert!(matches!(refused("y ~ I(2^3)"), (Error::Formula(BadFormula::NoColumn { .. }), "2^3")));
    assert!(matches!(refused("y ~ log(1e999 + x)"), (Error::Formula(BadFormula::Number { .. }), "1e999")));
}

#[test]
fn a_formula_beyond_the_limits_is_refused() {
    let deep = format!("y ~ {}a{}", "(".repeat(1000), ")".repeat(1000));
    let signs = format!("y ~ I({}a)", "-".repeat(1000));
    let long = format!("y ~ I({}a)", "a + ".repeat(1000));
    let wide = format!("y ~ ({})^5", (0..40).map(|i| format!("x{i}")).collect::<Vec<_>>().join("+"));
    let many = format!("y ~ {}", (0..20).map(|i| format!("x{i}")).collect::<Vec<_>>().join(":"));
    for text in [deep, signs, long, wide, many] {
        assert!(matches!(refused(&text), (Error::Formula(BadFormula::TooLarge { .. }), _)), "{text}");
    }
}

#[test]
fn a_word_out_of_place_is_pointed_at() {
    for (text, at) in [
        ("", ""),
        ("y", ""),
        ("~ a", "~"),
        ("y z ~ a", "z"),
        ("y + z ~ a", "+"),
        (". ~ a", "."),
        ("1 ~ a", "1"),
        ("y ~ a 1", "1"),
        ("y ~ a b", "b"),
        ("y ~ a +", ""),
        ("y ~ a + + b", "+"),
        ("y ~ a ~ b", "~"),
        ("y ~ a) + b", ")"),
        ("y ~ (a + b", ""),
        ("y ~ log(a", ""),
        ("y ~ (1 | )", ")"),
        ("y ~ a @ b", "@"),
        ("y ~ a, b", ","),
        ("y ~ `` + a", "``"),
        ("k | n ~ a", "n"),
        ("cbind(a) ~ b", ")"),
    ] {
        let (error, found) = refused(text);
        assert!(matches!(error, Error::Formula(BadFormula::Syntax { .. })), "{text}: {error}");
        assert_eq!(found, at, "{text}");
    }
    assert!(matches!(refused("y ~ 2 + a"), (Error::Formula(BadFormula::Number { .. }), "2")));
    assert!(matches!(refused("y ~ 2x"), (Error::Formula(BadFormula::Number { .. }), "2x")));
}

#[test]
fn smooths_are_read_in_every_spelling_and_written_in_one() {
    for (text, canonical) in [
        ("y ~ s(x)", "y ~ s(x)"),
        ("y ~ s(x, k = 10)", "y ~ s(x)"),
        ("y ~ s(x, 20)", "y ~ s(x, k = 20)"),
        ("y ~ s(x, bs = 'cr', k=5)", "y ~ s(x, k = 5)"),
        ("y ~ s(log(x + 1)) + z", "y ~ s(log(x + 1)) + z"),
        ("y ~ s(hour, period=24)", "y ~ s(hour, period = 24)"),
        ("y ~ s(hour, period = 2.5e-7, k = 8, bs = \"cc\")", "y ~ s(hour, k = 8, period = 2.5e-7)"),
        ("y ~ s(x) + s(x) + s", "y ~ s(x) + s"),
    ] {
        let formula = Formula::parse(text).unwrap();
        assert_eq!(formula.to_string(), canonical);
        assert_eq!(Formula::parse(canonical).unwrap(), formula);
    }
}

#[test]
fn an_option_that_a_smooth_has_not_is_pointed_at() {
    use BadSmooth::{Basis, By, NoPeriod, Option, Period, StrayPeriod};
    for (text, what, at) in [
        ("y ~ s(x, period = 0)", Period, "0"),
        ("y ~ s(x, period = day)", Period, "day"),
        ("y ~ s(x, bs = 'cc')", NoPeriod, "'cc'"),
        ("y ~ s(x, bs = 'cr', period = 24)", StrayPeriod, "'cr'"),
        ("y ~ s(x, bs = 'tp')", Basis, "'tp'"),
        ("y ~ s(x, bs = 3)", Basis, "3"),
        ("y ~ s(x, by = g)", By, "g"),
        ("y ~ s(x, df = 3)", Option, "df"),
        ("y ~ s(x, k = 5, k = 6)", Option, "k"),
    ] {
        let (error, found) = refused(text);
        assert!(
            matches!(error, Error::Formula(BadFormula::Smooth { what: is, .. }) if is == what),
            "{text}: {error}"
        );
        assert_eq!(found, at, "{text}");
    }
    for (text, at) in [
        ("y ~ s(x, 2)", "2"),
        ("y ~ s(x, k = 2.5)", "2.5"),
        ("y ~ s(x, k = 51)", "51"),
        ("y ~ s(x, z)", "z"),
        ("y ~ s(x, k = 3, period = 7)", "3"),
    ] {
        let (error, found) = refused(text);
        assert!(matches!(error, Error::Formula(BadFormula::Argument { .. })), "{text}: {error}");
        assert_eq!(found, at, "{text}");
    }
    assert_eq!(refused("y ~ s(3)").1, "3");
    assert_eq!(refused("y ~ s(x").1, "");
}
