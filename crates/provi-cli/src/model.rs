//! Table, formula and options → target.

use std::io::{ErrorKind, Read};
use std::path::Path;

use provi::target::{Family, Glm, Prior};
use provi::{Design, Target};
use provi_table::{Formula, FrameOptions, ModelFrame, Table};

use crate::args::{FamilyName, ModelArgs};
use crate::failure::{Failure, Result};
use crate::output::sha256;

/// A target, and what a reader needs to know about it.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) target: Glm,
    pub(crate) family: Family,
    /// Was the family read off the response?
    pub(crate) family_chosen: bool,
    /// Canonical, `.` written out.
    pub(crate) formula: String,
    pub(crate) rows: usize,
    pub(crate) prior_scale: f64,
    pub(crate) data_sha256: String,
}

impl Model {
    pub(crate) fn read(args: &ModelArgs) -> Result<Self> {
        Self::read_if(args, |_| Ok(()))
    }

    /// Reads the model if the SHA-256 of its data is welcome.
    pub(crate) fn read_if(args: &ModelArgs, welcome: impl FnOnce(&str) -> Result<()>) -> Result<Self> {
        // A formula that cannot be read is refused before a large file is.
        let formula = Formula::parse(&args.formula).map_err(|error| Failure::table(error, &args.formula))?;
        let (bytes, name) = read(&args.data, &args.formula)?;
        welcome(&sha256(&bytes))?;
        Self::from_bytes(&bytes, name, &formula, args)
    }

    pub(crate) fn from_bytes(
        bytes: &[u8],
        table: String,
        formula: &Formula,
        args: &ModelArgs,
    ) -> Result<Self> {
        let refuse = |error| Failure::table(error, &args.formula);
        let columns = Table::read(bytes, &table).map_err(refuse)?;
        let frame = ModelFrame::new(&columns, formula, &FrameOptions::default()).map_err(refuse)?;
        refuse_unused(&frame)?;
        let prior = Prior::scale(args.prior_scale)?;
        let family = family(args, &frame, &table)?;
        let at_line = |error| match error {
            provi::Error::Response { family, row, value, needed } => Failure::Response {
                column: frame.response_name.clone(),
                line: frame.line_of_row(row).unwrap_or(row),
                table: table.clone(),
                value,
                needed,
                family,
            },
            other => Failure::Library(other),
        };
        let design = Design::dense(&frame.design.population, frame.rows, frame.design.columns)?;
        let target = Glm::new(family, design, &frame.response, prior).map_err(at_line)?;
        Ok(Self {
            target: target.with_names(frame.names)?,
            family,
            family_chosen: args.family.is_none(),
            formula: frame.formula,
            rows: frame.rows,
            prior_scale: args.prior_scale,
            data_sha256: sha256(bytes),
        })
    }

    pub(crate) fn dim(&self) -> usize {
        self.target.dim()
    }

    /// σ, where the family has one.
    pub(crate) fn noise_sd(&self) -> Option<f64> {
        match self.family {
            Family::Gaussian { noise_sd } => Some(noise_sd),
            _ => None,
        }
    }
}

/// The models of this command have population coefficients alone.
fn refuse_unused(frame: &ModelFrame) -> Result<()> {
    let construct = match frame {
        ModelFrame { groups, .. } if !groups.is_empty() => "group terms",
        ModelFrame { trials: Some(_), .. } => "numbers of trials",
        ModelFrame { offsets: Some(_), .. } => "offsets",
        _ => return Ok(()),
    };
    Err(Failure::NotFitted { construct, formula: frame.formula.clone() })
}

/// The bytes of a file, or of standard input for `-`, and their name in messages.
fn read(path: &Path, formula: &str) -> Result<(Vec<u8>, String)> {
    let stdin = path.as_os_str() == "-";
    let name = if stdin { "standard input".to_owned() } else { path.display().to_string() };
    let bytes = if stdin {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(path)
    };
    let refused = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => provi_table::Error::NotFound { path: name.clone() },
        _ => provi_table::Error::Unreadable { table: name.clone(), reason: error.to_string() },
    };
    bytes.map_err(|error| Failure::table(refused(error), formula)).map(|bytes| (bytes, name.clone()))
}

/// The named family; without a name, gaussian where a noise is given and bernoulli for a binary response.
fn family(args: &ModelArgs, frame: &ModelFrame, table: &str) -> Result<Family> {
    let family = match (args.family, args.noise_sd) {
        (Some(FamilyName::Gaussian) | None, Some(noise_sd)) => return Ok(Family::Gaussian { noise_sd }),
        (Some(FamilyName::Gaussian), None) => return Err(Failure::NoNoise),
        (Some(FamilyName::Bernoulli), _) => Family::Bernoulli,
        (Some(FamilyName::Probit), _) => Family::Probit,
        (Some(FamilyName::Poisson), _) => Family::Poisson,
        (None, None) if is_binary(&frame.response) => Family::Bernoulli,
        (None, None) => {
            return Err(Failure::NoFamily { table: table.to_owned(), column: frame.response_name.clone() });
        }
    };
    match args.noise_sd {
        Some(noise_sd) => Err(Failure::StrayNoise { noise_sd, family: family.name() }),
        None => Ok(family),
    }
}

/// 0 and 1, or −1 and 1, and nothing else.
fn is_binary(response: &[f64]) -> bool {
    let all = |low: f64| response.iter().all(|&y| y.total_cmp(&low).is_eq() || y.total_cmp(&1.0).is_eq());
    all(0.0) || all(-1.0)
}
