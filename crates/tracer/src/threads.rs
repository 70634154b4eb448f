//! The threads of the machine: their times by the scheduler's own counters, in one pass over all of them.
//!
//! From Linux 6.7 on, a program walks along the kernel's list of threads and writes what it finds into memory that is shared:
//! one call. Else, and where there are more threads than it has room for, an iterator writes them to a file: it looks up each
//! by its number, and lets others have the CPU meanwhile.

use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};

use crate::TraceError;
use crate::bpf::{self, Place};
use crate::layout::{THREAD_BYTES, THREADS as THREADS_MAX};
use crate::mapped::Mapped;
use crate::object::{Kernel, Loaded, Program, THREADS};

/// A thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Number of its process.
    pub process: u32,
    /// Number of the thread; that of the process for the first one.
    pub task: u32,
    /// Time on a CPU [ns].
    pub run_ns: u64,
    /// Time runnable but waiting for a CPU, without the wait that goes on [ns].
    pub wait_ns: u64,
    /// The same of the threads of its process that have ended [ns]; `None` where the kernel does not keep it. Of a thread
    /// that has not run, it may be that of an earlier pass.
    pub ended_wait_ns: Option<u64>,
    /// Its effective user; of a thread that has not run, as of an earlier pass.
    pub owner: u32,
    /// It waits for a CPU now.
    pub is_queued: bool,
    /// It has ended, and its time of waiting is in that of the threads that have.
    pub has_ended: bool,
}

/// What the kernel writes at once.
const BUFFER_BYTES: usize = 1 << 15;
const ROW_WORDS: usize = THREAD_BYTES / 8;

/// How the threads are visited.
#[derive(Debug)]
enum Way {
    /// By a program that is called, with the memory that it fills.
    Walk(OwnedFd, Mapped),
    /// By an iterator, with the text of its file.
    Iterator(OwnedFd, Vec<u8>),
}

impl Way {
    /// With room for so many threads, and one.
    fn walk(kernel: &Kernel, places: usize) -> Result<Way, TraceError> {
        let mut loaded = Loaded::new(THREADS, kernel, &[("threads", places as u32)], &[])?;
        let program = Program { name: "on_walk", place: Place::Call, target: "" };
        let program = loaded.attach(kernel, program)?;
        let threads = loaded.maps.remove("threads");
        let threads = threads.ok_or_else(|| TraceError::Damaged { detail: "no map of threads".into() })?;
        let threads = Mapped::new(threads, places * THREAD_BYTES, false)
            .map_err(TraceError::of_call("map the tables of the programs"))?;
        bpf::run(program.as_fd()).map_err(TraceError::of_call("call a program"))?;
        Ok(Way::Walk(program, threads))
    }

    fn iterator(kernel: &Kernel) -> Result<Way, TraceError> {
        let loaded = Loaded::new(THREADS, kernel, &[("threads", 1)], &[])?;
        let program = Program { name: "on_thread", place: Place::Iterator, target: "bpf_iter_task" };
        Ok(Way::Iterator(loaded.attach(kernel, program)?, Vec::new()))
    }
}

/// All threads, whenever they are asked for.
#[derive(Debug)]
pub struct Threads(Way);

impl Threads {
    /// Loads the programs.
    ///
    /// # Errors
    /// The kernel does not permit it, or has no iterators: they came with Linux 5.8.
    pub fn open() -> Result<Threads, TraceError> {
        let kernel = Kernel::read()?;
        Way::walk(&kernel, THREADS_MAX).or_else(|_| Way::iterator(&kernel)).map(Threads)
    }

    /// What visits the threads, for people.
    pub fn name(&self) -> &'static str {
        match self.0 {
            Way::Walk(..) => "walk over threads",
            Way::Iterator(..) => "iterator over threads",
        }
    }

    /// All threads at this moment, process by process in ascending order of their numbers.
    pub fn read(&mut self, into: &mut Vec<Thread>) -> io::Result<()> {
        into.clear();
        match &mut self.0 {
            Way::Walk(program, threads) => {
                bpf::run(program.as_fd())?;
                let [count, has_more] = halves(threads.u64(0));
                if has_more != 0 {
                    let kernel = Kernel::read().map_err(io::Error::other)?;
                    self.0 = Way::iterator(&kernel).map_err(io::Error::other)?;
                    return self.read(into);
                }
                // The first place says how many follow.
                into.extend((1..=count as usize).map(|place| thread(threads.words(place * THREAD_BYTES))));
            }
            Way::Iterator(link, bytes) => {
                read_all(bpf::iterate(link.as_fd())?, bytes)?;
                into.extend(bytes.chunks_exact(THREAD_BYTES).map(|row| {
                    thread(std::array::from_fn(|word| {
                        u64::from_ne_bytes(std::array::from_fn(|byte| row[word * 8 + byte]))
                    }))
                }));
            }
        }
        // The kernel has them nearly in this order, whichever way they come: this sort makes use of it.
        into.sort_by_key(|thread| (thread.process, thread.task));
        // One that takes the place of the first thread of its process meanwhile, as at exec, may be met twice.
        into.dedup_by_key(|thread| (thread.process, thread.task));
        Ok(())
    }
}

fn read_all(file: OwnedFd, bytes: &mut Vec<u8>) -> io::Result<()> {
    let mut file = std::fs::File::from(file);
    bytes.clear();
    loop {
        let length = bytes.len();
        bytes.resize(length + BUFFER_BYTES, 0);
        let count = file.read(&mut bytes[length..])?;
        bytes.truncate(length + count);
        if count == 0 {
            return Ok(());
        }
    }
}

/// The two numbers of 32 bits in a word, in the order of their places.
fn halves(word: u64) -> [u32; 2] {
    let [a, b, c, d, e, f, g, h] = word.to_ne_bytes();
    [u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h])]
}

/// A thread as the programs tell of it (`struct thread` in `bpf/layout.h`).
fn thread([run_ns, wait_ns, ended_wait_ns, numbers, states]: [u64; ROW_WORDS]) -> Thread {
    let ([task, process], [owner, states]) = (halves(numbers), halves(states));
    let [is_queued, has_ended, ..] = states.to_ne_bytes();
    Thread {
        process,
        task,
        run_ns,
        wait_ns,
        ended_wait_ns: (ended_wait_ns != u64::MAX).then_some(ended_wait_ns),
        owner,
        is_queued: is_queued != 0,
        has_ended: has_ended != 0,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::mpsc;

    use super::*;

    /// Both ways, where this kernel permits and has them.
    fn ways() -> Vec<Threads> {
        let Ok(kernel) = Kernel::read().inspect_err(|error| eprintln!("skipped: {error}")) else {
            return Vec::new();
        };
        let ways = [Way::walk(&kernel, THREADS_MAX), Way::iterator(&kernel)];
        let permitted =
            ways.into_iter().filter_map(|way| way.inspect_err(|error| eprintln!("skipped: {error}")).ok());
        permitted.map(Threads).collect()
    }

    fn own(threads: &mut Threads) -> Vec<Thread> {
        let mut all = Vec::new();
        threads.read(&mut all).unwrap();
        assert!(all.is_sorted_by_key(|thread| (thread.process, thread.task)), "{}", threads.name());
        all.retain(|thread| thread.process == std::process::id());
        all
    }

    /// Numbers of the threads of this process, CPU time and waits of one [ns], by its files.
    fn by_files(task: u32) -> (BTreeSet<u32>, u64, u64) {
        let numbers = std::fs::read_dir("/proc/self/task").unwrap();
        let numbers = numbers.map(|entry| entry.unwrap().file_name().to_str().unwrap().parse().unwrap());
        let text = std::fs::read_to_string(format!("/proc/self/task/{task}/schedstat")).unwrap();
        let times: Vec<u64> = text.split_whitespace().map(|number| number.parse().unwrap()).collect();
        (numbers.collect(), times[0], times[1])
    }

    /// Tries until it is so, for a minute at most: this machine may have other work.
    fn comes_about(mut is_so: impl FnMut() -> bool) -> bool {
        let pause = std::time::Duration::from_millis(1);
        (0..60_000).any(|_| {
            let is_so = is_so();
            if !is_so {
                std::thread::sleep(pause);
            }
            is_so
        })
    }

    #[test]
    fn each_way_tells_of_threads_what_their_files_do() {
        let (begin, may_end) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        let sleeper = std::thread::spawn(move || {
            let task = rustix::thread::gettid().as_raw_nonzero().get() as u32;
            let begun = std::time::Instant::now();
            while begun.elapsed().as_millis() < 20 {}
            tell.send(task).unwrap();
            may_end.recv().unwrap_err();
        });
        let task = told.recv().unwrap();
        let mut ways = ways();
        for threads in &mut ways {
            // Until it sleeps, and whatever other tests do meanwhile: their threads come and go.
            let agrees = comes_about(|| {
                let (numbers, run_ns, wait_ns) = by_files(task);
                let own = own(threads);
                let found: BTreeSet<u32> =
                    own.iter().filter(|thread| !thread.has_ended).map(|thread| thread.task).collect();
                let one = own.iter().find(|thread| thread.task == task).copied();
                one.is_some_and(|one| (one.run_ns, one.wait_ns, one.is_queued) == (run_ns, wait_ns, false))
                    && found == numbers
            });
            assert!(agrees, "{}", threads.name());
        }
        drop(begin);
        sleeper.join().unwrap();
        // Who waits for a thread is told before its end is over.
        for threads in &mut ways {
            let ends =
                comes_about(|| own(threads).iter().all(|thread| thread.task != task || thread.has_ended));
            assert!(ends, "{}", threads.name());
        }
    }

    #[test]
    fn more_threads_than_a_walk_has_room_for_are_iterated() {
        let Some(way) = Kernel::read().ok().and_then(|kernel| Way::walk(&kernel, 3).ok()) else {
            return eprintln!("skipped: no walk here");
        };
        let mut threads = Threads(way);
        assert_eq!(threads.name(), "walk over threads");
        // There are at least this one, that of the tests, and process 1.
        assert!(own(&mut threads).len() >= 2);
        assert_eq!(threads.name(), "iterator over threads");
    }
}
