//! A rank's part of a mesh.

use super::bits::Bits;
use super::unrolled::{NOBODY, Seam, Unrolled};
use super::{Division, Part};
use crate::mesh::periodic::Rotation;
use crate::mesh::{Kind, Marker, Mesh, Planar};
use chromaflow::order::Plan;

/// Lists of what touches each node.
struct Touching {
    ptr: Vec<u32>,
    list: Vec<u32>,
}

impl Touching {
    /// `visit` names the pairs of a node and what touches it, twice.
    fn new(nodes: usize, visit: impl Fn(&mut dyn FnMut(u32, u32))) -> Self {
        let mut ptr = vec![0_u32; nodes + 1];
        visit(&mut |node, _| ptr[node as usize + 1] += 1);
        for i in 0..nodes {
            ptr[i + 1] += ptr[i];
        }
        let (mut next, mut list) = (ptr.clone(), vec![0; ptr[nodes] as usize]);
        visit(&mut |node, item| {
            list[next[node as usize] as usize] = item;
            next[node as usize] += 1;
        });
        Self { ptr, list }
    }

    fn of(&self, node: u32) -> &[u32] {
        &self.list[self.ptr[node as usize] as usize..self.ptr[node as usize + 1] as usize]
    }
}

/// Cuts a mesh, whose nodes are numbered by rows, into the parts of ranks.
pub struct Cutter<'a> {
    mesh: &'a Mesh,
    plan: &'a Plan,
    division: &'a Division,
    /// Rows: nodes, those of the front plane of a planar mesh.
    rows: usize,
    /// Rows of each rank, ascending.
    owned: Vec<Vec<u32>>,
    touched: Touched,
    whole: Vec<[u64; 2]>,
    /// Colors of elements, or none.
    colors: &'a [u32],
    /// Number of each node in the mesh's file, or none.
    file: &'a [u32],
    /// Where the mesh was unrolled.
    seam: Option<(&'a Unrolled, Rotation)>,
}

/// What touches each row of a mesh, and its boundary: all that cuts ask for but who owns what.
pub struct Touched {
    elements: Touching,
    faces: Touching,
    surface: Mesh,
}

impl Touched {
    /// Of a mesh with so many rows.
    pub fn new(mesh: &Mesh, rows: usize) -> Self {
        let row = |i: u32| i % rows as u32;
        let elements = Touching::new(rows, |pair| {
            let mut number = 0;
            mesh.each_element(|_, _, nodes| {
                for &i in nodes {
                    pair(row(i), number);
                }
                number += 1;
            });
        });
        let faces = Touching::new(rows, |pair| {
            let mut number = 0;
            for marker in &mesh.markers {
                for face in marker.triangles.iter().map(|f| &f[..]).chain(marker.quads.iter().map(|f| &f[..]))
                {
                    for &i in face {
                        pair(row(i), number);
                    }
                    number += 1;
                }
            }
        });
        Self { elements, faces, surface: boundary(mesh, rows) }
    }

    /// With another mesh's boundary, which has all walls.
    pub fn with_surface(self, surface: Mesh) -> Self {
        Self { surface, ..self }
    }
}

impl<'a> Cutter<'a> {
    /// `degrees` has the neighbors of each row.
    pub fn new(
        mesh: &'a Mesh,
        plan: &'a Plan,
        degrees: &[u32],
        division: &'a Division,
        touched: Touched,
    ) -> Self {
        let rows = plan.permutation.len();
        let mut owned = vec![Vec::new(); division.quality.ranks as usize];
        for (row, &owner) in (0..).zip(&division.owner).filter(|(_, owner)| **owner != NOBODY) {
            owned[owner as usize].push(row);
        }
        let cost = |row: usize| u64::from(degrees[row]) + 2;
        let whole = plan.batches.iter().map(|rows| [rows.len() as u64, rows.map(cost).sum()]).collect();
        Self { mesh, plan, division, rows, owned, touched, whole, colors: &[], file: &[], seam: None }
    }

    /// Of a mesh that was unrolled: with its images, which nobody owns and nobody solves for.
    pub fn with_seam(mut self, unrolled: &'a Unrolled, rotation: Rotation) -> Self {
        let rows = self.rows - unrolled.images.len();
        for (cost, batch) in self.whole.iter_mut().zip(unrolled.plan.batches.iter()) {
            if batch.start >= rows {
                *cost = [0, 0];
            }
        }
        Self { seam: Some((unrolled, rotation)), ..self }
    }

    /// With the colors of all elements.
    pub fn with_colors(self, colors: &'a [u32]) -> Self {
        Self { colors, ..self }
    }

    /// With the file's numbers of all nodes before they were numbered by rows; empty where they are their own.
    pub fn with_file(self, file: &'a [u32]) -> Self {
        Self { file, ..self }
    }

    /// The part of a rank.
    pub fn part(&self, rank: u32) -> Part {
        let own = &self.owned[rank as usize];
        let (mut elements, mut near) = (Bits::new(self.elements_count()), Bits::new(self.rows));
        near.extend(own.iter().copied());
        // Rows of the elements around some that are not there yet.
        let around = |rows: &[u32], elements: &mut Bits, near: &mut Bits| -> Vec<u32> {
            let mut new = Vec::new();
            for &row in rows {
                for &e in self.touched.elements.of(row) {
                    if elements.insert(e) {
                        new.extend(self.corners(e).filter(|&corner| near.insert(corner)));
                    }
                }
            }
            new
        };
        let first = around(own, &mut elements, &mut near);
        let mut complete = Bits::new(self.rows);
        complete.extend(own.iter().chain(&first).copied());
        around(&first, &mut elements, &mut near);
        // Images follow rows that are here, owned or ghosts.
        let of_images: Vec<u32> =
            near.list().into_iter().filter_map(|i| self.image(i)).map(|(row, _)| row).collect();
        near.extend(of_images);
        let global = near.list();
        let mut faces = Bits::new(self.faces_count());
        for &row in own.iter().chain(&first) {
            faces.extend(self.touched.faces.of(row).iter().copied());
        }
        let (elements, faces, near) = (elements.list(), faces.list(), near.ranked());
        let n = global.len();
        let local = |i: u32| -> u32 {
            let row = near.place(i % self.rows as u32) as usize;
            (row + i as usize / self.rows * n) as u32
        };
        let mesh = self.mesh_of(&global, &elements, &faces, local);
        let colored = elements.iter().filter_map(|&e| self.colors.get(e as usize));
        let element_colors = colored.copied().collect();
        let old = self.plan.permutation.old_of_new();
        let seam = self.seam.map(|(unrolled, rotation)| {
            let place = |row: &u32| global.binary_search(row).ok().map(|row| row as u32);
            let image = |(at, &i): (u32, &u32)| {
                self.image(i).map(|(row, turns)| (at, place(&row).expect("put there above"), turns))
            };
            Seam {
                rotation,
                images: (0..).zip(&global).filter_map(image).collect(),
                on_axis: unrolled.on_axis.iter().filter_map(place).collect(),
            }
        });
        let in_file = |node: u32| self.file.get(node as usize).copied().unwrap_or(node);
        let bound = |&offset: &u32| global.partition_point(|&row| row < offset) as u32;
        let mut lines: Vec<u32> = self.plan.batches.lines().unwrap_or_default().iter().map(bound).collect();
        lines.dedup();
        Part {
            owner: global.iter().map(|&row| self.division.owner[row as usize]).collect(),
            complete: global.iter().map(|row| u8::from(complete.contains(*row))).collect(),
            file: global.iter().map(|&row| in_file(old[row as usize])).collect(),
            colors: self.plan.batches.offsets().iter().map(bound).collect(),
            lines,
            whole: self.whole.clone(),
            report: self.plan.report,
            surface: self.touched.surface.clone(),
            quality: self.division.quality,
            element_colors,
            seam,
            mesh,
            global,
        }
    }

    /// The row that a node of an unrolled mesh is the image of, and its turns.
    fn image(&self, node: u32) -> Option<(u32, i32)> {
        let (unrolled, _) = self.seam?;
        unrolled.images.get((node as usize).checked_sub(self.rows - unrolled.images.len())?).copied()
    }

    fn elements_count(&self) -> usize {
        self.mesh.elements()
    }

    fn faces_count(&self) -> usize {
        self.mesh.markers.iter().map(|m| m.triangles.len() + m.quads.len()).sum()
    }

    /// Rows of the nodes of an element, by its number over all types.
    fn corners(&self, element: u32) -> impl Iterator<Item = u32> + '_ {
        let (_, _, nodes) = self.mesh.element(element as usize);
        nodes.iter().map(|&i| i % self.rows as u32)
    }

    fn mesh_of(&self, global: &[u32], elements: &[u32], faces: &[u32], local: impl Fn(u32) -> u32) -> Mesh {
        let place =
            |plane: usize| global.iter().map(move |&row| self.mesh.nodes[row as usize + plane * self.rows]);
        let planar = self.mesh.planar.map(|planar| Planar { nodes_2d: global.len(), ..planar });
        let mut mesh =
            Mesh { nodes: place(0).collect(), planar, periods: self.mesh.periods, ..Mesh::default() };
        if planar.is_some() {
            mesh.nodes.extend(place(1));
        }
        for &e in elements {
            let (kind, _, nodes) = self.mesh.element(e as usize);
            match kind {
                Kind::Tetrahedron => mesh.tets.push(corners(nodes, &local)),
                Kind::Pyramid => mesh.pyramids.push(corners(nodes, &local)),
                Kind::Prism => mesh.prisms.push(corners(nodes, &local)),
                Kind::Hexahedron => mesh.hexes.push(corners(nodes, &local)),
            }
        }
        let bare = |m: &Marker| Marker { name: m.name.clone(), code: m.code, ..Marker::default() };
        mesh.markers = self.mesh.markers.iter().map(bare).collect();
        for &f in faces {
            let (marker, count, _, nodes) = self.mesh.boundary_face(f as usize);
            let marker = &mut mesh.markers[marker];
            if count == 3 {
                marker.triangles.push(corners(&nodes[..3], &local));
            } else {
                marker.quads.push(corners(&nodes, &local));
            }
        }
        mesh
    }
}

fn corners<const N: usize>(nodes: &[u32], local: impl Fn(u32) -> u32) -> [u32; N] {
    std::array::from_fn(|k| local(nodes[k]))
}

/// The boundary without elements, its nodes renumbered; of a planar mesh without the two planes.
fn boundary(mesh: &Mesh, rows: usize) -> Mesh {
    let markers = || mesh.markers.iter().filter(|m| !(mesh.planar.is_some() && m.is_plane()));
    let nodes = |m: &'_ Marker| -> Vec<u32> {
        m.triangles.as_flattened().iter().chain(m.quads.as_flattened()).map(|&i| i % rows as u32).collect()
    };
    let mut found = Bits::new(rows);
    found.extend(markers().flat_map(nodes));
    let kept = found.list();
    let found = found.ranked();
    let new = |i: u32| (found.place(i % rows as u32) as usize + i as usize / rows * kept.len()) as u32;
    let place = |plane: usize| kept.iter().map(move |&row| mesh.nodes[row as usize + plane * rows]);
    let planar = mesh.planar.map(|planar| Planar { nodes_2d: kept.len(), ..planar });
    let mut nodes: Vec<[f64; 3]> = place(0).collect();
    if planar.is_some() {
        nodes.extend(place(1));
    }
    let renumbered = |m: &Marker| Marker {
        triangles: m.triangles.iter().map(|f| f.map(new)).collect(),
        quads: m.quads.iter().map(|f| f.map(new)).collect(),
        ..m.clone()
    };
    Mesh {
        nodes,
        markers: markers().map(renumbered).collect(),
        planar,
        periods: mesh.periods,
        ..Mesh::default()
    }
}
