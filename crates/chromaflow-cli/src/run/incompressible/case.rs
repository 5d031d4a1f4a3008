//! Case files of incompressible flow: those with a section `[incompressible]`. Sections that both kinds of case have are
//! written alike.

use super::grid::{Extent, Place};
use super::profile::Parabola;
use crate::case::{
    CaseSection, ExpectSection, GridSection, LiftAxis, MarchSection, Mode, NonlinearName, OutputSection,
    PolicyName, Source, TurbulenceSection,
};
use crate::error::CliResult;
use chromaflow::factor::structured_ilu::StructuredIluOptions;
use chromaflow_flow::bc::{Motion, motion_at};
use chromaflow_flow::config::NewtonKrylov;
use chromaflow_flow::incompressible::config::{Fluid, Flux, Implicit, Reference, Space};
use chromaflow_flow::incompressible::{Boundary, Config, Given, Scalar, WallScalar};
use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A case of incompressible flow.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct IncompressibleCase {
    /// What the case is.
    pub case: CaseSection,
    /// The structured grid, as in cases of compressible flow.
    pub grid: GridSection,
    /// The fluid and what it carries.
    pub incompressible: FluidSection,
    /// The turbulence model, as in cases of compressible flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turbulence: Option<TurbulenceSection>,
    /// How forces are made into coefficients.
    pub reference: ReferenceSection,
    /// Boundary condition of each marker.
    #[serde(skip_serializing)]
    #[schemars(skip)]
    pub boundary: BTreeMap<String, BoundarySpec>,
    /// Discretization in space.
    pub numerics: NumericsSection,
    /// The march, as in other cases.
    pub march: MarchSection,
    /// Block ILU(0).
    pub linear: LinearSection,
    /// What is written, as in other cases.
    pub output: OutputSection,
    /// Stored results.
    pub expect: ExpectSection,
}

/// The fluid and what it carries.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FluidSection {
    /// Kinematic viscosity.
    pub viscosity: f64,
    /// Artificial compressibility, the square of a speed; where it is not given, that of the fastest velocity that the case tells of or, without any, of what
    /// differences of pressure, forces and buoyancy can drive, at last of `reference.velocity`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compressibility: Option<f64>,
    /// Initial velocity.
    pub velocity: [f64; 3],
    /// Initial pressure.
    pub pressure: f64,
    /// Force per mass, which drives flow through periodic sides.
    pub force: [f64; 3],
    /// What the flow carries.
    pub scalars: Vec<ScalarSection>,
}

impl Default for FluidSection {
    fn default() -> Self {
        let d = Fluid::default();
        Self {
            viscosity: d.viscosity,
            compressibility: None,
            velocity: [0.0; 3],
            pressure: 0.0,
            force: [0.0; 3],
            scalars: Vec::new(),
        }
    }
}

/// A scalar that the flow carries.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ScalarSection {
    /// Its name.
    pub name: String,
    /// Diffusivity.
    pub diffusivity: f64,
    /// Force per volume and unit of the scalar over its reference.
    pub buoyancy: [f64; 3],
    /// Where it drives nothing, and starts.
    pub reference: f64,
}

/// How forces are made into coefficients.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReferenceSection {
    /// Velocity.
    pub velocity: f64,
    /// Area; on planar grids the length per unit depth.
    pub area: f64,
    /// Length of moments.
    pub length: f64,
    /// Point about which moments are taken.
    pub moment_center: [f64; 3],
    /// Axis along which lift points; drag points along x.
    pub lift_axis: LiftAxis,
    /// Walls that the totals are of; empty: all walls.
    pub markers: Vec<String>,
}

impl Default for ReferenceSection {
    fn default() -> Self {
        let d = Reference::default();
        Self {
            velocity: d.velocity,
            area: d.area,
            length: d.length,
            moment_center: d.center,
            lift_axis: LiftAxis::Auto,
            markers: Vec::new(),
        }
    }
}

/// Discretization in space.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NumericsSection {
    /// 1 or 2.
    pub order: u8,
    /// Weight of the central difference in the reconstruction.
    pub kappa: f64,
    /// Van Albada's limiter.
    pub limited: bool,
    /// Flux of pressure and momentum.
    pub flux: FluxName,
    /// central: factor of the third differences.
    pub fourth: f64,
    /// central: smallest |V| over |V| + c.
    pub convective: f64,
}

/// Flux of pressure and momentum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FluxName {
    /// Roe's, between extrapolated states.
    #[default]
    Roe,
    /// Central differences with matrix dissipation.
    Central,
}

impl Default for NumericsSection {
    fn default() -> Self {
        let d = Space::default();
        Self {
            order: 2,
            kappa: d.kappa,
            limited: d.limited,
            flux: FluxName::Roe,
            fourth: 1.0 / 32.0,
            convective: 0.1,
        }
    }
}

/// Block ILU(0).
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LinearSection {
    /// Precision of the couplings that solves read; the factorization, residuals and corrections stay f64.
    pub policy: PolicyName,
    /// Most correction steps.
    pub corrections: usize,
    /// They end when the linear residual has fallen by this factor.
    pub reduction: f64,
}

impl Default for LinearSection {
    fn default() -> Self {
        let d = Implicit::default();
        Self { policy: PolicyName::D, corrections: d.corrections, reduction: d.reduction }
    }
}

/// A boundary condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// No slip, at rest or moving.
    Wall,
    /// Velocity given.
    Inflow,
    /// Pressure given.
    Outflow,
    /// A plane of symmetry, or a wall with slip.
    Symmetry,
    /// A state far away, by characteristics.
    Farfield,
}

/// How an inflow's velocity varies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// Not at all.
    #[default]
    Uniform,
    /// A parabola across the marker, a rectangle or a disc, with the given velocity at its middle.
    Parabolic,
}

/// A boundary condition with its parameters; a word alone stands for one without.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundarySpec(Table);

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    kind: Kind,
    velocity: Option<[f64; 3]>,
    rotation: Option<[f64; 3]>,
    center: Option<[f64; 3]>,
    profile: Option<Profile>,
    pressure: Option<f64>,
    #[serde(default)]
    scalars: BTreeMap<String, f64>,
}

impl<'de> Deserialize<'de> for BoundarySpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WordOrTable;
        impl<'de> Visitor<'de> for WordOrTable {
            type Value = Table;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a boundary condition: a word such as \"wall\", or a table with `kind`")
            }
            fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<Table, E> {
                let kind = Kind::deserialize(StrDeserializer::new(word))?;
                let scalars = BTreeMap::new();
                let [velocity, rotation, center] = [None; 3];
                Ok(Table { kind, velocity, rotation, center, profile: None, pressure: None, scalars })
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Table, A::Error> {
                Table::deserialize(MapAccessDeserializer::new(map))
            }
        }
        deserializer.deserialize_any(WordOrTable).map(Self)
    }
}

/// A wall is flat along an axis where its extent is less than this part of its largest.
const FLAT: f64 = 0.03;

impl BoundarySpec {
    /// The solver's condition at a marker; `planar` is the coordinate that a planar grid lacks.
    fn boundary(
        &self,
        fluid: &FluidSection,
        place: &Place,
        planar: Option<usize>,
    ) -> Result<Boundary, String> {
        let Table { kind, velocity, rotation, center, profile, pressure, scalars } = &self.0;
        if let Some(name) = scalars.keys().find(|name| !fluid.scalars.iter().any(|s| s.name == **name)) {
            return Err(format!("`{name}` is none of the scalars of [incompressible]"));
        }
        let takes = |name: &str, there: bool, kinds: &[Kind]| {
            if there && !kinds.contains(kind) {
                Err(format!("this condition has no parameter `{name}`"))
            } else {
                Ok(())
            }
        };
        takes("velocity", velocity.is_some(), &[Kind::Wall, Kind::Inflow, Kind::Farfield])?;
        takes("rotation", rotation.is_some(), &[Kind::Wall])?;
        takes("center", center.is_some(), &[Kind::Wall])?;
        if center.is_some() && rotation.is_none() {
            return Err("`center` is a point of the axis of a `rotation`, which is missing".to_owned());
        }
        takes("profile", profile.is_some(), &[Kind::Inflow])?;
        takes("pressure", pressure.is_some(), &[Kind::Outflow, Kind::Farfield])?;
        takes("scalars", !scalars.is_empty(), &[Kind::Wall, Kind::Inflow, Kind::Farfield])?;
        let value = |s: &ScalarSection| scalars.get(&s.name).copied();
        let carried = || fluid.scalars.iter().map(|s| value(s).unwrap_or(s.reference));
        let need = |name: &str| format!("`{name}` is missing: this condition needs it");
        Ok(match kind {
            Kind::Wall => Boundary::Wall {
                motion: self.0.motion(),
                scalars: fluid
                    .scalars
                    .iter()
                    .map(|s| value(s).map_or(WallScalar::NoFlux, WallScalar::Value))
                    .collect(),
            },
            Kind::Inflow => {
                let velocity = velocity.ok_or_else(|| need("velocity"))?;
                let carried: Vec<f64> = carried().collect();
                match profile.unwrap_or_default() {
                    Profile::Uniform => {
                        Boundary::Inflow(Given::Same(velocity.into_iter().chain(carried).collect()))
                    }
                    Profile::Parabolic => {
                        let parabola = Parabola::over(&place.faces, planar)?;
                        Boundary::Inflow(Given::By(Arc::new(move |x, _| {
                            let factor = parabola.at(x);
                            velocity.into_iter().map(|v| v * factor).chain(carried.iter().copied()).collect()
                        })))
                    }
                }
            }
            Kind::Outflow => Boundary::Outflow { pressure: pressure.unwrap_or(fluid.pressure) },
            Kind::Symmetry => Boundary::Symmetry,
            Kind::Farfield => {
                let velocity = velocity.unwrap_or(fluid.velocity);
                let state = [pressure.unwrap_or(fluid.pressure)].into_iter().chain(velocity);
                Boundary::Farfield(state.chain(carried()).collect())
            }
        })
    }
}

impl Table {
    /// Of a wall.
    fn motion(&self) -> Motion<f64> {
        Motion {
            velocity: self.velocity.unwrap_or_default(),
            rotation: self.rotation.unwrap_or_default(),
            center: self.center.unwrap_or_default(),
        }
    }
}

impl IncompressibleCase {
    /// Chooses what the case file, in `table`, does not say: steady turbulent flow takes Newton-Krylov steps.
    pub(crate) fn choose(&mut self, table: &toml::Table) {
        let given = |section: &str, key: &str| table.get(section).is_some_and(|s| s.get(key).is_some());
        self.march.choose(self.march.mode == Mode::Steady, &given);
    }

    /// Unknowns a cell: pressure and velocity, scalars, those of a turbulence model.
    pub fn unknowns(&self) -> usize {
        let of_model = self.turbulence.as_ref().map_or(0, |section| section.model.config().unknowns());
        4 + self.incompressible.scalars.len() + of_model
    }

    /// The solver's configuration for a grid with these markers.
    ///
    /// # Errors
    /// A value that makes no sense, with its key.
    pub fn config(&self, source: &Source, markers: &[Place], planar: Option<usize>) -> CliResult<Config> {
        self.check(source)?;
        let (f, m, r) = (&self.incompressible, &self.march, &self.reference);
        let mut boundaries = BTreeMap::new();
        for (name, spec) in &self.boundary {
            let at = ["boundary", name.as_str()];
            let Some(place) = markers.iter().find(|m| m.name == *name) else {
                let list = markers.iter().map(|m| m.name.as_str()).collect::<Vec<_>>().join(", ");
                return Err(
                    source.error(&at, &format!("the grid has no marker `{name}` (its markers: {list})"))
                );
            };
            let boundary = spec.boundary(f, place, planar).map_err(|e| source.error(&at, &e))?;
            boundaries.insert(name.clone(), boundary);
        }
        // As in cases of compressible flow: types of a neutral map.
        let planes = markers.iter().filter(|m| m.name.to_ascii_lowercase().starts_with("symmetry_"));
        for place in planes {
            boundaries.entry(place.name.clone()).or_insert(Boundary::Symmetry);
        }
        let lift = match r.lift_axis {
            LiftAxis::Z => [0.0, 0.0, 1.0],
            LiftAxis::Auto if planar.is_none_or(|lacks| lacks == 1) => [0.0, 0.0, 1.0],
            _ => [0.0, 1.0, 0.0],
        };
        let scalar = |s: &ScalarSection| Scalar {
            name: s.name.clone(),
            diffusivity: s.diffusivity,
            buoyancy: s.buoyancy,
            reference: s.reference,
        };
        Ok(Config {
            fluid: Fluid {
                viscosity: f.viscosity,
                compressibility: self.compressibility(markers, planar),
                scalars: f.scalars.iter().map(scalar).collect(),
            },
            turbulence: match &self.turbulence {
                Some(section) => Some(section.config(source, m.mode == Mode::Unsteady)?),
                None => None,
            },
            force: f.force,
            boundaries,
            initial: [f.pressure].into_iter().chain(f.velocity).collect(),
            space: Space {
                second_order: self.numerics.order == 2,
                kappa: self.numerics.kappa,
                limited: self.numerics.limited,
                flux: match self.numerics.flux {
                    FluxName::Roe => Flux::Roe,
                    FluxName::Central => {
                        let NumericsSection { fourth, convective, .. } = self.numerics;
                        Flux::Central { fourth, convective }
                    }
                },
            },
            implicit: Implicit {
                cfl: m.cfl(),
                ilu: StructuredIluOptions {
                    storage: self.linear.policy.config().storage(),
                    ..StructuredIluOptions::default()
                },
                corrections: self.linear.corrections,
                reduction: self.linear.reduction,
                newton: (m.nonlinear == NonlinearName::NewtonKrylov).then_some(NewtonKrylov {
                    tolerance: m.newton_tolerance,
                    directions: m.newton_directions,
                }),
            },
            time: m.time(),
            reference: Reference {
                velocity: r.velocity,
                area: r.area,
                length: r.length,
                center: r.moment_center,
                drag: [1.0, 0.0, 0.0],
                lift,
                markers: r.markers.clone(),
            },
        })
    }

    /// Artificial compressibility as given, or the square of the case's [speed](Self::speed) and that of 2 nu / l, with l the least
    /// [width](Self::width) between walls: pseudo-sound must be as quick as friction is, whose pressures are those of creeping flow.
    fn compressibility(&self, markers: &[Place], planar: Option<usize>) -> f64 {
        let creeping = 2.0 * self.incompressible.viscosity / self.width(markers, planar);
        self.incompressible.compressibility.unwrap_or_else(|| self.speed(markers).powi(2) + creeping.powi(2))
    }

    /// The least extent of a wall along an axis, of those that are no [`FLAT`] part of its largest, and the least gap between two walls; infinite without any.
    fn width(&self, markers: &[Place], planar: Option<usize>) -> f64 {
        let is_wall = |name: &String| self.boundary.get(name).is_some_and(|spec| spec.0.kind == Kind::Wall);
        let walls: Vec<Extent> = markers.iter().filter(|m| is_wall(&m.name)).map(|m| m.extent).collect();
        let axes = || (0..3).filter(|d| Some(*d) != planar);
        let of_one = |[low, high]: &Extent| {
            let sizes = || axes().map(|d| high[d] - low[d]);
            let largest = sizes().fold(0.0, f64::max);
            sizes().filter(|size| *size > FLAT * largest).fold(f64::INFINITY, f64::min)
        };
        let gap = |a: &Extent, b: &Extent| {
            let apart = axes().map(|d| (a[0][d] - b[1][d]).max(b[0][d] - a[1][d]).max(0.0));
            apart.map(|gap| gap * gap).sum::<f64>().sqrt()
        };
        let pairs = walls.iter().enumerate().flat_map(|(n, a)| walls[..n].iter().map(move |b| gap(a, b)));
        walls.iter().map(of_one).chain(pairs.filter(|gap| *gap > 0.0)).fold(f64::INFINITY, f64::min)
    }

    /// The fastest velocity that is told of; where there is none, what differences of pressure, sqrt(2 dp), forces and buoyancy, sqrt(f L) or f L^2 / (8 nu), can
    /// drive, with L the grid's largest extent; that of reference last.
    fn speed(&self, markers: &[Place]) -> f64 {
        let (fluid, tables) = (&self.incompressible, || self.boundary.values().map(|spec| &spec.0));
        let size = |v: [f64; 3]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
        let turning = markers.iter().filter_map(|place| {
            let table = &self.boundary.get(&place.name)?.0;
            table.rotation?;
            let corners = place.faces.as_flattened().iter();
            Some(corners.map(|x| size(motion_at(table.motion(), x))).fold(0.0, f64::max))
        });
        let told = tables().filter_map(|t| t.velocity).map(size).chain(turning);
        let told = told.fold(size(fluid.velocity), f64::max);
        if told > 0.0 {
            return told;
        }
        let range = |values: &mut dyn Iterator<Item = f64>| {
            let [low, high] = values.fold([f64::MAX, f64::MIN], |[l, h], v| [l.min(v), h.max(v)]);
            (high - low).max(0.0)
        };
        let pressures = range(&mut tables().filter_map(|t| t.pressure).chain([fluid.pressure]));
        let extent = |d: usize| range(&mut markers.iter().flat_map(|m| m.extent.map(|x| x[d])));
        let length = (0..3).map(extent).fold(0.0, f64::max);
        let buoyancy = fluid.scalars.iter().map(|s| {
            let values = tables().filter_map(|t| t.scalars.get(&s.name).copied());
            size(s.buoyancy) * range(&mut values.chain([s.reference]))
        });
        let force = buoyancy.fold(size(fluid.force), f64::max);
        let slow =
            if fluid.viscosity > 0.0 { force * length.powi(2) / (8.0 * fluid.viscosity) } else { f64::MAX };
        let driven = (2.0 * pressures).sqrt().max((force * length).sqrt().min(slow));
        if driven > 0.0 { driven } else { self.reference.velocity }
    }

    fn check(&self, source: &Source) -> CliResult<()> {
        let (m, r) = (&self.march, &self.reference);
        let fail = |keys: &[&str], value: f64, expected: &str| {
            Err(source.error(keys, &format!("{} is {value}: expected {expected}", keys[1])))
        };
        let positive = [
            ("reference", "velocity", r.velocity),
            ("reference", "area", r.area),
            ("reference", "length", r.length),
            ("incompressible", "compressibility", self.incompressible.compressibility.unwrap_or(1.0)),
            ("march", "dt", m.dt),
            ("march", "cfl_start", m.cfl_start),
            ("march", "cfl_min", m.cfl_min),
            ("march", "cfl_max", m.cfl_max),
            ("march", "residual_drop", m.residual_drop),
            ("march", "subiteration_drop", m.subiteration_drop),
        ];
        for (section, key, value) in positive {
            if !(value > 0.0 && value.is_finite()) {
                return fail(&[section, key], value, "a positive number");
            }
        }
        self.output.check(m.mode, source)?;
        let n = self.numerics;
        if !(1..=2).contains(&n.order) {
            return fail(&["numerics", "order"], n.order.into(), "1 or 2");
        }
        if !(-1.0..=1.0).contains(&n.kappa) {
            return fail(&["numerics", "kappa"], n.kappa, "between -1 and 1");
        }
        for (key, value) in [("fourth", n.fourth), ("convective", n.convective)] {
            if !(0.0..=1.0).contains(&value) {
                return fail(&["numerics", key], value, "between 0 and 1");
            }
        }
        if !(m.cfl_growth >= 1.0 && m.cfl_growth.is_finite()) {
            return fail(&["march", "cfl_growth"], m.cfl_growth, "1 or more");
        }
        if m.cfl_start > m.cfl_max {
            return fail(&["march", "cfl_start"], m.cfl_start, "at most cfl_max");
        }
        let mut names: Vec<&str> = Vec::new();
        for s in &self.incompressible.scalars {
            if s.name.is_empty()
                || ["pressure", "velocity", "nut", "k", "omega"].contains(&s.name.as_str())
                || names.contains(&&*s.name)
            {
                return Err(source.error(
                    &["incompressible", "scalars"],
                    &format!("a scalar is called `{}`: expected a name of its own", s.name),
                ));
            }
            names.push(&s.name);
        }
        Ok(())
    }
}
