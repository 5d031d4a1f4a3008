//! Conditions by their words in case files: what reads a case, its schema and its reference are made from.

use super::{
    Boundary, extrapolation, farfield, inlet, mass_flow_outlet, moving_wall, no_slip, outlet, periodic,
    slip_wall, symmetry, velocity_inlet,
};
use crate::gas::total_over_static;
use std::collections::BTreeMap;

/// All conditions, in the order of the reference.
pub static WORDS: [&Word; 11] = [
    &farfield::WORD,
    &slip_wall::WORD,
    &symmetry::WORD,
    &no_slip::WORD,
    &moving_wall::WORD,
    &inlet::WORD,
    &velocity_inlet::WORD,
    &outlet::WORD,
    &mass_flow_outlet::WORD,
    &extrapolation::WORD,
    &periodic::WORD,
];

/// A condition in case files.
#[derive(Debug)]
pub struct Word {
    /// The word itself.
    pub name: &'static str,
    /// What it means.
    pub text: &'static str,
    /// What may be given with it.
    pub parameters: &'static [Parameter],
    /// Makes the condition of what is given.
    pub(super) read: fn(&Given<'_>) -> Result<Boundary, String>,
}

/// A parameter of a condition.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its key.
    pub name: &'static str,
    /// What it means.
    pub text: &'static str,
    /// What its values are.
    pub shape: Shape,
}

/// What values of a parameter are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One number.
    Number,
    /// Three numbers.
    Vector,
    /// A name.
    Text,
}

impl Parameter {
    pub(super) const fn number(name: &'static str, text: &'static str) -> Self {
        Self { name, text, shape: Shape::Number }
    }

    pub(super) const fn vector(name: &'static str, text: &'static str) -> Self {
        Self { name, text, shape: Shape::Vector }
    }

    pub(super) const fn text(name: &'static str, text: &'static str) -> Self {
        Self { name, text, shape: Shape::Text }
    }
}

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// One number.
    Number(f64),
    /// Three components.
    Vector([f64; 3]),
    /// A name.
    Text(String),
}

/// What a case file gives with a word.
pub(super) struct Given<'a> {
    word: &'a Word,
    values: &'a BTreeMap<String, Value>,
    stream: Stream,
}

/// The free stream, which conditions take values from that are not given.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    /// Its direction.
    pub along: [f64; 3],
    /// Its Mach number.
    pub mach: f64,
    /// Ratio of specific heats.
    pub gamma: f64,
}

impl Stream {
    /// Total pressure and total temperature over the static ones.
    pub fn total(&self) -> [f64; 2] {
        total_over_static(self.gamma, self.mach)
    }
}

impl Word {
    /// The word of that name.
    pub fn find(name: &str) -> Option<&'static Self> {
        WORDS.into_iter().find(|w| w.name == name)
    }

    /// The condition with these values; what some take of the free stream where none is given is `stream`'s.
    ///
    /// # Errors
    /// A parameter that is missing, that is out of its range, or that the condition does not have.
    pub fn boundary(&self, values: &BTreeMap<String, Value>, stream: Stream) -> Result<Boundary, String> {
        for (name, value) in values {
            let Some(parameter) = self.parameters.iter().find(|p| p.name == name) else {
                return Err(format!("`{}` has no parameter `{name}`", self.name));
            };
            match (value, parameter.shape) {
                (Value::Number(_), Shape::Number) | (Value::Text(_), Shape::Text) => {}
                (Value::Vector(v), Shape::Vector) if v.iter().all(|x| x.is_finite()) => {}
                (_, Shape::Vector) => return Err(format!("`{name}` takes three numbers: [x, y, z]")),
                (_, Shape::Number) => return Err(format!("`{name}` takes one number")),
                (_, Shape::Text) => return Err(format!("`{name}` takes a name: \"...\"")),
            }
        }
        (self.read)(&Given { word: self, values, stream })
    }
}

impl Given<'_> {
    /// The free stream.
    pub fn stream(&self) -> Stream {
        self.stream
    }

    /// A ratio to the free stream's static value, `default` where none is given.
    pub fn ratio_or(&self, name: &str, default: f64) -> Result<f64, String> {
        if self.has(name) { self.ratio(name) } else { Ok(default) }
    }

    /// Whether there is a value.
    pub fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// A ratio to the free stream's static value: a positive number.
    pub fn ratio(&self, name: &str) -> Result<f64, String> {
        match self.values.get(name) {
            Some(&Value::Number(v)) if v > 0.0 && v.is_finite() => Ok(v),
            Some(&Value::Number(v)) => {
                Err(format!("`{name}` is {v}: expected a positive ratio to the free stream's static value"))
            }
            _ => Err(format!(
                "`{word}` needs `{name}`, a ratio to the free stream's static value: {{ kind = \"{word}\", {name} = ... }}",
                word = self.word.name
            )),
        }
    }

    /// A positive number.
    pub fn positive(&self, name: &str) -> Result<f64, String> {
        match self.values.get(name) {
            Some(&Value::Number(v)) if v > 0.0 && v.is_finite() => Ok(v),
            Some(&Value::Number(v)) => Err(format!("`{name}` is {v}: expected a positive number")),
            _ => Err(format!(
                "`{word}` needs `{name}`: {{ kind = \"{word}\", {name} = ... }}",
                word = self.word.name
            )),
        }
    }

    /// A vector, where there is one.
    pub fn vector(&self, name: &str) -> Option<[f64; 3]> {
        match self.values.get(name) {
            Some(&Value::Vector(v)) => Some(v),
            _ => None,
        }
    }

    /// A direction of any length, the free stream's where none is given.
    pub fn direction(&self, name: &str) -> Result<[f64; 3], String> {
        match self.vector(name) {
            Some([0.0, 0.0, 0.0]) => Err(format!("`{name}` has length zero")),
            Some(direction) => Ok(direction),
            None => Ok(self.stream.along),
        }
    }
}
