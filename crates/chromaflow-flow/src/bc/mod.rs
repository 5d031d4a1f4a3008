//! Boundary conditions as pointwise functions.
//!
//! | file | |
//! |---|---|
//! | one per condition | its word and parameters in case files, its functions of the state inside, their derivatives |
//! | `extrapolation.rs` | besides, what leaves against a pressure: at outlets, and at inlets where the inside pushes out |
//! | `boundary.rs` | [`Boundary`], what a set-up gives |
//! | `condition.rs` | [`Condition`], the scaled record of solvers and kernels, and the functions that tell conditions apart |
//! | `word.rs` | the table of words |
//!
//! Open boundaries give a boundary state `wb` from the interior state `w`, the outward area `n` and data; the boundary flux
//! is then F(wb) . n, see [`flux_through`]. Each `bc_x` has a `bc_x_jacobian`, dwb/dw (primitive by primitive,
//! column-major), from which [`flux_through_jacobian`] makes the block of the residual's Jacobian. Walls have fluxes of
//! their own.
//!
//! A new condition is a file here and its lines in those three; the compiler names each place that lacks it.

mod boundary;
mod condition;
mod extrapolation;
mod farfield;
mod inlet;
mod mass_flow_outlet;
mod moving_wall;
mod no_slip;
mod outlet;
mod periodic;
mod slip_wall;
mod symmetry;
mod velocity_inlet;
mod word;

#[cfg(test)]
mod tests;

pub use boundary::Boundary;
pub use condition::{
    Condition, ConditionClass, ConditionKind, condition_class, condition_flux, condition_flux_jacobian,
    node_flux, open_flux, open_state, open_state_jacobian, wall_at,
};
pub use extrapolation::{flux_out, flux_out_jacobian};
pub use farfield::{Farfield, bc_farfield, bc_farfield_jacobian, flux_farfield, flux_farfield_jacobian};
pub use inlet::{Inlet, bc_inlet, bc_inlet_jacobian};
pub use mass_flow_outlet::{adapted_pressure, outlet_flow};
pub use moving_wall::{Motion, motion_at};
pub use no_slip::{
    Wall, WallHeat, WallNode, ghost_no_slip, strong_wall_conserved, strong_wall_diagonal, strong_wall_energy,
    strong_wall_off_diagonal, strong_wall_residual, strong_wall_state, wall_energy,
};
pub use outlet::{Outlet, bc_outlet, bc_outlet_jacobian};
pub use slip_wall::{flux_slip_wall, flux_slip_wall_jacobian, flux_wave_wall, flux_wave_wall_jacobian};
pub use symmetry::{
    Mirror, MirrorNode, into_frame, mirror_add, mirror_block, mirror_gradient, mirror_kept, mirror_rows,
    mirrored_state, out_of_frame,
};
pub use velocity_inlet::{VelocityInlet, bc_velocity_inlet, bc_velocity_inlet_jacobian};
pub use word::{Parameter, Shape, Stream, Value, WORDS, Word};

use crate::flux::{flux, flux_jacobian};
use crate::gas::{Gas, by_conserved, from_primitive_block, multiply};
use crate::real::Real;

/// Flux F(wb) . n out of the domain at the boundary state `wb`.
#[inline(always)]
pub fn flux_through<T: Real>(gas: Gas<T>, wb: &[T; 5], n: &[T; 3]) -> [T; 5] {
    flux(gas, wb, n)
}

/// Derivative of [`flux_through`] by the interior conserved state: A(wb) dqb/dwb (dwb/dw) dw/dq.
///
/// **Shapes**: `dwb_dw` and the result column-major 5 x 5.
#[inline(always)]
pub fn flux_through_jacobian<T: Real>(
    gas: Gas<T>,
    w: &[T; 5],
    wb: &[T; 5],
    dwb_dw: &[T; 25],
    n: &[T; 3],
) -> [T; 25] {
    let dqb_dw = from_primitive_block(gas, wb, dwb_dw);
    let df_dw = multiply(&flux_jacobian(gas, wb, n), &dqb_dw);
    by_conserved(gas, w, &df_dw)
}
