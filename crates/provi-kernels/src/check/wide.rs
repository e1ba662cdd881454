//! exp, softplus and sigmoid to about 100 bits, to count the ulps of the kernels.

/// 2ⁿ(high + low), with low below an ulp of high.
#[derive(Clone, Copy)]
pub(crate) struct Wide {
    high: f64,
    low: f64,
    n: i32,
}

/// How far `got` is from the truth, in units of the last place of the truth.
pub(crate) fn ulps(got: f64, truth: Wide) -> f64 {
    let Wide { high, low, n } = truth;
    let place = (high.abs().log2().floor() as i32 + n - 52).max(-1074);
    let error = (scale(got, -n) - high) - low;
    (error / scale(1.0, place - n)).abs()
}

/// 2ⁿx in steps that neither overflow nor round if the result does not.
fn scale(x: f64, n: i32) -> f64 {
    let third = n / 3;
    x * 2f64.powi(third) * 2f64.powi(third) * 2f64.powi(n - 2 * third)
}

impl Wide {
    fn new(high: f64, low: f64) -> Wide {
        let sum = high + low;
        Wide { high: sum, low: low - (sum - high), n: 0 }
    }

    /// The same number with n = 0; what underflows there is negligible compared with 1.
    fn flat(self) -> Wide {
        Wide { high: scale(self.high, self.n), low: scale(self.low, self.n), n: 0 }
    }

    fn plus(self, b: Wide) -> Wide {
        let sum = self.high + b.high;
        let back = sum - self.high;
        let error = (self.high - (sum - back)) + (b.high - back);
        Wide::new(sum, error + self.low + b.low)
    }

    fn times(self, b: Wide) -> Wide {
        let product = self.high * b.high;
        let error = self.high.mul_add(b.high, -product);
        Wide { n: self.n + b.n, ..Wide::new(product, error + self.high * b.low + self.low * b.high) }
    }

    fn over(self, b: Wide) -> Wide {
        let first = self.high / b.high;
        let rest = self.plus(b.times(Wide::new(-first, 0.0)));
        let second = rest.high / b.high;
        let rest = rest.plus(b.times(Wide::new(-second, 0.0)));
        Wide::new(first, 0.0).plus(Wide::new(second, 0.0)).plus(Wide::new(rest.high / b.high, 0.0))
    }

    /// eˣ by its series, after the nearest power of two.
    pub(crate) fn exp(x: f64) -> Wide {
        let n = (x / std::f64::consts::LN_2).round();
        let ln_2 = Wide { high: std::f64::consts::LN_2, low: 2.319_046_813_846_299_6e-17, n: 0 };
        let r = Wide::new(x, 0.0).plus(ln_2.times(Wide::new(-n, 0.0)));
        let mut sum = Wide::new(1.0, 0.0);
        for k in (1..=26).rev() {
            sum = Wide::new(1.0, 0.0).plus(r.times(sum).over(Wide::new(f64::from(k), 0.0)));
        }
        Wide { n: n as i32, ..sum }
    }

    /// log(1 + eˢ): the series of log1p far to the left, elsewhere one Newton step from the library's answer.
    pub(crate) fn softplus(s: f64) -> Wide {
        let e = Wide::exp(s.min(40.0));
        if s < -10.0 {
            let small = e.flat();
            let mut sum = Wide::new(0.0, 0.0);
            for k in (1..=9).rev() {
                let term = Wide::new(1.0, 0.0).over(Wide::new(f64::from(k), 0.0));
                sum = term.plus(small.times(Wide { high: -sum.high, low: -sum.low, n: 0 }));
            }
            return e.times(sum);
        }
        if s > 40.0 {
            return Wide::new(s, 0.0).plus(Wide::exp(-s).flat());
        }
        let guess = s.max(0.0) + (-s.abs()).exp().ln_1p();
        let at_guess = Wide::exp(guess).flat();
        let gap =
            Wide::new(1.0, 0.0).plus(e.flat()).plus(Wide { high: -at_guess.high, low: -at_guess.low, n: 0 });
        Wide::new(guess, 0.0).plus(gap.over(at_guess))
    }

    /// 1/(1 + e⁻ˢ).
    pub(crate) fn sigmoid(s: f64) -> Wide {
        let e = Wide::exp(-s.abs());
        let r = Wide::new(1.0, 0.0).over(Wide::new(1.0, 0.0).plus(e.flat()));
        if s >= 0.0 { r } else { e.times(r) }
    }
}

#[test]
fn wide_numbers_are_wide() {
    // e and log 2 to 33 digits, as high and low parts.
    let e = Wide::exp(1.0).flat();
    assert!(
        (e.high - std::f64::consts::E).abs() < 1e-18 && (e.low - 1.445_646_891_729_250_2e-16).abs() < 1e-30
    );
    let ln_2 = Wide::softplus(0.0);
    assert!(
        (ln_2.high - std::f64::consts::LN_2).abs() < 1e-18
            && (ln_2.low - 2.319_046_813_846_3e-17).abs() < 1e-30
    );
}
