//! Models as unknowns of the cells of structured grids, whatever the equations of the flow.

use super::k_omega::{
    self as two_equations, KOmega, KOmegaVariant, deformation, k_omega_blending, k_omega_diffusing,
    k_omega_kept, k_omega_rate, k_omega_sources, model_of, producing,
};
use super::spalart_allmaras::{SaVariant, SpalartAllmaras, sa_kept};
use crate::config::{Rotation, TurbulenceConfig, TurbulenceModel};
use crate::real::Real;

/// Most unknowns of a model.
pub(crate) const MOST: usize = 2;
/// Numbers of [`k_omega_terms`].
pub(crate) const TERMS: usize = 10;

/// Which model.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Model {
    SpalartAllmaras(SpalartAllmaras<f64>),
    KOmega(KOmega<f64>),
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
    /// CFL number over the flow's.
    pub cfl_ratio: f64,
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
            cfl_ratio: config.cfl_ratio,
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

    /// Whether unknowns span orders of magnitude over the grid: residuals are then measured by each cell's own values, derivatives along directions are exact, and
    /// runs begin with steps apart.
    pub fn is_local(&self) -> bool {
        matches!(self.model, Model::KOmega(_))
    }

    /// What the residual of an unknown is divided by in norms, `value` its own.
    pub fn weight(&self, v: usize, value: f64) -> f64 {
        if self.is_local() { value.abs() + [self.inflow[0], 0.0][v] } else { 1.0 }
    }

    /// Whether a value is in its range.
    pub fn is_good(&self, v: usize, value: f64) -> bool {
        value.is_finite() && (!self.is_local() || if v == 0 { value >= 0.0 } else { value > 0.0 })
    }

    /// A value less its update: of models without negative values a part of it at least.
    pub fn updated(&self, value: f64, x: f64) -> f64 {
        match self.model {
            Model::SpalartAllmaras(sa) if sa.variant == SaVariant::Negative => value - x,
            Model::SpalartAllmaras(_) => sa_kept(value, x),
            Model::KOmega(_) => k_omega_kept(value, x),
        }
    }
}

/// Of a cell at this distance from walls, production multiplied by `share`: eddy viscosity, what k and omega diffuse by, sources and their derivatives as
/// [`k_omega_sources`] has them; then the derivatives of the eddy viscosity by k and omega with F2 and the strain as they are. `gas` is density and viscosity,
/// `turbulence` k and omega, `gradients` d(u, v, w, k, omega)_i / dx_k.
#[inline(always)]
pub(crate) fn k_omega_terms<T: Real>(
    model: KOmega<T>,
    gas: &[T; 2],
    distance: T,
    share: T,
    turbulence: &[T; 2],
    gradients: &[[T; 3]; 5],
) -> [T; TERMS] {
    let [u, v, s, of_k, of_omega] = *gradients;
    let slopes = [of_k, of_omega];
    let [f1, f2] = k_omega_blending(model, gas, distance, turbulence, &slopes);
    let rates = deformation(&[u, v, s]);
    let rate = k_omega_rate(model, f2, turbulence[1], &rates);
    let diffusing = k_omega_diffusing(model, f1, rate[0], gas, turbulence);
    let (rates, whole) = (producing(&rates, share), T::c(1.0));
    let [k, omega, k_by_k, k_by_omega, omega_by] =
        k_omega_sources(model, f1, &rate, gas[0], turbulence, &rates, &slopes, whole);
    let eddy = gas[0] * turbulence[0] / rate[0];
    let by = [gas[0] / rate[0], T::c(-1.0) * eddy / rate[0] * rate[1]];
    [eddy, diffusing[0], diffusing[1], k, omega, k_by_k, k_by_omega, omega_by, by[0], by[1]]
}

/// The derivatives of what k's and omega's sources take, `[residual][unknown]`, where they add to the diagonal or leave the matrix triangular; `by` those of the
/// sources: of k by k and by omega, of omega by omega.
pub(crate) fn k_omega_slope([k_by_k, k_by_omega, omega_by_omega]: [f64; 3]) -> [[f64; MOST]; MOST] {
    [[-k_by_k, -k_by_omega], [0.0, (-omega_by_omega).max(0.0)]]
}

/// What V/dt of k has at least over the volume: twice the rate at which k grows, `rate` by its residual, where it does, and no faster than its source alone makes
/// it, `by_source`. Over longer steps what should grow would change its sign.
pub(crate) fn k_resolving(rate: f64, by_source: f64) -> f64 {
    2.0 * rate.min(by_source).max(0.0)
}
