//! CPU time and page faults of this process and of its children that have ended (getrusage(2)).

use serde::{Deserialize, Serialize};

use crate::user::compute::nanoseconds;
use rustix::time::ClockId;

/// Cumulative use, or the difference of two readings.
///
/// CPU times are exact in sum (the scheduler's run time), but most kernels split them into user and system
/// by sampling at the tick. For a long-lived process that is right on average. A process that ends before its
/// first tick is counted as user time completely (`cputime_adjust` in the kernel): the split of short-lived
/// children is biased, and callers that know their true split have to correct it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// CPU time of this process, by its CPU clock [ns].
    pub own_ns: u64,
    /// Part of it in user state [ns].
    pub own_user_ns: u64,
    /// Part of it in the kernel [ns].
    pub own_system_ns: u64,
    /// CPU time in user state of children that have been waited for [ns].
    pub children_user_ns: u64,
    /// CPU time in the kernel of children that have been waited for [ns].
    pub children_system_ns: u64,
    /// Page faults without disk, of the process and these children.
    pub page_faults_minor: u64,
    /// Page faults that read from a disk, of both.
    pub page_faults_major: u64,
    /// Context switches of both, voluntary or not.
    pub context_switches: u64,
}

impl Usage {
    /// Usage of this process and its waited-for children so far.
    pub fn now() -> Usage {
        let process = Usage::of(libc::RUSAGE_SELF);
        let children = Usage::of(libc::RUSAGE_CHILDREN);
        Usage {
            own_ns: nanoseconds(ClockId::ProcessCPUTime),
            children_user_ns: children.own_user_ns,
            children_system_ns: children.own_system_ns,
            page_faults_minor: process.page_faults_minor + children.page_faults_minor,
            page_faults_major: process.page_faults_major + children.page_faults_major,
            context_switches: process.context_switches + children.context_switches,
            ..process
        }
    }

    /// Exact CPU time of this process and its children [ns].
    pub fn cpu_ns(&self) -> u64 {
        self.own_ns + self.children_ns()
    }

    /// Exact CPU time of the children [ns].
    pub fn children_ns(&self) -> u64 {
        self.children_user_ns + self.children_system_ns
    }

    /// The counters of getrusage(2) for this process or its children, as its own.
    fn of(who: libc::c_int) -> Usage {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: `usage` is a writable rusage; for RUSAGE_SELF and RUSAGE_CHILDREN the call cannot fail,
        // and an all-zero rusage is a valid value in any case.
        let usage = unsafe {
            libc::getrusage(who, usage.as_mut_ptr());
            usage.assume_init()
        };
        Usage {
            own_user_ns: timeval_ns(usage.ru_utime),
            own_system_ns: timeval_ns(usage.ru_stime),
            page_faults_minor: usage.ru_minflt as u64,
            page_faults_major: usage.ru_majflt as u64,
            context_switches: (usage.ru_nvcsw + usage.ru_nivcsw) as u64,
            ..Usage::default()
        }
    }

    /// Usage since `earlier`. Saturating: the kernel keeps each of user and system time from falling, but two
    /// readings are not of one instant.
    pub fn since(&self, earlier: &Usage) -> Usage {
        Usage {
            own_ns: self.own_ns.saturating_sub(earlier.own_ns),
            own_user_ns: self.own_user_ns.saturating_sub(earlier.own_user_ns),
            own_system_ns: self.own_system_ns.saturating_sub(earlier.own_system_ns),
            children_user_ns: self.children_user_ns.saturating_sub(earlier.children_user_ns),
            children_system_ns: self.children_system_ns.saturating_sub(earlier.children_system_ns),
            page_faults_minor: self.page_faults_minor.saturating_sub(earlier.page_faults_minor),
            page_faults_major: self.page_faults_major.saturating_sub(earlier.page_faults_major),
            context_switches: self.context_switches.saturating_sub(earlier.context_switches),
        }
    }
}

/// A time of getrusage(2) [ns].
pub(crate) fn timeval_ns(time: libc::timeval) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::user::compute::spin;

    #[test]
    fn own_split_adds_up_to_the_exact_time() {
        // The two clocks are read one after the other, and rusage counts microseconds; other test threads
        // run in between, which 20 percent and 10 ms allow for.
        let before = Usage::now();
        spin(200_000_000);
        let used = Usage::now().since(&before);
        let split = used.own_user_ns + used.own_system_ns;
        assert!(used.own_ns > 10_000_000, "{used:?}");
        assert!(split.abs_diff(used.own_ns) < used.own_ns / 5 + 10_000_000, "{used:?}");
    }
}
