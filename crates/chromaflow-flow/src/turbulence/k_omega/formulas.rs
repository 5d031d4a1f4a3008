//! The terms of the k-omega models, as pointwise functions.
//!
//! k is the kinetic energy of turbulence over a_inf^2, omega its rate over a_inf and the mesh unit, viscosities are over rho_inf
//! a_inf and the mesh unit, mu_t = rho k / omega^:
//! ```text
//! rho Dk/Dt     = P_k - beta* rho omega k + div((mu + sigma_k mu_t) grad k)
//! rho Domega/Dt = P_omega - beta rho omega^2 + div((mu + sigma_omega mu_t) grad omega) + rho sigma_d/omega grad k . grad omega
//!
//! SST-2003m:   omega^ = max(omega, F2 S / a1),      P_k = rho k min(S^2/omega^, 10 beta* omega),
//!              P_omega = gamma rho min(S^2, 10 beta* omega omega^)
//! SST-Vm:      omega^ = max(omega, F2 Omega / a1),  P_k = rho k min(Omega^2/omega^, 20 beta* omega), P_omega = gamma rho Omega^2
//! Wilcox 2006: omega^ = max(omega, 7/8 S'/sqrt(beta*)), P_k = rho k min(S^2/omega^, 20 beta* omega),
//!              P_omega = gamma rho omega/omega^ S^2, diffusion by rho k/omega in the place of mu_t
//! ```
//! S^2 = 2 S_ij S_ij, Omega^2 = 2 W_ij W_ij, S' that of S_ij without its trace. Constants of SST are those of its inner and its
//! outer set, F1 of the first and 1 - F1 of the second; sigma_d = 2 (1 - F1) sigma_omega2, Wilcox's is 1/8: where cross diffusion is a
//! source, else 0. No 2/3 rho k in the stress.
//!
//! **Source**: Menter (1994), AIAA J. 32(8); Menter, Kuntz and Langtry (2003), Turbulence, Heat and Mass Transfer 4; Wilcox (2008),
//! AIAA J. 46(11); sustaining terms: Spalart and Rumsey (2007), AIAA J. 45(10); names: NASA Turbulence Modeling Resource.

use crate::real::Real;
use crate::turbulence::hybrid::{HybridForm, sst_shortened};

/// beta*
const BETA_STAR: f64 = 0.09;
/// a1 of SST.
const A1: f64 = 0.31;
/// Of SST, inner and outer.
const SIGMA_K: [f64; 2] = [0.85, 1.0];
const SIGMA_OMEGA: [f64; 2] = [0.5, 0.856];
const BETA: [f64; 2] = [0.075, 0.0828];
const GAMMA_2003: [f64; 2] = [5.0 / 9.0, 0.44];
/// beta / beta* - sigma_omega kappa^2 / sqrt(beta*), kappa = 0.41.
const GAMMA_1994: [f64; 2] = [0.553_166_666_666_666_7, 0.440_354_666_666_666_7];
/// Of Wilcox 2006: sigma_k, sigma_omega, beta_0, gamma, sigma_d.
const WILCOX_SIGMA_K: f64 = 0.6;
const WILCOX_SIGMA_OMEGA: f64 = 0.5;
const WILCOX_BETA: f64 = 0.0708;
const WILCOX_GAMMA: f64 = 13.0 / 25.0;
const WILCOX_SIGMA_D: f64 = 0.125;
/// 7/8 / sqrt(beta*)
const WILCOX_LIMIT: f64 = 0.875 / 0.3;
/// Largest production of k over its destruction.
const MOST_2003: f64 = 10.0;
const MOST: f64 = 20.0;
/// Smallest cross diffusion in F1, over rho omega^2: in the place of a number with units, which would tie the model to those of the mesh.
const LEAST_CROSS: f64 = 1e-30;
/// omega of the viscous layer over nu / (beta d^2); Menter's at a wall over that at the first node off it; Wilcox's at a rough wall over nu / k_s^2.
const SUBLAYER: f64 = 6.0;
const MENTER: f64 = 10.0;
const ROUGH: f64 = 4e4;
/// sqrt(beta*) and kappa of the logarithmic layer.
const ROOT_BETA_STAR: f64 = 0.3;
const LOG_KAPPA: f64 = 0.41;
/// omega at a wall with a law over that of the layer at the first node, (p_0 + p_1 y + p_2 y^2 + p_3 p_5 y^3) / (1 + p_4 y^2 + p_5 y^3), y that node's y+; and the same at
/// the face of a cell.
const LAW_WALL: [f64; 6] = [2.46288, 0.682263, 0.0385082, 3.40512, 0.00994851, 5.30782e-5];
const LAW_FACE: [f64; 6] = [1.42219, 0.0, 0.680472, 2.90049, 0.0446617, 0.00731334];
/// Exponent of k in the viscous layer, and the y+ where the two layers' omega of SST are one: 80 sqrt(beta*) kappa.
const VISCOUS_K: f64 = 3.23;
const CROSSING: f64 = 80.0 * ROOT_BETA_STAR * LOG_KAPPA;
/// Largest fall of the logarithm of k, or of omega, in a step: ln 5.
const MOST_FALL: f64 = 1.609_437_912_434_1;

/// Which model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum KOmegaVariant {
    /// SST-2003m.
    Sst,
    /// SST-Vm.
    SstVorticity,
    /// Wilcox2006m-klim.
    Wilcox,
}

/// The model for one case.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct KOmega<T> {
    /// Its form.
    pub variant: KOmegaVariant,
    /// k and omega that sources sustain; zeros where they sustain none.
    pub ambient_k: T,
    /// See [`Self::ambient_k`].
    pub ambient_omega: T,
    /// Height of the roughness of walls, of Wilcox's omega there; 0 for Menter's.
    pub roughness: T,
}

impl KOmega<f64> {
    /// The same in another scalar.
    #[inline(always)]
    pub fn lift<T: Real>(&self) -> KOmega<T> {
        KOmega {
            variant: self.variant,
            ambient_k: T::c(self.ambient_k),
            ambient_omega: T::c(self.ambient_omega),
            roughness: T::c(self.roughness),
        }
    }
}

/// F1 of one number and 1 - F1 of another.
#[inline(always)]
fn mixed<T: Real>(f1: T, inner: f64, outer: f64) -> T {
    T::c(outer) + f1 * T::c(inner - outer)
}

/// tanh of a number that is not negative.
#[inline(always)]
fn tanh_of_positive<T: Real>(x: T) -> T {
    T::c(1.0) - T::c(2.0) / ((T::c(2.0) * x.min(T::c(25.0))).exp() + T::c(1.0))
}

#[inline(always)]
fn dot<T: Real>(a: &[T; 3], b: &[T; 3]) -> T {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// (S, S', Omega, |W_ij W_jk S^_ki|) of the gradients d(u, v, w)_i / dx_k; S^ = S_ij - 1/2 div u delta_ij.
///
/// ```
/// use chromaflow_flow::turbulence::k_omega::deformation;
/// // A shear, and a stretching along z.
/// assert_eq!(deformation(&[[0.0, 3.0, 0.0], [0.0; 3], [0.0; 3]]), [3.0, 3.0, 3.0, 0.0]);
/// let [s, without_trace, vorticity, _]: [f64; 4] = deformation(&[[0.0; 3], [0.0; 3], [0.0, 0.0, 3.0]]);
/// assert!((s * s - 18.0).abs() < 1e-14 && vorticity == 0.0);
/// assert!((without_trace * without_trace - 12.0).abs() < 1e-14);
/// ```
#[inline(always)]
pub fn deformation<T: Real>(gradient: &[[T; 3]; 3]) -> [T; 4] {
    let (half, zero) = (T::c(0.5), T::c(0.0));
    let mut strain = [[zero; 3]; 3];
    let mut turning = [[zero; 3]; 3];
    for i in 0..3 {
        for j in 0..3 {
            strain[i][j] = half * (gradient[i][j] + gradient[j][i]);
            turning[i][j] = half * (gradient[i][j] - gradient[j][i]);
        }
    }
    let divergence = strain[0][0] + strain[1][1] + strain[2][2];
    let (mut strains, mut turnings, mut stretching) = (zero, zero, zero);
    for i in 0..3 {
        for j in 0..3 {
            strains += strain[i][j] * strain[i][j];
            turnings += turning[i][j] * turning[i][j];
            let mut square = zero;
            for k in 0..3 {
                square += turning[i][k] * turning[k][j];
            }
            stretching += square * strain[j][i];
            if i == j {
                stretching -= half * divergence * square;
            }
        }
    }
    let two = T::c(2.0);
    let without_trace = (strains - T::c(1.0 / 3.0) * divergence * divergence).max(zero);
    [(two * strains).sqrt(), (two * without_trace).sqrt(), (two * turnings).sqrt(), stretching.abs()]
}

/// F1 and F2 of SST; of Wilcox's model, which has none, ones. `gas` is density and viscosity, `turbulence` k and omega,
/// `slopes` their gradients.
#[inline(always)]
pub fn k_omega_blending<T: Real>(
    model: KOmega<T>,
    gas: &[T; 2],
    distance: T,
    turbulence: &[T; 2],
    slopes: &[[T; 3]; 2],
) -> [T; 2] {
    if model.variant == KOmegaVariant::Wilcox {
        return [T::c(1.0), T::c(1.0)];
    }
    let [density, viscosity] = *gas;
    let [k, omega] = *turbulence;
    let near = distance.max(T::c(1e-100));
    let square = near * near;
    let length = k.max(T::c(0.0)).sqrt() / (T::c(BETA_STAR) * omega * near);
    let sublayer = T::c(500.0) * viscosity / (density * square * omega);
    let outer = T::c(2.0 * SIGMA_OMEGA[1]) * density;
    let cross =
        (outer * dot(&slopes[0], &slopes[1]) / omega).max(T::c(LEAST_CROSS) * density * omega * omega);
    let a1 = length.max(sublayer).min(T::c(2.0) * outer * k / (cross * square));
    let a2 = (T::c(2.0) * length).max(sublayer);
    // tanh is 1 long before.
    let (a1, a2) = (a1.min(T::c(10.0)), a2.min(T::c(10.0)));
    [tanh_of_positive(a1 * a1 * a1 * a1), tanh_of_positive(a2 * a2)]
}

/// omega^ = rho k / mu_t, and its derivative by omega with F2 as it is.
///
/// ```
/// use chromaflow_flow::turbulence::k_omega::{KOmega, KOmegaVariant, k_omega_rate};
/// let model = KOmega { variant: KOmegaVariant::Sst, ambient_k: 0.0, ambient_omega: 0.0, roughness: 0.0 };
/// assert_eq!(k_omega_rate(model, 1.0, 5.0, &[1.0; 4]), [5.0, 1.0]);
/// assert_eq!(k_omega_rate(model, 1.0, 5.0, &[3.1, 0.0, 0.0, 0.0]), [10.0, 0.0]);
/// ```
#[inline(always)]
pub fn k_omega_rate<T: Real>(model: KOmega<T>, f2: T, omega: T, deformation: &[T; 4]) -> [T; 2] {
    let mut least = f2 * deformation[0] / T::c(A1);
    if model.variant == KOmegaVariant::SstVorticity {
        least = f2 * deformation[2] / T::c(A1);
    }
    if model.variant == KOmegaVariant::Wilcox {
        least = T::c(WILCOX_LIMIT) * deformation[1];
    }
    [omega.max(least), T::select(omega.gt(least), T::c(1.0), T::c(0.0))]
}

/// What k and omega diffuse by: molecular and turbulent viscosity. `rate` is omega^.
#[inline(always)]
pub fn k_omega_diffusing<T: Real>(
    model: KOmega<T>,
    f1: T,
    rate: T,
    gas: &[T; 2],
    turbulence: &[T; 2],
) -> [T; 2] {
    let [density, viscosity] = *gas;
    let [k, omega] = *turbulence;
    if model.variant == KOmegaVariant::Wilcox {
        let eddy = density * k / omega;
        return [viscosity + T::c(WILCOX_SIGMA_K) * eddy, viscosity + T::c(WILCOX_SIGMA_OMEGA) * eddy];
    }
    let eddy = density * k / rate;
    [
        viscosity + mixed(f1, SIGMA_K[0], SIGMA_K[1]) * eddy,
        viscosity + mixed(f1, SIGMA_OMEGA[0], SIGMA_OMEGA[1]) * eddy,
    ]
}

/// [`deformation`] as production is to see it: sizes of strain and vorticity times `share`, 1 in turbulent flow, 0 where it is kept laminar.
///
/// ```
/// use chromaflow_flow::turbulence::k_omega::producing;
/// assert_eq!(producing(&[3.0, 4.0, 5.0, 6.0], 0.0), [0.0, 4.0, 0.0, 6.0]);
/// ```
#[inline(always)]
pub fn producing<T: Real>(deformation: &[T; 4], share: T) -> [T; 4] {
    [deformation[0] * share, deformation[1], deformation[2] * share, deformation[3]]
}

/// Production of k over rho k, and of omega over rho, with the derivatives of both by omega.
#[inline(always)]
fn productions<T: Real>(model: KOmega<T>, f1: T, rate: &[T; 2], omega: T, deformation: &[T; 4]) -> [T; 4] {
    let zero = T::c(0.0);
    let [whole, whole_by] = *rate;
    let mut square = deformation[0] * deformation[0];
    if model.variant == KOmegaVariant::SstVorticity {
        square = deformation[2] * deformation[2];
    }
    let mut most = T::c(MOST * BETA_STAR);
    if model.variant == KOmegaVariant::Sst {
        most = T::c(MOST_2003 * BETA_STAR);
    }
    let free = square / whole;
    let limited = free.gt(most * omega);
    let of_k = T::select(limited, most * omega, free);
    let of_k_by = T::select(limited, most, zero - free / whole * whole_by);
    if model.variant == KOmegaVariant::Wilcox {
        let gamma = T::c(WILCOX_GAMMA);
        return [of_k, gamma * omega * free, of_k_by, gamma * free * (T::c(1.0) - omega / whole * whole_by)];
    }
    if model.variant == KOmegaVariant::SstVorticity {
        return [of_k, mixed(f1, GAMMA_1994[0], GAMMA_1994[1]) * square, of_k_by, zero];
    }
    let gamma = mixed(f1, GAMMA_2003[0], GAMMA_2003[1]);
    let by = T::select(limited, most * (whole + omega * whole_by), zero);
    [of_k, gamma * of_k * whole, of_k_by, gamma * by]
}

/// Sources per volume of k and of omega, and of their derivatives, with F1, F2, `shortened` and the gradients as they are, that of
/// the first by k and by omega, and that of the second by omega; it does not depend on k. `rate` is [`k_omega_rate`]; `shortened` the
/// length of RANS over the model's, 1 in RANS: the destruction of k is multiplied by it.
#[inline(always)]
pub fn k_omega_sources<T: Real>(
    model: KOmega<T>,
    blend: T,
    rate: &[T; 2],
    density: T,
    turbulence: &[T; 2],
    deformation: &[T; 4],
    slopes: &[[T; 3]; 2],
    shortened: T,
) -> [T; 5] {
    let [k, omega] = *turbulence;
    let [of_k, of_omega, of_k_by, of_omega_by] = productions(model, blend, rate, omega, deformation);
    let cross = dot(&slopes[0], &slopes[1]) / omega;
    let mut beta = mixed(blend, BETA[0], BETA[1]);
    // omega times the derivative of beta.
    let mut bending = T::c(0.0);
    // No sink: nodes whose gradients reach over the edge of a wall would lose their omega.
    let source = cross.max(T::c(0.0));
    let mut crossing = T::c(2.0 * SIGMA_OMEGA[1]) * (T::c(1.0) - blend) * source;
    if model.variant == KOmegaVariant::Wilcox {
        let slow = T::c(BETA_STAR) * omega;
        let chi = deformation[3] / (slow * slow * slow);
        let below = T::c(1.0) + T::c(100.0) * chi;
        beta = T::c(WILCOX_BETA) * (T::c(1.0) + T::c(85.0) * chi) / below;
        bending = T::c(45.0 * WILCOX_BETA) * chi / (below * below);
        crossing = T::c(WILCOX_SIGMA_D) * source;
    }
    let star = T::c(BETA_STAR) * shortened;
    let ambient = [model.ambient_k * model.ambient_omega, model.ambient_omega * model.ambient_omega];
    [
        density * (k * of_k - star * omega * k + T::c(BETA_STAR) * ambient[0]),
        density * (of_omega - beta * omega * omega + crossing + beta * ambient[1]),
        density * (of_k - star * omega),
        density * k * (of_k_by - star),
        density
            * (of_omega_by
                - T::c(2.0) * beta * omega
                - (crossing + bending * (omega * omega - ambient[1])) / omega),
    ]
}

/// omega of the viscous layer at a distance from the wall, 6 nu / (beta d^2): where nu d2 omega/dy2 = beta omega^2 without a bound at the wall.
///
/// **Source**: Wilcox, Turbulence Modeling for CFD (2006), 4.6.3.
#[inline(always)]
pub fn k_omega_viscous<T: Real>(model: KOmega<T>, kinematic: T, distance: T) -> T {
    let mut beta = T::c(BETA[0]);
    if model.variant == KOmegaVariant::Wilcox {
        beta = T::c(WILCOX_BETA);
    }
    T::c(SUBLAYER) * kinematic / (beta * distance * distance)
}

/// omega at a wall by Menter: ten times that of the layer next to it at the distance of the first node off the wall,
/// 60 nu / (beta d1^2). Of a wall with a height of roughness k_s by Wilcox, whatever the mesh: u_tau^2 / nu (200 / k_s+)^2 = 40000 nu / k_s^2, for k_s+ up to 5, which are smooth to the flow;
/// omega of the viscous layer is then 6 nu / (beta (y + y_0)^2) with y_0 = k_s sqrt(6 / (40000 beta)), some 0.045 k_s.
///
/// **Source**: Menter, AIAA J. 32(8) (1994), eq. A12; Wilcox, AIAA J. 46(11) (2008), eq. 22.
///
/// ```
/// use chromaflow_flow::turbulence::k_omega::{KOmega, KOmegaVariant, k_omega_wall};
/// let model = KOmega { variant: KOmegaVariant::Sst, ambient_k: 0.0, ambient_omega: 0.0, roughness: 0.0 };
/// assert!((k_omega_wall(model, 0.5, 2.0) - 100.0_f64).abs() < 1e-12);
/// let rough = KOmega { roughness: 0.1, ..model };
/// assert!((k_omega_wall(rough, 0.5, 2.0) - 2e6_f64).abs() < 1e-6);
/// ```
#[inline(always)]
pub fn k_omega_wall<T: Real>(model: KOmega<T>, kinematic: T, distance: T) -> T {
    let rough = model.roughness.gt(T::c(0.0));
    let height = T::select(rough, model.roughness, T::c(1.0));
    let wilcox = T::c(ROUGH) * kinematic / (height * height);
    T::select(rough, wilcox, T::c(MENTER) * k_omega_viscous(model, kinematic, distance))
}

/// k and omega at a wall with a law, `units` the y+ of the first node off it at `distance`, `kinematic` nu there. omega has the viscous layer's
/// part 6 nu / (beta d^2) and the logarithmic one's u_tau / (sqrt(beta*) kappa d) at that node, w_v and w_l:
/// ```text
/// omega = c(y+) sqrt(w_v^2 + w_l^2);   without the viscous part c(y+) w_l
/// k     = u_tau^2 / sqrt(beta*)  y+^n / (y+^n + y_c^n),  n = 3.23, y_c = 9.84
/// ```
/// c is what makes the velocity beyond the first nodes that of the model's own law of the wall: differences on equal cells of 1/d^2 and 1/d, of omega, and of the
/// logarithm have errors that do not fade with the mesh, as it is the same at any scale. It was found by solving the scheme in one dimension, where the stress is constant,
/// for first nodes at y+ 0.5 to 1000 and equal cells, and is 2.46 in the viscous layer, 6.7 about y+ 12, where omega of the models is a third more than the root, and 3.41 in the logarithmic
/// one. One c stands for three models: the fit is within 3 % of each (cells: 7 % at y+ 3 to 8, 3 % elsewhere); cells that grow by 1.12 ask for up to 5 % less above y+ 1, 14 % at 0.5. Menter's ten, for resolved walls, has 4 % too little friction where y+ is 1.
/// k goes from the viscous layer's y^n to the logarithmic layer's constant where w_v = w_l, at y_c: it does not diffuse to the wall of the latter.
///
/// **Source**: the root of w_v and w_l: Menter and Esch (2001), elements of industrial heat transfer prediction, 16th Brazilian Congress of Mechanical
/// Engineering; walls that have the model's own solution: Kalitzin, Medic, Iaccarino and Durbin (2005), J. Comput. Phys. 204, 265; n: Wilcox (2006), Turbulence Modeling for CFD, 4.6.
///
/// ```
/// use chromaflow_flow::turbulence::k_omega::{KOmega, KOmegaVariant, k_omega_law};
/// let model = KOmega { variant: KOmegaVariant::Sst, ambient_k: 0.0, ambient_omega: 0.0, roughness: 0.0 };
/// // In the viscous layer 2.46 w_v = 14.8 nu / (beta d^2), in the logarithmic one 3.41 w_l.
/// let [k, omega] = k_omega_law(model, true, 1e-3, 0.5, 2.0_f64);
/// assert!(k < 1e-12 && (omega / 24.63 - 1.0).abs() < 1e-3);
/// let [k, omega] = k_omega_law(model, true, 1e5, 1e-5, 1.0_f64);
/// assert!((k * 0.3 - 1.0).abs() < 1e-6 && (omega * 0.3 * 0.41 / 3.406 - 1.0).abs() < 1e-3);
/// ```
#[inline(always)]
pub fn k_omega_law<T: Real>(model: KOmega<T>, blended: bool, units: T, kinematic: T, distance: T) -> [T; 2] {
    at_wall_with_law(model, blended, units, kinematic, distance, false)
}

/// The same at the face of a cell whose center has the law at `distance` and the y+ `units`; what diffuses to the wall goes by the cell's own viscosities over that
/// distance. c is 1.42 in the viscous layer, 7.2 about y+ 8, and 2.90 in the logarithmic one.
#[inline(always)]
pub fn k_omega_law_of_cells<T: Real>(
    model: KOmega<T>,
    blended: bool,
    units: T,
    kinematic: T,
    distance: T,
) -> [T; 2] {
    at_wall_with_law(model, blended, units, kinematic, distance, true)
}

#[inline(always)]
fn at_wall_with_law<T: Real>(
    model: KOmega<T>,
    blended: bool,
    units: T,
    kinematic: T,
    distance: T,
    at_face: bool,
) -> [T; 2] {
    let friction = units * kinematic / distance;
    let log = friction / (T::c(ROOT_BETA_STAR * LOG_KAPPA) * distance);
    // Not a power, which GPUs call out of line.
    let whole = (T::c(VISCOUS_K) * (units.max(T::c(1e-30)) / T::c(CROSSING)).ln()).exp();
    let k = friction * friction * whole / (T::c(ROOT_BETA_STAR) * (T::c(1.0) + whole));
    let mut numbers = [T::c(0.0); 6];
    for i in 0..6 {
        numbers[i] = T::c(LAW_WALL[i]);
        if at_face {
            numbers[i] = T::c(LAW_FACE[i]);
        }
    }
    let square = units * units;
    let cube = numbers[5] * square * units;
    let above = numbers[0] + numbers[1] * units + numbers[2] * square + numbers[3] * cube;
    let factor = above / (T::c(1.0) + numbers[4] * square + cube);
    if !blended {
        return [k, factor * log];
    }
    let viscous = k_omega_viscous(model, kinematic, distance);
    [k, factor * (viscous * viscous + log * log).sqrt()]
}

/// k, or omega, less `change`: where it falls, by a step of its logarithm, value exp(-change / value), and no farther than to a fifth.
///
/// The step of Newton's method for ln phi is that for phi over phi. The two agree to first order, and near a solution. Far from one balances such as a phi = b / phi, as of
/// omega where it spreads by eddies of rho k / omega or is made by cross diffusion, let the step for phi fall to next to nothing from above, and rise by no more than twice from below.
///
/// **Source**: the logarithm as unknown: Ilinca and Pelletier (1998), AIAA J. 36(1), 44.
///
/// ```
/// use chromaflow_flow::turbulence::k_omega::k_omega_kept;
/// assert_eq!([k_omega_kept(8.0, -3.0), k_omega_kept(0.0, 1.0)], [11.0, 0.0]);
/// assert!((k_omega_kept(8.0_f64, 4.0) - 8.0 * (-0.5_f64).exp()).abs() < 1e-14);
/// assert!((k_omega_kept(8.0_f64, 90.0) - 1.6).abs() < 1e-12);
/// ```
#[inline(always)]
pub fn k_omega_kept<T: Real>(value: T, change: T) -> T {
    let part = (change / value.max(T::c(1e-300))).max(T::c(0.0)).min(T::c(MOST_FALL));
    T::select(change.gt(T::c(0.0)), value * (-part).exp(), value - change)
}

/// The largest change of k, or of omega, that [`k_omega_kept`] does not cut.
///
/// ```
/// use chromaflow_flow::turbulence::k_omega::{k_omega_kept, k_omega_uncut};
/// assert!((k_omega_kept(8.0, k_omega_uncut(8.0_f64)) - 1.6).abs() < 1e-12);
/// ```
#[inline(always)]
pub fn k_omega_uncut<T: Real>(value: T) -> T {
    T::c(MOST_FALL) * value
}

/// Of a cell at this distance from walls, production multiplied by `share`: eddy viscosity, what k and omega diffuse by, sources and their derivatives as
/// [`k_omega_sources`] has them; then the derivatives of the eddy viscosity by k and omega with F2 and the strain as they are. `gas` is density and viscosity,
/// `turbulence` k and omega, `gradients` d(u, v, w, k, omega)_i / dx_k.
#[inline(always)]
pub fn k_omega_terms<T: Real>(
    model: KOmega<T>,
    gas: &[T; 2],
    distance: T,
    share: T,
    turbulence: &[T; 2],
    gradients: &[[T; 3]; 5],
) -> [T; 10] {
    let [u, v, s, of_k, of_omega] = *gradients;
    let slopes = [of_k, of_omega];
    let [f1, f2] = k_omega_blending(model, gas, distance, turbulence, &slopes);
    let velocity = [u, v, s];
    let rates = deformation(&velocity);
    let rate = k_omega_rate(model, f2, turbulence[1], &rates);
    let diffusing = k_omega_diffusing(model, f1, rate[0], gas, turbulence);
    let rates = producing(&rates, share);
    let [k, omega, k_by_k, k_by_omega, omega_by] =
        k_omega_sources(model, f1, &rate, gas[0], turbulence, &rates, &slopes, T::c(1.0));
    let eddy = gas[0] * turbulence[0] / rate[0];
    let by_k = gas[0] / rate[0];
    let by_omega = T::c(-1.0) * eddy / rate[0] * rate[1];
    [eddy, diffusing[0], diffusing[1], k, omega, k_by_k, k_by_omega, omega_by, by_k, by_omega]
}

/// [`k_omega_terms`] with the destruction of k multiplied by `shortened`, the length of RANS over a hybrid's.
///
/// ```
/// use chromaflow_flow::turbulence::k_omega::k_omega_shortened;
/// let terms = [0.0, 0.0, 0.0, 7.0, 0.0, 1.0, 2.0, 0.0, 0.0, 0.0];
/// let [_, _, _, source, _, by_k, by_omega, ..] = k_omega_shortened(&terms, 1.0, &[2.0, 10.0], 3.0_f64);
/// assert!((source - (7.0 - 2.0 * 0.09 * 20.0)).abs() < 1e-14);
/// assert!((by_k - (1.0 - 2.0 * 0.9)).abs() < 1e-14 && (by_omega - (2.0 - 2.0 * 0.18)).abs() < 1e-14);
/// ```
#[inline(always)]
pub fn k_omega_shortened<T: Real>(terms: &[T; 10], density: T, turbulence: &[T; 2], shortened: T) -> [T; 10] {
    let more = T::c(BETA_STAR) * density * (shortened - T::c(1.0));
    let mut out = *terms;
    out[3] -= more * turbulence[0] * turbulence[1];
    out[5] -= more * turbulence[1];
    out[6] -= more * turbulence[0];
    out
}

/// [`k_omega_terms`] of a hybrid, whose lengths of the grid are `lengths`, and what [`sst_shortened`] has of it.
#[inline(always)]
pub fn k_omega_terms_of_hybrid<T: Real>(
    model: KOmega<T>,
    form: HybridForm,
    gas: &[T; 2],
    distance: T,
    share: T,
    turbulence: &[T; 2],
    gradients: &[[T; 3]; 5],
    lengths: &[T; 3],
) -> ([T; 10], [T; 2]) {
    let terms = k_omega_terms(model, gas, distance, share, turbulence, gradients);
    let [u, v, s, of_k, of_omega] = *gradients;
    let [f1, _] = k_omega_blending(model, gas, distance, turbulence, &[of_k, of_omega]);
    let hybrid = sst_shortened(form, f1, gas, terms[0], distance, turbulence, lengths, &[u, v, s]);
    (k_omega_shortened(&terms, gas[0], turbulence, hybrid[0]), hybrid)
}

/// The derivatives of what k's and omega's sources take, `[residual][unknown]`, where they add to the diagonal or leave the matrix triangular; `by` those of the
/// sources: of k by k and by omega, of omega by omega.
#[inline(always)]
pub fn k_omega_slope<T: Real>(by: &[T; 3]) -> [[T; 2]; 2] {
    let zero = T::c(0.0);
    [[-by[0], -by[1]], [zero, (-by[2]).max(zero)]]
}

/// What V/dt of k has at least over the volume: twice the rate at which k grows, `rate` by its residual, where it does, and no faster than its source alone makes
/// it, `by_source`. Over longer steps what should grow would change its sign.
#[inline(always)]
pub fn k_resolving<T: Real>(rate: T, by_source: T) -> T {
    T::c(2.0) * rate.min(by_source).max(T::c(0.0))
}
