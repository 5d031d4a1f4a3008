//! Ctrl-C, or SIGTERM as batch systems send it: the first one ends the run after its iteration, with all files written; the second one ends the process.

use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

/// Starts to listen.
pub fn watch() {
    listen(true);
}

/// The same on a rank that another one leads, which decides and speaks.
pub fn watch_quietly() {
    listen(false);
}

fn listen(speak: bool) {
    let handler = move || {
        if ASKED.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        if speak {
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
