//! The pointwise physics as CUDA C++, emitted from the very functions of this crate when it is built.
//!
//! [`cuda_source`] holds every function of [`crate::gas`], [`crate::flux`], [`crate::bc`], [`crate::limiter`] and
//! [`crate::viscous`] that takes a generic scalar, under the same name in the namespace `pointwise`. A kernel puts the
//! text before its own and calls `pointwise::flux_roe<double>(gas, wl, wr, n, fix)`.
//!
//! [`ENTRIES`] and [`call`] are the public ones laid out over plain numbers, and [`test_source`] has a kernel for each,
//! `test_NAME(int n, int choice, const double* in, double* out)`, with input k of case i at `in[k * n + i]`: what the
//! comparison of the two sides runs.

/// Device functions in CUDA C++17; includes no header.
pub fn cuda_source() -> &'static str {
    include_str!(concat!(env!("OUT_DIR"), "/pointwise.cuh"))
}

/// [`cuda_source`] with a test kernel for each of [`ENTRIES`].
pub fn test_source() -> String {
    format!("{}{}", cuda_source(), include_str!(concat!(env!("OUT_DIR"), "/pointwise_tests.cu")))
}

/// A function as numbers in, numbers out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// One letter per input: `-` where any sign makes sense (velocities, normals, gradients), `+` where only positive
    /// numbers do.
    pub signs: &'static str,
    /// Number of outputs.
    pub outputs: usize,
    /// Number of combinations of its enum arguments: `choice` runs over `0..choices`.
    pub choices: usize,
}

impl Entry {
    /// Inputs for test number `case`, the same on every machine: positive ones in `[0.4, 1.6)`, others in
    /// `[-1.2, 1.2)`.
    pub fn sample(&self, case: usize) -> Vec<f64> {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(case as u64 + 1);
        let mut unit = || {
            // xorshift64*
            state ^= state >> 12;
            state ^= state << 25;
            state ^= state >> 27;
            (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 53) as f64
        };
        self.signs.chars().map(|s| if s == '+' { 0.4 + 1.2 * unit() } else { 2.4 * unit() - 1.2 }).collect()
    }
}

include!(concat!(env!("OUT_DIR"), "/pointwise_entries.rs"));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::real::{Dual, LANES, LaneKernel, Lanes, Real, dispatch};
    use chromaflow_device::Isa;

    const CASES: usize = 64;

    struct OnLanes<'a> {
        entry: usize,
        choice: usize,
        inputs: &'a [Vec<f64>; LANES],
    }

    impl LaneKernel for OnLanes<'_> {
        type Output = Vec<[f64; LANES]>;
        fn run<V: Lanes>(self) -> Self::Output {
            let x: Vec<V> = (0..self.inputs[0].len())
                .map(|k| V::from_array(&std::array::from_fn(|l| self.inputs[l][k])))
                .collect();
            let mut y = vec![V::c(0.0); ENTRIES[self.entry].outputs];
            call(self.entry, self.choice, &x, &mut y);
            y.into_iter().map(Lanes::to_array).collect()
        }
    }

    /// Every function, on every instruction set: the bits of the scalar function in each lane.
    #[test]
    fn lanes_are_the_scalar_function() {
        assert!(ENTRIES.len() > 40, "{}", ENTRIES.len());
        for (entry, e) in ENTRIES.iter().enumerate() {
            for choice in 0..e.choices {
                for group in 0..CASES / LANES {
                    let inputs: [Vec<f64>; LANES] = std::array::from_fn(|l| e.sample(group * LANES + l));
                    for isa in Isa::available() {
                        let lanes = dispatch(isa, OnLanes { entry, choice, inputs: &inputs });
                        for l in 0..LANES {
                            let mut y = vec![0.0; e.outputs];
                            call(entry, choice, &inputs[l], &mut y);
                            for k in 0..e.outputs {
                                let same = y[k].to_bits() == lanes[k][l].to_bits();
                                assert!(
                                    same || (y[k].is_nan() && lanes[k][l].is_nan()),
                                    "{} on {}: {} and {}",
                                    e.name,
                                    isa.name(),
                                    y[k],
                                    lanes[k][l]
                                );
                            }
                        }
                    }
                }
            }
        }
    }

    /// Every function takes duals: their values are the function's, and the derivative along a direction is that of
    /// central differences, but at the few samples that straddle a switch. Each output is judged by itself, of each choice.
    #[test]
    fn derivatives_against_differences() {
        for (entry, e) in ENTRIES.iter().enumerate() {
            // Samples of each output, and those that differ.
            let mut counts = vec![(0, Vec::new()); e.choices * e.outputs];
            for case in 0..CASES * e.choices {
                let choice = case % e.choices;
                let x = e.sample(case);
                let direction = e.sample(case + CASES * e.choices);
                let at = |h: f64| {
                    let moved: Vec<f64> = x.iter().zip(&direction).map(|(x, d)| x + h * d).collect();
                    let mut y = vec![0.0; e.outputs];
                    call(entry, choice, &moved, &mut y);
                    y
                };
                let (value, up, down) = (at(0.0), at(1e-6), at(-1e-6));
                let duals: Vec<Dual<f64, 1>> =
                    x.iter().zip(&direction).map(|(&v, &d)| Dual { v, d: [d] }).collect();
                let mut y = vec![Dual::c(0.0); e.outputs];
                call(entry, choice, &duals, &mut y);
                for k in 0..e.outputs {
                    if !value[k].is_finite() {
                        continue;
                    }
                    assert!((y[k].v - value[k]).abs() <= 1e-14 * (1.0 + value[k].abs()), "{}", e.name);
                    let difference = (up[k] - down[k]) / 2e-6;
                    let (checked, off) = &mut counts[choice * e.outputs + k];
                    *checked += 1;
                    if (y[k].d[0] - difference).abs() > 1e-5 * (1.0 + difference.abs()) {
                        off.push((case, y[k].d[0], difference));
                    }
                }
            }
            for (at, (checked, off)) in counts.iter().enumerate() {
                let (choice, k) = (at / e.outputs, at % e.outputs);
                assert!(
                    off.len() * 20 <= *checked,
                    "{}, choice {choice}, output {k}: {} of {checked} differ: {off:?}",
                    e.name,
                    off.len()
                );
            }
        }
    }
}
