//! "Did you mean": the name nearest to a mistyped one.

/// The candidate nearest to `word` by edit distance, ignoring case, if it is near enough to be a typing error: at
/// most one edit per three characters.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > 4 * LONGEST {
        return None;
    }
    let word = folded(word);
    let limit = (word.len() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (candidate, folded(candidate)))
        .filter(|(_, other)| other.len().abs_diff(word.len()) <= limit && other.len() <= LONGEST)
        .map(|(candidate, other)| (distance(&word, &other), candidate))
        .filter(|&(d, _)| d <= limit && d < word.len())
        .min_by_key(|&(d, _)| d)
        .map(|(_, candidate)| candidate)
}

/// Longer names are copied rather than typed; the distance costs the product of the lengths.
const LONGEST: usize = 64;

fn folded(word: &str) -> Vec<char> {
    word.trim().chars().flat_map(char::to_lowercase).collect()
}

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [&str; 4] = ["arsenic", "dist", "educ", "x"];

    #[test]
    fn a_slip_finds_its_name() {
        assert_eq!(nearest("arsnic", COLUMNS), Some("arsenic"));
        assert_eq!(nearest("Arsenic", COLUMNS), Some("arsenic"));
        assert_eq!(nearest("idst", COLUMNS), Some("dist"));
        assert_eq!(nearest(" dist ", COLUMNS), Some("dist"));
    }

    #[test]
    fn a_different_word_finds_nothing() {
        assert_eq!(nearest("income", COLUMNS), None);
        assert_eq!(nearest("z", COLUMNS), None);
        assert_eq!(nearest("", COLUMNS), None);
    }

    #[test]
    fn distances_are_those_of_the_textbook() {
        let d = |a: &str, b: &str| distance(&folded(a), &folded(b));
        assert_eq!(d("kitten", "sitting"), 3);
        assert_eq!(d("ab", "ba"), 1);
        assert_eq!(d("", "abc"), 3);
    }
}
