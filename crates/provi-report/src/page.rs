//! Self-contained HTML pages: a verdict, sections of text, tables and drawings. Nothing is fetched; a page has a script of its own only where it
//! is asked for, and says everything without it.

mod html;
mod style;

use crate::fit::Light;
use crate::scene::Scene;

/// A page as data. All text is plain; it is escaped when written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// The heading, and the window's title.
    pub title: String,
    /// A line under the heading; may be empty.
    pub subtitle: String,
    /// The sections, in order.
    pub sections: Vec<Section>,
    /// The last line; may be empty.
    pub footer: String,
    /// Whether it has the script that sorts tables, chooses between views and says at once what a mark stands for.
    pub interactive: bool,
}

/// A heading and the blocks under it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// The heading, also its entry in the list of contents.
    pub heading: String,
    /// The blocks, in order.
    pub blocks: Vec<Block>,
}

/// A piece of a page.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// A bulleted list.
    List(Vec<String>),
    /// Names and values.
    Facts(Vec<(String, String)>),
    /// A verdict with its light: colour, shape and word.
    Verdict {
        /// The light.
        light: Light,
        /// The verdict in a word; [`Light::word`] if empty.
        word: String,
        /// The verdict in a sentence.
        headline: String,
        /// The meaning in plain words; may be empty.
        meaning: String,
    },
    /// Rows and columns.
    Table(Table),
    /// Drawings, side by side if there is room, and their caption.
    Figure {
        /// One or more drawings.
        scenes: Vec<Scene>,
        /// The legend they share, above them; see [`crate::Chart::key`].
        key: Option<Scene>,
        /// What to see in them; may be empty.
        caption: String,
    },
    /// A command or a program, to be copied.
    Code(String),
    /// Views of the same thing, by name: one at a time on an interactive page, all of them on paper.
    Choice(Vec<(String, Vec<Block>)>),
}

/// A table, which scrolls inside its own frame if it is wider than the page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Column titles.
    pub columns: Vec<Column>,
    /// Cells, as many per row as there are columns.
    pub rows: Vec<Vec<String>>,
    /// How to read it, under the table; may be empty.
    pub note: String,
}

/// A column of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Column {
    /// Its title.
    pub title: String,
    /// Whether it holds numbers, which are aligned right; words are aligned left.
    pub numeric: bool,
}

impl Column {
    /// A column of words.
    pub fn words(title: &str) -> Self {
        Self { title: title.to_owned(), numeric: false }
    }

    /// A column of numbers.
    pub fn numbers(title: &str) -> Self {
        Self { title: title.to_owned(), numeric: true }
    }
}

impl Block {
    /// One drawing and its caption.
    pub fn figure(scene: Scene, caption: impl Into<String>) -> Self {
        Self::Figure { scenes: vec![scene], key: None, caption: caption.into() }
    }
}

impl Light {
    /// The word shown besides colour and shape.
    pub fn word(self) -> &'static str {
        match self {
            Self::Green => "proved",
            Self::Amber => "proved, with reserve",
            Self::Red => "not proved",
        }
    }
}

impl Page {
    /// The whole file: HTML with inline style and inline SVG, for light and dark themes, wide and narrow screens,
    /// and paper.
    pub fn html(&self) -> String {
        html::write(self)
    }
}
