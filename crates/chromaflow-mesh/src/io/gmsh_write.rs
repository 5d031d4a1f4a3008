//! Writing Gmsh's formats.

use crate::{Kind, Mesh};
use std::io::{self, Write};

/// Numbers as words or as bytes (little endian).
struct Out<'a, W: Write> {
    out: &'a mut W,
    binary: bool,
}

impl<W: Write> Out<'_, W> {
    fn int(&mut self, n: usize) -> io::Result<()> {
        if self.binary { self.out.write_all(&(n as i32).to_le_bytes()) } else { write!(self.out, "{n} ") }
    }

    fn size(&mut self, n: usize) -> io::Result<()> {
        if self.binary { self.out.write_all(&(n as u64).to_le_bytes()) } else { write!(self.out, "{n} ") }
    }

    fn real(&mut self, x: f64) -> io::Result<()> {
        if self.binary { self.out.write_all(&x.to_le_bytes()) } else { write!(self.out, "{x:e} ") }
    }

    /// Ends a line of a text.
    fn end(&mut self) -> io::Result<()> {
        if self.binary { Ok(()) } else { writeln!(self.out) }
    }

    fn section_end(&mut self, name: &str) -> io::Result<()> {
        if self.binary {
            writeln!(self.out)?;
        }
        writeln!(self.out, "$End{name}")
    }
}

/// Elements of one type on one entity.
struct Block {
    dimension: usize,
    entity: usize,
    kind: usize,
    elements: Vec<Vec<u32>>,
}

/// The mesh as blocks, boundary first; a planar mesh as the two-dimensional one that it was made of.
fn blocks(mesh: &Mesh) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut add = |dimension, entity, kind, elements: Vec<Vec<u32>>| {
        if !elements.is_empty() {
            blocks.push(Block { dimension, entity, kind, elements });
        }
    };
    if let Some(planar) = mesh.planar {
        for (entity, m) in (1..).zip(mesh.markers.iter().filter(|m| !m.is_plane())) {
            add(1, entity, 1, m.quads.iter().map(|q| planar.edge(*q).to_vec()).collect());
        }
        add(2, 1, 2, mesh.prisms.iter().map(|e| e[..3].to_vec()).collect());
        add(2, 1, 3, mesh.hexes.iter().map(|e| e[..4].to_vec()).collect());
        return blocks;
    }
    for (entity, m) in (1..).zip(&mesh.markers) {
        add(2, entity, 2, m.triangles.iter().map(|t| t.to_vec()).collect());
        add(2, entity, 3, m.quads.iter().map(|q| q.to_vec()).collect());
    }
    for (kind, number) in Kind::ALL.into_iter().zip([4, 7, 6, 5]) {
        let mut elements = Vec::with_capacity(mesh.count(kind));
        mesh.each_of(kind, |_, e| elements.push(e.to_vec()));
        add(3, 1, number, elements);
    }
    blocks
}

/// Writes version 2.2 (`legacy`) or 4.1.
pub(super) fn write(out: &mut impl Write, mesh: &Mesh, legacy: bool, binary: bool) -> io::Result<()> {
    let top = if mesh.planar.is_some() { 2 } else { 3 };
    let nodes = &mesh.nodes[..mesh.planar.map_or(mesh.nodes.len(), |p| p.nodes_2d)];
    let names: Vec<&str> =
        mesh.markers.iter().filter(|m| top == 3 || !m.is_plane()).map(|m| m.name.as_str()).collect();
    let blocks = blocks(mesh);
    let total = blocks.iter().map(|b| b.elements.len()).sum::<usize>();
    let version = if legacy { "2.2" } else { "4.1" };
    writeln!(out, "$MeshFormat\n{version} {} 8", u8::from(binary))?;
    let mut o = Out { out, binary };
    if binary {
        o.int(1)?;
        writeln!(o.out)?;
    }
    writeln!(o.out, "$EndMeshFormat\n$PhysicalNames\n{}", names.len() + 1)?;
    for (tag, name) in (1..).zip(&names) {
        writeln!(o.out, "{} {tag} \"{name}\"", top - 1)?;
    }
    writeln!(o.out, "{top} {} \"domain\"\n$EndPhysicalNames", names.len() + 1)?;
    if !legacy {
        writeln!(o.out, "$Entities")?;
        entities(&mut o, nodes, names.len(), top)?;
        o.section_end("Entities")?;
    }
    writeln!(o.out, "$Nodes")?;
    if legacy {
        writeln!(o.out, "{}", nodes.len())?;
    } else {
        [1, nodes.len(), 1, nodes.len()].into_iter().try_for_each(|n| o.size(n))?;
        o.end()?;
        [top, 1, 0].into_iter().try_for_each(|n| o.int(n))?;
        o.size(nodes.len())?;
        o.end()?;
        for tag in 1..=nodes.len() {
            o.size(tag)?;
            o.end()?;
        }
    }
    for (tag, x) in (1..).zip(nodes) {
        if legacy {
            o.int(tag)?;
        }
        x.iter().try_for_each(|c| o.real(*c))?;
        o.end()?;
    }
    o.section_end("Nodes")?;
    writeln!(o.out, "$Elements")?;
    if legacy {
        writeln!(o.out, "{total}")?;
    } else {
        [blocks.len(), total, 1, total].into_iter().try_for_each(|n| o.size(n))?;
        o.end()?;
    }
    let mut number = 0;
    for b in &blocks {
        let group = if b.dimension == top { names.len() + 1 } else { b.entity };
        if legacy && binary {
            [b.kind, b.elements.len(), 2].into_iter().try_for_each(|n| o.int(n))?;
        } else if !legacy {
            [b.dimension, b.entity, b.kind].into_iter().try_for_each(|n| o.int(n))?;
            o.size(b.elements.len())?;
            o.end()?;
        }
        for e in &b.elements {
            number += 1;
            if legacy {
                o.int(number)?;
                if !binary {
                    o.int(b.kind)?;
                    o.int(2)?;
                }
                o.int(group)?;
                o.int(b.entity)?;
                e.iter().try_for_each(|&n| o.int(n as usize + 1))?;
            } else {
                o.size(number)?;
                e.iter().try_for_each(|&n| o.size(n as usize + 1))?;
            }
            o.end()?;
        }
    }
    o.section_end("Elements")
}

/// One entity for each marker and one for the domain, each with its physical group.
fn entities<W: Write>(o: &mut Out<W>, nodes: &[[f64; 3]], markers: usize, top: usize) -> io::Result<()> {
    let mut low = [f64::INFINITY; 3];
    let mut high = [f64::NEG_INFINITY; 3];
    for x in nodes {
        for d in 0..3 {
            low[d] = low[d].min(x[d]);
            high[d] = high[d].max(x[d]);
        }
    }
    let mut counts = [0; 4];
    counts[top - 1] = markers;
    counts[top] = 1;
    counts.into_iter().try_for_each(|n| o.size(n))?;
    o.end()?;
    let ends = (1..=markers).map(|tag| (tag, tag, 0)).chain([(1, markers + 1, markers)]);
    for (tag, group, bounding) in ends {
        o.int(tag)?;
        low.iter().chain(&high).try_for_each(|x| o.real(*x))?;
        o.size(1)?;
        o.int(group)?;
        o.size(bounding)?;
        (1..=bounding).try_for_each(|n| o.int(n))?;
        o.end()?;
    }
    Ok(())
}
