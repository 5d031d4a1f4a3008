//! What a newcomer does: a template, a report of it in a browser, a case for a mesh of his own, a polar, orders to a run.

mod common;

use chromaflow_flow::mesh;
use chromaflow_flow::mesh::generate::{Cells, Cylinder, box_mesh};
use chromaflow_testkit::{available, browser};
use common::{CASE, chromaflow, cube};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

fn json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Runs without a fault, and what it said.
fn done(folder: &Path, args: &[&str]) -> String {
    let (status, out, message) = chromaflow(folder, args);
    assert_eq!(status, 0, "{args:?}\n{out}\n{message}");
    out
}

/// The page's body tag once its scripts have run.
fn body(browser: &Path, page: &Path) -> String {
    let run = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"])
        .args(["--window-size=1400,2000", "--virtual-time-budget=10000", "--dump-dom"])
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&run.stdout);
    dom[dom.find("<body").expect("a page")..].split('>').next().unwrap().to_owned()
}

/// The value of an attribute of the body.
fn attribute(body: &str, name: &str) -> f64 {
    let value = body.split(&format!("data-{name}=\"")).nth(1).and_then(|rest| rest.split('"').next());
    value.and_then(|v| v.parse().ok()).unwrap_or(0.0)
}

#[test]
fn a_template_runs_and_its_report_opens_in_a_browser() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    done(&folder, &["template", "naca0012"]);
    let (status, _, message) = chromaflow(&folder, &["template", "naca0012"]);
    assert!(status == 2 && message.contains("is there already"), "{message}");
    let home = folder.join("naca0012");
    for (out, order) in [("out/case", "2"), ("out/first", "1")] {
        let set = format!("numerics.order={order}");
        let args = [
            "-q",
            "run",
            "case.toml",
            "--out",
            out,
            "--set",
            &set,
            "--trace",
            "t.json",
            "--set",
            "march.residual_drop=4",
        ];
        done(&home, &args);
    }
    assert!(json(&home.join("t.json")).as_array().unwrap().len() > 50, "events of every iteration");
    assert_eq!(json(&home.join("out/case/summary.json"))["conditions"]["boundary"]["airfoil"], "slip_wall");
    std::fs::write(home.join("e.csv"), "x,cp\n0.1,-0.5\n0.5,-1.0\n").unwrap();
    done(&home, &["report", "out/case", "--compare", "e.csv"]);
    done(&home, &["report", "out/case", "out/first"]);
    done(&home, &["plot", "out/case", "--compare", "e.csv"]);
    let svg = std::fs::read_to_string(home.join("out/case/cut_wall.svg")).unwrap();
    assert!(svg.contains("upper side") && svg.contains("compared with"));
    let (status, _, message) = chromaflow(&home, &["report", "."]);
    assert!(status == 2 && message.contains("expected summary.json"), "{message}");
    let Some(browser) = available("browser", browser()) else { return };
    for (page, runs) in [("out/case/report.html", 1.0), ("report.html", 2.0)] {
        let body = body(&browser, &home.join(page));
        assert!(body.contains("data-state=\"ready\""), "{body}");
        assert_eq!(attribute(&body, "triangles"), runs * 2.0 * 128.0 * 40.0, "{body}");
        assert!(attribute(&body, "plots") >= 4.0 && attribute(&body, "painted") > 5e4, "{body}");
    }
}

#[test]
fn a_new_case_for_a_mesh_runs_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    done(folder, &["mesh", "generate", "airfoil", "mine.su2", "--cells", "48,16"]);
    let said = done(folder, &["new", "mine.su2"]);
    assert!(said.contains("airfoil = \"slip_wall\"") && said.contains("farfield = \"farfield\""), "{said}");
    let text = std::fs::read_to_string(folder.join("mine.toml")).unwrap();
    assert!(text.contains("area = 1.000000") && text.contains("length = 1.000000"), "{text}");
    done(folder, &["-q", "run", "mine.toml", "--set", "flow.alpha=2.0"]);
    assert_eq!(json(&folder.join("out/mine/summary.json"))["outcome"], "converged");
    let (status, _, message) = chromaflow(folder, &["new", "mine.su2"]);
    assert!(status == 2 && message.contains("mine.toml is there already"), "{message}");
    done(folder, &["new", "mine.su2", "viscous.toml", "--equations", "laminar"]);
    let text = std::fs::read_to_string(folder.join("viscous.toml")).unwrap();
    assert!(text.contains("airfoil = \"no_slip\"") && text.contains("# y+: the first nodes stand"), "{text}");
    // Past a bluff body inviscid flow is not steady.
    done(folder, &["mesh", "generate", "cylinder", "round.su2", "--cells", "48,24"]);
    done(folder, &["new", "round.su2"]);
    let text = std::fs::read_to_string(folder.join("round.toml")).unwrap();
    assert!(text.contains("equations = \"laminar\"") && text.contains("reynolds = 40.0"), "{text}");
    done(folder, &["-q", "run", "round.toml"]);
    // Layers of flat cells at a wall are made for turbulent flow of some Reynolds number.
    let flat = "mesh generate airfoil-c flat.su2 --cells 16,64,40 --first 4e-6";
    done(folder, &flat.split(' ').collect::<Vec<_>>());
    done(folder, &["new", "flat.su2"]);
    let text = std::fs::read_to_string(folder.join("flat.toml")).unwrap();
    assert!(text.contains("equations = \"rans\"") && text.contains("airfoil = \"no_slip\""), "{text}");
    assert!(text.contains("reynolds = 7000000.0 # on reynolds_length: y+ of the first nodes"), "{text}");
    // A case without conditions names what to write.
    std::fs::write(folder.join("bare.toml"), "[mesh]\nfile = \"mine.su2\"\n[flow]\nmach = 0.5\n").unwrap();
    let (status, _, message) = chromaflow(folder, &["run", "bare.toml"]);
    let lines: Vec<&str> = message.lines().filter(|l| l.contains(" = \"")).collect();
    assert!(
        status == 2 && message.contains("markers `airfoil`, `farfield`") && lines.len() == 2,
        "{message}"
    );
    let pasted =
        format!("[mesh]\nfile = \"mine.su2\"\n[flow]\nmach = 0.5\n[boundary]\n{}\n", lines.join("\n"));
    std::fs::write(folder.join("bare.toml"), pasted).unwrap();
    done(folder, &["-q", "run", "bare.toml", "--check"]);
}

/// Walls with slip by their own code or name make no boundary layer: their first nodes say nothing of y+, and where there are no others the flow is
/// inviscid. FUN3D's subsonic outflow is an outlet.
#[test]
fn a_new_case_knows_which_walls_gas_sticks_to() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut channel = box_mesh([8, 24, 1], [1.0, 0.5, 0.1], Cells::Hexes, 0.0);
    channel.nodes.iter_mut().for_each(|x| x[1] = 0.5 * (2.0 * x[1]).powi(4));
    let markers =
        [("in", 7011), ("out", 7012), ("floor", 4000), ("top", 3000), ("front", 6663), ("back", 6663)];
    for (marker, (name, code)) in channel.markers.iter_mut().zip(markers) {
        (marker.name, marker.code) = (name.to_owned(), Some(code));
    }
    mesh::write(&folder.join("channel.b8.ugrid"), &channel).unwrap();
    // As scripts have it that pass the same options to all commands.
    let said = done(folder, &["new", "channel.b8.ugrid", "--threads", "1"]);
    assert!(said.contains("in = \"inlet\"") && said.contains("out = { kind = \"outlet\""), "{said}");
    let text = std::fs::read_to_string(folder.join("channel.toml")).unwrap();
    let first = 0.5 / 24_f64.powi(4);
    let heights = format!("first nodes stand {first:.3e} to {first:.3e} off");
    assert!(text.contains(&heights) && !text.contains("automatic"), "{text}");
    // The same with slip on the floor, too, and a bluff body with it.
    channel.markers[2].code = Some(3000);
    mesh::write(&folder.join("slip.b8.ugrid"), &channel).unwrap();
    let mut round = Cylinder { cells: [24, 12], radius: 20.0, growth: 1.3, triangles: false }.mesh();
    round.markers.iter_mut().filter(|m| m.name == "cylinder").for_each(|m| m.name = "tangency".to_owned());
    mesh::write(&folder.join("round.su2"), &round).unwrap();
    for (file, case) in [("slip.b8.ugrid", "slip.toml"), ("round.su2", "round.toml")] {
        done(folder, &["new", file]);
        let text = std::fs::read_to_string(folder.join(case)).unwrap();
        assert!(text.contains("equations = \"euler\"") && !text.contains("y+"), "{text}");
    }
}

/// Moments are about a point at the body, and cuts through it, whatever the unit of the mesh and wherever it lies.
#[test]
fn a_new_case_knows_where_its_body_is() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    done(folder, &["mesh", "generate", "wing", "w.su2", "--cells", "24,8,8,3"]);
    let half = ["--scale", "0.5"];
    done(folder, &[&["mesh", "transform", "w.su2", "h.su2"][..], &half].concat());
    let entries = |args: &[&str]| {
        done(folder, &[&["mesh", "transform", "h.su2", "m.su2"], args].concat());
        done(folder, &["new", "m.su2", "--force"]);
        done(folder, &["run", "m.toml", "--check"]);
        let case: toml::Table =
            toml::from_str(&std::fs::read_to_string(folder.join("m.toml")).unwrap()).unwrap();
        let number = |v: &toml::Value| v.as_float().unwrap();
        let center: Vec<f64> =
            case["reference"]["moment_center"].as_array().unwrap().iter().map(number).collect();
        let cuts: Vec<f64> =
            case["output"]["cuts"].as_array().unwrap().iter().map(|c| number(&c["at"])).collect();
        (center, cuts, number(&case["reference"]["length"]))
    };
    let (center, cuts, length) = entries(&["--scale", "2"]);
    for (scale, by) in [(1e-6, [0.0; 3]), (1e3, [4e6, 3e5, -2e4]), (1e-3, [0.0, 0.0, 5.0])] {
        let by_text = by.map(|b: f64| b.to_string()).join(",");
        let (c, k, l) = entries(&["--scale", &(2.0 * scale).to_string(), "--translate", &by_text]);
        let near = |a: f64, b: f64| (a - b).abs() <= 2e-5 * scale * length + 1e-12 * b.abs();
        assert!(near(l, scale * length), "{l}");
        assert!(near(c[0], scale * center[0] + by[0]), "{c:?}");
        assert!(k.iter().zip(&cuts).all(|(a, b)| near(*a, scale * b + by[1])), "{k:?}");
        // A wing's sections are as thick on both sides.
        assert!(near(c[2], by[2]), "{c:?}");
        assert!(by[1] == 0.0 || c[1] > k[0] && c[1] < k[2], "{c:?}");
    }
}

#[test]
fn a_sweep_goes_on_after_a_point_that_fails() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    done(folder, &["mesh", "generate", "airfoil", "mine.su2", "--cells", "32,12"]);
    done(folder, &["new", "mine.su2"]);
    let args = [
        "sweep",
        "mine.toml",
        "--set",
        "flow.alpha=0,1,bad,2",
        "--set",
        "march.residual_drop=5",
        "--out",
        "s",
    ];
    let (status, out, message) = chromaflow(folder, &args);
    assert_eq!(status, 1, "one point is no angle\n{out}\n{message}");
    let table = std::fs::read_to_string(folder.join("s/sweep.csv")).unwrap();
    let rows: Vec<Vec<&str>> = table.lines().skip(1).map(|l| l.split(',').collect()).collect();
    let outcomes: Vec<bool> = rows.iter().map(|r| r[1] == "converged").collect();
    assert_eq!(outcomes, [true, true, false, true], "{table}");
    assert!(rows[2][1].starts_with("failed: "), "{table}");
    let lift = |row: usize| rows[row][4].parse::<f64>().unwrap();
    assert!(lift(0).abs() < 1e-4 && lift(1) > 0.05 && (lift(3) / lift(1) - 2.0).abs() < 0.1, "{table}");
    for name in ["lift.svg", "drag.svg", "polar.svg", "alpha_2/restart.safetensors"] {
        assert!(folder.join("s").join(name).exists(), "{name}");
    }
    // The second point began with the first one's state, and came to where the free stream leads.
    done(folder, &["-q", "run", "mine.toml", "--set", "flow.alpha=1", "--set", "march.residual_drop=5"]);
    let anew = json(&folder.join("out/mine/summary.json"))["forces"]["cl"].as_f64().unwrap();
    assert!((anew - lift(1)).abs() < 1e-4, "{anew}: the same flow from either");
}

#[test]
fn a_run_follows_its_control_file() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("cube.su2"), cube(6)).unwrap();
    let case = CASE.replace("iterations = 5", "mode = \"unsteady\"\ndt = 0.01\nsteps = 1000000");
    std::fs::write(folder.join("case.toml"), case.replace("side = \"farfield\"", "side = \"slip_wall\""))
        .unwrap();
    let mut run = Command::new(env!("CARGO_BIN_EXE_chromaflow"));
    let mut run = run.args(["-q", "run", "case.toml", "--threads", "1"]).current_dir(folder).spawn().unwrap();
    let out = folder.join("out/case");
    let wait = |what: &str, over: &dyn Fn() -> bool| {
        let start = Instant::now();
        while !over() {
            assert!(start.elapsed() < Duration::from_secs(60), "{what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    wait("rows to look at", &|| std::fs::metadata(out.join("live.csv")).is_ok_and(|m| m.len() > 500));
    let seen = done(folder, &["watch", "out/case", "--once"]);
    assert!(seen.contains("running") && seen.contains("time step 1000000"), "{seen}");
    std::fs::write(out.join("control.toml"), "checkpoint = true").unwrap();
    wait("a restart", &|| out.join("restart.safetensors").exists());
    std::fs::write(out.join("control.toml"), "stop = true").unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(1), "it was ended short of its steps");
    assert!(out.join("summary.json").exists() && !out.join("live.csv").exists());
    assert!(done(folder, &["watch", "out/case", "--once"]).contains("q: leave"));
}
