//! What a solver takes for granted.

use super::metrics::{Metrics, extended_nodes};
use super::periodic::Gap;
use super::{Grid, GridError, Interface, Side, Window};

impl Grid {
    /// Checks everything: shapes, coordinates, patches and interfaces, that each face belongs to one of them, that
    /// interfaces coincide, that volumes are positive.
    ///
    /// # Errors
    /// The first thing wrong, with block and index.
    pub fn check(&self) -> Result<(), GridError> {
        self.check_points()?;
        for patch in &self.patches {
            self.check_window(&patch.window, || format!("patch {:?}", patch.name))?;
        }
        for (number, interface) in self.interfaces.iter().enumerate() {
            self.check_window(&interface.a, || format!("interface {number}"))?;
            self.check_window(&interface.b, || format!("interface {number}"))?;
            self.check_pair(number, interface)?;
        }
        self.check_turns().map_err(|e| GridError::Periodic(Box::new(e)))?;
        self.check_cover()?;
        self.check_volumes()
    }

    /// Shapes and coordinates.
    pub(super) fn check_points(&self) -> Result<(), GridError> {
        for (b, block) in self.blocks.iter().enumerate() {
            let expected = block.points.iter().try_fold(1usize, |n, &p| n.checked_mul(p));
            let blank = block.blank.is_empty() || Some(block.blank.len()) == expected;
            if block.points.iter().any(|&n| n < 2) || Some(block.nodes.len()) != expected || !blank {
                return Err(GridError::Shape { block: b, points: block.points, nodes: block.nodes.len() });
            }
            if let Some(n) = block.nodes.iter().position(|x| !x.iter().all(|c| c.is_finite())) {
                let [ni, nj, _] = block.points;
                let at = [n % ni, n / ni % nj, n / (ni * nj)];
                return Err(GridError::NotFinite { block: b, at, xyz: block.nodes[n] });
            }
        }
        Ok(())
    }

    fn check_window(&self, w: &Window, what: impl Fn() -> String) -> Result<(), GridError> {
        let points = self.blocks.get(w.block).map_or([0; 3], |b| b.points);
        let on_face = w.side.axis < 3
            && (0..3).all(|d| {
                let last = points[d].wrapping_sub(1);
                if d == w.side.axis {
                    w.low[d] == w.high[d] && w.low[d] == if w.side.high { last } else { 0 }
                } else {
                    w.low[d] < w.high[d] && w.high[d] <= last
                }
            });
        if points[0] > 0 && on_face {
            return Ok(());
        }
        Err(GridError::Outside { what: what(), window: *w, points })
    }

    fn check_pair(&self, number: usize, interface: &Interface) -> Result<(), GridError> {
        let Interface { a, b, map, motion } = interface;
        let mut seen = [false; 3];
        let permutation = map.axis.iter().all(|&d| d < 3 && !std::mem::replace(&mut seen[d], true));
        let image = |x: [usize; 3]| map.node(x.map(|n| n as isize));
        let fits = permutation && map.sign.iter().all(|s| s.abs() == 1) && {
            let (p, q) = (image(a.low), image(a.high));
            (0..3).all(|c| p[c].min(q[c]) == b.low[c] as isize && p[c].max(q[c]) == b.high[c] as isize)
        };
        let d = a.side.axis;
        let outward = if a.side.high == b.side.high { -1 } else { 1 };
        if !fits || map.axis[d] != b.side.axis || map.sign[d] != outward {
            return Err(GridError::Pairing { number, sides: Box::new([*a, *b]) });
        }
        let wide = self.gaps(interface, *motion).filter(Gap::is_wide);
        if let Some(gap) = wide.reduce(|a, b| if b.apart > a.apart { b } else { a }) {
            let [at, other_at] = gap.at;
            let (gap, allowed) = (gap.apart, gap.allowed);
            return Err(GridError::Gap {
                number,
                block: a.block,
                at,
                xyz: Box::new(self.blocks[a.block].node(at)),
                other: b.block,
                other_at,
                motion: Box::new(*motion),
                gap,
                allowed,
            });
        }
        Ok(())
    }

    fn check_cover(&self) -> Result<(), GridError> {
        for (b, block) in self.blocks.iter().enumerate() {
            let cells = block.cells();
            let mut first = None;
            let mut count = 0;
            for side in Side::ALL {
                let [u, v] = side.tangential();
                let mut owners = vec![0u8; cells[u] * cells[v]];
                let windows = self
                    .patches
                    .iter()
                    .map(|p| &p.window)
                    .chain(self.interfaces.iter().flat_map(|i| [&i.a, &i.b]))
                    .filter(|w| w.block == b && w.side == side);
                for window in windows {
                    for cell in window.cells() {
                        let slot = &mut owners[cell[u] + cells[u] * cell[v]];
                        *slot = slot.saturating_add(1);
                    }
                }
                for (n, &owners) in owners.iter().enumerate().filter(|(_, o)| **o != 1) {
                    count += 1;
                    first.get_or_insert_with(|| {
                        let mut at = [if side.high { cells[side.axis] - 1 } else { 0 }; 3];
                        (at[u], at[v]) = (n % cells[u], n / cells[u]);
                        (side, at, owners)
                    });
                }
            }
            if let Some((side, at, owners)) = first {
                return Err(GridError::Cover { block: b, side, at, owners, count });
            }
        }
        Ok(())
    }

    fn check_volumes(&self) -> Result<(), GridError> {
        for (b, (nodes, block)) in extended_nodes(self).iter().zip(&self.blocks).enumerate() {
            let m = Metrics::new(block.cells(), nodes);
            let bad = |&at: &usize| m.volume[at].is_nan() || m.volume[at] <= 0.0;
            let all = || m.cells.places().filter(bad);
            if let Some(first) = all().next() {
                let at = m.cells.cell(first).map(|n| n as usize);
                let (volume, xyz) = (m.volume[first], block.node(at));
                return Err(GridError::Volume { block: b, at, xyz, volume, count: all().count() });
            }
        }
        Ok(())
    }
}
