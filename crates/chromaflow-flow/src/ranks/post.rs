//! Tables of numbers, beside the [lists](chromaflow_comm::post) that pass between ranks.

pub use chromaflow_comm::post::{Ghosts, ask, gather_all, swap, swap_within};

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
}
