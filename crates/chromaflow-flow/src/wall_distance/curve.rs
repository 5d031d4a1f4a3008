//! An order of points along a curve that fills space: those that follow one another are near one another.

use crate::ranks::spread;

/// Bits of a coordinate in a point's place on the curve.
const BITS: u32 = 21;

/// Numbers of the points along Morton's curve through their bounding box.
pub(super) fn order(points: &[[f64; 3]]) -> Vec<u32> {
    let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    for point in points {
        low = std::array::from_fn(|d| low[d].min(point[d]));
        high = std::array::from_fn(|d| high[d].max(point[d]));
    }
    let cells = f64::from(1_u32 << BITS);
    let size = (0..3).map(|d| high[d] - low[d]).fold(0.0, f64::max);
    let scale = if size > 0.0 { cells / size } else { 0.0 };
    let key = |x: &[f64; 3]| -> u64 {
        // What is no number comes first.
        let cell = |d: usize| ((x[d] - low[d]) * scale).min(cells - 1.0) as u64;
        (0..3).map(|d| spread(cell(d)) << d).sum()
    };
    let mut keys: Vec<(u64, u32)> = points.iter().map(key).zip(0..).collect();
    keys.sort_unstable();
    keys.into_iter().map(|(_, i)| i).collect()
}

#[cfg(test)]
mod tests {
    use super::order;
    use crate::ranks::spread;

    #[test]
    fn bits_are_spread() {
        for x in [0, 1, 0b1011, 0x1f_ffff, 0x15_5555, 123_456] {
            let expected: u64 = (0..21).map(|k| ((x >> k) & 1) << (3 * k)).sum();
            assert_eq!(spread(x), expected, "{x:b}");
        }
    }

    /// A cube of 8 points, and each octant's 8: the octants come one after another.
    #[test]
    fn octants_come_one_after_another() {
        let points: Vec<[f64; 3]> =
            (0..64).map(|n| [f64::from(n % 4), f64::from(n / 4 % 4), f64::from(n / 16)]).collect();
        let order = order(&points);
        let octant = |i: u32| points[i as usize].map(|x| x >= 2.0);
        let mut seen = vec![octant(order[0])];
        for &i in &order {
            if octant(i) != seen[seen.len() - 1] {
                assert!(!seen.contains(&octant(i)));
                seen.push(octant(i));
            }
        }
        assert_eq!(seen.len(), 8);
        let mut all = order.clone();
        all.sort_unstable();
        assert!(all.iter().copied().eq(0..64));
        assert_eq!(super::order(&[[1.0; 3]; 3]), [0, 1, 2]);
        assert!(super::order(&[]).is_empty());
    }
}
