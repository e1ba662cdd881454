//! Group terms: `(1 + x | clinic)`, `(1 | school/class)`, `(x || a:b)`.

use super::{
    Group, Spanned, Term,
    lexer::Token,
    parser::{Context, Parser},
};
use crate::error::{BadFormula, Error, Misplaced, Result};

impl Parser {
    /// Whether the parenthesis that opens here contains a bar of its own.
    pub(super) fn at_group(&self) -> bool {
        let mut depth = 0usize;
        for word in self.words_from_here() {
            match word.node {
                Token::Open => depth += 1,
                Token::Close => depth -= 1,
                Token::Bar | Token::DoubleBar if depth == 1 => return true,
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        false
    }

    /// The group terms of one parenthesis; a nesting gives one term for each of its levels.
    pub(super) fn group(&mut self) -> Result<Vec<Spanned<Group>>> {
        let start = self.next().span.start;
        let sum = self.sum(Context::Group)?;
        let correlated = match self.next().node {
            Token::DoubleBar => sum.terms.is_empty(),
            _ => true,
        };
        let terms: Vec<Term> = sum.terms.into_iter().map(|term| term.node).collect();
        let mut factors = vec![self.column()?];
        let mut groupings = Vec::new();
        loop {
            match self.word(0).node {
                Token::Slash => groupings.push(factors.clone()),
                Token::Colon => {}
                Token::Close => break,
                Token::Plus | Token::Star | Token::Name(_) | Token::Open => {
                    let span = self.word(0).span.clone();
                    return Err(Error::Formula(BadFormula::Misplaced { what: Misplaced::Grouping, span }));
                }
                _ => return Err(self.refuse("`)` after the grouping column")),
            }
            self.next();
            let name = self.column()?;
            if !factors.contains(&name) {
                factors.push(name);
            }
        }
        groupings.push(factors);
        groupings.dedup();
        let span = start..self.next().span.end;
        let group = |factors| Group { intercept: sum.intercept, terms: terms.clone(), correlated, factors };
        Ok(groupings
            .into_iter()
            .map(|factors| Spanned { node: group(factors), span: span.clone() })
            .collect())
    }
}
