#![allow(unsafe_code)]
//! The emitted CUDA C++: it compiles without spills, which needs NVRTC alone, and computes on a GPU what the Rust
//! functions compute.

use chromaflow_device::cuda::{DeviceBuffer, Gpu, KernelSource, compile, nvrtc_version};
use chromaflow_flow::pointwise::{ENTRIES, call, test_source};

const CASES: usize = 4096;

#[test]
fn nothing_spills() {
    if let Err(e) = nvrtc_version() {
        chromaflow_testkit::skip("nvrtc", &e.to_string());
        return;
    }
    let source = KernelSource::new("pointwise_tests", test_source());
    for arch in ["sm_80", "sm_90", "sm_100"] {
        let compiled = compile(&source, arch).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(compiled.log.matches("Compiling entry function").count(), ENTRIES.len());
        println!("{arch}: {} functions, at most {} registers", ENTRIES.len(), compiled.registers());
        assert_eq!(compiled.spill_bytes(), 0, "{}", compiled.log);
    }
}

/// Difference allowed: the GPU fuses multiply and add, and its `pow` differs in the last places. Both perturb a result by
/// a few units in the last place of the largest number that went into it; results that cancel are therefore held to the
/// change that the inputs' own rounding makes.
fn allowed(entry: usize, choice: usize, x: &[f64], y: &[f64]) -> Vec<f64> {
    let mut bound: Vec<f64> = y.iter().map(|y| 64.0 * f64::EPSILON * y.abs() + 1e-14).collect();
    for k in 0..x.len() {
        for sign in [-1.0, 1.0] {
            let mut moved = x.to_vec();
            moved[k] *= 1.0 + sign * 1e-14;
            let mut z = vec![0.0; y.len()];
            call(entry, choice, &moved, &mut z);
            for i in 0..y.len() {
                bound[i] += (z[i] - y[i]).abs();
            }
        }
    }
    bound
}

#[test]
fn the_gpu_computes_what_the_cpu_computes() {
    let gpu = match Gpu::open(0) {
        Ok(gpu) => gpu,
        Err(e) => {
            chromaflow_testkit::skip("gpu", &e.to_string());
            return;
        }
    };
    let stream = gpu.stream().unwrap();
    let module = gpu.module(&KernelSource::new("pointwise_tests", test_source())).unwrap();
    for (entry, e) in ENTRIES.iter().enumerate() {
        let kernel = module.kernel(&format!("test_{}", e.name)).unwrap();
        let samples: Vec<Vec<f64>> = (0..CASES).map(|i| e.sample(i)).collect();
        let inputs: Vec<f64> = (0..e.signs.len()).flat_map(|k| samples.iter().map(move |x| x[k])).collect();
        for choice in 0..e.choices {
            let x = DeviceBuffer::from_slice(&stream, &inputs).unwrap();
            let y = DeviceBuffer::<f64>::zeroed(&stream, e.outputs * CASES).unwrap();
            let launch = kernel.launch(CASES.div_ceil(128), 128);
            let launch = launch.arg(CASES as i32).arg(choice as i32).arg(&x).arg(&y);
            // SAFETY: the kernel takes (int, int, const double*, double*); the buffers hold its inputs and outputs for
            // CASES cases and are in use on this stream alone.
            unsafe { launch.enqueue(&stream) }.unwrap();
            let found = y.download().unwrap();
            for (i, sample) in samples.iter().enumerate() {
                let mut expected = vec![0.0; e.outputs];
                call(entry, choice, sample, &mut expected);
                let bound = allowed(entry, choice, sample, &expected);
                for k in 0..e.outputs {
                    let (cpu, gpu) = (expected[k], found[k * CASES + i]);
                    let same = (cpu - gpu).abs() <= bound[k] || (cpu.is_nan() && gpu.is_nan());
                    assert!(
                        same || !bound[k].is_finite(),
                        "{}, case {i}, output {k}: CPU {cpu:e}, GPU {gpu:e}, allowed {:e}",
                        e.name,
                        bound[k]
                    );
                }
            }
        }
    }
}
