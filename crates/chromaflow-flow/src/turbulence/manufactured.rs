//! Order of accuracy of the models' equations by manufactured solutions, in a flow that is given, values held on the sides of a cube: of first order on a mesh
//! of all elements, of second order on one of hexahedra.

use super::k_omega::{
    KOmega, KOmegaVariant, deformation, k_omega_blending, k_omega_diffusing, k_omega_rate, k_omega_sources,
};
use super::spalart_allmaras::{SaVariant, SpalartAllmaras, sa_diffusing, sa_source, vorticity};
use super::testcases::along_a_wall;
use crate::config::{Boundary, TurbulenceConfig, TurbulenceModel};
use crate::coupled::CoupledSystem;
use crate::march::Moment;
use crate::mesh::generate::{Cells, box_mesh};
use crate::real::{Dual, Real};
use crate::testmesh::mixed_cube;
use crate::{FlowConfig, FlowSolver};
use chromaflow_device::Team;
use std::sync::Arc;

/// A function's value and gradient, and both with their gradients.
pub(crate) type First = Dual<f64, 3>;
pub(crate) type Second = Dual<First, 3>;
/// A field.
type Exact = fn(&[f64; 3]) -> f64;

/// F: kinematic viscosity over the speed of sound and the side of the cube.
pub(crate) const SCALE: f64 = 0.01;

pub(crate) fn place(x: [f64; 3]) -> [Second; 3] {
    std::array::from_fn(|d| Second::variable(First::variable(x[d], d), d))
}

fn bend<T: Real>(x: &[T; 3], a: [f64; 3], phase: f64) -> T {
    (T::c(a[0]) * x[0] + T::c(a[1]) * x[1] + T::c(a[2]) * x[2] + T::c(phase)).atan()
}

/// rho, u, v, w, p; at rest on the wall z = 0.
pub(crate) fn flow<T: Real>(x: &[T; 3]) -> [T; 5] {
    let around = |mean: f64, size: f64, a, phase| T::c(mean) + T::c(size) * bend(x, a, phase);
    [
        around(1.0, 0.1, [2.0, 1.0, 1.5], 0.3),
        x[2] * around(0.5, 0.1, [1.0, -2.0, 1.0], 0.7),
        x[2] * around(0.2, 0.1, [-1.0, 1.5, 2.0], 1.1),
        x[2] * x[2] * around(0.1, 0.1, [1.5, 1.0, -1.0], 0.2),
        around(1.0 / 1.4, 0.05, [1.5, 2.0, 1.0], 0.5),
    ]
}

pub(crate) fn nut<T: Real>(x: &[T; 3]) -> T {
    T::c(5.0) + T::c(2.0) * bend(x, [2.0, -1.0, 1.5], 0.4)
}

pub(crate) fn k<T: Real>(x: &[T; 3]) -> T {
    T::c(0.04) + T::c(0.01) * bend(x, [1.0, 2.0, -1.5], 0.1)
}

pub(crate) fn omega<T: Real>(x: &[T; 3]) -> T {
    T::c(8.0) + T::c(2.0) * bend(x, [-1.5, 1.0, 2.0], 0.6)
}

/// Of a function: its value, and its gradient with that of each component.
fn slopes(f: Second) -> (f64, [First; 3]) {
    (f.v.v, f.d)
}

fn gradients(x: [f64; 3]) -> [[First; 3]; 3] {
    let w = flow(&place(x));
    [w[1].d, w[2].d, w[3].d]
}

/// u . grad f
fn carried(w: &[f64; 5], slope: &[First; 3]) -> f64 {
    (0..3).map(|d| w[1 + d] * slope[d].v).sum()
}

/// div(by grad f)
fn diffused(by: First, slope: &[First; 3]) -> f64 {
    (0..3).map(|d| (by * slope[d]).d[d]).sum()
}

/// What Spalart-Allmaras needs for [`nut`]; the gas has constant viscosity 1, so that nu is 1 / rho.
pub(crate) fn source_of_nut(x: [f64; 3]) -> f64 {
    let model = SpalartAllmaras { variant: SaVariant::Negative, scale: SCALE };
    let (w, at) = (flow(&x), flow(&std::array::from_fn(|d| First::variable(x[d], d))));
    let (value, slope) = slopes(nut(&place(x)));
    let nu = First::c(1.0) / at[0];
    let own = nut(&std::array::from_fn(|d| First::variable(x[d], d)));
    let by = First::c(1.5 * SCALE) * (nu + sa_diffusing(nu, own));
    let square: f64 = slope.iter().map(|s| s.v * s.v).sum();
    let turning = vorticity(&gradients(x).map(|row| row.map(|g| g.v)));
    let [source, _] = sa_source(model, 1.0 / w[0], value, turning, x[2]);
    carried(&w, &slope) - diffused(by, &slope) - 1.5 * SCALE * 0.622 * square - source
}

/// What a model of two equations needs for [`k`] and [`omega`].
pub(crate) fn source_of_two(variant: KOmegaVariant, x: [f64; 3]) -> [f64; 2] {
    let model =
        KOmega { variant, ambient_k: First::c(0.0), ambient_omega: First::c(0.0), roughness: First::c(0.0) };
    let here: [First; 3] = std::array::from_fn(|d| First::variable(x[d], d));
    let (w, at) = (flow(&x), flow(&here));
    let (of_k, of_omega) = (slopes(k(&place(x))), slopes(omega(&place(x))));
    let (gas, turbulence) = ([at[0], First::c(SCALE)], [k(&here), omega(&here)]);
    let both = [of_k.1, of_omega.1];
    let [f1, f2] = k_omega_blending(model, &gas, here[2], &turbulence, &both);
    let rates = deformation(&gradients(x));
    let rate = k_omega_rate(model, f2, turbulence[1], &rates);
    let by = k_omega_diffusing(model, f1, rate[0], &gas, &turbulence);
    let made = k_omega_sources(model, f1, &rate, at[0], &turbulence, &rates, &both, First::c(1.0));
    std::array::from_fn(|v| w[0] * carried(&w, &both[v]) - diffused(by[v], &both[v]) - made[v].v)
}

/// Root of the mean square of the error of each unknown where nothing is held, on n x n x n cells.
fn errors(model: TurbulenceModel, second_order: bool, n: usize) -> Vec<f64> {
    let turbulence = TurbulenceConfig { model, second_order, ..TurbulenceConfig::default() };
    let mut config: FlowConfig = along_a_wall(turbulence);
    config.freestream.reynolds = config.freestream.mach / SCALE;
    config.gas.sutherland = false;
    // This flow is not symmetric.
    for side in ["y0", "y1"] {
        config.boundaries.insert(side.to_owned(), Boundary::SlipWall);
    }
    // Gradients at nodes are of second order where the elements around them lie alike.
    let mut mesh =
        if second_order { box_mesh([n; 3], [1.0; 3], Cells::Hexes, 0.0) } else { mixed_cube(n, 0.0) };
    for marker in &mut mesh.markers {
        marker.name = marker.name.replace("min", "0").replace("max", "1");
    }
    let mut solver = FlowSolver::new(&mesh, config, Arc::new(Team::new(2))).unwrap();
    solver.set_state(|x| flow(&x));
    let sides = ["x0", "x1", "y0", "y1", "z0", "z1"];
    // On the wall, where values are held, sources have no end.
    let off = |x: [f64; 3]| [x[0], x[1], x[2].max(1e-3)];
    let exact: Vec<(&str, Exact)> = match model {
        TurbulenceModel::SaNeg => vec![("nut", nut::<f64>)],
        _ => vec![("k", k::<f64>), ("omega", omega::<f64>)],
    };
    for (v, (name, value)) in exact.iter().enumerate() {
        solver.set_unknown(name, |x| value(&x)).unwrap();
        solver.hold_unknown(name, &sides, |x| value(&x)).unwrap();
        let source = |x| match model {
            TurbulenceModel::SaNeg => source_of_nut(off(x)),
            _ => source_of_two(KOmegaVariant::of(model).unwrap(), off(x))[v],
        };
        solver.set_unknown_source(name, source).unwrap();
    }
    let system = at_rest(&mut solver, (200, 1e-10), &|residual| residual.iter().copied().fold(0.0, f64::max));
    let host = &solver.host;
    let (nb, mut sums, mut count) = (exact.len(), vec![0.0; exact.len()], 0.0);
    for (i, node) in host.nodes.iter().enumerate() {
        let x = [node[5], node[6], node[7]];
        if system.state.held.binary_search(&(i as u32)).is_err() {
            count += 1.0;
            for (v, (_, value)) in exact.iter().enumerate() {
                sums[v] += (system.state.values[nb * i + v] / value(&x) - 1.0).powi(2);
            }
        }
    }
    sums.into_iter().map(|sum: f64| (sum / count).sqrt()).collect()
}

/// The model of a flow that stays as it is, after as many of its own steps as bring what `measure` takes of its residuals down by this factor, at most so many:
/// a hundredth of the way is missing at most.
fn at_rest(
    solver: &mut FlowSolver,
    (steps, fall): (usize, f64),
    measure: &dyn Fn(&[f64]) -> f64,
) -> CoupledSystem {
    let host = &mut solver.host;
    let at = Moment { together: false, ..Moment::first(1e3) };
    host.compute_residual(&at);
    let mut system = std::mem::take(&mut host.coupled).swap_remove(0);
    let view = host.view(&[], &host.fluxes);
    let (mut first, mut last) = (0.0, 0.0);
    for step in 0..steps {
        system.prepare(&view);
        last = measure(&system.compute_residual(&view, &at));
        first = if step == 0 { last } else { first };
        if last < fall * first {
            break;
        }
        system.advance(&view, &at).unwrap();
    }
    assert!(last < 100.0 * fall * first, "{last} of {first}");
    system
}

/// Gas at rest next to a slightly rough wall, k next to nothing: omega of the viscous layer ends at Wilcox's value, 6 nu / (beta (z + z_0)^2). Of second order in the cells, which are a
/// fifth of z_0 high at the wall and eight times as high at the top.
#[test]
fn omega_of_a_rough_wall_is_that_of_the_viscous_layer() {
    for (model, beta) in [(TurbulenceModel::Sst, 0.075_f64), (TurbulenceModel::KOmega, 0.0708)] {
        let errors = [12, 24].map(|n| {
            let roughness = 1.0;
            let end = roughness * (6.0 / (4e4 * beta)).sqrt();
            let exact = |x: [f64; 3]| 6.0 * SCALE / (beta * (x[2] + end).powi(2));
            let turbulence = TurbulenceConfig { model, roughness, ..TurbulenceConfig::default() };
            let mut config = along_a_wall(turbulence);
            config.freestream.reynolds = config.freestream.mach / SCALE;
            config.gas.sutherland = false;
            let mut mesh = box_mesh([2, 2, n], [1.0, 1.0, 1.0], Cells::Hexes, 0.0);
            for x in &mut mesh.nodes {
                x[2] = 0.3 * (2.0 * x[2]).exp_m1() / 2.0_f64.exp_m1();
            }
            for marker in &mut mesh.markers {
                marker.name = marker.name.replace("min", "0").replace("max", "1");
            }
            let mut solver = FlowSolver::new(&mesh, config, Arc::new(Team::new(1))).unwrap();
            solver.set_state(|_| [1.0, 0.0, 0.0, 0.0, 1.0 / 1.4 / 0.4]);
            let sides = ["x0", "x1", "y0", "y1", "z1"];
            solver.set_unknown("k", |_| 1e-12).unwrap();
            solver.set_unknown("omega", exact).unwrap();
            solver.hold_unknown("omega", &sides, exact).unwrap();
            solver.hold_unknown("k", &sides, |_| 1e-12).unwrap();
            let system = at_rest(&mut solver, (300, 1e-9), &|residual| residual[1]);
            let host = &solver.host;
            let at_wall = host.nodes.iter().position(|node| node[7] == 0.0).unwrap();
            let found = system.state.values[2 * at_wall + 1];
            assert!((found / (4e4 * SCALE) - 1.0).abs() < 1e-12, "{model:?}: {found} at the wall");
            let off = host.nodes.iter().enumerate().map(|(i, node)| {
                (system.state.values[2 * i + 1] / exact([node[5], node[6], node[7]]) - 1.0).abs()
            });
            off.fold(0.0, f64::max)
        });
        println!("{model:?}: {errors:?}");
        assert!(errors[1] < 0.05 && errors[1] < 0.35 * errors[0], "{model:?}: {errors:?}");
    }
}

/// The orders that are promised: with advection of first order one, of second order two.
#[test]
fn manufactured_solutions_have_the_order_of_the_advection() {
    use TurbulenceModel::{KOmega, SaNeg, Sst, SstVorticity};
    for model in [SaNeg, Sst, SstVorticity, KOmega] {
        for (second_order, least) in [(false, 0.9), (true, 1.7)] {
            let [coarse, fine] = [12, 24].map(|n| errors(model, second_order, n));
            for (v, (coarse, fine)) in coarse.iter().zip(&fine).enumerate() {
                let order = (coarse / fine).log2();
                println!("{model:?} {v} second order {second_order}: {coarse:.3e} {fine:.3e} {order:.2}");
                assert!(order > least && *fine < 0.01, "{model:?} {v}, {second_order}: {coarse} {fine}");
            }
        }
    }
}
