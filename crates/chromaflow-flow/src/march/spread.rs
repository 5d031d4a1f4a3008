//! Least, mean and most of a quantity.

use chromaflow::dist::{Links, Share};
use chromaflow_comm::Op;

/// A quantity over a wall.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The smallest value.
    pub min: f64,
    /// The mean by area.
    pub mean: f64,
    /// The largest value.
    pub max: f64,
}

impl Spread {
    /// Of values with their areas, over all ranks where there are any; `None` of no area.
    pub(crate) fn of(values: impl Iterator<Item = (f64, f64)>, share: Option<&Share>) -> Option<Self> {
        let (mut least, mut most, mut sums) = ([f64::INFINITY], [f64::NEG_INFINITY], [0.0; 2]);
        for (value, area) in values {
            (least[0], most[0]) = (value.min(least[0]), value.max(most[0]));
            sums = [sums[0] + value * area, sums[1] + area];
        }
        if let Some(share) = share {
            share.reduce(Op::Min, &mut least);
            share.reduce(Op::Max, &mut most);
            share.sum(&mut sums);
        }
        let [sum, whole] = sums;
        (whole > 0.0).then(|| Self { min: least[0], mean: sum / whole, max: most[0] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_by_area() {
        let spread = Spread::of([(1.0, 3.0), (5.0, 1.0)].into_iter(), None).unwrap();
        assert_eq!(spread, Spread { min: 1.0, mean: 2.0, max: 5.0 });
        assert!(Spread::of(std::iter::empty(), None).is_none());
    }
}
