//! The tracer: programs attached, and the histograms that they fill.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use crate::TraceError;
use crate::attachment::Attachment;
use crate::calls;
use crate::events::Events;
use crate::layout::{
    ACCOUNT_BYTES, ACCOUNT_FREE, ACCOUNT_READY, ACCOUNT_RETIRED, ACCOUNT_STATES, ACCOUNTS, ACCOUNTS_LOST,
    BEGUN, BUCKETS, DURATIONS_LOST, HISTOGRAM_BYTES, KINDS, LINE_BUCKETS, LINE_BYTES, NAME, OWNER,
    OWNER_IS_KERNEL, RECORD_BYTES, RING, RING_BYTES, SHARED_BYTES, SLOT_BYTES, SLOTS, SLOTS_GIVEN,
    SLOTS_TAKEN, STATE, UNSEEN, bounds, kind,
};
use crate::mapped::Mapped;
use crate::noted;
use crate::object::{Constant, Kernel, Loaded};

/// Whom a task belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Owner {
    /// Its effective user.
    #[default]
    User,
    /// Its session.
    Session,
}

/// How it is known when a task was queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queueing {
    /// By the scheduler's own times, read when the task gets its CPU.
    Scheduler,
    /// By programs at wake-ups, where the kernel keeps no such times.
    WakeUps,
}

impl Queueing {
    /// One word for it.
    pub fn name(self) -> &'static str {
        match self {
            Queueing::Scheduler => "scheduler",
            Queueing::WakeUps => "wake_ups",
        }
    }
}

/// What programs are loaded, and how they are attached.
#[derive(Clone, Copy)]
struct Way {
    owner: Owner,
    wants_events: bool,
    attachment: Attachment,
    queueing: Queueing,
    /// The kernel shows programs the registers of tasks.
    sees_calls: bool,
}

impl Way {
    /// Loads the programs, with memory for so many CPUs, and what they have to know.
    fn load(self, kernel: &Kernel, cpus: usize, histograms_per_cpu: usize) -> Result<Loaded, TraceError> {
        let flag = |is_set: bool| u32::from(is_set).to_ne_bytes();
        let wants_events = flag(self.wants_events);
        let in_order = flag(cfg!(target_arch = "x86_64"));
        let per_cpu = (histograms_per_cpu as u32).to_ne_bytes();
        let by_scheduler = flag(self.queueing == Queueing::Scheduler);
        let of_session = flag(self.owner == Owner::Session);
        let sees_calls = flag(self.sees_calls);
        let reasons = calls::reasons();
        let mut constants: Vec<Constant<'_>> = vec![
            ("wants_events", &wants_events),
            ("stores_in_order", &in_order),
            ("histograms_per_cpu", &per_cpu),
        ];
        if self.attachment.reads_structures() {
            constants.push(("by_scheduler", &by_scheduler));
            constants.push(("owner_is_session", &of_session));
            constants.push(("sees_calls", &sees_calls));
            constants.push(("reason_of_call", &reasons));
        }
        let sizes = [
            ("histograms", (cpus * histograms_per_cpu) as u32),
            ("slots", histograms_per_cpu as u32),
            ("records", if self.wants_events { (cpus * RING) as u32 } else { 1 }),
            ("rings", cpus as u32),
        ];
        Loaded::new(self.attachment.compiled(), kernel, &sizes, &constants)
    }
}

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

/// Room that is left in the tables, of all of it, below which what nobody uses is taken back: one part in so many.
const SCARCE: usize = 2;

/// Lines of a histogram.
const LINES: usize = BUCKETS / LINE_BUCKETS;

/// A line of a histogram as read: count and sum of each bucket.
type Line = [(u64, u64); LINE_BUCKETS];

/// A histogram as read, with the durations that were counted in each line.
type Contents = [(u64, Line); LINES];

/// Programs in the kernel and the memory that they share with this process. Dropping it detaches them.
pub struct Tracer {
    accounts: Arc<Mapped>,
    events: Option<Events>,
    attachment: Attachment,
    /// Better ways to attach them, and why they are not taken.
    refused: Vec<(Attachment, TraceError)>,
    queueing: Queueing,
    /// Places of accounts are given to others, unless records wait that have their numbers.
    may_recycle: bool,
    histograms: Mapped,
    slots: Mapped,
    shared: Mapped,
    cpus: usize,
    histograms_per_cpu: usize,
    /// Readings in a row that found nothing new, of each account.
    idle: Vec<u32>,
    /// Accounts whose places were taken back.
    recycled: u64,
    /// Contents of each histogram at the reading before, by CPU and number.
    before: BTreeMap<(usize, u32), Box<Contents>>,
    /// What is not measured, with the reasons.
    missing: BTreeMap<&'static str, String>,
    _attached: Vec<OwnedFd>,
}

impl Tracer {
    /// Loads and attaches the programs, in the best way that the kernel permits or in the one that is wanted; with
    /// `wants_events` they tell of each event too.
    ///
    /// # Errors
    /// The kernel does not permit it, or lacks what the trace of the scheduler needs. Of the rest, what it lacks is
    /// said by [`Tracer::missing`].
    pub fn open(
        owner: Owner,
        wants_events: bool,
        attachment: Option<Attachment>,
    ) -> Result<Tracer, TraceError> {
        let queueing = if has_scheduler_times() { Queueing::Scheduler } else { Queueing::WakeUps };
        let mut refused = Vec::new();
        for way in Attachment::ALL.into_iter().filter(|way| attachment.is_none_or(|wanted| wanted == *way)) {
            match Tracer::open_in(Way { owner, wants_events, attachment: way, queueing, sees_calls: true }) {
                Ok(tracer) => return Ok(Tracer { refused, ..tracer }),
                Err(error) => refused.push((way, error)),
            }
        }
        Err(TraceError::of_all(refused))
    }

    /// In one way; where the verifier refuses to show programs the registers of tasks, without them.
    fn open_in(way: Way) -> Result<Tracer, TraceError> {
        let kernel = way.attachment.kernel(way.wants_events)?;
        match Tracer::open_by(&kernel, way) {
            Err(error @ TraceError::Refused { .. }) if way.attachment.reads_structures() => {
                Tracer::open_by(&kernel, Way { sees_calls: false, ..way }).map_err(|_| error)
            }
            outcome => outcome,
        }
    }

    fn open_by(kernel: &Kernel, mut way: Way) -> Result<Tracer, TraceError> {
        let Way { wants_events, attachment, sees_calls, .. } = way;
        if !attachment.reads_structures() {
            if way.owner == Owner::Session {
                let detail = "fields of tracepoints do not tell the session of a task".to_owned();
                return Err(TraceError::Unknown { detail });
            }
            way.queueing = Queueing::WakeUps;
        }
        let queueing = way.queueing;
        let cpus = possible_cpus();
        let histograms_per_cpu = (MEMORY_MAX / HISTOGRAM_BYTES / cpus).clamp(HISTOGRAMS.1, HISTOGRAMS.0);
        let all = cpus * histograms_per_cpu;
        let mut loaded = way.load(kernel, cpus, histograms_per_cpu)?;
        if let Some(tasks) = loaded.maps.get("tasks").filter(|_| !attachment.reads_structures()) {
            noted::note(tasks.as_fd()).map_err(TraceError::of_call("note the processes that there are"))?;
        }
        // The memory before the programs: what cannot be read is not counted either.
        let mut map = |name: &str, bytes: usize, is_writable: bool| {
            let map = loaded.maps.remove(name);
            let map = map.ok_or_else(|| TraceError::Damaged { detail: format!("no table {name}") })?;
            Mapped::new(map, bytes, is_writable)
                .map_err(TraceError::of_call("map the tables of the programs"))
        };
        let accounts = Arc::new(map("accounts", ACCOUNTS * ACCOUNT_BYTES, true)?);
        let histograms = map("histograms", all * HISTOGRAM_BYTES, false)?;
        let slots = map("slots", histograms_per_cpu * SLOT_BYTES, true)?;
        let shared = map("shared", SHARED_BYTES, true)?;
        // Number 0 stands for none.
        for slot in 1..histograms_per_cpu {
            slots.put_u64((slot - 1) * SLOT_BYTES, slot as u64);
        }
        shared.put_u64(SLOTS_GIVEN, histograms_per_cpu as u64 - 1);
        let events = match wants_events {
            true => {
                let records = map("records", cpus * RING * RECORD_BYTES, false)?;
                let rings = map("rings", cpus * RING_BYTES, true)?;
                Some(Events::new(Arc::clone(&accounts), records, rings, cpus))
            }
            false => None,
        };
        let (attached, missing) = attachment.attach(&loaded, kernel, wants_events, queueing, sees_calls)?;
        shared.put_u64(BEGUN, 1);
        Ok(Tracer {
            accounts,
            attachment,
            refused: Vec::new(),
            queueing,
            may_recycle: !wants_events,
            events,
            histograms,
            slots,
            shared,
            cpus,
            histograms_per_cpu,
            idle: vec![0; ACCOUNTS],
            recycled: 0,
            before: BTreeMap::new(),
            missing,
            _attached: attached,
        })
    }

    /// The reader of the events, for a thread of its own; `None` if none are wanted, or the second time.
    pub fn take_events(&mut self) -> Option<Events> {
        self.events.take()
    }

    /// How the programs are attached.
    pub fn attachment(&self) -> Attachment {
        self.attachment
    }

    /// Better ways to attach them that were tried, and why they are not possible here.
    pub fn refused(&self) -> &[(Attachment, TraceError)] {
        &self.refused
    }

    /// How it is known when a task was queued.
    pub fn queueing(&self) -> Queueing {
        self.queueing
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

    /// Accounts that were given up so far, since nothing happened for their users and programs, and room was scarce.
    pub fn recycled(&self) -> u64 {
        self.recycled
    }

    /// State of the account at a place, with its number above.
    fn state(&self, number: usize) -> u32 {
        self.accounts.u32(number * ACCOUNT_BYTES + STATE)
    }

    /// Accounts that are open, with their numbers; number 0 is that of those who found no room.
    pub fn accounts(&self) -> impl Iterator<Item = (u16, Account)> {
        let is_open = |number: usize| {
            number == 0 || matches!(self.state(number) % ACCOUNT_STATES, ACCOUNT_READY | ACCOUNT_RETIRED)
        };
        let open = (0..ACCOUNTS).filter(move |number| is_open(*number));
        open.map(|number| (number as u16, Account::read(&self.accounts, number)))
    }

    /// Durations that ended since the reading before, by owner, program, quantity, reason and bucket.
    pub fn read(&mut self) -> Vec<Latency> {
        let mut latencies = Vec::new();
        let accounts: Vec<_> = self.accounts().collect();
        for (number, account) in &accounts {
            let number = usize::from(*number);
            let before = latencies.len();
            let is_whole = self.read_account(number, *account, &mut latencies);
            let idle = self.idle[number];
            self.idle[number] = if latencies.len() > before { 0 } else { idle.saturating_add(1) };
            // Since the reading before no program has found it, so that this one was its last.
            if is_whole && self.state(number) % ACCOUNT_STATES == ACCOUNT_RETIRED {
                self.release(number);
            }
        }
        if self.may_recycle {
            self.retire(&accounts);
        }
        latencies
    }

    /// Adds what an account has gained; false if some of it has to wait for the next reading.
    fn read_account(&mut self, number: usize, of: Account, latencies: &mut Vec<Latency>) -> bool {
        let mut is_whole = true;
        for number_of_kind in 0..KINDS {
            let slot = self.accounts.u32(number * ACCOUNT_BYTES + SLOTS + 4 * number_of_kind);
            if slot == 0 || slot as usize >= self.histograms_per_cpu {
                continue;
            }
            let (quantity, reason) = kind(number_of_kind);
            let (grown, is_all) = self.grown(slot);
            is_whole &= is_all;
            for (bucket, (count, total_ns)) in grown.into_iter().enumerate() {
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
        is_whole
    }

    /// Where room is scarce, closes the accounts for which nothing has happened for longest: programs that find their
    /// tasks open new ones.
    fn retire(&mut self, accounts: &[(u16, Account)]) {
        let free = ACCOUNTS - accounts.len();
        let taken = self.shared.u64(SLOTS_TAKEN);
        let slots = self.shared.u64(SLOTS_GIVEN).saturating_sub(taken) as usize;
        if free >= ACCOUNTS / SCARCE && slots >= self.histograms_per_cpu / SCARCE {
            return;
        }
        let numbers = accounts.iter().map(|(number, _)| usize::from(*number));
        let is_ready = |number: &usize| self.state(*number) % ACCOUNT_STATES == ACCOUNT_READY;
        let mut idle: Vec<_> = numbers.filter(|number| self.idle[*number] > 0).filter(is_ready).collect();
        idle.sort_by_key(|number| std::cmp::Reverse(self.idle[*number]));
        for number in idle.into_iter().take(ACCOUNTS / SCARCE) {
            let ready = self.state(number);
            let retired = ready - ACCOUNT_READY + ACCOUNT_RETIRED;
            self.accounts.replace_u32(number * ACCOUNT_BYTES + STATE, ready, retired);
        }
    }

    /// Gives the place of a closed account, and its histograms, to whoever comes next.
    fn release(&mut self, number: usize) {
        let at = number * ACCOUNT_BYTES;
        for kind in 0..KINDS {
            let place = at + SLOTS + 4 * kind;
            let slot = self.accounts.u32(place);
            if slot != 0 && self.accounts.replace_u32(place, slot, 0) {
                let given = self.shared.u64(SLOTS_GIVEN);
                let free = given as usize % self.histograms_per_cpu;
                self.slots.put_u64(free * SLOT_BYTES, u64::from(slot));
                self.shared.put_u64(SLOTS_GIVEN, given + 1);
            }
        }
        let retired = self.state(number);
        let free = retired - ACCOUNT_RETIRED + ACCOUNT_FREE;
        self.accounts.replace_u32(at + STATE, retired, free.wrapping_add(ACCOUNT_STATES));
        self.idle[number] = 0;
        self.recycled += 1;
    }

    /// What a histogram has gained since the reading before, all CPUs together, by bucket; false if a part of it could not
    /// be read.
    fn grown(&mut self, slot: u32) -> ([(u64, u64); BUCKETS], bool) {
        let mut is_all = true;
        let mut grown = [(0, 0); BUCKETS];
        for cpu in 0..self.cpus {
            let at = (cpu * self.histograms_per_cpu + slot as usize) * HISTOGRAM_BYTES;
            for line in 0..LINES {
                let at = at + line * LINE_BYTES;
                let done = self.histograms.u64(at);
                let known = self.before.get(&(cpu, slot)).map_or(0, |before| before[line].0);
                if done == known {
                    continue;
                }
                // One that is written to at each attempt is read at the next sample: nothing is lost.
                let Some(now) = (0..ATTEMPTS).find_map(|_| self.whole(at)) else {
                    is_all = false;
                    continue;
                };
                let before = self.before.entry((cpu, slot)).or_default();
                let buckets = &mut grown[line * LINE_BUCKETS..];
                for ((sum, now), before) in buckets.iter_mut().zip(now.1).zip(before[line].1) {
                    sum.0 += now.0 - before.0;
                    sum.1 += now.1 - before.1;
                }
                before[line] = now;
            }
        }
        (grown, is_all)
    }

    /// A line of a histogram that no program wrote to while it was read.
    fn whole(&self, at: usize) -> Option<(u64, Line)> {
        let done = self.histograms.u64(at);
        let line: Line = std::array::from_fn(|bucket| {
            let at = at + 8 + 16 * bucket;
            (self.histograms.u64(at), self.histograms.u64(at + 8))
        });
        let counted = line.iter().fold(0, |sum: u64, (count, _)| sum.wrapping_add(*count));
        (counted == done && self.histograms.u64(at) == done).then_some((done, line))
    }
}

/// True if the scheduler keeps times of queueing: older kernels do only where somebody asked for it. Then this process has
/// a number of slices.
fn has_scheduler_times() -> bool {
    let counts = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    counts.split_whitespace().nth(2).is_some_and(|slices| slices != "0")
}

/// Numbers of CPUs that this machine can have.
fn possible_cpus() -> usize {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_default();
    let last = text.trim().rsplit([',', '-']).next().and_then(|number| number.parse::<usize>().ok());
    last.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), |last| last + 1)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const SLEEPS: u64 = 200;
    const SLEEP: Duration = Duration::from_millis(1);

    /// Count and sum [ns] of this program's durations by quantity and reason.
    fn of_this_program(latencies: &[Latency]) -> BTreeMap<(&'static str, &'static str), (u64, u64)> {
        let mut name = [0; 16];
        let own = std::fs::read_to_string("/proc/self/comm").unwrap();
        name[..own.trim_end().len()].copy_from_slice(own.trim_end().as_bytes());
        let mut sums = BTreeMap::new();
        for latency in latencies.iter().filter(|latency| latency.account.name == name) {
            let sum: &mut (u64, u64) = sums.entry((latency.quantity, latency.reason)).or_default();
            *sum = (sum.0 + latency.count, sum.1 + latency.total_ns);
        }
        sums
    }

    /// What older kernels need: programs at wake-ups, and none that sees system calls.
    #[test]
    fn the_kernel_accepts_every_form_of_the_programs() {
        let kernel = match Attachment::TpBtf.kernel(true) {
            Ok(kernel) => kernel,
            Err(error) => return eprintln!("cannot trace here: {error}"),
        };
        let owner = Owner::Session;
        for attachment in [Attachment::TpBtf, Attachment::RawTracepoint] {
            for queueing in [Queueing::Scheduler, Queueing::WakeUps] {
                for sees_calls in [true, false] {
                    let way = Way { owner, wants_events: true, attachment, queueing, sees_calls };
                    match Tracer::open_by(&kernel, way) {
                        Ok(tracer) => {
                            assert_eq!(tracer.missing.contains_key("wait by system call"), !sees_calls)
                        }
                        Err(TraceError::NotPermitted { .. }) => return eprintln!("may not trace here"),
                        Err(error) => panic!("{attachment:?}, {queueing:?}, {sees_calls}: {error}"),
                    }
                }
            }
        }
    }

    /// Two tracers at once, each with its own way to know when a task was queued, of the same sleeps.
    #[test]
    fn both_ways_to_know_when_a_task_was_queued_agree() {
        let open = |queueing, sees_calls| {
            let attachment = Attachment::TpBtf;
            let way = Way { owner: Owner::User, wants_events: false, attachment, queueing, sees_calls };
            Tracer::open_in(way)
        };
        let (mut one, mut other) = match (open(Queueing::Scheduler, true), open(Queueing::WakeUps, true)) {
            (Ok(one), Ok(other)) => (one, other),
            // The tests of the recorder say whether it is permitted where it has to be.
            (Err(error), _) | (_, Err(error)) => return eprintln!("cannot trace here: {error}"),
        };
        // Each CPU has to be seen once, and each task.
        for _ in 0..SLEEPS {
            std::thread::sleep(SLEEP);
        }
        let before = [one.losses().unseen, other.losses().unseen];
        drop(one.read());
        drop(other.read());
        for _ in 0..SLEEPS {
            std::thread::sleep(SLEEP);
        }
        let found = [of_this_program(&one.read()), of_this_program(&other.read())];
        // A switch of which the kernel does not tell may be one of this thread.
        let unseen = one.losses().unseen - before[0] + other.losses().unseen - before[1];
        let waits = found.each_ref().map(|sums| sums[&("wait", "timer")]);
        let queued = found.each_ref().map(|sums| sums[&("run_queue_wait", "woken")]);
        for (count, total_ns) in waits {
            assert!(
                count + unseen >= SLEEPS && total_ns >= (count - 1) * SLEEP.as_nanos() as u64,
                "{found:?}"
            );
        }
        assert!(waits[0].0.abs_diff(waits[1].0) <= 1 + unseen, "{found:?}, {unseen} unseen");
        // Both see the same two instants of each absence, and a third one in between within microseconds: what was
        // queued and what waited are together the same.
        if unseen == 0 && waits[0].0 == waits[1].0 && queued[0].0 == queued[1].0 {
            let away = [waits[0].1 + queued[0].1, waits[1].1 + queued[1].1];
            assert!(away[0].abs_diff(away[1]) <= away[0] / 20, "{found:?}");
        }
    }
}
