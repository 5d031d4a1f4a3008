//! Boundary conditions as set-ups give them.

use super::{Condition, ConditionKind, Inlet, Outlet, WallHeat};
use crate::gas::Gas;

/// A boundary condition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Boundary {
    /// Far field by characteristics (Riemann invariants).
    Farfield,
    /// Inviscid wall.
    SlipWall,
    /// Plane of symmetry.
    Symmetry,
    /// Wall at rest without heat flux.
    NoSlipAdiabatic,
    /// Wall at rest of given temperature.
    NoSlipIsothermal {
        /// Wall temperature over T_inf.
        temperature: f64,
    },
    /// Subsonic inflow of given total state.
    Inlet {
        /// Total pressure over static p_inf.
        total_pressure: f64,
        /// Total temperature over static T_inf.
        total_temperature: f64,
        /// Direction of the flow (any length).
        direction: [f64; 3],
    },
    /// Outflow against a back pressure; supersonic outflow is extrapolated.
    Outlet {
        /// Static pressure over p_inf.
        pressure: f64,
    },
    /// Everything from inside.
    Extrapolation,
}

impl Boundary {
    /// Which function it is.
    pub fn kind(&self) -> ConditionKind {
        match self {
            Self::Farfield => ConditionKind::Farfield,
            Self::SlipWall => ConditionKind::SlipWall,
            Self::Symmetry => ConditionKind::Symmetry,
            Self::NoSlipAdiabatic | Self::NoSlipIsothermal { .. } => ConditionKind::NoSlip,
            Self::Inlet { .. } => ConditionKind::Inlet,
            Self::Outlet { .. } => ConditionKind::Outlet,
            Self::Extrapolation => ConditionKind::Extrapolation,
        }
    }

    /// The condition with its parameters scaled, in the free stream `free` (rho, u, v, w, p).
    pub fn condition(&self, gas: Gas<f64>, free: [f64; 5]) -> Condition<f64> {
        let none = Condition::of(self.kind(), free);
        match *self {
            Self::Farfield
            | Self::SlipWall
            | Self::Symmetry
            | Self::NoSlipAdiabatic
            | Self::Extrapolation => none,
            Self::NoSlipIsothermal { temperature } => {
                Condition { heat: WallHeat::Isothermal, temperature, ..none }
            }
            Self::Inlet { total_pressure, total_temperature, direction } => {
                let inlet = Inlet::new(gas, total_pressure, total_temperature, direction);
                Condition { inlet, ..none }
            }
            Self::Outlet { pressure } => {
                Condition { outlet: Outlet { pressure: pressure / gas.gamma }, ..none }
            }
        }
    }

    /// Whether forces are summed on it.
    pub fn is_wall(&self) -> bool {
        self.kind().is_wall()
    }

    /// Whether the velocity of the gas there is the wall's.
    pub fn is_no_slip(&self) -> bool {
        self.kind().is_no_slip()
    }
}
