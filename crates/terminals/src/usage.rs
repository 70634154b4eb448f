//! CPU time and page faults of this process and of its children that have ended.

use serde::{Deserialize, Serialize};

use crate::compute::nanoseconds;
use rustix::time::ClockId;

/// Cumulative use, or the difference of two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Exact (from the scheduler's run time, not tick-sampled), ns.
    pub cpu_ns: u64,
    /// The kernel's split of the CPU time. The sum is exact, the split between user and system is
    /// tick-sampled unless the kernel accounts virtual CPU time, so it is right on average only.
    pub user_ns: u64,
    pub system_ns: u64,
    pub page_faults_minor: u64,
    pub page_faults_major: u64,
    pub context_switches: u64,
}

impl Usage {
    /// What this process and its awaited children have used so far.
    pub fn now() -> Usage {
        let own = Usage::of(libc::RUSAGE_SELF);
        let children = Usage::of(libc::RUSAGE_CHILDREN);
        Usage {
            cpu_ns: nanoseconds(ClockId::ProcessCPUTime) + children.user_ns + children.system_ns,
            user_ns: own.user_ns + children.user_ns,
            system_ns: own.system_ns + children.system_ns,
            page_faults_minor: own.page_faults_minor + children.page_faults_minor,
            page_faults_major: own.page_faults_major + children.page_faults_major,
            context_switches: own.context_switches + children.context_switches,
        }
    }

    fn of(who: libc::c_int) -> Usage {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: `usage` is a writable rusage; for RUSAGE_SELF and RUSAGE_CHILDREN the call cannot fail,
        // and an all-zero rusage is a valid value in any case.
        let usage = unsafe {
            libc::getrusage(who, usage.as_mut_ptr());
            usage.assume_init()
        };
        Usage {
            cpu_ns: 0,
            user_ns: timeval_ns(usage.ru_utime),
            system_ns: timeval_ns(usage.ru_stime),
            page_faults_minor: usage.ru_minflt as u64,
            page_faults_major: usage.ru_majflt as u64,
            context_switches: (usage.ru_nvcsw + usage.ru_nivcsw) as u64,
        }
    }

    /// What was used since `earlier`.
    pub fn since(&self, earlier: &Usage) -> Usage {
        Usage {
            cpu_ns: self.cpu_ns.saturating_sub(earlier.cpu_ns),
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
            page_faults_minor: self.page_faults_minor.saturating_sub(earlier.page_faults_minor),
            page_faults_major: self.page_faults_major.saturating_sub(earlier.page_faults_major),
            context_switches: self.context_switches.saturating_sub(earlier.context_switches),
        }
    }
}

fn timeval_ns(time: libc::timeval) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000
}
