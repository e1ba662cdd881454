//! Colours by their role, in light and dark.

/// A colour by what it is for; pages and plots give it a value.
///
/// The eight of a series are told apart under the common forms of colour blindness; what they tell is also told
/// by dashes and markers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// Text, and marks that matter most.
    Text,
    /// Labels beside the data.
    Muted,
    /// Axis lines and ticks.
    Axis,
    /// Grid lines.
    Grid,
    /// What is behind the marks.
    Surface,
    /// The n-th series, around the circle of eight.
    Series(usize),
    /// It holds.
    Good,
    /// It holds, but.
    Warning,
    /// It does not hold.
    Bad,
}

/// Name, light and dark value of a series.
const SERIES: [(&str, &str, &str); 8] = [
    ("series-0", "#0a67a3", "#6db7ee"),
    ("series-1", "#c4500a", "#ff9a57"),
    ("series-2", "#08805d", "#4fc9a4"),
    ("series-3", "#a1508a", "#e29ecb"),
    ("series-4", "#8a6a00", "#e8c04a"),
    ("series-5", "#3f51a8", "#a7b4f5"),
    ("series-6", "#5d6670", "#b3bcc7"),
    ("series-7", "#a02c3a", "#f28b96"),
];

impl Ink {
    /// Every colour once.
    pub const ALL: [Self; 16] = [
        Self::Text,
        Self::Muted,
        Self::Axis,
        Self::Grid,
        Self::Surface,
        Self::Good,
        Self::Warning,
        Self::Bad,
        Self::Series(0),
        Self::Series(1),
        Self::Series(2),
        Self::Series(3),
        Self::Series(4),
        Self::Series(5),
        Self::Series(6),
        Self::Series(7),
    ];

    fn row(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Text => ("text", "#1b2127", "#e9edf1"),
            Self::Muted => ("muted", "#55606b", "#a6b0bb"),
            Self::Axis => ("axis", "#8a949e", "#6f7a86"),
            Self::Grid => ("grid", "#e4e8ec", "#2d343c"),
            Self::Surface => ("surface", "#ffffff", "#171c21"),
            Self::Good => ("good", "#08744f", "#4fc9a4"),
            Self::Warning => ("warning", "#8f5f00", "#f0bd4f"),
            Self::Bad => ("bad", "#b3261e", "#ff9188"),
            Self::Series(n) => SERIES[n % SERIES.len()],
        }
    }

    /// The CSS custom property, without its dashes.
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// `#rrggbb` on white.
    pub fn light(self) -> &'static str {
        self.row().1
    }

    /// `#rrggbb` on a dark surface.
    pub fn dark(self) -> &'static str {
        self.row().2
    }

    /// The light value as three bytes.
    #[cfg(feature = "png")]
    pub(crate) fn rgb(self) -> [u8; 3] {
        [1, 3, 5].map(|at| u8::from_str_radix(&self.light()[at..at + 2], 16).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The luminance of `#rrggbb`, in sRGB's definition.
    fn luminance(colour: &str) -> f64 {
        let channel = |at: usize| {
            let c = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if c <= 0.040_45 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
        (a / b).max(b / a)
    }

    #[test]
    fn text_and_series_stand_out_in_light_and_dark() {
        for ink in Ink::ALL {
            let least = match ink {
                Ink::Text => 12.0,
                Ink::Grid | Ink::Surface => continue,
                Ink::Axis => 3.0,
                _ => 4.5,
            };
            let pairs = [(ink.light(), Ink::Surface.light()), (ink.dark(), Ink::Surface.dark())];
            for (mark, surface) in pairs {
                assert!(contrast(mark, surface) >= least, "{ink:?} {mark} on {surface}");
            }
        }
    }

    #[test]
    fn names_are_distinct() {
        let mut names = Ink::ALL.map(Ink::name).to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Ink::ALL.len());
    }
}
