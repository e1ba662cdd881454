//! Bounds of the probability of one event, from a KL bound.

use crate::base::special::softplus;

/// The probabilities P(A) that p can give an event A to which q gives a = Q(A), 1 − a = b, where KL(q‖p) ≤ K
/// [cert-event]:
/// ```text
/// {P : a log(a/P) + b log(b/(1−P)) ≤ K}
/// ```
/// By the data processing inequality, the KL divergence of the two coins is at most that of q and p. The set is an
/// interval that contains a; for a near 0 or 1 it is far narrower than a ± √(K/2). Both ends are rounded outwards.
/// Cost: two bisections.
pub fn event_interval(inside: f64, outside: f64, kl: f64) -> [f64; 2] {
    if !(kl >= 0.0 && kl.is_finite()) {
        return [0.0, 1.0];
    }
    // The two logarithms nearly cancel if K is tiny, so more than their rounding error is added.
    let room = kl * (1.0 + 1e-12) + 1e-14;
    let negative_entropy = [inside, outside].map(|x| if x > 0.0 { x * x.ln() } else { 0.0 });
    // x = log(P/(1−P)), so that log P = −softplus(−x) and log(1−P) = −softplus(x).
    let divergence =
        |x: f64| negative_entropy[0] + negative_entropy[1] + inside * softplus(-x) + outside * softplus(x);
    let start = (inside.max(f64::MIN_POSITIVE).ln() - outside.max(f64::MIN_POSITIVE).ln()).clamp(-FAR, FAR);
    let edge = |end: f64| {
        let (mut near, mut far) = (start, end);
        if divergence(far) <= room {
            return far;
        }
        for _ in 0..BISECTIONS {
            let middle = 0.5 * (near + far);
            *(if divergence(middle) <= room { &mut near } else { &mut far }) = middle;
        }
        far
    };
    let (low, high) = (edge(-FAR), edge(FAR));
    let lower = if low <= -FAR { 0.0 } else { (-softplus(-low)).exp() * (1.0 - 1e-14) };
    let upper = if high >= FAR { 1.0 } else { ((-softplus(-high)).exp() * (1.0 + 1e-14)).min(1.0) };
    [lower.min(inside), upper.max(inside)]
}

/// Beyond these log odds a probability is 0 or 1 in double precision.
const FAR: f64 = 700.0;
/// 1400/2⁶⁰ is below the spacing of doubles there.
const BISECTIONS: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    fn coins(a: f64, p: f64) -> f64 {
        let term = |a: f64, p: f64| if a > 0.0 { a * (a / p).ln() } else { 0.0 };
        term(a, p) + term(1.0 - a, 1.0 - p)
    }

    #[test]
    fn the_ends_are_where_the_divergence_is_k() {
        for a in [0.003, 0.2, 0.5, 0.9, 0.9995] {
            for kl in [1e-6, 1e-3, 0.1] {
                let [low, high] = event_interval(a, 1.0 - a, kl);
                assert!(low < a && a < high, "{a} {kl}");
                // Nearer to 0 or 1 the other coin's double has too few digits to check with.
                for end in [low, high].into_iter().filter(|end| (1e-9..1.0 - 1e-9).contains(end)) {
                    assert!((coins(a, end) / kl - 1.0).abs() < 1e-6, "{a} {kl} {end}: {}", coins(a, end));
                }
                // Never outside Pinsker's interval.
                let width = (0.5f64 * kl).sqrt() + 1e-6;
                assert!(low > a - width && high < a + width, "{a} {kl}");
            }
        }
    }

    #[test]
    fn a_sure_event_stays_nearly_sure() {
        let [low, high] = event_interval(1.0, 0.0, 0.05);
        assert!((low - (-0.05f64).exp()).abs() < 1e-9 && high > 1.0 - 1e-15, "{low} {high}");
        let [low, high] = event_interval(1e-30, 1.0, 0.05);
        assert!(low <= 1e-30 && (high - (1.0 - (-0.05f64).exp())).abs() < 1e-9, "{low} {high}");
    }

    #[test]
    fn no_bound_says_nothing() {
        for kl in [f64::INFINITY, f64::NAN, -1.0] {
            assert!(event_interval(0.3, 0.7, kl).iter().zip([0.0, 1.0]).all(|(x, y)| (x - y).abs() < 1e-300));
        }
    }
}
