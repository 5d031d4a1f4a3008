//! The emitted C++ against the Rust functions it comes from.
//!
//! The text is compiled by the host's C++ compiler, without contraction into fused operations, and must give the same
//! bits. On a GPU, whose compiler contracts, the same kernels are compared to a few units in the last place.

use chromaflow_flow::pointwise::{ENTRIES, call, test_source};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

const CASES: usize = 100;

/// What CUDA has of itself.
const SHIM: &str = "
#include <cmath>
#include <cstdio>
#include <vector>
using std::sqrt; using std::fabs; using std::exp; using std::log; using std::atan; using std::pow;
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float rsqrtf(float x) { return 1.0f / sqrt(x); }
#define __device__
#define __global__
#define __forceinline__ inline
struct Index { int x; };
static Index blockIdx, threadIdx, blockDim;
";

/// Reads the inputs of all entries, case by case in the kernels' layout, and writes the outputs.
fn main_function() -> String {
    let mut out =
        format!("int main() {{ const int n = {CASES}; std::vector<double> in, out; blockDim.x = 1;\n");
    for e in ENTRIES {
        let (inputs, outputs) = (e.signs.len(), e.outputs);
        let _ = writeln!(
            out,
            "for (int choice = 0; choice < {}; ++choice) {{ in.resize({inputs} * n); out.resize({outputs} * n);\n\
             if (fread(in.data(), 8, in.size(), stdin) != in.size()) return 1;\n\
             for (int i = 0; i < n; ++i) {{ blockIdx.x = i; test_{}(n, choice, in.data(), out.data()); }}\n\
             fwrite(out.data(), 8, out.size(), stdout); }}",
            e.choices, e.name
        );
    }
    out.push_str("return 0; }\n");
    out
}

#[test]
fn the_emitted_text_computes_the_same_bits() {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    if Command::new(&compiler).arg("--version").output().is_err() {
        chromaflow_testkit::skip("cxx", &format!("no C++ compiler (`{compiler}`) is there"));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (text, program) = (folder.path().join("emitted.cpp"), folder.path().join("emitted"));
    std::fs::write(&text, format!("{SHIM}{}{}", test_source(), main_function())).unwrap();
    let built = Command::new(&compiler)
        .args(["-std=c++17", "-O1", "-ffp-contract=off", "-w", "-o"])
        .args([&program, &text])
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));

    // Inputs and expected outputs, input k of case i at k * CASES + i.
    let (mut inputs, mut expected) = (Vec::new(), Vec::new());
    for (entry, e) in ENTRIES.iter().enumerate() {
        for choice in 0..e.choices {
            let samples: Vec<Vec<f64>> = (0..CASES).map(|i| e.sample(i)).collect();
            let results: Vec<Vec<f64>> = samples
                .iter()
                .map(|x| {
                    let mut y = vec![0.0; e.outputs];
                    call(entry, choice, x, &mut y);
                    y
                })
                .collect();
            for k in 0..e.signs.len() {
                inputs.extend(samples.iter().flat_map(|x| x[k].to_ne_bytes()));
            }
            for k in 0..e.outputs {
                expected.extend(results.iter().enumerate().map(|(i, y)| (e.name, i, k, y[k])));
            }
        }
    }
    let mut child = Command::new(&program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&inputs));
    let found = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(found.status.success());
    assert_eq!(found.stdout.len(), 8 * expected.len());
    for ((name, case, output, rust), bytes) in expected.iter().zip(found.stdout.chunks_exact(8)) {
        let cpp = f64::from_ne_bytes(bytes.try_into().unwrap());
        let same = rust.to_bits() == cpp.to_bits() || (rust.is_nan() && cpp.is_nan());
        assert!(same, "{name}, case {case}, output {output}: Rust {rust:e}, C++ {cpp:e}");
    }
}
