//! Priors as users write them: `normal(0, 2.5)`, `dose=normal(1, 0.5)`, `age*=normal(0, 1)`; of scales, `sd(clinic)=exponential(1)`,
//! `sigma=half_t(3, 10)`; of correlations, `cor(clinic)=lkj(2)`.

use std::fmt;
use std::str::FromStr;

use provi::scales::ScalePrior;
use serde::{Deserialize, Serialize};

/// The prior of every coefficient, or of every scale, that matches a pattern.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PriorSpec {
    /// A name in which `*` matches anything; `None` matches every population coefficient. For a scale `sigma`, `sd`, `sd(GROUP)`,
    /// `sd(GROUP:COLUMN)`, `gap` or `gap(LEVEL)`; for correlations `cor` or `cor(GROUP)`.
    pub pattern: Option<String>,
    /// The prior.
    pub law: PriorLaw,
}

/// A prior of a coefficient or of a scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PriorLaw {
    /// Of coefficients.
    Normal(NormalPrior),
    /// Of scales.
    Scale(ScalePrior),
    /// Of the correlations between the effects of a group: the LKJ law with this shape.
    Correlation(f64),
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

    /// The prior, if it is one of coefficients.
    pub fn normal(&self) -> Option<NormalPrior> {
        match self.law {
            PriorLaw::Normal(normal) => Some(normal),
            PriorLaw::Scale(_) | PriorLaw::Correlation(_) => None,
        }
    }

    /// The prior, if it is one of scales.
    pub fn scale(&self) -> Option<ScalePrior> {
        match self.law {
            PriorLaw::Scale(law) => Some(law),
            PriorLaw::Normal(_) | PriorLaw::Correlation(_) => None,
        }
    }

    /// The shape of the prior, if it is one of correlations.
    pub fn correlation(&self) -> Option<f64> {
        match self.law {
            PriorLaw::Correlation(shape) => Some(shape),
            PriorLaw::Normal(_) | PriorLaw::Scale(_) => None,
        }
    }

    /// Whether it is a prior of the correlations with this label, such as `cor(clinic)`.
    pub fn fits_correlation(&self, label: &str) -> bool {
        let pattern = self.pattern.as_deref();
        self.correlation().is_some() && (pattern == Some("cor") || pattern == Some(label))
    }

    /// Whether the pattern of a prior of scales matches the scale with this label, such as `sd(clinic:age)` or `sigma`.
    pub fn fits_scale(&self, label: &str) -> bool {
        let Some(pattern) = &self.pattern else { return false };
        let inside = |text: &str| -> Option<String> {
            Some(text.strip_prefix("sd(")?.strip_suffix(')')?.replace("(Intercept)", "Intercept"))
        };
        match (inside(pattern), inside(label)) {
            (Some(asked), Some(own)) => {
                asked == own || own.strip_prefix(&asked).is_some_and(|rest| rest.starts_with(':'))
            }
            (None, Some(_)) => pattern == "sd",
            (_, None) => pattern == label || pattern == "gap" && label.starts_with("gap("),
        }
    }
}

/// Whether a pattern can only mean correlations.
fn is_correlation(pattern: &str) -> bool {
    pattern == "cor" || (pattern.starts_with("cor(") && pattern.ends_with(')'))
}

/// Whether a pattern can only mean a scale.
fn is_scale(pattern: &str) -> bool {
    let names = |word: &str| {
        let rest = pattern.strip_prefix(word);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('(') && rest.ends_with(')'))
    };
    names("sd") || pattern.starts_with("gap(") && pattern.ends_with(')')
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
        let scale = pattern.as_deref().is_some_and(is_scale);
        let correlation = pattern.as_deref().is_some_and(is_correlation);
        let needed = match (scale, correlation) {
            (true, _) => SCALE_LAWS,
            (_, true) => "a prior of correlations reads lkj(SHAPE), as in 'cor(clinic)=lkj(2)'",
            _ => "a prior reads `normal(MEAN, SD)`, as in 'dose=normal(0, 2.5)'",
        };
        let (name, inside) = law
            .split_once('(')
            .and_then(|(name, rest)| Some((name.trim(), rest.trim_end().strip_suffix(')')?)))
            .ok_or(needed)?;
        let numbers: Vec<f64> = inside
            .split(',')
            .map(|word| {
                word.trim().parse::<f64>().map_err(|_| format!("`{}` is not a number; {needed}", word.trim()))
            })
            .collect::<Result<_, _>>()?;
        match (name, &numbers[..], correlation) {
            ("lkj", &[shape], true) if shape > 0.0 && shape.is_finite() => {
                return Ok(Self { pattern, law: PriorLaw::Correlation(shape) });
            }
            ("lkj", &[shape], true) => return Err(format!("lkj({shape}) needs a finite shape above 0")),
            ("lkj", ..) if !correlation => {
                return Err("`lkj` is a prior of correlations, as in 'cor(clinic)=lkj(2)'".to_owned());
            }
            (_, _, true) => return Err(format!("`{name}` is no prior of correlations; {needed}")),
            _ => {}
        }
        if let Some(law) = scale_law(name, &numbers, scale) {
            if !scale && !matches!(pattern.as_deref(), Some(SIGMA | "gap")) {
                return Err(format!(
                    "`{name}` is a prior of scales, which are `sigma`, `sd(GROUP)`, `sd(GROUP:COLUMN)` or `gap(LEVEL)`; {needed}"
                ));
            }
            law.check().map_err(|error| error.to_string())?;
            return Ok(Self { pattern, law: PriorLaw::Scale(law) });
        }
        if scale {
            return Err(format!("`{name}` with {} is no prior of a scale; {needed}", counted(numbers.len())));
        }
        if name != "normal" {
            return Err(format!(
                "provi can prove nothing with the prior `{name}`: only normal priors have a known curvature; {needed}"
            ));
        }
        let &[mean, sd] = &numbers[..] else { return Err(needed.to_owned()) };
        if !mean.is_finite() || !sd.is_finite() || sd <= 0.0 {
            return Err(format!("normal({mean}, {sd}) needs a finite mean and an sd above 0"));
        }
        Ok(Self { pattern, law: PriorLaw::Normal(NormalPrior { mean, sd }) })
    }
}

/// The name of the noise in tables and among priors.
pub(crate) const SIGMA: &str = "sigma";

/// The priors that a scale can have.
const SCALE_LAWS: &str = "a prior of a scale reads half_normal(S), half_t(DF, S), exponential(RATE), lognormal(MEAN, SD), inv_gamma(SHAPE, S) \
                          or pc(U, P), as in 'sd(clinic)=exponential(1)'";

fn counted(numbers: usize) -> String {
    if numbers == 1 { "one number".to_owned() } else { format!("{numbers} numbers") }
}

/// The law of that name. For a pattern that can only be a scale, `normal(0, S)` and `student_t(DF, 0, S)` mean their positive halves.
fn scale_law(name: &str, numbers: &[f64], scale: bool) -> Option<ScalePrior> {
    Some(match (name, numbers) {
        ("half_normal", &[s]) => ScalePrior::HalfNormal { scale: s },
        ("half_t", &[degrees, s]) => ScalePrior::HalfStudentT { degrees, scale: s },
        ("exponential", &[rate]) => ScalePrior::Exponential { rate },
        ("lognormal", &[center, sd]) => ScalePrior::LogNormal { center, sd },
        ("inv_gamma", &[shape, s]) => ScalePrior::InverseGamma { shape, scale: s },
        ("pc", &[upper, probability]) => ScalePrior::PenalisedComplexity { upper, probability },
        ("normal", &[mean, s]) if scale && mean.abs() <= 0.0 => ScalePrior::HalfNormal { scale: s },
        ("student_t", &[degrees, mean, s]) if scale && mean.abs() <= 0.0 => {
            ScalePrior::HalfStudentT { degrees, scale: s }
        }
        _ => return None,
    })
}

/// A prior of a scale as users write it.
pub fn scale_law_text(law: &ScalePrior) -> String {
    match *law {
        ScalePrior::HalfNormal { scale } => format!("half_normal({scale})"),
        ScalePrior::HalfStudentT { degrees, scale } => format!("half_t({degrees}, {scale})"),
        ScalePrior::Exponential { rate } => format!("exponential({rate})"),
        ScalePrior::LogNormal { center, sd } => format!("lognormal({center}, {sd})"),
        ScalePrior::InverseGamma { shape, scale } => format!("inv_gamma({shape}, {scale})"),
        ScalePrior::PenalisedComplexity { upper, probability } => format!("pc({upper}, {probability})"),
        ref other => format!("{other:?}"),
    }
}

impl fmt::Display for PriorSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(pattern) = &self.pattern {
            write!(f, "{pattern}=")?;
        }
        match &self.law {
            PriorLaw::Normal(normal) => write!(f, "{normal}"),
            PriorLaw::Scale(law) => f.write_str(&scale_law_text(law)),
            PriorLaw::Correlation(shape) => write!(f, "lkj({shape})"),
        }
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
        for text in [
            "sd(clinic)=exponential(1)",
            "sd(clinic:age)=half_t(3, 2.5)",
            "sigma=half_normal(0.5)",
            "sd=pc(1, 0.01)",
            "sd(a:b)=lognormal(-1, 0.5)",
            "sd(g)=inv_gamma(2, 0.3)",
        ] {
            assert_eq!(spec(text).to_string(), text);
            assert!(spec(text).scale().is_some() && spec(text).normal().is_none());
        }
        assert_eq!(spec("sd(g)=normal(0, 2)"), spec("sd(g)=half_normal(2)"));
        assert_eq!(spec("sd(g)=student_t(3, 0, 2)"), spec("sd(g)=half_t(3, 2)"));
        assert_eq!(spec("cor(clinic)=lkj(2)").to_string(), "cor(clinic)=lkj(2)");
        assert!(
            spec("cor=lkj(2)").fits_correlation("cor(clinic)")
                && !spec("cor(a)=lkj(2)").fits_correlation("cor(b)")
        );
        // A coefficient may be called sigma.
        assert!(spec("sigma=normal(0, 1)").normal().is_some());
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
    fn a_prior_of_scales_fits_a_group_or_one_effect_of_it() {
        let fits = |pattern: &str, label: &str| spec(&format!("{pattern}=exponential(1)")).fits_scale(label);
        assert!(fits("sd", "sd(clinic:(Intercept))") && !fits("sd", "sigma") && fits("sigma", "sigma"));
        assert!(fits("sd(clinic)", "sd(clinic:age)") && !fits("sd(cli)", "sd(clinic:age)"));
        assert!(
            fits("sd(clinic:Intercept)", "sd(clinic:(Intercept))")
                && !fits("sd(clinic:age)", "sd(clinic:(Intercept))")
        );
        assert!(!fits("sigma", "sd(sigma:(Intercept))"));
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
        assert!(refused("sd(g)=cauchy(1)").contains("`cauchy` with one number is no prior of a scale"));
        assert!(refused("sd(g)=normal(1, 2)").contains("no prior of a scale"));
        assert!(refused("sd(g)=exponential(0)").contains("rate of an exponential prior"));
        assert!(refused("sd(g)=pc(1, 2)").contains("probability"));
        assert!(refused("age=exponential(1)").contains("is a prior of scales"));
        assert!(refused("cor(g)=normal(0, 1)").contains("no prior of correlations"));
        assert!(refused("cor(g)=lkj(0)").contains("above 0"));
        assert!(refused("sd(g)=lkj(1)").contains("'cor(clinic)=lkj(2)'"));
    }
}
