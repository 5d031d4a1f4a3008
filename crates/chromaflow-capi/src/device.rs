//! Arrays for solvers on a GPU, wherever they lie.

use crate::arrays::{Array, ArrayMut, HOST, Type};
use crate::status::{Failure, Status};
use chromaflow::solver::{ArrayIn, ArrayOut};
use chromaflow_device::cuda::{DeviceBuffer, MemoryAt, Stream};

/// An array to read.
pub(crate) enum Given<'a> {
    Host(&'a [f64]),
    Device(DeviceBuffer<f64>),
}

/// An array to change.
pub(crate) enum Taken<'a> {
    Host(&'a mut [f64]),
    Device(DeviceBuffer<f64>),
}

/// Whether the array lies on the device, as its caller says and the driver confirms.
fn on_device(stream: &Stream, array: &Array, what: &str) -> Result<bool, Failure> {
    if array.check(what)? == 0 {
        return Ok(false);
    }
    let said = if array.place == HOST { MemoryAt::Host } else { MemoryAt::Device };
    let found = stream.gpu().memory_at(array.data as u64)?;
    if found != MemoryAt::Both && found != said {
        let place = |at| if at == MemoryAt::Host { "the host" } else { "a device" };
        let text = format!("{what} is said to lie on {} but lies on {}", place(said), place(found));
        return Err(Failure::argument(text));
    }
    Ok(said == MemoryAt::Device)
}

/// # Safety
/// The array lives on the device of `stream` and is used by nobody else without ordering while the result lives.
unsafe fn adopt(stream: &Stream, array: &Array, what: &str) -> Result<DeviceBuffer<f64>, Failure> {
    let kind = array.entries(what)?;
    if kind != Type::F64 {
        let text = format!(
            "{what} has entries CHROMAFLOW_{kind:?} on a device: only CHROMAFLOW_F64 is to be had there"
        );
        return Err(Failure::new(Status::Unsupported, text));
    }
    // SAFETY: aligned and not null (checked before); the rest as the caller promises.
    Ok(unsafe { DeviceBuffer::adopt(stream, array.data as u64, array.len as usize) })
}

fn stream_of(stream: Option<&Stream>) -> Result<&Stream, Failure> {
    stream.ok_or_else(|| Failure::new(Status::Bug, "a solver on a GPU without a stream"))
}

impl<'a> Given<'a> {
    /// # Safety
    /// As [`Array::host`] for an array on the host, as [`adopt`] for one on the device.
    pub(crate) unsafe fn new(
        stream: Option<&Stream>,
        array: &Array,
        what: &str,
        room: &'a mut Vec<f64>,
    ) -> Result<Self, Failure> {
        let stream = stream_of(stream)?;
        // SAFETY: as the caller promises.
        unsafe {
            if on_device(stream, array, what)? {
                return Ok(Given::Device(adopt(stream, array, what)?));
            }
            Ok(Given::Host(array.doubles(what, room)?))
        }
    }

    pub(crate) fn array(&self) -> ArrayIn<'_> {
        match self {
            Given::Host(values) => ArrayIn::Host(values),
            Given::Device(values) => ArrayIn::Device(values),
        }
    }
}

impl Taken<'_> {
    /// # Safety
    /// As [`ArrayMut::host`] for an array on the host, as [`adopt`] for one on the device.
    pub(crate) unsafe fn new(stream: Option<&Stream>, array: &ArrayMut, what: &str) -> Result<Self, Failure> {
        let stream = stream_of(stream)?;
        // SAFETY: as the caller promises.
        unsafe {
            if on_device(stream, &array.as_in(), what)? {
                return Ok(Taken::Device(adopt(stream, &array.as_in(), what)?));
            }
            Ok(Taken::Host(array.host::<f64>(what)?))
        }
    }

    pub(crate) fn array(&mut self) -> ArrayOut<'_> {
        match self {
            Taken::Host(values) => ArrayOut::Host(values),
            Taken::Device(values) => ArrayOut::Device(values),
        }
    }
}
