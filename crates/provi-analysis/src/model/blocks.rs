//! Files, read block by block, as the rows of a model.

use std::sync::OnceLock;

use provi::stream::{Rows, Source};
use provi::target::Family;
use provi_table::{FrameRows, Part, Scan};

/// The blocks of one process: read at each pass, or kept in memory after the first pass if they fit.
#[derive(Debug)]
pub struct Blocks {
    scan: Scan,
    part: Part,
    family: Family,
    /// Bytes that the rows may take if they are kept in memory.
    room: usize,
    kept: OnceLock<Vec<Rows>>,
}

/// An error in a pass: of the files, or of the visitor.
enum Trouble {
    Table(provi_table::Error),
    Visitor(provi::Error),
}

impl From<provi_table::Error> for Trouble {
    fn from(error: provi_table::Error) -> Self {
        Self::Table(error)
    }
}

impl Blocks {
    /// A part of a scan, as rows of a family.
    pub(super) fn new(scan: Scan, part: Part, family: Family, room: usize) -> Self {
        Self { scan, part, family, room, kept: OnceLock::new() }
    }

    /// The rows of a block.
    fn rows(&self, mut block: FrameRows) -> provi::Result<Rows> {
        let design = super::design::owned(&mut block.design)?;
        let rows = match (&block.trials, &block.spans) {
            (Some(trials), _) => Rows::successes(self.family, design, &block.response, trials),
            (None, Some(spans)) => Rows::times(self.family, design, &super::design::times(spans)),
            (None, None) => Rows::new(self.family, design, &block.response),
        };
        let mut rows = rows.map_err(|error| self.placed(error, &block))?;
        if let Some(weights) = &block.weights {
            rows = rows.with_weights(weights)?;
        }
        match &block.offsets {
            Some(offsets) => rows.with_offsets(offsets),
            None => Ok(rows),
        }
    }

    /// An error for a response that the family does not allow, with file and line.
    fn placed(&self, error: provi::Error, block: &FrameRows) -> provi::Error {
        match error {
            provi::Error::Response { family, row, value, needed } => provi::Error::Source {
                message: format!(
                    "column `{}` of `{}` holds {value} on line {}, where family {family} needs {needed}",
                    self.scan.response_name,
                    block.file,
                    block.lines.get(row).copied().unwrap_or(row)
                ),
            },
            other => other,
        }
    }

    /// Bytes of all rows of this part in a model. A sparse design has an index for each number.
    fn bytes(&self) -> usize {
        let entries = match self.scan.groups.is_empty() {
            true => self.scan.names.len(),
            false => {
                let groups = self.scan.groups.iter().map(|group| group.columns.len()).sum::<usize>();
                2 * (self.scan.recipe().population.columns.len() + groups) + 1
            }
        };
        8 * self.part.rows(self.scan.rows).len().saturating_mul(entries + 4)
    }
}

impl Source for Blocks {
    fn columns(&self) -> usize {
        self.scan.names.len()
    }

    fn each(&self, visit: &mut dyn FnMut(&Rows) -> provi::Result<()>) -> provi::Result<()> {
        if let Some(kept) = self.kept.get() {
            return kept.iter().try_for_each(visit);
        }
        let mut keep = (self.bytes() <= self.room).then(Vec::new);
        let pass = self.scan.each(self.part, &mut |block| {
            let rows = self.rows(block).map_err(Trouble::Visitor)?;
            visit(&rows).map_err(Trouble::Visitor)?;
            if let Some(keep) = &mut keep {
                keep.push(rows);
            }
            Ok(())
        });
        pass.map_err(|trouble| match trouble {
            Trouble::Table(error) => provi::Error::Source { message: error.to_string() },
            Trouble::Visitor(error) => error,
        })?;
        if let Some(keep) = keep {
            // No other pass can have set it: passes come one after the other.
            let _ = self.kept.set(keep);
        }
        Ok(())
    }
}
