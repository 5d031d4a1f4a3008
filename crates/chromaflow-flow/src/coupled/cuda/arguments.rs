//! What the kernels of `coupled.cu` and `carried.cu` take.

use crate::gpu::AddParts;
use crate::residual::arguments::BoundaryNodes;
use chromaflow_device::cuda::{Read, Share, Write};
use chromaflow_device::{kernel_elements, kernels};

kernel_elements! {
    /// Units of an unknown and of its residual.
    pub(super) struct Units: "Units" in f64;
    /// A number that off-diagonal blocks are assembled in.
    pub(super) struct Value: "Value" in u8;
    /// What carries unknowns through a face.
    pub struct CarriedFace: "CarriedFace" in f64;
}

kernels! {
    /// Those that Newton-Krylov steps need besides.
    pub(super) struct NewtonKernels {
        measure: Measure {
            rows: u32, floors: Read<f64>, base: Read<f64>, units: Read<Units>, pseudo_time: Read<f64>,
            to: u32, from: Read<f64>, out: Write<f64>,
        },
        measured: Measured {
            rows: u32, v: u32, floors: Read<f64>, base: Read<f64>, residual: Read<f64>,
            pseudo_time: Read<f64>, by_change: u32, of_values: Write<f64>, of_residuals: Write<f64>,
        },
        set_beside: SetBeside {
            rows: u32, floors: Read<f64>, base: Read<f64>, units: Read<Units>, h: f64, v: Read<f64>,
            values: Write<f64>,
        },
        add_pseudo_time: AddPseudoTime {
            rows: u32, floors: Read<f64>, base: Read<f64>, units: Read<Units>, slope: Read<f64>,
            pseudo_time: Read<f64>, v: Read<f64>, y: Write<f64>,
        },
        slopes: Slopes {
            rows: u32, floors: Read<f64>, base: Read<f64>, units: Read<Units>, moved: Read<f64>,
            residual: Read<f64>, pseudo_time: Read<f64>, v: Read<f64>, inverse: f64, y: Write<f64>,
        },
        held_slopes: HeldSlopes { count: u32, node_of: Read<u32>, v: Read<f64>, y: Write<f64> },
    }
}

kernels! {
    /// The kernels of `carried.cu`.
    pub(super) struct CarriedKernels {
        carried_rows: CarriedRows {
            rows: u32, row_ptr: Read<u32>, signed_edge: Read<u32>, faces: Read<CarriedFace>,
            slopes: Read<f64>, growth: Read<f64>, volumes: Read<f64>, cfl: f64, off: Write<Value>,
            diag: Write<f64>,
        },
        carried_pseudo_times: CarriedPseudoTimes {
            rows: u32, row_ptr: Read<u32>, signed_edge: Read<u32>, faces: Read<CarriedFace>,
            growth: Read<f64>, volumes: Read<f64>, cfl: f64, pseudo_time: Write<f64>,
        },
        carried_boundary: CarriedBoundary {
            at: BoundaryNodes, per_volume: u32, given: Read<f64>, values: Read<f64>, to: u32, cfl: f64,
            out: Share<f64>,
        },
        carried_boundary_along: CarriedBoundaryAlong {
            at: BoundaryNodes, moved: Read<f64>, inverse: f64, given: Read<f64>, values: Read<f64>,
            changes: Read<f64>, out: Share<f64>,
        },
    }
}

kernels! {
    /// The kernels of `coupled.cu` that every system takes.
    pub(crate) struct Kernels {
        subtract_source: SubtractSource {
            rows: u32, volumes: Read<f64>, source: Read<f64>, residual: Write<f64>,
        },
        held_residual: HeldResidual { count: u32, node_of: Read<u32>, residual: Share<f64> },
        held_rows: HeldRows {
            count: u32, node_of: Read<u32>, row_ptr: Read<u32>, off: Share<Value>, diag: Share<f64>,
        },
        residual_norms: ResidualNorms {
            rows: u32, residual: Read<f64>, volumes: Read<f64>, values: Read<f64>, floors: Read<f64>,
            partials: Write<f64>, first_bad: Write<u32>,
        },
        subtract_update: SubtractUpdate {
            rows: u32, update: Read<f64>, values: Write<f64>, limited: Write<u32>,
        },
        check_values: CheckValues { rows: u32, values: Read<f64>, first_bad: Share<u32> },
        add_parts: AddParts,
    }
}
