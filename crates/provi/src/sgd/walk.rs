//! Recipes that move q = N(m, Σ) in a geometry of its own instead of w = (m, C): natural gradients, the
//! Bures–Wasserstein space, batch and match.
//!
//! No theorem of this library covers them, so they are spelled `Method::Unproven(Recipe::Walk(..))`, promise nothing, and
//! their answer is audited like any other. They are run as plans are: same draws, stops, checkpoints and threads.
//!
//! All three work in the coordinates of q, z = m + Cu, with the pulls π_k = ∇V(m + Cu_k) of N draws:
//! ```text
//! s_k = Cᵀπ_k − u_k
//! ĝ = (1/N) Σ s_k            estimates CᵀE∇V         (Bonnet)
//! Ĝ = (1/N) Σ sym(s_k u_kᵀ)  estimates CᵀE∇²VC − I   (Price)
//! ```
//! −u and I − uuᵀ have mean zero; with them the noise of ĝ and Ĝ vanishes where q = p, as in sticking the landing. So each
//! recipe needs gradients only, and on a Gaussian target that target is a fixed point, whatever the draws (for
//! Bures–Wasserstein steps η ≤ 1/M, with M the smoothness of V).
//!
//! On other targets natural gradients and Bures–Wasserstein steps seek the best Gaussian, where E∇V = 0 and E∇²V = Σ⁻¹. A match
//! does not: it makes scores alike, and what it approaches is another Gaussian, with a smaller ELBO.
//!
//! | recipe | step size γ_t | after | answer |
//! |---|---|---|---|
//! | [`Walk::NaturalGradient`] | ρ_t ≤ 1, held, then like 1/t | Lin, Schmidt & Khan 2020 | last iterate |
//! | [`Walk::BuresWasserstein`] | η_t, held, then like 1/t | Diao, Balasubramanian, Chewi & Salim 2023 | last iterate |
//! | [`Walk::BatchAndMatch`] | λ_t = Nd/(t+1), of the match | Cai, Modi, Pillaud-Vivien, Margossian, Gower, Blei & Saul 2024 | last iterate |
//!
//! ```
//! use provi::method::Recipe;
//! use provi::target::{Glm, Prior};
//! use provi::walk::Walk;
//! use provi::{Audit, Design, Method, Planner, Seed};
//!
//! let design = Design::dense(4, 2, &[1.0, 0.5, 1.0, -1.5, 1.0, 2.0, 1.0, 0.1])?;
//! let model = Glm::logistic(design, &[1.0, 0.0, 1.0, 0.0], Prior::scale(1.0)?)?;
//! let method = Method::Unproven(Recipe::Walk(Walk::NaturalGradient));
//! let plan = Planner::new(method).draws(32).practical(&model, Some(300))?;
//! assert!(plan.promise.value.is_none());
//! let fit = plan.run(&model, Seed(7))?;
//! let audited = Audit::default().run(&model, &fit.gaussian, Seed(7))?; // what it is worth, measured afterwards
//! assert!(audited.certificate().proves_gap(0.01));
//! # Ok::<(), provi::Error>(())
//! ```

mod batch_and_match;
mod bures_wasserstein;
mod natural_gradient;

use crate::base::draws::Draws;
use crate::base::error::{Error, Result};
use crate::base::gaussian::Triangular;
use crate::base::linalg::{mirror_lower, norm};
use crate::base::matrix::{Matrix, packed_index};
use crate::sgd::estimator::{Kind, Sampled, Source};
use crate::sgd::optimize::{Moved, Problem};
use crate::theory::schedule::Schedule;
use batch_and_match::BatchAndMatch;
use bures_wasserstein::BuresWasserstein;
use natural_gradient::NaturalGradient;
use provi_kernels::{axpy, triangle};

/// How a recipe moves (m, Σ).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Walk {
    /// Steepest descent of f in the Fisher metric, which is a straight line in the natural parameters:
    /// ```text
    /// Λ ← (1−ρ)Λ + ρE∇²V,   m ← m − ρΛ⁻¹E∇V   (Λ the new precision)
    /// ```
    /// If that would take more than half of the precision in some direction, Λ ← Λ + ρG + ½ρ²GΛ⁻¹G with G = E∇²V − Λ
    /// instead, which never does.
    NaturalGradient,
    /// Forward-backward steps in the Wasserstein space of Gaussians: a gradient step on E V, then the proximal (JKO) step of
    /// the entropy.
    /// ```text
    /// m ← m − ηE∇V,   M = I − ηE∇²V,   S = MΣM,   Σ ← ½(S + 2ηI + (S(S + 4ηI))^{½})
    /// ```
    BuresWasserstein,
    /// The Gaussian whose scores are nearest to those of p at a batch of draws, among those near the last one in KL.
    /// ```text
    /// V = Σ + λĈ + λ/(1+λ)(m − z̄)(m − z̄)ᵀ,   U = λΓ̂ + λ/(1+λ)ḡḡᵀ
    /// Σ ← the solution of ΣUΣ + Σ = V,   m ← (m + λ(Σḡ + z̄))/(1+λ)
    /// ```
    /// z̄, Ĉ are mean and covariance of the draws, ḡ, Γ̂ those of the scores ∇ log p there.
    BatchAndMatch,
}

/// The recipes by the names that users type.
const NAMED: [(&str, Walk); 3] = [
    ("natural-gradient", Walk::NaturalGradient),
    ("bures-wasserstein", Walk::BuresWasserstein),
    ("batch-and-match", Walk::BatchAndMatch),
];

impl Walk {
    /// Every recipe with its name.
    pub fn named() -> impl Iterator<Item = (&'static str, Walk)> {
        NAMED.into_iter()
    }

    /// The name that users type.
    pub fn name(self) -> &'static str {
        NAMED.iter().find(|(_, walk)| *walk == self).map_or("", |(name, _)| name)
    }

    /// Whether a gradient from some terms of a sum will do. The moments of pulls need a mean only; the covariance of scores would
    /// count the noise of the terms as curvature.
    pub(crate) fn takes_terms(self) -> bool {
        self != Self::BatchAndMatch
    }

    /// The step sizes that work in practice in coordinates where ∇²V ≈ I near the mode. `gamma` suits a gradient with the noise of
    /// this batch; a match has its own, as its authors choose it: λ_t = Nd/(t+1).
    pub(crate) fn practical_schedule(
        self,
        gamma: f64,
        steps: u64,
        draws: usize,
        dim: usize,
    ) -> Result<Schedule> {
        match self {
            Self::NaturalGradient | Self::BuresWasserstein => {
                Schedule::practical(gamma, steps / 10, steps.max(1) as f64 / 100.0)
            }
            Self::BatchAndMatch => Schedule::practical((draws * dim) as f64, 0, 1.0),
        }
    }
}

impl std::fmt::Display for Walk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// What a step needs to know about its draws, in the coordinates of q.
struct Batch {
    dim: usize,
    /// u_k, one a row.
    u: Vec<f64>,
    /// Cᵀπ_k, one a row.
    pulls: Vec<f64>,
    /// ĝ.
    slope: Vec<f64>,
    /// Ĝ.
    excess: Matrix,
}

impl Batch {
    fn new(dim: usize, draws: usize) -> Self {
        Self {
            dim,
            u: vec![0.0; draws * dim],
            pulls: vec![0.0; draws * dim],
            slope: vec![0.0; dim],
            excess: Matrix::zeros(dim, dim),
        }
    }

    /// ĝ and Ĝ from u_k and Cᵀπ_k.
    fn average(&mut self) {
        let share = (self.dim as f64) / self.u.len() as f64;
        self.slope.fill(0.0);
        self.excess.entries_mut().fill(0.0);
        let mut rows = self.pulls.chunks_exact_mut(self.dim).zip(self.u.chunks_exact(self.dim));
        rows.by_ref().for_each(|(s, u)| {
            axpy(-1.0, u, s);
            axpy(share, s, &mut self.slope);
            for i in 0..u.len() {
                let row = &mut self.excess.row_mut(i)[..=i];
                axpy(0.5 * share * s[i], &u[..=i], row);
                axpy(0.5 * share * u[i], &s[..=i], row);
            }
            axpy(1.0, u, s);
        });
        mirror_lower(&mut self.excess);
    }
}

/// One recipe with its working memory.
trait Step {
    /// w = (m, packed C) → the next one. `None` if numbers overflow; what w holds then does not matter.
    fn make(&mut self, w: &mut [f64], batch: &mut Batch, gamma: f64) -> Option<()>;
}

/// A recipe that walks on a target, one whole step at a time, on w = (m, packed lower triangle C).
///
/// Cost of a step beyond the target's: O(Nd²) for the moments, and O(d³): two Cholesky factorisations for the natural gradient,
/// an eigendecomposition for the Bures–Wasserstein step; a match takes a Cholesky factorisation, and an eigendecomposition of size
/// N + 1 or d, whichever is smaller. Natural gradients allocate nothing once they are under way; the others allocate their
/// eigendecompositions.
pub struct Walker<'a> {
    pulls: Sampled<'a, Triangular>,
    batch: Batch,
    step: Box<dyn Step + 'a>,
    before: Vec<f64>,
    walk: Walk,
}

impl std::fmt::Debug for Walker<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Walker").field("walk", &self.walk).field("pulls", &self.pulls).finish_non_exhaustive()
    }
}

impl<'a> Walker<'a> {
    /// A walk with `draws_per_step` ≥ 1 draws per step, each on the whole target or on its own terms.
    pub fn new(
        walk: Walk,
        target: impl Into<Source<'a>>,
        draws: Draws,
        draws_per_step: usize,
    ) -> Result<Self> {
        if !draws.law().is_gaussian() {
            let why = "natural gradients, Bures-Wasserstein steps and matches are those of Gaussians";
            return Err(Error::BaseLaw { law: draws.law().to_string(), why });
        }
        let target = target.into();
        let d = target.dim();
        let pulls = Sampled::new(Kind::Energy, target, draws, draws_per_step)?;
        let step: Box<dyn Step> = match walk {
            Walk::NaturalGradient => Box::new(NaturalGradient::new(d)),
            Walk::BuresWasserstein => Box::new(BuresWasserstein::new(d)),
            Walk::BatchAndMatch => Box::new(BatchAndMatch::new(d, draws_per_step)),
        };
        Ok(Self { pulls, batch: Batch::new(d, draws_per_step), step, before: Vec::new(), walk })
    }

    /// Evaluations so far of the target's density with its gradient.
    pub fn evaluations(&self) -> u64 {
        self.pulls.evaluations()
    }
}

impl Problem for Walker<'_> {
    fn advance(&mut self, w: &mut [f64], t: u64, gamma: f64) -> Result<Moved> {
        self.pulls.pull(w, t)?;
        let (u, pulls, value) = self.pulls.parts();
        self.batch.u.copy_from_slice(u);
        triangle::pull_back(&w[self.batch.dim..], pulls, &mut self.batch.pulls);
        self.before.clear();
        self.before.extend_from_slice(w);
        let made = self.step.make(w, &mut self.batch, gamma);
        if made.is_none() || !is_gaussian(self.batch.dim, w) {
            w.copy_from_slice(&self.before);
            return Err(Error::Diverged { step: t, gamma });
        }
        axpy(-1.0, w, &mut self.before);
        Ok(Moved { distance: norm(&self.before), value: Some(value) })
    }
}

/// Whether w = (m, packed C) is finite with a positive diagonal.
fn is_gaussian(dim: usize, w: &[f64]) -> bool {
    w.iter().all(|x| x.is_finite()) && (0..dim).all(|i| w[dim + packed_index(i, i)] > 0.0)
}

/// C ← CK for two packed lower triangles.
fn multiply_by(c: &mut [f64], k: &[f64], row: &mut [f64]) {
    for i in 0..row.len() {
        let (first, own) = (i * (i + 1) / 2, &mut row[..=i]);
        own.copy_from_slice(&c[first..=first + i]);
        let out = &mut c[first..=first + i];
        out.fill(0.0);
        for (j, x) in own.iter().enumerate() {
            let start = j * (j + 1) / 2;
            axpy(*x, &k[start..=start + j], &mut out[..=j]);
        }
    }
}

#[cfg(test)]
mod tests;
