//! What callers' arrays may be made of.

/// From which number indices count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IndexBase {
    /// C, C++, Rust.
    #[default]
    Zero,
    /// Fortran.
    One,
}

impl IndexBase {
    /// The number of the first row.
    pub fn first(self) -> usize {
        usize::from(self == IndexBase::One)
    }
}

/// In which order the entries of a block lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlockLayout {
    /// Entry (r, c) at c * nb + r.
    #[default]
    ColumnMajor,
    /// Entry (r, c) at r * nb + c.
    RowMajor,
}

mod sealed {
    pub trait Sealed {}
}

/// The integers of index arrays: of 32 or 64 bits, with or without a sign. What they hold must fit 32 bits; that is checked.
pub trait Index: Copy + Send + Sync + sealed::Sealed {
    /// The number, whatever its type.
    fn wide(self) -> i128;
    /// The number, where 32 bits without a sign hold it.
    fn narrow(self) -> Option<u32>;
}

macro_rules! index {
    ($($type:ty),*) => {$(
        impl sealed::Sealed for $type {}
        impl Index for $type {
            fn wide(self) -> i128 {
                self as i128
            }

            fn narrow(self) -> Option<u32> {
                self.try_into().ok()
            }
        }
    )*};
}
index!(i32, i64, u32, u64, usize);

/// The numbers of value arrays: f64, or f32 from codes that assemble in it.
pub trait Value: Copy + Send + Sync + sealed::Sealed {
    /// The number in f64, nothing lost.
    fn double(self) -> f64;

    /// The array, its type known at run time.
    fn list(values: &[Self]) -> Values<'_>
    where
        Self: Sized;
}

/// Values of a type known at run time.
#[derive(Clone, Copy, Debug)]
pub enum Values<'a> {
    /// Double.
    F64(&'a [f64]),
    /// Single.
    F32(&'a [f32]),
}

macro_rules! value {
    ($($type:ty = $variant:ident),*) => {$(
        impl sealed::Sealed for $type {}
        impl Value for $type {
            fn double(self) -> f64 {
                f64::from(self)
            }

            fn list(values: &[Self]) -> Values<'_> {
                Values::$variant(values)
            }
        }
    )*};
}
value!(f64 = F64, f32 = F32);

impl Values<'_> {
    /// How many.
    pub(super) fn len(self) -> usize {
        match self {
            Values::F64(v) => v.len(),
            Values::F32(v) => v.len(),
        }
    }
}

/// A matrix as it is handed in: all blocks in the order of the pattern, or the diagonal ones apart.
#[derive(Clone, Copy)]
pub(super) struct Given<'a, V> {
    /// In the order of the pattern.
    pub(super) blocks: &'a [V],
    /// Those that follow, row by row.
    pub(super) diagonal: &'a [V],
}

/// The same in blocks of `q` values.
#[derive(Clone, Copy)]
pub(super) struct GivenBlocks<'a, V> {
    of: Given<'a, V>,
    q: usize,
    /// Blocks that are not apart.
    within: usize,
}

impl<'a, V> Given<'a, V> {
    /// In blocks of `q` values.
    pub(super) fn split(self, q: usize) -> GivenBlocks<'a, V> {
        let within = self.blocks.len() / q;
        GivenBlocks { of: self, q, within }
    }
}

impl<'a, V> GivenBlocks<'a, V> {
    /// Block `k`.
    #[inline(always)]
    pub(super) fn block(&self, k: usize) -> &'a [V] {
        let (list, k) =
            if k < self.within { (self.of.blocks, k) } else { (self.of.diagonal, k - self.within) };
        &list[k * self.q..][..self.q]
    }

    /// The values of blocks that follow one another from block `first` on, none of them apart.
    #[inline(always)]
    pub(super) fn blocks(&self, first: usize, values: usize) -> &'a [V] {
        &self.of.blocks[first * self.q..][..values]
    }
}
