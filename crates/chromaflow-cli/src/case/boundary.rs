//! The values of `[boundary]`: a word, or a table with parameters. Words and parameters are those of the flow crate's table.

use chromaflow_flow::bc::{Shape, Stream, Value, WORDS, Word};
use chromaflow_flow::config::Boundary;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, json};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::LazyLock;

/// A boundary condition with its parameters.
#[derive(Clone, Debug)]
pub struct BoundarySpec {
    word: &'static Word,
    values: BTreeMap<String, Value>,
}

impl PartialEq for BoundarySpec {
    fn eq(&self, other: &Self) -> bool {
        (self.word.name, &self.values) == (other.word.name, &other.values)
    }
}

/// The words.
static NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| WORDS.iter().map(|w| w.name).collect());

/// The keys of tables.
static KEYS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let parameters = WORDS.iter().flat_map(|w| w.parameters).map(|p| p.name);
    let parameters: BTreeSet<&str> = parameters.collect();
    std::iter::once("kind").chain(parameters).collect()
});

impl BoundarySpec {
    /// The solver's boundary condition in the free stream `stream`.
    ///
    /// # Errors
    /// A parameter that is missing, not positive, or that the condition does not have.
    pub fn config(&self, stream: Stream) -> Result<Boundary, String> {
        self.word.boundary(&self.values, stream)
    }

    /// Whether it is a plane of symmetry.
    pub fn is_symmetry(&self) -> bool {
        self.word.name == "symmetry"
    }

    /// The marker that a periodic one is periodic with, where it is given.
    pub fn partner(&self) -> Option<&str> {
        match self.values.get("with") {
            Some(Value::Text(name)) => Some(name),
            _ => None,
        }
    }
}

/// The word of that name, or an error that lists them.
fn find<E: Error>(name: &str) -> Result<&'static Word, E> {
    Word::find(name).ok_or_else(|| E::unknown_variant(name, &NAMES))
}

impl<'de> Deserialize<'de> for BoundarySpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WordOrTable;
        impl<'de> Visitor<'de> for WordOrTable {
            type Value = BoundarySpec;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a boundary condition: a word such as \"farfield\", or a table with `kind`")
            }
            fn visit_str<E: Error>(self, word: &str) -> Result<BoundarySpec, E> {
                Ok(BoundarySpec { word: find(word)?, values: BTreeMap::new() })
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<BoundarySpec, A::Error> {
                let (mut word, mut values) = (None, BTreeMap::new());
                while let Some(key) = map.next_key::<String>()? {
                    if key == "kind" {
                        word = Some(find(&map.next_value::<String>()?)?);
                    } else if KEYS.contains(&key.as_str()) {
                        values.insert(key, map.next_value::<Parameter>()?.0);
                    } else {
                        return Err(A::Error::unknown_field(&key, &KEYS));
                    }
                }
                let word = word.ok_or_else(|| A::Error::missing_field("kind"))?;
                Ok(BoundarySpec { word, values })
            }
        }
        deserializer.deserialize_any(WordOrTable)
    }
}

/// A parameter's value in the file.
struct Parameter(Value);

impl<'de> Deserialize<'de> for Parameter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberOrVector;
        impl<'de> Visitor<'de> for NumberOrVector {
            type Value = Parameter;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, three of them: [x, y, z], or a name")
            }
            fn visit_f64<E: Error>(self, v: f64) -> Result<Parameter, E> {
                Ok(Parameter(Value::Number(v)))
            }
            fn visit_str<E: Error>(self, v: &str) -> Result<Parameter, E> {
                Ok(Parameter(Value::Text(v.to_owned())))
            }
            fn visit_i64<E: Error>(self, v: i64) -> Result<Parameter, E> {
                Ok(Parameter(Value::Number(v as f64)))
            }
            fn visit_u64<E: Error>(self, v: u64) -> Result<Parameter, E> {
                Ok(Parameter(Value::Number(v as f64)))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Parameter, A::Error> {
                let mut v = [0.0; 3];
                for (i, x) in v.iter_mut().enumerate() {
                    *x = seq.next_element()?.ok_or_else(|| A::Error::invalid_length(i, &self))?;
                }
                if seq.next_element::<f64>()?.is_some() {
                    return Err(A::Error::invalid_length(4, &self));
                }
                Ok(Parameter(Value::Vector(v)))
            }
        }
        deserializer.deserialize_any(NumberOrVector)
    }
}

impl Serialize for BoundarySpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.values.is_empty() {
            return serializer.serialize_str(self.word.name);
        }
        let mut map = serializer.serialize_map(Some(1 + self.values.len()))?;
        map.serialize_entry("kind", self.word.name)?;
        for (name, value) in &self.values {
            match value {
                Value::Number(v) => map.serialize_entry(name, v)?,
                Value::Vector(v) => map.serialize_entry(name, v)?,
                Value::Text(v) => map.serialize_entry(name, v)?,
            }
        }
        map.end()
    }
}

impl JsonSchema for BoundarySpec {
    fn schema_name() -> Cow<'static, str> {
        "Boundary".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words: Vec<_> = WORDS.iter().map(|w| json!({ "const": w.name, "description": w.text })).collect();
        let mut properties = Map::new();
        properties.insert("kind".to_owned(), json!({ "oneOf": words }));
        for (word, parameter) in WORDS.iter().flat_map(|w| w.parameters.iter().map(move |p| (w, p))) {
            let text = format!("{}: {}", word.name, parameter.text);
            let known = properties.get(parameter.name);
            let text =
                known.and_then(|k| k["description"].as_str()).map_or(text.clone(), |k| format!("{k} {text}"));
            let kind = match parameter.shape {
                Shape::Vector => {
                    json!({ "type": "array", "items": { "type": "number" }, "minItems": 3, "maxItems": 3, "description": text })
                }
                Shape::Number => json!({ "type": "number", "description": text }),
                Shape::Text => json!({ "type": "string", "description": text }),
            };
            properties.insert(parameter.name.to_owned(), kind);
        }
        json_schema!({
            "description": "A boundary condition with its parameters.",
            "anyOf": [
                { "oneOf": words },
                {
                    "type": "object",
                    "properties": properties,
                    "required": ["kind"],
                    "additionalProperties": false
                }
            ]
        })
    }
}
