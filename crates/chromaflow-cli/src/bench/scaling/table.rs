//! What was measured, beside what the model says: as Markdown and JSON.

use super::ExchangeWord;
use super::measure::Measured;
use super::model::{Divided, Link, Single};
use crate::run::Prepared;
use chromaflow::Policy;
use chromaflow::solver::{Method, PreconditionerKind};
use chromaflow_flow::config::Nonlinear;
use serde_json::{Value, json};
use std::fmt;

/// A case in a policy on several numbers of ranks.
pub struct Table {
    name: String,
    nodes: usize,
    method: String,
    policy: Policy,
    rows: Vec<Row>,
    /// What the model takes for a message, where it is not the default of the path.
    link: Option<Link>,
}

struct Row {
    measured: Measured,
    /// One rank's time over this one's,
    speedup: Option<f64>,
    /// and that over the GPUs or cores that it has more than the one rank.
    efficiency: Option<f64>,
    /// Seconds an iteration by the model.
    predicted: Option<f64>,
}

impl Table {
    pub fn new(prepared: &Prepared, policy: Policy, measured: Vec<Measured>, link: Option<Link>) -> Self {
        let implicit = &prepared.config.implicit;
        let sweeps_alone = implicit.method == Method::Richardson
            && implicit.preconditioner == PreconditionerKind::Multicolor
            && implicit.nonlinear == Nonlinear::DefectCorrection
            && prepared.config.turbulence.is_none();
        let one = measured.iter().find(|m| m.setting.ranks == 1);
        let nodes = prepared.mesh.planar.map_or(prepared.mesh.nodes.len(), |planar| planar.nodes_2d);
        let single = one.filter(|_| sweeps_alone).map(|m| Single {
            rows: nodes as f64,
            seconds: m.median(),
            sweeps_seconds: m.linear()[1].min(m.median()),
            sweeps: implicit.sweeps as f64,
            colors: m.colors as f64,
            row_bytes: 5.0 * policy.x_bytes() as f64,
            on_gpu: m.setting.on_gpus,
        });
        let base = one.map(|m| (m.median(), m.machines()));
        let row = |measured: Measured| {
            let sent = measured.reports.iter().map(|r| r.sent).max().unwrap_or(0);
            let machines = base.map_or(1.0, |(_, machines)| measured.machines() / machines);
            let speedup = base.map(|(seconds, _)| seconds / measured.median());
            let divided = Divided {
                ranks: measured.setting.ranks as f64,
                machines,
                balance: measured.balance,
                sent: sent as f64,
                exchange: measured.setting.exchange,
            };
            let of_path = Link::of(measured.path.as_deref());
            let link = link.map_or(of_path, |given| Link { launch: of_path.launch, ..given });
            Row {
                speedup,
                efficiency: speedup.map(|s| s / machines),
                predicted: single.map(|single| single.predict(&divided, &link)),
                measured,
            }
        };
        let method = match (implicit.nonlinear, implicit.method) {
            (Nonlinear::NewtonKrylov(_), _) => format!("Newton-Krylov around {}", implicit.preconditioner),
            (_, Method::Richardson) => format!("{} sweeps of {}", implicit.sweeps, implicit.preconditioner),
            (_, method) => format!("{method} around {}", implicit.preconditioner),
        };
        let name = prepared.source.path.file_stem().and_then(|n| n.to_str()).unwrap_or("case").to_owned();
        Self { name, nodes, method, policy, rows: measured.into_iter().map(row).collect(), link }
    }

    /// Relative difference of a row's last residual from that of the first.
    fn difference(&self, row: &Row) -> f64 {
        let first = self.rows[0].measured.residual;
        (row.measured.residual - first).abs() / first.abs().max(f64::MIN_POSITIVE)
    }

    pub fn json(&self) -> Value {
        let range = |[least, mean, most]: [f64; 3]| json!({ "min": least, "mean": mean, "max": most });
        let of = |row: &Row| {
            let m = &row.measured;
            json!({
                "ranks": m.setting.ranks,
                "gpus": if m.setting.on_gpus { m.setting.ranks } else { 0 },
                "threads": m.threads,
                "device": m.device,
                "exchange": ExchangeWord::name(m.setting.exchange),
                "halo": m.path,
                "iterations": m.seconds.len(),
                "rejected": m.rejected,
                "median_s": m.median(),
                "p10_s": m.quantile(0.1),
                "p90_s": m.quantile(0.9),
                "speedup": row.speedup,
                "efficiency": row.efficiency,
                "predicted_s": row.predicted,
                "linear_s": range(m.linear()),
                "halo_s": range(m.halo()),
                "work_s": range(m.work()),
                "balance": m.balance,
                "colors": m.colors,
                "setup_s": m.setup,
                "setup": seconds(&m.stages),
                "residual": m.residual,
                "residual_difference": self.difference(row),
                "parts": m.reports.iter().map(|r| json!({
                    "rows": r.rows, "blocks": r.blocks, "sent_rows": r.sent, "neighbors": r.neighbors,
                    "halo_s": r.halo, "total_s": r.times.total,
                    "components": seconds(&r.times.components()),
                })).collect::<Vec<_>>(),
            })
        };
        json!({
            "case": self.name, "nodes": self.nodes, "method": self.method, "policy": self.policy.name(),
            "link": self.link.map(|l| json!({ "latency_us": l.latency, "gb_per_s": l.bandwidth })),
            "rows": self.rows.iter().map(of).collect::<Vec<_>>(),
        })
    }
}

fn seconds(all: &[(&'static str, f64)]) -> Value {
    Value::Object(all.iter().map(|&(name, s)| (name.to_owned(), json!(s))).collect())
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = &self.rows[0].measured;
        let on_gpus = first.setting.on_gpus;
        let who = if on_gpus { "GPUs" } else { "ranks x threads" };
        let colors = first.colors;
        writeln!(
            f,
            "**{}**: {} nodes, {}, {colors} colors, policy {}; {}, {} iterations each\n",
            self.name,
            self.nodes,
            self.method,
            self.policy,
            first.device,
            first.seconds.len()
        )?;
        writeln!(
            f,
            "| {who} | exchange | ms an iteration | p10 .. p90 | speed-up | efficiency | model, ms | measured / model | linear solver, ms \
             | exchanges and sums, ms | own work, ms | balance | residual off by |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|---|---|---|---|---|---|---|")?;
        let ms = |s: f64| format!("{:.3}", 1e3 * s);
        let range = |several: bool, [least, mean, most]: [f64; 3]| {
            if several { format!("{} / {} / {}", ms(least), ms(mean), ms(most)) } else { ms(mean) }
        };
        let or = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
        for row in &self.rows {
            let m = &row.measured;
            let several = m.setting.ranks > 1;
            let ranks = if on_gpus {
                m.setting.ranks.to_string()
            } else {
                format!("{} x {}", m.setting.ranks, m.threads)
            };
            let exchange = match &m.path {
                _ if !several => "-".to_owned(),
                Some(path) => {
                    let path = path.split(" (").next().unwrap_or(path);
                    format!("{}, {path}", ExchangeWord::name(m.setting.exchange))
                }
                None => ExchangeWord::name(m.setting.exchange).to_owned(),
            };
            writeln!(
                f,
                "| {ranks} | {exchange} | {} | {} .. {} | {} | {} | {} | {} | {} | {} | {} | {:.3} | {:.1e} |",
                ms(m.median()),
                ms(m.quantile(0.1)),
                ms(m.quantile(0.9)),
                or(row.speedup.map(|s| format!("{s:.2}"))),
                or(row.efficiency.map(|e| format!("{:.0} %", 100.0 * e))),
                or(row.predicted.map(ms)),
                or(row.predicted.map(|p| format!("{:.2}", m.median() / p))),
                range(several, m.linear()),
                range(several, m.halo()),
                range(several, m.work()),
                m.balance,
                self.difference(row)
            )?;
        }
        writeln!(f, "\nThree numbers are the least, the mean and the most of all ranks.")
    }
}
