//! A laminar boundary layer against Blasius.

use chromaflow::Outcome;
use chromaflow_device::Team;
use chromaflow_flow::FlowSolver;
use chromaflow_flow::config::{Boundary, Equations, FlowConfig, Limiter, ScalarConfig, Steady, Time};
use chromaflow_flow::mesh::generate::FlatPlate;
use std::sync::Arc;

const REYNOLDS: f64 = 1e5;
const MACH: f64 = 0.2;

/// u/U at `eta` = y sqrt(U / (nu x)): f' of f''' + f f''/2 = 0 with f''(0) = 0.332057.
fn blasius(eta: f64) -> f64 {
    let steps = 2000;
    let h = eta / f64::from(steps);
    let slope = |f: [f64; 3]| [f[1], f[2], -0.5 * f[0] * f[2]];
    let mut f = [0.0, 0.0, 0.332_057_336];
    for _ in 0..steps {
        let a = slope(f);
        let middle: [f64; 3] = std::array::from_fn(|k| f[k] + 0.5 * h * a[k]);
        let b = slope(middle);
        (0..3).for_each(|k| f[k] += h * b[k]);
    }
    f[1]
}

/// Cf sqrt(Re x) = 0.6641147 in the middle of the plate, and the profile of the velocity there. **Source**: Blasius (1908);
/// White, Viscous Fluid Flow. A scalar of Schmidt number 1 from the plate, 1 there and 0 in the stream, has the profile
/// 1 - u/U.
#[test]
fn a_plates_boundary_layer_is_that_of_blasius() {
    let mesh = FlatPlate { cells: [16, 40, 48], height: 2.0, growth: 1.17 }.mesh();
    let mut config = FlowConfig { equations: Equations::Laminar, ..FlowConfig::default() };
    config.freestream.mach = MACH;
    config.freestream.reynolds = REYNOLDS;
    config.space.limiter = Limiter::None;
    config.implicit.cfl.max = 2000.0;
    config.time = Time::Steady(Steady { iterations: 1500, orders: 5.0 });
    config.scalar = Some(ScalarConfig {
        schmidt: 1.0,
        limited: false,
        values: [("wall".to_owned(), 1.0)].into(),
        ..ScalarConfig::default()
    });
    let total = 1.0 + 0.2 * MACH * MACH;
    let inlet = Boundary::Inlet {
        total_pressure: total.powf(3.5),
        total_temperature: total,
        direction: [1.0, 0.0, 0.0],
    };
    for (name, kind) in [
        ("inlet", inlet),
        ("outlet", Boundary::Outlet { pressure: 1.0 }),
        ("symmetry", Boundary::Symmetry),
        ("wall", Boundary::NoSlipAdiabatic),
        ("top", Boundary::Farfield),
    ] {
        config.boundaries.insert(name.to_owned(), kind);
    }
    let mut solver = FlowSolver::new(&mesh, config, Arc::new(Team::new(1))).unwrap();
    let mut last = 0;
    let outcome = solver.run(|report| {
        last = report.iteration;
        true
    });
    assert_eq!(outcome, Outcome::Converged);
    let fields = solver.fields();
    let field = |name: &str| &fields.iter().find(|f| f.name == name).unwrap().values;
    let (friction, velocity, scalar) = (field("skin_friction"), field("velocity"), field("scalar"));
    let (mut checked, mut worst, mut scalar_worst) = (0, 0.0_f64, 0.0_f64);
    for (i, x) in mesh.nodes.iter().enumerate() {
        if x[2] != 0.0 || !(0.4..0.65).contains(&x[0]) {
            continue;
        }
        checked += 1;
        if x[1] == 0.0 {
            let scaled = friction[3 * i] * (REYNOLDS * x[0]).sqrt();
            println!("x {:.3}: Cf sqrt(Re x) = {scaled:.4}", x[0]);
            assert!((scaled / 0.664_114_7 - 1.0).abs() < 0.01, "{scaled} at {}", x[0]);
        }
        let eta = x[1] * (REYNOLDS / x[0]).sqrt();
        if eta < 10.0 {
            worst = worst.max((velocity[3 * i] / MACH - blasius(eta)).abs());
            scalar_worst = scalar_worst.max((1.0 - scalar[i] - blasius(eta)).abs());
        }
    }
    println!(
        "{last} iterations, {checked} nodes, largest errors of u/U {worst:.4}, of the scalar {scalar_worst:.4}"
    );
    assert!(checked > 100 && worst < 0.01 && scalar_worst < 0.01, "{worst} {scalar_worst}");
}
