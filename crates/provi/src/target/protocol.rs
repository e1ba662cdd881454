//! Every wrapper of a target answers for every method of [`Target`]: with the inner target's answer, or with a stated other.

use super::watchdog::Watchdog;
use super::whiten::Whitened;
use super::*;
use crate::base::matrix::packed_len;
use crate::target::curvature::Quadratic;
use crate::target::expectations::Moments;
use crate::target::standard::Standard;
use std::sync::Arc;

/// Says something of its own to every question; the default of no method gives any of these answers.
struct Probe;

/// A bound that only a probe has.
fn scalar(lower: f64, upper: Option<f64>) -> Curvature {
    Curvature::declared(2, Quadratic::Scalar(lower), upper.map(Quadratic::Scalar)).unwrap()
}

#[deny(clippy::missing_trait_methods)]
impl Target for Probe {
    fn dim(&self) -> usize {
        2
    }
    fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> Result<f64> {
        gradient.copy_from_slice(&[3.0 * z[0], 5.0 * z[1]]);
        Ok(-17.5)
    }
    fn log_densities(
        &self,
        points: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
        _: &mut Scratch,
    ) -> Result<()> {
        values.fill(-18.5);
        gradients.iter_mut().zip(points).for_each(|(g, z)| *g = 7.0 * z);
        Ok(())
    }
    fn log_densities_alone(&self, _: &[f64], values: &mut [f64], _: &mut Scratch) -> Result<bool> {
        values.fill(-20.5);
        Ok(true)
    }
    fn batch(&self) -> usize {
        77
    }
    fn hessian(&self, z: &[f64], out: &mut Matrix) -> Result<bool> {
        out.entries_mut().copy_from_slice(&[z[0], -1.0, -1.0, z[1]]);
        Ok(true)
    }
    fn curvature(&self) -> Result<Option<Curvature>> {
        Ok(Some(scalar(0.5, Some(9.0))))
    }
    fn proves_its_curvature(&self, _: own::Word) -> bool {
        true
    }
    fn model_of_its_own(&self, _: own::Word) -> Option<&dyn std::any::Any> {
        Some(self)
    }
    fn lower_curvature(&self) -> Result<Option<Curvature>> {
        Ok(Some(scalar(0.25, None)))
    }
    fn names(&self) -> Vec<String> {
        ["north", "east"].map(Into::into).to_vec()
    }
    fn expectations(&self) -> Option<&dyn Expectations> {
        Some(self)
    }
    fn finite_sum(&self) -> Option<&dyn FiniteSum> {
        Some(self)
    }
    fn data_size(&self) -> (usize, usize) {
        (5, 6)
    }
    fn rejections(&self) -> Rejections {
        Rejections { count: 3, message: Some("not there".into()) }
    }
    fn standardized(&self) -> Result<Option<Standardized<'_>>> {
        Ok(Some(Standardized::shared(Standard::new(None, vec![0.0; 2], &[2.0, 4.0]), Self)))
    }
    fn local_curvature<'s>(
        &'s self,
        q: &Gaussian<Triangular>,
    ) -> Result<Option<Box<dyn LocalCurvature + 's>>> {
        Ok(Some(Box::new(Ball(q.mean()[0]))))
    }
    fn rounding(&self, q: &Gaussian<Triangular>, radii: &[f64]) -> Result<Option<Vec<Rounding>>> {
        let one = |r: &f64| Rounding { value: *r, slopes: q.mean().to_vec(), sizes: vec![], constant: 0.5 };
        Ok(Some(radii.iter().map(one).collect()))
    }
}

impl Expectations for Probe {
    fn expect(&self, _: &Gaussian<Triangular>, out: &mut Moments) -> Result<()> {
        out.value = 42.0;
        Ok(())
    }
}

impl FiniteSum for Probe {
    fn dimension(&self) -> usize {
        2
    }
    fn terms(&self) -> usize {
        13
    }
    fn weighted_terms(
        &self,
        _: &[usize],
        _: &[f64],
        _: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
        _: &mut Scratch,
    ) -> Result<()> {
        values.fill(-19.5);
        gradients.fill(0.0);
        Ok(())
    }
}

struct Ball(f64);

impl LocalCurvature for Ball {
    fn bounds(&self, radii: &[f64]) -> Result<Vec<(Matrix, Option<Matrix>)>> {
        Ok(radii.iter().map(|r| (Matrix::scaled_identity(2, r + self.0), None)).collect())
    }
}

type Answers = Vec<(&'static str, String)>;

/// What a target says to each question, by the name of the method.
fn answers(target: &dyn Target) -> Answers {
    let (z, scratch) = ([0.5, -2.0], &mut Scratch::default());
    let q = Gaussian::new(&[0.125, 0.25], &vec![1.0; packed_len(2)]).unwrap();
    let mut gradient = [0.0; 2];
    let single = target.log_density(&z, &mut gradient).unwrap();
    let (mut values, mut gradients) = ([0.0; 2], [0.0; 4]);
    target.log_densities(&[0.5, -2.0, 1.0, 1.0], &mut values, &mut gradients, scratch).unwrap();
    let mut alone = [0.0; 2];
    let has_alone = target.log_densities_alone(&[0.5, -2.0, 1.0, 1.0], &mut alone, scratch).unwrap();
    let mut hessian = Matrix::zeros(2, 2);
    let has = target.hessian(&z, &mut hessian).unwrap();
    let expected = target.expectations().map(|e| {
        let mut moments = Moments::new(2);
        e.expect(&q, &mut moments).unwrap();
        moments.value
    });
    let terms = target.finite_sum().map(FiniteSum::terms);
    let standard = target.standardized().unwrap();
    let standard = standard.map(|s| (s.map().clone(), s.target().names(), s.target().batch()));
    let local = target.local_curvature(&q).unwrap().map(|local| local.bounds(&[1.0]).unwrap());
    vec![
        ("dim", target.dim().to_string()),
        ("log_density", format!("{single} {gradient:?}")),
        ("log_densities", format!("{values:?} {gradients:?}")),
        ("log_densities_alone", format!("{has_alone} {alone:?}")),
        ("batch", target.batch().to_string()),
        ("hessian", format!("{has} {hessian:?}")),
        ("curvature", format!("{:?}", target.curvature().unwrap())),
        ("proves_its_curvature", target.proves_its_curvature(own::Word).to_string()),
        ("model_of_its_own", target.model_of_its_own(own::Word).is_some().to_string()),
        ("lower_curvature", format!("{:?}", target.lower_curvature().unwrap())),
        ("names", format!("{:?}", target.names())),
        ("expectations", format!("{expected:?}")),
        ("finite_sum", format!("{terms:?}")),
        ("data_size", format!("{:?}", target.data_size())),
        ("rejections", format!("{:?}", target.rejections())),
        ("standardized", format!("{standard:?}")),
        ("local_curvature", format!("{local:?}")),
        ("rounding", format!("{:?}", target.rounding(&q, &[1.0, 2.0]).unwrap())),
    ]
}

/// The methods to which the two have different answers.
fn differences(target: &dyn Target, expected: &Answers) -> Vec<&'static str> {
    let found = answers(target).into_iter().zip(expected);
    found.filter(|(found, expected)| found != *expected).map(|((method, _), _)| method).collect()
}

/// A target with nothing but what it must have.
struct Bare;

impl Target for Bare {
    fn dim(&self) -> usize {
        2
    }
    fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> Result<f64> {
        Probe.log_density(z, gradient)
    }
}

#[test]
fn every_method_of_the_trait_is_asked_for() {
    let source = include_str!("../target.rs");
    let begin = source.find("pub trait Target {").unwrap();
    let body = &source[begin..begin + source[begin..].find("\n}\n").unwrap()];
    let methods = body.lines().filter_map(|line| line.strip_prefix("    fn "));
    let methods: Vec<&str> = methods.map(|m| m.split(['(', '<']).next().unwrap()).collect();
    let asked: Vec<&str> = answers(&Probe).iter().map(|(method, _)| *method).collect();
    assert_eq!(methods, asked);
    // The probe's answers are none of the defaults, except where no default exists.
    let [mut own, defaults] = [answers(&Probe), answers(&Bare)];
    own.retain(|answer| defaults.contains(answer));
    let own: Vec<&str> = own.iter().map(|(method, _)| *method).collect();
    assert_eq!(own, ["dim", "log_density"]);
}

#[test]
fn wrappers_hand_every_question_on() {
    let expected = answers(&Probe);
    let boxed: Box<dyn Target + Sync> = Box::new(Probe);
    let shared: Arc<dyn Target + Send + Sync> = Arc::new(Probe);
    let same: [(&str, Box<dyn Target>); 7] = [
        ("&T", Box::new(&Probe)),
        ("Box<T>", Box::new(Box::new(Probe))),
        ("Box<dyn Target>", Box::new(boxed)),
        ("Arc<T>", Box::new(Arc::new(Probe))),
        ("Arc<dyn Target>", Box::new(shared)),
        ("Declared", Box::new(Declared::new(Probe))),
        ("Declared<Declared>", Box::new(Declared::new(Declared::new(Probe)))),
    ];
    for (name, wrapped) in &same {
        assert_eq!(differences(&**wrapped, &expected), [""; 0], "{name}");
    }
}

#[test]
fn wrappers_that_add_something_say_nothing_else() {
    let expected = answers(&Probe);
    let named = Declared::new(Probe).with_names(vec!["a".into(), "b".into()]).unwrap();
    // Its standard coordinates have the same names.
    assert_eq!(differences(&named, &expected), ["names", "standardized"]);
    assert_eq!(named.standardized().unwrap().unwrap().target().names(), ["a", "b"]);
    let bounded = || Declared::new(Probe).with_curvature(scalar(0.75, Some(8.0))).unwrap();
    // The bounds are somebody's word, and about these coordinates alone.
    let of_curvature =
        ["curvature", "proves_its_curvature", "model_of_its_own", "lower_curvature", "standardized"];
    assert_eq!(differences(&bounded(), &expected), of_curvature);
    assert!(bounded().standardized().unwrap().is_none());
    // Terms, other coordinates and values without their gradients would be evaluated unwatched.
    let watched = Watchdog::new(&Probe, scalar(0.75, Some(8.0)));
    let around = answers(&watched);
    let of_watch = [
        "log_densities_alone",
        "curvature",
        "proves_its_curvature",
        "model_of_its_own",
        "lower_curvature",
        "finite_sum",
        "standardized",
    ];
    assert_eq!(differences(&watched, &expected), of_watch);
    assert!(watched.finite_sum().is_none() && watched.standardized().unwrap().is_none());
    assert_eq!(around[6].1, answers(&bounded())[6].1);
    // Through z = y: one point is a batch of one, and audits see the target itself.
    let white = Whitened::new(&Probe, vec![0.0; 2], vec![1.0, 0.0, 1.0]);
    let seen = answers(&white);
    let of_white = [
        "log_density",
        "log_densities_alone",
        "curvature",
        "model_of_its_own",
        "lower_curvature",
        "standardized",
        "local_curvature",
        "rounding",
    ];
    assert_eq!(differences(&white, &expected), of_white);
    assert!(seen[1].1.starts_with("-18.5"), "{}", seen[1].1);
    for (transformed, own) in
        [(white.curvature(), Probe.curvature()), (white.lower_curvature(), Probe.lower_curvature())]
    {
        let [transformed, own] = [transformed, own].map(|c| c.unwrap().unwrap());
        assert!((transformed.convexity() / own.convexity() - 1.0).abs() < 1e-9);
        assert_eq!(transformed.provenance(), own.provenance());
    }
}

/// Hands on all but one method.
struct Forgetful(Probe);

impl Target for Forgetful {
    crate::forward_target!(self => self.0; dim log_density log_densities log_densities_alone hessian curvature proves_its_curvature model_of_its_own lower_curvature names
        expectations finite_sum data_size rejections standardized local_curvature rounding);
}

#[test]
fn a_wrapper_that_forgets_a_method_is_found_out() {
    assert_eq!(differences(&Forgetful(Probe), &answers(&Probe)), ["batch"]);
}
