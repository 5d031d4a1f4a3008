//! A structured grid as a connected unstructured mesh.

use super::{Grid, GridError};
use crate::Groups;
use crate::raw::mirror;
use crate::{Kind, Mesh, volume};

/// Points are one that differ by so much of the largest coordinate: a few units in its last place.
const ROUNDING: f64 = 16.0 * f64::EPSILON;

impl Grid {
    /// The grid as a mesh whose nodes on interfaces are one: what solvers of unstructured meshes can use. Hexahedra with
    /// edges of no length (at an axis, at a sharp edge), or of none but the rounding of coordinates, as R sin(pi) has it, become prisms and pyramids;
    /// faces without an area are left out.
    ///
    /// # Errors
    /// When sides are periodic, or a hexahedron is collapsed to something else.
    pub fn to_connected_mesh(&self) -> Result<Mesh, GridError> {
        if !self.interfaces.iter().all(|i| i.motion.is_none()) {
            return Err(GridError::Mismatch(
                "a grid with periodic sides has no unstructured form: name both sides as boundaries in the map".into(),
            ));
        }
        let (mut mesh, number) = self.numbered_mesh();
        let mut same = Groups::new(mesh.nodes.len());
        for interface in &self.interfaces {
            for at in interface.a.nodes() {
                let other = interface.map.node(at.map(|n| n as isize)).map(|n| n as usize);
                same.join(number.node(interface.a.block, at), number.node(interface.b.block, other));
            }
        }
        let largest = mesh.nodes.iter().flatten().fold(0.0, |most: f64, x| most.max(x.abs()));
        let one = |a: [f64; 3], b: [f64; 3]| (0..3).all(|c| (a[c] - b[c]).abs() <= ROUNDING * largest);
        let collapsed: Vec<[u32; 2]> = mesh
            .hexes
            .iter()
            .flat_map(|h| Kind::Hexahedron.edges().iter().map(|e| e.map(|n| h[n])))
            .filter(|&[a, b]| one(mesh.nodes[a as usize], mesh.nodes[b as usize]))
            .collect();
        for &[a, b] in &collapsed {
            same.join(a, b);
        }
        mesh.merge(&same.all_lowest());
        if !collapsed.is_empty() {
            collapse(&mut mesh)?;
        }
        Ok(mesh)
    }
}

/// Replaces hexahedra and quadrilaterals that name a node twice by what they are.
fn collapse(mesh: &mut Mesh) -> Result<(), GridError> {
    let hexes = std::mem::take(&mut mesh.hexes);
    for h in hexes {
        let mut names = h;
        names.sort_unstable();
        let distinct = 1 + names.windows(2).filter(|w| w[0] != w[1]).count();
        // The place of the node across an edge from each corner of a face.
        let across = |face: &[usize]| -> [usize; 4] {
            std::array::from_fn(|k| {
                let edge = Kind::Hexahedron
                    .edges()
                    .iter()
                    .find(|e| e.contains(&face[k]) && !face.iter().any(|f| *f != face[k] && e.contains(f)));
                edge.map_or(0, |e| e[0] + e[1] - face[k])
            })
        };
        let faces = Kind::Hexahedron.faces();
        let positive = |kind: Kind, nodes: &mut [u32]| {
            let p: Vec<[f64; 3]> = nodes.iter().map(|&n| mesh.nodes[n as usize]).collect();
            if volume(kind, &p) < 0.0 {
                mirror(kind, nodes);
            }
        };
        let line = |f: &[usize]| h[f[0]] == h[f[1]] && h[f[2]] == h[f[3]];
        match distinct {
            8 => mesh.hexes.push(h),
            6 if faces.iter().any(|f| line(f) || line(&[f[1], f[2], f[3], f[0]])) => {
                let turned = faces.iter().flat_map(|f| [[f[0], f[1], f[2], f[3]], [f[1], f[2], f[3], f[0]]]);
                let f = turned.into_iter().find(|f| line(f)).unwrap_or_default();
                let o = across(&f);
                let mut prism = [h[f[0]], h[o[0]], h[o[1]], h[f[3]], h[o[3]], h[o[2]]];
                positive(Kind::Prism, &mut prism);
                mesh.prisms.push(prism);
            }
            5 if faces.iter().any(|f| f.iter().all(|&n| h[n] == h[f[0]])) => {
                let f =
                    faces.iter().find(|f| f.iter().all(|&n| h[n] == h[f[0]])).copied().unwrap_or_default();
                let o = across(f);
                let mut pyramid = [h[o[0]], h[o[1]], h[o[2]], h[o[3]], h[f[0]]];
                positive(Kind::Pyramid, &mut pyramid);
                mesh.pyramids.push(pyramid);
            }
            _ => {
                let x = mesh.nodes[h[0] as usize];
                return Err(GridError::Mismatch(format!(
                    "a cell near ({:.6}, {:.6}, {:.6}) is collapsed to {distinct} points: only cells with one face \
                     collapsed to a line (a prism) or to a point (a pyramid) have an unstructured form",
                    x[0], x[1], x[2]
                )));
            }
        }
    }
    for marker in &mut mesh.markers {
        for q in std::mem::take(&mut marker.quads) {
            let mut t: Vec<u32> = Vec::with_capacity(4);
            for n in q {
                if !t.contains(&n) {
                    t.push(n);
                }
            }
            match t[..] {
                [a, b, c, d] => marker.quads.push([a, b, c, d]),
                [a, b, c] => marker.triangles.push([a, b, c]),
                _ => {}
            }
        }
    }
    mesh.markers.retain(|m| m.quads.len() + m.triangles.len() > 0);
    Ok(())
}
