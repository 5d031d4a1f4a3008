//! What the readers collect, and how it becomes a mesh that keeps the conventions.

use super::check::{Checker, Turned, is_flat, markers_of};
use super::par::{self, parts, split, threads};
use super::places::{MarkerPlaces, Provenance};
use super::{Defect, Format, Groups, Kind, Marker, Mesh, MeshError, Planar, Report, volume};
use std::path::{Path, PathBuf};

/// How to read a mesh.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadOptions {
    /// The format, where the name does not tell.
    pub format: Option<Format>,
    /// Names and codes of the markers of a format that has only numbers; looked for beside the mesh otherwise.
    pub mapbc: Option<PathBuf>,
    /// Thickness that a two-dimensional mesh is given, in the mesh's length unit; 1 otherwise.
    pub depth: Option<f64>,
    /// Drop nodes that no element has, rather than complain.
    pub drop_unused: bool,
    /// Make one node of those that stand at one place, up to 1e-10 of the mesh's extent: blocks that were written side by side are joined, and
    /// so are the two sides of a crack.
    pub merge: bool,
    /// Accept elements that lie inside out among their neighbors (a folded mesh). They keep their neighbors' orientation and
    /// so a negative volume, which leaves the mesh closed: control volumes and face areas still sum up as they must.
    pub allow_tangled: bool,
    /// Threads that orient and check; 0: one per core that this process may use. The mesh does not depend on it.
    pub threads: usize,
}

/// How many elements and faces stood the other way round and were turned over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flipped {
    /// Elements, in the order of [`Kind::ALL`].
    pub elements: [usize; 4],
    /// Boundary faces.
    pub faces: usize,
}

/// A mesh with what its file had to say.
#[derive(Debug)]
pub struct Loaded {
    /// The mesh.
    pub mesh: Mesh,
    /// The format of the file.
    pub format: Format,
    /// What was turned over.
    pub flipped: Flipped,
    /// What is wrong with the mesh.
    pub report: Report,
    /// Where everything stood.
    pub places: Provenance,
    /// What was left out or assumed.
    pub notes: Vec<String>,
}

/// A mesh as it stands in a file: two-dimensional or three-dimensional, in any orientation.
#[derive(Debug, Default)]
pub(crate) struct Raw {
    /// Nodes, elements and markers; for a two-dimensional file the triangles and quadrilaterals are in `flat`.
    pub(crate) mesh: Mesh,
    pub(crate) flat: Option<Flat>,
    pub(crate) places: Provenance,
    pub(crate) notes: Vec<String>,
    /// The format numbers its nodes by tags: unused ones are ordinary and dropped.
    pub(crate) drop_unused: bool,
}

/// A two-dimensional mesh; its places are those of the prisms and hexahedra that it becomes.
#[derive(Debug, Default)]
pub(crate) struct Flat {
    pub(crate) triangles: Vec<[u32; 3]>,
    pub(crate) quads: Vec<[u32; 4]>,
    /// Boundary edges of each marker; their places are those of the marker's quadrilaterals.
    pub(crate) edges: Vec<Vec<[u32; 2]>>,
}

impl Flat {
    pub(crate) fn polygons(&self) -> impl Iterator<Item = &[u32]> {
        self.triangles.iter().map(|e| e.as_slice()).chain(self.quads.iter().map(|e| e.as_slice()))
    }
}

impl Raw {
    /// Calls node i of elements `new(i)`; it has no faces yet.
    pub(crate) fn renumber(&mut self, new: impl Fn(u32) -> u32) {
        if let Some(flat) = &mut self.flat {
            let lists = [flat.triangles.as_flattened_mut(), flat.quads.as_flattened_mut()];
            lists.into_iter().flatten().for_each(|i| *i = new(*i));
        }
        self.mesh.renumber(new);
    }

    /// A mesh that is known already.
    pub(crate) fn of_mesh(mesh: Mesh) -> Self {
        let mut raw = Self { mesh, ..Self::default() };
        raw.places.markers = vec![MarkerPlaces::default(); raw.mesh.markers.len()];
        raw
    }

    /// Adds an element.
    pub(crate) fn push(&mut self, kind: Kind, nodes: &[u32], place: u64) {
        let m = &mut self.mesh;
        match kind {
            Kind::Tetrahedron => m.tets.push(std::array::from_fn(|i| nodes[i])),
            Kind::Pyramid => m.pyramids.push(std::array::from_fn(|i| nodes[i])),
            Kind::Prism => m.prisms.push(std::array::from_fn(|i| nodes[i])),
            Kind::Hexahedron => m.hexes.push(std::array::from_fn(|i| nodes[i])),
        }
        self.places.elements[kind as usize].push(place);
    }

    /// Adds a triangle or a quadrilateral of a two-dimensional mesh.
    pub(crate) fn push_flat(&mut self, nodes: &[u32], place: u64) {
        let flat = self.flat.get_or_insert_default();
        let kind = if let [a, b, c] = *nodes {
            flat.triangles.push([a, b, c]);
            Kind::Prism
        } else {
            flat.quads.push([nodes[0], nodes[1], nodes[2], nodes[3]]);
            Kind::Hexahedron
        };
        self.places.elements[kind as usize].push(place);
    }

    /// Starts a marker and gives its number.
    pub(crate) fn marker(&mut self, name: String, code: Option<i32>) -> usize {
        self.mesh.markers.push(Marker { name, code, ..Marker::default() });
        self.places.markers.push(MarkerPlaces::default());
        if let Some(flat) = &mut self.flat {
            flat.edges.push(Vec::new());
        }
        self.mesh.markers.len() - 1
    }

    /// Adds a boundary face of three or four nodes, or of a two-dimensional mesh an edge.
    pub(crate) fn face(&mut self, marker: usize, nodes: &[u32], place: u64) {
        let (m, p) = (&mut self.mesh.markers[marker], &mut self.places.markers[marker]);
        if let (&[a, b], Some(flat)) = (nodes, &mut self.flat) {
            flat.edges[marker].push([a, b]);
            p.quads.push(place);
            return;
        }
        if let [a, b, c] = *nodes {
            m.triangles.push([a, b, c]);
            p.triangles.push(place);
        } else {
            m.quads.push([nodes[0], nodes[1], nodes[2], nodes[3]]);
            p.quads.push(place);
        }
    }

    /// Lays a two-dimensional mesh of the nodes `used`, which lies in any plane of two axes, into that of x and y, whose depth is the third.
    ///
    /// # Errors
    /// [`MeshError::Unsupported`] of a surface in space.
    pub(crate) fn lay_flat(&mut self, used: impl Iterator<Item = u32>, path: &Path) -> Result<(), MeshError> {
        let nodes = &self.mesh.nodes;
        let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        for point in used.filter_map(|n| nodes.get(n as usize)) {
            for c in 0..3 {
                (low[c], high[c]) = (low[c].min(point[c]), high[c].max(point[c]));
            }
        }
        let size: [f64; 3] = std::array::from_fn(|c| high[c] - low[c]);
        let extent = size.into_iter().fold(0.0, f64::max);
        let Some(thin) = [2, 1, 0].into_iter().find(|&c| size[c] <= 1e-9 * extent) else {
            let what = format!(
                "no cell fills the volume, and triangles and quadrilaterals lie at x from {} to {}, y from {} to {}, z from {} to {}: a surface. A mesh \
                 has tetrahedra, pyramids, prisms or hexahedra; a planar one lies in the plane of two axes",
                low[0], high[0], low[1], high[1], low[2], high[2]
            );
            return Err(MeshError::unsupported(path, what));
        };
        if thin != 2 {
            let first = 1 - thin;
            self.mesh.nodes.iter_mut().for_each(|x| *x = [x[first], x[2], 0.0]);
            let name = ["x", "y"];
            let (thin, first) = (name[thin], name[first]);
            self.notes.push(format!(
                "the mesh lies in a plane {thin} = const: its {first} and z are x and y of the planar mesh that is made of it"
            ));
        }
        Ok(())
    }

    /// See [`ReadOptions::merge`]; the nodes that are left over are unused.
    fn merge(&mut self) {
        let kept = Groups::of_places(&self.mesh.nodes).all_lowest();
        let merged = (0..).zip(&kept).filter(|(n, to)| *n != **to).count();
        let new = |n: u32| kept.get(n as usize).copied().unwrap_or(n);
        self.mesh.renumber(new);
        if let Some(flat) = &mut self.flat {
            flat.triangles.iter_mut().flatten().for_each(|n| *n = new(*n));
            flat.quads.iter_mut().flatten().for_each(|n| *n = new(*n));
            flat.edges.iter_mut().flatten().flatten().for_each(|n| *n = new(*n));
        }
        self.drop_unused = true;
        self.notes.push(format!("{merged} nodes stood at the places of others and are one with them"));
    }

    /// Adds what stands behind it in a file in space, of the same markers.
    pub(crate) fn append(&mut self, other: Self) {
        let (m, o, p, q) = (&mut self.mesh, other.mesh, &mut self.places, other.places);
        m.nodes.extend(o.nodes);
        m.tets.extend(o.tets);
        m.pyramids.extend(o.pyramids);
        m.prisms.extend(o.prisms);
        m.hexes.extend(o.hexes);
        for (own, more) in m.markers.iter_mut().zip(o.markers) {
            own.triangles.extend(more.triangles);
            own.quads.extend(more.quads);
        }
        p.nodes.append(&q.nodes);
        p.elements.iter_mut().zip(&q.elements).for_each(|(own, more)| own.append(more));
        for (own, more) in p.markers.iter_mut().zip(q.markers) {
            own.triangles.append(&more.triangles);
            own.quads.append(&more.quads);
        }
    }

    /// Forgets all but one of everything, and what notes say.
    pub(crate) fn forget(&mut self) {
        let m = &mut self.mesh;
        m.nodes.clear();
        m.tets.truncate(1);
        m.pyramids.truncate(1);
        m.prisms.truncate(1);
        m.hexes.truncate(1);
        for marker in &mut m.markers {
            marker.triangles.truncate(1);
            marker.quads.truncate(1);
        }
        let markers = vec![MarkerPlaces::default(); m.markers.len()];
        self.places = Provenance { markers, ..Provenance::default() };
    }

    /// Makes the mesh: third dimension, orientation, checks.
    pub(crate) fn finish(
        mut self,
        path: &Path,
        format: Format,
        options: &ReadOptions,
    ) -> Result<Loaded, MeshError> {
        let threads = threads(options.threads);
        if options.merge {
            self.merge();
        }
        if let Some(flat) = self.flat.take() {
            self.places.nodes_2d = self.mesh.nodes.len();
            let depth = options.depth.unwrap_or(1.0);
            check_depth(depth)?;
            extrude(&mut self.mesh, &flat, depth);
        }
        if self.mesh.elements() == 0 {
            return Err(MeshError::unsupported(
                path,
                "no elements that fill a volume or a plane (a surface mesh?)".to_owned(),
            ));
        }
        let mut checker = Checker {
            mesh: &self.mesh,
            places: Some(&self.places),
            report: Report::default(),
            threads,
            judged: None,
        };
        if !checker.indices() {
            return Err(MeshError::Broken { path: path.to_owned(), report: Box::new(checker.report) });
        }
        if self.drop_unused || options.drop_unused {
            let dropped = drop_unused(&mut self.mesh, &mut self.places);
            if dropped > 0 {
                self.notes.push(format!("{dropped} nodes that no element has were dropped"));
            }
        }
        let mut flipped = Flipped::default();
        let doubtful = orient_elements(&mut self.mesh, &mut flipped, threads);
        let mut report = markers_of(&self.mesh);
        let mut checker =
            Checker { judged: None, mesh: &self.mesh, places: Some(&self.places), report, threads };
        checker.volumes(Some(&doubtful));
        let pass = checker.faces();
        report = checker.report;
        turn_over(&mut self.mesh, &pass.tangled);
        let mut turned = pass.turned;
        if !pass.tangled.is_empty() {
            let mut checker =
                Checker { judged: None, mesh: &self.mesh, places: Some(&self.places), report, threads };
            turned = checker.second_look(options.allow_tangled);
            report = checker.report;
        }
        if options.allow_tangled && !pass.tangled.is_empty() {
            let n = pass.tangled.len();
            self.notes.push(format!("{n} elements lie inside out and keep a negative volume"));
            report.forgive(Defect::NegativeVolume);
            report.forgive(Defect::DuplicateElement);
        }
        flipped.faces = turned.len();
        orient_faces(&mut self.mesh, turned);
        drop_interior(&mut self, &pass.interior, &mut report);
        if report.errors() == 0 {
            super::periodic::pair_by_code(&mut self.mesh);
        }
        report.in_plane(self.mesh.planar);
        if report.errors() == 0 && matches!(format, Format::Ugrid | Format::UgridBinary(_)) {
            self.mesh.planar = layer(&self.mesh);
            if self.mesh.planar.is_some() {
                let [front, back] = [Planar::FRONT, Planar::BACK];
                self.notes.push(format!("one layer between `{front}` and `{back}`: a planar mesh"));
            }
        }
        let Self { mesh, places, notes, .. } = self;
        Ok(Loaded { mesh, format, flipped, report, places, notes })
    }
}

/// What a planar mesh that was written in space, as UGRID files have it, has kept of itself: its two planes, node above node and corner above corner.
fn layer(mesh: &Mesh) -> Option<Planar> {
    let (n, depth) = (mesh.nodes.len() / 2, mesh.nodes.last()?[2]);
    let kept = mesh.tets.is_empty()
        && mesh.pyramids.is_empty()
        && 2 * n == mesh.nodes.len()
        && depth > 0.0
        && [Planar::FRONT, Planar::BACK].iter().all(|plane| mesh.markers.iter().any(|m| m.name == *plane));
    let (low, high) = mesh.nodes.split_at(n);
    let above = |(low, high): (&[f64; 3], &[f64; 3])| low[2] == 0.0 && *high == [low[0], low[1], depth];
    let stands = |corners: &[u32]| {
        let (low, high) = corners.split_at(corners.len() / 2);
        low.iter().zip(high).all(|(&low, &high)| (low as usize) < n && high as usize == low as usize + n)
    };
    (kept
        && low.iter().zip(high).all(above)
        && mesh.prisms.iter().all(|prism| stands(prism))
        && mesh.hexes.iter().all(|hex| stands(hex)))
    .then_some(Planar { nodes_2d: n, depth })
}

/// Turns over elements of negative volume; of each type those whose volume was not clearly positive before.
pub(crate) fn orient_elements(mesh: &mut Mesh, flipped: &mut Flipped, threads: usize) -> [Vec<u32>; 4] {
    let depth = mesh.planar.map(|planar| planar.depth);
    let nodes = std::mem::take(&mut mesh.nodes);
    let lists = [
        (Kind::Tetrahedron, mesh.tets.as_flattened_mut()),
        (Kind::Pyramid, mesh.pyramids.as_flattened_mut()),
        (Kind::Prism, mesh.prisms.as_flattened_mut()),
        (Kind::Hexahedron, mesh.hexes.as_flattened_mut()),
    ];
    let mut doubtful: [Vec<u32>; 4] = Default::default();
    for (kind, list) in lists {
        let (corners, count) = (kind.nodes(), list.len() / kind.nodes());
        let parts = parts(threads, count);
        let ends: Vec<usize> = (0..parts).map(|part| split(count, parts, part).end * corners).collect();
        let found = par::each_piece(list, &ends, |_, first, own| {
            let mut p = Vec::with_capacity(8);
            let (mut turned, mut doubtful) = (0, Vec::new());
            for (i, e) in (first / corners..).zip(own.chunks_exact_mut(corners)) {
                p.clear();
                p.extend(e.iter().map(|&i| nodes[i as usize]));
                let v = volume(kind, &p);
                let flat = is_flat(v, &p, depth);
                if v < 0.0 && !flat {
                    mirror(kind, e);
                    turned += 1;
                }
                if v < 0.0 || flat {
                    doubtful.push(i as u32);
                }
            }
            (turned, doubtful)
        });
        for (turned, own) in found {
            flipped.elements[kind as usize] += turned;
            doubtful[kind as usize].extend(own);
        }
    }
    mesh.nodes = nodes;
    doubtful
}

/// Turns elements (numbered over all types) inside out.
pub(crate) fn turn_over(mesh: &mut Mesh, elements: &[u32]) {
    let mut first = 0;
    for kind in Kind::ALL {
        let count = mesh.count(kind);
        let inside = |e: u32| (e as usize).checked_sub(first).filter(|&i| i < count);
        let mine: std::collections::HashSet<usize> = elements.iter().filter_map(|&e| inside(e)).collect();
        if !mine.is_empty() {
            mesh.each_of_mut(kind, |i, e| {
                if mine.contains(&i) {
                    mirror(kind, e);
                }
            });
        }
        first += count;
    }
}

/// Turns an element inside out.
pub(crate) fn mirror(kind: Kind, e: &mut [u32]) {
    let mut old = [0; 8];
    old[..e.len()].copy_from_slice(e);
    for (slot, &from) in e.iter_mut().zip(kind.mirror()) {
        *slot = old[from as usize];
    }
}

/// Turned faces come in no special order; each is found by its number over all markers.
pub(crate) fn orient_faces(mesh: &mut Mesh, turned: Vec<Turned>) {
    for t in turned {
        let (marker, corners, i, _) = mesh.boundary_face(t.face as usize);
        let m = &mut mesh.markers[marker];
        if corners == 3 {
            m.triangles[i] = [t.nodes[0], t.nodes[1], t.nodes[2]];
        } else {
            m.quads[i] = t.nodes;
        }
    }
}

/// Markers that lie wholly inside the domain (a named interface) are no boundary: left out with a note.
fn drop_interior(raw: &mut Raw, interior: &[u32], report: &mut Report) {
    let mut inside = vec![0; raw.mesh.markers.len()];
    for &f in interior {
        inside[raw.mesh.boundary_face(f as usize).0] += 1;
    }
    let whole: Vec<bool> = raw
        .mesh
        .markers
        .iter()
        .zip(&inside)
        .map(|(m, &n)| n > 0 && n == m.triangles.len() + m.quads.len())
        .collect();
    if !whole.contains(&true) {
        return;
    }
    for (m, _) in raw.mesh.markers.iter().zip(&whole).filter(|(_, w)| **w) {
        raw.notes.push(format!("marker {:?} lies inside the domain and was left out", m.name));
    }
    if (0..inside.len()).all(|k| inside[k] == 0 || whole[k]) {
        report.forgive(Defect::InteriorBoundary);
    }
    let mut keep = whole.iter();
    raw.mesh.markers.retain(|_| !keep.next().expect("one per marker"));
    let mut keep = whole.iter();
    raw.places.markers.retain(|_| !keep.next().expect("one per marker"));
}

fn drop_unused(mesh: &mut Mesh, places: &mut Provenance) -> usize {
    let n = mesh.nodes.len();
    let mut new = vec![u32::MAX; n];
    mesh.each_element(|_, _, e| e.iter().for_each(|&i| new[i as usize] = 0));
    let mut next = 0;
    for slot in new.iter_mut().filter(|s| **s == 0) {
        *slot = next;
        next += 1;
    }
    let dropped = n - next as usize;
    if dropped == 0 {
        return 0;
    }
    // A boundary face on a dropped node is no face of any element: it goes too.
    for kind in Kind::ALL {
        mesh.each_of_mut(kind, |_, e| e.iter_mut().for_each(|i| *i = new[*i as usize]));
    }
    for m in &mut mesh.markers {
        m.triangles.retain(|f| f.iter().all(|&i| new[i as usize] != u32::MAX));
        m.quads.retain(|f| f.iter().all(|&i| new[i as usize] != u32::MAX));
        m.triangles.iter_mut().flatten().for_each(|i| *i = new[*i as usize]);
        m.quads.iter_mut().flatten().for_each(|i| *i = new[*i as usize]);
    }
    let mut kept = super::Places::default();
    let old = places.nodes_2d.max(1);
    let flat = places.nodes_2d > 0;
    for i in (0..n).filter(|&i| new[i] != u32::MAX && (!flat || i < old)) {
        kept.push(places.nodes.get(i).unwrap_or(0));
    }
    let mut slot = 0;
    mesh.nodes.retain(|_| {
        slot += 1;
        new[slot - 1] != u32::MAX
    });
    places.nodes = kept;
    if let Some(planar) = &mut mesh.planar {
        planar.nodes_2d = mesh.nodes.len() / 2;
        places.nodes_2d = planar.nodes_2d;
    }
    dropped
}

/// Gives a two-dimensional mesh its third dimension, see [`Planar`].
pub(crate) fn extrude(mesh: &mut Mesh, flat: &Flat, depth: f64) {
    let n = mesh.nodes.len();
    let up = |i: u32| i.saturating_add(n as u32);
    mesh.nodes.iter_mut().for_each(|x| x[2] = 0.0);
    mesh.nodes.extend_from_within(..);
    mesh.nodes[n..].iter_mut().for_each(|x| x[2] = depth);
    mesh.prisms.extend(flat.triangles.iter().map(|&[a, b, c]| [a, b, c, up(a), up(b), up(c)]));
    mesh.hexes.extend(flat.quads.iter().map(|&[a, b, c, d]| [a, b, c, d, up(a), up(b), up(c), up(d)]));
    for (m, edges) in mesh.markers.iter_mut().zip(&flat.edges) {
        m.quads.extend(edges.iter().map(|&[a, b]| [a, b, up(b), up(a)]));
    }
    mesh.markers.extend(Planar::markers());
    mesh.fill_planes();
    mesh.planar = Some(Planar { nodes_2d: n, depth });
}

/// Whether a layer can have this depth.
pub(crate) fn check_depth(depth: f64) -> Result<(), MeshError> {
    if depth.is_finite() && depth > 0.0 {
        return Ok(());
    }
    Err(MeshError::Request(format!("the depth of a layer must be positive, not {depth}")))
}
