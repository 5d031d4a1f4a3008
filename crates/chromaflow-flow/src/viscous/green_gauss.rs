//! Gradients in cells by Green-Gauss.

use crate::real::Real;

/// A cell's gradient as weights of its N nodes, grad f = sum of weight_i f_i, with the cell's volume.
#[derive(Clone, Copy, Debug)]
pub struct CellWeights<T, const N: usize> {
    /// One vector per node.
    pub weight: [[T; 3]; N],
    /// Volume of the cell.
    pub volume: T,
}

/// Outward faces in the node order of [`crate::mesh::Mesh`].
const PYRAMID_TRIANGLES: [[usize; 3]; 4] = [[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]];
const PYRAMID_QUAD: [usize; 4] = [0, 3, 2, 1];
const PRISM_TRIANGLES: [[usize; 3]; 2] = [[0, 2, 1], [3, 4, 5]];
const PRISM_QUADS: [[usize; 4]; 3] = [[0, 1, 4, 3], [1, 2, 5, 4], [2, 0, 3, 5]];
const TET_TRIANGLES: [[usize; 3]; 4] = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]];
const HEX_QUADS: [[usize; 4]; 6] =
    [[0, 3, 2, 1], [4, 5, 6, 7], [0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7]];

/// Area vector of a triangle.
#[inline(always)]
fn triangle_area<T: Real>(a: &[T; 3], b: &[T; 3], c: &[T; 3]) -> [T; 3] {
    let half = T::c(0.5);
    let p = [b[0] - a[0], b[1] - a[1], b[2] - a[2]];
    let q = [c[0] - a[0], c[1] - a[1], c[2] - a[2]];
    [
        half * (p[1] * q[2] - p[2] * q[1]),
        half * (p[2] * q[0] - p[0] * q[2]),
        half * (p[0] * q[1] - p[1] * q[0]),
    ]
}

/// A quadrilateral as four triangles about the mean of its corners: each corner's share of the integral of f over its
/// area vector, and the integral of x . dA / 3.
#[inline(always)]
fn quad_shares<T: Real>(x: &[[T; 3]; 4]) -> ([[T; 3]; 4], T) {
    let zero = T::c(0.0);
    let mut middle = [zero; 3];
    for k in 0..3 {
        middle[k] = T::c(0.25) * (x[0][k] + x[1][k] + x[2][k] + x[3][k]);
    }
    let mut share = [[zero; 3]; 4];
    let mut volume = zero;
    let mut whole = [zero; 3];
    for e in 0..4 {
        let next = (e + 1) % 4;
        let area = triangle_area(&x[e], &x[next], &middle);
        for k in 0..3 {
            let third = T::c(1.0 / 3.0) * area[k];
            share[e][k] += third;
            share[next][k] += third;
            whole[k] += T::c(0.25) * third;
            volume += T::c(1.0 / 3.0) * third * (x[e][k] + x[next][k] + middle[k]);
        }
    }
    for e in 0..4 {
        for k in 0..3 {
            share[e][k] += whole[k];
        }
    }
    (share, volume)
}

/// Adds a triangle's part: a third of its area vector to each corner.
#[inline(always)]
fn add_triangle<T: Real, const N: usize>(cell: &mut CellWeights<T, N>, x: &[[T; 3]; N], corners: [usize; 3]) {
    let [a, b, c] = corners;
    let area = triangle_area(&x[a], &x[b], &x[c]);
    for k in 0..3 {
        let third = T::c(1.0 / 3.0) * area[k];
        cell.weight[a][k] += third;
        cell.weight[b][k] += third;
        cell.weight[c][k] += third;
        cell.volume += T::c(1.0 / 3.0) * third * (x[a][k] + x[b][k] + x[c][k]);
    }
}

/// Adds a quadrilateral's part.
#[inline(always)]
fn add_quad<T: Real, const N: usize>(cell: &mut CellWeights<T, N>, x: &[[T; 3]; N], corners: [usize; 4]) {
    let [a, b, c, d] = corners;
    let (share, volume) = quad_shares(&[x[a], x[b], x[c], x[d]]);
    for k in 0..3 {
        cell.weight[a][k] += share[0][k];
        cell.weight[b][k] += share[1][k];
        cell.weight[c][k] += share[2][k];
        cell.weight[d][k] += share[3][k];
    }
    cell.volume += volume;
}

/// A cell before its faces are added.
#[inline(always)]
fn empty<T: Real, const N: usize>() -> CellWeights<T, N> {
    CellWeights { weight: [[T::c(0.0); 3]; N], volume: T::c(0.0) }
}

/// Sums over the faces become weights: divided by the volume.
#[inline(always)]
fn divide<T: Real, const N: usize>(cell: CellWeights<T, N>) -> CellWeights<T, N> {
    let mut out = cell;
    let inverse = T::c(1.0) / cell.volume;
    for i in 0..N {
        for k in 0..3 {
            out.weight[i][k] *= inverse;
        }
    }
    out
}

/// Weights of a tetrahedron's nodes: its shape functions' gradients.
#[inline(always)]
pub fn tet_weights<T: Real>(x: &[[T; 3]; 4]) -> CellWeights<T, 4> {
    let mut cell = empty::<T, 4>();
    for f in 0..4 {
        add_triangle(&mut cell, x, TET_TRIANGLES[f]);
    }
    divide(cell)
}

/// Weights of a pyramid's nodes, see [`hex_weights`].
#[inline(always)]
pub fn pyramid_weights<T: Real>(x: &[[T; 3]; 5]) -> CellWeights<T, 5> {
    let mut cell = empty::<T, 5>();
    for f in 0..4 {
        add_triangle(&mut cell, x, PYRAMID_TRIANGLES[f]);
    }
    add_quad(&mut cell, x, PYRAMID_QUAD);
    divide(cell)
}

/// Weights of a prism's nodes, see [`hex_weights`].
#[inline(always)]
pub fn prism_weights<T: Real>(x: &[[T; 3]; 6]) -> CellWeights<T, 6> {
    let mut cell = empty::<T, 6>();
    for f in 0..2 {
        add_triangle(&mut cell, x, PRISM_TRIANGLES[f]);
    }
    for f in 0..3 {
        add_quad(&mut cell, x, PRISM_QUADS[f]);
    }
    divide(cell)
}

/// Weights of a hexahedron's nodes, by Green-Gauss over its faces: (1/V) times the sum of f dA. Quadrilaterals are
/// taken as four triangles about the mean of their corners, so that the gradient of a linear function is exact on warped
/// cells too; the volume is that of the same surface.
///
/// **Shapes**: `x` node coordinates in the order of [`crate::mesh::Mesh`].
///
/// ```
/// use chromaflow_flow::viscous::hex_weights;
/// let x = [[0., 0., 0.], [1., 0., 0.], [1., 1., 0.], [0., 1., 0.], [0., 0., 2.], [1., 0., 2.], [1., 1., 2.], [0., 1., 2.]];
/// let cell = hex_weights(&x);
/// let df_dz: f64 = (0..8).map(|i| cell.weight[i][2] * x[i][2]).sum();
/// assert!((cell.volume - 2.0).abs() < 1e-15 && (df_dz - 1.0).abs() < 1e-15);
/// ```
#[inline(always)]
pub fn hex_weights<T: Real>(x: &[[T; 3]; 8]) -> CellWeights<T, 8> {
    let mut cell = empty::<T, 8>();
    for f in 0..6 {
        add_quad(&mut cell, x, HEX_QUADS[f]);
    }
    divide(cell)
}

/// A cell's gradient made consistent with the difference along one edge: g + (difference - g . dx) dx / |dx|^2, with
/// dx the edge and `difference` what the quantity changes along it. On tetrahedra it changes nothing; on other cells it
/// couples the edge's two nodes and damps what the plain average cannot see.
///
/// It is linear, so a node's weight is augmented by the same function: difference -1 for the edge's first node, 1 for
/// its second, 0 for the others.
///
/// **Source**: Nielsen & Anderson 2002; Anderson & Bonhaus 1994.
#[inline(always)]
pub fn edge_augmented<T: Real>(gradient: &[T; 3], difference: T, dx: &[T; 3]) -> [T; 3] {
    let along = gradient[0] * dx[0] + gradient[1] * dx[1] + gradient[2] * dx[2];
    let factor = (difference - along) / (dx[0] * dx[0] + dx[1] * dx[1] + dx[2] * dx[2]);
    [gradient[0] + factor * dx[0], gradient[1] + factor * dx[1], gradient[2] + factor * dx[2]]
}
