//! Lengths of the grid about each row.

use super::{HybridForm, length_across_vorticity, turned_arm};
use crate::config::{GridLength, Hybrid, TurbulenceConfig};
use crate::coupled::FlowView;
use crate::dual::sub;
use crate::dual::topology::middle;
use crate::march::FlowError;
use crate::mesh::Mesh;
use crate::wall_distance::NearWalls;

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
    /// [`FlowError::Hybrid`] for a model or a length that the hybrid is not made for.
    pub fn new(
        config: &TurbulenceConfig,
        (mesh, walls): (&Mesh, &NearWalls),
        flow: &FlowView<'_>,
    ) -> Result<Option<Self>, FlowError> {
        let Some(form) = HybridForm::of(config)? else { return Ok(None) };
        let rows = flow.dual.nodes();
        let normals = (form == HybridForm::Iddes).then_some(&walls.nearest);
        let mut lengths = vec![[0.0_f64; 2]; rows];
        let mut spans = vec![[0.0_f64; 2]; rows];
        for &[a, b] in &flow.dual.edges {
            let dx = flow.between(a as usize, b as usize);
            let length = dx.iter().map(|x| x * x).sum::<f64>().sqrt();
            for (i, sign) in [(a, 1.0), (b, -1.0)] {
                lengths[i as usize][0] = lengths[i as usize][0].max(length);
                let Some(near) = normals.map(|all| &all[i as usize]) else { continue };
                if near.distance > 0.0 {
                    let away = |d: usize| (flow.nodes[i as usize][5 + d] - near.place[d]) / near.distance;
                    let along = (0..3).map(|d| away(d) * sign * dx[d]).sum();
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

    /// Of rows with these lengths, the longest edge and the spacing along the normal of the nearest wall, and these corners of control volumes, of each row as many, where
    /// the grid's length is that across the vorticity.
    pub(crate) fn of_rows(
        form: HybridForm,
        lengths: Vec<[f64; 2]>,
        corners: Option<&[[[f64; 3]; 8]]>,
    ) -> Self {
        let corners = corners.map(|corners| Corners {
            row_ptr: (0..=corners.len()).map(|row| 8 * row as u32).collect(),
            arms: corners.iter().flat_map(arms_from_middle).collect(),
        });
        Self { form, lengths, corners }
    }

    /// Of the rows of all of these, one after another.
    #[cfg(feature = "cuda")]
    pub(crate) fn joined<'a>(all: impl Iterator<Item = &'a Self>) -> Option<Self> {
        let mut joined: Option<Self> = None;
        for grid in all {
            let Some(joined) = &mut joined else {
                joined = Some(grid.clone());
                continue;
            };
            joined.lengths.extend(&grid.lengths);
            if let (Some(corners), Some(more)) = (&mut joined.corners, &grid.corners) {
                let end = corners.arms.len() as u32;
                corners.row_ptr.extend(more.row_ptr[1..].iter().map(|at| end + at));
                corners.arms.extend(&more.arms);
            }
        }
        joined
    }

    /// Which hybrid.
    pub fn form(&self) -> HybridForm {
        self.form
    }

    /// (Delta, h_max, h_wn) of a row, `gradient` d(u, v, w)_i / dx_k there.
    pub(crate) fn at(&self, row: usize, gradient: &[[f64; 3]; 3]) -> [f64; 3] {
        let [longest, across] = self.lengths[row];
        let delta = self.corners.as_ref().map_or(longest, |corners| {
            let arms = &corners.arms[corners.row_ptr[row] as usize..corners.row_ptr[row + 1] as usize];
            let turned = arms.iter().map(|arm| turned_arm(gradient, arm)).fold(0.0, f64::max);
            length_across_vorticity(gradient, turned, longest)
        });
        [delta, longest, across]
    }
}

/// From the mean of corners to each.
pub(super) fn arms_from_middle(corners: &[[f64; 3]; 8]) -> [[f64; 3]; 8] {
    let mean = middle(corners);
    corners.map(|corner| sub(corner, mean))
}

impl HybridForm {
    /// That of a set-up, if it is a hybrid.
    ///
    /// # Errors
    /// [`FlowError::Hybrid`] for a model or a length that the hybrid is not made for.
    pub(crate) fn of(config: &TurbulenceConfig) -> Result<Option<Self>, FlowError> {
        let form = match config.hybrid {
            Hybrid::None => return Ok(None),
            Hybrid::Des => Self::Des,
            Hybrid::Ddes => Self::Ddes,
            Hybrid::Iddes => Self::Iddes,
        };
        match config.hybrid_problem() {
            Some(problem) => Err(FlowError::Hybrid { problem }),
            None => Ok(Some(form)),
        }
    }
}

impl Corners {
    fn new(mesh: &Mesh, rows: usize) -> Self {
        let of_rows = |&&i: &&u32| (i as usize) < rows;
        let mut row_ptr = vec![0_u32; rows + 1];
        mesh.each_element(|_, _, nodes| {
            nodes.iter().filter(of_rows).for_each(|&i| row_ptr[i as usize + 1] += 1);
        });
        for i in 0..rows {
            row_ptr[i + 1] += row_ptr[i];
        }
        let (mut next, mut arms) = (row_ptr.clone(), vec![[0.0; 3]; row_ptr[rows] as usize]);
        mesh.each_element(|_, _, nodes| {
            let mut middle = middle(&mesh.corners(nodes)[..nodes.len()]);
            for &i in nodes.iter().filter(of_rows) {
                let node = mesh.nodes[i as usize];
                if mesh.planar.is_some() {
                    // That of the face in the plane.
                    middle[2] = node[2];
                }
                arms[next[i as usize] as usize] = mesh.periods.nearest(sub(middle, node));
                next[i as usize] += 1;
            }
        });
        for row in row_ptr.windows(2) {
            let own = &mut arms[row[0] as usize..row[1] as usize];
            let mean = middle(own);
            for arm in own {
                *arm = sub(*arm, mean);
            }
        }
        Self { row_ptr, arms }
    }
}
