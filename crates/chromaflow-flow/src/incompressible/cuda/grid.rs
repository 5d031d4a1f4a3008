//! The grid on the device, and the kernels' text for a scheme.

use super::super::IncompressibleSystem;
use super::super::config::Flux;
use super::super::space::{Block, Patch, ScalarKind, Space};
use super::super::system::Link;
use super::super::turbulence::class;
use super::arguments::{BoundaryFaces, GridRows, Kernels, OfEddies, OfLaws, OfNewton, OfQuadratic};
use super::turbulence::{self, Constants};
use crate::gpu::{ALONG, source};
use crate::grid::GridCuda;
use crate::turbulence::hybrid::HybridForm;
use crate::turbulence::k_omega::KOmegaVariant;
use crate::turbulence::velocities::VELOCITIES;
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::{DeviceBuffer, KernelSource, Stream};
use chromaflow_device::kernel_arguments;

/// Rows of a thread block of `residual_norms`, as the kernel has it.
pub fn norm_lanes(n: usize) -> usize {
    if n <= 16 { 256 / n } else { 8 }
}

/// Cells of a thread block of `fill_matrix`.
pub fn matrix_cells(n: usize) -> usize {
    if n <= 16 { 128 / n } else { 4 }
}

/// What kernels are compiled for.
pub struct Scheme {
    pub n: usize,
    /// Bits of the axes along which anything happens.
    pub axes: u32,
    pub skewed: bool,
    pub second_order: bool,
    pub limited: bool,
    pub central: bool,
    pub eddies: Constants,
}

impl Scheme {
    pub fn of(solver: &IncompressibleSystem) -> Self {
        let scheme = solver.config.space;
        Self {
            n: solver.n,
            axes: solver.space.axes.iter().map(|d| 1 << d).sum(),
            skewed: solver.space.blocks.iter().any(|b| b.skewed),
            second_order: scheme.second_order,
            limited: scheme.limited,
            central: matches!(scheme.flux, Flux::Central { .. }),
            eddies: solver.turbulence.as_ref().map(Constants::of).unwrap_or_default(),
        }
    }
}

/// The kernels for a scheme.
pub fn kernel_source(scheme: &Scheme) -> KernelSource {
    let eddies = scheme.eddies;
    let cells = include_str!("cells.cuh");
    let mut before = format!("\n#line 1 \"cells.cuh\"\n{cells}");
    let mut text = vec![
        include_str!("fluxes.cu"),
        include_str!("matrix.cu"),
        include_str!("step.cu"),
        include_str!("newton.cu"),
    ];
    if eddies.unknowns > 0 {
        let of_model = include_str!("turbulence/eddies.cuh");
        before = format!(
            "\n{ALONG}{before}\n#line 1 \"velocities.cuh\"\n{VELOCITIES}\n#line 1 \"eddies.cuh\"\n{of_model}"
        );
        text.push(include_str!("turbulence/eddies.cu"));
    }
    let source =
        source("incompressible", &before, &text.join("\n")).records::<Kernels>().records::<OfNewton>();
    let source = if eddies.unknowns > 0 { source.records::<OfEddies>() } else { source };
    let source = if eddies.laws > 0 { source.records::<OfLaws>() } else { source };
    let source = if eddies.quadratic > 0 { source.records::<OfQuadratic>() } else { source };
    source
        .define("CURVED", eddies.curved)
        .define("QUADRATIC", eddies.quadratic)
        .define("EDDIES", eddies.unknowns)
        .define("VARIANT", eddies.variant)
        .define("HYBRID", eddies.hybrid)
        .define("LAWS", eddies.laws)
        .define("NB", scheme.n)
        .define("CELLS", matrix_cells(scheme.n))
        .define("AXES", scheme.axes)
        .define("SKEWED", u32::from(scheme.skewed))
        .define("ORDER", 1 + u32::from(scheme.second_order))
        .define("LIMITED", u32::from(scheme.limited))
        .define("CENTRAL", u32::from(scheme.central))
}

/// Every branch at least once.
pub fn kernel_sources() -> Vec<KernelSource> {
    let plain = |n, axes, skewed| {
        let eddies = Constants::default();
        Scheme { n, axes, skewed, second_order: true, limited: false, central: false, eddies }
    };
    let nut = Constants { unknowns: 1, ..Constants::default() };
    let two = |variant: KOmegaVariant| Constants { unknowns: 2, variant: variant as i32, ..nut };
    let with = |eddies: Constants, form: HybridForm| Constants { hybrid: 1 + form as i32, ..eddies };
    [
        plain(4, 3, false),
        plain(4, 7, true),
        plain(5, 7, true),
        plain(6, 7, false),
        plain(32, 7, true),
        Scheme { second_order: false, ..plain(6, 7, true) },
        Scheme { limited: true, ..plain(5, 7, true) },
        Scheme { central: true, ..plain(5, 7, true) },
        Scheme { eddies: nut, ..plain(5, 7, true) },
        Scheme { eddies: nut, limited: true, ..plain(6, 3, false) },
        Scheme { eddies: two(KOmegaVariant::Sst), ..plain(6, 7, true) },
        Scheme { eddies: two(KOmegaVariant::SstVorticity), central: true, ..plain(6, 3, false) },
        Scheme { eddies: two(KOmegaVariant::Wilcox), second_order: false, ..plain(7, 7, true) },
        Scheme { eddies: two(KOmegaVariant::Sst), ..plain(32, 7, true) },
        Scheme { eddies: with(nut, HybridForm::Des), central: true, ..plain(5, 7, true) },
        Scheme { eddies: with(nut, HybridForm::Ddes), ..plain(5, 7, true) },
        Scheme { eddies: with(two(KOmegaVariant::Sst), HybridForm::Iddes), ..plain(6, 7, true) },
        Scheme { eddies: Constants { laws: 1, ..nut }, ..plain(6, 7, true) },
        Scheme { eddies: Constants { laws: 1, curved: 1, quadratic: 2, ..nut }, ..plain(5, 7, true) },
        Scheme { eddies: Constants { quadratic: 1, ..two(KOmegaVariant::Sst) }, ..plain(6, 7, true) },
        Scheme { eddies: Constants { laws: 1, ..two(KOmegaVariant::Wilcox) }, ..plain(6, 3, false) },
        Scheme { eddies: Constants { laws: 2, ..two(KOmegaVariant::Sst) }, ..plain(7, 7, true) },
    ]
    .iter()
    .map(kernel_source)
    .collect()
}

/// The grid as kernels over rows, the cells of all blocks, and over faces of the boundary see it.
pub struct RowsCuda {
    /// Where blocks lie in arrays of cells.
    pub arrays: GridCuda,
    pub rows: usize,
    place: DeviceBuffer<u32>,
    strides: DeviceBuffer<u32>,
    pub area: DeviceBuffer<f64>,
    open: DeviceBuffer<u8>,
    slopes: DeviceBuffer<f64>,
    pub volume: DeviceBuffer<f64>,
    /// Numbers of the set-up.
    pub fluid: DeviceBuffer<f64>,
    /// Faces on the boundary.
    pub faces: usize,
    face_index: DeviceBuffer<u32>,
    face_metric: DeviceBuffer<f64>,
    given: DeviceBuffer<f64>,
    host_given: Vec<f64>,
    kinds: DeviceBuffer<u32>,
    /// Faces of each row at the boundary.
    pub boundary_ptr: DeviceBuffer<u32>,
    pub boundary_faces: DeviceBuffer<u32>,
    pub corners: DeviceBuffer<u32>,
    /// Neighbors across interfaces: face, with one and the number of a matrix from bit 8 on, and row.
    pub links: Linked,
    /// The first of these where a row is its own turned neighbor.
    pub folds: Linked,
    /// What turns velocities.
    pub matrices: DeviceBuffer<f64>,
}

/// Rows with neighbors across interfaces, and what is there of each.
pub struct Linked {
    pub rows: DeviceBuffer<u32>,
    pub ptr: DeviceBuffer<u32>,
    pub others: DeviceBuffer<u32>,
}

impl Linked {
    /// Of links by rows.
    fn new(stream: &Stream, links: &[Link], others: &[u32]) -> Result<Self, GpuError> {
        let ptr = runs(links, |l| l.row);
        let rows: Vec<u32> = ptr[..ptr.len() - 1].iter().map(|&first| links[first as usize].row).collect();
        Ok(Self { rows: stream.upload(&rows)?, ptr: stream.upload(&ptr)?, others: stream.upload(others)? })
    }
}

/// Positions where runs of equal keys begin, and the end.
fn runs<K: PartialEq, T>(items: &[T], key: impl Fn(&T) -> K) -> Vec<u32> {
    let mut ptr: Vec<u32> = (0..items.len())
        .filter(|&i| i == 0 || key(&items[i]) != key(&items[i - 1]))
        .map(|i| i as u32)
        .collect();
    ptr.push(items.len() as u32);
    ptr
}

fn numbers(solver: &IncompressibleSystem) -> Vec<f64> {
    let (fluid, space) = (&solver.config.fluid, &solver.config.space);
    let (fourth, convective) = match space.flux {
        Flux::Roe => (0.0, 0.0),
        Flux::Central { fourth, convective } => (fourth, convective),
    };
    let mut all = vec![fluid.compressibility, fluid.viscosity, space.kappa, fourth, convective];
    if let Some(turbulence) = &solver.turbulence {
        all.extend(turbulence::numbers(&turbulence.model));
    }
    for s in &fluid.scalars {
        all.push(s.diffusivity);
        all.extend(s.buoyancy);
        all.push(s.reference);
    }
    all
}

fn all_given(patches: &[Patch]) -> Vec<f64> {
    patches.iter().flat_map(|p| p.given.iter().copied()).collect()
}

impl RowsCuda {
    pub fn new(stream: &Stream, solver: &IncompressibleSystem) -> Result<Self, GpuError> {
        let (space, links) = (&solver.space, &solver.system.links);
        let arrays = GridCuda::over(stream, space.blocks.iter().map(|b| b.cells).collect())?;
        let first_cells = arrays.offsets();
        let mut place = Vec::with_capacity(2 * space.rows);
        for (number, block) in space.blocks.iter().enumerate() {
            let first = first_cells[number];
            place.extend(block.cells.places().flat_map(|at| [(first + at) as u32, number as u32]));
        }
        let folds: Vec<Link> = solver.system.folds.iter().filter(|fold| fold.turn > 0).copied().collect();
        for fold in solver.system.folds.iter().filter(|fold| fold.turn == 0) {
            place[2 * fold.row as usize + 1] |= 1 << (16 + fold.face);
        }
        let strides: Vec<u32> =
            space.blocks.iter().flat_map(|b| [b.cells.stride[1] as u32, b.cells.stride[2] as u32]).collect();
        let skewed = space.blocks.iter().any(|b| b.skewed);
        let of_cells = |components: usize, of: &dyn Fn(&Block) -> Vec<f64>| {
            arrays.upload(space.blocks.iter().map(of), components)
        };
        let area = of_cells(9, &|b| b.metrics.area.as_flattened().concat())?;
        let kept = if skewed { 3 } else { 1 };
        let slopes =
            of_cells(3 * kept, &|b| b.slopes.iter().flat_map(|along| along[..kept].concat()).collect())?;
        let mut open = vec![0_u8; arrays.len()];
        for (b, first) in space.blocks.iter().zip(first_cells) {
            for at in 0..b.cells.len() {
                open[first + at] = (0..3).map(|d| u8::from(b.open[d][at] != 0.0) << d).sum();
            }
        }
        let (index, metric) = faces(space, first_cells);
        let mut by_row: Vec<(u32, u32)> = index.chunks(8).zip(0..).map(|(face, i)| (face[6], i)).collect();
        by_row.sort_unstable();
        let boundary_faces: Vec<u32> = by_row.iter().map(|f| f.1).collect();
        let corners: Vec<u32> = if skewed || solver.turbulence.is_some() {
            let of = |(block, first): (&Block, &usize)| -> Vec<u32> {
                block.corners.iter().flatten().map(|at| (first + at) as u32).collect()
            };
            space.blocks.iter().zip(first_cells).flat_map(of).collect()
        } else {
            Vec::new()
        };
        let link = |l: &Link| u32::from(l.face) | u32::from(l.turn) << 8;
        let others: Vec<u32> = links.iter().flat_map(|l| [link(l), l.other]).collect();
        let folded: Vec<u32> = folds.iter().map(link).collect();
        let given = all_given(&space.patches);
        Ok(Self {
            rows: space.rows,
            place: stream.upload(&place)?,
            strides: stream.upload(&strides)?,
            area,
            open: stream.upload(&open)?,
            slopes,
            volume: of_cells(1, &|b| b.metrics.volume.clone())?,
            fluid: stream.upload(&numbers(solver))?,
            faces: index.len() / 8,
            face_index: stream.upload(&index)?,
            face_metric: stream.upload(&metric)?,
            given: stream.upload(&given)?,
            host_given: given,
            kinds: stream.upload(&kinds(&space.patches, solver.turbulence.is_some()))?,
            boundary_ptr: stream.upload(&runs(&by_row, |f| f.0))?,
            boundary_faces: stream.upload(&boundary_faces)?,
            corners: stream.upload(&corners)?,
            links: Linked::new(stream, links, &others)?,
            folds: Linked::new(stream, &folds, &folded)?,
            matrices: stream.upload(space.part.exchange.matrices().as_flattened().as_flattened())?,
            arrays,
        })
    }

    /// Takes what is given at the boundary, where it has changed.
    pub fn take_given(&mut self, patches: &[Patch]) -> Result<(), GpuError> {
        let given = all_given(patches);
        if given != self.host_given {
            self.given.upload(&given)?;
            self.host_given = given;
        }
        Ok(())
    }

    /// Entries of an array of one component.
    pub fn cells(&self) -> u32 {
        self.arrays.len() as u32
    }

    /// What kernels over rows take of it.
    pub fn rows(&self) -> GridRows {
        kernel_arguments! { GridRows {
            rows: self.rows as u32, cells: self.cells(), place: &self.place, strides: &self.strides,
            area: &self.area, open: &self.open, slopes: &self.slopes, volumes: &self.volume,
        } }
    }

    /// What kernels over faces of the boundary take of it.
    pub fn faces(&self) -> BoundaryFaces {
        kernel_arguments! { BoundaryFaces {
            index: &self.face_index, metric: &self.face_metric, given: &self.given, kinds: &self.kinds,
        } }
    }

    /// Rows at the boundary.
    pub fn boundary_rows(&self) -> usize {
        self.boundary_ptr.len() - 1
    }
}

/// `index` and `metric` of the kernels' `FACES`.
fn faces(space: &Space, first_cells: &[usize]) -> (Vec<u32>, Vec<f64>) {
    let (mut index, mut metric) = (Vec::new(), Vec::new());
    for (number, patch) in space.patches.iter().enumerate() {
        let at = |cell: usize| (first_cells[patch.block] + cell) as u32;
        for face in &patch.faces {
            let [e, f] = face.along.map(|s| s as u32);
            index.extend([
                at(face.cell),
                at(face.ghost),
                at(face.next),
                number as u32,
                e,
                f,
                face.row as u32,
                face.axis(&space.blocks[patch.block]) as u32,
            ]);
            metric.extend(face.n.iter().chain(&face.slope).chain(&face.center));
        }
    }
    (index, metric)
}

/// Conditions of each patch, with what it is to a turbulence model where there is one.
fn kinds(patches: &[Patch], turbulent: bool) -> Vec<u32> {
    let scalar = |kind: &ScalarKind| match kind {
        ScalarKind::NoFlux => 0,
        ScalarKind::Value => 1,
        ScalarKind::Far => 2,
    };
    let of = |p: &Patch| -> Vec<u32> {
        let class = turbulent.then(|| class(p) as u32);
        std::iter::once(p.kind as u32).chain(p.scalars.iter().map(scalar)).chain(class).collect()
    };
    patches.iter().flat_map(of).collect()
}
