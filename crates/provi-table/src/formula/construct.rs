//! Words of larger formula languages.

use std::fmt;

use crate::error::shown;

/// What other formula languages write, and this one refuses by name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Construct {
    /// `a:b`
    Interaction,
    /// `a * b`
    Crossing,
    /// `a / b`
    Nesting,
    /// `(a + b)^2`
    Power,
    /// `. - a`, of anything but the intercept.
    Removal,
    /// `(a + b)`
    Parentheses,
    /// `(x | g)`
    GroupEffect,
    /// `log(a)`
    Call(
        /// The function's name.
        String,
    ),
}

impl fmt::Display for Construct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interaction => f.write_str("interaction `:`"),
            Self::Crossing => f.write_str("crossing `*`"),
            Self::Nesting => f.write_str("nesting `/`"),
            Self::Power => f.write_str("power `^`"),
            Self::Removal => f.write_str("removal `-` of a column"),
            Self::Parentheses => f.write_str("a parenthesis"),
            Self::GroupEffect => f.write_str("group effect `|`"),
            Self::Call(name) => write!(f, "function call `{}(..)`", shown(name)),
        }
    }
}
