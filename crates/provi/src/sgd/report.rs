//! Plans and answers as text. The library itself prints nothing.

use crate::base::base_law::BaseLaw;
use crate::base::coupling::Coupling;
use crate::base::printed;
use crate::sgd::fit::{Fit, LocationScaleFit};
use crate::sgd::plan::{Plan, Promise};
use std::fmt;

impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.value, self.norm) {
            (Some(value), Some(norm)) => {
                write!(f, "{} ≤ {}", norm.formula(), printed::upper(value))?;
                if let (Some(key), Some(provenance)) = (self.key, self.provenance) {
                    write!(f, "   {provenance} [{key}]")?;
                }
                Ok(())
            }
            _ => write!(f, "none: {}", self.reason.as_deref().unwrap_or("no theorem covers this run")),
        }
    }
}

/// Method, family and law if not the usual ones, terms if not all, steps, sizes, average, constants and promise.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.draws {
            0 => writeln!(f, "{}: {} steps without draws", self.method, self.steps)?,
            draws => write!(f, "{}: {} steps of {draws} draws", self.method, self.steps)?,
        }
        match self.coupling {
            _ if self.draws == 0 => {}
            Coupling::Independent => writeln!(f)?,
            coupling => {
                let counted = coupling.counted(self.draws);
                writeln!(f, ", {coupling}, which any bound counts as {counted} [noise-coupled]")?;
            }
        }
        if !self.pattern.is_full() {
            let entries = self.pattern.entries_of(self.mode.point.len()).unwrap_or(0);
            writeln!(
                f,
                "family     {}, {entries} entries of C; the promise is to the best {} of it",
                self.pattern,
                if self.base_law.is_gaussian() { "Gaussian" } else { "member" }
            )?;
        }
        if !self.base_law.is_gaussian() {
            writeln!(
                f,
                "law        {}, kurtosis {}; the promise is to the best m + Cu of this law, not the best Gaussian [base-law]",
                self.base_law,
                printed::upper(self.base_law.kurtosis())
            )?;
        }
        if let (Some(subsample), Some(law)) = (self.subsample, &self.law) {
            let (terms, count, sampling) = (subsample.terms, law.count(), subsample.sampling);
            writeln!(f, "terms      {terms} of {count} for each draw, {sampling} [noise-subsample]")?;
        }
        writeln!(f, "steps      {}", self.schedule)?;
        writeln!(f, "answer     {}", self.average)?;
        if let Some(c) = &self.constants {
            writeln!(
                f,
                "constants  μ = {:.4e}, M = {:.4e}, a = {:.4e}, b = {:.4e}, e₀ = {:.4e} ({})",
                c.convexity, c.smoothness, c.noise.growth, c.noise.floor, c.start, c.provenance
            )?;
        }
        write!(f, "promise    {}", self.promise)
    }
}

/// One line for each coordinate.
fn coordinates(
    f: &mut fmt::Formatter<'_>,
    names: &[String],
    mean: &[f64],
    deviations: &[f64],
) -> fmt::Result {
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(4);
    writeln!(f, "{:<width$}  {:>12}  {:>12}", "name", "mean", "sd")?;
    for ((name, mean), sd) in names.iter().zip(mean).zip(deviations) {
        writeln!(f, "{name:<width$}  {mean:>12.5}  {sd:>12.5}")?;
    }
    Ok(())
}

/// One line for each coordinate, then the law, the ELBO and how the answer was found.
impl fmt::Display for LocationScaleFit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        coordinates(f, &self.names, self.q.mean(), &self.q.standard_deviations())?;
        match self.q.law() {
            BaseLaw::Gaussian => {}
            law => writeln!(
                f,
                "q is the law of m + Cu with u {law}: not a Gaussian, and no certificate is about it"
            )?,
        }
        writeln!(f, "ELBO {:.6} ({})", -self.neg_elbo.value, self.neg_elbo.grounds())?;
        write!(
            f,
            "{}, {} steps, {} gradients, seed {}",
            self.method, self.steps, self.gradient_evaluations, self.seed.0
        )?;
        if !self.pattern.is_full() {
            write!(f, ", family {}", self.pattern)?;
        }
        if self.coupling != Coupling::Independent {
            write!(f, ", {} draws", self.coupling)?;
        }
        match self.subsample {
            Some(subsample) => write!(f, ", {subsample}"),
            None => Ok(()),
        }
    }
}

/// One line for each coordinate, then the ELBO and how the answer was found.
impl fmt::Display for Fit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        coordinates(f, &self.names, self.gaussian.mean(), &self.gaussian.standard_deviations())?;
        writeln!(f, "ELBO {:.6} ({})", -self.neg_elbo.value, self.neg_elbo.grounds())?;
        write!(
            f,
            "{}, {} steps, {} gradients, seed {}",
            self.method, self.steps, self.gradient_evaluations, self.seed.0
        )?;
        if !self.pattern.is_full() {
            write!(f, ", family {}", self.pattern)?;
        }
        if self.coupling != Coupling::Independent {
            write!(f, ", {} draws", self.coupling)?;
        }
        match self.subsample {
            Some(subsample) => write!(f, ", {subsample}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::glm::design::Design;
    use crate::glm::{Glm, Prior};
    use crate::{Method, Planner, Seed};

    #[test]
    fn a_plan_and_its_fit_say_what_they_are() {
        let design = Design::dense(4, 1, &[1.0, 0.5, -1.0, 2.0]).unwrap();
        let model = Glm::linear(design, &[1.1, 0.4, -0.8, 2.3], 1.0, Prior::precision(1.0).unwrap()).unwrap();
        let plan = Planner::new(Method::ProxEnergy).practical(&model, Some(50)).unwrap();
        let text = plan.to_string();
        assert!(text.starts_with("prox-energy: 50 steps of 10 draws"), "{text}");
        assert!(text.contains("promise    E["), "{text}");
        let fit = plan.run(&model, Seed(1)).unwrap().to_string();
        assert!(fit.contains("x0") && fit.contains("ELBO"), "{fit}");
        let none = Planner::new(Method::ProjStl).practical(&model, Some(50)).unwrap().to_string();
        assert!(none.contains("promise    none: practical steps"), "{none}");
    }
}
