//! A mixture of Gaussians over the scales that are integrated over, as fit.json holds it.

use provi::Gaussian;
use provi::matrix::{Matrix, packed_len};
use provi::scales::{NodeProof, Rule, ScaleMixture, ScaleNode, WeightedMarginals};
use provi::sparse::SparseGaussian;
use serde::{Deserialize, Serialize};

use super::digest::sha256;
use crate::error::Result;

/// Probability of the intervals that a file holds.
const LEVEL: f64 = 0.95;
/// Above this many numbers, the factors of the nodes are in a file of their own.
const MOST_NUMBERS: usize = 400_000;
/// Its name.
pub(crate) const FACTORS: &str = "mixture.f64";
/// Its name if the nodes have sparse precisions; it then holds their means as well.
pub(crate) const SPARSE_FACTORS: &str = "mixture.sparse";

/// The posterior of coefficients and scales: the nodes, and what follows for the scales.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MixtureRecord {
    /// The scales, in the order of `log_scales`.
    pub scales: Vec<ScaleSummary>,
    /// `lattice` or `draws`.
    pub rule: String,
    /// The step of a lattice, in units in which the density of the scales has unit curvature at its mode.
    pub step: Option<f64>,
    /// Whether everything beyond the nodes is negligible.
    pub complete: bool,
    /// The number of weighted draws, if there is no lattice.
    pub draws: Option<u64>,
    /// log p(x), integrated over the scales: an estimate.
    pub log_evidence: f64,
    /// How far it moved with the last refinement; null if there was none.
    pub evidence_change: Option<f64>,
    /// How far a mean moved then, in standard deviations.
    pub mean_change: Option<f64>,
    /// Values of the scales at which no model could be solved.
    pub unsolved: usize,
    /// The file beside this one that holds the factors of the nodes, if they are large: packed rows, node after node, little-endian doubles;
    /// or, in `mixture.sparse`, the nodes' sparse Gaussians.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factor_file: Option<String>,
    /// The SHA-256 of that file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factor_sha256: Option<String>,
    /// The number of effects in each set of correlated ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub correlated: Vec<usize>,
    /// Axes of unit curvature of the density of the scales: row j says how `log_scales` move along axis j. Draws of scales are smoothed along
    /// them.
    pub axes: Vec<Vec<f64>>,
    /// Marginals of the coefficients from weighted draws of the mixture; null if the weights could not be believed, or if the model is
    /// gaussian.
    #[serde(default)]
    pub marginals: Option<MarginalsRecord>,
    /// The nodes.
    pub nodes: Vec<NodeRecord>,
    /// The factors in that file, node after node; empty if each node has its own.
    #[serde(skip)]
    pub(crate) factors: Vec<f64>,
    /// The Gaussians of the nodes, if their precisions are sparse.
    #[serde(skip)]
    pub(crate) sparse: Vec<SparseGaussian>,
}

/// Marginals of the coefficients from weighted draws: estimates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MarginalsRecord {
    /// Means of the coefficients.
    pub mean: Vec<f64>,
    /// Their standard deviations.
    pub sd: Vec<f64>,
    /// The probabilities of the quantiles.
    pub levels: Vec<f64>,
    /// Quantiles, coefficient by coefficient.
    pub quantiles: Vec<Vec<f64>>,
    /// The shape of the tail of the weights.
    pub pareto_k: f64,
    /// The number of draws.
    pub draws: usize,
    /// How many draws of equal weight they are worth.
    pub effective_draws: f64,
}

impl MarginalsRecord {
    fn new(found: &WeightedMarginals) -> Self {
        Self {
            mean: found.mean.clone(),
            sd: found.sd.clone(),
            levels: WeightedMarginals::LEVELS.to_vec(),
            quantiles: found.quantiles.clone(),
            pareto_k: found.pareto_k,
            draws: found.draws,
            effective_draws: found.effective_draws,
        }
    }

    /// As the library has them; `None` if the levels are other ones.
    fn marginals(&self) -> Option<WeightedMarginals> {
        (self.levels == WeightedMarginals::LEVELS).then(|| WeightedMarginals {
            mean: self.mean.clone(),
            sd: self.sd.clone(),
            quantiles: self.quantiles.clone(),
            pareto_k: self.pareto_k,
            draws: self.draws,
            effective_draws: self.effective_draws,
        })
    }
}

/// What is known of one scale or one correlation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScaleSummary {
    /// `sigma`, `sd(clinic:(Intercept))` or `cor(clinic:(Intercept),clinic:age)`.
    pub name: String,
    /// Its prior.
    pub prior: String,
    /// Posterior mean.
    pub mean: f64,
    /// Posterior standard deviation.
    pub sd: f64,
    /// Posterior median.
    pub median: f64,
    /// The probability between the ends.
    pub level: f64,
    /// Lower end.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
}

/// One value of the scales.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeRecord {
    /// Logarithms of the scales; then, for correlated effects, inverse hyperbolic tangents of their partial correlations.
    pub log_scales: Vec<f64>,
    /// Slopes of their log density along the axes.
    pub rise: Vec<f64>,
    /// Its share of the posterior.
    pub weight: f64,
    /// The logarithm of the prior mass that it stands for.
    pub log_mass: f64,
    /// The ELBO there.
    pub elbo: f64,
    /// An estimate of what the ELBO misses.
    pub kl: f64,
    /// The mean of the coefficients; left out if the precision is sparse.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mean: Vec<f64>,
    /// The factor C of their covariance CCᵀ: lower triangular, packed row by row.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub factor: Vec<f64>,
    /// What is proved there, given these scales.
    pub certificate: Option<NodeClaims>,
}

/// What is proved at one node, given its scales; null where nothing is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeClaims {
    /// Bound of KL(q‖p), in nats.
    pub kl: Option<f64>,
    /// Bound of the total variation.
    pub tv: Option<f64>,
    /// log p(x | scales) is at least this,
    pub evidence_lower: Option<f64>,
    /// and at most this.
    pub evidence_upper: Option<f64>,
    /// The probability over the draws with which all of it holds.
    pub confidence: f64,
}

impl NodeClaims {
    fn new(proof: &NodeProof) -> Self {
        let c = &proof.certificate;
        let all = [c.kl.confidence(), c.tv.confidence(), c.evidence.confidence()];
        Self {
            kl: c.kl.bound(),
            tv: c.tv.bound(),
            evidence_lower: c.evidence.lower(),
            evidence_upper: c.evidence.upper(),
            confidence: all.into_iter().flatten().fold(1.0, f64::min),
        }
    }
}

/// What is known of each scale and correlation at that level; `scales` are their names and priors, in the order of the mixture.
pub fn summaries(
    mixture: &ScaleMixture,
    scales: &[(String, String)],
    level: f64,
) -> Result<Vec<ScaleSummary>> {
    let tail = 0.5 * (1.0 - level);
    let one = |(k, (name, prior)): (usize, &(String, String))| {
        let [lower, median, upper] = mixture.scale_quantiles(k, [tail, 0.5, 1.0 - tail])?;
        Ok(ScaleSummary {
            name: name.clone(),
            prior: prior.clone(),
            mean: mixture.scale_mean(k)?,
            sd: mixture.scale_sd(k)?,
            median,
            level,
            lower,
            upper,
        })
    };
    scales.iter().enumerate().map(one).collect()
}

impl MixtureRecord {
    /// The record; `scales` and `proofs` are in the order of the mixture, and there may be fewer proofs than nodes.
    pub fn new(mixture: &ScaleMixture, scales: &[(String, String)], proofs: &[NodeProof]) -> Result<Self> {
        let (rule, step, complete, draws) = match mixture.rule {
            Rule::Lattice { step, complete } => ("lattice", Some(step), complete, None),
            Rule::Draws { count } => ("draws", None, true, Some(count)),
            _ => ("other", None, false, None),
        };
        let finite = |x: f64| x.is_finite().then_some(x);
        let sparse: Vec<SparseGaussian> =
            mixture.nodes.iter().filter_map(|node| node.gaussian.as_sparse().cloned()).collect();
        let numbers: usize = mixture.nodes.iter().map(|node| node.gaussian.fill()).sum();
        let apart = numbers > MOST_NUMBERS && sparse.is_empty();
        let dense =
            |node: &ScaleNode| node.gaussian.as_dense().map(|q| q.factor().to_vec()).unwrap_or_default();
        let nodes: Vec<NodeRecord> = mixture
            .nodes
            .iter()
            .enumerate()
            .map(|(k, node)| NodeRecord {
                log_scales: node.log_scales.clone(),
                rise: node.rise.clone(),
                weight: node.weight,
                log_mass: node.log_mass,
                elbo: node.elbo,
                kl: node.kl,
                mean: node.gaussian.as_dense().map(|q| q.mean().to_vec()).unwrap_or_default(),
                factor: if apart { Vec::new() } else { dense(node) },
                certificate: proofs.get(k).map(NodeClaims::new),
            })
            .collect();
        let mut record = Self {
            scales: summaries(mixture, scales, LEVEL)?,
            rule: rule.to_owned(),
            step,
            complete,
            draws,
            log_evidence: mixture.log_evidence,
            evidence_change: finite(mixture.evidence_change),
            mean_change: finite(mixture.mean_change),
            unsolved: mixture.unsolved,
            factor_file: None,
            factor_sha256: None,
            correlated: mixture.correlated.clone(),
            axes: (0..mixture.axes.rows()).map(|j| mixture.axes.row(j).to_vec()).collect(),
            marginals: mixture.marginals.as_ref().map(MarginalsRecord::new),
            nodes,
            factors: Vec::new(),
            sparse,
        };
        if !record.sparse.is_empty() {
            record.factor_sha256 = Some(sha256(&record.factor_bytes()));
            record.factor_file = Some(SPARSE_FACTORS.to_owned());
        }
        if apart {
            record.factors = mixture.nodes.iter().flat_map(dense).collect();
            record.factor_sha256 = Some(sha256(&record.factor_bytes()));
            record.factor_file = Some(FACTORS.to_owned());
        }
        Ok(record)
    }

    /// The bytes of the file of factors.
    pub fn factor_bytes(&self) -> Vec<u8> {
        if !self.sparse.is_empty() {
            return SparseGaussian::to_bytes(&self.sparse.iter().collect::<Vec<_>>());
        }
        let mut out = Vec::with_capacity(8 * self.factors.len());
        self.factors.iter().for_each(|x| out.extend_from_slice(&x.to_le_bytes()));
        out
    }

    /// Takes the factors of all nodes from these bytes; false if their number is wrong.
    pub fn read_factors(&mut self, bytes: &[u8]) -> bool {
        if self.factor_file.as_deref() == Some(SPARSE_FACTORS) {
            self.sparse = SparseGaussian::from_bytes(bytes).unwrap_or_default();
            return self.sparse.len() == self.nodes.len();
        }
        let (numbers, rest) = bytes.as_chunks::<8>();
        self.factors = numbers.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
        let expected: usize = self.nodes.iter().map(|node| packed_len(node.mean.len())).sum();
        rest.is_empty() && self.factors.len() == expected
    }

    /// The mixture itself.
    pub fn mixture(&self) -> Result<ScaleMixture> {
        let mut apart = &self.factors[..];
        let nodes = self
            .nodes
            .iter()
            .enumerate()
            .map(|(k, node)| {
                let length = packed_len(node.mean.len()).min(apart.len());
                let (own, rest) = apart.split_at(length);
                apart = rest;
                let factor = if self.factors.is_empty() { &node.factor[..] } else { own };
                let gaussian = match self.sparse.get(k) {
                    Some(q) => q.clone().into(),
                    None => Gaussian::new(&node.mean, factor)?.into(),
                };
                let numbers = [node.log_mass, node.elbo, node.kl];
                Ok(ScaleNode::new(node.log_scales.clone(), node.rise.clone(), node.weight, numbers, gaussian))
            })
            .collect::<Result<Vec<_>>>()?;
        let rule = match (self.step, self.draws) {
            (Some(step), _) => Rule::Lattice { step, complete: self.complete },
            (None, count) => Rule::Draws { count: count.unwrap_or_default() },
        };
        let changes = [self.evidence_change, self.mean_change].map(|x| x.unwrap_or(f64::INFINITY));
        let (rows, columns) = (self.axes.len(), self.axes.first().map_or(0, Vec::len));
        let axes = Matrix::new(rows, columns, self.axes.concat())?;
        let shape = (self.correlated.clone(), axes);
        let mixture = ScaleMixture::restored(nodes, shape, rule, self.log_evidence, changes, self.unsolved)?;
        Ok(mixture.with_marginals(self.marginals.as_ref().and_then(MarginalsRecord::marginals)))
    }
}
