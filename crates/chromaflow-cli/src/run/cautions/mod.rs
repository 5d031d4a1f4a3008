//! What a run of compressible flow may not be meant to do, by its free stream and its boundaries: said before it starts.

mod inlets;
mod layer;
mod seams;
mod side;
mod symmetry;
mod units;

pub use layer::{open_layer, open_layer_of};
pub use seams::coincident;
pub use side::{ENTERS, Side};

use super::counted;
use crate::case::FlowSection;
use chromaflow_flow::bc::Motion;
use chromaflow_flow::config::{
    Boundary, Equations, Freestream, GasConfig, Hybrid, Reference, Time, TurbulenceConfig, WallTreatment,
};
use chromaflow_flow::mesh::{self, Mesh, Report};
use std::collections::BTreeMap;

/// What there is to look at.
pub struct Told<'a> {
    pub boundaries: &'a BTreeMap<String, Boundary>,
    pub stream: &'a Freestream,
    pub gas: &'a GasConfig,
    pub reference: &'a Reference,
    pub turbulence: Option<&'a TurbulenceConfig>,
    pub time: &'a Time,
}

impl Told<'_> {
    /// All of it; `sides`: planes of symmetry, inlets and outlets.
    pub fn cautions(&self, sides: &[Side]) -> Vec<String> {
        let (all, mach) = (self.boundaries, self.stream.mach);
        let lift = self.reference.lift_axis.unwrap_or(2);
        let stream = self.stream.direction(lift);
        let told = [
            choking(all, mach),
            throttling(all, mach),
            held_back(all),
            inlets::filling(sides, all, self.time),
            unheld(all, self.time),
            symmetry::crossing(sides, all, stream),
            steady_eddies(self.turbulence, self.time),
            fast_walls(self.turbulence, mach),
        ];
        let units = units::odd(all, self.stream, (self.gas.gamma, lift));
        inlets::missing(sides, all).into_iter().chain(told.into_iter().flatten()).chain(units).collect()
    }
}

/// Names of markers, as texts have them.
fn listed<'a>(markers: impl Iterator<Item = &'a String>) -> String {
    markers.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Says of cells that are folded over.
pub fn folded(mesh: &Mesh, threads: usize) -> Option<String> {
    let mut report = Report::default();
    mesh::find_folded(&mut report, mesh, None, threads);
    let cells = counted(report.warnings(), "folded cell");
    let first = report.findings.first()?;
    Some(format!(
        "{cells}, the first {first}; `chromaflow mesh check` lists them; smooth or remesh around them"
    ))
}

/// Says of boundaries that extrapolate where they choke, see [`Boundary::chokes`].
fn choking(boundaries: &BTreeMap<String, Boundary>, mach: f64) -> Option<String> {
    let extrapolate = boundaries.iter().filter(|(_, boundary)| **boundary == Boundary::Extrapolation);
    let names = listed(extrapolate.map(|(name, _)| name));
    (!names.is_empty() && Boundary::chokes(boundaries, mach)).then(|| {
        format!(
            "{names}: no marker sets a pressure, so the flow leaves at the speed of sound at least; kind = \"outlet\" with a pressure where \
             it does not"
        )
    })
}

/// Says of inlets whose total state is given that they let no supersonic stream in.
fn throttling(boundaries: &BTreeMap<String, Boundary>, mach: f64) -> Option<String> {
    let inlets = boundaries.iter().filter(|(_, boundary)| matches!(boundary, Boundary::Inlet { .. }));
    let names = listed(inlets.map(|(name, _)| name));
    (mach >= 1.0 && !names.is_empty()).then(|| {
        format!(
            "{names}: an inlet with a total state lets gas in at the speed of sound at most, and the stream has Mach {mach}; \"inlet\" without \
             values lets the stream in as it is"
        )
    })
}

/// Says of outlets whose pressure no inlet overcomes that the flow comes in through them.
fn held_back(boundaries: &BTreeMap<String, Boundary>) -> Option<String> {
    let most = boundaries.values().filter_map(|boundary| match boundary {
        Boundary::Inlet { total_pressure, .. } => Some(*total_pressure),
        Boundary::Farfield | Boundary::VelocityInlet { .. } => Some(f64::INFINITY),
        _ => None,
    });
    let most = most.reduce(f64::max)?;
    let held = |(_, boundary): &(&String, &Boundary)| matches!(boundary, Boundary::Outlet { pressure } if *pressure >= most);
    let names = listed(boundaries.iter().filter(held).map(|(name, _)| name));
    (!names.is_empty()).then(|| {
        format!("{names}: the pressure there is no less than the total pressure {most} of the inlets: nothing flows out")
    })
}

/// Says of flows in which nothing sets a pressure: of closed ones that march in local time steps, and of those whose mass flows are given at
/// both ends.
fn unheld(boundaries: &BTreeMap<String, Boundary>, time: &Time) -> Option<String> {
    let of = |is: fn(&Boundary) -> bool| boundaries.iter().filter(move |(_, b)| is(b)).map(|(name, _)| name);
    let open = || boundaries.values().filter(|b| !is_closed(b));
    if open().next().is_none() {
        let moves = |b: &Boundary| matches!(b, Boundary::MovingWall { motion, .. } if *motion != Motion { center: motion.center, ..Motion::NONE });
        let cools = |b: &Boundary| {
            matches!(b, Boundary::NoSlipIsothermal { .. } | Boundary::MovingWall { temperature: Some(_), .. })
        };
        let heats = boundaries.values().any(moves) && !boundaries.values().any(cools);
        let heat = if heats {
            "; the wall that moves heats it without end, as no wall has a `temperature`: there is no steady state"
        } else {
            ""
        };
        // Steps of physical time keep the mass.
        return matches!(time, Time::Steady(_)).then(|| {
            format!(
                "no marker lets gas in or out, so nothing sets a pressure, and steady runs do not keep the mass: pressure and density of the result are \
                 what the way there makes of them; march.mode = \"unsteady\" with march.subiteration_drop = 9 keeps the mass, an outlet sets a pressure{heat}"
            )
        });
    }
    let given = |b: &Boundary| matches!(b, Boundary::VelocityInlet { .. } | Boundary::MassFlowOutlet { .. });
    let drains = boundaries.values().any(|b| matches!(b, Boundary::MassFlowOutlet { .. }));
    (drains && open().all(given)).then(|| {
        format!(
            "{}: what comes in and what goes out are given, so nothing sets a pressure, and the gas may drain or fill for ever; an outlet with a \
             pressure, or kind = \"inlet\" with a total state, sets one",
            listed(of(given))
        )
    })
}

/// Says of hybrids with large eddy simulation that they are no steady flow.
fn steady_eddies(turbulence: Option<&TurbulenceConfig>, time: &Time) -> Option<String> {
    let hybrid = turbulence.is_some_and(|model| model.hybrid != Hybrid::None);
    (hybrid && matches!(time, Time::Steady(_))).then(|| {
        "turbulence.hybrid in a steady run: large eddies are no steady flow, and march.mode = \"unsteady\" follows them \
         (a steady run to start from is one of hybrid = \"none\")"
            .to_owned()
    })
}

/// Mach number of the free stream above which the friction of laws of the wall is not to be relied on.
const FAST_WALLS: f64 = 1.2;

/// Says of laws of the wall that they know nothing of supersonic layers.
pub fn fast_walls(turbulence: Option<&TurbulenceConfig>, mach: f64) -> Option<String> {
    let walls = match turbulence?.walls {
        WallTreatment::Resolved => return None,
        WallTreatment::Functions => "functions",
        WallTreatment::Automatic => "automatic",
    };
    (mach > FAST_WALLS).then(|| {
        format!(
            "turbulence.walls = \"{walls}\" at Mach {mach}: the laws of the wall are those of slow flow, without van Driest's transformation. On a \
             plate friction was 7 % high at Mach 2 (y+ 90) and 11 % at Mach 5; walls = \"resolved\" on a mesh with y+ near 1 has no such error"
        )
    })
}

/// Orders of the residual of a physical step from which on the mass of closed domains is kept to more digits than anybody looks at.
const KEEPS: f64 = 6.0;

/// Says of closed unsteady flows how far their mass is kept.
pub fn closed_in_time(boundaries: &BTreeMap<String, Boundary>, time: &Time) -> Option<String> {
    let Time::Unsteady(unsteady) = time else { return None };
    (boundaries.values().all(is_closed) && unsteady.orders < KEEPS).then(|| {
        format!(
            "no marker lets gas in or out: the mass is kept as far as time steps are solved; march.subiteration_drop = {} may leave it a thousandth off in \
             ten steps, 9 some 1e-10",
            unsteady.orders
        )
    })
}

/// Whether nothing passes through a boundary.
fn is_closed(boundary: &Boundary) -> bool {
    boundary.is_wall() || matches!(boundary, Boundary::Symmetry | Boundary::Periodic)
}

/// Says of walls without slip that they have slip where nothing is viscous.
pub fn slipping(boundaries: &BTreeMap<String, Boundary>, equations: Equations) -> Option<String> {
    let walls = boundaries.iter().filter(|(_, boundary)| boundary.is_no_slip());
    let names = listed(walls.map(|(name, _)| name));
    (equations == Equations::Euler && !names.is_empty()).then(|| {
        format!(
            "{names}: the flow is inviscid (flow.equations = \"euler\"), in which a wall without slip is one with slip"
        )
    })
}

/// Says of a Reynolds number that inviscid flow has no use for it.
pub fn idle_reynolds(flow: &FlowSection) -> Option<String> {
    let follows = flow.altitude.is_some() || flow.pressure.is_some();
    (!flow.equations.is_viscous() && flow.reynolds > 0.0 && !follows).then(|| {
        "flow.reynolds has no part in inviscid flow (flow.equations = \"euler\"); \"laminar\" and \"rans\" go by it".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Equations::{Euler, Laminar};
    use chromaflow_flow::config::{Steady, Unsteady};

    /// What is said of a duct between a total state and nothing that sets a pressure, and of no other.
    #[test]
    fn ducts_to_nothing_are_told() {
        let inlet =
            Boundary::Inlet { total_pressure: 1.2, total_temperature: 1.05, direction: [1.0, 0.0, 0.0] };
        let of = |out: Boundary, mach: f64| {
            let sides = [("in", inlet), ("out", out), ("wall", Boundary::SlipWall)];
            choking(&sides.into_iter().map(|(name, b)| (name.to_owned(), b)).collect(), mach)
        };
        assert!(of(Boundary::Extrapolation, 0.3).unwrap().starts_with("`out`: no marker sets a pressure"));
        assert_eq!(
            [of(Boundary::Outlet { pressure: 0.9 }, 0.3), of(Boundary::Extrapolation, 1.5)],
            [None, None]
        );
        let inlet =
            Boundary::Inlet { total_pressure: 1.1, total_temperature: 1.03, direction: [1.0, 0.0, 0.0] };
        for (pressure, said) in [(1.09, false), (1.1, true)] {
            let outlet = Boundary::Outlet { pressure };
            let mut all: BTreeMap<_, _> = [("in".to_owned(), inlet), ("out".to_owned(), outlet)].into();
            assert_eq!(held_back(&all).is_some_and(|text| text.starts_with("`out`: ")), said, "{pressure}");
            all.insert("far".to_owned(), Boundary::Farfield);
            assert_eq!(held_back(&all), None);
        }
        let throttled = |inlet: Boundary, mach| throttling(&[("in".to_owned(), inlet)].into(), mach);
        assert!(throttled(inlet, 2.0).unwrap().starts_with("`in`: an inlet with a total state"));
        assert_eq!([throttled(inlet, 0.5), throttled(Boundary::Farfield, 2.0)], [None, None]);
    }

    /// Laws of the wall are told in supersonic flow, and no others.
    #[test]
    fn laws_of_the_wall_in_fast_flow_are_told() {
        let of =
            |walls, mach| fast_walls(Some(&TurbulenceConfig { walls, ..TurbulenceConfig::default() }), mach);
        let told = of(WallTreatment::Functions, 2.0).unwrap();
        assert!(told.starts_with("turbulence.walls = \"functions\" at Mach 2: "), "{told}");
        assert!(of(WallTreatment::Automatic, 1.3).is_some());
        assert_eq!([of(WallTreatment::Automatic, 0.8), of(WallTreatment::Resolved, 5.0)], [None, None]);
    }

    /// What is kept of the mass of closed unsteady flows.
    #[test]
    fn mass_of_closed_flows_is_told() {
        let of = |boundary, orders| {
            let time = Time::Unsteady(Unsteady { orders, ..Unsteady::default() });
            closed_in_time(&[("all".to_owned(), boundary)].into(), &time)
        };
        assert!(of(Boundary::Periodic, 3.0).unwrap().contains("march.subiteration_drop = 3 may leave"));
        assert_eq!([of(Boundary::Periodic, 9.0), of(Boundary::Farfield, 3.0)], [None, None]);
    }

    /// A Reynolds number is idle in inviscid flow, where it does not follow from what the flow needs besides.
    #[test]
    fn reynolds_numbers_of_inviscid_flow_are_told() {
        let of = |reynolds, altitude, equations| {
            idle_reynolds(&FlowSection { equations, reynolds, altitude, ..FlowSection::default() }).is_some()
        };
        assert!(of(1e6, None, Euler));
        assert_eq!([of(0.0, None, Euler), of(1e6, Some(1e3), Euler), of(1e6, None, Laminar)], [false; 3]);
    }

    /// What is said of flows in which nothing sets a pressure: closed ones in steady runs, and those of two given mass flows.
    #[test]
    fn flows_without_a_pressure_are_told() {
        let of = |ends: [Boundary; 2], time: Time| {
            let sides = [
                ("in", ends[0]),
                ("out", ends[1]),
                ("side", Boundary::Symmetry),
                ("wall", Boundary::SlipWall),
            ];
            unheld(&sides.into_iter().map(|(name, b)| (name.to_owned(), b)).collect(), &time)
        };
        let steady = || Time::Steady(Steady::default());
        let closed = of([Boundary::NoSlipAdiabatic, Boundary::Periodic], steady()).unwrap();
        assert!(closed.contains("nothing sets a pressure") && !closed.contains("heats"), "{closed}");
        let turning = |temperature| {
            let motion = Motion { rotation: [0.0, 0.0, 1.0], ..Motion::NONE };
            of([Boundary::NoSlipAdiabatic, Boundary::MovingWall { motion, temperature }], steady()).unwrap()
        };
        assert!(turning(None).contains("heats it without end") && !turning(Some(1.0)).contains("heats"));
        assert_eq!(
            of([Boundary::NoSlipAdiabatic, Boundary::Periodic], Time::Unsteady(Unsteady::default())),
            None
        );
        let inlet = Boundary::VelocityInlet { velocity: [0.3, 0.0, 0.0], temperature: 1.0 };
        let drain = Boundary::MassFlowOutlet { mass_flow: 0.3 };
        let told = of([inlet, drain], steady()).unwrap();
        assert!(told.starts_with("`in`, `out`: "), "{told}");
        for ends in [
            [inlet, Boundary::Outlet { pressure: 1.0 }],
            [Boundary::Farfield, drain],
            [inlet, Boundary::SlipWall],
        ] {
            assert_eq!(of(ends, steady()), None, "{ends:?}");
        }
    }
}
