#![allow(unsafe_code)]
//! Scalar systems by cuSPARSE, for the side by side.

use super::gpu::{OnDevice, time};
use super::{Args, Data, Scalar, budget, record, residual};
use crate::bench::timing::{Record, Timing};
use crate::context::Context;
use crate::error::{CliError, CliResult};
use bytemuck::Pod;
use chromaflow::gallery::Case;
use chromaflow::tridiag::{Double, Layout, Precision, Real, Shape, Single};
use chromaflow_device::cuda::{CudaError, DeviceBuffer, Stream, cusparse_sys as sparse};
use std::ffi::c_void;

/// The library's batch routines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routine {
    /// gtsv2StridedBatch: system by system, the coefficients kept.
    Strided,
    /// gtsvInterleavedBatch: the system index fastest, the coefficients overwritten; by one of three algorithms.
    Interleaved(i32),
}

impl Routine {
    /// All of them.
    pub const ALL: [Routine; 4] =
        [Routine::Strided, Routine::Interleaved(0), Routine::Interleaved(1), Routine::Interleaved(2)];

    fn name(self) -> String {
        match self {
            Routine::Strided => "gtsv2StridedBatch".to_owned(),
            Routine::Interleaved(algorithm) => format!("gtsvInterleavedBatch-{algorithm}"),
        }
    }

    fn layout(self) -> Layout {
        if self == Routine::Strided { Layout::Aos } else { Layout::Soa }
    }
}

fn good(call: &'static str, status: sparse::cusparseStatus_t) -> Result<(), CudaError> {
    if status == sparse::cusparseStatus_t::CUSPARSE_STATUS_SUCCESS {
        return Ok(());
    }
    Err(CudaError::Library { call, status: format!("{status:?}") })
}

/// A handle on a stream.
struct Handle(sparse::cusparseHandle_t);

impl Handle {
    fn new(stream: &Stream) -> Result<Self, CudaError> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: the library is there (checked by `solve`); the handle is destroyed once.
        unsafe {
            good("cusparseCreate", sparse::cusparseCreate(&raw mut raw))?;
            let handle = Self(raw);
            let stream = stream.raw().cast::<c_void>().cast();
            good("cusparseSetStream", sparse::cusparseSetStream(handle.0, stream))?;
            Ok(handle)
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: made once.
        unsafe { sparse::cusparseDestroy(self.0) };
    }
}

/// Solves once into `data.x` and times further solves, whose right-hand sides are the solutions before (and whose coefficients
/// are what the interleaved routine left).
///
/// # Errors
/// No library, [`CudaError`].
pub fn solve<S: Pod + Real>(
    stream: &Stream,
    routine: Routine,
    shape: Shape,
    data: &mut OnDevice<S>,
    seconds: f64,
) -> CliResult<Timing> {
    // SAFETY: only looks whether the library can be opened.
    if unsafe { !sparse::is_culib_present() } {
        let remedy = "install the CUDA toolkit's libraries; only the comparison needs them";
        return Err(CliError::device(CudaError::NoLibrary { library: "cuSPARSE", remedy }));
    }
    let handle = Handle::new(stream).map_err(CliError::device)?;
    data.x.copy_from(&data.rhs.slice()).map_err(CliError::device)?;
    let mut y = DeviceBuffer::<S>::zeroed(stream, data.x.len()).map_err(CliError::device)?;
    y.copy_from(&data.rhs.slice()).map_err(CliError::device)?;
    let (rows, systems) = (shape.rows as i32, shape.systems as i32);
    let addresses = [data.lower.ptr(), data.diag.ptr(), data.upper.ptr()];
    let call = |size: &mut usize, work: Option<u64>, x: u64| {
        macro_rules! call {
            ($t:ty, $strided:ident, $strided_size:ident, $interleaved:ident, $interleaved_size:ident) => {{
                let [l, d, u] = addresses.map(|a| a as *mut $t);
                let x = x as *mut $t;
                // SAFETY: the library is there (checked above); the arrays have `systems` x `rows` numbers of this type, the
                // work space the bytes that were asked for.
                unsafe {
                    match (routine, work) {
                        (Routine::Strided, None) => {
                            sparse::$strided_size(handle.0, rows, l, d, u, x, systems, rows, size)
                        }
                        (Routine::Strided, Some(w)) => {
                            sparse::$strided(handle.0, rows, l, d, u, x, systems, rows, w as *mut c_void)
                        }
                        (Routine::Interleaved(algorithm), None) => {
                            sparse::$interleaved_size(handle.0, algorithm, rows, l, d, u, x, systems, size)
                        }
                        (Routine::Interleaved(algorithm), Some(w)) => sparse::$interleaved(
                            handle.0,
                            algorithm,
                            rows,
                            l,
                            d,
                            u,
                            x,
                            systems,
                            w as *mut c_void,
                        ),
                    }
                }
            }};
        }
        if size_of::<S>() == 8 {
            call!(
                f64,
                cusparseDgtsv2StridedBatch,
                cusparseDgtsv2StridedBatch_bufferSizeExt,
                cusparseDgtsvInterleavedBatch,
                cusparseDgtsvInterleavedBatch_bufferSizeExt
            )
        } else {
            call!(
                f32,
                cusparseSgtsv2StridedBatch,
                cusparseSgtsv2StridedBatch_bufferSizeExt,
                cusparseSgtsvInterleavedBatch,
                cusparseSgtsvInterleavedBatch_bufferSizeExt
            )
        }
    };
    let mut size = 0;
    good("gtsv buffer size", call(&mut size, None, data.x.ptr())).map_err(CliError::device)?;
    let work = DeviceBuffer::<u8>::zeroed(stream, size).map_err(CliError::device)?;
    good("gtsv", call(&mut 0, Some(work.ptr()), data.x.ptr())).map_err(CliError::device)?;
    stream.synchronize().map_err(CliError::device)?;
    time(stream, seconds, || good("gtsv", call(&mut 0, Some(work.ptr()), y.ptr())))
}

/// The RES lines of a case, one for each routine.
///
/// # Errors
/// Bad usage, no GPU, no library.
pub fn measure(case: &Case, args: &Args, ctx: &Context) -> CliResult<Vec<Record>> {
    if case.nb != 1 || args.periodic || args.factored.is_some() {
        return Err(CliError::input("the library's batch routines solve open scalar systems, once"));
    }
    match args.scalar {
        Scalar::F32 => all::<Single>(case, args, ctx),
        Scalar::F64 => all::<Double>(case, args, ctx),
        Scalar::Mixed => Err(CliError::input("the library has no mixed precision: take f32 or f64")),
    }
}

fn all<P: Precision>(case: &Case, args: &Args, ctx: &Context) -> CliResult<Vec<Record>>
where
    P::Store: Pod,
{
    let stream = ctx.open_gpu()?.stream().map_err(CliError::device)?;
    let mut records = Vec::new();
    for routine in Routine::ALL {
        let data = Data::<P::Store>::new(case, routine.layout(), 1)?;
        let mut on_device = OnDevice::new(&stream, [&data.lower, &data.diag, &data.upper, &data.rhs])?;
        let timing = solve(&stream, routine, data.shape, &mut on_device, budget(args.budget))?;
        let x = on_device.x.download().map_err(CliError::device)?;
        let check = residual(case, &data, false, &x, 1)?;
        let who = format!("cusparse-{}-{}", routine.name(), P::NAME);
        records.push(record::<P>(who, case, "btri_solve", None, (1, timing, check)));
    }
    Ok(records)
}
