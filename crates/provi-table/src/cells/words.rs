//! The user's own words for "no value".

use std::collections::HashSet;

use super::is_missing;

/// Doubles hold every whole number up to here: 2⁵³.
pub(crate) const EXACT: f64 = 9_007_199_254_740_992.0;

/// The texts that mean "no value": the usual ones, and those that the user adds.
///
/// A cell is missing if its text is one of the words, or if both are numbers of the same value: `-9` also matches
/// `-9.0`, whether the cell comes from text or from a file of numbers.
#[derive(Debug, Clone, Default)]
pub(crate) struct MissingWords {
    texts: HashSet<String>,
    numbers: Vec<f64>,
}

impl MissingWords {
    pub(crate) fn new(words: &[String]) -> Self {
        let texts: HashSet<String> = words.iter().map(|word| word.trim().to_owned()).collect();
        // From 2⁵³ on, neighbouring whole numbers share a double: such words match by their digits only.
        let number = |text: &String| text.parse().ok().filter(|x: &f64| x.abs() < EXACT || x.is_infinite());
        let numbers = texts.iter().filter_map(number).collect();
        Self { texts, numbers }
    }

    /// Whether the user has added none.
    pub(crate) fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Whether a cell with that text has no value.
    pub(crate) fn mean_missing(&self, text: &str) -> bool {
        is_missing(text) || self.names(text)
    }

    /// Whether it is one of the user's own words.
    pub(crate) fn names(&self, text: &str) -> bool {
        !self.texts.is_empty()
            && (self.texts.contains(text)
                || (!self.numbers.is_empty() && text.parse().is_ok_and(|x| self.names_number(x))))
    }

    /// Whether one of the user's own words is that number.
    pub(crate) fn names_number(&self, value: f64) -> bool {
        self.numbers.iter().any(|number| (number + 0.0).to_bits() == (value + 0.0).to_bits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_counts_by_its_text_and_a_number_by_its_value() {
        let words = MissingWords::new(&["-9".to_owned(), " none ".to_owned(), "9007199254740993".to_owned()]);
        for text in ["-9", "-9.0", "-9e0", "none", "9007199254740993", "NA", ""] {
            assert!(words.mean_missing(text), "{text}");
        }
        for text in ["9", "None", "9007199254740992", "0"] {
            assert!(!words.mean_missing(text), "{text}");
        }
        assert!(words.names_number(-9.0) && !words.names_number(9_007_199_254_740_992.0));
        assert!(!MissingWords::default().names("") && MissingWords::default().is_empty());
    }
}
