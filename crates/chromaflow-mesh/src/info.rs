//! What a mesh is like: counts, sizes, quality, neighbors.

use super::kind::{cross, dot, mean, norm, sub};
use super::{Defect, Finding, Kind, Mesh, Provenance, Report, Subject, par, topology, volume};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Smallest, mean and largest of something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Smallest.
    pub min: f64,
    /// Mean.
    pub mean: f64,
    /// Largest.
    pub max: f64,
}

/// Gathers a [`Range`].
#[derive(Clone, Copy)]
struct Gather {
    min: f64,
    sum: f64,
    max: f64,
    count: usize,
}

impl Gather {
    const NEW: Self = Self { min: f64::INFINITY, sum: 0.0, max: f64::NEG_INFINITY, count: 0 };

    fn add(&mut self, x: f64) {
        self.min = self.min.min(x);
        self.max = self.max.max(x);
        self.sum += x;
        self.count += 1;
    }

    fn join(&mut self, other: &Self) {
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum += other.sum;
        self.count += other.count;
    }

    fn range(&self) -> Option<Range> {
        (self.count > 0).then(|| Range { min: self.min, mean: self.sum / self.count as f64, max: self.max })
    }
}

/// The shortest and the longest edge of elements at each node, infinity and 0 where there is none; of a planar mesh at the nodes of its
/// plane, and of edges in it. On so many threads, on whose number nothing depends.
///
/// **Units**: the mesh's.
///
/// ```
/// use chromaflow_mesh::edge_lengths;
/// use chromaflow_mesh::generate::{Cells, box_mesh};
/// let plates = box_mesh([1; 3], [8.0, 8.0, 1.0], Cells::Hexes, 0.0);
/// assert_eq!(edge_lengths(&plates, 2), [[1.0, 8.0]; 8]);
/// ```
pub fn edge_lengths(mesh: &Mesh, threads: usize) -> Vec<[f64; 2]> {
    let nodes = mesh.planar.map_or(mesh.nodes.len(), |planar| planar.nodes_2d);
    // Squares, which have the order of their bits. An edge comes from each of its elements: that costs less than to tell edges apart.
    let none = || [f64::INFINITY, 0.0].map(|square| AtomicU64::new(square.to_bits()));
    let parts = par::parts(threads, mesh.elements());
    // Pieces of nodes, which all threads begin and end.
    let pieces = nodes.div_ceil(PIECE);
    let new = |piece: usize| {
        std::iter::repeat_with(none).take(PIECE.min(nodes - piece * PIECE)).collect::<Vec<_>>()
    };
    let ends = par::each_part(parts, |part| par::split(pieces, parts, part).map(new).collect::<Vec<_>>());
    let ends: Vec<Vec<[AtomicU64; 2]>> = ends.into_iter().flatten().collect();
    par::each_part(parts, |part| {
        for (kind, list) in topology::lists(mesh) {
            let corners = kind.nodes();
            let range = par::split(list.len() / corners, parts, part);
            for element in list[range.start * corners..range.end * corners].chunks_exact(corners) {
                for &[a, b] in kind.edges() {
                    let [a, b] = [element[a] as usize, element[b] as usize];
                    if a == b || a.max(b) >= nodes {
                        continue;
                    }
                    let edge = sub(mesh.nodes[b], mesh.nodes[a]);
                    let square = dot(edge, edge).to_bits();
                    for [low, high] in [a, b].map(|n| &ends[n / PIECE][n % PIECE]) {
                        // Most change nothing.
                        if square < low.load(Relaxed) {
                            low.fetch_min(square, Relaxed);
                        }
                        if square > high.load(Relaxed) {
                            high.fetch_max(square, Relaxed);
                        }
                    }
                }
            }
        }
    });
    let lengths =
        |pair: &[AtomicU64; 2]| pair.each_ref().map(|square| f64::from_bits(square.load(Relaxed)).sqrt());
    let found = par::each_part(parts, |part| {
        let own = &ends[par::split(pieces, parts, part)];
        own.iter().map(|piece| piece.iter().map(lengths).collect::<Vec<_>>()).collect::<Vec<_>>()
    });
    par::joined(parts, found.into_iter().flatten().collect())
}

/// Nodes of a piece.
const PIECE: usize = 1 << 14;

/// Elements of one type.
#[derive(Clone, Debug, PartialEq)]
pub struct KindInfo {
    /// The type.
    pub kind: Kind,
    /// How many.
    pub count: usize,
    /// Volumes, in the cube of the mesh's length unit.
    pub volume: Range,
    /// Scaled Jacobian: over an element's corners the smallest volume spanned by the three unit edges, divided by that of
    /// the regular element; 1 is best, 0 is flat, negative folded. **Source**: Knupp (2000), for hexahedra.
    pub scaled_jacobian: Range,
    /// Longest edge over shortest edge.
    pub aspect_ratio: Range,
}

/// One marker.
#[derive(Clone, Debug, PartialEq)]
pub struct MarkerInfo {
    /// Its name.
    pub name: String,
    /// Its boundary condition code.
    pub code: Option<i32>,
    /// The marker that it is periodic with, where the file says so.
    pub partner: Option<String>,
    /// Number of triangles.
    pub triangles: usize,
    /// Number of quadrilaterals.
    pub quads: usize,
    /// Sum of the areas, in the square of the mesh's length unit.
    pub area: f64,
}

/// What a mesh is like.
#[derive(Clone, Debug, PartialEq)]
pub struct Info {
    /// Number of nodes.
    pub nodes: usize,
    /// Number of edges.
    pub edges: usize,
    /// The types that occur.
    pub kinds: Vec<KindInfo>,
    /// Markers in the mesh's order.
    pub markers: Vec<MarkerInfo>,
    /// Smallest and largest coordinates.
    pub bounds: [[f64; 3]; 2],
    /// Sum of the volumes.
    pub volume: f64,
    /// Neighbors of a node over edges.
    pub neighbors: Range,
    /// Largest angle between the two halves of a quadrilateral, in degrees.
    pub warp: Option<f64>,
}

/// The volume that unit edges span in a corner of the regular element.
const fn ideal(kind: Kind) -> f64 {
    match kind {
        Kind::Tetrahedron | Kind::Pyramid => std::f64::consts::FRAC_1_SQRT_2,
        Kind::Prism => 0.866_025_403_784_438_6,
        Kind::Hexahedron => 1.0,
    }
}

/// Scaled Jacobian of an element with the corners `p`, see [`KindInfo::scaled_jacobian`].
pub fn scaled_jacobian(kind: Kind, p: &[[f64; 3]]) -> f64 {
    Corners::of(kind).scaled_jacobian(p, &lengths(kind, p))
}

/// Lengths of the edges of an element, in the order of [`Kind::edges`].
fn lengths(kind: Kind, p: &[[f64; 3]]) -> [f64; 12] {
    let mut lengths = [0.0; 12];
    for (length, &[a, b]) in lengths.iter_mut().zip(kind.edges()) {
        *length = norm(sub(p[a], p[b]));
    }
    lengths
}

/// The corners of elements of a type with the numbers of their edges.
struct Corners {
    all: Vec<([usize; 4], [usize; 3])>,
    ideal: f64,
}

impl Corners {
    fn of(kind: Kind) -> Self {
        let edge = |a: usize, b: usize| {
            kind.edges()
                .iter()
                .position(|e| *e == [a, b] || *e == [b, a])
                .expect("corners lie at ends of edges")
        };
        let with_edges = |&[o, a, b, c]: &[usize; 4]| ([o, a, b, c], [a, b, c].map(|k| edge(o, k)));
        Self { all: kind.corners().iter().map(with_edges).collect(), ideal: ideal(kind) }
    }

    fn scaled_jacobian(&self, p: &[[f64; 3]], lengths: &[f64; 12]) -> f64 {
        let at = |([o, a, b, c], edges): &([usize; 4], [usize; 3])| {
            let [a, b, c] = [a, b, c].map(|&k| sub(p[k], p[*o]));
            let lengths = lengths[edges[0]] * lengths[edges[1]] * lengths[edges[2]];
            if lengths > 0.0 { dot(cross(a, b), c) / lengths } else { 0.0 }
        };
        self.all.iter().map(at).fold(f64::INFINITY, f64::min) / self.ideal
    }
}

/// The element types of a sound mesh and the largest fold of a quadrilateral in degrees, on so many threads (0: one per core that this
/// process may use). Sums are over blocks of elements in their order, whatever the number of threads.
pub fn quality(mesh: &Mesh, threads: usize) -> (Vec<KindInfo>, Option<f64>) {
    let (mut kinds, mut warp) = (Vec::new(), None::<f64>);
    for (kind, list) in topology::lists(mesh) {
        let (corners, count) = (kind.nodes(), mesh.count(kind));
        let blocks = count.div_ceil(BLOCK);
        let parts = par::parts(par::threads(threads), count);
        let found = par::each_part(parts, |part| {
            let own = par::split(blocks, parts, part);
            own.map(|b| {
                of_block(mesh, kind, &list[b * BLOCK * corners..((b + 1) * BLOCK).min(count) * corners])
            })
            .collect::<Vec<_>>()
        });
        let (mut all, mut fold) = ([Gather::NEW; 3], f64::NEG_INFINITY);
        for (gathers, warp) in found.into_iter().flatten() {
            all.iter_mut().zip(&gathers).for_each(|(sum, part)| sum.join(part));
            fold = fold.max(warp);
        }
        if fold >= 0.0 {
            warp = Some(warp.map_or(fold, |w| w.max(fold)));
        }
        let [volumes, jacobians, aspects] = all;
        if let (Some(volume), Some(scaled_jacobian), Some(aspect_ratio)) =
            (volumes.range(), jacobians.range(), aspects.range())
        {
            kinds.push(KindInfo { kind, count: volumes.count, volume, scaled_jacobian, aspect_ratio });
        }
    }
    (kinds, warp)
}

/// Angle between the halves of a quadrilateral from which on it is folded over, in degrees.
const FOLDED: f64 = 90.0;

/// Scaled Jacobian below which an element is folded over: what rounding leaves of a corner that is flat is no fold.
const FLAT: f64 = -1e-6;

/// Whether elements of this [quality](quality) are folded over, as [`find_folded`] finds them.
pub fn has_folded((kinds, warp): &(Vec<KindInfo>, Option<f64>)) -> bool {
    kinds.iter().any(|kind| kind.scaled_jacobian.min < FLAT) || warp.is_some_and(|warp| warp > FOLDED)
}

/// Adds to a report the elements of a sound mesh that are folded over: whose scaled Jacobian is negative, or whose side has halves more than 90
/// degrees apart. On so many threads (0: one per core that this process may use), on whose number nothing depends.
///
/// ```
/// use chromaflow_mesh::generate::{Cells, box_mesh};
/// use chromaflow_mesh::{Defect, Report, find_folded, has_folded, quality};
/// let mut mesh = box_mesh([2; 3], [1.0; 3], Cells::Hexes, 0.0);
/// let mut report = Report::default();
/// find_folded(&mut report, &mesh, None, 0);
/// assert!(report.is_clean());
/// mesh.nodes[13] = [0.1, 0.1, 0.95]; // the node in the middle
/// find_folded(&mut report, &mesh, None, 0);
/// assert!(report.count(Defect::FoldedElement) > 0 && report.errors() == 0);
/// assert!(has_folded(&quality(&mesh, 0)));
/// ```
pub fn find_folded(report: &mut Report, mesh: &Mesh, places: Option<&Provenance>, threads: usize) {
    let parts = par::parts(par::threads(threads), mesh.elements());
    let found = par::each_part(parts, |part| {
        let (mut found, mut p) = (Vec::new(), Vec::with_capacity(8));
        for (kind, first, list) in topology::part_of(mesh, parts, part) {
            let corners = Corners::of(kind);
            for (number, e) in (first..).zip(list.chunks_exact(kind.nodes())) {
                p.clear();
                p.extend(e.iter().map(|&n| mesh.nodes[n as usize]));
                let jacobian = corners.scaled_jacobian(&p, &lengths(kind, &p));
                let warp = warp(kind, &p);
                if jacobian < FLAT || warp > FOLDED {
                    found.push((number, jacobian, warp));
                }
            }
        }
        found
    });
    // Types by types, as with one part.
    let mut found: Vec<_> = found.into_iter().flatten().collect();
    found.sort_by_key(|&(number, ..)| number);
    for (number, jacobian, warp) in found {
        let defect = Defect::FoldedElement;
        report.add(defect, || {
            let (kind, i, nodes) = mesh.element(number);
            let p: Vec<_> = nodes.iter().map(|&n| mesh.nodes[n as usize]).collect();
            let side = if warp > FOLDED {
                format!(", a side is warped by {warp:.0} degrees")
            } else {
                String::new()
            };
            Finding {
                defect,
                subject: Subject::Element(kind, i),
                nodes: nodes.to_vec(),
                at: Some(mean(&p)),
                place: places.and_then(|places| places.element(kind, i)),
                what: format!("its scaled Jacobian is {jacobian:.3}{side}"),
            }
        });
    }
    report.in_plane(mesh.planar);
}

/// Elements whose sums are formed at once.
const BLOCK: usize = 1 << 12;

/// Volumes, scaled Jacobians and aspect ratios of some elements, and the largest fold of a quadrilateral (less than 0: there is none).
fn of_block(mesh: &Mesh, kind: Kind, list: &[u32]) -> ([Gather; 3], f64) {
    let (mut volumes, mut jacobians, mut aspects) = (Gather::NEW, Gather::NEW, Gather::NEW);
    let (mut warp, mut p) = (f64::NEG_INFINITY, Vec::with_capacity(8));
    let (corners, edges) = (Corners::of(kind), kind.edges().len());
    for e in list.chunks_exact(kind.nodes()) {
        p.clear();
        p.extend(e.iter().map(|&i| mesh.nodes[i as usize]));
        volumes.add(volume(kind, &p));
        let lengths = lengths(kind, &p);
        jacobians.add(corners.scaled_jacobian(&p, &lengths));
        let longest = lengths[..edges].iter().fold(f64::NEG_INFINITY, |all, &length| all.max(length));
        let shortest = lengths[..edges].iter().fold(f64::INFINITY, |all, &length| all.min(length));
        aspects.add(longest / shortest);
        warp = warp.max(self::warp(kind, &p));
    }
    ([volumes, jacobians, aspects], warp)
}

/// Looks at a sound mesh (see [`super::check()`]); linear in its size.
pub fn info(mesh: &Mesh) -> Info {
    let (kinds, warp) = quality(mesh, 0);
    let total = kinds.iter().map(|k| k.volume.mean * k.count as f64).sum();
    let mut bounds = [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]];
    for x in &mesh.nodes {
        for d in 0..3 {
            bounds[0][d] = bounds[0][d].min(x[d]);
            bounds[1][d] = bounds[1][d].max(x[d]);
        }
    }
    let (edges, degrees) = degrees(mesh);
    let mut neighbors = Gather::NEW;
    for d in degrees {
        neighbors.add(f64::from(d));
    }
    Info {
        nodes: mesh.nodes.len(),
        edges,
        kinds,
        markers: mesh.markers.iter().map(|m| marker(mesh, m)).collect(),
        bounds,
        volume: total,
        neighbors: neighbors.range().unwrap_or(Range { min: 0.0, mean: 0.0, max: 0.0 }),
        warp,
    }
}

fn marker(mesh: &Mesh, m: &super::Marker) -> MarkerInfo {
    let at = |i: u32| mesh.nodes[i as usize];
    let triangle = |a, b, c| 0.5 * norm(cross(sub(b, a), sub(c, a)));
    let mut area = m.triangles.iter().map(|t| triangle(at(t[0]), at(t[1]), at(t[2]))).sum::<f64>();
    for q in &m.quads {
        let q = q.map(at);
        let g = mean(&q);
        area += (0..4).map(|i| triangle(q[i], q[(i + 1) % 4], g)).sum::<f64>();
    }
    let (triangles, quads) = (m.triangles.len(), m.quads.len());
    MarkerInfo { name: m.name.clone(), code: m.code, partner: m.partner.clone(), triangles, quads, area }
}

/// The largest fold of the quadrilaterals of an element with the corners `p` in degrees; less than 0 where it has none.
fn warp(kind: Kind, p: &[[f64; 3]]) -> f64 {
    let sides = kind.faces().iter().filter(|f| f.len() == 4);
    sides.map(|f| fold([0, 1, 2, 3].map(|i| p[f[i]]))).fold(f64::NEG_INFINITY, f64::max)
}

/// Angle between the two triangles of a quadrilateral, over the diagonal where it is larger, in degrees.
fn fold(q: [[f64; 3]; 4]) -> f64 {
    let angle = |[a, b, c, d]: [[f64; 3]; 4]| {
        let (m, n) = (cross(sub(b, a), sub(c, a)), cross(sub(c, a), sub(d, a)));
        norm(cross(m, n)).atan2(dot(m, n)).to_degrees()
    };
    angle(q).max(angle([q[1], q[2], q[3], q[0]]))
}

/// Number of edges, and of neighbors over edges of each node.
fn degrees(mesh: &Mesh) -> (usize, Vec<u32>) {
    let n = mesh.nodes.len();
    let each = |visit: &mut dyn FnMut(u32, u32)| {
        mesh.each_element(|kind, _, e| {
            for &[a, b] in kind.edges() {
                let (a, b) = (e[a], e[b]);
                visit(a.min(b), a.max(b));
            }
        });
    };
    // Buckets by the smaller node, once per element; then each edge once.
    let mut start = vec![0usize; n + 1];
    each(&mut |a, _| start[a as usize + 1] += 1);
    for i in 0..n {
        start[i + 1] += start[i];
    }
    let mut at = start.clone();
    let mut other = vec![0u32; start[n]];
    each(&mut |a, b| {
        other[at[a as usize]] = b;
        at[a as usize] += 1;
    });
    let (mut edges, mut degree) = (0, vec![0u32; n]);
    for a in 0..n {
        let bucket = &mut other[start[a]..start[a + 1]];
        bucket.sort_unstable();
        for same in bucket.chunk_by(|x, y| x == y) {
            edges += 1;
            degree[a] += 1;
            degree[same[0] as usize] += 1;
        }
    }
    (edges, degree)
}
