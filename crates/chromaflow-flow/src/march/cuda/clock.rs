//! Times of a step by device events.

use super::super::Times;
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::{Event, Gpu, Stream};

/// A component of a step.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    Rhs,
    Lhs,
    Pipsr,
    LinearSolver,
    Misc,
}

/// Most events of a step.
const EVENTS: usize = 12;

/// Marks the ends of a step's components in the stream.
pub struct Clock {
    events: Vec<Event>,
    /// What ends at each event that was recorded; nothing where a stretch begins.
    marks: Vec<Option<Part>>,
}

impl Clock {
    pub fn new(gpu: &Gpu) -> Result<Self, GpuError> {
        let events = (0..EVENTS).map(|_| Event::new(gpu)).collect::<Result<_, _>>()?;
        Ok(Self { events, marks: Vec::with_capacity(EVENTS) })
    }

    /// A stretch begins: what was before belongs to nobody.
    pub fn start(&mut self, stream: &Stream) -> Result<(), GpuError> {
        self.mark(None, stream)
    }

    /// `part` ends here.
    pub fn done(&mut self, part: Part, stream: &Stream) -> Result<(), GpuError> {
        self.mark(Some(part), stream)
    }

    fn mark(&mut self, mark: Option<Part>, stream: &Stream) -> Result<(), GpuError> {
        if let Some(event) = self.events.get(self.marks.len()) {
            event.record(stream)?;
            self.marks.push(mark);
        }
        Ok(())
    }

    /// Seconds by component since the last call.
    pub fn take(&mut self) -> Result<Times, GpuError> {
        let mut times = Times::default();
        for (pair, mark) in self.events.windows(2).zip(self.marks.iter().skip(1)) {
            let Some(part) = mark else { continue };
            let seconds = 1e-3 * pair[1].milliseconds_since(&pair[0])?;
            *match part {
                Part::Rhs => &mut times.rhs,
                Part::Lhs => &mut times.lhs,
                Part::Pipsr => &mut times.pipsr,
                Part::LinearSolver => &mut times.linear_solver,
                Part::Misc => &mut times.misc,
            } += seconds;
        }
        self.marks.clear();
        Ok(times)
    }
}
