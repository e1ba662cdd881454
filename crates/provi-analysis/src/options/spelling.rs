//! Messages in which options are spelled as a program gives them.

use super::run::{AuditOptions, RunOptions, SearchOptions, StepOptions};
use super::{FileOptions, ModelOptions, keys_of};

/// A message of this crate, in which an option is spelled as a keyword of a program: `noise_sd` for `noise-sd`, and `na='x'` for `--na 'x'`.
/// An option that only the command has is called the command's. What stands in quotes is the user's own and stays as it is.
///
/// ```
/// use provi_analysis::options::in_keywords;
///
/// assert_eq!(in_keywords("noise-sd 2 and column `noise-sd`"), "noise_sd 2 and column `noise-sd`");
/// ```
pub fn in_keywords(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let inside_word = out.ends_with(|c: char| c.is_alphanumeric());
        let length = if let Some(quoted) = quoted(rest).filter(|_| first == '`' || !inside_word) {
            out.push_str(&rest[..quoted]);
            quoted
        } else {
            let word = rest.find(|c: char| !is_of_word(c)).unwrap_or(rest.len());
            match word {
                0 => out.push(first),
                _ => out.push_str(&keyword(&rest[..word])),
            }
            word.max(first.len_utf8())
        };
        // The value of an option follows it without a space.
        let option = rest.starts_with("--") && !out.ends_with(&rest[..length]);
        rest = &rest[length..];
        if option && rest.starts_with(" '") {
            out.push('=');
            rest = &rest[1..];
        }
    }
    out
}

/// The length of the quotation at the beginning, if there is one; an apostrophe inside a word does not end it.
fn quoted(text: &str) -> Option<usize> {
    let mark = text.chars().next().filter(|c| ['`', '\''].contains(c))?;
    let ends = |end: &usize| mark == '`' || !text[end + 1..].starts_with(|c: char| c.is_alphanumeric());
    text.match_indices(mark).map(|(end, _)| end).skip(1).find(ends).map(|end| end + 1)
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '-' || c == '_'
}

/// A word as a keyword, if it names an option.
fn keyword(word: &str) -> String {
    let (dashed, name) = word.strip_prefix("--").map_or((false, word), |name| (true, name));
    let known = [
        keys_of::<ModelOptions>(),
        keys_of::<RunOptions>(),
        keys_of::<StepOptions>(),
        keys_of::<AuditOptions>(),
        keys_of::<SearchOptions>(),
    ];
    if known.iter().any(|keys| keys.contains(&name)) {
        name.replace('-', "_")
    } else if dashed && keys_of::<FileOptions>().contains(&name) {
        format!("the command's {word}")
    } else {
        word.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every option that a program can give, as run files spell it.
    fn known() -> Vec<&'static str> {
        let groups = [keys_of::<StepOptions>(), keys_of::<AuditOptions>(), keys_of::<SearchOptions>()];
        [keys_of::<ModelOptions>(), keys_of::<RunOptions>()]
            .into_iter()
            .chain(groups)
            .flatten()
            .copied()
            .collect()
    }

    #[test]
    fn every_option_is_spelled_as_a_keyword() {
        assert!(known().iter().filter(|key| key.contains('-')).count() >= 8);
        for key in known() {
            let keyword = key.replace('-', "_");
            let said = format!("{key} 3; give --{key} 'it''s', or column `{key}` and '{key}=x', (--{key})");
            let expected =
                format!("{keyword} 3; give {keyword}='it''s', or column `{key}` and '{key}=x', ({keyword})");
            assert_eq!(in_keywords(&said), expected);
        }
        for key in keys_of::<FileOptions>() {
            assert_eq!(in_keywords(&format!("(--{key} 2)")), format!("(the command's --{key} 2)"));
        }
    }

    #[test]
    fn other_words_stay_as_they_are() {
        for text in [
            "",
            "prox-energy is a method, and --cflags no option",
            "x-noise-sd, noise-sd-x and noise-sds are none",
            "the library's own noise and the coefficients' prior",
            "an open ` quote and an open 'quote",
            "− é ‖z‖ = 1.9e17 —",
        ] {
            assert_eq!(in_keywords(text), text);
        }
        assert_eq!(in_keywords("it's noise-sd, isn't it"), "it's noise_sd, isn't it");
    }
}
