//! The Gaussian of an earlier fit as the prior of the coefficients that both models have.

use std::path::Path;

use provi::sparse::AnyGaussian;
use provi::target::{DataPrior, Family};
use provi::{Gaussian, Matrix};
use provi_table::{Block, CodedFactor, CodedTerm, GroupRecipe, Offset, Recipe};

use crate::capacity::refuse_beyond;
use crate::error::{BadPrior, Error, Result};
use crate::number::plain;
use crate::options::ModelOptions;
use crate::record::fit_file::{FitFile, Kind, sha256};
use crate::record::gaussian_file::GaussianFile;
use crate::record::prior_from::PriorFrom;

/// An earlier fit.
#[derive(Clone, Debug)]
pub struct Earlier {
    /// As it is named in messages.
    name: String,
    /// SHA-256 of fit.json.
    sha256: String,
    file: FitFile,
    /// The answer q, or the Gaussian with the mean and the covariance of a mixture over scales.
    gaussian: Gaussian,
}

/// What a model says of itself to be compared with an earlier fit.
pub(super) struct Own<'a> {
    pub(super) options: &'a ModelOptions,
    pub(super) formula: &'a str,
    pub(super) success: Option<&'a str>,
    pub(super) categories: &'a [String],
    pub(super) recipe: &'a Recipe,
    pub(super) family: Family,
}

impl Earlier {
    /// From fit.json, or its folder.
    pub fn read(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let refused = |problem| Error::PriorFrom { fit: name.clone(), problem: Box::new(problem) };
        let as_fit = |error| match error {
            Error::BadFit { path, problem } => Error::NoFit { path, problem },
            other => other,
        };
        let mut given = GaussianFile::read(path).map_err(as_fit)?;
        let Some(file) = given.record.take() else { return Err(refused(BadPrior::NoRecord)) };
        let gaussian = given.gaussian(&file.names).map_err(as_fit)?;
        let digest = match std::fs::read(&given.path) {
            Ok(bytes) => sha256(&bytes),
            Err(error) => return Err(refused(BadPrior::Gone(error.to_string()))),
        };
        Self::new(name, digest, *file, &gaussian)
    }

    /// From the contents of fit.json and the Gaussian in it.
    pub fn new(name: String, sha256: String, file: FitFile, gaussian: &AnyGaussian) -> Result<Self> {
        let refused = |problem| Error::PriorFrom { fit: name.clone(), problem: Box::new(problem) };
        if file.model.kind != Kind::Formula {
            return Err(refused(BadPrior::NotOfFormula { kind: file.model.kind.name() }));
        }
        if file.model.recipe.is_none() {
            return Err(Error::NoRecipe);
        }
        if file.mixture.is_some() && gaussian.as_sparse().is_some() {
            return Err(refused(BadPrior::SparseMixture));
        }
        if gaussian.as_dense().is_none() {
            let d = gaussian.dim() as u128;
            refuse_beyond(|| format!("a prior with the covariance of {d} coefficients"), 4 * 8 * d * d)?;
        }
        let gaussian = gaussian.to_dense()?.into_owned();
        Ok(Self { name, sha256, file, gaussian })
    }

    /// The factors whose constants, such as the mean of `scale(x)`, must be those of the earlier data.
    pub(super) fn coded(&self) -> Vec<CodedFactor> {
        self.file.model.recipe.iter().flat_map(constants).collect()
    }

    /// The unit of times to an event, on which the meaning of the intercept depends.
    pub(super) fn time_unit(&self) -> Option<f64> {
        self.file.model.time_unit
    }

    fn refused(&self, problem: BadPrior) -> Error {
        Error::PriorFrom { fit: self.name.clone(), problem: Box::new(problem) }
    }

    /// Refuses a model in which the coefficients mean something else.
    pub(super) fn check(&self, own: &Own<'_>) -> Result<()> {
        self.check_options(own.options, &own.recipe.population)?;
        let record = &self.file.model;
        let response = |formula: &str| formula.split(" ~ ").next().unwrap_or_default().to_owned();
        let (found, expected) = (response(&record.formula), response(own.formula));
        if found != expected {
            return Err(self.refused(BadPrior::Response { found, expected }));
        }
        if let (Some(found), Some(expected)) = (record.success.as_deref(), own.success)
            && found != expected
        {
            let (found, expected) = (found.to_owned(), expected.to_owned());
            return Err(self.refused(BadPrior::Success { found, expected }));
        }
        if record.categories != own.categories {
            let [found, expected] = [&record.categories[..], own.categories].map(|levels| levels.join(" < "));
            return Err(self.refused(BadPrior::Levels { found, expected }));
        }
        let found = link(&record.family, record.time_unit.is_some());
        let expected = link(own.family.name(), own.family.time_unit().is_some());
        if found != expected {
            let (other, own) = (record.family.clone(), own.family.name().to_owned());
            return Err(self.refused(BadPrior::Link { found, other, expected, own }));
        }
        let Some(recipe) = &record.recipe else { return Ok(()) };
        if recipe.offsets != own.recipe.offsets {
            let (found, expected) = (added(&recipe.offsets), added(&own.recipe.offsets));
            let what = "what is added to the linear predictor";
            return Err(self.refused(BadPrior::Added { what, found, expected }));
        }
        let (theirs, ours) = (&recipe.population, &own.recipe.population);
        if theirs.intercept != ours.intercept {
            return Err(self.refused(BadPrior::Intercept { fit: theirs.intercept }));
        }
        // Terms of the same text, and columns of the same name, are made alike.
        let by_text = ours.terms.iter().filter_map(|term| {
            let other = theirs.terms.iter().find(|other| other.text == term.text)?;
            Some((term.text.clone(), other, term))
        });
        let by_name = ours.columns.iter().filter_map(|column| {
            let same = theirs.columns.iter().find(|other| other.name == column.name)?;
            Some((column.name.clone(), term_of(theirs, same.term)?, term_of(ours, column.term)?))
        });
        if let Some((column, found, expected)) = by_text.chain(by_name).find(|(_, a, b)| !is_same(a, b)) {
            let (term, found, expected) = (expected.text.clone(), coding(found), coding(expected));
            return Err(self.refused(BadPrior::Coding { column, term, found, expected }));
        }
        if !ours.columns.iter().any(|column| self.place(&column.name).is_some()) {
            let known: Vec<&str> = theirs.columns.iter().map(|column| column.name.as_str()).collect();
            return Err(self.refused(BadPrior::Nothing(known.join(", "))));
        }
        // A slope that goes moves the intercept by the mean of its column; one that shares a column moves the other slope.
        let has = |terms: &[CodedTerm], one: &CodedTerm| terms.iter().any(|term| term.text == one.text);
        if let Some(gone) = theirs.terms.iter().find(|term| !has(&ours.terms, term)) {
            return Err(self.refused(BadPrior::LeftOut(gone.text.clone())));
        }
        let used: Vec<&str> = theirs.terms.iter().flat_map(columns_of).collect();
        for term in ours.terms.iter().filter(|term| !has(&theirs.terms, term)) {
            if let Some(column) = columns_of(term).into_iter().find(|column| used.contains(column)) {
                let (term, column) = (term.text.clone(), column.to_owned());
                return Err(self.refused(BadPrior::Shared { term, column }));
            }
        }
        Ok(())
    }

    /// A warning where only one of the two models has effects of groups, and they change what a coefficient means.
    pub(super) fn about_groups(&self, own: &Recipe, family: Family) -> Option<String> {
        // A curve is not averaged over.
        let has_none = |recipe: &Recipe| recipe.groups.iter().all(GroupRecipe::is_smooth);
        let theirs = has_none(self.file.model.recipe.as_ref()?);
        let identity = matches!(family, Family::Gaussian { .. });
        (theirs != has_none(own) && !identity).then(|| {
            let [with, without] = if theirs { ["this model", "the earlier fit"] } else { ["the earlier fit", "this model"] };
            format!(
                "{with} has effects of groups and {without} has none: with this link, coefficients given a group are not those of the average over \
                 groups, so the prior from {} is about other coefficients",
                self.name
            )
        })
    }

    /// Refuses other priors of the same coefficients.
    fn check_options(&self, options: &ModelOptions, ours: &Block) -> Result<()> {
        if options.prior_covariance.is_some() {
            return Err(Error::TwoPriors { other: "prior-from" });
        }
        if options.standardize {
            return Err(self.refused(BadPrior::Standardize));
        }
        let covered = || ours.columns.iter().filter(|column| self.place(&column.name).is_some());
        let twice = |spec: String, column: &str| {
            self.refused(BadPrior::TwoPriors { spec, column: column.to_owned() })
        };
        if let (Some(sd), Some(column)) = (options.prior_scale, covered().next()) {
            return Err(twice(format!("normal(0, {sd})"), &column.name));
        }
        for spec in options.prior.iter().filter(|spec| spec.normal().is_some()) {
            if let Some(column) = covered().find(|column| spec.fits(&column.name)) {
                return Err(twice(spec.to_string(), &column.name));
            }
        }
        Ok(())
    }

    /// The place of a population coefficient.
    fn place(&self, name: &str) -> Option<usize> {
        self.file.names.iter().take(self.file.model.population).position(|other| other == name)
    }

    /// The prior of the population: for columns that the fit has, the marginal of its Gaussian; for the others their own laws.
    ///
    /// With an intercept, the prior of a new term's slopes is about deviations from the means x̄ of its columns: the intercept of the fit
    /// is that of this model at those means,
    /// ```text
    /// β_0 + Σ_new x̄_j β_j ~ the fit's β_0,   β_j ~ N(0, s_j²) independent of it
    /// ```
    /// so that the origin of a new column does not matter. A new level of a category that the fit has leaves the intercept alone.
    pub(super) fn prior(&self, laws: &DataPrior, ours: &Block) -> Result<(Gaussian, PriorFrom)> {
        let places: Vec<Option<usize>> = ours.columns.iter().map(|column| self.place(&column.name)).collect();
        let dim = places.len();
        let earlier = self.gaussian.covariance();
        let (mut mean, mut covariance) = (vec![0.0; dim], Matrix::zeros(dim, dim));
        for (i, place) in places.iter().enumerate() {
            match place {
                Some(a) => {
                    mean[i] = self.gaussian.mean()[*a];
                    for (j, other) in places.iter().enumerate() {
                        covariance[(i, j)] = other.map_or(0.0, |b| earlier[(*a, b)]);
                    }
                }
                None => {
                    mean[i] = laws.laws[i].0;
                    covariance[(i, i)] = laws.laws[i].1.powi(2);
                }
            }
        }
        let known = |column: usize| {
            let recipe = self.file.model.recipe.as_ref();
            let text = term_of(ours, ours.columns[column].term).map(|term| &term.text);
            recipe.is_some_and(|recipe| recipe.population.terms.iter().any(|term| Some(&term.text) == text))
        };
        let mut at_means = Vec::new();
        if let Some(anchor) = laws.intercept.filter(|anchor| places[*anchor].is_some()) {
            for j in (0..dim).filter(|j| places[*j].is_none() && !known(*j)) {
                let (at, variance) = (laws.at[j], covariance[(j, j)]);
                mean[anchor] -= at * mean[j];
                covariance[(anchor, anchor)] += at * at * variance;
                covariance[(anchor, j)] = -at * variance;
                covariance[(j, anchor)] = -at * variance;
                at_means.push(j);
            }
        }
        let name = |j: usize| ours.columns[j].name.clone();
        let law = |j: usize| {
            let (mean, sd) = laws.laws[j];
            let about = if at_means.contains(&j) { " from the mean of its column" } else { "" };
            format!("normal({}, {}) on {}{about}", plain(mean), plain(sd), name(j))
        };
        let theirs = &self.file.names[..self.file.model.population.min(self.file.names.len())];
        let certificate = self.file.certificate.as_ref().filter(|_| self.file.mixture.is_none());
        let record = PriorFrom {
            fit: self.name.clone(),
            sha256: self.sha256.clone(),
            formula: self.file.model.formula.clone(),
            rows: self.file.model.rows,
            data_sha256: self.file.model.data_sha256.clone(),
            kl: certificate.and_then(|found| found.kl.bound()),
            total_variation: certificate.and_then(|found| found.tv.bound()),
            mixture: self.file.mixture.is_some(),
            columns: (0..dim).filter(|j| places[*j].is_some()).map(name).collect(),
            new: (0..dim).filter(|j| places[*j].is_none()).map(law).collect(),
            left_out: theirs
                .iter()
                .filter(|other| ours.columns.iter().all(|column| column.name != **other))
                .cloned()
                .collect(),
            keeps_scales: false,
        };
        Ok((Gaussian::from_covariance(&mean, covariance)?, record))
    }
}

/// The factors of a recipe that have constants of its data.
pub(crate) fn constants(recipe: &Recipe) -> impl Iterator<Item = CodedFactor> + '_ {
    let blocks = std::iter::once(&recipe.population).chain(recipe.groups.iter().map(|group| &group.block));
    let factors = blocks.flat_map(|block| &block.terms).flat_map(|term| &term.factors);
    factors
        .filter(|factor| !matches!(factor, CodedFactor::Number { .. } | CodedFactor::Category { .. }))
        .cloned()
}

/// The columns of the table that a term is made of.
fn columns_of(term: &CodedTerm) -> Vec<&str> {
    let mut out = Vec::new();
    for factor in &term.factors {
        factor.columns(&mut |name| out.push(name));
    }
    out
}

fn term_of(block: &Block, term: Option<usize>) -> Option<&CodedTerm> {
    block.terms.get(term?)
}

/// Whether columns of the same name are the same function of the data: levels may be new or missing, references may not differ.
fn is_same(a: &CodedTerm, b: &CodedTerm) -> bool {
    let same = |(a, b): (&CodedFactor, &CodedFactor)| match (a, b) {
        (
            CodedFactor::Category { column: a, levels: of_a, reference: at_a },
            CodedFactor::Category { column: b, levels: of_b, reference: at_b },
        ) => a == b && at_a.and_then(|i| of_a.get(i)) == at_b.and_then(|i| of_b.get(i)),
        (a, b) => a == b,
    };
    a.factors.len() == b.factors.len() && a.factors.iter().zip(&b.factors).all(same)
}

/// How a term is made, in words.
fn coding(term: &CodedTerm) -> String {
    let factor = |factor: &CodedFactor| match factor {
        CodedFactor::Category { column, levels, reference } => match reference.and_then(|i| levels.get(i)) {
            Some(level) => format!("`{column}` against the level `{level}`"),
            None => format!("`{column}` with a column for each level"),
        },
        CodedFactor::Number { x } => format!("the number `{x}`"),
        CodedFactor::Scaled { x, mean, sd, .. } => format!("({x} − {}) / {}", plain(*mean), plain(*sd)),
        CodedFactor::Polynomial { x, basis } => format!("poly({x}, {})", basis.degree()),
        CodedFactor::Smooth { x, .. } => format!("the curve of s({x})"),
        CodedFactor::Spline { x, basis } => format!("bs({x}) over [{}, {}]", basis.range[0], basis.range[1]),
    };
    term.factors.iter().map(factor).collect::<Vec<_>>().join(" times ")
}

/// What is added to a linear predictor, in words.
fn added(offsets: &[Offset]) -> String {
    let one = |offset: &Offset| match offset {
        Offset::Number { x } => format!("offset({x})"),
        Offset::Exposure { column } => format!("exposure {column}"),
    };
    match offsets {
        [] => "nothing".to_owned(),
        some => some.iter().map(one).collect::<Vec<_>>().join(" + "),
    }
}

/// What the linear predictor of a family is.
fn link(family: &str, times: bool) -> String {
    match family {
        "bernoulli" | "binomial" => "the logit of a probability".to_owned(),
        "exponential" | "weibull" if times => "a log hazard".to_owned(),
        "poisson" | "negbinomial" | "gamma" | "exponential" => "the log of a mean".to_owned(),
        "ordered" => "the logit of the probability of a higher level".to_owned(),
        other => format!("that of {other}"),
    }
}
