//! Calls: `log(x)`, `I(x^2)`, `scale(x)`, `poly(x, 3)`, `bs(x, 5)`, `factor(x)`, `offset(x)`.

use super::{Expression, Factor, Function, Operation, Span, Spanned, lexer::Token, parser::Parser};
use crate::{
    error::{Error, Result},
    nearest::nearest,
};

/// Most operations in one expression; keeps the tree shallow.
const MOST_OPERATIONS: usize = 200;

/// Largest k of `poly(x, k)` and `bs(x, k)`.
const MOST_COLUMNS: usize = 50;

/// Functions that are no arithmetic.
const OTHERS: [&str; 8] = ["I", "factor", "C", "center", "scale", "poly", "bs", "offset"];

impl Parser {
    /// The call whose name stands here.
    pub(super) fn call(&mut self) -> Result<Factor> {
        let Spanned { node, span } = self.next();
        let Token::Name(name) = node else { return Err(self.refuse("a function")) };
        self.next();
        let factor = match name.as_str() {
            "factor" | "C" => {
                let column = self.column()?;
                self.close()?;
                return Ok(Factor::Category(column));
            }
            "I" => match self.argument()? {
                Expression::Column(column) => Factor::Column(column),
                x => Factor::Number(x),
            },
            "center" => Factor::Center(self.argument()?),
            "scale" => Factor::Scale(self.argument()?),
            "poly" => {
                let x = self.argument()?;
                Factor::Polynomial(x, self.count("poly", "degree", 1)?)
            }
            "bs" => {
                let x = self.argument()?;
                Factor::Spline(x, self.count("bs", "df", 3)?)
            }
            other => match Function::named(other) {
                Some(function) => Factor::Number(Expression::Call(function, Box::new(self.argument()?))),
                None => return Err(unknown(&name, span)),
            },
        };
        self.close()?;
        Ok(factor)
    }

    /// `(x)` behind `offset`.
    pub(super) fn offset(&mut self) -> Result<Expression> {
        self.next();
        self.next();
        let x = self.argument()?;
        self.close()?;
        Ok(x)
    }

    /// A column's name.
    pub(super) fn column(&mut self) -> Result<String> {
        match &self.word(0).node {
            Token::Name(name) => {
                let name = name.clone();
                let span = self.next().span;
                self.mention(&name, span);
                Ok(name)
            }
            _ => Err(self.refuse("a column name")),
        }
    }

    /// `)`
    pub(super) fn close(&mut self) -> Result<()> {
        match self.word(0).node {
            Token::Close => {
                self.next();
                Ok(())
            }
            _ => Err(self.refuse("`)`")),
        }
    }

    /// Arithmetic that names a column at least.
    fn argument(&mut self) -> Result<Expression> {
        let start = self.word(0).span.start;
        self.operations = 0;
        let x = self.arithmetic()?;
        let mut named = false;
        x.columns(&mut |_| named = true);
        if named { Ok(x) } else { Err(Error::NoColumn { span: start..self.before() }) }
    }

    /// `, k` or `, name = k` with a whole k of at least `least`.
    fn count(&mut self, function: &'static str, name: &'static str, least: usize) -> Result<usize> {
        let wrong = |span: Span| Error::Argument { function, name, least, most: MOST_COLUMNS, span };
        if self.word(0).node != Token::Comma {
            return Err(wrong(self.word(0).span.clone()));
        }
        self.next();
        if matches!(&self.word(0).node, Token::Name(word) if word == name)
            && self.word(1).node == Token::Equals
        {
            self.next();
            self.next();
        }
        let Spanned { node, span } = self.next();
        match node {
            Token::Number(word) => match word.parse::<usize>() {
                Ok(count) if (least..=MOST_COLUMNS).contains(&count) => Ok(count),
                _ => Err(wrong(span)),
            },
            _ => Err(wrong(span)),
        }
    }

    /// `x + y * z` and so on, by precedence.
    pub(super) fn arithmetic(&mut self) -> Result<Expression> {
        self.deeper(Self::plus_minus)
    }

    fn plus_minus(&mut self) -> Result<Expression> {
        let mut left = self.times_divided()?;
        loop {
            let operation = match self.word(0).node {
                Token::Plus => Operation::Add,
                Token::Minus => Operation::Subtract,
                _ => return Ok(left),
            };
            left = self.operate(operation, left, Self::times_divided)?;
        }
    }

    fn times_divided(&mut self) -> Result<Expression> {
        let mut left = self.signed()?;
        loop {
            let operation = match self.word(0).node {
                Token::Star => Operation::Multiply,
                Token::Slash => Operation::Divide,
                _ => return Ok(left),
            };
            left = self.operate(operation, left, Self::signed)?;
        }
    }

    fn operate(
        &mut self,
        operation: Operation,
        left: Expression,
        right: impl FnOnce(&mut Self) -> Result<Expression>,
    ) -> Result<Expression> {
        let span = self.next().span;
        self.operations += 1;
        if self.operations > MOST_OPERATIONS {
            return Err(Error::TooLarge { span });
        }
        Ok(Expression::Binary(operation, Box::new(left), Box::new(right(self)?)))
    }

    fn signed(&mut self) -> Result<Expression> {
        match self.word(0).node {
            Token::Minus => {
                self.next();
                self.deeper(|parser| Ok(Expression::Negative(Box::new(parser.signed()?))))
            }
            Token::Plus => {
                self.next();
                self.deeper(Self::signed)
            }
            _ => {
                let base = self.operand()?;
                match self.word(0).node {
                    Token::Caret => {
                        self.operate(Operation::Power, base, |parser| parser.deeper(Self::signed))
                    }
                    _ => Ok(base),
                }
            }
        }
    }

    fn operand(&mut self) -> Result<Expression> {
        match self.word(0).node.clone() {
            Token::Number(word) => match word.parse::<f64>() {
                Ok(value) if value.is_finite() => {
                    self.next();
                    Ok(Expression::Number(value))
                }
                _ => Err(self.refuse("a number")),
            },
            Token::Name(name) if self.word(1).node == Token::Open => {
                let Some(function) = Function::named(&name) else {
                    return Err(match OTHERS.contains(&name.as_str()) {
                        true => self.refuse("arithmetic on columns"),
                        false => unknown(&name, self.word(0).span.clone()),
                    });
                };
                self.next();
                self.next();
                let x = self.arithmetic()?;
                self.close()?;
                Ok(Expression::Call(function, Box::new(x)))
            }
            Token::Name(_) => self.column().map(Expression::Column),
            Token::Open => {
                self.next();
                let x = self.arithmetic()?;
                self.close()?;
                Ok(x)
            }
            _ => Err(self.refuse("a column name or a number")),
        }
    }
}

fn unknown(name: &str, span: Span) -> Error {
    let known = || Function::ALL.into_iter().map(Function::name).chain(OTHERS);
    Error::UnknownFunction { name: name.to_owned(), nearest: nearest(name, known()).map(str::to_owned), span }
}
