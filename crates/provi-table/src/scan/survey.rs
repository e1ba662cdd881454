//! The result of one pass over a part of the data.

use serde::{Deserialize, Serialize};

use super::{moments::Moments, notes::Notes};
use crate::{
    cells::Tally,
    error::{BadShards, Error, Result},
    shards::Mark,
};

/// The result of one pass over a part of the rows: plain data, which can be stored or sent, and merged with those
/// of the other parts.
///
/// [`merge`](Survey::merge) is associative and commutative, up to the rounding of means and deviations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Survey(pub(super) Findings);

/// The findings, by the kind of pass.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "pass", rename_all = "snake_case")]
pub(super) enum Findings {
    /// For text: what the columns hold.
    Kinds {
        tallies: Vec<Tally>,
        /// For each file: its number of rows, and positions from which reading can start; `None` if another part
        /// has read it.
        files: Vec<Option<(usize, Vec<Mark>)>>,
    },
    /// Levels, means and deviations of columns and arithmetic.
    Notes(Box<Notes>),
    /// Mean and deviation of each column of the design, block by block.
    Spreads { rows: usize, blocks: Vec<Vec<Option<Moments>>> },
}

impl Survey {
    /// The survey of both parts; an error if they are of different passes, files or formulas.
    pub fn merge(self, other: Self) -> Result<Self> {
        let foreign = |reason: &str| Error::Shards(BadShards::Survey { reason: reason.to_owned() });
        Ok(Self(match (self.0, other.0) {
            (
                Findings::Kinds { tallies, files },
                Findings::Kinds { tallies: other_tallies, files: other_files },
            ) => {
                if tallies.len() != other_tallies.len() || files.len() != other_files.len() {
                    return Err(foreign("they are of different columns or files"));
                }
                if files.iter().zip(&other_files).any(|(one, other)| one.is_some() && other.is_some()) {
                    return Err(foreign("two are of the same part"));
                }
                let tallies =
                    tallies.into_iter().zip(other_tallies).map(|(one, other)| one.merge(other)).collect();
                let files = files.into_iter().zip(other_files).map(|(one, other)| one.or(other)).collect();
                Findings::Kinds { tallies, files }
            }
            (Findings::Notes(one), Findings::Notes(other)) => {
                let merged = one.merge(*other).ok_or_else(|| foreign("they answer different questions"))?;
                Findings::Notes(Box::new(merged))
            }
            (
                Findings::Spreads { rows, blocks },
                Findings::Spreads { rows: other_rows, blocks: other_blocks },
            ) => {
                let widths =
                    |blocks: &[Vec<Option<Moments>>]| blocks.iter().map(Vec::len).collect::<Vec<_>>();
                if widths(&blocks) != widths(&other_blocks) {
                    return Err(foreign("they are of different designs"));
                }
                let merge = |(one, other): (Vec<Option<Moments>>, Vec<Option<Moments>>)| {
                    one.into_iter().zip(other).map(|(one, other)| Moments::merge(one, other)).collect()
                };
                let blocks = blocks.into_iter().zip(other_blocks).map(merge).collect();
                Findings::Spreads { rows: rows + other_rows, blocks }
            }
            _ => return Err(foreign("they are of different passes")),
        }))
    }
}
