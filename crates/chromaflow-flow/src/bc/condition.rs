//! A boundary condition as every solver and every kernel takes it, and what it makes of the state inside. Here alone
//! conditions are told apart; kernels get these very functions and this record.

use super::{
    Farfield, Inlet, Motion, Outlet, VelocityInlet, Wall, WallHeat, bc_farfield, bc_farfield_jacobian,
    bc_inlet, bc_inlet_jacobian, bc_outlet, bc_outlet_jacobian, bc_velocity_inlet,
    bc_velocity_inlet_jacobian, flux_farfield, flux_farfield_jacobian, flux_out, flux_out_jacobian,
    flux_slip_wall, flux_slip_wall_jacobian, flux_through, flux_through_jacobian, flux_wave_wall,
    flux_wave_wall_jacobian, motion_at,
};
use crate::gas::Gas;
use crate::real::Real;

/// Which condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum ConditionKind {
    /// [`bc_farfield`].
    Farfield,
    /// [`bc_inlet`].
    Inlet,
    /// [`bc_velocity_inlet`].
    VelocityInlet,
    /// [`bc_outlet`].
    Outlet,
    /// wb = w.
    Extrapolation,
    /// [`flux_wave_wall`]; [`flux_slip_wall`] where the state is that of the wall itself.
    SlipWall,
    /// As a slip wall, with the mirror image beyond it.
    Symmetry,
    /// A wall whose velocity the gas has.
    NoSlip,
}

impl ConditionKind {
    /// Whether forces are summed on it.
    pub fn is_wall(self) -> bool {
        matches!(self, Self::SlipWall | Self::NoSlip)
    }

    /// Whether the velocity of the gas there is the wall's.
    pub fn is_no_slip(self) -> bool {
        self == Self::NoSlip
    }
}

/// What conditions have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionClass {
    /// The gas passes, [`open_flux`].
    Open,
    /// Nothing passes; the gas slides along.
    Slip,
    /// Nothing passes; the gas sticks.
    NoSlip,
}

/// A boundary condition with the parameters of every kind, nondimensional; those of other kinds mean nothing.
///
/// Kernels read arrays of it: enums come first so that nothing lies between the fields.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Condition<T> {
    /// Which one.
    pub kind: ConditionKind,
    /// What a wall without slip does with heat.
    pub heat: WallHeat,
    /// Of far fields.
    pub farfield: Farfield<T>,
    /// Of inlets.
    pub inlet: Inlet<T>,
    /// Of inlets of given velocity.
    pub velocity_inlet: VelocityInlet<T>,
    /// Of outlets.
    pub outlet: Outlet<T>,
    /// Of slip walls: the Mach number below which what hits them is felt no less, see [`flux_wave_wall`].
    pub cutoff_mach: T,
    /// Of outlets that adapt their pressure: mass flow out through the marker; else 0.
    pub mass_flow: T,
    /// Of these: the pressure from which they do, see [`adapted_pressure`](super::adapted_pressure).
    pub held: T,
    /// Of isothermal walls, over the free stream's.
    pub temperature: T,
    /// Of walls without slip.
    pub motion: Motion<T>,
}

impl Condition<f64> {
    /// A condition of this kind in the free stream `free`, its own parameters yet to be set.
    pub(super) const fn of(kind: ConditionKind, free: [f64; 5]) -> Self {
        Self {
            kind,
            heat: WallHeat::Adiabatic,
            farfield: Farfield { free },
            inlet: Inlet::NONE,
            velocity_inlet: VelocityInlet { velocity: [0.0; 3], temperature: 1.0 },
            outlet: Outlet { pressure: 0.0, total_temperature: 1.0, width: 0.0 },
            cutoff_mach: 1.0,
            mass_flow: 0.0,
            held: 0.0,
            temperature: 0.0,
            motion: Motion::NONE,
        }
    }

    /// The same in another scalar.
    #[inline(always)]
    pub fn lift<T: Real>(&self) -> Condition<T> {
        Condition {
            kind: self.kind,
            heat: self.heat,
            farfield: self.farfield.lift(),
            inlet: self.inlet.lift(),
            velocity_inlet: self.velocity_inlet.lift(),
            outlet: self.outlet.lift(),
            cutoff_mach: T::c(self.cutoff_mach),
            mass_flow: T::c(self.mass_flow),
            held: T::c(self.held),
            temperature: T::c(self.temperature),
            motion: self.motion.lift(),
        }
    }
}

/// The class of a condition.
#[inline(always)]
pub fn condition_class<T: Real>(condition: &Condition<T>) -> ConditionClass {
    match condition.kind {
        ConditionKind::Farfield
        | ConditionKind::Inlet
        | ConditionKind::VelocityInlet
        | ConditionKind::Outlet
        | ConditionKind::Extrapolation => ConditionClass::Open,
        ConditionKind::SlipWall | ConditionKind::Symmetry => ConditionClass::Slip,
        ConditionKind::NoSlip => ConditionClass::NoSlip,
    }
}

/// The state at an open boundary of outward area `n` from the state `w` inside. Walls, which have fluxes of their own, leave
/// it.
#[inline(always)]
pub fn open_state<T: Real>(condition: &Condition<T>, gas: Gas<T>, w: &[T; 5], n: &[T; 3]) -> [T; 5] {
    match condition.kind {
        ConditionKind::Farfield => bc_farfield(gas, w, &condition.farfield.free, n),
        ConditionKind::Inlet => bc_inlet(gas, w, condition.inlet, n),
        ConditionKind::VelocityInlet => bc_velocity_inlet(gas, w, condition.velocity_inlet, n),
        ConditionKind::Outlet => bc_outlet(gas, w, condition.outlet, n),
        ConditionKind::Extrapolation
        | ConditionKind::SlipWall
        | ConditionKind::Symmetry
        | ConditionKind::NoSlip => *w,
    }
}

/// d(boundary state)/d(interior state) of [`open_state`], primitive by primitive, column-major 5 x 5.
#[inline(always)]
pub fn open_state_jacobian<T: Real>(
    condition: &Condition<T>,
    gas: Gas<T>,
    w: &[T; 5],
    n: &[T; 3],
) -> [T; 25] {
    match condition.kind {
        ConditionKind::Farfield => bc_farfield_jacobian(gas, w, &condition.farfield.free, n),
        ConditionKind::Inlet => bc_inlet_jacobian(gas, w, condition.inlet, n),
        ConditionKind::VelocityInlet => bc_velocity_inlet_jacobian(gas, w, condition.velocity_inlet, n),
        ConditionKind::Outlet => bc_outlet_jacobian(gas, w, condition.outlet, n),
        ConditionKind::Extrapolation
        | ConditionKind::SlipWall
        | ConditionKind::Symmetry
        | ConditionKind::NoSlip => {
            let mut identity = [T::c(0.0); 25];
            for i in 0..5 {
                identity[6 * i] = T::c(1.0);
            }
            identity
        }
    }
}

/// Inviscid flux out through an open boundary: that of [`open_state`], but for far fields ([`flux_farfield`]) and
/// extrapolation ([`flux_out`]).
#[inline(always)]
pub fn open_flux<T: Real>(condition: &Condition<T>, gas: Gas<T>, w: &[T; 5], n: &[T; 3]) -> [T; 5] {
    if condition.kind == ConditionKind::Farfield {
        return flux_farfield(gas, w, &condition.farfield.free, n);
    }
    if condition.kind == ConditionKind::Extrapolation {
        return flux_out(gas, w, n);
    }
    flux_through(gas, &open_state(condition, gas, w, n), n)
}

/// Inviscid flux out of the domain at the interior state `w` through the outward area `n`.
#[inline(always)]
pub fn condition_flux<T: Real>(condition: &Condition<T>, gas: Gas<T>, w: &[T; 5], n: &[T; 3]) -> [T; 5] {
    match condition_class(condition) {
        ConditionClass::Open => open_flux(condition, gas, w, n),
        ConditionClass::Slip => flux_wave_wall(gas, w, n, condition.cutoff_mach),
        ConditionClass::NoSlip => flux_slip_wall(w, n),
    }
}

/// [`condition_flux`] at a node. Where a wall without slip ends at an open boundary the wall has the node's velocity (`stuck`), and momentum
/// leaves with the state that is there: pressures of waves (rho c times the difference of velocities) are of a gas that is free to move, and
/// would count as friction of the wall, which is what is left of the node's momentum.
#[inline(always)]
pub fn node_flux<T: Real>(
    condition: &Condition<T>,
    gas: Gas<T>,
    w: &[T; 5],
    n: &[T; 3],
    stuck: bool,
) -> [T; 5] {
    let out = condition_flux(condition, gas, w, n);
    if stuck && condition_class(condition) == ConditionClass::Open {
        let own = flux_through(gas, w, n);
        return [out[0], own[1], own[2], own[3], out[4]];
    }
    out
}

/// Derivative of [`condition_flux`] by the interior conserved state, column-major 5 x 5.
#[inline(always)]
pub fn condition_flux_jacobian<T: Real>(
    condition: &Condition<T>,
    gas: Gas<T>,
    w: &[T; 5],
    n: &[T; 3],
) -> [T; 25] {
    if condition.kind == ConditionKind::Extrapolation {
        return flux_out_jacobian(gas, w, n);
    }
    if condition.kind == ConditionKind::Farfield {
        return flux_farfield_jacobian(gas, w, &condition.farfield.free, n);
    }
    match condition_class(condition) {
        ConditionClass::Open => {
            let wb = open_state(condition, gas, w, n);
            let slope = open_state_jacobian(condition, gas, w, n);
            flux_through_jacobian(gas, w, &wb, &slope, n)
        }
        ConditionClass::Slip => flux_wave_wall_jacobian(gas, w, n, condition.cutoff_mach),
        ConditionClass::NoSlip => flux_slip_wall_jacobian(gas, w, n),
    }
}

/// What a wall without slip is at the place `x`.
#[inline(always)]
pub fn wall_at<T: Real>(condition: &Condition<T>, x: &[T; 3]) -> Wall<T> {
    Wall { temperature: condition.temperature, velocity: motion_at(condition.motion, x) }
}
