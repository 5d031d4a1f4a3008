//! Models as unknowns of the cells of structured grids, whatever the equations of the flow.

use super::k_omega::{self as two_equations, KOmega, KOmegaVariant, k_omega_kept, k_omega_uncut, model_of};
use super::spalart_allmaras::{SaVariant, SpalartAllmaras, sa_kept};
use crate::config::{Quadratic, Rotation, TurbulenceConfig, TurbulenceModel, WallTreatment};
use crate::wall_law::WallLaw;

/// Most unknowns of a model.
pub(crate) const MOST: usize = 2;
/// Numbers of [`k_omega_terms`](super::k_omega::k_omega_terms).
pub(crate) const TERMS: usize = 10;

/// Which model.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Model {
    SpalartAllmaras(SpalartAllmaras<f64>),
    KOmega(KOmega<f64>),
}

/// What stands at walls without slip for the layer next to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WallFunctions {
    pub law: WallLaw,
    /// Whether omega there goes over from the viscous layer's to the logarithmic one's.
    pub blended: bool,
}

impl WallFunctions {
    /// Those of a set-up; none where the grid resolves that layer.
    fn of(config: &TurbulenceConfig) -> Option<Self> {
        let law = KOmegaVariant::of(config.model).map_or(WallLaw::SpalartAllmarasOfCells, KOmegaVariant::law);
        let blended = config.walls == WallTreatment::Automatic;
        (config.walls != WallTreatment::Resolved).then_some(Self { law, blended })
    }
}

/// The model of a set-up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GridTurbulence {
    pub model: Model,
    /// nut, or k and omega, of what enters.
    pub inflow: [f64; MOST],
    /// The turbulent Prandtl number.
    pub prandtl: f64,
    /// Whether advection is of second order.
    pub second_order: bool,
    /// SA-R.
    pub rotating: bool,
    /// SA-RC.
    pub curved: bool,
    /// What the stress has besides that of an eddy viscosity.
    pub quadratic: Quadratic,
    /// CFL number over the flow's.
    pub cfl_ratio: f64,
    /// The law of its walls, if they have one.
    pub walls: Option<WallFunctions>,
}

impl GridTurbulence {
    /// The model of a set-up; `scale` is the kinematic viscosity of the free stream.
    pub fn new(config: &TurbulenceConfig, scale: f64) -> Self {
        let (model, inflow) = if let Some(variant) = KOmegaVariant::of(config.model) {
            let (model, inflow) = model_of(config, variant, scale);
            (Model::KOmega(model), inflow)
        } else {
            let variant = match config.model {
                TurbulenceModel::Sa => SaVariant::Standard,
                TurbulenceModel::SaNoFt2 => SaVariant::NoFt2,
                _ => SaVariant::Negative,
            };
            (Model::SpalartAllmaras(SpalartAllmaras { variant, scale }), [config.inflow, 0.0])
        };
        Self {
            model,
            inflow,
            prandtl: config.prandtl,
            second_order: config.second_order,
            rotating: config.rotation == Rotation::Rotating,
            curved: config.rotation == Rotation::Curved,
            quadratic: config.quadratic,
            cfl_ratio: config.cfl_ratio,
            walls: WallFunctions::of(config),
        }
    }

    /// Names of the unknowns.
    pub fn names(&self) -> &'static [&'static str] {
        match self.model {
            Model::SpalartAllmaras(_) => &["nut"],
            Model::KOmega(_) => &two_equations::NAMES,
        }
    }

    /// Their number.
    pub fn unknowns(&self) -> usize {
        self.names().len()
    }

    /// Whether the unknowns are k and omega: derivatives along directions are then exact, and runs begin with steps apart.
    pub fn is_k_omega(&self) -> bool {
        matches!(self.model, Model::KOmega(_))
    }

    /// Of each unknown the size below which it counts for nothing, see [`Coupled::local_floor`](crate::coupled::Coupled::local_floor).
    pub fn floors(&self) -> [f64; MOST] {
        [self.inflow[0], 0.0]
    }

    /// What an unknown and its residual are measured by in a cell, `value` its own there.
    pub fn weight(&self, v: usize, value: f64) -> f64 {
        value.abs() + self.floors()[v]
    }

    /// Whether a value is in its range.
    pub fn is_good(&self, v: usize, value: f64) -> bool {
        value.is_finite() && (!self.is_k_omega() || if v == 0 { value >= 0.0 } else { value > 0.0 })
    }

    /// A value less its update: of models without negative values a part of it at least.
    pub fn updated(&self, value: f64, x: f64) -> f64 {
        match self.model {
            Model::SpalartAllmaras(sa) if sa.variant == SaVariant::Negative => value - x,
            Model::SpalartAllmaras(_) => sa_kept(value, x),
            Model::KOmega(_) => k_omega_kept(value, x),
        }
    }

    /// Whether [`Self::updated`], which gave `new`, has cut an update.
    pub fn is_cut(&self, value: f64, x: f64, new: f64) -> bool {
        match self.model {
            Model::SpalartAllmaras(_) => new > value - x,
            Model::KOmega(_) => x > k_omega_uncut(value),
        }
    }
}
