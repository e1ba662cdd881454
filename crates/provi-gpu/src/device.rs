//! A card as a [`provi::device::Device`], and its twin on the processor.

use crate::{
    card::Card,
    error::Error,
    family::Family,
    rounding,
    rows::CardRows,
    shape::Shape,
    table::{FormWeights, Forms, Header, Moments, Normal, Rule, Table},
    twin,
};
use provi::device::{Device, DeviceFailure, DeviceFamily, DeviceRounding, DeviceRows, FORM_COLUMNS, Held};
use std::fmt;

impl Family {
    /// The same φ; `None` for one that came later than this crate.
    fn of(family: DeviceFamily) -> Option<Self> {
        Some(match family {
            DeviceFamily::Logistic => Self::Logistic,
            DeviceFamily::Binomial => Self::Binomial,
            DeviceFamily::Probit => Self::Probit,
            DeviceFamily::Poisson => Self::Poisson,
            DeviceFamily::Gamma { shape } => Self::Gamma { shape },
            DeviceFamily::Cloglog => Self::Cloglog,
            DeviceFamily::Gaussian { precision } => Self::Gaussian { precision },
            _ => return None,
        })
    }
}

impl From<Error> for DeviceFailure {
    /// A card that fails in a call of its driver is lost; rows that it does not take are refused.
    fn from(error: Error) -> Self {
        match error {
            Error::Driver { .. } | Error::NoDriver { .. } | Error::NoCard { .. } => {
                Self::Lost(error.to_string())
            }
            other => Self::Refused(other.to_string()),
        }
    }
}

/// The bound of the functions of every family and of every order of the sums, as [`rounding`] states them.
fn stated(family: DeviceFamily, shape: Shape) -> DeviceRounding {
    let (value_chain, slope_chain) = (shape.value_chain(), shape.row_chain());
    let function =
        Family::of(family).map_or(0.0, |f| rounding::function_error(f).max(rounding::slope_error(f)));
    DeviceRounding { value_chain, slope_chain, gram_chain: shape.gram_chain(), function }
}

fn header<'a>(rows: &DeviceRows<'a>) -> Result<Header<'a>, DeviceFailure> {
    let unknown = || DeviceFailure::Refused("the kernels do not know this family".into());
    Ok(Header {
        family: Family::of(rows.family).ok_or_else(unknown)?,
        columns: rows.columns(),
        response: rows.response,
        weights: rows.weights,
        offsets: rows.offsets,
    })
}

impl Device for Card {
    fn name(&self) -> String {
        let description = self.description();
        format!("cuda:{} ({})", description.index, description.name)
    }

    fn needed(&self, rows: usize, columns: usize, draws: usize) -> u64 {
        let shape = Shape { rows, columns };
        let forms = if columns <= FORM_COLUMNS { shape.form_bytes() } else { 0 };
        shape.resident_bytes().saturating_add(shape.working_bytes(draws, true).max(forms))
    }

    fn free(&self) -> Result<u64, DeviceFailure> {
        Ok(self.free_memory()?)
    }

    fn rounding(&self, family: DeviceFamily, rows: usize, columns: usize) -> DeviceRounding {
        stated(family, Shape { rows, columns })
    }

    fn hold(&self, rows: &DeviceRows<'_>) -> Result<Box<dyn Held>, DeviceFailure> {
        Ok(Box::new(CardRows::copied(self, &header(rows)?, |first, out| rows.write(first, out))?))
    }
}

impl fmt::Debug for CardRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CardRows").field("shape", &self.shape()).finish_non_exhaustive()
    }
}

impl Held for CardRows {
    fn energies(
        &self,
        points: &[f64],
        energies: &mut [f64],
        gradients: Option<&mut [f64]>,
    ) -> Result<(), DeviceFailure> {
        let points = self.card().points(points, self.shape().columns)?;
        match gradients {
            None => energies.copy_from_slice(&CardRows::energies(self, &points)?),
            Some(out) => {
                let (values, slopes) = self.energies_and_gradients(&points)?;
                energies.copy_from_slice(&values);
                out.copy_from_slice(&slopes);
            }
        }
        Ok(())
    }

    fn expectations(
        &self,
        mean: &[f64],
        factor: &[f64],
        rules: &[Rule<'_>],
    ) -> Result<Moments, DeviceFailure> {
        Ok(CardRows::expectations(self, &Normal { mean, factor }, rules)?)
    }

    fn gram(&self, first: usize, values: &[f64]) -> Result<Vec<f64>, DeviceFailure> {
        Ok(CardRows::gram(self, first, values)?)
    }

    fn forms(&self, first: usize, factor: &[f64], values: &FormWeights<'_>) -> Result<Forms, DeviceFailure> {
        Ok(CardRows::forms(self, first, factor, values)?)
    }
}

/// The twins of the kernels as a device: the bits of a card on a machine without one, at the speed of plain code. For tests of what a card
/// would do.
#[derive(Clone, Copy, Debug, Default)]
pub struct Twins;

#[derive(Debug)]
struct TwinRows {
    family: Family,
    columns: usize,
    design: Vec<f64>,
    response: Vec<f64>,
    weights: Option<Vec<f64>>,
    offsets: Option<Vec<f64>>,
}

impl Device for Twins {
    fn name(&self) -> String {
        "twins".into()
    }

    fn needed(&self, rows: usize, columns: usize, _: usize) -> u64 {
        8 * (rows as u64) * (columns as u64 + 3)
    }

    fn free(&self) -> Result<u64, DeviceFailure> {
        Ok(u64::MAX)
    }

    fn rounding(&self, family: DeviceFamily, rows: usize, columns: usize) -> DeviceRounding {
        stated(family, Shape { rows, columns })
    }

    fn hold(&self, rows: &DeviceRows<'_>) -> Result<Box<dyn Held>, DeviceFailure> {
        let Header { family, columns, response, weights, offsets } = header(rows)?;
        let mut design = vec![0.0; response.len() * columns];
        rows.write(0, &mut design);
        let held = TwinRows {
            family,
            columns,
            design,
            response: response.to_vec(),
            weights: weights.map(<[f64]>::to_vec),
            offsets: offsets.map(<[f64]>::to_vec),
        };
        held.table().check()?;
        Ok(Box::new(held))
    }
}

impl TwinRows {
    fn table(&self) -> Table<'_> {
        Table {
            family: self.family,
            columns: self.columns,
            design: &self.design,
            response: &self.response,
            weights: self.weights.as_deref(),
            offsets: self.offsets.as_deref(),
        }
    }
}

impl Held for TwinRows {
    fn energies(
        &self,
        points: &[f64],
        energies: &mut [f64],
        gradients: Option<&mut [f64]>,
    ) -> Result<(), DeviceFailure> {
        match gradients {
            None => energies.copy_from_slice(&twin::energies(&self.table(), points)?),
            Some(out) => {
                let (values, slopes) = twin::energies_and_gradients(&self.table(), points)?;
                energies.copy_from_slice(&values);
                out.copy_from_slice(&slopes);
            }
        }
        Ok(())
    }

    fn expectations(
        &self,
        mean: &[f64],
        factor: &[f64],
        rules: &[Rule<'_>],
    ) -> Result<Moments, DeviceFailure> {
        Ok(twin::expectations(&self.table(), &Normal { mean, factor }, rules)?)
    }

    fn gram(&self, first: usize, values: &[f64]) -> Result<Vec<f64>, DeviceFailure> {
        Ok(twin::gram(&self.table(), first, values)?)
    }

    fn forms(&self, first: usize, factor: &[f64], values: &FormWeights<'_>) -> Result<Forms, DeviceFailure> {
        Ok(twin::forms(&self.table(), first, factor, values)?)
    }
}
