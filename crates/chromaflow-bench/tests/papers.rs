//! `chromaflow-papers` through the binary: the block ILU paper's figures and table on small grids, what is refused.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Status, standard output and standard error with these arguments, run in `folder`.
fn papers(folder: &Path, args: &[&str]) -> (i32, String, String) {
    let run = Command::new(env!("CARGO_BIN_EXE_chromaflow-papers"))
        .args(args)
        .current_dir(folder)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (run.status.code().unwrap_or(-1), text(&run.stdout), text(&run.stderr))
}

/// What `ilu` prints, and what it writes as JSON.
#[track_caller]
fn ilu(folder: &Path, args: &[&str]) -> (String, Value) {
    let fixed = ["--threads", "2", "--json", "r.json", "ilu", "--budget", "0"];
    let (status, printed, message) = papers(folder, &[&fixed[..], args].concat());
    assert_eq!(status, 0, "{args:?}: {message}");
    (printed, serde_json::from_str(&std::fs::read_to_string(folder.join("r.json")).unwrap()).unwrap())
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
fn sums_of_squares_of_a_flows_system_agree_to_eleven_digits() {
    let folder = tempfile::tempdir().unwrap();
    let (printed, result) = ilu(folder.path(), &["--table", "1", "--sizes", "9,7,8", "--engine", "cpu"]);
    assert!(printed.contains("n = 6, 9 x 7 x 8"), "{printed}");
    let table = &result["figures"]["table_1"];
    let squares = |list: &serde_json::Value| -> Vec<f64> {
        list.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
    };
    let (expected, found) = (squares(&table["sequential"]), squares(&table["engines"]["cpu"]));
    assert_eq!((expected.len(), found.len()), (20, 20));
    assert!(expected[19] < 1e-6 * expected[0]);
    for (found, square) in found.iter().zip(&expected) {
        // A residual r is rounded like the first one, which moves its square by 2 |r| |r_0| eps.
        let rounding = 2.0 * f64::EPSILON * (square * expected[0]).sqrt();
        assert!((found - square).abs() < 1e-11 * square + rounding, "{found} {square}");
    }
}

/// Factors in f16 change what a step leaves in the fourth digit, and cost no step.
#[test]
fn narrow_factors_cost_no_steps() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["--table", "1", "--sizes", "9,7,8", "--engine", "cpu", "--policy", "dsh"];
    let (_, result) = ilu(folder.path(), &words);
    let table = &result["figures"]["table_1"];
    let (expected, found) = (&table["sequential"], &table["engines"]["cpu"]);
    let off = |step: usize| found[step].as_f64().unwrap() / expected[step].as_f64().unwrap() - 1.0;
    let largest = (0..20).map(|step| off(step).abs()).fold(0.0, f64::max);
    assert!(largest > 1e-6 && largest < 5e-3, "{largest}");
}

#[test]
fn tables_of_line_systems_are_the_papers_formulas() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["--json", "r.json", "tridiag", "--table", "1", "--sizes", "16"];
    let (status, printed, message) = papers(folder.path(), &words);
    assert_eq!(status, 0, "{message}");
    assert!(printed.contains("| 16 | thomas | 16 | 16 |"), "{printed}");
}

#[test]
fn a_step_on_a_grid_is_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let (status, printed, message) =
        papers(folder.path(), &["grid", "--case", "box:6,4,5", "--repeats", "1"]);
    assert_eq!(status, 0, "{message}");
    assert!(printed.contains("RES,chromaflow-cpu") && printed.contains("| part | ms |"), "{printed}");
}

#[test]
fn what_cannot_be_made_is_told() {
    let folder = tempfile::tempdir().unwrap();
    for (args, part) in [
        (&["ilu", "--figure", "8"][..], "expected 9 or 10"),
        (&["ilu", "--figure", "10", "--sizes", "7"], "even n from 4 on"),
        (&["ilu", "--table", "2"], "expected 1"),
        (&["ilu", "--table", "1", "--sizes", "7,8"], "cells along i, j, k"),
        (&["ilu", "--table", "1", "--engine", "cl", "--policy", "ds"], "policy d alone"),
        (&["ilu", "--case", "grid7:2,2,2:6", "--tune", "--sizes", "7"], "cannot be used with"),
        (&["ilu", "--case", "grid7:2,2,2:6"], "required"),
        (&["ilu", "--case", "kuhn:2,2,2:6", "--tune"], "take grid7"),
        (&["ilu", "--figure", "9", "--sizes", "x"], "expected numbers"),
        (&["ilu", "--figure", "9", "--engine", "library"], "possible values"),
        (&["ilu", "--figure", "9", "--policy", "ds"], "cannot be used with"),
        (&["ilu"], "required"),
        (&["tridiag", "--figure", "3"], "expected 1 or 2"),
        (&["tridiag"], "required"),
        (&["multicolor", "--table", "5"], "expected 3 or 4"),
        (&["multicolor"], "nothing to do"),
    ] {
        let (status, _, message) = papers(folder.path(), args);
        assert_eq!(status, 2, "{args:?}: {message}");
        assert!(message.contains(part), "{args:?}: {message}");
    }
}
