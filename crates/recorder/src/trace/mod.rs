//! Rows of the trace: where the time of tasks went, by user and command, as programs in the kernel counted it.

pub mod stream;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use thinktime_log::{Incident, LogError, LogWriter, Row, SharedWriter, TableId, Value, vocabulary};
use thinktime_tracer::{Account, Attachment, Events, Latency, Losses, Owner, Queueing, TraceError, Tracer};

use self::stream::{Label, Stream};
use crate::kernel::clock::{Clock, SystemClock};
use crate::proc::process_stat::Name;
use crate::processes::By;
use crate::processes::census::Key;
use crate::processes::commands::{OTHER, program};
use crate::recording::options::RecordOptions;
use crate::sample::rows::Interval;
use crate::sample::sheet::Sheet;

/// How the programs of a trace are attached to the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attach {
    /// In the best way that is possible here.
    #[default]
    Auto,
    /// To tracepoints with typed arguments.
    TpBtf,
    /// To raw tracepoints.
    RawTracepoint,
    /// To tracepoints with fields, which needs no debugging information of the kernel.
    Tracepoint,
}

impl Attach {
    /// The word for it on the command line.
    pub fn word(self) -> &'static str {
        self.only().map_or("auto", Attachment::name)
    }

    fn only(self) -> Option<Attachment> {
        match self {
            Attach::Auto => None,
            Attach::TpBtf => Some(Attachment::TpBtf),
            Attach::RawTracepoint => Some(Attachment::RawTracepoint),
            Attach::Tracepoint => Some(Attachment::Tracepoint),
        }
    }
}

/// A trace that runs.
pub struct Trace {
    tracer: Tracer,
    owner: Owner,
    /// Sheet of table `latencies`.
    pub sheet: Sheet,
    /// What ended since the sample before.
    latencies: Vec<Latency>,
    /// Monotonic time at which they were read [ns].
    read_ns: i64,
    /// What was lost, as the log was last told.
    told: Losses,
    /// Events that nobody reads yet.
    events: Option<Events>,
    stream: Option<Stream>,
}

/// What was lost in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    durations: u64,
    accounts: u64,
    events: u64,
}

impl Lost {
    /// Counts it among the incidents of the log.
    pub fn tell(self, writer: &mut LogWriter) -> Result<(), LogError> {
        for (count, kind, detail) in [
            (
                self.durations,
                "trace_lost",
                "durations found no room in the tables of the trace, and are in no row",
            ),
            (
                self.accounts,
                "trace_lost",
                "commands found no room in the tables of the trace, and count as (other)",
            ),
            (
                self.events,
                "trace_events_lost",
                "switches and other events came faster than they could be read or kept",
            ),
        ] {
            if count > 0 {
                writer.count(&Incident { count, ..Incident::now(kind, detail) })?;
            }
        }
        Ok(())
    }
}

/// What a row is about.
type Place = (Option<Key>, Arc<str>, &'static str, &'static str, u64, Option<u64>);

impl Trace {
    /// Attaches the programs that a recording with these options needs.
    pub fn open(options: &RecordOptions) -> Result<Trace, TraceError> {
        let owner = if options.by == By::Session { Owner::Session } else { Owner::User };
        let mut tracer = Tracer::open(owner, options.trace_events, options.trace_attach.only())?;
        Ok(Trace {
            events: tracer.take_events(),
            tracer,
            owner,
            sheet: Sheet::new(vocabulary::latencies()),
            latencies: Vec::new(),
            read_ns: 0,
            told: Losses::default(),
            stream: None,
        })
    }

    /// Writes the events, if they are wanted, to table `table` of the log in `folder` from now on.
    pub fn begin(&mut self, writer: &SharedWriter, table: TableId, folder: &Path, is_anonymous: bool) {
        if let Some(events) = self.events.take() {
            self.stream = Some(Stream::begin(events, Arc::clone(writer), table, folder, is_anonymous));
        }
    }

    /// Reads what ended since the last call.
    pub fn sample(&mut self) {
        self.read_ns = SystemClock.now().monotonic_ns;
        if let Some(stream) = &self.stream {
            stream.begin_at(self.read_ns);
        }
        self.latencies = self.tracer.read();
    }

    /// A row for each account whose events may be written after this sample and that has no label yet, with its number:
    /// whoever names the users of `latencies` names these too.
    pub fn unlabelled(&self) -> (Vec<u16>, Vec<Row>) {
        let Some(stream) = &self.stream else { return (Vec::new(), Vec::new()) };
        let of_account = |(number, account): (u16, Account)| {
            let (key, command) = self.whose(&account);
            let mut row = self.sheet.row();
            row.set("user", key.map_or(Value::Null, |key| key.text().into()));
            row.set("command", &*command);
            (number, row.finish())
        };
        let accounts = self.tracer.accounts().filter(|(number, _)| !stream.knows(*number));
        accounts.map(of_account).unzip()
    }

    /// Takes these rows, named, as labels: events until the sample may be written. The wall clock is `offset_ns` ahead of
    /// the monotonic one.
    pub fn label(&mut self, offset_ns: i64, numbers: Vec<u16>, rows: &[Row]) {
        let Some(stream) = &self.stream else { return };
        let [user, name, command] =
            ["user", "name", "command"].map(|column| self.sheet.schema.position(column));
        let text = |row: &Row, place: Option<usize>| match place.map(|place| &row[place]) {
            Some(Value::Text(text)) => Some(Arc::clone(text)),
            _ => None,
        };
        let labels = numbers.into_iter().zip(rows).map(|(number, row)| {
            let label = Label { user: text(row, user), name: text(row, name), command: text(row, command) };
            (number, label)
        });
        stream.sample(self.read_ns, offset_ns, labels);
    }

    /// Writes all events that wait.
    pub fn finish(&mut self, tell: impl FnMut(String)) -> Result<(), LogError> {
        self.stream.as_mut().map_or(Ok(()), |stream| stream.finish(tell))
    }

    /// User and command of an account.
    fn whose(&self, account: &Account) -> (Option<Key>, Arc<str>) {
        let key = account.owner.map(|number| match self.owner {
            Owner::User => Key::Uid(number),
            Owner::Session => Key::Session(number as i32),
        });
        let command = match &key {
            Some(_) => program(&Name::new(&account.name), account.is_kernel),
            None => OTHER.into(),
        };
        (key, command)
    }

    /// How it is known when a task was queued for a CPU.
    pub fn queueing(&self) -> Queueing {
        self.tracer.queueing()
    }

    /// How the programs are attached.
    pub fn attachment(&self) -> Attachment {
        self.tracer.attachment()
    }

    /// Better ways to attach them, and why they are not possible here.
    pub fn refused(&self) -> impl Iterator<Item = (&'static str, String)> {
        self.tracer.refused().iter().map(|(way, why)| (way.name(), why.to_string()))
    }

    /// Quantities that are not measured here, with the reasons.
    pub fn missing(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.tracer.missing().iter().map(|(quantity, why)| (*quantity, why.as_str()))
    }

    /// What was lost since the last call.
    pub fn take_losses(&mut self) -> Lost {
        let now = self.tracer.losses();
        let before = std::mem::replace(&mut self.told, now);
        Lost {
            durations: now.durations - before.durations,
            accounts: now.accounts - before.accounts,
            events: self.stream.as_mut().map_or(0, Stream::take_lost),
        }
    }

    /// A row for each bucket that is not empty, by user, command, quantity and reason.
    pub fn rows(&self, interval: Interval) -> Vec<Row> {
        // One command may have several accounts: kernel threads of one name, or two CPUs that opened it at once.
        let mut buckets: BTreeMap<Place, (u64, u64)> = BTreeMap::new();
        for latency in &self.latencies {
            let (key, command) = self.whose(&latency.account);
            let Latency { quantity, reason, at_least_ns, below_ns, .. } = *latency;
            let sums = buckets.entry((key, command, quantity, reason, at_least_ns, below_ns)).or_default();
            sums.0 += latency.count;
            sums.1 += latency.total_ns;
        }
        let seconds = |ns: u64| ns as f64 * 1e-9;
        let row = |(place, (count, total_ns)): (Place, (u64, u64))| {
            let (key, command, quantity, reason, at_least_ns, below_ns) = place;
            let mut row = self.sheet.row();
            row.set("start", Value::Time(interval.start_us));
            row.set("user", key.map_or(Value::Null, |key| key.text().into()));
            row.set("command", &*command);
            row.set("quantity", quantity);
            row.set("reason", reason);
            row.set("at_least_s", seconds(at_least_ns));
            row.set("below_s", below_ns.map(seconds));
            row.set("count", count);
            row.set("total_s", seconds(total_ns));
            row.finish()
        };
        buckets.into_iter().map(row).collect()
    }

    /// Facts for the manifest.
    pub fn to_json(&self) -> Json {
        let losses = self.tracer.losses();
        json!({
            "mode": if self.stream.is_some() { "events" } else { "aggregated" },
            "attached": self.attachment().name(),
            "refused": self.refused().collect::<BTreeMap<_, _>>(),
            "queueing": self.tracer.queueing().name(),
            "missing": self.tracer.missing(),
            "durations_lost": losses.durations,
            "accounts_lost": losses.accounts,
            "accounts_recycled": self.tracer.recycled(),
            "beginnings_unseen": losses.unseen,
            "events": self.stream.as_ref().map(Stream::written),
            "events_lost": self.stream.as_ref().map(Stream::lost),
        })
    }
}
