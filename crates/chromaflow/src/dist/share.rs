//! A rank's share of a system: which rows it owns, and what passes between it and others.

use super::Links;
use super::exact::Sums;
use super::{Image, Images};
use crate::order::RowBatches;
use crate::sparse::BlockPattern;
use chromaflow_comm::{CommError, Communicator, Halo, Neighbor, Op, Tag};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

/// A rank's share of a system, with its part of every exchange.
///
/// Rows are owned ones and ghosts in one order, that of their global numbers. `order::Plan` of the whole system has put the
/// rows of a color together, so they are together here, and colors are the same on any number of ranks.
#[derive(Debug)]
pub struct Share {
    ranks: Arc<dyn Communicator>,
    global: Vec<u32>,
    owned: Vec<Range<usize>>,
    ghosts: Vec<Range<usize>>,
    halo: Halo,
    images: Images,
    batches: Vec<Batch>,
    whole: usize,
    most: usize,
    exact: bool,
    overlaps: bool,
    sweeps: SweepExchange,
    failed: OnceLock<CommError>,
    watch: Watch,
    waited: AtomicU64,
}

/// Looks for what goes wrong elsewhere than in messages.
#[derive(Default)]
struct Watch(Mutex<Option<Look>>);

type Look = Box<dyn Fn() -> Option<CommError> + Send>;

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}

impl Watch {
    fn look(&self) -> Option<CommError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(|look| look())
    }
}

/// When the values of border rows pass in a sweep. Less often is faster where latency rules, and makes sweeps depend on the number of
/// ranks: with few border rows by little, with many by much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SweepExchange {
    /// After each color, before the next one reads them: the sweep of one rank.
    #[default]
    EveryColor,
    /// After each color, and they are read from the color after the next on: a message has the time of a color.
    ColorLate,
    /// After a sweep over all colors.
    EverySweep,
    /// After all sweeps of a solve: block Jacobi between ranks, each block relaxed on its own.
    EverySolve,
}

/// A color's rows of this rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Owned rows that are ghosts elsewhere, and those of their lines: they come first, so that their values travel while the others are
    /// worked on.
    pub border: Vec<Range<usize>>,
    /// The other owned rows.
    pub interior: Vec<Range<usize>>,
    /// All owned rows as they stand.
    pub own: Vec<u32>,
    /// What is exchanged after the color: rows that the matrix of some rank reads.
    pub neighbors: Vec<Neighbor>,
    /// Images of the color's rows: they follow what is exchanged.
    pub images: Vec<Image>,
    /// Rows of the color in the whole system, and their blocks and two more for each.
    pub whole: [usize; 2],
}

/// A share that cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum ShareError {
    /// Between ranks.
    #[error(transparent)]
    Ranks(#[from] CommError),
    /// Lists of different lengths, or rows out of order.
    #[error("the rows of rank {rank}: {fault}")]
    Rows {
        /// The rank.
        rank: usize,
        /// What is wrong, and what was expected.
        fault: String,
    },
}

impl Share {
    /// From the rows of a rank, in ascending order of their numbers `global`, and who owns each; collective. `pattern` has the
    /// rows' blocks, in local numbers: those of ghosts do not count. `batches` are the rows of each color, of owned rows and
    /// ghosts, in lines where they form some; `whole` gives each color's rows and cost in the whole system ([`Batch::whole`]).
    ///
    /// # Errors
    /// [`ShareError`].
    pub fn new(
        ranks: Arc<dyn Communicator>,
        pattern: &BlockPattern,
        batches: &RowBatches,
        whole: &[[usize; 2]],
        global: Vec<u32>,
        owner: &[u32],
    ) -> Result<Self, ShareError> {
        Self::with_images(ranks, pattern, batches, whole, global, (owner, Images::default()))
    }

    /// The same where some rows are images of others. They have numbers of their own, beyond those of all rows, and no rank owns them: their
    /// owner is one that there is not. What they are images of is here, owned or a ghost.
    ///
    /// # Errors
    /// [`ShareError`].
    pub fn with_images(
        ranks: Arc<dyn Communicator>,
        pattern: &BlockPattern,
        batches: &RowBatches,
        whole: &[[usize; 2]],
        global: Vec<u32>,
        (owner, images): (&[u32], Images),
    ) -> Result<Self, ShareError> {
        let rank = ranks.rank();
        let fault = |fault: String| ShareError::Rows { rank, fault };
        let n = global.len();
        if [pattern.rows(), batches.rows(), owner.len()] != [n; 3] || whole.len() != batches.len() {
            let found = [pattern.rows(), batches.rows(), owner.len(), whole.len()];
            return Err(fault(format!(
                "{found:?} rows of the pattern, rows in batches, owners and batches, expected {n}, {n}, {n} and {}",
                batches.len()
            )));
        }
        if let Some(at) = global.windows(2).position(|w| w[0] >= w[1]) {
            return Err(fault(format!("row {} does not follow row {}", global[at + 1], global[at])));
        }
        let owns: Vec<bool> = owner.iter().map(|&o| o as usize == rank).collect();
        let mut read = vec![false; n];
        for row in (0..n).filter(|&row| owns[row]) {
            pattern.columns(row).iter().for_each(|&c| read[c as usize] = true);
        }
        // Who reads an image reads what it is of.
        for image in images.list.iter().filter(|image| read[image.row as usize]).collect::<Vec<_>>() {
            read[image.of as usize] = true;
        }
        let every = ghost_lists(owner, &owns, |_| true);
        let matrix = ghost_lists(owner, &owns, |row| read[row]);
        let lists = neighbors(&*ranks, &global, every)?;
        let sent = neighbors(&*ranks, &global, matrix)?;
        let halo = Halo::new(&*ranks, n, lists)?;
        let mut needed = vec![false; n];
        // With a row goes its line, which is solved for at once.
        let lines = sent.iter().flat_map(|n| &n.send).map(|&row| batches.line_of(row as usize));
        lines.for_each(|line| needed[line].fill(true));
        let of = |(rows, whole): (Range<usize>, &[usize; 2])| {
            let within = |list: &[u32]| -> Vec<u32> {
                list.iter().copied().filter(|&row| rows.contains(&(row as usize))).collect()
            };
            let part =
                |n: &Neighbor| Neighbor { rank: n.rank, send: within(&n.send), receive: within(&n.receive) };
            Batch {
                border: runs(rows.clone(), |row| owns[row] && needed[row]),
                interior: runs(rows.clone(), |row| owns[row] && !needed[row]),
                own: rows.clone().filter(|&row| owns[row]).map(|row| row as u32).collect(),
                neighbors: sent
                    .iter()
                    .map(part)
                    .filter(|n| !(n.send.is_empty() && n.receive.is_empty()))
                    .collect(),
                images: images.of_rows(&rows),
                whole: *whole,
            }
        };
        let batches: Vec<Batch> = batches.iter().zip(whole).map(of).collect();
        let mut count = [owns.iter().filter(|&&own| own).count() as f64, n as f64];
        ranks.reduce_each(&|place| [Op::Sum, Op::Max][place], &mut count)?;
        Ok(Self {
            owned: runs(0..n, |row| owns[row]),
            ghosts: runs(0..n, |row| !owns[row]),
            global,
            halo,
            images,
            batches,
            whole: count[0] as usize,
            most: count[1] as usize,
            exact: false,
            overlaps: false,
            sweeps: SweepExchange::default(),
            failed: OnceLock::new(),
            watch: Watch::default(),
            waited: AtomicU64::new(0),
            ranks,
        })
    }

    /// The same with sums that are exact before their one rounding: results are then bit for bit those of any other number of
    /// ranks, this one alone included.
    #[must_use]
    pub fn exactly(self) -> Self {
        Self { exact: true, ..self }
    }

    /// The same where ghosts that owned rows read have their own blocks in the matrix, too: incomplete factors of a rank then reach
    /// over them, and need fewer iterations.
    #[must_use]
    pub fn overlapping(self) -> Self {
        Self { overlaps: true, ..self }
    }

    /// The same with sweeps that exchange so often.
    #[must_use]
    pub fn exchanging(self, sweeps: SweepExchange) -> Self {
        Self { sweeps, ..self }
    }

    /// When sweeps exchange.
    pub fn sweep_exchange(&self) -> SweepExchange {
        self.sweeps
    }

    /// Whether incomplete factors reach over ghosts.
    pub(crate) fn overlaps(&self) -> bool {
        self.overlaps
    }

    /// Rows that incomplete factors of a rank are of.
    pub(crate) fn factored(&self, pattern: &BlockPattern) -> Vec<u32> {
        let mut kept = vec![false; self.rows()];
        for row in self.owned.iter().cloned().flatten() {
            kept[row] = true;
            if self.overlaps {
                pattern.columns(row).iter().for_each(|&c| kept[c as usize] = true);
            }
        }
        (0..self.rows() as u32).filter(|&row| kept[row as usize]).collect()
    }

    /// The ranks.
    pub fn ranks(&self) -> &Arc<dyn Communicator> {
        &self.ranks
    }

    /// Owned rows and ghosts.
    pub fn rows(&self) -> usize {
        self.global.len()
    }

    /// Rows of the whole system.
    pub fn whole(&self) -> usize {
        self.whole
    }

    /// The most owned rows and ghosts that a rank has: what decides for all.
    pub fn most(&self) -> usize {
        self.most
    }

    /// Rows that this rank owns, in runs.
    pub fn owned(&self) -> &[Range<usize>] {
        &self.owned
    }

    /// Rows of others, in runs.
    pub fn ghosts(&self) -> &[Range<usize>] {
        &self.ghosts
    }

    /// Whether a row is one of its own.
    pub fn owns(&self, row: usize) -> bool {
        let at = self.owned.partition_point(|run| run.end <= row);
        self.owned.get(at).is_some_and(|run| run.contains(&row))
    }

    /// Numbers in the whole system.
    pub fn global(&self) -> &[u32] {
        &self.global
    }

    /// The colors.
    pub fn batches(&self) -> &[Batch] {
        &self.batches
    }

    /// Rows that other ranks get in an exchange of all ghosts.
    pub fn halo(&self) -> &Halo {
        &self.halo
    }

    /// Rows that are images of others.
    pub fn images(&self) -> &Images {
        &self.images
    }

    /// Ghosts become those of their owners; images stay as they are.
    ///
    /// **Shapes**: x `[owned and ghost rows, width]`.
    pub fn exchange_ghosts(&self, width: usize, x: &mut [f64]) {
        self.pass(|| self.halo.exchange(&*self.ranks, width, x));
    }

    /// Ghosts become those of their owners, and images have their rows' [factors](Images::fill_factors).
    ///
    /// **Shapes**: x `[owned and ghost rows, width]`.
    pub fn exchange_factors(&self, width: usize, x: &mut [f64]) {
        self.exchange_ghosts(width, x);
        self.images.fill_factors(width, x);
    }

    /// What went wrong between ranks since the beginning; nothing passes any more from there on.
    ///
    /// # Errors
    /// The first [`CommError`].
    pub fn check(&self) -> Result<(), CommError> {
        if self.failed.get().is_none()
            && let Some(error) = self.watch.look()
        {
            let _ = self.failed.set(error); // else one that came before
        }
        self.failed.get().map_or(Ok(()), |error| Err(error.clone()))
    }

    /// Seconds spent in exchanges and sums so far.
    pub fn seconds(&self) -> f64 {
        self.waited.load(Ordering::Relaxed) as f64 * 1e-9
    }

    /// Does what passes between ranks, unless something has failed before.
    fn pass<T>(&self, f: impl FnOnce() -> Result<T, CommError>) -> Option<T> {
        if self.check().is_err() {
            return None;
        }
        let start = Instant::now();
        let done = f();
        self.waited.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        match done {
            Ok(done) => Some(done),
            Err(error) => {
                let _ = self.failed.set(error);
                None
            }
        }
    }

    /// Each value becomes the least or the largest of all ranks, or their sum.
    pub fn reduce(&self, op: Op, values: &mut [f64]) {
        if self.pass(|| self.ranks.reduce(op, values).map_err(in_a_sum)).is_none() {
            values.fill(f64::NAN);
        }
    }

    /// Numbers become their sums over all ranks, and others the least of all ranks, by one message.
    pub fn sum_and_least(&self, sums: &mut [f64], least: &mut [f64]) {
        let count = sums.len();
        let mut all = [&*sums, &*least].concat();
        let op = |place: usize| if place < count { Op::Sum } else { Op::Min };
        if self.pass(|| self.ranks.reduce_each(&op, &mut all).map_err(in_a_sum)).is_none() {
            all.fill(f64::NAN);
        }
        sums.copy_from_slice(&all[..count]);
        least.copy_from_slice(&all[count..]);
    }

    /// The largest of a number that each rank has.
    pub fn largest(&self, value: f32) -> f32 {
        let mut all = [f64::from(value)];
        self.reduce(Op::Max, &mut all);
        all[0] as f32
    }

    /// The lowest row of all ranks, by its number in the whole system, from one of this rank's rows or none.
    pub fn lowest(&self, row: Option<usize>) -> Option<usize> {
        let mut least = [row.map_or(f64::INFINITY, |row| f64::from(self.global[row]))];
        self.reduce(Op::Min, &mut least);
        least[0].is_finite().then_some(least[0] as usize)
    }

    /// x . y over the rows that are owned, and all ranks: of solutions, whose ghosts are not zero.
    ///
    /// **Shapes**: x, y `[rows, width]`.
    pub fn dot(&self, width: usize, x: &[f64], y: &[f64]) -> f64 {
        let entries = || self.owned.iter().map(|run| run.start * width..run.end * width);
        if self.exact {
            let mut sums = Sums::new(1);
            entries().for_each(|run| sums.add_products(0, &x[run.clone()], &y[run]));
            return sums.over(self)[0];
        }
        let products =
            |run: Range<usize>| x[run.clone()].iter().zip(&y[run]).map(|(x, y)| x * y).sum::<f64>();
        let mut sum = [entries().map(products).sum::<f64>()];
        self.sum(&mut sum);
        sum[0]
    }

    /// |x| over the rows that are owned, and all ranks.
    pub fn norm2(&self, width: usize, x: &[f64]) -> f64 {
        self.dot(width, x, x).sqrt()
    }

    /// Sums over all ranks of what `visit` adds on each: it calls its argument with the number of a sum and a value.
    pub fn sums(&self, count: usize, visit: impl FnOnce(&mut dyn FnMut(usize, f64))) -> Vec<f64> {
        if self.exact {
            let mut sums = Sums::new(count);
            visit(&mut |k, value| sums.add(k, value));
            return sums.over(self);
        }
        let mut sums = vec![0.0; count];
        visit(&mut |k, value| sums[k] += value);
        self.sum(&mut sums);
        sums
    }

    /// Sums over owned rows of what `f` gives of each, over all ranks.
    pub fn sum_rows<const N: usize>(&self, f: impl Fn(usize) -> [f64; N]) -> [f64; N] {
        let sums = self.sums(N, |add| {
            for row in self.owned.iter().cloned().flatten() {
                f(row).into_iter().enumerate().for_each(|(k, value)| add(k, value));
            }
        });
        sums.try_into().expect("as many sums as values")
    }

    /// What is looked at besides messages, from here on.
    #[cfg(feature = "cuda")]
    pub(crate) fn watch(&self, look: impl Fn() -> Option<CommError> + Send + 'static) {
        *self.watch.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(look));
    }

    /// Counts the time of a wait of this rank for its own device as one of an exchange.
    #[cfg(feature = "cuda")]
    pub(crate) fn while_waiting<T>(&self, f: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let done = f();
        self.waited.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        done
    }

    /// Waits for what another rank of this process brings about in memory that both see; `false` where something has failed.
    #[cfg(feature = "cuda")]
    pub(crate) fn wait_until(&self, from: usize, ready: impl Fn() -> bool) -> bool {
        let own = self.ranks.rank();
        let nobody = CommError::NoRank { rank: from, own, size: self.ranks.size() };
        self.pass(|| self.ranks.in_process().ok_or(nobody)?.wait_until(from, ready)).is_some()
    }

    /// Sends packed rows to a neighbor, outside exchanges of all ghosts; does nothing where something has failed.
    pub fn post(&self, to: usize, bytes: Vec<u8>) {
        self.pass(|| self.ranks.send(to, Tag::Halo(COLORS), bytes));
    }

    /// The packed rows that a neighbor has [posted](Self::post), in an exchange that errors call so; none where something has failed.
    pub fn take(&self, from: usize, expected: usize, what: impl FnOnce() -> String) -> Option<Vec<u8>> {
        self.pass(|| {
            let bytes = self.ranks.receive(from, Tag::Halo(COLORS)).map_err(|error| error.during(what()))?;
            if bytes.len() == expected {
                Ok(bytes)
            } else {
                Err(CommError::Length { from, expected, found: bytes.len() })
            }
        })
    }

    /// All owned rows of all ranks on rank 0, by their global numbers; nothing elsewhere. Collective.
    ///
    /// **Shapes**: x `[rows, width]`, out `[whole, width]`.
    ///
    /// # Errors
    /// [`CommError`].
    pub fn gather(&self, width: usize, x: &[f64]) -> Result<Vec<f64>, CommError> {
        assert_eq!(x.len(), self.rows() * width);
        self.check()?;
        let rows = || self.owned.iter().cloned().flatten();
        let mut bytes = Vec::new();
        for row in rows() {
            bytes.extend_from_slice(&self.global[row].to_le_bytes());
            bytes.extend_from_slice(bytemuck::cast_slice(&x[row * width..][..width]));
        }
        let size = 4 + 8 * width;
        let parts = self.ranks.gather(0, &bytes)?;
        let mut out = vec![0.0; if self.ranks.rank() == 0 { self.whole * width } else { 0 }];
        for row in parts.iter().flat_map(|part| part.chunks_exact(size)) {
            let (at, values) = row.split_at(4);
            let at = bytemuck::pod_read_unaligned::<u32>(at) as usize;
            for (to, value) in out[at * width..][..width].iter_mut().zip(values.chunks_exact(8)) {
                *to = bytemuck::pod_read_unaligned(value);
            }
        }
        Ok(out)
    }
}

/// Tags of exchanges: of all ghosts, and of one color.
const ALL: u32 = 0;
const COLORS: u32 = 1;

impl Links for Share {
    fn sum(&self, values: &mut [f64]) {
        self.reduce(Op::Sum, values);
    }

    fn exchange(&self, width: usize, x: &mut [f64]) {
        self.pass(|| {
            let under_way = self.halo.start(&*self.ranks, ALL, width, x)?;
            if cfg!(debug_assertions) {
                // A ghost that nobody sends shows. Images keep what does not pass.
                let mut ghosts = vec![true; self.rows()];
                self.images.list.iter().for_each(|image| ghosts[image.row as usize] = false);
                let ghosts = self.ghosts.iter().cloned().flatten().filter(|&row| ghosts[row]);
                ghosts.for_each(|row| x[row * width..(row + 1) * width].fill(f64::NAN));
            }
            under_way.finish(x).map_err(|error| error.during("the exchange of all ghosts"))
        });
        self.images.fill(width, x);
    }

    fn clear(&self, width: usize, x: &mut [f64]) {
        self.ghosts.iter().for_each(|run| x[run.start * width..run.end * width].fill(0.0));
    }

    fn exact(&self) -> bool {
        self.exact
    }
}

fn in_a_sum(error: CommError) -> CommError {
    error.during("a sum")
}

/// Runs of rows that are one of a kind.
fn runs(rows: Range<usize>, kind: impl Fn(usize) -> bool) -> Vec<Range<usize>> {
    let mut all: Vec<Range<usize>> = Vec::new();
    for row in rows.filter(|&row| kind(row)) {
        match all.last_mut() {
            Some(run) if run.end == row => run.end += 1,
            _ => all.push(row..row + 1),
        }
    }
    all
}

/// By owner, the ghosts that are wanted.
fn ghost_lists(owner: &[u32], owns: &[bool], wanted: impl Fn(usize) -> bool) -> BTreeMap<usize, Vec<u32>> {
    let mut lists: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    for row in (0..owner.len()).filter(|&row| !owns[row] && wanted(row)) {
        lists.entry(owner[row] as usize).or_default().push(row as u32);
    }
    lists
}

/// What is exchanged so that each rank gets the ghosts it wants: it tells their owners which.
fn neighbors(
    ranks: &dyn Communicator,
    global: &[u32],
    mut wanted: BTreeMap<usize, Vec<u32>>,
) -> Result<Vec<Neighbor>, ShareError> {
    let (own, size) = (ranks.rank(), ranks.size());
    for to in (0..size).filter(|&to| to != own) {
        let list = wanted.get(&to).map_or(&[][..], |list| list);
        let numbers: Vec<u32> = list.iter().map(|&row| global[row as usize]).collect();
        ranks.send(to, Tag::Collective, bytemuck::cast_slice(&numbers).to_vec())?;
    }
    let mut lists = Vec::new();
    for from in (0..size).filter(|&from| from != own) {
        let bytes = ranks.receive(from, Tag::Collective)?;
        let local = |number: &[u8]| {
            let number = bytemuck::pod_read_unaligned::<u32>(number);
            global.binary_search(&number).map(|row| row as u32).map_err(|_| ShareError::Rows {
                rank: own,
                fault: format!("rank {from} asks for row {number}, which is not here"),
            })
        };
        let send = bytes.chunks_exact(4).map(local).collect::<Result<Vec<_>, _>>()?;
        let receive = wanted.remove(&from).unwrap_or_default();
        if !(send.is_empty() && receive.is_empty()) {
            lists.push(Neighbor { rank: from, send, receive });
        }
    }
    Ok(lists)
}
