//! `chromaflow solve` from the outside: exit statuses, JSON, files.

use chromaflow::sparse::io::{read_vector, write_matrix};
use chromaflow::{BlockCsr, BlockPattern};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

struct Run {
    status: i32,
    error: String,
    json: serde_json::Value,
}

fn solve(folder: &Path, args: &str) -> Run {
    let json = folder.join("out.json");
    let _ = std::fs::remove_file(&json);
    let output = Command::new(env!("CARGO_BIN_EXE_chromaflow"))
        .current_dir(folder)
        .env_remove("CHROMAFLOW_OPTIONS")
        .args(["solve", "--threads", "2", "--quiet", "--json", "out.json"])
        .args(args.split_whitespace())
        .output()
        .expect("the binary runs");
    assert!(output.stdout.is_empty(), "--quiet prints nothing");
    let text = std::fs::read_to_string(&json).unwrap_or_else(|_| "null".into());
    Run {
        status: output.status.code().expect("no signal"),
        error: String::from_utf8_lossy(&output.stderr).into_owned(),
        json: serde_json::from_str(&text).expect("valid JSON"),
    }
}

/// A chain of 50 rows of 2 x 2 blocks; `diagonal` decides whether sweeps converge.
fn chain(diagonal: f64) -> BlockCsr {
    let mut row_ptr = vec![0];
    let mut col_idx = Vec::new();
    for row in 0..50_u32 {
        col_idx.extend(row.saturating_sub(1)..(row + 2).min(50));
        row_ptr.push(col_idx.len() as u32);
    }
    let pattern = BlockPattern::new(50, row_ptr, col_idx).unwrap();
    let mut values = Vec::new();
    for row in 0..50 {
        for &col in pattern.columns(row) {
            let d = if col as usize == row { diagonal } else { -1.0 };
            values.extend([d, 0.25, 0.0, d]);
        }
    }
    BlockCsr::new(pattern, 2, values).unwrap()
}

#[test]
fn a_solve_reports_and_writes() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_matrix(&at.join("a.petsc.gz"), &chain(4.0), Some(&[1.0; 100])).unwrap();
    let run = solve(at, "a.petsc.gz --precond multicolor --solution x.mtx.xz --history h.csv --tol 1e-12");
    assert_eq!((run.status, run.error.as_str()), (0, ""));
    for key in [
        "outcome",
        "iterations",
        "relative_residual",
        "solution_norm",
        "rows",
        "block_size",
        "colors",
        "time_s",
    ] {
        assert!(!run.json[key].is_null(), "{key}");
    }
    assert_eq!(run.json["outcome"], "converged");
    assert_eq!(
        (&run.json["rows"], &run.json["block_size"], &run.json["colors"]),
        (&50.into(), &2.into(), &2.into())
    );
    let x = read_vector(&at.join("x.mtx.xz")).unwrap();
    let norm = x.iter().map(|v| v * v).sum::<f64>().sqrt();
    assert!((norm - run.json["solution_norm"].as_f64().unwrap()).abs() < 1e-12 * norm);
    let history = std::fs::read_to_string(at.join("h.csv")).unwrap();
    let iterations = run.json["iterations"].as_u64().unwrap() as usize;
    assert_eq!(
        history.lines().count(),
        iterations + 2,
        "a header, the first residual, one line an iteration"
    );
    for method in ["multicolor", "jacobi", "ilu0", "bicgstab", "gmres --precond ilu0"] {
        for policy in ["d", "ds", "dsh"] {
            let run =
                solve(at, &format!("a.petsc.gz --rhs known --method {method} --policy {policy} --tol 1e-11"));
            assert_eq!((run.status, &run.json["outcome"]), (0, &"converged".into()), "{method} {policy}");
            assert!(run.json["solution_error"].as_f64().unwrap() < 1e-9, "{method} {policy}");
        }
    }
}

#[test]
fn block_ilu_in_every_order_with_every_fill() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let team = chromaflow::Team::new(1);
    let (mut x, n) = (Vec::new(), 400_usize);
    // A grid of 20 x 20 cells, each coupled to its four neighbors.
    let (mut row_ptr, mut col_idx, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..n {
        let (r, c) = (i / 20, i % 20);
        let neighbors = [
            (r > 0, i.wrapping_sub(20)),
            (c > 0, i.wrapping_sub(1)),
            (true, i),
            (c < 19, i + 1),
            (r < 19, i + 20),
        ];
        for (_, j) in neighbors.into_iter().filter(|&(inside, _)| inside) {
            col_idx.push(j as u32);
            values.push(if i == j { 4.2 + (i as f64).sin() / 8.0 } else { -1.0 });
        }
        row_ptr.push(col_idx.len() as u32);
        x.push(1.0);
    }
    let pattern = chromaflow::BlockPattern::new(n, row_ptr, col_idx).unwrap();
    let a = chromaflow::BlockCsr::new(pattern, 1, values).unwrap();
    let mut b = vec![0.0; n];
    a.multiply(&team, &x, &mut b);
    write_matrix(&at.join("a.petsc"), &a, Some(&b)).unwrap();
    let count = |args: &str| {
        let run = solve(at, &format!("a.petsc --policy d --tol 1e-10 {args}"));
        assert_eq!((run.status, &run.json["outcome"]), (0, &"converged".into()), "{args}: {}", run.error);
        assert!((run.json["solution_norm"].as_f64().unwrap() - 20.0).abs() < 1e-7, "{args}");
        run.json["iterations"].as_u64().unwrap()
    };
    for order in ["natural", "rcm", "multicolor"] {
        let fill = |fill: &str| count(&format!("--precond ilu0 --order {order} --fill {fill}"));
        let counts = [fill("diagonal"), fill("0"), fill("1"), fill("4"), fill("400")];
        assert!(counts.is_sorted_by(|a, b| a >= b), "{order}: {counts:?}");
        assert_eq!(counts[4], 1, "{order}: with all its fill it is LU");
        assert!(
            count(&format!("--method ilu0 --order {order}"))
                > count(&format!("--method ilu0 --order {order} --fill 2"))
        );
        let fixed = solve(at, &format!("a.petsc --method ilu0 --sweeps 3 --order {order}"));
        assert_eq!((fixed.status, &fixed.json["iterations"]), (0, &3.into()), "{order}");
    }
    assert!(count("--precond ilu0 --order multicolor") > count("--precond ilu0 --order natural"));
}

#[test]
fn short_outcomes_are_status_1() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_matrix(&at.join("a.mtx"), &chain(4.0), None).unwrap();
    write_matrix(&at.join("bad.mtx"), &chain(0.4), None).unwrap();
    let fixed = solve(at, "a.mtx --method multicolor --sweeps 3");
    assert_eq!((fixed.status, &fixed.json["iterations"]), (0, &3.into()), "all sweeps that were asked for");
    let short = solve(at, "a.mtx --method multicolor --tol 1e-12 --max-iterations 3");
    assert_eq!((short.status, &short.json["outcome"]), (1, &"iteration_limit".into()));
    let diverged = solve(at, "bad.mtx --method jacobi --sweeps 200");
    assert_eq!((diverged.status, &diverged.json["outcome"]), (1, &"diverged".into()));
}

#[test]
fn bad_input_is_status_2_and_an_unwritable_folder_3() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let market = |name: &str, body: &str| {
        let text = format!("%%MatrixMarket matrix coordinate real general\n{body}");
        std::fs::write(at.join(name), text).unwrap();
    };
    market("nan.mtx", "2 2 2\n1 1 1\n2 2 nan\n");
    market("wide.mtx", "1 2 2\n1 1 1\n1 2 1\n");
    market("zero.mtx", "2 2 3\n1 1 1\n1 2 5\n2 2 0\n");
    market("hole.mtx", "2 2 2\n1 1 1\n1 2 1\n");
    market("cut.mtx", "2 2 2\n1 1 1\n");
    market("fine.mtx", "3 3 3\n1 1 1\n2 2 1\n3 3 1\n");
    for (args, words) in [
        ("nan.mtx", "row 2, column 2 is NaN"),
        ("wide.mtx", "square"),
        ("zero.mtx --block-size 1", "pivots of block ILU have no inverse, the first in row 2"),
        (
            "zero.mtx --block-size 1 --precond multicolor",
            "diagonal blocks have no inverse, the first in row 2",
        ),
        ("hole.mtx --block-size 1", "row 2 has no diagonal block"),
        ("cut.mtx", "1 of 2 entries"),
        ("fine.mtx --block-size 2", "sizes that do: 1, 3"),
        ("fine.mtx --rhs embedded", "--rhs ones"),
        ("fine.mtx --rhs missing.mtx", "missing.mtx"),
        ("missing.mtx", "missing.mtx"),
        ("fine.mtx --method magic", "multicolor, gauss_seidel, ssor, jacobi, ilu0, gmres, bicgstab"),
        ("fine.mtx --precond magic", "multicolor, gauss_seidel, ssor, jacobi, ilu0, none"),
        ("fine.mtx --method lines", "a case with a mesh has"),
        ("fine.mtx --precond lines", "a case with a mesh has"),
        ("fine.mtx --precond jacobi --damping 3", "error: damping is 3"),
        ("fine.mtx --precond jacobi --damping -1", "error: damping is -1"),
        ("fine.mtx --tol -1", "error: the tolerance is -1: expected a value from 0 to below 1"),
        ("fine.mtx --restart 0", "error: restart is 0"),
        ("fine.mtx --precond jacobi --sweeps 0", "error: sweeps is 0"),
        ("fine.mtx --fill 2 --precond jacobi", "error: --fill would do nothing"),
        ("fine.mtx --fill much", "a level (0, 1, 2, ...) or diagonal"),
    ] {
        let run = solve(at, args);
        assert_eq!(run.status, 2, "{args}: {}", run.error);
        assert!(run.error.contains(words), "{args}: {}", run.error);
        assert!(run.json.is_null(), "{args}: nothing is written");
    }
    let run = solve(at, "fine.mtx --solution nowhere/x.mtx");
    assert_eq!(run.status, 3, "{}", run.error);
}

/// Fluxes between the cells of a chain, all of them insulated at the ends: a right-hand side that does not fit is solved for as nearly as can be.
#[test]
fn a_matrix_that_leaves_constants_open() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let mut text = String::from("%%MatrixMarket matrix coordinate real symmetric\n40 40 79\n");
    for i in 1..=40 {
        let _ = writeln!(text, "{i} {i} {}", if i == 1 || i == 40 { 1 } else { 2 });
    }
    for i in 1..40 {
        let _ = writeln!(text, "{} {i} -1", i + 1);
    }
    std::fs::write(at.join("a.mtx"), text).unwrap();
    let b = "3\n".repeat(20) + &"1\n".repeat(20);
    std::fs::write(at.join("b.mtx"), format!("%%MatrixMarket matrix array real general\n40 1\n{b}")).unwrap();
    let words = "a.mtx --block-size 1 --rhs b.mtx --precond jacobi";
    assert_eq!(solve(at, words).status, 1, "two of five parts of it do not fit");
    let run = solve(at, &format!("{words} --null-space constant --solution x.mtx"));
    assert_eq!((run.status, &run.json["outcome"]), (0, &"converged".into()), "{}", run.error);
    let found = &run.json["null_space"];
    assert_eq!((&found["constants"], &found["of_the_transpose"]), (&1.into(), &1.into()));
    assert!((found["rhs_left_out"].as_f64().unwrap() - 0.8_f64.sqrt()).abs() < 1e-12, "{found}");
    // Minus the second difference is 1 in the first half and -1 in the other.
    let x = read_vector(&at.join("x.mtx")).unwrap();
    assert!((x[0] - x[1] - 1.0).abs() < 1e-8 && (x[19] - x[20] - 20.0).abs() < 1e-7);
    assert!(x.iter().sum::<f64>().abs() < 1e-8);
    write_matrix(&at.join("c.mtx"), &chain(4.0), None).unwrap();
    let refused = solve(at, "c.mtx --null-space constant");
    assert_eq!(refused.status, 2);
    assert!(refused.error.contains("row 1 adds up to 3.000e0; leave the option out"), "{}", refused.error);
}

/// What is solved by stands on the screen, the environment's options and the length of cycles, too.
#[test]
fn the_screen_says_the_method() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    write_matrix(&at.join("a.mtx"), &chain(4.0), None).unwrap();
    let said = |environment: &str, more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_chromaflow"));
        command.current_dir(at).args(["solve", "a.mtx"]).args(more).env("CHROMAFLOW_OPTIONS", environment);
        String::from_utf8_lossy(&command.output().unwrap().stdout).into_owned()
    };
    let growing =
        "cycles of 50 iterations, where those are slow up to 1000; their vectors take at most 1.6 MB";
    let text = said("", &[]);
    assert!(text.contains(growing) && !text.contains("CHROMAFLOW_OPTIONS"), "{text}");
    let fixed = said("", &["--longest-restart", "50"]);
    assert!(fixed.contains("cycles of 50 iterations; their vectors take at most 80.0 kB"), "{fixed}");
    let other = said("preconditioner=jacobi, method=bicgstab", &["--precond", "none"]);
    assert!(
        other.contains("bicgstab, no preconditioner") && other.contains("CHROMAFLOW_OPTIONS = prec"),
        "{other}"
    );
    assert!(!other.contains("cycles"), "{other}");
}
