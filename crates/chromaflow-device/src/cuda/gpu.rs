#![allow(unsafe_code)]
//! A device, its context and its compiled kernels.

use super::ahead::Ahead;
use super::error::check;
use super::{CudaError, DeviceBuffer, Event, KernelSource, Module, Stream, compile};
use bytemuck::Pod;
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// What is known about a device.
#[derive(Clone, Debug)]
pub struct GpuFacts {
    /// The device's number.
    pub ordinal: usize,
    /// Its name.
    pub name: String,
    /// Compute capability, major and minor.
    pub capability: (u32, u32),
    /// Streaming multiprocessors.
    pub multiprocessors: usize,
    /// Bytes of the last-level cache.
    pub l2_bytes: usize,
    /// The most shared memory a block may ask for, in bytes.
    pub shared_bytes: usize,
    /// Bytes of memory.
    pub memory_bytes: usize,
    /// The driver's CUDA version, major and minor.
    pub driver: (u32, u32),
    /// What tells it from all others, on this machine and elsewhere, in hexadecimal digits.
    pub uuid: String,
}

/// One GPU: the device's primary context (the one that CuPy, PyTorch and the CUDA runtime use too), so that pointers
/// and streams of other libraries in this process can be used with it.
///
/// Clones share the context and the compiled kernels.
#[derive(Clone)]
pub struct Gpu(Arc<Inner>);

/// Where memory lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryAt {
    /// Memory of the host, pinned or not.
    Host,
    /// Memory of a device, which the host cannot read.
    Device,
    /// Managed memory.
    Both,
}

struct Inner {
    device: sys::CUdevice,
    context: sys::CUcontext,
    /// Where device memory comes from: a pool of our own, so that the host program's default pool keeps its settings.
    pool: sys::CUmemoryPool,
    facts: GpuFacts,
    modules: Mutex<HashMap<u64, Arc<Module>>>,
    ahead: Ahead,
    /// Kernels that were asked for before [`Gpu::prepare`] knew of them.
    unprepared: Mutex<Vec<String>>,
    /// Held while a graph is recorded.
    recording: Mutex<()>,
}

// SAFETY: a context may be current in any number of threads, and the driver's calls are thread-safe.
unsafe impl Send for Inner {}
// SAFETY: as above; the only mutable state is behind a Mutex.
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        // Modules are unloaded while the context is still retained.
        if let Ok(mut modules) = self.modules.lock() {
            modules.clear();
        }
        // SAFETY: retained and made once in `open`; every buffer holds the GPU, so all memory has been given back to the pool.
        unsafe {
            sys::cuCtxSetCurrent(self.context);
            sys::cuMemPoolDestroy(self.pool);
            sys::cuDevicePrimaryCtxRelease_v2(self.device);
        }
    }
}

/// A pool on a device that keeps freed memory, so that allocating again costs no call to the system.
fn memory_pool(device: sys::CUdevice) -> Result<sys::CUmemoryPool, CudaError> {
    let (mut pool, mut keep) = (std::ptr::null_mut(), u64::MAX);
    // SAFETY: zeros are variants of all enums in the description, and mean no sharing and no bound; the attribute takes a u64.
    unsafe {
        let mut what: sys::CUmemPoolProps = std::mem::zeroed();
        what.allocType = sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
        what.location.type_ = sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
        what.location.id = device;
        check("cuMemPoolCreate", sys::cuMemPoolCreate(&raw mut pool, &raw const what))?;
        let threshold = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        check("cuMemPoolSetAttribute", sys::cuMemPoolSetAttribute(pool, threshold, (&raw mut keep).cast()))?;
    }
    Ok(pool)
}

const DRIVER_REMEDY: &str =
    "install the NVIDIA driver of this GPU (libcuda.so.1 comes with it), or run on the CPU";

/// The driver is loaded and initialized at most once; an absent one is an error each time.
fn driver() -> Result<(), CudaError> {
    // SAFETY: only looks whether the library can be opened.
    if !unsafe { sys::is_culib_present() } {
        return Err(CudaError::NoLibrary { library: "the NVIDIA driver (libcuda)", remedy: DRIVER_REMEDY });
    }
    for symbol in ["cuLaunchKernelEx", "cuMemAllocAsync", "cuEventElapsedTime_v2"] {
        // SAFETY: the library is there (checked above); the symbol is only looked up, not called.
        if unsafe { sys::culib().get::<*const ()>(symbol.as_bytes()) }.is_err() {
            return Err(CudaError::NoSymbol {
                library: "NVIDIA driver",
                symbol,
                remedy: "update to a driver for CUDA 12.8 or later (570 or newer)",
            });
        }
    }
    static INIT: OnceLock<sys::CUresult> = OnceLock::new();
    // SAFETY: cuInit may be called at any time.
    check("cuInit", *INIT.get_or_init(|| unsafe { sys::cuInit(0) }))
}

impl Gpu {
    /// Number of devices the driver shows.
    ///
    /// # Errors
    /// [`CudaError::NoLibrary`] without a driver, [`CudaError::Driver`] when it does not answer.
    pub fn count() -> Result<usize, CudaError> {
        driver()?;
        let mut count = 0;
        // SAFETY: writes one integer.
        check("cuDeviceGetCount", unsafe { sys::cuDeviceGetCount(&raw mut count) })?;
        Ok(count.max(0) as usize)
    }

    /// Device number `ordinal` with its primary context.
    ///
    /// # Errors
    /// [`CudaError`]: no driver, a driver too old, no such device, or the driver's own error.
    pub fn open(ordinal: usize) -> Result<Self, CudaError> {
        let count = Self::count()?;
        if ordinal >= count {
            return Err(CudaError::NoDevice { ordinal, count });
        }
        let (mut device, mut context, mut version, mut memory) = (0, std::ptr::null_mut(), 0, 0usize);
        let mut uuid = sys::CUuuid { bytes: [0; 16] };
        let mut name = [0 as core::ffi::c_char; 256];
        // SAFETY: `ordinal` < count; each call writes to the one variable given, the name to 256 bytes.
        unsafe {
            check("cuDeviceGet", sys::cuDeviceGet(&raw mut device, ordinal as i32))?;
            check("cuDeviceGetName", sys::cuDeviceGetName(name.as_mut_ptr(), 256, device))?;
            check("cuDeviceTotalMem", sys::cuDeviceTotalMem_v2(&raw mut memory, device))?;
            check("cuDriverGetVersion", sys::cuDriverGetVersion(&raw mut version))?;
            check("cuDeviceGetUuid", sys::cuDeviceGetUuid_v2(&raw mut uuid, device))?;
        }
        let attribute = |which: Attribute| -> Result<usize, CudaError> {
            let mut value = 0;
            // SAFETY: writes one integer; `device` came from cuDeviceGet.
            check("cuDeviceGetAttribute", unsafe {
                sys::cuDeviceGetAttribute(&raw mut value, which, device)
            })?;
            Ok(value.max(0) as usize)
        };
        let facts = GpuFacts {
            ordinal,
            // SAFETY: the driver ends the name with a zero byte within the 256 bytes given.
            name: unsafe { std::ffi::CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned(),
            capability: (
                attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)? as u32,
                attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)? as u32,
            ),
            multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            l2_bytes: attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?,
            shared_bytes: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            memory_bytes: memory,
            driver: ((version / 1000) as u32, (version % 1000 / 10) as u32),
            uuid: format!("{:032x}", u128::from_be_bytes(uuid.bytes.map(|byte| byte.to_ne_bytes()[0]))),
        };
        // SAFETY: released once in Drop of Inner.
        check("cuDevicePrimaryCtxRetain", unsafe {
            sys::cuDevicePrimaryCtxRetain(&raw mut context, device)
        })?;
        // SAFETY: `context` was just retained, and is released again by whoever drops it.
        check("cuCtxSetCurrent", unsafe { sys::cuCtxSetCurrent(context) })?;
        let pool = memory_pool(device)?;
        let arch = compile::arch_name(facts.capability);
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let ahead = Ahead::new(threads, move |source| {
            compile::cached(source, &arch)
                .or_else(|| compile::compile_and_store(source, &arch).ok().map(|compiled| compiled.image))
        });
        let (modules, unprepared, recording) = (Mutex::default(), Mutex::default(), Mutex::default());
        Ok(Self(Arc::new(Inner { device, context, pool, facts, modules, ahead, unprepared, recording })))
    }

    /// The pool of device memory.
    pub(super) fn pool(&self) -> sys::CUmemoryPool {
        self.0.pool
    }

    /// Whether kernels on this device can read and write the memory of another one directly; of its own always.
    ///
    /// # Errors
    /// [`CudaError::NoDevice`], [`CudaError::Driver`].
    pub fn reaches(&self, ordinal: usize) -> Result<bool, CudaError> {
        if ordinal == self.facts().ordinal {
            return Ok(true);
        }
        let count = Self::count()?;
        if ordinal >= count {
            return Err(CudaError::NoDevice { ordinal, count });
        }
        let (mut other, mut can) = (0, 0);
        // SAFETY: `ordinal` < count; each call writes one integer.
        unsafe {
            check("cuDeviceGet", sys::cuDeviceGet(&raw mut other, ordinal as i32))?;
            check("cuDeviceCanAccessPeer", sys::cuDeviceCanAccessPeer(&raw mut can, self.0.device, other))?;
        }
        Ok(can != 0)
    }

    /// Lets another device, which [reaches](Self::reaches) this one, read and write the memory of buffers on this device.
    ///
    /// # Errors
    /// [`CudaError::Driver`].
    pub fn open_memory_to(&self, ordinal: usize) -> Result<(), CudaError> {
        if ordinal == self.facts().ordinal {
            return Ok(());
        }
        self.bind()?;
        // SAFETY: zeros are variants of all enums in the description, which names one device and what it may do; the pool lives as
        // long as `self`.
        check("cuMemPoolSetAccess", unsafe {
            let mut who: sys::CUmemAccessDesc = std::mem::zeroed();
            who.location.type_ = sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
            who.location.id = ordinal as i32;
            who.flags = sys::CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
            sys::cuMemPoolSetAccess(self.pool(), &raw const who, 1)
        })
    }

    /// What is known about the device.
    pub fn facts(&self) -> &GpuFacts {
        &self.0.facts
    }

    /// Held while a graph is recorded on this device.
    pub(super) fn recording(&self) -> MutexGuard<'_, ()> {
        self.0.recording.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps graphs from being recorded, unless one is.
    pub(super) fn recording_if_nobody_else(&self) -> Option<MutexGuard<'_, ()>> {
        self.0.recording.try_lock().ok()
    }

    /// Makes the context current in this thread; every entry of this module does.
    pub(super) fn bind(&self) -> Result<(), CudaError> {
        // SAFETY: the context lives as long as `self`.
        check("cuCtxSetCurrent", unsafe { sys::cuCtxSetCurrent(self.0.context) })
    }

    /// Bytes free and bytes in all.
    ///
    /// # Errors
    /// [`CudaError::Driver`].
    pub fn memory(&self) -> Result<(usize, usize), CudaError> {
        self.bind()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: writes two integers.
        check("cuMemGetInfo", unsafe { sys::cuMemGetInfo_v2(&raw mut free, &raw mut total) })?;
        Ok((free, total))
    }

    /// Bytes of device memory that buffers hold, as the driver counts them. Memory that was freed and kept for later goes back to
    /// the device first.
    ///
    /// # Errors
    /// [`CudaError::Driver`].
    pub fn allocated(&self) -> Result<usize, CudaError> {
        self.bind()?;
        let mut bytes = 0_u64;
        let used = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT;
        // SAFETY: the pool lives as long as `self`; the attribute writes one u64; nothing uses what the pool gives back.
        unsafe {
            check("cuCtxSynchronize", sys::cuCtxSynchronize())?;
            check("cuMemPoolTrimTo", sys::cuMemPoolTrimTo(self.pool(), 0))?;
            check(
                "cuMemPoolGetAttribute",
                sys::cuMemPoolGetAttribute(self.pool(), used, (&raw mut bytes).cast()),
            )?;
        }
        Ok(bytes as usize)
    }

    /// Where an address lies that a caller or another library hands over.
    ///
    /// # Errors
    /// [`CudaError::Driver`].
    pub fn memory_at(&self, address: u64) -> Result<MemoryAt, CudaError> {
        self.bind()?;
        let (mut kind, mut managed) = (0_u32, 0_u32);
        let (is_kind, is_managed) = (
            sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
            sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED,
        );
        // SAFETY: each call writes one integer; the address is not read from.
        let [found, _] = unsafe {
            [
                sys::cuPointerGetAttribute((&raw mut kind).cast(), is_kind, address),
                sys::cuPointerGetAttribute((&raw mut managed).cast(), is_managed, address),
            ]
        };
        if found == sys::CUresult::CUDA_ERROR_INVALID_VALUE {
            return Ok(MemoryAt::Host); // memory that the driver does not know
        }
        check("cuPointerGetAttribute", found)?;
        let on_device = kind == sys::CUmemorytype::CU_MEMORYTYPE_DEVICE as u32;
        Ok(match (managed != 0, on_device) {
            (true, _) => MemoryAt::Both,
            (false, true) => MemoryAt::Device,
            (false, false) => MemoryAt::Host,
        })
    }

    /// A new stream.
    ///
    /// # Errors
    /// [`CudaError::Driver`].
    pub fn stream(&self) -> Result<Stream, CudaError> {
        Stream::new(self)
    }

    /// Begins to compile what will be asked for, in the background on the cores that this process may use; what the program brought
    /// along and what is in the cache on disk is only read. What fails is said by [`Gpu::module`].
    pub fn prepare(&self, sources: Vec<KernelSource>) {
        let modules = self.0.modules.lock().expect("no panic while locked");
        let fresh = sources.into_iter().filter(|s| !modules.contains_key(&s.key())).collect();
        drop(modules);
        self.0.ahead.add(fresh);
    }

    /// Names and options of kernels that [`Gpu::module`] was asked for and [`Gpu::prepare`] was not told of: those that a run had
    /// to wait for.
    pub fn unprepared(&self) -> Vec<String> {
        self.0.unprepared.lock().expect("no panic while locked").clone()
    }

    /// The machine code of `source` for this device: from this process, from what the program brought along,
    /// from the cache on disk, or compiled now.
    ///
    /// # Errors
    /// [`CudaError::NoLibrary`] when it has to be compiled and NVRTC is missing, [`CudaError::Compile`] with the
    /// compiler's messages, [`CudaError::Driver`] when the driver refuses the code.
    pub fn module(&self, source: &KernelSource) -> Result<Arc<Module>, CudaError> {
        let key = source.key();
        let known = |map: &HashMap<u64, Arc<Module>>| map.get(&key).cloned();
        if let Some(found) = known(&self.0.modules.lock().expect("no panic while locked")) {
            return Ok(found);
        }
        let arch = compile::arch_name(self.facts().capability);
        if !self.0.ahead.has(source) {
            let what = format!("{} {}", source.name, source.options.join(" "));
            self.0.unprepared.lock().expect("no panic while locked").push(what);
        }
        let module = match self.0.ahead.take(source).or_else(|| compile::cached(source, &arch)) {
            Some(image) => match Module::load(self, &image) {
                Ok(module) => module,
                // A file that passes the checksum but that the driver refuses: compile afresh and write it again.
                Err(_) => Module::load(self, &compile::compile_and_store(source, &arch)?.image)?,
            },
            None => Module::load(self, &compile::compile_and_store(source, &arch)?.image)?,
        };
        let module = Arc::new(module);
        self.0.modules.lock().expect("no panic while locked").insert(key, module.clone());
        Ok(module)
    }

    /// The bandwidth of a copy within the device's memory, counting bytes read and bytes written, in GB/s: median of
    /// `repeats` copies of `bytes` bytes.
    ///
    /// # Errors
    /// [`CudaError::OutOfMemory`], [`CudaError::Driver`].
    pub fn copy_bandwidth(&self, bytes: usize, repeats: usize) -> Result<f64, CudaError> {
        let stream = self.stream()?;
        let from = DeviceBuffer::<u8>::zeroed(&stream, bytes)?;
        let mut to = DeviceBuffer::<u8>::zeroed(&stream, bytes)?;
        let times = time_repeats(&stream, repeats, || to.copy_from(&from.slice()))?;
        Ok(2.0 * bytes as f64 / times * 1e-6)
    }
}

/// The median time in milliseconds of `repeats` runs of `work` on `stream`, by device events, after one run to warm up.
pub(super) fn time_repeats(
    stream: &Stream,
    repeats: usize,
    mut work: impl FnMut() -> Result<(), CudaError>,
) -> Result<f64, CudaError> {
    work()?;
    let mut times = Vec::with_capacity(repeats);
    for _ in 0..repeats.max(1) {
        let (start, end) = (Event::new(stream.gpu())?, Event::new(stream.gpu())?);
        start.record(stream)?;
        work()?;
        end.record(stream)?;
        times.push(end.milliseconds_since(&start)?);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

impl Stream {
    /// The median time in milliseconds of `repeats` runs of `work` enqueued on this stream, by device events, after
    /// one run to warm up.
    ///
    /// # Errors
    /// What `work` returns, and [`CudaError::Driver`].
    pub fn time(
        &self,
        repeats: usize,
        work: impl FnMut() -> Result<(), CudaError>,
    ) -> Result<f64, CudaError> {
        time_repeats(self, repeats, work)
    }

    /// A copy of `values` on the device.
    ///
    /// # Errors
    /// [`CudaError::OutOfMemory`], [`CudaError::Driver`].
    pub fn upload<T: Pod>(&self, values: &[T]) -> Result<DeviceBuffer<T>, CudaError> {
        DeviceBuffer::from_slice(self, values)
    }
}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Gpu").field(&self.0.facts).finish()
    }
}
