//! DUSETIMR: CP's counters, and what is read of them from the operator's virtual machine (Tables 1 and 2).

use thinktime_engine::{Span, Time};
use thinktime_log::{Column, Kind, Role, Type, Value};

/// Counters of CP from start-up on (Tables 1 and 2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counters {
    /// CPU time in problem state [ns].
    pub problem: u64,
    /// CPU time in supervisor state, dispatch included [ns].
    pub cp: u64,
    /// CP time charged to no user: the dispatcher's [ns].
    pub dispatch: u64,
    /// CPU time in wait state [ns].
    pub wait: u64,
    /// SIO instructions of users to virtual selector channels.
    pub vsio: u64,
    /// SIO instructions of users to virtual multiplexer channels.
    pub vmio: u64,
    /// SIO instructions of CP for spooling.
    pub spool_ios: u64,
    /// Pages read in.
    pub page_ins: u64,
    /// Pages written out.
    pub page_outs: u64,
    /// Pages of users in the queues that were overwritten.
    pub page_steals: u64,
    /// Calls of FREE, and as many of FRET.
    pub calls: u64,
    /// CPU time in FREE [ns].
    pub free: u64,
    /// CPU time in FRET [ns].
    pub fret: u64,
}

impl Counters {
    /// Pages moved, in and out.
    pub fn page_ios(&self) -> u64 {
        self.page_ins + self.page_outs
    }

    /// Increments after `earlier`.
    fn since(&self, earlier: &Counters) -> Counters {
        Counters {
            problem: self.problem - earlier.problem,
            cp: self.cp - earlier.cp,
            dispatch: self.dispatch - earlier.dispatch,
            wait: self.wait - earlier.wait,
            vsio: self.vsio - earlier.vsio,
            vmio: self.vmio - earlier.vmio,
            spool_ios: self.spool_ios - earlier.spool_ios,
            page_ins: self.page_ins - earlier.page_ins,
            page_outs: self.page_outs - earlier.page_outs,
            page_steals: self.page_steals - earlier.page_steals,
            calls: self.calls - earlier.calls,
            free: self.free - earlier.free,
            fret: self.fret - earlier.fret,
        }
    }
}

/// State that a reading finds, in addition to the counters.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SystemState {
    /// Users signed on.
    pub signed_on: u64,
    /// Users whose problem state time grew in the interval.
    pub active: u64,
    /// Whether the new FREE and FRET are in force.
    pub new_free_fret: bool,
}

/// Difference of two readings of one system run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observation {
    /// Time of the first of them.
    pub start: Time,
    /// Time between them.
    pub length: Span,
    amounts: Counters,
}

impl Observation {
    /// Values of a row of `samples`, in the order of [`sample_columns`].
    pub fn row(&self, state: SystemState) -> Vec<Value> {
        let seconds = |ns: u64| Value::F64(Span(ns).seconds());
        let amounts = &self.amounts;
        vec![
            seconds(amounts.problem),
            seconds(amounts.cp),
            seconds(amounts.wait),
            seconds(amounts.dispatch),
            Value::U64(amounts.vsio),
            Value::U64(amounts.vmio),
            // RIO: all requests that CP itself originates.
            Value::U64(amounts.page_ios() + amounts.spool_ios),
            Value::U64(amounts.page_ins),
            Value::U64(amounts.page_outs),
            Value::U64(amounts.page_steals),
            Value::U64(amounts.page_ios()),
            Value::U64(amounts.spool_ios),
            Value::U64(amounts.calls),
            Value::U64(amounts.calls),
            seconds(amounts.free),
            seconds(amounts.fret),
            Value::U64(state.signed_on),
            Value::U64(state.active),
            Value::U64(u64::from(state.new_free_fret)),
        ]
    }
}

/// The readings of one system run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Readings {
    /// Time and counters of the last reading of this run.
    last: Option<(Time, Counters)>,
    /// Observations of all runs.
    pub observations: u64,
}

impl Readings {
    /// Reads `counters`; the first reading of a system run gives no observation.
    pub fn read(&mut self, now: Time, counters: Counters) -> Option<Observation> {
        // An observation is a difference, so that what one reading finds is the start of the next.
        let (start, earlier) = self.last.replace((now, counters))?;
        self.observations += 1;
        Some(Observation { start, length: now.since(start), amounts: counters.since(&earlier) })
    }

    /// True if an interval had begun, which is lost: the counters begin anew.
    pub fn restart(&mut self) -> bool {
        self.last.take().is_some()
    }
}

/// Columns of `samples`, in the order of [`Observation::row`].
pub(super) fn sample_columns() -> Vec<Column> {
    let seconds = |name: &str, what: &str| Column::new(name, Type::F64, "s", Kind::Counter, what);
    let count = |name: &str, unit: &str, what: &str| Column::new(name, Type::U64, unit, Kind::Counter, what);
    let gauge = |name: &str, unit: &str, what: &str| Column::new(name, Type::U64, unit, Kind::Gauge, what);
    vec![
        seconds("problem_s", "CPU time in problem state").role(Role::UserTime),
        seconds("cp_s", "CPU time in supervisor state, including dispatch").role(Role::SystemTime),
        seconds("wait_s", "CPU time in wait state").role(Role::IdleTime),
        seconds("dispatch_s", "CP time charged to no user: the dispatcher's, part of cp_s"),
        count("vsio", "request", "SIO instructions issued by users to virtual selector channels")
            .role(Role::Request),
        count("vmio", "request", "SIO instructions issued by users to virtual multiplexer channels")
            .role(Role::Request),
        count("rio", "request", "SIO instructions to disks or drums originated by CP: paging and spooling"),
        count("page_ins", "page", "Pages read in"),
        count("page_outs", "page", "Pages swapped out"),
        count("page_steals", "page", "Pages of users in the queues that were overwritten by incoming pages"),
        count("page_ios", "page", "Pages read in and swapped out").role(Role::Request),
        count("spool_ios", "request", "SIO instructions originated by CP, less page I/O").role(Role::Request),
        count("free_calls", "call", "Calls of FREE"),
        count("fret_calls", "call", "Calls of FRET"),
        seconds("free_s", "CPU time in FREE"),
        seconds("fret_s", "CPU time in FRET"),
        gauge("users_signed_on", "user", "Users signed on at the moment of the reading"),
        gauge("active_users", "user", "Users signed on whose problem state time grew in the interval")
            .role(Role::Load),
        gauge("free_fret_new", "", "1 where the new FREE and FRET were in force, 0 with the old ones"),
    ]
}
