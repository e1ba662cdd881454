//! Words to a formula, by recursive descent.

use super::{
    Expression, Factor, Formula, Mentions, Response, Span, Spanned, Trials,
    lexer::{Token, words},
    sum::{MOST_TERMS, Sum, Terms},
};
use crate::error::{BadFormula, Error, Misplaced, Result};

/// Deepest nesting of parentheses and signs.
const DEEPEST: usize = 64;

/// Parses a whole formula.
pub(super) fn parse(text: &str) -> Result<Formula> {
    let mut parser = Parser::new(text)?;
    let response = parser.response()?;
    let right = parser.word(0).span.start;
    if parser.word(0).node == Token::End {
        return Err(Error::Formula(BadFormula::NoTerms { span: right..right }));
    }
    let sum = parser.sum(Context::Formula)?;
    if parser.word(0).node != Token::End {
        return Err(parser.refuse("`+` or the end"));
    }
    if sum.terms.is_empty() && sum.groups.is_empty() && !sum.intercept {
        return Err(Error::Formula(BadFormula::NoTerms { span: right..parser.word(0).span.end }));
    }
    let Sum { intercept, terms, groups, offsets, .. } = sum;
    let formula =
        Formula { response, intercept, terms, groups, offsets, mentions: Mentions(parser.mentions) };
    refuse_response_on_the_right(&formula, right)?;
    formula.refuse_joined_smooths()?;
    Ok(formula)
}

/// Parses arithmetic alone.
pub(super) fn expression(text: &str) -> Result<Expression> {
    let mut parser = Parser::new(text)?;
    let x = parser.arithmetic()?;
    match parser.word(0).node {
        Token::End => Ok(x),
        _ => Err(parser.refuse("an operator or the end")),
    }
}

fn refuse_response_on_the_right(formula: &Formula, right: usize) -> Result<()> {
    let mut outcomes = Vec::new();
    formula.response.node.outcomes(&mut |name| outcomes.push(name));
    let again =
        |mention: &&Spanned<String>| mention.span.start >= right && outcomes.contains(&mention.node.as_str());
    match formula.mentions.0.iter().find(again) {
        Some(mention) => Err(Error::Formula(BadFormula::ResponseAsPredictor {
            column: mention.node.clone(),
            span: mention.span.clone(),
        })),
        _ => Ok(()),
    }
}

/// The position of a sum, which determines what it may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Context {
    /// The whole right-hand side.
    Formula,
    /// Left of the bar in a group term.
    Group,
    /// Any other parenthesis.
    Parentheses,
}

pub(super) struct Parser {
    words: Vec<Spanned<Token>>,
    at: usize,
    depth: usize,
    pub(super) operations: usize,
    mentions: Vec<Spanned<String>>,
}

impl Parser {
    fn new(text: &str) -> Result<Self> {
        Ok(Self { words: words(text)?, at: 0, depth: 0, operations: 0, mentions: Vec::new() })
    }

    /// The word here or `ahead` words on; [`Token::End`] after the last one.
    pub(super) fn word(&self, ahead: usize) -> &Spanned<Token> {
        &self.words[(self.at + ahead).min(self.words.len() - 1)]
    }

    pub(super) fn words_from_here(&self) -> &[Spanned<Token>] {
        &self.words[self.at.min(self.words.len() - 1)..]
    }

    pub(super) fn next(&mut self) -> Spanned<Token> {
        let word = self.word(0).clone();
        self.at += 1;
        word
    }

    /// End of the word before.
    pub(super) fn before(&self) -> usize {
        self.words[self.at.clamp(1, self.words.len()) - 1].span.end
    }

    /// Records that the text names a column there.
    pub(super) fn mention(&mut self, name: &str, span: Span) {
        self.mentions.push(Spanned { node: name.to_owned(), span });
    }

    /// Reads something nested, unless it is nested too deeply.
    pub(super) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == DEEPEST {
            return Err(Error::Formula(BadFormula::TooLarge { span: self.word(0).span.clone() }));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// `name ~`, and the other forms of a response.
    fn response(&mut self) -> Result<Spanned<Response>> {
        let start = self.word(0).span.start;
        let Token::Name(name) = self.word(0).node.clone() else {
            return Err(self.refuse("the response, a column name"));
        };
        let node = if self.word(1).node != Token::Open {
            let column = self.column()?;
            match self.word(0).node {
                Token::Bar => self.trials(column)?,
                _ => Response::Value(Expression::Column(column)),
            }
        } else if name == "cbind" {
            self.counts()?
        } else if name == "surv" || name == "Surv" {
            self.survival()?
        } else if name == "interval" {
            self.interval()?
        } else if name == "ordered" {
            let (column, levels) = self.categories()?;
            Response::Ordered { column, levels }
        } else if name == "multinomial" {
            let (column, levels) = self.categories()?;
            Response::Multinomial { column, levels }
        } else {
            match self.call()? {
                Factor::Column(column) => Response::Value(Expression::Column(column)),
                Factor::Number(x) => Response::Value(x),
                _ => {
                    let span = start..self.before();
                    return Err(Error::Formula(BadFormula::Misplaced { what: Misplaced::Response, span }));
                }
            }
        };
        let span = start..self.before();
        match self.word(0).node {
            Token::Tilde => {
                self.next();
                Ok(Spanned { node, span })
            }
            Token::Star | Token::Slash | Token::Caret | Token::Colon => {
                Err(Error::Formula(BadFormula::Misplaced {
                    what: Misplaced::Response,
                    span: self.word(0).span.clone(),
                }))
            }
            _ => Err(self.refuse("`~` after the response")),
        }
    }

    /// `(successes, failures)` after `cbind`.
    fn counts(&mut self) -> Result<Response> {
        self.next();
        self.next();
        let successes = self.column()?;
        if self.word(0).node != Token::Comma {
            return Err(self.refuse("`,` and the column of failures"));
        }
        self.next();
        let failures = self.column()?;
        self.close()?;
        Ok(Response::Counts { successes, failures })
    }

    /// `(time, event)` or `(entry, time, event)` after `surv`.
    fn survival(&mut self) -> Result<Response> {
        let missing =
            "`,` and the column of events: 1 where the event was seen, 0 where the row was censored";
        let (entry, [time, event]) = self.two_or_three(missing)?;
        Ok(Response::Survival { entry, time, event })
    }

    /// `(column)` or `(column, levels = c(..))` after `ordered` or `multinomial`.
    fn categories(&mut self) -> Result<(String, Vec<String>)> {
        self.next();
        self.next();
        let column = self.column()?;
        let levels = self.levels()?.unwrap_or_default();
        self.close()?;
        Ok((column, levels))
    }

    /// `(lower, upper)` or `(entry, lower, upper)` after `interval`.
    fn interval(&mut self) -> Result<Response> {
        let missing = "`,` and the column where the intervals end: empty where no end is known";
        let (entry, [lower, upper]) = self.two_or_three(missing)?;
        Ok(Response::Interval { entry, lower, upper })
    }

    /// Two columns in brackets, or three, of which the first then stands alone.
    fn two_or_three(&mut self, missing: &'static str) -> Result<(Option<String>, [String; 2])> {
        self.next();
        self.next();
        let first = self.column()?;
        if self.word(0).node != Token::Comma {
            return Err(self.refuse(missing));
        }
        self.next();
        let second = self.column()?;
        let columns = match self.word(0).node {
            Token::Comma => {
                self.next();
                (Some(first), [second, self.column()?])
            }
            _ => (None, [first, second]),
        };
        if self.word(0).node == Token::Comma {
            return Err(self.refuse("`)` after at most three columns"));
        }
        self.close()?;
        Ok(columns)
    }

    /// `| trials(n)` after a column.
    fn trials(&mut self, successes: String) -> Result<Response> {
        self.next();
        let named = matches!(&self.word(0).node, Token::Name(name) if name == "trials");
        if !named || self.word(1).node != Token::Open {
            return Err(self.refuse("`trials(n)` after the bar"));
        }
        self.next();
        self.next();
        let trials = match &self.word(0).node {
            Token::Number(word) => match word.parse::<u32>() {
                Ok(count) if count > 0 => {
                    self.next();
                    Trials::Number(f64::from(count))
                }
                _ => return Err(self.refuse("a whole number of trials or a column name")),
            },
            _ => Trials::Column(self.column()?),
        };
        self.close()?;
        Ok(Response::Trials { successes, trials })
    }

    /// `item + item - item`, to its end.
    pub(super) fn sum(&mut self, context: Context) -> Result<Sum> {
        let mut sum = Sum::default();
        if self.word(0).node == Token::Plus {
            self.next();
        }
        loop {
            let minus = self.word(0).node == Token::Minus;
            if minus {
                self.next();
            }
            self.item(context, &mut sum, minus)?;
            match self.word(0).node {
                Token::Plus => drop(self.next()),
                Token::Minus => {}
                Token::Bar | Token::DoubleBar if context != Context::Group => {
                    return Err(self.misplaced(Misplaced::Bar));
                }
                Token::Comparison(_) | Token::Not | Token::And => {
                    return Err(self.misplaced(Misplaced::Comparison));
                }
                _ => break,
            }
        }
        sum.sort();
        Ok(sum)
    }

    /// One item, added or removed.
    fn item(&mut self, context: Context, sum: &mut Sum, minus: bool) -> Result<()> {
        let start = self.word(0).span.start;
        match &self.word(0).node {
            Token::Number(word) if word == "0" || word == "1" => {
                if context == Context::Parentheses {
                    return Err(self.misplaced(Misplaced::Intercept));
                }
                sum.intercept = (word == "1") != minus;
                self.next();
                self.refuse_product(Misplaced::Intercept)
            }
            Token::Dot => {
                if context != Context::Formula || minus {
                    return Err(self.misplaced(Misplaced::Dot));
                }
                sum.dot(self.next().span);
                self.refuse_product(Misplaced::Dot)
            }
            Token::Name(name) if name == "offset" && self.word(1).node == Token::Open => {
                if context != Context::Formula || minus {
                    return Err(self.misplaced(Misplaced::Offset));
                }
                let node = self.offset()?;
                sum.offsets.push(Spanned { node, span: start..self.before() });
                self.refuse_product(Misplaced::Offset)
            }
            Token::Open if self.at_group() => {
                if context != Context::Formula || minus {
                    return Err(self.misplaced(Misplaced::Group));
                }
                for group in self.group()? {
                    if !sum.groups.contains(&group) {
                        sum.groups.push(group);
                    }
                }
                self.refuse_product(Misplaced::Group)
            }
            _ => {
                let terms = self.product()?;
                let span = start..self.before();
                if minus {
                    sum.remove(&terms, &span)?;
                } else {
                    sum.add(terms, &span);
                }
                if sum.terms.len() > MOST_TERMS {
                    Err(Error::Formula(BadFormula::TooLarge { span }))
                } else {
                    Ok(())
                }
            }
        }
    }

    /// `a * b`, `a / b`, of interactions.
    fn product(&mut self) -> Result<Terms> {
        let mut left = self.nesting()?;
        loop {
            let span = self.word(0).span.clone();
            let joined = match self.word(0).node {
                Token::Star => {
                    self.next();
                    left.cross(self.nesting()?)
                }
                Token::Slash => {
                    self.next();
                    left.nest(&self.nesting()?)
                }
                _ => return Ok(left),
            };
            left = joined.ok_or(Error::Formula(BadFormula::TooLarge { span }))?;
        }
    }

    /// `a %in% b`, of interactions.
    fn nesting(&mut self) -> Result<Terms> {
        let mut left = self.interaction()?;
        while self.word(0).node == Token::In {
            let span = self.next().span;
            left = left.within(&self.interaction()?).ok_or(Error::Formula(BadFormula::TooLarge { span }))?;
        }
        Ok(left)
    }

    /// `a:b`, of powers.
    fn interaction(&mut self) -> Result<Terms> {
        let mut left = self.power()?;
        while self.word(0).node == Token::Colon {
            let span = self.next().span;
            left = left.interact(&self.power()?).ok_or(Error::Formula(BadFormula::TooLarge { span }))?;
        }
        Ok(left)
    }

    /// `(a + b)^2`
    fn power(&mut self) -> Result<Terms> {
        let parenthesis = self.word(0).node == Token::Open;
        let base = self.atom()?;
        if self.word(0).node != Token::Caret {
            return Ok(base);
        }
        // As a power of terms, a^2 would be a alone; its writer means the square.
        if !parenthesis {
            return Err(self.misplaced(Misplaced::Power));
        }
        let caret = self.next().span;
        let exponent = match &self.word(0).node {
            Token::Number(word) => word.parse::<usize>().ok().filter(|k| *k >= 1),
            _ => None,
        };
        let exponent = exponent.ok_or_else(|| self.refuse("a whole number after `^`"))?;
        self.next();
        base.power(exponent).ok_or(Error::Formula(BadFormula::TooLarge { span: caret }))
    }

    /// A column, a call or a parenthesis.
    fn atom(&mut self) -> Result<Terms> {
        match &self.word(0).node {
            Token::Name(name) if self.word(1).node == Token::Open => match name.as_str() {
                "offset" => Err(self.misplaced(Misplaced::Offset)),
                _ => Ok(Terms::one(self.call()?)),
            },
            Token::Name(_) => Ok(Terms::one(Factor::Column(self.column()?))),
            Token::Dot => Err(self.misplaced(Misplaced::Dot)),
            Token::Open if self.at_group() => Err(self.misplaced(Misplaced::Group)),
            Token::Open => {
                self.next();
                let sum = self.deeper(|parser| parser.sum(Context::Parentheses))?;
                self.close()?;
                Ok(sum.into_terms())
            }
            Token::Number(word) if word == "0" || word == "1" => Err(self.misplaced(Misplaced::Intercept)),
            Token::Not => Err(self.misplaced(Misplaced::Comparison)),
            Token::Text(_) => Err(self.misplaced(Misplaced::Text)),
            _ => Err(self.refuse("a column name, `.`, `0` or `1`")),
        }
    }

    fn misplaced(&self, what: Misplaced) -> Error {
        Error::Formula(BadFormula::Misplaced { what, span: self.word(0).span.clone() })
    }

    /// Refuses an operator of products after something that is not a factor.
    fn refuse_product(&self, what: Misplaced) -> Result<()> {
        match self.word(0).node {
            Token::Star | Token::Slash | Token::Colon | Token::Caret | Token::In => Err(self.misplaced(what)),
            _ => Ok(()),
        }
    }

    /// The error for a word that is not allowed here.
    pub(super) fn refuse(&self, expected: &'static str) -> Error {
        let Spanned { node, span } = self.word(0).clone();
        match node {
            Token::Number(found) if !matches!(found.as_str(), "0" | "1") => {
                Error::Formula(BadFormula::Number { found, span })
            }
            other => Error::Formula(BadFormula::Syntax { expected, found: other.to_string(), span }),
        }
    }
}
