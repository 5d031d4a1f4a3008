//! What is seen of a model from outside: fields.

use super::super::IncompressibleSystem;
use super::super::shear::OnBlocks;
use super::super::space::Block;
use super::Turbulence;
use crate::turbulence::hybrid::FIELDS;

impl IncompressibleSystem {
    /// Of turbulent flow, on the points of this rank's blocks: eddy viscosity over the fluid's, and what [`Self::hybrid_fields`] says.
    pub(in super::super) fn turbulence_fields(&self) -> Vec<OnBlocks> {
        let Some(turbulence) = &self.turbulence else { return Vec::new() };
        let blocks = &self.space.blocks;
        let mut ratios: Vec<Vec<f64>> = (turbulence.blocks.iter())
            .map(|eddies| eddies.coefficient(0).iter().map(|nu| nu / turbulence.nu).collect())
            .collect();
        for patch in &self.space.patches {
            for face in &patch.faces {
                let own = ratios[patch.block][face.cell];
                ratios[patch.block][face.ghost] = if patch.wall { -own } else { own };
            }
        }
        let ratios = blocks.iter().zip(&ratios).map(|(b, field)| b.point_values(&self.space.axes, field));
        let mut fields = vec![("eddy_viscosity_ratio".to_owned(), 1, ratios.collect())];
        fields.extend(self.hybrid_fields(turbulence));
        fields
    }

    /// Of hybrids, their length over that of RANS and the share of large eddy simulation.
    fn hybrid_fields(&self, turbulence: &Turbulence) -> Vec<OnBlocks> {
        let space = &self.space;
        if turbulence.form.is_none() {
            return Vec::new();
        }
        let of_cells = |block: &Block| {
            let (len, mut field) = (block.cells.len(), vec![0.0; 2 * block.cells.len()]);
            for row in block.rows() {
                (0..2).for_each(|c| field[c * len + block.at(row)] = turbulence.hybrid[2 * row + c]);
            }
            field
        };
        let mut fields: Vec<Vec<f64>> = space.blocks.iter().map(of_cells).collect();
        space.part.exchange.fill(&mut fields.iter_mut().map(|f| &mut f[..]).collect::<Vec<_>>(), 2);
        for patch in &space.patches {
            let (len, field) = (space.blocks[patch.block].cells.len(), &mut fields[patch.block]);
            for face in &patch.faces {
                (0..2).for_each(|c| field[c * len + face.ghost] = field[c * len + face.cell]);
            }
        }
        let of_points = |c: usize| {
            let of = |(block, field): (&Block, &Vec<f64>)| {
                let len = block.cells.len();
                block.point_values(&space.axes, &field[c * len..(c + 1) * len])
            };
            space.blocks.iter().zip(&fields).map(of).collect()
        };
        FIELDS.into_iter().enumerate().map(|(c, name)| (name.to_owned(), 1, of_points(c))).collect()
    }
}
