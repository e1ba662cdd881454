//! Random programs, scalar and vector, against dual numbers.

use std::ops::{Add, Div, Mul, Sub};

use num_dual::{Dual64, DualNum};
use proptest::prelude::*;

use super::super::{Matrix, Var, Vector, gradient};
use super::by_duals;

#[derive(Clone, Debug)]
enum Expression {
    Input(usize),
    Number(f64),
    Unary(u8, Box<Expression>),
    Binary(u8, Box<Expression>, Box<Expression>),
}

fn expression() -> impl Strategy<Value = Expression> {
    let leaf = prop_oneof![(0..4usize).prop_map(Expression::Input), (-2.0..2.0).prop_map(Expression::Number)];
    leaf.prop_recursive(7, 60, 2, |inner| {
        prop_oneof![
            (0..8u8, inner.clone()).prop_map(|(f, x)| Expression::Unary(f, Box::new(x))),
            (0..4u8, inner.clone(), inner).prop_map(|(f, x, y)| Expression::Binary(
                f,
                Box::new(x),
                Box::new(y)
            )),
        ]
    })
}

trait Number:
    Copy + From<f64> + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    fn unary(self, f: u8) -> Self;
}

macro_rules! number {
    ($type:ty) => {
        impl Number for $type {
            fn unary(self, f: u8) -> Self {
                match f {
                    0 => self.sin(),
                    1 => self.cos().exp(),
                    2 => self.tanh(),
                    3 => self.atan(),
                    4 => (self.sin() + 1.5).ln(),
                    5 => (self * self + 1.0).sqrt(),
                    6 => (self * self + 0.5).recip(),
                    _ => self.sin().sinh(),
                }
            }
        }
    };
}
number!(Var<'_>);
number!(Dual64);

fn evaluate<N: Number>(e: &Expression, z: &[N]) -> N {
    match e {
        Expression::Input(i) => z[*i],
        Expression::Number(c) => N::from(*c),
        Expression::Unary(f, x) => evaluate(x, z).unary(*f),
        Expression::Binary(f, x, y) => {
            let (x, y) = (evaluate(x, z), evaluate(y, z));
            match f {
                0 => x + y,
                1 => x - y,
                2 => x * y,
                _ => x / (y * y + N::from(0.5)),
            }
        }
    }
}

/// One step of a random program: a vector to a vector of the same length, as is `z`.
fn vector_step<'t>(step: u8, v: Vector<'t>, z: Vector<'t>, matrix: &Matrix) -> Vector<'t> {
    match step {
        0 => v + z,
        1 => v * z - v.at(1),
        2 => v / (z.square() + 1.0),
        3 => v.tanh(),
        4 => v.cumulative_sum().sin(),
        5 => v.gather(&[2, 0, 0, 3]),
        6 => v.slice(2..).concat(&[z.slice(1..3)]),
        7 => matrix.matvec(v).atan(),
        8 => matrix.transpose_matvec(v).cos(),
        9 => v.segment_sum(&[0, 3, 3, 1], 4),
        10 => z * v.dot(z).sin(),
        11 => v.stack([v.sum().sin(), v.mean(), v.logsumexp().cos(), matrix.quadratic_form(v).sin()]),
        12 => 1.0 - v * 0.5,
        _ => &[1.0, -1.0, 0.5, 2.0] - v,
    }
}

/// The same step, entry by entry.
fn dual_step(step: u8, v: &[Dual64], z: &[Dual64], matrix: &[f64; 16]) -> Vec<Dual64> {
    let zero = Dual64::from(0.0);
    let product = |row: usize, column: usize, v: &[Dual64]| -> Vec<Dual64> {
        (0..4).map(|i| (0..4).map(|j| v[j] * matrix[row * i + column * j]).sum()).collect()
    };
    let dot = |a: &[Dual64], b: &[Dual64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<Dual64>();
    let each = |f: &dyn Fn(usize) -> Dual64| (0..4).map(f).collect();
    match step {
        0 => each(&|i| v[i] + z[i]),
        1 => each(&|i| v[i] * z[i] - v[1]),
        2 => each(&|i| v[i] / (z[i] * z[i] + 1.0)),
        3 => each(&|i| v[i].tanh()),
        4 => each(&|i| v[..=i].iter().sum::<Dual64>().sin()),
        5 => each(&|i| v[[2, 0, 0, 3][i]]),
        6 => vec![v[2], v[3], z[1], z[2]],
        7 => product(4, 1, v).iter().map(|x| x.atan()).collect(),
        8 => product(1, 4, v).iter().map(|x| x.cos()).collect(),
        9 => vec![v[0], v[3], zero, v[1] + v[2]],
        10 => each(&|i| z[i] * dot(v, z).sin()),
        11 => {
            let sum: Dual64 = v.iter().sum();
            let total: Dual64 = v.iter().map(|x| x.exp()).sum();
            vec![sum.sin(), sum / 4.0, total.ln().cos(), dot(v, &product(4, 1, v)).sin()]
        }
        12 => each(&|i| -v[i] * 0.5 + 1.0),
        _ => each(&|i| -v[i] + [1.0, -1.0, 0.5, 2.0][i]),
    }
}

/// Agreement to within rounding of intermediate sums; programs that leave the usual scales prove nothing.
fn agree(found: (f64, Vec<f64>), expected: (f64, Vec<f64>)) -> Result<(), TestCaseError> {
    let scale = expected.1.iter().fold(1.0 + expected.0.abs(), |m, x| m.max(x.abs()));
    prop_assume!(scale < 1e4);
    prop_assert!((found.0 - expected.0).abs() < 1e-9 * scale);
    for (found, expected) in found.1.iter().zip(&expected.1) {
        prop_assert!((found - expected).abs() < 1e-9 * scale, "{} is not {}", found, expected);
    }
    Ok(())
}

proptest! {
    #[test]
    fn random_expressions_agree_with_duals(e in expression(), z in prop::array::uniform4(-2.0..2.0f64)) {
        let ours = gradient(|z| evaluate(&e, &z.iter().collect::<Vec<_>>()), &z).unwrap();
        agree(ours, by_duals(|z| evaluate(&e, z), &z))?;
    }

    #[test]
    fn random_vector_programs_agree_with_duals(
        steps in prop::collection::vec(0..14u8, 1..8),
        z in prop::array::uniform4(-2.0..2.0f64),
        entries in prop::array::uniform16(-1.0..1.0f64),
    ) {
        let matrix = Matrix::new(4, 4, entries).unwrap();
        let ours = gradient(|z| steps.iter().fold(z, |v, &s| vector_step(s, v, z, &matrix)).dot(z), &z).unwrap();
        let duals = |z: &[Dual64]| {
            let last = steps.iter().fold(z.to_vec(), |v, &s| dual_step(s, &v, z, &entries));
            last.iter().zip(z).map(|(a, b)| a * b).sum()
        };
        agree(ours, by_duals(duals, &z))?;
    }
}
