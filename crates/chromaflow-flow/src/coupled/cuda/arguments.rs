//! What the kernels of `coupled.cu` and `carried.cu` take.

use crate::residual::arguments::BoundaryNodes;
use chromaflow_device::cuda::{Read, Share, Write};
use chromaflow_device::{kernel_elements, kernel_record};

kernel_elements! {
    /// Units of an unknown and of its residual.
    pub(super) struct Units: "Units" in f64;
    /// A number that off-diagonal blocks are assembled in.
    pub(super) struct Value: "Value" in u8;
    /// What carries unknowns through a face.
    pub struct CarriedFace: "CarriedFace" in f64;
}

kernel_record! {
    /// What `subtract_source` takes.
    pub(super) struct SubtractSource {
        rows: u32, volumes: Read<f64>, source: Read<f64>, residual: Write<f64>,
    }

    /// What `held_residual` takes.
    pub(super) struct HeldResidual {
        count: u32, node_of: Read<u32>, residual: Share<f64>,
    }

    /// What `held_rows` takes.
    pub(super) struct HeldRows {
        count: u32, node_of: Read<u32>, row_ptr: Read<u32>, off: Share<Value>, diag: Share<f64>,
    }

    /// What `residual_norms` takes.
    pub(super) struct ResidualNorms {
        rows: u32, residual: Read<f64>, volumes: Read<f64>, values: Read<f64>, floors: Read<f64>,
        partials: Write<f64>, first_bad: Write<u32>,
    }

    /// What `subtract_update` takes.
    pub(crate) struct SubtractUpdate {
        rows: u32, update: Read<f64>, values: Write<f64>, limited: Write<u32>,
    }

    /// What `check_values` takes.
    pub(super) struct CheckValues {
        rows: u32, values: Read<f64>, first_bad: Share<u32>,
    }

    /// What `measured` takes.
    pub(super) struct Measured {
        rows: u32, v: u32, floors: Read<f64>, base: Read<f64>, residual: Read<f64>, pseudo_time: Read<f64>,
        by_change: u32, of_values: Write<f64>, of_residuals: Write<f64>,
    }

    /// What `set_beside` takes.
    pub(super) struct SetBeside {
        rows: u32, floors: Read<f64>, base: Read<f64>, units: Read<Units>, h: f64, v: Read<f64>,
        values: Write<f64>,
    }

    /// What `slopes` takes.
    pub(super) struct Slopes {
        rows: u32, floors: Read<f64>, base: Read<f64>, units: Read<Units>, moved: Read<f64>,
        residual: Read<f64>, pseudo_time: Read<f64>, v: Read<f64>, inverse: f64, y: Write<f64>,
    }

    /// What `add_pseudo_time` takes.
    pub(super) struct AddPseudoTime {
        rows: u32, floors: Read<f64>, base: Read<f64>, units: Read<Units>, slope: Read<f64>,
        pseudo_time: Read<f64>, v: Read<f64>, y: Write<f64>,
    }

    /// What `measure` takes.
    pub(super) struct Measure {
        rows: u32, floors: Read<f64>, base: Read<f64>, units: Read<Units>, pseudo_time: Read<f64>, to: u32,
        from: Read<f64>, out: Write<f64>,
    }

    /// What `held_slopes` takes.
    pub(super) struct HeldSlopes {
        count: u32, node_of: Read<u32>, v: Read<f64>, y: Write<f64>,
    }

    /// What `carried_rows` takes.
    pub(super) struct CarriedRows {
        rows: u32, row_ptr: Read<u32>, signed_edge: Read<u32>, faces: Read<CarriedFace>, slopes: Read<f64>,
        growth: Read<f64>, volumes: Read<f64>, cfl: f64, off: Write<Value>, diag: Write<f64>,
    }

    /// What `carried_pseudo_times` takes.
    pub(super) struct CarriedPseudoTimes {
        rows: u32, row_ptr: Read<u32>, signed_edge: Read<u32>, faces: Read<CarriedFace>, growth: Read<f64>,
        volumes: Read<f64>, cfl: f64, pseudo_time: Write<f64>,
    }

    /// What `carried_boundary` takes.
    pub(super) struct CarriedBoundary {
        at: BoundaryNodes, per_volume: u32, given: Read<f64>, values: Read<f64>, to: u32, cfl: f64,
        out: Share<f64>,
    }

    /// What `carried_boundary_along` takes.
    pub(super) struct CarriedBoundaryAlong {
        at: BoundaryNodes, moved: Read<f64>, inverse: f64, given: Read<f64>, values: Read<f64>,
        changes: Read<f64>, out: Share<f64>,
    }
}
