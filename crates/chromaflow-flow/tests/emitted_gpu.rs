#![allow(unsafe_code)]
//! The emitted CUDA C++: it compiles without spills, which needs NVRTC alone, and computes on a GPU what the Rust
//! functions compute, as exactly as roundings allow.

#[path = "emitted_gpu/rounded.rs"]
mod rounded;

use chromaflow_device::cuda::{DeviceBuffer, Gpu, KernelSource, Read, Share, compile, nvrtc_version};
use chromaflow_device::{kernel_arguments, kernel_record};
use chromaflow_flow::pointwise::{ENTRIES, call, test_source};
use chromaflow_flow::real::Real;
use rounded::Rounded;

const CASES: usize = 4096;

kernel_record! {
    /// What the emitted test kernels take.
    struct Cases { n: i32, choice: i32, x: Read<f64>, y: Share<f64> }
}

#[test]
fn nothing_spills() {
    if chromaflow_testkit::available("nvrtc", nvrtc_version()).is_none() {
        return;
    }
    let source = KernelSource::new("pointwise_tests", test_source());
    for arch in ["sm_80", "sm_90", "sm_100"] {
        let compiled = compile(&source, arch).unwrap_or_else(|e| panic!("{e}"));
        let named = compiled.log.matches("Compiling entry function").count();
        assert_eq!(named, ENTRIES.len(), "{arch}: {}", compiled.log);
        println!("{arch}: {} functions, at most {} registers", ENTRIES.len(), compiled.registers());
        assert_eq!(compiled.spill_bytes(), 0, "{}", compiled.log);
    }
}

/// Results and the errors they can have, in units of the roundoff of the precision they are computed in.
fn bounds<const SINGLE: bool>(entry: usize, choice: usize, x: &[f64]) -> Vec<Rounded<SINGLE>> {
    let x: Vec<Rounded<SINGLE>> = x.iter().map(|&x| Rounded::c(x)).collect();
    let mut y = vec![Rounded::c(0.0); ENTRIES[entry].outputs];
    call(entry, choice, &x, &mut y);
    y
}

/// The bounds hold where they can be tried without a GPU: for the same functions in f32. And they are no empty words: nine
/// samples in ten are held to better than a thousand roundoffs of the largest result.
#[test]
fn the_bounds_hold_in_single_precision() {
    let unit = f64::from(f32::EPSILON) / 2.0;
    let (mut results, mut loose) = (0, 0);
    let mut failures = Vec::new();
    for (entry, e) in ENTRIES.iter().enumerate() {
        for case in 0..CASES / 8 {
            let choice = case % e.choices;
            let single: Vec<f32> = e.sample(case).iter().map(|&x| x as f32).collect();
            let x: Vec<f64> = single.iter().map(|&x| f64::from(x)).collect();
            let mut found = vec![0.0f32; e.outputs];
            call(entry, choice, &single, &mut found);
            let exact = bounds::<true>(entry, choice, &x);
            let scale = exact.iter().map(|y| y.value.abs()).fold(1.0, f64::max);
            for (k, y) in exact.iter().enumerate() {
                results += 1;
                let tight = y.error < 1000.0 * scale;
                loose += usize::from(!tight);
                let difference = (f64::from(found[k]) - y.value).abs();
                // As much again is left for terms of second order, and what is below the normal numbers.
                if tight && difference > 2.0 * unit * y.error + 1e-37 {
                    failures.push(format!(
                        "{}, case {case}, output {k}: {} is {difference:e} off, bound {:e}",
                        e.name,
                        y.value,
                        unit * y.error
                    ));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} beyond their bounds:\n{}", failures.len(), failures.join("\n"));
    assert!(loose * 10 <= results, "{loose} of {results} have bounds that say little");
}

#[test]
fn the_gpu_computes_what_the_cpu_computes() {
    let Some(gpu) = chromaflow_testkit::available("gpu", Gpu::open(0)) else { return };
    let stream = gpu.stream().unwrap();
    let module = gpu.module(&KernelSource::new("pointwise_tests", test_source())).unwrap();
    let mut failures = Vec::new();
    for (entry, e) in ENTRIES.iter().enumerate() {
        let kernel = module.kernel(&format!("test_{}", e.name)).unwrap();
        let samples: Vec<Vec<f64>> = (0..CASES).map(|i| e.sample(i)).collect();
        let inputs: Vec<f64> = (0..e.signs.len()).flat_map(|k| samples.iter().map(move |x| x[k])).collect();
        let (mut worst, mut ulps) = (0.0f64, 0.0f64);
        for choice in 0..e.choices {
            let x = DeviceBuffer::from_slice(&stream, &inputs).unwrap();
            let y = DeviceBuffer::<f64>::zeroed(&stream, e.outputs * CASES).unwrap();
            let cases = kernel_arguments!(Cases { n: CASES as i32, choice: choice as i32, x: &x, y: &y });
            let launch = kernel.launch(CASES.div_ceil(128), 128).record(&cases);
            // SAFETY: the kernel takes (int, int, const double*, double*); the buffers hold its inputs and outputs for
            // CASES cases and are in use on this stream alone.
            unsafe { launch.enqueue(&stream) }.unwrap();
            let found = y.download().unwrap();
            for (i, sample) in samples.iter().enumerate() {
                let mut expected = vec![0.0; e.outputs];
                call(entry, choice, sample, &mut expected);
                for (k, bound) in bounds::<false>(entry, choice, sample).iter().enumerate() {
                    let (cpu, gpu) = (expected[k], found[k * CASES + i]);
                    // Either side may be off by the bound, and both may lose what is below the normal numbers.
                    let allowed = f64::EPSILON * bound.error + 1e-300;
                    if !allowed.is_finite() || (cpu.is_nan() && gpu.is_nan()) {
                        continue;
                    }
                    let difference = (cpu - gpu).abs();
                    worst = worst.max(difference / allowed);
                    ulps = ulps.max(difference / (f64::EPSILON * cpu.abs().max(1.0)));
                    if difference.is_nan() || difference > allowed {
                        let text = format!("{}, case {i}, output {k}: CPU {cpu:e}, GPU {gpu:e}", e.name);
                        failures.push(format!("{text}, allowed {allowed:e}"));
                    }
                }
            }
        }
        println!("{}: at most {worst:.2} of the bound, {ulps:.1} roundoffs of max(1, |y|)", e.name);
    }
    assert!(failures.is_empty(), "{} differ; the first: {}", failures.len(), failures[0]);
}
