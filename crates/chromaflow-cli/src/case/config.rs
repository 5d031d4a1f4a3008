//! From the case file to the solver's configuration, with checks that name the key.

use super::{
    CaseFile, FieldFormat, Flux, LiftAxis, MarchSection, MethodName, Mode, OutputSection, PrecondName,
    Source, Viscosity, nearest,
};
use crate::error::CliResult;
use chromaflow_flow::bc::Stream;
use chromaflow_flow::config as flow;
use chromaflow_flow::mesh::{Mesh, ReadOptions, read_lines};
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl MarchSection {
    /// Steps in pseudo time.
    pub fn cfl(&self) -> flow::Cfl {
        flow::Cfl {
            start: self.cfl_start,
            min: self.cfl_min,
            max: self.cfl_max,
            growth: self.cfl_growth,
            adaptive: self.cfl_adaptive,
        }
    }

    /// Towards a steady state, or through time.
    pub fn time(&self) -> flow::Time {
        match self.mode {
            Mode::Steady => {
                flow::Time::Steady(flow::Steady { iterations: self.iterations, orders: self.residual_drop })
            }
            Mode::Unsteady => flow::Time::Unsteady(flow::Unsteady {
                dt: self.dt,
                steps: self.steps,
                subiterations: self.subiterations,
                orders: self.subiteration_drop,
            }),
        }
    }
}

impl CaseFile {
    /// The solver's configuration for a mesh with these markers. `known` says what the mesh file itself knows about a
    /// marker's condition; `planar` whether it is a two-dimensional mesh, along whose y lift points by default.
    ///
    /// # Errors
    /// A value out of range, a `[boundary]` entry for a marker that the mesh does not have, a marker without one.
    pub fn config(
        &self,
        source: &Source,
        markers: &[(String, Option<flow::Boundary>)],
        planar: bool,
    ) -> CliResult<flow::FlowConfig> {
        let f = &self.flow;
        let mut config = self.settings(source, planar)?;
        if let Some(name) = self.scalar.markers.keys().find(|name| !markers.iter().any(|(m, _)| m == *name)) {
            let names = markers.iter().map(|(name, _)| name.as_str());
            let hint = nearest(name, names).map_or(String::new(), |n| format!("; did you mean `{n}`?"));
            return Err(
                source.error(&["scalar", "markers", name], &format!("the mesh has no marker `{name}`{hint}"))
            );
        }
        let lift_axis = *config.reference.lift_axis.get_or_insert(if planar { 1 } else { 2 });
        let along = config.freestream.direction(lift_axis);
        let stream = Stream { along, mach: f.mach, gamma: f.gamma };
        self.boundaries(source, markers, stream, &mut config)?;
        for name in &self.reference.markers {
            let at = ["reference", "markers"];
            match config.boundaries.get(name) {
                Some(condition) if condition.is_wall() => {}
                Some(condition) => {
                    return Err(
                        source.error(&at, &format!("`{name}` is no wall but {condition}: walls have forces"))
                    );
                }
                None => {
                    let names = markers.iter().map(|(name, _)| name.as_str());
                    let hint =
                        nearest(name, names).map_or(String::new(), |n| format!("; did you mean `{n}`?"));
                    return Err(source.error(&at, &format!("the mesh has no marker `{name}`{hint}")));
                }
            }
        }
        Ok(config)
    }

    /// The solver's configuration but for the boundaries: what is known before the mesh is read.
    ///
    /// # Errors
    /// A value out of range.
    pub fn settings(&self, source: &Source, planar: bool) -> CliResult<flow::FlowConfig> {
        self.check(source)?;
        let (f, n, m, l) = (&self.flow, &self.numerics, &self.march, &self.linear);
        let (method, preconditioner) = l.method.config().choice(l.precond.config(), self.fill(planar));
        let mut config = flow::FlowConfig {
            gas: flow::GasConfig {
                gamma: f.gamma,
                prandtl: f.prandtl,
                sutherland_k: f.sutherland,
                sutherland: f.viscosity == Viscosity::Sutherland,
            },
            freestream: flow::Freestream {
                mach: f.mach,
                alpha_deg: f.alpha,
                beta_deg: f.beta,
                reynolds: f.reynolds / f.reynolds_length,
                temperature_k: f.temperature,
            },
            equations: f.equations.config(),
            space: flow::Space {
                flux: n.flux.config(),
                entropy_fix: n.entropy_fix,
                acoustic_fix: n.acoustic_fix,
                cutoff_mach: n.cutoff_mach,
                dissipation: n.dissipation,
                second_order: n.order == 2,
                kappa: n.kappa,
                limiter: n.limiter.config(),
                limiter_k: n.limiter_k,
                gradient: n.gradient.config(),
                mapped: n.mapped_gradients,
                quadrature: n.quadrature.config(),
            },
            implicit: flow::Implicit {
                nonlinear: self.nonlinear(),
                policy: l.policy.config(),
                method,
                preconditioner,
                order: l.order.config(),
                sweeps: l.sweeps,
                preconditioner_sweeps: l.precond_sweeps,
                exchange: l.exchange.config(),
                krylov_tolerance: l.tolerance,
                krylov_iterations: l.max_iterations,
                linear_report: flow::Implicit::default().linear_report,
                jacobian: l.jacobian.config(),
                cfl: m.cfl(),
                first_order_steps: m.first_order_iterations,
                max_change: m.max_change,
            },
            time: m.time(),
            reference: flow::Reference {
                area: self.reference.area,
                length: self.reference.length,
                moment_center: self.reference.moment_center,
                lift_axis: match self.reference.lift_axis {
                    LiftAxis::Auto => None,
                    LiftAxis::Y => Some(1),
                    LiftAxis::Z => Some(2),
                },
                markers: self.reference.markers.clone(),
            },
            turbulence: self.turbulence(source)?,
            ..flow::FlowConfig::default()
        };
        config.scalar = self.scalar.config(source, f.equations)?;
        Ok(config)
    }

    fn boundaries(
        &self,
        source: &Source,
        markers: &[(String, Option<flow::Boundary>)],
        stream: Stream,
        config: &mut flow::FlowConfig,
    ) -> CliResult<()> {
        let names = || markers.iter().map(|(name, _)| name.as_str());
        for (name, spec) in &self.boundary {
            let at = ["boundary", name.as_str()];
            if !names().any(|n| n == name) {
                let hint = nearest(name, names()).map_or(String::new(), |n| format!("; did you mean `{n}`?"));
                let list = names().collect::<Vec<_>>().join(", ");
                return Err(source
                    .error(&at, &format!("the mesh has no marker `{name}`{hint} (its markers: {list})")));
            }
            let boundary = spec.config(stream).map_err(|e| source.error(&at, &e))?;
            config.boundaries.insert(name.clone(), boundary);
            if let Some(partner) = spec.partner() {
                config.partners.insert(name.clone(), partner.to_owned());
            }
        }
        // One side may speak for both.
        for partner in config.partners.values() {
            if names().any(|name| name == partner) {
                config.boundaries.entry(partner.clone()).or_insert(flow::Boundary::Periodic);
            }
        }
        for (name, known) in markers {
            if config.boundaries.contains_key(name) {
                continue;
            }
            let Some(boundary) = known else {
                let list = names().collect::<Vec<_>>().join(", ");
                return Err(source.error(
                    &["boundary"],
                    &format!(
                        "no condition for the mesh's marker `{name}`; add for example {name} = \"farfield\" \
                         (the mesh's markers: {list})"
                    ),
                ));
            };
            config.boundaries.insert(name.clone(), *boundary);
        }
        Ok(())
    }

    /// Checks the values that need no mesh.
    ///
    /// # Errors
    /// The first value out of its range, with its key.
    pub fn check(&self, source: &Source) -> CliResult<()> {
        let (f, n, m, r) = (&self.flow, &self.numerics, &self.march, &self.reference);
        let fail = |keys: &[&str], value: f64, expected: &str| {
            Err(source.error(keys, &format!("{} is {value}: expected {expected}", keys[1])))
        };
        if self.mesh.file.as_os_str().is_empty() && !self.grid.is_used() {
            return Err(source.error(&["mesh"], "`file` is missing: which mesh?"));
        }
        self.output.check(self.march.mode, source)?;
        if self.output.formats.contains(&FieldFormat::Plot3d) && !self.grid.is_used() {
            let what = "`plot3d` is for cases with [grid]: of a mesh write `cgns` or `vtkhdf`";
            return Err(source.error(&["output", "formats"], what));
        }
        let positive = [
            ("mesh", "scale", self.mesh.scale.0),
            ("flow", "mach", f.mach),
            ("flow", "reynolds_length", f.reynolds_length),
            ("flow", "temperature", f.temperature),
            ("flow", "prandtl", f.prandtl),
            ("reference", "area", r.area),
            ("reference", "length", r.length),
            ("march", "dt", m.dt),
            ("march", "cfl_start", m.cfl_start),
            ("march", "cfl_min", m.cfl_min),
            ("march", "cfl_max", m.cfl_max),
            ("march", "max_change", m.max_change),
            ("march", "newton_tolerance", m.newton_tolerance),
            ("march", "residual_drop", m.residual_drop),
            ("march", "subiteration_drop", m.subiteration_drop),
        ];
        for (section, key, value) in positive {
            if !(value > 0.0 && value.is_finite()) {
                return fail(&[section, key], value, "a positive number");
            }
        }
        if !(f.gamma > 1.0 && f.gamma < 2.0) {
            return fail(&["flow", "gamma"], f.gamma, "between 1 and 2");
        }
        if f.equations.is_viscous() && !(f.reynolds > 0.0 && f.reynolds.is_finite()) {
            return fail(&["flow", "reynolds"], f.reynolds, "a positive number, since the flow is viscous");
        }
        if !(1..=2).contains(&n.order) {
            return fail(&["numerics", "order"], n.order.into(), "1 or 2");
        }
        if !(-1.0..=1.0).contains(&n.kappa) {
            return fail(&["numerics", "kappa"], n.kappa, "between -1 and 1");
        }
        for (key, fix) in [("entropy_fix", n.entropy_fix), ("acoustic_fix", n.acoustic_fix)] {
            if !(0.0..=1.0).contains(&fix) {
                return fail(&["numerics", key], fix, "between 0 and 1");
            }
        }
        if !(n.dissipation > 0.0 && n.dissipation <= 1.0) {
            return fail(&["numerics", "dissipation"], n.dissipation, "above 0, 1 at the most");
        }
        if n.dissipation < 1.0 && n.flux != Flux::Roe {
            return fail(
                &["numerics", "dissipation"],
                n.dissipation,
                "1: only `flux = \"roe\"` takes less of it",
            );
        }
        if let Some(cutoff) = n.cutoff_mach
            && !(cutoff > 0.0 && cutoff <= 1.0)
        {
            return fail(&["numerics", "cutoff_mach"], cutoff, "above 0, 1 at the most");
        }
        if !(m.cfl_growth >= 1.0 && m.cfl_growth.is_finite()) {
            return fail(&["march", "cfl_growth"], m.cfl_growth, "1 or more");
        }
        if m.newton_tolerance >= 1.0 {
            return fail(&["march", "newton_tolerance"], m.newton_tolerance, "below 1");
        }
        if m.newton_directions == 0 {
            return fail(&["march", "newton_directions"], 0.0, "1 or more");
        }
        if m.cfl_start > m.cfl_max {
            return fail(&["march", "cfl_start"], m.cfl_start, "at most cfl_max");
        }
        if self.mesh.refine > 5 {
            return fail(
                &["mesh", "refine"],
                self.mesh.refine.into(),
                "at most 5 (each step is eight times the cells)",
            );
        }
        let l = &self.linear;
        self.check_lines(source)?;
        let counts = [
            ("linear", "sweeps", l.sweeps),
            ("linear", "precond_sweeps", l.precond_sweeps),
            ("linear", "max_iterations", l.max_iterations),
            ("march", "iterations", m.iterations),
            ("march", "steps", m.steps),
            ("march", "subiterations", m.subiterations),
        ];
        if let Some((section, key, _)) = counts.into_iter().find(|c| c.2 == 0) {
            return fail(&[section, key], 0.0, "1 or more");
        }
        if !(0.0..1.0).contains(&l.tolerance) {
            return fail(&["linear", "tolerance"], l.tolerance, "from 0 to below 1");
        }
        Ok(())
    }

    /// That lines of a file are used, and those of the mesh that is read.
    fn check_lines(&self, source: &Source) -> CliResult<()> {
        let (l, krylov) =
            (&self.linear, matches!(self.linear.method, MethodName::Gmres | MethodName::BiCgStab));
        let used = l.method == MethodName::Lines || krylov && l.precond == PrecondName::Lines;
        let what = if l.lines.as_os_str().is_empty() {
            return Ok(());
        } else if !used || self.grid.is_used() {
            "lines of nodes are for meshes and for `method` or `precond` \"lines\": set one of them, or leave the file out"
        } else if self.mesh.refine > 0 {
            "lines are of the mesh as it is in its file: leave out mesh.refine, or the file, and lines go along short edges"
        } else {
            return Ok(());
        };
        Err(source.error(&["linear", "lines"], what))
    }

    /// The lines of nodes that the case names, of its mesh.
    ///
    /// # Errors
    /// The file is not there, or does not fit the mesh.
    pub fn read_lines(&self, source: &Source, mesh: &Mesh) -> CliResult<Option<Arc<[Vec<u32>]>>> {
        if self.linear.lines.as_os_str().is_empty() {
            return Ok(None);
        }
        let path = find(source, ["linear", "lines"], &self.linear.lines)?;
        Ok(Some(read_lines(&path, mesh)?.into()))
    }

    /// Where the mesh file is: beside the case file, or in the data folder.
    ///
    /// # Errors
    /// Not there, with the places that were tried.
    pub fn mesh_path(&self, source: &Source) -> CliResult<PathBuf> {
        find(source, ["mesh", "file"], &self.mesh.file)
    }

    /// How the mesh file is to be read.
    ///
    /// # Errors
    /// The .mapbc file that the case names is not there.
    pub fn read_options(&self, source: &Source) -> CliResult<ReadOptions> {
        let mapbc = &self.mesh.mapbc;
        let named = !mapbc.as_os_str().is_empty();
        Ok(ReadOptions {
            mapbc: if named { Some(find(source, ["mesh", "mapbc"], mapbc)?) } else { None },
            allow_tangled: self.mesh.allow_tangled,
            ..ReadOptions::default()
        })
    }

    /// Where results go.
    pub fn folder(&self, source: &Source) -> PathBuf {
        self.output.folder_of(source)
    }
}

impl OutputSection {
    /// Where results go.
    pub fn folder_of(&self, source: &Source) -> PathBuf {
        if self.folder.as_os_str().is_empty() {
            Path::new("out").join(source.path.file_stem().unwrap_or_default())
        } else {
            self.folder.clone()
        }
    }
}

/// A file that a key names: beside the case file, or in the data folder.
///
/// # Errors
/// Not there, with the places that were tried.
pub fn find(source: &Source, key: [&str; 2], file: &Path) -> CliResult<PathBuf> {
    let beside = source.path.parent().unwrap_or(Path::new("")).join(file);
    if beside.exists() {
        return Ok(beside);
    }
    let mut tried = beside.display().to_string();
    // A path from the root is the same beside the case and in the data folder.
    if file.is_absolute() {
        return Err(source.error(&key, &format!("no such file (tried {tried})")));
    }
    if let Some(folder) = std::env::var_os("CHROMAFLOW_DATA") {
        let in_data = Path::new(&folder).join(file);
        if in_data.exists() {
            return Ok(in_data);
        }
        tried = format!("{tried}, {}", in_data.display());
    } else {
        tried.push_str("; set CHROMAFLOW_DATA to a folder of meshes to have that searched, too");
    }
    Err(source.error(&key, &format!("no such file (tried {tried})")))
}
