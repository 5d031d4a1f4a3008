//! Exchange of ghost rows: lists by neighbor, one packed message each.

use crate::communicator::floats;
use crate::{CommError, Communicator, Tag};

/// What a rank exchanges with one other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbor {
    /// The other rank.
    pub rank: usize,
    /// Own rows that the other needs, in the order it lists them in `receive`.
    pub send: Vec<u32>,
    /// Ghost rows that the other owns.
    pub receive: Vec<u32>,
}

/// The ghost rows of a rank, by neighbor. Lists of rows alone: whoever moves the bytes (this crate, peer stores between
/// GPUs) reads the same ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Halo {
    rows: usize,
    neighbors: Vec<Neighbor>,
}

/// An exchange whose messages are on their way. It must be [finished](Self::finish): what arrives for a dropped one
/// would be taken for the next.
#[derive(Debug)]
#[must_use = "the ghost rows are old until the exchange is finished"]
pub struct InFlight<'a> {
    halo: &'a Halo,
    ranks: &'a dyn Communicator,
    width: usize,
    tag: Tag,
}

impl Halo {
    /// From the lists of every rank; collective. `rows` counts owned and ghost rows of this rank.
    ///
    /// # Errors
    /// [`CommError::Lists`] when neighbors do not ascend or include the rank itself, a row is not below
    /// `rows`, is received twice or both sent and received, or when two ranks disagree on what passes between them.
    pub fn new(ranks: &dyn Communicator, rows: usize, neighbors: Vec<Neighbor>) -> Result<Self, CommError> {
        let halo = Self { rows, neighbors };
        let fault = halo.own_fault(ranks.rank(), ranks.size());
        fault.map_or(Ok(()), |fault| Err(CommError::Lists { rank: ranks.rank(), fault }))?;
        let counts = |n: &Neighbor| [n.rank as u64, n.send.len() as u64, n.receive.len() as u64];
        let mine: Vec<u64> = halo.neighbors.iter().flat_map(counts).collect();
        let all = ranks.gather_all(bytemuck::cast_slice(&mine))?;
        let read = |bytes: &Vec<u8>| bytes.chunks_exact(8).map(bytemuck::pod_read_unaligned).collect();
        agree(&all.iter().map(read).collect::<Vec<Vec<u64>>>())?;
        Ok(halo)
    }

    /// Owned and ghost rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// In ascending order of rank.
    pub fn neighbors(&self) -> &[Neighbor] {
        &self.neighbors
    }

    /// What is wrong with the lists, as far as this rank alone can see.
    fn own_fault(&self, rank: usize, size: usize) -> Option<String> {
        let mut seen = vec![Use::None; self.rows];
        let mut last = None;
        for n in &self.neighbors {
            if n.rank >= size || n.rank == rank || last.is_some_and(|last| last >= n.rank) {
                return Some(format!(
                    "neighbor {} where another rank below {size} in ascending order is expected",
                    n.rank
                ));
            }
            last = Some(n.rank);
            for (list, new) in [(&n.send, Use::Sent), (&n.receive, Use::Received)] {
                for &row in list {
                    let Some(old) = seen.get_mut(row as usize) else {
                        return Some(format!(
                            "row {row} for rank {}, expected one below {}",
                            n.rank, self.rows
                        ));
                    };
                    match (*old, new) {
                        (Use::None, _) | (Use::Sent, Use::Sent) => *old = new,
                        (Use::Received, Use::Received) => {
                            return Some(format!("row {row} is received twice"));
                        }
                        _ => return Some(format!("row {row} is sent and received: a row has one owner")),
                    }
                }
            }
        }
        None
    }

    /// Packs and sends the rows of `x` that neighbors need; returns without waiting, so that rows which need no ghost
    /// can be worked on before [`InFlight::finish`]. `number` tells apart exchanges that are in flight at once.
    ///
    /// **Shapes**: x `[rows, width]`. **Panics** when x has another length.
    ///
    /// # Errors
    /// As [`Communicator::send`].
    pub fn start<'a>(
        &'a self,
        ranks: &'a dyn Communicator,
        number: u32,
        width: usize,
        x: &[f64],
    ) -> Result<InFlight<'a>, CommError> {
        assert_eq!(x.len(), self.rows * width);
        let tag = Tag::Halo(number);
        for n in self.neighbors.iter().filter(|n| !n.send.is_empty()) {
            let mut packed = Vec::with_capacity(n.send.len() * width * size_of::<f64>());
            for &row in &n.send {
                packed.extend_from_slice(bytemuck::cast_slice(&x[row as usize * width..][..width]));
            }
            ranks.send(n.rank, tag, packed)?;
        }
        Ok(InFlight { halo: self, ranks, width, tag })
    }

    /// Ghost rows of `x` become those of their owners: start and finish.
    ///
    /// **Shapes**: x `[rows, width]`. **Panics** when x has another length.
    ///
    /// # Errors
    /// As [`Communicator::send`] and [`Communicator::receive`]; [`CommError::Length`] when `width` differs between ranks.
    pub fn exchange(&self, ranks: &dyn Communicator, width: usize, x: &mut [f64]) -> Result<(), CommError> {
        self.start(ranks, 0, width, x)?.finish(x)
    }
}

impl InFlight<'_> {
    /// Waits for the neighbors and writes their rows into the ghost rows of `x`.
    ///
    /// **Shapes**: x `[rows, width]`. **Panics** when x has another length.
    ///
    /// # Errors
    /// As [`Communicator::receive`]; [`CommError::Length`] when `width` differs between ranks.
    pub fn finish(self, x: &mut [f64]) -> Result<(), CommError> {
        let Self { halo, ranks, width, tag } = self;
        assert_eq!(x.len(), halo.rows * width);
        for n in halo.neighbors.iter().filter(|n| !n.receive.is_empty()) {
            let packed = ranks.receive(n.rank, tag)?;
            let mut values = floats(n.rank, &packed, n.receive.len() * width)?;
            for &row in &n.receive {
                let ghost = &mut x[row as usize * width..][..width];
                ghost.iter_mut().zip(&mut values).for_each(|(ghost, value)| *ghost = value);
            }
        }
        Ok(())
    }
}

/// What a list does with a row.
#[derive(Clone, Copy)]
enum Use {
    None,
    Sent,
    Received,
}

/// Whether what each rank sends is what the other expects. All ranks see the same counts and find the same fault.
fn agree(all: &[Vec<u64>]) -> Result<(), CommError> {
    let counts = |rank: usize, other: usize| {
        let entry = all[rank].chunks_exact(3).find(|entry| entry[0] == other as u64);
        entry.map_or((0, 0), |entry| (entry[1], entry[2]))
    };
    for (rank, entries) in all.iter().enumerate() {
        for entry in entries.chunks_exact(3) {
            let other = entry[0] as usize;
            let (sent, received) = counts(other, rank);
            if (sent, received) != (entry[2], entry[1]) {
                let fault = format!(
                    "sends {} rows to rank {other} and receives {}, but rank {other} expects {received} and sends {sent}",
                    entry[1], entry[2]
                );
                return Err(CommError::Lists { rank, fault });
            }
        }
    }
    Ok(())
}
