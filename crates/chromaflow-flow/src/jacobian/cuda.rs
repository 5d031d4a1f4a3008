#![allow(unsafe_code)]
//! Launches of jacobian.cu, boundary.cu and replaced.cu.

use crate::bc::{MirrorNode, WallNode};
use crate::config::JacobianScheme;
use crate::equations::perfect_gas::{N, NN};
use crate::gpu::{ALONG, BoundaryCuda, Diffusion, MeshCuda, Params, blocks, source};
use crate::residual::arguments::BoundaryNodes;
use crate::wall_law::LawNode;
use chromaflow::BlockPattern;
use chromaflow::gpu::{DeviceJacobian, GpuError, Storage};
use chromaflow::sparse::cuda::{Chunk, InPlace, SELL};
use chromaflow_device::cuda::{DeviceBuffer, Kernel, KernelSource, Read, Share, Stream, Write};
use chromaflow_device::{enqueue, kernel_arguments, kernel_elements, kernel_record, kernels};

kernel_elements! {
    /// A number that off-diagonal blocks are assembled in.
    struct Value: "Value" in u8;
}

kernel_record! {
    /// What blocks are made of.
    struct Flow {
        areas: Read<f64>,
        nodes: Read<f64>,
        volumes: Read<f64>,
        /// The eddy viscosity of each node, in turbulent flow.
        eddies: Read<f64>,
        params: Read<Params>,
        cfl: f64,
        /// The share of it that each node takes.
        cfl_shares: Read<f64>,
        shift: f64,
    }

    /// An assembly in the order of the pattern.
    struct Assemble {
        tiles: Read<u32>,
        row_ptr: Read<u32>,
        row_of: Read<u32>,
        col_idx: Read<u32>,
        signed_edge: Read<u32>,
        flow: Flow,
        off: Write<Value>,
        diag: Share<f64>,
        /// Gets, where it is given, the bits of the largest magnitude of what is stored.
        largest: Share<u32>,
    }

    /// An assembly in place.
    struct AssembleSliced {
        chunks: Read<Chunk>, perm: Read<u32>, row_ptr: Read<u32>, col_idx: Read<u32>,
        signed_edge: Read<u32>, flow: Flow, values: Write<Value>, diag: Write<f64>,
    }
}

kernels! {
    /// The kernels of the boundary's fluxes.
    struct AtBoundary {
        boundary_jacobians: BoundaryJacobians { at: BoundaryNodes, diag: Share<f64> },
        farfield_jacobians: BoundaryJacobians,
    }
}

kernels! {
    /// The kernels of rows that are replaced.
    struct Replaced {
        wall_rows: WallRows {
            count: u32, walls: Read<WallNode<f64>>, row_ptr: Read<u32>, chunks: Read<()>, seats: Read<u32>,
            params: Read<Params>, off: Share<Value>, diag: Share<f64>,
        },
        law_rows: LawRows {
            count: u32, laws: Read<LawNode<f64>>, row_ptr: Read<u32>, col_idx: Read<u32>, chunks: Read<()>,
            seats: Read<u32>, nodes: Read<f64>, params: Read<Params>, off: Share<Value>,
        },
        mirror_rows: MirrorRows {
            count: u32, mirrors: Read<MirrorNode<f64>>, row_ptr: Read<u32>, chunks: Read<()>,
            seats: Read<u32>, off: Share<Value>, diag: Share<f64>,
        },
        held_rows: HeldRows {
            count: u32, node_of: Read<u32>, row_ptr: Read<u32>, chunks: Read<()>, seats: Read<u32>,
            off: Share<Value>,
        },
    }
}

/// Threads of an assembly: as many positions as two blocks each of shared memory allow; in chunks two warps, each with whole
/// pairs of slots.
fn threads(stored: usize, chunk: usize) -> usize {
    match (stored, chunk) {
        (8, 0) => 96,
        (_, 0) => 128,
        _ => 64,
    }
}

fn kernel_source(stored: usize, scheme: JacobianScheme, diffusion: Diffusion, chunk: usize) -> KernelSource {
    let viscous = match diffusion {
        Diffusion::None => 0,
        Diffusion::Molecular => 1,
        Diffusion::Turbulent | Diffusion::Quadratic | Diffusion::Quadratic2020 => 2,
    };
    source("jacobian", SELL, include_str!("jacobian.cu"))
        .records::<(Assemble, AssembleSliced)>()
        .define("QUICK", 1)
        .define("STORED", stored)
        .define("SCHEME", u32::from(scheme == JacobianScheme::VanLeer))
        .define("VISCOUS", viscous)
        .define("CHUNK", chunk)
        .define("THREADS", threads(stored, chunk))
}

fn at_boundary_source() -> KernelSource {
    source("jacobian_boundary", "", include_str!("boundary.cu")).records::<AtBoundary>().define("QUICK", 1)
}

fn replaced_source(stored: usize, chunk: usize) -> KernelSource {
    source("jacobian_replaced", &format!("{ALONG}{SELL}"), include_str!("replaced.cu"))
        .records::<Replaced>()
        .define("QUICK", 1)
        .define("STORED", stored)
        .define("CHUNK", chunk)
}

/// Those of a linearization for blocks stored as `storage`, assembled in chunks of so many rows, or (0) in the order of the pattern.
pub(crate) fn sources_of(
    storage: Storage,
    scheme: JacobianScheme,
    diffusion: Diffusion,
    chunk: usize,
) -> [KernelSource; 3] {
    let stored = stored_bytes(storage);
    [kernel_source(stored, scheme, diffusion, chunk), at_boundary_source(), replaced_source(stored, chunk)]
}

/// Bytes of an assembled off-diagonal value.
fn stored_bytes(storage: Storage) -> usize {
    storage.assembled().bytes()
}

/// All variants, in chunks of the usual numbers of rows.
pub(crate) fn kernel_sources() -> Vec<KernelSource> {
    variants(&[0, 16, 32])
}

/// All variants.
pub(crate) fn all_sources() -> Vec<KernelSource> {
    variants(&[0, 8, 16, 32])
}

fn variants(chunks: &[usize]) -> Vec<KernelSource> {
    let mut all = vec![at_boundary_source()];
    for stored in [4, 8] {
        all.extend(chunks.iter().map(|&chunk| replaced_source(stored, chunk)));
        for scheme in [JacobianScheme::Roe, JacobianScheme::VanLeer] {
            for &chunk in chunks {
                let each = [Diffusion::None, Diffusion::Molecular, Diffusion::Turbulent];
                all.extend(each.map(|diffusion| kernel_source(stored, scheme, diffusion, chunk)));
            }
        }
    }
    all
}

/// Assembly of the Jacobian on the device.
///
/// **Twin**: [`Assembly`](super::Assembly). **Launch shape**: a thread block a tile of rows, a thread a position, or a thread
/// block a chunk of the sweeps' layout, a thread a row and some of its slots; `threads (29 x 8 + 25 x stored)` bytes of shared
/// memory and more.
pub struct JacobianCuda {
    assemble: Kernel,
    at_boundary: AtBoundary,
    replaced: Replaced,
    tiles: DeviceBuffer<u32>,
    threads: usize,
    /// Rows a chunk of the layout that blocks are written to; 0: in the order of the pattern.
    chunk: usize,
    /// Where each row sits among the chunks.
    seats: DeviceBuffer<u32>,
    diffusion: Diffusion,
}

/// Where blocks go.
pub enum Target<'a> {
    /// In the order of the pattern; the bits of the largest magnitude of the off-diagonal values are found on the way.
    Rows(&'a DeviceJacobian, Option<&'a DeviceBuffer<u32>>),
    /// Where the sweeps read them.
    InPlace(InPlace<'a>),
}

/// Rows whose equations are replaced.
pub struct ReplacedRows<'a> {
    /// Nodes on walls without slip: how many, and an array of `WallNode`.
    pub walls: (usize, &'a DeviceBuffer<u64>),
    /// Nodes on walls with a law: how many, and an array of `LawNode`.
    pub laws: (usize, &'a DeviceBuffer<u64>),
    /// Nodes on planes of symmetry: how many, and an array of `MirrorNode`.
    pub mirrors: (usize, &'a DeviceBuffer<u64>),
    /// Nodes of given state.
    pub held: &'a DeviceBuffer<u32>,
}

impl JacobianCuda {
    /// Compiles or loads the kernels of a linearization and cuts the rows into tiles, for assembly in the order of the
    /// pattern or in the given place.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn new(
        stream: &Stream,
        pattern: &BlockPattern,
        scheme: JacobianScheme,
        diffusion: Diffusion,
        storage: Storage,
        place: Option<InPlace<'_>>,
    ) -> Result<Self, GpuError> {
        let stored = stored_bytes(storage);
        let chunk = place.as_ref().map_or(0, |p| p.rows);
        let threads = threads(stored, chunk);
        assert!(matches!(chunk, 0 | 8 | 16 | 32), "warps take whole pairs of slots of whole rows");
        let [module, at_boundary, replaced] = sources_of(storage, scheme, diffusion, chunk);
        let [module, at_boundary, replaced] = [
            stream.gpu().module(&module)?,
            stream.gpu().module(&at_boundary)?,
            stream.gpu().module(&replaced)?,
        ];
        let mut seats = Vec::new();
        let mut starts = Vec::new();
        if let Some(place) = place {
            let perm = place.perm.download()?;
            seats = vec![0; pattern.rows()];
            for (i, chunk) in place.chunks.download()?.iter().enumerate() {
                for r in 0..chunk.rows {
                    seats[perm[(chunk.row + r) as usize] as usize] = i as u32 * place.rows as u32 + r;
                }
            }
        } else {
            starts = tiles(pattern, threads);
        }
        Ok(Self {
            assemble: module.kernel(if chunk == 0 { "assemble" } else { "assemble_sliced" })?,
            at_boundary: AtBoundary::of(&at_boundary)?,
            replaced: Replaced::of(&replaced)?,
            tiles: stream.upload(&starts)?,
            seats: stream.upload(&seats)?,
            threads,
            chunk,
            diffusion,
        })
    }

    /// Writes D and O at the state `nodes`, in turbulent flow with the eddy viscosity of each node. `shift` is the factor of V q in the physical time derivative.
    ///
    /// # Errors
    /// [`GpuError::Unsupported`] when the off-diagonal blocks are in f16 or in another place than this was set up for,
    /// [`GpuError::Cuda`].
    pub fn assemble(
        &self,
        stream: &Stream,
        mesh: &MeshCuda,
        boundary: &BoundaryCuda,
        params: &Params,
        (nodes, eddies): (&DeviceBuffer<f64>, Option<&DeviceBuffer<f64>>),
        (cfl, cfl_shares, shift): (f64, &DeviceBuffer<f64>, f64),
        replaced: &ReplacedRows<'_>,
        target: &Target<'_>,
    ) -> Result<(), GpuError> {
        assert!(nodes.len() == 8 * mesh.rows && cfl_shares.len() == mesh.rows);
        let eddies = self.diffusion.eddies(eddies, mesh.rows);
        let unsupported = |what: &str| Err(GpuError::Unsupported(what.to_owned()));
        let (count, nodes_on_walls) = replaced.walls;
        let flow = kernel_arguments! { Flow {
            areas: &mesh.areas, nodes, volumes: &mesh.volumes, eddies, params: &params.values, cfl, cfl_shares, shift,
        } };
        let MeshCuda { row_ptr, col_idx, signed_edge, .. } = mesh;
        let k = &self.replaced;
        let (off, diag, chunks): (u64, u64, u64);
        match (target, self.chunk) {
            (Target::Rows(jac, largest), 0) => {
                assert!(jac.pattern().rows() == mesh.rows && jac.nb() == N);
                off = jac.off.assembled()?;
                diag = jac.diag.ptr();
                chunks = 0;
                // SAFETY: tiles cover the rows of the pattern that mesh and matrix share.
                unsafe {
                    enqueue! { self.assemble.launch(self.tiles.len() - 1, self.threads), stream, Assemble {
                        tiles: &self.tiles, row_ptr, row_of: &mesh.row_of, col_idx, signed_edge, flow,
                        off: Write::at(off), diag: Share::at(diag), largest: *largest,
                    } }?;
                }
            }
            (Target::InPlace(place), rows) if rows == place.rows => {
                assert!(place.diag.len() == NN * mesh.rows);
                (off, diag, chunks) = (place.values.ptr(), place.diag.ptr(), place.chunks.ptr());
                // SAFETY: the chunks hold the rows of the pattern that mesh and matrix share, each as long as its longest.
                unsafe {
                    enqueue! { self.assemble.launch(place.chunks.len(), self.threads), stream, AssembleSliced {
                        chunks: place.chunks, perm: place.perm, row_ptr, col_idx, signed_edge, flow,
                        values: Write::at(off), diag: Write::at(diag),
                    } }?;
                }
            }
            _ => return unsupported("the assembly was set up for blocks in another place"),
        }
        // SAFETY: nodes of the boundary and replaced rows are rows of the matrix; there is a seat for every row.
        unsafe {
            // Far fields by one of their own.
            for kernel in [&self.at_boundary.boundary_jacobians, &self.at_boundary.farfield_jacobians] {
                enqueue! { kernel.launch(blocks(boundary.count, 128), 128), stream, BoundaryJacobians {
                    at: boundary.nodes(params, nodes), diag: Share::at(diag),
                } }?;
            }
            enqueue! { k.wall_rows.launch(blocks(count, 4), 128), stream, WallRows {
                count: count as u32, walls: nodes_on_walls, row_ptr: &mesh.row_ptr, chunks: Read::at(chunks),
                seats: &self.seats, params: &params.values, off: Share::at(off), diag: Share::at(diag),
            } }?;
            enqueue! { k.law_rows.launch(blocks(replaced.laws.0, 128), 128), stream, LawRows {
                count: replaced.laws.0 as u32, laws: replaced.laws.1, row_ptr: &mesh.row_ptr,
                col_idx: &mesh.col_idx, chunks: Read::at(chunks), seats: &self.seats, nodes,
                params: &params.values, off: Share::at(off),
            } }?;
            enqueue! { k.mirror_rows.launch(blocks(replaced.mirrors.0, 4), 128), stream, MirrorRows {
                count: replaced.mirrors.0 as u32, mirrors: replaced.mirrors.1, row_ptr: &mesh.row_ptr,
                chunks: Read::at(chunks), seats: &self.seats, off: Share::at(off), diag: Share::at(diag),
            } }?;
            enqueue! { k.held_rows.launch(blocks(replaced.held.len(), 4), 128), stream, HeldRows {
                count: replaced.held.len() as u32, node_of: replaced.held, row_ptr: &mesh.row_ptr,
                chunks: Read::at(chunks), seats: &self.seats, off: Share::at(off),
            } }?;
        }
        Ok(())
    }
}

/// First rows of tiles: as many rows as `threads` positions and rows hold, or one row that is longer.
fn tiles(pattern: &BlockPattern, threads: usize) -> Vec<u32> {
    let mut starts = vec![0];
    let mut first = 0;
    for row in 0..pattern.rows() {
        let positions = (pattern.row_ptr()[row + 1] - pattern.row_ptr()[first]) as usize;
        if row > first && (positions > threads || row - first >= threads) {
            starts.push(row as u32);
            first = row;
        }
    }
    starts.push(pattern.rows() as u32);
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_hold_whole_rows() {
        // Rows of 2, 2, 5, 0, 1 blocks.
        let columns = vec![1, 2, 0, 2, 0, 1, 3, 4, 5, 0];
        let p = BlockPattern::new(6, vec![0, 2, 4, 9, 9, 10, 10], columns).unwrap();
        assert_eq!(tiles(&p, 4), [0, 2, 3, 6]);
        assert_eq!(tiles(&p, 100), [0, 6]);
        assert_eq!(tiles(&p, 2), [0, 1, 2, 3, 5, 6]);
    }
}
