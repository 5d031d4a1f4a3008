//! Test problems, property strategies, dense oracles and tolerances.
//!
//! Problems come as plain arrays, so that every crate of the workspace can use them in its own unit tests.

mod cases;
mod dense;
mod tetrahedral;

pub use cases::{BadCase, BlockTridiagonal, Case, CasePattern, Kind};
pub use dense::{dense_multiply, dense_of_blocks, dense_solve};
use std::path::{Path, PathBuf};
pub use tetrahedral::{PaperMatrix, TABLE_II, tetrahedral};

/// A file of the large data set (meshes, matrices, reference results), which does not lie in the repository: looked up
/// in the folder `CHROMAFLOW_DATA`, or else in `../shared/data` beside the repository. Where it is absent, says so on
/// standard error, so that no test is skipped in silence.
pub fn data(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("CHROMAFLOW_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from);
    let path = root.join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: {name} is not there (set CHROMAFLOW_DATA to the folder of the data set)");
    None
}
