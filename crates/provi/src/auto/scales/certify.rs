//! What is known about a mixture over scales, from what is proved at its nodes.
//!
//! Let w_k be the weights of the nodes, c_k their prior masses, and L_k ≤ log p(x | η_k) ≤ U_k the bounds that an audit at node k proves. The
//! posterior on these nodes has weights w*_k = c_k p(x | η_k)/Σ_j c_j p(x | η_j), so that, with S_L = Σ c_k e^{L_k} and S_U = Σ c_k e^{U_k},
//! ```text
//! KL(w‖w*)      ≤ Σ w_k (log w_k − log c_k − L_k) + log S_U
//! KL(q‖p)       ≤ KL(w‖w*) + Σ w_k KL(q_k‖p_k)                            the chain rule
//! TV(q, p)      ≤ TV(w, w*) + Σ w_k TV(q_k, p_k),   TV(w, w*) ≤ √(KL(w‖w*)/2)
//! log S_L       ≤ log p(x) ≤ log S_U
//! r_k = w*_k/w_k in [c_k e^{L_k}/(w_k S_U), c_k e^{U_k}/(w_k S_L)]
//! ```
//! At a node of a gaussian model the posterior is a Gaussian, and all this is known without draws up to rounding ([`NormalEquations::exactness`]).
//! Means and standard deviations follow from those of the nodes ([`combined`]). All this is about the nodes: that the sum over them stands for the
//! integral over the scales is an estimate, so every statement here is called one [scale-mixture].

use super::mixture::{ScaleMixture, ScaleNode};
use super::{FreeScales, LinearPredictor};
use crate::base::draws::Seed;
use crate::base::error::{Error, Result};
use crate::base::special::log_sum_exp;
use crate::base::stop;
use crate::certify::audit::{Audit, Goal};
use crate::certify::certificate::{
    Certificate, CertificateFields, Grounds, Interval, MomentStatement, Statement,
};
use crate::certify::functional::{Functional, PosteriorMoments};
use crate::glm::normal_equations::NormalEquations;
use crate::glm::sparse::NormalLaw;
use crate::target::curvature::Provenance;
use crate::target::evaluate::Evaluator;
use crate::theory::certificate::total_variation;

/// What is proved at one node.
#[derive(Clone, Debug)]
pub struct NodeProof {
    /// The certificate of the node's Gaussian, given its scales.
    pub certificate: Certificate,
    /// The posterior's own moments, given the scales, if they were measured.
    pub posterior: Option<PosteriorMoments>,
}

/// The ledger key.
const KEY: &str = "scale-mixture";
/// More than the rounding error of the sums here.
const OUTWARDS: f64 = 1.0 + 1e-12;

/// One node's part in the moments of a coordinate.
#[derive(Clone, Copy, Debug)]
struct Part {
    weight: f64,
    /// Bounds of w*_k/w_k.
    ratio: [f64; 2],
    mean: f64,
    mean_error: f64,
    sd: f64,
    sd_error: f64,
}

/// Mean and standard deviation of the mixture, each with a bound of its error, from those of the parts:
/// ```text
/// |m* − m| ≤ A + D,   A = Σ w_k a_k,   D = Σ w_k ρ_k d_k,   d_k = |m_k − m| + a_k + A,   ρ_k = max |r_k − 1|
/// V* ≤ (s + e)² + Σ w_k (r_k − 1)₊ S_k,   V* ≥ (s − e)₊² − Σ w_k (1 − r_k)₊ S_k − D²,   S_k = (s_k + b_k)² + d_k²
/// ```
/// where a_k, b_k bound the errors of the part's mean and sd, and e² = Σ w_k (a_k² + b_k²). The first step changes the parts and keeps the
/// weights: X = m_K + s_K Z and X' = m'_K + s'_K Z differ by at most e in L², and a standard deviation is a seminorm. The second changes the
/// weights, with second moments about the mean of the first step.
fn combined(parts: &[Part]) -> [(f64, f64); 2] {
    let sum = |f: &dyn Fn(&Part) -> f64| -> f64 { parts.iter().map(|part| part.weight * f(part)).sum() };
    let mean = sum(&|part| part.mean);
    let of_parts = sum(&|part| part.mean_error);
    let sd = sum(&|part| part.sd.powi(2) + (part.mean - mean).powi(2)).sqrt();
    let away = |part: &Part| (part.mean - mean).abs() + part.mean_error + of_parts;
    let over = |part: &Part| (part.ratio[1] - 1.0).max(0.0);
    let under = |part: &Part| (1.0 - part.ratio[0]).max(0.0);
    let shift = sum(&|part| over(part).max(under(part)) * away(part));
    let second = |part: &Part| (part.sd + part.sd_error).powi(2) + away(part).powi(2);
    let moved = sum(&|part| part.mean_error.powi(2) + part.sd_error.powi(2)).sqrt();
    let most = ((sd + moved).powi(2) + sum(&|part| over(part) * second(part))).sqrt();
    let least = (sd - moved).max(0.0).powi(2) - sum(&|part| under(part) * second(part)) - shift.powi(2);
    let sd_error = (most - sd).max(sd - least.max(0.0).sqrt());
    [(mean, (of_parts + shift) * OUTWARDS), (sd, sd_error * OUTWARDS)]
}

/// The evidence at the nodes.
struct Sums {
    /// Bounds of log p(x).
    log_evidence: [f64; 2],
    /// Bound of KL(w‖w*).
    kl: f64,
    /// Bounds of w*_k/w_k.
    ratios: Vec<[f64; 2]>,
}

/// Fewest draws that the audit of a node may spend. Where the ELBO is the evidence, a proof needs next to none.
const FEWEST: [u64; 2] = [200, 16];
/// Moments of the posterior are stated if all of them are known this well, in standard deviations.
const RESOLVED: f64 = 0.25;
/// All nodes together may spend this many times the draws of an audit.
const AUDITS: f64 = 2.0;

impl ScaleMixture {
    /// Audits every node, several at once if the rows are in memory; fewer proofs than nodes if a stop was wanted ([`crate::stop`]). All
    /// nodes share the failure probability, and the draws of some audits in proportion to their weights, beyond a least number.
    pub fn prove<M: LinearPredictor>(
        &self,
        free: &FreeScales,
        model: &M,
        audit: &Audit,
        seed: Seed,
    ) -> Result<Vec<NodeProof>> {
        let mut proofs = Vec::with_capacity(self.nodes.len());
        let equations = free.equations(model, &free.start()?)?;
        let names = model.names();
        let prove = |model: &M, node: &ScaleNode| match &equations {
            Some(equations) => self.exact_proof(node, free, model, equations, &names),
            None => self.proof(node, free, model, audit, seed),
        };
        for proof in model.for_each(&self.nodes, &prove) {
            let Some(proof) = proof? else { break };
            proofs.push(proof);
        }
        Ok(proofs)
    }

    /// What is proved at one node of a gaussian model, without draws; `None` if a stop was wanted.
    fn exact_proof<M: LinearPredictor>(
        &self,
        node: &ScaleNode,
        free: &FreeScales,
        model: &M,
        equations: &NormalEquations,
        names: &[String],
    ) -> Result<Option<NodeProof>> {
        if stop::is_wanted() {
            return Ok(None);
        }
        let q = &*node.gaussian.to_dense()?;
        let prior = free.prior_at(model.prior(), model.dim(), &node.log_scales)?;
        let Some(found) = equations.exactness(q, &prior, free.noise_at(&node.log_scales))? else {
            let certificate = Certificate::nothing(names, "rounding hides the posterior given these scales");
            return Ok(Some(NodeProof { certificate, posterior: None }));
        };
        let stated = |value: f64| Statement::proved(value, 1.0, KEY, Provenance::Proved);
        let moment = |(i, name): (usize, &String)| MomentStatement {
            name: name.clone(),
            mean_error: stated(found.mean * q.deviation(i) * OUTWARDS),
            sd_error: stated(found.sd * q.deviation(i) * OUTWARDS),
        };
        let certificate = Certificate(CertificateFields {
            family: None,
            // The posterior is a Gaussian, so the best one.
            gap: stated(found.kl),
            kl: stated(found.kl),
            tv: stated(total_variation(found.kl)),
            evidence: Interval::new(stated(found.log_evidence[0]), stated(found.log_evidence[1])),
            moments: names.iter().enumerate().map(moment).collect(),
            grounds: Grounds::default(),
        });
        Ok(Some(NodeProof { certificate: certificate.only_finite(), posterior: None }))
    }

    /// What is proved at one node; `None` if a stop was wanted.
    fn proof<M: LinearPredictor>(
        &self,
        node: &ScaleNode,
        free: &FreeScales,
        model: &M,
        audit: &Audit,
        seed: Seed,
    ) -> Result<Option<NodeProof>> {
        if stop::is_wanted() {
            return Ok(None);
        }
        let (most, least) =
            if model.is_gaussian() { (FEWEST[1], FEWEST[1]) } else { (audit.draws, FEWEST[0]) };
        let share = (AUDITS * most as f64 * node.weight) as u64;
        let audit = Audit {
            failure_probability: audit.failure_probability / self.nodes.len() as f64,
            draws: share.clamp(least, audit.draws.max(least)),
            goal: Goal::default(),
            ..*audit
        };
        let model = free.model_at(model, &node.log_scales)?;
        if let (Some(sparse), Some(q)) = (model.sparse(), node.gaussian.as_sparse()) {
            let certificate = Certificate::sparse(sparse, q)?;
            return Ok(Some(NodeProof { certificate, posterior: None }));
        }
        match audit.run(Evaluator::Serial(&model), &*node.gaussian.to_dense()?, seed) {
            Ok(audited) => {
                let certificate = audited.certificate().clone().only_finite();
                Ok(Some(NodeProof { certificate, posterior: audited.posterior_moments() }))
            }
            Err(Error::Stopped { .. }) => Ok(None),
            Err(error @ Error::Reduce { .. }) => Err(error),
            Err(error) => {
                let reason = format!("the audit failed: {error}");
                let certificate = Certificate::nothing(&model.names(), &reason);
                Ok(Some(NodeProof { certificate, posterior: None }))
            }
        }
    }

    /// What is known about it, and the moments of the posterior, from what is proved at each of its nodes, in their order. A node without a
    /// proof leaves everything open.
    pub fn certificate(
        &self,
        names: &[String],
        proofs: &[NodeProof],
    ) -> (Certificate, Option<PosteriorMoments>) {
        let open = |reason: &str| (Certificate::nothing(names, reason), None);
        if proofs.len() != self.nodes.len() {
            return open(&format!(
                "the proofs at the nodes of the scales were stopped: {} of {} were made",
                proofs.len().min(self.nodes.len()),
                self.nodes.len()
            ));
        }
        if !self.evidence_change.is_finite() || !self.mean_change.is_finite() {
            return open("the integration over the scales was stopped before its first refinement");
        }
        if !self.is_complete() {
            return open("the scales spread too far: the sum over them was cut off");
        }
        let each = || proofs.iter().map(|proof| &proof.certificate);
        let lost: f64 = each()
            .map(|c| {
                let all = [c.kl.confidence(), c.tv.confidence(), c.evidence.confidence()];
                1.0 - all.into_iter().flatten().fold(1.0, f64::min)
            })
            .sum();
        let confidence = (1.0 - lost).max(0.0);
        let stated = |value: f64| Statement::proved(value, confidence, KEY, Provenance::Estimated);
        let gap = Statement::missing(
            "the answer is a mixture of Gaussians, one for each value of the scales; each has its own gap",
        );
        let Some(sums) = self.sums(proofs) else {
            const REASON: &str = "at some values of the scales the evidence has no upper bound";
            let listed = if each().any(|c| c.moments.is_empty()) { &[] } else { names };
            let Certificate(nothing) = Certificate::nothing(listed, REASON);
            let parts =
                self.nodes.iter().zip(each()).map(|(node, c)| Some(node.log_mass + c.evidence.lower()?));
            let lower = match parts.collect::<Option<Vec<f64>>>() {
                Some(parts) => stated(log_sum_exp(&parts) - self.evidence_change),
                None => Statement::missing("at some values of the scales the evidence has no bound"),
            };
            let evidence = Interval::new(lower, Statement::missing(REASON));
            return (Certificate(CertificateFields { gap, evidence, ..nothing }).only_finite(), None);
        };
        let weighted = |f: &dyn Fn(&Certificate) -> Option<f64>| -> Option<f64> {
            self.nodes.iter().zip(each()).map(|(node, c)| Some(node.weight * f(c)?)).sum()
        };
        let none =
            |what: &str| Statement::missing(&format!("at some values of the scales the {what} has no bound"));
        let kl =
            weighted(&|c| c.kl.bound()).map_or_else(|| none("KL"), |kl| stated((sums.kl + kl) * OUTWARDS));
        let between = (0.5 * sums.kl).sqrt();
        let tv = weighted(&|c| c.tv.bound())
            .map_or_else(|| none("total variation"), |tv| stated(((between + tv) * OUTWARDS).min(1.0)));
        let [low, high] = sums.log_evidence;
        // Light nodes were left out of the sums: they can only add to the evidence.
        let kept = log_sum_exp(&self.nodes.iter().map(ScaleNode::log_part).collect::<Vec<_>>());
        let high = high + (self.log_evidence - kept).max(0.0);
        let evidence = Interval::new(stated(low - self.evidence_change), stated(high + self.evidence_change));

        let mut moments = Vec::with_capacity(names.len());
        let mut intervals = Vec::with_capacity(names.len());
        for (i, name) in names.iter().enumerate() {
            let parts = |measured: bool| -> Option<Vec<Part>> {
                let nodes = self.nodes.iter().zip(proofs).zip(&sums.ratios);
                nodes
                    .map(|((node, proof), &ratio)| {
                        let weight = node.weight;
                        if let Some(found) = proof.posterior.as_ref().filter(|_| measured) {
                            let [mean, mean_error] = [found.mean[i], found.mean_error[i]];
                            let [sd, sd_error] = [found.sd[i], found.sd_error[i]];
                            return Some(Part { weight, ratio, mean, mean_error, sd, sd_error });
                        }
                        let stated = proof.certificate.moments.get(i)?;
                        let (mean_error, sd_error) = (stated.mean_error.bound()?, stated.sd_error.bound()?);
                        let (mean, sd) = (node.gaussian.mean()[i], node.gaussian.deviation(i));
                        Some(Part { weight, ratio, mean, mean_error, sd, sd_error })
                    })
                    .collect()
            };
            let widened = |[(mean, mean_error), (sd, sd_error)]: [(f64, f64); 2]| {
                // What the integration over the scales leaves open.
                [(mean, mean_error + self.mean_change * sd), (sd, sd_error + self.mean_change * sd)]
            };
            let (own, best) = (parts(false), parts(true));
            let best = best.map(|parts| widened(combined(&parts)));
            let q = own.as_ref().map(|parts| widened(combined(parts)));
            let statement = |which: usize| match (q, best) {
                (Some(q), Some(best)) => {
                    let (value, error) = q[which];
                    let (there, less) = best[which];
                    stated(error.min(((value - there).abs() + less) * OUTWARDS))
                }
                _ => none("error of a mean or an sd"),
            };
            moments.push(MomentStatement {
                name: name.clone(),
                mean_error: statement(0),
                sd_error: statement(1),
            });
            // An interval that is wide says less about the posterior than the mixture's own value.
            let resolved =
                best.filter(|[(_, mean_error), (sd, sd_error)]| mean_error.max(*sd_error) < RESOLVED * sd);
            intervals.extend(resolved.map(|both| both.map(|(value, error)| [value - error, value + error])));
        }
        let posterior = (intervals.len() == names.len())
            .then(|| PosteriorMoments::new(&intervals, confidence, KEY, Provenance::Estimated))
            .flatten();
        let grounds = Grounds {
            // The sum of equal shares, without the rounding of a sum.
            failure_probability: each().map(|c| c.grounds.failure_probability).fold(0.0, f64::max)
                * self.nodes.len() as f64,
            draws: each().map(|c| c.grounds.draws).sum(),
            evaluations: each().map(|c| c.grounds.evaluations).sum(),
            mass_draws: each().map(|c| c.grounds.mass_draws).sum(),
            ..Grounds::default()
        };
        let fields = CertificateFields { gap, family: None, kl, tv, evidence, moments, grounds };
        (Certificate(fields).only_finite(), posterior)
    }

    /// Sums over the nodes; `None` where one of them has no finite bounds of its evidence.
    fn sums(&self, proofs: &[NodeProof]) -> Option<Sums> {
        let bounds: Vec<[f64; 2]> = self
            .nodes
            .iter()
            .zip(proofs)
            .map(|(node, proof)| {
                let [low, high] = [proof.certificate.evidence.lower()?, proof.certificate.evidence.upper()?];
                (low.is_finite() && high.is_finite()).then_some([node.log_mass + low, node.log_mass + high])
            })
            .collect::<Option<_>>()?;
        let [least, most] =
            [0, 1].map(|side| log_sum_exp(&bounds.iter().map(|b| b[side]).collect::<Vec<_>>()));
        let nodes = || self.nodes.iter().zip(&bounds).filter(|(node, _)| node.weight > 0.0);
        let kl = most + nodes().map(|(node, b)| node.weight * (node.weight.ln() - b[0])).sum::<f64>();
        let ratio = |(node, b): (&ScaleNode, &[f64; 2])| {
            [b[0] - most, b[1] - least].map(|log| log.exp() / node.weight.max(f64::MIN_POSITIVE))
        };
        let ratios = self.nodes.iter().zip(&bounds).map(ratio).collect();
        Some(Sums { log_evidence: [least, most], kl: kl.max(0.0), ratios })
    }

    /// vᵀz under the mixture. Its errors are given, as for one Gaussian; signs and intervals are the mixture's own.
    pub fn functional(
        &self,
        v: &[f64],
        errors: [Statement; 2],
        certificate: &Certificate,
    ) -> Result<Functional> {
        if v.len() != self.dim() {
            return Err(Error::Shape { what: "functional", found: v.len(), expected: self.dim() });
        }
        Functional::of_parts(self.parts(v)?, errors, certificate)
    }

    /// The functional of coordinate `index`, with its errors from the certificate. Mean, deviation and interval are those of the weighted draws, if
    /// there are any.
    pub fn coordinate(&self, index: usize, certificate: &Certificate) -> Result<Functional> {
        let errors = certificate.moment_errors(index, self.dim())?;
        let part =
            |node: &ScaleNode| (node.weight, node.gaussian.mean()[index], node.gaussian.deviation(index));
        let mut own = Functional::of_parts(self.nodes.iter().map(part).collect(), errors, certificate)?;
        if let Some(weighed) = &self.marginals {
            // The bounds are about the mixture's own values: another one is farther from the posterior's by at most their distance.
            let moved = [weighed.mean[index] - own.mean, weighed.sd[index] - own.sd].map(f64::abs);
            (own.mean, own.sd) = (weighed.mean[index], weighed.sd[index]);
            for (error, moved) in [&mut own.mean_error, &mut own.sd_error].into_iter().zip(moved) {
                if let Some(bound) = error.bound() {
                    *error = error.clone().with_bound((bound + moved) * OUTWARDS);
                }
            }
            own.quantiles = weighed.pairs(index);
        }
        Ok(own)
    }

    /// Bounds of the errors of vᵀz from those of the coordinates: |v_i| times each. `None` where one of them has none.
    pub fn summed_errors(v: &[f64], certificate: &Certificate) -> [Statement; 2] {
        let sum = |pick: &dyn Fn(&MomentStatement) -> &Statement| {
            if certificate.moments.is_empty() {
                let reason = certificate.kl.reason().unwrap_or("the certificate lists no coefficients");
                return Statement::missing(reason);
            }
            let mut weakest: Option<Statement> = None;
            let mut total = 0.0;
            for (v, moment) in v.iter().zip(&certificate.moments).filter(|(v, _)| v.abs() > 0.0) {
                let statement = pick(moment);
                let Some(bound) = statement.bound() else { return statement.clone() };
                total += v.abs() * bound;
                weakest = Some(statement.clone());
            }
            match weakest {
                Some(statement) => statement.with_bound(total * OUTWARDS),
                None => Statement::missing("the functional is zero"),
            }
        };
        [sum(&|moment| &moment.mean_error), sum(&|moment| &moment.sd_error)]
    }
}

#[cfg(test)]
mod tests;
