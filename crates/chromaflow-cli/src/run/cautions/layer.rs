//! Conditions on both planes of a layer one cell deep.

use crate::case::guess::{is_both_planes, is_both_planes_of};
use chromaflow_flow::config::Boundary;
use chromaflow_flow::grid::Grid;
use chromaflow_flow::mesh::Mesh;
use std::collections::BTreeMap;

/// Says of a marker of a mesh that is both planes of a layer one cell deep that flow passes through it or sticks to it.
pub fn open_layer(mesh: &Mesh, boundaries: &BTreeMap<String, Boundary>) -> Option<String> {
    let found = mesh.markers.iter().filter(|m| is_open(boundaries, &m.name) && is_both_planes(mesh, m));
    told(found.map(|m| &m.name))
}

/// The same of a grid.
pub fn open_layer_of(grid: &Grid, boundaries: &BTreeMap<String, Boundary>) -> Option<String> {
    let open = boundaries.keys().filter(|name| is_open(boundaries, name));
    told(open.filter(|name| is_both_planes_of(grid, name)))
}

/// Whether a condition is none of those that let a flow pass along a plane as it is.
fn is_open(boundaries: &BTreeMap<String, Boundary>, marker: &str) -> bool {
    let along = |b: &Boundary| matches!(b, Boundary::Symmetry | Boundary::SlipWall | Boundary::Periodic);
    boundaries.get(marker).is_some_and(|b| !along(b))
}

fn told<'a>(names: impl Iterator<Item = &'a String>) -> Option<String> {
    let names = super::listed(names);
    (!names.is_empty()).then(|| {
        format!(
            "{names}: both planes of a layer one cell deep; a planar flow goes along them, as \"symmetry\" lets it"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use chromaflow_flow::grid::generate::BoxGrid;

    /// Both planes of a layer under one name are told where a flow would pass through them, one plane or a deeper mesh is not.
    #[test]
    fn open_planes_of_a_layer_are_told() {
        let of = |cells: [usize; 3], names: [&str; 2], side: Boundary| {
            let mut grid = BoxGrid { cells, size: [1.0, 1.0, 0.1], wave: 0.0 }.grid();
            for patch in grid.patches.iter_mut().filter(|p| names.contains(&p.name.as_str())) {
                patch.name = "side".to_owned();
            }
            let boundaries = [("side".to_owned(), side), ("xmin".to_owned(), Boundary::Farfield)].into();
            let (told, again) = (open_layer_of(&grid, &boundaries), open_layer(&grid.to_mesh(), &boundaries));
            assert_eq!(told, again, "the grid and its mesh are one");
            told
        };
        let (both, one) = (["zmin", "zmax"], ["zmin", ""]);
        let told = of([4, 3, 1], both, Boundary::Farfield).unwrap();
        assert!(told.starts_with("`side`: both planes of a layer one cell deep"), "{told}");
        assert!(of([4, 3, 1], both, Boundary::NoSlipAdiabatic).is_some());
        assert!(of([1, 3, 4], ["xmin", "xmax"], Boundary::Farfield).is_some(), "of any axis");
        assert_eq!(of([4, 3, 1], both, Boundary::Symmetry), None);
        assert_eq!(of([4, 3, 1], one, Boundary::Farfield), None);
        assert_eq!(of([4, 3, 2], both, Boundary::Farfield), None);
    }
}
