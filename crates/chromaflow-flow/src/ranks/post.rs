//! Lists that pass between all ranks, questions to those who know, and ghosts that follow their owners.

use super::wire::values;
use bytemuck::{Pod, cast_slice};
use chromaflow_comm::{CommError, Communicator, Tag};
use std::time::Duration;

/// Every rank's list for every other: what came, by sender. Ranks wait for one another as long as it takes.
pub fn swap<T: Pod>(ranks: &dyn Communicator, lists: Vec<Vec<T>>) -> Result<Vec<Vec<T>>, CommError> {
    swap_within(Duration::MAX, ranks, lists)
}

/// The same in the midst of a run, where a rank that does not answer for so long ends it.
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
pub fn gather_all<T: Pod>(ranks: &dyn Communicator, own: &[T]) -> Result<Vec<Vec<T>>, CommError> {
    Ok(ranks.gather_all(cast_slice(own))?.iter().map(|bytes| values(bytes)).collect())
}

/// Items that other ranks own, and those that others have of this one.
pub struct Ghosts {
    /// For each rank, items of this one that it has.
    send: Vec<Vec<u32>>,
    /// For each rank, items here that it owns, in the order in which it sends them.
    receive: Vec<Vec<u32>>,
}

impl Ghosts {
    /// From the places, owners and names of the items here that others own; `place` finds one's own by its name.
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

    /// Ghosts get their owners' values.
    pub fn exchange<T: Pod>(&self, ranks: &dyn Communicator, of: &mut [T]) -> Result<(), CommError> {
        let lists = self.send.iter().map(|list| list.iter().map(|&i| of[i as usize]).collect()).collect();
        for (list, values) in self.receive.iter().zip(swap(ranks, lists)?) {
            list.iter().zip(values).for_each(|(&i, value)| of[i as usize] = value);
        }
        Ok(())
    }
}

/// Numbers of nodes and what is known of each: a table with open addresses.
pub struct Table {
    slots: Vec<[u32; 2]>,
    filled: usize,
}

const EMPTY: u32 = u32::MAX;

impl Table {
    /// For some so many numbers, and more.
    pub fn new(count: usize) -> Self {
        Self { slots: vec![[EMPTY; 2]; (2 * count).next_power_of_two().max(16)], filled: 0 }
    }

    /// What these numbers stand at in their list.
    pub fn of(numbers: &[u32]) -> Self {
        let mut table = Self::new(numbers.len());
        for (at, &number) in (0..).zip(numbers) {
            table.insert(number, at);
        }
        table
    }

    fn slot(&self, number: u32) -> usize {
        let mask = self.slots.len() - 1;
        // The golden ratio's multiplier; upper bits are the mixed ones.
        let hash = u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let mut at = hash as usize & mask;
        while self.slots[at][0] != number && self.slots[at][0] != EMPTY {
            at = (at + 1) & mask;
        }
        at
    }

    /// Takes in a number with a value; whether it was not there.
    pub fn insert(&mut self, number: u32, value: u32) -> bool {
        let mut at = self.slot(number);
        if self.slots[at][0] == number {
            return false;
        }
        if 4 * (self.filled + 1) > 3 * self.slots.len() {
            let old = std::mem::take(&mut self.slots);
            self.slots = vec![[EMPTY; 2]; 2 * old.len()];
            for entry in old.into_iter().filter(|entry| entry[0] != EMPTY) {
                let at = self.slot(entry[0]);
                self.slots[at] = entry;
            }
            at = self.slot(number);
        }
        self.slots[at] = [number, value];
        self.filled += 1;
        true
    }

    /// What is known of a number.
    pub fn get(&self, number: u32) -> Option<u32> {
        let [found, value] = self.slots[self.slot(number)];
        (found == number).then_some(value)
    }
}

/// The different ones among numbers, ascending.
pub fn distinct(numbers: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut seen = Table::new(1024);
    let mut list: Vec<u32> = numbers.filter(|&number| seen.insert(number, 0)).collect();
    list.sort_unstable();
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use chromaflow_comm::{RunError, Threads, run};
    use std::time::Duration;

    #[test]
    fn tables_know_what_they_were_told() {
        let numbers: Vec<u32> = (0..5000).map(|i: u32| i.wrapping_mul(2_654_435_761) % 1_000_003).collect();
        let list = distinct(numbers.iter().chain(&numbers).copied());
        let mut expected = numbers;
        expected.sort_unstable();
        expected.dedup();
        assert_eq!(list, expected);
        let table = Table::of(&list);
        assert!((0..).zip(&list).all(|(at, &number)| table.get(number) == Some(at)));
        assert_eq!(table.get(1_000_004), None);
    }

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
