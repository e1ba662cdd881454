//! Where the score estimator becomes better than the path estimator: φ(z) + √ε·sin(z/ε).

use crate::figure::{Axis, Figure, Mark, Panel, Series};
use crate::outcome::{Check, Outcome};
use crate::trial::Trial;
use provi::Result;
use std::f64::consts::PI;

/// Second moments of the two estimators of the gradient in the mean, at q = N(0, s²) and V = ½z² − √ε sin(z/ε).
///
/// path (STL): V'(z) − u/s; score: (log q − log p)·u/s. By the trapezoid rule with 40 nodes a period.
fn moments(epsilon: f64, s: f64, rough: bool) -> [f64; 2] {
    let step = (epsilon / (40.0 * s)).min(0.01);
    let reach = (9.0 / step) as i64;
    let mut sums = [0.0; 2];
    for j in -reach..=reach {
        let u = j as f64 * step;
        let weight = step * (-0.5 * u * u).exp() / (2.0 * PI).sqrt();
        let z = s * u;
        let (wave, slope) = if rough {
            (epsilon.sqrt() * (z / epsilon).sin(), (z / epsilon).cos() / epsilon.sqrt())
        } else {
            (0.0, 0.0)
        };
        let path = z - slope - u / s;
        let log_ratio = -0.5 * u * u - s.ln() - 0.5 * (2.0 * PI).ln() + 0.5 * z * z - wave;
        sums[0] += weight * path * path;
        sums[1] += weight * (log_ratio * u / s).powi(2);
    }
    sums
}

/// Study of the paper's remark: a path estimator depends on slopes, a score estimator only on values.
pub(crate) fn trade_places(trial: &Trial) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let s: f64 = 1.3;
    let smooth = moments(1.0, s, false);
    let (mut path, mut score, mut claimed) = (Vec::new(), Vec::new(), Vec::new());
    let steps = trial.effort(13, 25);
    let mut crossing = None;
    for i in 0..steps {
        let epsilon = 10f64.powf(1.0 - 4.0 * f64::from(i) / f64::from(steps - 1));
        let [p, c] = moments(epsilon, s, true);
        // √E(a+b)² ≤ √Ea² + √Eb²: the wave adds √ε·sin to the log ratio, whose score has second moment 1/s².
        let bound = (smooth[1].sqrt() + epsilon.sqrt() / s).powi(2);
        outcome.check(Check::at_most(format!("score estimator, ε = {epsilon:.1e}"), c, trial.upper(bound)));
        if epsilon < 0.05 {
            outcome.check(Check::at_least(
                format!("path estimator, ε = {epsilon:.1e}: at least 1/4ε"),
                p,
                trial.lower(0.25 / epsilon),
            ));
        }
        if p > c && crossing.is_none() {
            crossing = Some(epsilon);
        }
        path.push((epsilon, p));
        score.push((epsilon, c));
        claimed.push((epsilon, bound));
    }
    let place = crossing.map_or(String::from("nowhere"), |e| format!("near ε = {e:.1e}"));
    outcome.check(Check::at_most("smooth target: path below score", smooth[0], smooth[1]));
    outcome.notes.push(format!("the two trade places {place}"));
    outcome.figures.push(Figure {
        name: "score-path".into(),
        caption: format!(
            "log p(z) = −½z² + √ε sin(z/ε), q = N(0, 1.3²): almost the same posterior for every small ε. The path \
             estimator's noise grows like 1/(2ε), the score estimator's stays; they trade places {place}. Smoothness \
             is what excludes such targets."
        ),
        panels: vec![Panel {
            title: "A ripple that path estimators feel".into(),
            x: Axis::log("ε"),
            y: Axis::log("second moment of the gradient in the mean"),
            series: vec![
                Series::new("path (sticking the landing)", Mark::Measured, 2, path),
                Series::new("score", Mark::Measured, 1, score),
                Series::new("bound of the score's", Mark::Bound, 1, claimed),
            ],
        }],
    });
    Ok(outcome)
}
