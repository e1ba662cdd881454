//! From text to weights:
//! ```text
//! sum  = ['+' | '-'] term { ('+' | '-') term }      term = part { '*' part | '/' part }
//! part = number | name | '(' sum ')'
//! ```
//! A name is the longest coefficient name at that place, so `(Intercept)` and `a:b` need no back-quotes.
//! Back-quotes may hold any name.

use std::ops::Range;

use provi_table::nearest;

use crate::error::BadContrast;

/// The weight of each name.
pub(super) fn parse(text: &str, names: &[String]) -> Result<Vec<f64>, BadContrast> {
    let text = text.trim_end();
    let mut parser = Parser { text, names, at: 0, depth: 0 };
    let sum = parser.sum()?;
    if let Some(found) = parser.peek() {
        let expected = if found == ')' { "the end" } else { "`+`, `-`, `*`, `/` or the end" };
        return Err(parser.unexpected(expected));
    }
    let span = 0..text.len();
    if sum.weights.iter().chain([&sum.constant]).any(|w| !w.is_finite()) {
        return Err(BadContrast::Infinite { span });
    }
    if sum.constant.abs() > 0.0 {
        return Err(BadContrast::Constant { constant: sum.constant, span });
    }
    if sum.is_constant() {
        return Err(BadContrast::Zero { span });
    }
    Ok(sum.weights)
}

/// constant + Σ weight·coefficient.
struct Affine {
    constant: f64,
    weights: Vec<f64>,
}

impl Affine {
    fn is_constant(&self) -> bool {
        self.weights.iter().all(|w| w.abs() <= 0.0)
    }

    fn scale(&mut self, by: f64) {
        self.constant *= by;
        self.weights.iter_mut().for_each(|w| *w *= by);
    }

    fn add(&mut self, other: &Self, sign: f64) {
        self.constant += sign * other.constant;
        self.weights.iter_mut().zip(&other.weights).for_each(|(w, x)| *w += sign * x);
    }
}

/// Most levels of nested brackets.
const DEEPEST: usize = 100;

struct Parser<'a> {
    text: &'a str,
    names: &'a [String],
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    /// The next character that is not a space.
    fn peek(&mut self) -> Option<char> {
        self.at += self.rest().len() - self.rest().trim_start().len();
        self.rest().chars().next()
    }

    fn take(&mut self, wanted: &[char]) -> Option<char> {
        let found = self.peek().filter(|c| wanted.contains(c))?;
        self.at += found.len_utf8();
        Some(found)
    }

    fn unexpected(&mut self, expected: &'static str) -> BadContrast {
        let (found, length) = match self.peek() {
            None => ("the end".to_owned(), 0),
            Some(c) => (format!("`{}`", c.escape_default()), c.len_utf8()),
        };
        BadContrast::Syntax { expected, found, span: self.at..self.at + length }
    }

    fn sum(&mut self) -> Result<Affine, BadContrast> {
        let negative = self.take(&['+', '-']) == Some('-');
        let mut sum = self.term()?;
        if negative {
            sum.scale(-1.0);
        }
        while let Some(sign) = self.take(&['+', '-']) {
            let term = self.term()?;
            sum.add(&term, if sign == '-' { -1.0 } else { 1.0 });
        }
        Ok(sum)
    }

    fn term(&mut self) -> Result<Affine, BadContrast> {
        let start = self.at;
        let mut term = self.part()?;
        while let Some(operator) = self.take(&['*', '/']) {
            let other = self.part()?;
            let span = start..self.at;
            if operator == '/' {
                if !other.is_constant() {
                    return Err(BadContrast::NotLinear { what: "it does not divide by a coefficient", span });
                }
                term.scale(other.constant.recip());
            } else if other.is_constant() {
                term.scale(other.constant);
            } else if term.is_constant() {
                let by = term.constant;
                term = other;
                term.scale(by);
            } else {
                return Err(BadContrast::NotLinear { what: "it does not multiply coefficients", span });
            }
        }
        Ok(term)
    }

    fn part(&mut self) -> Result<Affine, BadContrast> {
        const EXPECTED: &str = "a coefficient or a number";
        let first = self.peek().ok_or_else(|| self.unexpected(EXPECTED))?;
        if let Some(index) = self.known_name() {
            return Ok(self.coefficient(index));
        }
        match first {
            '`' => self.quoted(),
            '(' if self.depth < DEEPEST => {
                (self.at, self.depth) = (self.at + 1, self.depth + 1);
                let sum = self.sum()?;
                self.depth -= 1;
                self.take(&[')']).ok_or_else(|| self.unexpected("`+`, `-`, `*`, `/` or `)`"))?;
                Ok(sum)
            }
            c if c.is_ascii_digit() || c == '.' => self.number(),
            c if in_word(c) => {
                let length = self.rest().find(|c| !in_word(c)).unwrap_or(self.rest().len());
                // `town[Zug]` is one name, whether known or not.
                let bracket = self.rest()[length..].starts_with('[').then(|| self.rest()[length..].find(']'));
                let length = length + bracket.flatten().map_or(0, |end| end + 1);
                let name = self.rest()[..length].to_owned();
                Err(self.unknown(name, self.at..self.at + length))
            }
            _ => Err(self.unexpected(EXPECTED)),
        }
    }

    fn coefficient(&self, index: usize) -> Affine {
        let mut weights = vec![0.0; self.names.len()];
        weights[index] = 1.0;
        Affine { constant: 0.0, weights }
    }

    /// Reads the longest whole name at this place.
    fn known_name(&mut self) -> Option<usize> {
        let rest = self.rest();
        let ends_here = |name: &str| {
            let word = name.chars().next_back().is_some_and(in_word);
            !(word && rest[name.len()..].chars().next().is_some_and(in_word))
        };
        let stands = |name: &str| !name.is_empty() && rest.starts_with(name) && ends_here(name);
        let found =
            (0..self.names.len()).filter(|&i| stands(&self.names[i])).max_by_key(|&i| self.names[i].len())?;
        self.at += self.names[found].len();
        Some(found)
    }

    /// Reads a name in back-quotes; a doubled back-quote stands for itself.
    fn quoted(&mut self) -> Result<Affine, BadContrast> {
        let start = self.at;
        let mut name = String::new();
        self.at += 1;
        loop {
            let Some(length) = self.rest().find('`') else {
                return Err(BadContrast::Unclosed { span: start..self.text.len() });
            };
            name.push_str(&self.rest()[..length]);
            self.at += length + 1;
            if !self.rest().starts_with('`') {
                break;
            }
            name.push('`');
            self.at += 1;
        }
        match self.names.iter().position(|n| *n == name) {
            Some(index) => Ok(self.coefficient(index)),
            None => Err(self.unknown(name, start..self.at)),
        }
    }

    fn unknown(&self, name: String, span: Range<usize>) -> BadContrast {
        let nearest = nearest(&name, self.names.iter().map(String::as_str)).map(str::to_owned);
        BadContrast::UnknownName { name, nearest, known: self.names.to_vec(), span }
    }

    fn number(&mut self) -> Result<Affine, BadContrast> {
        let bytes = self.rest().as_bytes();
        let digits = |from: usize| from + bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
        let mut end = digits(0);
        if bytes.get(end) == Some(&b'.') {
            end = digits(end + 1);
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let from = end + 1 + usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            if digits(from.min(bytes.len())) > from {
                end = digits(from);
            }
        }
        let text = &self.rest()[..end];
        let Ok(constant) = text.parse::<f64>() else {
            let (found, span) = (format!("`{text}`"), self.at..self.at + end);
            return Err(BadContrast::Syntax { expected: "a number", found, span });
        };
        self.at += end;
        Ok(Affine { constant, weights: vec![0.0; self.names.len()] })
    }
}

/// Some names, the first ten.
fn in_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.')
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // small sums of exact numbers
mod tests {
    use super::*;

    fn weights(text: &str) -> Result<Vec<f64>, BadContrast> {
        parse(text, &["(Intercept)", "a", "b", "a:b", "my col"].map(str::to_owned))
    }

    #[test]
    fn linear_expressions_become_weights() {
        for (text, expected) in [
            ("a - b", [0.0, 1.0, -1.0, 0.0, 0.0]),
            ("-a", [0.0, -1.0, 0.0, 0.0, 0.0]),
            ("0.5*a + b*.25 - a:b/4", [0.0, 0.5, 0.25, -0.25, 0.0]),
            ("(Intercept) + 2e1 * `my col`", [1.0, 0.0, 0.0, 0.0, 20.0]),
            ("2*(a - (b + a)/2) - 3 + 3", [0.0, 1.0, -1.0, 0.0, 0.0]),
            ("  a+a ", [0.0, 2.0, 0.0, 0.0, 0.0]),
        ] {
            assert_eq!(weights(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_pointed_at() {
        let span = |text: &str| weights(text).unwrap_err().span();
        assert_eq!(span("a - "), 3..3);
        assert_eq!(span("a - c"), 4..5);
        assert_eq!(span("a b"), 2..3);
        assert_eq!(span("2a"), 1..2);
        assert_eq!(span("a * b"), 0..5);
        assert_eq!(span("1 / a"), 0..5);
        assert_eq!(span("(a - b"), 6..6);
        assert_eq!(span("a)"), 1..2);
        assert_eq!(span("a - `my"), 4..7);
        assert_eq!(span("a - 1"), 0..5);
        assert_eq!(span(""), 0..0);
        assert_eq!(weights("a - a").unwrap_err(), BadContrast::Zero { span: 0..5 });
        assert_eq!(weights("a/0").unwrap_err(), BadContrast::Infinite { span: 0..3 });
        assert!(weights(&"(".repeat(200_000)).is_err());
    }

    #[test]
    fn a_slip_finds_its_name() {
        let error = parse("agee - b", &["age", "b"].map(str::to_owned)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`agee` is not a coefficient; did you mean `age`? the coefficients are `age`, `b`"
        );
    }
}
