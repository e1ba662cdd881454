//! Options about the files of a run, which only the command has.

use super::{RowMemory, Seconds, as_text, options};

options! {
/// How files are read and written during a run.
pub struct FileOptions {
    /// Read the data block by block in about this much memory, such as 2GiB or 500MB
    #[cfg_attr(feature = "clap", arg(long, value_name = "SIZE", conflicts_with_all = ["stan", "library"]))]
    #[serde(with = "as_text")]
    pub memory: Option<RowMemory>,
    /// Seconds between two checkpoints in the folder, for --resume [default: 15]
    #[cfg_attr(feature = "clap", arg(long, value_name = "SECONDS"))]
    #[serde(with = "as_text")]
    pub checkpoint_every: Option<Seconds>,
}
}
