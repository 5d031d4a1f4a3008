//! A hierarchy of boxes around facets, eight to a node.

use super::Nearest;
use super::facet::{Facet, inner, offset};
use crate::mesh::{dot, sub};
use crate::parallel;
use crate::real::{LANES, LaneKernel, Lanes, Mask, Packet};
use chromaflow_device::Team;
use std::sync::Mutex;

/// Boxes that wait at most: facets are halved by number, so that there are less than 32 / 3 levels of nodes, each with seven that wait.
const DEPTH: usize = 128;
/// Boxes are widened by this share of their size, and looked into though they seem farther than the best place by this
/// share: rounding hides no place from the search.
const ROUNDING: f64 = 1e-12;
/// What marks the number of a leaf among children.
const LEAF: u32 = 1 << 31;

/// Nodes of eight boxes each, and leaves of up to eight facets: a point is held against eight of either at once.
///
/// **Source**: Wald, Benthin, Boulos, Getting rid of packets (2008), which visits such trees by single rays.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    leaves: Vec<Leaf>,
    /// Those of each leaf one after another.
    facets: Vec<Facet>,
}

/// Eight boxes, a lane each; those that there are not are infinitely far.
#[derive(Clone, Debug)]
struct Node {
    low: [Packet; 3],
    high: [Packet; 3],
    axis: [Packet; 3],
    center: [Packet; 3],
    ends: [Packet; 2],
    radius: Packet,
    /// Numbers of nodes, or of leaves with [`LEAF`].
    children: [u32; LANES],
}

/// Up to eight facets, a lane each; the last one fills those that are left.
#[derive(Clone, Debug)]
struct Leaf {
    corners: [[Packet; 3]; 3],
    first: u32,
    count: u32,
}

/// What holds some facets: a box along the axes, and a cylinder along their mean normal. Walls are mostly smooth: far from
/// them the flat cylinder, which the box of a slanting patch is not, tells which patch is nearest.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    low: [f64; 3],
    high: [f64; 3],
    /// The cylinder's axis, of length 1; or zero, and the cylinder is a sphere.
    axis: [f64; 3],
    /// A place on it, from which its ends are measured.
    center: [f64; 3],
    ends: [f64; 2],
    radius: f64,
    /// The first facet of an undivided box; else the first of its two halves.
    first: u32,
    /// Number of facets; 0 in a divided box.
    count: u32,
}

impl Bounds {
    fn of(facets: &[Facet], first: usize) -> Self {
        let (mut low, mut high, mut sum) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3], [0.0; 3]);
        for facet in facets {
            let normal = facet.normal();
            for d in 0..3 {
                sum[d] += normal[d];
                for corner in &facet.corners {
                    low[d] = low[d].min(corner[d]);
                    high[d] = high[d].max(corner[d]);
                }
            }
        }
        let margin = ROUNDING * (0..3).map(|d| high[d] - low[d]).fold(0.0, f64::max);
        let length = dot(sum, sum).sqrt();
        let axis = if length > 0.0 { sum.map(|n| n / length) } else { sum };
        let center = [0, 1, 2].map(|d| 0.5 * (low[d] + high[d]));
        let (mut ends, mut square) = ([0.0_f64; 2], 0.0_f64);
        for corner in facets.iter().flat_map(|f| &f.corners) {
            let x = sub(*corner, center);
            let height = dot(axis, x);
            ends = [ends[0].min(height), ends[1].max(height)];
            square = square.max(dot(x, x) - height * height);
        }
        Self {
            low: low.map(|x| x - margin),
            high: high.map(|x| x + margin),
            axis,
            center,
            ends: [ends[0] - margin, ends[1] + margin],
            radius: square.sqrt() + margin,
            first: first as u32,
            count: facets.len() as u32,
        }
    }

    /// The two halves, across its longest side, of a box with these facets, if they are many; facets are sorted so.
    fn halves(&self, facets: &mut [Facet]) -> Option<[Self; 2]> {
        if facets.len() <= LANES {
            return None;
        }
        let Self { low, high, first, .. } = *self;
        let axis =
            (0..3).max_by(|&a, &b| (high[a] - low[a]).total_cmp(&(high[b] - low[b]))).expect("three axes");
        let place = |f: &Facet| f.corners[0][axis] + f.corners[1][axis] + f.corners[2][axis];
        let middle = facets.len() / 2;
        facets.select_nth_unstable_by(middle, |a, b| place(a).total_cmp(&place(b)));
        let first = first as usize;
        Some([Self::of(&facets[..middle], first), Self::of(&facets[middle..], first + middle)])
    }
}

impl Node {
    fn of(boxes: &[(&Bounds, u32)]) -> Self {
        let none = Packet([f64::INFINITY; LANES]);
        let far = Packet([f64::NEG_INFINITY; LANES]);
        let zeros = [Packet::ZERO; 3];
        let mut node = Self {
            low: [none; 3],
            high: [far; 3],
            axis: zeros,
            center: zeros,
            ends: [Packet::ZERO; 2],
            radius: Packet::ZERO,
            children: [0; LANES],
        };
        for (l, &(bounds, child)) in boxes.iter().enumerate() {
            for d in 0..3 {
                (node.low[d].0[l], node.high[d].0[l]) = (bounds.low[d], bounds.high[d]);
                (node.axis[d].0[l], node.center[d].0[l]) = (bounds.axis[d], bounds.center[d]);
            }
            (node.ends[0].0[l], node.ends[1].0[l]) = (bounds.ends[0], bounds.ends[1]);
            node.radius.0[l] = bounds.radius;
            node.children[l] = child;
        }
        node
    }

    /// At most the squares of the distances of a point from any facet in each box.
    #[inline(always)]
    fn squares<V: Lanes>(&self, p: &[V; 3]) -> V {
        let (zero, mut sum, mut x, mut axis) = (V::c(0.0), V::c(0.0), *p, *p);
        for d in 0..3 {
            let beyond = (V::load(&self.low[d]) - p[d]).max(p[d] - V::load(&self.high[d])).max(zero);
            sum += beyond * beyond;
            x[d] = p[d] - V::load(&self.center[d]);
            axis[d] = V::load(&self.axis[d]);
        }
        let height = inner(&axis, &x);
        let along = (V::load(&self.ends[0]) - height).max(height - V::load(&self.ends[1])).max(zero);
        let aside = ((inner(&x, &x) - height * height).max(zero).sqrt() - V::load(&self.radius)).max(zero);
        sum.max(along * along + aside * aside)
    }
}

impl Leaf {
    fn of(facets: &[Facet], first: u32, count: u32) -> Self {
        let mut corners = [[Packet::ZERO; 3]; 3];
        for l in 0..LANES {
            let facet = &facets[first as usize + l.min(count as usize - 1)];
            for (lanes, corner) in corners.iter_mut().zip(&facet.corners) {
                for d in 0..3 {
                    lanes[d].0[l] = corner[d];
                }
            }
        }
        Self { corners, first, count }
    }
}

/// The boxes of a tree of halves, the first one all of it; facets are sorted so.
fn halved(facets: &mut [Facet], team: &Team) -> Vec<Bounds> {
    let mut boxes = vec![Bounds::of(facets, 0)];
    // Boxes of a level stand in the order of their facets.
    let mut level = 0..1;
    while !level.is_empty() {
        let (next, mut rest, mut at) = (boxes.len(), &mut facets[..], 0);
        let own = boxes[level.clone()].iter().map(|bounds| {
            let first = bounds.first as usize;
            let (own, after) = std::mem::take(&mut rest)[first - at..].split_at_mut(bounds.count as usize);
            (rest, at) = (after, first + own.len());
            (bounds, Mutex::new(own))
        });
        let own: Vec<_> = own.collect();
        let mut halves = vec![None; own.len()];
        parallel::in_turn(team, 1 + own.len() / (8 * team.size()), &mut halves, |range, halves| {
            for (halves, (bounds, facets)) in halves.iter_mut().zip(&own[range]) {
                *halves = bounds.halves(&mut facets.lock().expect("each box is halved once"));
            }
        });
        drop(own);
        for (at, halves) in level.zip(halves) {
            if let Some(halves) = halves {
                (boxes[at].first, boxes[at].count) = (boxes.len() as u32, 0);
                boxes.extend(halves);
            }
        }
        level = next..boxes.len();
    }
    boxes
}

impl Tree {
    /// Of at least one facet, on all members of a team.
    pub fn new(mut facets: Vec<Facet>, team: &Team) -> Self {
        let boxes = halved(&mut facets, team);
        // Leaves in the order of their facets.
        let mut undivided: Vec<u32> =
            (0..boxes.len() as u32).filter(|&b| boxes[b as usize].count > 0).collect();
        undivided.sort_unstable_by_key(|&b| boxes[b as usize].first);
        let mut numbers = vec![0; boxes.len()];
        for (number, &b) in (0..).zip(&undivided) {
            numbers[b as usize] = LEAF | number;
        }
        let leaf = |&b: &u32| Leaf::of(&facets, boxes[b as usize].first, boxes[b as usize].count);
        let leaves = undivided.iter().map(leaf).collect();
        // Three levels of halves are one of nodes.
        let (mut nodes, mut tops, mut at) = (Vec::new(), vec![0_u32], 0);
        while at < tops.len() {
            let mut held = vec![tops[at]];
            for _ in 0..LANES.ilog2() {
                let parts = |b: u32| {
                    let bounds = &boxes[b as usize];
                    if bounds.count > 0 { b..b + 1 } else { bounds.first..bounds.first + 2 }
                };
                held = held.into_iter().flat_map(parts).collect();
            }
            let mut children = Vec::new();
            for b in held {
                let bounds = &boxes[b as usize];
                let number = if bounds.count > 0 { numbers[b as usize] } else { tops.len() as u32 };
                if bounds.count == 0 {
                    tops.push(b);
                }
                children.push((bounds, number));
            }
            nodes.push(Node::of(&children));
            at += 1;
        }
        Self { nodes, leaves, facets }
    }

    /// All of them.
    pub fn facets(&self) -> &[Facet] {
        &self.facets
    }

    /// The nearest place of `p`; `guess` is any leaf, better a near one.
    #[inline(always)]
    fn search<V: Lanes>(&self, p: &[f64; 3], guess: u32) -> Best {
        let lanes = p.map(V::c);
        let mut best = Best { square: f64::INFINITY, offset: [0.0; 3], facet: 0, leaf: guess };
        self.look(guess, &lanes, &mut best);
        let mut waiting = [(0_u32, 0.0); DEPTH];
        let mut count = 1;
        while count > 0 {
            count -= 1;
            let (at, square) = waiting[count];
            if square * (1.0 - ROUNDING) > best.square {
                continue;
            }
            if at & LEAF != 0 {
                self.look(at & !LEAF, &lanes, &mut best);
                continue;
            }
            let node = &self.nodes[at as usize];
            let squares = node.squares(&lanes).to_array();
            // The nearest one is looked into first.
            let first = count;
            for l in 0..LANES {
                if squares[l] * (1.0 - ROUNDING) <= best.square {
                    let mut k = count;
                    while k > first && waiting[k - 1].1 < squares[l] {
                        waiting[k] = waiting[k - 1];
                        k -= 1;
                    }
                    waiting[k] = (node.children[l], squares[l]);
                    count += 1;
                }
            }
        }
        best
    }

    /// Looks at the facets of a leaf. The nearer one counts; of equals that of the first face, then the first facet.
    #[inline(always)]
    fn look<V: Lanes>(&self, at: u32, p: &[V; 3], best: &mut Best) {
        let leaf = &self.leaves[at as usize];
        let lane = |k: usize| [0, 1, 2].map(|d| V::load(&leaf.corners[k][d]));
        let offset = offset(&[lane(0), lane(1), lane(2)], p);
        let squares = inner(&offset, &offset);
        if !squares.le(V::c(best.square)).any() {
            return;
        }
        let squares = squares.to_array();
        let mut offsets = [[0.0; 3]; LANES];
        V::scatter(&offset, &mut offsets);
        let order = |facet: u32| (self.facets[facet as usize].face, facet);
        for (facet, l) in (leaf.first..leaf.first + leaf.count).zip(0..) {
            let square: f64 = squares[l];
            if square < best.square || (square == best.square && order(facet) < order(best.facet)) {
                *best = Best { square, offset: offsets[l], facet, leaf: at };
            }
        }
    }
}

/// Searches for the nearest places of some points, which lie near one another where their order is a good one: each begins in the leaf
/// of the one before.
pub(super) struct Search<'a> {
    pub tree: &'a Tree,
    pub points: &'a [[f64; 3]],
    /// In which order they are taken.
    pub order: &'a [u32],
    /// By the points' own numbers.
    pub out: &'a mut [Nearest],
}

impl LaneKernel for Search<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let mut guess = 0;
        for &i in self.order {
            let p = &self.points[i as usize];
            let best = self.tree.search::<V>(p, guess);
            guess = best.leaf;
            self.out[i as usize] = Nearest {
                distance: best.square.sqrt(),
                place: [p[0] + best.offset[0], p[1] + best.offset[1], p[2] + best.offset[2]],
                face: self.tree.facets[best.facet as usize].face,
            };
        }
    }
}

/// The nearest place so far, relative to the point, and where it was found.
struct Best {
    square: f64,
    offset: [f64; 3],
    facet: u32,
    leaf: u32,
}
