//! What was measured, beside what the model says: as Markdown and JSON.

use super::ExchangeWord;
use super::measure::{Measured, Setting};
use super::model::{Divided, Link, Single};
use crate::run::Prepared;
use chromaflow::Policy;
use chromaflow::dist::SweepExchange;
use chromaflow::solver::{Method, PreconditionerKind};
use chromaflow_flow::config::Nonlinear;
use serde_json::{Value, json};
use std::fmt;

/// Whether a fixed number of sweeps solves the linear systems, all of which are of the flow.
pub fn sweeps_alone(prepared: &Prepared) -> bool {
    let implicit = &prepared.config.implicit;
    implicit.method == Method::Richardson
        && implicit.preconditioner == PreconditionerKind::Multicolor
        && implicit.nonlinear == Nonlinear::DefectCorrection
        && prepared.config.turbulence.is_none()
}

/// A case, or cases that grow with their ranks, in a policy on several numbers of ranks.
pub struct Table {
    name: String,
    method: String,
    policy: Policy,
    rows: Vec<Row>,
    /// What the model takes for a message, where it is not the default of the path.
    link: Option<Link>,
}

struct Row {
    measured: Measured,
    /// Nodes a second over those of one rank,
    speedup: Option<f64>,
    /// and that over the GPUs or cores that it has more than the one rank.
    efficiency: Option<f64>,
    /// Seconds an iteration by the model.
    predicted: Option<f64>,
    /// Part of the time that exchanges within solves cost, beside the same without them.
    exchanges: Option<f64>,
}

impl Table {
    pub fn new(prepared: &Prepared, policy: Policy, measured: Vec<Measured>, link: Option<Link>) -> Self {
        let implicit = &prepared.config.implicit;
        let sweeps_alone = sweeps_alone(prepared);
        let one = measured.iter().find(|m| m.setting.ranks == 1);
        let single = one.filter(|_| sweeps_alone).map(|m| Single {
            rows: m.nodes as f64,
            seconds: m.median(),
            sweeps_seconds: m.linear()[1].min(m.median()),
            sweeps: implicit.sweeps as f64,
            colors: m.colors as f64,
            row_bytes: 5.0 * policy.x_bytes() as f64,
            on_gpu: m.setting.on_gpus,
        });
        let base = one.map(|m| (m.median() / m.nodes as f64, m.machines()));
        let apart: Vec<(usize, usize, f64)> = measured
            .iter()
            .filter(|m| m.setting.exchange == SweepExchange::EverySolve)
            .map(|m| (m.setting.ranks, m.nodes, m.median()))
            .collect();
        let row = |measured: Measured| {
            let sent = measured.reports.iter().map(|r| r.sent).max().unwrap_or(0);
            let machines = base.map_or(1.0, |(_, machines)| measured.machines() / machines);
            let speedup = base.map(|(seconds, _)| seconds * measured.nodes as f64 / measured.median());
            let divided = Divided {
                rows: measured.nodes as f64,
                ranks: measured.setting.ranks as f64,
                machines,
                balance: measured.balance,
                sent: sent as f64,
                neighbors: measured.reports.iter().map(|r| r.neighbors).max().unwrap_or(0) as f64,
                exchange: measured.setting.exchange,
            };
            let of_path = Link::of(measured.path.as_deref());
            let link = link.map_or(of_path, |given| Link {
                latency: given.latency,
                bandwidth: given.bandwidth,
                ..of_path
            });
            let Setting { ranks, exchange, .. } = measured.setting;
            let without = apart.iter().find(|&&(r, n, _)| (r, n) == (ranks, measured.nodes));
            let without = without.filter(|_| ranks > 1 && exchange != SweepExchange::EverySolve);
            Row {
                speedup,
                efficiency: speedup.map(|s| s / machines),
                predicted: single.map(|single| single.predict(&divided, &link)),
                exchanges: without.map(|(_, _, seconds)| 1.0 - seconds / measured.median()),
                measured,
            }
        };
        let method = match (implicit.nonlinear, implicit.method) {
            (Nonlinear::NewtonKrylov(_), _) => format!("Newton-Krylov around {}", implicit.preconditioner),
            (_, Method::Richardson) => format!("{} sweeps of {}", implicit.sweeps, implicit.preconditioner),
            (_, method) => format!("{method} around {}", implicit.preconditioner),
        };
        let mut names: Vec<&str> = measured.iter().map(|m| &m.case[..]).collect();
        names.dedup();
        let name = names.join(", ");
        Self { name, method, policy, rows: measured.into_iter().map(row).collect(), link }
    }

    /// Rows of the first system, where all have as many.
    fn nodes(&self) -> Option<usize> {
        let first = self.rows[0].measured.nodes;
        self.rows.iter().all(|row| row.measured.nodes == first).then_some(first)
    }

    /// Relative difference of a row's last residual from that of the first, where they are of one system.
    fn difference(&self, row: &Row) -> Option<f64> {
        self.nodes()?;
        let first = self.rows[0].measured.residual;
        Some((row.measured.residual - first).abs() / first.abs().max(f64::MIN_POSITIVE))
    }

    pub fn json(&self) -> Value {
        let range = |[least, mean, most]: [f64; 3]| json!({ "min": least, "mean": mean, "max": most });
        let of = |row: &Row| {
            let m = &row.measured;
            json!({
                "case": m.case,
                "nodes": m.nodes,
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
                "exchanges_share": row.exchanges,
                "sweep_s": m.sweep.map(range),
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
            "case": self.name, "nodes": self.nodes(), "method": self.method, "policy": self.policy.name(),
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
        let nodes = self.nodes().map_or_else(String::new, |nodes| format!("{nodes} nodes, "));
        writeln!(
            f,
            "**{}**: {nodes}{}, {colors} colors, policy {}; {}, {} iterations each\n",
            self.name,
            self.method,
            self.policy,
            first.device,
            first.seconds.len()
        )?;
        let grows = self.nodes().is_none();
        let [alone, apart] = [
            self.rows.iter().any(|row| row.measured.sweep.is_some()),
            self.rows.iter().any(|row| row.exchanges.is_some()),
        ];
        let mut heads = vec![who];
        if grows {
            heads.push("nodes");
        }
        heads.extend(["exchange", "ms an iteration", "p10 .. p90", "speed-up", "efficiency", "model, ms"]);
        heads.extend(["measured / model", "linear solver, ms", "exchanges and sums, ms", "own work, ms"]);
        heads.extend(["balance", "residual off by"]);
        if alone {
            heads.push("a sweep, us");
        }
        if apart {
            heads.push("exchanges within solves");
        }
        writeln!(f, "| {} |\n|{}", heads.join(" | "), "---|".repeat(heads.len()))?;
        let ms = |s: f64| format!("{:.3}", 1e3 * s);
        let range = |several: bool, [least, mean, most]: [f64; 3]| {
            if several { format!("{} / {} / {}", ms(least), ms(mean), ms(most)) } else { ms(mean) }
        };
        let percent = |part: f64| format!("{:.0} %", 100.0 * part);
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
            let mut cells = vec![ranks];
            if grows {
                cells.push(m.nodes.to_string());
            }
            cells.extend([
                exchange,
                ms(m.median()),
                format!("{} .. {}", ms(m.quantile(0.1)), ms(m.quantile(0.9))),
                or(row.speedup.map(|s| format!("{s:.2}"))),
                or(row.efficiency.map(percent)),
                or(row.predicted.map(ms)),
                or(row.predicted.map(|p| format!("{:.2}", m.median() / p))),
                range(several, m.linear()),
                range(several, m.halo()),
                range(several, m.work()),
                format!("{:.3}", m.balance),
                or(self.difference(row).map(|d| format!("{d:.1e}"))),
            ]);
            if alone {
                cells.push(or(m.sweep.map(|s| format!("{:.1}", 1e6 * s[2]))));
            }
            if apart {
                cells.push(or(row.exchanges.map(percent)));
            }
            writeln!(f, "| {} |", cells.join(" | "))?;
        }
        writeln!(f, "\nThree numbers are the least, the mean and the most of all ranks.")
    }
}
