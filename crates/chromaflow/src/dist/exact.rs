//! Sums that are exact before their one rounding: they depend neither on the order of what is added nor on who adds it.
//!
//! A number is an integer times a power of two; integers are added into digits of 32 bits, which together span all exponents of
//! f64. Digits of several ranks are added as f64, exactly, since each stays below 2^53.
//!
//! **Source**: Neal, *Fast exact summation using small and large superaccumulators* (2015), arXiv 1505.05571.

use super::Links;

/// Digits of 32 bits from 2^-1074 up, with room for carries of the largest numbers.
const DIGITS: usize = 68;
/// A sum's digits, and last what was added to it that is not finite.
const WIDTH: usize = DIGITS + 1;
/// Additions of less than 2^32 each after which digits are brought back below that.
const MOST: usize = 1 << 29;
/// Exponent of the lowest bit of the lowest digit.
const LOWEST: i32 = -1074;

/// Several exact sums.
///
/// ```
/// use chromaflow::dist::exact::Sums;
/// let mut sums = Sums::new(1);
/// for x in [1e300, 3.0, -1e300, 2f64.powi(-60), -3.0] {
///     sums.add(0, x);
/// }
/// assert_eq!(sums.values(), [2f64.powi(-60)]);
/// ```
#[derive(Clone, Debug)]
pub struct Sums {
    digits: Vec<[i64; DIGITS]>,
    /// Sums of what is not finite; 0 where all is.
    bad: Vec<f64>,
    /// Additions since digits were last brought below 2^32.
    added: usize,
}

impl Sums {
    /// So many sums of nothing.
    pub fn new(count: usize) -> Self {
        Self { digits: vec![[0; DIGITS]; count], bad: vec![0.0; count], added: 0 }
    }

    /// Adds a number to the `k`-th sum.
    pub fn add(&mut self, k: usize, x: f64) {
        if !x.is_finite() {
            self.bad[k] += x;
            return;
        }
        if self.added == MOST {
            self.digits.iter_mut().for_each(carry);
            self.added = 0;
        }
        self.added += 1;
        let bits = x.to_bits();
        let (biased, fraction) = ((bits >> 52 & 0x7FF) as usize, bits & ((1 << 52) - 1));
        // Lowest bits: normal numbers with their hidden bit lie `biased - 1` above those of subnormal ones.
        let (mantissa, place) = if biased == 0 { (fraction, 0) } else { (fraction | 1 << 52, biased - 1) };
        let wide = u128::from(mantissa) << (place % 32);
        let digits = &mut self.digits[k][place / 32..place / 32 + 3];
        let sign = if bits >> 63 == 1 { -1 } else { 1 };
        for (d, digit) in digits.iter_mut().enumerate() {
            *digit += sign * (wide >> (32 * d) & 0xFFFF_FFFF) as i64;
        }
    }

    /// Adds the products x_i y_i, each rounded to f64, to the `k`-th sum.
    pub fn add_products(&mut self, k: usize, x: &[f64], y: &[f64]) {
        for (x, y) in x.iter().zip(y) {
            self.add(k, x * y);
        }
    }

    /// The sums, rounded once; NaN where something infinite or NaN was added.
    pub fn values(mut self) -> Vec<f64> {
        let all = self.digits.iter_mut().zip(&self.bad);
        all.map(|(digits, bad)| if *bad == 0.0 { rounded(digits) } else { f64::NAN }).collect()
    }

    /// The sums over all ranks, rounded once.
    pub fn over(mut self, links: &dyn Links) -> Vec<f64> {
        let mut flat = Vec::with_capacity(WIDTH * self.bad.len());
        for (digits, bad) in self.digits.iter_mut().zip(&self.bad) {
            carry(digits);
            flat.extend(digits.iter().map(|&digit| digit as f64));
            flat.push(*bad);
        }
        links.sum(&mut flat);
        for ((digits, bad), sum) in self.digits.iter_mut().zip(&mut self.bad).zip(flat.chunks_exact(WIDTH)) {
            for (digit, &sum) in digits.iter_mut().zip(sum) {
                *digit = sum as i64;
            }
            // What failed comes back as NaN in every value.
            *bad = if sum.iter().all(|v| v.is_finite()) { sum[DIGITS] } else { f64::NAN };
        }
        self.values()
    }
}

/// Brings all digits but the highest, which carries the sign, into 0..2^32.
fn carry(digits: &mut [i64; DIGITS]) {
    let mut over = 0;
    for digit in &mut digits[..DIGITS - 1] {
        let all = *digit + over;
        (*digit, over) = (all & 0xFFFF_FFFF, all >> 32);
    }
    digits[DIGITS - 1] += over;
}

/// The number that the digits are, cut to 96 bits and more and rounded to f64.
fn rounded(digits: &mut [i64; DIGITS]) -> f64 {
    carry(digits);
    let negative = digits[DIGITS - 1] < 0;
    if negative {
        for digit in digits.iter_mut() {
            *digit = -*digit;
        }
        carry(digits);
    }
    let Some(top) = digits.iter().rposition(|&digit| digit != 0) else { return 0.0 };
    let low = top.saturating_sub(3);
    let mut all = digits[low..=top].iter().rev().fold(0_u128, |all, &digit| all << 32 | digit as u128);
    // What lies below decides ties only.
    if digits[..low].iter().any(|&digit| digit != 0) {
        all |= 1;
    }
    let exponent = LOWEST + 32 * low as i32;
    let size = scaled(all, exponent);
    if negative { -size } else { size }
}

/// all 2^exponent. Numbers below 2^-1022 are exact multiples of 2^-1074: no second rounding.
fn scaled(all: u128, exponent: i32) -> f64 {
    let value = all as f64;
    let half = exponent / 2;
    let power = |e: i32| f64::from_bits(((e + 1023) as u64) << 52);
    value * power(half) * power(exponent - half)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(values: &[f64]) -> f64 {
        let mut sums = Sums::new(2);
        for &x in values {
            sums.add(1, x);
        }
        let values = sums.values();
        assert_eq!(values[0], 0.0, "the other sum stays");
        values[1]
    }

    #[test]
    fn single_numbers_come_back() {
        let tiny = f64::from_bits(1);
        for x in [0.0, 1.0, -1.5, f64::MAX, f64::MIN, f64::MIN_POSITIVE, tiny, -tiny, 3.0 * tiny, 0.1, 1e-310]
        {
            assert_eq!(sum(&[x]), x);
        }
    }

    #[test]
    fn sums_are_rounded_once_whatever_the_order() {
        let x = [1e16, -1e16, 2f64.powi(-80), 1e300, -1e300, 0.1, 0.2, -0.3];
        // 0.1 + 0.2 - 0.3 is 2^-55 as these numbers are stored.
        let exact = 2f64.powi(-55) + 2f64.powi(-80);
        for turn in 0..x.len() {
            let mut turned = x.to_vec();
            turned.rotate_left(turn);
            assert_eq!(sum(&turned), exact);
            turned.reverse();
            assert_eq!(sum(&turned), exact);
        }
        assert_eq!(sum(&[1.0, 2f64.powi(-53)]), 1.0, "a tie goes to even");
        assert_eq!(
            sum(&[1.0, 2f64.powi(-53), 2f64.powi(-200)]),
            1.0 + f64::EPSILON,
            "and what is above it up"
        );
        assert_eq!(sum(&[-1.0, -2f64.powi(-53), -2f64.powi(-200)]), -1.0 - f64::EPSILON);
    }

    #[test]
    fn what_is_not_finite_shows() {
        assert!(sum(&[1.0, f64::NAN]).is_nan());
        assert!(sum(&[f64::INFINITY, f64::NEG_INFINITY]).is_nan());
    }

    #[test]
    fn many_numbers_keep_their_carries() {
        let mut sums = Sums::new(1);
        for _ in 0..100_000 {
            sums.add(0, -f64::MAX / 1e6);
            sums.add(0, 0.1);
        }
        sums.digits.iter_mut().for_each(carry);
        for _ in 0..100_000 {
            sums.add(0, f64::MAX / 1e6);
        }
        let tenth = sums.values()[0];
        assert!((tenth - 10_000.0).abs() <= 1e-11, "{tenth}");
    }
}
