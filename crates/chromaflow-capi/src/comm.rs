//! Ranks that have the rows of a matrix together.

use crate::context::{bad_value, pairs, text_of};
use crate::json::Plain;
use crate::status::{Failure, Handle, entry, slot};
use chromaflow_comm::Communicator;
use std::ffi::c_char;
use std::sync::Arc;
use std::time::Duration;

/// Options of communicators.
pub(crate) const OPTIONS: &[Plain] = &[(
    "patience",
    "seconds, more than 0",
    "",
    "how long a rank waits for another one; without it, for ever",
)];

/// `chromaflow_comm`.
pub type Comm = Handle<Arc<dyn Communicator>>;

fn create(mpi: Option<i32>, options: &str) -> Result<Arc<dyn Communicator>, Failure> {
    let mut patience = Duration::MAX;
    for (key, value) in pairs(options, OPTIONS)? {
        let seconds = value.parse().ok().filter(|&s: &f64| s > 0.0);
        let given = seconds.and_then(|s| Duration::try_from_secs_f64(s).ok());
        patience = given.ok_or_else(|| bad_value(key, value, OPTIONS))?;
    }
    #[cfg(unix)]
    return Ok(Arc::new(chromaflow_comm::mpi::Mpi::of_program(mpi, patience)?));
    #[cfg(not(unix))]
    Err(Failure::new(
        crate::status::Status::Unsupported,
        format!("no MPI is known here: {mpi:?}, {patience:?}"),
    ))
}

/// Ranks of MPI.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chromaflow_comm_create(
    mpi: *const i32,
    options: *const c_char,
    made: *mut *mut Comm,
) -> i32 {
    entry(|| {
        // SAFETY: as the header says.
        let (to, options, mpi) = unsafe { (slot(made, "comm")?, text_of(options, "options")?, mpi.as_ref()) };
        *to = std::ptr::null_mut();
        Handle::give(create(mpi.copied(), options)?, to);
        Ok(())
    })
}

/// For callers in Rust, who may have ranks of another kind: a handle that [`chromaflow_comm_destroy`] ends.
pub fn comm_of(ranks: Arc<dyn Communicator>) -> *mut Comm {
    let mut made = std::ptr::null_mut();
    Handle::give(ranks, &mut made);
    made
}

/// This rank, and how many there are.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chromaflow_comm_place(comm: *mut Comm, rank: *mut i32, size: *mut i32) -> i32 {
    entry(|| {
        // SAFETY: as the header says.
        unsafe {
            let own = Handle::of(comm, "communicator")?;
            for (to, number) in [(rank, own.rank()), (size, own.size())] {
                if let Some(to) = to.as_mut() {
                    *to = number as i32;
                }
            }
        }
        Ok(())
    })
}

/// Solvers that were made with them keep what they need of them.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chromaflow_comm_destroy(comm: *mut Comm) {
    entry(|| {
        // SAFETY: as the header says.
        unsafe { Handle::take_back(comm) };
        Ok(())
    });
}
