//! Every kernel beside its twin, bit for bit.

use crate::{
    Book,
    problem::{Problem, Trapezoid, normals},
};
use provi::device::FORM_COLUMNS;
use provi_gpu::{Card, CardRows, Error, Family, FormWeights, Normal, Result, twin};

const FAMILIES: [Family; 7] = [
    Family::Logistic,
    Family::Binomial,
    Family::Probit,
    Family::Poisson,
    Family::Gamma { shape: 2.3 },
    Family::Cloglog,
    Family::Gaussian { precision: 1.7 },
];

/// Entries whose bits differ, and the largest relative difference.
fn differing(a: &[f64], b: &[f64]) -> (usize, f64) {
    let differ = |(a, b): &(&f64, &f64)| a.to_bits() != b.to_bits();
    let pairs: Vec<_> = a.iter().zip(b).filter(differ).collect();
    let worst = pairs.iter().map(|(a, b)| (**a - **b).abs() / b.abs().max(1e-300)).fold(0.0, f64::max);
    (pairs.len() + a.len().abs_diff(b.len()), worst)
}

fn bits(book: &mut Book, name: &str, card: &[f64], twin: &[f64]) {
    let (count, worst) = differing(card, twin);
    let detail = format!("{} of {} differ, by {worst:.1e} at most", count, twin.len());
    book.check(name, count == 0, &detail);
}

pub(crate) fn all(card: &Card, book: &mut Book) -> Result<()> {
    for (key, step, first, count, dim) in [
        (0, 0, 0, 5, 1),
        (7, 3, 1, 1000, 31),
        (u64::MAX, u64::MAX, u32::MAX - 3, 300, 100),
        (1 << 40, 1 << 33, 9, 129, 7),
    ] {
        let found = card.normals(key, step, first, count, dim)?.read()?;
        let mut truth = vec![0.0; count * dim];
        for (k, row) in truth.chunks_exact_mut(dim).enumerate() {
            provi_kernels::normals(key, step, first.wrapping_add(k as u32), row);
        }
        bits(book, &format!("normals: {count} draws of {dim}"), &found, &truth);
    }
    for dim in [1, 20, 101] {
        let (mean, factor) = (normals(8, dim), normals(9, dim * (dim + 1) / 2));
        let q = Normal { mean: &mean, factor: &factor };
        let found = card.draws(&q, 5, 6, 7, 200)?.read()?;
        bits(book, &format!("draws: 200 of a Gaussian in {dim}"), &found, &twin::draws(&q, 5, 6, 7, 200)?);
    }
    let rules = Trapezoid::three();
    let rules = rules.each_ref().map(Trapezoid::rule);
    for family in FAMILIES {
        for (rows, columns, weighted, count) in [
            (1, 1, false, 1),
            (569, 31, true, 130),
            (5000, 20, false, 40),
            (40_000, 5, true, 3),
            (300, 205, false, 129),
        ] {
            let problem = Problem::new(family, rows, columns, weighted);
            let table = problem.table();
            let on_card = CardRows::new(card, &table)?;
            let scale = 1.0 / (columns as f64).sqrt();
            let points: Vec<f64> = normals(10, count * columns).iter().map(|z| scale * z).collect();
            let uploaded = card.points(&points, columns)?;
            let name = |what: &str| format!("{what}: {family:?}, {rows} × {columns}, {count} points");
            let (energies, gradients) = twin::energies_and_gradients(&table, &points)?;
            bits(book, &name("energies"), &on_card.energies(&uploaded)?, &energies);
            let (again, slopes) = on_card.energies_and_gradients(&uploaded)?;
            bits(book, &name("energies with gradients"), &again, &energies);
            bits(book, &name("gradients"), &slopes, &gradients);
            let mean: Vec<f64> = normals(11, columns).iter().map(|m| scale * m).collect();
            let factor: Vec<f64> =
                normals(12, columns * (columns + 1) / 2).iter().map(|c| 0.5 * scale * c).collect();
            let q = Normal { mean: &mean, factor: &factor };
            let (found, truth) = (on_card.expectations(&q, &rules)?, twin::expectations(&table, &q, &rules)?);
            bits(book, &name("expected values"), &[found.value], &[truth.value]);
            bits(book, &name("expected gradients"), &found.gradient, &truth.gradient);
            bits(book, &name("expected Hessians"), &found.hessian, &truth.hessian);
            let (from, to) = (rows / 3, rows - rows / 5);
            let weights: Vec<f64> = normals(15, to - from).iter().map(|w| w * w).collect();
            let (found, truth) = (on_card.gram(from, &weights)?, twin::gram(&table, from, &weights)?);
            bits(book, &name("Gram matrices of a stripe"), &found, &truth);
            if columns <= FORM_COLUMNS {
                let third = normals(16, to - from);
                let weights =
                    FormWeights { third: &third, quadratic: vec![&weights], quartic: vec![&weights] };
                let found = on_card.forms(from, &factor, &weights)?;
                let truth = twin::forms(&table, from, &factor, &weights)?;
                bits(book, &name("cubic forms"), &found.third, &truth.third);
                bits(book, &name("quadratic forms"), &found.quadratic[0], &truth.quadratic[0]);
                bits(book, &name("quartic forms"), &found.quartic[0], &truth.quartic[0]);
            }
        }
    }
    large(card, book)?;
    refusals(card, book)
}

/// More rows than a chunk, more draws than a launch; twice the same bits; a part of the draws has the bits of the whole.
fn large(card: &Card, book: &mut Book) -> Result<()> {
    let problem = Problem::new(Family::Logistic, 200_001, 30, false);
    let table = problem.table();
    let rows = CardRows::new(card, &table)?;
    let mean: Vec<f64> = normals(13, 30).iter().map(|m| 0.2 * m).collect();
    let factor: Vec<f64> = normals(14, 465).iter().map(|c| 0.01 * c).collect();
    let q = Normal { mean: &mean, factor: &factor };
    let draws = card.draws(&q, 1, 2, 0, 40_000)?;
    let first = rows.energies(&draws)?;
    bits(book, "energies: twice the same bits, 200001 × 30, 40000 draws", &rows.energies(&draws)?, &first);
    let later = rows.energies(&card.draws(&q, 1, 2, 33_000, 100)?)?;
    bits(book, "energies: a part of the draws has the bits of the whole", &later, &first[33_000..33_100]);
    let few = twin::draws(&q, 1, 2, 39_998, 2)?;
    bits(book, "energies: 200001 × 30 beside the twin", &first[39_998..], &twin::energies(&table, &few)?);
    let (with, slopes) = rows.energies_and_gradients(&card.draws(&q, 1, 2, 0, 1500)?)?;
    bits(book, "energies with gradients: the bits of those without", &with, &first[..1500]);
    let few = twin::draws(&q, 1, 2, 1499, 1)?;
    let (_, truth) = twin::energies_and_gradients(&table, &few)?;
    bits(book, "gradients: 200001 × 30, the last of 1500", &slopes[1499 * 30..], &truth);
    let third = normals(17, 200_001);
    let weights = FormWeights { third: &third, quadratic: Vec::new(), quartic: Vec::new() };
    let (found, truth) = (rows.forms(0, &factor, &weights)?, twin::forms(&table, 0, &factor, &weights)?);
    bits(book, "cubic forms: 200001 × 30, piece by piece", &found.third, &truth.third);
    Ok(())
}

fn refusals(card: &Card, book: &mut Book) -> Result<()> {
    let refused = card.normals(0, 0, 0, 2_000_000_000, 1000).err();
    let said = refused.as_ref().map_or_else(String::new, ToString::to_string);
    book.check("too little memory is refused", matches!(refused, Some(Error::Memory { .. })), &said);
    let refused = Card::open(99).err();
    let said = refused.as_ref().map_or_else(String::new, ToString::to_string);
    book.check("a card that is not there is refused", matches!(refused, Some(Error::NoCard { .. })), &said);
    let problem = Problem::new(Family::Poisson, 10, 2, false);
    let refused = CardRows::new(card, &problem.table())?.energies(&card.points(&[0.0; 6], 3)?).err();
    let said = refused.as_ref().map_or_else(String::new, ToString::to_string);
    book.check("points of another length are refused", matches!(refused, Some(Error::Shape { .. })), &said);
    book.check("and the card works on", card.normals(0, 0, 0, 1, 1)?.read()?.len() == 1, "");
    Ok(())
}
