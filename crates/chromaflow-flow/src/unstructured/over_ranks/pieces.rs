//! Fields in pieces: each rank writes that of the cells whose first node it owns.
//!
//! All pieces are written under temporary names; only when every rank has come so far do they get their own, without a list meanwhile that
//! would name old ones beside new ones, and only when all have them does rank 0 write the list. A rank that cannot write its piece ends the
//! run on all.

use crate::march::{FlowError, Host, Order};
use crate::mesh::Mesh;
use crate::output::{Field, Pieces, VtuOptions};
use crate::ranks::{FilesError, RankPiece, Rows, agreed};
use crate::unstructured::periodic::turn;
use crate::unstructured::{FlowSolver, FlowSystem};
use chromaflow::files::FileError;
use chromaflow_comm::{CommError, Communicator, Tag};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// What rank 0 is asked to have written.
struct Task<'a> {
    list: &'a Path,
    mesh: &'a Mesh,
    more: &'a [Field],
    options: VtuOptions,
}

impl FlowSolver {
    /// Writes [`fields`](Self::fields), and `more` on the nodes of the file, as a list `NAME.pvtu` and a piece of each rank,
    /// `NAME/piece_K.vtu`, which that rank itself writes; the paths, the list first. On rank 0, of the mesh of its file; collective.
    ///
    /// # Errors
    /// [`FlowError::Piece`], on all ranks, when one of them cannot write; [`FlowError::Ranks`].
    ///
    /// # Panics
    /// As [`fields`](Self::fields); where there are no other ranks.
    pub fn write_pieces(
        &self,
        list: &Path,
        mesh: &Mesh,
        more: &[Field],
        options: VtuOptions,
    ) -> Result<Vec<PathBuf>, FlowError> {
        self.host.tell(Order::Pieces)?;
        self.synced().pieces(Some(&Task { list, mesh, more, options }))
    }
}

impl FlowSystem {
    /// A rank's part of it; only rank 0 has a task.
    pub(super) fn write_piece(&self) -> Result<(), FlowError> {
        self.pieces(None).map(drop)
    }

    fn pieces(&self, task: Option<&Task<'_>>) -> Result<Vec<PathBuf>, FlowError> {
        let rows = self.over.as_ref().expect("pieces are of ranks");
        let ranks = &**rows.share.ranks();
        let own = self.piece(rows, task)?;
        let mut made = Ok(());
        let (list, more, options) = match task {
            Some(task) => {
                // Before anybody looks for it.
                made = Pieces::make_folder(task.list);
                let head = Head::of(task)?;
                (1..ranks.size()).try_for_each(|to| ranks.send(to, Tag::Collective, head.pack()))?;
                (task.list.to_owned(), head.more, task.options)
            }
            None => Head::unpack(&ranks.receive_patiently(0, Tag::Collective)?)?.parts(),
        };
        let turned = rows.seam.as_ref().map(|seam| seam.rotation);
        let turn = |by, numbers: &mut [f64]| turned.iter().for_each(|rotation| turn(rotation, by, numbers));
        let mut fields = Vec::new();
        for field in self.row_fields(&|_| true) {
            fields.push(own.on_points(&rows.share, field, turn)?);
        }
        fields.extend(own.scattered(ranks, &more, task.map_or(&[], |task| task.more))?);
        let file = Pieces::file(&list, ranks.rank());
        let written = made.and_then(|()| {
            Ok(if own.piece.is_empty() { None } else { Some(own.piece.write(&file, &fields, options)?) })
        });
        let (written, failed) = split(written);
        let cells = of_all(ranks, !own.piece.is_empty(), failed)?;
        if task.is_some() {
            let _ = std::fs::remove_file(&list);
        }
        ranks.barrier()?;
        let (_, failed) = split(written.flatten().map_or(Ok(()), chromaflow::files::AtomicFile::commit));
        of_all(ranks, true, failed)?;
        if task.is_none() {
            return Ok(Vec::new());
        }
        let pieces = || cells.iter().enumerate().filter(|(_, has)| **has).map(|(rank, _)| rank);
        if let Some(rank) = pieces().find(|&rank| !Pieces::file(&list, rank).exists()) {
            let file = Pieces::file(&list, rank);
            let problem = format!("{} is not there for rank 0: {SHARED}", file.display());
            return Err(FlowError::Piece { rank, problem });
        }
        let names: Vec<_> = fields.iter().map(|field| (field.name.clone(), field.components)).collect();
        Pieces::write_list(&list, pieces(), &names)
            .map_err(|error| FlowError::Piece { rank: 0, problem: error.to_string() })
    }

    /// This rank's piece, cut when it is first asked for.
    fn piece<'a>(&self, rows: &'a Rows, task: Option<&Task<'_>>) -> Result<&'a RankPiece, FlowError> {
        if let (None, Some(kept)) = (rows.piece.get(), &rows.kept) {
            let _ = rows.piece.set(RankPiece::of_part(kept, rows.share.ranks().rank()));
        }
        if rows.piece.get().is_none() {
            let whole = task.and_then(|task| Some((task.mesh, self.whole_nodes()?)));
            let _ = rows.piece.set(RankPiece::new(&rows.share, whole)?); // nobody else sets it
        }
        Ok(rows.piece.get().expect("set above"))
    }
}

const SHARED: &str =
    "pieces need a file system that all hosts share; with output.pieces = false rank 0 writes one file";

/// What rank 0 tells the others.
struct Head {
    list: String,
    compress: bool,
    more: Vec<(String, usize)>,
}

impl Head {
    fn of(task: &Task<'_>) -> Result<Self, FlowError> {
        let list = std::path::absolute(task.list).unwrap_or_else(|_| task.list.to_owned());
        let list = list.to_str().ok_or_else(|| FlowError::Piece {
            rank: 0,
            problem: format!("the name of {} is not UTF-8, in which ranks are told of it", list.display()),
        })?;
        let more = task.more.iter().map(|field| (field.name.clone(), field.components)).collect();
        Ok(Self { list: list.to_owned(), compress: task.options.compress, more })
    }

    fn pack(&self) -> Vec<u8> {
        let mut words = vec![self.list.clone(), self.compress.to_string()];
        words.extend(self.more.iter().flat_map(|(name, components)| [name.clone(), components.to_string()]));
        words.join("\0").into_bytes()
    }

    fn unpack(bytes: &[u8]) -> Result<Self, CommError> {
        let text = String::from_utf8_lossy(bytes);
        let words: Vec<&str> = text.split('\0').collect();
        let read = || {
            let (&[list, compress], more) = words.split_first_chunk::<2>()?;
            let name = |[name, components]: &[&str; 2]| Some(((*name).to_owned(), components.parse().ok()?));
            let more = more.as_chunks::<2>().0.iter().map(name).collect::<Option<_>>()?;
            Some(Self { list: list.to_owned(), compress: compress == "true", more })
        };
        read().ok_or(CommError::Length { from: 0, expected: bytes.len(), found: bytes.len() })
    }

    fn parts(self) -> (PathBuf, Vec<(String, usize)>, VtuOptions) {
        (PathBuf::from(self.list), self.more, VtuOptions { compress: self.compress })
    }
}

/// What came of something with files, and what went wrong.
fn split<T>(done: Result<T, FileError>) -> (Option<T>, Option<FileError>) {
    match done {
        Ok(done) => (Some(done), None),
        Err(error) => (None, Some(error)),
    }
}

/// What each rank says, or the first that has failed, on all.
fn of_all(ranks: &dyn Communicator, own: bool, failed: Option<FileError>) -> Result<Vec<bool>, FlowError> {
    let failed = failed.map(|error| match error.source.kind() {
        ErrorKind::NotFound if ranks.rank() > 0 => format!("{error}: {SHARED}"),
        _ => error.to_string(),
    });
    agreed(ranks, (own, failed), FilesError::unwritten).map_err(|error| match error {
        FilesError::Unwritten { rank, problem } => FlowError::Piece { rank, problem },
        other => other.into(),
    })
}
