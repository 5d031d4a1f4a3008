//! Sweeps that pass rows between ranks themselves: kernels write into the neighbors' x and wait for numbers in their own memory
//! (direct.cuh), so that all sweeps of a linear step are one graph on each rank and no host waits for another.

use super::arguments::{Mail, Posts};
use super::kernel_source;
use super::peer::Peers;
use super::window::{Window, told};
use crate::dist::Share;
use crate::gpu::GpuError;
use chromaflow_comm::Communicator;
use chromaflow_device::cuda::{DeviceBuffer, Kernel, KernelSource, Read, Stream};
use std::collections::BTreeMap;

/// What sweeps put before their own text.
pub(crate) const MAIL: &str = include_str!("direct.cuh");

/// Words between the numbers of two neighbors: no two in a line of the cache.
pub(super) const FLAG: usize = 32;

/// Memory of a rank and its neighbors for the sweeps of one matrix.
pub(crate) struct Direct {
    /// Words of the iterate, with which the window begins; behind it is a number from each neighbor.
    words: usize,
    window: Window,
    mail: DeviceBuffer<u64>,
    /// What the mail names.
    _words: [DeviceBuffer<u32>; 3],
    _addresses: [DeviceBuffer<u64>; 2],
    _targets: DeviceBuffer<[u32; 2]>,
    post: Kernel,
    end: Kernel,
    stream: Stream,
    delay: Option<u32>,
}

impl Drop for Direct {
    /// Memory of others is kept until nothing here writes into it.
    fn drop(&mut self) {
        // A device that has failed writes nothing any more.
        let _ = self.stream.synchronize();
    }
}

impl Direct {
    /// For an x of so many words; collective. With a `delay`, in nanoseconds, kernels come and go at any time: for tests.
    pub(super) fn new(
        share: &Share,
        stream: &Stream,
        peers: &Peers,
        words: usize,
        delay: Option<u32>,
    ) -> Result<Self, GpuError> {
        let (ranks, neighbors) = (&**share.ranks(), share.halo().neighbors());
        let (mut sent, mut received) = (BTreeMap::new(), BTreeMap::new());
        for n in share.batches().iter().flat_map(|batch| &batch.neighbors) {
            sent.entry(n.rank).or_insert_with(Vec::new).extend_from_slice(&n.send);
            received.entry(n.rank).or_insert_with(Vec::new).extend_from_slice(&n.receive);
        }
        // Numbers stand in lines of their own.
        let numbers = words.next_multiple_of(FLAG);
        let window = Window::new(share, stream, numbers + neighbors.len() * FLAG)?;
        let window = window.map_err(GpuError::Unsupported)?;
        // The place of its number here, and the rows of x that it writes, color by color.
        let there = told(ranks, neighbors, |n| {
            let mut all = vec![(numbers + n * FLAG) as u32];
            all.extend(received.get(&neighbors[n].rank).into_iter().flatten());
            all
        })?;
        let mut targets = vec![Vec::new(); share.rows()];
        let mut flags = Vec::new();
        for (place, (n, (&base, there))) in neighbors.iter().zip(window.others.iter().zip(&there)).enumerate()
        {
            let (number, there) = there.split_first().expect("the place of a number");
            let rows = sent.remove(&n.rank).unwrap_or_default();
            assert_eq!(rows.len(), there.len(), "what one sends the other receives");
            for (&row, &there) in rows.iter().zip(there) {
                targets[row as usize].push([place as u32, there]);
            }
            flags.push(base + 4 * u64::from(*number));
        }
        let mut first = vec![0u32];
        first.extend(targets.iter().scan(0, |sum, of| {
            *sum += of.len() as u32;
            Some(*sum)
        }));
        let named = [stream.upload(&[0u32])?, stream.upload(&first)?, stream.upload(&[0u32])?];
        let addresses = [stream.upload(&flags)?, stream.upload(&window.others)?];
        let targets = stream.upload(&targets.concat())?;
        let [base, first, done] = named.each_ref().map(DeviceBuffer::ptr);
        let [flags, x] = addresses.each_ref().map(DeviceBuffer::ptr);
        let mail = [
            neighbors.len() as u64,
            base,
            window.own + 4 * numbers as u64,
            flags,
            x,
            first,
            targets.ptr(),
            done,
            peers.alarm().address(),
            patience(ranks),
        ];
        let module = stream.gpu().module(&delayed(kernel_source(), delay))?;
        Ok(Self {
            mail: stream.upload(&mail)?,
            words,
            window,
            _words: named,
            _addresses: addresses,
            _targets: targets,
            post: module.kernel("post_step")?,
            end: module.kernel("end_steps")?,
            stream: stream.clone(),
            delay,
        })
    }

    /// The address of x, `words` of them.
    pub fn x(&self) -> (u64, usize) {
        (self.window.own, self.words)
    }

    /// Kernels of sweeps, delayed as these are.
    pub fn source(&self, sweep: KernelSource) -> KernelSource {
        delayed(sweep, self.delay)
    }

    /// What a sweep over the rows of step `step` takes, whose first `edge` thread blocks have rows that pass.
    pub fn posts(&self, step: u32, edge: usize) -> Posts {
        Posts { mail_of: Read::<Mail>::at(self.mail.ptr()), step, edge: edge as u32 }
    }

    /// Step 0, after which neighbors may write into x; or a step without rows that pass.
    pub fn post(&self, step: u32) -> Result<(), GpuError> {
        let launch = self.post.launch(1, 32).record(&self.posts(step, 0));
        // SAFETY: the mail's memory lives as long as `self`, and so do the neighbors'.
        Ok(unsafe { launch.enqueue(&self.stream) }?)
    }

    /// Waits for the neighbors' rows of the last step.
    pub fn end(&self, step: u32) -> Result<(), GpuError> {
        let launch = self.end.launch(1, 32).record(&self.posts(step, 0));
        // SAFETY: as above.
        Ok(unsafe { launch.enqueue(&self.stream) }?)
    }
}

/// How long kernels wait, in units of 2^20 nanoseconds.
pub(super) fn patience(ranks: &dyn Communicator) -> u64 {
    (ranks.patience().as_nanos() >> 20).clamp(1, u128::from(u32::MAX >> 1)) as u64
}

fn delayed(source: KernelSource, delay: Option<u32>) -> KernelSource {
    match delay {
        Some(most) => source.define("DELAY", most),
        None => source,
    }
}

#[cfg(test)]
mod tests {
    use super::super::peer::{LEFT, MOST};
    use super::{FLAG, MAIL};

    /// What the text repeats of the host's constants is the same.
    #[test]
    fn the_text_has_the_constants_of_the_host() {
        for line in [
            format!("#define FLAG {FLAG}\n"),
            format!("#define MOST {MOST} "),
            format!("#define LEFT {LEFT:#x}u\n"),
        ] {
            assert!(MAIL.contains(&line), "{line}");
        }
    }
}
