#![allow(unsafe_code)]
//! Launches of k_omega.cu and along.cu.

use super::super::super::StructuredSystem;
use super::super::super::boundary::laws::near_wall;
use super::super::setup::columns;
use super::super::{StructuredCuda, with_derivatives};
use super::arguments::{
    Derivative, Field, FindTerms, FindTermsAlong, GhostsAlong, KOmegaResidual, Kernels, MirrorEddies,
    OfKOmega, StatesAlong, ValuesAlong,
};
use super::{EddiesCuda, Made, Model, earlier};
use crate::equations::perfect_gas::N;
use crate::gpu::{optional, source};
use crate::grid::{FieldLayout, GridCuda};
use crate::march::Bdf;
use crate::turbulence::cells::MOST;
use crate::turbulence::hybrid::cuda::TEXT as HYBRID;
use crate::turbulence::k_omega::KOmegaVariant;
use crate::turbulence::velocities::VELOCITIES;
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::{CudaError, DeviceBuffer, DeviceSlice, KernelSource, Module, Read, Stream};
use chromaflow_device::enqueue;
use std::sync::Arc;

/// Numbers of a cell: sources and their derivatives (`SOURCES` of k_omega.cu).
const TERMS: usize = 5;
/// What the matrix takes of a cell (`SLOPES`).
pub(super) const SLOPES: usize = 4;

/// The kernels of a model.
pub(super) fn kernel_source(variant: KOmegaVariant, made: Made) -> KernelSource {
    let (cells, own) = (include_str!("cells.cuh"), include_str!("k_omega.cu"));
    let (all, along) = (include_str!("eddies.cu"), include_str!("along.cu"));
    let before = format!("{}\n{HYBRID}\n{VELOCITIES}\n{cells}\n{own}\n{all}", with_derivatives());
    let source = source("structured_k_omega", &before, along).records::<Kernels>().records::<OfKOmega>();
    made.define(source.define("NB", MOST).define("VARIANT", variant as i32))
}

/// What k and omega need beside what every model does.
pub(super) struct KOmegaCuda {
    kernels: OfKOmega,
    /// `[TERMS, cells]`
    terms: DeviceBuffer<f64>,
    way: Way,
}

/// Derivatives along a direction. Twin: structured/turbulence/along.rs.
struct Way {
    /// Of rho, u, v, w and p, of k and omega, of what they diffuse by, of their sources.
    w: DeviceBuffer<f64>,
    values: DeviceBuffer<f64>,
    diffusing: DeviceBuffer<f64>,
    terms: DeviceBuffer<f64>,
}

impl KOmegaCuda {
    pub fn new(stream: &Stream, module: &Arc<Module>, grid: &GridCuda) -> Result<Self, CudaError> {
        let buffer = |components: usize| DeviceBuffer::<f64>::zeroed(stream, components * grid.len());
        Ok(Self {
            kernels: OfKOmega::of(module)?,
            terms: buffer(TERMS)?,
            way: Way { w: buffer(N)?, values: buffer(MOST)?, diffusing: buffer(MOST)?, terms: buffer(MOST)? },
        })
    }
}

/// Distances from walls of the cells of columns of ghosts, for omega at walls.
pub(super) fn heights(solver: &StructuredSystem, offsets: &[usize]) -> Vec<f64> {
    let height = |column: &[u32]| {
        let b = solver.patches[column[1] as usize].window.block;
        near_wall(&solver.blocks[b], column[0] as usize - offsets[b])
    };
    columns(solver, offsets).0.chunks_exact(2).map(height).collect()
}

impl StructuredCuda {
    /// Terms of all cells, viscosities with those beyond boundaries and interfaces.
    pub(super) fn find_terms(&self, e: &mut EddiesCuda, own: &mut KOmegaCuda) -> Result<(), GpuError> {
        let (t, on) = (&self.tables, Field { aux: Read::NONE, ..self.field(e) });
        // SAFETY: arrays of the grid; cells have neighbors or ghosts on all sides.
        unsafe {
            enqueue! { self.grid.launch(&own.kernels.find_terms), &self.stream, FindTerms {
                over: self.grid.chunk_records(), on, actives: &t.actives, side_table: &e.side_table, laws: optional(&t.laws), near: &e.near, grid: e.lengths(), eddies: &e.viscosity, diffusing: &e.aux,
                terms: &own.terms,
            } }?;
        }
        self.exchange.fill_numbers(&self.stream, &mut e.aux, MOST)?;
        // Twice, for ghosts beyond edges.
        for _ in 0..2 {
            for stage in t.stages() {
                // SAFETY: columns are cells with ghosts above them; no column of a stage reads another's ghosts.
                unsafe {
                    enqueue! { stage.launch(&own.kernels.mirror_eddies), &self.stream, MirrorEddies {
                        count: stage.count, columns: stage.columns, conditions: &t.conditions,
                        sides: &t.sides, eddies: &e.viscosity,
                    } }?;
                }
            }
            self.exchange.fill_numbers(&self.stream, &mut e.viscosity, 1)?;
        }
        Ok(())
    }

    /// The residual of k and omega.
    pub(super) fn k_omega_residual(
        &self,
        e: &EddiesCuda,
        own: &KOmegaCuda,
        bdf: Option<Bdf>,
    ) -> Result<(), GpuError> {
        let t = &self.tables;
        let [w_last, w_before] = earlier(self.levels.as_ref(), bdf);
        let [values_last, values_before] = earlier(e.levels.as_ref(), bdf);
        let [_, last, before] = bdf.map_or([0.0; 3], |bdf| bdf.factors());
        // SAFETY: arrays of the grid; faces have kinds; cells have neighbors or ghosts on all sides.
        Ok(unsafe {
            enqueue! { self.grid.launch(&own.kernels.residual), &self.stream, KOmegaResidual {
                over: self.grid.chunk_records(), on: self.field(e), actives: &t.actives,
                side_table: &e.side_table, kinds: &e.kinds,
                laws: optional(&t.laws), near: &e.near,
                terms: &own.terms, last, before, w_last, w_before, values_last, values_before, r: &e.r,
                slopes: &e.slopes,
            } }
        }?)
    }

    /// Takes the direction `v` of the flow in the order of rows, and that of k and omega, which has been put into [`EddiesCuda::direction`]: the eddy
    /// viscosity is then that of a step h. States where the derivative is taken are in `other`, k and omega and all ghosts are theirs.
    pub(in super::super) fn direct_eddies(
        &mut self,
        row_of: &DeviceBuffer<u32>,
        v: &DeviceSlice<'_, f64>,
        h: f64,
    ) -> Result<(), GpuError> {
        let Some(mut eddies) = self.eddies.take() else { return Ok(()) };
        let done = match eddies.of_k_omega.take() {
            None => Ok(()),
            Some(mut own) => {
                let done = self.direct(&mut eddies, &mut own, (row_of, v), h);
                eddies.of_k_omega = Some(own);
                done
            }
        };
        self.eddies = Some(eddies);
        done
    }

    fn direct(
        &self,
        e: &mut EddiesCuda,
        KOmegaCuda { kernels, way, .. }: &mut KOmegaCuda,
        (row_of, v): (&DeviceBuffer<u32>, &DeviceSlice<'_, f64>),
        h: f64,
    ) -> Result<(), GpuError> {
        let (t, stream) = (&self.tables, &self.stream);
        // SAFETY: a row of five values for each cell.
        unsafe {
            enqueue! { self.grid.launch(&kernels.states_along), stream, StatesAlong {
                over: self.grid.chunk_records(), total: self.total(), row_of, w: &self.other, v,
                setup: &self.setup, w_along: &way.w,
            } }?;
        }
        for _ in 0..2 {
            for stage in t.stages() {
                // SAFETY: columns are cells with two ghosts above them; no column of a stage reads another's ghosts.
                unsafe {
                    enqueue! { stage.launch(&kernels.ghosts_along), stream, GhostsAlong {
                        count: stage.count, columns: stage.columns, middles: stage.middles,
                        conditions: &t.conditions, sides: &t.sides, laws: stage.laws(),
                        on: self.field_at_base(e), w_along: &way.w,
                    } }?;
                }
            }
            self.exchange.fill(stream, &mut way.w, N, FieldLayout::Components)?;
        }
        for _ in 0..2 {
            for stage in t.stages() {
                // SAFETY: as above.
                unsafe {
                    enqueue! { stage.launch(&kernels.values_along), stream, ValuesAlong {
                        count: stage.count, columns: stage.columns, conditions: &t.conditions,
                        sides: &t.sides, heights: e.heights.part(stage.range.clone()),
                        laws: stage.laws(),
                        on: self.field_at_base(e), w_along: &way.w, slopes: &way.values,
                    } }?;
                }
            }
            self.exchange.fill_numbers(stream, &mut way.values, MOST)?;
        }
        // SAFETY: arrays of the grid; cells have neighbors or ghosts on all sides.
        unsafe {
            enqueue! { self.grid.launch(&kernels.find_terms_along), stream, FindTermsAlong {
                over: self.grid.chunk_records(), on: self.field_at_base(e), actives: &t.actives,
                side_table: &e.side_table, laws: optional(&t.laws),
                near: &e.near, grid: e.lengths(), h, w_along: &way.w,
                values_along: &way.values, eddies: &e.viscosity, diffusing_along: &way.diffusing,
                terms_along: &way.terms,
            } }?;
        }
        self.exchange.fill_numbers(stream, &mut e.viscosity, 1)?;
        self.exchange.fill_numbers(stream, &mut way.diffusing, MOST)
    }

    /// The derivative of the residual along the direction last taken takes its place.
    pub(in super::super) fn derive_eddies(&self, bdf: Option<Bdf>) -> Result<(), GpuError> {
        let (t, Some(e)) = (&self.tables, &self.eddies) else { return Ok(()) };
        let Some(KOmegaCuda { kernels, way, .. }) = &e.of_k_omega else { return Ok(()) };
        let [w_last, w_before] = earlier(self.levels.as_ref(), bdf);
        let [_, last, before] = bdf.map_or([0.0; 3], |bdf| bdf.factors());
        // SAFETY: arrays of the grid; faces have kinds; cells have neighbors or ghosts on all sides.
        Ok(unsafe {
            enqueue! { self.grid.launch(&kernels.derivative), &self.stream, Derivative {
                over: self.grid.chunk_records(), on: self.field_at_base(e), actives: &t.actives,
                side_table: &e.side_table, kinds: &e.kinds,
                laws: optional(&t.laws), near: &e.near,
                w_along: &way.w, values_along: &way.values, aux_along: &way.diffusing,
                terms_along: &way.terms, last, before, w_last, w_before, r: &e.r,
            } }
        }?)
    }
}

impl EddiesCuda {
    /// Where the direction of k and omega is put.
    pub(in super::super) fn direction(&self) -> Option<&DeviceBuffer<f64>> {
        self.of_k_omega.as_ref().map(|own| &own.way.values)
    }
}

/// The variant of a model of k and omega.
pub(super) fn variant_of(model: Model) -> Option<KOmegaVariant> {
    if let Model::KOmega(model) = model { Some(model.variant) } else { None }
}
