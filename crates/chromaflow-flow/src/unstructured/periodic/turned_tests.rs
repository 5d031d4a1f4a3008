use super::sectors::{config, disc, ring, solver, swirling};
use super::testcases::{Flow, alike, five_steps, five_steps_and_on, flows, over_ranks};
use super::*;
use crate::bc::Motion;
use crate::config::{
    Coupling, Equations, FluxScheme, Limiter, NewtonKrylov, Nonlinear, Quadrature, Steady, Time,
    TurbulenceConfig, TurbulenceModel, Unsteady,
};
use crate::dual::{Dual, norm};
use crate::mesh::generate::{Cells, Plane};
use crate::unstructured::FlowSolver;
use chromaflow::dist::Links;
use chromaflow::factor::block_ilu::Fill;
use chromaflow::solver::{Method, PreconditionerKind};
use chromaflow::{Outcome, Policy};
use chromaflow_device::Team;
use std::collections::HashMap;
use std::sync::Arc;

/// What a row has, in the axes of its own meridian plane: along the axis, outwards, around.
struct Row {
    volume: f64,
    residual: [f64; 5],
    product: [f64; 5],
}

fn in_its_plane(x: [f64; 3], v: &[f64]) -> [f64; 5] {
    let r = (x[1] * x[1] + x[2] * x[2]).sqrt();
    let (sin, cos) = if r > 1e-12 { (x[2] / r, x[1] / r) } else { (0.0, 1.0) };
    [v[0], v[1], cos * v[2] + sin * v[3], cos * v[3] - sin * v[2], v[4]]
}

/// Rows by place in the sector (axial place, radius, angle within a pitch), all images of it.
fn rows(solver: &mut FlowSolver, n: usize) -> HashMap<[i64; 4], Vec<Row>> {
    solver.assembled();
    let host = &solver.host;
    let matrix = host.jacobian.to_csr();
    let mut x: Vec<f64> =
        host.nodes.iter().flat_map(|node| swirling([node[5] + 0.1, node[6], node[7]], n)).collect();
    if let Some(share) = host.share() {
        share.exchange(5, &mut x);
    }
    let mut product = vec![0.0; x.len()];
    matrix.multiply(&Team::new(1), &x, &mut product);
    let mut found: HashMap<[i64; 4], Vec<Row>> = HashMap::new();
    for i in (0..host.q.len()).filter(|&i| host.share().is_none_or(|share| share.owns(i))) {
        let node = &host.nodes[i];
        let at = [node[5], node[6], node[7]];
        let r = (at[1] * at[1] + at[2] * at[2]).sqrt();
        // Away from where two roundings of one place could fall into different cells.
        let cell = |v: f64| (v * 1e5 + 0.387).floor() as i64;
        let pitch = n as f64 * at[2].atan2(at[1]);
        let wave = if r > 1e-9 { [pitch.cos(), pitch.sin()] } else { [0.0; 2] };
        found.entry([cell(at[0]), cell(r), cell(wave[0]), cell(wave[1])]).or_default().push(Row {
            volume: host.dual.volumes[i],
            residual: in_its_plane(at, &host.residual[i]),
            product: in_its_plane(at, &product[5 * i..5 * i + 5]),
        });
    }
    found
}

fn walls(name: &str) -> Boundary {
    match name {
        "xmin" => Boundary::NoSlipAdiabatic,
        "xmax" | "outer" => Boundary::NoSlipIsothermal { temperature: 1.1 },
        _ => Boundary::Farfield,
    }
}

/// A sector's rows have the residuals and products with the matrix that they have in the whole mesh.
fn sector_is_like_the_whole(
    what: &str,
    mesh: &dyn Fn(bool) -> Mesh,
    n: usize,
    change: &dyn Fn(&mut FlowConfig),
) {
    let [one, all] = [false, true].map(|whole| {
        let mesh = mesh(whole);
        let mut config = config(&mesh, walls);
        change(&mut config);
        config.implicit.policy = Policy::D;
        // The way from the walls to a node on the axis is any of many in the whole mesh.
        config.space.mapped &= mesh.marker("outer").is_none();
        let mut solver = solver(&mesh, config, n);
        let at = solver.next_moment();
        let rows = rows(&mut solver, n);
        let beside = solver.host.coupled_residuals(&at);
        (rows, beside, solver.host.forces())
    });
    assert_eq!(one.0.len(), all.0.len(), "{what}: places are told apart");
    let size = |of: &dyn Fn(&Row) -> [f64; 5]| {
        one.0.values().flatten().flat_map(of).fold(0.0_f64, |m, v| m.max(v.abs()))
    };
    let sizes = [size(&|row| row.residual), size(&|row| row.product)];
    assert!(sizes.iter().all(|size| *size > 1e-4), "{sizes:?}");
    for (place, own) in &one.0 {
        let [own] = &own[..] else { panic!("{what}: {place:?} twice") };
        let images = &all.0[place];
        assert!(
            images.len() == n || images.len() == 1 && place[1] == 0,
            "{what}: {} at {place:?}",
            images.len()
        );
        for image in images {
            assert!((image.volume - own.volume).abs() < 1e-13 * own.volume);
            for v in 0..5 {
                let off = (image.residual[v] - own.residual[v]).abs() / sizes[0];
                assert!(off < 2e-12, "{what}: residual {v} at {place:?} is off by {off:e}");
                let off = (image.product[v] - own.product[v]).abs() / sizes[1];
                assert!(off < 2e-12, "{what}: product {v} at {place:?} is off by {off:e}");
            }
        }
    }
    assert_eq!(one.1.len(), all.1.len());
    // Nodes on the axis have their whole control volumes, each once.
    let off_axis = one.0.keys().all(|place| place[1] != 0);
    for (a, b) in one.1.iter().zip(&all.1).filter(|_| off_axis) {
        let off = (b / a / n as f64 - 1.0).abs();
        assert!(off < 1e-10, "{what}: norms beside {a:e}, {b:e}");
    }
    for v in 0..3 {
        let (a, b) = (one.2.total.force[v], all.2.total.force[v]);
        assert!(
            (n as f64 * a - b).abs() < 1e-11 * all.2.total.cd.abs().max(1e-3),
            "{what}: {:?} {:?}",
            one.2,
            all.2
        );
        let (a, b) = (one.2.total.moment[v], all.2.total.moment[v]);
        assert!(
            (n as f64 * a - b).abs() < 1e-11 * all.2.total.cd.abs().max(1e-3),
            "{what}: {:?} {:?}",
            one.2,
            all.2
        );
    }
}

/// What makes another flow of one.
type Change = Box<dyn Fn(&mut FlowConfig)>;

/// Those of the schemes that have no limiter of components: the axes do not show in them.
fn without_limits((name, change): Flow) -> (String, Change) {
    let free = move |c: &mut FlowConfig| {
        change(c);
        c.space.limiter = Limiter::None;
    };
    (format!("{name}, not limited"), Box::new(free))
}

#[test]
fn a_quarter_is_like_the_whole_circle() {
    for cells in [Cells::Hexes, Cells::Prisms, Cells::Tets, Cells::Mixed] {
        for (name, change) in flows() {
            let mesh = |whole| ring([5, 4, 5], cells, 4, whole);
            sector_is_like_the_whole(&format!("{cells:?}, {name}"), &mesh, 4, &change);
        }
    }
    for (name, change) in flows() {
        sector_is_like_the_whole(&format!("disc, {name}"), &|whole| disc([5, 3, 5], 4, whole), 4, &change);
        // A single cell around: rows are their own neighbors' images.
        sector_is_like_the_whole(
            &format!("wedge, {name}"),
            &|whole| ring([5, 1, 5], Cells::Hexes, 4, whole),
            4,
            &change,
        );
        sector_is_like_the_whole(
            &format!("half a disc, {name}"),
            &|whole| disc([5, 6, 5], 2, whole),
            2,
            &change,
        );
    }
}

#[test]
fn a_fifth_is_like_the_whole_circle_where_nothing_is_limited() {
    for flow in flows() {
        let (name, change) = without_limits(flow);
        for cells in [Cells::Hexes, Cells::Tets] {
            let mesh = |whole| ring([5, 4, 5], cells, 5, whole);
            sector_is_like_the_whole(&format!("{cells:?}, {name}"), &mesh, 5, &change);
        }
        sector_is_like_the_whole(&format!("disc, {name}"), &|whole| disc([5, 3, 5], 5, whole), 5, &change);
        sector_is_like_the_whole(&format!("wedge, {name}"), &|whole| disc([5, 1, 5], 36, whole), 36, &change);
    }
}

/// A uniform stream along the axis is no flow's residual, and nothing enters or leaves through the seam: with walls that let the gas slip,
/// mass and energy of the sector stay, whatever limiter looks at components, and so does the momentum that walls take up along the axis.
#[test]
fn nothing_is_lost_at_the_seam() {
    let meshes: [(&str, Mesh, usize); 5] = [
        ("hexahedra", ring([5, 4, 5], Cells::Hexes, 5, false), 5),
        ("tetrahedra", ring([5, 4, 5], Cells::Tets, 3, false), 3),
        ("a cell wide", ring([5, 1, 5], Cells::Hexes, 7, false), 7),
        ("disc", disc([5, 3, 5], 5, false), 5),
        ("wedge", disc([5, 1, 5], 36, false), 36),
    ];
    for (what, mesh, n) in meshes {
        let mut free = config(&mesh, |_| Boundary::Farfield);
        (free.equations, free.freestream.reynolds) = (Equations::Laminar, 100.0);
        let mut solver = FlowSolver::new(&mesh, free, Arc::new(Team::new(2))).unwrap();
        let (_, residual) = solver.linear_system();
        assert!(residual.iter().all(|r| r.abs() < 1e-15), "{what}");
        for (flux, limiter, quadrature) in [
            (FluxScheme::Roe, Limiter::VanAlbada, Quadrature::EdgeMidpoint),
            (FluxScheme::Hllc, Limiter::Venkatakrishnan, Quadrature::EdgeMidpoint),
            (FluxScheme::Roe, Limiter::Barth, Quadrature::Linear),
            (FluxScheme::VanLeer, Limiter::None, Quadrature::EdgeMidpoint),
        ] {
            let mut config = config(&mesh, |_| Boundary::SlipWall);
            config.space.limiter = limiter;
            (config.space.flux, config.space.quadrature) = (flux, quadrature);
            let mut solver = super::sectors::solver(&mesh, config, n);
            solver.assembled();
            let host = &solver.host;
            let over = host.over.as_ref().unwrap();
            let mut sums = [[0.0; 2]; 5];
            for i in (0..host.q.len()).filter(|&i| over.share.owns(i)) {
                let part = over.in_sector(i as u32);
                for (sum, r) in sums.iter_mut().zip(host.residual[i]) {
                    *sum = [sum[0] + part * r, sum[1] + (part * r).abs()];
                }
            }
            for v in [0, 4] {
                let [sum, size] = sums[v];
                assert!(
                    size > 1e-3 && sum.abs() < 1e-14 * size,
                    "{what}, {limiter:?}: {v} changes by {sum:e}"
                );
            }
        }
    }
}

/// A flow along walls that converges, on a sector and on the whole mesh.
fn viscous(mesh: &Mesh, change: &dyn Fn(&mut FlowConfig)) -> FlowConfig {
    let mut config = config(mesh, |marker| match marker {
        "xmin" | "outer" => Boundary::NoSlipAdiabatic,
        "xmax" => Boundary::SlipWall,
        _ => Boundary::Farfield,
    });
    config.equations = Equations::Laminar;
    (config.freestream.mach, config.freestream.reynolds) = (0.3, 50.0);
    config.space.limiter = Limiter::None;
    (config.implicit.method, config.implicit.preconditioner) =
        (Method::Gmres, PreconditionerKind::Ilu(Fill::Level(0)));
    (config.implicit.cfl.growth, config.implicit.cfl.max) = (2.0, 1e6);
    config.implicit.nonlinear = Nonlinear::NewtonKrylov(NewtonKrylov::default());
    config.time = Time::Steady(Steady { iterations: 80, orders: 11.5 });
    change(&mut config);
    config
}

/// Steady flows of a sector are those of the whole mesh, and their fields stand at the nodes of the file with vectors turned.
#[test]
fn steady_flows_of_a_sector_are_those_of_the_whole() {
    let flows: [Flow; 5] = [
        ("laminar", |_| {}),
        ("of first order", |c| c.space.second_order = false),
        ("inviscid", |c| {
            c.equations = Equations::Euler;
            for boundary in c.boundaries.values_mut().filter(|b| b.is_no_slip()) {
                *boundary = Boundary::SlipWall;
            }
        }),
        ("turbulent", |c| {
            c.freestream.reynolds = 2000.0;
            c.turbulence =
                Some(TurbulenceConfig { model: TurbulenceModel::SaNeg, ..TurbulenceConfig::default() });
        }),
        ("turbulent, tightly coupled", |c| {
            c.freestream.reynolds = 2000.0;
            let coupling = Coupling::Tight;
            c.turbulence = Some(TurbulenceConfig { coupling, ..TurbulenceConfig::default() });
        }),
    ];
    for (name, change) in flows {
        for kind in ["ring", "disc"] {
            let what = format!("{name}, {kind}");
            let n = 5;
            let found = [false, true].map(|whole| {
                let mesh = match kind {
                    "ring" => ring([6, 4, 5], Cells::Prisms, n, whole),
                    _ => disc([5, 3, 5], n, whole),
                };
                let mut config = viscous(&mesh, &change);
                config.space.mapped &= kind == "ring";
                let mut solver = FlowSolver::new(&mesh, config, Arc::new(Team::new(2))).unwrap();
                let outcome = solver.run(|_| true);
                assert_eq!(outcome, Outcome::Converged, "{what}, whole {whole}");
                let fields = solver.fields();
                assert_eq!(fields[0].values.len(), mesh.nodes.len());
                (mesh, fields)
            });
            let [(one, of_one), (all, of_all)] = &found;
            let key = |x: &[f64; 3]| x.map(|v| (v * 1e6 + 0.387).floor() as i64);
            let node: HashMap<[i64; 3], usize> = all.nodes.iter().map(key).zip(0..).collect();
            for (a, b) in of_one.iter().zip(of_all) {
                assert_eq!(a.name, b.name);
                let size = b.values.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
                for (i, x) in one.nodes.iter().enumerate() {
                    let other = node[&key(x)];
                    for c in 0..a.components {
                        let [u, v] = [a.values[i * a.components + c], b.values[other * a.components + c]];
                        assert!(
                            (u - v).abs() < 1e-8 * size.max(1e-2),
                            "{what}: {} at {x:?}: {u} {v}",
                            a.name
                        );
                    }
                }
            }
        }
    }
}

/// Ranks share a sector as any other mesh, and a restart goes on, on the same number of ranks or another one.
#[test]
fn ranks_share_a_sector() {
    for (mesh, n) in [(ring([5, 4, 5], Cells::Mixed, 5, false), 5), (disc([5, 2, 5], 9, false), 9)] {
        let mut config = config(&mesh, walls);
        config.equations = Equations::Laminar;
        config.freestream.reynolds = 100.0;
        config.space.limiter = Limiter::Venkatakrishnan;
        config.time = Time::Unsteady(Unsteady { dt: 0.02, steps: 4, subiterations: 3, orders: 9.0 });
        let mut one = solver(&mesh, config.clone(), n);
        let (expected, state) = five_steps(&mut one);
        let next = one.step().residual;
        let mut second = solver(&mesh, config.clone(), n);
        second.resume(&state).unwrap();
        for (a, b) in second.step().residual.iter().zip(&next) {
            assert!((a - b).abs() <= 1e-12 * b.abs(), "{a:e} {b:e}");
        }
        for size in [1, 2, 3, 5] {
            let start = move |solver: &mut FlowSolver| solver.set_state(|x| swirling(x, n));
            let (found, restart) = over_ranks(size, (&mesh, &config), start, five_steps_and_on);
            alike(&format!("{size} ranks"), (&found, &restart), (&expected, &state));
        }
    }
}

/// Control volumes of the unrolled mesh close and fill the sector; distances are those from the walls of the whole mesh.
#[test]
fn control_volumes_fill_the_sector_and_see_all_walls() {
    for n in [2, 5] {
        let [one, all] = [false, true].map(|whole| ring([4, 5, 4], Cells::Hexes, n, whole));
        let of = |mesh: &Mesh| {
            let mut config = config(mesh, walls);
            (config.equations, config.freestream.reynolds) = (Equations::Laminar, 100.0);
            solver(mesh, config, n)
        };
        let (sector, whole) = (of(&one), of(&all));
        let over = sector.host.over.as_ref().unwrap();
        let owned = || over.share.owned().iter().cloned().flatten();
        let volume: f64 = owned().map(|i| sector.host.dual.volumes[i]).sum();
        let expected: f64 = Dual::new(&all).volumes.iter().sum();
        assert!((n as f64 * volume - expected).abs() < 1e-12 * expected);
        assert_eq!(owned().count() * n, whole.host.q.len());
        let images = &over.seam.as_ref().unwrap().images;
        assert!(!images.is_empty());
        for &(row, of, turns) in images {
            let [at, from] = [row, of].map(|i| {
                let node = &sector.host.nodes[i as usize];
                [node[5], node[6], node[7]]
            });
            let off = crate::dual::sub(at, over.seam.as_ref().unwrap().rotation.moved(turns, from));
            assert!(norm(off) < 1e-15);
        }
    }
}

#[test]
fn what_points_across_the_axis_is_refused() {
    let mesh = ring([4, 4, 4], Cells::Hexes, 6, false);
    let refused = |mesh: &Mesh, change: &dyn Fn(&mut FlowConfig)| {
        let mut config = config(mesh, |marker| match marker {
            marker if marker.starts_with("symmetry") => Boundary::Symmetry,
            _ => Boundary::SlipWall,
        });
        change(&mut config);
        FlowSolver::new(mesh, config, Arc::new(Team::new(1))).err().map(|e| e.to_string()).unwrap_or_default()
    };
    assert_eq!(refused(&mesh, &|_| {}), "");
    let error = refused(&mesh, &|c| c.freestream.alpha_deg = 3.0);
    assert!(error.contains("a free stream along") && error.contains("lies along the axis"), "{error}");
    let moving = |motion| Boundary::MovingWall { motion, temperature: None };
    let spin = Motion { rotation: [0.2, 0.0, 0.0], ..Motion::NONE };
    let wall = |motion: Motion<f64>| {
        refused(&mesh, &|c| {
            (c.equations, c.freestream.reynolds) = (Equations::Laminar, 100.0);
            c.boundaries.insert("xmin".into(), moving(motion));
        })
    };
    assert!(wall(Motion { center: [0.0, 0.1, 0.0], ..spin }).contains("the wall `xmin`, which turns"));
    assert!(wall(Motion { rotation: [0.0, 0.2, 0.0], ..spin }).contains("the wall `xmin`, which turns"));
    assert!(wall(Motion { velocity: [0.0, 0.2, 0.0], ..Motion::NONE }).contains("the velocity"));
    let error = refused(&mesh, &|c| {
        let direction = [1.0, 0.2, 0.0];
        c.boundaries.insert(
            "zmin".into(),
            Boundary::Inlet { total_pressure: 1.1, total_temperature: 1.0, direction },
        );
    });
    assert!(error.contains("the direction [1.0, 0.2, 0.0] of `zmin`"), "{error}");
    let error = refused(&mesh, &|c| c.implicit.preconditioner = PreconditionerKind::Lines);
    assert!(error.contains("the preconditioner `lines`"), "{error}");
    // One node of a side off its place.
    let mut bent = mesh.clone();
    let node = bent.marker("ymin").unwrap().quads[5][0];
    bent.nodes[node as usize][0] += 0.02;
    let error = refused(&bent, &|_| {});
    assert!(error.contains("has no image on `ymin` when it is turned by -60.000000 degrees"), "{error}");
    // The first stream of a planar mesh lies in its plane.
    let plane = Plane { cells: [4, 4], periodic: false, triangles: false }.mesh(
        |i, j| {
            let (r, angle) = (1.0 + 0.1 * i as f64, 0.1 * j as f64);
            [r * f64::cos(angle), r * f64::sin(angle)]
        },
        |side, _| ["inner", "outer", "ymin", "ymax"][side],
    );
    assert!(refused(&plane, &|_| {}).contains("in three dimensions"));
}
