//! The rooms as shown on their page.

use super::{Graph, House};

/// The marks before and after a drawing on its page.
fn marks(house: &House) -> [String; 2] {
    let name = house.name;
    [
        format!("<!-- rooms of {name}: written by `cargo xtask rooms --draw` -->\n"),
        format!("<!-- end of the rooms of {name} -->\n"),
    ]
}

/// The page with a new drawing instead of the old one.
pub(super) fn renewed(page: &str, house: &House, graph: &Graph) -> Result<String, String> {
    let [begin, end] = marks(house);
    let missing = || format!("docs/architecture.md has no place for the drawing, from `{begin}` to `{end}`");
    let (before, rest) = page.split_once(&begin).ok_or_else(missing)?;
    let (_, after) = rest.split_once(&end).ok_or_else(missing)?;
    Ok(format!("{before}{begin}\n{}\n{end}{after}", drawing(house, graph)))
}

/// The order; which room imports from which; and every module with its imports.
fn drawing(house: &House, graph: &Graph) -> String {
    let rooms = house.rooms;
    let mut out = format!("```text\n{}\n```\n\n", house.order());
    out.push_str("| room | what is in it | imports from |\n|---|---|---|\n");
    for (room, about) in rooms {
        let from: Vec<_> =
            rooms.iter().map(|(other, _)| *other).filter(|other| graph.joins(room, other)).collect();
        let from = if from.is_empty() { "nothing".to_owned() } else { from.join(", ") };
        out.push_str(&format!("| `{room}` | {about} | {from} |\n"));
    }
    out.push_str("\nModule by module, tests left out; a room's own file has the room's name:\n\n```text\n");
    for (room, _) in rooms {
        let modules: Vec<_> = graph.modules.iter().filter(|(of, _)| of == room).collect();
        let width = modules.iter().map(|(_, name)| name.len()).max().unwrap_or(0);
        for (k, (_, name)) in modules.iter().enumerate() {
            let shown = if k == 0 { room } else { "" };
            let imports: Vec<_> =
                rooms.iter().filter_map(|(other, _)| group(graph, room, name, other)).collect();
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
    use super::super::{File, LIBRARY};
    use super::*;

    #[test]
    fn a_drawing_is_renewed_in_its_place_and_then_stays() {
        let file = |path: &str, text: &str| File { path: path.into(), text: text.into() };
        let files = [file("base/error.rs", ""), file("sgd/fit.rs", "use crate::base::error::Error;\n")];
        let graph = LIBRARY.graph(&files).unwrap();
        let [begin, end] = marks(&LIBRARY);
        let page = format!("before\n{begin}old\n{end}after\n");
        let new = renewed(&page, &LIBRARY, &graph).unwrap();
        assert!(new.starts_with("before\n") && new.ends_with("after\n") && !new.contains("old"), "{new}");
        assert!(new.contains(&LIBRARY.order()) && new.contains("sgd      fit ◄ base/ error\n"), "{new}");
        assert!(new.contains("| base |\n"), "{new}");
        assert_eq!(renewed(&new, &LIBRARY, &graph).unwrap(), new);
        assert!(renewed("no marks", &LIBRARY, &graph).is_err());
    }
}
