#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]
//! The numeric phase over lines of cells.
//!
//! SAFETY of this file: as in cpu.rs.

use super::cpu::Cells;
use super::{CellAt, Line, StructuredIluOptions};
use crate::factor::block_ilu::add_shift;
use crate::factor::block_ilu::gauss_jordan::{Inverted, invert};
use crate::factor::block_ilu::registers::{COLUMNS, UNIT, invert_columns};
use crate::rim::{Size, with_size};
use crate::shared::SharedMut;
use crate::sparse::prefetch_block;
use chromaflow_device::Isa;
use chromaflow_simd::{Kernel, Native, Simd, Vector, dispatch};

/// A member's own memory and findings.
pub(super) struct Scratch {
    options: StructuredIluOptions,
    /// A block whose columns are padded to whole vectors, and room for a product and two copies of it.
    block: Vec<f64>,
    product: Vec<f64>,
    copy: Vec<f64>,
    pub(super) pivoted: Vec<CellAt>,
    pub(super) shifted: f64,
    pub(super) singular: Option<CellAt>,
}

/// Columns of a block in [`Scratch`] are this far apart.
fn padded(nb: usize) -> usize {
    nb.next_multiple_of(8)
}

impl Scratch {
    pub(super) fn new(nb: usize, options: StructuredIluOptions) -> Self {
        let room = || vec![0.0; nb * padded(nb)];
        let (block, product) = (room(), room());
        Self { options, block, product, copy: Vec::new(), pivoted: Vec::new(), shifted: 0.0, singular: None }
    }
}

/// Factors lines of cells.
///
/// # Safety
/// `inverses` has room for every block of cells; nobody else writes the cells of `lines` or of their lower neighbors;
/// the machine has `isa`.
pub(super) unsafe fn factor(
    isa: Isa,
    cells: &[Cells<'_>],
    lines: &[Line],
    inverses: &[SharedMut<f64>],
    scratch: &mut Scratch,
) {
    let Some(nb) = cells.first().map(|cells| cells.nb) else { return };
    with_size!(few: isa, nb, size => dispatch(isa, Factor { size, cells, lines, inverses, scratch }));
}

struct Factor<'a, Z> {
    size: Z,
    cells: &'a [Cells<'a>],
    lines: &'a [Line],
    inverses: &'a [SharedMut<f64>],
    scratch: &'a mut Scratch,
}

impl<Z: Size> Kernel for Factor<'_, Z> {
    const PORTABLE: bool = Z::PORTABLE;
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Self { size, cells, lines, inverses, scratch } = self;
        let q = size.get() * size.get();
        for &line in lines {
            let a = &cells[line.block as usize];
            let inverse = inverses[line.block as usize].get();
            let (first, [down_k, down_j]) = a.line(line, false);
            for i in 0..a.dims[0] {
                let cell = first + i;
                // The neighbor in i comes last: it is still being computed.
                let steps = [down_k, down_j, usize::from(i > 0)];
                for (s, step) in steps.into_iter().enumerate() {
                    let ahead = cell + 2;
                    prefetch_block(size.get(), a.lower.wrapping_add((3 * ahead + s) * q), 0);
                    let neighbor = a.upper.wrapping_add((3 * (ahead - step) + 2 - s) * q);
                    prefetch_block(size.get(), neighbor, 0);
                }
                prefetch_block(size.get(), a.diag.wrapping_add((cell + 2) * q), 0);
                let at = CellAt { block: line.block as usize, cell };
                if Z::KNOWN != 0 && Z::KNOWN <= S::F64::LANES {
                    small::<S::F64, Z>(a, inverse, at, steps, scratch);
                } else {
                    large::<S::F64>(size.get(), a, inverse, at, steps, scratch);
                }
            }
        }
    }
}

/// One cell with every column of a block in one vector; lanes past the block hold what nobody uses.
#[inline(always)]
unsafe fn small<V: Native<Elem = f64>, Z: Size>(
    a: &Cells<'_>,
    inverse: *mut f64,
    at: CellAt,
    steps: [usize; 3],
    scratch: &mut Scratch,
) {
    let (nb, q, cell) = (Z::KNOWN, Z::KNOWN * Z::KNOWN, at.cell);
    let mut t = [V::c(0.0); COLUMNS];
    for c in 0..nb {
        t[c] = V::load(a.diag.add(cell * q + c * nb));
    }
    if scratch.options.shift != 0.0 {
        let diag = std::slice::from_raw_parts(a.diag.add(cell * q), q);
        scratch.block[..q].copy_from_slice(diag);
        let added = add_shift(&mut scratch.block[..q], nb, nb, scratch.options.shift);
        scratch.shifted = scratch.shifted.max(added);
        for c in 0..nb {
            t[c] = V::load(UNIT[c][0].as_ptr()).mul_add(V::splat(added), t[c]);
        }
    }
    for (s, step) in steps.into_iter().enumerate().filter(|&(_, step)| step > 0) {
        let (lower, other) = (a.lower.add((3 * cell + s) * q), inverse.cast_const().add((cell - step) * q));
        let upper = a.upper.add((3 * (cell - step) + 2 - s) * q);
        let mut l = [V::c(0.0); COLUMNS];
        for k in 0..nb {
            l[k] = V::load(lower.add(k * nb)) * V::splat(-1.0);
        }
        let mut w = [V::c(0.0); COLUMNS];
        for c in 0..nb {
            w[c] = l[0] * V::splat(*other.add(c * nb));
            for k in 1..nb {
                w[c] = l[k].mul_add(V::splat(*other.add(c * nb + k)), w[c]);
            }
        }
        for c in 0..nb {
            for k in 0..nb {
                t[c] = w[k].mul_add(V::splat(*upper.add(c * nb + k)), t[c]);
            }
        }
    }
    let block = t;
    let sound = invert_columns::<V, Z>(&mut t);
    let to = inverse.add(cell * q);
    if sound {
        for c in 0..nb {
            if c * nb + V::LANES <= q {
                t[c].store(to.add(c * nb));
            } else {
                t[c].store_first(to.add(c * nb), V::first(nb));
            }
        }
        return;
    }
    let ld = padded(nb);
    for c in 0..nb {
        block[c].store_first(scratch.block.as_mut_ptr().add(c * ld), V::first(nb));
    }
    invert_guarded(nb, at, to, scratch);
}

/// Inverts the block in `scratch` into `to`, and takes notes.
#[inline(always)]
unsafe fn invert_guarded(nb: usize, at: CellAt, to: *mut f64, scratch: &mut Scratch) {
    let ld = padded(nb);
    match invert(&mut scratch.block, nb, ld, scratch.options.pivot_guard, &mut scratch.copy) {
        Inverted::Plain => {}
        Inverted::Pivoted => scratch.pivoted.push(at),
        Inverted::Singular => scratch.singular = scratch.singular.or(Some(at)).min(Some(at)),
    }
    for (c, column) in scratch.block.chunks_exact(ld).take(nb).enumerate() {
        to.add(c * nb).copy_from(column.as_ptr(), nb);
    }
}

/// One cell with a block of any size, in memory.
#[inline(always)]
unsafe fn large<V: Native<Elem = f64>>(
    nb: usize,
    a: &Cells<'_>,
    inverse: *mut f64,
    at: CellAt,
    steps: [usize; 3],
    scratch: &mut Scratch,
) {
    let (q, ld, cell) = (nb * nb, padded(nb), at.cell);
    let (block, product) = (scratch.block.as_mut_ptr(), scratch.product.as_mut_ptr());
    for c in 0..nb {
        block.add(c * ld).copy_from(a.diag.add(cell * q + c * nb), nb);
    }
    let added = add_shift(&mut scratch.block, nb, ld, scratch.options.shift);
    scratch.shifted = scratch.shifted.max(added);
    for (s, step) in steps.into_iter().enumerate().filter(|&(_, step)| step > 0) {
        let (lower, other) = (a.lower.add((3 * cell + s) * q), inverse.cast_const().add((cell - step) * q));
        let upper = a.upper.add((3 * (cell - step) + 2 - s) * q);
        scratch.product.fill(0.0);
        add_product::<V>(nb, (lower, nb), 1.0, other, product);
        add_product::<V>(nb, (product, ld), -1.0, upper, block);
    }
    invert_guarded(nb, at, inverse.add(cell * q), scratch);
}

/// `C += sign A B`: C is padded, the columns of A are `stride` apart.
#[inline(always)]
unsafe fn add_product<V: Native<Elem = f64>>(
    nb: usize,
    (a, stride): (*const f64, usize),
    sign: f64,
    b: *const f64,
    c: *mut f64,
) {
    for col in 0..nb {
        for row in (0..nb).step_by(V::LANES) {
            let to = c.add(col * padded(nb) + row);
            let mut sum = V::load(to);
            for k in 0..nb {
                let factor = V::splat(sign * *b.add(col * nb + k));
                sum = V::load(a.add(k * stride + row)).mul_add(factor, sum);
            }
            sum.store(to);
        }
    }
}
