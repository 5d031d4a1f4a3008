//! Planes of symmetry: to the fluxes they are inviscid walls, beyond them is the mirror image; what images make of a node's
//! equations, for the CPU and for kernels.

use super::{Boundary, Word};
use crate::real::Real;

/// In case files.
pub(super) static WORD: Word = Word {
    name: "symmetry",
    text: "Plane of symmetry: the flow beyond is the mirror image, which gradients see and the momentum keeps to. Flow that is not symmetric wants `slip_wall`.",
    parameters: &[],
    read: |_| Ok(Boundary::Symmetry),
};

/// The state's mirror image in a plane of this normal.
#[inline(always)]
pub fn mirrored_state<T: Real>(w: &[T; 5], n: &[T; 3]) -> [T; 5] {
    let area2 = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).max(T::c(1e-300));
    let twice = T::c(2.0) * (w[1] * n[0] + w[2] * n[1] + w[3] * n[2]) / area2;
    [w[0], w[1] - twice * n[0], w[2] - twice * n[1], w[3] - twice * n[2], w[4]]
}

/// How planes of symmetry meet at a place.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Mirror<T> {
    /// Orthonormal axes, row by row; those that lie in all planes first.
    pub frame: [T; 9],
    /// 1 for each axis that lies in all planes, 0 for one out of some plane.
    pub inside: [T; 3],
    /// 1 where images turn the last two axes into one another: more than two planes meet in a line, images included; else 0.
    pub alike: T,
}

/// A node on planes of symmetry, as kernels read arrays of it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct MirrorNode<T> {
    /// The node's row.
    pub node: u32,
    /// Where the weights of its neighbors begin.
    pub first: u32,
    /// The planes.
    pub mirror: Mirror<T>,
}

/// A vector in the frame of a node.
#[inline(always)]
pub fn into_frame<T: Real>(frame: &[T; 9], v: &[T; 3]) -> [T; 3] {
    let mut out = [T::c(0.0); 3];
    for a in 0..3 {
        out[a] = frame[3 * a] * v[0] + frame[3 * a + 1] * v[1] + frame[3 * a + 2] * v[2];
    }
    out
}

/// A vector from the frame of a node.
#[inline(always)]
pub fn out_of_frame<T: Real>(frame: &[T; 9], v: &[T; 3]) -> [T; 3] {
    let mut out = [T::c(0.0); 3];
    for d in 0..3 {
        out[d] = frame[d] * v[0] + frame[3 + d] * v[1] + frame[6 + d] * v[2];
    }
    out
}

/// The rows of a node's equations (or its conserved state) with what its mirror images leave of the momentum's: the part that lies in all planes
/// of symmetry.
///
/// ```
/// use chromaflow_flow::bc::{Mirror, mirror_kept};
/// let frame = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
/// let plane = Mirror { frame, inside: [1.0, 1.0, 0.0], alike: 0.0 };
/// assert_eq!(mirror_kept(&plane, &[4.0, 1.0, 2.0, 3.0, 5.0]), [4.0, 1.0, 2.0, 0.0, 5.0]);
/// ```
#[inline(always)]
pub fn mirror_kept<T: Real>(mirror: &Mirror<T>, r: &[T; 5]) -> [T; 5] {
    let mut m = into_frame(&mirror.frame, &[r[1], r[2], r[3]]);
    for a in 0..3 {
        m[a] *= mirror.inside[a];
    }
    let m = out_of_frame(&mirror.frame, &m);
    [r[0], m[0], m[1], m[2], r[4]]
}

/// The rows of a Newton step's system: [`mirror_kept`] of the derivative `y`, and the direction `v` itself where that leaves nothing.
#[inline(always)]
pub fn mirror_rows<T: Real>(mirror: &Mirror<T>, y: &[T; 5], v: &[T; 5]) -> [T; 5] {
    let (own, inside) = (mirror_kept(mirror, y), mirror_kept(mirror, v));
    let mut out = own;
    for k in 1..4 {
        out[k] = own[k] + (v[k] - inside[k]);
    }
    out
}

/// A block of the matrix in a node's row, column-major: [`mirror_kept`] of each column, with `diagonal` = 1 those of [`mirror_rows`].
#[inline(always)]
pub fn mirror_block<T: Real>(mirror: &Mirror<T>, diagonal: T, block: &[T; 25]) -> [T; 25] {
    let mut out = *block;
    for c in 0..5 {
        let mut column = [T::c(0.0); 5];
        let mut unit = [T::c(0.0); 5];
        for k in 0..5 {
            column[k] = block[5 * c + k];
        }
        unit[c] = diagonal;
        let column = mirror_rows(mirror, &column, &unit);
        for k in 0..5 {
            out[5 * c + k] = column[k];
        }
    }
    out
}

/// Adds a neighbor of a node on planes of symmetry to the sums of least squares: `d` leads to it, `diff` are the changes of rho, u, v, w, p on
/// the way, `weight` counts its mirror images. `sums`, `[3, 8]`: with each axis of the frame those of the place (in the frame), and of
/// the changes.
#[inline(always)]
pub fn mirror_add<T: Real>(mirror: &Mirror<T>, weight: T, d: &[T; 3], diff: &[T; 5], sums: &mut [T; 24]) {
    let mut e = into_frame(&mirror.frame, d);
    let out2 = e[1] * e[1] + e[2] * e[2];
    e[0] = T::select((mirror.alike * out2).gt(T::c(1e-12) * e[0] * e[0]), T::c(0.0), e[0]);
    let u = into_frame(&mirror.frame, &[diff[1], diff[2], diff[3]]);
    let all = [e[0], e[1], e[2], diff[0], u[0], u[1], u[2], diff[4]];
    for a in 0..3 {
        for v in 0..8 {
            sums[8 * a + v] += weight * e[a] * all[v];
        }
    }
}

/// The gradients of rho, u, v, w, p at a node on planes of symmetry from the sums of [`mirror_add`], derivative of variable `v` along axis `d`
/// at `d * 5 + v`: least squares over all neighbors and their mirror images.
///
/// In the images' sums what is odd about a plane cancels: derivatives of density, pressure and the velocity in the planes across them, of
/// the velocity across a plane along it. Where images turn two axes into one another, both have the mean.
#[inline(always)]
pub fn mirror_gradient<T: Real>(mirror: &Mirror<T>, sums: &[T; 24]) -> [T; 15] {
    let (zero, one, half) = (T::c(0.0), T::c(1.0), T::c(0.5));
    let f = &mirror.frame;
    let inside = &mirror.inside;
    let alike = half * mirror.alike;
    // Diagonals of the moments and of the velocity's sums.
    let mut m = [sums[0], sums[9], sums[18]];
    let mut s = [sums[4], sums[13], sums[22]];
    let (dm, ds) = (m[2] - m[1], s[2] - s[1]);
    m = [m[0], m[1] + alike * dm, m[2] - alike * dm];
    s = [s[0], s[1] + alike * ds, s[2] - alike * ds];
    // Nothing changes along an axis along which there are no neighbors.
    for a in 0..3 {
        m[a] = T::select(m[a].gt(zero), m[a], one);
    }
    let cross = sums[1] * inside[0] * inside[1];
    let det = one - cross * cross / (m[0] * m[1]);
    let good = det.gt(T::c(1e-14));
    let r = T::select(good, one / T::select(good, det, one), zero);
    // g[a] of a quantity with the sums b.
    let inverse = [r / m[0], -cross * r / (m[0] * m[1]), r / m[1], one / m[2]];
    let mut out = [zero; 15];
    for v in 0..5 {
        let mut b = [zero; 3];
        for a in 0..3 {
            b[a] = sums[8 * a + 3 + v] * inside[a];
        }
        if v > 0 && v < 4 {
            let c = v - 1;
            for a in 0..3 {
                b[a] *= inside[c];
            }
            b[c] = s[c];
        }
        let g =
            [inverse[0] * b[0] + inverse[1] * b[1], inverse[1] * b[0] + inverse[2] * b[1], inverse[3] * b[2]];
        let g = out_of_frame(f, &g);
        for d in 0..3 {
            out[5 * d + v] = g[d];
        }
    }
    // The velocity's components, too, from the frame.
    for d in 0..3 {
        let u = out_of_frame(f, &[out[5 * d + 1], out[5 * d + 2], out[5 * d + 3]]);
        for v in 0..3 {
            out[5 * d + 1 + v] = u[v];
        }
    }
    out
}
