//! The length of hybrids of RANS and large eddy simulation, as pointwise functions.
//!
//! l is what stands for the distance from the wall in the sources of Spalart-Allmaras, for sqrt(k) / (beta* omega) in the destruction
//! of SST's k; Delta a length of the grid, h_max the longest edge, h_wn the spacing across walls, g = sqrt(u_i,j u_i,j):
//! ```text
//! DES97   l = min(l_RANS, C_DES Delta)
//! DDES    l = l_RANS - f_d max(0, l_RANS - C_DES Psi Delta),                    f_d = 1 - tanh((C r_d)^3)
//! IDDES   l = f~_d (1 + f_e) l_RANS + (1 - f~_d) C_DES Psi Delta,               f~_d = max(1 - f_dt, f_B)
//!         Delta = min(max(0.15 d, 0.15 h_max, h_wn), h_max),                    f_dt = 1 - tanh((C r_dt)^3)
//!         f_B = min(2 exp(-9 alpha^2), 1),  alpha = 1/4 - d / h_max
//!         f_e = Psi max(f_e1 - 1, 0) (1 - max(f_t, f_l)),  f_e1 = 2 exp(-(11.09 or 9) alpha^2) where alpha is (not) positive
//!         f_t = tanh((c_t^2 r_dt)^3),  f_l = tanh((c_l^2 r_dl)^10)
//! r_d = (nu_t + nu) / (kappa^2 d^2 g),  r_dt with nu_t alone, r_dl with nu alone
//! ```
//! | | C_DES | C | c_t | c_l |
//! |---|---|---|---|---|
//! | Spalart-Allmaras | 0.65 | 8 | 1.63 | 3.55 |
//! | SST | 0.78 F1 + 0.61 (1 - F1) | 20 | 1.87 | 5 |
//!
//! Psi is [`sa_low_reynolds`], 1 with SST. Derivatives of sources are with l as it is.
//!
//! **Source**: Spalart, Jou, Strelets and Allmaras (1997), Advances in DNS/LES; Travin, Shur, Strelets and Spalart (2000), Advances in LES
//! of Complex Flows (SST); Spalart, Deck, Shur, Squires, Strelets and Travin (2006), Theor. Comput. Fluid Dyn. 20 (DDES); Shur,
//! Spalart, Strelets and Travin (2008), Int. J. Heat Fluid Flow 29 (IDDES); Gritskevich, Garbaruk, Schuetze and Menter (2012), Flow
//! Turbul. Combust. 88 (both on SST); Shur, Spalart, Strelets and Travin (2015), Flow Turbul. Combust. 95 (the length across the
//! vorticity, their Delta~_omega).

use crate::real::Real;
use crate::turbulence::spalart_allmaras::{SpalartAllmaras, eddy_ratio, sa_low_reynolds};

/// kappa^2, kappa = 0.41.
const KAPPA_SQUARED: f64 = 0.41 * 0.41;
/// C_DES with Spalart-Allmaras.
const C_DES: f64 = 0.65;
/// C_DES with SST, inner and outer.
const C_DES_SST: [f64; 2] = [0.78, 0.61];
/// beta* of SST.
const BETA_STAR_SST: f64 = 0.09;
/// (C, c_t^2, c_l^2) with Spalart-Allmaras and with SST.
const SHIELDS_SA: [f64; 3] = [8.0, 1.63 * 1.63, 3.55 * 3.55];
const SHIELDS_SST: [f64; 3] = [20.0, 1.87 * 1.87, 5.0 * 5.0];
/// C_w: part of the distance, and of h_max, in the grid's length near walls.
const NEAR_WALLS: f64 = 0.15;
/// Largest r: all functions of it have long reached their limits.
const MOST_RATIO: f64 = 1e3;
/// In the place of lengths and rates that are zero.
const SMALLEST: f64 = 1e-30;

/// Which hybrid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum HybridForm {
    /// DES97.
    Des,
    /// DDES.
    Ddes,
    /// IDDES.
    Iddes,
}

/// Which model's constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum HybridBase {
    /// Spalart-Allmaras.
    SpalartAllmaras,
    /// SST.
    Sst,
}

/// tanh of a number that is not negative.
#[inline(always)]
fn saturated<T: Real>(x: T) -> T {
    T::c(1.0) - T::c(2.0) / ((T::c(2.0) * x.min(T::c(25.0))).exp() + T::c(1.0))
}

/// sqrt(u_i,j u_i,j) = sqrt((S^2 + Omega^2) / 2) of the gradients d(u, v, w)_i / dx_k.
///
/// ```
/// use chromaflow_flow::turbulence::hybrid::gradient_size;
/// assert_eq!(gradient_size(&[[0.0, 3.0, 0.0], [0.0; 3], [4.0, 0.0, 0.0]]), 5.0);
/// ```
#[inline(always)]
pub fn gradient_size<T: Real>(gradient: &[[T; 3]; 3]) -> T {
    let mut sum = T::c(0.0);
    for i in 0..3 {
        for k in 0..3 {
            sum += gradient[i][k] * gradient[i][k];
        }
    }
    sum.sqrt()
}

/// |vorticity x arm|^2, of the gradients d(u, v, w)_i / dx_k and a way from the middle of a control volume to a corner of it.
///
/// ```
/// use chromaflow_flow::turbulence::hybrid::turned_arm;
/// // The part of the arm along the vorticity, z, does not count.
/// let gradient = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0; 3]];
/// assert_eq!(turned_arm(&gradient, &[0.0, 3.0, 7.0]), 36.0);
/// ```
#[inline(always)]
pub fn turned_arm<T: Real>(gradient: &[[T; 3]; 3], arm: &[T; 3]) -> T {
    let x = gradient[2][1] - gradient[1][2];
    let y = gradient[0][2] - gradient[2][0];
    let z = gradient[1][0] - gradient[0][1];
    let a = y * arm[2] - z * arm[1];
    let b = z * arm[0] - x * arm[2];
    let c = x * arm[1] - y * arm[0];
    a * a + b * b + c * c
}

/// Delta~_omega = 2/sqrt(3) times the longest part of an arm across the vorticity, `turned` the largest [`turned_arm`] of all corners
/// and h_max at the most; h_max where nothing turns.
///
/// ```
/// use chromaflow_flow::turbulence::hybrid::length_across_vorticity;
/// // A cube of edges 1 that turns about one of them: its diagonal across is sqrt(2).
/// let gradient = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0; 3]];
/// let length: f64 = length_across_vorticity(&gradient, 4.0 * 0.5, 1.0);
/// assert!((length - (2.0_f64 / 3.0).sqrt()).abs() < 1e-15);
/// assert_eq!(length_across_vorticity(&[[0.0; 3]; 3], 0.0, 1.0), 1.0);
/// ```
#[inline(always)]
pub fn length_across_vorticity<T: Real>(gradient: &[[T; 3]; 3], turned: T, longest: T) -> T {
    let x = gradient[2][1] - gradient[1][2];
    let y = gradient[0][2] - gradient[2][0];
    let z = gradient[1][0] - gradient[0][1];
    let square = x * x + y * y + z * z;
    let turns = square.gt(T::c(0.0));
    let length = (T::c(4.0 / 3.0) * turned / T::select(turns, square, T::c(1.0))).sqrt().min(longest);
    T::select(turns, length, longest)
}

/// (l, share): the hybrid's length, and the share of large eddy simulation in it: f_d, 1 - f~_d, and in DES97 1 where the grid's length
/// is the shorter one. `rans` is l_RANS, `factors` C_DES and Psi, `grid` (Delta, h_max, h_wn), `viscosities` kinematic ones, that of
/// eddies and the molecular one, `gradient` [`gradient_size`].
///
/// ```
/// use chromaflow_flow::turbulence::hybrid::{HybridBase, HybridForm, hybrid_length};
/// let at = |distance| hybrid_length(HybridForm::Ddes, HybridBase::SpalartAllmaras, distance, distance, &[0.65, 1.0], &[0.1; 3],
///                                   &[1e-4, 1e-6], 2.0);
/// // Deep in the layer the distance is kept, off it the grid counts.
/// assert_eq!(at(1e-3), [1e-3, 0.0]);
/// assert!((at(1.0)[0] - 0.065_f64).abs() < 1e-6);
/// ```
#[inline(always)]
pub fn hybrid_length<T: Real>(
    form: HybridForm,
    base: HybridBase,
    rans: T,
    distance: T,
    factors: &[T; 2],
    grid: &[T; 3],
    viscosities: &[T; 2],
    gradient: T,
) -> [T; 2] {
    let (zero, one) = (T::c(0.0), T::c(1.0));
    let [delta, longest, across] = *grid;
    if form == HybridForm::Des {
        let of_grid = factors[0] * delta;
        return [rans.min(of_grid), T::select(of_grid.lt(rans), one, zero)];
    }
    let mut shields = SHIELDS_SA;
    if base == HybridBase::Sst {
        shields = SHIELDS_SST;
    }
    let below = (T::c(KAPPA_SQUARED) * distance * distance * gradient).max(T::c(SMALLEST));
    let most = T::c(MOST_RATIO);
    if form == HybridForm::Ddes {
        let r = T::c(shields[0]) * ((viscosities[0] + viscosities[1]) / below).min(most);
        let fd = one - saturated(r * r * r);
        let of_grid = factors[0] * factors[1] * delta;
        // As a sum: far from walls a difference would leave nothing.
        return [rans.min(of_grid) + (one - fd) * (rans - of_grid).max(zero), fd];
    }
    let (eddies, molecular) = ((viscosities[0] / below).min(most), (viscosities[1] / below).min(most));
    let near = T::c(NEAR_WALLS);
    let of_grid = factors[0] * factors[1] * (near * distance).max(near * longest).max(across).min(longest);
    let r = T::c(shields[0]) * eddies;
    let alpha = T::c(0.25) - distance / longest.max(T::c(SMALLEST));
    // exp(-700) is as good as zero, and far from a number that is not normal.
    let square = (alpha * alpha).min(T::c(60.0));
    let outer = T::c(2.0) * (T::c(-9.0) * square).exp();
    let inner = T::c(2.0) * (T::c(-11.09) * square).exp();
    let kept = saturated(r * r * r).max(outer.min(one));
    let raised = (T::select(alpha.lt(zero), outer, inner) - one).max(zero);
    let t = T::c(shields[1]) * eddies;
    let l = T::c(shields[2]) * molecular;
    let l5 = l * l * l * l * l;
    let elevated = factors[1] * raised * (one - saturated(t * t * t).max(saturated(l5 * l5)));
    [kept * (one + elevated) * rans + (one - kept) * of_grid, one - kept]
}

/// [`hybrid_length`] with Spalart-Allmaras: `nu` and `nut` as [`sa_source`](crate::turbulence::spalart_allmaras::sa_source) has them,
/// `gradient` d(u, v, w)_i / dx_k.
#[inline(always)]
pub fn sa_hybrid_length<T: Real>(
    model: SpalartAllmaras<T>,
    form: HybridForm,
    nu: T,
    nut: T,
    distance: T,
    grid: &[T; 3],
    gradient: &[[T; 3]; 3],
) -> [T; 2] {
    let chi = nut.max(T::c(0.0)) / nu;
    let molecular = model.scale * nu;
    let viscosities = [molecular * eddy_ratio(chi), molecular];
    let factors = [T::c(C_DES), sa_low_reynolds(model, chi)];
    let size = gradient_size(gradient);
    hybrid_length(form, HybridBase::SpalartAllmaras, distance, distance, &factors, grid, &viscosities, size)
}

/// l_RANS / l, by which the destruction of SST's k is multiplied, and the share of large eddy simulation: `blend` is F1, `gas` density
/// and viscosity, `eddy` the eddy viscosity, `turbulence` k and omega, `gradient` d(u, v, w)_i / dx_k.
///
/// ```
/// use chromaflow_flow::turbulence::hybrid::{HybridForm, sst_shortened};
/// // sqrt(k) / (beta* omega) = 2 against 0.61 times 1.
/// let [ratio, _] = sst_shortened(HybridForm::Des, 0.0, &[1.0, 1e-5], 0.1, 9.0, &[0.0324, 1.0], &[1.0; 3], &[[0.0; 3]; 3]);
/// assert!((ratio - 2.0_f64 / 0.61).abs() < 1e-13);
/// ```
#[inline(always)]
pub fn sst_shortened<T: Real>(
    form: HybridForm,
    blend: T,
    gas: &[T; 2],
    eddy: T,
    distance: T,
    turbulence: &[T; 2],
    grid: &[T; 3],
    gradient: &[[T; 3]; 3],
) -> [T; 2] {
    let small = T::c(SMALLEST);
    let rans = (turbulence[0].max(small).sqrt() / (T::c(BETA_STAR_SST) * turbulence[1])).max(small);
    let constant = T::c(C_DES_SST[1]) + blend * T::c(C_DES_SST[0] - C_DES_SST[1]);
    let viscosities = [eddy / gas[0], gas[1] / gas[0]];
    let (factors, size) = ([constant, T::c(1.0)], gradient_size(gradient));
    let [length, share] =
        hybrid_length(form, HybridBase::Sst, rans, distance, &factors, grid, &viscosities, size);
    [rans / length.max(small), share]
}
