use super::testcases::{
    LENGTH, alike, boxes, config, five_steps, five_steps_and_on, flows, laminar, layers, newton, over_ranks,
    planes, solver, wavy,
};
use super::*;
use crate::config::{Equations, Steady, Time, Unsteady};
use crate::dual::Dual;
use crate::mesh::generate::{Cells, Plane};
use crate::unstructured::FlowSolver;
use chromaflow::Outcome;
use chromaflow_device::Team;
use std::collections::HashMap;
use std::sync::Arc;

/// Merged control volumes close, sides included, and fill the mesh.
#[test]
fn merged_control_volumes_close() {
    for cells in [Cells::Hexes, Cells::Prisms, Cells::Tets, Cells::Mixed] {
        let mesh = boxes(cells, 1, true);
        let config = config(&mesh, true, |_| Boundary::SlipWall);
        let (merged, images) = joined(&mesh, &config).unwrap();
        let (whole, part) = (Dual::new(&mesh), Dual::new(&merged));
        assert!(part.closure_error() < 1e-14, "{cells:?}: {:e}", part.closure_error());
        let total = |dual: &Dual| dual.volumes.iter().sum::<f64>();
        assert!((total(&whole) - total(&part)).abs() < 1e-13);
        let images = images.unwrap();
        let mut volumes = vec![0.0; part.nodes()];
        for (i, volume) in whole.volumes.iter().enumerate() {
            volumes[images.merged[i] as usize] += volume;
        }
        // A control volume's cone from a node on the boundary is the same wherever the boundary lies.
        let off = volumes.iter().zip(&part.volumes).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(off < 1e-15, "{cells:?}: {off:e}");
    }
}

/// Places of the rows of a periodic mesh, brought into one period.
fn places(solver: &FlowSolver, mesh: &Mesh, both: bool) -> Vec<[i64; 3]> {
    let first = &solver.host.images.as_ref().unwrap().first;
    let places = first.iter().take(solver.host.q.len()).map(|&i| mesh.nodes[i as usize]);
    let whole = |x: f64, step: f64| {
        let n = (step * 1e7).round() as i64;
        ((x * 1e7).round() as i64).rem_euclid(n)
    };
    // Moved away from 0, where two roundings of one place could fall into different periods.
    let key = |x: [f64; 3]| {
        let across = if both { whole(x[1] + 0.2345, 1.0) } else { (x[1] * 1e7).round() as i64 };
        [whole(x[0] + 0.1234, LENGTH) / 1000, across / 1000, (x[2] * 1e4 + 0.123).floor() as i64]
    };
    places.map(key).collect()
}

/// The seam is a place like any other: on a mesh of two periods, whose middle is no side, residuals, matrix and systems beside the flow
/// are those on one period, and twice its sums.
#[test]
fn the_seam_is_a_place_like_any_other() {
    for both in [false, true] {
        let meshes: [(&str, &dyn Fn(usize) -> Mesh); 6] = [
            ("hexahedra", &|times| boxes(Cells::Hexes, times, both)),
            ("prisms", &|times| boxes(Cells::Prisms, times, both)),
            ("tetrahedra", &|times| boxes(Cells::Tets, times, both)),
            ("mixed", &|times| boxes(Cells::Mixed, times, both)),
            ("quadrilaterals", &|times| planes(false, times, both)),
            ("triangles", &|times| planes(true, times, both)),
        ];
        for (cells, mesh) in meshes {
            for (name, change) in flows() {
                seam_is_like_any_other(&format!("{cells}, {name}, both {both}"), mesh, change, both);
            }
        }
        // Thin layers along the seam.
        for cells in [Cells::Hexes, Cells::Tets] {
            let what = format!("layers of {cells:?}, both {both}");
            seam_is_like_any_other(&what, &|times| layers(cells, times, both), laminar, both);
        }
    }
}

fn seam_is_like_any_other(what: &str, mesh: &dyn Fn(usize) -> Mesh, change: fn(&mut FlowConfig), both: bool) {
    let walls = |marker: &str| match marker {
        "zmin" if !both => Boundary::NoSlipIsothermal { temperature: 1.1 },
        "ymin" | "zmin" => Boundary::NoSlipAdiabatic,
        _ => Boundary::Farfield,
    };
    let found = [1, 2].map(|times| {
        let mesh = mesh(times);
        let mut config = config(&mesh, both, |marker| {
            if mesh.planar.is_some() && marker.starts_with("symmetry") {
                Boundary::Symmetry
            } else {
                walls(marker)
            }
        });
        change(&mut config);
        // Turbulence needs a wall.
        if both && mesh.planar.is_some() && config.turbulence.is_some() {
            return None;
        }
        let mut solver = solver(&mesh, config);
        let at = solver.next_moment();
        let (matrix, residual) = solver.linear_system();
        let beside = solver.host.coupled_residuals(&at);
        let places = places(&solver, &mesh, both);
        let n = places.len();
        let x: Vec<f64> = solver.host.images.as_ref().unwrap().first[..n]
            .iter()
            .flat_map(|&i| wavy(mesh.nodes[i as usize]))
            .collect();
        let mut product = vec![0.0; 5 * n];
        matrix.multiply(&Team::new(1), &x, &mut product);
        let forces = solver.host.forces().total.cd;
        Some((places, residual, product, beside, forces))
    });
    let [Some(one), Some(two)] = &found else { return };
    assert_eq!(two.0.len(), 2 * one.0.len());
    let row: HashMap<[i64; 3], usize> = one.0.iter().copied().zip(0..).collect();
    assert_eq!(row.len(), one.0.len(), "{what}: places are told apart");
    let rows: Vec<usize> = two.0.iter().map(|place| row[place]).collect();
    for (a, b, kind) in [(&one.1, &two.1, "residual"), (&one.2, &two.2, "product")] {
        let size = a.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        assert!(size > 1e-4);
        for (i, &k) in rows.iter().enumerate() {
            for v in 0..5 {
                let off = (b[5 * i + v] - a[5 * k + v]).abs();
                assert!(off < 2e-12 * size, "{what}: {kind} {v} of row {i} is off by {off:e} of {size:e}");
            }
        }
    }
    assert_eq!(one.3.len(), two.3.len());
    for (a, b) in one.3.iter().zip(&two.3) {
        assert!(*a > 0.0 && (b / a - 2.0).abs() < 1e-9, "{what}: beside the flow {a:e}, twice {b:e}");
    }
    assert!((two.4 - 2.0 * one.4).abs() < 1e-12 + 1e-11 * one.4.abs(), "{what}: {} and {}", one.4, two.4);
}

/// A uniform stream stays in a box that repeats along all axes.
#[test]
fn a_stream_stays_in_a_box_that_repeats_all_ways() {
    for cells in [Cells::Hexes, Cells::Prisms, Cells::Tets] {
        let mesh = boxes(cells, 1, true);
        // Sides along z are plane: these repeat, too.
        let mut config = config(&mesh, true, |_| Boundary::Periodic);
        config.partners.insert("zmin".into(), "zmax".into());
        config.equations = Equations::Laminar;
        config.freestream.reynolds = 50.0;
        let mut solver = FlowSolver::new(&mesh, config, Arc::new(Team::new(1))).unwrap();
        solver.set_state(|_| [1.0, 0.3, 0.2, -0.1, 1.0 / 1.4]);
        let (_, residual) = solver.linear_system();
        assert_eq!(residual.len(), 5 * 8 * 8 * 4);
        assert!(residual.iter().all(|r| r.abs() < 1e-15), "{cells:?}");
    }
}

/// Fields are by the file's nodes, the same at all images; a restart goes on.
#[test]
fn fields_are_those_of_all_nodes_of_the_file() {
    for mesh in [boxes(Cells::Prisms, 1, true), planes(true, 1, true)] {
        let mut config = config(&mesh, true, |_| Boundary::SlipWall);
        config.time = Time::Unsteady(Unsteady { dt: 0.02, steps: 4, subiterations: 3, orders: 9.0 });
        let start = || solver(&mesh, config.clone());
        let mut whole = start();
        for _ in 0..6 {
            whole.step();
        }
        let restart = whole.restart();
        let images = whole.host.images.clone().unwrap();
        for field in whole.fields() {
            assert_eq!(field.values.len(), field.components * mesh.nodes.len());
            for (i, &merged) in images.merged.iter().enumerate() {
                let plane = images.first.len() / if mesh.planar.is_some() { 2 } else { 1 };
                let first = images.first[merged as usize % plane] as usize;
                for c in 0..field.components {
                    let values = [i, first].map(|node| field.values[node * field.components + c]);
                    assert_eq!(values[0], values[1], "{}", field.name);
                }
            }
        }
        let mut second = start();
        second.resume(&restart).unwrap();
        for _ in 0..3 {
            assert_eq!(whole.step().residual, second.step().residual);
        }
    }
}

/// Ranks share a mesh that repeats as any other, and write its restart.
#[test]
fn ranks_find_what_one_finds() {
    let mesh = boxes(Cells::Mixed, 1, true);
    let mut config = config(&mesh, true, |_| Boundary::NoSlipAdiabatic);
    config.equations = Equations::Laminar;
    config.freestream.reynolds = 100.0;
    config.time = Time::Steady(Steady { iterations: 6, orders: 12.0 });
    let (expected, state) = five_steps(&mut solver(&mesh, config.clone()));
    for size in [2, 3] {
        let (found, restart) =
            over_ranks(size, (&mesh, &config), |solver| solver.set_state(wavy), five_steps_and_on);
        alike(&format!("{size} ranks"), (&found, &restart), (&expected, &state));
    }
}

/// Newton-Krylov steps converge across the seam as fast as they do elsewhere: their products are differences of residuals, their
/// preconditioner has the merged rows.
#[test]
fn newton_steps_converge_across_the_seam() {
    let (mesh, config) = newton();
    let mut solver = solver(&mesh, config);
    let mut iterations = 0;
    let outcome = solver.run(|_| {
        iterations += 1;
        true
    });
    assert_eq!((outcome, iterations < 40), (Outcome::Converged, true), "{iterations}");
}

#[test]
fn partners_that_disagree_are_told() {
    let mesh = boxes(Cells::Hexes, 1, false);
    let refused = |change: &dyn Fn(&mut FlowConfig)| {
        let mut config = config(&mesh, false, |_| Boundary::SlipWall);
        change(&mut config);
        FlowSolver::new(&mesh, config, Arc::new(Team::new(1))).err().unwrap().to_string()
    };
    let error = refused(&|c| c.partners.clear());
    assert!(error.contains("neither the case nor the mesh file says with which"), "{error}");
    let error = refused(&|c| {
        c.boundaries.insert("xmax".into(), Boundary::Farfield);
    });
    assert!(error.contains("`xmin` is periodic with `xmax`, which is farfield"), "{error}");
    let error = refused(&|c| {
        c.boundaries.insert("ymin".into(), Boundary::Periodic);
        c.partners.insert("xmax".into(), "ymin".into());
    });
    assert!(error.contains("which is periodic with"), "{error}");
    let error =
        refused(&|c| c.partners = ["xmin", "xmax"].map(|side| (side.to_owned(), side.to_owned())).into());
    assert!(error.contains("more than one periodic pair"), "{error}");
}

/// A plate that is stopped in a stream: at first density changes nowhere and nothing but rounding is in its equation, while momentum's is as large as it will ever be. A
/// long time step finds what backward Euler has for a layer that grows (Stokes 1851), node by node.
#[test]
fn a_step_that_begins_with_a_uniform_density_is_taken_whole() {
    let (cells, height, dt) = (40, 4.0, 4.0);
    let y = |j: usize| height * j as f64 / cells as f64;
    let mesh = Plane { cells: [3, cells], periodic: false, triangles: false }
        .mesh(|i, j| [0.5 * i as f64, y(j)], |side, _| ["xmin", "xmax", "ymin", "ymax"][side]);
    let mut config = config(&mesh, false, |name| match name {
        "ymin" => Boundary::NoSlipAdiabatic,
        _ => Boundary::Farfield,
    });
    (config.equations, config.freestream.mach) = (Equations::Laminar, 0.1);
    (config.freestream.reynolds, config.gas.sutherland) = (2.0, false);
    config.time = Time::Unsteady(Unsteady { dt, steps: 1, ..Unsteady::default() });
    let mut solver = FlowSolver::new(&mesh, config, Arc::new(Team::new(1))).unwrap();
    let mut rejected = 0;
    solver.run(|report| {
        rejected += usize::from(report.rejected);
        true
    });
    assert_eq!(rejected, 0, "what rises from rounding has not grown");
    // (1 + 2 a) u_j - a (u_{j-1} + u_{j+1}) = 1 with u = 0 at the plate and 1 beyond, by Thomas' algorithm.
    let a = dt * 0.1 / 2.0 * (cells as f64 / height).powi(2);
    let (mut upper, mut exact) = (vec![0.0; cells + 1], vec![0.0; cells + 1]);
    for j in 1..cells {
        let pivot = 1.0 + 2.0 * a - a * upper[j - 1];
        (upper[j], exact[j]) = (a / pivot, (1.0 + a * exact[j - 1]) / pivot);
    }
    exact[cells] = 1.0;
    for j in (1..cells).rev() {
        exact[j] += upper[j] * exact[j + 1];
    }
    let fields = solver.fields();
    let velocity = fields.iter().find(|field| field.name == "velocity").unwrap();
    for (j, exact) in exact.iter().enumerate() {
        let u = velocity.values[3 * (4 * j + 1)] / 0.1;
        assert!((u - exact).abs() < 0.01, "{j}: {u} for {exact}");
    }
}
