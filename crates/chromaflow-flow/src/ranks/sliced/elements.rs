//! Elements and boundary faces on their way from whoever read them to the ranks that need them: two layers around the nodes that a rank
//! owns.

use super::sides::Sides;
use crate::mesh::{Kind, Slice, SliceFace, reader_of};
use crate::ranks::post::{Table, ask, distinct, swap};
use chromaflow_comm::{CommError, Communicator};

/// A boundary face: its nodes (the last `u32::MAX` for a triangle), its marker, its number in the marker's list of triangles or
/// quadrilaterals, its number in the file.
pub type Face = [u32; 7];

/// The nodes of such a face.
pub fn corners(face: &Face) -> &[u32] {
    if face[3] == u32::MAX { &face[..3] } else { &face[..4] }
}

/// Faces in the order of markers, within them triangles first, then of the file.
pub fn place_of(face: &Face) -> (u32, usize, u32) {
    (face[4], corners(face).len(), face[5])
}

/// Elements of each type, each its number within the type and its nodes, by the numbers of the file; and boundary faces.
#[derive(Clone, Debug, Default)]
pub struct Pack {
    /// Of each type.
    pub elements: [Vec<u32>; 4],
    /// On the boundary.
    pub faces: Vec<Face>,
}

impl Pack {
    /// What was read, with the markers of its faces and their numbers in their lists.
    pub fn of_slice(slice: &mut Slice, face: impl FnMut(&SliceFace) -> Face) -> Self {
        let numbered = |kind: Kind| {
            let list = std::mem::take(&mut slice.elements[kind as usize]);
            let numbers = slice.first[kind as usize] as u32..;
            let each = numbers.zip(list.chunks_exact(kind.nodes()));
            each.flat_map(|(number, nodes)| [number].into_iter().chain(nodes.iter().copied())).collect()
        };
        let elements = Kind::ALL.map(numbered);
        Self { elements, faces: std::mem::take(&mut slice.faces).iter().map(face).collect() }
    }

    /// The elements, number and nodes.
    pub fn each(&self) -> impl Iterator<Item = (Kind, u32, &[u32])> {
        Kind::ALL
            .into_iter()
            .zip(&self.elements)
            .flat_map(|(kind, list)| list.chunks_exact(kind.nodes() + 1).map(move |e| (kind, e[0], &e[1..])))
    }

    /// All nodes of elements, as often as elements have them.
    pub fn nodes(&self) -> impl Iterator<Item = u32> {
        self.each().flat_map(|(_, _, nodes)| nodes.iter().copied())
    }

    fn push(&mut self, kind: Kind, number: u32, nodes: &[u32]) {
        let list = &mut self.elements[kind as usize];
        list.push(number);
        list.extend(nodes);
    }

    /// Every rank's packs for the others, all that comes in one, without doubles, in the order of the file.
    fn swapped(ranks: &dyn Communicator, mut packs: Vec<Self>) -> Result<Self, CommError> {
        let mut all = Self::default();
        for kind in Kind::ALL {
            let lists = packs.iter_mut().map(|pack| std::mem::take(&mut pack.elements[kind as usize]));
            let came = swap(ranks, lists.collect())?;
            all.elements[kind as usize] = sorted(&came.concat(), kind.nodes() + 1);
        }
        let faces = swap(ranks, packs.into_iter().map(|pack| pack.faces).collect())?;
        all.faces = faces.concat();
        all.sort_faces();
        Ok(all)
    }

    fn sort_faces(&mut self) {
        self.faces.sort_unstable_by_key(place_of);
        self.faces.dedup();
    }

    /// With another pack's contents, in the order of the file.
    pub fn joined(self, other: Self) -> Self {
        let join = |kind: Kind, [mut own, other]: [Vec<u32>; 2]| {
            own.extend(other);
            sorted(&own, kind.nodes() + 1)
        };
        let [mut a, mut b] = [self.elements, other.elements];
        let elements = Kind::ALL
            .map(|kind| join(kind, [&mut a, &mut b].map(|of| std::mem::take(&mut of[kind as usize]))));
        let mut all = Self { elements, faces: [self.faces, other.faces].concat() };
        all.sort_faces();
        all
    }

    /// Bytes that it holds.
    pub fn bytes(&self) -> usize {
        self.elements.iter().map(|list| size_of_val(&list[..])).sum::<usize>() + size_of_val(&self.faces[..])
    }
}

/// Entries of so many numbers in the order of their first ones, each once.
fn sorted(list: &[u32], width: usize) -> Vec<u32> {
    let first = |&i: &u32| list[i as usize * width];
    let mut order: Vec<u32> = (0..(list.len() / width) as u32).collect();
    if order.is_sorted_by(|a, b| first(a) < first(b)) {
        return list.to_vec();
    }
    order.sort_unstable_by_key(first);
    order.dedup_by_key(|i| first(i));
    order.iter().flat_map(|&i| &list[i as usize * width..][..width]).copied().collect()
}

/// Who owns which node, told by whoever read it.
pub struct Directory<'a> {
    pub ranks: &'a dyn Communicator,
    /// Nodes of the mesh.
    pub count: usize,
    /// The first node that this rank has read.
    pub first: usize,
    /// Owners of those.
    pub owner: Vec<u32>,
    /// Which nodes are one.
    pub sides: &'a Sides,
}

impl Directory<'_> {
    /// The owners of nodes; collective.
    pub fn owners(&self, nodes: &[u32]) -> Result<Vec<u32>, CommError> {
        let reader = |node: u32| reader_of(self.count, self.ranks.size(), node as usize) as u32;
        let lowest = nodes.iter().map(|&node| self.sides.lowest(node));
        let asked: Vec<(u32, u32)> = lowest.map(|node| (reader(node), node)).collect();
        ask(self.ranks, &asked, |nodes| {
            nodes.iter().map(|&node| self.owner[node as usize - self.first]).collect()
        })
    }
}

/// Sends everything that was read to the owners of its nodes: all around the nodes that this rank owns.
pub fn to_owners(directory: &Directory<'_>, read: Pack) -> Result<Pack, CommError> {
    let in_faces = read.faces.iter().flat_map(|face| corners(face).iter().copied());
    let nodes = distinct(read.nodes().chain(in_faces));
    let owners = directory.owners(&nodes)?;
    let table = Table::of(&nodes);
    let owner = |node: &u32| owners[table.get(*node).expect("a node of an element") as usize] as usize;
    let mut packs = vec![Pack::default(); directory.ranks.size()];
    let mut whom = Vec::with_capacity(8);
    let mut to = |nodes: &[u32], packs: &mut [Pack], push: &dyn Fn(&mut Pack)| {
        whom.clear();
        whom.extend(nodes.iter().map(owner));
        whom.sort_unstable();
        whom.dedup();
        for &rank in &whom {
            push(&mut packs[rank]);
        }
    };
    for (kind, number, nodes) in read.each() {
        to(nodes, &mut packs, &|pack| pack.push(kind, number, nodes));
    }
    for face in &read.faces {
        to(corners(face), &mut packs, &|pack| pack.faces.push(*face));
    }
    drop(read);
    Pack::swapped(directory.ranks, packs)
}

/// The second layer: elements and faces around nodes of others that elements around own ones have. `own` are those around own nodes, whose
/// numbers are `owned`; `near` are all nodes of these that have rows, with their owners.
pub fn second_layer(
    directory: &Directory<'_>,
    own: &Pack,
    owned: &[u32],
    near: (&[u32], &[u32]),
) -> Result<Pack, CommError> {
    let (ranks, sides) = (directory.ranks, directory.sides);
    let (numbers, owners) = near;
    let mut asked = vec![Vec::new(); ranks.size()];
    for (&node, &owner) in numbers.iter().zip(owners).filter(|(_, owner)| **owner as usize != ranks.rank()) {
        asked[owner as usize].push(node);
    }
    let asked = swap(ranks, asked)?;
    let table = Table::of(numbers);
    let owner = |node: u32| owners[table.get(node).expect("a node of an element") as usize] as usize;
    // Which ranks ask about each node here.
    let here = Table::of(owned);
    let mut askers: Vec<(u32, u32)> = Vec::new();
    for (rank, nodes) in (0..).zip(&asked) {
        askers.extend(nodes.iter().map(|&node| (here.get(node).expect("a node of its owner"), rank)));
    }
    askers.sort_unstable();
    let starts: Vec<u32> =
        (0..=owned.len() as u32).map(|at| askers.partition_point(|asker| asker.0 < at) as u32).collect();
    let asking = |node: u32| {
        let range = here.get(node).map_or(0..0, |at| starts[at as usize]..starts[at as usize + 1]);
        askers[range.start as usize..range.end as usize].iter().map(|asker| asker.1 as usize)
    };
    let mut packs = vec![Pack::default(); ranks.size()];
    let mut whom: Vec<usize> = Vec::new();
    let mut to = |nodes: &[u32], packs: &mut [Pack], push: &dyn Fn(&mut Pack)| {
        let nodes = || nodes.iter().map(|&node| sides.lowest(node));
        whom.clear();
        whom.extend(nodes().flat_map(asking));
        whom.sort_unstable();
        whom.dedup();
        // Whoever owns a node of it has it already.
        let wants = |rank: &&usize| nodes().all(|node| owner(node) != **rank);
        whom.iter().filter(wants).for_each(|&rank| push(&mut packs[rank]));
    };
    for (kind, number, nodes) in own.each() {
        to(nodes, &mut packs, &|pack| pack.push(kind, number, nodes));
    }
    for face in &own.faces {
        to(corners(face), &mut packs, &|pack| pack.faces.push(*face));
    }
    Pack::swapped(ranks, packs)
}
