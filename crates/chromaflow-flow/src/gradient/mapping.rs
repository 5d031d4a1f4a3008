//! The approximate mapping of thin layers on curved walls.
//!
//! In cells much flatter than a curved wall is smooth, a neighbor along the wall lies far below the tangent plane, compared with the
//! layer it belongs to: an unweighted fit loses the derivative across the layers, a weighted one spoils that along them. A fit in
//! coordinates along the wall and away from it does neither. The increment from node i to its neighbor j becomes
//! ```text
//! dx' = dx + (d_j - d_i - dx . n_i) n_i,
//! ```
//! d the distance from the wall and n_i its gradient at i; gradients are fitted with dx' and states extrapolated by dx'/2.
//!
//! **Source**: Diskin & Thomas, NIA report 2008-12 (2008); in FUN3D: AIAA 2016-0858.

use crate::dual::Dual;
use crate::parallel;
use chromaflow_device::Team;

/// What the mapping adds to increments; nodes that are not mapped have zeros.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mapping {
    /// To that of each position of the dual's pattern, from its row to its column.
    pub by_position: Vec<[f64; 3]>,
    /// To that of each edge (a, b), from a to b and from b to a.
    pub by_edge: Vec<[f64; 6]>,
    /// The number of mapped nodes.
    pub nodes: usize,
    /// What periods alone add to the increment of each position; empty where the mesh does not repeat.
    pub shifts: Vec<[f64; 3]>,
}

/// A node is in a layer where some neighbor lies this many heights of a cell away, or more.
const FLAT: f64 = 4.0;
/// A neighbor further off the tangent plane than its layer, by this part of the height of a cell, makes a node be mapped.
const BENT: f64 = 0.1;
/// Least cosine of the angle between the directions away from the wall at a node and its neighbors: beyond, there is an edge of the wall
/// or the middle between two.
const SMOOTH: f64 = 0.5;

impl Mapping {
    /// For nodes at `places`, so far from the nearest wall, and with these unit vectors away from it (zeros where there is none). Empty
    /// where no node lies in bent layers.
    ///
    /// **Shapes**: all `[rows]`.
    ///
    /// ```
    /// use chromaflow_device::Team;
    /// use chromaflow_flow::{dual::Dual, gradient::Mapping, mesh::generate::Cylinder};
    ///
    /// // The layers around a cylinder of diameter 1.
    /// let mesh = Cylinder { cells: [40, 48], radius: 4.0, growth: 1.25, triangles: false }.mesh();
    /// let dual = Dual::new(&mesh).collapsed(mesh.planar.unwrap().nodes_2d);
    /// let places = &mesh.nodes[..dual.nodes()];
    /// let distance: Vec<f64> = places.iter().map(|x| x[0].hypot(x[1]) - 0.5).collect();
    /// let away: Vec<_> = places.iter().map(|x| [x[0], x[1], 0.0].map(|v| v / x[0].hypot(x[1]))).collect();
    /// let mapping = Mapping::new(&Team::new(1), &dual, places, &distance, &away);
    /// assert!(mapping.nodes > 0 && mapping.nodes < places.len()); // not those far from the wall
    /// ```
    pub fn new(team: &Team, dual: &Dual, places: &[[f64; 3]], distance: &[f64], away: &[[f64; 3]]) -> Self {
        let layers = Layers { dual, places, distance, away };
        let n = dual.nodes();
        let mut mapped = vec![false; n];
        parallel::rows(team, n, 1, &mut mapped, |rows, out| {
            for (i, mapped) in rows.zip(out) {
                *mapped = layers.are_bent_at(i);
            }
        });
        let nodes = mapped.iter().filter(|mapped| **mapped).count();
        if nodes == 0 {
            return Self::default();
        }
        let added = |i: usize, j: usize| {
            let (off, n) = (layers.off_tangent(i, j), away[i]);
            if mapped[i] { n.map(|n| off * n) } else { [0.0; 3] }
        };
        let mut by_edge = vec![[0.0; 6]; dual.edges.len()];
        parallel::rows(team, dual.edges.len(), 1, &mut by_edge, |edges, out| {
            for (edge, out) in edges.zip(out) {
                let [a, b] = dual.edges[edge].map(|i| i as usize);
                out[..3].copy_from_slice(&added(a, b));
                out[3..].copy_from_slice(&added(b, a));
            }
        });
        let columns = dual.pattern.col_idx();
        let mut by_position = vec![[0.0; 3]; columns.len()];
        parallel::rows(team, columns.len(), 1, &mut by_position, |positions, out| {
            for (k, out) in positions.zip(out) {
                let edge = dual.edge_of[k] as usize;
                let [x, y, z, back @ ..] = by_edge[edge];
                *out = if dual.edges[edge][1] == columns[k] { [x, y, z] } else { back };
            }
        });
        Self { by_position, by_edge, nodes, shifts: Vec::new() }
    }

    /// With what leads from a node to the image of its neighbor where the mesh repeats: x_j - x_i with it is the shortest way. Where there
    /// are no periods, nothing changes.
    #[must_use]
    pub fn with_periods(mut self, dual: &Dual, places: &[[f64; 3]]) -> Self {
        if dual.periods.is_empty() {
            return self;
        }
        let columns = dual.pattern.col_idx();
        self.by_edge.resize(dual.edges.len(), [0.0; 6]);
        self.by_position.resize(columns.len(), [0.0; 3]);
        let shift = |i: u32, j: u32| -> [f64; 3] {
            let (a, b) = (places[i as usize], places[j as usize]);
            let way = dual.between(&a, &b);
            std::array::from_fn(|d| way[d] - (b[d] - a[d]))
        };
        for (&[a, b], added) in dual.edges.iter().zip(&mut self.by_edge) {
            let shift = shift(a, b);
            for d in 0..3 {
                added[d] += shift[d];
                added[3 + d] -= shift[d];
            }
        }
        let rows = 0..dual.nodes();
        self.shifts = rows
            .flat_map(|i| dual.pattern.columns(i).iter().map(move |&j| (i as u32, j)))
            .map(|(i, j)| shift(i, j))
            .collect();
        for (added, shift) in self.by_position.iter_mut().zip(&self.shifts) {
            (0..3).for_each(|d| added[d] += shift[d]);
        }
        self
    }

    /// Bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.by_position) + size_of_val(&*self.by_edge) + size_of_val(&*self.shifts)
    }
}

struct Layers<'a> {
    dual: &'a Dual,
    places: &'a [[f64; 3]],
    distance: &'a [f64],
    away: &'a [[f64; 3]],
}

impl Layers<'_> {
    /// How much further j lies from the wall than the tangent plane through i says.
    fn off_tangent(&self, i: usize, j: usize) -> f64 {
        let dx = self.dual.between(&self.places[i], &self.places[j]);
        self.distance[j] - self.distance[i] - dot(&dx, &self.away[i])
    }

    /// Whether neighbors of a node along the wall lie off its tangent plane by a noticeable part of the height of its cells, where
    /// the wall is smooth.
    fn are_bent_at(&self, i: usize) -> bool {
        let (mut height, mut length, mut bend) = (f64::INFINITY, 0.0_f64, 0.0_f64);
        for &j in self.dual.pattern.columns(i) {
            let j = j as usize;
            if dot(&self.away[i], &self.away[j]) < SMOOTH {
                return false;
            }
            let dx = self.dual.between(&self.places[i], &self.places[j]);
            let (rise, way) = ((self.distance[j] - self.distance[i]).abs(), dot(&dx, &dx).sqrt());
            if rise > 0.5 * way {
                height = height.min(rise);
            }
            length = length.max(way);
            bend = bend.max(self.off_tangent(i, j).abs());
        }
        height.is_finite() && length > FLAT * height && bend > BENT * height
    }
}

fn dot(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}
