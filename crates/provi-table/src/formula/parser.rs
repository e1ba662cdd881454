//! Words to a formula, by recursive descent.

use std::collections::HashSet;

use super::{
    Construct, Formula, Span, Spanned, Term,
    lexer::{Token, words},
};
use crate::error::{Error, Result};

/// Parse a whole formula.
pub(super) fn parse(text: &str) -> Result<Formula> {
    let mut parser = Parser { words: words(text)?, at: 0 };
    let response = parser.response()?;
    let (intercept, terms) = parser.sum()?;
    for term in &terms {
        if matches!(&term.node, Term::Column(name) if *name == response.node) {
            return Err(Error::ResponseAsPredictor { column: response.node, span: term.span.clone() });
        }
    }
    Ok(Formula { response, intercept, terms })
}

struct Parser {
    words: Vec<Spanned<Token>>,
    at: usize,
}

/// What one item adds to a sum.
enum Item {
    Intercept(bool),
    Term(Term),
}

impl Parser {
    /// The word here; past the last one stands [`Token::End`].
    fn word(&self, ahead: usize) -> &Spanned<Token> {
        &self.words[(self.at + ahead).min(self.words.len() - 1)]
    }

    fn next(&mut self) -> Spanned<Token> {
        let word = self.word(0).clone();
        self.at += 1;
        word
    }

    /// `name ~`
    fn response(&mut self) -> Result<Spanned<String>> {
        let Token::Name(name) = self.word(0).node.clone() else {
            return Err(self.refuse("the response, a column name"));
        };
        self.refuse_call(&name)?;
        let span = self.next().span;
        if self.word(0).node != Token::Tilde {
            return Err(self.refuse("`~` after the response"));
        }
        self.next();
        Ok(Spanned { node: name, span })
    }

    /// `item + item - item`, to the end of the formula.
    fn sum(&mut self) -> Result<(bool, Vec<Spanned<Term>>)> {
        let start = self.word(0).span.start;
        let (mut intercept, mut terms, mut seen) = (true, Vec::new(), HashSet::new());
        if self.word(0).node == Token::End {
            return Err(Error::NoTerms { span: start..start });
        }
        if self.word(0).node == Token::Plus {
            self.next();
        }
        loop {
            let minus = (self.word(0).node == Token::Minus).then(|| self.next().span);
            let item = self.item(minus)?;
            match item.node {
                Item::Intercept(kept) => intercept = kept,
                Item::Term(term) => {
                    if seen.insert(term.clone()) {
                        terms.push(Spanned { node: term, span: item.span });
                    }
                }
            }
            match self.word(0).node {
                Token::End => break,
                Token::Plus => drop(self.next()),
                Token::Minus => {}
                _ => return Err(self.refuse("`+` or the end")),
            }
        }
        if terms.is_empty() && !intercept {
            return Err(Error::NoTerms { span: start..self.word(0).span.end });
        }
        Ok((intercept, terms))
    }

    /// One column, `.`, 0 or 1, with the place of the minus before it.
    fn item(&mut self, minus: Option<Span>) -> Result<Spanned<Item>> {
        let node = match &self.word(0).node {
            Token::Name(name) => {
                self.refuse_call(name)?;
                Item::Term(Term::Column(name.clone()))
            }
            Token::Dot => Item::Term(Term::Others),
            Token::Number(word) if word == "1" => Item::Intercept(minus.is_none()),
            Token::Number(word) if word == "0" => Item::Intercept(minus.is_some()),
            _ => return Err(self.refuse("a column name, `.`, `0` or `1`")),
        };
        match (&node, minus) {
            (Item::Term(_), Some(span)) => Err(Error::NotInLanguage { construct: Construct::Removal, span }),
            _ => Ok(Spanned { node, span: self.next().span }),
        }
    }

    /// Refuse `name(`.
    fn refuse_call(&self, name: &str) -> Result<()> {
        if self.word(1).node != Token::Open {
            return Ok(());
        }
        let span = self.word(0).span.start..self.closing(self.at + 1);
        Err(Error::NotInLanguage { construct: Construct::Call(name.to_owned()), span })
    }

    /// Why the word here cannot stand here.
    fn refuse(&self, expected: &'static str) -> Error {
        let Spanned { node, span } = self.word(0).clone();
        match node {
            Token::Operator(construct) => Error::NotInLanguage { construct, span },
            Token::Number(found) if !matches!(found.as_str(), "0" | "1") => Error::Number { found, span },
            Token::Open => {
                let span = span.start..self.closing(self.at);
                let inside = self.words[self.at..].iter().take_while(|word| word.span.end <= span.end);
                let bar = Token::Operator(Construct::GroupEffect);
                let grouped = inside.into_iter().any(|word| word.node == bar);
                let construct = if grouped { Construct::GroupEffect } else { Construct::Parentheses };
                Error::NotInLanguage { construct, span }
            }
            other => Error::Syntax { expected, found: other.to_string(), span },
        }
    }

    /// End of the parenthesis that word `open` opens; its own end when nothing closes it.
    fn closing(&self, open: usize) -> usize {
        let mut depth = 0usize;
        for word in &self.words[open..] {
            match word.node {
                Token::Open => depth += 1,
                Token::Close => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return word.span.end;
            }
        }
        self.words[open].span.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> String {
        parse(text).unwrap().to_string()
    }

    fn refused(text: &str) -> (Error, &str) {
        let error = parse(text).unwrap_err();
        let span = error.span().unwrap();
        (error, &text[span])
    }

    fn construct(text: &str) -> (Construct, &str) {
        match refused(text) {
            (Error::NotInLanguage { construct, .. }, at) => (construct, at),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_intercept_is_there_unless_taken_out() {
        assert_eq!(canonical("y ~ a"), "y ~ a");
        assert_eq!(canonical("y ~ 1 + a"), "y ~ a");
        for text in ["y ~ 0 + a", "y ~ a + 0", "y ~ a - 1", "y ~ -1 + a", "y~a+-1", "y ~ +a-1"] {
            assert_eq!(canonical(text), "y ~ 0 + a", "{text}");
        }
    }

    #[test]
    fn the_last_word_on_the_intercept_holds() {
        assert_eq!(canonical("y ~ 0 + a + 1"), "y ~ a");
        assert_eq!(canonical("y ~ 1 + a - 1"), "y ~ 0 + a");
        assert_eq!(canonical("y ~ 0 + a - 0"), "y ~ a");
    }

    #[test]
    fn an_intercept_alone_is_a_model() {
        assert_eq!(canonical("y ~ 1"), "y ~ 1");
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
        assert!(matches!(refused("y ~"), (Error::NoTerms { .. }, "")));
        assert!(matches!(refused("y ~ 0 "), (Error::NoTerms { .. }, "0 ")));
        assert!(matches!(refused("y ~ 1 - 1"), (Error::NoTerms { .. }, "1 - 1")));
    }

    #[test]
    fn the_response_is_no_predictor() {
        assert!(matches!(refused("y ~ a + y"), (Error::ResponseAsPredictor { .. }, "y")));
        assert_eq!(parse("y ~ a + y").unwrap_err().span(), Some(8..9));
    }

    #[test]
    fn larger_languages_are_refused_by_name_and_place() {
        assert_eq!(construct("y ~ a:b"), (Construct::Interaction, ":"));
        assert_eq!(construct("y ~ a * b"), (Construct::Crossing, "*"));
        assert_eq!(construct("y ~ a / b"), (Construct::Nesting, "/"));
        assert_eq!(construct("y ~ (a + b)^2"), (Construct::Parentheses, "(a + b)"));
        assert_eq!(construct("y ~ a^2"), (Construct::Power, "^"));
        assert_eq!(construct("y ~ . - a"), (Construct::Removal, "-"));
        assert_eq!(construct("y ~ x + (1 | g)"), (Construct::GroupEffect, "(1 | g)"));
        assert_eq!(construct("y ~ (a + b) + x | g"), (Construct::Parentheses, "(a + b)"));
        assert_eq!(construct("y ~ I(a^(1)) + b"), (Construct::Call("I".into()), "I(a^(1))"));
        assert_eq!(construct("log(y) ~ a"), (Construct::Call("log".into()), "log(y)"));
        assert_eq!(construct("y ~ log(a"), (Construct::Call("log".into()), "log("));
        assert_eq!(
            parse("y ~ a:b").unwrap_err().to_string(),
            "interaction `:` is not part of this formula language; use `+` terms of numeric columns, \
             and back-quotes for a column of such a name"
        );
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
            ("y ~ a @ b", "@"),
            ("y ~ a, b", ","),
            ("y ~ `` + a", "``"),
        ] {
            let (error, found) = refused(text);
            assert!(matches!(error, Error::Syntax { .. }), "{text}: {error}");
            assert_eq!(found, at, "{text}");
        }
        assert!(matches!(refused("y ~ 2 + a"), (Error::Number { .. }, "2")));
        assert!(matches!(refused("y ~ 2x"), (Error::Number { .. }, "2x")));
    }
}
