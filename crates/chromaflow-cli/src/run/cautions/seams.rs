//! Markers that lie upon each other: both sides of an interface that is not joined.

use chromaflow_flow::mesh::{Groups, Marker, Mesh};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Says of pairs of markers of which every face of one lies on a face of the other, on other nodes. The two sides of a wall without thickness share
/// the nodes at its edges.
pub fn coincident(mesh: &Mesh) -> Vec<String> {
    let markers: Vec<&Marker> = mesh.markers.iter().filter(|m| !m.is_plane()).collect();
    let place = places(mesh, &markers);
    let mut owners: HashMap<[u32; 4], Vec<usize>> = HashMap::new();
    for (k, marker) in markers.iter().enumerate() {
        for face in faces(marker) {
            let mut key = face.map(|n| place[&n]);
            key.sort_unstable();
            owners.entry(key).or_default().push(k);
        }
    }
    let mut pairs: BTreeMap<[usize; 2], usize> = BTreeMap::new();
    for owners in owners.values().filter(|owners| owners.len() > 1) {
        for (k, &a) in owners.iter().enumerate() {
            owners[k + 1..].iter().filter(|b| **b != a).for_each(|&b| *pairs.entry([a, b]).or_default() += 1);
        }
    }
    let count = |k: usize| markers[k].triangles.len() + markers[k].quads.len();
    let nodes = |k: usize| faces(markers[k]).flatten().collect::<BTreeSet<u32>>();
    let whole = pairs
        .into_iter()
        .filter(|&([a, b], shared)| shared == count(a).min(count(b)) && nodes(a).is_disjoint(&nodes(b)));
    whole
        .map(|([a, b], _)| {
            let (a, b) = if count(a) <= count(b) { (a, b) } else { (b, a) };
            format!(
                "`{}` and `{}`: every face of the one lies on one of the other, so that a wall stands between two zones; where they are meant to be one, \
                 `chromaflow mesh convert --merge` joins them",
                markers[a].name, markers[b].name
            )
        })
        .collect()
}

/// Its faces, those of triangles with the last corner twice.
fn faces(marker: &Marker) -> impl Iterator<Item = [u32; 4]> {
    marker.triangles.iter().map(|&[a, b, c]| [a, b, c, c]).chain(marker.quads.iter().copied())
}

/// One number for all nodes of these markers that stand at one place, as near as `mesh convert --merge` takes it.
fn places(mesh: &Mesh, markers: &[&Marker]) -> HashMap<u32, u32> {
    let nodes: BTreeSet<u32> = markers.iter().flat_map(|m| faces(m)).flatten().collect();
    let at: Vec<[f64; 3]> = nodes.iter().map(|&n| mesh.nodes[n as usize]).collect();
    nodes.into_iter().zip(Groups::of_places(&at).all_lowest()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use chromaflow_flow::mesh::generate::{Cells, box_mesh};

    /// Two boxes side by side with nodes of their own are told; a slit whose sides share an edge, and boxes apart, are not.
    #[test]
    fn seams_with_two_markers_are_told() {
        let two = |gap: f64| {
            let mut mesh = box_mesh([2; 3], [1.0; 3], Cells::Hexes, 0.0);
            let count = mesh.nodes.len() as u32;
            let mut other = mesh.clone();
            other.markers.iter_mut().for_each(|m| m.name.push('2'));
            other.renumber(|n| n + count);
            mesh.nodes.extend(other.nodes.iter().map(|&[x, y, z]| [x + 1.0 + gap, y, z]));
            mesh.markers.extend(other.markers);
            mesh
        };
        let mut mesh = two(0.0);
        let told = coincident(&mesh);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].starts_with("`xmax` and `xmin2`: ") && told[0].contains("--merge"), "{told:?}");
        assert_eq!(coincident(&two(1e-3)), Vec::<String>::new());
        // One corner of the seam is one node.
        let corner = |m: &Mesh, from: usize| {
            (from..m.nodes.len()).find(|&n| m.nodes[n] == [1.0, 0.0, 0.0]).unwrap() as u32
        };
        let half = mesh.nodes.len() / 2;
        let (own, doubled) = (corner(&mesh, 0), corner(&mesh, half));
        mesh.renumber(|n| if n == doubled { own } else { n });
        assert_eq!(coincident(&mesh), Vec::<String>::new());
    }
}
