//! Who started this process, and which library is theirs.

use std::env;
use std::path::{Path, PathBuf};

/// A process that a launcher started among others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The command that users know the launcher by.
    pub launcher: &'static str,
    /// Ranks that it started.
    pub size: usize,
}

/// What launchers tell the processes they start. `SLURM_NTASKS` is not among them: it is set outside a step, too.
const TOLD: [(&str, &str); 4] = [
    ("OMPI_COMM_WORLD_SIZE", "mpirun"),
    ("PMI_SIZE", "mpirun"),
    ("PMIX_SIZE", "mpirun"),
    ("SLURM_STEP_NUM_TASKS", "srun"),
];

/// The launcher that started this process, if one did.
pub fn launch() -> Option<Launch> {
    of_environment(|name| env::var(name).ok())
}

fn of_environment(value: impl Fn(&str) -> Option<String>) -> Option<Launch> {
    TOLD.into_iter().find_map(|(name, launcher)| {
        let size = value(name)?.trim().parse().ok().filter(|&size| size > 0)?;
        Some(Launch { launcher, size })
    })
}

/// Names of libraries: of the standard interface, of Open MPI, of MPICH and its relatives.
const STANDARD: &[&str] = &["libmpi_abi.so.1"];
const OPEN_MPI: &[&str] = &["libmpi.so.40", "libmpi.so.80"];
const MPICH: &[&str] = &["libmpi.so.12", "libmpich.so.12", "libmpi_gnu.so.12", "libmpi_cray.so.12"];
/// The variable that names a library.
pub const ASKED: &str = "CHROMAFLOW_MPI";

/// Where to look, in this order: what the user names; what lies beside the launcher; what the loader finds.
pub fn candidates() -> Vec<PathBuf> {
    if let Some(named) = env::var_os(ASKED) {
        return vec![named.into()];
    }
    let open_mpi = env::var_os("OMPI_COMM_WORLD_SIZE").is_some();
    ordered(&launchers(), open_mpi)
}

/// Libraries that this process has loaded; what the user names before them.
pub fn loaded() -> Vec<PathBuf> {
    if let Some(named) = env::var_os(ASKED) {
        return vec![named.into()];
    }
    in_maps(&std::fs::read_to_string("/proc/self/maps").unwrap_or_default())
}

/// Libraries among the files of a process's memory, by their names, maybe with more numbers behind.
fn in_maps(maps: &str) -> Vec<PathBuf> {
    let known = |file: &str| {
        let names = STANDARD.iter().chain(OPEN_MPI).chain(MPICH);
        names
            .into_iter()
            .any(|name| file.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
    };
    let paths = maps.lines().filter_map(|line| line.find('/').map(|at| Path::new(line[at..].trim_end())));
    let mut found: Vec<PathBuf> = Vec::new();
    for path in paths.filter(|p| p.file_name().is_some_and(|file| known(&file.to_string_lossy()))) {
        if !found.iter().any(|before| before == path) {
            found.push(path.to_owned());
        }
    }
    found
}

fn ordered(launchers: &[PathBuf], open_mpi: bool) -> Vec<PathBuf> {
    let families = if open_mpi { [OPEN_MPI, MPICH] } else { [MPICH, OPEN_MPI] };
    let names = || STANDARD.iter().chain(families[0]).chain(families[1]);
    let mut found = Vec::new();
    for launcher in launchers {
        let Some(root) = launcher.parent().filter(|bin| bin.ends_with("bin")).and_then(Path::parent) else {
            continue;
        };
        for folder in ["lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu", "lib/release"] {
            found.extend(names().map(|name| root.join(folder).join(name)).filter(|path| path.exists()));
        }
    }
    found.extend(names().map(PathBuf::from));
    found.dedup();
    found
}

/// Programs that started this one: the launcher, or what it keeps on each host, is among them.
fn launchers() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut process = std::process::id();
    for _ in 0..4 {
        let Ok(status) = std::fs::read_to_string(format!("/proc/{process}/status")) else { break };
        let parent = status.lines().find_map(|l| l.strip_prefix("PPid:")).and_then(|p| p.trim().parse().ok());
        let Some(parent) = parent.filter(|&parent: &u32| parent > 1) else { break };
        found.extend(std::fs::read_link(format!("/proc/{parent}/exe")));
        process = parent;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_are_known_by_what_they_tell() {
        let of = |given: &'static [(&str, &str)]| {
            of_environment(move |name| given.iter().find(|g| g.0 == name).map(|g| g.1.to_owned()))
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[("SLURM_NTASKS", "8")]), None, "an allocation is no step");
        assert_eq!(of(&[("OMPI_COMM_WORLD_SIZE", "8")]), Some(Launch { launcher: "mpirun", size: 8 }));
        assert_eq!(of(&[("PMI_SIZE", "2")]), Some(Launch { launcher: "mpirun", size: 2 }));
        assert_eq!(of(&[("SLURM_STEP_NUM_TASKS", "4")]), Some(Launch { launcher: "srun", size: 4 }));
        assert_eq!(of(&[("PMI_SIZE", "many")]), None);
    }

    #[test]
    fn loaded_libraries_are_known_by_their_names() {
        let maps = "7f00-7f01 r--p 00000000 08:01 12   /usr/lib/libmpi.so.40.30.4\n\
                    7f01-7f02 r-xp 00001000 08:01 12   /usr/lib/libmpi.so.40.30.4\n\
                    7f02-7f03 r--p 00000000 08:01 13   /usr/lib/libmpi_mpifh.so.40.30.0\n\
                    7f03-7f04 r--p 00000000 08:01 14   /opt/a b/libmpi_abi.so.1\n\
                    7f04-7f05 rw-p 00000000 00:00 0    [heap]\n";
        let found = in_maps(maps);
        assert_eq!(found, [Path::new("/usr/lib/libmpi.so.40.30.4"), Path::new("/opt/a b/libmpi_abi.so.1")]);
    }

    #[test]
    fn libraries_beside_the_launcher_come_first() {
        let root = env::temp_dir().join(format!("chromaflow-find-{}", std::process::id()));
        let lib = root.join("lib");
        std::fs::create_dir_all(&lib).unwrap();
        for name in ["libmpi.so.12", "libmpi.so.40"] {
            std::fs::write(lib.join(name), "").unwrap();
        }
        let launcher = [root.join("bin/mpirun"), root.join("sbin/elsewhere")];
        let first = |open_mpi| ordered(&launcher, open_mpi).into_iter().take(2).collect::<Vec<_>>();
        assert_eq!(first(true), [lib.join("libmpi.so.40"), lib.join("libmpi.so.12")]);
        assert_eq!(first(false), [lib.join("libmpi.so.12"), lib.join("libmpi.so.40")]);
        assert_eq!(ordered(&[], false)[0], Path::new("libmpi_abi.so.1"));
        std::fs::remove_dir_all(root).unwrap();
    }
}
