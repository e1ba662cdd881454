//! Numbers as all shells print them.

use provi_analysis::number;
use savvy::{OwnedStringSexp, RealSexp, Sexp, savvy};

fn each(values: &RealSexp, word: impl Fn(f64) -> String) -> savvy::Result<Sexp> {
    let words = values.iter().map(|&x| if x.is_nan() { "NA".to_owned() } else { word(x) });
    Ok(OwnedStringSexp::try_from_slice(words.collect::<Vec<_>>())?.into())
}

// Bounds, rounded up, so that the printed numbers are bounds too.
#[savvy]
fn native_bound_text(values: RealSexp, digits: i32) -> savvy::Result<Sexp> {
    each(&values, |x| number::bound(x, digits.clamp(1, 15)))
}

// Probabilities; a value near 0 or 1 is not printed as exactly 0 or 1.
#[savvy]
fn native_probability_text(values: RealSexp) -> savvy::Result<Sexp> {
    each(&values, number::probability)
}

// The version of the library.
#[savvy]
fn native_version() -> savvy::Result<Sexp> {
    Ok(OwnedStringSexp::try_from_scalar(env!("CARGO_PKG_VERSION"))?.into())
}
