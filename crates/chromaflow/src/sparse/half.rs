#![allow(unsafe_code)]
//! Off-diagonal blocks from f32 to scaled f16, in place or into other memory.

use super::{Jacobian, OffDiagonal};
use crate::shared::SharedMut;
use chromaflow_device::{Buffer, Isa, Member, Team};
use chromaflow_simd::{Bits, Kernel, Load, Mask, Real, Simd, Store, Vector, dispatch};
use half::f16;
use std::ops::Range;
use std::sync::Mutex;

/// The largest finite f16.
const LARGEST: f32 = 65504.0;
/// The smallest normal f16.
const SMALLEST_NORMAL: f32 = 1.0 / 16384.0;
/// Values converted by one thread before the others can start in place.
const ALONE: usize = 1 << 14;

/// What off-diagonal values are multiplied by before they are rounded to f16.
///
/// f16 spans 65504 down to 6e-5 with 11 bits, and 6e-8 with fewer: one scale for all loses blocks that are smaller than
/// the largest value by more than nine orders of magnitude. [`HalfReport`] says what is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HalfScale {
    /// beta = 65504 / max |O| for all values, as the paper has it.
    #[default]
    Global,
    /// The largest power of two that is not above 65504 / max |O|: scaling itself rounds nothing.
    PowerOfTwo,
    /// The same for each block row by itself.
    Rows,
}

/// What a conversion to f16 lost. A scale cannot overflow finite values; infinities and NaN of the matrix stay.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HalfReport {
    /// Number of values.
    pub values: usize,
    /// Values that are infinite or NaN.
    pub overflowed: usize,
    /// Nonzero values that became zero.
    pub underflowed: usize,
    /// Values kept with fewer than 11 bits.
    pub subnormal: usize,
    /// Largest |rounded - value| / |value| of the values that are neither zero nor overflowed nor underflowed.
    pub max_relative_loss: f32,
}

/// How blocks are converted.
struct How<'a> {
    scale: HalfScale,
    /// Makes of the largest magnitude that of all matrices of one scale.
    agree: &'a (dyn Fn(f32) -> f32 + Sync),
    /// Whether into the memory they are in.
    in_place: bool,
}

/// Off-diagonal blocks that are not in f32.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("only off-diagonal blocks in f32 can be converted to f16; these are of policy `{0}`")]
pub struct NotSingle(crate::Policy);

impl Jacobian {
    /// Converts the off-diagonal blocks from f32 to scaled f16 **in place**: the memory stays, half of it unused, until
    /// [`Jacobian::begin_assembly`] takes it for the next one.
    ///
    /// One pass reads every value once and writes it once: values \[m, 2m) go where the values \[m/2, m) were, which
    /// have been read by then, so that each such range is converted by all threads at once.
    ///
    /// **Source**: Walden et al. (2019), Algorithm 4, which takes three passes and writes most values twice or thrice.
    ///
    /// # Errors
    /// [`NotSingle`] when the blocks are not in f32.
    pub fn convert_to_f16(&mut self, team: &Team, scale: HalfScale) -> Result<HalfReport, NotSingle> {
        self.convert_to_f16_together(team, scale, &|largest| largest)
    }

    /// The same where other matrices have the scale, too: `agree` makes of the largest magnitude here, and is called by one thread, that of
    /// all. Rows with scales of their own have them for themselves.
    ///
    /// # Errors
    /// [`NotSingle`] when the blocks are not in f32.
    pub(crate) fn convert_to_f16_together(
        &mut self,
        team: &Team,
        scale: HalfScale,
        agree: &(dyn Fn(f32) -> f32 + Sync),
    ) -> Result<HalfReport, NotSingle> {
        let mut report = HalfReport::default();
        self.convert_in_place(team, scale, agree, Some(&mut report))?;
        Ok(report)
    }

    /// As [`Jacobian::convert_to_f16`] without counting what is lost, which would take longer than the conversion: two
    /// reads and one write of the values as fast as memory goes, one of these reads for their largest magnitude.
    ///
    /// # Errors
    /// [`NotSingle`] when the blocks are not in f32.
    pub fn narrow_to_f16(&mut self, team: &Team, scale: HalfScale) -> Result<(), NotSingle> {
        self.convert_in_place(team, scale, &|largest| largest, None)
    }

    /// As [`Jacobian::narrow_to_f16`] with one [global](HalfScale::Global) scale for several matrices: `agree` makes of the largest
    /// magnitude here, and is called by one thread, that of all.
    ///
    /// # Errors
    /// [`NotSingle`] when the blocks are not in f32.
    pub fn narrow_to_f16_together(
        &mut self,
        team: &Team,
        agree: &(dyn Fn(f32) -> f32 + Sync),
    ) -> Result<(), NotSingle> {
        self.convert_in_place(team, HalfScale::Global, agree, None)
    }

    fn convert_in_place(
        &mut self,
        team: &Team,
        scale: HalfScale,
        agree: &(dyn Fn(f32) -> f32 + Sync),
        report: Option<&mut HalfReport>,
    ) -> Result<(), NotSingle> {
        let off = std::mem::replace(&mut self.off, OffDiagonal::F32(Buffer::default()));
        let mut values = match off {
            OffDiagonal::F32(values) => values,
            other => {
                let policy = other.policy();
                self.off = other;
                return Err(NotSingle(policy));
            }
        };
        let len = values.len();
        let from = SharedMut(values.as_mut_ptr());
        let how = How { scale, agree, in_place: true };
        // SAFETY: f16 values go over the f32 values they come from, in the order said above.
        let unscale = unsafe { self.convert(team, &how, from, SharedMut(from.get().cast()), len, report) };
        self.off = OffDiagonal::F16 { values: values.reinterpret(len), unscale };
        Ok(())
    }

    /// The off-diagonal blocks converted from f32 to scaled f16 in memory of their own.
    ///
    /// # Errors
    /// [`NotSingle`] when the blocks are not in f32.
    pub fn to_f16(&self, team: &Team, scale: HalfScale) -> Result<(OffDiagonal, HalfReport), NotSingle> {
        let OffDiagonal::F32(off) = &self.off else { return Err(NotSingle(self.off.policy())) };
        let mut values = Buffer::<f16>::zeroed(off.len());
        let (from, to) = (SharedMut(off.as_ptr().cast_mut()), SharedMut(values.as_mut_ptr()));
        let mut report = HalfReport::default();
        let how = How { scale, agree: &|largest| largest, in_place: false };
        // SAFETY: `from` is only read, and `to` is other memory of the same length.
        let unscale = unsafe { self.convert(team, &how, from, to, off.len(), Some(&mut report)) };
        Ok((OffDiagonal::F16 { values, unscale }, report))
    }

    /// Makes the off-diagonal blocks f32 again, in the memory they had before an in-place conversion, for the next
    /// assembly: **their values are meaningless** until then. Blocks in f32 stay as they are.
    pub(super) fn restore_f32(&mut self) {
        let off = std::mem::replace(&mut self.off, OffDiagonal::F32(Buffer::default()));
        self.off = match off {
            OffDiagonal::F16 { values, .. } if values.capacity::<f32>() >= values.len() => {
                let len = values.len();
                OffDiagonal::F32(values.reinterpret(len))
            }
            OffDiagonal::F16 { values, .. } => OffDiagonal::F32(Buffer::zeroed(values.len())),
            other => other,
        };
    }

    /// # Safety
    /// `from` must be readable and `to` writable for `len` values, the off-diagonal blocks; they may be the same memory
    /// if `in_place`.
    unsafe fn convert(
        &self,
        team: &Team,
        &How { scale, agree, in_place }: &How<'_>,
        from: SharedMut<f32>,
        to: SharedMut<f16>,
        len: usize,
        report: Option<&mut HalfReport>,
    ) -> Vec<f32> {
        let isa = Isa::detect();
        let (rows, q) = (self.rows(), self.nb() * self.nb());
        let row_ptr = self.pattern().row_ptr();
        // SAFETY: within `len`.
        let largest = |values: Range<usize>| unsafe {
            dispatch(isa, Largest { from: from.get().add(values.start), len: values.len() })
        };
        let counted = report.is_some();
        let found = Mutex::new((0.0_f32, Tally::default()));
        let mut unscale = vec![1.0_f32; if scale == HalfScale::Rows { rows } else { 1 }];
        let shared_unscale = SharedMut(unscale.as_mut_ptr());
        team.run(|member| {
            if scale == HalfScale::Rows {
                for row in member.share(rows) {
                    let values = row_ptr[row] as usize * q..row_ptr[row + 1] as usize * q;
                    // SAFETY: one entry a row, one member a row.
                    unsafe { *shared_unscale.get().add(row) = power_of_two(largest(values)) };
                }
            } else {
                let mine = largest(member.share(len));
                let mut found = found.lock().expect("no member panics with it locked");
                found.0 = found.0.max(mine);
            }
            member.barrier();
            if scale != HalfScale::Rows && member.rank() == 0 {
                let largest = agree(found.lock().expect("no member panics with it locked").0);
                let factor = match scale {
                    // Kept where its reciprocal is finite.
                    HalfScale::Global if largest > 0.0 => (largest / LARGEST).max(f32::MIN_POSITIVE),
                    HalfScale::PowerOfTwo => power_of_two(largest),
                    _ => 1.0,
                };
                // SAFETY: the others wait at the barrier.
                unsafe { *shared_unscale.get() = factor };
            }
            member.barrier();
            let mut tally = Tally::default();
            let mut round = |values: Range<usize>, unscale: f32| {
                let (from, to) = (from.get().wrapping_add(values.start), to.get().wrapping_add(values.start));
                let tally = counted.then_some(&mut tally);
                // SAFETY: within `len`; in place, these values' new places were read before.
                unsafe { dispatch(isa, Round { from, to, len: values.len(), beta: 1.0 / unscale, tally }) };
            };
            let mut range = |values: Range<usize>| {
                if scale != HalfScale::Rows {
                    // SAFETY: written before the barrier.
                    return round(values, unsafe { *shared_unscale.get() });
                }
                let first_row = row_ptr.partition_point(|&p| p as usize * q <= values.start) - 1;
                for row in first_row..rows {
                    let end = (row_ptr[row + 1] as usize * q).min(values.end);
                    let start = (row_ptr[row] as usize * q).max(values.start);
                    if start >= values.end {
                        break;
                    }
                    // SAFETY: as above.
                    round(start..end, unsafe { *shared_unscale.get().add(row) });
                }
            };
            if in_place {
                in_ranges(member, len, &mut range);
            } else {
                let mine = member.share(len);
                if !mine.is_empty() {
                    range(mine);
                }
            }
            found.lock().expect("no member panics with it locked").1.add(tally);
        });
        let tally = found.into_inner().expect("no member panics with it locked").1;
        if let Some(report) = report {
            *report = HalfReport {
                values: len,
                overflowed: tally.overflowed,
                underflowed: tally.underflowed,
                subnormal: tally.subnormal,
                max_relative_loss: tally.loss,
            };
        }
        unscale
    }
}

/// `[0, m)` by the first member, then `[m, 2m)`, `[2m, 4m)`, ... by all.
fn in_ranges(member: &Member<'_>, len: usize, range: &mut impl FnMut(Range<usize>)) {
    let mut done = ALONE.min(len);
    if member.rank() == 0 && done > 0 {
        range(0..done);
    }
    while done < len {
        member.barrier();
        let end = (2 * done).min(len);
        let mine = member.share(end - done);
        if !mine.is_empty() {
            range(done + mine.start..done + mine.end);
        }
        done = end;
    }
}

/// The smallest power of two that brings `largest` into the range of f16 when divided by it.
pub(crate) fn power_of_two(largest: f32) -> f32 {
    if largest == 0.0 {
        return 1.0;
    }
    let exponent = (largest / LARGEST).log2().ceil().clamp(-126.0, 127.0);
    let factor = exponent.exp2();
    if largest / factor > LARGEST { 2.0 * factor } else { factor }
}

#[derive(Clone, Copy, Default)]
struct Tally {
    overflowed: usize,
    underflowed: usize,
    subnormal: usize,
    loss: f32,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.overflowed += other.overflowed;
        self.underflowed += other.underflowed;
        self.subnormal += other.subnormal;
        self.loss = self.loss.max(other.loss);
    }
}

/// The largest finite magnitude.
struct Largest {
    from: *const f32,
    len: usize,
}

impl Kernel for Largest {
    type Output = f32;

    #[inline(always)]
    unsafe fn run<S: Simd>(self) -> f32 {
        let lanes = S::F32::LANES;
        let mut lane_max = [0.0_f32; 16];
        // SAFETY: `len` values at `from`; masks keep the last vector within them.
        unsafe {
            let mut largest = S::F32::c(0.0);
            for i in (0..self.len).step_by(lanes) {
                let mask = S::F32::first((self.len - i).min(lanes));
                let v = S::F32::load_first(self.from.add(i), mask).abs();
                largest = within(v, v, 0.0, f32::MAX).max(largest);
            }
            largest.store(lane_max.as_mut_ptr());
        }
        lane_max.into_iter().fold(0.0, f32::max)
    }
}

/// Where `size` lies in low..=high the lanes of `values`, zero elsewhere.
#[inline(always)]
fn within<V: Vector<Elem = f32>>(values: V, size: V, low: f32, high: f32) -> V {
    V::select(size.ge(V::splat(low)).and(size.le(V::splat(high))), values, V::c(0.0))
}

/// Number of lanes below or equal to `limit`.
#[inline(always)]
fn at_most<V: Vector<Elem = f32>>(values: V, limit: f32) -> usize {
    values.le(V::splat(limit)).bits().count_ones() as usize
}

/// Multiplies with `beta`, rounds to f16 and counts, if asked to, what that loses.
struct Round<'a> {
    from: *const f32,
    to: *mut f16,
    len: usize,
    beta: f32,
    tally: Option<&'a mut Tally>,
}

impl Kernel for Round<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Self { from, to, len, beta, tally } = self;
        let lanes = S::F32::LANES;
        let Some(tally) = tally else {
            // SAFETY: whole vectors lie within `len` values; the last part goes through an array of a vector's length.
            unsafe {
                let (beta, zero) = (S::F32::splat(beta), S::F32::c(0.0));
                for i in (0..len - len % lanes).step_by(lanes) {
                    <S::F32 as Load<f32>>::load(from.add(i)).mul_add(beta, zero).store(to.add(i));
                }
                let (i, rest) = (len - len % lanes, len % lanes);
                let mut last = [f16::ZERO; 16];
                let v = S::F32::load_first(from.add(i), S::F32::first(rest));
                v.mul_add(beta, zero).store(last.as_mut_ptr());
                std::ptr::copy_nonoverlapping(last.as_ptr(), to.add(i), rest);
            }
            return;
        };
        let (mut in_zero, mut out_zero, mut small, mut fit, mut vectors) = (0, 0, 0, 0, 0);
        let mut lane_loss = [0.0_f32; 16];
        // SAFETY: whole vectors lie within `len` values; the last part goes through arrays of a vector's length.
        unsafe {
            let (beta, zero) = (S::F32::splat(beta), S::F32::c(0.0));
            let mut loss = zero;
            // One place for the body: a closure called from two would be compiled without the vector instructions.
            for i in (0..len).step_by(lanes) {
                let mut last = [f16::ZERO; 16];
                let whole = len - i >= lanes;
                let (v, to_v) = if whole {
                    (<S::F32 as Load<f32>>::load(from.add(i)), to.add(i))
                } else {
                    (S::F32::load_first(from.add(i), S::F32::first(len - i)), last.as_mut_ptr())
                };
                let scaled = v.mul_add(beta, zero);
                scaled.store(to_v);
                let back = <S::F32 as Load<f16>>::load(to_v);
                let (size, kept) = (scaled.abs(), back.abs());
                in_zero += at_most(size, 0.0);
                out_zero += at_most(kept, 0.0);
                small += at_most(kept, SMALLEST_NORMAL.next_down());
                fit += at_most(kept, LARGEST);
                vectors += 1;
                let part = (back - scaled).abs() / size;
                loss = within(part, kept, f32::MIN_POSITIVE, LARGEST).max(loss);
                if !whole {
                    std::ptr::copy_nonoverlapping(last.as_ptr(), to.add(i), len - i);
                }
            }
            loss.store(lane_loss.as_mut_ptr());
        }
        tally.add(Tally {
            overflowed: vectors * lanes - fit,
            underflowed: out_zero - in_zero,
            subnormal: small - out_zero,
            loss: lane_loss.into_iter().fold(0.0, f32::max),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BlockPattern, Policy};

    fn sample(values: Vec<f32>, rows: usize, nb: usize) -> Jacobian {
        let blocks = values.len() / (nb * nb);
        // All blocks in the rows, `rows - 1` at most in each, columns other than the row's own.
        let mut row_ptr = vec![0];
        let mut col_idx = Vec::new();
        for row in 0..rows {
            let count = (blocks - col_idx.len()).min(rows - 1);
            col_idx.extend((0..rows as u32).filter(|&c| c != row as u32).take(count));
            row_ptr.push(col_idx.len() as u32);
        }
        let pattern = BlockPattern::new(rows, row_ptr, col_idx).unwrap();
        let diag = Buffer::zeroed(rows * nb * nb);
        Jacobian::new(pattern, nb, diag, OffDiagonal::F32(values.into())).unwrap()
    }

    fn random(len: usize, orders: i32) -> Vec<f32> {
        let mut state = 1_u64;
        (0..len)
            .map(|_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let v = (state >> 40) as f32 / 8388608.0 - 1.0;
                v * 10.0_f32.powi((state >> 33) as i32 % (orders + 1))
            })
            .collect()
    }

    #[test]
    fn in_place_equals_out_of_place_for_any_number_of_threads() {
        for (rows, nb, blocks, orders) in [(2, 1, 1, 0), (5, 3, 7, 3), (90, 5, 8010, 12), (300, 1, 70000, 6)]
        {
            let values = random(blocks * nb * nb, orders);
            for scale in [HalfScale::Global, HalfScale::PowerOfTwo, HalfScale::Rows] {
                let mut expected = None;
                for threads in [1, 2, 3] {
                    let team = Team::new(threads);
                    let mut jac = sample(values.clone(), rows, nb);
                    let (apart, report) = jac.to_f16(&team, scale).unwrap();
                    assert_eq!(jac.convert_to_f16(&team, scale).unwrap(), report);
                    let (
                        OffDiagonal::F16 { values: a, unscale: ua },
                        OffDiagonal::F16 { values: b, unscale: ub },
                    ) = (&apart, &jac.off)
                    else {
                        panic!("not converted")
                    };
                    assert_eq!((&**a, ua), (&**b, ub));
                    let mut quiet = sample(values.clone(), rows, nb);
                    quiet.narrow_to_f16(&team, scale).unwrap();
                    let OffDiagonal::F16 { values: c, unscale: uc } = &quiet.off else {
                        panic!("not converted")
                    };
                    assert_eq!((&**a, ua), (&**c, uc));
                    assert_eq!(report.values, values.len());
                    let first = expected.get_or_insert((a.to_vec(), ua.clone(), report));
                    assert_eq!((&**a, ua, &report), (&first.0[..], &first.1, &first.2));
                    jac.begin_assembly();
                    assert_eq!(jac.off.len(), values.len());
                }
            }
        }
    }

    #[test]
    fn values_come_back_within_half_an_ulp() {
        let values = random(900 * 25, 2);
        let mut jac = sample(values.clone(), 40, 5);
        let report = jac.convert_to_f16(&Team::new(2), HalfScale::Global).unwrap();
        let OffDiagonal::F16 { values: halves, unscale } = &jac.off else { panic!("not converted") };
        let mut worst = 0.0_f32;
        for (h, v) in halves.iter().zip(&values) {
            let loss = (h.to_f32() * unscale[0] - v).abs() / v.abs();
            if *v != 0.0 && h.to_f32().abs() >= SMALLEST_NORMAL {
                worst = worst.max(loss);
                assert!(loss <= 1.001 / 2048.0, "{v}");
            }
        }
        assert_eq!((report.overflowed, report.underflowed), (0, 0));
        assert!(report.max_relative_loss >= 0.99 * worst && worst > 0.9 / 2048.0);
        let largest = values.iter().fold(0.0_f32, |m, v| m.max(v.abs()));
        assert_eq!(unscale[0], largest / LARGEST);
    }

    #[test]
    fn losses_are_counted() {
        // Scale 1 by power of two: 32768 stays. 1e-8 underflows, 1e-6 is subnormal; NaN and infinity stay.
        let mut values = vec![0.0; 40];
        values[..7].copy_from_slice(&[
            32768.0,
            1e-8,
            -1e-6,
            f32::NAN,
            f32::INFINITY,
            2.0_f32.powi(-14),
            -1.0,
        ]);
        let jac = sample(values, 7, 1);
        let (off, report) = jac.to_f16(&Team::new(1), HalfScale::PowerOfTwo).unwrap();
        let OffDiagonal::F16 { values, unscale } = &off else { panic!("not converted") };
        assert_eq!((unscale[0], values[0].to_f32(), values[6].to_f32()), (1.0, 32768.0, -1.0));
        assert_eq!((report.overflowed, report.underflowed, report.subnormal), (2, 1, 1));
        let kept = values[2].to_f32();
        assert!((report.max_relative_loss - ((kept + 1e-6) / 1e-6).abs()).abs() < 1e-6);
    }

    #[test]
    fn row_scales_keep_rows_that_one_scale_loses() {
        let mut values = vec![1.0e12; 9];
        values.extend([1.0e-3; 9]);
        let jac = sample(values, 2, 3);
        let team = Team::new(1);
        assert_eq!(jac.to_f16(&team, HalfScale::Global).unwrap().1.underflowed, 9);
        let (off, report) = jac.to_f16(&team, HalfScale::Rows).unwrap();
        assert_eq!((report.underflowed, report.subnormal), (0, 0));
        let OffDiagonal::F16 { values, unscale } = &off else { panic!("not converted") };
        assert!((values[9].to_f32() * unscale[1] - 1.0e-3).abs() < 1e-6);
    }

    #[test]
    fn only_f32_can_be_converted() {
        let pattern = BlockPattern::new(1, vec![0, 0], vec![]).unwrap();
        let mut jac = Jacobian::zeroed(pattern, 2, Policy::D).unwrap();
        assert_eq!(jac.convert_to_f16(&Team::new(1), HalfScale::Global).unwrap_err(), NotSingle(Policy::D));
        assert_eq!(jac.off.policy(), Policy::D);
    }
}
