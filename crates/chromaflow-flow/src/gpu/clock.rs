//! Times of a step by device events.

use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::{Event, Gpu, Stream};

/// Marks the ends of a step's components, told apart by `P`, in the stream.
pub struct Clock<P> {
    events: Vec<Event>,
    /// What ends at each event that was recorded; nothing where a stretch begins.
    marks: Vec<Option<P>>,
}

impl<P: Copy> Clock<P> {
    /// With room for `events` marks between two calls of [`Clock::take`]; more are passed over.
    pub fn new(gpu: &Gpu, events: usize) -> Result<Self, GpuError> {
        let events: Vec<Event> = (0..events).map(|_| Event::new(gpu)).collect::<Result<_, _>>()?;
        Ok(Self { marks: Vec::with_capacity(events.len()), events })
    }

    /// A stretch begins: what was before belongs to nobody.
    pub fn start(&mut self, stream: &Stream) -> Result<(), GpuError> {
        self.mark(None, stream)
    }

    /// `part` ends here.
    pub fn done(&mut self, part: P, stream: &Stream) -> Result<(), GpuError> {
        self.mark(Some(part), stream)
    }

    fn mark(&mut self, mark: Option<P>, stream: &Stream) -> Result<(), GpuError> {
        if let Some(event) = self.events.get(self.marks.len()) {
            event.record(stream)?;
            self.marks.push(mark);
        }
        Ok(())
    }

    /// Hands out the seconds of each part since the last call.
    pub fn take(&mut self, mut add: impl FnMut(P, f64)) -> Result<(), GpuError> {
        for (pair, mark) in self.events.windows(2).zip(self.marks.iter().skip(1)) {
            if let Some(part) = mark {
                add(*part, 1e-3 * pair[1].milliseconds_since(&pair[0])?);
            }
        }
        self.marks.clear();
        Ok(())
    }
}
