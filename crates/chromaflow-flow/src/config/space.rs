//! Discretization in space.

/// Discretization in space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Space {
    /// Inviscid flux.
    pub flux: FluxScheme,
    /// Entropy fix of Roe's flux for the convective waves: eigenvalues below this fraction of the spectral radius are rounded off. Larger
    /// than a hundredth, it thickens boundary layers; between thin layers of inviscid flow it grows, see
    /// [`LayerFix`](crate::flux::LayerFix).
    pub entropy_fix: f64,
    /// The same for the acoustic waves, which are slow at sonic lines and in shocks alone.
    pub acoustic_fix: f64,
    /// The Mach number below which changes of velocity dissipate no less, in Roe's flux and at slip walls, see
    /// [`RoeFix`](crate::flux::RoeFix); `None` for three times that of the fastest gas that the set-up tells of ([`Boundary::fastest`](crate::bc::Boundary::fastest)), 1 for none of it.
    pub cutoff_mach: Option<f64>,
    /// What the dissipation of Roe's flux is multiplied by: 1, and less for large eddies.
    pub dissipation: f64,
    /// Second order by reconstruction, or first order.
    pub second_order: bool,
    /// UMUSCL kappa: weight of the edge difference against the gradient. 0 is the gradient alone, 1 a central average, 1/2 interpolates
    /// values at nodes to third order on even spacing (QUICK, Leonard 1979). It fades at strong shocks, see [`kappa_at_shocks`](crate::flux::kappa_at_shocks).
    pub kappa: f64,
    /// Limiter of the reconstruction.
    pub limiter: Limiter,
    /// Changes that limiters leave alone: their eps is this part of what a body makes of the stream, variable by
    /// variable, see [`Freestream::changes`](super::Freestream::changes). The same for a mesh in any unit and of any width.
    pub limiter_k: f64,
    /// Weights of the least squares gradients.
    pub gradient: GradientWeights,
    /// Whether thin layers on curved walls are mapped, see [`Mapping`](crate::gradient::Mapping).
    pub mapped: bool,
    /// Where fluxes between control volumes are integrated.
    pub quadrature: Quadrature,
}

impl Default for Space {
    fn default() -> Self {
        Self {
            flux: FluxScheme::Roe,
            entropy_fix: 0.005,
            acoustic_fix: 0.3,
            cutoff_mach: None,
            dissipation: 1.0,
            second_order: true,
            kappa: 0.5,
            limiter: Limiter::VanAlbada,
            limiter_k: 1.0,
            gradient: GradientWeights::Unweighted,
            mapped: true,
            quadrature: Quadrature::Auto,
        }
    }
}

/// Inviscid flux of the residual.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FluxScheme {
    /// Roe (1981) with an entropy fix.
    #[default]
    Roe,
    /// HLLC of Toro, Spruce and Speares (1994).
    Hllc,
    /// Flux vector splitting of van Leer (1982).
    VanLeer,
}

/// Limiter of the reconstruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limiter {
    /// None: for smooth flow.
    None,
    /// Edge-wise van Albada, differentiable everywhere.
    #[default]
    VanAlbada,
    /// Venkatakrishnan (1995), node-wise.
    Venkatakrishnan,
    /// Barth and Jespersen (1989), node-wise. Not differentiable: does not converge to round-off.
    Barth,
}

/// Weights of the least squares gradients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GradientWeights {
    /// All neighbors alike: robust on curved, stretched meshes.
    #[default]
    Unweighted,
    /// By the inverse distance.
    InverseDistance,
}

/// Where fluxes between control volumes are integrated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Quadrature {
    /// `Linear` on planar meshes, `EdgeMidpoint` in space.
    #[default]
    Auto,
    /// One flux at the middle of each edge, times the directed area of its whole face. Of second order on triangles and
    /// tetrahedra of any shape and on other elements of smoothly varying shape; towards first order on irregular
    /// quadrilaterals, pyramids, prisms and hexahedra.
    EdgeMidpoint,
    /// Adds what a flux that varies linearly over the face carries besides, by the least moments that make up for the shapes of the
    /// control volumes ([`least_moments`](crate::residual::least_moments)): of second order on all elements of any shape. It fades at
    /// strong shocks, as kappa does, and is limited.
    Linear,
}
