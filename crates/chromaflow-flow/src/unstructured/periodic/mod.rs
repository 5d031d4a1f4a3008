//! Periodic sides of a set-up: their nodes are merged before rows are numbered, and no condition is left for them.

#[cfg(test)]
pub(crate) mod sectors;
#[cfg(test)]
pub(crate) mod testcases;
#[cfg(test)]
mod tests;
mod turned;
#[cfg(test)]
mod turned_tests;

use super::FlowSystem;
use crate::config::{Boundary, FlowConfig};
use crate::march::FlowError;
use crate::mesh::Mesh;
use crate::mesh::periodic::{Images, Pair, PeriodicError, merge};
use std::borrow::Cow;
pub(super) use turned::turn;

/// The mesh that is solved on: of one with periodic sides, what merging them leaves, and which nodes became which.
pub(super) fn joined<'a>(
    mesh: &'a Mesh,
    config: &FlowConfig,
) -> Result<(Cow<'a, Mesh>, Option<Images>), FlowError> {
    let pairs = pairs(mesh, config)?;
    if pairs.is_empty() {
        return Ok((Cow::Borrowed(mesh), None));
    }
    let (merged, images) = merge(mesh, &pairs)?;
    if let Some(turned) = &images.turned {
        turned::check(config, &turned.rotation)?;
    }
    Ok((Cow::Owned(merged), Some(images)))
}

/// The set-up of the merged mesh.
pub(super) fn without_sides(mut config: FlowConfig) -> FlowConfig {
    config.boundaries.retain(|_, boundary| *boundary != Boundary::Periodic);
    config
}

/// Pairs, by the set-up or else by the mesh's file, each once.
pub(super) fn pairs(mesh: &Mesh, config: &FlowConfig) -> Result<Vec<Pair>, PeriodicError> {
    let said = |name: &str| {
        let by_file = || mesh.marker(name).and_then(|m| m.partner.as_deref());
        config.partners.get(name).map(String::as_str).or_else(by_file)
    };
    let sides: Vec<&String> = {
        let periodic = config.boundaries.iter().filter(|(_, boundary)| **boundary == Boundary::Periodic);
        periodic.map(|(name, _)| name).collect()
    };
    let mut pairs: Vec<Pair> = Vec::new();
    for &name in &sides {
        let named_by = || sides.iter().map(|s| s.as_str()).find(|other| said(other) == Some(name.as_str()));
        let Some(partner) = said(name).or_else(named_by) else {
            return Err(PeriodicError::NoPartner { marker: name.clone() });
        };
        let found = match config.boundaries.get(partner) {
            Some(Boundary::Periodic) => match said(partner) {
                Some(other) if other != name.as_str() => Some(format!("periodic with `{other}`")),
                _ => None,
            },
            Some(other) => Some(other.to_string()),
            // What is unknown is told when the sides are matched.
            None => None,
        };
        if let Some(found) = found {
            return Err(PeriodicError::Disagree { marker: name.clone(), partner: partner.to_owned(), found });
        }
        if !pairs.iter().any(|[_, known]| known == name) {
            pairs.push([name.clone(), partner.to_owned()]);
        }
    }
    Ok(pairs)
}

impl FlowSystem {
    /// The node of the file that a node of the mesh that is solved on stands for, the lowest of its images.
    pub(super) fn file_node(&self, node: usize) -> usize {
        self.images.as_ref().map_or(node, |images| images.first[node] as usize)
    }
}
