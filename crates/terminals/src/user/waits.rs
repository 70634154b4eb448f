//! Time that a user's process and the children that it waits for spend waiting: for a CPU, and for block I/O.
//!
//! The kernel keeps both for each thread (sched_info and delay accounting). Reading those of every child would add 15
//! microseconds to a fork of some hundreds. A child that never sleeps either runs or waits for a CPU: while its parent
//! is blocked, its wait is the elapsed time less its CPU time. Only of a child that slept are its own accounts read.
//! The difference is below zero if the child ran while its parent waited for a CPU or ran too: such time of the parent
//! is not a wait of the response, and the sum over both is right.

use std::fs;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, WaitOptions, waitpid};
use rustix::time::ClockId;
use serde::{Deserialize, Serialize};

use crate::nursery::process::{fork_child, retry};
use crate::user::compute::nanoseconds;
use crate::user::usage::timeval_ns;

/// Waiting times so far, or between two readings; `None` where the kernel does not measure them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Waits {
    /// Time ready to run, without a CPU [ns]; the part of children alone may be below zero.
    pub run_delay_ns: Option<i64>,
    /// Time blocked by a block device, in steps of a clock tick [ns].
    pub io_delay_ns: Option<i64>,
}

impl Waits {
    /// Waits since `earlier`.
    pub fn since(&self, earlier: &Waits) -> Waits {
        let less = |now: Option<i64>, before: Option<i64>| Some(now? - before?);
        Waits {
            run_delay_ns: less(self.run_delay_ns, earlier.run_delay_ns),
            io_delay_ns: less(self.io_delay_ns, earlier.io_delay_ns),
        }
    }

    /// These waits, unknown where they and the CPU time are longer together than the response can be: then processes ran
    /// or waited side by side, or a kernel told of a wait that cannot have been, and a sum over them divides no response.
    pub fn within(self, cpu_ns: u64, longest_ns: u64) -> Waits {
        let waits_ns = [self.run_delay_ns, self.io_delay_ns].into_iter().flatten();
        // Below zero, it is written as none.
        let whole_ns = waits_ns.fold(cpu_ns as i64, |sum_ns, ns| sum_ns.saturating_add(ns.max(0)));
        let is_sound = whole_ns <= longest_ns as i64;
        if is_sound { self } else { Waits::default() }
    }

    /// Both together; unknown where either is.
    pub fn and(&self, other: &Waits) -> Waits {
        let sum = |one: Option<i64>, two: Option<i64>| Some(one? + two?);
        Waits {
            run_delay_ns: sum(self.run_delay_ns, other.run_delay_ns),
            io_delay_ns: sum(self.io_delay_ns, other.io_delay_ns),
        }
    }
}

/// The accounts of this process, kept open, and what the children waited that have ended.
#[derive(Debug)]
pub(crate) struct Accounts {
    /// `/proc/self/schedstat`, where the kernel fills it.
    schedstat: Option<OwnedFd>,
    /// `/proc/self/stat`, where the kernel accounts delays (sysctl kernel.task_delayacct).
    stat: Option<OwnedFd>,
    children: Waits,
}

impl Accounts {
    /// Accounts of the calling process, which must have one thread: the kernel keeps them by thread.
    pub fn open() -> Accounts {
        let file = |path: &str| rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok();
        // A kernel without these statistics has no such file, or zeros even for the time on a CPU.
        let schedstat = file("/proc/self/schedstat")
            .filter(|file| read(file, run_and_wait_ns).is_some_and(|(run_ns, _)| run_ns > 0));
        // Fixed for this process: delays are accounted for tasks that began while the switch was on.
        let is_on = fs::read("/proc/sys/kernel/task_delayacct").is_ok_and(|text| text.starts_with(b"1"));
        let stat = if is_on { file("/proc/self/stat") } else { None };
        let children =
            Waits { run_delay_ns: schedstat.as_ref().map(|_| 0), io_delay_ns: stat.as_ref().map(|_| 0) };
        Accounts { schedstat, stat, children }
    }

    /// Waits of this process and its waited-for children so far.
    pub fn now(&self) -> Waits {
        self.own().and(&self.children)
    }

    fn own(&self) -> Waits {
        Waits {
            run_delay_ns: self.schedstat.as_ref().and_then(|file| read(file, run_and_wait_ns)).map(|it| it.1),
            io_delay_ns: self.stat.as_ref().and_then(|file| read(file, block_delay_ns)),
        }
    }

    /// Forks a child that ends at once, by itself or as /bin/true, waits for it, and books its waits.
    pub fn fork_and_wait(&mut self, execute: bool) -> std::io::Result<()> {
        let before = self.instant();
        let child = fork_child(execute)?;
        // WNOWAIT leaves the ended child in place, so that its accounts can still be read.
        let usage = wait_for_end(child)?;
        let blocked_ns = self.instant().blocked_since(&before);
        let cpu_ns = (timeval_ns(usage.ru_utime) + timeval_ns(usage.ru_stime)) as i64;
        // The last voluntary switch of every process is its end.
        let waits = match usage.ru_nvcsw > 1 {
            true => self.of_child(child),
            false => Waits {
                run_delay_ns: blocked_ns.map(|blocked_ns| blocked_ns - cpu_ns),
                io_delay_ns: self.children.io_delay_ns.map(|_| 0),
            },
        };
        self.children = self.children.and(&waits);
        retry(|| waitpid(Some(child), WaitOptions::empty()))?;
        Ok(())
    }

    /// Waits by the accounts of an ended child that has not been waited for.
    fn of_child(&self, child: Pid) -> Waits {
        let folder = format!("/proc/{}", child.as_raw_nonzero());
        let text = |name: &str| fs::read(format!("{folder}/{name}")).ok();
        Waits {
            run_delay_ns: text("schedstat").and_then(|text| run_and_wait_ns(&text)).map(|it| it.1),
            io_delay_ns: self.stat.as_ref().and_then(|_| block_delay_ns(&text("stat")?)),
        }
    }

    fn instant(&self) -> Instant {
        Instant {
            elapsed_ns: nanoseconds(ClockId::Monotonic) as i64,
            cpu_ns: nanoseconds(ClockId::ProcessCPUTime) as i64,
            run_delay_ns: self.own_run_delay_ns(),
        }
    }

    fn own_run_delay_ns(&self) -> Option<i64> {
        self.schedstat.as_ref().and_then(|file| read(file, run_and_wait_ns)).map(|it| it.1)
    }
}

/// Clocks of this process at one instant.
struct Instant {
    elapsed_ns: i64,
    cpu_ns: i64,
    run_delay_ns: Option<i64>,
}

impl Instant {
    /// Time since `earlier` in which this process neither ran nor waited for a CPU.
    fn blocked_since(&self, earlier: &Instant) -> Option<i64> {
        let waited_ns = self.run_delay_ns? - earlier.run_delay_ns?;
        Some(self.elapsed_ns - earlier.elapsed_ns - (self.cpu_ns - earlier.cpu_ns) - waited_ns)
    }
}

/// Waits until `child` has ended, without removing it; what it used.
fn wait_for_end(child: Pid) -> std::io::Result<libc::rusage> {
    loop {
        let mut ended = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        let pid = child.as_raw_nonzero().get();
        let options = libc::WEXITED | libc::WNOWAIT;
        // The library's waitid(2) has no rusage, the kernel's has.
        // SAFETY: both structs are writable, and valid in any case as they are all zero.
        let (result, usage) = unsafe {
            let result = libc::syscall(
                libc::SYS_waitid,
                libc::P_PID,
                pid,
                ended.as_mut_ptr(),
                options,
                usage.as_mut_ptr(),
            );
            (result, usage.assume_init())
        };
        if result == 0 {
            return Ok(usage);
        }
        let error = std::io::Error::last_os_error();
        if error.kind() != std::io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Number in a file of /proc that stays open, from its start.
fn read<T>(file: &OwnedFd, parse: impl Fn(&[u8]) -> Option<T>) -> Option<T> {
    // Longer than /proc/PID/stat with 52 numbers of 20 digits.
    let mut text = [0u8; 1200];
    let length = retry(|| rustix::io::pread(file, &mut text, 0)).ok()?;
    parse(&text[..length])
}

/// Time on a CPU and time waiting for one, from `/proc/PID/schedstat` [ns].
fn run_and_wait_ns(text: &[u8]) -> Option<(i64, i64)> {
    let mut numbers = std::str::from_utf8(text).ok()?.split_ascii_whitespace().map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// Time blocked by block devices, from `/proc/PID/stat`, field 42 of proc_pid_stat(5) [ns].
fn block_delay_ns(text: &[u8]) -> Option<i64> {
    // The command's name may hold anything, blanks and brackets included: the last bracket ends it, and field 3 follows.
    let name_end = text.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(&text[name_end + 1..]).ok()?;
    let ticks: i64 = rest.split_ascii_whitespace().nth(42 - 3)?.parse().ok()?;
    Some(ticks.saturating_mul(1_000_000_000 / rustix::param::clock_ticks_per_second() as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_the_kernels_files() {
        assert_eq!(run_and_wait_ns(b"4217 65017 12\n"), Some((4217, 65017)));
        assert_eq!(run_and_wait_ns(b"4217\n"), None);
        let mut stat = String::from("7 (a) b (c) S");
        for field in 4..=52 {
            stat.push_str(&format!(" {}", if field == 42 { 5 } else { 1000 + field }));
        }
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second() as i64;
        assert_eq!(block_delay_ns(stat.as_bytes()), Some(5 * tick_ns));
        assert_eq!(block_delay_ns(b"7 (sh) S 1 2"), None);
    }

    #[test]
    fn waits_that_a_response_has_no_room_for_are_unknown() {
        let waits = |run, io| Waits { run_delay_ns: Some(run), io_delay_ns: Some(io) };
        assert_eq!(waits(3, 4).within(2, 9), waits(3, 4));
        assert_eq!(waits(3, 5).within(2, 9), Waits::default());
        // Written as no wait for a CPU, beside the other.
        assert_eq!(waits(-3, 8).within(2, 9), Waits::default());
        assert_eq!(waits(-3, 7).within(2, 9), waits(-3, 7));
    }

    #[test]
    fn unknown_waits_stay_unknown() {
        let known = Waits { run_delay_ns: Some(5), io_delay_ns: None };
        let later = Waits { run_delay_ns: Some(9), io_delay_ns: Some(3) };
        assert_eq!(later.since(&known), Waits { run_delay_ns: Some(4), io_delay_ns: None });
        assert_eq!(known.and(&later), Waits { run_delay_ns: Some(14), io_delay_ns: None });
    }
}
