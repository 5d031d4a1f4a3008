//! The order of nodes inside the solver: node i is row i of the Jacobian.

use crate::mesh::Mesh;
use crate::mesh::pairs::Pairs;
use chromaflow::order::{Plan, PlanOptions};
use chromaflow_device::Team;

/// Orders the nodes for the sweeps (by default reverse Cuthill-McKee, then color by color) and gives the mesh in that
/// order, and its edges. Of a planar mesh the plan orders the front plane; the back plane follows it in the same order.
pub fn renumber(mesh: &Mesh, options: PlanOptions, team: &Team) -> (Mesh, Plan, Pairs) {
    let edges = Pairs::edges_with(mesh, team.size());
    let nodes = mesh.planar.map_or(mesh.nodes.len(), |planar| planar.nodes_2d);
    let (pattern, _) = if nodes == mesh.nodes.len() {
        edges.graph_with(team.size())
    } else {
        edges.below(nodes).graph_with(team.size())
    };
    let plan =
        Plan::with_team(&pattern, &options, team).expect("the pattern of a mesh is square and symmetric");
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
