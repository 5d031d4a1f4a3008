#![allow(unsafe_code)]
//! Records in memory to eight lanes and back: squares of values turned over inside the registers.
//!
//! All is unrolled by hand, square by square: arrays of registers that a loop runs over would live in memory.

use crate::{LANES, Real, Store, Turn, Vector};

/// A register of f64 that reads and writes parts of itself.
pub trait Row: Turn<Elem = f64> + Store<f32> {
    /// The first `count` values, or all, read one by one or by twos: masked loads are slow where they touch another cache line, be
    /// it with lanes that are left out.
    ///
    /// # Safety
    /// `from` must be valid for reading them.
    unsafe fn load_up_to(count: usize, from: *const f64) -> Self;
    /// The way back.
    ///
    /// # Safety
    /// `to` must be valid for writing them.
    unsafe fn store_up_to(self, count: usize, to: *mut f64);
}

/// Eight lanes in one register or in two.
pub trait Parts: Real {
    /// The register.
    type Row: Row;
    /// How many there are.
    const PARTS: usize = LANES / Self::Row::LANES;
    /// From the registers; what is beyond the last is not looked at.
    fn of(parts: [Self::Row; 2]) -> Self;
    /// Register `p`.
    fn part(self, p: usize) -> Self::Row;
    /// Lane k: the sum over the lanes of vector k, `((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7))`.
    fn sums(vectors: [Self; 8]) -> Self::Row;
}

/// The longest record.
const LONGEST: usize = 32;

/// Calls `square` with the first value of each square of records of `N` values.
macro_rules! squares {
    ($lanes:ident, $n:ident: $square:ident $args:tt) => {
        const { assert!($n <= LONGEST) };
        squares!(@ $lanes, $n, $square, $args, 0 1 2 3 4 5 6 7);
    };
    (@ $lanes:ident, $n:ident, $square:ident, $args:tt, $($i:literal)*) => {
        $( squares!(@@ $lanes, $n, $square, $args, $i * $lanes::Row::LANES); )*
    };
    (@@ $lanes:ident, $n:ident, $square:ident, ($($arg:expr),*), $first:expr) => {
        if $first < $n {
            $square($first, $($arg),*);
        }
    };
}

/// As [`Lanes::gather`](crate::Lanes::gather).
#[inline(always)]
pub fn gather<E: Parts, const N: usize>(records: &[[f64; N]], index: &[u32; LANES]) -> [E; N] {
    #[inline(always)]
    fn square<E: Parts, const N: usize>(first: usize, records: &[&[f64; N]; LANES], out: &mut [E; N]) {
        let side = E::Row::LANES;
        let mut parts = [[E::Row::c(0.0); 8]; 2];
        for l in 0..LANES {
            // SAFETY: what is read lies within the N values of the record.
            parts[l / side][l % side] =
                unsafe { E::Row::load_up_to(N - first, records[l].as_ptr().add(first)) };
        }
        for p in 0..E::PARTS {
            E::Row::turn(&mut parts[p]);
        }
        for k in 0..side {
            if first + k < N {
                out[first + k] = E::of([parts[0][k], parts[1][k]]);
            }
        }
    }
    let mut chosen = [&records[index[0] as usize]; LANES];
    for l in 1..LANES {
        chosen[l] = &records[index[l] as usize];
    }
    let mut out = [E::c(0.0); N];
    squares!(E, N: square(&chosen, &mut out));
    out
}

/// Turns a square of `lanes` over: record l of part p is row l of it.
#[inline(always)]
fn rows<E: Parts, const N: usize>(first: usize, lanes: &[E; N], p: usize) -> [E::Row; 8] {
    let mut rows = [E::Row::c(0.0); 8];
    for k in 0..E::Row::LANES {
        if first + k < N {
            rows[k] = lanes[first + k].part(p);
        }
    }
    E::Row::turn(&mut rows);
    rows
}

/// As [`Lanes::scatter`](crate::Lanes::scatter).
#[inline(always)]
pub fn scatter<E: Parts, const N: usize>(lanes: &[E; N], out: &mut [[f64; N]]) {
    #[inline(always)]
    fn square<E: Parts, const N: usize>(first: usize, lanes: &[E; N], out: &mut [[f64; N]]) {
        for p in 0..E::PARTS {
            let rows = rows(first, lanes, p);
            for l in 0..E::Row::LANES {
                let Some(record) = out.get_mut(p * E::Row::LANES + l) else { break };
                // SAFETY: what is written lies within the N values of the record.
                unsafe { rows[l].store_up_to(N - first, record.as_mut_ptr().add(first)) };
            }
        }
    }
    squares!(E, N: square(lanes, out));
}

/// As [`Lanes::scatter_single`](crate::Lanes::scatter_single). Values beyond whole squares go one by one.
#[inline(always)]
pub fn scatter_single<E: Parts, const N: usize>(lanes: &[E; N], out: &mut [[f32; N]]) {
    #[inline(always)]
    fn square<E: Parts, const N: usize>(first: usize, lanes: &[E; N], out: &mut [[f32; N]]) {
        let side = E::Row::LANES;
        for p in 0..E::PARTS {
            if first + side <= N {
                let rows = rows(first, lanes, p);
                for l in 0..side {
                    let Some(record) = out.get_mut(p * side + l) else { break };
                    // SAFETY: a whole register lies within the record.
                    unsafe { rows[l].store(record.as_mut_ptr().add(first)) };
                }
                continue;
            }
            for k in first..N {
                let mut column = [0.0_f32; LANES];
                // SAFETY: no register has more lanes than the column.
                unsafe { lanes[k].part(p).store(column.as_mut_ptr()) };
                for l in 0..side {
                    let Some(record) = out.get_mut(p * side + l) else { break };
                    record[k] = column[l];
                }
            }
        }
    }
    squares!(E, N: square(lanes, out));
}

/// As [`Lanes::totals`](crate::Lanes::totals).
#[inline(always)]
pub fn totals<E: Parts, const N: usize>(lanes: &[E; N]) -> [f64; N] {
    #[inline(always)]
    fn square<E: Parts, const N: usize>(first: usize, lanes: &[E; N], out: &mut [f64; N]) {
        let mut vectors = [E::c(0.0); 8];
        for k in 0..E::Row::LANES {
            if first + k < N {
                vectors[k] = lanes[first + k];
            }
        }
        // SAFETY: what is written lies within `out`.
        unsafe { E::sums(vectors).store_up_to(N - first, out.as_mut_ptr().add(first)) };
    }
    let mut out = [0.0; N];
    squares!(E, N: square(lanes, &mut out));
    out
}
