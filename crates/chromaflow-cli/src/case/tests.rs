use super::*;
use crate::context::Backend;
use chromaflow::factor::block_ilu::Fill;
use chromaflow_flow::structured::Scheme;
use std::path::Path;

fn parse(text: &str) -> Result<(Source, CaseFile), String> {
    let source = Source::of_text(Path::new("a.toml"), text);
    let case = source.parse_with(&[]).map_err(|e| e.to_string())?;
    Ok((source, case))
}

#[test]
fn an_empty_file_has_the_solvers_defaults() {
    let (source, case) = parse("[mesh]\nfile = \"wing.su2\"\n").unwrap();
    let config = case.config(&source, &[], false).unwrap();
    assert_eq!(
        config,
        chromaflow_flow::FlowConfig { reference: config.reference.clone(), ..Default::default() }
    );
}

#[test]
fn printed_defaults_read_back_as_the_defaults() {
    let (_, case) = parse(&defaults()).unwrap();
    assert_eq!(case, CaseFile::default());
    assert!(defaults().contains("# Angle of attack, degrees"));
}

#[test]
fn an_unknown_key_points_at_the_line_and_suggests() {
    let error = parse("[mesh]\nfile = \"w.su2\"\n[flow]\n  amch = 0.5\n").unwrap_err();
    assert!(error.starts_with("a.toml:4:3: unknown key `amch`; did you mean `mach`?"), "{error}");
    assert!(error.contains("4 |   amch = 0.5\n  |   ^^^^"), "{error}");
    let error = parse("[numerics]\nlimiter = \"venkat\"\n").unwrap_err();
    assert!(error.contains("unknown value `venkat`"), "{error}");
    assert!(error.contains("a.toml:2:11"), "{error}");
    let error = parse("[linear]\norder = \"multicolour\"\n").unwrap_err();
    assert!(error.contains("unknown value `multicolour`; did you mean `multicolor`?"), "{error}");
    let error = parse("[boundary]\nwing = \"slip_wal\"\n").unwrap_err();
    assert!(error.contains("did you mean `slip_wall`?") && error.contains("a.toml:2:8"), "{error}");
    let error = parse("[boundary]\nback = \"outflow\"\n").unwrap_err();
    assert!(error.contains("did you mean `outlet`?"), "{error}");
    let error = parse("[boundary]\nin = { kind = \"inlet\", total_presure = 1.1 }\n").unwrap_err();
    assert!(error.contains("did you mean `total_pressure`?") && error.contains("a.toml:2:"), "{error}");
}

/// Conditions as other programs call them.
#[test]
fn words_of_other_programs_for_conditions_are_understood() {
    for (word, own) in [
        ("viscous_wall", "no_slip"),
        ("adiabatic", "no_slip"),
        ("wall_adiabatic", "no_slip"),
        ("isothermal", "no_slip"),
        ("MARKER_HEATFLUX", "no_slip"),
        ("viscous_solid", "no_slip"),
        ("BCWallViscous", "no_slip"),
        ("noSlip", "no_slip"),
        ("MARKER_EULER", "slip_wall"),
        ("tangency", "slip_wall"),
        ("symmetryPlane", "symmetry"),
        ("MARKER_FAR", "farfield"),
        ("farfield_riem", "farfield"),
        ("pressure-far-field", "farfield"),
        ("pressure_outlet", "outlet"),
        ("pressure-outlet", "outlet"),
        ("back_pressure", "outlet"),
        ("velocity-inlet", "velocity_inlet"),
        ("pressure-inlet", "inlet"),
        ("mass-flow-outlet", "mass_flow_outlet"),
        ("MARKER_SUPERSONIC_OUTLET", "extrapolation"),
        ("cyclic", "periodic"),
    ] {
        let error = parse(&format!("[boundary]\nwing = \"{word}\"\n")).unwrap_err();
        assert!(error.contains(&format!("unknown value `{word}`; did you mean `{own}`?")), "{error}");
    }
    let error = parse("[boundary]\nwing = { kind = \"viscous_wall\" }\n").unwrap_err();
    assert!(error.contains("did you mean `no_slip`?"), "{error}");
}

#[test]
fn a_wrong_type_or_broken_syntax_points_at_the_line() {
    let error = parse("[flow]\nmach = \"fast\"\n").unwrap_err();
    assert!(error.starts_with("a.toml:2:8: invalid type"), "{error}");
    let error = parse("[flow]\nmach = = 2\n").unwrap_err();
    assert!(error.starts_with("a.toml:2:8: "), "{error}");
}

/// TOML's `nan` and `inf` are numbers of no key, in lists and tables, too.
#[test]
fn numbers_without_bounds_are_refused() {
    for (text, place) in [
        ("[flow]\nalpha = nan", "a.toml:2:9: "),
        ("[flow]\nalpha = -inf", "a.toml:2:9: "),
        ("[output]\ncuts = [{ axis = \"y\", at = nan }]", "a.toml:2:28: "),
        ("[reference]\nmoment_center = [0.0, nan, 0.0]", "a.toml:2:23: "),
    ] {
        let error = parse(text).unwrap_err();
        assert!(error.starts_with(place) && error.contains("expected a finite number"), "{error}");
        let (section, entry) = text.split_once('\n').unwrap();
        let set = format!("{}.{}", section.trim_matches(['[', ']']), entry.replace(' ', ""));
        let source = Source::of_text(Path::new("a.toml"), "[mesh]\nfile = \"w\"\n");
        let error = source.parse_with::<CaseFile>(&[set]).unwrap_err().to_string();
        assert!(error.starts_with("--set ") && error.contains("expected a finite number"), "{error}");
    }
}

/// One value of a marker's condition, whether this is a table or a word, and whatever the marker is called.
#[test]
fn values_of_conditions_are_set_one_by_one() {
    let text = "[mesh]\nfile = \"w\"\n[boundary]\nout = { kind = \"outlet\", pressure = 1.0 }\nin = \"inlet\"\n\"a.b\" = \"farfield\"\n";
    let source = Source::of_text(Path::new("a.toml"), text);
    let set = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
        source.parse_with::<CaseFile>(&sets).map_err(|e| e.to_string())
    };
    let same = |sets: &[&str], whole: &[&str]| {
        let [a, b] = [set(sets), set(whole)].map(|case| format!("{:?}", case.unwrap().boundary));
        assert_eq!(a, b, "{sets:?}");
    };
    same(&["boundary.out.pressure=1.5"], &["boundary.out={kind=\"outlet\",pressure=1.5}"]);
    let total = "{kind=\"inlet\",total_pressure=1.2,total_temperature=1.1}";
    same(
        &["boundary.in.total_pressure=1.2", "boundary.in.total_temperature=1.1"],
        &[&format!("boundary.in={total}")],
    );
    same(&["boundary.a.b=symmetry"], &["boundary.a.b=\"symmetry\""]);
    same(&["boundary.\"out\".pressure=1.5"], &["boundary.out.pressure=1.5"]);
    same(&["boundary.'a.b'.kind=symmetry"], &["boundary.a.b=\"symmetry\""]);
    assert!(set(&["boundary.\"x = y\"=symmetry"]).unwrap().boundary["x = y"].is_symmetry());
    for (change, problem) in [
        ("boundary.\"other wall\".pressure=1.5", "no condition for `other wall`"),
        ("flow.\"mach\".x=1", "expected section.key=value"),
        ("boundary.\"open=1", "expected section.key=value"),
    ] {
        assert!(set(&[change]).unwrap_err().contains(problem), "{change}");
    }
    assert!(set(&["boundary.other.pressure=1.5"]).unwrap_err().contains("expected a boundary condition"));
}

#[test]
fn values_out_of_range_name_the_key() {
    for (text, expect) in [
        ("[flow]\nmach = -1.0", "mach is -1: expected a positive number"),
        ("[flow]\nequations = \"laminar\"", "reynolds is 0"),
        ("[numerics]\norder = 3", "order is 3: expected 1 or 2"),
        ("[linear]\nsweeps = 0", "sweeps is 0"),
        ("[march]\niterations = 0", "iterations is 0: expected 1 or more"),
        ("[march]\nsteps = 0", "steps is 0"),
        ("[march]\nsubiterations = 0", "subiterations is 0"),
    ] {
        let (source, case) = parse(&format!("[mesh]\nfile = \"w\"\n{text}\n")).unwrap();
        let error = case.check(&source).unwrap_err();
        assert!(error.to_string().contains(expect), "{error}");
        assert_eq!(error.status(), 2);
    }
}

/// What a change of a key gets wrong is told of the change: the file has another value.
#[test]
fn errors_of_changes_name_the_change() {
    let text = "[mesh]\nfile = \"w\"\n[flow]\nequations = \"laminar\"\nreynolds = 9e6\n[boundary]\nout = { kind = \"outlet\", pressure = 1.0 }\n";
    let of = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        let source = Source::of_text(Path::new("a.toml"), text);
        let (source, Case::Unstructured(case)) = Case::of(source, &sets, Backend::Cpu).unwrap() else {
            panic!("a case of a mesh")
        };
        case.config(&source, &[("out".to_owned(), None)], false).unwrap_err().to_string()
    };
    let error = of(&["flow.mach=0.3", "flow.reynolds=0"]);
    assert!(error.starts_with("--set flow.reynolds=0: reynolds is 0"), "{error}");
    let error = of(&["boundary.out.pressure=-1.0"]);
    assert!(error.starts_with("--set boundary.out.pressure=-1.0: "), "{error}");
    let error = of(&["boundary.\"out\".pressure=-1.0"]);
    assert!(error.starts_with("--set boundary.\"out\".pressure=-1.0: "), "{error}");
    let error = of(&["reference.area=0"]);
    assert!(error.starts_with("--set reference.area=0: "), "{error}");
}

#[test]
fn a_turbulence_model_is_what_its_section_says() {
    let of = |text: &str| {
        let source = Source::of_text(Path::new("a.toml"), &format!("[mesh]\nfile = \"w\"\n{text}\n"));
        match Case::of(source, &[], Backend::Cpu).map_err(|e| e.to_string())? {
            (source, Case::Unstructured(case)) => {
                case.config(&source, &[], false).map(|c| c.turbulence).map_err(|e| e.to_string())
            }
            _ => unreachable!("a case of a mesh"),
        }
    };
    assert_eq!(of(""), Ok(None));
    let rans = "[flow]\nequations = \"rans\"\nreynolds = 1e6\n";
    assert_eq!(of(rans), Ok(Some(flow::TurbulenceConfig::default())));
    let solver = |text: &str| {
        let source = Source::of_text(Path::new("a.toml"), &format!("[mesh]\nfile = \"w\"\n{rans}{text}\n"));
        let (_, Case::Unstructured(case)) = Case::of(source, &[], Backend::Cpu).unwrap() else {
            unreachable!("a case of a mesh")
        };
        (case.linear.method, case.linear.precond, case.march.cfl_max)
    };
    assert_eq!(solver(""), (MethodName::Gmres, PrecondName::Ilu0, 1e6));
    let plain = "[march]\nnonlinear = \"defect_correction\"";
    assert_eq!(solver(plain), (MethodName::Gmres, PrecondName::Ilu0, 1e4));
    assert_eq!(solver("[march]\ncfl_max = 50.0"), (MethodName::Gmres, PrecondName::Ilu0, 50.0));
    let sweeps = solver(&format!("{plain}\n[linear]\nmethod = \"multicolor\""));
    assert_eq!(sweeps, (MethodName::Multicolor, PrecondName::Multicolor, 200.0));
    assert_eq!(solver("[linear]\nprecond = \"lines\""), (MethodName::Gmres, PrecondName::Lines, 1e6));
    let plain = of(&format!("{rans}[turbulence]\nmodel = \"sa\"\ninflow = 4.0\norder = 2")).unwrap().unwrap();
    assert_eq!((plain.model, plain.inflow, plain.second_order), (flow::TurbulenceModel::Sa, 4.0, true));
    let two = of(&format!("{rans}[turbulence]\nmodel = \"sst-v\"\ninflow_k = 1e-8\nsustained = true"))
        .unwrap()
        .unwrap();
    assert_eq!((two.model, two.inflow_k, two.sustained), (flow::TurbulenceModel::SstVorticity, 1e-8, true));
    assert_eq!(two.inflow_ratio, 0.009);
    for (text, expect) in [
        (
            "[turbulence]\nmodel = \"sa\"".to_owned(),
            "does not use turbulence.model: only `equations = \"rans\"`",
        ),
        (format!("{rans}[turbulence]\ninflow = 0.0"), "inflow is 0: expected a positive number"),
        (format!("{rans}[turbulence]\norder = 3"), "order is 3: expected 1 or 2"),
        (
            format!("{rans}[turbulence]\nmodel = \"sst\"\ninflow_k = 0.0"),
            "inflow_k is 0: expected a positive number",
        ),
        (
            format!("{rans}[turbulence]\nmodel = \"sst\"\ninflow = 4.0"),
            "does not use turbulence.inflow: k-omega models have `inflow_k`",
        ),
        (format!("{rans}[turbulence]\nsustained = true"), "does not use turbulence.sustained: `sa`"),
        (format!("{rans}[turbulence]\nmodel = \"sa_neg\""), "did you mean `sa-neg`?"),
        (
            format!("{rans}[turbulence]\nqcr = 2020"),
            "expected a word, in quotes even where it is of digits alone",
        ),
        ("[flow]\nequations = \"rans\"".to_owned(), "reynolds is 0"),
    ] {
        let error = of(&text).unwrap_err();
        assert!(error.contains(expect) && error.contains("a.toml:"), "{error}");
    }
}

/// Turbulent flow on structured grids takes Roe's flux, below Mach 1 without a limiter, where nothing else is said, on a GPU as on a CPU.
#[test]
fn structured_grids_have_turbulence() {
    let of = |text: &str, backend| {
        let text = format!("[grid]\nfile = \"g\"\n[flow]\nequations = \"rans\"\nreynolds = 1e6\n{text}");
        match Case::of(Source::of_text(Path::new("a.toml"), &text), &[], backend)
            .map_err(|e| e.to_string())?
        {
            (source, Case::Structured(case)) => {
                case.config(&source, &[], false).map(|c| case.structured.config(c)).map_err(|e| e.to_string())
            }
            _ => panic!("a case of a structured grid"),
        }
    };
    let roe = |limited| Scheme::Roe { kappa: 1.0 / 3.0, limited };
    let slow = of("mach = 0.5\n[turbulence]\nmodel = \"sa\"\norder = 2", Backend::Cpu).unwrap();
    assert_eq!((slow.scheme, slow.equations), (roe(false), flow::Equations::Laminar));
    assert!(matches!(slow.implicit.nonlinear, flow::Nonlinear::NewtonKrylov(_)));
    let turbulence = slow.turbulence.unwrap();
    assert_eq!((turbulence.model, turbulence.second_order), (flow::TurbulenceModel::Sa, true));
    assert_eq!(of("mach = 1.5", Backend::Cpu).unwrap().scheme, roe(true));
    let in_time = of(
        "mach = 0.5\n[turbulence]\nmodel = \"sst\"\n[march]\nmode = \"unsteady\"\ndt = 0.1\nsteps = 2",
        Backend::Cpu,
    );
    let in_time = in_time.unwrap();
    assert!(matches!(in_time.implicit.nonlinear, flow::Nonlinear::NewtonKrylov(_)));
    assert_eq!(in_time.turbulence.unwrap().model, flow::TurbulenceModel::Sst);
    let given = "mach = 0.5\n[structured]\nlimited = true";
    assert_eq!(of(given, Backend::Cpu).unwrap().scheme, roe(true));
    let matrix = of("mach = 0.5\n[structured]\nscheme = \"matrix\"", Backend::Cpu).unwrap().scheme;
    assert!(matches!(matrix, Scheme::Matrix(_)));
    let there = of("mach = 0.5", Backend::Cuda).unwrap();
    assert_eq!(there.scheme, roe(false));
    assert!(
        there.turbulence.is_some() && matches!(there.implicit.nonlinear, flow::Nonlinear::NewtonKrylov(_))
    );
    let options =
        "mach = 0.5\n[turbulence]\nqcr = \"2020\"\nrotation_correction = \"sa-rc\"\nwalls = \"automatic\"";
    let options = of(options, Backend::Cpu).unwrap().turbulence.unwrap();
    assert_eq!(
        (options.quadratic, options.rotation, options.walls),
        (flow::Quadratic::Qcr2020, flow::Rotation::Curved, flow::WallTreatment::Automatic)
    );
    let error = of("mach = 0.5\n[turbulence]\nsustained = true", Backend::Cpu).unwrap_err();
    assert!(error.contains("does not use turbulence.sustained"), "{error}");
}

#[test]
fn steady_flow_takes_newton_krylov_steps_unless_told_otherwise() {
    let of = |text: &str| {
        let source = Source::of_text(Path::new("a.toml"), &format!("[mesh]\nfile = \"w\"\n{text}\n"));
        match Case::of(source, &[], Backend::Cpu).map_err(|e| e.to_string())? {
            (source, Case::Unstructured(case)) => {
                case.config(&source, &[], false).map(|c| c.implicit).map_err(|e| e.to_string())
            }
            _ => unreachable!("a case of a mesh"),
        }
    };
    let defaults = flow::Implicit::default();
    let newton = of("").unwrap();
    assert_eq!(newton.nonlinear, flow::Nonlinear::NewtonKrylov(flow::NewtonKrylov::default()));
    assert_eq!((newton.cfl.max, newton.cfl.growth, newton.sweeps), (1e6, 2.0, 6));
    assert_eq!(of("[march]\nnonlinear = \"defect_correction\"").unwrap(), defaults);
    assert_eq!(of("[march]\nmode = \"unsteady\"").unwrap(), defaults);
    let given = of("[march]\ncfl_max = 50.0\nnewton_directions = 7\n[linear]\nsweeps = 3").unwrap();
    assert_eq!((given.cfl.max, given.cfl.growth, given.sweeps), (50.0, 2.0, 3));
    let options = flow::NewtonKrylov { directions: 7, ..flow::NewtonKrylov::default() };
    assert_eq!(given.nonlinear, flow::Nonlinear::NewtonKrylov(options));
    for (text, expect) in [
        ("[march]\nmode = \"unsteady\"\nnewton_directions = 7", "does not use march.newton_directions"),
        ("[march]\nnewton_directions = 0", "newton_directions is 0: expected 1 or more"),
        ("[march]\nnewton_tolerance = 1.0", "newton_tolerance is 1: expected below 1"),
        ("[march]\nnonlinear = \"newton_krilov\"", "did you mean `newton_krylov`?"),
    ] {
        let error = of(text).unwrap_err();
        assert!(error.contains(expect) && error.contains("a.toml:"), "{error}");
    }
    let fluid = |name: &str| format!("[flow]\nequations = \"{name}\"\nreynolds = 1e3\n");
    let fill = |planar: bool, text: &str, backend| {
        let source = Source::of_text(Path::new("a.toml"), &format!("[mesh]\nfile = \"w\"\n{text}\n"));
        let (source, case) = Case::of(source, &[], backend).unwrap();
        let Case::Unstructured(case) = case else { unreachable!("a case of a mesh") };
        let implicit = case.config(&source, &[], planar).unwrap().implicit;
        (implicit.method, implicit.preconditioner)
    };
    let ilu = |level| {
        (chromaflow::solver::Method::Gmres, chromaflow::solver::PreconditionerKind::Ilu(Fill::Level(level)))
    };
    assert_eq!(fill(true, &fluid("laminar"), Backend::Cpu), ilu(2));
    assert_eq!(fill(false, &fluid("rans"), Backend::Cpu), ilu(1));
    assert_eq!(fill(true, &format!("{}[linear]\nfill = 0", fluid("rans")), Backend::Cpu), ilu(0));
    assert_eq!(fill(true, &fluid("rans"), Backend::Cuda), ilu(2));
    assert_eq!(fill(true, &fluid("laminar"), Backend::Cuda), ilu(2));
    let on_grid = |text: &str, backend| {
        let source = Source::of_text(Path::new("a.toml"), &format!("[grid]\nfile = \"g\"\n{text}\n"));
        let (source, case) = Case::of(source, &[], backend).unwrap();
        let Case::Structured(case) = case else { unreachable!("a case of a grid") };
        let implicit = case.structured.config(case.config(&source, &[], true).unwrap()).implicit;
        (implicit.nonlinear, implicit.cfl.start, implicit.cfl.max)
    };
    let plain = flow::Nonlinear::DefectCorrection;
    for backend in [Backend::Cpu, Backend::Cuda] {
        assert_eq!(on_grid("", backend), (newton.nonlinear, 2.0, 1e6));
    }
    assert_eq!(on_grid("[structured]\nmethod = \"ssor\"", Backend::Cpu), (plain, 2.0, 200.0));
    assert_eq!(on_grid("[march]\nmode = \"unsteady\"\ncfl_max = 1.0", Backend::Cpu), (plain, 1.0, 1.0));
    let grid = "[grid]\nfile = \"g\"\n[structured]\nmethod = \"ssor\"\n[march]\nnewton_directions = 3\n";
    let grid = Source::of_text(Path::new("a.toml"), grid);
    let error = Case::of(grid, &[], Backend::Cpu).unwrap_err().to_string();
    assert!(error.contains("does not use march.newton_directions"), "{error}");
}

#[test]
fn stretched_meshes_of_inviscid_flow_take_factors() {
    use chromaflow::solver::{Method, PreconditionerKind};
    use chromaflow_flow::mesh::Planar;
    use chromaflow_flow::mesh::generate::{Cells, box_mesh};
    let mesh = |height: f64| {
        let mut mesh = box_mesh([8, 8, 1], [1.0, height, 0.1], Cells::Hexes, 0.0);
        mesh.planar = Some(Planar { nodes_2d: 81, depth: 0.1 });
        mesh
    };
    let of = |mesh: &chromaflow_flow::mesh::Mesh, text: &str| {
        let source = Source::of_text(Path::new("a.toml"), &format!("[mesh]\nfile = \"w\"\n{text}\n"));
        let (source, case) = Case::of(source, &[], Backend::Cpu).unwrap();
        let Case::Unstructured(mut case) = case else { unreachable!("a case of a mesh") };
        let found = case.choose_on_mesh(mesh, 1);
        let implicit = case.config(&source, &[], mesh.planar.is_some()).unwrap().implicit;
        (found.map(f64::round), implicit.method, implicit.preconditioner)
    };
    let sweeps = (Method::Richardson, PreconditionerKind::Multicolor);
    let factors = (Method::Gmres, PreconditionerKind::Ilu(Fill::Level(2)));
    let (square, flat) = (mesh(1.0), mesh(0.1));
    assert_eq!(of(&square, ""), (Some(1.0), sweeps.0, sweeps.1));
    assert_eq!(of(&flat, ""), (Some(10.0), factors.0, factors.1));
    for given in [
        "[linear]\nmethod = \"multicolor\"",
        "[linear]\nsweeps = 6",
        "[march]\nnonlinear = \"defect_correction\"",
    ] {
        assert_eq!(of(&flat, given), (None, sweeps.0, sweeps.1), "{given}");
    }
    let boxes = |height: f64| box_mesh([8, 8, 8], [1.0, 1.0, height], Cells::Tets, 0.0);
    let spatial = PreconditionerKind::Ilu(Fill::Level(1));
    for (height, expected) in [(1.0, sweeps), (0.2, sweeps), (0.01, (factors.0, spatial))] {
        let (found, method, preconditioner) = of(&boxes(height), "");
        assert!(found.is_some() && (method, preconditioner) == expected, "{height}: {found:?}");
    }
}

/// Slabs and sectors, up to three cells wide between planes of symmetry, as planar meshes; not wider ones, nor between walls.
#[test]
fn stretched_slabs_take_the_fill_of_planar_meshes() {
    use chromaflow_flow::mesh::generate::{Cells, box_mesh};
    let of = |flow: &str, layers: usize, sides: &str| {
        let mesh = box_mesh([8, 8, layers], [1.0, 0.01, 1.0], Cells::Hexes, 0.0);
        let text =
            format!("[mesh]\nfile = \"w\"\n{flow}[boundary]\nzmin = \"{sides}\"\nzmax = \"{sides}\"\n");
        let (_, case) = Case::of(Source::of_text(Path::new("a.toml"), &text), &[], Backend::Cpu).unwrap();
        let Case::Unstructured(mut case) = case else { unreachable!("a case of a mesh") };
        case.choose_on_mesh(&mesh, 1);
        assert_eq!(case.linear.method, MethodName::Gmres, "{layers} layers are stretched");
        (case.linear.precond, case.fill(false))
    };
    let found = [(1, "symmetry"), (3, "symmetry"), (4, "symmetry"), (1, "slip_wall")];
    let viscous = "[flow]\nequations = \"laminar\"\nreynolds = 1e4\n";
    for flow in ["", viscous] {
        let wider = if flow.is_empty() { PrecondName::Ilu0 } else { PrecondName::Lines };
        let slab = (PrecondName::Ilu0, Fill::Level(2));
        let expected = [slab, slab, (wider, Fill::Level(1)), (wider, Fill::Level(1))];
        assert_eq!(found.map(|(layers, sides)| of(flow, layers, sides)), expected, "{flow}");
    }
}

/// Steady viscous flow on stretched hexahedra; not on cubes, on tetrahedra, or where the case says how.
#[test]
fn stretched_hexahedra_are_relaxed_along_lines() {
    use chromaflow::solver::PreconditionerKind;
    use chromaflow_flow::mesh::generate::{Cells, box_mesh};
    let of = |(height, cells), text: &str| {
        let mesh = box_mesh([8, 8, 8], [1.0, 1.0, height], cells, 0.0);
        let text = format!("[mesh]\nfile = \"w\"\n[flow]\nequations = \"rans\"\nreynolds = 1e6\n{text}");
        let source = Source::of_text(Path::new("a.toml"), &text);
        let (source, case) = Case::of(source, &[], Backend::Cpu).unwrap();
        let Case::Unstructured(mut case) = case else { unreachable!("a case of a mesh") };
        case.choose_on_mesh(&mesh, 1);
        let implicit = case.config(&source, &[], false).unwrap().implicit;
        (implicit.preconditioner, implicit.preconditioner_sweeps)
    };
    let (flat, ilu) = ((0.01, Cells::Hexes), |level| PreconditionerKind::Ilu(Fill::Level(level)));
    assert_eq!(of(flat, ""), (PreconditionerKind::Lines, 4));
    assert_eq!(of((1.0, Cells::Hexes), "").0, ilu(1));
    assert_eq!(of((0.01, Cells::Tets), "").0, ilu(1));
    assert_eq!(of(flat, "[linear]\nfill = 0\n").0, ilu(0));
}

#[test]
fn markers_are_matched_with_the_mesh() {
    let markers = [("wing".to_owned(), None), ("far".to_owned(), None)];
    let of = |text: &str| {
        let (source, case) = parse(&format!("[mesh]\nfile = \"w\"\n[boundary]\n{text}\n")).unwrap();
        case.config(&source, &markers, false).map_err(|e| e.to_string())
    };
    let good = of("wing = \"slip_wall\"\nfar = \"farfield\"").unwrap();
    assert_eq!(good.boundaries["wing"], flow::Boundary::SlipWall);
    let error = of("wign = \"slip_wall\"").unwrap_err();
    assert!(error.contains("no marker `wign`; did you mean `wing`? (its markers: wing, far)"), "{error}");
    let error = of("wing = \"slip_wall\"").unwrap_err();
    assert!(error.contains("no condition for the mesh's marker `far`"), "{error}");
    let error = of("wing = \"outlet\"\nfar = \"farfield\"").unwrap_err();
    assert!(error.contains("`outlet` needs `pressure`"), "{error}");
    let error = of("wing = { kind = \"symmetry\", pressure = 1.0 }").unwrap_err();
    assert!(error.contains("`symmetry` has no parameter `pressure`"), "{error}");
}

/// What an inlet lets in goes along the free stream, whatever its angles and the axis of lift.
#[test]
fn inlets_follow_the_free_stream() {
    let text = "[mesh]\nfile = \"w\"\n[flow]\nalpha = 10.0\nbeta = 5.0\n[boundary]\nin = \"inlet\"\n";
    let (source, case) = parse(text).unwrap();
    for (planar, axis) in [(true, 1), (false, 2)] {
        let config = case.config(&source, &[("in".to_owned(), None)], planar).unwrap();
        assert_eq!(config.reference.lift_axis, Some(axis));
        let flow::Boundary::Inlet { direction, .. } = config.boundaries["in"] else { panic!("an inlet") };
        assert_eq!(direction, config.freestream.direction(axis));
    }
}

#[test]
fn the_schema_names_every_section() {
    let schema = schema();
    for section in ["mesh", "flow", "boundary", "numerics", "march", "linear", "output"] {
        assert!(schema["properties"].get(section).is_some(), "{section}");
    }
}

/// Remake the page with `CHROMAFLOW_UPDATE=1 cargo test -p chromaflow-cli the_book`.
#[test]
fn the_book_has_the_reference() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/case-reference.md");
    if std::env::var_os("CHROMAFLOW_UPDATE").is_some() {
        std::fs::write(&path, reference()).unwrap();
    }
    let page = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(page == reference(), "docs/src/case-reference.md is out of date; see this test's comment");
}

/// Every key that a kind of case has no use for is refused where it stands, with the kind and what to do.
#[test]
fn keys_without_a_use_are_refused() {
    let base = |kind: SolverKind| match kind {
        SolverKind::Unstructured => "",
        SolverKind::Structured => {
            "[grid]\ngenerate = { kind = \"channel\", cells = [8, 4], thickness = 0.1 }\n"
        }
        SolverKind::Incompressible => {
            "[grid]\ngenerate = { kind = \"cavity\", cells = [4, 4] }\n[incompressible]\nviscosity = 0.1\n"
        }
    };
    let known = serde_json::to_value(CaseFile::default()).unwrap();
    let kinds = [SolverKind::Unstructured, SolverKind::Structured, SolverKind::Incompressible];
    let mut refused = 0;
    for kind in kinds {
        let read = |text: &str, sets: &[String]| {
            Case::of(Source::of_text(Path::new("a.toml"), text), sets, Backend::Cpu)
                .map_err(|e| e.to_string())
        };
        assert_eq!(read(base(kind), &[]).unwrap().1.kind(), kind);
        for (section, keys, remedy) in kind.unused() {
            let all: Vec<&str> = known[section].as_object().unwrap().keys().map(String::as_str).collect();
            for key in if keys.is_empty() { &all[..] } else { keys } {
                let text = format!("{}[{section}]\n{key} = 1\n", base(kind));
                let set = [format!("{section}.{key}=1")];
                let errors = [read(&text, &[]).unwrap_err(), read(base(kind), &set).unwrap_err()];
                for (error, place) in errors.iter().zip(["a.toml:", "--set "]) {
                    assert!(error.starts_with(place), "{error}");
                    for part in [kind.title(), &format!("does not use {section}.{key}"), remedy] {
                        assert!(error.contains(part), "{error}");
                    }
                }
                refused += 1;
            }
        }
    }
    assert!(refused > 60, "{refused}");
}

#[test]
fn keys_of_other_methods_are_refused() {
    let read = |method: &str, rest: &str| {
        let text = format!("[grid]\nfile = \"a.xyz\"\n[structured]\nmethod = \"{method}\"\n{rest}\n");
        Case::of(Source::of_text(Path::new("a.toml"), &text), &[], Backend::Cpu).map_err(|e| e.to_string())
    };
    for (method, rest, remedy) in [
        ("beam_warming", "sweeps = 3", "belongs to method ssor"),
        ("ssor", "courant = 0.5", "set `cfl_max`"),
        ("diagonal", "coarse_grids = 2", "belongs to method lax_wendroff"),
        ("lax_wendroff", "start_layer = 0.1", "leave it out"),
        ("lax_wendroff", "[march]\ncfl_max = 5.0", "set `courant` in [structured]"),
    ] {
        let error = read(method, rest).unwrap_err();
        assert!(error.starts_with("a.toml:") && error.contains(remedy), "{error}");
    }
    for (method, rest) in
        [("ssor", "sweeps = 3"), ("lax_wendroff", "courant = 0.5"), ("diagonal", "[march]\ncfl_max = 5.0")]
    {
        read(method, rest).unwrap();
    }
}

#[test]
fn a_scalar_is_what_its_section_says() {
    let markers = [("wall".to_owned(), Some(flow::Boundary::SlipWall))];
    let of = |text: &str| {
        let source = Source::of_text(Path::new("a.toml"), &format!("[mesh]\nfile = \"w\"\n{text}\n"));
        match Case::of(source, &[], Backend::Cpu).map_err(|e| e.to_string())? {
            (source, Case::Unstructured(case)) => {
                case.config(&source, &markers, false).map(|c| c.scalar).map_err(|e| e.to_string())
            }
            _ => unreachable!("a case of a mesh"),
        }
    };
    assert_eq!(of(""), Ok(None));
    let scalar = of("[scalar]\nname = \"dye\"\norder = 1\ndiffusivity = 0.1\nmarkers = { wall = 2.0 }");
    let expected = flow::ScalarConfig {
        name: "dye".to_owned(),
        second_order: false,
        diffusivity: Some(0.1),
        values: [("wall".to_owned(), 2.0)].into(),
        ..flow::ScalarConfig::default()
    };
    assert_eq!(scalar, Ok(Some(expected)));
    for (text, expect) in [
        ("inflow = 1.0", "does not use scalar.inflow: give the scalar a `name`"),
        ("name = \"dye\"\nschmidt = 1.0", "does not use scalar.schmidt: only laminar flow"),
        ("name = \"dye\"\norder = 1\nlimited = true", "does not use scalar.limited"),
        ("name = \"dye\"\norder = 3", "order is 3: expected 1 or 2"),
        ("name = \"density\"", "`density` is the name of another field"),
        ("name = \"a dye\"", "expected letters, digits and _"),
        ("name = \"dye\"\n[flow]\nequations = \"rans\"\nreynolds = 1e6", "turbulent diffusion of a scalar"),
        ("name = \"dye\"\nmarkers = { wal = 1.0 }", "no marker `wal`; did you mean `wall`?"),
        ("name = \"dye\"\nvalue = 1.0", "unknown key `value`"),
    ] {
        let error = of(&format!("[scalar]\n{text}")).unwrap_err();
        assert!(error.contains(expect) && error.contains("a.toml:"), "{error}");
    }
    for kind in ["[grid]\nfile = \"g\"", "[incompressible]"] {
        let source = Source::of_text(Path::new("a.toml"), &format!("{kind}\n[scalar]\nname = \"dye\"\n"));
        let error = Case::of(source, &[], Backend::Cpu).unwrap_err().to_string();
        assert!(error.contains("does not use scalar.name"), "{error}");
    }
}
