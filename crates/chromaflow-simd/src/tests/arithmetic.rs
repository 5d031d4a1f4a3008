use super::{Check, everywhere};
use crate::{Bits, Four, LANES, Lanes, Mask, Native, Real, Simd};
use chromaflow_device::Isa;

/// Every operation of `Real` once.
fn all_operations<T: Real>(x: T, y: T) -> [T; 9] {
    let m = x.lt(y).and(x.gt(T::c(0.3)).not()).or(y.ge(x).and(y.le(T::c(0.2))));
    let mut z = x + y * x - y / x;
    z += x;
    z -= y;
    z *= T::c(1.5);
    z /= T::c(0.7) + x;
    [
        z,
        T::select(m, x, y),
        (x.sqrt() * y.exp()).ln(),
        x.powf(y),
        (-x).abs().min(y),
        x.max(y) - x.min(z),
        (x - y).abs(),
        T::select(x.ge(y), T::c(1.0), T::c(-1.0)),
        (x * y).atan() * y.abs().rsqrt(),
    ]
}

const X: [f64; 16] = [0.1, 0.25, 0.5, 0.5, 1.5, 2.0, 7.0, 1e-3, 0.3, 0.2, 11.0, 0.75, 3.0, 1.25, 0.9, 2.5];
const Y: [f64; 16] = [0.7, 0.15, 0.5, 0.1, -1.5, 3.0, -7.0, 0.11, 0.3, 0.21, -0.5, 0.7, 2.0, 0.05, 0.95, 0.2];

/// The lanes of a vector, in f64.
fn lanes<V: Native>(v: V) -> Vec<f64> {
    let mut values = [V::Elem::c(0.0); 16];
    // SAFETY: no vector has more than sixteen lanes.
    unsafe { v.store(values.as_mut_ptr()) };
    values[..V::LANES].iter().map(|&v| v.into()).collect()
}

fn vector<V: Native>(values: &[f64; 16]) -> V {
    let values = values.map(V::Elem::c);
    // SAFETY: no vector has more than sixteen lanes.
    unsafe { V::load(values.as_ptr()) }
}

struct TheScalar;
impl Check for TheScalar {
    fn check<S: Simd>(&self, isa: Isa) {
        fn registers<V: Native>(isa: Isa) {
            let out = all_operations(vector::<V>(&X), vector::<V>(&Y));
            for l in 0..V::LANES {
                let scalar = all_operations(V::Elem::c(X[l]), V::Elem::c(Y[l]));
                for k in 0..9 {
                    let (lane, scalar): (f64, f64) = (lanes(out[k])[l], scalar[k].into());
                    assert_eq!(lane.to_bits(), scalar.to_bits(), "{isa:?} lane {l} operation {k}");
                }
            }
        }
        registers::<S::F64>(isa);
        registers::<S::F32>(isa);
        let [x, y] = [X, Y].map(|v| S::Eight::from_array(v.first_chunk().unwrap()));
        let out = all_operations(x, y).map(Lanes::to_array);
        for l in 0..LANES {
            let mut one = [0.0; LANES];
            one[l] = 1.0;
            let one = S::Eight::from_array(&one);
            assert!(one.gt(S::Eight::c(0.5)).any() && !one.gt(S::Eight::c(1.5)).any(), "{isa:?} lane {l}");
            let scalar = all_operations(X[l], Y[l]);
            for k in 0..9 {
                assert_eq!(out[k][l].to_bits(), scalar[k].to_bits(), "{isa:?} lane {l} operation {k}");
            }
        }
    }
}

#[test]
fn lanes_hold_the_bits_of_the_scalar() {
    everywhere(&TheScalar);
}

#[test]
fn not_a_number_is_never_hidden_by_the_second_argument() {
    // As the machine's own instructions have it: the second operand comes back where the two do not compare.
    assert!(Real::max(1.0, f64::NAN).is_nan());
    assert_eq!(Real::max(f64::NAN, 1.0), 1.0);
    assert!(Real::min(1.0, f64::NAN).is_nan());
}

struct Together;
impl Check for Together {
    fn check<S: Simd>(&self, isa: Isa) {
        fn all<V: Native>(isa: Isa) {
            let (x, y, z) = (vector::<V>(&X), vector::<V>(&Y), vector::<V>(&X).sqrt());
            let (xs, ys, zs) = (lanes(x), lanes(y), lanes(z));
            // Fused or not: products of f32 are exact in f64, so that one rounding is left.
            let one = |a: f64, b: f64, c: f64| {
                if size_of::<V::Elem>() == 4 { f64::from((a * b + c) as f32) } else { a.mul_add(b, c) }
            };
            let two = |a: f64, b: f64, c: f64| {
                let product: f64 = (V::Elem::c(a) * V::Elem::c(b)).into();
                (V::Elem::c(product) + V::Elem::c(c)).into()
            };
            let rounded = |a, b, c| if isa == Isa::Portable { two(a, b, c) } else { one(a, b, c) };
            let expected: Vec<f64> = (0..V::LANES).map(|l| rounded(xs[l], ys[l], zs[l])).collect();
            assert_eq!(lanes(x.mul_add(y, z)), expected, "{isa:?}");
            let expected: Vec<f64> = (0..V::LANES).map(|l| rounded(-xs[l], ys[l], zs[l])).collect();
            assert_eq!(lanes(z.sub_mul(x, y)), expected, "{isa:?}");
            let expected: Vec<f64> = xs.iter().map(|&x| (V::Elem::c(1.0) / V::Elem::c(x)).into()).collect();
            assert_eq!(lanes(x.recip()), expected, "{isa:?}");
            assert_eq!(lanes(V::splat(V::Elem::c(0.3))), lanes(V::c(0.3)));
            for n in 0..=V::LANES {
                assert_eq!(V::first(n).bits(), (1_u32 << n) - 1, "{isa:?} {n}");
                assert_eq!(
                    (V::first(n).any(), V::first(n).not().any()),
                    (n > 0, n < V::LANES),
                    "{isa:?} {n}"
                );
                // What is left out may be anything.
                let lost = V::select(V::first(n), x, V::c(f64::NAN));
                let expected: Vec<f64> =
                    (0..V::LANES).map(|l| if l < n { rounded(xs[l], ys[l], zs[l]) } else { zs[l] }).collect();
                assert_eq!(lanes(lost.mul_add_first(y, z, V::first(n))), expected, "{isa:?} {n}");
                assert_eq!(lost.any_nan(), n < V::LANES, "{isa:?} {n}");
            }
            let from: [u8; 16] = std::array::from_fn(|l| ((5 * l + 3) % V::LANES) as u8);
            let expected: Vec<f64> = (0..V::LANES).map(|l| xs[from[l] as usize]).collect();
            assert_eq!(lanes(x.permute(&from)), expected, "{isa:?}");
            fours::<V>(isa);
        }
        all::<S::F64>(isa);
        all::<S::F32>(isa);
    }
}

fn fours<V: Native>(isa: Isa) {
    let entries: Vec<V::Elem> = X.map(V::Elem::c).to_vec();
    let at = [9_u32, 2, 15, 4];
    let c = |l: usize| entries[at[l] as usize];
    // SAFETY: four indices, of sixteen entries.
    let (four, three, one) = unsafe {
        (
            V::Four::gather::<4>(entries.as_ptr(), at.as_ptr()),
            V::Four::gather::<3>(entries.as_ptr(), at.as_ptr()),
            V::Four::gather::<1>(entries.as_ptr(), at.as_ptr()),
        )
    };
    let as_f64 = |v: V::Elem| -> f64 { v.into() };
    assert_eq!(as_f64(four.total()), as_f64((c(0) + c(2)) + (c(1) + c(3))), "{isa:?}");
    assert_eq!(as_f64(three.total()), as_f64((c(0) + c(2)) + c(1)), "{isa:?}");
    assert_eq!(as_f64(four.keep::<2>().total()), as_f64(c(0) + c(1)), "{isa:?}");
    assert_eq!(as_f64(one.plus(four).first()), as_f64(c(0) + c(0)), "{isa:?}");
    assert_eq!(as_f64(one.mul_add(four, V::Four::zero()).total()), as_f64(c(0) * c(0)), "{isa:?}");
}

#[test]
fn vectors_do_as_plain_loops_do() {
    everywhere(&Together);
}
