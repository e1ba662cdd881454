//! A scene as SVG.

use std::fmt::Write;

use crate::escape::escaped;
use crate::ink::Ink;
use crate::scene::{Anchor, Mark, Paint, Scene, Shape, Stroke};

/// Fonts that a reader's system is likely to have.
pub(crate) const FONTS: &str = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";

/// The use of an SVG.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Inside a page: colours are the page's custom properties, so that one drawing serves light and dark themes.
    Inline,
    /// A separate file: with fixed colours, on white.
    Standalone,
}

impl Scene {
    /// The drawing as SVG: `role="img"` with its description, hover texts as `<title>`, the same bits each time.
    pub fn to_svg(&self, form: Form) -> String {
        let mut out = String::with_capacity(200 + 120 * self.marks.len());
        let (width, height, label) = (short(self.width), short(self.height), escaped(&self.label));
        let _ = write!(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\"");
        match form {
            Form::Inline => {
                // A page may show it a little larger than its size if its column is wide.
                let _ = write!(out, " style=\"max-width:{}px\"", short(1.2 * self.width));
            }
            Form::Standalone => {
                let _ = write!(out, " width=\"{width}\" height=\"{height}\"");
            }
        }
        let _ = write!(out, " role=\"img\" aria-label=\"{label}\" font-family=\"{FONTS}\">");
        if form == Form::Standalone {
            let surface = Ink::Surface.light();
            let _ = write!(
                out,
                "<title>{label}</title><rect width=\"{width}\" height=\"{height}\" fill=\"{surface}\"/>"
            );
        }
        for mark in &self.marks {
            write_mark(&mut out, mark, form);
        }
        out.push_str("</svg>");
        out
    }
}

fn write_mark(out: &mut String, mark: &Mark, form: Form) {
    let title = mark.title.as_ref().map(|t| format!("<title>{}</title>", escaped(t))).unwrap_or_default();
    let looks = format!("{}{}", fill(mark.fill, form), stroke(mark.stroke, form));
    let name = match &mark.shape {
        Shape::Path { runs, closed } => {
            let _ = write!(out, "<path d=\"{}\"", path(runs, *closed));
            "path"
        }
        Shape::Circle { x, y, radius } => {
            let _ = write!(out, "<circle cx=\"{}\" cy=\"{}\" r=\"{}\"", short(*x), short(*y), short(*radius));
            "circle"
        }
        Shape::Rect { x, y, width, height, round } => {
            let place = [("x", x), ("y", y), ("width", width), ("height", height)];
            out.push_str("<rect");
            for (name, value) in place {
                let _ = write!(out, " {name}=\"{}\"", short(*value));
            }
            if *round > 0.0 {
                let _ = write!(out, " rx=\"{}\"", short(*round));
            }
            "rect"
        }
        Shape::Dots { points, radius } => return write_dots(out, points, *radius, mark.fill, form),
        Shape::Text { x, y, size, anchor, bold, text } => {
            let anchor = match anchor {
                Anchor::Start => "",
                Anchor::Middle => " text-anchor=\"middle\"",
                Anchor::End => " text-anchor=\"end\"",
            };
            let weight = if *bold { " font-weight=\"600\"" } else { "" };
            let (x, y, size) = (short(*x), short(*y), short(*size));
            let _ = write!(
                out,
                "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\"{anchor}{weight}{looks}>{}{title}</text>",
                escaped(text)
            );
            return;
        }
    };
    let _ = if title.is_empty() { write!(out, "{looks}/>") } else { write!(out, "{looks}>{title}</{name}>") };
}

/// One path of strokes without length, whose round caps are the discs: a tenth of the bytes of circles.
fn write_dots(out: &mut String, points: &[(f64, f64)], radius: f64, fill: Option<Paint>, form: Form) {
    let Some(paint) = fill else { return };
    out.push_str("<path d=\"");
    for &(x, y) in points {
        let _ = write!(out, "M{} {}h0", short(x), short(y));
    }
    let (colour, opacity) = (colour(paint.ink, form), opacity("stroke-opacity", paint));
    let width = short(2.0 * radius);
    let _ = write!(
        out,
        "\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" stroke-linecap=\"round\"{opacity}/>"
    );
}

fn path(runs: &[Vec<(f64, f64)>], closed: bool) -> String {
    let mut d = String::new();
    for run in runs {
        for (i, &(x, y)) in run.iter().enumerate() {
            let _ = write!(d, "{}{} {}", if i == 0 { "M" } else { "L" }, short(x), short(y));
        }
        if closed {
            d.push('Z');
        }
    }
    d
}

fn colour(ink: Ink, form: Form) -> String {
    match form {
        Form::Inline => format!("var(--{})", ink.name()),
        Form::Standalone => ink.light().to_owned(),
    }
}

fn opacity(name: &str, paint: Paint) -> String {
    if paint.opacity >= 1.0 { String::new() } else { format!(" {name}=\"{}\"", short(paint.opacity)) }
}

fn fill(paint: Option<Paint>, form: Form) -> String {
    match paint {
        None => " fill=\"none\"".to_owned(),
        Some(paint) => format!(" fill=\"{}\"{}", colour(paint.ink, form), opacity("fill-opacity", paint)),
    }
}

fn stroke(stroke: Option<Stroke>, form: Form) -> String {
    let Some(stroke) = stroke else { return String::new() };
    let lengths: Vec<String> = stroke.dash.lengths().iter().map(|&x| short(f64::from(x))).collect();
    let dash = if lengths.is_empty() {
        String::new()
    } else {
        format!(" stroke-dasharray=\"{}\"", lengths.join(" "))
    };
    format!(
        " stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\"{dash}{}",
        colour(stroke.paint.ink, form),
        short(stroke.width),
        opacity("stroke-opacity", stroke.paint)
    )
}

/// A number with at most two decimals; a position that is not finite is written as 0.
fn short(x: f64) -> String {
    let x = if x.is_finite() { x } else { 0.0 };
    let text = format!("{x:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short_and_never_exponents() {
        assert_eq!(
            [1.0, 0.125, -0.001, 1e-12, 12_345.678, f64::NAN].map(short),
            ["1", "0.12", "0", "0", "12345.68", "0"]
        );
    }

    #[test]
    fn only_a_standalone_drawing_resolves_its_colours() {
        let mut scene = Scene::new(10.0, 10.0, "a <dot>");
        scene.push(
            Mark::filled(Shape::Circle { x: 5.0, y: 5.0, radius: 2.0 }, Ink::Series(0)).titled("x < y"),
        );
        let (inline, alone) = (scene.to_svg(Form::Inline), scene.to_svg(Form::Standalone));
        assert!(inline.contains("var(--series-0)") && !inline.contains("#"), "{inline}");
        assert!(!alone.contains("var(") && alone.contains("fill=\"#ffffff\""), "{alone}");
        assert!(
            inline.contains("aria-label=\"a &lt;dot&gt;\"") && inline.contains("<title>x &lt; y</title>")
        );
    }
}
