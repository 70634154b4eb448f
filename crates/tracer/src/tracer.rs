//! The tracer: programs attached, and the histograms that they fill.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use crate::TraceError;
use crate::bpf::Place;
use crate::calls;
use crate::events::Events;
use crate::layout::{
    ACCOUNT_BYTES, ACCOUNT_READY, ACCOUNTS, ACCOUNTS_LOST, BEGUN, BUCKET_BYTES, BUCKETS, DONE,
    DURATIONS_LOST, EVENT_BYTES, FIRST_BUCKET, HISTOGRAM_BYTES, HISTOGRAMS_TAKEN, KINDS, NAME, OWNER,
    OWNER_IS_KERNEL, RING, RING_BYTES, SHARED_BYTES, SLOTS, STATE, UNSEEN, bounds, kind,
};
use crate::mapped::Mapped;
use crate::object::{Kernel, Loaded, Program, TRACER};

/// Whom a task belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Owner {
    /// Its effective user.
    #[default]
    User,
    /// Its session.
    Session,
}

/// Without these there is no trace.
const SCHEDULER: [Program; 3] = [
    Program { name: "on_start", place: Place::Tracepoint, target: "sched_wakeup_new" },
    Program { name: "on_wakeup", place: Place::Tracepoint, target: "sched_wakeup" },
    Program { name: "on_switch", place: Place::Tracepoint, target: "sched_switch" },
];
/// Those that belong together, and what they measure.
const OTHERS: [(&str, [Program; 2]); 1] = [(
    "block_io",
    [
        Program { name: "on_completion", place: Place::Tracepoint, target: "block_rq_complete" },
        Program { name: "on_issue", place: Place::Tracepoint, target: "block_rq_issue" },
    ],
)];
/// Attached where events are wanted.
const LIVES: [Program; 3] = [
    Program { name: "on_fork", place: Place::Tracepoint, target: "sched_process_fork" },
    Program { name: "on_exec", place: Place::Tracepoint, target: "sched_process_exec" },
    Program { name: "on_exit", place: Place::Tracepoint, target: "sched_process_exit" },
];
/// What no kernel lets be measured by tracepoints.
const NOWHERE: (&str, &str) = (
    "page_fault",
    "no tracepoint tells when a page fault ends; the waits for a disk among them are waits for page_io",
);

/// Memory for the histograms of all CPUs together, at most [byte].
const MEMORY_MAX: usize = 128 << 20;
/// Histograms of each CPU: most, however few CPUs there are, and fewest.
const HISTOGRAMS: (usize, usize) = (4096, 512);
/// Times that a histogram is read again which a program writes to meanwhile.
const ATTEMPTS: usize = 8;

/// A user and a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Account {
    /// Number of the user or session; `None` for those who found no room.
    pub owner: Option<u32>,
    /// True for threads of the kernel.
    pub is_kernel: bool,
    /// The kernel's name for the program of the process, padded with zeros.
    pub name: [u8; 16],
}

impl Account {
    /// Account `number` in the memory of the programs.
    pub(crate) fn read(accounts: &Mapped, number: usize) -> Account {
        let at = number * ACCOUNT_BYTES;
        let owner = accounts.u64(at + OWNER);
        let mut name = [0; 16];
        name[..8].copy_from_slice(&accounts.u64(at + NAME).to_ne_bytes());
        name[8..].copy_from_slice(&accounts.u64(at + NAME + 8).to_ne_bytes());
        // The numbers of users and sessions have 32 bits.
        let is_known = number > 0;
        Account { owner: is_known.then_some(owner as u32), is_kernel: owner & OWNER_IS_KERNEL != 0, name }
    }
}

/// Durations in one bucket, since the reading before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Latency {
    /// Whose it is.
    pub account: Account,
    /// What took the time.
    pub quantity: &'static str,
    /// How it ended, or what the task waited for.
    pub reason: &'static str,
    /// Lower bound of the bucket [ns].
    pub at_least_ns: u64,
    /// Upper bound, outside of it [ns]; `None` for the last bucket.
    pub below_ns: Option<u64>,
    /// Number of durations.
    pub count: u64,
    /// Their sum [ns].
    pub total_ns: u64,
}

/// What found no room, since the tracer was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Durations that are in no histogram.
    pub durations: u64,
    /// Times that a user and program had no account, so that its durations count for nobody.
    pub accounts: u64,
    /// Ends of slices and waits whose beginning was not seen: one or two for each task that ran before, and those of
    /// switches that the kernel did not tell of.
    pub unseen: u64,
}

/// A histogram as read: count and sum of each bucket.
type Contents = [(u64, u64); BUCKETS];

/// Programs in the kernel and the memory that they share with this process. Dropping it detaches them.
pub struct Tracer {
    accounts: Arc<Mapped>,
    events: Option<Events>,
    histograms: Mapped,
    shared: Mapped,
    cpus: usize,
    histograms_per_cpu: usize,
    /// Contents of each histogram at the reading before, by CPU and number.
    before: BTreeMap<(usize, u32), (u64, Box<Contents>)>,
    /// What is not measured, with the reasons.
    missing: BTreeMap<&'static str, String>,
    _attached: Vec<OwnedFd>,
}

impl Tracer {
    /// Loads and attaches the programs; with `wants_events` they tell of each event too.
    ///
    /// # Errors
    /// The kernel does not permit it, or lacks what the trace of the scheduler needs. Of the rest, what it lacks is
    /// said by [`Tracer::missing`].
    pub fn open(owner: Owner, wants_events: bool) -> Result<Tracer, TraceError> {
        let kernel = Kernel::read()?;
        let cpus = possible_cpus();
        let histograms_per_cpu = (MEMORY_MAX / HISTOGRAM_BYTES / cpus).clamp(HISTOGRAMS.1, HISTOGRAMS.0);
        let all = cpus * histograms_per_cpu;
        let mut loaded = Loaded::new(
            TRACER,
            &kernel,
            &[
                ("histograms", all as u32),
                ("events", if wants_events { (cpus * RING) as u32 } else { 1 }),
                ("rings", cpus as u32),
            ],
            &[
                ("wants_events", &u32::from(wants_events).to_ne_bytes()),
                ("owner_is_session", &u32::from(owner == Owner::Session).to_ne_bytes()),
                ("histograms_per_cpu", &(histograms_per_cpu as u32).to_ne_bytes()),
                ("reason_of_call", &calls::reasons()),
            ],
        )?;
        // The memory before the programs: what cannot be read is not counted either.
        let mut map = |name: &str, bytes: usize, is_writable: bool| {
            let map = loaded.maps.remove(name);
            let map = map.ok_or_else(|| TraceError::Damaged { detail: format!("no table {name}") })?;
            Mapped::new(map, bytes, is_writable)
                .map_err(TraceError::of_call("map the tables of the programs"))
        };
        let accounts = Arc::new(map("accounts", ACCOUNTS * ACCOUNT_BYTES, false)?);
        let histograms = map("histograms", all * HISTOGRAM_BYTES, false)?;
        let shared = map("shared", SHARED_BYTES, false)?;
        let events = match wants_events {
            true => {
                let events = map("events", cpus * RING * EVENT_BYTES, false)?;
                Some(Events::new(Arc::clone(&accounts), events, map("rings", cpus * RING_BYTES, true)?, cpus))
            }
            false => None,
        };
        let mut attached = Vec::new();
        for program in LIVES.into_iter().filter(|_| wants_events).chain(SCHEDULER) {
            attached.push(loaded.attach(&kernel, program)?);
        }
        let mut missing = BTreeMap::from([(NOWHERE.0, NOWHERE.1.to_owned())]);
        for (quantity, programs) in OTHERS {
            let both: Result<Vec<_>, _> =
                programs.iter().map(|program| loaded.attach(&kernel, *program)).collect();
            match both {
                Ok(both) => attached.extend(both),
                Err(error) => drop(missing.insert(quantity, error.to_string())),
            }
        }
        Ok(Tracer {
            accounts,
            events,
            histograms,
            shared,
            cpus,
            histograms_per_cpu,
            before: BTreeMap::new(),
            missing,
            _attached: attached,
        })
    }

    /// The reader of the events, for a thread of its own; `None` if none are wanted, or the second time.
    pub fn take_events(&mut self) -> Option<Events> {
        self.events.take()
    }

    /// Quantities that this kernel does not let be measured, with the reasons.
    pub fn missing(&self) -> &BTreeMap<&'static str, String> {
        &self.missing
    }

    /// What found no room so far.
    pub fn losses(&self) -> Losses {
        Losses {
            durations: self.shared.u64(DURATIONS_LOST),
            accounts: self.shared.u64(ACCOUNTS_LOST),
            unseen: self.shared.u64(UNSEEN),
        }
    }

    /// Accounts that are open, with their numbers; number 0 is that of those who found no room.
    pub fn accounts(&self) -> impl Iterator<Item = (u16, Account)> {
        let is_open =
            |number: usize| number == 0 || self.accounts.u32(number * ACCOUNT_BYTES + STATE) == ACCOUNT_READY;
        let open = (0..ACCOUNTS).filter(move |number| is_open(*number));
        open.map(|number| (number as u16, Account::read(&self.accounts, number)))
    }

    /// Durations that ended since the reading before, by owner, program, quantity, reason and bucket.
    pub fn read(&mut self) -> Vec<Latency> {
        let mut latencies = Vec::new();
        let taken = self.shared.u64(HISTOGRAMS_TAKEN);
        if taken == 0 {
            return latencies;
        }
        let accounts: Vec<_> = self.accounts().collect();
        for (account, of) in accounts {
            let at = usize::from(account) * ACCOUNT_BYTES;
            for number in 0..KINDS {
                let slot = self.accounts.u32(at + SLOTS + 4 * number);
                if slot == 0 || slot as usize >= self.histograms_per_cpu {
                    continue;
                }
                let (quantity, reason) = kind(number);
                for (bucket, (count, total_ns)) in self.grown(slot).into_iter().enumerate() {
                    if count > 0 {
                        let (at_least_ns, below_ns) = bounds(bucket);
                        latencies.push(Latency {
                            account: of,
                            quantity,
                            reason,
                            at_least_ns,
                            below_ns,
                            count,
                            total_ns,
                        });
                    }
                }
            }
        }
        latencies
    }

    /// What a histogram has gained since the reading before, all CPUs together.
    fn grown(&mut self, slot: u32) -> Contents {
        let mut grown = [(0, 0); BUCKETS];
        for cpu in 0..self.cpus {
            let at = (cpu * self.histograms_per_cpu + slot as usize) * HISTOGRAM_BYTES;
            let known = self.before.get(&(cpu, slot)).map_or(0, |(done, _)| *done);
            if self.histograms.u64(at + DONE) == known {
                continue;
            }
            // One that is written to at each attempt is read at the next sample: nothing is lost.
            let Some((done, now)) = (0..ATTEMPTS).find_map(|_| self.whole(at)) else { continue };
            let (before_done, before) =
                self.before.entry((cpu, slot)).or_insert_with(|| (0, Box::new([(0, 0); BUCKETS])));
            for ((sum, now), before) in grown.iter_mut().zip(now).zip(before.iter()) {
                sum.0 += now.0 - before.0;
                sum.1 += now.1 - before.1;
            }
            **before = now;
            *before_done = done;
        }
        grown
    }

    /// A histogram that no program wrote to while it was read.
    fn whole(&self, at: usize) -> Option<(u64, Contents)> {
        let done = self.histograms.u64(at + DONE);
        let mut contents = [(0, 0); BUCKETS];
        for (bucket, content) in contents.iter_mut().enumerate() {
            let at = at + FIRST_BUCKET + bucket * BUCKET_BYTES;
            *content = (self.histograms.u64(at), self.histograms.u64(at + 8));
        }
        (self.histograms.u64(at + BEGUN) == done).then_some((done, contents))
    }
}

/// Numbers of CPUs that this machine can have.
fn possible_cpus() -> usize {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_default();
    let last = text.trim().rsplit([',', '-']).next().and_then(|number| number.parse::<usize>().ok());
    last.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), |last| last + 1)
}
