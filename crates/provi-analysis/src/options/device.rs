//! The processor that takes the log densities of many draws.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::as_text::as_text;

/// Where log densities of many draws are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum DeviceName {
    /// On a card, if there is one and enough to do; otherwise on the processor.
    #[default]
    Auto,
    /// On the processor.
    Cpu,
    /// On that card.
    Cuda(u32),
}

impl fmt::Display for DeviceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(index) => write!(f, "cuda:{index}"),
        }
    }
}

impl FromStr for DeviceName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("`{text}` is not a device; use auto, cpu or cuda:0 (cuda:1, … for further cards)");
        match text {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::Cuda(0)),
            _ => {
                let digits = text.strip_prefix("cuda:").filter(|t| t.bytes().all(|b| b.is_ascii_digit()));
                digits.and_then(|t| t.parse().ok()).map(Self::Cuda).ok_or_else(wrong)
            }
        }
    }
}

as_text!(DeviceName);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_others_refused() {
        for name in ["auto", "cpu", "cuda:0", "cuda:7"] {
            assert_eq!(name.parse::<DeviceName>().unwrap().to_string(), name);
        }
        assert_eq!("cuda".parse(), Ok(DeviceName::Cuda(0)));
        for wrong in ["", "gpu", "cuda:", "cuda:-1", "cuda:+1", "cuda:99999999999", "CUDA:0", "cuda:0 "] {
            let said = wrong.parse::<DeviceName>().unwrap_err();
            assert!(said.contains("use auto, cpu or cuda:0"), "{said}");
        }
    }
}
