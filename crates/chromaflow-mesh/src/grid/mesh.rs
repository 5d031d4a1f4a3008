//! A structured grid as an unstructured mesh.

use super::{Block, Grid};
use crate::{Field, Marker, Mesh, Planar};

impl Grid {
    /// The grid as hexahedra, with the patches as markers: what files for ParaView are written from. Each block keeps points
    /// of its own on interfaces, so the mesh is not connected across them. Points are those of the blocks one after another,
    /// i fastest.
    ///
    /// A grid that is one layer of cells along k, between planes z = const that are the markers [`Planar::FRONT`] and
    /// [`Planar::BACK`], becomes a planar mesh: its points are all blocks' points at k = 0, then those at k = 1.
    ///
    /// # Panics
    /// When there are 2^32 points or more.
    pub fn to_mesh(&self) -> Mesh {
        self.numbered_mesh().0
    }

    /// Fields on the points of [`Grid::to_mesh`] as fields on the points of the blocks, one block after another: the same but of
    /// grids that become planar meshes, which have plane after plane.
    ///
    /// # Panics
    /// If a field is not as long as the points.
    pub fn by_block(&self, fields: &[Field]) -> Vec<Field> {
        let numbers = Numbers::of(self);
        let order: Vec<usize> = (self.blocks.iter().enumerate())
            .flat_map(|(b, block)| {
                let [ni, nj, nk] = block.points;
                let numbers = &numbers;
                (0..ni * nj * nk).map(move |p| numbers.node(b, [p % ni, p / ni % nj, p / (ni * nj)]) as usize)
            })
            .collect();
        let moved = fields.iter().map(|field| {
            let c = field.components;
            assert_eq!(field.values.len(), order.len() * c, "field {} has the wrong length", field.name);
            let values = order.iter().flat_map(|&n| field.values[n * c..(n + 1) * c].iter().copied());
            Field::vector(&field.name, c, values.collect())
        });
        moved.collect()
    }

    /// The distance of its planes, of a grid that becomes a planar mesh.
    pub fn planar_depth(&self) -> Option<f64> {
        let markers = self.markers();
        if self.planar_axis() != Some(2) || ![Planar::FRONT, Planar::BACK].iter().all(|m| markers.contains(m))
        {
            return None;
        }
        let level = |b: &Block| {
            let [front, back] = [0, 1].map(|k| b.node([0, 0, k])[2]);
            let (first, second) = b.nodes.split_at(b.points[0] * b.points[1]);
            let flat = first.iter().all(|x| x[2] == front) && second.iter().all(|x| x[2] == back);
            flat.then_some((back - front).abs())
        };
        let depths: Option<Vec<f64>> = self.blocks.iter().map(level).collect();
        depths?.first().copied()
    }

    /// The same mesh, and the numbers of its nodes.
    pub(super) fn numbered_mesh(&self) -> (Mesh, Numbers) {
        let (markers, depth, number) = (self.markers(), self.planar_depth(), Numbers::of(self));
        let count = number.count;
        let node = |b: usize, at: [usize; 3]| number.node(b, at);
        let mut mesh =
            Mesh { planar: depth.map(|depth| Planar { nodes_2d: count, depth }), ..Mesh::default() };
        mesh.nodes = if depth.is_some() {
            (0..2)
                .flat_map(|k| {
                    self.blocks.iter().flat_map(move |b| {
                        let plane = b.points[0] * b.points[1];
                        b.nodes[k * plane..(k + 1) * plane].iter().copied()
                    })
                })
                .collect()
        } else {
            self.blocks.iter().flat_map(|b| b.nodes.iter().copied()).collect()
        };
        let right_handed: Vec<bool> = self.blocks.iter().map(Block::is_right_handed).collect();
        for (b, block) in self.blocks.iter().enumerate() {
            let [ni, nj, nk] = block.cells();
            let turn = if right_handed[b] {
                [(0, 0), (1, 0), (1, 1), (0, 1)]
            } else {
                [(0, 0), (0, 1), (1, 1), (1, 0)]
            };
            mesh.hexes.reserve(ni * nj * nk);
            for n in 0..ni * nj * nk {
                let [i, j, k] = [n % ni, n / ni % nj, n / (ni * nj)];
                let layer = |k: usize| turn.map(|(di, dj)| node(b, [i + di, j + dj, k]));
                let [low, high] = [layer(k), layer(k + 1)];
                mesh.hexes.push([low[0], low[1], low[2], low[3], high[0], high[1], high[2], high[3]]);
            }
        }
        mesh.markers =
            markers.iter().map(|name| Marker { name: (*name).to_owned(), ..Marker::default() }).collect();
        for patch in &self.patches {
            let w = patch.window;
            let marker =
                mesh.markers.iter_mut().find(|m| m.name == patch.name).expect("a marker of each patch");
            for cell in w.cells() {
                let outward = w.corners(cell).map(|at| node(w.block, at));
                let [a, b, c, d] = outward;
                marker.quads.push(if w.side.high == right_handed[w.block] { outward } else { [a, d, c, b] });
            }
        }
        (mesh, number)
    }
}

/// Numbers of a grid's points as nodes of its mesh.
pub(super) struct Numbers {
    first: Vec<usize>,
    shapes: Vec<[usize; 3]>,
    /// Whether they are numbered plane by plane, as those of planar meshes.
    planar: bool,
    /// All points; of planar meshes those of a plane.
    count: usize,
}

impl Numbers {
    fn of(grid: &Grid) -> Self {
        let planar = grid.planar_depth().is_some();
        let (mut first, mut count) = (Vec::new(), 0);
        for block in &grid.blocks {
            first.push(count);
            count += if planar { block.points[0] * block.points[1] } else { block.nodes.len() };
        }
        assert!(u32::try_from(2 * count).is_ok(), "fewer than 2^32 points");
        let shapes = grid.blocks.iter().map(|b| b.points).collect();
        Self { first, shapes, planar, count }
    }

    pub(super) fn node(&self, block: usize, [i, j, k]: [usize; 3]) -> u32 {
        let [ni, nj, _] = self.shapes[block];
        let row = i + ni * j;
        (self.first[block] + row + k * if self.planar { self.count } else { ni * nj }) as u32
    }
}
