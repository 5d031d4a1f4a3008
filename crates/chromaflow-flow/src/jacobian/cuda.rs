#![allow(unsafe_code)]
//! Launches of jacobian.cu.

use crate::config::JacobianScheme;
use crate::gpu::{BoundaryCuda, MeshCuda, Params, blocks, source};
use chromaflow::BlockPattern;
use chromaflow::gpu::{DeviceJacobian, DeviceOff, GpuError, Storage};
use chromaflow_device::cuda::{DeviceBuffer, Kernel, KernelSource, Stream};

/// Threads of `assemble`: as many positions as two blocks each of shared memory allow.
fn threads(stored: usize) -> usize {
    if stored == 8 { 96 } else { 128 }
}

fn kernel_source(stored: usize, scheme: JacobianScheme, viscous: bool) -> KernelSource {
    source("jacobian", "", include_str!("jacobian.cu"))
        .define("STORED", stored)
        .define("SCHEME", u32::from(scheme == JacobianScheme::VanLeer))
        .define("VISCOUS", u32::from(viscous))
        .define("THREADS", threads(stored))
}

/// All variants.
pub(crate) fn kernel_sources() -> Vec<KernelSource> {
    let mut all = Vec::new();
    for stored in [4, 8] {
        for scheme in [JacobianScheme::Roe, JacobianScheme::VanLeer] {
            all.extend([false, true].map(|viscous| kernel_source(stored, scheme, viscous)));
        }
    }
    all
}

/// Assembly of the Jacobian on the device.
///
/// **Twin**: [`Assembly`](super::Assembly). **Launch shape**: a thread block a tile of rows, a thread a position;
/// `threads (25 x 8 + 8 + 25 x stored)` bytes of shared memory.
pub struct JacobianCuda {
    assemble: Kernel,
    boundary: Kernel,
    walls: Kernel,
    held: Kernel,
    tiles: DeviceBuffer<u32>,
    threads: usize,
}

/// Rows whose equations are replaced.
pub struct ReplacedRows<'a> {
    /// Nodes on walls without slip.
    pub walls: &'a DeviceBuffer<u32>,
    /// The walls' temperatures, NaN where there is none.
    pub temperatures: &'a DeviceBuffer<f64>,
    /// Nodes of given state.
    pub held: &'a DeviceBuffer<u32>,
}

impl JacobianCuda {
    /// Compiles or loads the kernels of a linearization and cuts the rows into tiles.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn new(
        stream: &Stream,
        pattern: &BlockPattern,
        scheme: JacobianScheme,
        viscous: bool,
        storage: Storage,
    ) -> Result<Self, GpuError> {
        let stored = if storage == Storage::F64 { 8 } else { 4 };
        let module = stream.gpu().module(&kernel_source(stored, scheme, viscous))?;
        Ok(Self {
            assemble: module.kernel("assemble")?,
            boundary: module.kernel("boundary_jacobians")?,
            walls: module.kernel("wall_rows")?,
            held: module.kernel("held_rows")?,
            tiles: stream.upload(&tiles(pattern, threads(stored)))?,
            threads: threads(stored),
        })
    }

    /// Writes D and O at the state `nodes`. `shift` is the factor of V q in the physical time derivative.
    ///
    /// # Errors
    /// [`GpuError::Unsupported`] when the off-diagonal blocks are in f16, [`GpuError::Cuda`].
    pub fn assemble(
        &self,
        stream: &Stream,
        mesh: &MeshCuda,
        boundary: &BoundaryCuda,
        params: &Params,
        nodes: &DeviceBuffer<f64>,
        (cfl, shift): (f64, f64),
        replaced: &ReplacedRows<'_>,
        jac: &mut DeviceJacobian,
    ) -> Result<(), GpuError> {
        let off = match &jac.off {
            DeviceOff::F64(values) => values.ptr(),
            DeviceOff::F32(values) => values.ptr(),
            DeviceOff::F16 { .. } => {
                return Err(GpuError::Unsupported(
                    "a Jacobian is assembled in f32 before its conversion".into(),
                ));
            }
        };
        assert!(nodes.len() == 8 * mesh.rows && jac.pattern().rows() == mesh.rows && jac.nb() == 5);
        assert_eq!(replaced.walls.len(), replaced.temperatures.len());
        let launch = self.assemble.launch(self.tiles.len() - 1, self.threads).arg(&self.tiles);
        let launch = launch.arg(&mesh.row_ptr).arg(&mesh.row_of).arg(&mesh.col_idx).arg(&mesh.signed_edge);
        let launch = launch.arg(&mesh.areas).arg(nodes).arg(&mesh.volumes).arg(&params.values);
        // SAFETY: tiles cover the rows of the pattern that mesh and matrix share; nodes of the boundary and replaced rows
        // are rows of it.
        unsafe {
            launch.arg(cfl).arg(shift).arg(off).arg(&jac.diag).enqueue(stream)?;
            boundary.launch(&self.boundary, params, nodes).arg(&jac.diag).enqueue(stream)?;
            let walls = self.walls.launch(blocks(replaced.walls.len(), 4), 128);
            let walls = walls.arg(replaced.walls.len() as u32).arg(replaced.walls).arg(replaced.temperatures);
            walls.arg(&mesh.row_ptr).arg(&params.values).arg(off).arg(&jac.diag).enqueue(stream)?;
            let held = self.held.launch(blocks(replaced.held.len(), 4), 128);
            let held = held.arg(replaced.held.len() as u32).arg(replaced.held).arg(&mesh.row_ptr);
            held.arg(off).enqueue(stream)?;
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
