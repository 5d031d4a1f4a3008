//! GMF binary files (`.meshb`), versions 2 to 4.
//!
//! An integer 1 (byte order), the version, then records of a keyword, the position of the next record, a count and the
//! data, each thing with a reference at its end; nodes count from 1. Records that we do not use are passed over by
//! position. **Source**: Marechal, libMeshb.

use super::patches::{NumberedFace, gather};
use crate::parse::binary::{Bytes, int, node, real};
use crate::raw::Raw;
use crate::{Kind, MeshError, ReadOptions};
use std::path::Path;

/// Reads a file.
pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<Raw, MeshError> {
    let mut bytes = Bytes::open(path, false)?;
    match bytes.int(4, "the header")? {
        1 => {}
        0x0100_0000 => bytes.big = true,
        other => return Err(bytes.error_at(0, format!("{other} where a GMF file has 1: not a .meshb file"))),
    }
    let version = bytes.int(4, "the header")?;
    if !(2..=4).contains(&version) {
        return Err(MeshError::unsupported(path, format!("GMF version {version}; versions 2 to 4 are read")));
    }
    // Positions have 8 bytes from version 3 on, counts, nodes and references in version 4.
    let wide = if version >= 3 { 8 } else { 4 };
    let width = if version >= 4 { 8 } else { 4 };
    let mut raw = Raw::default();
    raw.places.bytes = true;
    let mut faces: Vec<NumberedFace> = Vec::new();
    loop {
        let keyword = bytes.int(4, "a keyword")?;
        if keyword == 54 {
            break;
        }
        let next = bytes.int(wide, "the position of the next record")?;
        match keyword {
            3 => {
                let n = bytes.int(4, "the dimension")?;
                if n != 3 {
                    let what = format!("a mesh of dimension {n}; only three-dimensional GMF files are read");
                    return Err(MeshError::unsupported(path, what));
                }
            }
            4 | 6..=10 | 49 => things(&mut bytes, (keyword, width), &mut raw, &mut faces)?,
            _ => {}
        }
        if next == 0 {
            break;
        }
        let gap = u64::try_from(next).ok().and_then(|n| n.checked_sub(bytes.offset));
        let gap = gap.ok_or_else(|| {
            bytes.error(format!("keyword {keyword} says that the next record is at {next}"))
        })?;
        bytes.skip(gap, "a record that is not used")?;
    }
    gather(&mut raw, &faces, path, options)?;
    Ok(raw)
}

fn things(
    bytes: &mut Bytes,
    (keyword, width): (i64, usize),
    raw: &mut Raw,
    faces: &mut Vec<NumberedFace>,
) -> Result<(), MeshError> {
    let big = bytes.big;
    let n = bytes.int(width, "a count")?;
    let n = u64::try_from(n).map_err(|_| bytes.error(format!("a count of {n}")))?;
    if keyword == 4 {
        return bytes.records(n, 24 + width, "the vertices", |place, b| {
            raw.mesh.nodes.push(std::array::from_fn(|i| real(&b[8 * i..8 * i + 8], big)));
            raw.places.nodes.push(place);
            Ok(())
        });
    }
    let (corners, kind) = match keyword {
        6 => (3, None),
        7 => (4, None),
        8 => (4, Some(Kind::Tetrahedron)),
        9 => (6, Some(Kind::Prism)),
        10 => (8, Some(Kind::Hexahedron)),
        _ => (5, Some(Kind::Pyramid)),
    };
    bytes.records(n, width * (corners + 1), "the elements", |place, b| {
        let mut list = [u32::MAX; 8];
        for (slot, b) in list[..corners].iter_mut().zip(b.chunks_exact(width)) {
            *slot = node(int(b, big))?;
        }
        if let Some(kind) = kind {
            raw.push(kind, &list[..corners], place);
        } else {
            faces.push(([list[0], list[1], list[2], list[3]], int(&b[width * corners..], big), place));
        }
        Ok(())
    })
}
