//! Status codes, the last error of a thread, and the wall around every entry.

use chromaflow::TeamError;
use chromaflow::solver::{ErrorKind, KeyError, SolverError};
use chromaflow::tridiag::TridiagError;
use std::any::Any;
use std::cell::RefCell;
use std::ffi::c_char;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, Once, PoisonError, TryLockError};

/// `chromaflow_status`.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Status {
    Ok = 0,
    BadArgument = 1,
    BadPattern = 2,
    NotFinite = 3,
    Singular = 4,
    NoValues = 5,
    Unsupported = 6,
    NoMemory = 7,
    Device = 8,
    Callback = 9,
    Bug = 10,
    Mpi = 11,
}

/// Why an entry fails.
#[derive(Clone, Debug)]
pub struct Failure {
    pub(crate) status: Status,
    pub(crate) text: String,
    /// Block row and column as the caller counts them.
    pub(crate) place: (i64, i64),
}

/// What entries do.
pub type Outcome = Result<(), Failure>;

impl Failure {
    pub(crate) fn new(status: Status, text: impl Into<String>) -> Self {
        Self { status, text: text.into(), place: (-1, -1) }
    }

    pub(crate) fn argument(text: impl Into<String>) -> Self {
        Self::new(Status::BadArgument, text)
    }

    pub(crate) fn at(mut self, row: usize, col: Option<u64>) -> Self {
        self.place = (row as i64, col.map_or(-1, |c| i64::try_from(c).unwrap_or(i64::MAX)));
        self
    }
}

impl From<ErrorKind> for Status {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Argument => Self::BadArgument,
            ErrorKind::Pattern => Self::BadPattern,
            ErrorKind::NotFinite => Self::NotFinite,
            ErrorKind::Singular => Self::Singular,
            ErrorKind::NoValues => Self::NoValues,
            ErrorKind::Unsupported => Self::Unsupported,
            ErrorKind::Device => Self::Device,
            ErrorKind::Callback => Self::Callback,
            ErrorKind::Ranks => Self::Mpi,
        }
    }
}

impl From<SolverError> for Failure {
    fn from(error: SolverError) -> Self {
        let text = match error {
            SolverError::NoValues => {
                "the matrix has no values: set them before anything is solved".to_owned()
            }
            _ => error.to_string(),
        };
        let failure = Self::new(error.kind().into(), text);
        match error.place() {
            Some((row, col)) => failure.at(row as usize, col),
            None => failure,
        }
    }
}

/// On its way to other ranks.
impl From<Failure> for SolverError {
    fn from(failure: Failure) -> Self {
        SolverError::Options(failure.text)
    }
}

#[cfg(unix)]
impl From<chromaflow_comm::mpi::MpiError> for Failure {
    fn from(error: chromaflow_comm::mpi::MpiError) -> Self {
        Self::new(Status::Mpi, error.to_string())
    }
}

impl From<KeyError> for Failure {
    fn from(error: KeyError) -> Self {
        Self::argument(error.to_string())
    }
}

impl From<TridiagError> for Failure {
    fn from(error: TridiagError) -> Self {
        let unsupported = matches!(error, TridiagError::Unsupported { .. });
        Self::new(if unsupported { Status::Unsupported } else { Status::BadArgument }, error.to_string())
    }
}

impl From<TeamError> for Failure {
    fn from(error: TeamError) -> Self {
        let status = match error {
            TeamError::TooMany { .. } => Status::BadArgument,
            TeamError::Refused { .. } => Status::NoMemory,
        };
        Self::new(status, error.to_string())
    }
}

#[cfg(feature = "cuda")]
impl From<chromaflow_device::cuda::CudaError> for Failure {
    fn from(error: chromaflow_device::cuda::CudaError) -> Self {
        Self::new(Status::Device, error.to_string())
    }
}

thread_local! {
    static LAST: RefCell<Failure> = RefCell::new(Failure::new(Status::Ok, ""));
    static INSIDE: RefCell<usize> = const { RefCell::new(0) };
}

/// What threads of ours said when they panicked.
static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps panics of our threads off the screen: their texts go to the caller. Those of others go where they went before.
fn quiet_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let others = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let worker = std::thread::current().name().is_some_and(|name| name.starts_with("chromaflow-"));
            if worker || INSIDE.with(|depth| *depth.borrow() > 0) {
                lock(&PANICS).push(info.to_string());
            } else {
                others(info);
            }
        }));
    });
}

fn text_of(cause: &(dyn Any + Send)) -> String {
    let said = std::mem::take(&mut *lock(&PANICS));
    let cause = cause.downcast_ref::<&str>().map(ToString::to_string);
    if said.is_empty() { cause.unwrap_or_default() } else { said.join("; ") }
}

/// Runs an entry: no panic leaves it, and what went wrong is kept for this thread.
pub(crate) fn entry(job: impl FnOnce() -> Outcome) -> i32 {
    quiet_panics();
    INSIDE.with(|depth| *depth.borrow_mut() += 1);
    let result = catch_unwind(AssertUnwindSafe(job));
    INSIDE.with(|depth| *depth.borrow_mut() -= 1);
    let failure = match result {
        Ok(Ok(())) => return Status::Ok as i32,
        Ok(Err(failure)) => failure,
        Err(cause) => {
            let text = format!("an error of chromaflow's, please report it: {}", text_of(&*cause));
            Failure::new(Status::Bug, text)
        }
    };
    let status = failure.status as i32;
    LAST.with(|last| *last.borrow_mut() = failure);
    status
}

/// What a handle holds, for one call at a time.
pub struct Handle<T> {
    held: Mutex<T>,
    /// The process that made it.
    process: u32,
}

impl<T> Handle<T> {
    pub(crate) fn new(held: T) -> Self {
        Self { held: Mutex::new(held), process: std::process::id() }
    }

    /// Hands the handle out to the caller.
    pub(crate) fn give(held: T, to: &mut *mut Self) {
        *to = Box::into_raw(Box::new(Self::new(held)));
    }

    /// # Safety
    /// `handle` is null or was given out by [`Handle::give`] and not taken back.
    pub(crate) unsafe fn of<'a>(handle: *const Self, what: &str) -> Result<MutexGuard<'a, T>, Failure> {
        // SAFETY: as the caller promises.
        let Some(handle) = (unsafe { handle.as_ref() }) else {
            return Err(Failure::argument(format!("the {what} is NULL: create it first")));
        };
        if handle.process != std::process::id() {
            let text = format!("the {what} was made before a fork: make another one in this process");
            return Err(Failure::argument(text));
        }
        match handle.held.try_lock() {
            Ok(held) => Ok(held),
            Err(TryLockError::WouldBlock) => Err(Failure::argument(format!(
                "another call is using the {what}: one call at a time on a handle, and none from its own callbacks"
            ))),
            Err(TryLockError::Poisoned(_)) => {
                let text = format!("an earlier error of chromaflow's has broken the {what}: destroy it");
                Err(Failure::new(Status::Bug, text))
            }
        }
    }

    /// Takes the handle back. In a child of the process that made it nothing is freed: its threads are not there.
    ///
    /// # Safety
    /// `handle` is null or was given out by [`Handle::give`] and not taken back.
    pub(crate) unsafe fn take_back(handle: *mut Self) {
        // SAFETY: as the caller promises.
        unsafe {
            if handle.as_ref().is_some_and(|h| h.process == std::process::id()) {
                drop(Box::from_raw(handle));
            }
        }
    }
}

/// The place for a result.
///
/// # Safety
/// `slot` is null or points to a value that nobody else uses.
pub(crate) unsafe fn slot<'a, T>(slot: *mut T, what: &str) -> Result<&'a mut T, Failure> {
    // SAFETY: as the caller promises.
    unsafe { slot.as_mut() }.ok_or_else(|| Failure::argument(format!("{what} is NULL: give a place for it")))
}

/// A struct that the caller lends.
///
/// # Safety
/// `lent` is null or points to a value that nobody changes meanwhile.
pub(crate) unsafe fn lent<'a, T>(lent: *const T, what: &str) -> Result<&'a T, Failure> {
    // SAFETY: as the caller promises.
    unsafe { lent.as_ref() }.ok_or_else(|| Failure::argument(format!("{what} is NULL")))
}

/// A struct that the caller lends, as he knows it: members that his header does not have yet are zero.
///
/// # Safety
/// `lent` is null or points to a struct of a header of this interface, whose first member is its size, and which nobody changes
/// meanwhile; zeros are a value of T.
pub(crate) unsafe fn versioned<T: Copy>(lent: *const T, least: usize, what: &str) -> Result<T, Failure> {
    // SAFETY: every such struct begins with its size.
    let size = *unsafe { self::lent(lent.cast::<usize>(), what) }?;
    check_least(what, size, least)?;
    let mut own = std::mem::MaybeUninit::<T>::zeroed();
    // SAFETY: the caller's struct has `size` bytes, ours as many as T; zeros complete it.
    unsafe {
        lent.cast::<u8>().copy_to_nonoverlapping(own.as_mut_ptr().cast(), size.min(size_of::<T>()));
        Ok(own.assume_init())
    }
}

/// Refuses structs of a header that never was.
pub(crate) fn check_size<T>(what: &str, size: usize) -> Outcome {
    check_least(what, size, size_of::<T>())
}

fn check_least(what: &str, size: usize, expected: usize) -> Outcome {
    if size >= expected {
        return Ok(());
    }
    Err(Failure::argument(format!("{what}.size is {size}: set it to sizeof({what}), {expected} at least")))
}

/// The text of this thread's last error.
///
/// # Safety
/// `buf` is null or has room for `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chromaflow_error_text(buf: *mut c_char, len: usize) -> usize {
    LAST.with(|last| {
        let last = last.borrow();
        if !buf.is_null() && len > 0 {
            let mut end = last.text.len().min(len - 1);
            while !last.text.is_char_boundary(end) {
                end -= 1;
            }
            // SAFETY: `end` < `len` bytes, and the NUL after them.
            unsafe {
                buf.cast::<u8>().copy_from_nonoverlapping(last.text.as_ptr(), end);
                buf.add(end).write(0);
            }
        }
        last.text.len()
    })
}

/// Block row and column that it is about.
///
/// # Safety
/// Each is null or points to a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chromaflow_error_place(row: *mut i64, col: *mut i64) {
    let place = LAST.with(|last| last.borrow().place);
    // SAFETY: as the caller promises.
    unsafe {
        if let Some(row) = row.as_mut() {
            *row = place.0;
        }
        if let Some(col) = col.as_mut() {
            *col = place.1;
        }
    }
}
