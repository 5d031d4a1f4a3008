//! The order of nodes inside the solver: node i is row i of the Jacobian.

use crate::mesh::pairs::Pairs;
use crate::mesh::{Marker, Mesh};
use crate::mesh::{norm, sub};
use crate::parallel;
use chromaflow::BlockPattern;
use chromaflow::order::{Adjacency, Lines, Plan, PlanOptions};
use chromaflow_device::Team;

/// Edges along a line are so many times as short as the others at its nodes, in the harmonic mean. At 2 nearly all of a mesh that is
/// stretched at all lies in lines; at 4, a usual number for couplings by diffusion, systems take up to twice as many directions.
const LINE_RATIO: f64 = 2.0;

/// How the nodes are ordered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Numbering<'a> {
    /// Their order, and their colors.
    pub plan: PlanOptions,
    /// Whether they form lines along short edges, those of layers at walls,
    pub lines: bool,
    /// or these.
    pub given: Option<&'a [Vec<u32>]>,
}

impl From<PlanOptions> for Numbering<'_> {
    fn from(plan: PlanOptions) -> Self {
        Self { plan, ..Self::default() }
    }
}

/// Orders the nodes for the sweeps (by default reverse Cuthill-McKee, then color by color) and gives the mesh in that
/// order, and its edges. Of a planar mesh the plan orders the front plane; the back plane follows it in the same order.
///
/// Lines are those of [`Lines::of`] for the strength 1 / |dx| of an edge. Across a layer of height h of cells of length L faces are L / h
/// times as large as along it, and so are the fluxes of the Euler equations through them; those of diffusion have the square of it. Lines that are
/// given are cut where their nodes have no edge between them.
pub fn renumber<'a>(mesh: &Mesh, numbering: impl Into<Numbering<'a>>, team: &Team) -> (Mesh, Plan, Pairs) {
    let Numbering { plan: options, lines, given } = numbering.into();
    let edges = Pairs::edges_with(mesh, team.size());
    let nodes = mesh.planar.map_or(mesh.nodes.len(), |planar| planar.nodes_2d);
    let (pattern, _) = if nodes == mesh.nodes.len() {
        edges.graph_with(team.size())
    } else {
        edges.below(nodes).graph_with(team.size())
    };
    let lines = match given {
        Some(given) if lines => of_lists(given, &pattern),
        None if lines => along_short_edges(mesh, &pattern, team),
        _ => Lines::default(),
    };
    let plan = Plan::of_lines(&pattern, &lines, &options, team)
        .expect("the pattern of a mesh is square and symmetric");
    let n = plan.permutation.len();
    let mut places = vec![[0.0; 3]; mesh.nodes.len()];
    for (from, to) in mesh.nodes.chunks(n).zip(places.chunks_mut(n)) {
        plan.permutation.gather_with(team, 1, from, to);
    }
    let of_plane = plan.permutation.new_of_old();
    // The back plane follows the front.
    let planes = (nodes < mesh.nodes.len()).then(|| {
        let planes = (0..mesh.nodes.len()).step_by(n);
        planes.flat_map(|first| of_plane.iter().map(move |&i| i + first as u32)).collect::<Vec<_>>()
    });
    let new_of_old = planes.as_deref().unwrap_or(of_plane);
    let marker = |marker: &Marker| Marker {
        triangles: renamed(&marker.triangles, new_of_old, team),
        quads: renamed(&marker.quads, new_of_old, team),
        name: marker.name.clone(),
        partner: marker.partner.clone(),
        code: marker.code,
    };
    let out = Mesh {
        nodes: places,
        tets: renamed(&mesh.tets, new_of_old, team),
        pyramids: renamed(&mesh.pyramids, new_of_old, team),
        prisms: renamed(&mesh.prisms, new_of_old, team),
        hexes: renamed(&mesh.hexes, new_of_old, team),
        markers: mesh.markers.iter().map(marker).collect(),
        planar: mesh.planar,
        periods: mesh.periods,
    };
    let edges = edges.renumbered(mesh.nodes.len(), team.size(), |i| new_of_old[i as usize]);
    (out, plan, edges)
}

/// Elements or faces whose nodes have new numbers.
fn renamed<const N: usize>(list: &[[u32; N]], new_of_old: &[u32], team: &Team) -> Vec<[u32; N]>
where
    [u32; N]: Default,
{
    parallel::map(team, list, |nodes| nodes.map(|i| new_of_old[i as usize]))
}

/// Lines of the rows of a pattern, whose row i is node i.
fn along_short_edges(mesh: &Mesh, pattern: &BlockPattern, team: &Team) -> Lines {
    let graph = Adjacency::with_team(pattern, team).expect("the pattern of a mesh is square");
    let strength = |i: usize, j: usize| 1.0 / norm(sub(mesh.nodes[i], mesh.nodes[j]));
    Lines::of(&graph, strength, LINE_RATIO)
}

/// Lines of the rows of a pattern, cut where rows are none of its, lie in a line already, or are not coupled to the one before.
fn of_lists(given: &[Vec<u32>], pattern: &BlockPattern) -> Lines {
    let mut free = vec![true; pattern.rows()];
    let mut lists = Vec::with_capacity(given.len());
    for line in given {
        let mut list: Vec<u32> = Vec::new();
        for &row in line {
            if !free.get_mut(row as usize).is_some_and(std::mem::take) {
                lists.push(std::mem::take(&mut list));
                continue;
            }
            let coupled =
                |&last: &u32| pattern.col_idx()[pattern.range(last as usize)].binary_search(&row).is_ok();
            if !list.last().is_none_or(coupled) {
                lists.push(std::mem::take(&mut list));
            }
            list.push(row);
        }
        lists.push(list);
    }
    Lines::new(pattern.rows(), &lists).expect("rows of the pattern, each once")
}

/// Lines of nodes as those of the mesh that merging its periodic sides left.
pub fn merged_lines(lines: &[Vec<u32>], merged: &[u32]) -> Vec<Vec<u32>> {
    let of = |line: &Vec<u32>| line.iter().filter_map(|&node| merged.get(node as usize).copied()).collect();
    lines.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::{Numbering, renumber};
    use crate::mesh::Mesh;
    use crate::mesh::generate::{Cells, Cylinder, box_mesh};
    use crate::mesh::pairs::Pairs;
    use chromaflow_device::Team;

    /// Meshes in space and planar ones: the mesh in its new order, its plan and its edges are those of one thread; the mesh is the old one by other names.
    #[test]
    fn the_order_does_not_depend_on_the_number_of_threads() {
        let solid = box_mesh([30, 25, 20], [1.0; 3], Cells::Mixed, 0.2);
        let planar = Cylinder { cells: [120, 80], radius: 4.0, growth: 1.05, triangles: true }.mesh();
        for mesh in [solid, planar] {
            let (one, plan, edges) = renumber(&mesh, Numbering::default(), &Team::new(1));
            let (n, new) = (plan.permutation.len(), plan.permutation.new_of_old());
            let name = |i: u32| new[i as usize % n] + (i as usize / n * n) as u32;
            let mut expected = mesh.clone();
            expected.renumber(name);
            (0..mesh.nodes.len() as u32)
                .for_each(|i| expected.nodes[name(i) as usize] = mesh.nodes[i as usize]);
            assert!(one == expected);
            assert_eq!(edges.to_vec(), Pairs::edges(&one).to_vec());
            for threads in [2, 3, 8] {
                let (many, other, of_many) = renumber(&mesh, Numbering::default(), &Team::new(threads));
                assert!(many == one, "{threads} threads");
                assert_eq!(other.permutation, plan.permutation);
                assert_eq!(other.batches.offsets(), plan.batches.offsets());
                assert_eq!(of_many.to_vec_with(threads), edges.to_vec());
            }
        }
    }

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

    /// Lines of a list in the place of those along short edges: the same order where they are the same, others where nodes are close in no way; cut at
    /// nodes that are not there, come twice, or have no edge to the one before.
    #[test]
    fn lines_may_be_given() {
        let flat = |height: f64| box_mesh([4, 4, 4], [8.0, 8.0, height], Cells::Hexes, 0.0);
        let mesh = flat(1.0);
        let node = |i: usize, j: usize, k: usize| {
            let place = [2.0 * i as f64, 2.0 * j as f64, 0.25 * k as f64];
            mesh.nodes.iter().position(|x| *x == place).unwrap() as u32
        };
        let columns: Vec<Vec<u32>> =
            (0..25).map(|n| (0..5).map(|k| node(n % 5, n / 5, k)).collect()).collect();
        let of = |mesh: &Mesh, given: Option<&[Vec<u32>]>| {
            let numbering = Numbering { lines: true, given, ..Numbering::default() };
            let (mesh, plan, _) = renumber(mesh, numbering, &Team::new(2));
            let lines = plan.batches.lines().unwrap_or(&[]).to_vec();
            let mut lengths: Vec<u32> = lines.windows(2).map(|w| w[1] - w[0]).collect();
            lengths.sort_unstable();
            (mesh, plan.report.lines, lengths)
        };
        let found = of(&mesh, Some(&columns[..]));
        assert_eq!((found.1, &found.2), (25, &vec![5; 25]));
        assert_eq!(of(&mesh, None).1, 25);
        // Of cubes there is none by itself.
        assert_eq!(of(&flat(8.0), Some(&columns[..])).1, 25);
        assert_eq!(of(&flat(8.0), None).1, 0);
        let [a, b, c, d, e] = columns[7][..] else { unreachable!() };
        let cut = [vec![a, b, 999, c, a, d, e], vec![columns[0][0], columns[3][1], columns[3][2]]];
        let (_, lines, mut lengths) = of(&mesh, Some(&cut[..]));
        lengths.retain(|n| *n > 1);
        assert_eq!((lines, lengths), (3, vec![2, 2, 2]));
    }
}
