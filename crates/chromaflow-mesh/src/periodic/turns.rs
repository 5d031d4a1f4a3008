//! Pairs of sides that are turned: which nodes lie on which side of the sector.

use super::{Images, Pair, PeriodicError, Rotation, Turned};
use crate::{Mesh, norm, sub};

/// What the turned pairs of a mesh say.
#[derive(Default)]
pub(super) struct Turns {
    rotation: Option<Rotation>,
    /// Nodes of the sides that are turned, and of those that they are turned to.
    sides: [Vec<u32>; 2],
    on_axis: Vec<u32>,
}

impl Turns {
    /// Takes in a pair: its rotation and its pairs of nodes.
    pub fn add(
        &mut self,
        mesh: &Mesh,
        [marker, partner]: &Pair,
        rotation: Rotation,
        nodes: Vec<[u32; 2]>,
    ) -> Result<(), PeriodicError> {
        let reach = nodes.iter().map(|&[a, _]| rotation.radius(mesh.nodes[a as usize])).fold(0.0, f64::max);
        let known = *self.rotation.get_or_insert(rotation);
        let forth = known.turns_forth(&rotation, reach, || [marker.clone(), partner.clone()])?;
        for [a, b] in nodes {
            // Two nodes at one place of the axis are each other's image, as one is its own.
            let apart = norm(sub(mesh.nodes[a as usize], mesh.nodes[b as usize]));
            if a == b || apart <= 1e-9 * reach {
                self.on_axis.extend([a, b]);
            } else {
                self.sides[usize::from(!forth)].push(a);
                self.sides[usize::from(forth)].push(b);
            }
        }
        Ok(())
    }

    /// How each node of the mesh stands to that which it became; none where no pair is turned.
    pub fn of_nodes(
        mut self,
        mesh: &Mesh,
        images: &Images,
        steps: &[[f64; 3]],
    ) -> Result<Option<Turned>, PeriodicError> {
        let Some(rotation) = self.rotation else { return Ok(None) };
        if let Some(&step) = steps.iter().find(|step| !rotation.keeps(**step)) {
            return Err(PeriodicError::Skew { step, axis: rotation.axis });
        }
        if let (Some(&node), None) = (self.on_axis.first(), rotation.sectors()) {
            let at = mesh.nodes[node as usize];
            return Err(PeriodicError::Axis { at, degrees: rotation.angle.to_degrees() });
        }
        let mut place = vec![0_i8; mesh.nodes.len()];
        for &node in &self.sides[1] {
            place[node as usize] = 1;
        }
        if let Some(&node) = self.sides[0].iter().find(|node| place[**node as usize] == 1) {
            return Err(PeriodicError::BothSides { node: node as usize, at: mesh.nodes[node as usize] });
        }
        let of = |node: usize| place[node] - place[images.first[images.merged[node] as usize] as usize];
        let by = (0..mesh.nodes.len()).map(of).collect();
        let on_axis = &mut self.on_axis;
        for node in on_axis.iter_mut() {
            *node = images.merged[*node as usize];
        }
        on_axis.sort_unstable();
        on_axis.dedup();
        Ok(Some(Turned { rotation, by, on_axis: self.on_axis }))
    }
}
