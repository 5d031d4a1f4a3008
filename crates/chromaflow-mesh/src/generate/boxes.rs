//! Boxes of any element type.

use super::noise;
use crate::topology::elements;
use crate::{Marker, Mesh};
use std::collections::BTreeMap;

/// What a box is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cells {
    /// Hexahedra.
    Hexes,
    /// Two prisms a cell, their triangles facing z.
    Prisms,
    /// Six tetrahedra a cell (Kuhn's, around the diagonal from the lowest to the highest corner).
    Tets,
    /// All four types side by side: columns of hexahedra and of prisms take turns; in every other column of hexahedra
    /// each cell is six pyramids around its center, and those that stand on the floor are cut into tetrahedra.
    Mixed,
}

/// A box from the origin to `size`, cut into `cells` cells along x, y and z.
///
/// `jitter` moves inner nodes by up to that fraction of half a cell in each direction (0 for a regular mesh; up to
/// about 0.5 all volumes stay positive). Markers: `xmin`, `xmax`, `ymin`, `ymax`, `zmin`, `zmax`.
///
/// ```
/// use chromaflow_mesh::generate::{Cells, box_mesh};
/// let mesh = box_mesh([4, 3, 2], [2.0, 1.0, 1.0], Cells::Prisms, 0.2);
/// assert_eq!((mesh.nodes.len(), mesh.prisms.len()), (5 * 4 * 3, 2 * 4 * 3 * 2));
/// ```
///
/// # Panics
/// When a number of cells is zero or the nodes are more than 32-bit numbers count.
pub fn box_mesh(cells: [usize; 3], size: [f64; 3], kind: Cells, jitter: f64) -> Mesh {
    assert!(cells.iter().all(|&n| n > 0), "a box has at least one cell along each axis");
    let points = cells.map(|n| n + 1);
    assert!(u32::try_from(2 * points.iter().product::<usize>()).is_ok(), "too many nodes for 32-bit numbers");
    let mut mesh = Mesh::default();
    let mut on_side: Vec<[u8; 3]> = Vec::new(); // per axis: 1 on the low side, 2 on the high one
    for k in 0..points[2] {
        for j in 0..points[1] {
            for i in 0..points[0] {
                let at = [i, j, k];
                let side = |d: usize| u8::from(at[d] == 0) + 2 * u8::from(at[d] == cells[d]);
                let seed = 3 * mesh.nodes.len() as u64;
                mesh.nodes.push(std::array::from_fn(|d| {
                    let shift = if side(d) == 0 { 0.5 * jitter * noise(seed + d as u64) } else { 0.0 };
                    size[d] * (at[d] as f64 + shift) / cells[d] as f64
                }));
                on_side.push(std::array::from_fn(side));
            }
        }
    }
    let node = |i: usize, j: usize, k: usize| (i + points[0] * (j + points[1] * k)) as u32;
    for k in 0..cells[2] {
        for j in 0..cells[1] {
            for i in 0..cells[0] {
                let [a, b, c, d] =
                    [node(i, j, k), node(i + 1, j, k), node(i + 1, j + 1, k), node(i, j + 1, k)];
                let up = (points[0] * points[1]) as u32;
                let hex = [a, b, c, d, a + up, b + up, c + up, d + up];
                match (kind, (i + j) % 4) {
                    (Cells::Hexes, _) | (Cells::Mixed, 0) => mesh.hexes.push(hex),
                    (Cells::Prisms, _) | (Cells::Mixed, 1 | 3) => mesh.prisms.extend(prisms(hex)),
                    (Cells::Tets, _) => mesh.tets.extend(kuhn(hex)),
                    (Cells::Mixed, _) => {
                        pyramids(&mut mesh, hex, k == 0);
                        on_side.push([0; 3]);
                    }
                }
            }
        }
    }
    mesh.markers = sides(&mesh, &on_side);
    mesh
}

fn prisms([a, b, c, d, e, f, g, h]: [u32; 8]) -> [[u32; 6]; 2] {
    [[a, b, c, e, f, g], [a, c, d, e, g, h]]
}

/// The six ways from the lowest to the highest corner, one axis after another.
fn kuhn(hex: [u32; 8]) -> [[u32; 4]; 6] {
    // Corner at (x, y, z) of the unit cell, as a position in the hexahedron.
    let corner = |bits: usize| hex[[0, 1, 3, 2, 4, 5, 7, 6][bits]];
    let paths = [[1, 2, 4], [2, 4, 1], [4, 1, 2], [2, 1, 4], [1, 4, 2], [4, 2, 1]];
    std::array::from_fn(|p| {
        let [x, y, _] = paths[p];
        let tet = [corner(0), corner(x), corner(x | y), corner(7)];
        // Odd permutations of the axes make mirror images.
        if p < 3 { tet } else { [tet[0], tet[2], tet[1], tet[3]] }
    })
}

fn pyramids(mesh: &mut Mesh, hex: [u32; 8], floor: bool) {
    let center = mesh.nodes.len() as u32;
    let corners = hex.map(|n| mesh.nodes[n as usize]);
    mesh.nodes.push(std::array::from_fn(|d| corners.iter().map(|p| p[d]).sum::<f64>() / 8.0));
    // Bases counterclockwise seen from the center: faces of the hexahedron seen from inside.
    for face in [[0, 1, 2, 3], [4, 7, 6, 5], [0, 4, 5, 1], [1, 5, 6, 2], [2, 6, 7, 3], [3, 7, 4, 0]] {
        let [a, b, c, d] = face.map(|i: usize| hex[i]);
        if floor && face == [0, 1, 2, 3] {
            mesh.tets.extend([[a, b, c, center], [a, c, d, center]]);
        } else {
            mesh.pyramids.push([a, b, c, d, center]);
        }
    }
}

/// Faces of one element only, sorted onto the six sides.
fn sides(mesh: &Mesh, on_side: &[[u8; 3]]) -> Vec<Marker> {
    let mut open: BTreeMap<[u32; 4], Vec<u32>> = BTreeMap::new();
    for (kind, e) in elements(mesh) {
        for face in kind.faces() {
            let corners: Vec<u32> = face.iter().map(|&i| e[i]).collect();
            let mut key = [u32::MAX; 4];
            key[..corners.len()].copy_from_slice(&corners);
            key.sort_unstable();
            if open.remove(&key).is_none() {
                open.insert(key, corners);
            }
        }
    }
    let names = ["xmin", "xmax", "ymin", "ymax", "zmin", "zmax"];
    let mut markers = names.map(|name| Marker { name: name.to_owned(), ..Default::default() });
    for corners in open.into_values() {
        let side = (0..6).find(|s| corners.iter().all(|&n| on_side[n as usize][s / 2] & (1 << (s % 2)) != 0));
        let marker = &mut markers[side.expect("a face without a neighbor lies on a side")];
        match corners[..] {
            [a, b, c] => marker.triangles.push([a, b, c]),
            _ => marker.quads.push([corners[0], corners[1], corners[2], corners[3]]),
        }
    }
    markers.into()
}
