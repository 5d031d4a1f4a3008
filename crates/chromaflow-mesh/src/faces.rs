//! Which faces meet: every face of every element and of the boundary, grouped by its nodes.

use super::par::{self, parts, split};
use super::{Kind, Mesh, topology};
use std::sync::atomic::AtomicU64;

/// A face of an element or of the boundary.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HalfFace {
    key: [u32; 3],
    /// Number of the element over all types, or of the boundary face over all markers.
    pub(crate) owner: u32,
    /// Local face of the element; [`HalfFace::BOUNDARY`] for a boundary face.
    pub(crate) local: u8,
}

impl HalfFace {
    const BOUNDARY: u8 = u8::MAX;

    pub(crate) fn is_boundary(&self) -> bool {
        self.local == Self::BOUNDARY
    }
}

/// How many half faces are held at once, in 8 bytes each: bounds the memory of a pass over any mesh.
const AT_ONCE: usize = 1 << 26;

fn key(nodes: &[u32]) -> (u32, [u32; 3]) {
    let mut k = [u32::MAX; 4];
    k[..nodes.len()].copy_from_slice(nodes);
    k.sort_unstable();
    (k[0], [k[1], k[2], k[3]])
}

/// Calls `visit` with the smallest node of every half face of a part of the mesh, its owner and its local face.
fn each(mesh: &Mesh, (parts, part): (usize, usize), mut visit: impl FnMut(u32, u32, u8)) {
    let mut first = 0;
    for (kind, nodes) in topology::lists(mesh) {
        let corners = kind.nodes();
        let range = split(nodes.len() / corners, parts, part);
        let own = nodes[range.start * corners..range.end * corners].chunks_exact(corners);
        for (e, nodes) in range.zip(own) {
            for (local, face) in kind.faces().iter().enumerate() {
                let low = face.iter().map(|&i| nodes[i]).min().unwrap_or(0);
                visit(low, (first + e) as u32, local as u8);
            }
        }
        first += nodes.len() / corners;
    }
    if part > 0 {
        return;
    }
    let mut owner = 0;
    for m in &mesh.markers {
        let faces = m.triangles.iter().map(|t| t.as_slice()).chain(m.quads.iter().map(|q| q.as_slice()));
        for face in faces {
            visit(face.iter().copied().min().unwrap_or(0), owner, HalfFace::BOUNDARY);
            owner += 1;
        }
    }
}

/// The half face of an entry: owner, then local face.
fn half(mesh: &Mesh, entry: u64) -> HalfFace {
    let (owner, local) = ((entry >> 8) as u32, entry as u8);
    let (_, key) = if local == HalfFace::BOUNDARY {
        let (_, corners, _, nodes) = mesh.boundary_face(owner as usize);
        key(&nodes[..corners])
    } else {
        let (kind, _, nodes) = mesh.element(owner as usize);
        let (face, corners) = face_nodes(kind, nodes, local);
        key(&face[..corners])
    };
    HalfFace { key, owner, local }
}

/// Calls `visit` once for each set of nodes that is a face and not `ordinary`, with all its half faces: elements in ascending order
/// first, then boundary faces; faces in the order of their nodes. Buckets by the smallest node; linear in the mesh, in bounded memory,
/// on so many threads but for what is visited. All node numbers must be valid.
pub(crate) fn groups(
    mesh: &Mesh,
    threads: usize,
    ordinary: impl Fn(&[HalfFace]) -> bool + Sync,
    mut visit: impl FnMut(&[HalfFace]),
) {
    let n = mesh.nodes.len();
    let parts = parts(threads, mesh.elements());
    let counts = par::counts(parts, n, |part, put| each(mesh, (parts, part), |low, _, _| put(low)));
    let mut first = 0;
    while first < n {
        let (mut last, mut total) = (first, 0usize);
        while last < n && (total == 0 || total + counts[last] <= AT_ONCE) {
            total += counts[last];
            last += 1;
        }
        let entries = par::collect::<AtomicU64>(parts, first..last, &counts, |part, put| {
            each(mesh, (parts, part), |low, owner, local| put(low, u64::from(owner) << 8 | u64::from(local)));
        });
        let ranges = par::balanced(par::pieces(parts), first..last, &counts);
        let starts = par::starts(&ranges, &counts);
        let found = par::each_in_turn(parts, ranges.len(), |part| {
            let (mut at, mut bucket, mut found) = (starts[part], Vec::new(), Vec::new());
            for b in ranges[part].clone() {
                bucket.clear();
                bucket.extend(entries[at..at + counts[b]].iter().map(|&entry| half(mesh, entry)));
                at += counts[b];
                bucket.sort_unstable_by_key(|h| (h.key, h.is_boundary(), h.owner, h.local));
                for group in bucket.chunk_by(|a, b| a.key == b.key).filter(|group| !ordinary(group)) {
                    found.push(group.to_vec());
                }
            }
            found
        });
        found.iter().flatten().for_each(|group| visit(group));
        first = last;
    }
}

/// Whether two orders of the same nodes turn the same way round; `None` where they are not the same cycle at all.
pub(crate) fn same_turn(a: &[u32], b: &[u32]) -> Option<bool> {
    let n = a.len();
    let s = b.iter().position(|&x| x == a[0])?;
    if (0..n).all(|i| a[i] == b[(s + i) % n]) {
        return Some(true);
    }
    (0..n).all(|i| a[i] == b[(s + n - i) % n]).then_some(false)
}

/// Nodes of a face of an element.
pub(crate) fn face_nodes(kind: Kind, nodes: &[u32], local: u8) -> ([u32; 4], usize) {
    let face = kind.faces()[local as usize];
    (std::array::from_fn(|i| nodes[face[i % face.len()]]), face.len())
}
