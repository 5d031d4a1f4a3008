#![allow(unsafe_code)]
//! Elimination of lines.

use super::LineTable;
use crate::block::{BlockHealth, Workspace, add_product, factor_guarded, invert_guarded, solve_factored};
use crate::relax::DiagonalForm;
use crate::rim::{Size, with_size};
use crate::shared::SharedMut;
use crate::sparse::{BlockPattern, OffDiagonal};
use chromaflow_device::{Buffer, Isa};
use chromaflow_simd::{Elem, Kernel, Simd, dispatch};
use std::ops::Range;

/// The blocks E and F of the rows of lines, `[stored rows, nb, nb]` each, in the precision of x.
pub(in crate::relax) enum Couplings {
    Double([Buffer<f64>; 2]),
    Single([Buffer<f32>; 2]),
}

impl Couplings {
    /// Room for those of `rows` rows beside a matrix stored as `off` is.
    pub(in crate::relax) fn zeroed(off: &OffDiagonal, rows: usize, nb: usize) -> Self {
        let len = rows * nb * nb;
        match off {
            OffDiagonal::F64(_) => Couplings::Double([Buffer::zeroed(len), Buffer::zeroed(len)]),
            OffDiagonal::F32(_) | OffDiagonal::F16 { .. } => {
                Couplings::Single([Buffer::zeroed(len), Buffer::zeroed(len)])
            }
        }
    }

    /// Whether they are in the precision of a matrix stored as `off` is.
    pub(in crate::relax) fn fit(&self, off: &OffDiagonal) -> bool {
        matches!(self, Couplings::Double(_)) == matches!(off, OffDiagonal::F64(_))
    }

    pub(in crate::relax) fn bytes(&self) -> usize {
        match self {
            Couplings::Double([e, f]) => e.bytes() + f.bytes(),
            Couplings::Single([e, f]) => e.bytes() + f.bytes(),
        }
    }
}

/// Where E and F go.
#[derive(Clone, Copy)]
enum Places {
    Double([SharedMut<f64>; 2]),
    Single([SharedMut<f32>; 2]),
}

/// What the elimination of lines reads and writes besides the diagonal blocks.
pub(in crate::relax) struct Elimination<'a> {
    table: &'a LineTable,
    pattern: &'a BlockPattern,
    off: &'a OffDiagonal,
    to: Places,
}

impl<'a> Elimination<'a> {
    pub(in crate::relax) fn new(
        table: &'a LineTable,
        pattern: &'a BlockPattern,
        off: &'a OffDiagonal,
        couplings: &'a mut Couplings,
    ) -> Self {
        let to = match couplings {
            Couplings::Double(c) => Places::Double(c.each_mut().map(|c| SharedMut(c.as_mut_ptr()))),
            Couplings::Single(c) => Places::Single(c.each_mut().map(|c| SharedMut(c.as_mut_ptr()))),
        };
        Self { table, pattern, off, to }
    }

    pub(in crate::relax) fn table(&self) -> &LineTable {
        self.table
    }

    /// Factors a line: its diagonal blocks, as they stand in `from` or already in `to`, become B^-1 or the factors of B in `to`.
    /// Blocks that are not sound are told to `bad`; a singular one ends the line.
    ///
    /// # Safety
    /// `to` holds blocks for all rows, those of this line are the caller's alone, and the machine has `isa`.
    #[allow(clippy::too_many_arguments)]
    pub(in crate::relax) unsafe fn line(
        &self,
        isa: Isa,
        nb: usize,
        form: DiagonalForm,
        (rows, stored): (Range<usize>, usize),
        from: Option<&[f64]>,
        to: *mut f64,
        work: &mut LineWork,
        bad: &mut impl FnMut(usize, BlockHealth, &Workspace),
    ) {
        with_size!(few: isa, nb, size => {
            let line = Line { own: self, form, size, rows: rows.clone(), stored, from, to, work, bad };
            // SAFETY: as the caller promises.
            unsafe { dispatch(isa, line) }
        });
    }
}

/// Room for eliminating one row after the other.
pub(in crate::relax) struct LineWork {
    block: Workspace,
    /// A, C and F of a row, and a product.
    blocks: [Vec<f64>; 4],
}

impl LineWork {
    pub(in crate::relax) fn new(nb: usize) -> Self {
        Self { block: Workspace::new(nb), blocks: std::array::from_fn(|_| vec![0.0; nb * nb]) }
    }
}

struct Line<'a, Z, B> {
    own: &'a Elimination<'a>,
    form: DiagonalForm,
    size: Z,
    rows: Range<usize>,
    stored: usize,
    from: Option<&'a [f64]>,
    to: *mut f64,
    work: &'a mut LineWork,
    bad: &'a mut B,
}

impl<Z: Size, B: FnMut(usize, BlockHealth, &Workspace)> Kernel for Line<'_, Z, B> {
    const PORTABLE: bool = Z::PORTABLE;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Self { own, form, size, rows, stored, from, to, work, bad } = self;
        let nb = size.get();
        let q = nb * nb;
        let LineWork { block: work, blocks: [a, c, f, product] } = work;
        let (a, c, f, product) = (&mut a[..q], &mut c[..q], &mut f[..q], &mut product[..q]);
        for row in rows.clone() {
            let at = stored + row - rows.start;
            // SAFETY: `to` holds q values for every row, and this row is the caller's alone.
            let b = unsafe { std::slice::from_raw_parts_mut(to.add(row * q), q) };
            if let Some(from) = from {
                b.copy_from_slice(&from[row * q..(row + 1) * q]);
            }
            let near = own.table.near(at);
            let columns = &own.pattern.col_idx()[near.clone()];
            let take = |column: Option<usize>, block: &mut [f64]| match column
                .and_then(|column| columns.iter().position(|&c| c as usize == column))
            {
                Some(k) => own.off.block(q, row, near.start + k, block),
                None => block.fill(0.0),
            };
            let first = row == rows.start;
            take((!first).then(|| row - 1), a);
            take((row + 1 < rows.end).then_some(row + 1), c);
            if !first {
                // B = D - A F
                multiply(nb, a, f, product);
                b.iter_mut().zip(&*product).for_each(|(b, p)| *b -= p);
            }
            let health = match form {
                DiagonalForm::Lu => factor_guarded(nb, b, work),
                DiagonalForm::Inverse => invert_guarded(nb, b, work),
            };
            if health != BlockHealth::Sound {
                bad(row, health, work);
            }
            if health == BlockHealth::Singular {
                return;
            }
            let pivots = (health == BlockHealth::Pivoted).then(|| &work.pivots()[..nb]);
            for (which, block) in [&mut *a, &mut *c].into_iter().enumerate() {
                match form {
                    DiagonalForm::Inverse => {
                        multiply(nb, b, block, product);
                        block.copy_from_slice(product);
                    }
                    DiagonalForm::Lu => {
                        block.chunks_exact_mut(nb).for_each(|column| solve_factored(nb, b, pivots, column));
                    }
                }
                // SAFETY: there are q values for every stored row, and this one is the caller's alone.
                unsafe {
                    match own.to {
                        Places::Double(to) => put(block, to[which].get().add(at * q)),
                        Places::Single(to) => put(block, to[which].get().add(at * q)),
                    }
                }
            }
            f.copy_from_slice(c);
        }
    }
}

/// `out = a b`.
#[inline(always)]
fn multiply(nb: usize, a: &[f64], b: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    for (column, out) in b.chunks_exact(nb).zip(out.chunks_exact_mut(nb)) {
        add_product(nb, a, column, out);
    }
}

/// # Safety
/// `to` has room for the block.
#[inline(always)]
unsafe fn put<T: Elem>(block: &[f64], to: *mut T) {
    for (i, &value) in block.iter().enumerate() {
        // SAFETY: as the caller promises.
        unsafe { *to.add(i) = T::from_f64(value) };
    }
}
