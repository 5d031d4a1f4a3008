//! VTK's unstructured grids (`.vtu`, in pieces `.pvtu`) as meshes.
//!
//! Cells that fill the volume are elements, triangles and quadrilaterals boundary faces; where none fills it and all lie in a plane z =
//! const they are the elements, and lines the boundary. The marker of a face is its number in an array on the cells (`MARKERS`), its name
//! an array of the field data with two numbers, marker and dimension, as [`crate::vtk::write_mesh`] and meshio have physical groups. Where
//! no face carries a marker, connected ones are one; where there are no faces, those of one element are taken.
//!
//! **Source**: VTK file formats, "XML file formats", and Figures 2 and 3, The VTK User's Guide (Kitware).

mod arrays;
mod boundary;
#[cfg(test)]
mod tests;
mod xml;

use super::mapbc::{self, Patches};
use super::patches::{NumberedFace, named};
use crate::par::threads;
use crate::parse::Fault;
use crate::raw::Raw;
use crate::{Kind, MeshError, ReadOptions};
use arrays::{Array, Coding, Packing};
use chromaflow::files::{self, FileError};
use std::collections::HashMap;
use std::io::Read;
use std::path::Path;
use xml::{Form, Tag};

/// Arrays on cells that number markers: of this program, Gmsh's and INRIA's by meshio, of others. The first that is there counts.
const MARKERS: [&str; 8] = [
    "marker",
    "CellEntityIds",
    "gmsh:physical",
    "medit:ref",
    "gmsh:geometrical",
    "cell_tags",
    "boundary_id",
    "GroupID",
];

/// A piece of a file: its points and cells.
#[derive(Default)]
struct Piece {
    points: Option<Array>,
    connectivity: Option<Array>,
    offsets: Option<Array>,
    types: Option<Array>,
    /// Of each cell.
    data: Vec<Array>,
    counts: [usize; 2],
    at: usize,
}

/// Reads a file, or the pieces that a `.pvtu` lists.
pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<Raw, MeshError> {
    let mut all = Collected::default();
    all.raw.places.bytes = true;
    all.raw.drop_unused = true;
    let bytes = contents(path)?;
    let sources = sources(&bytes).map_err(|fault| fault.of(path))?;
    if let Some(sources) = sources {
        drop(bytes);
        all.several = true;
        for source in sources {
            let file = path.with_file_name(source);
            all.add(&contents(&file)?).map_err(|fault| fault.of(&file))?;
        }
    } else {
        all.add(&bytes).map_err(|fault| fault.of(path))?;
    }
    all.finish(path, options)
}

fn contents(path: &Path) -> Result<Vec<u8>, MeshError> {
    let mut bytes = Vec::new();
    files::open(path)?.read_to_end(&mut bytes).map_err(|e| FileError::new("cannot read", path, e))?;
    Ok(bytes)
}

/// Its first tag, which must be VTK's.
fn head(bytes: &[u8]) -> Result<Tag<'_>, Fault> {
    let tag = xml::next(bytes, 0)?.ok_or_else(|| Fault::new(0, "no XML: expected <VTKFile>"))?;
    if tag.name == "VTKFile" {
        Ok(tag)
    } else {
        Err(tag.fault(format!("<{}>: expected <VTKFile>", tag.name)))
    }
}

/// The files that a list of pieces names; none where it is no list.
fn sources(bytes: &[u8]) -> Result<Option<Vec<String>>, Fault> {
    let mut tag = head(bytes)?;
    if tag.required("type")? != "PUnstructuredGrid" {
        return Ok(None);
    }
    let mut sources = Vec::new();
    while let Some(next) = xml::next(bytes, tag.end)? {
        if next.name == "Piece" && next.form != Form::Closes {
            sources.push(next.required("Source")?);
        }
        tag = next;
    }
    Ok(Some(sources))
}

/// The pieces of a file, the arrays of its field data, and how its arrays are written.
fn pieces(bytes: &[u8]) -> Result<(Vec<Piece>, Vec<Array>, Coding<'_>), Fault> {
    let head = head(bytes)?;
    let kind = head.required("type")?;
    if kind != "UnstructuredGrid" {
        return Err(head.fault(format!(
            "a file of type {kind:?}: expected UnstructuredGrid (ParaView's filter Append Datasets makes one)"
        )));
    }
    let packing = match head.get("compressor") {
        None => None,
        Some(name) => Some(Packing::of(&name).ok_or_else(|| {
            head.fault(format!(
                "compressor {name:?}: expected vtkZLibDataCompressor, or save it without compression"
            ))
        })?),
    };
    let mut coding = Coding {
        bytes,
        big: head.get("byte_order").as_deref() == Some("BigEndian"),
        wide: head.get("header_type").as_deref() == Some("UInt64"),
        packing,
        appended: None,
    };
    let (mut pieces, mut names, mut section) = (Vec::<Piece>::new(), Vec::new(), "");
    let mut from = head.end;
    while let Some(tag) = xml::next(bytes, from)? {
        from = tag.end;
        match (tag.name, tag.form) {
            ("Piece", Form::Opens | Form::Empty) => {
                let counts = [tag.natural("NumberOfPoints")?, tag.natural("NumberOfCells")?];
                pieces.push(Piece { counts, at: tag.at, ..Piece::default() });
            }
            ("Points" | "Cells" | "CellData" | "PointData" | "FieldData", Form::Opens) => section = tag.name,
            ("Points" | "Cells" | "CellData" | "PointData" | "FieldData", _) => section = "",
            ("AppendedData", Form::Opens) => {
                let base64 = tag.get("encoding").as_deref() == Some("base64");
                let mark = bytes[tag.end..].iter().position(|&b| b == b'_');
                let mark = mark.ok_or_else(|| tag.fault("no data: is the file cut short?"))?;
                coding.appended = Some((tag.end + mark + 1, base64));
                break;
            }
            ("DataArray", Form::Opens | Form::Empty) if !["", "PointData"].contains(&section) => {
                let end = if tag.form == Form::Opens { end_of_text(bytes, tag.end) } else { tag.end };
                let array = Array::new(&tag, end)?;
                match (section, pieces.last_mut()) {
                    ("FieldData", _) => names.push(array),
                    (_, Some(piece)) => piece.put(section, array),
                    (_, None) => return Err(tag.fault("an array outside of a <Piece>")),
                }
            }
            _ => {}
        }
    }
    Ok((pieces, names, coding))
}

fn end_of_text(bytes: &[u8], from: usize) -> usize {
    bytes[from..].iter().position(|&b| b == b'<').map_or(bytes.len(), |n| from + n)
}

impl Piece {
    fn put(&mut self, section: &str, array: Array) {
        let slot = match (section, array.name.as_str()) {
            ("Points", _) => &mut self.points,
            ("Cells", "connectivity") => &mut self.connectivity,
            ("Cells", "offsets") => &mut self.offsets,
            ("Cells", "types") => &mut self.types,
            ("CellData", _) => return self.data.push(array),
            _ => return,
        };
        *slot = Some(array);
    }

    fn required<'a>(&self, array: Option<&'a Array>, what: &str) -> Result<&'a Array, Fault> {
        array.ok_or_else(|| Fault::new(self.at, format!("a piece without {what}")))
    }

    /// An array on the cells as whole numbers, one a cell.
    fn of_cells(&self, array: &Array, coding: &Coding) -> Result<Vec<i64>, Fault> {
        let numbers = coding.ints(array)?;
        let cells = self.counts[1];
        if numbers.len() == cells {
            Ok(numbers)
        } else {
            Err(array.fault(format!("{} numbers, expected one for each of {cells} cells", numbers.len())))
        }
    }
}

/// Points and cells of all pieces.
#[derive(Default)]
struct Collected {
    raw: Raw,
    /// Triangles and quadrilaterals, and lines, with their markers.
    faces: Vec<NumberedFace>,
    lines: Vec<NumberedFace>,
    /// Whether all pieces have the array that numbers markers; none so far.
    numbered: Option<bool>,
    /// Names by dimension and marker.
    names: HashMap<(i64, i64), String>,
    /// Points of several pieces that lie in one place are one.
    several: bool,
    places: HashMap<[u64; 3], u32>,
}

impl Collected {
    fn add(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let (pieces, names, coding) = pieces(bytes)?;
        self.several |= pieces.len() > 1;
        // Other field data, as times, are not two whole numbers.
        for array in names.into_iter().filter(Array::is_whole) {
            if let Ok([marker, dimension]) = coding.ints(&array).as_deref() {
                self.names.insert((*dimension, *marker), array.name);
            }
        }
        pieces.iter().try_for_each(|piece| self.piece(piece, &coding))
    }

    fn piece(&mut self, piece: &Piece, coding: &Coding) -> Result<(), Fault> {
        let [count, cells] = piece.counts;
        if cells == 0 {
            return Ok(());
        }
        let array = piece.required(piece.points.as_ref(), "<Points>")?;
        let points = coding.reals(array)?;
        if !points.len().is_multiple_of(3) || points.len() / 3 != count {
            return Err(
                array.fault(format!("{} numbers, expected three for each of {count} points", points.len()))
            );
        }
        if self.raw.mesh.nodes.len() + count >= u32::MAX as usize {
            return Err(array.fault("2^32 points or more"));
        }
        let nodes: Vec<u32> =
            points.chunks_exact(3).map(|p| self.node([p[0], p[1], p[2]], array.at)).collect();
        let types =
            piece.of_cells(piece.required(piece.types.as_ref(), "the array types of its cells")?, coding)?;
        let ends = piece
            .of_cells(piece.required(piece.offsets.as_ref(), "the array offsets of its cells")?, coding)?;
        let array = piece.required(piece.connectivity.as_ref(), "the array connectivity of its cells")?;
        let connectivity = coding.ints(array)?;
        let of_marker = MARKERS.iter().find_map(|name| piece.data.iter().find(|a| a.name == *name));
        self.numbered = Some(of_marker.is_some() && self.numbered.unwrap_or(true));
        let of_marker = of_marker.map(|a| piece.of_cells(a, coding)).transpose()?;
        let ghosts = piece.data.iter().find(|a| a.name == "vtkGhostType");
        let ghosts = ghosts.map(|a| piece.of_cells(a, coding)).transpose()?;
        let mut start = 0;
        for cell in 0..cells {
            let fault = |what: String| array.fault(format!("cell {cell}: {what}"));
            let end =
                usize::try_from(ends[cell]).ok().filter(|&end| end >= start && end <= connectivity.len());
            let end = end.ok_or_else(|| {
                fault(format!("it ends at {} of {} numbers", ends[cell], connectivity.len()))
            })?;
            let own = &connectivity[start..end];
            start = end;
            // Copies of another piece's cells, and hidden ones.
            if ghosts.as_ref().is_some_and(|g| g[cell] & 0b10_0001 != 0) {
                continue;
            }
            let node = |n: &i64| usize::try_from(*n).ok().and_then(|n| nodes.get(n)).copied();
            let own: Option<Vec<u32>> = own.iter().map(node).collect();
            let own = own.ok_or_else(|| fault(format!("a point that is not one of {count}")))?;
            self.cell(types[cell], &own, of_marker.as_ref().map_or(0, |m| m[cell]), array.at as u64)
                .map_err(fault)?;
        }
        Ok(())
    }

    /// The number of a point.
    fn node(&mut self, point: [f64; 3], at: usize) -> u32 {
        let next = self.raw.mesh.nodes.len() as u32;
        if self.several {
            // Zeros of either sign are one place.
            let old = *self.places.entry(point.map(|x| (x + 0.0).to_bits())).or_insert(next);
            if old < next {
                return old;
            }
        }
        self.raw.mesh.nodes.push(point);
        self.raw.places.nodes.push(at as u64);
        next
    }

    fn cell(&mut self, kind: i64, nodes: &[u32], marker: i64, place: u64) -> Result<(), String> {
        const HIGHER: &str =
            "an element of higher order: write linear ones (Gmsh's -order 1, ParaView's filter Tessellate)";
        let (name, corners) = match kind {
            1 | 2 => return Ok(()), // points by themselves
            3 => ("a line", 2),
            4 => {
                self.lines
                    .extend(nodes.windows(2).map(|w| ([w[0], w[1], u32::MAX, u32::MAX], marker, place)));
                return Ok(());
            }
            5 => ("a triangle", 3),
            7 if nodes.len() == 3 => ("a polygon", 3),
            7 => ("a polygon", 4),
            8 => ("a pixel", 4),
            9 => ("a quadrilateral", 4),
            10 => ("a tetrahedron", 4),
            11 => ("a voxel", 8),
            12 => ("a hexahedron", 8),
            13 => ("a wedge", 6),
            14 => ("a pyramid", 5),
            21..=37 | 60..=81 => return Err(format!("type {kind}: {HIGHER}")),
            42 => {
                return Err(
                    "a polyhedron: ParaView's filter Tetrahedralize makes tetrahedra of them".to_owned()
                );
            }
            _ => {
                return Err(format!(
                    "type {kind}: expected lines (3), triangles (5), quadrilaterals (9), tetrahedra (10), hexahedra (12), wedges (13), \
                     pyramids (14)"
                ));
            }
        };
        if nodes.len() != corners {
            return Err(format!("{name} of {} points, expected {corners}", nodes.len()));
        }
        let order = |order: &[u8]| order.iter().map(|&i| nodes[i as usize]).collect::<Vec<u32>>();
        let face = |n: &[u32]| std::array::from_fn(|i| n.get(i).copied().unwrap_or(u32::MAX));
        match kind {
            3 => self.lines.push((face(nodes), marker, place)),
            8 => self.faces.push((face(&order(&[0, 1, 3, 2])), marker, place)),
            5 | 7 | 9 => self.faces.push((face(nodes), marker, place)),
            10 => self.raw.push(Kind::Tetrahedron, nodes, place),
            11 => self.raw.push(Kind::Hexahedron, &order(&[0, 1, 3, 2, 4, 5, 7, 6]), place),
            12 => self.raw.push(Kind::Hexahedron, nodes, place),
            13 => self.raw.push(Kind::Prism, &order(Kind::Prism.mirror()), place),
            _ => self.raw.push(Kind::Pyramid, nodes, place),
        }
        Ok(())
    }

    fn finish(mut self, path: &Path, options: &ReadOptions) -> Result<Raw, MeshError> {
        let mut dimension = 3;
        if self.raw.mesh.elements() == 0 && !self.faces.is_empty() {
            dimension = 2;
            self.flatten(path)?;
        }
        let mut faces = if dimension == 2 { self.lines } else { self.faces };
        let raw = &mut self.raw;
        let mut table: Patches = (self.names.into_iter())
            .filter(|((of, marker), _)| *of == dimension - 1 && faces.iter().any(|f| f.1 == *marker))
            .map(|((_, marker), name)| (marker, (Some(name), 0)))
            .collect();
        if faces.is_empty() || self.numbered != Some(true) {
            let found = if faces.is_empty() {
                faces = boundary::free(raw, threads(options.threads));
                "no boundary faces: those of one element are taken"
            } else {
                "boundary faces without markers"
            };
            table = boundary::connected(&mut faces, raw.mesh.nodes.len());
            let names: Vec<&str> = table.values().filter_map(|(name, _)| name.as_deref()).collect();
            raw.notes.push(format!(
                "the file has {found} (expected an array of whole numbers on the cells: {}); what is connected is a marker: {}",
                MARKERS.join(", "),
                names.join(", ")
            ));
        } else if table.is_empty() {
            table = mapbc::find(path, options)?;
        }
        named(raw, &faces, &table);
        Ok(self.raw)
    }

    /// Makes elements of triangles and quadrilaterals, which must lie in a plane.
    fn flatten(&mut self, path: &Path) -> Result<(), MeshError> {
        let used = self.faces.iter().flat_map(|f| super::patches::corners(&f.0).iter().copied());
        self.raw.lay_flat(used, path)?;
        for (nodes, _, place) in &self.faces {
            self.raw.push_flat(super::patches::corners(nodes), *place);
        }
        Ok(())
    }
}
