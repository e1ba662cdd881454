//! One table: key → statement, null hypothesis, experiment.

use crate::outcome::{Outcome, Verdict};
use crate::trial::Trial;
use crate::{certificates, errata, expectations, noise, rates, steps, structure, studies};
use provi::Result;
use std::time::{Duration, Instant};

/// A chapter of the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chapter {
    /// What is known of ∇²V, and what follows.
    Structure,
    /// How noisy the estimators are.
    Noise,
    /// The prox and the projections.
    Steps,
    /// How fast the methods converge.
    Rates,
    /// What is proved about an answer.
    Certificates,
    /// Gaussian expectations without draws.
    Expectations,
    /// Questions around the theory.
    Studies,
    /// Where the printed text will not do.
    Errata,
}

impl Chapter {
    /// Every chapter, in order.
    pub const ALL: [Self; 8] = [
        Self::Structure,
        Self::Noise,
        Self::Steps,
        Self::Rates,
        Self::Certificates,
        Self::Expectations,
        Self::Studies,
        Self::Errata,
    ];

    /// Its heading.
    pub fn title(self) -> &'static str {
        match self {
            Self::Structure => "Structure",
            Self::Noise => "Noise",
            Self::Steps => "Steps",
            Self::Rates => "Rates",
            Self::Certificates => "Certificates",
            Self::Expectations => "Exact expectations",
            Self::Studies => "Studies",
            Self::Errata => "Errata",
        }
    }
}

/// A statement on trial.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The key of the ledger, or the name of a study.
    pub key: &'static str,
    /// Where it belongs.
    pub chapter: Chapter,
    /// The null hypothesis: what a violation would refute.
    pub null: &'static str,
    /// What its claims are multiplied with when a fault is planted; an experiment must see an error of this size.
    pub fault: f64,
    experiment: fn(&Trial) -> Result<Outcome>,
}

/// A statement with what its experiment found.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The statement.
    pub entry: Entry,
    /// The numbers.
    pub outcome: Outcome,
    /// How long it took.
    pub time: Duration,
}

impl Finding {
    /// What the numbers say.
    pub fn verdict(&self) -> Verdict {
        self.outcome.verdict()
    }
}

impl Entry {
    /// Runs the experiment, with wrong constants if `planted`.
    pub fn run(&self, trial: Trial, planted: bool) -> Result<Finding> {
        let begin = Instant::now();
        let trial = if planted { trial.with_fault(self.fault) } else { trial };
        let outcome = (self.experiment)(&trial)?;
        Ok(Finding { entry: *self, outcome, time: begin.elapsed() })
    }
}

const fn entry(
    key: &'static str,
    chapter: Chapter,
    null: &'static str,
    fault: f64,
    experiment: fn(&Trial) -> Result<Outcome>,
) -> Entry {
    Entry { key, chapter, null, fault, experiment }
}

/// Every statement, in the order of the ledger.
pub const ENTRIES: &[Entry] = &[
    entry(
        "curvature",
        Chapter::Structure,
        "μ ≤ λ_min(∇²V), λ_max(∇²V) ≤ M and H_lo ⪯ ∇²V ⪯ H_hi wherever a search looks",
        0.5,
        structure::curvature,
    ),
    entry(
        "structure",
        Chapter::Structure,
        "l is μ-strongly convex and M-smooth, h convex on 𝒯ᵈ and 𝒮ᵈ; σ_min(C*) ≥ 1/√M; ‖w*−w̄‖² ≤ d/μ; H_lo ⪯ (C*C*ᵀ)⁻¹ ⪯ H_hi",
        0.5,
        structure::structure,
    ),
    entry(
        "linear-predictor",
        Chapter::Structure,
        "θ_min ≤ φ'' ≤ θ_max for every family, H_lo = Λ + θ_min AᵀWA, H_hi = Λ + θ_max AᵀWA",
        0.5,
        structure::linear_predictor,
    ),
    entry(
        "hierarchical",
        Chapter::Structure,
        "μ = 2sr/(τ + √(τ² − 4sr)), τ = s + (n+1)r, is the least eigenvalue of the joint prior",
        0.5,
        structure::hierarchical,
    ),
    entry(
        "whiten",
        Chapter::Structure,
        "no coordinates have κ̃ below λ_max(H_lo⁻¹H_hi); functionals differ by at most ‖Pᵀv‖·‖w̃−w̃*‖; f does not change",
        0.5,
        structure::whiten,
    ),
    entry(
        "noise-energy",
        Chapter::Noise,
        "E‖g‖² ≤ 2(d+3)M²(‖w−w*‖² + ‖w*−w̄‖²) for one energy draw, everywhere; before the relaxation it is attained by a quadratic",
        0.5,
        noise::energy,
    ),
    entry(
        "noise-entropy",
        Chapter::Noise,
        "E‖g‖² ≤ 4(d+3)M²(‖w−w*‖² + ‖w*−w̄‖²) + 2dL for one entropy draw, on 𝒲_L and on the triangular set",
        0.3,
        noise::entropy,
    ),
    entry(
        "noise-stl",
        Chapter::Noise,
        "E‖g‖² ≤ 4(d+3)(K²+2M²)‖w−w*‖² + 4S* for one draw of sticking the landing, on 𝒲_M",
        0.02,
        noise::stl,
    ),
    entry(
        "stl-k",
        Chapter::Noise,
        "‖∇²r‖ ≤ K = min{λ_max(H_hi − H_lo), M − μ} for the residual r = log p − log q_{w*}",
        0.5,
        noise::smoothness,
    ),
    entry(
        "stl-floor",
        Chapter::Noise,
        "S* ≤ c_d K² tr H_lo⁻¹: the noise of sticking the landing at w* vanishes with K",
        0.001,
        noise::floor,
    ),
    entry(
        "noise-centred",
        Chapter::Noise,
        "E‖g_N(w) − ∇l(w*)‖² ≤ (max{0, 1−2/N}M² + 2(d+3)M²/N)‖w−w*‖² + 2V*/N for N energy draws, V* ≤ (d+3)M²‖w*−w̄‖²",
        0.1,
        noise::centred,
    ),
    entry(
        "noise-batch",
        Chapter::Noise,
        "the means of N entropy and STL draws have the noise stated, 1/N at w*",
        0.05,
        noise::batch,
    ),
    entry(
        "noise-subsample",
        Chapter::Noise,
        "E‖g‖² ≤ Σ_n (M_n²/π_n)[(d+1)‖m−z̄_n‖² + (d+3)‖C‖²] for one datum at a time; attained by quadratics",
        0.5,
        noise::subsample,
    ),
    entry(
        "prox-h",
        Chapter::Steps,
        "the step lands on the minimiser of −log x + (x−c)²/2γ and is non-expansive",
        0.5,
        steps::prox,
    ),
    entry(
        "proj-sym",
        Chapter::Steps,
        "clamping eigenvalues at 1/√M is the nearest point of 𝒲_M, non-expansive and idempotent",
        0.5,
        steps::proj_symmetric,
    ),
    entry(
        "proj-tri",
        Chapter::Steps,
        "{C ∈ 𝒯ᵈ, C_ii ≥ 1/√M} contains w*, clamping the diagonal projects on it, and ‖∇h‖² ≤ dM there",
        0.5,
        steps::proj_triangular,
    ),
    entry(
        "recursion",
        Chapter::Rates,
        "E‖w_T−w*‖² ≤ e_T, e⁺ = (1 − 2γμ + γ²a)e + γ²b along the steps taken, for every method and schedule",
        0.5,
        rates::recursion,
    ),
    entry(
        "schedule-optimal",
        Chapter::Rates,
        "γ = μe/(ae+b) minimises the recursion, and runs stay below it",
        0.4,
        rates::schedule_optimal,
    ),
    entry(
        "rate-prox-strong",
        Chapter::Rates,
        "Prox-SGD, constant γ ≤ μ/2a: E‖w_T−w*‖² ≤ (1−γμ)^T e_0 + 2γσ²/μ",
        1e-3,
        rates::prox_strong,
    ),
    entry(
        "rate-prox-anytime",
        Chapter::Rates,
        "Prox-SGD, anytime: E‖w_T−w*‖² ≤ 16⌈a/μ²⌉²e_0/T² + 8σ²/(μ²T)",
        1e-3,
        rates::prox_anytime,
    ),
    entry(
        "rate-prox-log",
        Chapter::Rates,
        "Prox-SGD, γ = A log T/T: E‖w_T−w*‖² ≤ e_0/T + 2A log T σ²/(μT)",
        1e-3,
        rates::prox_log,
    ),
    entry(
        "rate-prox-convex",
        Chapter::Rates,
        "Prox-SGD, γ = 1/√(aT): E f(w̄_T) − f* ≤ (2a e_0 + b)/√(aT)",
        0.02,
        rates::prox_convex,
    ),
    entry(
        "rate-proj-strong",
        Chapter::Rates,
        "Proj-SGD, constant γ ≤ μ/2a: E‖w_T−w*‖² ≤ (1−μγ/2)^T e_0 + 2γb/μ",
        0.02,
        rates::proj_strong,
    ),
    entry(
        "rate-proj-anytime",
        Chapter::Rates,
        "Proj-SGD, anytime: E‖w_T−w*‖² ≤ 16⌈2a/μ²⌉²e_0/T² + 16b/(μ²T)",
        3e-4,
        rates::proj_anytime,
    ),
    entry(
        "rate-proj-convex",
        Chapter::Rates,
        "Proj-SGD, γ = √(2/(aT)): E f(w̄_T) − f* ≤ √(2a/T)e_0 + b/√(2aT)",
        0.02,
        rates::proj_convex,
    ),
    entry(
        "rate-proj-stl-gaussian",
        Chapter::Rates,
        "STL on a Gaussian target, γ ≤ μ/2a: E‖w_T−w*‖² ≤ (1−μγ/2)^T e_0",
        1e-3,
        rates::stl_gaussian,
    ),
    entry(
        "cert-gap",
        Chapter::Certificates,
        "f(w) − f* ≤ ½‖G‖² in the dual norm of H_lo",
        0.5,
        certificates::gap,
    ),
    entry("cert-kl", Chapter::Certificates, "KL(q‖p) ≤ ½F, F = E_q[sᵀH_lo⁻¹s]", 0.5, certificates::kl),
    entry(
        "cert-moments",
        Chapter::Certificates,
        "mean and sd of any functional are within √(vᵀH_lo⁻¹v)·√F; TV ≤ min{√(KL/2), √(1−e^{−KL})}",
        0.5,
        certificates::moments,
    ),
    entry("cert-evidence", Chapter::Certificates, "−f ≤ log p(x) ≤ −f + ½F", 0.5, certificates::evidence),
    entry(
        "confidence",
        Chapter::Certificates,
        "F ≤ (√Ȳ + L√τ)² + L²/n fails with probability at most δ",
        0.2,
        certificates::confidence,
    ),
    entry(
        "cert-local",
        Chapter::Certificates,
        "∫_{Bᶜ}‖x‖^j dp ≤ T_j and KL(q_B‖p) ≤ ½F_B + log(1+T_0)",
        0.5,
        certificates::ball,
    ),
    entry(
        "local-kl",
        Chapter::Certificates,
        "KL(q‖p) ≤ K_B + log(1−α) + (J − αf)/(1−α)",
        0.5,
        certificates::local_kl,
    ),
    entry(
        "local-tv",
        Chapter::Certificates,
        "TV(q,p) ≤ α + min{√(K_B/2), √(1−e^{−K_B})}",
        0.5,
        certificates::local_tv,
    ),
    entry(
        "local-evidence",
        Chapter::Certificates,
        "E_{q_B}D − log(1−α) ∈ [−log p(x), −log p(x) + K_B]",
        0.5,
        certificates::local_evidence,
    ),
    entry(
        "local-moments",
        Chapter::Certificates,
        "|E_p − E_q| ≤ ω + aT_1, and sd_p within its local interval",
        0.5,
        certificates::local_moments,
    ),
    entry(
        "estimate",
        Chapter::Certificates,
        "no bound is claimed; where k̂ < 0.7 the estimate of log p(x) is within six of its standard errors",
        0.1,
        certificates::estimate,
    ),
    entry(
        "auto",
        Chapter::Certificates,
        "no theorem about the steps; the answer is a fixed point, and its certified gap covers the true one",
        0.5,
        certificates::auto,
    ),
    entry(
        "exact",
        Chapter::Expectations,
        "E V, E∇V, E∇²V reduce to one-dimensional integrals, within the stated error",
        0.5,
        expectations::exact,
    ),
    entry(
        "exact-bound",
        Chapter::Expectations,
        "the trapezoid rule errs by at most 2e^{a²/2}/(e^{2πa/h} − 1) + 2Q(T)",
        0.01,
        expectations::exact_bound,
    ),
    entry(
        "certificates",
        Chapter::Studies,
        "no claim of any audit is below the truth (δ = 10⁻⁶ each), over data sizes and priors",
        0.01,
        certificates::coverage,
    ),
    entry(
        "scale",
        Chapter::Studies,
        "the steps to an accuracy stay below the plan's, which grow like (d+3)κ²",
        0.1,
        studies::scale,
    ),
    entry(
        "why-steps",
        Chapter::Studies,
        "with a prox or a projection no run leaves the domain, at any step size; plain SGD does",
        0.5,
        studies::why_steps,
    ),
    entry(
        "score-path",
        Chapter::Studies,
        "on log p = −½z² + √ε sin(z/ε) the score estimator's noise stays below its bound, the path estimator's is at least 1/4ε",
        0.5,
        noise::trade_places,
    ),
    entry(
        "errata",
        Chapter::Errata,
        "each printed form fails where the table says so, and the form used holds there",
        0.2,
        errata::errata,
    ),
];

/// The statement with this key.
pub fn find(key: &str) -> Option<Entry> {
    ENTRIES.iter().find(|e| e.key == key).copied()
}
