//! Periodic connections, as they are written.

use super::write::{Names, Width, node, put, text};
use crate::Mesh;
use crate::hdf5::{Group, Number, each};
use crate::periodic::{Matrix, Motion, matched, pairs_of};

/// Angles in radians about x, y, z, one after another, that make a rotation.
fn angles(m: &Matrix) -> [f64; 3] {
    [m[2][1].atan2(m[2][2]), -m[2][0].clamp(-1.0, 1.0).asin(), m[1][0].atan2(m[0][0])]
}

/// What carries a connection's side to its donor's, of so many axes.
pub(super) fn property<'a>(motion: Motion, axes: usize) -> Group<'a> {
    let mut property = node("GridConnectivityProperty", "GridConnectivityProperty_t", "MT");
    let mut periodic = node("Periodic", "Periodic_t", "MT");
    let (center, angles, step) = match motion {
        Motion::Translation(step) => ([0.0; 3], [0.0; 3], step),
        Motion::Rotation(rotation) => (rotation.point, angles(&rotation.matrix(1)), [0.0; 3]),
    };
    for (name, values) in [("RotationCenter", center), ("RotationAngle", angles), ("Translation", step)] {
        let mut array = node(name, "DataArray_t", "R4");
        array.array(" data", Number::F32, &[axes], move |out| {
            each(out, values[..axes].iter().map(|v| (*v as f32).to_le_bytes()))
        });
        put(&mut periodic, name, array);
    }
    put(&mut property, "Periodic", periodic);
    property
}

/// The connections of the sides of a mesh, in a zone of this name, that name one another and are one another's images, each both ways.
pub(super) fn connectivity<'a>(mesh: &Mesh, zone: &str, width: Width) -> Option<Group<'a>> {
    let nodes = mesh.planar.map_or(mesh.nodes.len(), |p| p.nodes_2d);
    let axes = if mesh.planar.is_some() { 2 } else { 3 };
    let mut all = node("ZoneGridConnectivity", "ZoneGridConnectivity_t", "MT");
    let mut names = Names::new(&[]);
    for pair in pairs_of(mesh) {
        let [from, to] = [mesh.marker(&pair[0])?, mesh.marker(&pair[1])?];
        let Ok((motion, points)) = matched(mesh, from, to) else { continue };
        for (own, motion, marker) in [(0, motion, from), (1, motion.back(), to)] {
            let list = |side: usize| -> Vec<i64> {
                let inside = points.iter().map(|pair| pair[side]).filter(|&n| (n as usize) < nodes);
                inside.map(|n| i64::from(n) + 1).collect()
            };
            let name = names.one(&marker.name);
            let mut connection = text(&name, "GridConnectivity_t", zone);
            let kind = text("GridConnectivityType", "GridConnectivityType_t", "Abutting1to1");
            put(&mut connection, "GridConnectivityType", kind);
            let lists = [("PointList", list(own)), ("PointListDonor", list(1 - own))];
            for (name, points) in lists {
                put(&mut connection, name, width.ints(name, "IndexArray_t", &[points.len(), 1], points));
            }
            put(&mut connection, "GridConnectivityProperty", property(motion, axes));
            put(&mut all, &name, connection);
        }
    }
    (!all.members.is_empty()).then_some(all)
}
