//! The texts of `provi explain`: short, in plain words, and claiming no more than the ledger.

use provi_table::nearest;

use crate::failure::{Failure, Result};

/// Topics by name, in the order they are listed; the first line of a text says what it is about.
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
    "evidence",
    "compare",
    "elbo",
    "estimates",
    "khat",
    "draws",
    "gaussian",
    "conditional",
    "confidence",
    "provenance",
    "curvature",
    "local",
    "formula",
    "families",
    "priors",
    "methods",
    "plan",
    "subsample",
    "seed",
];

/// Other words for them.
const SYNONYMS: &[(&str, &str)] = &[
    ("k̂", "khat"),
    ("k-hat", "khat"),
    ("pareto", "khat"),
    ("psis", "khat"),
    ("total-variation", "tv"),
    ("p(>0)", "sign"),
    ("bayes-factor", "compare"),
    ("family", "families"),
    ("prior", "priors"),
    ("method", "methods"),
    ("mu", "curvature"),
    ("kappa", "curvature"),
    ("delta", "confidence"),
    ("log-evidence", "evidence"),
    ("contrasts", "contrast"),
    ("accuracy", "gap"),
    ("sampling", "subsample"),
    ("subsampling", "subsample"),
    ("minibatch", "subsample"),
];

/// Every topic with its first line.
pub(crate) fn list() -> String {
    let mut text = "provi explain TOPIC, where TOPIC is one of\n\n".to_owned();
    for (name, body) in TOPICS {
        let about = body.lines().next().and_then(|line| line.split_once(": ")).map_or("", |(_, about)| about);
        text.push_str(&format!("  {name:<12} {about}\n"));
    }
    text + "\n`provi completions SHELL` and `provi man` are for shells and manual pages.\n"
}

/// The text of one topic.
pub(crate) fn find(word: &str) -> Result<&'static str> {
    let wanted = word.trim().to_lowercase().replace([' ', '_'], "-");
    let name = SYNONYMS.iter().find(|(other, _)| *other == wanted).map_or(wanted.as_str(), |(_, name)| name);
    TOPICS.iter().find(|(topic, _)| *topic == name).map(|(_, text)| *text).ok_or_else(|| {
        let known = TOPICS.iter().chain(SYNONYMS).map(|(name, _)| *name);
        Failure::UnknownTopic { word: word.to_owned(), nearest: nearest(word, known) }
    })
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
