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

/// A matrix from a file, in every order: the factors of ILU(1) of an arrow matrix are its LU, whose apply is the solution.
#[test]
fn matrices_from_files_are_factored_with_fill() {
    let folder = tempfile::tempdir().unwrap();
    // Row 1 couples with all others: natural order fills the rest. x = 1, 2, 3, 4.
    let entries = "1 1 4\n1 2 1\n1 3 1\n1 4 1\n2 1 1\n2 2 2\n3 1 1\n3 3 2\n4 1 1\n4 4 2\n";
    let text = format!("%%MatrixMarket matrix coordinate real general\n4 4 10\n{entries}");
    std::fs::write(folder.path().join("a.mtx"), text).unwrap();
    let b = "%%MatrixMarket matrix array real general\n4 1\n13\n5\n7\n9\n";
    std::fs::write(folder.path().join("a_b.mtx"), b).unwrap();
    for (order, fill) in [("natural", "1"), ("rcm", "1"), ("multicolor", "2")] {
        let words = ["--matrix", "a.mtx", "--engine", "reference,cpu", "--order", order, "--fill", fill];
        let (_, result) = ilu(folder.path(), &words);
        let records = result["records"].as_array().unwrap();
        assert_eq!(records[0]["op"], format!("ilu{fill}_factor"));
        for apply in [&records[1], &records[3]] {
            assert_eq!(
                (apply["case"].as_str(), apply["op"].as_str().unwrap()),
                (Some("a.mtx"), &*format!("ilu{fill}_apply"))
            );
            assert!((apply["check"].as_f64().unwrap() - 30f64.sqrt()).abs() < 1e-13, "{order} {apply}");
        }
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
fn what_figures_cannot_be_made_of_is_told() {
    let folder = tempfile::tempdir().unwrap();
    for (args, part) in [
        (&["--figure", "8"][..], "expected 9 or 10"),
        (&["--figure", "10", "--sizes", "7"], "even n from 4 on"),
        (&["--table", "2"], "expected 1"),
        (&["--table", "1", "--sizes", "7,8"], "cells along i, j, k"),
        (&["--table", "1", "--engine", "cl", "--policy", "ds"], "policy d alone"),
        (&["--case", "grid7:2,2,2:6", "--sizes", "7"], "goes with"),
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
