//! Smooth terms: `s(x)`, `s(x, k = 20)`, `s(hour, period = 24)`.

use super::{Expression, Factor, Formula, Span, Spanned, Term, lexer::Token, parser::Parser};
use crate::error::{BadFormula, BadSmooth, Error, Misplaced, Result};

/// How a smooth is made: its number of knots, and its period if it has one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Smoothing {
    /// The number k of knots. Those at both ends count, and of a cyclic smooth they are the same point: either kind has k − 2
    /// coefficients of the curve.
    pub knots: usize,
    /// The period of a cyclic smooth.
    pub period: Option<f64>,
}

impl Smoothing {
    /// The number of knots where the formula names none, as in R's `mgcv`.
    pub const KNOTS: usize = 10;
    /// The fewest knots: one coefficient besides the straight line.
    pub const FEWEST: usize = 3;
    /// The fewest knots of a cyclic smooth: two coefficients, so that it has a phase.
    pub const FEWEST_CYCLIC: usize = 4;
    /// The most knots.
    pub const MOST: usize = 50;
}

impl Parser {
    /// `, k = 10`, `, period = 24` and `, bs = "cc"` after the number of a smooth, in any order; a number by itself is k.
    pub(super) fn smoothing(&mut self) -> Result<Smoothing> {
        let mut knots: Option<(usize, Span)> = None;
        let mut period: Option<f64> = None;
        let mut basis: Option<Spanned<String>> = None;
        while self.word(0).node == Token::Comma {
            self.next();
            let option = match &self.word(0).node {
                Token::Name(name) if self.word(1).node == Token::Equals => {
                    let option = Spanned { node: name.clone(), span: self.word(0).span.clone() };
                    self.next();
                    self.next();
                    option
                }
                _ => Spanned { node: "k".to_owned(), span: self.word(0).span.clone() },
            };
            let Spanned { node: value, span } = self.next();
            let refuse = |what| Err(Error::Formula(BadFormula::Smooth { what, span: span.clone() }));
            match (option.node.as_str(), value) {
                ("k", Token::Number(word)) if knots.is_none() => {
                    // Anything but a whole number is below the least one.
                    knots = Some((word.parse().unwrap_or(0), span));
                }
                ("k", _) if knots.is_none() => knots = Some((0, span)),
                ("period", Token::Number(word)) if period.is_none() => {
                    match word.parse::<f64>().ok().filter(|p| p.is_finite() && *p > 0.0) {
                        Some(value) => period = Some(value),
                        None => return refuse(BadSmooth::Period),
                    }
                }
                ("period", _) if period.is_none() => return refuse(BadSmooth::Period),
                ("bs", Token::Text(text)) if basis.is_none() => basis = Some(Spanned { node: text, span }),
                ("bs", _) if basis.is_none() => return refuse(BadSmooth::Basis),
                ("by", _) => return refuse(BadSmooth::By),
                _ => {
                    return Err(Error::Formula(BadFormula::Smooth {
                        what: BadSmooth::Option,
                        span: option.span,
                    }));
                }
            }
        }
        if let Some(Spanned { node, span }) = basis {
            let what = match (node.as_str(), period) {
                ("cr", None) | ("cc", Some(_)) => None,
                ("cc", None) => Some(BadSmooth::NoPeriod),
                ("cr", Some(_)) => Some(BadSmooth::StrayPeriod),
                _ => Some(BadSmooth::Basis),
            };
            if let Some(what) = what {
                return Err(Error::Formula(BadFormula::Smooth { what, span }));
            }
        }
        let least = if period.is_some() { Smoothing::FEWEST_CYCLIC } else { Smoothing::FEWEST };
        match knots {
            Some((k, span)) if !(least..=Smoothing::MOST).contains(&k) => {
                Err(Error::Formula(BadFormula::Argument {
                    function: "s",
                    name: "k",
                    least,
                    most: Smoothing::MOST,
                    span,
                }))
            }
            knots => Ok(Smoothing { knots: knots.map_or(Smoothing::KNOTS, |(k, _)| k), period }),
        }
    }
}

impl Factor {
    pub(super) fn is_smooth(&self) -> bool {
        matches!(self, Self::Smooth(..))
    }

    /// Whether it is a cyclic smooth, which has no straight line.
    pub(crate) fn is_cyclic(&self) -> bool {
        matches!(self, Self::Smooth(_, Smoothing { period: Some(_), .. }))
    }
}

impl Formula {
    /// The smooths: each stands by itself.
    pub(crate) fn smooths(&self) -> impl Iterator<Item = (&Factor, &Expression, Smoothing)> {
        self.terms.iter().filter_map(|term| match &term.node {
            Term::Product(factors) => match factors.as_slice() {
                [factor @ Factor::Smooth(x, how)] => Some((factor, x, *how)),
                _ => None,
            },
            Term::Others { .. } => None,
        })
    }

    /// Refuses smooths in products and in group terms: only one that stands by itself is a penalised curve.
    pub(super) fn refuse_joined_smooths(&self) -> Result<()> {
        let joined = |term: &Term, most: usize| match term {
            Term::Product(factors) => factors.len() > most && factors.iter().any(Factor::is_smooth),
            Term::Others { .. } => false,
        };
        let population = self.terms.iter().filter(|term| joined(&term.node, 1)).map(|term| &term.span);
        let varying = self.groups.iter().filter(|group| group.node.terms.iter().any(|term| joined(term, 0)));
        match population.chain(varying.map(|group| &group.span)).next() {
            Some(span) => {
                Err(Error::Formula(BadFormula::Misplaced { what: Misplaced::Smooth, span: span.clone() }))
            }
            None => Ok(()),
        }
    }
}
