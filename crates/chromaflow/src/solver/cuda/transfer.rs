#![allow(unsafe_code)]
//! What comes from a caller and goes back, on the host or on the device: values.cu.

use crate::gpu::{DeviceJacobian, DeviceOff, GpuError, Storage, source};
use crate::solver::BlockLayout;
use chromaflow_device::cuda::{DeviceBuffer, Kernel, KernelSource, Stream};

/// An array to read, on the host or on the device.
#[derive(Clone, Copy, Debug)]
pub enum ArrayIn<'a> {
    /// On the host.
    Host(&'a [f64]),
    /// On the device, in the order of the solver's stream.
    Device(&'a DeviceBuffer<f64>),
}

/// An array to change, on the host or on the device.
#[derive(Debug)]
pub enum ArrayOut<'a> {
    /// On the host.
    Host(&'a mut [f64]),
    /// On the device, in the order of the solver's stream.
    Device(&'a mut DeviceBuffer<f64>),
}

impl ArrayIn<'_> {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            ArrayIn::Host(v) => v.len(),
            ArrayIn::Device(v) => v.len(),
        }
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One value.
    pub(super) fn value(&self, at: usize) -> Result<f64, GpuError> {
        match self {
            ArrayIn::Host(v) => Ok(v[at]),
            ArrayIn::Device(v) => {
                let mut one = [0.0];
                v.download_part_into(at..at + 1, &mut one)?;
                Ok(one[0])
            }
        }
    }
}

impl ArrayOut<'_> {
    /// The same to read.
    pub fn as_in(&self) -> ArrayIn<'_> {
        match self {
            ArrayOut::Host(v) => ArrayIn::Host(v),
            ArrayOut::Device(v) => ArrayIn::Device(v),
        }
    }
}

impl<'a> From<&'a [f64]> for ArrayIn<'a> {
    fn from(v: &'a [f64]) -> Self {
        ArrayIn::Host(v)
    }
}

impl<'a> From<&'a Vec<f64>> for ArrayIn<'a> {
    fn from(v: &'a Vec<f64>) -> Self {
        ArrayIn::Host(v)
    }
}

impl<'a> From<&'a DeviceBuffer<f64>> for ArrayIn<'a> {
    fn from(v: &'a DeviceBuffer<f64>) -> Self {
        ArrayIn::Device(v)
    }
}

impl<'a> From<&'a mut [f64]> for ArrayOut<'a> {
    fn from(v: &'a mut [f64]) -> Self {
        ArrayOut::Host(v)
    }
}

impl<'a> From<&'a mut Vec<f64>> for ArrayOut<'a> {
    fn from(v: &'a mut Vec<f64>) -> Self {
        ArrayOut::Host(v)
    }
}

impl<'a> From<&'a mut DeviceBuffer<f64>> for ArrayOut<'a> {
    fn from(v: &'a mut DeviceBuffer<f64>) -> Self {
        ArrayOut::Device(v)
    }
}

const THREADS: usize = 256;

/// The kernels' text.
pub(crate) fn transfer_source() -> KernelSource {
    source("values", include_str!("values.cu"), Storage::F32)
}

/// Between the caller's order and the one inside. Arrays of the host pass through memory of the device that is kept.
pub(super) struct Transfer {
    stream: Stream,
    nb: usize,
    rows: usize,
    /// Most thread blocks.
    blocks: usize,
    take_blocks: Kernel,
    take_vector: Kernel,
    give_vector: Kernel,
    count_underflow: Kernel,
    /// The caller's block of each block inside, diagonal ones first.
    source: DeviceBuffer<u32>,
    /// The caller's row of each row inside.
    old: DeviceBuffer<u32>,
    /// Least positions of numbers that are none: of blocks or b, and of x. Then a count.
    bad: DeviceBuffer<u64>,
    /// Arrays of the host on their way, from the first one on: blocks, vectors.
    staged_blocks: Option<DeviceBuffer<f64>>,
    staged_vector: Option<DeviceBuffer<f64>>,
}

/// No position.
const NONE: u64 = u64::MAX;

impl Transfer {
    pub(super) fn new(stream: &Stream, nb: usize, source: &[u32], old: &[u32]) -> Result<Self, GpuError> {
        let module = stream.gpu().module(&transfer_source())?;
        Ok(Self {
            stream: stream.clone(),
            nb,
            rows: old.len(),
            blocks: 8 * stream.gpu().facts().multiprocessors,
            take_blocks: module.kernel("take_blocks")?,
            take_vector: module.kernel("take_vector")?,
            give_vector: module.kernel("give_vector")?,
            count_underflow: module.kernel("count_underflow")?,
            source: stream.upload(source)?,
            old: stream.upload(old)?,
            bad: DeviceBuffer::zeroed(stream, 3)?,
            staged_blocks: None,
            staged_vector: None,
        })
    }

    fn grid(&self, n: usize) -> usize {
        n.div_ceil(THREADS).clamp(1, self.blocks)
    }

    /// Device memory that holds what was given.
    fn staged(
        stream: &Stream,
        room: &mut Option<DeviceBuffer<f64>>,
        given: ArrayIn<'_>,
    ) -> Result<u64, GpuError> {
        let values = match given {
            ArrayIn::Device(v) => return Ok(v.ptr()),
            ArrayIn::Host(v) => v,
        };
        if room.is_none() {
            *room = Some(DeviceBuffer::uninitialized(stream, values.len())?);
        }
        let room = room.as_mut().expect("made above");
        room.upload(values)?;
        Ok(room.ptr())
    }

    /// Takes the caller's blocks into `whole` and, off-diagonal ones in f32, into `reduced`; the position of the first number that
    /// is none.
    pub(super) fn take_blocks(
        &mut self,
        given: ArrayIn<'_>,
        layout: BlockLayout,
        whole: &DeviceJacobian,
        reduced: Option<&mut DeviceJacobian>,
    ) -> Result<Option<usize>, GpuError> {
        let from = Self::staged(&self.stream, &mut self.staged_blocks, given)?;
        self.bad.fill_bytes(0xff)?;
        let DeviceOff::F64(off) = &whole.off else { unreachable!("kept in f64") };
        let narrow = reduced.as_ref().map_or(0, |r| r.off.ptr());
        let launch = self.take_blocks.launch(self.grid(given.len()), THREADS);
        let launch = launch.arg(self.source.len() as u64).arg(self.rows as u32).arg(self.nb as u32);
        let launch = launch.arg(u32::from(layout == BlockLayout::RowMajor)).arg(&self.source).arg(from);
        let launch = launch.arg(&whole.diag).arg(off).arg(narrow).arg(self.bad.part(0..1));
        // SAFETY: `source` has a block of the caller for every block of the matrix, whose arrays were made for it.
        unsafe { launch.enqueue(&self.stream)? };
        if let Some(reduced) = reduced {
            reduced.diag.copy_from(&whole.diag.slice())?;
        }
        Ok(self.found()?[0])
    }

    /// Takes vectors into the order inside; of each the position of the first number that is none, where they are looked for.
    pub(super) fn take(
        &mut self,
        what: &mut [(ArrayIn<'_>, &mut DeviceBuffer<f64>)],
    ) -> Result<(), GpuError> {
        self.bad.fill_bytes(0xff)?;
        for (i, (given, to)) in what.iter_mut().enumerate() {
            let from = Self::staged(&self.stream, &mut self.staged_vector, *given)?;
            let launch = self.take_vector.launch(self.grid(to.len()), THREADS).arg(to.len() as u64);
            let launch = launch.arg(self.nb as u32).arg(&self.old).arg(from).arg(&**to);
            // SAFETY: both hold a value an unknown, `old` a row of the caller for every row.
            unsafe { launch.arg(self.bad.part(i..i + 1)).enqueue(&self.stream)? };
        }
        Ok(())
    }

    /// The positions that were found last; waits.
    pub(super) fn found(&self) -> Result<[Option<usize>; 2], GpuError> {
        let mut found = [0; 2];
        self.bad.download_part_into(0..2, &mut found)?;
        Ok(found.map(|at| (at != NONE).then_some(at as usize)))
    }

    /// Gives a vector in the caller's order.
    pub(super) fn give(&mut self, from: &DeviceBuffer<f64>, to: ArrayOut<'_>) -> Result<(), GpuError> {
        let room = match &to {
            ArrayOut::Device(v) => v.ptr(),
            ArrayOut::Host(_) => {
                if self.staged_vector.is_none() {
                    self.staged_vector = Some(DeviceBuffer::uninitialized(&self.stream, from.len())?);
                }
                self.staged_vector.as_ref().map_or(0, DeviceBuffer::ptr)
            }
        };
        let launch = self.give_vector.launch(self.grid(from.len()), THREADS).arg(from.len() as u64);
        // SAFETY: as in `take`.
        unsafe { launch.arg(self.nb as u32).arg(&self.old).arg(from).arg(room).enqueue(&self.stream)? };
        if let ArrayOut::Host(v) = to {
            self.staged_vector.as_ref().expect("made above").download_into(v)?;
        }
        Ok(())
    }

    /// How many values are lost in f16.
    pub(super) fn underflowed(
        &mut self,
        values: &DeviceBuffer<f32>,
        scale: &DeviceBuffer<f32>,
    ) -> Result<usize, GpuError> {
        self.bad.fill_bytes_of(2..3, 0)?;
        let launch = self.count_underflow.launch(self.grid(values.len()), THREADS).arg(values.len() as u64);
        // SAFETY: one scale, one count.
        unsafe { launch.arg(values).arg(scale).arg(self.bad.part(2..3)).enqueue(&self.stream)? };
        let mut count = [0];
        self.bad.download_part_into(2..3, &mut count)?;
        Ok(count[0] as usize)
    }

    pub(super) fn bytes(&self) -> usize {
        let staged =
            [&self.staged_blocks, &self.staged_vector].map(|b| b.as_ref().map_or(0, DeviceBuffer::bytes));
        self.source.bytes() + self.old.bytes() + staged[0] + staged[1]
    }
}
