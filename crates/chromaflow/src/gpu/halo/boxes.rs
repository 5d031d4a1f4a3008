//! Room on the device for one message to each neighbor and one from it.

use crate::gpu::GpuError;
use chromaflow_comm::Neighbor;
use chromaflow_device::cuda::{DeviceBuffer, Stream};
use std::ops::Range;

/// Of what is sent and of what is received, one neighbor after the other.
pub(super) struct Boxes {
    /// Where each neighbor's message begins on the device, twice the same.
    pub addresses: [DeviceBuffer<u64>; 2],
    pub device: [DeviceBuffer<u32>; 2],
    /// Where it begins in words of the room.
    first: [Vec<usize>; 2],
}

impl Boxes {
    /// For rows of up to so many words.
    pub fn new(neighbors: &[Neighbor], stream: &Stream, words: usize) -> Result<Self, GpuError> {
        let room = |rows: &dyn Fn(&Neighbor) -> usize| {
            let mut first = vec![0];
            for n in neighbors {
                first.push(first[first.len() - 1] + rows(n) * words);
            }
            first
        };
        let first = [room(&|n| n.send.len()), room(&|n| n.receive.len())];
        let all = [0, 1].map(|side| first[side].last().copied().unwrap_or(0));
        let device = [DeviceBuffer::<u32>::zeroed(stream, all[0])?, DeviceBuffer::zeroed(stream, all[1])?];
        let addresses = |side: usize| -> Result<_, GpuError> {
            let at = |&first: &usize| device[side].ptr() + 4 * first as u64;
            let addresses: Vec<u64> = first[side].iter().map(at).flat_map(|at| [at, at]).collect();
            Ok(stream.upload(&addresses)?)
        };
        Ok(Self { addresses: [addresses(0)?, addresses(1)?], device, first })
    }

    /// The first `words` words of the message to a neighbor (side 0) or from it (side 1).
    pub fn part(&self, side: usize, neighbor: usize, words: usize) -> Range<usize> {
        let at = self.first[side][neighbor];
        debug_assert!(at + words <= self.first[side][neighbor + 1], "a message is longer than its box");
        at..at + words
    }

    /// All of the room for a neighbor's messages.
    pub fn whole(&self, side: usize, neighbor: usize) -> Range<usize> {
        self.first[side][neighbor]..self.first[side][neighbor + 1]
    }

    /// Where words of the room are on the device: their address and their bytes.
    pub fn bytes(&self, side: usize, words: &Range<usize>) -> (u64, usize) {
        (self.device[side].ptr() + 4 * words.start as u64, 4 * words.len())
    }
}
