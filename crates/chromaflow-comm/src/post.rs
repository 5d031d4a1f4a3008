//! Lists that pass between all ranks, questions to those who know, and ghosts that follow their owners.

use crate::{CommError, Communicator, Tag};
use bytemuck::{Pod, cast_slice};
use std::time::Duration;

/// The values in a message.
fn values<T: Pod>(bytes: &[u8]) -> Vec<T> {
    bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()
}

/// Every rank's list for every other: what came, by sender. Ranks wait for one another as long as it takes.
///
/// # Errors
/// [`CommError`] when another rank has failed, has left or stays silent too long.
pub fn swap<T: Pod>(ranks: &dyn Communicator, lists: Vec<Vec<T>>) -> Result<Vec<Vec<T>>, CommError> {
    swap_within(Duration::MAX, ranks, lists)
}

/// The same in the midst of a run, where a rank that does not answer for so long ends it.
///
/// # Errors
/// [`CommError`] when another rank has failed, has left or stays silent too long.
pub fn swap_within<T: Pod>(
    patience: Duration,
    ranks: &dyn Communicator,
    mut lists: Vec<Vec<T>>,
) -> Result<Vec<Vec<T>>, CommError> {
    let own = ranks.rank();
    let others = || (0..ranks.size()).filter(|&other| other != own);
    for to in others() {
        ranks.send(to, Tag::Collective, cast_slice(&std::mem::take(&mut lists[to])).to_vec())?;
    }
    for from in others() {
        lists[from] = values(&ranks.receive_within(patience, from, Tag::Collective)?);
    }
    Ok(lists)
}

/// Asks ranks questions and returns their answers in the order of the questions; `answer` answers those of a rank, in order.
///
/// ```
/// use chromaflow_comm::{CommError, Communicator, Threads, post::ask, run};
/// // Each rank asks rank 1 for the square of its number.
/// let answers = run(3, std::time::Duration::from_secs(10), |ranks: &Threads| {
///     let square = |asked: &[u64]| asked.iter().map(|n| n * n).collect::<Vec<u64>>();
///     ask(ranks, &[(1, ranks.rank() as u64)], square)
/// })?;
/// assert_eq!(answers, [[0], [1], [4]]);
/// # Ok::<(), chromaflow_comm::RunError<CommError>>(())
/// ```
///
/// # Errors
/// [`CommError`] when another rank has failed, has left or stays silent too long.
pub fn ask<Q: Pod, A: Pod>(
    ranks: &dyn Communicator,
    questions: &[(u32, Q)],
    mut answer: impl FnMut(&[Q]) -> Vec<A>,
) -> Result<Vec<A>, CommError> {
    let mut lists = vec![Vec::new(); ranks.size()];
    for &(whom, question) in questions {
        lists[whom as usize].push(question);
    }
    let asked = swap(ranks, lists)?;
    let answers = swap(ranks, asked.iter().map(|questions| answer(questions)).collect())?;
    let mut next = vec![0; ranks.size()];
    let of = |&(whom, _): &(u32, Q)| {
        let next = &mut next[whom as usize];
        *next += 1;
        let (list, from) = (&answers[whom as usize], whom as usize);
        let length = CommError::Length { from, expected: *next, found: list.len() };
        list.get(*next - 1).copied().ok_or(length)
    };
    questions.iter().map(of).collect()
}

/// The same numbers of every rank, in the order of ranks.
///
/// # Errors
/// [`CommError`] when another rank has failed, has left or stays silent too long.
pub fn gather_all<T: Pod>(ranks: &dyn Communicator, own: &[T]) -> Result<Vec<Vec<T>>, CommError> {
    Ok(ranks.gather_all(cast_slice(own))?.iter().map(|bytes| values(bytes)).collect())
}

/// Items that other ranks own, and those that others have of this one.
#[derive(Debug)]
pub struct Ghosts {
    /// For each rank, items of this one that it has.
    send: Vec<Vec<u32>>,
    /// For each rank, items here that it owns, in the order in which it sends them.
    receive: Vec<Vec<u32>>,
}

impl Ghosts {
    /// From the places, owners and names of the items here that others own; `place` finds one's own by its name.
    ///
    /// # Errors
    /// [`CommError`] when another rank has failed, has left or stays silent too long.
    pub fn new<K: Pod>(
        ranks: &dyn Communicator,
        ghosts: impl Iterator<Item = (u32, u32, K)>,
        mut place: impl FnMut(K) -> u32,
    ) -> Result<Self, CommError> {
        let (mut names, mut receive) = (vec![Vec::new(); ranks.size()], vec![Vec::new(); ranks.size()]);
        for (at, owner, name) in ghosts {
            names[owner as usize].push(name);
            receive[owner as usize].push(at);
        }
        let asked = swap(ranks, names)?;
        let send = asked.into_iter().map(|names| names.into_iter().map(&mut place).collect()).collect();
        Ok(Self { send, receive })
    }

    /// Ghosts get their owners' values. Only ranks that have items of one another pass messages.
    ///
    /// # Errors
    /// [`CommError`] when another rank has failed, has left or stays silent too long.
    ///
    /// # Panics
    /// When an item is beyond `of`.
    pub fn exchange<T: Pod>(&self, ranks: &dyn Communicator, of: &mut [T]) -> Result<(), CommError> {
        for (to, list) in self.send.iter().enumerate().filter(|(_, list)| !list.is_empty()) {
            let packed: Vec<T> = list.iter().map(|&i| of[i as usize]).collect();
            ranks.send(to, Tag::Collective, cast_slice(&packed).to_vec())?;
        }
        for (from, list) in self.receive.iter().enumerate().filter(|(_, list)| !list.is_empty()) {
            let came = values(&ranks.receive_patiently(from, Tag::Collective)?);
            list.iter().zip(came).for_each(|(&i, value)| of[i as usize] = value);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RunError, Threads, run};

    /// Rank r owns numbers whose remainder is r.
    #[test]
    fn answers_come_in_the_order_of_questions_and_ghosts_follow() {
        let said: Result<_, RunError<CommError>> = run(3, Duration::from_secs(10), |ranks: &Threads| {
            let own = ranks.rank() as u32;
            let asked: Vec<(u32, u32)> = (0..20).rev().map(|n| (n % 3, n)).collect();
            let squares = ask(ranks, &asked, |numbers| {
                assert!(numbers.iter().all(|n| n % 3 == own));
                numbers.iter().map(|&n| u64::from(n * n)).collect()
            })?;
            assert!(squares.iter().zip((0..20).rev()).all(|(square, n)| *square == n * n));
            let others = (0..20).filter(|n| n % 3 != own).map(|n| (n, n % 3, n));
            let ghosts = Ghosts::new(ranks, others, |n| n)?;
            let mut values: Vec<u32> = (0..20).map(|n| if n % 3 == own { 7 * n } else { 0 }).collect();
            ghosts.exchange(ranks, &mut values)?;
            assert!((0..).zip(values).all(|(n, value)| value == 7 * n));
            Ok(())
        });
        said.unwrap();
    }
}
