//! The system's meters: `ttm`, the total time meters, and the daily performance measurement of the script.

use thinktime_engine::Span;
use thinktime_log::{Column, Kind, Role, Type, Value};

use super::events::{EVENTS, Event};
use super::users::Charged;

/// Counts of the meters since the system came up. Times are those of all processors together [ns].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Meters {
    /// Time in user programs.
    pub useful: u64,
    /// Time without a process that could run.
    pub idle: u64,
    /// Events, by kind.
    pub events: [u64; EVENTS],
    /// Time of their paths, waiting for locks included.
    pub time: [u64; EVENTS],
    /// Part of that time for which a processor waited for a lock.
    pub lock_wait: u64,
    /// Time lost because both processors were active.
    pub interference: u64,
    /// Interactions answered, of all users.
    pub interactions: u64,
    /// Those of the users that play the script.
    pub script_interactions: u64,
    /// Charges of these.
    pub script: Charged,
}

impl Meters {
    /// Increments after `earlier`.
    pub fn since(&self, earlier: &Meters) -> Meters {
        let less =
            |now: &[u64; EVENTS], then: &[u64; EVENTS]| std::array::from_fn(|event| now[event] - then[event]);
        Meters {
            useful: self.useful - earlier.useful,
            idle: self.idle - earlier.idle,
            events: less(&self.events, &earlier.events),
            time: less(&self.time, &earlier.time),
            lock_wait: self.lock_wait - earlier.lock_wait,
            interference: self.interference - earlier.interference,
            interactions: self.interactions - earlier.interactions,
            script_interactions: self.script_interactions - earlier.script_interactions,
            script: self.script.since(&earlier.script),
        }
    }

    /// Time of all processors that was metered.
    pub fn all(&self) -> u64 {
        // Lock waits and interference are parts of these, and are not added again.
        self.useful + self.idle + self.time.iter().sum::<u64>()
    }
}

/// State that a sample finds, in addition to the meters.
#[derive(Clone, Copy, Debug)]
pub(super) struct SystemState {
    /// Users logged in.
    pub users: u64,
    /// Users at work at some time in the interval.
    pub active: u64,
    /// Mean number of eligible processes.
    pub eligible_mean: f64,
}

/// A row of `samples`, in the order of [`columns`].
pub(super) fn row(amounts: &Meters, state: SystemState) -> Vec<Value> {
    let seconds = |ns: u64| Value::F64(Span(ns).seconds());
    let mut row = vec![seconds(amounts.useful), seconds(amounts.idle)];
    for event in Event::ALL {
        row.push(Value::U64(amounts.events[event as usize]));
        row.push(seconds(amounts.time[event as usize]));
    }
    row.extend([
        seconds(amounts.lock_wait),
        Value::U64(amounts.interactions),
        Value::U64(amounts.script_interactions),
        seconds(amounts.script.run),
        seconds(amounts.script.page_fault),
        seconds(amounts.script.other_fault),
        Value::U64(amounts.script.page_faults),
        Value::U64(state.users),
        Value::U64(state.active),
        Value::F64(state.eligible_mean),
    ]);
    row
}

fn seconds(name: &str, what: &str) -> Column {
    Column::new(name, Type::F64, "s", Kind::Counter, what)
}

fn count(name: &str, unit: &str, what: &str) -> Column {
    Column::new(name, Type::U64, unit, Kind::Counter, what)
}

/// Columns of `samples`.
pub(super) fn columns() -> Vec<Column> {
    let mut columns = vec![
        seconds("useful_s", "Processor time in user programs").role(Role::UserTime),
        seconds("idle_s", "Processor time for which no eligible process could run").role(Role::IdleTime),
    ];
    for event in Event::ALL {
        let (name, words) = (event.name(), event.words());
        columns.push(
            count(&format!("{name}s"), "event", &format!("Events of the kind {words}")).role(Role::Request),
        );
        let what = format!("Processor time for the events of the kind {words}, waiting for locks included");
        columns.push(seconds(&format!("{name}_s"), &what).role(Role::SystemTime));
    }
    columns.extend([
        seconds("lock_wait_s", "Share of the events' time for which a processor waited for a lock"),
        count("interactions", "interaction", "Interactions that were answered").role(Role::Throughput),
        count("script_interactions", "interaction", "Of these, by users that play the script"),
        seconds("script_run_s", "Time in user programs of those interactions"),
        seconds("script_page_fault_s", "Processor time for page faults of those interactions"),
        seconds("script_other_fault_s", "Processor time for segment and gate faults of those interactions"),
        count("script_page_faults", "event", "Page faults of those interactions"),
        Column::new("users", Type::U64, "user", Kind::Gauge, "Users logged in"),
        Column::new(
            "active_users",
            Type::U64,
            "user",
            Kind::Gauge,
            "Users with an interaction in progress at some time in the interval",
        )
        .role(Role::Load),
        Column::new(
            "eligible_mean",
            Type::F64,
            "process",
            Kind::Gauge,
            "Mean number of eligible processes in the interval",
        ),
    ]);
    columns
}
