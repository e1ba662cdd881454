//! One verdict from the witnesses.

use super::Witnesses;
use super::limits::{
    ELSEWHERE, FEWEST_EFFECTIVE, GOOD_KL, GOOD_SD_CHANGE, GOOD_SHIFT, HIGHEST_K, KEPT, MOSTLY_KEPT,
    NEARLY_EQUAL, POOR_KL, RESIDUAL, USUAL_K, WIDE_EXCESS,
};

/// How far to trust an answer about which nothing is proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Verdict {
    /// Every witness speaks for the answer as it is.
    #[cfg_attr(feature = "serde", serde(rename = "good"))]
    Good,
    /// The Gaussian is somewhat off; draws weighted by p/q are better.
    #[cfg_attr(feature = "serde", serde(rename = "fair"))]
    Fair,
    /// A witness speaks against the answer, weighted or not.
    #[cfg_attr(feature = "serde", serde(rename = "do not use"))]
    DoNotUse,
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Good => "good",
            Self::Fair => "fair",
            Self::DoNotUse => "do not use",
        })
    }
}

const NOT_A_NUMBER: &str = "a witness is not a number";

fn beyond(value: f64, se: f64, limit: f64) -> bool {
    value - 3.0 * se > limit
}

impl Witnesses {
    /// The verdict, and the reasons in words: those against the answer if there are any.
    pub fn verdict(&self) -> (Verdict, Vec<String>) {
        if let Some(proof) = self.proof.filter(super::Proof::is_enough) {
            return (Verdict::Good, vec![proof.words()]);
        }
        let against = self.against();
        if !against.is_empty() {
            return (Verdict::DoNotUse, against);
        }
        let mut doubts = self.doubts();
        let verdict = match (doubts.is_empty(), self.agreement.settled) {
            (true, Some(false)) | (false, Some(true) | None) => Verdict::Fair,
            // What is off and still moves may end anywhere.
            (false, Some(false)) => Verdict::DoNotUse,
            (true, _) => return (Verdict::Good, self.praise()),
        };
        if self.agreement.settled == Some(false) {
            doubts.push("the search ended before the ELBO was seen to settle".to_owned());
        }
        (verdict, doubts)
    }

    /// Whether log p/q hardly varies.
    fn is_nearly_equal(&self) -> bool {
        self.log_ratio_sd < NEARLY_EQUAL
    }

    /// Whether a small KL is proved. It bounds the mass that q misses, so estimates that speak of mass elsewhere, of
    /// tails or of a large KL are overruled.
    fn kl_is_proved(&self) -> bool {
        self.proof.is_some_and(|proof| proof.bounds_kl())
    }

    /// Whether the weights can be believed.
    fn weights_hold(&self) -> bool {
        let kept = self.effective_draws / self.draws as f64;
        let light = |k: f64| k <= USUAL_K || k <= HIGHEST_K && kept >= KEPT;
        kept >= MOSTLY_KEPT || self.is_nearly_equal() || self.pareto_k.is_some_and(light)
    }

    fn against(&self) -> Vec<String> {
        let mut out = self.against_the_search();
        if self.kl_is_proved() {
            return out;
        }
        let agreement = &self.agreement;
        if agreement.rivals > 0 {
            let places = if agreement.rivals == 1 { "another place has" } else { "other places have" };
            out.push(format!(
                "{places} about the same ELBO, so the posterior has several parts and this is one of them"
            ));
        }
        if agreement.searches_agree == Some(false) {
            out.push("the searches from several starts disagree".to_owned());
        }
        // A witness that is no number speaks against the answer.
        let numbers = [self.wide_excess, self.elsewhere, self.kl, self.effective_draws];
        if numbers.iter().any(|x| x.is_nan()) && out.is_empty() {
            out.push(NOT_A_NUMBER.to_owned());
        }
        if beyond(self.elsewhere, self.elsewhere_se, ELSEWHERE) {
            let percent = 100.0 * self.elsewhere / (1.0 + self.elsewhere);
            out.push(format!(
                "a climb found a place with {percent:.0} % of the mass, which the answer misses"
            ));
        }
        if beyond(self.wide_excess, self.wide_excess_se, WIDE_EXCESS) {
            let percent = 100.0 * self.wide_excess;
            out.push(format!("draws from farther out find {percent:.0} % more mass than the answer's own"));
        }
        match self.pareto_k {
            _ if self.weights_hold() => {}
            Some(k) => out.push(format!("the weights have a heavy tail (k̂ = {k:.2} above {USUAL_K})")),
            None => out.push("the weights are too few or too uneven to be judged".to_owned()),
        }
        if self.effective_draws < FEWEST_EFFECTIVE {
            out.push(format!(
                "the weights leave {:.0} effective draws of {}",
                self.effective_draws, self.draws
            ));
        }
        if self.kl > POOR_KL {
            out.push(format!("the estimated KL is {:.2} nats", self.kl));
        }
        out
    }

    /// What speaks against the answer whatever is proved about its KL: it is not where the search wanted to go.
    fn against_the_search(&self) -> Vec<String> {
        let mut out = Vec::new();
        if [self.residual, self.mean_shift, self.sd_change].iter().any(|x| x.is_nan()) {
            out.push(NOT_A_NUMBER.to_owned());
        }
        if beyond(self.residual, self.residual_se, RESIDUAL) {
            out.push(format!(
                "the search has not arrived: the mean still wants to move by {:.2} sd",
                self.residual
            ));
        }
        out
    }

    fn doubts(&self) -> Vec<String> {
        let mut out = Vec::new();
        if self.kl_is_proved() && !self.weights_hold() {
            return out;
        }
        if self.mean_shift > GOOD_SHIFT {
            out.push(format!("the weights move a mean by {:.2} sd", self.mean_shift));
        }
        if self.sd_change > GOOD_SD_CHANGE {
            out.push(format!("the weights change an sd by {:.0} %", 100.0 * self.sd_change.exp_m1()));
        }
        if self.kl > GOOD_KL && !self.kl_is_proved() {
            out.push(format!("the estimated KL is {:.2} nats", self.kl));
        }
        out
    }

    fn praise(&self) -> Vec<String> {
        let mut out = Vec::new();
        out.extend(self.proof.filter(super::Proof::bounds_kl).map(|proof| proof.words()));
        let Self { mean_shift, sd_change, .. } = self;
        out.push(format!(
            "weights move means by at most {mean_shift:.2} sd and sds by at most {:.0} %",
            100.0 * sd_change.exp_m1()
        ));
        let agreement = &self.agreement;
        if agreement.beginnings > 0 {
            out.push(format!("{} of {} beginnings agree", agreement.at_the_answer, agreement.beginnings));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certify::trust::{Agreement, Proof};

    /// Witnesses of a very good answer.
    fn fine() -> Witnesses {
        Witnesses {
            draws: 20_000,
            log_ratio_sd: 0.2,
            pareto_k: Some(0.3),
            effective_draws: 18_000.0,
            kl: 0.02,
            kl_se: 0.001,
            mean_shift: 0.01,
            sd_change: 0.02,
            residual: 0.01,
            residual_se: 0.002,
            wide_excess: 0.0,
            wide_excess_se: 0.02,
            elsewhere: 0.0,
            elsewhere_se: 0.0,
            proof: None,
            agreement: Agreement {
                beginnings: 8,
                at_the_answer: 8,
                rivals: 0,
                settled: Some(true),
                searches_agree: None,
            },
        }
    }

    #[test]
    fn every_witness_can_speak_against_an_answer() {
        assert_eq!(fine().verdict().0, Verdict::Good);
        let agreement = fine().agreement;
        let bad = [
            Witnesses { pareto_k: Some(0.9), effective_draws: 5_000.0, ..fine() },
            Witnesses { pareto_k: Some(0.75), effective_draws: 900.0, ..fine() },
            Witnesses { pareto_k: None, effective_draws: 5_000.0, ..fine() },
            Witnesses { effective_draws: 50.0, ..fine() },
            Witnesses { kl: 2.0, ..fine() },
            Witnesses { residual: 0.5, ..fine() },
            Witnesses { wide_excess: 0.5, ..fine() },
            Witnesses { elsewhere: 0.1, elsewhere_se: 0.01, ..fine() },
            Witnesses { elsewhere: f64::NAN, ..fine() },
            Witnesses { wide_excess: f64::NAN, ..fine() },
            Witnesses { mean_shift: f64::NAN, ..fine() },
            Witnesses { kl: f64::NAN, ..fine() },
            Witnesses { agreement: Agreement { rivals: 1, ..agreement }, ..fine() },
            Witnesses { agreement: Agreement { searches_agree: Some(false), ..agreement }, ..fine() },
        ];
        for witnesses in bad {
            let (verdict, reasons) = witnesses.verdict();
            assert!(verdict == Verdict::DoNotUse && reasons.len() == 1, "{witnesses:?} {reasons:?}");
        }
        let doubtful = [
            Witnesses { pareto_k: Some(0.75), effective_draws: 5_000.0, mean_shift: 0.2, ..fine() },
            Witnesses { mean_shift: 0.2, ..fine() },
            Witnesses { sd_change: 0.3, ..fine() },
            Witnesses { kl: 0.3, ..fine() },
            Witnesses { agreement: Agreement { settled: Some(false), ..agreement }, ..fine() },
        ];
        let unsettled = Agreement { settled: Some(false), ..agreement };
        let both = Witnesses { agreement: unsettled, ..doubtful[0] };
        assert_eq!(both.verdict().0, Verdict::DoNotUse, "{both:?}");
        for witnesses in doubtful {
            assert_eq!(witnesses.verdict().0, Verdict::Fair, "{witnesses:?}");
        }
    }

    #[test]
    fn nearly_equal_weights_are_good_whatever_k_hat_says() {
        let equal = Witnesses { log_ratio_sd: 1e-3, pareto_k: Some(3.0), ..fine() };
        assert_eq!(equal.verdict().0, Verdict::Good);
        let mostly = Witnesses { pareto_k: Some(0.9), ..fine() };
        assert_eq!(mostly.verdict().0, Verdict::Good);
        // But not if the posterior has another part.
        let agreement = Agreement { rivals: 1, ..equal.agreement };
        assert_eq!(Witnesses { agreement, ..equal }.verdict().0, Verdict::DoNotUse);
        // Noise alone does not condemn.
        let noisy =
            Witnesses { wide_excess: 0.3, wide_excess_se: 0.1, residual: 0.2, residual_se: 0.05, ..fine() };
        assert_eq!(noisy.verdict().0, Verdict::Good);
    }

    #[test]
    fn what_is_proved_comes_before_what_is_estimated() {
        let proof = Proof { kl: Some(0.5), mean_error: Some(0.09), sd_error: Some(0.1) };
        // Estimates that would each condemn the answer.
        let bad = Witnesses {
            pareto_k: Some(0.9),
            effective_draws: 50.0,
            kl: 2.0,
            wide_excess: 0.5,
            elsewhere: 0.5,
            agreement: Agreement { rivals: 1, searches_agree: Some(false), ..fine().agreement },
            ..fine()
        };
        let (verdict, reasons) = Witnesses { proof: Some(proof), ..bad }.verdict();
        assert_eq!(verdict, Verdict::Good);
        assert!(reasons[0].contains("proved") && reasons[0].contains("0.090 sd"), "{reasons:?}");
        // Bounds too wide for that prove nothing about the verdict.
        for wide in [Proof { mean_error: Some(0.11), ..proof }, Proof { sd_error: Some(0.21), ..proof }] {
            assert_eq!(Witnesses { proof: Some(wide), ..bad }.verdict().0, Verdict::DoNotUse, "{wide:?}");
        }
        // A small KL overrules what speaks of mass elsewhere, not a search that has not arrived or weights that hold.
        let kl = Some(Proof { kl: Some(0.05), mean_error: None, sd_error: None });
        let (verdict, reasons) = Witnesses { proof: kl, ..bad }.verdict();
        assert!(verdict == Verdict::Good && reasons[0].contains("KL is at most 0.050"), "{reasons:?}");
        assert_eq!(Witnesses { proof: kl, residual: 0.5, ..bad }.verdict().0, Verdict::DoNotUse);
        assert_eq!(Witnesses { proof: kl, mean_shift: 0.2, ..fine() }.verdict().0, Verdict::Fair);
        let large = Some(Proof { kl: Some(0.09), mean_error: None, sd_error: None });
        assert_eq!(Witnesses { proof: large, ..bad }.verdict().0, Verdict::DoNotUse);
        assert_eq!(Witnesses { proof: large, ..fine() }.verdict().0, Verdict::Good);
    }
}
