//! Second derivatives, if the library computes them.

use super::StanModel;
use provi::Matrix;

/// What a library with second derivatives states about itself. Any other would difference its gradients one point
/// after the other; provi does that faster, in batches.
const DIFFERENTIATES_TWICE: &str = "BRIDGESTAN_AD_HESSIAN=true";

impl StanModel {
    /// ∇² log p at z, by `bs_log_density_hessian`, or by d calls of `bs_log_density_hessian_vector_product` in a
    /// library that exports only those. Returns false, with meaningless contents in `out`, if the library has
    /// neither or refuses the point.
    pub(super) fn second_derivatives(&self, z: &[f64], out: &mut Matrix) -> provi::Result<bool> {
        crate::library::fits_hessian(self.dim, z, out)?;
        if !self.info.contains(DIFFERENTIATES_TWICE) {
            return Ok(false);
        }
        let _turn = self.handle.gate.enter()?;
        Ok((self.whole_hessian(z, out) || self.hessian_by_products(z, out))
            && out.entries().iter().all(|x| x.is_finite()))
    }

    fn whole_hessian(&self, z: &[f64], out: &mut Matrix) -> bool {
        let Some(hessian) = self.interface.hessian else { return false };
        // Numbers that the library leaves unwritten count as a refusal.
        out.entries_mut().fill(f64::NAN);
        let (mut value, mut gradient) = (f64::NAN, vec![0.0; self.dim]);
        let mut message = std::ptr::null_mut();
        // SAFETY: room for 1, d and d² numbers, in Stan's column-major order, which is ours for a symmetric matrix; the
        // caller has passed the gate.
        let code = unsafe {
            hessian(
                self.handle.pointer(),
                false,
                true,
                z.as_ptr(),
                &mut value,
                gradient.as_mut_ptr(),
                out.entries_mut().as_mut_ptr(),
                &mut message,
            )
        };
        self.interface.take(message);
        code == 0
    }

    /// Row i is ∇² log p · e_i; symmetrised, because each row has its own rounding.
    fn hessian_by_products(&self, z: &[f64], out: &mut Matrix) -> bool {
        let Some(product) = self.interface.hessian_product else { return false };
        let d = self.dim;
        out.entries_mut().fill(f64::NAN);
        let mut unit = vec![0.0; d];
        for i in 0..d {
            unit[i] = 1.0;
            let (mut value, mut message) = (f64::NAN, std::ptr::null_mut());
            // SAFETY: point, direction and row hold d numbers each; the caller has passed the gate.
            let code = unsafe {
                product(
                    self.handle.pointer(),
                    false,
                    true,
                    z.as_ptr(),
                    unit.as_ptr(),
                    &mut value,
                    out.row_mut(i).as_mut_ptr(),
                    &mut message,
                )
            };
            self.interface.take(message);
            if code != 0 {
                return false;
            }
            unit[i] = 0.0;
        }
        for i in 0..d {
            for j in 0..i {
                let mean = 0.5 * (out[(i, j)] + out[(j, i)]);
                (out[(i, j)], out[(j, i)]) = (mean, mean);
            }
        }
        true
    }
}
