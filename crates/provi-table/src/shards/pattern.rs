//! Patterns of file names.

/// Whether a name matches a pattern: `*` stands for any characters, `?` for one. Cost: the product of the lengths.
pub(super) fn fits(pattern: &str, name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    // fitting[i]: whether the pattern so far matches the first i characters.
    let mut fitting = vec![false; name.len() + 1];
    fitting[0] = true;
    for c in pattern.chars() {
        if c == '*' {
            for i in 1..=name.len() {
                fitting[i] |= fitting[i - 1];
            }
        } else {
            for i in (1..=name.len()).rev() {
                fitting[i] = fitting[i - 1] && (c == '?' || c == name[i - 1]);
            }
            fitting[0] = false;
        }
    }
    fitting[name.len()]
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn stars_and_question_marks_stand_for_characters() {
        for (pattern, name, expected) in [
            ("part-*.csv", "part-0.csv", true),
            ("part-*.csv", "part-.csv", true),
            ("part-?.csv", "part-10.csv", false),
            ("part-??.csv", "part-10.csv", true),
            ("*", "", true),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b*", "xxbxxaxx", false),
            ("a*a", "a", false),
            ("?", "é", true),
            ("", "a", false),
            ("part-*.csv", "part-0.csv.gz", false),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }
}
