//! Bad matrices, through the binary: a clear message, the right exit status, no solution half-written.

mod common;

use common::chromaflow;

const GOOD: &str = "%%MatrixMarket matrix coordinate real general\n4 4 8\n\
                    1 1 4\n2 2 4\n3 3 4\n4 4 4\n1 3 -1\n3 1 -1\n2 4 -1\n4 2 -1\n";

/// Solves with a matrix and more arguments; status and message.
fn solve(matrix: &str, more: &[&str]) -> (i32, String) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.mtx"), matrix).unwrap();
    let mut args = vec!["-q", "--threads", "1", "solve", "a.mtx", "--solution", "x.mtx"];
    args.extend(more);
    let (status, _, message) = chromaflow(folder.path(), &args);
    assert!(status == 0 || !folder.path().join("x.mtx").exists(), "something was written:\n{message}");
    (status, message)
}

#[track_caller]
fn refused(matrix: &str, more: &[&str], parts: &[&str]) {
    let (status, message) = solve(matrix, more);
    assert_eq!(status, 2, "{message}");
    assert!(message.starts_with("error: "), "{message}");
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in:\n{message}");
    }
}

#[test]
fn a_good_one_is_solved() {
    let (status, message) = solve(GOOD, &["--block-size", "2", "--rhs", "ones"]);
    assert_eq!(status, 0, "{message}");
}

/// Sweeps that run away leave no numbers, which are no solution; a file of one stays as it was.
#[test]
fn a_solution_of_nan_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let matrix = GOOD.replace("1 3 -1", "1 3 -1e300").replace("3 1 -1", "3 1 -1e300");
    let matrix = matrix.replace("3 3 4", "3 3 4e-200");
    std::fs::write(folder.join("a.mtx"), matrix).unwrap();
    std::fs::write(folder.join("x.mtx"), "as it was").unwrap();
    let words = "solve a.mtx --block-size 1 --method multicolor --policy d --rhs ones --solution x.mtx";
    let (status, _, message) = chromaflow(folder, &words.split(' ').collect::<Vec<_>>());
    assert_eq!(status, 1, "{message}");
    assert!(message.contains("note: x.mtx is not written: the solution has "), "{message}");
    assert_eq!(std::fs::read_to_string(folder.join("x.mtx")).unwrap(), "as it was");
}

/// A matrix that f32 has nothing of: policies in less say so, `d` solves.
#[test]
fn entries_below_f32() {
    let small = |power: i32| {
        let scaled = |line: &str| {
            if line.split(' ').count() == 3 && !line.starts_with("4 4 8") {
                format!("{line}e{power}")
            } else {
                line.to_owned()
            }
        };
        GOOD.lines().map(scaled).collect::<Vec<_>>().join("\n") + "\n"
    };
    for method in ["multicolor", "gmres", "ilu0"] {
        for policy in ["ds", "dsh"] {
            let more = ["--block-size", "1", "--rhs", "ones", "--method", method, "--policy", policy];
            refused(
                &small(-200),
                &more,
                &["a.mtx", "block row 0, block column 0", "is 4e-200", "take policy d"],
            );
            assert_eq!(solve(&small(-20), &more).0, 0, "{method} {policy}");
        }
        let (status, message) =
            solve(&small(-200), &["--block-size", "1", "--rhs", "ones", "--method", method, "--policy", "d"]);
        assert_eq!(status, 0, "{message}");
    }
}

/// A byte order mark, as editors put it before a text.
#[test]
fn a_byte_order_mark() {
    let (status, message) = solve(&format!("\u{feff}{GOOD}"), &["--block-size", "2", "--rhs", "ones"]);
    assert_eq!(status, 0, "{message}");
}

#[test]
fn nan() {
    refused(&GOOD.replace("1 3 -1", "1 3 nan"), &["--block-size", "2"], &["a.mtx", "line 7", "NaN"]);
}

#[test]
fn a_zero_diagonal_block() {
    let matrix = GOOD.replace("3 3 4", "3 3 0").replace("4 4 4", "4 4 0");
    let blocks = ["--block-size", "2", "--rhs", "ones"];
    let sweeps = [&blocks[..], &["--precond", "multicolor"]].concat();
    refused(&matrix, &sweeps, &["1 diagonal blocks", "block row 2 (rows 3 to 4)", "its own equation"]);
    // Elimination fills it.
    let (status, message) = solve(&matrix, &blocks);
    assert_eq!(status, 0, "{message}");
}

/// Rows are those of the file, from 1, and a pivot is told from a block of the matrix.
#[test]
fn a_zero_pivot_and_a_missing_diagonal() {
    let head = "%%MatrixMarket matrix coordinate real general\n";
    let pivot = format!("{head}3 3 7\n1 1 1\n1 2 1\n2 1 1\n2 2 1\n2 3 1\n3 2 1\n3 3 1\n");
    refused(
        &pivot,
        &[],
        &["1 pivots of block ILU have no inverse, the first in row 2", "--precond multicolor"],
    );
    let (status, message) = solve(&pivot, &["--precond", "multicolor"]);
    assert_eq!(status, 0, "{message}");
    refused(
        &format!("{head}3 3 3\n1 1 1\n2 3 1\n3 3 1\n"),
        &[],
        &["row 2 has no diagonal block", "--block-size"],
    );
}

#[test]
fn outputs_are_written_over_nothing_else() {
    refused(GOOD, &["--history", "./a.mtx"], &["--history would be written over the matrix", "a.mtx"]);
    refused(GOOD, &["--json", "a.mtx"], &["--json would be written over the matrix"]);
    refused(GOOD, &["--history", "x.mtx"], &["--history would be written over --solution"]);
}

/// What a program that gives its diagonal apart could do is nothing that a file can.
#[test]
fn no_diagonal_blocks_at_all() {
    let matrix = "%%MatrixMarket matrix coordinate real general\n4 4 4\n1 3 -1\n3 1 -1\n2 4 -1\n4 2 -1\n";
    refused(matrix, &["--block-size", "2"], &["a.mtx", "no row has a diagonal block", "number unknowns"]);
}

#[test]
fn no_rows() {
    let (status, message) = solve("%%MatrixMarket matrix coordinate real general\n0 0 0\n", &[]);
    assert_eq!(status, 0, "{message}");
}

#[test]
fn not_square() {
    refused(&GOOD.replace("4 4 8", "4 6 8"), &["--block-size", "2"], &["square"]);
}

#[test]
fn a_block_size_that_does_not_divide() {
    refused(GOOD, &["--block-size", "3"], &["3", "4"]);
}

#[test]
fn a_truncated_file() {
    refused(&GOOD[..GOOD.len() - 10], &["--block-size", "2"], &["a.mtx"]);
}

#[test]
fn an_unwritable_solution() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.mtx"), GOOD).unwrap();
    let args = ["-q", "solve", "a.mtx", "--block-size", "2", "--rhs", "ones", "--solution", "no/x.mtx"];
    let (status, _, message) = chromaflow(folder.path(), &args);
    assert_eq!(status, 3, "{message}");
    assert!(message.contains("no/x.mtx"), "{message}");
}
