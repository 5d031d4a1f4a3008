//! The source, the eddy viscosity and the diffusion of the Spalart-Allmaras model, as pointwise functions.
//!
//! nut is the working variable over the kinematic viscosity of the free stream, nu the kinematic viscosity over the same,
//! F = [`SpalartAllmaras::scale`] that viscosity over a_inf and the mesh unit, chi = nut / nu:
//! ```text
//! d nut/dt + u . grad nut = cb1 (1 - ft2) S^ nut - F [cw1 fw - cb1/kappa^2 ft2] (nut/d)^2
//!                           + F/sigma [div((nu + nut) grad nut) + cb2 |grad nut|^2]
//! ```
//! and where nut < 0 in the negative model, without any clipping,
//! ```text
//! d nut/dt + u . grad nut = cb1 (1 - ct3) Omega nut + F cw1 (nut/d)^2
//!                           + F/sigma [div((nu + nut fn) grad nut) + cb2 |grad nut|^2]
//! ```
//! Both are the same to the first derivative at nut = 0.
//!
//! **Source**: Spalart & Allmaras (1994), La Recherche Aerospatiale 1; the clipping of S^ and the negative model: Allmaras,
//! Johnson & Spalart (2012), ICCFD7-1902 (the clipping is its eq. 11-12); NASA Turbulence Modeling Resource.

use crate::gas::{Gas, Transport, temperature, viscosity};
use crate::real::Real;
use crate::turbulence::k_omega::deformation;

const CB1: f64 = 0.1355;
/// 1 / sigma, sigma = 2/3.
const BY_SIGMA: f64 = 1.5;
const CB2: f64 = 0.622;
/// kappa^2, kappa = 0.41.
const KAPPA2: f64 = 0.41 * 0.41;
/// cb1 / kappa^2.
const CB1_BY_KAPPA2: f64 = 0.8060678167757289;
const CW1: f64 = CB1_BY_KAPPA2 + (1.0 + CB2) * BY_SIGMA;
const CW2: f64 = 0.3;
/// cw3^6, cw3 = 2.
const CW3_6: f64 = 64.0;
/// cv1^3, cv1 = 7.1.
const CV1_3: f64 = 7.1 * 7.1 * 7.1;
const CT3: f64 = 1.2;
const CT4: f64 = 0.5;
/// Of the clipping of S^.
const C2: f64 = 0.7;
const C3: f64 = 0.9;
/// Of fn.
const CN1: f64 = 16.0;
/// Largest r.
const MOST_R: f64 = 10.0;
/// Of Psi: fw in balanced shear, and its largest square.
const FW_STAR: f64 = 0.424;
const MOST_PSI2: f64 = 100.0;
/// Of SA-RC.
const CR1: f64 = 1.0;
const CR2: f64 = 12.0;
const CR3: f64 = 1.0;
/// Share of its value that a plain SA variable keeps at least in a step.
const LEAST_KEPT: f64 = 0.01;

/// Which form of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum SaVariant {
    /// SA-neg: negative values have a model of their own.
    Negative,
    /// SA: values stay positive.
    Standard,
    /// SA without ft2.
    NoFt2,
}

/// The model for one case.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct SpalartAllmaras<T> {
    /// Its form.
    pub variant: SaVariant,
    /// F: kinematic viscosity of the free stream over a_inf and the mesh unit.
    pub scale: T,
}

impl SpalartAllmaras<f64> {
    /// The same in another scalar.
    #[inline(always)]
    pub fn lift<T: Real>(&self) -> SpalartAllmaras<T> {
        SpalartAllmaras { variant: self.variant, scale: T::c(self.scale) }
    }
}

/// fv1 = chi^3 / (chi^3 + cv1^3), and its derivative by chi; chi not negative.
#[inline(always)]
fn fv1<T: Real>(chi: T) -> [T; 2] {
    let cube = chi * chi * chi;
    let whole = cube + T::c(CV1_3);
    [cube / whole, T::c(3.0 * CV1_3) * chi * chi / (whole * whole)]
}

/// Eddy viscosity over molecular viscosity, chi fv1; zero where chi is negative.
///
/// ```
/// use chromaflow_flow::turbulence::spalart_allmaras::eddy_ratio;
/// assert!((eddy_ratio(3.0_f64) - 0.2104382).abs() < 1e-7);
/// assert_eq!(eddy_ratio(-3.0), 0.0);
/// ```
#[inline(always)]
pub fn eddy_ratio<T: Real>(chi: T) -> T {
    let positive = chi.max(T::c(0.0));
    positive * fv1(positive)[0]
}

/// S^ = Omega + s where s >= -c2 Omega, else Omega + Omega (c2^2 Omega + c3 s) / ((c3 - 2 c2) Omega - s), and its derivative
/// by s: positive unless Omega is zero, and smooth.
///
/// ```
/// use chromaflow_flow::turbulence::spalart_allmaras::clipped_vorticity;
/// assert_eq!(clipped_vorticity(2.0, 3.0), [5.0, 1.0]);
/// assert!(clipped_vorticity(2.0, -1e9)[0] > 0.19);
/// ```
#[inline(always)]
pub fn clipped_vorticity<T: Real>(omega: T, s: T) -> [T; 2] {
    let plain = s.ge(T::c(-C2) * omega);
    let below = (T::c(C3 - 2.0 * C2) * omega - s).max(T::c(1e-300));
    let share = omega / below;
    let clipped = omega + share * (T::c(C2 * C2) * omega + T::c(C3) * s);
    let slope = T::c((C3 - C2) * (C3 - C2)) * share * share;
    [T::select(plain, omega + s, clipped), T::select(plain, T::c(1.0), slope)]
}

/// fw, and its derivative by r, which is not negative.
#[inline(always)]
fn fw<T: Real>(r: T) -> [T; 2] {
    let r5 = r * r * r * r * r;
    let g = r + T::c(CW2) * (r5 * r - r);
    let g3 = g * g * g;
    let below = g3 * g3 + T::c(CW3_6);
    let root = (T::c(1.0 + CW3_6) / below).powf(T::c(1.0 / 6.0));
    let by_g = root * T::c(CW3_6) / below;
    [g * root, by_g * (T::c(1.0) + T::c(CW2) * (T::c(6.0) * r5 - T::c(1.0)))]
}

/// The source per volume where nut is not negative, and its derivative by nut: production less destruction, `omega` the size
/// of the vorticity, `square` = 1 / d^2; `turning` stands for 1 in 1 - ft2.
#[inline(always)]
fn source_positive<T: Real>(
    model: SpalartAllmaras<T>,
    nu: T,
    nut: T,
    omega: T,
    square: T,
    turning: T,
) -> [T; 2] {
    let one = T::c(1.0);
    let chi = nut / nu;
    let [v1, v1_by] = fv1(chi);
    let below = one + chi * v1;
    let v2 = one - chi / below;
    let v2_by = (chi * chi * v1_by - one) / (below * below);
    // Per distance squared, what nut is multiplied by in s and in r.
    let lift = model.scale * square / T::c(KAPPA2);
    let [s_hat, slope] = clipped_vorticity(omega, lift * nut * v2);
    let s_hat_by = slope * lift * (v2 + chi * v2_by);
    let inverse = one / s_hat.max(T::c(1e-300));
    let whole = lift * nut * inverse;
    let r = whole.min(T::c(MOST_R));
    let r_by = T::select(whole.lt(T::c(MOST_R)), (lift - whole * s_hat_by) * inverse, T::c(0.0));
    let [w, w_by] = fw(r);
    let mut t2 = T::c(0.0);
    if model.variant != SaVariant::NoFt2 {
        t2 = T::c(CT3) * (T::c(-CT4) * chi * chi).exp();
    }
    let t2_by = T::c(-2.0 * CT4) * chi * t2 / nu;
    let factor = T::c(CW1) * w - T::c(CB1_BY_KAPPA2) * t2;
    let factor_by = T::c(CW1) * w_by * r_by - T::c(CB1_BY_KAPPA2) * t2_by;
    let damped = model.scale * square * nut;
    let source = T::c(CB1) * (turning - t2) * s_hat * nut - damped * nut * factor;
    let production_by = T::c(CB1) * ((turning - t2) * (s_hat + nut * s_hat_by) - t2_by * s_hat * nut);
    [source, production_by - damped * (T::c(2.0) * factor + nut * factor_by)]
}

/// The source per volume, production less destruction, and its derivative by nut: `nu` the kinematic viscosity, `omega` the
/// size of the vorticity, `distance` that from the wall. Where the model is not the negative one, negative values have the
/// source of zero.
///
/// ```
/// use chromaflow_flow::turbulence::spalart_allmaras::{SaVariant, SpalartAllmaras, sa_source};
/// let model = SpalartAllmaras { variant: SaVariant::Negative, scale: 1e-6 };
/// // Where nut is negative both terms drive it back.
/// let [source, slope] = sa_source(model, 1.0, -2.0, 5.0, 0.1);
/// assert!(source > 0.0 && slope < 0.0);
/// ```
#[inline(always)]
pub fn sa_source<T: Real>(model: SpalartAllmaras<T>, nu: T, nut: T, omega: T, distance: T) -> [T; 2] {
    sa_source_turning(model, nu, nut, omega, distance, T::c(1.0))
}

/// The same with the production of SA-RC, cb1 (fr1 - ft2) S^ nut; `turning` is [`sa_turning`]. Where nut is negative the correction has no part.
#[inline(always)]
pub fn sa_source_turning<T: Real>(
    model: SpalartAllmaras<T>,
    nu: T,
    nut: T,
    omega: T,
    distance: T,
    turning: T,
) -> [T; 2] {
    let zero = T::c(0.0);
    let near = distance.max(T::c(1e-100));
    let square = T::c(1.0) / (near * near);
    let positive = source_positive(model, nu, nut.max(zero), omega, square, turning);
    if model.variant != SaVariant::Negative {
        return positive;
    }
    let damped = T::c(CW1) * model.scale * square * nut;
    let produced = T::c(CB1 * (1.0 - CT3)) * omega;
    let below = nut.lt(zero);
    [
        T::select(below, (produced + damped) * nut, positive[0]),
        T::select(below, produced + T::c(2.0) * damped, positive[1]),
    ]
}

/// Psi of hybrids, which takes the model's damping near walls back where its eddy viscosity is that of the small eddies of the grid:
/// Psi^2 = min(100, [1 - cb1 / (cw1 kappa^2 fw*) (ft2 + (1 - ft2) fv2)] / [fv1 max(1e-10, 1 - ft2)]), fw* = 0.424; `chi` not negative.
///
/// **Source**: Spalart, Deck, Shur, Squires, Strelets and Travin (2006), Theor. Comput. Fluid Dyn. 20, eq. 10, A5.
///
/// ```
/// use chromaflow_flow::turbulence::spalart_allmaras::{SaVariant, SpalartAllmaras, sa_low_reynolds};
/// let model = SpalartAllmaras { variant: SaVariant::NoFt2, scale: 1e-6 };
/// assert_eq!(sa_low_reynolds(model, 0.0), 10.0);
/// assert!((sa_low_reynolds(model, 1e4) - 1.0_f64).abs() < 1e-3);
/// ```
#[inline(always)]
pub fn sa_low_reynolds<T: Real>(model: SpalartAllmaras<T>, chi: T) -> T {
    let one = T::c(1.0);
    let v1 = fv1(chi)[0];
    let v2 = one - chi / (one + chi * v1);
    let mut t2 = T::c(0.0);
    if model.variant != SaVariant::NoFt2 {
        t2 = T::c(CT3) * (T::c(-CT4) * chi * chi).exp();
    }
    let above = one - T::c(CB1_BY_KAPPA2 / (CW1 * FW_STAR)) * (t2 + (one - t2) * v2);
    let below = v1 * (one - t2).max(T::c(1e-10));
    // The least that its square can be is far above zero: of the root's slope.
    (above / below.max(T::c(1e-30))).min(T::c(MOST_PSI2)).max(T::c(0.01)).sqrt()
}

/// nut fn: what nut counts for in the diffusion; fn = (cn1 + chi^3) / (cn1 - chi^3) where chi is negative, else 1.
#[inline(always)]
pub fn sa_diffusing<T: Real>(nu: T, nut: T) -> T {
    let chi = nut.min(T::c(0.0)) / nu;
    let cube = chi * chi * chi;
    nut * (T::c(CN1) + cube) / (T::c(CN1) - cube)
}

/// The coefficient of grad nut . n in the diffusion of one node through a face to another, |grad nut|^2 included:
/// F/sigma [nu + nut fn + cb2 (nut - nut_own)] with means over both nodes, not negative. Each node has its own; with it the
/// matrix of the diffusion is an M-matrix.
///
/// ```
/// use chromaflow_flow::turbulence::spalart_allmaras::{SaVariant, SpalartAllmaras, sa_diffusivity};
/// let model = SpalartAllmaras { variant: SaVariant::Negative, scale: 2.0 };
/// assert_eq!(sa_diffusivity(model, &[1.0, 1.0], &[4.0, 4.0]), 15.0);
/// ```
#[inline(always)]
pub fn sa_diffusivity<T: Real>(model: SpalartAllmaras<T>, nu: &[T; 2], nut: &[T; 2]) -> T {
    let both = nu[0] + nu[1] + sa_diffusing(nu[0], nut[0]) + sa_diffusing(nu[1], nut[1]);
    let whole = T::c(0.5) * (both + T::c(CB2) * (nut[1] - nut[0]));
    model.scale * T::c(BY_SIGMA) * whole.max(T::c(0.0))
}

/// The same from a cell of these values to a wall at its face, where nut is zero: F/sigma (nu - cb2 nut), which is negative in a logarithmic layer. Through such a face |grad nut|^2
/// brings nut.
///
/// ```
/// use chromaflow_flow::turbulence::spalart_allmaras::{SaVariant, SpalartAllmaras, sa_diffusivity_to_wall};
/// let model = SpalartAllmaras { variant: SaVariant::Negative, scale: 2.0 };
/// assert!((sa_diffusivity_to_wall(model, 1.0, 5.0) - 3.0 * (1.0 - 0.622 * 5.0_f64)).abs() < 1e-14);
/// ```
#[inline(always)]
pub fn sa_diffusivity_to_wall<T: Real>(model: SpalartAllmaras<T>, nu: T, nut: T) -> T {
    model.scale * T::c(BY_SIGMA) * (nu - T::c(CB2) * nut)
}

/// nut less `change` where negative values have no model: a hundredth of it at least.
///
/// ```
/// use chromaflow_flow::turbulence::spalart_allmaras::sa_kept;
/// assert_eq!([sa_kept(8.0, 3.0), sa_kept(8.0, 9.0)], [5.0, 0.08]);
/// ```
#[inline(always)]
pub fn sa_kept<T: Real>(nut: T, change: T) -> T {
    let (new, least) = (nut - change, T::c(LEAST_KEPT) * nut);
    T::select(new.lt(least), least, new)
}

/// nu, the kinematic viscosity over that of the free stream, and the eddy viscosity over rho_inf a_inf and the mesh unit:
/// `density` of the gas, `viscosity` that over the free stream's.
#[inline(always)]
pub fn sa_viscosities<T: Real>(model: SpalartAllmaras<T>, density: T, viscosity: T, nut: T) -> [T; 2] {
    let nu = viscosity / density;
    [nu, model.scale * viscosity * eddy_ratio(nut / nu)]
}

/// What the equation takes of a node, for the derivatives that join it with the flow in one matrix: the eddy viscosity over rho_inf a_inf and the mesh unit; what nut
/// diffuses by there, F/sigma (nu + nut fn); the source per volume, `rotating` that of SA-R. `state` is density and pressure, `gradient`
/// d(u, v, w)_i / dx_k, `turning` stands for 1 in 1 - ft2.
#[inline(always)]
pub fn sa_joint_terms<T: Real>(
    model: SpalartAllmaras<T>,
    gas: Gas<T>,
    transport: Transport<T>,
    state: &[T; 2],
    nut: T,
    gradient: &[[T; 3]; 3],
    distance: T,
    turning: T,
    rotating: bool,
) -> [T; 3] {
    let zero = T::c(0.0);
    let w = [state[0], zero, zero, zero, state[1]];
    let [nu, eddy] = sa_viscosities(model, state[0], viscosity(transport, temperature(gas, &w)), nut);
    let mut omega = vorticity(gradient);
    if rotating {
        omega = sa_rotating(omega, deformation(gradient)[0]);
    }
    let spread = model.scale * T::c(BY_SIGMA) * (nu + sa_diffusing(nu, nut));
    [eddy, spread, sa_source_turning(model, nu, nut, omega, distance, turning)[0]]
}

/// SA-R: what stands for the size of the vorticity in the source, Omega + 2 min(0, S - Omega), not below zero, of the sizes of vorticity
/// and strain: production falls in the cores of vortices, which turn without strain, and stays what it is in shear.
///
/// **Source**: Dacles-Mariani, Zilliac, Chow and Bradshaw (1995), AIAA J. 33(9).
///
/// ```
/// use chromaflow_flow::turbulence::spalart_allmaras::sa_rotating;
/// assert_eq!([sa_rotating(3.0, 3.0), sa_rotating(3.0, 5.0), sa_rotating(3.0, 2.0), sa_rotating(3.0, 1.0)], [3.0, 3.0, 1.0, 0.0]);
/// ```
#[inline(always)]
pub fn sa_rotating<T: Real>(vorticity: T, strain: T) -> T {
    let zero = T::c(0.0);
    (vorticity + T::c(2.0) * (strain - vorticity).min(zero)).max(zero)
}

/// The strain S_ij in the order xx, yy, zz, xy, xz, yz, of the gradients d(u, v, w)_i / dx_k.
#[inline(always)]
pub fn strain_rates<T: Real>(gradient: &[[T; 3]; 3]) -> [T; 6] {
    let half = T::c(0.5);
    [
        gradient[0][0],
        gradient[1][1],
        gradient[2][2],
        half * (gradient[0][1] + gradient[1][0]),
        half * (gradient[0][2] + gradient[2][0]),
        half * (gradient[1][2] + gradient[2][1]),
    ]
}

/// fr1 of SA-RC, what production is multiplied by where the flow turns: `change` is DS_ij/Dt in the order of [`strain_rates`].
/// ```text
/// fr1 = (1 + cr1) 2 r* / (1 + r*) (1 - cr3 atan(cr2 r^)) - cr1,  cr 1, 12, 1
/// r* = S / Omega,  r^ = 2 W_ik S_jk DS_ij/Dt / D^4,  D^2 = (S^2 + Omega^2) / 2
/// ```
/// 1 in straight shear, less where the vorticity turns as the flow does (convex walls, vortices), more where it turns against it.
///
/// **Source**: Shur, Strelets, Travin and Spalart (2000), AIAA J. 38(5), eq. 4-6; the frame does not turn.
///
/// ```
/// use chromaflow_flow::turbulence::spalart_allmaras::sa_turning;
/// let shear = [[0.0, 3.0, 0.0], [0.0; 3], [0.0; 3]];
/// assert_eq!(sa_turning(&shear, &[0.0; 6]), 1.0);
/// ```
#[inline(always)]
pub fn sa_turning<T: Real>(gradient: &[[T; 3]; 3], change: &[T; 6]) -> T {
    let (zero, one, two, half) = (T::c(0.0), T::c(1.0), T::c(2.0), T::c(0.5));
    let [xx, yy, zz, xy, xz, yz] = strain_rates(gradient);
    let strain = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]];
    let [cxx, cyy, czz, cxy, cxz, cyz] = *change;
    let changes = [[cxx, cxy, cxz], [cxy, cyy, cyz], [cxz, cyz, czz]];
    let (mut strains, mut turnings, mut turned) = (zero, zero, zero);
    for i in 0..3 {
        for j in 0..3 {
            let turning = half * (gradient[i][j] - gradient[j][i]);
            strains += strain[i][j] * strain[i][j];
            turnings += turning * turning;
            // W_ij S_kj DS_ik/Dt
            for k in 0..3 {
                turned += turning * strain[k][j] * changes[i][k];
            }
        }
    }
    let (s, omega) = ((two * strains).sqrt(), (two * turnings).sqrt());
    let d2 = (strains + turnings).max(T::c(1e-100));
    let r = two * turned / (d2 * d2);
    let ratio = two * s / (s + omega).max(T::c(1e-100));
    T::c(1.0 + CR1) * ratio * (one - T::c(CR3) * (T::c(CR2) * r).atan()) - T::c(CR1)
}

/// fw with the size of strain and vorticity, sqrt((S^2 + Omega^2) / 2), in the place of Omega: what the constants of QCR2020 go by.
///
/// **Source**: Rumsey, Carlson, Pulliam and Spalart (2020), AIAA J. 58(10).
///
/// ```
/// use chromaflow_flow::turbulence::spalart_allmaras::{SaVariant, SpalartAllmaras, sa_relation};
/// let model = SpalartAllmaras { variant: SaVariant::NoFt2, scale: 1.0 };
/// // A logarithmic layer of u_tau 1, where fw is 1: nut = kappa d, Omega and S are 1 / (kappa d).
/// let shear = [[0.0, 1.0 / 410.0, 0.0], [0.0; 3], [0.0; 3]];
/// let found: f64 = sa_relation(model, 1e-6, 410.0, &shear, 1000.0);
/// assert!((found - 1.0).abs() < 1e-4);
/// ```
#[inline(always)]
pub fn sa_relation<T: Real>(
    model: SpalartAllmaras<T>,
    nu: T,
    nut: T,
    gradient: &[[T; 3]; 3],
    distance: T,
) -> T {
    let mut sum = T::c(0.0);
    for i in 0..3 {
        for k in 0..3 {
            sum += gradient[i][k] * gradient[i][k];
        }
    }
    // S^2 + Omega^2 = 2 u_i,k u_i,k
    let size = sum.max(T::c(1e-200)).sqrt();
    let positive = nut.max(T::c(0.0));
    let near = distance.max(T::c(1e-100));
    let lift = model.scale / (T::c(KAPPA2) * near * near);
    let chi = positive / nu;
    let v2 = T::c(1.0) - chi / (T::c(1.0) + chi * fv1(chi)[0]);
    let s_hat = clipped_vorticity(size, lift * positive * v2)[0];
    fw((lift * positive / s_hat.max(T::c(1e-300))).min(T::c(MOST_R)))[0]
}

/// Size of the vorticity, of the gradients d(u, v, w)_i / dx_k.
///
/// ```
/// use chromaflow_flow::turbulence::spalart_allmaras::vorticity;
/// assert_eq!(vorticity(&[[0.0, -3.0, 0.0], [0.0, 0.0, 4.0], [0.0, 0.0, 0.0]]), 5.0);
/// ```
#[inline(always)]
pub fn vorticity<T: Real>(gradient: &[[T; 3]; 3]) -> T {
    let x = gradient[2][1] - gradient[1][2];
    let y = gradient[0][2] - gradient[2][0];
    let z = gradient[1][0] - gradient[0][1];
    (x * x + y * y + z * z).sqrt()
}
