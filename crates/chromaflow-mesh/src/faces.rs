//! Which faces meet: every face of every element and of the boundary, grouped by its nodes.

use super::{Kind, Mesh, mixed, par, topology};
use chromaflow_device::prefetch;

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

fn key(nodes: &[u32]) -> (u32, [u32; 3]) {
    let mut k = [u32::MAX; 4];
    k[..nodes.len()].copy_from_slice(nodes);
    k.sort_unstable();
    (k[0], [k[1], k[2], k[3]])
}

/// Those nodes of an element that are the lowest of some of its faces, each once.
fn lowest(kind: Kind, nodes: &[u32]) -> u8 {
    let mut found = 0_u8;
    for face in kind.faces() {
        let low = face.iter().fold(face[0], |low, &i| if nodes[i] < nodes[low] { i } else { low });
        let again = (0..nodes.len()).any(|k| found & 1 << k != 0 && nodes[k] == nodes[low]);
        found |= u8::from(!again) << low;
    }
    found
}

/// The boundary faces with their lowest nodes, in the order of these, then in that of the faces.
fn boundary_by_lowest(mesh: &Mesh) -> Vec<(u32, u32)> {
    let faces = mesh.markers.iter().flat_map(|m| {
        let triangles = m.triangles.iter().map(|t| t.as_slice());
        triangles.chain(m.quads.iter().map(|q| q.as_slice()))
    });
    let lows = faces.map(|face| face.iter().copied().min().unwrap_or(0));
    let mut all: Vec<(u32, u32)> = lows.zip(0..).collect();
    all.sort_unstable();
    all
}

/// A half face by its nodes.
fn half(nodes: &[u32], owner: u32, local: u8) -> (u32, HalfFace) {
    let (low, key) = key(nodes);
    (low, HalfFace { key, owner, local })
}

/// What of a mesh's faces and elements is not as it mostly is.
#[derive(Default)]
pub(crate) struct Odd {
    /// All half faces of each set of nodes that is a face and not ordinary: elements in ascending order first, then boundary faces; faces in
    /// the order of their nodes.
    pub(crate) faces: Vec<Vec<HalfFace>>,
    /// The lowest nodes of elements among which some may have the same nodes, ascending.
    pub(crate) alike: Vec<u32>,
}

/// Looks for faces that are not `ordinary`. With `paired`, faces of two elements that turn it one against the other, and of one
/// element and a boundary face that turn it alike, are ordinary besides; where all of a mesh cancel, or all of which a node is the lowest are
/// paired, none of them is sorted, and elements that are alike are found on the way. Linear in the mesh, on so many threads but for what is found.
/// All node numbers must be valid.
pub(crate) fn odd(
    mesh: &Mesh,
    threads: usize,
    paired: bool,
    ordinary: impl Fn(&[HalfFace]) -> bool + Sync,
) -> Odd {
    if paired && all_cancel(mesh, threads) {
        return Odd::default();
    }
    let boundary = boundary_by_lowest(mesh);
    let found = topology::around(mesh, threads, lowest, |own| {
        let (mut bucket, mut seen, mut marks, mut found) =
            (Vec::new(), Vec::new(), Vec::new(), Odd::default());
        let mut at = boundary.partition_point(|&(low, _)| (low as usize) < own.range.start);
        for node in own.range.clone() {
            // Elements around the nodes to come stand anywhere.
            if node + AHEAD < own.range.end {
                let next = own.of(node + AHEAD).iter().map(|&e| mesh.element(e as usize).2);
                next.for_each(|nodes| prefetch::<1, _>(nodes.as_ptr()));
            }
            let elements = own.of(node);
            let sides = boundary[at..].iter().take_while(|&&(low, _)| low as usize == node).count();
            let sides = &boundary[at..at + sides];
            at += sides.len();
            let node = node as u32;
            if paired && are_alike(mesh, node, elements, &mut marks) {
                found.alike.push(node);
            }
            if paired && are_paired(mesh, node, elements, sides, &mut seen) {
                continue;
            }
            bucket.clear();
            for &e in elements {
                let (kind, _, nodes) = mesh.element(e as usize);
                for local in 0..kind.faces().len() as u8 {
                    let (face, corners) = face_nodes(kind, nodes, local);
                    let (low, half) = half(&face[..corners], e, local);
                    bucket.extend((low == node).then_some(half));
                }
            }
            bucket.extend(sides.iter().map(|&(_, owner)| {
                let (_, corners, _, nodes) = mesh.boundary_face(owner as usize);
                half(&nodes[..corners], owner, HalfFace::BOUNDARY).1
            }));
            bucket.sort_unstable_by_key(|h| (h.key, h.is_boundary(), h.owner, h.local));
            let odd = bucket.chunk_by(|a, b| a.key == b.key).filter(|group| !ordinary(group));
            found.faces.extend(odd.map(<[HalfFace]>::to_vec));
        }
        found
    });
    let mut all = Odd::default();
    for own in found {
        all.faces.extend(own.faces);
        all.alike.extend(own.alike);
    }
    all
}

/// Whether the mesh is closed: the sum of a hash of each half face, positive one way round and negative the other, over all elements is that over the
/// boundary, and each boundary face, all of which differ, is one element's. So it is for a sound mesh, which this passes over once in the order of
/// its elements. Others pass by a chance of 2^-64, or where elements of positive volume that share faces cover a part of space twice, boundary and all,
/// without a face of one boundary inside the other: elements that stand twice have neighbors, or boundary faces, that do not.
///
/// **Source**: multiset hashes by sums, Clarke et al. (2003), *Incremental multiset hash functions*.
fn all_cancel(mesh: &Mesh, threads: usize) -> bool {
    let (mut sides, mut on_boundary) =
        (Vec::with_capacity(mesh.boundary_faces()), vec![false; mesh.nodes.len()]);
    let mut sum = 0_u64;
    for face in 0..mesh.boundary_faces() {
        let (_, corners, _, nodes) = mesh.boundary_face(face);
        let Some((mark, turn)) = marked(corners, |k| nodes[k]) else { return false };
        sum = sum.wrapping_sub(signed(mark, turn));
        sides.push(mark);
        nodes[..corners].iter().for_each(|&n| on_boundary[n as usize] = true);
    }
    sides.sort_unstable();
    if sides.windows(2).any(|w| w[0] == w[1]) {
        return false;
    }
    let parts = par::parts(threads, mesh.elements());
    let of_elements = par::each_part(parts, |part| {
        let (mut sum, mut met) = (0_u64, 0);
        for (kind, _, list) in topology::part_of(mesh, parts, part) {
            for nodes in list.chunks_exact(kind.nodes()) {
                for face in kind.faces() {
                    let (mark, turn) = marked(face.len(), |k| nodes[face[k]])?;
                    sum = sum.wrapping_add(signed(mark, turn));
                    let may_be_side = face.iter().all(|&k| on_boundary[nodes[k] as usize]);
                    met += usize::from(may_be_side && sides.binary_search(&mark).is_ok());
                }
            }
        }
        Some((sum, met))
    });
    let mut met = 0;
    for part in of_elements {
        let Some((of_part, met_there)) = part else { return false };
        sum = sum.wrapping_add(of_part);
        met += met_there;
    }
    sum == 0 && met == sides.len()
}

/// A hash of the face of `n` nodes that `node(k)` are, whichever way it turns, and which way that is; none where one stands in it twice.
#[inline(always)]
fn marked(n: usize, node: impl Fn(usize) -> u32) -> Option<(u64, bool)> {
    let low = (1..n).fold(0, |low, k| if node(k) < node(low) { k } else { low });
    let after = |k: usize| node(if low + k < n { low + k } else { low + k - n });
    let ((ends, across), turn) = after_lowest(node(low), n, after)?;
    let golden = 0x9E37_79B9_7F4A_7C15;
    let first = mixed((u64::from(node(low)) << 32 | u64::from(across)).wrapping_add(golden));
    Some((mixed(first.wrapping_add(ends)), turn))
}

fn signed(mark: u64, turn: bool) -> u64 {
    if turn { mark } else { mark.wrapping_neg() }
}

/// Nodes whose elements are asked for before they are looked at.
const AHEAD: usize = 2;

/// Whether two elements whose lowest node is `node`, all of which are among `elements`, may have the same nodes.
fn are_alike(mesh: &Mesh, node: u32, elements: &[u32], marks: &mut Vec<u64>) -> bool {
    // A sum that does not depend on their order: sets of nodes that are equal have equal ones.
    let spread = |n: u32| (u64::from(n) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    let twice = |n: u32| spread(n).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    marks.clear();
    for &e in elements {
        let (_, _, nodes) = mesh.element(e as usize);
        if nodes.iter().all(|&n| n >= node) {
            marks.push(nodes.iter().map(|&n| twice(n)).fold(0, u64::wrapping_add));
        }
    }
    marks.sort_unstable();
    marks.windows(2).any(|w| w[0] == w[1])
}

/// A face by its nodes after the lowest one, whichever way it turns; which way that is; and whether both sides of it were met.
type Met = ((u64, u32), bool, bool);

/// Faces around a node among which one is looked for.
const MOST_MET: usize = 64;

/// Whether every face of which a node is the lowest has two sides that fit; `false`, too, where there are many faces or a node stands in one twice.
fn are_paired(mesh: &Mesh, node: u32, elements: &[u32], sides: &[(u32, u32)], seen: &mut Vec<Met>) -> bool {
    seen.clear();
    for &e in elements {
        let (kind, _, nodes) = mesh.element(e as usize);
        for face in kind.faces() {
            let n = face.len();
            let Some(first) = (0..n).find(|&k| nodes[face[k]] == node) else { continue };
            let after = |k: usize| nodes[face[if first + k < n { first + k } else { first + k - n }]];
            if (1..n).any(|k| after(k) < node) {
                continue;
            }
            let Some((key, turn)) = after_lowest(node, n, after) else { return false };
            match seen.iter().position(|met| met.0 == key) {
                None if seen.len() < MOST_MET => seen.push((key, turn, false)),
                Some(at) if !seen[at].2 && seen[at].1 != turn => seen[at].2 = true,
                _ => return false,
            }
        }
    }
    for &(_, owner) in sides {
        let (_, n, _, nodes) = mesh.boundary_face(owner as usize);
        let first = (0..n).find(|&k| nodes[k] == node).unwrap_or(0);
        let Some((key, turn)) = after_lowest(node, n, |k| nodes[(first + k) % n]) else { return false };
        match seen.iter_mut().find(|met| met.0 == key) {
            Some((_, other, both @ false)) if *other == turn => *both = true,
            _ => return false,
        }
    }
    seen.iter().all(|&(_, _, both)| both)
}

/// A face of `n` nodes, of which the lowest is `node` and `after(k)` stands k places after it; none where that stands there twice.
fn after_lowest(node: u32, n: usize, after: impl Fn(usize) -> u32) -> Option<((u64, u32), bool)> {
    let [next, last] = [after(1), after(n - 1)];
    let across = if n == 4 { after(2) } else { u32::MAX };
    let once = next != node && last != node && across != node;
    let key = (u64::from(next.min(last)) << 32 | u64::from(next.max(last)), across);
    once.then_some((key, next < last))
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
