//! Structured grids as CGNS files.

use super::write::{
    Names, Width, base, by_family, coordinates, families, node, put, root, save, solution, text,
};
use super::write_periodic::property;
use crate::grid::{Grid, Interface, Window};
use crate::hdf5::Group;
use crate::{Field, MeshError};
use std::path::Path;

/// First and last point of a window, from 1.
fn range(window: &Window) -> Vec<i64> {
    window.low.iter().chain(&window.high).map(|&n| n as i64 + 1).collect()
}

fn interface<'a>(name: &str, own: &Interface, donor: &str, width: Width) -> Group<'a> {
    let mut connection = text(name, "GridConnectivity1to1_t", donor);
    let ends = [own.a.low, own.a.high].map(|end| own.map.node(end.map(|n| n as isize)));
    let donor: Vec<i64> = ends.iter().flatten().map(|&n| n as i64 + 1).collect();
    let transform: Vec<i64> = (0..3).map(|d| own.map.sign[d] as i64 * (own.map.axis[d] as i64 + 1)).collect();
    let quoted = "\"int[IndexDimension]\"";
    put(&mut connection, "Transform", Width::of(0).ints("Transform", quoted, &[3], transform));
    put(&mut connection, "PointRange", width.ints("PointRange", "IndexRange_t", &[2, 3], range(&own.a)));
    put(&mut connection, "PointRangeDonor", width.ints("PointRangeDonor", "IndexRange_t", &[2, 3], donor));
    if !own.motion.is_none() {
        // From this side to the donor's.
        put(&mut connection, "GridConnectivityProperty", property(own.motion.back(), 3));
    }
    connection
}

/// Writes a structured grid as a CGNS file (HDF5): zones, boundaries by family, one-to-one interfaces; fields on the points of all
/// blocks, one block after another.
///
/// **Precision**: coordinates and fields in f64.
///
/// # Errors
/// When the file cannot be written; nothing is left behind then.
///
/// # Panics
/// If a field is not as long as the grid's points.
pub fn write_grid(path: &Path, grid: &Grid, fields: &[Field]) -> Result<(), MeshError> {
    let points: usize = grid.blocks.iter().map(|b| b.nodes.len()).sum();
    for field in fields {
        assert_eq!(
            field.values.len(),
            points * field.components,
            "field {} has the wrong length",
            field.name
        );
    }
    let width = Width::of(points);
    let mut base = base(3);
    let markers = grid.markers();
    let zones: Vec<String> = (1..=grid.blocks.len()).map(|n| format!("Zone{n}")).collect();
    let taken: Vec<&str> = zones.iter().map(String::as_str).collect();
    let families = families(&mut base, markers.iter().map(|&m| (m, None)), &taken);
    let both: Vec<Interface> = grid.interfaces.iter().flat_map(|i| [i.clone(), i.reversed()]).collect();
    let mut first = 0;
    for (b, block) in grid.blocks.iter().enumerate() {
        let sizes = [block.points, block.cells(), [0; 3]];
        let sizes: Vec<i64> = sizes.iter().flatten().map(|&n| n as i64).collect();
        let [i, j, k] = block.points;
        let mut zone = width.ints(&zones[b], "Zone_t", &[3, 3], sizes);
        put(&mut zone, "ZoneType", text("ZoneType", "ZoneType_t", "Structured"));
        put(&mut zone, "GridCoordinates", coordinates(&block.nodes, 3, &[k, j, i]));
        let mut names = Names::new(&[]);
        let mut conditions = node("ZoneBC", "ZoneBC_t", "MT");
        for patch in grid.patches.iter().filter(|p| p.window.block == b) {
            let family = markers.iter().position(|m| *m == patch.name).expect("markers are those of patches");
            let name = names.one(&families[family]);
            let mut bc = by_family(&name, &families[family], "Vertex");
            put(
                &mut bc,
                "PointRange",
                width.ints("PointRange", "IndexRange_t", &[2, 3], range(&patch.window)),
            );
            put(&mut conditions, &name, bc);
        }
        put(&mut zone, "ZoneBC", conditions);
        let mut connectivity = node("ZoneGridConnectivity", "ZoneGridConnectivity_t", "MT");
        for own in both.iter().filter(|i| i.a.block == b) {
            let name = names.one("Interface");
            put(&mut connectivity, &name, interface(&name, own, &zones[own.b.block], width));
        }
        if !connectivity.members.is_empty() {
            put(&mut zone, "ZoneGridConnectivity", connectivity);
        }
        if let Some(solution) = solution(fields, 3, (first, block.nodes.len()), &[k, j, i]) {
            put(&mut zone, "FlowSolution", solution);
        }
        first += block.nodes.len();
        put(&mut base, &zones[b], zone);
    }
    save(path, &root(base))
}
