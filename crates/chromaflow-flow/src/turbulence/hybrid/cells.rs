//! Lengths of the grid about the cells of structured grids.

use super::{HybridForm, length_across_vorticity, turned_arm};
use crate::config::{GridLength, Hybrid, TurbulenceConfig};
use crate::grid::Block;
use crate::march::FlowError;
use crate::mesh::{dot, sub};
use crate::real::Real;
use crate::wall_distance::Nearest;

/// Corners of a cell, those of the higher indices along an axis behind the others.
const CORNERS: usize = 8;
/// Numbers of a cell: [`HybridCells::numbers`].
pub(crate) const LENGTHS: usize = 2;
pub(crate) const ARMS: usize = 3 * CORNERS;

/// What a hybrid takes of the grid: of each cell of a block the longest edge and the extent along the normal of the nearest wall, and where the grid's length is that
/// across the vorticity the ways from its middle to its corners. On planar grids the depth of the layer plays no part.
#[derive(Clone, Debug)]
pub(crate) struct HybridCells {
    /// Whether there are ways to corners.
    pub arms: bool,
    /// `[cells, LENGTHS]`, with ways `[cells, LENGTHS + ARMS]`, i fastest.
    pub numbers: Vec<f64>,
}

/// The hybrid of a set-up, if it has one.
///
/// # Errors
/// [`FlowError::Hybrid`] for a model or a length that the hybrid is not made for.
pub(crate) fn form_of(config: &TurbulenceConfig) -> Result<Option<HybridForm>, FlowError> {
    let form = match config.hybrid {
        Hybrid::None => return Ok(None),
        Hybrid::Des => HybridForm::Des,
        Hybrid::Ddes => HybridForm::Ddes,
        Hybrid::Iddes => HybridForm::Iddes,
    };
    config.hybrid_problem().map_or(Ok(Some(form)), |problem| Err(FlowError::Hybrid { problem }))
}

impl HybridCells {
    /// Of a block on which something happens along `axes`; `near` is what is nearest to each of its cells.
    pub fn new(config: &TurbulenceConfig, block: &Block, axes: &[usize], near: &[Nearest]) -> Self {
        let [ni, nj, _] = block.points;
        let steps = [1, ni, ni * nj];
        let arms = config.grid_length == GridLength::AcrossVorticity;
        let [ci, cj, ck] = block.cells();
        let firsts =
            (0..ck).flat_map(|k| (0..cj).flat_map(move |j| (0..ci).map(move |i| i + ni * (j + nj * k))));
        let mut numbers = Vec::new();
        for (first, near) in firsts.zip(near) {
            let place = |n: usize| first + (0..3).map(|d| (n >> d & 1) * steps[d]).sum::<usize>();
            let mut corners: [[f64; 3]; CORNERS] = std::array::from_fn(|n| block.nodes[place(n)]);
            for d in (0..3).filter(|d| !axes.contains(d)) {
                // The middles of the depth.
                for n in (0..CORNERS).filter(|n| n >> d & 1 == 0) {
                    let [low, high] = [corners[n], corners[n | 1 << d]];
                    let both = std::array::from_fn(|c| 0.5 * (low[c] + high[c]));
                    (corners[n], corners[n | 1 << d]) = (both, both);
                }
            }
            let mean = corners.iter().fold([0.0; 3], |m, x| [0, 1, 2].map(|d| m[d] + x[d] / CORNERS as f64));
            let edge = |d: usize, n: usize| {
                let way = sub(corners[n | 1 << d], corners[n & !(1 << d)]);
                dot(way, way).sqrt()
            };
            let longest =
                axes.iter().flat_map(|&d| (0..CORNERS).map(move |n| edge(d, n))).fold(0.0, f64::max);
            // Away from the wall, in the plane of a planar grid.
            let away = sub(mean, near.place);
            let size = dot(away, away).sqrt();
            let along = corners.map(|x| if size > 0.0 { dot(sub(x, mean), away) / size } else { 0.0 });
            let (low, high) = along.into_iter().fold((0.0_f64, 0.0_f64), |(l, h), x| (l.min(x), h.max(x)));
            numbers.extend([longest, high - low]);
            if arms {
                numbers.extend(corners.iter().flat_map(|x| sub(*x, mean)));
            }
        }
        Self { arms, numbers }
    }

    /// Numbers of a cell.
    pub fn width(&self) -> usize {
        LENGTHS + if self.arms { ARMS } else { 0 }
    }
}

/// (Delta, h_max, h_wn) of cells, `number` their numbers; `gradient` d(u, v, w)_i / dx_k.
#[inline(always)]
pub(crate) fn grid_lengths<T: Real>(
    arms: bool,
    number: impl Fn(usize) -> T,
    gradient: &[[T; 3]; 3],
) -> [T; 3] {
    let longest = number(0);
    let mut delta = longest;
    if arms {
        let mut turned = T::c(0.0);
        for n in 0..CORNERS {
            let arm = std::array::from_fn(|d| number(LENGTHS + 3 * n + d));
            turned = turned.max(turned_arm(gradient, &arm));
        }
        delta = length_across_vorticity(gradient, turned, longest);
    }
    [delta, longest, number(1)]
}
