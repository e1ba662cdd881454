//! The texts of `provi explain`: short, in plain words, claiming no more than the ledger.

use provi_table::nearest;
use provi_verify::registry::{ENTRIES, Entry};

use crate::failure::{Failure, Result};
use crate::output::wrap::wrapped;

/// Topics by name, in the order in which they are listed. The first line of a text says what it is about.
macro_rules! topics {
    ($($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("explain/", $name, ".txt")))),+]
    };
}

const TOPICS: &[(&str, &str)] = topics![
    "certificate",
    "gap",
    "kl",
    "tv",
    "moments",
    "digits",
    "sign",
    "interval",
    "contrast",
    "effects",
    "evidence",
    "compare",
    "loo",
    "elbo",
    "estimates",
    "khat",
    "draws",
    "exact-draws",
    "gaussian",
    "conditional",
    "scales",
    "confidence",
    "provenance",
    "curvature",
    "local",
    "formula",
    "smooths",
    "families",
    "priors",
    "prior-from",
    "prior-predictive",
    "sensitivity",
    "calibrate",
    "methods",
    "recipes",
    "location-scale",
    "run",
    "plan",
    "subsample",
    "seed",
    "memory",
    "checks",
    "status",
];

/// Other words for the topics.
const SYNONYMS: &[(&str, &str)] = &[
    ("effect", "effects"),
    ("elpd", "loo"),
    ("elpd-loo", "loo"),
    ("p-loo", "loo"),
    ("waic", "loo"),
    ("loo-pit", "loo"),
    ("cross-validation", "loo"),
    ("margins", "effects"),
    ("marginal-effects", "effects"),
    ("slopes", "effects"),
    ("risk-ratio", "effects"),
    ("odds-ratio", "effects"),
    ("k̂", "khat"),
    ("k-hat", "khat"),
    ("pareto", "khat"),
    ("psis", "khat"),
    ("total-variation", "tv"),
    ("p(>0)", "sign"),
    ("bayes-factor", "compare"),
    ("smooth", "smooths"),
    ("s", "smooths"),
    ("spline", "smooths"),
    ("splines", "smooths"),
    ("curve", "smooths"),
    ("curves", "smooths"),
    ("sd-of-the-curve", "smooths"),
    ("family", "families"),
    ("prior", "priors"),
    ("calibration", "calibrate"),
    ("sbc", "calibrate"),
    ("simulation-based-calibration", "calibrate"),
    ("ranks", "calibrate"),
    ("sequential", "prior-from"),
    ("method", "methods"),
    ("mu", "curvature"),
    ("kappa", "curvature"),
    ("delta", "confidence"),
    ("log-evidence", "evidence"),
    ("contrasts", "contrast"),
    ("accuracy", "gap"),
    ("table-accuracy", "moments"),
    ("sampling", "subsample"),
    ("subsampling", "subsample"),
    ("minibatch", "subsample"),
    ("certain", "confidence"),
    ("failure-probability", "confidence"),
    ("audit", "confidence"),
    ("gap-to-best-gaussian", "gap"),
    ("best-gaussian", "gap"),
    ("optimum", "gap"),
    ("kl-to-posterior", "kl"),
    ("posterior", "kl"),
    ("nats", "kl"),
    ("mean", "moments"),
    ("mean-±", "moments"),
    ("sd", "moments"),
    ("sd-±", "moments"),
    ("±", "moments"),
    ("p-±", "sign"),
    ("2.5%", "interval"),
    ("97.5%", "interval"),
    ("level", "interval"),
    ("log-bf", "compare"),
    ("decided", "compare"),
    ("estimate", "estimates"),
    ("standard-error", "estimates"),
    ("pareto-k̂", "khat"),
    ("reliability", "khat"),
    ("good", "khat"),
    ("usable", "khat"),
    ("unreliable", "khat"),
    ("scale", "scales"),
    ("noise", "scales"),
    ("noise-sd", "scales"),
    ("sd-between-groups", "scales"),
    ("group-scale", "scales"),
    ("empirical-bayes", "scales"),
    ("proved", "provenance"),
    ("declared", "provenance"),
    ("estimated", "provenance"),
    ("μ", "curvature"),
    ("m", "curvature"),
    ("κ", "curvature"),
    ("k", "curvature"),
    ("d", "curvature"),
    ("n", "curvature"),
    ("h-lo", "curvature"),
    ("h-hi", "curvature"),
    ("tr-h-lo⁻¹", "curvature"),
    ("constants", "curvature"),
    ("convexity", "curvature"),
    ("smoothness", "curvature"),
    ("condition", "curvature"),
    ("model", "families"),
    ("gaussian-family", "families"),
    ("bernoulli", "families"),
    ("probit", "families"),
    ("cloglog", "families"),
    ("binomial", "families"),
    ("poisson", "families"),
    ("gamma", "families"),
    ("exponential", "families"),
    ("weibull", "families"),
    ("survival", "families"),
    ("censored", "families"),
    ("hazard", "families"),
    ("negbinomial", "families"),
    ("overdispersion", "families"),
    ("ordered", "families"),
    ("ordinal", "families"),
    ("proportional-odds", "families"),
    ("gaps", "scales"),
    ("cut-points", "scales"),
    ("shape", "families"),
    ("auto-method", "methods"),
    ("prox-energy", "methods"),
    ("proj-entropy", "methods"),
    ("proj-entropy-triangular", "methods"),
    ("proj-stl", "methods"),
    ("prox-controlled", "methods"),
    ("proj-controlled", "methods"),
    ("control-variate", "methods"),
    ("proj-adaptive", "methods"),
    ("proj-adaptive-stl", "methods"),
    ("natural-gradient", "recipes"),
    ("bures-wasserstein", "recipes"),
    ("batch-and-match", "recipes"),
    ("dowg", "recipes"),
    ("unproven", "recipes"),
    ("recipe", "recipes"),
    ("base-laws", "location-scale"),
    ("student-t", "location-scale"),
    ("laplace-law", "location-scale"),
    ("steps", "run"),
    ("seconds", "run"),
    ("stopped-early", "run"),
    ("bound", "plan"),
    ("promise", "plan"),
    ("distance", "plan"),
    ("schedule", "plan"),
    ("average", "plan"),
    ("coordinates", "plan"),
    ("e₀", "plan"),
    ("noise-a,-b", "plan"),
    ("prior-sensitivity", "sensitivity"),
    ("moves-by", "sensitivity"),
    ("exit-status", "status"),
    ("exit", "status"),
];

/// Every topic with its first line.
pub(crate) fn list() -> String {
    let mut text = "provi explain TOPIC, where TOPIC is one of\n\n".to_owned();
    for (name, body) in TOPICS {
        let about = body.lines().next().and_then(|line| line.split_once(": ")).map_or("", |(_, about)| about);
        text.push_str(&format!("  {name:<12} {about}\n"));
    }
    text + "\nAny word or [key] of the output will do, as in `provi explain cert-gap`.\n"
}

/// The text of a topic, or the statement behind a key such as `[cert-gap]`.
pub(crate) fn find(word: &str) -> Result<String> {
    let wanted = word.trim().trim_matches(['[', ']', ',', ':']).to_lowercase().replace([' ', '_'], "-");
    let name = SYNONYMS.iter().find(|(other, _)| *other == wanted).map_or(wanted.as_str(), |(_, name)| name);
    let topic = TOPICS.iter().find(|(topic, _)| *topic == name).map(|(_, text)| (*text).to_owned());
    let key = || ENTRIES.iter().find(|entry| entry.key == name).map(statement);
    topic.or_else(key).ok_or_else(|| {
        let known = TOPICS.iter().chain(SYNONYMS).map(|(name, _)| *name);
        let known = known.chain(ENTRIES.iter().map(|entry| entry.key));
        Failure::UnknownTopic { word: word.to_owned(), nearest: nearest(word, known) }
    })
}

/// What a key of the ledger means.
fn statement(entry: &Entry) -> String {
    format!(
        "{}: a statement of the ledger, chapter {}.\n\n{}\n{}",
        entry.key,
        entry.chapter.title(),
        wrapped("", 0, &format!("{}.", entry.null)),
        wrapped(
            "",
            0,
            &format!(
                "docs/theory.md has its proof under [{0}]; `provi verify {0}` tries it by experiment.",
                entry.key
            )
        )
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use unicode_width::UnicodeWidthStr;

    #[test]
    fn every_text_is_short_and_begins_with_its_name() {
        for (name, text) in TOPICS {
            assert!(text.starts_with(&format!("{name}: ")), "{name}");
            assert!(text.lines().count() <= 20, "{name}");
            assert!(text.lines().all(|line| line.width() <= 80), "{name}");
        }
        assert!(list().lines().all(|line| line.width() <= 80), "{}", list());
    }

    #[test]
    fn other_words_lead_to_a_text_and_none_hides_one() {
        for (word, name) in SYNONYMS {
            assert!(find(word).unwrap().starts_with(&format!("{name}: ")));
            assert!(TOPICS.iter().all(|(topic, _)| topic != word));
        }
        assert!(find("Total variation").unwrap().starts_with("tv: "));
    }

    /// Labels of lines, headings of columns and words of the certificate, as `fit`, `summary`, `certify`, `compare`, `plan`
    /// and `constants` print them.
    const PRINTED: &str = "model; prior; scale; ELBO; run; bound; memory; certificate; gap to best Gaussian; \
        KL to posterior; total variation; moments; log evidence; estimate; Pareto k̂; mean; mean ±; sd; sd ±; 2.5%; 97.5%; \
        P(>0); P ±; digits; contrasts; certain; proved; declared; estimated; empirical Bayes; noise sd; \
        sd between groups; sd of the curve; curves; optimum; good; usable; unreliable; steps; seed; stopped early; prior sensitivity; moves by; \
        log BF; decided; method; coordinates; schedule; average; e₀; noise a, b; μ; M; κ; K; d; N; H_lo; H_hi; tr H_lo⁻¹; \
        bernoulli; probit; cloglog; binomial; poisson; negbinomial; gamma; exponential; weibull; prox-energy; proj-entropy; proj-entropy-triangular; proj-stl; \
        prox-controlled; proj-controlled; proj-adaptive; proj-adaptive-stl; natural-gradient; bures-wasserstein; batch-and-match; dowg; unproven; recipe";

    #[test]
    fn every_word_and_key_that_is_printed_has_an_explanation() {
        for word in PRINTED.split(';').map(str::trim) {
            assert!(find(word).is_ok(), "{word}");
        }
        for entry in ENTRIES {
            assert!(find(&format!("[{}]", entry.key)).is_ok(), "{}", entry.key);
        }
    }

    #[test]
    fn every_key_in_a_recorded_output_has_an_explanation() {
        let tests = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
        let guide = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide");
        let is_key =
            |word: &str| word.contains('-') && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
        let mut keys = 0;
        for folder in [tests, guide] {
            for file in std::fs::read_dir(folder).unwrap() {
                let Ok(text) = std::fs::read_to_string(file.unwrap().path()) else { continue };
                for key in text.split('[').skip(1).filter_map(|rest| Some(rest.split_once(']')?.0)) {
                    if is_key(key) {
                        keys += 1;
                        assert!(find(key).is_ok(), "[{key}]");
                    }
                }
            }
        }
        assert!(keys > 20, "{keys}");
    }

    #[test]
    fn keys_that_are_named_are_in_the_ledger() {
        let ledger = include_str!("../../../docs/theory.md");
        for (name, text) in TOPICS {
            for key in text.split('[').skip(1).filter_map(|rest| rest.split_once(']')).map(|(key, _)| key) {
                let mut entries = ledger.lines().filter_map(|line| line.strip_prefix("### "));
                assert!(entries.any(|entry| entry.split(", ").any(|k| k == key)), "{name}: [{key}]");
            }
        }
    }
}
