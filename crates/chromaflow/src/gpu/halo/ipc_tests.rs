//! Ranks that are processes of one host, which open one another's memory: a test starts its own program again, as the other rank. No MPI
//! is needed: a socket carries their messages.

use super::direct_tests::{DELAY, Swept, exchanges, gpus, sweeps};
use super::{Between, Path, ShareCuda, Wish};
use crate::Policy;
use crate::dist::tests::{NB, PATIENCE, local_of, system};
use crate::gpu::{GpuError, Storage, test_stream};
use crate::relax::SolveOptions;
use chromaflow_comm::{CommError, Communicator, Op, Tag};
use chromaflow_device::cuda::{DeviceBuffer, Exported, Gpu, Imported, Nccl, Stream};
use std::collections::{HashMap, VecDeque};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

const SOCKET: &str = "CHROMAFLOW_TEST_SOCKET";
const HANDLE: &str = "CHROMAFLOW_TEST_IPC_HANDLE";

/// What has come, by tag, and whether more can.
type Inbox = (Mutex<(HashMap<Tag, VecDeque<Vec<u8>>>, bool)>, Condvar);

/// One of two ranks at the ends of a socket.
#[derive(Clone, Debug)]
struct Pair {
    rank: usize,
    out: Arc<Mutex<UnixStream>>,
    inbox: Arc<Inbox>,
    patience: Duration,
}

impl Pair {
    fn new(rank: usize, socket: UnixStream, patience: Duration) -> Self {
        let (mut from, inbox) = (socket.try_clone().unwrap(), Arc::new(Inbox::default()));
        let found = Arc::clone(&inbox);
        // What comes is taken at once, so that whoever sends never waits.
        thread::spawn(move || {
            let mut frame = || -> std::io::Result<(Tag, Vec<u8>)> {
                let mut head = [0; 12];
                from.read_exact(&mut head)?;
                let (tag, length) = head.split_at(4);
                let mut bytes = vec![0; u64::from_le_bytes(length.try_into().unwrap()) as usize];
                from.read_exact(&mut bytes)?;
                let tag = u32::from_le_bytes(tag.try_into().unwrap());
                Ok((tag.checked_sub(1).map_or(Tag::Collective, Tag::Halo), bytes))
            };
            loop {
                let frame = frame();
                let mut all = found.0.lock().unwrap();
                found.1.notify_all();
                let Ok((tag, bytes)) = frame else {
                    all.1 = true;
                    return;
                };
                all.0.entry(tag).or_default().push_back(bytes);
            }
        });
        Self { rank, out: Arc::new(Mutex::new(socket)), inbox, patience }
    }
}

impl Communicator for Pair {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        2
    }

    fn send(&self, _: usize, tag: Tag, bytes: Vec<u8>) -> Result<(), CommError> {
        let number: u32 = if let Tag::Halo(number) = tag { 1 + number } else { 0 };
        let frame = [&number.to_le_bytes()[..], &(bytes.len() as u64).to_le_bytes(), &bytes].concat();
        let written = self.out.lock().unwrap().write_all(&frame);
        written.map_err(|error| CommError::Library { why: error.to_string() })
    }

    fn receive_within(&self, patience: Duration, from: usize, tag: Tag) -> Result<Vec<u8>, CommError> {
        let (start, mut all) = (Instant::now(), self.inbox.0.lock().unwrap());
        loop {
            if let Some(bytes) = all.0.get_mut(&tag).and_then(VecDeque::pop_front) {
                return Ok(bytes);
            }
            let rest = patience.saturating_sub(start.elapsed());
            if all.1 {
                return Err(CommError::Left { rank: from });
            } else if rest.is_zero() {
                return Err(CommError::late(self, from, patience));
            }
            all = self.inbox.1.wait_timeout(all, rest).unwrap().0;
        }
    }

    fn patience(&self) -> Duration {
        self.patience
    }
}

/// This test once more, in a process of its own.
fn again(name: &str, variable: &str, value: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("gpu::halo::ipc_tests::{name}"), "--nocapture"]);
    command.env(variable, value).stdout(Stdio::piped()).spawn().unwrap()
}

/// Does a job on two processes, this one and the one that it starts of its own test; on each what comes of it.
fn in_two_processes<T>(name: &str, patience: Duration, job: impl FnOnce(&Pair) -> T) -> (T, Option<Child>) {
    if let Ok(path) = std::env::var(SOCKET) {
        return (job(&Pair::new(1, UnixStream::connect(path).unwrap(), patience)), None);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ranks");
    let listener = UnixListener::bind(&path).unwrap();
    let mut child = again(name, SOCKET, path.to_str().unwrap());
    listener.set_nonblocking(true).unwrap();
    let socket = loop {
        if let Ok((socket, _)) = listener.accept() {
            break socket;
        }
        assert!(child.try_wait().unwrap().is_none(), "the other process has ended");
        thread::sleep(Duration::from_millis(5));
    };
    socket.set_nonblocking(false).unwrap();
    (job(&Pair::new(0, socket, patience)), Some(child))
}

/// The other process has done the same without an error.
fn well(child: Option<Child>) {
    let Some(child) = child else { return };
    let done = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && said.contains("1 passed"), "{said}");
}

/// Messages of processes pass one another by tag, however large, without a GPU: what the tests below stand on.
#[test]
fn two_processes_send_one_another_messages() {
    let ((), child) = in_two_processes("two_processes_send_one_another_messages", PATIENCE, |ranks| {
        let (own, other) = (ranks.rank(), 1 - ranks.rank());
        ranks.send(other, Tag::Halo(3), vec![own as u8; 3 << 20]).unwrap();
        let mut sum = [1.0 + own as f64];
        ranks.reduce(Op::Sum, &mut sum).unwrap();
        assert_eq!(sum, [3.0]);
        assert_eq!(ranks.receive(other, Tag::Halo(3)).unwrap(), vec![other as u8; 3 << 20]);
        ranks.barrier().unwrap();
    });
    well(child);
}

/// Another process reads what stands in the memory and writes beside it; both share a device, or have one each.
#[test]
fn cuda_memory_is_open_to_another_process() {
    const COUNT: usize = 1000;
    let numbers =
        |seed: u32| -> Vec<u32> { (0..COUNT as u32).map(|i| i.wrapping_mul(0x9e37_79b1) ^ seed).collect() };
    // SAFETY: the memory has more than is looked at, and lives longer.
    #[allow(unsafe_code)]
    let at = |stream: &Stream, ptr: u64, from: usize| unsafe {
        DeviceBuffer::<u32>::adopt(stream, ptr + 4 * from as u64, COUNT)
    };
    let Some(stream) = test_stream() else { return };
    if let Ok(handle) = std::env::var(HANDLE) {
        let handle: Vec<u8> = handle.split(',').map(|byte| byte.parse().unwrap()).collect();
        let gpu = Gpu::open(Gpu::count().unwrap() - 1).unwrap();
        let (stream, memory) =
            (gpu.stream().unwrap(), Imported::open(&gpu, &handle.try_into().unwrap()).unwrap());
        assert_eq!(at(&stream, memory.ptr(), 0).download().unwrap(), numbers(1));
        at(&stream, memory.ptr(), COUNT).upload(&numbers(2)).unwrap();
        return;
    }
    // A size that nothing else here has left.
    let size = 64 << 20;
    let memory = Exported::zeroed(&stream, size).unwrap();
    let first = memory.ptr();
    at(&stream, first, 0).upload(&numbers(1)).unwrap();
    let handle = memory.handle().unwrap().map(|byte| byte.to_string()).join(",");
    well(Some(again("cuda_memory_is_open_to_another_process", HANDLE, &handle)));
    assert_eq!(at(&stream, first, COUNT).download().unwrap(), numbers(2));
    assert!(
        Imported::open(stream.gpu(), &memory.handle().unwrap()).is_err(),
        "a process cannot open its own"
    );
    // What is dropped is taken again, and zero.
    drop(memory);
    let again = Exported::zeroed(&stream, size - 3).unwrap();
    assert_eq!(again.ptr(), first);
    assert_eq!(at(&stream, first, COUNT).download().unwrap(), vec![0; COUNT]);
}

/// Ways between two processes with a GPU each.
fn ways() -> Vec<(Wish, Path, Option<u32>)> {
    let mut all = vec![
        (Wish::Posted, Path::Peer(Between::Processes), None),
        (Wish::Shortest, Path::Direct(Between::Processes), None),
        (Wish::Shortest, Path::Direct(Between::Processes), DELAY),
    ];
    if let Ok(nccl) = Nccl::open() {
        all.push((Wish::Nccl, Path::Nccl(nccl.version()), None));
    }
    all
}

/// Two processes with a GPU each take the sweeps of one device bit for bit, by all ways, whoever owns which rows; with stores into one
/// another's memory a linear step is one graph. Ghosts get their owners' values.
#[test]
fn cuda_processes_on_two_gpus_take_the_sweeps_of_one_bit_for_bit() {
    let Some(stream) = test_stream() else { return };
    let Some((_, _alone)) = gpus() else { return };
    let name = "cuda_processes_on_two_gpus_take_the_sweeps_of_one_bit_for_bit";
    let ((), child) = in_two_processes(name, PATIENCE, |ranks| {
        for cut in 0..3 {
            for (wish, path, _) in ways().iter().filter(|(_, _, delay)| delay.is_none()) {
                exchanges(ranks, cut, *wish, path).unwrap();
            }
        }
        for swept in Swept::all() {
            let expected = swept.alone(&stream);
            for cut in 0..3 {
                let (has_rows, asked) = swept.over_ranks(ranks, cut, &ways(), &expected).unwrap();
                assert!(
                    has_rows && asked[0].graphs == 0 && asked[0].events + asked[0].waits == 0,
                    "{:?}",
                    asked[0]
                );
                assert!(asked[1..].iter().all(|of| (of.kernels, of.graphs) == (1, 1)), "{asked:?}");
            }
        }
        ranks.barrier().unwrap();
    });
    well(child);
}

/// A process that is gone in the midst of a step is waited for as long as there is patience, by kernels and by hosts; the error names it.
#[test]
fn cuda_kernels_that_wait_for_a_process_in_vain_end_with_an_error() {
    let Some(_alone) = test_stream().and_then(|_| gpus()) else { return };
    let name = "cuda_kernels_that_wait_for_a_process_in_vain_end_with_an_error";
    // Kernels may have to be compiled in each process.
    let patience = Duration::from_secs(10);
    let started = Instant::now();
    let (said, child) = in_two_processes(name, patience, |ranks| -> Result<(), GpuError> {
        let whole = system(Policy::D);
        let owners: Vec<u32> = (0..whole.pattern.rows()).map(|row| (row / 7 % 2) as u32).collect();
        let own = local_of(ranks, &whole, &owners, 1, false);
        let stream = Gpu::open(ranks.rank())?.stream()?;
        let share = Arc::new(ShareCuda::new(&own.share, &stream, &[], NB, Wish::Shortest)?);
        assert_eq!(*share.path(), Path::Direct(Between::Processes));
        let (mut sweeps, b) = sweeps(&own, &share, Storage::F64, None)?;
        let mut x = DeviceBuffer::zeroed(&stream, own.b.len())?;
        sweeps.preconditioner(SolveOptions::sweeps(2)).apply(&b, &mut x)?;
        stream.synchronize()?;
        own.share.check()?;
        if ranks.rank() == 1 {
            // Nothing is closed, nobody is told.
            std::process::abort();
        }
        sweeps.preconditioner(SolveOptions::sweeps(2)).apply(&b, &mut x)?;
        stream.synchronize()?;
        Ok(own.share.check()?)
    });
    let mut child = child.expect("the other one has ended");
    assert!(!child.wait().unwrap().success());
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    // The device may also say that memory is gone which it wrote into.
    let error = said.unwrap_err();
    let named = error.to_string().contains("rank 1 did not answer for 10 s");
    assert!(named || matches!(error, GpuError::Cuda(_)), "{error}");
}
