//! Ctrl-C, or SIGTERM as batch systems send it: the first one ends the run after its iteration, with all files written; a later one ends the
//! process. `timeout` and batch systems send theirs to the process and to its group at once: those of the same second are one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

static ASKED: AtomicBool = AtomicBool::new(false);

/// Signals so soon after the first one are the same.
const SAME: Duration = Duration::from_secs(1);

/// Starts to listen.
pub fn watch() {
    listen(true);
}

/// The same on a rank that another one leads, which decides and speaks.
pub fn watch_quietly() {
    listen(false);
}

fn listen(speak: bool) {
    let mut first = None;
    let handler = move || {
        if first.get_or_insert_with(Instant::now).elapsed() > SAME {
            std::process::exit(130);
        }
        if !ASKED.swap(true, Ordering::Relaxed) && speak {
            eprintln!("\nending after this iteration (once more to end at once)");
        }
    };
    // A second listener is refused: then the first one serves.
    let _ = ctrlc::set_handler(handler);
}

/// Whether the run is to end.
pub fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}
