#![allow(unsafe_code)]
//! The tuned loops: rows in the order of a schedule, block columns in SIMD lanes.
//!
//! A column of `nb` values is worked on as `ld` lanes, `ld` the next vector width: scratch blocks are padded to `ld`,
//! stored blocks are not, so their loads run over into the next column (the last one into the buffer's tail) and the
//! lanes past `nb` hold values that nobody uses.

use super::gauss_jordan::{Inverted, invert};
use super::{Fill, Triangle};
use crate::sparse::BlockPattern;
use chromaflow_device::{Isa, SharedSlice};
use std::ops::Range;

/// A precision in which factors are stored; sums are f64.
pub(super) trait Stored: bytemuck::Pod + Send + Sync {
    fn wide(self) -> f64;
    fn narrow(x: f64) -> Self;
}

impl Stored for f64 {
    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }
    #[inline(always)]
    fn narrow(x: f64) -> Self {
        x
    }
}

impl Stored for f32 {
    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn narrow(x: f64) -> Self {
        x as f32
    }
}

#[inline(always)]
fn fma<const FMA: bool>(a: f64, b: f64, c: f64) -> f64 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// A block size, known to the compiler or not.
trait Size: Copy {
    type Lanes: AsRef<[f64]> + AsMut<[f64]> + Copy;
    fn nb(self) -> usize;
    fn ld(self) -> usize;
    fn zero(self) -> Self::Lanes;
    /// acc += column * x over all `ld` lanes.
    ///
    /// # Safety
    /// `column` is readable for `ld` values.
    unsafe fn add_column<T: Stored, const FMA: bool>(self, acc: &mut Self::Lanes, column: *const T, x: f64);
}

#[derive(Clone, Copy)]
struct Fixed<const NB: usize, const LD: usize>;

impl<const NB: usize, const LD: usize> Size for Fixed<NB, LD> {
    type Lanes = [f64; LD];
    #[inline(always)]
    fn nb(self) -> usize {
        NB
    }
    #[inline(always)]
    fn ld(self) -> usize {
        LD
    }
    #[inline(always)]
    fn zero(self) -> [f64; LD] {
        [0.0; LD]
    }
    #[inline(always)]
    unsafe fn add_column<T: Stored, const FMA: bool>(self, acc: &mut [f64; LD], column: *const T, x: f64) {
        // SAFETY: readable for LD values (the caller's promise).
        let column = unsafe { column.cast::<[T; LD]>().read_unaligned() };
        for (a, v) in acc.iter_mut().zip(column) {
            *a = fma::<FMA>(v.wide(), x, *a);
        }
    }
}

#[derive(Clone, Copy)]
struct Dynamic(usize);

impl Size for Dynamic {
    type Lanes = [f64; crate::MAX_NB];
    #[inline(always)]
    fn nb(self) -> usize {
        self.0
    }
    #[inline(always)]
    fn ld(self) -> usize {
        self.0.next_multiple_of(8)
    }
    #[inline(always)]
    fn zero(self) -> Self::Lanes {
        [0.0; crate::MAX_NB]
    }
    #[inline(always)]
    unsafe fn add_column<T: Stored, const FMA: bool>(self, acc: &mut Self::Lanes, column: *const T, x: f64) {
        for (i, part) in acc[..self.ld()].chunks_exact_mut(8).enumerate() {
            // SAFETY: readable for ld values (the caller's promise), 8 i + 8 <= ld.
            let values = unsafe { column.add(8 * i).cast::<[T; 8]>().read_unaligned() };
            for (a, v) in part.iter_mut().zip(values) {
                *a = fma::<FMA>(v.wide(), x, *a);
            }
        }
    }
}

/// What a factorization reads and writes. A row is written by one thread; rows of an earlier level are read by all.
pub(super) struct FactorTask<'a, S, T> {
    pub pattern: &'a BlockPattern,
    pub off: &'a [S],
    pub diag: &'a [f64],
    pub lower: &'a Triangle<T>,
    pub upper: &'a Triangle<T>,
    pub lower_values: SharedSlice<'a, T>,
    pub upper_values: SharedSlice<'a, T>,
    pub inv_diag: SharedSlice<'a, f64>,
    pub fill: Fill,
    pub guard: bool,
    pub shift: f64,
}

/// A thread's own memory.
pub(super) struct Scratch {
    /// The row being factored: its off-diagonal blocks, then its diagonal block, padded.
    row: Vec<f64>,
    /// A_ik D_k^-1, padded.
    product: Vec<f64>,
    copy: Vec<f64>,
    /// Where each column stands in `row`; `NONE` elsewhere.
    slot: Vec<u32>,
    /// Rows inverted with pivoting.
    pub pivoted: Vec<u32>,
    /// Largest value added to a diagonal entry.
    pub shifted: f64,
}

const NONE: u32 = u32::MAX;

impl Scratch {
    pub fn new(pattern: &BlockPattern, nb: usize) -> Self {
        let longest = (0..pattern.rows()).map(|i| pattern.range(i).len()).max().unwrap_or(0);
        let padded = nb * nb.next_multiple_of(8); // no size has more lanes
        Self {
            row: vec![0.0; (longest + 1) * padded],
            product: vec![0.0; padded],
            copy: Vec::with_capacity(padded),
            slot: vec![NONE; pattern.rows()],
            pivoted: Vec::new(),
            shifted: 0.0,
        }
    }
}

/// Factors the rows at `positions` of the lower schedule, one after the other.
///
/// # Errors
/// The first row whose diagonal block is singular.
#[inline(always)]
fn factor_rows<Z: Size, S: Stored, T: Stored, const FMA: bool>(
    z: Z,
    task: &FactorTask<'_, S, T>,
    positions: Range<usize>,
    scratch: &mut Scratch,
) -> Result<(), u32> {
    let (nb, ld) = (z.nb(), z.ld());
    let (q, padded) = (nb * nb, nb * ld);
    let p = task.pattern;
    for position in positions {
        let i = task.lower.rows[position] as usize;
        let columns = p.columns(i);
        let count = columns.len();
        let row = &mut scratch.row[..(count + 1) * padded];
        let unpack = |to: &mut [f64], from: &[S]| {
            for (to, from) in to.chunks_exact_mut(ld).zip(from.chunks_exact(nb)) {
                for (to, from) in to.iter_mut().zip(from) {
                    *to = from.wide();
                }
            }
        };
        let start = p.range(i).start;
        for (s, block) in row.chunks_exact_mut(padded).take(count).enumerate() {
            unpack(block, &task.off[(start + s) * q..(start + s + 1) * q]);
            scratch.slot[columns[s] as usize] = s as u32;
        }
        scratch.slot[i] = count as u32;
        let diag = &mut row[count * padded..];
        for (to, from) in diag.chunks_exact_mut(ld).zip(task.diag[i * q..(i + 1) * q].chunks_exact(nb)) {
            to[..nb].copy_from_slice(from);
        }
        scratch.shifted = scratch.shifted.max(super::add_shift(diag, nb, ld, task.shift));

        let below = columns.partition_point(|&c| (c as usize) < i);
        for (s, &k) in columns[..below].iter().enumerate() {
            let k = k as usize;
            // SAFETY: row k is of an earlier level (or position): written before, by nobody now.
            let inv = unsafe { task.inv_diag.read(k * q..(k + 1) * q) };
            let block = &mut row[s * padded..(s + 1) * padded];
            for (product, inv) in scratch.product.chunks_exact_mut(ld).zip(inv.chunks_exact(nb)) {
                let mut acc = z.zero();
                for (column, &x) in block.chunks_exact(ld).zip(inv) {
                    // SAFETY: a padded column has ld values.
                    unsafe { z.add_column::<f64, FMA>(&mut acc, column.as_ptr(), x) };
                }
                product.copy_from_slice(&acc.as_ref()[..ld]);
            }
            block.copy_from_slice(&scratch.product[..padded]);
            let at = task.upper.position[k] as usize;
            for e in task.upper.range(at) {
                let j = task.upper.cols[e];
                let slot = scratch.slot[j as usize];
                if slot == NONE || (task.fill == Fill::DiagonalOnly && j as usize != i) {
                    continue;
                }
                // SAFETY: as for `inv` above.
                let upper = unsafe { task.upper_values.read(e * q..(e + 1) * q) };
                let target = &mut row[slot as usize * padded..][..padded];
                for (to, from) in target.chunks_exact_mut(ld).zip(upper.chunks_exact(nb)) {
                    let mut acc = z.zero();
                    acc.as_mut()[..ld].copy_from_slice(to);
                    for (column, x) in scratch.product.chunks_exact(ld).zip(from) {
                        // SAFETY: a padded column has ld values.
                        unsafe { z.add_column::<f64, FMA>(&mut acc, column.as_ptr(), -x.wide()) };
                    }
                    to.copy_from_slice(&acc.as_ref()[..ld]);
                }
            }
        }

        match invert(&mut row[count * padded..], nb, ld, task.guard, &mut scratch.copy) {
            Inverted::Plain => {}
            Inverted::Pivoted => scratch.pivoted.push(i as u32),
            Inverted::Singular => return Err(i as u32),
        }
        // SAFETY: this thread owns row i: its diagonal block and its blocks of both triangles.
        let (inv, lower, upper) = unsafe {
            (
                task.inv_diag.write(i * q..(i + 1) * q),
                task.lower_values.write(task.lower.values_of(position, q)),
                task.upper_values.write(task.upper.values_of(task.upper.position[i] as usize, q)),
            )
        };
        for (to, from) in inv.chunks_exact_mut(nb).zip(row[count * padded..].chunks_exact(ld)) {
            to.copy_from_slice(&from[..nb]);
        }
        let packed = lower.chunks_exact_mut(nb).chain(upper.chunks_exact_mut(nb));
        for (to, from) in packed.zip(row.chunks_exact(ld)) {
            for (to, &from) in to.iter_mut().zip(from) {
                *to = T::narrow(from);
            }
        }
        for &c in columns {
            scratch.slot[c as usize] = NONE;
        }
        scratch.slot[i] = NONE;
    }
    Ok(())
}

/// One triangular solve over the rows at `positions`: `x_i <- b_i - sum T_ij x_j`, then `x_i <- D_i^-1 x_i` where
/// `inv_diag` is given. `b` and `x` may be the same array (`b` none).
#[inline(always)]
fn solve_rows<Z: Size, T: Stored, const FMA: bool>(
    z: Z,
    t: &Triangle<T>,
    inv_diag: Option<&[f64]>,
    b: Option<&[f64]>,
    x: &SharedSlice<'_, f64>,
    positions: Range<usize>,
) {
    let nb = z.nb();
    let q = nb * nb;
    let values = t.values.as_ptr();
    for position in positions {
        let i = t.rows[position] as usize;
        let range = t.range(position);
        let (mut even, mut odd) = (z.zero(), z.zero());
        for e in range {
            let j = t.cols[e] as usize;
            // SAFETY: row j is of an earlier level (or position): written before, by nobody now.
            let xj = unsafe { x.read(j * nb..(j + 1) * nb) };
            for (c, &x) in xj.iter().enumerate() {
                let acc = if c % 2 == 0 { &mut even } else { &mut odd };
                // SAFETY: column c of block e lies inside `values`; lanes past it lie there or in the buffer's tail
                // (ld - nb < 8 values of at most 8 bytes).
                unsafe { z.add_column::<T, FMA>(acc, values.add(e * q + c * nb), x) };
            }
        }
        // SAFETY: row i belongs to this thread.
        let xi = unsafe { x.write(i * nb..(i + 1) * nb) };
        let sum = even.as_ref().iter().zip(odd.as_ref()).map(|(a, b)| a + b);
        if let Some(b) = b {
            for ((to, from), sum) in xi.iter_mut().zip(&b[i * nb..(i + 1) * nb]).zip(sum) {
                *to = from - sum;
            }
        } else {
            for (to, sum) in xi.iter_mut().zip(sum) {
                *to -= sum;
            }
        }
        if let Some(inv_diag) = inv_diag {
            let mut acc = z.zero();
            let inv = inv_diag[i * q..].as_ptr();
            for (c, &x) in xi.iter().enumerate() {
                // SAFETY: as above: `inv_diag` is a Buffer with a readable tail.
                unsafe { z.add_column::<f64, FMA>(&mut acc, inv.add(c * nb), x) };
            }
            xi.copy_from_slice(&acc.as_ref()[..nb]);
        }
    }
}

/// Work that is compiled for each block size and instruction set.
trait Kernel {
    type Out;
    fn run<Z: Size, const FMA: bool>(self, z: Z) -> Self::Out;
}

/// The rim of this folder: run-time block size and instruction set become types here.
fn dispatch<K: Kernel>(isa: Isa, nb: usize, kernel: K) -> K::Out {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
        fn avx512<K: Kernel>(nb: usize, kernel: K) -> K::Out {
            by_size::<K, true>(nb, kernel)
        }
        #[target_feature(enable = "avx2,fma")]
        fn avx2<K: Kernel>(nb: usize, kernel: K) -> K::Out {
            by_size::<K, true>(nb, kernel)
        }
        match isa {
            // SAFETY: an Isa above what the machine has is never detected or listed as available.
            Isa::Avx512 => return unsafe { avx512(nb, kernel) },
            // SAFETY: as above.
            Isa::Avx2 => return unsafe { avx2(nb, kernel) },
            Isa::Portable => {}
        }
    }
    let _ = isa;
    by_size::<K, false>(nb, kernel)
}

#[inline(always)]
fn by_size<K: Kernel, const FMA: bool>(nb: usize, kernel: K) -> K::Out {
    match nb {
        1 => kernel.run::<_, FMA>(Fixed::<1, 1>),
        4 => kernel.run::<_, FMA>(Fixed::<4, 4>),
        5 => kernel.run::<_, FMA>(Fixed::<5, 8>),
        // Builds with debug assertions know few sizes, to build quickly; the rest runs with the size as a variable.
        #[cfg(not(debug_assertions))]
        2 => kernel.run::<_, FMA>(Fixed::<2, 2>),
        #[cfg(not(debug_assertions))]
        3 => kernel.run::<_, FMA>(Fixed::<3, 4>),
        #[cfg(not(debug_assertions))]
        6 => kernel.run::<_, FMA>(Fixed::<6, 8>),
        #[cfg(not(debug_assertions))]
        7 => kernel.run::<_, FMA>(Fixed::<7, 8>),
        #[cfg(not(debug_assertions))]
        8 => kernel.run::<_, FMA>(Fixed::<8, 8>),
        #[cfg(not(debug_assertions))]
        10 => kernel.run::<_, FMA>(Fixed::<10, 16>),
        #[cfg(not(debug_assertions))]
        16 => kernel.run::<_, FMA>(Fixed::<16, 16>),
        _ => kernel.run::<_, FMA>(Dynamic(nb)),
    }
}

/// [`factor_rows`] for the machine at hand.
///
/// # Errors
/// The first row whose diagonal block is singular.
pub(super) fn factor<S: Stored, T: Stored>(
    isa: Isa,
    nb: usize,
    task: &FactorTask<'_, S, T>,
    positions: Range<usize>,
    scratch: &mut Scratch,
) -> Result<(), u32> {
    struct Run<'a, S, T>(&'a FactorTask<'a, S, T>, Range<usize>, &'a mut Scratch);
    impl<S: Stored, T: Stored> Kernel for Run<'_, S, T> {
        type Out = Result<(), u32>;
        #[inline(always)]
        fn run<Z: Size, const FMA: bool>(self, z: Z) -> Self::Out {
            factor_rows::<Z, S, T, FMA>(z, self.0, self.1, self.2)
        }
    }
    dispatch(isa, nb, Run(task, positions, scratch))
}

/// [`solve_rows`] for the machine at hand.
pub(super) fn solve<T: Stored>(
    isa: Isa,
    nb: usize,
    triangle: &Triangle<T>,
    inv_diag: Option<&[f64]>,
    b: Option<&[f64]>,
    x: &SharedSlice<'_, f64>,
    positions: Range<usize>,
) {
    struct Run<'a, T>(
        &'a Triangle<T>,
        Option<&'a [f64]>,
        Option<&'a [f64]>,
        &'a SharedSlice<'a, f64>,
        Range<usize>,
    );
    impl<T: Stored> Kernel for Run<'_, T> {
        type Out = ();
        #[inline(always)]
        fn run<Z: Size, const FMA: bool>(self, z: Z) {
            solve_rows::<Z, T, FMA>(z, self.0, self.1, self.2, self.3, self.4);
        }
    }
    dispatch(isa, nb, Run(triangle, inv_diag, b, x, positions));
}
