//! Times of a step by device events.

use crate::march::{Part, Running, Times};
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::{Event, Gpu, Stream};

/// Marks of a step without corrections of its linear system.
pub const MARKS: usize = 12;

/// Marks the ends of a step's components in the stream.
pub struct Clock {
    events: Vec<Event>,
    /// What ends at each event that was recorded; nothing where a stretch begins.
    marks: Vec<Option<Part>>,
}

impl Clock {
    /// With room for `events` marks between two calls of [`Clock::times`]; more are passed over.
    pub fn new(gpu: &Gpu, events: usize) -> Result<Self, GpuError> {
        let events: Vec<Event> = (0..events).map(|_| Event::new(gpu)).collect::<Result<_, _>>()?;
        Ok(Self { marks: Vec::with_capacity(events.len()), events })
    }

    /// A stretch begins: what was before belongs to nobody.
    pub fn start(&mut self, stream: &Stream) -> Result<(), GpuError> {
        self.mark(None, stream)
    }

    /// A part ends here, on the stream; what put it there ends with this call, for profilers that listen to ranges.
    pub fn done(&mut self, running: Running, stream: &Stream) -> Result<(), GpuError> {
        let marked = self.mark(Some(running.part), stream);
        drop(running);
        marked
    }

    fn mark(&mut self, mark: Option<Part>, stream: &Stream) -> Result<(), GpuError> {
        if let Some(event) = self.events.get(self.marks.len()) {
            event.record(stream)?;
            self.marks.push(mark);
        }
        Ok(())
    }

    /// Seconds of each part since the last call.
    pub fn times(&mut self) -> Result<Times, GpuError> {
        let mut times = Times::default();
        for (pair, mark) in self.events.windows(2).zip(self.marks.iter().skip(1)) {
            if let Some(part) = mark {
                times[*part] += 1e-3 * pair[1].milliseconds_since(&pair[0])?;
            }
        }
        self.marks.clear();
        Ok(times)
    }
}
