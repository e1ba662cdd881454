//! Which character separates the fields of a text file, and which one quotes them.

/// How a text file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dialect {
    pub(crate) separator: u8,
    pub(crate) quote: u8,
}

const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// Number of lines examined.
const SAMPLE: usize = 20;

impl Dialect {
    /// The separator that occurs in the header and, in most lines, as often as in the header; of several, the one
    /// most frequent in the header; a comma if there is none. The quote is `"`, unless the header has none and puts
    /// every name in `'`.
    pub(crate) fn of(text: &[u8]) -> Self {
        let quote = quote(text);
        let lines = counts(text, quote);
        let Some((header, body)) = lines.split_first() else { return Self { separator: b',', quote } };
        let score = |&place: &usize| {
            let agreeing = body.iter().filter(|line| line[place] == header[place]).count();
            (agreeing, header[place], usize::MAX - place)
        };
        let best = (0..SEPARATORS.len()).filter(|&place| header[place] > 0).max_by_key(score);
        Self { separator: best.map_or(b',', |place| SEPARATORS[place]), quote }
    }
}

/// How often each separator occurs outside quotes, in each of the first lines that are not blank.
fn counts(text: &[u8], quote: u8) -> Vec<[usize; 4]> {
    let (mut lines, mut line) = (Vec::new(), [0; 4]);
    let (mut quoted, mut blank) = (false, true);
    for byte in text.iter().copied().chain([b'\n']) {
        match byte {
            b'\n' | b'\r' if !quoted => {
                if !blank {
                    lines.push(line);
                }
                (line, blank) = ([0; 4], true);
                if lines.len() == SAMPLE {
                    return lines;
                }
                continue;
            }
            _ if byte == quote => quoted = !quoted,
            _ if !quoted => {
                if let Some(place) = SEPARATORS.iter().position(|&separator| separator == byte) {
                    line[place] += 1;
                }
            }
            _ => {}
        }
        blank &= byte.is_ascii_whitespace();
    }
    if !blank {
        lines.push(line);
    }
    lines
}

impl Dialect {
    /// Whether these first bytes of a text are enough to find its dialect.
    pub(crate) fn is_plain_from(text: &[u8]) -> bool {
        let whole = text.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(0);
        counts(&text[..whole], quote(text)).len() == SAMPLE
    }
}

fn quote(text: &[u8]) -> u8 {
    let header = text.trim_ascii_start().split(|byte| *byte == b'\n').next().unwrap_or_default();
    let header = String::from_utf8_lossy(header);
    let header = header.trim_end();
    let inside = |name: &str| {
        let name = name.trim();
        name.len() >= 2 && name.starts_with('\'') && name.ends_with('\'')
    };
    let single = !header.contains('"') && header.split([',', ';', '\t', '|']).all(inside);
    if single { b'\'' } else { b'"' }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn separator(text: &str) -> char {
        char::from(Dialect::of(text.as_bytes()).separator)
    }

    #[test]
    fn the_header_and_most_lines_agree_on_the_separator() {
        for (text, expected) in [
            ("x,y\n1,2\n", ','),
            ("x;y\n1,5;2\n", ';'),
            ("x\ty\n1\t2\n", '\t'),
            ("x|y\n1|2\n", '|'),
            ("x\n1\n", ','),
            ("", ','),
            ("\"a;b;c\",y\n1,2\n", ','),
            ("name;x, y;z\na, b;1;2\nc;3;4\n", ';'),
            ("x,y\n1,2\n3,4,5\n", ','),
            ("\n\nx;y\n1;2", ';'),
        ] {
            assert_eq!(separator(text), expected, "{text:?}");
        }
    }

    #[test]
    fn single_quotes_count_where_every_name_has_them() {
        assert_eq!(Dialect::of(b"'x','y'\n'a,b',1\n").quote, b'\'');
        assert_eq!(Dialect::of(b"'x',y\n1,2\n").quote, b'"');
    }
}
