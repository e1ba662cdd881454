//! Writes a page as HTML.

use super::{Block, Page, Table, style};
use crate::escape::escaped;
use crate::fit::Light;
use crate::ink::Ink;
use crate::scene::{Mark, Scene, Shape, Stroke};
use crate::svg::Form;

/// A drawing wider than this is large.
const LARGE: f64 = 400.0;
/// What an interactive page may do: use its own style and script, and reach nothing.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";
/// The script. It has neither < nor &, so that the page stays XML.
const SCRIPT: &str = include_str!("script.js");

pub(super) fn write(page: &Page) -> String {
    let mut out = String::with_capacity(64 * 1024);
    out.push_str("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    out.push_str("<meta name=\"color-scheme\" content=\"light dark\">\n");
    if page.interactive {
        out.push_str(&format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n"));
    }
    // An empty icon, so that no browser asks a server for one.
    out.push_str("<link rel=\"icon\" href=\"data:,\">\n");
    out.push_str(&format!("<title>{}</title>\n", escaped(&page.title)));
    out.push_str(&format!("<style>\n{}</style>\n</head>\n<body>\n<main>\n", style::sheet()));
    out.push_str(&format!("<header>\n<h1>{}</h1>\n", escaped(&page.title)));
    if !page.subtitle.is_empty() {
        out.push_str(&format!("<p class=\"subtitle\">{}</p>\n", escaped(&page.subtitle)));
    }
    out.push_str("</header>\n");
    if page.sections.len() > 3 {
        contents(&mut out, page);
    }
    for (i, section) in page.sections.iter().enumerate() {
        let heading = escaped(&section.heading);
        out.push_str(&format!("<section aria-labelledby=\"s{i}\">\n<h2 id=\"s{i}\">{heading}</h2>\n"));
        for piece in &section.blocks {
            block(&mut out, piece);
        }
        out.push_str("</section>\n");
    }
    if !page.footer.is_empty() {
        out.push_str(&format!("<footer>{}</footer>\n", escaped(&page.footer)));
    }
    out.push_str("</main>\n");
    if page.interactive {
        out.push_str(&format!("<script>\n{SCRIPT}</script>\n"));
    }
    out.push_str("</body>\n</html>\n");
    out
}

fn contents(out: &mut String, page: &Page) {
    out.push_str("<nav aria-label=\"Contents\"><ul>\n");
    for (i, section) in page.sections.iter().enumerate() {
        out.push_str(&format!("<li><a href=\"#s{i}\">{}</a></li>\n", escaped(&section.heading)));
    }
    out.push_str("</ul></nav>\n");
}

fn block(out: &mut String, block: &Block) {
    match block {
        Block::Text(text) => out.push_str(&format!("<p>{}</p>\n", escaped(text))),
        Block::List(items) => {
            let items: String = items.iter().map(|item| format!("<li>{}</li>\n", escaped(item))).collect();
            out.push_str(&format!("<ul>\n{items}</ul>\n"));
        }
        Block::Facts(facts) => {
            out.push_str("<dl>\n");
            for (name, value) in facts {
                let (name, value) = (escaped(name), escaped(value));
                out.push_str(&format!("<div><dt>{name}</dt><dd>{value}</dd></div>\n"));
            }
            out.push_str("</dl>\n");
        }
        Block::Verdict { light, word, headline, meaning } => {
            let class = class(*light);
            let word = escaped(if word.is_empty() { light.word() } else { word });
            out.push_str(&format!(
                "<div class=\"verdict {class}\">{}<div>\n",
                sign(*light).to_svg(Form::Inline)
            ));
            out.push_str(&format!(
                "<p class=\"word\">{word}</p>\n<p class=\"headline\">{}</p>\n",
                escaped(headline)
            ));
            if !meaning.is_empty() {
                out.push_str(&format!("<p>{}</p>\n", escaped(meaning)));
            }
            out.push_str("</div></div>\n");
        }
        Block::Table(rows) => table(out, rows),
        Block::Figure { scenes, key, caption } => {
            // Large drawings need more room than small ones.
            let class = match scenes.iter().map(|scene| scene.width).fold(0.0, f64::max) {
                _ if scenes.len() < 2 => "",
                width if width > LARGE => " class=\"several large\"",
                _ => " class=\"several\"",
            };
            let drawings: Vec<String> = scenes.iter().map(|s| s.to_svg(Form::Inline)).collect();
            let key = key.as_ref().map(|key| key.to_svg(Form::Inline)).unwrap_or_default();
            out.push_str(&format!("<figure>\n{key}<div{class}>\n{}\n</div>\n", drawings.join("\n")));
            if !caption.is_empty() {
                out.push_str(&format!("<figcaption>{}</figcaption>\n", escaped(caption)));
            }
            out.push_str("</figure>\n");
        }
        Block::Code(text) => {
            out.push_str(&format!("<pre tabindex=\"0\"><code>{}</code></pre>\n", escaped(text)));
        }
        Block::Choice(options) => {
            out.push_str("<div class=\"choice\">\n");
            for (label, blocks) in options {
                let label = escaped(label);
                out.push_str(&format!("<div class=\"option\" data-label=\"{label}\">\n<h3>{label}</h3>\n"));
                blocks.iter().for_each(|piece| self::block(out, piece));
                out.push_str("</div>\n");
            }
            out.push_str("</div>\n");
        }
    }
}

fn table(out: &mut String, table: &Table) {
    // On a narrow screen a table of words becomes a list; each cell shows its column's title.
    let words = table.columns.iter().all(|c| !c.numeric);
    let stacked = if words { " class=\"words\"" } else { "" };
    let name = |i: usize| match table.columns.get(i) {
        Some(column) if words => format!(" data-name=\"{}\"", escaped(&column.title)),
        _ => String::new(),
    };
    // Focusable by keyboard, so that it can be scrolled without a pointer.
    out.push_str("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"table\">\n");
    out.push_str(&format!("<table{stacked}>\n<thead><tr>"));
    let class = |i: usize| if table.columns.get(i).is_some_and(|c| c.numeric) { " class=\"n\"" } else { "" };
    for (i, column) in table.columns.iter().enumerate() {
        out.push_str(&format!("<th scope=\"col\"{}>{}</th>", class(i), escaped(&column.title)));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        for (i, cell) in row.iter().enumerate() {
            let cell = escaped(cell);
            match i {
                0 => out.push_str(&format!("<th scope=\"row\"{}>{cell}</th>", class(i))),
                // A key of the ledger is not broken across lines.
                _ if cell.starts_with('[') => {
                    out.push_str(&format!("<td class=\"key\"{}>{cell}</td>", name(i)))
                }
                _ => out.push_str(&format!("<td{}{}>{cell}</td>", class(i), name(i))),
            }
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n");
    if !table.note.is_empty() {
        out.push_str(&format!("<p class=\"note\">{}</p>\n", escaped(&table.note)));
    }
}

fn class(light: Light) -> &'static str {
    match light {
        Light::Green => "good",
        Light::Amber => "warning",
        Light::Red => "bad",
    }
}

/// A tick in a disc, an exclamation mark in a triangle, a cross in an octagon: they differ without colour.
fn sign(light: Light) -> Scene {
    let mut scene = Scene::new(48.0, 48.0, light.word());
    let polygon = |points: Vec<(f64, f64)>| Shape::Path { runs: vec![points], closed: true };
    let pen = Stroke::solid(Ink::Surface, 4.5);
    let strokes = |runs: Vec<Vec<(f64, f64)>>| Mark::stroked(Shape::Path { runs, closed: false }, pen);
    match light {
        Light::Green => {
            scene.push(Mark::filled(Shape::Circle { x: 24.0, y: 24.0, radius: 22.0 }, Ink::Good));
            scene.push(strokes(vec![vec![(13.5, 25.0), (21.0, 32.5), (35.0, 16.5)]]));
        }
        Light::Amber => {
            scene.push(Mark::filled(polygon(vec![(24.0, 3.0), (47.0, 44.0), (1.0, 44.0)]), Ink::Warning));
            scene.push(strokes(vec![vec![(24.0, 17.0), (24.0, 31.0)], vec![(24.0, 35.0), (24.0, 39.5)]]));
        }
        Light::Red => {
            let corner = |k: i32| std::f64::consts::PI * (f64::from(k) / 4.0 + 0.125);
            let points = (0..8).map(|k| (24.0 + 23.0 * corner(k).cos(), 24.0 + 23.0 * corner(k).sin()));
            scene.push(Mark::filled(polygon(points.collect()), Ink::Bad));
            scene.push(strokes(vec![vec![(15.5, 15.5), (32.5, 32.5)], vec![(32.5, 15.5), (15.5, 32.5)]]));
        }
    }
    scene
}
