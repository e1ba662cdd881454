//! The CUDA driver, found at run time: the crate's only unsafe code.
//!
//! The library is looked for when a card is first asked for. A machine without it gets an [`Error::NoDriver`], never a
//! panic, and nothing of CUDA is needed to build. Every call's return code is checked.

use crate::error::{Error, Result};
use libloading::Library;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

type Code = c_int;
type Handle = *mut c_void;

macro_rules! functions {
    ($($name:ident = $symbol:literal ($($kind:ty),*);)*) => {
        /// The functions of the driver that are used.
        struct Functions {
            $($name: unsafe extern "system" fn($($kind),*) -> Code,)*
            /// Keeps the functions loaded.
            _library: Library,
        }

        impl Functions {
            fn load(library: Library) -> std::result::Result<Self, String> {
                $(
                    // SAFETY: the signature is the one of cuda.h for this symbol.
                    let $name = *unsafe {
                        library.get::<unsafe extern "system" fn($($kind),*) -> Code>($symbol.as_bytes())
                    }
                    .map_err(|_| format!("the driver has no {}", $symbol))?;
                )*
                Ok(Self { $($name,)* _library: library })
            }
        }
    };
}

functions! {
    init = "cuInit"(c_uint);
    version = "cuDriverGetVersion"(*mut c_int);
    count = "cuDeviceGetCount"(*mut c_int);
    device = "cuDeviceGet"(*mut c_int, c_int);
    device_name = "cuDeviceGetName"(*mut c_char, c_int, c_int);
    attribute = "cuDeviceGetAttribute"(*mut c_int, c_int, c_int);
    total = "cuDeviceTotalMem_v2"(*mut usize, c_int);
    retain = "cuDevicePrimaryCtxRetain"(*mut Handle, c_int);
    release = "cuDevicePrimaryCtxRelease_v2"(c_int);
    set_current = "cuCtxSetCurrent"(Handle);
    synchronize = "cuCtxSynchronize"();
    memory_info = "cuMemGetInfo_v2"(*mut usize, *mut usize);
    allocate = "cuMemAlloc_v2"(*mut u64, usize);
    free = "cuMemFree_v2"(u64);
    fill = "cuMemsetD8_v2"(u64, u8, usize);
    to_card = "cuMemcpyHtoD_v2"(u64, *const c_void, usize);
    to_host = "cuMemcpyDtoH_v2"(*mut c_void, u64, usize);
    lock = "cuMemHostAlloc"(*mut *mut c_void, usize, c_uint);
    unlock = "cuMemFreeHost"(*mut c_void);
    send = "cuMemcpyHtoDAsync_v2"(u64, *const c_void, usize, Handle);
    event = "cuEventCreate"(*mut Handle, c_uint);
    record = "cuEventRecord"(Handle, Handle);
    reached = "cuEventSynchronize"(Handle);
    forget = "cuEventDestroy_v2"(Handle);
    load = "cuModuleLoadData"(*mut Handle, *const c_void);
    unload = "cuModuleUnload"(Handle);
    function = "cuModuleGetFunction"(*mut Handle, Handle, *const c_char);
    function_attribute = "cuFuncSetAttribute"(Handle, c_int, c_int);
    launch = "cuLaunchKernel"(
        Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void, *mut *mut c_void
    );
    error_name = "cuGetErrorName"(Code, *mut *const c_char);
}

/// The driver of this process: loaded and initialised once.
#[derive(Clone, Copy)]
pub(crate) struct Driver(&'static Functions);

/// What a number of `cuDeviceGetAttribute` means.
#[derive(Clone, Copy)]
pub(crate) enum Attribute {
    Multiprocessors = 16,
    Major = 75,
    Minor = 76,
    SharedMemory = 97,
}

const OUT_OF_MEMORY: Code = 2;
/// An event without a time.
const UNTIMED: c_uint = 2;
const DYNAMIC_SHARED_MEMORY: c_int = 8;

impl Driver {
    pub(crate) fn load() -> Result<Self> {
        static LOADED: OnceLock<std::result::Result<Functions, String>> = OnceLock::new();
        match LOADED.get_or_init(Self::find) {
            Ok(functions) => Ok(Self(functions)),
            Err(reason) => Err(Error::NoDriver { reason: reason.clone() }),
        }
    }

    fn find() -> std::result::Result<Functions, String> {
        let names: &[&str] = if cfg!(windows) { &["nvcuda.dll"] } else { &["libcuda.so.1", "libcuda.so"] };
        let library = names
            .iter()
            // SAFETY: loading the driver's library runs its initialisers, as every CUDA program does.
            .find_map(|name| unsafe { Library::new(*name) }.ok())
            .ok_or_else(|| format!("{} is not installed", names[0]))?;
        let functions = Functions::load(library)?;
        // SAFETY: cuInit takes flags, which must be zero.
        match unsafe { (functions.init)(0) } {
            0 => Ok(functions),
            code => Err(format!("cuInit says {}", name_of(&functions, code))),
        }
    }

    fn check(self, call: &'static str, code: Code) -> Result<()> {
        match code {
            0 => Ok(()),
            code => Err(Error::Driver { call, code, name: name_of(self.0, code) }),
        }
    }

    /// The version of CUDA that the driver runs: 13000 for 13.0.
    pub(crate) fn version(self) -> Result<i32> {
        let mut version = 0;
        // SAFETY: writes one integer.
        self.check("cuDriverGetVersion", unsafe { (self.0.version)(&mut version) })?;
        Ok(version)
    }

    pub(crate) fn count(self) -> Result<u32> {
        let mut count = 0;
        // SAFETY: writes one integer.
        self.check("cuDeviceGetCount", unsafe { (self.0.count)(&mut count) })?;
        Ok(count.max(0) as u32)
    }

    pub(crate) fn device(self, index: u32) -> Result<Device> {
        let mut device = 0;
        // SAFETY: writes one integer.
        self.check("cuDeviceGet", unsafe { (self.0.device)(&mut device, index as c_int) })?;
        Ok(Device { driver: self, device })
    }
}

fn name_of(functions: &Functions, code: Code) -> String {
    let mut name: *const c_char = std::ptr::null();
    // SAFETY: writes a pointer to a static string, or null for an unknown code.
    let known = unsafe { (functions.error_name)(code, &mut name) } == 0 && !name.is_null();
    if !known {
        return format!("error {code}");
    }
    // SAFETY: the driver's strings end with a zero and live as long as the library.
    unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
}

/// A card before it is opened.
#[derive(Clone, Copy)]
pub(crate) struct Device {
    driver: Driver,
    device: c_int,
}

impl Device {
    pub(crate) fn name(self) -> Result<String> {
        let mut name = [0 as c_char; 256];
        // SAFETY: writes at most 256 bytes, the last a zero.
        let code = unsafe { (self.driver.0.device_name)(name.as_mut_ptr(), 256, self.device) };
        self.driver.check("cuDeviceGetName", code)?;
        name[255] = 0;
        // SAFETY: the array ends with a zero.
        Ok(unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned())
    }

    pub(crate) fn attribute(self, which: Attribute) -> Result<i32> {
        let mut value = 0;
        // SAFETY: writes one integer.
        let code = unsafe { (self.driver.0.attribute)(&mut value, which as c_int, self.device) };
        self.driver.check("cuDeviceGetAttribute", code)?;
        Ok(value)
    }

    pub(crate) fn memory(self) -> Result<u64> {
        let mut bytes = 0;
        // SAFETY: writes one size.
        self.driver.check("cuDeviceTotalMem", unsafe { (self.driver.0.total)(&mut bytes, self.device) })?;
        Ok(bytes as u64)
    }

    pub(crate) fn open(self) -> Result<Context> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: writes a handle, which the context releases when it is dropped.
        let code = unsafe { (self.driver.0.retain)(&mut handle, self.device) };
        self.driver.check("cuDevicePrimaryCtxRetain", code)?;
        Ok(Context { device: self, handle })
    }
}

/// An opened card: the primary context, shared with other libraries of the process.
pub(crate) struct Context {
    device: Device,
    handle: Handle,
}

// SAFETY: the handle is an address that only the driver follows, and the driver's functions may be called from any thread.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: retained once by `Device::open`. A failure leaves nothing to do.
        let _ = unsafe { (self.device.driver.0.release)(self.device.device) };
    }
}

impl Context {
    fn functions(&self) -> &'static Functions {
        self.device.driver.0
    }

    fn check(&self, call: &'static str, code: Code) -> Result<()> {
        self.device.driver.check(call, code)
    }

    /// Makes the context that of this thread: before every other call.
    fn enter(&self) -> Result<()> {
        // SAFETY: the handle is retained as long as `self` lives.
        self.check("cuCtxSetCurrent", unsafe { (self.functions().set_current)(self.handle) })
    }

    pub(crate) fn free_memory(&self) -> Result<u64> {
        self.enter()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: writes two sizes.
        self.check("cuMemGetInfo", unsafe { (self.functions().memory_info)(&mut free, &mut total) })?;
        Ok(free as u64)
    }

    pub(crate) fn wait(&self) -> Result<()> {
        self.enter()?;
        // SAFETY: no arguments.
        self.check("cuCtxSynchronize", unsafe { (self.functions().synchronize)() })
    }

    /// Room for `len` numbers of eight bytes, all zero.
    pub(crate) fn zeros(self: &std::sync::Arc<Self>, what: &'static str, len: usize) -> Result<Buffer> {
        self.enter()?;
        let bytes = len.max(1).checked_mul(8);
        let needed = bytes.map_or(u64::MAX, |bytes| bytes as u64);
        let Some(bytes) = bytes else {
            return Err(Error::Memory { what, needed, free: self.free_memory()? });
        };
        let mut address = 0;
        // SAFETY: writes an address of the card, which the buffer frees when it is dropped.
        match unsafe { (self.functions().allocate)(&mut address, bytes) } {
            OUT_OF_MEMORY => return Err(Error::Memory { what, needed, free: self.free_memory()? }),
            code => self.check("cuMemAlloc", code)?,
        }
        let buffer = Buffer { context: self.clone(), address, len: len.max(1) };
        // SAFETY: the buffer has that many bytes.
        self.check("cuMemsetD8", unsafe { (self.functions().fill)(address, 0, bytes) })?;
        Ok(buffer)
    }

    /// Compiles a module of PTX for this card, or takes it from the driver's cache.
    pub(crate) fn module(self: &std::sync::Arc<Self>, ptx: &CStr) -> Result<Module> {
        self.enter()?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: PTX that ends with a zero; writes a handle, which the module unloads when it is dropped.
        self.check("cuModuleLoadData", unsafe { (self.functions().load)(&mut handle, ptx.as_ptr().cast()) })?;
        Ok(Module { context: self.clone(), handle })
    }
}

/// Numbers of eight bytes on the card.
pub(crate) struct Buffer {
    context: std::sync::Arc<Context>,
    address: u64,
    len: usize,
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.context.enter().is_ok() {
            // SAFETY: allocated by `Context::zeros` and freed once. A failure leaves nothing to do.
            let _ = unsafe { (self.context.functions().free)(self.address) };
        }
    }
}

impl Buffer {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Copies numbers to the card, from entry `at` on.
    pub(crate) fn write(&self, at: usize, from: &[f64]) -> Result<()> {
        self.write_bytes(at, from.as_ptr().cast(), from.len())
    }

    /// The same for integers.
    pub(crate) fn write_integers(&self, from: &[u64]) -> Result<()> {
        self.write_bytes(0, from.as_ptr().cast(), from.len())
    }

    fn write_bytes(&self, at: usize, from: *const c_void, len: usize) -> Result<()> {
        fits(self.len, at, len)?;
        self.context.enter()?;
        // SAFETY: both sides have `len` numbers there, as just checked and as the two callers' slices say.
        let code = unsafe { (self.context.functions().to_card)(self.address + 8 * at as u64, from, 8 * len) };
        self.context.check("cuMemcpyHtoD", code)
    }

    /// Waits for the kernels before it, then copies numbers from the card, from entry `at` on.
    pub(crate) fn read(&self, at: usize, to: &mut [f64]) -> Result<()> {
        fits(self.len, at, to.len())?;
        self.context.enter()?;
        // SAFETY: both sides have that many numbers there.
        let code = unsafe {
            (self.context.functions().to_host)(
                to.as_mut_ptr().cast(),
                self.address + 8 * at as u64,
                8 * to.len(),
            )
        };
        self.context.check("cuMemcpyDtoH", code)
    }
}

/// Page-locked memory of the processor, from which the card copies while the processor goes on.
pub(crate) struct Staging {
    context: std::sync::Arc<Context>,
    memory: *mut f64,
    len: usize,
    /// Reached when the card has copied what was sent last.
    copied: Handle,
}

// SAFETY: it owns its memory, and the driver's functions may be called from any thread.
unsafe impl Send for Staging {}

impl Staging {
    /// Memory for so many numbers, all zero.
    pub(crate) fn new(context: &std::sync::Arc<Context>, len: usize) -> Result<Self> {
        context.enter()?;
        let functions = context.functions();
        let mut copied = std::ptr::null_mut();
        // SAFETY: writes a handle, which is destroyed when `Self` is dropped.
        context.check("cuEventCreate", unsafe { (functions.event)(&mut copied, UNTIMED) })?;
        let (memory, len) = (std::ptr::null_mut(), len.max(1));
        let mut staging = Self { context: context.clone(), memory, len, copied };
        let mut address = std::ptr::null_mut();
        // SAFETY: writes an address of at least that many bytes, which is freed when `staging` is dropped.
        let code = unsafe { (functions.lock)(&mut address, 8 * len, 0) };
        context.check("cuMemHostAlloc", code)?;
        staging.memory = address.cast();
        // SAFETY: the memory has room for `len` numbers, nobody else knows it, and zero bytes are the number 0.
        unsafe { std::ptr::write_bytes(staging.memory, 0, len) };
        Ok(staging)
    }

    /// The numbers, once the card has copied what was sent before.
    pub(crate) fn room(&mut self) -> Result<&mut [f64]> {
        self.wait()?;
        // SAFETY: the memory has `len` numbers, which were written by `new`; the card no longer reads them, and `self` is borrowed alone.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.memory, self.len) })
    }

    /// Lets the card copy the first `count` numbers to a buffer, from entry `at` on, after everything that was started before.
    pub(crate) fn send(&mut self, to: &Buffer, at: usize, count: usize) -> Result<()> {
        fits(to.len, at, count)?;
        fits(self.len, 0, count)?;
        self.context.enter()?;
        let functions = self.context.functions();
        let address = to.address + 8 * at as u64;
        // SAFETY: both sides have `count` numbers there. The memory is neither changed nor freed before the event is reached, and
        // freeing the buffer waits for the card.
        let code = unsafe { (functions.send)(address, self.memory.cast(), 8 * count, std::ptr::null_mut()) };
        self.context.check("cuMemcpyHtoDAsync", code)?;
        // SAFETY: an event of this context, on the stream of the copy.
        let code = unsafe { (functions.record)(self.copied, std::ptr::null_mut()) };
        if code != 0 {
            // Nobody would know when the copy has ended.
            self.context.wait()?;
        }
        self.context.check("cuEventRecord", code)
    }

    /// An event that was never recorded counts as reached.
    fn wait(&self) -> Result<()> {
        self.context.enter()?;
        // SAFETY: an event of this context.
        let code = unsafe { (self.context.functions().reached)(self.copied) };
        self.context.check("cuEventSynchronize", code)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // If the driver no longer answers, the memory stays: the card may still read it.
        if self.wait().is_err() {
            return;
        }
        let functions = self.context.functions();
        // SAFETY: created by `new` and destroyed once; the card has copied everything. A failure leaves nothing to do.
        let _ = unsafe { (functions.forget)(self.copied) };
        if !self.memory.is_null() {
            // SAFETY: as above.
            let _ = unsafe { (functions.unlock)(self.memory.cast()) };
        }
    }
}

fn fits(len: usize, at: usize, count: usize) -> Result<()> {
    match at.checked_add(count) {
        Some(end) if end <= len => Ok(()),
        _ => {
            Err(Error::Shape { what: "numbers on the card", found: at.saturating_add(count), expected: len })
        }
    }
}

/// Compiled kernels.
pub(crate) struct Module {
    context: std::sync::Arc<Context>,
    handle: Handle,
}

// SAFETY: as for the context.
unsafe impl Send for Module {}
// SAFETY: as for the context.
unsafe impl Sync for Module {}

impl Drop for Module {
    fn drop(&mut self) {
        if self.context.enter().is_ok() {
            // SAFETY: loaded by `Context::module` and unloaded once.
            let _ = unsafe { (self.context.functions().unload)(self.handle) };
        }
    }
}

/// How a kernel is launched.
#[derive(Clone, Copy)]
pub(crate) struct Grid {
    pub(crate) blocks: [u32; 2],
    pub(crate) threads: u32,
    /// Bytes of shared memory for each block.
    pub(crate) shared: u32,
}

/// One argument of a kernel.
#[derive(Clone, Copy)]
pub(crate) enum Arg<'a> {
    /// An address on the card, from this entry on.
    At(&'a Buffer, usize),
    /// No address.
    Nothing,
    Float(f64),
    Long(i64),
    Int(i32),
    Word(u64),
}

impl<'a> From<&'a Buffer> for Arg<'a> {
    fn from(buffer: &'a Buffer) -> Self {
        Arg::At(buffer, 0)
    }
}

impl Module {
    /// Starts a kernel; the next read waits for it. Arguments must be those of its source, which the callers in
    /// this crate keep beside each other: a wrong one can fail on the card, and not on the processor.
    pub(crate) fn launch(&self, name: &'static str, grid: Grid, args: &[Arg<'_>]) -> Result<()> {
        self.context.enter()?;
        let functions = self.context.functions();
        let mut kernel = std::ptr::null_mut();
        let symbol = CString::new(name).unwrap_or_default();
        // SAFETY: a name that ends with a zero; writes a handle that lives as long as the module.
        let code = unsafe { (functions.function)(&mut kernel, self.handle, symbol.as_ptr()) };
        self.context.check("cuModuleGetFunction", code)?;
        if grid.shared > 0 {
            // SAFETY: sets one attribute of a kernel.
            let code = unsafe {
                (functions.function_attribute)(kernel, DYNAMIC_SHARED_MEMORY, grid.shared as c_int)
            };
            self.context.check("cuFuncSetAttribute", code)?;
        }
        // Integers of four bytes are the lower halves of their slots: both machines are little-endian.
        let mut slots: Vec<u64> = args.iter().map(|arg| arg.slot()).collect();
        let mut pointers: Vec<*mut c_void> =
            slots.iter_mut().map(|slot| std::ptr::from_mut(slot).cast()).collect();
        let [x, y] = grid.blocks;
        // SAFETY: `pointers` has the address of one slot of eight bytes for each argument, read before the call returns.
        let code = unsafe {
            (functions.launch)(
                kernel,
                x,
                y,
                1,
                grid.threads,
                1,
                1,
                grid.shared,
                std::ptr::null_mut(),
                pointers.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        self.context.check(name, code)
    }
}

impl Arg<'_> {
    /// The same address, so many entries later.
    pub(crate) fn after(self, entries: usize) -> Self {
        match self {
            Arg::At(buffer, at) => Arg::At(buffer, at + entries),
            other => other,
        }
    }

    fn slot(self) -> u64 {
        match self {
            Arg::At(buffer, at) => buffer.address + 8 * at as u64,
            Arg::Nothing => 0,
            Arg::Float(x) => x.to_bits(),
            Arg::Long(x) => x as u64,
            Arg::Int(x) => u64::from(x as u32),
            Arg::Word(x) => x,
        }
    }
}
