//! Slopes of the kernels' functions against the same in twice the precision.

use super::functions::add;
use crate::{Family, rounding};

/// A sum of two numbers, the second below half a unit of the first: some 100 bits.
#[derive(Clone, Copy, Debug)]
struct Twice(f64, f64);

impl Twice {
    fn sum(a: f64, b: f64) -> Self {
        let s = a + b;
        let back = s - a;
        Twice(s, (a - (s - back)) + (b - back))
    }

    fn plus(self, other: Twice) -> Self {
        let Twice(s, e) = Self::sum(self.0, other.0);
        Self::sum(s, e + self.1 + other.1)
    }

    fn times(self, other: Twice) -> Self {
        let p = self.0 * other.0;
        let e = self.0.mul_add(other.0, -p);
        Self::sum(p, e + self.0 * other.1 + self.1 * other.0)
    }

    fn over(self, other: Twice) -> Self {
        let q = self.0 / other.0;
        let rest = self.plus(other.times(Twice(-q, 0.0)));
        let r = rest.0 / other.0;
        let last = rest.plus(other.times(Twice(-r, 0.0)));
        Self::sum(q, r).plus(Twice(last.0 / other.0, 0.0))
    }

    fn neg(self) -> Self {
        Twice(-self.0, -self.1)
    }

    /// e^x: x = k ln 2 + 2⁸t, a series for e^t, eight squares.
    fn exp(self) -> Self {
        const LN_2: Twice = Twice(std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17);
        let k = (self.0 / LN_2.0).round();
        let r = self.plus(LN_2.times(Twice(-k, 0.0)));
        let t = Twice(r.0 / 256.0, r.1 / 256.0);
        let mut sum = Twice(1.0, 0.0);
        for i in (1..=16).rev() {
            sum = Twice(1.0, 0.0).plus(t.times(sum).over(Twice(f64::from(i), 0.0)));
        }
        (0..8).for_each(|_| sum = sum.times(sum));
        let power = 2f64.powi(k as i32);
        Twice(sum.0 * power, sum.1 * power)
    }
}

const ONE: Twice = Twice(1.0, 0.0);

/// φ/Φ at s: Φ = ½ + φ·(s + s³/3 + s⁵/15 + …).
fn hazard(s: f64) -> Twice {
    let x = Twice(s, 0.0);
    let square = x.times(x);
    let root = Twice(2.506_628_274_631_000_7, -1.832_857_980_459_202_8e-16);
    let density = Twice(-0.5 * square.0, -0.5 * square.1).exp().over(root);
    let (mut term, mut sum) = (x, x);
    for k in 1..200 {
        term = term.times(square).over(Twice(f64::from(2 * k + 1), 0.0));
        sum = sum.plus(term);
    }
    density.over(Twice(0.5, 0.0).plus(density.times(sum)))
}

/// φ′, and the sum of the absolute values of its terms.
fn slope(family: Family, s: f64, y: f64) -> (Twice, f64) {
    let (x, y2) = (Twice(s, 0.0), Twice(y, 0.0));
    let logit = |s: Twice| ONE.over(ONE.plus(s.neg().exp()));
    match family {
        Family::Logistic => {
            let sign = 1.0 - 2.0 * y;
            let found = logit(Twice(sign * s, 0.0)).times(Twice(sign, 0.0));
            (found, found.0.abs())
        }
        Family::Binomial => (logit(x).plus(y2.neg()), 1.0 + y),
        Family::Probit => {
            let sign = 2.0 * y - 1.0;
            let found = hazard(sign * s).times(Twice(-sign, 0.0));
            (found, found.0.abs())
        }
        Family::Poisson => (x.exp().plus(y2.neg()), x.exp().0 + y),
        Family::Gamma { shape } => {
            let rate = Twice(shape, 0.0).times(y2).times(x.neg().exp());
            (Twice(shape, 0.0).plus(rate.neg()), shape + rate.0)
        }
        Family::Cloglog => {
            let r = x.exp();
            let h = r.over(r.exp().plus(ONE.neg()));
            let rate = ONE.plus(y2.neg()).times(r);
            // h ≤ 1; far to the right it is re^{−r}, which loses r roundings of itself.
            (rate.plus(y2.times(h).neg()), rate.0 + y)
        }
        Family::Gaussian { precision } => {
            let found = x.plus(y2.neg()).times(Twice(precision, 0.0));
            (found, found.0.abs())
        }
    }
}

/// The stated error holds for some thousand predictors of each family, and a tenth of it would not hold for all of them together.
#[test]
fn slopes_are_as_exact_as_stated() {
    let families = [
        (Family::Logistic, [0.0, 1.0]),
        (Family::Binomial, [0.3, 1.0]),
        (Family::Probit, [0.0, 1.0]),
        (Family::Poisson, [0.0, 3.7]),
        (Family::Gamma { shape: 2.3 }, [0.4, 1.9]),
        (Family::Cloglog, [0.25, 1.0]),
        (Family::Gaussian { precision: 1.7 }, [-0.6, 2.1]),
    ];
    let mut worst = 0.0f64;
    for (family, responses) in families {
        let bound = rounding::slope_error(family);
        for y in responses {
            for i in -600..=600 {
                let (s, weight) = (f64::from(i) * 0.009_937_1, 0.7);
                for weighted in [false, true] {
                    let kind = family.kind(weighted);
                    let w = if weighted { weight } else { 1.0 };
                    let found = add(kind, s, [family.code(y), w], family.parameter(), &mut [0.0, 1.0]);
                    let (exact, size) = slope(family, s, y);
                    let exact = exact.times(Twice(w, 0.0));
                    let error = ((found - exact.0) - exact.1).abs() / (w * size).max(f64::MIN_POSITIVE);
                    assert!(error <= bound, "{family:?} y = {y}, s = {s}: {error:e} > {bound:e}");
                    worst = worst.max(error / bound);
                }
            }
        }
    }
    assert!(worst > 0.1, "{worst}");
}
