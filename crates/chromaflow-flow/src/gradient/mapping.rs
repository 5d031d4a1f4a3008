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
use std::sync::Mutex;

/// What is added to increments of some rows of a pattern, or of some edges: of most there is nothing, and nothing is read.
///
/// **Units**: lengths of the mesh.
///
/// ```
/// use chromaflow_flow::gradient::Added;
/// // Of three rows the second one has something, for its two neighbors.
/// let added = Added { first: vec![0, 1, 0], values: vec![[0.0; 3], [0.1, 0.0, 0.0], [0.2, 0.0, 0.0]] };
/// assert_eq!(added.of(1), [[0.1, 0.0, 0.0], [0.2, 0.0, 0.0]]);
/// assert!(added.of(0).is_empty() && Added::<3>::default().is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Added<const N: usize> {
    /// Where the values of each row or edge begin, 0 where there are none; empty where there are none at all.
    pub first: Vec<u32>,
    /// The values, one row's or edge's after the other's; first of all zeros.
    pub values: Vec<[f64; N]>,
}

impl<const N: usize> Added<N> {
    /// Of `count` rows or edges: `length` says how many values one has, `value` which they are.
    pub(crate) fn new(
        team: &Team,
        count: usize,
        length: impl Fn(usize) -> usize + Sync,
        value: impl Fn(usize, usize) -> [f64; N] + Sync,
    ) -> Self {
        // Each member numbers its own, from 1.
        let mut first = vec![0; count];
        let found = Mutex::new(Vec::new());
        parallel::rows(team, count, 1, &mut first, |range, first| {
            let mut entries = Vec::new();
            for (at, first) in range.clone().zip(first) {
                let length = length(at) as u32;
                if length > 0 {
                    *first = entries.len() as u32 + 1;
                    entries.extend((0..length).map(|k| [at as u32, k]));
                }
            }
            found.lock().expect("nobody panics with it").push((range, entries));
        });
        let mut found = found.into_inner().expect("nobody panicked");
        found.sort_unstable_by_key(|(range, _)| (range.start, range.end));
        let (mut entries, mut before) = (vec![[0; 2]], Vec::with_capacity(found.len()));
        for (range, own) in found {
            before.push((range, entries.len() as u32 - 1));
            entries.extend(own);
        }
        if entries.len() == 1 {
            return Self::default();
        }
        parallel::rows(team, count, 1, &mut first, |range, first| {
            let before = before.iter().find(|(own, _)| *own == range).map_or(0, |(_, before)| *before);
            first.iter_mut().filter(|first| **first > 0).for_each(|first| *first += before);
        });
        let mut values = vec![[0.0; N]; entries.len()];
        parallel::rows(team, entries.len() - 1, 1, &mut values[1..], |range, out| {
            for (out, [at, k]) in out.iter_mut().zip(&entries[1..][range]) {
                *out = value(*at as usize, *k as usize);
            }
        });
        Self { first, values }
    }

    /// Whether nothing is added anywhere.
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// The values from those of a row or an edge on; none where it has none.
    #[inline(always)]
    pub fn of(&self, at: usize) -> &[[f64; N]] {
        match self.first.get(at) {
            Some(&first) if first > 0 => &self.values[first as usize..],
            _ => &[],
        }
    }

    /// The value `k` of a row or an edge, or zeros.
    pub(crate) fn get(&self, at: usize, k: usize) -> [f64; N] {
        self.of(at).get(k).copied().unwrap_or([0.0; N])
    }

    /// Bytes.
    fn bytes(&self) -> usize {
        size_of_val(&*self.first) + size_of_val(&*self.values)
    }
}

/// What the mapping adds to increments.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mapping {
    /// To those of a row of the dual's pattern, position by position, from the row to the column.
    pub by_row: Added<3>,
    /// To that of an edge (a, b), from a to b and from b to a.
    pub by_edge: Added<6>,
    /// The number of mapped nodes.
    pub nodes: usize,
    /// What periods alone add to increments of a row.
    pub shifts: Added<3>,
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
        let by_row = Added::new(
            team,
            n,
            |i| if mapped[i] { dual.pattern.columns(i).len() } else { 0 },
            |i, k| added(i, dual.pattern.columns(i)[k] as usize),
        );
        let ends = |edge: usize| dual.edges[edge].map(|i| i as usize);
        let by_edge = Added::new(
            team,
            dual.edges.len(),
            |edge| usize::from(ends(edge).iter().any(|&i| mapped[i])),
            |edge, _| {
                let [a, b] = ends(edge);
                both(added(a, b), added(b, a))
            },
        );
        Self { by_row, by_edge, nodes, shifts: Added::default() }
    }

    /// With what leads from a node to the image of its neighbor where the mesh repeats: x_j - x_i with it is the shortest way. Where there
    /// are no periods, nothing changes.
    #[must_use]
    pub fn with_periods(self, team: &Team, dual: &Dual, places: &[[f64; 3]]) -> Self {
        if dual.periods.is_empty() {
            return self;
        }
        let shift = |i: u32, j: u32| -> [f64; 3] {
            let (a, b) = (places[i as usize], places[j as usize]);
            let way = dual.between(&a, &b);
            std::array::from_fn(|d| way[d] - (b[d] - a[d]))
        };
        let columns = |i: usize| dual.pattern.columns(i);
        let at = |i: usize, k: usize| shift(i as u32, columns(i)[k]);
        let is_shifted = |i: usize| columns(i).iter().any(|&j| shift(i as u32, j) != [0.0; 3]);
        let rows = |has: &(dyn Fn(usize) -> bool + Sync),
                    value: &(dyn Fn(usize, usize) -> [f64; 3] + Sync)| {
            Added::new(team, dual.nodes(), |i| if has(i) { columns(i).len() } else { 0 }, value)
        };
        let shifts = rows(&is_shifted, &at);
        let by_row = rows(&|i| !self.by_row.of(i).is_empty() || !shifts.of(i).is_empty(), &|i, k| {
            sum(self.by_row.get(i, k), shifts.get(i, k))
        });
        let of_edge = |edge: usize| {
            let [a, b] = dual.edges[edge];
            let way = shift(a, b);
            both(way, way.map(|d| -d))
        };
        let by_edge = Added::new(
            team,
            dual.edges.len(),
            |edge| usize::from(!self.by_edge.of(edge).is_empty() || of_edge(edge).iter().any(|&d| d != 0.0)),
            |edge, k| sum(self.by_edge.get(edge, k), of_edge(edge)),
        );
        Self { by_row, by_edge, shifts, ..self }
    }

    /// Bytes.
    pub fn bytes(&self) -> usize {
        self.by_row.bytes() + self.by_edge.bytes() + self.shifts.bytes()
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

fn both(to: [f64; 3], from: [f64; 3]) -> [f64; 6] {
    [to[0], to[1], to[2], from[0], from[1], from[2]]
}

fn sum<const N: usize>(a: [f64; N], b: [f64; N]) -> [f64; N] {
    std::array::from_fn(|d| a[d] + b[d])
}
