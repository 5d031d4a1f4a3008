//! What an iteration over ranks should take.
//!
//! From a measured iteration of one rank, split into its sweeps and the rest. With n rows on P times its GPU or its cores, the slowest rank
//! having m = balance n / P, C colors and S sweeps:
//! ```text
//! T(P) = S (sweep(m) + X) + more + rest(m)
//! sweep(m) = sweep(n) s(m) / s(n),   rest(m) = rest(n) r(m) / r(n)
//! X = C (launch + max(0, L + w / C - sweep(m) / C (1 - border)))     after each color, behind its interior rows
//!     C (launch + max(0, L + w / C - sweep(m) / C))                  one color late, behind a whole color
//!     launch + L + w                                                 once a sweep
//! more = 2 (L + state / bandwidth) + 2 reductions
//! ```
//! L is the latency of a message, w the time that the wire needs for what the slowest rank sends in a sweep, border the part of rows that
//! it sends. On CPUs s and r are proportional to m; a GPU needs many rows to be busy, and s and r are curves measured on one H200
//! (policy `ds`, blocks of 5).

use chromaflow::dist::SweepExchange;
use std::str::FromStr;

/// Seconds of a sweep on one H200 by rows, microseconds; beyond the last two as between them.
const SWEEP_US: [(f64, f64); 8] = [
    (6_309.0, 13.2),
    (14_872.0, 20.0),
    (25_000.0, 25.7),
    (103_178.0, 62.0),
    (204_983.0, 104.0),
    (394_745.0, 177.0),
    (800_322.0, 352.0),
    (983_633.0, 430.0),
];

/// The rest of an iteration there, microseconds.
const REST_US: [(f64, f64); 4] = [(0.0, 110.0), (14_872.0, 140.0), (99_972.0, 375.0), (786_448.0, 2_290.0)];

/// Microseconds of a sum over ranks: so many, and so many for each doubling of ranks.
const REDUCTION_US: [f64; 2] = [10.0, 4.0];

/// Bytes of a row's state that passes between two residuals: conserved variables, and the record of a node.
const STATE: f64 = 13.0 * 8.0;

/// Rows that pass with a state, two layers of elements, over those of a sweep, one layer of neighbors.
const LAYERS: f64 = 2.0;

/// What a message costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Microseconds until the first byte is there.
    pub latency: f64,
    /// GB/s of a rank in one direction.
    pub bandwidth: f64,
    /// Microseconds of one more launch of a kernel.
    pub launch: f64,
}

impl Link {
    /// Peer stores: 2.3 us and 370 GB/s above a kernel, NCCL in a graph 6.4 us, measured between two H200 (NVLink); a launch 1.1 us. Staged,
    /// and messages between threads: assumed.
    pub fn of(path: Option<&str>) -> Self {
        match path {
            Some(path) if path.starts_with("peer") => Self { latency: 2.3, bandwidth: 370.0, launch: 1.1 },
            Some(path) if path.starts_with("NCCL") => Self { latency: 6.4, bandwidth: 370.0, launch: 1.1 },
            Some(_) => Self { latency: 25.0, bandwidth: 20.0, launch: 1.1 },
            None => Self { latency: 5.0, bandwidth: 5.0, launch: 0.0 },
        }
    }
}

impl FromStr for Link {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || format!("`{text}` is no link: expected microseconds and GB/s, as 2.3,370");
        let (latency, bandwidth) = text.split_once(',').ok_or_else(expected)?;
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|v| v.is_finite() && *v >= 0.0);
        let (latency, bandwidth) =
            (number(latency).ok_or_else(expected)?, number(bandwidth).ok_or_else(expected)?);
        if bandwidth == 0.0 {
            return Err(expected());
        }
        Ok(Self { latency, bandwidth, launch: 0.0 })
    }
}

/// An iteration of multicolor sweeps on one rank.
#[derive(Clone, Copy, Debug)]
pub struct Single {
    /// Rows.
    pub rows: f64,
    /// Seconds of an iteration,
    pub seconds: f64,
    /// and of its sweeps.
    pub sweeps_seconds: f64,
    /// Sweeps, and colors of each.
    pub sweeps: f64,
    pub colors: f64,
    /// Bytes of a row's correction.
    pub row_bytes: f64,
    pub on_gpu: bool,
}

/// A division among ranks.
#[derive(Clone, Copy, Debug)]
pub struct Divided {
    pub ranks: f64,
    /// What all of them compute with, GPUs or cores, over what the one rank does.
    pub machines: f64,
    /// Most blocks of a rank over the mean.
    pub balance: f64,
    /// Most rows that a rank sends in a sweep.
    pub sent: f64,
    pub exchange: SweepExchange,
}

impl Single {
    /// Seconds of an iteration over ranks.
    pub fn predict(&self, over: &Divided, link: &Link) -> f64 {
        if over.ranks <= 1.0 {
            return self.seconds;
        }
        let us = 1e-6;
        let m = over.balance * self.rows / over.machines;
        let sweep = self.sweeps_seconds / self.sweeps * self.share(&SWEEP_US, m);
        let rest = (self.seconds - self.sweeps_seconds) * self.share(&REST_US, m);
        let (latency, launch, bytes) = (us * link.latency, us * link.launch, 1e9 * link.bandwidth);
        let (c, wire) = (self.colors, over.sent * self.row_bytes / bytes);
        let border = (over.sent / m).min(1.0);
        let hidden = |behind: f64| c * (launch + (latency + wire / c - behind).max(0.0));
        let exchange = match over.exchange {
            SweepExchange::EveryColor => hidden(sweep / c * (1.0 - border)),
            SweepExchange::ColorLate => hidden(sweep / c),
            SweepExchange::EverySweep => launch + latency + wire,
        };
        let reduction = us * (REDUCTION_US[0] + REDUCTION_US[1] * over.ranks.log2());
        let more = 2.0 * latency + LAYERS * over.sent * STATE / bytes + 2.0 * reduction;
        self.sweeps * (sweep + exchange) + more + rest
    }

    /// What m rows take over what all do.
    fn share(&self, curve: &[(f64, f64)], m: f64) -> f64 {
        if self.on_gpu { at(curve, m) / at(curve, self.rows) } else { m / self.rows }
    }
}

/// A piecewise linear curve; beyond its last point as before it, and the first value below its first.
fn at(curve: &[(f64, f64)], x: f64) -> f64 {
    if x <= curve[0].0 {
        return curve[0].1;
    }
    let piece = curve.windows(2).find(|w| x <= w[1].0).unwrap_or(&curve[curve.len() - 2..]);
    let [(a, fa), (b, fb)] = [piece[0], piece[1]];
    fa + (fb - fa) * (x - a) / (b - a)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SINGLE: Single = Single {
        rows: 1e6,
        seconds: 9.5e-3,
        sweeps_seconds: 6.6e-3,
        sweeps: 15.0,
        colors: 10.0,
        row_bytes: 20.0,
        on_gpu: true,
    };

    fn over(ranks: f64, exchange: SweepExchange) -> Divided {
        Divided {
            ranks,
            machines: ranks,
            balance: 1.03,
            sent: 1.5 * 1.3 * (1e6 / ranks).powf(2.0 / 3.0),
            exchange,
        }
    }

    /// By hand: two GPUs, each with 515,000 rows; a sweep 440 us at 1 M rows by the curve (436.96) becomes that of 515,000.
    #[test]
    fn two_gpus_of_a_million_rows() {
        let link = Link { latency: 2.3, bandwidth: 370.0, launch: 1.1 };
        let s = |m: f64| 177.0 + (352.0 - 177.0) * (m - 394_745.0) / (800_322.0 - 394_745.0);
        let all = 352.0 + (430.0 - 352.0) * (1e6 - 800_322.0) / (983_633.0 - 800_322.0);
        let r = |m: f64| 375.0 + (2_290.0 - 375.0) * (m - 99_972.0) / (786_448.0 - 99_972.0);
        let sweep = 440e-6 * s(515_000.0) / all;
        let rest = 2.9e-3 * r(515_000.0) / r(1e6);
        // A color lasts 24 us, a message 2.3 and 0.07: hidden.
        let sent = 1.5 * 1.3 * 500_000_f64.powf(2.0 / 3.0);
        let more = 2.0 * 2.3e-6 + 2.0 * sent * 104.0 / 370e9 + 2.0 * 14e-6;
        let expected = 15.0 * (sweep + 10.0 * 1.1e-6) + more + rest;
        let found = SINGLE.predict(&over(2.0, SweepExchange::EveryColor), &link);
        assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        assert!(SINGLE.predict(&over(1.0, SweepExchange::EveryColor), &link) == SINGLE.seconds);
    }

    /// A slow network shows in what is not hidden: each color, less of it one color late, once a sweep.
    #[test]
    fn less_exchange_waits_less() {
        let slow = Link { latency: 60.0, bandwidth: 45.0, launch: 1.1 };
        let [color, late, sweep] =
            [SweepExchange::EveryColor, SweepExchange::ColorLate, SweepExchange::EverySweep]
                .map(|exchange| SINGLE.predict(&over(8.0, exchange), &slow));
        assert!(color > late && late > sweep, "{color} {late} {sweep}");
        let cpu = Single { on_gpu: false, ..SINGLE };
        let free = Link { latency: 0.0, bandwidth: 1e30, launch: 0.0 };
        let even = Divided { balance: 1.0, ..over(8.0, SweepExchange::EveryColor) };
        let most = 1e-6 * 2.0 * 22.0;
        assert!((cpu.predict(&even, &free) - SINGLE.seconds / 8.0 - most).abs() < 1e-12);
    }

    #[test]
    fn links_are_read() {
        assert_eq!("2.3,370".parse(), Ok(Link { latency: 2.3, bandwidth: 370.0, launch: 0.0 }));
        for bad in ["2.3", "2.3,0", "x,1", "-1,3", "1,inf"] {
            assert!(bad.parse::<Link>().is_err(), "{bad}");
        }
    }
}
