//! The elements of a formula.

use super::{Expression, Smoothing};

/// The left-hand side.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Response {
    /// A column, or arithmetic on columns such as `log(y)`: the model is then about the transformed value.
    Value(Expression),
    /// `cbind(successes, failures)`: binomial counts.
    Counts {
        /// Column of the successes.
        successes: String,
        /// Column of the failures.
        failures: String,
    },
    /// `successes | trials(n)`: binomial counts.
    Trials {
        /// Column of the successes.
        successes: String,
        /// The number of trials.
        trials: Trials,
    },
    /// `surv(time, event)` or `surv(entry, time, event)`: times to an event, which may be censored on the right.
    Survival {
        /// Column of the times from which on rows are watched.
        entry: Option<String>,
        /// Column of the times.
        time: String,
        /// Column that is 1 where the event was seen and 0 where the row was censored.
        event: String,
    },
    /// `interval(lower, upper)` or `interval(entry, lower, upper)`: times that are known to lie in an interval.
    Interval {
        /// Column of the times from which on rows are watched.
        entry: Option<String>,
        /// Column of the times until which there was no event; empty or 0 where it may have come at any time before `upper`.
        lower: String,
        /// Column of the times until which the event came; empty or infinite where it comes after `lower`.
        upper: String,
    },
    /// `ordered(rating)` or `ordered(size, levels = c("small", "large"))`: categories in an order.
    Ordered {
        /// The column.
        column: String,
        /// Its levels in their order; empty for numbers in theirs.
        levels: Vec<String>,
    },
    /// `multinomial(party)` or `multinomial(party, levels = c("none", "left", "right"))`: categories without an order, compared with the first.
    Multinomial {
        /// The column.
        column: String,
        /// Its levels, the base first; empty for those of the table, sorted.
        levels: Vec<String>,
    },
}

/// The number of trials of a binomial response.
#[derive(Debug, Clone, PartialEq)]
pub enum Trials {
    /// A column.
    Column(String),
    /// The same whole number in every row.
    Number(f64),
}

/// One population term other than the intercept.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Term {
    /// The product of one or more distinct factors, in the order written.
    Product(Vec<Factor>),
    /// `.`: every column that is not in the response, in a group term's grouping, in an option (weights, offset,
    /// exposure), or a term by itself.
    Others {
        /// Columns removed by `- name` after the `.`.
        except: Vec<String>,
    },
}

/// One factor of a term; it has one or more columns.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Factor {
    /// A column: numbers as they are, text as categories.
    Column(String),
    /// `factor(x)`: a column as categories, whatever it holds.
    Category(String),
    /// `factor(x, levels = c(..))`: a column as categories, with its levels in that order.
    Levels(String, Vec<String>),
    /// `I(..)`, `log(..)` and the like: one number.
    Number(Expression),
    /// `center(x)` = x − mean.
    Center(Expression),
    /// `scale(x)` = (x − mean)/sd.
    Scale(Expression),
    /// `poly(x, k)`: orthonormal polynomials of degree 1..k.
    Polynomial(Expression, usize),
    /// `bs(x, k)`: k cubic B-splines, knots at quantiles.
    Spline(Expression, usize),
    /// `s(x)`: a penalised cubic spline; it stands by itself.
    Smooth(Expression, Smoothing),
}

impl Factor {
    /// Calls `see` on the name of every column, in the order written.
    pub(crate) fn columns<'a>(&'a self, see: &mut dyn FnMut(&'a str)) {
        match self {
            Self::Column(name) | Self::Category(name) | Self::Levels(name, _) => see(name),
            Self::Number(x)
            | Self::Center(x)
            | Self::Scale(x)
            | Self::Polynomial(x, _)
            | Self::Spline(x, _)
            | Self::Smooth(x, _) => x.columns(see),
        }
    }
}

/// One group term: coefficients that vary by group around zero.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Whether each level has its own intercept.
    pub intercept: bool,
    /// What else varies by level; each is a [`Term::Product`].
    pub terms: Vec<Term>,
    /// `|`, or `||` for coefficients that are independent of each other.
    pub correlated: bool,
    /// The grouping columns; a level is a combination of their values.
    pub factors: Vec<String>,
}

impl Response {
    /// Calls `see` on the name of every column with outcomes; the number of trials is not an outcome.
    pub(crate) fn outcomes<'a>(&'a self, see: &mut dyn FnMut(&'a str)) {
        match self {
            Self::Value(value) => value.columns(see),
            Self::Counts { successes, failures } => {
                see(successes);
                see(failures);
            }
            Self::Trials { successes, .. } => see(successes),
            Self::Ordered { column, .. } | Self::Multinomial { column, .. } => see(column),
            Self::Survival { entry, time: first, event: last }
            | Self::Interval { entry, lower: first, upper: last } => {
                entry.iter().for_each(|name| see(name));
                see(first);
                see(last);
            }
        }
    }

    /// Calls `see` on the name of every column.
    pub(crate) fn columns<'a>(&'a self, see: &mut dyn FnMut(&'a str)) {
        self.outcomes(see);
        if let Self::Trials { trials: Trials::Column(name), .. } = self {
            see(name);
        }
    }
}

/// The columns of a product, in the order written.
pub(crate) fn columns_of<'a>(factors: &'a [Factor], see: &mut dyn FnMut(&'a str)) {
    for factor in factors {
        factor.columns(see);
    }
}
