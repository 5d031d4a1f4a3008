//! Threads or a GPU.

use crate::json::Plain;
use crate::status::{Failure, Handle, Outcome, entry, slot};
use chromaflow::{Team, nearest_word};
#[cfg(feature = "cuda")]
use chromaflow_device::cuda::{Gpu, Stream};
use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::{Arc, Mutex, PoisonError};

/// Options of contexts.
pub(crate) const OPTIONS: &[Plain] = &[
    ("threads", "a whole number from 1", "1", "the caller's thread and others"),
    ("pin", "yes or no", "no", "ties the other threads to a core each"),
    ("device", "a whole number from 0", "", "solvers work on this CUDA device"),
];

/// `CHROMAFLOW_LOG_ERROR` and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Level {
    Error = 0,
    Warning = 1,
    Info = 2,
}

/// `chromaflow_log`.
pub type LogFn = unsafe extern "C" fn(user: *mut c_void, level: i32, text: *const c_char);

/// Whom to tell.
#[derive(Clone, Copy)]
struct Listener {
    level: i32,
    log: LogFn,
    user: *mut c_void,
}

// SAFETY: the header says that the callback is called on whatever thread makes a call.
unsafe impl Send for Listener {}

/// What contexts, solvers and lines share.
pub struct Shared {
    pub(crate) team: Arc<Team>,
    #[cfg(feature = "cuda")]
    pub(crate) stream: Option<Stream>,
    listener: Mutex<Option<Listener>>,
}

impl Shared {
    /// Tells the caller's log; `text` is only made where somebody listens.
    pub(crate) fn log(&self, level: Level, text: impl FnOnce() -> String) {
        let listener = *self.listener.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(to) = listener.filter(|l| level as i32 <= l.level) else { return };
        let text = CString::new(text().replace('\0', " ")).unwrap_or_default();
        // SAFETY: the caller gave this function and what it wants as `user`.
        unsafe { (to.log)(to.user, level as i32, text.as_ptr()) };
    }

    /// Whether solvers work on a GPU.
    pub(crate) fn on_gpu(&self) -> bool {
        #[cfg(feature = "cuda")]
        return self.stream.is_some();
        #[cfg(not(feature = "cuda"))]
        false
    }
}

/// `chromaflow_context`.
pub type Context = Handle<Arc<Shared>>;

/// A string of the caller's; nothing where it is null.
///
/// # Safety
/// `text` is null or ends with NUL.
pub(crate) unsafe fn text_of<'a>(text: *const c_char, what: &str) -> Result<&'a str, Failure> {
    if text.is_null() {
        return Ok("");
    }
    // SAFETY: as the caller promises.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| Failure::argument(format!("{what} is no UTF-8 text")))
}

/// `key=value` pairs with commas between them, each of a key in `known`.
pub(crate) fn pairs<'a>(text: &'a str, known: &[Plain]) -> Result<Vec<(&'static str, &'a str)>, Failure> {
    let split = text.split([',', '\n']).map(str::trim).filter(|pair| !pair.is_empty());
    let pair = |pair: &'a str| {
        let (key, value) = pair.split_once('=').ok_or_else(|| {
            Failure::argument(format!("`{pair}`: expected key=value, and commas between them"))
        })?;
        let (key, value) = (key.trim(), value.trim());
        let found = known.iter().find(|k| k.0 == key).ok_or_else(|| {
            let names = || known.iter().map(|k| k.0);
            let hint = nearest_word(key, names()).map_or(String::new(), |n| format!("; did you mean `{n}`?"));
            let list = names().collect::<Vec<_>>().join(", ");
            Failure::argument(format!("unknown option `{key}`{hint}; known here: {list}"))
        })?;
        Ok((found.0, value))
    };
    split.map(pair).collect()
}

pub(crate) fn bad_value(key: &str, value: &str, known: &[Plain]) -> Failure {
    let expected = known.iter().find(|k| k.0 == key).map_or("", |k| k.1);
    Failure::argument(format!("{key} = `{value}`: expected {expected}"))
}

fn create(options: &str, stream: *mut c_void) -> Result<Arc<Shared>, Failure> {
    let (mut threads, mut pin, mut device) = (1, false, None::<usize>);
    for (key, value) in pairs(options, OPTIONS)? {
        let bad = || bad_value(key, value, OPTIONS);
        match key {
            "threads" => threads = value.parse().ok().filter(|&n| n >= 1).ok_or_else(bad)?,
            "device" => device = Some(value.parse().map_err(|_| bad())?),
            _ => match value {
                "yes" => pin = true,
                "no" => pin = false,
                _ => return Err(bad()),
            },
        }
    }
    if device.is_none() && !stream.is_null() {
        return Err(Failure::argument("a stream without a device: give device=0, or NULL for the stream"));
    }
    let team = Arc::new(if pin { Team::try_pinned(threads) } else { Team::try_new(threads) }?);
    #[cfg(feature = "cuda")]
    {
        let on = |ordinal: usize| -> Result<Stream, Failure> {
            let gpu = Gpu::open(ordinal)?;
            if stream.is_null() {
                return Ok(gpu.stream()?);
            }
            // SAFETY: the header says that it is a stream of the primary context that outlives this.
            Ok(unsafe { Stream::adopt(&gpu, stream) })
        };
        let stream = device.map(on).transpose()?;
        Ok(Arc::new(Shared { team, stream, listener: Mutex::new(None) }))
    }
    #[cfg(not(feature = "cuda"))]
    match device {
        None => Ok(Arc::new(Shared { team, listener: Mutex::new(None) })),
        Some(_) => Err(Failure::new(
            crate::status::Status::Unsupported,
            "this library was built without GPUs: leave device out",
        )),
    }
}

/// Threads, or a GPU.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chromaflow_context_create(
    options: *const c_char,
    stream: *mut c_void,
    context: *mut *mut Context,
) -> i32 {
    entry(|| {
        // SAFETY: as the header says.
        let (to, options) = unsafe { (slot(context, "context")?, text_of(options, "options")?) };
        *to = std::ptr::null_mut();
        Handle::give(create(options, stream)?, to);
        Ok(())
    })
}

/// Tells `log` what happens.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chromaflow_context_log(
    context: *mut Context,
    level: i32,
    log: Option<LogFn>,
    user: *mut c_void,
) -> i32 {
    entry(|| {
        // SAFETY: as the header says.
        let shared = unsafe { Handle::of(context, "context") }?;
        if !(Level::Error as i32..=Level::Info as i32).contains(&level) {
            return Err(Failure::argument(format!(
                "level {level}: expected 0 to 2, CHROMAFLOW_LOG_ERROR and so on"
            )));
        }
        let listener = log.map(|log| Listener { level, log, user });
        *shared.listener.lock().unwrap_or_else(PoisonError::into_inner) = listener;
        Ok(())
    })
}

/// Solvers that were made with it keep what they need of it.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chromaflow_context_destroy(context: *mut Context) {
    entry(|| {
        // SAFETY: as the header says.
        unsafe { Handle::take_back(context) };
        Ok(())
    });
}

/// Runs what a handle of this context does and tells the log when it breaks.
pub(crate) fn logged(shared: &Shared, job: impl FnOnce() -> Outcome) -> Outcome {
    let outcome = job();
    if let Err(failure) = &outcome {
        shared.log(Level::Error, || failure.text.clone());
    }
    outcome
}
