//! First moments of the faces between control volumes: what a flux that varies over its face carries besides its value in the middle of
//! the edge.
//!
//! One flux in the middle m of each edge, times the area of its whole face, is exact for fluxes F that vary linearly where the control
//! volume has it so: sum over its faces of (x - m) n = 0, x on the face. Simplices have (Barth and Jespersen 1989, Nishikawa 2015), and
//! so have parallelograms. Other elements have not: where lines of a mesh bend, behind a sharp trailing edge of an O-grid above all, dp/dx
//! comes out twice as large as it is, on any mesh, however fine.
//!
//! M : dF/dx with the moments M of the faces, the integrals of (x - m) n, mends it, but they reach far: between layers on curved walls
//! they are many cells long, and cancel from one face to the next but for rounding and the change of the gradient. Only their sums over
//! control volumes matter. Of all moments with the same sums these are the least ones, over area times length of each edge:
//! `M = w (lambda_a - lambda_b)`, `w = (|n| |dx|)^2`, from Laplace's equation on the mesh's graph.

#[cfg(test)]
mod tests;

use super::turned::turned_moment;
use crate::dual::{Dual, add, norm, scale, topology};
use crate::mesh::{Kind, Mesh};
use crate::parallel;
use crate::ranks::Rows;
use chromaflow_comm::Op;
use chromaflow_device::Team;
use std::sync::Mutex;

/// Sums of (x - m) n over volumes below which a mesh has none: rounding.
const NONE: f64 = 1e-8;

/// Steps of Chebyshev's iteration for lambda.
const STEPS: usize = 64;

/// Eigenvalues that it is made for, of the matrix over its diagonal: to 2, which none exceeds.
const EIGENVALUES: [f64; 2] = [0.005, 2.0];

/// First moments of each face about the middle m of its edge, `[edges]`: entry `[d][k]` stands for the integral of (x - m)_d n_k, and has
/// the same sum over each control volume away from the boundary. Empty where all sums are zero, as on triangles and tetrahedra.
///
/// None is larger than `most` times area and length of its edge: larger ones are cut, and the sums then are not reached. `mesh` is the
/// one that this dual was made from, before it was collapsed; over ranks its part, with its `rows`. It does not depend on the number
/// of ranks or threads. Collective over ranks.
///
/// **Units**: cubes of the mesh's length unit.
///
/// ```
/// use chromaflow_device::Team;
/// use chromaflow_flow::{dual::Dual, mesh::generate::{Cells, box_mesh}, residual::least_moments};
///
/// let moments = |mesh| least_moments(&Dual::new(mesh), mesh, 0.3, (&Team::new(1), None));
/// let regular = box_mesh([4; 3], [1.0; 3], Cells::Hexes, 0.0);
/// assert!(moments(&regular).is_empty());
/// let mut bent = regular.clone();
/// bent.nodes.iter_mut().filter(|x| x[0] > 0.6).for_each(|x| x[1] *= 0.4 + x[0]);
/// assert!(!moments(&bent).is_empty());
/// ```
pub fn least_moments(
    dual: &Dual,
    mesh: &Mesh,
    most: f64,
    (team, rows): (&Team, Option<&Rows>),
) -> Vec<[[f64; 3]; 3]> {
    let largest = |here: f64| {
        let mut value = [here];
        rows.inspect(|rows| rows.share.reduce(Op::Max, &mut value));
        value[0]
    };
    let simplices = [Kind::Pyramid, Kind::Hexahedron, Kind::Prism]
        .iter()
        .all(|&kind| mesh.count(kind) == 0 || kind == Kind::Prism && mesh.planar.is_some());
    if largest(f64::from(u8::from(!simplices))) == 0.0 {
        return Vec::new();
    }
    let graph = Graph::new(dual, mesh, rows);
    let mut moments = moments_of_faces(dual, mesh, team);
    let sums = graph.sums(team, &moments);
    let relative = sums.iter().zip(&dual.volumes).map(|(sum, volume)| size(sum) / volume);
    if largest(relative.fold(0.0, f64::max)) < NONE {
        return Vec::new();
    }
    let lambda = graph.lambda(team, sums);
    parallel::rows(team, dual.edges.len(), 1, &mut moments, |range, out| {
        for (edge, out) in range.zip(out) {
            let [a, b] = dual.edges[edge].map(|i| lambda[i as usize]);
            let weight = graph.weights[edge];
            let least = times(weight, plus(a, times(-1.0, b)));
            *out = times((most * weight.sqrt() / size(&least)).min(1.0), least);
        }
    });
    moments
}

/// The moments of the faces themselves.
fn moments_of_faces(dual: &Dual, mesh: &Mesh, team: &Team) -> Vec<Tensor> {
    let n = dual.nodes();
    // Where the edges of each node to higher ones begin; nodes of the second plane of a planar mesh have none.
    let above = |i: usize| dual.pattern.range(i).filter(move |&k| dual.pattern.col_idx()[k] as usize > i);
    let mut ptr = vec![0; mesh.nodes.len() + 1];
    for i in 0..mesh.nodes.len() {
        ptr[i + 1] = ptr[i] + if i < n { above(i).count() as u32 } else { 0 };
    }
    let mut moments = vec![[[0.0; 3]; 3]; dual.edges.len()];
    let ranges = topology::node_ranges(mesh.nodes.len());
    let of_ranges: Vec<_> = topology::cut(&mut moments, &ptr, &ranges).into_iter().map(Mutex::new).collect();
    let axes = if mesh.planar.is_some() { 2 } else { 3 };
    topology::around_lower(mesh, team.size(), |own| {
        let mut moments = of_ranges[own.number].lock().expect("one thread has these nodes");
        let first = ptr[own.range.start] as usize;
        for node in own.range.start..own.range.end.min(n) {
            for &e in own.of(node) {
                let (kind, _, nodes) = mesh.element(e as usize);
                for piece in topology::pieces(mesh, kind, nodes) {
                    let [a, b] = piece.nodes.map(|i| i as usize % n);
                    // Edges across the layer of a planar mesh are gone.
                    if a.min(b) != node || a == b {
                        continue;
                    }
                    let edge = above(node)
                        .position(|k| dual.pattern.col_idx()[k] as usize == a.max(b))
                        .expect("every pair of an element was named");
                    let moment = &mut moments[ptr[node] as usize - first + edge];
                    let area = scale(if a < b { 1.0 } else { -1.0 }, piece.area);
                    for d in 0..axes {
                        for k in 0..axes {
                            moment[d][k] += piece.offset[d] * area[k];
                        }
                    }
                }
            }
        }
    });
    drop(of_ranges);
    moments
}

type Tensor = [[f64; 3]; 3];

fn plus(a: Tensor, b: Tensor) -> Tensor {
    std::array::from_fn(|d| add(a[d], b[d]))
}

fn times(factor: f64, a: Tensor) -> Tensor {
    a.map(|row| scale(factor, row))
}

fn size(a: &Tensor) -> f64 {
    norm(a.map(norm))
}

/// The graph of the nodes, weighted.
struct Graph<'a> {
    dual: &'a Dual,
    rows: Option<&'a Rows>,
    /// (|n| |dx|)^2 of each edge.
    weights: Vec<f64>,
    /// Sums of a node's weights; zero where lambda is: at the boundary, whose faces have moments that nobody counts, and of rows of other
    /// ranks.
    diagonal: Vec<f64>,
}

impl<'a> Graph<'a> {
    fn new(dual: &'a Dual, mesh: &Mesh, rows: Option<&'a Rows>) -> Self {
        let weight = |(&[a, b], area): (&[u32; 2], &[f64; 3])| {
            let size = norm(*area) * norm(dual.between(&mesh.nodes[a as usize], &mesh.nodes[b as usize]));
            size * size
        };
        let weights: Vec<f64> = dual.edges.iter().zip(&dual.areas).map(weight).collect();
        let around =
            |i: usize| dual.edge_of[dual.pattern.range(i)].iter().map(|&edge| weights[edge as usize]);
        let owned = |i: usize| rows.is_none_or(|rows| rows.share.owns(i));
        let mut diagonal: Vec<f64> =
            (0..dual.nodes()).map(|i| if owned(i) { around(i).sum() } else { 0.0 }).collect();
        dual.patches.iter().flat_map(|patch| &patch.nodes).for_each(|&i| diagonal[i as usize] = 0.0);
        Self { dual, rows, weights, diagonal }
    }

    /// What `f` makes of each row where lambda is to be found; zero elsewhere.
    fn each(&self, team: &Team, f: impl Fn(usize) -> Tensor + Sync) -> Vec<Tensor> {
        let mut out = vec![[[0.0; 3]; 3]; self.dual.nodes()];
        parallel::rows(team, out.len(), 1, &mut out, |range, out| {
            let free = range.zip(out).filter(|(i, _)| self.diagonal[*i] > 0.0);
            free.for_each(|(i, out)| *out = f(i));
        });
        out
    }

    /// Sums of moments over the control volumes.
    fn sums(&self, team: &Team, moments: &[Tensor]) -> Vec<Tensor> {
        let pattern = &self.dual.pattern;
        self.each(team, |i| {
            pattern.range(i).fold([[0.0; 3]; 3], |sum, k| {
                let sign = if (pattern.col_idx()[k] as usize) < i { -1.0 } else { 1.0 };
                plus(sum, times(sign, moments[self.dual.edge_of[k] as usize]))
            })
        })
    }

    /// Rows of other ranks become those of their owners, images turned ones.
    fn exchange(&self, values: &mut [Tensor]) {
        let Some(rows) = self.rows else { return };
        rows.share.exchange_ghosts(9, values.as_flattened_mut().as_flattened_mut());
        if let Some(seam) = &rows.seam {
            for &(image, of, turns) in &seam.images {
                values[image as usize] = turned_moment(&seam.rotation.matrix(turns), &values[of as usize]);
            }
        }
    }

    /// Solves sum over neighbors of w (lambda_i - lambda_j) = sums_i: Chebyshev's iteration (Saad 2003, algorithm 12.1), scaled by the
    /// diagonal.
    fn lambda(&self, team: &Team, sums: Vec<Tensor>) -> Vec<Tensor> {
        let (dual, pattern) = (self.dual, &self.dual.pattern);
        let [least, most] = EIGENVALUES;
        let (middle, half) = (0.5 * (most + least), 0.5 * (most - least));
        let mut ratio = half / middle;
        let mut residual = self.each(team, |i| times(1.0 / self.diagonal[i], sums[i]));
        let mut step = self.each(team, |i| times(1.0 / middle, residual[i]));
        let mut lambda = sums;
        lambda.fill([[0.0; 3]; 3]);
        for _ in 0..STEPS {
            self.exchange(&mut step);
            let (row, rest) = ((1, &mut lambda[..]), (1, &mut residual[..]));
            parallel::rows2(team, dual.nodes(), row, rest, |range, lambda, residual| {
                for ((i, lambda), residual) in range.zip(lambda).zip(residual) {
                    *lambda = plus(*lambda, step[i]);
                    if self.diagonal[i] > 0.0 {
                        let mean = pattern.range(i).fold([[0.0; 3]; 3], |sum, k| {
                            let weight = self.weights[dual.edge_of[k] as usize] / self.diagonal[i];
                            plus(sum, times(weight, step[pattern.col_idx()[k] as usize]))
                        });
                        *residual = plus(*residual, plus(mean, times(-1.0, step[i])));
                    }
                }
            });
            let next = 1.0 / (2.0 * middle / half - ratio);
            let (keep, add) = (next * ratio, 2.0 * next / half);
            step = self.each(team, |i| plus(times(keep, step[i]), times(add, residual[i])));
            ratio = next;
        }
        lambda
    }
}
