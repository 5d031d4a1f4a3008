#![allow(unsafe_code)]
//! The paper's baseline, made of library calls, for the side by side: per color cusparseSbsrmv and cublasStrsmBatched
//! twice, all in f32 (CSR products at block size 1, which bsrmv refuses).

use super::measure::SWEEPS;
use chromaflow::RowBatches;
use chromaflow::gpu::{DeviceJacobian, DeviceOff, Storage, Vectors};
use chromaflow_cli::error::{CliError, CliResult};
use chromaflow_device::cuda::{
    CudaError, DeviceBuffer, Stream, cublas_sys as blas, cusparse_sys as sparse, driver_sys,
};
use std::ffi::c_void;
use std::ptr::null_mut;

/// Sweeps by library calls.
pub struct LibraryEngine {
    stream: Stream,
    blas: blas::cublasHandle_t,
    sparse: sparse::cusparseHandle_t,
    description: sparse::cusparseMatDescr_t,
    nb: usize,
    rows: usize,
    colors: Vec<Color>,
    off: u64,
    col_idx: DeviceBuffer<u32>,
    row_ptr: DeviceBuffer<u32>,
    /// LU factors of the diagonal blocks, and where they begin.
    _lu: DeviceBuffer<f32>,
    lu_at: DeviceBuffer<u64>,
    x_at: DeviceBuffer<u64>,
    b: DeviceBuffer<f32>,
    x: DeviceBuffer<f32>,
    vectors: Vectors,
    work: Option<DeviceBuffer<u8>>,
}

/// Rows of a color, their first block and number of blocks; at block size 1 also the descriptors of the product.
struct Color {
    first: usize,
    rows: usize,
    block: usize,
    blocks: usize,
    product: Option<Product>,
}

struct Product {
    matrix: sparse::cusparseSpMatDescr_t,
    x: sparse::cusparseDnVecDescr_t,
    y: sparse::cusparseDnVecDescr_t,
    work: u64,
}

fn status<S: std::fmt::Debug + PartialEq + Copy>(
    call: &'static str,
    found: S,
    good: S,
) -> Result<(), CudaError> {
    if found == good { Ok(()) } else { Err(CudaError::Library { call, status: format!("{found:?}") }) }
}
fn ok_blas(call: &'static str, s: blas::cublasStatus_t) -> Result<(), CudaError> {
    status(call, s, blas::cublasStatus_t::CUBLAS_STATUS_SUCCESS)
}
fn ok_sparse(call: &'static str, s: sparse::cusparseStatus_t) -> Result<(), CudaError> {
    status(call, s, sparse::cusparseStatus_t::CUSPARSE_STATUS_SUCCESS)
}

const REMEDY: &str = "install the CUDA toolkit's libraries; only the comparison needs them";

impl LibraryEngine {
    /// For the values `jac` has now, which must be f32.
    pub fn new(jac: &DeviceJacobian, batches: &RowBatches, b: &DeviceBuffer<f64>) -> CliResult<Self> {
        // SAFETY: only looks whether the libraries can be opened.
        if unsafe { !blas::is_culib_present() } {
            return Err(CliError::device(CudaError::NoLibrary { library: "cuBLAS", remedy: REMEDY }));
        }
        // SAFETY: as above.
        if unsafe { !sparse::is_culib_present() } {
            return Err(CliError::device(CudaError::NoLibrary { library: "cuSPARSE", remedy: REMEDY }));
        }
        let stream = jac.stream().clone();
        let (nb, rows, pattern) = (jac.nb(), jac.pattern().rows(), jac.pattern());
        let DeviceOff::F32(off) = &jac.off else {
            return Err(CliError::device("the library engine takes f32 blocks"));
        };
        // Row pointers of each color from zero, one behind the other.
        let (mut row_ptr, mut colors) = (Vec::new(), Vec::new());
        for range in batches.iter().filter(|r| !r.is_empty()) {
            let first = pattern.row_ptr()[range.start];
            row_ptr.extend(pattern.row_ptr()[range.start..=range.end].iter().map(|p| p - first));
            let blocks = (pattern.row_ptr()[range.end] - first) as usize;
            colors.push(Color {
                first: range.start,
                rows: range.len(),
                block: first as usize,
                blocks,
                product: None,
            });
        }
        let vectors = Vectors::new(&stream, Storage::F32).map_err(CliError::device)?;
        let mut lu = DeviceBuffer::<f32>::uninitialized(&stream, rows * nb * nb).map_err(CliError::device)?;
        vectors.to_f32(&jac.diag, &mut lu).map_err(CliError::device)?;
        let mut b32 = DeviceBuffer::<f32>::uninitialized(&stream, rows * nb).map_err(CliError::device)?;
        vectors.to_f32(b, &mut b32).map_err(CliError::device)?;
        let x = DeviceBuffer::<f32>::zeroed(&stream, rows * nb).map_err(CliError::device)?;
        let at =
            |base: u64, stride: usize| (0..rows).map(|r| base + (r * stride * 4) as u64).collect::<Vec<_>>();
        let mut engine = Self {
            blas: null_mut(),
            sparse: null_mut(),
            description: null_mut(),
            nb,
            rows,
            off: off.ptr(),
            col_idx: stream.upload(pattern.col_idx()).map_err(CliError::device)?,
            row_ptr: stream.upload(&row_ptr).map_err(CliError::device)?,
            lu_at: stream.upload(&at(lu.ptr(), nb * nb)).map_err(CliError::device)?,
            x_at: stream.upload(&at(x.ptr(), nb)).map_err(CliError::device)?,
            _lu: lu,
            b: b32,
            x,
            colors,
            vectors,
            work: None,
            stream,
        };
        engine.set_up().map_err(CliError::device)?;
        Ok(engine)
    }

    fn set_up(&mut self) -> Result<(), CudaError> {
        let info = DeviceBuffer::<i32>::zeroed(&self.stream, self.rows)?;
        let stream: *mut c_void = self.stream.raw().cast();
        // SAFETY: both libraries are there; handles are made once and destroyed in Drop; pointer arrays have an entry a
        // row, each to a block of nb * nb values.
        unsafe {
            ok_blas("cublasCreate", blas::cublasCreate_v2(&raw mut self.blas))?;
            ok_blas("cublasSetStream", blas::cublasSetStream_v2(self.blas, stream.cast()))?;
            ok_sparse("cusparseCreate", sparse::cusparseCreate(&raw mut self.sparse))?;
            ok_sparse("cusparseSetStream", sparse::cusparseSetStream(self.sparse, stream.cast()))?;
            ok_sparse("cusparseCreateMatDescr", sparse::cusparseCreateMatDescr(&raw mut self.description))?;
            ok_blas(
                "cublasSgetrfBatched",
                blas::cublasSgetrfBatched(
                    self.blas,
                    self.nb as i32,
                    self.lu_at.ptr() as *const *mut f32,
                    self.nb as i32,
                    null_mut(),
                    info.ptr() as *mut i32,
                    self.rows as i32,
                ),
            )?;
        }
        if self.nb == 1 {
            self.set_up_products()?;
        }
        self.stream.synchronize()
    }

    fn set_up_products(&mut self) -> Result<(), CudaError> {
        let mut most = 1;
        let mut at = 0;
        for color in &mut self.colors {
            let mut p = Product { matrix: null_mut(), x: null_mut(), y: null_mut(), work: 0 };
            let float = sparse::cudaDataType::CUDA_R_32F;
            let index = sparse::cusparseIndexType_t::CUSPARSE_INDEX_32I;
            let mut size = 0;
            // SAFETY: the arrays have the lengths stated: rows + 1 pointers from `at`, `blocks` columns and values.
            unsafe {
                let row_ptr = self.row_ptr.ptr() + 4 * at as u64;
                let (first, from) = (4 * color.block as u64, 4 * color.first as u64);
                ok_sparse(
                    "cusparseCreateCsr",
                    sparse::cusparseCreateCsr(
                        &raw mut p.matrix,
                        color.rows as i64,
                        self.rows as i64,
                        color.blocks as i64,
                        row_ptr as *mut c_void,
                        (self.col_idx.ptr() + first) as *mut c_void,
                        (self.off + first) as *mut c_void,
                        index,
                        index,
                        sparse::cusparseIndexBase_t::CUSPARSE_INDEX_BASE_ZERO,
                        float,
                    ),
                )?;
                let x = self.x.ptr();
                ok_sparse(
                    "cusparseCreateDnVec",
                    sparse::cusparseCreateDnVec(&raw mut p.x, self.rows as i64, x as *mut c_void, float),
                )?;
                ok_sparse(
                    "cusparseCreateDnVec",
                    sparse::cusparseCreateDnVec(
                        &raw mut p.y,
                        color.rows as i64,
                        (x + from) as *mut c_void,
                        float,
                    ),
                )?;
                ok_sparse(
                    "cusparseSpMV_bufferSize",
                    sparse::cusparseSpMV_bufferSize(
                        self.sparse,
                        sparse::cusparseOperation_t::CUSPARSE_OPERATION_NON_TRANSPOSE,
                        (&raw const MINUS).cast(),
                        p.matrix,
                        p.x,
                        (&raw const ONE).cast(),
                        p.y,
                        float,
                        sparse::cusparseSpMVAlg_t::CUSPARSE_SPMV_ALG_DEFAULT,
                        &raw mut size,
                    ),
                )?;
            }
            most = most.max(size);
            at += color.rows + 1;
            color.product = Some(p);
        }
        let work = DeviceBuffer::<u8>::zeroed(&self.stream, most * self.colors.len())?;
        for (i, color) in self.colors.iter_mut().enumerate() {
            if let Some(p) = &mut color.product {
                p.work = work.ptr() + (i * most) as u64;
            }
        }
        self.work = Some(work);
        Ok(())
    }

    pub fn set_x(&mut self, x: &DeviceBuffer<f64>) -> CliResult<()> {
        self.vectors.to_f32(x, &mut self.x).map_err(CliError::device)
    }

    pub fn get_x(&self, x: &mut DeviceBuffer<f64>) -> CliResult<()> {
        self.vectors.to_f64(&self.x, x).map_err(CliError::device)
    }

    pub fn sweep(&self) -> CliResult<()> {
        self.enqueue().map_err(CliError::device)
    }

    fn enqueue(&self) -> Result<(), CudaError> {
        let (nb, mut at) = (self.nb, 0);
        for c in &self.colors {
            let from = (4 * c.first * nb) as u64;
            let y = self.x.ptr() + from;
            // SAFETY: ranges of a color lie within the vectors; pointer arrays have an entry a row; handles live.
            unsafe {
                let copied = driver_sys::cuMemcpyDtoDAsync_v2(
                    y,
                    self.b.ptr() + from,
                    4 * c.rows * nb,
                    self.stream.raw(),
                );
                status("cuMemcpyDtoD", copied, driver_sys::CUresult::CUDA_SUCCESS)?;
                let transpose = sparse::cusparseOperation_t::CUSPARSE_OPERATION_NON_TRANSPOSE;
                if let Some(p) = &c.product {
                    let done = sparse::cusparseSpMV(
                        self.sparse,
                        transpose,
                        (&raw const MINUS).cast(),
                        p.matrix,
                        p.x,
                        (&raw const ONE).cast(),
                        p.y,
                        sparse::cudaDataType::CUDA_R_32F,
                        sparse::cusparseSpMVAlg_t::CUSPARSE_SPMV_ALG_DEFAULT,
                        p.work as *mut c_void,
                    );
                    ok_sparse("cusparseSpMV", done)?;
                } else {
                    let done = sparse::cusparseSbsrmv(
                        self.sparse,
                        sparse::cusparseDirection_t::CUSPARSE_DIRECTION_COLUMN,
                        transpose,
                        c.rows as i32,
                        self.rows as i32,
                        c.blocks as i32,
                        &raw const MINUS,
                        self.description,
                        (self.off + (4 * c.block * nb * nb) as u64) as *const f32,
                        (self.row_ptr.ptr() + 4 * at as u64) as *const i32,
                        (self.col_idx.ptr() + 4 * c.block as u64) as *const i32,
                        nb as i32,
                        self.x.ptr() as *const f32,
                        &raw const ONE,
                        y as *mut f32,
                    );
                    ok_sparse("cusparseSbsrmv", done)?;
                }
                use blas::{cublasDiagType_t as Diagonal, cublasFillMode_t as Fill};
                for (fill, diagonal) in [
                    (Fill::CUBLAS_FILL_MODE_LOWER, Diagonal::CUBLAS_DIAG_UNIT),
                    (Fill::CUBLAS_FILL_MODE_UPPER, Diagonal::CUBLAS_DIAG_NON_UNIT),
                ] {
                    let done = blas::cublasStrsmBatched(
                        self.blas,
                        blas::cublasSideMode_t::CUBLAS_SIDE_LEFT,
                        fill,
                        blas::cublasOperation_t::CUBLAS_OP_N,
                        diagonal,
                        nb as i32,
                        1,
                        &raw const ONE,
                        (self.lu_at.ptr() + 8 * c.first as u64) as *const *const f32,
                        nb as i32,
                        (self.x_at.ptr() + 8 * c.first as u64) as *const *mut f32,
                        nb as i32,
                        c.rows as i32,
                    );
                    ok_blas("cublasStrsmBatched", done)?;
                }
            }
            at += c.rows + 1;
        }
        Ok(())
    }

    /// Median milliseconds a sweep: as calls on the stream, and as a graph of [`SWEEPS`] where it can be recorded.
    pub fn time(&mut self, repeats: usize) -> CliResult<(f64, Option<f64>)> {
        let sweeps = || (0..SWEEPS).try_for_each(|_| self.enqueue());
        let stream_ms = self.stream.time(repeats, sweeps).map_err(CliError::device)? / SWEEPS as f64;
        let graph = self.stream.capture(sweeps).ok();
        let graph_ms = graph
            .map(|mut g| self.stream.time(repeats, || g.launch(&self.stream)).map(|ms| ms / SWEEPS as f64))
            .transpose()
            .map_err(CliError::device)?;
        Ok((stream_ms, graph_ms))
    }
}

static ONE: f32 = 1.0;
static MINUS: f32 = -1.0;

impl Drop for LibraryEngine {
    fn drop(&mut self) {
        // SAFETY: each was made once, or is null, which both libraries take.
        unsafe {
            for p in self.colors.iter().filter_map(|c| c.product.as_ref()) {
                sparse::cusparseDestroySpMat(p.matrix);
                sparse::cusparseDestroyDnVec(p.x);
                sparse::cusparseDestroyDnVec(p.y);
            }
            if !self.description.is_null() {
                sparse::cusparseDestroyMatDescr(self.description);
            }
            if !self.sparse.is_null() {
                sparse::cusparseDestroy(self.sparse);
            }
            if !self.blas.is_null() {
                blas::cublasDestroy_v2(self.blas);
            }
        }
    }
}
