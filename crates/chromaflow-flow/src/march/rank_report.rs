//! What each rank has of a mesh or a grid, and how its time went: for whoever asks which of them the others wait for.

use super::{Host, March, Order, Part, Times};

/// What one rank has, and how its time went.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RankReport {
    /// Of all its steps so far.
    pub times: Times,
    /// Seconds that its host has spent in exchanges and sums, waiting included. Devices that write into one another's memory wait beside
    /// that, within the parts of [`RankReport::times`].
    pub halo: f64,
    /// Rows that it owns.
    pub rows: usize,
    /// Blocks of the matrix in them.
    pub blocks: usize,
    /// Rows that others read in a sweep, once for each rank that does.
    pub sent: usize,
    /// Ranks that these go to.
    pub neighbors: usize,
}

/// Numbers of a report in a message.
const NUMBERS: usize = Part::ALL.len() + 6;

impl RankReport {
    /// What has been added since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self { times: self.times.since(&earlier.times), halo: self.halo - earlier.halo, ..*self }
    }

    fn pack(&self) -> Vec<u8> {
        let mut numbers = self.times.numbers().to_vec();
        numbers.push(self.halo);
        numbers.extend([self.rows, self.blocks, self.sent, self.neighbors].map(|count| count as f64));
        numbers.into_iter().flat_map(f64::to_le_bytes).collect()
    }

    fn unpack(bytes: &[u8]) -> Option<Self> {
        let numbers = bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b));
        let numbers: [f64; NUMBERS] = numbers.collect::<Vec<_>>().try_into().ok()?;
        let (times, rest) = numbers.split_first_chunk()?;
        let [halo, rows, blocks, sent, neighbors] = *rest else { return None };
        let [rows, blocks, sent, neighbors] = [rows, blocks, sent, neighbors].map(|count| count as usize);
        Some(Self { times: Times::from_numbers(times), halo, rows, blocks, sent, neighbors })
    }
}

/// What one rank has: rows, blocks of the matrix in them (0 where it is not kept by blocks), rows that others read, once for each rank that
/// does, and those ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holding {
    /// See [`RankReport::rows`].
    pub rows: usize,
    /// See [`RankReport::blocks`].
    pub blocks: usize,
    /// See [`RankReport::sent`].
    pub sent: usize,
    /// See [`RankReport::neighbors`].
    pub neighbors: usize,
}

impl<S: Host> March<S> {
    /// Of every rank, on rank 0; of this one alone where there are no others. Collective.
    ///
    /// Empty where another rank has failed, which shows at the next step ([`March::check_ranks`]).
    pub fn rank_reports(&self) -> Vec<RankReport> {
        let Holding { rows, blocks, sent, neighbors } = self.host.holding();
        let own =
            RankReport { times: self.times(), halo: self.exchange_seconds(), rows, blocks, sent, neighbors };
        let Some(share) = self.host.share() else { return vec![own] };
        if self.host.tell(Order::Reports).is_err() {
            return Vec::new();
        }
        let all = share.ranks().gather(0, &own.pack()).unwrap_or_default();
        all.iter().filter_map(|bytes| RankReport::unpack(bytes)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_read_back() {
        let times = Times::from_numbers(&std::array::from_fn(|k| 0.25 * k as f64));
        assert!(times[Part::Residual] > 0.0 && times.total > times[Part::Misc]);
        let report = RankReport { times, halo: 0.5, rows: 7, blocks: 31, sent: 4, neighbors: 2 };
        assert_eq!(RankReport::unpack(&report.pack()), Some(report));
        assert_eq!(RankReport::unpack(&report.pack()[8..]), None);
        let later = RankReport { halo: 2.0, ..report };
        assert_eq!(later.since(&report).halo, 1.5);
        assert_eq!(later.since(&report).times, Times::default());
        assert_eq!(later.since(&report).rows, 7);
    }
}
