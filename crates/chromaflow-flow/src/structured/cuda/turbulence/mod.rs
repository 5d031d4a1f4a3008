#![allow(unsafe_code)]
//! Turbulence models of structured grids on a GPU. Twin: structured/turbulence/.
//!
//! | file | kernels |
//! |---|---|
//! | `cells.cuh` | what they share |
//! | `spalart_allmaras.cu`, `k_omega.cu` | viscosities, the residual and the numbers of the matrix of nut, of k and omega |
//! | `along.cu` | ghosts of derivatives along a direction |
//! | `eddies.cu` | ghosts, norms, updates, vectors, the matrix: of every model |

mod arguments;
mod k_omega;
#[cfg(test)]
mod tests;

use super::super::block::BlockState;
use super::super::boundary::PatchState;
use super::super::residual::Physics;
use super::super::turbulence::{GridTurbulence, Model, kappa};
use super::super::{StructuredSystem, ViscousTerms};
use super::setup::face_numbers;
use super::{Count, PARTS, StructuredCuda, with_derivatives};
use crate::bc::{ConditionClass, condition_class};
use crate::config::{Implicit, Quadratic};
use crate::gpu::{Sums, blocks, optional, source};
use crate::grid::GridCuda;
use crate::march::{Bdf, FlowError};
use crate::turbulence::hybrid::cuda::{self as lengths, GridLengths, HybridGridCuda};
use crate::turbulence::hybrid::{HybridForm, HybridGrid};
use crate::turbulence::k_omega::KOmegaVariant;
use crate::turbulence::velocities::VELOCITIES;
use arguments::{
    AddQuadratic, AssembleRows, Field, FillValues, FindRelation, Gather, Kernels, Norms, OfNut, SaResidual,
    Scatter, Update, Viscosities,
};
use chromaflow::gpu::{DeviceJacobian, GpuError, Storage};
use chromaflow_device::cuda::{DeviceBuffer, KernelSource, Read, Stream, Write};
use chromaflow_device::{enqueue, kernel_arguments};
use k_omega::{KOmegaCuda, heights, variant_of};

/// What a model's kernels are made for.
#[derive(Clone, Copy, Default)]
struct Made {
    hybrid: Option<HybridForm>,
    /// Whether walls have laws.
    laws: bool,
    /// Whether there is SA-RC.
    curved: bool,
    /// Bytes of a value of the matrix.
    stored: usize,
}

impl Made {
    /// The same source with constants for it.
    fn define(self, source: KernelSource) -> KernelSource {
        let [laws, curved] = [self.laws, self.curved].map(u32::from);
        let source = source.define("HYBRID", lengths::number(self.hybrid)).define("STORED", self.stored);
        source.define("LAWS", laws).define("CURVED", curved)
    }
}

/// The kernels of a model.
fn kernel_source(model: Model, made: Made) -> KernelSource {
    variant_of(model).map_or_else(|| of_nut(made), |variant| k_omega::kernel_source(variant, made))
}

fn of_nut(made: Made) -> KernelSource {
    let (cells, own) = (include_str!("cells.cuh"), include_str!("spalart_allmaras.cu"));
    let before = format!("{}\n{}\n{VELOCITIES}\n{cells}\n{own}", with_derivatives(), lengths::TEXT);
    let source = source("structured_eddies", &before, include_str!("eddies.cu"));
    made.define(source.records::<OfNut>().records::<Kernels>().define("NB", 1))
}

/// Of all models, with each option, for the matrices that steps have.
pub(super) fn kernel_sources() -> Vec<KernelSource> {
    let stored = Storage::from(Implicit::default().policy).assembled().bytes();
    let plain = Made { stored, ..Made::default() };
    let mut all = vec![of_nut(Made { laws: true, curved: true, ..plain })];
    let hybrids = |laws| lengths::FORMS.map(|hybrid| Made { hybrid, laws, ..plain });
    all.extend(hybrids(false).map(of_nut));
    all.extend(hybrids(false).map(|made| k_omega::kernel_source(KOmegaVariant::Sst, made)));
    all.extend(hybrids(true).map(|made| k_omega::kernel_source(KOmegaVariant::SstVorticity, made)));
    for laws in [false, true] {
        all.push(k_omega::kernel_source(KOmegaVariant::Wilcox, Made { laws, ..plain }));
    }
    all.push(k_omega::kernel_source(KOmegaVariant::SstVorticity, plain));
    all
}

/// A model that the device has, and its state there. Arrays of cells have ghosts as the flow's.
pub(super) struct EddiesCuda {
    pub model: GridTurbulence,
    kernels: Kernels,
    /// Of the model that it is; the other is none, and that of k and omega while its own steps have it.
    of_nut: Option<OfNut>,
    of_k_omega: Option<KOmegaCuda>,
    /// `Model` in cells.cuh.
    numbers: DeviceBuffer<f64>,
    /// What is at each face of the boundary, from 1 in the order of `kind`.
    kinds: DeviceBuffer<u32>,
    /// The unknowns, `[unknowns, cells]`, and the last good ones.
    pub values: DeviceBuffer<f64>,
    last_good: DeviceBuffer<f64>,
    /// Those of earlier time levels; none in steady runs.
    levels: Option<[DeviceBuffer<f64>; 2]>,
    /// nu, or what k and omega diffuse by.
    aux: DeviceBuffer<f64>,
    pub viscosity: DeviceBuffer<f64>,
    /// Of QCR2020, fw as its constants have it; else empty.
    relation: DeviceBuffer<f64>,
    /// Of hybrids, lengths of the grid by numbers of cells.
    hybrid: Option<HybridGridCuda>,
    /// By numbers of cells, the distance from the nearest wall and what production is multiplied by.
    near: DeviceBuffer<f64>,
    /// Numbers of the boundary's faces, as `Sides` of structured.cuh takes them from one array.
    side_table: DeviceBuffer<u32>,
    /// Of k and omega, the distance of each column of ghosts; else empty.
    heights: DeviceBuffer<f64>,
    /// Residual, then update: `[unknowns, cells]`.
    pub r: DeviceBuffer<f64>,
    /// What the matrix takes of sources and changes in time.
    slopes: DeviceBuffer<f64>,
    sums: Sums,
}

/// As the kernels know what is at a face of the boundary.
fn kind(patch: &PatchState) -> u32 {
    match condition_class(&patch.condition) {
        ConditionClass::Open => 1,
        ConditionClass::Slip => 2,
        ConditionClass::NoSlip => 3,
    }
}

/// `Model` in cells.cuh.
fn numbers(physics: &Physics, model: &GridTurbulence) -> [f64; 11] {
    let (variant, ambient) = match model.model {
        Model::SpalartAllmaras(sa) => (f64::from(sa.variant as i32), [0.0; 3]),
        Model::KOmega(model) => (0.0, [model.ambient_k, model.ambient_omega, model.roughness]),
    };
    let yes = |is: bool| f64::from(u8::from(is));
    let [first, second] = model.inflow;
    let full = yes(physics.terms == ViscousTerms::Full);
    let (kappa, second_order, rotating) = (kappa(physics), yes(model.second_order), yes(model.rotating));
    let blended = yes(model.walls.is_some_and(|walls| walls.blended));
    let [ambient_k, ambient_omega, roughness] = ambient;
    [
        first,
        second,
        variant,
        kappa,
        second_order,
        full,
        rotating,
        ambient_k,
        ambient_omega,
        roughness,
        blended,
    ]
}

/// Distances of cells from walls, each with what production is multiplied by.
fn near(solver: &StructuredSystem) -> Vec<f64> {
    let of = |block: &BlockState| {
        let eddies = &block.eddies;
        let share = |number| eddies.production.get(number).copied().unwrap_or(1.0);
        let pairs = eddies.distance.iter().enumerate().flat_map(|(number, d)| [*d, share(number)]);
        pairs.collect::<Vec<_>>()
    };
    solver.blocks.iter().flat_map(of).collect()
}

/// Where the sides of blocks begin behind all of these beginnings, and then the numbers of their faces.
fn side_table(solver: &StructuredSystem) -> Vec<u32> {
    let (ptr, numbers) = face_numbers(solver);
    let first = ptr.len() as u32;
    ptr.iter().map(|at| first + at).chain(numbers).collect()
}

impl EddiesCuda {
    /// The model of a solver, if it has one; the state comes with [`Self::upload`].
    pub(super) fn new(
        stream: &Stream,
        solver: &StructuredSystem,
        grid: &GridCuda,
    ) -> Result<Option<Self>, FlowError> {
        let Some(model) = solver.physics.turbulence else { return Ok(None) };
        let newton = solver.newton.as_ref().expect("turbulence takes Newton-Krylov steps");
        let stored = Storage::from(newton.implicit.policy).assembled().bytes();
        let (nb, len, two) = (model.unknowns(), grid.len(), model.is_k_omega());
        let lengths =
            HybridGrid::joined(solver.blocks.iter().filter_map(|block| block.eddies.hybrid.as_ref()));
        let hybrid = lengths.as_ref().map(HybridGrid::form);
        let made = Made { hybrid, laws: model.walls.is_some(), curved: model.curved, stored };
        let module = stream.gpu().module(&kernel_source(model.model, made))?;
        let buffer = |len| DeviceBuffer::<f64>::zeroed(stream, len);
        let kinds: Vec<u32> =
            solver.patches.iter().flat_map(|patch| patch.faces.iter().map(|_| kind(patch))).collect();
        Ok(Some(Self {
            kernels: Kernels::of(&module)?,
            of_nut: if two { None } else { Some(OfNut::of(&module)?) },
            of_k_omega: if two { Some(KOmegaCuda::new(stream, &module, grid)?) } else { None },
            numbers: stream.upload(&numbers(&solver.physics, &model))?,
            kinds: stream.upload(&kinds)?,
            values: buffer(nb * len)?,
            last_good: buffer(nb * len)?,
            levels: match solver.config.unsteady() {
                None => None,
                Some(_) => Some([buffer(nb * len)?, buffer(nb * len)?]),
            },
            aux: buffer(nb * len)?,
            viscosity: buffer(len)?,
            relation: buffer(if model.quadratic == Quadratic::Qcr2020 { len } else { 0 })?,
            hybrid: lengths.map(|lengths| HybridGridCuda::new(stream, &lengths)).transpose()?,
            near: stream.upload(&near(solver))?,
            side_table: stream.upload(&side_table(solver))?,
            r: buffer(nb * len)?,
            heights: stream.upload(&if two { heights(solver, grid.offsets()) } else { Vec::new() })?,
            slopes: buffer(if two { k_omega::SLOPES * len } else { len })?,
            sums: Sums::new(stream, nb, (grid.chunks().len() / 2).min(PARTS), [])?,
            model,
        }))
    }

    /// Takes the host's values.
    pub(super) fn upload(&mut self, grid: &GridCuda, host: &StructuredSystem) -> Result<(), GpuError> {
        let nb = self.model.unknowns();
        self.values = grid.upload(host.blocks.iter().map(|b| &b.eddies.values), nb)?;
        self.last_good.copy_from(&self.values.slice())?;
        for (n, level) in self.levels.iter_mut().flatten().enumerate() {
            *level = grid.upload(host.blocks.iter().map(|b| &b.eddies.levels[n]), nb)?;
        }
        Ok(())
    }

    /// The way back.
    pub(super) fn download(&self, grid: &GridCuda, host: &mut StructuredSystem) -> Result<(), GpuError> {
        grid.download(&self.values, host.blocks.iter_mut().map(|b| &mut b.eddies.values))?;
        for (n, level) in self.levels.iter().flatten().enumerate() {
            grid.download(level, host.blocks.iter_mut().map(|b| &mut b.eddies.levels[n]))?;
        }
        Ok(())
    }

    /// The last good values again.
    pub(super) fn restore(&mut self) -> Result<(), GpuError> {
        Ok(self.values.copy_from(&self.last_good.slice())?)
    }

    /// The present values become those of the last time level.
    pub(super) fn next_level(&mut self) -> Result<(), GpuError> {
        if let Some(levels) = &mut self.levels {
            levels.swap(0, 1);
            levels[0].copy_from(&self.values.slice())?;
        }
        Ok(())
    }

    /// Lengths of the grid, as kernels take them.
    fn lengths(&self) -> GridLengths {
        HybridGridCuda::arguments(self.hybrid.as_ref())
    }

    /// All sums as last told, to be added to those of other ranks.
    pub(super) fn sums_mut(&mut self) -> &mut [f64] {
        self.sums.all_mut()
    }

    /// Sums of squares of the residual as last told.
    pub(super) fn squares(&self) -> Vec<f64> {
        self.sums.squares().to_vec()
    }
}

/// Earlier time levels, where they are asked for.
fn earlier(levels: Option<&[DeviceBuffer<f64>; 2]>, bdf: Option<Bdf>) -> [Option<&DeviceBuffer<f64>>; 2] {
    let levels = levels.filter(|_| bdf.is_some());
    [0, 1].map(|n| levels.map(|levels| &levels[n]))
}

impl StructuredCuda {
    /// The eddy viscosity of all cells and ghosts, where there is a model.
    pub(super) fn eddy_viscosity(&self) -> Option<&DeviceBuffer<f64>> {
        self.eddies.as_ref().map(|eddies| &eddies.viscosity)
    }

    /// What kernels take of the flow and the model.
    fn field(&self, eddies: &EddiesCuda) -> Field {
        kernel_arguments! { Field {
            total: self.total(), w: &self.w, area: &self.area, volume: &self.volume, values: &eddies.values,
            aux: &eddies.aux, setup: &self.setup, model: &eddies.numbers,
        } }
    }

    /// The same with the states where a derivative is taken.
    fn field_at_base(&self, eddies: &EddiesCuda) -> Field {
        Field { w: (&self.other).into(), ..self.field(eddies) }
    }

    /// Values beyond boundaries and interfaces, then viscosities of all cells and ghosts; the flow's ghosts are there.
    pub(super) fn prepare_eddies(&mut self) -> Result<(), GpuError> {
        let Some(mut eddies) = self.eddies.take() else { return Ok(()) };
        let done = self.find_viscosities(&mut eddies);
        self.eddies = Some(eddies);
        done
    }

    fn find_viscosities(&self, eddies: &mut EddiesCuda) -> Result<(), GpuError> {
        let (t, nb) = (&self.tables, eddies.model.unknowns());
        // Twice, for ghosts beyond edges, as the flow's.
        for _ in 0..2 {
            for stage in t.stages() {
                let heights = optional(&eddies.heights).map(|heights| heights.part(stage.range.clone()));
                // SAFETY: columns are cells with two ghosts above them; no column of a stage reads another's ghosts.
                unsafe {
                    enqueue! { stage.launch(&eddies.kernels.fill_values), &self.stream, FillValues {
                        count: stage.count, columns: stage.columns, conditions: &t.conditions,
                        sides: &t.sides, heights: heights.map_or(Read::NONE, Read::from), laws: stage.laws(),
                        on: self.field(eddies), to: &eddies.values,
                    } }?;
                }
            }
            self.exchange.fill_numbers(&self.stream, &mut eddies.values, nb)?;
        }
        if let Some(mut own) = eddies.of_k_omega.take() {
            let done = self.find_terms(eddies, &mut own);
            eddies.of_k_omega = Some(own);
            return done;
        }
        let Some(own) = &eddies.of_nut else { return Ok(()) };
        let on = Field { aux: Read::NONE, ..self.field(eddies) };
        // SAFETY: arrays of the grid.
        unsafe {
            enqueue! { own.viscosities.launch(blocks(self.grid.len(), 256), 256), &self.stream, Viscosities {
                on, nu: &eddies.aux, eddies: &eddies.viscosity,
            } }?;
        }
        if eddies.relation.is_empty() {
            return Ok(());
        }
        // SAFETY: arrays of the grid; cells have neighbors or ghosts on all sides.
        unsafe {
            enqueue! { self.grid.launch(&own.find_relation), &self.stream, FindRelation {
                over: self.grid.chunk_records(), on: self.field(eddies), actives: &t.actives,
                side_table: &eddies.side_table, laws: optional(&t.laws),
                near: &eddies.near, relation: &eddies.relation,
            } }?;
        }
        self.exchange.fill_numbers(&self.stream, &mut eddies.relation, 1)
    }

    /// Subtracts what a quadratic constitutive relation adds to the viscous fluxes.
    pub(super) fn add_quadratic(&self) -> Result<(), GpuError> {
        let (t, Some(e)) = (&self.tables, &self.eddies) else { return Ok(()) };
        if e.model.quadratic == Quadratic::None {
            return Ok(());
        }
        // SAFETY: arrays of the grid; cells have neighbors or ghosts on all sides; a thread has its own cell's sums.
        Ok(unsafe {
            enqueue! { self.grid.launch(&e.kernels.add_quadratic), &self.stream, AddQuadratic {
                over: self.grid.chunk_records(), on: self.field(e), actives: &t.actives,
                side_table: &e.side_table, eddies: &e.viscosity,
                relation: optional(&e.relation), r: &self.r,
            } }
        }?)
    }

    /// The model's residual, with the change in time of unsteady runs.
    pub(super) fn eddies_residual(&self, bdf: Option<Bdf>) -> Result<(), GpuError> {
        let (t, Some(e)) = (&self.tables, &self.eddies) else { return Ok(()) };
        if let Some(own) = &e.of_k_omega {
            return self.k_omega_residual(e, own, bdf);
        }
        let Some(own) = &e.of_nut else { return Ok(()) };
        let [values_last, values_before] = earlier(e.levels.as_ref(), bdf);
        let [_, last, before] = bdf.map_or([0.0; 3], |bdf| bdf.factors());
        // SAFETY: arrays of the grid; faces have kinds; cells have neighbors or ghosts on all sides.
        Ok(unsafe {
            enqueue! { self.grid.launch(&own.residual), &self.stream, SaResidual {
                over: self.grid.chunk_records(), on: self.field(e), actives: &t.actives,
                side_table: &e.side_table, kinds: &e.kinds, laws: optional(&t.laws),
                near: &e.near, grid: e.lengths(), last, before, values_last, values_before, r: &e.r,
                slopes: &e.slopes,
            } }
        }?)
    }

    /// Norms of the model's residual, for the host.
    pub(super) fn eddies_norms(&mut self) -> Result<(), GpuError> {
        let Some(mut e) = self.eddies.take() else { return Ok(()) };
        // SAFETY: arrays of the grid; partial sums of each unknown a thread block.
        let enqueued = unsafe {
            enqueue! { e.kernels.norms.launch(e.sums.norm_blocks(), 256), &self.stream, Norms {
                over: self.grid.chunk_records(), chunk_count: (self.grid.chunks().len() / 2) as u32,
                on: self.field(&e), r: &e.r, partials: &e.sums.norms,
                first_bad: self.count(Count::BadResidual),
            } }
        };
        let added = e.sums.add_up(&self.stream, &self.over_cells.add_parts);
        self.eddies = Some(e);
        enqueued?;
        added
    }

    /// Takes the model's update.
    pub(super) fn update_eddies(&mut self) -> Result<(), GpuError> {
        let Some(e) = &mut self.eddies else { return Ok(()) };
        e.last_good.copy_from(&e.values.slice())?;
        let Some(e) = &self.eddies else { return Ok(()) };
        // SAFETY: arrays of the grid.
        Ok(unsafe {
            enqueue! { self.grid.launch(&e.kernels.update), &self.stream, Update {
                over: self.grid.chunk_records(), total: self.total(), model: &e.numbers, r: &e.r,
                values: &e.values, limited: self.count(Count::LimitedBeside),
                first_bad: self.count(Count::BadState),
            } }
        }?)
    }
}

/// Where the rows of a matrix lie on the grid.
pub(super) struct Rows<'a> {
    pub places: &'a DeviceBuffer<u32>,
    pub row_of: &'a DeviceBuffer<u32>,
    pub row_ptr: &'a DeviceBuffer<u32>,
    pub links: &'a DeviceBuffer<u32>,
}

impl EddiesCuda {
    /// Vectors in the order of rows of what cells have.
    pub(super) fn gather(
        &self,
        flow: &StructuredCuda,
        rows: &Rows<'_>,
        from: &DeviceBuffer<f64>,
        to: &DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        // SAFETY: a row for each cell.
        Ok(unsafe {
            enqueue! { flow.grid.launch(&self.kernels.gather), &flow.stream, Gather {
                over: flow.grid.chunk_records(), total: flow.total(), row_of: rows.row_of, from, to,
            } }
        }?)
    }

    /// The way back.
    pub(super) fn scatter(
        &self,
        flow: &StructuredCuda,
        rows: &Rows<'_>,
        from: &DeviceBuffer<f64>,
        to: &DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        // SAFETY: a row for each cell.
        Ok(unsafe {
            enqueue! { flow.grid.launch(&self.kernels.scatter), &flow.stream, Scatter {
                over: flow.grid.chunk_records(), total: flow.total(), row_of: rows.row_of, from, to,
            } }
        }?)
    }

    /// Writes the matrix of a step at the present state, and V/dt of each row.
    pub(super) fn assemble(
        &self,
        flow: &StructuredCuda,
        rows: &Rows<'_>,
        cfl: f64,
        jacobian: &DeviceJacobian,
        pseudo_time: &DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        let count = pseudo_time.len();
        let launch = self.kernels.assemble_rows.launch(blocks(count, 128), 128);
        let off = jacobian.off.assembled()?;
        // SAFETY: rows lie at cells, which have neighbors or ghosts on all sides; positions are those of their rows' blocks.
        Ok(unsafe {
            enqueue! { launch, &flow.stream, AssembleRows {
                rows: count as u32, blocks: flow.grid.records(), actives: &flow.tables.actives,
                places: rows.places, row_ptr: rows.row_ptr, links: rows.links, kinds: &self.kinds,
                on: flow.field(self), slopes: &self.slopes, cfl: cfl * self.model.cfl_ratio, pseudo_time,
                off: Write::at(off), diag: &jacobian.diag,
            } }
        }?)
    }
}
