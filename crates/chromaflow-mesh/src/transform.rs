//! Scaling, rotating, mirroring and moving meshes.

use super::kind::{cross, dot};
use super::{Kind, Mesh, MeshError, Planar, raw::mirror};

/// The map x -> A x + b.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Affine {
    /// A, by rows.
    pub matrix: [[f64; 3]; 3],
    /// b.
    pub shift: [f64; 3],
}

impl Affine {
    /// The map that changes nothing.
    pub const IDENTITY: Self = Self { matrix: [[1., 0., 0.], [0., 1., 0.], [0., 0., 1.]], shift: [0.; 3] };

    /// A factor for each axis; a negative one mirrors.
    pub fn scale(factors: [f64; 3]) -> Self {
        let mut map = Self::IDENTITY;
        (0..3).for_each(|d| map.matrix[d][d] = factors[d]);
        map
    }

    /// A right-handed rotation about an axis (0 is x) through the origin. Multiples of 90 degrees are exact.
    pub fn rotate(axis: usize, degrees: f64) -> Self {
        let quarter =
            |d: f64| [[1., 0.], [0., 1.], [-1., 0.], [0., -1.]][(d / 90.0).rem_euclid(4.0) as usize % 4];
        let [c, s] = if degrees % 90.0 == 0.0 {
            quarter(degrees)
        } else {
            let (s, c) = degrees.to_radians().sin_cos();
            [c, s]
        };
        let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
        let mut map = Self::IDENTITY;
        (map.matrix[u][u], map.matrix[u][v]) = (c, -s);
        (map.matrix[v][u], map.matrix[v][v]) = (s, c);
        map
    }

    /// A translation.
    pub fn translate(shift: [f64; 3]) -> Self {
        Self { shift, ..Self::IDENTITY }
    }

    /// First this map, then `next`.
    pub fn then(&self, next: &Self) -> Self {
        let matrix = std::array::from_fn(|r| {
            std::array::from_fn(|c| (0..3).map(|k| next.matrix[r][k] * self.matrix[k][c]).sum())
        });
        Self { matrix, shift: next.of(self.shift) }
    }

    /// The image of a point.
    pub fn of(&self, x: [f64; 3]) -> [f64; 3] {
        std::array::from_fn(|r| dot(self.matrix[r], x) + self.shift[r])
    }

    /// The determinant of A: negative where the map mirrors.
    pub fn determinant(&self) -> f64 {
        dot(cross(self.matrix[0], self.matrix[1]), self.matrix[2])
    }

    /// Refuses maps that are no maps of space onto itself.
    ///
    /// # Errors
    /// When the determinant is zero or no finite number.
    pub fn check(&self) -> Result<(), MeshError> {
        let finite = self.matrix.iter().flatten().chain(&self.shift).all(|x| x.is_finite());
        if finite && self.determinant().is_normal() {
            return Ok(());
        }
        Err(MeshError::Request(format!(
            "a transformation of determinant {:e} flattens the mesh: factors must be finite and not zero",
            self.determinant()
        )))
    }
}

impl Mesh {
    /// Moves every node; where the map mirrors, elements and faces are turned over, so that volumes stay positive and normals
    /// point outward. A layer that does not stay between z = 0 and a parallel plane above it is planar no more.
    ///
    /// # Errors
    /// See [`Affine::check`].
    pub fn transform(&mut self, map: &Affine) -> Result<(), MeshError> {
        map.check()?;
        self.nodes.iter_mut().for_each(|x| *x = map.of(*x));
        let [[_, _, a], [_, _, b], [c, d, up]] = map.matrix;
        let stays = [a, b, c, d, map.shift[2]] == [0.0; 5] && up > 0.0;
        self.planar = self.planar.filter(|_| stays).map(|p| Planar { depth: up * p.depth, ..p });
        if map.determinant() < 0.0 {
            for kind in Kind::ALL {
                self.each_of_mut(kind, |_, nodes| mirror(kind, nodes));
            }
            for marker in &mut self.markers {
                marker.triangles.iter_mut().for_each(|t| t.swap(1, 2));
                marker.quads.iter_mut().for_each(|q| q.swap(1, 3));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Cells, Cylinder, box_mesh};
    use crate::{check, info};

    #[test]
    fn volumes_and_normals_stay_right_whatever_the_map() {
        let map = Affine::scale([2.0, -1.0, 0.5])
            .then(&Affine::rotate(1, 33.0))
            .then(&Affine::translate([1., 2., 3.]));
        let mut mesh = box_mesh([4, 3, 5], [1.0; 3], Cells::Mixed, 0.3);
        mesh.transform(&map).unwrap();
        assert!(check(&mesh, None).is_clean());
        assert!((info(&mesh).volume - 1.0).abs() < 1e-13);
        let mut ring = Cylinder { cells: [16, 4], radius: 3.0, growth: 1.2, triangles: true }.mesh();
        let before = info(&ring).volume;
        ring.transform(&Affine::scale([-1.0, 1.0, 2.0])).unwrap();
        assert!(check(&ring, None).is_clean());
        assert_eq!(ring.planar.unwrap().depth, 2.0);
        assert!((info(&ring).volume - 2.0 * before).abs() < 1e-12 * before);
        ring.transform(&Affine::rotate(0, 90.0)).unwrap();
        assert!(ring.planar.is_none() && check(&ring, None).is_clean());
        assert!(ring.transform(&Affine::scale([1.0, 0.0, 1.0])).is_err());
    }

    #[test]
    fn rotations_are_right_handed_and_quarters_exact() {
        assert_eq!(Affine::rotate(2, 90.0).of([1., 0., 0.]), [0., 1., 0.]);
        assert_eq!(Affine::rotate(0, -90.0).of([0., 1., 0.]), [0., 0., -1.]);
        let x = Affine::rotate(1, 30.0).of([0., 0., 1.]);
        assert!((x[0] - 0.5).abs() < 1e-15 && x[2] > 0.0);
    }
}
