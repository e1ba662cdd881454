//! A card beside the processor, for a model of a linear predictor: its rows in memory, or read block by block.

use std::borrow::Cow;

use provi::device::{LEAST_WORK, MOST_DRAWS, OnDevice, USUAL_DRAWS};
use provi::memory::Bytes;
use provi::target::Glm;
use provi_gpu::Card;

use super::{FileModel, Model, ModelTarget};
use crate::error::{Error, Result};
use crate::options::DeviceName;

/// The least work of a block for a card that was asked for by its name.
const ASKED_WORK: u64 = 1 << 20;

/// A model whose rows a device may have.
pub trait Rows: std::fmt::Debug {
    /// The device, if it has one.
    fn device(&self) -> Option<&OnDevice>;
    /// Why no device can have the rows, if that is so.
    fn refused(&self) -> Option<&'static str>;
    /// Rows that are there at once, and columns.
    fn size(&self) -> (usize, usize);
    /// Draws that an audit takes together there.
    fn draws(&self) -> usize;
}

impl Rows for Glm {
    fn device(&self) -> Option<&OnDevice> {
        self.device()
    }
    fn refused(&self) -> Option<&'static str> {
        self.refused_by_devices()
    }
    fn size(&self) -> (usize, usize) {
        (self.design().rows(), self.design().columns())
    }
    fn draws(&self) -> usize {
        USUAL_DRAWS
    }
}

impl Rows for FileModel {
    fn device(&self) -> Option<&OnDevice> {
        self.device()
    }
    fn refused(&self) -> Option<&'static str> {
        self.refused_by_devices()
    }
    fn size(&self) -> (usize, usize) {
        (self.largest_block(), provi::Target::dim(self))
    }
    fn draws(&self) -> usize {
        MOST_DRAWS
    }
}

impl ModelTarget {
    /// The rows that a device may have.
    pub fn device_rows(&self) -> Option<&dyn Rows> {
        match self {
            Self::Memory(glm) => Some(&**glm),
            Self::Files(streamed) => Some(&**streamed),
            Self::Sparse(_) | Self::SparseFiles(_) => None,
        }
    }
}

impl Model {
    /// The same model with a device, if the device can have its rows. Refuses a card that was asked for by its name and is not there, or has
    /// too little memory.
    pub fn on_device(mut self, asked: Option<DeviceName>) -> Result<Self> {
        let asked = asked.unwrap_or_default();
        self.target = match self.target {
            ModelTarget::Memory(glm) => ModelTarget::Memory(Box::new(with_device(*glm, asked)?)),
            ModelTarget::Files(streamed) => ModelTarget::Files(match chosen(&*streamed, asked)? {
                Some(on) => Box::new(streamed.with_device(on)),
                None => streamed,
            }),
            other => {
                is_there(asked)?;
                other
            }
        };
        Ok(self)
    }
}

/// The same for rows that somebody holds.
pub fn with_device(glm: Glm, asked: DeviceName) -> Result<Glm> {
    Ok(match chosen(&glm, asked)? {
        Some(on) => glm.with_device(on),
        None => glm,
    })
}

/// The same for rows that stay with somebody else.
pub fn beside(glm: &Glm, asked: Option<DeviceName>) -> Result<Cow<'_, Glm>> {
    Ok(match chosen(glm, asked.unwrap_or_default())? {
        Some(on) => Cow::Owned(glm.clone().with_device(on)),
        None => Cow::Borrowed(glm),
    })
}

/// The device that a model is to have.
fn chosen(model: &dyn Rows, asked: DeviceName) -> Result<Option<OnDevice>> {
    let (rows, columns) = model.size();
    match asked {
        DeviceName::Cpu => Ok(None),
        DeviceName::Cuda(index) => {
            let card = open(index)?;
            if model.refused().is_some() {
                return Ok(None);
            }
            let on = OnDevice::with_least_work(card, ASKED_WORK);
            has_room(&on, rows, columns).map(|()| Some(on))
        }
        DeviceName::Auto => {
            let work = (rows as u64).saturating_mul(columns as u64).saturating_mul(model.draws() as u64);
            if work < LEAST_WORK || model.refused().is_some() {
                return Ok(None);
            }
            let on = Card::open(0).ok().map(OnDevice::new);
            Ok(on.filter(|on| has_room(on, rows, columns).is_ok()))
        }
    }
}

/// Refuses a card that was asked for and is not there, for a model that has no use for it.
pub fn is_there(asked: DeviceName) -> Result<()> {
    match asked {
        DeviceName::Cuda(index) => open(index).map(drop),
        DeviceName::Auto | DeviceName::Cpu => Ok(()),
    }
}

fn open(index: u32) -> Result<Card> {
    Card::open(index).map_err(|error| {
        let reason = error.to_string();
        let reason = reason.strip_suffix("; everything runs on the processor").unwrap_or(&reason).to_owned();
        Error::NoDevice { asked: DeviceName::Cuda(index).to_string(), reason }
    })
}

fn has_room(on: &OnDevice, rows: usize, columns: usize) -> Result<()> {
    let device = on.device();
    let lost = |failure: provi::device::DeviceFailure| Error::NoDevice {
        asked: device.name(),
        reason: failure.to_string(),
    };
    let (needed, free) = (device.needed(rows, columns, MOST_DRAWS), device.free().map_err(lost)?);
    match needed > free {
        true => Err(Error::DeviceRoom { device: device.name(), needed: Bytes(needed), free: Bytes(free) }),
        false => Ok(()),
    }
}

/// What a device needs for the rows of a model and a block of draws, in words; empty without one.
pub(crate) fn forecast(model: Option<&dyn Rows>) -> String {
    let Some((model, on)) = model.and_then(|model| Some((model, model.device()?))) else {
        return String::new();
    };
    let (rows, columns) = model.size();
    let needed = on.device().needed(rows, columns, MOST_DRAWS);
    format!("; {} on {} for its rows and a block of draws", Bytes(needed), on.device().name())
}

/// Why a card that was asked for by its name is not used.
pub fn not_used(model: Option<&dyn Rows>, asked: Option<DeviceName>) -> Option<String> {
    let asked = asked.filter(|asked| matches!(asked, DeviceName::Cuda(_)))?;
    let reason = match model {
        None => "its kernels take rows of a linear predictor, and no sparse factors",
        Some(model) if model.device().is_some() => return None,
        Some(model) => model.refused().unwrap_or("it has no rows of its own"),
    };
    Some(format!("device {asked} is not used, and the processor takes every pass: {reason}"))
}

/// What is to be said of the device after the work: that it was given up; and what it did not take, if it was asked for by its name.
pub fn said(model: Option<&dyn Rows>, asked: Option<DeviceName>) -> Vec<String> {
    let Some(on) = model.and_then(|model| model.device()) else { return Vec::new() };
    let notes = matches!(asked, Some(DeviceName::Cuda(_))).then(|| on.notes()).unwrap_or_default();
    on.warnings().into_iter().chain(notes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use provi::Design;
    use provi::device::{Device, DeviceFailure, DeviceFamily, DeviceRounding, DeviceRows, Held};
    use provi::target::Prior;

    /// A card of so many bytes.
    #[derive(Debug)]
    struct Small(u64);

    impl Device for Small {
        fn name(&self) -> String {
            "cuda:0 (small)".into()
        }
        fn needed(&self, rows: usize, columns: usize, draws: usize) -> u64 {
            8 * (rows * columns + draws) as u64
        }
        fn free(&self) -> std::result::Result<u64, DeviceFailure> {
            Ok(self.0)
        }
        fn rounding(&self, _: DeviceFamily, _: usize, _: usize) -> DeviceRounding {
            DeviceRounding { value_chain: 1, slope_chain: 1, gram_chain: 1, function: 0.0 }
        }
        fn hold(&self, _: &DeviceRows<'_>) -> std::result::Result<Box<dyn Held>, DeviceFailure> {
            Err(DeviceFailure::Refused("it is full".into()))
        }
    }

    fn model(sparse: bool) -> Glm {
        let design = match sparse {
            true => Design::triplets(2, 1, &[(0, 0, 1.0), (1, 0, 2.0)]),
            false => Design::dense(2, 1, &[1.0, 2.0]),
        };
        Glm::logistic(design.unwrap(), &[0.0, 1.0], Prior::scale(1.0).unwrap()).unwrap()
    }

    #[test]
    fn rows_and_a_block_of_draws_have_to_fit() {
        let needed = 8 * (2 + MOST_DRAWS as u64);
        has_room(&OnDevice::new(Small(needed)), 2, 1).unwrap();
        let said = has_room(&OnDevice::new(Small(needed - 1)), 2, 1).unwrap_err().to_string();
        assert!(
            said.contains("on cuda:0 (small), which has") && said.ends_with("or fit fewer rows"),
            "{said}"
        );
        let glm = model(false).with_device(OnDevice::new(Small(needed)));
        assert_eq!(forecast(Some(&glm)), "; 32.8 kB on cuda:0 (small) for its rows and a block of draws");
        assert_eq!(forecast(Some(&model(false))), "");
    }

    #[test]
    fn a_card_that_is_asked_for_and_not_used_is_spoken_of() {
        let (asked, auto) = (Some(DeviceName::Cuda(0)), Some(DeviceName::Auto));
        let why = |model: Option<&dyn Rows>| not_used(model, asked).unwrap();
        assert!(why(Some(&model(true))).ends_with("every pass: the design is stored sparsely"));
        assert!(why(None).starts_with("device cuda:0 is not used"));
        assert_eq!(not_used(Some(&model(true)), auto), None);
        let glm = model(false).with_device(OnDevice::new(Small(1)));
        assert_eq!(not_used(Some(&glm), asked), None);
    }

    /// Whatever this machine has, nothing is opened for two rows.
    #[test]
    fn a_small_table_stays_on_the_processor() {
        for asked in [None, Some(DeviceName::Auto), Some(DeviceName::Cpu)] {
            assert!(matches!(beside(&model(false), asked), Ok(Cow::Borrowed(_))));
        }
        let error = beside(&model(false), Some(DeviceName::Cuda(u32::MAX))).unwrap_err().to_string();
        assert!(error.starts_with("device cuda:4294967295 cannot be used: no "), "{error}");
        assert!(error.ends_with("; say auto or cpu, or leave the option out"), "{error}");
    }
}
