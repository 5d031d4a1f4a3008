//! What is cited, and by which cases.

use crate::case::{
    CaseFile, Equations, Flux, HybridName, Limiter, MethodName, Mode, ModelName, PolicyName, PrecondName,
    QuadraticName, RotationName, SchemeName, StepName, Viscosity,
};

/// A paper, and the cases that use what it says.
pub struct Reference {
    pub key: &'static str,
    pub kind: &'static str,
    pub what: &'static str,
    pub authors: &'static str,
    pub title: &'static str,
    pub place: &'static str,
    pub year: u16,
    /// Whether a case uses it.
    pub used: fn(&CaseFile) -> bool,
}

/// Whether a case has one of these hybrids.
fn has_hybrid(case: &CaseFile, hybrids: &[HybridName]) -> bool {
    case.flow.equations == Equations::Rans && hybrids.contains(&case.turbulence.hybrid)
}

/// Whether a case has one of these turbulence models.
fn has_model(case: &CaseFile, models: &[ModelName]) -> bool {
    case.flow.equations == Equations::Rans && models.contains(&case.turbulence.model)
}

/// What cases of meshes use.
pub const MESHES: &[Reference] = &[
    Reference {
        key: "zubair2016",
        kind: "inproceedings",
        what: "multicolor point-implicit relaxation",
        authors: "M. Zubair and E. Nielsen and J. Luitjens and D. Hammond",
        title: "An Optimized Multicolor Point-Implicit Solver for Unstructured Grid Applications on Graphics Processing Units",
        place: "6th Workshop on Irregular Applications: Architecture and Algorithms (IA3)",
        year: 2016,
        used: |c| relaxation(c) == PrecondName::Multicolor,
    },
    Reference {
        key: "mavriplis1998",
        kind: "article",
        what: "line relaxation along strong couplings",
        authors: "D. J. Mavriplis",
        title: "Multigrid Strategies for Viscous Flow Solvers on Anisotropic Unstructured Meshes",
        place: "Journal of Computational Physics 145",
        year: 1998,
        used: |c| relaxation(c) == PrecondName::Lines,
    },
    Reference {
        key: "walden2019",
        kind: "inproceedings",
        what: "precision policies ds and dsh",
        authors: "A. Walden and E. Nielsen and B. Diskin and M. Zubair",
        title: "A Mixed Precision Multicolor Point-Implicit Solver for Unstructured Grids on GPUs",
        place: "IEEE/ACM 9th Workshop on Irregular Applications: Architectures and Algorithms (IA3)",
        year: 2019,
        used: |c| c.linear.policy != PolicyName::D,
    },
    Reference {
        key: "vandervorst1992",
        kind: "article",
        what: "BiCGStab",
        authors: "H. A. van der Vorst",
        title: "Bi-CGSTAB: a fast and smoothly converging variant of Bi-CG for the solution of nonsymmetric linear systems",
        place: "SIAM Journal on Scientific and Statistical Computing 13",
        year: 1992,
        used: |c| c.linear.method == MethodName::BiCgStab,
    },
    Reference {
        key: "cuthill1969",
        kind: "inproceedings",
        what: "order of the rows",
        authors: "E. Cuthill and J. McKee",
        title: "Reducing the bandwidth of sparse symmetric matrices",
        place: "Proceedings of the 24th National Conference of the ACM",
        year: 1969,
        used: |_| true,
    },
    Reference {
        key: "harten1983",
        kind: "article",
        what: "entropy fix of Roe's flux",
        authors: "A. Harten",
        title: "High resolution schemes for hyperbolic conservation laws",
        place: "Journal of Computational Physics 49",
        year: 1983,
        used: |c| c.numerics.flux == Flux::Roe && c.numerics.entropy_fix.max(c.numerics.acoustic_fix) > 0.0,
    },
    Reference {
        key: "toro1994",
        kind: "article",
        what: "HLLC flux",
        authors: "E. F. Toro and M. Spruce and W. Speares",
        title: "Restoration of the contact surface in the HLL-Riemann solver",
        place: "Shock Waves 4",
        year: 1994,
        used: |c| c.numerics.flux == Flux::Hllc,
    },
    Reference {
        key: "vanleer1982",
        kind: "inproceedings",
        what: "van Leer's flux",
        authors: "B. van Leer",
        title: "Flux-vector splitting for the Euler equations",
        place: "Eighth International Conference on Numerical Methods in Fluid Dynamics",
        year: 1982,
        used: |c| c.numerics.flux == Flux::VanLeer,
    },
    Reference {
        key: "burg2005",
        kind: "inproceedings",
        what: "second-order reconstruction",
        authors: "C. Burg",
        title: "Higher Order Variable Extrapolation for Unstructured Finite Volume RANS Flow Solvers",
        place: "17th AIAA Computational Fluid Dynamics Conference, AIAA 2005-4999",
        year: 2005,
        used: |c| c.numerics.order == 2,
    },
    Reference {
        key: "venkatakrishnan1995",
        kind: "article",
        what: "Venkatakrishnan's limiter",
        authors: "V. Venkatakrishnan",
        title: "Convergence to steady state solutions of the Euler equations on unstructured grids with limiters",
        place: "Journal of Computational Physics 118",
        year: 1995,
        used: |c| c.numerics.order == 2 && c.numerics.limiter == Limiter::Venkatakrishnan,
    },
    Reference {
        key: "barth1989",
        kind: "inproceedings",
        what: "Barth and Jespersen's limiter",
        authors: "T. J. Barth and D. C. Jespersen",
        title: "The design and application of upwind schemes on unstructured meshes",
        place: "27th AIAA Aerospace Sciences Meeting, AIAA 89-0366",
        year: 1989,
        used: |c| c.numerics.order == 2 && c.numerics.limiter == Limiter::Barth,
    },
];

/// What cases of structured grids use.
pub const GRIDS: &[Reference] = &[
    Reference {
        key: "beam1978",
        kind: "article",
        what: "approximate factorization",
        authors: "R. M. Beam and R. F. Warming",
        title: "An Implicit Factored Scheme for the Compressible {Navier-Stokes} Equations",
        place: "AIAA Journal",
        year: 1978,
        used: is_factored,
    },
    Reference {
        key: "pulliam1981",
        kind: "article",
        what: "diagonalized factors",
        authors: "T. H. Pulliam and D. S. Chaussee",
        title: "A Diagonal Form of an Implicit Approximate-Factorization Algorithm",
        place: "Journal of Computational Physics",
        year: 1981,
        used: |c| is_factored(c) && c.structured.method == StepName::Diagonal,
    },
    Reference {
        key: "yoon1988",
        kind: "article",
        what: "symmetric sweeps of the unfactored operator",
        authors: "S. Yoon and A. Jameson",
        title: "Lower-Upper Symmetric-{Gauss-Seidel} Method for the {Euler} and {Navier-Stokes} Equations",
        place: "AIAA Journal",
        year: 1988,
        used: |c| !c.takes_newton_steps() && c.structured.method == StepName::Ssor,
    },
    Reference {
        key: "nichols2006",
        kind: "inproceedings",
        what: "several sweeps a step",
        authors: "R. H. Nichols and R. W. Tramel and P. G. Buning",
        title: "Solver and Turbulence Model Upgrades to {OVERFLOW} 2 for Unsteady and High-Speed Applications",
        place: "24th AIAA Applied Aerodynamics Conference",
        year: 2006,
        used: |c| !c.takes_newton_steps() && c.structured.method == StepName::Ssor,
    },
    Reference {
        key: "ni1982",
        kind: "article",
        what: "distribution of the Lax-Wendroff scheme and its coarse grids",
        authors: "R.-H. Ni",
        title: "A Multiple-Grid Scheme for Solving the {Euler} Equations",
        place: "AIAA Journal",
        year: 1982,
        used: |c| c.structured.method == StepName::LaxWendroff,
    },
    Reference {
        key: "stone2011",
        kind: "inproceedings",
        what: "batches of block-tridiagonal systems",
        authors: "C. P. Stone and E. P. N. Duque and Y. Zhang and D. Car and J. D. Owens and R. L. Davis",
        title: "{GPGPU} Parallel Algorithms for Structured-Grid {CFD} Codes",
        place: "20th AIAA Computational Fluid Dynamics Conference",
        year: 2011,
        used: is_factored,
    },
    Reference {
        key: "jameson1981",
        kind: "inproceedings",
        what: "scalar dissipation",
        authors: "A. Jameson and W. Schmidt and E. Turkel",
        title: "Numerical Solution of the {Euler} Equations by Finite Volume Methods Using {Runge-Kutta} Time-Stepping Schemes",
        place: "AIAA 14th Fluid and Plasma Dynamics Conference",
        year: 1981,
        used: |c| c.structured.scheme != SchemeName::Roe,
    },
    Reference {
        key: "swanson1992",
        kind: "article",
        what: "matrix dissipation",
        authors: "R. C. Swanson and E. Turkel",
        title: "On Central-Difference and Upwind Schemes",
        place: "Journal of Computational Physics",
        year: 1992,
        used: |c| c.structured.scheme == SchemeName::Matrix,
    },
];

/// What both may use, and cases of incompressible flow.
pub const SHARED: &[Reference] = &[
    Reference {
        key: "knoll2004",
        kind: "article",
        what: "Newton-Krylov steps",
        authors: "D. A. Knoll and D. E. Keyes",
        title: "Jacobian-free {Newton-Krylov} methods: a survey of approaches and applications",
        place: "Journal of Computational Physics 193",
        year: 2004,
        used: CaseFile::takes_newton_steps,
    },
    Reference {
        key: "luo2015",
        kind: "article",
        what: "block ILU(0)",
        authors: "L. Luo and J. R. Edwards and H. Luo and F. Mueller",
        title: "A fine-grained block ILU scheme on regular structures for GPGPUs",
        place: "Computers and Fluids 119",
        year: 2015,
        used: |c| if c.grid.is_used() { c.takes_newton_steps() } else { relaxation(c) == PrecondName::Ilu0 },
    },
    Reference {
        key: "saad1993",
        kind: "article",
        what: "flexible GMRES",
        authors: "Y. Saad",
        title: "A flexible inner-outer preconditioned GMRES algorithm",
        place: "SIAM Journal on Scientific Computing 14",
        year: 1993,
        used: |c| c.takes_newton_steps() || !c.grid.is_used() && c.linear.method == MethodName::Gmres,
    },
    Reference {
        key: "haenel1987",
        kind: "inproceedings",
        what: "energy that goes with mass",
        authors: "D. Haenel and R. Schwane and G. Seider",
        title: "On the accuracy of upwind schemes for the solution of the Navier-Stokes equations",
        place: "8th Computational Fluid Dynamics Conference, AIAA Paper 87-1105",
        year: 1987,
        used: |c| !c.grid.is_used() && c.numerics.order == 2,
    },
    Reference {
        key: "roe1981",
        kind: "article",
        what: "Roe's flux",
        authors: "P. L. Roe",
        title: "Approximate Riemann solvers, parameter vectors, and difference schemes",
        place: "Journal of Computational Physics 43",
        year: 1981,
        used: |c| {
            if c.grid.is_used() {
                c.structured.scheme == SchemeName::Roe
            } else {
                c.numerics.flux == Flux::Roe
            }
        },
    },
    Reference {
        key: "vanalbada1982",
        kind: "article",
        what: "van Albada's limiter",
        authors: "G. D. van Albada and B. van Leer and W. W. Roberts",
        title: "A comparative study of computational methods in cosmic gas dynamics",
        place: "Astronomy and Astrophysics 108",
        year: 1982,
        used: |c| {
            if c.grid.is_used() {
                c.structured.scheme == SchemeName::Roe && c.structured.limited
            } else {
                c.numerics.order == 2 && c.numerics.limiter == Limiter::VanAlbada
            }
        },
    },
    Reference {
        key: "sutherland1893",
        kind: "article",
        what: "viscosity",
        authors: "W. Sutherland",
        title: "The viscosity of gases and molecular force",
        place: "Philosophical Magazine 36",
        year: 1893,
        used: |c| c.flow.equations.is_viscous() && c.flow.viscosity == Viscosity::Sutherland,
    },
    Reference {
        key: "spalart1994",
        kind: "article",
        what: "turbulence model",
        authors: "P. R. Spalart and S. R. Allmaras",
        title: "A one-equation turbulence model for aerodynamic flows",
        place: "La Recherche Aerospatiale 1",
        year: 1994,
        used: |c| has_model(c, &[ModelName::SaNeg, ModelName::Sa, ModelName::SaNoFt2]),
    },
    Reference {
        key: "allmaras2012",
        kind: "inproceedings",
        what: "negative turbulence model, clipped vorticity",
        authors: "S. R. Allmaras and F. T. Johnson and P. R. Spalart",
        title: "Modifications and clarifications for the implementation of the Spalart-Allmaras turbulence model",
        place: "7th International Conference on Computational Fluid Dynamics, ICCFD7-1902",
        year: 2012,
        used: |c| has_model(c, &[ModelName::SaNeg, ModelName::Sa, ModelName::SaNoFt2]),
    },
    Reference {
        key: "menter1994",
        kind: "article",
        what: "turbulence model",
        authors: "F. R. Menter",
        title: "Two-equation eddy-viscosity turbulence models for engineering applications",
        place: "AIAA Journal 32(8)",
        year: 1994,
        used: |c| has_model(c, &[ModelName::Sst, ModelName::SstVorticity]),
    },
    Reference {
        key: "menter2003",
        kind: "inproceedings",
        what: "turbulence model, form of 2003",
        authors: "F. R. Menter and M. Kuntz and R. Langtry",
        title: "Ten years of industrial experience with the SST turbulence model",
        place: "Turbulence, Heat and Mass Transfer 4",
        year: 2003,
        used: |c| has_model(c, &[ModelName::Sst]),
    },
    Reference {
        key: "wilcox2008",
        kind: "article",
        what: "turbulence model",
        authors: "D. C. Wilcox",
        title: "Formulation of the k-omega turbulence model revisited",
        place: "AIAA Journal 46(11)",
        year: 2008,
        used: |c| has_model(c, &[ModelName::KOmega]),
    },
    Reference {
        key: "spalart2007",
        kind: "article",
        what: "sustaining terms of turbulence",
        authors: "P. R. Spalart and C. L. Rumsey",
        title: "Effective inflow conditions for turbulence models in aerodynamic calculations",
        place: "AIAA Journal 45(10)",
        year: 2007,
        used: |c| c.flow.equations == Equations::Rans && c.turbulence.sustained,
    },
    Reference {
        key: "spalart1997",
        kind: "inproceedings",
        what: "detached eddy simulation",
        authors: "P. R. Spalart and W.-H. Jou and M. Strelets and S. R. Allmaras",
        title: "Comments on the feasibility of {LES} for wings, and on a hybrid {RANS/LES} approach",
        place: "Advances in DNS/LES, Greyden Press",
        year: 1997,
        used: |c| has_hybrid(c, &[HybridName::Des]),
    },
    Reference {
        key: "spalart2006",
        kind: "article",
        what: "delayed detached eddy simulation",
        authors: "P. R. Spalart and S. Deck and M. L. Shur and K. D. Squires and M. Kh. Strelets and A. Travin",
        title: "A new version of detached-eddy simulation, resistant to ambiguous grid densities",
        place: "Theoretical and Computational Fluid Dynamics 20",
        year: 2006,
        used: |c| has_hybrid(c, &[HybridName::Ddes]),
    },
    Reference {
        key: "shur2008",
        kind: "article",
        what: "improved delayed detached eddy simulation",
        authors: "M. L. Shur and P. R. Spalart and M. Kh. Strelets and A. K. Travin",
        title: "A hybrid {RANS-LES} approach with delayed-{DES} and wall-modelled {LES} capabilities",
        place: "International Journal of Heat and Fluid Flow 29(6)",
        year: 2008,
        used: |c| has_hybrid(c, &[HybridName::Iddes]),
    },
    Reference {
        key: "gritskevich2012",
        kind: "article",
        what: "delayed detached eddy simulation with SST",
        authors: "M. S. Gritskevich and A. V. Garbaruk and J. Schuetze and F. R. Menter",
        title: "Development of {DDES} and {IDDES} formulations for the k-omega shear stress transport model",
        place: "Flow, Turbulence and Combustion 88",
        year: 2012,
        used: |c| {
            has_hybrid(c, &[HybridName::Ddes, HybridName::Iddes])
                && has_model(c, &[ModelName::Sst, ModelName::SstVorticity])
        },
    },
    Reference {
        key: "spalart2000",
        kind: "article",
        what: "quadratic constitutive relation",
        authors: "P. R. Spalart",
        title: "Strategies for turbulence modelling and simulations",
        place: "International Journal of Heat and Fluid Flow 21(3)",
        year: 2000,
        used: |c| c.flow.equations == Equations::Rans && c.turbulence.qcr == QuadraticName::Qcr2000,
    },
    Reference {
        key: "daclesmariani1995",
        kind: "article",
        what: "correction for rotation",
        authors: "J. Dacles-Mariani and G. G. Zilliac and J. S. Chow and P. Bradshaw",
        title: "Numerical/experimental study of a wingtip vortex in the near field",
        place: "AIAA Journal 33(9)",
        year: 1995,
        used: |c| {
            c.flow.equations == Equations::Rans && c.turbulence.rotation_correction == RotationName::SaR
        },
    },
    Reference {
        key: "curtiss1952",
        kind: "article",
        what: "backward differences in time",
        authors: "C. F. Curtiss and J. O. Hirschfelder",
        title: "Integration of stiff equations",
        place: "Proceedings of the National Academy of Sciences 38",
        year: 1952,
        used: |c| c.march.mode == Mode::Unsteady,
    },
    Reference {
        key: "chorin1967",
        kind: "article",
        what: "artificial compressibility",
        authors: "A. J. Chorin",
        title: "A numerical method for solving incompressible viscous flow problems",
        place: "Journal of Computational Physics 2",
        year: 1967,
        used: |_| false,
    },
    Reference {
        key: "rogers1990",
        kind: "article",
        what: "upwind fluxes and subiterations of incompressible flow",
        authors: "S. E. Rogers and D. Kwak",
        title: "Upwind differencing scheme for the time-accurate incompressible Navier-Stokes equations",
        place: "AIAA Journal 28",
        year: 1990,
        used: |_| false,
    },
];

/// The relaxation or factorization that a case's linear method works with.
fn relaxation(case: &CaseFile) -> PrecondName {
    match case.linear.method {
        MethodName::Multicolor => PrecondName::Multicolor,
        MethodName::Jacobi => PrecondName::Jacobi,
        MethodName::Lines => PrecondName::Lines,
        MethodName::Ilu0 => PrecondName::Ilu0,
        MethodName::Gmres | MethodName::BiCgStab => case.linear.precond,
    }
}

/// Whether steps on its grid are factored along lines.
fn is_factored(case: &CaseFile) -> bool {
    let factors = matches!(case.structured.method, StepName::BeamWarming | StepName::Diagonal);
    factors && !case.takes_newton_steps()
}
