//! What the kernels of `fluxes.cu`, `matrix.cu`, `step.cu`, `newton.cu` and `turbulence/eddies.cu` take.

use crate::gpu::AddParts;
use chromaflow_device::cuda::{Read, Share, Write};
use chromaflow_device::{kernel_elements, kernel_record, kernels};

kernel_elements! {
    /// Numbers of the set-up.
    pub(super) struct Fluid: "Fluid" in f64;
    /// A bit for each axis.
    pub(super) struct Bits: "unsigned char" in u8;
}

kernel_record! {
    /// The grid: rows, and cells with ghosts.
    pub(super) struct GridRows {
        rows: u32, cells: u32, place: Read<[u32; 2]>, strides: Read<[u32; 2]>, area: Read<f64>,
        open: Read<Bits>, slopes: Read<f64>, volumes: Read<f64>,
    }

    /// Faces of the boundary.
    pub(super) struct BoundaryFaces {
        index: Read<[u32; 4]>, metric: Read<f64>, given: Read<f64>, kinds: Read<u32>,
    }

    /// Rows at the boundary and their faces.
    pub(super) struct BoundaryRows {
        count: u32, ptr: Read<u32>, list: Read<u32>, cells: u32, at: BoundaryFaces, fluid: Read<Fluid>,
        area: Read<f64>, volumes: Read<f64>, eddies: Eddies,
    }

    /// Of a turbulence model, see `turbulence/eddies.cuh`; nothing in laminar flow.
    pub(super) struct Eddies { coefficients: Read<f64>, sources: Read<f64>, distance: Read<f64> }
}

kernels! {
    /// The kernels of `fluxes.cu`, `matrix.cu` and `step.cu`.
    pub(super) struct Kernels {
        residual: Residual {
            grid: GridRows, fluid: Read<Fluid>, q: Read<f64>, eddies: Eddies, out: Write<f64>,
        },
        boundary_ghosts: BoundaryGhosts {
            faces: u32, cells: u32, at: BoundaryFaces, fluid: Read<Fluid>, eddies: Eddies, q: Share<f64>,
        },
        corner_ghosts: CornerGhosts { corners: u32, cells: u32, list: Read<[u32; 4]>, q: Share<f64> },
        boundary_residual: BoundaryResidual { row: BoundaryRows, q: Read<f64>, out: Write<f64> },
        time_steps: TimeSteps {
            grid: GridRows, fluid: Read<Fluid>, q: Read<f64>, eddies: Eddies, cfl: f64, steps: Write<f64>,
        },
        fill_matrix: FillMatrix {
            grid: GridRows, fluid: Read<Fluid>, q: Read<f64>, eddies: Eddies, residual: Read<f64>,
            steps: Read<f64>, rate: f64, diag: Write<f64>, lower: Write<f64>, upper: Write<f64>,
        },
        boundary_matrix: BoundaryMatrix { row: BoundaryRows, q: Read<f64>, diag: Write<f64> },
        couple_blocks: CoupleBlocks {
            count: u32, row_of: Read<u32>, ptr: Read<u32>, links: Read<[u32; 2]>, matrices: Read<f64>, rows: u32,
            come: Read<u32>, others: Read<f64>,
            lower: Read<f64>, upper: Read<f64>, x: Read<f64>, r: Write<f64>,
        },
        fold_turned: FoldTurned {
            count: u32, row_of: Read<u32>, ptr: Read<u32>, folds: Read<u32>, matrices: Read<f64>,
            lower: Read<f64>, upper: Read<f64>, diag: Write<f64>,
        },
        add_time_and_source: AddTimeAndSource {
            grid: GridRows, q: Read<f64>, now: f64, last: f64, before: f64, q_last: Read<f64>,
            q_before: Read<f64>, source: Read<f64>, residual: Write<f64>,
        },
        take_rows: TakeRows { grid: GridRows, q: Read<f64>, out: Write<f64> },
        residual_norms: ResidualNorms { grid: GridRows, residual: Read<f64>, partials: Write<f64> },
        wall_forces: WallForces {
            parts: Read<[u32; 2]>, cells: u32, at: BoundaryFaces, fluid: Read<Fluid>, eddies: Eddies,
            q: Read<f64>, cx: f64, cy: f64, cz: f64, partials: Write<f64>,
        },
        apply_update: ApplyUpdate {
            grid: GridRows, fluid: Read<Fluid>, x: Read<f64>, q: Write<f64>, last_good: Write<f64>,
            counts: Write<u32>,
        },
        add_parts: AddParts,
    }
}

kernels! {
    /// The kernels of `turbulence/eddies.cu`.
    pub(super) struct OfEddies {
        find_terms: FindTerms {
            grid: GridRows, fluid: Read<Fluid>, q: Read<f64>, distance: Read<f64>, production: Read<f64>,
            lengths: Read<f64>, arms: u32, shear: Read<f64>, coefficients: Write<f64>, sources: Write<f64>,
        },
        measure_residual: MeasureResidual {
            grid: GridRows, fluid: Read<Fluid>, q: Read<f64>, residual: Write<f64>,
        },
    }
}

kernels! {
    /// The kernel of laws of the wall, in `turbulence/eddies.cu`, too.
    pub(super) struct OfLaws {
        find_laws: FindLaws {
            row: BoundaryRows, rows: u32, q: Read<f64>, to: Write<f64>, shear: Write<f64>,
        },
    }
}

kernels! {
    /// The kernel of quadratic constitutive relations, in `turbulence/eddies.cu`, too.
    pub(super) struct OfQuadratic {
        add_quadratic: AddQuadratic {
            grid: GridRows, q: Read<f64>, coefficients: Read<f64>, residual: Write<f64>,
        },
    }
}

kernels! {
    /// The kernels of `newton.cu`.
    pub(super) struct OfNewton {
        newton_norms: NewtonNorms {
            grid: GridRows, fluid: Read<Fluid>, q: Read<f64>, residual: Read<f64>, steps: Read<f64>, cfl: f64,
            partials: Write<f64>,
        },
        newton_times: NewtonTimes {
            grid: GridRows, fluid: Read<Fluid>, eddies: Eddies, residual: Read<f64>, steps: Read<f64>,
            times: Write<f64>,
        },
        set_beside: SetBeside {
            grid: GridRows, fluid: Read<Fluid>, base: Read<f64>, units: Read<f64>, h: f64, v: Read<f64>,
            q: Write<f64>,
        },
        newton_slopes: NewtonSlopes {
            rows: u32, residual: Read<f64>, base: Read<f64>, times: Read<f64>, steps: Read<f64>, cfl: f64,
            units: Read<f64>, inverse: f64, v: Read<f64>, y: Write<f64>,
        },
        weigh: Weigh {
            rows: u32, steps: Read<f64>, cfl: f64, units: Read<f64>, back: u32, from: Read<f64>, to: Write<f64>,
        },
        weigh_unknowns: WeighUnknowns {
            count: u64, units: Read<f64>, back: u32, from: Read<f64>, to: Write<f64>,
        },
    }
}
