//! The words of a case file that name a choice, and what the libraries call them.

use chromaflow::factor::block_ilu::Fill;
use chromaflow_flow::config as flow;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Declares an enum of the case file, the library's enum it stands for, and the two mappings.
macro_rules! choice {
    ($(#[$meta:meta])* $name:ident => $target:ty { $($(#[$vmeta:meta])* $variant:ident => $value:expr),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[$vmeta])* $variant),+ }

        impl $name {
            /// What the library calls it.
            pub fn config(self) -> $target {
                match self { $(Self::$variant => $value),+ }
            }
            pub(in crate::case) fn of(config: $target) -> Self {
                $(if config == $value { return Self::$variant; })+
                unreachable!("the case file has a word for each choice")
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::of(Default::default())
            }
        }
    };
}

pub(crate) use choice;

choice! {
    /// Which equations are solved.
    Equations => flow::Equations {
        /// Inviscid.
        Euler => flow::Equations::Euler,
        /// Viscous, laminar.
        Laminar => flow::Equations::Laminar,
        /// Viscous, turbulent: with the model of `[turbulence]`.
        Rans => flow::Equations::Laminar,
    }
}
impl Equations {
    /// Whether there is viscosity.
    pub fn is_viscous(self) -> bool {
        self != Self::Euler
    }
}

choice! {
    /// Inviscid flux.
    Flux => flow::FluxScheme {
        /// Roe with an entropy fix.
        Roe => flow::FluxScheme::Roe,
        /// HLLC of Toro, Spruce and Speares.
        Hllc => flow::FluxScheme::Hllc,
        /// Flux vector splitting of van Leer.
        VanLeer => flow::FluxScheme::VanLeer,
    }
}
choice! {
    /// Limiter of the reconstruction.
    Limiter => flow::Limiter {
        /// None: for smooth flow.
        None => flow::Limiter::None,
        /// Edge by edge, differentiable.
        VanAlbada => flow::Limiter::VanAlbada,
        /// Node by node, differentiable.
        Venkatakrishnan => flow::Limiter::Venkatakrishnan,
        /// Node by node, strict; does not converge to round-off.
        Barth => flow::Limiter::Barth,
    }
}
choice! {
    /// Weights of the least-squares gradients.
    Gradient => flow::GradientWeights {
        /// All neighbors alike.
        Unweighted => flow::GradientWeights::Unweighted,
        /// By the inverse distance.
        InverseDistance => flow::GradientWeights::InverseDistance,
    }
}
choice! {
    /// Where fluxes between control volumes are integrated.
    Quadrature => flow::Quadrature {
        /// `linear` on planar meshes, `edge_midpoint` in space.
        Auto => flow::Quadrature::Auto,
        /// At the middle of each edge.
        EdgeMidpoint => flow::Quadrature::EdgeMidpoint,
        /// Exact for fluxes that vary linearly, on cells of any shape.
        Linear => flow::Quadrature::Linear,
    }
}
choice! {
    /// First-order linearization of the inviscid flux.
    JacobianKind => flow::JacobianScheme {
        /// Roe's matrix with frozen dissipation.
        Roe => flow::JacobianScheme::Roe,
        /// Derivatives of van Leer's split fluxes.
        VanLeer => flow::JacobianScheme::VanLeer,
    }
}
choice! {
    /// Precision policy of the linear system.
    PolicyName => chromaflow::Policy {
        /// All f64.
        D => chromaflow::Policy::D,
        /// Off-diagonal blocks and correction f32.
        Ds => chromaflow::Policy::Ds,
        /// Off-diagonal blocks scaled f16, correction f32.
        Dsh => chromaflow::Policy::Dsh,
    }
}

choice! {
    /// Method for the linear system.
    MethodName => chromaflow::solver::MethodWord {
        /// Multicolor point-implicit sweeps.
        Multicolor => chromaflow::solver::MethodWord::Multicolor,
        /// Block Jacobi sweeps.
        Jacobi => chromaflow::solver::MethodWord::Jacobi,
        /// Line-implicit sweeps along the short edges of stretched cells.
        Lines => chromaflow::solver::MethodWord::Lines,
        /// Corrections by block ILU(`fill`).
        Ilu0 => chromaflow::solver::MethodWord::Ilu0,
        /// Flexible GMRES around `precond`.
        Gmres => chromaflow::solver::MethodWord::Gmres,
        /// BiCGStab around `precond`.
        #[serde(rename = "bicgstab")]
        BiCgStab => chromaflow::solver::MethodWord::BiCgStab,
    }
}
choice! {
    /// Preconditioner of Krylov methods.
    PrecondName => chromaflow::solver::PreconditionerKind {
        /// Multicolor sweeps.
        Multicolor => chromaflow::solver::PreconditionerKind::Multicolor,
        /// Block Jacobi sweeps.
        Jacobi => chromaflow::solver::PreconditionerKind::Jacobi,
        /// Line-implicit sweeps along the short edges of stretched cells.
        Lines => chromaflow::solver::PreconditionerKind::Lines,
        /// Block ILU(`fill`).
        Ilu0 => chromaflow::solver::PreconditionerKind::Ilu(Fill::Level(0)),
        /// None.
        None => chromaflow::solver::PreconditionerKind::None,
    }
}

choice! {
    /// Order of the rows for block ILU.
    OrderName => chromaflow::solver::RowOrder {
        /// As the mesh has its nodes.
        Natural => chromaflow::solver::RowOrder::Natural,
        /// Reverse Cuthill-McKee, for the best factors.
        Rcm => chromaflow::solver::RowOrder::Rcm,
        /// Color by color, for the fastest ones on a GPU.
        Multicolor => chromaflow::solver::RowOrder::Multicolor,
    }
}

choice! {
    /// When sweeps over ranks exchange values at the borders of parts.
    ExchangeName => chromaflow::dist::SweepExchange {
        /// After each color: sweeps are those of one rank.
        Color => chromaflow::dist::SweepExchange::EveryColor,
        /// After each color, read one color later: sweeps depend on the number of ranks a little.
        Late => chromaflow::dist::SweepExchange::ColorLate,
        /// Once a sweep: they depend on it more.
        Sweep => chromaflow::dist::SweepExchange::EverySweep,
        /// Once a solve: each rank relaxes its own rows, block Jacobi between ranks.
        Solve => chromaflow::dist::SweepExchange::EverySolve,
    }
}

/// How viscosity depends on temperature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Viscosity {
    /// Sutherland's law.
    Sutherland,
    /// Not at all.
    Constant,
}
