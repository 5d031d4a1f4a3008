#![allow(unsafe_code)]
//! The three binary interfaces of MPI, and the functions used.
//!
//! Functions are the same everywhere. What differs are constants: handles are pointers, or integers that a pointer's register carries
//! as well (on x86-64 and AArch64 a callee that takes an `int` does not look at the upper half), so that a handle is a `usize` here.
//!
//! **Source**: MPI 5.0, chapter 20 and appendix A; `mpi.h` of Open MPI 4 and 5 and of MPICH 3 and 4.

use super::{Found, MpiError};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_LOCAL, RTLD_NOW};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt;
use std::path::Path;
use std::ptr::null_mut;

/// A handle: a pointer, or an integer in its lower half.
pub type Handle = usize;

/// Which constants a library has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abi {
    /// That of MPI 5.0.
    Standard,
    /// Open MPI's own.
    OpenMpi,
    /// MPICH's own, which Intel MPI, MVAPICH and Cray MPI have, too.
    Mpich,
}

impl fmt::Display for Abi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Standard => "standard",
            Self::OpenMpi => "Open MPI",
            Self::Mpich => "MPICH",
        })
    }
}

/// What differs between interfaces.
#[derive(Clone, Copy, Debug)]
struct Constants {
    world: Handle,
    byte: Handle,
    double: Handle,
    errors_return: Handle,
    /// `MPI_STATUS_IGNORE`
    no_status: usize,
    /// `MPI_THREAD_SERIALIZED`
    serialized: c_int,
}

const STANDARD: Constants = Constants {
    world: 0x101,
    byte: 0x247,
    double: 0x214,
    errors_return: 0x143,
    no_status: 0,
    serialized: 2048,
};
const MPICH: Constants = Constants {
    world: 0x4400_0000,
    byte: 0x4c00_010d,
    double: 0x4c00_080b,
    errors_return: 0x5400_0001,
    no_status: 1,
    serialized: 2,
};

/// Room for a status or a request of any interface; the largest have 32 and 8 bytes.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
pub struct Room([u8; 64]);

impl Room {
    pub const EMPTY: Self = Self([0; 64]);

    pub fn at(&mut self) -> *mut c_void {
        self.0.as_mut_ptr().cast()
    }
}

type Init = unsafe extern "C" fn(*mut c_int, *mut *mut *mut c_char, c_int, *mut c_int) -> c_int;
type Count = unsafe extern "C" fn(Handle, *mut c_int) -> c_int;
type Text = unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int;
type ErrorText = unsafe extern "C" fn(c_int, *mut c_char, *mut c_int) -> c_int;
type Isend = unsafe extern "C" fn(*const c_void, c_int, Handle, c_int, c_int, Handle, *mut c_void) -> c_int;
type Recv = unsafe extern "C" fn(*mut c_void, c_int, Handle, c_int, c_int, Handle, *mut c_void) -> c_int;
type Iprobe = unsafe extern "C" fn(c_int, c_int, Handle, *mut c_int, *mut c_void) -> c_int;
type Test = unsafe extern "C" fn(*mut c_void, *mut c_int, *mut c_void) -> c_int;
type GetCount = unsafe extern "C" fn(*const c_void, Handle, *mut c_int) -> c_int;
type SetHandler = unsafe extern "C" fn(Handle, Handle) -> c_int;
type Abort = unsafe extern "C" fn(Handle, c_int) -> c_int;
type Plain = unsafe extern "C" fn() -> c_int;
type Flag = unsafe extern "C" fn(*mut c_int) -> c_int;
type FromFortran = unsafe extern "C" fn(c_int) -> Handle;
type Duplicate = unsafe extern "C" fn(Handle, *mut Handle) -> c_int;
type Free = unsafe extern "C" fn(*mut Handle) -> c_int;

/// An opened library.
pub struct Calls {
    /// Where it is, and what it is.
    pub found: Found,
    constants: Constants,
    init: Init,
    finalize: Plain,
    abort: Abort,
    rank: Count,
    size: Count,
    type_size: Count,
    set_handler: SetHandler,
    error_text: ErrorText,
    isend: Isend,
    recv: Recv,
    iprobe: Iprobe,
    test: Test,
    get_count: GetCount,
    initialized: Flag,
    finalized: Flag,
    /// Where handles are not Fortran's integers.
    from_fortran: Option<FromFortran>,
    duplicate: Duplicate,
    free: Free,
    /// Whose ranks pass messages.
    comm: Handle,
    /// Last, so that it is closed after all else; its functions are in use until then.
    _library: Library,
}

impl fmt::Debug for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Calls").field("found", &self.found).finish_non_exhaustive()
    }
}

impl Calls {
    /// Opens a library to compute with; the loader's reason where it cannot be.
    ///
    /// # Errors
    /// [`MpiError::Open`], [`MpiError::NotMpi`].
    pub fn open(path: &Path) -> Result<Self, MpiError> {
        // Plugins of Open MPI look for its symbols among the global ones.
        Self::open_with(path, RTLD_GLOBAL)
    }

    /// Opens a library that the program has loaded, and leaves its symbols where they are.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_loaded(path: &Path) -> Result<Self, MpiError> {
        Self::open_with(path, RTLD_LOCAL)
    }

    /// What a library is, beside others that may be open.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn look_at(path: &Path) -> Result<Found, MpiError> {
        Self::open_loaded(path).map(|calls| calls.found)
    }

    fn open_with(path: &Path, symbols: c_int) -> Result<Self, MpiError> {
        let name = path.display().to_string();
        // SAFETY: MPI libraries run initializers of their own and nothing else.
        let library = unsafe { Library::open(Some(path), RTLD_NOW | symbols) };
        let library = library.map_err(|e| MpiError::Open { path: name.clone(), why: e.to_string() })?;
        let is_standard = path.file_name().is_some_and(|f| f.to_string_lossy().contains("_abi"));
        // SAFETY: the address of a variable is looked at and not what it holds.
        let address = |symbol: &str| unsafe {
            library.get::<*mut c_void>(symbol.as_bytes()).ok().map(|found| found.into_raw() as Handle)
        };
        let (abi, constants) = match address("ompi_mpi_comm_world") {
            Some(world) if !is_standard => {
                let of = |symbol: &str| {
                    address(symbol).ok_or_else(|| MpiError::NotMpi {
                        library: name.clone(),
                        abi: Abi::OpenMpi,
                        what: format!("it lacks {symbol}"),
                    })
                };
                let constants = Constants {
                    world,
                    byte: of("ompi_mpi_byte")?,
                    double: of("ompi_mpi_double")?,
                    errors_return: of("ompi_mpi_errors_return")?,
                    no_status: 0,
                    serialized: 2,
                };
                (Abi::OpenMpi, constants)
            }
            _ if is_standard => (Abi::Standard, STANDARD),
            _ => (Abi::Mpich, MPICH),
        };
        macro_rules! function {
            ($symbol:literal) => {{
                // SAFETY: the MPI standard gives the function this type.
                let found = unsafe { library.get($symbol.as_bytes()) };
                *found.map_err(|_| MpiError::NotMpi {
                    library: name.clone(),
                    abi,
                    what: format!("it lacks {}", $symbol),
                })?
            }};
        }
        let version: Text = function!("MPI_Get_library_version");
        let mut text = vec![0 as c_char; 1 << 14];
        let mut length = 0;
        // SAFETY: the MPI standard gives the function this type.
        let from_fortran = unsafe { library.get(b"MPI_Comm_f2c") }.ok().map(|found| *found);
        // SAFETY: the text has more room than any interface's limit (8192); the function may be called at any time.
        unsafe { version(text.as_mut_ptr(), &raw mut length) };
        Ok(Self {
            comm: constants.world,
            constants,
            init: function!("MPI_Init_thread"),
            finalize: function!("MPI_Finalize"),
            abort: function!("MPI_Abort"),
            rank: function!("MPI_Comm_rank"),
            size: function!("MPI_Comm_size"),
            type_size: function!("MPI_Type_size"),
            set_handler: function!("MPI_Comm_set_errhandler"),
            error_text: function!("MPI_Error_string"),
            isend: function!("MPI_Isend"),
            recv: function!("MPI_Recv"),
            iprobe: function!("MPI_Iprobe"),
            test: function!("MPI_Test"),
            get_count: function!("MPI_Get_count"),
            initialized: function!("MPI_Initialized"),
            finalized: function!("MPI_Finalized"),
            from_fortran: from_fortran.filter(|_| abi != Abi::Mpich),
            duplicate: function!("MPI_Comm_dup"),
            free: function!("MPI_Comm_free"),
            found: Found { library: path.to_owned(), abi, version: line(&text) },
            _library: library,
        })
    }

    /// Begins with all ranks; this rank and their number, and whether threads may call it in turn.
    ///
    /// # Errors
    /// [`MpiError::Call`], [`MpiError::NotMpi`].
    pub fn begin(&self) -> Result<([usize; 2], bool), MpiError> {
        let c = &self.constants;
        let mut provided = 0;
        // Without arguments of the program, as the standard allows.
        // SAFETY: arguments are as the standard has them, and live through the call.
        self.check("MPI_Init_thread", unsafe {
            (self.init)(null_mut(), null_mut(), c.serialized, &raw mut provided)
        })?;
        // SAFETY: arguments are as the standard has them, and live through the call.
        self.check("MPI_Comm_set_errhandler", unsafe { (self.set_handler)(c.world, c.errors_return) })?;
        Ok((self.look()?, provided >= c.serialized))
    }

    /// Whether the program has begun with MPI, and has not ended it.
    pub fn is_under_way(&self) -> bool {
        let (mut begun, mut ended) = (0, 0);
        // SAFETY: both may be called at any time.
        unsafe {
            (self.initialized)(&raw mut begun) == 0
                && begun != 0
                && (self.finalized)(&raw mut ended) == 0
                && ended == 0
        }
    }

    /// Takes a duplicate of a communicator of the program, by Fortran's number of it, or of all ranks; this rank and their number. Collective.
    ///
    /// # Errors
    /// [`MpiError::NotBegun`], [`MpiError::Call`], [`MpiError::NotMpi`].
    pub fn join(&mut self, fortran: Option<c_int>) -> Result<[usize; 2], MpiError> {
        if !self.is_under_way() {
            return Err(MpiError::NotBegun { library: self.name() });
        }
        let given = match (fortran, self.from_fortran) {
            (None, _) => self.constants.world,
            // SAFETY: the caller's number is one that MPI gave out.
            (Some(number), Some(convert)) => unsafe { convert(number) },
            (Some(number), None) => number.cast_unsigned() as Handle,
        };
        let mut own: Handle = 0; // where a handle is an integer its lower half is written
        // SAFETY: arguments are as the standard has them, and live through the call.
        self.check("MPI_Comm_dup", unsafe { (self.duplicate)(given, &raw mut own) })?;
        self.comm = own;
        // SAFETY: arguments are as the standard has them, and live through the call.
        self.check("MPI_Comm_set_errhandler", unsafe {
            (self.set_handler)(own, self.constants.errors_return)
        })?;
        self.look()
    }

    /// Gives the duplicate back, unless the program has ended MPI before.
    pub fn part(&self) {
        let mut own = self.comm;
        if self.is_under_way() {
            // SAFETY: it is a communicator of our own, which nobody uses from here on.
            unsafe { (self.free)(&raw mut own) };
        }
    }

    /// Sees that the constants are those of the library; this rank and their number.
    fn look(&self) -> Result<[usize; 2], MpiError> {
        let c = &self.constants;
        for (handle, expected, name) in [(c.double, 8, "MPI_DOUBLE"), (c.byte, 1, "MPI_BYTE")] {
            let mut found = 0;
            // SAFETY: arguments are as the standard has them, and live through the call.
            self.check("MPI_Type_size", unsafe { (self.type_size)(handle, &raw mut found) })?;
            if found != expected {
                return Err(MpiError::NotMpi {
                    library: self.name(),
                    abi: self.found.abi,
                    what: format!("{name} has {found} bytes, expected {expected}"),
                });
            }
        }
        let (mut rank, mut size) = (0, 0);
        // SAFETY: arguments are as the standard has them, and live through the call.
        self.check("MPI_Comm_rank", unsafe { (self.rank)(self.comm, &raw mut rank) })?;
        // SAFETY: arguments are as the standard has them, and live through the call.
        self.check("MPI_Comm_size", unsafe { (self.size)(self.comm, &raw mut size) })?;
        Ok([rank as usize, size as usize])
    }

    /// Starts to send; the bytes must stay until the request is [done](Self::done).
    ///
    /// # Errors
    /// [`MpiError::Call`].
    pub fn send(&self, bytes: &[u8], to: usize, tag: c_int, request: &mut Room) -> Result<(), MpiError> {
        let c = &self.constants;
        let (from, count) = (bytes.as_ptr().cast(), bytes.len() as c_int);
        // SAFETY: arguments are as the standard has them, and live through the call.
        self.check("MPI_Isend", unsafe {
            (self.isend)(from, count, c.byte, to as c_int, tag, self.comm, request.at())
        })
    }

    /// Whether a request is done.
    ///
    /// # Errors
    /// [`MpiError::Call`].
    pub fn done(&self, request: &mut Room) -> Result<bool, MpiError> {
        let mut flag = 0;
        let status = self.constants.no_status as *mut c_void;
        // SAFETY: arguments are as the standard has them, and live through the call.
        self.check("MPI_Test", unsafe { (self.test)(request.at(), &raw mut flag, status) })?;
        Ok(flag != 0)
    }

    /// The next message of a rank with this tag, if it is there.
    ///
    /// # Errors
    /// [`MpiError::Call`].
    pub fn receive(&self, from: usize, tag: c_int) -> Result<Option<Vec<u8>>, MpiError> {
        let c = &self.constants;
        let (mut flag, mut count, mut status) = (0, 0, Room::EMPTY);
        // SAFETY: arguments are as the standard has them, and live through the call.
        self.check("MPI_Iprobe", unsafe {
            (self.iprobe)(from as c_int, tag, self.comm, &raw mut flag, status.at())
        })?;
        if flag == 0 {
            return Ok(None);
        }
        // SAFETY: arguments are as the standard has them, and live through the call.
        self.check("MPI_Get_count", unsafe { (self.get_count)(status.at(), c.byte, &raw mut count) })?;
        let mut bytes = vec![0; count as usize];
        let ignored = c.no_status as *mut c_void;
        // SAFETY: arguments are as the standard has them, and live through the call.
        self.check("MPI_Recv", unsafe {
            (self.recv)(bytes.as_mut_ptr().cast(), count, c.byte, from as c_int, tag, self.comm, ignored)
        })?;
        Ok(Some(bytes))
    }

    /// Ends MPI.
    pub fn end(&self) {
        // SAFETY: arguments are as the standard has them, and live through the call.
        unsafe { (self.finalize)() };
    }

    /// Ends all ranks with this exit status.
    pub fn abort(&self, status: c_int) {
        // SAFETY: arguments are as the standard has them, and live through the call.
        unsafe { (self.abort)(self.comm, status) };
    }

    fn name(&self) -> String {
        self.found.library.display().to_string()
    }

    fn check(&self, function: &'static str, code: c_int) -> Result<(), MpiError> {
        if code == 0 {
            return Ok(());
        }
        let (mut text, mut length) = (vec![0 as c_char; 1 << 12], 0);
        // SAFETY: the text has more room than any interface's limit (1024).
        unsafe { (self.error_text)(code, text.as_mut_ptr(), &raw mut length) };
        Err(MpiError::Call { function, library: self.name(), why: line(&text) })
    }
}

/// The first line of a text that ends with a zero.
fn line(text: &[c_char]) -> String {
    let bytes: Vec<u8> = text.iter().map(|&c| c as u8).collect();
    let text = CStr::from_bytes_until_nul(&bytes).map(CStr::to_string_lossy).unwrap_or_default();
    text.lines().next().unwrap_or_default().trim().to_owned()
}
