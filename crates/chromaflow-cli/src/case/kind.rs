//! Which solver a case is for, and the keys that this solver has no use for.

use super::turbulence::TurbulenceSection;
use super::{CaseFile, Source, StepName};
use crate::context::Backend;
use crate::error::{CliError, CliResult};
use crate::run::incompressible::case::IncompressibleCase;
use chromaflow_flow::incompressible::MAX_UNKNOWNS_ON_GPU;
use std::path::Path;

/// Which solver a case is for: its sections tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SolverKind {
    /// Compressible flow on a mesh.
    Unstructured,
    /// Compressible flow on a structured grid: there is a section `[grid]`.
    Structured,
    /// Incompressible flow on a structured grid: there is a section `[incompressible]`.
    Incompressible,
}

/// A case file, by the solver that it is for.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant)] // there is one in a process
pub enum Case {
    /// Compressible flow on a mesh.
    Unstructured(CaseFile),
    /// Compressible flow on a structured grid.
    Structured(CaseFile),
    /// Incompressible flow on a structured grid.
    Incompressible(IncompressibleCase),
}

/// Keys of a section (none: all of them) that a kind of case has no use for, and what to do instead.
type Unused = (&'static str, &'static [&'static str], &'static str);

const UNSTRUCTURED: [Unused; 1] =
    [("structured", &[], "a structured grid in [grid] would have one; leave the section out")];

const STRUCTURED: [Unused; 6] = [
    ("mesh", &[], "the grid is in [grid]"),
    ("numerics", &[], "schemes and viscous terms are in [structured]"),
    ("linear", &[], "the implicit step is chosen by `method` in [structured]"),
    ("scalar", &[], "flows on meshes carry scalars"),
    ("march", &["first_order_iterations"], "start with a smaller `cfl_start` instead"),
    ("output", &["matrix", "matrix_file"], "cases of meshes and of incompressible flow write linear systems"),
];

const INCOMPRESSIBLE: [Unused; 6] = [
    ("mesh", &[], "the grid is in [grid]"),
    ("flow", &[], "the fluid is in [incompressible]"),
    ("structured", &[], "fluxes are in [numerics], block ILU is in [linear]"),
    ("scalar", &[], "its scalars are in [incompressible]"),
    ("march", &["first_order_iterations", "max_change"], "start with a smaller `cfl_start` instead"),
    ("output", &["cuts"], "pressure and velocity are in surface.vtu"),
];

/// Section, key, whether a method of `[structured]` has no use for it, and what to do instead.
type UnusedBy = (&'static str, &'static str, fn(StepName) -> bool, &'static str);

const BY_METHOD: [UnusedBy; 10] = [
    ("structured", "diagonal_dissipation", |m| m != StepName::Diagonal, "it belongs to method diagonal"),
    ("structured", "sweeps", |m| m != StepName::Ssor, "it belongs to method ssor"),
    ("structured", "relaxation", |m| m != StepName::Ssor, "it belongs to method ssor"),
    ("structured", "courant", |m| m != StepName::LaxWendroff, "set `cfl_max` in [march]"),
    ("structured", "coarse_grids", |m| m != StepName::LaxWendroff, "it belongs to method lax_wendroff"),
    ("structured", "start_layer", |m| m == StepName::LaxWendroff, "leave it out"),
    ("structured", "cutoff_mach", |m| m == StepName::LaxWendroff, "leave it out"),
    ("march", "cfl_start", |m| m == StepName::LaxWendroff, "set `courant` in [structured]"),
    ("march", "cfl_max", |m| m == StepName::LaxWendroff, "set `courant` in [structured]"),
    ("march", "cfl_growth", |m| m == StepName::LaxWendroff, "set `courant` in [structured]"),
];

impl SolverKind {
    /// As the sections of a case file tell.
    fn of(table: &toml::Table) -> Self {
        match (table.contains_key("incompressible"), table.contains_key("grid")) {
            (true, _) => Self::Incompressible,
            (false, true) => Self::Structured,
            (false, false) => Self::Unstructured,
        }
    }

    /// What errors call such a case.
    pub fn title(self) -> &'static str {
        match self {
            Self::Unstructured => "a case of a mesh",
            Self::Structured => "a case of compressible flow on a structured grid",
            Self::Incompressible => "a case of incompressible flow",
        }
    }

    /// What it has no use for.
    pub fn unused(self) -> &'static [Unused] {
        match self {
            Self::Unstructured => &UNSTRUCTURED,
            Self::Structured => &STRUCTURED,
            Self::Incompressible => &INCOMPRESSIBLE,
        }
    }

    /// Says which key that the file or a change gives is one that nothing would read.
    fn refuse_unused(self, source: &Source, table: &toml::Table) -> CliResult<()> {
        for (section, keys, remedy) in self.unused() {
            let given = table.get(*section).and_then(toml::Value::as_table);
            let found = given
                .into_iter()
                .flat_map(toml::Table::keys)
                .find(|k| keys.is_empty() || keys.contains(&k.as_str()));
            if let Some(key) = found {
                return Err(refused(source, [section, key], self.title(), remedy));
            }
        }
        Ok(())
    }
}

/// The error at a key without a use: at the change that gives it, or at its place in the file.
fn refused(source: &Source, [section, key]: [&str; 2], who: &str, remedy: &str) -> CliError {
    source.error(&[section, key], &format!("{who} does not use {section}.{key}: {remedy}"))
}

impl Case {
    /// Reads a case file and changes keys of it: each of `sets` is `section.key=value`, the value in TOML's syntax or a
    /// plain word. What the file leaves open is chosen for the backend.
    ///
    /// # Errors
    /// Status 2 with file, line, column, what is wrong there and the nearest known key; a key that this kind of case has no
    /// use for; a change that names no key.
    pub fn read(path: &Path, sets: &[String], backend: Backend) -> CliResult<(Source, Self)> {
        Self::of(Source::open(path)?, sets, backend)
    }

    /// As [`Case::read`], of a text.
    ///
    /// # Errors
    /// As [`Case::read`].
    pub fn of(source: Source, sets: &[String], backend: Backend) -> CliResult<(Source, Self)> {
        let table = source.table(sets)?;
        let source = source.changed(sets);
        let kind = SolverKind::of(&table);
        kind.refuse_unused(&source, &table)?;
        let case = match kind {
            SolverKind::Unstructured => {
                let mut case: CaseFile = source.parse_with(sets)?;
                case.take_units(&source, &table)?;
                case.choose(&table);
                let turbulence = case.idle_key_of_turbulence(&table).map(|found| ("turbulence", found));
                let scalar = || case.idle_key_of_scalar(&table).map(|found| ("scalar", found));
                let newton = || case.idle_key_of_newton(&table).map(|found| ("march", found));
                let linear = || case.idle_key_of_linear(&table).map(|found| ("linear", found));
                let idle = turbulence.or_else(scalar).or_else(newton).or_else(linear);
                if let Some((section, (key, remedy))) = idle {
                    return Err(refused(&source, [section, &key], "this case", remedy));
                }
                Self::Unstructured(case)
            }
            SolverKind::Incompressible => {
                let mut case: IncompressibleCase = source.parse_with(sets)?;
                case.choose(&table);
                if let (Some(section), Some(given)) =
                    (&case.turbulence, table.get("turbulence").and_then(toml::Value::as_table))
                    && let Some((key, remedy)) =
                        section.idle_key(given).or_else(|| TurbulenceSection::idle_on_grids(given))
                {
                    return Err(refused(&source, ["turbulence", &key], "this case", remedy));
                }
                let (unknowns, most) = (case.unknowns(), MAX_UNKNOWNS_ON_GPU);
                if backend == Backend::Cuda && unknowns > most {
                    let problem = format!(
                        "{unknowns} unknowns a cell: expected at most {most} on a GPU: take fewer, or --backend cpu"
                    );
                    return Err(source.error(&["incompressible", "scalars"], &problem));
                }
                Self::Incompressible(case)
            }
            SolverKind::Structured => {
                let mut case: CaseFile = source.parse_with(sets)?;
                case.take_units(&source, &table)?;
                case.choose_on_grid(&table);
                let method = case.structured.method;
                let given =
                    |section: &str, key: &str| table.get(section).is_some_and(|s| s.get(key).is_some());
                let turbulence = case.idle_key_of_turbulence(&table);
                let on_grids = || {
                    TurbulenceSection::idle_on_grids(table.get("turbulence").and_then(toml::Value::as_table)?)
                };
                let turbulence = turbulence.or_else(on_grids).map(|found| ("turbulence", found));
                let newton = || case.idle_key_of_newton(&table).map(|found| ("march", found));
                if let Some((section, (key, remedy))) = turbulence.or_else(newton) {
                    return Err(refused(&source, [section, &key], "this case", remedy));
                }
                let idle =
                    BY_METHOD.iter().find(|(section, key, idle, _)| idle(method) && given(section, key));
                if let Some((section, key, _, remedy)) = idle {
                    let who = format!("method {}", method.title());
                    return Err(refused(&source, [section, key], &who, remedy));
                }
                Self::Structured(case)
            }
        };
        Ok((source, case))
    }

    /// Which solver it is for.
    pub fn kind(&self) -> SolverKind {
        match self {
            Self::Unstructured(_) => SolverKind::Unstructured,
            Self::Structured(_) => SolverKind::Structured,
            Self::Incompressible(_) => SolverKind::Incompressible,
        }
    }
}
