//! What ranks agree on before they compute: program, case, grid, and what rank 0 knows of the mesh.

use super::hosts::seat;
use super::lost;
use crate::case::Source;
use crate::context::Context;
use crate::error::{CliError, CliResult};
use chromaflow_comm::{Communicator, Tag};
use chromaflow_flow::grid::Grid;
use chromaflow_flow::mesh::{Marker, Mesh};
use chromaflow_flow::unstructured::Ranks;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Whether all ranks have read or made the same grid.
///
/// # Errors
/// Status 3 with the first rank that differs, on every rank.
pub fn same_grid(ranks: &Ranks, source: &Source, grid: &Grid) -> CliResult<()> {
    let mut digest = DefaultHasher::new();
    for block in &grid.blocks {
        block.points.hash(&mut digest);
        block.nodes.iter().for_each(|x| x.map(f64::to_bits).hash(&mut digest));
    }
    // Ranks read for as long as it takes.
    ranks.ranks.barrier_patiently().map_err(|e| lost(&e))?;
    let all = ranks.ranks.gather_all(&digest.finish().to_le_bytes()).map_err(|e| lost(&e))?;
    another(&all, "grid", &source.path).map_or(Ok(()), Err)
}

/// Whether all ranks see the same mesh file, of which each reads its part: its length, and what stands at its beginning and end.
///
/// # Errors
/// Status 3 with the first rank that differs, on every rank.
pub fn same_mesh(ranks: &dyn Communicator, source: &Source, file: Option<&Path>) -> CliResult<()> {
    // A file that is not there is a difference where others have one; the reader says why.
    let digest = file.and_then(|file| digest(file).ok()).unwrap_or(0);
    let all = ranks.gather_all(&digest.to_le_bytes()).map_err(|e| lost(&e))?;
    another(&all, "mesh", &source.path).map_or(Ok(()), Err)
}

/// Of a file's length, beginning and end.
fn digest(file: &Path) -> std::io::Result<u64> {
    const END: u64 = 1 << 16;
    let mut file = std::fs::File::open(file)?;
    let (length, mut digest) = (file.metadata()?.len(), DefaultHasher::new());
    length.hash(&mut digest);
    for start in [0, length.saturating_sub(END)] {
        let mut part = Vec::new();
        file.seek(SeekFrom::Start(start))?;
        Read::by_ref(&mut file).take(END).read_to_end(&mut part)?;
        part.hash(&mut digest);
    }
    Ok(digest.finish())
}

/// That the first rank whose digest is not rank 0's has another file.
fn another(digests: &[Vec<u8>], what: &str, case: &Path) -> Option<CliError> {
    let rank = digests.iter().position(|other| *other != digests[0])?;
    Some(CliError::environment(format!(
        "rank {rank} has another {what} than rank 0: the {what} of {} differs between hosts",
        case.display()
    )))
}

/// What a rank tells the others before anything is read.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Introduction {
    version: String,
    /// Its host and GPU.
    seat: String,
    /// The text of its case, as it is after all options.
    case: String,
}

impl Introduction {
    fn pack(&self) -> Vec<u8> {
        [&*self.version, &*self.seat, &*self.case].join("\n").into_bytes()
    }

    fn unpack(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let mut parts = text.splitn(3, '\n').map(str::to_owned);
        let mut next = || parts.next().unwrap_or_default();
        Self { version: next(), seat: next(), case: next() }
    }
}

/// How the first rank that is not like rank 0 differs.
fn difference(all: &[Introduction], case: &Path) -> Option<String> {
    let first = all.first()?;
    for (rank, other) in all.iter().enumerate().skip(1) {
        let at = if other.seat.is_empty() { String::new() } else { format!(" ({})", other.seat) };
        if other.version != first.version {
            return Some(format!(
                "rank {rank}{at} runs chromaflow {}, rank 0 runs {}: install the same version on all hosts",
                other.version, first.version
            ));
        }
        if other.case != first.case {
            return Some(format!(
                "rank {rank}{at} reads another case file than rank 0: {} differs between hosts",
                case.display()
            ));
        }
    }
    None
}

/// Whether all ranks run the same program on the same case. All know from here on where the others are.
///
/// # Errors
/// Status 3 with the first rank that differs, on every rank.
pub fn agree(ranks: &Ranks, source: &Source, ctx: &Context) -> CliResult<()> {
    let ranks = &*ranks.ranks;
    let own = Introduction {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        seat: seat(ranks, ctx),
        case: source.text().to_owned(),
    };
    let all = ranks.gather_all(&own.pack()).map_err(|e| lost(&e))?;
    let all: Vec<Introduction> = all.iter().map(|said| Introduction::unpack(said)).collect();
    if let Some(log) = ranks.log() {
        log.introduce(all.iter().map(|said| said.seat.clone()).collect());
    }
    difference(&all, &source.path).map_or(Ok(()), |why| Err(CliError::environment(why)))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_differ_are_named() {
        let said = |version: &str, seat: &str, case: &str| Introduction {
            version: version.to_owned(),
            seat: seat.to_owned(),
            case: case.to_owned(),
        };
        let path = Path::new("wing.toml");
        let first = said("0.4.2", "host n1", "[mesh]\nfile = \"a\"\n");
        assert_eq!(Introduction::unpack(&first.pack()), first);
        let same = Introduction { seat: "host n14".to_owned(), ..first.clone() };
        assert_eq!(difference(&[first.clone(), same.clone()], path), None);
        let other = Introduction { version: "0.4.1".to_owned(), ..same.clone() };
        assert_eq!(
            difference(&[first.clone(), first.clone(), other], path).unwrap(),
            "rank 2 (host n14) runs chromaflow 0.4.1, rank 0 runs 0.4.2: install the same version on all hosts"
        );
        let other = Introduction { case: "[mesh]\n".to_owned(), ..same };
        assert_eq!(
            difference(&[first, other], path).unwrap(),
            "rank 1 (host n14) reads another case file than rank 0: wing.toml differs between hosts"
        );
    }

    /// Files of another length, or with other ends, are others.
    #[test]
    fn meshes_that_differ_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let of = |text: &[u8]| {
            let path = folder.path().join("mesh");
            std::fs::write(&path, text).unwrap();
            digest(&path).unwrap().to_le_bytes().to_vec()
        };
        let (a, b, c) = (of(b"one mesh"), of(b"two mesh"), of(b"one mesh "));
        assert!(a != b && a != c && a == of(b"one mesh"));
        assert!(another(&[a.clone(), a.clone()], "mesh", Path::new("x.toml")).is_none());
        let error = another(&[a.clone(), a, b], "mesh", Path::new("x.toml")).unwrap();
        assert_eq!(error.status(), 3);
        assert_eq!(
            error.to_string(),
            "rank 2 has another mesh than rank 0: the mesh of x.toml differs between hosts"
        );
        assert!(digest(&folder.path().join("none")).is_err());
    }
}
