//! How long the threads of a process waited for a CPU.
//!
//! `/proc/PID/schedstat` is that of the first thread, and a program that computes in the others waits in them. With
//! CAP_NET_ADMIN the kernel sums all threads of a process, those that have ended too (taskstats). Without, the files of
//! the threads alive are read, and how much each grew is added up.
//!
//! # Limitations
//! From files, what a thread waited between its last reading and its end is lost. No more than [`THREADS_MAX`] threads are
//! read in a sample, of the processes with the lowest numbers: what those of others waited is counted once there is room
//! for them, and of a process with more threads than that, never.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;

use rustix::fs::{Mode, OFlags, RawDir, openat};
use thinktime_tracer::Thread;

use super::listing::pid_of;
use super::netlink::{Of, Record, TaskstatsSocket};
use super::possible::told_ns;
use crate::kernel::files::{Root, read_once};
use crate::proc::schedstat::{self, ThreadSched};

/// Most threads whose files are read in a sample: 10 us each.
const THREADS_MAX: usize = 2000;

/// Waiting of the threads of one process since its start, or since it was read first.
#[derive(Debug, Default)]
pub(super) struct Waited {
    /// Time runnable but waiting for a CPU [ns]; `None` where the kernel does not measure it.
    pub wait_ns: Option<u64>,
    /// Time waiting for a page from swap [ns]; `None` where the source does not tell.
    pub swap_wait_ns: Option<u64>,
    /// Threads that have ended are in it.
    pub is_complete: bool,
    /// By thread at the last reading, ascending [ns].
    by_thread: Vec<(i32, u64)>,
    /// CPU time of the process at that [tick].
    ticks: u64,
}

impl Waited {
    /// Brings it up to date by a pass over the threads, which costs no further reading.
    pub fn take(&mut self, threads: &[Thread]) {
        if threads.iter().any(|thread| thread.ended_wait_ns.is_some()) {
            // While a thread ends, it stands among both for a moment: less than before is as much as before.
            let told_ns = told_ns(threads);
            (self.wait_ns, self.is_complete) = (Some(told_ns.max(self.wait_ns.unwrap_or(0))), true);
        } else {
            self.grow(threads.iter().map(|thread| (thread.task as i32, thread.wait_ns)).collect());
        }
    }

    /// Adds what the threads waited since the reading before; `now` is ascending.
    fn grow(&mut self, now: Vec<(i32, u64)>) {
        let before = &self.by_thread;
        let grown = now.iter().map(|(thread, wait_ns)| {
            let index = before.binary_search_by_key(thread, |(thread, _)| *thread);
            // Another thread may have taken the number.
            let known_ns = index.map_or(0, |index| before[index].1);
            if known_ns > *wait_ns { *wait_ns } else { wait_ns - known_ns }
        });
        let grown_ns = grown.fold(0, u64::saturating_add);
        self.wait_ns = Some(self.wait_ns.unwrap_or(0).saturating_add(grown_ns));
        self.by_thread = now;
    }
}

/// Reads the waiting of threads.
#[derive(Debug)]
pub(super) struct ThreadWaits {
    socket: Option<TaskstatsSocket>,
    records: Vec<Option<Record>>,
    listing: Vec<MaybeUninit<u8>>,
    buffer: Vec<u8>,
    /// Threads that may still be read in this sample.
    left: usize,
}

impl ThreadWaits {
    /// By taskstats where that is permitted, else by files.
    pub fn open(root: &Root) -> ThreadWaits {
        ThreadWaits {
            // In a captured tree the numbers are somebody else's.
            socket: root.is_machine().then(TaskstatsSocket::open).and_then(Result::ok),
            records: Vec::new(),
            listing: vec![MaybeUninit::uninit(); 16 * 1024],
            buffer: vec![0; 256],
            left: THREADS_MAX,
        }
    }

    /// Begins a sample.
    pub fn begin(&mut self) {
        self.left = THREADS_MAX;
    }

    /// Brings `waited` up to date. `first` is the first thread, `ticks` the CPU time of all; `has_run` if the first has
    /// run since the reading before.
    pub fn read(
        &mut self,
        proc: impl AsFd,
        pid: i32,
        first: Option<ThreadSched>,
        ticks: u64,
        has_run: bool,
        waited: &mut Waited,
    ) {
        if let Some(socket) = &mut self.socket {
            // An answer that does not come costs the waits of this sample, not the recording.
            if socket.request(&[pid], Of::Process, &mut self.records).is_ok() {
                if let [Some(record)] = self.records[..] {
                    waited.wait_ns = Some(record.wait_ns);
                    waited.swap_wait_ns = Some(record.swap_wait_ns);
                    waited.is_complete = true;
                }
            }
            return;
        }
        // Where nothing is measured, the files of the threads have zeros too.
        let Some(first) = first else { return };
        if waited.wait_ns.is_some() && !has_run && ticks == waited.ticks {
            return;
        }
        match self.files(proc, pid) {
            Ok(now) => {
                waited.grow(now);
                waited.ticks = ticks;
            }
            // Too many for this sample, or it has just ended: what is known of it stays.
            Err(_) if waited.wait_ns.is_some() => {}
            Err(_) => waited.grow(vec![(pid, first.wait_ns)]),
        }
    }

    /// Waiting of the threads alive, ascending by number [ns].
    fn files(&mut self, proc: impl AsFd, pid: i32) -> io::Result<Vec<(i32, u64)>> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let folder = openat(proc, format!("{pid}/task"), flags | OFlags::DIRECTORY, Mode::empty())?;
        let mut threads = Vec::new();
        let mut entries = RawDir::new(&folder, &mut self.listing);
        while let Some(entry) = entries.next() {
            threads.extend(pid_of(entry?.file_name().to_bytes()));
        }
        if threads.len() > self.left {
            return Err(io::Error::other("too many threads"));
        }
        self.left -= threads.len();
        threads.sort_unstable();
        let mut waits = Vec::with_capacity(threads.len());
        for thread in threads {
            // A thread that has ended meanwhile is left out.
            let Ok(file) = openat(&folder, format!("{thread}/schedstat"), flags, Mode::empty()) else {
                continue;
            };
            let read = read_once(std::fs::File::from(file), &mut self.buffer).ok();
            let parsed = read.and_then(|text| schedstat::parse_thread(text, "schedstat").ok());
            waits.extend(parsed.map(|sched| (thread, sched.wait_ns)));
        }
        Ok(waits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_of_threads_that_come_and_go_is_added_up() {
        let mut waited = Waited::default();
        waited.grow(vec![(7, 100), (8, 50)]);
        assert_eq!(waited.wait_ns, Some(150));
        // 8 has ended, and 9 is new.
        waited.grow(vec![(7, 130), (9, 20)]);
        assert_eq!(waited.wait_ns, Some(200));
        // 9 ended, and another thread took its number.
        waited.grow(vec![(7, 130), (9, 5)]);
        assert_eq!(waited.wait_ns, Some(205));
    }

    #[test]
    fn files_of_the_threads_of_this_process_have_what_the_kernel_sums() {
        let proc = std::fs::File::open("/proc").unwrap();
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let mut waits = ThreadWaits::open(&Root::new("/"));
        waits.socket = None;
        let threads: Vec<_> = (0..3)
            .map(|_| {
                std::thread::spawn(|| {
                    let begin = std::time::Instant::now();
                    while begin.elapsed().as_millis() < 30 {}
                    let text = std::fs::read("/proc/thread-self/schedstat").unwrap();
                    let wait_ns = schedstat::parse_thread(&text, "").unwrap().wait_ns;
                    std::thread::park();
                    wait_ns
                })
            })
            .collect();
        std::thread::sleep(std::time::Duration::from_millis(200));
        let before = waits.files(&proc, own).unwrap();
        let least: u64 = threads
            .into_iter()
            .map(|thread| {
                thread.thread().unpark();
                thread.join().unwrap()
            })
            .sum();
        assert!(before.len() >= 4, "{before:?}");
        assert!(before.iter().map(|(_, wait_ns)| wait_ns).sum::<u64>() >= least, "{before:?} of {least}");
        // More than are permitted in one sample are left for the next.
        waits.left = 1;
        assert!(waits.files(&proc, own).is_err());
    }
}
