use super::*;
use crate::check::{SIZES, agree, each_level, numbers};

const GAMMA: f64 = 0.01;

fn draw(t: usize, s: usize, d: usize) -> Vec<f64> {
    numbers((100 + 50 * t + s) as u64, d)
}

/// The textbook loop with π = z + sin z: m, C and the last points after `steps` steps of `batch` draws.
fn textbook(d: usize, batch: usize, steps: usize) -> Vec<f64> {
    let (mut mean, mut c, mut z) = start(d, batch);
    for t in 0..steps {
        for s in 0..batch {
            let u = draw(t, s, d);
            for i in 0..d {
                z[s * d + i] = mean[i] + (0..=i).map(|j| c[i * (i + 1) / 2 + j] * u[j]).sum::<f64>();
            }
        }
        let scale = GAMMA / batch as f64;
        for s in 0..batch {
            let u = draw(t, s, d);
            for i in 0..d {
                let pull = z[s * d + i] + z[s * d + i].sin();
                mean[i] -= scale * pull;
                for j in 0..=i {
                    c[i * (i + 1) / 2 + j] -= scale * pull * u[j];
                }
            }
        }
        for i in 0..d {
            let x = &mut c[i * (i + 3) / 2];
            *x = 0.5 * (*x + (*x * *x + 4.0 * GAMMA).sqrt());
        }
    }
    [mean, c, z].concat()
}

fn start(d: usize, batch: usize) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let mut c: Vec<f64> = numbers(5, d * (d + 1) / 2).iter().map(|x| x / (1 + d) as f64).collect();
    (0..d).for_each(|i| c[i * (i + 3) / 2] = 1.0);
    (numbers(6, d), c, vec![0.0; batch * d])
}

fn deferred(d: usize, batch: usize, block: usize, steps: usize) -> Vec<f64> {
    let (mut mean, mut c, mut z) = start(d, batch);
    let mut block = Deferred::new(d, batch, block);
    block.read(&c);
    for t in 0..steps {
        if t % block.steps() == 0 {
            let draws: Vec<f64> =
                (t..t + block.steps()).flat_map(|t| (0..batch).flat_map(move |s| draw(t, s, d))).collect();
            block.begin(&draws);
        }
        assert_eq!(block.made(), t % block.steps());
        block.points(&mean, &mut z);
        let pulls: Vec<f64> = z.iter().map(|z| z + z.sin()).collect();
        for pull in pulls.chunks_exact(d) {
            mean.iter_mut().zip(pull).for_each(|(m, p)| *m -= GAMMA / batch as f64 * p);
        }
        block.push(GAMMA, &pulls);
    }
    block.write(&mut c);
    [mean, c, z].concat()
}

#[test]
fn blocks_of_any_shape_walk_the_textbook_s_path() {
    for d in SIZES.into_iter().filter(|d| *d > 0).chain([127, 129, 203, 300]) {
        for (batch, block) in [(1, 1), (1, 8), (1, 16), (2, 8), (3, 5), (4, 4), (8, 2), (9, 1), (20, 1)] {
            let steps = if d > 100 { 11 } else { 37 };
            let truth = textbook(d, batch, steps);
            agree(1e-14, || deferred(d, batch, block, steps));
            let found = deferred(d, batch, block, steps);
            assert!(found.iter().zip(&truth).all(|(a, b)| (a - b).abs() < 1e-13), "d = {d}, S = {batch}");
        }
    }
}

#[test]
fn a_block_holds_sixteen_draws_or_one_step() {
    for (batch, steps, found) in
        [(1, 16, 16), (1, 40, 16), (1, 3, 3), (3, 16, 5), (3, 2, 2), (8, 8, 2), (9, 8, 1), (99, 8, 1)]
    {
        assert_eq!(Deferred::new(2, batch, steps).steps(), found);
    }
}

#[test]
fn an_average_over_a_block_is_that_of_its_iterates() {
    each_level(|| {
        for (d, batch, made) in [(1, 1, 3), (9, 1, 8), (40, 1, 5), (203, 1, 8), (40, 3, 2), (40, 20, 1)] {
            let c_0 = start(d, batch).1;
            let mut block = Deferred::new(d, batch, 8);
            let draws = numbers(9, block.steps() * batch * d);
            let mut expected = numbers(8, c_0.len());
            let mut mean = Tiles::new(d);
            mean.read(&expected);
            block.read(&c_0);
            block.begin(&draws);
            // mean ← mean + 0.2(w − mean) at w_0, …, w_made, as shares and weights.
            let (mut share, mut weights, mut w) = (0.0, [0.0; 8], c_0.clone());
            for k in 0..=made {
                share += 0.2 * (1.0 - share);
                weights[..k].iter_mut().for_each(|x| *x += 0.2 * (1.0 - *x));
                expected.iter_mut().zip(&w).for_each(|(m, w)| *m += 0.2 * (w - *m));
                mean.blend_near(block.factor(), 0.2);
                if k < made {
                    let pulls = numbers(50 + k as u64, batch * d);
                    block.push(0.1, &pulls);
                    let alpha = -0.1 / batch as f64;
                    crate::triangle::rank_update(&mut w, alpha, &pulls, &draws[k * batch * d..][..batch * d]);
                    for i in 0..d {
                        let x = &mut w[i * (i + 3) / 2];
                        *x = 0.5 * (*x + x.hypot(2.0 * 0.1f64.sqrt()));
                    }
                }
            }
            block.average(share, &weights, &mut mean);
            let mut found = vec![0.0; c_0.len()];
            mean.write(&mut found);
            assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-14), "d = {d}");
        }
    });
}

#[test]
fn tiles_give_back_what_they_were_given() {
    for d in SIZES {
        let (packed, mut tiles) = (numbers(3, d * (d + 1) / 2), Tiles::new(d));
        tiles.read(&packed);
        let mut back = vec![f64::NAN; packed.len()];
        tiles.write(&mut back);
        assert_eq!(back, packed);
        back.fill(7.0);
        tiles.write_diagonal(&mut back);
        let on = |k: usize| (0..d).any(|i| i * (i + 3) / 2 == k);
        assert!((0..back.len()).all(|k| back[k].to_bits() == if on(k) { packed[k] } else { 7.0 }.to_bits()));
    }
}

#[test]
fn the_diagonal_is_the_positive_root_on_both_sides_of_zero() {
    each_level(|| {
        let cases = [-1e8, -3.0, -1e-9, 0.0, 1e-9, 0.5, 2.0, 1e8, -2.0];
        let n = cases.len();
        let mut packed = vec![0.0; n * (n + 1) / 2];
        (0..n).for_each(|i| packed[i * (i + 3) / 2] = cases[i]);
        let mut block = Deferred::new(n, 1, 1);
        block.read(&packed);
        block.begin(&vec![1.0; n]);
        block.push(1e-3, &vec![0.0; n]);
        block.write(&mut packed);
        for (i, c) in cases.into_iter().enumerate() {
            let x = packed[i * (i + 3) / 2];
            let scale = x * x + (c * x).abs() + 1e-3;
            assert!(x > 0.0 && (x * x - c * x - 1e-3).abs() <= 8.0 * f64::EPSILON * scale, "{c}");
        }
    });
}

#[test]
#[should_panic(expected = "a block has 8 steps")]
fn a_block_ends() {
    let mut block = Deferred::new(1, 1, 8);
    (0..=8).for_each(|_| block.push(1.0, &[1.0]));
}
