#![allow(unsafe_code)]
//! A rank's share of a system whose vectors lie on a device: exchanges of ghost rows between devices.
//!
//! | file | |
//! |---|---|
//! | `lists.rs` | which rows pass, on the device |
//! | `images.rs` | rows that are images of others, turned |
//! | `folds.rs` | blocks in the columns of images |
//! | `boxes.rs` | room for messages on the device |
//! | `nccl.rs` | messages by NCCL |
//! | `staged.rs` | messages through page-locked memory and the communicator of the ranks |
//! | `window.rs` | memory of a rank that the devices of others reach, in one process or in several |
//! | `peer.rs` | messages that a device writes into the memory of another one |
//! | `halo.cu` | rows into messages and out of them |
//! | `direct.rs`, `direct.cuh` | rows that kernels of sweeps write into the x of another device, and numbers that kernels wait for |
//!
//! All ways move the same bits.

mod arguments;
mod boxes;
mod direct;
#[cfg(test)]
mod direct_tests;
mod folds;
mod images;
#[cfg(test)]
mod ipc_tests;
mod lists;
mod nccl;
mod peer;
mod staged;
#[cfg(test)]
mod tests;
mod window;

use super::{DeviceJacobian, GpuError, Storage, source};
use crate::dist::{Links, Share};
pub(crate) use arguments::Posts;
use arguments::{EmptyRows, FoldedBlocks, ImagesOfRows, RowsInBoxes, RowsOfVector, UnitRows};
use chromaflow_comm::{Communicator, Op};
use chromaflow_device::cuda::{
    DeviceBuffer, DeviceSlice, Gpu, Kernel, KernelSource, Read, Share as Pointer, Stream, Write,
};
use chromaflow_device::{kernel_arguments, kernels};
pub(crate) use direct::{Direct, MAIL};
pub(crate) use folds::FoldsCuda;
use images::ImagesCuda;
use lists::{List, Side};
use nccl::ByNccl;
use peer::Peers;
use staged::Staged;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
pub use window::Between;

const TEXT: &str = include_str!("halo.cu");

/// The kernels of halo.cu.
pub(crate) fn kernel_source() -> KernelSource {
    let text = format!("{MAIL}\n#line 1 \"halo.cu\"\n{TEXT}");
    source("halo", &text, Storage::F64).records::<Kernels>().record::<Posts>()
}

/// How messages are to pass between devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wish {
    /// From device to device where all neighbors can, in one process or in several of a host, else by NCCL; [`ShareCuda::path`] says which it
    /// is.
    #[default]
    Shortest,
    /// The same, but where devices write into one another's memory no kernel of a sweep waits: events of the streams do, between processes
    /// kernels of exchanges.
    Posted,
    /// By NCCL.
    Nccl,
    /// Through the host: slow, and never chosen unasked.
    Staged,
}

/// How messages pass between devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Path {
    /// Each device writes into the memory of its neighbors; kernels of sweeps do so themselves, and wait for one another.
    Direct(Between),
    /// Each device writes into the memory of its neighbors; devices wait for events, or kernels of exchanges for one another.
    Peer(Between),
    /// By NCCL of this version, and why not by a shorter way.
    Nccl(String),
    /// Through page-locked memory and the communicator, and why.
    Staged(String),
}

impl Wish {
    /// Whether rows can pass so, as far as it is known before there is a mesh: between hosts, between devices that cannot reach one another's
    /// memory and where it is asked for, NCCL must be there. Collective.
    ///
    /// # Errors
    /// [`GpuError::NoWay`] on all ranks alike; [`GpuError::Ranks`] when another rank has failed.
    pub fn check(self, ranks: &dyn Communicator, gpu: &Gpu) -> Result<(), GpuError> {
        if ranks.size() < 2 || self == Self::Staged {
            return Ok(());
        }
        let why = match self {
            Self::Nccl => "NCCL was asked for".to_owned(),
            _ => match peer::far(ranks, gpu)? {
                None => return Ok(()),
                Some(why) => why,
            },
        };
        match nccl::missing(ranks, gpu)? {
            None => Ok(()),
            Some(missing) => Err(GpuError::NoWay { why: format!("{why}; {missing}") }),
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Direct(between) => write!(f, "peer stores within sweeps{between}"),
            Self::Peer(between) => write!(f, "peer stores{between}"),
            Self::Nccl(version) => write!(f, "NCCL ({version})"),
            Self::Staged(why) => write!(f, "staged by page-locked memory of the host ({why})"),
        }
    }
}

/// A rank's share of a system on a device. What [`Share`] is to vectors on the host, this is to those on a device: ghosts of *solutions*
/// are their owners', ghosts of *residuals* are zero.
///
/// What fails between ranks is remembered by [`Share::check`], as on the host; nothing passes from there on.
///
/// **Order**: all work is enqueued on one stream. A device waits for what its neighbors' hosts have enqueued before, or the host waits for
/// messages. Kernels wait for those of other ranks ([`Path::Direct`], [`Path::Nccl`]) only where each rank has a device of its own;
/// elsewhere streams wait for events, and ranks may share a device.
pub struct ShareCuda {
    share: Arc<Share>,
    stream: Stream,
    kernels: Kernels,
    /// All ghosts, and those of each color that matrices read.
    all: List,
    colors: Vec<List>,
    /// Rows that are images of others, where there are any.
    images: Option<ImagesCuda>,
    /// Rows of others.
    ghosts: DeviceBuffer<u32>,
    /// Rows whose blocks are not all here.
    incomplete: DeviceBuffer<u32>,
    /// Words of the widest row.
    widest: usize,
    way: Mutex<Way>,
    path: Path,
}

enum Way {
    Peer(Peers),
    Nccl(ByNccl),
    Staged(Staged),
}

impl Way {
    /// The shortest one that is wished for and open to all ranks. Nothing passes through the host unless that is asked for. Collective.
    fn find(share: &Arc<Share>, stream: &Stream, words: usize, wish: Wish) -> Result<(Self, Path), GpuError> {
        let mut faults = Vec::new();
        if share.ranks().size() == 1 && share.ranks().in_process().is_none() {
            let staged = Staged::new(share.halo().neighbors(), stream, words)?;
            return Ok((Self::Staged(staged), Path::Staged("one rank sends nothing".to_owned())));
        }
        // Kernels of sweeps pass rows as they are, not as they look when they are turned.
        let mut turns = [f64::from(u8::from(!share.images().is_empty()))];
        share.ranks().reduce(Op::Max, &mut turns)?;
        if matches!(wish, Wish::Shortest | Wish::Posted) {
            match Peers::new(share, stream, words)? {
                Ok(peers) => {
                    peers.watched_by(share);
                    let waits = wish == Wish::Shortest && peers.may_wait() && turns == [0.0];
                    let between = peers.between();
                    let path = if waits { Path::Direct(between) } else { Path::Peer(between) };
                    return Ok((Self::Peer(peers), path));
                }
                Err(why) => faults.push(why),
            }
        }
        if wish != Wish::Staged {
            let nccl = match ByNccl::new(share, stream, words)? {
                Ok(nccl) => nccl,
                Err(why) => {
                    faults.push(why);
                    return Err(GpuError::NoWay { why: faults.join("; ") });
                }
            };
            nccl.watched_by(share);
            faults.insert(0, nccl.version().to_owned());
            return Ok((Self::Nccl(nccl), Path::Nccl(faults.join("; "))));
        }
        let staged = Staged::new(share.halo().neighbors(), stream, words)?;
        Ok((Self::Staged(staged), Path::Staged("as asked for".to_owned())))
    }
}

kernels! {
    struct Kernels {
        send_rows: RowsInBoxes,
        receive_rows: RowsInBoxes,
        // These two with posts.
        send_and_tell: RowsInBoxes,
        await_and_receive: RowsInBoxes,
        gather_rows: RowsOfVector,
        scatter_rows: RowsOfVector,
        clear_rows: RowsOfVector,
        poison_rows: RowsOfVector,
        identity_rows: UnitRows,
        empty_rows: EmptyRows,
        image_rows: ImagesOfRows,
        fold_blocks: FoldedBlocks,
    }
}

/// Which rows an exchange is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ghosts {
    /// All.
    All,
    /// Those of a color.
    Color(usize),
}

impl Ghosts {
    /// As errors say it, of so many colors.
    fn in_words(self, colors: usize) -> String {
        match self {
            Self::All => "the exchange of all ghosts".to_owned(),
            Self::Color(color) => format!("color {} of {colors}", color + 1),
        }
    }
}

impl ShareCuda {
    /// On the device of `stream`, for rows of up to `widest` numbers in f64; collective. `incomplete` are rows whose blocks in a matrix
    /// are not all here: ghosts that nobody solves for.
    ///
    /// # Errors
    /// [`GpuError::Cuda`]; [`GpuError::NoWay`] where rows cannot pass as is wished for; [`GpuError::Ranks`] when another rank has failed.
    pub fn new(
        share: &Arc<Share>,
        stream: &Stream,
        incomplete: &[u32],
        widest: usize,
        wish: Wish,
    ) -> Result<Self, GpuError> {
        let kernels = Kernels::of(&stream.gpu().module(&kernel_source())?)?;
        let neighbors = share.halo().neighbors();
        let ghosts: Vec<u32> =
            share.ghosts().iter().flat_map(|run| run.start as u32..run.end as u32).collect();
        let words = 2 * widest;
        let (way, path) = Way::find(share, stream, words, wish)?;
        let list = |of| List::new(stream, neighbors, of);
        Ok(Self {
            images: ImagesCuda::new(stream, share.images(), share.batches(), kernels.image_rows.clone())?,
            kernels,
            all: list(neighbors)?,
            colors: share.batches().iter().map(|batch| list(&batch.neighbors)).collect::<Result<_, _>>()?,
            ghosts: stream.upload(&ghosts)?,
            incomplete: stream.upload(incomplete)?,
            widest: words,
            way: Mutex::new(way),
            path,
            share: Arc::clone(share),
            stream: stream.clone(),
        })
    }

    /// The same rows for vectors on the host.
    pub fn share(&self) -> &Arc<Share> {
        &self.share
    }

    /// The stream of all work.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// What sweeps over an x of so many words need to pass rows themselves; none where messages pass another way. Collective. `delay` is
    /// for tests.
    ///
    /// # Errors
    /// [`GpuError::Cuda`]; [`GpuError::Ranks`] when another rank has failed.
    pub(crate) fn direct(&self, words: usize, delay: Option<u32>) -> Result<Option<Direct>, GpuError> {
        match &*self.way() {
            Way::Peer(peers) if matches!(self.path, Path::Direct(_)) => {
                Direct::new(&self.share, &self.stream, peers, words, delay).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Whether exchanges may be recorded in a graph: no host takes part in them.
    pub fn is_recordable(&self) -> bool {
        matches!(self.path, Path::Nccl(_)) || self.share.ranks().size() == 1
    }

    /// How messages pass.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Ghost rows of a solution become those of their owners. Collective.
    ///
    /// **Shapes**: x `[owned and ghost rows, width]`.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn exchange(&self, width: usize, x: &DeviceSlice<'_, f64>) -> Result<(), GpuError> {
        assert_eq!(x.len(), width * self.share.rows());
        // SAFETY: x has so many numbers, of two words each.
        unsafe {
            self.start(Ghosts::All, 2 * width, x.ptr())?;
            self.finish(Ghosts::All, (width, 8), x.ptr())
        }
    }

    /// Ghosts become those of their owners, and images have their rows' factors. Twin: [`Share::exchange_factors`]. Collective.
    ///
    /// **Shapes**: x `[owned and ghost rows, width]`.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn exchange_factors(&self, width: usize, x: &DeviceSlice<'_, f64>) -> Result<(), GpuError> {
        assert_eq!(x.len(), width * self.share.rows());
        // SAFETY: as in `exchange`.
        unsafe {
            self.start(Ghosts::All, 2 * width, x.ptr())?;
            self.receive(Ghosts::All, 2 * width, x.ptr())?;
            match &self.images {
                None => Ok(()),
                Some(images) => images.fill_factors(&self.stream, width, x.ptr()),
            }
        }
    }

    /// Ghost rows become zero: what makes a residual of a product.
    ///
    /// **Shapes**: x `[owned and ghost rows, width]`.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn clear(&self, width: usize, x: &DeviceSlice<'_, f64>) -> Result<(), GpuError> {
        assert_eq!(x.len(), width * self.share.rows());
        let words = 2 * width;
        // SAFETY: ghosts are rows of x; nothing is packed.
        unsafe { self.move_rows(&self.kernels.clear_rows, &self.ghosts, words, x.ptr(), 0) }
    }

    /// Gives rows whose blocks are not all here, and which nobody solves for, diagonal blocks that can be inverted.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn identities(&self, nb: usize, diag: &DeviceBuffer<f64>) -> Result<(), GpuError> {
        assert_eq!(diag.len(), nb * nb * self.share.rows());
        let count = self.incomplete.len();
        let arguments = kernel_arguments! { UnitRows {
            count: count as u32, nb: nb as u32, rows: &self.incomplete, diag,
        } };
        let launch =
            self.kernels.identity_rows.launch((count * nb * nb).div_ceil(256), 256).record(&arguments);
        // SAFETY: the rows are those of a matrix with so many diagonal blocks.
        Ok(unsafe { launch.enqueue(&self.stream) }?)
    }

    /// Takes the off-diagonal blocks of such rows out of a matrix that is yet to be narrowed: they have no say in what is largest.
    ///
    /// # Errors
    /// [`GpuError::Cuda`]; [`GpuError::Unsupported`] once the values are narrowed.
    pub fn without_incomplete(&self, jacobian: &DeviceJacobian) -> Result<(), GpuError> {
        assert_eq!(jacobian.pattern().rows(), self.share.rows());
        let words = jacobian.nb() * jacobian.nb() * jacobian.off.storage().bytes() / 4;
        let arguments = kernel_arguments! { EmptyRows {
            words: words as u32, rows: &self.incomplete, row_ptr: &*jacobian.row_ptr,
            off: Write::at(jacobian.off.assembled()?),
        } };
        let launch = self.kernels.empty_rows.launch(self.incomplete.len(), 128).record(&arguments);
        // SAFETY: the rows are those of the matrix, whose blocks have so many words.
        Ok(unsafe { launch.enqueue(&self.stream) }?)
    }

    /// Copies the rows in a list, of `words` words, one after the other; or, with `back`, from there to their places.
    ///
    /// # Safety
    /// `x` has the rows of the list, `packed` room for as many.
    pub(crate) unsafe fn pack(
        &self,
        rows: &DeviceBuffer<u32>,
        words: usize,
        x: u64,
        packed: u64,
        back: bool,
    ) -> Result<(), GpuError> {
        let kernel = if back { &self.kernels.scatter_rows } else { &self.kernels.gather_rows };
        // SAFETY: the caller's promise.
        unsafe { self.move_rows(kernel, rows, words, x, packed) }
    }

    unsafe fn move_rows(
        &self,
        kernel: &Kernel,
        rows: &DeviceBuffer<u32>,
        words: usize,
        x: u64,
        packed: u64,
    ) -> Result<(), GpuError> {
        let arguments = kernel_arguments! { RowsOfVector {
            count: rows.len() as u32, words: words as u32, rows, x: Pointer::at(x),
            packed: Pointer::at(packed),
        } };
        let launch = kernel.launch((rows.len() * words).div_ceil(256), 256).record(&arguments);
        // SAFETY: the caller's promise.
        Ok(unsafe { launch.enqueue(&self.stream) }?)
    }

    /// Sends own rows of x, as they are once all work enqueued before is done; rows that are not sent may be changed from there on. Each is
    /// followed by its [`finish`](Self::finish).
    ///
    /// # Safety
    /// x has `words` words a row.
    pub(crate) unsafe fn start(&self, ghosts: Ghosts, words: usize, x: u64) -> Result<(), GpuError> {
        assert!(words <= self.widest, "rows of {words} words, set up for {}", self.widest);
        let (list, mut way) = (self.list(ghosts), self.way());
        let told = self.told(&way, ghosts);
        let partners = self.partners(list, told.as_ref());
        if partners.is_empty() || self.share.check().is_err() {
            return Ok(());
        }
        let boxes = match &*way {
            Way::Peer(peers) => peers.outgoing(partners),
            Way::Nccl(nccl) => (&nccl.boxes.addresses[0], 0),
            Way::Staged(staged) => (&staged.boxes.addresses[0], 0),
        };
        let kernel = if told.is_some() { &self.kernels.send_and_tell } else { &self.kernels.send_rows };
        // SAFETY: boxes have room for all rows that pass to a neighbor, and the caller's promise; `Peers` keeps what numbers need.
        unsafe {
            self.pass_rows(kernel, &list.send, boxes, (words, x), told.as_ref())?;
            // As on the host. Ghosts of a color may still be read, as they were.
            if cfg!(debug_assertions) && ghosts == Ghosts::All {
                self.move_rows(&self.kernels.poison_rows, &list.receive.rows, words, x, 0)?;
            }
        }
        match &mut *way {
            Way::Peer(peers) => peers.post(partners, told.is_none()),
            Way::Nccl(nccl) => nccl.pass(list, words, &self.stream),
            Way::Staged(staged) => staged.download(list, words, &self.stream),
        }
    }

    /// Waits for the neighbors' rows, the device or the host as the way is, and writes them into the ghosts of x; images follow.
    ///
    /// # Safety
    /// As [`start`](Self::start), of the same x, whose rows are `width` numbers of `bytes` bytes.
    pub(crate) unsafe fn finish(
        &self,
        ghosts: Ghosts,
        (width, bytes): (usize, usize),
        x: u64,
    ) -> Result<(), GpuError> {
        let color = match ghosts {
            Ghosts::All => None,
            Ghosts::Color(color) => Some(color),
        };
        // SAFETY: the caller's promise.
        unsafe {
            self.receive(ghosts, width * bytes / 4, x)?;
            match &self.images {
                None => Ok(()),
                Some(images) => images.fill(&self.stream, color, (width, bytes), x),
            }
        }
    }

    unsafe fn receive(&self, ghosts: Ghosts, words: usize, x: u64) -> Result<(), GpuError> {
        let (list, mut way) = (self.list(ghosts), self.way());
        let told = self.told(&way, ghosts);
        let partners = self.partners(list, told.as_ref());
        if partners.is_empty() || self.share.check().is_err() {
            return Ok(());
        }
        let arrived = match &mut *way {
            Way::Peer(peers) => peers.take(&self.share, partners, told.is_none())?,
            Way::Nccl(nccl) => nccl.take(&self.stream).map(|()| true)?,
            Way::Staged(staged) => staged.pass(&self.share, (list, ghosts), words, &self.stream)?,
        };
        if !arrived {
            return Ok(());
        }
        let boxes = match &*way {
            Way::Peer(peers) => peers.incoming(partners),
            Way::Nccl(nccl) => (&nccl.boxes.addresses[1], 0),
            Way::Staged(staged) => (&staged.boxes.addresses[1], 0),
        };
        let kernel =
            if told.is_some() { &self.kernels.await_and_receive } else { &self.kernels.receive_rows };
        // SAFETY: as in `start`.
        unsafe { self.pass_rows(kernel, &list.receive, boxes, (words, x), told.as_ref())? };
        if let Way::Peer(peers) = &mut *way {
            peers.next(partners, told.is_some());
        }
        Ok(())
    }

    /// The number of an exchange whose kernels tell the neighbors and wait for them: one with all neighbors, where kernels may; between
    /// processes each.
    fn told(&self, way: &Way, ghosts: Ghosts) -> Option<Posts> {
        let Way::Peer(peers) = way else { return None };
        let all = matches!(self.path, Path::Direct(_)) && ghosts == Ghosts::All;
        (all || peers.between() == Between::Processes).then(|| peers.posts())
    }

    /// Whom an exchange of these rows is with: where kernels tell it, all neighbors, who await it.
    fn partners<'a>(&'a self, list: &'a List, told: Option<&Posts>) -> &'a [usize] {
        if told.is_some() { &self.all.partners } else { &list.partners }
    }

    fn list(&self, ghosts: Ghosts) -> &List {
        match ghosts {
            Ghosts::All => &self.all,
            Ghosts::Color(color) => &self.colors[color],
        }
    }

    fn way(&self) -> MutexGuard<'_, Way> {
        self.way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    unsafe fn pass_rows(
        &self,
        kernel: &Kernel,
        side: &Side,
        (boxes, turns): (&DeviceBuffer<u64>, u64),
        (words, x): (usize, u64),
        told: Option<&Posts>,
    ) -> Result<(), GpuError> {
        let arguments = kernel_arguments! { RowsInBoxes {
            count: side.rows.len() as u32, words: words as u32, rows: &side.rows,
            places: Read::at(side.places.ptr()), boxes, turns, x: Pointer::at(x),
        } };
        let blocks = (side.rows.len() * words).div_ceil(256);
        // Without rows, too, neighbors are told and awaited.
        let launch = kernel.launch(blocks.max(usize::from(told.is_some())), 256).record(&arguments);
        let launch = if let Some(posts) = told { launch.record(posts) } else { launch };
        // SAFETY: the caller's promise.
        Ok(unsafe { launch.enqueue(&self.stream) }?)
    }

    /// Sums over this rank's rows become sums over all.
    pub fn sum(&self, values: &mut [f64]) {
        self.share.sum(values);
    }

    /// The lowest of all ranks' rows, by their numbers in the whole system, of each of some findings; none where nobody has found one.
    pub fn lowest<const N: usize>(&self, found: [Option<usize>; N]) -> [Option<usize>; N] {
        let mut found = found;
        self.sum_and_lowest(&mut [], &mut found);
        found
    }

    /// The same, and numbers become their sums over all ranks, by one message.
    pub fn sum_and_lowest(&self, sums: &mut [f64], found: &mut [Option<usize>]) {
        let mut least: Vec<f64> =
            found.iter().map(|row| row.map_or(f64::INFINITY, |row| row as f64)).collect();
        self.share.sum_and_least(sums, &mut least);
        for (row, least) in found.iter_mut().zip(least) {
            *row = least.is_finite().then_some(least as usize);
        }
    }

    /// The number of a row in the whole system.
    pub fn global(&self, row: usize) -> usize {
        self.share.global()[row] as usize
    }
}

impl fmt::Debug for ShareCuda {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShareCuda").field("path", &self.path).finish_non_exhaustive()
    }
}
