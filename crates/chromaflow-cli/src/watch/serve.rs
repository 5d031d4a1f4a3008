//! `watch --serve`: the run as a page that refreshes itself, for browsers on this machine only.

use super::state::State;
use crate::error::{CliError, CliResult, Done};
use crate::report;
use serde_json::json;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

/// Answers until Ctrl-C.
///
/// # Errors
/// Status 3 for a port that is taken.
pub fn serve(folder: &Path, port: u16) -> CliResult {
    let listener = TcpListener::bind(("127.0.0.1", port)).map_err(|e| {
        CliError::environment(format!("cannot listen at port {port}: {e}; choose another with --port"))
    })?;
    let at = listener.local_addr().map_or(port, |a| a.port());
    println!("http://127.0.0.1:{at}/  (Ctrl-C ends it)");
    let _ = std::io::stdout().flush();
    for stream in listener.incoming() {
        // A browser that goes away in the middle is no trouble of ours.
        let _ = stream.and_then(|stream| answer(stream, folder));
    }
    Ok(Done::Success)
}

/// Reads a request's first line and answers it.
fn answer(mut stream: TcpStream, folder: &Path) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut line = String::new();
    BufReader::new(std::io::Read::take(&stream, 4096)).read_line(&mut line)?;
    let (status, kind, body) = match line.split_whitespace().nth(1) {
        Some("/") => ("200 OK", "text/html; charset=utf-8", report::live_page()),
        Some("/state") => match State::read(folder) {
            Ok(state) => ("200 OK", "application/json", facts(&state)),
            Err(error) => ("404 Not Found", "text/plain", error.to_string()),
        },
        _ => ("404 Not Found", "text/plain", "nothing here".to_owned()),
    };
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

fn facts(state: &State) -> String {
    let rows: Vec<_> = state
        .rows
        .iter()
        .map(|r| {
            json!([
                r.iteration,
                r.time_step,
                r.residual[0],
                r.momentum(),
                r.residual[4],
                r.forces[0],
                r.forces[1],
                r.cfl
            ])
        })
        .collect();
    json!({
        "title": state.title, "running": state.running, "outcome": state.outcome, "names": state.equations.names(),
        "fallen": state.fallen(), "orders": state.orders, "most": state.most, "rows": rows,
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::history::{self, Equations, Row};
    use std::io::Read;

    #[test]
    fn the_page_and_the_state_are_served() {
        let dir = tempfile::tempdir().unwrap();
        let rows = [Row { iteration: 1, residual: [0.5; 5], ..Row::default() }];
        history::write(&dir.path().join("history.csv"), Equations::Compressible, &[], &rows).unwrap();
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let at = listener.local_addr().unwrap();
        let ask = |path: &str| {
            let mut client = TcpStream::connect(at).unwrap();
            write!(client, "GET {path} HTTP/1.1\r\n\r\n").unwrap();
            answer(listener.accept().unwrap().0, dir.path()).unwrap();
            let mut text = String::new();
            let _ = client.read_to_string(&mut text);
            text
        };
        assert!(ask("/").contains("<!DOCTYPE html>"));
        let state = ask("/state");
        let body: serde_json::Value = serde_json::from_str(state.split("\r\n\r\n").nth(1).unwrap()).unwrap();
        assert_eq!((body["rows"][0][2].as_f64(), body["running"].as_bool()), (Some(0.5), Some(false)));
        assert!(ask("/../etc/passwd").starts_with("HTTP/1.1 404"));
    }
}
