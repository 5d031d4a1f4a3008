#![allow(unsafe_code)]
//! Launches of residual.cu and viscous.cu.

use super::arguments::{
    AdaptByFlows, AdaptOutlets, BoundaryFluxes, BoundaryNodes, EdgeFluxes, ElementFluxes, GatherFluxes,
    Kernels, NodeLimits, OpenStress,
};
use crate::bc::{Condition, WallNode};
use crate::config::{FluxScheme, Limiter, Quadrature, Space};
use crate::dual::Dual;
use crate::equations::perfect_gas::N;
use crate::gpu::{Diffusion, MeshCuda, Params, blocks, source, upload_structs};
use crate::mesh::Kind;
use crate::ranks::Rows;
use crate::residual::turned::cuda::TurnedCuda;
use chromaflow::gpu::{GpuError, ShareCuda};
use chromaflow_device::cuda::{DeviceBuffer, Kernel, KernelSource, Stream};
use chromaflow_device::{enqueue, kernel_arguments};
use std::collections::BTreeMap;
use std::fmt::Write as _;

fn inviscid_source(flux: u32, limiter: u32, moments: bool) -> KernelSource {
    let text =
        source("residual", "", include_str!("residual.cu")).record::<NodeLimits>().records::<Kernels>();
    // The compiler's own quotients have branches, and take a third more registers.
    let text = text.define("QUICK", 1).define("MOMENTS", u32::from(moments));
    text.define("FLUX", flux).define("LIMITER", limiter)
}

/// Every combination of flux, limiter and moments.
pub(crate) fn all_sources() -> Vec<KernelSource> {
    let combinations = (0..3)
        .flat_map(|flux| (0..4).flat_map(move |limiter| [(flux, limiter, false), (flux, limiter, true)]));
    combinations.map(|(flux, limiter, moments)| inviscid_source(flux, limiter, moments)).collect()
}

/// Those of a scheme.
pub(crate) fn sources_of(space: &Space, diffusion: Diffusion) -> Vec<KernelSource> {
    let viscous = (diffusion != Diffusion::None).then(|| viscous_source(diffusion));
    // Whether a mesh has moments shows when it is there.
    let variants = 1 + usize::from(space.second_order && space.quadrature != Quadrature::EdgeMidpoint);
    let inviscid = [false, true].into_iter().take(variants);
    inviscid.map(|moments| inviscid_of(space, moments)).chain(viscous).collect()
}

fn inviscid_of(space: &Space, moments: bool) -> KernelSource {
    let flux = match space.flux {
        FluxScheme::Roe => 0,
        FluxScheme::Hllc => 1,
        FluxScheme::VanLeer => 2,
    };
    inviscid_source(flux, limiter_code(space.limiter), moments)
}

fn limiter_code(limiter: Limiter) -> u32 {
    match limiter {
        Limiter::None => 0,
        Limiter::VanAlbada => 1,
        Limiter::Venkatakrishnan => 2,
        Limiter::Barth => 3,
    }
}

fn viscous_source(diffusion: Diffusion) -> KernelSource {
    let tables = format!("{CELLS}{}", cell_tables());
    let text = source("viscous", &tables, include_str!("viscous.cu"))
        .record::<ElementFluxes>()
        .record::<OpenStress>();
    let text = text.define("TURBULENT", u32::from(diffusion.is_turbulent()));
    let quadratic = match diffusion {
        Diffusion::Quadratic => 1,
        Diffusion::Quadratic2020 => 2,
        _ => 0,
    };
    text.define("QUADRATIC", quadratic)
}

/// Green-Gauss weights by the number of an element's nodes.
pub(super) const CELLS: &str = include_str!("cells.cuh");

/// Every flux, every limiter and the moments once; all combinations are made of these.
pub(crate) fn kernel_sources() -> Vec<KernelSource> {
    let inviscid = [(0, 1, false), (1, 0, false), (2, 2, false), (0, 3, true)];
    let inviscid = inviscid.map(|(flux, limiter, moments)| inviscid_source(flux, limiter, moments));
    let viscous =
        [Diffusion::Molecular, Diffusion::Turbulent, Diffusion::Quadratic, Diffusion::Quadratic2020];
    let viscous = viscous.map(viscous_source);
    let turned = [super::turned::cuda::kernel_source()];
    inviscid
        .into_iter()
        .chain(viscous)
        .chain(turned)
        .chain(super::node_gradients::cuda::kernel_sources())
        .collect()
}

/// `Cell<N>` for viscous.cu: ends of each edge, the two faces beside it in ascending order, whether each runs from the
/// edge's first node to its second, and the corners of each face (-1 where there is no fourth).
fn cell_tables() -> String {
    let mut text = String::from("\ntemplate <int N> struct Cell;\n");
    let kinds = [(4, Kind::Tetrahedron), (5, Kind::Pyramid), (6, Kind::Prism), (8, Kind::Hexahedron)];
    for (nodes, kind) in kinds {
        let (edges, faces) = (kind.edges(), kind.faces());
        let sides = |&[p, q]: &[usize; 2]| -> Vec<(usize, bool)> {
            let follows = |face: &[usize], a, b| {
                (0..face.len()).any(|i| (face[i], face[(i + 1) % face.len()]) == (a, b))
            };
            let one = |(f, face): (usize, &&[usize])| match (follows(face, p, q), follows(face, q, p)) {
                (true, _) => Some((f, true)),
                (_, true) => Some((f, false)),
                _ => None,
            };
            faces.iter().enumerate().filter_map(one).collect()
        };
        let table = |name: &str, rows: Vec<Vec<i64>>| {
            let width = rows[0].len();
            let rows: Vec<String> = rows
                .iter()
                .map(|r| format!("{{{}}}", r.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")))
                .collect();
            let (count, rows) = (rows.len(), rows.join(", "));
            format!(
                "    static constexpr int {name}(int i, int j) {{ constexpr int t[{count}][{width}] = {{{rows}}}; return t[i][j]; }}\n"
            )
        };
        let _ = writeln!(
            text,
            "template <> struct Cell<{nodes}> {{\n    static constexpr int EDGES = {};",
            edges.len()
        );
        let each = |f: &dyn Fn(&[usize; 2]) -> Vec<i64>| edges.iter().map(f).collect::<Vec<_>>();
        text += &table("end", each(&|e| e.iter().map(|&p| p as i64).collect()));
        text += &table("face", each(&|e| sides(e).iter().map(|s| s.0 as i64).collect()));
        text += &table("forward", each(&|e| sides(e).iter().map(|s| i64::from(s.1)).collect()));
        let corner = |face: &&[usize], c: usize| face.get(c).map_or(-1, |&p| p as i64);
        text += &table("corner", faces.iter().map(|f| (0..4).map(|c| corner(f, c)).collect()).collect());
        text += "};\n";
    }
    text
}

/// Boundary conditions on the device: for each node on a boundary its parts of it, in the order of the patches.
pub struct BoundaryCuda {
    pub(crate) count: usize,
    pub(crate) node_of: DeviceBuffer<u32>,
    /// Whether a wall without slip has the node's velocity.
    pub(crate) stuck: DeviceBuffer<u32>,
    pub(crate) ptr: DeviceBuffer<u32>,
    pub(crate) patch_of: DeviceBuffer<u32>,
    pub(crate) areas: DeviceBuffer<f64>,
    /// Array of `Condition`, a patch each.
    pub(crate) conditions: DeviceBuffer<u64>,
    /// Outlets of given mass flow: patch, range of the nodes and areas that follow.
    pub(crate) outlets: DeviceBuffer<u32>,
    pub(crate) outlet_nodes: DeviceBuffer<u32>,
    pub(crate) outlet_areas: DeviceBuffer<f64>,
}

impl BoundaryCuda {
    /// The patches of `dual` with their conditions and the nodes whose velocity walls have; with a rank's `rows` flows through outlets are those of the nodes that it owns.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn new(
        stream: &Stream,
        dual: &Dual,
        conditions: &[Condition<f64>],
        fixed: &[WallNode<f64>],
        rows: Option<&Rows>,
    ) -> Result<Self, GpuError> {
        let mut parts: BTreeMap<u32, Vec<(u32, [f64; 3])>> = BTreeMap::new();
        for (p, patch) in dual.patches.iter().enumerate() {
            for (&node, &area) in patch.nodes.iter().zip(&patch.areas) {
                parts.entry(node).or_default().push((p as u32, area));
            }
        }
        let mut ptr = vec![0];
        for list in parts.values() {
            ptr.push(ptr[ptr.len() - 1] + list.len() as u32);
        }
        let all = || parts.values().flatten();
        let (mut outlets, mut outlet_nodes, mut outlet_areas) = (Vec::new(), Vec::new(), Vec::new());
        for (p, patch) in dual.patches.iter().enumerate().filter(|(p, _)| conditions[*p].mass_flow > 0.0) {
            let first = outlet_nodes.len();
            let own = |node: u32| rows.is_none_or(|rows| rows.share.owns(node as usize));
            for (&node, area) in patch.nodes.iter().zip(&patch.areas).filter(|(node, _)| own(**node)) {
                let part = rows.map_or(1.0, |rows| rows.in_sector(node));
                outlet_nodes.push(node);
                outlet_areas.extend(area.map(|v| part * v));
            }
            outlets.extend([p as u32, first as u32, outlet_nodes.len() as u32]);
        }
        let stuck = |node: &u32| u32::from(fixed.binary_search_by_key(node, |wall| wall.node).is_ok());
        Ok(Self {
            count: parts.len(),
            stuck: stream.upload(&parts.keys().map(stuck).collect::<Vec<_>>())?,
            node_of: stream.upload(&parts.keys().copied().collect::<Vec<_>>())?,
            ptr: stream.upload(&ptr)?,
            patch_of: stream.upload(&all().map(|p| p.0).collect::<Vec<_>>())?,
            areas: stream.upload(&all().flat_map(|p| p.1).collect::<Vec<_>>())?,
            conditions: upload_structs(stream, conditions)?,
            outlets: stream.upload(&outlets)?,
            outlet_nodes: stream.upload(&outlet_nodes)?,
            outlet_areas: stream.upload(&outlet_areas)?,
        })
    }
}

/// The steps of an inviscid residual on the device, in the order of their names: limits, fluxes, sums, boundary.
///
/// **Twin**: [`Inviscid`](super::Inviscid), [`node_limits`](super::node_limits). **Launch shapes**: eight lanes a row; a
/// thread an edge; five lanes a row; a thread a node of the boundary.
pub struct ResidualCuda {
    limits: Option<Kernel>,
    kernels: Kernels,
}

impl ResidualCuda {
    /// Compiles or loads the kernels of a scheme, for faces with `moments` or without.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn new(stream: &Stream, space: &Space, moments: bool) -> Result<Self, GpuError> {
        let limiter = limiter_code(space.limiter);
        let module = stream.gpu().module(&inviscid_of(space, moments))?;
        Ok(Self {
            limits: if limiter >= 2 { Some(module.kernel("node_limits")?) } else { None },
            kernels: Kernels::of(&module)?,
        })
    }

    /// Factors of node-wise limiters, `[rows, 5]`; nothing for other limiters.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn limits(
        &self,
        stream: &Stream,
        mesh: &MeshCuda,
        params: &Params,
        nodes: &DeviceBuffer<f64>,
        gradients: &DeviceBuffer<f64>,
        limits: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        let Some(kernel) = &self.limits else { return Ok(()) };
        assert!(
            nodes.len() == 8 * mesh.rows
                && gradients.len() == 16 * mesh.rows
                && limits.len() == N * mesh.rows
        );
        // SAFETY: columns are rows of the mesh; the arrays have the lengths checked above.
        Ok(unsafe {
            enqueue! { kernel.launch(blocks(mesh.rows, 16), 128), stream, NodeLimits {
                rows: mesh.rows as u32, row_ptr: &mesh.row_ptr, col_idx: &mesh.col_idx, nodes, gradients,
                mapped_first: mesh.mapped_by_row.first(), mapped: mesh.mapped_by_row.values(), params: &params.values, out: &*limits,
            } }
        }?)
    }

    /// Fluxes from a to b of all edges, `[edges, 5]`; of second order with `gradients` and limits.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn fluxes(
        &self,
        stream: &Stream,
        mesh: &MeshCuda,
        params: &Params,
        nodes: &DeviceBuffer<f64>,
        second: Option<(&DeviceBuffer<f64>, &DeviceBuffer<f64>)>,
        fluxes: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        assert!(nodes.len() == 8 * mesh.rows && fluxes.len() == N * mesh.edges);
        let Kernels { edge_fluxes_1, edge_fluxes_2, .. } = &self.kernels;
        let kernel = if second.is_some() { edge_fluxes_2 } else { edge_fluxes_1 };
        let (gradients, limits) = second.map_or((None, None), |(g, l)| {
            assert!(g.len() == 16 * mesh.rows && (self.limits.is_none() || l.len() == N * mesh.rows));
            (Some(g), Some(l))
        });
        // SAFETY: the ends of edges are rows of the mesh; the arrays have the lengths checked above; moments are there
        // where the kernel was made to read them.
        Ok(unsafe {
            enqueue! { kernel.launch(blocks(mesh.edges, 128), 128), stream, EdgeFluxes {
                edges: mesh.edges as u32, ends: &mesh.ends, areas: &mesh.areas, nodes, gradients, limits,
                mapped_first: mesh.mapped_by_edge.first(), mapped: mesh.mapped_by_edge.values(), moments: &mesh.moments, params: &params.values,
                out: &*fluxes,
            } }
        }?)
    }

    /// Replaces fluxes of second order through edges at the seam of turned sides.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn turned_fluxes(
        &self,
        stream: &Stream,
        turned: &TurnedCuda,
        params: &Params,
        nodes: &DeviceBuffer<f64>,
        (gradients, limits): (&DeviceBuffer<f64>, &DeviceBuffer<f64>),
        fluxes: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        let limits = self.limits.as_ref().map(|_| limits);
        turned.replace(stream, (&self.kernels.edge_fluxes_2, params), [nodes, gradients], limits, fluxes)
    }

    /// Sums of the edges' fluxes out of each control volume, `[rows, 5]`.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn gather(
        &self,
        stream: &Stream,
        mesh: &MeshCuda,
        fluxes: &DeviceBuffer<f64>,
        residual: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        assert!(residual.len() == N * mesh.rows && fluxes.len() == N * mesh.edges);
        // SAFETY: every position names an edge of the mesh; the arrays have the lengths checked above.
        Ok(unsafe {
            enqueue! { self.kernels.gather_fluxes.launch(blocks(mesh.rows, 24), 128), stream, GatherFluxes {
                rows: mesh.rows as u32, row_ptr: &mesh.row_ptr, signed_edge: &mesh.signed_edge, fluxes,
                out: &*residual,
            } }
        }?)
    }

    /// Adapts the back pressure of outlets of given mass flow to the state `nodes`; with `hold` it is the one that the next are adapted from.
    ///
    /// **Twin**: [`adapt_outlets`](super::adapt_outlets). **Launch shape**: a thread block an outlet.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn adapt_outlets(
        &self,
        stream: &Stream,
        boundary: &BoundaryCuda,
        params: &Params,
        nodes: &DeviceBuffer<f64>,
        share: Option<&ShareCuda>,
        (alone, hold): (bool, bool),
    ) -> Result<(), GpuError> {
        let count = boundary.outlets.len() / 3;
        let (alone, hold) = (u32::from(alone), u32::from(hold));
        let mut flows = match share {
            Some(_) if count > 0 => Some(DeviceBuffer::<f64>::zeroed(stream, 2 * count)?),
            _ => None,
        };
        // SAFETY: outlets name ranges of the list of nodes, which are those of the mesh, and a condition each; flows are two an outlet.
        unsafe {
            enqueue! { self.kernels.adapt_outlets.launch(count, 256), stream, AdaptOutlets {
                outlets: &boundary.outlets, node_of: &boundary.outlet_nodes, areas: &boundary.outlet_areas,
                nodes, params: &params.values, alone, hold, conditions: &boundary.conditions,
                flows: flows.as_ref(),
            } }?;
        }
        let (Some(flows), Some(share)) = (&mut flows, share) else { return Ok(()) };
        let mut all = flows.download()?;
        share.sum(&mut all);
        flows.upload(&all)?;
        // SAFETY: as above.
        Ok(unsafe {
            enqueue! { self.kernels.adapt_by_flows.launch(blocks(count, 128), 128), stream, AdaptByFlows {
                count: count as u32, outlets: &boundary.outlets, flows: &*flows, params: &params.values,
                alone, hold, conditions: &boundary.conditions,
            } }
        }?)
    }

    /// Adds the fluxes through the boundary.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn add_boundaries(
        &self,
        stream: &Stream,
        boundary: &BoundaryCuda,
        params: &Params,
        nodes: &DeviceBuffer<f64>,
        residual: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        assert!(nodes.len() / 8 == residual.len() / N);
        // SAFETY: nodes of the boundary are nodes of the mesh, each once.
        Ok(unsafe {
            enqueue! { self.kernels.boundary_fluxes.launch(blocks(boundary.count, 128), 128), stream, BoundaryFluxes {
                at: boundary.nodes(params, nodes), out: &*residual,
            } }
        }?)
    }
}

impl BoundaryCuda {
    /// What kernels over the boundary's nodes take of it, with a thread a node.
    pub(crate) fn nodes(&self, params: &Params, nodes: &DeviceBuffer<f64>) -> BoundaryNodes {
        kernel_arguments! { BoundaryNodes {
            count: self.count as u32, node_of: &self.node_of, stuck: &self.stuck, ptr: &self.ptr, patch_of: &self.patch_of,
            areas: &self.areas, conditions: &self.conditions, nodes, params: &params.values,
        } }
    }
}

/// Elements of one type on the device, color by color.
pub struct ElementsCuda {
    pub(crate) kernel: &'static str,
    pub(crate) nodes: DeviceBuffer<u32>,
    pub(crate) edges: DeviceBuffer<u32>,
    pub(crate) colors: Vec<u32>,
}

/// Viscous fluxes on the device.
///
/// **Twin**: [`ViscousElements`](super::ViscousElements) and [`OpenStress`](super::OpenStress). **Launch shapes**: a launch a color, a
/// thread an element; a thread a node of the boundary.
pub struct ViscousCuda {
    pub(super) groups: Vec<(Kernel, ElementsCuda)>,
    open: Kernel,
    pub(super) plane: u32,
    diffusion: Diffusion,
}

impl ViscousCuda {
    /// The elements of `viscous`.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn new(
        stream: &Stream,
        viscous: &super::ViscousElements,
        diffusion: Diffusion,
    ) -> Result<Self, GpuError> {
        let module = stream.gpu().module(&viscous_source(diffusion))?;
        let groups = viscous.upload(stream)?.into_iter().filter(|g| !g.nodes.is_empty());
        let groups = groups.map(|g| Ok((module.kernel(g.kernel)?, g))).collect::<Result<_, GpuError>>()?;
        Ok(Self { groups, open: module.kernel("open_stress")?, plane: viscous.plane(), diffusion })
    }

    /// Subtracts the viscous fluxes from the edges' fluxes, `[edges, 5]`; in turbulent flow with the eddy viscosity of each
    /// node, with QCR2020 with its fw, too.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn subtract(
        &self,
        stream: &Stream,
        params: &Params,
        nodes: &DeviceBuffer<f64>,
        [eddies, relation]: [Option<&DeviceBuffer<f64>>; 2],
        fluxes: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        let eddies = self.diffusion.eddies(eddies, nodes.len() / 8);
        assert_eq!(relation.is_some(), self.diffusion == Diffusion::Quadratic2020);
        for (kernel, group) in &self.groups {
            for color in group.colors.windows(2) {
                let count = color[1] - color[0];
                // SAFETY: the elements' nodes and edges are those of the mesh; no two of a color share an edge, and
                // colors follow one another in the stream.
                unsafe {
                    enqueue! { kernel.launch(blocks(count as usize, 128), 128), stream, ElementFluxes {
                        first: color[0], count, element_nodes: &group.nodes, element_edges: &group.edges,
                        nodes, plane: self.plane, eddies, relation, params: &params.values, fluxes: &*fluxes,
                    } }?;
                }
            }
        }
        Ok(())
    }

    /// Subtracts the viscous fluxes through open boundaries from the residual, `[rows, 5]`, by the gradients of their nodes.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn subtract_open(
        &self,
        stream: &Stream,
        (boundary, params): (&BoundaryCuda, &Params),
        [nodes, gradients]: [&DeviceBuffer<f64>; 2],
        eddies: Option<&DeviceBuffer<f64>>,
        residual: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        let rows = residual.len() / N;
        assert!(nodes.len() == 8 * rows && gradients.len() == 16 * rows);
        let eddies = self.diffusion.eddies(eddies, rows);
        // SAFETY: nodes of the boundary are nodes of the mesh, each once; the arrays have the lengths checked above.
        Ok(unsafe {
            enqueue! { self.open.launch(blocks(boundary.count, 128), 128), stream, OpenStress {
                at: boundary.nodes(params, nodes), gradients, eddies, out: &*residual,
            } }
        }?)
    }
}
