//! Nodes that are one.

use super::{Mesh, Planar, sub};

impl Mesh {
    /// The mesh with each node replaced by the lowest of those that `same` leads to, numbers without gaps, and the marker of
    /// the faces that are inside then left out.
    ///
    /// # Panics
    /// When `same` names a node that is not there.
    #[must_use]
    pub fn sewn(mut self, seam: &str, same: impl Fn(usize) -> usize) -> Self {
        let kept: Vec<u32> = (0..self.nodes.len()).map(|n| same(n).min(n) as u32).collect();
        self.merge(&kept);
        self.markers.retain(|m| m.name != seam);
        self
    }

    /// Calls node i of elements and faces `new(i)`; the list of nodes stays what it is.
    pub fn renumber(&mut self, new: impl Fn(u32) -> u32) {
        let elements = [
            self.tets.as_flattened_mut(),
            self.pyramids.as_flattened_mut(),
            self.prisms.as_flattened_mut(),
            self.hexes.as_flattened_mut(),
        ];
        let faces = self
            .markers
            .iter_mut()
            .flat_map(|m| [m.triangles.as_flattened_mut(), m.quads.as_flattened_mut()]);
        elements.into_iter().chain(faces).flatten().for_each(|i| *i = new(*i));
    }

    /// The parts of the mesh that share no node: how many elements each has, and the mean of its elements' first nodes, in the order of their lowest
    /// nodes.
    ///
    /// **Units**: those of the nodes.
    ///
    /// ```
    /// use chromaflow_mesh::generate::{Cells, box_mesh};
    /// let mut mesh = box_mesh([2, 1, 1], [2.0, 1.0, 1.0], Cells::Hexes, 0.0);
    /// assert_eq!(mesh.parts().len(), 1);
    /// // The second hexahedron on nodes of its own.
    /// for n in mesh.hexes[1] {
    ///     mesh.nodes.push(mesh.nodes[n as usize]);
    /// }
    /// mesh.hexes[1] = std::array::from_fn(|k| 12 + k as u32);
    /// assert_eq!(mesh.parts(), [(1, [0.0; 3]), (1, [1.0, 0.0, 0.0])]);
    /// ```
    pub fn parts(&self) -> Vec<(usize, [f64; 3])> {
        let mut groups = Groups::new(self.nodes.len());
        self.each_element(|_, _, element| element[1..].iter().for_each(|&n| groups.join(element[0], n)));
        let lowest = groups.all_lowest();
        let mut parts = std::collections::BTreeMap::<u32, (usize, [f64; 3])>::new();
        self.each_element(|_, _, element| {
            let (count, sum) = parts.entry(lowest[element[0] as usize]).or_default();
            *count += 1;
            sum.iter_mut().zip(self.nodes[element[0] as usize]).for_each(|(sum, x)| *sum += x);
        });
        parts.into_values().map(|(count, sum)| (count, sum.map(|x| x / count as f64))).collect()
    }

    /// Replaces node n by `kept[n]` (which is its own), and closes the gaps.
    pub(crate) fn merge(&mut self, kept: &[u32]) {
        let mut new = vec![0_u32; self.nodes.len()];
        let mut next = 0;
        for (n, &to) in kept.iter().enumerate() {
            let is_kept = to as usize == n;
            new[n] = if is_kept { next } else { new[to as usize] };
            next += u32::from(is_kept);
        }
        let mut at = 0;
        self.nodes.retain(|_| {
            at += 1;
            kept[at - 1] as usize == at - 1
        });
        self.renumber(|i| new[i as usize]);
        self.planar = self.planar.and_then(|planar| {
            let (n, nodes_2d) = (planar.nodes_2d, self.nodes.len() / 2);
            let layers = (0..n).all(|i| new[i + n] as usize == new[i] as usize + nodes_2d);
            layers.then_some(Planar { nodes_2d, ..planar })
        });
    }
}

/// Disjoint sets of the numbers 0 to n - 1, each known by its lowest member.
///
/// **Source**: union by the lowest with path halving; Tarjan (1975), *Efficiency of a good but not linear set union algorithm*.
///
/// ```
/// use chromaflow_mesh::Groups;
/// let mut groups = Groups::new(5);
/// groups.join(4, 2);
/// groups.join(1, 4);
/// assert_eq!(groups.all_lowest(), [0, 1, 1, 3, 1]);
/// ```
#[derive(Clone, Debug)]
pub struct Groups(Vec<u32>);

impl Groups {
    /// So many sets of one.
    ///
    /// # Panics
    /// When they are more than 32 bits count.
    pub fn new(count: usize) -> Self {
        Self((0..u32::try_from(count).expect("32-bit numbers")).collect())
    }

    /// Sets of places that are one, up to 1e-10 of the largest coordinate.
    ///
    /// ```
    /// use chromaflow_mesh::Groups;
    /// let places = [[0.0, 2.0, 0.0], [1.0, 0.0, 0.0], [1e-11, 2.0, 0.0]];
    /// assert_eq!(Groups::of_places(&places).all_lowest(), [0, 1, 0]);
    /// ```
    pub fn of_places(places: &[[f64; 3]]) -> Self {
        let extent = places.iter().flatten().fold(0.0_f64, |m, x| m.max(x.abs()));
        // Sorted along a direction in which hardly any two places of a grid coincide.
        let along = |x: &[f64; 3]| x[0] + 0.618_034 * x[1] + 0.414_214 * x[2];
        let mut order: Vec<(f64, u32)> = places.iter().map(along).zip(0..).collect();
        order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut groups = Self::new(places.len());
        for (k, &(at, a)) in order.iter().enumerate() {
            for &(_, b) in order[k + 1..].iter().take_while(|(other, _)| other - at <= 3e-10 * extent) {
                let d = sub(places[a as usize], places[b as usize]);
                if d.iter().all(|d| d.abs() <= 1e-10 * extent) {
                    groups.join(a, b);
                }
            }
        }
        groups
    }

    /// The lowest of the set of `n`.
    pub fn lowest(&mut self, mut n: u32) -> u32 {
        while self.0[n as usize] != n {
            let next = self.0[self.0[n as usize] as usize];
            self.0[n as usize] = next;
            n = next;
        }
        n
    }

    /// Makes one set of those of `a` and `b`.
    pub fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.lowest(a), self.lowest(b));
        self.0[a.max(b) as usize] = a.min(b);
    }

    /// The lowest of the set of each number.
    pub fn all_lowest(mut self) -> Vec<u32> {
        (0..self.0.len() as u32).map(|n| self.lowest(n)).collect()
    }
}
