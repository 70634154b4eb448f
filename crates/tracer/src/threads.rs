//! An iterator over the threads of the machine: their times by the scheduler's own counters, in one pass.

use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};

use crate::TraceError;
use crate::bpf::{self, Place};
use crate::layout::THREAD_BYTES;
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
    /// Time runnable but waiting for a CPU [ns].
    pub wait_ns: u64,
}

/// What the kernel writes at once.
const BUFFER_BYTES: usize = 1 << 15;

/// The iterator, attached.
#[derive(Debug)]
pub struct Threads {
    link: OwnedFd,
    bytes: Vec<u8>,
}

impl Threads {
    /// Loads the iterator.
    ///
    /// # Errors
    /// The kernel does not permit it, or has no iterators: they came with Linux 5.8.
    pub fn open() -> Result<Threads, TraceError> {
        let kernel = Kernel::read()?;
        let loaded = Loaded::new(THREADS, &kernel, &[], &[])?;
        let program = Program { name: "on_thread", place: Place::Iterator, target: "bpf_iter_task" };
        let link = loaded.attach(&kernel, program)?;
        Ok(Threads { link, bytes: Vec::new() })
    }

    /// All threads at this moment, process by process in ascending order of their numbers.
    pub fn read(&mut self, into: &mut Vec<Thread>) -> io::Result<()> {
        into.clear();
        let mut file = std::fs::File::from(bpf::iterate(self.link.as_fd())?);
        self.bytes.clear();
        loop {
            let length = self.bytes.len();
            self.bytes.resize(length + BUFFER_BYTES, 0);
            let count = file.read(&mut self.bytes[length..])?;
            self.bytes.truncate(length + count);
            if count == 0 {
                break;
            }
        }
        let number = |bytes: &[u8]| u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let long = |bytes: &[u8]| u64::from(number(bytes)) | u64::from(number(&bytes[4..])) << 32;
        into.extend(self.bytes.chunks_exact(THREAD_BYTES).map(|record| Thread {
            run_ns: long(record),
            wait_ns: long(&record[8..]),
            task: number(&record[16..]),
            process: number(&record[20..]),
        }));
        // Threads come in the order of their own numbers, most of them next to their process: this sort makes use of it.
        into.sort_by_key(|thread| (thread.process, thread.task));
        Ok(())
    }
}
