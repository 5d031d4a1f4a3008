use crate::{CommError, Communicator, Halo, Neighbor, Op, RunError, Solo, Threads, run};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);
const SIZES: [usize; 5] = [1, 2, 3, 5, 8];

/// Delays that differ by rank and round, so that messages arrive in many orders.
fn delay(rank: usize, round: usize) {
    sleep(Duration::from_micros(((rank * 7 + round * 13) % 5 * 300) as u64));
}

/// A value whose sums depend on their order.
fn value(rank: usize, round: usize) -> f64 {
    10_f64.powi((rank * 5 % 8) as i32 * 3) / (3.0 + (rank + round) as f64)
        * if rank.is_multiple_of(2) { 1.0 } else { -1.0 }
}

#[test]
fn sums_are_added_in_the_order_of_ranks_whoever_comes_first() {
    for size in SIZES {
        let sums = run(size, PATIENCE, |ranks: &Threads| {
            let one = |round| {
                delay(ranks.rank(), round);
                let mut sum = [value(ranks.rank(), round), ranks.rank() as f64];
                ranks.reduce(Op::Sum, &mut sum).map(|()| sum)
            };
            (0..10).map(one).collect::<Result<Vec<_>, CommError>>()
        });
        let add = |round| (1..size).fold(value(0, round), |sum, rank| sum + value(rank, round));
        let count = (size * (size - 1) / 2) as f64;
        let expected: Vec<_> = (0..10).map(|round| [add(round), count]).collect();
        assert_eq!(sums.unwrap(), vec![expected; size], "{size} ranks");
    }
}

/// Few values pass through memory where each rank has a core, many as messages: the same bits, and none is overwritten before all have read it.
#[test]
fn values_are_reduced_alike_through_memory_and_by_messages() {
    for size in SIZES {
        let checked = run(size, PATIENCE, |ranks: &Threads| {
            let op = |place: usize| [Op::Sum, Op::Min, Op::Max][place % 3];
            for round in 0..200 {
                if round % 20 == 0 {
                    delay(ranks.rank(), round);
                }
                let own: Vec<f64> = (0..=round % 18).map(|k| value(ranks.rank(), round + 7 * k)).collect();
                let (mut one, mut other) = (own.clone(), own);
                ranks.reduce_each(&op, &mut one)?;
                if round % 3 == 0 {
                    ranks.reduce_by_messages(&op, &mut other)?;
                    assert_eq!(one, other, "round {round} on rank {} of {}", ranks.rank(), ranks.size());
                }
            }
            Ok::<_, CommError>(())
        });
        checked.unwrap();
    }
}

#[test]
fn ranks_that_reduce_different_numbers_of_values_are_told() {
    let failed = run(2, PATIENCE, |ranks: &Threads| {
        ranks.reduce(Op::Sum, &mut vec![1.0; 2 + ranks.rank()])?;
        Ok::<_, CommError>(())
    });
    assert!(matches!(failed, Err(RunError::Failed { error: CommError::Length { .. }, .. })), "{failed:?}");
}

#[test]
fn extremes_see_the_nan_of_any_rank() {
    let found = run(3, PATIENCE, |ranks: &Threads| {
        let own = ranks.rank() as f64;
        let (mut low, mut high) = ([own - 1.0, own], [own, if own == 1.0 { f64::NAN } else { own }]);
        ranks.reduce(Op::Min, &mut low)?;
        ranks.reduce(Op::Max, &mut high)?;
        Ok::<_, CommError>((low, high))
    });
    for (low, high) in found.unwrap() {
        assert_eq!((low, high[0]), ([-1.0, 0.0], 2.0));
        assert!(high[1].is_nan());
    }
}

#[test]
fn bytes_of_unequal_length_are_gathered_and_broadcast() {
    let of = |rank: usize| vec![rank as u8; (rank * 3) % 4];
    for size in SIZES {
        let found = run(size, PATIENCE, move |ranks: &Threads| {
            delay(ranks.rank(), size);
            let (mine, root) = (of(ranks.rank()), size / 2);
            let mut word = mine.clone();
            ranks.broadcast(root, &mut word)?;
            ranks.barrier()?;
            Ok::<_, CommError>((word, ranks.gather(root, &mine)?, ranks.gather_all(&mine)?))
        });
        let all: Vec<_> = (0..size).map(of).collect();
        for (rank, (word, gathered, everywhere)) in found.unwrap().into_iter().enumerate() {
            assert_eq!(word, of(size / 2));
            assert_eq!(gathered, if rank == size / 2 { all.clone() } else { Vec::new() });
            assert_eq!(everywhere, all);
        }
    }
}

/// What all ranks but the one that fails saw.
fn witnesses(fail: fn() -> Result<(), CommError>) -> (RunError<CommError>, Vec<CommError>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&seen);
    let started = Instant::now();
    let result = run(4, PATIENCE, move |ranks: &Threads| {
        if ranks.rank() == 2 {
            return ranks.barrier().and_then(|()| fail());
        }
        // The end may come while a rank is still in the first barrier.
        let both = ranks.barrier().and_then(|()| ranks.barrier());
        both.inspect_err(|error| kept.lock().unwrap().push(error.clone()))
    });
    assert!(started.elapsed() < PATIENCE / 2, "the others waited");
    (result.unwrap_err(), seen.lock().unwrap().clone())
}

#[test]
fn a_rank_that_panics_ends_the_others_with_its_words() {
    let (error, seen) = witnesses(|| panic!("row {} is singular", 7));
    assert_eq!(error.to_string(), "rank 2 panicked: row 7 is singular");
    let ended = CommError::Ended { rank: 2, why: "it panicked: row 7 is singular".to_owned() };
    assert_eq!(seen, vec![ended; 3]);
}

#[test]
fn a_rank_that_returns_an_error_ends_the_others_with_it() {
    let fault = || CommError::Lists { rank: 2, fault: "torn".to_owned() };
    let (error, seen) = witnesses(|| Err(CommError::Lists { rank: 2, fault: "torn".to_owned() }));
    assert!(matches!(error, RunError::Failed { rank: 2, error } if error == fault()));
    assert_eq!(seen, vec![CommError::Ended { rank: 2, why: fault().to_string() }; 3]);
}

#[test]
fn a_rank_that_never_answers_is_left_behind() {
    let patience = Duration::from_millis(50);
    let started = Instant::now();
    for known in [false, true] {
        let result = run(2, patience, move |ranks: &Threads| {
            if known {
                let log = ranks.log().unwrap();
                log.introduce(["host a, GPU 0", "host b, GPU 1"].map(str::to_owned).to_vec());
                log.begin(412);
            }
            if ranks.rank() == 1 {
                sleep(PATIENCE);
            }
            ranks.barrier().map_err(|error| error.during("color 5 of 11"))
        });
        assert!(started.elapsed() < PATIENCE / 2);
        let RunError::Failed { rank: 0, error } = result.unwrap_err() else { panic!("rank 0 waits") };
        assert!(matches!(error, CommError::Late { rank: 1, .. }));
        let expected = if known {
            "rank 1 (host b, GPU 1) did not answer for 0.05 s at iteration 412, color 5 of 11; the run ends"
        } else {
            "rank 1 did not answer for 0.05 s, color 5 of 11; the run ends"
        };
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn a_rank_that_has_finished_is_not_waited_for() {
    let result = run(2, PATIENCE, |ranks: &Threads| if ranks.rank() == 0 { ranks.barrier() } else { Ok(()) });
    let error = result.unwrap_err();
    assert!(matches!(error, RunError::Failed { rank: 0, error: CommError::Left { rank: 1 } }));
}

#[test]
fn no_ranks_and_ranks_that_are_not_there_are_errors() {
    assert!(matches!(run(0, PATIENCE, |_| Ok::<_, CommError>(())), Err(RunError::NoRanks)));
    let absent = run(2, PATIENCE, |ranks: &Threads| ranks.broadcast(2, &mut Vec::new()));
    assert!(matches!(
        absent.unwrap_err(),
        RunError::Failed { error: CommError::NoRank { rank: 2, size: 2, .. }, .. }
    ));
    assert_eq!(Solo.gather_all(&[4, 2]).unwrap(), [vec![4, 2]]);
    assert!(matches!(Solo.broadcast(1, &mut Vec::new()), Err(CommError::NoRank { rank: 1, .. })));
}

/// Nodes of a graph that every rank can compute: node i touches the three nodes i * k + 1.
const NODES: usize = 41;

fn touched(node: usize) -> [usize; 3] {
    [3, 5, 7].map(|k| (node * k + 1) % NODES)
}

/// Owners scattered over the ranks; the last rank of three and more owns nothing.
fn owner(node: usize, size: usize) -> usize {
    (node * node + node / 3) % if size > 2 { size - 1 } else { size }
}

/// Global numbers of a rank's rows, owned ones first, and its lists.
fn parts(rank: usize, size: usize) -> (Vec<usize>, Vec<Neighbor>) {
    let ghosts_of = |rank: usize| {
        let owned = (0..NODES).filter(move |&n| owner(n, size) == rank);
        let mut ghosts: Vec<usize> = owned.flat_map(touched).filter(|&n| owner(n, size) != rank).collect();
        ghosts.sort_unstable();
        ghosts.dedup();
        ghosts
    };
    let mut global: Vec<usize> = (0..NODES).filter(|&n| owner(n, size) == rank).collect();
    global.extend(ghosts_of(rank));
    let local = |n: usize| global.iter().position(|&g| g == n).unwrap() as u32;
    let of = |from: usize, to: usize| -> Vec<u32> {
        ghosts_of(to).into_iter().filter(|&n| owner(n, size) == from).map(local).collect()
    };
    let others = (0..size).filter(|&other| other != rank);
    let lists = others.map(|other| {
        let receive = ghosts_of(rank).into_iter().filter(|&n| owner(n, size) == other).map(local).collect();
        Neighbor { rank: other, send: of(rank, other), receive }
    });
    let lists = lists.filter(|n| !n.send.is_empty() || !n.receive.is_empty()).collect();
    (global, lists)
}

#[test]
fn ghosts_become_their_owners_values_whatever_passes_in_between() {
    for size in SIZES {
        let checked = run(size, PATIENCE, move |ranks: &Threads| {
            let (rank, width) = (ranks.rank(), 3);
            let (global, lists) = parts(rank, size);
            let halo = Halo::new(ranks, global.len(), lists)?;
            let exact = |n: usize, round: usize, array: usize| (n * 100 + round * 10 + array) as f64 / 7.0;
            for round in 0..8 {
                let fill = |array: usize| -> Vec<f64> {
                    let rows = global.iter().flat_map(|&n| {
                        let own = owner(n, size) == rank;
                        (0..width)
                            .map(move |c| if own { exact(n, round, array) + c as f64 } else { f64::NAN })
                    });
                    rows.collect()
                };
                let (mut x, mut y) = (fill(0), fill(1));
                delay(rank, round);
                let first = halo.start(ranks, 0, width, &x)?;
                let second = halo.start(ranks, 1, width, &y)?;
                let mut count = [1.0];
                ranks.reduce(Op::Sum, &mut count)?;
                assert_eq!(count[0], size as f64);
                delay(rank, round + 1);
                second.finish(&mut y)?;
                first.finish(&mut x)?;
                for (array, x) in [x, y].iter().enumerate() {
                    for (row, &n) in x.chunks(width).zip(&global) {
                        let expected: Vec<f64> =
                            (0..width).map(|c| exact(n, round, array) + c as f64).collect();
                        assert_eq!(row, expected, "node {n} on rank {rank} of {size}");
                    }
                }
            }
            Ok::<_, CommError>(global.len())
        });
        let rows: usize = checked.unwrap().iter().sum();
        assert!(if size > 1 { rows > NODES } else { rows == NODES });
    }
}

#[test]
fn lists_that_two_ranks_disagree_on_are_named_before_anything_hangs() {
    let result = run(2, PATIENCE, |ranks: &Threads| {
        let other = 1 - ranks.rank();
        let receive = if other == 0 { vec![2, 3] } else { vec![2] };
        Halo::new(ranks, 4, vec![Neighbor { rank: other, send: vec![0], receive }]).map(drop)
    });
    let text = result.unwrap_err().to_string();
    let expected = "sends 1 rows to rank 1 and receives 1, but rank 1 expects 2 and sends 1";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn lists_that_do_not_fit_the_rows_are_errors() {
    let cases = [
        (0, vec![], vec![], "neighbor 0 where another rank"),
        (2, vec![], vec![], "neighbor 2 where another rank"),
        (1, vec![4], vec![], "row 4 for rank 1, expected one below 4"),
        (1, vec![], vec![3, 3], "row 3 is received twice"),
        (1, vec![1], vec![1], "row 1 is sent and received"),
    ];
    for (rank, send, receive, words) in cases {
        let result = run(2, PATIENCE, move |ranks: &Threads| {
            let lists = vec![Neighbor { rank, send: send.clone(), receive: receive.clone() }];
            Halo::new(ranks, 4, if ranks.rank() == 0 { lists } else { Vec::new() }).map(drop)
        });
        let text = result.unwrap_err().to_string();
        assert!(text.contains(words), "{text}");
    }
}

/// Ranks hand objects to one another, time after time, and keep none that others have seen.
#[test]
fn objects_of_all_ranks_come_in_their_order() {
    for size in SIZES {
        let done = run(size, PATIENCE, |ranks: &Threads| {
            let own = ranks.in_process().expect("a thread");
            for round in 0..5 {
                delay(ranks.rank(), round);
                let mine = Arc::new((round, ranks.rank()));
                let all = own.meet(Arc::clone(&mine) as _)?.into_iter();
                let all: Vec<(usize, usize)> = all.map(|o| *o.downcast_ref().expect("a pair")).collect();
                assert_eq!(all, (0..ranks.size()).map(|rank| (round, rank)).collect::<Vec<_>>());
                ranks.barrier()?;
                assert_eq!(Arc::strong_count(&mine), 1, "nobody holds it any more");
                ranks.barrier_patiently()?;
            }
            Ok::<_, CommError>(())
        });
        assert_eq!(done.unwrap().len(), size);
    }
    assert!(Solo.in_process().is_none() && Solo.barrier_patiently().is_ok());
}

/// A wait for memory ends when it is written, when its writer leaves or another rank fails, and by patience.
#[test]
fn waits_for_memory_of_others_end_as_those_for_messages_do() {
    use std::sync::atomic::{AtomicU64, Ordering};
    let count = Arc::new(AtomicU64::new(0));
    let shared = Arc::clone(&count);
    let done = run(2, PATIENCE, move |ranks: &Threads| {
        for round in 0..100 {
            if ranks.rank() == 0 {
                ranks.wait_until(1, || shared.load(Ordering::Acquire) > round)?;
            } else {
                shared.store(round + 1, Ordering::Release);
            }
        }
        Ok::<_, CommError>(())
    });
    assert!(done.is_ok());
    let wait = |fails: bool, patience: Duration, stays: Duration| {
        let ended = run(2, patience, move |ranks: &Threads| {
            if ranks.rank() == 0 {
                return ranks.wait_until(1, || false);
            }
            sleep(stays);
            if fails { Err(CommError::Left { rank: 7 }) } else { Ok(()) }
        });
        ended.unwrap_err().to_string()
    };
    let short = Duration::from_millis(50);
    assert!(wait(false, PATIENCE, short).contains("rank 1 has finished"));
    assert!(wait(true, PATIENCE, short).starts_with("rank 1: "));
    assert!(wait(false, short, Duration::from_millis(400)).contains("rank 1 did not answer"));
}
