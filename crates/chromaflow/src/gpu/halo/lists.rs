//! Which rows pass, on the device.

use crate::gpu::GpuError;
use chromaflow_comm::Neighbor;
use chromaflow_device::cuda::{DeviceBuffer, Stream};

/// The rows of an exchange.
pub(super) struct List {
    /// Whom something is exchanged with, by their places among all neighbors.
    pub partners: Vec<usize>,
    pub send: Side,
    pub receive: Side,
}

/// The rows that pass one way.
pub(super) struct Side {
    pub rows: DeviceBuffer<u32>,
    /// The neighbor, and the place in its message.
    pub places: DeviceBuffer<[u32; 2]>,
    /// Rows of each partner.
    pub counts: Vec<usize>,
}

impl List {
    /// Of the rows in `lists`, whose ranks are among `all`.
    pub fn new(stream: &Stream, all: &[Neighbor], lists: &[Neighbor]) -> Result<Self, GpuError> {
        let partners = partners(all, lists);
        let side = |rows: &dyn Fn(&Neighbor) -> &[u32]| -> Result<Side, GpuError> {
            let (rows, places, counts) = packed(&partners, lists.iter().map(rows));
            Ok(Side { rows: stream.upload(&rows)?, places: stream.upload(&places)?, counts })
        };
        Ok(Self { send: side(&|n| &n.send)?, receive: side(&|n| &n.receive)?, partners })
    }
}

/// Places of the ranks of `lists` among `all`.
fn partners(all: &[Neighbor], lists: &[Neighbor]) -> Vec<usize> {
    let place = |n: &Neighbor| all.iter().position(|other| other.rank == n.rank);
    lists.iter().map(|n| place(n).expect("rows that matrices read are ghosts, all of which pass")).collect()
}

/// Rows of all partners one after the other, {neighbor, place in its message} of each, and how many each partner has.
fn packed<'a>(
    partners: &[usize],
    lists: impl Iterator<Item = &'a [u32]>,
) -> (Vec<u32>, Vec<[u32; 2]>, Vec<usize>) {
    let (mut rows, mut places, mut counts) = (Vec::new(), Vec::new(), Vec::new());
    for (&neighbor, list) in partners.iter().zip(lists) {
        rows.extend_from_slice(list);
        places.extend((0..list.len() as u32).map(|place| [neighbor as u32, place]));
        counts.push(list.len());
    }
    (rows, places, counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A color passes between some of the neighbors only, each message by itself.
    #[test]
    fn rows_of_a_color_know_their_neighbor_and_their_place() {
        let neighbor = |rank, send: &[u32], receive: &[u32]| Neighbor {
            rank,
            send: send.to_vec(),
            receive: receive.to_vec(),
        };
        let all =
            [neighbor(1, &[0, 1, 5], &[9]), neighbor(2, &[3], &[8]), neighbor(4, &[0, 3, 5, 6], &[10, 11])];
        let color = [neighbor(1, &[1], &[]), neighbor(4, &[0, 6], &[10])];
        let partners = partners(&all, &color);
        assert_eq!(partners, [0, 2]);
        let (rows, places, counts) = packed(&partners, color.iter().map(|n| &n.send[..]));
        assert_eq!((rows, counts), (vec![1, 0, 6], vec![1, 2]));
        assert_eq!(places, [[0, 0], [2, 0], [2, 1]]);
        let (rows, places, counts) = packed(&partners, color.iter().map(|n| &n.receive[..]));
        assert_eq!((rows, places, counts), (vec![10], vec![[2, 0]], vec![0, 1]));
    }
}
