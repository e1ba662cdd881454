//! What a Rust file imports from its own crate: every path that begins with `crate`, `super` or `self`, in `use`
//! lines and in code, and what `use` takes from modules inside this one. Comments and tests are ignored.

/// A path as its names, from the crate's root; `*` stands for a glob.
pub(super) type Names = Vec<String>;

/// The paths in `text`, the file of `module`.
///
/// The code must be formatted, because its indentation is used: what is under `#[cfg(test)]` ends at the closing
/// brace with the same indentation.
pub(super) fn paths(module: &[String], text: &str) -> Vec<Names> {
    let (mut found, mut inside) = (Vec::new(), module.to_vec());
    let mut piece = String::new();
    for line in without_tests(text) {
        let begins = inline_module(line);
        if begins.is_some() || line == "}" {
            found.extend(read(&inside, &tokens(&piece)));
            piece.clear();
            inside.truncate(module.len());
            inside.extend(begins.map(str::to_owned));
        } else {
            piece.push_str(line.split("//").next().unwrap_or_default());
            piece.push('\n');
        }
    }
    found.extend(read(&inside, &tokens(&piece)));
    found
}

/// The lines that are not under `#[cfg(test)]`.
pub(super) fn without_tests(text: &str) -> Vec<&str> {
    let (mut kept, mut lines) = (Vec::new(), text.lines());
    while let Some(line) = lines.next() {
        let code = line.trim_start();
        if !code.starts_with("#[cfg(test)]") && !code.starts_with("#[cfg(all(test") {
            kept.push(line);
            continue;
        }
        let indent = &line[..line.len() - code.len()];
        let closes = format!("{indent}}}");
        let item = lines.by_ref().find(|line| !line.trim_start().starts_with("#["));
        if item.is_some_and(|item| item.ends_with('{')) {
            lines.by_ref().find(|line| **line == closes);
        }
    }
    kept
}

/// The modules in files of their own that `text` declares under `#[cfg(test)]`.
pub(super) fn test_modules(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let declared = lines.windows(2).filter(|pair| pair[0].starts_with("#[cfg(test)]"));
    declared.filter_map(|pair| pair[1].strip_prefix("mod ")?.strip_suffix(';')).collect()
}

/// The name of a module that is written inside its parent's file.
fn inline_module(line: &str) -> Option<&str> {
    let body = line.strip_suffix(" {")?;
    let (before, name) = body.rsplit_once("mod ")?;
    (before.is_empty() || before.starts_with("pub")).then_some(name)
}

/// Names, and the signs of which paths are made; anything else is a space.
fn tokens(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(c) = rest.chars().next() {
        let name = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let length = match c {
            _ if name > 0 => name,
            ':' if rest.starts_with("::") => 2,
            _ => c.len_utf8(),
        };
        if !c.is_whitespace() {
            found.push(&rest[..length]);
        }
        rest = &rest[length..];
    }
    found
}

/// The paths in some code inside `module`, from the root.
fn read(module: &[String], tokens: &[&str]) -> Vec<Names> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let before = at.checked_sub(1).map(|before| tokens[before]);
        let named = matches!(tokens[at], "crate" | "super" | "self");
        if named && tokens.get(at + 1) == Some(&"::") && before != Some("::") {
            at = tree(tokens, at, &Names::new(), &mut found);
        } else if before == Some("use") {
            at = tree(tokens, at, &vec!["self".to_owned()], &mut found);
        } else {
            at += 1;
        }
    }
    found.iter().map(|path| from_root(module, path)).collect()
}

/// Reads a path, or a tree of paths in braces, that continues `before`; returns the position after it.
fn tree(tokens: &[&str], mut at: usize, before: &Names, found: &mut Vec<Names>) -> usize {
    let mut path = before.clone();
    while let Some(&token) = tokens.get(at) {
        if token == "{" {
            at += 1;
            while tokens.get(at).is_some_and(|&token| token != "}") {
                at = if tokens[at] == "," { at + 1 } else { tree(tokens, at, &path, found) };
            }
            return at + 1;
        }
        at += 1;
        path.push(token.to_owned());
        if tokens.get(at) != Some(&"::") || tokens.get(at + 1) == Some(&"<") {
            break;
        }
        at += 1;
    }
    if tokens.get(at) == Some(&"as") {
        at += 2;
    }
    if path.len() > 1 && path.last().is_some_and(|name| name == "self") {
        path.pop();
    }
    found.push(path);
    at
}

/// The same path from the root, without `crate`, `super` and `self`.
fn from_root(module: &[String], path: &Names) -> Names {
    let mut root = if path[0] == "crate" { Names::new() } else { module.to_vec() };
    for name in path {
        match name.as_str() {
            "crate" | "self" => {}
            "super" => {
                root.pop();
            }
            _ => root.push(name.clone()),
        }
    }
    root
}

#[cfg(test)]
mod tests {
    fn seen(module: &str, text: &str) -> Vec<String> {
        let module: Vec<String> = module.split("::").map(str::to_owned).collect();
        super::paths(&module, text).iter().map(|path| path.join("::")).collect()
    }

    #[test]
    fn trees_are_taken_apart_and_relative_paths_made_absolute() {
        let text = "use crate::base::{error::{Error, Result}, stop, draws::{self as d, Seed}};\nuse super::plan::*;\n";
        let expected = [
            "base::error::Error",
            "base::error::Result",
            "base::stop",
            "base::draws",
            "base::draws::Seed",
            "sgd::plan::*",
        ];
        assert_eq!(seen("sgd::fit", text), expected);
    }

    #[test]
    fn a_module_inside_this_one_needs_no_keyword() {
        let text = "pub use closure::{Closure, own as word};\nuse std::fmt;\n";
        assert_eq!(
            seen("target", text),
            ["target::closure::Closure", "target::closure::own", "target::std::fmt"]
        );
    }

    #[test]
    fn paths_in_code_count_and_comments_do_not() {
        let text = "/// [`crate::auto::Auto`]\npub(crate) fn f(&self) -> crate::base::error::Result<()> {\n    \
                    super::rows::sum::<f64>(self.x) // crate::auto\n}\n";
        assert_eq!(seen("glm::design", text), ["base::error::Result", "glm::rows::sum"]);
    }

    #[test]
    fn tests_may_import_what_they_like() {
        let text = "use crate::base::error::Error;\n#[cfg(test)]\nmod tests {\n    use crate::auto::Auto;\n    \
                    fn f() {\n    }\n}\nuse crate::base::stop;\n#[cfg(test)]\nmod more;\nuse crate::base::draws;\n";
        assert_eq!(seen("glm::rows", text), ["base::error::Error", "base::stop", "base::draws"]);
    }

    #[test]
    fn super_inside_a_module_in_a_file_is_the_file() {
        let text = "pub(crate) mod own {\n    use super::Target;\n}\nuse super::lib;\n";
        assert_eq!(seen("target", text), ["target::Target", "lib"]);
    }
}
