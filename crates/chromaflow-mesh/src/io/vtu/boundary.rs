//! Boundary faces of a file that has none, or none with markers.

use super::super::mapbc::Patches;
use super::super::patches::{NumberedFace, corners};
use crate::Groups;
use crate::faces;
use crate::raw::Raw;

/// Faces of elements (edges of planar ones) that one element has, in the order of their nodes.
pub(super) fn free(raw: &Raw, threads: usize) -> Vec<NumberedFace> {
    let Some(flat) = &raw.flat else {
        let free = |halves: &Vec<faces::HalfFace>| {
            let (kind, _, nodes) = raw.mesh.element(halves[0].owner as usize);
            let (mut face, corners) = faces::face_nodes(kind, nodes, halves[0].local);
            face[corners..].fill(u32::MAX);
            (face, 0, 0)
        };
        return faces::odd(&raw.mesh, threads, false, |halves| halves.len() != 1)
            .faces
            .iter()
            .map(free)
            .collect();
    };
    let mut halves: Vec<([u32; 2], [u32; 2])> = Vec::new();
    let mut edges = |nodes: &[u32]| {
        for (i, &a) in nodes.iter().enumerate() {
            let b = nodes[(i + 1) % nodes.len()];
            halves.push(([a.min(b), a.max(b)], [a, b]));
        }
    };
    flat.triangles.iter().for_each(|t| edges(t));
    flat.quads.iter().for_each(|q| edges(q));
    halves.sort_unstable();
    let same = halves.chunk_by(|a, b| a.0 == b.0).filter(|all| all.len() == 1);
    same.map(|all| ([all[0].1[0], all[0].1[1], u32::MAX, u32::MAX], 0, 0)).collect()
}

/// Numbers faces by what they are connected with through nodes, from 1, and names them `boundary`, or `boundary_1` and so on.
pub(super) fn connected(faces: &mut [NumberedFace], nodes: usize) -> Patches {
    let mut groups = Groups::new(nodes);
    for (face, ..) in faces.iter() {
        corners(face).windows(2).for_each(|pair| groups.join(pair[0], pair[1]));
    }
    let lowest = groups.all_lowest();
    let mut parts: Vec<u32> = faces.iter().map(|f| lowest[f.0[0] as usize]).collect();
    faces.iter_mut().zip(&parts).for_each(|(face, &part)| face.1 = i64::from(part));
    parts.sort_unstable();
    parts.dedup();
    let one = parts.len() == 1;
    for face in faces {
        face.1 = parts.partition_point(|&part| i64::from(part) < face.1) as i64 + 1;
    }
    let name = |k| if one { "boundary".to_owned() } else { format!("boundary_{k}") };
    (1..=parts.len() as i64).map(|k| (k, (Some(name(k)), 0))).collect()
}
