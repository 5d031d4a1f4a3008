//! Model problems: systems and patterns that are functions of a name or a few numbers, for benchmarks, tests and first tries.

mod case;
mod tetrahedral;

pub use case::{BadCase, BlockTridiagonal, Case, CasePattern, Kind};
pub use tetrahedral::{banded_lattice, tetrahedral};
