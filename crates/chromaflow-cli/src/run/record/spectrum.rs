//! Spectral densities of records.

use realfft::RealFftPlanner;
use std::f64::consts::TAU;

/// Fewest samples of a record that has a spectrum.
const FEWEST: usize = 64;
/// Segments that a record is cut into, each half over the next.
const SEGMENTS: usize = 8;

/// One-sided spectral density of a record: its sum times the spacing of the frequencies is the record's variance.
#[derive(Clone, Debug, PartialEq)]
pub struct Spectrum {
    /// Frequencies, 1 / unit of dt.
    pub frequencies: Vec<f64>,
    /// Density, square of the record's unit times the unit of dt.
    pub density: Vec<f64>,
}

impl Spectrum {
    /// By Welch's method (IEEE Transactions on Audio and Electroacoustics 15(2), 1967): mean of the periodograms of eight segments that
    /// overlap by half, each less the record's mean and under Hann's window. `None` of fewer than 64 samples.
    pub fn welch(record: &[f64], dt: f64) -> Option<Self> {
        let n = record.len();
        if n < FEWEST {
            return None;
        }
        let length = (2 * n / (SEGMENTS + 1)) & !1;
        let mean = record.iter().sum::<f64>() / n as f64;
        let window: Vec<f64> =
            (0..length).map(|i| 0.5 - 0.5 * (TAU * i as f64 / length as f64).cos()).collect();
        let power: f64 = window.iter().map(|w| w * w).sum();
        let plan = RealFftPlanner::<f64>::new().plan_fft_forward(length);
        let (mut input, mut output) = (plan.make_input_vec(), plan.make_output_vec());
        let mut density = vec![0.0; length / 2 + 1];
        let starts: Vec<usize> = (0..=n - length).step_by(length / 2).collect();
        for &start in &starts {
            let segment = &record[start..start + length];
            for ((x, value), w) in input.iter_mut().zip(segment).zip(&window) {
                *x = (value - mean) * w;
            }
            plan.process(&mut input, &mut output).expect("buffers are the plan's own");
            for (k, (sum, c)) in density.iter_mut().zip(&output).enumerate() {
                let sides = if k == 0 || k == length / 2 { 1.0 } else { 2.0 };
                *sum += sides * c.norm_sqr() * dt / power / starts.len() as f64;
            }
        }
        let frequencies = (0..density.len()).map(|k| k as f64 / (length as f64 * dt)).collect();
        Some(Self { frequencies, density })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wave of amplitude a on a frequency of the transform has the variance a^2 / 2, all of it within two frequencies of its own.
    #[test]
    fn a_wave_has_its_variance_at_its_frequency() {
        let (n, dt) = (9 * 64, 0.25);
        let wave = |i: usize| 3.0 + 2.0 * (TAU * 10.0 / 128.0 * i as f64).sin();
        let record: Vec<f64> = (0..n).map(wave).collect();
        let spectrum = Spectrum::welch(&record, dt).unwrap();
        let spacing = spectrum.frequencies[1];
        assert!((spacing - 1.0 / (128.0 * dt)).abs() < 1e-15);
        let whole: f64 = spectrum.density.iter().sum::<f64>() * spacing;
        let near: f64 = spectrum.density[8..=12].iter().sum::<f64>() * spacing;
        assert!((whole - 2.0).abs() < 1e-2, "{whole}");
        assert!((near / whole - 1.0).abs() < 1e-3, "{near} {whole}");
        assert!(Spectrum::welch(&record[..63], dt).is_none());
    }

    /// White noise of variance 1 is spread evenly: density 2 dt.
    #[test]
    fn noise_is_even() {
        let mut state = 1_u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as f64 / f64::from(1_u32 << 31) - 0.5
        };
        let record: Vec<f64> = (0..36_000).map(|_| uniform() * 12.0_f64.sqrt()).collect();
        let spectrum = Spectrum::welch(&record, 0.5).unwrap();
        let half = spectrum.density.len() / 2;
        for part in [&spectrum.density[1..half], &spectrum.density[half..2 * half]] {
            let mean = part.iter().sum::<f64>() / part.len() as f64;
            assert!((mean - 1.0).abs() < 0.05, "{mean}");
        }
    }
}
