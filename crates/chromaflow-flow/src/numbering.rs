//! The order of nodes inside the solver: node i is row i of the Jacobian.

use crate::mesh::Mesh;
use crate::mesh::pairs::Pairs;
use crate::mesh::{norm, sub};
use chromaflow::BlockPattern;
use chromaflow::order::{Adjacency, Lines, Plan, PlanOptions};
use chromaflow_device::Team;

/// Edges along a line are so many times as short as the others at its nodes, in the harmonic mean. At 2 nearly all of a mesh that is
/// stretched at all lies in lines; at 4, a usual number for couplings by diffusion, systems take up to twice as many directions.
const LINE_RATIO: f64 = 2.0;

/// How the nodes are ordered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Numbering {
    /// Their order, and their colors.
    pub plan: PlanOptions,
    /// Whether they form lines along short edges, those of layers at walls.
    pub lines: bool,
}

impl From<PlanOptions> for Numbering {
    fn from(plan: PlanOptions) -> Self {
        Self { plan, lines: false }
    }
}

/// Orders the nodes for the sweeps (by default reverse Cuthill-McKee, then color by color) and gives the mesh in that
/// order, and its edges. Of a planar mesh the plan orders the front plane; the back plane follows it in the same order.
///
/// Lines are those of [`Lines::of`] for the strength 1 / |dx| of an edge. Across a layer of height h of cells of length L faces are L / h
/// times as large as along it, and so are the fluxes of the Euler equations through them; those of diffusion have the square of it.
pub fn renumber(mesh: &Mesh, numbering: impl Into<Numbering>, team: &Team) -> (Mesh, Plan, Pairs) {
    let Numbering { plan: options, lines } = numbering.into();
    let edges = Pairs::edges_with(mesh, team.size());
    let nodes = mesh.planar.map_or(mesh.nodes.len(), |planar| planar.nodes_2d);
    let (pattern, _) = if nodes == mesh.nodes.len() {
        edges.graph_with(team.size())
    } else {
        edges.below(nodes).graph_with(team.size())
    };
    let lines = if lines { along_short_edges(mesh, &pattern, team) } else { Lines::default() };
    let plan = Plan::of_lines(&pattern, &lines, &options, team)
        .expect("the pattern of a mesh is square and symmetric");
    let mut out = mesh.clone();
    let n = plan.permutation.len();
    for (from, to) in mesh.nodes.chunks(n).zip(out.nodes.chunks_mut(n)) {
        plan.permutation.gather(1, from, to);
    }
    let new = |i: u32| plan.permutation.new_of_old()[i as usize % n] + (i as usize / n * n) as u32;
    out.renumber(new);
    let edges = edges.renumbered(mesh.nodes.len(), team.size(), new);
    (out, plan, edges)
}

/// Lines of the rows of a pattern, whose row i is node i.
fn along_short_edges(mesh: &Mesh, pattern: &BlockPattern, team: &Team) -> Lines {
    let graph = Adjacency::with_team(pattern, team).expect("the pattern of a mesh is square");
    let strength = |i: usize, j: usize| 1.0 / norm(sub(mesh.nodes[i], mesh.nodes[j]));
    Lines::of(&graph, strength, LINE_RATIO)
}

#[cfg(test)]
mod tests {
    use super::{Numbering, renumber};
    use crate::mesh::generate::{Cells, box_mesh};
    use chromaflow_device::Team;

    /// Boxes eight times as wide as high: a line up from each node of the floor; cubes: none.
    #[test]
    fn lines_go_along_short_edges() {
        for (height, expected) in [(1.0, vec![5; 25]), (8.0, vec![])] {
            let mesh = box_mesh([4, 4, 4], [8.0, 8.0, height], Cells::Hexes, 0.0);
            let (mesh, plan, _) =
                renumber(&mesh, Numbering { lines: true, ..Numbering::default() }, &Team::new(1));
            let lines = plan.batches.lines().unwrap_or(&[]);
            let lengths: Vec<u32> = lines.windows(2).map(|w| w[1] - w[0]).collect();
            assert_eq!(lengths, expected);
            for line in lines.windows(2) {
                let nodes = &mesh.nodes[line[0] as usize..line[1] as usize];
                assert!(nodes.windows(2).all(|w| w[0][..2] == w[1][..2] && (w[0][2] - w[1][2]).abs() < 0.26));
            }
        }
    }
}
