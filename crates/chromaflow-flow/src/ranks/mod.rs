//! A mesh divided among ranks.
//!
//! Rank 0 reads the mesh, orders and colors its nodes as for one rank alone, and divides them; every rank gets its [`Part`]: the
//! nodes it owns and two layers of elements around them. With the nearer layer all that a residual reads beside the state is computed
//! where it is needed (gradients, limits, sources of systems beside the flow), so that between two residuals only states pass from
//! rank to rank. Nodes of a part stand in the order of the whole mesh, and so do its elements and faces: sums over them are added as
//! one rank alone adds them.
//!
//! | file | |
//! |---|---|
//! | `partition.rs` | which rank owns which node |
//! | `cut.rs`, `bits.rs` | a rank's part of the mesh; sets of its rows and elements |
//! | `rows.rs` | what passes between ranks |
//! | `wire.rs` | parts as bytes |
//! | `survey.rs` | what a division looks like |

mod bits;
mod cut;
mod partition;
mod rows;
mod survey;
#[cfg(test)]
pub(crate) mod tests;
mod wire;

pub use partition::{Division, Quality};
pub use rows::Rows;
pub use survey::{Size, Survey};

use crate::mesh::Mesh;
use crate::mesh::pairs::Pairs;
use crate::numbering::renumber;
use chromaflow::order::{Plan, PlanOptions, PlanReport};
use chromaflow::{BlockPattern, Permutation, RowBatches};
use chromaflow_comm::{CommError, Communicator, Tag};
use chromaflow_device::Team;
use cut::Cutter;

/// A rank's part of a mesh, its nodes in the order of the whole mesh's rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Elements around its nodes, and the boundary there; all markers of the mesh, if they have faces here or not.
    pub mesh: Mesh,
    /// Number of each row in the whole mesh.
    pub global: Vec<u32>,
    /// Colors of the elements, type after type, that viscous fluxes are added by; empty where nobody asks for them.
    pub element_colors: Vec<u32>,
    /// Rank that owns each row.
    pub owner: Vec<u32>,
    /// Whether all elements around a row are here (1) or not (0): all rows but those of the outer layer.
    pub complete: Vec<u8>,
    /// Number of each row in the mesh's file.
    pub file: Vec<u32>,
    /// Where each color's rows begin here, and the end.
    pub colors: Vec<u32>,
    /// Each color's rows and cost in the whole mesh.
    pub whole: Vec<[u64; 2]>,
    /// How the whole mesh is ordered.
    pub report: PlanReport,
    /// The boundary of the whole mesh, without elements: what distances are measured from.
    pub surface: Mesh,
    /// How the mesh was divided.
    pub quality: Quality,
}

impl Part {
    /// The colors' rows here.
    pub fn batches(&self) -> RowBatches {
        RowBatches::new(self.colors.clone())
    }

    /// The part's nodes, and after them those of the whole mesh's boundary with all its faces: for whoever asks for the nearest
    /// wall. Of a planar mesh both planes are complete.
    pub fn with_surface(&self) -> Mesh {
        let (own, all) = (&self.mesh, &self.surface);
        let plane = |mesh: &Mesh| mesh.planar.map_or(mesh.nodes.len(), |p| p.nodes_2d);
        let (n, s) = (plane(own), plane(all));
        let mut nodes = own.nodes[..n].to_vec();
        nodes.extend(&all.nodes[..s]);
        if own.planar.is_some() {
            nodes.extend(&own.nodes[n..]);
            nodes.extend(&all.nodes[s..]);
        }
        // Behind the part's front nodes, or behind all that is in front and the part's back nodes.
        let moved = |i: u32| if (i as usize) < s { i + n as u32 } else { i + 2 * n as u32 };
        let mut markers = all.markers.clone();
        for marker in &mut markers {
            marker.triangles.as_flattened_mut().iter_mut().for_each(|i| *i = moved(*i));
            marker.quads.as_flattened_mut().iter_mut().for_each(|i| *i = moved(*i));
        }
        let planar = own.planar.map(|planar| crate::mesh::Planar { nodes_2d: n + s, ..planar });
        Mesh { nodes, markers, planar, periods: all.periods, ..Mesh::default() }
    }
}

/// What rank 0 keeps of the whole mesh's order.
#[derive(Clone, Debug)]
pub struct Whole {
    /// From the file's order of nodes to that of rows.
    pub permutation: Permutation,
    /// The rank of each row.
    pub owner: Vec<u32>,
}

/// Divides the mesh, which rank 0 has, among all ranks; collective. With the mesh comes the file's number of each of its nodes, empty where
/// it is their own. `color` colors the elements of the mesh in its new order.
///
/// # Errors
/// [`CommError`].
pub fn divide(
    ranks: &dyn Communicator,
    mesh: Option<(&Mesh, &[u32])>,
    options: PlanOptions,
    team: &Team,
    color: impl Fn(&Mesh, &Pairs) -> Vec<u32>,
) -> Result<(Part, Option<Whole>), CommError> {
    let Some((mesh, file)) = mesh.filter(|_| ranks.rank() == 0) else {
        ranks.send(0, Tag::Collective, own_host())?;
        let bytes = ranks.receive_patiently(0, Tag::Collective)?;
        let found = bytes.len();
        let part = wire::unpack(&bytes).ok_or(CommError::Length { from: 0, expected: found, found })?;
        return Ok((part, None));
    };
    let (mesh, plan, edges) = renumber(mesh, options, team);
    let (hosts, order) = hosts(ranks)?;
    let graph = graph(&edges, plan.permutation.len(), team.size());
    let division = Division::new(&graph, &hosts).given_to(&order);
    let colors = color(&mesh, &edges);
    let cutter = cutter(&mesh, &plan, &edges, &division).with_colors(&colors).with_file(file);
    for rank in 1..ranks.size() {
        ranks.send(rank, Tag::Collective, wire::pack(&cutter.part(rank as u32)))?;
    }
    let part = cutter.part(0);
    Ok((part, Some(Whole { permutation: plan.permutation.clone(), owner: division.owner })))
}

/// Rows and their neighbors: those of the front plane of a planar mesh.
fn graph(edges: &Pairs, rows: usize, threads: usize) -> BlockPattern {
    edges.below(rows).graph_with(threads).0
}

/// What hosts call themselves.
fn own_host() -> Vec<u8> {
    std::fs::read("/proc/sys/kernel/hostname").unwrap_or_default()
}

/// On rank 0, how many ranks each host has, and all ranks host by host.
fn hosts(ranks: &dyn Communicator) -> Result<(Vec<u32>, Vec<u32>), CommError> {
    let mut names = vec![own_host()];
    for rank in 1..ranks.size() {
        names.push(ranks.receive_patiently(rank, Tag::Collective)?);
    }
    Ok(by_host(&names))
}

fn by_host(names: &[Vec<u8>]) -> (Vec<u32>, Vec<u32>) {
    let first = |rank: u32| names.iter().position(|name| *name == names[rank as usize]);
    let mut order: Vec<u32> = (0..names.len() as u32).collect();
    order.sort_by_key(|&rank| first(rank));
    let counts = order.chunk_by(|&a, &b| first(a) == first(b)).map(|host| host.len() as u32).collect();
    (counts, order)
}

/// Neighbors of each of the first `rows` nodes among themselves.
pub(crate) fn degrees(edges: &Pairs, rows: usize) -> Vec<u32> {
    let mut degrees = vec![0; rows];
    edges.iter().filter(|&(_, b)| (b as usize) < rows).for_each(|(a, b)| {
        degrees[a as usize] += 1;
        degrees[b as usize] += 1;
    });
    degrees
}

fn cutter<'a>(mesh: &'a Mesh, plan: &'a Plan, edges: &Pairs, division: &'a Division) -> Cutter<'a> {
    Cutter::new(mesh, plan, &degrees(edges, plan.permutation.len()), division)
}
