#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]
//! Stored blocks as the inner loops see them: where they lie, in which precision, and how they become vectors.

use super::BlockPattern;
use chromaflow_device::Buffer;
use chromaflow_simd::{Load, Simd, Vector};
use half::f16;
use std::ops::Range;

/// What the stored off-diagonal values are multiplied by.
#[derive(Clone, Copy)]
pub(crate) enum Unscale<'a> {
    /// Nothing: they are not scaled.
    One,
    /// One factor for all.
    All(f64),
    /// One factor a row.
    Rows(&'a [f32]),
}

impl Unscale<'_> {
    #[inline(always)]
    pub(crate) fn of(self, row: usize) -> f64 {
        match self {
            Unscale::One => 1.0,
            Unscale::All(factor) => factor,
            Unscale::Rows(factors) => factors[row].into(),
        }
    }
}

/// Blocks on their pattern.
#[derive(Clone, Copy)]
pub(crate) struct Off<'a, T> {
    pub row_ptr: &'a [u32],
    pub col_idx: &'a [u32],
    pub values: *const T,
    pub unscale: Unscale<'a>,
}

impl<'a, T> Off<'a, T> {
    /// `values` on `pattern`, multiplied by `unscale`: one factor for all, or one a row.
    pub(crate) fn new(pattern: &'a BlockPattern, values: &Buffer<T>, unscale: Option<&'a [f32]>) -> Self {
        let unscale = match unscale {
            None => Unscale::One,
            Some(&[factor]) => Unscale::All(factor.into()),
            Some(factors) => Unscale::Rows(factors),
        };
        Self { row_ptr: pattern.row_ptr(), col_idx: pattern.col_idx(), values: values.as_ptr(), unscale }
    }

    /// Positions of a row's blocks.
    ///
    /// # Safety
    /// The pattern has the row.
    #[inline(always)]
    pub(crate) unsafe fn range(&self, row: usize) -> Range<usize> {
        *self.row_ptr.get_unchecked(row) as usize..*self.row_ptr.get_unchecked(row + 1) as usize
    }

    /// How many of a row's blocks are left of the diagonal.
    ///
    /// # Safety
    /// The pattern has the row.
    #[inline(always)]
    pub(crate) unsafe fn below(&self, row: usize) -> usize {
        let columns = self.col_idx.get_unchecked(self.range(row));
        columns.iter().take_while(|&&column| (column as usize) < row).count()
    }
}

/// A type of stored values; says that f64 vectors can be loaded from it.
pub(crate) trait Stored: Sized + 'static {
    /// # Safety
    /// As [`Load::load`].
    unsafe fn load<S: Simd>(from: *const Self) -> S::F64;
    /// # Safety
    /// As [`Load::load_four`].
    unsafe fn load_four<S: Simd>(from: *const Self) -> <S::F64 as Vector>::Four;
}
macro_rules! stored {
    ($($t:ty)*) => { $(impl Stored for $t {
        #[inline(always)]
        unsafe fn load<S: Simd>(from: *const Self) -> S::F64 {
            <S::F64 as Load<$t>>::load(from)
        }
        #[inline(always)]
        unsafe fn load_four<S: Simd>(from: *const Self) -> <S::F64 as Vector>::Four {
            <S::F64 as Load<$t>>::load_four(from)
        }
    })* };
}
stored!(f64 f32 f16);

/// How stored values become vectors; a type, so that it is inlined wherever it is used.
pub(crate) trait Loader<V: Vector, T> {
    /// # Safety
    /// As [`Load::load`].
    unsafe fn load(from: *const T) -> V;
    /// # Safety
    /// As [`Load::load_four`].
    unsafe fn load_four(from: *const T) -> V::Four;
}
/// By the vector's own conversion.
pub(crate) struct Direct;
impl<V: Load<T>, T> Loader<V, T> for Direct {
    #[inline(always)]
    unsafe fn load(from: *const T) -> V {
        V::load(from)
    }
    #[inline(always)]
    unsafe fn load_four(from: *const T) -> V::Four {
        V::load_four(from)
    }
}
/// To f64.
pub(crate) struct ToDouble<S>(std::marker::PhantomData<S>);
impl<S: Simd, T: Stored> Loader<S::F64, T> for ToDouble<S> {
    #[inline(always)]
    unsafe fn load(from: *const T) -> S::F64 {
        T::load::<S>(from)
    }
    #[inline(always)]
    unsafe fn load_four(from: *const T) -> <S::F64 as Vector>::Four {
        T::load_four::<S>(from)
    }
}
