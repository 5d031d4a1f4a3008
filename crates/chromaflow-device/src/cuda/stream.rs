#![allow(unsafe_code)]
//! Order and time of work on a device.

use super::error::check;
use super::{CudaError, Gpu};
use cudarc::driver::sys;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// A queue of work on one device. Clones are the same queue.
#[derive(Clone)]
pub struct Stream(Arc<StreamInner>);

struct StreamInner {
    gpu: Gpu,
    raw: sys::CUstream,
    owned: bool,
    held: AtomicUsize,
    asked: [AtomicU64; 4],
}

/// What a host has asked of the driver for a stream, but for copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Kernels launched one by one, or recorded in a graph.
    pub kernels: u64,
    /// Graphs launched.
    pub graphs: u64,
    /// Events recorded and waited for by the stream.
    pub events: u64,
    /// Waits of the host for the stream.
    pub waits: u64,
}

// SAFETY: a stream handle may be used from any thread; the driver serializes what is enqueued.
unsafe impl Send for StreamInner {}
// SAFETY: as above.
unsafe impl Sync for StreamInner {}

impl Drop for StreamInner {
    fn drop(&mut self) {
        if self.owned && self.gpu.bind().is_ok() {
            // SAFETY: made by cuStreamCreate, destroyed once; work in it still completes.
            unsafe { sys::cuStreamDestroy_v2(self.raw) };
        }
    }
}

impl Stream {
    pub(super) fn new(gpu: &Gpu) -> Result<Self, CudaError> {
        gpu.bind()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: writes one handle. Non-blocking: independent of the legacy default stream.
        check("cuStreamCreate", unsafe {
            sys::cuStreamCreate(&raw mut raw, sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32)
        })?;
        Ok(Self::from_raw(gpu, raw, true))
    }

    /// Another library's stream (a `cudaStream_t`), which stays its own: it is not destroyed here.
    ///
    /// # Safety
    /// `raw` is a stream of the primary context of `gpu` (or null, the default stream) and outlives what is returned.
    pub unsafe fn adopt(gpu: &Gpu, raw: *mut core::ffi::c_void) -> Self {
        Self::from_raw(gpu, raw.cast(), false)
    }

    fn from_raw(gpu: &Gpu, raw: sys::CUstream, owned: bool) -> Self {
        Self(Arc::new(StreamInner {
            gpu: gpu.clone(),
            raw,
            owned,
            held: AtomicUsize::new(0),
            asked: Default::default(),
        }))
    }

    /// The device.
    pub fn gpu(&self) -> &Gpu {
        &self.0.gpu
    }

    /// The handle, for other libraries.
    pub fn raw(&self) -> sys::CUstream {
        self.0.raw
    }

    /// Bytes of device memory that were allocated in the order of this stream and are not yet freed.
    pub fn held_bytes(&self) -> usize {
        self.0.held.load(Ordering::Relaxed)
    }

    /// What was asked of the driver so far.
    pub fn asked(&self) -> Asked {
        let [kernels, graphs, events, waits] = self.0.asked.each_ref().map(|n| n.load(Ordering::Relaxed));
        Asked { kernels, graphs, events, waits }
    }

    /// Counts a kernel (0), a graph (1), an event (2) or a wait (3).
    pub(super) fn count(&self, what: usize) {
        self.0.asked[what].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts what was allocated.
    pub(super) fn hold(&self, bytes: usize) {
        self.0.held.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts what was freed.
    pub(super) fn let_go(&self, bytes: usize) {
        self.0.held.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Waits until all work enqueued so far is done.
    ///
    /// # Errors
    /// [`CudaError::Driver`]: also errors of kernels that ran before.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        self.gpu().bind()?;
        self.count(3);
        // SAFETY: the stream lives as long as `self`.
        check("cuStreamSynchronize", unsafe { sys::cuStreamSynchronize(self.0.raw) })
    }

    /// Whether all work enqueued so far is done; nothing while a graph is recorded on this device, when nobody may ask.
    ///
    /// # Errors
    /// [`CudaError::Driver`]: also errors of kernels that ran before.
    pub fn is_idle(&self) -> Result<Option<bool>, CudaError> {
        self.gpu().bind()?;
        let Some(_not_recording) = self.gpu().recording_if_nobody_else() else { return Ok(None) };
        // SAFETY: the stream lives, and is not part of a graph that is recorded.
        match unsafe { sys::cuStreamQuery(self.0.raw) } {
            sys::CUresult::CUDA_ERROR_NOT_READY => Ok(Some(false)),
            status => check("cuStreamQuery", status).map(|()| Some(true)),
        }
    }

    /// Work enqueued here later waits for `event`.
    ///
    /// # Errors
    /// [`CudaError::Driver`].
    pub fn wait(&self, event: &Event) -> Result<(), CudaError> {
        self.gpu().bind()?;
        self.count(2);
        // SAFETY: both handles live.
        check("cuStreamWaitEvent", unsafe { sys::cuStreamWaitEvent(self.0.raw, event.raw, 0) })
    }

    /// Whether what is enqueued here is being recorded as a graph, by [`Self::capture`] or by whoever else has the stream.
    ///
    /// # Errors
    /// [`CudaError::Driver`].
    pub fn is_recording(&self) -> Result<bool, CudaError> {
        self.gpu().bind()?;
        let mut status = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        // SAFETY: the stream lives; writes one value.
        check("cuStreamIsCapturing", unsafe { sys::cuStreamIsCapturing(self.0.raw, &raw mut status) })?;
        Ok(status != sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE)
    }

    /// Records what `work` enqueues on this stream as a graph, without running it.
    ///
    /// # Errors
    /// What `work` returns, and [`CudaError::Driver`] when something in it cannot be captured (allocations of new
    /// memory cannot: buffers must exist before).
    pub fn capture(&self, work: impl FnOnce() -> Result<(), CudaError>) -> Result<Graph, CudaError> {
        self.gpu().bind()?;
        let _recording = self.gpu().recording();
        // SAFETY: the stream lives; the mode lets other threads go on working.
        check("cuStreamBeginCapture", unsafe {
            sys::cuStreamBeginCapture_v2(
                self.0.raw,
                sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
            )
        })?;
        let done = work();
        let (mut graph, mut exec) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: ends the capture begun above, also when `work` failed; writes one handle.
        let ended =
            check("cuStreamEndCapture", unsafe { sys::cuStreamEndCapture(self.0.raw, &raw mut graph) });
        let result = done.and(ended).and_then(|()| {
            // SAFETY: `graph` is the captured graph; writes one handle.
            check("cuGraphInstantiate", unsafe { sys::cuGraphInstantiateWithFlags(&raw mut exec, graph, 0) })
        });
        if !graph.is_null() {
            // SAFETY: the executable graph is independent of its template.
            unsafe { sys::cuGraphDestroy(graph) };
        }
        result?;
        let graph = Graph { exec, gpu: self.gpu().clone() };
        // SAFETY: both handles live. Uploading now keeps the first launch as short as the others.
        check("cuGraphUpload", unsafe { sys::cuGraphUpload(graph.exec, self.0.raw) })?;
        Ok(graph)
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("gpu", &self.gpu().facts().name).finish_non_exhaustive()
    }
}

/// Recorded work that is launched as one.
pub struct Graph {
    exec: sys::CUgraphExec,
    gpu: Gpu,
}

// SAFETY: an executable graph may be launched from any thread.
unsafe impl Send for Graph {}
// SAFETY: launches, which the driver does not order among threads, need `&mut self`.
unsafe impl Sync for Graph {}

impl Graph {
    /// Enqueues the recorded work.
    ///
    /// # Errors
    /// [`CudaError::Driver`].
    pub fn launch(&mut self, stream: &Stream) -> Result<(), CudaError> {
        self.gpu.bind()?;
        stream.count(1);
        // SAFETY: both handles live. The memory the graph names is kept by the owner of the graph.
        check("cuGraphLaunch", unsafe { sys::cuGraphLaunch(self.exec, stream.raw()) })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if self.gpu.bind().is_ok() {
            // SAFETY: made by cuGraphInstantiate, destroyed once.
            unsafe { sys::cuGraphExecDestroy(self.exec) };
        }
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph").finish_non_exhaustive()
    }
}

/// A point in a stream, with its time.
pub struct Event {
    raw: sys::CUevent,
    gpu: Gpu,
}

// SAFETY: event handles may be used from any thread.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// An event that keeps its time.
    ///
    /// # Errors
    /// [`CudaError::Driver`].
    pub fn new(gpu: &Gpu) -> Result<Self, CudaError> {
        Self::with_flags(gpu, 0)
    }

    /// An event that orders work, of streams of other devices, too, and keeps no time.
    ///
    /// # Errors
    /// [`CudaError::Driver`].
    pub fn untimed(gpu: &Gpu) -> Result<Self, CudaError> {
        Self::with_flags(gpu, sys::CUevent_flags::CU_EVENT_DISABLE_TIMING as u32)
    }

    fn with_flags(gpu: &Gpu, flags: u32) -> Result<Self, CudaError> {
        gpu.bind()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: writes one handle; timing is on unless the flags say otherwise.
        check("cuEventCreate", unsafe { sys::cuEventCreate(&raw mut raw, flags) })?;
        Ok(Self { raw, gpu: gpu.clone() })
    }

    /// Waits until the stream has come to where this was recorded last.
    ///
    /// # Errors
    /// [`CudaError::Driver`]: also errors of kernels that ran before.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        self.gpu.bind()?;
        // SAFETY: the event lives.
        check("cuEventSynchronize", unsafe { sys::cuEventSynchronize(self.raw) })
    }

    /// Marks the present end of `stream`.
    ///
    /// # Errors
    /// [`CudaError::Driver`].
    pub fn record(&self, stream: &Stream) -> Result<(), CudaError> {
        self.gpu.bind()?;
        stream.count(2);
        // SAFETY: both handles live.
        check("cuEventRecord", unsafe { sys::cuEventRecord(self.raw, stream.raw()) })
    }

    /// Waits for this event; milliseconds since `start`.
    ///
    /// # Errors
    /// [`CudaError::Driver`]: also errors of kernels that ran before.
    pub fn milliseconds_since(&self, start: &Event) -> Result<f64, CudaError> {
        self.gpu.bind()?;
        let mut ms = 0f32;
        // SAFETY: both events live and were recorded; writes one float.
        unsafe {
            check("cuEventSynchronize", sys::cuEventSynchronize(self.raw))?;
            check("cuEventElapsedTime", sys::cuEventElapsedTime_v2(&raw mut ms, start.raw, self.raw))?;
        }
        Ok(f64::from(ms))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if self.gpu.bind().is_ok() {
            // SAFETY: made by cuEventCreate, destroyed once.
            unsafe { sys::cuEventDestroy_v2(self.raw) };
        }
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event").finish_non_exhaustive()
    }
}
