//! The compiled kernels that the crate carries: PTX, which a driver turns into its card's instructions.

use crate::{
    error::{Error, Result},
    family::Kind,
};
use flate2::read::GzDecoder;
use std::{ffi::CString, io::Read};

macro_rules! both {
    ($name:literal) => {
        [
            include_bytes!(concat!("../kernels/ptx/", $name, "_80.ptx.gz")),
            include_bytes!(concat!("../kernels/ptx/", $name, "_90.ptx.gz")),
        ]
    };
}

/// A module for 8.0 and one for 9.0. Each also runs on later cards.
type Both = [&'static [u8]; 2];

const COMMON: Both = both!("common");

/// In the order of [`Kind::ALL`].
const DENSITIES: [Both; 8] = [
    both!("logistic"),
    both!("logistic_weighted"),
    both!("binomial"),
    both!("probit"),
    both!("poisson"),
    both!("gamma"),
    both!("cloglog"),
    both!("gaussian"),
];

/// The kernels that no family changes.
pub(crate) fn common(major: i32) -> Result<CString> {
    text(COMMON, major)
}

/// The kernels of one family.
pub(crate) fn density(kind: Kind, major: i32) -> Result<CString> {
    text(DENSITIES[kind as usize], major)
}

fn text(both: Both, major: i32) -> Result<CString> {
    let broken = |reason: String| Error::NoDriver {
        reason: format!("the kernels of this build cannot be read: {reason}"),
    };
    let mut ptx = Vec::new();
    let packed = both[usize::from(major >= 9)];
    GzDecoder::new(packed).read_to_end(&mut ptx).map_err(|error| broken(error.to_string()))?;
    CString::new(ptx).map_err(|error| broken(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};

    /// Fails if a source changed and `kernels/build.py` was not run after it.
    #[test]
    fn the_modules_are_those_of_the_sources() {
        let mut hash = Sha256::new();
        hash.update(include_bytes!("../kernels/functions.cuh"));
        hash.update(include_bytes!("../kernels/provi.cu"));
        let digest: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        let first = format!("// sources: {digest}\n");
        for major in [8, 9] {
            let mut all = vec![(common(major).unwrap(), "reduce")];
            all.extend(Kind::ALL.map(|kind| (density(kind, major).unwrap(), "density_values")));
            for (ptx, entry) in all {
                let text = ptx.to_str().unwrap();
                assert!(text.starts_with(&first), "run kernels/build.py");
                assert!(text.contains(&format!(".target sm_{major}0")));
                assert!(text.contains(&format!(".visible .entry {entry}(")));
            }
        }
    }

    /// Bits are promised, so no multiplication may be fused with an addition that the source does not fuse.
    #[test]
    fn rounding_is_named_in_every_operation() {
        for kind in Kind::ALL {
            let ptx = density(kind, 9).unwrap();
            let text = ptx.to_str().unwrap();
            assert!(!text.contains("mad.f64") && !text.contains("mul.f64 ") && !text.contains("div.approx"));
            assert!(!text.contains("mul.rn.ftz") && text.contains("mma.sync.aligned.m16n8k8"));
        }
    }

    #[test]
    fn kinds_have_the_numbers_of_the_kernels() {
        assert!(Kind::ALL.iter().enumerate().all(|(i, &kind)| kind as usize == i));
        let header = include_str!("../kernels/functions.cuh");
        let order = "LOGISTIC, LOGISTIC_WEIGHTED, BINOMIAL, PROBIT, POISSON, GAMMA, CLOGLOG, GAUSSIAN";
        assert!(header.contains(order));
    }

    #[test]
    fn tiles_have_the_numbers_of_the_kernels() {
        use crate::shape::{DRAW_WARPS, FOLD, ROW_WARPS};
        let source = include_str!("../kernels/provi.cu");
        for line in [
            format!("#define WARPS_M {DRAW_WARPS}\n"),
            format!("#define WARPS_N {ROW_WARPS}\n"),
            format!("#define FOLD {FOLD}\n"),
            "#define STAGES 3\n".into(),
        ] {
            assert!(source.contains(&line), "{line}");
        }
    }
}
