//! What a user may say about the files of a run, which only a command keeps.

use super::{RowMemory, Seconds, as_text, options};

options! {
/// How files are read and written while a run goes on.
pub struct FileOptions {
    /// Read the data block by block, in about so much memory, such as 2GiB or 500MB
    #[cfg_attr(feature = "clap", arg(long, value_name = "SIZE", conflicts_with_all = ["stan", "library"]))]
    #[serde(with = "as_text")]
    pub memory: Option<RowMemory>,
    /// How often the run is put aside in its folder, for --resume [default: 15]
    #[cfg_attr(feature = "clap", arg(long, value_name = "SECONDS"))]
    #[serde(with = "as_text")]
    pub checkpoint_every: Option<Seconds>,
}
}
