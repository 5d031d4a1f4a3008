//! Sides that are periodic: what carries one to the other.

#[cfg(test)]
mod tests;

use super::{Grid, GridError, IndexMap, Interface, Window};
use crate::periodic::{Motion, PeriodicError, Periods, Rotation};
use crate::{cross, norm, sub};

/// Largest distance of points that should coincide, as a part of the spacing of points there.
const GAP: f64 = 1e-3;
/// Distance from an axis that is none, over the largest.
const ON_AXIS: f64 = 1e-9;

/// Two points of an interface that should coincide.
pub(super) struct Gap {
    /// On side a, on side b.
    pub at: [[usize; 3]; 2],
    /// How far apart they are, and may be.
    pub apart: f64,
    pub allowed: f64,
}

impl Gap {
    pub fn is_wide(&self) -> bool {
        self.apart.is_nan() || self.apart > self.allowed
    }
}

impl Grid {
    /// Joins the markers `low` and `high`, each one patch on opposite sides of a block: points of the first are those of the
    /// second moved by a translation, or else turned about an axis.
    ///
    /// # Errors
    /// When there are no two such patches.
    pub fn periodic(mut self, low: &str, high: &str) -> Result<Self, GridError> {
        let find = |name: &str| {
            let mut all = self.patches.iter().filter(|p| p.name == name);
            all.next().filter(|_| all.next().is_none()).map(|p| p.window)
        };
        let opposite = |a: &Window, b: &Window| {
            let tangential = a.side.tangential();
            a.block == b.block
                && a.side.axis == b.side.axis
                && a.side.high != b.side.high
                && tangential.iter().all(|&t| (a.low[t], a.high[t]) == (b.low[t], b.high[t]))
        };
        let pair = find(low).zip(find(high)).filter(|(a, b)| opposite(a, b));
        let Some((a, b)) = pair else {
            return Err(GridError::Mismatch(format!(
                "the markers {low:?} and {high:?} are not one patch each on opposite sides of a block"
            )));
        };
        let to = a.side.tangential().map(|t| (t, b.low[t], b.high[t]));
        let map = IndexMap::between(&a, &b, to);
        let motion = self.motion_of(&Interface { a, b, map, motion: Motion::NONE });
        self.patches.retain(|p| p.window != a && p.window != b);
        self.interfaces.push(Interface { a, b, map, motion });
        Ok(self)
    }

    /// The rotation of its periodic sides, where some are turned: one for all in a grid that passed [`Grid::check`], forth or back.
    pub fn rotation(&self) -> Option<Rotation> {
        self.interfaces.iter().find_map(|i| i.motion.rotation())
    }

    /// Translations of periodic sides that do not depend on one another.
    pub fn translations(&self) -> Vec<[f64; 3]> {
        let mut steps = Vec::new();
        for interface in &self.interfaces {
            if let Motion::Translation(step) = interface.motion {
                steps.push(step);
                if Periods::new(&steps).is_none() {
                    steps.pop();
                }
            }
        }
        steps
    }

    /// Pairs of points of an interface with the distance of one from the image of the other.
    pub(super) fn gaps(&self, i: &Interface, motion: Motion) -> impl Iterator<Item = Gap> {
        let (block, other) = (&self.blocks[i.a.block], &self.blocks[i.b.block]);
        i.a.nodes().map(move |at| {
            let other_at = i.map.node(at.map(|n| n as isize)).map(|n| n as usize);
            let apart = norm(sub(block.node(at), motion.image(other.node(other_at))));
            Gap { at: [at, other_at], apart, allowed: GAP * self.spacing(&i.a, at) }
        })
    }

    /// What carries the points of an interface's side b to those of side a: the translation of the first ones, if it does; else a rotation
    /// that other interfaces have; else the one between the means and the areas of both sides. Of motions that all fail, the one that comes
    /// nearest. The interface fits its blocks.
    pub(crate) fn motion_of(&self, interface: &Interface) -> Motion {
        let Interface { a, b, map, .. } = interface;
        let (block, other) = (&self.blocks[a.block], &self.blocks[b.block]);
        let image = |at: [usize; 3]| other.node(map.node(at.map(|n| n as isize)).map(|n| n as usize));
        let by_step = Motion::Translation(sub(block.node(a.low), image(a.low)));
        let known = self.rotation();
        let known = known.into_iter().flat_map(|rotation| [rotation, rotation.back()]);
        let sides = [mean_and_area(a, image), mean_and_area(a, |at| block.node(at))];
        let fitted = Rotation::between(sides.map(|s| s.0), sides.map(|s| s.1));
        let worst = |motion: Motion| {
            let wide = self.gaps(interface, motion).filter(Gap::is_wide);
            wide.map(|gap| gap.apart / gap.allowed).fold(0.0, f64::max)
        };
        let (mut best, mut off) = (by_step, worst(by_step));
        for rotation in known.chain(fitted) {
            if off == 0.0 {
                break;
            }
            let by_turn = Motion::Rotation(rotation);
            let worst = worst(by_turn);
            if worst < off {
                (best, off) = (by_turn, worst);
            }
        }
        best
    }

    /// That all turned sides have one rotation, translations beside it are along its axis, and sectors that reach the axis fill the circle.
    pub(super) fn check_turns(&self) -> Result<(), PeriodicError> {
        let Some(known) = self.rotation() else { return Ok(()) };
        for Interface { a, b, motion, .. } in &self.interfaces {
            let rotation = match motion {
                Motion::Translation(step) if motion.is_none() || known.keeps(*step) => continue,
                Motion::Translation(step) => {
                    return Err(PeriodicError::Skew { step: *step, axis: known.axis });
                }
                Motion::Rotation(rotation) => rotation,
            };
            let block = &self.blocks[a.block];
            let reach = a.nodes().map(|at| rotation.radius(block.node(at))).fold(0.0, f64::max);
            known.turns_forth(rotation, reach, || [a, b].map(ToString::to_string))?;
            let on_axis = |at: &[usize; 3]| rotation.radius(block.node(*at)) <= ON_AXIS * reach;
            if rotation.sectors().is_none()
                && let Some(at) = a.nodes().find(on_axis)
            {
                return Err(PeriodicError::Axis { at: block.node(at), degrees: rotation.angle.to_degrees() });
            }
        }
        Ok(())
    }

    /// Largest distance to the neighbors of a node within its window.
    fn spacing(&self, window: &Window, at: [usize; 3]) -> f64 {
        let block = &self.blocks[window.block];
        let mut most = 0.0f64;
        for d in window.side.tangential() {
            for near in [at[d].wrapping_sub(1), at[d] + 1] {
                if (window.low[d]..=window.high[d]).contains(&near) {
                    let mut there = at;
                    there[d] = near;
                    most = most.max(norm(sub(block.node(at), block.node(there))));
                }
            }
        }
        most
    }
}

/// The mean of the points of a window, and the sum of its faces' areas towards larger indices along its axis.
fn mean_and_area(window: &Window, point: impl Fn([usize; 3]) -> [f64; 3]) -> ([f64; 3], [f64; 3]) {
    let (mut mean, mut area, mut count) = ([0.0; 3], [0.0; 3], 0.0);
    let [u, v] = window.side.tangential();
    for at in window.nodes() {
        count += 1.0;
        let x = point(at);
        (0..3).for_each(|d| mean[d] += x[d]);
        if at[u] < window.high[u] && at[v] < window.high[v] {
            let corner = |du: usize, dv: usize| {
                let mut at = at;
                (at[u], at[v]) = (at[u] + du, at[v] + dv);
                point(at)
            };
            let face = cross(sub(corner(1, 1), x), sub(corner(0, 1), corner(1, 0)));
            (0..3).for_each(|d| area[d] += 0.5 * face[d]);
        }
    }
    (mean.map(|v| v / count), area)
}
