//! Words of a formula.

use std::fmt;

use super::{Spanned, expression::Comparison};
use crate::error::{BadFormula, Error, Result, shown};

/// One word.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Name(String),
    /// A word that starts like a number.
    Number(String),
    /// Text in quotes.
    Text(String),
    Tilde,
    Plus,
    Minus,
    Star,
    Slash,
    Caret,
    Colon,
    Bar,
    DoubleBar,
    Comma,
    Equals,
    Comparison(Comparison),
    Not,
    And,
    /// `%in%`
    In,
    Dot,
    Open,
    Close,
    End,
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(word) | Self::Number(word) => write!(f, "`{}`", shown(word)),
            Self::Text(text) => write!(f, "the text \"{}\"", shown(text)),
            Self::Tilde => f.write_str("`~`"),
            Self::Plus => f.write_str("`+`"),
            Self::Minus => f.write_str("`-`"),
            Self::Star => f.write_str("`*`"),
            Self::Slash => f.write_str("`/`"),
            Self::Caret => f.write_str("`^`"),
            Self::Colon => f.write_str("`:`"),
            Self::Bar => f.write_str("`|`"),
            Self::DoubleBar => f.write_str("`||`"),
            Self::Comma => f.write_str("`,`"),
            Self::Equals => f.write_str("`=`"),
            Self::Comparison(comparison) => write!(f, "`{}`", comparison.symbol()),
            Self::Not => f.write_str("`!`"),
            Self::And => f.write_str("`&`"),
            Self::In => f.write_str("`%in%`"),
            Self::Dot => f.write_str("`.`"),
            Self::Open => f.write_str("`(`"),
            Self::Close => f.write_str("`)`"),
            Self::End => f.write_str("the end"),
        }
    }
}

/// The words of `text`; the last is [`Token::End`].
pub(super) fn words(text: &str) -> Result<Vec<Spanned<Token>>> {
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let start = at;
        at += first.len_utf8();
        let node = match first {
            c if c.is_whitespace() => continue,
            c if in_word(c) => {
                at = word_end(text, start);
                classify(&text[start..at])
            }
            '`' => {
                let (name, end) = quoted(text, at)
                    .ok_or(Error::Formula(BadFormula::UnclosedName { span: start..text.len() }))?;
                at = end;
                if name.is_empty() {
                    let found = "an empty pair of back-quotes".to_owned();
                    return Err(Error::Formula(BadFormula::Syntax {
                        expected: "a column name",
                        found,
                        span: start..at,
                    }));
                }
                Token::Name(name)
            }
            '"' | '\'' => {
                let (word, end) = literal(text, at, first)
                    .ok_or(Error::Formula(BadFormula::UnclosedText { span: start..text.len() }))?;
                at = end;
                Token::Text(word)
            }
            '|' if text[at..].starts_with('|') => {
                at += 1;
                Token::DoubleBar
            }
            '&' if text[at..].starts_with('&') => {
                at += 1;
                Token::And
            }
            '%' if text[at..].starts_with("in%") => {
                at += 3;
                Token::In
            }
            '=' | '!' | '<' | '>' if text[at..].starts_with('=') => {
                at += 1;
                Token::Comparison(match first {
                    '=' => Comparison::Equal,
                    '!' => Comparison::Unequal,
                    '<' => Comparison::AtMost,
                    _ => Comparison::AtLeast,
                })
            }
            other => match symbol(other) {
                Some(token) => token,
                None => {
                    let found = format!("`{}`", shown(other.encode_utf8(&mut [0; 4])));
                    let expected = "a column name or one of `~ + - * / : ^ | ( ) , . 0 1`";
                    return Err(Error::Formula(BadFormula::Syntax { expected, found, span: start..at }));
                }
            },
        };
        words.push(Spanned { node, span: start..at });
    }
    words.push(Spanned { node: Token::End, span: text.len()..text.len() });
    Ok(words)
}

fn symbol(c: char) -> Option<Token> {
    Some(match c {
        '~' => Token::Tilde,
        '+' => Token::Plus,
        '-' => Token::Minus,
        '*' => Token::Star,
        '/' => Token::Slash,
        '^' => Token::Caret,
        ':' => Token::Colon,
        '|' => Token::Bar,
        ',' => Token::Comma,
        '=' => Token::Equals,
        '<' => Token::Comparison(Comparison::Less),
        '>' => Token::Comparison(Comparison::Greater),
        '!' => Token::Not,
        '&' => Token::And,
        '(' => Token::Open,
        ')' => Token::Close,
        _ => return None,
    })
}

/// End of the word that starts at `start`; the sign of an exponent, as in `1e-3`, belongs to it.
fn word_end(text: &str, start: usize) -> usize {
    let end = |from: usize| from + text[from..].find(|c| !in_word(c)).unwrap_or(text.len() - from);
    let first = end(start);
    let mantissa = text[start..first].strip_suffix(['e', 'E']);
    let signed =
        text[first..].starts_with(['+', '-']) && text[first + 1..].starts_with(|c: char| c.is_ascii_digit());
    let number = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_digit() || c == '.') && text.parse::<f64>().is_ok()
    };
    if signed && mantissa.is_some_and(number) { end(first + 1) } else { first }
}

fn in_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.')
}

fn classify(word: &str) -> Token {
    match word {
        "." => Token::Dot,
        word if is_plain(word) => Token::Name(word.to_owned()),
        word => Token::Number(word.to_owned()),
    }
}

/// Whether the name needs no back-quotes.
fn is_plain(name: &str) -> bool {
    let mut chars = name.chars();
    let starts = match chars.next() {
        Some('.') => chars.next().is_some_and(|c| !c.is_numeric()),
        Some(c) => c.is_alphabetic() || c == '_',
        None => false,
    };
    starts && name.chars().all(in_word)
}

/// The name whose opening back-quote ends at `at`, and the byte past its closing one.
fn quoted(text: &str, mut at: usize) -> Option<(String, usize)> {
    let mut name = String::new();
    loop {
        let close = at + text[at..].find('`')?;
        name.push_str(&text[at..close]);
        at = close + 1;
        if !text[at..].starts_with('`') {
            return Some((name, at));
        }
        name.push('`');
        at += 1;
    }
}

/// The text whose opening quote ends at `at`, and the byte after its closing quote; a backslash escapes the next
/// character.
fn literal(text: &str, at: usize, quote: char) -> Option<(String, usize)> {
    let mut word = String::new();
    let mut chars = text[at..].char_indices();
    while let Some((offset, c)) = chars.next() {
        match c {
            '\\' => word.push(chars.next()?.1),
            c if c == quote => return Some((word, at + offset + c.len_utf8())),
            c => word.push(c),
        }
    }
    None
}

/// Text as a formula writes it, in quotes.
pub(crate) struct Literal<'a>(pub(crate) &'a str);

impl fmt::Display for Literal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.replace('\\', "\\\\").replace('"', "\\\""))
    }
}

/// A name as a formula writes it, in back-quotes if needed.
pub(crate) struct Quoted<'a>(pub(crate) &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_plain(self.0) && !matches!(self.0, "TRUE" | "FALSE") {
            f.write_str(self.0)
        } else {
            write!(f, "`{}`", self.0.replace('`', "``"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(text: &str) -> Vec<Token> {
        words(text).unwrap().into_iter().map(|word| word.node).collect()
    }

    fn name(text: &str) -> Token {
        Token::Name(text.to_owned())
    }

    #[test]
    fn names_may_hold_dots_and_letters_of_any_script() {
        assert_eq!(
            nodes("Sepal.Length _x .y α2"),
            [name("Sepal.Length"), name("_x"), name(".y"), name("α2"), Token::End]
        );
    }

    #[test]
    fn a_word_that_starts_like_a_number_is_no_name() {
        assert_eq!(nodes("2x"), [Token::Number("2x".into()), Token::End]);
        assert_eq!(nodes(".5"), [Token::Number(".5".into()), Token::End]);
    }

    #[test]
    fn an_exponent_keeps_its_sign() {
        assert_eq!(nodes("1e-3")[..1], [Token::Number("1e-3".into())]);
        assert_eq!(nodes("e-3")[..2], [name("e"), Token::Minus]);
        assert_eq!(nodes("1-3")[1], Token::Minus);
    }

    #[test]
    fn back_quotes_hold_any_name() {
        assert_eq!(nodes("`my col`"), [name("my col"), Token::End]);
        assert_eq!(nodes("`a``b`"), [name("a`b"), Token::End]);
    }

    #[test]
    fn text_stands_in_quotes_of_either_kind() {
        let text = |word: &str| Token::Text(word.to_owned());
        assert_eq!(nodes("'a b' \"it's\""), [text("a b"), text("it's"), Token::End]);
        assert_eq!(nodes(r#""a \"b\" \\""#), [text(r#"a "b" \"#), Token::End]);
        assert_eq!(Literal(r#"a "b" \"#).to_string(), r#""a \"b\" \\""#);
        assert_eq!(
            words("y ~ I(x == 'a)").unwrap_err(),
            Error::Formula(BadFormula::UnclosedText { span: 11..14 })
        );
    }

    #[test]
    fn comparisons_and_logic_have_their_signs() {
        use Comparison::{AtLeast, AtMost, Equal, Greater, Less, Unequal};
        let signs = [Equal, Unequal, Less, AtMost, Greater, AtLeast].map(Token::Comparison);
        assert_eq!(nodes("== != < <= > >=")[..6], signs);
        assert_eq!(
            nodes("! & && %in% ="),
            [Token::Not, Token::And, Token::And, Token::In, Token::Equals, Token::End]
        );
        assert_eq!(nodes("x<-3")[1..3], [Token::Comparison(Less), Token::Minus]);
    }

    #[test]
    fn an_open_back_quote_spans_to_the_end() {
        assert_eq!(
            words("y ~ `my col").unwrap_err(),
            Error::Formula(BadFormula::UnclosedName { span: 4..11 })
        );
        assert_eq!(words("`~``").unwrap_err(), Error::Formula(BadFormula::UnclosedName { span: 0..4 }));
    }

    #[test]
    fn spans_count_bytes() {
        let spans: Vec<_> = words("é ~ `ü`").unwrap().into_iter().map(|word| word.span).collect();
        assert_eq!(spans, [0..2, 3..4, 5..9, 9..9]);
    }
}
