//! GMF binary files (`.meshb`), versions 2 to 4.
//!
//! An integer 1 (byte order), the version, then records of a keyword, the position of the next record, a count and the
//! data, each thing with a reference at its end; nodes count from 1. Records that we do not use are passed over by
//! position. **Source**: Marechal, libMeshb.

use super::patches::{NumberedFace, gather};
use super::slices::{Records, Table, nodes_of, point};
use crate::parse::binary::{Bytes, int};
use crate::raw::Raw;
use crate::{Kind, MeshError, ReadOptions};
use std::path::Path;

/// Things of one kind in a file.
#[derive(Clone, Copy)]
enum Things {
    Nodes,
    /// Of so many corners.
    Faces(usize),
    Elements(Kind),
}

impl Things {
    fn of(keyword: i64) -> Option<Self> {
        Some(match keyword {
            4 => Self::Nodes,
            6 => Self::Faces(3),
            7 => Self::Faces(4),
            8 => Self::Elements(Kind::Tetrahedron),
            9 => Self::Elements(Kind::Prism),
            10 => Self::Elements(Kind::Hexahedron),
            49 => Self::Elements(Kind::Pyramid),
            _ => return None,
        })
    }

    /// What they are called, and the bytes of one with its reference.
    fn record(self, width: usize) -> (&'static str, usize) {
        match self {
            Self::Nodes => ("the vertices", 24 + width),
            Self::Faces(corners) => ("the elements", width * (corners + 1)),
            Self::Elements(kind) => ("the elements", width * (kind.nodes() + 1)),
        }
    }
}

/// Reads byte order and version: the bytes of counts, nodes and references.
fn head(bytes: &mut Bytes, path: &Path) -> Result<(usize, usize), MeshError> {
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
    Ok((if version >= 3 { 8 } else { 4 }, if version >= 4 { 8 } else { 4 }))
}

/// Calls `take` at each record of things that a mesh has, with their number.
fn each(
    bytes: &mut Bytes,
    path: &Path,
    (position, width): (usize, usize),
    mut take: impl FnMut(&mut Bytes, Things, u64) -> Result<(), MeshError>,
) -> Result<(), MeshError> {
    loop {
        let keyword = bytes.int(4, "a keyword")?;
        if keyword == 54 {
            return Ok(());
        }
        let next = bytes.int(position, "the position of the next record")?;
        if keyword == 3 {
            let n = bytes.int(4, "the dimension")?;
            if n != 3 {
                let what = format!("a mesh of dimension {n}; only three-dimensional GMF files are read");
                return Err(MeshError::unsupported(path, what));
            }
        } else if let Some(things) = Things::of(keyword) {
            let n = bytes.int(width, "a count")?;
            let n = u64::try_from(n).map_err(|_| bytes.error(format!("a count of {n}")))?;
            take(bytes, things, n)?;
        }
        if next == 0 {
            return Ok(());
        }
        let gap = u64::try_from(next).ok().and_then(|n| n.checked_sub(bytes.offset));
        let gap = gap.ok_or_else(|| {
            bytes.error(format!("keyword {keyword} says that the next record is at {next}"))
        })?;
        bytes.skip(gap, "a record that is not used")?;
    }
}

/// Reads a file.
pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<Raw, MeshError> {
    let mut bytes = Bytes::open(path, false)?;
    let (position, width) = head(&mut bytes, path)?;
    let (mut raw, mut faces): (Raw, Vec<NumberedFace>) = Default::default();
    raw.places.bytes = true;
    let big = bytes.big;
    each(&mut bytes, path, (position, width), |bytes, things, n| {
        let (what, size) = things.record(width);
        bytes.records(n, size, what, |place, record| {
            let mut list = [u32::MAX; 8];
            match things {
                Things::Nodes => {
                    raw.mesh.nodes.push(point(record, 8, big));
                    raw.places.nodes.push(place);
                }
                Things::Faces(corners) => {
                    nodes_of(record, width, big, &mut list[..corners])?;
                    let nodes = [list[0], list[1], list[2], list[3]];
                    faces.push((nodes, int(&record[width * corners..], big), place));
                }
                Things::Elements(kind) => {
                    nodes_of(record, width, big, &mut list[..kind.nodes()])?;
                    raw.push(kind, &list[..kind.nodes()], place);
                }
            }
            Ok(())
        })
    })?;
    gather(&mut raw, &faces, path, options)?;
    Ok(raw)
}

/// Where everything stands in an uncompressed file, which is as long as it must be.
pub(super) fn records(path: &Path) -> Result<Records, MeshError> {
    let mut bytes = Bytes::jumping(path)?;
    let (position, width) = head(&mut bytes, path)?;
    let table = |things: Things| {
        let (what, size) = things.record(width);
        Table::new(what, size)
    };
    let mut records = Records {
        path: path.to_owned(),
        big: bytes.big,
        width,
        real: 8,
        nodes: table(Things::Nodes),
        faces: [3, 4].map(|corners| table(Things::Faces(corners))),
        patches: None,
        elements: Kind::ALL.map(|kind| table(Things::Elements(kind))),
        pyramid: [0, 1, 2, 3, 4],
    };
    each(&mut bytes, path, (position, width), |bytes, things, n| {
        let (what, size) = things.record(width);
        let at = bytes.offset;
        bytes.skip(n.saturating_mul(size as u64), what)?;
        let table = match things {
            Things::Nodes => &mut records.nodes,
            Things::Faces(corners) => &mut records.faces[corners - 3],
            Things::Elements(kind) => &mut records.elements[kind as usize],
        };
        table.add(at, n as usize);
        Ok(())
    })?;
    Ok(records)
}
