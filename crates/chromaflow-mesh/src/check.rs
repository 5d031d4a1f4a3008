//! Whether a mesh is one that a solver can use.

use super::faces::{self, HalfFace, face_nodes, same_turn};
use super::kind::{dot, mean, norm, sub};
use super::par::{self, parts, split, threads};
use super::{Defect, Finding, Kind, Mesh, Provenance, Report, Subject, topology, volume};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Checks everything that [`Report`] knows: node numbers, volumes, faces, duplicates, unused nodes, markers. Linear in the
/// size of the mesh. `places` (from [`super::load`]) lets findings say where the file has them.
///
/// Every face of an element must belong to a second element or to one boundary face.
pub fn check(mesh: &Mesh, places: Option<&Provenance>) -> Report {
    let mut checker = Checker { mesh, places, report: markers_of(mesh), threads: threads(0), judged: None };
    if checker.indices() {
        checker.volumes(None);
        let faces = checker.faces();
        for f in &faces.turned {
            checker.boundary(Defect::InwardBoundary, f.face, "its normal points into the domain");
        }
    }
    checker.report
}

/// Checks markers: their names, and whether they are empty.
pub fn check_markers<'a>(markers: impl Iterator<Item = (&'a str, bool)>) -> Report {
    let (mut report, mut seen) = (Report::default(), Vec::new());
    for (name, empty) in markers {
        let mut add = |defect: Defect, what: &str| {
            let (subject, what) = (Subject::Marker(name.to_owned()), what.to_owned());
            report.add(defect, || Finding { defect, subject, nodes: vec![], at: None, place: None, what });
        };
        if empty {
            add(Defect::EmptyMarker, "it has no faces");
        }
        if seen.contains(&name) {
            add(Defect::DuplicateMarker, "an earlier marker has the same name");
        }
        seen.push(name);
    }
    report
}

/// Checks the markers of a mesh.
pub(crate) fn markers_of(mesh: &Mesh) -> Report {
    check_markers(mesh.markers.iter().map(|m| (&*m.name, m.triangles.is_empty() && m.quads.is_empty())))
}

/// A boundary face whose order of nodes differs from its element's.
pub(crate) struct Turned {
    pub(crate) face: u32,
    pub(crate) nodes: [u32; 4],
}

#[derive(Default)]
pub(crate) struct FacePass {
    pub(crate) turned: Vec<Turned>,
    /// Boundary faces that lie between two elements.
    pub(crate) interior: Vec<u32>,
    /// Elements that lie inside out, numbered over all types.
    pub(crate) tangled: Vec<u32>,
}

/// Which elements and faces of a part are looked at, by their nodes.
type Judged<'a> = &'a dyn Fn(&[u32]) -> bool;

pub(crate) struct Checker<'a> {
    pub(crate) mesh: &'a Mesh,
    pub(crate) places: Option<&'a Provenance>,
    pub(crate) report: Report,
    pub(crate) threads: usize,
    /// In a part of a mesh, the elements and faces that are looked at, by their nodes.
    pub(crate) judged: Option<Judged<'a>>,
}

impl Checker<'_> {
    fn judges(&self, nodes: &[u32]) -> bool {
        self.judged.is_none_or(|judged| judged(nodes))
    }

    fn middle(&self, nodes: &[u32]) -> Option<[f64; 3]> {
        let points: Option<Vec<_>> =
            nodes.iter().map(|&i| self.mesh.nodes.get(i as usize).copied()).collect();
        points.filter(|p| !p.is_empty()).map(|p| mean(&p))
    }

    fn element(
        &mut self,
        defect: Defect,
        kind: Kind,
        i: usize,
        nodes: &[u32],
        what: impl FnOnce() -> String,
    ) {
        if !self.judges(nodes) {
            return;
        }
        let at = self.middle(nodes);
        let place = self.places.and_then(|p| p.element(kind, i));
        let subject = Subject::Element(kind, i);
        self.report.add(defect, || Finding {
            defect,
            subject,
            nodes: nodes.to_vec(),
            at,
            place,
            what: what(),
        });
    }

    fn node(&mut self, defect: Defect, i: usize, what: String) {
        let place = self.places.and_then(|p| p.node(i));
        let at = Some(self.mesh.nodes[i]);
        self.report.add(defect, || Finding {
            defect,
            subject: Subject::Node(i),
            nodes: vec![i as u32],
            at,
            place,
            what,
        });
    }

    fn boundary(&mut self, defect: Defect, face: u32, what: &str) {
        let (marker, corners, i, nodes) = self.mesh.boundary_face(face as usize);
        let nodes = nodes[..corners].to_vec();
        if !self.judges(&nodes) {
            return;
        }
        let at = self.middle(&nodes);
        let place = self.places.and_then(|p| p.face(marker, corners, i));
        let subject = Subject::Face(self.mesh.markers[marker].name.clone(), corners, i);
        self.report.add(defect, || Finding { defect, subject, nodes, at, place, what: what.to_owned() });
    }

    /// Node numbers and coordinates; false if the rest cannot be looked at.
    pub(crate) fn indices(&mut self) -> bool {
        let mesh = self.mesh;
        let n = mesh.nodes.len() as u32;
        let outside = move |nodes: &[u32]| nodes.iter().copied().find(|&i| i >= n);
        let twice =
            |nodes: &[u32]| (1..nodes.len()).find(|&k| nodes[..k].contains(&nodes[k])).map(|k| nodes[k]);
        // All threads look for anything wrong; what it is, one of them says.
        let parts = parts(self.threads, mesh.elements());
        let sound = par::each_part(parts, |part| {
            let sound = |nodes: &[u32]| outside(nodes).is_none() && twice(nodes).is_none();
            let own = &mesh.nodes[split(mesh.nodes.len(), parts, part)];
            own.as_flattened().iter().all(|c| c.is_finite())
                && topology::lists(mesh).into_iter().all(|(kind, list)| {
                    let (corners, range) = (kind.nodes(), split(mesh.count(kind), parts, part));
                    list[range.start * corners..range.end * corners].chunks_exact(corners).all(sound)
                })
        });
        let sound = !sound.contains(&false);
        let mut say = |kind: Kind, i: usize, nodes: &[u32]| {
            if let Some(bad) = outside(nodes) {
                self.element(Defect::WrongIndex, kind, i, nodes, || {
                    format!("node {bad} of {n} (they count from 0)")
                });
            } else if let Some(twice) = twice(nodes) {
                self.element(Defect::RepeatedNode, kind, i, nodes, || {
                    format!("node {twice} stands in it twice")
                });
            }
        };
        if !sound {
            mesh.each_element(&mut say);
        }
        for face in 0..mesh.boundary_faces() {
            let (_, corners, _, nodes) = mesh.boundary_face(face);
            if let Some(bad) = outside(&nodes[..corners]) {
                self.boundary(
                    Defect::WrongIndex,
                    face as u32,
                    &format!("node {bad} of {n} (they count from 0)"),
                );
            }
        }
        for (i, x) in mesh.nodes.iter().enumerate().filter(|_| !sound) {
            if x.iter().any(|c| !c.is_finite()) {
                self.node(Defect::NotFinite, i, format!("coordinates {} {} {}", x[0], x[1], x[2]));
            }
        }
        let bad = [Defect::WrongIndex, Defect::NotFinite, Defect::RepeatedNode];
        bad.iter().all(|&d| self.report.count(d) == 0)
    }

    /// Looks at the volumes of all elements, or of some of each type, and for nodes that no element has.
    pub(crate) fn volumes(&mut self, some: Option<&[Vec<u32>; 4]>) {
        let mesh = self.mesh;
        let (parts, depth) = (parts(self.threads, mesh.elements()), mesh.planar.map(|planar| planar.depth));
        let used: Vec<AtomicBool> = mesh.nodes.iter().map(|_| AtomicBool::new(false)).collect();
        par::each_part(parts, |part| {
            for (_, _, list) in topology::part_of(mesh, parts, part) {
                for used in list.iter().map(|&n| &used[n as usize]) {
                    // Most are known already: lines of memory stay with all threads.
                    if !used.load(Relaxed) {
                        used.store(true, Relaxed);
                    }
                }
            }
        });
        for kind in Kind::ALL {
            let some = some.map(|some| &some[kind as usize]);
            let count = some.map_or(mesh.count(kind), Vec::len);
            let bad = par::each_part(parts, |part| {
                let mut bad = Vec::new();
                let mut p = Vec::with_capacity(8);
                for i in split(count, parts, part).map(|k| some.map_or(k, |some| some[k] as usize)) {
                    p.clear();
                    p.extend(mesh.nodes_of(kind, i).iter().map(|&n| mesh.nodes[n as usize]));
                    let v = volume(kind, &p);
                    let flat = is_flat(v, &p, depth);
                    if v < 0.0 || flat {
                        bad.push((i, v, flat));
                    }
                }
                bad
            });
            for (i, v, flat) in bad.into_iter().flatten() {
                let nodes = mesh.nodes_of(kind, i);
                if flat {
                    self.element(Defect::ZeroVolume, kind, i, nodes, || format!("its volume is {v:.3e}"));
                } else {
                    self.element(Defect::NegativeVolume, kind, i, nodes, || format!("its volume is {v:.6e}"));
                }
            }
        }
        for i in (0..used.len()).filter(|&i| !used[i].load(Relaxed)) {
            self.node(Defect::UnusedNode, i, "no element has it".to_owned());
        }
    }

    /// Elements that have the same nodes, among those with these lowest nodes, which ascend.
    fn duplicates(&mut self, alike: &[u32]) {
        if alike.is_empty() {
            return;
        }
        let mesh = self.mesh;
        let sorted = |nodes: &[u32]| {
            let mut k = [u32::MAX; 8];
            k[..nodes.len()].copy_from_slice(nodes);
            k.sort_unstable();
            k
        };
        for kind in Kind::ALL {
            let mut found = Vec::new();
            mesh.each_of(kind, |e, nodes| {
                if nodes.iter().min().is_some_and(|low| alike.binary_search(low).is_ok()) {
                    found.push((sorted(nodes), e as u32));
                }
            });
            // The smallest node stands first.
            found.sort_unstable();
            for w in found.windows(2).filter(|w| w[0].0 == w[1].0) {
                let (first, e) = (w[0].1, w[1].1 as usize);
                self.element(Defect::DuplicateElement, kind, e, mesh.nodes_of(kind, e), || {
                    format!("{kind} {first} has the same nodes")
                });
            }
        }
    }

    /// Finds elements that stand twice, and matches all faces. Elements that overlap their neighbors, as one whose node was moved through its own face does,
    /// are reported as negative.
    pub(crate) fn faces(&mut self) -> FacePass {
        let mesh = self.mesh;
        let mut pass = FacePass::default();
        let mut conflicts = false;
        let odd = faces::odd(mesh, self.threads, true, |group| is_ordinary(mesh, group));
        self.duplicates(&odd.alike);
        for group in &odd.faces {
            let elements = group.iter().take_while(|h| !h.is_boundary()).count();
            let (inside, outside) = group.split_at(elements);
            match (inside, outside) {
                ([a, b], []) => match turns(mesh, *a, *b) {
                    Some(false) => {}
                    Some(true) => conflicts = true,
                    None => {
                        self.half(
                            Defect::NonManifold,
                            *a,
                            "a neighbor has this quadrilateral in another order",
                        );
                    }
                },
                ([a], [b]) => pass.turned.extend(differs(mesh, *a, *b)),
                ([a], []) => {
                    self.half(Defect::MissingBoundary, *a, "no neighbor and no boundary face on this face");
                }
                ([], loose) => {
                    for b in loose {
                        self.boundary(Defect::LooseBoundary, b.owner, "no element has this face");
                    }
                }
                ([_], doubled) => {
                    for b in &doubled[1..] {
                        self.boundary(
                            Defect::DoubleBoundary,
                            b.owner,
                            "another boundary face has the same nodes",
                        );
                    }
                }
                ([_, _], between) => {
                    for b in between {
                        self.boundary(Defect::InteriorBoundary, b.owner, "it lies between two elements");
                        pass.interior.push(b.owner);
                    }
                }
                (many, _) => {
                    let text = format!("{} elements share this face", many.len());
                    self.half(Defect::NonManifold, many[0], &text);
                }
            }
        }
        if conflicts {
            pass.tangled = self.tangled();
        }
        self.doubled();
        pass
    }

    /// Says of missing boundary faces that they are seams, where other nodes stand at the places of their corners.
    fn doubled(&mut self) {
        let nodes = &self.mesh.nodes;
        let open = self.report.findings.iter_mut().filter(|f| f.defect == Defect::MissingBoundary);
        for finding in open {
            let size =
                finding.nodes.iter().map(|&n| norm(sub(nodes[n as usize], nodes[finding.nodes[0] as usize])));
            let near = 1e-6 * size.fold(0.0, f64::max);
            let twin = |n: &u32| {
                let at = nodes[*n as usize];
                (0..).zip(nodes).any(|(m, x)| m != *n && norm(sub(*x, at)) <= near)
            };
            if finding.nodes.iter().all(twin) {
                finding.what +=
                    "; other nodes stand at its corners: a seam that `chromaflow mesh convert --merge` joins";
            }
        }
    }

    fn half(&mut self, defect: Defect, h: HalfFace, what: &str) {
        let (kind, i, nodes) = self.mesh.element(h.owner as usize);
        let (face, corners) = face_nodes(kind, nodes, h.local);
        self.element(defect, kind, i, &face[..corners], || what.to_owned());
    }

    /// Elements of positive volume whose faces turn the same way as their neighbors': one of the two lies inside out. Splits
    /// the elements into two classes (agreeing neighbors in the same, disagreeing ones in the other) and reports the smaller.
    fn tangled(&mut self) -> Vec<u32> {
        let mut found = Vec::new();
        let mesh = self.mesh;
        let mut classes = Parity::new(mesh.elements());
        let inside = |group: &[HalfFace]| matches!(group, [_, b] if !b.is_boundary());
        let pairs = faces::odd(mesh, self.threads, false, |group| !inside(group)).faces;
        let pairs = pairs.iter().filter_map(|group| match group[..] {
            [a, b] if !b.is_boundary() => turns(mesh, a, b).map(|differ| (a, b, differ)),
            _ => None,
        });
        // Those that agree first: an element with nodes in a wrong order, which agrees with some neighbors and not with others,
        // then turns none of them over.
        let (apart, alike): (Vec<_>, Vec<_>) = pairs.partition(|&(_, _, differ)| differ);
        for (a, b, differ) in alike.into_iter().chain(apart) {
            if !classes.join(a.owner, b.owner, differ) {
                self.half(Defect::NonManifold, a, CROSSED);
            }
        }
        let mut size = vec![[0u32; 2]; mesh.elements()];
        for e in 0..mesh.elements() {
            let (root, side) = classes.find(e as u32);
            size[root as usize][usize::from(side)] += 1;
        }
        for e in 0..mesh.elements() {
            let (root, side) = classes.find(e as u32);
            let [zero, one] = size[root as usize];
            let (mine, other) = if side { (one, zero) } else { (zero, one) };
            if mine < other || (mine == other && side) {
                found.push(e as u32);
                let (kind, i, nodes) = mesh.element(e);
                self.element(Defect::NegativeVolume, kind, i, nodes, || {
                    let p: Vec<_> = nodes.iter().map(|&n| mesh.nodes[n as usize]).collect();
                    let v = volume(kind, &p);
                    format!("inside out: seen with its neighbors' orientation its volume is {:.6e}", -v.abs())
                });
            }
        }
        found
    }

    /// Looks at the faces again after tangled elements were turned to their neighbors' orientation: which boundary faces turn
    /// the other way than their element, and, where folds are `allowed`, which faces of many elements do not cancel in pairs.
    pub(crate) fn second_look(&mut self, allowed: bool) -> Vec<Turned> {
        let mesh = self.mesh;
        let mut turned = Vec::new();
        if allowed {
            self.report.forgive(Defect::NonManifold);
        }
        for group in &faces::odd(mesh, self.threads, true, |group| is_ordinary(mesh, group)).faces {
            let elements = group.iter().take_while(|h| !h.is_boundary()).count();
            if let ([a], [b]) = group.split_at(elements) {
                turned.extend(differs(mesh, *a, *b));
            } else if let ([a, b], true) = (&group[..], allowed && elements == 2) {
                if turns(mesh, *a, *b) == Some(true) {
                    self.half(Defect::NonManifold, *a, CROSSED);
                }
            } else if allowed && elements > 2 {
                let same =
                    group[..elements].iter().filter(|&&h| turns(mesh, group[0], h) == Some(true)).count();
                if 2 * same != elements {
                    self.half(Defect::NonManifold, group[0], &format!("{elements} elements share this face"));
                }
            }
        }
        turned
    }
}

/// Of a face that stays in dispute whichever of its elements are turned over.
const CROSSED: &str = "its two elements lie on the same side of it, and turning one over brings it against other neighbors: nodes of one of them stand in \
                       a wrong order";

/// Whether a face joins two elements that agree on it, or an element and a boundary face.
pub(crate) fn is_ordinary(mesh: &Mesh, group: &[HalfFace]) -> bool {
    match group {
        [a, b] if b.is_boundary() => !a.is_boundary() && differs(mesh, *a, *b).is_none(),
        [a, b] => turns(mesh, *a, *b) == Some(false),
        _ => false,
    }
}

/// The boundary face `b`, if it turns another way than the face `a` of its element.
fn differs(mesh: &Mesh, a: HalfFace, b: HalfFace) -> Option<Turned> {
    let (kind, _, nodes) = mesh.element(a.owner as usize);
    let (face, corners) = face_nodes(kind, nodes, a.local);
    let (_, _, _, have) = mesh.boundary_face(b.owner as usize);
    let same = same_turn(&face[..corners], &have[..corners]) == Some(true);
    (!same).then_some(Turned { face: b.owner, nodes: face })
}

fn turns(mesh: &Mesh, a: HalfFace, b: HalfFace) -> Option<bool> {
    let nodes = |h: HalfFace| {
        let (kind, _, nodes) = mesh.element(h.owner as usize);
        face_nodes(kind, nodes, h.local)
    };
    let ((fa, n), (fb, _)) = (nodes(a), nodes(b));
    same_turn(&fa[..n], &fb[..n])
}

/// Whether a volume is nothing but rounding, for an element with the corners `p`; of a layer `depth` thick, which may be far from the size of
/// its cells, whether the area is.
pub(crate) fn is_flat(volume: f64, p: &[[f64; 3]], depth: Option<f64>) -> bool {
    let inside = if depth.is_some() { [1.0, 1.0, 0.0] } else { [1.0; 3] };
    let along = |x: &[f64; 3]| std::array::from_fn(|d| inside[d] * (x[d] - p[0][d]));
    let square = p[1..].iter().map(along).map(|d: [f64; 3]| dot(d, d)).fold(0.0, f64::max);
    volume.abs() <= 1e-15 * square * depth.unwrap_or_else(|| square.sqrt())
}

/// Union-find with a parity: which of two classes each member is in, relative to its root.
struct Parity {
    parent: Vec<u32>,
    flip: Vec<bool>,
}

impl Parity {
    fn new(n: usize) -> Self {
        Self { parent: (0..n as u32).collect(), flip: vec![false; n] }
    }

    fn find(&mut self, e: u32) -> (u32, bool) {
        let (mut root, mut side) = (e, false);
        while self.parent[root as usize] != root {
            side ^= self.flip[root as usize];
            root = self.parent[root as usize];
        }
        let (mut at, mut rest) = (e, side);
        while self.parent[at as usize] != at {
            let (next, flip) = (self.parent[at as usize], self.flip[at as usize]);
            (self.parent[at as usize], self.flip[at as usize]) = (root, rest);
            rest ^= flip;
            at = next;
        }
        (root, side)
    }

    /// Whether this goes with what is known of them.
    fn join(&mut self, a: u32, b: u32, differ: bool) -> bool {
        let ((ra, sa), (rb, sb)) = (self.find(a), self.find(b));
        if ra == rb {
            return sa ^ sb == differ;
        }
        let (low, high) = (ra.min(rb), ra.max(rb));
        self.parent[high as usize] = low;
        self.flip[high as usize] = sa ^ sb ^ differ;
        true
    }
}
