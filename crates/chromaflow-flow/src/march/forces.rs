//! Forces on walls and their coefficients.

use crate::config::FlowConfig;
use crate::dual::{Dual, Patch, add, along_and_rest, cross, dot, sub};
use crate::gradient::NodeRecord;
use crate::ranks::Rows;

/// Force and moment coefficients, in body axes and along the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Coefficients {
    /// Force over dynamic pressure and reference area, in the mesh's axes.
    pub force: [f64; 3],
    /// Moment about the reference point, over dynamic pressure, reference area and length.
    pub moment: [f64; 3],
    /// Lift.
    pub cl: f64,
    /// Drag.
    pub cd: f64,
    /// Pitching moment: about y, or about -z where lift points along y (nose up is positive).
    pub cm: f64,
}

/// Coefficients of one marker, or of all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MarkerForces {
    /// Name of the marker.
    pub name: String,
    /// From pressure.
    pub pressure: Coefficients,
    /// From friction.
    pub viscous: Coefficients,
}

/// Forces of all walls.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forces {
    /// Pressure and friction together.
    pub total: Coefficients,
    /// All walls, from pressure.
    pub pressure: Coefficients,
    /// All walls, from friction.
    pub viscous: Coefficients,
    /// Wall by wall.
    pub markers: Vec<MarkerForces>,
}

/// Axes and scales of coefficients.
#[derive(Clone, Copy, Debug)]
pub struct ForceScale {
    /// Unit vector of drag.
    pub drag: [f64; 3],
    /// Unit vector of lift.
    pub lift: [f64; 3],
    /// Dynamic pressure times reference area.
    pub force: f64,
    /// Reference length.
    pub length: f64,
    /// Reference point.
    pub center: [f64; 3],
    /// Whether lift points along y at zero incidence.
    pub lift_y: bool,
    /// Static pressure of the free stream.
    pub pressure: f64,
    /// Where periodic sides are turned, a place on their axis, and the axis: forces are then a sector's share of the whole body's.
    pub turns_about: Option<[[f64; 3]; 2]>,
}

impl Coefficients {
    /// Of a force and its moment about the reference point, as kernels sum them.
    #[cfg(feature = "cuda")]
    pub(crate) fn from_sums(scale: &ForceScale, force: [f64; 3], moment: [f64; 3]) -> Self {
        let mut sums = Self {
            force: force.map(|f| f / scale.force),
            moment: moment.map(|m| m / scale.force / scale.length),
            ..Self::default()
        };
        sums.finish(scale);
        sums
    }

    /// Adds a force (dimensions of pressure times area) that acts at `x`.
    pub fn add(&mut self, scale: &ForceScale, x: [f64; 3], force: [f64; 3]) {
        let f = force.map(|v| v / scale.force);
        let m = cross(sub(x, scale.center), f).map(|v| v / scale.length);
        for d in 0..3 {
            self.force[d] += f[d];
            self.moment[d] += m[d];
        }
        self.finish(scale);
    }

    /// Adds other coefficients of the same scale.
    pub fn merge(&mut self, scale: &ForceScale, other: &Self) {
        for d in 0..3 {
            self.force[d] += other.force[d];
            self.moment[d] += other.moment[d];
        }
        self.finish(scale);
    }

    /// What a sector's force and moment are in the mean over all sectors: of the force, and of the moment about a place on the axis, the
    /// part along the axis.
    fn shared(&mut self, scale: &ForceScale, [point, axis]: [[f64; 3]; 2]) {
        let arm = sub(scale.center, point).map(|v| v / scale.length);
        let along = |v: [f64; 3]| axis.map(|k| dot(axis, v) * k);
        let about = cross(arm, self.force);
        self.force = along(self.force);
        let mean = along(std::array::from_fn(|d| self.moment[d] + about[d]));
        let about = cross(arm, self.force);
        self.moment = std::array::from_fn(|d| mean[d] - about[d]);
    }

    fn finish(&mut self, scale: &ForceScale) {
        if let Some(turns_about) = scale.turns_about {
            self.shared(scale, turns_about);
        }
        self.cl = dot(self.force, scale.lift);
        self.cd = dot(self.force, scale.drag);
        self.cm = if scale.lift_y { -self.moment[2] } else { self.moment[1] };
    }
}

impl Forces {
    /// From the pressure's and the friction's part on each wall; walls of one name are one marker. Totals are of those that
    /// `counts`.
    pub(crate) fn of_walls<'a>(
        scale: &ForceScale,
        counts: impl Fn(&str) -> bool,
        walls: impl IntoIterator<Item = (&'a str, Coefficients, Coefficients)>,
    ) -> Self {
        let mut all = Self::default();
        for (name, pressure, viscous) in walls {
            let place = all.markers.iter().position(|m| m.name == name).unwrap_or_else(|| {
                all.markers.push(MarkerForces { name: name.to_owned(), ..MarkerForces::default() });
                all.markers.len() - 1
            });
            all.markers[place].pressure.merge(scale, &pressure);
            all.markers[place].viscous.merge(scale, &viscous);
            if counts(name) {
                all.pressure.merge(scale, &pressure);
                all.viscous.merge(scale, &viscous);
            }
        }
        all.total.merge(scale, &all.pressure.clone());
        all.total.merge(scale, &all.viscous.clone());
        all
    }
}

/// The walls whose loads a device adds up, in its order.
#[cfg(feature = "cuda")]
pub(crate) struct Walls {
    pub scale: ForceScale,
    pub names: Vec<String>,
    /// Names of those in the totals; all where there are none.
    pub counted: Vec<String>,
}

#[cfg(feature = "cuda")]
impl Walls {
    /// What a device's sums say.
    pub fn measured(&self, sums: &crate::gpu::Sums) -> super::Measured {
        let of = |force, moment| Coefficients::from_sums(&self.scale, force, moment);
        let walls = self.names.iter().zip(sums.walls());
        let walls = walls.map(|(name, [pressure, moment, friction, turning])| {
            (name.as_str(), of(*pressure, *moment), of(*friction, *turning))
        });
        let counts = |name: &str| self.counted.is_empty() || self.counted.iter().any(|c| c == name);
        super::Measured::new(sums.squares().to_vec(), Forces::of_walls(&self.scale, counts, walls))
    }
}

/// Sums of a wall: force and moment of pressure, and of friction.
const WALL: usize = 12;

/// Forces on the walls of `config`. `reaction(patch, i)` is what the wall takes up at the `i`-th node of a patch beside the pressure there: friction, and
/// along the normal what momentum leaves of the node's pressure, which counts as pressure where the wall is smooth. Over ranks, each adds up
/// the nodes that it owns.
pub fn forces(
    config: &FlowConfig,
    scale: &ForceScale,
    dual: &Dual,
    nodes: &[NodeRecord],
    rows: Option<&Rows>,
    reaction: impl Fn(usize, usize) -> [f64; 3],
) -> Forces {
    let is_wall =
        |(_, patch): &(usize, &Patch)| config.boundaries.get(&patch.name).is_some_and(|b| b.is_wall());
    if let Some(rows) = rows {
        let share = &rows.share;
        let walls: Vec<_> = dual.patches.iter().enumerate().filter(is_wall).collect();
        let sums = share.sums(WALL * walls.len(), |tell| {
            for (at, (p, patch)) in walls.iter().enumerate() {
                for (i, (&node, n)) in patch.nodes.iter().zip(&patch.areas).enumerate() {
                    if share.owns(node as usize) {
                        let record = &nodes[node as usize];
                        let mut one = [Coefficients::default(); 2];
                        let x = [record[5], record[6], record[7]];
                        let part = rows.in_sector(node);
                        let [along, friction] = along_and_rest(reaction(*p, i), patch.smooth_normal(i));
                        let pressure = add(along, n.map(|v| (record[4] - scale.pressure) * v));
                        one[0].add(scale, x, pressure.map(|v| part * v));
                        one[1].add(scale, x, friction.map(|v| part * v));
                        let parts = one.iter().flat_map(|c| c.force.into_iter().chain(c.moment));
                        parts.enumerate().for_each(|(k, value)| tell(WALL * at + k, value));
                    }
                }
            }
        });
        let of = |sums: &[f64]| {
            let part = |from: usize| [sums[from], sums[from + 1], sums[from + 2]];
            let mut all = Coefficients { force: part(0), moment: part(3), ..Coefficients::default() };
            all.finish(scale);
            all
        };
        let walls = walls.iter().zip(sums.chunks_exact(WALL));
        let walls = walls.map(|((_, patch), sums)| (patch.name.as_str(), of(&sums[..6]), of(&sums[6..])));
        return Forces::of_walls(scale, |wall| config.reference.counts(wall), walls);
    }
    let walls = dual.patches.iter().enumerate().filter(is_wall).map(|(p, patch)| {
        let (mut pressure, mut viscous) = (Coefficients::default(), Coefficients::default());
        for (i, (&node, n)) in patch.nodes.iter().zip(&patch.areas).enumerate() {
            let record = &nodes[node as usize];
            let x = [record[5], record[6], record[7]];
            let [along, friction] = along_and_rest(reaction(p, i), patch.smooth_normal(i));
            pressure.add(scale, x, add(along, n.map(|v| (record[4] - scale.pressure) * v)));
            viscous.add(scale, x, friction);
        }
        (patch.name.as_str(), pressure, viscous)
    });
    Forces::of_walls(scale, |wall| config.reference.counts(wall), walls)
}
