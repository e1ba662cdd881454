//! Priors as users write them: `normal(0, 2.5)`, `dose=normal(1, 0.5)`, `age*=normal(0, 1)`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A normal prior for every coefficient that matches a pattern.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PriorSpec {
    /// A name in which `*` matches anything; `None` matches every population coefficient.
    pub pattern: Option<String>,
    /// The prior.
    pub normal: NormalPrior,
}

/// N(mean, sd²).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NormalPrior {
    /// The mean; finite.
    pub mean: f64,
    /// The standard deviation; finite and above 0.
    pub sd: f64,
}

/// The prior of coefficients without an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DefaultPrior {
    /// Scaled by the data: [`provi::target::DataPrior`].
    Data,
}

impl PriorSpec {
    /// Whether the pattern matches that coefficient.
    pub fn fits(&self, name: &str) -> bool {
        self.pattern.as_deref().is_none_or(|pattern| fits(pattern, name))
    }
}

/// Whether a pattern, with `*` for anything, matches the whole name. `Intercept` also matches `(Intercept)`.
fn fits(pattern: &str, name: &str) -> bool {
    if pattern == "Intercept" && name == provi_table::INTERCEPT {
        return true;
    }
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut last = None;
    for piece in pieces {
        if let Some(before) = last.replace(piece) {
            let Some(at) = rest.find(before) else { return false };
            rest = &rest[at + before.len()..];
        }
    }
    match last {
        Some(last) => rest.ends_with(last),
        None => rest.is_empty(),
    }
}

impl FromStr for PriorSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (pattern, law) = match text.rsplit_once('=') {
            Some((pattern, law)) => (Some(pattern.trim().trim_matches('`').to_owned()), law.trim()),
            None => (None, text.trim()),
        };
        if pattern.as_deref() == Some("") {
            return Err("a coefficient is missing before `=`".to_owned());
        }
        let needed = "a prior reads `normal(MEAN, SD)`, as in 'dose=normal(0, 2.5)'";
        let (name, inside) = law
            .split_once('(')
            .and_then(|(name, rest)| Some((name.trim(), rest.trim_end().strip_suffix(')')?)))
            .ok_or(needed)?;
        if name != "normal" {
            return Err(format!(
                "provi can prove nothing with the prior `{name}`: only normal priors have a known curvature; {needed}"
            ));
        }
        let numbers: Vec<f64> = inside
            .split(',')
            .map(|word| {
                word.trim().parse::<f64>().map_err(|_| format!("`{}` is not a number; {needed}", word.trim()))
            })
            .collect::<Result<_, _>>()?;
        let &[mean, sd] = &numbers[..] else { return Err(needed.to_owned()) };
        if !mean.is_finite() || !sd.is_finite() || sd <= 0.0 {
            return Err(format!("normal({mean}, {sd}) needs a finite mean and an sd above 0"));
        }
        Ok(Self { pattern, normal: NormalPrior { mean, sd } })
    }
}

impl fmt::Display for PriorSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(pattern) = &self.pattern {
            write!(f, "{pattern}=")?;
        }
        write!(f, "{}", self.normal)
    }
}

impl fmt::Display for NormalPrior {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "normal({}, {})", self.mean, self.sd)
    }
}

super::as_text::as_text!(PriorSpec);

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> PriorSpec {
        text.parse().unwrap()
    }

    #[test]
    fn a_spec_reads_back_as_it_is_written() {
        for text in ["normal(0, 2.5)", "dose=normal(1, 0.5)", "age*=normal(-1, 0.001)", "a=b=normal(0, 1)"] {
            assert_eq!(spec(text).to_string(), text);
        }
        assert_eq!(spec(" `my col` = normal( 1,2 ) "), spec("my col=normal(1, 2)"));
    }

    #[test]
    fn a_star_stands_for_anything() {
        let all = ["age", "age:dose", "cage", "(Intercept)", "town[Bern]"];
        let fitting = |pattern: &str| -> Vec<&str> {
            let spec = spec(&format!("{pattern}=normal(0, 1)"));
            all.into_iter().filter(|name| spec.fits(name)).collect()
        };
        assert_eq!(fitting("age"), ["age"]);
        assert_eq!(fitting("age*"), ["age", "age:dose"]);
        assert_eq!(fitting("*age"), ["age", "cage"]);
        assert_eq!(fitting("*ag*"), ["age", "age:dose", "cage"]);
        assert_eq!(fitting("*[*]"), ["town[Bern]"]);
        assert_eq!(fitting("Intercept"), ["(Intercept)"]);
        assert!(fitting("a*a*e").is_empty());
    }

    #[test]
    fn what_is_no_prior_is_refused_with_a_way_out() {
        let refused = |text: &str| text.parse::<PriorSpec>().unwrap_err();
        assert!(
            refused("student_t(3, 0, 1)").starts_with("provi can prove nothing with the prior `student_t`")
        );
        assert!(refused("normal(0)").contains("normal(MEAN, SD)"));
        assert!(refused("normal(0, x)").starts_with("`x` is not a number"));
        assert!(refused("normal(0, -1)").contains("an sd above 0"));
        assert!(refused("=normal(0, 1)").contains("missing before `=`"));
        assert!(refused("2.5").contains("normal(MEAN, SD)"));
    }
}
