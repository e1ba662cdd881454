//! Options of the form `name=value`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// `column=level`: the reference level of a category.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LevelSpec {
    /// The category.
    pub column: String,
    /// The reference level, which has no coefficient.
    pub level: String,
}

/// `0.5`, `group=0.5` or `group:column=0.5`: a standard deviation between groups.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ScaleSpec {
    /// A grouping, such as `clinic`, or one effect that varies by it, such as `clinic:age`; `None` matches all.
    pub name: Option<String>,
    /// The standard deviation, above 0.
    pub sd: f64,
}

impl ScaleSpec {
    /// Whether it applies to this column of this grouping.
    pub fn fits(&self, group: &str, column: &str) -> bool {
        let Some(name) = &self.name else { return true };
        let is = |column: &str| *name == format!("{group}:{column}");
        name == group || is(column) || (column == provi_table::INTERCEPT && is("Intercept"))
    }
}

impl FromStr for LevelSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((column, level)) if !column.trim().is_empty() && !level.trim().is_empty() => {
                Ok(Self { column: column.trim().to_owned(), level: level.trim().to_owned() })
            }
            _ => Err("a reference reads `COLUMN=LEVEL`, as in 'town=Bern'".to_owned()),
        }
    }
}

impl FromStr for ScaleSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let needed = "a group scale reads `SD`, `GROUP=SD` or `GROUP:COLUMN=SD`, as in 'clinic=0.5'";
        let (name, value) = match text.rsplit_once('=') {
            Some((name, value)) => (Some(name.trim()), value),
            None => (None, text),
        };
        let sd = value
            .trim()
            .parse::<f64>()
            .map_err(|_| format!("`{}` is not a number; {needed}", value.trim()))?;
        if !sd.is_finite() || sd <= 0.0 {
            return Err(format!("a standard deviation of {sd} is not above 0"));
        }
        match name {
            Some("") => Err(needed.to_owned()),
            name => Ok(Self { name: name.map(str::to_owned), sd }),
        }
    }
}

impl fmt::Display for LevelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.column, self.level)
    }
}

impl fmt::Display for ScaleSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.name {
            write!(f, "{name}=")?;
        }
        write!(f, "{}", self.sd)
    }
}

super::as_text::as_text!(LevelSpec, ScaleSpec);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specs_read_back_as_they_are_written() {
        for text in ["0.5", "clinic=0.5", "clinic:age=0.1", "town:street:(Intercept)=2"] {
            assert_eq!(text.parse::<ScaleSpec>().unwrap().to_string(), text);
        }
        assert_eq!("town = St Gallen ".parse::<LevelSpec>().unwrap().to_string(), "town=St Gallen");
    }

    #[test]
    fn a_scale_fits_its_group_and_its_column() {
        let fits =
            |text: &str, group: &str, column: &str| text.parse::<ScaleSpec>().unwrap().fits(group, column);
        assert!(fits("1", "clinic", "age"));
        assert!(fits("clinic=1", "clinic", "age") && !fits("clinic=1", "town", "age"));
        assert!(fits("clinic:age=1", "clinic", "age") && !fits("clinic:age=1", "clinic", "(Intercept)"));
        assert!(fits("clinic:Intercept=1", "clinic", "(Intercept)"));
        assert!(fits("a:b=1", "a:b", "x") && fits("a:b:x:z=1", "a:b", "x:z") && !fits("a:b:x=1", "a:b", "y"));
    }

    #[test]
    fn what_is_neither_is_refused() {
        assert!("town".parse::<LevelSpec>().unwrap_err().contains("COLUMN=LEVEL"));
        assert!("clinic=x".parse::<ScaleSpec>().unwrap_err().starts_with("`x` is not a number"));
        assert!("clinic=-1".parse::<ScaleSpec>().unwrap_err().contains("not above 0"));
        assert!("=1".parse::<ScaleSpec>().unwrap_err().contains("GROUP=SD"));
    }
}
