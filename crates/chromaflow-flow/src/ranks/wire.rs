//! Parts and pieces as bytes: arrays with their lengths before them, one after the other, in the byte order of the machine, which ranks of
//! one run share.

use super::{Part, Quality, RankPiece, Seam};
use crate::mesh::periodic::{Periods, Rotation};
use crate::mesh::vtk::{Cells, Piece};
use crate::mesh::{Marker, Mesh, Planar};
use bytemuck::{Pod, cast_slice};
use chromaflow::order::{PlanReport, Spread};

struct Packer(Vec<u8>);

impl Packer {
    fn list<T: Pod>(&mut self, values: &[T]) {
        self.0.extend_from_slice(&(values.len() as u64).to_ne_bytes());
        self.0.extend_from_slice(cast_slice(values));
    }

    fn mesh(&mut self, mesh: &Mesh) {
        self.list(mesh.nodes.as_flattened());
        self.list(mesh.tets.as_flattened());
        self.list(mesh.pyramids.as_flattened());
        self.list(mesh.prisms.as_flattened());
        self.list(mesh.hexes.as_flattened());
        self.list(&[mesh.markers.len() as u64]);
        for marker in &mesh.markers {
            self.list(marker.name.as_bytes());
            self.list(&marker.code.map_or([0, 0], |code| [1, code]));
            self.list(marker.triangles.as_flattened());
            self.list(marker.quads.as_flattened());
        }
        let planar = mesh.planar.map(|planar| [planar.nodes_2d as f64, planar.depth]);
        self.list(planar.as_ref().map_or(&[][..], |planar| planar));
        self.list(mesh.periods.steps().as_flattened());
    }
}

/// Numbers from bytes at any place.
pub fn values<T: Pod>(bytes: &[u8]) -> Vec<T> {
    bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()
}

struct Unpacker<'a>(&'a [u8]);

impl Unpacker<'_> {
    fn list<T: Pod>(&mut self) -> Option<Vec<T>> {
        let (length, rest) = self.0.split_at_checked(8)?;
        let count = usize::try_from(bytemuck::pod_read_unaligned::<u64>(length)).ok()?;
        let (list, rest) = rest.split_at_checked(count.checked_mul(size_of::<T>())?)?;
        self.0 = rest;
        Some(values(list))
    }

    /// A list whose entries come in groups.
    fn groups<T: Pod, const N: usize>(&mut self) -> Option<Vec<[T; N]>> {
        let list = self.list::<T>()?;
        let (groups, []) = list.as_chunks::<N>() else { return None };
        Some(groups.to_vec())
    }

    fn mesh(&mut self) -> Option<Mesh> {
        let mut mesh = Mesh {
            nodes: self.groups()?,
            tets: self.groups()?,
            pyramids: self.groups()?,
            prisms: self.groups()?,
            hexes: self.groups()?,
            ..Mesh::default()
        };
        let [markers] = self.list::<u64>()?.try_into().ok()?;
        for _ in 0..markers {
            let name = String::from_utf8(self.list()?).ok()?;
            let [coded, code] = self.list::<i32>()?.try_into().ok()?;
            let code = (coded == 1).then_some(code);
            let (triangles, quads) = (self.groups()?, self.groups()?);
            mesh.markers.push(Marker { name, triangles, quads, code, partner: None });
        }
        mesh.planar = match self.list::<f64>()?[..] {
            [nodes, depth] => Some(Planar { nodes_2d: nodes as usize, depth }),
            [] => None,
            _ => return None,
        };
        mesh.periods = Periods::new(&self.groups()?)?;
        Some(mesh)
    }
}

/// The bytes of a part.
pub fn pack(part: &Part) -> Vec<u8> {
    let mut out = Packer(Vec::new());
    out.mesh(&part.mesh);
    out.list(&part.global);
    out.list(&part.element_colors);
    out.list(&part.owner);
    out.list(&part.complete);
    out.list(&part.file);
    out.list(&part.colors);
    out.list(&part.lines);
    out.list(part.whole.as_flattened());
    let r = &part.report;
    let spread = |s: &Spread| [s.bandwidth as u64, s.profile];
    let counts = [r.rows, r.edges, r.max_degree, r.colors, r.smallest, r.largest, r.lines, r.in_lines];
    let counts = counts.map(|n| n as u64);
    out.list(&[&counts[..], &spread(&r.before), &spread(&r.after)].concat());
    out.mesh(&part.surface);
    let q = &part.quality;
    out.list(&[u64::from(q.ranks), q.balance.to_bits(), q.cut, q.rows[0], q.rows[1]]);
    let seam = part.seam.as_ref().map(|seam| {
        let Rotation { point, axis, angle } = seam.rotation;
        [&point[..], &axis, &[angle]].concat()
    });
    out.list(&seam.unwrap_or_default());
    let images = || part.seam.iter().flat_map(|seam| &seam.images);
    out.list(&images().flat_map(|&(row, of, _)| [row, of]).collect::<Vec<_>>());
    out.list(&images().map(|image| image.2).collect::<Vec<_>>());
    out.list(part.seam.as_ref().map_or(&[][..], |seam| &seam.on_axis));
    out.0
}

/// A part from its bytes; none where they are not those of one.
pub fn unpack(bytes: &[u8]) -> Option<Part> {
    let mut from = Unpacker(bytes);
    let mesh = from.mesh()?;
    let (global, element_colors) = (from.list()?, from.list()?);
    let (owner, complete) = (from.list()?, from.list()?);
    let (file, colors, lines, whole) = (from.list()?, from.list()?, from.list()?, from.groups()?);
    let counts: [u64; 12] = from.list::<u64>()?.try_into().ok()?;
    let [rows, edges, max_degree, colors_in_all, smallest, largest, lines_in_all, in_lines, b0, b1, a0, a1] =
        counts.map(|n| n as usize);
    let spread = |bandwidth, profile: usize| Spread { bandwidth, profile: profile as u64 };
    let (before, after) = (spread(b0, b1), spread(a0, a1));
    let report = PlanReport {
        rows,
        edges,
        max_degree,
        before,
        after,
        colors: colors_in_all,
        smallest,
        largest,
        lines: lines_in_all,
        in_lines,
    };
    let surface = from.mesh()?;
    let [ranks, balance, cut, fewest, most] = from.list::<u64>()?.try_into().ok()?;
    let quality =
        Quality { ranks: ranks as u32, balance: f64::from_bits(balance), cut, rows: [fewest, most] };
    let rotation: Vec<f64> = from.list()?;
    let (rows, turns) = (from.groups::<u32, 2>()?, from.list::<i32>()?);
    let images = rows.into_iter().zip(turns).map(|([row, of], turns)| (row, of, turns)).collect();
    let on_axis = from.list()?;
    let seam = match rotation[..] {
        [p, q, r, x, y, z, angle] => {
            let rotation = Rotation { point: [p, q, r], axis: [x, y, z], angle };
            Some(Seam { rotation, images, on_axis })
        }
        [] => None,
        _ => return None,
    };
    from.0.is_empty().then_some(Part {
        mesh,
        global,
        element_colors,
        owner,
        complete,
        file,
        colors,
        lines,
        whole,
        report,
        surface,
        quality,
        seam,
    })
}

/// The bytes of a piece.
pub fn pack_piece(RankPiece { piece, rows, turns }: &RankPiece) -> Vec<u8> {
    let mut out = Packer(Vec::new());
    out.list(&piece.nodes);
    out.list(piece.places.as_flattened());
    out.list(&piece.ghosts);
    out.list(&piece.cells.connectivity);
    out.list(&piece.cells.offsets);
    out.list(&piece.cells.types);
    out.list(rows);
    out.list(turns);
    out.0
}

/// A piece from its bytes; none where they are not those of one.
pub fn unpack_piece(bytes: &[u8]) -> Option<RankPiece> {
    let mut from = Unpacker(bytes);
    let (nodes, places, ghosts) = (from.list()?, from.groups()?, from.list()?);
    let cells = Cells { connectivity: from.list()?, offsets: from.list()?, types: from.list()? };
    let (rows, turns) = (from.list()?, from.list()?);
    from.0.is_empty().then_some(RankPiece { piece: Piece { nodes, places, ghosts, cells }, rows, turns })
}
