//! Which coefficients the groups share, and which rows see which effect.

use crate::base::matrix::Matrix;
use crate::glm::Glm;

/// The most shared coefficients.
const MOST: usize = 20;

/// A model whose rows see some shared coefficients and one effect each, the effects independent of each other and of the rest.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// The columns of β, in order.
    pub(crate) shared: Vec<usize>,
    /// Λ and ν of β.
    pub(crate) precision: Matrix,
    pub(crate) center: Vec<f64>,
    /// What a stored Λ is off by, in spectral norm.
    pub(crate) rounding: f64,
    /// For each group the column of its effect, 1/τ², and its rows.
    pub(crate) groups: Vec<(usize, f64, Vec<usize>)>,
}

impl Layout {
    /// `None` where the model is not of this form. Columns with most entries are shared, until each row has one that is not. Cost: a few
    /// passes over the entries.
    pub(crate) fn of(model: &Glm) -> Option<Self> {
        let (design, d) = (model.design(), model.design().columns());
        let mut counts = vec![0usize; d];
        for n in 0..design.rows() {
            design.for_each_in_row(n, |j, x| counts[j] += usize::from(x.abs() > 0.0));
        }
        let mut order: Vec<usize> = (0..d).collect();
        order.sort_by_key(|&j| std::cmp::Reverse(counts[j]));
        let mut is_shared = vec![false; d];
        let mut effect = None;
        for &j in order.iter().take(MOST) {
            is_shared[j] = true;
            effect = effects(model, &is_shared);
            if effect.is_some() {
                break;
            }
        }
        let effect = effect?;
        let shared: Vec<usize> = (0..d).filter(|&j| is_shared[j]).collect();
        let mut place = vec![usize::MAX; d];
        shared.iter().enumerate().for_each(|(t, &j)| place[j] = t);
        let mut own = vec![0.0; d];
        let mut precision = Matrix::zeros(shared.len(), shared.len());
        for (i, j, x) in model.prior().entries(d) {
            match (is_shared[i], is_shared[j]) {
                (true, true) => {
                    precision[(place[i], place[j])] += x;
                    if i != j {
                        precision[(place[j], place[i])] += x;
                    }
                }
                _ if i == j => own[i] += x,
                _ if x.abs() > 0.0 => return None,
                _ => {}
            }
        }
        let mut rows: Vec<Vec<usize>> = vec![Vec::new(); d];
        effect.into_iter().enumerate().for_each(|(n, j)| rows[j].push(n));
        let groups: Vec<(usize, f64, Vec<usize>)> =
            (0..d).filter(|&j| !is_shared[j]).map(|j| (j, own[j], std::mem::take(&mut rows[j]))).collect();
        let sound = |(j, own, rows): &(usize, f64, Vec<usize>)| {
            *own > 0.0 && !rows.is_empty() && model.prior().center(*j).abs() <= 0.0
        };
        let center = shared.iter().map(|&j| model.prior().center(j)).collect();
        let rounding = model.prior().rounding() + model.linear.lost;
        (groups.len() > 1 && groups.iter().all(sound)).then_some(Self {
            shared,
            precision,
            center,
            rounding,
            groups,
        })
    }
}

/// The one column of each row that is not shared; `None` if a row has several, or none.
fn effects(model: &Glm, is_shared: &[bool]) -> Option<Vec<usize>> {
    let design = model.design();
    let mut out = Vec::with_capacity(design.rows());
    for n in 0..design.rows() {
        let (mut found, mut count) = (0, 0);
        design.for_each_in_row(n, |j, x| {
            if !is_shared[j] && x.abs() > 0.0 {
                (found, count) = (j, count + 1);
            }
        });
        if count != 1 {
            return None;
        }
        out.push(found);
    }
    Some(out)
}
