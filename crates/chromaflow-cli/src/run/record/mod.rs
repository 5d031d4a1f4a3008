//! What a run leaves: its history, the forces of its walls, fields at them, cuts through them, lines off them, points and means over its steps, where its time went.

pub mod averages;
pub mod cuts;
pub mod history;
pub mod live;
pub mod loads;
pub mod probes;
pub mod profiles;
pub mod samples;
pub mod spectrum;
pub mod surface;
pub mod table;
pub mod trace;
pub mod volume_means;

use super::flow::Flow;
use crate::case::OutputSection;
use chromaflow_flow::output::crossings;

/// Says of cuts and lines that a case asks for and that meet nothing: no file is written of them.
pub fn missed(flow: &impl Flow, output: &OutputSection) -> Vec<String> {
    if output.cuts.is_empty() && output.profiles.is_empty() {
        return Vec::new();
    }
    let mesh = flow.mesh();
    let nothing = vec![0.0; mesh.nodes.len()];
    let met = cuts::of_walls(&mesh, |name| flow.is_wall(name), &nothing, &output.cuts, flow.lift_axis());
    let cuts = output.cuts.iter().map(cuts::name).filter(|name| met.iter().all(|cut| cut.0 != *name));
    let cuts = cuts
        .map(|name| format!("{name}: the plane of output.cuts meets no wall: nothing will be written of it"));
    // Of a mesh in slices the boundary alone is here.
    let known = mesh.elements() > 0;
    let lines = output
        .profiles
        .iter()
        .enumerate()
        .filter(|(_, line)| known && crossings(&mesh, line.from, line.to).is_empty());
    let lines = lines.map(|(number, _)| {
        format!(
            "the line of output.profiles[{number}] meets no cell of the mesh: nothing will be written of it"
        )
    });
    cuts.chain(lines).collect()
}
