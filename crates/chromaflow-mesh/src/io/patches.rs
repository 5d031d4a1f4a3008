//! Boundary faces that carry the number of their patch, gathered into markers.

use super::mapbc::{self, Patches};
use crate::raw::Raw;
use crate::{MeshError, ReadOptions};
use std::collections::BTreeMap;
use std::path::Path;

/// Faces as they come: nodes (the fourth `u32::MAX` for a triangle, the third, too, for an edge), patch, place.
pub(crate) type NumberedFace = ([u32; 4], i64, u64);

/// Makes one marker per patch number, in ascending order, with names and codes of the mesh's `.mapbc`.
pub(crate) fn gather(
    raw: &mut Raw,
    faces: &[NumberedFace],
    path: &Path,
    options: &ReadOptions,
) -> Result<(), MeshError> {
    named(raw, faces, &mapbc::find(path, options)?);
    Ok(())
}

/// Makes one marker per patch number, in ascending order, with names and codes of a table.
pub(crate) fn named(raw: &mut Raw, faces: &[NumberedFace], table: &Patches) {
    let mut markers: BTreeMap<i64, usize> = faces.iter().map(|f| (f.1, 0)).collect();
    let numbers: Vec<i64> = markers.keys().copied().collect();
    for (slot, (name, code)) in markers.values_mut().zip(marker_names(&numbers, table)) {
        *slot = raw.marker(name, code);
    }
    for (id, (name, _)) in table.iter().filter(|(id, _)| !markers.contains_key(id)) {
        let name = name.as_deref().unwrap_or("unnamed");
        raw.notes.push(format!("the .mapbc file names patch {id} ({name}), which has no faces"));
    }
    for (nodes, id, place) in faces {
        raw.face(markers[id], corners(nodes), *place);
    }
}

/// Names and codes of markers for patches with these numbers, which ascend.
pub(crate) fn marker_names(patches: &[i64], table: &Patches) -> Vec<(String, Option<i32>)> {
    let mut names: Vec<(String, Option<i32>)> = Vec::with_capacity(patches.len());
    for id in patches {
        let (name, code) = table.get(id).map_or((None, None), |(name, code)| (name.clone(), Some(*code)));
        let mut name = name.unwrap_or_else(|| id.to_string());
        if names.iter().any(|(other, _)| *other == name) {
            name = format!("{name}_{id}");
        }
        names.push((name, code.filter(|&c| c != 0)));
    }
    names
}

/// The nodes of such a face.
pub(crate) fn corners(nodes: &[u32; 4]) -> &[u32] {
    let count = nodes.iter().position(|&n| n == u32::MAX).unwrap_or(4);
    &nodes[..count]
}
