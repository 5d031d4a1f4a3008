//! Meshes whose sides are turned: the sector, and what of its images lies within two layers of elements around it.
//!
//! An element at the seam stands there once for every sector that its nodes look from. A node of the sector is a row; a node of another
//! sector is the *image* of a row, at its own place. Residuals then see an ordinary mesh, and what passes across the seam passes as between
//! ranks, turned.

use super::cut::Touched;
use crate::mesh::pairs::Pairs;
use crate::mesh::periodic::{Images, Rotation, Turned};
use crate::mesh::{Kind, Marker, Mesh, sub};
use chromaflow::order::Plan;
use chromaflow::{Permutation, RowBatches};
use chromaflow_device::Team;
use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::{PI, TAU};

/// The owner of images: a rank that there is not.
pub const NOBODY: u32 = u32::MAX;

/// A mesh with turned sides as its file has it, and what its nodes become.
#[derive(Clone, Copy)]
pub struct Turning<'a> {
    /// The file's mesh.
    pub mesh: &'a Mesh,
    /// Which node of the merged mesh each of its nodes is.
    pub images: &'a Images,
    /// How they stand to those.
    pub turned: &'a Turned,
}

/// A row, and in which sector it is seen.
type Seen = (u32, i32);

/// The sector with the layers around it.
pub struct Unrolled {
    /// Rows in their order, then images.
    pub mesh: Mesh,
    /// Its edges.
    pub edges: Pairs,
    /// Row and turns of each image, in the order of their nodes.
    pub images: Vec<Seen>,
    /// Rows on the axis, ascending.
    pub on_axis: Vec<u32>,
    /// The colors of the rows, and after them those of images, which nobody solves for.
    pub plan: Plan,
    /// Number of each node, or of the one that it is an image of, in the mesh's file.
    pub file: Vec<u32>,
}

/// Who stands where.
struct Sector<'a> {
    of: Turning<'a>,
    row_of_merged: &'a [u32],
    on_axis: Vec<bool>,
    /// Turns after which all is as before; only where nodes lie on the axis. Elsewhere a sector seen after a whole circle is another one.
    around: Option<i32>,
}

impl Sector<'_> {
    fn seen(&self, node: u32, turns: i32) -> Seen {
        let row = self.row_of_merged[self.of.images.merged[node as usize] as usize];
        if self.on_axis[row as usize] {
            return (row, 0);
        }
        (row, self.wrapped(turns + i32::from(self.of.turned.by[node as usize])))
    }

    fn wrapped(&self, turns: i32) -> i32 {
        match self.around {
            None => turns,
            Some(n) => {
                let within = turns.rem_euclid(n);
                if 2 * within > n { within - n } else { within }
            }
        }
    }

    /// By how many turns an element or a face is to be seen so that a corner of it is one of `near`, the row itself or an image of it.
    fn turns(&self, nodes: &[u32], near: &BTreeMap<u32, BTreeSet<i32>>) -> BTreeSet<i32> {
        let mut turns = BTreeSet::new();
        for &node in nodes {
            let (row, own) = self.seen(node, 0);
            if self.on_axis[row as usize] {
                turns.extend((0..self.around.unwrap_or(1)).map(|k| self.wrapped(k)));
            }
            turns.insert(self.wrapped(-own));
            turns.extend(near.get(&row).into_iter().flatten().map(|t| self.wrapped(t - own)));
        }
        turns
    }
}

impl Unrolled {
    /// Of a mesh whose merged nodes were ordered by `plan`.
    pub fn new(of: Turning<'_>, periods: crate::mesh::periodic::Periods, plan: &Plan, team: &Team) -> Self {
        let rows = plan.permutation.len();
        let row_of_merged = plan.permutation.new_of_old();
        let mut on_axis = vec![false; rows];
        for &node in &of.turned.on_axis {
            on_axis[row_of_merged[node as usize] as usize] = true;
        }
        let rotation = of.turned.rotation;
        let around = rotation.sectors().filter(|_| !of.turned.on_axis.is_empty()).map(|n| n as i32);
        let sector = Sector { of, row_of_merged, on_axis, around };
        let mut near: BTreeMap<u32, BTreeSet<i32>> = BTreeMap::new();
        let first = seen_around(&sector, &near);
        for (row, turns) in first {
            near.entry(row).or_default().insert(turns);
        }
        let images: Vec<Seen> = seen_around(&sector, &near).into_iter().collect();
        let place: BTreeMap<Seen, u32> = images.iter().copied().zip(rows as u32..).collect();
        let number = |seen: Seen| if seen.1 == 0 { seen.0 } else { place[&seen] };
        let old = plan.permutation.old_of_new();
        let file_of = |row: u32| of.images.first[old[row as usize] as usize];
        let mut mesh = Mesh { periods, ..Mesh::default() };
        let all = || (0..rows as u32).map(|row| (row, 0)).chain(images.iter().copied());
        mesh.nodes =
            all().map(|(row, turns)| rotation.moved(turns, of.mesh.nodes[file_of(row) as usize])).collect();
        add_elements(&sector, &near, number, &mut mesh);
        let taken = |m: &&Marker| !of.merged_away(m);
        for marker in of.mesh.markers.iter().filter(taken) {
            let mut seen = Marker { name: marker.name.clone(), code: marker.code, ..Marker::default() };
            for face in &marker.triangles {
                let turned = sector.turns(face, &near);
                seen.triangles.extend(turned.into_iter().map(|t| face.map(|i| number(sector.seen(i, t)))));
            }
            for face in &marker.quads {
                let turned = sector.turns(face, &near);
                seen.quads.extend(turned.into_iter().map(|t| face.map(|i| number(sector.seen(i, t)))));
            }
            mesh.markers.push(seen);
        }
        let (new, colors) = colored(&Pairs::edges_with(&mesh, team.size()), rows, images.len());
        mesh.renumber(|i| new[i as usize]);
        let mut order: Vec<usize> = (0..new.len()).collect();
        order.sort_by_key(|&i| new[i]);
        mesh.nodes = order.iter().map(|&i| mesh.nodes[i]).collect();
        let images: Vec<Seen> = order[rows..].iter().map(|&i| images[i - rows]).collect();
        let mut offsets = plan.batches.offsets().to_vec();
        offsets.extend(colors);
        let file = (0..rows as u32).chain(images.iter().map(|&(row, _)| row)).map(file_of).collect();
        Self {
            edges: Pairs::edges_with(&mesh, team.size()),
            on_axis: (0..rows as u32).filter(|&row| sector.on_axis[row as usize]).collect(),
            plan: Plan {
                permutation: Permutation::identity(mesh.nodes.len()),
                batches: RowBatches::new(offsets),
                report: plan.report,
            },
            mesh,
            images,
            file,
        }
    }

    /// What touches each node. Distances are measured from the walls of as many sectors as a nearest one may lie in.
    pub fn touched(&self, of: Turning<'_>) -> Touched {
        Touched::new(&self.mesh, self.mesh.nodes.len()).with_surface(of.walls())
    }
}

impl Turning<'_> {
    /// Whether a marker is one of the sides.
    fn merged_away(&self, marker: &Marker) -> bool {
        self.images.joined.contains(&marker.name)
    }

    /// The boundary in the sectors around the mesh, without elements.
    ///
    /// The nearest wall of a place lies within half a pitch of it about the axis, as that of another sector would else be nearer: the image
    /// of the mesh by so many turns as its nodes reach around the axis, and one more for the layers beyond its sides, have it.
    fn walls(&self) -> Mesh {
        let rotation = self.turned.rotation;
        let reach = (2.0 * self.spread() / rotation.angle.abs()).ceil() as i32 + 1;
        let most = rotation.sectors().map_or(i32::MAX, |n| n as i32);
        let first = if 2 * reach + 1 >= most { 0 } else { -reach };
        let turns = first..first + most.min(2 * reach + 1);
        let markers = || self.mesh.markers.iter().filter(|m| !self.merged_away(m));
        let nodes: BTreeSet<u32> = markers()
            .flat_map(|m| m.triangles.as_flattened().iter().chain(m.quads.as_flattened()).copied())
            .collect();
        let nodes: Vec<u32> = nodes.into_iter().collect();
        let at = |i: u32| nodes.binary_search(&i).expect("a node of the boundary") as u32;
        let mut walls = Mesh::default();
        for turn in turns.clone() {
            walls.nodes.extend(nodes.iter().map(|&i| rotation.moved(turn, self.mesh.nodes[i as usize])));
        }
        let count = nodes.len() as u32;
        for marker in markers() {
            let mut all = Marker { name: marker.name.clone(), code: marker.code, ..Marker::default() };
            for copy in 0..turns.len() as u32 {
                all.triangles.extend(marker.triangles.iter().map(|f| f.map(|i| copy * count + at(i))));
                all.quads.extend(marker.quads.iter().map(|f| f.map(|i| copy * count + at(i))));
            }
            walls.markers.push(all);
        }
        walls
    }

    /// The largest angle about the axis between a node and the middle of all.
    fn spread(&self) -> f64 {
        let rotation = self.turned.rotation;
        let arm = |x: [f64; 3]| -> [f64; 3] {
            let x = sub(x, rotation.point);
            let along = crate::mesh::dot(x, rotation.axis);
            std::array::from_fn(|d| x[d] - along * rotation.axis[d])
        };
        let arms = || self.mesh.nodes.iter().map(|&x| arm(x)).filter(|v| crate::mesh::norm(*v) > 0.0);
        let mut middle = [0.0; 3];
        for v in arms() {
            (0..3).for_each(|d| middle[d] += v[d] / crate::mesh::norm(v));
        }
        let size = crate::mesh::norm(middle);
        if size == 0.0 {
            return PI;
        }
        let angle = |v: [f64; 3]| {
            (crate::mesh::dot(v, middle) / (size * crate::mesh::norm(v))).clamp(-1.0, 1.0).acos()
        };
        let widest = arms().map(angle).fold(0.0, f64::max);
        // Beyond that a sector may reach around the axis more than once.
        if widest > 0.4 * TAU { PI } else { widest }
    }
}

/// Images that elements near the sector reach, which is all rows and the images `near`.
fn seen_around(sector: &Sector<'_>, near: &BTreeMap<u32, BTreeSet<i32>>) -> BTreeSet<Seen> {
    let mut seen = BTreeSet::new();
    sector.of.mesh.each_element(|_, _, nodes| {
        for turns in sector.turns(nodes, near) {
            seen.extend(nodes.iter().map(|&i| sector.seen(i, turns)).filter(|seen| seen.1 != 0));
        }
    });
    seen
}

fn add_elements(
    sector: &Sector<'_>,
    near: &BTreeMap<u32, BTreeSet<i32>>,
    number: impl Fn(Seen) -> u32,
    mesh: &mut Mesh,
) {
    fn seen<const N: usize>(nodes: &[u32], number: impl Fn(u32) -> u32) -> [u32; N] {
        std::array::from_fn(|k| number(nodes[k]))
    }
    sector.of.mesh.each_element(|kind, _, nodes| {
        for turns in sector.turns(nodes, near) {
            let number = |i: u32| number(sector.seen(i, turns));
            match kind {
                Kind::Tetrahedron => mesh.tets.push(seen(nodes, number)),
                Kind::Pyramid => mesh.pyramids.push(seen(nodes, number)),
                Kind::Prism => mesh.prisms.push(seen(nodes, number)),
                Kind::Hexahedron => mesh.hexes.push(seen(nodes, number)),
            }
        }
    });
}

/// New numbers of nodes, of which the last `images` are put together by colors, and where each color ends: none of them has an edge within.
fn colored(edges: &Pairs, rows: usize, images: usize) -> (Vec<u32>, Vec<u32>) {
    let mut lower = vec![Vec::new(); images];
    for (a, b) in edges.iter().filter(|&(a, _)| a as usize >= rows) {
        lower[b as usize - rows].push(a as usize - rows);
    }
    let mut color = vec![0; images];
    for i in 0..images {
        let taken: BTreeSet<u32> = lower[i].iter().map(|&j| color[j]).collect();
        color[i] =
            (0..=images as u32).find(|c| !taken.contains(c)).expect("one more than there are neighbors");
    }
    let mut order: Vec<usize> = (0..images).collect();
    order.sort_by_key(|&i| color[i]);
    let mut new: Vec<u32> = (0..(rows + images) as u32).collect();
    for (at, &i) in order.iter().enumerate() {
        new[rows + i] = (rows + at) as u32;
    }
    let ends = order.chunk_by(|&i, &j| color[i] == color[j]).scan(rows, |end, run| {
        *end += run.len();
        Some(*end as u32)
    });
    (new, ends.collect())
}

/// What a rank knows of the seam: images among its rows, rows on the axis, and the turns of images.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seam {
    /// From one sector to the next.
    pub rotation: Rotation,
    /// Row, the row that it is the image of, and by how many turns.
    pub images: Vec<(u32, u32, i32)>,
    /// Rows on the axis.
    pub on_axis: Vec<u32>,
}

impl Seam {
    /// What exchanges do.
    pub fn images(&self) -> chromaflow::dist::Images {
        use chromaflow::dist::Image;
        let different: BTreeSet<i32> = self.images.iter().map(|image| image.2).collect();
        let turns: Vec<i32> = different.into_iter().collect();
        let turn = |t: i32| turns.binary_search(&t).expect("one of the images'") as u32;
        let along = turns.len() as u32;
        let list = self.images.iter().map(|&(row, of, t)| Image { row, of, turn: turn(t) }).collect();
        let on_axis = self.on_axis.iter().map(|&row| Image { row, of: row, turn: along }).collect();
        let matrices = turns.iter().map(|&t| self.rotation.matrix(t)).chain([self.rotation.along()]);
        chromaflow::dist::Images { list, on_axis, turns: matrices.collect() }
    }
}
