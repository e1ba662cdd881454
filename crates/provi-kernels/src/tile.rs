//! Small blocks of rows against small blocks of vectors: the inner loops of every pass over a matrix.
//!
//! A block is R rows with the same number `full` of whole chunks of eight columns, and at most eight columns after
//! them (in a packed triangle each row has one more than the row above). Each sum over columns is formed in its own
//! lanes, chunk after chunk, so it depends neither on R nor on P nor on its neighbours.

use crate::lanes::Simd;

/// Sums over lanes in progress: entry [r][p] belongs to row r and vector p.
pub(crate) type Open<S, const R: usize, const P: usize> = [[<S as Simd>::Vector; P]; R];

/// row_r · vector_p, for all r and p. The last row is the longest.
#[inline(always)]
pub(crate) fn dots<S: Simd, const R: usize, const P: usize>(
    simd: S,
    full: usize,
    rows: [&[f64]; R],
    vectors: [&[f64]; P],
) -> Open<S, R, P> {
    let mut open = [[simd.splat(0.0); P]; R];
    let (row_chunks, vector_chunks) = (chunks(full, rows), chunks(full, vectors));
    for c in 0..full {
        let mut v = [simd.splat(0.0); P];
        for p in 0..P {
            v[p] = simd.load(&vector_chunks[p][c]);
        }
        for r in 0..R {
            let row = simd.load(&row_chunks[r][c]);
            for p in 0..P {
                open[r][p] = simd.mul_add(row, v[p], open[r][p]);
            }
        }
    }
    let longest = rows[R - 1].len();
    if longest > 8 * full {
        let mut v = [simd.splat(0.0); P];
        for p in 0..P {
            v[p] = simd.load_partial(&vectors[p][8 * full..longest]);
        }
        for r in 0..R {
            let row = simd.load_partial(&rows[r][8 * full..]);
            for p in 0..P {
                open[r][p] = simd.mul_add(row, v[p], open[r][p]);
            }
        }
    }
    open
}

/// target_p += Σ_r coefficient_{p,r} row_r.
#[inline(always)]
pub(crate) fn add_rows<S: Simd, const R: usize, const P: usize>(
    simd: S,
    full: usize,
    rows: [&[f64]; R],
    coefficients: [[f64; R]; P],
    mut targets: [&mut [f64]; P],
) {
    let coefficients = splats(simd, coefficients);
    let row_chunks = chunks(full, rows);
    let longest = rows[R - 1].len();
    for p in 0..P {
        targets[p] = &mut std::mem::take(&mut targets[p])[..longest];
    }
    for c in 0..full {
        let mut row = [simd.splat(0.0); R];
        for r in 0..R {
            row[r] = simd.load(&row_chunks[r][c]);
        }
        for p in 0..P {
            let target = &mut targets[p].as_chunks_mut().0[c];
            let mut t = simd.load(target);
            for r in 0..R {
                t = simd.mul_add(coefficients[p][r], row[r], t);
            }
            simd.store(t, target);
        }
    }
    if longest > 8 * full {
        let mut row = [simd.splat(0.0); R];
        for r in 0..R {
            row[r] = simd.load_partial(&rows[r][8 * full..]);
        }
        for p in 0..P {
            let target = &mut targets[p][8 * full..];
            let mut t = simd.load_partial(target);
            for r in 0..R {
                t = simd.mul_add(coefficients[p][r], row[r], t);
            }
            simd.store_partial(t, target);
        }
    }
}

/// row_r += Σ_p coefficient_{p,r} vector_p.
#[inline(always)]
pub(crate) fn add_vectors<S: Simd, const R: usize, const P: usize>(
    simd: S,
    full: usize,
    rows: [&mut [f64]; R],
    coefficients: [[f64; R]; P],
    vectors: [&[f64]; P],
) {
    let coefficients = splats(simd, coefficients);
    let vector_chunks = chunks(full, vectors);
    let longest = rows[R - 1].len();
    let mut bodies: [&mut [[f64; 8]]; R] = std::array::from_fn(|_| Default::default());
    let mut tails: [&mut [f64]; R] = std::array::from_fn(|_| Default::default());
    for (r, row) in rows.into_iter().enumerate() {
        let (body, tail) = row.split_at_mut(8 * full);
        (bodies[r], tails[r]) = (&mut body.as_chunks_mut().0[..full], tail);
    }
    let mut v = [simd.splat(0.0); P];
    for c in 0..full {
        for p in 0..P {
            v[p] = simd.load(&vector_chunks[p][c]);
        }
        for r in 0..R {
            let row = &mut bodies[r][c];
            let mut t = simd.load(row);
            for p in 0..P {
                t = simd.mul_add(coefficients[p][r], v[p], t);
            }
            simd.store(t, row);
        }
    }
    if longest > 8 * full {
        for p in 0..P {
            v[p] = simd.load_partial(&vectors[p][8 * full..longest]);
        }
        for r in 0..R {
            let tail = &mut *tails[r];
            let mut t = simd.load_partial(tail);
            for p in 0..P {
                t = simd.mul_add(coefficients[p][r], v[p], t);
            }
            simd.store_partial(t, tail);
        }
    }
}

/// Both at once, for the rows of a symmetric matrix whose lower half is stored: the sums row_r · vector_p, and
/// target_p += Σ_r coefficient_{p,r} row_r without its last entry, which lies on the diagonal.
#[inline(always)]
pub(crate) fn dots_and_add_rows<S: Simd, const R: usize, const P: usize>(
    simd: S,
    full: usize,
    rows: [&[f64]; R],
    vectors: [&[f64]; P],
    coefficients: [[f64; R]; P],
    mut targets: [&mut [f64]; P],
) -> Open<S, R, P> {
    let coefficients = splats(simd, coefficients);
    let mut open = [[simd.splat(0.0); P]; R];
    let (row_chunks, vector_chunks) = (chunks(full, rows), chunks(full, vectors));
    let longest = rows[R - 1].len();
    for p in 0..P {
        targets[p] = &mut std::mem::take(&mut targets[p])[..longest];
    }
    for c in 0..full {
        let mut row = [simd.splat(0.0); R];
        for r in 0..R {
            row[r] = simd.load(&row_chunks[r][c]);
        }
        for p in 0..P {
            let v = simd.load(&vector_chunks[p][c]);
            let target = &mut targets[p].as_chunks_mut().0[c];
            let mut t = simd.load(target);
            for r in 0..R {
                open[r][p] = simd.mul_add(row[r], v, open[r][p]);
                t = simd.mul_add(coefficients[p][r], row[r], t);
            }
            simd.store(t, target);
        }
    }
    let mut row = [simd.splat(0.0); R];
    let mut below = [simd.splat(0.0); R];
    for r in 0..R {
        let tail = &rows[r][8 * full..];
        row[r] = simd.load_partial(tail);
        below[r] = simd.load_partial(&tail[..tail.len() - 1]);
    }
    for p in 0..P {
        let v = simd.load_partial(&vectors[p][8 * full..longest]);
        let target = &mut targets[p][8 * full..];
        let mut t = simd.load_partial(target);
        for r in 0..R {
            open[r][p] = simd.mul_add(row[r], v, open[r][p]);
            t = simd.mul_add(coefficients[p][r], below[r], t);
        }
        simd.store_partial(t, target);
    }
    open
}

/// The sums of vector p against the R ≤ 4 rows.
#[inline(always)]
pub(crate) fn close_rows<S: Simd, const R: usize, const P: usize>(
    simd: S,
    open: &Open<S, R, P>,
    p: usize,
) -> [f64; 4] {
    let mut four = [simd.splat(0.0); 4];
    for r in 0..R {
        four[r] = open[r][p];
    }
    simd.sums(four)
}

/// The sums of row r against the P ≤ 4 vectors.
#[inline(always)]
pub(crate) fn close_vectors<S: Simd, const R: usize, const P: usize>(
    simd: S,
    open: &Open<S, R, P>,
    r: usize,
) -> [f64; 4] {
    let mut four = [simd.splat(0.0); 4];
    four[..P].copy_from_slice(&open[r]);
    simd.sums(four)
}

/// The first `full` chunks of eight of each slice.
#[inline(always)]
fn chunks<const R: usize>(full: usize, slices: [&[f64]; R]) -> [&[[f64; 8]]; R] {
    let mut out: [&[[f64; 8]]; R] = [&[]; R];
    for r in 0..R {
        out[r] = &slices[r].as_chunks().0[..full];
    }
    out
}

#[inline(always)]
fn splats<S: Simd, const R: usize, const P: usize>(simd: S, x: [[f64; R]; P]) -> [[S::Vector; R]; P] {
    let mut out = [[simd.splat(0.0); R]; P];
    for p in 0..P {
        for r in 0..R {
            out[p][r] = simd.splat(x[p][r]);
        }
    }
    out
}

/// Vectors k, …, k + P − 1 of a row-major batch of d-vectors.
#[inline(always)]
pub(crate) fn batch<const P: usize>(of: &[f64], d: usize, k: usize) -> [&[f64]; P] {
    let mut out: [&[f64]; P] = [&[]; P];
    for p in 0..P {
        out[p] = &of[(k + p) * d..][..d];
    }
    out
}

/// The same, for writing.
#[inline(always)]
pub(crate) fn batch_mut<const P: usize>(of: &mut [f64], d: usize, k: usize) -> [&mut [f64]; P] {
    let mut rest = &mut of[k * d..];
    let mut out: [&mut [f64]; P] = std::array::from_fn(|_| Default::default());
    for vector in &mut out {
        (*vector, rest) = rest.split_at_mut(d);
    }
    out
}

/// Runs `$call` for the vectors k, …, k + P − 1 until all of `$count` are done, with P from 4, 2, 1 and at most `$most`.
macro_rules! in_batches {
    ($count:expr, $most:expr, |$k:ident, $p:ident| $call:expr) => {{
        let (count, most): (usize, usize) = ($count, $most);
        let mut $k = 0;
        while most >= 4 && $k + 4 <= count {
            const $p: usize = 4;
            $call;
            $k += 4;
        }
        while most >= 2 && $k + 2 <= count {
            const $p: usize = 2;
            $call;
            $k += 2;
        }
        while $k < count {
            const $p: usize = 1;
            $call;
            $k += 1;
        }
    }};
}
pub(crate) use in_batches;
