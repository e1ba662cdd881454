//! The style sheet: colours from [`Ink`], the rest from a file beside this one.

use crate::ink::Ink;

pub(super) fn sheet() -> String {
    let list = |value: fn(Ink) -> &'static str| -> String {
        Ink::ALL.iter().map(|&ink| format!("--{}:{};", ink.name(), value(ink))).collect()
    };
    let (light, dark) = (list(Ink::light), list(Ink::dark));
    format!(
        ":root{{{light}--page:#f6f7f9;}}\n\
         @media screen and (prefers-color-scheme: dark){{:root{{{dark}--page:#0f1317;}}}}\n{}",
        include_str!("style.css")
    )
}
