//! Amounts that processes use, and how they follow from the kernel's cumulative counters.
//!
//! Everything is saturating: a counter that runs backwards is no use below zero, and a sum that does not
//! fit into 64 bits is a defect of a counter, not a reason to stop a recording.

use std::ops::{AddAssign, SubAssign};

use super::Facts;

/// A whole, as the number of its parts.
const SHARES: u64 = 1 << 32;

/// An amount of everything that a process uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Time in user state [ns].
    pub user_ns: u64,
    /// Time in the kernel [ns].
    pub system_ns: u64,
    /// CPU time as the scheduler measures it, or whole ticks where that is not known [ns].
    pub exact_ns: u64,
    /// Time runnable but waiting for a CPU [ns].
    pub wait_ns: u64,
    /// Time waiting for a disk [ns].
    pub io_wait_ns: u64,
    /// Time waiting for a page from swap [ns].
    pub swap_wait_ns: u64,
    /// Page faults without disk.
    pub faults_minor: u64,
    /// Page faults that read from a disk.
    pub faults_major: u64,
    /// Bytes read from storage.
    pub read_bytes: u64,
    /// Bytes written to storage.
    pub write_bytes: u64,
}

impl Usage {
    /// `with` applied to each amount of both.
    fn zip(self, other: Usage, with: impl Fn(u64, u64) -> u64) -> Usage {
        Usage {
            user_ns: with(self.user_ns, other.user_ns),
            system_ns: with(self.system_ns, other.system_ns),
            exact_ns: with(self.exact_ns, other.exact_ns),
            wait_ns: with(self.wait_ns, other.wait_ns),
            io_wait_ns: with(self.io_wait_ns, other.io_wait_ns),
            swap_wait_ns: with(self.swap_wait_ns, other.swap_wait_ns),
            faults_minor: with(self.faults_minor, other.faults_minor),
            faults_major: with(self.faults_major, other.faults_major),
            read_bytes: with(self.read_bytes, other.read_bytes),
            write_bytes: with(self.write_bytes, other.write_bytes),
        }
    }

    /// The part of each amount between the shares `from` and `to` of `of`: parts that touch add up to the whole.
    pub(super) fn part(self, from: u64, to: u64, of: u64) -> Usage {
        self.zip(Usage::default(), |amount, _| scaled(amount, to, of) - scaled(amount, from, of))
    }

    /// The smaller of each amount.
    pub(super) fn least(self, other: Usage) -> Usage {
        self.zip(other, u64::min)
    }

    /// Of each amount the share that `part` is of `whole`, which has this one in it; all of it if `part` is the whole.
    pub(super) fn share(self, part: Usage, whole: Usage) -> Usage {
        let shares = part.zip(whole, |part, whole| scaled(SHARES, part, whole));
        self.zip(shares, |amount, share| scaled(amount, share, SHARES))
    }

    /// As it appears in the totals of a parent: the kernel keeps no total of waiting over children.
    pub(super) fn without_wait(self) -> Usage {
        Usage { wait_ns: 0, io_wait_ns: 0, swap_wait_ns: 0, ..self }
    }

    /// True if nothing was used.
    pub fn is_zero(&self) -> bool {
        *self == Usage::default()
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        *self = self.zip(other, u64::saturating_add);
    }
}

/// Differences below zero are zero.
impl SubAssign for Usage {
    fn sub_assign(&mut self, other: Usage) {
        *self = self.zip(other, u64::saturating_sub);
    }
}

/// `amount` times `share` of `all`.
pub(super) fn scaled(amount: u64, share: u64, all: u64) -> u64 {
    // Fits: the share is at most all.
    (u128::from(amount) * u128::from(share) / u128::from(all.max(1))) as u64
}

/// CPU time of all threads [tick].
fn ticks(facts: &Facts) -> u64 {
    facts.stat.user_ticks + facts.stat.system_ticks
}

/// Exact time [ns]: the scheduler's time of the first thread if there is no other, else whole ticks.
///
/// Ticks that exceed it by more than their rounding (one each for user and system time) are those of
/// threads that started and ended in between.
fn exact_ns(run_ns: Option<u64>, ticks: u64, has_one_thread: bool, tick_ns: u64) -> u64 {
    let by_ticks = ticks.saturating_mul(tick_ns);
    match run_ns {
        Some(run) if has_one_thread && run.saturating_add(2 * tick_ns) >= by_ticks => run,
        _ => by_ticks,
    }
}

/// Everything that a process used itself since it started; `tick_ns` is the length of a clock tick [ns].
pub(super) fn lifetime(facts: &Facts, tick_ns: u64) -> Usage {
    let stat = &facts.stat;
    Usage {
        user_ns: stat.user_ticks.saturating_mul(tick_ns),
        system_ns: stat.system_ticks.saturating_mul(tick_ns),
        exact_ns: exact_ns(facts.run_ns, ticks(facts), stat.threads == 1, tick_ns),
        wait_ns: facts.wait_ns.unwrap_or(0),
        io_wait_ns: stat.io_wait_ticks.saturating_mul(tick_ns),
        swap_wait_ns: facts.swap_wait_ns.unwrap_or(0),
        faults_minor: stat.faults_minor,
        faults_major: stat.faults_major,
        read_bytes: facts.io.map_or(0, |io| io.read_bytes),
        write_bytes: facts.io.map_or(0, |io| io.write_bytes),
    }
}

/// The wait that a kernel told of a task which lived for `lived_ns` meanwhile; no longer than that.
///
/// Where a wait ends whose beginning it did not note, a kernel adds the time since the beginning of the wait before, which
/// it counted already, or since boot if there was none. The first makes long waits a little longer than is possible; of
/// the second nothing remains to be known.
pub(super) fn possible_wait_ns(told_ns: u64, lived_ns: u64) -> u64 {
    if told_ns > lived_ns.saturating_mul(2) { 0 } else { told_ns.min(lived_ns) }
}

/// Everything that the kernel has added to a process for children that it waited for, since it started.
pub(super) fn of_children(facts: &Facts, tick_ns: u64) -> Usage {
    let stat = &facts.stat;
    Usage {
        user_ns: stat.children_user_ticks.saturating_mul(tick_ns),
        system_ns: stat.children_system_ticks.saturating_mul(tick_ns),
        exact_ns: (stat.children_user_ticks + stat.children_system_ticks).saturating_mul(tick_ns),
        faults_minor: stat.children_faults_minor,
        faults_major: stat.children_faults_major,
        ..Usage::default()
    }
}

/// Everything that one process used itself between two readings.
pub(super) fn growth(before: &Facts, after: &Facts, tick_ns: u64) -> Usage {
    let mut usage = lifetime(after, tick_ns);
    usage -= lifetime(before, tick_ns);
    usage.wait_ns = usage.wait_ns.saturating_sub(after.wait_cut_ns.saturating_sub(before.wait_cut_ns));
    let has_one_thread = before.stat.threads == 1 && after.stat.threads == 1;
    // After exec by another thread, the first thread is a different one: its time does not continue the old.
    let run = before.run_ns.zip(after.run_ns).and_then(|(before, after)| after.checked_sub(before));
    usage.exact_ns = exact_ns(run, ticks(after).saturating_sub(ticks(before)), has_one_thread, tick_ns);
    // The first total seen after a change of permission is that of a lifetime, not of the interval.
    if before.io.is_none() || after.io.is_none() {
        (usage.read_bytes, usage.write_bytes) = (0, 0);
    }
    usage
}
