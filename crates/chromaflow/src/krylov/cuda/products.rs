#![allow(unsafe_code)]
//! Inner products of one vector with many, combinations with them, and Gram-Schmidt by both. Twin: gram_schmidt.rs.

use crate::gpu::arguments::{Combine, ManyDots};
use crate::gpu::{GpuError, ShareCuda, Vectors};
use chromaflow_device::cuda::{DeviceBuffer, DeviceSlice, Kernel, Pinned, Stream, Write};
use chromaflow_device::kernel_arguments;

/// Vectors of one length, and where they lie, for kernels that run over many of them.
pub(super) struct Family {
    pub(super) vectors: Vec<DeviceBuffer<f64>>,
    table: DeviceBuffer<u64>,
}

impl Family {
    pub(super) fn new(stream: &Stream) -> Result<Self, GpuError> {
        Ok(Self { vectors: Vec::new(), table: DeviceBuffer::zeroed(stream, 0)? })
    }

    /// At least `count` vectors of length `n`.
    pub(super) fn grow(&mut self, stream: &Stream, count: usize, n: usize) -> Result<(), GpuError> {
        self.vectors.retain(|v| v.len() == n);
        while self.vectors.len() < count {
            self.vectors.push(DeviceBuffer::uninitialized(stream, n)?);
        }
        if self.table.len() != self.vectors.len() {
            self.table = stream.upload(&self.vectors.iter().map(DeviceBuffer::ptr).collect::<Vec<_>>())?;
        }
        Ok(())
    }
}

/// Inner products of one vector with many, and its combinations with them.
pub(super) struct Products {
    many_dots: Kernel,
    combine: Kernel,
    /// Most thread blocks.
    blocks: usize,
    done: DeviceBuffer<u32>,
    partials: DeviceBuffer<f64>,
    /// Of the last pass.
    pub(super) pass: DeviceBuffer<f64>,
    /// Squares of w before and after; sums over the passes.
    sums: DeviceBuffer<f64>,
    host: Pinned<f64>,
}

/// Squares of w before and after.
const NORMS: usize = 2;

impl Products {
    pub(super) fn new(vectors: &Vectors) -> Result<Self, GpuError> {
        let stream = vectors.stream();
        let none = || DeviceBuffer::zeroed(stream, 0);
        Ok(Self {
            many_dots: vectors.kernel("many_dots")?,
            combine: vectors.kernel("combine")?,
            blocks: 4 * stream.gpu().facts().multiprocessors,
            done: DeviceBuffer::zeroed(stream, 1)?,
            partials: none()?,
            pass: none()?,
            sums: none()?,
            host: Pinned::zeroed(stream.gpu(), 0)?,
        })
    }

    /// Room for `count` vectors.
    pub(super) fn grow(&mut self, stream: &Stream, count: usize) -> Result<(), GpuError> {
        if self.pass.len() < count {
            self.partials = DeviceBuffer::uninitialized(stream, (count + 1) * self.blocks)?;
            self.pass = DeviceBuffer::zeroed(stream, count)?;
            self.sums = DeviceBuffer::zeroed(stream, count + NORMS)?;
            self.host = Pinned::zeroed(stream.gpu(), count + NORMS)?;
        }
        Ok(())
    }

    /// Products of w with the first `count` of `v`, and with itself where `norm` says in which place.
    fn dots(
        &self,
        stream: &Stream,
        (v, count): (&Family, usize),
        w: &DeviceBuffer<f64>,
        first: bool,
        norm: Option<usize>,
    ) -> Result<(), GpuError> {
        let blocks = w.len().div_ceil(256).clamp(1, self.blocks);
        let arguments = kernel_arguments! { ManyDots {
            n: w.len() as u64, count: count as u32, v: &v.table, w, partials: &self.partials,
            done: &self.done, first, pass: &self.pass, total: self.sums.part(NORMS..NORMS + count),
            size: norm.map_or(Write::NONE, |at| self.sums.part(at..at + 1).into()),
        } };
        // SAFETY: the table names at least `count` vectors as long as w; there is room for so many sums, and for a partial
        // sum of each, and one more, a thread block.
        Ok(unsafe { self.many_dots.launch(blocks, 256).record(&arguments).enqueue(stream) }?)
    }

    /// Classical Gram-Schmidt, twice: w becomes orthogonal to the first `count` of `v`. `h` gets the products and last |w|; |w| before
    /// comes back.
    pub(super) fn orthogonalize(
        &mut self,
        share: Option<&ShareCuda>,
        stream: &Stream,
        (v, count): (&Family, usize),
        w: &mut DeviceBuffer<f64>,
        h: &mut [f64],
    ) -> Result<f64, GpuError> {
        if let Some(share) = share {
            return self.orthogonalize_over(share, stream, (v, count), w, h);
        }
        for first in [true, false] {
            self.dots(stream, (v, count), w, first, first.then_some(0))?;
            self.combine(stream, (v, self.pass.part(0..count)), -1.0, w)?;
        }
        self.dots(stream, (v, 0), w, false, Some(1))?;
        self.sums.download_later(&mut self.host)?;
        stream.synchronize()?;
        h[..count].copy_from_slice(&self.host[NORMS..NORMS + count]);
        h[count] = self.host[1].sqrt();
        Ok(self.host[0].sqrt())
    }

    /// The same with products that are summed over ranks.
    fn orthogonalize_over(
        &mut self,
        share: &ShareCuda,
        stream: &Stream,
        (v, count): (&Family, usize),
        w: &mut DeviceBuffer<f64>,
        h: &mut [f64],
    ) -> Result<f64, GpuError> {
        let (mut products, mut before) = (vec![0.0; count + 1], 0.0);
        h[..count].fill(0.0);
        for first in [true, false] {
            self.dots(stream, (v, count), w, true, first.then_some(0))?;
            self.sums.download_later(&mut self.host)?;
            stream.synchronize()?;
            products[..count].copy_from_slice(&self.host[NORMS..NORMS + count]);
            products[count] = if first { self.host[0] } else { 0.0 };
            share.sum(&mut products);
            if first {
                before = products[count].sqrt();
            }
            h.iter_mut().zip(&products[..count]).for_each(|(h, product)| *h += product);
            self.pass.upload_part(0..count, &products[..count])?;
            self.combine(stream, (v, self.pass.part(0..count)), -1.0, w)?;
        }
        self.dots(stream, (v, 0), w, false, Some(1))?;
        self.sums.download_later(&mut self.host)?;
        stream.synchronize()?;
        let mut square = [self.host[1]];
        share.sum(&mut square);
        h[count] = square[0].sqrt();
        Ok(before)
    }

    /// y += sign * sum of a_i v_i
    pub(super) fn combine(
        &self,
        stream: &Stream,
        (v, a): (&Family, DeviceSlice<'_, f64>),
        sign: f64,
        y: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        let blocks = y.len().div_ceil(256).clamp(1, self.blocks);
        let (n, count, v) = (y.len() as u64, a.len() as u32, &v.table);
        let arguments = kernel_arguments!(Combine { n, count, v, a, sign, y });
        // SAFETY: the table names at least as many vectors as there are factors, all as long as y.
        Ok(unsafe { self.combine.launch(blocks, 256).record(&arguments).enqueue(stream) }?)
    }
}
