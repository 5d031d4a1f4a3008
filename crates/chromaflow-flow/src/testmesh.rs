//! A small mesh of all four element types for tests.

use crate::grid::generate::BoxGrid;
use crate::grid::{Block, Grid, Interface, Patch};
use crate::mesh::periodic::{Motion, Rotation, product};
use crate::mesh::{Marker, Mesh};
use std::collections::HashMap;
use std::f64::consts::TAU;

/// The unit cube of n x n x n cells: hexahedra, columns of prisms, and cells cut from their centers into pyramids and, where
/// two such cells meet, tetrahedra. Interior nodes are moved by up to `jitter` cell widths. Boundary faces lie on the
/// markers `x0 x1 y0 y1 z0 z1`.
pub fn mixed_cube(n: usize, jitter: f64) -> Mesh {
    let id = |i: usize, j: usize, k: usize| ((k * (n + 1) + j) * (n + 1) + i) as u32;
    let mut mesh = Mesh::default();
    let mut state = 7_u64;
    let mut random = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    };
    for k in 0..=n {
        for j in 0..=n {
            for i in 0..=n {
                mesh.nodes.push([i, j, k].map(|a| {
                    let moved = if a == 0 || a == n { 0.0 } else { 2.0 * jitter * random() };
                    (a as f64 + moved) / n as f64
                }));
            }
        }
    }
    // 0 hexahedron, 1 prism, 2 cut from the center.
    let kind = |i: usize, j: usize| (i / 2 + j / 2) % 3;
    for k in 0..n {
        for j in 0..n {
            for i in 0..n {
                let v = [
                    id(i, j, k),
                    id(i + 1, j, k),
                    id(i + 1, j + 1, k),
                    id(i, j + 1, k),
                    id(i, j, k + 1),
                    id(i + 1, j, k + 1),
                    id(i + 1, j + 1, k + 1),
                    id(i, j + 1, k + 1),
                ];
                match kind(i, j) {
                    0 => mesh.hexes.push(v),
                    1 => {
                        mesh.prisms.push([v[0], v[1], v[2], v[4], v[5], v[6]]);
                        mesh.prisms.push([v[0], v[2], v[3], v[4], v[6], v[7]]);
                    }
                    _ => {
                        let center = mesh.nodes.len() as u32;
                        let mut x = [0.0; 3];
                        for &a in &v {
                            for d in 0..3 {
                                x[d] += mesh.nodes[a as usize][d] / 8.0;
                            }
                        }
                        mesh.nodes.push(x);
                        // Faces counterclockwise seen from the center, with the neighbor across each.
                        let side = |di: isize, dj: isize| {
                            let (p, q) = (i as isize + di, j as isize + dj);
                            (0..n as isize).contains(&p)
                                && (0..n as isize).contains(&q)
                                && kind(p as usize, q as usize) == 2
                        };
                        let faces = [
                            ([0, 1, 2, 3], true),
                            ([4, 7, 6, 5], true),
                            ([0, 4, 5, 1], side(0, -1)),
                            ([1, 5, 6, 2], side(1, 0)),
                            ([2, 6, 7, 3], side(0, 1)),
                            ([3, 7, 4, 0], side(-1, 0)),
                        ];
                        for (f, cut) in faces {
                            let q = f.map(|a: usize| v[a]);
                            if cut {
                                // Along the diagonal from the lowest node, so that neighbors agree.
                                let low = (0..4).min_by_key(|&a| q[a]).expect("four nodes");
                                let r = [0, 1, 2, 3].map(|a| q[(low + a) % 4]);
                                mesh.tets.push([r[0], r[1], r[2], center]);
                                mesh.tets.push([r[0], r[2], r[3], center]);
                            } else {
                                mesh.pyramids.push([q[0], q[1], q[2], q[3], center]);
                            }
                        }
                    }
                }
            }
        }
    }
    mesh.markers = boundary(&mesh);
    mesh
}

/// Faces that belong to one element only, sorted onto the six sides of the unit cube.
fn boundary(mesh: &Mesh) -> Vec<Marker> {
    let mut faces: HashMap<Vec<u32>, Option<Vec<u32>>> = HashMap::new();
    for (kind, nodes) in crate::dual::elements(mesh) {
        for face in kind.faces() {
            let face: Vec<u32> = face.iter().map(|&i| nodes[i]).collect();
            let mut key = face.clone();
            key.sort_unstable();
            faces.entry(key).and_modify(|f| *f = None).or_insert(Some(face));
        }
    }
    let mut sides: Vec<Vec<u32>> = faces.into_values().flatten().collect();
    sides.sort_unstable();
    ["x0", "x1", "y0", "y1", "z0", "z1"]
        .iter()
        .enumerate()
        .map(|(s, name)| {
            let (axis, at) = (s / 2, (s % 2) as f64);
            let mut marker = Marker { name: (*name).to_owned(), ..Marker::default() };
            for face in &sides {
                if face.iter().all(|&i| (mesh.nodes[i as usize][axis] - at).abs() < 1e-12) {
                    match *face.as_slice() {
                        [a, b, c] => marker.triangles.push([a, b, c]),
                        [a, b, c, d] => marker.quads.push([a, b, c, d]),
                        _ => unreachable!("faces have three or four nodes"),
                    }
                }
            }
            marker
        })
        .collect()
}

/// Of sectors along their axis.
pub const LENGTH: f64 = 1.2;

/// The axial place, the radius and the angle moved by what repeats `n` times around the axis; the sides of the sector are curved.
pub fn moved([r, angle, x]: [f64; 3], n: usize) -> [f64; 3] {
    let (a, b) = (n as f64 * angle, TAU * x / LENGTH);
    let r = r + 0.03 * (a + 0.3).sin() * (TAU * r).sin();
    let angle = angle + (0.15 * (1.3 * b).sin() + 0.2 * (r - 0.6)) / n as f64 + 0.02 * (a + b).sin();
    let x = x + 0.02 * (a + 3.0 * r).cos() * (0.5 * b).sin();
    [x, r * angle.cos(), r * angle.sin()]
}

/// A flow that repeats `n` times around the axis and varies everywhere; on the axis it lies along it.
pub fn swirling(x: [f64; 3], n: usize) -> [f64; 5] {
    let r = (x[1] * x[1] + x[2] * x[2]).sqrt();
    let (sin, cos) = if r > 0.0 { (x[2] / r, x[1] / r) } else { (0.0, 1.0) };
    let (a, b) = (n as f64 * x[2].atan2(x[1]), TAU * x[0] / LENGTH);
    let wave = |phase: f64| r * (a + phase).sin();
    let (radial, around) = (0.1 * wave(0.4) * b.cos(), 0.2 * r + 0.1 * wave(1.0));
    [
        1.0 + 0.1 * wave(0.1) + 0.1 * b.sin(),
        0.4 + 0.1 * wave(2.0) * (b + 0.5).cos() + 0.05 * r,
        radial * cos - around * sin,
        radial * sin + around * cos,
        (1.0 + 0.1 * wave(-0.5) + 0.1 * (b + 0.2).cos()) / 1.4,
    ]
}

/// One sector of `n` of a ring about the x axis, between the radii 0.5 and 1.3 (`xmin`, `xmax`), the sides `ymin` and `ymax`, and the ends `zmin` and
/// `zmax` along the axis: cells along the radius, around and along the axis. Its sides are curved.
pub fn sector(cells: [usize; 3], n: usize) -> Grid {
    let mut grid = BoxGrid { cells, size: [1.0; 3], wave: 0.0 }.grid();
    for x in &mut grid.blocks[0].nodes {
        *x = moved([0.5 + 0.8 * x[0], TAU / n as f64 * x[1], LENGTH * x[2]], n);
    }
    grid
}

/// All `n` of a sector about the x axis, blocks of their own that meet.
pub fn ring_of(sector: &Grid, n: usize) -> Grid {
    let turn = Rotation { point: [0.0; 3], axis: [1.0, 0.0, 0.0], angle: TAU / n as f64 };
    let mut ring = Grid::default();
    for k in 0..n {
        let first = ring.blocks.len();
        let moved = sector.blocks.iter().map(|block| Block {
            nodes: block.nodes.iter().map(|x| turn.moved(k as i32, *x)).collect(),
            ..block.clone()
        });
        ring.blocks.extend(moved);
        let window =
            |w: crate::grid::Window, first: usize| crate::grid::Window { block: w.block + first, ..w };
        let patches = sector.patches.iter();
        ring.patches.extend(patches.map(|p| Patch { window: window(p.window, first), ..p.clone() }));
        for i in &sector.interfaces {
            // Side a is where side b of the next sector, or of the one before, is.
            let way = i.motion.rotation().map_or(0, |r| if r.angle > 0.0 { 1 } else { n - 1 });
            let blocks = sector.blocks.len();
            let other = (k + way) % n * blocks;
            ring.interfaces.push(Interface {
                a: window(i.a, first),
                b: window(i.b, other),
                motion: if way == 0 { i.motion } else { Motion::NONE },
                ..i.clone()
            });
        }
    }
    ring.check().unwrap();
    ring
}

/// A part of a ring between the radii 1 and 2 in a plane, between angles that are not a whole part of the circle.
pub fn arc(cells: [usize; 2], angle: f64) -> Grid {
    let [ni, nj] = cells;
    let block = Block::new([ni + 1, nj + 1, 2], |[i, j, k]| {
        let (r, angle) = (1.0 + i as f64 / ni as f64, angle * (j as f64 / nj as f64 + 0.3));
        [r * angle.cos(), r * angle.sin(), 0.1 * k as f64]
    });
    let names = ["inner", "outer", "low", "high", "front", "back"];
    let grid = Grid::one_block(block, names.map(Some)).periodic("low", "high").unwrap();
    grid.check().unwrap();
    grid
}

/// The largest difference of what sectors of a ring have, states of `n` numbers, from what one of them has, turned, over the largest of all.
pub fn off_turned(n: usize, one: &[f64], all: &[f64], sectors: usize) -> f64 {
    let turn = Rotation { point: [0.0; 3], axis: [1.0, 0.0, 0.0], angle: TAU / sectors as f64 };
    assert_eq!(one.len() * sectors, all.len());
    let size = one.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    let mut most = 0.0_f64;
    for (k, sector) in all.chunks_exact(one.len()).enumerate() {
        let matrix = turn.matrix(k as i32);
        for (a, b) in one.chunks_exact(n).zip(sector.chunks_exact(n)) {
            let mut turned = a.to_vec();
            turned[1..4].copy_from_slice(&product(&matrix, [a[1], a[2], a[3]]));
            turned.iter().zip(b).for_each(|(a, b)| most = most.max((a - b).abs()));
        }
    }
    assert!(size > 1e-4 && most.is_finite(), "{size}, {most}");
    most / size
}
