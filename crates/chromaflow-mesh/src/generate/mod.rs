//! Meshes of simple shapes, for tests, studies of accuracy and small cases.

mod boxes;
mod planar;
mod section;
mod sphere;
mod wing;

pub use boxes::{Cells, box_mesh};

pub use planar::{Airfoil, Channel, Cylinder, FlatPlate, Plane, graded, growth_of};
pub use section::{AirfoilC, AirfoilO, Section};
pub use sphere::Sphere;
pub use wing::Wing;

/// Pseudo-random number in [-1, 1) from a counter (SplitMix64): the same on every machine.
fn noise(i: u64) -> f64 {
    let z = crate::mixed(i.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    (z >> 11) as f64 * 2.0_f64.powi(-52) - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{check, info};

    #[test]
    fn bodies_are_closed_and_have_their_volumes() {
        let section = Section::naca4("2412").unwrap();
        let o = AirfoilO { section, cells: [60, 20], radius: 10.0, first: 1e-4, triangles: true }.mesh();
        let c = AirfoilC { section, cells: [20, 60, 20], radius: 10.0, first: 1e-4, triangles: false }.mesh();
        let sphere = Sphere { cells: [8, 12], radius: 4.0, first: 1e-2 }.mesh();
        for (name, mesh) in [("o", &o), ("c", &c), ("sphere", &sphere)] {
            let report = check(mesh, None);
            assert!(report.is_clean(), "{name}: {report}");
        }
        assert!(o.planar.is_some() && c.planar.is_some());
        assert_eq!(
            c.markers.iter().map(|m| m.name.as_str()).collect::<Vec<_>>()[2..],
            ["symmetry_front", "symmetry_back"]
        );
        let ball = 4.0 / 3.0 * std::f64::consts::PI * (64.0 - 0.125);
        assert!((info(&sphere).volume / ball - 1.0).abs() < 0.03);
    }

    #[test]
    fn sections_have_their_camber_and_refuse_what_is_none() {
        let section = Section::naca4("4415").unwrap();
        let (low, high) = (section.point(1.0 / 3.0), section.point(2.0 / 3.0));
        assert!(low[1] < 0.0 && high[1] > 0.1);
        assert_eq!(section.point(0.0), [1.0, 0.0]);
        assert_eq!(
            Section::naca4("0012").unwrap().point(0.25)[1],
            -Airfoil::half_thickness(section.point(0.25)[0].max(0.5))
        );
        for digits in ["12", "0000", "2012x", "2012", "00120"] {
            assert!(Section::naca4(digits).is_err(), "{digits}");
        }
    }

    #[test]
    fn noise_is_centered_and_the_same_everywhere() {
        let mean = (0..10_000).map(noise).sum::<f64>() / 1e4;
        assert!(mean.abs() < 0.02, "{mean}");
        assert!((0..1000).map(noise).all(|x| (-1.0..1.0).contains(&x)));
    }
}
