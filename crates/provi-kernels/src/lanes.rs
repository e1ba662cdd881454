//! Eight lanes of f64, and the tokens that permit the instructions on them.
//!
//! All of the crate's `unsafe` code is in `lanes/x86.rs`, which needs it to call intrinsics, and in the one macro
//! of `dispatch.rs`, which enters code compiled for a detected instruction set.

#[cfg(target_arch = "x86_64")]
pub(crate) mod x86;

/// A token: its holder may run eight-lane arithmetic in its instruction set.
pub(crate) trait Simd: Copy {
    /// Eight lanes.
    type Vector: Copy;

    /// Whether `mul_add` rounds once.
    const FUSED: bool;

    /// Whether eight lanes fill one register of 32, so that tiles of up to 6 × 4 sums stay in registers.
    const WIDE: bool;

    fn splat(self, x: f64) -> Self::Vector;
    fn load(self, from: &[f64; 8]) -> Self::Vector;

    /// The first lanes from a slice of at most eight entries, zeros after them.
    fn load_partial(self, from: &[f64]) -> Self::Vector;
    fn store(self, v: Self::Vector, to: &mut [f64; 8]);

    /// The first lanes into a slice of at most eight entries.
    fn store_partial(self, v: Self::Vector, to: &mut [f64]);

    /// a·b + c in each lane.
    fn mul_add(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;

    fn add(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    fn mul(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    fn div(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// The larger in each lane; b if one of them is NaN.
    fn max(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// −|a|.
    fn negative(self, a: Self::Vector) -> Self::Vector;

    /// `yes` in the lanes where a < b, `no` in the others.
    fn less(self, a: Self::Vector, b: Self::Vector, yes: Self::Vector, no: Self::Vector) -> Self::Vector;

    /// a·2ⁿ, n being the lowest twelve bits of each lane of `power`: for results that are normal numbers.
    fn scale(self, a: Self::Vector, power: Self::Vector) -> Self::Vector;

    /// √a, up to an ulp, for lanes that are positive.
    fn sqrt(self, a: Self::Vector) -> Self::Vector;

    /// Whether a lane is negative (or −0).
    fn any_negative(self, v: Self::Vector) -> bool;

    /// `v` with zeros in the lanes up to `lane`.
    fn after(self, lane: usize, v: Self::Vector) -> Self::Vector;

    /// The sums over lanes of four vectors, each as ((0+1)+(2+3)) + ((4+5)+(6+7)).
    fn sums(self, of: [Self::Vector; 4]) -> [f64; 4];

    /// a·b + c, fused if `mul_add` is: for element-wise bodies, which the compiler vectorises by itself.
    #[inline(always)]
    fn fma(self, a: f64, b: f64, c: f64) -> f64 {
        if Self::FUSED { a.mul_add(b, c) } else { a * b + c }
    }
}

/// The target's baseline: lanes in an array.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

impl Simd for Portable {
    type Vector = [f64; 8];

    // On other targets `f64::mul_add` is a function call.
    const FUSED: bool = cfg!(any(target_arch = "aarch64", target_feature = "fma"));
    const WIDE: bool = false;

    #[inline(always)]
    fn splat(self, x: f64) -> [f64; 8] {
        [x; 8]
    }

    #[inline(always)]
    fn load(self, from: &[f64; 8]) -> [f64; 8] {
        *from
    }

    #[inline(always)]
    fn load_partial(self, from: &[f64]) -> [f64; 8] {
        let mut v = [0.0; 8];
        v[..from.len()].copy_from_slice(from);
        v
    }

    #[inline(always)]
    fn store(self, v: [f64; 8], to: &mut [f64; 8]) {
        *to = v;
    }

    #[inline(always)]
    fn store_partial(self, v: [f64; 8], to: &mut [f64]) {
        to.copy_from_slice(&v[..to.len()]);
    }

    #[inline(always)]
    fn mul_add(self, a: [f64; 8], b: [f64; 8], mut c: [f64; 8]) -> [f64; 8] {
        for l in 0..8 {
            c[l] = self.fma(a[l], b[l], c[l]);
        }
        c
    }

    #[inline(always)]
    fn add(self, mut a: [f64; 8], b: [f64; 8]) -> [f64; 8] {
        for l in 0..8 {
            a[l] += b[l];
        }
        a
    }

    #[inline(always)]
    fn mul(self, mut a: [f64; 8], b: [f64; 8]) -> [f64; 8] {
        for l in 0..8 {
            a[l] *= b[l];
        }
        a
    }

    #[inline(always)]
    fn div(self, mut a: [f64; 8], b: [f64; 8]) -> [f64; 8] {
        for l in 0..8 {
            a[l] /= b[l];
        }
        a
    }

    #[inline(always)]
    fn max(self, a: [f64; 8], mut b: [f64; 8]) -> [f64; 8] {
        for l in 0..8 {
            b[l] = if a[l] > b[l] { a[l] } else { b[l] };
        }
        b
    }

    #[inline(always)]
    fn negative(self, mut a: [f64; 8]) -> [f64; 8] {
        for l in 0..8 {
            a[l] = -a[l].abs();
        }
        a
    }

    #[inline(always)]
    fn less(self, a: [f64; 8], b: [f64; 8], yes: [f64; 8], mut no: [f64; 8]) -> [f64; 8] {
        for l in 0..8 {
            no[l] = if a[l] < b[l] { yes[l] } else { no[l] };
        }
        no
    }

    #[inline(always)]
    fn scale(self, mut a: [f64; 8], power: [f64; 8]) -> [f64; 8] {
        for l in 0..8 {
            a[l] = f64::from_bits(a[l].to_bits().wrapping_add(power[l].to_bits() << 52));
        }
        a
    }

    #[inline(always)]
    fn sqrt(self, a: [f64; 8]) -> [f64; 8] {
        a.map(f64::sqrt)
    }

    #[inline(always)]
    fn any_negative(self, v: [f64; 8]) -> bool {
        v.iter().any(|x| x.is_sign_negative())
    }

    #[inline(always)]
    fn after(self, lane: usize, mut v: [f64; 8]) -> [f64; 8] {
        v[..=lane].fill(0.0);
        v
    }

    #[inline(always)]
    fn sums(self, of: [[f64; 8]; 4]) -> [f64; 4] {
        let mut sums = [0.0; 4];
        for i in 0..4 {
            let v = of[i];
            sums[i] = ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn obeys<S: Simd>(simd: S) {
        let a: [f64; 8] = std::array::from_fn(|l| 1.0 + l as f64);
        let mut out = [0.0; 8];
        for n in 0..=8 {
            simd.store(simd.load_partial(&a[..n]), &mut out);
            assert!((0..8).all(|l| out[l].to_bits() == if l < n { a[l].to_bits() } else { 0 }));
            let mut part = [-1.0; 8];
            simd.store_partial(simd.load(&a), &mut part[..n]);
            assert!((0..8).all(|l| part[l].to_bits() == if l < n { a[l] } else { -1.0f64 }.to_bits()));
        }
        for scale in [1e-300, 1e-9, 0.3, 1.0, 7.0, 1e300] {
            let scaled = a.map(|x| scale * x);
            simd.store(simd.sqrt(simd.load(&scaled)), &mut out);
            assert!((0..8).all(|l| (out[l] / scaled[l].sqrt() - 1.0).abs() <= f64::EPSILON));
        }
        let b: [f64; 8] = std::array::from_fn(|l| 4.5 - if l % 2 == 0 { l as f64 } else { -2.0 * l as f64 });
        let (va, vb) = (simd.load(&a), simd.load(&b));
        let mut is = |v: S::Vector, expected: &dyn Fn(f64, f64) -> f64| {
            simd.store(v, &mut out);
            assert!((0..8).all(|l| out[l].to_bits() == expected(a[l], b[l]).to_bits()));
        };
        is(simd.add(va, vb), &|a, b| a + b);
        is(simd.mul(va, vb), &|a, b| a * b);
        is(simd.div(va, vb), &|a, b| a / b);
        is(simd.max(va, vb), &|a, b| a.max(b));
        is(simd.max(va, simd.splat(f64::NAN)), &|_, _| f64::NAN);
        is(simd.negative(vb), &|_, b| -b.abs());
        is(simd.less(va, vb, vb, va), &|a, b| if a < b { b } else { a });
        is(simd.less(va, va, vb, va), &|a, _| a);
        is(simd.scale(vb, simd.splat(crate::link::ROUND - 3.0)), &|_, b| b / 8.0);
        assert!(!simd.any_negative(simd.load(&a)));
        for lane in 0..8 {
            let mut one = a;
            one[lane] = -one[lane];
            assert!(simd.any_negative(simd.load(&one)));
            simd.store(simd.after(lane, simd.load(&a)), &mut out);
            assert!((0..8).all(|l| out[l].to_bits() == if l > lane { a[l].to_bits() } else { 0 }));
        }
        let v = simd.mul_add(simd.load(&a), simd.splat(2.0), simd.splat(0.5));
        simd.store(v, &mut out);
        assert!((0..8).all(|l| out[l].to_bits() == (2.0 * a[l] + 0.5).to_bits()));
        let four = [simd.load(&a), simd.splat(1.0), simd.splat(0.0), v];
        assert_eq!(simd.sums(four).map(f64::to_bits), [36.0, 8.0, 0.0, 76.0].map(f64::to_bits));
        // The order of the sum is part of the contract: here each order gives another number.
        let b: [f64; 8] = std::array::from_fn(|l| 1.0 / (3.0 + (l * l) as f64));
        let tree = ((b[0] + b[1]) + (b[2] + b[3])) + ((b[4] + b[5]) + (b[6] + b[7]));
        assert_eq!(simd.sums([simd.load(&b); 4]).map(f64::to_bits), [tree.to_bits(); 4]);
    }

    fn obeys_here<S: Simd>(simd: S) -> bool {
        obeys(simd);
        true
    }

    #[test]
    fn every_instruction_set_obeys_the_same_laws() {
        for level in crate::dispatch::tests::levels() {
            let ran = crate::dispatch::tests::at(
                level,
                || crate::dispatch::dispatch!(plainly, obeys_here() -> bool),
            );
            assert!(ran);
        }
    }

    fn plainly() -> bool {
        true
    }
}
