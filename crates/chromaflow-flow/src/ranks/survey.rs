//! What a division of a mesh looks like, before anything is computed on it.

use super::cut::Touched;
use super::{Division, Quality, cutter, graph};
use crate::mesh::Mesh;
use crate::numbering::{Numbering, renumber};
use chromaflow_device::Team;

/// A mesh divided among ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Survey {
    /// How even it is.
    pub quality: Quality,
    /// The rank of each node of the mesh, in its own order (both planes of a planar one).
    pub owner: Vec<u32>,
    /// Each rank's part.
    pub parts: Vec<Size>,
    /// Lines that no rank cuts.
    pub lines: usize,
    /// Rows in them.
    pub in_lines: usize,
}

/// What a rank holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Rows that it owns.
    pub rows: usize,
    /// Rows of others, of two layers of elements.
    pub ghosts: usize,
    /// Elements.
    pub elements: usize,
    /// Ranks that it exchanges states with.
    pub neighbors: usize,
}

impl Survey {
    /// Of a mesh divided as a flow solver divides it, with the default order of its rows; `lines`: between lines along its short edges, as where these
    /// are relaxed.
    ///
    /// ```
    /// use chromaflow_flow::mesh::generate::{Cells, box_mesh};
    /// use chromaflow_flow::ranks::Survey;
    /// let survey = Survey::new(&box_mesh([7, 4, 4], [2.0, 1.0, 1.0], Cells::Hexes, 0.0), 2, false);
    /// let [one, other] = survey.parts[..] else { panic!("two parts") };
    /// assert_eq!(one.rows + other.rows, 8 * 5 * 5);
    /// assert!(survey.quality.balance < 1.02);
    /// assert_eq!((one.neighbors, other.neighbors), (1, 1));
    /// // Two layers of about 5 x 5 nodes beyond the cut, which about 25 edges cross.
    /// assert!((50..75).contains(&one.ghosts) && (25..40).contains(&survey.quality.cut));
    /// ```
    pub fn new(mesh: &Mesh, ranks: u32, lines: bool) -> Self {
        let (mesh, plan, edges) = renumber(mesh, Numbering { lines, ..Numbering::default() }, &Team::new(1));
        let rows = plan.permutation.len();
        let division = Division::new(&graph(&edges, rows, 1), plan.batches.lines(), &[ranks], 1);
        let cutter = cutter(&mesh, &plan, &edges, &division, Touched::new(&mesh, rows));
        let size = |rank: u32| {
            let part = cutter.part(rank);
            let mut others: Vec<u32> = part.owner.iter().copied().filter(|&owner| owner != rank).collect();
            let (ghosts, rows) = (others.len(), part.owner.len() - others.len());
            others.sort_unstable();
            others.dedup();
            Size { rows, ghosts, elements: part.mesh.elements(), neighbors: others.len() }
        };
        let new = plan.permutation.new_of_old();
        let owner = (0..mesh.nodes.len()).map(|i| division.owner[new[i % rows] as usize]).collect();
        let [lines, in_lines] = [plan.report.lines, plan.report.in_lines];
        Self { quality: division.quality, owner, parts: (0..ranks).map(size).collect(), lines, in_lines }
    }
}
