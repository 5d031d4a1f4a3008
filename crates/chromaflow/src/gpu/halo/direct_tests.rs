//! Sweeps that pass rows themselves, against one device and against sweeps whose rows pass by events.

use super::{Between, Path, ShareCuda, Wish};
use crate::Policy;
use crate::dist::Links;
use crate::dist::tests::{Local, NB, PATIENCE, System, lined_system_of, local, local_of, system, system_of};
use crate::gpu::{DeviceJacobian, GpuError, Storage, test_stream};
use crate::krylov::SmootherCuda;
use crate::relax::{Direction, LinesCuda, MulticolorCuda, SolveOptions};
use chromaflow_comm::{Communicator, Threads, run};
use chromaflow_device::cuda::{Asked, DeviceBuffer, Gpu, Nccl, Stream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// At most so many nanoseconds later than they would, thread blocks come and go.
pub(super) const DELAY: Option<u32> = Some(20_000);

/// Numbers without a pattern (splitmix64 by Steele, Lea and Flood, 2014).
fn random(seed: u64, at: usize) -> u64 {
    let mut z = seed.wrapping_add((at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Sweeps of a rank over its part, over lines where its rows form some, and their right-hand side.
pub(super) fn sweeps(
    own: &Local,
    share: &Arc<ShareCuda>,
    storage: Storage,
    delay: Option<u32>,
) -> Result<(SmootherCuda, DeviceBuffer<f64>), GpuError> {
    let (pattern, batches) = (own.jacobian.pattern(), &own.batches);
    let mut sweeps = if batches.lines().is_some() {
        let lines = LinesCuda::over_ranks_delayed(pattern, NB, batches, storage, share, delay)?;
        SmootherCuda::Lines(lines.into())
    } else {
        let points = MulticolorCuda::over_ranks_delayed(pattern, NB, batches, storage, share, delay)?;
        SmootherCuda::Points(points.into())
    };
    sweeps.factor_later(&DeviceJacobian::upload(share.stream(), &own.jacobian)?)?;
    Ok((sweeps, share.stream().upload(&own.b)?))
}

fn alone(whole: &System, stream: &Stream, options: &SolveOptions) -> Vec<f64> {
    let (storage, batches) = (Storage::from(whole.jacobian.off.policy()), &whole.batches);
    let mut sweeps = if batches.lines().is_some() {
        let lines = LinesCuda::new(stream, &whole.pattern, NB, batches, storage).unwrap();
        SmootherCuda::Lines(lines.into())
    } else {
        let points = MulticolorCuda::new(stream, &whole.pattern, NB, batches, storage).unwrap();
        SmootherCuda::Points(points.into())
    };
    sweeps.factor_later(&DeviceJacobian::upload(stream, &whole.jacobian).unwrap()).unwrap();
    let (b, mut x) = (stream.upload(&whole.b).unwrap(), DeviceBuffer::zeroed(stream, whole.b.len()).unwrap());
    sweeps.preconditioner(*options).apply(&b, &mut x).unwrap();
    x.download().unwrap()
}

/// A random system, whose rows form lines or not.
fn system_for(lined: bool, rows: usize, blocks: usize, seed: u64, policy: Policy) -> System {
    if lined { lined_system_of(rows, blocks, seed, policy) } else { system_of(rows, blocks, seed, policy) }
}

/// Own rows and ghosts that the matrix reads have the values of the whole.
fn same(own: &Local, x: &[f64], expected: &[f64], what: &str) {
    let pattern = own.jacobian.pattern();
    let mut known: Vec<bool> = (0..own.share.rows()).map(|row| own.share.owns(row)).collect();
    for row in (0..own.share.rows()).filter(|&row| own.share.owns(row)) {
        pattern.columns(row).iter().for_each(|&c| known[c as usize] = true);
    }
    for (row, x) in x.chunks_exact(NB).enumerate().filter(|(row, _)| known[*row]) {
        let global = own.share.global()[row] as usize;
        let (expected, owns) = (&expected[global * NB..][..NB], own.share.owns(row));
        assert!(x == expected, "{what}: row {global} of the whole system, own {owns}: {x:?}, {expected:?}");
    }
}

/// How many GPUs there are for ranks, each of which needs its own: on one, hosts wait in the driver for kernels that wait for them. One
/// test at a time has them: two that wait on the same GPUs would wait for one another.
pub(super) fn gpus() -> Option<(usize, MutexGuard<'static, ()>)> {
    static ALONE: Mutex<()> = Mutex::new(());
    let count = Gpu::count().unwrap().min(4);
    if count < 2 {
        chromaflow_testkit::skip("two gpus", "there is one GPU, two are needed");
        return None;
    }
    Some((count, ALONE.lock().unwrap_or_else(PoisonError::into_inner)))
}

/// Owners of the rows of a system, whose lines have one each.
fn owners_of(whole: &System, kind: usize, seed: u64, size: usize) -> Vec<u32> {
    let rows = whole.pattern.rows();
    let owners = owners(kind, seed, rows, size);
    (0..rows).map(|row| owners[whole.batches.line_of(row).start]).collect()
}

/// Owners of rows: scattered, in runs of odd lengths, and all but a few on one rank.
fn owners(kind: usize, seed: u64, rows: usize, size: usize) -> Vec<u32> {
    let part = |row: usize| match kind {
        0 => random(seed, row) % size as u64,
        1 => random(seed, row / 37) % size as u64,
        _ if random(seed, row).is_multiple_of(97) => size as u64 - 1,
        _ => 0,
    };
    (0..rows).map(|row| part(row) as u32).collect()
}

/// Ways between GPUs that each have a rank of their own; by NCCL where it is installed.
fn ways() -> Vec<(Wish, Path, Option<u32>)> {
    let mut all = vec![
        (Wish::Posted, Path::Peer(Between::Threads), None),
        (Wish::Shortest, Path::Direct(Between::Threads), None),
        (Wish::Shortest, Path::Direct(Between::Threads), DELAY),
    ];
    match Nccl::open() {
        Ok(nccl) => all.push((Wish::Nccl, Path::Nccl(nccl.version()), None)),
        Err(why) => chromaflow_testkit::skip("nccl", &why.to_string()),
    }
    all
}

/// A random system and how it is swept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Swept {
    lined: bool,
    seed: u64,
    policy: Policy,
    direction: Direction,
    damping: f64,
}

impl Swept {
    pub(super) fn all() -> [Self; 6] {
        let of = |lined, seed, policy, direction, damping| Self { lined, seed, policy, direction, damping };
        [
            of(false, 1, Policy::Ds, Direction::Forward, 1.0),
            of(false, 2, Policy::D, Direction::Symmetric, 0.9),
            of(false, 3, Policy::Ds, Direction::Backward, 1.0),
            of(true, 1, Policy::Ds, Direction::Forward, 1.0),
            of(true, 2, Policy::D, Direction::Symmetric, 0.9),
            of(true, 3, Policy::Ds, Direction::Backward, 1.0),
        ]
    }

    fn whole(self) -> System {
        let Self { lined, seed, policy, .. } = self;
        system_for(lined, 1000 + 4321 * seed as usize, 9000 + 40_000 * seed as usize, seed, policy)
    }

    fn options(self) -> SolveOptions {
        SolveOptions { direction: self.direction, damping: self.damping, ..SolveOptions::sweeps(15) }
    }

    /// What one device makes of it.
    pub(super) fn alone(self, stream: &Stream) -> Vec<f64> {
        alone(&self.whole(), stream, &self.options())
    }

    /// The part of a rank, cut in one of some odd ways, by all `ways` again and again, bit for bit; whether the rank has rows, and what its host
    /// asks of the driver for a linear step by each way.
    pub(super) fn over_ranks(
        self,
        ranks: &(impl Communicator + Clone + 'static),
        cut: usize,
        ways: &[(Wish, Path, Option<u32>)],
        expected: &[f64],
    ) -> Result<(bool, Vec<Asked>), GpuError> {
        let (whole, size) = (self.whole(), ranks.size());
        let own = local_of(ranks, &whole, &owners_of(&whole, cut, self.seed, size), 1, false);
        let stream = Gpu::open(ranks.rank())?.stream()?;
        let mut all = Vec::new();
        for (wish, path, delay) in ways.iter().cloned() {
            let share = Arc::new(ShareCuda::new(&own.share, &stream, &[], NB, wish)?);
            assert_eq!(*share.path(), path);
            let (mut sweeps, b) = sweeps(&own, &share, Storage::from(self.policy), delay)?;
            for turn in 0..if delay.is_some() { 3 } else { 30 } {
                let mut x = DeviceBuffer::zeroed(&stream, own.b.len())?;
                std::thread::sleep(Duration::from_micros(random(ranks.rank() as u64, turn) % 500));
                let before = stream.asked();
                sweeps.preconditioner(self.options()).apply(&b, &mut x)?;
                let after = stream.asked();
                let x = x.download()?;
                own.share.check()?;
                let what = format!("{self:?}, cut {cut}, {size} ranks, {wish:?}, {delay:?}, turn {turn}");
                same(&own, &x, expected, &what);
                if turn == 2 && delay.is_none() {
                    all.push(Asked {
                        kernels: after.kernels - before.kernels,
                        graphs: after.graphs - before.graphs,
                        events: after.events - before.events,
                        waits: after.waits - before.waits,
                    });
                }
            }
        }
        Ok((!own.share.owned().is_empty(), all))
    }
}

/// Each rank on a GPU of its own: graphs whose kernels pass rows, or whose rows pass by NCCL, against one device and against rows that
/// pass by events, on random matrices cut in odd ways, with and without delays, bit for bit; and what a host asks of the driver for each linear step.
#[test]
fn cuda_graphs_on_two_gpus_are_the_sweeps_of_one_bit_for_bit() {
    let Some(stream) = test_stream() else { return };
    let Some((count, _alone)) = gpus() else { return };
    let ways = Arc::new(ways());
    for swept in Swept::all() {
        let expected = Arc::new(swept.alone(&stream));
        for (size, cut) in (2..=count).flat_map(|size| [0, 1, 2].map(|cut| (size, cut))) {
            let (expected, ways) = (Arc::clone(&expected), Arc::clone(&ways));
            let asked =
                run(size, PATIENCE, move |ranks: &Threads| swept.over_ranks(ranks, cut, &ways, &expected));
            let asked = asked.unwrap();
            println!(
                "{swept:?}, cut {cut}, {size} ranks: by events {:?}, as a graph {:?}",
                asked[0].1[0], asked[0].1[1]
            );
            for (has_rows, rank) in asked {
                // What remains beside the graph brings x from f32 to f64, where the rank has rows.
                let kernels = u64::from(has_rows);
                assert_eq!(rank[1], Asked { kernels, graphs: 1, events: 0, waits: 0 }, "a graph a step");
                assert!((rank[0].kernels > 100) == has_rows && rank[0].graphs == 0, "{:?}", rank[0]);
                for by_nccl in &rank[2..] {
                    assert_eq!(*by_nccl, Asked { kernels, graphs: 1, events: 0, waits: 0 }, "a graph a step");
                }
            }
        }
    }
}

/// All ghosts of a part cut in one of some odd ways get their owners' values, exchange after exchange, of rows of any width, however far apart
/// hosts are.
pub(super) fn exchanges(
    ranks: &(impl Communicator + Clone + 'static),
    cut: usize,
    wish: Wish,
    path: &Path,
) -> Result<(), GpuError> {
    let (whole, size) = (system_of(3000, 20_000, 4, Policy::D), ranks.size());
    let own = local_of(ranks, &whole, &owners(cut, 4, 3000, size), 1, false);
    let stream = Gpu::open(ranks.rank())?.stream()?;
    let share = ShareCuda::new(&own.share, &stream, &[], 13, wish)?;
    assert_eq!(share.path(), path);
    let mut events = Vec::new();
    for turn in 0..60 {
        let width = [13, 1, 5][turn % 3];
        let value =
            |row: usize, k: usize| random(turn as u64, own.share.global()[row] as usize * 16 + k) as f64;
        let mut expected: Vec<f64> = (0..own.share.rows())
            .flat_map(|row| (0..width).map(move |k| (row, k)))
            .map(|(row, k)| if own.share.owns(row) { value(row, k) } else { f64::NAN })
            .collect();
        let x = stream.upload(&expected)?;
        std::thread::sleep(Duration::from_micros(random(ranks.rank() as u64, turn) % 300));
        let before = stream.asked();
        share.exchange(width, &x.slice())?;
        let after = stream.asked();
        events.push(after.events - before.events + after.waits - before.waits);
        let found = x.download()?;
        own.share.exchange(width, &mut expected);
        own.share.check()?;
        assert!(found == expected, "cut {cut}, {size} ranks, {wish:?}, turn {turn}");
    }
    let neighbors = own.share.halo().neighbors().len() as u64;
    let each = match path {
        Path::Peer(Between::Threads) => 2 * neighbors,
        Path::Peer(Between::Processes) | Path::Direct(_) => 0,
        _ => return Ok(()),
    };
    assert!(events.iter().all(|&of| of == each), "{events:?}: {each} events and waits expected");
    Ok(())
}

/// The same where neighbors have few rows for one another or none, on GPUs of their own.
#[test]
fn cuda_exchanges_on_two_gpus_bring_owners_values() {
    let Some((count, _alone)) = test_stream().and_then(|_| gpus()) else { return };
    for (size, cut) in (2..=count).flat_map(|size| [0, 1, 2].map(|cut| (size, cut))) {
        for (wish, path, _) in ways().into_iter().filter(|(_, _, delay)| delay.is_none()) {
            run(size, PATIENCE, move |ranks: &Threads| exchanges(ranks, cut, wish, &path)).unwrap();
        }
    }
}

/// Who waits in vain says so in the end: after the patience of the ranks for one that stays silent, at once for one that has failed.
#[test]
fn cuda_kernels_that_wait_for_a_rank_in_vain_end_with_an_error() {
    let Some(_alone) = test_stream().and_then(|_| gpus()) else { return };
    let wishes = if Nccl::open().is_ok() { &[Wish::Shortest, Wish::Nccl][..] } else { &[Wish::Shortest] };
    for (&wish, fails) in wishes.iter().flat_map(|wish| [(wish, false), (wish, true)]) {
        let started = Instant::now();
        let patience = Duration::from_secs(if fails { 60 } else { 2 });
        let ended = run(2, patience, move |ranks: &Threads| -> Result<(), GpuError> {
            let own = local(ranks, &system(Policy::D), 1, false);
            let stream = Gpu::open(ranks.rank())?.stream()?;
            let share = Arc::new(ShareCuda::new(&own.share, &stream, &[], NB, wish)?);
            let (mut sweeps, b) = sweeps(&own, &share, Storage::F64, None)?;
            let mut x = DeviceBuffer::zeroed(&stream, own.b.len())?;
            sweeps.preconditioner(SolveOptions::sweeps(2)).apply(&b, &mut x)?;
            own.share.check()?;
            if ranks.rank() == 1 {
                if fails {
                    return Err(GpuError::Unsupported("it was told to fail".to_owned()));
                }
                std::thread::sleep(2 * patience);
                return Ok(());
            }
            sweeps.preconditioner(SolveOptions::sweeps(2)).apply(&b, &mut x)?;
            stream.synchronize()?;
            Ok(own.share.check()?)
        });
        let words = ended.unwrap_err().to_string();
        if fails {
            assert_eq!(words, "rank 1: it was told to fail");
            assert!(started.elapsed() < patience / 2, "{:?}", started.elapsed());
        } else {
            let silent = match wish {
                Wish::Nccl => "rank 0: messages between GPUs stand still for 2 s",
                _ => "rank 1 did not answer for 2 s",
            };
            assert!(words.contains(silent), "{words}");
        }
    }
}
