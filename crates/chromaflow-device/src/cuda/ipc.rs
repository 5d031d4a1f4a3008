#![allow(unsafe_code)]
//! Device memory that other processes of the host write into (CUDA IPC).
//!
//! An array of a [`DeviceBuffer`](super::DeviceBuffer) lies in a pool, which has no handle for other processes: what is shared is an
//! allocation of its own. Whoever has opened it must close it before it is freed, which its owner cannot know: so it is never freed, but
//! kept for the next of its size until the process ends.

use super::error::check;
use super::{CudaError, Gpu, Stream};
use cudarc::driver::sys;
use std::ffi::c_char;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// What another process opens memory by.
pub type IpcHandle = [u8; 64];

/// The driver puts smaller allocations into one block, all of which a handle would open.
const BLOCK: usize = 2 << 20;

/// Memory that nobody here uses any more.
static KEPT: Mutex<Vec<Memory>> = Mutex::new(Vec::new());

struct Memory {
    ptr: u64,
    bytes: usize,
    /// Keeps the context, which the memory goes with.
    gpu: Gpu,
}

/// Device memory that other processes may [open](Imported::open).
pub struct Exported(Option<Memory>);

impl Exported {
    /// So many bytes at least, all zero once the stream has come so far.
    ///
    /// # Errors
    /// [`CudaError::OutOfMemory`], [`CudaError::Driver`].
    pub fn zeroed(stream: &Stream, bytes: usize) -> Result<Self, CudaError> {
        let gpu = stream.gpu();
        gpu.bind()?;
        let bytes = bytes.max(1).next_multiple_of(BLOCK);
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |m: &Memory| m.bytes == bytes && m.gpu.facts().ordinal == gpu.facts().ordinal;
        let found = kept.iter().position(fits).map(|at| kept.swap_remove(at));
        drop(kept);
        let memory = if let Some(memory) = found {
            memory
        } else {
            let mut ptr = 0;
            // SAFETY: writes one address; never freed.
            let status = unsafe { sys::cuMemAlloc_v2(&raw mut ptr, bytes) };
            if status == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY {
                let (free, total) = gpu.memory()?;
                return Err(CudaError::OutOfMemory { asked: bytes, free, total });
            }
            check("cuMemAlloc", status)?;
            Memory { ptr, bytes, gpu: gpu.clone() }
        };
        let new = Self(Some(memory));
        // SAFETY: the bytes are this memory's own.
        check("cuMemsetD8Async", unsafe { sys::cuMemsetD8Async(new.ptr(), 0, bytes, stream.raw()) })?;
        Ok(new)
    }

    fn memory(&self) -> &Memory {
        self.0.as_ref().expect("taken by Drop alone")
    }

    /// The device address.
    pub fn ptr(&self) -> u64 {
        self.memory().ptr
    }

    /// What other processes open it by.
    ///
    /// # Errors
    /// [`CudaError::Driver`] where the system has no CUDA IPC.
    pub fn handle(&self) -> Result<IpcHandle, CudaError> {
        self.memory().gpu.bind()?;
        let mut handle = sys::CUipcMemHandle { reserved: [0; 64] };
        // SAFETY: writes one handle; the address begins an allocation of cuMemAlloc.
        check("cuIpcGetMemHandle", unsafe { sys::cuIpcGetMemHandle(&raw mut handle, self.ptr()) })?;
        Ok(handle.reserved.map(|byte| byte.to_ne_bytes()[0]))
    }
}

impl Drop for Exported {
    fn drop(&mut self) {
        KEPT.lock().unwrap_or_else(PoisonError::into_inner).extend(self.0.take());
    }
}

impl fmt::Debug for Exported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Exported({} bytes, {:#x})", self.memory().bytes, self.ptr())
    }
}

/// Another process's memory, which kernels of a device here read and write; closed when it is dropped.
pub struct Imported {
    ptr: u64,
    gpu: Gpu,
}

impl Imported {
    /// Opens memory for kernels of this device. A process cannot open its own.
    ///
    /// # Errors
    /// [`CudaError::Driver`]: the devices do not reach one another, the processes see different hosts, or the system has no CUDA IPC.
    pub fn open(gpu: &Gpu, handle: &IpcHandle) -> Result<Self, CudaError> {
        gpu.bind()?;
        let handle = sys::CUipcMemHandle { reserved: handle.map(|byte| c_char::from_ne_bytes([byte])) };
        let flags = sys::CUipcMem_flags::CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS as u32;
        let mut ptr = 0;
        // SAFETY: writes one address; a handle that is none is refused.
        check("cuIpcOpenMemHandle", unsafe { sys::cuIpcOpenMemHandle_v2(&raw mut ptr, handle, flags) })?;
        Ok(Self { ptr, gpu: gpu.clone() })
    }

    /// Its address here.
    pub fn ptr(&self) -> u64 {
        self.ptr
    }
}

impl Drop for Imported {
    fn drop(&mut self) {
        if self.gpu.bind().is_ok() {
            // SAFETY: opened in `open`, closed once; whoever has written there has waited for it.
            unsafe { sys::cuIpcCloseMemHandle(self.ptr) };
        }
    }
}

impl fmt::Debug for Imported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Imported({:#x})", self.ptr)
    }
}
