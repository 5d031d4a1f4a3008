//! Messages through page-locked memory of the host, and from there as the communicator carries them.

use super::List;
use crate::dist::Share;
use crate::gpu::GpuError;
use chromaflow_comm::Neighbor;
use chromaflow_device::cuda::{DeviceBuffer, Event, Pinned, Stream};

/// Room for the messages to and from all neighbors, on the device and on the host.
pub(super) struct Staged {
    /// Where each neighbor's message begins on the device, twice the same, of what is sent and of what is received.
    pub boxes: [DeviceBuffer<u64>; 2],
    /// Where it begins in words of the room.
    first: [Vec<usize>; 2],
    device: [DeviceBuffer<u32>; 2],
    host: [Pinned<u32>; 2],
    downloaded: Event,
}

impl Staged {
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
        let boxes = |side: usize| -> Result<_, GpuError> {
            let at = |&first: &usize| device[side].ptr() + 4 * first as u64;
            let addresses: Vec<u64> = first[side].iter().map(at).flat_map(|at| [at, at]).collect();
            Ok(stream.upload(&addresses)?)
        };
        Ok(Self {
            boxes: [boxes(0)?, boxes(1)?],
            host: [Pinned::zeroed(stream.gpu(), all[0])?, Pinned::zeroed(stream.gpu(), all[1])?],
            downloaded: Event::untimed(stream.gpu())?,
            device,
            first,
        })
    }

    /// Has what was packed on its way to the host.
    pub fn download(&mut self, list: &List, words: usize, stream: &Stream) -> Result<(), GpuError> {
        for (&n, rows) in list.partners.iter().zip(&list.send.counts) {
            let at = self.first[0][n];
            self.device[0].download_part_later(at..at + rows * words, &mut self.host[0], at)?;
        }
        Ok(self.downloaded.record(stream)?)
    }

    /// Sends it, waits for the neighbors' messages and has them on their way to the device; `false` where something has failed.
    pub fn pass(
        &mut self,
        share: &Share,
        list: &List,
        words: usize,
        stream: &Stream,
    ) -> Result<bool, GpuError> {
        // With it, what was uploaded for the exchange before has left the page-locked memory, too.
        share.while_waiting(|| self.downloaded.synchronize())?;
        let neighbors = share.halo().neighbors();
        let part = |side: usize, n: usize, rows: usize| {
            let at = self.first[side][n];
            at..at + rows * words
        };
        for (&n, &rows) in list.partners.iter().zip(&list.send.counts).filter(|(_, rows)| **rows > 0) {
            let message = bytemuck::cast_slice(&self.host[0][part(0, n, rows)]).to_vec();
            share.post(neighbors[n].rank, message);
        }
        for (&n, &rows) in list.partners.iter().zip(&list.receive.counts).filter(|(_, rows)| **rows > 0) {
            let range = part(1, n, rows);
            let Some(message) = share.take(neighbors[n].rank, 4 * range.len()) else { return Ok(false) };
            bytemuck::cast_slice_mut(&mut self.host[1][range.clone()]).copy_from_slice(&message);
            self.device[1].upload_later(stream, range.start, &self.host[1], range)?;
        }
        Ok(share.check().is_ok())
    }
}
