//! The meters: counters that the kernel keeps, and what the clock's interrupt finds 60 times a second.

use thinktime_engine::controller::Done;
use thinktime_engine::{Balance, Batches, LawViolation, Laws, Level, Span, Tally, Time};
use thinktime_log::{Column, Kind, Role, Type, Value};

use super::process::Running;
use super::states::Mode;

/// Drives that can be metered.
pub(super) const DRIVES: usize = 2;
/// Lengths of the controller's queue that are counted apart; the last one is "or more".
pub(super) const QUEUE_LENGTHS: usize = 16;
/// States of the processor: user, system, idle.
pub(super) const MODES: [&str; 3] = ["user", "system", "idle"];
/// States of the drives: one bit per drive.
pub(super) const DRIVE_STATES: [&str; 4] = ["none", "drive0", "drive1", "both"];

/// State that a clock interrupt finds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observed {
    /// Mode of the current process; none: the processor idles.
    pub mode: Option<Mode>,
    /// Whether each drive is busy.
    pub drives: [bool; DRIVES],
    /// Requests at the controller, those in service included.
    pub queue: u64,
}

/// Direction of a swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    In,
    Out,
}

/// Purpose of a disk request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// A block of a file.
    File,
    /// An image or a text.
    Swap,
    /// A page, with paging.
    Page,
}

/// Counted events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Blocks read while a process waited.
    pub block_reads: u64,
    /// Blocks read in advance.
    pub read_aheads: u64,
    /// Blocks found in a buffer.
    pub cache_hits: u64,
    /// Blocks written.
    pub block_writes: u64,
    /// Images read from the swap area.
    pub swap_ins: u64,
    /// Images written to the swap area, those of `fork` included.
    pub swap_outs: u64,
    /// Length of these images together [click].
    swapped_clicks: u64,
    /// Pure texts read from the swap area.
    pub text_loads: u64,
    /// With paging: pages read.
    pub page_faults: u64,
    /// With paging: modified pages written to make room.
    pub page_outs: u64,
    /// Characters taken by the terminal.
    pub characters_out: u64,
    /// Interactions completed.
    pub interactions: u64,
}

/// Requests done by one drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Transferred {
    /// Requests done.
    pub requests: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// Requests before which the arm moved.
    pub seeks: u64,
    /// Time of start, seek and latency [ns].
    access: u128,
    /// Time of transfers [ns].
    pub transfer: u128,
}

/// Sums since statistics began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    /// Counted events.
    pub counts: Counts,
    /// By drive.
    pub drives: [Transferred; DRIVES],
    /// Processor time in user mode [ns].
    pub user: u128,
    /// Processor time in system mode [ns].
    pub system: u128,
    /// Part of it outside processes: in process 0, which swaps, and on whose stack the next process is searched for
    /// [ns].
    pub outside: u128,
    /// Clock interrupts by state of the processor ([`MODES`]) and of the drives ([`DRIVE_STATES`]).
    pub ticks: [[u64; DRIVE_STATES.len()]; MODES.len()],
    /// Clock interrupts by length of the controller's queue.
    pub queue: [u64; QUEUE_LENGTHS],
}

/// Instruments read when a sample is taken.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Readings {
    /// Time that each drive was busy since statistics began [ns].
    pub drives_busy: [u128; DRIVES],
    /// Processes ready, in memory or not.
    pub ready: u64,
    /// Processes in memory.
    pub loaded: u64,
    /// Free user memory [click].
    pub memory_free: u64,
    /// Free swap area [block].
    pub swap_free: u64,
    /// Workers that had processor time in user mode since the last sample.
    pub active_users: u64,
}

/// Everything that is measured as a run goes.
#[derive(Debug)]
pub(super) struct Meters {
    /// When statistics began.
    pub since: Time,
    /// Sums since then.
    pub totals: Totals,
    /// 1 while the processor idles.
    idle: Level,
    /// Workers in memory.
    pub loaded: Level,
    /// Interactions in progress.
    pub interactions: Balance,
    /// Response times.
    pub responses: Tally,
    /// Think times before the completed interactions.
    pub thinks: Tally,
    /// Processor time of interactions that ended [ns].
    pub service: u128,
    /// The series of the response times.
    pub batches: Batches,
    /// Access and transfer times of blocks of files, without waiting.
    pub block_times: Tally,
    /// The same of swaps.
    pub swap_times: Tally,
    /// The same of pages.
    pub page_times: Tally,
    /// Times that ready processes had been out of memory when they came in.
    pub waits: Tally,
    /// From the start of the system to the end of the last worker.
    pub elapsed: Option<Span>,
    /// Totals at the last sample.
    sampled: Totals,
    /// Busy time of each drive at the last sample [ns].
    drives_busy_sampled: [u128; DRIVES],
}

impl Meters {
    pub fn new() -> Meters {
        let mut idle = Level::default();
        // The processor is idle until it is first taken.
        idle.set(Time::ZERO, 1);
        Meters {
            since: Time::ZERO,
            totals: Totals::default(),
            idle,
            loaded: Level::default(),
            interactions: Balance::default(),
            responses: Tally::default(),
            thinks: Tally::default(),
            service: 0,
            batches: Batches::default(),
            block_times: Tally::default(),
            swap_times: Tally::default(),
            page_times: Tally::default(),
            waits: Tally::default(),
            elapsed: None,
            sampled: Totals::default(),
            drives_busy_sampled: [0; DRIVES],
        }
    }

    /// The processor turns from idling to a process.
    pub fn processor_taken(&mut self, now: Time) {
        self.idle.set(now, 0);
    }

    /// The processor is given up.
    pub fn processor_idle(&mut self, now: Time) {
        self.idle.set(now, 1);
    }

    /// Adds processor time that a process has had.
    pub fn charge_mode(&mut self, mode: Mode, time: Span) {
        let sum = match mode {
            Mode::User => &mut self.totals.user,
            Mode::System => &mut self.totals.system,
        };
        *sum += u128::from(time.0);
    }

    /// Adds processor time of the kernel outside processes.
    pub fn charge_outside(&mut self, time: Span) {
        self.charge_mode(Mode::System, time);
        self.totals.outside += u128::from(time.0);
    }

    /// Counts what a clock interrupt finds.
    pub fn tick(&mut self, observed: &Observed) {
        let mode = match observed.mode {
            Some(Mode::User) => 0,
            Some(Mode::System) => 1,
            None => 2,
        };
        // The bits of DRIVE_STATES: their order is the order of the columns.
        let drives = usize::from(observed.drives[0]) + 2 * usize::from(observed.drives[1]);
        self.totals.ticks[mode][drives] += 1;
        // The last cell holds all longer queues.
        self.totals.queue[(observed.queue as usize).min(QUEUE_LENGTHS - 1)] += 1;
    }

    /// Counts a disk request that is done.
    pub fn transferred(&mut self, done: &Done, bytes: u64, whose: Whose) {
        let drive = &mut self.totals.drives[done.drive as usize];
        drive.requests += 1;
        drive.bytes += bytes;
        drive.seeks += u64::from(done.seek > Span::ZERO);
        drive.access += u128::from(done.access.0);
        drive.transfer += u128::from(done.transfer.0);
        let times = match whose {
            Whose::File => &mut self.block_times,
            Whose::Swap => &mut self.swap_times,
            Whose::Page => &mut self.page_times,
        };
        times.record(done.access + done.transfer);
    }

    /// Counts an image that was swapped.
    pub fn swapped(&mut self, clicks: u64, direction: Direction) {
        let counts = &mut self.totals.counts;
        counts.swapped_clicks += clicks;
        match direction {
            Direction::In => counts.swap_ins += 1,
            Direction::Out => counts.swap_outs += 1,
        }
    }

    /// Records an interaction that is complete.
    pub fn interaction_ends(&mut self, ended: &Running, now: Time) {
        self.interactions.leave(now, ended.arrived);
        self.totals.counts.interactions += 1;
        let response = now.since(ended.arrived);
        self.responses.record(response);
        // The series by which MSER-5 finds the end of the warm-up.
        self.batches.record(now, response);
        self.thinks.record(ended.think);
        self.service += u128::from(ended.service.0);
    }

    /// Little's law for interactions, of which those in progress began at `begun`; and time adds up.
    pub fn check(
        &self,
        now: Time,
        begun: impl Iterator<Item = Time>,
        laws: &mut Laws,
    ) -> Result<(), LawViolation> {
        self.interactions.check("interactions", now, begun, laws)?;
        let length = u128::from(now.since(self.since).0);
        let all = self.totals.user + self.totals.system + self.idle.area(now);
        laws.equal("time adds up", "processor", all, length)
    }

    /// Statistics begin anew; what is in progress stays.
    pub fn restart(&mut self, now: Time) {
        let mut fresh = Meters::new();
        fresh.since = now;
        // Levels and those present go on; only what was counted begins anew.
        (fresh.idle, fresh.loaded) = (self.idle, self.loaded);
        fresh.idle.restart(now);
        fresh.loaded.restart(now);
        fresh.interactions = self.interactions;
        fresh.interactions.restart(now);
        *self = fresh;
    }
}

/// Columns of the log's `samples`, after start and length.
pub(super) fn sample_columns() -> Vec<Column> {
    let seconds = |name: &str, what: &str| Column::new(name, Type::F64, "s", Kind::Counter, what);
    let mut columns = vec![
        seconds("user_s", "Processor time in user mode").role(Role::UserTime),
        seconds("system_s", "Processor time in system mode").role(Role::SystemTime),
        seconds("idle_s", "Unused processor time").role(Role::IdleTime),
    ];
    columns.extend(COUNTERS.iter().map(|(name, unit, role, what, _)| {
        let column = Column::new(name, Type::U64, unit, Kind::Counter, what);
        role.map_or(column.clone(), |role| column.role(role))
    }));
    for drive in 0..DRIVES {
        let count = |name: &str, unit: &str, what: &str| {
            let what = format!("{what}, drive {drive}");
            Column::new(&format!("drive{drive}_{name}"), Type::U64, unit, Kind::Counter, &what)
        };
        let time = |name: &str, what: &str| {
            seconds(&format!("drive{drive}_{name}_s"), &format!("{what}, drive {drive}"))
        };
        columns.extend([
            count("requests", "request", "Requests done"),
            count("bytes", "byte", "Bytes transferred"),
            count("seeks", "seek", "Requests before which the arm moved"),
            time("access", "Start, seek and latency of requests done"),
            time("transfer", "Transfer of requests done"),
            time("busy", "Time in which the drive was busy"),
        ]);
    }
    columns.extend(tick_columns());
    let gauge = |name: &str, unit: &str, what: &str| Column::new(name, Type::U64, unit, Kind::Gauge, what);
    columns.extend([
        gauge("processes_ready", "process", "Processes that wanted the processor"),
        gauge("processes_loaded", "process", "Processes in memory"),
        gauge("memory_free_clicks", "click", "Free user memory"),
        gauge("swap_free_blocks", "block", "Free swap area"),
        gauge("active_users", "user", "Users whose processes had processor time in user mode")
            .role(Role::Load),
    ]);
    columns
}

/// Name, unit, role, description and value of a counted column.
type Counter = (&'static str, &'static str, Option<Role>, &'static str, fn(&Counts) -> u64);

/// Columns of [`Counts`], in the order of the log.
const COUNTERS: [Counter; 13] = [
    ("block_reads", "block", Some(Role::Request), "Blocks read, with a process that waited", |c| {
        c.block_reads
    }),
    ("read_aheads", "block", Some(Role::Request), "Blocks read ahead", |c| c.read_aheads),
    ("cache_hits", "block", None, "Blocks found in the buffer cache", |c| c.cache_hits),
    ("block_writes", "block", Some(Role::Request), "Blocks written", |c| c.block_writes),
    ("swap_ins", "swap", Some(Role::Request), "Images read from the swap area", |c| c.swap_ins),
    ("swap_outs", "swap", Some(Role::Request), "Images written to the swap area", |c| c.swap_outs),
    ("swapped_clicks", "click", None, "Length of those images", |c| c.swapped_clicks),
    ("text_loads", "text", None, "Shared texts read from the swap area", |c| c.text_loads),
    ("page_faults", "page", Some(Role::Request), "Pages read, with paging", |c| c.page_faults),
    ("page_outs", "page", Some(Role::Request), "Modified pages written to make room", |c| c.page_outs),
    ("terminal_in_characters", "character", None, "Characters from the terminal: none are typed", |_| 0),
    ("terminal_out_characters", "character", None, "Characters to the terminal", |c| c.characters_out),
    ("interactions", "interaction", Some(Role::Throughput), "Interactions completed", |c| c.interactions),
];

/// Columns of the clock interrupts by state, and by length of the queue.
fn tick_columns() -> impl Iterator<Item = Column> {
    let count = |name: String, what: &str| Column::new(&name, Type::U64, "tick", Kind::Counter, what);
    let matrix = MODES.iter().flat_map(move |mode| {
        DRIVE_STATES.iter().map(move |drives| {
            count(
                format!("ticks_{mode}_{drives}"),
                "Clock interrupts that found this state of processor and drives",
            )
        })
    });
    let queue = (0..QUEUE_LENGTHS).map(move |length| {
        let or_more = if length + 1 == QUEUE_LENGTHS { " or more" } else { "" };
        let what = format!("Clock interrupts that found {length}{or_more} requests at the controller");
        count(format!("ticks_queue_{length}"), &what)
    });
    std::iter::once(count("ticks".into(), "Clock interrupts")).chain(matrix).chain(queue)
}

impl Meters {
    /// One row of `samples`, of the interval of this length that ends now.
    pub fn sample_row(&mut self, readings: &Readings, length: Span) -> Vec<Value> {
        let (new, old) = (self.totals, std::mem::replace(&mut self.sampled, self.totals));
        let busy_old = std::mem::replace(&mut self.drives_busy_sampled, readings.drives_busy);
        let seconds = |nanoseconds: u128| Value::F64(nanoseconds as f64 * 1e-9);
        let (user, system) = (new.user - old.user, new.system - old.system);
        // As the rest, so that the three add up to the interval exactly.
        let mut row = vec![seconds(user), seconds(system), seconds(u128::from(length.0) - user - system)];
        row.extend(COUNTERS.iter().map(|(.., of)| Value::U64(of(&new.counts) - of(&old.counts))));
        let drives = new.drives.iter().zip(old.drives).zip(readings.drives_busy.iter().zip(busy_old));
        for ((to, from), (busy, busy_old)) in drives {
            row.extend([
                Value::U64(to.requests - from.requests),
                Value::U64(to.bytes - from.bytes),
                Value::U64(to.seeks - from.seeks),
                seconds(to.access - from.access),
                seconds(to.transfer - from.transfer),
                seconds(busy - busy_old),
            ]);
        }
        let flat = |totals: &Totals| {
            let ticks: Vec<u64> = totals.ticks.iter().flatten().copied().collect();
            // Every tick counts in one cell of the queue: their sum is the number of ticks.
            let all = totals.queue.iter().sum();
            std::iter::once(all).chain(ticks).chain(totals.queue).collect::<Vec<u64>>()
        };
        row.extend(flat(&new).iter().zip(flat(&old)).map(|(to, from)| Value::U64(to - from)));
        let Readings { ready, loaded, memory_free, swap_free, active_users, .. } = *readings;
        row.extend([ready, loaded, memory_free, swap_free, active_users].map(Value::U64));
        row
    }
}
