//! The values of `[boundary]`: a word, or a table with parameters.

use chromaflow_flow::config::Boundary;
use schemars::JsonSchema;
use serde::de::{MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A boundary condition with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema)]
#[schemars(untagged)]
#[allow(clippy::large_enum_variant)]
pub enum BoundarySpec {
    /// A condition without parameters.
    Word(BoundaryKind),
    /// A condition with parameters.
    Table(BoundaryTable),
}

/// A boundary condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BoundaryKind {
    /// Far field by characteristics.
    Farfield,
    /// Inviscid wall.
    SlipWall,
    /// Plane of symmetry.
    Symmetry,
    /// Viscous wall: adiabatic, or isothermal where a `temperature` is given.
    NoSlip,
    /// Subsonic inflow: `total_pressure`, `total_temperature`, `direction`.
    Inlet,
    /// Outflow against a back `pressure`.
    Outlet,
    /// Everything from inside (supersonic outflow).
    Extrapolation,
}

/// A boundary condition with parameters.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoundaryTable {
    /// The condition.
    pub kind: BoundaryKind,
    /// no_slip: wall temperature over the free stream's static temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// inlet: total pressure over the free stream's static pressure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_pressure: Option<f64>,
    /// inlet: total temperature over the free stream's static temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_temperature: Option<f64>,
    /// inlet: direction of the flow, any length; default the free stream's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<[f64; 3]>,
    /// outlet: static pressure over the free stream's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pressure: Option<f64>,
}

impl BoundarySpec {
    /// As a table, whichever way it was written.
    pub fn table(self) -> BoundaryTable {
        match self {
            Self::Table(table) => table,
            Self::Word(kind) => BoundaryTable {
                kind,
                temperature: None,
                total_pressure: None,
                total_temperature: None,
                direction: None,
                pressure: None,
            },
        }
    }

    /// The solver's boundary condition; `along` is the direction of the free stream.
    ///
    /// # Errors
    /// A parameter that is missing, not positive, or that the condition does not have.
    pub fn config(self, along: [f64; 3]) -> Result<Boundary, String> {
        use BoundaryKind as K;
        let t = self.table();
        let word = serde_json::to_value(t.kind).expect("a word");
        let word = word.as_str().unwrap_or_default();
        let given = [
            ("temperature", t.temperature.is_some(), K::NoSlip),
            ("total_pressure", t.total_pressure.is_some(), K::Inlet),
            ("total_temperature", t.total_temperature.is_some(), K::Inlet),
            ("direction", t.direction.is_some(), K::Inlet),
            ("pressure", t.pressure.is_some(), K::Outlet),
        ];
        if let Some((name, ..)) = given.iter().find(|(_, there, owner)| *there && *owner != t.kind) {
            return Err(format!("`{word}` has no parameter `{name}`"));
        }
        let need = |name: &str, value: Option<f64>| match value {
            Some(v) if v > 0.0 && v.is_finite() => Ok(v),
            Some(v) => {
                Err(format!("`{name}` is {v}: expected a positive ratio to the free stream's static value"))
            }
            None => Err(format!(
                "`{word}` needs `{name}`, a ratio to the free stream's static value: {{ kind = \"{word}\", {name} = ... }}"
            )),
        };
        Ok(match t.kind {
            K::Farfield => Boundary::Farfield,
            K::SlipWall => Boundary::SlipWall,
            K::Symmetry => Boundary::Symmetry,
            K::NoSlip if t.temperature.is_some() => {
                Boundary::NoSlipIsothermal { temperature: need("temperature", t.temperature)? }
            }
            K::NoSlip => Boundary::NoSlipAdiabatic,
            K::Inlet => Boundary::Inlet {
                total_pressure: need("total_pressure", t.total_pressure)?,
                total_temperature: need("total_temperature", t.total_temperature)?,
                direction: match t.direction {
                    Some([0.0, 0.0, 0.0]) => return Err("`direction` has length zero".into()),
                    Some(direction) => direction,
                    None => along,
                },
            },
            K::Outlet => Boundary::Outlet { pressure: need("pressure", t.pressure)? },
            K::Extrapolation => Boundary::Extrapolation,
        })
    }
}

impl<'de> Deserialize<'de> for BoundarySpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WordOrTable;
        impl<'de> Visitor<'de> for WordOrTable {
            type Value = BoundarySpec;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a boundary condition: a word such as \"farfield\", or a table with `kind`")
            }
            fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<BoundarySpec, E> {
                let kind = BoundaryKind::deserialize(serde::de::value::StrDeserializer::new(word))?;
                Ok(BoundarySpec::Word(kind))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<BoundarySpec, A::Error> {
                BoundaryTable::deserialize(MapAccessDeserializer::new(map)).map(BoundarySpec::Table)
            }
        }
        deserializer.deserialize_any(WordOrTable)
    }
}

impl Serialize for BoundarySpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Word(kind) => kind.serialize(serializer),
            Self::Table(table) => table.serialize(serializer),
        }
    }
}
