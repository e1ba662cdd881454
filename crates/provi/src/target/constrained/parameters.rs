//! Named parameters, one after the other.

use super::domain::{Domain, Kind};
use crate::base::error::{Error, Result};
use crate::base::matrix::Matrix;
use std::collections::BTreeSet;
use std::ops::Range;

/// Parameters by name, each with its [`Domain`]; see [`Constrained`](super::Constrained).
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    all: Vec<(String, Domain)>,
}

/// A parameter's number over draws.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterSummary {
    /// Its name, such as `sigma` or `p[2]`.
    pub name: String,
    /// The mean of the draws.
    pub mean: f64,
    /// The standard deviation of the draws.
    pub sd: f64,
    /// The central 95 % of the draws.
    pub interval: (f64, f64),
}

impl Parameters {
    /// The parameters, in the order in which a target takes their numbers.
    pub fn new<N: Into<String>>(parameters: impl IntoIterator<Item = (N, Domain)>) -> Result<Self> {
        let all: Vec<_> = parameters.into_iter().map(|(name, domain)| (name.into(), domain)).collect();
        if all.is_empty() {
            return Err(Error::Empty { what: "the list of parameters" });
        }
        let found = Self { all };
        // `a` and `a[0]`, or `sigma` and `sigma_unconstrained`, could otherwise be taken for each other.
        for names in [found.names(), found.coordinate_names()] {
            let mut seen = BTreeSet::new();
            if let Some(name) = names.iter().find(|name| !seen.insert(*name)) {
                let why = "two numbers have this name; rename a parameter".into();
                return Err(Error::Parameter { name: name.clone(), why });
            }
        }
        Ok(found)
    }

    /// Each parameter with its domain.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Domain)> {
        self.all.iter().map(|(name, domain)| (&**name, domain))
    }

    /// How many numbers they have: what a target of them takes.
    pub fn numbers(&self) -> usize {
        self.kinds().map(Kind::numbers).sum()
    }

    /// How many free coordinates they have: the dimension of the Gaussian.
    pub fn coordinates(&self) -> usize {
        self.kinds().map(Kind::coordinates).sum()
    }

    /// A name for each number: `sigma`, `p[0]`, `Omega[0,1]`.
    pub fn names(&self) -> Vec<String> {
        self.iter().flat_map(|(name, domain)| element_names(name, &domain.shape())).collect()
    }

    /// A name for each coordinate: that of the number for a real parameter, and `sigma_unconstrained` for another.
    pub fn coordinate_names(&self) -> Vec<String> {
        let called = |name: &str, domain: &Domain| match domain.is_real() {
            true => name.to_owned(),
            false => format!("{name}_unconstrained"),
        };
        self.iter()
            .flat_map(|(name, domain)| element_names(&called(name, domain), &domain.free_shape()))
            .collect()
    }

    /// The parameters' numbers at a point of free coordinates.
    pub fn constrain(&self, z: &[f64]) -> Result<Vec<f64>> {
        check("coordinates", z.len(), self.coordinates())?;
        let mut theta = vec![0.0; self.numbers()];
        self.constrain_all(z, &mut theta, &mut [0.0], &mut vec![0.0; self.working()]);
        Ok(theta)
    }

    /// The free coordinates of a point: where a search may start. Fails if a number is outside its domain.
    pub fn unconstrain(&self, theta: &[f64]) -> Result<Vec<f64>> {
        check("parameters", theta.len(), self.numbers())?;
        let mut z = vec![0.0; self.coordinates()];
        let (mut from, mut to) = (0, 0);
        for (name, domain) in &self.all {
            for _ in 0..copies(domain) {
                let (numbers, coordinates) = (domain.kind.numbers(), domain.kind.coordinates());
                let found = domain.kind.unconstrain(&theta[from..][..numbers], &mut z[to..][..coordinates]);
                found.map_err(|error| Error::Parameter { name: name.clone(), why: error.to_string() })?;
                (from, to) = (from + numbers, to + coordinates);
            }
        }
        Ok(z)
    }

    /// Draws of the parameters from draws of the coordinates, one a row.
    pub fn of_draws(&self, draws: &Matrix) -> Result<Matrix> {
        check("a draw", draws.columns(), self.coordinates())?;
        let mut theta = vec![0.0; draws.rows() * self.numbers()];
        self.constrain_all(
            draws.entries(),
            &mut theta,
            &mut vec![0.0; draws.rows()],
            &mut vec![0.0; self.working()],
        );
        Matrix::new(draws.rows(), self.numbers(), theta)
    }

    /// Mean, deviation and central 95 % of each number over draws of the parameters, as [`Parameters::of_draws`] gives them.
    pub fn summaries(&self, draws: &Matrix) -> Result<Vec<ParameterSummary>> {
        check("a draw", draws.columns(), self.numbers())?;
        let count = draws.rows();
        if count < 2 {
            let (what, value) = ("the number of draws", count as f64);
            return Err(Error::OutOfRange { what, value, needed: "at least 2" });
        }
        let of_column = |(column, name): (usize, String)| {
            let mut values: Vec<f64> =
                draws.entries().iter().skip(column).step_by(draws.columns()).copied().collect();
            values.sort_by(f64::total_cmp);
            let mean = values.iter().sum::<f64>() / count as f64;
            let square: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
            let quantile = |p: f64| {
                let at = p * (count - 1) as f64;
                let (low, part) = (at.floor() as usize, at.fract());
                values[low] + part * (values[(low + 1).min(count - 1)] - values[low])
            };
            let interval = (quantile(0.025), quantile(0.975));
            ParameterSummary { name, mean, sd: (square / (count - 1) as f64).sqrt(), interval }
        };
        Ok(self.names().into_iter().enumerate().map(of_column).collect())
    }

    /// Writes θ = T(z) of many points, one a row, with the logarithm of the volume at each.
    #[doc(hidden)]
    pub fn constrain_all(&self, points: &[f64], theta: &mut [f64], volumes: &mut [f64], work: &mut [f64]) {
        volumes.fill(0.0);
        let rows = points.chunks_exact(self.coordinates()).zip(theta.chunks_exact_mut(self.numbers()));
        for ((z, theta), volume) in rows.zip(volumes) {
            self.each(|kind, free, own| *volume += kind.constrain(&z[free], &mut theta[own], work));
        }
    }

    /// Writes gradients by the coordinates, the volume's included, from `slopes` by the numbers θ = T(z).
    #[doc(hidden)]
    pub fn pull_back_all(
        &self,
        points: &[f64],
        theta: &[f64],
        slopes: &[f64],
        gradients: &mut [f64],
        work: &mut [f64],
    ) {
        let (d, p) = (self.coordinates(), self.numbers());
        let rows = points.chunks_exact(d).zip(theta.chunks_exact(p)).zip(slopes.chunks_exact(p));
        for (((z, theta), slopes), out) in rows.zip(gradients.chunks_exact_mut(d)) {
            self.each(|kind, free, own| {
                kind.pull_back(&z[free.clone()], &theta[own.clone()], &slopes[own], &mut out[free], work);
            });
        }
    }

    /// How many numbers the two functions before need to work with.
    #[doc(hidden)]
    pub fn working(&self) -> usize {
        self.all.iter().map(|(_, domain)| domain.kind.working()).max().unwrap_or(0)
    }

    /// Each single parameter with the positions of its coordinates and of its numbers.
    fn each(&self, mut work: impl FnMut(Kind, Range<usize>, Range<usize>)) {
        let (mut free, mut own) = (0, 0);
        for kind in self.kinds() {
            let ends = (free + kind.coordinates(), own + kind.numbers());
            work(kind, free..ends.0, own..ends.1);
            (free, own) = ends;
        }
    }

    fn kinds(&self) -> impl Iterator<Item = Kind> {
        self.all.iter().flat_map(|(_, domain)| std::iter::repeat_n(domain.kind, copies(domain)))
    }
}

fn copies(domain: &Domain) -> usize {
    domain.copies.iter().product()
}

fn check(what: &'static str, found: usize, expected: usize) -> Result<()> {
    if found == expected { Ok(()) } else { Err(Error::Shape { what, found, expected }) }
}

/// `name`, or `name[i,j]` for each position of an array, the last axis fastest.
fn element_names(name: &str, shape: &[usize]) -> Vec<String> {
    if shape.is_empty() {
        return vec![name.to_owned()];
    }
    let count: usize = shape.iter().product();
    let position = |index: usize| {
        let mut rest = index;
        let mut at: Vec<String> = shape
            .iter()
            .rev()
            .map(|size| {
                let digit = rest % size;
                rest /= size;
                digit.to_string()
            })
            .collect();
        at.reverse();
        format!("{name}[{}]", at.join(","))
    };
    (0..count).map(position).collect()
}
