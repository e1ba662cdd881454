//! Which instruction set runs: detected once and remembered; can be forced in tests and for timings.

use std::sync::OnceLock;

/// How a kernel is compiled, from the textbook loop to the widest registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// The plain version.
    Plain,
    /// Eight lanes as an array, in the target's baseline instructions.
    Portable,
    /// AVX2 and FMA: eight lanes in two registers.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 F, DQ, BW, VL: eight lanes in one register.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// The instruction set in use: `plain`, `portable`, `avx2` or `avx512`.
///
/// ```
/// assert!(["plain", "portable", "avx2", "avx512"].contains(&provi_kernels::instruction_set()));
/// ```
#[must_use]
pub fn instruction_set() -> &'static str {
    match level() {
        Level::Plain => "plain",
        Level::Portable => "portable",
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => "avx2",
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => "avx512",
    }
}

/// Makes every kernel of this process use the instruction set of that name, and returns whether it does. It does
/// not if the processor lacks it, or if another one was chosen before, as the first kernel that runs does. For
/// timings.
///
/// ```
/// assert!(!provi_kernels::use_instruction_set("abacus"));
/// assert!(provi_kernels::use_instruction_set("portable"));
/// assert_eq!(provi_kernels::instruction_set(), "portable");
/// ```
#[must_use]
pub fn use_instruction_set(name: &str) -> bool {
    let wanted = match name {
        "plain" => Level::Plain,
        "portable" => Level::Portable,
        #[cfg(target_arch = "x86_64")]
        "avx2" if has_avx2() => Level::Avx2,
        #[cfg(target_arch = "x86_64")]
        "avx512" if has_avx512() => Level::Avx512,
        _ => return false,
    };
    *SETTLED.get_or_init(|| wanted) == wanted
}

static SETTLED: OnceLock<Level> = OnceLock::new();

/// The best level of this processor, or the one that was forced. Cost: one atomic load.
#[inline]
pub(crate) fn level() -> Level {
    #[cfg(test)]
    if let Some(forced) = tests::FORCED.get() {
        return forced;
    }
    *SETTLED.get_or_init(detect)
}

fn detect() -> Level {
    if cfg!(provi_scalar) {
        return Level::Plain;
    }
    #[cfg(target_arch = "x86_64")]
    {
        if has_avx512() {
            return Level::Avx512;
        }
        if has_avx2() {
            return Level::Avx2;
        }
    }
    Level::Portable
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    has_avx2()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
}

/// Runs a plain version, or a body over lanes compiled for the level in use:
/// `dispatch!(plain::dot, dot_lanes(a: &[f64], b: &[f64]) -> f64)`.
macro_rules! dispatch {
    ($plain:path, $lanes:ident($($arg:ident: $kind:ty),*) $(-> $ret:ty)?) => {{
        use $crate::dispatch::Level;
        match $crate::dispatch::level() {
            Level::Plain => $plain($($arg),*),
            Level::Portable => $lanes($crate::lanes::Portable, $($arg),*),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => {
                #[target_feature(enable = "avx2,fma")]
                fn run($($arg: $kind),*) $(-> $ret)? {
                    $lanes($crate::lanes::x86::Avx2::new(), $($arg),*)
                }
                // SAFETY: `level` answers Avx2 only where AVX2 and FMA were detected.
                unsafe { run($($arg),*) }
            }
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => {
                #[target_feature(enable = "avx2,fma,avx512f,avx512dq,avx512bw,avx512vl")]
                fn run($($arg: $kind),*) $(-> $ret)? {
                    $lanes($crate::lanes::x86::Avx512::new(), $($arg),*)
                }
                // SAFETY: `level` answers Avx512 only where all these features were detected.
                unsafe { run($($arg),*) }
            }
        }
    }};
}
pub(crate) use dispatch;

#[cfg(test)]
pub(crate) mod tests {
    use super::Level;
    use std::cell::Cell;

    thread_local! {
        pub(crate) static FORCED: Cell<Option<Level>> = const { Cell::new(None) };
    }

    /// Every level that this processor can run.
    pub(crate) fn levels() -> Vec<Level> {
        let mut all = vec![Level::Plain, Level::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            if super::has_avx2() {
                all.push(Level::Avx2);
            }
            if super::has_avx512() {
                all.push(Level::Avx512);
            }
        }
        all
    }

    /// What `call` gives at `level`, on this thread alone.
    pub(crate) fn at<T>(level: Level, call: impl FnOnce() -> T) -> T {
        assert!(levels().contains(&level));
        FORCED.set(Some(level));
        let result = call();
        FORCED.set(None);
        result
    }

    #[test]
    fn the_level_in_use_is_one_that_runs_here() {
        assert!(levels().contains(&super::level()));
        assert_eq!(super::level(), super::detect());
        assert_eq!(super::level() == Level::Plain, cfg!(provi_scalar));
    }
}
