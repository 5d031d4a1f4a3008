//! Laws of the wall as pointwise functions: friction and heat from the state of a node near a wall, and the shear there.
//!
//! The laws hold from the wall outwards, so that nothing switches between meshes that resolve the viscous layer and those whose
//! first node lies in the logarithmic one. y+ = d u_tau / nu and u+ = u / u_tau have the product Re = u d / nu, which is known:
//! ```text
//! SA        u+ = the model's exact law of the wall, du+/dy+ = 1 / (1 + chi fv1),  chi = kappa y+
//! others    u+ = the models' own solutions where the stress is constant
//! ```
//! Each is u+ = B + sum of L_k ln((y+ + a_k)^2 + b_k^2) - G_k atan2(b_k, y+ + a_k), two terms, the exact form of Spalart-Allmaras. Of SST-2003m, SST-Vm and
//! Wilcox 2006 numbers are fitted to solutions of the model's equations in one dimension, 3,000 points up to y+ 300,000 with the exact omega, 6/(beta y+^2), at the
//! first six: u+ within 0.12 %, its slope within 1 %, 1 at the wall; 1/kappa of the logarithm is 2 (L_1 + L_2), kappa = sqrt((beta/beta* - gamma) sqrt(beta*) /
//! sigma_omega), 0.4082, 0.41 and 0.4, B 5.2. A law that is not the model's own (Spalding's, say, which is 0.7 % higher at y+ 30 and 1.1 % lower at 1000) has the friction
//! depend on where the first node is.
//!
//! The friction of Spalart-Allmaras comes from the law and what the scheme adds to it (`law_of_scheme`): models with two equations have the same in the omega of their walls.
//!
//! **Source**: Allmaras, Johnson and Spalart (2012), ICCFD7-1902; laws by the models' own solutions: Kalitzin, Medic, Iaccarino and Durbin (2005), J. Comput. Phys. 204,
//! 265; heat: Kader (1981), Int. J. Heat Mass Transfer 24(9), 1541, with the recovery of Crocco and Busemann.

use crate::bc::{Wall, WallHeat};
use crate::gas::{Gas, Transport, viscosity};
use crate::real::Real;

const LAW_KAPPA: f64 = 0.41;
/// cv1^3 of Spalart-Allmaras.
const LAW_CV1_3: f64 = 7.1 * 7.1 * 7.1;
/// Of laws: a, b, L and G of both terms, and B.
const LAW_OF_SA: [f64; 9] = [
    8.148221580024245,
    -6.9287093849022945,
    7.4600876082527945,
    7.468145790401841,
    2.5496773539754747,
    -1.3301651588535228,
    3.599459109332379,
    3.6397531868684494,
    5.0333908790505579,
];
const LAW_OF_SST: [f64; 9] = [
    5.831181176213608,
    -3.6223853932759895,
    6.171413192214136,
    5.310533446082094,
    1.1984241054290954,
    0.026320765962493553,
    5.153216148034146,
    2.8758462588838767,
    5.2075806038469565,
];
const LAW_OF_SST_VORTICITY: [f64; 9] = [
    5.791517185590731,
    -3.6204430249106196,
    6.143477316302593,
    5.301121520611498,
    1.194325262929549,
    0.02518693219240209,
    5.113230141615479,
    2.8738226217380873,
    5.213384749130756,
];
const LAW_OF_WILCOX: [f64; 9] = [
    4.3909843638816595,
    -4.163891962990122,
    6.44712377296733,
    5.166675157382398,
    1.2966914517451427,
    -0.046691451745142665,
    4.766781460639891,
    2.5476832558000058,
    5.217065760055748,
];
/// What the scheme adds to u+ of Spalart-Allmaras at nodes and at centers of cells, D y^4 / (k^4 + y^4) + sum of A exp(-(s (ln y+ - m))^2): D, k, and A, m and s of both terms.
const SCHEME_OF_NODES: [f64; 8] = [0.154018, 1.46064, 1.0362, 2.02043, 1.56993, -0.267595, 1.65852, 3.32277];
const SCHEME_OF_CELLS: [f64; 8] = [0.420328, 1.31906, -0.327191, 1.29236, 4.33125, 2.15314, 1.8578, 1.51059];
/// Below this y+ the series of Spalart-Allmaras is nearer than the differences of its terms.
const NEAR: f64 = 0.3;
/// Smallest Re: below it there is no friction to tell from none.
const LEAST: f64 = 1e-12;

/// Which law of the wall; those of models with k and omega in the order of [`KOmegaVariant`](crate::turbulence::k_omega::KOmegaVariant), behind the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum WallLaw {
    /// That of the Spalart-Allmaras model, for the first node off a wall.
    SpalartAllmaras,
    /// That of SST-2003m.
    Sst,
    /// That of SST-Vm.
    SstVorticity,
    /// That of Wilcox 2006.
    Wilcox,
    /// That of the Spalart-Allmaras model, for the first center of cells.
    SpalartAllmarasOfCells,
}

/// A wall as seen from a node near it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct LawPlace<T> {
    /// The law.
    pub law: WallLaw,
    /// What the wall does with heat.
    pub heat: WallHeat,
    /// Area of the wall that the law's friction acts on.
    pub area: T,
    /// Distance of the node from the wall.
    pub distance: T,
    /// Unit vector away from the wall.
    pub away: [T; 3],
    /// The wall.
    pub wall: Wall<T>,
}

/// A node whose equations take a law of the wall, as kernels read arrays of it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct LawNode<T> {
    /// Its row.
    pub node: u32,
    /// The row whose state the law takes: of nodes on walls that of the nearest one off it, else the node's own.
    pub other: u32,
    /// The wall as `other` sees it.
    pub place: LawPlace<T>,
}

impl LawPlace<f64> {
    /// The same in another scalar.
    #[inline(always)]
    pub fn lift<T: Real>(&self) -> LawPlace<T> {
        LawPlace {
            law: self.law,
            heat: self.heat,
            area: T::c(self.area),
            distance: T::c(self.distance),
            away: self.away.map(T::c),
            wall: Wall { temperature: T::c(self.wall.temperature), velocity: self.wall.velocity.map(T::c) },
        }
    }
}

/// Not a power, which GPUs call out of line.
#[inline(always)]
fn cube_root<T: Real>(x: T) -> T {
    (x.ln() * T::c(1.0 / 3.0)).exp()
}

#[inline(always)]
fn law_numbers<T: Real>(law: WallLaw) -> [T; 9] {
    let mut numbers = [T::c(0.0); 9];
    for k in 0..9 {
        numbers[k] = T::c(LAW_OF_SA[k]);
        if law == WallLaw::Sst {
            numbers[k] = T::c(LAW_OF_SST[k]);
        }
        if law == WallLaw::SstVorticity {
            numbers[k] = T::c(LAW_OF_SST_VORTICITY[k]);
        }
        if law == WallLaw::Wilcox {
            numbers[k] = T::c(LAW_OF_WILCOX[k]);
        }
    }
    numbers
}

/// What the scheme adds to u+ at the first node off a wall, or the first center, and the derivative of that by y+. Differences of the velocity over the mean of two
/// viscosities, of the linear nut, and the shear of the second row have errors of some percent at the first nodes, which do not fade as meshes are refined: with u+ of the law at the
/// first node the velocity beyond stays below the law. It was found by solving the scheme in one dimension, where the stress is constant, for first nodes at y+ 0.1 to 1000 and cells that grow by 1.12
/// (below y+ 2 by 1.02), and makes the velocity beyond the first rows that of the law. Growth of 1.05 and 1.2 asks for 0.1 more or less at most.
#[inline(always)]
fn law_of_scheme<T: Real>(law: WallLaw, y: T) -> [T; 2] {
    let zero = T::c(0.0);
    if law == WallLaw::Sst || law == WallLaw::SstVorticity || law == WallLaw::Wilcox {
        return [zero, zero];
    }
    let mut numbers = [T::c(0.0); 8];
    for k in 0..8 {
        numbers[k] = T::c(SCHEME_OF_NODES[k]);
        if law == WallLaw::SpalartAllmarasOfCells {
            numbers[k] = T::c(SCHEME_OF_CELLS[k]);
        }
    }
    let near = y.max(T::c(LEAST));
    let (x, ratio) = (near.ln(), numbers[1] / near);
    let fourth = ratio * ratio * ratio * ratio;
    let rise = numbers[0] / (T::c(1.0) + fourth);
    // By ln y+.
    let (mut u, mut slope) = (rise, T::c(4.0) * rise * fourth / (T::c(1.0) + fourth));
    for k in 0..2 {
        let [most, place, narrow] = [numbers[2 + 3 * k], numbers[3 + 3 * k], numbers[4 + 3 * k]];
        let from = narrow * (x - place);
        let hill = most * (-(from * from)).exp();
        u += hill;
        slope -= T::c(2.0) * narrow * from * hill;
    }
    [u, slope / near]
}

/// u+ with what the scheme adds, du+/dy+ of the law, and that of the whole.
#[inline(always)]
fn law_profile<T: Real>(law: WallLaw, y: T) -> [T; 3] {
    let numbers = law_numbers::<T>(law);
    let [more, rises] = law_of_scheme(law, y);
    let (mut u, mut slope) = (numbers[8], T::c(0.0));
    for k in 0..2 {
        let [along, width, log, angle] = [y + numbers[k], numbers[2 + k], numbers[4 + k], numbers[6 + k]];
        let square = along * along + width * width;
        u += log * square.ln() - angle * (T::c(2.0) * T::c(1.0).atan() - (along / width).atan());
        slope += (T::c(2.0) * log * along + angle * width) / square;
    }
    if law == WallLaw::SpalartAllmaras || law == WallLaw::SpalartAllmarasOfCells {
        let chi = T::c(LAW_KAPPA) * y;
        let cube = chi * chi * chi;
        let eddy = chi * cube / (cube + T::c(LAW_CV1_3));
        let series = y - y * chi * cube * T::c(0.2 / LAW_CV1_3);
        u = T::select(y.lt(T::c(NEAR)), series, u);
        slope = T::c(1.0) / (T::c(1.0) + eddy);
    }
    [u + more, slope, slope + rises]
}

/// y+ and du+/dy+ of the law where `reynolds` = u d / nu = u+ y+, u+ with what the scheme adds.
///
/// ```
/// use chromaflow_flow::turbulence::spalart_allmaras::law_of_the_wall;
/// use chromaflow_flow::wall_law::{WallLaw, law_units};
/// // In the logarithmic layer the scheme of nodes adds 0.15, that of cells 0.42.
/// for (law, more) in [(WallLaw::SpalartAllmaras, 0.154018), (WallLaw::SpalartAllmarasOfCells, 0.420328)] {
///     let y: f64 = law_units(law, 600.0 * (law_of_the_wall(600.0) + more))[0];
///     assert!((y - 600.0).abs() < 1e-3);
/// }
/// // In the viscous layer u+ = y+.
/// let [y, slope]: [f64; 2] = law_units(WallLaw::Sst, 0.25);
/// assert!((y - 0.5).abs() < 1e-3 && (slope - 1.0).abs() < 1e-2);
/// ```
#[inline(always)]
pub fn law_units<T: Real>(law: WallLaw, reynolds: T) -> [T; 2] {
    let re = reynolds.max(T::c(LEAST));
    // The law's u+ y+ is convex: from the first step on Newton's method comes from above.
    let mut y = re.sqrt();
    for _k in 0..6 {
        let [u, _, rises] = law_profile(law, y);
        y = y - (y * u - re) / (u + y * rises);
    }
    [y, law_profile(law, y)[1]]
}

/// Friction over that of a linear profile, u_tau^2 d / (nu u) = y+^2 / Re, and the derivative of that by ln Re: with y+ = Re / u+ it is
/// y+^2 / Re (Re - y+^2 s) / (Re + y+^2 s), s = du+/dy+ with what the scheme adds.
///
/// ```
/// use chromaflow_flow::wall_law::{WallLaw, law_resistance};
/// let at = |re: f64| law_resistance(WallLaw::Sst, re);
/// let (h, re) = (1e-4, 2e3_f64);
/// let difference = (at(re * (1.0 + h))[0] - at(re * (1.0 - h))[0]) / (2.0 * h);
/// assert!((at(re)[1] / difference - 1.0).abs() < 1e-6);
/// ```
#[inline(always)]
pub fn law_resistance<T: Real>(law: WallLaw, reynolds: T) -> [T; 2] {
    let re = reynolds.max(T::c(LEAST));
    let y = law_units(law, re)[0];
    let (square, ratio) = (y * y * law_profile(law, y)[2], y * y / re);
    [ratio, ratio * (re - square) / (re + square)]
}

/// T+ = (T_wall - T) rho cp u_tau / q at y+, `prandtl` the molecular Prandtl number: Pr y+ e^-G + (2.12 ln(1 + y+) + beta) e^(-1/G),
/// G = 0.01 (Pr y+)^4 / (1 + 5 Pr^3 y+), beta = (3.85 Pr^(1/3) - 1.3)^2 + 2.12 ln Pr.
///
/// **Source**: Kader (1981), eq. 33.
///
/// ```
/// use chromaflow_flow::wall_law::law_heat;
/// assert!((law_heat(0.7, 1.0_f64) - 0.7).abs() < 1e-3);
/// // 2.12 ln 1001 + 3.73
/// assert!((law_heat(0.7, 1000.0_f64) - 18.38).abs() < 0.01);
/// ```
#[inline(always)]
pub fn law_heat<T: Real>(prandtl: T, y: T) -> T {
    let one = T::c(1.0);
    let viscous = prandtl * y;
    let square = viscous * viscous;
    let blend = T::c(0.01) * square * square / (one + T::c(5.0) * prandtl * prandtl * viscous);
    let root = T::c(3.85) * cube_root(prandtl) - T::c(1.3);
    let beta = root * root + T::c(2.12) * prandtl.ln();
    // Where it is small, e^(-1/G) is zero and has no slope.
    let inverse = one / blend.max(T::c(1e-3));
    viscous * (-blend).exp() + (T::c(2.12) * (one + y).ln() + beta) * (-inverse).exp()
}

/// The velocity along the wall, relative to it, and its size.
#[inline(always)]
fn sliding<T: Real>(place: LawPlace<T>, w: &[T; 5]) -> [T; 4] {
    let wall = place.wall.velocity;
    let n = place.away;
    let relative = [w[1] - wall[0], w[2] - wall[1], w[3] - wall[2]];
    let through = relative[0] * n[0] + relative[1] * n[1] + relative[2] * n[2];
    let [x, y, z] =
        [relative[0] - through * n[0], relative[1] - through * n[1], relative[2] - through * n[2]];
    [x, y, z, (x * x + y * y + z * z).max(T::c(1e-60)).sqrt()]
}

/// rho, mu, T and the temperature of no heat flux at the wall, of the state `w` near it: its pressure, the wall's temperature where it has one, else
/// that of Crocco and Busemann, T + Pr^(1/3) (gamma - 1)/2 u^2.
#[inline(always)]
fn at_wall<T: Real>(
    gas: Gas<T>,
    transport: Transport<T>,
    place: LawPlace<T>,
    w: &[T; 5],
    speed: T,
) -> [T; 4] {
    let recovery = cube_root(transport.prandtl) * T::c(0.5) * (gas.gamma - T::c(1.0));
    let adiabatic = gas.gamma * w[4] / w[0] + recovery * speed * speed;
    let mut temperature = adiabatic;
    if place.heat == WallHeat::Isothermal {
        temperature = place.wall.temperature;
    }
    let mu = transport.scale * viscosity(transport, temperature);
    [gas.gamma * w[4] / temperature, mu, temperature, adiabatic]
}

/// The wall's temperature as the law has it: the one given, or that of no heat flux; `w` is the state at the distance of `place`.
#[inline(always)]
pub fn law_temperature<T: Real>(gas: Gas<T>, transport: Transport<T>, place: LawPlace<T>, w: &[T; 5]) -> T {
    at_wall(gas, transport, place, w, sliding(place, w)[3])[2]
}

/// y+ of the node with the state `w` that sees the wall, and u_tau.
#[inline(always)]
pub fn law_friction<T: Real>(gas: Gas<T>, transport: Transport<T>, place: LawPlace<T>, w: &[T; 5]) -> [T; 2] {
    let speed = sliding(place, w)[3];
    let wall = at_wall(gas, transport, place, w, speed);
    let nu = wall[1] / wall[0];
    let y = law_units(place.law, speed * place.distance / nu)[0];
    [y, y * nu / place.distance]
}

/// What the wall takes up: the force of friction, rho u_tau^2 times the area along the velocity, and the heat that an isothermal wall draws from
/// the fluid per time, rho cp u_tau (T_adiabatic - T_wall) / T+ times the area. `w` is the state at the distance of `place`.
#[inline(always)]
pub fn law_load<T: Real>(gas: Gas<T>, transport: Transport<T>, place: LawPlace<T>, w: &[T; 5]) -> [T; 4] {
    let [x, y, z, speed] = sliding(place, w);
    let [rho, mu, temperature, adiabatic] = at_wall(gas, transport, place, w, speed);
    let nu = mu / rho;
    let units = law_units(place.law, speed * place.distance / nu)[0];
    let friction = units * nu / place.distance;
    let force = place.area * rho * friction * friction / speed;
    let mut heat = T::c(0.0);
    if place.heat == WallHeat::Isothermal {
        let by = law_heat(transport.prandtl, units) * (gas.gamma - T::c(1.0));
        heat = place.area * rho * friction * (adiabatic - temperature) / by;
    }
    [force * x, force * y, force * z, heat]
}

/// What leaves the control volume of a node on the wall for it: `load` is [`law_load`]; a wall that moves does work.
#[inline(always)]
pub fn law_flux<T: Real>(place: LawPlace<T>, load: &[T; 4]) -> [T; 5] {
    let u = place.wall.velocity;
    let work = u[0] * load[0] + u[1] * load[1] + u[2] * load[2];
    [T::c(0.0), load[0], load[1], load[2], work + load[3]]
}

/// The gradient d(u, v, w)_i / dx_k of a node near the wall with the derivative of the velocity along the wall across it
/// replaced by the law's, u_tau^2 / nu du+/dy+: differences over the first cell are not the slope of a logarithm.
#[inline(always)]
pub fn law_gradient<T: Real>(
    gas: Gas<T>,
    transport: Transport<T>,
    place: LawPlace<T>,
    w: &[T; 5],
    gradient: &[[T; 3]; 3],
) -> [[T; 3]; 3] {
    let [x, y, z, speed] = sliding(place, w);
    let along = [x / speed, y / speed, z / speed];
    let wall = at_wall(gas, transport, place, w, speed);
    let nu = wall[1] / wall[0];
    let [units, slope] = law_units(place.law, speed * place.distance / nu);
    let rate = units / place.distance;
    let mut missing = rate * rate * nu * slope;
    for i in 0..3 {
        for k in 0..3 {
            missing -= along[i] * gradient[i][k] * place.away[k];
        }
    }
    let mut out = *gradient;
    for i in 0..3 {
        for k in 0..3 {
            out[i][k] += missing * along[i] * place.away[k];
        }
    }
    out
}

/// The states of two ghosts beyond the face of a cell with the law, from the states of two cells, `w` that of the first, and what mirrors them about a wall without slip,
/// `mirrored`: the velocity along the wall and the temperature go on with the slope that the law has at the first cell, y+ du+/dy+ / u+ of what the mirrored ones have. In
/// the viscous layer these are the mirrored states; in the logarithmic one they are what fluxes and gradients can use.
#[inline(always)]
pub fn law_ghosts<T: Real>(
    gas: Gas<T>,
    transport: Transport<T>,
    place: LawPlace<T>,
    w: &[[T; 5]; 2],
    mirrored: &[[T; 5]; 2],
) -> [[T; 5]; 2] {
    let speed = sliding(place, &w[0])[3];
    let wall = at_wall(gas, transport, place, &w[0], speed);
    let reynolds = (speed * place.distance * wall[0] / wall[1]).max(T::c(LEAST));
    let [units, slope] = law_units(place.law, reynolds);
    let share = units * units * slope / reynolds;
    let n = place.away;
    let mut out = *mirrored;
    for g in 0..2 {
        let (own, ghost) = (w[g], mirrored[g]);
        let change = [ghost[1] - own[1], ghost[2] - own[2], ghost[3] - own[3]];
        let through = change[0] * n[0] + change[1] * n[1] + change[2] * n[2];
        for c in 0..3 {
            out[g][1 + c] = own[1 + c] + through * n[c] + share * (change[c] - through * n[c]);
        }
        let (t, t_ghost) = (own[4] / own[0], ghost[4] / ghost[0]);
        out[g][0] = ghost[4] / (t + share * (t_ghost - t));
    }
    out
}
