//! The monitor of a simulated system: what it writes into the log.

use std::path::Path;
use std::sync::Arc;

use thinktime_engine::{Span, Time};
use thinktime_log::{
    Column, Incident, Kind, LogError, LogWriter, OpenMode, Row, Session, TableId, TableSchema, Type, Value,
    vocabulary,
};

/// Rows collected before they are written: a block of the log costs a system call, a row should not.
const BLOCK_ROWS: usize = 4096;

/// Receiver of the reports of a machine at work.
///
/// Reports must not change the run: a machine draws no random number and sets no event for its monitor but the next
/// sample, so that a recorded replication is the unrecorded one bit for bit.
pub trait Monitor {
    /// Whether reports are received. With false the compiler removes the reports and what they need.
    const LISTENS: bool;

    /// An interval of `samples` has ended.
    fn sample(&mut self, start: Time, length: Span, values: Vec<Value>);

    /// CPU time of `user` in user state and in the system, in the interval that began at `start`.
    fn user(&mut self, _start: Time, _user: &Arc<str>, _user_time: Span, _system_time: Span) {}

    /// An incident, which the log's manifest counts by kind.
    fn incident(&mut self, _now: Time, _kind: &'static str, _detail: &'static str) {}

    /// An event of `user`, or of the machine where there is none.
    fn event(&mut self, now: Time, kind: &'static str, user: Option<u32>, amount: Option<Amount>);

    /// An interaction has ended, by its completion or by the end of the run.
    fn interaction(&mut self, interaction: &Interaction);
}

/// Receives nothing and costs nothing.
pub struct NullMonitor;

impl Monitor for NullMonitor {
    const LISTENS: bool = false;

    fn sample(&mut self, _: Time, _: Span, _: Vec<Value>) {}
    fn event(&mut self, _: Time, _: &'static str, _: Option<u32>, _: Option<Amount>) {}
    fn interaction(&mut self, _: &Interaction) {}
}

/// Amount of an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amount {
    /// The number.
    pub value: f64,
    /// Symbol or noun, as in the columns of the log.
    pub unit: &'static str,
}

impl Amount {
    /// A length of time.
    pub fn seconds(span: Span) -> Amount {
        Amount { value: span.seconds(), unit: "s" }
    }
}

/// One input and the work it requested.
#[derive(Clone, Debug)]
pub struct Interaction {
    /// Who typed it.
    pub user: u32,
    /// Name of its class.
    pub class: Arc<str>,
    /// Think time before it.
    pub think: Span,
    /// When the input was complete.
    pub arrival: Time,
    /// When the processor first worked on it.
    pub first_service: Option<Time>,
    /// When the reply began.
    pub first_output: Option<Time>,
    /// When the reply was complete; none at the end of the run.
    pub completion: Option<Time>,
    /// Processor time received.
    pub service: Span,
    /// Whether the user waits for the reply before the next input.
    pub waited: bool,
}

/// Writes a replication into a log, as one session.
pub struct LogMonitor {
    /// The log.
    writer: LogWriter,
    /// Table of intervals.
    samples: TableId,
    /// Table of users by interval, if the system has one.
    users: Option<TableId>,
    /// Tables of interactions and events, if they are written.
    trace: Option<Trace>,
    /// Start of simulated time, microseconds since 1970 UTC.
    epoch_us: i64,
    /// Rows that wait to be written.
    sample_rows: Vec<Row>,
    /// The same of users.
    user_rows: Vec<Row>,
    // Kept to the end: a run cannot be broken off from within an event.
    /// First failure of the log.
    failure: Option<LogError>,
}

/// Tables of interactions and events.
struct Trace {
    interactions: TableId,
    events: TableId,
    /// Number of users, a column of every interaction.
    population: u64,
    /// Rows that wait to be written.
    interaction_rows: Vec<Row>,
    /// The same of events.
    event_rows: Vec<Row>,
}

/// The columns of `interactions` that a simulated system fills.
const INTERACTION_COLUMNS: [&str; 11] = [
    "user",
    "class",
    "population",
    "think_s",
    "due",
    "sent",
    "first_service",
    "first_output",
    "completion",
    "service_s",
    "waited",
];

/// The columns of `events` that a simulated system fills: it has no threads.
const EVENT_COLUMNS: [&str; 6] = ["time", "kind", "user", "cpu", "amount", "unit"];

/// The columns of `users` that a simulated system fills.
const USER_COLUMNS: [&str; 4] = ["start", "user", "user_s", "system_s"];

/// Tables of the log of a simulated system.
pub struct Tables {
    /// Columns of `samples` after start and length.
    pub samples: Vec<Column>,
    /// Whether rows of `users` are written.
    pub users: bool,
    /// Number of users whose interactions and events are written; none: these tables are left out.
    pub trace_of: Option<u64>,
}

/// Schema of a table of the vocabulary with the columns `names` only.
fn kept(table: TableSchema, names: &[&str]) -> TableSchema {
    let columns = names.iter().filter_map(|name| table.columns.iter().find(|column| column.name == *name));
    TableSchema::new(&table.name, columns.cloned().collect())
}

impl LogMonitor {
    /// Begins a session in the log at `dir`.
    pub fn begin(
        dir: &Path,
        mode: OpenMode,
        session: Session,
        tables: Tables,
    ) -> Result<LogMonitor, LogError> {
        let epoch_us = session.start_us;
        let mut writer = LogWriter::open(dir, mode, session)?;
        let length =
            Column::new("length_s", Type::F64, "s", Kind::Time, "Length of the interval, simulated time");
        let start =
            Column::new("start", Type::Time, "us", Kind::Time, "Start of the interval, simulated time");
        let all = [start, length].into_iter().chain(tables.samples).collect();
        let samples = writer.declare(TableSchema::new("samples", all))?;
        let users = kept(vocabulary::users(), &USER_COLUMNS);
        let users = if tables.users { Some(writer.declare(users)?) } else { None };
        let trace = tables.trace_of.map(|population| Trace::declare(&mut writer, population)).transpose()?;
        Ok(LogMonitor {
            writer,
            samples,
            users,
            trace,
            epoch_us,
            sample_rows: Vec::new(),
            user_rows: Vec::new(),
            failure: None,
        })
    }

    /// A simulated time in the log.
    fn instant(&self, time: Time) -> Value {
        // Cut to microseconds, the log's resolution: never later than it was.
        Value::Time(self.epoch_us + (time.0 / 1000) as i64)
    }

    /// Writes when at least `least` rows are waiting. A machine cannot handle a failure: [`LogMonitor::finish`] returns it.
    fn write(&mut self, least: usize) {
        let trace_rows = self.trace.as_ref().map_or(0, |t| t.interaction_rows.len() + t.event_rows.len());
        let rows = self.sample_rows.len() + self.user_rows.len() + trace_rows;
        if self.failure.is_some() || rows < least {
            return;
        }
        let mut rows = vec![(self.samples, std::mem::take(&mut self.sample_rows))];
        if let Some(users) = self.users {
            rows.push((users, std::mem::take(&mut self.user_rows)));
        }
        if let Some(trace) = &mut self.trace {
            rows.push((trace.interactions, std::mem::take(&mut trace.interaction_rows)));
            rows.push((trace.events, std::mem::take(&mut trace.event_rows)));
        }
        // An empty block would cost a system call and say nothing.
        rows.retain(|(_, rows)| !rows.is_empty());
        self.failure = self.writer.append(rows).err();
    }

    /// Ends the session at `end`, with `facts` about it.
    pub fn finish(mut self, end: Time, facts: &[(&str, serde_json::Value)]) -> Result<(), LogError> {
        self.write(1);
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        for (key, value) in facts {
            self.writer.set(key, value.clone())?;
        }
        self.writer.finish_at(self.epoch_us + (end.0 / 1000) as i64)
    }
}

impl Trace {
    fn declare(writer: &mut LogWriter, population: u64) -> Result<Trace, LogError> {
        Ok(Trace {
            interactions: writer.declare(kept(vocabulary::interactions(), &INTERACTION_COLUMNS))?,
            events: writer.declare(kept(vocabulary::events(), &EVENT_COLUMNS))?,
            population,
            interaction_rows: Vec::new(),
            event_rows: Vec::new(),
        })
    }
}

/// Name of a user in the log.
fn user_label(user: u32) -> Value {
    Value::Text(format!("user:{user}").into())
}

impl Monitor for LogMonitor {
    const LISTENS: bool = true;

    fn sample(&mut self, start: Time, length: Span, values: Vec<Value>) {
        let mut row = vec![self.instant(start), Value::F64(length.seconds())];
        row.extend(values);
        self.sample_rows.push(row);
        self.write(BLOCK_ROWS);
    }

    fn user(&mut self, start: Time, user: &Arc<str>, user_time: Span, system_time: Span) {
        let seconds = |span: Span| Value::F64(span.seconds());
        let row = vec![
            self.instant(start),
            Value::Text(Arc::clone(user)),
            seconds(user_time),
            seconds(system_time),
        ];
        // Written with the sample of the same interval, which follows.
        if self.users.is_some() {
            self.user_rows.push(row);
        }
    }

    fn incident(&mut self, now: Time, kind: &'static str, detail: &'static str) {
        let time_us = self.epoch_us + (now.0 / 1000) as i64;
        let incident = Incident {
            kind: kind.into(),
            detail: detail.into(),
            count: 1,
            first_us: time_us,
            last_us: time_us,
        };
        if self.failure.is_none() {
            self.failure = self.writer.count(&incident).err();
        }
    }

    fn event(&mut self, now: Time, kind: &'static str, user: Option<u32>, amount: Option<Amount>) {
        let time = self.instant(now);
        let Some(trace) = &mut self.trace else { return };
        trace.event_rows.push(vec![
            time,
            Value::Text(kind.into()),
            user.map_or(Value::Null, user_label),
            Value::U64(0),
            amount.map_or(Value::Null, |amount| Value::F64(amount.value)),
            amount.map_or(Value::Null, |amount| amount.unit.into()),
        ]);
        self.write(BLOCK_ROWS);
    }

    fn interaction(&mut self, interaction: &Interaction) {
        let instant = |time: Option<Time>| time.map_or(Value::Null, |time| self.instant(time));
        let Some(population) = self.trace.as_ref().map(|trace| trace.population) else { return };
        // A simulated user sends when the input is due: nothing stands between the two.
        let due = instant(Some(interaction.arrival));
        let row = vec![
            user_label(interaction.user),
            Value::Text(Arc::clone(&interaction.class)),
            Value::U64(population),
            Value::F64(interaction.think.seconds()),
            due.clone(),
            due,
            instant(interaction.first_service),
            instant(interaction.first_output),
            instant(interaction.completion),
            Value::F64(interaction.service.seconds()),
            Value::Bool(interaction.waited),
        ];
        if let Some(trace) = &mut self.trace {
            trace.interaction_rows.push(row);
        }
        self.write(BLOCK_ROWS);
    }
}
