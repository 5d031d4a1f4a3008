//! The rows of a rank: what passes between it and others, and where its nodes stand in the mesh's file.

use super::wire;
use super::{FileRows, Kept, Part, Quality, RankPiece, Seam, Whole};
use chromaflow::dist::{Share, ShareError, SweepExchange};
use chromaflow::{BlockPattern, Jacobian, OffDiagonal};
use chromaflow_comm::{CommError, Communicator, Tag};
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

/// The rows of a rank in a flow solver.
#[derive(Debug)]
pub struct Rows {
    /// Which rows it owns, and what is exchanged.
    pub share: Arc<Share>,
    /// Number of each row in the mesh's file.
    pub file: Vec<u32>,
    /// What rank 0 keeps of the whole mesh's order.
    pub whole: Option<Whole>,
    /// What each rank keeps of a mesh that none has whole.
    pub kept: Option<Kept>,
    /// How the mesh was divided.
    pub quality: Quality,
    /// How messages pass between devices, where devices compute.
    pub halo: Option<String>,
    /// What repeats when it is turned, where that is.
    pub seam: Option<Seam>,
    /// This rank's piece of the mesh's file, once fields were written in pieces.
    pub piece: OnceLock<RankPiece>,
    /// Which nodes of the file its rows are, once a restart was written or read by ranges.
    pub in_file: OnceLock<FileRows>,
    /// Rows whose elements are not all here.
    outer: Vec<u32>,
}

impl Rows {
    /// Of a part, whose matrices have this pattern; collective. `exact`: sums do not depend on the number of ranks; `sweeps`: when those
    /// exchange.
    ///
    /// # Errors
    /// [`ShareError`].
    pub fn new(
        ranks: &Arc<dyn Communicator>,
        part: &Part,
        whole: Option<Whole>,
        pattern: &BlockPattern,
        exact: bool,
        sweeps: SweepExchange,
    ) -> Result<Self, ShareError> {
        let costs: Vec<[usize; 2]> = part.whole.iter().map(|w| w.map(|n| n as usize)).collect();
        let batches = part.batches();
        let global = part.global.clone();
        let images = part.seam.as_ref().map(Seam::images).unwrap_or_default();
        let owners = (&part.owner[..], images);
        let share = Share::with_images(Arc::clone(ranks), pattern, &batches, &costs, global, owners)?;
        // Rows next to owned ones are complete, see `Part::complete`.
        let share = share.overlapping().exchanging(sweeps);
        let outer = (0..).zip(&part.complete).filter(|(_, complete)| **complete == 0);
        Ok(Self {
            share: Arc::new(if exact { share.exactly() } else { share }),
            file: part.file.clone(),
            whole,
            kept: None,
            quality: part.quality,
            seam: part.seam.clone(),
            halo: None,
            piece: OnceLock::new(),
            in_file: OnceLock::new(),
            outer: outer.map(|(row, _)| row).collect(),
        })
    }

    /// Rows whose elements are not all here, and which nobody solves for.
    #[cfg(feature = "cuda")]
    pub(crate) fn incomplete(&self) -> &[u32] {
        &self.outer
    }

    /// Where sides are turned, a place on their axis, and the axis.
    pub fn turns_about(&self) -> Option<[[f64; 3]; 2]> {
        self.seam.as_ref().map(|seam| [seam.rotation.point, seam.rotation.axis])
    }

    /// The share of a node's control volume that lies in the sector of the mesh: all of it but on the axis, where all sectors meet.
    pub fn in_sector(&self, row: u32) -> f64 {
        match &self.seam {
            Some(seam) if seam.on_axis.binary_search(&row).is_ok() => {
                1.0 / f64::from(seam.rotation.sectors().unwrap_or(1))
            }
            _ => 1.0,
        }
    }

    /// Makes rows whose elements are not all here, and which nobody solves for, rows of the identity: they can be inverted, and have no
    /// say in what is largest.
    pub fn identities(&self, jacobian: &mut Jacobian) {
        let (nb, q) = (jacobian.nb(), jacobian.nb() * jacobian.nb());
        let pattern = Arc::clone(jacobian.pattern());
        for &row in &self.outer {
            for (e, entry) in jacobian.diag[row as usize * q..][..q].iter_mut().enumerate() {
                *entry = if e % (nb + 1) == 0 { 1.0 } else { 0.0 };
            }
            let range = pattern.range(row as usize);
            let range = range.start * q..range.end * q;
            match &mut jacobian.off {
                OffDiagonal::F64(off) => off[range].fill(0.0),
                OffDiagonal::F32(off) => off[range].fill(0.0),
                OffDiagonal::F16 { .. } => unreachable!("an assembly has blocks in f64 or f32"),
            }
        }
    }

    /// Values of all rows of the mesh on rank 0, by their numbers in the whole mesh; nothing elsewhere, nor where ranks have failed
    /// ([`Share::check`] says so). Collective.
    ///
    /// **Shapes**: values `[rows, width]`, out `[rows of the mesh, width]`.
    pub fn gather(&self, width: usize, values: &[f64]) -> Vec<f64> {
        gather(&self.share, width, values)
    }

    /// On rank 0, the row of each node of the mesh's file; none elsewhere, nor where ranks have failed. Where no rank has the mesh it is gathered, and
    /// nobody keeps it. Collective.
    pub fn of_file(&self) -> Option<Cow<'_, [u32]>> {
        if self.kept.is_none() {
            return Some(Cow::Borrowed(self.whole.as_ref()?.permutation.new_of_old()));
        }
        let file: Vec<f64> = self.file.iter().map(|&node| f64::from(node)).collect();
        let all: Vec<u32> = self.gather(1, &file).into_iter().map(|node| node as u32).collect();
        if self.share.ranks().rank() > 0 {
            return None;
        }
        let twins = self.kept.as_ref().map_or(&[][..], |kept| &kept.twins);
        let mut rows = vec![u32::MAX; all.len() + twins.len()];
        for (row, node) in (0..).zip(all) {
            *rows.get_mut(node as usize)? = row;
        }
        for &(node, lowest, _) in twins {
            *rows.get_mut(node as usize)? = *rows.get(lowest as usize)?;
        }
        (!rows.contains(&u32::MAX)).then_some(Cow::Owned(rows))
    }

    /// Values on the nodes of [`Kept::surface`], the boundary of a mesh that no rank has whole, on rank 0; nothing elsewhere, nor
    /// where ranks have failed. Collective.
    pub fn on_surface(&self, kept: &Kept, width: usize, values: &[f64]) -> Vec<f64> {
        let (ranks, global) = (&**self.share.ranks(), self.share.global());
        let here = |row: &u32| global.binary_search(row).ok().filter(|&at| self.share.owns(at));
        let found = (0_u32..).zip(&kept.surface_rows).filter_map(|(place, row)| Some((place, here(row)?)));
        let (places, own): (Vec<u32>, Vec<usize>) = found.unzip();
        let own: Vec<f64> = own.iter().flat_map(|&at| &values[at * width..][..width]).copied().collect();
        let gather = |bytes: &[u8]| ranks.gather(0, bytes).unwrap_or_default();
        let (places, values) = (gather(bytemuck::cast_slice(&places)), gather(bytemuck::cast_slice(&own)));
        let rows = if ranks.rank() == 0 { kept.surface_rows.len() } else { 0 };
        let mut out = vec![f64::NAN; rows * width];
        for (places, values) in places.iter().zip(&values) {
            let (places, values) = (wire::values::<u32>(places), wire::values::<f64>(values));
            for (&place, values) in places.iter().zip(values.chunks_exact(width)) {
                out[place as usize * width..][..width].copy_from_slice(values);
            }
        }
        if kept.surface.planar.is_some() {
            out.extend_from_within(..);
        }
        out
    }

    /// Values by rows here from values by the file's numbers on rank 0; collective.
    ///
    /// **Shapes**: values `[nodes of the file or more, width]` on rank 0, out `[rows, width]`.
    ///
    /// # Errors
    /// [`CommError`].
    pub fn scatter(&self, width: usize, values: &[f64]) -> Result<Vec<f64>, CommError> {
        scatter(&**self.share.ranks(), &self.file, width, values)
    }
}

/// As [`Rows::gather`].
pub(super) fn gather(share: &Share, width: usize, values: &[f64]) -> Vec<f64> {
    let rows = if share.ranks().rank() == 0 { share.whole() } else { 0 };
    share.gather(width, values).unwrap_or_else(|_| vec![f64::NAN; rows * width])
}

/// Values of the rows with these numbers on this rank, from values of all on rank 0; collective.
pub(super) fn scatter(
    ranks: &dyn Communicator,
    numbers: &[u32],
    width: usize,
    values: &[f64],
) -> Result<Vec<f64>, CommError> {
    let pick = |numbers: &[u32]| -> Vec<f64> {
        numbers.iter().flat_map(|&i| &values[i as usize * width..][..width]).copied().collect()
    };
    let asked = ranks.gather(0, bytemuck::cast_slice(numbers))?;
    if ranks.rank() > 0 {
        let bytes = ranks.receive(0, Tag::Collective)?;
        let expected = 8 * width * numbers.len();
        if bytes.len() != expected {
            return Err(CommError::Length { from: 0, expected, found: bytes.len() });
        }
        return Ok(wire::values(&bytes));
    }
    for (to, asked) in asked.iter().enumerate().skip(1) {
        let numbers: Vec<u32> = wire::values(asked);
        ranks.send(to, Tag::Collective, bytemuck::cast_slice(&pick(&numbers)).to_vec())?;
    }
    Ok(pick(numbers))
}
