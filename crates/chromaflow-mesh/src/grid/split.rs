//! Cutting blocks in two.

use super::{Block, Grid, GridError, IndexMap, Interface, Side, Window};
use crate::periodic::Motion;

impl Grid {
    /// Cuts block `block` at node `at` of `axis`: it keeps the cells below, a new block at the end of the list takes
    /// those above, and an interface joins them. Patches and interfaces are cut with it.
    ///
    /// # Errors
    /// When there is no such block, or the cut leaves one side without cells.
    pub fn split(mut self, block: usize, axis: usize, at: usize) -> Result<Self, GridError> {
        let Some(old) = self.blocks.get(block).filter(|b| axis < 3 && at > 0 && at + 1 < b.points[axis])
        else {
            return Err(GridError::Mismatch(format!(
                "cannot cut block {block} of {} at node {at} of axis {axis}: expected a block of the grid, and a node \
                 between its first and last",
                self.blocks.len()
            )));
        };
        let part = |from: usize, to: usize| {
            let mut points = old.points;
            points[axis] = to - from + 1;
            let source = |mut node: [usize; 3]| {
                node[axis] += from;
                old.index(node)
            };
            let mut new = Block::new(points, |node| old.nodes[source(node)]);
            if !old.blank.is_empty() {
                let [ni, nj, nk] = points;
                new.blank = (0..ni * nj * nk)
                    .map(|n| old.blank[source([n % ni, n / ni % nj, n / (ni * nj)])])
                    .collect();
            }
            new
        };
        let (lower, upper) = (part(0, at), part(at, old.points[axis] - 1));
        let new = self.blocks.len();
        let cut = Cut { block, axis, at, new };
        self.patches = std::mem::take(&mut self.patches)
            .into_iter()
            .flat_map(|patch| {
                let pieces = cut.pieces(&patch.window);
                pieces
                    .into_iter()
                    .map(move |window| super::Patch { window: cut.renumbered(&window), ..patch.clone() })
            })
            .collect();
        self.interfaces =
            std::mem::take(&mut self.interfaces).into_iter().flat_map(|i| cut.interface(&i)).collect();
        let face = |block: usize, points: [usize; 3], high| Window::whole(block, Side { axis, high }, points);
        let mut map = IndexMap::IDENTITY;
        map.offset[axis] = -(at as isize);
        self.interfaces.push(Interface {
            a: face(block, lower.points, true),
            b: face(new, upper.points, false),
            map,
            motion: Motion::NONE,
        });
        self.blocks[block] = lower;
        self.blocks.push(upper);
        Ok(self)
    }
}

/// A cut of `block` at node `at` of `axis`; the cells above go to block `new`.
#[derive(Clone, Copy)]
struct Cut {
    block: usize,
    axis: usize,
    at: usize,
    new: usize,
}

impl Cut {
    /// A window as one or two that do not cross the cut, in the old numbers.
    fn pieces(self, window: &Window) -> Vec<Window> {
        let Self { block, axis, at, .. } = self;
        if window.block != block || window.low[axis] >= at || window.high[axis] <= at {
            return vec![*window];
        }
        let (mut low, mut high) = (*window, *window);
        low.high[axis] = at;
        high.low[axis] = at;
        vec![low, high]
    }

    /// Whether a window that does not cross the cut goes to the new block.
    fn goes_up(self, window: &Window) -> bool {
        // A face of the axis itself has low = high there: at the top it goes up.
        window.block == self.block && window.low[self.axis] >= self.at
    }

    /// Such a window in the new numbers.
    fn renumbered(self, window: &Window) -> Window {
        let mut window = *window;
        if self.goes_up(&window) {
            window.block = self.new;
            window.low[self.axis] -= self.at;
            window.high[self.axis] -= self.at;
        }
        window
    }

    fn interface(self, interface: &Interface) -> Vec<Interface> {
        let mut result = Vec::new();
        for a in self.pieces(&interface.a) {
            let b = image(&interface.map, &a, &interface.b);
            for b in self.pieces(&b) {
                let a = image(&interface.map.inverse(), &b, &a);
                let mut map = interface.map;
                let mut shift = IndexMap::IDENTITY;
                shift.offset[self.axis] = self.at as isize;
                if self.goes_up(&a) {
                    map = shift.then(&map);
                }
                if self.goes_up(&b) {
                    map = map.then(&shift.inverse());
                }
                let (a, b) = (self.renumbered(&a), self.renumbered(&b));
                result.push(Interface { a, b, map, motion: interface.motion });
            }
        }
        result
    }
}

/// What `map` makes of a window, which is part of the window `whole`.
fn image(map: &IndexMap, window: &Window, whole: &Window) -> Window {
    let ends = [window.low, window.high].map(|x| map.node(x.map(|n| n as isize)).map(|n| n as usize));
    Window {
        low: std::array::from_fn(|c| ends[0][c].min(ends[1][c])),
        high: std::array::from_fn(|c| ends[0][c].max(ends[1][c])),
        ..*whole
    }
}
