#![allow(unsafe_code)]
//! Block ILU(0) by library calls, for the side by side: cusparseDbsrilu02, and cusparseDbsrsv2 with both factors.

use crate::bench::timing::Timing;
use crate::error::{CliError, CliResult};
use chromaflow::Jacobian;
use chromaflow_device::cuda::{CudaError, DeviceBuffer, Gpu, Stream, cusparse_sys as sparse};
use std::ffi::c_void;
use std::ptr::null_mut;

const COLUMN: sparse::cusparseDirection_t = sparse::cusparseDirection_t::CUSPARSE_DIRECTION_COLUMN;
const PLAIN: sparse::cusparseOperation_t = sparse::cusparseOperation_t::CUSPARSE_OPERATION_NON_TRANSPOSE;
const LEVELS: sparse::cusparseSolvePolicy_t = sparse::cusparseSolvePolicy_t::CUSPARSE_SOLVE_POLICY_USE_LEVEL;
static ONE: f64 = 1.0;

/// A factorization by the library: handles, the matrix with its diagonal blocks in their places, work space.
pub struct Library {
    stream: Stream,
    handle: sparse::cusparseHandle_t,
    whole: sparse::cusparseMatDescr_t,
    parts: [sparse::cusparseMatDescr_t; 2],
    info: sparse::bsrilu02Info_t,
    part_info: [sparse::bsrsv2Info_t; 2],
    rows: i32,
    blocks: i32,
    nb: i32,
    row_ptr: DeviceBuffer<i32>,
    col_idx: DeviceBuffer<i32>,
    given: DeviceBuffer<f64>,
    values: DeviceBuffer<f64>,
    work: DeviceBuffer<u8>,
    y: DeviceBuffer<f64>,
}

fn good(call: &'static str, status: sparse::cusparseStatus_t) -> Result<(), CudaError> {
    if status == sparse::cusparseStatus_t::CUSPARSE_STATUS_SUCCESS {
        return Ok(());
    }
    Err(CudaError::Library { call, status: format!("{status:?}") })
}

impl Library {
    /// The symbolic phase for the values of `a`.
    pub fn new(gpu: &Gpu, a: &Jacobian) -> CliResult<Self> {
        // SAFETY: only looks whether the library can be opened.
        if unsafe { !sparse::is_culib_present() } {
            let remedy = "install the CUDA toolkit's libraries; only the comparison needs them";
            return Err(CliError::device(CudaError::NoLibrary { library: "cuSPARSE", remedy }));
        }
        let (p, q, off) = (a.pattern(), a.nb() * a.nb(), a.off_f64());
        let (mut row_ptr, mut col_idx, mut values) = (vec![0i32], Vec::new(), Vec::new());
        for row in 0..p.rows() {
            let mut own = Some(row);
            let mut put_own = |col_idx: &mut Vec<i32>, values: &mut Vec<f64>| {
                if let Some(row) = own.take() {
                    col_idx.push(row as i32);
                    values.extend(&a.diag[row * q..(row + 1) * q]);
                }
            };
            for position in p.range(row) {
                let column = p.col_idx()[position] as usize;
                if column > row {
                    put_own(&mut col_idx, &mut values);
                }
                col_idx.push(column as i32);
                values.extend(&off[position * q..(position + 1) * q]);
            }
            put_own(&mut col_idx, &mut values);
            row_ptr.push(col_idx.len() as i32);
        }
        let stream = gpu.stream().map_err(CliError::device)?;
        let given = stream.upload(&values).map_err(CliError::device)?;
        let mut all = Self {
            handle: null_mut(),
            whole: null_mut(),
            parts: [null_mut(); 2],
            info: null_mut(),
            part_info: [null_mut(); 2],
            rows: p.rows() as i32,
            blocks: col_idx.len() as i32,
            nb: a.nb() as i32,
            row_ptr: stream.upload(&row_ptr).map_err(CliError::device)?,
            col_idx: stream.upload(&col_idx).map_err(CliError::device)?,
            values: stream.upload(&values).map_err(CliError::device)?,
            given,
            work: DeviceBuffer::zeroed(&stream, 0).map_err(CliError::device)?,
            y: DeviceBuffer::zeroed(&stream, p.rows() * a.nb()).map_err(CliError::device)?,
            stream,
        };
        all.analyze().map_err(CliError::device)?;
        Ok(all)
    }

    fn pointers(&self) -> (*mut f64, *const i32, *const i32) {
        (self.values.ptr() as *mut f64, self.row_ptr.ptr() as *const i32, self.col_idx.ptr() as *const i32)
    }

    fn analyze(&mut self) -> Result<(), CudaError> {
        let (values, row_ptr, col_idx) = self.pointers();
        let (rows, blocks, nb) = (self.rows, self.blocks, self.nb);
        let (mut size, mut most) = (0, 0);
        // SAFETY: the library is there; the arrays are those of the matrix; handles are made once.
        unsafe {
            good("cusparseCreate", sparse::cusparseCreate(&raw mut self.handle))?;
            let stream = self.stream.raw().cast::<c_void>().cast();
            good("cusparseSetStream", sparse::cusparseSetStream(self.handle, stream))?;
            good("cusparseCreateMatDescr", sparse::cusparseCreateMatDescr(&raw mut self.whole))?;
            good("cusparseCreateBsrilu02Info", sparse::cusparseCreateBsrilu02Info(&raw mut self.info))?;
            let found = sparse::cusparseDbsrilu02_bufferSize(
                self.handle,
                COLUMN,
                rows,
                blocks,
                self.whole,
                values,
                row_ptr,
                col_idx,
                nb,
                self.info,
                &raw mut size,
            );
            good("cusparseDbsrilu02_bufferSize", found)?;
            most = size.max(most);
            use sparse::{cusparseDiagType_t as Diagonal, cusparseFillMode_t as Fill};
            let kinds = [
                (Fill::CUSPARSE_FILL_MODE_LOWER, Diagonal::CUSPARSE_DIAG_TYPE_UNIT),
                (Fill::CUSPARSE_FILL_MODE_UPPER, Diagonal::CUSPARSE_DIAG_TYPE_NON_UNIT),
            ];
            for (part, (fill, diagonal)) in kinds.into_iter().enumerate() {
                let description = &raw mut self.parts[part];
                good("cusparseCreateMatDescr", sparse::cusparseCreateMatDescr(description))?;
                good("cusparseSetMatFillMode", sparse::cusparseSetMatFillMode(self.parts[part], fill))?;
                good("cusparseSetMatDiagType", sparse::cusparseSetMatDiagType(self.parts[part], diagonal))?;
                let info = &raw mut self.part_info[part];
                good("cusparseCreateBsrsv2Info", sparse::cusparseCreateBsrsv2Info(info))?;
                let found = sparse::cusparseDbsrsv2_bufferSize(
                    self.handle,
                    COLUMN,
                    PLAIN,
                    rows,
                    blocks,
                    self.parts[part],
                    values,
                    row_ptr,
                    col_idx,
                    nb,
                    self.part_info[part],
                    &raw mut size,
                );
                good("cusparseDbsrsv2_bufferSize", found)?;
                most = size.max(most);
            }
            // Each phase keeps what it found in its own part of the work space.
            let each = (most.max(0) as usize).next_multiple_of(256);
            self.work = DeviceBuffer::zeroed(&self.stream, 3 * each)?;
            let found = sparse::cusparseDbsrilu02_analysis(
                self.handle,
                COLUMN,
                rows,
                blocks,
                self.whole,
                values,
                row_ptr,
                col_idx,
                nb,
                self.info,
                LEVELS,
                self.work_of(0),
            );
            good("cusparseDbsrilu02_analysis", found)?;
            for part in [0, 1] {
                let found = sparse::cusparseDbsrsv2_analysis(
                    self.handle,
                    COLUMN,
                    PLAIN,
                    rows,
                    blocks,
                    self.parts[part],
                    values,
                    row_ptr,
                    col_idx,
                    nb,
                    self.part_info[part],
                    LEVELS,
                    self.work_of(1 + part),
                );
                good("cusparseDbsrsv2_analysis", found)?;
            }
        }
        self.stream.synchronize()
    }

    fn work_of(&self, phase: usize) -> *mut c_void {
        (self.work.ptr() + (phase * self.work.len() / 3) as u64) as *mut c_void
    }

    fn factor(&mut self) -> Result<(), CudaError> {
        self.values.copy_from(&self.given.slice())?;
        let (values, row_ptr, col_idx) = self.pointers();
        // SAFETY: as in `analyze`.
        let found = unsafe {
            sparse::cusparseDbsrilu02(
                self.handle,
                COLUMN,
                self.rows,
                self.blocks,
                self.whole,
                values,
                row_ptr,
                col_idx,
                self.nb,
                self.info,
                LEVELS,
                self.work_of(0),
            )
        };
        good("cusparseDbsrilu02", found)
    }

    fn solve(&self, b: &DeviceBuffer<f64>, x: &DeviceBuffer<f64>) -> Result<(), CudaError> {
        let (values, row_ptr, col_idx) = self.pointers();
        for (part, from, to) in [(0, b.ptr(), self.y.ptr()), (1, self.y.ptr(), x.ptr())] {
            // SAFETY: as in `analyze`; vectors have rows * nb values.
            let found = unsafe {
                sparse::cusparseDbsrsv2_solve(
                    self.handle,
                    COLUMN,
                    PLAIN,
                    self.rows,
                    self.blocks,
                    &raw const ONE,
                    self.parts[part],
                    values,
                    row_ptr,
                    col_idx,
                    self.nb,
                    self.part_info[part],
                    from as *const f64,
                    to as *mut f64,
                    LEVELS,
                    self.work_of(1 + part),
                )
            };
            good("cusparseDbsrsv2_solve", found)?;
        }
        Ok(())
    }

    /// Times of factorization (the copy of the values in it) and solve, and the solution.
    pub fn measure(&mut self, b: &[f64], budget: f64) -> CliResult<(Timing, Timing, Vec<f64>)> {
        let stream = self.stream.clone();
        let factor = Timing::on_device(&stream, budget, || Ok(self.factor()?))?;
        let b = stream.upload(b).map_err(CliError::device)?;
        let x = DeviceBuffer::zeroed(&stream, b.len()).map_err(CliError::device)?;
        let apply = Timing::on_device(&stream, budget, || Ok(self.solve(&b, &x)?))?;
        Ok((factor, apply, x.download().map_err(CliError::device)?))
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: each was made once, or is null and left out.
        unsafe {
            for part in [0, 1] {
                if !self.part_info[part].is_null() {
                    sparse::cusparseDestroyBsrsv2Info(self.part_info[part]);
                }
                if !self.parts[part].is_null() {
                    sparse::cusparseDestroyMatDescr(self.parts[part]);
                }
            }
            if !self.info.is_null() {
                sparse::cusparseDestroyBsrilu02Info(self.info);
            }
            if !self.whole.is_null() {
                sparse::cusparseDestroyMatDescr(self.whole);
            }
            if !self.handle.is_null() {
                sparse::cusparseDestroy(self.handle);
            }
        }
    }
}
