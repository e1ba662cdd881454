//! Tables of random rows.

use provi_gpu::{Family, Table};

pub(crate) struct Problem {
    pub(crate) family: Family,
    pub(crate) columns: usize,
    pub(crate) design: Vec<f64>,
    pub(crate) response: Vec<f64>,
    pub(crate) weights: Option<Vec<f64>>,
    pub(crate) offsets: Option<Vec<f64>>,
}

pub(crate) fn normals(key: u64, count: usize) -> Vec<f64> {
    let mut out = vec![0.0; count];
    let share = count.div_ceil(16).max(1);
    std::thread::scope(|scope| {
        for (i, part) in out.chunks_mut(share).enumerate() {
            scope.spawn(move || provi_kernels::normals(key, i as u64, 0, part));
        }
    });
    out
}

impl Problem {
    pub(crate) fn new(family: Family, rows: usize, columns: usize, weighted: bool) -> Self {
        let response = match family {
            Family::Logistic | Family::Probit => (0..rows).map(|n| f64::from(u8::from(n % 3 == 1))).collect(),
            _ => normals(2, rows).iter().map(|x| x.abs().min(1.0)).collect(),
        };
        Self {
            family,
            columns,
            design: normals(1, rows * columns),
            response,
            weights: weighted.then(|| normals(3, rows).iter().map(|w| w.abs()).collect()),
            offsets: weighted.then(|| normals(4, rows)),
        }
    }

    pub(crate) fn table(&self) -> Table<'_> {
        Table {
            family: self.family,
            columns: self.columns,
            design: &self.design,
            response: &self.response,
            weights: self.weights.as_deref(),
            offsets: self.offsets.as_deref(),
        }
    }
}

/// The trapezoid rule for N(0, 1): nodes hj up to 9.
pub(crate) struct Trapezoid {
    nodes: Vec<f64>,
    weights: Vec<f64>,
    widest: f64,
}

impl Trapezoid {
    /// Steps for σ up to 1, up to 4, and beyond.
    pub(crate) fn three() -> [Self; 3] {
        [(0.375, 1.0), (0.125, 4.0), (1.0 / 64.0, f64::INFINITY)].map(|(h, widest)| {
            let last = (9.0 / h) as i32;
            let nodes: Vec<f64> = (-last..=last).map(|j| f64::from(j) * h).collect();
            let weights =
                nodes.iter().map(|t| h * (-0.5 * t * t).exp() / std::f64::consts::TAU.sqrt()).collect();
            Self { nodes, weights, widest }
        })
    }

    pub(crate) fn rule(&self) -> provi_gpu::Rule<'_> {
        provi_gpu::Rule { widest: self.widest, nodes: &self.nodes, weights: &self.weights }
    }
}
