//! What ranks agree on before they compute: program, case, grid, and what rank 0 knows of the mesh.

use super::lost;
use crate::case::Source;
use crate::error::{CliError, CliResult};
use chromaflow_comm::Tag;
use chromaflow_flow::grid::Grid;
use chromaflow_flow::mesh::{Marker, Mesh};
use chromaflow_flow::unstructured::Ranks;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Whether all ranks have read or made the same grid.
///
/// # Errors
/// Status 2 with the first rank that differs, on every rank.
pub fn same_grid(ranks: &Ranks, source: &Source, grid: &Grid) -> CliResult<()> {
    let mut digest = DefaultHasher::new();
    for block in &grid.blocks {
        block.points.hash(&mut digest);
        block.nodes.iter().for_each(|x| x.map(f64::to_bits).hash(&mut digest));
    }
    // Ranks read for as long as it takes.
    ranks.ranks.barrier_patiently().map_err(|e| lost(&e))?;
    let all = ranks.ranks.gather_all(&digest.finish().to_le_bytes()).map_err(|e| lost(&e))?;
    match all.iter().position(|other| *other != all[0]) {
        None => Ok(()),
        Some(rank) => Err(CliError::input(format!(
            "rank {rank} has another grid than rank 0: the grid of {} differs between hosts",
            source.path.display()
        ))),
    }
}

/// Whether all ranks run the same program on the same case.
///
/// # Errors
/// Status 2 with the first rank that differs, on every rank.
pub fn agree(ranks: &Ranks, source: &Source) -> CliResult<()> {
    let ranks = &*ranks.ranks;
    let own = [env!("CARGO_PKG_VERSION"), source.text()].join("\n");
    let all = ranks.gather_all(own.as_bytes()).map_err(|e| lost(&e))?;
    let part = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        text.split_once('\n').map_or((text.clone(), String::new()), |(a, b)| (a.to_owned(), b.to_owned()))
    };
    let first = part(&all[0]);
    for (rank, other) in all.iter().enumerate().skip(1) {
        let (version, case) = part(other);
        if version != first.0 {
            return Err(CliError::input(format!(
                "rank {rank} runs chromaflow {version}, rank 0 runs {}: install the same version on all hosts",
                first.0
            )));
        }
        if case != first.1 {
            return Err(CliError::input(format!(
                "rank {rank} reads another case file than rank 0: {} differs between hosts",
                source.path.display()
            )));
        }
    }
    Ok(())
}

/// What a set-up asks of a mesh. Rank 0 tells the others.
#[derive(Default)]
pub struct Asked {
    /// Names and codes.
    pub markers: Vec<Marker>,
    /// Whether it is planar.
    pub planar: bool,
    /// Whether it is so stretched that the preconditioner is another one.
    pub stretched: bool,
    /// Whether it is a few cells wide between planes of symmetry.
    pub slab: bool,
}

/// What a set-up asks of a mesh, told by rank 0, which has it and knows whether it is stretched and a slab.
///
/// # Errors
/// Status 3 when another rank has failed.
pub fn asked(ranks: &Ranks, mesh: Option<(&Mesh, bool, bool)>) -> CliResult<Asked> {
    let ranks = &*ranks.ranks;
    if let Some((mesh, stretched, slab)) = mesh {
        let mut text = format!("{}\n{stretched}\n{slab}\n", mesh.planar.is_some());
        for marker in &mesh.markers {
            let code = marker.code.map_or(String::new(), |code| code.to_string());
            let partner = marker.partner.as_deref().unwrap_or("");
            let _ = writeln!(text, "{code}\0{partner}\0{}", marker.name);
        }
        for to in 1..ranks.size() {
            ranks.send(to, Tag::Collective, text.clone().into_bytes()).map_err(|e| lost(&e))?;
        }
    } else {
        // Rank 0 reads the mesh for as long as it takes.
        let bytes = ranks.receive_patiently(0, Tag::Collective).map_err(|e| lost(&e))?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let mut lines = text.lines();
        let [planar, stretched, slab] = std::array::from_fn(|_| lines.next() == Some("true"));
        let marker = |line: &str| {
            let (code, rest) = line.split_once('\0')?;
            let (partner, name) = rest.split_once('\0')?;
            let partner = (!partner.is_empty()).then(|| partner.to_owned());
            Some(Marker { name: name.to_owned(), code: code.parse().ok(), partner, ..Marker::default() })
        };
        return Ok(Asked { markers: lines.filter_map(marker).collect(), planar, stretched, slab });
    }
    Ok(Asked::default())
}
