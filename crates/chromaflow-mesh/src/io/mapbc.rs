//! `.mapbc` files: number, boundary condition code and name of each boundary patch.
//!
//! A count, then one patch per line; commas, `!` comments and further columns occur. **Source**: FUN3D manual, "Boundary
//! conditions". Names there have no spaces; others are read whole, unless further columns follow, of which one is a number.

use crate::parse::text::{Lines, Words, real, show, trim};
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

/// The name that the rest of a line begins with: what is in quotes, or all up to a comma; the first word where another one is a number.
fn name(rest: &[u8]) -> Option<String> {
    let rest = trim(rest);
    let rest = trim(rest.strip_prefix(b",").unwrap_or(rest));
    let until = |end: u8, text: &[u8]| text.iter().position(|&b| b == end);
    if let Some(text) = rest.strip_prefix(b"\"")
        && let Some(end) = until(b'"', text)
    {
        return Some(show(&text[..end]));
    }
    let whole = trim(&rest[..until(b',', rest).unwrap_or(rest.len())]);
    let has_columns = Words(whole).skip(1).any(|word| real(word).is_some());
    if has_columns { Words(whole).next().map(show) } else { (!whole.is_empty()).then(|| show(whole)) }
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
        let name = name(words.0);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_whole_without_the_columns_behind_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.mapbc");
        let lines = [
            ("1 4000 tunnel floor", Some("tunnel floor")),
            ("2, 5000, far field ! not near", Some("far field")),
            ("3 6662 BCSymmetryPlane  6662_QUAD_4_Bdy   1 ", Some("BCSymmetryPlane")),
            ("4 4000 wing, more", Some("wing")),
            ("5 4000 \"Riser 3\" 0", Some("Riser 3")),
            ("6, 4000 !Viscous wall", None),
            ("7 4000\tblade\r", Some("blade")),
        ];
        let text: Vec<&str> = lines.iter().map(|(line, _)| *line).collect();
        std::fs::write(&path, format!("7 ! patches\n{}\n", text.join("\n"))).unwrap();
        let names: Vec<Option<String>> = read(&path).unwrap().into_values().map(|(name, _)| name).collect();
        assert_eq!(names, lines.map(|(_, name)| name.map(str::to_owned)));
    }
}
