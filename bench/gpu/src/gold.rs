//! Reference problems with known optima, as `gold.py` writes them.

use crate::{Book, problem::Trapezoid};
use provi_gpu::{
    Card, CardRows, Error, Family, Normal, Result, Table,
    rounding::{self, Sizes},
};

/// A file of numbers: family (0 logistic, 1 Gaussian), rows, d, f* and the part of f that is not the rows'; then the rows,
/// the responses, m and C.
struct Gold {
    family: Family,
    best: f64,
    rest: f64,
    columns: usize,
    design: Vec<f64>,
    response: Vec<f64>,
    mean: Vec<f64>,
    factor: Vec<f64>,
}

fn read(path: &std::path::Path) -> Result<Gold> {
    let wrong = |value: String| Error::OutOfRange { what: "gold file", value, needed: "a file of gold.py" };
    let bytes = std::fs::read(path).map_err(|error| wrong(format!("{}: {error}", path.display())))?;
    let numbers: Vec<f64> = bytes.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
    let Some((head, mut rest)) = numbers.split_at_checked(5) else {
        return Err(wrong("a short file".into()));
    };
    let (rows, d) = (head[1] as usize, head[2] as usize);
    let mut take = |count: usize| {
        let (part, after) = rest.split_at_checked(count).ok_or_else(|| wrong("a short file".into()))?;
        rest = after;
        Ok(part.to_vec())
    };
    Ok(Gold {
        family: if head[0] < 0.5 { Family::Logistic } else { Family::Gaussian { precision: 1.0 } },
        best: head[3],
        rest: head[4],
        columns: d,
        design: take(rows * d)?,
        response: take(rows)?,
        mean: take(d)?,
        factor: take(d * (d + 1) / 2)?,
    })
}

/// The processor's energy by `provi_kernels`, and the sizes of the bound.
fn on_processor(gold: &Gold, point: &[f64]) -> (f64, Sizes) {
    use provi_kernels::loss;
    let mut energy = [0.0];
    let mut sizes = Sizes { terms: 0.0, predictors: 0.0, slope: 1.0 };
    for (x, y) in gold.design.chunks(992 * gold.columns).zip(gold.response.chunks(992)) {
        let mut s: Vec<f64> = x.chunks_exact(gold.columns).map(|x| provi_kernels::dot(x, point)).collect();
        let size = |x: &[f64]| x.iter().zip(point).map(|(x, z)| (x * z).abs()).sum::<f64>();
        sizes.predictors += x.chunks_exact(gold.columns).map(size).sum::<f64>();
        let mut room = vec![0.0; loss::SPARE];
        let mut slots = loss::Slots::new(1, &mut room);
        let ones = vec![1.0; y.len()];
        match gold.family {
            Family::Logistic => loss::logistic(y, &ones, &mut s, &mut slots),
            _ => loss::gaussian(1.0, y, &ones, &mut s, &mut slots),
        }
        slots.finish(&mut energy);
        sizes.slope = s.iter().fold(sizes.slope, |most, slope| most.max(slope.abs()));
    }
    // Both losses are positive.
    sizes.terms = energy[0];
    (energy[0], sizes)
}

pub(crate) fn all(card: &Card, folder: &str, book: &mut Book) -> Result<()> {
    let rules = Trapezoid::three();
    let rules = rules.each_ref().map(Trapezoid::rule);
    for name in ["W1", "W2", "W3", "W4", "W5"] {
        let gold = read(&std::path::Path::new(folder).join(format!("{name}.f64")))?;
        let table = Table {
            family: gold.family,
            columns: gold.columns,
            design: &gold.design,
            response: &gold.response,
            weights: None,
            offsets: None,
        };
        let rows = CardRows::new(card, &table)?;
        let q = Normal { mean: &gold.mean, factor: &gold.factor };
        let draws = card.draws(&q, 17, 0, 0, 256)?;
        let (energies, points) = (rows.energies(&draws)?, draws.read()?);
        let (mut worst, mut share) = (0.0f64, 0.0f64);
        for (k, point) in points.chunks_exact(gold.columns).enumerate() {
            let (truth, sizes) = on_processor(&gold, point);
            let error = (energies[k] - truth).abs();
            // The processor's sum has chains of at most its rows' number of additions.
            let own = rounding::gamma(gold.response.len() + gold.columns)
                * (sizes.terms + sizes.slope * sizes.predictors);
            worst = worst.max(error);
            share = share.max(error / (rounding::energy(gold.family, rows.shape(), sizes) + own));
        }
        let detail = format!("{worst:.1e} apart at most, {share:.1e} of the stated rounding");
        book.check(&format!("{name}: energies of 256 draws, card and processor"), share <= 1.0, &detail);
        let found = rows.expectations(&q, &rules)?.value + gold.rest;
        let gap = (found - gold.best).abs();
        let detail = format!("f = {found:.10}, {gap:.1e} from the known optimum");
        book.check(
            &format!("{name}: exact f at the optimum"),
            gap <= 1e-9 * (1.0 + gold.best.abs()),
            &detail,
        );
    }
    Ok(())
}

/// The same problems with the prior N(0, 2.5²), from the table to the certificate and exact draws, with the device and without it.
pub(crate) fn whole_way<D: provi::device::Device + Clone + 'static>(
    device: &D,
    folder: &str,
    book: &mut Book,
) -> crate::Outcome {
    use provi::target::{Family as Likelihood, Glm, Prior};
    for name in ["W1", "W2", "W3", "W4", "W5"] {
        let gold = read(&std::path::Path::new(folder).join(format!("{name}.f64")))?;
        let family = match gold.family {
            Family::Logistic => Likelihood::Bernoulli,
            _ => Likelihood::Gaussian { noise_sd: 1.0 },
        };
        let design = provi::Design::from_rows(gold.response.len(), gold.columns, gold.design)?;
        let model = Glm::new(family, design, &gold.response, Prior::scale(2.5)?)?;
        crate::route::compare(name, &model, device.clone(), book)?;
    }
    Ok(())
}
