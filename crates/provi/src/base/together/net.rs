//! Sobol' points: which stratum of each coordinate a point lies in.

/// Most bits of a stratum: N ≤ 2³².
const BITS: usize = 32;

/// Uniforms that one coordinate takes: initial numbers, rows of the scramble, and the shift.
pub(super) const UNIFORMS: usize = 2 * BITS + 1;

/// The digital net of the first 2ᵐ ≥ N Sobol' points. Coordinate j multiplies the bits of k, the last one first, by a matrix whose
/// columns v_1 … v_m obey the recurrence of a primitive polynomial xˢ + a_1xˢ⁻¹ + … + 1 over two elements:
/// ```text
/// v_i = a_1v_{i−1} ⊕ … ⊕ a_{s−1}v_{i−s+1} ⊕ v_{i−s} ⊕ (v_{i−s} shifted by s places)
/// ```
/// The first s columns are any with a one on the diagonal. They are drawn anew at each step, so that no two coordinates
/// stay a bad pair for a whole run; where s ≥ m all columns are drawn, and no polynomial is needed. A random lower triangle L with ones on its diagonal and a random shift
/// then scramble the bits. Any one coordinate of 2ᵐ points has one point in each stratum, and the first two one in each box of
/// volume 2⁻ᵐ with sides that are powers of ½.
#[derive(Debug)]
pub(super) struct Net {
    bits: usize,
    /// The polynomials of coordinates 1, 2, …, of degree below m; coordinate 0 has the identity.
    polynomials: Vec<u32>,
    columns: [u64; BITS],
}

impl Net {
    pub(super) fn new(dim: usize, batch: usize) -> Self {
        let bits = (batch.max(1).next_power_of_two().trailing_zeros() as usize).min(BITS);
        let polynomials = (1..bits as u32).flat_map(primitives).take(dim.saturating_sub(1)).collect();
        Self { bits, polynomials, columns: [0; BITS] }
    }

    /// The strata of the first points in coordinate j; returns how many strata there are.
    pub(super) fn strata(&mut self, j: usize, uniforms: &[f64], out: &mut [u32]) -> f64 {
        let m = self.bits;
        let bits = |i: usize| (uniforms[i] * 4_294_967_296.0) as u64;
        let low = |count: usize| (1u64 << count) - 1;
        // A column is an m-bit number, the first digit highest; column i has its one at digit i.
        let (polynomial, degree) = match j.checked_sub(1).map(|j| self.polynomials.get(j)) {
            None => (0, 0),
            Some(Some(p)) => (*p, p.ilog2() as usize),
            Some(None) => (0, m),
        };
        for i in 0..m {
            let one = 1u64 << (m - 1 - i);
            self.columns[i] = if j == 0 {
                one
            } else if i < degree {
                one | (bits(i) & low(i)) << (m - i)
            } else {
                let far = self.columns[i - degree];
                let taps = (1..degree).filter(|k| polynomial >> (degree - k) & 1 == 1);
                taps.fold(far ^ far >> degree, |sum, k| sum ^ self.columns[i - k])
            };
        }
        for column in &mut self.columns[..m] {
            let v = *column;
            *column = (0..m).fold(0, |scrambled, digit| {
                let place = m - 1 - digit;
                let row = 1 << place | bits(BITS + digit) & low(m) & !low(place + 1);
                scrambled | u64::from((v & row).count_ones() % 2) << place
            });
        }
        let shift = bits(2 * BITS) & low(m);
        for (k, stratum) in out.iter_mut().enumerate() {
            let used = (0..m).filter(|i| k >> i & 1 == 1);
            *stratum = used.fold(shift, |sum, i| sum ^ self.columns[i]) as u32;
        }
        (1u64 << m) as f64
    }
}

/// The primitive polynomials of one degree ≤ 31 over two elements, bit i the coefficient of xⁱ: those modulo which x has order 2ˢ − 1.
fn primitives(degree: u32) -> impl Iterator<Item = u32> {
    let order = (1u64 << degree) - 1;
    let factors: Vec<u64> = prime_factors(order);
    (0..1u32 << (degree - 1)).map(move |middle| 1 << degree | middle << 1 | 1).filter(move |&p| {
        power_of_x(order, p, degree) == 1 && factors.iter().all(|q| power_of_x(order / q, p, degree) != 1)
    })
}

fn prime_factors(mut n: u64) -> Vec<u64> {
    let mut factors = Vec::new();
    let mut q = 2;
    while q * q <= n {
        if n.is_multiple_of(q) {
            factors.push(q);
            while n.is_multiple_of(q) {
                n /= q;
            }
        }
        q += 1;
    }
    if n > 1 {
        factors.push(n);
    }
    factors
}

/// xᵉ modulo p, by squaring.
fn power_of_x(exponent: u64, p: u32, degree: u32) -> u64 {
    let reduce = |mut a: u64, top: u32| {
        for bit in (degree..=top).rev() {
            if a >> bit & 1 == 1 {
                a ^= u64::from(p) << (bit - degree);
            }
        }
        a
    };
    let mut power = 1;
    for bit in (0..u64::BITS - exponent.leading_zeros()).rev() {
        // Squaring spreads the bits: no two terms meet over two elements.
        let square = (0..degree).fold(0, |sum, i| sum | (power >> i & 1) << (2 * i));
        power = reduce(square, 2 * degree - 2);
        if exponent >> bit & 1 == 1 {
            power = reduce(power << 1, degree);
        }
    }
    power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_primitive_polynomials_as_euler_s_function_says() {
        // φ(2ˢ − 1)/s.
        for (degree, count) in
            [(1, 1), (2, 1), (3, 2), (4, 2), (5, 6), (6, 6), (7, 18), (8, 16), (9, 48), (10, 60)]
        {
            assert_eq!(primitives(degree).count(), count, "degree {degree}");
        }
        assert_eq!(primitives(3).collect::<Vec<_>>(), [0b1011, 0b1101]);
        assert!(!primitives(4).any(|p| p == 0b11111), "irreducible, but x has order 5");
    }

    fn points(dim: usize, count: usize, seed: u64) -> Vec<Vec<u32>> {
        let mut net = Net::new(dim, count);
        let mut uniforms = vec![0.0; UNIFORMS];
        (0..dim)
            .map(|j| {
                provi_kernels::uniforms(seed, 0, j as u32, &mut uniforms);
                let mut strata = vec![0; count];
                net.strata(j, &uniforms, &mut strata);
                strata
            })
            .collect()
    }

    #[test]
    fn every_coordinate_has_one_point_in_each_stratum_and_the_first_two_one_in_each_box() {
        for m in 0..=9u32 {
            for seed in 0..3 {
                let all = points(40, 1 << m, seed);
                for strata in &all {
                    let mut sorted = strata.clone();
                    sorted.sort_unstable();
                    assert!(sorted.iter().enumerate().all(|(k, s)| *s == k as u32));
                }
                for along in 0..=m {
                    let (a, b) = (m - along, along);
                    let mut boxes: Vec<u32> =
                        all[0].iter().zip(&all[1]).map(|(x, y)| x >> (m - a) << b | y >> (m - b)).collect();
                    boxes.sort_unstable();
                    assert!(
                        boxes.iter().enumerate().all(|(k, s)| *s == k as u32),
                        "m = {m}, {a} and {b} bits"
                    );
                }
            }
        }
    }
}
