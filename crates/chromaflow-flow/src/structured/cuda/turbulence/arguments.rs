//! What the kernels of turbulence models take.

use super::super::arguments::{Setup, Side, Value};
use crate::bc::Condition;
use crate::grid::{Chunks, GridBlock};
use chromaflow_device::cuda::{Read, Share, Write};
use chromaflow_device::{kernel_elements, kernel_record};

kernel_elements! {
    /// Numbers of a model.
    pub struct Model: "Model" in f64;
}

kernel_record! {
    /// The flow and the model on the grid (`Field` of cells.cuh).
    pub struct Field {
        total: u64, w: Read<f64>, area: Read<f64>, volume: Read<f64>, values: Read<f64>, aux: Read<f64>,
        setup: Read<Setup>, model: Read<Model>,
    }

    /// What `viscosities` takes.
    pub(super) struct Viscosities { on: Field, nu: Write<f64>, eddies: Write<f64> }

    /// What `residual` takes of Spalart-Allmaras; earlier levels are none in steady runs.
    pub(super) struct SaResidual {
        over: Chunks, on: Field, actives: Read<u32>, side_ptr: Read<u32>, face_of: Read<u32>, kinds: Read<u32>,
        distance: Read<f64>, production: Read<f64>, last: f64, before: f64, values_last: Read<f64>,
        values_before: Read<f64>, r: Write<f64>, slopes: Write<f64>,
    }

    /// What `fill_values` takes.
    pub(super) struct FillValues {
        count: u32, columns: Read<[u32; 2]>, conditions: Read<Condition<f64>>, sides: Read<Side>,
        heights: Read<f64>, on: Field, to: Share<f64>,
    }

    /// What `norms` takes.
    pub(super) struct Norms {
        over: Chunks, chunk_count: u32, on: Field, r: Read<f64>, partials: Write<f64>, first_bad: Share<u32>,
    }

    /// What `update` takes.
    pub(super) struct Update {
        over: Chunks, total: u64, model: Read<Model>, r: Read<f64>, values: Share<f64>, limited: Share<u32>,
        first_bad: Share<u32>,
    }

    /// What `gather` takes.
    pub(super) struct Gather { over: Chunks, total: u64, row_of: Read<u32>, from: Read<f64>, to: Write<f64> }

    /// What `scatter` takes.
    pub(super) struct Scatter { over: Chunks, total: u64, row_of: Read<u32>, from: Read<f64>, to: Write<f64> }

    /// What `assemble_rows` takes.
    pub(super) struct AssembleRows {
        rows: u32, blocks: Read<GridBlock>, actives: Read<u32>,
        /// Place and block of each row.
        places: Read<[u32; 2]>,
        row_ptr: Read<u32>, links: Read<u32>, kinds: Read<u32>, on: Field, slopes: Read<f64>, cfl: f64,
        pseudo_time: Write<f64>, off: Write<Value>, diag: Write<f64>,
    }

    /// What `find_terms` takes.
    pub(super) struct FindTerms {
        over: Chunks, on: Field, actives: Read<u32>, distance: Read<f64>, production: Read<f64>, eddies: Write<f64>,
        diffusing: Write<f64>, terms: Write<f64>,
    }

    /// What `find_terms_along` takes.
    pub(super) struct FindTermsAlong {
        over: Chunks, on: Field, actives: Read<u32>, distance: Read<f64>, production: Read<f64>, h: f64,
        w_along: Read<f64>, values_along: Read<f64>, eddies: Write<f64>, diffusing_along: Write<f64>,
        terms_along: Write<f64>,
    }

    /// What `residual` takes of k and omega; earlier levels are none in steady runs.
    pub(super) struct KOmegaResidual {
        over: Chunks, on: Field, actives: Read<u32>, side_ptr: Read<u32>, face_of: Read<u32>, kinds: Read<u32>,
        distance: Read<f64>, terms: Read<f64>, last: f64, before: f64, w_last: Read<f64>, w_before: Read<f64>,
        values_last: Read<f64>, values_before: Read<f64>, r: Write<f64>, slopes: Write<f64>,
    }

    /// What `derivative` takes; earlier levels are none in steady runs.
    pub(super) struct Derivative {
        over: Chunks, on: Field, actives: Read<u32>, side_ptr: Read<u32>, face_of: Read<u32>, kinds: Read<u32>,
        distance: Read<f64>, w_along: Read<f64>, values_along: Read<f64>, aux_along: Read<f64>,
        terms_along: Read<f64>, last: f64, before: f64, w_last: Read<f64>, w_before: Read<f64>, r: Write<f64>,
    }

    /// What `states_along` takes.
    pub(super) struct StatesAlong {
        over: Chunks, total: u64, row_of: Read<u32>, w: Read<f64>, v: Read<f64>, setup: Read<Setup>,
        w_along: Write<f64>,
    }

    /// What `ghosts_along` takes.
    pub(super) struct GhostsAlong {
        count: u32, columns: Read<[u32; 2]>, middles: Read<f64>, conditions: Read<Condition<f64>>,
        sides: Read<Side>, on: Field, w_along: Share<f64>,
    }

    /// What `values_along` takes.
    pub(super) struct ValuesAlong {
        count: u32, columns: Read<[u32; 2]>, conditions: Read<Condition<f64>>, sides: Read<Side>,
        heights: Read<f64>, on: Field, w_along: Read<f64>, slopes: Share<f64>,
    }

    /// What `mirror_eddies` takes.
    pub(super) struct MirrorEddies {
        count: u32, columns: Read<[u32; 2]>, conditions: Read<Condition<f64>>, sides: Read<Side>,
        eddies: Share<f64>,
    }
}
