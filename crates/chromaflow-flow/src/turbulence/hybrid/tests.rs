use super::*;
use crate::FlowSolver;
use crate::config::{
    Boundary, FlowConfig, GridLength, Hybrid, Time, TurbulenceConfig, TurbulenceModel, Unsteady,
};
use crate::march::{FlowError, Moment};
use crate::mesh::{Marker, Mesh};
use crate::real::{Dual, Real};
use crate::testmesh::mixed_cube;
use crate::turbulence::spalart_allmaras::{
    SaVariant, SpalartAllmaras, eddy_ratio, sa_low_reynolds, sa_source,
};
use crate::turbulence::testcases::{HYBRIDS, along_a_wall};
use crate::wall_distance::NearWalls;
use chromaflow_device::Team;
use std::sync::Arc;

const SA: HybridBase = HybridBase::SpalartAllmaras;
const KAPPA: f64 = 0.41;

/// DES97 is min(d, C_DES Delta).
#[test]
fn des_takes_the_shorter_length() {
    for (d, delta) in [(0.01, 1.0), (0.64, 1.0), (0.66, 1.0), (3.0, 0.2)] {
        let [length, share] =
            hybrid_length(HybridForm::Des, SA, d, d, &[0.65, 7.0], &[delta, 9.0, 9.0], &[1.0, 1.0], 1.0);
        assert_eq!(length, d.min(0.65 * delta));
        assert_eq!(share, f64::from(u8::from(0.65 * delta < d)));
    }
}

/// In the log layer nu_t = kappa u_tau d and g = u_tau / (kappa d), so that r_d = 1: both models keep the distance there to rounding,
/// however fine the grid, and in the viscous layer; between the two, where r_d falls to 0.154, f_d is 0.046 with the constant of
/// Spalart-Allmaras. Off the layer, where eddies fade and the velocity still varies, the grid takes over.
#[test]
fn ddes_shields_boundary_layers() {
    let grid = [1e-3; 3];
    for base in [SA, HybridBase::Sst] {
        for y in [0.1_f64, 1.0, 3.0, 6.0, 8.5, 12.0, 30.0, 300.0, 3000.0] {
            // Of SA in wall units: nut+ = kappa y+, du+/dy+ = 1 / (1 + nu_t+).
            let eddies = eddy_ratio(KAPPA * y);
            let shear = 1.0 / (1.0 + eddies);
            let [length, share] =
                hybrid_length(HybridForm::Ddes, base, y, y, &[0.65, 1.0], &grid, &[eddies, 1.0], shear);
            let buffer = base == SA && (5.0..20.0).contains(&y);
            let most = if buffer { 0.047 } else { 1e-12 };
            assert!(share < most && (length - y).abs() < most * y, "{base:?}, y+ {y}: {length}, {share}");
            assert!(y != 8.5 || !buffer || share > 0.04, "{share}");
        }
        let [length, share] =
            hybrid_length(HybridForm::Ddes, base, 1.0, 1.0, &[0.65, 1.0], &grid, &[1e-4, 1e-6], 1.0);
        assert!(1.0 - share < 1e-4 && (length / 0.65e-3 - 1.0).abs() < 0.1, "{base:?}: {length}, {share}");
    }
}

/// The two branches of IDDES. With the eddies of a RANS layer (r_dt = 1) it keeps the distance as DDES does, without any elevation;
/// without them it is RANS raised by 1 + f_e up to d = 0.5275 h_max, where f_B leaves 1, and the grid's length off that.
#[test]
fn iddes_has_both_its_branches() {
    for (base, c_l2) in [(SA, 3.55_f64 * 3.55), (HybridBase::Sst, 25.0)] {
        let at = |d: f64, h: f64, eddies: f64, molecular: f64| {
            let across = 0.01 * h;
            let viscosities = [eddies, molecular].map(|nu| nu * KAPPA * KAPPA * d * d * 3.0);
            hybrid_length(HybridForm::Iddes, base, d, d, &[0.65, 1.3], &[h, h, across], &viscosities, 3.0)
        };
        for d in [0.01, 0.3, 1.0, 50.0] {
            let [length, share] = at(d, 1.0, 1.0, 0.0);
            assert!((length - d).abs() < 1e-12 * d && share < 1e-12, "{base:?}, d {d}: {length}, {share}");
        }
        // f_B = 1 where |1/4 - d/h| < sqrt(ln 2 / 9) = 0.27753.
        for (d, kept) in [(0.05, true), (0.3, true), (0.52, true), (0.53, false), (0.8, false)] {
            let [length, share] = at(d, 1.0, 0.0, 0.0);
            assert_eq!(share == 0.0, kept, "{base:?}, d {d}");
            let alpha: f64 = 0.25 - d;
            let raised = 2.0 * (if alpha < 0.0 { -9.0 } else { -11.09 } * alpha * alpha).exp() - 1.0;
            if kept {
                let expected = d * (1.0 + 1.3 * raised.max(0.0));
                assert!((length - expected).abs() < 1e-12, "{base:?}, d {d}: {length}, {expected}");
            }
        }
        // In the viscous layer f_l takes the elevation away: r_dl = 1/c_l^2 leaves 1 - tanh(1) of it.
        let [whole, partly, none] = [0.0, 1.0 / c_l2, 1.0].map(|molecular| at(0.3, 1.0, 0.0, molecular)[0]);
        let left = (partly - 0.3) / (whole - 0.3);
        assert!((left - (1.0 - 1.0_f64.tanh())).abs() < 1e-9, "{base:?}: {left}");
        assert!((none - 0.3).abs() < 1e-12 && whole > 0.31);
        // Far off walls the grid's length is h_max, and f_e is none.
        assert!((at(40.0, 1.0, 0.0, 0.0)[0] - 0.65 * 1.3).abs() < 1e-12);
        // Just off the layer Delta = 0.15 d while that is more than 0.15 h_max and h_wn, less than h_max.
        let [length, share] = at(2.0, 1.0, 0.0, 0.0);
        assert!((1.0 - share < 1e-10) && (length - 0.65 * 1.3 * 0.3).abs() < 1e-9, "{length}");
    }
}

/// Psi makes the eddy viscosity of balanced shear in the LES branch Smagorinsky's whatever nut / nu: production and destruction
/// balance where Omega = (cw1 fw* / cb1) nu_t / (C_DES Delta)^2. fw* = 0.424 has three digits.
#[test]
fn psi_makes_a_smagorinsky_model() {
    let (cb1, cw1) = (0.1355, 0.1355 / (KAPPA * KAPPA) + 1.622 * 1.5);
    let model = SpalartAllmaras { variant: SaVariant::NoFt2, scale: 1.0 };
    let mut checked = 0;
    for chi in [0.5, 2.0, 5.0, 12.0, 40.0, 300.0, 1e5] {
        let psi = sa_low_reynolds(model, chi);
        if psi >= 10.0 {
            continue;
        }
        let grid = 0.3;
        let omega = cw1 * 0.424 / cb1 * eddy_ratio(chi) / (grid * grid);
        let [source, _] = sa_source(model, 1.0, chi, omega, psi * grid);
        let destruction = cw1 * (chi / (psi * grid)).powi(2) * 0.424;
        assert!(source.abs() < 5e-3 * destruction, "chi {chi}, psi {psi}: {source}, {destruction}");
        checked += 1;
    }
    assert!(checked >= 4, "{checked}");
    // With ft2, which is 1.2 without eddies, psi is the largest there is.
    let with = SpalartAllmaras { variant: SaVariant::Negative, scale: 1.0 };
    assert_eq!(sa_low_reynolds(with, 1e-3), 10.0);
    assert!((sa_low_reynolds(with, 30.0) - sa_low_reynolds(model, 30.0)).abs() < 1e-12);
}

/// Source and derivative with the length of every hybrid, held as it is, against dual numbers.
#[test]
fn derivatives_against_dual_numbers() {
    type D1 = Dual<f64, 1>;
    let gradient = [[0.3, -2.0, 0.4], [1.1, 0.2, 0.0], [-0.7, 0.9, -0.5]];
    for form in [HybridForm::Des, HybridForm::Ddes, HybridForm::Iddes] {
        for nut in [-2.0, 0.3, 4.0, 60.0, 900.0] {
            for d in [0.01, 0.2, 2.0] {
                let model = SpalartAllmaras { variant: SaVariant::Negative, scale: 1e-3 };
                let [length, share] =
                    sa_hybrid_length(model, form, 1.2, nut, d, &[0.1, 0.15, 0.02], &gradient);
                assert!(length > 0.0 && (0.0..=1.0).contains(&share), "{form:?}: {length} {share}");
                let [_, by] = sa_source(model, 1.2, nut, 3.0, length);
                let exact =
                    sa_source(model.lift(), D1::c(1.2), D1::variable(nut, 0), D1::c(3.0), D1::c(length));
                assert!((by - exact[0].d[0]).abs() <= 1e-11 * (1.0 + by.abs()), "{form:?}, {nut}, {d}");
            }
        }
    }
}

/// A box of 4 x 3 x 5 hexahedra of edges (0.1, 0.2, 0.05) over the wall z0.
fn cells() -> Mesh {
    let n = [4_usize, 3, 5];
    let id = |i: usize, j: usize, k: usize| ((k * (n[1] + 1) + j) * (n[0] + 1) + i) as u32;
    let mut mesh = Mesh::default();
    for k in 0..=n[2] {
        for j in 0..=n[1] {
            for i in 0..=n[0] {
                mesh.nodes.push([0.1 * i as f64, 0.2 * j as f64, 0.05 * k as f64]);
            }
        }
    }
    let corners = |i, j, k| {
        [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)]
            .map(|(a, b, c)| id(i + a, j + b, k + c))
    };
    let mut sides = ["x0", "x1", "y0", "y1", "z0", "z1"]
        .map(|name| Marker { name: name.to_owned(), ..Marker::default() });
    for k in 0..n[2] {
        for j in 0..n[1] {
            for i in 0..n[0] {
                let v = corners(i, j, k);
                mesh.hexes.push(v);
                let at = [i, i + 1, j, j + 1, k, k + 1];
                let ends = [0, n[0], 0, n[1], 0, n[2]];
                let faces =
                    [[0, 4, 7, 3], [1, 2, 6, 5], [0, 1, 5, 4], [3, 7, 6, 2], [0, 3, 2, 1], [4, 5, 6, 7]];
                for side in 0..6 {
                    if at[side] == ends[side] {
                        sides[side].quads.push(faces[side].map(|c| v[c]));
                    }
                }
            }
        }
    }
    mesh.markers = sides.into();
    mesh
}

fn config(model: TurbulenceModel, hybrid: Hybrid, grid_length: GridLength) -> FlowConfig {
    let turbulence = TurbulenceConfig { model, hybrid, grid_length, ..TurbulenceConfig::default() };
    along_a_wall(turbulence)
}

fn solver(mesh: &Mesh, config: &FlowConfig, threads: usize) -> FlowSolver {
    FlowSolver::new(mesh, config.clone(), Arc::new(Team::new(threads))).unwrap()
}

/// Of a box of equal cells: the longest edge, the spacing off the wall, and across a vorticity along y 2/sqrt(3) times half the
/// diagonal of the cells' sides.
#[test]
fn lengths_of_the_grid() {
    let mesh = cells();
    let along_y = [[0.0, 0.0, 3.0], [0.0; 3], [0.0; 3]];
    for (hybrid, length) in
        [(Hybrid::Iddes, GridLength::MaxEdge), (Hybrid::Ddes, GridLength::AcrossVorticity)]
    {
        let config = config(TurbulenceModel::SaNeg, hybrid, length);
        let solver = solver(&mesh, &config, 1);
        let view = solver.host.view(&[], &[]);
        // The mesh in the solver's order.
        let mut ordered = mesh.clone();
        for (row, node) in view.nodes.iter().enumerate() {
            ordered.nodes[row] = [node[5], node[6], node[7]];
        }
        let number = |i: &u32| {
            let x = mesh.nodes[*i as usize];
            ordered.nodes.iter().position(|y| *y == x).unwrap() as u32
        };
        ordered.hexes = mesh.hexes.iter().map(|e| e.each_ref().map(number)).collect();
        for (marker, old) in ordered.markers.iter_mut().zip(&mesh.markers) {
            marker.quads = old.quads.iter().map(|e| e.each_ref().map(number)).collect();
        }
        let holds = |marker: &Marker| config.boundaries[&marker.name].is_no_slip();
        let walls = NearWalls::of(&ordered, holds, &ordered.nodes, view.team).unwrap();
        let turbulence = config.turbulence.as_ref().unwrap();
        let grid = HybridGrid::new(turbulence, (&ordered, &walls), &view).unwrap().unwrap();
        for (row, x) in ordered.nodes.iter().enumerate() {
            let inside = x[2] > 0.01 && x[2] < 0.24;
            let [delta, longest, across] = grid.at(row, &along_y);
            assert!((longest - 0.2).abs() < 1e-15, "{x:?}: {longest}");
            if hybrid == Hybrid::Iddes {
                assert_eq!(delta, longest);
                assert!(!inside || (across - 0.05).abs() < 1e-15, "{x:?}: {across}");
            } else if inside && x[0] > 0.05 && x[0] < 0.35 && x[1] > 0.1 && x[1] < 0.5 {
                let expected = (0.1_f64.hypot(0.05)) / 3.0_f64.sqrt();
                assert!((delta - expected).abs() < 1e-14, "{x:?}: {delta} {expected}");
            }
        }
    }
}

fn profile([x, y, z]: [f64; 3]) -> f64 {
    40.0 * z * (1.2 + (5.0 * x).sin() * (3.0 * y).cos())
}

/// Residual of the model and the diagonal of its matrix, by rows.
fn system(solver: &mut FlowSolver) -> (Vec<f64>, Vec<f64>) {
    let at = Moment::first(1e300);
    solver.host.compute_residual(&at);
    solver.host.coupled_residuals(&at);
    let mut coupled = std::mem::take(&mut solver.host.coupled);
    let view = solver.host.view(&[], &solver.host.fluxes);
    let diagonal = coupled[0].assemble(&view, &at).unwrap().diag.to_vec();
    let residual = coupled[0].residual.clone();
    solver.host.coupled = coupled;
    (residual, diagonal)
}

/// What DES97 adds to the residual of RANS, and to the diagonal of its matrix, are a source and its derivative: differences of one give the
/// other, where both add to the diagonal.
#[test]
fn matrices_have_the_derivatives_of_residuals() {
    let mesh = mixed_cube(5, 0.2);
    let both = [Hybrid::None, Hybrid::Des].map(|hybrid| {
        let config = config(TurbulenceModel::SaNeg, hybrid, GridLength::MaxEdge);
        [-1e-5, 0.0, 1e-5].map(|change| {
            let mut solver = solver(&mesh, &config, 1);
            // Little shear: RANS destroys more than it makes, too.
            solver.set_state(|x| [1.0, 0.4 + 0.004 * x[2].sqrt(), 0.0, 0.001 * x[0], 1.0 / 1.4]);
            solver.set_unknown("nut", |x| profile(x) * (1.0 + change)).unwrap();
            let values = solver.host.coupled[0].state.values.clone();
            (system(&mut solver), values)
        })
    });
    let mut checked = 0;
    let [rans, des] = &both;
    for i in 0..rans[1].1.len() {
        let added = |k: usize| des[k].0.0[i] - rans[k].0.0[i];
        let step = rans[2].1[i] - rans[0].1[i];
        let slope = (added(2) - added(0)) / step;
        let [a, b] = [&des[1].0.1, &rans[1].0.1].map(|diagonal| diagonal[i]);
        if added(1) > 1e-8 * a && b > 0.0 && step > 0.0 {
            // The source of RANS may make nut grow, of which its matrix has nothing.
            assert!(a - b <= slope * (1.0 + 1e-6) + 1e-9 * a, "row {i}: {a} - {b}, {slope}");
            checked += usize::from((a - b - slope).abs() < 1e-5 * slope);
        }
    }
    assert!(checked > 20, "{checked}");
}

/// In time: steps stay bounded, neither threads nor a restart between them change a bit, and the fields have lengths that are no longer
/// than those of RANS but where IDDES raises them.
#[test]
fn runs_in_time_stay_bounded_and_restart() {
    let mesh = mixed_cube(5, 0.1);
    for (model, hybrid, length) in HYBRIDS {
        let mut config = config(model, hybrid, length);
        config.time = Time::Unsteady(Unsteady { dt: 0.05, steps: 6, subiterations: 4, orders: 20.0 });
        let what = format!("{model:?}, {hybrid:?}");
        let run = |threads: usize, stop: usize| {
            let mut solver = solver(&mesh, &config, threads);
            solver.set_state(|[x, y, z]| {
                let u = 0.4 * z.sqrt() + 0.02 * (9.0 * y).sin();
                [1.0, u, 0.02 * (7.0 * x).cos(), 0.02 * (8.0 * y).sin() * z, 1.0 / 1.4]
            });
            if !model.is_spalart_allmaras() {
                // Eddies half as large as the box, which the grid resolves, too weak to be taken for a boundary layer's.
                solver.set_unknown("k", |_| 2e-5).unwrap();
                solver.set_unknown("omega", |_| 0.1).unwrap();
            }
            for step in 1.. {
                let report = solver.step();
                assert!(!report.rejected, "{what}: {:?}", report.bad);
                if report.outcome.is_some() {
                    break;
                }
                if step == stop {
                    let restart = solver.restart();
                    solver = self::solver(&mesh, &config, threads);
                    solver.resume(&restart).unwrap();
                }
            }
            let fields = solver.restart().fields.into_iter().map(|f| f.values).collect::<Vec<_>>();
            (fields, solver.fields())
        };
        // After the second of six steps of four subiterations.
        let (whole, fields) = run(1, 0);
        let (resumed, _) = run(2, 8);
        assert!(whole == resumed, "{what}: a restart changes the result");
        assert!(whole.iter().flatten().all(|v| v.is_finite() && v.abs() < 1e6), "{what}");
        let field = |name: &str| &fields.iter().find(|f| f.name == name).unwrap().values;
        // Where SST's k vanishes, so does its own length, and what IDDES mixes in has no bound over it.
        let most = match (hybrid == Hybrid::Iddes, model.is_spalart_allmaras()) {
            (false, _) => 1.0 + 1e-12,
            (true, true) => 11.0,
            (true, false) => f64::MAX,
        };
        assert!(field(FIELDS[0]).iter().all(|r| *r > 0.0 && *r <= most), "{what}");
        assert!(field(FIELDS[0]).iter().any(|r| *r < 0.99), "{what}: no large eddies anywhere");
        assert!(field(FIELDS[1]).iter().all(|s| (0.0..=1.0).contains(s)), "{what}");
    }
}

#[test]
fn faults_are_named() {
    let fault = |model, hybrid, length| {
        let config = config(model, hybrid, length);
        FlowSolver::new(&mixed_cube(2, 0.0), config, Arc::new(Team::new(1))).err().unwrap()
    };
    let wilcox = fault(TurbulenceModel::KOmega, Hybrid::Ddes, GridLength::MaxEdge);
    assert!(matches!(wilcox, FlowError::Hybrid { .. }) && wilcox.to_string().contains("sst"), "{wilcox}");
    let iddes = fault(TurbulenceModel::Sst, Hybrid::Iddes, GridLength::AcrossVorticity);
    assert!(iddes.to_string().contains("max_edge"), "{iddes}");
}

/// Without walls the length is the grid's everywhere, that of DDES with its correction of low Reynolds numbers; RANS wants a wall.
#[test]
fn boxes_without_walls_take_the_lengths_of_the_grid() {
    let mesh = mixed_cube(4, 0.1);
    for (model, hybrid, _) in HYBRIDS {
        let mut config = config(model, hybrid, GridLength::MaxEdge);
        config.boundaries.values_mut().for_each(|boundary| *boundary = Boundary::Symmetry);
        config.time = Time::Unsteady(Unsteady { dt: 0.05, steps: 2, subiterations: 4, orders: 20.0 });
        let mut solver = solver(&mesh, &config, 1);
        if model.is_spalart_allmaras() {
            solver.set_unknown("nut", |_| 5.0).unwrap();
        }
        for _ in 0..8 {
            assert!(!solver.step().rejected, "{model:?}, {hybrid:?}");
        }
        let fields = solver.fields();
        let field = |name: &str| &fields.iter().find(|f| f.name == name).unwrap().values;
        // SST's own length is none of the walls', and may be the shorter one.
        let (share, length) = (field("hybrid_share"), field("hybrid_length_ratio"));
        if model.is_spalart_allmaras() {
            assert!(share.iter().all(|share| *share == 1.0) && length.iter().all(|l| *l > 0.0 && *l < 1e-28));
        }
        assert!(length.iter().all(|l| l.is_finite() && *l > 0.0), "{model:?}, {hybrid:?}");
        config.turbulence.as_mut().unwrap().hybrid = Hybrid::None;
        let fault = FlowSolver::new(&mesh, config, Arc::new(Team::new(1))).err().unwrap();
        assert!(matches!(fault, FlowError::NoWall { .. }), "{fault}");
    }
}

/// Of the cells of a box: the longest edge, the height, and the length across the vorticity; of a plane whatever its depth is.
#[test]
fn cells_of_grids_have_lengths() {
    use super::cells::{HybridCells, grid_lengths};
    use crate::grid::generate::BoxGrid;
    use crate::wall_distance::Nearest;
    let config = TurbulenceConfig {
        hybrid: Hybrid::Ddes,
        grid_length: GridLength::AcrossVorticity,
        ..TurbulenceConfig::default()
    };
    assert_eq!(HybridForm::of(&config).unwrap(), Some(HybridForm::Ddes));
    let grid = BoxGrid { cells: [2, 3, 2], size: [0.6, 0.3, 2.0], wave: 0.0 }.grid();
    let near = |place| vec![Nearest { distance: 1.0, place, face: 0 }; 12];
    for (axes, longest, across) in [(&[0, 1, 2][..], 1.0, 1.09_f64.sqrt()), (&[0, 1], 0.3, 0.3)] {
        // The wall far below, and far behind.
        for (place, height) in [([0.15, -1e9, 0.5], 0.1), ([1e9, 0.05, 0.5], 0.3)] {
            let cells = HybridCells::new(&config, &grid.blocks[0], axes, &near(place));
            assert_eq!(cells.numbers.len(), 12 * cells.width());
            let of = |gradient: &[[f64; 3]; 3]| grid_lengths(cells.arms, |c| cells.numbers[c], gradient);
            // Turning about y: arms along x and z, of a plane along x alone.
            let [delta, most, wide] = of(&[[0.0, 0.0, 5.0], [0.0; 3], [0.0; 3]]);
            let expected: f64 = 2.0 / 3.0_f64.sqrt() * 0.5 * across;
            assert!((delta - expected.min(longest)).abs() < 1e-12, "{delta} {expected}");
            assert!((most - longest).abs() < 1e-12 && (wide - height).abs() < 1e-8, "{most} {wide}");
            assert_eq!(of(&[[0.0; 3]; 3])[0], most);
        }
    }
}
