//! `chromaflow watch`: a run in another terminal, or in a browser, while it runs.

mod chart;
mod screen;
mod serve;
mod state;

use crate::context::Context;
use crate::error::{CliError, CliResult, Done};
use crate::run::control::Orders;
use crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use crossterm::terminal;
use state::State;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

/// Arguments of `chromaflow watch`.
#[derive(clap::Args)]
pub struct Args {
    /// The output folder of a run
    folder: PathBuf,
    /// Print what there is now, and end
    #[arg(long)]
    once: bool,
    /// Show it as a page on this machine instead
    #[arg(long)]
    serve: bool,
    /// Port of that page
    #[arg(long, default_value_t = 8730)]
    port: u16,
}

/// How often the screen is drawn.
const EVERY: Duration = Duration::from_millis(500);

/// Watches until the user has seen enough.
///
/// # Errors
/// Status 2 for a folder without a run, status 3 for a port that is taken.
pub fn run(args: &Args, _ctx: &Context) -> CliResult {
    let state = State::read(&args.folder)?;
    if args.serve {
        return serve::serve(&args.folder, args.port);
    }
    if args.once || !std::io::stdout().is_terminal() {
        let lines = screen::draw(&state, "", (100, 40));
        println!(
            "{}",
            if std::io::stdout().is_terminal() { lines.join("\n") } else { screen::plain(&lines) }
        );
        return Ok(Done::Success);
    }
    let bad = |e: std::io::Error| CliError::environment(format!("cannot use this terminal: {e}"));
    let _terminal = Terminal::take().map_err(bad)?;
    let mut said = String::new();
    loop {
        let state = State::read(&args.folder)?;
        let size = terminal::size().unwrap_or((100, 40));
        screen::show(&screen::draw(&state, &said, (size.0.into(), size.1.into())));
        if !event::poll(EVERY).map_err(bad)? {
            continue;
        }
        let Event::Key(key) = event::read().map_err(bad)? else { continue };
        if key.kind == KeyEventKind::Release {
            continue;
        }
        let end = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
        if end || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc) {
            return Ok(Done::Success);
        }
        if let Some((orders, what)) = order(key.code, &state) {
            orders.give(&args.folder)?;
            said = what;
        }
    }
}

/// What a key tells the run.
fn order(key: KeyCode, state: &State) -> Option<(Orders, String)> {
    let none = Orders::default();
    if !state.running {
        return None;
    }
    let cfl = |factor: f64| {
        let largest = factor * state.rows.last().map_or(1.0, |row| row.cfl);
        (
            Orders { cfl_max: Some(largest), ..Orders::default() },
            format!("asked for CFL numbers up to {largest:.4}"),
        )
    };
    match key {
        KeyCode::Char('s') => Some((Orders { stop: true, ..none }, "asked the run to end".into())),
        KeyCode::Char('c') => Some((Orders { checkpoint: true, ..none }, "asked for a restart file".into())),
        KeyCode::Char('-') => Some(cfl(0.5)),
        KeyCode::Char('+' | '=') => Some(cfl(2.0)),
        KeyCode::Char('m') => {
            let most = state.most? + 100;
            Some((Orders { iterations: Some(most), ..none }, format!("asked for {most} iterations")))
        }
        _ => None,
    }
}

/// The terminal as a dashboard; given back when this goes out of scope.
struct Terminal;

impl Terminal {
    fn take() -> std::io::Result<Self> {
        terminal::enable_raw_mode()?;
        print!("\x1b[?1049h\x1b[?25l"); // the other screen, without a cursor
        Ok(Self)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        print!("\x1b[?25h\x1b[?1049l");
        let _ = terminal::disable_raw_mode();
    }
}
