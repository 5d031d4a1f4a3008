#![allow(unsafe_code)]
//! What can go wrong with a GPU, and what to do about it.

use cudarc::driver::sys::{self, CUresult};
use std::ffi::CStr;
use std::path::PathBuf;

/// Why the GPU could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum CudaError {
    /// A library is not on this machine.
    #[error("{library} was not found: {remedy}")]
    NoLibrary {
        /// The library's name.
        library: &'static str,
        /// What to install.
        remedy: &'static str,
    },
    /// The library is there but too old.
    #[error("the installed {library} lacks `{symbol}`: {remedy}")]
    NoSymbol {
        /// The library's name.
        library: &'static str,
        /// The missing function.
        symbol: &'static str,
        /// What to update.
        remedy: &'static str,
    },
    /// A library of another version than is needed.
    #[error("{library} {found} is older than {needed}: {remedy}")]
    Old {
        /// The library's name.
        library: &'static str,
        /// Its version.
        found: String,
        /// The oldest that will do.
        needed: String,
        /// What to update.
        remedy: &'static str,
    },
    /// No device, or none of this number.
    #[error(
        "there is no GPU number {ordinal}: the driver shows {count} (see `nvidia-smi`; CUDA_VISIBLE_DEVICES hides devices)"
    )]
    NoDevice {
        /// The device that was asked for.
        ordinal: usize,
        /// How many there are.
        count: usize,
    },
    /// The device's memory does not suffice.
    #[error(
        "out of GPU memory: {asked} were asked for, {free} of {total} are free; use a smaller case, `dsh` or another GPU",
        asked = bytes(*asked), free = bytes(*free), total = bytes(*total)
    )]
    OutOfMemory {
        /// Bytes asked for.
        asked: usize,
        /// Bytes free at that moment.
        free: usize,
        /// Bytes of the device.
        total: usize,
    },
    /// A call of the driver failed.
    #[error("{call} failed: {name} ({text})")]
    Driver {
        /// The call.
        call: &'static str,
        /// The driver's name of the error.
        name: String,
        /// The driver's text for it.
        text: String,
        /// The driver's number.
        code: u32,
    },
    /// A call of another CUDA library failed.
    #[error("{call} failed with status {status}")]
    Library {
        /// The call.
        call: &'static str,
        /// The library's status.
        status: String,
    },
    /// NVRTC rejected a kernel.
    #[error("kernel {kernel} does not compile for {arch} ({flags}):\n{log}")]
    Compile {
        /// The kernel's file.
        kernel: &'static str,
        /// The architecture.
        arch: String,
        /// Compiler options.
        flags: String,
        /// The compiler's messages.
        log: String,
    },
    /// A launch with other arguments than the kernel has parameters.
    #[error(
        "kernel {kernel} takes parameters of {takes:?} bytes and was given {given:?} (0: of any size): its launch and its text differ"
    )]
    Arguments {
        /// The kernel.
        kernel: String,
        /// Bytes of its parameters.
        takes: Vec<u8>,
        /// Bytes of the arguments.
        given: Vec<u8>,
    },
    /// Two buffers that should have one length.
    #[error("{what}: {found} values, expected {expected}")]
    Length {
        /// Which buffer.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length it should have.
        expected: usize,
    },
    /// The cache of compiled kernels cannot be used (compilation goes on without it; reported by `doctor`).
    #[error("the kernel cache {path} cannot be written: {source}; kernels are compiled in every process")]
    Cache {
        /// Its folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

fn bytes(n: usize) -> String {
    if n < 1 << 20 { format!("{n} bytes") } else { format!("{:.2} GiB", n as f64 / (1u64 << 30) as f64) }
}

/// Turns a driver status into a result.
pub(super) fn check(call: &'static str, status: CUresult) -> Result<(), CudaError> {
    if status == CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    let text = |f: unsafe fn(CUresult, *mut *const core::ffi::c_char) -> CUresult| {
        let mut p = std::ptr::null();
        // SAFETY: the driver answered a call, so it is loaded; it sets `p` to a static string or to null.
        unsafe {
            f(status, &raw mut p);
            if p.is_null() { String::new() } else { CStr::from_ptr(p).to_string_lossy().into_owned() }
        }
    };
    Err(CudaError::Driver {
        call,
        name: text(sys::cuGetErrorName),
        text: text(sys::cuGetErrorString),
        code: status as u32,
    })
}
