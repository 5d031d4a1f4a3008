#![allow(unsafe_code)]
//! CUDA C++ text to machine code: NVRTC at first use, then a cache on disk.

use super::{CudaError, Record, Records};
use cudarc::nvrtc::sys::{self, nvrtcResult};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::{CStr, CString};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// CUDA C++ text with the constants it is compiled for. Kernels include no header, so that a driver and NVRTC are all
/// that is needed.
#[derive(Clone, Debug)]
pub struct KernelSource {
    /// What it is called in messages and in the cache.
    pub name: &'static str,
    /// The text.
    pub text: Cow<'static, str>,
    /// Further compiler options, such as `-DNB=5`.
    pub options: Vec<String>,
}

impl KernelSource {
    /// A text without options.
    pub fn new(name: &'static str, text: impl Into<Cow<'static, str>>) -> Self {
        Self { name, text: text.into(), options: Vec::new() }
    }

    /// With the parameter list of a kernel, which may then say `kernel(NAME)`.
    #[must_use]
    pub fn record<R: Record>(mut self) -> Self {
        self.text = Cow::Owned(R::declaration() + &self.text);
        self
    }

    /// With those of several.
    #[must_use]
    pub fn records<R: Records>(mut self) -> Self {
        self.text = Cow::Owned(R::declarations() + &self.text);
        self
    }

    /// With a constant: `-Dname=value`.
    #[must_use]
    pub fn define(mut self, name: &str, value: impl std::fmt::Display) -> Self {
        self.options.push(format!("-D{name}={value}"));
        self
    }

    /// What tells this source from others within a process.
    pub(super) fn key(&self) -> u64 {
        fnv(FNV, self.identity().as_bytes())
    }

    fn identity(&self) -> String {
        format!("{}\n{}\n{}", self.name, self.options.join(" "), self.text)
    }
}

const FNV: u64 = 0xcbf2_9ce4_8422_2325;

fn fnv(start: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(start, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

/// The architecture name of a compute capability: `sm_90`.
pub fn arch_name((major, minor): (u32, u32)) -> String {
    format!("sm_{major}{minor}")
}

/// Machine code and what the compiler said about it.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The cubin.
    pub image: Vec<u8>,
    /// Messages: warnings, and registers, stack and spills of each kernel.
    pub log: String,
}

impl Compiled {
    /// Bytes of registers spilled to memory, the worst kernel's.
    pub fn spill_bytes(&self) -> usize {
        self.numbers_before(" bytes spill stores").max().unwrap_or(0)
    }

    /// Registers a thread uses, the worst kernel's.
    pub fn registers(&self) -> usize {
        self.log
            .split("Used ")
            .skip(1)
            .filter_map(|s| s.split_whitespace().next()?.parse().ok())
            .max()
            .unwrap_or(0)
    }

    fn numbers_before<'a>(&'a self, what: &'a str) -> impl Iterator<Item = usize> + 'a {
        self.log
            .match_indices(what)
            .filter_map(|(at, _)| self.log[..at].rsplit(|c: char| !c.is_ascii_digit()).next()?.parse().ok())
    }
}

/// The first NVRTC with a cache of its own, in the driver's.
const CACHES: (u32, u32) = (12, 9);

const NVRTC_REMEDY: &str = "kernels are compiled at first use: install the CUDA toolkit, or `pip install \
                            nvidia-cuda-nvrtc` and put its lib folder on LD_LIBRARY_PATH before the start";

/// NVRTC's version, major and minor.
///
/// # Errors
/// [`CudaError::NoLibrary`] when it is not installed.
pub fn nvrtc_version() -> Result<(u32, u32), CudaError> {
    // SAFETY: only looks whether the library can be opened.
    if !unsafe { sys::is_culib_present() } {
        return Err(CudaError::NoLibrary { library: "NVRTC (libnvrtc)", remedy: NVRTC_REMEDY });
    }
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the library is there (checked above); every version of it has this function.
    nvrtc("nvrtcVersion", unsafe { sys::nvrtcVersion(&raw mut major, &raw mut minor) })?;
    Ok((major.max(0) as u32, minor.max(0) as u32))
}

fn nvrtc(call: &'static str, status: nvrtcResult) -> Result<(), CudaError> {
    if status == nvrtcResult::NVRTC_SUCCESS {
        return Ok(());
    }
    Err(CudaError::Library { call, status: format!("{status:?}") })
}

/// Compiles `source` to a cubin for `arch` (`sm_90`), without looking at the cache. Needs no GPU and no driver.
///
/// # Errors
/// [`CudaError::NoLibrary`] without NVRTC, [`CudaError::Compile`] with the compiler's messages.
pub fn compile(source: &KernelSource, arch: &str) -> Result<Compiled, CudaError> {
    let version = nvrtc_version()?;
    let mut options = vec![
        format!("--gpu-architecture={arch}"),
        "-std=c++17".to_owned(),
        "-default-device".to_owned(),
        "--ptxas-options=-v".to_owned(),
    ];
    if version >= CACHES {
        options.push("--no-cache".to_owned()); // what comes from there has no log
    }
    options.extend(source.options.iter().cloned());
    let c = |s: &str| CString::new(s).expect("kernel texts and options have no zero byte");
    let c_options: Vec<CString> = options.iter().map(|o| c(o)).collect();
    let pointers: Vec<_> = c_options.iter().map(|o| o.as_ptr()).collect();
    let (text, name) = (c(&source.text), c(&format!("{}.cu", source.name)));
    let mut program = std::ptr::null_mut();
    // SAFETY: NVRTC is there (checked above); all strings end with a zero byte and outlive the calls; buffers have the
    // sizes NVRTC gives; the program is destroyed once.
    unsafe {
        nvrtc(
            "nvrtcCreateProgram",
            sys::nvrtcCreateProgram(
                &raw mut program,
                text.as_ptr(),
                name.as_ptr(),
                0,
                std::ptr::null(),
                std::ptr::null(),
            ),
        )?;
        let status = sys::nvrtcCompileProgram(program, pointers.len() as i32, pointers.as_ptr());
        let mut size = 0;
        let mut log = Vec::new();
        if sys::nvrtcGetProgramLogSize(program, &raw mut size) == nvrtcResult::NVRTC_SUCCESS && size > 0 {
            log.resize(size, 0u8);
            sys::nvrtcGetProgramLog(program, log.as_mut_ptr().cast());
        }
        let log =
            CStr::from_bytes_until_nul(&log).map_or_else(|_| String::new(), |s| s.to_string_lossy().into());
        let mut image = Vec::new();
        if status == nvrtcResult::NVRTC_SUCCESS
            && sys::nvrtcGetCUBINSize(program, &raw mut size) == nvrtcResult::NVRTC_SUCCESS
        {
            image.resize(size, 0u8);
            sys::nvrtcGetCUBIN(program, image.as_mut_ptr().cast());
        }
        sys::nvrtcDestroyProgram(&raw mut program);
        if image.is_empty() {
            let flags = source.options.join(" ");
            let log = if log.is_empty() { format!("{status:?}") } else { log };
            return Err(CudaError::Compile { kernel: source.name, arch: arch.to_owned(), flags, log });
        }
        Ok(Compiled { image, log })
    }
}

/// The folder of compiled kernels: `CHROMAFLOW_CACHE`, or `chromaflow` in the user's cache folder.
pub fn folder() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    set("CHROMAFLOW_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|p| p.join("chromaflow")))
        .or_else(|| set("HOME").map(|p| p.join(".cache/chromaflow")))
}

/// What tells source, options and architecture from others.
pub(super) fn identify(source: &KernelSource, arch: &str) -> [u64; 2] {
    let identity = source.identity();
    let high = fnv(FNV, format!("{arch}\n{identity}").as_bytes());
    [high, fnv(high ^ 0x9e37_79b9_7f4a_7c15, identity.as_bytes())]
}

/// `name-arch-hash` of source, options and architecture.
fn stem(source: &KernelSource, arch: &str) -> String {
    let [high, low] = identify(source, arch);
    format!("{}-{arch}-{high:016x}{low:016x}", source.name)
}

fn file(source: &KernelSource, arch: &str, (major, minor): (u32, u32)) -> Option<PathBuf> {
    Some(folder()?.join(format!("{}-nvrtc{major}.{minor}.cubin", stem(source, arch))))
}

/// The machine code that came with the program or is in the cache, if it is there and whole. Without NVRTC any compiler's version
/// serves.
pub(super) fn cached(source: &KernelSource, arch: &str) -> Option<Vec<u8>> {
    if let Some(image) = super::pack::find(source, arch) {
        return Some(image);
    }
    if let Ok(version) = nvrtc_version() {
        return read_checked(&file(source, arch, version)?);
    }
    let stem = stem(source, arch);
    let mut entries = fs::read_dir(folder()?).ok()?.flatten();
    entries.find(|e| e.file_name().to_string_lossy().starts_with(&stem)).and_then(|e| read_checked(&e.path()))
}

const MAGIC: &[u8; 8] = b"CFCUBIN1";

/// A cache file is a magic word, the length, a checksum and the image; anything else counts as absent.
fn read_checked(path: &Path) -> Option<Vec<u8>> {
    let bytes = fs::read(path).ok()?;
    let (head, image) = bytes.split_at_checked(24)?;
    let word = |at: usize| Some(u64::from_le_bytes(head[at..at + 8].try_into().ok()?));
    let whole = &head[..8] == MAGIC && word(8)? == image.len() as u64 && word(16)? == fnv(FNV, image);
    whole.then(|| image.to_vec())
}

/// Compiles `source` for `arch` into the cache on disk, whole entries left as they are: for machines that are to run
/// without a compiler. Needs no GPU.
///
/// # Errors
/// As [`compile`]; [`CudaError::Cache`] when the cache cannot be written.
pub fn build_ahead(source: &KernelSource, arch: &str) -> Result<Compiled, CudaError> {
    let compiled = compile(source, arch)?;
    if let Some(path) = file(source, arch, nvrtc_version()?) {
        store(&path, &compiled.image).map_err(|source| CudaError::Cache { path, source })?;
    }
    Ok(compiled)
}

/// Compiles and writes to the cache. A cache that cannot be written costs a compilation in every process and nothing
/// else; it is said once on standard error.
pub(super) fn compile_and_store(source: &KernelSource, arch: &str) -> Result<Compiled, CudaError> {
    // Several devices of one kind ask for the same: one compiles, the others find it in the cache.
    let turn = Turn::take(stem(source, arch));
    if turn.waited
        && let Some(image) = cached(source, arch)
    {
        return Ok(Compiled { image, log: String::new() });
    }
    let compiled = compile(source, arch)?;
    if let Some(path) = file(source, arch, nvrtc_version()?)
        && let Err(cause) = store(&path, &compiled.image)
    {
        static SAID: std::sync::Once = std::sync::Once::new();
        let path = path.parent().map(Path::to_path_buf).unwrap_or_default();
        SAID.call_once(|| eprintln!("note: {}", CudaError::Cache { path, source: cause }));
    }
    Ok(compiled)
}

/// What is being compiled in this process.
static UNDER_WAY: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
static DONE: Condvar = Condvar::new();

/// The right to compile something, which one at a time has.
struct Turn {
    what: String,
    /// Whether another one had it before.
    waited: bool,
}

impl Turn {
    fn take(what: String) -> Self {
        let mut under_way = UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner);
        let mut waited = false;
        while !under_way.insert(what.clone()) {
            waited = true;
            under_way = DONE.wait(under_way).unwrap_or_else(PoisonError::into_inner);
        }
        Self { what, waited }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.what);
        DONE.notify_all();
    }
}

/// Written under a name of its own and renamed: another process sees the whole file or none.
fn store(path: &Path, image: &[u8]) -> std::io::Result<()> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let temporary = folder.join(format!("{}.{number}.tmp", std::process::id()));
    let mut out = fs::File::create(&temporary)?;
    let written = [&MAGIC[..], &(image.len() as u64).to_le_bytes(), &fnv(FNV, image).to_le_bytes(), image]
        .into_iter()
        .try_for_each(|part| out.write_all(part))
        .and_then(|()| out.sync_data())
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_corrupt_cache_entry_counts_as_absent() {
        let folder = std::env::temp_dir().join(format!("chromaflow-cache-{}", std::process::id()));
        let path = folder.join("k.cubin");
        store(&path, b"machine code").unwrap();
        assert_eq!(read_checked(&path).as_deref(), Some(&b"machine code"[..]));
        let mut bytes = fs::read(&path).unwrap();
        for at in 0..bytes.len() {
            bytes[at] ^= 1;
            fs::write(&path, &bytes).unwrap();
            assert_eq!(read_checked(&path), None, "byte {at} changed");
            bytes[at] ^= 1;
        }
        for len in 0..bytes.len() {
            fs::write(&path, &bytes[..len]).unwrap();
            assert_eq!(read_checked(&path), None, "cut to {len} bytes");
        }
        fs::remove_dir_all(folder).unwrap();
    }

    /// Whoever comes while something is compiled waits for it; others do not.
    #[test]
    fn one_at_a_time_compiles_the_same() {
        let first = Turn::take("one".to_owned());
        assert!(!first.waited && !Turn::take("another".to_owned()).waited);
        drop(first);
        // A busy machine may not have begun the other one before the first is done.
        let waits = |round: u64| {
            let first = Turn::take("one".to_owned());
            let other = std::thread::spawn(|| Turn::take("one".to_owned()).waited);
            std::thread::sleep(std::time::Duration::from_millis(20 << round));
            assert!(!other.is_finished());
            drop(first);
            other.join().unwrap()
        };
        assert!((0..10).any(waits));
        assert!(!Turn::take("one".to_owned()).waited);
    }

    #[test]
    fn sources_differ_by_text_and_options() {
        let a = KernelSource::new("k", "x").define("NB", 5);
        assert_ne!(stem(&a, "sm_90"), stem(&a, "sm_80"));
        assert_ne!(stem(&a, "sm_90"), stem(&KernelSource::new("k", "x").define("NB", 6), "sm_90"));
        assert_ne!(stem(&a, "sm_90"), stem(&KernelSource::new("k", "y").define("NB", 5), "sm_90"));
    }

    #[test]
    fn the_compilers_numbers_are_read() {
        let log = "ptxas info : Function properties for a\n 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill \
                   loads\nptxas info : Used 40 registers\n 8 bytes stack frame, 18408 bytes spill stores, 4 bytes \
                   spill loads\nptxas info : Used 255 registers, used 1 barriers";
        let c = Compiled { image: Vec::new(), log: log.to_owned() };
        assert_eq!((c.spill_bytes(), c.registers()), (18408, 255));
    }
}
