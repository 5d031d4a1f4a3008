#![allow(unsafe_code)]
//! Orthogonalization against a basis that is larger than the caches.

use crate::dist::Inner;
use crate::shared::SharedMut;
use crate::vector::{CHUNK, PARALLEL_FROM};
use chromaflow_device::{Isa, Team};
use chromaflow_simd::{Kernel, Load, Native, Simd, dispatch};
use std::ops::Range;
use std::sync::Mutex;

/// How far a vector may be from orthogonal to the basis, as a part of its length. The residuals that GMRES estimates are off
/// by this part of themselves at most.
const ORTHOGONAL: f64 = 1e-8;
/// Entries of the basis that stay in a core's cache between being subtracted and being multiplied.
const NEAR: usize = 1 << 16;
/// Vectors that are worked on together.
const GROUP: usize = 8;

/// Takes from `w` its parts along the vectors of an orthonormal basis: `h[i]`, and last what is left of |w|. Gives |w| before.
///
/// Classical Gram-Schmidt, once more where the result is not orthogonal to [`ORTHOGONAL`]; that is seen in the pass that
/// subtracts, so that a vector of the basis is read from memory twice, where two whole passes and their norms read it four times.
/// What is subtracted is exactly what `h` says, however good the orthogonality.
///
/// **Source**: Daniel, Gragg, Kaufman, Stewart (1976), with the loss of orthogonality measured instead of bounded.
pub(super) fn orthogonalize(inner: &Inner<'_>, basis: &[Vec<f64>], w: &mut [f64], h: &mut [f64]) -> f64 {
    let last = basis.len();
    assert_eq!(h.len(), last + 1);
    let mut parts = vec![0.0; last + 1];
    project(inner, basis, &[], w, &mut parts);
    let before = parts[last].sqrt();
    h.fill(0.0);
    for _ in 0..2 {
        let weights: Vec<f64> = parts[..last].iter().map(|p| -p).collect();
        h.iter_mut().zip(&parts[..last]).for_each(|(h, p)| *h += p);
        project(inner, basis, &weights, w, &mut parts);
        h[last] = parts[last].sqrt();
        let left = parts[..last].iter().map(|p| p * p).sum::<f64>().sqrt();
        if left <= ORTHOGONAL * h[last] || left.is_nan() {
            break;
        }
    }
    before
}

/// [`pass`], its sums over all ranks.
fn project(inner: &Inner<'_>, v: &[Vec<f64>], weights: &[f64], w: &mut [f64], sums: &mut [f64]) {
    pass(inner.team(), v, weights, w, sums);
    match inner.exact_products(v, w) {
        Some(exact) => sums.copy_from_slice(&exact),
        None => inner.complete(sums),
    }
}

/// w <- w + sum of weights[i] v[i] (no weights: w stays), then sums[i] = v[i] . w and, last, w . w.
///
/// Sums are added by chunks of [`CHUNK`] entries, whatever the number of threads.
fn pass(team: &Team, v: &[Vec<f64>], weights: &[f64], w: &mut [f64], sums: &mut [f64]) {
    let n = w.len();
    assert!(v.iter().all(|v| v.len() == n) && sums.len() == v.len() + 1);
    assert!(weights.is_empty() || weights.len() == v.len());
    let isa = Isa::detect();
    let chunks = n.div_ceil(CHUNK);
    let w = SharedMut(w.as_mut_ptr());
    let chunk = |c: usize, sums: &mut [f64]| {
        let range = c * CHUNK..n.min((c + 1) * CHUNK);
        let pass = Pass { v, weights, w: w.get(), range, sums };
        // SAFETY: the machine has `isa`; vectors are `n` long; each chunk of w belongs to one caller.
        unsafe { dispatch(isa, pass) }
    };
    sums.fill(0.0);
    if n < PARALLEL_FROM || team.size() == 1 {
        let mut part = vec![0.0; sums.len()];
        for c in 0..chunks {
            part.fill(0.0);
            chunk(c, &mut part);
            sums.iter_mut().zip(&part).for_each(|(s, p)| *s += p);
        }
        return;
    }
    let parts = Mutex::new(vec![0.0; chunks * sums.len()]);
    team.run(|m| {
        let mine = m.share(chunks);
        let mut own = vec![0.0; mine.len() * sums.len()];
        for (c, own) in mine.clone().zip(own.chunks_mut(sums.len())) {
            chunk(c, own);
        }
        let at = mine.start * sums.len();
        parts.lock().expect("nobody panics with this locked")[at..at + own.len()].copy_from_slice(&own);
    });
    for part in parts.into_inner().expect("nobody panics with this locked").chunks(sums.len()) {
        sums.iter_mut().zip(part).for_each(|(s, p)| *s += p);
    }
}

/// [`pass`] over a range of entries.
struct Pass<'a> {
    v: &'a [Vec<f64>],
    weights: &'a [f64],
    w: *mut f64,
    range: Range<usize>,
    sums: &'a mut [f64],
}

impl Kernel for Pass<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Self { v, weights, w, range, sums } = self;
        let block = (NEAR / (v.len() + 1)).next_multiple_of(64).min(CHUNK);
        for at in range.clone().step_by(block) {
            let n = block.min(range.end - at);
            // SAFETY: `at + n` lies in the range, which all vectors have.
            unsafe {
                let w = w.add(at);
                for (v, a) in v.chunks(GROUP).zip(weights.chunks(GROUP)) {
                    if let (Some(v), Some(a)) = (v.first_chunk::<GROUP>(), a.first_chunk::<GROUP>()) {
                        add::<S::F64, GROUP>(&v.each_ref().map(|v| v.as_ptr().add(at)), a, w, n);
                        continue;
                    }
                    for (v, &a) in v.iter().zip(a) {
                        add::<S::F64, 1>(&[v.as_ptr().add(at)], &[a], w, n);
                    }
                }
                let (along, own) = sums.split_at_mut(v.len());
                for (v, sums) in v.chunks(GROUP).zip(along.chunks_mut(GROUP)) {
                    if let (Some(v), Some(sums)) = (v.first_chunk::<GROUP>(), sums.first_chunk_mut()) {
                        dots::<S::F64, GROUP>(&v.each_ref().map(|v| v.as_ptr().add(at)), w, n, sums);
                        continue;
                    }
                    for (v, sum) in v.iter().zip(sums) {
                        dots::<S::F64, 1>(&[v.as_ptr().add(at)], w, n, std::array::from_mut(sum));
                    }
                }
                dots::<S::F64, 1>(&[w], w, n, own.first_chunk_mut().expect("one more than vectors"));
            }
        }
    }
}

/// w <- w + sum of a[k] v[k].
///
/// # Safety
/// All pointers have `n` values; no vector has more than eight lanes.
#[inline(always)]
unsafe fn add<V: Native<Elem = f64>, const N: usize>(
    v: &[*const f64; N],
    a: &[f64; N],
    w: *mut f64,
    n: usize,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let whole = n - n % V::LANES;
        let weights = a.map(|a| V::splat(a));
        for i in (0..whole).step_by(V::LANES) {
            let mut sum = <V as Load<f64>>::load(w.add(i));
            for k in 0..N {
                sum = <V as Load<f64>>::load(v[k].add(i)).mul_add(weights[k], sum);
            }
            sum.store(w.add(i));
        }
        if whole < n {
            // With the same rounding as the others: results do not depend on where in a vector an entry stands.
            let mask = V::first(n - whole);
            let mut sum = V::load_first(w.add(whole), mask);
            for k in 0..N {
                sum = V::load_first(v[k].add(whole), mask).mul_add(weights[k], sum);
            }
            let mut lanes = [0.0; 8];
            sum.store(lanes.as_mut_ptr());
            w.add(whole).copy_from_nonoverlapping(lanes.as_ptr(), n - whole);
        }
    }
}

/// sums[k] += v[k] . w
///
/// # Safety
/// All pointers have `n` values.
#[inline(always)]
unsafe fn dots<V: Native<Elem = f64>, const N: usize>(
    v: &[*const f64; N],
    w: *const f64,
    n: usize,
    sums: &mut [f64; N],
) {
    // SAFETY: the caller's promise; no vector has more than eight lanes.
    unsafe {
        let whole = n - n % V::LANES;
        let mut all = [V::c(0.0); N];
        for i in (0..whole).step_by(V::LANES) {
            let w = <V as Load<f64>>::load(w.add(i));
            for k in 0..N {
                all[k] = <V as Load<f64>>::load(v[k].add(i)).mul_add(w, all[k]);
            }
        }
        for k in 0..N {
            let mut lanes = [0.0; 8];
            all[k].store(lanes.as_mut_ptr());
            let rest: f64 = (whole..n).map(|i| *v[k].add(i) * *w.add(i)).sum();
            sums[k] += lanes.iter().sum::<f64>() + rest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::{dot, norm2};

    fn wave(n: usize, seed: usize) -> Vec<f64> {
        (0..n).map(|i| ((i * (7 + 3 * seed) + 31 * seed) as f64).sin()).collect()
    }

    /// Orthonormal to rounding, h reproduces w, and the number of threads changes no bit.
    #[test]
    fn the_basis_stays_orthonormal() {
        for n in [1, 9, 1003, 3 * PARALLEL_FROM + 5] {
            let one = Team::new(1);
            let mut basis: Vec<Vec<f64>> = Vec::new();
            for j in 0..n.min(20) {
                let given = wave(n, j);
                let (mut w, mut h) = (given.clone(), vec![0.0; j + 1]);
                let before = orthogonalize(&Inner::new(&one, None), &basis, &mut w, &mut h);
                assert!((before - norm2(&one, &given)).abs() <= 1e-13 * before);
                let (mut again, mut h_again) = (given.clone(), vec![0.0; j + 1]);
                orthogonalize(&Inner::new(&Team::new(3), None), &basis, &mut again, &mut h_again);
                assert_eq!((&again, &h_again), (&w, &h));
                for (i, w) in w.iter().enumerate() {
                    let sum = basis.iter().zip(&h).map(|(v, h)| v[i] * h).sum::<f64>() + w;
                    assert!((sum - given[i]).abs() <= 1e-12, "{n} {j}: {sum} {}", given[i]);
                }
                let length = h[j];
                for v in &basis {
                    assert!(dot(&one, v, &w).abs() <= 2.0 * ORTHOGONAL * length, "{n} {j}");
                }
                basis.push(w.iter().map(|w| w / length).collect());
            }
        }
    }

    /// A vector within a hair of the span of the basis needs the second pass.
    #[test]
    fn nearly_dependent_vectors_are_taken_twice() {
        let (team, n) = (Team::new(1), 5000);
        let unit = |mut v: Vec<f64>| {
            let length = norm2(&team, &v);
            for v in &mut v {
                *v /= length;
            }
            v
        };
        let first = unit(wave(n, 1));
        let (mut w, mut h) =
            (first.iter().zip(wave(n, 2)).map(|(a, b)| a + 1e-12 * b).collect::<Vec<_>>(), [0.0; 2]);
        orthogonalize(&Inner::new(&team, None), std::slice::from_ref(&first), &mut w, &mut h);
        assert!((h[0] - 1.0).abs() < 1e-9 && h[1] < 1e-9);
        assert!(dot(&team, &first, &w).abs() <= 2.0 * ORTHOGONAL * h[1]);
        let mut bad = vec![f64::NAN; n];
        assert!(!orthogonalize(&Inner::new(&team, None), &[first], &mut bad, &mut h).is_finite());
    }
}
