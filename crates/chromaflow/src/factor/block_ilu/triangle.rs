#![allow(unsafe_code)]
//! The strictly triangular factors as they are stored.

use crate::Storage;
use crate::shared::SharedMut;
use crate::sparse::{BlockPattern, Unscale, power_of_two};
use chromaflow_device::Buffer;
use chromaflow_simd::narrow as narrow_to_f16;
use half::f16;
use std::ops::Range;

/// One triangle's blocks in the order in which a solve reads them.
pub(super) struct Triangle {
    /// Row at each position.
    pub rows: Vec<u32>,
    /// Position of each row.
    pub position: Vec<u32>,
    /// First block of each position, `[rows + 1]`.
    pub ptr: Vec<u32>,
    /// Column of each block.
    pub cols: Vec<u32>,
    pub values: Values,
}

/// Stored values; f16 ones are divided by a power of two for each position.
pub(in crate::factor) enum Values {
    F64(Buffer<f64>),
    F32(Buffer<f32>),
    F16 { values: Buffer<f16>, unscale: Vec<f32> },
}

impl Triangle {
    /// Zeros in the upper or the lower triangle of `pattern`, which has no diagonal, rows in the order of `rows`.
    pub fn new(pattern: &BlockPattern, q: usize, rows: Vec<u32>, storage: Storage, upper: bool) -> Self {
        // Rows are short and many: their columns are counted and copied one by one.
        let split = |row: u32| {
            let columns = pattern.columns(row as usize);
            let below = columns.iter().map(|&c| usize::from(c < row)).sum();
            let (below, above) = columns.split_at(below);
            if upper { above } else { below }
        };
        let mut position = vec![0; rows.len()];
        let mut ptr = Vec::with_capacity(rows.len() + 1);
        let mut end = 0;
        ptr.push(end);
        ptr.extend(rows.iter().enumerate().map(|(at, &row)| {
            position[row as usize] = at as u32;
            end += split(row).len() as u32;
            end
        }));
        let mut cols = vec![0; end as usize];
        for (&row, ends) in rows.iter().zip(ptr.windows(2)) {
            let to = &mut cols[ends[0] as usize..ends[1] as usize];
            to.iter_mut().zip(split(row)).for_each(|(to, &c)| *to = c);
        }
        let values = Values::zeroed(storage, cols.len() * q, rows.len());
        Self { rows, position, ptr, cols, values }
    }

    pub fn range(&self, position: usize) -> Range<usize> {
        self.ptr[position] as usize..self.ptr[position + 1] as usize
    }

    pub fn bytes(&self) -> usize {
        self.values.bytes() + 4 * (self.rows.len() + self.position.len() + self.ptr.len() + self.cols.len())
    }
}

/// Values that the members of a team write, each the rows that it owns.
pub(in crate::factor) enum ValuesMut {
    F64(SharedMut<f64>),
    F32(SharedMut<f32>),
    F16(SharedMut<f16>, SharedMut<f32>),
}

impl Values {
    /// Zeros at so many positions.
    pub fn zeroed(storage: Storage, count: usize, positions: usize) -> Self {
        match storage {
            Storage::F64 => Values::F64(Buffer::zeroed(count)),
            Storage::F32 => Values::F32(Buffer::zeroed(count)),
            // Bf16 is refused before.
            Storage::F16 | Storage::Bf16 => {
                Values::F16 { values: Buffer::zeroed(count), unscale: vec![1.0; positions] }
            }
        }
    }

    pub fn bytes(&self) -> usize {
        match self {
            Values::F64(v) => v.bytes(),
            Values::F32(v) => v.bytes(),
            Values::F16 { values, unscale } => values.bytes() + 4 * unscale.len(),
        }
    }

    pub fn shared(&mut self) -> ValuesMut {
        match self {
            Values::F64(v) => ValuesMut::F64(SharedMut(v.as_mut_ptr())),
            Values::F32(v) => ValuesMut::F32(SharedMut(v.as_mut_ptr())),
            Values::F16 { values, unscale } => {
                ValuesMut::F16(SharedMut(values.as_mut_ptr()), SharedMut(unscale.as_mut_ptr()))
            }
        }
    }

    /// What stored values are multiplied by.
    pub fn unscale(&self) -> Unscale<'_> {
        match self {
            Values::F16 { unscale, .. } => Unscale::Rows(unscale),
            _ => Unscale::One,
        }
    }
}

impl ValuesMut {
    /// What the values at `position` are multiplied by.
    ///
    /// # Safety
    /// There is such a position, and nobody writes it.
    #[inline(always)]
    pub unsafe fn unscale(&self, position: usize) -> f64 {
        match self {
            // SAFETY: the caller's promise.
            ValuesMut::F16(_, unscale) => unsafe { f64::from(*unscale.get().add(position)) },
            _ => 1.0,
        }
    }

    /// Stores padded blocks (columns `ld` apart, `nb` of them in each) as the ones of `position`, the first of which is
    /// block `first`.
    ///
    /// # Safety
    /// There are such blocks and such a position, and nobody else reads or writes them.
    #[inline(always)]
    pub unsafe fn store(&self, nb: usize, ld: usize, position: usize, first: usize, padded: &[f64]) {
        let at = first * nb * nb;
        match self {
            // SAFETY: the blocks from `first` on are this thread's.
            ValuesMut::F64(to) => unsafe { pack(nb, ld, padded, to.get().add(at), |v| v) },
            // SAFETY: as above.
            ValuesMut::F32(to) => unsafe { pack(nb, ld, padded, to.get().add(at), |v| v as f32) },
            ValuesMut::F16(to, unscale) => {
                let columns = padded.chunks_exact(ld).flat_map(|column| &column[..nb]);
                let largest = columns.fold(0.0_f32, |m, &v| m.max((v as f32).abs()));
                let factor = power_of_two(largest);
                let scale = 1.0 / f64::from(factor);
                // SAFETY: as above.
                unsafe {
                    *unscale.get().add(position) = factor;
                    let round = |v: f64| f16::from_bits(narrow_to_f16((v * scale) as f32));
                    pack(nb, ld, padded, to.get().add(at), round);
                }
            }
        }
    }
}

/// # Safety
/// As many values as the blocks have can be written.
#[inline(always)]
unsafe fn pack<T>(nb: usize, ld: usize, padded: &[f64], to: *mut T, round: impl Fn(f64) -> T) {
    for (c, column) in padded.chunks_exact(ld).enumerate() {
        for (r, &v) in column[..nb].iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { to.add(c * nb + r).write(round(v)) };
        }
    }
}
