//! The two x86 tokens. Their constructors require the features, so a token proves that the processor has them.

use super::Simd;
use std::arch::x86_64::*;

/// AVX-512 F, DQ, BW, VL, with AVX2 and FMA.
#[derive(Clone, Copy)]
pub(crate) struct Avx512(());

impl Avx512 {
    #[target_feature(enable = "avx2,fma,avx512f,avx512dq,avx512bw,avx512vl")]
    pub(crate) fn new() -> Self {
        Avx512(())
    }
}

/// The mask of the first `n ≤ 8` lanes.
#[inline(always)]
fn mask(n: usize) -> __mmask8 {
    debug_assert!(n <= 8);
    ((1u32 << (n & 15)) - 1) as __mmask8
}

impl Simd for Avx512 {
    type Vector = __m512d;
    const FUSED: bool = true;
    const WIDE: bool = true;

    #[inline(always)]
    fn splat(self, x: f64) -> __m512d {
        // SAFETY: `self` proves AVX-512F.
        unsafe { _mm512_set1_pd(x) }
    }

    #[inline(always)]
    fn load(self, from: &[f64; 8]) -> __m512d {
        // SAFETY: `self` proves AVX-512F; the eight entries are readable, at any alignment.
        unsafe { _mm512_loadu_pd(from.as_ptr()) }
    }

    #[inline(always)]
    fn load_partial(self, from: &[f64]) -> __m512d {
        // SAFETY: `self` proves AVX-512F; only lanes under the mask, which are entries of `from`, are read.
        unsafe { _mm512_maskz_loadu_pd(mask(from.len()), from.as_ptr()) }
    }

    #[inline(always)]
    fn store(self, v: __m512d, to: &mut [f64; 8]) {
        // SAFETY: `self` proves AVX-512F; the eight entries are writable, at any alignment.
        unsafe { _mm512_storeu_pd(to.as_mut_ptr(), v) }
    }

    #[inline(always)]
    fn store_partial(self, v: __m512d, to: &mut [f64]) {
        // SAFETY: `self` proves AVX-512F; only lanes under the mask, which are entries of `to`, are written.
        unsafe { _mm512_mask_storeu_pd(to.as_mut_ptr(), mask(to.len()), v) }
    }

    #[inline(always)]
    fn mul_add(self, a: __m512d, b: __m512d, c: __m512d) -> __m512d {
        // SAFETY: `self` proves AVX-512F.
        unsafe { _mm512_fmadd_pd(a, b, c) }
    }

    #[inline(always)]
    fn add(self, a: __m512d, b: __m512d) -> __m512d {
        // SAFETY: `self` proves AVX-512F.
        unsafe { _mm512_add_pd(a, b) }
    }

    #[inline(always)]
    fn mul(self, a: __m512d, b: __m512d) -> __m512d {
        // SAFETY: `self` proves AVX-512F.
        unsafe { _mm512_mul_pd(a, b) }
    }

    #[inline(always)]
    fn div(self, a: __m512d, b: __m512d) -> __m512d {
        // SAFETY: `self` proves AVX-512F.
        unsafe { _mm512_div_pd(a, b) }
    }

    #[inline(always)]
    fn max(self, a: __m512d, b: __m512d) -> __m512d {
        // SAFETY: `self` proves AVX-512F.
        unsafe { _mm512_max_pd(a, b) }
    }

    #[inline(always)]
    fn negative(self, a: __m512d) -> __m512d {
        // SAFETY: `self` proves AVX-512DQ.
        unsafe { _mm512_or_pd(a, _mm512_set1_pd(-0.0)) }
    }

    #[inline(always)]
    fn less(self, a: __m512d, b: __m512d, yes: __m512d, no: __m512d) -> __m512d {
        // SAFETY: `self` proves AVX-512F.
        unsafe { _mm512_mask_blend_pd(_mm512_cmp_pd_mask::<_CMP_LT_OQ>(a, b), no, yes) }
    }

    #[inline(always)]
    fn scale(self, a: __m512d, power: __m512d) -> __m512d {
        // SAFETY: `self` proves AVX-512F.
        unsafe {
            let shifted = _mm512_slli_epi64::<52>(_mm512_castpd_si512(power));
            _mm512_castsi512_pd(_mm512_add_epi64(_mm512_castpd_si512(a), shifted))
        }
    }

    /// By Newton steps from an estimate of 1/√a: the divider alone would take four times as long.
    #[inline(always)]
    fn sqrt(self, a: __m512d) -> __m512d {
        // SAFETY: `self` proves AVX-512F.
        unsafe {
            let half = _mm512_set1_pd(0.5);
            let estimate = _mm512_rsqrt14_pd(a);
            // root → √a and half_inverse → 1/(2√a), both with a relative error of 2⁻¹⁴, then 2⁻²⁷, then rounding.
            let mut root = _mm512_mul_pd(a, estimate);
            let mut half_inverse = _mm512_mul_pd(half, estimate);
            for _ in 0..2 {
                let error = _mm512_fnmadd_pd(root, half_inverse, half);
                root = _mm512_fmadd_pd(root, error, root);
                half_inverse = _mm512_fmadd_pd(half_inverse, error, half_inverse);
            }
            _mm512_fmadd_pd(_mm512_fnmadd_pd(root, root, a), half_inverse, root)
        }
    }

    #[inline(always)]
    fn any_negative(self, v: __m512d) -> bool {
        // SAFETY: `self` proves AVX-512F and DQ.
        unsafe { _mm512_movepi64_mask(_mm512_castpd_si512(v)) != 0 }
    }

    #[inline(always)]
    fn after(self, lane: usize, v: __m512d) -> __m512d {
        // SAFETY: `self` proves AVX-512F.
        unsafe { _mm512_maskz_mov_pd(!mask(lane + 1), v) }
    }

    #[inline(always)]
    fn sums(self, [a, b, c, d]: [__m512d; 4]) -> [f64; 4] {
        // SAFETY: `self` proves AVX-512F and AVX; the array is 32 writable bytes.
        unsafe {
            let ab = _mm512_add_pd(_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b));
            let cd = _mm512_add_pd(_mm512_unpacklo_pd(c, d), _mm512_unpackhi_pd(c, d));
            let even = _mm512_permutex2var_pd(ab, _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13), cd);
            let odd = _mm512_permutex2var_pd(ab, _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15), cd);
            let halves = _mm512_add_pd(even, odd);
            let sums = _mm256_add_pd(_mm512_castpd512_pd256(halves), _mm512_extractf64x4_pd::<1>(halves));
            let mut out = [0.0; 4];
            _mm256_storeu_pd(out.as_mut_ptr(), sums);
            out
        }
    }
}

/// AVX2 and FMA.
#[derive(Clone, Copy)]
pub(crate) struct Avx2(());

impl Avx2 {
    #[target_feature(enable = "avx2,fma")]
    pub(crate) fn new() -> Self {
        Avx2(())
    }
}

/// All ones in the first `n ≤ 8` of eight words, as two masks of four.
#[inline(always)]
fn masks(_: Avx2, n: usize) -> (__m256i, __m256i) {
    static WINDOW: [i64; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
    let window = &WINDOW[8 - n..][..8];
    // SAFETY: the token proves AVX; eight words from `window` are readable.
    unsafe {
        let start = window.as_ptr();
        (_mm256_loadu_si256(start.cast()), _mm256_loadu_si256(start.add(4).cast()))
    }
}

#[inline(always)]
fn sums_of_four(_: Avx2, [a, b, c, d]: [__m256d; 4]) -> __m256d {
    // SAFETY: the token proves AVX.
    unsafe {
        let (ab, cd) = (_mm256_hadd_pd(a, b), _mm256_hadd_pd(c, d));
        _mm256_add_pd(_mm256_permute2f128_pd::<0x20>(ab, cd), _mm256_permute2f128_pd::<0x31>(ab, cd))
    }
}

impl Simd for Avx2 {
    type Vector = (__m256d, __m256d);
    const FUSED: bool = true;
    const WIDE: bool = false;

    #[inline(always)]
    fn splat(self, x: f64) -> Self::Vector {
        // SAFETY: `self` proves AVX.
        unsafe { (_mm256_set1_pd(x), _mm256_set1_pd(x)) }
    }

    #[inline(always)]
    fn load(self, from: &[f64; 8]) -> Self::Vector {
        // SAFETY: `self` proves AVX; the eight entries are readable, at any alignment.
        unsafe { (_mm256_loadu_pd(from.as_ptr()), _mm256_loadu_pd(from.as_ptr().add(4))) }
    }

    #[inline(always)]
    fn load_partial(self, from: &[f64]) -> Self::Vector {
        let (low, high) = masks(self, from.len());
        let start = from.as_ptr();
        // SAFETY: `self` proves AVX; only lanes under the masks, which are entries of `from`, are read.
        unsafe { (_mm256_maskload_pd(start, low), _mm256_maskload_pd(start.wrapping_add(4), high)) }
    }

    #[inline(always)]
    fn store(self, v: Self::Vector, to: &mut [f64; 8]) {
        // SAFETY: `self` proves AVX; the eight entries are writable, at any alignment.
        unsafe {
            _mm256_storeu_pd(to.as_mut_ptr(), v.0);
            _mm256_storeu_pd(to.as_mut_ptr().add(4), v.1);
        }
    }

    #[inline(always)]
    fn store_partial(self, v: Self::Vector, to: &mut [f64]) {
        let (low, high) = masks(self, to.len());
        let start = to.as_mut_ptr();
        // SAFETY: `self` proves AVX; only lanes under the masks, which are entries of `to`, are written.
        unsafe {
            _mm256_maskstore_pd(start, low, v.0);
            _mm256_maskstore_pd(start.wrapping_add(4), high, v.1);
        }
    }

    #[inline(always)]
    fn mul_add(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector {
        // SAFETY: `self` proves FMA.
        unsafe { (_mm256_fmadd_pd(a.0, b.0, c.0), _mm256_fmadd_pd(a.1, b.1, c.1)) }
    }

    #[inline(always)]
    fn add(self, a: Self::Vector, b: Self::Vector) -> Self::Vector {
        // SAFETY: `self` proves AVX.
        unsafe { (_mm256_add_pd(a.0, b.0), _mm256_add_pd(a.1, b.1)) }
    }

    #[inline(always)]
    fn mul(self, a: Self::Vector, b: Self::Vector) -> Self::Vector {
        // SAFETY: `self` proves AVX.
        unsafe { (_mm256_mul_pd(a.0, b.0), _mm256_mul_pd(a.1, b.1)) }
    }

    #[inline(always)]
    fn div(self, a: Self::Vector, b: Self::Vector) -> Self::Vector {
        // SAFETY: `self` proves AVX.
        unsafe { (_mm256_div_pd(a.0, b.0), _mm256_div_pd(a.1, b.1)) }
    }

    #[inline(always)]
    fn max(self, a: Self::Vector, b: Self::Vector) -> Self::Vector {
        // SAFETY: `self` proves AVX.
        unsafe { (_mm256_max_pd(a.0, b.0), _mm256_max_pd(a.1, b.1)) }
    }

    #[inline(always)]
    fn negative(self, a: Self::Vector) -> Self::Vector {
        // SAFETY: `self` proves AVX.
        unsafe {
            let sign = _mm256_set1_pd(-0.0);
            (_mm256_or_pd(a.0, sign), _mm256_or_pd(a.1, sign))
        }
    }

    #[inline(always)]
    fn less(self, a: Self::Vector, b: Self::Vector, yes: Self::Vector, no: Self::Vector) -> Self::Vector {
        // SAFETY: `self` proves AVX.
        unsafe {
            (
                _mm256_blendv_pd(no.0, yes.0, _mm256_cmp_pd::<_CMP_LT_OQ>(a.0, b.0)),
                _mm256_blendv_pd(no.1, yes.1, _mm256_cmp_pd::<_CMP_LT_OQ>(a.1, b.1)),
            )
        }
    }

    #[inline(always)]
    fn scale(self, a: Self::Vector, power: Self::Vector) -> Self::Vector {
        // SAFETY: `self` proves AVX2.
        unsafe {
            let low = _mm256_slli_epi64::<52>(_mm256_castpd_si256(power.0));
            let high = _mm256_slli_epi64::<52>(_mm256_castpd_si256(power.1));
            (
                _mm256_castsi256_pd(_mm256_add_epi64(_mm256_castpd_si256(a.0), low)),
                _mm256_castsi256_pd(_mm256_add_epi64(_mm256_castpd_si256(a.1), high)),
            )
        }
    }

    #[inline(always)]
    fn sqrt(self, a: Self::Vector) -> Self::Vector {
        // SAFETY: `self` proves AVX.
        unsafe { (_mm256_sqrt_pd(a.0), _mm256_sqrt_pd(a.1)) }
    }

    #[inline(always)]
    fn any_negative(self, v: Self::Vector) -> bool {
        // SAFETY: `self` proves AVX.
        unsafe { _mm256_movemask_pd(_mm256_or_pd(v.0, v.1)) != 0 }
    }

    #[inline(always)]
    fn after(self, lane: usize, v: Self::Vector) -> Self::Vector {
        let (low, high) = masks(self, lane + 1);
        // SAFETY: `self` proves AVX.
        unsafe {
            (
                _mm256_andnot_pd(_mm256_castsi256_pd(low), v.0),
                _mm256_andnot_pd(_mm256_castsi256_pd(high), v.1),
            )
        }
    }

    #[inline(always)]
    fn sums(self, [a, b, c, d]: [Self::Vector; 4]) -> [f64; 4] {
        let low = sums_of_four(self, [a.0, b.0, c.0, d.0]);
        let high = sums_of_four(self, [a.1, b.1, c.1, d.1]);
        let mut out = [0.0; 4];
        // SAFETY: `self` proves AVX; the array is 32 writable bytes.
        unsafe { _mm256_storeu_pd(out.as_mut_ptr(), _mm256_add_pd(low, high)) };
        out
    }
}
