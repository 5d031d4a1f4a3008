//! `chromaflow run`: a flow case from its file to forces and fields.

pub mod cuts;
pub mod history;
mod screen;

pub use screen::{Goal, Screen, bytes, duration};
