//! Elements of all types, one after another.

use super::{Kind, Mesh, par};
use std::ops::Range;

pub use super::par::Buckets;

/// The nodes of all elements of each type, one element after another.
pub fn lists(mesh: &Mesh) -> [(Kind, &[u32]); 4] {
    [
        (Kind::Tetrahedron, mesh.tets.as_flattened()),
        (Kind::Pyramid, mesh.pyramids.as_flattened()),
        (Kind::Prism, mesh.prisms.as_flattened()),
        (Kind::Hexahedron, mesh.hexes.as_flattened()),
    ]
}

/// All elements of a mesh: tetrahedra, pyramids, prisms, hexahedra.
pub fn elements(mesh: &Mesh) -> impl Iterator<Item = (Kind, &[u32])> {
    lists(mesh).into_iter().flat_map(|(kind, nodes)| nodes.chunks_exact(kind.nodes()).map(move |e| (kind, e)))
}

/// The elements of one of several parts, numbered over all types: of each type its first one's number and the nodes.
pub(crate) fn part_of(mesh: &Mesh, parts: usize, part: usize) -> impl Iterator<Item = (Kind, usize, &[u32])> {
    let own = par::split(mesh.elements(), parts, part);
    let mut before = 0;
    lists(mesh).into_iter().map(move |(kind, list)| {
        let corners = kind.nodes();
        let count = list.len() / corners;
        let [from, to] = [own.start, own.end].map(|end| end.clamp(before, before + count) - before);
        let first = before + from;
        before += count;
        (kind, first, &list[from * corners..to * corners])
    })
}

/// For ranges of nodes, in their order, what `f` makes of the elements around each that is not the highest node of them, in ascending order; elements
/// are numbered over all types ([`Mesh::element`]). Each edge of an element is met once so, at its lower node.
///
/// On so many threads, on whose number only what `f` is called with depends.
pub fn around_lower<R: Send>(mesh: &Mesh, threads: usize, f: impl Fn(&Buckets<u32>) -> R + Sync) -> Vec<R> {
    let lower = |_: Kind, nodes: &[u32]| {
        let high = nodes.iter().copied().max().unwrap_or(0);
        (0..nodes.len()).fold(0, |all, k| all | u8::from(nodes[k] != high) << k)
    };
    around(mesh, threads, lower, f)
}

/// The same of the elements around those of their nodes that `which` names by the bits of a number.
pub(crate) fn around<R: Send>(
    mesh: &Mesh,
    threads: usize,
    which: impl Fn(Kind, &[u32]) -> u8 + Sync,
    f: impl Fn(&Buckets<u32>) -> R + Sync,
) -> Vec<R> {
    let parts = par::parts(threads, mesh.elements());
    let each = |part: usize, spread: &mut par::Spread<u32>| {
        for (kind, first, list) in part_of(mesh, parts, part) {
            for (e, nodes) in (first..).zip(list.chunks_exact(kind.nodes())) {
                let mut left = which(kind, nodes);
                while left != 0 {
                    let k = left.trailing_zeros() as usize;
                    left &= left - 1;
                    spread.put(nodes[k], e as u32);
                }
            }
        }
    };
    par::grouped(parts, mesh.nodes.len(), each, f)
}

/// The ranges of nodes of [`around_lower`].
pub fn node_ranges(nodes: usize) -> Vec<Range<usize>> {
    par::ranges(nodes)
}

/// Ranges of a list for each of some ranges of nodes that follow one another, where `ptr` has the beginnings of each node's own.
pub fn cut<'a, T>(mut list: &'a mut [T], ptr: &[u32], nodes: &[Range<usize>]) -> Vec<&'a mut [T]> {
    let piece = |range: &Range<usize>| {
        let (own, rest) =
            std::mem::take(&mut list).split_at_mut((ptr[range.end] - ptr[range.start]) as usize);
        list = rest;
        own
    };
    nodes.iter().map(piece).collect()
}
