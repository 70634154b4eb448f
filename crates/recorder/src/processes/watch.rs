//! The per-process part of a recording: a source chosen at start, and the census that it feeds.

use std::collections::BTreeMap;
use std::io;

use serde_json::{Value as Json, json};

use super::census::{Census, Surroundings};
use super::departures::Departures;
use super::exits::Exits;
use super::iterator::ThreadIterator;
use super::listing::Listing;
use super::procfs::Procfs;
use super::taskstats::Taskstats;
use super::{By, Method, ProcessSource, Scan};
use crate::kernel::clock::{Clock, Moment, SystemClock};
use crate::kernel::files::Root;
use crate::kernel::host;
use crate::proc::stat::Stat;
use crate::recording::options::RecordOptions;
use crate::sample::usage_rows::Waits;

/// Totals over the processes after a sample.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessTotals {
    /// Processes alive.
    pub processes: u64,
    /// Sessions with a terminal; `None` when processes are only counted.
    pub terminal_sessions: Option<u64>,
    /// Users with CPU time in user state in the interval; `None` at the first sample.
    pub active_users: Option<u64>,
    /// Exact CPU time in the interval that belongs to some user [ns].
    pub attributed_ns: Option<u64>,
    /// The part of it that kernel threads used [ns].
    pub kernel_ns: u64,
    /// Exact CPU time in the interval of processes that leave the CPU to others [ns].
    pub low_priority_ns: Option<u64>,
    /// Totals that were counted in whole ticks since the first sample.
    pub totals_in_ticks: u64,
}

/// Reads or counts the processes at every sample.
pub enum Watch {
    /// Only how many there are.
    Count(Counting),
    /// All of them, with their users.
    Each(Box<Each>),
}

/// How many processes there are, without looking at each.
///
/// The kernel gives the folder `/proc` as many links as there are processes and other folders in it. The
/// number of the others is found by listing the folder, at long intervals again. Inside a container the
/// links count the processes of the whole machine: there the folder is listed each time.
pub struct Counting {
    listing: Listing,
    pids: Vec<i32>,
    /// Links that are no processes.
    others: Option<u64>,
    samples: u32,
}

/// Samples after which the folder is listed again: its other folders change only as modules are loaded.
const LIST_EVERY: u32 = 256;

impl Counting {
    fn open(root: &Root) -> io::Result<Counting> {
        let others = host::is_first_pid_namespace(root).then_some(0);
        Ok(Counting { listing: Listing::open(root)?, pids: Vec::new(), others, samples: 0 })
    }

    fn count(&mut self) -> io::Result<u64> {
        let is_due = self.samples % LIST_EVERY == 0;
        self.samples = self.samples.wrapping_add(1);
        match self.others {
            Some(others) if !is_due => Ok(self.listing.links()?.saturating_sub(others)),
            _ => {
                self.listing.read(&mut self.pids)?;
                let listed = self.pids.len() as u64;
                if self.others.is_some() {
                    // Kernel modules and drivers add folders to `/proc` now and then.
                    self.others = Some(self.listing.links()?.saturating_sub(listed));
                }
                Ok(listed)
            }
        }
    }
}

/// Every process, by user.
pub struct Each {
    source: Box<dyn ProcessSource + Send>,
    scan: Scan,
    /// Usage by user.
    pub census: Census,
    /// Messages of the ends of processes, or why there are none.
    exits: Result<Exits, String>,
    /// Times at which such messages were lost.
    exits_lost: u64,
    /// The same since it was asked last.
    exits_lost_lately: u64,
    /// The kernel accounts waiting for disks and swap.
    has_delays: bool,
    own_pid: Option<i32>,
    tick_ns: u64,
    /// Time that a hypervisor took from all CPUs, since boot [tick].
    stolen_ticks: Option<u64>,
    /// CPU time of a scan with each method that was tried [s].
    tried: BTreeMap<String, f64>,
    /// Most processes in one scan that were listed but could not be read.
    unreadable_max: u64,
}

impl Watch {
    /// The watch for these options, ready for its first scan.
    pub fn open(root: &Root, options: &RecordOptions) -> io::Result<Watch> {
        let RecordOptions { by, method, arguments, .. } = *options;
        if by == By::None {
            return Ok(Watch::Count(Counting::open(root)?));
        }
        let tick_ns = 1_000_000_000 / host::clock_ticks();
        // Before the first scan: from then on, every process that ends is told.
        let exits = match root.is_machine() {
            true => Exits::open(root).map_err(|error| error.to_string()),
            false => Err("the root is a captured tree".into()),
        };
        let mut scan = Scan::default();
        let mut tried = BTreeMap::new();
        let mut source = choose(root, by, method, &mut scan, &mut tried)?;
        if arguments {
            source.name_by_arguments();
        }
        // In a captured tree the recorder's number is somebody else's.
        let own_pid = root.is_machine().then(|| rustix::process::getpid().as_raw_nonzero().get());
        let census = Census::new(by, tick_ns);
        Ok(Watch::Each(Box::new(Each {
            source,
            scan,
            census,
            exits,
            exits_lost: 0,
            exits_lost_lately: 0,
            has_delays: has_delays(root),
            own_pid,
            tick_ns,
            stolen_ticks: None,
            tried,
            unreadable_max: 0,
        })))
    }

    /// Totals over the processes now; `since` is the sample before, `None` at the first.
    ///
    /// `machine` is `/proc/stat` as read just before.
    pub fn sample(
        &mut self,
        since: Option<Moment>,
        now: Moment,
        machine: &Stat,
    ) -> io::Result<ProcessTotals> {
        match self {
            Watch::Count(counting) => {
                Ok(ProcessTotals { processes: counting.count()?, ..ProcessTotals::default() })
            }
            Watch::Each(each) => each.sample(since, now, machine),
        }
    }

    /// Monotonic time at which messages must be received, lest they are lost [ns].
    pub fn due_ns(&self) -> i64 {
        match self {
            Watch::Each(each) => each.exits.as_ref().map_or(i64::MAX, Exits::due_ns),
            Watch::Count(_) => i64::MAX,
        }
    }

    /// Leaves little room for messages; false if they are not permitted here.
    #[cfg(test)]
    pub(crate) fn narrow(&mut self) -> bool {
        let Watch::Each(each) = self else { return false };
        let narrow = Exits::with_room(&Root::new("/"), 4096);
        each.exits = narrow.map_err(|error| error.to_string());
        each.exits.is_ok()
    }

    /// Receives messages between two samples.
    pub fn drain(&mut self) -> io::Result<()> {
        match self {
            Watch::Each(each) => each.exits.as_mut().map_or(Ok(()), |exits| exits.drain(SystemClock.now())),
            Watch::Count(_) => Ok(()),
        }
    }

    /// How often messages of the ends of processes were lost since the last call.
    pub fn take_losses(&mut self) -> u64 {
        match self {
            Watch::Each(each) => std::mem::take(&mut each.exits_lost_lately),
            Watch::Count(_) => 0,
        }
    }

    /// Waiting that is measured.
    pub fn waits(&self) -> Waits {
        match self {
            Watch::Each(each) => Waits {
                cpu: each.source.measures_wait(),
                io: each.has_delays,
                swap: each.has_delays && each.source.measures_swap(),
            },
            Watch::Count(_) => Waits::default(),
        }
    }

    /// Facts for the manifest: the method chosen, the cost of each method tried, and what could not be read.
    pub fn to_json(&self) -> Json {
        match self {
            Watch::Count(_) => json!({ "method": "none" }),
            Watch::Each(each) => json!({
                "method": each.source.name(),
                "exits": each.exits.as_ref().map_or_else(String::as_str, |_| "taskstats"),
                "exits_lost": each.exits_lost,
                "scan_cpu_s": each.tried,
                "cpu_waits_cut_s": each.census.cpu_waits_cut_ns as f64 * 1e-9,
                "unreadable_processes_max": each.unreadable_max,
                "implausible_growths_dropped":
                    each.census.implausible + each.exits.as_ref().map_or(0, Exits::impossible_waits),
            }),
        }
    }
}

impl Each {
    fn sample(&mut self, since: Option<Moment>, now: Moment, machine: &Stat) -> io::Result<ProcessTotals> {
        // Before the scan: whose end is told after it may have a parent that was read before it waited.
        if let Ok(exits) = &mut self.exits {
            exits.drain(SystemClock.now())?;
        }
        self.source.scan(&mut self.scan, machine.forks)?;
        self.unreadable_max = self.unreadable_max.max(self.scan.unreadable);
        let ticks_at = |moment: Moment| u64::try_from(moment.boot_ns).unwrap_or(0) / self.tick_ns;
        let length_ns =
            since.map_or(0, |since| u64::try_from(now.monotonic_ns - since.monotonic_ns).unwrap_or(0));
        let before = std::mem::replace(&mut self.stolen_ticks, machine.total.steal);
        let stolen_ticks = before.zip(machine.total.steal).map(|(before, now)| now.saturating_sub(before));
        let none = Departures::default();
        // After the scan: a process that it did not find has told its end.
        let departures = match &mut self.exits {
            Ok(exits) => exits.at_sample(SystemClock.now(), stolen_ticks.unwrap_or(0) * self.tick_ns)?,
            Err(_) => &none,
        };
        let source = &mut self.source;
        self.census.step(
            &self.scan,
            Surroundings {
                since_ticks: since.map(ticks_at),
                length_ns,
                // Twice, because CPU time of children may be counted one interval late; and some ticks,
                // because counters of children are cut to whole ticks.
                capacity_ns: 2 * length_ns.saturating_mul(machine.cpus.len().max(1) as u64)
                    + 10 * self.tick_ns,
                own_pid: self.own_pid,
                departures,
                is_gone: &mut |pid| source.is_gone(pid),
            },
        );
        if let Ok(exits) = &mut self.exits {
            let lost = exits.clear();
            self.exits_lost += lost;
            self.exits_lost_lately += lost;
        }
        for pid in &self.census.orphans {
            self.source.refresh(*pid);
        }
        Ok(ProcessTotals {
            processes: self.census.processes(),
            terminal_sessions: Some(self.census.terminal_sessions()),
            active_users: since.map(|_| self.census.active_users()),
            attributed_ns: since
                .map(|_| self.census.accounts().values().map(|account| account.usage.exact_ns).sum()),
            kernel_ns: self.census.kernel_ns,
            low_priority_ns: since.map(|_| self.census.low_priority_ns),
            totals_in_ticks: self.census.totals_in_ticks,
        })
    }
}

/// True if the kernel accounts how long tasks wait for disks and swap.
pub(crate) fn has_delays(root: &Root) -> bool {
    // Without the switch, nothing tells a kernel that does not account it from one where nobody waits.
    root.text("/proc/sys/kernel/task_delayacct").is_some_and(|text| text.trim() != "0")
}

/// CPU time of a scan below which the iterator is not tried: to load it takes the work of hundreds of such scans [s].
const CHEAP_S: f64 = 0.5e-3;

/// Opens a source.
type Open = fn(&Root, By) -> io::Result<Box<dyn ProcessSource + Send>>;

const FILES: Open = |root, by| Ok(Box::new(Procfs::open(root, by)?));
const MESSAGES: Open = |root, by| Ok(Box::new(Taskstats::open(root, by)?));
const ITERATOR: Open = |root, by| Ok(Box::new(ThreadIterator::open(root, by)?));

/// The source for `method`; with `Auto`, the one whose scans cost less CPU time here.
fn choose(
    root: &Root,
    by: By,
    method: Method,
    scan: &mut Scan,
    tried: &mut BTreeMap<String, f64>,
) -> io::Result<Box<dyn ProcessSource + Send>> {
    match method {
        Method::Procfs => return FILES(root, by),
        Method::Taskstats => return MESSAGES(root, by),
        Method::Iterator => return ITERATOR(root, by),
        Method::Auto if !root.is_machine() => return FILES(root, by),
        Method::Auto => {}
    }
    // Each keeps open as many files as it may, and there is no room for those of two: it is closed when it was tried.
    let mut cost_s = |open: Open| {
        let mut source = open(root, by)?;
        let cost_s = scan_cost_s(source.as_mut(), scan)?;
        tried.insert(source.name().into(), cost_s);
        io::Result::Ok(cost_s)
    };
    let (mut least_s, mut best) = (cost_s(FILES)?, FILES);
    for (worthwhile_s, open) in [(0.0, MESSAGES), (CHEAP_S, ITERATOR)] {
        if least_s < worthwhile_s {
            continue;
        }
        // One that is not permitted here, or does not work, is not the best.
        match cost_s(open) {
            Ok(other_s) if other_s < least_s => (least_s, best) = (other_s, open),
            _ => {}
        }
    }
    best(root, by)
}

/// CPU time of a scan, after a first one that opens what is kept open [s].
pub fn scan_cost_s(source: &mut dyn ProcessSource, scan: &mut Scan) -> io::Result<f64> {
    source.scan(scan, None)?;
    // The least of three: other load can only make a scan more expensive.
    let mut least = f64::INFINITY;
    for _ in 0..3 {
        let before = SystemClock.thread_cpu_ns();
        source.scan(scan, None)?;
        least = least.min((SystemClock.thread_cpu_ns() - before) as f64 * 1e-9);
    }
    Ok(least)
}
