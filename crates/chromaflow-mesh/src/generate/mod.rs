//! Meshes of simple shapes, for tests, studies of accuracy and small cases.

mod boxes;
mod planar;
mod wing;

pub use boxes::{Cells, box_mesh};
pub use planar::graded;
pub use planar::{Airfoil, Channel, Cylinder, FlatPlate, Plane};
pub use wing::Wing;

/// Pseudo-random number in [-1, 1) from a counter (SplitMix64): the same on every machine.
fn noise(i: u64) -> f64 {
    let mut z = i.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) >> 11) as f64 * 2.0_f64.powi(-52) - 1.0
}

#[cfg(test)]
mod tests {
    use super::noise;

    #[test]
    fn noise_is_centered_and_the_same_everywhere() {
        let mean = (0..10_000).map(noise).sum::<f64>() / 1e4;
        assert!(mean.abs() < 0.02, "{mean}");
        assert!((0..1000).map(noise).all(|x| (-1.0..1.0).contains(&x)));
    }
}
