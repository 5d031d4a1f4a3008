//! Fields, heights at walls, the model's unknowns in restarts.

use super::super::block::BlockState;
use super::super::start::near_walls;
use super::super::{StructuredSolver, StructuredSystem};
use super::k_omega::hybrid_at;
use super::spalart_allmaras::SaTerms;
use super::{GridTurbulence, MOST, Model};
use crate::config::Hybrid;
use crate::equations::perfect_gas::State;
use crate::gas::{temperature, viscosity};
use crate::march::{FlowError, Spread};
use crate::on_grid::Shown;
use crate::output::{Field, Restart};
use crate::turbulence::hybrid::FIELDS;
use crate::turbulence::spalart_allmaras::{eddy_ratio, sa_viscosities};
use crate::wall_distance::NearWalls;

impl StructuredSolver {
    /// An unknown of the turbulence model of all cells, in the order of [`StructuredSolver::state`]; nothing where the model has none of this name.
    pub fn unknown(&self, name: &str) -> Option<Vec<f64>> {
        let host = self.synced();
        let v = host.coupled_unknowns().iter().position(|own| *own == name)?;
        Some(host.turbulence_of_cells(v, None))
    }

    /// Sets an unknown of the turbulence model from the coordinates of the centers of cells, at earlier time levels, too.
    ///
    /// # Errors
    /// [`FlowError::NoUnknown`] where the model has none of this name.
    pub fn set_unknown(&mut self, name: &str, value: impl Fn([f64; 3]) -> f64) -> Result<(), FlowError> {
        let values: Vec<f64> = self.cells().into_iter().map(|(x, _)| value(x)).collect();
        let host = self.host_to_set();
        let Some(v) = host.coupled_unknowns().iter().position(|own| *own == name) else {
            return Err(FlowError::NoUnknown { name: name.to_owned(), known: self.coupled_unknowns() });
        };
        host.take_turbulence(v, &values, None);
        Ok(())
    }
}

/// Endings of the names of restart fields: present values, the last time level, the one before.
const ENDINGS: [&str; 3] = ["", "_last", "_before"];

impl StructuredSystem {
    /// See [`March::walls`](crate::march::March::walls).
    pub(in crate::structured) fn heights_at_walls(&self) -> Vec<(String, [Spread; 2])> {
        if self.physics.transport.is_none() {
            return Vec::new();
        }
        let mut walls: Vec<(String, Vec<[f64; 3]>)> = Vec::new();
        for (name, heights) in self.wall_heights() {
            match walls.iter_mut().find(|(other, _)| *other == name) {
                Some((_, all)) => all.extend(heights),
                None => walls.push((name, heights)),
            }
        }
        let spread = |(name, all): (String, Vec<[f64; 3]>)| {
            let [height, units] = [0, 1].map(|c| Spread::of(all.iter().map(|face| (face[c], face[2])), None));
            Some((name, [height?, units?]))
        };
        walls.into_iter().filter_map(spread).collect()
    }

    /// Of turbulent flow, on points of these states: the model's unknowns, distance from walls, eddy viscosity over the gas's own and over rho_inf a_inf and the
    /// grid's length unit.
    pub(in crate::structured) fn turbulence_fields(&mut self, points: &[State]) -> Vec<Field> {
        let (Some(turbulence), Some(transport)) = (self.physics.turbulence, self.physics.transport) else {
            return Vec::new();
        };
        super::prepare(
            &self.team,
            &self.physics,
            turbulence,
            &self.patches,
            &mut self.blocks,
            &self.part.exchange,
        );
        let names = turbulence.names();
        let all: Vec<[f64; MOST + 1]> = self.on_points(|block, at| {
            let unknown = |v: usize| if v < names.len() { block.turbulence(v, at) } else { 0.0 };
            [unknown(0), unknown(1), block.eddies.viscosity[at]]
        });
        let mut shares: Vec<[f64; 2]> = Vec::new();
        if self.config.turbulence.as_ref().is_some_and(|config| config.hybrid != Hybrid::None) {
            shares = self.on_points(|block, at| self.hybrid_of(turbulence, block, at));
        }
        if points.is_empty() {
            return Vec::new(); // rank 0 has all of them
        }
        let both: Vec<[f64; 2]> = (points.iter().zip(&all))
            .map(|(w, [nut, _, eddies])| {
                let mu = viscosity(transport, temperature(self.physics.gas, w));
                match turbulence.model {
                    Model::SpalartAllmaras(sa) => {
                        let [nu, eddies] = sa_viscosities(sa, w[0], mu, *nut);
                        [eddy_ratio(nut / nu), eddies]
                    }
                    Model::KOmega(_) => [eddies / (transport.scale * mu), *eddies],
                }
            })
            .collect();
        let mesh = self.grid.to_mesh();
        let distance = near_walls((&self.grid, &mesh), self.all_patches(), &mesh.nodes, &self.team)
            .map_or_else(|_| NearWalls::nowhere(all.len()).distances(), |near| near.distances());
        let of = |(v, name): (usize, &&str)| Field::scalar(name, all.iter().map(|point| point[v]).collect());
        let mut fields: Vec<Field> = names.iter().enumerate().map(of).collect();
        fields.extend([
            Field::scalar("wall_distance", distance),
            Field::scalar("eddy_viscosity_ratio", both.iter().map(|pair| pair[0]).collect()),
            Field::scalar("eddy_viscosity", both.iter().map(|pair| pair[1]).collect()),
        ]);
        if !shares.is_empty() {
            for (c, name) in FIELDS.iter().enumerate() {
                fields.push(Field::scalar(name, shares.iter().map(|share| share[c]).collect()));
            }
        }
        fields
    }

    /// Of a hybrid, its length over that of RANS and the share of large eddy simulation in the cell at a place, or the cell of the block next to it.
    fn hybrid_of(&self, turbulence: GridTurbulence, block: &BlockState, at: usize) -> [f64; 2] {
        let (cell, count) = (block.cells.cell(at), block.cells.count);
        let cell = std::array::from_fn(|d| cell[d].clamp(0, count[d] as isize - 1) as usize);
        match turbulence.model {
            Model::SpalartAllmaras(sa) => {
                let terms = SaTerms::new(&self.physics, (sa, turbulence), &self.patches, block);
                let at = block.cells.inside(cell);
                let [length, share] = terms.length(cell, at, &terms.sheared(cell, at));
                [length / block.eddies.distance[block.number(cell)], share]
            }
            Model::KOmega(model) => hybrid_at(&self.physics, (model, turbulence), &self.patches, block, cell),
        }
    }

    /// An unknown of all cells, or that of an earlier time level.
    fn turbulence_of_cells(&self, v: usize, level: Option<usize>) -> Vec<f64> {
        let of = |block: &BlockState| {
            let values = level.map_or(&block.eddies.values, |level| &block.eddies.levels[level]);
            block.cells.places().map(|at| values[v * block.cells.len() + at]).collect::<Vec<_>>()
        };
        self.blocks.iter().flat_map(of).collect()
    }

    /// Puts the model's unknowns into a restart, of this rank's cells.
    pub(in crate::structured) fn store_turbulence(&self, restart: &mut Restart) {
        let levels = if self.config.unsteady().is_some() { ENDINGS.len() } else { 1 };
        for (v, name) in self.coupled_unknowns().iter().enumerate() {
            for (n, ending) in ENDINGS[..levels].iter().enumerate() {
                let values = self.turbulence_of_cells(v, n.checked_sub(1));
                restart.fields.push(Field::scalar(&format!("{name}{ending}"), values));
            }
        }
    }

    /// The model's unknowns in a restart, at its first `levels` time levels, unknowns of a level one after another; none where there is no model, or the restart was
    /// written without all of them.
    pub(in crate::structured) fn turbulence_of(
        &self,
        restart: &Restart,
        levels: usize,
    ) -> Result<Vec<Vec<f64>>, FlowError> {
        let (Some(turbulence), names) = (self.physics.turbulence, self.coupled_unknowns()) else {
            return Ok(Vec::new());
        };
        if names.iter().any(|name| restart.field(name).is_none()) {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        for ending in &ENDINGS[..levels] {
            for (v, name) in names.iter().enumerate() {
                let name = format!("{name}{ending}");
                let values = self.part.field(restart, &name, 1)?;
                if let Some(cell) = values.iter().position(|value| !turbulence.is_good(v, *value)) {
                    let problem = format!("is out of its range at cell {cell}");
                    return Err(FlowError::Restart { field: name, problem });
                }
                found.push(values.to_vec());
            }
        }
        Ok(found)
    }

    /// Takes what [`Self::turbulence_of`] has found.
    pub(in crate::structured) fn resume_turbulence(&mut self, found: &[Vec<f64>]) {
        let nb = self.coupled_unknowns().len();
        for (i, values) in found.iter().enumerate() {
            self.take_turbulence(i % nb, values, (i / nb).checked_sub(1));
        }
    }

    /// Takes an unknown of all cells as that of all time levels, or of an earlier one alone.
    fn take_turbulence(&mut self, v: usize, values: &[f64], level: Option<usize>) {
        let mut values = values.iter();
        for block in &mut self.blocks {
            let (places, len, eddies) = (block.cells.places(), block.cells.len(), &mut block.eddies);
            let to = level.map_or(&mut eddies.values, |level| &mut eddies.levels[level]);
            for (at, value) in places.zip(values.by_ref()) {
                to[v * len + at] = *value;
            }
            if level.is_none() {
                eddies.start_here();
            }
        }
    }
}
