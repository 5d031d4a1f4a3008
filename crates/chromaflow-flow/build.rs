//! Emits the pointwise physics as CUDA C++, see the crate's module `pointwise`.

use chromaflow_pointwise::{Source, emit};
use std::{env, fs, path::Path, process::exit};

/// The files that keep to the subset, and the modules through which their public functions are reached.
const FILES: [(&str, &str); 40] = [
    ("src/gas/state.rs", "crate::gas"),
    ("src/flux/euler.rs", "crate::flux"),
    ("src/flux/layers.rs", "crate::flux"),
    ("src/flux/shocks.rs", "crate::flux"),
    ("src/flux/energy.rs", "crate::flux"),
    ("src/flux/roe.rs", "crate::flux"),
    ("src/flux/central.rs", "crate::flux"),
    ("src/flux/positive.rs", "crate::flux"),
    ("src/flux/hllc.rs", "crate::flux"),
    ("src/flux/van_leer.rs", "crate::flux"),
    ("src/dual/image.rs", "crate::dual"),
    ("src/bc/mod.rs", "crate::bc"),
    ("src/bc/extrapolation.rs", "crate::bc"),
    ("src/bc/farfield.rs", "crate::bc"),
    ("src/bc/inlet.rs", "crate::bc"),
    ("src/bc/outlet.rs", "crate::bc"),
    ("src/bc/mass_flow_outlet.rs", "crate::bc"),
    ("src/bc/moving_wall.rs", "crate::bc"),
    ("src/bc/velocity_inlet.rs", "crate::bc"),
    ("src/bc/slip_wall.rs", "crate::bc"),
    ("src/bc/symmetry.rs", "crate::bc"),
    ("src/bc/no_slip.rs", "crate::bc"),
    ("src/bc/condition.rs", "crate::bc"),
    ("src/wall_law/formulas.rs", "crate::wall_law"),
    ("src/limiter/limiters.rs", "crate::limiter"),
    ("src/limiter/umuscl.rs", "crate::limiter"),
    ("src/limiter/faces.rs", "crate::limiter"),
    ("src/equations/perfect_gas/share.rs", "crate::equations::perfect_gas"),
    ("src/coupled/transport.rs", "crate::coupled"),
    ("src/coupled/tight/formulas.rs", "crate::coupled"),
    ("src/equations/artificial_compressibility/flux.rs", "crate::equations::artificial_compressibility"),
    ("src/equations/artificial_compressibility/ghost.rs", "crate::equations::artificial_compressibility"),
    ("src/equations/perfect_gas/ghost_states.rs", "crate::equations::perfect_gas"),
    ("src/structured/lax_wendroff/pointwise.rs", "crate::structured::lax_wendroff"),
    ("src/structured/waves.rs", "crate::structured"),
    ("src/turbulence/hybrid/formulas.rs", "crate::turbulence::hybrid"),
    ("src/turbulence/k_omega/formulas.rs", "crate::turbulence::k_omega"),
    ("src/turbulence/spalart_allmaras/formulas.rs", "crate::turbulence::spalart_allmaras"),
    ("src/viscous/stress.rs", "crate::viscous"),
    ("src/viscous/green_gauss.rs", "crate::viscous"),
];

fn main() {
    let texts: Vec<String> = FILES
        .iter()
        .map(|(path, _)| {
            println!("cargo::rerun-if-changed={path}");
            fs::read_to_string(path).unwrap_or_else(|e| panic!("{path}: {e}"))
        })
        .collect();
    let sources: Vec<Source<'_>> =
        FILES.iter().zip(&texts).map(|(&(path, module), text)| Source { path, module, text }).collect();
    let output = emit(&sources).unwrap_or_else(|e| {
        println!("cargo::error=outside the pointwise subset: crates/chromaflow-flow/{e}");
        exit(1)
    });
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    for (name, text) in [
        ("pointwise.cuh", &output.cuda),
        ("pointwise_tests.cu", &output.test_kernels),
        ("pointwise_entries.rs", &output.rust_entries),
    ] {
        fs::write(Path::new(&out).join(name), text).unwrap_or_else(|e| panic!("{out}/{name}: {e}"));
    }
}
