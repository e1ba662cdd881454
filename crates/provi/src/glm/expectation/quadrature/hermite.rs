//! Gauss–Hermite rules for narrow logistic rows, with their error bound.

use std::f64::consts::PI;

/// The positive nodes of each rule for N(0, 1) with their weights, correctly rounded; the negative nodes mirror
/// them.
const RULES: [&[[f64; 2]]; 4] = [
    &[
        [0.5390798113513751, 0.37301225767907736],
        [1.636519042435108, 0.11723990766175901],
        [2.8024858612875416, 0.009635220120788266],
        [4.1445471861258945, 0.00011261453837536777],
    ],
    &[
        [0.44440300194413895, 0.32166436151283],
        [1.3403751971516167, 0.14696704804532998],
        [2.2594644510007993, 0.02911668791236415],
        [3.2237098287700974, 0.002203380687533199],
        [4.2718258479322815, 4.837184922590628e-05],
        [5.500901704467748, 1.499927167637168e-07],
    ],
    &[
        [0.3867606045005573, 0.28656852123801213],
        [1.1638291005549648, 0.1583383727509496],
        [1.9519803457163334, 0.047284752354014026],
        [2.7602450476307014, 0.007266937601184733],
        [3.600873624171548, 0.0005259849265739092],
        [4.492955302520011, 1.5300032162487272e-05],
        [5.472225705949343, 1.3094732162868227e-07],
        [6.630878198393129, 1.4978147231618397e-10],
    ],
    &[
        [0.3469641570813559, 0.2607930634495549],
        [1.0429453488027511, 0.16173933398399995],
        [1.7452473208141268, 0.061506372063976904],
        [2.458663611172368, 0.013997837447101003],
        [3.1890148165533896, 0.0018301031310804928],
        [3.9439673506573163, 0.00012882627996192944],
        [4.734581334046055, 4.402121090230853e-06],
        [5.5787388058932015, 6.127490259982948e-08],
        [6.510590157013654, 2.4820623623151786e-10],
        [7.619048541679758, 1.257800672437927e-13],
    ],
];

/// Nodes and weights of the rules, in order of the number of nodes.
pub(super) fn rules() -> impl Iterator<Item = (Vec<f64>, Vec<f64>)> {
    RULES.iter().map(|half| {
        let left = half.iter().rev().map(|&[t, w]| (-t, w));
        left.chain(half.iter().map(|&[t, w]| (t, w))).unzip()
    })
}

/// n!(σ/ρ)²ⁿ/4cos²(ρ/2), ρ = πn/(n+1): an upper bound of the error of n nodes in Eφ, Eφ' and Eφ'' for the logistic φ and n ≥ 3
/// [exact-bound].
pub(super) fn error(count: usize, deviation: f64) -> f64 {
    let n = count as f64;
    let rho = PI * n / (n + 1.0);
    (libm::lgamma(n + 1.0) + 2.0 * n * (deviation / rho).ln()).exp() / (2.0 * (0.5 * rho).cos()).powi(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glm::Family;

    #[test]
    fn a_rule_of_n_nodes_is_exact_up_to_degree_2n_minus_1() {
        for (nodes, weights) in rules() {
            // Even moments of N(0, 1) are 1·3·5⋯; odd ones vanish by symmetry.
            let mut moment = 1.0;
            for k in 0..nodes.len() {
                let sum: f64 = nodes.iter().zip(&weights).map(|(t, w)| w * t.powi(2 * k as i32)).sum();
                assert!((sum / moment - 1.0).abs() < 1e-13, "{} nodes, degree {}: {sum}", nodes.len(), 2 * k);
                moment *= (2 * k + 1) as f64;
            }
        }
    }

    #[test]
    fn the_proved_error_of_hermite_covers_a_rule_that_is_too_coarse_and_is_not_absurd() {
        // Wider rows than these rules are for, so that the error stands out of the rounding.
        for (nodes, weights) in rules() {
            for sigma in [0.5, 0.6, 0.8, 1.0, 1.3] {
                let mut worst = [0.0f64; 3];
                for i in 0..=40 {
                    let mu = 0.1 * f64::from(i);
                    // A trapezoid rule of step 1/16 and 2·10 standard deviations: exact to rounding at these widths.
                    let reference = (-160..=160).map(|j| {
                        let t = f64::from(j) / 16.0;
                        (t, (-0.5 * t * t).exp() / (16.0 * (2.0 * PI).sqrt()))
                    });
                    let sum = |rule: &mut dyn Iterator<Item = (f64, f64)>| {
                        rule.fold([0.0; 3], |sums, (t, w)| {
                            let at = Family::Bernoulli.derivatives(mu + sigma * t, 0.0);
                            [0, 1, 2].map(|i| sums[i] + w * at[i])
                        })
                    };
                    let truth = sum(&mut reference.into_iter());
                    let found = sum(&mut nodes.iter().copied().zip(weights.iter().copied()));
                    (0..3).for_each(|i| worst[i] = worst[i].max((found[i] - truth[i]).abs()));
                }
                let bound = error(nodes.len(), sigma);
                assert!(
                    worst.iter().all(|&w| w <= bound + 1e-14),
                    "{} {sigma}: {worst:?} {bound}",
                    nodes.len()
                );
                // Cauchy's estimate is lost on many nodes, whose bound only has to reach the goal; on few it is not absurd.
                let tight = nodes.len() == 8 && sigma < 0.7;
                assert!(!tight || worst[2] > 1e-3 * bound, "{sigma}: {worst:?} {bound}");
            }
        }
    }
}
