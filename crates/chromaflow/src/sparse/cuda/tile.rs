//! Which kernel with which tile: one table.

use super::arguments::{
    PanelProduct, PanelSweep, SlicedIndex, SlicedPeerSweep, SlicedProduct, SlicedSweep, ToPanel, ToSliced,
};
use super::sell_source;
use crate::gpu::{MAIL, Storage, source};
use crate::sparse::SIGMA;
use chromaflow_device::cuda::KernelSource;

const SLICED: &str = include_str!("sliced.cu");
const PANEL: &str = include_str!("panel.cu");
const CONVERT: &str = include_str!("convert.cu");

/// A kernel design with its tile parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tile {
    /// For small blocks.
    Sliced(Sliced),
    /// For large blocks.
    Panel(Panel),
}

/// Sliced blocks (sliced.cu): chunks of rows, a lane for each column of a row's blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sliced {
    /// Rows a chunk.
    pub chunk: usize,
    /// Chunks a thread block.
    pub chunks: usize,
    /// Pairs of slots in flight.
    pub pairs: usize,
    /// Lane groups that share a row's slots.
    pub split: usize,
    /// Thread blocks a multiprocessor must hold.
    pub resident: usize,
    /// Whether the inverse diagonal is loaded before the predecessor is waited for.
    pub early: bool,
    /// Whether an odd last slot is loaded with the first pairs.
    pub odd_first: bool,
    /// Cache hint of the matrix loads (common.cuh).
    pub hint: u32,
    /// Rows among which those of like length are brought together.
    pub window: usize,
}

/// A thread block a row (panel.cu).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Panel {
    /// Threads: a multiple of half the rows of a stored column.
    pub threads: usize,
    /// Loads in flight a thread.
    pub loads: usize,
    /// Thread blocks a multiprocessor must hold.
    pub resident: usize,
    /// Whether the inverse diagonal is loaded before the predecessor is waited for.
    pub early: bool,
    /// Cache hint of the matrix loads (common.cuh).
    pub hint: u32,
}

/// What a kernel of the format computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Mode {
    /// A sweep over rows in the order of the matrix.
    Sweep = 0,
    /// A product or residual.
    Product = 1,
    /// A sweep over rows in another order.
    PermutedSweep = 2,
    /// The same that passes rows between ranks.
    PeerSweep = 3,
    /// The same that waits for rows of other ranks and sends none.
    AwaitSweep = 4,
}

impl Sliced {
    /// With the parameters most sizes share.
    pub const fn new(chunk: usize, pairs: usize, split: usize, resident: usize) -> Self {
        let early = split > 1;
        Self {
            chunk,
            chunks: 1,
            pairs,
            split,
            resident,
            early,
            odd_first: early,
            hint: if early { 1 } else { 2 },
            window: SIGMA,
        }
    }

    /// The same with the odd last slot loaded first.
    const fn odd_first(self) -> Self {
        Self { odd_first: true, ..self }
    }

    /// The same with everything but x loaded before the predecessor is waited for, and kept in L2.
    const fn early(self) -> Self {
        Self { early: true, odd_first: true, hint: 1, ..self }
    }

    /// The same with `chunks` chunks a thread block, of rows sorted by length among `window`.
    const fn near(self, chunks: usize, window: usize) -> Self {
        Self { chunks, window, ..self }
    }
}

impl Panel {
    /// About `threads` threads a row: the nearest number that the stored columns admit.
    pub fn new(nb: usize, storage: Storage, threads: usize, loads: usize) -> Self {
        let unit = padded(nb, storage) / 2;
        let least = nb.div_ceil(unit);
        // Rounded to the multiple of `unit` that wastes the fewest lanes of its last warp, near the wish.
        let waste = |n: usize| (n * unit).div_ceil(32) * 32 - n * unit;
        let wish = (threads / unit).max(least);
        let lowest = (wish * 3 / 4).max(least);
        let n =
            (lowest..=wish).min_by_key(|&n| (waste(n) * 100 / (n * unit).max(1), wish - n)).unwrap_or(wish);
        // About 800 threads a multiprocessor leave 80 registers each, which hold the loads in flight.
        let resident = (800 / (n * unit).next_multiple_of(32)).clamp(1, 16);
        Self { threads: n * unit, loads, resident, early: false, hint: 2 }
    }
}

/// Rows of a stored column of panel.cu: whole vectors of 16 bytes.
pub(crate) fn padded(nb: usize, storage: Storage) -> usize {
    nb.next_multiple_of(16 / storage.bytes())
}

impl Tile {
    /// The tile for block size `nb`, chosen by the number of rows of the largest batch and of multiprocessors.
    ///
    /// Measured on an H200 (see `bench/`); the switch points follow from how many rows it takes to fill the chip.
    pub fn choose(nb: usize, storage: Storage, largest_batch: usize, multiprocessors: usize) -> Self {
        let rows_each = largest_batch / multiprocessors.max(1);
        let (wide, half) = (storage == Storage::F64, storage.bytes() == 2);
        if nb >= 11 {
            let threads = match nb {
                11..=15 => 64,
                16 => {
                    if rows_each < 16 {
                        128
                    } else {
                        64
                    }
                }
                17..=23 => 96,
                24..=31 => 128,
                32..=47 => 256,
                _ => 384,
            };
            // As many as 80 registers hold.
            let loads = if wide {
                4
            } else if half {
                5
            } else {
                6
            };
            let threads = if half && (17..=31).contains(&nb) { threads / 2 } else { threads }.max(nb);
            return Tile::Panel(Panel::new(nb, storage, threads, loads));
        }
        Tile::Sliced(if rows_each < 16 {
            match (nb, wide) {
                (4..=6, false) => Sliced::new(8, 3, 4, 1),
                (..=6, _) => Sliced::new(8, if wide { 1 } else { 2 }, 8, 1),
                _ => Sliced::new(8, if wide { 1 } else { 2 }, 4, 1),
            }
        } else if rows_each < 320 && !wide && ((4..=6).contains(&nb) || (nb <= 3 && rows_each >= 64)) {
            match nb {
                5 | 6 if rows_each >= 180 && !half => Sliced::new(16, 1, 2, 5),
                4 if rows_each >= 180 => Sliced::new(16, 3, 2, 5),
                // As many as the registers of half-precision sums allow without spills.
                5 | 6 if rows_each >= 180 => Sliced::new(16, 3, 2, if nb == 5 { 4 } else { 2 }),
                _ => Sliced::new(16, 3, 2, 1),
            }
        } else if rows_each < 64 {
            Sliced::new(16, if wide { 1 } else { 2 }, if nb <= 2 { 4 } else { 2 }, 1)
        } else if rows_each < 800 && !wide && (3..=6).contains(&nb) {
            // Colors of a few waves of thread blocks.
            match nb {
                3 => Sliced::new(32, 3, 1, 2).early().near(4, 256),
                4 => Sliced::new(16, 3, 2, if half { 8 } else { 6 }),
                5 => Sliced::new(32, 3, 1, if half { 6 } else { 5 }).odd_first(),
                _ if half => Sliced::new(32, 3, 1, 5).odd_first(),
                _ => Sliced::new(16, 3, 1, 6).odd_first(),
            }
        } else {
            match (nb, wide) {
                (1 | 2, true) => Sliced::new(32, 2, 2, 1),
                (1, false) if rows_each < 800 => Sliced::new(32, 4, 2, 4).near(4, 128),
                (1, false) => Sliced::new(32, 4, 1, 4).early().near(8, 256),
                (2, false) => Sliced::new(16, 3, 1, 4).early().near(8, 128),
                (3, false) => Sliced::new(32, 2, 1, 10).early().near(1, 512),
                (4, false) => Sliced::new(8, 3, 1, if half { 8 } else { 6 }).odd_first().near(4, 1024),
                (5, false) if half => Sliced::new(32, 3, 1, 6).odd_first(),
                (5, false) => Sliced::new(32, 3, 1, 5),
                (3..=5, true) => Sliced::new(32, 2, 1, 3),
                (6, false) if half => Sliced::new(32, 3, 1, 5).odd_first(),
                (6, false) => Sliced::new(16, 3, 1, 6).odd_first(),
                (7 | 8, _) if half => Sliced::new(16, 2, 1, 8).odd_first(),
                (9 | 10, _) if half => Sliced::new(16, 2, 1, 6),
                (6..=8, _) => Sliced::new(16, if wide { 1 } else { 3 }, 1, if wide { 3 } else { 5 }),
                _ => Sliced::new(16, if wide { 1 } else { 2 }, 1, 3),
            }
        })
    }

    /// Everything [`Self::choose`] can answer for a block size and a storage.
    pub fn all(nb: usize, storage: Storage) -> Vec<Self> {
        let mut tiles: Vec<Self> = Vec::new();
        for largest in [1, 20, 100, 200, 500, 1000] {
            let tile = Self::choose(nb, storage, largest, 1);
            if !tiles.contains(&tile) {
                tiles.push(tile);
            }
        }
        tiles
    }

    /// Tiles worth trying for block size `nb`; `rows_each` rows of the largest batch for each multiprocessor.
    pub fn candidates(nb: usize, storage: Storage, rows_each: usize) -> Vec<Self> {
        let mut tiles = vec![Self::choose(nb, storage, rows_each, 1)];
        let (wide, half) = (storage == Storage::F64, storage.bytes() == 2);
        let mut add = |tile: Self| {
            let threads = tile.threads(nb);
            let fits = match tile {
                Tile::Sliced(Sliced { chunk, chunks, pairs, split, resident, .. }) => {
                    let sum = if wide { 8 } else { 4 };
                    let shared = chunks * chunk * nb * (split * (nb | 1) * sum + 8);
                    let words = pairs * 2 * nb * storage.bytes() / 4 + 24 + nb * sum / 4;
                    let registers = 65536 / (resident * threads.next_multiple_of(32));
                    shared <= 48 << 10 && (resident == 1 || (words..=128).contains(&registers))
                }
                Tile::Panel(_) => threads >= nb,
            };
            if fits && (32..=1024).contains(&threads) && !tiles.contains(&tile) {
                tiles.push(tile);
            }
        };
        let (chunks, splits, residents): (&[usize], &[usize], &[usize]) = if rows_each >= 256 {
            (&[16, 32][..], &[1, 2], &[1, 5, 6, 8])
        } else if rows_each >= 48 {
            (&[8, 16, 32][..], &[1, 2, 4], &[1, 5])
        } else {
            (&[8, 16][..], &[1, 2, 4, 8], &[1, 2])
        };
        if nb <= 15 {
            for (&chunk, &split) in chunks.iter().flat_map(|c| splits.iter().map(move |s| (c, s))) {
                // With few rows all of a row's slots may be in flight.
                for pairs in 1..=if split == 1 && rows_each < 320 { 8 } else { 4 } {
                    for &resident in residents {
                        let tile = Sliced::new(chunk, pairs, split, resident);
                        add(Tile::Sliced(tile));
                        add(Tile::Sliced(tile.odd_first()));
                        if nb <= 4 && rows_each >= 256 {
                            for (chunks, window) in [(1, 256), (4, 256), (8, 256)] {
                                add(Tile::Sliced(tile.early().near(chunks, window)));
                            }
                        }
                    }
                }
            }
        }
        if nb >= 8 {
            for threads in [32, 64, 96, 128, 192, 256, 384, 512] {
                for loads in [3, 4, if half { 5 } else { 6 }, 8] {
                    let panel = Panel::new(nb, storage, threads, loads);
                    add(Tile::Panel(panel));
                    add(Tile::Panel(Panel { early: true, ..panel }));
                }
            }
        }
        tiles
    }

    /// Whether rows are brought together in chunks.
    pub(crate) fn is_sliced(&self) -> bool {
        matches!(self, Tile::Sliced(_))
    }

    /// Rows a chunk (1 for panels).
    pub(crate) fn chunk(&self) -> usize {
        if let Tile::Sliced(s) = self { s.chunk } else { 1 }
    }

    /// Threads a thread block.
    pub fn threads(&self, nb: usize) -> usize {
        match *self {
            Tile::Sliced(Sliced { chunk, chunks, split, .. }) => chunk * chunks * nb * split,
            Tile::Panel(Panel { threads, .. }) => threads,
        }
    }

    /// Thread blocks for `count` chunks, or rows of panels.
    pub(crate) fn blocks(&self, count: usize) -> usize {
        if let Tile::Sliced(s) = self { count.div_ceil(s.chunks) } else { count }
    }

    /// The entry of its kernel file.
    pub(crate) fn name(&self) -> &'static str {
        if self.is_sliced() { "sliced" } else { "panel" }
    }

    pub(crate) fn source(&self, nb: usize, storage: Storage, mode: Mode) -> KernelSource {
        let flag = u32::from;
        // The others keep more values at hand; they must not spill for the sake of company.
        // Those that pass rows need few registers more than sweeps of one device; where these are short, a thread block or two less has them.
        let passing = |resident: usize| match (storage, nb) {
            (Storage::F32, 3 | 6 | 7) => (resident - 1).max(1),
            (Storage::F16 | Storage::Bf16, 5) => resident.min(4),
            _ => resident,
        };
        let waiting = |resident: usize| match (storage, nb) {
            (Storage::F32, 5) | (Storage::F16 | Storage::Bf16, 6) => (resident - 1).max(1),
            _ => resident,
        };
        let least = |resident: usize| match mode {
            Mode::Sweep => resident,
            Mode::PeerSweep => passing(resident),
            Mode::AwaitSweep => waiting(passing(resident)),
            Mode::Product | Mode::PermutedSweep => 1,
        };
        match *self {
            Tile::Sliced(s) => sliced_source(storage, mode)
                .record::<SlicedSweep>()
                .record::<SlicedProduct>()
                .define("NB", nb)
                .define("C", s.chunk)
                .define("G", s.chunks)
                .define("UB", s.pairs)
                .define("SP", s.split)
                .define("MINB", least(s.resident))
                .define("DEARLY", flag(s.early))
                .define("ONE", flag(s.odd_first))
                .define("HINT", s.hint)
                .define("MODE", mode as u32),
            Tile::Panel(p) => source("panel", PANEL, storage)
                .record::<PanelSweep>()
                .record::<PanelProduct>()
                .define("NB", nb)
                .define("LD", padded(nb, storage))
                .define("THREADS", p.threads)
                .define("UB", p.loads)
                .define("MINB", least(p.resident))
                .define("DEARLY", flag(p.early))
                .define("HINT", p.hint)
                .define("MODE", mode as u32),
        }
    }

    pub(crate) fn convert_source(&self, nb: usize, storage: Storage, from: Storage) -> KernelSource {
        sell_source("convert", CONVERT, storage)
            .record::<ToSliced>()
            .record::<SlicedIndex>()
            .record::<ToPanel>()
            .define("NB", nb)
            .define("IN", from.code())
            .define("LD", if self.is_sliced() { nb } else { padded(nb, storage) })
            .define("C", self.chunk())
            .define("SLICED", u32::from(self.is_sliced()))
    }

    /// The kernels of this tile, for building ahead: sweeps, product, conversion.
    pub fn sources(&self, nb: usize, storage: Storage) -> Vec<KernelSource> {
        let mut sources = vec![
            self.source(nb, storage, Mode::Sweep),
            self.source(nb, storage, Mode::Product),
            self.convert_source(nb, storage, storage.assembled()),
        ];
        if self.is_sliced() {
            sources.push(self.source(nb, storage, Mode::PermutedSweep));
            sources.push(self.source(nb, storage, Mode::PeerSweep));
        }
        if storage == Storage::F16 {
            sources.push(self.convert_source(nb, storage, Storage::F16));
        }
        sources
    }
}

/// The text of sliced.cu; what passes rows between ranks stands before it where they pass.
fn sliced_source(storage: Storage, mode: Mode) -> KernelSource {
    if !matches!(mode, Mode::PeerSweep | Mode::AwaitSweep) {
        return sell_source("sliced", SLICED, storage);
    }
    let text = format!("{MAIL}\n#line 1 \"sliced.cu\"\n{SLICED}");
    sell_source("sliced", &text, storage).record::<SlicedPeerSweep>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_size_has_a_tile_that_fits() {
        for nb in 1..=crate::MAX_NB {
            for storage in Storage::ALL {
                for tile in Tile::all(nb, storage) {
                    let threads = tile.threads(nb);
                    assert!(threads <= 1024, "nb {nb} {storage:?}: {threads} threads");
                    if let Tile::Panel(p) = tile {
                        let rows = padded(nb, storage);
                        let whole = (rows * storage.bytes()).is_multiple_of(16);
                        assert!(
                            p.threads >= nb && (2 * p.threads).is_multiple_of(rows) && whole,
                            "nb {nb}: {p:?}"
                        );
                    }
                }
            }
        }
    }
}
