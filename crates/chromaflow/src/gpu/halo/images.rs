//! Images among the rows of a rank, on the device. Twin: dist/images.rs.

use super::arguments::ImagesOfRows;
use crate::dist::{Batch, Image, Images};
use crate::gpu::GpuError;
use chromaflow_device::cuda::{DeviceBuffer, Kernel, Read, Share as Pointer, Stream};
use chromaflow_device::kernel_arguments;

/// Images that follow an exchange.
struct Followers {
    rows: DeviceBuffer<[u32; 2]>,
    turn_of: DeviceBuffer<u32>,
}

impl Followers {
    fn new<'a>(stream: &Stream, images: impl Iterator<Item = &'a Image> + Clone) -> Result<Self, GpuError> {
        let rows: Vec<[u32; 2]> = images.clone().map(|image| [image.row, image.of]).collect();
        let turns: Vec<u32> = images.map(|image| image.turn).collect();
        Ok(Self { rows: stream.upload(&rows)?, turn_of: stream.upload(&turns)? })
    }
}

/// Images of all rows, and of those of each color.
pub(super) struct ImagesCuda {
    all: Followers,
    colors: Vec<Followers>,
    turns: DeviceBuffer<f64>,
    /// Their squares, for factors, and images off the axis.
    squares: DeviceBuffer<f64>,
    off_axis: Followers,
    kernel: Kernel,
}

impl ImagesCuda {
    pub fn new(
        stream: &Stream,
        images: &Images,
        batches: &[Batch],
        kernel: Kernel,
    ) -> Result<Option<Self>, GpuError> {
        if images.is_empty() {
            return Ok(None);
        }
        let of_color = |batch: &Batch| Followers::new(stream, batch.images.iter());
        let turns = images.turns.as_flattened().as_flattened();
        let squares: Vec<f64> = turns.iter().map(|v| v * v).collect();
        Ok(Some(Self {
            off_axis: Followers::new(stream, images.list.iter())?,
            squares: stream.upload(&squares)?,
            turns: stream.upload(turns)?,
            all: Followers::new(stream, images.list.iter().chain(&images.on_axis))?,
            colors: batches.iter().map(of_color).collect::<Result<_, _>>()?,
            kernel,
        }))
    }

    /// Images of all rows or of those of a color become what these are, turned.
    ///
    /// # Safety
    /// x has `width` numbers of `bytes` bytes for each row.
    pub unsafe fn fill(
        &self,
        stream: &Stream,
        color: Option<usize>,
        shape: (usize, usize),
        x: u64,
    ) -> Result<(), GpuError> {
        let which = color.map_or(&self.all, |color| &self.colors[color]);
        // SAFETY: the caller's promise.
        unsafe { self.enqueue(stream, which, &self.turns, shape, x) }
    }

    /// Images have the factors of their rows.
    ///
    /// # Safety
    /// x has `width` numbers in f64 for each row.
    pub unsafe fn fill_factors(&self, stream: &Stream, width: usize, x: u64) -> Result<(), GpuError> {
        // SAFETY: the caller's promise.
        unsafe { self.enqueue(stream, &self.off_axis, &self.squares, (width, 8), x) }
    }

    unsafe fn enqueue(
        &self,
        stream: &Stream,
        Followers { rows, turn_of }: &Followers,
        turns: &DeviceBuffer<f64>,
        (width, bytes): (usize, usize),
        x: u64,
    ) -> Result<(), GpuError> {
        if rows.is_empty() {
            return Ok(());
        }
        let arguments = kernel_arguments! { ImagesOfRows {
            count: rows.len() as u32, width: width as u32, wide: u32::from(bytes == 8),
            rows: Read::at(rows.ptr()), turn_of, turns, x: Pointer::at(x),
        } };
        let launch = self.kernel.launch(rows.len().div_ceil(256), 256).record(&arguments);
        // SAFETY: images and what they are of are rows of the share; the caller's promise.
        Ok(unsafe { launch.enqueue(stream) }?)
    }
}
