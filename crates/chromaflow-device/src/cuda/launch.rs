#![allow(unsafe_code)]
//! Machine code, entries and launches.

use super::error::check;
use super::{CudaError, Gpu, Record, Stream};
use cudarc::driver::sys;
use std::ffi::CString;
use std::fmt;
use std::sync::Arc;

/// Machine code on the device.
pub struct Module {
    raw: sys::CUmodule,
    // A plain handle: the Gpu holds its modules, so a strong reference here would keep both forever.
    context: usize,
}

// SAFETY: module handles may be used from any thread.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

impl Module {
    /// Loads a cubin, fatbin or PTX.
    ///
    /// # Errors
    /// [`CudaError::Driver`] when the image is not for this device.
    pub fn load(gpu: &Gpu, image: &[u8]) -> Result<Self, CudaError> {
        gpu.bind()?;
        let (mut raw, mut context) = (std::ptr::null_mut(), std::ptr::null_mut());
        // PTX must end with a zero byte; cubins and fatbins carry their length.
        let image = CString::new(image).map_or_else(|e| e.into_vec(), CString::into_bytes_with_nul);
        // SAFETY: `image` is a whole image (checksummed by the cache, or fresh from the compiler).
        unsafe {
            check("cuModuleLoadData", sys::cuModuleLoadData(&raw mut raw, image.as_ptr().cast()))?;
            check("cuCtxGetCurrent", sys::cuCtxGetCurrent(&raw mut context))?;
        }
        Ok(Self { raw, context: context as usize })
    }

    /// The entry `name`.
    ///
    /// # Errors
    /// [`CudaError::Driver`] when there is no such entry.
    pub fn kernel(self: &Arc<Self>, name: &str) -> Result<Kernel, CudaError> {
        let entry = CString::new(name).unwrap_or_default();
        let mut raw = std::ptr::null_mut();
        // SAFETY: the module lives as long as the kernel holds it.
        check("cuModuleGetFunction", unsafe {
            sys::cuModuleGetFunction(&raw mut raw, self.raw, entry.as_ptr())
        })?;
        load(raw)?;
        Ok(Kernel { raw, _module: self.clone(), name: name.into(), parameters: parameters(raw)? })
    }
}

/// Loads a kernel now, not at its first launch: loading may wait for kernels under way, which may wait for others that this would hold
/// up. Before CUDA 12.4 there is no such call.
fn load(kernel: sys::CUfunction) -> Result<(), CudaError> {
    if driver_version()? < 12_040 {
        return Ok(());
    }
    // SAFETY: the function lives with its module.
    check("cuFuncLoad", unsafe { sys::cuFuncLoad(kernel) })
}

fn driver_version() -> Result<i32, CudaError> {
    let mut version = 0;
    // SAFETY: writes one integer.
    check("cuDriverGetVersion", unsafe { sys::cuDriverGetVersion(&raw mut version) })?;
    Ok(version)
}

/// Bytes of each parameter of a kernel; none where the driver does not tell (before CUDA 12.4).
fn parameters(kernel: sys::CUfunction) -> Result<Option<Arc<[u8]>>, CudaError> {
    if driver_version()? < 12_040 {
        return Ok(None);
    }
    let mut all = Vec::new();
    loop {
        let (mut offset, mut bytes) = (0, 0);
        // SAFETY: writes two integers; the function lives with its module. A number past the last parameter is an error.
        let status = unsafe { sys::cuFuncGetParamInfo(kernel, all.len(), &raw mut offset, &raw mut bytes) };
        match status {
            sys::CUresult::CUDA_SUCCESS => all.push(u8::try_from(bytes).unwrap_or(u8::MAX)),
            sys::CUresult::CUDA_ERROR_INVALID_VALUE => return Ok(Some(all.into())),
            other => check("cuFuncGetParamInfo", other)?,
        }
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: dropped by the Gpu that retained the context, or by the last kernel; a context that is gone makes
        // both calls fail without harm.
        unsafe {
            if sys::cuCtxSetCurrent(self.context as sys::CUcontext) == sys::CUresult::CUDA_SUCCESS {
                sys::cuModuleUnload(self.raw);
            }
        }
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Module").finish_non_exhaustive()
    }
}

/// One entry of a [`Module`].
#[derive(Clone, Debug)]
pub struct Kernel {
    raw: sys::CUfunction,
    /// Held, not read: the code stays loaded as long as an entry of it is known.
    _module: Arc<Module>,
    name: Arc<str>,
    /// Bytes of each parameter, where they are known.
    parameters: Option<Arc<[u8]>>,
}

// SAFETY: function handles may be used from any thread.
unsafe impl Send for Kernel {}
// SAFETY: as above.
unsafe impl Sync for Kernel {}

impl Kernel {
    /// The entry's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn attribute(&self, which: sys::CUfunction_attribute) -> Result<usize, CudaError> {
        let mut value = 0;
        // SAFETY: writes one integer; the function lives with its module.
        check("cuFuncGetAttribute", unsafe { sys::cuFuncGetAttribute(&raw mut value, which, self.raw) })?;
        Ok(value.max(0) as usize)
    }

    /// Registers a thread uses.
    ///
    /// # Errors
    /// [`CudaError::Driver`].
    pub fn registers(&self) -> Result<usize, CudaError> {
        self.attribute(sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)
    }

    /// Lets blocks of this kernel ask for up to `bytes` of dynamic shared memory (48 KiB without this).
    ///
    /// # Errors
    /// [`CudaError::Driver`] when the device has less.
    pub fn allow_shared(&self, bytes: usize) -> Result<(), CudaError> {
        // SAFETY: the function lives with its module.
        check("cuFuncSetAttribute", unsafe {
            sys::cuFuncSetAttribute(
                self.raw,
                sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                bytes as i32,
            )
        })
    }

    /// Blocks of `threads` threads and `shared` bytes that fit a multiprocessor at once.
    ///
    /// # Errors
    /// [`CudaError::Driver`].
    pub fn blocks_per_multiprocessor(&self, threads: usize, shared: usize) -> Result<usize, CudaError> {
        let mut blocks = 0;
        // SAFETY: writes one integer; the function lives with its module.
        check("cuOccupancyMaxActiveBlocksPerMultiprocessor", unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &raw mut blocks,
                self.raw,
                threads as i32,
                shared,
            )
        })?;
        Ok(blocks.max(0) as usize)
    }

    /// A launch of `blocks` blocks of `threads` threads.
    pub fn launch(&self, blocks: usize, threads: usize) -> Launch<'_> {
        Launch {
            kernel: self,
            blocks,
            threads,
            shared: 0,
            dependent: false,
            cooperative: false,
            args: [0; Launch::MAX_ARGS],
            bytes: [0; Launch::MAX_ARGS],
            count: 0,
        }
    }
}

/// A launch being put together.
#[derive(Clone, Debug)]
pub struct Launch<'a> {
    kernel: &'a Kernel,
    blocks: usize,
    threads: usize,
    shared: usize,
    dependent: bool,
    cooperative: bool,
    args: [u64; Launch::MAX_ARGS],
    /// Bytes of each.
    bytes: [u8; Launch::MAX_ARGS],
    count: usize,
}

impl Launch<'_> {
    /// The most arguments a kernel may take.
    pub const MAX_ARGS: usize = 24;

    /// The arguments of a kernel whose parameters were made from the record, or the next ones where they were made from several.
    ///
    /// # Panics
    /// Beyond [`Self::MAX_ARGS`].
    #[must_use]
    pub fn record(mut self, record: &impl Record) -> Self {
        record.each(&mut |bits, bytes| {
            (self.args[self.count], self.bytes[self.count]) = (bits, bytes as u8);
            self.count += 1;
        });
        self
    }

    /// That the arguments are as many as the kernel's parameters, and of their sizes.
    fn check_arguments(&self) -> Result<(), CudaError> {
        let given = &self.bytes[..self.count];
        match &self.kernel.parameters {
            Some(takes) if **takes != *given => Err(CudaError::Arguments {
                kernel: self.kernel.name().to_owned(),
                takes: takes.to_vec(),
                given: given.to_vec(),
            }),
            _ => Ok(()),
        }
    }

    /// Dynamic shared memory, in bytes.
    #[must_use]
    pub fn shared(mut self, bytes: usize) -> Self {
        self.shared = bytes;
        self
    }

    /// Programmatic dependent launch: the kernel may start before its predecessor in the stream ends, and must itself
    /// wait (`griddepcontrol.wait`) before it touches what the predecessor writes.
    #[must_use]
    pub fn dependent(mut self, yes: bool) -> Self {
        self.dependent = yes;
        self
    }

    /// Cooperative launch: all blocks are resident at once, so that they may wait for one another.
    #[must_use]
    pub fn cooperative(mut self, yes: bool) -> Self {
        self.cooperative = yes;
        self
    }

    /// Enqueues the launch. A launch of no blocks is nothing.
    ///
    /// # Errors
    /// [`CudaError::Driver`], [`CudaError::Arguments`] where the arguments differ from the kernel's parameters in number or size.
    ///
    /// # Safety
    /// The arguments are those the kernel declares, in number and type, and what it reads and writes through them lies
    /// in live device memory that nothing else uses without ordering.
    pub unsafe fn enqueue(mut self, stream: &Stream) -> Result<(), CudaError> {
        if self.blocks == 0 || self.threads == 0 {
            return Ok(());
        }
        self.check_arguments()?;
        stream.gpu().bind()?;
        stream.count(0);
        let mut pointers = [std::ptr::null_mut(); Launch::MAX_ARGS];
        for (p, a) in pointers.iter_mut().zip(&mut self.args) {
            *p = std::ptr::from_mut(a).cast();
        }
        let attribute = |id, set: fn(&mut sys::CUlaunchAttributeValue)| {
            let mut value = sys::CUlaunchAttributeValue { pad: [0; 64] };
            set(&mut value);
            sys::CUlaunchAttribute_st { id, pad: [0; 4], value }
        };
        let mut attributes = [
            attribute(sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, |v| {
                v.programmaticStreamSerializationAllowed = 1;
            }),
            attribute(sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE, |v| v.cooperative = 1),
        ];
        let from = usize::from(!self.dependent);
        let config = sys::CUlaunchConfig {
            gridDimX: self.blocks as u32,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: self.threads as u32,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: self.shared as u32,
            hStream: stream.raw(),
            attrs: attributes[from..].as_mut_ptr(),
            numAttrs: u32::from(self.dependent) + u32::from(self.cooperative),
        };
        // SAFETY: the configuration and the argument pointers outlive the call; the rest is the caller's promise.
        check("cuLaunchKernelEx", unsafe {
            sys::cuLaunchKernelEx(
                &raw const config,
                self.kernel.raw,
                pointers.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        })
    }
}
