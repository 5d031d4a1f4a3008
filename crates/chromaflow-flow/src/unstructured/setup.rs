//! From a mesh and a set-up to a solver at free stream.

use super::flow::may_damp;
use super::over_ranks::Divided;
use super::periodic::{joined, without_sides};
use super::start::{Around, Walls, beginning};
use super::unsteady::TimeLevels;
use super::{FlowSolver, FlowSystem, Ranks};
use crate::bc::{Condition, WallHeat, WallNode, wall_at};
use crate::config::{
    Boundary, Equations, FlowConfig, JacobianScheme, Limiter, Nonlinear, Quadrature, Space, Time,
};
use crate::dual::{Dual, Patch};
use crate::equations::perfect_gas::{N, State};
use crate::gas::{Gas, conserved};
use crate::gradient::{Mapping, Mirrors};
use crate::laps::Laps;
use crate::march::control::CflControl;
use crate::march::forces::ForceScale;
use crate::march::linear::{LinearSolver, numbering};
use crate::march::{FlowError, Times, slides};
use crate::mesh::pairs::Pairs;
use crate::mesh::periodic::Images;
use crate::mesh::{Mesh, Planar};
use crate::numbering::{merged_lines, renumber};
use crate::parallel;
use crate::ranks::Rows;
use crate::residual::{TurnedEdges, ViscousElements, is_node_wise, least_moments, primitive_of, round_off};
use chromaflow::Jacobian;
use chromaflow::dist::Share;
use chromaflow::order::Plan;
use chromaflow_comm::Solo;
use chromaflow_device::{Buffer, Team};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Of the layer of a planar mesh.
fn depth_of(mesh: &Mesh) -> f64 {
    mesh.planar.map_or(1.0, |planar| planar.depth)
}

/// Control volumes of this rank's nodes have a size; `node_of` is what the file calls them.
fn check_volumes(
    dual: &Dual,
    mesh: &Mesh,
    share: Option<&Arc<Share>>,
    node_of: impl Fn(usize) -> usize,
) -> Result<(), FlowError> {
    let owns = |i: usize| share.is_none_or(|share| share.owns(i));
    let bad = |&i: &usize| owns(i) && (dual.volumes[i] <= 0.0 || dual.volumes[i].is_nan());
    (0..dual.nodes()).find(bad).map_or(Ok(()), |i| {
        Err(FlowError::Volume { node: node_of(i), at: mesh.nodes[i], volume: dual.volumes[i] })
    })
}

impl FlowSolver {
    /// A solver at rest in the free stream everywhere.
    ///
    /// # Errors
    /// [`FlowError`] names the marker, the number or the node that is wrong.
    pub fn new(mesh: &Mesh, config: FlowConfig, team: Arc<Team>) -> Result<Self, FlowError> {
        let mut laps = Laps::default();
        let config = completed(mesh, config)?;
        let (merged, images) = joined(mesh, &config)?;
        if images.as_ref().is_some_and(|images| images.turned.is_some()) {
            // What passes across the seam passes as between ranks.
            let ranks = Ranks { ranks: Arc::new(Solo), reproducible: false };
            return Self::divided(Some((mesh, merged, images)), config, (team, laps), ranks);
        }
        let config = without_sides(config);
        let lines = lines_of(&config, images.as_ref());
        let numbered = renumber(&merged, numbering(&config.implicit, lines.as_deref()), &team);
        laps.end("order");
        Self::numbered(numbered, config, (team, laps), (images, None))
    }

    /// On a mesh whose nodes are numbered by rows, with its edges: all of a mesh, or a rank's part of one. `images`: which nodes of
    /// the file its nodes are, where periodic sides were merged.
    pub(super) fn numbered(
        (mesh, plan, edges): (Mesh, Plan, Pairs),
        mut config: FlowConfig,
        (team, mut laps): (Arc<Team>, Laps),
        (images, divided): (Option<Images>, Option<Divided>),
    ) -> Result<Self, FlowError> {
        Boundary::settle(&mut config.boundaries, config.equations);
        let (gas, planar, depth) = (config.gas.gas(), mesh.planar.is_some(), depth_of(&mesh));
        let (free, mut scale) = stream(&config, planar, depth);
        let dual = Dual::of_edges(&mesh, &edges, &team);
        let dual = match mesh.planar {
            Some(planar) => dual.collapsed(planar.nodes_2d),
            None => dual,
        };
        laps.end("dual");
        // Distances are measured from the walls of the whole mesh.
        let surface = divided.as_ref().map(|divided| divided.part.with_surface(config.needs_elements()));
        let colors = divided.as_ref().map(|divided| divided.part.element_colors.clone());
        let over = divided.map(|Divided { part, whole, kept, ranks }| {
            let sweeps = config.implicit.exchange;
            let mut rows = Rows::new(&ranks.ranks, &part, whole, &dual.pattern, ranks.reproducible, sweeps)?;
            rows.kept = kept;
            Ok::<_, FlowError>(rows)
        });
        let over = over.transpose()?;
        let share = over.as_ref().map(|rows| &rows.share);
        scale.turns_about = over.as_ref().and_then(Rows::turns_about);
        check_volumes(&dual, &mesh, share, |i| {
            let of_one = || node_in_file(plan.permutation.old_of_new()[i], images.as_ref());
            over.as_ref().map_or_else(of_one, |rows| rows.file[i] as usize)
        })?;
        laps.end("halo");
        let boundaries = conditions_of(&dual, &config, gas, free, depth);
        let fixed = wall_nodes(&mesh, &dual, &boundaries, share)?;
        let (mirrors, n) = (Mirrors::new(&mesh, &dual, &boundaries, &fixed), dual.nodes());
        let viscous = (config.equations == Equations::Laminar).then(|| {
            (
                config.gas.transport(&config.freestream),
                Arc::new(ViscousElements::colored(&mesh, &dual, colors.as_deref(), &team)),
            )
        });
        laps.end("state");
        let around = (&mesh, surface.as_ref().unwrap_or(&mesh));
        let transport = viscous.as_ref().map(|(transport, _)| transport);
        let walls = Walls::new(around, &dual, &boundaries, transport, (&free, &config), &team, over.as_ref());
        let mapping = mapping_of(walls.around.as_ref(), &dual, &mesh, &config.space, &team);
        let mut nodes = beginning(&walls, &mesh, &fixed, (n, gas), &free, (&config, &team));
        let mut q: Vec<State> = parallel::map(&team, &nodes, |node| conserved(gas, &primitive_of(node)));
        mirrors.hold(gas, &(0..q.len()), &mut q, &mut nodes);
        laps.end("walls");
        let moments = moments_of(&dual, &mesh, &config, (&team, over.as_ref()));
        let turned = turned_edges(&dual, &config.space, over.as_ref(), &mapping, &moments);
        // Each member touches its own rows first.
        let again = |q: &[State]| parallel::map(&team, q, |q| *q);
        let round_off = round_off(&dual, gas, (&free, &config), share.map(|share| &**share), &team);
        let levels = match config.time {
            Time::Steady(_) => TimeLevels::default(),
            Time::Unsteady(_) => TimeLevels { last: again(&q), before: again(&q) },
        };
        let jacobian = Jacobian::zeroed(dual.pattern.clone(), N, config.implicit.policy)
            .map_err(|e| FlowError::Linear(e.to_string()))?;
        let linear = LinearSolver::over(&team, &plan.batches, &jacobian, &config.implicit, share)?;
        laps.end("matrix");
        let control =
            control_of(&config, share.map_or(n, |share| share.whole().div_ceil(share.ranks().size())));
        let mut system = FlowSystem {
            team: Arc::clone(&team),
            gas,
            boundaries,
            friction: vec![[0.0; 4]; fixed.len()],
            viscous,
            mapping,
            moments,
            turned,
            levels,
            source: None,
            coupled: Vec::new(),
            fixed,
            laws: Default::default(),
            mirrors,
            held: Vec::new(),
            scale,
            planar,
            depth: mesh.planar.map(|planar| planar.depth),
            volume: match share {
                None => dual.volumes.iter().sum(),
                Some(share) => share.sum_rows(|i| [dual.volumes[i]])[0],
            },
            round_off,
            last_good: again(&q),
            first: if may_damp(&config) { again(&q) } else { Vec::new() },
            cfl_shares: parallel::map(&team, &q, |_| 1.0),
            q,
            nodes,
            gradients: Buffer::zeroed(if config.space.second_order { n } else { 0 }),
            limits: if config.space.second_order && is_node_wise(config.space.limiter) {
                parallel::map(&team, &dual.volumes, |_| [1.0; N])
            } else {
                Vec::new()
            },
            fluxes: Buffer::zeroed(dual.edges.len()),
            residual: vec![[0.0; N]; n],
            update: vec![0.0; N * n],
            jacobian,
            linear: Some(linear),
            tight: None,
            times: Times::default(),
            laps,
            plan,
            over,
            images,
            dual,
            config,
        };
        system.start_coupled(surface.as_ref().unwrap_or(&mesh), walls.held.as_ref())?;
        system.check_ranks()?;
        system.laps.end("coupled");
        Ok(Self::of(system, control))
    }
}

/// The conditions of the patches, in their order.
fn conditions_of(
    dual: &Dual,
    config: &FlowConfig,
    gas: Gas<f64>,
    free: State,
    depth: f64,
) -> Vec<Condition<f64>> {
    let of = |patch: &Patch| {
        let mut condition =
            Boundary::of_marker(&config.boundaries, &patch.name, gas, &free).condition(gas, free);
        condition.mass_flow *= depth;
        condition.cutoff_mach = config.cutoff_mach();
        condition
    };
    dual.patches.iter().map(of).collect()
}

/// The free stream, and the axes and scales of forces.
fn stream(config: &FlowConfig, planar: bool, depth: f64) -> (State, ForceScale) {
    let lift_y = config.reference.lift_axis.map_or(planar, |axis| axis == 1);
    let axis = if lift_y { 1 } else { 2 };
    let stream = config.freestream;
    let free = stream.primitive(config.gas.gas(), axis);
    let scale = ForceScale {
        drag: stream.direction(axis),
        lift: stream.lift_direction(axis),
        force: stream.dynamic_pressure() * config.reference.area * depth,
        length: config.reference.length,
        center: config.reference.moment_center,
        lift_y,
        pressure: free[4],
        turns_about: None,
    };
    (free, scale)
}

/// What chooses the steps of systems of so many nodes of a rank.
fn control_of(config: &FlowConfig, nodes: usize) -> CflControl {
    let mut control = CflControl::new(config.implicit.cfl).with_shares();
    if config.implicit.jacobian == JacobianScheme::Roe {
        let inviscid = config.equations == Equations::Euler;
        control = control.with_roes_matrix(config.freestream.mach, inviscid);
    }
    match config.implicit.nonlinear {
        Nonlinear::NewtonKrylov(newton) => {
            control.of_newton_steps().with_directions(newton.directions, N * nodes)
        }
        Nonlinear::DefectCorrection => control,
    }
}

/// Edges at the seam of turned sides, where a limiter looks at components.
fn turned_edges(
    dual: &Dual,
    space: &Space,
    rows: Option<&Rows>,
    mapping: &Mapping,
    moments: &[[[f64; 3]; 3]],
) -> TurnedEdges {
    let limited = space.second_order && space.limiter != Limiter::None;
    let seam = rows.and_then(|rows| Some((rows.seam.as_ref()?, &*rows.share))).filter(|_| limited);
    seam.map(|seam| TurnedEdges::new(dual, seam, &mapping.by_edge, moments)).unwrap_or_default()
}

/// First moments of faces where fluxes vary over them. In inviscid flow they are cut sooner: what sets the circulation there is dissipation
/// at sharp edges alone, and with moments of three tenths of a cell there it overshoots on the way.
fn moments_of(
    dual: &Dual,
    mesh: &Mesh,
    config: &FlowConfig,
    (team, rows): (&Team, Option<&Rows>),
) -> Vec<[[f64; 3]; 3]> {
    let varies = match config.space.quadrature {
        Quadrature::Auto => mesh.planar.is_some(),
        Quadrature::EdgeMidpoint => false,
        Quadrature::Linear => true,
    };
    let most = if config.equations == Equations::Euler { 0.1 } else { 0.3 };
    if config.space.second_order && varies {
        least_moments(dual, mesh, most, (team, rows))
    } else {
        Vec::new()
    }
}

/// The mapping of layers on curved walls, with and without slip.
fn mapping_of(walls: Option<&Around>, dual: &Dual, mesh: &Mesh, space: &Space, team: &Team) -> Mapping {
    let places = &mesh.nodes[..dual.nodes()];
    let mapping = match walls.filter(|_| space.second_order && space.mapped) {
        Some(walls) => Mapping::new(team, dual, places, &walls.distance, &walls.away),
        None => Mapping::default(),
    };
    mapping.with_periods(team, dual, places)
}

/// The set-up with conditions for the planes of a planar mesh, checked.
pub(super) fn completed(mesh: &Mesh, mut config: FlowConfig) -> Result<FlowConfig, FlowError> {
    if mesh.planar.is_some() {
        for side in [Planar::FRONT, Planar::BACK] {
            config.boundaries.entry(side.to_owned()).or_insert(Boundary::Symmetry);
        }
    }
    check(mesh, &config)?;
    Ok(config)
}

/// Lines of the merged mesh, where they are given.
pub(super) fn lines_of<'a>(config: &'a FlowConfig, images: Option<&Images>) -> Option<Cow<'a, [Vec<u32>]>> {
    let given = config.lines.as_deref()?;
    Some(images.map_or(Cow::Borrowed(given), |images| Cow::Owned(merged_lines(given, &images.merged))))
}

/// The number that a node has in the mesh's file; of joined ones the first.
fn node_in_file(node: u32, images: Option<&Images>) -> usize {
    images.map_or(node as usize, |images| images.first[node as usize] as usize)
}

/// The nodes on walls without slip, in their order; walls that move must slide along themselves.
fn wall_nodes(
    mesh: &Mesh,
    dual: &Dual,
    conditions: &[Condition<f64>],
    share: Option<&Arc<Share>>,
) -> Result<Vec<WallNode<f64>>, FlowError> {
    let mut fixed = BTreeMap::new();
    for (patch, condition) in dual.patches.iter().zip(conditions).filter(|(_, c)| c.kind.is_no_slip()) {
        let places = patch.nodes.iter().map(|&i| mesh.nodes[i as usize]);
        let faces = places.zip(patch.areas.iter().copied());
        let through = match share {
            None => condition.motion.through(faces),
            Some(share) => {
                let sums = share.sums(2, |add| {
                    let nodes = patch.nodes.iter().zip(faces);
                    for (_, (x, n)) in nodes.filter(|(i, _)| share.owns(**i as usize)) {
                        let parts = condition.motion.across(&x, &n);
                        parts.into_iter().enumerate().for_each(|(k, value)| add(k, value));
                    }
                });
                if sums[1] > 0.0 { sums[0] / sums[1] } else { 0.0 }
            }
        };
        slides(&patch.name, through)?;
        for &node in &patch.nodes {
            let wall = wall_at(condition, &mesh.nodes[node as usize]);
            let own = WallNode { node, heat: condition.heat, wall };
            let known = fixed.entry(node).or_insert(own);
            // Where walls meet, a temperature holds that one of them has; the velocity is that of the first.
            if known.heat == WallHeat::Adiabatic && own.heat == WallHeat::Isothermal {
                known.heat = own.heat;
                known.wall.temperature = own.wall.temperature;
            }
        }
    }
    Ok(fixed.into_values().collect())
}

impl FlowSolver {
    /// Adds a source term: what a manufactured solution needs.
    pub fn set_source(&mut self, source: super::Source) {
        self.host_to_set().source = Some(source);
    }

    /// Sets the state at each node from its place: primitive variables rho, u, v, w, p. Walls keep their own.
    pub fn set_state(&mut self, state: impl Fn([f64; 3]) -> State) {
        let host = self.host_to_set();
        for (node, q) in host.nodes.iter_mut().zip(&mut host.q) {
            let w = state([node[5], node[6], node[7]]);
            node[..5].copy_from_slice(&w);
            *q = conserved(host.gas, &w);
        }
        for &WallNode { node: i, wall, .. } in &host.fixed {
            let node = &mut host.nodes[i as usize];
            node[1..4].copy_from_slice(&wall.velocity);
            host.q[i as usize] = conserved(host.gas, &primitive_of(node));
        }
        host.hold_walls();
        host.last_good.copy_from_slice(&host.q);
        if matches!(host.config.time, Time::Unsteady(_)) {
            host.levels.last.copy_from_slice(&host.q);
            host.levels.before.copy_from_slice(&host.q);
        }
    }

    /// Holds the nodes of these markers at a given state, whatever their boundary condition, and sets it: primitive
    /// variables rho, u, v, w, p from the place. What an exact or manufactured solution needs; in unsteady runs, call it
    /// for the time of each step. Replaces what was held before.
    ///
    /// # Errors
    /// [`FlowError::UnknownMarker`]; a device's, where one computes.
    pub fn hold_state(
        &mut self,
        markers: &[&str],
        state: impl Fn([f64; 3]) -> State,
    ) -> Result<(), FlowError> {
        self.sync()?;
        let host = &mut self.host;
        let mut held = Vec::new();
        for &marker in markers {
            held.extend(host.nodes_of(marker)?);
        }
        held.sort_unstable();
        held.dedup();
        for &i in &held {
            let node = &mut host.nodes[i as usize];
            let w = state([node[5], node[6], node[7]]);
            node[..5].copy_from_slice(&w);
            host.q[i as usize] = conserved(host.gas, &w);
            host.last_good[i as usize] = host.q[i as usize];
        }
        host.held = held;
        self.host_to_set();
        Ok(())
    }
}

impl FlowSystem {
    /// The nodes of a marker.
    pub(super) fn nodes_of(&self, marker: &str) -> Result<&[u32], FlowError> {
        let patches = &self.dual.patches;
        patches.iter().find(|p| p.name == marker).map(|p| &p.nodes[..]).ok_or_else(|| {
            let all: Vec<&str> = patches.iter().map(|p| p.name.as_str()).collect();
            FlowError::UnknownMarker { marker: marker.to_owned(), all: all.join(", ") }
        })
    }
}

fn check(mesh: &Mesh, config: &FlowConfig) -> Result<(), FlowError> {
    let all = || mesh.markers.iter().map(|m| m.name.as_str()).collect::<Vec<_>>().join(", ");
    for marker in &mesh.markers {
        if !config.boundaries.contains_key(&marker.name) {
            return Err(FlowError::MissingBoundary { marker: marker.name.clone(), all: all() });
        }
    }
    for name in config.boundaries.keys() {
        if !mesh.markers.iter().any(|m| m.name == *name) {
            return Err(FlowError::UnknownMarker { marker: name.clone(), all: all() });
        }
    }
    let positive = [
        ("mach", config.freestream.mach),
        ("reference.area", config.reference.area),
        ("reference.length", config.reference.length),
        ("cfl.start", config.implicit.cfl.start),
        ("cfl.min", config.implicit.cfl.min),
        ("max_change", config.implicit.max_change),
    ];
    let laminar = config.equations == Equations::Laminar;
    let viscous = laminar.then_some(("reynolds", config.freestream.reynolds));
    for (name, value) in positive.into_iter().chain(viscous) {
        if !(value > 0.0 && value.is_finite()) {
            return Err(FlowError::Value { name: name.into(), value, expected: "must be positive" });
        }
    }
    if config.gas.gamma <= 1.0 || config.gas.gamma.is_nan() {
        return Err(FlowError::Value {
            name: "gamma".into(),
            value: config.gas.gamma,
            expected: "must exceed 1",
        });
    }
    let cutoff = config.cutoff_mach();
    if cutoff.is_nan() || cutoff <= 0.0 {
        return Err(FlowError::Value {
            name: "cutoff_mach".into(),
            value: cutoff,
            expected: "must be positive",
        });
    }
    let fixes = [("entropy_fix", config.space.entropy_fix), ("acoustic_fix", config.space.acoustic_fix)];
    for (name, value) in fixes {
        if !(0.0..=1.0).contains(&value) {
            return Err(FlowError::Value { name: name.into(), value, expected: "must lie between 0 and 1" });
        }
    }
    Ok(())
}
