//! CGNS files of HDF5: meshes and structured grids, with fields on their nodes.
//!
//! Version 3.4 of the standard, which every library since 2018 reads: a section of elements for each type and marker, boundary
//! conditions by family, fields as a solution at the vertices under the standard's names where it has one.

use super::KINDS;
use super::write_periodic::connectivity;
use crate::hdf5::{self, Array, Attribute, Group, Member, Number, each};
use crate::topology;
use crate::{Field, Kind, Mesh, MeshError, Passage, passage};
use chromaflow::files::{AtomicFile, FileError};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

/// Longest name of a node.
pub(super) const LONGEST: usize = 32;

/// Names that differ and are not too long.
pub(super) struct Names(BTreeSet<String>);

impl Names {
    pub fn new(taken: &[&str]) -> Self {
        Self(taken.iter().map(|&n| n.to_owned()).collect())
    }

    /// `wanted`, or as much of it as there is room for, with a number where it is taken.
    pub fn one(&mut self, wanted: &str) -> String {
        let clean: String = wanted
            .chars()
            .map(|c| if c == '/' || c.is_control() || !c.is_ascii() { '_' } else { c })
            .collect();
        let clean = if clean.trim().is_empty() { "unnamed" } else { clean.trim() };
        for n in 1.. {
            let end = if n == 1 { String::new() } else { format!("_{n}") };
            let name = format!("{}{end}", &clean[..clean.len().min(LONGEST - end.len())]);
            if self.0.insert(name.clone()) {
                return name;
            }
        }
        unreachable!("one of infinitely many names is free")
    }
}

/// A node: its name and what it is.
pub(super) fn node<'a>(name: &str, label: &str, kind: &str) -> Group<'a> {
    let text = |text: &str, size| Attribute::Text(text.to_owned(), size);
    let attributes = vec![
        ("name", text(name, LONGEST + 1)),
        ("label", text(label, LONGEST + 1)),
        ("type", text(kind, 3)),
        ("flags", Attribute::Ints(vec![1])),
    ];
    Group { attributes, members: Vec::new() }
}

/// Puts a node into another.
pub(super) fn put<'a>(parent: &mut Group<'a>, name: &str, child: Group<'a>) {
    parent.group(name, child);
}

const DATA: &str = " data";

/// A node of text.
pub(super) fn text<'a>(name: &str, label: &str, value: &str) -> Group<'a> {
    let (bytes, mut node) = (value.as_bytes().to_vec(), node(name, label, "C1"));
    node.array(DATA, Number::I8, &[bytes.len()], move |out| out.write_all(&bytes));
    node
}

/// How whole numbers are stored.
#[derive(Clone, Copy)]
pub(super) struct Width {
    /// In 8 bytes; 4 otherwise.
    wide: bool,
}

impl Width {
    /// For numbers up to this.
    pub fn of(most: usize) -> Self {
        Self { wide: most > i32::MAX as usize }
    }

    /// A node of few whole numbers; dimensions with the slowest first.
    pub fn ints<'a>(self, name: &str, label: &str, dims: &[usize], values: Vec<i64>) -> Group<'a> {
        self.stream(name, label, dims, move || values.clone().into_iter())
    }

    /// A node of many.
    pub fn stream<'a, I: Iterator<Item = i64>>(
        self,
        name: &str,
        label: &str,
        dims: &[usize],
        values: impl Fn() -> I + 'a,
    ) -> Group<'a> {
        let mut node = node(name, label, if self.wide { "I8" } else { "I4" });
        if self.wide {
            node.array(DATA, Number::I64, dims, move |out| each(out, values().map(i64::to_le_bytes)));
        } else {
            node.array(DATA, Number::I32, dims, move |out| {
                each(out, values().map(|n| (n as i32).to_le_bytes()))
            });
        }
        node
    }
}

/// A node of real numbers of double precision.
pub(super) fn reals<'a, I: Iterator<Item = f64>>(
    name: &str,
    dims: &[usize],
    values: impl Fn() -> I + 'a,
) -> Group<'a> {
    let mut node = node(name, "DataArray_t", "R8");
    node.array(DATA, Number::F64, dims, move |out| each(out, values().map(f64::to_le_bytes)));
    node
}

const AXES: [&str; 3] = ["X", "Y", "Z"];

/// The coordinates of some nodes along the first `axes` axes.
pub(super) fn coordinates<'a>(nodes: &'a [[f64; 3]], axes: usize, dims: &[usize]) -> Group<'a> {
    let mut grid = node("GridCoordinates", "GridCoordinates_t", "MT");
    for (axis, letter) in AXES.iter().enumerate().take(axes) {
        let name = format!("Coordinate{letter}");
        put(&mut grid, &name, reals(&name, dims, move || nodes.iter().map(move |x| x[axis])));
    }
    grid
}

/// The standard's name of a field, where it has one.
fn standard(name: &str) -> String {
    let known = [
        ("density", "Density"),
        ("velocity", "Velocity"),
        ("pressure", "Pressure"),
        ("temperature", "Temperature"),
        ("mach", "Mach"),
        ("cp", "CoefPressure"),
        ("entropy", "Entropy"),
        ("nu_tilde", "TurbulentSANuTilde"),
        ("eddy_viscosity", "ViscosityEddy"),
    ];
    known.iter().find(|k| k.0 == name).map_or_else(|| name.to_owned(), |k| k.1.to_owned())
}

/// The solution of fields on the first `count` nodes: components of vectors become arrays of their own.
pub(super) fn solution<'a>(
    fields: &'a [Field],
    axes: usize,
    (first, count): (usize, usize),
    dims: &[usize],
) -> Option<Group<'a>> {
    if fields.is_empty() {
        return None;
    }
    let mut solution = node("FlowSolution", "FlowSolution_t", "MT");
    put(&mut solution, "GridLocation", text("GridLocation", "GridLocation_t", "Vertex"));
    let mut names = Names::new(&["GridLocation"]);
    for field in fields {
        let c = field.components;
        for k in (0..c).filter(|&k| c != 3 || k < axes) {
            let name = standard(&field.name);
            let name = match c {
                1 => name,
                3 => format!("{name}{}", AXES[k]),
                _ => format!("{name}{}", k + 1),
            };
            let name = names.one(&name);
            let values =
                move || field.values[first * c..(first + count) * c].chunks_exact(c).map(move |v| v[k]);
            put(&mut solution, &name, reals(&name, dims, values));
        }
    }
    Some(solution)
}

/// The standard's type of a boundary condition of FUN3D's code.
fn condition(code: Option<i32>) -> &'static str {
    match (code, code.and_then(passage)) {
        (Some(3000), _) => "BCWallInviscid",
        (Some(4000), _) => "BCWallViscous",
        (Some(5000 | 5025 | 5050), _) => "BCFarfield",
        (_, Some(Passage::Out)) => "BCOutflow",
        (_, Some(Passage::In)) => "BCInflow",
        (Some(6661..=6663), _) => "BCSymmetryPlane",
        _ => "UserDefined",
    }
}

/// Families of the base, for the markers of these names and codes; their nodes' names.
pub(super) fn families<'m>(
    base: &mut Group<'_>,
    markers: impl Iterator<Item = (&'m str, Option<i32>)>,
    taken: &[&str],
) -> Vec<String> {
    let mut names = Names::new(taken);
    let mut all = Vec::new();
    for (marker, code) in markers {
        let name = names.one(marker);
        let mut family = node(&name, "Family_t", "MT");
        put(&mut family, "FamilyBC", text("FamilyBC", "FamilyBC_t", condition(code)));
        put(base, &name, family);
        all.push(name);
    }
    all
}

/// A boundary condition by family: its place is added by the caller.
pub(super) fn by_family<'a>(name: &str, family: &str, location: &str) -> Group<'a> {
    let mut bc = text(name, "BC_t", "FamilySpecified");
    put(&mut bc, "GridLocation", text("GridLocation", "GridLocation_t", location));
    put(&mut bc, "FamilyName", text("FamilyName", "FamilyName_t", family));
    bc
}

/// Elements of one type, one after another, all nodes counted from 0.
struct Section<'a> {
    name: String,
    /// The standard's number of the type.
    kind: i64,
    corners: usize,
    count: usize,
    nodes: Box<dyn Fn() -> Box<dyn Iterator<Item = u32> + 'a> + 'a>,
}

impl<'a> Section<'a> {
    fn new<I: Iterator<Item = u32> + 'a>(
        (name, kind): (&str, &str),
        count: usize,
        nodes: impl Fn() -> I + 'a,
    ) -> Self {
        let &(kind, _, corners) = KINDS.iter().find(|k| k.1 == kind).expect("a type of the table");
        Self { name: name.to_owned(), kind, corners, count, nodes: Box::new(move || Box::new(nodes())) }
    }
}

/// Cells, and for each marker its sections.
fn sections(mesh: &Mesh) -> (Vec<Section<'_>>, Vec<Vec<Section<'_>>>) {
    if let Some(planar) = mesh.planar {
        let triangles = || mesh.prisms.iter().flat_map(|e| [e[0], e[1], e[2]]);
        let quads = || mesh.hexes.iter().flat_map(|e| [e[0], e[1], e[2], e[3]]);
        let cells = vec![
            Section::new(("Triangles", "TRI_3"), mesh.prisms.len(), triangles),
            Section::new(("Quadrilaterals", "QUAD_4"), mesh.hexes.len(), quads),
        ];
        let sides = mesh.markers.iter().filter(|m| !m.is_plane()).map(|m| {
            let edges = move || m.quads.iter().flat_map(move |q| planar.edge(*q));
            vec![Section::new((&m.name, "BAR_2"), m.quads.len(), edges)]
        });
        return (cells, sides.collect());
    }
    let names =
        [("Tetrahedra", "TETRA_4"), ("Pyramids", "PYRA_5"), ("Prisms", "PENTA_6"), ("Hexahedra", "HEXA_8")];
    let lists = topology::lists(mesh);
    let cells = Kind::ALL.iter().zip(names).zip(lists).map(|((&kind, name), (_, nodes))| {
        Section::new(name, mesh.count(kind), move || nodes.iter().copied())
    });
    let sides = mesh.markers.iter().map(|m| {
        let (triangles, quads) = (&m.triangles, &m.quads);
        vec![
            Section::new((&m.name, "TRI_3"), triangles.len(), || triangles.iter().flatten().copied()),
            Section::new((&m.name, "QUAD_4"), quads.len(), || quads.iter().flatten().copied()),
        ]
    });
    (cells.collect(), sides.collect())
}

/// The zone of a mesh, whose markers' families have these names.
pub(super) fn zone<'a>(mesh: &'a Mesh, fields: &'a [Field], families: &[String]) -> Group<'a> {
    let nodes = mesh.planar.map_or(mesh.nodes.len(), |p| p.nodes_2d);
    let axes = if mesh.planar.is_some() { 2 } else { 3 };
    let (cells, sides) = sections(mesh);
    let count: usize = cells.iter().map(|s| s.count).sum();
    let all = count + sides.iter().flatten().map(|s| s.count).sum::<usize>();
    let width = Width::of(nodes.max(all));
    let mut zone = width.ints("Zone1", "Zone_t", &[3, 1], vec![nodes as i64, count as i64, 0]);
    put(&mut zone, "ZoneType", text("ZoneType", "ZoneType_t", "Unstructured"));
    put(&mut zone, "GridCoordinates", coordinates(&mesh.nodes[..nodes], axes, &[nodes]));
    let mut names = Names::new(&[
        "ZoneType",
        "GridCoordinates",
        "ZoneBC",
        "ZoneGridConnectivity",
        "FlowSolution",
        "GridLocation",
        "FamilyName",
    ]);
    let mut first = 1;
    let mut add = |section: Section<'a>, zone: &mut Group<'a>| {
        let Section { name, kind, corners, count, nodes } = section;
        if count == 0 {
            return;
        }
        let name = names.one(&name);
        let mut node = Width::of(0).ints(&name, "Elements_t", &[2], vec![kind, 0]);
        let range = vec![first, first + count as i64 - 1];
        first += count as i64;
        put(&mut node, "ElementRange", width.ints("ElementRange", "IndexRange_t", &[2], range));
        let values = move || nodes().map(|n| i64::from(n) + 1);
        let list = width.stream("ElementConnectivity", "DataArray_t", &[count * corners], values);
        put(&mut node, "ElementConnectivity", list);
        put(zone, &name, node);
    };
    for section in cells {
        add(section, &mut zone);
    }
    let mut conditions = node("ZoneBC", "ZoneBC_t", "MT");
    let location = if mesh.planar.is_some() { "EdgeCenter" } else { "FaceCenter" };
    let mut start = count as i64 + 1;
    for (sections, family) in sides.into_iter().zip(families) {
        let faces: usize = sections.iter().map(|s| s.count).sum();
        for section in sections {
            add(section, &mut zone);
        }
        if faces == 0 {
            continue;
        }
        let mut bc = by_family(family, family, location);
        let range = vec![start, start + faces as i64 - 1];
        start += faces as i64;
        put(&mut bc, "PointRange", width.ints("PointRange", "IndexRange_t", &[2, 1], range));
        put(&mut conditions, family, bc);
    }
    put(&mut zone, "ZoneBC", conditions);
    if let Some(connectivity) = connectivity(mesh, "Zone1", width) {
        put(&mut zone, "ZoneGridConnectivity", connectivity);
    }
    if let Some(solution) = solution(fields, axes, (0, nodes), &[nodes]) {
        put(&mut zone, "FlowSolution", solution);
    }
    zone
}

/// The root of a file around its base, of cells of so many dimensions.
pub(super) fn root(base: Group<'_>) -> Group<'_> {
    let mut root = node("HDF5 MotherNode", "Root Node of HDF5 File", "MT");
    root.attributes.retain(|a| a.0 != "flags");
    let bytes = |text: &str, size: usize| {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(size, 0);
        Array { number: Number::I8, dims: vec![size], write: Box::new(move |out| out.write_all(&bytes)) }
    };
    root.members.push((" format".to_owned(), Member::Array(bytes("IEEE_LITTLE_32", 15))));
    root.members.push((" hdf5version".to_owned(), Member::Array(bytes("HDF5 Version 1.8.0", 33))));
    let mut version = node("CGNSLibraryVersion", "CGNSLibraryVersion_t", "R4");
    version.array(DATA, Number::F32, &[1], |out| out.write_all(&3.4_f32.to_le_bytes()));
    put(&mut root, "CGNSLibraryVersion", version);
    put(&mut root, "Base", base);
    root
}

/// A base of cells of so many dimensions.
pub(super) fn base<'a>(dimensions: i64) -> Group<'a> {
    Width::of(0).ints("Base", "CGNSBase_t", &[2], vec![dimensions, dimensions])
}

/// Writes the tree, whole or not at all.
pub(super) fn save(path: &Path, root: &Group<'_>) -> Result<(), MeshError> {
    let mut out = AtomicFile::create(path)?;
    let written: io::Result<()> = hdf5::write(&mut out, root);
    written.map_err(|e| FileError::new("cannot write", path, e))?;
    Ok(out.commit()?)
}

/// Writes a mesh with fields on its nodes as a CGNS file (HDF5). A planar mesh is written as the two-dimensional one it was made of.
/// Sides that name one another are connected.
///
/// **Precision**: coordinates and fields in f64; whole numbers of 4 bytes, of 8 where 4 do not suffice.
///
/// # Errors
/// When the file cannot be written; nothing is left behind then.
///
/// # Panics
/// If a field is not as long as the mesh.
pub fn write(path: &Path, mesh: &Mesh, fields: &[Field]) -> Result<(), MeshError> {
    for field in fields {
        let expected = mesh.nodes.len() * field.components;
        assert_eq!(field.values.len(), expected, "field {} has the wrong length", field.name);
    }
    let mut base = base(if mesh.planar.is_some() { 2 } else { 3 });
    let sides = mesh.markers.iter().filter(|m| mesh.planar.is_none() || !m.is_plane());
    let families = families(&mut base, sides.map(|m| (m.name.as_str(), m.code)), &["Zone1"]);
    put(&mut base, "Zone1", zone(mesh, fields, &families));
    save(path, &root(base))
}
