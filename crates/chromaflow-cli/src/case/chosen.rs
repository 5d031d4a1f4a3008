//! How a case of a mesh is solved where it leaves that to the program.

use super::{BoundarySpec, CaseFile, Equations, MarchSection, MethodName, Mode, PrecondName, SchemeName};
use chromaflow::factor::block_ilu::Fill;
use chromaflow_flow::config as flow;
use chromaflow_flow::mesh::periodic::{is_turned, pairs_of};
use chromaflow_flow::mesh::{Counts, Kind, Marker, Mesh};
use chromaflow_flow::stretching::stretching;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What stands for the derivative of the residual in an implicit step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NonlinearName {
    /// `newton_krylov` in steady flow, and in turbulent flow on structured grids, but on those whose `method` is given; else `defect_correction`.
    #[default]
    Auto,
    /// The derivative itself, by differences of residuals, in GMRES around the first-order matrix.
    NewtonKrylov,
    /// The first-order matrix.
    DefectCorrection,
}

/// Largest CFL number of Newton-Krylov steps, whose linear systems hold the derivative of the residual.
const NEWTON_CFL: f64 = 1e6;
/// Growth of the CFL number from one such step to the next.
const NEWTON_GROWTH: f64 = 2.0;
/// Sweeps of the first-order matrix in each direction of such a step.
const NEWTON_SWEEPS: usize = 6;
/// [`stretching`] from which a planar mesh of inviscid flow is one of layers: factors take less time than sweeps from there on.
const STRETCHED: f64 = 3.0;
/// The same of other meshes, whose factors cost more: cells that are made for boundary layers.
const LAYERED: f64 = 20.0;
/// Levels of fill of the factors that precondition such steps in viscous flow, and on stretched meshes.
const PLANAR_FILL: u32 = 2;
const SPATIAL_FILL: u32 = 1;
/// Faces on planes of symmetry to each cell from which a mesh is a slab or a sector, at most three cells wide: two levels of fill cost little there, too.
const SLAB: f64 = 2.0 / 3.0;
/// Sweeps over lines that precondition such steps in viscous flow on stretched hexahedra.
const LINE_SWEEPS: usize = 4;
/// Share of hexahedra among the cells from which a mesh is one of them.
const HEXAHEDRA: f64 = 0.9;
/// Largest CFL number of turbulent cases that leave the linear solver to the program and take no such steps.
const RANS_CFL: f64 = 1e4;

impl CaseFile {
    /// Chooses what the case file, in `table`, does not say.
    ///
    /// * Steady flow takes Newton-Krylov steps, and with them CFL numbers that grow fast and without a practical limit.
    /// * Viscous flow is solved by GMRES around block ILU: cells at walls are thousands of times longer than high, which sweeps from
    ///   node to node take thousands of iterations to cross. Levels of fill cost little on planar meshes.
    /// * A preconditioner without a method is one of GMRES, and so are lines of a file.
    /// * [`CaseFile::choose_on_mesh`] has the last word, where no key of `[linear]` says how.
    pub(super) fn choose(&mut self, table: &toml::Table) {
        let given = |section: &str, key: &str| table.get(section).is_some_and(|s| s.get(key).is_some());
        let rans = self.flow.equations == Equations::Rans;
        let viscous = rans || self.flow.equations == Equations::Laminar;
        let (march, linear) = (&mut self.march, &mut self.linear);
        march.choose(march.mode == Mode::Steady, &given);
        let newton = march.nonlinear == NonlinearName::NewtonKrylov;
        // A preconditioner that is named alone is one of gmres.
        if PRECOND_KEYS.iter().any(|key| given("linear", key)) && !given("linear", "method") {
            linear.method = MethodName::Gmres;
        }
        let factors = (rans || viscous && newton) && !given("linear", "method");
        if factors {
            linear.method = MethodName::Gmres;
            if !given("linear", "precond") {
                linear.precond = PrecondName::Ilu0;
            }
        }
        if given("linear", "lines") && !given("linear", "method") && !given("linear", "precond") {
            (linear.method, linear.precond) = (MethodName::Gmres, PrecondName::Lines);
            if !given("linear", "precond_sweeps") {
                linear.precond_sweeps = LINE_SWEEPS;
            }
        }
        let left = !LINEAR_KEYS.iter().any(|key| given("linear", key));
        let of_mesh = newton && !viscous && left;
        linear.open = newton && viscous && left;
        linear.fill = linear.fill.or((!(factors && newton || of_mesh)).then_some(0));
        if newton && !given("linear", "sweeps") {
            linear.sweeps = NEWTON_SWEEPS;
        }
        if factors && !newton && !given("march", "cfl_max") {
            march.cfl_max = RANS_CFL;
        }
    }

    /// Chooses what is left open until the mesh is there. How stretched it is, where that was asked.
    ///
    /// * A planar mesh that is stretched, and another of cells made for boundary layers, has its Newton-Krylov steps of inviscid flow preconditioned
    ///   by factors, as those of viscous flow; with two levels of fill where it is planar, or a [slab](Self::is_slab).
    /// * Stretched hexahedra have those of viscous flow preconditioned by sweeps over lines: a row is coupled along its line and
    ///   with the same layer of its neighbors there. Cut into prisms or tetrahedra it is coupled across the line as strongly. Lines do not see
    ///   across turned sides.
    /// * On a [slab](Self::is_slab) viscous flow has the factors of planar meshes, whatever its cells.
    pub fn choose_on_mesh(&mut self, mesh: &Mesh, threads: usize) -> Option<f64> {
        let (linear, slab) = (&self.linear, self.is_slab(mesh));
        let decides = if linear.open {
            mesh.planar.is_none() && !slab && is_of_hexahedra(&Counts::of(mesh)) && !self.turns(mesh)
        } else {
            linear.fill.is_none() && linear.method == MethodName::Multicolor
        };
        let found = decides.then(|| stretching(mesh, threads));
        let stretched = found.is_some_and(|found| self.is_stretched(found, mesh.planar.is_some()));
        self.take_mesh(stretched, slab);
        found
    }

    /// Whether a mesh is a few cells wide between planes of symmetry.
    pub fn is_slab(&self, mesh: &Mesh) -> bool {
        let symmetric =
            |marker: &&Marker| self.boundary.get(&marker.name).is_some_and(BoundarySpec::is_symmetry);
        let planes = mesh.markers.iter().filter(symmetric);
        let faces: usize = planes.map(|marker| marker.triangles.len() + marker.quads.len()).sum();
        mesh.planar.is_none() && faces as f64 >= SLAB * Counts::of(mesh).cells() as f64
    }

    /// Whether a mesh of this [`stretching`] is preconditioned as one of layers.
    pub fn is_stretched(&self, stretching: f64, planar: bool) -> bool {
        stretching > if self.linear.open || planar { STRETCHED } else { LAYERED }
    }

    /// Whether periodic sides are turned, by the case's pairs or the mesh file's.
    fn turns(&self, mesh: &Mesh) -> bool {
        let of_case =
            self.boundary.iter().filter_map(|(name, spec)| Some([name.clone(), spec.partner()?.to_owned()]));
        of_case.chain(pairs_of(mesh)).any(|pair| is_turned(mesh, &pair))
    }

    /// Preconditions as on such a mesh: viscous flow by factors with the fill of planar meshes on a slab, else by lines where it is stretched; inviscid flow by
    /// factors where it is stretched.
    pub fn take_mesh(&mut self, stretched: bool, slab: bool) {
        let linear = &mut self.linear;
        if linear.open && slab {
            linear.fill = Some(PLANAR_FILL);
        } else if linear.open && stretched {
            (linear.precond, linear.precond_sweeps) = (PrecondName::Lines, LINE_SWEEPS);
        } else if stretched {
            (linear.method, linear.precond) = (MethodName::Gmres, PrecondName::Ilu0);
            linear.fill = slab.then_some(PLANAR_FILL);
        }
    }

    /// The same of a case of a structured grid: steady flow and turbulent flow take Newton-Krylov steps, unless a method of plain steps is asked for.
    /// Turbulent flow has Roe's flux, below Mach 1 without a limiter: scalar dissipation would thicken layers of cells that are
    /// thousands of times longer than high.
    pub(super) fn choose_on_grid(&mut self, table: &toml::Table) {
        let given = |section: &str, key: &str| table.get(section).is_some_and(|s| s.get(key).is_some());
        let plain = given("structured", "method");
        let turbulent = self.flow.equations == Equations::Rans;
        self.march.choose((turbulent || self.march.mode == Mode::Steady) && !plain, &given);
        if turbulent && !given("structured", "scheme") {
            self.structured.scheme = SchemeName::Roe;
            self.structured.limited &= given("structured", "limited") || self.flow.mach >= 1.0;
        }
        let kind = self.structured.step().cfl();
        if self.march.nonlinear == NonlinearName::DefectCorrection && !given("march", "cfl_max") {
            self.march.cfl_max = kind.max;
        }
        if !given("march", "cfl_start") {
            self.march.cfl_start = kind.start.min(self.march.cfl_max);
        }
    }

    /// Levels of fill of incomplete factors, on planar meshes and others.
    pub(super) fn fill(&self, planar: bool) -> Fill {
        Fill::Level(self.linear.fill.unwrap_or(if planar { PLANAR_FILL } else { SPATIAL_FILL }))
    }

    /// Whether its steps are Newton-Krylov steps.
    pub fn takes_newton_steps(&self) -> bool {
        self.march.nonlinear == NonlinearName::NewtonKrylov
    }

    /// What stands for the derivative of the residual.
    pub(super) fn nonlinear(&self) -> flow::Nonlinear {
        match self.march.nonlinear {
            NonlinearName::NewtonKrylov => flow::Nonlinear::NewtonKrylov(flow::NewtonKrylov {
                tolerance: self.march.newton_tolerance,
                directions: self.march.newton_directions,
            }),
            NonlinearName::Auto | NonlinearName::DefectCorrection => flow::Nonlinear::DefectCorrection,
        }
    }

    /// The key of a preconditioner in a case file whose method has none, and what to do about it.
    pub(super) fn idle_key_of_linear(&self, table: &toml::Table) -> Option<(String, &'static str)> {
        let given = table.get("linear").and_then(toml::Value::as_table)?;
        let krylov = matches!(self.linear.method, MethodName::Gmres | MethodName::BiCgStab);
        let key = PRECOND_KEYS.into_iter().find(|key| !krylov && given.contains_key(*key))?;
        Some((
            key.to_owned(),
            "only gmres and bicgstab are preconditioned: set `method` to one of them, or leave it out",
        ))
    }

    /// The key of Newton-Krylov steps in a case file that takes none, and what to do about it.
    pub(super) fn idle_key_of_newton(&self, table: &toml::Table) -> Option<(String, &'static str)> {
        let given = table.get("march").and_then(toml::Value::as_table)?;
        let idle = self.march.nonlinear != NonlinearName::NewtonKrylov;
        let key = given.keys().find(|key| idle && key.starts_with("newton_"))?;
        Some((key.clone(), "only `nonlinear = \"newton_krylov\"` has such steps"))
    }
}

/// The keys of `[linear]` that say how steps are preconditioned.
const LINEAR_KEYS: [&str; 6] = ["method", "precond", "lines", "fill", "sweeps", "precond_sweeps"];
/// Those of them that only a method with a preconditioner has.
const PRECOND_KEYS: [&str; 2] = ["precond", "precond_sweeps"];

/// Whether nearly all cells are hexahedra.
pub fn is_of_hexahedra(mesh: &Counts) -> bool {
    mesh.elements[Kind::Hexahedron as usize] as f64 >= HEXAHEDRA * mesh.cells() as f64
}

impl MarchSection {
    /// Chooses the kind of steps, and with Newton-Krylov steps their CFL numbers.
    pub(crate) fn choose(&mut self, newton: bool, given: &impl Fn(&str, &str) -> bool) {
        if self.nonlinear == NonlinearName::Auto {
            self.nonlinear =
                if newton { NonlinearName::NewtonKrylov } else { NonlinearName::DefectCorrection };
        }
        if self.nonlinear == NonlinearName::NewtonKrylov {
            if !given("march", "cfl_growth") {
                self.cfl_growth = NEWTON_GROWTH;
            }
            if !given("march", "cfl_max") {
                self.cfl_max = NEWTON_CFL;
            }
        }
    }
}
