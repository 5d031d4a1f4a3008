//! Restart files by ranges: each rank writes and reads equal ranges of the file's nodes, whoever owns these, so that none has all. Bytes are
//! those of [`Restart::write`].
//!
//! Values go from rows to the ranks of their ranges, array by array, and from there to the disk. The file appears under its name when all
//! ranks have written. Reading goes the other way; where the file has its nodes in another order, ranks that a hash of the place picks say which
//! is which.

use super::files::{FilesError, agreed, told};
use super::piece::FileNodes;
use super::post::{ask, swap, swap_within};
use super::wire;
use crate::mesh::{Mesh, range_of, reader_of};
use crate::output::{
    COORDINATES, Field, Layout, Restart, RestartError, Stored, bits, hash_of, hash_of_place,
};
use bytemuck::cast_slice;
use chromaflow::dist::Share;
use chromaflow::files::{FileError, SharedFile};
use chromaflow_comm::{CommError, Communicator, Op, Tag};
use std::collections::HashMap;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What rank 0 is asked to have written: `more` has facts, and fields by nodes of the file, besides those of all ranks.
pub(crate) struct WriteTask<'a> {
    pub path: &'a Path,
    pub more: &'a Restart,
}

/// What rank 0 is asked to have read. `anew`: without the progress of its run; `whole`: fields that rank 0 wants by nodes of the file.
pub(crate) struct ReadTask<'a> {
    pub path: &'a Path,
    pub anew: bool,
    pub whole: &'a [String],
}

impl ReadTask<'_> {
    /// Reads it on one rank alone, which gets all fields.
    ///
    /// # Errors
    /// As [`Restart::read`].
    pub(crate) fn alone(&self, mesh: &Mesh) -> Result<Restart, RestartError> {
        let mut restart = Restart::read(self.path, mesh)?;
        if self.anew {
            restart.forget_progress();
        }
        Ok(restart)
    }
}

/// Nodes of a mesh's file: which rows they are, and in whose range they lie.
#[derive(Debug)]
pub struct FileRows {
    nodes: usize,
    range: Range<usize>,
    /// For each rank, rows here of nodes of its range, and how often they are turned on their way.
    send: Vec<Vec<(u32, i8)>>,
    /// For each rank, where in the range here the nodes stand that it sends.
    receive: Vec<Vec<u32>>,
}

impl FileRows {
    /// From the nodes, of so many in the file, that rows here are: node, row, how often it is turned. Each node is one rank's. Collective.
    ///
    /// # Errors
    /// [`CommError`].
    pub fn new(
        ranks: &dyn Communicator,
        nodes: usize,
        own: impl Iterator<Item = (u32, u32, i8)>,
    ) -> Result<Self, CommError> {
        let size = ranks.size();
        let range = range_of(nodes, size, ranks.rank());
        let (mut send, mut numbers) = (vec![Vec::new(); size], vec![Vec::new(); size]);
        for (node, row, by) in own {
            let reader = reader_of(nodes, size, node as usize);
            send[reader].push((row, by));
            numbers[reader].push(node);
        }
        // Where a run begins or first writes: ranks may have been busy with preparations or files.
        let mut receive = swap_within(ranks.patience_with_files(), ranks, numbers)?;
        receive.iter_mut().flatten().for_each(|node| *node -= range.start as u32);
        Ok(Self { nodes, range, send, receive })
    }

    /// From what rank 0 knows of the nodes of the whole mesh; collective.
    ///
    /// # Errors
    /// [`CommError`].
    pub fn of_whole(share: &Share, whole: Option<&FileNodes>) -> Result<Self, CommError> {
        let ranks = &**share.ranks();
        let own: Vec<[u32; 3]> = match whole {
            Some(whole) => {
                let mut lists = vec![vec![[whole.rows.len() as u32, 0, 0]]; ranks.size()];
                for (node, (&owner, &row)) in whole.owner.iter().zip(&whole.rows).enumerate() {
                    let by = whole.turns.as_ref().map_or(0, |turns| turns[node]);
                    lists[owner as usize].push([node as u32, row, i32::from(by) as u32]);
                }
                for (to, list) in lists.iter_mut().enumerate().skip(1) {
                    ranks.send(to, Tag::Collective, cast_slice(&std::mem::take(list)).to_vec())?;
                }
                lists.swap_remove(0)
            }
            None => wire::values(&ranks.receive_within(ranks.patience_with_files(), 0, Tag::Collective)?),
        };
        let expected = CommError::Length { from: 0, expected: 12, found: 0 };
        let (&[nodes, ..], own) = own.split_first().ok_or(expected)?;
        let global = share.global();
        let row_of = |row: &u32| global.binary_search(row).ok();
        let here =
            own.iter().filter_map(|[node, row, by]| Some((*node, row_of(row)? as u32, *by as i32 as i8)));
        Self::new(ranks, nodes as usize, here)
    }

    /// The nodes of the file that this rank writes and reads.
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Values of this rank's range from values of all rows; `turn` turns the numbers of a node so many times. Collective.
    ///
    /// **Shapes**: values `[rows, width]`, out `[nodes of the range, width]`.
    ///
    /// # Errors
    /// [`CommError`].
    pub fn in_range(
        &self,
        ranks: &dyn Communicator,
        (width, values): (usize, &[f64]),
        turn: impl Fn(i8, &mut [f64]),
    ) -> Result<Vec<f64>, CommError> {
        let of = |rows: &Vec<(u32, i8)>| {
            let mut list = Vec::with_capacity(width * rows.len());
            for &(row, by) in rows {
                list.extend_from_slice(&values[row as usize * width..][..width]);
                let at = list.len() - width;
                turn(by, &mut list[at..]);
            }
            list
        };
        let came: Vec<Vec<f64>> = swap_within(ranks.patience(), ranks, self.send.iter().map(of).collect())?;
        let mut out = vec![f64::NAN; width * self.range.len()];
        for (from, (places, values)) in self.receive.iter().zip(came).enumerate() {
            let (expected, found) = (8 * width * places.len(), 8 * values.len());
            if found != expected {
                return Err(CommError::Length { from, expected, found });
            }
            for (&place, values) in places.iter().zip(values.chunks_exact(width)) {
                out[place as usize * width..][..width].copy_from_slice(values);
            }
        }
        Ok(out)
    }

    /// Values of this rank's range from those of all nodes of the file, which rank 0 has; collective.
    ///
    /// **Shapes**: whole `[nodes of the file, width]`, out `[nodes of the range, width]`.
    ///
    /// # Errors
    /// [`CommError`].
    pub fn dealt(
        &self,
        ranks: &dyn Communicator,
        width: usize,
        whole: Option<&[f64]>,
    ) -> Result<Vec<f64>, CommError> {
        let Some(whole) = whole else {
            let bytes = ranks.receive(0, Tag::Collective)?;
            let (expected, found) = (8 * width * self.range.len(), bytes.len());
            let length = CommError::Length { from: 0, expected, found };
            return if found == expected { Ok(wire::values(&bytes)) } else { Err(length) };
        };
        for to in 1..ranks.size() {
            let range = range_of(self.nodes, ranks.size(), to);
            let values = &whole[width * range.start..width * range.end];
            ranks.send(to, Tag::Collective, cast_slice(values).to_vec())?;
        }
        Ok(whole[..width * self.range.len()].to_vec())
    }

    /// Writes a restart: facts of rank 0, fields by rows of each rank, and what its task has more. `places` are those of this rank's range.
    /// Only rank 0 has a task. Collective.
    ///
    /// # Errors
    /// [`FilesError`], the same on all ranks; the file of that name is what it was then.
    pub(crate) fn write(
        &self,
        ranks: &dyn Communicator,
        task: Option<&WriteTask<'_>>,
        own: &Restart,
        places: &[[f64; 3]],
        turn: impl Fn(i8, &mut [f64]),
    ) -> Result<(), FilesError> {
        let hashes = ranks.gather(0, &hash_of(places).to_ne_bytes())?;
        let (file, header, more) = if let Some(task) = task {
            let hashes = hashes.iter().flat_map(|hash| wire::values::<u64>(hash));
            let fingerprint = hashes.fold(self.nodes as u64, u64::wrapping_add);
            let mut layout = own.layout(self.nodes);
            layout.extend(task.more);
            let header = layout.header(fingerprint);
            let made = begun(task.path, &layout, &header);
            let names = made.as_ref().ok().map(|(_, names)| names);
            let more: Vec<usize> = task.more.fields.iter().map(|field| field.components).collect();
            let head = serde_json::json!([names, header.len(), more]).to_string();
            (1..ranks.size())
                .try_for_each(|to| ranks.send(to, Tag::Collective, head.clone().into_bytes()))?;
            (made.map(|(file, _)| Some(file)), header.len(), more)
        } else {
            let bytes = ranks.receive(0, Tag::Collective)?;
            let head = serde_json::from_slice(&bytes);
            let (names, header, more): (_, usize, Vec<usize>) = head.map_err(|_| unread(&bytes))?;
            (joined(names), header, more)
        };
        let mut widths = vec![3];
        widths.extend(own.fields.iter().map(|field| field.components).chain(more.iter().copied()));
        let offsets = Layout::offsets(&widths, self.nodes, header as u64, self.range.start);
        let mut writer = Writer { file, offsets: offsets.into_iter() };
        writer.put(places.as_flattened());
        for field in &own.fields {
            writer.put(&self.in_range(ranks, (field.components, &field.values), &turn)?);
        }
        for (at, width) in more.into_iter().enumerate() {
            writer.put(&self.dealt(ranks, width, task.map(|task| &task.more.fields[at].values[..]))?);
        }
        let written = writer.file.and_then(|file| {
            file.iter().try_for_each(SharedFile::finish).map_err(|error| error.to_string())?;
            Ok(file)
        });
        let (file, failed) = split(written);
        agreed(ranks, (true, failed), FilesError::unwritten)?;
        let leads = file.flatten().filter(|_| task.is_some());
        let named = leads.map_or(Ok(()), SharedFile::commit).map_err(|error| error.to_string());
        agreed(ranks, (true, named.err()), FilesError::unwritten).map(drop)
    }

    /// Reads a restart: one whose fields are by rows of this rank, and on rank 0 one of the fields that its task wants whole; both have all
    /// facts. `rows` are the nodes of the file that rows here are, `places` those of this rank's range. Collective.
    ///
    /// # Errors
    /// [`FilesError`], the same on all ranks.
    pub(crate) fn read(
        &self,
        ranks: &dyn Communicator,
        task: Option<&ReadTask<'_>>,
        rows: &[u32],
        places: &[[f64; 3]],
    ) -> Result<[Restart; 2], FilesError> {
        let name = task.map(|task| told(task.path)).transpose();
        let mut bytes = task.map_or_else(Vec::new, |task| {
            serde_json::json!([name.as_ref().ok(), task.anew, task.whole]).to_string().into_bytes()
        });
        ranks.broadcast(0, &mut bytes)?;
        let head = serde_json::from_slice(&bytes);
        let (path, anew, whole): (Option<PathBuf>, bool, Vec<String>) = head.map_err(|_| unread(&bytes))?;
        let path = path.unwrap_or_default();
        let found = name.and_then(|_| {
            let stored = Stored::open(&path, self.nodes, 1).map_err(|error| shared(ranks, &error))?;
            let layout = stored.layout.clone();
            Ok((layout, stored.arrays(&self.range).map_err(|error| error.to_string())?))
        });
        let (found, failed) = split(found);
        agreed(ranks, (true, failed), FilesError::unread)?;
        let (layout, arrays) = found.unwrap_or_default();
        let named = || layout.arrays.iter().zip(&arrays);
        let coordinates = named().find(|((name, _), _)| name == COORDINATES).map_or(&[][..], |(_, of)| of);
        let order = self.order(ranks, (&path, coordinates), places)?;
        let rows = self.picks(ranks, order.as_deref(), rows.iter().copied())?;
        let all = if task.is_some() && !whole.is_empty() { self.nodes as u32 } else { 0 };
        let all = self.picks(ranks, order.as_deref(), 0..all)?;
        let facts = Restart { facts: layout.facts.clone(), fields: Vec::new() };
        let mut restarts = [facts.clone(), facts];
        for ((name, components), values) in named().filter(|((name, _), _)| name != COORDINATES) {
            let wanted = usize::from(whole.contains(name));
            let values = [&rows, &all][wanted].take(ranks, *components, values)?;
            restarts[wanted].fields.push(Field::vector(name, *components, values));
        }
        for restart in &mut restarts {
            restart.fields.sort_by(|a, b| a.name.cmp(&b.name));
            if anew {
                restart.forget_progress();
            }
        }
        Ok(restarts)
    }

    /// Which node of the restart each node of this rank's range is; none where all ranks find them in their order.
    fn order(
        &self,
        ranks: &dyn Communicator,
        (path, coordinates): (&Path, &[f64]),
        places: &[[f64; 3]],
    ) -> Result<Option<Vec<u32>>, FilesError> {
        let mut other = [f64::from(u8::from(coordinates != places.as_flattened()))];
        ranks.reduce(Op::Max, &mut other)?;
        if other[0] == 0.0 {
            return Ok(None);
        }
        let judge = |place: &[u64; 3]| (hash_of_place(place) % ranks.size() as u64) as u32;
        let mut lists = vec![Vec::new(); ranks.size()];
        for (node, p) in (self.range.start as u64..).zip(coordinates.as_chunks::<3>().0) {
            let place @ [x, y, z] = bits(p);
            lists[judge(&place) as usize].push([x, y, z, node]);
        }
        // Nodes at one place (both sides of a slit) are taken in their order in the file.
        let mut at: HashMap<[u64; 3], Vec<u32>> = HashMap::new();
        for [x, y, z, node] in swap(ranks, lists)?.into_iter().flatten().rev() {
            at.entry([x, y, z]).or_default().push(node as u32);
        }
        let questions: Vec<_> = places.iter().map(bits).map(|place| (judge(&place), place)).collect();
        let order = ask(ranks, &questions, |places| {
            places.iter().map(|place| at.get_mut(place).and_then(Vec::pop).unwrap_or(u32::MAX)).collect()
        })?;
        let missing = order
            .iter()
            .position(|&node| node == u32::MAX)
            .map(|at| RestartError::no_node(path, places[at], self.range.start + at).to_string());
        agreed(ranks, (true, missing), FilesError::unread)?;
        Ok(Some(order))
    }

    /// What brings values of these nodes of the mesh here, from the ranges of a restart that has them in this order.
    fn picks(
        &self,
        ranks: &dyn Communicator,
        order: Option<&[u32]>,
        nodes: impl Iterator<Item = u32>,
    ) -> Result<Picks, CommError> {
        let reader = |node: u32| reader_of(self.nodes, ranks.size(), node as usize) as u32;
        let start = self.range.start as u32;
        let mut wanted: Vec<(u32, u32)> = nodes.map(|node| (reader(node), node)).collect();
        if let Some(order) = order {
            let answer = |nodes: &[u32]| nodes.iter().map(|&node| order[(node - start) as usize]).collect();
            wanted = ask(ranks, &wanted, answer)?.into_iter().map(|node| (reader(node), node)).collect();
        }
        let mut lists = vec![Vec::new(); ranks.size()];
        for &(whom, node) in &wanted {
            lists[whom as usize].push(node);
        }
        let mut asked = swap(ranks, lists)?;
        asked.iter_mut().flatten().for_each(|node| *node -= start);
        Ok(Picks { asked, from: wanted.into_iter().map(|(whom, _)| whom).collect() })
    }
}

/// Values that ranks take from one another's ranges.
struct Picks {
    /// For each rank, the places in the range here that it takes.
    asked: Vec<Vec<u32>>,
    /// From whom each value here comes.
    from: Vec<u32>,
}

impl Picks {
    /// The values that are wanted here, from those of this rank's range.
    fn take(&self, ranks: &dyn Communicator, width: usize, values: &[f64]) -> Result<Vec<f64>, CommError> {
        let of = |&place: &u32| values[place as usize * width..][..width].iter().copied();
        let lists = self.asked.iter().map(|places| places.iter().flat_map(of).collect()).collect();
        let came: Vec<Vec<f64>> = swap_within(ranks.patience(), ranks, lists)?;
        let mut next = vec![0; came.len()];
        let mut out = Vec::with_capacity(width * self.from.len());
        for &whom in &self.from {
            let (list, at) = (&came[whom as usize], &mut next[whom as usize]);
            let length =
                CommError::Length { from: whom as usize, expected: 8 * (*at + width), found: 8 * list.len() };
            out.extend_from_slice(list.get(*at..*at + width).ok_or(length)?);
            *at += width;
        }
        Ok(out)
    }
}

/// A rank's hand in a file, until something goes wrong.
struct Writer {
    file: Result<Option<SharedFile>, String>,
    offsets: std::vec::IntoIter<u64>,
}

impl Writer {
    /// Writes this rank's range of the next array.
    fn put(&mut self, values: &[f64]) {
        let offset = self.offsets.next().expect("as many arrays as widths");
        if let Ok(Some(file)) = &mut self.file {
            let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
            if let Err(error) = file.write_at(offset, &bytes) {
                self.file = Err(error.to_string());
            }
        }
    }
}

/// The file of rank 0 with its header, and what others know it by: its name, and the one that it has until it is complete.
fn begun(path: &Path, layout: &Layout, header: &[u8]) -> Result<(SharedFile, [String; 2]), String> {
    let widths: Vec<usize> = layout.arrays.iter().map(|(_, components)| *components).collect();
    let ends = Layout::offsets(&widths, layout.nodes, header.len() as u64, 0);
    let make = || -> Result<SharedFile, FileError> {
        let mut file = SharedFile::create(path, ends[widths.len()])?;
        file.write_at(0, header)?;
        Ok(file)
    };
    let file = make().map_err(|error| error.to_string())?;
    let names = [told(path)?, told(file.temporary())?];
    Ok((file, names))
}

/// The file that rank 0 has made, on another rank; none where it has made none.
fn joined(names: Option<[PathBuf; 2]>) -> Result<Option<SharedFile>, String> {
    let file = names.map(|[path, temporary]| SharedFile::join(&path, &temporary)).transpose();
    file.map_err(|error| with_remedy(&error, error.to_string()))
}

/// What is wrong with a restart, on a rank that may not see the files of rank 0.
fn shared(ranks: &dyn Communicator, error: &RestartError) -> String {
    match error {
        RestartError::File(file) if ranks.rank() > 0 => with_remedy(file, error.to_string()),
        _ => error.to_string(),
    }
}

fn with_remedy(error: &FileError, said: String) -> String {
    match error.source.kind() {
        ErrorKind::NotFound => format!("{said}: restarts need a file system that all hosts share"),
        _ => said,
    }
}

/// That rank 0 has told nothing that can be read.
fn unread(bytes: &[u8]) -> CommError {
    CommError::Length { from: 0, expected: bytes.len(), found: bytes.len() }
}

/// What came of something, and what went wrong.
fn split<T>(done: Result<T, String>) -> (Option<T>, Option<String>) {
    match done {
        Ok(done) => (Some(done), None),
        Err(problem) => (None, Some(problem)),
    }
}
