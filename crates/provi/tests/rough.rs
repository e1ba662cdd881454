//! Searches on targets that are far from Gaussian, end somewhere, or have several modes. Nothing is proved about them.

pub(crate) mod targets;

use provi::auto::Certified;
use provi::estimate::estimate;
use provi::target::{Closure, RejectionLog, Rejections, Target};
use provi::{Auto, Error, Result, Seed};

fn run(target: &(impl Target + Sync), starts: usize) -> Certified {
    Auto { starts, ..Auto::default() }.run(target, Seed(1)).unwrap()
}

fn elbo(target: &(impl Target + Sync), answer: &Certified) -> f64 {
    estimate(target, &answer.fit.gaussian, Seed(2), 4000).unwrap().elbo
}

#[test]
fn eight_schools_come_out_alike_from_several_starts() {
    let target = targets::schools_free();
    let answer = run(&target, 3);
    // log p(x) is about −31.35.
    assert!(elbo(&target, &answer) > -31.65, "{}", elbo(&target, &answer));
    assert_eq!(answer.search.agree(), Some(true), "{:?}", answer.search);
    assert!(answer.search.notes()[0].starts_with("3 starts agree"), "{:?}", answer.search.notes());
    assert!(answer.certificate().gap.bound().is_none(), "nothing is proved");
    let alone = run(&target, 1);
    assert!(alone.search.agree().is_none() && alone.search.notes().is_empty());
    assert!(answer.fit.gradient_evaluations > 2 * alone.fit.gradient_evaluations);
}

#[test]
fn a_density_that_grows_into_a_corner_is_not_followed_there() {
    // The same posterior with θ itself: the density is unbounded at τ = 0, where there is no mass. The climb goes there
    // (log τ below −30, an ELBO below −60); the best Gaussian has an ELBO of about −32.6.
    let target = targets::schools_centred();
    let answer = run(&target, 1);
    assert!(elbo(&target, &answer) > -33.2, "{}", elbo(&target, &answer));
    let funnel = targets::funnel(5);
    assert!(elbo(&funnel, &run(&funnel, 1)) > -1.8);
}

#[test]
fn a_search_begins_where_the_target_is_finite() {
    // Not finite at the origin.
    let target = targets::positive();
    let answer = run(&target, 1);
    assert!((answer.fit.gaussian.mean()[0] - 40.0).abs() < 0.5);
    let walled = Closure::new(1, |z: &[f64], g: &mut [f64]| {
        g[0] = -z[0];
        if z[0].abs() < 2.0 { -0.5 * z[0] * z[0] } else { f64::NAN }
    })
    .unwrap();
    let search = run(&walled, 1).search;
    assert!(search.rejected >= search.retreats && search.retreats > 0);
    assert!(search.notes()[0].starts_with(&format!("the target refused {} draw(s)", search.rejected)));
}

#[test]
fn every_start_finds_the_heavier_mode_and_remembers_the_other() {
    let answer = run(&targets::mixture(), 3);
    assert_eq!(answer.search.agree(), Some(true), "each search compares its own beginnings");
    assert!((answer.fit.gaussian.mean()[0] - 6.0).abs() < 0.01, "the mode of weight 3/4");
    let elbos: Vec<f64> = answer.search.starts.iter().map(|s| s.outcome.as_ref().unwrap().elbo).collect();
    assert!(elbos.iter().all(|x| *x <= elbos[answer.search.kept]));
    let beginnings = answer.search.beginnings.as_ref().unwrap();
    assert_eq!(beginnings.rivals.len(), 1, "{beginnings}");
    let lighter = elbos[answer.search.kept] - beginnings.rivals[0].elbo;
    assert!((lighter - 3f64.ln()).abs() < 0.1, "weights of 3 : 1, {lighter}");
}

/// Refuses everything, with a reason.
#[derive(Default)]
struct Unwilling(RejectionLog);

impl Target for Unwilling {
    fn dim(&self) -> usize {
        2
    }
    fn log_density(&self, _: &[f64], _: &mut [f64]) -> Result<f64> {
        self.0.note("the scale must be positive");
        Ok(f64::NEG_INFINITY)
    }
    fn rejections(&self) -> Rejections {
        self.0.so_far()
    }
}

#[test]
fn a_target_that_refuses_every_point_is_quoted() {
    for starts in [1, 2] {
        let error = Auto { starts, ..Auto::default() }.run(&Unwilling::default(), Seed(1)).unwrap_err();
        let Error::Refused { error, count, message } = &error else { panic!("{error}") };
        assert!(matches!(**error, Error::NoStart { tries: 100, .. }) && *count == 100 * starts as u64);
        assert_eq!(message, "the scale must be positive");
    }
}
