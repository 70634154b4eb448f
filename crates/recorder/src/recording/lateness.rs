//! Why deadlines were missed, from the clocks of the recording's thread.

use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags};

use crate::kernel::clock::Clock;
use crate::proc::schedstat::parse_thread;

/// Clocks of the recording's thread at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Clocks {
    pub monotonic_ns: i64,
    /// CPU time of the thread.
    pub cpu_ns: i64,
    /// Time for which it was ready to run and waited for a CPU; 0 where the kernel does not count it.
    pub run_delay_ns: i64,
}

/// Reads the clocks of the thread that opened it.
#[derive(Debug)]
pub(super) struct Meter(Option<OwnedFd>);

impl Meter {
    pub fn open() -> Meter {
        let path = "/proc/thread-self/schedstat";
        Meter(rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok())
    }

    pub fn read(&self, clock: &mut impl Clock) -> Clocks {
        let mut text = [0u8; 80];
        let length = self.0.as_ref().and_then(|file| rustix::io::pread(file, &mut text, 0).ok());
        let times = length.and_then(|length| parse_thread(&text[..length], "schedstat").ok());
        Clocks {
            monotonic_ns: clock.now().monotonic_ns,
            cpu_ns: clock.thread_cpu_ns() as i64,
            run_delay_ns: times.map_or(0, |times| times.wait_ns as i64),
        }
    }
}

/// What kept the recorder from its next samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    Stopped,
    Starved,
    Working,
    Blocked,
}

impl Cause {
    /// Key in the facts.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Stopped => "stopped",
            Cause::Starved => "starved",
            Cause::Working => "working",
            Cause::Blocked => "blocked",
        }
    }

    /// Cause as the detail of an incident.
    pub fn detail(self) -> &'static str {
        match self {
            Cause::Stopped => {
                "the recorder was stopped: by SIGSTOP, a debugger or a frozen group, or with its virtual machine"
            }
            Cause::Starved => "the recorder waited for a CPU: others used them all",
            Cause::Working => "a sample took so long that the next ones were not taken",
            Cause::Blocked => "reading or writing a sample was held up: a slow disk, or locks of the kernel",
        }
    }
}

/// The wait for a deadline and the sample after it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cycle {
    pub deadline_ns: i64,
    /// When the wait began.
    pub began: Clocks,
    /// When it was over.
    pub woke: Clocks,
}

impl Cycle {
    /// The largest part of the time between the deadline and `now`.
    pub fn cause(&self, now: &Clocks) -> Cause {
        let starved_asleep_ns = self.woke.run_delay_ns - self.began.run_delay_ns;
        let starved_awake_ns = now.run_delay_ns - self.woke.run_delay_ns;
        let cpu_ns = now.cpu_ns - self.woke.cpu_ns;
        let parts = [
            (Cause::Working, cpu_ns),
            (Cause::Blocked, now.monotonic_ns - self.woke.monotonic_ns - cpu_ns - starved_awake_ns),
            (Cause::Starved, starved_asleep_ns + starved_awake_ns),
            // Awake it would have run at the deadline, or waited for a CPU.
            (Cause::Stopped, self.woke.monotonic_ns - self.deadline_ns - starved_asleep_ns),
        ];
        parts.into_iter().max_by_key(|(_, ns)| *ns).map_or(Cause::Working, |(cause, _)| cause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn cause(
        woke_late_ms: i64,
        starved_asleep_ms: i64,
        awake_ms: i64,
        cpu_ms: i64,
        starved_ms: i64,
    ) -> Cause {
        let clocks = |at_ms: i64, cpu_ms: i64, delay_ms: i64| Clocks {
            monotonic_ns: at_ms * MS,
            cpu_ns: cpu_ms * MS,
            run_delay_ns: delay_ms * MS,
        };
        let woke_ms = 1_000 + woke_late_ms;
        let cycle = Cycle {
            deadline_ns: 1_000 * MS,
            began: clocks(10, 5, 7),
            woke: clocks(woke_ms, 5, 7 + starved_asleep_ms),
        };
        cycle.cause(&clocks(woke_ms + awake_ms, 5 + cpu_ms, 7 + starved_asleep_ms + starved_ms))
    }

    #[test]
    fn the_largest_part_of_the_delay_is_its_cause() {
        assert_eq!(cause(10_000, 3, 5, 4, 1), Cause::Stopped);
        assert_eq!(cause(900, 890, 200, 10, 190), Cause::Starved);
        assert_eq!(cause(0, 0, 3_000, 2_500, 400), Cause::Working);
        assert_eq!(cause(1, 1, 3_000, 20, 100), Cause::Blocked);
    }
}
