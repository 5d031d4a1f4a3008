#![allow(unsafe_code)]
//! Cores of a host: which this process may use, how they lie, and how ranks of one host share them out.

use std::collections::BTreeMap;
use std::path::Path;

/// A hardware thread: what the system counts as a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cpu {
    /// The NUMA node whose memory is near.
    pub node: usize,
    /// The first hardware thread of its core.
    pub core: usize,
    /// Its number.
    pub number: usize,
}

/// Numbers of those that the calling thread may use, ascending; none where the system does not say.
#[must_use]
pub fn allowed() -> Vec<usize> {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: all bits zero are an empty set, which the system fills; it is as long as is said.
        let (got, set) = unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            (libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set), set)
        };
        if got == 0 {
            // SAFETY: the numbers are below the length of the set.
            return (0..libc::CPU_SETSIZE as usize)
                .filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) })
                .collect();
        }
    }
    Vec::new()
}

/// Has the calling thread, and all that it starts from here on, run on these alone; whether the system has done so.
pub fn keep_to(cpus: &[usize]) -> bool {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: all bits zero are an empty set; numbers beyond its length are left out.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            for &cpu in cpus.iter().filter(|&&cpu| cpu < libc::CPU_SETSIZE as usize) {
                libc::CPU_SET(cpu, &mut set);
            }
            libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) == 0
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = cpus;
        false
    }
}

/// Where these lie, by node, core and number.
#[must_use]
pub fn layout(cpus: &[usize]) -> Vec<Cpu> {
    layout_in(Path::new("/sys/devices/system"), cpus)
}

fn layout_in(system: &Path, cpus: &[usize]) -> Vec<Cpu> {
    let read = |path: &str| std::fs::read_to_string(system.join(path)).unwrap_or_default();
    let mut nodes = BTreeMap::new();
    for node in numbers(&read("node/online")) {
        nodes.extend(numbers(&read(&format!("node/node{node}/cpulist"))).into_iter().map(|cpu| (cpu, node)));
    }
    let place = |&number: &usize| {
        let siblings = numbers(&read(&format!("cpu/cpu{number}/topology/thread_siblings_list")));
        Cpu {
            node: nodes.get(&number).copied().unwrap_or(0),
            core: siblings.first().copied().unwrap_or(number),
            number,
        }
    };
    let mut all: Vec<Cpu> = cpus.iter().map(place).collect();
    all.sort_unstable();
    all
}

/// Numbers of a list as the system writes it: `0-3,8`.
fn numbers(list: &str) -> Vec<usize> {
    let mut all = Vec::new();
    for part in list.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.parse::<usize>(), last.parse::<usize>()) {
            all.extend(first..=last);
        }
    }
    all
}

/// As the system writes a list.
#[must_use]
pub fn in_words(cpus: &[usize]) -> String {
    let mut sorted = cpus.to_vec();
    sorted.sort_unstable();
    let mut runs: Vec<[usize; 2]> = Vec::new();
    for cpu in sorted {
        match runs.last_mut() {
            Some(run) if run[1] + 1 == cpu => run[1] = cpu,
            _ => runs.push([cpu; 2]),
        }
    }
    let word = |[a, b]: [usize; 2]| if a == b { a.to_string() } else { format!("{a}-{b}") };
    runs.into_iter().map(word).collect::<Vec<_>>().join(",")
}

/// What each of so many ranks has of these, in the order of [`layout`]: equal numbers of whole cores that follow one another, or of hardware threads where there
/// are fewer cores than ranks. No rank has a part of two nodes where others would have no less without it. None where there are fewer than ranks.
///
/// ```
/// use chromaflow_device::cores::{Cpu, shared_out};
/// // Two nodes of two cores, one hardware thread each.
/// let cpus: Vec<Cpu> = (0..4).map(|n| Cpu { node: n / 2, core: n, number: n }).collect();
/// assert_eq!(shared_out(&cpus, 2), Some(vec![vec![0, 1], vec![2, 3]]));
/// assert_eq!(shared_out(&cpus, 5), None);
/// ```
#[must_use]
pub fn shared_out(cpus: &[Cpu], ranks: usize) -> Option<Vec<Vec<usize>>> {
    if ranks == 0 || cpus.len() < ranks {
        return None;
    }
    let mut cores: Vec<(usize, usize, Vec<usize>)> = Vec::new();
    for cpu in cpus {
        match cores.last_mut() {
            Some((node, core, of)) if (*node, *core) == (cpu.node, cpu.core) => of.push(cpu.number),
            _ => cores.push((cpu.node, cpu.core, vec![cpu.number])),
        }
    }
    if cores.len() < ranks {
        cores = cpus.iter().map(|cpu| (cpu.node, cpu.number, vec![cpu.number])).collect();
    }
    let nodes: Vec<&[(usize, usize, Vec<usize>)]> = cores.chunk_by(|a, b| a.0 == b.0).collect();
    // The next rank to the node that has most for it: the least share is then as large as it can be (d'Hondt).
    let mut given = vec![0; nodes.len()];
    for _ in 0..ranks {
        let share = |node: usize| nodes[node].len() as f64 / (given[node] + 1) as f64;
        let best = (0..nodes.len()).rev().max_by(|&a, &b| share(a).total_cmp(&share(b)));
        given[best.expect("there are cores")] += 1;
    }
    let least = cores.len() / ranks;
    let apart = nodes.iter().zip(&given).all(|(node, &given)| given == 0 || node.len() / given >= least);
    let split = |of: &[(usize, usize, Vec<usize>)], parts: usize| -> Vec<Vec<usize>> {
        let part = |k| of[crate::split(of.len(), parts, k)].iter().flat_map(|core| core.2.clone()).collect();
        (0..parts).map(part).collect()
    };
    Some(if apart {
        nodes.iter().zip(given).filter(|(_, given)| *given > 0).flat_map(|(node, n)| split(node, n)).collect()
    } else {
        split(&cores, ranks)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_read_back() {
        assert_eq!(numbers("0-3,8,10-11\n"), [0, 1, 2, 3, 8, 10, 11]);
        assert_eq!(in_words(&[11, 0, 1, 2, 3, 8, 10]), "0-3,8,10-11");
        assert_eq!((numbers("\n"), in_words(&[])), (vec![], String::new()));
    }

    /// A host of two nodes of `cores` cores of two hardware threads, numbered as most systems do: all first ones, then all second ones.
    fn host(cores: [usize; 2], threads: usize) -> Vec<Cpu> {
        let count = cores[0] + cores[1];
        let of = |core: usize| {
            let node = usize::from(core >= cores[0]);
            (0..threads).map(move |thread| Cpu { node, core, number: core + thread * count })
        };
        (0..count).flat_map(of).collect()
    }

    #[test]
    fn ranks_have_whole_cores_of_one_node() {
        let all = |cpus: &[Cpu], ranks| shared_out(cpus, ranks).unwrap();
        assert_eq!(all(&host([4, 4], 1), 2), [vec![0, 1, 2, 3], vec![4, 5, 6, 7]]);
        assert_eq!(all(&host([2, 2], 2), 2), [vec![0, 4, 1, 5], vec![2, 6, 3, 7]]);
        assert_eq!(all(&host([2, 2], 2), 4), [vec![0, 4], vec![1, 5], vec![2, 6], vec![3, 7]]);
        // More ranks than cores: hardware threads.
        assert_eq!(all(&host([1, 1], 2), 4), [[0], [2], [1], [3]]);
        // Seven and seven among four: 4, 3, 4, 3, where equal runs of 14 would have the second one on both nodes.
        let odd = all(&host([7, 7], 1), 4);
        assert_eq!(odd.iter().map(Vec::len).collect::<Vec<_>>(), [4, 3, 4, 3]);
        assert!(odd[1].iter().all(|&cpu| cpu < 7));
        // Three of eight and eight: whoever has all of a node has more than the others could.
        let three = all(&host([8, 8], 1), 3);
        assert_eq!(three.iter().map(Vec::len).collect::<Vec<_>>(), [6, 5, 5]);
        assert_eq!(shared_out(&host([1, 1], 1), 3), None);
        for (cores, threads, ranks) in [([5, 11], 2, 3), ([6, 1], 1, 2), ([16, 16], 2, 7), ([3, 0], 1, 3)] {
            let cpus = host(cores, threads);
            let shares = all(&cpus, ranks);
            let mut seen: Vec<usize> = shares.concat();
            seen.sort_unstable();
            let count = seen.len();
            seen.dedup();
            assert_eq!((seen.len(), shares.len()), (count, ranks), "nobody shares a core");
            let least = (cores[0] + cores[1]) / ranks * threads;
            assert!(shares.iter().all(|share| share.len() >= least), "{shares:?}");
        }
    }

    #[test]
    fn places_come_from_the_system() {
        let folder = std::env::temp_dir().join(format!("chromaflow-cores-{}", std::process::id()));
        let file = |path: &str, text: &str| {
            let path = folder.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        file("node/online", "0-1\n");
        file("node/node0/cpulist", "0-1,4-5\n");
        file("node/node1/cpulist", "2-3,6-7\n");
        for cpu in 0..8 {
            let first = cpu % 4;
            file(&format!("cpu/cpu{cpu}/topology/thread_siblings_list"), &format!("{first},{}\n", first + 4));
        }
        let found = layout_in(&folder, &[0, 2, 4, 6, 7]);
        let places: Vec<_> = found.iter().map(|cpu| [cpu.node, cpu.core, cpu.number]).collect();
        assert_eq!(places, [[0, 0, 0], [0, 0, 4], [1, 2, 2], [1, 2, 6], [1, 3, 7]]);
        // A system that says nothing has one node of cores of one thread.
        let bare = layout_in(&folder.join("none"), &[3, 1]);
        assert_eq!(bare.iter().map(|cpu| [cpu.node, cpu.core]).collect::<Vec<_>>(), [[0, 1], [0, 3]]);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_thread_and_those_it_starts_keep_to_their_cores() {
        let all = allowed();
        assert!(!all.is_empty());
        let last = *all.last().unwrap();
        let seen = std::thread::spawn(move || {
            assert!(keep_to(&[last]));
            (allowed(), std::thread::spawn(allowed).join().unwrap())
        });
        assert_eq!(seen.join().unwrap(), (vec![last], vec![last]));
        assert_eq!(allowed(), all, "other threads keep theirs");
    }
}
