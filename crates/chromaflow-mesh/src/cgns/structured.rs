//! Structured zones as a grid.

use super::tree::{Fault, Node};
use super::{Base, coordinates, sizes};
use crate::grid::{Block, Grid, IndexMap, Interface, Patch, Side, Window};
use crate::periodic::Motion;

/// The grid of all zones: patches by families, interfaces by one-to-one connections.
pub(super) fn grid(base: &Base) -> Result<Grid, Fault> {
    let mut grid = Grid::default();
    for zone in base.zones() {
        let sizes = sizes(zone, 3)?;
        let axes = sizes.len() / 3;
        let mut points = [1; 3];
        points[..axes].copy_from_slice(&sizes[..axes]);
        let count = points.iter().try_fold(1usize, |n, &p| n.checked_mul(p));
        let count = count.filter(|&n| n > 0).ok_or_else(|| zone.fault(format!("{points:?} points")))?;
        let mut nodes = coordinates(zone, count)?;
        if axes == 2 {
            // A plane becomes a layer.
            for x in &mut nodes {
                x[2] = 0.0;
            }
            nodes.extend_from_within(..);
            nodes[count..].iter_mut().for_each(|x| x[2] = 1.0);
            points[2] = 2;
        } else if axes != 3 {
            return Err(zone.fault(format!("a structured zone of {axes} indices: expected 2 or 3")));
        }
        if points.iter().any(|&n| n < 2) {
            return Err(zone.fault(format!("{points:?} points: expected at least two along each index")));
        }
        grid.blocks.push(Block { points, nodes, blank: Vec::new() });
    }
    for (number, zone) in base.zones().enumerate() {
        boundaries(base, zone, number, &mut grid)?;
        for connectivity in zone.of("ZoneGridConnectivity_t") {
            if let Some(other) = connectivity.of("GridConnectivity_t").next() {
                return Err(
                    other.fault("a connection that is not one-to-one: only GridConnectivity1to1_t is read")
                );
            }
            for connection in connectivity.of("GridConnectivity1to1_t") {
                interface(base, connection, number, &mut grid)?;
            }
        }
        if base.cells == 2 {
            let points = grid.blocks[number].points;
            for (side, name) in [(4, crate::Planar::FRONT), (5, crate::Planar::BACK)] {
                let window = Window::whole(number, Side::ALL[side], points);
                grid.patches.push(Patch { name: name.to_owned(), window });
            }
        }
    }
    Ok(grid)
}

/// First and last point of a range of two or three indices, from 0.
fn range(node: &Node, points: [usize; 3]) -> Result<[[usize; 3]; 2], Fault> {
    let values = node.ints()?;
    let axes = values.len() / 2;
    if values.len() % 2 > 0 || !(2..=3).contains(&axes) {
        return Err(node.fault(format!("{} numbers, expected two points", values.len())));
    }
    let mut ends = [[0; 3], [0, 0, points[2] - 1]];
    for (end, values) in ends.iter_mut().zip(values.chunks(axes)) {
        for d in 0..axes {
            let n = usize::try_from(values[d] - 1).ok().filter(|&n| n < points[d]);
            end[d] = n.ok_or_else(|| node.fault(format!("index {} of 1 to {}", values[d], points[d])))?;
        }
    }
    Ok(ends)
}

/// The face that two corners span.
fn window(node: &Node, block: usize, ends: [[usize; 3]; 2], points: [usize; 3]) -> Result<Window, Fault> {
    let low: [usize; 3] = std::array::from_fn(|d| ends[0][d].min(ends[1][d]));
    let high: [usize; 3] = std::array::from_fn(|d| ends[0][d].max(ends[1][d]));
    let flat = |s: &Side| low[s.axis] == high[s.axis] && low[s.axis] == s.node(points);
    let side = Side::ALL.into_iter().find(flat);
    let side = side.ok_or_else(|| {
        node.fault(format!("points {low:?} to {high:?} are no part of a face of the block"))
    })?;
    Ok(Window { block, side, low, high })
}

fn boundaries(base: &Base, zone: &Node, number: usize, grid: &mut Grid) -> Result<(), Fault> {
    let points = grid.blocks[number].points;
    for bc in zone.of("ZoneBC_t").flat_map(|z| z.of("BC_t")) {
        let node = bc.child("PointRange").or_else(|| bc.child("ElementRange"));
        let node = node.ok_or_else(|| bc.fault("it has no PointRange, which structured zones need"))?;
        let location = bc.of("GridLocation_t").next().map_or("Vertex", Node::text);
        let mut ends = range(node, points)?;
        if location.ends_with("FaceCenter") || location == "EdgeCenter" {
            // Faces count as their first points do.
            let face = match location.as_bytes()[0] {
                b'I' => Some(0),
                b'J' => Some(1),
                b'K' => Some(2),
                _ => (0..3).find(|&d| ends[0][d] == ends[1][d]),
            };
            for d in (0..3).filter(|&d| Some(d) != face && !(base.cells == 2 && d == 2)) {
                let end = usize::from(ends[1][d] >= ends[0][d]);
                ends[end][d] += 1;
            }
        }
        let window = window(node, number, ends, points)?;
        grid.patches.push(Patch { name: base.marker(bc).0, window });
    }
    Ok(())
}

fn interface(base: &Base, node: &Node, number: usize, grid: &mut Grid) -> Result<(), Fault> {
    let donor = node.text();
    let donor = donor.rsplit('/').next().unwrap_or_default();
    let other = base.zones().position(|z| z.name == donor);
    let other = other.ok_or_else(|| node.fault(format!("its donor {donor:?} is no zone")))?;
    let part = |name: &str| node.child(name).ok_or_else(|| node.fault(format!("it has no {name}")));
    let (points, donor_points) = (grid.blocks[number].points, grid.blocks[other].points);
    let (from, to) = (range(part("PointRange")?, points)?, range(part("PointRangeDonor")?, donor_points)?);
    let a = window(node, number, from, points)?;
    let b = window(node, other, to, donor_points)?;
    let mut map = IndexMap::IDENTITY;
    if let Some(transform) = node.child("Transform") {
        for (d, &t) in transform.ints()?.iter().enumerate().take(3) {
            let axis = usize::try_from(t.abs() - 1).ok().filter(|&axis| axis < 3);
            map.axis[d] =
                axis.ok_or_else(|| transform.fault(format!("{t}: expected 1, 2 or 3 with a sign")))?;
            map.sign[d] = if t < 0 { -1 } else { 1 };
        }
    }
    let mut axes = map.axis;
    axes.sort_unstable();
    if axes != [0, 1, 2] {
        return Err(node.fault("its Transform names an index twice"));
    }
    // The sign across the face pairs no points, and some programs write any.
    if map.axis[a.side.axis] == b.side.axis {
        map.sign[a.side.axis] = if a.side.high == b.side.high { -1 } else { 1 };
    }
    for d in 0..3 {
        map.offset[d] = to[0][map.axis[d]] as isize - map.sign[d] * from[0][d] as isize;
    }
    let periodic = node.of("GridConnectivityProperty_t").any(|p| p.of("Periodic_t").next().is_some());
    let mut interface = Interface { a, b, map, motion: Motion::NONE };
    if periodic {
        let ends = [a.low, a.high].map(|end| map.node(end.map(|n| n as isize)));
        if !ends.iter().all(|end| (0..3).all(|c| (0..donor_points[c] as isize).contains(&end[c]))) {
            return Err(node.fault("its ranges do not fit each other"));
        }
        interface.motion = grid.motion_of(&interface);
    }
    // Both zones name a connection.
    if !grid.interfaces.iter().any(|i| (i.a, i.b) == (a, b) || (i.b, i.a) == (a, b)) {
        grid.interfaces.push(interface);
    }
    Ok(())
}
