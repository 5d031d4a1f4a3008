#![allow(unsafe_code)]
//! Named ranges of time for profilers: NVIDIA's tools extension, NVTX 3.
//!
//! A profiler (`nsys profile`, `ncu --nvtx`, any other) names its library in the variable `NVTX_INJECTION64_PATH` before the program
//! starts. The first range opens that library and calls its `InitializeInjectionNvtx2`, which asks for tables of functions and writes its
//! own into them. Nothing of CUDA is needed; without a profiler a range costs one load and one branch.
//!
//! **Source**: NVIDIA, *NVTX 3*, "Tool injection": numbers of tables, modules and functions in `nvtxTypes.h` of the headers.

use libloading::Library;
use std::error::Error;
use std::ffi::{CString, OsStr, c_char, c_int, c_uint, c_void};
use std::marker::PhantomData;
use std::mem::transmute;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The variable by which profilers name their library.
const ASKED: &str = "NVTX_INJECTION64_PATH";

/// A range that lasts as long as this value, on the thread that made it. Ranges of a thread nest.
#[must_use = "the range ends when this is dropped"]
#[derive(Debug)]
pub struct Range {
    pop: Option<Pop>,
    /// Profilers keep a stack for each thread: a range ends where it began.
    thread: PhantomData<*mut ()>,
}

/// A range with a name begins; nothing where no profiler listens. A name with a zero byte is none.
pub fn range(name: &str) -> Range {
    let pop = tool().and_then(|tool| {
        let name = CString::new(name).ok()?;
        // SAFETY: `nvtxRangePushA` of the profiler takes a C string, which it copies.
        unsafe { (tool.push)(name.as_ptr()) };
        Some(tool.pop)
    });
    Range { pop, thread: PhantomData }
}

impl Drop for Range {
    fn drop(&mut self) {
        if let Some(pop) = self.pop {
            // SAFETY: `nvtxRangePop` of the profiler; the range was begun on this thread, and those within it have ended.
            unsafe { pop() };
        }
    }
}

/// Whether a profiler listens to ranges.
///
/// # Errors
/// Why the library that `NVTX_INJECTION64_PATH` names does not listen.
pub fn profiler() -> Result<bool, &'static str> {
    attached().as_ref().map(Option::is_some).map_err(String::as_str)
}

type Push = unsafe extern "C" fn(*const c_char) -> c_int;
type Pop = unsafe extern "C" fn() -> c_int;

/// What a profiler does with ranges.
struct Tool {
    push: Push,
    pop: Pop,
}

fn tool() -> Option<&'static Tool> {
    attached().as_ref().ok().and_then(Option::as_ref)
}

fn attached() -> &'static Result<Option<Tool>, String> {
    static TOOL: OnceLock<Result<Option<Tool>, String>> = OnceLock::new();
    TOOL.get_or_init(|| match std::env::var_os(ASKED) {
        Some(path) if !path.is_empty() => {
            attach(&path).map(Some).map_err(|why| format!("{ASKED}={}: {why}", path.display()))
        }
        _ => Ok(None),
    })
}

type GetExportTable = extern "C" fn(u32) -> *const c_void;
type Initialize = unsafe extern "C" fn(GetExportTable) -> c_int;

fn attach(path: &OsStr) -> Result<Tool, String> {
    // SAFETY: whoever set the variable wants the library's initializers to run.
    let library = unsafe { Library::new(path) }
        .map_err(|e| e.source().map_or_else(|| e.to_string(), ToString::to_string))?;
    // SAFETY: the type is that of `NvtxInitializeInjectionNvtxFunc_t`.
    let initialize = unsafe { library.get::<Initialize>(b"InitializeInjectionNvtx2\0") }
        .map_err(|_| "no library for NVTX 3: it has no InitializeInjectionNvtx2".to_owned())?;
    // SAFETY: `export_table` answers as NVTX 3 does, with tables that are never moved.
    if unsafe { initialize(export_table) } == 0 {
        return Err("the profiler's InitializeInjectionNvtx2 failed".into());
    }
    let [push, pop] = [PUSH, POP].map(|k| CORE[k].load(Ordering::Acquire));
    if push.is_null() || pop.is_null() {
        return Err("the profiler takes no ranges by nvtxRangePushA and nvtxRangePop".into());
    }
    std::mem::forget(library); // its functions are called until the program ends
    // SAFETY: what the profiler wrote into these slots has the types of `nvtxRangePushA` and `nvtxRangePop`.
    Ok(unsafe {
        Tool { push: transmute::<*mut c_void, Push>(push), pop: transmute::<*mut c_void, Pop>(pop) }
    })
}

/// Where a profiler writes one of its functions.
type Slot = AtomicPtr<c_void>;

/// Functions of a module at most, with number 0, which is none.
const MOST: usize = 16;
/// Numbers of `nvtxRangePushA` and `nvtxRangePop` in the core module.
const PUSH: usize = 9;
const POP: usize = 11;
/// Functions of each module by its number: none, core, CUDA, OpenCL, CUDA run time, core 2, synchronization.
const SIZES: [c_uint; 7] = [0, 16, 9, 15, 7, 16, 7];

/// Functions of the core module,
static CORE: [Slot; MOST] = [const { Slot::new(ptr::null_mut()) }; MOST];
/// and of all others, which are not called.
static OTHERS: [Slot; MOST] = [const { Slot::new(ptr::null_mut()) }; MOST];

/// Addresses of slots, and a null after the last: a profiler writes functions through them.
type Table = [AtomicPtr<Slot>; MOST + 1];
static CORE_TABLE: Table = addresses(&CORE);
static OTHER_TABLE: Table = addresses(&OTHERS);

const fn addresses(slots: &'static [Slot; MOST]) -> Table {
    let mut table = [const { AtomicPtr::new(ptr::null_mut()) }; MOST + 1];
    let mut k = 1;
    while k < MOST {
        table[k] = AtomicPtr::new((&raw const slots[k]).cast_mut());
        k += 1;
    }
    table
}

/// `NvtxExportTableCallbacks`.
#[repr(C)]
struct Callbacks {
    size: usize,
    module_functions: extern "C" fn(c_uint, *mut *const AtomicPtr<Slot>, *mut c_uint) -> c_int,
}

/// `NvtxExportTableVersionInfo`.
#[repr(C)]
struct Version {
    size: usize,
    number: u32,
    reserved: u32,
    told: extern "C" fn(u32),
}

static CALLBACKS: Callbacks = Callbacks { size: size_of::<Callbacks>(), module_functions };
static VERSION: Version = Version { size: size_of::<Version>(), number: 3, reserved: 0, told: tool_version };

/// `nvtxGetExportTable`: tables by their numbers.
extern "C" fn export_table(number: u32) -> *const c_void {
    match number {
        1 => (&raw const CALLBACKS).cast(),
        3 => (&raw const VERSION).cast(),
        _ => ptr::null(),
    }
}

/// `GetModuleFunctionTable`: 1 where there is such a module.
extern "C" fn module_functions(
    module: c_uint,
    table: *mut *const AtomicPtr<Slot>,
    size: *mut c_uint,
) -> c_int {
    let Some(&functions) = SIZES.get(module as usize).filter(|&&functions| functions > 0) else { return 0 };
    let slots = if module == 1 { &CORE_TABLE } else { &OTHER_TABLE };
    // SAFETY: NVTX's contract: each of the two is null or may be written.
    unsafe {
        if !table.is_null() {
            *table = slots.as_ptr();
        }
        if !size.is_null() {
            *size = functions;
        }
    }
    1
}

extern "C" fn tool_version(_version: u32) {}

#[cfg(test)]
mod tests {
    use super::*;

    /// A profiler asks for all modules, and gets as many distinct places as the module has functions, then a null.
    #[test]
    fn tables_have_a_slot_for_each_function() {
        for (module, &functions) in SIZES.iter().enumerate() {
            let (mut table, mut size) = (ptr::null(), 99);
            let found = module_functions(module as c_uint, &raw mut table, &raw mut size);
            assert_eq!(found == 1, module > 0);
            if found == 1 {
                assert_eq!(size, functions);
                // SAFETY: the static table, of MOST + 1 entries.
                let slots = unsafe { std::slice::from_raw_parts(table, MOST + 1) };
                let mut slots: Vec<_> = slots.iter().map(|s| s.load(Ordering::Relaxed)).collect();
                assert!(slots[0].is_null() && slots[MOST].is_null());
                assert!(slots[1..size as usize].iter().all(|s| !s.is_null()));
                slots.sort_unstable();
                slots.dedup();
                assert_eq!(slots.len(), MOST);
            }
        }
        assert_eq!(module_functions(7, ptr::null_mut(), ptr::null_mut()), 0);
    }

    #[test]
    fn a_library_that_is_none_is_an_error_that_names_it() {
        let error = attach(OsStr::new("/nowhere/libprofiler.so")).err().unwrap();
        assert!(error.contains("libprofiler.so"), "{error}");
    }
}
