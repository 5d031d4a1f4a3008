//! Roe's flux between thin layers of an inviscid flow.

use crate::config::{Equations, FlowConfig};
use crate::real::Real;

/// The convective part of [`RoeFix`](super::RoeFix) on faces that are wider than their two nodes are apart.
///
/// Where the flow runs along thin layers, nothing but the fix of the convective waves couples their entropies and shear: V is zero
/// through the faces between them, and an inviscid flow has no viscosity to do it. Errors that alternate from layer to layer, which
/// shocks across the layers and the start of the march make, then stay or grow (the instability of Quirk 1994 of shocks along grid
/// lines). The fix d of isotropic cells becomes min(most, d a) on a face `a` times as wide as its edge is long: by order of magnitude
/// what couples nodes along the layers then couples them across. Nothing changes where a is at most 1, nor in viscous flow, whose
/// layers are thin because boundary layers are. Errors of the flux across a layer are those of its height, with `most` below 1
/// smaller than those along it.
///
/// **Units**: none; the depth is a length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerFix<T> {
    /// The largest fix, as a part of the spectral radius; 0 where layers are left alone.
    pub most: T,
    /// Depth of the one layer of cells of a planar mesh; 0 of others, whose faces have the root of their area for a width.
    pub depth: T,
}

impl LayerFix<f64> {
    /// Layers are left alone.
    pub const NONE: Self = Self { most: 0.0, depth: 0.0 };

    /// In the residual of a set-up, on a mesh of this depth where it is planar.
    pub fn of_residual(config: &FlowConfig, depth: Option<f64>) -> Self {
        let inviscid = config.equations == Equations::Euler;
        Self { most: if inviscid { LARGEST } else { 0.0 }, depth: depth.unwrap_or(0.0) }
    }
}

/// The largest convective fix between layers.
const LARGEST: f64 = 0.3;

/// The fix of convective waves, `least` between isotropic cells, on the face `n` (an area vector) between two nodes `dx` apart, see
/// [`LayerFix`].
///
/// ```
/// use chromaflow_flow::flux::convective_in_layers;
/// // A planar mesh of depth 1: a face as wide as its edge is long, one ten times as wide, one a thousand times.
/// let fix = |width: f64| convective_in_layers(0.005, 0.3, &[0.0, width, 0.0], &[0.0, 1.0, 0.0], 1.0);
/// assert_eq!([fix(1.0), fix(10.0), fix(1e3)], [0.005, 0.05, 0.3]);
/// ```
#[inline(always)]
pub fn convective_in_layers<T: Real>(least: T, most: T, n: &[T; 3], dx: &[T; 3], depth: T) -> T {
    let area2 = n[0] * n[0] + n[1] * n[1] + n[2] * n[2];
    let length2 = dx[0] * dx[0] + dx[1] * dx[1] + dx[2] * dx[2];
    let spatial = area2.sqrt();
    let width2 = T::select(T::c(0.0).lt(depth), area2 / (depth * depth), spatial);
    let flatness2 = (width2 / length2.max(T::c(1e-300))).max(T::c(1.0));
    least.max(most.min(least * flatness2.sqrt()))
}

#[cfg(test)]
mod tests {
    use super::{LayerFix, convective_in_layers};
    use crate::config::{Equations, FlowConfig};

    #[test]
    fn the_fix_follows_the_width_of_the_face_in_any_unit() {
        let fix = |n: [f64; 3], dx: [f64; 3], depth: f64| convective_in_layers(0.005, 0.3, &n, &dx, depth);
        for unit in [1e-3, 1.0, 1e3] {
            let near = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-12, "{found}");
            // Twenty wide; the depth of a planar mesh is no width.
            near(fix([0.0, 20.0 * 0.1 * unit * unit, 0.0], [0.0, unit, 0.0], 0.1 * unit), 0.1);
            near(fix([0.0, 0.0, 400.0 * unit * unit], [0.0, 0.0, unit], 0.0), 0.1);
            // Along the layers, and where nodes coincide.
            near(fix([unit * unit, 0.0, 0.0], [20.0 * unit, 0.0, 0.0], 0.0), 0.005);
            near(fix([0.0; 3], [0.0; 3], 0.0), 0.005);
        }
        assert_eq!(convective_in_layers(0.5, 0.3, &[1e6, 0.0, 0.0], &[1.0, 0.0, 0.0], 0.0), 0.5);
    }

    #[test]
    fn boundary_layers_are_left_alone() {
        let mut config = FlowConfig::default();
        assert!(LayerFix::of_residual(&config, Some(1.0)).most > 0.0);
        config.equations = Equations::Laminar;
        assert_eq!(LayerFix::of_residual(&config, Some(1.0)).most, 0.0);
    }
}
