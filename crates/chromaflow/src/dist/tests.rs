//! What ranks have together is what one rank has.

mod lines;
mod turned;

use super::{Links, Share, SweepExchange};
use crate::factor::block_ilu::Fill;
use crate::gallery::tetrahedral;
use crate::order::{Lines, Plan, PlanOptions};
use crate::solver::{AssembledSolver, Method, PreconditionerKind, SolverOptions};
use crate::{BlockPattern, Jacobian, OffDiagonal, Outcome, Policy, RowBatches};
use chromaflow_comm::{CommError, Communicator, Halo, Threads, run};
use chromaflow_device::Team;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use lines::lined_system;
#[cfg(feature = "cuda")]
pub(crate) use lines::{lined_sweeps, lined_system_of};
#[cfg(feature = "cuda")]
pub(crate) use turned::third_of_a_ring;

pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
const SIZES: [usize; 5] = [1, 2, 3, 5, 8];
pub(crate) const ROWS: usize = 240;
pub(crate) const NB: usize = 3;

/// A colored system, the same on every rank.
pub(crate) struct System {
    pub(crate) pattern: Arc<BlockPattern>,
    pub(crate) batches: RowBatches,
    pub(crate) jacobian: Jacobian,
    pub(crate) b: Vec<f64>,
}

pub(crate) fn wave(seed: usize, i: usize) -> f64 {
    ((i * 37 + seed * 101) as f64 * 0.7).sin()
}

pub(crate) fn system(policy: Policy) -> System {
    system_of(ROWS, 1500, 3, policy)
}

/// So many rows with some blocks between them, others for each seed.
pub(crate) fn system_of(rows: usize, blocks: usize, seed: u64, policy: Policy) -> System {
    let (ptr, columns) = tetrahedral(rows, blocks, seed);
    planned(&BlockPattern::new(rows, ptr, columns).unwrap(), &Lines::default(), policy)
}

fn planned(pattern: &BlockPattern, lines: &Lines, policy: Policy) -> System {
    let rows = pattern.rows();
    let plan = Plan::of_lines(pattern, lines, &PlanOptions::default(), &Team::new(1)).unwrap();
    let (pattern, _) = pattern.permuted(&plan.permutation);
    let pattern = Arc::new(pattern);
    let mut jacobian = Jacobian::zeroed(Arc::clone(&pattern), NB, policy).unwrap();
    let q = NB * NB;
    match &mut jacobian.off {
        OffDiagonal::F64(off) => off.iter_mut().enumerate().for_each(|(i, v)| *v = wave(1, i)),
        OffDiagonal::F32(off) => off.iter_mut().enumerate().for_each(|(i, v)| *v = wave(1, i) as f32),
        OffDiagonal::F16 { .. } => unreachable!(),
    }
    for row in 0..rows {
        for e in 0..q {
            let heavy = if e % (NB + 1) == 0 { 2.0 * pattern.range(row).len() as f64 + 3.0 } else { 0.0 };
            jacobian.diag[row * q + e] = heavy + wave(2, row * q + e);
        }
    }
    let b = (0..rows * NB).map(|i| wave(3, i)).collect();
    System { pattern, batches: plan.batches, jacobian, b }
}

/// Owners scattered over the ranks, in parts that hang together nowhere; of three ranks and more the last owns nothing, and
/// the one before only rows of one color. Rows of a line have one owner, of five ranks and more not the first.
fn owner(system: &System, row: usize, size: usize) -> u32 {
    let color = system.batches.iter().position(|rows| rows.contains(&row)).unwrap();
    let (line, row) = (system.batches.line_of(row), system.batches.line_of(row).start);
    match size {
        1 | 2 => (row * row / 7 % size) as u32,
        _ if color == 1 => size as u32 - 2,
        5.. if line.len() > 1 => (row / 5 % (size - 3)) as u32 + 1,
        _ => (row / 5 % (size - 2)) as u32,
    }
}

/// A rank's rows with `layers` layers of ghosts, and its part of the matrix and of b.
pub(crate) struct Local {
    pub(crate) share: Arc<Share>,
    pub(crate) batches: RowBatches,
    pub(crate) jacobian: Jacobian,
    pub(crate) b: Vec<f64>,
}

pub(crate) fn local(ranks: &Threads, whole: &System, layers: usize, exact: bool) -> Local {
    let owners: Vec<u32> = (0..ROWS).map(|row| owner(whole, row, ranks.size())).collect();
    local_of(ranks, whole, &owners, layers, exact)
}

/// The same for owners of the caller's choice.
pub(crate) fn local_of(
    ranks: &(impl Communicator + Clone + 'static),
    whole: &System,
    owners: &[u32],
    layers: usize,
    exact: bool,
) -> Local {
    let (rank, rows) = (ranks.rank() as u32, owners.len());
    let mut here: Vec<bool> = owners.iter().map(|&o| o == rank).collect();
    for _ in 0..layers {
        let near: Vec<u32> =
            (0..rows).filter(|&r| here[r]).flat_map(|r| whole.pattern.columns(r)).copied().collect();
        for r in near {
            here[r as usize] = true;
        }
    }
    let global: Vec<u32> = (0..rows as u32).filter(|&r| here[r as usize]).collect();
    let at = |row: u32| global.binary_search(&row).ok();
    let (mut ptr, mut columns, mut from) = (vec![0], Vec::new(), Vec::new());
    for &row in &global {
        for k in whole.pattern.range(row as usize) {
            if let Some(column) = at(whole.pattern.col_idx()[k]) {
                columns.push(column as u32);
                from.push(k);
            }
        }
        ptr.push(columns.len() as u32);
    }
    let pattern = Arc::new(BlockPattern::new(global.len(), ptr, columns).unwrap());
    let policy = whole.jacobian.off.policy();
    let mut jacobian = Jacobian::zeroed(Arc::clone(&pattern), NB, policy).unwrap();
    let q = NB * NB;
    for (to, &k) in from.iter().enumerate() {
        match (&mut jacobian.off, &whole.jacobian.off) {
            (OffDiagonal::F64(t), OffDiagonal::F64(f)) => t[to * q..][..q].copy_from_slice(&f[k * q..][..q]),
            (OffDiagonal::F32(t), OffDiagonal::F32(f)) => t[to * q..][..q].copy_from_slice(&f[k * q..][..q]),
            _ => unreachable!(),
        }
    }
    for (to, &row) in global.iter().enumerate() {
        let block = &whole.jacobian.diag[row as usize * q..][..q];
        jacobian.diag[to * q..][..q].copy_from_slice(block);
    }
    let offsets = whole.batches.offsets();
    let bound = |&offset: &u32| global.partition_point(|&row| row < offset) as u32;
    let mut batches = RowBatches::new(offsets.iter().map(bound).collect());
    if let Some(lines) = whole.batches.lines() {
        let mut lines: Vec<u32> = lines.iter().map(bound).collect();
        lines.dedup();
        batches = batches.of_lines(lines);
    }
    let cost = |row: usize| whole.pattern.range(row).len() + 2;
    let costs: Vec<[usize; 2]> =
        whole.batches.iter().map(|rows| [rows.len(), rows.map(cost).sum()]).collect();
    let owners: Vec<u32> = global.iter().map(|&row| owners[row as usize]).collect();
    let b = global.iter().flat_map(|&row| &whole.b[row as usize * NB..][..NB]).copied().collect();
    let share = Share::new(Arc::new(ranks.clone()), &pattern, &batches, &costs, global, &owners).unwrap();
    let share = if exact { share.exactly() } else { share };
    let share = Arc::new(if layers > 1 { share.overlapping() } else { share });
    let mut b: Vec<f64> = b;
    share.clear(NB, &mut b);
    Local { share, batches, jacobian, b }
}

fn options(method: Method, preconditioner: PreconditionerKind, policy: Policy) -> SolverOptions {
    SolverOptions { method, preconditioner, policy, sweeps: 3, tolerance: 1e-11, ..SolverOptions::default() }
}

/// The system that is solved so.
fn system_for(o: &SolverOptions) -> System {
    if o.preconditioner == PreconditionerKind::Lines { lined_system(o.policy) } else { system(o.policy) }
}

/// The result of one application or of a solve on one rank alone.
fn alone(whole: &System, o: &SolverOptions, solve: bool) -> (Vec<f64>, usize) {
    let team = Arc::new(Team::new(2));
    let mut solver = AssembledSolver::new(&team, &whole.pattern, NB, &whole.batches, o).unwrap();
    assert_eq!(solver.factor(&whole.jacobian).unwrap().singular, 0);
    let mut x = vec![0.0; ROWS * NB];
    if solve {
        let done = solver.solve(&whole.jacobian, &whole.jacobian, &whole.b, &mut x).unwrap();
        assert_eq!(done.outcome, Outcome::Converged);
        return (x, done.iterations);
    }
    solver.apply(&whole.jacobian, &whole.b, &mut x).unwrap();
    (x, 0)
}

/// The same on ranks of so many threads: x of all rows, iterations; ghosts are looked at.
fn together(size: usize, o: SolverOptions, how: (bool, usize, bool, usize)) -> (Vec<f64>, usize) {
    exchanging(SweepExchange::EveryColor, size, o, how)
}

/// The same with sweeps that exchange so often.
fn exchanging(
    when: SweepExchange,
    size: usize,
    o: SolverOptions,
    (solve, layers, exact, threads): (bool, usize, bool, usize),
) -> (Vec<f64>, usize) {
    let found = run(size, PATIENCE, move |ranks: &Threads| {
        let whole = system_for(&o);
        let Local { share, batches, jacobian, b } = local(ranks, &whole, layers, exact);
        let share = Arc::new(Arc::into_inner(share).expect("made just now").exchanging(when));
        let team = Arc::new(Team::new(threads));
        let pattern = jacobian.pattern();
        let mut solver = AssembledSolver::over_ranks(&team, pattern, NB, &batches, &share, &o).unwrap();
        assert_eq!(solver.factor(&jacobian).unwrap().singular, 0);
        let (mut x, mut iterations) = (vec![0.0; share.rows() * NB], 0);
        if solve {
            let done = solver.solve(&jacobian, &jacobian, &b, &mut x).unwrap();
            assert_eq!(done.outcome, Outcome::Converged);
            iterations = done.iterations;
        } else {
            solver.apply(&jacobian, &b, &mut x).unwrap();
        }
        share.check()?;
        let mut again = x.clone();
        share.ghosts().iter().for_each(|run| again[run.start * NB..run.end * NB].fill(f64::NAN));
        share.exchange(NB, &mut again);
        assert!(again == x, "ghosts have their owners' values");
        Ok::<_, CommError>((share.gather(NB, &x)?, iterations))
    });
    let mut found = found.unwrap();
    assert!(found[1..].iter().all(|(x, n)| x.is_empty() && *n == found[0].1));
    found.swap_remove(0)
}

/// Sweeps take no sums: they are bit for bit those of one rank, forward and symmetric, in f64 and f32, by one thread or two.
#[test]
fn sweeps_are_those_of_one_rank() {
    use crate::relax::Direction;
    for policy in [Policy::D, Policy::Ds] {
        for (kind, direction) in [
            (PreconditionerKind::Multicolor, Direction::Forward),
            (PreconditionerKind::Multicolor, Direction::Symmetric),
            (PreconditionerKind::Jacobi, Direction::Forward),
            (PreconditionerKind::Lines, Direction::Forward),
            (PreconditionerKind::Lines, Direction::Symmetric),
        ] {
            let o = SolverOptions { direction, ..options(Method::Richardson, kind, policy) };
            let (expected, _) = alone(&system_for(&o), &o, false);
            for size in SIZES {
                for (layers, threads) in [(1, 1), (2, 2)] {
                    let (x, _) = together(size, o, (false, layers, false, threads));
                    assert!(x == expected, "{kind} {direction:?} {policy} on {size} ranks");
                }
            }
        }
    }
}

/// x = a^-1 y of a block, column-major, by elimination without exchanges.
fn solve_block(a: &[f64], y: &[f64]) -> Vec<f64> {
    let (mut a, mut y) = (a.to_vec(), y.to_vec());
    for k in 0..NB {
        for i in (0..NB).filter(|&i| i != k) {
            let factor = a[k * NB + i] / a[k * NB + k];
            for c in k..NB {
                a[c * NB + i] -= factor * a[c * NB + k];
            }
            y[i] -= factor * y[k];
        }
    }
    (0..NB).map(|k| y[k] / a[k * NB + k]).collect()
}

/// Forward sweeps of ranks that each have values of all rows, passed on as they would be.
pub(crate) fn plain_sweeps(whole: &System, size: usize, when: SweepExchange, sweeps: usize) -> Vec<f64> {
    let OffDiagonal::F64(off) = &whole.jacobian.off else { unreachable!("blocks in f64") };
    let owner: Vec<usize> = (0..ROWS).map(|row| owner(whole, row, size) as usize).collect();
    let mut x = vec![vec![0.0; ROWS * NB]; size];
    let pass = |x: &mut Vec<Vec<f64>>, rows: std::ops::Range<usize>| {
        for row in rows {
            let values = x[owner[row]][row * NB..][..NB].to_vec();
            for x in x.iter_mut() {
                x[row * NB..][..NB].copy_from_slice(&values);
            }
        }
    };
    let colors: Vec<_> = whole.batches.iter().collect();
    for _ in 0..sweeps {
        for (c, rows) in colors.iter().enumerate() {
            for row in rows.clone() {
                let x = &mut x[owner[row]];
                let mut r = whole.b[row * NB..][..NB].to_vec();
                for k in whole.pattern.range(row) {
                    let column = whole.pattern.col_idx()[k] as usize;
                    for e in 0..NB * NB {
                        r[e % NB] -= off[k * NB * NB + e] * x[column * NB + e / NB];
                    }
                }
                let solved = solve_block(&whole.jacobian.diag[row * NB * NB..][..NB * NB], &r);
                x[row * NB..][..NB].copy_from_slice(&solved);
            }
            match when {
                SweepExchange::EveryColor => pass(&mut x, rows.clone()),
                SweepExchange::ColorLate if c > 0 => pass(&mut x, colors[c - 1].clone()),
                SweepExchange::ColorLate | SweepExchange::EverySweep | SweepExchange::EverySolve => {}
            }
        }
        if when != SweepExchange::EverySolve {
            pass(&mut x, 0..ROWS);
        }
    }
    pass(&mut x, 0..ROWS);
    x.swap_remove(0)
}

/// Sweeps that exchange less often are what their names say, on any number of ranks and threads; on one rank they are its own.
#[test]
fn sweeps_that_exchange_late_read_older_values() {
    let whole = system(Policy::D);
    let o = options(Method::Richardson, PreconditionerKind::Multicolor, Policy::D);
    let (exact, _) = alone(&whole, &o, false);
    let near = |x: &[f64], y: &[f64]| x.iter().zip(y).all(|(x, y)| (x - y).abs() <= 1e-12);
    for when in [
        SweepExchange::EveryColor,
        SweepExchange::ColorLate,
        SweepExchange::EverySweep,
        SweepExchange::EverySolve,
    ] {
        for size in SIZES {
            let expected = plain_sweeps(&whole, size, when, o.sweeps);
            for threads in [1, 2] {
                let (x, _) = exchanging(when, size, o, (false, 1, false, threads));
                assert!(near(&x, &expected), "{when:?} on {size} ranks of {threads} threads");
            }
            let same = size == 1 || when == SweepExchange::EveryColor;
            assert_eq!(near(&expected, &exact), same, "{when:?} on {size} ranks");
            let solve = SolverOptions { method: Method::Gmres, ..o };
            let (x, _) = exchanging(when, size, solve, (true, 1, false, 1));
            let (y, _) = alone(&whole, &solve, true);
            assert!(x.iter().zip(&y).all(|(x, y)| (x - y).abs() <= 1e-9), "{when:?} on {size} ranks");
        }
    }
}

/// Methods with sums agree to rounding, and to the bit where sums are exact.
#[test]
fn krylov_methods_are_those_of_one_rank() {
    let kinds = [PreconditionerKind::Multicolor, PreconditionerKind::Lines];
    for (method, kind) in
        [Method::Gmres, Method::BiCgStab, Method::Richardson].into_iter().flat_map(|m| kinds.map(|k| (m, k)))
    {
        let o = options(method, kind, Policy::D);
        let (expected, count) = alone(&system_for(&o), &o, true);
        let (bits, _) = together(1, o, (true, 1, true, 1));
        for size in SIZES {
            let (x, iterations) = together(size, o, (true, 1, false, 1));
            assert!(
                x.iter().zip(&expected).all(|(x, e)| (x - e).abs() <= 1e-12),
                "{method}, {kind}, {size} ranks"
            );
            assert_eq!(iterations, count, "{method} on {size} ranks");
            let (x, _) = together(size, o, (true, 1, true, 1));
            assert!(x == bits, "{method} with exact sums on {size} ranks");
        }
    }
}

/// Factors of parts are other preconditioners, but of the same system; with overlap they need no more iterations.
#[test]
fn factors_of_parts_precondition_the_same_system() {
    let whole = system(Policy::D);
    for fill in [Fill::Level(0), Fill::Level(1)] {
        for method in [Method::Gmres, Method::Richardson] {
            let o = options(method, PreconditionerKind::Ilu(fill), Policy::D);
            let (expected, count) = alone(&whole, &o, true);
            for size in SIZES {
                let (x, apart) = together(size, o, (true, 1, false, 1));
                let (y, overlapping) = together(size, o, (true, 2, false, 1));
                let near =
                    |x: &[f64]| x.iter().zip(&expected).all(|(x, e): (&f64, &f64)| (x - e).abs() <= 1e-9);
                assert!(near(&x) && near(&y), "{fill} on {size} ranks");
                assert!(overlapping <= apart, "{fill} on {size} ranks: {overlapping}, {apart} without");
                if size == 1 {
                    assert_eq!((apart, overlapping), (count, count));
                }
            }
        }
    }
}

#[test]
fn messages_of_a_sweep_are_as_many_as_neighbors_and_colors_say() {
    let found = run(3, PATIENCE, |ranks: &Threads| {
        let whole = system(Policy::D);
        let share = local(ranks, &whole, 1, false).share;
        let read = share
            .batches()
            .iter()
            .map(|batch| batch.neighbors.iter().map(|n| n.receive.len()).sum::<usize>());
        let ghosts: usize = share.ghosts().iter().map(ExactSizeIterator::len).sum();
        assert_eq!(
            read.sum::<usize>(),
            ghosts,
            "with one layer every ghost is read by the matrix, once a sweep"
        );
        let rows: usize = share
            .batches()
            .iter()
            .flat_map(|b| b.border.iter().chain(&b.interior))
            .map(ExactSizeIterator::len)
            .sum();
        assert_eq!(rows, share.owned().iter().map(ExactSizeIterator::len).sum::<usize>());
        Ok::<_, CommError>(rows)
    });
    let rows = found.unwrap();
    assert_eq!(rows.iter().sum::<usize>(), ROWS);
    assert_eq!(rows[2], 0, "a rank without rows takes its turns");
}

#[test]
fn a_rank_that_fails_leaves_nothing_but_nan_and_its_words() {
    let found = run(2, Duration::from_millis(200), |ranks: &Threads| {
        let whole = system(Policy::D);
        let Local { share, b, .. } = local(ranks, &whole, 1, false);
        if ranks.rank() == 1 {
            return Err(CommError::Lists { rank: 1, fault: "torn".to_owned() });
        }
        let norm = share.norm2(NB, &b);
        assert!(norm.is_nan());
        share.check().map(|()| norm)
    });
    assert_eq!(found.unwrap_err().to_string(), "rank 1: the halo of rank 1: torn");
}

/// Random delays of every message change nothing.
#[test]
fn the_order_of_arrival_changes_no_bit() {
    #[derive(Debug)]
    struct Delayed(Threads);
    impl Communicator for Delayed {
        fn rank(&self) -> usize {
            self.0.rank()
        }
        fn size(&self) -> usize {
            self.0.size()
        }
        fn send(&self, to: usize, tag: chromaflow_comm::Tag, bytes: Vec<u8>) -> Result<(), CommError> {
            std::thread::sleep(Duration::from_micros((bytes.len() * 7 + to * 13) as u64 % 5 * 100));
            self.0.send(to, tag, bytes)
        }
        fn receive_within(
            &self,
            patience: Duration,
            from: usize,
            tag: chromaflow_comm::Tag,
        ) -> Result<Vec<u8>, CommError> {
            self.0.receive_within(patience, from, tag)
        }
        fn patience(&self) -> Duration {
            self.0.patience()
        }
    }
    let exchanged = |delayed: bool| {
        run(5, PATIENCE, move |ranks: &Threads| {
            let whole = system(Policy::D);
            let Local { share, b, .. } = local(ranks, &whole, 2, false);
            let halo = Halo::new(ranks, share.rows(), share.halo().neighbors().to_vec())?;
            let mut x = b;
            if delayed {
                halo.exchange(&Delayed(ranks.clone()), NB, &mut x)?;
            } else {
                halo.exchange(ranks, NB, &mut x)?;
            }
            Ok::<_, CommError>(x)
        })
        .unwrap()
    };
    assert_eq!(exchanged(true), exchanged(false));
}
