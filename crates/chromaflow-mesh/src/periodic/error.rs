//! Pairs that do not fit.

/// Why two markers are not one another's image.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PeriodicError {
    /// A marker that the mesh does not have.
    #[error("the periodic marker `{marker}` is not one of the mesh (its markers are {all})")]
    UnknownMarker {
        /// Its name.
        marker: String,
        /// All markers of the mesh.
        all: String,
    },
    /// A marker in two pairs, or one that is its own partner.
    #[error("marker `{marker}` is in more than one periodic pair; each side has one partner, another marker")]
    Twice {
        /// Its name.
        marker: String,
    },
    /// A marker whose partner nothing tells.
    #[error(
        "marker `{marker}` is periodic, and neither the case nor the mesh file says with which: give it its partner, \
         {{ kind = \"periodic\", with = \"...\" }}"
    )]
    NoPartner {
        /// Its name.
        marker: String,
    },
    /// Two markers each of which names the other, but not mutually.
    #[error(
        "marker `{marker}` is periodic with `{partner}`, which is {found}; both sides say the same, or one of them nothing"
    )]
    Disagree {
        /// The marker.
        marker: String,
        /// Its partner.
        partner: String,
        /// What the partner's condition is.
        found: String,
    },
    /// A node without an image.
    #[error(
        "node {node} of marker `{marker}` at {at:?} has no image on `{partner}` at the distance {step:?}: the nearest node there is \
         {off:.3e} away, {tolerance:.3e} are allowed (a hundredth of the shortest edge); both sides need the same nodes, one \
         translated by the distance of their means (rotated sides are not supported): make the mesh with periodic sides"
    )]
    Unmatched {
        /// The node, counted from 0.
        node: u32,
        /// Where it is.
        at: [f64; 3],
        /// Its marker.
        marker: String,
        /// The other side.
        partner: String,
        /// From the one side to the other.
        step: [f64; 3],
        /// How far the nearest node of the other side is from the image.
        off: f64,
        /// How far it may be.
        tolerance: f64,
    },
    /// Sides of different numbers of nodes.
    #[error(
        "markers `{marker}` and `{partner}` have {nodes} and {others} nodes: the sides of a periodic pair need the same nodes, one \
         translated; make the mesh with periodic sides"
    )]
    Count {
        /// One side.
        marker: String,
        /// The other.
        partner: String,
        /// Its nodes.
        nodes: usize,
        /// The other's.
        others: usize,
    },
    /// Nodes match, faces do not.
    #[error(
        "a face of `{marker}` at {at:?} has no image on `{partner}`: the nodes are there, but joined to other faces (another diagonal, \
         for example); make the mesh with periodic sides"
    )]
    Face {
        /// The middle of the face.
        at: [f64; 3],
        /// Its marker.
        marker: String,
        /// The other side.
        partner: String,
    },
    /// Cells as wide as half a period, or more.
    #[error(
        "a cell at {at:?} reaches over half the period {step:?}: three cells or more are needed between the sides of a periodic pair \
         (where there is one cell and nothing moves across, `symmetry` on both sides is the same flow)"
    )]
    Coarse {
        /// One of its corners.
        at: [f64; 3],
        /// The translation.
        step: [f64; 3],
    },
    /// Translations that depend on one another.
    #[error(
        "the periodic pairs are translated by {steps:?}, which are more than three or depend on one another"
    )]
    Dependent {
        /// The translations.
        steps: Vec<[f64; 3]>,
    },
}

impl PeriodicError {
    /// How far a node may lie from the image of its partner, over the shortest edge of the side there.
    pub const TOLERANCE: f64 = 0.01;
}
