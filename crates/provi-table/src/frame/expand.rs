//! A formula for one table: with `.` expanded, and the columns that it uses.

use std::collections::HashSet;

use super::options::FrameOptions;
use crate::{
    column::ColumnKind,
    error::{BadFormula, Error, Result},
    formula::{Expression, Factor, Formula, Response, Spanned, Term, columns_of},
};

/// What is known about data from their header.
pub(crate) struct Header<'a> {
    /// Their name in messages.
    pub(crate) table: &'a str,
    /// The columns, in order.
    pub(crate) names: &'a [String],
    /// What a column holds.
    pub(crate) kind: &'a dyn Fn(&str) -> Option<ColumnKind>,
}

/// The formula with every column named.
pub(crate) fn written_out(header: &Header<'_>, formula: &Formula, options: &FrameOptions) -> Result<Formula> {
    let mut taken: HashSet<&str> = HashSet::new();
    formula.response().columns(&mut |name| {
        taken.insert(name);
    });
    taken.extend(formula.groups.iter().flat_map(|group| &group.node.factors).map(String::as_str));
    taken.extend(
        [&options.weights, &options.offset, &options.exposure].into_iter().flatten().map(String::as_str),
    );
    for offset in &formula.offsets {
        offset.node.columns(&mut |name| {
            taken.insert(name);
        });
    }
    for term in &formula.terms {
        if let Term::Product(factors) = &term.node
            && let [
                Factor::Column(name)
                | Factor::Category(name)
                | Factor::Levels(name, _)
                | Factor::Smooth(Expression::Column(name), _),
            ] = factors.as_slice()
        {
            taken.insert(name);
        }
    }
    let mut terms = Vec::new();
    for term in &formula.terms {
        let Term::Others { except } = &term.node else {
            terms.push(term.clone());
            continue;
        };
        let others =
            header.names.iter().filter(|name| !taken.contains(name.as_str()) && !except.contains(name));
        let before = terms.len();
        for name in others {
            refuse_useless(header, name, term)?;
            let node = Term::Product(vec![Factor::Column(name.clone())]);
            terms.push(Spanned { node, span: term.span.clone() });
        }
        if terms.len() == before && formula.terms.len() == 1 {
            return Err(Error::Formula(BadFormula::NothingUnderDot {
                table: header.table.to_owned(),
                span: term.span.clone(),
            }));
        }
    }
    Ok(Formula { terms, ..formula.clone() })
}

/// `.` includes a column that no model can use: the error says how to remove it from the `.`.
fn refuse_useless(header: &Header<'_>, name: &str, dot: &Spanned<Term>) -> Result<()> {
    let kind = (header.kind)(name);
    match kind {
        Some(ColumnKind::Date | ColumnKind::Missing) => Err(Error::Formula(BadFormula::UselessUnderDot {
            table: header.table.to_owned(),
            column: name.to_owned(),
            dates: kind == Some(ColumnKind::Date),
            span: dot.span.clone(),
        })),
        _ => Ok(()),
    }
}

/// The columns of dates that a formula uses as numbers, or compares with other dates, each once.
pub(crate) fn dates_as_numbers(formula: &Formula, kind: &dyn Fn(&str) -> Option<ColumnKind>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut see = |name: &str| {
        if kind(name) == Some(ColumnKind::Date) && !names.iter().any(|other| other == name) {
            names.push(name.to_owned());
        }
    };
    if let Response::Value(x) = formula.response() {
        x.columns(&mut see);
    }
    let varying = formula.groups.iter().flat_map(|group| &group.node.terms);
    for term in formula.terms.iter().map(|term| &term.node).chain(varying) {
        let Term::Product(factors) = term else { continue };
        for factor in factors.iter().filter(|f| !matches!(f, Factor::Category(_) | Factor::Levels(..))) {
            factor.columns(&mut see);
        }
    }
    formula.offsets.iter().for_each(|offset| offset.node.columns(&mut see));
    names
}

/// Names of the columns that a formula and the options use, each once.
pub(crate) fn columns_in_use<'a>(formula: &'a Formula, options: &'a FrameOptions) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    let mut seen = HashSet::new();
    let mut see = |name: &'a str| {
        if seen.insert(name) {
            names.push(name);
        }
    };
    formula.response().columns(&mut see);
    let products = formula.terms.iter().map(|term| &term.node);
    let varying = formula.groups.iter().flat_map(|group| &group.node.terms);
    for term in products.chain(varying) {
        if let Term::Product(factors) = term {
            columns_of(factors, &mut see);
        }
    }
    formula.groups.iter().flat_map(|group| &group.node.factors).for_each(|name| see(name));
    formula.offsets.iter().for_each(|offset| offset.node.columns(&mut see));
    [&options.weights, &options.offset, &options.exposure].into_iter().flatten().for_each(|name| see(name));
    names
}
