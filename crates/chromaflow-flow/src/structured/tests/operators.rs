//! The implicit operators against differences of the residuals that they linearize: what a step solves must be
//! `dq + dt/V R'(q)[dq] = -dt/V R`, with R' the derivative, taken here by differences along dq.

use super::super::*;
use crate::bc::{Condition, ConditionClass, condition_class, condition_flux, flux_through};
use crate::config::{Boundary, Equations, Freestream};
use crate::flux::{Dissipation, RoeFix, dissipation_matrix, flux_roe, roe_absolute, spectral_radius};
use crate::gas::Gas;
use crate::grid::generate::BoxGrid;
use crate::viscous::spectral_radius_viscous;

const GAS: Gas<f64> = Gas::AIR;

/// Part of a residual: the flux through a face, with the coefficients that the operator holds fixed.
enum Face {
    /// Central, less a matrix times the change across.
    Between { cells: [usize; 2], n: [f64; 3], damping: [f64; 25] },
    /// Central, with a number times the fourth difference and less a number times the change across.
    Smoothed { cells: [usize; 4], n: [f64; 3], fourth: f64, viscous: f64 },
    /// A boundary's own flux at the cell, outwards, and a number times the momentum and the energy there.
    Boundary { cell: usize, n: [f64; 3], condition: Box<Condition<f64>>, viscous: f64 },
    /// What leaves a uniform flow through the end of a line, outwards, where nothing changes beyond.
    Leaving { cell: usize, n: [f64; 3], viscous: f64 },
}

/// The flux and the cells that it leaves and enters.
fn flux_of(face: &Face, free: &[f64; 5], q: &[[f64; 5]]) -> ([f64; 5], Option<usize>, Option<usize>) {
    let w = |cell: usize| primitive(GAS, &q[cell]);
    match face {
        Face::Between { cells: [b, c], n, damping } => {
            let half = n.map(|v| 0.5 * v);
            let (left, right) = (flux_through(GAS, &w(*b), &half), flux_through(GAS, &w(*c), &half));
            let jump = |r: usize| (0..5).map(|k| damping[k * 5 + r] * (q[*c][k] - q[*b][k])).sum::<f64>();
            (std::array::from_fn(|r| left[r] + right[r] - jump(r)), Some(*b), Some(*c))
        }
        Face::Smoothed { cells: [a, b, c, d], n, fourth, viscous } => {
            let half = n.map(|v| 0.5 * v);
            let (left, right) = (flux_through(GAS, &w(*b), &half), flux_through(GAS, &w(*c), &half));
            let [qa, qb, qc, qd] = [a, b, c, d].map(|cell| q[*cell]);
            let smooth =
                |r: usize| fourth * (qd[r] - qa[r] + 3.0 * (qb[r] - qc[r])) - viscous * (qc[r] - qb[r]);
            (std::array::from_fn(|r| left[r] + right[r] + smooth(r)), Some(*b), Some(*c))
        }
        Face::Boundary { cell, n, condition, viscous } => {
            let mut flux = condition_flux(condition, GAS, &w(*cell), n);
            (1..5).for_each(|r| flux[r] += viscous * q[*cell][r]);
            (flux, Some(*cell), None)
        }
        Face::Leaving { cell, n, viscous } => {
            let sharp = RoeFix { acoustic: 0.0, convective: 0.0, cutoff_mach: 1.0, dissipation: 1.0 };
            let flux = flux_roe(GAS, &w(*cell), free, n, sharp);
            (std::array::from_fn(|r| flux[r] + viscous * q[*cell][r]), Some(*cell), None)
        }
    }
}

fn number(block: &BlockState, [i, j, k]: [usize; 3]) -> usize {
    let [ni, nj, _] = block.cells.count;
    (k * nj + j) * ni + i
}

/// How the differences across a face are smoothed.
#[derive(Clone, Copy, PartialEq)]
enum Smoothing {
    /// By the block form's dissipation.
    Block,
    /// By the diagonal form's, with fourth differences or without.
    Waves { fourth: bool },
}

/// All faces of a system's block across the axes, at the present state.
fn faces(system: &StructuredSystem, axes: &[usize], share: f64, smoothing: Smoothing) -> Vec<Face> {
    let (block, physics) = (&system.blocks[0], &system.physics);
    let mut out = Vec::new();
    for &axis in axes {
        let n = block.cells.count[axis];
        let [u, v] = [(axis + 1) % 3, (axis + 2) % 3];
        for place in 0..block.cells.count[u] * block.cells.count[v] {
            // Cell c of the line, around its ends where it is closed.
            let cell = |c: usize| {
                let mut cell = [0; 3];
                cell[axis] = c % n;
                (cell[u], cell[v]) = (place % block.cells.count[u], place / block.cells.count[u]);
                cell
            };
            let closed = block.closed[axis];
            for c in 0..if closed { n } else { n + 1 } {
                let (low, high) = (!closed && c == 0, !closed && c == n);
                let at = if high {
                    block.cells.inside(cell(n - 1)) + block.cells.stride[axis]
                } else {
                    block.cells.inside(cell(c))
                };
                let area = block.metrics.face(axis, at);
                let [before, after] = [at - block.cells.stride[axis], at].map(|at| block.state(at));
                let viscous = physics.transport.map_or(0.0, |transport| {
                    let volumes = [at - block.cells.stride[axis], at].map(|at| block.metrics.volume[at]);
                    let mean: [f64; 5] = std::array::from_fn(|v| 0.5 * (before[v] + after[v]));
                    let volume = 0.5 * (volumes[0] + volumes[1]);
                    spectral_radius_viscous(GAS, transport, &mean, &area, volume)
                });
                if low || high {
                    let cell = cell(if low { 0 } else { n - 1 });
                    out.push(end(system, (axis, high), cell, (area, viscous), smoothing));
                    continue;
                }
                let [a, b, d] = [c + n - 2, c + n - 1, c + 1].map(|c| number(block, cell(c)));
                let here = number(block, cell(c));
                let near = !closed && (c <= 1 || c + 1 >= n);
                let radius =
                    0.5 * (spectral_radius(GAS, &before, &area) + spectral_radius(GAS, &after, &area));
                if let (Smoothing::Waves { fourth: true }, Scheme::Scalar(given), false) =
                    (smoothing, physics.scheme, near)
                {
                    let fourth = 2.0 * given.fourth * radius;
                    out.push(Face::Smoothed { cells: [a, b, here, d], n: area, fourth, viscous });
                    continue;
                }
                let mut damping = match (smoothing, physics.scheme) {
                    (Smoothing::Waves { fourth: true }, Scheme::Scalar(given)) => {
                        unit(4.0 * given.fourth * radius)
                    }
                    (Smoothing::Waves { .. }, _) | (_, Scheme::Scalar(_)) => unit(share * radius),
                    (_, Scheme::Matrix(d)) => {
                        dissipation_matrix(GAS, &before, &after, &area, d).map(|v| share * v)
                    }
                    (_, Scheme::Roe { .. }) => {
                        roe_absolute(GAS, &before, &after, &area, physics.fix).map(|v| share * v)
                    }
                };
                (0..5).for_each(|k| damping[6 * k] += viscous);
                out.push(Face::Between { cells: [b, here], n: area, damping });
            }
        }
    }
    out
}

fn unit(value: f64) -> [f64; 25] {
    std::array::from_fn(|e| if e % 6 == 0 { value } else { 0.0 })
}

/// The face at an end of a line.
fn end(
    system: &StructuredSystem,
    (axis, high): (usize, bool),
    cell: [usize; 3],
    (area, viscous): ([f64; 3], f64),
    smoothing: Smoothing,
) -> Face {
    let block = &system.blocks[0];
    let n = if high { area } else { area.map(|v| -v) };
    let here = number(block, cell);
    if smoothing != Smoothing::Block {
        return Face::Leaving { cell: here, n, viscous };
    }
    let patch = system
        .patches
        .iter()
        .find(|p| p.window.side.axis == axis && p.window.side.high == high)
        .expect("a patch on every side");
    let view = patch.view(block, block.cells.inside(cell));
    let viscous = match (condition_class(&patch.condition), system.physics.transport) {
        (ConditionClass::NoSlip, Some(transport)) => {
            3.0 * spectral_radius_viscous(GAS, transport, &view.w[0], &n, view.volume)
        }
        _ => 0.0,
    };
    Face::Boundary { cell: here, n, condition: Box::new(patch.condition), viscous }
}

/// R'(q)[dq] by central differences.
fn along(faces: &[Face], free: &[f64; 5], q: &[[f64; 5]], dq: &[[f64; 5]]) -> Vec<[f64; 5]> {
    let most = dq.as_flattened().iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    let h = 1e-5 / most;
    let mut out = vec![[0.0; 5]; q.len()];
    for way in [1.0, -1.0] {
        let moved: Vec<[f64; 5]> =
            q.iter().zip(dq).map(|(q, d)| std::array::from_fn(|r| q[r] + way * h * d[r])).collect();
        for face in faces {
            let (flux, from, to) = flux_of(face, free, &moved);
            for (cell, sign) in [(from, way), (to, -way)] {
                let Some(cell) = cell else { continue };
                (0..5).for_each(|r| out[cell][r] += sign * flux[r] / (2.0 * h));
            }
        }
    }
    out
}

/// Numbers without a pattern between -1 and 1.
fn scattered(i: usize) -> f64 {
    (12.9898 * i as f64 + 0.3).sin()
}

/// Gives the block time steps and a residual, lets `solve` replace that by the update, and holds the update to the operator.
fn is_solved(
    solver: &mut StructuredSolver,
    axes: &[usize],
    (share, smoothing, tolerance): (f64, Smoothing, f64),
    what: &str,
    solve: impl FnOnce(&mut StructuredSystem),
) {
    let (q, free) = (solver.state(), solver.free_stream());
    let system = &mut solver.host;
    system.fill_ghosts();
    residual::time_steps(&system.team, &system.physics, 5.0, LocalStep::Largest, &mut system.blocks[0]);
    for (i, r) in system.blocks[0].r.iter_mut().enumerate() {
        *r = 0.01 * scattered(i);
    }
    let given = vectors(&system.blocks[0]);
    solve(system);
    let block = &system.blocks[0];
    let dq = vectors(block);
    let change = along(&faces(system, axes, share, smoothing), &free, &q, &dq);
    let tau = |at: usize, i: usize| block.dt[i] / block.metrics.volume[at];
    let cells = block.cells.places();
    let mut worst = (0.0_f64, 0.0_f64);
    for (i, at) in cells.enumerate() {
        for r in 0..5 {
            let expected = -tau(at, i) * given[i][r];
            let found = dq[i][r] + tau(at, i) * change[i][r];
            worst = (worst.0.max((found - expected).abs()), worst.1.max(expected.abs()));
        }
    }
    assert!(worst.1 > 0.0 && worst.0 < tolerance * worst.1, "{what}: {worst:?}");
}

/// The block's residual or update, cell by cell.
fn vectors(block: &BlockState) -> Vec<[f64; 5]> {
    let [ni, nj, nk] = block.cells.count;
    let cells = (0..ni * nj * nk).map(|i| [i % ni, i / ni % nj, i / (ni * nj)]);
    cells.map(|cell| std::array::from_fn(|v| block.r[block.residual_at(cell) + v * ni])).collect()
}

fn solver(grid: Grid, scheme: Scheme, equations: Equations, method: StepMethod) -> StructuredSolver {
    let wall = if equations == Equations::Laminar {
        Boundary::NoSlipIsothermal { temperature: 1.1 }
    } else {
        Boundary::Farfield
    };
    let inlet = Boundary::Inlet { total_pressure: 1.25, total_temperature: 1.05, direction: [1.0, 0.1, 0.0] };
    let sides = [
        ("xmin", inlet),
        ("xmax", Boundary::Outlet { pressure: 0.98 }),
        ("ymin", wall),
        ("ymax", Boundary::SlipWall),
        ("zmin", Boundary::Symmetry),
        ("zmax", Boundary::Extrapolation),
    ];
    let markers: Vec<String> = grid.markers().iter().map(|m| (*m).to_owned()).collect();
    let config = StructuredConfig {
        freestream: Freestream {
            mach: 0.5,
            alpha_deg: 20.0,
            beta_deg: -10.0,
            reynolds: 50.0,
            ..Freestream::default()
        },
        equations,
        scheme,
        boundaries: sides
            .into_iter()
            .map(|(name, b)| (name.to_owned(), b))
            .filter(|(name, _)| markers.contains(name))
            .collect(),
        implicit: LineImplicit { method, ..LineImplicit::default() },
        ..StructuredConfig::default()
    };
    StructuredSolver::new(grid, config, Arc::new(Team::new(2))).unwrap()
}

/// A smooth flow that is no solution, the same at both ends of a box of sides 2, 1 and 0.8.
fn smooth(x: [f64; 3]) -> [f64; 5] {
    let turn = std::f64::consts::TAU;
    let s = (turn * x[0] / 2.0).sin() * (turn * x[1]).cos() + 0.5 * (turn * x[2] / 0.8).sin();
    let w = [1.0 + 0.1 * s, 0.4 + 0.05 * s, 0.1 * s, -0.2 + 0.1 * (turn * x[1]).sin(), 0.7 + 0.07 * s];
    conserved(GAS, &w)
}

/// A wavy box with boundaries on all sides, and a straight one whose lines along `axis` are closed.
fn grids(axis: usize) -> [Grid; 2] {
    let cells = [10, 9, 6];
    let [low, high] = [["xmin", "xmax"], ["ymin", "ymax"], ["zmin", "zmax"]][axis];
    let size = [2.0, 1.0, 0.8];
    let straight = BoxGrid { cells, size, wave: 0.0 }.grid().periodic(low, high).unwrap();
    [BoxGrid { cells, size, wave: 0.06 }.grid(), straight]
}

const SCHEMES: [Scheme; 3] = [
    Scheme::Scalar(Dissipation::DEFAULT),
    Scheme::Matrix(Dissipation::DEFAULT),
    Scheme::Roe { kappa: 1.0 / 3.0, limited: true },
];

/// One factor of Beam & Warming's step along each axis, others left out, in a flow that varies.
#[test]
fn block_lines_solve_the_differenced_residual() {
    let share = 0.4;
    for (scheme, equations) in [Equations::Euler, Equations::Laminar]
        .into_iter()
        .flat_map(|equations| SCHEMES.map(|scheme| (scheme, equations)))
    {
        for axis in 0..3 {
            for (g, grid) in grids(axis).into_iter().enumerate() {
                let method = StepMethod::BeamWarming;
                let mut solver = solver(grid, scheme, equations, method);
                solver.set_state(smooth);
                let what = format!("{scheme:?}, {equations:?}, axis {axis}, grid {g}");
                is_solved(&mut solver, &[axis], (share, Smoothing::Block, 1e-7), &what, |system| {
                    let StructuredSystem { team, physics, patches, lines, blocks, .. } = system;
                    blocks[0].active = [0, 1, 2].map(|d| d == axis);
                    lines.factors(team, physics, (method, share), patches, &mut blocks[0]).unwrap();
                });
            }
        }
    }
}

/// The same for the diagonal form, whose eigenvectors are constant where the flow is uniform and the faces along each line
/// are parallel: there, nothing is frozen that the residual would change. Its differences are of the conserved variables, those of
/// the residual of rho H in the energy's place.
#[test]
fn diagonal_lines_solve_the_differenced_residual_of_a_uniform_flow() {
    let share = 0.4;
    for equations in [Equations::Euler, Equations::Laminar] {
        for (fourth, scheme) in [(true, SCHEMES[0]), (false, SCHEMES[0]), (false, SCHEMES[2])] {
            for axis in 0..3 {
                let cells = [10, 9, 6];
                let open = BoxGrid { cells, size: [2.0, 1.0, 0.8], wave: 0.0 }.grid();
                for (g, grid) in [open, grids(axis)[1].clone()].into_iter().enumerate() {
                    let method = StepMethod::Diagonal { fourth };
                    let mut solver = solver(grid, scheme, equations, method);
                    let free = conserved(GAS, &solver.free_stream());
                    solver.set_state(|_| free);
                    // Ghosts would take the boundaries' states: the lines see only the middle of both.
                    solver.host.patches.iter_mut().for_each(|p| p.condition.kind = open_kind());
                    let what = format!("{scheme:?}, {equations:?}, fourth {fourth}, axis {axis}, grid {g}");
                    let smoothing = Smoothing::Waves { fourth };
                    is_solved(&mut solver, &[axis], (share, smoothing, 1e-6), &what, |system| {
                        let StructuredSystem { team, physics, patches, lines, blocks, .. } = system;
                        blocks[0].active = [0, 1, 2].map(|d| d == axis);
                        lines.factors(team, physics, (method, share), patches, &mut blocks[0]).unwrap();
                    });
                }
            }
        }
    }
}

fn open_kind() -> crate::bc::ConditionKind {
    crate::bc::ConditionKind::Farfield
}

/// Many sweeps of SSOR solve the unfactored operator of all axes at once.
#[test]
fn sweeps_solve_the_differenced_residual() {
    let share = 0.5;
    for equations in [Equations::Euler, Equations::Laminar] {
        for axis in 0..3 {
            for (g, grid) in grids(axis).into_iter().enumerate() {
                let method = StepMethod::Ssor { sweeps: 100, relaxation: 1.0 };
                let mut solver = solver(grid, SCHEMES[0], equations, method);
                solver.set_state(smooth);
                let what = format!("{equations:?}, grid {g}, axis {axis}");
                let wanted = (share, Smoothing::Block, 1e-7);
                is_solved(&mut solver, &[0, 1, 2], wanted, &what, |system| {
                    let StructuredSystem { team, physics, patches, ssor, blocks, part, .. } = system;
                    ssor.solve(team, physics, share, (100, 1.0), patches, blocks, &part.exchange);
                });
            }
        }
    }
}
