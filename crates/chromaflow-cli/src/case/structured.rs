//! `[structured]`: how flows on structured grids are solved.

use super::CaseFile;
use chromaflow_flow::FlowConfig;
use chromaflow_flow::flux::Dissipation;
use chromaflow_flow::structured::lax_wendroff::LaxWendroff;
use chromaflow_flow::structured::{
    LineImplicit, LocalStep, Scheme, StepMethod, StructuredConfig, ViscousTerms,
};
use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How flows on structured grids are solved, see `[grid]`. `[flow]`, `[reference]`, `[boundary]`, `[march]`, `[output]` and
/// `[expect]` hold as for meshes. Steady flow takes Newton-Krylov steps around the first-order matrix in block ILU; a `method`
/// that is given takes plain steps in their place (`nonlinear` in `[march]`).
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StructuredSection {
    /// How a step is taken.
    pub method: StepName,
    /// diagonal: dissipation of the scalar systems.
    pub diagonal_dissipation: DiagonalDissipation,
    /// ssor: symmetric sweeps a step.
    pub sweeps: usize,
    /// ssor: factor of each cell's change, 1 for Gauss-Seidel.
    pub relaxation: f64,
    /// lax_wendroff: the local step over that in which the fastest wave crosses a cell, in the place of the CFL numbers of
    /// `[march]`.
    pub courant: f64,
    /// lax_wendroff: coarse grids that speed up steady runs, where the numbers of cells can be halved. Three are best in
    /// channels, one where shocks stand on airfoils, which swing with more: those that keep a flow swinging are given up down to one.
    pub coarse_grids: usize,
    /// Inviscid fluxes. By default `scalar`, in turbulent flow `roe`.
    pub scheme: SchemeName,
    /// scalar, matrix: coefficient of the second differences.
    pub second: f64,
    /// scalar, matrix: coefficient of the fourth differences.
    pub fourth: f64,
    /// matrix: smallest |V - c| and |V + c| over the spectral radius.
    pub acoustic: f64,
    /// matrix: smallest |V| over the spectral radius.
    pub convective: f64,
    /// roe: weight of the extrapolation; 1/3 is of third order in one dimension.
    pub kappa: f64,
    /// roe: whether van Albada's limiter acts. By default it does, but in turbulent flow below Mach 1 that has `roe` by default.
    pub limited: bool,
    /// Below this Mach number dissipation shrinks no further: slow flow is dissipated by the speed of what is carried, and pressures by more. By default five
    /// times that of the fastest gas that the case tells of, as on meshes, by Newton-Krylov steps, at most 1; with 1, the default of plain steps, dissipation is by the speed of sound.
    pub cutoff_mach: Option<f64>,
    /// Viscous terms.
    pub viscous: ViscousName,
    /// Second differences of the implicit operator over the spectral radius (over |A| with `matrix` and `roe` in block
    /// systems); 0.5 is upwinding. By default 0.5 for `ssor` and `roe`, four times `fourth` for the others.
    pub implicit_dissipation: Option<f64>,
    /// How local time steps follow the shape of cells.
    pub local_step: LocalStepName,
    /// Thickness, over the reference length, of the layer at slip walls (supersonic: all walls) in which the flow starts along them, total enthalpy
    /// the free stream's: 0.1 is good for cells made for boundary layers, which shocks from an impulsive start leave
    /// hot. 0 starts with the free stream in every cell. By default a tenth of these walls' extent in steady inviscid or supersonic flow by
    /// Newton-Krylov steps, else 0. Not for `lax_wendroff`.
    pub start_layer: Option<f64>,
}

/// Steps on structured grids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum StepName {
    /// Approximate factorization into block tridiagonal systems of Beam and Warming.
    #[default]
    #[serde(alias = "beam-warming")]
    BeamWarming,
    /// Its diagonalized form of Pulliam and Chaussee: scalar systems.
    Diagonal,
    /// Symmetric successive over-relaxation of the unfactored operator.
    Ssor,
    /// Ni's form of the explicit Lax-Wendroff scheme, unknowns in the nodes.
    #[serde(alias = "lax-wendroff")]
    LaxWendroff,
}

impl StepName {
    /// As reports have it.
    pub fn title(self) -> &'static str {
        match self {
            Self::BeamWarming => "approximate factorization",
            Self::Diagonal => "diagonalized approximate factorization",
            Self::Ssor => "symmetric successive over-relaxation",
            Self::LaxWendroff => "Lax-Wendroff",
        }
    }
}

/// Dissipation of the diagonalized operator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiagonalDissipation {
    /// Second and fourth differences, twice those of the residual (scalar, matrix): pentadiagonal systems.
    #[default]
    Fourth,
    /// Second differences: tridiagonal systems.
    Second,
}

/// Inviscid fluxes of structured grids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum SchemeName {
    /// Central differences with scalar dissipation of Jameson, Schmidt and Turkel.
    #[default]
    Scalar,
    /// Central differences with matrix dissipation of Swanson and Turkel: sharper shocks and boundary layers.
    Matrix,
    /// Roe's flux between extrapolations.
    Roe,
}

/// Viscous terms of structured grids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ViscousName {
    /// All of them.
    #[default]
    Full,
    /// Derivatives across faces only.
    ThinLayer,
}

/// The wave speed that local time steps are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LocalStepName {
    /// The geometric mean of the largest and the smallest of the axes' spectral radii.
    #[default]
    Mean,
    /// The largest.
    Largest,
}

impl Default for StructuredSection {
    fn default() -> Self {
        let d = Dissipation::DEFAULT;
        Self {
            method: StepName::BeamWarming,
            diagonal_dissipation: DiagonalDissipation::Fourth,
            sweeps: 2,
            relaxation: 1.0,
            courant: LaxWendroff::default().courant,
            coarse_grids: 1,
            scheme: SchemeName::Scalar,
            second: d.second,
            fourth: d.fourth,
            acoustic: d.acoustic,
            convective: d.convective,
            kappa: 1.0 / 3.0,
            limited: true,
            cutoff_mach: None,
            viscous: ViscousName::Full,
            implicit_dissipation: None,
            local_step: LocalStepName::Mean,
            start_layer: None,
        }
    }
}

impl CaseFile {
    /// How a step on its grid is taken, as reports have it.
    pub fn step_title(&self) -> &'static str {
        if self.takes_newton_steps() {
            "Newton-Krylov steps around block ILU"
        } else {
            self.structured.method.title()
        }
    }
}

impl StructuredSection {
    /// Steps of the Lax-Wendroff scheme.
    pub fn lax_wendroff(&self) -> LaxWendroff {
        LaxWendroff { courant: self.courant, coarse_grids: self.coarse_grids }
    }

    /// The plain implicit step; Lax-Wendroff's scheme has none.
    pub fn step(&self) -> StepMethod {
        match self.method {
            StepName::BeamWarming | StepName::LaxWendroff => StepMethod::BeamWarming,
            StepName::Diagonal => {
                StepMethod::Diagonal { fourth: self.diagonal_dissipation == DiagonalDissipation::Fourth }
            }
            StepName::Ssor => StepMethod::Ssor { sweeps: self.sweeps, relaxation: self.relaxation },
        }
    }

    /// The solver's configuration, from that of the sections that meshes share.
    pub fn config(&self, shared: FlowConfig) -> StructuredConfig {
        let dissipation = Dissipation {
            second: self.second,
            fourth: self.fourth,
            acoustic: self.acoustic,
            convective: self.convective,
            ..Dissipation::DEFAULT
        };
        StructuredConfig {
            gas: shared.gas,
            freestream: shared.freestream,
            equations: shared.equations,
            scheme: match self.scheme {
                SchemeName::Scalar => Scheme::Scalar(dissipation),
                SchemeName::Matrix => Scheme::Matrix(dissipation),
                SchemeName::Roe => Scheme::Roe { kappa: self.kappa, limited: self.limited },
            },
            cutoff_mach: self.cutoff_mach,
            viscous: match self.viscous {
                ViscousName::Full => ViscousTerms::Full,
                ViscousName::ThinLayer => ViscousTerms::ThinLayer,
            },
            turbulence: shared.turbulence,
            boundaries: shared.boundaries,
            implicit: LineImplicit {
                method: self.step(),
                nonlinear: shared.implicit.nonlinear,
                cfl: shared.implicit.cfl,
                dissipation: self.implicit_dissipation,
                local_step: match self.local_step {
                    LocalStepName::Mean => LocalStep::Mean,
                    LocalStepName::Largest => LocalStep::Largest,
                },
                max_change: shared.implicit.max_change,
            },
            start_layer: self.start_layer,
            time: shared.time,
            reference: shared.reference,
        }
    }
}
