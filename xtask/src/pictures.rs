//! `cargo xtask pictures`: the pictures of the documentation, made again by the commands that they come from.

use crate::{cases, run};
use chromaflow_testkit::{browser, required};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What some pictures need besides this program.
#[derive(Clone, Copy)]
enum Need {
    /// A GPU.
    Gpu,
    /// A file of the data set.
    Data(&'static str),
    /// Modules of Python.
    Python(&'static str),
    /// Chromium or Chrome.
    Browser,
}

/// Pictures that come from the same commands.
struct Group {
    name: &'static str,
    needs: &'static [Need],
    /// What runs one after another in the repository's root, or where `cd` leads; `OUT` is a folder of the group's own, `ROOT` the
    /// repository's.
    commands: &'static [&'static str],
    /// What they leave in `OUT`, and the picture it is.
    pictures: &'static [(&'static str, &'static str)],
}

const M6: &str = "mesh3d/oneram6_sharpTE_gmsh_15k.su2.xz";
const M6_RANS: &str = "turbulence/oneram6/om6_coarse.b8.ugrid.xz";
const AIRFOIL: &str = "mesh2d/n0012_225-65.su2.xz";
const PLATE: &str = "mesh2d/flatplate_turb_137x97.su2.xz";

const GROUPS: [Group; 14] = [
    Group {
        name: "wing",
        needs: &[Need::Python("pyvista, matplotlib")],
        commands: &[
            "chromaflow run cases/wing.toml --threads 1 --out OUT/wing",
            "python3 docs/pictures.py wing OUT/wing OUT/wing.png",
        ],
        pictures: &[("wing.png", "docs/src/images/wing.png")],
    },
    Group {
        name: "report",
        needs: &[Need::Browser],
        commands: &[
            "chromaflow template wing OUT/wing",
            "cd OUT/wing",
            "chromaflow run case.toml --threads 1",
            "chromaflow report out/case",
            "browser --headless --no-sandbox --hide-scrollbars --use-angle=swiftshader --enable-unsafe-swiftshader \
             --window-size=1300,1580 --virtual-time-budget=10000 --screenshot=OUT/report.png file://OUT/wing/out/case/report.html",
        ],
        pictures: &[("report.png", "docs/src/images/report.png")],
    },
    Group {
        name: "airfoil",
        needs: &[Need::Python("pyvista, matplotlib")],
        commands: &[
            "chromaflow template naca0012 OUT/naca0012",
            "cd OUT/naca0012",
            "chromaflow run case.toml --threads 1",
            "python3 ROOT/docs/pictures.py airfoil out/case OUT/airfoil.png",
        ],
        pictures: &[("airfoil.png", "docs/src/images/airfoil.png")],
    },
    Group {
        name: "polar",
        needs: &[],
        commands: &[
            "chromaflow template naca0012 OUT/naca0012",
            "cd OUT/naca0012",
            "chromaflow sweep case.toml --set flow.alpha=0:10:2 --set flow.mach=0.3",
        ],
        pictures: &[("naca0012/out/case-sweep/polar.svg", "docs/src/images/polar.svg")],
    },
    Group {
        name: "cylinder",
        needs: &[Need::Python("pyvista, matplotlib")],
        commands: &[
            "chromaflow template cylinder OUT/cylinder",
            "cd OUT/cylinder",
            "chromaflow run case.toml --threads 1",
            "python3 ROOT/docs/pictures.py cylinder out/case OUT/cylinder.png",
        ],
        pictures: &[("cylinder.png", "docs/src/images/cylinder.png")],
    },
    Group {
        name: "channel",
        needs: &[Need::Python("pyvista, matplotlib")],
        commands: &[
            "chromaflow run cases/structured_channel_supersonic.toml --threads 1 --out OUT/channel",
            "python3 docs/pictures.py channel OUT/channel OUT/channel.png",
        ],
        pictures: &[("channel.png", "docs/src/images/channel.png")],
    },
    Group {
        name: "scaling",
        needs: &[Need::Python("matplotlib")],
        commands: &["python3 docs/pictures.py scaling bench OUT/scaling.svg"],
        pictures: &[("scaling.svg", "docs/src/images/scaling.svg")],
    },
    Group {
        name: "policies",
        needs: &[Need::Data(M6), Need::Python("matplotlib")],
        commands: &[
            "chromaflow run cases/oneram6_15k.toml --set output.matrix=40 --set march.iterations=41 \
             --set march.nonlinear=defect_correction --set expect.iterations_suffice=true --out OUT/matrix",
            "chromaflow solve OUT/matrix/system.petsc --method multicolor --policy d --sweeps 150 --history OUT/d.csv",
            "chromaflow solve OUT/matrix/system.petsc --method multicolor --policy ds --sweeps 150 --history OUT/ds.csv",
            "chromaflow solve OUT/matrix/system.petsc --method multicolor --policy dsh --sweeps 150 --history OUT/dsh.csv",
            "chromaflow solve OUT/matrix/system.petsc --method multicolor --policy dsh --sweeps 150 --correction-sweeps 30 \
             --history OUT/dsh-corrected.csv",
            "chromaflow run cases/oneram6_15k.toml --set march.nonlinear=defect_correction --set linear.policy=d --out OUT/d",
            "chromaflow run cases/oneram6_15k.toml --set march.nonlinear=defect_correction --set linear.policy=ds --out OUT/ds",
            "chromaflow run cases/oneram6_15k.toml --set march.nonlinear=defect_correction --set linear.policy=dsh --out OUT/dsh",
            "python3 docs/pictures.py policies OUT OUT/policies.svg",
        ],
        pictures: &[("policies.svg", "docs/src/images/policies.svg")],
    },
    Group {
        name: "policies_rans",
        needs: &[Need::Data(AIRFOIL), Need::Python("matplotlib")],
        commands: &[
            "chromaflow run cases/tmr_naca0012_225x65.toml --set linear.policy=d --out OUT/airfoil/d",
            "chromaflow run cases/tmr_naca0012_225x65.toml --set linear.policy=ds --out OUT/airfoil/ds",
            "chromaflow run cases/tmr_naca0012_225x65.toml --set linear.policy=dsh --out OUT/airfoil/dsh",
            "chromaflow run cases/tmr_bump_89x41_sst.toml --set linear.policy=d --out OUT/bump/d",
            "chromaflow run cases/tmr_bump_89x41_sst.toml --set linear.policy=ds --out OUT/bump/ds",
            "chromaflow run cases/tmr_bump_89x41_sst.toml --set linear.policy=dsh --out OUT/bump/dsh",
            "python3 docs/pictures.py policies_rans OUT OUT/policies_rans.svg",
        ],
        pictures: &[("policies_rans.svg", "docs/src/images/policies_rans.svg")],
    },
    Group {
        name: "plate",
        needs: &[Need::Data(PLATE), Need::Python("matplotlib")],
        commands: &[
            "chromaflow run cases/tmr_flat_plate_137x97.toml --set output.profiles=[{from=[0.97,0,0],to=[0.97,0.1,0]}] --out OUT/plate",
            "python3 docs/pictures.py plate OUT/plate OUT/plate.svg",
        ],
        pictures: &[("plate.svg", "docs/src/images/plate_law_of_the_wall.svg")],
    },
    Group {
        name: "m6",
        needs: &[Need::Data(M6_RANS), Need::Python("matplotlib")],
        commands: &[
            "chromaflow run cases/oneram6_rans.toml --set output.cuts=[{axis=\"y\",at=0.295204},{axis=\"y\",at=0.649448},{axis=\"y\",at=0.959412},\
             {axis=\"y\",at=1.180814},{axis=\"y\",at=1.328416},{axis=\"y\",at=1.416977},{axis=\"y\",at=1.461258}] --out OUT/m6",
            "python3 docs/pictures.py m6 OUT/m6 OUT/m6.svg",
        ],
        pictures: &[("m6.svg", "docs/src/images/m6_cp.svg")],
    },
    Group {
        name: "sweeps",
        needs: &[Need::Gpu],
        commands: &[
            "chromaflow-papers multicolor --table 3 --table 4 --figure 14 --dsh-figure 3 --coloring fewest --plots OUT",
        ],
        pictures: &[
            ("time_6309.svg", "docs/src/images/gpu_time_6309.svg"),
            ("roofline_394745.svg", "docs/src/images/gpu_roofline_394745.svg"),
            ("dsh_figure_3.svg", "docs/src/images/gpu_dsh_figure_3.svg"),
        ],
    },
    Group {
        name: "flow",
        needs: &[Need::Gpu, Need::Data("mesh3d/oneram6_sharpTE_gmsh_100k.su2.xz")],
        commands: &[
            "chromaflow-papers multicolor --case cases/oneram6_100k.toml --refine 0,1 --iterations 200 --dsh-figure 5 \
             --dsh-figure 7 --plots OUT",
        ],
        pictures: &[
            ("dsh_figure_5_2.svg", "docs/src/images/gpu_dsh_figure_5_2.svg"),
            ("dsh_figure_7_2.svg", "docs/src/images/gpu_dsh_figure_7_2.svg"),
        ],
    },
    Group {
        name: "lines",
        needs: &[Need::Gpu],
        commands: &["chromaflow-papers tridiag --figure 1 --figure 2 --plots OUT"],
        pictures: &[
            ("figure_1a.svg", "docs/src/images/tridiag_figure_1a.svg"),
            ("figure_1b.svg", "docs/src/images/tridiag_figure_1b.svg"),
            ("figure_2.svg", "docs/src/images/tridiag_figure_2.svg"),
        ],
    },
];

/// `[--program FILE] [NAME...]`: groups by their names, all unless named; a release build is made unless a program is given. Prints a table
/// of what was drawn and what was left out, and why.
pub fn pictures(args: &[String]) -> Result<(), String> {
    let (given, names) = run::program_given("pictures", args)?;
    if let Some(name) = names.iter().find(|n| !GROUPS.iter().any(|g| g.name == **n)) {
        let all: Vec<&str> = GROUPS.iter().map(|g| g.name).collect();
        return Err(format!("no pictures {name}: expected {}", all.join(", ")));
    }
    let program = run::program_or_built(given, &["build", "--release", "--package", "chromaflow-cli"])?;
    let mut tools = Tools { program, papers: false };
    let mut rows = Vec::new();
    for group in GROUPS.iter().filter(|g| names.is_empty() || names.contains(&g.name)) {
        let said = match group.needs.iter().find_map(|need| tools.lack(*need)) {
            Some((what, why)) if required(what) => return Err(format!("{what} is required, but {why}")),
            Some((_, why)) => format!("skipped: {why}"),
            None => {
                tools.draw(group)?;
                "drawn".to_owned()
            }
        };
        rows.extend(group.pictures.iter().map(|(_, picture)| format!("| {picture} | {said} |")));
    }
    println!("| picture | |\n|---|---|\n{}", rows.join("\n"));
    Ok(())
}

/// The programs that commands name.
struct Tools {
    /// The command `chromaflow`.
    program: PathBuf,
    /// Whether `chromaflow-papers` is built.
    papers: bool,
}

impl Tools {
    /// Runs the commands of a group and puts its pictures in their places.
    fn draw(&mut self, group: &Group) -> Result<(), String> {
        let root = run::root();
        let out = root.join("target/pictures").join(group.name);
        let _ = fs::remove_dir_all(&out); // what an earlier run left must not be taken for this one's
        fs::create_dir_all(&out).map_err(|e| format!("{}: {e}", out.display()))?;
        let mut here = root.clone();
        for command in group.commands {
            let words: Vec<String> = words(command, &out);
            if words[0] == "cd" {
                here = PathBuf::from(&words[1]);
                continue;
            }
            if words[0] == "chromaflow-papers" && !self.papers {
                run::cargo(&["build", "--release", "--quiet", "--package", "chromaflow-bench"])?;
                self.papers = true;
            }
            println!("$ {}", words.join(" "));
            let mut job = Command::new(self.of(&words[0]));
            let job = job.args(&words[1..]).current_dir(&here);
            let job = job.env("CHROMAFLOW_DATA", cases::data_folder(&root)).stdin(Stdio::null());
            let done = job.output().map_err(|e| format!("cannot start {}: {e}", words[0]))?;
            if !done.status.success() {
                let said = String::from_utf8_lossy(&done.stderr);
                return Err(format!("{} ended with {}: {}", words[0], done.status, said.trim()));
            }
        }
        for (made, picture) in group.pictures {
            let (made, picture) = (out.join(made), root.join(picture));
            fs::copy(&made, &picture)
                .map_err(|e| format!("{} as {}: {e}", made.display(), picture.display()))?;
        }
        Ok(())
    }

    /// What is missing, by the word of `CHROMAFLOW_REQUIRE`, and why; nothing where nothing is.
    fn lack(&self, need: Need) -> Option<(&'static str, String)> {
        match need {
            Need::Gpu => {
                let json = run::root().join("target/pictures/doctor.json");
                let _ = fs::create_dir_all(json.parent().unwrap_or(Path::new(".")));
                let mut doctor = Command::new(self.of("chromaflow"));
                let done = doctor
                    .args(["doctor", "--json"])
                    .arg(&json)
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .status();
                let text = fs::read_to_string(json).unwrap_or_default();
                let facts: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
                let told =
                    facts["gpu"].as_array().into_iter().flatten().filter_map(serde_json::Value::as_str);
                let there = done.is_ok() && told.into_iter().any(|line| line.contains(": capability "));
                (!there).then(|| ("gpu", "there is no GPU".to_owned()))
            }
            Need::Data(file) => {
                let there = cases::data_folder(&run::root()).join(file).exists();
                (!there).then(|| ("data", format!("{file} is not there (set CHROMAFLOW_DATA)")))
            }
            Need::Python(modules) => {
                let mut python = Command::new(self.of("python3"));
                let import = python.args(["-c", &format!("import {modules}")]);
                let there = import.stderr(Stdio::null()).status().is_ok_and(|s| s.success());
                (!there).then(|| {
                    ("python", format!("python3 has not {modules} (pip install; PYTHON names another one)"))
                })
            }
            Need::Browser => browser().err().map(|why| ("browser", why.to_owned())),
        }
    }

    fn of(&self, name: &str) -> PathBuf {
        match name {
            "python3" => std::env::var_os("PYTHON").map_or_else(|| name.into(), PathBuf::from),
            "browser" => browser().unwrap_or_default(),
            "chromaflow" => self.program.clone(),
            ours => run::root().join("target/release").join(ours),
        }
    }
}

/// The words of a command, with `OUT` as the folder and `ROOT` as the repository's.
fn words(command: &str, out: &Path) -> Vec<String> {
    let folders = [("OUT", out.to_owned()), ("ROOT", run::root())].map(|(w, f)| (w, f.display().to_string()));
    let put = |word: &str| folders.iter().fold(word.to_owned(), |word, (name, f)| word.replace(name, f));
    command.split_whitespace().map(put).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Every picture that a page shows is made by a command here, and every picture that is made is shown.
    #[test]
    fn all_pictures_of_the_pages_are_made() {
        let root = run::root();
        let mut shown = BTreeSet::new();
        let pages = fs::read_dir(root.join("docs/src")).unwrap().map(|entry| entry.unwrap().path());
        for page in pages.chain([root.join("README.md")]).filter(|p| p.extension().is_some_and(|e| e == "md"))
        {
            let text = fs::read_to_string(&page).unwrap();
            for link in crate::book::links(&text)
                .into_iter()
                .filter(|l| Path::new(l).extension().is_some_and(|e| e == "svg" || e == "png"))
            {
                let path = page.with_file_name(link);
                shown.insert(path.strip_prefix(&root).unwrap().display().to_string());
            }
        }
        let made: BTreeSet<String> =
            GROUPS.iter().flat_map(|g| g.pictures).map(|(_, picture)| (*picture).to_owned()).collect();
        assert_eq!(shown, made);
    }

    #[test]
    fn commands_name_their_folder() {
        let found = words("chromaflow run a.toml --out OUT/a", Path::new("/t"));
        assert_eq!(found, ["chromaflow", "run", "a.toml", "--out", "/t/a"]);
    }

    #[test]
    fn names_that_are_none_are_refused() {
        assert!(pictures(&["dragon".into()]).unwrap_err().contains("expected wing, report"));
    }
}
