//! What a model supposes, in sentences.

use crate::record::fit_file::FitFile;
use crate::record::scale::Origin;

/// What the answer of a fit rests on besides the computation.
pub(super) fn of(file: &FitFile) -> Vec<String> {
    let link = match file.model.family.as_str() {
        "gaussian" => {
            "Responses are independent and normal around a linear predictor, with the same noise everywhere."
        }
        "poisson" => "Counts are independent and Poisson, the log of their rate being linear.",
        "gamma" => {
            "Responses are independent and have gamma distributions of one shape, the log of their mean being linear; their sd is the noise times \
             their mean."
        }
        "negbinomial" => {
            "Counts are independent and Poisson, and their rates have gamma distributions of one shape, the log of their mean being linear; the sd \
             of a rate is the noise times its mean."
        }
        "weibull" => {
            "Times to an event are independent and have Weibull distributions of one shape, the log of their hazard being linear; being censored \
             says nothing about the event beyond that it had not come."
        }
        "exponential" if file.model.time_unit.is_some() => {
            "Times to an event are independent, their hazard does not change with time, and its log is linear; being censored says nothing about \
             the event beyond that it had not come."
        }
        "exponential" => "Responses are independent and exponential, the log of their mean being linear.",
        "probit" => "Responses are independent, and the probit of their probability is linear.",
        "cloglog" => {
            "Responses are independent, and the complementary log-log of their probability is linear."
        }
        "binomial" => "Trials are independent, and the logit of their probability is linear.",
        "ordered" => {
            "Responses are independent, and the logit of the probability of a higher level is linear, with the same slopes at every cut between levels \
             (proportional odds)."
        }
        "multinomial" => {
            "Responses are independent, and the log of the probability of each level against the first one's is linear."
        }
        "student" => {
            "Responses are independent, with noise of Student's distribution around a linear predictor, the same everywhere."
        }
        "betabinomial" => {
            "Rows are independent; the probability of a row has a beta distribution, the logit of whose mean is linear, and its trials are independent \
             given that."
        }
        "zipoisson" => {
            "Rows are independent; a row has no count at all with one probability, and else a Poisson count, the log of whose rate is linear."
        }
        _ if file.model.kind.is_density() => {
            "The log density is the program's own: what it assumes is written there."
        }
        _ => "Responses are independent, and the logit of their probability is linear.",
    };
    let mut out = vec![link.to_owned()];
    let curves = file.model.curve_coefficients();
    let curve = "Smooths are cubic splines with a normal prior of their roughness, and the sd stated above.";
    out.extend((curves > 0).then(|| curve.to_owned()));
    if file.model.population + curves < file.names.len() && file.model.population > 0 {
        out.push(
            "Effects of groups are independent and normal around zero, with the spread stated above."
                .to_owned(),
        );
    }
    if file.mixture.is_some() {
        out.push("Scales have the priors stated above, and are integrated over.".to_owned());
    }
    if file.model.scales.iter().any(|scale| scale.origin != Origin::Integrated) {
        out.push(
            "Scales are conditioned on, not integrated over: intervals are narrower than those of full Bayes.".to_owned(),
        );
    }
    if file.model.dropped.rows > 0 {
        out.push("Rows with missing values are left out, as if they were missing at random.".to_owned());
    }
    out.push(
        "The certificate bounds what the computation is off by; it cannot know whether the model is right."
            .to_owned(),
    );
    out
}
