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

#[cfg(test)]
mod tests {
    use crate::text::width;

    /// The rem of the browser's usual 16 pixels.
    const REM: f64 = 16.0;

    #[test]
    fn a_row_of_coefficients_fits_into_a_window_of_1200_pixels() {
        let sheet = super::sheet();
        let page: f64 =
            sheet.split("main { max-width: ").nth(1).unwrap().split("rem").next().unwrap().parse().unwrap();
        let cell: f64 =
            sheet.split("padding: 0.4rem ").nth(1).unwrap().split("rem").next().unwrap().parse().unwrap();
        // The page's own padding, and that of a section.
        let room = REM * (page - 2.0 * 1.25 - 2.0 * 1.5);
        let numbers = ["−12,345.678", "8.6 × 10⁻⁸", "1,234.567", "8.6 × 10⁻⁸", "−14,765.432", "−9,925.925"];
        // Names break within 9.5 rem; numbers do not break.
        let row: f64 = numbers.iter().map(|text| width(text, 0.9 * REM) + 2.0 * cell * REM).sum();
        let row = row + REM * (9.5 + 2.0 * cell);
        assert!(row <= room && REM * page <= 1200.0, "{row} of {room}");
    }
}
