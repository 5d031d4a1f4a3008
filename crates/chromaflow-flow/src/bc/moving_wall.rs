//! Viscous walls that move along themselves: belts, lids, turning cylinders.

use super::{Boundary, Parameter, Word};
use crate::real::Real;

/// In case files.
pub(super) static WORD: Word = Word {
    name: "moving_wall",
    text: "Viscous wall that moves along itself with `velocity` + `rotation` x (x - `center`); adiabatic, or isothermal where a \
           `temperature` is given.",
    parameters: &[
        Parameter::vector("velocity", "velocity over the free stream's speed of sound; default none."),
        Parameter::vector(
            "rotation",
            "angular velocity in radians, times the mesh unit over the free stream's speed of sound; default none.",
        ),
        Parameter::vector("center", "a point of the axis of rotation; default the origin."),
        Parameter::number("temperature", "wall temperature over the free stream's static temperature."),
    ],
    read: |given| {
        let motion = Motion {
            velocity: given.vector("velocity").unwrap_or_default(),
            rotation: given.vector("rotation").unwrap_or_default(),
            center: given.vector("center").unwrap_or_default(),
        };
        if !given.has("velocity") && !given.has("rotation") {
            return Err("`moving_wall` needs `velocity` or `rotation`, three numbers: [x, y, z]".to_owned());
        }
        let temperature = given.has("temperature").then(|| given.ratio("temperature")).transpose()?;
        Ok(Boundary::MovingWall { motion, temperature })
    },
};

/// The motion of a rigid body, nondimensional.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Motion<T> {
    /// Velocity at `center`, over a_inf.
    pub velocity: [T; 3],
    /// Angular velocity, radians mesh units over a_inf.
    pub rotation: [T; 3],
    /// A point.
    pub center: [T; 3],
}

impl Motion<f64> {
    /// Rest.
    pub const NONE: Self = Self { velocity: [0.0; 3], rotation: [0.0; 3], center: [0.0; 3] };

    /// The same in another scalar.
    #[inline(always)]
    pub fn lift<T: Real>(&self) -> Motion<T> {
        Motion {
            velocity: self.velocity.map(T::c),
            rotation: self.rotation.map(T::c),
            center: self.center.map(T::c),
        }
    }

    /// Velocity along a line alone.
    pub const fn straight(velocity: [f64; 3]) -> Self {
        Self { velocity, ..Self::NONE }
    }

    /// The part of the velocity of a wall of these faces (middle, area) that goes through it: far from 0 where it does not move along itself.
    pub(crate) fn through(&self, faces: impl Iterator<Item = ([f64; 3], [f64; 3])>) -> f64 {
        let [mut through, mut all] = [0.0; 2];
        for (x, n) in faces {
            let [across, size] = self.across(&x, &n);
            (through, all) = (through + across, all + size);
        }
        if all > 0.0 { through / all } else { 0.0 }
    }

    /// What goes through a face (middle, area), and what would if the wall moved straight through it.
    pub(crate) fn across(&self, x: &[f64; 3], n: &[f64; 3]) -> [f64; 2] {
        let u = motion_at(*self, x);
        let dot = |a: &[f64; 3], b: &[f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
        [dot(&u, n).abs(), (dot(&u, &u) * dot(n, n)).sqrt()]
    }

    /// The most of it that the facets of a curved wall may have.
    pub(crate) const MOST_THROUGH: f64 = 0.05;
}

/// Velocity of the body at `x`: v + omega x (x - x0).
#[inline(always)]
pub fn motion_at<T: Real>(motion: Motion<T>, x: &[T; 3]) -> [T; 3] {
    let o = motion.rotation;
    let d = [x[0] - motion.center[0], x[1] - motion.center[1], x[2] - motion.center[2]];
    [
        motion.velocity[0] + (o[1] * d[2] - o[2] * d[1]),
        motion.velocity[1] + (o[2] * d[0] - o[0] * d[2]),
        motion.velocity[2] + (o[0] * d[1] - o[1] * d[0]),
    ]
}
