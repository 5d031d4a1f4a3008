//! The matrix, its products and whole marches beside the host's.

use super::super::tests::{
    MATRIX, ROE, SCALAR, between_walls, blocks, bump, config, driven, in_ring, in_tunnel, plane, ring,
    solver, turned,
};
use super::*;
use crate::config::{Boundary, Equations, Freestream, Steady, Time, Unsteady};
use crate::grid::Grid;
use crate::grid::generate::{AirfoilC, BoxGrid};
use crate::march::Device;
use crate::structured::tests::flows::{by_newton, front_of_a_cylinder, plate, steady, total_state};
use crate::structured::tests::pinched;
use crate::structured::{Scheme, StructuredConfig, StructuredSolver, residual};
use crate::testgpu::{close, close_step, gpu};
use chromaflow::gpu::Wish;
use chromaflow::{Jacobian, OffDiagonal, Outcome, Policy};
use chromaflow_device::Team;
use std::sync::Arc;

pub(in super::super) type Conditions = fn(&str) -> Boundary;

/// Two blocks of a wavy box, one of them in other axes.
fn two_blocks() -> Grid {
    let grid = BoxGrid { cells: [9, 5, 4], size: [2.0, 1.0, 0.8], wave: 0.06 }.grid().split(0, 0, 4).unwrap();
    grid.reorient(1, [1, 2, 0], [true, false, false])
}

/// One block of so many cells that closes on itself along y.
fn loop_of(cells: usize) -> Grid {
    let grid = BoxGrid { cells: [6, cells, 5], size: [1.0, 1.0, 0.7], wave: 0.0 }.grid();
    grid.periodic("ymin", "ymax").unwrap()
}

/// Every boundary condition, side and kind of neighbor: two sides that see the same cell, or their own, turned ones, faces without area.
pub(in super::super) fn grids() -> Vec<(&'static str, Grid, Conditions)> {
    vec![
        ("in a tunnel", two_blocks(), in_tunnel),
        ("between walls", two_blocks(), between_walls),
        ("driven", two_blocks(), driven),
        ("ring", ring(), between_walls),
        ("loop of two", loop_of(2), in_tunnel),
        ("loop of one", loop_of(1), between_walls),
        ("turned sides", turned([5, 4, 3]), in_ring),
        ("turned loop of two", turned([4, 2, 3]), in_ring),
        ("plane", plane(), between_walls),
        ("faces without area", pinched([6, 5, 4]), |_| Boundary::Farfield),
    ]
}

pub(in super::super) fn of(
    equations: Equations,
    grid: &Grid,
    conditions: Conditions,
    scheme: Scheme,
) -> StructuredConfig {
    by_newton(StructuredConfig { equations, ..config(grid, conditions, scheme) })
}

/// A solver on the device with the state of one here, whose residual and time steps it has.
pub(in super::super) fn on_device(
    gpu: &chromaflow_device::cuda::Gpu,
    host: &StructuredSystem,
    cfl: f64,
) -> StructuredCuda {
    let mut device = StructuredCuda::new(&gpu.stream().unwrap(), host, Wish::Shortest).unwrap();
    device.upload(host).unwrap();
    device.compute_residual(None).unwrap();
    device.time_steps(cfl, 0.0).unwrap();
    device.boundary_jacobians().unwrap();
    device
}

pub(in super::super) fn entries(jacobian: &Jacobian) -> Vec<f64> {
    match &jacobian.off {
        OffDiagonal::F64(off) => off.to_vec(),
        OffDiagonal::F32(off) => off.iter().map(|&v| f64::from(v)).collect(),
        OffDiagonal::F16 { .. } => unreachable!("an assembly has blocks in f64 or f32"),
    }
}

/// Entry by entry, of each scheme, with and without viscous terms, to the rounding of what blocks are stored in.
#[test]
fn cuda_matrix_of_small_grids_is_the_hosts() {
    let Some(gpu) = gpu() else { return };
    let cfl = 7.0;
    for (name, grid, conditions) in grids() {
        for (equations, scheme, policy) in [
            (Equations::Euler, SCALAR, Policy::D),
            (Equations::Laminar, ROE, Policy::D),
            (Equations::Laminar, MATRIX, Policy::Ds),
        ] {
            let what = format!("{name}, {equations:?}, {scheme:?}, {policy:?}");
            let mut solver = solver(grid.clone(), &of(equations, &grid, conditions, scheme));
            solver.rates();
            let host = solver.host_to_set();
            let local = host.config.implicit.local_step;
            for block in &mut host.blocks {
                residual::time_steps(&host.team, &host.physics, cfl, local, block);
            }
            let newton = host.newton.as_mut().unwrap();
            newton.implicit.policy = policy;
            newton.jacobian = newton.rows.matrix(N, &newton.implicit).unwrap();
            let times = newton.rows.pseudo_times(&host.blocks);
            let GridNewton { rows, jacobian, .. } = &mut **newton;
            let least = if policy == Policy::D { 0.7 } else { 0.1 };
            rows.assemble(
                &host.team,
                (&host.physics, least),
                (&host.blocks, &host.patches),
                &times,
                jacobian,
            );
            let mut device = on_device(&gpu, host, cfl);
            let (diag, off) = device
                .with_newton(|newton, flow| {
                    newton.assemble(flow, 0.0, least).unwrap();
                    let Target::Rows(there, _) = newton.linear.target(false).unwrap() else { unreachable!() };
                    let off = match &there.off {
                        chromaflow::gpu::DeviceOff::F64(off) => off.download().unwrap(),
                        chromaflow::gpu::DeviceOff::F32(off) => {
                            off.download().unwrap().iter().map(|&v| f64::from(v)).collect()
                        }
                        chromaflow::gpu::DeviceOff::F16 { .. } => unreachable!("not narrowed"),
                    };
                    (there.diag.download().unwrap(), off)
                })
                .unwrap();
            let jacobian = &host.newton.as_ref().unwrap().jacobian;
            let largest = jacobian.diag.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
            assert!(largest > 0.0 && diag.len() == jacobian.diag.len());
            let here = entries(jacobian);
            assert_eq!(here.len(), off.len(), "{what}");
            // Of single precision, and of what cancels where two sides have one block.
            let [rounding, floor] = if policy == Policy::D { [1e-12, 1e-13] } else { [1.3e-7, 3e-8] };
            for (e, (a, b)) in jacobian.diag.iter().zip(&diag).enumerate() {
                close(*b, *a, 1e-12, 1e-13 * largest, &format!("{what}, diagonal {e}"));
            }
            for (e, (a, b)) in here.iter().zip(&off).enumerate() {
                close(*b, *a, rounding, floor * largest, &format!("{what}, entry {e} beside it"));
            }
        }
    }
}

/// Products with the derivative are differences of the host's residuals, and the state comes back.
#[test]
fn cuda_products_of_small_grids_are_the_hosts() {
    let Some(gpu) = gpu() else { return };
    let cfl = 7.0;
    let along = |x: [f64; 3]| {
        let [a, b] = [(3.0 * x[0] + x[1]).sin(), (2.0 * x[1] - 4.0 * x[2]).cos()];
        [0.3 * a, 0.2 * b, a - b, 0.5 * a * b, a + 0.4]
    };
    for (name, grid, conditions) in grids() {
        for (equations, scheme) in [(Equations::Euler, ROE), (Equations::Laminar, SCALAR)] {
            let mut solver = solver(grid.clone(), &of(equations, &grid, conditions, scheme));
            let base = solver.rates();
            let cells = solver.cells();
            let mut device = on_device(&gpu, solver.host_to_set(), cfl);
            let row_of = solver.host_to_set().newton.as_ref().unwrap().rows.rows.clone();
            let mut v = vec![0.0; N * cells.len()];
            for ((x, _), &row) in cells.iter().zip(&row_of) {
                v[N * row as usize..][..N].copy_from_slice(&along(*x));
            }
            let before = device.w.download().unwrap();
            let (h, there, tau) = device
                .with_newton(|newton, flow| {
                    let there = flow.stream.upload(&v).unwrap();
                    let mut y = DeviceBuffer::zeroed(&flow.stream, v.len()).unwrap();
                    let at = Moment::first(cfl);
                    let h = newton
                        .at_base(flow, &at, |step, _, _| {
                            let h = crate::march::newton::difference_step(step.size(), step.length(&there)?);
                            step.differentiate(h, &there, &mut y)?;
                            Ok(h)
                        })
                        .unwrap();
                    (h, y.download().unwrap(), flow.tau.download().unwrap())
                })
                .unwrap();
            assert_eq!(before, device.w.download().unwrap(), "{name}: the state comes back");
            solver.set_state(|x| {
                let (q, v) = (bump(x), along(x));
                std::array::from_fn(|c| q[c] + h * v[c])
            });
            let moved = solver.rates();
            let here: Vec<f64> = (0..cells.len())
                .flat_map(|n| {
                    let ((x, volume), (block, at)) = (cells[n], device.grid.place(n));
                    let time = 1.0 / tau[device.grid.offsets()[block] + at];
                    let slope = [0, 1, 2, 3, 4].map(|c| volume * (moved[n][c] - base[n][c]) / h);
                    let v = along(x);
                    [0, 1, 2, 3, 4].map(|c| slope[c] + time * v[c])
                })
                .collect();
            let largest = here.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
            for (n, &row) in row_of.iter().enumerate() {
                for c in 0..N {
                    let found = there[N * row as usize + c];
                    close(found, here[N * n + c], 1e-7, 1e-8 * largest, &format!("{name}, cell {n}, {c}"));
                }
            }
        }
    }
}

/// Newton-Krylov steps take derivatives by differences, which round-off disturbs in the eighth digit: histories agree to so many, and
/// every decision; also through time.
#[test]
fn cuda_newton_krylov_steps_on_small_grids_are_the_hosts() {
    let Some(gpu) = gpu() else { return };
    let unsteady = Time::Unsteady(Unsteady { dt: 0.05, steps: 2, subiterations: 4, orders: 10.0 });
    for (name, grid, conditions, equations, scheme, time) in [
        ("in a tunnel", blocks(), in_tunnel as Conditions, Equations::Euler, SCALAR, None),
        ("between walls", blocks(), between_walls, Equations::Laminar, ROE, None),
        ("driven", two_blocks(), driven, Equations::Laminar, MATRIX, None),
        ("ring", ring(), between_walls, Equations::Laminar, SCALAR, None),
        ("turned sides", turned([13, 9, 11]), in_ring, Equations::Laminar, SCALAR, None),
        ("plane", plane(), between_walls, Equations::Laminar, SCALAR, None),
        ("through time", two_blocks(), between_walls, Equations::Laminar, SCALAR, Some(unsteady)),
    ] {
        let mut config = of(equations, &grid, conditions, scheme);
        config.time = time.unwrap_or(Time::Steady(Steady { iterations: 6, orders: 14.0 }));
        let (mut here, mut there) = (solver(grid.clone(), &config), solver(grid, &config));
        there.use_gpu(&gpu).unwrap();
        loop {
            let (a, b) = (here.step(), there.try_step().unwrap());
            let what = format!("{name}, iteration {}", a.iteration);
            let largest = a.residual.iter().copied().fold(0.0, f64::max);
            for (x, y) in a.residual.iter().zip(&b.residual) {
                close(*y, *x, 1e-5, 1e-6 * largest, &what);
            }
            if let (Some(x), Some(y)) = (a.linear_reduction, b.linear_reduction) {
                close(y, x, 1e-3, 1e-6, &what);
            }
            assert_eq!(
                (a.rejected, a.outcome, a.time_step, a.linear_reduction.is_some()),
                (b.rejected, b.outcome, b.time_step, b.linear_reduction.is_some()),
                "{what}"
            );
            close(b.cfl, a.cfl, 1e-4, 0.0, &what);
            if a.outcome.is_some() {
                break;
            }
        }
    }
}

/// Whole marches: an airfoil in transonic flow, a plate with its layer, a blunt body in a supersonic stream. As many steps but for one or
/// two, the same forces.
#[test]
fn cuda_newton_krylov_marches_end_as_the_hosts() {
    let Some(gpu) = gpu() else { return };
    let airfoil = AirfoilC { cells: [12, 64, 24], radius: 15.0, growth: 1.2 }.grid();
    let sides = [("airfoil", Boundary::SlipWall), ("farfield", Boundary::Farfield)];
    let mut transonic = by_newton(steady(0.8, SCALAR, 1e6, 10.0, &sides));
    transonic.freestream = Freestream { mach: 0.8, alpha_deg: 1.25, ..Freestream::default() };
    let out = Boundary::Outlet { pressure: 1.0 };
    let sides = [
        ("inlet", total_state(0.2)),
        ("outlet", out),
        ("top", out),
        ("symmetry", Boundary::Symmetry),
        ("wall", Boundary::NoSlipAdiabatic),
    ];
    let mut laminar = by_newton(steady(0.2, MATRIX, 1e6, 8.0, &sides));
    (laminar.equations, laminar.freestream.reynolds) = (Equations::Laminar, 1e4);
    let (front, supersonic) = front_of_a_cylinder();
    for (name, grid, config) in [
        ("airfoil", airfoil, transonic),
        ("plate", plate(), laminar),
        ("front of a cylinder", front, supersonic),
    ] {
        let make = || StructuredSolver::new(grid.clone(), config.clone(), Arc::new(Team::new(2))).unwrap();
        let run = |mut solver: StructuredSolver| {
            let outcome = solver.run(|_| true);
            assert_eq!(outcome, Outcome::Converged, "{name}, after {}", solver.iteration());
            (solver.iteration(), solver.forces().clone(), solver.rejections())
        };
        let mut there = make();
        there.use_gpu(&gpu).unwrap();
        let (here, there) = (run(make()), run(there));
        println!("{name}: {} iterations here, {} there", here.0, there.0);
        assert!(here.0.abs_diff(there.0) <= 2, "{name}: {} and {} iterations", here.0, there.0);
        close_step(name, (&[], &there.1), (&[], &here.1), 1e-8, 1e-8);
    }
}

#[test]
fn cuda_differences_leave_a_vacuum_its_gas() {
    let Some(gpu) = gpu() else { return };
    let mut solver = crate::structured::tests::flows::into_vacuum();
    solver.use_gpu(&gpu).unwrap();
    assert_eq!(solver.run(|_| true), Outcome::Converged);
}
