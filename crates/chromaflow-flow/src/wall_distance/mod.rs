//! Distance of points from the nearest wall without slip, exact to the wall's faces.
//!
//! The wall is a set of triangles, and the nearest place is sought over all of them, edges and corners included: not along
//! grid lines, not among wall nodes or face centers. Quadrilaterals are cut into four triangles about the mean of their
//! corners, the very surface that closes the control volumes of [`Dual`](crate::dual::Dual). Of a mesh made from a
//! two-dimensional one the wall is the segments in the plane z = 0, so that the depth of the layer plays no part.
//!
//! A hierarchy of boxes around the triangles leaves a few of them to look at per point. All that could hold the nearest
//! place are looked at with the same arithmetic, and of equals the first one counts, so that the result depends neither on
//! the order of the points nor on the number of threads.
//!
//! **Source**: Ericson, Real-Time Collision Detection (2005), 5.1 and 6.2.

mod curve;
mod facet;
mod on_grid;
mod tree;

#[cfg(test)]
mod tests;

use crate::march::FlowError;
use crate::mesh::periodic::Rotation;
use crate::mesh::{Marker, Mesh, cross, dot};
use crate::parallel;
use crate::real::dispatch;
use chromaflow_device::{Isa, Team};
use facet::Facet;
use tree::{Search, Tree};

/// The walls of a mesh, ready to be asked for the nearest place.
///
/// ```
/// use chromaflow_flow::mesh::{Marker, Mesh};
/// use chromaflow_flow::wall_distance::WallSurface;
/// let nodes = vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
/// let floor = Marker { name: "floor".into(), triangles: vec![[0, 1, 2]], ..Marker::default() };
/// let mesh = Mesh { nodes, markers: vec![floor], ..Mesh::default() };
/// let walls = WallSurface::new(&mesh, |marker| marker.name == "floor").unwrap();
/// assert_eq!(walls.nearest([0.25, 0.25, 0.5]).place, [0.25, 0.25, 0.0]);
/// assert_eq!(walls.nearest([4.0, 0.0, 4.0]).distance, 5.0);
/// ```
#[derive(Clone, Debug)]
pub struct WallSurface {
    tree: Tree,
    /// Whether the plane z = 0 is all there is.
    planar: bool,
}

/// Pieces of the points for each thread: fewer lie nearer to one another.
const PIECES: usize = 4;

/// The nearest place on a wall.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Nearest {
    /// How far away it is, in the mesh's length unit.
    pub distance: f64,
    /// Where it is: (point - place) / distance is the gradient of the distance.
    pub place: [f64; 3],
    /// The boundary face it lies on, counted through all markers of the mesh, triangles before quadrilaterals in each.
    pub face: u32,
}

impl WallSurface {
    /// The markers of `mesh` that `is_wall` picks.
    ///
    /// # Errors
    /// [`FlowError::NoWall`] when they have no face.
    pub fn new(mesh: &Mesh, is_wall: impl Fn(&Marker) -> bool) -> Result<Self, FlowError> {
        Self::with_team(mesh, is_wall, &Team::new(1))
    }

    /// The same on all members of a team.
    ///
    /// # Errors
    /// As [`WallSurface::new`].
    pub fn with_team(mesh: &Mesh, is_wall: impl Fn(&Marker) -> bool, team: &Team) -> Result<Self, FlowError> {
        let repeats = Repeats { steps: mesh.periods.steps().to_vec(), turns: None };
        Self::repeated(mesh, is_wall, &repeats, team)
    }

    /// The same with images of all faces, since a wall beyond a periodic side may be the nearest.
    ///
    /// # Errors
    /// As [`WallSurface::new`].
    pub fn repeated(
        mesh: &Mesh,
        is_wall: impl Fn(&Marker) -> bool,
        repeats: &Repeats,
        team: &Team,
    ) -> Result<Self, FlowError> {
        let images = repeats.images();
        let mut facets = Vec::new();
        let mut before = 0;
        for marker in &mesh.markers {
            let faces = marker.triangles.len() + marker.quads.len();
            if is_wall(marker) {
                add_facets(mesh, marker, before, &images, &mut facets);
            }
            before += faces as u32;
        }
        if facets.is_empty() {
            return Err(no_wall(mesh));
        }
        Ok(Self { tree: Tree::new(facets, team), planar: mesh.planar.is_some() })
    }

    /// The nearest place of one point.
    pub fn nearest(&self, point: [f64; 3]) -> Nearest {
        let mut out = [Nearest::default()];
        self.search(&[self.flat(point)], &[0], &mut out);
        out[0]
    }

    /// The nearest places of `points`, on all members of `team`, which take pieces of them in turn, since some points cost more than others; each
    /// search begins with what the one before found, which is near since the points of a piece are taken along a curve that fills space.
    pub fn nearest_of(&self, points: &[[f64; 3]], team: &Team) -> Vec<Nearest> {
        let mut out = vec![Nearest::default(); points.len()];
        let piece = points.len().div_ceil(PIECES * team.size()).max(1);
        parallel::in_turn(team, piece, &mut out, |rows, out| {
            let points: Vec<_> = points[rows].iter().map(|p| self.flat(*p)).collect();
            let order = curve::order(&points);
            self.search(&points, &order, out);
        });
        out
    }

    fn search(&self, points: &[[f64; 3]], order: &[u32], out: &mut [Nearest]) {
        dispatch(Isa::detect(), Search { tree: &self.tree, points, order, out });
    }

    /// The smaller of the walls' extents along two ways across `stream`, a unit vector, and each other; of planar meshes their extent across it in the
    /// plane.
    pub fn extent_across(&self, stream: &[f64; 3]) -> f64 {
        let axis = if self.planar {
            2
        } else {
            (0..3).fold(0, |a, b| if stream[b].abs() < stream[a].abs() { b } else { a })
        };
        let first = cross(*stream, std::array::from_fn(|d| if d == axis { 1.0 } else { 0.0 }));
        let second = cross(*stream, first);
        let extent = |way| self.extent_along(way);
        if self.planar { extent(first) } else { extent(first).min(extent(second)) }
    }

    fn extent_along(&self, way: [f64; 3]) -> f64 {
        let mut ends = [f64::INFINITY, f64::NEG_INFINITY];
        for corner in self.tree.facets().iter().flat_map(|facet| facet.corners) {
            let x = dot(way, corner);
            ends = [ends[0].min(x), ends[1].max(x)];
        }
        ends[1] - ends[0]
    }

    /// The largest of the walls' extents along the axes.
    pub fn extent(&self) -> f64 {
        let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        axes.into_iter().map(|way| self.extent_along(way)).fold(0.0, f64::max)
    }

    fn flat(&self, point: [f64; 3]) -> [f64; 3] {
        if self.planar { [point[0], point[1], 0.0] } else { point }
    }
}

/// The distance of points of a mesh without walls: what any unit of length makes large, and its square a number.
pub const FAR: f64 = 1e30;

/// Some walls, and of each of some points the nearest place on them: searched for once, for all who ask.
#[derive(Clone, Debug)]
pub struct NearWalls {
    /// The walls.
    pub surface: WallSurface,
    /// The nearest place of each point.
    pub nearest: Vec<Nearest>,
}

impl NearWalls {
    /// Of the markers of `mesh` that `is_wall` picks and of `points`; none where they have no face.
    pub fn of(
        mesh: &Mesh,
        is_wall: impl Fn(&Marker) -> bool,
        points: &[[f64; 3]],
        team: &Team,
    ) -> Option<Self> {
        let surface = WallSurface::with_team(mesh, is_wall, team).ok()?;
        let nearest = surface.nearest_of(points, team);
        Some(Self { surface, nearest })
    }

    /// The same as points see them whose walls repeat; `surface` is that of the mesh alone.
    pub fn repeated(
        mesh: &Mesh,
        is_wall: impl Fn(&Marker) -> bool,
        points: &[[f64; 3]],
        team: &Team,
        repeats: &Repeats,
    ) -> Option<Self> {
        let surface = WallSurface::with_team(mesh, &is_wall, team).ok()?;
        let nearest = if repeats.images().len() > 1 {
            WallSurface::repeated(mesh, is_wall, repeats, team).ok()?.nearest_of(points, team)
        } else {
            surface.nearest_of(points, team)
        };
        Some(Self { surface, nearest })
    }

    /// No walls at all, or one of no extent so far away that each of `points` points is [`FAR`] from it.
    pub fn nowhere(points: usize) -> Self {
        let facet = Facet { corners: [[FAR, 0.0, 0.0]; 3], face: 0 };
        let surface = WallSurface { tree: Tree::new(vec![facet], &Team::new(1)), planar: false };
        Self { surface, nearest: vec![Nearest { distance: FAR, ..Nearest::default() }; points] }
    }

    /// Distances of the points.
    pub fn distances(&self) -> Vec<f64> {
        self.nearest.iter().map(|near| near.distance).collect()
    }
}

/// A rotation and how many turns, and what is added then.
type Image = (Option<(Rotation, i32)>, [f64; 3]);

/// How walls repeat.
#[derive(Clone, Debug, Default)]
pub struct Repeats {
    /// Translations; images are taken a period away.
    pub steps: Vec<[f64; 3]>,
    /// A rotation, along which translations lie, and how many turns away images are taken.
    pub turns: Option<(Rotation, i32)>,
}

impl Repeats {
    /// The walls' own places first.
    fn images(&self) -> Vec<Image> {
        let mut shifts = vec![[0.0; 3]];
        for step in &self.steps {
            let by = |sign: f64| move |x: &[f64; 3]| std::array::from_fn(|d| x[d] + sign * step[d]);
            let (forth, back): (Vec<_>, Vec<_>) =
                (shifts.iter().map(by(1.0)).collect(), shifts.iter().map(by(-1.0)).collect());
            shifts.extend(forth);
            shifts.extend(back);
        }
        let most = self.turns.map_or(0, |(_, most)| most);
        let turns = (-most..=most).map(|n| self.turns.filter(|_| n != 0).map(|(rotation, _)| (rotation, n)));
        let mut turns: Vec<_> = turns.collect();
        turns.sort_by_key(Option::is_some);
        turns.into_iter().flat_map(|turn| shifts.iter().map(move |shift| (turn, *shift))).collect()
    }
}

/// That a mesh has none.
pub(crate) fn no_wall(mesh: &Mesh) -> FlowError {
    let markers: Vec<&str> = mesh.markers.iter().map(|m| m.name.as_str()).collect();
    FlowError::NoWall { markers: markers.join(", ") }
}

/// The facets of a marker, `before` of whose mesh's boundary faces come before its own: of all its images.
fn add_facets(mesh: &Mesh, marker: &Marker, before: u32, images: &[Image], facets: &mut Vec<Facet>) {
    for (turn, shift) in images {
        let moved = |x: [f64; 3]| -> [f64; 3] {
            let x = turn.map_or(x, |(rotation, n)| rotation.moved(n, x));
            std::array::from_fn(|d| x[d] + shift[d])
        };
        for (face, triangle) in (before..).zip(&marker.triangles) {
            let [a, b, c, ..] = mesh.corners(triangle).map(moved);
            facets.push(Facet { corners: [a, b, c], face });
        }
        for (face, &quad) in (before + marker.triangles.len() as u32..).zip(&marker.quads) {
            if let Some(planar) = mesh.planar {
                let [a, b, ..] = mesh.corners(&planar.edge(quad)).map(moved);
                facets.push(Facet::segment([a, b], face));
            } else {
                let [a, b, c, d, ..] = mesh.corners(&quad).map(moved);
                facets.extend(Facet::quarters([a, b, c, d], face));
            }
        }
    }
}
