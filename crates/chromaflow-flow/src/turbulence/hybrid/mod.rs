//! Hybrids of RANS and large eddy simulation: DES97, DDES, IDDES on Spalart-Allmaras and SST.
//!
//! | file | |
//! |---|---|
//! | `formulas.rs` | the lengths, on hosts and devices |
//! | `grid.rs` | lengths of the grid about each row |
//! | `cells.rs` | the same about cells of structured grids |
//! | `cuda.rs`, `hybrid.cuh` | the same on a GPU |

pub(crate) mod cells;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
mod formulas;
mod grid;

#[cfg(test)]
mod tests;

pub use formulas::{
    HybridBase, HybridForm, gradient_size, hybrid_length, length_across_vorticity, sa_hybrid_length,
    sst_shortened, turned_arm,
};
pub use grid::HybridGrid;

/// Names of the fields of a hybrid: l over that of RANS, and the share of large eddy simulation.
pub(crate) const FIELDS: [&str; 2] = ["hybrid_length_ratio", "hybrid_share"];

/// Whether any field of a turbulence model besides its unknowns is wanted.
pub(super) fn any_wanted(wanted: &dyn Fn(&str) -> bool) -> bool {
    ["wall_distance", "eddy_viscosity_ratio", "eddy_viscosity"].into_iter().chain(FIELDS).any(wanted)
}
