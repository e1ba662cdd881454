//! A compiled Stan model as a target.

mod hessian;
mod interface;

use crate::error::{Error, Result};
use crate::gate::Gate;
use crate::handle::Handle;
use crate::library::{c_text, rust_text};
pub(crate) use interface::INTERFACE;
use interface::{Interface, Model, or_else};
use provi::Matrix;
use provi::target::{RejectionLog, Rejections, Scratch, Target};
use std::ffi::{c_char, c_int};
use std::path::{Path, PathBuf};

/// What a constrained draw contains besides the parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Include {
    /// Transformed parameters.
    pub transformed: bool,
    /// Generated quantities.
    pub generated: bool,
}

/// A model that BridgeStan compiled, with its data: the log density over the unconstrained parameters, including
/// the Jacobian and every constant.
///
/// A point that Stan refuses (an exception, `reject`, a value that is not finite) has log density −∞, and the
/// reason is recorded ([`Target::rejections`]). An evaluation costs one call of a function pointer besides the
/// library's own work.
#[derive(Debug)]
pub struct StanModel {
    interface: Interface,
    handle: Handle<Model>,
    path: PathBuf,
    name: String,
    info: String,
    version: [i32; 3],
    dim: usize,
    names: Vec<String>,
    rejections: RejectionLog,
}

// SAFETY: the model is a pointer into the library, which has no threads of its own: nothing in it belongs to the
// thread that made it. Calls go through its gate, which lets several threads in only if the library says that it
// was built for them (STAN_THREADS); the functions called take the model as const.
unsafe impl Send for StanModel {}
// SAFETY: as above.
unsafe impl Sync for StanModel {}

impl StanModel {
    /// Opens the library at `path` with data in Stan's JSON; `seed` is for random numbers in `transformed data`.
    pub fn open(path: &Path, data: Option<&str>, seed: u32) -> Result<Self> {
        let data = c_text("data", data.unwrap_or_default())?;
        // Loading also runs code of the library.
        let alone = Gate::Single.enter()?;
        let (interface, version) = Interface::open(path)?;
        let mut message = std::ptr::null_mut();
        // SAFETY: `data` lives through the call; an error leaves a message that is freed by `take`.
        let model = unsafe { (interface.construct)(data.as_ptr(), seed, &mut message) };
        // SAFETY: made by `construct`, and nobody else destroys it.
        let mut handle = unsafe { Handle::new(model, Some(interface.destruct)) };
        let message = interface.take(message);
        if model.is_null() {
            let message = or_else(message, "bs_model_construct returned NULL without a message");
            return Err(Error::Construction { path: path.into(), message });
        }
        // SAFETY: the strings belong to the model, which is alive.
        let text = |text: *const c_char| unsafe { rust_text(text) };
        // SAFETY: the model was just made.
        let (name, info, names, dim) = unsafe {
            let names = (interface.unconstrained_names)(model);
            ((interface.name)(model), (interface.info)(model), names, (interface.unconstrained_num)(model))
        };
        let nonsense = |what, found| Error::Nonsense { path: path.into(), what, found };
        let names = text(names).ok_or_else(|| nonsense("names of its parameters", "NULL".to_owned()))?;
        let (name, info, names) =
            (text(name).unwrap_or_default(), text(info).unwrap_or_default(), split(&names));
        let size = usize::try_from(dim).unwrap_or(0);
        if size == 0 {
            return Err(nonsense("a number of parameters that cannot be fitted", dim.to_string()));
        }
        if names.len() != size {
            let found = format!("{} names for {size} parameters", names.len());
            return Err(nonsense("names that do not match its parameters", found));
        }
        silence(&interface);
        drop(alone);
        handle.gate = Gate::new(info.contains("STAN_THREADS=true"));
        let mut out = Self {
            interface,
            handle,
            path: path.into(),
            name,
            info,
            version,
            dim: size,
            names,
            rejections: RejectionLog::default(),
        };
        out.mark_transformed()?;
        Ok(out)
    }

    /// The model's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The path from which it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the library states about itself: versions, compiler flags.
    pub fn info(&self) -> &str {
        &self.info
    }

    /// The version of the C interface.
    pub fn version(&self) -> [i32; 3] {
        self.version
    }

    /// Whether several threads may evaluate at once.
    pub fn is_thread_safe(&self) -> bool {
        self.handle.gate == Gate::Open
    }

    /// The names of a constrained draw, `beta.1` for `beta[1]`, in Stan's order.
    pub fn constrained_names(&self, include: Include) -> Result<Vec<String>> {
        let Include { transformed, generated } = include;
        let _turn = self.handle.gate.enter()?;
        // SAFETY: the model is alive, and the string belongs to it.
        let (names, count) = unsafe {
            let model = self.handle.pointer();
            let names = (self.interface.names)(model, transformed, generated);
            (rust_text(names), (self.interface.num)(model, transformed, generated))
        };
        let nonsense = |what, found| Error::Nonsense { path: self.path.clone(), what, found };
        let names = names.ok_or_else(|| nonsense("names of its quantities", "NULL".to_owned()))?;
        let names = split(&names);
        if usize::try_from(count) != Ok(names.len()) {
            let found = format!("{} names for {count} quantities", names.len());
            return Err(nonsense("names that do not match its quantities", found));
        }
        Ok(names)
    }

    /// Maps unconstrained points, one per row, to the constrained scale; `seed` is for random generated quantities,
    /// which are drawn row after row.
    pub fn constrain(&self, points: &Matrix, include: Include, seed: u32) -> Result<Matrix> {
        if points.columns() != self.dim {
            let what = "a number of parameters that is not that of the points";
            let found = format!("{} against {}", self.dim, points.columns());
            return Err(Error::Nonsense { path: self.path.clone(), what, found });
        }
        let width = self.constrained_names(include)?.len();
        let mut out = Matrix::zeros(points.rows(), width);
        let _turn = self.handle.gate.enter()?;
        let generator = self.interface.generator(seed)?;
        for draw in 0..points.rows() {
            provi::stop::check()?;
            let (mut message, row) = (std::ptr::null_mut(), out.row_mut(draw));
            // Numbers that the library leaves unwritten are NaN.
            row.fill(f64::NAN);
            // SAFETY: the row has room for as many numbers as there are names, the point for `dim`; the generator is
            // alive, and used by this thread alone.
            let code = unsafe {
                (self.interface.constrain)(
                    self.handle.pointer(),
                    include.transformed,
                    include.generated,
                    points.row(draw).as_ptr(),
                    row.as_mut_ptr(),
                    generator.pointer(),
                    &mut message,
                )
            };
            let message = self.interface.take(message);
            if code != 0 {
                let message = or_else(message, &format!("error code {code} without a message"));
                return Err(Error::Constrain { draw, message });
            }
        }
        Ok(out)
    }

    /// Maps values of all parameters in Stan's JSON to the unconstrained scale, as a starting point.
    pub fn unconstrain(&self, json: &str) -> Result<Vec<f64>> {
        let json = c_text("initial values", json)?;
        let (mut out, mut message) = (vec![f64::NAN; self.dim], std::ptr::null_mut());
        let _turn = self.handle.gate.enter()?;
        // SAFETY: the text lives through the call, and there is room for `dim` numbers.
        let code = unsafe {
            (self.interface.unconstrain_json)(
                self.handle.pointer(),
                json.as_ptr(),
                out.as_mut_ptr(),
                &mut message,
            )
        };
        let message = self.interface.take(message);
        match (code, out.iter().find(|x| !x.is_finite())) {
            (0, None) => Ok(out),
            (0, Some(x)) => Err(Error::Unconstrain { message: format!("a free coordinate is {x}") }),
            _ => {
                let message = or_else(message, &format!("error code {code} without a message"));
                Err(Error::Unconstrain { message })
            }
        }
    }

    /// Marks the names of coordinates that differ from the parameter itself, found by constraining two points.
    fn mark_transformed(&mut self) -> Result<()> {
        let constrained = self.constrained_names(Include::default())?;
        let mut points = Matrix::zeros(2, self.dim);
        for i in 0..self.dim {
            points[(0, i)] = 0.3 + 0.01 * (i % 7) as f64;
            points[(1, i)] = -0.4 - 0.01 * (i % 5) as f64;
        }
        // A model that refuses these points is still accepted: its coordinates count as transformed.
        let values = self.constrain(&points, Include::default(), 0).ok();
        for i in 0..self.dim {
            let same = values.as_ref().is_some_and(|values| {
                constrained.iter().position(|name| *name == self.names[i]).is_some_and(|at| {
                    (0..2).all(|row| (values[(row, at)] - points[(row, i)]).abs() <= f64::EPSILON)
                })
            });
            if !same {
                self.names[i] = format!("free({})", self.names[i]);
            }
        }
        Ok(())
    }

    /// Checks for `count` points and as many gradients, before the library reads the ones and writes the others.
    fn check_sizes(&self, points: &[f64], count: usize, gradients: &[f64]) -> provi::Result<()> {
        let expected = count.saturating_mul(self.dim);
        let sizes = [("points", points.len()), ("gradients", gradients.len())];
        match sizes.into_iter().find(|(_, found)| *found != expected) {
            Some((what, found)) => Err(provi::Error::Shape { what, found, expected }),
            None => Ok(()),
        }
    }

    /// One evaluation, by a thread that has its turn.
    #[inline]
    fn evaluate(&self, z: &[f64], gradient: &mut [f64]) -> f64 {
        assert!(z.len() == self.dim && gradient.len() == self.dim, "a point of {} numbers", self.dim);
        // Numbers that the library leaves unwritten are NaN, not numbers of an earlier call.
        gradient.fill(f64::NAN);
        let (mut value, mut message) = (f64::NAN, std::ptr::null_mut());
        // SAFETY: point and gradient hold `dim` numbers each; the model is alive; the caller has passed the gate.
        let code = unsafe {
            (self.interface.gradient)(
                self.handle.pointer(),
                false,
                true,
                z.as_ptr(),
                &mut value,
                gradient.as_mut_ptr(),
                &mut message,
            )
        };
        if code == 0 && message.is_null() && value.is_finite() {
            return value;
        }
        self.reject(code, value, message, gradient)
    }

    #[cold]
    fn reject(&self, code: c_int, value: f64, message: *mut c_char, gradient: &mut [f64]) -> f64 {
        let message = self.interface.take(message);
        if code == 0 && value.is_finite() {
            return value;
        }
        match (code, message.is_empty()) {
            (0, true) => self.rejections.note(&format!("the log density is {value}")),
            (_, true) => self.rejections.note(&format!("error code {code} without a message")),
            _ => self.rejections.note(&message),
        }
        gradient.fill(0.0);
        f64::NEG_INFINITY
    }
}

impl Target for StanModel {
    fn dim(&self) -> usize {
        self.dim
    }

    fn log_density(&self, z: &[f64], gradient: &mut [f64]) -> provi::Result<f64> {
        self.check_sizes(z, 1, gradient)?;
        let _turn = self.handle.gate.enter()?;
        Ok(self.evaluate(z, gradient))
    }

    fn log_densities(
        &self,
        points: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
        _scratch: &mut Scratch,
    ) -> provi::Result<()> {
        self.check_sizes(points, values.len(), gradients)?;
        let _turn = self.handle.gate.enter()?;
        let rows = points.chunks_exact(self.dim).zip(gradients.chunks_exact_mut(self.dim));
        for (value, (z, gradient)) in values.iter_mut().zip(rows) {
            *value = self.evaluate(z, gradient);
        }
        Ok(())
    }

    /// Uses the library's second derivatives, if it has them; a Hessian that it refuses is computed from
    /// differences.
    fn hessian(&self, z: &[f64], out: &mut Matrix) -> provi::Result<bool> {
        self.second_derivatives(z, out)
    }

    /// Stan's names; `free(sigma)` for the unconstrained coordinate of a constrained `sigma`.
    fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    fn rejections(&self) -> Rejections {
        self.rejections.so_far()
    }
}

/// Stan's `print` would mix with the program's output, so it goes to the error stream. The caller has the turn.
fn silence(interface: &Interface) {
    extern "C" fn aside(text: *const c_char, length: usize) {
        // A slice starts at a real address, and nothing in memory is longer than half of it.
        if text.is_null() || isize::try_from(length).is_err() {
            return;
        }
        // SAFETY: the library hands over `length` readable bytes, for the time of this call.
        let text = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length) };
        // Nothing may unwind into the library, and a closed error stream is no reason to stop.
        let _ = std::io::Write::write_all(&mut std::io::stderr(), text);
    }
    if let Some(set) = interface.set_print {
        let mut message = std::ptr::null_mut();
        // SAFETY: `aside` lives as long as the program.
        unsafe { set(aside, &mut message) };
        interface.take(message);
    }
}

/// Names between commas; commas inside the name of a tuple's part do not separate.
fn split(names: &str) -> Vec<String> {
    if names.is_empty() { Vec::new() } else { names.split(',').map(str::to_owned).collect() }
}
