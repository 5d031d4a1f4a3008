//! Rectangles of block faces, and how indices go from one block to another.

use std::fmt;

/// One of the six faces of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Side {
    /// The index that is constant on it: 0 is i, 1 is j, 2 is k.
    pub axis: usize,
    /// Whether it is where that index is largest.
    pub high: bool,
}

impl Side {
    /// i low, i high, j low, j high, k low, k high.
    pub const ALL: [Self; 6] = [
        Self { axis: 0, high: false },
        Self { axis: 0, high: true },
        Self { axis: 1, high: false },
        Self { axis: 1, high: true },
        Self { axis: 2, high: false },
        Self { axis: 2, high: true },
    ];

    /// The other two axes in cyclic order: (j, k), (k, i), (i, j).
    pub fn tangential(self) -> [usize; 2] {
        [(self.axis + 1) % 3, (self.axis + 2) % 3]
    }

    /// Index of its nodes along its axis in a block of `points`.
    pub fn node(self, points: [usize; 3]) -> usize {
        if self.high { points[self.axis] - 1 } else { 0 }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", ["i", "j", "k"][self.axis], if self.high { "high" } else { "low" })
    }
}

/// A rectangle of nodes on a face of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    /// The block.
    pub block: usize,
    /// The face.
    pub side: Side,
    /// Lowest node along each axis.
    pub low: [usize; 3],
    /// Highest node along each axis; the same as `low` along the face's axis.
    pub high: [usize; 3],
}

impl Window {
    /// A whole face of a block with these points.
    pub fn whole(block: usize, side: Side, points: [usize; 3]) -> Self {
        let (mut low, mut high) = ([0; 3], points.map(|n| n - 1));
        low[side.axis] = side.node(points);
        high[side.axis] = low[side.axis];
        Self { block, side, low, high }
    }

    /// Number of cell faces along its two tangential axes.
    pub fn faces(&self) -> [usize; 2] {
        self.side.tangential().map(|t| self.high[t] - self.low[t])
    }

    /// The cells next to it, inside, each with the indices of its cell.
    pub fn cells(&self) -> impl Iterator<Item = [usize; 3]> + use<> {
        let (w, [u, v]) = (*self, self.side.tangential());
        let at = if w.side.high { w.low[w.side.axis] - 1 } else { w.low[w.side.axis] };
        (w.low[v]..w.high[v]).flat_map(move |b| {
            (w.low[u]..w.high[u]).map(move |a| {
                let mut cell = [at; 3];
                (cell[u], cell[v]) = (a, b);
                cell
            })
        })
    }

    /// The corners of the face that a cell of [`Self::cells`] has in it, one after another around it.
    pub fn corners(&self, cell: [usize; 3]) -> [[usize; 3]; 4] {
        let [u, v] = self.side.tangential();
        [(0, 0), (1, 0), (1, 1), (0, 1)].map(|(du, dv)| {
            let mut at = cell;
            at[self.side.axis] = self.low[self.side.axis];
            at[u] += du;
            at[v] += dv;
            at
        })
    }

    /// Its nodes.
    pub fn nodes(&self) -> impl Iterator<Item = [usize; 3]> + use<> {
        let w = *self;
        (w.low[2]..=w.high[2]).flat_map(move |k| {
            (w.low[1]..=w.high[1]).flat_map(move |j| (w.low[0]..=w.high[0]).map(move |i| [i, j, k]))
        })
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [u, v] = self.side.tangential();
        let name = ["i", "j", "k"];
        write!(
            f,
            "block {}, {}, {} {}..={}, {} {}..={}",
            self.block, self.side, name[u], self.low[u], self.high[u], name[v], self.low[v], self.high[v]
        )
    }
}

/// A map between the node indices of two blocks: `b[axis[d]] = sign[d] a[d] + offset[d]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IndexMap {
    /// Which axis of b each axis of a becomes.
    pub axis: [usize; 3],
    /// 1 where it runs the same way, -1 where the other way.
    pub sign: [isize; 3],
    /// What is added.
    pub offset: [isize; 3],
}

impl IndexMap {
    /// The map that changes nothing.
    pub const IDENTITY: Self = Self { axis: [0, 1, 2], sign: [1; 3], offset: [0; 3] };

    /// Node of b for a node of a.
    #[inline]
    pub fn node(&self, a: [isize; 3]) -> [isize; 3] {
        let mut b = [0; 3];
        for d in 0..3 {
            b[self.axis[d]] = self.sign[d] * a[d] + self.offset[d];
        }
        b
    }

    /// Cell of b for a cell of a; a cell has the number of its lower nodes.
    #[inline]
    pub fn cell(&self, a: [isize; 3]) -> [isize; 3] {
        let mut b = [0; 3];
        for d in 0..3 {
            b[self.axis[d]] = if self.sign[d] > 0 { a[d] } else { -a[d] - 1 } + self.offset[d];
        }
        b
    }

    /// From b to a.
    pub fn inverse(&self) -> Self {
        let mut inverse = Self::IDENTITY;
        for d in 0..3 {
            let to = self.axis[d];
            inverse.axis[to] = d;
            inverse.sign[to] = self.sign[d];
            inverse.offset[to] = -self.sign[d] * self.offset[d];
        }
        inverse
    }

    /// First this map, then `next`.
    pub fn then(&self, next: &Self) -> Self {
        let mut both = Self::IDENTITY;
        for d in 0..3 {
            let middle = self.axis[d];
            both.axis[d] = next.axis[middle];
            both.sign[d] = self.sign[d] * next.sign[middle];
            both.offset[d] = next.sign[middle] * self.offset[d] + next.offset[middle];
        }
        both
    }

    /// The map of an interface from where its tangential axes go.
    ///
    /// `to[n]` is for the n-th tangential axis of `a`: the axis of `b` that continues it, and the nodes of `b` where it
    /// begins and ends.
    pub fn between(a: &Window, b: &Window, to: [(usize, usize, usize); 2]) -> Self {
        let mut map = Self::IDENTITY;
        for (u, (axis, from, end)) in a.side.tangential().into_iter().zip(to) {
            map.axis[u] = axis;
            map.sign[u] = if end >= from { 1 } else { -1 };
            map.offset[u] = from as isize - map.sign[u] * a.low[u] as isize;
        }
        // Leaving a is entering b.
        let d = a.side.axis;
        map.axis[d] = b.side.axis;
        map.sign[d] = if a.side.high == b.side.high { -1 } else { 1 };
        map.offset[d] = b.low[b.side.axis] as isize - map.sign[d] * a.low[d] as isize;
        map
    }
}
