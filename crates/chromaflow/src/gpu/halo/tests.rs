//! Ranks on devices against one device, all of them on the same one.

use super::{Between, Path, ShareCuda, Wish};
use crate::dist::tests::{
    Local, NB, PATIENCE, System, lined_sweeps, lined_system, local, plain_sweeps, system, third_of_a_ring,
    wave,
};
use crate::dist::{Links, SweepExchange};
use crate::factor::block_ilu::cuda::{DeviceBlockIlu, DeviceIluOverRanks};
use crate::factor::block_ilu::{BlockIluOptions, Fill, IluOverRanks};
use crate::gpu::{DeviceJacobian, GpuError, Storage, test_stream};
use crate::krylov::{Control, KrylovCuda, OfRankCuda, PreconditionerCuda, SmootherCuda};
use crate::relax::{Direction, LinesCuda, MulticolorCuda, SolveOptions};
use crate::sparse::cuda::BlockMatrixCuda;
use crate::{Outcome, Policy};
use chromaflow_comm::{Communicator, Threads, run};
use chromaflow_device::Team;
use chromaflow_device::cuda::{DeviceBuffer, Gpu, Stream};
use std::sync::Arc;

const SIZES: [usize; 4] = [1, 2, 3, 5];

/// Runs a job on ranks that share a device, each with its rows there.
fn on_ranks<T: Send + 'static>(
    size: usize,
    policy: Policy,
    how: (usize, Wish),
    job: impl Fn(&Local, &Arc<ShareCuda>, &Stream) -> Result<T, GpuError> + Send + Sync + 'static,
) -> Vec<T> {
    on_ranks_of(Sweeps::Points, size, policy, how, job)
}

/// The same with the system that is swept so.
fn on_ranks_of<T: Send + 'static>(
    sweeps: Sweeps,
    size: usize,
    policy: Policy,
    (layers, wish): (usize, Wish),
    job: impl Fn(&Local, &Arc<ShareCuda>, &Stream) -> Result<T, GpuError> + Send + Sync + 'static,
) -> Vec<T> {
    let found = run(size, PATIENCE, move |ranks: &Threads| -> Result<T, GpuError> {
        let own = local(ranks, &sweeps.system(policy), layers, false);
        let stream = Gpu::open(0)?.stream()?;
        let share = Arc::new(ShareCuda::new(&own.share, &stream, &[], 5, wish)?);
        match wish {
            Wish::Shortest | Wish::Posted => assert_eq!(*share.path(), Path::Peer(Between::Threads)),
            Wish::Staged => assert!(matches!(share.path(), Path::Staged(_))),
            Wish::Nccl => unreachable!("it refuses ranks that share a device"),
        }
        let done = job(&own, &share, &stream)?;
        own.share.check()?;
        Ok(done)
    });
    found.unwrap()
}

/// What is swept over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sweeps {
    Points,
    Jacobi,
    Lines,
}

impl Sweeps {
    fn system(self, policy: Policy) -> System {
        if self == Self::Lines { lined_system(policy) } else { system(policy) }
    }

    /// On one device.
    fn alone(self, stream: &Stream, whole: &System) -> Result<SmootherCuda, GpuError> {
        let (pattern, storage) = (&whole.pattern, Storage::from(whole.jacobian.off.policy()));
        Ok(match self {
            Self::Points => SmootherCuda::Points(
                MulticolorCuda::new(stream, pattern, NB, &whole.batches, storage)?.into(),
            ),
            Self::Jacobi => {
                SmootherCuda::Points(MulticolorCuda::jacobi(stream, pattern, NB, storage)?.into())
            }
            Self::Lines => {
                SmootherCuda::Lines(LinesCuda::new(stream, pattern, NB, &whole.batches, storage)?.into())
            }
        })
    }

    /// Over the rows of a rank.
    fn over_ranks(self, own: &Local, share: &Arc<ShareCuda>) -> Result<SmootherCuda, GpuError> {
        let (pattern, storage) = (own.jacobian.pattern(), Storage::from(own.jacobian.off.policy()));
        Ok(match self {
            Self::Points => {
                let points = MulticolorCuda::over_ranks(pattern, NB, &own.batches, storage, share)?;
                SmootherCuda::Points(points.into())
            }
            Self::Jacobi => {
                SmootherCuda::Points(MulticolorCuda::jacobi_over_ranks(pattern, NB, storage, share)?.into())
            }
            Self::Lines => {
                let lines = LinesCuda::over_ranks(pattern, NB, &own.batches, storage, share)?;
                SmootherCuda::Lines(lines.into())
            }
        })
    }
}

/// Ghosts get their owners' values, exchange after exchange, whatever stood there before; by both ways.
#[test]
fn cuda_small_exchanges_bring_owners_values() {
    if test_stream().is_none() {
        return;
    }
    for wish in [Wish::Shortest, Wish::Staged] {
        for (size, layers) in [(1, 1), (2, 1), (3, 2), (5, 2)] {
            on_ranks(size, Policy::D, (layers, wish), move |own, share, stream| {
                for turn in 0..7 {
                    let width = [1, 5, 2][turn % 3];
                    let value = |row: usize, k: usize| wave(turn, own.share.global()[row] as usize * 8 + k);
                    let all = |ghost: f64| -> Vec<f64> {
                        let of = |row: usize, k| if own.share.owns(row) { value(row, k) } else { ghost };
                        (0..own.share.rows())
                            .flat_map(|row| (0..width).map(move |k| (row, k)))
                            .map(|(row, k)| of(row, k))
                            .collect()
                    };
                    let mut expected = all(f64::NAN);
                    own.share.exchange(width, &mut expected);
                    let x = stream.upload(&all(f64::NAN))?;
                    share.exchange(width, &x.slice())?;
                    assert!(x.download()? == expected, "{wish:?}, {size} ranks, width {width}, turn {turn}");
                    share.clear(width, &x.slice())?;
                    assert!(x.download()? == all(0.0));
                }
                Ok(())
            });
        }
    }
}

/// Rows never pass through the host unasked: where NCCL refuses, or is not there, that is an error on every rank, before there are rows and
/// when there are.
#[test]
fn cuda_small_staging_is_never_chosen_unasked() {
    if test_stream().is_none() {
        return;
    }
    let found = run(3, PATIENCE, move |ranks: &Threads| -> Result<_, GpuError> {
        let own = local(ranks, &system(Policy::D), 1, false);
        let stream = Gpu::open(0)?.stream()?;
        for wish in [Wish::Shortest, Wish::Posted, Wish::Staged] {
            wish.check(ranks, stream.gpu())?;
        }
        let early = Wish::Nccl.check(ranks, stream.gpu()).err();
        let late = ShareCuda::new(&own.share, &stream, &[], 5, Wish::Nccl).err();
        Ok([early, late].map(|error| error.map(|error| error.to_string())))
    });
    for said in found.unwrap().into_iter().flatten() {
        let said = said.expect("three ranks share a device");
        assert!(said.contains("share a GPU, which NCCL refuses") || said.contains("libnccl.so.2"), "{said}");
        assert!(said.ends_with("--halo staged"), "{said}");
    }
}

/// Sweeps take no sums: they are bit for bit those of one device, by both ways, in f64 and f32; ghosts that the matrix reads come with them.
#[test]
fn cuda_small_sweeps_over_ranks_are_those_of_one_device() {
    let Some(stream) = test_stream() else { return };
    for policy in [Policy::D, Policy::Ds] {
        for (direction, kind) in [
            (Direction::Forward, Sweeps::Points),
            (Direction::Symmetric, Sweeps::Points),
            (Direction::Forward, Sweeps::Jacobi),
            (Direction::Forward, Sweeps::Lines),
            (Direction::Symmetric, Sweeps::Lines),
        ] {
            let (whole, options) =
                (kind.system(policy), SolveOptions { direction, damping: 0.9, ..SolveOptions::sweeps(4) });
            let mut alone = kind.alone(&stream, &whole).unwrap();
            alone.factor_later(&DeviceJacobian::upload(&stream, &whole.jacobian).unwrap()).unwrap();
            let b = stream.upload(&whole.b).unwrap();
            let mut x = DeviceBuffer::zeroed(&stream, whole.b.len()).unwrap();
            alone.preconditioner(options).apply(&b, &mut x).unwrap();
            let expected = Arc::new(x.download().unwrap());
            for (wish, size) in [Wish::Shortest, Wish::Staged].into_iter().flat_map(|w| SIZES.map(|s| (w, s)))
            {
                let expected = Arc::clone(&expected);
                on_ranks_of(kind, size, policy, (1, wish), move |own, share, stream| {
                    let mut sweeps = kind.over_ranks(own, share)?;
                    sweeps.factor_later(&DeviceJacobian::upload(stream, &own.jacobian)?)?;
                    let (b, mut x) = (stream.upload(&own.b)?, DeviceBuffer::zeroed(stream, own.b.len())?);
                    for _ in 0..2 {
                        sweeps.preconditioner(options).apply(&b, &mut x)?;
                        let x = x.download()?;
                        for (row, x) in own.share.global().iter().zip(x.chunks_exact(NB)) {
                            assert!(
                                *x == expected[*row as usize * NB..][..NB],
                                "{policy}, {kind:?}, {direction:?}, {wish:?}, {size} ranks"
                            );
                        }
                    }
                    Ok(())
                });
            }
        }
    }
}

/// Sweeps that exchange less often are those of ranks on CPUs, to rounding, and by both ways the same.
#[test]
fn cuda_sweeps_that_exchange_late_read_older_values() {
    if test_stream().is_none() {
        return;
    }
    let whole = system(Policy::D);
    let late = [SweepExchange::ColorLate, SweepExchange::EverySweep, SweepExchange::EverySolve];
    for (when, kind) in late.into_iter().flat_map(|when| [(when, Sweeps::Points), (when, Sweeps::Lines)]) {
        for size in SIZES {
            let expected = match kind {
                Sweeps::Lines => lined_sweeps(size, when, 3),
                _ => plain_sweeps(&whole, size, when, 3),
            };
            let found = [Wish::Shortest, Wish::Staged].map(|wish| {
                let done = run(size, PATIENCE, move |ranks: &Threads| -> Result<Vec<f64>, GpuError> {
                    let mut own = local(ranks, &kind.system(Policy::D), 1, false);
                    let rows = Arc::into_inner(own.share).expect("made just now").exchanging(when);
                    own.share = Arc::new(rows);
                    let stream = Gpu::open(0)?.stream()?;
                    let share = Arc::new(ShareCuda::new(&own.share, &stream, &[], NB, wish)?);
                    let mut sweeps = kind.over_ranks(&own, &share)?;
                    sweeps.factor_later(&DeviceJacobian::upload(&stream, &own.jacobian)?)?;
                    let (b, mut x) = (stream.upload(&own.b)?, DeviceBuffer::zeroed(&stream, own.b.len())?);
                    sweeps.preconditioner(SolveOptions::sweeps(3)).apply(&b, &mut x)?;
                    Ok(own.share.gather(NB, &x.download()?)?)
                });
                done.unwrap().swap_remove(0)
            });
            assert!(found[0] == found[1], "{when:?}, {kind:?} on {size} ranks: the two ways");
            let near = |(x, y): (&f64, &f64)| (x - y).abs() <= 1e-12;
            assert!(found[0].iter().zip(&expected).all(near), "{when:?}, {kind:?} on {size} ranks");
        }
    }
}

/// GMRES, BiCGStab and corrections around sweeps and around factors of parts solve the same system on any number of ranks; around sweeps
/// in as many iterations, and the two ways give the same bits.
#[test]
fn cuda_krylov_methods_over_ranks_solve_the_system_of_one_device() {
    let Some(stream) = test_stream() else { return };
    let whole = system(Policy::D);
    let jacobian = DeviceJacobian::upload(&stream, &whole.jacobian).unwrap();
    let control = Control { tolerance: 1e-11, max_iterations: 200 };
    let fill = BlockIluOptions { fill: Fill::Level(0), storage: Storage::F64, ..Default::default() };
    for (method, ilu) in [0, 1, 2].into_iter().flat_map(|method| [(method, false), (method, true)]) {
        let solve = move |krylov: &mut KrylovCuda,
                          a: &mut dyn crate::krylov::LinearOperatorCuda,
                          m: &mut PreconditionerCuda<'_>,
                          b: &_,
                          x: &mut _| match method {
            0 => krylov.gmres(a, m, b, x, &control, (30, 30)),
            1 => krylov.bicgstab(a, m, b, x, &control),
            _ => krylov.richardson(a, m, b, x, &control),
        };
        let mut a = BlockMatrixCuda::new(&stream, &whole.pattern, NB, Storage::F64).unwrap();
        a.set_values(&jacobian).unwrap();
        let mut sweeps =
            MulticolorCuda::new(&stream, &whole.pattern, NB, &whole.batches, Storage::F64).unwrap();
        sweeps.factor(&jacobian).unwrap();
        let mut factors = DeviceBlockIlu::new(&stream, &whole.pattern, NB, fill).unwrap();
        factors.factor(&jacobian).unwrap();
        let mut m = if ilu {
            PreconditionerCuda::Ilu(&mut factors)
        } else {
            PreconditionerCuda::Relaxation(&mut sweeps, SolveOptions::sweeps(3))
        };
        let (b, mut x) =
            (stream.upload(&whole.b).unwrap(), DeviceBuffer::zeroed(&stream, whole.b.len()).unwrap());
        let done = solve(&mut KrylovCuda::new(&stream).unwrap(), &mut a, &mut m, &b, &mut x).unwrap();
        assert_eq!(done.outcome, Outcome::Converged);
        let expected = x.download().unwrap();
        for size in SIZES {
            let of = |wish: Wish| {
                on_ranks(size, Policy::D, (if ilu { 2 } else { 1 }, wish), move |own, share, stream| {
                    let pattern = own.jacobian.pattern();
                    let jacobian = DeviceJacobian::upload(stream, &own.jacobian)?;
                    let mut a = BlockMatrixCuda::new(stream, pattern, NB, Storage::F64)?;
                    a.set_values(&jacobian)?;
                    let mut sweeps =
                        MulticolorCuda::over_ranks(pattern, NB, &own.batches, Storage::F64, share)?;
                    sweeps.factor(&jacobian)?;
                    let mut factors = DeviceIluOverRanks::new(share, pattern, NB, fill, Storage::F64)?;
                    factors.factor(&jacobian)?;
                    assert!(factors.report()?.is_ok());
                    let mut m = if ilu {
                        PreconditionerCuda::IluOverRanks(&mut factors)
                    } else {
                        PreconditionerCuda::Relaxation(&mut sweeps, SolveOptions::sweeps(3))
                    };
                    let (b, mut x) = (stream.upload(&own.b)?, DeviceBuffer::zeroed(stream, own.b.len())?);
                    let mut a = OfRankCuda::new(&mut a, share);
                    let done = solve(&mut KrylovCuda::new(stream)?, &mut a, &mut m, &b, &mut x)?;
                    assert_eq!(done.outcome, Outcome::Converged);
                    Ok((own.share.gather(NB, &x.download()?)?, done.iterations))
                })
                .swap_remove(0)
            };
            let (x, iterations) = of(Wish::Shortest);
            assert!(
                (x.clone(), iterations) == of(Wish::Staged),
                "method {method}, {size} ranks: the two ways"
            );
            assert!(
                x.iter().zip(&expected).all(|(x, e)| (x - e).abs() <= 1e-9),
                "method {method}, ilu {ilu}, {size} ranks"
            );
            if !ilu || size == 1 {
                assert_eq!(iterations, done.iterations, "method {method}, ilu {ilu}, {size} ranks");
            }
        }
    }
}

/// Blocks in the columns of images are folded as on the host.
#[test]
fn cuda_small_factors_see_a_ring_across_its_seam() {
    if test_stream().is_none() {
        return;
    }
    for (rows, nb, policy) in [
        (3, 5, Policy::D),
        (2, 5, Policy::Ds),
        (1, 5, Policy::D),
        (3, 6, Policy::Ds),
        (3, 1, Policy::D),
        (1, 2, Policy::Ds),
    ] {
        let job = move |ranks: &Threads| -> Result<(), GpuError> {
            let (share, jacobian, b) = third_of_a_ring(ranks, (rows, nb), policy);
            let options = BlockIluOptions { storage: Storage::F64, ..BlockIluOptions::default() };
            let team = Team::new(1);
            let mut factors = IluOverRanks::new(&share, jacobian.pattern(), nb, options, &team).unwrap();
            factors.factor(&jacobian, &team).unwrap();
            let mut expected = vec![0.0; b.len()];
            factors.solve(&team, &b, &mut expected);
            let stream = Gpu::open(0)?.stream()?;
            let share = Arc::new(ShareCuda::new(&share, &stream, &[], nb, Wish::Staged)?);
            let storage = if policy == Policy::D { Storage::F64 } else { Storage::F32 };
            let mut factors = DeviceIluOverRanks::new(&share, jacobian.pattern(), nb, options, storage)?;
            factors.factor(&DeviceJacobian::upload(&stream, &jacobian)?)?;
            assert!(factors.report()?.is_ok());
            let mut x = stream.upload(&vec![f64::NAN; b.len()])?;
            factors.solve(&stream.upload(&b)?, &mut x)?;
            for (x, e) in x.download()?.iter().zip(&expected) {
                // Where two blocks meet in f32 the host rounds twice.
                assert!(
                    (x - e).abs() < if policy == Policy::D { 1e-13 } else { 1e-6 },
                    "{rows} rows of {nb}: {x} {e}"
                );
            }
            Ok(())
        };
        run(1, PATIENCE, job).unwrap();
    }
}

/// A rank that fails ends the exchanges of the others, which wait for nothing on the device.
#[test]
fn cuda_small_ranks_that_fail_end_the_exchanges_of_others() {
    if test_stream().is_none() {
        return;
    }
    for wish in [Wish::Shortest, Wish::Staged] {
        let ended = run(3, PATIENCE, move |ranks: &Threads| -> Result<(), GpuError> {
            let own = local(ranks, &system(Policy::D), 1, false);
            let stream = Gpu::open(0)?.stream()?;
            let share = ShareCuda::new(&own.share, &stream, &[], 1, wish)?;
            let x = DeviceBuffer::<f64>::zeroed(&stream, own.share.rows())?;
            share.exchange(1, &x.slice())?;
            if ranks.rank() == 1 {
                return Err(GpuError::Unsupported("it was told to fail".to_owned()));
            }
            for _ in 0..3 {
                share.exchange(1, &x.slice())?;
            }
            stream.synchronize()?;
            Ok(own.share.check()?)
        });
        assert_eq!(ended.unwrap_err().to_string(), "rank 1: it was told to fail");
    }
}
