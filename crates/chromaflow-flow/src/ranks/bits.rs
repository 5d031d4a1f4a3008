//! Sets of numbers below a bound.

/// A set of numbers, a bit each.
pub struct Bits {
    words: Vec<u64>,
}

impl Bits {
    /// None of the numbers below `bound`.
    pub fn new(bound: usize) -> Self {
        Self { words: vec![0; bound.div_ceil(64)] }
    }

    /// Takes a number in; whether it was not there.
    pub fn insert(&mut self, number: u32) -> bool {
        let (word, bit) = (&mut self.words[number as usize / 64], 1 << (number % 64));
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// Takes numbers in.
    pub fn extend(&mut self, numbers: impl IntoIterator<Item = u32>) {
        for number in numbers {
            self.insert(number);
        }
    }

    /// Whether a number is there.
    pub fn contains(&self, number: u32) -> bool {
        self.words[number as usize / 64] & (1 << (number % 64)) != 0
    }

    /// All of them, the least first.
    pub fn list(&self) -> Vec<u32> {
        let mut list = Vec::new();
        for (at, &word) in (0..).zip(&self.words) {
            let mut rest = word;
            while rest != 0 {
                list.push(64 * at + rest.trailing_zeros());
                rest &= rest - 1;
            }
        }
        list
    }

    /// With their places in that list.
    pub fn ranked(self) -> Ranked {
        let mut sum = 0;
        let before = |word: &u64| {
            let start = sum;
            sum += word.count_ones();
            start
        };
        let before = self.words.iter().map(before).collect();
        Ranked { bits: self, before }
    }
}

/// A set that knows the place of each number among its own.
pub struct Ranked {
    bits: Bits,
    /// Numbers before each word.
    before: Vec<u32>,
}

impl Ranked {
    /// How many numbers of the set are less than one of them.
    pub fn place(&self, number: u32) -> u32 {
        debug_assert!(self.bits.contains(number));
        let word = number as usize / 64;
        let below = self.bits.words[word] & ((1 << (number % 64)) - 1);
        self.before[word] + below.count_ones()
    }
}

#[cfg(test)]
mod tests {
    use super::Bits;

    #[test]
    fn numbers_are_listed_in_order_with_their_places() {
        let mut set = Bits::new(130);
        let new = [129, 0, 64, 63, 5, 64].map(|number| set.insert(number));
        assert_eq!(new, [true, true, true, true, true, false]);
        assert!(set.contains(63) && !set.contains(62) && !set.contains(128));
        assert_eq!(set.list(), [0, 5, 63, 64, 129]);
        let list = set.list();
        let ranked = set.ranked();
        for (place, number) in (0..).zip(list) {
            assert_eq!(ranked.place(number), place);
        }
    }
}
