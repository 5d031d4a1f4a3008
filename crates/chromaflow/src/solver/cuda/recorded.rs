//! Calls on arrays of the device as graphs: whatever a call consists of, the host launches one thing.

use crate::gpu::GpuError;
use chromaflow_device::cuda::{CudaError, Graph, Stream};
use std::collections::HashMap;

/// A call, and the addresses of what it reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Call {
    pub(super) what: What,
    pub(super) from: u64,
    pub(super) to: u64,
}

/// Which call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum What {
    Apply,
    Multiply,
}

/// What is known of a call.
enum State {
    /// It has been made once: what it needs is loaded.
    Seen,
    Recorded(Graph),
    /// It cannot be recorded.
    Direct,
}

/// Calls so far. Krylov methods of callers go through as many pairs of vectors as they keep.
#[derive(Default)]
pub(super) struct Recorded(HashMap<Call, State>);

/// Calls that are remembered; with one more all are forgotten.
const MOST: usize = 256;

impl Recorded {
    /// Enqueues `work`, the call: at first as it is, from the second time on as a graph, unless the stream's owner is recording one of his
    /// own.
    pub(super) fn enqueue(
        &mut self,
        stream: &Stream,
        call: Call,
        mut work: impl FnMut() -> Result<(), GpuError>,
    ) -> Result<(), GpuError> {
        if stream.is_recording()? {
            return work();
        }
        match self.0.get_mut(&call) {
            Some(State::Recorded(graph)) => return Ok(graph.launch(stream)?),
            Some(State::Direct) => return work(),
            Some(State::Seen) => {}
            None => {
                if self.0.len() >= MOST {
                    self.0.clear();
                }
                self.0.insert(call, State::Seen);
                return work();
            }
        }
        let mut failed = false;
        let graph = stream.capture(|| {
            failed = work().is_err();
            Ok(())
        });
        let launched = |mut graph: Graph| graph.launch(stream).map(|()| State::Recorded(graph));
        let state = match graph {
            Ok(graph) if !failed => launched(graph)?,
            Ok(_) | Err(CudaError::Driver { .. }) => {
                work()?;
                State::Direct
            }
            Err(error) => return Err(error.into()),
        };
        self.0.insert(call, state);
        Ok(())
    }

    /// Forgets all: calls do something else from now on.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
