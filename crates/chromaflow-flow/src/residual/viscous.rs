#![allow(unsafe_code)]
//! Viscous fluxes: gradients in elements by Green-Gauss, made consistent with the edge's own difference off
//! tetrahedra, through the element's part of each dual face.
//!
//! Elements are colored so that no two of a color share an edge: they add to the edges' fluxes color by color, eight
//! elements at a time, without races and in an order that no team changes.

#[cfg(feature = "cuda")]
use super::cuda::ElementsCuda;
use crate::config::Quadratic;
use crate::dual::{Dual, drawn_together};
use crate::equations::perfect_gas::State;
use crate::gas::{Gas, Transport};
use crate::gradient::NodeRecord;
use crate::mesh::pairs::Pairs;
use crate::mesh::periodic::Periods;
use crate::mesh::{Kind, Mesh, Planar};
use crate::parallel;
use crate::real::{LANES, LaneKernel, Lanes, Real, dispatch, prefetch};
use crate::viscous::{
    CellWeights, edge_augmented, flux_quadratic, flux_quadratic_2020, flux_viscous_of, hex_weights,
    molecular, prism_weights, pyramid_weights, tet_weights, velocity_and_temperature, with_eddies,
};
#[cfg(feature = "cuda")]
use chromaflow_device::cuda::{CudaError, Stream};
use chromaflow_device::{Isa, SharedSlice, Team, split};
use std::ops::Range;

/// Elements of one type with N nodes and E edges, color by color.
pub(super) struct Group<const N: usize, const E: usize> {
    pub(super) kind: Kind,
    pub(super) nodes: Vec<[u32; N]>,
    /// Edge of each local edge; [`NONE`] for edges across the layer of a planar mesh.
    edges: Vec<[u32; E]>,
    colors: Vec<u32>,
}

const NONE: u32 = u32::MAX;

/// What turbulence adds to viscosity and conductivity.
#[derive(Clone, Copy, Debug)]
pub struct Eddies<'a> {
    /// Eddy viscosity of each node, over rho_inf a_inf and the mesh unit; empty in laminar flow.
    pub viscosity: &'a [f64],
    /// Turbulent Prandtl number.
    pub prandtl: f64,
    /// What the stress has besides.
    pub quadratic: Quadratic,
    /// Of QCR2020: fw of each node.
    pub relation: &'a [f64],
}

impl Eddies<'_> {
    /// Of laminar flow.
    pub const NONE: Self = Self { viscosity: &[], prandtl: 1.0, quadratic: Quadratic::None, relation: &[] };

    /// Viscosity of eight nodes.
    #[inline(always)]
    pub(crate) fn gather<V: Lanes>(&self, nodes: &[u32; LANES]) -> V {
        let [viscosity] = V::gather(self.viscosity.as_chunks::<1>().0, nodes);
        viscosity
    }

    /// fw of eight nodes.
    #[inline(always)]
    fn gather_relation<V: Lanes>(&self, nodes: &[u32; LANES]) -> V {
        let [relation] = V::gather(self.relation.as_chunks::<1>().0, nodes);
        relation
    }
}

/// The elements of a mesh, ready for viscous fluxes.
pub struct ViscousElements {
    pub(super) tets: Group<4, 6>,
    pub(super) pyramids: Group<5, 8>,
    pub(super) prisms: Group<6, 9>,
    pub(super) hexes: Group<8, 12>,
    /// Nodes of one plane and depth of the layer, where the mesh is planar.
    pub(super) planar: Option<Planar>,
    /// After which translations the mesh repeats.
    pub(super) periods: Periods,
}

impl ViscousElements {
    /// The elements of `mesh`, whose dual (collapsed, where the mesh is planar) is `dual`.
    pub fn new(mesh: &Mesh, dual: &Dual) -> Self {
        Self::colored(mesh, dual, None, &Team::new(1))
    }

    /// The same with colors for all elements, as [`element_colors`] gives them for the mesh that this one is a part of: fluxes are
    /// then added in its order.
    pub(crate) fn colored(mesh: &Mesh, dual: &Dual, colors: Option<&[u32]>, team: &Team) -> Self {
        let planar = mesh.planar;
        let mut at = 0;
        let mut next = |count: usize| {
            at += count;
            colors.map(|colors| &colors[at - count..at])
        };
        let [tets, pyramids, prisms, hexes] = Kind::ALL.map(|kind| next(mesh.count(kind)));
        Self {
            tets: Group::new(Kind::Tetrahedron, &mesh.tets, dual, planar, tets, team),
            pyramids: Group::new(Kind::Pyramid, &mesh.pyramids, dual, planar, pyramids, team),
            prisms: Group::new(Kind::Prism, &mesh.prisms, dual, planar, prisms, team),
            hexes: Group::new(Kind::Hexahedron, &mesh.hexes, dual, planar, hexes, team),
            planar,
            periods: mesh.periods,
        }
    }

    /// Bytes of the lists.
    pub fn bytes(&self) -> usize {
        self.tets.bytes() + self.pyramids.bytes() + self.prisms.bytes() + self.hexes.bytes()
    }

    /// Copies of all groups on the device.
    #[cfg(feature = "cuda")]
    pub(super) fn upload(&self, stream: &Stream) -> Result<[ElementsCuda; 4], CudaError> {
        Ok([
            self.tets.upload(stream, "viscous_tets")?,
            self.pyramids.upload(stream, "viscous_pyramids")?,
            self.prisms.upload(stream, "viscous_prisms")?,
            self.hexes.upload(stream, "viscous_hexes")?,
        ])
    }

    /// Nodes of the front plane of a planar mesh; else more than there are.
    #[cfg(feature = "cuda")]
    pub(super) fn plane(&self) -> u32 {
        self.planar.map_or(u32::MAX, |p| p.nodes_2d as u32)
    }

    /// Depth of the layer of a planar mesh; else zero.
    #[cfg(feature = "cuda")]
    pub(crate) fn depth(&self) -> f64 {
        self.planar.map_or(0.0, |p| p.depth)
    }

    /// Subtracts the viscous fluxes from the edges' fluxes, `[edges]`.
    pub fn subtract(
        &self,
        team: &Team,
        gas: Gas<f64>,
        transport: Transport<f64>,
        eddies: Eddies<'_>,
        nodes: &[NodeRecord],
        fluxes: &mut [State],
    ) {
        let (planar, periods, fluxes) = (self.planar, self.periods, &SharedSlice::new(fluxes));
        let field = Field { gas, transport, eddies, nodes, planar, periods, fluxes };
        self.tets.run(team, &field);
        self.pyramids.run(team, &field);
        self.prisms.run(team, &field);
        self.hexes.run(team, &field);
    }
}

/// Numbers by their keys; those of one key as they stand.
fn by_key(numbers: impl Iterator<Item = u32> + Clone, key: impl Fn(u32) -> u32) -> Vec<u32> {
    let mut starts = Vec::new();
    for key in numbers.clone().map(&key) {
        let key = key as usize;
        if key + 1 >= starts.len() {
            starts.resize(key + 2, 0_u32);
        }
        starts[key + 1] += 1;
    }
    for k in 1..starts.len() {
        starts[k] += starts[k - 1];
    }
    let mut sorted = vec![0; starts.last().map_or(0, |&count| count as usize)];
    for number in numbers {
        let at = &mut starts[key(number) as usize];
        sorted[*at as usize] = number;
        *at += 1;
    }
    sorted
}

/// Elements by their lowest node.
fn by_lowest_node<const N: usize>(elements: &[[u32; N]]) -> Vec<u32> {
    by_key(0..elements.len() as u32, |i| elements[i as usize].iter().copied().min().unwrap_or(0))
}

/// Greedy: the lowest color that none of the element's edges has seen.
fn greedy<const E: usize>(order: &[u32], edges: usize, edges_of: impl Fn(u32) -> [u32; E]) -> Vec<u32> {
    let mut seen = vec![0_u128; edges];
    let mut color = vec![0_u32; order.len()];
    for &i in order {
        let edges = edges_of(i);
        let edges = edges.iter().map(|&e| e as usize).filter(|&e| e != NONE as usize);
        let taken = edges.clone().fold(0, |all, e| all | seen[e]);
        let lowest = taken.trailing_ones();
        assert!(lowest < 128, "more than 128 elements share an edge");
        color[i as usize] = lowest;
        edges.for_each(|e| seen[e] |= 1 << lowest);
    }
    color
}

/// The colors of all elements of a mesh, type after type, that [`ViscousElements`] goes by. `edges` are those of the mesh.
pub(crate) fn element_colors(mesh: &Mesh, edges: &Pairs) -> Vec<u32> {
    fn of<const N: usize, const E: usize>(
        kind: Kind,
        elements: &[[u32; N]],
        edges: &Pairs,
        plane: u32,
    ) -> Vec<u32> {
        let ends =
            |nodes: &[u32; N], [p, q]: [usize; 2]| (in_plane(nodes[p], plane), in_plane(nodes[q], plane));
        let edges_of = |i: u32| -> [u32; E] {
            std::array::from_fn(|e| {
                let (a, b) = ends(&elements[i as usize], kind.edges()[e]);
                // Edges across the layer of a planar mesh are none.
                if a == b { NONE } else { edges.find(a, b) }
            })
        };
        greedy(&by_lowest_node(elements), edges.len(), edges_of)
    }
    let plane = mesh.planar.map_or(u32::MAX, |p| p.nodes_2d as u32);
    let mut all = of::<4, 6>(Kind::Tetrahedron, &mesh.tets, edges, plane);
    all.extend(of::<5, 8>(Kind::Pyramid, &mesh.pyramids, edges, plane));
    all.extend(of::<6, 9>(Kind::Prism, &mesh.prisms, edges, plane));
    all.extend(of::<8, 12>(Kind::Hexahedron, &mesh.hexes, edges, plane));
    all
}

#[derive(Clone, Copy)]
struct Field<'a> {
    gas: Gas<f64>,
    transport: Transport<f64>,
    eddies: Eddies<'a>,
    nodes: &'a [NodeRecord],
    planar: Option<Planar>,
    periods: Periods,
    fluxes: &'a SharedSlice<'a, State>,
}

impl<const N: usize, const E: usize> Group<N, E> {
    /// With the colors given, or with its own.
    fn new(
        kind: Kind,
        elements: &[[u32; N]],
        dual: &Dual,
        planar: Option<Planar>,
        colors: Option<&[u32]>,
        team: &Team,
    ) -> Self {
        let local = kind.edges();
        assert_eq!(local.len(), E);
        let plane = planar.map_or(u32::MAX, |p| p.nodes_2d as u32);
        let edges_of = |nodes: &[u32; N]| -> [u32; E] {
            std::array::from_fn(|e| {
                let (a, b) = (in_plane(nodes[local[e][0]], plane), in_plane(nodes[local[e][1]], plane));
                dual.edge(a, b).map_or(NONE, |edge| edge as u32)
            })
        };
        let mut given = vec![[NONE; E]; elements.len()];
        parallel::rows(team, elements.len(), 1, &mut given, |rows, out| {
            out.iter_mut().zip(&elements[rows]).for_each(|(edges, nodes)| *edges = edges_of(nodes));
        });
        let order = by_lowest_node(elements);
        let color = match colors {
            Some(colors) => colors.to_vec(),
            None => greedy(&order, dual.edges.len(), |i| given[i as usize]),
        };
        let order = by_key(order.iter().copied(), |i| color[i as usize]);
        let count = color.iter().max().map_or(0, |&c| c + 1);
        let colors = (0..=count).map(|c| order.partition_point(|&i| color[i as usize] < c) as u32).collect();
        let (mut nodes, mut edges) = (vec![[0; N]; order.len()], vec![[0; E]; order.len()]);
        parallel::rows2(team, order.len(), (1, &mut nodes), (1, &mut edges), |rows, nodes, edges| {
            for ((nodes, edges), &i) in nodes.iter_mut().zip(edges).zip(&order[rows]) {
                (*nodes, *edges) = (elements[i as usize], given[i as usize]);
            }
        });
        Self { kind, nodes, edges, colors }
    }

    #[cfg(feature = "cuda")]
    fn upload(&self, stream: &Stream, kernel: &'static str) -> Result<ElementsCuda, CudaError> {
        let (nodes, edges) =
            (stream.upload(self.nodes.as_flattened())?, stream.upload(self.edges.as_flattened())?);
        Ok(ElementsCuda { kernel, nodes, edges, colors: self.colors.clone() })
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.nodes) + size_of_val(&*self.edges)
    }

    fn run(&self, team: &Team, field: &Field<'_>)
    where
        Cell<N>: Shape<N>,
    {
        if self.nodes.is_empty() {
            return;
        }
        team.run(|member| {
            for color in self.colors.windows(2) {
                let (first, len) = (color[0] as usize, (color[1] - color[0]) as usize);
                let part = split(len, member.size(), member.rank());
                let range = first + part.start..first + part.end;
                dispatch(Isa::detect(), ElementFluxes { group: self, field: *field, range });
                member.barrier();
            }
        });
    }
}

/// A cell with N nodes.
pub(super) struct Cell<const N: usize>;

/// Green-Gauss weights of a type of cell.
pub(super) trait Shape<const N: usize> {
    fn weights<T: Real>(x: &[[T; 3]; N]) -> CellWeights<T, N>;
}

macro_rules! shape {
    ($n:literal, $weights:ident) => {
        impl Shape<$n> for Cell<$n> {
            #[inline(always)]
            fn weights<T: Real>(x: &[[T; 3]; $n]) -> CellWeights<T, $n> {
                $weights(x)
            }
        }
    };
}
shape!(4, tet_weights);
shape!(5, pyramid_weights);
shape!(6, prism_weights);
shape!(8, hex_weights);

/// Viscous fluxes of a range of elements of one color.
struct ElementFluxes<'a, const N: usize, const E: usize> {
    group: &'a Group<N, E>,
    field: Field<'a>,
    range: Range<usize>,
}

impl<const N: usize, const E: usize> LaneKernel for ElementFluxes<'_, N, E>
where
    Cell<N>: Shape<N>,
{
    type Output = ();

    #[inline(always)]
    fn run<V: Lanes>(self) {
        let gas = self.field.gas.lift::<V>();
        let transport = self.field.transport.lift::<V>();
        let local = self.group.kind.edges();
        let plane = self.field.planar.map_or(u32::MAX, |p| p.nodes_2d as u32);
        let depth = self.field.planar.map_or(0.0, |p| p.depth);
        let zero = V::c(0.0);
        let turbulent = !self.field.eddies.viscosity.is_empty();
        let prandtl = V::c(self.field.eddies.prandtl);
        let quadratic = self.field.eddies.quadratic;
        let mut at = self.range.start;
        while at < self.range.end {
            let count = LANES.min(self.range.end - at);
            self.prefetch(at + CELLS_AHEAD, plane);
            let mut x = [[zero; 3]; N];
            let mut f = [[zero; 4]; N];
            let (mut eddies, mut relation) = ([zero; N], [zero; N]);
            for p in 0..N {
                let mut index = [0; LANES];
                let mut lift = [0.0; LANES];
                for l in 0..LANES {
                    let node = self.group.nodes[at + l.min(count - 1)][p];
                    index[l] = in_plane(node, plane);
                    lift[l] = if node >= plane { depth } else { 0.0 };
                }
                let record = V::gather(self.field.nodes, &index);
                x[p] = [record[5], record[6], record[7] + V::from_array(&lift)];
                let w = [record[0], record[1], record[2], record[3], record[4]];
                f[p] = velocity_and_temperature(gas, &w);
                if turbulent {
                    eddies[p] = self.field.eddies.gather(&index);
                    if quadratic == Quadratic::Qcr2020 {
                        relation[p] = self.field.eddies.gather_relation(&index);
                    }
                }
            }
            drawn_together(&self.field.periods, &mut x);
            let cell = <Cell<N> as Shape<N>>::weights(&x);
            let mut gradient = [[zero; 3]; 4];
            for p in 0..N {
                for v in 0..4 {
                    for d in 0..3 {
                        gradient[v][d] += cell.weight[p][d] * f[p][v];
                    }
                }
            }
            let areas: [[V; 3]; E] = dual_areas(self.group.kind, &x);
            for e in 0..E {
                let [p, q] = local[e];
                let dx = [x[q][0] - x[p][0], x[q][1] - x[p][1], x[q][2] - x[p][2]];
                let mut face = [zero; 4];
                let mut own = gradient;
                for v in 0..4 {
                    face[v] = V::c(0.5) * (f[p][v] + f[q][v]);
                    if N != 4 {
                        own[v] = edge_augmented(&gradient[v], f[q][v] - f[p][v], &dx);
                    }
                }
                let mut diffusing = molecular(gas, transport, face[3]);
                if turbulent {
                    diffusing = with_eddies(gas, &diffusing, V::c(0.5) * (eddies[p] + eddies[q]), prandtl);
                }
                let mut flux = flux_viscous_of(&diffusing, &face, &own, &areas[e]);
                if turbulent && quadratic != Quadratic::None {
                    let eddy_viscosity = V::c(0.5) * (eddies[p] + eddies[q]);
                    let besides = if quadratic == Quadratic::Qcr2020 {
                        let relation = V::c(0.5) * (relation[p] + relation[q]);
                        flux_quadratic_2020(eddy_viscosity, relation, &face, &own, &areas[e])
                    } else {
                        flux_quadratic(eddy_viscosity, &face, &own, &areas[e])
                    };
                    for v in 1..flux.len() {
                        flux[v] += besides[v];
                    }
                }
                // No mass diffuses.
                let mut taken = [[0.0; 4]; LANES];
                V::scatter(&[flux[1], flux[2], flux[3], flux[4]], &mut taken);
                for l in 0..count {
                    let edge = self.group.edges[at + l][e];
                    if edge == NONE {
                        continue;
                    }
                    let nodes = &self.group.nodes[at + l];
                    let up = in_plane(nodes[p], plane) < in_plane(nodes[q], plane);
                    let sign = if up { 1.0 } else { -1.0 };
                    // SAFETY: no other element of this color has this edge, so no other thread touches it before the
                    // barrier.
                    let out = unsafe { self.field.fluxes.write(edge as usize..edge as usize + 1) };
                    for v in 0..4 {
                        out[0][1 + v] -= sign * taken[l][v];
                    }
                }
            }
            at += LANES;
        }
    }
}

/// So many elements before their use, their nodes and fluxes are asked for: those of a color are far from one another.
pub(super) const CELLS_AHEAD: usize = 2 * LANES;

/// The row of a node: of a planar mesh, whose second plane has the numbers after the first, that in the first.
#[inline(always)]
pub(super) fn in_plane(node: u32, plane: u32) -> u32 {
    if node >= plane { node - plane } else { node }
}

impl<const N: usize, const E: usize> ElementFluxes<'_, N, E> {
    #[inline(always)]
    fn prefetch(&self, at: usize, plane: u32) {
        prefetch_nodes(&self.group.nodes, self.field.nodes, at, plane);
        for edges in self.group.edges.get(at..at + LANES).into_iter().flatten() {
            for &edge in edges {
                self.field.fluxes.prefetch(edge as usize);
            }
        }
    }
}

/// Asks for the nodes of eight elements.
#[inline(always)]
pub(super) fn prefetch_nodes<const N: usize>(
    elements: &[[u32; N]],
    nodes: &[NodeRecord],
    at: usize,
    plane: u32,
) {
    for element in elements.get(at..at + LANES).into_iter().flatten() {
        for &node in element {
            prefetch(nodes, in_plane(node, plane));
        }
    }
}

/// The element's part of the dual face of each of its edges, from its first node to its second.
#[inline(always)]
fn dual_areas<V: Real, const N: usize, const E: usize>(kind: Kind, x: &[[V; 3]; N]) -> [[V; 3]; E] {
    let local = kind.edges();
    let zero = V::c(0.0);
    let mut center = [zero; 3];
    for p in x {
        for d in 0..3 {
            center[d] += V::c(1.0 / N as f64) * p[d];
        }
    }
    let mut out = [[zero; 3]; E];
    for face in kind.faces() {
        let mut middle = [zero; 3];
        for &p in *face {
            for d in 0..3 {
                middle[d] += V::c(1.0 / face.len() as f64) * x[p][d];
            }
        }
        for i in 0..face.len() {
            let (p, q) = (face[i], face[(i + 1) % face.len()]);
            let (mut a, mut b) = ([zero; 3], [zero; 3]);
            for d in 0..3 {
                let mid = V::c(0.5) * (x[p][d] + x[q][d]);
                a[d] = center[d] - mid;
                b[d] = middle[d] - mid;
            }
            let e = local.iter().position(|&[r, s]| (r, s) == (p, q) || (s, r) == (p, q)).unwrap_or(0);
            let half = V::c(if local[e][0] == p { 0.5 } else { -0.5 });
            out[e][0] += half * (a[1] * b[2] - a[2] * b[1]);
            out[e][1] += half * (a[2] * b[0] - a[0] * b[2]);
            out[e][2] += half * (a[0] * b[1] - a[1] * b[0]);
        }
    }
    out
}
