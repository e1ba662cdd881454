//! Work split into chunks that depend on the size of the problem alone, so that results have the same bits on any
//! number of threads.

use std::ops::Range;

/// Calls `f(first, chunk)` on the chunks of `size` entries of `out`, in parallel where that is compiled in.
pub(crate) fn fill(out: &mut [f64], size: usize, f: impl Fn(usize, &mut [f64]) + Sync) {
    #[cfg(feature = "parallel")]
    if out.len() > size && rayon::current_num_threads() > 1 {
        use rayon::prelude::*;
        out.par_chunks_mut(size).enumerate().for_each(|(k, chunk)| f(k * size, chunk));
        return;
    }
    out.chunks_mut(size).enumerate().for_each(|(k, chunk)| f(k * size, chunk));
}

/// f of the ranges of `size` that make up 0..len, in order.
pub(crate) fn map<T: Send>(len: usize, size: usize, f: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
    let range = |k: usize| k * size..((k + 1) * size).min(len);
    let count = len.div_ceil(size);
    #[cfg(feature = "parallel")]
    if count > 1 && rayon::current_num_threads() > 1 {
        use rayon::prelude::*;
        return (0..count).into_par_iter().map(|k| f(range(k))).collect();
    }
    (0..count).map(|k| f(range(k))).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn chunks_cover_everything_once_and_in_order() {
        let mut out = vec![0.0; 10];
        super::fill(&mut out, 4, |first, chunk| {
            chunk.iter_mut().enumerate().for_each(|(i, x)| *x += (first + i) as f64);
        });
        assert!(out.iter().enumerate().all(|(i, x)| (x - i as f64).abs() < 1e-15));
        assert_eq!(super::map(10, 4, |r| (r.start, r.end)), [(0, 4), (4, 8), (8, 10)]);
    }
}
