//! What the kernels of turbulence models take.

use super::super::arguments::{Setup, Side, Value};
use crate::bc::Condition;
use crate::grid::{Chunks, GridBlock};
use crate::turbulence::hybrid::cuda::GridLengths;
use crate::wall_law::LawNode;
use chromaflow_device::cuda::{Read, Share, Write};
use chromaflow_device::{kernel_elements, kernel_record, kernels};

kernel_elements! {
    /// Numbers of a model.
    pub struct Model: "Model" in f64;
    /// A cell's distance from walls, and what production is multiplied by.
    pub struct Near: "double2" in f64;
}

kernel_record! {
    /// The flow and the model on the grid (`Field` of cells.cuh).
    pub struct Field {
        total: u64, w: Read<f64>, area: Read<f64>, volume: Read<f64>, values: Read<f64>, aux: Read<f64>,
        setup: Read<Setup>, model: Read<Model>,
    }
}

kernels! {
    /// The kernels of `eddies.cu`.
    pub(super) struct Kernels {
        fill_values: FillValues {
            count: u32, columns: Read<[u32; 2]>, conditions: Read<Condition<f64>>, sides: Read<Side>,
            heights: Read<f64>, laws: Read<LawNode<f64>>, on: Field, to: Share<f64>,
        },
        norms: Norms {
            over: Chunks, chunk_count: u32, on: Field, r: Read<f64>, partials: Write<f64>,
            first_bad: Share<u32>,
        },
        update: Update {
            over: Chunks, total: u64, model: Read<Model>, r: Read<f64>, values: Share<f64>,
            limited: Share<u32>, first_bad: Share<u32>,
        },
        add_quadratic: AddQuadratic {
            over: Chunks, on: Field, actives: Read<u32>, side_table: Read<u32>,
            eddies: Read<f64>, relation: Read<f64>, r: Share<f64>,
        },
        gather: Gather { over: Chunks, total: u64, row_of: Read<u32>, from: Read<f64>, to: Write<f64> },
        scatter: Scatter { over: Chunks, total: u64, row_of: Read<u32>, from: Read<f64>, to: Write<f64> },
        assemble_rows: AssembleRows {
            rows: u32, blocks: Read<GridBlock>, actives: Read<u32>,
            /// Place and block of each row.
            places: Read<[u32; 2]>,
            row_ptr: Read<u32>, links: Read<u32>, kinds: Read<u32>, on: Field, slopes: Read<f64>, cfl: f64,
            pseudo_time: Write<f64>, off: Write<Value>, diag: Write<f64>,
        },
    }
}

kernels! {
    /// The kernels of `spalart_allmaras.cu`.
    pub(super) struct OfNut {
        viscosities: Viscosities { on: Field, nu: Write<f64>, eddies: Write<f64> },
        find_relation: FindRelation {
            over: Chunks, on: Field, actives: Read<u32>, side_table: Read<u32>,
            laws: Read<LawNode<f64>>, near: Read<Near>, relation: Write<f64>,
        },
        residual: SaResidual {
            over: Chunks, on: Field, actives: Read<u32>, side_table: Read<u32>,
            kinds: Read<u32>, laws: Read<LawNode<f64>>, near: Read<Near>,
            grid: GridLengths, last: f64, before: f64,
            values_last: Read<f64>, values_before: Read<f64>, r: Write<f64>, slopes: Write<f64>,
        },
    }
}

kernels! {
    /// The kernels of `k_omega.cu` and `along.cu`.
    pub(super) struct OfKOmega {
        find_terms: FindTerms {
            over: Chunks, on: Field, actives: Read<u32>, side_table: Read<u32>,
            laws: Read<LawNode<f64>>, near: Read<Near>, grid: GridLengths,
            eddies: Write<f64>, diffusing: Write<f64>, terms: Write<f64>,
        },
        find_terms_along: FindTermsAlong {
            over: Chunks, on: Field, actives: Read<u32>, side_table: Read<u32>,
            laws: Read<LawNode<f64>>, near: Read<Near>, grid: GridLengths, h: f64,
            w_along: Read<f64>, values_along: Read<f64>, eddies: Write<f64>, diffusing_along: Write<f64>,
            terms_along: Write<f64>,
        },
        residual: KOmegaResidual {
            over: Chunks, on: Field, actives: Read<u32>, side_table: Read<u32>,
            kinds: Read<u32>, laws: Read<LawNode<f64>>, near: Read<Near>, terms: Read<f64>, last: f64,
            before: f64,
            w_last: Read<f64>, w_before: Read<f64>, values_last: Read<f64>, values_before: Read<f64>,
            r: Write<f64>, slopes: Write<f64>,
        },
        derivative: Derivative {
            over: Chunks, on: Field, actives: Read<u32>, side_table: Read<u32>,
            kinds: Read<u32>, laws: Read<LawNode<f64>>, near: Read<Near>, w_along: Read<f64>, values_along: Read<f64>,
            aux_along: Read<f64>, terms_along: Read<f64>, last: f64, before: f64, w_last: Read<f64>,
            w_before: Read<f64>, r: Write<f64>,
        },
        states_along: StatesAlong {
            over: Chunks, total: u64, row_of: Read<u32>, w: Read<f64>, v: Read<f64>, setup: Read<Setup>,
            w_along: Write<f64>,
        },
        ghosts_along: GhostsAlong {
            count: u32, columns: Read<[u32; 2]>, middles: Read<f64>, conditions: Read<Condition<f64>>,
            sides: Read<Side>, laws: Read<LawNode<f64>>, on: Field, w_along: Share<f64>,
        },
        values_along: ValuesAlong {
            count: u32, columns: Read<[u32; 2]>, conditions: Read<Condition<f64>>, sides: Read<Side>,
            heights: Read<f64>, laws: Read<LawNode<f64>>, on: Field, w_along: Read<f64>, slopes: Share<f64>,
        },
        mirror_eddies: MirrorEddies {
            count: u32, columns: Read<[u32; 2]>, conditions: Read<Condition<f64>>, sides: Read<Side>,
            eddies: Share<f64>,
        },
    }
}
