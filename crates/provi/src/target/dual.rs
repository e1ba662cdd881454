//! The dual norm of a gradient on 𝒯ᵈ, rounded to its safe side [cert-gap].

use crate::base::error::{Error, Result};
use crate::base::linalg::Cholesky;
use crate::base::matrix::{Matrix, packed_index, packed_len};
use crate::base::pattern::Entries;
use crate::base::stop;
use crate::target::curvature::{Curvature, Quadratic};

/// The dual of ‖(m, C)‖²_H = mᵀHm + tr(CᵀHC) on ℝᵈ × 𝒯ᵈ:
/// ```text
/// ‖(g_m, g_C)‖² = g_mᵀH⁻¹g_m + Σ_j x_jᵀ(H[j:,j:])⁻¹x_j,   x_j = g_C[j:,j]
/// ```
/// With H = UUᵀ, U upper triangular, the trailing blocks share one factor, H[j:,j:] = U[j:,j:]U[j:,j:]ᵀ; read
/// backwards U is the Cholesky factor of H in reversed order, and its leading blocks are prefixes of the packed
/// triangle. Cost: d³/3 once, d³/3 a gradient.
///
/// The computed norm is never below the exact one. A Cholesky factor has LLᵀ = H + E with ‖E‖ ≤ (d+1)u·tr H, and a
/// triangular solve is exact for some L + ΔL with |ΔL| ≤ du·|L|. H is therefore lowered beforehand by a small
/// multiple of duI·tr H: every solve is then exact for a matrix below H, whose inverse lies above H⁻¹.
#[derive(Clone, Debug)]
pub(crate) struct DualNorm {
    dim: usize,
    metric: Metric,
    /// The rows of every column, if the factors are those of a family.
    columns: Option<Vec<Vec<usize>>>,
}

#[derive(Clone, Debug)]
enum Metric {
    Scalar(f64),
    /// The Cholesky factor of H with rows and columns reversed, packed.
    Reversed(Vec<f64>),
    /// The same for the mean, and for each column of a family the factor of H[S_j, S_j].
    Columns(Vec<f64>, Vec<Vec<f64>>),
}

impl Curvature {
    /// The dual norm of gradients with respect to H_lo; it accounts for the rounding error of forming H_lo.
    pub(crate) fn dual_norm(&self) -> Result<DualNorm> {
        DualNorm::new(self.lower(), self.dim(), self.slack())
    }

    /// The same on the factors with these entries:
    /// ```text
    /// ‖(g_m, g_C)‖² = g_mᵀH⁻¹g_m + Σ_j x_jᵀ(H[S_j,S_j])⁻¹x_j,   x_j = g_C[S_j,j],   S_j the rows of column j
    /// ```
    /// Entries of g_C outside of the family are not looked at. Cost: a factorisation of size |S_j| for each column
    /// once, and a solve with it for each gradient \[pattern\].
    pub(crate) fn dual_norm_within(&self, entries: &Entries) -> Result<DualNorm> {
        let whole = self.dual_norm()?;
        let (dim, columns) = (self.dim(), entries.rows_of_columns());
        let metric = match (whole.metric, self.lower()) {
            (Metric::Reversed(mean), Quadratic::Matrix(h)) => {
                let shift = lowered_by(h, self.slack());
                let factor = |rows: &Vec<usize>| {
                    let mut out = Cholesky::with_dim(rows.len());
                    let refused = |pivot| Error::NotPositiveDefinite { what: "H_lo", dim, pivot };
                    out.factor_from(&Entries::block(h, rows), shift).map_err(refused)?;
                    Ok(out.packed_lower())
                };
                Metric::Columns(mean, columns.iter().map(factor).collect::<Result<_>>()?)
            }
            (metric, _) => metric,
        };
        Ok(DualNorm { dim, metric, columns: Some(columns) })
    }
}

/// A multiple of the identity by which H is lowered: more than the rounding of forming H, of its factors and of solves.
fn lowered_by(h: &Matrix, slack: f64) -> f64 {
    let dim = h.rows();
    let trace: f64 = (0..dim).map(|i| h[(i, i)].abs()).sum();
    slack + 4.0 * (dim as f64 + 8.0) * f64::EPSILON * trace
}

impl DualNorm {
    /// The dual norm with respect to `lower`. `slack` bounds the rounding error of forming `lower`, in spectral
    /// norm.
    pub(crate) fn new(lower: &Quadratic, dim: usize, slack: f64) -> Result<Self> {
        let metric = match lower {
            Quadratic::Scalar(value) => {
                let value = (value - slack) * (1.0 - 4.0 * f64::EPSILON);
                if value.is_nan() || value <= 0.0 {
                    return Err(Error::OutOfRange { what: "λ_min(H_lo)", value, needed: "above 0" });
                }
                Metric::Scalar(value)
            }
            Quadratic::Matrix(h) => {
                if h.rows() != dim {
                    return Err(Error::Shape { what: "H_lo", found: h.rows(), expected: dim });
                }
                let shift = lowered_by(h, slack);
                let mut factor = Cholesky::with_dim(dim);
                factor.factor_reversed(h, shift).map_err(|pivot| Error::NotPositiveDefinite {
                    what: "H_lo",
                    dim,
                    pivot,
                })?;
                Metric::Reversed(factor.packed_lower())
            }
        };
        Ok(Self { dim, metric, columns: None })
    }

    /// ‖G‖² for a flat gradient (m, packed C), rounded up.
    pub(crate) fn square(&self, gradient: &[f64]) -> Result<f64> {
        let d = self.dim;
        if gradient.len() != d + packed_len(d) {
            return Err(Error::Shape {
                what: "gradient",
                found: gradient.len(),
                expected: d + packed_len(d),
            });
        }
        let column = |(j, rows): (usize, &Vec<usize>)| -> Vec<f64> {
            rows.iter().map(|&i| gradient[d + packed_index(i, j)]).collect()
        };
        let sum = match &self.metric {
            Metric::Scalar(value) => match &self.columns {
                Some(columns) => {
                    let mean = provi_kernels::dot(&gradient[..d], &gradient[..d]);
                    let squares = columns.iter().enumerate().map(column).map(|x| provi_kernels::dot(&x, &x));
                    (mean + squares.sum::<f64>()) / value
                }
                None => provi_kernels::dot(gradient, gradient) / value,
            },
            Metric::Columns(mean, factors) => {
                let mut x: Vec<f64> = gradient[..d].iter().rev().copied().collect();
                provi_kernels::triangle::solve(mean, &mut x);
                let mut sum = provi_kernels::dot(&x, &x);
                let columns = self.columns.iter().flatten().enumerate().map(column);
                for (mut x, factor) in columns.zip(factors) {
                    stop::check()?;
                    provi_kernels::triangle::solve(factor, &mut x);
                    sum += provi_kernels::dot(&x, &x);
                }
                sum
            }
            Metric::Reversed(factor) => {
                let (mean, triangle) = gradient.split_at(d);
                let mut x: Vec<f64> = mean.iter().rev().copied().collect();
                provi_kernels::triangle::solve(factor, &mut x);
                let mut sum = provi_kernels::dot(&x, &x);
                for j in 0..d {
                    stop::check()?;
                    let x = &mut x[..d - j];
                    for (i, x) in (j..d).rev().zip(x.iter_mut()) {
                        *x = triangle[packed_index(i, j)];
                    }
                    provi_kernels::triangle::solve(&factor[..packed_len(d - j)], x);
                    sum += provi_kernels::dot(x, x);
                }
                sum
            }
        };
        Ok(sum * (1.0 + (gradient.len() as f64 + 16.0) * f64::EPSILON))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dual_norm2(lower: &Quadratic, dim: usize, gradient: &[f64]) -> Result<f64> {
        DualNorm::new(lower, dim, 0.0)?.square(gradient)
    }
    use crate::base::linalg::add_gram;

    fn spd(d: usize, ridge: f64) -> Matrix {
        let mut a = Matrix::zeros(d, d);
        provi_kernels::normals(5, 0, 0, a.entries_mut());
        let mut h = Matrix::scaled_identity(d, ridge);
        add_gram(a.entries(), d, &mut h);
        h
    }

    fn gradient(d: usize) -> Vec<f64> {
        let mut g = vec![0.0; d + packed_len(d)];
        provi_kernels::normals(6, 0, 0, &mut g);
        g
    }

    /// The definition: sup of ⟨g, w⟩ over ‖w‖_H ≤ 1, i.e. gᵀB⁻¹g with B the Gram matrix of ‖·‖_H on ℝᵈ × 𝒯ᵈ.
    fn brute_force(h: &Matrix, gradient: &[f64]) -> f64 {
        let d = h.rows();
        let places: Vec<(usize, usize)> =
            (0..d).map(|i| (i, d)).chain((0..d).flat_map(|i| (0..=i).map(move |j| (i, j)))).collect();
        let mut gram = Matrix::zeros(places.len(), places.len());
        for (a, &(i, j)) in places.iter().enumerate() {
            for (b, &(k, l)) in places.iter().enumerate() {
                // ⟨E_ij, E_kl⟩_H = H_ik if the columns agree; the mean is one more column.
                if j == l {
                    gram[(a, b)] = h[(i, k)];
                }
            }
        }
        let mut x = gradient.to_vec();
        Cholesky::new("gram", &gram).unwrap().solve(&mut x);
        provi_kernels::dot(&x, gradient)
    }

    #[test]
    fn the_norm_is_its_definition_from_above() {
        for d in [1, 2, 3, 6, 11] {
            let (h, g) = (spd(d, 0.1), gradient(d));
            let exact = brute_force(&h, &g);
            let found = dual_norm2(&Quadratic::Matrix(h), d, &g).unwrap();
            assert!((found / exact - 1.0).abs() < 1e-9, "{d}: {found} {exact}");
            let scalar = dual_norm2(&Quadratic::Scalar(0.5), d, &g).unwrap();
            let matrix = dual_norm2(&Quadratic::Matrix(Matrix::scaled_identity(d, 0.5)), d, &g).unwrap();
            assert!(scalar >= 2.0 * provi_kernels::dot(&g, &g) && (scalar / matrix - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn rounding_is_upwards_where_it_matters() {
        // κ near 1e12: the plain computation may fall on either side, this one may not.
        let d = 6;
        let mut h = Matrix::scaled_identity(d, 1e-6);
        for i in 0..d {
            for j in 0..d {
                h[(i, j)] += 1e5;
            }
        }
        // g = (1, −1, 0, …) is orthogonal to the ones vector: g_mᵀH⁻¹g_m = 2/1e-6.
        let mut g = vec![0.0; d + packed_len(d)];
        (g[0], g[1]) = (1.0, -1.0);
        // The entries 1e5 + 1e-6 are themselves rounded: compare with what is stored.
        let ridge = h[(0, 0)] - h[(0, 1)];
        let found = dual_norm2(&Quadratic::Matrix(h), d, &g).unwrap();
        assert!(found >= 2.0 / ridge && found < 2.1 / ridge, "{found}");
    }

    /// On a family the norm is its definition too: entries outside of it do not count.
    #[test]
    fn the_norm_on_a_family_is_its_definition_from_above() {
        use crate::base::pattern::Pattern;
        use crate::target::curvature::Curvature;
        let d = 6;
        let (h, mut g) = (spd(d, 0.1), gradient(d));
        let lower = Quadratic::Matrix(h.clone());
        let c = Curvature::declared(d, lower, None).unwrap();
        for pattern in
            [Pattern::MeanField, Pattern::Blocks(vec![2, 4]), Pattern::Arrow(2), Pattern::Banded(2)]
        {
            let entries = pattern.entries(d).unwrap();
            let found = c.dual_norm_within(&entries).unwrap().square(&g).unwrap();
            let mut exact = {
                let mut x = g[..d].to_vec();
                Cholesky::new("h", &h).unwrap().solve(&mut x);
                provi_kernels::dot(&x, &g[..d])
            };
            for (j, rows) in entries.rows_of_columns().iter().enumerate() {
                let own: Vec<f64> = rows.iter().map(|&i| g[d + packed_index(i, j)]).collect();
                let mut x = own.clone();
                Cholesky::new("h", &Entries::block(&h, rows)).unwrap().solve(&mut x);
                exact += provi_kernels::dot(&x, &own);
            }
            assert!(found >= exact && found / exact - 1.0 < 1e-9, "{pattern}: {found} {exact}");
            let scalar = Curvature::declared(d, Quadratic::Scalar(0.5), None).unwrap();
            let scalar = scalar.dual_norm_within(&entries).unwrap().square(&g).unwrap();
            entries.clear_others(&mut g[d..]);
            assert!((scalar / (2.0 * provi_kernels::dot(&g, &g)) - 1.0).abs() < 1e-12);
            g = gradient(d);
        }
    }

    #[test]
    fn restricting_to_triangles_never_raises_the_norm() {
        let d = 7;
        let (h, g) = (spd(d, 0.2), gradient(d));
        let inverse = Cholesky::new("h", &h).unwrap().inverse();
        let (mean, triangle) = g.split_at(d);
        let form = |x: &[f64]| -> f64 { (0..d).map(|i| x[i] * provi_kernels::dot(inverse.row(i), x)).sum() };
        let full: f64 = (0..d)
            .map(|j| {
                let column: Vec<f64> =
                    (0..d).map(|i| if i >= j { triangle[packed_index(i, j)] } else { 0.0 }).collect();
                form(&column)
            })
            .sum();
        assert!(dual_norm2(&Quadratic::Matrix(h), d, &g).unwrap() < form(mean) + full);
    }

    #[test]
    fn singular_bounds_and_wrong_sizes_are_refused() {
        assert!(dual_norm2(&Quadratic::Scalar(0.0), 2, &[0.0; 5]).is_err());
        assert!(dual_norm2(&Quadratic::Matrix(Matrix::zeros(2, 2)), 2, &[0.0; 5]).is_err());
        assert!(dual_norm2(&Quadratic::Scalar(1.0), 2, &[0.0; 4]).is_err());
        assert!(dual_norm2(&Quadratic::Matrix(Matrix::zeros(3, 3)), 2, &[0.0; 5]).is_err());
    }
}
