//! Nodes that are one.

use super::{Mesh, Planar};

impl Mesh {
    /// The mesh with each node replaced by the lowest of those that `same` leads to, numbers without gaps, and the marker of
    /// the faces that are inside then left out.
    ///
    /// # Panics
    /// When `same` names a node that is not there.
    #[must_use]
    pub fn sewn(mut self, seam: &str, same: impl Fn(usize) -> usize) -> Self {
        let kept: Vec<usize> = (0..self.nodes.len()).map(|n| same(n).min(n)).collect();
        self.merge(&kept);
        self.markers.retain(|m| m.name != seam);
        self
    }

    /// Replaces node n by `kept[n]` (which is its own), and closes the gaps.
    pub(crate) fn merge(&mut self, kept: &[usize]) {
        let mut new = vec![0_u32; self.nodes.len()];
        let mut next = 0;
        for (n, &to) in kept.iter().enumerate() {
            new[n] = if to == n { next } else { new[to] };
            next += u32::from(to == n);
        }
        let mut at = 0;
        self.nodes.retain(|_| {
            at += 1;
            kept[at - 1] == at - 1
        });
        let renumber = |list: &mut [u32]| list.iter_mut().for_each(|i| *i = new[*i as usize]);
        renumber(self.tets.as_flattened_mut());
        renumber(self.pyramids.as_flattened_mut());
        renumber(self.prisms.as_flattened_mut());
        renumber(self.hexes.as_flattened_mut());
        for marker in &mut self.markers {
            renumber(marker.triangles.as_flattened_mut());
            renumber(marker.quads.as_flattened_mut());
        }
        self.planar = self.planar.and_then(|planar| {
            let (n, nodes_2d) = (planar.nodes_2d, self.nodes.len() / 2);
            let layers = (0..n).all(|i| new[i + n] as usize == new[i] as usize + nodes_2d);
            layers.then_some(Planar { nodes_2d, ..planar })
        });
    }
}
