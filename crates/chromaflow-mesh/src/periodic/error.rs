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
         translated by the distance of their means or, in three dimensions, turned about an axis: make the mesh with periodic sides"
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
    /// A node without an image by the rotation that the sides say.
    #[error(
        "node {node} of marker `{marker}` at {at:?} has no image on `{partner}` when it is turned by {degrees:.6} degrees about the axis \
         {:?} through {:?}: the nearest node there is {off:.3e} away, {tolerance:.3e} are allowed (a hundredth of the shortest \
         edge); both sides need the same nodes, one turned: make the mesh with periodic sides",
        line[1],
        line[0]
    )]
    Unturned {
        /// The node, counted from 0.
        node: u32,
        /// Where it is.
        at: [f64; 3],
        /// Its marker.
        marker: String,
        /// The other side.
        partner: String,
        /// The angle.
        degrees: f64,
        /// A place on the axis, and the axis.
        line: Box<[[f64; 3]; 2]>,
        /// How far the nearest node of the other side is from the image.
        off: f64,
        /// How far it may be.
        tolerance: f64,
    },
    /// Rotations that are not one and the same.
    #[error(
        "the sides `{marker}` and `{partner}` are turned by {degrees:.6} degrees about the axis {axis:?} through {point:?}, other ones by \
         another rotation: all turned pairs of a mesh need the same axis and angle"
    )]
    Rotations {
        /// One side.
        marker: String,
        /// The other.
        partner: String,
        /// The angle of this pair.
        degrees: f64,
        /// A place on its axis.
        point: [f64; 3],
        /// Its axis.
        axis: [f64; 3],
    },
    /// A translation beside a rotation that is not along its axis.
    #[error(
        "a periodic pair is translated by {step:?} and another one turned about the axis {axis:?}: beside a rotation there may be one \
         translation, along its axis"
    )]
    Skew {
        /// The translation.
        step: [f64; 3],
        /// The axis.
        axis: [f64; 3],
    },
    /// A mesh that reaches its axis in sectors that do not fill the circle.
    #[error(
        "the mesh reaches the axis of its periodic sides at {at:?}, but {degrees:.6} degrees are not a whole part of the circle: make the \
         sector 360/n degrees wide, or leave a hole around the axis"
    )]
    Axis {
        /// A node on the axis.
        at: [f64; 3],
        /// The angle.
        degrees: f64,
    },
    /// A node on both sides of turned pairs.
    #[error(
        "node {node} at {at:?} lies on both sides of turned periodic pairs, off their axis: name the pairs so that one side of the sector \
         has the first markers and the other one their partners"
    )]
    BothSides {
        /// The node, counted from 0.
        node: usize,
        /// Where it is.
        at: [f64; 3],
    },
    /// Sides of different numbers of nodes.
    #[error(
        "markers `{marker}` and `{partner}` have {nodes} and {others} nodes: the sides of a periodic pair need the same nodes, one \
         translated or turned; make the mesh with periodic sides"
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
    /// The same where nodes have other numbers.
    #[must_use]
    pub fn numbered(mut self, number: impl Fn(u32) -> u32) -> Self {
        if let Self::Unmatched { node, .. } | Self::Unturned { node, .. } = &mut self {
            *node = number(*node);
        }
        self
    }

    /// How far a node may lie from the image of its partner, over the shortest edge of the side there.
    pub const TOLERANCE: f64 = 0.01;
}
