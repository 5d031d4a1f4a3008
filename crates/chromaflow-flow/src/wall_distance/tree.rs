//! A hierarchy of boxes around facets.

use super::Nearest;
use super::facet::Facet;
use crate::mesh::{dot, sub};
use crate::parallel;
use chromaflow_device::Team;
use std::sync::Mutex;

/// Facets of a box that is not divided.
const LEAF: usize = 4;
/// Divisions at most: facets are halved by number.
const DEPTH: usize = 64;
/// Boxes are widened by this share of their size, and looked into though they seem farther than the best place by this
/// share: rounding hides no place from the search.
const ROUNDING: f64 = 1e-12;

/// Boxes, each divided into two with half of the facets.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    boxes: Vec<Bounds>,
    /// Those of each undivided box one after another.
    facets: Vec<Facet>,
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
        if facets.len() <= LEAF {
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

    /// At most the square of the distance of a point from any of the facets.
    fn square(&self, p: [f64; 3]) -> f64 {
        let mut sum = 0.0;
        for d in 0..3 {
            let beyond = (self.low[d] - p[d]).max(p[d] - self.high[d]).max(0.0);
            sum += beyond * beyond;
        }
        let x = sub(p, self.center);
        let height = dot(self.axis, x);
        let along = (self.ends[0] - height).max(height - self.ends[1]).max(0.0);
        let aside = ((dot(x, x) - height * height).max(0.0).sqrt() - self.radius).max(0.0);
        sum.max(along * along + aside * aside)
    }
}

impl Tree {
    /// Of at least one facet, on all members of a team.
    pub fn new(mut facets: Vec<Facet>, team: &Team) -> Self {
        let mut boxes = vec![Bounds::of(&facets, 0)];
        // Boxes of a level stand in the order of their facets.
        let mut level = 0..1;
        while !level.is_empty() {
            let (next, mut rest, mut at) = (boxes.len(), &mut facets[..], 0);
            let own = boxes[level.clone()].iter().map(|bounds| {
                let first = bounds.first as usize;
                let (own, after) =
                    std::mem::take(&mut rest)[first - at..].split_at_mut(bounds.count as usize);
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
        Self { boxes, facets }
    }

    /// All of them.
    pub fn facets(&self) -> &[Facet] {
        &self.facets
    }

    /// The nearest place of `p` and the facet it is on; `guess` is any facet, better a near one.
    pub fn nearest(&self, p: [f64; 3], guess: usize) -> (Nearest, usize) {
        let mut best = Best::of(&self.facets[guess], guess, p);
        let mut waiting = [(0_u32, 0.0); DEPTH];
        waiting[0] = (0, self.boxes[0].square(p));
        let mut count = 1;
        while count > 0 {
            count -= 1;
            let (at, square) = waiting[count];
            if square * (1.0 - ROUNDING) > best.square {
                continue;
            }
            let node = &self.boxes[at as usize];
            let first = node.first as usize;
            if node.count > 0 {
                for i in first..first + node.count as usize {
                    best.improve(Best::of(&self.facets[i], i, p), &self.facets);
                }
                continue;
            }
            let half = |k: u32| (node.first + k, self.boxes[(node.first + k) as usize].square(p));
            let (a, b) = (half(0), half(1));
            // The nearer one is looked into first.
            let (near, far) = if a.1 <= b.1 { (a, b) } else { (b, a) };
            (waiting[count], waiting[count + 1]) = (far, near);
            count += 2;
        }
        let place = [p[0] + best.offset[0], p[1] + best.offset[1], p[2] + best.offset[2]];
        (Nearest { distance: best.square.sqrt(), place, face: self.facets[best.facet].face }, best.facet)
    }
}

/// The nearest place so far, relative to the point.
struct Best {
    square: f64,
    offset: [f64; 3],
    facet: usize,
}

impl Best {
    fn of(facet: &Facet, number: usize, p: [f64; 3]) -> Self {
        let offset = facet.offset(p);
        Self { square: dot(offset, offset), offset, facet: number }
    }

    /// The nearer one; of equals that of the first face, then that of the first facet.
    fn improve(&mut self, other: Self, facets: &[Facet]) {
        let order = |b: &Self| (facets[b.facet].face, b.facet);
        if other.square < self.square || (other.square == self.square && order(&other) < order(self)) {
            *self = other;
        }
    }
}
