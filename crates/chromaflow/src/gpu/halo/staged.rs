//! Messages through page-locked memory of the host, and from there as the communicator carries them.

use super::boxes::Boxes;
use super::{Ghosts, List};
use crate::dist::Share;
use crate::gpu::GpuError;
use chromaflow_comm::Neighbor;
use chromaflow_device::cuda::{Event, Pinned, Stream};

/// Room for the messages to and from all neighbors, on the device and on the host.
pub(super) struct Staged {
    pub boxes: Boxes,
    /// Of what is sent and of what is received.
    host: [Pinned<u32>; 2],
    downloaded: Event,
}

impl Staged {
    /// For rows of up to so many words.
    pub fn new(neighbors: &[Neighbor], stream: &Stream, words: usize) -> Result<Self, GpuError> {
        let boxes = Boxes::new(neighbors, stream, words)?;
        let [sent, received] = boxes.device.each_ref().map(|room| room.len());
        Ok(Self {
            host: [Pinned::zeroed(stream.gpu(), sent)?, Pinned::zeroed(stream.gpu(), received)?],
            downloaded: Event::untimed(stream.gpu())?,
            boxes,
        })
    }

    /// Has what was packed on its way to the host.
    pub fn download(&mut self, list: &List, words: usize, stream: &Stream) -> Result<(), GpuError> {
        for (&n, rows) in list.partners.iter().zip(&list.send.counts) {
            let part = self.boxes.part(0, n, rows * words);
            let at = part.start;
            self.boxes.device[0].download_part_later(part, &mut self.host[0], at)?;
        }
        Ok(self.downloaded.record(stream)?)
    }

    /// Sends it, waits for the neighbors' messages and has them on their way to the device; `false` where something has failed.
    pub fn pass(
        &mut self,
        share: &Share,
        (list, what): (&List, Ghosts),
        words: usize,
        stream: &Stream,
    ) -> Result<bool, GpuError> {
        // With it, what was uploaded for the exchange before has left the page-locked memory, too.
        share.while_waiting(|| self.downloaded.synchronize())?;
        let neighbors = share.halo().neighbors();
        for (&n, &rows) in list.partners.iter().zip(&list.send.counts).filter(|(_, rows)| **rows > 0) {
            let message = bytemuck::cast_slice(&self.host[0][self.boxes.part(0, n, rows * words)]).to_vec();
            share.post(neighbors[n].rank, message);
        }
        for (&n, &rows) in list.partners.iter().zip(&list.receive.counts).filter(|(_, rows)| **rows > 0) {
            let range = self.boxes.part(1, n, rows * words);
            let what = || what.in_words(share.batches().len());
            let Some(message) = share.take(neighbors[n].rank, 4 * range.len(), what) else {
                return Ok(false);
            };
            bytemuck::cast_slice_mut(&mut self.host[1][range.clone()]).copy_from_slice(&message);
            self.boxes.device[1].upload_later(stream, range.start, &self.host[1], range)?;
        }
        Ok(share.check().is_ok())
    }
}
