//! `chromaflow bench` through the binary: concatenated systems, matrices from files, what is refused.

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
fn flags_that_would_do_nothing_are_told() {
    let folder = tempfile::tempdir().unwrap();
    for (args, part) in [
        (&["ilu"][..], "required"),
        (&["ilu", "--case", "grid7:2,2,2:2", "--copies", "2"], "--copies goes with engines acc, cl and cuda"),
        (&["ilu", "--case", "grid7:2,2,2:2", "--policy", "ds", "--engine", "library"], "--policy d"),
        (&["ilu", "--case", "grid7:2,2,2:2", "--engine", "both"], "possible values"),
        (&["tridiag", "--case", "btri:4,4:2", "--destroy"], "--destroy goes with engine cuda"),
        (&["tridiag", "--case", "btri:4,4:2", "--engine", "acc"], "possible values: cpu, cuda, library"),
    ] {
        let (status, _, message) = chromaflow(folder.path(), &[&["bench"], args].concat());
        assert_eq!(status, 2, "{args:?}: {message}");
        assert!(message.contains(part), "{args:?}: {message}");
    }
}
