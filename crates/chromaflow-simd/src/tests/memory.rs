use super::{Check, everywhere};
use crate::plain::{narrow, widen};
use crate::{Columns, Load, Native, Real, Simd, Store, Turn};
use chromaflow_device::Isa;
use half::f16;
use std::fmt::Debug;

#[test]
fn narrowing_rounds_as_the_standard_has_it() {
    let mut bits = 0_u32;
    while let Some(next) = bits.checked_add(8191) {
        for b in [bits, bits & !0x1fff, bits & !0x1fff | 0x1000, bits & !0xfff | 0xfff] {
            let value = f32::from_bits(b);
            let (mine, theirs) = (f16::from_bits(narrow(value)), f16::from_f32(value));
            assert!(mine.to_bits() == theirs.to_bits() || (mine.is_nan() && theirs.is_nan()), "{value:e}");
        }
        bits = next;
    }
}

#[test]
fn every_half_widens() {
    for bits in 0..=u16::MAX {
        let (mine, theirs) = (widen(bits), f16::from_bits(bits).to_f32());
        assert!(mine.to_bits() == theirs.to_bits() || (mine.is_nan() && theirs.is_nan()), "{bits:#x}");
    }
}

/// Values that every format has exactly.
fn value(i: usize) -> f64 {
    (i as f64 - 7.0) * 0.25
}

struct Conversions;
impl Check for Conversions {
    fn check<S: Simd>(&self, isa: Isa) {
        fn loads<V: Native + Load<T>, T: Copy>(isa: Isa, of: impl Fn(f64) -> T) {
            // One value more, so that nothing is aligned to more than it needs.
            let stored: Vec<T> = (0..17).map(|i| of(value(i))).collect();
            let mut out = [V::Elem::c(-1.0); 16];
            // SAFETY: no vector has more than sixteen lanes.
            unsafe { <V as Load<T>>::load(stored[1..].as_ptr()).store(out.as_mut_ptr()) };
            for l in 0..V::LANES {
                assert_eq!(Into::<f64>::into(out[l]), value(l + 1), "{isa:?} {l}");
            }
            // SAFETY: as above.
            unsafe {
                let four = <V as Load<T>>::load_four(stored[1..].as_ptr());
                V::join([four; 4]).store(out.as_mut_ptr());
            }
            for l in 0..V::LANES {
                assert_eq!(Into::<f64>::into(out[l]), value(l % 4 + 1), "{isa:?} {l}");
            }
        }
        fn stores<V: Native + Store<T>, T: Copy + Debug + PartialEq>(isa: Isa, of: impl Fn(f64) -> T) {
            // Ties, values beyond f16 and below, of either sign.
            let given =
                [1.0, 1.0 / 3.0, 2049.0, 2051.0, 65519.0, 65520.0, -1e-7, 3e-8, 1e-5, -0.0, 7.3, -65504.0];
            for first in 0..given.len() {
                let values: Vec<V::Elem> =
                    (0..V::LANES).map(|l| V::Elem::c(given[(first + l) % given.len()])).collect();
                let mut out = [of(-1.0); 18];
                // SAFETY: no vector has more than sixteen lanes.
                unsafe { Store::<T>::store(V::load(values.as_ptr()), out[1..].as_mut_ptr()) };
                for l in 0..V::LANES {
                    assert_eq!(out[1 + l], of(values[l].into()), "{isa:?} {:?}", values[l]);
                }
                assert_eq!((out[0], out[V::LANES + 1]), (of(-1.0), of(-1.0)), "{isa:?}");
            }
        }
        fn parts<V: Native>(isa: Isa) {
            let given: Vec<V::Elem> = (0..16).map(|i| V::Elem::c(value(i))).collect();
            for n in 0..=V::LANES {
                let mut out = [V::Elem::c(-9.0); 16];
                // SAFETY: n values are there.
                let v = unsafe { V::load_first(given[16 - n..].as_ptr(), V::first(n)) };
                // SAFETY: as above.
                unsafe { v.store_first(out.as_mut_ptr(), V::first(n)) };
                for l in 0..16 {
                    let expected = if l < n { value(16 - n + l) } else { -9.0 };
                    assert_eq!(Into::<f64>::into(out[l]), expected, "{isa:?} {n} {l}");
                }
                // SAFETY: no vector has more than sixteen lanes.
                unsafe { v.store(out.as_mut_ptr()) };
                assert!((n..V::LANES).all(|l| Into::<f64>::into(out[l]) == 0.0), "{isa:?} {n}");
            }
        }
        loads::<S::F64, f64>(isa, |v| v);
        loads::<S::F64, f32>(isa, |v| v as f32);
        loads::<S::F64, f16>(isa, f16::from_f64);
        loads::<S::F32, f32>(isa, |v| v as f32);
        loads::<S::F32, f16>(isa, f16::from_f64);
        stores::<S::F64, f64>(isa, |v| v);
        stores::<S::F64, f32>(isa, |v| v as f32);
        stores::<S::F32, f32>(isa, |v| v as f32);
        stores::<S::F32, f16>(isa, f16::from_f64);
        parts::<S::F64>(isa);
        parts::<S::F32>(isa);
    }
}

#[test]
fn loads_and_stores_convert_and_touch_their_values_only() {
    everywhere(&Conversions);
}

struct Arrays;
impl Check for Arrays {
    fn check<S: Simd>(&self, isa: Isa) {
        fn turns<V: Turn>(isa: Isa) {
            let entry = |r: usize, c: usize| value(10 * r + c);
            let mut rows: [V; 8] = std::array::from_fn(|r| {
                let row: Vec<V::Elem> = (0..V::LANES).map(|c| V::Elem::c(entry(r, c))).collect();
                // SAFETY: the lanes are there.
                unsafe { V::load(row.as_ptr()) }
            });
            V::turn(&mut rows);
            for c in 0..V::LANES {
                let mut column = [V::Elem::c(0.0); 16];
                // SAFETY: no vector has more than sixteen lanes.
                unsafe { rows[c].store(column.as_mut_ptr()) };
                assert!((0..V::LANES).all(|r| Into::<f64>::into(column[r]) == entry(r, c)), "{isa:?} {c}");
            }
        }
        fn columns<V: Native + Columns<T>, T: Copy + PartialEq + Debug>(isa: Isa, of: impl Fn(f64) -> T) {
            let (lanes, number) = (V::LANES, |l: usize, j: usize| value(100 * l + j));
            // Aligned to a cache line, for what goes past the caches.
            let mut room = chromaflow_device::Buffer::<[u64; 8]>::zeroed(1000);
            for (len, stride) in
                [1, 3, 4, 5, 7, 8, 9, 12, 16, 23].into_iter().flat_map(|n| [(n, n), (n, n + 3), (n, 24)])
            {
                let mut arrays = vec![of(-1.0); lanes * stride];
                for l in 0..lanes {
                    for j in 0..len {
                        arrays[l * stride + j] = of(number(l, j));
                    }
                }
                let mut between = vec![of(-1.0); len * lanes];
                let mut vectors = vec![V::c(-1.0); len];
                // SAFETY: as long as is said.
                unsafe {
                    V::interleave(arrays.as_ptr(), stride, len, between.as_mut_ptr());
                    V::columns(arrays.as_ptr(), stride, len, &mut vectors);
                }
                for j in 0..len {
                    let mut vector = [V::Elem::c(0.0); 16];
                    // SAFETY: no vector has more than sixteen lanes.
                    unsafe { Store::<V::Elem>::store(vectors[j], vector.as_mut_ptr()) };
                    for l in 0..lanes {
                        assert_eq!(between[j * lanes + l], of(number(l, j)), "{isa:?} {len} {stride}");
                        assert_eq!(Into::<f64>::into(vector[l]), number(l, j), "{isa:?} {len} {stride}");
                    }
                }
                for (past, skipped) in [(false, 0), (true, 0), (true, 3)] {
                    // SAFETY: there is room for `lanes` times `stride` values of eight bytes, and more.
                    let back = unsafe {
                        let back = room.as_mut_ptr().cast::<T>().add(skipped);
                        std::slice::from_raw_parts_mut(back, lanes * stride)
                    };
                    back.fill(of(-1.0));
                    // SAFETY: as long as is said.
                    unsafe { V::deinterleave(between.as_ptr(), len, back.as_mut_ptr(), stride, past) };
                    crate::flush();
                    assert_eq!(back, arrays, "{isa:?} {len} {stride} {past} {skipped}");
                }
            }
        }
        turns::<S::F64>(isa);
        turns::<<S::F32 as Columns<f32>>::Tile>(isa);
        columns::<S::F64, f64>(isa, |v| v);
        columns::<S::F64, f32>(isa, |v| v as f32);
        columns::<S::F32, f32>(isa, |v| v as f32);
    }
}

#[test]
fn arrays_become_lanes_and_lanes_arrays() {
    everywhere(&Arrays);
}
