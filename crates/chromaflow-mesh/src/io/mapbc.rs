//! `.mapbc` files: number, boundary condition code and name of each boundary patch.
//!
//! A count, then one patch per line; commas, `!` comments and further columns occur. **Source**: FUN3D manual, "Boundary
//! conditions".

use crate::parse::text::{Lines, Words, show};
use crate::{MeshError, ReadOptions};
use chromaflow::files;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Which way gas passes through a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// Into the mesh.
    In,
    /// Out of it.
    Out,
}

/// The passage through markers of a code of FUN3D whose condition has values of its own, which no file has: total states, jets, mass flows and
/// given states in; pressures, mass flows and given states out.
///
/// ```
/// use chromaflow_mesh::{Passage, passage};
/// assert_eq!([7011, 7012, 4000].map(passage), [Some(Passage::In), Some(Passage::Out), None]);
/// ```
pub fn passage(code: i32) -> Option<Passage> {
    match code {
        7011 | 7021 | 7036 | 7100 | 7101 | 7103 | 7104 => Some(Passage::In),
        5051 | 5052 | 7012 | 7031 | 7105 => Some(Passage::Out),
        _ => None,
    }
}

/// Name and code of each patch, by its number.
pub(crate) type Patches = BTreeMap<i64, (Option<String>, i32)>;

/// The table for a mesh: the one that was asked for, or else one of the mesh's name beside it, or else none.
pub(crate) fn find(mesh: &Path, options: &ReadOptions) -> Result<Patches, MeshError> {
    if let Some(path) = &options.mapbc {
        return read(path);
    }
    let mut stem: PathBuf = files::without_compression(mesh);
    loop {
        let candidate = stem.with_extension("mapbc");
        if candidate.is_file() {
            return read(&candidate);
        }
        let Some(shorter) = stem.extension().map(|_| stem.with_extension("")) else {
            return Ok(Patches::new());
        };
        stem = shorter;
    }
}

/// Reads a table.
pub(crate) fn read(path: &Path) -> Result<Patches, MeshError> {
    let mut lines = Lines::open(path)?;
    let mut patches = Patches::new();
    let mut count = None;
    while lines.advance()? {
        let text = lines.text().split(|&b| b == b'!').next().unwrap_or_default();
        let mut words = Words(text);
        if words.clone().next().is_none() {
            continue;
        }
        let Some(n) = count else {
            count = Some(words.natural("the number of patches").map_err(|w| lines.error(w))?);
            continue;
        };
        if patches.len() as u64 == n {
            break;
        }
        let id = words.whole("the patch").map_err(|w| lines.error(w))?;
        let code = words.whole("the boundary condition code").map_err(|w| lines.error(w))?;
        let code = i32::try_from(code).map_err(|_| lines.error(format!("boundary condition code {code}")))?;
        let name = words.next().map(show);
        if patches.insert(id, (name, code)).is_some() {
            return Err(lines.error(format!("patch {id} stands here a second time")));
        }
    }
    match count {
        Some(n) if n != patches.len() as u64 => {
            Err(lines.error(format!("{n} patches announced, {} found", patches.len())))
        }
        None => Err(lines.error("expected the number of patches, found nothing")),
        Some(_) => Ok(patches),
    }
}
