//! A rank's piece of the mesh's file: what it writes where fields are written in pieces.

use super::{Kept, wire};
use crate::mesh::Mesh;
use crate::mesh::vtk::{Piece, Pieces};
use crate::output::Field;
use chromaflow::dist::Share;
use chromaflow_comm::{CommError, Communicator, Tag};

/// Cells whose first node a rank owns, and where the values of their nodes are. The nodes are those of the file: where periodic sides
/// were merged, several of them have one row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RankPiece {
    /// Points and cells.
    pub piece: Piece,
    /// The row of each point.
    pub rows: Vec<u32>,
    /// How often each point's vectors are turned, where periodic sides are; else empty.
    pub turns: Vec<i8>,
}

/// What rank 0 knows of the nodes of the mesh's file.
pub struct FileNodes {
    /// The rank that owns each.
    pub owner: Vec<u32>,
    /// Its row in the whole mesh.
    pub rows: Vec<u32>,
    /// How often its vectors are turned, where periodic sides are.
    pub turns: Option<Vec<i8>>,
}

impl RankPiece {
    /// Cut by rank 0, which has the mesh and knows its nodes, and sent to all; collective.
    ///
    /// # Errors
    /// [`CommError`].
    pub fn new(share: &Share, whole: Option<(&Mesh, FileNodes)>) -> Result<Self, CommError> {
        let ranks = &**share.ranks();
        let own = if let Some((mesh, nodes)) = whole {
            let pieces = Pieces::new(mesh, &nodes.owner);
            let cut = |rank: usize| {
                let piece = pieces.piece(rank);
                let at = |of: &Vec<i8>| piece.nodes.iter().map(|&n| of[n as usize]).collect();
                let rows = piece.nodes.iter().map(|&n| nodes.rows[n as usize]).collect();
                Self { rows, turns: nodes.turns.as_ref().map(at).unwrap_or_default(), piece }
            };
            (1..ranks.size())
                .try_for_each(|rank| ranks.send(rank, Tag::Collective, wire::pack_piece(&cut(rank))))?;
            cut(0)
        } else {
            let bytes = ranks.receive_patiently(0, Tag::Collective)?;
            let length = CommError::Length { from: 0, expected: bytes.len(), found: bytes.len() };
            wire::unpack_piece(&bytes).ok_or(length)?
        };
        // Elements around an owned row are here with all their rows.
        let here = |row: u32| share.global().binary_search(&row).expect("a row of a rank's element") as u32;
        Ok(Self { rows: own.rows.into_iter().map(here).collect(), ..own })
    }

    /// Of a rank's part of a mesh that no rank has whole. Points have the numbers of what it keeps.
    pub fn of_part(kept: &Kept, rank: usize) -> Self {
        let piece = Pieces::new(&kept.mesh, &kept.owner).piece(rank);
        let rows = piece.nodes.iter().map(|&node| kept.rows[node as usize]).collect();
        Self { rows, turns: Vec::new(), piece }
    }

    /// A field by rows of the rank as one by points; `turn` turns the numbers of a point so many times. Collective.
    ///
    /// # Errors
    /// [`CommError`].
    pub fn on_points(
        &self,
        share: &Share,
        field: Field,
        turn: impl Fn(i8, &mut [f64]),
    ) -> Result<Field, CommError> {
        let (c, mut by_row) = (field.components, field.values);
        share.halo().exchange(&**share.ranks(), c, &mut by_row)?;
        let mut values = Vec::with_capacity(c * self.rows.len());
        for (point, &row) in self.rows.iter().enumerate() {
            values.extend_from_slice(&by_row[row as usize * c..][..c]);
            if let Some(&by) = self.turns.get(point) {
                turn(by, &mut values[c * point..]);
            }
        }
        Ok(Field { values, ..field })
    }

    /// Fields that rank 0 has, on the nodes of the file, as ones by points of each rank's piece; `names` and numbers of components are known
    /// to all. Collective.
    ///
    /// # Errors
    /// [`CommError`].
    pub fn scattered(
        &self,
        ranks: &dyn Communicator,
        names: &[(String, usize)],
        fields: &[Field],
    ) -> Result<Vec<Field>, CommError> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let asked = ranks.gather(0, bytemuck::cast_slice(&self.piece.nodes))?;
        let mut own = Vec::new();
        for (at, (name, c)) in names.iter().enumerate() {
            let values = if let Some(field) = fields.get(at) {
                let of = |nodes: &[u32]| -> Vec<f64> {
                    nodes.iter().flat_map(|&n| &field.values[n as usize * c..][..*c]).copied().collect()
                };
                for (to, nodes) in asked.iter().enumerate().skip(1) {
                    let values = of(&wire::values::<u32>(nodes));
                    ranks.send(to, Tag::Collective, bytemuck::cast_slice(&values).to_vec())?;
                }
                of(&self.piece.nodes)
            } else {
                let bytes = ranks.receive_patiently(0, Tag::Collective)?;
                let expected = 8 * c * self.rows.len();
                if bytes.len() != expected {
                    return Err(CommError::Length { from: 0, expected, found: bytes.len() });
                }
                wire::values(&bytes)
            };
            own.push(Field::vector(name, *c, values));
        }
        Ok(own)
    }
}
