//! Pictures of measurements: time over block size, the roofline, and the speedup of `dsh`.

use super::measure::Measured;
use super::published::theory_of_the_paper;
use super::report::{Ceilings, Entry};
use chromaflow::gpu::Storage;
use chromaflow_cli::plot::{Picture, Series};

fn line(name: &'static str, points: Vec<(f64, f64)>) -> Series {
    Series { name: name.into(), points, line: true }
}

fn dots(name: &'static str, points: Vec<(f64, f64)>) -> Series {
    Series { name: name.into(), points, line: false }
}

/// Microseconds a sweep over the block size, for one matrix.
pub fn time(entries: &[&Entry], ceilings: &Ceilings) -> Picture {
    let of = |f: &dyn Fn(&Entry) -> Option<f64>| -> Vec<(f64, f64)> {
        entries.iter().filter_map(|e| Some((e.nb as f64, f(e)?))).collect()
    };
    let us = |storage| of(&move |e: &Entry| e.of(storage).map(|m: &Measured| 1e3 * m.sweep_ms));
    let floor = of(&|e| e.of(Storage::F32).map(|m| m.bytes as f64 / ceilings.copy * 1e-3));
    let mut series = vec![
        line("ds", us(Storage::F32)),
        line("library", of(&|e| e.library_ms().map(|ms| 1e3 * ms))),
        line("dsh", us(Storage::F16)),
        line("bytes of ds at the speed of a copy", floor),
    ];
    series.retain(|s| !s.points.is_empty());
    let title = entries.first().map_or_else(String::new, |e| format!("A multicolor sweep, {} rows", e.rows));
    Picture { title, x: "block size", y: "microseconds", log: [false, true], series }
}

/// Operations a second over operations a byte.
pub fn roofline(entries: &[&Entry], ceilings: &Ceilings) -> Picture {
    let points = |storage| -> Vec<(f64, f64)> {
        entries.iter().filter_map(|e| e.of(storage).map(Measured::roofline)).collect()
    };
    // What the library does, over the bytes of `ds`: it moves no fewer.
    let library = entries.iter().filter_map(|e| {
        let (m, ms) = (e.of(Storage::F32)?, e.library_ms()?);
        Some((m.roofline().0, m.flops as f64 / ms * 1e-6))
    });
    let (ds, dsh, library) = (points(Storage::F32), points(Storage::F16), library.collect::<Vec<_>>());
    let at = ds.iter().chain(&dsh).map(|p| p.0);
    let (low, high) = at.fold((f64::INFINITY, 0.0f64), |(l, h), x| (l.min(x), h.max(x)));
    let roof = [low / 1.2, high * 1.2].map(|x| (x, x * ceilings.copy));
    let mut series = vec![
        dots("ds", ds),
        dots("library", library),
        dots("dsh", dsh),
        line("copy bandwidth", roof.to_vec()),
    ];
    series.retain(|s| !s.points.is_empty());
    let title =
        entries.first().map_or_else(String::new, |e| format!("Roofline of the sweeps, {} rows", e.rows));
    Picture { title, x: "operations a byte", y: "10^9 operations a second", log: [true, true], series }
}

/// Figure 3 of the mixed-precision paper: the speedup that bytes promise, and what was measured.
pub fn speedup(entries: &[&Entry]) -> Picture {
    let most = entries.iter().map(|e| e.nb).max().unwrap_or(10).max(10);
    let theory = |nnzr: f64| (1..=most).map(|nb| (nb as f64, theory_of_the_paper(nb as f64, nnzr))).collect();
    let measured = entries
        .iter()
        .filter_map(|e| Some((e.nb as f64, e.of(Storage::F32)?.sweep_ms / e.of(Storage::F16)?.sweep_ms)));
    Picture {
        title: "dsh over ds".to_owned(),
        x: "block size",
        y: "speedup",
        log: [false, false],
        series: vec![
            line("14 blocks a row, theory", theory(14.0)),
            dots("measured", measured.collect()),
            line("5 blocks a row, theory", theory(5.0)),
            line("without end, theory", theory(1e9)),
        ],
    }
}
