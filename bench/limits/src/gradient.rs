//! The gradient of a logistic regression, beside reading its data once and beside its two matrix products.

use crate::clock::{Work, least};
use crate::machine;
use crate::products::Products;
use crate::table::Row;
use provi::target::{Glm, Prior, Scratch};
use provi::{Design, Target};
use std::hint::black_box;

const ROWS: usize = 20_000;
const COLUMNS: usize = 50;

/// The data of all rows here: normal entries, labels by the sign of the first column.
pub(crate) fn data(rows: usize, d: usize) -> (Vec<f64>, Vec<f64>) {
    let mut entries = vec![0.0; rows * d];
    provi_kernels::normals(2, 0, 0, &mut entries);
    let labels = entries.chunks_exact(d).map(|row| f64::from(row[0] > 0.0)).collect();
    (entries, labels)
}

/// One draw against one read of A; ten against the products by the fastest library.
pub(crate) fn rows(seconds: f64) -> Vec<Row> {
    let (entries, labels) = data(ROWS, COLUMNS);
    let design = Design::dense(ROWS, COLUMNS, &entries).expect("finite entries");
    let glm = Glm::logistic(design, &labels, Prior::scale(1.0).expect("positive")).expect("binary labels");
    let mut points = vec![0.0; 10 * COLUMNS];
    provi_kernels::normals(3, 0, 0, &mut points);
    points.iter_mut().for_each(|x| *x *= 0.3);
    let mut out = Vec::new();
    for samples in [1, 10] {
        let points = &points[..samples * COLUMNS];
        let (mut values, mut gradients) = (vec![0.0; samples], vec![0.0; samples * COLUMNS]);
        let mut scratch = Scratch::default();
        let mut own = [128, 512].map(|block| (block, Products::new(&entries, COLUMNS, points)));
        let (mut faer, mut other) = (own.clone(), own.clone());
        let mut contenders: Vec<Work<'_>> = vec![
            Box::new(|| {
                glm.log_densities(points, &mut values, &mut gradients, &mut scratch).expect("finite")
            }),
            Box::new(|| _ = black_box(machine::read(black_box(&entries)))),
        ];
        for (block, products) in &mut own {
            contenders.push(Box::new(|| products.own(*block)));
        }
        for (block, products) in &mut faer {
            contenders.push(Box::new(|| products.faer(*block)));
        }
        for (block, products) in &mut other {
            contenders.push(Box::new(|| products.matrixmultiply(*block)));
        }
        let times = least(seconds, &mut contenders);
        let fastest = |of: &[f64]| of.iter().copied().fold(f64::INFINITY, f64::min);
        let libraries = [
            ("own", fastest(&times[2..4])),
            ("faer", fastest(&times[4..6])),
            ("matrixmultiply", fastest(&times[6..8])),
        ];
        let (name, products) =
            libraries.into_iter().min_by(|a, b| a.1.total_cmp(&b.1)).expect("three libraries");
        let kernel = format!(
            "logistic gradient, {ROWS} × {COLUMNS}, {samples} draw{}",
            if samples == 1 { "" } else { "s" }
        );
        let by_read = Row::new(&kernel, times[0], "one read of A", times[1]);
        let by_products = Row::new(&kernel, times[0], format!("its two products by {name}"), products);
        if samples == 1 {
            out.extend([by_read.bar(1.6), by_products]);
        } else {
            out.extend([by_read, by_products.bar(1.3)]);
        }
    }
    out
}
