//! Uniform refinement.

use super::pairs::Pairs;
use super::{Kind, Marker, Mesh, Planar};
use crate::topology::elements;

/// Splits every element into eight (pyramids into six pyramids and four tetrahedra), every boundary triangle and
/// quadrilateral into four. A planar mesh is refined in its plane only and stays one layer.
///
/// New nodes are the midpoints of edges, the means of quadrilaterals and of hexahedra; nodes on a curved boundary are
/// not moved onto it. Tetrahedra keep their four corners; the octahedron that remains is cut along its shortest
/// diagonal (**Source**: Bey, *Tetrahedral grid refinement* (1995), with the diagonal of Zhang (1988)). The result is
/// conforming across all element types, and does not depend on anything but the mesh: the old nodes come first, then
/// those of edges, of quadrilaterals, of hexahedra.
///
/// ```
/// use chromaflow_mesh::{Mesh, refine};
/// let tet = Mesh {
///     nodes: vec![[0., 0., 0.], [1., 0., 0.], [0., 1., 0.], [0., 0., 1.]],
///     tets: vec![[0, 1, 2, 3]],
///     ..Default::default()
/// };
/// let fine = refine(&tet)?;
/// assert_eq!((fine.nodes.len(), fine.tets.len()), (10, 8));
/// # Ok::<(), chromaflow_mesh::TooLarge>(())
/// ```
///
/// # Errors
/// [`TooLarge`] when the refined mesh has more nodes than 32-bit numbers count.
pub fn refine(mesh: &Mesh) -> Result<Mesh, TooLarge> {
    match mesh.planar {
        Some(planar) => refine_planar(mesh, planar),
        None => refine_solid(mesh),
    }
}

/// A refined mesh would have too many nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the refined mesh has {nodes} nodes, more than 32-bit numbers count; refine fewer times")]
pub struct TooLarge {
    /// Nodes it would have.
    pub nodes: usize,
}

/// The diagonal that starts at the lowest corner: names a quadrilateral, whichever way it is walked round.
fn diagonal(q: [u32; 4]) -> (u32, u32) {
    let low = (0..4).min_by_key(|&i| q[i]).unwrap_or(0);
    (q[low], q[(low + 2) % 4])
}

fn mean(mesh: &Mesh, nodes: &[u32]) -> [f64; 3] {
    let mut sum = [0.0; 3];
    for &n in nodes {
        for d in 0..3 {
            sum[d] += mesh.nodes[n as usize][d];
        }
    }
    sum.map(|s| s / nodes.len() as f64)
}

/// The faces of an element that are quadrilaterals, as its own corners.
fn quads(kind: Kind, corners: &[u32]) -> impl Iterator<Item = [u32; 4]> + '_ {
    kind.faces().iter().filter(|f| f.len() == 4).map(move |f| std::array::from_fn(|i| corners[f[i]]))
}

fn refine_solid(mesh: &Mesh) -> Result<Mesh, TooLarge> {
    let n = mesh.nodes.len();
    let edges = Pairs::edges(mesh);
    let faces = Pairs::new(n, |pair| {
        for (a, b) in elements(mesh).flat_map(|(kind, e)| quads(kind, e)).map(diagonal) {
            pair(a, b);
        }
    });
    let (first_face, first_center) = (n + edges.len(), n + edges.len() + faces.len());
    let total = first_center + mesh.hexes.len();
    if u32::try_from(total).is_err() {
        return Err(TooLarge { nodes: total });
    }
    let mid = |a: u32, b: u32| n as u32 + edges.find(a, b);
    let center = |q: [u32; 4]| {
        let (a, b) = diagonal(q);
        first_face as u32 + faces.find(a, b)
    };

    let mut fine = Mesh { nodes: Vec::with_capacity(total), ..Default::default() };
    fine.nodes.extend_from_slice(&mesh.nodes);
    fine.nodes.extend(edges.iter().map(|(a, b)| mean(mesh, &[a, b])));
    fine.nodes.resize(total, [0.0; 3]);
    for q in elements(mesh).flat_map(|(kind, e)| quads(kind, e)) {
        fine.nodes[center(q) as usize] = mean(mesh, &q);
    }
    for (i, hex) in mesh.hexes.iter().enumerate() {
        fine.nodes[first_center + i] = mean(mesh, hex);
    }

    fine.tets.reserve_exact(8 * mesh.tets.len() + 4 * mesh.pyramids.len());
    for &tet in &mesh.tets {
        split_tet(&fine.nodes, tet, &mid, &mut fine.tets);
    }
    for &[a, b, c, d, apex] in &mesh.pyramids {
        let base = [a, b, c, d];
        let o = center(base);
        let side: [u32; 4] = std::array::from_fn(|i| mid(base[i], base[(i + 1) % 4]));
        let up: [u32; 4] = std::array::from_fn(|i| mid(base[i], apex));
        for i in 0..4 {
            fine.pyramids.push([base[i], side[i], o, side[(i + 3) % 4], up[i]]);
            fine.tets.push([side[i], up[i], up[(i + 1) % 4], o]);
        }
        fine.pyramids.push([up[0], up[1], up[2], up[3], apex]);
        fine.pyramids.push([up[3], up[2], up[1], up[0], o]);
    }
    for &[a, b, c, d, e, f] in &mesh.prisms {
        let level = |p: [u32; 3]| [p[0], p[1], p[2], mid(p[0], p[1]), mid(p[1], p[2]), mid(p[2], p[0])];
        let middle = [
            mid(a, d),
            mid(b, e),
            mid(c, f),
            center([a, b, e, d]),
            center([b, c, f, e]),
            center([c, a, d, f]),
        ];
        for [low, high] in [[level([a, b, c]), middle], [middle, level([d, e, f])]] {
            for t in TRIANGLES {
                fine.prisms.push([low[t[0]], low[t[1]], low[t[2]], high[t[0]], high[t[1]], high[t[2]]]);
            }
        }
    }
    for (i, h) in mesh.hexes.iter().enumerate() {
        let level = |q: [u32; 4], o: u32| {
            [q[0], mid(q[0], q[1]), q[1], mid(q[1], q[2]), q[2], mid(q[2], q[3]), q[3], mid(q[3], q[0]), o]
        };
        let [bottom, top] = [[h[0], h[1], h[2], h[3]], [h[4], h[5], h[6], h[7]]];
        let middle: [u32; 9] = std::array::from_fn(|k| match k {
            8 => (first_center + i) as u32,
            _ if k % 2 == 0 => mid(bottom[k / 2], top[k / 2]),
            _ => {
                let (s, t) = (k / 2, (k / 2 + 1) % 4);
                center([bottom[s], bottom[t], top[t], top[s]])
            }
        });
        for [low, high] in [[level(bottom, center(bottom)), middle], [middle, level(top, center(top))]] {
            for q in QUADS {
                fine.hexes.push(std::array::from_fn(|k| if k < 4 { low[q[k]] } else { high[q[k - 4]] }));
            }
        }
    }
    fine.markers = mesh
        .markers
        .iter()
        .map(|m| Marker {
            name: m.name.clone(),
            code: m.code,
            partner: m.partner.clone(),
            triangles: m.triangles.iter().flat_map(|&t| split_triangle(t, &mid)).collect(),
            quads: m.quads.iter().flat_map(|&q| split_quad(q, center(q), &mid)).collect(),
        })
        .collect();
    Ok(fine)
}

/// The four triangles of a split one, as positions in [corners, midpoints of 01, 12, 20].
const TRIANGLES: [[usize; 3]; 4] = [[0, 3, 5], [3, 1, 4], [5, 4, 2], [3, 4, 5]];
/// The four quadrilaterals of a split one, as positions in its rim (corner, midpoint, corner, ...) and center.
const QUADS: [[usize; 4]; 4] = [[0, 1, 8, 7], [1, 2, 3, 8], [8, 3, 4, 5], [7, 8, 5, 6]];

fn split_triangle([a, b, c]: [u32; 3], mid: &impl Fn(u32, u32) -> u32) -> [[u32; 3]; 4] {
    let p = [a, b, c, mid(a, b), mid(b, c), mid(c, a)];
    TRIANGLES.map(|t| t.map(|k| p[k]))
}

fn split_quad([a, b, c, d]: [u32; 4], center: u32, mid: &impl Fn(u32, u32) -> u32) -> [[u32; 4]; 4] {
    let p = [a, mid(a, b), b, mid(b, c), c, mid(c, d), d, mid(d, a), center];
    QUADS.map(|q| q.map(|k| p[k]))
}

fn split_tet(
    nodes: &[[f64; 3]],
    [a, b, c, d]: [u32; 4],
    mid: &impl Fn(u32, u32) -> u32,
    out: &mut Vec<[u32; 4]>,
) {
    let [ab, bc, ca] = [mid(a, b), mid(b, c), mid(c, a)];
    let [ad, bd, cd] = [mid(a, d), mid(b, d), mid(c, d)];
    out.extend([[a, ab, ca, ad], [ab, b, bc, bd], [ca, bc, c, cd], [ad, bd, cd, d]]);
    let length = |p: u32, q: u32| {
        let (p, q) = (nodes[p as usize], nodes[q as usize]);
        (0..3).map(|k| (p[k] - q[k]).powi(2)).sum::<f64>()
    };
    // The octahedron's three diagonals, each with the ring of the other four corners, counterclockwise seen from the
    // diagonal's second end.
    let choices = [([ab, cd], [ca, ad, bd, bc]), ([bc, ad], [ab, bd, cd, ca]), ([ca, bd], [bc, cd, ad, ab])];
    let shortest =
        choices.into_iter().min_by(|x, y| length(x.0[0], x.0[1]).total_cmp(&length(y.0[0], y.0[1])));
    if let Some(([p, q], ring)) = shortest {
        for i in 0..4 {
            out.push([p, ring[i], ring[(i + 1) % 4], q]);
        }
    }
}

fn refine_planar(mesh: &Mesh, planar: Planar) -> Result<Mesh, TooLarge> {
    let n = planar.nodes_2d;
    let triangle = |p: &[u32; 6]| [p[0], p[1], p[2]];
    let quad = |h: &[u32; 8]| [h[0], h[1], h[2], h[3]];
    let edges = Pairs::new(n, |pair| {
        for t in mesh.prisms.iter().map(triangle) {
            (0..3).for_each(|i| pair(t[i], t[(i + 1) % 3]));
        }
        for q in mesh.hexes.iter().map(quad) {
            (0..4).for_each(|i| pair(q[i], q[(i + 1) % 4]));
        }
    });
    let first_center = n + edges.len();
    let total = first_center + mesh.hexes.len();
    if u32::try_from(2 * total).is_err() {
        return Err(TooLarge { nodes: 2 * total });
    }
    // A node of either plane, as it is numbered in its own plane.
    let flat = |a: u32| if (a as usize) < n { a } else { a - n as u32 };
    let mid = |a: u32, b: u32| n as u32 + edges.find(flat(a), flat(b));
    let lift = total as u32;

    let mut fine = Mesh { planar: Some(Planar { nodes_2d: total, ..planar }), ..Default::default() };
    let middles = edges.iter().map(|(a, b)| mean(mesh, &[a, b]));
    let centers = mesh.hexes.iter().map(|h| mean(mesh, &quad(h)));
    let plane: Vec<_> = mesh.nodes[..n].iter().copied().chain(middles).chain(centers).collect();
    fine.nodes.extend_from_slice(&plane);
    fine.nodes.extend(plane.iter().map(|p| [p[0], p[1], p[2] + planar.depth]));
    for t in mesh.prisms.iter().map(triangle) {
        fine.prisms.extend(split_triangle(t, &mid).map(|[a, b, c]| [a, b, c, a + lift, b + lift, c + lift]));
    }
    for (i, q) in mesh.hexes.iter().map(quad).enumerate() {
        fine.hexes.extend(
            split_quad(q, (first_center + i) as u32, &mid)
                .map(|[a, b, c, d]| [a, b, c, d, a + lift, b + lift, c + lift, d + lift]),
        );
    }
    for m in &mesh.markers {
        let mut marker =
            Marker { name: m.name.clone(), code: m.code, partner: m.partner.clone(), ..Default::default() };
        if m.name == Planar::FRONT || m.name == Planar::BACK {
            let front = m.name == Planar::FRONT;
            // Outward of the plane z = 0 is down: the elements' bottoms turned over; the other plane is their top.
            marker.triangles = fine
                .prisms
                .iter()
                .map(|p| if front { [p[0], p[2], p[1]] } else { [p[3], p[4], p[5]] })
                .collect();
            marker.quads = fine
                .hexes
                .iter()
                .map(|h| if front { [h[0], h[3], h[2], h[1]] } else { [h[4], h[5], h[6], h[7]] })
                .collect();
        } else {
            for q in &m.quads {
                // Walk to where the edge in the front plane starts.
                let start = (0..4).find(|&i| (q[i] as usize) < n && (q[(i + 1) % 4] as usize) < n);
                let Some(start) = start else { continue };
                let (a, b) = (q[start], q[(start + 1) % 4]);
                let m = mid(a, b);
                marker.quads.push([a, m, m + lift, a + lift]);
                marker.quads.push([m, b, b + lift, m + lift]);
            }
        }
        fine.markers.push(marker);
    }
    Ok(fine)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    /// Divergence theorem, quadrilaterals cut into four triangles at the mean of their corners.
    fn element_volume(kind: Kind, points: &[[f64; 3]]) -> f64 {
        let det = |[a, b, c]: [[f64; 3]; 3]| {
            a[0] * (b[1] * c[2] - b[2] * c[1])
                + a[1] * (b[2] * c[0] - b[0] * c[2])
                + a[2] * (b[0] * c[1] - b[1] * c[0])
        };
        let mut six = 0.0;
        for face in kind.faces() {
            let p: Vec<_> = face.iter().map(|&i| points[i]).collect();
            let o: [f64; 3] = std::array::from_fn(|d| p.iter().map(|p| p[d]).sum::<f64>() / p.len() as f64);
            six += (0..p.len()).map(|i| det([p[i], p[(i + 1) % p.len()], o])).sum::<f64>();
        }
        six / 6.0
    }

    /// Every face is shared by two elements, walked in opposite directions, or is a boundary face.
    fn check(mesh: &Mesh) -> f64 {
        let mut faces: HashMap<Vec<u32>, i32> = HashMap::new();
        let mut total = 0.0;
        let mut count = |corners: Vec<u32>, way: i32| {
            // Walked from its lowest corner; the sign tells which way.
            let low = (0..corners.len()).min_by_key(|&i| corners[i]).unwrap();
            let mut walk: Vec<u32> = corners.iter().cycle().skip(low).take(corners.len()).copied().collect();
            let turned = walk[1] > walk[walk.len() - 1];
            if turned {
                walk[1..].reverse();
            }
            *faces.entry(walk).or_default() += if turned { -way } else { way };
        };
        for (kind, e) in elements(mesh) {
            let points: Vec<_> = e.iter().map(|&n| mesh.nodes[n as usize]).collect();
            let v = element_volume(kind, &points);
            assert!(v > 0.0, "{kind:?} {e:?} has volume {v}");
            total += v;
            for f in kind.faces() {
                count(f.iter().map(|&i| e[i]).collect(), 1);
            }
        }
        for m in &mesh.markers {
            m.triangles.iter().for_each(|t| count(t.to_vec(), -1));
            m.quads.iter().for_each(|q| count(q.to_vec(), -1));
        }
        assert!(faces.values().all(|&sum| sum == 0), "a face is left alone");
        total
    }

    fn closed(mut mesh: Mesh) -> Mesh {
        // Faces of one element only are its boundary.
        let mut seen: HashMap<Vec<u32>, Vec<u32>> = HashMap::new();
        for (kind, e) in elements(&mesh) {
            for f in kind.faces() {
                let corners: Vec<u32> = f.iter().map(|&i| e[i]).collect();
                let mut key = corners.clone();
                key.sort_unstable();
                if seen.remove(&key).is_none() {
                    seen.insert(key, corners);
                }
            }
        }
        let mut wall = Marker { name: "wall".into(), ..Default::default() };
        for face in seen.into_values() {
            match face[..] {
                [a, b, c] => wall.triangles.push([a, b, c]),
                [a, b, c, d] => wall.quads.push([a, b, c, d]),
                _ => unreachable!("faces have three or four corners"),
            }
        }
        mesh.markers.push(wall);
        mesh
    }

    /// A hexahedron with a pyramid on top, a prism at its side and a tetrahedron on the pyramid.
    fn mixed() -> Mesh {
        closed(Mesh {
            nodes: vec![
                [0., 0., 0.],
                [1., 0., 0.],
                [1., 1., 0.],
                [0., 1., 0.],
                [0., 0., 1.],
                [1., 0., 1.1],
                [1.1, 1., 1.],
                [0., 1., 1.],
                [0.5, 0.5, 1.8],
                [1.7, 0.5, 0.1],
                [1.7, 0.5, 1.2],
                [1.6, 0.5, 1.9],
            ],
            hexes: vec![[0, 1, 2, 3, 4, 5, 6, 7]],
            pyramids: vec![[4, 5, 6, 7, 8]],
            prisms: vec![[1, 9, 2, 5, 10, 6]],
            tets: vec![[5, 11, 6, 8]],
            ..Default::default()
        })
    }

    #[test]
    fn mixed_elements_stay_conforming_and_keep_their_volume() {
        let mut mesh = mixed();
        let volume = check(&mesh);
        for level in 1..=3 {
            mesh = refine(&mesh).unwrap();
            // The shared faces are warped: volumes agree in total only as far as the outer ones are planar.
            assert!((check(&mesh) - volume).abs() < 0.02 * volume, "level {level}");
        }
        assert_eq!(mesh.hexes.len(), 512);
        assert_eq!(mesh.prisms.len(), 512);
        assert_eq!(mesh.pyramids.len(), 216);
    }

    #[test]
    fn planar_faces_keep_the_volume_to_round_off() {
        let tet = closed(Mesh {
            nodes: vec![[0., 0., 0.], [1., 0.1, 0.], [0.2, 1., 0.], [0.1, 0.3, 1.]],
            tets: vec![[0, 1, 2, 3]],
            ..Default::default()
        });
        let volume = check(&tet);
        let fine = refine(&refine(&refine(&tet).unwrap()).unwrap()).unwrap();
        assert_eq!(fine.tets.len(), 512);
        assert!((check(&fine) - volume).abs() < 1e-14);
    }

    #[test]
    fn a_planar_mesh_stays_one_layer() {
        let mut mesh = closed(Mesh {
            nodes: vec![
                [0., 0., 0.],
                [1., 0., 0.],
                [1., 1., 0.],
                [0., 1., 0.],
                [2., 0.5, 0.],
                [0., 0., 0.3],
                [1., 0., 0.3],
                [1., 1., 0.3],
                [0., 1., 0.3],
                [2., 0.5, 0.3],
            ],
            hexes: vec![[0, 1, 2, 3, 5, 6, 7, 8]],
            prisms: vec![[1, 4, 2, 6, 9, 7]],
            planar: Some(Planar { nodes_2d: 5, depth: 0.3 }),
            ..Default::default()
        });
        let flat = |z: usize| move |q: &[u32]| q.iter().all(|&n| (n as usize) / 5 == z);
        let mut rim = mesh.markers.remove(0);
        for (z, name) in [(0, Planar::FRONT), (1, Planar::BACK)] {
            mesh.markers.push(Marker {
                name: name.into(),
                triangles: rim.triangles.iter().filter(|t| flat(z)(&t[..])).copied().collect(),
                quads: rim.quads.iter().filter(|q| flat(z)(&q[..])).copied().collect(),
                ..Default::default()
            });
        }
        rim.triangles.clear();
        rim.quads.retain(|q| !flat(0)(&q[..]) && !flat(1)(&q[..]));
        mesh.markers.push(rim);
        let volume = check(&mesh);
        for level in 1..=3 {
            mesh = refine(&mesh).unwrap();
            assert!((check(&mesh) - volume).abs() < 1e-14);
            let planar = mesh.planar.unwrap();
            assert_eq!(mesh.nodes.len(), 2 * planar.nodes_2d);
            assert_eq!((mesh.prisms.len(), mesh.hexes.len()), (4_usize.pow(level), 4_usize.pow(level)));
            for i in 0..planar.nodes_2d {
                let (low, high) = (mesh.nodes[i], mesh.nodes[i + planar.nodes_2d]);
                assert_eq!((low[0], low[1], low[2] + planar.depth), (high[0], high[1], high[2]));
            }
        }
    }
}
