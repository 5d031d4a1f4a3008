//! Running the binary, and a small mesh to run it on.
#![allow(dead_code)] // each test program uses its own part

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Status, standard output and standard error of `chromaflow` with these arguments, run in `folder`.
pub fn chromaflow(folder: &Path, args: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chromaflow"));
    let run = command.args(args).current_dir(folder).env_remove("CHROMAFLOW_OPTIONS").output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (run.status.code().unwrap_or(-1), text(&run.stdout), text(&run.stderr))
}

/// Launchers that `CHROMAFLOW_MPIRUN` lists, and the one on the path.
pub fn launchers() -> Vec<PathBuf> {
    let listed = std::env::var_os("CHROMAFLOW_MPIRUN").unwrap_or_default();
    let mut found: Vec<PathBuf> = std::env::split_paths(&listed).filter(|p| p.is_file()).collect();
    let path = std::env::var_os("PATH").unwrap_or_default();
    found.extend(std::env::split_paths(&path).map(|folder| folder.join("mpirun")).find(|p| p.is_file()));
    if found.is_empty() {
        chromaflow_testkit::skip("mpi", "no mpirun is on the path, and CHROMAFLOW_MPIRUN lists none");
    }
    found
}

/// `chromaflow` as so many processes of a launcher, run in `folder`: more than there are cores, as any user, and idle ones yield.
pub fn launched(mpirun: &Path, ranks: usize, folder: &Path) -> Command {
    let mut command = launcher(mpirun, folder);
    command.args(["-n", &ranks.to_string()]).arg(env!("CARGO_BIN_EXE_chromaflow"));
    command
}

/// A launcher that is yet to be told what to start, run in `folder`.
pub fn launcher(mpirun: &Path, folder: &Path) -> Command {
    let mut command = Command::new(mpirun);
    command.current_dir(folder);
    command.env("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe");
    command.env("OMPI_MCA_rmaps_base_oversubscribe", "1").env("OMPI_MCA_mpi_yield_when_idle", "1");
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command
}

/// The folder of the runnable cases.
pub fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases")
}

/// A cube of n x n x n cells in Kuhn's six tetrahedra each, as SU2 text: the faces x = 0 are marker `in`, x = 1
/// `out`, the others `side`.
pub fn cube(n: usize) -> String {
    let at = |i: usize, j: usize, k: usize| i + (n + 1) * (j + (n + 1) * k);
    let mut tets = Vec::new();
    for k in 0..n {
        for j in 0..n {
            for i in 0..n {
                for path in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
                    let mut corner = [i, j, k];
                    let mut tet = [at(i, j, k), 0, 0, 0];
                    for (step, axis) in path.into_iter().enumerate() {
                        corner[axis] += 1;
                        tet[step + 1] = at(corner[0], corner[1], corner[2]);
                    }
                    if matches!(path, [0, 2, 1] | [1, 0, 2] | [2, 1, 0]) {
                        tet.swap(2, 3);
                    }
                    tets.push(tet);
                }
            }
        }
    }
    let mut faces: BTreeMap<[usize; 3], ([usize; 3], usize)> = BTreeMap::new();
    for t in &tets {
        for f in [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]] {
            let face = f.map(|v| t[v]);
            let mut key = face;
            key.sort_unstable();
            faces.entry(key).or_insert((face, 0)).1 += 1;
        }
    }
    let place = |v: usize| [v % (n + 1), v / (n + 1) % (n + 1), v / (n + 1) / (n + 1)];
    let mut text = format!("NDIME= 3\nNELEM= {}\n", tets.len());
    for [a, b, c, d] in &tets {
        let _ = writeln!(text, "10 {a} {b} {c} {d}");
    }
    let _ = writeln!(text, "NPOIN= {}", (n + 1).pow(3));
    for v in 0..(n + 1).pow(3) {
        let [x, y, z] = place(v).map(|x| x as f64 / n as f64);
        let _ = writeln!(text, "{x} {y} {z} {v}");
    }
    text.push_str("NMARK= 3\n");
    for marker in ["in", "out", "side"] {
        let of = |face: &[usize; 3]| {
            let all = |x: usize| face.iter().all(|&v| place(v)[0] == x);
            if all(0) {
                "in"
            } else if all(n) {
                "out"
            } else {
                "side"
            }
        };
        let mine: Vec<_> = faces.values().filter(|(f, count)| *count == 1 && of(f) == marker).collect();
        let _ = writeln!(text, "MARKER_TAG= {marker}\nMARKER_ELEMS= {}", mine.len());
        for ([a, b, c], _) in mine {
            let _ = writeln!(text, "5 {a} {b} {c}");
        }
    }
    text
}

/// A case on `cube.su2` whose free stream everything keeps.
pub const CASE: &str = "\
[mesh]
file = \"cube.su2\"
[flow]
mach = 0.5
[boundary]
in = \"farfield\"
out = \"farfield\"
side = \"farfield\"
[march]
iterations = 5
[output]
plots = false
[expect]
iterations_suffice = true
";
