//! Layers one cell deep: planar flows on meshes in space.

use chromaflow_flow::grid::Grid;
use chromaflow_flow::mesh::{Marker, Mesh};

/// Two planes across an axis in which all nodes of a mesh lie.
struct Layer {
    axis: usize,
    ends: [f64; 2],
    within: f64,
}

/// Part of a mesh's size, and of its depth, that a node may lie off a plane.
const OFF: [f64; 2] = [1e-6, 1e-2];

impl Layer {
    /// Those of nodes, one of an axis at the most.
    fn of(nodes: impl Iterator<Item = [f64; 3]> + Clone) -> impl Iterator<Item = Self> {
        let (low, high) = super::bounds(nodes.clone());
        let size = (0..3).map(|k| high[k] - low[k]).fold(0.0, f64::max);
        (0..3).filter_map(move |k| {
            let within = (OFF[0] * size).min(OFF[1] * (high[k] - low[k]));
            let layer = Self { axis: k, ends: [low[k], high[k]], within };
            (within > 0.0 && nodes.clone().all(|x| layer.end(x).is_some())).then_some(layer)
        })
    }

    /// The plane that a node lies in, by its number.
    fn end(&self, x: [f64; 3]) -> Option<usize> {
        self.ends.iter().position(|end| (x[self.axis] - end).abs() <= self.within)
    }

    /// Whether faces, of three corners each, lie in its planes, some in either.
    fn has_in_both(&self, faces: impl Iterator<Item = [[f64; 3]; 3]>) -> bool {
        let mut there = [false; 2];
        for [a, b, c] in faces {
            match self.end(a) {
                Some(end) if [b, c].into_iter().all(|x| self.end(x) == Some(end)) => there[end] = true,
                _ => return false,
            }
        }
        there == [true; 2]
    }
}

/// Whether a marker of a mesh is both planes of a layer one cell deep.
pub fn is_both_planes(mesh: &Mesh, marker: &Marker) -> bool {
    let triangles = marker.triangles.iter().copied();
    let faces = || triangles.clone().chain(marker.quads.iter().map(|&[a, b, c, _]| [a, b, c]));
    let corners = || faces().map(|face| face.map(|n| mesh.nodes[n as usize]));
    mesh.planar.is_none() && Layer::of(mesh.nodes.iter().copied()).any(|layer| layer.has_in_both(corners()))
}

/// The same of a marker of a grid.
pub fn is_both_planes_of(grid: &Grid, marker: &str) -> bool {
    let windows = || grid.patches.iter().filter(|p| p.name == marker).map(|p| p.window);
    let corners = || {
        windows().flat_map(|w| {
            w.cells().map(move |cell| {
                let [a, b, c, _] = w.corners(cell);
                [a, b, c].map(|at| grid.blocks[w.block].node(at))
            })
        })
    };
    let nodes = grid.blocks.iter().flat_map(|block| block.nodes.iter().copied());
    Layer::of(nodes).any(|layer| layer.has_in_both(corners()))
}
