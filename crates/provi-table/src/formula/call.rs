//! Calls: `log(x)`, `I(x^2)`, `scale(x)`, `poly(x, 3)`, `bs(x, 5)`, `s(x)`, `factor(x)`, `offset(x)`, and their arguments.

use super::{
    Comparison, Expression, Factor, Function, Operation, Span, Spanned, TextTest, lexer::Token,
    parser::Parser,
};
use crate::{
    column::number_level,
    error::{BadFormula, Error, Misplaced, Result},
    nearest::nearest,
};

/// Most operations in one expression; keeps the tree shallow.
const MOST_OPERATIONS: usize = 200;

/// Largest k of `poly(x, k)` and `bs(x, k)`.
const MOST_COLUMNS: usize = 50;

/// Most entries of a list.
const MOST_ENTRIES: usize = 1000;

/// Functions that are not arithmetic.
const OTHERS: [&str; 10] = ["I", "factor", "as.factor", "C", "center", "scale", "poly", "bs", "s", "offset"];

/// One side of a comparison.
enum Side {
    Number(Expression),
    Text(String, Span),
}

impl Parser {
    /// The call whose name is here.
    pub(super) fn call(&mut self) -> Result<Factor> {
        let Spanned { node, span } = self.next();
        let Token::Name(name) = node else { return Err(self.refuse("a function")) };
        self.next();
        let factor = match name.as_str() {
            "factor" | "as.factor" | "C" => {
                let column = self.column()?;
                let levels = self.levels()?;
                self.close()?;
                return Ok(match levels {
                    Some(levels) => Factor::Levels(column, levels),
                    None => Factor::Category(column),
                });
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
            "s" => {
                let x = self.argument()?;
                Factor::Smooth(x, self.smoothing()?)
            }
            other => match Function::named(other) {
                Some(function) => Factor::Number(Expression::Call(function, Box::new(self.argument()?))),
                None => return Err(unknown(&name, span)),
            },
        };
        self.close()?;
        Ok(factor)
    }

    /// `(x)` after `offset`.
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

    /// Arithmetic that names at least one column.
    fn argument(&mut self) -> Result<Expression> {
        let start = self.word(0).span.start;
        self.operations = 0;
        let x = self.arithmetic()?;
        let mut named = false;
        x.columns(&mut |_| named = true);
        if named { Ok(x) } else { Err(Error::Formula(BadFormula::NoColumn { span: start..self.before() })) }
    }

    /// `, levels = c(..)` after the column of a category, if it is there.
    pub(super) fn levels(&mut self) -> Result<Option<Vec<String>>> {
        if self.word(0).node != Token::Comma {
            return Ok(None);
        }
        self.next();
        if self.word(1).node == Token::Equals {
            if !matches!(&self.word(0).node, Token::Name(word) if word == "levels") {
                return Err(self.refuse("`levels = c(..)`"));
            }
            self.next();
            self.next();
        }
        let start = self.word(0).span.start;
        let entries = self.list()?;
        let mut levels: Vec<String> = Vec::with_capacity(entries.len());
        for entry in entries {
            let level = match entry {
                Entry::Number(value) => number_level(value),
                Entry::Text(text) => text.trim().to_owned(),
            };
            if levels.contains(&level) {
                return Err(Error::Formula(BadFormula::RepeatedLevel { level, span: start..self.before() }));
            }
            levels.push(level);
        }
        Ok(Some(levels))
    }

    /// `c(1, 2)`, `c("a", "b")`, `1:3`, or one entry by itself.
    fn list(&mut self) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        let is_list = matches!(&self.word(0).node, Token::Name(word) if word == "c")
            && self.word(1).node == Token::Open;
        if !is_list {
            self.entry(&mut entries)?;
            return Ok(entries);
        }
        self.next();
        self.next();
        loop {
            self.entry(&mut entries)?;
            match self.word(0).node {
                Token::Comma => drop(self.next()),
                _ => break,
            }
        }
        self.close()?;
        Ok(entries)
    }

    /// A text, a number, or the whole numbers `first:last`.
    fn entry(&mut self, entries: &mut Vec<Entry>) -> Result<()> {
        let start = self.word(0).span.start;
        if let Token::Text(text) = &self.word(0).node {
            entries.push(Entry::Text(text.clone()));
            self.next();
        } else {
            let first = self.signed_number()?;
            if self.word(0).node == Token::Colon {
                self.next();
                let last = self.signed_number()?;
                let whole = first.fract().abs() <= 0.0 && (first - last).abs() < MOST_ENTRIES as f64;
                if !whole {
                    return Err(Error::Formula(BadFormula::TooLarge { span: start..self.before() }));
                }
                let step = if last < first { -1.0 } else { 1.0 };
                let count = (last - first).abs().floor() as usize;
                entries.extend((0..=count).map(|k| Entry::Number(first + step * k as f64)));
            } else {
                entries.push(Entry::Number(first));
            }
        }
        match entries.len() > MOST_ENTRIES {
            true => Err(Error::Formula(BadFormula::TooLarge { span: start..self.before() })),
            false => Ok(()),
        }
    }

    fn signed_number(&mut self) -> Result<f64> {
        let negative = self.word(0).node == Token::Minus;
        if negative {
            self.next();
        }
        let Token::Number(word) = &self.word(0).node else { return Err(self.refuse("a number or a text")) };
        let value = word.parse::<f64>().ok().filter(|value| value.is_finite());
        let value = value.ok_or_else(|| self.refuse("a number"))?;
        self.next();
        Ok(if negative { -value } else { value })
    }

    /// `, k` or `, name = k` with a whole k of at least `least`.
    fn count(&mut self, function: &'static str, name: &'static str, least: usize) -> Result<usize> {
        let wrong = |span: Span| {
            Error::Formula(BadFormula::Argument { function, name, least, most: MOST_COLUMNS, span })
        };
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

    /// `x + y * z`, `x > 3 & y` and so on, by precedence.
    pub(super) fn arithmetic(&mut self) -> Result<Expression> {
        self.deeper(Self::either)
    }

    fn either(&mut self) -> Result<Expression> {
        let mut left = self.both()?;
        while matches!(self.word(0).node, Token::Bar | Token::DoubleBar) {
            self.operator()?;
            left = Expression::Or(Box::new(left), Box::new(self.both()?));
        }
        Ok(left)
    }

    fn both(&mut self) -> Result<Expression> {
        let mut left = self.negated()?;
        while self.word(0).node == Token::And {
            self.operator()?;
            left = Expression::And(Box::new(left), Box::new(self.negated()?));
        }
        Ok(left)
    }

    fn negated(&mut self) -> Result<Expression> {
        if self.word(0).node == Token::Not {
            self.next();
            return self.deeper(|parser| Ok(Expression::Not(Box::new(parser.negated()?))));
        }
        self.comparison()
    }

    /// `x < y`, `town == "Bern"`, or a single operand.
    fn comparison(&mut self) -> Result<Expression> {
        let left = self.side()?;
        let Token::Comparison(comparison) = self.word(0).node else {
            return match left {
                Side::Number(x) => Ok(x),
                Side::Text(_, span) => {
                    Err(Error::Formula(BadFormula::Misplaced { what: Misplaced::Text, span }))
                }
            };
        };
        self.operator()?;
        let right = self.side()?;
        let test = |column, comparison, text| {
            Ok(Expression::Test(TextTest { column, comparison, texts: vec![text] }))
        };
        match (left, right) {
            (Side::Number(x), Side::Number(y)) => {
                Ok(Expression::Compare(comparison, Box::new(x), Box::new(y)))
            }
            (Side::Number(Expression::Column(column)), Side::Text(text, _)) => {
                test(column, comparison, text.trim().to_owned())
            }
            (Side::Text(text, _), Side::Number(Expression::Column(column))) => {
                test(column, comparison.turned(), text.trim().to_owned())
            }
            (_, Side::Text(_, span)) | (Side::Text(_, span), _) => {
                Err(Error::Formula(BadFormula::Misplaced { what: Misplaced::Text, span }))
            }
        }
    }

    fn side(&mut self) -> Result<Side> {
        match self.word(0).node.clone() {
            Token::Text(text) => Ok(Side::Text(text, self.next().span)),
            _ => self.plus_minus().map(Side::Number),
        }
    }

    /// `x %in% c(1, 2)`, `town %in% c("Bern", "Basel")`
    fn member(&mut self) -> Result<Expression> {
        let mut left = self.signed()?;
        while self.word(0).node == Token::In {
            self.operator()?;
            let start = self.word(0).span.start;
            let entries = self.list()?;
            let numbers: Vec<f64> = entries.iter().filter_map(Entry::number).collect();
            let texts: Vec<String> = entries.iter().filter_map(Entry::text).collect();
            left = match left {
                x if texts.is_empty() => Expression::Among(Box::new(x), numbers),
                Expression::Column(column) if numbers.is_empty() => {
                    Expression::Test(TextTest { column, comparison: Comparison::Equal, texts })
                }
                _ => {
                    let span = start..self.before();
                    return Err(Error::Formula(BadFormula::Misplaced { what: Misplaced::Text, span }));
                }
            };
        }
        Ok(left)
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
        let mut left = self.member()?;
        loop {
            let operation = match self.word(0).node {
                Token::Star => Operation::Multiply,
                Token::Slash => Operation::Divide,
                _ => return Ok(left),
            };
            left = self.operate(operation, left, Self::member)?;
        }
    }

    fn operate(
        &mut self,
        operation: Operation,
        left: Expression,
        right: impl FnOnce(&mut Self) -> Result<Expression>,
    ) -> Result<Expression> {
        self.operator()?;
        Ok(Expression::Binary(operation, Box::new(left), Box::new(right(self)?)))
    }

    /// Reads an operator, unless there are too many.
    fn operator(&mut self) -> Result<()> {
        let span = self.next().span;
        self.operations += 1;
        if self.operations > MOST_OPERATIONS {
            Err(Error::Formula(BadFormula::TooLarge { span }))
        } else {
            Ok(())
        }
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
            Token::Name(name) if self.word(1).node == Token::Open && name == "I" => {
                self.next();
                self.next();
                let x = self.arithmetic()?;
                self.close()?;
                Ok(x)
            }
            // In back-quotes it would be longer.
            Token::Name(name)
                if (name == "TRUE" || name == "FALSE") && self.word(0).span.len() == name.len() =>
            {
                self.next();
                Ok(Expression::Number(f64::from(u8::from(name == "TRUE"))))
            }
            Token::Text(_) => Err(Error::Formula(BadFormula::Misplaced {
                what: Misplaced::Text,
                span: self.word(0).span.clone(),
            })),
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

/// One entry of a list.
enum Entry {
    Number(f64),
    Text(String),
}

impl Entry {
    fn number(&self) -> Option<f64> {
        match self {
            Self::Number(value) => Some(*value),
            Self::Text(_) => None,
        }
    }

    fn text(&self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text.trim().to_owned()),
            Self::Number(_) => None,
        }
    }
}

fn unknown(name: &str, span: Span) -> Error {
    let known = || Function::ALL.into_iter().map(Function::name).chain(OTHERS);
    Error::Formula(BadFormula::UnknownFunction {
        name: name.to_owned(),
        nearest: nearest(name, known()).map(str::to_owned),
        span,
    })
}
