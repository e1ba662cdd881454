//! Canonical text, which parses back to an equal formula.

use std::fmt::{self, Display, Formatter, Write};

use super::{
    Expression, Factor, Formula, Group, Response, Smoothing, Term, Trials,
    expression::{List, Short},
    lexer::{Literal, Quoted},
};

impl Display for Formula {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} ~ ", self.response.node)?;
        let bare = self.terms.is_empty() && self.groups.is_empty() && self.offsets.is_empty();
        let mut items: Vec<String> = Vec::new();
        match (self.intercept, bare) {
            (false, _) => items.push("0".to_owned()),
            (true, true) => items.push("1".to_owned()),
            (true, false) => {}
        }
        items.extend(self.terms.iter().map(|term| term.node.to_string()));
        items.extend(self.groups.iter().map(|group| group.node.to_string()));
        items.extend(self.offsets.iter().map(|offset| format!("offset({})", offset.node)));
        f.write_str(&items.join(" + "))
    }
}

impl Display for Response {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => number(value, f),
            Self::Counts { successes, failures } => {
                write!(f, "cbind({}, {})", Quoted(successes), Quoted(failures))
            }
            Self::Trials { successes, trials: Trials::Column(name) } => {
                write!(f, "{} | trials({})", Quoted(successes), Quoted(name))
            }
            Self::Trials { successes, trials: Trials::Number(count) } => {
                write!(f, "{} | trials({})", Quoted(successes), Short(*count))
            }
            Self::Survival { entry, time, event } => call(f, "surv", entry.iter().chain([time, event])),
            Self::Interval { entry, lower, upper } => call(f, "interval", entry.iter().chain([lower, upper])),
            Self::Ordered { column, levels } => categories(f, "ordered", column, levels),
            Self::Multinomial { column, levels } => categories(f, "multinomial", column, levels),
        }
    }
}

/// `name(column)` or `name(column, levels = c("a", "b"))`.
fn categories(f: &mut Formatter<'_>, name: &str, column: &str, levels: &[String]) -> fmt::Result {
    if levels.is_empty() {
        return write!(f, "{name}({})", Quoted(column));
    }
    let levels = List(levels.iter().map(|level| Literal(level)));
    write!(f, "{name}({}, levels = {levels})", Quoted(column))
}

/// `name(column, column)`.
fn call<'a>(f: &mut Formatter<'_>, name: &str, columns: impl Iterator<Item = &'a String>) -> fmt::Result {
    let columns: Vec<String> = columns.map(|column| Quoted(column).to_string()).collect();
    write!(f, "{name}({})", columns.join(", "))
}

impl Display for Term {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Product(factors) => {
                for (i, factor) in factors.iter().enumerate() {
                    if i > 0 {
                        f.write_char(':')?;
                    }
                    factor.fmt(f)?;
                }
                Ok(())
            }
            Self::Others { except } => {
                f.write_char('.')?;
                except.iter().try_for_each(|name| write!(f, " - {}", Quoted(name)))
            }
        }
    }
}

impl Display for Factor {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Column(name) => Quoted(name).fmt(f),
            Self::Category(name) => write!(f, "factor({})", Quoted(name)),
            Self::Levels(name, levels) => {
                let levels = List(levels.iter().map(|level| Literal(level)));
                write!(f, "factor({}, levels = {levels})", Quoted(name))
            }
            Self::Number(x) => number(x, f),
            Self::Center(x) => write!(f, "center({x})"),
            Self::Scale(x) => write!(f, "scale({x})"),
            Self::Polynomial(x, degree) => write!(f, "poly({x}, {degree})"),
            Self::Spline(x, count) => write!(f, "bs({x}, {count})"),
            Self::Smooth(x, Smoothing { knots, period }) => {
                write!(f, "s({x}")?;
                if *knots != Smoothing::KNOTS {
                    write!(f, ", k = {knots}")?;
                }
                if let Some(period) = period {
                    write!(f, ", period = {}", Short(*period))?;
                }
                f.write_char(')')
            }
        }
    }
}

impl Display for Group {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut items = vec![if self.intercept { "1" } else { "0" }.to_owned()];
        items.extend(self.terms.iter().map(Term::to_string));
        let bar = if self.correlated { "|" } else { "||" };
        let factors: Vec<String> = self.factors.iter().map(|name| Quoted(name).to_string()).collect();
        write!(f, "({} {bar} {})", items.join(" + "), factors.join(":"))
    }
}

/// Arithmetic as a term: a call or a column by itself, anything else in `I(..)`.
fn number(x: &Expression, f: &mut Formatter<'_>) -> fmt::Result {
    match x {
        Expression::Column(_) | Expression::Call(..) => x.fmt(f),
        _ => write!(f, "I({x})"),
    }
}
