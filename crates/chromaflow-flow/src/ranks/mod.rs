//! A mesh divided among ranks.
//!
//! Rank 0 reads the mesh, orders and colors its nodes as for one rank alone, and divides them; every rank gets its [`Part`]: the
//! nodes it owns and two layers of elements around them. With the nearer layer all that a residual reads beside the state is computed
//! where it is needed (gradients, limits, sources of systems beside the flow), so that between two residuals only states pass from
//! rank to rank. Nodes of a part stand in the order of the whole mesh, and so do its elements and faces: sums over them are added as
//! one rank alone adds them. A line of rows that are solved for together has one rank.
//!
//! | file | |
//! |---|---|
//! | `partition.rs` | which rank owns which node |
//! | `cut.rs`, `bits.rs` | a rank's part of the mesh; sets of its rows and elements |
//! | `rows.rs` | what passes between ranks |
//! | `unrolled.rs` | meshes with turned periodic sides: their images around the sector |
//! | `piece.rs` | a rank's piece of the mesh's file, where fields are written in pieces |
//! | `restart.rs`, `files.rs` | restart files, which ranks write and read by ranges; files that several write |
//! | `wire.rs`, `post.rs` | parts and pieces as bytes; lists that pass between ranks |
//! | `sliced/` | parts of a mesh that no rank holds whole |
//! | `survey.rs` | what a division looks like |
//! | `blocks.rs` | structured grids: whole blocks given to ranks |

mod bits;
mod blocks;
mod cut;
mod files;
mod partition;
mod piece;
mod post;
mod restart;
mod rows;
mod sliced;
mod survey;
#[cfg(test)]
pub(crate) mod tests;
mod unrolled;
mod wire;

pub use blocks::{BlockExchange, BlockRanks};
pub use files::FilesError;
pub(crate) use files::agreed;
pub use partition::{Division, Quality};
pub use piece::{FileNodes, RankPiece};
pub use restart::FileRows;
pub(crate) use restart::{ReadTask, WriteTask};
pub use rows::Rows;
pub(crate) use sliced::spread;
pub use sliced::{Held, Kept, Sliced, SlicedError, Twin};
pub use survey::{Size, Survey};
pub use unrolled::{Seam, Turning};

use crate::laps::Laps;
use crate::mesh::Mesh;
use crate::mesh::pairs::Pairs;
use crate::numbering::{Numbering, renumber};
use chromaflow::order::{Plan, PlanReport};
use chromaflow::{BlockPattern, Permutation, RowBatches};
use chromaflow_comm::{CommError, Communicator, Tag};
use chromaflow_device::Team;
use cut::{Cutter, Touched};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use unrolled::{NOBODY, Unrolled};

/// Who computes together.
#[derive(Clone, Debug)]
pub struct Ranks {
    /// This rank and the others.
    pub ranks: Arc<dyn Communicator>,
    /// Whether results are to be the same, bit for bit, on any number of ranks: inner products and norms are then exact before
    /// their one rounding.
    pub reproducible: bool,
}

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
    /// Where lines of rows begin here, and the end: those of this rank are whole, of others it has what lies near; empty where rows form
    /// none.
    pub lines: Vec<u32>,
    /// Each color's rows and cost in the whole mesh.
    pub whole: Vec<[u64; 2]>,
    /// How the whole mesh is ordered.
    pub report: PlanReport,
    /// The boundary of the whole mesh, without elements: what distances are measured from.
    pub surface: Mesh,
    /// How the mesh was divided.
    pub quality: Quality,
    /// What repeats when it is turned, where that is.
    pub seam: Option<Seam>,
}

impl Part {
    /// The colors' rows here, in lines where they form some.
    pub fn batches(&self) -> RowBatches {
        let batches = RowBatches::new(self.colors.clone());
        if self.lines.is_empty() { batches } else { batches.of_lines(self.lines.clone()) }
    }

    /// The part's nodes, and after them those of the whole mesh's boundary with all its faces: for whoever asks for the nearest
    /// wall. Of a planar mesh both planes are complete.
    /// With `elements` those of the part are there, too.
    pub fn with_surface(&self, elements: bool) -> Mesh {
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
        let mut mesh = Mesh { planar, periods: all.periods, ..Mesh::default() };
        if elements {
            mesh.tets.clone_from(&own.tets);
            mesh.pyramids.clone_from(&own.pyramids);
            mesh.prisms.clone_from(&own.prisms);
            mesh.hexes.clone_from(&own.hexes);
            mesh.renumber(|i| if (i as usize) < n { i } else { i + s as u32 });
        }
        Mesh { nodes, markers, ..mesh }
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

/// What is divided, on the rank that has it.
#[derive(Clone, Copy)]
pub struct Given<'a> {
    /// The mesh; where sides are turned, the merged one, which says who is whose neighbor.
    pub mesh: &'a Mesh,
    /// The file's number of each of its nodes, empty where it is their own.
    pub file: &'a [u32],
    /// Where sides are turned, the mesh of the file.
    pub turning: Option<Turning<'a>>,
}

/// Divides the mesh, which rank 0 has, among all ranks; collective. `color` colors the elements of the mesh in its new order.
///
/// # Errors
/// [`CommError`].
pub fn divide(
    ranks: &dyn Communicator,
    given: Option<Given<'_>>,
    numbering: Numbering<'_>,
    (team, laps): (&Team, &mut Laps),
    color: impl Fn(&Mesh, &Pairs) -> Vec<u32> + Sync,
) -> Result<(Part, Option<Whole>), CommError> {
    let Some(Given { mesh, file, turning }) = given.filter(|_| ranks.rank() == 0) else {
        ranks.send(0, Tag::Collective, own_host())?;
        let bytes = ranks.receive_patiently(0, Tag::Collective)?;
        let found = bytes.len();
        let part = wire::unpack(&bytes).ok_or(CommError::Length { from: 0, expected: found, found })?;
        laps.end("cut");
        return Ok((part, None));
    };
    let (mesh, plan, edges) = renumber(mesh, numbering, team);
    laps.end("order");
    let (hosts, order) = hosts(ranks)?;
    let rows = plan.permutation.len();
    let unrolled = turning.map(|of| (of, Unrolled::new(of, mesh.periods, &plan, team)));
    let seen = unrolled.as_ref().map_or((&mesh, &edges), |(_, unrolled)| (&unrolled.mesh, &unrolled.edges));
    let (division, touched, colors) = thread::scope(|scope| {
        let touched = scope.spawn(|| match &unrolled {
            None => Touched::new(&mesh, rows),
            Some((of, unrolled)) => unrolled.touched(*of),
        });
        let colors = scope.spawn(|| color(seen.0, seen.1));
        let lines = plan.batches.lines();
        let division = Division::new(&graph(&edges, rows, team.size()), lines, &hosts, team.size());
        (division.given_to(&order), joined(touched), joined(colors))
    });
    laps.end("divide");
    let part = match &unrolled {
        None => {
            let cutter = cutter(&mesh, &plan, &edges, &division, touched);
            send_parts(ranks, &cutter.with_colors(&colors).with_file(file), team.size())?
        }
        Some((of, unrolled)) => {
            let mut all = division.clone();
            all.owner.resize(unrolled.mesh.nodes.len(), NOBODY);
            let mut degrees = degrees(&edges, rows);
            degrees.resize(all.owner.len(), 0);
            let cutter = Cutter::new(&unrolled.mesh, &unrolled.plan, &degrees, &all, touched);
            let cutter = cutter.with_colors(&colors).with_file(&unrolled.file);
            send_parts(ranks, &cutter.with_seam(unrolled, of.turned.rotation), team.size())?
        }
    };
    laps.end("cut");
    Ok((part, Some(Whole { permutation: plan.permutation.clone(), owner: division.owner })))
}

/// What a thread has found; its panic goes on here.
fn joined<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Cuts parts on so many threads and sends each as it comes, from this thread alone, as MPI wants it; returns the part of rank 0.
fn send_parts(ranks: &dyn Communicator, cutter: &Cutter<'_>, threads: usize) -> Result<Part, CommError> {
    let (next, size) = (AtomicUsize::new(1), ranks.size());
    let workers = threads.min(size - 1);
    // No more parts than threads are kept as bytes.
    let (done, parts) = mpsc::sync_channel(workers);
    thread::scope(|scope| {
        let own = scope.spawn(|| cutter.part(0));
        for _ in 0..workers {
            let (done, next) = (done.clone(), &next);
            scope.spawn(move || {
                loop {
                    let rank = next.fetch_add(1, Ordering::Relaxed);
                    // Nobody listens any more where a message could not be sent.
                    if rank >= size || done.send((rank, wire::pack(&cutter.part(rank as u32)))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(done);
        for (rank, bytes) in parts {
            ranks.send(rank, Tag::Collective, bytes)?;
        }
        Ok(joined(own))
    })
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

fn cutter<'a>(
    mesh: &'a Mesh,
    plan: &'a Plan,
    edges: &Pairs,
    division: &'a Division,
    touched: Touched,
) -> Cutter<'a> {
    Cutter::new(mesh, plan, &degrees(edges, plan.permutation.len()), division, touched)
}
