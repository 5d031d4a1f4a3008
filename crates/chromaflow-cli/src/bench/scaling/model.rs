//! What an iteration over ranks should take.
//!
//! From a measured iteration of one rank, split into its sweeps and the rest. With n rows on P times its GPU or its cores, the slowest rank
//! having m = balance n / P, C colors, S sweeps and N neighbors:
//! ```text
//! T(P) = S (sweep(m) + X) + more + rest(m + ghosts)
//! sweep(m) = a sweep(n) s(m) / s(n),   rest(m) = rest(n) r(m) / r(n)
//! X = C (F + N E + max(0, L + w / C - sweep(m) / C (1 - border), least - sweep(m) / C))   after each color, behind its interior rows
//!     C (F + N E + max(0, L + w / C - sweep(m) / C))                                      one color late, behind a whole color
//!     F + N E + L + w                                                                     once a sweep; over S once a solve
//! more = 2 (L + state / bandwidth) + 2 reductions
//! ```
//! L is the latency of a message, w the time that the wire needs for what the slowest rank sends in a sweep, border the part of rows that
//! it sends, F what an exchange takes however early it begins, E what each neighbor adds to it, least the shortest time between two colors.
//! On CPUs s and r are proportional to m; a GPU needs many rows to be busy, and s and r are curves measured on H200
//! (policy `ds`, blocks of 5), a what parts take longer than a whole there (1 on CPUs).

use chromaflow::dist::SweepExchange;
use std::str::FromStr;

/// A sweep of 10 colors on one H200 by rows, microseconds, with the tile of the largest: that of a part is the whole system's. Beyond the last
/// two as between them.
const SWEEP_US: [(f64, f64); 10] = [
    (0.0, 16.0),
    (5_832.0, 20.7),
    (13_824.0, 27.6),
    (27_000.0, 32.3),
    (54_872.0, 50.2),
    (103_823.0, 77.8),
    (205_379.0, 117.1),
    (405_224.0, 190.4),
    (804_357.0, 361.4),
    (1_000_000.0, 453.0),
];

/// What a color more adds to it.
const COLOR_US: f64 = 3.8;

/// The rest of an iteration there, microseconds.
const REST_US: [(f64, f64); 10] = [
    (0.0, 166.0),
    (5_832.0, 179.0),
    (13_824.0, 197.0),
    (27_000.0, 237.0),
    (54_872.0, 318.0),
    (103_823.0, 480.0),
    (205_379.0, 764.0),
    (405_224.0, 1_318.0),
    (804_357.0, 2_538.0),
    (6_191_003.0, 19_500.0),
];

/// What sweeps over a part of a system take, of those over a whole one of as many rows: fitted, 1.02 to 1.12 without any exchange. Why was
/// not found out; a part has its border's rows as a set of their own and other rows next to one another in memory.
const APART: f64 = 1.06;

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
    /// Microseconds that an exchange takes however early it begins,
    pub fixed: f64,
    /// and that each neighbor adds.
    pub each: f64,
    /// Least microseconds between two colors.
    pub least: f64,
}

impl Link {
    /// Measured on H200 of one host (NVLink), `bench/scaling-h200.md`: peer stores within sweeps, by events and by NCCL between two, four and
    /// eight. Staged, and messages between threads: assumed.
    pub fn of(path: Option<&str>) -> Self {
        let link = Self { latency: 2.3, bandwidth: 370.0, fixed: 0.0, each: 0.0, least: 0.0 };
        match path {
            Some(path) if path.starts_with("peer stores within") => Self { each: 0.25, least: 5.2, ..link },
            Some(path) if path.starts_with("peer") => Self { fixed: 11.0, each: 4.0, ..link },
            Some(path) if path.starts_with("NCCL") => Self { fixed: 15.0, ..link },
            Some(_) => Self { latency: 25.0, bandwidth: 20.0, fixed: 8.0, ..link },
            None => Self { latency: 5.0, bandwidth: 5.0, ..link },
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
        Ok(Self { latency, bandwidth, fixed: 0.0, each: 0.0, least: 0.0 })
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
    /// Rows of the whole system.
    pub rows: f64,
    pub ranks: f64,
    /// What all of them compute with, GPUs or cores, over what the one rank does.
    pub machines: f64,
    /// Most blocks of a rank over the mean.
    pub balance: f64,
    /// Most rows that a rank sends in a sweep, and most neighbors of one.
    pub sent: f64,
    pub neighbors: f64,
    pub exchange: SweepExchange,
}

impl Single {
    /// Seconds of an iteration over ranks.
    pub fn predict(&self, over: &Divided, link: &Link) -> f64 {
        if over.ranks <= 1.0 && over.rows == self.rows {
            return self.seconds;
        }
        let us = 1e-6;
        let m = over.balance * over.rows / over.machines;
        let c = self.colors;
        let sweep_us = |m: f64| at(&SWEEP_US, m) + COLOR_US * (c - 10.0);
        let apart = if self.on_gpu { APART } else { 1.0 };
        let sweep = apart * self.sweeps_seconds / self.sweeps * self.share(sweep_us, m);
        let with_ghosts = m + if self.on_gpu { LAYERS * over.sent } else { 0.0 };
        let rest = (self.seconds - self.sweeps_seconds) * self.share(|m| at(&REST_US, m), with_ghosts);
        let (latency, bytes) = (us * link.latency, 1e9 * link.bandwidth);
        let fixed = us * (link.fixed + link.each * over.neighbors);
        let wire = over.sent * self.row_bytes / bytes;
        let border = (over.sent / m).min(1.0);
        let behind = |hidden: f64| (latency + wire / c - hidden).max(0.0);
        let exchange = match over.exchange {
            SweepExchange::EveryColor => {
                let waits = behind(sweep / c * (1.0 - border)).max(us * link.least - sweep / c);
                c * (fixed + waits)
            }
            SweepExchange::ColorLate => c * (fixed + behind(sweep / c)),
            SweepExchange::EverySweep => fixed + latency + wire,
            SweepExchange::EverySolve => (fixed + latency + wire) / self.sweeps,
        };
        let reduction = us * (REDUCTION_US[0] + REDUCTION_US[1] * over.ranks.log2());
        let more = 2.0 * latency + LAYERS * over.sent * STATE / bytes + 2.0 * reduction;
        self.sweeps * (sweep + exchange) + more + rest
    }

    /// What m rows take over what all do.
    fn share(&self, curve: impl Fn(f64) -> f64, m: f64) -> f64 {
        if self.on_gpu { curve(m) / curve(self.rows) } else { m / self.rows }
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
            rows: 1e6,
            ranks,
            machines: ranks,
            balance: 1.03,
            sent: 1.5 * 1.3 * (1e6 / ranks).powf(2.0 / 3.0),
            neighbors: 1.0,
            exchange,
        }
    }

    /// By hand: two GPUs, each with 515,000 rows; a sweep of 440 us at 1 M rows (453 by the curve) becomes that of 515,000.
    #[test]
    fn two_gpus_of_a_million_rows() {
        let link = Link { latency: 2.3, bandwidth: 370.0, fixed: 1.1, each: 0.5, least: 5.0 };
        let between = |m: f64, [a, fa]: [f64; 2], [b, fb]: [f64; 2]| fa + (fb - fa) * (m - a) / (b - a);
        let s = |m| between(m, [405_224.0, 190.4], [804_357.0, 361.4]);
        let r = |m| between(m, [405_224.0, 1_318.0], [804_357.0, 2_538.0]);
        let r_all = between(1e6, [804_357.0, 2_538.0], [6_191_003.0, 19_500.0]);
        let sweep = 1.06 * 440e-6 * s(515_000.0) / 453.0;
        let sent = 1.5 * 1.3 * 500_000_f64.powf(2.0 / 3.0);
        let rest = 2.9e-3 * r(515_000.0 + 2.0 * sent) / r_all;
        // A color lasts 24 us, a message 2.3 and 0.07: hidden.
        let more = 2.0 * 2.3e-6 + 2.0 * sent * 104.0 / 370e9 + 2.0 * 14e-6;
        let expected = 15.0 * (sweep + 10.0 * 1.6e-6) + more + rest;
        let found = SINGLE.predict(&over(2.0, SweepExchange::EveryColor), &link);
        assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        assert!(SINGLE.predict(&over(1.0, SweepExchange::EveryColor), &link) == SINGLE.seconds);
        // Colors of a few thousand rows cannot follow one another faster than their rows pass.
        let slow = Link { least: 100.0, ..link };
        let waits = SINGLE.predict(&over(2.0, SweepExchange::EveryColor), &slow);
        assert!((waits - (found + 15.0 * (10.0 * 100e-6 - sweep))).abs() < 1e-9, "{waits}");
    }

    /// `bench/predicted.py` has the same numbers.
    #[test]
    fn the_script_has_these_numbers() {
        let script = include_str!("../../../../../bench/predicted.py");
        let curve = |points: &[(f64, f64)], scale: f64| -> Vec<String> {
            points.iter().map(|(rows, us)| format!("({rows}, {})", us / scale)).collect()
        };
        let numbers = [curve(&SWEEP_US, 1.0), curve(&REST_US, 1e3)].concat();
        let more = [
            format!("APART = {APART} "),
            format!("COLOR = {COLOR_US} "),
            format!("STATE, LAYERS = {STATE}, {LAYERS}\n"),
        ];
        for expected in numbers.into_iter().chain(more) {
            assert!(script.contains(&expected), "predicted.py lacks `{expected}`");
        }
        let ways = [("within sweeps", "peer stores within"), ("by events", "peer stores"), ("NCCL", "NCCL")];
        for (way, path) in ways {
            let Link { latency, bandwidth, fixed, each, least } = Link::of(Some(path));
            let expected = format!("\"{way}\": ({latency:?}, {bandwidth:?}, {fixed:?}, {each:?}, {least:?})");
            assert!(script.contains(&expected), "predicted.py lacks `{expected}`");
        }
    }

    /// A slow network shows in what is not hidden: each color, less of it one color late, once a sweep.
    #[test]
    fn less_exchange_waits_less() {
        let slow = Link { latency: 60.0, bandwidth: 45.0, fixed: 1.1, each: 0.0, least: 0.0 };
        let [color, late, sweep] =
            [SweepExchange::EveryColor, SweepExchange::ColorLate, SweepExchange::EverySweep]
                .map(|exchange| SINGLE.predict(&over(8.0, exchange), &slow));
        assert!(color > late && late > sweep, "{color} {late} {sweep}");
        let cpu = Single { on_gpu: false, ..SINGLE };
        let free = Link { latency: 0.0, bandwidth: 1e30, fixed: 0.0, each: 0.0, least: 0.0 };
        let even = Divided { balance: 1.0, ..over(8.0, SweepExchange::EveryColor) };
        let most = 1e-6 * 2.0 * 22.0;
        assert!((cpu.predict(&even, &free) - SINGLE.seconds / 8.0 - most).abs() < 1e-12);
    }

    #[test]
    fn links_are_read() {
        let link = Link { latency: 2.3, bandwidth: 370.0, fixed: 0.0, each: 0.0, least: 0.0 };
        assert_eq!("2.3,370".parse(), Ok(link));
        for bad in ["2.3", "2.3,0", "x,1", "-1,3", "1,inf"] {
            assert!(bad.parse::<Link>().is_err(), "{bad}");
        }
    }
}
