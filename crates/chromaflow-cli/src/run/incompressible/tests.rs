//! What case files say, and what is wrong with them.

use super::*;
use crate::case::Case;
use crate::context::Backend;
use chromaflow_flow::config::{TurbulenceConfig, TurbulenceModel};
use chromaflow_flow::incompressible::Boundary;
use chromaflow_flow::incompressible::{Given, WallScalar};
use std::path::Path;

const CASE: &str = r#"
[grid]
generate = { kind = "box", cells = [6, 5, 1], size = [2.0, 1.0, 1.0] }
split = [[0, 0, 2]]
[incompressible]
viscosity = 0.1
scalars = [{ name = "temperature", diffusivity = 0.2, buoyancy = [0.0, 1.0, 0.0], reference = 0.5 }]
[boundary]
xmin = { kind = "inflow", velocity = [2.0, 0.0, 0.0], profile = "parabolic" }
xmax = "outflow"
ymin = { kind = "wall", scalars = { temperature = 1.0 } }
ymax = { kind = "wall", velocity = [0.5, 0.0, 0.0] }
zmin = "symmetry"
zmax = "symmetry"
"#;

fn read(text: &str) -> Result<Config, String> {
    let read = || {
        let (source, case) = Case::of(Source::of_text(Path::new("a.toml"), text), &[], Backend::Cpu)?;
        let Case::Incompressible(case) = case else { panic!("a case of incompressible flow") };
        let grid = case.grid.load(&source)?;
        case.config(&source, &grid::places(&grid), grid.plane().map(|(lacks, _)| lacks))
    };
    read().map_err(|e: CliError| e.to_string())
}

#[test]
fn a_case_file_is_the_solvers_configuration() {
    let config = read(CASE).unwrap();
    assert_eq!((config.fluid.viscosity, config.fluid.scalars[0].diffusivity), (0.1, 0.2));
    let Boundary::Inflow(Given::By(inflow)) = &config.boundaries["xmin"] else { panic!("a profile") };
    assert_eq!(inflow([0.0, 0.5, 0.3], 0.0), [2.0, 0.0, 0.0, 0.5], "the peak, the reference");
    assert_eq!(inflow([0.0, 0.25, 0.3], 0.0)[0], 1.5, "3/4 of the peak");
    let Boundary::Wall { motion, scalars } = &config.boundaries["ymax"] else { panic!("a wall") };
    assert_eq!((motion.velocity[0], scalars[0]), (0.5, WallScalar::NoFlux));
    let Boundary::Wall { scalars, .. } = &config.boundaries["ymin"] else { panic!("a wall") };
    assert_eq!(scalars[0], WallScalar::Value(1.0));
}

/// Artificial compressibility is the square of the case's own speed: of a velocity, of what pressure, buoyancy or a force can drive, of reference; and that
/// of friction between walls; or as given.
#[test]
fn compressibility_follows_the_speed_of_the_case() {
    let of = |text: &str| read(text).unwrap().fluid.compressibility;
    let near =
        |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-12, "{found} {expected}");
    // Walls of length 2 and, where the inlet is one, 1; 1 apart.
    let creeping = |viscosity: f64| (2.0 * viscosity).powi(2);
    near(of(CASE), 4.0 + creeping(0.1));
    near(of(&CASE.replace("viscosity = 0.1", "viscosity = 20.0")), 4.0 + creeping(20.0));
    near(of(&CASE.replace("[2.0, 0.0, 0.0]", "[0.0, 1e-3, 0.0]")), 0.25 + creeping(0.1));
    let still = CASE.replace("velocity = [0.5, 0.0, 0.0]", "velocity = [0.0, 0.0, 0.0]");
    let driven = |inlet: &str| {
        still.replace(r#"{ kind = "inflow", velocity = [2.0, 0.0, 0.0], profile = "parabolic" }"#, inlet)
    };
    let pressed = driven(r#"{ kind = "outflow", pressure = 8.0 }"#);
    near(of(&pressed), 16.0 + creeping(0.1));
    // A buoyancy of 1 times half a degree over a length of 2; viscous flow is slower: f L^2 / (8 nu).
    let buoyant = driven(r#""wall""#);
    near(of(&buoyant), 1.0 + creeping(0.1));
    near(of(&buoyant.replace("viscosity = 0.1", "viscosity = 2.5")), 0.01 + creeping(2.5));
    near(of(&buoyant.replace("temperature = 1.0", "temperature = 0.5")), 1.0 + creeping(0.1));
    let reference = "[reference]\nvelocity = 3.0\n[boundary]";
    near(
        of(&buoyant.replace("temperature = 1.0", "temperature = 0.5").replace("[boundary]", reference)),
        9.0 + creeping(0.1),
    );
    assert_eq!(of(&CASE.replace("viscosity = 0.1", "viscosity = 0.1\ncompressibility = 7.0")), 7.0);
}

/// Words of compressible flow are told from those here; markers that are planes of symmetry by their type need no entry; without viscosity walls hold
/// nothing.
#[test]
fn words_and_planes_are_those_of_compressible_flow() {
    for (word, own) in [
        ("no_slip", "wall"),
        ("slip_wall", "symmetry"),
        ("inlet", "inflow"),
        ("outlet", "outflow"),
        ("viscous_wall", "wall"),
        ("velocity-inlet", "inflow"),
        ("pressure-outlet", "outflow"),
    ] {
        let error = read(&CASE.replace("\"outflow\"", &format!("{word:?}"))).unwrap_err();
        assert!(error.contains(&format!("did you mean `{own}`?")), "{error}");
    }
    assert!(read(CASE).unwrap().boundaries.contains_key("zmax"));
    assert!(!read(&CASE.replace("zmax = \"symmetry\"\n", "")).unwrap().boundaries.contains_key("zmax"));
    let (source, case) = Case::of(Source::of_text(Path::new("a.toml"), CASE), &[], Backend::Cpu).unwrap();
    let Case::Incompressible(mut case) = case else { panic!("a case of incompressible flow") };
    let mut grid = case.grid.load(&source).unwrap();
    grid.patches.iter_mut().filter(|p| p.name == "zmax").for_each(|p| p.name = "Symmetry_Z".to_owned());
    case.boundary.remove("zmax");
    let config = case.config(&source, &grid::places(&grid), None).unwrap();
    assert!(matches!(config.boundaries["Symmetry_Z"], Boundary::Symmetry));
    assert_eq!(without_viscosity(&config), None);
    case.incompressible.viscosity = 0.0;
    let told = without_viscosity(&case.config(&source, &grid::places(&grid), None).unwrap()).unwrap();
    assert!(told.starts_with("`ymax`, `ymin`: incompressible.viscosity is 0"), "{told}");
}

/// `[turbulence]` is that of compressible flow, with what flows in over the reference's velocity, on a GPU as on a CPU.
#[test]
fn there_is_turbulence() {
    assert_eq!(read(CASE).unwrap().turbulence, None);
    let turbulent = |keys: &str| format!("{CASE}[turbulence]\n{keys}\n");
    let of = read(&turbulent("model = \"sst\"\ninflow_k = 1e-4\norder = 2")).unwrap().turbulence.unwrap();
    assert_eq!((of.model, of.inflow_k, of.second_order), (TurbulenceModel::Sst, 1e-4, true));
    let plain = read(&format!("{CASE}[turbulence]\n")).unwrap().turbulence;
    assert_eq!(plain, Some(TurbulenceConfig::default()));
    for (keys, expect) in [
        ("model = \"sst\"\ninflow = 3.0", "does not use turbulence.inflow: k-omega models have"),
        ("inflow = 0.0", "inflow is 0: expected a positive number"),
        ("model = \"k-epsilon\"", "k-epsilon"),
    ] {
        let error = read(&turbulent(keys)).unwrap_err();
        assert!(error.contains(expect) && error.contains("a.toml:"), "{error}");
    }
    let there = |text: &str| Case::of(Source::of_text(Path::new("a.toml"), text), &[], Backend::Cuda);
    assert!(there(&turbulent("")).is_ok());
    let names = (0..26).map(|m| format!("{{ name = \"s{m}\" }}")).collect::<Vec<_>>().join(", ");
    let many = CASE.replace(
        "scalars = [{ name = \"temperature\", diffusivity = 0.2, ",
        &format!("scalars = [{names}, {{ name = \"temperature\", diffusivity = 0.2, "),
    );
    assert!(there(&many).is_ok());
    let error = there(&format!("{many}[turbulence]\nmodel = \"sst\"\n")).unwrap_err().to_string();
    assert!(
        error.contains("33 unknowns a cell: expected at most 32") && error.contains("a.toml:"),
        "{error}"
    );
    let driven = read(&CASE.replace("[incompressible]", "[incompressible]\nforce = [1.0, 0.0, 0.0]"));
    assert_eq!(driven.unwrap().force, [1.0, 0.0, 0.0]);
}

#[test]
fn what_is_wrong_is_named() {
    for (from, to, expect) in [
        ("viscosity", "viscosty", "did you mean `viscosity`?"),
        ("\"outflow\"", "\"outflw\"", "did you mean `outflow`?"),
        ("velocity = [2.0, 0.0, 0.0], ", "", "`velocity` is missing"),
        ("{ temperature = 1.0 }", "{ heat = 1.0 }", "`heat` is none of the scalars"),
        ("xmax =", "outlet =", "the grid has no marker `outlet`"),
        ("[0, 0, 2]", "[0, 0, 6]", "cannot cut block 0"),
        ("cells = [6, 5, 1]", "cells = [6, 0, 1]", "one or more along each axis"),
        ("[boundary]", "[march]\nmax_change = 0.5\n[boundary]", "does not use march.max_change"),
        ("[boundary]", "[numerics]\norder = 3\n[boundary]", "order is 3: expected 1 or 2"),
        ("name = \"temperature\"", "name = \"pressure\"", "expected a name of its own"),
    ] {
        assert!(CASE.contains(from), "{from}");
        let error = read(&CASE.replacen(from, to, 1)).unwrap_err();
        assert!(error.contains(expect), "{error}");
        assert!(error.contains("a.toml"), "{error}");
    }
}
