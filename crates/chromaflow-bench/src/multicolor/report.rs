//! Tables of measurements.

use super::measure::{Measured, Problem};
use super::published::{Published, published, theory, theory_of_the_paper};
use crate::figures::Figures;
use chromaflow::gpu::Storage;
use chromaflow_cli::plot::Picture;
use chromaflow_device::cuda::GpuFacts;
use serde_json::{Value, json};
use std::fmt::Write;

/// Bandwidths of the machine in GB/s, measured in the same run.
#[derive(Clone, Copy, Debug)]
pub struct Ceilings {
    /// Device-to-device copy, bytes read and written.
    pub copy: f64,
    /// A kernel that only reads.
    pub read: f64,
}

/// One matrix and block size.
pub struct Entry {
    /// What the matrix is.
    pub matrix: String,
    pub rows: usize,
    blocks: usize,
    colors: usize,
    pub nb: usize,
    /// Milliseconds a sweep of the library engine: on a stream, as a graph; its difference from the reference.
    library: Option<(f64, Option<f64>, f64)>,
    ours: Vec<Measured>,
    paper: Option<Published>,
}

impl Entry {
    pub fn new(
        matrix: &str,
        problem: &Problem,
        nb: usize,
        library: Option<(f64, Option<f64>, f64)>,
        ours: Vec<Measured>,
    ) -> Self {
        let rows = problem.pattern.rows();
        Self {
            matrix: matrix.to_owned(),
            rows,
            blocks: problem.pattern.nnzb(),
            colors: problem.batches.len(),
            nb,
            library,
            ours,
            paper: published(rows, nb),
        }
    }

    pub fn of(&self, storage: Storage) -> Option<&Measured> {
        self.ours.iter().find(|m| m.storage == storage)
    }

    /// The library's better time.
    pub fn library_ms(&self) -> Option<f64> {
        self.library.map(|(stream, graph, _)| graph.map_or(stream, |g| g.min(stream)))
    }

    pub fn line(&self) -> String {
        let mut line = format!("nb {:3}", self.nb);
        if let Some((stream, graph, _)) = self.library {
            let _ = write!(line, "  library {stream:.4} ms");
            if let Some(graph) = graph {
                let _ = write!(line, " (graph {graph:.4})");
            }
        }
        for m in &self.ours {
            let _ = write!(
                line,
                "  {} {:.2} us {:.0} GB/s (solve {:.2}, convert {:.0}, invert {:.0} us; error {:.1e})",
                m.storage.name(),
                m.sweep_ms * 1e3,
                m.rate(),
                m.solve_ms * 1e3,
                m.convert_ms * 1e3,
                m.invert_ms * 1e3,
                m.error
            );
        }
        line
    }
}

/// All measurements of a run.
pub struct Report {
    facts: GpuFacts,
    pub ceilings: Ceilings,
    pub entries: Vec<Entry>,
    /// Figures of the mixed-precision paper.
    pub figures: Figures,
}

impl Report {
    pub fn new(facts: GpuFacts, ceilings: Ceilings) -> Self {
        Self { facts, ceilings, entries: Vec::new(), figures: Figures::default() }
    }

    /// Adds a figure.
    pub fn add(&mut self, name: &'static str, table: String, numbers: Value, picture: Picture) {
        self.figures.add(name, table, numbers);
        self.figures.pictures.push((name, picture));
    }

    /// The tables.
    pub fn markdown(&self) -> String {
        let (f, c) = (&self.facts, &self.ceilings);
        let mut text = format!(
            "# Multicolor sweeps on {}\n\nDriver for CUDA {}.{}, {} multiprocessors. Copy bandwidth {:.0} GB/s (read + write), read \
             bandwidth {:.0} GB/s, both measured in this run. Times are medians by device events of graphs of 15 sweeps, per sweep; every \
             kernel was compared with an f64 reference on the device first. GB/s and % of copy over the least bytes a sweep must \
             move. Library: cusparseSbsrmv + cublasStrsmBatched per color, all f32 (CSR SpMV at nb 1), on a stream and as a graph; \
             the ratio is to the better of the two.\n",
            f.name, f.driver.0, f.driver.1, f.multiprocessors, c.copy, c.read
        );
        let mut last = "";
        for e in &self.entries {
            if e.matrix != last {
                let _ = write!(
                    text,
                    "\n## {}: n = {}, {} off-diagonal blocks, {} colors\n\n| nb | library ms | as graph | ds us | GB/s | % copy | \
                     library / ds | dsh us | GB/s | % copy | ds / dsh | by bytes | paper's theory | paper library ms | paper optimized ms (K40) |\n\
                     |---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
                    e.matrix, e.rows, e.blocks, e.colors
                );
                last = &e.matrix;
            }
            let _ = writeln!(text, "{}", self.row(e));
        }
        text + &self.figures.markdown()
    }

    fn row(&self, e: &Entry) -> String {
        let dash = || "-".to_owned();
        let number = |v: Option<f64>, digits: usize| v.map_or_else(dash, |v| format!("{v:.digits$}"));
        let (ds, dsh) = (e.of(Storage::F32), e.of(Storage::F16));
        let percent = |m: Option<&Measured>| m.map(|m| 100.0 * m.rate() / self.ceilings.copy);
        let ratio = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a / b);
        let (ds_ms, dsh_ms) = (ds.map(|m| m.sweep_ms), dsh.map(|m| m.sweep_ms));
        let cells = [
            e.nb.to_string(),
            number(e.library.map(|l| l.0), 4),
            number(e.library.and_then(|l| l.1), 4),
            number(ds_ms.map(|v| v * 1e3), 1),
            number(ds.map(Measured::rate), 0),
            number(percent(ds), 0),
            number(ratio(e.library_ms(), ds_ms), 1),
            number(dsh_ms.map(|v| v * 1e3), 1),
            number(dsh.map(Measured::rate), 0),
            number(percent(dsh), 0),
            number(ratio(ds_ms, dsh_ms), 2),
            format!("{:.2}", theory(e.nb as f64, e.blocks as f64 / e.rows as f64)),
            format!("{:.2}", theory_of_the_paper(e.nb as f64, e.blocks as f64 / e.rows as f64)),
            number(e.paper.as_ref().map(|p| p.library_ms), 1),
            number(e.paper.as_ref().map(|p| p.optimized_ms), 1),
        ];
        format!("| {} |", cells.join(" | "))
    }

    /// Everything, for programs.
    pub fn json(&self) -> Value {
        let entry = |e: &Entry| {
            let ours: Vec<Value> = e
                .ours
                .iter()
                .map(|m| {
                    json!({
                        "policy": m.storage.name(), "sweep_ms": m.sweep_ms, "gb_per_s": m.rate(), "bytes": m.bytes,
                        "flops": m.flops, "percent_of_copy": 100.0 * m.rate() / self.ceilings.copy, "relative_error": m.error,
                        "solve_ms_per_sweep": m.solve_ms, "convert_ms": m.convert_ms, "invert_ms": m.invert_ms,
                        "tile": format!("{:?}", m.tile),
                    })
                })
                .collect();
            json!({
                "matrix": e.matrix, "rows": e.rows, "blocks": e.blocks, "colors": e.colors, "nb": e.nb, "ours": ours,
                "library_ms": e.library.map(|l| l.0), "library_graph_ms": e.library.and_then(|l| l.1),
                "library_relative_error": e.library.map(|l| l.2),
                "paper_library_ms": e.paper.as_ref().map(|p| p.library_ms),
                "paper_optimized_ms": e.paper.as_ref().map(|p| p.optimized_ms),
            })
        };
        json!({
            "device": self.facts.name, "multiprocessors": self.facts.multiprocessors,
            "driver": format!("{}.{}", self.facts.driver.0, self.facts.driver.1),
            "copy_gb_per_s": self.ceilings.copy, "read_gb_per_s": self.ceilings.read,
            "entries": self.entries.iter().map(entry).collect::<Vec<_>>(),
            "figures": self.figures.json(),
        })
    }
}
