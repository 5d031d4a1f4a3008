#![allow(unsafe_code)]
//! What comes from a caller and goes back, on the host or on the device: values.cu.

use crate::gpu::{DeviceJacobian, DeviceOff, GpuError, Storage, source};
use crate::solver::BlockLayout;
use chromaflow_device::cuda::{DeviceBuffer, KernelSource, Read, Share, Stream, Write};
use chromaflow_device::{kernel_arguments, kernel_record, kernels};

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
    /// The same once more.
    pub(super) fn again(&mut self) -> ArrayOut<'_> {
        match self {
            ArrayOut::Host(v) => ArrayOut::Host(v),
            ArrayOut::Device(v) => ArrayOut::Device(v),
        }
    }

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
    source("values", include_str!("values.cu"), Storage::F32).records::<Entries>()
}

kernel_record! {
    /// Values of a vector inside, how many rows the caller has, and which of them each row inside is; others are rows of other ranks.
    struct Order { n: u64, nb: u32, rows: u32, old: Read<u32> }
}

kernels! {
    struct Entries {
        take_blocks: TakeBlocks {
            blocks: u64, rows: u32, nb: u32, by_rows: u32, source: Read<u32>, given: Read<f64>, diag: Write<f64>,
            off: Write<f64>, narrow: Write<f32>, bad: Share<u64>,
        },
        take_vector: TakeVector {
            order: Order, given: Read<f64>, to: Write<f64>, bad: Share<u64>, largest: Share<f64>,
        },
        give_vector: GiveVector { order: Order, from: Read<f64>, to: Write<f64> },
        count_underflow: CountUnderflow { n: u64, values: Read<f32>, scale: Read<f32>, count: Share<u64> },
    }
}

/// Between the caller's order and the one inside. Arrays of the host pass through memory of the device that is kept.
pub(super) struct Transfer {
    stream: Stream,
    nb: usize,
    /// Inside, and those of them that the caller has.
    rows: usize,
    own: usize,
    /// Most thread blocks.
    blocks: usize,
    entries: Entries,
    /// The caller's block of each block inside, diagonal ones first; of rows of other ranks [`Layout::GHOST`](super::Layout).
    source: DeviceBuffer<u32>,
    /// The caller's row of each row inside.
    old: DeviceBuffer<u32>,
    /// Least positions of numbers that are none: of blocks or b, and of x. Then a count.
    bad: DeviceBuffer<u64>,
    /// Largest magnitudes of b and x.
    largest: DeviceBuffer<f64>,
    /// Arrays of the host on their way, from the first one on: blocks, vectors.
    staged_blocks: Option<DeviceBuffer<f64>>,
    staged_vector: Option<DeviceBuffer<f64>>,
}

/// Whether numbers that are none are looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    At,
    Away,
}

/// No position.
const NONE: u64 = u64::MAX;

impl Transfer {
    /// `source` and `old` as the fields of these names; the caller has the first `own` rows.
    pub(super) fn new(
        stream: &Stream,
        nb: usize,
        source: &[u32],
        (old, own): (&[u32], usize),
    ) -> Result<Self, GpuError> {
        let module = stream.gpu().module(&transfer_source())?;
        Ok(Self {
            stream: stream.clone(),
            nb,
            rows: old.len(),
            own,
            blocks: 8 * stream.gpu().facts().multiprocessors,
            entries: Entries::of(&module)?,
            source: stream.upload(source)?,
            old: stream.upload(old)?,
            bad: DeviceBuffer::zeroed(stream, 3)?,
            largest: DeviceBuffer::zeroed(stream, 2)?,
            staged_blocks: None,
            staged_vector: None,
        })
    }

    fn grid(&self, n: usize) -> usize {
        n.div_ceil(THREADS).clamp(1, self.blocks)
    }

    fn order(&self, n: usize) -> Order {
        Order { n: n as u64, nb: self.nb as u32, rows: self.own as u32, old: (&self.old).into() }
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
    /// is none, and of the first, where f32 has no entry of them all, that is not zero.
    pub(super) fn take_blocks(
        &mut self,
        given: ArrayIn<'_>,
        layout: BlockLayout,
        whole: &DeviceJacobian,
        reduced: Option<&mut DeviceJacobian>,
    ) -> Result<[Option<usize>; 2], GpuError> {
        let from = Self::staged(&self.stream, &mut self.staged_blocks, given)?;
        self.bad.fill_bytes(0xff)?;
        let DeviceOff::F64(off) = &whole.off else { unreachable!("kept in f64") };
        let arguments = kernel_arguments! { TakeBlocks {
            blocks: self.source.len() as u64, rows: self.rows as u32, nb: self.nb as u32,
            by_rows: layout == BlockLayout::RowMajor, source: &self.source, given: Read::at(from),
            diag: &whole.diag, off, narrow: Write::at(reduced.as_ref().map_or(0, |r| r.off.ptr())),
            bad: self.bad.part(0..3),
        } };
        let launch = self.entries.take_blocks.launch(self.grid(given.len()), THREADS).record(&arguments);
        // SAFETY: `source` has a block of the caller for every block of the matrix, whose arrays were made for it.
        unsafe { launch.enqueue(&self.stream)? };
        if let Some(reduced) = reduced {
            reduced.diag.copy_from(&whole.diag.slice())?;
        }
        let mut found = [0; 3];
        self.bad.download_part_into(0..3, &mut found)?;
        let [bad, small, held] = found.map(|at| (at != NONE).then_some(at as usize));
        Ok([bad, small.filter(|_| held.is_none())])
    }

    /// In which order of work arrays of the device are taken and given.
    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Takes vectors into the order inside; of each the position of the first number that is none and the largest magnitude, where they are
    /// looked for.
    pub(super) fn take(
        &mut self,
        what: &mut [(ArrayIn<'_>, &mut DeviceBuffer<f64>)],
        look: Look,
    ) -> Result<(), GpuError> {
        if look == Look::At {
            self.bad.fill_bytes(0xff)?;
            self.largest.fill_bytes(0)?;
        }
        for (i, (given, to)) in what.iter_mut().enumerate() {
            let given = Read::at(Self::staged(&self.stream, &mut self.staged_vector, *given)?);
            let (bad, largest): (Share<u64>, Share<f64>) = match look {
                Look::At => (self.bad.part(i..i + 1).into(), self.largest.part(i..i + 1).into()),
                Look::Away => (Share::at(0), Share::at(0)),
            };
            let order = self.order(to.len());
            let arguments = kernel_arguments!(TakeVector { order, given, to: &**to, bad, largest });
            let launch = self.entries.take_vector.launch(self.grid(to.len()), THREADS).record(&arguments);
            // SAFETY: `given` holds a value an unknown of the caller's rows, `to` one of each row inside, `old` a number for each.
            unsafe { launch.enqueue(&self.stream)? };
        }
        Ok(())
    }

    /// The positions that were found last, and the largest magnitude of b; waits.
    pub(super) fn found(&self) -> Result<([Option<usize>; 2], f64), GpuError> {
        let (mut found, mut largest) = ([0; 2], [0.0]);
        self.bad.download_part_into(0..2, &mut found)?;
        self.largest.download_part_into(0..1, &mut largest)?;
        Ok((found.map(|at| (at != NONE).then_some(at as usize)), largest[0]))
    }

    /// Gives a vector in the caller's order.
    pub(super) fn give(&mut self, from: &DeviceBuffer<f64>, to: ArrayOut<'_>) -> Result<(), GpuError> {
        let room = match &to {
            ArrayOut::Device(v) => v.ptr(),
            ArrayOut::Host(_) => {
                if self.staged_vector.is_none() {
                    self.staged_vector = Some(DeviceBuffer::uninitialized(&self.stream, self.own * self.nb)?);
                }
                self.staged_vector.as_ref().map_or(0, DeviceBuffer::ptr)
            }
        };
        let order = self.order(from.len());
        let arguments = kernel_arguments!(GiveVector { order, from, to: Write::at(room) });
        let launch = self.entries.give_vector.launch(self.grid(from.len()), THREADS).record(&arguments);
        // SAFETY: as in `take`.
        unsafe { launch.enqueue(&self.stream)? };
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
        let (n, count) = (values.len(), self.bad.part(2..3));
        let arguments = kernel_arguments!(CountUnderflow { n: n as u64, values, scale, count });
        let launch = self.entries.count_underflow.launch(self.grid(n), THREADS).record(&arguments);
        // SAFETY: one scale, one count.
        unsafe { launch.enqueue(&self.stream)? };
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
