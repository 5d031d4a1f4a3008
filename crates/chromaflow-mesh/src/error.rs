//! What can be wrong with a mesh or its file.

#[cfg(test)]
mod tests;

use super::{Kind, Planar};
use chromaflow::files::FileError;
use std::fmt;
use std::path::{Path, PathBuf};

/// Where in a file something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Line of a text file, from 1.
    Line(u64),
    /// Offset of the first byte in a binary file (after decompression), from 0.
    Byte(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(n) => write!(f, "line {n}"),
            Self::Byte(n) => write!(f, "byte {n}"),
        }
    }
}

/// A mesh that cannot be read, written or used.
#[derive(Debug, thiserror::Error)]
pub enum MeshError {
    /// The system refused.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file does not follow its format.
    #[error("{}: {place}: {what}; mend it there, or copy or write the file anew", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Where in it.
        place: Place,
        /// What was expected, what was found.
        what: String,
    },
    /// A file that is well formed, perhaps, but not for us.
    #[error("{}: {what}", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What is not supported, and the remedy.
        what: String,
    },
    /// The mesh itself is broken.
    #[error("{}: {report}", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// Everything that was found.
        report: Box<Report>,
    },
    /// A request that makes no sense, with the remedy.
    #[error("{0}")]
    Request(String),
}

impl MeshError {
    pub(crate) fn unsupported(path: &Path, what: impl Into<String>) -> Self {
        Self::Unsupported { path: path.to_owned(), what: what.into() }
    }
}

/// Kinds of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Defect {
    /// A node number outside the list of nodes.
    WrongIndex,
    /// A coordinate that is not a finite number.
    NotFinite,
    /// An element that names one node twice.
    RepeatedNode,
    /// An element of no volume.
    ZeroVolume,
    /// An element with a negative volume: tangled with its neighbors, not just numbered the other way round.
    NegativeVolume,
    /// The face of an element has neither a neighbor nor a boundary face.
    MissingBoundary,
    /// A boundary face that is the face of no element.
    LooseBoundary,
    /// A boundary face between two elements.
    InteriorBoundary,
    /// Two boundary faces on the same nodes.
    DoubleBoundary,
    /// A boundary face whose normal points into the domain.
    InwardBoundary,
    /// A face of three or more elements, or two that see its quadrilateral in different orders.
    NonManifold,
    /// Two elements of the same nodes.
    DuplicateElement,
    /// A node of no element.
    UnusedNode,
    /// A marker without faces.
    EmptyMarker,
    /// Two markers of the same name.
    DuplicateMarker,
    /// An element of positive volume that is folded over at a corner or in a side.
    FoldedElement,
}

impl Defect {
    /// All kinds.
    pub const ALL: [Self; 16] = [
        Self::WrongIndex,
        Self::NotFinite,
        Self::RepeatedNode,
        Self::ZeroVolume,
        Self::NegativeVolume,
        Self::MissingBoundary,
        Self::LooseBoundary,
        Self::InteriorBoundary,
        Self::DoubleBoundary,
        Self::InwardBoundary,
        Self::NonManifold,
        Self::DuplicateElement,
        Self::UnusedNode,
        Self::EmptyMarker,
        Self::DuplicateMarker,
        Self::FoldedElement,
    ];

    /// Whether a flow solver can live with it.
    pub const fn is_warning(self) -> bool {
        matches!(self, Self::EmptyMarker | Self::FoldedElement)
    }

    /// A name for scripts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WrongIndex => "wrong_index",
            Self::NotFinite => "not_finite",
            Self::RepeatedNode => "repeated_node",
            Self::ZeroVolume => "zero_volume",
            Self::NegativeVolume => "negative_volume",
            Self::MissingBoundary => "missing_boundary",
            Self::LooseBoundary => "loose_boundary",
            Self::InteriorBoundary => "interior_boundary",
            Self::DoubleBoundary => "double_boundary",
            Self::InwardBoundary => "inward_boundary",
            Self::NonManifold => "non_manifold",
            Self::DuplicateElement => "duplicate_element",
            Self::UnusedNode => "unused_node",
            Self::EmptyMarker => "empty_marker",
            Self::DuplicateMarker => "duplicate_marker",
            Self::FoldedElement => "folded_element",
        }
    }

    /// What the user can do about it.
    const fn remedy(self) -> &'static str {
        match self {
            Self::WrongIndex => "the file is damaged or counts nodes from another base",
            Self::NotFinite => "the file is damaged",
            Self::RepeatedNode => "collapsed elements must be written as the type that they are",
            Self::ZeroVolume | Self::NegativeVolume | Self::FoldedElement => "smooth or remesh around it",
            Self::MissingBoundary => "give every outer face a marker",
            Self::LooseBoundary => "remove the face, or add the element it belongs to",
            Self::InteriorBoundary | Self::DoubleBoundary => "remove the extra face",
            Self::InwardBoundary => "reverse the order of its nodes",
            Self::NonManifold => "remove the extra element, or put the nodes in order",
            Self::DuplicateElement => "remove the extra element",
            Self::UnusedNode => "drop them with `chromaflow mesh convert --drop-unused`",
            Self::EmptyMarker => "remove the marker",
            Self::DuplicateMarker => "rename one",
        }
    }
}

/// What a finding is about; numbers count from 0 within their list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// An element.
    Element(Kind, usize),
    /// A node.
    Node(usize),
    /// A face of the marker of this name: its number in the list of triangles (3) or quadrilaterals (4).
    Face(String, usize, usize),
    /// A marker as a whole.
    Marker(String),
    /// A triangle (3) or quadrilateral (4) of a planar mesh.
    Cell(usize, usize),
}

/// Corners of the faces of markers of a planar mesh.
const EDGE: usize = 2;

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Element(kind, i) => write!(f, "{kind} {i}"),
            Self::Node(i) => write!(f, "node {i}"),
            Self::Face(name, EDGE, i) => write!(f, "marker {name:?}, edge {i}"),
            Self::Face(name, 3, i) => write!(f, "marker {name:?}, triangle {i}"),
            Self::Face(name, _, i) => write!(f, "marker {name:?}, quadrilateral {i}"),
            Self::Marker(name) => write!(f, "marker {name:?}"),
            Self::Cell(3, i) => write!(f, "triangle {i}"),
            Self::Cell(_, i) => write!(f, "quadrilateral {i}"),
        }
    }
}

/// One thing wrong with a mesh.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Which kind.
    pub defect: Defect,
    /// What it is about.
    pub subject: Subject,
    /// The nodes concerned, from 0.
    pub nodes: Vec<u32>,
    /// A point in space, where there is one: the mean of the nodes.
    pub at: Option<[f64; 3]>,
    /// Where the file says it.
    pub place: Option<Place>,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = self.place {
            write!(f, "{place}: ")?;
        }
        write!(f, "{}", self.subject)?;
        if !self.nodes.is_empty() {
            write!(f, " (nodes")?;
            for n in &self.nodes {
                write!(f, " {n}")?;
            }
            if let Some([x, y, z]) = self.at {
                write!(f, " at {} {}", short(x), short(y))?;
                if !matches!(self.subject, Subject::Cell(..) | Subject::Face(_, EDGE, _)) {
                    write!(f, " {}", short(z))?;
                }
            }
            write!(f, ")")?;
        }
        write!(f, ": {}", self.what)
    }
}

/// A coordinate, readable whatever the unit of length.
pub(crate) fn short(x: f64) -> String {
    if x == 0.0 || (1e-3..1e7).contains(&x.abs()) { format!("{x:.6}") } else { format!("{x:.6e}") }
}

impl Subject {
    /// By types, then by numbers.
    fn order(&self) -> (usize, &str, usize, usize) {
        match self {
            Self::Element(kind, i) => (0, "", *kind as usize, *i),
            Self::Face(name, corners, i) => (1, name, *corners, *i),
            Self::Node(i) => (2, "", 0, *i),
            Self::Marker(name) => (3, name, 0, 0),
            Self::Cell(corners, i) => (4, "", *corners, *i),
        }
    }
}

impl Finding {
    /// As checks find them: what is wrong with faces by their nodes, all else by elements, faces and nodes.
    fn order(&self) -> (Defect, Vec<u32>, (usize, &str, usize, usize)) {
        let mut nodes = match self.defect {
            Defect::MissingBoundary
            | Defect::LooseBoundary
            | Defect::InteriorBoundary
            | Defect::DoubleBoundary
            | Defect::NonManifold => self.nodes.clone(),
            _ => Vec::new(),
        };
        nodes.sort_unstable();
        (self.defect, nodes, self.subject.order())
    }

    /// In terms of the planar mesh that a mesh was made of: its cells, edges and nodes.
    fn in_plane(&mut self, nodes_2d: usize) {
        self.subject = match std::mem::replace(&mut self.subject, Subject::Node(0)) {
            Subject::Element(Kind::Prism, i) => Subject::Cell(3, i),
            Subject::Element(Kind::Hexahedron, i) => Subject::Cell(4, i),
            Subject::Face(name, 4, i) if ![Planar::FRONT, Planar::BACK].contains(&name.as_str()) => {
                Subject::Face(name, EDGE, i)
            }
            other => {
                self.subject = other;
                return;
            }
        };
        let mut nodes: Vec<u32> = Vec::new();
        for n in self.nodes.iter().map(|&n| (n as usize % nodes_2d) as u32) {
            if !nodes.contains(&n) {
                nodes.push(n);
            }
        }
        self.nodes = nodes;
    }

    fn pack(&self) -> String {
        let (sort, name, a, b) = self.subject.order();
        let nodes = self.nodes.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
        let at = self.at.map_or(String::new(), |at| at.map(|x| x.to_bits().to_string()).join(" "));
        let place = match self.place {
            None => String::new(),
            Some(Place::Line(n)) => format!("l{n}"),
            Some(Place::Byte(n)) => format!("b{n}"),
        };
        let head = format!("{} {sort} {a} {b}", self.defect as usize);
        [head, name.to_owned(), nodes, at, place, self.what.clone()].join("\x1f")
    }

    fn unpack(text: &str) -> Option<Self> {
        let [head, name, nodes, at, place, what] = text.split('\x1f').collect::<Vec<_>>().try_into().ok()?;
        let numbers: Vec<usize> = head.split(' ').map_while(|n| n.parse().ok()).collect();
        let [defect, sort, a, b] = numbers.try_into().ok()?;
        let name = name.to_owned();
        let subject = match sort {
            0 => Subject::Element(*Kind::ALL.get(a)?, b),
            1 => Subject::Face(name, a, b),
            2 => Subject::Node(b),
            3 => Subject::Marker(name),
            _ => Subject::Cell(a, b),
        };
        let at: Vec<f64> = at.split(' ').map_while(|x| Some(f64::from_bits(x.parse().ok()?))).collect();
        let place = match place.split_at_checked(1) {
            Some(("l", n)) => Some(Place::Line(n.parse().ok()?)),
            Some((_, n)) => Some(Place::Byte(n.parse().ok()?)),
            None => None,
        };
        Some(Self {
            defect: *Defect::ALL.get(defect)?,
            subject,
            nodes: nodes.split(' ').map_while(|n| n.parse().ok()).collect(),
            at: at.try_into().ok(),
            place,
            what: what.to_owned(),
        })
    }
}

/// All findings: every one counted, the first [`Report::KEPT`] of each kind kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The first of each kind.
    pub findings: Vec<Finding>,
    counts: [usize; Defect::ALL.len()],
}

impl Report {
    /// How many findings of one kind are kept.
    pub const KEPT: usize = 10;

    /// Number of findings of one kind.
    pub fn count(&self, defect: Defect) -> usize {
        self.counts[defect as usize]
    }

    /// Number of findings that a solver cannot live with.
    pub fn errors(&self) -> usize {
        Defect::ALL.iter().filter(|d| !d.is_warning()).map(|&d| self.count(d)).sum()
    }

    /// Number of findings that a solver can live with.
    pub fn warnings(&self) -> usize {
        Defect::ALL.iter().filter(|d| d.is_warning()).map(|&d| self.count(d)).sum()
    }

    /// Whether there is nothing to report.
    pub fn is_clean(&self) -> bool {
        self.counts.iter().all(|&c| c == 0)
    }

    /// Counts a finding, and keeps it (made only then) if it is among the first of its kind.
    pub fn add(&mut self, defect: Defect, make: impl FnOnce() -> Finding) {
        self.counts[defect as usize] += 1;
        if self.counts[defect as usize] <= Self::KEPT {
            self.findings.push(make());
        }
    }

    /// Says of a planar mesh what its file has: triangles, quadrilaterals, edges, and the nodes of one plane.
    pub(crate) fn in_plane(&mut self, planar: Option<Planar>) {
        let Some(Planar { nodes_2d, .. }) = planar.filter(|planar| planar.nodes_2d > 0) else { return };
        self.findings.iter_mut().for_each(|finding| finding.in_plane(nodes_2d));
    }

    /// As bytes, to be told another process.
    pub fn pack(&self) -> Vec<u8> {
        let mut records = vec![self.counts.map(|count| count.to_string()).join(" ")];
        records.extend(self.findings.iter().map(Finding::pack));
        records.join("\x1e").into_bytes()
    }

    /// From the bytes of several reports on parts of one mesh, each thing found by one of them.
    pub fn unpack<'a>(reports: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut all = Self::default();
        for bytes in reports {
            let text = String::from_utf8_lossy(bytes);
            let (counts, findings) = text.split_once('\x1e').unwrap_or((&text, ""));
            for (sum, count) in all.counts.iter_mut().zip(counts.split(' ')) {
                *sum += count.parse::<usize>().unwrap_or(0);
            }
            all.findings.extend(findings.split('\x1e').filter_map(Finding::unpack));
        }
        all.findings.sort_by(|a, b| a.order().cmp(&b.order()));
        let mut kept = [0; Defect::ALL.len()];
        all.findings.retain(|finding| {
            kept[finding.defect as usize] += 1;
            kept[finding.defect as usize] <= Self::KEPT
        });
        all
    }

    /// Forgets the findings of one kind.
    pub(crate) fn forgive(&mut self, defect: Defect) {
        self.counts[defect as usize] = 0;
        self.findings.retain(|f| f.defect != defect);
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_clean() {
            return write!(f, "no defects");
        }
        write!(f, "the mesh has {} errors and {} warnings", self.errors(), self.warnings())?;
        for defect in Defect::ALL {
            let count = self.count(defect);
            if count == 0 {
                continue;
            }
            write!(f, "\n  {} x {} ({})", count, defect.name(), defect.remedy())?;
            for finding in self.findings.iter().filter(|x| x.defect == defect) {
                write!(f, "\n    {finding}")?;
            }
            if count > Self::KEPT {
                write!(f, "\n    and {} more", count - Self::KEPT)?;
            }
        }
        Ok(())
    }
}
