//! Which modules of a crate may import which: its rooms, their order, and the page that shows them.

mod imports;
mod page;

use crate::{Outcome, Run};
use imports::{Names, paths, test_modules, without_tests};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// A crate whose modules are in rooms.
#[derive(Debug)]
struct House {
    name: &'static str,
    /// The rooms from left to right, each with its contents. A room imports from itself and from rooms to its left.
    rooms: &'static [(&'static str, &'static str)],
}

const LIBRARY: House = House {
    name: "provi",
    rooms: &[
        (
            "base",
            "errors, checked numbers, matrices, special functions, draws, Gaussians: knows nothing of inference",
        ),
        ("theory", "numbers in, numbers out: noise, step sizes, recursion, rates, what measurements prove"),
        ("watch", "progress, stopping, resuming: knows neither targets nor steps"),
        ("target", "what is approximated: the trait, its wrappers, curvature, the mode, coordinates"),
        (
            "glm",
            "linear predictors: design, rows, families, priors, exact expectations, streams, predictions, checks",
        ),
        ("sgd", "stochastic gradients as in the paper: estimator, step, average, method, plan, run"),
        ("certify", "what is proved about an answer: audit, certificate, functionals, evidence, estimates"),
        ("auto", "the default algorithm: exact solver, sampled ascent, scales"),
    ],
};

const ANALYSIS: House = House {
    name: "provi-analysis",
    rooms: &[
        ("number", "numbers printed for people"),
        ("error", "errors and their messages"),
        ("capacity", "whether memory suffices"),
        ("threads", "how many threads to start"),
        ("options", "the options of a model and a run"),
        ("record", "what is stored of a fit: the keys of fit.json, its folder, Gaussians from files"),
        ("model", "from data and options to a target"),
        ("run", "from a target to an answer, and what can be computed from it"),
        ("show", "what a reader sees of a fit: text, tables, the report page, draws for other tools"),
    ],
};

/// Files of the crate's root: its front page, and the doc tests of the guide.
const ROOT: [&str; 2] = ["lib.rs", "guide.rs"];

const PAGE: &str = "docs/architecture.md";

/// A source file, named from `src` on.
struct File {
    path: String,
    text: String,
}

/// A room and a module in it; a room's own file has the room's name.
type Place = (String, String);

/// Modules in the order of the rooms, and the imports between them.
#[derive(Debug, PartialEq)]
struct Graph {
    modules: Vec<Place>,
    imports: BTreeSet<(Place, Place)>,
}

impl Graph {
    /// Whether one room imports from another.
    fn joins(&self, room: &str, other: &str) -> bool {
        room != other && self.imports.iter().any(|(from, to)| from.0 == room && to.0 == other)
    }
}

/// Refuses an import to the right, a circle of imports inside a room, and a page that does not show the current rooms.
pub(crate) fn check(run: &Run) -> Outcome {
    let page = fs::read_to_string(run.root.join(PAGE))?;
    for house in [&LIBRARY, &ANALYSIS] {
        let graph = house.graph(&house.files(&run.root)?)?;
        if page::renewed(&page, house, &graph)? != page {
            return Err(format!(
                "{PAGE} does not show the current rooms; `cargo xtask rooms --draw` updates it"
            )
            .into());
        }
        println!("   {}: {}", house.name, house.order());
        println!(
            "   {} modules, {} imports, none to the right, no circle",
            graph.modules.len(),
            graph.imports.len()
        );
    }
    Ok(())
}

/// Writes the drawings into their page.
pub(crate) fn draw(run: &Run) -> Outcome {
    let path = run.root.join(PAGE);
    let mut page = fs::read_to_string(&path)?;
    for house in [&LIBRARY, &ANALYSIS] {
        page = page::renewed(&page, house, &house.graph(&house.files(&run.root)?)?)?;
    }
    Ok(fs::write(&path, page)?)
}

impl House {
    /// The rooms in their order.
    fn order(&self) -> String {
        self.rooms.iter().map(|(room, _)| *room).collect::<Vec<_>>().join(" ◄ ")
    }

    fn rank(&self, room: &str) -> Option<usize> {
        self.rooms.iter().position(|(name, _)| *name == room)
    }

    /// Its source files.
    fn files(&self, root: &Path) -> Result<Vec<File>, Box<dyn std::error::Error>> {
        let source = root.join("crates").join(self.name).join("src");
        let (mut found, mut folders) = (Vec::new(), vec![source.clone()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|x| x == "rs") {
                    let name = path.strip_prefix(&source)?.to_string_lossy().replace('\\', "/");
                    found.push(File { path: name, text: fs::read_to_string(path)? });
                }
            }
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    /// The imports, or an error with every import that runs to the right and every circle inside a room.
    ///
    /// A name that a room's own file re-exports counts where it is defined, and the re-export itself is not an import. A
    /// room's own file may therefore hold a trait whose methods return types of the room's modules.
    fn graph(&self, files: &[File]) -> Result<Graph, String> {
        let names = Directory::new(self, files);
        let (mut modules, mut imports, mut wrong) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        for file in files.iter().filter(|file| !ROOT.contains(&file.path.as_str())) {
            let module = module_of(&file.path);
            if names.tests.iter().any(|tests| module.starts_with(tests)) {
                continue;
            }
            let Some(here) = self.rank(&module[0]) else {
                wrong.push(format!("{}: `{}` is in no room", file.path, module[0]));
                continue;
            };
            let from = place(&module);
            modules.insert((here, from.clone()));
            let face = names.face.get(&module).map_or(&[][..], Vec::as_slice);
            let shown = if module.len() == 1 { own_reexports(&module, &file.text) } else { Vec::new() };
            let imported = |path: &&Names| !face.contains(path) && !shown.contains(path);
            for path in paths(&module, &file.text).iter().filter(imported) {
                let Some(to) = names.find(path) else { continue };
                if self.rank(&to.0).is_some_and(|there| there > here) {
                    wrong.push(format!(
                        "{}: `{}` is in `{}`, to the right of `{}`",
                        file.path,
                        path.join("::"),
                        to.0,
                        from.0
                    ));
                } else if to != from {
                    imports.insert((from.clone(), to));
                }
            }
            wrong.extend(used_by_its_own_room(file, face));
        }
        if !wrong.is_empty() {
            let order = self.order();
            return Err(format!("rooms import from their left only, {order}:\n   {}", wrong.join("\n   ")));
        }
        match circle(&imports) {
            Some(circle) => Err(format!(
                "modules of a room import each other in a circle: {}; move what they share into a module that imports \
                 none of them",
                circle.join(" ◄ ")
            )),
            None => Ok(Graph { modules: modules.into_iter().map(|(_, place)| place).collect(), imports }),
        }
    }
}

/// A circle of imports inside one room, from a module back to itself; `None` if there is none.
fn circle(imports: &BTreeSet<(Place, Place)>) -> Option<Vec<String>> {
    let within = |from: &Place| {
        let from = from.clone();
        imports.iter().filter(move |(a, b)| *a == from && a.0 == b.0).map(|(_, b)| b)
    };
    let starts: BTreeSet<&Place> = imports.iter().map(|(from, _)| from).collect();
    starts.into_iter().find_map(|start| {
        // The modules that `start` reaches, each with the module through which it was found.
        let mut reached: BTreeMap<&Place, &Place> = BTreeMap::new();
        let mut open = vec![start];
        while let Some(here) = open.pop() {
            for next in within(here) {
                if reached.contains_key(next) {
                    continue;
                }
                reached.insert(next, here);
                open.push(next);
            }
        }
        let mut at = *reached.get(start)?;
        let mut path = vec![start];
        while at != start {
            path.push(at);
            at = reached[at];
        }
        path.push(start);
        Some(path.into_iter().map(|(room, module)| format!("{room}::{module}")).collect())
    })
}

/// Where every name is defined.
struct Directory<'h> {
    house: &'h House,
    modules: BTreeSet<Names>,
    /// Modules that are compiled for tests only.
    tests: Vec<Names>,
    /// For a room's own file: paths to the right that it re-exports for users. Such a re-export is not an import: a
    /// module that uses the name through the room imports it from where it is defined.
    face: BTreeMap<Names, Vec<Names>>,
    /// For each room: the names of its own modules that its own file re-exports, with the paths where they are defined.
    shown: BTreeMap<String, BTreeMap<String, Names>>,
    /// What the crate's front page re-exports.
    front: BTreeMap<String, Names>,
}

impl<'h> Directory<'h> {
    fn new(house: &'h House, files: &[File]) -> Self {
        let modules = files.iter().map(|file| module_of(&file.path)).collect();
        let (mut tests, mut front) = (Vec::new(), BTreeMap::new());
        let (mut face, mut shown) = (BTreeMap::new(), BTreeMap::new());
        for file in files {
            let module = module_of(&file.path);
            let inside = |name: &str| [&module[..], &[name.to_owned()]].concat();
            tests.extend(test_modules(&file.text).into_iter().map(inside));
            let named = |path: Names| Some((path.last()?.clone(), path));
            if file.path == "lib.rs" {
                front.extend(paths(&[], &reexports(&file.text)).into_iter().filter_map(named));
            } else if module.len() == 1 {
                let right = |path: &Names| house.rank(&path[0]) > house.rank(&module[0]);
                face.insert(
                    module.clone(),
                    paths(&[], &reexports(&file.text)).into_iter().filter(right).collect(),
                );
                let own = own_reexports(&module, &file.text).into_iter().filter_map(named);
                shown.insert(module[0].clone(), own.collect());
            }
        }
        Self { house, modules, tests, face, shown, front }
    }

    /// The room and the module in which a path ends.
    fn find(&self, path: &[String]) -> Option<Place> {
        let first = path.first()?;
        if self.house.rank(first).is_none() {
            // A name of the front page stands for where it is defined; any other name is not a module of this
            // crate.
            let rest = self.front.get(first).filter(|known| known[..1] != path[..1])?;
            return self.find(&[rest, &path[1..]].concat());
        }
        if let Some(name) = path.get(1)
            && let Some(face) = self.face.get(&path[..1])
        {
            let shown = face.iter().find(|shown| shown.last() == Some(name) || name == "*");
            if let Some(shown) = shown {
                return self.find(shown);
            }
        }
        if let Some(name) = path.get(1)
            && !self.modules.contains(&path[..2])
            && let Some(defined) = self.shown.get(first).and_then(|shown| shown.get(name))
        {
            return self.find(defined);
        }
        let length = (1..=path.len().min(2)).rev().find(|&n| self.modules.contains(&path[..n]))?;
        Some(place(&path[..length]))
    }
}

/// The `pub use` lines of a file.
fn reexports(text: &str) -> String {
    let mut rest = text;
    let mut found = String::new();
    while let Some(begin) = rest.find("\npub use ") {
        let end = rest[begin..].find(';').map_or(rest.len(), |end| begin + end + 1);
        found.push_str(&rest[begin..end]);
        rest = &rest[end..];
    }
    found
}

/// The paths of a room's own modules that its own file re-exports, to users or to the crate.
fn own_reexports(module: &[String], text: &str) -> Vec<Names> {
    let statements = text.replace("\npub(crate) use ", "\npub use ");
    let inside = paths(module, &reexports(&statements)).into_iter();
    inside
        .filter(|path| path[0] == module[0] && path.len() > 2 && path.last().is_some_and(|name| name != "*"))
        .collect()
}

/// Re-exports are for users: the room's own file must not use these names.
fn used_by_its_own_room(file: &File, face: &[Names]) -> Vec<String> {
    let lines = without_tests(&file.text).into_iter().filter(|line| !line.trim_start().starts_with("//"));
    let mut code = lines.collect::<Vec<_>>().join("\n");
    for statement in reexports(&file.text).split_inclusive(';') {
        code = code.replace(statement, "");
    }
    let words: BTreeSet<&str> = code.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
    let shown = face.iter().filter_map(|path| path.last()).filter(|name| words.contains(name.as_str()));
    shown.map(|name| format!("{}: `{name}` is re-exported for users only", file.path)).collect()
}

fn place(module: &[String]) -> Place {
    (module[0].clone(), module[module.len().min(2) - 1].clone())
}

fn module_of(path: &str) -> Names {
    path.trim_end_matches(".rs").split('/').map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small house with a face: `target` shows users `glm::Glm`, the front page shows `Plan`.
    fn with(path: &str, text: &str) -> Result<Graph, String> {
        let house = [
            ("lib.rs", "//! A page.\npub use sgd::plan::{Plan, Planner};\npub use sgd::plan;\n"),
            ("base.rs", "pub mod error;\n"),
            ("base/error.rs", ""),
            (
                "target.rs",
                "//! A room.\n\n/// [`Glm`]\nmod closure;\npub use crate::glm::{Glm, family::Family};\n",
            ),
            ("target/closure.rs", "use super::Target;\n#[cfg(test)]\nmod far;\n"),
            ("glm.rs", "mod model;\npub use model::Glm;\n"),
            ("glm/model.rs", "use crate::target::Target;\n"),
            ("sgd/plan.rs", ""),
        ];
        let mut files: Vec<File> =
            house.iter().filter(|(name, _)| *name != path).map(|(p, t)| file(p, t)).collect();
        files.push(file(path, text));
        LIBRARY.graph(&files)
    }

    fn file(path: &str, text: &str) -> File {
        File { path: path.into(), text: text.into() }
    }

    #[test]
    fn imports_from_the_left_are_drawn() {
        let found = with(
            "sgd/fit.rs",
            "use super::plan::Plan;\nuse crate::target::{Glm, Target};\nuse crate::base::error;\n",
        );
        let found = found.unwrap();
        let of_fit: Vec<String> = found
            .imports
            .iter()
            .filter(|(from, _)| from.1 == "fit")
            .map(|(_, (room, module))| format!("{room}::{module}"))
            .collect();
        assert_eq!(of_fit, ["base::error", "glm::model", "sgd::plan", "target::target"]);
        assert!(found.joins("sgd", "glm") && !found.joins("glm", "sgd"));
    }

    #[test]
    fn a_planted_import_to_the_right_is_refused_however_it_is_spelled() {
        let planted = [
            "use crate::sgd::plan::Plan;",
            "use crate::{base::error, sgd::plan::{self, Plan}};",
            "pub(crate) use crate::sgd::plan;",
            "fn f() -> crate::sgd::plan::Plan {}",
            "use super::super::sgd::plan;",
            "use crate::Planner;",
            "fn f(plan: &crate::Plan) {}",
            "use crate::plan::Plan;",
            "use super::Glm;",
            "use crate::target::{Family, Target};",
            "use super::*;",
        ];
        for line in planted {
            let refused = with("target/whiten.rs", &format!("//! A file.\n\n{line}\n")).unwrap_err();
            assert!(
                refused.contains("target/whiten.rs") && refused.contains("to the right of `target`"),
                "{line}: {refused}"
            );
        }
    }

    #[test]
    fn tests_comments_and_the_left_are_not_refused() {
        let text = "//! [`crate::Plan`]\nuse super::Target;\nuse crate::base::error;\n// crate::sgd::plan\n#[cfg(test)]\nmod tests {\n    \
                    use crate::Plan;\n}\n";
        assert!(with("target/whiten.rs", text).is_ok());
        assert!(with("target/closure/far.rs", "use crate::Plan;\n").is_ok());
        assert!(with("target/closure/near.rs", "use crate::Plan;\n").is_err());
    }

    #[test]
    fn a_face_is_for_users_alone() {
        let text = "//! A room.\n\npub use crate::glm::Glm;\n\npub fn f(model: Glm) {}\n";
        assert!(with("target.rs", text).unwrap_err().contains("`Glm` is re-exported for users only"));
        let hidden = "//! A file.\n\npub use crate::glm::Glm;\n";
        assert!(with("target/whiten.rs", hidden).unwrap_err().contains("to the right"));
    }

    #[test]
    fn a_planted_circle_inside_a_room_is_refused_however_it_is_spelled() {
        let through_the_face = "//! A room.\n\nmod closure;\npub use closure::Closure;\n";
        for (room, line) in [
            ("mod closure;", "use super::whiten::Whitened;"),
            ("mod closure;", "fn f() -> crate::target::whiten::Whitened {}"),
            ("mod closure;\npub use whiten::Whitened;", "use super::Whitened;"),
            ("mod closure;\npub(crate) use whiten::{Whitened, restore};", "use crate::target::restore;"),
        ] {
            let files = [
                file("target.rs", &format!("//! A room.\n\n{room}\n")),
                file("target/closure.rs", line),
                file("target/whiten.rs", "use super::closure::Closure;\n"),
            ];
            let refused = LIBRARY.graph(&files).unwrap_err();
            assert!(
                refused.contains("target::closure ◄ target::whiten ◄ target::closure"),
                "{line}: {refused}"
            );
        }
        // A re-export alone is no circle, nor is a longer chain that does not come back.
        let files = [
            file("target.rs", through_the_face),
            file("target/closure.rs", "use super::Target;\n"),
            file("target/whiten.rs", "use super::{Closure, Target};\n"),
        ];
        assert!(LIBRARY.graph(&files).is_ok());
        let three = [
            file("target.rs", ""),
            file("target/a.rs", "use super::b;\n"),
            file("target/b.rs", "use super::c;\n"),
            file("target/c.rs", "use super::a;\n"),
        ];
        assert!(LIBRARY.graph(&three).unwrap_err().contains("in a circle"));
    }

    #[test]
    fn a_module_outside_the_rooms_is_refused() {
        assert!(with("helpers.rs", "").unwrap_err().contains("`helpers` is in no room"));
    }
}
