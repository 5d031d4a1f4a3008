//! In-place inversion of small dense blocks.

/// Pivots below this fraction of the largest entry of their column make the guard step in.
const GUARD: f64 = 1e-8;

/// How a block was inverted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::factor) enum Inverted {
    /// In place, without pivoting.
    Plain,
    /// With partial pivoting, because a pivot was too small.
    Pivoted,
    /// Not at all: a pivot is zero or not finite.
    Singular,
}

/// Inverts the `n` x `n` block `a` (columns `ld` apart) in place by Gauss-Jordan elimination without pivoting; where
/// `guard` is set and a pivot is small against its column, starts again with partial pivoting.
///
/// **Source**: Luo, Edwards, Luo, Mueller (2015), Alg. 5; the guard is ours.
#[inline(always)]
pub(in crate::factor) fn invert(
    a: &mut [f64],
    n: usize,
    ld: usize,
    guard: bool,
    copy: &mut Vec<f64>,
) -> Inverted {
    if guard {
        copy.clear();
        copy.extend_from_slice(&a[..n * ld]);
    }
    if eliminate(a, n, ld, guard) {
        return Inverted::Plain;
    }
    if !guard {
        return Inverted::Singular;
    }
    a[..n * ld].copy_from_slice(copy);
    if eliminate_pivoted(a, n, ld) { Inverted::Pivoted } else { Inverted::Singular }
}

/// One elimination step on pivot (p, p): row p is scaled, all other rows are reduced, column p becomes that of the
/// inverse.
#[inline(always)]
fn step(a: &mut [f64], n: usize, ld: usize, p: usize) {
    let scale = 1.0 / a[p * ld + p];
    let (before, rest) = a.split_at_mut(p * ld);
    let (pivot, after) = rest.split_at_mut(ld);
    pivot[p] = 1.0;
    for column in before.chunks_exact_mut(ld).chain(after.chunks_exact_mut(ld)).take(n - 1) {
        let x = column[p] * scale;
        column[p] = 0.0;
        // Padding lanes go along: a whole vector costs no more than a part of one.
        for (to, from) in column.iter_mut().zip(pivot.iter()) {
            *to -= from * x;
        }
        column[p] = x;
    }
    for (r, value) in pivot[..n].iter_mut().enumerate() {
        *value *= if r == p { scale } else { -scale };
    }
}

#[inline(always)]
fn eliminate(a: &mut [f64], n: usize, ld: usize, guard: bool) -> bool {
    for p in 0..n {
        let column = &a[p * ld..p * ld + n];
        let pivot = column[p].abs();
        // A NaN fails the comparison, too.
        let floor =
            if guard { GUARD * column[p..].iter().fold(0.0, |m: f64, v| m.max(v.abs())) } else { 0.0 };
        if !(pivot > floor && pivot.is_finite()) {
            return false;
        }
        step(a, n, ld, p);
    }
    true
}

#[cold]
#[inline(never)]
fn eliminate_pivoted(a: &mut [f64], n: usize, ld: usize) -> bool {
    let mut swaps = Vec::with_capacity(n);
    for p in 0..n {
        let best = (p..n).max_by(|&i, &j| a[p * ld + i].abs().total_cmp(&a[p * ld + j].abs())).unwrap_or(p);
        let pivot = a[p * ld + best];
        if !(pivot != 0.0 && pivot.is_finite()) {
            return false;
        }
        swaps.push(best);
        for column in a.chunks_exact_mut(ld).take(n) {
            column.swap(p, best);
        }
        step(a, n, ld, p);
    }
    // (P A)^-1 = A^-1 P^-1: swapped rows of A are swapped columns of the inverse, undone last first.
    for (p, &best) in swaps.iter().enumerate().rev() {
        for r in 0..n {
            a.swap(p * ld + r, best * ld + r);
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn residual(a: &[f64], inverse: &[f64], n: usize, ld: usize) -> f64 {
        let mut worst = 0.0_f64;
        for r in 0..n {
            for c in 0..n {
                let sum: f64 = (0..n).map(|k| a[k * ld + r] * inverse[c * ld + k]).sum();
                worst = worst.max((sum - f64::from(u8::from(r == c))).abs());
            }
        }
        worst
    }

    #[test]
    fn inverse_times_block_is_one() {
        for n in 1..=20_usize {
            let ld = n.next_multiple_of(8);
            let mut a = vec![0.0; n * ld];
            for c in 0..n {
                for r in 0..n {
                    a[c * ld + r] = ((c * 7 + r * 13) as f64).sin() + if r == c { n as f64 } else { 0.0 };
                }
            }
            let mut inverse = a.clone();
            assert_eq!(invert(&mut inverse, n, ld, true, &mut Vec::new()), Inverted::Plain);
            assert!(residual(&a, &inverse, n, ld) < 1e-12);
        }
    }

    #[test]
    fn a_zero_pivot_needs_the_guard_and_a_singular_block_is_told() {
        let a = [0.0, 2.0, 3.0, 1.0, 0.0, 1.0, 4.0, 5.0, 0.0]; // zero diagonal, regular
        let mut inverse = a;
        assert_eq!(invert(&mut inverse, 3, 3, false, &mut Vec::new()), Inverted::Singular);
        inverse = a;
        assert_eq!(invert(&mut inverse, 3, 3, true, &mut Vec::new()), Inverted::Pivoted);
        assert!(residual(&a, &inverse, 3, 3) < 1e-14);
        let mut singular = [1.0, 2.0, 2.0, 4.0];
        assert_eq!(invert(&mut singular, 2, 2, true, &mut Vec::new()), Inverted::Singular);
        let mut nan = [f64::NAN];
        assert_eq!(invert(&mut nan, 1, 1, true, &mut Vec::new()), Inverted::Singular);
    }
}
