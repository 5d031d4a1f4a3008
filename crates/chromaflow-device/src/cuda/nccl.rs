#![allow(unsafe_code)]
//! Messages between GPUs of one host or of many by NCCL, NVIDIA's library, which is opened at run time.
//!
//! A dozen functions are taken from `libnccl.so.2`, none of them from its headers: a program is built without it. The variable
//! `CHROMAFLOW_NCCL` names another file.
//!
//! **Source**: NVIDIA, *NCCL documentation*, "Point-to-point communication", "Using NCCL with CUDA graphs", "Error handling".

use super::{CudaError, Gpu, Stream};
use libloading::Library;
use std::env;
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::fmt;
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The variable that names the library.
const ASKED: &str = "CHROMAFLOW_NCCL";
const NAMES: [&str; 2] = ["libnccl.so.2", "libnccl.so"];
const LIBRARY: &str = "NCCL (libnccl.so.2)";
const REMEDY: &str = "install it (`pip install nvidia-nccl-cu13`) and put its lib folder on LD_LIBRARY_PATH, or name the file in CHROMAFLOW_NCCL";
/// Point-to-point messages in graphs, errors that arrive later, and all that is used here.
const OLDEST: i32 = 21_800;

/// What ranks that join have in common: made by one of them ([`Nccl::id`]), given to all.
pub type NcclId = [u8; 128];

/// `ncclUniqueId`, passed by value.
#[repr(C)]
#[derive(Clone, Copy)]
struct UniqueId(NcclId);

type Raw = *mut c_void;
type Code = c_int;
/// `ncclInt8`: messages are bytes.
const BYTES: c_int = 0;
/// `ncclInProgress`
const IN_PROGRESS: Code = 7;

type GetVersion = unsafe extern "C" fn(*mut c_int) -> Code;
type GetUniqueId = unsafe extern "C" fn(*mut UniqueId) -> Code;
type InitRank = unsafe extern "C" fn(*mut Raw, c_int, UniqueId, c_int) -> Code;
type OfRaw = unsafe extern "C" fn(Raw) -> Code;
type Group = unsafe extern "C" fn() -> Code;
type Send = unsafe extern "C" fn(*const c_void, usize, c_int, c_int, Raw, Raw) -> Code;
type Receive = unsafe extern "C" fn(*mut c_void, usize, c_int, c_int, Raw, Raw) -> Code;
type AsyncError = unsafe extern "C" fn(Raw, *mut Code) -> Code;
type Text = unsafe extern "C" fn(Code) -> *const c_char;
type LastText = unsafe extern "C" fn(Raw) -> *const c_char;

/// The library.
pub struct Nccl {
    version: c_int,
    get_unique_id: GetUniqueId,
    init_rank: InitRank,
    destroy: OfRaw,
    abort: OfRaw,
    group_start: Group,
    group_end: Group,
    send: Send,
    receive: Receive,
    async_error: AsyncError,
    text: Text,
    last_text: LastText,
    /// Last: its functions are in use until then.
    _library: Library,
}

impl fmt::Debug for Nccl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nccl").field("version", &self.version()).finish_non_exhaustive()
    }
}

impl Nccl {
    /// The library, opened at most once where it is there.
    ///
    /// # Errors
    /// [`CudaError::NoLibrary`], [`CudaError::NoSymbol`]; [`CudaError::Old`] for one before 2.18.
    pub fn open() -> Result<&'static Self, CudaError> {
        static OPENED: OnceLock<Nccl> = OnceLock::new();
        if let Some(opened) = OPENED.get() {
            return Ok(opened);
        }
        let asked = env::var_os(ASKED).filter(|name| !name.is_empty());
        let found = match &asked {
            Some(name) => Self::load(name),
            None => Self::load(OsStr::new(NAMES[0])).or_else(|_| Self::load(OsStr::new(NAMES[1]))),
        };
        let found = found?;
        Ok(OPENED.get_or_init(|| found))
    }

    fn load(name: &OsStr) -> Result<Self, CudaError> {
        // SAFETY: the library's initialization only prepares its own data.
        let library = unsafe { Library::new(name) }
            .map_err(|_| CudaError::NoLibrary { library: LIBRARY, remedy: REMEDY })?;
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the type is that of NVIDIA's documentation, the same since 2.7; the library outlives the pointer.
                *unsafe { library.get($name.as_bytes()) }.map_err(|_| CudaError::NoSymbol {
                    library: LIBRARY,
                    symbol: $name,
                    remedy: REMEDY,
                })?
            };
        }
        let (get_version, mut version): (GetVersion, c_int) = (function!("ncclGetVersion"), 0);
        // SAFETY: writes one number.
        unsafe { get_version(&raw mut version) };
        if version < OLDEST {
            let [found, needed] = [version, OLDEST].map(version_in_words);
            return Err(CudaError::Old { library: "NCCL", found, needed, remedy: REMEDY });
        }
        Ok(Self {
            version,
            get_unique_id: function!("ncclGetUniqueId"),
            init_rank: function!("ncclCommInitRank"),
            destroy: function!("ncclCommDestroy"),
            abort: function!("ncclCommAbort"),
            group_start: function!("ncclGroupStart"),
            group_end: function!("ncclGroupEnd"),
            send: function!("ncclSend"),
            receive: function!("ncclRecv"),
            async_error: function!("ncclCommGetAsyncError"),
            text: function!("ncclGetErrorString"),
            last_text: function!("ncclGetLastError"),
            _library: library,
        })
    }

    /// Its version.
    pub fn version(&self) -> String {
        version_in_words(self.version)
    }

    /// A mark for ranks that are to join. Whoever makes it must be one of them.
    ///
    /// # Errors
    /// [`CudaError::Library`].
    pub fn id(&self) -> Result<NcclId, CudaError> {
        let mut id = UniqueId([0; 128]);
        // SAFETY: writes 128 bytes.
        self.check("ncclGetUniqueId", null_mut(), unsafe { (self.get_unique_id)(&raw mut id) })?;
        Ok(id.0)
    }

    fn check(&self, call: &'static str, rank: Raw, code: Code) -> Result<(), CudaError> {
        if code == 0 || code == IN_PROGRESS {
            return Ok(());
        }
        let words = |text: *const c_char| {
            // SAFETY: a string of the library, or null.
            (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
        };
        // SAFETY: both give strings that the library keeps.
        let [text, last] = unsafe { [words((self.text)(code)), words((self.last_text)(rank))] };
        let last = last.map(|last| last.trim().to_owned()).filter(|last| !last.is_empty());
        let status = [text, last].into_iter().flatten().collect::<Vec<_>>().join(": ");
        Err(CudaError::Library { call, status: format!("{code} ({status})") })
    }
}

/// 2.27.3 of 22703.
fn version_in_words(code: c_int) -> String {
    format!("{}.{}.{}", code / 10_000, code / 100 % 100, code % 100)
}

/// What passes between a rank and another one: bytes at an address of the device.
#[derive(Clone, Copy, Debug)]
pub struct Leg {
    /// The other rank.
    pub rank: usize,
    /// Where what it gets begins, and how many bytes.
    pub send: (u64, usize),
    /// Where what it gives is to begin, and how many bytes.
    pub receive: (u64, usize),
}

/// One of several ranks that have joined, each with a GPU of its own.
pub struct NcclRank {
    nccl: &'static Nccl,
    /// Null once it was ended.
    raw: Mutex<RawRank>,
    gpu: Gpu,
}

struct RawRank(Raw);

// SAFETY: a communicator may be used from any thread, one at a time, which the mutex around it sees to.
unsafe impl core::marker::Send for RawRank {}

impl fmt::Debug for NcclRank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NcclRank").field("gpu", &self.gpu.facts().ordinal).finish_non_exhaustive()
    }
}

impl NcclRank {
    /// Joins the ranks that have the same `id`; returns when all `size` of them have come.
    ///
    /// # Errors
    /// [`CudaError::NoLibrary`]; [`CudaError::Library`], for two ranks on one GPU, too.
    pub fn join(gpu: &Gpu, id: NcclId, rank: usize, size: usize) -> Result<Self, CudaError> {
        let nccl = Nccl::open()?;
        gpu.bind()?;
        let (mut raw, [rank, size]) = (null_mut(), [rank, size].map(|n| n as c_int));
        // SAFETY: writes one handle; the device's context is current.
        let code = unsafe { (nccl.init_rank)(&raw mut raw, size, UniqueId(id), rank) };
        nccl.check("ncclCommInitRank", null_mut(), code)?;
        Ok(Self { nccl, raw: Mutex::new(RawRank(raw)), gpu: gpu.clone() })
    }

    fn raw(&self) -> MutexGuard<'_, RawRank> {
        self.raw.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enqueues messages to and from other ranks, all at once; they may be recorded in a graph, once messages have passed between the same
    /// ranks before. Nothing passes after [`abort`](Self::abort).
    ///
    /// # Errors
    /// [`CudaError::Library`].
    ///
    /// # Safety
    /// The addresses have so many bytes of this device until the stream has come so far, and each leg has its counterpart on the other rank,
    /// in the same order of calls.
    pub unsafe fn pass(&self, stream: &Stream, legs: &[Leg]) -> Result<(), CudaError> {
        let rank = self.raw();
        if rank.0.is_null() || legs.iter().all(|leg| leg.send.1 == 0 && leg.receive.1 == 0) {
            return Ok(());
        }
        self.gpu.bind()?;
        let (nccl, queue) = (self.nccl, stream.raw().cast());
        // SAFETY: the caller's promise, and the communicator lives.
        unsafe {
            nccl.check("ncclGroupStart", rank.0, (nccl.group_start)())?;
            let mut done = Ok(());
            for leg in legs {
                let other = leg.rank as c_int;
                let ((from, sent), (to, received)) = (leg.send, leg.receive);
                if sent > 0 && done.is_ok() {
                    let code = (nccl.send)(from as *const c_void, sent, BYTES, other, rank.0, queue);
                    done = nccl.check("ncclSend", rank.0, code);
                }
                if received > 0 && done.is_ok() {
                    let code = (nccl.receive)(to as *mut c_void, received, BYTES, other, rank.0, queue);
                    done = nccl.check("ncclRecv", rank.0, code);
                }
            }
            // A group that was begun ends, whatever came between.
            let ended = nccl.check("ncclGroupEnd", rank.0, (nccl.group_end)());
            done.and(ended)
        }
    }

    /// What has gone wrong since messages were enqueued.
    ///
    /// # Errors
    /// [`CudaError::Library`].
    pub fn check(&self) -> Result<(), CudaError> {
        let (rank, mut later) = (self.raw(), 0);
        if rank.0.is_null() {
            return Ok(());
        }
        // SAFETY: the communicator lives; writes one number.
        let code = unsafe { (self.nccl.async_error)(rank.0, &raw mut later) };
        self.nccl.check("ncclCommGetAsyncError", rank.0, code)?;
        self.nccl.check("a message by NCCL", rank.0, later)
    }

    /// Ends all messages under way, so that kernels that wait for another rank return; what they were to bring is not there.
    pub fn abort(&self) {
        let mut rank = self.raw();
        if !rank.0.is_null() && self.gpu.bind().is_ok() {
            // SAFETY: made by ncclCommInitRank and not used from here on.
            unsafe { (self.nccl.abort)(rank.0) };
            rank.0 = null_mut();
        }
    }
}

impl Drop for NcclRank {
    fn drop(&mut self) {
        let rank = self.raw();
        if !rank.0.is_null() && self.gpu.bind().is_ok() {
            // SAFETY: as in `abort`; graphs that name the communicator are gone, as their owners keep this.
            unsafe { (self.nccl.destroy)(rank.0) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_in_words() {
        assert_eq!(version_in_words(22_703), "2.27.3");
        assert_eq!(version_in_words(OLDEST), "2.18.0");
    }

    /// A machine without the library hears what to install.
    #[test]
    fn an_absent_library_is_named() {
        let error = Nccl::load(OsStr::new("libnccl-that-is-not-there.so")).expect_err("no such file");
        let text = error.to_string();
        assert!(text.contains("libnccl.so.2") && text.contains("nvidia-nccl"), "{text}");
    }

    /// A library that is something else lacks the functions.
    #[test]
    #[cfg(target_os = "linux")]
    fn another_library_is_refused() {
        let Err(error) = Nccl::load(OsStr::new("libc.so.6")) else { panic!("libc is no NCCL") };
        assert!(matches!(error, CudaError::NoSymbol { symbol: "ncclGetVersion", .. }), "{error}");
    }
}
