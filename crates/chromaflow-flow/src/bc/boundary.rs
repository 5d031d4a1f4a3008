//! Boundary conditions as set-ups give them.

use super::{
    Condition, ConditionKind, Inlet, Motion, Outlet, VelocityInlet, WallHeat, extrapolation, farfield, inlet,
    mass_flow_outlet, moving_wall, no_slip, outlet, periodic, slip_wall, symmetry, velocity_inlet,
};
use crate::config::Equations;
use crate::gas::{Gas, mach};
use std::collections::BTreeMap;
use std::fmt;

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
    /// Wall without slip that moves along itself.
    MovingWall {
        /// Its motion.
        motion: Motion<f64>,
        /// Wall temperature over T_inf; no heat flux without it.
        temperature: Option<f64>,
    },
    /// Subsonic inflow of given velocity and temperature.
    VelocityInlet {
        /// Velocity over a_inf.
        velocity: [f64; 3],
        /// Temperature over T_inf.
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
    /// Outflow of a given mass flow through the whole marker, by a back pressure that adapts.
    MassFlowOutlet {
        /// Mass per time over rho_inf a_inf and the mesh unit squared; on planar meshes per depth.
        mass_flow: f64,
    },
    /// Everything from inside; see [`Self::of_marker`] for ducts.
    Extrapolation,
    /// One side of a pair through which a flow that repeats leaves and enters, see [`FlowConfig::partners`](crate::config::FlowConfig::partners).
    Periodic,
}

/// Pressure over the stream's behind a duct that ends in nothing.
const VACUUM: f64 = 1e-3;

impl Boundary {
    /// Makes of `all` what they are in a flow of these equations: a wall without slip has slip where nothing is viscous.
    pub(crate) fn settle(all: &mut BTreeMap<String, Self>, equations: Equations) {
        if equations == Equations::Euler {
            all.values_mut().filter(|b| b.is_no_slip()).for_each(|b| *b = Self::SlipWall);
        }
    }

    /// Which function it is.
    pub fn kind(&self) -> ConditionKind {
        match self {
            Self::Farfield => ConditionKind::Farfield,
            Self::SlipWall => ConditionKind::SlipWall,
            // Nothing asks for the flux of periodic sides: the solver merges their nodes.
            Self::Symmetry | Self::Periodic => ConditionKind::Symmetry,
            Self::NoSlipAdiabatic | Self::NoSlipIsothermal { .. } | Self::MovingWall { .. } => {
                ConditionKind::NoSlip
            }
            Self::VelocityInlet { .. } => ConditionKind::VelocityInlet,
            Self::Inlet { .. } => ConditionKind::Inlet,
            Self::Outlet { .. } | Self::MassFlowOutlet { .. } => ConditionKind::Outlet,
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
            | Self::Extrapolation
            | Self::Periodic => none,
            Self::NoSlipIsothermal { temperature } => {
                Condition { heat: WallHeat::Isothermal, temperature, ..none }
            }
            Self::MovingWall { motion, temperature } => match temperature {
                None => Condition { motion, ..none },
                Some(temperature) => Condition { heat: WallHeat::Isothermal, temperature, motion, ..none },
            },
            Self::VelocityInlet { velocity, temperature } => {
                Condition { velocity_inlet: VelocityInlet { velocity, temperature }, ..none }
            }
            Self::Inlet { total_pressure, total_temperature, direction } => {
                let inlet = Inlet::new(gas, total_pressure, total_temperature, direction);
                Condition { inlet, ..none }
            }
            Self::Outlet { pressure } => {
                Condition { outlet: Outlet::new(gas, pressure / gas.gamma, &free), ..none }
            }
            // Begins with the free stream's.
            Self::MassFlowOutlet { mass_flow } => {
                Condition { outlet: Outlet::new(gas, free[4], &free), mass_flow, held: free[4], ..none }
            }
        }
    }

    /// The boundary of a marker as a flow in the stream `free` (rho, u, v, w, p) meets it: what is extrapolated of a duct that nothing but total
    /// states and walls bounds, in a subsonic stream, is an outlet to next to nothing. No pressure would be set where the flow leaves below the
    /// speed of sound, and any flow be a solution; so it leaves at that speed at least ([`bc_outlet`](super::bc_outlet)).
    ///
    /// # Panics
    /// When there is no such marker.
    pub fn of_marker(all: &BTreeMap<String, Self>, marker: &str, gas: Gas<f64>, free: &[f64; 5]) -> Self {
        match all[marker] {
            Self::Extrapolation if Self::chokes(all, mach(gas, free)) => Self::Outlet { pressure: VACUUM },
            other => other,
        }
    }

    /// Whether what is extrapolated leaves at the speed of sound at least, as nothing but total states drives a flow whose stream has this Mach
    /// number, and no other marker sets a pressure.
    pub fn chokes(all: &BTreeMap<String, Self>, mach: f64) -> bool {
        let sets_pressure = |kind| {
            matches!(kind, ConditionKind::Farfield | ConditionKind::VelocityInlet | ConditionKind::Outlet)
        };
        let fed = all.values().any(|b| b.kind() == ConditionKind::Inlet);
        mach < 1.0 && fed && !all.values().any(|b| sets_pressure(b.kind()))
    }

    /// The Mach number of the fastest gas that a set-up tells of: the stream's, a velocity inlet's own, or what becomes of an inlet's
    /// total pressure p0 without loss at the lowest pressure p that a marker sets,
    /// M^2 = 2/(gamma - 1) ((p0/p)^((gamma - 1)/gamma) - 1). A jet into air at rest is no slow flow.
    ///
    /// ```
    /// use chromaflow_flow::{bc::Boundary, gas::Gas};
    /// let inlet = |total_pressure| Boundary::Inlet { total_pressure, total_temperature: 1.0, direction: [1.0, 0.0, 0.0] };
    /// let fastest = |p0| {
    ///     let sides = [("jet", inlet(p0)), ("still air", Boundary::Farfield)];
    ///     Boundary::fastest(&sides.map(|(name, side)| (name.to_owned(), side)).into(), Gas::AIR, 0.01)
    /// };
    /// assert!((fastest(1.8929) - 1.0).abs() < 1e-4);
    /// assert_eq!(fastest(0.9), 0.01);
    /// ```
    pub fn fastest(all: &BTreeMap<String, Self>, gas: Gas<f64>, mach: f64) -> f64 {
        let lowest = all.values().filter_map(|boundary| match *boundary {
            Self::Farfield => Some(1.0),
            Self::Outlet { pressure } => Some(pressure),
            Self::Extrapolation if Self::chokes(all, mach) => Some(VACUUM),
            _ => None,
        });
        let lowest = lowest.fold(f64::INFINITY, f64::min);
        let of = |boundary: &Self| match *boundary {
            Self::Inlet { total_pressure, .. } => {
                let g1 = gas.gamma - 1.0;
                let rise = (total_pressure / lowest).max(1.0).powf(g1 / gas.gamma) - 1.0;
                (2.0 / g1 * rise).sqrt()
            }
            Self::VelocityInlet { velocity: [u, v, w], temperature } => {
                ((u * u + v * v + w * w) / temperature).sqrt()
            }
            _ => 0.0,
        };
        all.values().map(of).fold(mach, f64::max)
    }

    /// Whether forces are summed on it.
    pub fn is_wall(&self) -> bool {
        self.kind().is_wall()
    }

    /// Its word in case files.
    pub fn word(&self) -> &'static str {
        let word = match self {
            Self::Farfield => &farfield::WORD,
            Self::SlipWall => &slip_wall::WORD,
            Self::Symmetry => &symmetry::WORD,
            Self::NoSlipAdiabatic | Self::NoSlipIsothermal { .. } => &no_slip::WORD,
            Self::MovingWall { .. } => &moving_wall::WORD,
            Self::VelocityInlet { .. } => &velocity_inlet::WORD,
            Self::Inlet { .. } => &inlet::WORD,
            Self::Outlet { .. } => &outlet::WORD,
            Self::MassFlowOutlet { .. } => &mass_flow_outlet::WORD,
            Self::Extrapolation => &extrapolation::WORD,
            Self::Periodic => &periodic::WORD,
        };
        word.name
    }

    /// Whether the velocity of the gas there is the wall's.
    pub fn is_no_slip(&self) -> bool {
        self.kind().is_no_slip()
    }
}

/// As case files say it.
impl fmt::Display for Boundary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())?;
        match self {
            Self::NoSlipIsothermal { temperature } => write!(f, ", temperature {temperature}"),
            Self::MovingWall { motion, temperature } => {
                let Motion { velocity, rotation, center } = motion;
                if *velocity != [0.0; 3] {
                    write!(f, ", velocity {velocity:?}")?;
                }
                if *rotation != [0.0; 3] {
                    write!(f, ", rotation {rotation:?} about {center:?}")?;
                }
                temperature.map_or(Ok(()), |t| write!(f, ", temperature {t}"))
            }
            Self::VelocityInlet { velocity, temperature } => {
                write!(f, ", velocity {velocity:?}, temperature {temperature}")
            }
            Self::Inlet { total_pressure, total_temperature, direction } => write!(
                f,
                ", total pressure {total_pressure}, total temperature {total_temperature}, direction {direction:?}"
            ),
            Self::Outlet { pressure } => write!(f, ", pressure {pressure}"),
            Self::MassFlowOutlet { mass_flow } => write!(f, ", mass flow {mass_flow}"),
            _ => Ok(()),
        }
    }
}
