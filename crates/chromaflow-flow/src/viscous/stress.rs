//! The viscous flux and its blocks.

use crate::gas::{Gas, Transport, by_conserved, temperature, viscosity};
use crate::real::Real;

/// Ccr1 of QCR2000.
const CCR1: f64 = 0.3;
/// Of QCR2020.
const CCR1_2020: f64 = 0.2;
const CCR2_2020: f64 = 2.15054;

/// (u, v, w, T): what viscous terms take gradients of.
#[inline(always)]
pub fn velocity_and_temperature<T: Real>(gas: Gas<T>, w: &[T; 5]) -> [T; 4] {
    [w[1], w[2], w[3], temperature(gas, w)]
}

/// Traction tau . n with tau = mu (grad u + grad u^T - 2/3 div u I): force of the fluid on the side that n points
/// to, per viscosity `mu` as given.
///
/// **Shapes**: `gradient[i][k]` = d(u, v, w, T)_i / dx_k.
#[inline(always)]
pub fn traction<T: Real>(mu: T, gradient: &[[T; 3]; 4], n: &[T; 3]) -> [T; 3] {
    let bulk = T::c(-2.0 / 3.0) * (gradient[0][0] + gradient[1][1] + gradient[2][2]);
    let mut out = [T::c(0.0); 3];
    for i in 0..3 {
        let mut sum = bulk * n[i];
        for k in 0..3 {
            sum += (gradient[i][k] + gradient[k][i]) * n[k];
        }
        out[i] = mu * sum;
    }
    out
}

/// Conductivity over viscosity, 1 / (Pr (gamma - 1)) in the scaling of [`crate::gas`]: the same for all faces of a loop.
#[inline(always)]
pub fn conductivity_by_mu<T: Real>(gas: Gas<T>, transport: Transport<T>) -> T {
    T::c(1.0) / (transport.prandtl * (gas.gamma - T::c(1.0)))
}

/// Viscosity and conductivity, (mu, k), of the gas at the temperature `t`.
#[inline(always)]
pub fn molecular<T: Real>(gas: Gas<T>, transport: Transport<T>, t: T) -> [T; 2] {
    let mu = transport.scale * viscosity(transport, t);
    [mu, mu * conductivity_by_mu(gas, transport)]
}

/// (mu, k) with what turbulence adds: the eddy viscosity, and that over (gamma - 1) and the turbulent Prandtl number.
///
/// ```
/// use chromaflow_flow::gas::Gas;
/// use chromaflow_flow::viscous::with_eddies;
/// assert_eq!(with_eddies(Gas { gamma: 1.5 }, &[1.0, 2.0], 4.0, 0.5), [5.0, 18.0]);
/// ```
#[inline(always)]
pub fn with_eddies<T: Real>(gas: Gas<T>, molecular: &[T; 2], eddy_viscosity: T, prandtl: T) -> [T; 2] {
    let heat = eddy_viscosity / (prandtl * (gas.gamma - T::c(1.0)));
    [molecular[0] + eddy_viscosity, molecular[1] + heat]
}

/// Viscous flux through the area n: (0, tau . n, u . tau . n + k grad T . n), with mu = scale mu(T) and the
/// conductivity k = mu / (Pr (gamma - 1)) of the scaling in [`crate::gas`].
///
/// `face` is (u, v, w, T) at the face, of which T gives the viscosity.
///
/// ```
/// use chromaflow_flow::gas::{Gas, Transport, ViscosityLaw};
/// use chromaflow_flow::viscous::flux_viscous;
/// let water = Transport { scale: 0.01, prandtl: 0.72, law: ViscosityLaw::Constant, sutherland: 0.0 };
/// // Couette flow, u = y, at y = 2: shear mu on the area across y, and its work.
/// let gradient = [[0.0, 1.0, 0.0], [0.0; 3], [0.0; 3], [0.0; 3]];
/// let f = flux_viscous(Gas::AIR, water, &[2.0, 0.0, 0.0, 1.0], &gradient, &[0.0, 1.0, 0.0]);
/// assert_eq!(f, [0.0, 0.01, 0.0, 0.0, 0.02]);
/// ```
#[inline(always)]
pub fn flux_viscous<T: Real>(
    gas: Gas<T>,
    transport: Transport<T>,
    face: &[T; 4],
    gradient: &[[T; 3]; 4],
    n: &[T; 3],
) -> [T; 5] {
    flux_viscous_of(&molecular(gas, transport, face[3]), face, gradient, n)
}

/// [`flux_viscous`] for given (mu, k).
#[inline(always)]
pub fn flux_viscous_of<T: Real>(
    diffusing: &[T; 2],
    face: &[T; 4],
    gradient: &[[T; 3]; 4],
    n: &[T; 3],
) -> [T; 5] {
    let force = traction(diffusing[0], gradient, n);
    let heat = diffusing[1] * (gradient[3][0] * n[0] + gradient[3][1] * n[1] + gradient[3][2] * n[2]);
    let work = face[0] * force[0] + face[1] * force[1] + face[2] * force[2];
    [T::c(0.0), force[0], force[1], force[2], work + heat]
}

/// Viscous flux through the area n of an open boundary: (0, t, u . t) with t = mu grad_t (u . n), what the velocity through it varies by along it. It is the
/// stress of flow whose velocity does not change across the boundary, as of a duct at its end; no heat is conducted, and no normal stress acts
/// besides the pressure.
///
/// `slopes` are those of (rho, u, v, w, p), derivative of variable `v` along axis `d` at `d * 5 + v`.
///
/// **Source**: Heywood, Rannacher and Turek (1996), *Artificial boundaries and flux and pressure conditions for the incompressible Navier-Stokes equations*,
/// Int. J. Numer. Methods Fluids 22: what their condition, that nothing is done in the weak form of mu div grad u, is in that of div tau.
///
/// ```
/// use chromaflow_flow::viscous::flux_viscous_open;
/// // A duct along x, u = 3 at a place where it rises by 2 along y, and an end whose area is 5.
/// let mut slopes = [0.0; 16];
/// slopes[5 + 1] = 2.0;
/// let w = [1.0, 3.0, 0.5, 0.0, 0.7];
/// assert_eq!(flux_viscous_open(0.1, &w, &slopes, &[5.0, 0.0, 0.0]), [0.0, 0.0, 1.0, 0.0, 0.5]);
/// ```
#[inline(always)]
pub fn flux_viscous_open<T: Real>(mu: T, w: &[T; 5], slopes: &[T; 16], n: &[T; 3]) -> [T; 5] {
    let mut through = [T::c(0.0); 3];
    for d in 0..3 {
        through[d] = slopes[5 * d + 1] * n[0] + slopes[5 * d + 2] * n[1] + slopes[5 * d + 3] * n[2];
    }
    let size2 = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).max(T::c(1e-300));
    let across = (through[0] * n[0] + through[1] * n[1] + through[2] * n[2]) / size2;
    let mut force = [T::c(0.0); 3];
    for d in 0..3 {
        force[d] = mu * (through[d] - across * n[d]);
    }
    let work = w[1] * force[0] + w[2] * force[1] + w[3] * force[2];
    [T::c(0.0), force[0], force[1], force[2], work]
}

/// What QCR2000 adds to the viscous flux through the area n: (0, t, u . t), t = -0.3 (O tau + (O tau)^T) n with tau the stress of the
/// eddy viscosity, mu_t (grad u + grad u^T - 2/3 div u I), and O_ik = (u_i,k - u_k,i) / sqrt(u_m,n u_m,n). The sum is symmetric and, as
/// tau is, without a trace: normal stresses differ in shear, which drives the vortices in corners.
///
/// `face` is (u, v, w, T) at the face; **Shapes** as [`flux_viscous_of`].
///
/// **Source**: Spalart (2000), *Strategies for turbulence modelling and simulations*, Int. J. Heat Fluid Flow 21.
///
/// ```
/// use chromaflow_flow::viscous::flux_quadratic;
/// // Shear u = 2 y, mu_t = 5: tau_xy = 10, and -0.6, 0.6 times it in the normal stresses.
/// let gradient = [[0.0, 2.0, 0.0], [0.0; 3], [0.0; 3], [0.0; 3]];
/// assert_eq!(flux_quadratic(5.0, &[3.0, 0.0, 0.0, 1.0], &gradient, &[1.0, 0.0, 0.0]), [0.0, -6.0, 0.0, 0.0, -18.0]);
/// assert_eq!(flux_quadratic(5.0, &[3.0, 0.0, 0.0, 1.0], &gradient, &[0.0, 1.0, 0.0]), [0.0, 0.0, 6.0, 0.0, 0.0]);
/// ```
#[inline(always)]
pub fn flux_quadratic<T: Real>(
    eddy_viscosity: T,
    face: &[T; 4],
    gradient: &[[T; 3]; 4],
    n: &[T; 3],
) -> [T; 5] {
    let [x, y, z] = quadratic_turning(eddy_viscosity, gradient, n);
    let force = [T::c(-CCR1) * x, T::c(-CCR1) * y, T::c(-CCR1) * z];
    let work = face[0] * force[0] + face[1] * force[1] + face[2] * force[2];
    [T::c(0.0), force[0], force[1], force[2], work]
}

/// The same of QCR2020, t = -0.2 (1 + 2 fw) (O tau + (O tau)^T) n - 2.15054 (1 + 0.3 fw) mu_t Omega n with the size Omega of the vorticity; `relation` is
/// [`sa_relation`](crate::turbulence::spalart_allmaras::sa_relation), fw.
///
/// **Source**: Rumsey, Carlson, Pulliam and Spalart (2020), *Improvements to the quadratic constitutive relation based on NASA juncture flow data*, AIAA J.
/// 58(10), eq. 8-10.
///
/// ```
/// use chromaflow_flow::viscous::flux_quadratic_2020;
/// // Shear u = 2 y, mu_t = 5, fw 1: tau_xy = 10; -1.2, 1.2 times it of the turning, and -2.795702 times it of what k is.
/// let gradient = [[0.0, 2.0, 0.0], [0.0; 3], [0.0; 3], [0.0; 3]];
/// let along: [f64; 5] = flux_quadratic_2020(5.0, 1.0, &[3.0, 0.0, 0.0, 1.0], &gradient, &[1.0, 0.0, 0.0]);
/// assert!((along[1] + 12.0 + 27.95702).abs() < 1e-12 && (along[4] - 3.0 * along[1]).abs() < 1e-12);
/// let across: [f64; 5] = flux_quadratic_2020(5.0, 1.0, &[3.0, 0.0, 0.0, 1.0], &gradient, &[0.0, 1.0, 0.0]);
/// assert!((across[2] - 12.0 + 27.95702).abs() < 1e-12);
/// ```
#[inline(always)]
pub fn flux_quadratic_2020<T: Real>(
    eddy_viscosity: T,
    relation: T,
    face: &[T; 4],
    gradient: &[[T; 3]; 4],
    n: &[T; 3],
) -> [T; 5] {
    let one = T::c(1.0);
    let turning = quadratic_turning(eddy_viscosity, gradient, n);
    let mut squares = T::c(0.0);
    for i in 0..3 {
        for k in 0..3 {
            let difference = gradient[i][k] - gradient[k][i];
            squares += T::c(0.5) * difference * difference;
        }
    }
    let first = T::c(-CCR1_2020) * (one + T::c(2.0) * relation);
    let second =
        T::c(-CCR2_2020) * (one + T::c(0.3) * relation) * eddy_viscosity * squares.max(T::c(1e-200)).sqrt();
    let mut force = [T::c(0.0); 3];
    let mut work = T::c(0.0);
    for i in 0..3 {
        force[i] = first * turning[i] + second * n[i];
        work += face[i] * force[i];
    }
    [T::c(0.0), force[0], force[1], force[2], work]
}

/// (O tau + (O tau)^T) n.
#[inline(always)]
fn quadratic_turning<T: Real>(eddy_viscosity: T, gradient: &[[T; 3]; 4], n: &[T; 3]) -> [T; 3] {
    let zero = T::c(0.0);
    let mut sum = zero;
    for i in 0..3 {
        for k in 0..3 {
            sum += gradient[i][k] * gradient[i][k];
        }
    }
    let by_size = T::c(1.0) / sum.max(T::c(1e-200)).sqrt();
    let across = traction(eddy_viscosity, gradient, n);
    // O^T n
    let mut turned = [zero; 3];
    for k in 0..3 {
        for j in 0..3 {
            turned[k] += by_size * (gradient[j][k] - gradient[k][j]) * n[j];
        }
    }
    let both = traction(eddy_viscosity, gradient, &turned);
    let mut out = [zero; 3];
    for i in 0..3 {
        let mut turning = both[i];
        for k in 0..3 {
            turning += by_size * (gradient[i][k] - gradient[k][i]) * across[k];
        }
        out[i] = turning;
    }
    out
}

/// Momentum and energy of [`flux_viscous`] through the area n between two cells, of the change from one to the other
/// alone: grad f = n (after - before) / volume, with `mu` the viscosity at the face over the volume, and the mean of the
/// two velocities. `ratio` is [`conductivity_by_mu`].
///
/// ```
/// use chromaflow_flow::viscous::flux_viscous_across;
/// // Couette flow between cells of volume 2, an area of 2 apart: u changes by 1, mu is 0.5.
/// let f = flux_viscous_across(2.5, 0.5 / 2.0, &[1.0, 0.0, 0.0, 1.0], &[2.0, 0.0, 0.0, 1.0], &[0.0, 2.0, 0.0]);
/// assert_eq!(f, [1.0, 0.0, 0.0, 1.5]);
/// ```
#[inline(always)]
pub fn flux_viscous_across<T: Real>(ratio: T, mu: T, before: &[T; 4], after: &[T; 4], n: &[T; 3]) -> [T; 4] {
    let mut change = [T::c(0.0); 4];
    for i in 0..4 {
        change[i] = after[i] - before[i];
    }
    let through = mu * (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    // The gradient's transpose less two thirds of its trace.
    let along = mu * T::c(1.0 / 3.0) * (change[0] * n[0] + change[1] * n[1] + change[2] * n[2]);
    let mut force = [T::c(0.0); 3];
    let mut work = T::c(0.0);
    for i in 0..3 {
        force[i] = change[i] * through + along * n[i];
        work += (before[i] + after[i]) * force[i];
    }
    [force[0], force[1], force[2], T::c(0.5) * work + ratio * through * change[3]]
}

/// Momentum and energy of [`flux_viscous`] through the area n of the changes along two directions other than n's:
/// grad f = the sum of `change[d]` `area[d]` over a volume, with `mu` the viscosity over this volume, at a place of
/// velocity `middle`. Only what the flux takes of the gradients is made.
#[inline(always)]
pub fn flux_viscous_along<T: Real>(
    ratio: T,
    mu: T,
    middle: &[T; 4],
    change: &[[T; 4]; 2],
    area: &[[T; 3]; 2],
    n: &[T; 3],
) -> [T; 4] {
    let mut through = [T::c(0.0); 2];
    let mut along = [T::c(0.0); 2];
    let mut divergence = [T::c(0.0); 2];
    for d in 0..2 {
        through[d] = area[d][0] * n[0] + area[d][1] * n[1] + area[d][2] * n[2];
        along[d] = change[d][0] * n[0] + change[d][1] * n[1] + change[d][2] * n[2];
        divergence[d] = change[d][0] * area[d][0] + change[d][1] * area[d][1] + change[d][2] * area[d][2];
    }
    let bulk = T::c(-2.0 / 3.0) * (divergence[0] + divergence[1]);
    let mut force = [T::c(0.0); 3];
    for i in 0..3 {
        // Term after term: each is one fused multiplication and addition.
        let first = bulk * n[i] + change[0][i] * through[0] + area[0][i] * along[0];
        force[i] = mu * (first + change[1][i] * through[1] + area[1][i] * along[1]);
    }
    let heat = mu * (ratio * (change[0][3] * through[0] + change[1][3] * through[1]));
    let work = middle[0] * force[0] + middle[1] * force[1] + middle[2] * force[2];
    [force[0], force[1], force[2], work + heat]
}

/// Derivative of [`flux_viscous`] by the conserved state of one node, column-major 5 x 5, with the viscosity held fixed.
///
/// The node enters the gradient with the weight `weight` (grad f = sum of weight_i f_i) and the face's velocity
/// with the factor `share`. `w` is the node's primitive state; `face` and `force` = tau . n as in the flux.
/// * Exact on tetrahedra (but for the viscosity): the node's shape function gradient from
///   [`tet_weights`](super::tet_weights).
/// * Edge-augmented elements: [`edge_augmented`](super::edge_augmented) of weight and -1, 1 or 0.
/// * Thin-layer approximation by edges: minus [`weight_across`] for the edge's first node, the same for its second.
#[inline(always)]
pub fn flux_viscous_block<T: Real>(
    gas: Gas<T>,
    transport: Transport<T>,
    w: &[T; 5],
    face: &[T; 4],
    force: &[T; 3],
    weight: &[T; 3],
    share: T,
    n: &[T; 3],
) -> [T; 25] {
    flux_viscous_block_of(gas, &molecular(gas, transport, face[3]), w, face, force, weight, share, n)
}

/// [`flux_viscous_block`] for given (mu, k).
#[inline(always)]
pub fn flux_viscous_block_of<T: Real>(
    gas: Gas<T>,
    diffusing: &[T; 2],
    w: &[T; 5],
    face: &[T; 4],
    force: &[T; 3],
    weight: &[T; 3],
    share: T,
    n: &[T; 3],
) -> [T; 25] {
    let zero = T::c(0.0);
    let mu = diffusing[0];
    let across = weight[0] * n[0] + weight[1] * n[1] + weight[2] * n[2];
    let mut block = [zero; 25];
    for j in 0..3 {
        let mut work = share * force[j];
        for i in 0..3 {
            let own = if i == j { across } else { zero };
            let by = mu * (own + weight[i] * n[j] - T::c(2.0 / 3.0) * n[i] * weight[j]);
            block[5 * j + 6 + i] = by;
            work += face[i] * by;
        }
        block[5 * j + 9] = work;
    }
    // T = gamma p / rho.
    let by_temperature = diffusing[1] * across;
    let t_by_p = gas.gamma / w[0];
    block[4] = -by_temperature * t_by_p * w[4] / w[0];
    block[24] = by_temperature * t_by_p;
    by_conserved(gas, w, &block)
}

/// Weight of the difference along an edge `dx` in the gradient across the face `n` between its two nodes, n / (n . dx): the
/// slope of what changes along n alone. The length across the face counts for a tenth of the edge's at least, so that
/// edges that run along their face do not make it infinite; without area it is zero.
///
/// Of the flux through a sheared cell it gives the part normal to the face whole, where n / (|n| |dx|) loses as much of it
/// as the edge leans.
///
/// ```
/// use chromaflow_flow::viscous::weight_across;
/// // Shear: the edge leans by 45 degrees, and f = y changes by 1 along it.
/// assert_eq!(weight_across(&[0.0, 2.0, 0.0], &[1.0, 1.0, 0.0]), [0.0, 1.0, 0.0]);
/// ```
#[inline(always)]
pub fn weight_across<T: Real>(n: &[T; 3], dx: &[T; 3]) -> [T; 3] {
    let n2 = n[0] * n[0] + n[1] * n[1] + n[2] * n[2];
    let dx2 = dx[0] * dx[0] + dx[1] * dx[1] + dx[2] * dx[2];
    let least = T::c(0.1) * (n2 * dx2).sqrt();
    let across = (n[0] * dx[0] + n[1] * dx[1] + n[2] * dx[2]).max(least).max(T::c(1e-300));
    let inverse = T::c(1.0) / across;
    [n[0] * inverse, n[1] * inverse, n[2] * inverse]
}

/// (u, v, w, T) between two states.
#[inline(always)]
pub fn mean_velocity_and_temperature<T: Real>(gas: Gas<T>, wl: &[T; 5], wr: &[T; 5]) -> [T; 4] {
    let fl = velocity_and_temperature(gas, wl);
    let fr = velocity_and_temperature(gas, wr);
    let mut face = fl;
    for v in 0..4 {
        face[v] = T::c(0.5) * (fl[v] + fr[v]);
    }
    face
}

/// Derivatives of the thin-layer viscous flux through the area n by the states on its two sides, with (mu, k) = `diffusing` and the
/// (u, v, w, T) of `face` held fixed: the gradient is `weight` times the change from left to right, [`weight_across`] an edge's face
/// or n over the volume between two cells.
#[inline(always)]
pub fn thin_layer_blocks<T: Real>(
    gas: Gas<T>,
    diffusing: &[T; 2],
    face: &[T; 4],
    wl: &[T; 5],
    wr: &[T; 5],
    weight: &[T; 3],
    n: &[T; 3],
) -> ([T; 25], [T; 25]) {
    let still = [T::c(0.0); 3];
    let back = [-weight[0], -weight[1], -weight[2]];
    let by_left = flux_viscous_block_of(gas, diffusing, wl, face, &still, &back, T::c(0.5), n);
    let by_right = flux_viscous_block_of(gas, diffusing, wr, face, &still, weight, T::c(0.5), n);
    (by_left, by_right)
}

/// Spectral radius of the viscous terms through the area n of a control volume, for local time steps:
/// max(4/3, gamma/Pr) mu/rho |n|^2 / volume.
///
/// **Source**: Blazek, CFD: Principles and Applications, eq. 6.21.
#[inline(always)]
pub fn spectral_radius_viscous<T: Real>(
    gas: Gas<T>,
    transport: Transport<T>,
    w: &[T; 5],
    n: &[T; 3],
    volume: T,
) -> T {
    let mu = transport.scale * viscosity(transport, temperature(gas, w));
    let factor = (gas.gamma / transport.prandtl).max(T::c(4.0 / 3.0));
    factor * mu * (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]) / (w[0] * volume)
}

/// The same with given (mu, k): max(4/3 mu, gamma (gamma - 1) k) / rho |n|^2 / volume.
#[inline(always)]
pub fn spectral_radius_viscous_of<T: Real>(
    gas: Gas<T>,
    diffusing: &[T; 2],
    w: &[T; 5],
    n: &[T; 3],
    volume: T,
) -> T {
    let heat = gas.gamma * (gas.gamma - T::c(1.0)) * diffusing[1];
    let most = heat.max(T::c(4.0 / 3.0) * diffusing[0]);
    most * (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]) / (w[0] * volume)
}
