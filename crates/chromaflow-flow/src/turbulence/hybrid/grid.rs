//! Lengths of the grid about each row.

use super::{HybridForm, length_across_vorticity, turned_arm};
use crate::config::{GridLength, Hybrid, TurbulenceConfig};
use crate::coupled::FlowView;
use crate::march::FlowError;
use crate::mesh::Mesh;
use crate::turbulence::nearest_walls;

/// What a hybrid takes of the grid. On planar meshes the depth of the layer plays no part.
#[derive(Clone, Debug)]
pub struct HybridGrid {
    pub(super) form: HybridForm,
    /// The longest edge of each row, and its spacing along the normal of the nearest wall: half of what its neighbors span.
    pub(super) lengths: Vec<[f64; 2]>,
    /// Where the grid's length is that across the vorticity.
    pub(super) corners: Option<Corners>,
}

/// Corners of control volumes: the middles of the elements around each row.
#[derive(Clone, Debug)]
pub(super) struct Corners {
    pub(super) row_ptr: Vec<u32>,
    /// From the mean of a row's corners to each.
    pub(super) arms: Vec<[f64; 3]>,
}

impl HybridGrid {
    /// Of `mesh`, numbered as the rows of `flow`; none where there is no hybrid.
    ///
    /// # Errors
    /// [`FlowError::Hybrid`] for a model or a length that the hybrid is not made for; [`FlowError::NoWall`].
    pub fn new(
        config: &TurbulenceConfig,
        mesh: &Mesh,
        flow: &FlowView<'_>,
    ) -> Result<Option<Self>, FlowError> {
        let form = match config.hybrid {
            Hybrid::None => return Ok(None),
            Hybrid::Des => HybridForm::Des,
            Hybrid::Ddes => HybridForm::Ddes,
            Hybrid::Iddes => HybridForm::Iddes,
        };
        if let Some(problem) = config.hybrid_problem() {
            return Err(FlowError::Hybrid { problem });
        }
        let rows = flow.dual.nodes();
        let normals = (form == HybridForm::Iddes).then(|| nearest_walls(mesh, flow)).transpose()?;
        let place = |i: u32| {
            let node = &flow.nodes[i as usize];
            [node[5], node[6], node[7]]
        };
        let mut lengths = vec![[0.0_f64; 2]; rows];
        let mut spans = vec![[0.0_f64; 2]; rows];
        for &[a, b] in &flow.dual.edges {
            let (from, to) = (place(a), place(b));
            let dx: [f64; 3] = std::array::from_fn(|d| to[d] - from[d]);
            let length = dx.iter().map(|x| x * x).sum::<f64>().sqrt();
            for (i, sign) in [(a, 1.0), (b, -1.0)] {
                lengths[i as usize][0] = lengths[i as usize][0].max(length);
                let Some(near) = normals.as_ref().map(|all| &all[i as usize]) else { continue };
                if near.distance > 0.0 {
                    let at = place(i);
                    let along = (0..3).map(|d| (at[d] - near.place[d]) / near.distance * sign * dx[d]).sum();
                    let [low, high] = &mut spans[i as usize];
                    (*low, *high) = (low.min(along), high.max(along));
                }
            }
        }
        for (length, [low, high]) in lengths.iter_mut().zip(spans) {
            length[1] = 0.5 * (high - low);
        }
        let corners = (config.grid_length == GridLength::AcrossVorticity).then(|| Corners::new(mesh, rows));
        Ok(Some(Self { form, lengths, corners }))
    }

    /// Which hybrid.
    pub fn form(&self) -> HybridForm {
        self.form
    }

    /// (Delta, h_max, h_wn) of a row, `gradient` d(u, v, w)_i / dx_k there.
    pub(in crate::turbulence) fn at(&self, row: usize, gradient: &[[f64; 3]; 3]) -> [f64; 3] {
        let [longest, across] = self.lengths[row];
        let delta = self.corners.as_ref().map_or(longest, |corners| {
            let arms = &corners.arms[corners.row_ptr[row] as usize..corners.row_ptr[row + 1] as usize];
            let turned = arms.iter().map(|arm| turned_arm(gradient, arm)).fold(0.0, f64::max);
            length_across_vorticity(gradient, turned, longest)
        });
        [delta, longest, across]
    }
}

impl Corners {
    fn new(mesh: &Mesh, rows: usize) -> Self {
        let mut row_ptr = vec![0_u32; rows + 1];
        each_element(mesh, |nodes| {
            for &i in nodes.iter().filter(|&&i| (i as usize) < rows) {
                row_ptr[i as usize + 1] += 1;
            }
        });
        for i in 0..rows {
            row_ptr[i + 1] += row_ptr[i];
        }
        let (mut next, mut arms) = (row_ptr.clone(), vec![[0.0; 3]; row_ptr[rows] as usize]);
        each_element(mesh, |nodes| {
            let mut middle = [0.0; 3];
            for &i in nodes {
                // Of planar meshes the middle is that of the face in the plane.
                let flat = mesh.planar.is_some();
                let x = mesh.nodes[i as usize];
                for d in 0..if flat { 2 } else { 3 } {
                    middle[d] += x[d] / nodes.len() as f64;
                }
            }
            for &i in nodes.iter().filter(|&&i| (i as usize) < rows) {
                arms[next[i as usize] as usize] = middle;
                next[i as usize] += 1;
            }
        });
        for row in row_ptr.windows(2) {
            let own = &mut arms[row[0] as usize..row[1] as usize];
            let count = own.len() as f64;
            let mean: [f64; 3] = std::array::from_fn(|d| own.iter().map(|x| x[d]).sum::<f64>() / count);
            for arm in own {
                *arm = std::array::from_fn(|d| arm[d] - mean[d]);
            }
        }
        Self { row_ptr, arms }
    }
}

fn each_element(mesh: &Mesh, mut f: impl FnMut(&[u32])) {
    mesh.tets.iter().for_each(|nodes| f(nodes));
    mesh.pyramids.iter().for_each(|nodes| f(nodes));
    mesh.prisms.iter().for_each(|nodes| f(nodes));
    mesh.hexes.iter().for_each(|nodes| f(nodes));
}
