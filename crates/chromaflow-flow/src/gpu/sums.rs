#![allow(unsafe_code)]
//! Norms of the residual and forces on walls: what a step tells the host.

use crate::march::WallSums;
use bytemuck::cast_slice;
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::{DeviceBuffer, Kernel, Launch, Pinned, Read, Stream, Write};
use chromaflow_device::kernel_record;

kernel_record! {
    /// What `add_parts` takes.
    pub(crate) struct AddParts {
        ptr: Read<u32>, width: u32, partials: Read<f64>, to: Write<f64>,
    }
}

/// Threads of `wall_forces`: faces that one thread block adds up.
const FACES: usize = 256;
/// Numbers of [`WallSums`].
const WALL: usize = 12;

/// Sums over rows, a number an equation, and over the faces of each wall, twelve numbers. Kernels of each solver leave
/// partial sums, those of a thread block at a time, which are added in an order that never changes.
pub(crate) struct Sums {
    equations: usize,
    /// Partial sums of the norms' squares, `[thread blocks, equations]`.
    pub norms: DeviceBuffer<f64>,
    norm_ptr: DeviceBuffer<u32>,
    /// Parts of walls, a thread block each: first face, number of faces.
    pub parts: DeviceBuffer<u32>,
    /// Partial sums of forces, `[parts, 12]`.
    pub forces: DeviceBuffer<f64>,
    /// Where the parts of each wall begin.
    wall_ptr: DeviceBuffer<u32>,
    scalars: DeviceBuffer<f64>,
    host: Pinned<f64>,
}

impl Sums {
    /// Room for the partial sums of so many thread blocks, and for the walls among `patches`: how many faces each has, and
    /// whether it is one.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn new(
        stream: &Stream,
        equations: usize,
        norm_blocks: usize,
        patches: impl IntoIterator<Item = (usize, bool)>,
    ) -> Result<Self, GpuError> {
        let (parts, wall_ptr) = wall_parts(patches);
        let scalars = equations + WALL * (wall_ptr.len() - 1);
        Ok(Self {
            equations,
            norms: DeviceBuffer::zeroed(stream, equations * norm_blocks)?,
            norm_ptr: stream.upload(&[0, norm_blocks as u32])?,
            forces: DeviceBuffer::zeroed(stream, WALL * parts.len() / 2)?,
            parts: stream.upload(&parts)?,
            wall_ptr: stream.upload(&wall_ptr)?,
            scalars: DeviceBuffer::zeroed(stream, scalars)?,
            host: Pinned::zeroed(stream.gpu(), scalars)?,
        })
    }

    /// Thread blocks of the kernel that leaves partial sums of norms.
    pub fn norm_blocks(&self) -> usize {
        self.norms.len() / self.equations
    }

    /// A launch of the kernel that leaves partial sums of forces.
    pub fn over_walls<'a>(&self, wall_forces: &'a Kernel) -> Launch<'a> {
        wall_forces.launch(self.parts.len() / 2, FACES)
    }

    /// Adds everything up by the kernel `add_parts`, and sends it to the host, who has it when the stream has come so far.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn add_up(&mut self, stream: &Stream, add_parts: &Kernel) -> Result<(), GpuError> {
        let (n, walls) = (self.equations, self.wall_ptr.len() - 1);
        let [of_norms, of_forces] = [0..n, n..self.scalars.len()].map(|part| self.scalars.part(part));
        let sets = [
            (1, n, &self.norm_ptr, &self.norms, of_norms),
            (walls, WALL, &self.wall_ptr, &self.forces, of_forces),
        ];
        for (count, width, ptr, partials, to) in sets {
            let add =
                AddParts { ptr: ptr.into(), width: width as u32, partials: partials.into(), to: to.into() };
            // SAFETY: partial sums have n (twelve) numbers a part, `scalars` room for their sums; a warp a number.
            unsafe { add_parts.launch(count, 32 * width).record(&add).enqueue(stream)? };
        }
        Ok(self.scalars.download_later(&mut self.host)?)
    }

    /// All sums as last sent, to be added to those of other ranks.
    pub fn all_mut(&mut self) -> &mut [f64] {
        &mut self.host
    }

    /// Squares of the norms, as last sent.
    pub fn squares(&self) -> &[f64] {
        &self.host[..self.equations]
    }

    /// Sums of each wall, as last sent.
    pub fn walls(&self) -> &[WallSums] {
        cast_slice(&self.host[self.equations..])
    }
}

/// Parts {first face, faces} of walls, and where those of each wall begin.
fn wall_parts(patches: impl IntoIterator<Item = (usize, bool)>) -> (Vec<u32>, Vec<u32>) {
    let (mut parts, mut ptr, mut first) = (Vec::new(), vec![0], 0);
    for (count, wall) in patches {
        if wall {
            for start in (0..count).step_by(FACES) {
                parts.extend([(first + start) as u32, (count - start).min(FACES) as u32]);
            }
            ptr.push((parts.len() / 2) as u32);
        }
        first += count;
    }
    (parts, ptr)
}

#[cfg(test)]
mod tests {
    use super::{FACES, wall_parts};

    #[test]
    fn walls_are_cut_into_parts() {
        let n = FACES as u32;
        let (parts, ptr) = wall_parts([(3, false), (2 * FACES + 1, true), (0, true), (5, false), (2, true)]);
        assert_eq!(parts, [3, n, 3 + n, n, 3 + 2 * n, 1, 9 + 2 * n, 2]);
        assert_eq!(ptr, [0, 3, 3, 4]);
    }
}
