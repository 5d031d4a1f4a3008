//! Outflow against a given pressure.

use super::extrapolation::{SHUT, leaving, leaving_jacobian, mach_through, opening};
use super::inlet::inlet_state;
use super::{Boundary, Inlet, Parameter, Word};
use crate::gas::{Gas, sound_at_slopes, sound_speed};
use crate::real::Real;

/// In case files.
pub(super) static WORD: Word = Word {
    name: "outlet",
    text: "Outflow against a back `pressure`. What flows back in comes from a room at rest of that pressure and the stream's total temperature.",
    parameters: &[Parameter::number("pressure", "static pressure over the free stream's.")],
    read: |given| Ok(Boundary::Outlet { pressure: given.ratio("pressure")? }),
};

/// What an outlet holds, nondimensional.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Outlet<T> {
    /// Static pressure (the free stream's is 1/gamma).
    pub pressure: T,
    /// Total temperature of what flows back in, over the free stream's temperature.
    pub total_temperature: T,
    /// Mach number within which what flows back in turns from the state inside to that of the room; 0.1 at most.
    pub width: T,
}

impl Outlet<f64> {
    /// The largest [`Outlet::width`].
    pub(crate) const WIDEST: f64 = SHUT;

    /// Of a back pressure, in the free stream `free`: what flows back in is the room's within a thirtieth of the stream's Mach number.
    pub fn new(gas: Gas<f64>, pressure: f64, free: &[f64; 5]) -> Self {
        let [rho, u, v, w, p] = *free;
        let (sound2, speed2) = (gas.gamma * p / rho, u * u + v * v + w * w);
        let total_temperature = sound2 + 0.5 * (gas.gamma - 1.0) * speed2;
        Self { pressure, total_temperature, width: (speed2 / sound2).sqrt() / 30.0 }
    }

    /// The same in another scalar.
    #[inline(always)]
    pub fn lift<T: Real>(&self) -> Outlet<T> {
        Outlet {
            pressure: T::c(self.pressure),
            total_temperature: T::c(self.total_temperature),
            width: T::c(self.width),
        }
    }
}

/// The room behind an outlet, as an inlet against the outward area `n`.
#[inline(always)]
fn room<T: Real>(outlet: Outlet<T>, n: &[T; 3]) -> Inlet<T> {
    let inverse = T::c(-1.0) / (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt().max(T::c(1e-300));
    Inlet {
        total_pressure: outlet.pressure,
        total_temperature: outlet.total_temperature,
        direction: [n[0] * inverse, n[1] * inverse, n[2] * inverse],
    }
}

/// How much of an outlet's state comes from inside: all of it where the flow leaves, none where it comes back in faster than the outlet's width, or half
/// of the Mach number along the outlet where that is more, 0.1 at most.
#[derive(Clone, Copy, Debug)]
struct Share<T> {
    open: T,
    /// Its slopes by the Mach number through the boundary and by the square of that along it.
    by_through: T,
    by_along: T,
    /// Mach number through the boundary, square of that along it.
    through: T,
    along: T,
}

/// The share of the state inside. Gas that skims an outlet, as above a plate, keeps what it carries; what comes in more steeply is the room's.
#[inline(always)]
fn share<T: Real>(gas: Gas<T>, w: &[T; 5], outlet: Outlet<T>, n: &[T; 3]) -> Share<T> {
    let zero = T::c(0.0);
    let through = mach_through(gas, w, n);
    let c = sound_speed(gas, w);
    let along = ((w[1] * w[1] + w[2] * w[2] + w[3] * w[3]) / (c * c) - through * through).max(zero);
    let square = (outlet.width * outlet.width + along * T::c(ALONG * ALONG)).max(T::c(1e-12));
    let most = T::c(SHUT * SHUT);
    let width = square.min(most).sqrt();
    // Of the boundary that shuts at SHUT.
    let [open, slope] = opening(through * T::c(SHUT) / width);
    let by_through = slope * T::c(SHUT) / width;
    let by_along = T::c(-0.5 * ALONG * ALONG) * by_through * through / (width * width);
    Share { open, by_through, by_along: T::select(square.lt(most), by_along, zero), through, along }
}

/// The width by the Mach number along the outlet.
const ALONG: f64 = 0.5;

/// Outflow against a static pressure: entropy, tangential velocity and the outgoing invariant V + 2c/(gamma-1) come from inside; everything does
/// where the flow leaves at supersonic speed, and a pressure that would make it leave faster than sound is not felt. What flows back in comes from gas at
/// rest whose total pressure is that pressure ([`bc_inlet`]): with what is inside it would come in ever faster. It does so within
/// [`Outlet::width`], or half of the Mach number along the outlet where that is more (a stream along an outlet keeps its velocity), and Mach 0.1 at most.
///
/// **Source**: Blazek, CFD: Principles and Applications, 8.4 (its linear relations replaced by the invariants); a width of the flow's own speed as
/// in Dong, Karniadakis and Chryssostomidis (2014), *A robust and accurate outflow boundary condition*, equation 5.
///
/// ```
/// use chromaflow_flow::bc::{Outlet, bc_outlet};
/// use chromaflow_flow::gas::Gas;
/// let (n, outlet) = ([1.0, 0.0, 0.0], Outlet { pressure: 0.7, total_temperature: 1.0, width: 0.01 });
/// assert!((bc_outlet(Gas::AIR, &[1.0, 0.2, 0.3, 0.0, 0.75], outlet, &n)[4] - 0.7f64).abs() < 1e-15);
/// // Against nothing: at the speed of sound.
/// let vacuum = bc_outlet(Gas::AIR, &[1.0, 0.2, 0.0, 0.0, 0.75], Outlet { pressure: 1e-6, ..outlet }, &n);
/// assert!((vacuum[1] - (1.4 * vacuum[4] / vacuum[0]).sqrt()).abs() < 1e-14);
/// // Back in at Mach 20 and more: no faster than sound, and straight.
/// let back = bc_outlet(Gas::AIR, &[1.0, -20.0, 30.0, 0.0, 0.7], outlet, &n);
/// assert!(back[1] < 0.0 && back[1] > -1.0 && back[2] == 0.0);
/// ```
#[inline(always)]
pub fn bc_outlet<T: Real>(gas: Gas<T>, w: &[T; 5], outlet: Outlet<T>, n: &[T; 3]) -> [T; 5] {
    let open = share(gas, w, outlet, n).open;
    let (out, back) = (leaving(gas, w, outlet.pressure, n), inlet_state(gas, w, room(outlet, n), n).w);
    let mut wb = [T::c(0.0); 5];
    for i in 0..5 {
        wb[i] = back[i] + open * (out[i] - back[i]);
    }
    wb
}

/// d(boundary state)/d(interior state) of [`bc_outlet`], primitive by primitive, column-major 5 x 5.
#[inline(always)]
pub fn bc_outlet_jacobian<T: Real>(gas: Gas<T>, w: &[T; 5], outlet: Outlet<T>, n: &[T; 3]) -> [T; 25] {
    let share = share(gas, w, outlet, n);
    let open = share.open;
    let (out, back) = (leaving(gas, w, outlet.pressure, n), inlet_state(gas, w, room(outlet, n), n));
    let inverse = T::c(1.0) / (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt().max(T::c(1e-300));
    let c = sound_speed(gas, w);
    let kc = c / (gas.gamma - T::c(1.0));
    // The share by the speed through the boundary, by the velocity, and by the logarithm of the speed of sound.
    let of_through = (share.by_through - T::c(2.0) * share.by_along * share.through) / c;
    let of_velocity = T::c(2.0) * share.by_along / (c * c);
    let of_sound = share.by_through * share.through + T::c(2.0) * share.by_along * share.along;
    let [log_by_rho, log_by_p] = sound_at_slopes(gas, w);
    let mut block = leaving_jacobian(gas, w, outlet.pressure, n);
    for r in 0..5 {
        // By the invariant V + 2c/(gamma-1) besides.
        let (turn, jump) = ((T::c(1.0) - open) * back.slope[r], out[r] - back.w[r]);
        let by_speed = (turn + jump * of_through) * inverse;
        let by_sound = T::c(0.5) * of_sound * jump - kc * turn;
        let by_entropy = (T::c(1.0) - open) * back.by_entropy[r];
        block[r] = open * block[r] + by_sound / w[0] + by_entropy * log_by_rho;
        for i in 0..3 {
            let at = 5 + 5 * i + r;
            block[at] = open * block[at] + by_speed * n[i] + jump * of_velocity * w[1 + i];
        }
        block[20 + r] = open * block[20 + r] - by_sound / w[4] + by_entropy * log_by_p;
    }
    block
}
