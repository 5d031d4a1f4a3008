//! Mesh files, written whole or not at all.

use super::{Format, Layout, gmf_write, gmsh_write};
use crate::{Kind, Marker, Mesh, MeshError, Planar};
use chromaflow::files::{self, AtomicFile, FileError};
use std::io::{self, Write};
use std::path::Path;

/// Writes a mesh in the format that the name tells; a UGRID or GMF file gets its `.mapbc` beside it; `.vtkhdf` is for
/// looking at.
///
/// A mesh made from a two-dimensional one is written as two-dimensional to SU2, Gmsh, GMF, CGNS and VTK files and as one layer to others.
///
/// # Errors
/// When the name tells no format that is written, or the file cannot be written; nothing is left behind then.
pub fn write(path: &Path, mesh: &Mesh) -> Result<(), MeshError> {
    if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("vtkhdf")) {
        return Ok(crate::vtk::write_hdf(path, mesh, &[])?);
    }
    write_as(path, mesh, Format::of(path)?)
}

/// Writes a mesh in this format, whatever its name.
///
/// # Errors
/// As [`write`].
pub fn write_as(path: &Path, mesh: &Mesh, format: Format) -> Result<(), MeshError> {
    match format {
        Format::Cgns => return crate::cgns::write(path, mesh, &[]),
        Format::Vtu => return Ok(crate::vtk::write_mesh(path, mesh, crate::vtk::VtuOptions::default())?),
        Format::GmfText => {
            return Err(MeshError::unsupported(
                path,
                "GMF's text is read only; write .meshb, its binary form",
            ));
        }
        Format::OpenFoam | Format::Fluent => {
            let what =
                "OpenFOAM's and Fluent's meshes are read only; write .cgns, .su2, .msh, .meshb or .lb8.ugrid";
            return Err(MeshError::unsupported(path, what));
        }
        _ => {}
    }
    let fail = |e| MeshError::from(FileError::new("cannot write", path, e));
    let mut out = AtomicFile::create(path)?;
    match format {
        Format::Ugrid => ugrid_text(&mut out, mesh),
        Format::UgridBinary(layout) => ugrid_binary(&mut out, mesh, layout),
        Format::Gmsh { legacy, binary } => gmsh_write::write(&mut out, mesh, legacy, binary),
        Format::Gmf => gmf_write::write(&mut out, mesh),
        Format::Su2 | Format::Cgns | Format::Vtu | Format::OpenFoam | Format::Fluent | Format::GmfText => {
            su2(&mut out, mesh)
        }
    }
    .map_err(fail)?;
    out.commit()?;
    if matches!(format, Format::Ugrid | Format::UgridBinary(_) | Format::Gmf) {
        let plain = files::without_compression(path);
        let name = plain.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let stem = name.split('.').next().unwrap_or_default();
        let path = path.with_file_name(format!("{stem}.mapbc"));
        let mut out = AtomicFile::create(&path)?;
        let planes = format != Format::Gmf;
        mapbc(&mut out, mesh, planes)
            .map_err(|e| MeshError::from(FileError::new("cannot write", &path, e)))?;
        out.commit()?;
    }
    Ok(())
}

/// A table of the markers, with the two planes of a planar mesh or without.
fn mapbc(out: &mut impl Write, mesh: &Mesh, planes: bool) -> io::Result<()> {
    let markers: Vec<&Marker> =
        mesh.markers.iter().filter(|m| planes || mesh.planar.is_none() || !m.is_plane()).collect();
    writeln!(out, "{}", markers.len())?;
    for (i, m) in markers.into_iter().enumerate() {
        let name: String =
            m.name.chars().map(|c| if c.is_whitespace() || c == ',' { '_' } else { c }).collect();
        writeln!(out, "{} {} {name}", i + 1, m.code.unwrap_or(0))?;
    }
    Ok(())
}

/// The nodes of an SU2 cell: VTK's wedge is the mirror image of our prism.
fn vtk(kind: Kind, nodes: &[u32]) -> Vec<u32> {
    if kind == Kind::Prism {
        kind.mirror().iter().map(|&i| nodes[i as usize]).collect()
    } else {
        nodes.to_vec()
    }
}

fn cell(out: &mut impl Write, code: u8, nodes: &[u32]) -> io::Result<()> {
    write!(out, "{code}")?;
    for n in nodes {
        write!(out, " {n}")?;
    }
    writeln!(out)
}

fn su2(out: &mut impl Write, mesh: &Mesh) -> io::Result<()> {
    if let Some(planar) = mesh.planar {
        return su2_planar(out, mesh, planar);
    }
    writeln!(out, "NDIME= 3\nNELEM= {}", mesh.elements())?;
    for e in 0..mesh.elements() {
        let (kind, _, nodes) = mesh.element(e);
        cell(out, kind.vtk(), &vtk(kind, nodes))?;
    }
    writeln!(out, "NPOIN= {}", mesh.nodes.len())?;
    for [x, y, z] in &mesh.nodes {
        writeln!(out, "{x:e} {y:e} {z:e}")?;
    }
    writeln!(out, "NMARK= {}", mesh.markers.len())?;
    for m in &mesh.markers {
        writeln!(out, "MARKER_TAG= {}\nMARKER_ELEMS= {}", m.name, m.triangles.len() + m.quads.len())?;
        m.triangles.iter().try_for_each(|t| cell(out, 5, t))?;
        m.quads.iter().try_for_each(|q| cell(out, 9, q))?;
    }
    Ok(())
}

fn su2_planar(out: &mut impl Write, mesh: &Mesh, planar: Planar) -> io::Result<()> {
    writeln!(out, "NDIME= 2\nNELEM= {}", mesh.elements())?;
    mesh.prisms.iter().try_for_each(|e| cell(out, 5, &e[..3]))?;
    mesh.hexes.iter().try_for_each(|e| cell(out, 9, &e[..4]))?;
    writeln!(out, "NPOIN= {}", planar.nodes_2d)?;
    for [x, y, _] in &mesh.nodes[..planar.nodes_2d] {
        writeln!(out, "{x:e} {y:e}")?;
    }
    let sides: Vec<_> = mesh.markers.iter().filter(|m| !m.is_plane()).collect();
    writeln!(out, "NMARK= {}", sides.len())?;
    for m in sides {
        writeln!(out, "MARKER_TAG= {}\nMARKER_ELEMS= {}", m.name, m.quads.len())?;
        for q in &m.quads {
            cell(out, 3, &planar.edge(*q))?;
        }
    }
    Ok(())
}

fn counts(mesh: &Mesh) -> [usize; 7] {
    let sum = |f: fn(&Marker) -> usize| mesh.markers.iter().map(f).sum();
    let (t, q) = (sum(|m| m.triangles.len()), sum(|m| m.quads.len()));
    [mesh.nodes.len(), t, q, mesh.tets.len(), mesh.pyramids.len(), mesh.prisms.len(), mesh.hexes.len()]
}

/// Lists of integers of a UGRID file, each with the number of integers per thing: triangles, quadrilaterals, patches,
/// then the elements.
fn each_list(mesh: &Mesh, mut put: impl FnMut(&[u32]) -> io::Result<()>) -> io::Result<()> {
    let markers = || mesh.markers.iter().zip(1u32..);
    let one = |nodes: &[u32]| nodes.iter().map(|n| n + 1).collect::<Vec<_>>();
    for (m, _) in markers() {
        m.triangles.iter().try_for_each(|t| put(&one(t)))?;
    }
    for (m, _) in markers() {
        m.quads.iter().try_for_each(|q| put(&one(q)))?;
    }
    for (m, id) in markers() {
        m.triangles.iter().try_for_each(|_| put(&[id]))?;
    }
    for (m, id) in markers() {
        m.quads.iter().try_for_each(|_| put(&[id]))?;
    }
    for e in 0..mesh.elements() {
        match mesh.element(e) {
            (Kind::Pyramid, _, p) => put(&one(&[p[0], p[3], p[4], p[1], p[2]]))?,
            (_, _, nodes) => put(&one(nodes))?,
        }
    }
    Ok(())
}

fn ugrid_text(out: &mut impl Write, mesh: &Mesh) -> io::Result<()> {
    writeln!(out, "{}", counts(mesh).map(|n| n.to_string()).join(" "))?;
    for [x, y, z] in &mesh.nodes {
        writeln!(out, "{x:e} {y:e} {z:e}")?;
    }
    each_list(mesh, |list| {
        for n in list {
            write!(out, "{n} ")?;
        }
        writeln!(out)
    })
}

fn ugrid_binary(out: &mut impl Write, mesh: &Mesh, layout: Layout) -> io::Result<()> {
    let Layout { big, real, int, records } = layout;
    let put_int = |out: &mut dyn Write, n: u64| {
        let b = if big { n.to_be_bytes() } else { n.to_le_bytes() };
        out.write_all(if int == 8 {
            &b
        } else if big {
            &b[4..]
        } else {
            &b[..4]
        })
    };
    let counts = counts(mesh);
    let [n, t, q, rest @ ..] = counts.map(|n| n as u64);
    let elements: u64 = rest.iter().zip([4, 5, 6, 8]).map(|(n, k)| n * k).sum();
    let bytes = n * 3 * u64::from(real) + (4 * t + 5 * q + elements) * u64::from(int);
    let mark = |out: &mut dyn Write, n: u64| {
        let n = u32::try_from(n)
            .map_err(|_| io::Error::other("a record of 4 GiB: write a stream (.lb8) instead"))?;
        if records { out.write_all(&if big { n.to_be_bytes() } else { n.to_le_bytes() }) } else { Ok(()) }
    };
    let bytes = if records { bytes } else { 0 };
    mark(out, 7 * u64::from(int))?;
    counts.iter().try_for_each(|&n| put_int(out, n as u64))?;
    mark(out, 7 * u64::from(int))?;
    mark(out, bytes)?;
    for x in mesh.nodes.iter().flatten() {
        match (real, big) {
            (4, true) => out.write_all(&(*x as f32).to_be_bytes())?,
            (4, false) => out.write_all(&(*x as f32).to_le_bytes())?,
            (_, true) => out.write_all(&x.to_be_bytes())?,
            (_, false) => out.write_all(&x.to_le_bytes())?,
        }
    }
    each_list(mesh, |list| list.iter().try_for_each(|&n| put_int(out, u64::from(n))))?;
    mark(out, bytes)
}
