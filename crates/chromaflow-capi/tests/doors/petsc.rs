//! PETSc's own example programs with and without our preconditioners: block ILU(0) in the given order in f64 needs PETSc's own
//! iterations to the last one, which nothing but the same pattern, layout, values, order and factors gives.
//!
//! Programs and library come from Debian's packages `libpetsc-real-dev` and `petsc3.18-doc`, whose pages hold the examples' text.

use crate::jacobian::{by_rust, right_hand_side};
use chromaflow::files;
use chromaflow::sparse::io;
use chromaflow_testkit::{available, data};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

const PAGES: &str = "/usr/share/doc/petsc3.18-doc/docs/src";

fn run(program: &str, words: &[&str]) -> Result<String, String> {
    let mut command = Command::new(program);
    // Open MPI refuses to start programs of the root user, which is who runs tests in containers.
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    let output = command.args(words).env_remove("CHROMAFLOW_OPTIONS").output();
    let output = output.map_err(|e| format!("{program}: {e}"))?;
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() {
        Ok(out.into_owned())
    } else {
        Err(format!("{program} {words:?}: {out}{err}"))
    }
}

/// The program of a page: its listing without marks and line numbers.
fn listing(page: &str) -> Option<String> {
    let text = available("petsc", fs::read_to_string(format!("{PAGES}/{page}")))?;
    let (_, text) = text.split_once("<pre")?;
    let (text, _) = text.split_once('>')?.1.split_once("</pre>")?;
    let mut plain = String::new();
    for line in text.lines() {
        let mut bare = String::new();
        let mut inside = false;
        for c in line.chars() {
            match c {
                '<' => inside = true,
                '>' => inside = false,
                _ if !inside => bare.push(c),
                _ => {}
            }
        }
        let bare =
            bare.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&");
        let number = bare.trim_start().split_once(':').filter(|(n, _)| n.parse::<u32>().is_ok());
        plain += number.map_or(bare.as_str(), |(_, rest)| rest.strip_prefix(' ').unwrap_or(rest));
        plain.push('\n');
    }
    Some(plain)
}

/// PETSc with the plugin, in a folder.
struct Petsc {
    folder: tempfile::TempDir,
    flags: Vec<String>,
}

impl Petsc {
    fn new() -> Option<Self> {
        let flags = available("petsc", run("pkg-config", &["--cflags", "--libs", "PETSc"]))?;
        available("petsc", run("mpicc", &["--version"]))?;
        let folder = tempfile::tempdir().unwrap();
        let here = std::env::current_exe().unwrap();
        let folders = [here.parent().unwrap(), here.parent().unwrap().parent().unwrap()];
        let built =
            folders.map(|f| f.join("libchromaflow_capi.so")).into_iter().find(|f| f.exists()).unwrap();
        for name in ["libchromaflow.so.1", "libchromaflow.so"] {
            std::os::unix::fs::symlink(&built, folder.path().join(name)).unwrap();
        }
        let petsc = Self { folder, flags: flags.split_whitespace().map(str::to_owned).collect() };
        let own = Path::new(env!("CARGO_MANIFEST_DIR"));
        let (source, include) = (own.join("../../interop/petsc/pc_chromaflow.c"), own.join("include"));
        let (at, rpath) = (petsc.path(""), format!("-Wl,-rpath,{}", petsc.path("")));
        let words =
            ["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-I", include.to_str().unwrap(), "-L", &at];
        petsc.compile(&source, "libpc_chromaflow.so", &[&words[..], &["-lchromaflow", &rpath]].concat());
        Some(petsc)
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn compile(&self, source: &Path, to: &str, words: &[&str]) {
        let (source, to) = (source.to_str().unwrap(), self.path(to));
        let flags = self.flags.iter().map(String::as_str);
        let all: Vec<&str> =
            ["-O1", source, "-o", &to].into_iter().chain(words.iter().copied()).chain(flags).collect();
        run("mpicc", &all).unwrap();
    }

    /// The numbers after `word` in what a program prints.
    fn counts(&self, program: &str, words: &str, word: &str) -> Vec<u32> {
        let library = self.path("libpc_chromaflow.so");
        let words = words.replace("chromaflow.so", &library);
        let said = run(&self.path(program), &words.split_whitespace().collect::<Vec<_>>()).unwrap();
        let after = said.split(word).skip(1);
        after.map(|t| t.split_whitespace().next().unwrap().parse().unwrap()).collect()
    }

    /// Builds a program of PETSc's tutorials, named like its page, `.../NAME.c.html`.
    fn tutorial(&self, page: &str) -> Option<()> {
        let file = page.strip_suffix(".html")?.rsplit('/').next()?;
        let source = self.folder.path().join(file);
        fs::write(&source, listing(page)?).unwrap();
        self.compile(&source, file.strip_suffix(".c")?, &["-w", "-lm"]);
        Some(())
    }

    fn matrix(&self, name: &str) -> Option<PathBuf> {
        let packed = data(&format!("matrices/{name}.petsc.xz"))?;
        let to = self.folder.path().join(format!("{name}.petsc"));
        let mut bytes = Vec::new();
        files::open(&packed).unwrap().read_to_end(&mut bytes).unwrap();
        fs::write(&to, bytes).unwrap();
        fs::copy(packed.with_extension("info"), to.with_extension("petsc.info")).unwrap();
        Some(to)
    }
}

/// Matrix, PETSc's ILU, ours in the given order in f64, ours after reverse Cuthill-McKee in `ds`, a forward multicolor sweep.
const TABLE: [(&str, u32, u32, u32); 6] = [
    ("kfun3d_m6A_step5_bs4", 30, 31, 86),
    ("su2_flatplate_lam_it200_bs4", 14, 14, 110),
    ("su2_flatplate_sa_it100_flow_bs4", 16, 15, 104),
    ("su2_flatplate_sa_it100_nut_bs1", 4, 4, 20),
    ("su2_naca0012_euler_jst_it50_bs4", 24, 21, 72),
    ("su2_om6ste01_euler_roe1_it10_bs5", 20, 20, 44),
];

/// Matrix, PETSc's symmetric and forward SOR in its natural order (none: no convergence in 1500 iterations).
const SOR: [(&str, Option<[u32; 2]>); 6] = [
    ("kfun3d_m6A_step5_bs4", Some([39, 92])),
    ("su2_flatplate_lam_it200_bs4", Some([16, 149])),
    ("su2_flatplate_sa_it100_flow_bs4", Some([17, 195])),
    ("su2_flatplate_sa_it100_nut_bs1", Some([9, 37])),
    ("su2_naca0012_euler_jst_it50_bs4", None),
    ("su2_om6ste01_euler_roe1_it10_bs5", Some([22, 47])),
];

/// A program that solves with a matrix from a file.
const EX10: &str = "ksp/ksp/tutorials/ex10.c.html";
const OURS: &str = "-dll_append chromaflow.so -pc_type chromaflow -pc_chromaflow";

#[test]
fn petsc_counts_the_same_iterations_on_the_matrices_of_flow_codes() {
    let Some(petsc) = Petsc::new() else { return };
    if petsc.tutorial(EX10).is_none() {
        return;
    }
    let mut rows = Vec::new();
    for (name, ..) in TABLE {
        let Some(file) = petsc.matrix(name) else { return };
        let count = |kind: &str, words: &str| {
            let file = file.display();
            let common =
                format!("-f {file} -mat_type {kind} -ksp_type fgmres -ksp_gmres_restart 60 -ksp_rtol 1e-10");
            // The program solves twice, the second time with values set again.
            let found = petsc.counts("ex10", &format!("{common} {words}"), "Number of iterations =");
            assert!(!found.is_empty() && found.iter().all(|&n| n == found[0]), "{name} {words}: {found:?}");
            found[0]
        };
        let exact = format!("{OURS} preconditioner=ilu0,order=natural,policy=d");
        let ilu = count("baij", "-pc_type ilu");
        assert_eq!([count("baij", &exact), count("aij", &exact)], [ilu, ilu], "{name}");
        let rcm = count("baij", &format!("{OURS} preconditioner=ilu0,order=rcm,policy=ds"));
        rows.push((name, ilu, rcm, count("baij", &format!("{OURS} preconditioner=multicolor"))));
    }
    assert_eq!(rows, TABLE);
}

/// Gauss-Seidel sweeps in the given order and in f64 are PETSc's SOR, forward and symmetric.
#[test]
fn petsc_counts_the_same_iterations_with_sor() {
    let Some(petsc) = Petsc::new() else { return };
    if petsc.tutorial(EX10).is_none() {
        return;
    }
    for (name, expected) in SOR {
        let (Some(file), Some(expected)) = (petsc.matrix(name), expected) else { continue };
        // Backward sweeps of scalars are wrong in PETSc 3.18's BAIJ, where they take 53 iterations.
        let kind = if name.ends_with("bs1") { "-mat_type aij -mat_no_inode" } else { "-mat_type baij" };
        let count = |words: &str| {
            let common = format!(
                "-f {} {kind} -ksp_type fgmres -ksp_gmres_restart 60 -ksp_rtol 1e-10 {words}",
                file.display()
            );
            petsc.counts("ex10", &common, "Number of iterations =")[0]
        };
        let theirs = [count("-pc_type sor"), count("-pc_type sor -pc_sor_forward")];
        let ours = ["ssor", "gauss_seidel"]
            .map(|kind| count(&format!("{OURS} preconditioner={kind},order=natural,policy=d")));
        assert_eq!((theirs, ours), (expected, expected), "{name}");
    }
}

#[test]
fn petsc_counts_the_same_iterations_in_newtons_method() {
    let Some(petsc) = Petsc::new() else { return };
    if petsc.tutorial("snes/tutorials/ex19.c.html").is_none() {
        return;
    }
    let count = |words: &str| {
        let common = "-da_grid_x 33 -da_grid_y 33 -grashof 1e3 -lidvelocity 100 -dm_mat_type baij -snes_monitor_short \
                      -ksp_converged_reason";
        petsc.counts("ex19", &format!("{common} {words}"), "CONVERGED_RTOL iterations")
    };
    let theirs = count("-pc_type ilu");
    assert!(theirs.len() > 3 && theirs.iter().all(|&n| n > 20), "{theirs:?}");
    assert_eq!(count(&format!("{OURS} preconditioner=ilu0,order=natural,policy=d")), theirs);
}

/// Block Jacobi of two ranks around PETSc's and our block ILU.
#[test]
fn petsc_counts_the_same_iterations_on_two_ranks() {
    let Some(petsc) = Petsc::new() else { return };
    if available("petsc", run("mpirun", &["--version"])).is_none() {
        return;
    }
    if petsc.tutorial(EX10).is_none() {
        return;
    }
    let Some(file) = petsc.matrix("su2_om6ste01_euler_roe1_it10_bs5") else { return };
    let count = |inside: &str| {
        let (program, library) = (petsc.path("ex10"), petsc.path("libpc_chromaflow.so"));
        let words = format!(
            "--oversubscribe -n 2 {program} -f {} -mat_type baij -ksp_type fgmres -ksp_gmres_restart 60 \
             -ksp_rtol 1e-10 -dll_append {library} {inside}",
            file.display()
        );
        let said = run("mpirun", &words.split_whitespace().collect::<Vec<_>>()).unwrap();
        said.lines()
            .find_map(|l| l.strip_prefix("Number of iterations =")?.trim().parse::<u32>().ok())
            .unwrap()
    };
    let found = [
        count("-pc_type bjacobi -sub_pc_type ilu"),
        count(
            "-pc_type bjacobi -sub_pc_type chromaflow -sub_pc_chromaflow preconditioner=ilu0,order=natural,policy=d",
        ),
        count("-pc_type chromaflow -pc_chromaflow preconditioner=ilu0,order=natural,policy=d"),
    ];
    assert_eq!(found, [27, 27, 27]);
}

#[test]
fn petsc_hands_options_and_errors_on() {
    let Some(petsc) = Petsc::new() else { return };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/implicit_petsc.c");
    petsc.compile(&source, "example", &[]);
    let library = petsc.path("libpc_chromaflow.so");
    let said = |words: &[&str]| {
        let all = [&["-dll_append", &library, "-pc_type", "chromaflow"], words].concat();
        run(&petsc.path("example"), &all)
    };
    let view =
        said(&["-pc_chromaflow", "policy=d, threads=2", "-pc_chromaflow_order", "natural", "-ksp_view"])
            .unwrap();
    assert!(
        view.contains("options: threads=2, preconditioner=ilu0,keep_matrix=no,policy=d,order=natural,"),
        "{view}"
    );
    let refused = said(&["-pc_chromaflow", "polcy=d"]).unwrap_err();
    assert!(refused.contains("did you mean `policy`?"), "{refused}");
}

/// The text of every misuse comes back through PETSc's own errors, and a thousand new sets of values take no memory.
#[test]
fn petsc_gets_the_text_of_every_misuse() {
    let Some(petsc) = Petsc::new() else { return };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/petsc.c");
    petsc.compile(&source, "misuse", &["-Wall", "-Wextra", "-Werror", "-lm"]);
    let said = run(&petsc.path("misuse"), &["-dll_append", &petsc.path("libpc_chromaflow.so")]);
    assert_eq!(said.as_deref(), Ok(""));
    // MPI itself leaves memory behind; what is read and written beyond its ends is found all the same.
    petsc.compile(&source, "sanitized", &["-g", "-fsanitize=address", "-lm"]);
    let library = petsc.path("libpc_chromaflow.so");
    let mut command = Command::new(petsc.path("sanitized"));
    command
        .args(["-dll_append", &library])
        .env("ASAN_OPTIONS", "detect_leaks=0")
        .env_remove("CHROMAFLOW_OPTIONS");
    let ended = command.output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
}

/// One application through PETSc has the bits of one in Rust.
#[test]
fn petsc_applies_with_the_same_bits() {
    let Some(petsc) = Petsc::new() else { return };
    let Some(file) = petsc.matrix("kfun3d_m6A_step5_bs4") else { return };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/petsc.c");
    petsc.compile(&source, "apply", &["-lm"]);
    let (file, result) = (file.display().to_string(), petsc.path("result"));
    run(&petsc.path("apply"), &[&file, &result, "-dll_append", &petsc.path("libpc_chromaflow.so")]).unwrap();
    let matrix = io::read_matrix(Path::new(&file), Some(4)).unwrap().matrix;
    let b = right_hand_side(&matrix);
    let expected = by_rust(&matrix, &b, "preconditioner=ilu0,order=natural,policy=d");
    let bytes = fs::read(&result).unwrap();
    assert_eq!(bytes.len(), 8 * b.len());
    for (i, (found, expected)) in bytes.chunks_exact(8).zip(&expected[1 + b.len()..]).enumerate() {
        let found = f64::from_ne_bytes(found.try_into().unwrap());
        assert_eq!(found.to_bits(), expected.to_bits(), "z[{i}] = {found} and {expected}");
    }
}
