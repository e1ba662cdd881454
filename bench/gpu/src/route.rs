//! From a table to a certificate and exact draws, with a device and without one.

use crate::Book;
use provi::device::{Device, DeviceFailure, DeviceFamily, DeviceRounding, DeviceRows, Held, OnDevice};
use provi::exact_draws::ExactDraws;
use provi::target::{Family, Glm, Prior};
use provi::{Auto, Certificate, Design, Gaussian, Result, Seed};
use rayon::prelude::*;
use std::time::Instant;

/// Exact draws that are compared.
const DRAWS: usize = 500;

/// Everything that a certificate states in one number: gap, KL, total variation, log evidence from below and above.
fn stated(certificate: &Certificate) -> [f64; 5] {
    let or_none = |bound: Option<f64>| bound.unwrap_or(-1.0);
    [
        or_none(certificate.gap.bound()),
        or_none(certificate.kl.bound()),
        or_none(certificate.tv.bound()),
        or_none(certificate.evidence.lower()),
        or_none(certificate.evidence.upper()),
    ]
}

/// A device that states its rounding and takes no rows: bounds that are rounding alone are those of a device that takes them.
#[derive(Debug)]
struct Stated<D>(D);

impl<D: Device> Device for Stated<D> {
    fn name(&self) -> String {
        self.0.name()
    }
    fn needed(&self, rows: usize, columns: usize, draws: usize) -> u64 {
        self.0.needed(rows, columns, draws)
    }
    fn free(&self) -> std::result::Result<u64, DeviceFailure> {
        self.0.free()
    }
    fn rounding(&self, family: DeviceFamily, rows: usize, columns: usize) -> DeviceRounding {
        self.0.rounding(family, rows, columns)
    }
    fn hold(&self, _: &DeviceRows<'_>) -> std::result::Result<Box<dyn Held>, DeviceFailure> {
        Err(DeviceFailure::Refused("it states its rounding alone".into()))
    }
}

/// Compares a model on the processor with the same model on a device that takes every block. The rounding of the device counts for both.
pub(crate) fn compare<D: Device + Clone + 'static>(
    name: &str,
    model: &Glm,
    device: D,
    book: &mut Book,
) -> Result<()> {
    let on = OnDevice::with_least_work(device.clone(), 0);
    let there = model.clone().with_device(on.clone());
    let alone = model.clone().with_device(OnDevice::with_least_work(Stated(device), 0));
    let run = |model: &Glm| Auto::default().run(model, Seed(5));
    let (a, b) = (run(&alone)?, run(&there)?);
    let (here, by_both) = (stated(a.certificate()), stated(b.certificate()));
    let pairs = here.iter().zip(&by_both);
    let off = pairs.map(|(a, b)| (a - b).abs() / (1e-3 + a.abs())).fold(0.0, f64::max);
    let clean = on.warnings().is_empty() && on.draws() > 0;
    let taken = (on.draws(), on.grams(), on.forms());
    let mut detail = format!("{taken:?} there, off by {off:.1e} {}", on.warnings().join("; "));
    if off > 1e-6 {
        detail += &format!(" {here:?} {by_both:?}");
    }
    book.check(&format!("{name}: the certificate"), clean && off <= 1e-6, &detail);
    let q = &a.fit.gaussian;
    let draw = |model: &Glm| ExactDraws::new(model, q, Seed(9)).and_then(|mut draws| draws.draw(DRAWS));
    match (draw(model), draw(&there)) {
        (Ok(here), Ok(there)) => {
            let same = (0..DRAWS).filter(|&k| here.row(k) == there.row(k)).count();
            let detail = format!("{same} of {DRAWS} the same");
            book.check(&format!("{name}: exact draws"), same == DRAWS, &detail);
        }
        (Err(here), Err(there)) => {
            let detail = format!("refused by both: {here}");
            book.check(&format!("{name}: exact draws"), here.to_string() == there.to_string(), &detail);
        }
        (here, there) => {
            let words = |found: Result<_>| found.map_or_else(|error| error.to_string(), |_| "draws".into());
            let detail = format!("here {}, there {}", words(here), words(there));
            book.check(&format!("{name}: exact draws"), false, &detail);
        }
    }
    Ok(())
}

/// Row n of a made table: normal predictors, and a logistic response with an intercept and `coefficients` − 1 slopes of about 1/√d.
pub(crate) fn made_row(n: usize, predictors: &mut [f64], coefficients: usize) -> f64 {
    let (step, draw) = ((n >> 31) as u64, n as u32);
    provi_kernels::normals(11, step, draw, predictors);
    let slope = |j: usize| 0.7 * (j as f64).cos();
    let s = slope(0) + predictors.iter().enumerate().map(|(j, x)| x * slope(j + 1)).sum::<f64>();
    let mut u = [0.0];
    provi_kernels::uniforms(12, step, draw, &mut u);
    f64::from(u8::from(u[0] < 1.0 / (1.0 + (-s / (coefficients as f64).sqrt()).exp())))
}

/// An intercept and rows of [`made_row`], with their responses.
fn made(rows: usize, columns: usize) -> Result<(Design, Vec<f64>)> {
    let mut entries = vec![0.0; rows * columns];
    let response = entries
        .par_chunks_mut(columns)
        .enumerate()
        .map(|(n, row)| {
            row[0] = 1.0;
            made_row(n, &mut row[1..], columns)
        })
        .collect();
    Ok((Design::from_rows(rows, columns, entries)?, response))
}

/// Every family on a made table.
pub(crate) fn families(device: impl Device + Clone + 'static, book: &mut Book) -> Result<()> {
    let (design, labels) = made(3000, 7)?;
    let counts: Vec<f64> = labels.iter().enumerate().map(|(n, y)| y * (n % 4) as f64).collect();
    let positive: Vec<f64> = labels.iter().enumerate().map(|(n, y)| 0.2 + y + (n % 5) as f64 / 5.0).collect();
    let prior = || Prior::scale(2.5);
    let of = |family: Family, response: &[f64]| Glm::new(family, design.clone(), response, prior()?);
    let models = [
        ("logistic", of(Family::Bernoulli, &labels)?),
        ("probit", of(Family::Probit, &labels)?),
        ("cloglog", of(Family::Cloglog, &labels)?),
        ("poisson", of(Family::Poisson, &counts)?),
        ("gamma", of(Family::Gamma { noise_sd: 0.8 }, &positive)?),
        ("gaussian", of(Family::Gaussian { noise_sd: 0.6 }, &positive)?),
        ("negbinomial", of(Family::NegativeBinomial { noise_sd: 0.5 }, &counts)?),
        ("binomial", Glm::binomial(design.clone(), &counts, &vec![3.0; labels.len()], prior()?)?),
    ];
    for (name, model) in models {
        compare(name, &model, device.clone(), book)?;
    }
    Ok(())
}

/// The whole way for a logistic table of that size, one line a step.
pub(crate) fn whole(
    device: impl Device + 'static,
    (rows, columns): (usize, usize),
    draws: usize,
) -> Result<()> {
    let name = format!("{rows}x{columns}");
    let step = |what: &str, begin: Instant, detail: &str| {
        println!("{name:<14} {what:<34} {:>9.2} s  {detail}", begin.elapsed().as_secs_f64());
    };
    let begin = Instant::now();
    let (design, response) = made(rows, columns)?;
    step("the table is made", begin, "");
    let on = OnDevice::new(device);
    let model = Glm::logistic(design, &response, Prior::scale(2.5)?)?.with_device(on.clone());
    let all = Instant::now();
    let begin = Instant::now();
    let found = Auto::default().run(&model, Seed(1))?;
    let audit = found.audit_seconds;
    step("fit and certificate", begin, &format!("of which the audit {audit:.2} s"));
    let certificate = found.certificate();
    let taken = (on.draws(), on.grams(), on.forms());
    println!(
        "{name:<14} {:?}; draws, Gram matrices and rows of forms on the device: {taken:?}",
        stated(certificate)
    );
    let q: &Gaussian = &found.fit.gaussian;
    let begin = Instant::now();
    let mut exact = ExactDraws::new(&model, q, Seed(2))?;
    let bound = exact.proposals_bound();
    step("envelope of exact draws", begin, &format!("at most {bound:.2} proposals a draw"));
    let begin = Instant::now();
    let made = exact.draw(draws)?.rows();
    step(&format!("{made} exact draws"), begin, &format!("{} proposals", exact.proposed()));
    step("fit, certificate and exact draws", all, &on.warnings().join("; "));
    Ok(())
}
