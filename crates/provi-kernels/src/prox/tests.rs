use super::*;
use crate::check::{SIZES, agree, each_level, numbers};

const GAMMA: f64 = 0.01;

/// The textbook loop with π = z + sin z, and one with either kernel: m, C and the last point after `steps` steps.
fn textbook(d: usize, steps: usize) -> Vec<f64> {
    let (mut mean, mut c, mut z) = start(d);
    for t in 0..steps {
        let u = numbers(100 + t as u64, d);
        for i in 0..d {
            z[i] = mean[i] + (0..=i).map(|j| c[i * (i + 1) / 2 + j] * u[j]).sum::<f64>();
        }
        for i in 0..d {
            let pull = z[i] + z[i].sin();
            mean[i] -= GAMMA * pull;
            for j in 0..=i {
                c[i * (i + 1) / 2 + j] -= GAMMA * pull * u[j];
            }
            let x = &mut c[i * (i + 3) / 2];
            *x = 0.5 * (*x + (*x * *x + 4.0 * GAMMA).sqrt());
        }
    }
    [mean, c, z].concat()
}

fn start(d: usize) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let mut c: Vec<f64> = numbers(5, d * (d + 1) / 2).iter().map(|x| x / (1 + d) as f64).collect();
    (0..d).for_each(|i| c[i * (i + 3) / 2] = 1.0);
    (numbers(6, d), c, vec![0.0; d])
}

fn pull(z: &[f64], mean: &mut [f64]) -> Vec<f64> {
    let pull: Vec<f64> = z.iter().map(|z| z + z.sin()).collect();
    mean.iter_mut().zip(&pull).for_each(|(m, p)| *m -= GAMMA * p);
    pull
}

fn fused(d: usize, steps: usize) -> Vec<f64> {
    let (mut mean, mut c, mut z) = start(d);
    let (mut diagonal, mut left, mut right) = (vec![1.0; d], vec![0.0; d], vec![0.0; d]);
    for t in 0..=steps {
        let u = numbers(100 + t as u64, d);
        let before = z.clone();
        step(&mut c, &mean, &diagonal, &left, &right, &u, &mut z);
        if t == steps {
            return [mean, c, before].concat();
        }
        let pull = pull(&z, &mut mean);
        left = pull.iter().map(|p| -GAMMA * p).collect();
        lift(&mut c, &mut diagonal, GAMMA, &pull, &u);
        right = u;
    }
    unreachable!("the last round returns");
}

fn deferred(d: usize, steps: usize) -> Vec<f64> {
    let (mut mean, mut c, mut z) = start(d);
    let (mut diagonal, mut block) = (vec![1.0; d], Deferred::new(d));
    for t in 0..steps {
        if t % BLOCK == 0 {
            let draws: Vec<f64> = (t..t + BLOCK).flat_map(|t| numbers(100 + t as u64, d)).collect();
            block.begin(&mut c, &draws);
        }
        assert_eq!(block.made(), t % BLOCK);
        block.point(&mean, &diagonal, &mut z);
        let pull = pull(&z, &mut mean);
        block.push(GAMMA, &pull);
        lift(&mut c, &mut diagonal, GAMMA, &pull, &numbers(100 + t as u64, d));
    }
    block.settle(&mut c);
    [mean, c, z].concat()
}

#[test]
fn both_kernels_walk_the_textbook_s_path() {
    for d in SIZES.into_iter().chain([127, 128, 129, 133, 203, 300]) {
        for steps in [1, 16, 37] {
            let truth = textbook(d, steps);
            agree(1e-14, || fused(d, steps));
            agree(1e-14, || deferred(d, steps));
            for found in [fused(d, steps), deferred(d, steps)] {
                assert!(found.iter().zip(&truth).all(|(a, b)| (a - b).abs() < 1e-13), "d = {d}");
            }
        }
    }
}

#[test]
fn an_average_over_a_block_is_that_of_its_iterates() {
    each_level(|| {
        for (d, made) in [(1, 3), (9, 16), (40, 5), (203, 16)] {
            let (c_0, mut mean) = (start(d).1, numbers(8, d * (d + 1) / 2));
            let mut expected = mean.clone();
            let draws = numbers(9, BLOCK * d);
            let (mut c, mut block) = (c_0.clone(), Deferred::new(d));
            block.begin(&mut c, &draws);
            // mean ← mean + 0.2(w − mean) at w_0, …, w_made, as shares and weights.
            let (mut share, mut weights, mut w) = (0.0, [0.0; BLOCK], c_0.clone());
            for k in 0..=made {
                share += 0.2 * (1.0 - share);
                weights[..k].iter_mut().for_each(|x| *x += 0.2 * (1.0 - *x));
                expected.iter_mut().zip(&w).for_each(|(m, w)| *m += 0.2 * (w - *m));
                if k < made {
                    let pull = numbers(50 + k as u64, d);
                    block.push(0.1, &pull);
                    crate::triangle::rank_update(&mut w, -0.1, &pull, &draws[k * d..][..d]);
                }
            }
            block.average(&c, share, &weights, &mut mean);
            for i in 0..d {
                let strict = i * (i + 1) / 2..i * (i + 3) / 2;
                assert!(strict.clone().all(|j| (mean[j] - expected[j]).abs() < 1e-14), "d = {d}");
            }
        }
    });
}

#[test]
fn lift_is_the_positive_root_on_both_sides_of_zero() {
    each_level(|| {
        let cases = [-1e8, -3.0, -1e-9, 0.0, 1e-9, 0.5, 2.0, 1e8, -2.0];
        let (mut diagonal, n) = (cases.to_vec(), cases.len());
        let mut packed = vec![7.0; n * (n + 1) / 2];
        lift(&mut packed, &mut diagonal, 1e-3, &vec![0.0; n], &vec![1.0; n]);
        for (i, (x, c)) in diagonal.iter().zip(cases).enumerate() {
            let scale = x * x + (c * x).abs() + 1e-3;
            assert!(*x > 0.0 && (x * x - c * x - 1e-3).abs() <= 8.0 * f64::EPSILON * scale, "{c}");
            assert_eq!(packed[i * (i + 3) / 2].to_bits(), x.to_bits());
        }
        assert_eq!(packed.iter().filter(|x| **x > 6.0 && **x < 8.0).count(), n * (n - 1) / 2);
    });
}

#[test]
#[should_panic(expected = "at most 16 a block")]
fn a_block_ends() {
    let mut block = Deferred::new(1);
    (0..=BLOCK).for_each(|_| block.push(1.0, &[1.0]));
}
