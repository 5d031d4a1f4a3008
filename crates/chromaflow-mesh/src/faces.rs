//! Which faces meet: every face of every element and of the boundary, grouped by its nodes.

use super::{Kind, Mesh};

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

/// How many half faces are held at once: bounds the memory of a pass over any mesh.
const AT_ONCE: usize = 1 << 23;

fn key(nodes: &[u32]) -> (u32, [u32; 3]) {
    let mut k = [u32::MAX; 4];
    k[..nodes.len()].copy_from_slice(nodes);
    k.sort_unstable();
    (k[0], [k[1], k[2], k[3]])
}

/// Calls `visit` with the nodes of every face of every element (outward order), then of the boundary.
fn each(mesh: &Mesh, mut visit: impl FnMut(&[u32], u32, u8)) {
    let mut owner = 0;
    mesh.each_element(|kind, _, nodes| {
        for (local, face) in kind.faces().iter().enumerate() {
            let q: [u32; 4] = std::array::from_fn(|i| nodes[face[i % face.len()]]);
            visit(&q[..face.len()], owner, local as u8);
        }
        owner += 1;
    });
    owner = 0;
    for m in &mesh.markers {
        for t in &m.triangles {
            visit(t, owner, HalfFace::BOUNDARY);
            owner += 1;
        }
        for q in &m.quads {
            visit(q, owner, HalfFace::BOUNDARY);
            owner += 1;
        }
    }
}

/// Calls `visit` once for each set of nodes that is a face, with all its half faces: elements in ascending order first,
/// then boundary faces. Buckets by the smallest node; linear in the mesh, in bounded memory. All node numbers must be
/// valid.
pub(crate) fn groups(mesh: &Mesh, mut visit: impl FnMut(&[HalfFace])) {
    let n = mesh.nodes.len();
    let mut count = vec![0u32; n];
    each(mesh, |nodes, _, _| count[key(nodes).0 as usize] += 1);
    let mut first = 0;
    let mut entries = Vec::new();
    while first < n {
        let (mut last, mut total) = (first, 0usize);
        while last < n && (total == 0 || total + count[last] as usize <= AT_ONCE) {
            total += count[last] as usize;
            last += 1;
        }
        let mut at = Vec::with_capacity(last - first);
        let mut sum = 0usize;
        for c in &count[first..last] {
            at.push(sum);
            sum += *c as usize;
        }
        entries.clear();
        entries.resize(total, HalfFace { key: [0; 3], owner: 0, local: 0 });
        each(mesh, |nodes, owner, local| {
            let (low, key) = key(nodes);
            let low = low as usize;
            if (first..last).contains(&low) {
                entries[at[low - first]] = HalfFace { key, owner, local };
                at[low - first] += 1;
            }
        });
        let mut from = 0;
        for c in &count[first..last] {
            let bucket = &mut entries[from..from + *c as usize];
            from += *c as usize;
            bucket.sort_unstable_by_key(|h| (h.key, h.is_boundary(), h.owner, h.local));
            for group in bucket.chunk_by(|a, b| a.key == b.key) {
                visit(group);
            }
        }
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
