//! The flow solver's data and kernels on a GPU.
//!
//! Kernels are CUDA C++ text: the pointwise physics as emitted from this crate's Rust functions
//! ([`crate::pointwise`]), `common.cuh`, and the file of the algorithm, which stands beside its Rust twin: gradients in
//! `gradient/`, fluxes in `residual/`, the Jacobian in `jacobian/`, the rest of a step in `unstructured/cuda/`. NVRTC compiles
//! them for the scheme of the case at first use.
//!
//! Nothing races and every sum has a fixed order: a case gives the same bits on every run.

mod clock;
mod conditions;
mod sums;

use crate::bc::{Condition, MirrorNode, WallNode};
use crate::config::{Equations, FlowConfig, Nonlinear, Quadratic};
use crate::dual::Dual;
use crate::flux::{LayerFix, RoeFix};
use crate::gas::{Gas, Transport, ViscosityLaw};
use crate::gradient::{Added, Mapping};
use crate::mesh::periodic::Periods;
use crate::pointwise;
use crate::wall_law::LawNode;
use chromaflow::factor::block_ilu::cuda::DeviceBlockIlu;
use chromaflow::gpu::{GpuError, Storage, Vectors};
use chromaflow::solver::{Method, PreconditionerKind};
use chromaflow_device::cuda::{DeviceBuffer, KernelSource, Stream};
use chromaflow_device::kernel_elements;

pub use crate::gradient::cuda::LeastSquaresCuda;
pub use crate::jacobian::cuda::JacobianCuda;
pub use crate::residual::cuda::{BoundaryCuda, ResidualCuda, ViscousCuda};
pub use crate::residual::node_gradients::cuda::NodeGradientsCuda;
pub(crate) use clock::{Clock, MARKS};
pub(crate) use conditions::{download_pressures, upload_structs};
pub(crate) use sums::{AddParts, Sums};

const COMMON: &str = include_str!("common.cuh");

/// Numbers with a derivative, for kernels that take derivatives of the physics: before their text.
pub(crate) const ALONG: &str = include_str!("../real/along.cuh");

/// A kernel file behind the emitted physics and what all of them share; `tables` comes before the file.
pub(crate) fn source(name: &'static str, tables: &str, text: &str) -> KernelSource {
    let (physics, checks) = (pointwise::cuda_source(), conditions::layout_check());
    KernelSource::new(
        name,
        format!("{physics}\n#line 1 \"common.cuh\"\n{COMMON}{checks}{tables}\n#line 1 \"{name}.cu\"\n{text}"),
    )
}

/// Kernels of a flow on a mesh that its set-up decides alone, the longest to compile first: to be compiled while the mesh is read
/// ([`Gpu::prepare`](chromaflow_device::cuda::Gpu::prepare)). Those of the linear solver depend on the mesh, too, and are compiled
/// while its metrics are uploaded.
pub fn kernels_of(config: &FlowConfig) -> Vec<KernelSource> {
    let diffusion = Diffusion::of(config);
    let implicit = &config.implicit;
    let storage = Storage::from(implicit.policy);
    let mut all = Vec::new();
    let points =
        implicit.preconditioner.is_relaxation() && implicit.preconditioner != PreconditionerKind::Lines;
    let in_order = !(implicit.method == Method::Richardson && points);
    if in_order {
        all.extend(crate::jacobian::cuda::sources_of(storage, implicit.jacobian, diffusion, 0));
    }
    all.extend(crate::residual::cuda::sources_of(&config.space, diffusion));
    if let PreconditionerKind::Ilu(_) = implicit.preconditioner {
        let factors = implicit.policy.storage();
        all.extend(DeviceBlockIlu::kernel_sources(5, factors, storage.assembled()));
    }
    all.extend([crate::unstructured::cuda::kernel_source(), crate::gradient::cuda::kernel_source()]);
    if let Nonlinear::NewtonKrylov(_) = implicit.nonlinear {
        all.push(crate::unstructured::cuda::newton::kernel_source());
        all.push(crate::march::newton::cuda::kernel_source());
    }
    all.push(Vectors::kernel_source(Storage::F64));
    all
}

kernel_elements!(
    Params: "Params" in f64, Condition<f64>: "Condition" in u64, WallNode<f64>: "WallNode" in u64,
    LawNode<f64>: "LawNode" in u64, MirrorNode<f64>: "MirrorNode" in u64,
);

/// The flow solver's kernels with every branch of every scheme at least once, for checks without a GPU.
pub fn kernel_sources() -> Vec<KernelSource> {
    let mut all = vec![
        crate::gradient::cuda::kernel_source(),
        crate::unstructured::cuda::kernel_source(),
        crate::unstructured::cuda::newton::kernel_source(),
        crate::march::newton::cuda::kernel_source(),
        crate::grid::cuda::kernel_source(),
        crate::grid::device::kernel_source(),
    ];
    all.extend(crate::incompressible::kernel_sources());
    all.extend(crate::residual::cuda::kernel_sources());
    all.extend(crate::jacobian::cuda::kernel_sources());
    all.extend(crate::coupled::kernel_sources());
    all.extend(crate::coupled::tight::cuda::kernel_sources());
    all.extend(crate::scalar::cuda::kernel_sources());
    all.extend(crate::turbulence::k_omega::cuda::kernel_sources());
    all.extend(crate::turbulence::spalart_allmaras::cuda::kernel_sources());
    all.extend([false, true].map(crate::turbulence::walls::cuda::kernel_source));
    all.extend(crate::structured::cuda::kernel_sources());
    all.extend(crate::structured::lax_wendroff::cuda::kernel_sources());
    all
}

/// The flow solver's kernels for every scheme and limiter: what a program that is to run without a compiler brings along.
pub fn all_kernel_sources() -> Vec<KernelSource> {
    let mut all = kernel_sources();
    all.extend(crate::residual::cuda::all_sources());
    all.extend(crate::jacobian::cuda::all_sources());
    all.extend(crate::scalar::cuda::all_sources());
    all
}

/// The mesh's metrics on the device.
pub struct MeshCuda {
    pub(crate) rows: usize,
    pub(crate) edges: usize,
    pub(crate) row_ptr: DeviceBuffer<u32>,
    pub(crate) col_idx: DeviceBuffer<u32>,
    /// Row of each position.
    pub(crate) row_of: DeviceBuffer<u32>,
    /// Edge of each position; the highest bit is set where the edge points towards the row.
    pub(crate) signed_edge: DeviceBuffer<u32>,
    /// Nodes a < b of each edge.
    pub(crate) ends: DeviceBuffer<u32>,
    pub(crate) areas: DeviceBuffer<f64>,
    /// What layers on curved walls add to increments, [`Mapping`].
    pub(crate) mapped_by_row: AddedCuda,
    pub(crate) mapped_by_edge: AddedCuda,
    /// What periods alone add to increments.
    pub(crate) shifts_by_row: AddedCuda,
    /// First moments of the faces; empty where they are not used.
    pub(crate) moments: DeviceBuffer<f64>,
    pub(crate) volumes: DeviceBuffer<f64>,
}

impl MeshCuda {
    /// A copy of `dual` and of its faces' first moments.
    ///
    /// # Errors
    /// [`GpuError::Cuda`]: out of memory among others.
    pub fn new(
        stream: &Stream,
        dual: &Dual,
        mapping: &Mapping,
        moments: &[[[f64; 3]; 3]],
    ) -> Result<Self, GpuError> {
        let (pattern, rows) = (&dual.pattern, dual.nodes());
        let row_of: Vec<u32> =
            (0..rows).flat_map(|i| std::iter::repeat_n(i as u32, pattern.columns(i).len())).collect();
        let signed: Vec<u32> = (dual.edge_of.iter().zip(pattern.col_idx()).zip(&row_of))
            .map(|((&edge, &column), &row)| edge | if column > row { 0 } else { 1 << 31 })
            .collect();
        Ok(Self {
            rows,
            edges: dual.edges.len(),
            row_ptr: stream.upload(pattern.row_ptr())?,
            col_idx: stream.upload(pattern.col_idx())?,
            row_of: stream.upload(&row_of)?,
            signed_edge: stream.upload(&signed)?,
            ends: stream.upload(dual.edges.as_flattened())?,
            areas: stream.upload(dual.areas.as_flattened())?,
            mapped_by_row: AddedCuda::new(stream, &mapping.by_row)?,
            mapped_by_edge: AddedCuda::new(stream, &mapping.by_edge)?,
            shifts_by_row: AddedCuda::new(stream, &mapping.shifts)?,
            moments: stream.upload(moments.as_flattened().as_flattened())?,
            volumes: stream.upload(&dual.volumes)?,
        })
    }
}

/// [`Added`] on the device.
pub(crate) struct AddedCuda {
    first: DeviceBuffer<u32>,
    values: DeviceBuffer<f64>,
}

impl AddedCuda {
    /// Uploads it.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn new<const N: usize>(stream: &Stream, added: &Added<N>) -> Result<Self, GpuError> {
        Ok(Self { first: stream.upload(&added.first)?, values: stream.upload(added.values.as_flattened())? })
    }

    /// Where values begin, if there are any.
    pub fn first(&self) -> Option<&DeviceBuffer<u32>> {
        optional(&self.first)
    }

    /// The values, if there are any.
    pub fn values(&self) -> Option<&DeviceBuffer<f64>> {
        optional(&self.values)
    }
}

/// An array that kernels may lack: none where it is empty.
pub fn optional<T: bytemuck::Pod>(values: &DeviceBuffer<T>) -> Option<&DeviceBuffer<T>> {
    (!values.is_empty()).then_some(values)
}

/// Where the fixes stand among them.
const FIXES: usize = 7;

/// The numbers of a set-up that kernels read (`Params` in common.cuh).
pub struct Params {
    pub(crate) values: DeviceBuffer<f64>,
    /// As asked for, and [damped](RoeFix::damped); each for usual and [hard](RoeFix::in_matrix) systems.
    sets: [[DeviceBuffer<f64>; 2]; 2],
    /// Whether the one in use is the damped one, and that of hard systems.
    chosen: [bool; 2],
}

impl Params {
    /// Uploads them. `depth` is that of the layer of a planar mesh in viscous flow, `periods` those of the mesh.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn new(
        stream: &Stream,
        config: &FlowConfig,
        gas: Gas<f64>,
        transport: Option<Transport<f64>>,
        depth: f64,
        layers: LayerFix<f64>,
        periods: &Periods,
    ) -> Result<Self, GpuError> {
        let (space, implicit) = (&config.space, &config.implicit);
        let [scale, prandtl, law, sutherland] = transport.map_or([0.0, 1.0, 0.0, 0.0], |t| {
            let law = if t.law == ViscosityLaw::Sutherland { 1.0 } else { 0.0 };
            [t.scale, t.prandtl, law, t.sutherland]
        });
        let [rho, u, v, w, p] = config.limiter_eps2();
        let fix = RoeFix::of_residual(config, false);
        let mut values = vec![
            gas.gamma,
            space.kappa,
            rho,
            u,
            v,
            w,
            p,
            // Fixes of the residual, then those of the matrix.
            0.0,
            0.0,
            0.0,
            0.0,
            fix.cutoff_mach,
            scale,
            prandtl,
            law,
            sutherland,
            implicit.max_change,
            config.max_rise(),
            config.max_velocity_change(),
            depth,
            config.turbulence.as_ref().map_or(1.0, |model| model.prandtl),
            fix.dissipation,
            layers.most,
            layers.depth,
            periods.steps().len() as f64,
        ];
        for vectors in [periods.steps(), periods.across()] {
            let mut three = [[0.0; 3]; 3];
            three[..vectors.len()].copy_from_slice(vectors);
            values.extend(three.as_flattened());
        }
        let mut set = |damped: bool, hard: bool| {
            let fixes = [RoeFix::of_residual(config, damped), RoeFix::of_matrix(config, damped, hard)];
            for (to, fix) in values[FIXES..].chunks_mut(2).zip(fixes) {
                to.copy_from_slice(&[fix.acoustic, fix.convective]);
            }
            stream.upload(&values)
        };
        let sets = [[set(false, false)?, set(false, true)?], [set(true, false)?, set(true, true)?]];
        Ok(Self { values: set(false, false)?, sets, chosen: [false; 2] })
    }

    /// Whether Roe's flux is damped, and its matrix that of hard systems, from here on, in the order of the stream.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn damp(&mut self, damped: bool, hard: bool) -> Result<(), GpuError> {
        if self.chosen != [damped, hard] {
            self.values.copy_from(&self.sets[usize::from(damped)][usize::from(hard)].slice())?;
            self.chosen = [damped, hard];
        }
        Ok(())
    }
}

/// What diffuses momentum and heat: as a constant of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Diffusion {
    /// Nothing.
    None,
    /// The gas.
    Molecular,
    /// The gas, and the eddies of a turbulence model.
    Turbulent,
    /// The same with a quadratic constitutive relation.
    Quadratic,
    /// The same of 2020.
    Quadratic2020,
}

impl Diffusion {
    /// Of a set-up.
    pub fn of(config: &FlowConfig) -> Self {
        match (config.equations, &config.turbulence) {
            (Equations::Euler, _) => Self::None,
            (Equations::Laminar, None) => Self::Molecular,
            (Equations::Laminar, Some(model)) => match model.quadratic {
                Quadratic::None => Self::Turbulent,
                Quadratic::Qcr2000 => Self::Quadratic,
                Quadratic::Qcr2020 => Self::Quadratic2020,
            },
        }
    }

    /// Whether eddies are among it.
    pub(crate) fn is_turbulent(self) -> bool {
        matches!(self, Self::Turbulent | Self::Quadratic | Self::Quadratic2020)
    }

    /// The eddy viscosity of each node, `[rows]`, where there is one.
    ///
    /// # Panics
    /// When turbulence has none or another flow has it.
    pub(crate) fn eddies(
        self,
        viscosity: Option<&DeviceBuffer<f64>>,
        rows: usize,
    ) -> Option<&DeviceBuffer<f64>> {
        assert_eq!(viscosity.map(DeviceBuffer::len), self.is_turbulent().then_some(rows));
        viscosity
    }
}

/// Thread blocks of `threads` that cover `n` items.
pub(crate) fn blocks(n: usize, threads: usize) -> usize {
    n.div_ceil(threads)
}
