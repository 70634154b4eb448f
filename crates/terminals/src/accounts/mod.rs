//! What the programs at a user's terminal take while an interaction lasts: CPU time, page faults, block I/O, and waits.
//!
//! A shell reports nothing, so that its totals and those of all that it has started are read before the last key of an
//! input and after its reply. Three accounts of the kernel complete each other:
//!
//! - CPU time: a control group (version 2) for each login, exact to the microsecond and complete, whatever has ended.
//!   Where none may be made, the process tree, in steps of a clock tick ([`Clock::Processes`]).
//! - Page faults and bytes of block I/O: the process tree. Those of ended children are in the totals of their parent.
//! - Waits for a CPU and for block I/O: those of living tasks from `/proc`, those of ended ones from the kernel's messages
//!   ([`ends`]), which need CAP_NET_ADMIN; without them, unknown.
//!
//! # Limitations
//! A process whose parent ended before it leaves the tree: its page faults, block I/O and waits are no longer counted (its
//! CPU time is, where there is a control group). Waits are those of work done step by step: where CPU time and waits
//! together are longer than the response, as with processes side by side, the waits are unknown.

pub mod ends;
mod group;
mod tree;

use std::path::PathBuf;

use serde::Serialize;

pub(crate) use self::ends::Ends;
use self::group::Group;
pub(crate) use self::group::{enter, remove, usable_folder};
pub(crate) use self::tree::is_asleep;
use crate::user::waits::Waits;

/// Time by which CPU time and waits may exceed the response: they are read a little before and after it [ns].
const SLACK_NS: u64 = 2_000_000;

/// Source of the CPU time of interactions at shells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// A control group for each login.
    #[default]
    Group,
    /// The processes of the terminal, in steps of a clock tick.
    Processes,
}

/// Sources of what interactions at shells took, for whoever reads the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sources {
    /// Source of CPU times.
    pub cpu_time: Clock,
    /// True if waits for a CPU were measured.
    pub waits: bool,
}

/// Totals of a terminal so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// CPU time: in all, in user state, in the kernel [ns].
    cpu_ns: [u64; 3],
    page_faults_minor: u64,
    page_faults_major: u64,
    /// Bytes read from and written to block devices; `None` where the processes may not be looked into.
    block_bytes: Option<[u64; 2]>,
    waits: Waits,
    /// Times that messages of ended processes were lost: waits on both sides of a loss have no difference.
    losses: u64,
}

/// What an interaction took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Used {
    /// CPU time [ns].
    pub cpu_ns: u64,
    /// Part of it in user state [ns].
    pub user_ns: u64,
    /// Part of it in the kernel [ns].
    pub system_ns: u64,
    /// Page faults without disk.
    pub page_faults_minor: u64,
    /// Page faults that read from a disk.
    pub page_faults_major: u64,
    /// Bytes read from and written to block devices.
    pub block_bytes: Option<[u64; 2]>,
    /// Waits, where they are parts of the response.
    pub waits: Waits,
}

impl Totals {
    /// Use since `earlier`, in a response of `response_ns`. Saturating: a process that has left the tree takes its totals along.
    pub fn since(&self, earlier: &Totals, response_ns: u64) -> Used {
        let [cpu_ns, user_ns, system_ns] =
            std::array::from_fn(|part| self.cpu_ns[part].saturating_sub(earlier.cpu_ns[part]));
        let block_bytes = self.block_bytes.zip(earlier.block_bytes);
        let waits = self.waits.since(&earlier.waits);
        let is_whole = self.losses == earlier.losses
            && [waits.run_delay_ns, waits.io_delay_ns].into_iter().flatten().all(|ns| ns >= 0);
        let waits = if is_whole {
            waits.within(cpu_ns, response_ns.saturating_add(SLACK_NS))
        } else {
            Waits::default()
        };
        Used {
            cpu_ns,
            user_ns,
            system_ns,
            page_faults_minor: self.page_faults_minor.saturating_sub(earlier.page_faults_minor),
            page_faults_major: self.page_faults_major.saturating_sub(earlier.page_faults_major),
            block_bytes: block_bytes
                .map(|(now, before)| std::array::from_fn(|way| now[way].saturating_sub(before[way]))),
            waits,
        }
    }
}

/// Accounts of the programs at one terminal.
#[derive(Debug)]
pub(crate) struct Accounts {
    shell: i32,
    group: Option<Group>,
}

impl Accounts {
    /// Accounts of `shell` and what it starts, in the control group `group` where it has one.
    pub fn of(shell: i32, group: Option<PathBuf>) -> Accounts {
        Accounts { shell, group: group.map(Group::new) }
    }

    /// Process id of the shell.
    pub fn shell(&self) -> i32 {
        self.shell
    }

    /// Totals so far; `None` once the shell has ended.
    pub fn totals(&mut self, ends: Option<&mut Ends>) -> Option<Totals> {
        // Before the tree: a process that ends between the two is missing then, and not counted twice.
        let ended = ends.map(|ends| {
            ends.drain();
            (ends.waits_of(self.shell), ends.losses())
        });
        let tree = tree::read(self.shell)?;
        let cpu_ns = match &mut self.group {
            Some(group) => group.cpu_ns()?,
            None => [tree.user_ns + tree.system_ns, tree.user_ns, tree.system_ns],
        };
        let waits = ended.map_or_else(Waits::default, |(ended, _)| tree.waits.and(&ended));
        Some(Totals {
            cpu_ns,
            page_faults_minor: tree.page_faults_minor,
            page_faults_major: tree.page_faults_major,
            block_bytes: tree.block_bytes,
            waits,
            losses: ended.map_or(0, |(_, losses)| losses),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(cpu_ms: u64, run_delay_ms: i64, losses: u64) -> Totals {
        let waits = Waits { run_delay_ns: Some(run_delay_ms * 1_000_000), io_delay_ns: None };
        Totals { cpu_ns: [cpu_ms * 1_000_000; 3], waits, losses, ..Totals::default() }
    }

    #[test]
    fn waits_are_parts_of_the_response_or_unknown() {
        let before = totals(100, 50, 0);
        let wait =
            |now: Totals, response_ms: u64| now.since(&before, response_ms * 1_000_000).waits.run_delay_ns;
        assert_eq!(wait(totals(130, 60, 0), 40), Some(10_000_000));
        // 30 ms of CPU time and 10 ms of waiting are no steps of a response of 35 ms: two processes ran side by side.
        assert_eq!(wait(totals(130, 60, 0), 35), None);
        // A process that left the tree, and lost messages.
        assert_eq!(wait(totals(130, 40, 0), 100), None);
        assert_eq!(wait(totals(130, 60, 1), 40), None);
        assert_eq!(totals(130, 60, 1).since(&before, 1).cpu_ns, 30_000_000);
    }
}
