//! The posterior of the coefficients that all groups share, with one effect a group integrated out [marginal-quadrature].
//!
//! Rows have predictors s_n(β) + z_nu_g: β ~ N(ν, Λ⁻¹), u_g ~ N(0, τ_g²) independent, and each row has the effect of one group:
//! `y ~ x + (1 | g)`. Given β the groups are independent, so
//! ```text
//! p(β, x) = N(β; ν, Λ⁻¹)·Π_g Z_g(β),   Z_g(β) = ∫N(u; 0, τ_g²) Π_{n∈g} e^{−w_nφ_n(s_n(β) + z_nu)} du
//! ```
//! which is log-concave in β with ∇²V ⪰ Λ, and each Z_g is a sum over a few nodes, by the trapezoidal rule with a proved error
//! ([`strip`](crate::theory::strip)).

mod bounds;
mod group;
mod layout;

use super::{Family, Glm};
use crate::base::error::Result;
use crate::base::gaussian::{Gaussian, Triangular};
use crate::base::matrix::Matrix;
use crate::target::curvature::{Curvature, Provenance, Quadratic};
use crate::target::{Rounding, Target, own};
use group::Group;
pub(crate) use group::Room;
pub(crate) use layout::Layout;
use provi_kernels::{axpy, dot};

/// The marginal posterior of β, ready to be evaluated near one Gaussian.
pub(crate) struct Marginal {
    family: Family,
    layout: Layout,
    /// The constant of V, and a bound of its error.
    constant: f64,
    constant_error: f64,
    groups: Vec<Group>,
    upper: Option<(Matrix, f64)>,
}

/// √p + 7: a draw lies farther out with probability below 10⁻¹¹.
pub(super) fn usual_reach(dim: usize) -> f64 {
    (dim as f64).sqrt() + 7.0
}

impl Marginal {
    /// `None` where the family has no proved quadrature. `q` is near p(β | x); what is proved does not depend on it.
    pub(crate) fn new(model: &Glm, layout: Layout, q: &Gaussian<Triangular>) -> Result<Option<Self>> {
        let family = model.family();
        let Some(groups) = Group::all(model, &layout, q)? else { return Ok(None) };
        let mut out = Self {
            family,
            constant: model.linear.constant,
            constant_error: model.linear.constant_error,
            groups,
            upper: None,
            layout,
        };
        out.upper = family.curvature_range().1.map(|theta| out.bound(theta));
        Ok(Some(out))
    }

    /// Λ + θΣw_nx_nx_nᵀ, and a bound of its rounding error: ∇²(−log Z_g) = E[Σwφ''xxᵀ] − cov(Σwφ'x) under p(u | β).
    fn bound(&self, theta: f64) -> (Matrix, f64) {
        let (mut h, mut size) = (self.layout.precision.clone(), 0.0);
        let mut rows = 0;
        for group in &self.groups {
            for (x, w) in group.rows() {
                for (i, a) in x.iter().enumerate() {
                    axpy(theta * w * a, x, h.row_mut(i));
                }
                size += theta * w * dot(x, x);
                rows += 1;
            }
        }
        (h, (rows as f64 + 8.0) * f64::EPSILON * size + self.layout.rounding)
    }

    /// The columns of β in the model.
    pub(crate) fn shared(&self) -> &[usize] {
        &self.layout.shared
    }

    /// The columns of the groups' effects in the model.
    pub(crate) fn effects(&self) -> impl Iterator<Item = usize> + '_ {
        self.groups.iter().map(|group| group.column)
    }

    /// The same, with max_n ‖Cᵀx_n/z_n‖: no quantile of p(u | β) moves faster with C⁻¹β, rounded up.
    ///
    /// With g(u) = Σx_nᵀΔ·w_nφ_n'(s_n + z_nu), |g'| ≤ ρ(V'' − 1/τ²), ρ = max_n|x_nᵀΔ/z_n|. The distribution function F changes by
    /// −cov(1{u ≤ a}, g), at most ρ·cov(1{u > a}, V') = ρ·f(a) in size: as fast as if it moved by ρ.
    pub(crate) fn drifts(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.groups.iter().map(|group| (group.column, group.drift))
    }

    /// A bound of ‖Cᵀ∇²V·C‖ over the region of practically all draws of q.
    pub(crate) fn steepest(&self, q: &Gaussian<Triangular>) -> f64 {
        let prior = crate::base::linalg::safe_congruence(
            &self.layout.precision,
            &q.factor_matrix(),
            self.layout.rounding,
            1.0,
        );
        let prior: f64 = (0..q.dim()).map(|i| prior[(i, i)]).sum();
        let groups = self.groups.iter().map(|group| group.steepest(self.family, usual_reach(q.dim())));
        (prior + groups.sum::<f64>()) * (1.0 + 1e-9)
    }

    /// What E[ζ | β] and E[ζ² | β] of one group may be off by there, for ζ = (u − mean)/deviation.
    pub(crate) fn moment_errors(&self, group: usize, q: &Gaussian<Triangular>, of: (f64, f64)) -> [f64; 2] {
        self.groups[group].moment_errors(self.family, q, of)
    }

    /// Numbers of work of an evaluation: rows times nodes.
    pub(crate) fn work(&self) -> usize {
        self.groups.iter().map(Group::work).sum()
    }

    /// log p(β, x) and its gradient; `see` gets the number of each group, and the nodes with their weights. NaN where a group's
    /// nodes would have to reach too far.
    pub(crate) fn evaluate(
        &self,
        beta: &[f64],
        gradient: &mut [f64],
        room: &mut Room,
        mut see: impl FnMut(usize, &Room),
    ) -> f64 {
        let away: Vec<f64> = beta.iter().zip(&self.layout.center).map(|(b, c)| b - c).collect();
        let mut energy = 0.0;
        for (i, g) in gradient.iter_mut().enumerate() {
            let pull = dot(self.layout.precision.row(i), &away);
            *g = -pull;
            energy += 0.5 * pull * away[i];
        }
        let mut value = -energy - self.constant;
        for (k, group) in self.groups.iter().enumerate() {
            let Some(log) = group.integrate(self.family, beta, gradient, room) else { return f64::NAN };
            value += log;
            see(k, room);
        }
        value
    }
}

impl Target for Marginal {
    fn dim(&self) -> usize {
        self.layout.shared.len()
    }

    fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> Result<f64> {
        Ok(self.evaluate(z, gradient, &mut Room::default(), |_, _| ()))
    }

    fn curvature(&self) -> Result<Option<Curvature>> {
        let (upper, slack) = match &self.upper {
            Some((upper, slack)) => (Some(Quadratic::Matrix(upper.clone())), *slack),
            None => (None, self.layout.rounding),
        };
        let lower = Quadratic::Matrix(self.layout.precision.clone());
        Curvature::with_slack(self.dim(), lower, upper, slack, Provenance::Proved).map(Some)
    }

    fn proves_its_curvature(&self, _: own::Word) -> bool {
        true
    }

    fn rounding(&self, q: &Gaussian<Triangular>, radii: &[f64]) -> Result<Option<Vec<Rounding>>> {
        Ok(Some(radii.iter().map(|&radius| self.error(q, radius)).collect()))
    }
}
