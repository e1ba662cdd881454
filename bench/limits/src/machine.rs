//! What the machine itself can do: passes over memory and multiply-adds, in its widest instructions.

/// A loop compiled for AVX-512, for AVX2 with FMA and for the baseline; the best that is there runs.
macro_rules! widest {
    ($(#[$doc:meta])* $name:ident($($arg:ident: $kind:ty),*) $(-> $ret:ty)?, $mul_add:ident, $body:expr) => {
        $(#[$doc])*
        pub(crate) fn $name($($arg: $kind),*) $(-> $ret)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f")]
                fn wide($($arg: $kind),*) $(-> $ret)? {
                    let $mul_add = f64::mul_add;
                    $body
                }
                #[target_feature(enable = "avx2,fma")]
                fn narrow($($arg: $kind),*) $(-> $ret)? {
                    let $mul_add = f64::mul_add;
                    $body
                }
                if is_x86_feature_detected!("avx512f") {
                    // SAFETY: the feature was detected.
                    return unsafe { wide($($arg),*) };
                }
                if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                    // SAFETY: the features were detected.
                    return unsafe { narrow($($arg),*) };
                }
            }
            let $mul_add = |a: f64, b: f64, c: f64| a * b + c;
            $body
        }
    };
}

widest! {
    /// c ← a·c + b in place: one read-write pass.
    sweep(c: &mut [f64], a: f64, b: f64), mul_add,
    c.iter_mut().for_each(|c| *c = mul_add(*c, a, b))
}

widest! {
    /// The sum of all entries in 64 lanes: one read pass.
    read(c: &[f64]) -> f64, mul_add,
    {
        let mut sums = [0.0; 64];
        for chunk in c.as_chunks::<64>().0 {
            for l in 0..64 {
                sums[l] = mul_add(chunk[l], 1.0, sums[l]);
            }
        }
        sums.iter().sum()
    }
}

/// Multiply-adds of one call of [`multiply_adds`].
pub(crate) const MULTIPLY_ADDS: f64 = 96.0 * 1000.0;

widest! {
    /// 96 independent chains of a thousand multiply-adds: what the arithmetic units can do.
    multiply_adds(a: f64, b: f64) -> f64, mul_add,
    {
        let mut x = [0.5; 96];
        for _ in 0..1000 {
            for l in 0..96 {
                x[l] = mul_add(x[l], a, b);
            }
        }
        x.iter().sum()
    }
}
