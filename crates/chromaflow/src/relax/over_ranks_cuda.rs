#![allow(unsafe_code)]
//! How sweeps on a device are enqueued: as graphs, and over the rows of a rank with what passes between ranks. Twin of the order of
//! exchanges: over_ranks.rs.

use super::Direction;
use crate::dist::SweepExchange;
use crate::gpu::{Ghosts, GpuError, ShareCuda};
use chromaflow_device::cuda::{Graph, Stream};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::sync::Arc;

/// Graphs of sweeps, by what they were recorded for.
pub(super) struct Recorded<K>(HashMap<K, Graph>);

/// Where the x of a rank is that sweeps pass rows of.
#[derive(Clone, Copy)]
pub(super) struct Passing<'a> {
    pub share: &'a Arc<ShareCuda>,
    /// Whether kernels of the sweeps pass rows themselves.
    pub direct: bool,
    /// Whether a sweep updates all rows at once, so that all ghosts pass together.
    pub at_once: bool,
    /// Its address, the numbers of a row, and their bytes.
    pub x: u64,
    pub row: (usize, usize),
}

/// Which rows of a color are launched.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Those that have to do with other ranks.
    Border,
    /// The others.
    Interior,
    /// Both.
    All,
}

impl<K: Copy + Eq + Hash> Recorded<K> {
    pub(super) fn new() -> Self {
        Self(HashMap::new())
    }

    /// Forgets all: they name memory that is no more.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Does what `enqueue` enqueues: as one graph, the same for the same key, but where hosts agree on each exchange as they enqueue it.
    ///
    /// # Errors
    /// Those of `enqueue`; [`GpuError::Cuda`].
    pub(super) fn run(
        &mut self,
        key: K,
        stream: &Stream,
        passing: Option<&Passing<'_>>,
        enqueue: impl FnOnce() -> Result<(), GpuError>,
    ) -> Result<(), GpuError> {
        // Sweeps between which nothing passes; then their x does.
        let apart =
            |p: &&Passing<'_>| !p.at_once && p.share.share().sweep_exchange() == SweepExchange::EverySolve;
        let after = passing.filter(apart);
        if let Some(p) = passing {
            if !p.direct && after.is_none() && !p.share.is_recordable() {
                return enqueue();
            }
            if p.share.share().check().is_err() {
                return Ok(()); // nothing passes any more
            }
        } else if stream.is_recording()? {
            return enqueue(); // as a part of another graph
        }
        let graph = match self.0.entry(key) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let mut failed = None;
                let graph = stream.capture(|| {
                    failed = enqueue().err();
                    Ok(())
                });
                if let Some(error) = failed {
                    return Err(error);
                }
                let graph = new.insert(graph?);
                if let Some(p) = passing {
                    // Everybody's graph is on its device before anybody's waits: to bring it there may wait for what runs.
                    stream.synchronize()?;
                    p.share.share().ranks().barrier()?;
                }
                graph
            }
        };
        graph.launch(stream)?;
        let Some(p) = after else { return Ok(()) };
        // SAFETY: x has so many words a row.
        unsafe {
            p.share.start(Ghosts::All, p.words(), p.x)?;
            p.share.finish(Ghosts::All, p.row, p.x)
        }
    }
}

/// The colors of one sweep in its order.
pub(super) fn order(direction: Direction, colors: usize) -> Vec<usize> {
    let forward = (0..colors).filter(|_| direction != Direction::Backward);
    let backward = (0..colors).rev().filter(|_| direction != Direction::Forward);
    forward.chain(backward).collect()
}

impl Passing<'_> {
    /// Words of a row of x.
    fn words(&self) -> usize {
        self.row.0 * self.row.1 / 4
    }

    /// `count` sweeps, exchanging as the share says. `launch` enqueues a part of a color, dependent on the launch before or not.
    ///
    /// # Errors
    /// Those of `launch`; [`GpuError::Cuda`].
    pub(super) fn sweeps(
        &self,
        (direction, count): (Direction, usize),
        colors: usize,
        launch: &mut dyn FnMut(usize, Part, bool) -> Result<(), GpuError>,
    ) -> Result<(), GpuError> {
        for _ in 0..count {
            for one_way in [Direction::Forward, Direction::Backward] {
                if direction == one_way || direction == Direction::Symmetric {
                    self.pass(&order(one_way, colors), launch)?;
                }
            }
        }
        Ok(())
    }

    /// One sweep over colors in this order.
    fn pass(
        &self,
        order: &[usize],
        launch: &mut dyn FnMut(usize, Part, bool) -> Result<(), GpuError>,
    ) -> Result<(), GpuError> {
        let (Self { share, at_once, x, row, .. }, words) = (*self, self.words());
        let when = share.share().sweep_exchange();
        for (at, &color) in order.iter().enumerate() {
            if at_once || when == SweepExchange::EveryColor {
                let ghosts = if at_once { Ghosts::All } else { Ghosts::Color(color) };
                launch(color, Part::Border, false)?;
                // SAFETY: x has so many words a row; interior rows are not sent.
                unsafe { share.start(ghosts, words, x)? };
                launch(color, Part::Interior, false)?;
                // SAFETY: as above.
                unsafe { share.finish(ghosts, row, x)? };
                continue;
            }
            // Nothing passes between border and interior: they are launched together.
            let late = when == SweepExchange::ColorLate;
            launch(color, Part::All, at > 0 && !late)?;
            if late {
                // SAFETY: as above.
                unsafe {
                    if at > 0 {
                        share.finish(Ghosts::Color(order[at - 1]), row, x)?;
                    }
                    share.start(Ghosts::Color(color), words, x)?;
                }
            }
        }
        let Some(&last) = order.last().filter(|_| !at_once) else { return Ok(()) };
        // SAFETY: as above.
        unsafe {
            match when {
                SweepExchange::EveryColor | SweepExchange::EverySolve => Ok(()),
                SweepExchange::ColorLate => share.finish(Ghosts::Color(last), row, x),
                SweepExchange::EverySweep => {
                    share.start(Ghosts::All, words, x)?;
                    share.finish(Ghosts::All, row, x)
                }
            }
        }
    }
}
