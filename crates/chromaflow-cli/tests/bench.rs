//! `chromaflow bench ilu` through the binary: concatenated systems, and the block ILU paper's figures on small grids.

mod common;

use common::chromaflow;
use serde_json::Value;
use std::path::Path;

/// Runs it for small systems; what it prints, and what it writes as JSON.
#[track_caller]
fn ilu(folder: &Path, args: &[&str]) -> (String, Value) {
    let fixed = ["--threads", "2", "--json", "r.json", "bench", "ilu", "--budget", "0"];
    let (status, printed, message) = chromaflow(folder, &[&fixed[..], args].concat());
    assert_eq!(status, 0, "{args:?}: {message}");
    (printed, serde_json::from_str(&std::fs::read_to_string(folder.join("r.json")).unwrap()).unwrap())
}

/// |x| of the applied right-hand side by engine.
#[track_caller]
fn norms(folder: &Path, case: &str) -> Vec<f64> {
    let (_, result) = ilu(folder, &["--case", case, "--engine", "reference,cpu,general"]);
    let records = result["records"].as_array().unwrap();
    let applies = records.iter().filter(|r| r["op"] == "ilu0_apply");
    applies.map(|r| r["check"].as_f64().unwrap()).collect()
}

#[test]
fn concatenated_systems_add_their_squares_on_every_engine() {
    let folder = tempfile::tempdir().unwrap();
    let [four, six, both] =
        ["grid7:5,4,3:4", "grid7:5,4,3:6", "grid7:5,4,3:4+6"].map(|case| norms(folder.path(), case));
    assert_eq!(both.len(), 3);
    for ((four, six), both) in four.iter().zip(&six).zip(&both) {
        assert!((four.hypot(*six) - both).abs() < 1e-13 * both, "{four} {six} {both}");
    }
}

#[test]
fn figures_have_every_grid_and_engine() {
    let folder = tempfile::tempdir().unwrap();
    let (printed, result) =
        ilu(folder.path(), &["--figure", "9", "--sizes", "2,3", "--engine", "reference,cpu"]);
    assert_eq!(printed.matches("| `grid7:").count(), 4);
    assert!(printed.contains("| `grid7:3,3,3:6` | 27 | cpu |"), "{printed}");
    let domains = result["figures"]["figure_9"].as_array().unwrap();
    assert_eq!(domains.len(), 2);
    for domain in domains {
        // The paper's text has times for 65^3 cells alone.
        assert_eq!(domain["paper_ns_per_cell"].as_object().unwrap().len(), 0);
        for engine in ["reference", "cpu"] {
            let ns = |part: &str| domain["ns_per_cell"][engine][part].as_f64().unwrap();
            let sum = ns("factor") + 4.0 * ns("solve") + 3.0 * ns("residual");
            assert!(sum > 0.0 && (ns("overall") - sum).abs() < 1e-9 * sum);
        }
    }
    let few = ["--figure", "10", "--sizes", "4,6,10,32", "--work", "8000", "--engine", "cpu"];
    let (_, result) = ilu(folder.path(), &few);
    let domains = result["figures"]["figure_10"].as_array().unwrap();
    let cases: Vec<&str> = domains.iter().map(|d| d["case"].as_str().unwrap()).collect();
    let expected = ["grid7:8,8,8:4", "grid7:6,6,6:6", "grid7:4,4,4:4+6", "grid7:2,2,2:4+4+4+4+4+4+4+4"];
    assert_eq!(cases, expected);
}

#[test]
fn what_figures_cannot_be_made_of_is_told() {
    let folder = tempfile::tempdir().unwrap();
    for (args, part) in [
        (&["--figure", "8"][..], "expected 9 or 10"),
        (&["--figure", "10", "--sizes", "7"], "even n from 4 on"),
        (&["--figure", "9", "--sizes", "x"], "expected numbers"),
        (&["--figure", "9", "--engine", "library"], "not library"),
        (&["--figure", "9", "--case", "grid7:2,2,2:6"], "cannot be used with"),
        (&[], "required"),
    ] {
        let (status, _, message) = chromaflow(folder.path(), &[&["bench", "ilu"], args].concat());
        assert_eq!(status, 2, "{message}");
        assert!(message.contains(part), "{args:?}: {message}");
    }
}
