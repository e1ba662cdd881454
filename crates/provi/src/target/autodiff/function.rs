//! Functions with their slopes; the methods of scalars and vectors are made from them.

use std::f64::consts::FRAC_2_SQRT_PI;

use super::{Var, Vector};
use crate::base::special;

/// For each function x ↦ (value, slope): a method of `Var` and the elementwise method of `Vector`.
macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident |$x:ident| $value_and_slope:expr;)*) => {
        impl Var<'_> {
            $($(#[$doc])* pub fn $name(self) -> Self {
                self.map(|$x| $value_and_slope)
            })*
        }

        /// Elementwise functions.
        impl Vector<'_> {
            $($(#[$doc])* pub fn $name(self) -> Self {
                self.elementwise(|$x| $value_and_slope)
            })*
        }
    };
}

functions! {
    /// eˣ.
    exp |x| { let e = x.exp(); (e, e) };
    /// eˣ − 1, accurate near 0.
    exp_m1 |x| (x.exp_m1(), x.exp());
    /// The natural logarithm.
    ln |x| (x.ln(), x.recip());
    /// log(1 + x), accurate near 0.
    ln_1p |x| (x.ln_1p(), (1.0 + x).recip());
    /// √x.
    sqrt |x| { let root = x.sqrt(); (root, 0.5 / root) };
    /// x².
    square |x| (x * x, 2.0 * x);
    /// 1/x.
    recip |x| { let r = x.recip(); (r, -r * r) };
    /// |x|; slope 0 at 0.
    abs |x| (x.abs(), if x == 0.0 { 0.0 } else { x.signum() });
    /// Sine.
    sin |x| x.sin_cos();
    /// Cosine.
    cos |x| { let (sin, cos) = x.sin_cos(); (cos, -sin) };
    /// Tangent.
    tan |x| { let t = x.tan(); (t, 1.0 + t * t) };
    /// Arc tangent.
    atan |x| (x.atan(), (1.0 + x * x).recip());
    /// Hyperbolic sine.
    sinh |x| (x.sinh(), x.cosh());
    /// Hyperbolic cosine.
    cosh |x| (x.cosh(), x.sinh());
    /// Hyperbolic tangent.
    tanh |x| { let sech = x.cosh().recip(); (x.tanh(), sech * sech) };
    /// 1/(1 + e⁻ˣ).
    sigmoid |x| {
        let (value, e) = (special::sigmoid(x), (-x.abs()).exp());
        (value, e / (1.0 + e).powi(2))
    };
    /// log(1 + eˣ), without overflow; its slope is the sigmoid.
    softplus |x| (special::softplus(x), special::sigmoid(x));
    /// log(1/(1 + e⁻ˣ)) = −softplus(−x).
    log_sigmoid |x| (-special::softplus(-x), special::sigmoid(-x));
    /// log |Γ(x)|; its slope is the digamma function.
    ln_gamma |x| (special::ln_gamma(x), special::digamma(x));
    /// The error function (2/√π)·∫₀ˣ e^{−t²} dt.
    erf |x| (libm::erf(x), FRAC_2_SQRT_PI * (-x * x).exp());
    /// 1 − erf(x), accurate in the right tail.
    erfc |x| (libm::erfc(x), -FRAC_2_SQRT_PI * (-x * x).exp());
    /// Φ(x), the standard normal distribution function, accurate in the left tail.
    normal_cdf |x| (special::normal_cdf(x), special::normal_density(x));
    /// log Φ(x), accurate in both tails; its slope is φ(x)/Φ(x).
    log_normal_cdf |x| (special::log_normal_cdf(x), special::inverse_mills(x));
}

pub(super) fn powi(x: f64, n: i32) -> (f64, f64) {
    let slope = if n == 0 { 0.0 } else { f64::from(n) * x.powi(n.saturating_sub(1)) };
    (x.powi(n), slope)
}

/// (xʸ, y·xʸ⁻¹, xʸ·log x), each with its limit where the product is 0·∞.
pub(super) fn powf(x: f64, y: f64) -> (f64, f64, f64) {
    let value = x.powf(y);
    let base = if y == 0.0 { 0.0 } else { y * x.powf(y - 1.0) };
    (value, base, if value == 0.0 { 0.0 } else { value * x.ln() })
}

pub(super) fn add(x: f64, y: f64) -> (f64, f64, f64) {
    (x + y, 1.0, 1.0)
}

pub(super) fn subtract(x: f64, y: f64) -> (f64, f64, f64) {
    (x - y, 1.0, -1.0)
}

pub(super) fn multiply(x: f64, y: f64) -> (f64, f64, f64) {
    (x * y, y, x)
}

pub(super) fn divide(x: f64, y: f64) -> (f64, f64, f64) {
    let quotient = x / y;
    (quotient, y.recip(), -quotient / y)
}

pub(super) fn max(x: f64, y: f64) -> (f64, f64, f64) {
    if x >= y {
        (x, 1.0, 0.0)
    } else if x < y {
        (y, 0.0, 1.0)
    } else {
        (f64::NAN, f64::NAN, f64::NAN)
    }
}

pub(super) fn min(x: f64, y: f64) -> (f64, f64, f64) {
    let (value, left, right) = max(-x, -y);
    (-value, left, right)
}
