//! Every option as JSON.

use crate::comm;
use crate::context;
use crate::lines;
use chromaflow::SolverOptions;
use chromaflow::solver::OptionKind;
use std::ffi::{CString, c_char};
use std::fmt::Write;
use std::sync::OnceLock;

/// An option of a handle that is no solver: name, values, default, help.
pub(crate) type Plain = (&'static str, &'static str, &'static str, &'static str);

fn object(out: &mut String, (name, values, default, help): (&str, &str, &str, &str)) {
    let quoted = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    let [name, values, default, help] = [name, values, default, help].map(quoted);
    let _ =
        write!(out, "{{\"name\": {name}, \"values\": {values}, \"default\": {default}, \"help\": {help}}}");
}

fn text() -> String {
    let solver: Vec<(&str, String, String, &str)> = (SolverOptions::keys().iter())
        .map(|k| {
            let values = match k.kind {
                OptionKind::Word(words) => words.to_owned(),
                other => other.to_string(),
            };
            (k.name, values, k.default(), k.help)
        })
        .collect();
    let list = |of: &[(&str, String, String, &str)]| {
        let mut out = String::new();
        for (at, (name, values, default, help)) in of.iter().enumerate() {
            out.push_str(if at == 0 { "\n    " } else { ",\n    " });
            object(&mut out, (name, values, default, help));
        }
        out
    };
    let owned = |of: &[Plain]| {
        list(&of.iter().map(|p| (p.0, p.1.to_owned(), p.2.to_owned(), p.3)).collect::<Vec<_>>())
    };
    let (context, solver, lines) = (owned(context::OPTIONS), list(&solver), owned(lines::OPTIONS));
    let comm = owned(comm::OPTIONS);
    format!(
        "{{\n  \"context\": [{context}],\n  \"solver\": [{solver}],\n  \"lines\": [{lines}],\n  \"comm\": [{comm}]\n}}\n"
    )
}

/// Every option with its values, default and help.
#[unsafe(no_mangle)]
pub extern "C" fn chromaflow_options() -> *const c_char {
    static TEXT: OnceLock<CString> = OnceLock::new();
    TEXT.get_or_init(|| CString::new(text()).unwrap_or_default()).as_ptr()
}

/// The number of the interface and the release.
///
/// # Safety
/// Each is null or points to a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn chromaflow_version(
    api: *mut i32,
    major: *mut i32,
    minor: *mut i32,
    patch: *mut i32,
) {
    let mut release = env!("CARGO_PKG_VERSION").split('.').map(|part| part.parse().unwrap_or(0));
    let numbers = [1, release.next().unwrap_or(0), release.next().unwrap_or(0), release.next().unwrap_or(0)];
    for (slot, number) in [api, major, minor, patch].into_iter().zip(numbers) {
        // SAFETY: as the caller promises.
        if let Some(slot) = unsafe { slot.as_mut() } {
            *slot = number;
        }
    }
}
