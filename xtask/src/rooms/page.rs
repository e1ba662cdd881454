//! The rooms as a page shows them.

use super::{Graph, ROOMS, order};

/// What stands before and after the drawing on its page.
const BEGIN: &str = "<!-- rooms: written by `cargo xtask rooms --draw` -->\n";
const END: &str = "<!-- end of rooms -->\n";

/// The page with a new drawing in the place of its old one.
pub(super) fn renewed(page: &str, graph: &Graph) -> Result<String, String> {
    let marks = || format!("docs/architecture.md has no place for the drawing, from `{BEGIN}` to `{END}`");
    let (before, rest) = page.split_once(BEGIN).ok_or_else(marks)?;
    let (_, after) = rest.split_once(END).ok_or_else(marks)?;
    Ok(format!("{before}{BEGIN}\n{}\n{END}{after}", drawing(graph)))
}

/// The order; which room imports from which; and every module with those that it imports.
fn drawing(graph: &Graph) -> String {
    let mut out = format!("```text\n{}\n```\n\n", order());
    out.push_str("| room | what is in it | imports from |\n|---|---|---|\n");
    for (room, about) in ROOMS {
        let from: Vec<_> =
            ROOMS.iter().map(|(other, _)| *other).filter(|other| graph.joins(room, other)).collect();
        let from = if from.is_empty() { "nothing".to_owned() } else { from.join(", ") };
        out.push_str(&format!("| `{room}` | {about} | {from} |\n"));
    }
    out.push_str("\nModule by module, tests left out; a room's own file has the room's name:\n\n```text\n");
    for (room, _) in ROOMS {
        let modules: Vec<_> = graph.modules.iter().filter(|(of, _)| of == room).collect();
        let width = modules.iter().map(|(_, name)| name.len()).max().unwrap_or(0);
        for (k, (_, name)) in modules.iter().enumerate() {
            let shown = if k == 0 { room } else { "" };
            let imports: Vec<_> =
                ROOMS.iter().filter_map(|(other, _)| group(graph, room, name, other)).collect();
            let line = format!("{shown:<8} {name:<width$} ◄ {}", imports.join(" · "));
            out.push_str(line.trim_end_matches([' ', '◄']));
            out.push('\n');
        }
    }
    out.push_str("```\n");
    out
}

/// What a module imports from one room: `room/ module module`.
fn group(graph: &Graph, room: &str, name: &str, other: &str) -> Option<String> {
    let names: Vec<_> = graph
        .imports
        .iter()
        .filter(|(from, to)| from.0 == room && from.1 == name && to.0 == other)
        .map(|(_, to)| to.1.as_str())
        .collect();
    (!names.is_empty()).then(|| format!("{other}/ {}", names.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::super::{File, graph};
    use super::*;

    #[test]
    fn a_drawing_is_renewed_in_its_place_and_then_stays() {
        let file = |path: &str, text: &str| File { path: path.into(), text: text.into() };
        let files = [file("base/error.rs", ""), file("sgd/fit.rs", "use crate::base::error::Error;\n")];
        let graph = graph(&files).unwrap();
        let page = format!("before\n{BEGIN}old\n{END}after\n");
        let new = renewed(&page, &graph).unwrap();
        assert!(new.starts_with("before\n") && new.ends_with("after\n") && !new.contains("old"), "{new}");
        assert!(new.contains(&order()) && new.contains("sgd      fit ◄ base/ error\n"), "{new}");
        assert!(new.contains("| base |\n"), "{new}");
        assert_eq!(renewed(&new, &graph).unwrap(), new);
        assert!(renewed("no marks", &graph).is_err());
    }
}
